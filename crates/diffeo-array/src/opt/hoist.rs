//! Loop-invariant code motion: moves what is the same in every step of a loop before the loop.
//!
//! What it needs: `cse` before, so that equal operands are the same variable. Why it is right: a statement whose
//! operands are defined outside gives the same in each step. Scalars that nothing guards may be computed before the
//! loop even if it makes no step. Everything else (what can fail; an element or a field, which a check or a branch
//! guards; whole loops) moves only from the start of the body, past statements that have no effects or move, too, and
//! only to where the loop certainly makes a step, by a branch on the count if need be. So an effect that moves still
//! happens when, and only if, it would have happened first.
//!
//! Loops are visited from the inside out, so a statement leaves as many loops as it can.

use super::effects::{has_bounded_partials, speculative_cost, Effects};
use super::shapes::Shapes;
use crate::ir::walk::{
    binders, deep, has_regions, makes_room, operands, regions, regions_mut, var, Copier,
};
use crate::ir::{Atom, Block, Check, FlatTy, Module, Op, Scalar, SiteId, Stmt, Var, VarInfo};
use diffeo_calculus::prim::Comparison;
use hashbrown::{HashMap, HashSet};

/// Loop-invariant code motion: see the head of the file.
pub fn hoist(module: Module) -> Module {
    hoist_all(module, false)
}

/// As [`hoist`], before derivatives are taken: what may have an infinite derivative moves only to where the loop
/// certainly makes a step, too.
pub(super) fn hoist_early(module: Module) -> Module {
    hoist_all(module, true)
}

fn hoist_all(mut module: Module, early: bool) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let mut cx = Hoist {
            early,
            effects: &effects,
            shapes: Shapes::of_rows(function),
            level: vec![0; function.vars.len()],
            stamp: vec![0; function.vars.len()],
            stamps: 0,
            vars: std::mem::take(&mut function.vars),
            positive: Vec::new(),
        };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body, 0);
        function.body = body;
        function.vars = cx.vars;
    }
    module
}

struct Hoist<'a> {
    /// Whether derivatives are still to be taken.
    early: bool,
    effects: &'a Effects,
    shapes: Shapes,
    /// How many regions there are around the definition of a variable.
    level: Vec<u32>,
    /// In which search for the operands of a statement a variable was found to be defined by it.
    stamp: Vec<u32>,
    stamps: u32,
    vars: Vec<VarInfo>,
    /// The Ints that are at least 1 here.
    positive: Vec<Atom>,
}

