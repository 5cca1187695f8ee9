//! Statements.

use super::{llvm_type, packs, returned, taken, Emitter, FIRST_RARE, SECOND_RARE};
use crate::low::{
    Blocks, Checked, Expr, For, FunctionId, LowTy, Operand, Raise, Reg, Runtime, Stmt, NOWHERE,
};
use crate::runtime;
use diffeo_array::ir::SiteId;
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;

/// The block that notes an open call, and the one that leaves the function.
const NOTE: &str = "note";
const FAILED: &str = "failed";

impl Emitter<'_, '_> {
    pub(super) fn list(&mut self, stmts: &[Stmt]) {
        deep(|| {
            for stmt in stmts {
                // What follows a `Raise` or `Return` is not reached.
                if self.block.is_some() {
                    self.stmt(stmt);
                }
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if self.lane_stmt(stmt) {
            return;
        }
        match stmt {
            Stmt::Set(register, expr) => {
                let value = self.expr(*register, expr);
                self.set(*register, value);
            }
            Stmt::Checked { op, result, overflow, a, b } => {
                let both = self.checked(*op, *a, *b);
                for (i, register) in [*result, *overflow].into_iter().enumerate() {
                    let value =
                        self.compute(format_args!("extractvalue {{ i64, i1 }} {both}, {i}"));
                    self.set(register, value);
                }
            }
            Stmt::Store(ty, address, value) => {
                let mut value = self.operand(*value);
                let (at, access) = (self.address(address, true), self.access());
                let mut to = llvm_type(*ty);
                if *ty == LowTy::Bool {
                    value = self.compute(format_args!("zext i1 {value} to i8"));
                    to = "i8";
                }
                let align = if *ty == LowTy::Bool { 1 } else { 8 };
                self.line(format_args!("store {to} {value}, ptr {at}, align {align}{access}"));
            }
            Stmt::If(condition, then, otherwise) => self.branch(*condition, then, otherwise),
            Stmt::Switch(on, arms, default) => self.switch(*on, arms, default),
            Stmt::Loop(body) => {
                let (head, exit) = (self.label(), self.label());
                self.jump(&head);
                self.begin(head.clone());
                self.exits.push((exit.clone(), false));
                self.list(body);
                self.jump(&head);
                if let Some((_, true)) = self.exits.pop() {
                    self.begin(exit);
                }
            }
            Stmt::Break => {
                if let Some((exit, reached)) = self.exits.last_mut() {
                    *reached = true;
                    let exit = exit.clone();
                    self.jump(&exit);
                }
            }
            Stmt::For(step) => match self.plans.get(&(&raw const **step)).cloned() {
                Some((_, plan)) if self.lanes.is_none() => self.in_lanes(step, &plan),
                Some(_) | None => self.count(step),
            },
            Stmt::Call { results, function, args, site } => {
                self.call(results, *function, args, *site);
            }
            Stmt::Runtime { results, op, args } => {
                let value = self.runtime(*op, args);
                if let (Some(value), Some(register)) = (value, results.first()) {
                    self.set(*register, value);
                }
            }
            Stmt::Raise { error, args, site } => {
                let args: Vec<_> = args.iter().map(|arg| self.word(*arg)).collect();
                self.raise(error, &args, *site);
            }
            Stmt::Return(values) => {
                let values: Vec<_> = values.iter().map(|value| self.operand(*value)).collect();
                self.ret(false, &values);
            }
        }
    }

    /// Returns the status (whether it failed), if there is one, and the results.
    fn ret(&mut self, failed: bool, values: &[String]) {
        self.block = None;
        let mut parts: Vec<(String, String)> = Vec::new();
        if self.function.fallible {
            parts.push(("i1".into(), failed.to_string()));
        }
        let mut left = values;
        for (ty, count) in packs(self.function.results.iter().copied()) {
            let (values, rest) = left.split_at(count);
            left = rest;
            let value = self.pack(&ty, values);
            parts.push((ty, value));
        }
        let all = returned(self.function);
        match &parts[..] {
            [] => self.line(format_args!("ret void")),
            [(_, value)] => self.line(format_args!("ret {all} {value}")),
            _ => {
                let mut whole = "poison".to_string();
                for (i, (ty, value)) in parts.iter().enumerate() {
                    whole =
                        self.compute(format_args!("insertvalue {all} {whole}, {ty} {value}, {i}"));
                }
                self.line(format_args!("ret {all} {whole}"));
            }
        }
    }

    fn checked(&mut self, op: Checked, a: Operand, b: Operand) -> String {
        let (a, b) = (self.operand(a), self.operand(b));
        let name = match op {
            Checked::Add => "llvm.sadd.with.overflow.i64",
            Checked::Sub => "llvm.ssub.with.overflow.i64",
            Checked::Mul => "llvm.smul.with.overflow.i64",
        };
        self.intrinsic("", "{ i64, i1 }", name, "i64, i64", &format!("i64 {a}, i64 {b}"))
    }

    fn branch(&mut self, condition: Operand, then: &[Stmt], otherwise: &[Stmt]) {
        let condition = self.operand(condition);
        let weights = match (is_rare(then), is_rare(otherwise)) {
            (true, false) => format!(", !prof !{FIRST_RARE}"),
            (false, true) => format!(", !prof !{SECOND_RARE}"),
            (true, true) | (false, false) => String::new(),
        };
        let (first, end) = (self.label(), self.label());
        let second = if otherwise.is_empty() { end.clone() } else { self.label() };
        self.line(format_args!("br i1 {condition}, label %{first}, label %{second}{weights}"));
        self.begin(first);
        self.list(then);
        let mut goes_on = self.block.is_some() || otherwise.is_empty();
        self.jump(&end);
        if !otherwise.is_empty() {
            self.begin(second);
            self.list(otherwise);
            goes_on |= self.block.is_some();
            self.jump(&end);
        }
        if goes_on {
            self.begin(end);
        }
    }

    fn switch(&mut self, on: Operand, arms: &[(i64, Vec<Stmt>)], default: &[Stmt]) {
        let on = self.operand(on);
        let labels: Vec<String> = arms.iter().map(|_| self.label()).collect();
        let (other, end) = (self.label(), self.label());
        let cases = arms.iter().zip(&labels);
        let table: Vec<_> =
            cases.map(|((value, _), label)| format!("i64 {value}, label %{label}")).collect();
        self.line(format_args!("switch i64 {on}, label %{other} [ {} ]", table.join(" ")));
        let mut goes_on = false;
        let arms = arms.iter().map(|(_, arm)| &arm[..]);
        for (label, arm) in labels.into_iter().zip(arms).chain([(other, default)]) {
            self.begin(label);
            self.list(arm);
            goes_on |= self.block.is_some();
            self.jump(&end);
        }
        if goes_on {
            self.begin(end);
        }
    }

    pub(super) fn count(&mut self, step: &For) {
        let (from, to) = (self.operand(step.from), self.operand(step.to));
        self.in_strips(step, step.every, [&from, &to], |e, from, to| e.strip(step, from, to));
    }

    /// Strip-mines a loop that polls: `steps` emits the steps of a strip, of which there is at least one.
    pub(super) fn in_strips(
        &mut self,
        step: &For,
        every: i64,
        [from, to]: [&str; 2],
        steps: impl FnOnce(&mut Self, &str, &str),
    ) {
        let exit = self.label();
        let enters = self.compute(format_args!("icmp slt i64 {from}, {to}"));
        let first = self.label();
        self.line(format_args!("br i1 {enters}, label %{first}, label %{exit}"));
        let before = self.block.clone().unwrap_or_default();
        self.begin(first.clone());
        if every == 0 {
            steps(self, from, to);
            self.jump(&exit);
            return self.begin(exit);
        }
        let (start, end) = (self.name(), self.name());
        let poll = self.label();
        self.line(format_args!("{start} = phi i64 [ {from}, %{before} ], [ {end}, %{poll} ]"));
        let left = self.compute(format_args!("sub i64 {to}, {start}"));
        let many = self.compute(format_args!("icmp sgt i64 {left}, {every}"));
        let steps_now = self.compute(format_args!("select i1 {many}, i64 {every}, i64 {left}"));
        self.line(format_args!("{end} = add i64 {start}, {steps_now}"));
        steps(self, &start, &end);
        let ask = self.label();
        self.line(format_args!("br i1 {many}, label %{ask}, label %{exit}"));
        self.begin(ask);
        let stop = self.poll();
        let stopped = self.label();
        self.line(format_args!(
            "br i1 {stop}, label %{stopped}, label %{poll}, !prof !{FIRST_RARE}"
        ));
        self.begin(stopped);
        self.raise(&Raise::Stopped, &[], step.site);
        self.begin(poll);
        self.jump(&first);
        self.begin(exit);
    }

    /// Emits steps, of which there is at least one.
    fn strip(&mut self, step: &For, from: &str, to: &str) {
        let [body, latch, exit] = [(); 3].map(|()| self.label());
        let (index, next) = (self.name(), self.name());
        let before = self.block.clone().unwrap_or_default();
        self.jump(&body);
        self.begin(body.clone());
        self.line(format_args!("{index} = phi i64 [ {from}, %{before} ], [ {next}, %{latch} ]"));
        self.set(step.index, index.clone());
        let around = (self.access, self.groups.len());
        let mut metadata = String::new();
        let branches = branches(&step.body);
        if step.independent || self.plain || branches {
            let mut facts = Vec::new();
            if step.independent {
                let group = self.shared.metadata("distinct !{}".into());
                self.groups.push(group);
                self.access = None;
                facts.push(format!("!{{!\"llvm.loop.parallel_accesses\", !{group}}}"));
            }
            if self.plain {
                facts.push("!{!\"llvm.loop.unroll.disable\"}".into());
                facts.push("!{!\"llvm.loop.interleave.count\", i32 1}".into());
            } else if branches {
                facts.push("!{!\"llvm.loop.unroll.runtime.disable\"}".into());
            }
            let mut list = String::new();
            for fact in facts {
                list.push_str(&format!(", !{}", self.shared.metadata(fact)));
            }
            // The first operand is the loop itself, so that no two are the same.
            let own = self.shared.metadata.len();
            self.shared.metadata(format!("distinct !{{!{own}{list}}}"));
            metadata = format!(", !llvm.loop !{own}");
        }
        self.list(&step.body);
        self.access = around.0;
        self.groups.truncate(around.1);
        self.jump(&latch);
        self.begin(latch);
        self.line(format_args!("{next} = add nsw i64 {index}, 1"));
        let again = self.compute(format_args!("icmp slt i64 {next}, {to}"));
        self.line(format_args!("br i1 {again}, label %{body}, label %{exit}{metadata}"));
        self.begin(exit);
    }

    fn call(&mut self, results: &[Reg], function: FunctionId, args: &[Operand], site: SiteId) {
        let callee = &self.shared.module.functions[function.0 as usize];
        self.shared.called.insert(function.0 as usize);
        let mut text = "ptr %context".to_string();
        let mut args = args.iter();
        for (ty, count) in taken(callee) {
            let values: Vec<_> = args.by_ref().take(count).map(|arg| self.operand(*arg)).collect();
            let value = self.pack(&ty, &values);
            text.push_str(&format!(", {ty} {value}"));
        }
        let (all, access) = (returned(callee), self.access());
        let packs = packs(callee.results.iter().copied());
        let first = usize::from(callee.fallible);
        let count = first + packs.len();
        if count == 0 {
            return self.line(format_args!("call fastcc void @f{}({text}){access}", function.0));
        }
        let whole =
            self.compute(format_args!("call fastcc {all} @f{}({text}){access}", function.0));
        let part = |e: &mut Self, i: usize| match count {
            1 => whole.clone(),
            _ => e.compute(format_args!("extractvalue {all} {whole}, {i}")),
        };
        if callee.fallible {
            let status = part(self, 0);
            let (failed, go_on) = (self.label(), self.label());
            self.line(format_args!(
                "br i1 {status}, label %{failed}, label %{go_on}, !prof !{FIRST_RARE}"
            ));
            self.begin(failed.clone());
            if site == NOWHERE {
                self.fail();
            } else {
                self.jump(NOTE);
                self.failures.push((runtime::OpenCall { function, site }, failed));
            }
            self.begin(go_on);
        }
        let mut results = results.iter();
        for (i, (ty, count)) in packs.iter().enumerate() {
            let whole = part(self, first + i);
            let values = self.unpack(ty, &whole, *count);
            for (value, register) in values.into_iter().zip(results.by_ref()) {
                self.set(*register, value);
            }
        }
    }

    /// An operand as a word.
    fn word(&mut self, operand: Operand) -> String {
        let value = self.operand(operand);
        let conversion = match self.operand_ty(operand) {
            LowTy::Int => return value,
            LowTy::Real => "bitcast double",
            LowTy::Bool => "zext i1",
            LowTy::Ptr => "ptrtoint ptr",
        };
        self.compute(format_args!("{conversion} {value} to i64"))
    }

    /// Records an error and leaves the function.
    fn raise(&mut self, error: &Raise, args: &[String], site: SiteId) {
        let index = self.shared.raises.index(error);
        if !args.is_empty() {
            self.record(index, args, site.0);
            return;
        }
        if !self.raised.contains_key(&(index, site.0)) {
            let label = self.label();
            self.raised.insert((index, site.0), label);
        }
        let label = self.raised[&(index, site.0)].clone();
        self.jump(&label);
    }

    fn record(&mut self, error: i64, args: &[String], site: u32) {
        let word = |i: usize| args.get(i).map_or("0", String::as_str);
        let (a, b, c) = (word(0), word(1), word(2));
        let name = self.import(runtime::raise());
        self.line(format_args!(
            "call void @{name}(ptr %context, i64 {error}, i64 {site}, i64 {a}, i64 {b}, i64 {c})"
        ));
        self.fail();
    }

    /// Leaves the function, its error being recorded.
    fn fail(&mut self) {
        self.fails = true;
        self.jump(FAILED);
    }

    /// The blocks in which the function is left with an error.
    pub(super) fn leave_failed(&mut self) {
        if !self.failures.is_empty() {
            let failures = std::mem::take(&mut self.failures);
            self.begin(NOTE.into());
            let part = |e: &mut Self, of: fn(&runtime::OpenCall) -> u32| {
                let choices: Vec<_> = failures
                    .iter()
                    .map(|(open, block)| format!("[ {}, %{block} ]", of(open)))
                    .collect();
                e.compute(format_args!("phi i64 {}", choices.join(", ")))
            };
            let function = part(self, |open| open.function.0);
            let site = part(self, |open| open.site.0);
            let name = self.import(runtime::note());
            self.line(format_args!("call void @{name}(ptr %context, i64 {function}, i64 {site})"));
            self.fail();
        }
        for ((error, site), label) in std::mem::take(&mut self.raised) {
            self.begin(label);
            self.record(error, &[], site);
        }
        if self.fails {
            self.begin(FAILED.into());
            let rest = vec!["poison".to_string(); self.function.results.len()];
            self.ret(true, &rest);
        }
    }

    /// The end of the stack. An atomic load, because another thread writes it: it is not moved out of loops.
    fn stack_end(&mut self) -> String {
        let at = self.at("%context", runtime::STACK_END);
        self.compute(format_args!("load atomic i64, ptr {at} monotonic, align 8"))
    }

    /// Whether the run is to end.
    fn poll(&mut self) -> String {
        let end = self.stack_end();
        let due = self.compute(format_args!("icmp uge i64 {end}, {}", runtime::ASK as i64));
        let (ask, go_on) = (self.label(), self.label());
        let before = self.block.clone().unwrap_or_default();
        self.line(format_args!("br i1 {due}, label %{ask}, label %{go_on}, !prof !{FIRST_RARE}"));
        self.begin(ask.clone());
        let name = self.import(runtime::function(Runtime::Poll));
        let stop = self.compute(format_args!("call i64 @{name}(ptr %context)"));
        let stop = self.compute(format_args!("icmp ne i64 {stop}, 0"));
        self.jump(&go_on);
        self.begin(go_on);
        self.compute(format_args!("phi i1 [ false, %{before} ], [ {stop}, %{ask} ]"))
    }

    /// The test of a recursive function: whether the stack is used up, or the run is to end.
    pub(super) fn test_stack(&mut self) {
        let Some(site) = self.function.recursive else { return };
        let register = if cfg!(target_arch = "x86_64") { "rsp" } else { "sp" };
        let name = self.shared.metadata(format!("!{{!\"{register}\"}}"));
        let end = self.stack_end();
        let args = format!("metadata !{name}");
        let pointer = self.intrinsic("", "i64", "llvm.read_register.i64", "metadata", &args);
        let over = self.compute(format_args!("icmp ult i64 {pointer}, {end}"));
        let (ask, stop, go_on) = (self.label(), self.label(), self.label());
        self.line(format_args!("br i1 {over}, label %{ask}, label %{go_on}, !prof !{FIRST_RARE}"));
        self.begin(ask);
        let name = self.import(runtime::deep());
        let deep = self.compute(format_args!("call i64 @{name}(ptr %context)"));
        let deep = self.compute(format_args!("icmp ne i64 {deep}, 0"));
        self.line(format_args!("br i1 {deep}, label %{stop}, label %{go_on}"));
        self.begin(stop);
        self.raise(&Raise::Stopped, &[], site);
        self.begin(go_on);
    }

    /// Emits a call of the runtime that does the blocks of a loop, and a return.
    pub(super) fn split(&mut self, blocks: &Blocks) {
        let function = self.function;
        let Some((captured, [count, step])) = function.params.split_last_chunk() else { return };
        let words = (captured.len() + blocks.how.len()).max(1);
        self.line(format_args!("%frame = alloca [{words} x i64]"));
        for (i, param) in captured.iter().enumerate() {
            let at = self.at("%frame", 8 * i as i64);
            let value = self.operand(Operand::Reg(*param));
            match self.ty(*param) {
                LowTy::Bool => {
                    let byte = self.compute(format_args!("zext i1 {value} to i8"));
                    self.line(format_args!("store i8 {byte}, ptr {at}, align 8"));
                }
                ty @ (LowTy::Int | LowTy::Real | LowTy::Ptr) => {
                    let ty = llvm_type(ty);
                    self.line(format_args!("store {ty} {value}, ptr {at}, align 8"));
                }
            }
        }
        let name = self.import(runtime::split());
        let [layout, how] = runtime::shape(function, blocks);
        let [count, step] = [*count, *step].map(|reg| self.operand(Operand::Reg(reg)));
        let task = blocks.task.0;
        let status = self.compute(format_args!(
            "call i64 @{name}(ptr %context, ptr @task{task}, ptr %frame, i64 {layout}, i64 {how}, i64 {count}, \
             i64 {step})"
        ));
        if function.fallible {
            let [done, failed] = [(); 2].map(|()| self.label());
            let succeeded = self.compute(format_args!("icmp eq i64 {status}, 0"));
            self.line(format_args!(
                "br i1 {succeeded}, label %{done}, label %{failed}, !prof !{SECOND_RARE}"
            ));
            self.begin(failed);
            self.fail();
            self.begin(done);
        }
        let mut results = Vec::new();
        for i in 0..blocks.how.len() {
            let at = self.at("%frame", 8 * (captured.len() + i) as i64);
            results.push(self.compute(format_args!("load double, ptr {at}, align 8")));
        }
        self.ret(false, &results);
    }

    /// An operation of the runtime; its result.
    fn runtime(&mut self, op: Runtime, args: &[Operand]) -> Option<String> {
        if op == Runtime::Poll {
            return Some(self.poll());
        }
        let function = runtime::function(op);
        let name = self.import(function);
        let context = function.context.then(|| "ptr %context".to_string());
        let mut text: Vec<String> = context.into_iter().collect();
        for (arg, ty) in args.iter().zip(function.params) {
            // A Bool is a word.
            let value = if *ty == LowTy::Int { self.word(*arg) } else { self.operand(*arg) };
            text.push(format!("{} {value}", llvm_type(*ty)));
        }
        let text = text.join(", ");
        let Some(ty) = function.result else {
            self.line(format_args!("call void @{name}({text})"));
            return None;
        };
        let value = self.compute(format_args!("call {} @{name}({text})", llvm_type(ty)));
        Some(match op {
            Runtime::StackGrow => self.compute(format_args!("icmp ne i64 {value}, 0")),
            _ => value,
        })
    }
}

/// Whether the steps of a loop take different ways: several of them written out take long to compile, and are no
/// faster.
fn branches(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::If(_, then, otherwise) => !is_rare(then) && !is_rare(otherwise),
        Stmt::Switch(..) => true,
        Stmt::Set(..)
        | Stmt::Checked { .. }
        | Stmt::Store(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Call { .. }
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    })
}

/// Whether statements are hardly ever executed: they end in an error, or begin with a function of the library
/// that stands for operands which straight-line code does not handle (see [`crate::math`]).
fn is_rare(stmts: &[Stmt]) -> bool {
    matches!(stmts.last(), Some(Stmt::Raise { .. }))
        || matches!(stmts.first(), Some(Stmt::Set(_, Expr::Math(RealOp::Sin | RealOp::Cos, _, _))))
}
