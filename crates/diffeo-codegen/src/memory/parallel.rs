//! Parallel loops: an [`Op::Build`] or [`Op::Reduce`] with much to do is done block by block, so that several blocks
//! can be done at once; and an [`Op::For`] of a backward part that only adds to accumulators, of which each block has
//! its own ([`super::privatise`]).
//!
//! The steps become a function over a range. Where there is much to do, which the program finds out from the sizes
//! before the loop, another function calls it for one block of steps after the other, and combines the results in this
//! order ([`Blocks`]). The blocks depend on the sizes alone, so doing several of them at once gives the same result, to
//! the last bit. Loops with little to do stay as they are.
//!
//! Where it applies:
//! - the steps print nothing (what they warn of, the runtime keeps in order), and put no references into arrays (counting
//!   is not atomic, so blocks of memory never go from one thread to another);
//! - no step reads what another one changes;
//! - the places of their results are known before the loop;
//! - they are not within steps for which it is done.

use super::control::neutral;
use super::cost::{of_step, Cost};
use super::emit::{at, CodeBuilder};
use super::function::Lower;
use super::helpers::Helper;
use super::privatise::{adds, own_part, Accumulator};
use super::uses::{called, statements, uses, var};
use super::{symbol, Splitting};
use crate::low::visit::{fails, registers, size};
use crate::low::{
    Binary, Blocks, Compare, Expr, For, FunctionId, LowFunction, LowTy, Operand, Reg, Stmt, Unary,
};
use diffeo_array::ir::{Atom, Block, FlatTy, Module, Op, Reduction, SiteId, Var};
use diffeo_calculus::prim::Rounding;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// A loop has so many blocks at most.
const MOST_BLOCKS: f64 = 128.0;
/// The blocks of loops of so many steps have a multiple of this number of steps.
const WHOLE: i64 = 32;
const MANY: i64 = 512;
/// So have blocks of at least so many steps, of which each takes little then.
const SHORT: i64 = 8;
/// Steps that take no more than this do not become faster when several are done at once.
const FILL: f64 = 1.0;
/// More is not given to a function for steps.
const MOST_CAPTURED: usize = 1000;
/// More results are not combined.
const MOST_RESULTS: usize = 16;

/// The effects of functions, and of what they call, that concern other threads.
pub(super) struct Effects {
    /// Whether each function prints.
    pub prints: Vec<bool>,
    /// Whether each function asks for constants.
    pub constants: Vec<bool>,
    /// By function and parameter: an accumulator to which it only adds.
    pub adds: Vec<Vec<bool>>,
}

impl Effects {
    /// The effects of the functions of a module.
    pub fn new(module: &Module) -> Effects {
        let prints = |op: &Op| matches!(op, Op::Trace(..) | Op::Progress(..));
        let constants = |op: &Op| matches!(op, Op::Constant(_));
        Effects {
            prints: reaching(module, prints),
            constants: reaching(module, constants),
            adds: adds(module),
        }
    }
}

/// Whether a constant prints or reports anything when it is computed.
pub fn constants_print(module: &Module) -> bool {
    let prints = Effects::new(module).prints;
    module.constants.iter().any(|constant| prints[constant.init.0 as usize])
}

/// The functions that have an operation, or call one that has it.
fn reaching(module: &Module, is: impl Fn(&Op) -> bool) -> Vec<bool> {
    let mut callers = vec![Vec::new(); module.functions.len()];
    let mut found = vec![false; module.functions.len()];
    let mut todo = Vec::new();
    for (i, function) in module.functions.iter().enumerate() {
        statements(&function.body, &mut |stmt| {
            if let Some(callee) = called(module, &stmt.op) {
                callers[callee.0 as usize].push(i);
            }
            if is(&stmt.op) && !std::mem::replace(&mut found[i], true) {
                todo.push(i);
            }
        });
    }
    while let Some(i) = todo.pop() {
        for caller in std::mem::take(&mut callers[i]) {
            if !std::mem::replace(&mut found[caller], true) {
                todo.push(caller);
            }
        }
    }
    found
}

