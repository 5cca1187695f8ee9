//! Backward parts of loops that go forwards.
//!
//! Where the backward part of a loop passes on what it carries and only adds to accumulators, its direction does not
//! matter. It then goes from the first step to the last and carries along what it needs of the program, so that the
//! forward part need not keep it.

use super::control::BackwardLoop;
use super::scope::BackwardScope;
use super::Reverser;
use crate::ir::walk::{has_regions, operands, operands_mut};
use crate::ir::{Atom, Block, Carried, FlatTy, Op, Stmt, Var};
use crate::opt::effects::speculative_cost;
use diffeo_calculus::prim::IntOp;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Maximum number of statements that each step of a backward part computes again to go forwards, and of the cost of
/// each, in additions.
const MOST_AGAIN: usize = 12;
const CHEAP: u32 = 8;

/// The statements that a loop computes again instead of keeping their results.
pub(super) struct Again<'s> {
    stmts: Vec<&'s Stmt>,
    /// The variables that they carry along, by number.
    params: BTreeSet<usize>,
}

/// The statements that a loop computes again so that its backward part, which passes on what it carries, may go in
/// either direction.
pub(super) fn again<'s>(
    at: &BackwardLoop,
    scope: &BackwardScope<'s>,
    (carried, body): (&[Carried], &'s Block),
) -> Option<Again<'s>> {
    let passed = |(c, result): (&Carried, &Atom)| *result == Atom::Var(c.param);
    if scope.stored.is_empty() || !at.carried.iter().zip(&at.results).all(passed) {
        return None;
    }
    let mut wanted: Vec<Var> = scope.stored.iter().map(|(v, _)| *v).collect();
    let mut seen: BTreeSet<Var> = wanted.iter().copied().collect();
    let kept = seen.clone();
    let (mut stmts, mut params) = (BTreeSet::new(), BTreeSet::new());
    while let Some(v) = wanted.pop() {
        let mut want = |atom: &Atom| {
            if let Atom::Var(v) = atom {
                if seen.insert(*v) {
                    wanted.push(*v);
                }
            }
        };
        if let Some(i) = carried.iter().position(|c| c.param == v) {
            params.insert(i);
            want(&body.results[i]);
        } else if let Some(i) = body.stmts.iter().position(|stmt| stmt.results.contains(&v)) {
            if has_regions(&body.stmts[i].op) || stmts.len() >= MOST_AGAIN {
                return None;
            }
            operands(&body.stmts[i].op, &mut want);
            stmts.insert(i);
        } else if kept.contains(&v) {
            return None;
        }
    }
    Some(Again { stmts: stmts.into_iter().map(|i| &body.stmts[i]).collect(), params })
}

impl<'s> Reverser<'_, 's> {
    /// Whether it is cheap to compute again what the steps of a loop keep.
    pub fn computes_again(
        &self,
        again: &Again<'_>,
        scope: &BackwardScope<'_>,
        carried: &[Carried],
    ) -> bool {
        let depth = self.scopes.len();
        let cheap = |stmt: &&Stmt| match &stmt.op {
            Op::Get(Atom::Var(array), _) => {
                self.homes[array.0 as usize] < depth && self.obtains(&Atom::Var(*array), depth - 1)
            }
            op => speculative_cost(op).is_some_and(|cost| cost <= CHEAP),
        };
        let is_number = |v: Var| {
            matches!(self.vars[v.0 as usize].ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool)
        };
        again.stmts.iter().all(cheap)
            && again.params.iter().all(|i| is_number(carried[*i].param))
            && scope.stored.iter().all(|(v, _)| is_number(*v))
    }

    /// Has a loop of the backward part go from the first step to the last, and carry along what it would otherwise
    /// read from the steps of the forward part; the statements that compute it.
    pub fn forwards(
        &mut self,
        at: &mut BackwardLoop,
        again: &Again<'s>,
        scope: &mut BackwardScope<'s>,
        (carried, body): (&'s [Carried], &'s Block),
    ) -> Vec<Stmt> {
        let stored: HashMap<Var, Var> = std::mem::take(&mut scope.stored).into_iter().collect();
        let mut map: HashMap<Var, Atom> = HashMap::new();
        let mut first = Vec::new();
        if let (Atom::Var(step), Some(index)) = (&at.step, at.source) {
            at.lead.clear();
            let op = Op::IntFits(IntOp::Add, vec![Atom::Var(at.index), Atom::Int(0)]);
            first.push(Stmt { results: vec![*step], op, site: self.back.site() });
            map.insert(index, at.step.clone());
        }
        for i in &again.params {
            let Carried { param: v, init } = &carried[*i];
            let param = stored.get(v).copied().unwrap_or_else(|| self.copied(*v));
            map.insert(*v, Atom::Var(param));
            let init = self.primal(init);
            at.carried.push(Carried { param, init });
        }
        let put = |this: &mut Self, map: &HashMap<Var, Atom>, atom: &Atom| {
            let known = if let Atom::Var(v) = atom { map.get(v).cloned() } else { None };
            known.unwrap_or_else(|| this.primal(atom))
        };
        for stmt in &again.stmts {
            let mut op = stmt.op.clone();
            operands_mut(&mut op, |atom| *atom = put(self, &map, atom));
            let mut results = Vec::new();
            for v in &stmt.results {
                let var = stored.get(v).copied().unwrap_or_else(|| self.copied(*v));
                map.insert(*v, Atom::Var(var));
                results.push(var);
            }
            first.push(Stmt { results, op, site: stmt.site });
        }
        for i in &again.params {
            let next = put(self, &map, &body.results[*i]);
            at.results.push(next);
        }
        first
    }
}
