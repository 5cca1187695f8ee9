//! Counted loops, and how they poll whether the run is to end.

use super::control::neutral;
use super::emit::CodeBuilder;
use crate::low::{Binary, Compare, Expr, For, LowTy, Operand, Raise, Reg, Runtime, Stmt};
use diffeo_array::ir::Reduction;
use diffeo_base::deep;

/// How many steps of a loop there are between two questions whether the run is to end, less one: the ones of a
/// binary number.
const STEPS: i64 = 0xFFF;

/// How many steps there are between two such questions in loops that are cut into parts.
const PART: i64 = 1 << 16;

/// The same of loops that add up: so rounding errors grow with the number of terms of a part, and of parts.
const SUMMED_PART: i64 = 1 << 13;

/// The same for loops around loops: those inside do not ask before they have done a part.
const OUTER_PART: i64 = 16;

/// A loop that [`CodeBuilder::add_loop`] adds.
#[derive(Clone)]
pub(super) struct StepLoop {
    /// The loop.
    pub step: For,
    /// Whether it is cut into parts that do not poll, because their steps may become vector instructions; the code
    /// polls between the parts.
    pub in_parts: bool,
}

impl CodeBuilder {
    /// Asks whether the run is to end.
    fn poll(&mut self) {
        let stop = self.runtime_one(Runtime::Poll, Vec::new());
        self.refuse(stop, Raise::Stopped, Vec::new());
    }

    /// Polls whenever the last bits of a number are ones.
    pub fn poll_at(&mut self, step: Operand) {
        let bits = self.set(LowTy::Int, Expr::Binary(Binary::And, step, Operand::Int(STEPS)));
        let due = self.compare(Compare::IntEq, bits, Operand::Int(STEPS));
        let ask = self.list(CodeBuilder::poll);
        self.push(Stmt::If(due, ask, Vec::new()));
    }

    /// Adds a loop.
    pub fn add_loop(&mut self, steps: StepLoop) {
        let StepLoop { step: whole, in_parts } = steps;
        if !in_parts {
            self.push(Stmt::For(Box::new(whole)));
            return;
        }
        let part = match whole.reductions[..] {
            _ if whole.body.iter().any(has_loop) => OUTER_PART,
            [] => PART,
            [_, ..] => SUMMED_PART,
        };
        let (start, end) = (self.reg(LowTy::Int), self.reg(LowTy::Int));
        self.assign(start, whole.from);
        let body = self.list(|code| {
            let left = Expr::Binary(Binary::IntSub, whole.to, Operand::Reg(start));
            let left = code.set(LowTy::Int, left);
            let many = code.compare(Compare::IntLt, Operand::Int(part), left);
            let steps = code.set(LowTy::Int, Expr::Select(many, Operand::Int(part), left));
            let next = Expr::Binary(Binary::IntAdd, Operand::Reg(start), steps);
            code.push(Stmt::Set(end, next));
            let (from, to) = (Operand::Reg(start), Operand::Reg(end));
            let reductions = whole.reductions.clone();
            let kept = |(sum, _): &(Reg, Reduction)| Expr::Copy(Operand::Reg(*sum));
            let before: Vec<Operand> =
                reductions.iter().map(|sum| code.set(LowTy::Real, kept(sum))).collect();
            for (sum, how) in &reductions {
                code.assign(*sum, Operand::Real(neutral(*how)));
            }
            code.push(Stmt::For(Box::new(For { from, to, ..whole })));
            for ((sum, how), before) in reductions.iter().zip(before) {
                let total = code.combine(*how, before, Operand::Reg(*sum));
                code.push(Stmt::Set(*sum, total));
            }
            // Most loops are over here.
            code.push(Stmt::If(many, Vec::new(), vec![Stmt::Break]));
            code.poll();
            code.assign(start, Operand::Reg(end));
        });
        self.push(Stmt::Loop(body));
    }
}

/// Whether a statement is or has a loop.
fn has_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For(_) | Stmt::Loop(_))
        || deep(|| stmt.blocks().into_iter().any(|inner| inner.iter().any(has_loop)))
}

/// The number of steps of a loop between two polls.
pub(crate) const POLLED_STEPS: i64 = STEPS + 1;

/// For the body of a loop that polls: the register whose last bits say when (the number of the step), and the
/// statements that poll.
pub(crate) fn polled(body: &[Stmt]) -> Option<(Reg, &[Stmt])> {
    let due = body.windows(3).find_map(|stmts| match stmts {
        [Stmt::Set(bits, Expr::Binary(Binary::And, Operand::Reg(step), Operand::Int(STEPS))), Stmt::Set(due, Expr::Compare(Compare::IntEq, a, Operand::Int(STEPS))), Stmt::If(on, ask, _)]
            if *a == Operand::Reg(*bits) && *on == Operand::Reg(*due) =>
        {
            Some((*step, &ask[..]))
        }
        _ => None,
    });
    due.filter(|(_, ask)| matches!(ask.first(), Some(Stmt::Runtime { op: Runtime::Poll, .. })))
}

/// For the body of a loop that is cut into parts: the end of the whole loop, and a part.
pub(crate) fn whole(body: &[Stmt]) -> Option<(Operand, &For)> {
    let Some(Stmt::Set(_, Expr::Binary(Binary::IntSub, to, start))) = body.first() else {
        return None;
    };
    body.iter().find_map(|stmt| match stmt {
        Stmt::For(part) if part.from == *start => Some((*to, &**part)),
        _ => None,
    })
}
