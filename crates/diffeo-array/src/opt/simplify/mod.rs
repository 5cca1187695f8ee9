//! Simplification: folds constants, applies identities that hold for all values, propagates copies, and takes what is
//! read from arrays and boxes from where it was put in.
//!
//! What it needs: nothing. What it gives: the same function with fewer operations; statements that became useless are
//! left for `dce`. Why it is right: each rule stands with its reason where it is applied; none drops or moves an effect
//! unless the operands show that it does not happen. Numbers are folded by the table of operations that the evaluator
//! uses, so the values are the same to the last bit.

mod array;
mod control;
mod real;
mod scalar;

pub(crate) use control::neutral;

use super::shapes::Shapes;
use crate::ir::ops::{row, Group};
use crate::ir::walk::{binders, has_regions, operands_mut, var};
use crate::ir::{Atom, Block, Check, FlatTy, Function, Module, Op, SiteId, Stmt, Var, VarInfo};
use hashbrown::hash_map::{Entry, HashMap};

/// Simplification: see the head of the file.
pub fn simplify(module: Module) -> Module {
    simplify_all(module, false)
}

/// As [`simplify`], before derivatives are taken: what a branch guards stays there if its derivative may be infinite.
pub(super) fn simplify_early(module: Module) -> Module {
    simplify_all(module, true)
}

fn simplify_all(mut module: Module, early: bool) -> Module {
    module.functions.iter_mut().for_each(|function| simplify_function(function, early));
    module
}

/// Simplifies one function.
pub(super) fn simplify_function(function: &mut Function, early: bool) {
    let mut cx = Simplifier::new(function, early);
    let body = std::mem::take(&mut function.body);
    let mut out = Vec::with_capacity(body.stmts.len());
    let results = cx.splice(body, &mut out).0;
    function.body = Block { stmts: out, results };
    function.vars = cx.vars;
}

/// The state of simplifying one function.
struct Simplifier {
    /// Whether derivatives are still to be taken.
    early: bool,
    vars: Vec<VarInfo>,
    shapes: Shapes,
    /// What stands for a variable.
    subst: Vec<Option<Atom>>,
    /// The operation without regions that a variable is the result of.
    defs: Vec<Option<Op>>,
    /// When a variable was defined, counting statements.
    order: Vec<u32>,
    now: u32,
    /// The variables in scope that are sizes of arrays, by the array whose sizes they are first known to be.
    dims: HashMap<(Var, u8), Var>,
    /// Of the variables, whether they, or all their elements, are certainly not -0.
    not_minus_zero: Vec<bool>,
    /// What ends with the block.
    scope: SimplifyScope,
}

#[derive(Default)]
struct SimplifyScope {
    /// The sizes of arrays.
    dims: Vec<(Var, u8)>,
    /// What is known because the program would have stopped.
    known: Vec<Var>,
}

/// What an operation is replaced by.
enum New {
    Atom(Atom),
    Op(Op),
}

impl From<Atom> for New {
    fn from(atom: Atom) -> New {
        New::Atom(atom)
    }
}

impl From<Op> for New {
    fn from(op: Op) -> New {
        New::Op(op)
    }
}

impl Simplifier {
    fn new(function: &mut Function, early: bool) -> Simplifier {
        let shapes = Shapes::of(function);
        let vars = std::mem::take(&mut function.vars);
        let count = vars.len();
        Simplifier {
            early,
            vars,
            shapes,
            subst: vec![None; count],
            defs: vec![None; count],
            order: vec![0; count],
            now: 1,
            dims: HashMap::new(),
            not_minus_zero: vec![false; count],
            scope: SimplifyScope::default(),
        }
    }

    /// What stands for an atom.
    fn resolve(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Atom::Var(v) = atom {
            match &self.subst[v.0 as usize] {
                Some(new) => atom = new,
                None => break,
            }
        }
        atom.clone()
    }

    /// The operation that gives an atom.
    fn def(&self, atom: &Atom) -> Option<&Op> {
        self.defs[var(atom)?.0 as usize].as_ref()
    }

