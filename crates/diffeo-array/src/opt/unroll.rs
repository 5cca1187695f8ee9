//! Unrolling: writes out loops of a few steps, and keeps small arrays of known length as numbers.
//!
//! What it needs: `simplify` before, for counts that are constants, and behind, to take what is read at constant
//! indices from where it was put. A comprehension, a reduction or a counted loop with a small constant count and a
//! small body becomes its steps, one after the other; an array of a few elements that a branch gives, or that a loop
//! carries and touches at constant indices only, becomes its elements. Why it is right: the steps happen in the order
//! of their indices, as before; a reduction adds in that order, too. The rows of a comprehension become rows of an
//! array only where their sizes are certainly equal.

use super::shapes::{Shapes, Size, SizeExtent};
use super::simplify::neutral;
use crate::ir::walk::{
    deep, has_regions, operands, operands_mut, regions, regions_mut, size, var, Copier,
};
use crate::ir::{
    Atom, Block, Carried, Elem, FlatTy, Function, Module, Op, Reduction, Stmt, Var, VarInfo,
};
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;

/// Maximum number of steps that are written out.
const STEPS: i64 = 16;

/// The same for sums around sums, which become one loop ([`fuse_siblings`](super::fuse_siblings())).
const SUMS: i64 = 4;

/// Maximum number of statements that a loop becomes; before derivatives are taken it is `STATEMENTS_EARLY`, because
/// backward parts are longer.
const STATEMENTS: usize = 300;
const STATEMENTS_EARLY: usize = 200;

/// Maximum number of elements of an array that is kept as numbers.
const ELEMENTS: i64 = 16;

/// Unrolling: see the head of the file.
pub fn unroll(module: Module) -> Module {
    within(module, STATEMENTS)
}

/// As [`unroll`], before derivatives are taken: writes out less.
pub(super) fn unroll_early(module: Module) -> Module {
    within(module, STATEMENTS_EARLY)
}

fn within(mut module: Module, statements: usize) -> Module {
    for function in &mut module.functions {
        let mut cx = Unroll {
            statements,
            shapes: Shapes::of(function),
            whole: whole_uses(function),
            vars: std::mem::take(&mut function.vars),
            elements: HashMap::new(),
            updates: HashMap::new(),
            copies: HashMap::new(),
        };
        function.body = cx.block(std::mem::take(&mut function.body));
        function.vars = cx.vars;
    }
    module
}

/// The variables that are used otherwise than for an element at a constant index, or as what is updated there.
fn whole_uses(function: &Function) -> Vec<bool> {
    let mut whole = vec![false; function.vars.len()];
    crate::ir::walk::statements(&function.body, &mut |stmt| {
        let constant = |xs: &[Atom]| matches!(xs, [Atom::Int(_)]);
        let skipped = match &stmt.op {
            Op::Get(array, xs) if constant(xs) => Some(array),
            Op::Update { array, indices, .. } if constant(indices) => Some(array),
            _ => None,
        };
        let mut first = true;
        operands(&stmt.op, |a| {
            let is_array = std::mem::take(&mut first) && skipped.is_some();
            if let (Atom::Var(v), false) = (a, is_array) {
                whole[v.0 as usize] = true;
            }
        });
    });
    whole
}

struct Unroll {
    /// To so many statements at most.
    statements: usize,
    shapes: Shapes,
    whole: Vec<bool>,
    vars: Vec<VarInfo>,
    /// The elements of arrays that are written out.
    elements: HashMap<Var, (Elem, Vec<Atom>)>,
    /// What an array is but for an element at a constant index.
    updates: HashMap<Var, Var>,
    /// What stands for the results of loops that were written out.
    copies: HashMap<Var, Atom>,
}

