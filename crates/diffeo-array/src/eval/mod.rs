//! The evaluator, which defines what a program of Flat means.
//!
//! A module that lints comes in; results of calls of its functions go out, or [`RuntimeError`]s with their place and
//! the open calls. The open blocks lie in a vector of the machine, so calls nest as deep as memory allows. Last uses
//! are dropped ([`live`]), and arrays that nothing else refers to are updated in place. What a pass must prove before
//! it leaves out a check is checked here nonetheless, and reported as a bug.

mod live;
mod ops;

use crate::ir::walk::operands;
use crate::ir::{
    Atom, Block, Carried, ConstantId, FlatTy, FunctionId, Module, Op, Reduction, SiteId, Stmt, Var,
};
use crate::places::ToldOnce;
use crate::report::{report, Failure, OpenCall, OpenCalls, Why, KEPT};
use crate::value::{Collector, FlatValue};
use diffeo_calculus::eval::{Blocks, Options, RuntimeError};
use diffeo_calculus::prim::{real, RealOp};
use live::{live, Live, LiveStmt};
use ops::{internal, Stopped};
use smallvec::SmallVec;
use std::convert::Infallible;
use std::sync::Arc;

/// After how many operations the limits are checked again.
const CHECK: u64 = 1024;

/// Operands and results.
type Values = SmallVec<[FlatValue; 4]>;

/// What is known of a constant.
enum ConstantState {
    Unknown,
    Open,
    Known(Vec<FlatValue>),
}

/// Runs the functions of a module.
pub struct FlatEvaluator {
    module: Arc<Module>,
    /// By function.
    live: Vec<Live>,
    options: Options,
    constants: Vec<ConstantState>,
    operations: u64,
}

impl FlatEvaluator {
    /// An evaluator for a module that lints. Of the options, those on kinks have no meaning here.
    pub fn new(module: Arc<Module>, options: Options) -> FlatEvaluator {
        FlatEvaluator {
            live: module.functions.iter().map(live).collect(),
            constants: module.constants.iter().map(|_| ConstantState::Unknown).collect(),
            options,
            operations: 0,
            module,
        }
    }

    /// The results of the program's entry.
    ///
    /// # Errors
    /// As for [`FlatEvaluator::call`].
    pub fn run(&mut self, args: Vec<FlatValue>) -> Result<Vec<FlatValue>, RuntimeError> {
        self.call(self.module.entry, args)
    }

    /// The results of a function.
    ///
    /// # Errors
    /// What stops the program; arguments that are not of the types of the parameters.
    pub fn call(
        &mut self,
        function: FunctionId,
        args: Vec<FlatValue>,
    ) -> Result<Vec<FlatValue>, RuntimeError> {
        let mut machine = FlatMachine {
            module: &self.module,
            live: &self.live,
            options: &mut self.options,
            constants: &mut self.constants,
            told: ToldOnce::default(),
            operations: self.operations,
            next_check: self.operations,
            vars: Vec::new(),
            open: Vec::new(),
            root: function,
        };
        let result = machine.start(args).and_then(|()| machine.run());
        let result = result.map_err(|stopped| machine.failure(stopped));
        self.operations = machine.operations;
        for constant in &mut self.constants {
            if matches!(constant, ConstantState::Open) {
                *constant = ConstantState::Unknown;
            }
        }
        result
    }

    /// How many operations were carried out so far: statements, and elements in work on whole arrays.
    pub fn operations(&self) -> u64 {
        self.operations
    }
}

impl Drop for FlatEvaluator {
    /// What is known of blocks is nested as they are.
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.live);
        while let Some(mut live) = pending.pop() {
            pending.extend(live.stmts.iter_mut().flat_map(|stmt| stmt.blocks.drain(..)));
        }
    }
}

/// A block that is being carried out.
struct Activation<'m> {
    block: &'m Block,
    live: &'m Live,
    /// The next statement.
    next: usize,
    /// Where the variables of its function begin.
    base: usize,
    kind: BlockKind<'m>,
}

/// What a block is to the statement before it in the list of open blocks.
enum BlockKind<'m> {
    /// What is called from outside.
    Root,
    /// The body of a function that it calls.
    Call(FunctionId),
    /// The body of the function that computes a constant.
    Constant(ConstantId),
    /// The one that it chose.
    Branch,
    /// The body of a loop at this index.
    For { index: i64, count: i64 },
    /// The condition of a loop.
    Cond,
    /// The body of a conditional loop.
    While,
    /// The body of a comprehension.
    Build(Box<Building>),
    /// The body of a reduction.
    Reduce(Box<Reducing<'m>>),
}

