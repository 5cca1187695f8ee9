//! Polls: where a program asks whether it is to end, so that little is done between two polls, whatever runs.
//!
//! A *gap* is what may be done between two polls, in simple operations, at most. Those of callees come first. It is
//! bounded as follows:
//! - a counted loop polls after so many steps ([`For::every`]) that their gaps are few operations in an innermost loop,
//!   whose parts between polls become vector instructions, and at most [`LONGEST`] in one around others; where there
//!   are no more steps than that, it does not poll;
//! - a loop with a condition polls whenever the last bits of its counter are ones, and has as few bits as are needed;
//! - recursive functions poll where they begin; if they have long gaps, also behind calls that may lead back to them,
//!   because all those that are open may return one after the other;
//! - everything else polls before a statement with which the gap would become longer than [`LONGEST`], such as calls of
//!   functions that call others twice, which do so in turn.

use crate::low::visit::{calls, fails};
use crate::low::{
    Binary, Compare, Expr, For, LowFunction, LowModule, LowTy, Operand, Raise, Reg, Runtime, Stmt,
    NOWHERE,
};
use crate::memory::simple_cost;
use diffeo_array::ir::SiteId;
use diffeo_base::deep;
use diffeo_calculus::prim::TextOp;

/// The gap of an innermost loop: some tens of microseconds, beside which a poll takes no time.
const SHORT: u64 = 1 << 18;
/// The longest gap: some tens of milliseconds, and a second where every few operations wait for memory.
const LONGEST: u64 = 1 << 25;
/// Loops around others have no more steps between two polls: the inner ones may be short.
const OUTER: u64 = 128;
/// Loops with a condition have no more: LLVM cannot do several steps at once.
pub(crate) const MOST_POLLED: i64 = 1 << 12;
/// The gap of a loop without a bound that does not poll, in steps: those of helper functions, such as powers.
const UNPOLLED: u64 = 64;
/// Recursive functions may return one after the other if their gaps are no longer.
const RETURNS: u64 = 1 << 10;
/// What operations take whose time grows with the size of their operands.
const SIZED: u64 = 1 << 12;

/// Polls: see the head of the file.
pub(super) fn polls(module: &mut LowModule) {
    let count = module.functions.len();
    let recurring = recurring(module);
    let mut pass = Polls { recurring: &recurring, gaps: vec![None; count], registers: Vec::new() };
    for id in 0..count {
        pass.function(module, id);
    }
    fallible(module);
}

/// By function: whether it is recursive, or calls such a function.
fn recurring(module: &LowModule) -> Vec<bool> {
    reaching(module, |function| function.recursive.is_some())
}

/// By function: whether this holds of it, or of a function that it calls.
fn reaching(module: &LowModule, is: impl Fn(&LowFunction) -> bool) -> Vec<bool> {
    let mut callers = vec![Vec::new(); module.functions.len()];
    for (i, function) in module.functions.iter().enumerate() {
        for callee in calls(function) {
            callers[callee].push(i);
        }
    }
    let mut found: Vec<bool> = module.functions.iter().map(is).collect();
    let mut todo: Vec<usize> = (0..found.len()).filter(|i| found[*i]).collect();
    while let Some(i) = todo.pop() {
        for caller in std::mem::take(&mut callers[i]) {
            if !std::mem::replace(&mut found[caller], true) {
                todo.push(caller);
            }
        }
    }
    found
}

/// Notes which functions can fail, now that loops poll.
fn fallible(module: &mut LowModule) {
    let own = |f: &LowFunction| f.recursive.is_some() || fails(&f.body, &|_| false);
    let found = reaching(module, own);
    for (function, fallible) in module.functions.iter_mut().zip(found) {
        function.fallible = fallible;
    }
}

struct Polls<'a> {
    recurring: &'a [bool],
    /// By function: the gap of a call; 0 while that is being found out.
    gaps: Vec<Option<u64>>,
    /// The registers of the function.
    registers: Vec<LowTy>,
}