/// A loop whose steps may be done at once.
pub(super) struct Candidate {
    /// The blocks of memory from outside that the steps use.
    shared: BTreeSet<Reg>,
    /// Whether the steps may ask for constants.
    constants: bool,
    /// Whether the loop is done once in a run.
    once: bool,
    /// The accumulators from outside of which each block has its own.
    private: Vec<Accumulator>,
    /// The first register of the steps.
    first: u32,
}

impl Lower<'_, '_> {
    /// Whether the steps of a loop may be done at once, before they are translated; [`Lower::spread`] follows.
    pub fn candidate(&mut self, index: Var, body: &Block) -> Option<Candidate> {
        if self.within || self.cx.options.splitting.threshold == f64::INFINITY {
            return None;
        }
        let number = self.scan.number(body);
        let private = self.private_accumulators(index, body)?;
        let mut allowed = true;
        let mut constants = false;
        let mut shared = BTreeSet::new();
        let mut read = |atom: &Atom| {
            let Some(v) = var(atom).filter(|v| self.scan.home[v.0 as usize] < number) else {
                return;
            };
            match self.ty(v) {
                FlatTy::Real | FlatTy::Int | FlatTy::Bool => {}
                FlatTy::Text | FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) => {
                    if let Operand::Reg(reg) = self.word(atom) {
                        shared.insert(reg);
                    }
                }
                FlatTy::Stack(_) => allowed = false,
            }
        };
        let effects = &self.cx.effects;
        statements(body, &mut |stmt| {
            uses(&self.source.vars, &stmt.op, |_, _| false, |atom, _| read(atom));
            super::uses::regions(&stmt.op, |region| region.results.iter().for_each(&mut read));
        });
        body.results.iter().for_each(&mut read);
        statements(body, &mut |stmt| {
            let callee = called(self.cx.flat, &stmt.op).map(|id| id.0 as usize);
            allowed &= !matches!(stmt.op, Op::Trace(..) | Op::Progress(..))
                && !callee.is_some_and(|i| effects.prints[i]);
            constants |=
                matches!(stmt.op, Op::Constant(_)) || callee.is_some_and(|i| effects.constants[i]);
        });
        let first = self.registers.len() as u32;
        self.within = allowed;
        let once = self.cx.once.contains(&std::ptr::from_ref(body));
        allowed.then_some(Candidate { shared, constants, once, private, first })
    }

    /// Adds a loop; a candidate is done block by block where there is much to do.
    pub fn spread(&mut self, mut steps: For, candidate: Option<Candidate>) {
        let add = |this: &mut Self, steps: For| this.push(Stmt::For(Box::new(steps)));
        let Some(candidate) = candidate else { return add(self, steps) };
        self.within = false;
        let count = steps.to;
        let work = of_step(&self.cx.costs, &steps, candidate.first);
        let Splitting { threshold, block, private: _ } = self.cx.options.splitting;
        let seen = self.looked_at(&mut steps, &candidate);
        if is_little(count, &work, threshold) || !seen.allows() {
            return add(self, steps);
        }
        let reductions = steps.reductions.clone();
        // The steps of loops with little to do stand in their place as well, if they are done more than once.
        let small = !candidate.once && size(&steps.body) <= self.cx.options.beside;
        let known = matches!(count, Operand::Int(_)) && work.loops.is_empty();
        let serial = (small && !known).then(|| steps.clone());
        let part = part(&self.registers, steps, &seen, &candidate.private, self.site);
        let captured = seen.captured;
        let (part, split) = self.functions(part, &captured, &reductions, &candidate);
        let total = (!work.loops.is_empty()).then(|| self.total_work(count, &work));
        let large = (!known).then(|| self.is_large(count, total, &work, threshold));
        let outer = self.begin();
        let total = total.unwrap_or_else(|| self.total_work(count, &work));
        let read: Vec<Operand> = captured.iter().map(|reg| Operand::Reg(*reg)).collect();
        let whole = |this: &mut Self| {
            let none = candidate.private.first().map(|_| [Operand::Int(0), Operand::Int(1)]);
            let read = read.iter().copied().chain(none.into_iter().flatten()).collect();
            this.call_part(part, read, [Operand::Int(0), count], &reductions)
        };
        if candidate.private.is_empty() {
            let least = Operand::Real(block);
            let per_block = self.help(Helper::BlockSteps, vec![count, total, least])[0];
            self.call_part(split, read.clone(), [count, per_block], &reductions);
        } else {
            let room = self.private_room(&candidate.private, total);
            let per_block = self.help(Helper::BlockSteps, vec![count, total, room.least])[0];
            let several = self.compare(Compare::IntLt, per_block, count);
            let outer = self.begin();
            let accumulators = (&candidate.private[..], &read[..]);
            let (read, made) = self.open_private(accumulators, &room, [count, per_block]);
            self.call_part(split, read, [count, per_block], &reductions);
            self.close_private(&candidate.private, &room, made);
            let blocks = self.end(outer);
            let outer = self.begin();
            whole(self);
            let one = self.end(outer);
            self.push(Stmt::If(several, blocks, one));
        }
        let blocks = self.end(outer);
        let Some(large) = large else {
            self.out.extend(blocks);
            return;
        };
        let outer = self.begin();
        match serial {
            Some(steps) => add(self, steps),
            None => whole(self),
        }
        let serial = self.end(outer);
        self.push(Stmt::If(large, blocks, serial));
    }

    /// The reads and changes of steps.
    fn looked_at(&self, step: &mut For, candidate: &Candidate) -> StepFacts {
        let mut seen = StepFacts {
            captured: candidate.shared.iter().copied().collect(),
            inside: candidate.shared.clone(),
            carries: false,
            fallible: false,
        };
        seen.inside.extend(step.reductions.iter().map(|(reg, _)| *reg));
        seen.inside.insert(step.index);
        let reduced: BTreeSet<Reg> = step.reductions.iter().map(|(reg, _)| *reg).collect();
        let mut look = |reg: &mut Reg, set: bool| {
            if reg.0 < candidate.first {
                seen.carries |= set && !reduced.contains(reg);
                if seen.inside.insert(*reg) {
                    seen.captured.push(*reg);
                }
            }
        };
        registers(&mut step.body, &mut look);
        seen.fallible = fails(&step.body, &|function| self.can_fail(function));
        seen.carries |= reduced.len() > MOST_RESULTS;
        seen
    }

    fn can_fail(&self, function: FunctionId) -> bool {
        // What is not translated yet is recursive.
        self.cx.functions[function.0 as usize].as_ref().is_none_or(|f| f.fallible)
    }

    /// Calls a function with what steps read and two numbers; the results are combined with the reductions.
    fn call_part(
        &mut self,
        function: FunctionId,
        mut args: Vec<Operand>,
        numbers: [Operand; 2],
        reductions: &[(Reg, Reduction)],
    ) {
        args.extend(numbers);
        if self.can_fail(function) {
            self.fails = true;
            self.effects += 1;
        }
        let results = self.call(function, args, vec![LowTy::Real; reductions.len()]);
        for ((reg, how), result) in reductions.iter().zip(results) {
            let combined = self.combine(*how, Operand::Reg(*reg), result);
            self.push(Stmt::Set(*reg, combined));
        }
    }

    /// Whether there is much to do; `total` is how much, if it depends on more than the number of steps.
    fn is_large(
        &mut self,
        count: Operand,
        total: Option<Operand>,
        work: &Cost,
        threshold: f64,
    ) -> Operand {
        match total {
            Some(total) => self.compare(Compare::Le, Operand::Real(threshold), total),
            None => {
                let least = (threshold / work.fixed.max(1.0)).ceil() as i64;
                self.compare(Compare::IntLe, Operand::Int(least), count)
            }
        }
    }

    fn total_work(&mut self, count: Operand, work: &Cost) -> Operand {
        let step = work.emit(self);
        let count = self.set(LowTy::Real, Expr::Unary(Unary::ToReal, count));
        self.set(LowTy::Real, Expr::Binary(Binary::Mul, count, step))
    }

    /// Adds the function of the steps to the module, and those that do it for blocks: gives it and the last one.
    fn functions(
        &mut self,
        mut part: LowFunction,
        captured: &[Reg],
        reductions: &[(Reg, Reduction)],
        candidate: &Candidate,
    ) -> (FunctionId, FunctionId) {
        let name = |what: &str, next: usize| {
            symbol(&format!("{}_{what}", self.source.name), FunctionId(next as u32))
        };
        let how: Vec<Reduction> = reductions.iter().map(|(_, how)| *how).collect();
        let mut types: Vec<LowTy> =
            captured.iter().map(|reg| self.registers[reg.0 as usize]).collect();
        if !candidate.private.is_empty() {
            types.extend([LowTy::Int; 2]);
        }
        let next = self.cx.functions.len();
        let names = [name("steps", next), name("task", next + 1), name("blocks", next + 2)];
        let [steps_name, task_name, blocks_name] = names;
        let fallible = part.fallible;
        part.name = steps_name;
        let part = self.cx.add(part);
        let mut task = task(task_name, part, &types, how.len());
        task.fallible = fallible;
        let task = self.cx.add(task);
        let mut split = blocks(blocks_name, part, &types, &how, self.site);
        let (shared, constants) = (candidate.shared.len(), candidate.constants);
        split.blocks = Some(Blocks { task, shared, constants, how, site: self.site });
        (part, self.cx.add(split))
    }
}