impl Unroll {
    fn fresh(&mut self, ty: FlatTy) -> Var {
        self.vars.push(VarInfo { ty, name: None });
        Var(self.vars.len() as u32 - 1)
    }

    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in block.stmts {
            operands_mut(&mut stmt.op, |a| self.resolve(a));
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |r| *r = self.block(std::mem::take(r))));
                self.control(stmt, &mut out);
                continue;
            }
            self.note(&stmt);
            out.push(stmt);
        }
        let mut results = block.results;
        results.iter_mut().for_each(|a| self.resolve(a));
        Block { stmts: out, results }
    }

    fn resolve(&self, atom: &mut Atom) {
        while let Some(new) = var(atom).and_then(|v| self.copies.get(&v)) {
            *atom = new.clone();
        }
    }

    fn note(&mut self, stmt: &Stmt) {
        let [v] = stmt.results[..] else { return };
        if let Op::Elements(elem, xs) = &stmt.op {
            self.elements.insert(v, (*elem, xs.clone()));
        } else if let Op::Update { array: Atom::Var(array), indices, .. } = &stmt.op {
            if matches!(indices[..], [Atom::Int(_)]) {
                self.updates.insert(v, *array);
            }
        }
    }

    fn push(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        self.note(&stmt);
        out.push(stmt);
    }

    fn control(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        if self.steps(&stmt).is_some() {
            self.write_out(stmt, out);
            return;
        }
        match stmt.op {
            Op::If { .. } | Op::Switch { .. } => self.branches(stmt, out),
            Op::For { .. } | Op::While { .. } => self.carried(stmt, out),
            _ => out.push(stmt),
        }
    }

    /// How many steps of a loop are written out.
    fn steps(&self, stmt: &Stmt) -> Option<i64> {
        let (Op::For { count, body, .. }
        | Op::Build { count, body, .. }
        | Op::Reduce { count, body, .. }) = &stmt.op
        else {
            return None;
        };
        let Atom::Int(n @ 1..=STEPS) = count else { return None };
        let regular = |v: &Var| match self.vars[v.0 as usize].ty {
            FlatTy::Array(_, rank) if rank > 1 => self.shapes.is_regular(*v),
            _ => true,
        };
        if matches!(stmt.op, Op::Build { .. }) && !stmt.results.iter().all(regular) {
            return None;
        }
        let limit = self.statements / *n as usize;
        let sums = matches!(stmt.op, Op::Reduce { .. }) && *n <= SUMS && only_sums(body);
        (size(body, limit) <= limit && (sums || !has_loops(body))).then_some(*n)
    }

    /// The steps of a loop, one after the other.
    fn write_out(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        let Some(steps) = self.steps(&stmt) else { return };
        let Stmt { results, op, site } = stmt;
        let (index, body, mut state, how) = match op {
            Op::For { index, body, carried, .. } => {
                // A parameter is replaced by what it is before the step.
                let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
                let init = carried.into_iter().map(|c| c.init).collect();
                (index, body, UnrollState::Carried(params, init), Vec::new())
            }
            Op::Build { index, body, .. } => {
                let columns = results.iter().map(|_| Vec::new()).collect();
                (index, body, UnrollState::Columns(columns), Vec::new())
            }
            Op::Reduce { index, body, how, .. } => {
                let totals = how.iter().map(|how| neutral(*how)).collect();
                (index, body, UnrollState::Totals(totals), how)
            }
            _ => return,
        };
        let mut first = true;
        for i in 0..steps {
            let mut map = HashMap::from([(index, Atom::Int(i))]);
            if let UnrollState::Carried(params, atoms) = &state {
                map.extend(params.iter().copied().zip(atoms.iter().cloned()));
            }
            let mut copier = Copier { source: None, vars: &mut self.vars, map, site: |site| site };
            let step = copier.block(&body);
            for stmt in step.stmts {
                self.push(stmt, out);
            }
            match &mut state {
                UnrollState::Carried(_, atoms) => *atoms = step.results,
                UnrollState::Columns(columns) => {
                    for (column, atom) in columns.iter_mut().zip(step.results) {
                        column.push(atom);
                    }
                }
                UnrollState::Totals(totals) if first => *totals = step.results,
                UnrollState::Totals(totals) => {
                    for ((total, how), atom) in totals.iter_mut().zip(&how).zip(step.results) {
                        let op = match how {
                            Reduction::Add => RealOp::Add,
                            Reduction::Max => RealOp::Max,
                            Reduction::Min => RealOp::Min,
                        };
                        let v = self.fresh(FlatTy::Real);
                        let op = Op::Real(op, vec![total.clone(), atom]);
                        out.push(Stmt { results: vec![v], op, site });
                        *total = Atom::Var(v);
                    }
                }
            }
            first = false;
        }
        match state {
            UnrollState::Carried(_, atoms) | UnrollState::Totals(atoms) => {
                self.copies.extend(results.into_iter().zip(atoms));
            }
            UnrollState::Columns(columns) => {
                for (v, column) in results.into_iter().zip(columns) {
                    let op = match self.vars[v.0 as usize].ty {
                        FlatTy::Array(elem, 1) => Op::Elements(elem, column),
                        _ => Op::Rows(column),
                    };
                    self.push(Stmt { results: vec![v], op, site }, out);
                }
            }
        }
    }

    /// The elements of an array that is written out.
    fn written(&self, atom: &Atom) -> Option<&(Elem, Vec<Atom>)> {
        self.elements.get(&var(atom)?)
    }

    /// The elements of arrays that all branches give.
    fn branches(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let mut blocks = Vec::new();
        regions(&stmt.op, |r| blocks.push(&r.results));
        // By result, its elements.
        let split: Vec<Option<(Elem, Vec<Vec<Atom>>)>> = (0..stmt.results.len())
            .map(|i| {
                let mut known = blocks.iter().filter_map(|results| self.written(&results[i]));
                let (elem, first) = known.next()?;
                let length = first.len();
                let columns: Option<Vec<Vec<Atom>>> = blocks
                    .iter()
                    .map(|results| match (&results[i], self.written(&results[i])) {
                        (Atom::Unused(_), _) => Some(vec![Atom::Unused(elem.ty()); length]),
                        (_, Some((_, xs))) if xs.len() == length => Some(xs.clone()),
                        (_, _) => None,
                    })
                    .collect();
                (length as i64 <= ELEMENTS && length > 0).then_some((*elem, columns?))
            })
            .collect();
        if split.iter().all(Option::is_none) {
            out.push(stmt);
            return;
        }
        let mut which = 0;
        regions_mut(&mut stmt.op, |r| {
            let old = std::mem::take(&mut r.results);
            for (atom, split) in old.into_iter().zip(&split) {
                match split {
                    Some((_, columns)) => r.results.extend(columns[which].iter().cloned()),
                    None => r.results.push(atom),
                }
            }
            which += 1;
        });
        let mut arrays = Vec::new();
        let mut results = Vec::new();
        for (v, split) in stmt.results.into_iter().zip(split) {
            let Some((elem, columns)) = split else {
                results.push(v);
                continue;
            };
            let parts: Vec<Var> = columns[0].iter().map(|_| self.fresh(elem.ty())).collect();
            results.extend(&parts);
            let op = Op::Elements(elem, parts.into_iter().map(Atom::Var).collect());
            arrays.push(Stmt { results: vec![v], op, site: stmt.site });
        }
        out.push(Stmt { results, ..stmt });
        for array in arrays {
            self.push(array, out);
        }
    }

    /// The length of an array of rank 1 that is kept as numbers.
    fn length(&self, atom: &Atom) -> Option<(Elem, i64)> {
        let v = var(atom)?;
        let FlatTy::Array(elem, 1) = self.vars[v.0 as usize].ty else { return None };
        if let Some((_, xs)) = self.elements.get(&v) {
            return Some((elem, xs.len() as i64)).filter(|(_, n)| (1..=ELEMENTS).contains(n));
        }
        match self.shapes.extent(v, 0)? {
            SizeExtent { size: Size::Is(Atom::Int(n @ 1..=ELEMENTS)), always: true } => {
                Some((elem, n))
            }
            SizeExtent { .. } => None,
        }
    }

    /// Whether a new value of a parameter is the old one with elements at constant indices replaced, or written out.
    fn follows(&self, atom: &Atom, param: Var, n: i64) -> bool {
        let mut next = var(atom);
        while let Some(v) = next {
            if v == param {
                return true;
            }
            if let Some((_, xs)) = self.elements.get(&v) {
                return xs.len() as i64 == n;
            }
            next = self.updates.get(&v).copied();
        }
        false
    }

    /// The elements of arrays that a loop carries.
    fn carried(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let (Op::For { carried, body, .. } | Op::While { carried, body, .. }) = &stmt.op else {
            return;
        };
        let split: Vec<Option<(Elem, i64)>> = carried
            .iter()
            .zip(&body.results)
            .map(|(c, next)| {
                let (elem, n) = self.length(&c.init)?;
                let whole = self.whole.get(c.param.0 as usize).copied().unwrap_or(true);
                (!whole && self.follows(next, c.param, n)).then_some((elem, n))
            })
            .collect();
        if split.iter().all(Option::is_none) {
            out.push(stmt);
            return;
        }
        let site = stmt.site;
        let mut starts: Vec<(Var, Elem, Vec<Var>)> = Vec::new();
        let mut ends: Vec<Stmt> = Vec::new();
        let (Op::For { carried, body, .. } | Op::While { carried, body, .. }) = &mut stmt.op else {
            return;
        };
        let mut new = Vec::new();
        let mut next = Vec::new();
        let mut results = Vec::new();
        let old_next = std::mem::take(&mut body.results);
        let triples = std::mem::take(carried).into_iter().zip(old_next).zip(&stmt.results);
        for (((c, last), result), split) in triples.zip(&split) {
            let Some((elem, n)) = split else {
                new.push(c);
                next.push(last);
                results.push(*result);
                continue;
            };
            let ty = elem.ty();
            let mut params = Vec::new();
            let mut parts = Vec::new();
            for k in 0..*n {
                let get = |vars: &mut Vec<VarInfo>, from: &Atom, to: &mut Vec<Stmt>| {
                    let v = Var(vars.len() as u32);
                    vars.push(VarInfo { ty: ty.clone(), name: None });
                    let op = Op::Get(from.clone(), vec![Atom::Int(k)]);
                    to.push(Stmt { results: vec![v], op, site });
                    Atom::Var(v)
                };
                let init = get(&mut self.vars, &c.init, out);
                next.push(get(&mut self.vars, &last, &mut body.stmts));
                let param = self.fresh(ty.clone());
                params.push(param);
                new.push(Carried { param, init });
                let part = self.fresh(ty.clone());
                parts.push(Atom::Var(part));
                results.push(part);
            }
            starts.push((c.param, *elem, params));
            ends.push(Stmt { results: vec![*result], op: Op::Elements(*elem, parts), site });
        }
        let (Op::For { carried, body, .. } | Op::While { carried, body, .. }) = &mut stmt.op else {
            return;
        };
        *carried = new;
        body.results = next;
        // In each region the parameter is the array of its parts.
        let mut first = true;
        regions_mut(&mut stmt.op, |r| {
            let mut head: Vec<Stmt> = Vec::with_capacity(starts.len());
            let mut renamed = HashMap::new();
            for (param, elem, parts) in &starts {
                // Variables are defined once, so the second region has its own.
                let v = if first {
                    *param
                } else {
                    let v = Var(self.vars.len() as u32);
                    self.vars.push(self.vars[param.0 as usize].clone());
                    renamed.insert(*param, v);
                    v
                };
                let op = Op::Elements(*elem, parts.iter().map(|p| Atom::Var(*p)).collect());
                head.push(Stmt { results: vec![v], op, site });
            }
            if !renamed.is_empty() {
                rename(r, &renamed);
            }
            r.stmts.splice(0..0, head);
            first = false;
        });
        stmt.results = results;
        out.push(stmt);
        for end in ends {
            self.push(end, out);
        }
    }
}