impl Polls<'_> {
    fn function(&mut self, module: &mut LowModule, id: usize) -> u64 {
        if let Some(gap) = self.gaps[id] {
            return gap;
        }
        // Whoever leads back here polls where it begins.
        self.gaps[id] = Some(0);
        for callee in calls(&module.functions[id]) {
            deep(|| self.function(module, callee));
        }
        let function = &mut module.functions[id];
        self.registers = std::mem::take(&mut function.registers);
        let (mut gap, _) = self.list(&mut function.body);
        if function.recursive.is_some() && gap > RETURNS {
            self.after_calls(&mut function.body);
            (gap, _) = self.list(&mut function.body);
        }
        function.registers = std::mem::take(&mut self.registers);
        self.gaps[id] = Some(gap);
        gap
    }

    /// The statements that poll.
    fn poll(&mut self, site: SiteId) -> [Stmt; 2] {
        self.registers.push(LowTy::Bool);
        let stop = Reg(self.registers.len() as u32 - 1);
        let raise = Stmt::Raise { error: Raise::Stopped, args: Vec::new(), site };
        [
            Stmt::Runtime { results: vec![stop], op: Runtime::Poll, args: Vec::new() },
            Stmt::If(Operand::Reg(stop), vec![raise], Vec::new()),
        ]
    }

    /// Polls behind calls that may lead back.
    fn after_calls(&mut self, stmts: &mut Vec<Stmt>) {
        let leads = |stmt: &Stmt| matches!(stmt, Stmt::Call { function, .. } if self.recurring[function.0 as usize]);
        let leads: Vec<bool> = stmts.iter().map(leads).collect();
        for (mut stmt, leads) in std::mem::take(stmts).into_iter().zip(leads) {
            stmt.blocks_mut().into_iter().for_each(|list| deep(|| self.after_calls(list)));
            let poll = leads.then(|| self.poll(site(&stmt)));
            stmts.push(stmt);
            stmts.extend(poll.into_iter().flatten());
        }
    }

    /// Lets a list poll. Gives its gap, and whether it polls whatever happens.
    fn list(&mut self, stmts: &mut Vec<Stmt>) -> (u64, bool) {
        let (mut longest, mut gap, mut polls) = (0, 0, false);
        let mut before = Vec::new();
        for (i, stmt) in stmts.iter_mut().enumerate() {
            let own = deep(|| self.stmt(stmt));
            let is_poll = matches!(stmt, Stmt::Runtime { op: Runtime::Poll, .. });
            if !is_poll && gap > 0 && gap + own > LONGEST {
                before.push((i, site(stmt)));
            } else if !is_poll {
                gap += own;
                continue;
            }
            polls = true;
            longest = gap.max(longest);
            gap = own;
        }
        for (i, site) in before.into_iter().rev() {
            let poll = self.poll(site);
            stmts.splice(i..i, poll);
        }
        (longest.max(gap), polls)
    }

    fn stmt(&mut self, stmt: &mut Stmt) -> u64 {
        match stmt {
            Stmt::Call { function, .. } => 4 + self.gaps[function.0 as usize].unwrap_or(0),
            Stmt::If(..) | Stmt::Switch(..) => {
                let lists = stmt.blocks_mut().into_iter();
                1 + lists.map(|list| self.list(list).0).max().unwrap_or(0)
            }
            Stmt::For(step) => self.counted(step),
            Stmt::Loop(body) => {
                let (gap, polls) = self.list(body);
                let steps = power_of_two(SHORT / gap.max(1)).min(MOST_POLLED as u64);
                match (poll_every(body, steps as i64), polls) {
                    (true, _) => gap * steps,
                    (false, true) => gap,
                    (false, false) => gap * UNPOLLED,
                }
            }
            Stmt::Runtime { op, .. } if grows(*op) => SIZED,
            Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => simple_cost(stmt) as u64,
        }
    }

    fn counted(&mut self, step: &mut For) -> u64 {
        let gap = 1 + self.list(&mut step.body).0;
        step.every = 0;
        let most = match (step.from, step.to) {
            (Operand::Int(from), Operand::Int(to)) => step.most.min(to.saturating_sub(from)),
            _ => step.most,
        };
        let most = most.max(0) as u64;
        let whole = most.saturating_mul(gap);
        let every = match gap {
            _ if whole <= SHORT => most,
            ..=SIZED => SHORT / gap,
            _ => power_of_two(LONGEST / gap).min(OUTER),
        };
        if most <= every {
            return whole;
        }
        step.every = power_of_two(every) as i64;
        step.every as u64 * gap
    }
}