/// Emits code that returns the number of steps in a block. `total` is the work of the loop; a block has at least
/// `least` of it, unless that makes too many blocks.
pub(super) fn block_steps(code: &mut CodeBuilder, [count, total, least]: [Operand; 3]) {
    let real = |code: &mut CodeBuilder, expr| code.set(LowTy::Real, expr);
    let mut blocks = real(code, Expr::Binary(Binary::Div, total, least));
    for (bound, above) in [(MOST_BLOCKS, true), (1.0, false)] {
        let bound = Operand::Real(bound);
        let (a, b) = if above { (bound, blocks) } else { (blocks, bound) };
        let beyond = code.compare(Compare::Lt, a, b);
        blocks = code.select(LowTy::Real, beyond, bound, blocks);
    }
    let all = real(code, Expr::Unary(Unary::ToReal, count));
    let steps = real(code, Expr::Binary(Binary::Div, all, blocks));
    let steps = real(code, Expr::Unary(Unary::Integral(Rounding::Ceil), steps));
    let steps = code.set(LowTy::Int, Expr::Unary(Unary::ToInt, steps));
    // Several steps may be done at once in lanes: blocks are to have enough of them.
    let more = code.add(steps, Operand::Int(WHOLE - 1));
    let whole = code.set(LowTy::Int, Expr::Binary(Binary::And, more, Operand::Int(-WHOLE)));
    let many = code.compare(Compare::IntLe, Operand::Int(MANY), count);
    let short = code.compare(Compare::IntLe, Operand::Int(SHORT), steps);
    let many = code.set(LowTy::Bool, Expr::Binary(Binary::Or, many, short));
    let steps = code.select(LowTy::Int, many, whole, steps);
    code.push(Stmt::Return(vec![steps]));
}