struct Building {
    index: i64,
    count: i64,
    results: Vec<Collector>,
}

struct Reducing<'m> {
    index: i64,
    count: i64,
    how: &'m [Reduction],
    totals: Vec<Blocks<f64>>,
}

struct FlatMachine<'m> {
    module: &'m Module,
    live: &'m [Live],
    options: &'m mut Options,
    constants: &'m mut Vec<ConstantState>,
    told: ToldOnce,
    operations: u64,
    /// At how many operations the limits are checked next.
    next_check: u64,
    /// The variables of the open functions.
    vars: Vec<FlatValue>,
    /// The open blocks, innermost last.
    open: Vec<Activation<'m>>,
    root: FunctionId,
}

impl<'m> FlatMachine<'m> {
    fn start(&mut self, args: Vec<FlatValue>) -> Result<(), Stopped> {
        let Some(function) = self.module.functions.get(self.root.0 as usize) else {
            return Err(internal("there is no such function"));
        };
        let types = function.params.iter().map(|var| &function.vars[var.0 as usize].ty);
        let fits = args.len() == function.params.len()
            && args.iter().zip(types).all(|(arg, ty)| arg.has_type(ty));
        if !fits {
            return Err(internal("arguments of other types than the parameters"));
        }
        self.enter_function(self.root, args, BlockKind::Root)
    }

    fn run(&mut self) -> Result<Vec<FlatValue>, Stopped> {
        while let Some(top) = self.open.last_mut() {
            match top.block.stmts.get(top.next) {
                Some(stmt) => {
                    let live = &top.live.stmts[top.next];
                    top.next += 1;
                    self.operations += 1;
                    if self.operations >= self.next_check {
                        self.check_limits()?;
                    }
                    self.stmt(stmt, live)?;
                }
                None => {
                    let (block, live) = (top.block, top.live);
                    let results = self.read(&block.results, &live.exit);
                    if let Some(results) = self.finish(results)? {
                        return Ok(results.into_vec());
                    }
                }
            }
        }
        Err(internal("no function is open"))
    }

    fn check_limits(&mut self) -> Result<(), Stopped> {
        self.next_check =
            if self.options.limits.is_none() { u64::MAX } else { self.operations + CHECK };
        self.options.limits.check().map_err(|bound| Stopped::new(Why::Exceeded(bound), []))
    }

    // Variables

    fn base(&self) -> usize {
        self.open.last().map_or(0, |top| top.base)
    }

    fn value(&self, base: usize, atom: &Atom) -> FlatValue {
        match atom {
            Atom::Var(var) => self.vars[base + var.0 as usize].clone(),
            Atom::Real(x) => FlatValue::Real(*x),
            Atom::Int(n) => FlatValue::Int(*n),
            Atom::Bool(b) => FlatValue::Bool(*b),
            Atom::Unused(ty) => FlatValue::unused(ty),
        }
    }

    /// The values of operands; then drops these variables.
    fn read(&mut self, atoms: &[Atom], dropped: &[Var]) -> Values {
        let base = self.base();
        let values = atoms.iter().map(|atom| self.value(base, atom)).collect();
        self.release(dropped);
        values
    }

    fn release(&mut self, dropped: &[Var]) {
        let base = self.base();
        for var in dropped {
            self.vars[base + var.0 as usize] = FlatValue::Null;
        }
    }

    fn set(&mut self, var: Var, value: FlatValue) {
        let base = self.base();
        self.vars[base + var.0 as usize] = value;
    }

