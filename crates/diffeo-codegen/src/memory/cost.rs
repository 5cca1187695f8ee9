//! Rough cost of a loop, in simple operations, of which a processor does a few in a nanosecond.
//!
//! The number of steps of an inner loop is a factor where it is known before the loop; else it is guessed.

use super::emit::CodeBuilder;
use crate::low::{Binary, Expr, For, LowFunction, LowTy, Operand, Reg, Runtime, Stmt, Unary};
use diffeo_base::deep;
use diffeo_calculus::prim::{RealOp, TextOp};

/// How many steps a loop is taken to have if nothing is known.
const STEPS: f64 = 8.0;
/// The cost of a call of a function that is not translated yet, because it is recursive.
pub(super) const UNKNOWN: f64 = 64.0;
/// So many inner loops are looked at, at most.
const MOST_LOOPS: usize = 8;

/// The cost of statements: a fixed part, and for each loop its number of steps times the cost of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    /// The cost without the loops.
    pub fixed: f64,
    /// The loops.
    pub loops: Vec<(Operand, Cost)>,
}

impl Cost {
    /// The cost if all loops have [`STEPS`].
    fn guess(&self) -> f64 {
        let loops = self.loops.iter().map(|(_, step)| STEPS * (1.0 + step.guess()));
        self.fixed + loops.sum::<f64>()
    }

    fn add(&mut self, other: Cost) {
        self.fixed += other.fixed;
        self.loops.extend(other.loops);
    }

    fn add_loop(&mut self, steps: Operand, step: Cost, known: bool, left: &mut usize) {
        if let Operand::Int(n) = steps {
            self.fixed += n.max(0) as f64 * (1.0 + step.guess());
        } else if known && *left > 0 {
            *left -= 1;
            self.loops.push((steps, step));
        } else {
            self.fixed += STEPS * (1.0 + step.guess());
        }
    }

    /// Emits code that computes the cost, a Real.
    pub fn emit(&self, code: &mut CodeBuilder) -> Operand {
        let mut sum = Operand::Real(self.fixed);
        for (steps, step) in &self.loops {
            let step = step.emit(code);
            let steps = code.set(LowTy::Real, Expr::Unary(Unary::ToReal, *steps));
            let product = code.set(LowTy::Real, Expr::Binary(Binary::Mul, steps, step));
            sum = code.set(LowTy::Real, Expr::Binary(Binary::Add, sum, product));
        }
        sum
    }
}

/// The cost of a step of a loop, where registers below `first` are known before the loop. `functions` has the costs of
/// functions.
pub(super) fn of_step(functions: &[f64], step: &For, first: u32) -> Cost {
    let index = Some((step.index, step.to));
    Finder { functions, first, index, left: MOST_LOOPS }.list(&step.body)
}

/// The cost of a function.
pub(super) fn of_function(functions: &[f64], function: &LowFunction) -> f64 {
    if function.blocks.is_some() {
        // The loop as it stands beside the call counts.
        return 0.0;
    }
    Finder { functions, first: 0, index: None, left: MOST_LOOPS }.list(&function.body).guess()
}

struct Finder<'a> {
    functions: &'a [f64],
    first: u32,
    /// The index of the loop, and its end.
    index: Option<(Reg, Operand)>,
    left: usize,
}

impl Finder<'_> {
    fn list(&mut self, stmts: &[Stmt]) -> Cost {
        let mut sum = Cost::default();
        for stmt in stmts {
            let cost = deep(|| self.stmt(stmt));
            sum.add(cost);
        }
        sum
    }

    /// The list that takes the most.
    fn largest<'s>(&mut self, lists: impl Iterator<Item = &'s [Stmt]>) -> Cost {
        let costs = lists.map(|list| self.list(list));
        costs.max_by(|a, b| a.guess().total_cmp(&b.guess())).unwrap_or_default()
    }

    /// Of a loop from 0.
    fn steps(&mut self, to: Operand, body: &[Stmt]) -> Cost {
        let step = self.list(body);
        // A loop up to the index of the one around it: to its end, at most.
        let to = match self.index {
            Some((index, end)) if to == Operand::Reg(index) => end,
            Some(_) | None => to,
        };
        let known = matches!(to, Operand::Reg(reg) if reg.0 < self.first);
        let mut cost = Cost::default();
        cost.add_loop(to, step, known, &mut self.left);
        cost
    }

    fn stmt(&mut self, stmt: &Stmt) -> Cost {
        let fixed = match stmt {
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Raise { .. }
            | Stmt::Return(_)
            | Stmt::Runtime { .. } => simple(stmt),
            Stmt::Call { function, .. } => {
                4.0 + self.functions.get(function.0 as usize).copied().unwrap_or(UNKNOWN)
            }
            Stmt::If(..) | Stmt::Switch(..) => {
                let mut cost = self.largest(stmt.blocks().into_iter());
                cost.fixed += 1.0;
                return cost;
            }
            Stmt::Loop(body) => STEPS * (1.0 + self.list(body).guess()),
            Stmt::For(step) => return self.steps(step.to, &step.body),
        };
        Cost { fixed, loops: Vec::new() }
    }
}

/// The cost of a statement that has no others in it and calls nothing of the module.
pub(crate) fn simple(stmt: &Stmt) -> f64 {
    match stmt {
        Stmt::Set(_, Expr::Copy(_)) | Stmt::Break | Stmt::Raise { .. } | Stmt::Return(_) => 0.0,
        Stmt::Set(_, Expr::Math(RealOp::Min | RealOp::Max, ..)) => 2.0,
        Stmt::Set(_, Expr::Math(..)) => 16.0,
        Stmt::Set(_, Expr::Binary(Binary::Div | Binary::IntDiv | Binary::IntRem, ..))
        | Stmt::Set(_, Expr::Unary(Unary::Sqrt, _)) => 6.0,
        Stmt::Runtime { op, .. } => runtime(*op),
        Stmt::Set(..) | Stmt::Checked { .. } | Stmt::Store(..) => 1.0,
        Stmt::If(..) | Stmt::Switch(..) | Stmt::Loop(_) | Stmt::For(_) | Stmt::Call { .. } => 0.0,
    }
}

fn runtime(op: Runtime) -> f64 {
    match op {
        Runtime::Poll => 1.0,
        Runtime::StackGrow => 4.0,
        Runtime::Free | Runtime::Copy | Runtime::RetainAll | Runtime::PowInt => 16.0,
        Runtime::Box
        | Runtime::Array
        | Runtime::Zeros
        | Runtime::StackNew
        | Runtime::CompareText => 32.0,
        Runtime::Text(TextOp::Size | TextOp::Byte) => 4.0,
        Runtime::Text(_) => 128.0,
        Runtime::AppendText
        | Runtime::ShowReal
        | Runtime::ShowInt
        | Runtime::ShowBool
        | Runtime::ShowText => 128.0,
        Runtime::Trace | Runtime::Progress => 1024.0,
        // It is the exception.
        Runtime::Warn => 1.0,
        Runtime::SortReals | Runtime::SortInts | Runtime::SortTexts => 1024.0,
    }
}
