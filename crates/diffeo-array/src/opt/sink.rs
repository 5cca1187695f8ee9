//! Sinking: moves a statement that only one branch uses into that branch.
//!
//! What it needs: nothing. Why it is right: what moves has no effects and reads only scalars, so it gives the same
//! later; it is evaluated at most as often as before, because branches are no loops. Blocks are visited from the end,
//! so what is needed by something that moves can move with it.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{deep, has_regions, operands, regions_mut, var};
use crate::ir::{Atom, Block, FlatTy, Module, Op, Stmt, VarInfo};
use hashbrown::HashMap;

/// Sinking into branches: see the head of the file.
pub fn sink(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let mut cx = Sink {
            shapes: Shapes::of_rows(function),
            effects: &effects,
            vars: &function.vars,
            regions: vec![SinkRegion { parent: 0, depth: 0, is_branch: false }],
            used: vec![None; function.vars.len()],
            moved: HashMap::new(),
        };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body, 0);
        if !cx.moved.is_empty() {
            cx.insert(&mut body, 0, &mut 1);
        }
        function.body = body;
    }
    module
}

struct SinkRegion {
    parent: usize,
    depth: u32,
    /// Whether it runs at most once whenever the region around it does.
    is_branch: bool,
}

struct Sink<'a> {
    shapes: Shapes,
    effects: &'a Effects,
    vars: &'a [VarInfo],
    /// In the order in which they are come to.
    regions: Vec<SinkRegion>,
    /// The innermost region that all uses of a variable are in.
    used: Vec<Option<usize>>,
    /// What goes to the start of a region, the last first.
    moved: HashMap<usize, Vec<Stmt>>,
}

impl Sink<'_> {
    /// Goes through a block from its end.
    fn block(&mut self, block: &mut Block, here: usize) {
        for a in &block.results {
            self.uses(a, here);
        }
        let mut kept = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts).into_iter().rev() {
            if has_regions(&stmt.op) {
                let is_branch = matches!(stmt.op, Op::If { .. } | Op::Switch { .. });
                deep(|| {
                    regions_mut(&mut stmt.op, |r| {
                        let depth = self.regions[here].depth + 1;
                        let region = self.regions.len();
                        self.regions.push(SinkRegion { parent: here, depth, is_branch });
                        self.block(r, region);
                    });
                });
            }
            let place = self.place(&stmt, here);
            operands(&stmt.op, |a| self.uses(a, place));
            if place == here {
                kept.push(stmt);
            } else {
                self.moved.entry(place).or_default().push(stmt);
            }
        }
        kept.reverse();
        block.stmts = kept;
    }

    fn uses(&mut self, atom: &Atom, region: usize) {
        let Some(v) = var(atom) else { return };
        let common = match self.used[v.0 as usize] {
            None => region,
            Some(other) => self.common(other, region),
        };
        self.used[v.0 as usize] = Some(common);
    }

    /// The innermost region that both are in.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.regions[a].depth >= self.regions[b].depth {
                a = self.regions[a].parent;
            } else {
                b = self.regions[b].parent;
            }
        }
        a
    }

    /// The region that a statement belongs in.
    fn place(&self, stmt: &Stmt, here: usize) -> usize {
        // Statements with regions would take the numbers of their regions along.
        if has_regions(&stmt.op) || stmt.results.is_empty() {
            return here;
        }
        // An array that is read later lives longer, and would have to be copied where it is updated meanwhile.
        let mut reads = false;
        operands(&stmt.op, |a| {
            reads |= var(a).is_some_and(|v| !is_scalar(&self.vars[v.0 as usize].ty));
        });
        if reads {
            return here;
        }
        let mutable = stmt.results.iter().any(|v| self.vars[v.0 as usize].ty.is_mutable());
        if mutable || self.effects.own(stmt, &self.shapes, self.vars).any() {
            return here;
        }
        let mut uses = stmt.results.iter().filter_map(|v| self.used[v.0 as usize]);
        let Some(first) = uses.next() else { return here };
        let common = uses.fold(first, |a, b| self.common(a, b));
        // The way from the uses to here; only branches may be entered.
        let (mut region, mut place) = (common, common);
        while region != here {
            if !self.regions[region].is_branch {
                place = self.regions[region].parent;
            }
            region = self.regions[region].parent;
        }
        place
    }

    /// Puts what was moved to the starts of the regions, which are come to in the same order.
    fn insert(&mut self, block: &mut Block, here: usize, next: &mut usize) {
        for stmt in block.stmts.iter_mut().rev() {
            deep(|| {
                regions_mut(&mut stmt.op, |r| {
                    let region = *next;
                    *next += 1;
                    self.insert(r, region, next);
                });
            });
        }
        if let Some(mut moved) = self.moved.remove(&here) {
            moved.reverse();
            block.stmts.splice(0..0, moved);
        }
    }
}

fn is_scalar(ty: &FlatTy) -> bool {
    match ty {
        FlatTy::Real | FlatTy::Int | FlatTy::Bool => true,
        FlatTy::Text | FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
            false
        }
    }
}