/// The function that does one block after the other.
fn blocks(
    name: String,
    part: FunctionId,
    captured: &[LowTy],
    how: &[Reduction],
    site: SiteId,
) -> LowFunction {
    let mut code = CodeBuilder::new();
    code.site = site;
    let params = code.regs(captured.iter().copied().chain([LowTy::Int, LowTy::Int]));
    let (captured, numbers) = params.split_at(captured.len());
    let [count, steps] = [numbers[0], numbers[1]].map(Operand::Reg);
    let from = code.reg(LowTy::Int);
    code.assign(from, Operand::Int(0));
    let results = code.regs(vec![LowTy::Real; how.len()]);
    for (reg, how) in results.iter().zip(how) {
        code.assign(*reg, Operand::Real(neutral(*how)));
    }
    let from_now = Operand::Reg(from);
    let body = code.list(|code| {
        let more = code.compare(Compare::IntLt, from_now, count);
        code.push(Stmt::If(more, Vec::new(), vec![Stmt::Break]));
        // A block may be too short to poll.
        code.poll();
        let left = code.sub(count, from_now);
        let last = code.compare(Compare::IntLe, left, steps);
        let next = code.add(from_now, steps);
        let to = code.select(LowTy::Int, last, count, next);
        let mut args: Vec<Operand> = captured.iter().map(|reg| Operand::Reg(*reg)).collect();
        args.extend([from_now, to]);
        let values = code.call(part, args, vec![LowTy::Real; how.len()]);
        for ((reg, how), value) in results.iter().zip(how).zip(values) {
            let sum = code.combine(*how, Operand::Reg(*reg), value);
            code.push(Stmt::Set(*reg, sum));
        }
        code.assign(from, to);
    });
    code.push(Stmt::Loop(body));
    code.push(Stmt::Return(results.into_iter().map(Operand::Reg).collect()));
    code.finish(name, params, vec![LowTy::Real; how.len()])
}