    fn type_of(&self, var: Var) -> Option<&'m FlatTy> {
        let function = self.open.iter().rev().find_map(|open| match open.kind {
            BlockKind::Root => Some(self.root),
            BlockKind::Call(function) => Some(function),
            BlockKind::Constant(id) => Some(self.module.constants[id.0 as usize].init),
            BlockKind::Branch
            | BlockKind::For { .. }
            | BlockKind::Cond
            | BlockKind::While
            | BlockKind::Build(_)
            | BlockKind::Reduce(_) => None,
        })?;
        let vars = &self.module.functions[function.0 as usize].vars;
        vars.get(var.0 as usize).map(|info| &info.ty)
    }

    // Statements

    fn stmt(&mut self, stmt: &'m Stmt, live: &'m LiveStmt) -> Result<(), Stopped> {
        let base = self.base();
        let mut args = Values::new();
        operands(&stmt.op, |atom| args.push(self.value(base, atom)));
        self.release(&live.operands);
        match (&stmt.op, args.as_slice()) {
            (Op::If { then, otherwise, .. }, [FlatValue::Bool(cond)]) => {
                let (block, i) = if *cond { (then, 0) } else { (otherwise, 1) };
                self.enter(block, &live.blocks[i], BlockKind::Branch);
            }
            (Op::Switch { arms, default, .. }, [FlatValue::Int(on)]) => {
                let arm = arms.iter().position(|(value, _)| value == on);
                let chosen = match (arm, default) {
                    (Some(i), _) => Some((&arms[i].1, i)),
                    (None, Some(block)) => Some((block, arms.len())),
                    (None, None) => None,
                };
                let (block, i) =
                    chosen.ok_or_else(|| internal(format!("there is no arm for {on}")))?;
                self.enter(block, &live.blocks[i], BlockKind::Branch);
            }
            (Op::For { index, carried, body, .. }, [FlatValue::Int(count), ..]) => {
                let count = *count;
                let state = args.drain(1..).collect();
                if count < 1 {
                    self.give(state)?;
                } else {
                    self.enter(body, &live.blocks[0], BlockKind::For { index: 0, count });
                    self.step(Some((*index, 0)), carried, state);
                }
            }
            (Op::While { carried, cond, .. }, _) => {
                self.enter(cond, &live.blocks[0], BlockKind::Cond);
                self.step(None, carried, args);
            }
            (Op::Build { index, body, .. }, [FlatValue::Int(count)]) => {
                let results: Option<Vec<Collector>> = stmt
                    .results
                    .iter()
                    .map(|var| match self.type_of(*var) {
                        Some(FlatTy::Array(elem, rank)) => Some(Collector::new(*elem, rank - 1)),
                        Some(_) | None => None,
                    })
                    .collect();
                let results = results.ok_or_else(|| internal("a comprehension gives arrays"))?;
                if *count < 1 {
                    let results =
                        results.into_iter().map(|c| FlatValue::array(c.finish())).collect();
                    self.give(results)?;
                } else {
                    let building = Box::new(Building { index: 0, count: *count, results });
                    self.enter(body, &live.blocks[0], BlockKind::Build(building));
                    self.step(Some((*index, 0)), &[], Values::new());
                }
            }
            (Op::Reduce { how, index, body, .. }, [FlatValue::Int(count)]) => {
                if *count < 1 {
                    self.give(how.iter().map(|how| FlatValue::Real(neutral(*how))).collect())?;
                } else {
                    let totals = how.iter().map(|_| Blocks::default()).collect();
                    let reducing = Box::new(Reducing { index: 0, count: *count, how, totals });
                    self.enter(body, &live.blocks[0], BlockKind::Reduce(reducing));
                    self.step(Some((*index, 0)), &[], Values::new());
                }
            }
            (Op::Call(function, _), _) => {
                self.enter_function(*function, args.into_vec(), BlockKind::Call(*function))?;
            }
            (Op::Constant(id), _) => match &self.constants[id.0 as usize] {
                ConstantState::Known(values) => {
                    let values = values.iter().cloned().collect();
                    self.give(values)?;
                }
                ConstantState::Open => return Err(Stopped::new(Why::Cycle(*id), [])),
                ConstantState::Unknown => {
                    self.constants[id.0 as usize] = ConstantState::Open;
                    let init = self.module.constants[id.0 as usize].init;
                    self.enter_function(init, Vec::new(), BlockKind::Constant(*id))?;
                }
            },
            (op, _) => {
                let mut context = ops::OpContext {
                    operations: &mut self.operations,
                    events: &mut *self.options.events,
                    told: &mut self.told,
                    sites: &self.module.sites,
                };
                let results = ops::apply(&mut context, op, args)?;
                self.give(results)?;
            }
        }
        Ok(())
    }

    /// Ends the statement that the innermost block has begun, with these results.
    fn give(&mut self, results: Values) -> Result<(), Stopped> {
        let Some(top) = self.open.last() else { return Err(internal("no function is open")) };
        let (base, at) = (top.base, top.next - 1);
        let (block, live) = (top.block, top.live);
        // What stops the program gives nothing.
        for (var, value) in block.stmts[at].results.iter().zip(results) {
            self.vars[base + var.0 as usize] = value;
        }
        self.release(&live.stmts[at].after);
        Ok(())
    }

    // Blocks

    fn enter(&mut self, block: &'m Block, live: &'m Live, kind: BlockKind<'m>) {
        let base = self.base();
        self.open.push(Activation { block, live, next: 0, base, kind });
        self.release(&live.enter);
    }

    fn enter_function(
        &mut self,
        id: FunctionId,
        args: Vec<FlatValue>,
        kind: BlockKind<'m>,
    ) -> Result<(), Stopped> {
        let function = &self.module.functions[id.0 as usize];
        let base = self.vars.len();
        let size = (base + function.vars.len()) * std::mem::size_of::<FlatValue>()
            + self.open.len() * std::mem::size_of::<Activation<'_>>();
        if size > self.options.max_stack {
            return Err(Stopped { function: Some(id), ..Stopped::new(Why::TooDeep, []) });
        }
        self.vars.resize(base + function.vars.len(), FlatValue::Null);
        for (var, arg) in function.params.iter().zip(args) {
            self.vars[base + var.0 as usize] = arg;
        }
        let live = &self.live[id.0 as usize];
        self.open.push(Activation { block: &function.body, live, next: 0, base, kind });
        self.release(&live.enter);
        Ok(())
    }

    /// Begins a step of the innermost loop.
    fn step(&mut self, index: Option<(Var, i64)>, carried: &[Carried], state: Values) {
        if let Some((var, i)) = index {
            self.set(var, FlatValue::Int(i));
        }
        for (carried, value) in carried.iter().zip(state) {
            self.set(carried.param, value);
        }
        if let Some(top) = self.open.last_mut() {
            top.next = 0;
            let live = top.live;
            self.release(&live.enter);
        }
    }

    /// Ends the innermost block, with these results; gives those of the program, if it is at its end.
    fn finish(&mut self, results: Values) -> Result<Option<Values>, Stopped> {
        // The statement that the block belongs to.
        let stmt = self.open.iter().rev().nth(1).map(|outer| &outer.block.stmts[outer.next - 1]);
        let Some(top) = self.open.last_mut() else { return Err(internal("no function is open")) };
        let base = top.base;
        let results = match (&mut top.kind, stmt.map(|stmt| &stmt.op)) {
            (BlockKind::Root, _) => return Ok(Some(results)),
            (BlockKind::Call(_), _) => {
                self.vars.truncate(base);
                results
            }
            (BlockKind::Constant(id), _) => {
                self.constants[id.0 as usize] = ConstantState::Known(results.to_vec());
                self.vars.truncate(base);
                results
            }
            (BlockKind::Branch, _) => results,
            (BlockKind::For { index: i, count }, Some(Op::For { index, carried, .. })) => {
                *i += 1;
                if *i < *count {
                    let i = *i;
                    self.step(Some((*index, i)), carried, results);
                    return Ok(None);
                }
                results
            }
            (BlockKind::Cond, Some(Op::While { carried, body, .. })) => match results.as_slice() {
                [FlatValue::Bool(true)] => {
                    // The statement before it knows what the body drops.
                    let lives = self.open.iter().rev().nth(1).map(|o| &o.live.stmts[o.next - 1]);
                    let Some(lives) = lives else { return Err(internal("no statement is open")) };
                    let live = &lives.blocks[1];
                    self.open.pop();
                    self.enter(body, live, BlockKind::While);
                    return Ok(None);
                }
                _ => {
                    let params = carried.iter().map(|c| base + c.param.0 as usize);
                    params
                        .map(|at| std::mem::replace(&mut self.vars[at], FlatValue::Null))
                        .collect()
                }
            },
            (BlockKind::While, Some(Op::While { carried, cond, .. })) => {
                let lives = self.open.iter().rev().nth(1).map(|o| &o.live.stmts[o.next - 1]);
                let Some(lives) = lives else { return Err(internal("no statement is open")) };
                let live = &lives.blocks[0];
                self.open.pop();
                self.enter(cond, live, BlockKind::Cond);
                self.step(None, carried, results);
                return Ok(None);
            }
            (BlockKind::Build(building), Some(Op::Build { index, .. })) => {
                for (collector, value) in building.results.iter_mut().zip(results) {
                    // A row that nothing else has is made in its place.
                    if let FlatValue::Array(row) = &value {
                        let copied = if row.data().is_unique() { 0 } else { row.count() };
                        self.operations += copied as u64;
                    }
                    let pushed = collector.push(value);
                    pushed.map_err(|kind| Stopped { outer: true, ..ops::rows(kind) })?;
                }
                building.index += 1;
                let i = building.index;
                if i < building.count {
                    self.step(Some((*index, i)), &[], Values::new());
                    return Ok(None);
                }
                let collectors = std::mem::take(&mut building.results);
                collectors.into_iter().map(|c| FlatValue::array(c.finish())).collect()
            }
            (BlockKind::Reduce(reducing), Some(Op::Reduce { index, .. })) => {
                let combined = |how: Reduction| move |a, b| Ok::<_, Infallible>(combine(how, a, b));
                for ((total, how), value) in
                    reducing.totals.iter_mut().zip(reducing.how).zip(&results)
                {
                    if let FlatValue::Real(x) = value {
                        let Ok(()) = total.push(*x, &mut combined(*how));
                    }
                }
                reducing.index += 1;
                let i = reducing.index;
                if i < reducing.count {
                    self.step(Some((*index, i)), &[], Values::new());
                    return Ok(None);
                }
                let totals = std::mem::take(&mut reducing.totals).into_iter();
                let total = |(blocks, how): (Blocks<f64>, &Reduction)| {
                    let Ok(total) = blocks.total(&mut combined(*how));
                    FlatValue::Real(total.unwrap_or(neutral(*how)))
                };
                totals.zip(reducing.how).map(total).collect()
            }
            (
                BlockKind::For { .. }
                | BlockKind::Cond
                | BlockKind::While
                | BlockKind::Build(_)
                | BlockKind::Reduce(_),
                _,
            ) => return Err(internal("a block does not belong to its statement")),
        };
        self.open.pop();
        self.give(results)?;
        Ok(None)
    }

    // Errors

    fn failure(&self, stopped: Stopped) -> RuntimeError {
        let Stopped { why, operands, outer, function } = stopped;
        // The sites of the statements that are open, innermost first.
        let skipped = usize::from(outer);
        let site = |open: &Activation<'_>| match open.next.checked_sub(1) {
            Some(at) => open.block.stmts[at].site,
            None => SiteId(u32::MAX),
        };
        let mut calls: Vec<OpenCall> = Vec::new();
        let innermost = self.open.iter().rev().nth(skipped).map_or(SiteId(u32::MAX), site);
        // A call that found no room has not been opened.
        calls.extend(
            function
                .filter(|_| !self.open.is_empty())
                .map(|f| OpenCall { function: f, site: innermost }),
        );
        for pair in self.open.windows(2).rev() {
            let function = match pair[1].kind {
                BlockKind::Call(function) => function,
                BlockKind::Constant(id) => self.module.constants[id.0 as usize].init,
                BlockKind::Root
                | BlockKind::Branch
                | BlockKind::For { .. }
                | BlockKind::Cond
                | BlockKind::While
                | BlockKind::Build(_)
                | BlockKind::Reduce(_) => continue,
            };
            calls.push(OpenCall { function, site: site(&pair[0]) });
        }
        let middle = calls.len().saturating_sub(2 * KEPT);
        let outer = if middle > 0 { calls.split_off(KEPT + middle) } else { Vec::new() };
        calls.truncate(calls.len() - middle);
        let calls = OpenCalls { inner: calls, skipped: middle, outer };
        report(self.module, Failure { why, operands, site: innermost, calls, root: self.root })
    }
}

/// What a reduction of nothing gives.
fn neutral(how: Reduction) -> f64 {
    match how {
        Reduction::Add => 0.0,
        Reduction::Max => f64::NEG_INFINITY,
        Reduction::Min => f64::INFINITY,
    }
}

fn combine(how: Reduction, total: f64, x: f64) -> f64 {
    match how {
        Reduction::Add => total + x,
        Reduction::Max => real::eval(RealOp::Max, total, x),
        Reduction::Min => real::eval(RealOp::Min, total, x),
    }
}