    fn ty(&self, atom: &Atom) -> FlatTy {
        match atom {
            Atom::Var(v) => self.vars[v.0 as usize].ty.clone(),
            Atom::Real(_) => FlatTy::Real,
            Atom::Int(_) => FlatTy::Int,
            Atom::Bool(_) => FlatTy::Bool,
            Atom::Unused(ty) => ty.clone(),
        }
    }

    fn define(&mut self, v: Var) {
        self.now += 1;
        self.order[v.0 as usize] = self.now;
    }

    /// Whether an atom was there at this time.
    fn was_there(&self, atom: &Atom, time: u32) -> bool {
        var(atom).is_none_or(|v| self.order[v.0 as usize] <= time)
    }

    /// Simplifies a block.
    fn block(&mut self, block: Block) -> (Block, bool) {
        let mut out = Vec::with_capacity(block.stmts.len());
        let outer = std::mem::take(&mut self.scope);
        let (results, ends) = self.splice(block, &mut out);
        let inner = std::mem::replace(&mut self.scope, outer);
        for key in inner.dims {
            self.dims.remove(&key);
        }
        self.forget(inner.known);
        (Block { stmts: out, results }, ends)
    }

    /// Simplifies a block to the end of another. Gives its results, and whether its end is never reached.
    fn splice(&mut self, block: Block, out: &mut Vec<Stmt>) -> (Vec<Atom>, bool) {
        for stmt in block.stmts {
            if self.stmt(stmt, out) {
                // Nothing ever sees the results.
                let unused = block.results.iter().map(|a| Atom::Unused(self.ty(a))).collect();
                return (unused, true);
            }
        }
        (block.results.iter().map(|a| self.resolve(a)).collect(), false)
    }

