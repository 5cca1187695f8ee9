//! Reduction recognition: a loop that looks for the largest or smallest Real becomes a reduction, whose steps may be
//! done in any order.
//!
//! What it needs: `simplify` before. Where it applies: a counted loop whose carried variables are each used for one
//! thing, to be compared with a value by `max` or `min`. Why it is right: the largest of several numbers is the same in
//! every order, and nan wins in every order; of zeros, that of the wanted sign.
//!
//! Where the loop begins with the first element of an array and goes on with the others, it becomes a reduction of all
//! elements, so that a comprehension can be fused with it.

use super::shapes::{Shapes, Size};
use crate::ir::walk::{deep, has_regions, operands, regions, regions_mut, same, var};
use crate::ir::{
    Atom, Block, Carried, FlatTy, Function, Module, Op, Reduction, Stmt, Var, VarInfo,
};
use diffeo_calculus::prim::{IntOp, RealOp};

/// Reduction recognition: see the head of the file.
pub fn extrema(module: Module) -> Module {
    recognise(module, false)
}

/// Reduction recognition before derivatives are taken: of loops that keep the first of equal numbers, which is the one
/// that has the derivative of a reduction.
pub(super) fn extrema_early(module: Module) -> Module {
    recognise(module, true)
}

fn recognise(mut module: Module, first: bool) -> Module {
    for function in &mut module.functions {
        if !has_loops(&function.body) {
            continue;
        }
        let mut cx = Extrema {
            shapes: Shapes::of(function),
            definitions: VarDefinitions::of(function),
            vars: std::mem::take(&mut function.vars),
            first,
        };
        cx.block(&mut function.body);
        function.vars = cx.vars;
    }
    module
}

fn has_loops(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| {
        let mut found = matches!(stmt.op, Op::For { .. });
        if !found && has_regions(&stmt.op) {
            deep(|| regions(&stmt.op, |r| found |= has_loops(r)));
        }
        found
    })
}

/// What is asked about variables.
struct VarDefinitions {
    /// The element of an array that a variable is.
    elements: Vec<Option<(Var, Vec<Atom>)>>,
    /// The variable and the constant whose sum a variable is.
    sums: Vec<Option<(Var, i64)>>,
    /// The array of which a variable is the number of rows.
    lengths: Vec<Option<Var>>,
    uses: Vec<u32>,
}

impl VarDefinitions {
    fn of(function: &Function) -> VarDefinitions {
        let count = function.vars.len();
        let mut definitions = VarDefinitions {
            elements: vec![None; count],
            sums: vec![None; count],
            lengths: vec![None; count],
            uses: vec![0; count],
        };
        definitions.block(&function.body);
        definitions
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            operands(&stmt.op, |a| self.uses(a));
            if has_regions(&stmt.op) {
                deep(|| regions(&stmt.op, |r| self.block(r)));
            }
            let [v] = stmt.results[..] else { continue };
            if let Op::Get(Atom::Var(array), indices) = &stmt.op {
                self.elements[v.0 as usize] = Some((*array, indices.clone()));
            } else if let Op::Dim(Atom::Var(array), 0) = &stmt.op {
                self.lengths[v.0 as usize] = Some(*array);
            } else if let Op::IntFits(IntOp::Add, xs) = &stmt.op {
                if let [Atom::Var(x), Atom::Int(n)] = xs[..] {
                    self.sums[v.0 as usize] = Some((x, n));
                }
            }
        }
        block.results.iter().for_each(|a| self.uses(a));
    }

    fn uses(&mut self, atom: &Atom) {
        if let Atom::Var(v) = atom {
            self.uses[v.0 as usize] += 1;
        }
    }
}

struct Extrema {
    shapes: Shapes,
    definitions: VarDefinitions,
    vars: Vec<VarInfo>,
    /// Whether the first of equal numbers has to be kept.
    first: bool,
}