/// What the steps that are written out have given so far.
enum UnrollState {
    /// The parameters of a loop, and what they are.
    Carried(Vec<Var>, Vec<Atom>),
    Columns(Vec<Vec<Atom>>),
    Totals(Vec<Atom>),
}

/// Whether there are loops in a block.
/// Whether the loops of a block are reductions, next to each other.
fn only_sums(block: &Block) -> bool {
    block.stmts.iter().all(|stmt| match &stmt.op {
        Op::Reduce { body, .. } => !has_loops(body),
        Op::For { .. } | Op::While { .. } | Op::Build { .. } => false,
        Op::If { .. } | Op::Switch { .. } => {
            let mut none = true;
            regions(&stmt.op, |r| none &= !has_loops(r));
            none
        }
        _ => true,
    })
}

fn has_loops(block: &Block) -> bool {
    let mut found = false;
    crate::ir::walk::statements(block, &mut |stmt| match &stmt.op {
        Op::For { .. } | Op::While { .. } | Op::Build { .. } | Op::Reduce { .. } => found = true,
        _ => {}
    });
    found
}

fn rename(block: &mut Block, names: &HashMap<Var, Var>) {
    let new = |a: &mut Atom| {
        if let Atom::Var(v) = a {
            *v = names.get(v).copied().unwrap_or(*v);
        }
    };
    for stmt in &mut block.stmts {
        operands_mut(&mut stmt.op, new);
        deep(|| regions_mut(&mut stmt.op, |r| rename(r, names)));
    }
    block.results.iter_mut().for_each(new);
}