/// The function that does steps for whoever has the words of what they read in memory.
fn task(name: String, part: FunctionId, captured: &[LowTy], results: usize) -> LowFunction {
    let mut code = CodeBuilder::new();
    let params = code.regs([LowTy::Ptr, LowTy::Int, LowTy::Int, LowTy::Ptr]);
    let [words, from, to, out] = [0, 1, 2, 3].map(|i| Operand::Reg(params[i]));
    let loads = captured.iter().enumerate();
    let mut args: Vec<Operand> =
        loads.map(|(i, ty)| code.load(*ty, at(words, 8 * i as i64))).collect();
    args.extend([from, to]);
    let values = code.call(part, args, vec![LowTy::Real; results]);
    for (i, value) in values.into_iter().enumerate() {
        code.store(LowTy::Real, at(out, 8 * i as i64), value);
    }
    code.push(Stmt::Return(Vec::new()));
    code.finish(name, params, Vec::new())
}

/// Whether it is known that there is little to do, or nothing but to fill memory.
fn is_little(count: Operand, work: &Cost, threshold: f64) -> bool {
    match count {
        _ if work.loops.is_empty() && work.fixed <= FILL => true,
        Operand::Int(n) => work.loops.is_empty() && n as f64 * work.fixed < threshold,
        _ => false,
    }
}

/// The facts about steps.
struct StepFacts {
    /// The registers from outside that they read.
    captured: Vec<Reg>,
    /// Those, and the registers of the loop.
    inside: BTreeSet<Reg>,
    /// Whether a step changes something that outlives it, or they are not to be a function for another reason.
    carries: bool,
    /// Whether they can fail.
    fallible: bool,
}

impl StepFacts {
    /// Whether they may be a function.
    fn allows(&self) -> bool {
        !self.carries && self.captured.len() <= MOST_CAPTURED
    }
}

/// The function of steps: `(captured…, from, to)`, and before these two, if there are private accumulators, how far those
/// of a block lie behind those of the block before, and the number of steps in a block. The site is that of the loop.
fn part(
    types: &[LowTy],
    mut step: For,
    seen: &StepFacts,
    private: &[Accumulator],
    site: SiteId,
) -> LowFunction {
    let mut code = CodeBuilder::new();
    code.site = site;
    code.fails = seen.fallible;
    let mut map: HashMap<Reg, Reg> = HashMap::new();
    let mut rename = |reg: &mut Reg, _: bool| {
        *reg = *map.entry(*reg).or_insert_with_key(|reg| code.reg(types[reg.0 as usize]));
    };
    let mut params = seen.captured.clone();
    params.iter_mut().for_each(|reg| rename(reg, true));
    rename(&mut step.index, true);
    step.reductions.iter_mut().for_each(|(reg, _)| rename(reg, true));
    registers(&mut step.body, &mut rename);
    let numbers = code.regs(vec![LowTy::Int; if private.is_empty() { 2 } else { 4 }]);
    if let [stride, per_block, from, _] = numbers[..] {
        let place = |acc: &Accumulator| seen.captured.iter().position(|reg| *reg == acc.data);
        let places = private.iter().filter_map(place);
        own_part(&mut code, &mut params, places, [stride, per_block, from].map(Operand::Reg));
    }
    let [.., from, to] = numbers[..] else { return code.finish(String::new(), params, Vec::new()) };
    params.extend(numbers);
    (step.from, step.to) = (Operand::Reg(from), Operand::Reg(to));
    let reductions = step.reductions.clone();
    for (reg, how) in &reductions {
        code.assign(*reg, Operand::Real(neutral(*how)));
    }
    code.push(Stmt::For(Box::new(step)));
    code.push(Stmt::Return(reductions.iter().map(|(reg, _)| Operand::Reg(*reg)).collect()));
    code.finish(String::new(), params, vec![LowTy::Real; reductions.len()])
}
