//! Scatter to map: a loop that only puts a number into each element of new accumulators becomes a comprehension.
//!
//! Where it applies: a counted loop without carried variables that adds to new accumulators, each of as many elements
//! as the loop has steps, at its index, and touches no others; nothing else is added to them before they are read
//! whole. Why it is right: each element is 0 plus one number, as is each element of the comprehension.

use crate::ir::walk::{deep, has_regions, operands, regions, regions_mut, same, uses, var};
use crate::ir::{Atom, Block, FlatTy, Module, Op, Stmt, Var, VarInfo};
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;

/// Scatter to map: see the head of the file.
pub fn scatter_to_map(mut module: Module) -> Module {
    for function in &mut module.functions {
        if !function.vars.iter().any(|info| info.ty == FlatTy::Acc(1)) {
            continue;
        }
        let uses = uses(function);
        let mut body = std::mem::take(&mut function.body);
        let mut cx = Adjoints { uses, vars: &mut function.vars };
        cx.block(&mut body);
        function.body = body;
    }
    module
}

struct Adjoints<'f> {
    uses: Vec<u32>,
    vars: &'f mut Vec<VarInfo>,
}

impl Adjoints<'_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
        }
        let mut sizes = HashMap::new();
        let mut gone = Vec::new();
        for at in 0..block.stmts.len() {
            let Some((stmt, after)) = block.stmts[at..].split_first_mut() else { break };
            if let (Op::AccNew(new), [v]) = (&stmt.op, &stmt.results[..]) {
                if let [size] = &new[..] {
                    sizes.insert(*v, size.clone());
                }
            } else if let Some(accs) = self.filled(stmt, &sizes) {
                let read = |acc: &Var| {
                    let whole = Op::AccGet(Atom::Var(*acc));
                    after.iter().find(|stmt| stmt.op == whole).map(|stmt| stmt.results[0])
                };
                let Some(results) = accs.iter().map(read).collect::<Option<Vec<Var>>>() else {
                    continue;
                };
                self.comprehension(stmt, results);
                gone.extend(accs);
            }
        }
        if !gone.is_empty() {
            block.stmts.retain(|stmt| match &stmt.op {
                Op::AccNew(_) => !stmt.results.iter().any(|v| gone.contains(v)),
                Op::AccGet(Atom::Var(acc)) => !gone.contains(acc),
                _ => true,
            });
        }
    }

    /// The accumulators that a loop fills, if that is all that it does with any.
    fn filled(&self, stmt: &Stmt, sizes: &HashMap<Var, Atom>) -> Option<Vec<Var>> {
        let Op::For { count, index, carried, body } = &stmt.op else { return None };
        let mut accs = Vec::new();
        for stmt in &body.stmts {
            if let Op::AccAdd(Atom::Var(acc), at, _) = &stmt.op {
                let new = sizes.get(acc).is_some_and(|size| same(size, count));
                // Here, and where it is read.
                let twice = self.uses[acc.0 as usize] == 2;
                if !new || !twice || at[..] != [Atom::Var(*index)] {
                    return None;
                }
                accs.push(*acc);
            } else if self.touches(stmt) {
                return None;
            }
        }
        (carried.is_empty() && !accs.is_empty()).then_some(accs)
    }

    /// Whether a statement uses accumulators or stacks.
    fn touches(&self, stmt: &Stmt) -> bool {
        let changed =
            |v: Var| matches!(self.vars[v.0 as usize].ty, FlatTy::Acc(_) | FlatTy::Stack(_));
        let mut found = stmt.results.iter().any(|v| changed(*v));
        operands(&stmt.op, |atom| found |= var(atom).is_some_and(changed));
        deep(|| {
            regions(&stmt.op, |region| found |= region.stmts.iter().any(|s| self.touches(s)));
        });
        found
    }

    /// Makes a comprehension of a loop.
    fn comprehension(&mut self, stmt: &mut Stmt, results: Vec<Var>) {
        let op = std::mem::replace(&mut stmt.op, Op::AccNew(Vec::new()));
        let Op::For { count, index, mut body, .. } = op else { return };
        for stmt in &mut body.stmts {
            let Op::AccAdd(_, _, value) = &stmt.op else { continue };
            // As it is added to 0.
            stmt.op = Op::Real(RealOp::Add, vec![Atom::Real(0.0), value.clone()]);
            self.vars.push(VarInfo { ty: FlatTy::Real, name: None });
            let sum = Var(self.vars.len() as u32 - 1);
            stmt.results = vec![sum];
            body.results.push(Atom::Var(sum));
        }
        stmt.op = Op::Build { count, index, body };
        stmt.results = results;
    }
}
