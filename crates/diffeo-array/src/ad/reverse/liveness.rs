//! Liveness of arrays: those used after a place where arrays are changed, passed to calls, or carried by
//! loops.

use crate::ir::walk::{binders, deep, operands, regions, statements};
use crate::ir::{Atom, Block, FlatTy, Function, Op, Var};
use hashbrown::{HashMap, HashSet};

/// The arrays that are used later, at updates, appends, calls and loops: by their first result.
pub(super) fn liveness(function: &Function) -> HashMap<Var, HashSet<Var>> {
    let mut liveness = Liveness { function, live: HashSet::new(), at: HashMap::new() };
    liveness.block(&function.body);
    liveness.at
}

pub(super) fn is_array(function: &Function, v: Var) -> bool {
    matches!(function.vars[v.0 as usize].ty, FlatTy::Array(..))
}

/// The analysis, from the end of the function to its beginning.
struct Liveness<'f> {
    function: &'f Function,
    live: HashSet<Var>,
    at: HashMap<Var, HashSet<Var>>,
}

impl Liveness<'_> {
    fn uses(&mut self, atom: &Atom) {
        if let Atom::Var(v) = atom {
            if is_array(self.function, *v) {
                self.live.insert(*v);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        block.results.iter().for_each(|atom| self.uses(atom));
        for stmt in block.stmts.iter().rev() {
            stmt.results.iter().for_each(|v| {
                self.live.remove(v);
            });
            match &stmt.op {
                Op::Update { .. } | Op::Append(..) | Op::Call(..) => {
                    if let Some(v) = stmt.results.first() {
                        self.at.insert(*v, self.live.clone());
                    }
                }
                Op::If { .. } | Op::Switch { .. } => {
                    let after = self.live.clone();
                    let mut before = HashSet::new();
                    deep(|| {
                        regions(&stmt.op, |region| {
                            self.live.clone_from(&after);
                            self.block(region);
                            before.extend(self.live.drain());
                        });
                    });
                    self.live = before;
                }
                Op::For { .. } | Op::While { .. } | Op::Build { .. } | Op::Reduce { .. } => {
                    // What a step uses of outside, the next one does again.
                    deep(|| {
                        regions(&stmt.op, |region| {
                            statements(region, &mut |stmt| {
                                operands(&stmt.op, |atom| self.uses(atom));
                                regions(&stmt.op, |r| r.results.iter().for_each(|a| self.uses(a)));
                            });
                            region.results.iter().for_each(|atom| self.uses(atom));
                        });
                        let mut own = HashSet::new();
                        binders(&stmt.op, |v| {
                            own.insert(v);
                        });
                        regions(&stmt.op, |region| defined(region, &mut own));
                        self.live.retain(|v| !own.contains(v));
                        let around = self.live.clone();
                        if let Some(v) = stmt.results.first() {
                            self.at.insert(*v, around.clone());
                        }
                        regions(&stmt.op, |region| {
                            self.live.clone_from(&around);
                            self.block(region);
                        });
                        self.live = around;
                    });
                }
                _ => {}
            }
            operands(&stmt.op, |atom| self.uses(atom));
        }
    }
}

/// Adds what a block defines.
fn defined(block: &Block, to: &mut HashSet<Var>) {
    statements(block, &mut |stmt| {
        to.extend(&stmt.results);
        binders(&stmt.op, |v| {
            to.insert(v);
        });
    });
}