/// The largest power of two up to a number, or 1.
fn power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

/// Whether the time that an operation takes grows with its operands.
fn grows(op: Runtime) -> bool {
    match op {
        Runtime::Zeros
        | Runtime::Free
        | Runtime::Copy
        | Runtime::RetainAll
        | Runtime::AppendText
        | Runtime::CompareText
        | Runtime::ShowText
        | Runtime::SortReals
        | Runtime::SortInts
        | Runtime::SortTexts => true,
        Runtime::Text(op) => !matches!(op, TextOp::Size | TextOp::Byte),
        Runtime::Box
        | Runtime::Array
        | Runtime::ShowReal
        | Runtime::ShowInt
        | Runtime::ShowBool
        | Runtime::Trace
        | Runtime::Progress
        | Runtime::Poll
        | Runtime::PowInt
        | Runtime::StackNew
        | Runtime::Warn
        | Runtime::StackGrow => false,
    }
}

/// The place of a statement, or of the first one within it that has one.
fn site(stmt: &Stmt) -> SiteId {
    match stmt {
        Stmt::Call { site, .. } | Stmt::Raise { site, .. } => *site,
        Stmt::For(step) => step.site,
        Stmt::If(..) | Stmt::Switch(..) | Stmt::Loop(_) => {
            let mut inner = stmt.blocks().into_iter().flatten().map(|stmt| deep(|| site(stmt)));
            inner.find(|site| *site != NOWHERE).unwrap_or(NOWHERE)
        }
        Stmt::Set(..)
        | Stmt::Checked { .. }
        | Stmt::Store(..)
        | Stmt::Break
        | Stmt::Runtime { .. }
        | Stmt::Return(_) => NOWHERE,
    }
}

/// For the body of a loop that polls now and then: the register whose last bits say when (the number of the step), how
/// many steps there are between two polls, and the statements that poll.
pub(crate) fn polled(body: &[Stmt]) -> Option<(Reg, i64, &[Stmt])> {
    let at = due(body)?;
    let (
        Stmt::Set(_, Expr::Binary(_, Operand::Reg(step), Operand::Int(last))),
        Stmt::If(_, ask, _),
    ) = (&body[at], &body[at + 2])
    else {
        return None;
    };
    Some((*step, *last + 1, ask))
}

/// Where a body asks whether a poll is due, if it does.
fn due(body: &[Stmt]) -> Option<usize> {
    body.windows(3).position(|stmts| match stmts {
        [Stmt::Set(bits, Expr::Binary(Binary::And, _, last)), Stmt::Set(due, Expr::Compare(Compare::IntEq, a, b)), Stmt::If(on, ask, _)] => {
            *a == Operand::Reg(*bits)
                && b == last
                && *on == Operand::Reg(*due)
                && matches!(ask.first(), Some(Stmt::Runtime { op: Runtime::Poll, .. }))
        }
        _ => false,
    })
}

/// Lets a body poll after so many steps, a power of two, if it does at all.
fn poll_every(body: &mut [Stmt], steps: i64) -> bool {
    let Some(at) = due(body) else { return false };
    for stmt in &mut body[at..at + 2] {
        if let Stmt::Set(_, Expr::Binary(_, _, last) | Expr::Compare(_, _, last)) = stmt {
            *last = Operand::Int(steps - 1);
        }
    }
    true
}