impl Extrema {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
            }
            match self.compared(&stmt) {
                Some(how) => self.reduce(stmt, how, &mut out),
                None => out.push(stmt),
            }
        }
        block.stmts = out;
    }

    /// For each carried variable of a loop, how it is compared and with what, if that is all that is done.
    fn compared(&self, stmt: &Stmt) -> Option<Vec<(Reduction, Atom)>> {
        let Op::For { carried, body, .. } = &stmt.op else { return None };
        if carried.is_empty() {
            return None;
        }
        let one = |(i, c): (usize, &Carried)| {
            let result = var(&body.results[i])?;
            let made = body.stmts.iter().find(|stmt| stmt.results[..] == [result])?;
            let (how, xs) = match &made.op {
                Op::Real(RealOp::Max, xs) => (Reduction::Max, xs),
                Op::Real(RealOp::Min, xs) => (Reduction::Min, xs),
                _ => return None,
            };
            let param = Atom::Var(c.param);
            let other = match &xs[..] {
                [a, b] if same(a, &param) => b,
                [a, b] if same(b, &param) && !self.first => a,
                _ => return None,
            };
            let once = |v: Var| self.definitions.uses[v.0 as usize] == 1;
            (once(c.param) && once(result)).then(|| (how, other.clone()))
        };
        carried.iter().enumerate().map(one).collect()
    }

    fn reduce(&mut self, stmt: Stmt, how: Vec<(Reduction, Atom)>, out: &mut Vec<Stmt>) {
        let Stmt { results, op, site } = stmt;
        let Op::For { mut count, index, carried, mut body } = op else { return };
        let compared = std::mem::take(&mut body.results);
        body.stmts.retain(|stmt| !stmt.results.iter().any(|v| compared.contains(&Atom::Var(*v))));
        let (how, values): (Vec<Reduction>, Vec<Atom>) = how.into_iter().unzip();
        body.results = values;
        if let ([c], [Atom::Var(value)]) = (&carried[..], &body.results[..]) {
            let value = *value;
            if let Some((length, element)) = self.whole(&count, index, &c.init, &body) {
                count = length;
                body.stmts = vec![Stmt { results: vec![value], op: element, site }];
                out.push(Stmt { results, op: Op::Reduce { how, count, index, body }, site });
                return;
            }
        }
        let found: Vec<Var> = how.iter().map(|_| self.fresh()).collect();
        let op = Op::Reduce { how: how.clone(), count, index, body };
        out.push(Stmt { results: found.clone(), op, site });
        for (i, how) in how.into_iter().enumerate() {
            let op = match how {
                Reduction::Max | Reduction::Add => RealOp::Max,
                Reduction::Min => RealOp::Min,
            };
            let op = Op::Real(op, vec![carried[i].init.clone(), Atom::Var(found[i])]);
            out.push(Stmt { results: vec![results[i]], op, site });
        }
    }

    /// If a loop begins with the first element of an array and compares it with the others: the length of the
    /// array, and its element at the index.
    fn whole(&self, count: &Atom, index: Var, init: &Atom, body: &Block) -> Option<(Atom, Op)> {
        let VarDefinitions { elements, sums, lengths, uses } = &self.definitions;
        let (array, first) = elements[var(init)?.0 as usize].as_ref()?;
        let (other, indices) = elements[var(&body.results[0])?.0 as usize].as_ref()?;
        let (length, less) = sums[var(count)?.0 as usize]?;
        let (i, more) = sums[var(indices.first()?)?.0 as usize]?;
        let size = self.shapes.extent(*array, 0)?.size;
        let is_length = match size {
            Size::Is(atom) => same(&atom, &Atom::Var(length)),
            Size::Of(of, k) => k == 0 && lengths[length.0 as usize] == Some(of),
        };
        let rest = first.len() == indices.len()
            && first[1..].iter().zip(&indices[1..]).all(|(a, b)| same(a, b));
        let fits = array == other
            && same(&first[0], &Atom::Int(0))
            && (i, more, less) == (index, 1, -1)
            && uses[index.0 as usize] == 1
            && body.stmts.len() == 2;
        (is_length && rest && fits).then(|| {
            let mut indices = indices.clone();
            indices[0] = Atom::Var(index);
            (Atom::Var(length), Op::Get(Atom::Var(*array), indices))
        })
    }

    fn fresh(&mut self) -> Var {
        self.vars.push(VarInfo { ty: FlatTy::Real, name: None });
        Var(self.vars.len() as u32 - 1)
    }
}