impl Hoist<'_> {
    /// Goes through a block at a level.
    fn block(&mut self, block: &mut Block, level: u32) {
        let known = self.positive.len();
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.results.iter().for_each(|v| self.level[v.0 as usize] = level);
            if let Op::Check(Check::Index { length, .. }) = &stmt.op {
                self.positive.push(length.clone());
            }
            if has_regions(&stmt.op) {
                deep(|| self.regions(&mut stmt, level, &mut out));
            }
            out.push(stmt);
        }
        self.positive.truncate(known);
        block.stmts = out;
    }

    fn regions(&mut self, stmt: &mut Stmt, level: u32, out: &mut Vec<Stmt>) {
        binders(&stmt.op, |v| self.level[v.0 as usize] = level + 1);
        let count = match &stmt.op {
            Op::For { count, .. } | Op::Build { count, .. } | Op::Reduce { count, .. } => {
                Some(count.clone())
            }
            Op::While { .. } => None,
            _ => {
                regions_mut(&mut stmt.op, |r| self.block(r, level + 1));
                return;
            }
        };
        let runs = count.as_ref().is_some_and(|n| self.is_positive(n));
        let known = self.positive.len();
        self.positive.extend(count.clone());
        // The condition of a loop is evaluated at least once, and before the body; the body, nobody knows.
        let mut step = match &stmt.op {
            Op::While { .. } => RegionRuns::Certain,
            _ if runs => RegionRuns::Certain,
            _ => RegionRuns::If,
        };
        let site = stmt.site;
        regions_mut(&mut stmt.op, |r| {
            self.block(r, level + 1);
            let first = self.leave(r, level, step, out);
            if let (false, Some(count)) = (first.is_empty(), &count) {
                self.guard(first, count, site, level, out);
            }
            step = RegionRuns::Unknown;
        });
        self.positive.truncate(known);
    }

    fn is_positive(&self, n: &Atom) -> bool {
        match n {
            Atom::Int(n) => *n > 0,
            // The latest are the likeliest.
            n => self.positive.iter().rev().take(16).any(|p| p == n),
        }
    }

    /// Moves statements of the body of a loop before it. Gives those that are to stand where it makes a step.
    fn leave(
        &mut self,
        body: &mut Block,
        level: u32,
        step: RegionRuns,
        out: &mut Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut kept = Vec::with_capacity(body.stmts.len());
        let mut guarded = Vec::new();
        let mut guarded_vars = HashSet::new();
        let mut first = !matches!(step, RegionRuns::Unknown);
        for stmt in std::mem::take(&mut body.stmts) {
            let pure = speculative_cost(&stmt.op).is_some() || matches!(stmt.op, Op::Text(_));
            if !first && !pure {
                kept.push(stmt);
                continue;
            }
            let free = pure && (!self.early || has_bounded_partials(&stmt.op));
            let effect = self.effects.stmt(&stmt, &self.shapes, &self.vars);
            let moves =
                effect.repeatable() && !self.is_new(&stmt) && self.is_invariant(&stmt, level);
            if !moves {
                first &= !effect.any();
                kept.push(stmt);
            } else if matches!(step, RegionRuns::Unknown) && !free {
                kept.push(stmt);
            } else if matches!(step, RegionRuns::Certain) || free && !uses(&stmt, &guarded_vars) {
                stmt.results.iter().for_each(|v| self.level[v.0 as usize] = level);
                out.push(stmt);
            } else {
                stmt.results.iter().for_each(|v| self.level[v.0 as usize] = level);
                guarded_vars.extend(stmt.results.iter().copied());
                guarded.push(stmt);
            }
        }
        body.stmts = kept;
        guarded
    }

    /// Adds statements where a count is positive.
    fn guard(
        &mut self,
        stmts: Vec<Stmt>,
        count: &Atom,
        site: SiteId,
        level: u32,
        out: &mut Vec<Stmt>,
    ) {
        let results: Vec<Var> =
            stmts.iter().flat_map(|stmt| stmt.results.iter().copied()).collect();
        let old = Block { results: results.iter().map(|v| Atom::Var(*v)).collect(), stmts };
        let first = self.vars.len();
        let (map, site_of) = (HashMap::new(), |site| site);
        let mut copier = Copier { source: None, vars: &mut self.vars, map, site: site_of };
        let then = copier.block(&old);
        let unused = |v: &Var| Atom::Unused(self.vars[v.0 as usize].ty.clone());
        let otherwise = Block { stmts: Vec::new(), results: results.iter().map(unused).collect() };
        let cond = Var(self.vars.len() as u32);
        self.vars.push(VarInfo { ty: FlatTy::Bool, name: None });
        let new = self.vars.len() - first;
        self.level.extend(std::iter::repeat_n(level + 1, new));
        self.level[cond.0 as usize] = level;
        self.stamp.extend(std::iter::repeat_n(0, new));
        let positive = Op::Compare(Comparison::Gt, Scalar::Int, count.clone(), Atom::Int(0));
        out.push(Stmt { results: vec![cond], op: positive, site });
        let op = Op::If { cond: Atom::Var(cond), then, otherwise };
        out.push(Stmt { results, op, site });
    }

    /// Whether all that a statement refers to is defined at this level or further out, or by itself.
    fn is_invariant(&mut self, stmt: &Stmt, level: u32) -> bool {
        self.stamps += 1;
        // Rows that are only room stay where they are: elsewhere they would be copied.
        !makes_room(&stmt.op) && self.refers_outside(stmt, level)
    }

    fn refers_outside(&mut self, stmt: &Stmt, level: u32) -> bool {
        let mut all = true;
        let outside = |this: &Self, a: &Atom| {
            var(a).is_none_or(|v| {
                this.level[v.0 as usize] <= level || this.stamp[v.0 as usize] == this.stamps
            })
        };
        operands(&stmt.op, |a| all &= outside(self, a));
        if !has_regions(&stmt.op) || !all {
            stmt.results.iter().for_each(|v| self.stamp[v.0 as usize] = self.stamps);
            return all;
        }
        binders(&stmt.op, |v| self.stamp[v.0 as usize] = self.stamps);
        deep(|| {
            regions(&stmt.op, |r| {
                all = all && r.stmts.iter().all(|inner| self.refers_outside(inner, level));
                all = all && r.results.iter().all(|a| outside(self, a));
            });
        });
        stmt.results.iter().for_each(|v| self.stamp[v.0 as usize] = self.stamps);
        all
    }

    /// Whether each evaluation gives something of its own, or stops the program for sure.
    fn is_new(&self, stmt: &Stmt) -> bool {
        let mutable = |v: &Var| self.vars[v.0 as usize].ty.is_mutable();
        stmt.results.iter().any(mutable) || matches!(stmt.op, Op::Stop(_))
    }
}

/// Whether a statement has one of these variables as an operand.
fn uses(stmt: &Stmt, vars: &HashSet<Var>) -> bool {
    let mut found = false;
    operands(&stmt.op, |a| found |= var(a).is_some_and(|v| vars.contains(&v)));
    found
}

/// Whether a region that runs again and again runs at all.
#[derive(Clone, Copy)]
enum RegionRuns {
    Certain,
    /// If the count is positive.
    If,
    Unknown,
}
