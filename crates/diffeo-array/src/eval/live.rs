//! Liveness: when variables are used for the last time.
//!
//! What comes in: a function. What goes out: for each of its blocks, where which variables are dropped, so that an
//! array is shared only while something still reads it, and is updated in place afterwards. What always holds: a
//! variable is dropped exactly once on every path from its definition to the end of its block.

use crate::ir::walk::{binders, has_regions, operands, regions};
use crate::ir::{Atom, Block, Carried, Function, Op, Stmt, Var};
use diffeo_base::deep;
use hashbrown::HashSet;

/// What is dropped in a block.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// At the beginning: what only other blocks use.
    pub enter: Vec<Var>,
    /// At its statements.
    pub stmts: Vec<LiveStmt>,
    /// When its results are known.
    pub exit: Vec<Var>,
}

/// What is dropped at a statement.
#[derive(Debug, Default)]
pub(super) struct LiveStmt {
    /// When its operands are known.
    pub operands: Vec<Var>,
    /// In its blocks.
    pub blocks: Vec<Live>,
    /// At its end: what its blocks used again and again, results that nothing uses.
    pub after: Vec<Var>,
}

/// When the variables of a function are used for the last time.
pub(super) fn live(function: &Function) -> Live {
    let mut walk = LivenessWalk { live: vec![false; function.vars.len()], trail: Vec::new() };
    let mut live = walk.block(&function.body);
    live.enter = walk.dead(&function.params);
    live
}

/// A walk from the end to the beginning.
struct LivenessWalk {
    /// The variables that are used later.
    live: Vec<bool>,
    /// Those that became so, in order.
    trail: Vec<Var>,
}

impl LivenessWalk {
    /// Those of the variables that nothing uses later.
    fn dead(&self, vars: &[Var]) -> Vec<Var> {
        vars.iter().copied().filter(|var| !self.live[var.0 as usize]).collect()
    }

    /// A use of a variable: the last one goes to `last`.
    fn uses(&mut self, atom: &Atom, last: &mut Vec<Var>) {
        if let Atom::Var(var) = atom {
            if !self.live[var.0 as usize] {
                self.live[var.0 as usize] = true;
                self.trail.push(*var);
                last.push(*var);
            }
        }
    }

    fn block(&mut self, block: &Block) -> Live {
        let mut exit = Vec::new();
        block.results.iter().for_each(|atom| self.uses(atom, &mut exit));
        let mut stmts: Vec<LiveStmt> =
            block.stmts.iter().rev().map(|stmt| self.stmt(stmt)).collect();
        stmts.reverse();
        Live { enter: Vec::new(), stmts, exit }
    }

    fn stmt(&mut self, stmt: &Stmt) -> LiveStmt {
        let mut after = self.dead(&stmt.results);
        stmt.results.iter().for_each(|var| self.live[var.0 as usize] = false);
        let blocks = if has_regions(&stmt.op) {
            deep(|| self.regions(&stmt.op, &mut after))
        } else {
            Vec::new()
        };
        let mut last = Vec::new();
        operands(&stmt.op, |atom| self.uses(atom, &mut last));
        LiveStmt { operands: last, blocks, after }
    }

    fn regions(&mut self, op: &Op, after: &mut Vec<Var>) -> Vec<Live> {
        match op {
            Op::For { carried, body, .. } => vec![self.looped(op, carried, body, after)],
            Op::While { carried, cond, body } => {
                let body = self.looped(op, carried, body, after);
                // What is carried is used after the condition in any case, which therefore drops nothing of
                // it; nor of what is defined outside.
                let mut ignored = Vec::new();
                carried.iter().for_each(|c| self.uses(&Atom::Var(c.param), &mut ignored));
                let cond = self.block(cond);
                carried.iter().for_each(|c| self.live[c.param.0 as usize] = false);
                vec![cond, body]
            }
            Op::Build { body, .. } | Op::Reduce { body, .. } => {
                vec![self.looped(op, &[], body, after)]
            }
            op => self.branches(op),
        }
    }

    /// The body of a loop.
    fn looped(&mut self, op: &Op, carried: &[Carried], body: &Block, after: &mut Vec<Var>) -> Live {
        // The next step uses what comes from outside, too.
        let mut own = HashSet::new();
        definitions(op, &mut own);
        regions(op, |block| self.outer_uses(block, &own, after));
        let mut live = self.block(body);
        let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        live.enter = self.dead(&params);
        binders(op, |var| self.live[var.0 as usize] = false);
        live
    }

    /// Blocks of which one is chosen: each drops at its beginning what only the others use.
    fn branches(&mut self, op: &Op) -> Vec<Live> {
        let start = self.trail.len();
        let mut lives = Vec::new();
        let mut used: Vec<Vec<Var>> = Vec::new();
        regions(op, |block| {
            let begin = self.trail.len();
            lives.push(self.block(block));
            // Its own variables are not live before it.
            let own = self.trail.split_off(begin);
            let outer: Vec<Var> = own
                .into_iter()
                .filter(|var| std::mem::take(&mut self.live[var.0 as usize]))
                .collect();
            used.push(outer);
        });
        debug_assert_eq!(start, self.trail.len());
        for var in used.iter().flatten() {
            if !self.live[var.0 as usize] {
                self.live[var.0 as usize] = true;
                self.trail.push(*var);
            }
        }
        let all = self.trail[start..].to_vec();
        for (live, used) in lives.iter_mut().zip(used) {
            let used: HashSet<Var> = used.into_iter().collect();
            live.enter = all.iter().copied().filter(|var| !used.contains(var)).collect();
        }
        lives
    }

    /// Marks what a block and its blocks use but for their own variables; what becomes live goes to `last`.
    fn outer_uses(&mut self, block: &Block, own: &HashSet<Var>, last: &mut Vec<Var>) {
        let mut uses = |atom: &Atom| match atom {
            Atom::Var(var) if own.contains(var) => {}
            atom => self.uses(atom, last),
        };
        for stmt in &block.stmts {
            operands(&stmt.op, &mut uses);
        }
        block.results.iter().for_each(uses);
        for stmt in block.stmts.iter().filter(|stmt| has_regions(&stmt.op)) {
            deep(|| regions(&stmt.op, |block| self.outer_uses(block, own, last)));
        }
    }
}

/// The variables that are defined within an operation.
fn definitions(op: &Op, own: &mut HashSet<Var>) {
    binders(op, |var| {
        own.insert(var);
    });
    regions(op, |block| {
        for stmt in &block.stmts {
            own.extend(&stmt.results);
            if has_regions(&stmt.op) {
                deep(|| definitions(&stmt.op, own));
            }
        }
    });
}
