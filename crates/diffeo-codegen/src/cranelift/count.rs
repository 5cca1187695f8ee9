//! Cost estimates of statements, by which code counts its own work as it runs.
//!
//! Work is measured in simple operations, roughly. What is counted where:
//! - a counted loop, at its beginning, or where it polls, before those steps: steps times the cost of a step;
//! - a loop with a condition, when it asks whether the run is to end, and at its end;
//! - calls of recursive functions, at the beginning of the list of statements that contains them, for the callees;
//! - expensive statements, at the beginning of their list.
//!
//! Everything else is part of the cost of what contains it, calls of other functions included. A branch costs as much
//! as its most expensive arm. Functions that do loops block by block count nothing themselves, because the runtime may
//! do the blocks instead.

use super::lanes;
use crate::low::opt::polled;
use crate::low::{Expr, For, FunctionId, LowFunction, LowModule, Operand, Stmt};
use crate::memory::simple_cost;
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;
use std::cell::Cell;

/// Statements that are more work than this are counted by themselves.
const MUCH: u64 = 4096;
/// No more counts for a step, so that numbers stay small.
const MOST: u64 = 1 << 20;
/// What an elementary function takes.
const MATH: u64 = 40;
/// What a call takes.
const CALL: u64 = 4;
/// So many steps a loop is taken to have that is not counted.
const STEPS: u64 = 8;
/// Steps that are done several at once take less, by this factor.
const LANES: u64 = 3;

/// The costs of the functions of a module.
pub(super) struct Weights {
    /// By function: what a call takes besides what the function counts itself.
    functions: Vec<Cell<Option<u64>>>,
    /// Which are initialisers, and of which constant.
    constants: HashMap<u32, u32>,
}

/// The costs that the code of a function counts.
#[derive(Default)]
pub(super) struct CostPlan {
    /// The cost of a statement list, counted at its start; keyed by the address of its first statement.
    pub lists: HashMap<*const Stmt, u64>,
    /// The cost of a step of a counted loop, by the address of the loop.
    pub loops: HashMap<*const For, u64>,
    /// The cost of a step of a loop with a condition, by the address of its first statement.
    pub conditional: HashMap<*const Stmt, u64>,
}

impl Weights {
    /// The costs of the functions of a module.
    pub fn new(module: &LowModule) -> Weights {
        let constants = module.flat.constants.iter().enumerate();
        let constants = constants.map(|(i, constant)| (constant.init.0, i as u32)).collect();
        let weights =
            Weights { functions: vec![Cell::new(None); module.functions.len()], constants };
        for id in 0..module.functions.len() {
            weights.find(module, id);
        }
        weights
    }

    /// What a call of a function takes, and of those that it calls; 0 while that is being found out.
    fn find(&self, module: &LowModule, id: usize) -> u64 {
        if let Some(weight) = self.functions[id].get() {
            return weight;
        }
        self.functions[id].set(Some(0));
        let function = &module.functions[id];
        let found = if function.blocks.is_some() {
            0
        } else {
            Counting { module, weights: self, plan: CostPlan::default() }.list(&function.body)
        };
        self.functions[id].set(Some(found));
        found
    }

    /// The constant that a function initialises, and the cost of the call beyond what the function counts itself.
    pub fn constant(&self, id: FunctionId) -> Option<(u32, u64)> {
        let constant = self.constants.get(&id.0)?;
        Some((*constant, self.functions[id.0 as usize].get().unwrap_or(0)))
    }

    /// The costs that the code of a function counts.
    pub fn plan(&self, module: &LowModule, id: usize, function: &LowFunction) -> CostPlan {
        if function.blocks.is_some() {
            return CostPlan::default();
        }
        let mut counting = Counting { module, weights: self, plan: CostPlan::default() };
        let outside = counting.list(&function.body);
        let mut plan = counting.plan;
        // Nothing calls the entry that could count it.
        if id == module.entry.0 as usize {
            *plan.lists.entry(function.body.as_ptr()).or_default() += outside + CALL;
        }
        plan
    }
}

struct Counting<'c> {
    module: &'c LowModule,
    weights: &'c Weights,
    plan: CostPlan,
}

impl Counting<'_> {
    /// What statements take that those around them are to count.
    fn list(&mut self, stmts: &[Stmt]) -> u64 {
        let (mut inside, mut outside) = (0u64, 0u64);
        for stmt in stmts {
            if let Stmt::Call { function, .. } = stmt {
                let (recursive, weight) = self.call(*function);
                *(if recursive { &mut inside } else { &mut outside }) += weight;
            } else {
                outside += deep(|| self.stmt(stmt));
            }
        }
        if outside > MUCH {
            inside += std::mem::take(&mut outside);
        }
        if inside > 0 {
            self.plan.lists.insert(stmts.as_ptr(), inside);
        }
        outside
    }

    /// Whether a function is recursive, and what a call takes.
    fn call(&mut self, id: FunctionId) -> (bool, u64) {
        let index = id.0 as usize;
        if self.weights.constants.contains_key(&id.0) {
            // It counts where the constant is computed.
            return (false, CALL);
        }
        let recursive = self.module.functions[index].recursive.is_some();
        (recursive, CALL + deep(|| self.weights.find(self.module, index)))
    }

    fn stmt(&mut self, stmt: &Stmt) -> u64 {
        match stmt {
            Stmt::If(..) | Stmt::Switch(..) => {
                let arms = stmt.blocks();
                1 + arms.into_iter().map(|arm| self.list(arm)).max().unwrap_or(0)
            }
            Stmt::For(step) => self.counted(step),
            Stmt::Loop(body) => self.conditional(body),
            Stmt::Set(_, Expr::Math(op, ..)) if !matches!(op, RealOp::Min | RealOp::Max) => MATH,
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Call { .. }
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => simple_cost(stmt) as u64,
        }
    }

    fn counted(&mut self, step: &For) -> u64 {
        let mut each = 1 + self.list(&step.body).min(MOST);
        if lanes::fits(step) {
            each = each.div_ceil(LANES);
        }
        match (step.from, step.to) {
            (Operand::Int(from), Operand::Int(to)) if step.every == 0 => {
                each.saturating_mul(to.saturating_sub(from).max(0) as u64).min(1 << 40)
            }
            _ => {
                self.plan.loops.insert(step, each);
                1
            }
        }
    }

    fn conditional(&mut self, body: &[Stmt]) -> u64 {
        let each = self.list(body).min(MOST);
        let Some((_, every, ask)) = polled(body) else { return STEPS * each };
        self.plan.lists.insert(ask.as_ptr(), every as u64 * each);
        self.plan.conditional.insert(body.as_ptr(), each);
        1
    }
}
