//! Dead-variant elimination: removes code that can only run if a box has a variant that the program never constructs.
//!
//! A backward part branches on how its forward part went and reads residuals from a box with a variant for each way.
//! Where other passes find that the forward part never takes a way, only the missing variant shows that its branch is
//! dead.
//!
//! What it needs: nothing; `simplify` afterwards, which drops branches that are not chosen. Why it is right: a field is
//! read only where the box exists and has this tag. If nothing constructs such a box, and none comes from outside, the
//! statement is never reached; neither is the start of its block, if nothing between the two can stop the program. A
//! stop that leaves the program to the evaluator replaces what is never reached.

use super::effects::Effects;
use super::graph::{call_graph, from_outside, CallGraph};
use super::shapes::Shapes;
use crate::ir::walk::{deep, has_regions, regions_mut, statements, var};
use crate::ir::{Atom, Block, BoxId, FlatTy, Module, Op, Stmt, Stop, Var, VarInfo};
use hashbrown::HashSet;

/// Dead-variant elimination: see the head of the file.
pub fn dead_variants(mut module: Module) -> Module {
    let mut never = vec![false; module.functions.len()];
    loop {
        let graph = call_graph(&module);
        let Some(made) = made(&module, &graph) else { break };
        let effects = Effects::with(&module, &graph);
        let mut changed = false;
        for f in graph.components.into_iter().flatten() {
            let shapes = Shapes::of_rows(&module.functions[f]);
            let function = &mut module.functions[f];
            let (vars, effects) = (&function.vars, &effects);
            let mut walk =
                DeadVariants { made: &made, never: &never, effects, shapes, vars, changed: false };
            if !never[f] && walk.block(&mut function.body) {
                stop_from(&mut function.body, 0);
                changed = true;
                never[f] = true;
            } else {
                changed |= walk.changed;
            }
        }
        if !changed {
            break;
        }
    }
    module
}

/// By type of boxes, which alternatives there are; none if no others are read.
fn made(module: &Module, graph: &CallGraph) -> Option<Vec<Vec<bool>>> {
    let mut made: Vec<Vec<bool>> =
        module.boxes.iter().map(|ty| vec![false; ty.variants.len()]).collect();
    for id in from_outside(module) {
        made[id.0 as usize].fill(true);
    }
    let mut reached = vec![false; module.functions.len()];
    let (mut open, mut read) = (vec![module.entry.0 as usize], HashSet::new());
    while let Some(f) = open.pop() {
        if std::mem::replace(&mut reached[f], true) {
            continue;
        }
        open.extend(&graph.callees[f]);
        let function = &module.functions[f];
        statements(&function.body, &mut |stmt| match &stmt.op {
            Op::New(id, tag, _) => made[id.0 as usize][*tag as usize] = true,
            Op::Field { object, tag, .. } => {
                read.extend(box_of(&function.vars, object).map(|id| (id, *tag)));
            }
            _ => {}
        });
    }
    let absent = read.iter().any(|(id, tag)| !made[id.0 as usize][*tag as usize]);
    absent.then_some(made)
}

/// The type of a box.
fn box_of(vars: &[VarInfo], object: &Atom) -> Option<BoxId> {
    match &vars[var(object)?.0 as usize].ty {
        FlatTy::Box(id) => Some(*id),
        _ => None,
    }
}

struct DeadVariants<'a> {
    made: &'a [Vec<bool>],
    /// The functions that are never called.
    never: &'a [bool],
    effects: &'a Effects,
    shapes: Shapes,
    vars: &'a [VarInfo],
    changed: bool,
}

impl DeadVariants<'_> {
    /// Whether the program never comes to the block; what follows a statement that it never comes to goes.
    fn block(&mut self, block: &mut Block) -> bool {
        let mut stops = false;
        for at in 0..block.stmts.len() {
            if self.is_absent(&mut block.stmts[at]) {
                if !stops {
                    return true;
                }
                stop_from(block, at);
                self.changed = true;
                return false;
            }
            stops |= self.effects.stmt(&block.stmts[at], &self.shapes, self.vars).stops;
        }
        false
    }

    /// Whether the program never comes to a statement.
    fn is_absent(&mut self, stmt: &mut Stmt) -> bool {
        match &mut stmt.op {
            Op::Field { object, tag, .. } => {
                box_of(self.vars, object).is_some_and(|id| !self.made[id.0 as usize][*tag as usize])
            }
            Op::Call(f, _) => self.never[f.0 as usize],
            op if has_regions(op) => deep(|| self.regions(op)),
            _ => false,
        }
    }

    /// The same for one with regions: chooses those that are left.
    fn regions(&mut self, op: &mut Op) -> bool {
        let mut absent = Vec::new();
        regions_mut(op, |region| absent.push(self.block(region)));
        if !absent.contains(&true) {
            return false;
        }
        if matches!(op, Op::If { .. } | Op::Switch { .. }) && !absent.contains(&false) {
            return true;
        }
        match op {
            Op::If { cond, .. } => self.change(cond, Atom::Bool(absent[1])),
            Op::Switch { on, arms, default } => {
                let mut of_arms = absent.iter();
                arms.retain(|_| of_arms.next() == Some(&false));
                if of_arms.next() == Some(&true) {
                    *default = None;
                }
                self.changed = true;
                if let ([(only, _)], None) = (&arms[..], &default) {
                    *on = Atom::Int(*only);
                }
            }
            // No step is made.
            Op::For { count, .. } | Op::Build { count, .. } | Op::Reduce { count, .. } => {
                self.change(count, Atom::Int(0));
            }
            Op::While { body, .. } => {
                if absent[0] {
                    return true;
                }
                stop_from(body, 0);
                self.changed = true;
            }
            _ => {}
        }
        false
    }

    fn change(&mut self, operand: &mut Atom, known: Atom) {
        self.changed |= *operand != known;
        *operand = known;
    }
}

/// Puts a stop in the place of the statements from here on.
fn stop_from(block: &mut Block, at: usize) {
    let removed = block.stmts.split_off(at);
    let Some(site) = removed.first().map(|stmt| stmt.site) else { return };
    let defined: HashSet<Var> = removed.iter().flat_map(|stmt| &stmt.results).copied().collect();
    let mut results: Vec<Var> = block.results.iter().filter_map(var).collect();
    results.retain(|result| defined.contains(result));
    results.sort_unstable();
    results.dedup();
    block.stmts.push(Stmt { results, op: Op::Stop(Stop::Order), site });
}
