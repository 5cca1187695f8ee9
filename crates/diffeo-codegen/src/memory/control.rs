//! Choices and loops.

use super::function::Lower;
use super::uses::Use;
use crate::low::{Binary, Compare, Expr, For, Operand, Raise, Reg, Runtime, Stmt, Ty};
use diffeo_array::ir::{Atom, Block, Carried, Reduction, Var};

/// How many steps of a loop there are between two questions whether the run is to end, less one: the ones of a
/// binary number.
const STEPS: i64 = 0xFFF;

impl<'a> Lower<'_, 'a> {
    /// New registers for the results of a choice.
    fn chosen(&mut self, results: &[Var]) -> Vec<Reg> {
        results.iter().flat_map(|v| self.define_new(*v)).collect()
    }

    /// A branch of a choice, which leaves its results in registers, and whether its end is reached.
    fn arm(
        &mut self,
        block: &'a Block,
        owned: &[Var],
        results: &[Var],
        regs: &[Reg],
    ) -> (Vec<Stmt>, bool) {
        let outer = self.begin();
        let keeps: Vec<bool> = results.iter().map(|v| self.owners.owns(*v)).collect();
        // What is borrowed lives by a holder outside.
        let how = |_: &Self, i: usize| if keeps[i] { Use::Keep } else { Use::Read };
        let left = self.block(block, owned.to_vec(), how);
        let goes_on = left.is_some();
        if let Some(left) = left {
            for (reg, value) in regs.iter().zip(left.results) {
                self.assign(*reg, value);
            }
            self.release_all(left.pending);
        }
        (self.end(outer), goes_on)
    }

    /// A choice between two blocks; whether its end is reached.
    pub fn branch(
        &mut self,
        results: &[Var],
        cond: &Atom,
        [then, otherwise]: [&'a Block; 2],
        owned: Vec<Var>,
    ) -> bool {
        let cond = self.word(cond);
        let regs = self.chosen(results);
        let (then, first) = self.arm(then, &owned, results, &regs);
        let (otherwise, second) = self.arm(otherwise, &owned, results, &regs);
        self.push(Stmt::If(cond, then, otherwise));
        first || second
    }

    /// A choice between several blocks; whether its end is reached.
    pub fn switch(
        &mut self,
        results: &[Var],
        on: &Atom,
        arms: &'a [(i64, Block)],
        default: Option<&'a Block>,
        owned: Vec<Var>,
    ) -> bool {
        let on = self.word(on);
        let regs = self.chosen(results);
        let mut goes_on = false;
        // Without default, the last arm is for what is left.
        let (rest, arms) = match (default, arms) {
            (Some(block), arms) => (Some(block), arms),
            (None, [arms @ .., (_, last)]) => (Some(last), arms),
            (None, []) => (None, arms),
        };
        let mut lowered = Vec::new();
        for (value, block) in arms {
            let (body, ends) = self.arm(block, &owned, results, &regs);
            goes_on |= ends;
            lowered.push((*value, body));
        }
        let rest = rest.map(|block| self.arm(block, &owned, results, &regs));
        let (rest, ends) = rest.unwrap_or_default();
        self.push(Stmt::Switch(on, lowered, rest));
        goes_on || ends
    }

    /// New registers for what a loop carries, with the first values.
    fn carry(&mut self, carried: &[Carried]) -> Vec<Reg> {
        let mut regs = Vec::new();
        for Carried { param, init } in carried {
            let words = self.words(init);
            let own = self.define_new(*param);
            for (reg, word) in own.iter().zip(words) {
                self.assign(*reg, word);
            }
            regs.extend(own);
        }
        regs
    }

    /// Translates the body of a loop that carries something.
    fn step(&mut self, carried: &[Carried], regs: &[Reg], body: &'a Block) {
        let params = carried.iter().map(|c| c.param);
        let owned = params.filter(|v| self.owners.owns(*v)).collect();
        let keeps: Vec<bool> = carried.iter().map(|c| self.owners.owns(c.param)).collect();
        let how = |_: &Self, i: usize| if keeps[i] { Use::Keep } else { Use::Read };
        if let Some(left) = self.block(body, owned, how) {
            self.release_all(left.pending);
            self.assign_all(regs, &left.results);
        }
    }

    /// Asks whether the run is to end.
    fn poll(&mut self) {
        let stop = self.runtime_one(Runtime::Poll, Vec::new());
        self.refuse(stop, Raise::Stopped, Vec::new());
    }

    /// Asks now and then: if the last bits of a number are ones.
    pub fn poll_at(&mut self, step: Operand) {
        let bits = self.set(Ty::Int, Expr::Binary(Binary::And, step, Operand::Int(STEPS)));
        let due = self.compare(Compare::IntEq, bits, Operand::Int(STEPS));
        let outer = self.begin();
        self.poll();
        let ask = self.end(outer);
        self.push(Stmt::If(due, ask, Vec::new()));
    }

    /// A counted loop around `body`, which has been translated; it asks now and then whether the run is to end
    /// if it is no loop that a vectoriser would take.
    pub fn repeat(
        &mut self,
        index: Reg,
        count: Operand,
        mut body: Vec<Stmt>,
        independent: bool,
        reductions: Vec<(Reg, Reduction)>,
    ) {
        if !independent {
            let outer = self.begin();
            self.poll_at(Operand::Reg(index));
            let mut poll = self.end(outer);
            poll.append(&mut body);
            body = poll;
        }
        let from = Operand::Int(0);
        self.push(Stmt::For(Box::new(For {
            index,
            from,
            to: count,
            body,
            independent,
            reductions,
        })));
    }

    /// A counted loop. What it carries is in the registers of the parameters in the end.
    pub fn counted(&mut self, count: &Atom, index: Var, carried: &'a [Carried], body: &'a Block) {
        let count = self.word(count);
        let regs = self.carry(carried);
        let index = self.define_index(index);
        let effects = self.effects;
        let outer = self.begin();
        self.step(carried, &regs, body);
        let body = self.end(outer);
        let quiet = self.effects == effects;
        if quiet {
            let from = Operand::Int(0);
            let (independent, reductions) = (regs.is_empty(), Vec::new());
            let repeat = For { index, from, to: count, body, independent, reductions };
            self.push(Stmt::For(Box::new(repeat)));
        } else {
            self.repeat(index, count, body, false, Vec::new());
        }
    }

    /// The register of an index.
    pub fn define_index(&mut self, index: Var) -> Reg {
        let reg = self.reg(Ty::Int);
        self.define(index, vec![Operand::Reg(reg)]);
        reg
    }

    /// A loop with a condition. What it carries is in the registers of the parameters in the end. False if the
    /// end is not reached.
    pub fn conditional(
        &mut self,
        carried: &'a [Carried],
        cond: &'a Block,
        body: &'a Block,
    ) -> bool {
        let regs = self.carry(carried);
        let steps = self.reg(Ty::Int);
        self.assign(steps, Operand::Int(0));
        let outer = self.begin();
        let left = self.block(cond, Vec::new(), |_, _| Use::Read);
        let ends = left.is_some();
        if let Some(left) = left {
            self.release_all(left.pending);
            let goes_on = left.results.first().copied().unwrap_or(Operand::Bool(false));
            self.push(Stmt::If(goes_on, Vec::new(), vec![Stmt::Break]));
            self.poll_at(Operand::Reg(steps));
            let next = Expr::Binary(Binary::IntAdd, Operand::Reg(steps), Operand::Int(1));
            self.push(Stmt::Set(steps, next));
            self.step(carried, &regs, body);
        }
        let body = self.end(outer);
        self.push(Stmt::Loop(body));
        ends
    }

    /// Values that are combined.
    pub fn reduce(
        &mut self,
        how: &[Reduction],
        count: &Atom,
        index: Var,
        body: &'a Block,
    ) -> Vec<Operand> {
        let count = self.word(count);
        let mut reductions = Vec::new();
        for how in how {
            let reg = self.reg(Ty::Real);
            self.assign(reg, Operand::Real(neutral(*how)));
            reductions.push((reg, *how));
        }
        let index = self.define_index(index);
        let effects = self.effects;
        let outer = self.begin();
        if let Some(left) = self.block(body, Vec::new(), |_, _| Use::Read) {
            for ((reg, how), value) in reductions.iter().zip(left.results) {
                let sum = self.combine(*how, Operand::Reg(*reg), value);
                self.push(Stmt::Set(*reg, sum));
            }
            self.release_all(left.pending);
        }
        let body = self.end(outer);
        let independent = self.effects == effects;
        let results = reductions.iter().map(|(reg, _)| Operand::Reg(*reg)).collect();
        self.repeat(index, count, body, independent, reductions);
        results
    }
}

/// What a reduction of nothing is.
fn neutral(how: Reduction) -> f64 {
    match how {
        Reduction::Add => 0.0,
        Reduction::Max => f64::NEG_INFINITY,
        Reduction::Min => f64::INFINITY,
    }
}