    /// Simplifies a statement. Gives whether what stands behind it is never reached.
    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) -> bool {
        operands_mut(&mut stmt.op, |a| *a = self.resolve(a));
        if has_regions(&stmt.op) {
            binders(&stmt.op, |v| self.define(v));
            return crate::ir::walk::deep(|| self.control(stmt, out));
        }
        if let Op::Check(check) = &stmt.op {
            return match self.check(check) {
                Some(true) => false,
                Some(false) => {
                    out.push(stmt);
                    true
                }
                None => {
                    out.push(stmt);
                    false
                }
            };
        }
        let ends = matches!(stmt.op, Op::Stop(_));
        let [result] = stmt.results[..] else {
            self.push(stmt, out);
            return ends;
        };
        match self.leaf(stmt.op, stmt.site, out) {
            New::Atom(atom) => self.subst[result.0 as usize] = Some(atom),
            New::Op(op) => self.push(Stmt { op, ..stmt }, out),
        }
        ends
    }

    /// The simplest form of an operation with one result.
    fn leaf(&mut self, mut op: Op, site: SiteId, out: &mut Vec<Stmt>) -> New {
        // Each rule leads to something simpler; the bound is for peace of mind.
        for _ in 0..16 {
            match self.rule(&op, site, out) {
                None => break,
                Some(New::Op(new)) => op = new,
                Some(New::Atom(atom)) => return New::Atom(atom),
            }
        }
        New::Op(op)
    }

    fn push(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        stmt.results.iter().for_each(|v| self.define(*v));
        if let ([v], false) = (&stmt.results[..], has_regions(&stmt.op)) {
            self.defs[v.0 as usize] = Some(stmt.op.clone());
            self.not_minus_zero[v.0 as usize] = self.gives_no_minus_zero(&stmt.op);
            if let Op::Dim(Atom::Var(array), k) = stmt.op {
                let key = self.size_key(array, k);
                if let Entry::Vacant(entry) = self.dims.entry(key) {
                    entry.insert(*v);
                    self.scope.dims.push(key);
                }
            }
        }
        out.push(stmt);
    }

    /// Adds an operation with one result of this type.
    fn emit(&mut self, op: Op, ty: FlatTy, site: SiteId, out: &mut Vec<Stmt>) -> Atom {
        match self.leaf(op, site, out) {
            New::Atom(atom) => atom,
            New::Op(op) => {
                let v = self.fresh(VarInfo { ty, name: None });
                self.push(Stmt { results: vec![v], op, site }, out);
                Atom::Var(v)
            }
        }
    }

    fn fresh(&mut self, info: VarInfo) -> Var {
        self.vars.push(info);
        self.subst.push(None);
        self.defs.push(None);
        self.order.push(0);
        self.not_minus_zero.push(false);
        Var(self.vars.len() as u32 - 1)
    }

    /// One rule for an operation without regions with one result.
    fn rule(&mut self, op: &Op, site: SiteId, out: &mut Vec<Stmt>) -> Option<New> {
        match op {
            Op::Real(op, args) => self.real(*op, args, site, out),
            Op::PowInt(x, n) => self.pow_int(x, n, site, out),
            Op::Dim(array, k) => self.dim(array, *k),
            Op::Get(array, indices) => self.get(array, indices, site, out),
            Op::Slice { array, lo, hi } => self.slice(array, lo, hi, site, out),
            Op::Update { array, indices, value } => self.update(array, indices, value),
            Op::Append(a, b) => self.append(a, b),
            Op::Reshape(array, sizes) => self.reshape(array, sizes),
            Op::Tag(object) => match self.def(object)? {
                Op::New(_, tag, _) => Some(Atom::Int(i64::from(*tag)).into()),
                _ => None,
            },
            Op::Field { object, tag, index } => match self.def(object)? {
                Op::New(_, made, fields) if made == tag => {
                    Some(fields[*index as usize].clone().into())
                }
                _ => None,
            },
            Op::Elements(elem, xs) => self.elements(*elem, xs),
            Op::AccView(acc, indices) if indices.is_empty() => Some(acc.clone().into()),
            op if row(op).group == Group::Scalar => self.scalar(op),
            _ => None,
        }
    }

    /// Whether a check certainly holds, or certainly fails.
    fn check(&self, check: &Check) -> Option<bool> {
        match check {
            Check::Index { index: Atom::Int(i), .. } if *i < 0 => Some(false),
            Check::Index { length: Atom::Int(n), .. } if *n <= 0 => Some(false),
            Check::Index { index: Atom::Int(i), length: Atom::Int(n) } => Some((0..*n).contains(i)),
            Check::Index { .. } => None,
            Check::Slice { lo: Atom::Int(lo), hi: Atom::Int(hi), length: Atom::Int(n) } => {
                Some(0 <= *lo && lo <= hi && hi <= n)
            }
            // The length of an array is at least 0.
            Check::Slice { lo: Atom::Int(0), hi, length } if crate::ir::walk::same(hi, length) => {
                Some(true)
            }
            Check::Slice { .. } => None,
            // Beyond any memory is left to the engines.
            Check::Count(Atom::Int(n)) if (0..1 << 20).contains(n) => Some(true),
            Check::Count(_) => None,
            Check::Size { expected, found, .. } => equal(expected, found),
            Check::Rows { expected: Atom::Int(-1), .. }
            | Check::Rows { found: Atom::Int(-1), .. } => Some(true),
            Check::Rows { expected, found } => equal(expected, found),
        }
    }
}

/// Whether two Ints are equal, if that is known.
fn equal(a: &Atom, b: &Atom) -> Option<bool> {
    match (a, b) {
        (Atom::Int(a), Atom::Int(b)) => Some(a == b),
        _ => crate::ir::walk::same(a, b).then_some(true),
    }
}

/// The type of what so many indices into an array of a type give.
fn element_of(ty: &FlatTy, indices: usize) -> Option<FlatTy> {
    let FlatTy::Array(elem, rank) = ty else { return None };
    let left = usize::from(*rank).checked_sub(indices)?;
    if left > 0 {
        return Some(FlatTy::Array(*elem, left as u8));
    }
    Some(elem.ty())
}
