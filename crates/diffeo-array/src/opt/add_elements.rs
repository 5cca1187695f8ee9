//! Addition where elements are made: a comprehension of which an accumulator gets all elements becomes a loop that adds
//! each of them.
//!
//! Why it is right: nothing else uses the comprehension, which moves down to the addition only if it has no effects. If
//! it has, the addition comes next, and its body uses other accumulators alone. So each element is the same, and is
//! added once.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{deep, has_regions, operands, regions, regions_mut, statements, uses, var};
use crate::ir::{Atom, Block, Elem, FlatTy, Module, Op, Stmt, Var, VarInfo};
use hashbrown::HashMap;

/// Addition where elements are made: see the head of the file.
pub fn add_elements(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        if !function.vars.iter().any(|info| info.ty == FlatTy::Acc(1)) {
            continue;
        }
        let (uses, shapes) = (uses(function), Shapes::of_rows(function));
        let mut body = std::mem::take(&mut function.body);
        let roots = roots(&body);
        Adder { effects: &effects, uses, shapes, roots, vars: &function.vars }.block(&mut body);
        function.body = body;
    }
    module
}

/// Of accumulators and views of those that are made in a function, which of them they belong to.
fn roots(body: &Block) -> HashMap<Var, Var> {
    let mut roots = HashMap::new();
    statements(body, &mut |stmt| {
        let [v] = stmt.results[..] else { return };
        let root = match &stmt.op {
            Op::AccNew(_) => Some(v),
            Op::AccView(acc, _) | Op::AccSlice { acc, .. } | Op::AccReshape(acc, _) => {
                var(acc).and_then(|acc| roots.get(&acc)).copied()
            }
            _ => None,
        };
        roots.extend(root.map(|root| (v, root)));
    });
    roots
}

struct Adder<'a> {
    effects: &'a Effects,
    uses: Vec<u32>,
    shapes: Shapes,
    roots: HashMap<Var, Var>,
    vars: &'a [VarInfo],
}

impl Adder<'_> {
    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |region| self.block(region)));
            }
        }
        // Where comprehensions stand that are used once, and whether they have effects.
        let mut made: HashMap<Var, (usize, bool)> = HashMap::new();
        let mut gone = vec![false; block.stmts.len()];
        for at in 0..block.stmts.len() {
            let stmt = &block.stmts[at];
            if let (Op::Build { .. }, [v]) = (&stmt.op, &stmt.results[..]) {
                let ty = &self.vars[v.0 as usize].ty;
                if *ty == FlatTy::Array(Elem::Real, 1) && self.uses[v.0 as usize] == 1 {
                    made.insert(*v, (at, self.effects.stmt(stmt, &self.shapes, self.vars).any()));
                }
            } else if let Op::AccAddArray(acc, array) = &stmt.op {
                let from = var(array).and_then(|v| made.get(&v)).copied();
                let Some((from, effect)) = from else { continue };
                let (acc, site) = (acc.clone(), stmt.site);
                if effect && !(from + 1 == at && self.leaves(&acc, &block.stmts[from])) {
                    continue;
                }
                let nothing = Op::AccNew(Vec::new());
                let op = std::mem::replace(&mut block.stmts[from].op, nothing);
                let Op::Build { count, index, mut body } = op else { continue };
                let Some(element) = body.results.pop() else { continue };
                let op = Op::AccAdd(acc, vec![Atom::Var(index)], element);
                body.stmts.push(Stmt { results: Vec::new(), op, site });
                let op = Op::For { count, index, carried: Vec::new(), body };
                block.stmts[at] = Stmt { results: Vec::new(), op, site };
                gone[from] = true;
            }
        }
        let mut gone = gone.into_iter();
        block.stmts.retain(|_| gone.next() != Some(true));
    }

    /// Whether the body of a comprehension certainly uses no element of an accumulator.
    fn leaves(&self, acc: &Atom, stmt: &Stmt) -> bool {
        let root = |atom: &Atom| var(atom).and_then(|v| self.roots.get(&v)).copied();
        let Some(own) = root(acc) else { return false };
        let mut apart = true;
        regions(&stmt.op, |body| {
            statements(body, &mut |stmt| {
                operands(&stmt.op, |atom| {
                    let is_acc = |v: Var| matches!(self.vars[v.0 as usize].ty, FlatTy::Acc(_));
                    if var(atom).is_some_and(is_acc) {
                        apart &= root(atom).is_some_and(|other| other != own);
                    }
                });
            });
        });
        apart
    }
}
