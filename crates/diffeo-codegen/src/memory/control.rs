//! Choices and loops.

use super::block::Given;
use super::emit::ArrayParts;
use super::function::Lower;
use super::unique::{stays, Stays};
use super::uses::{statements, var, Use};
use crate::low::{Binary, Compare, Expr, For, LowTy, Operand, Reg, Stmt, Unary};
use diffeo_array::ir::walk;
use diffeo_array::ir::{Atom, Block, Carried, FlatTy, Op, Reduction, Stmt as Statement, Var};
use diffeo_calculus::prim::{IntOp, RealOp};
use hashbrown::HashMap;

/// Loops whose count is the smaller one of two numbers have at most so many steps, if one of the two is no larger.
const MOST: i64 = 64;

impl<'a> Lower<'_, 'a> {
    /// New registers for the results of a choice.
    fn chosen(&mut self, results: &[Var]) -> Vec<Reg> {
        results.iter().flat_map(|v| self.define_new(*v)).collect()
    }

    /// A branch of a choice, which leaves its results in registers. Adds to `ends`, if its end is reached, which
    /// results are the only references to their blocks.
    fn arm(
        &mut self,
        block: &'a Block,
        owned: &[Var],
        results: &[Var],
        regs: &[Reg],
        ends: &mut Vec<Vec<bool>>,
    ) -> Vec<Stmt> {
        let outer = self.begin();
        let keeps: Vec<bool> = results.iter().map(|v| self.owners.owns(*v)).collect();
        // What is borrowed lives by a holder outside.
        let how = |_: &Self, i: usize| if keeps[i] { Use::Keep } else { Use::Read };
        let left = self.block(block, owned.to_vec(), how);
        if let Some(left) = left {
            for (reg, value) in regs.iter().zip(left.results) {
                self.assign(*reg, value);
            }
            self.release_all(left.pending);
            ends.push(left.unshared);
        }
        self.end(outer)
    }

    /// After a choice: whether its end is reached.
    fn chose(&mut self, results: &[Var], ends: &[Vec<bool>]) -> bool {
        for (i, v) in results.iter().enumerate() {
            if ends.iter().all(|only| only[i]) {
                self.unshared.insert(*v);
            }
        }
        !ends.is_empty()
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
        let mut ends = Vec::new();
        let then = self.arm(then, &owned, results, &regs, &mut ends);
        let otherwise = self.arm(otherwise, &owned, results, &regs, &mut ends);
        self.push(Stmt::If(cond, then, otherwise));
        self.chose(results, &ends)
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
        let mut ends = Vec::new();
        // Without default, the last arm is for what is left.
        let (rest, arms) = match (default, arms) {
            (Some(block), arms) => (Some(block), arms),
            (None, [arms @ .., (_, last)]) => (Some(last), arms),
            (None, []) => (None, arms),
        };
        let mut lowered = Vec::new();
        for (value, block) in arms {
            lowered.push((*value, self.arm(block, &owned, results, &regs, &mut ends)));
        }
        let rest = rest.map(|block| self.arm(block, &owned, results, &regs, &mut ends));
        self.push(Stmt::Switch(on, lowered, rest.unwrap_or_default()));
        self.chose(results, &ends)
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
        let around = std::mem::replace(&mut self.in_loop, true);
        if let Some(left) = self.block(body, owned, how) {
            self.release_all(left.pending);
            self.assign_all(regs, &left.results);
        }
        self.in_loop = around;
    }

    /// A counted loop around `body`; the caller adds it. `independent` says that no step has an effect or carries
    /// anything, `separate` is set for comprehensions and sums.
    pub fn repeat(
        &mut self,
        index: Reg,
        count: Operand,
        body: Vec<Stmt>,
        independent: bool,
        reductions: Vec<(Reg, Reduction)>,
        separate: bool,
    ) -> For {
        For {
            index,
            from: Operand::Int(0),
            to: count,
            body,
            independent,
            separate: separate || independent,
            reductions,
            most: i64::MAX,
            every: 0,
            site: self.site,
        }
    }

    /// Notes which carried arrays have the only references to their blocks, at each step. With `count`, arrays
    /// that each step changes are copied before the first one, if they are shared.
    fn only_references(
        &mut self,
        results: &[Var],
        carried: &[Carried],
        body: &Block,
        given: &[Given],
        count: Option<Operand>,
    ) {
        // Only references have uses; what a loop begins with are uses, all of them.
        let stays = stays(self.source, self.scan, carried, body);
        for (i, (c, stays)) in carried.iter().zip(stays).enumerate() {
            let only = given.get(i).is_some_and(|given| given.only);
            match (stays, count) {
                (Stays::Unshared | Stays::Changed, _) if only => {
                    self.unshared.extend([c.param, results[i]]);
                }
                (Stays::Changed, Some(count)) => {
                    let FlatTy::Array(elem, _) = self.ty(c.param) else { continue };
                    let array = ArrayParts::of(&self.words(&Atom::Var(c.param)));
                    let (Operand::Reg(block), Operand::Reg(data)) = (array.block, array.data)
                    else {
                        continue;
                    };
                    let some = self.compare(Compare::IntLt, Operand::Int(0), count);
                    let outer = self.begin();
                    self.effects += 1;
                    self.make_only(&array, *elem, [block, data]);
                    let copy = self.end(outer);
                    self.push(Stmt::If(some, copy, Vec::new()));
                    self.unshared.insert(c.param);
                }
                (Stays::No, _) | (Stays::Unshared, _) | (Stays::Changed, None) => {}
            }
        }
    }

    /// A counted loop. What it carries is in the registers of the parameters in the end.
    pub fn counted(
        &mut self,
        results: &[Var],
        count: &Atom,
        index: Var,
        carried: &'a [Carried],
        body: &'a Block,
        given: &[Given],
    ) {
        let short = self.is_short(count, 8);
        let count = self.word(count);
        let regs = self.carry(carried);
        self.only_references(results, carried, body, given, Some(count));
        let (flat_index, index) = (index, self.define_index(index));
        let before = self.effects;
        let outer = self.begin();
        let sums = carried.is_empty() || self.sums(carried, body);
        let adds = sums && self.only_adds(body);
        let candidate = match sums && self.changes_accumulators(flat_index, body) {
            true => self.candidate(flat_index, body),
            false => None,
        };
        // Steps are done several at once, rather than the loops of one step in blocks.
        let within = self.within;
        self.within |= adds;
        self.step(carried, &regs, body);
        self.within = within;
        let apart = self.adds_apart(flat_index, body).filter(|n| self.effects == before + n);
        let effects = self.effects;
        if apart.is_some() {
            self.effects = before;
        }
        let mut body = self.end(outer);
        let summed = adds || candidate.is_some();
        let reductions = if summed { self.reductions(&mut body, &regs) } else { None };
        let adds = adds && reductions.is_some();
        let regs = if reductions.is_some() { Vec::new() } else { regs };
        let reductions = reductions.unwrap_or_default();
        let independent = self.effects == before && regs.is_empty();
        let mut steps = self.repeat(index, count, body, independent, reductions, adds);
        self.effects = effects;
        steps.most = if short { MOST } else { i64::MAX };
        self.spread(steps, candidate);
    }

    /// Whether all that a loop carries are sums of Reals, in a loop that adds to accumulators, too. Such loops are
    /// backward parts, whose sums may be added up in any order.
    fn sums(&self, carried: &[Carried], body: &Block) -> bool {
        let mut uses: HashMap<Var, usize> = HashMap::new();
        let mut use_of = |atom: &Atom| {
            if let Some(v) = var(atom) {
                *uses.entry(v).or_default() += 1;
            }
        };
        let mut adds = false;
        body.results.iter().for_each(&mut use_of);
        statements(body, &mut |stmt| {
            adds |= matches!(stmt.op, Op::AccAdd(..) | Op::AccAddArray(..));
            walk::operands(&stmt.op, &mut use_of);
            walk::regions(&stmt.op, |region| region.results.iter().for_each(&mut use_of));
        });
        let once = |v: Var| uses.get(&v) == Some(&1);
        let is_sum = |(c, result): (&Carried, &Atom)| {
            let made = var(result).and_then(|v| {
                let found = body.stmts.iter().find(|stmt| stmt.results[..] == [v]);
                found.filter(|_| once(v) && once(c.param))
            });
            let param = Atom::Var(c.param);
            match made.map(|stmt| &stmt.op) {
                Some(Op::Real(RealOp::Add, xs)) => xs.contains(&param),
                Some(Op::Real(RealOp::Sub, xs)) => xs.first() == Some(&param),
                _ => false,
            }
        };
        adds && carried.iter().zip(&body.results).all(is_sum)
    }

    /// Makes reductions of the sums that a step adds to; none if it does so in another form.
    fn reductions(&mut self, body: &mut Vec<Stmt>, regs: &[Reg]) -> Option<Vec<(Reg, Reduction)>> {
        let mut new = body.clone();
        for reg in regs {
            let own = Operand::Reg(*reg);
            let is_end = |stmt: &Stmt| matches!(stmt, Stmt::Set(r, Expr::Copy(_)) if r == reg);
            let end = new.iter().rposition(is_end)?;
            let Stmt::Set(_, Expr::Copy(sum)) = new.remove(end) else { return None };
            let is_sum = |stmt: &Stmt| matches!(stmt, Stmt::Set(r, _) if Operand::Reg(*r) == sum);
            let at = new.iter().rposition(is_sum)?;
            let outer = self.begin();
            let term = match new[at] {
                Stmt::Set(_, Expr::Binary(Binary::Add, a, b)) if a == own => b,
                Stmt::Set(_, Expr::Binary(Binary::Add, a, b)) if b == own => a,
                Stmt::Set(_, Expr::Binary(Binary::Sub, a, b)) if a == own => {
                    self.set(LowTy::Real, Expr::Unary(Unary::Neg, b))
                }
                _ => {
                    self.end(outer);
                    return None;
                }
            };
            self.push(Stmt::Set(*reg, Expr::Binary(Binary::Add, own, term)));
            new.splice(at..=at, self.end(outer));
        }
        *body = new;
        Some(regs.iter().map(|reg| (*reg, Reduction::Add)).collect())
    }

    /// Whether a loop with this count has at most [`MOST`] steps.
    fn is_short(&self, count: &Atom, depth: u32) -> bool {
        let Some(v) = var(count) else { return matches!(count, Atom::Int(..=MOST)) };
        match self.scan.def[v.0 as usize] {
            Some((Statement { op: Op::Int(IntOp::Min, args), .. }, _)) if depth > 0 => {
                args.iter().any(|a| self.is_short(a, depth - 1))
            }
            Some((Statement { op: Op::Int(IntOp::Max, args), .. }, _)) if depth > 0 => {
                args.iter().all(|a| self.is_short(a, depth - 1))
            }
            Some(_) | None => false,
        }
    }

    /// The register of an index.
    pub fn define_index(&mut self, index: Var) -> Reg {
        let reg = self.reg(LowTy::Int);
        self.define(index, vec![Operand::Reg(reg)]);
        reg
    }

    /// A loop with a condition. What it carries is in the registers of the parameters in the end. False if the
    /// end is not reached.
    pub fn conditional(
        &mut self,
        results: &[Var],
        carried: &'a [Carried],
        [cond, body]: [&'a Block; 2],
        given: &[Given],
    ) -> bool {
        let regs = self.carry(carried);
        self.only_references(results, carried, body, given, None);
        let steps = self.reg(LowTy::Int);
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
            let reg = self.reg(LowTy::Real);
            self.assign(reg, Operand::Real(neutral(*how)));
            reductions.push((reg, *how));
        }
        let (flat_index, index) = (index, self.define_index(index));
        let candidate = self.candidate(flat_index, body);
        let before = self.effects;
        let outer = self.begin();
        let around = std::mem::replace(&mut self.in_loop, true);
        if let Some(left) = self.block(body, Vec::new(), |_, _| Use::Read) {
            for ((reg, how), value) in reductions.iter().zip(left.results) {
                let sum = self.combine(*how, Operand::Reg(*reg), value);
                self.push(Stmt::Set(*reg, sum));
            }
            self.release_all(left.pending);
        }
        self.in_loop = around;
        let body = self.end(outer);
        let totals = reductions.clone();
        let independent = self.effects == before;
        let steps = self.repeat(index, count, body, independent, reductions, true);
        self.spread(steps, candidate);
        let total = |(reg, how): (Reg, Reduction)| match (how, count) {
            (Reduction::Add, Operand::Int(n)) if n > 0 => Operand::Reg(reg),
            (Reduction::Add, _) => {
                let some = self.compare(Compare::IntLt, Operand::Int(0), count);
                self.select(LowTy::Real, some, Operand::Reg(reg), Operand::Real(0.0))
            }
            (Reduction::Max | Reduction::Min, _) => Operand::Reg(reg),
        };
        totals.into_iter().map(total).collect()
    }
}

/// The neutral element of a reduction. (A sum of nothing is 0.0, one of -0.0 is not.)
pub(crate) fn neutral(how: Reduction) -> f64 {
    match how {
        Reduction::Add => -0.0,
        Reduction::Max => f64::NEG_INFINITY,
        Reduction::Min => f64::INFINITY,
    }
}
