//! The code of a function: statement by statement.
//!
//! A register is a value at each place; where control flow meets, the registers that [`scope`](super::scope)
//! names are block parameters.
//!
//! # The convention of functions
//!
//! Parameters: the context, the address for further results if there are any, the parameters. Results: the
//! status if it is fallible (0: all is well), then as many of the results as have registers
//! ([`Convention::new`]); the further ones lie, a word each, at the address that the caller gave.

mod call;

use super::count::{CostPlan, Weights};
use super::expr;
use super::lanes;
use super::outer::OpenLanes;
use super::scope::{shapes, StmtFacts};
use super::Imports;
use crate::low::lanes::Plans;
use crate::low::opt::polled;
use crate::low::{self, LowFunction, LowModule, Raise, Reg, Runtime, Stmt};
use crate::runtime;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, F64X2, I64, I8};
use cranelift_codegen::ir::{
    self, AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlotData,
    StackSlotKind, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Switch};
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// How many results that are no Reals have registers, with the status.
const INTEGER_RESULTS: usize = 7;
/// How many Reals among the results have registers.
const REAL_RESULTS: usize = 8;

/// Sums begin anew after so many steps and are added up: so rounding errors grow with the number of terms of a part, and
/// of parts.
const SUMMED: i64 = 1 << 13;

/// No loop counts for more steps.
const MOST_STEPS: i64 = 1 << 40;

/// The type of a register.
pub(super) fn clif_type(ty: low::LowTy) -> Type {
    match ty {
        low::LowTy::Int | low::LowTy::Ptr => I64,
        low::LowTy::Real => F64,
        low::LowTy::Bool => I8,
    }
}

/// How a function is called.
pub(super) struct Convention {
    pub signature: Signature,
    /// By result: its position among those in memory, if it is there.
    pub in_memory: Vec<Option<i32>>,
}

impl Convention {
    pub fn new(function: &LowFunction) -> Convention {
        let mut signature = Signature::new(CallConv::Tail);
        let mut integers = usize::from(function.fallible);
        let mut reals = 0;
        let mut memory = 0;
        if function.fallible {
            signature.returns.push(AbiParam::new(I8));
        }
        let mut in_memory = Vec::with_capacity(function.results.len());
        for ty in &function.results {
            let (used, most) = match ty {
                low::LowTy::Real => (&mut reals, REAL_RESULTS),
                low::LowTy::Int | low::LowTy::Bool | low::LowTy::Ptr => {
                    (&mut integers, INTEGER_RESULTS)
                }
            };
            if *used < most {
                *used += 1;
                signature.returns.push(AbiParam::new(clif_type(*ty)));
                in_memory.push(None);
            } else {
                in_memory.push(Some(memory));
                memory += 1;
            }
        }
        signature.params.push(AbiParam::new(I64));
        if memory > 0 {
            signature.params.push(AbiParam::new(I64));
        }
        for param in &function.params {
            let ty = function.registers[param.0 as usize];
            signature.params.push(AbiParam::new(clif_type(ty)));
        }
        Convention { signature, in_memory }
    }

    /// How many results lie in memory.
    pub fn words(&self) -> u32 {
        self.in_memory.iter().flatten().count() as u32
    }
}

/// The signature of a function with the convention of C: so many parameters that are words, and a status.
pub(super) fn outside(convention: CallConv, params: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = vec![AbiParam::new(I64); params];
    signature.returns = vec![AbiParam::new(I64)];
    signature
}

/// What the translations of all functions share.
pub(super) struct Environment<'m> {
    pub module: &'m LowModule,
    pub conventions: &'m [Convention],
    pub imports: &'m mut Imports,
    /// The index of the function that calls a task with the convention of C, by the task.
    pub tasks: &'m HashMap<u32, u32>,
    /// The operations that are functions of vectors, behind those of the module.
    pub vectors: &'m [RealOp],
    /// The costs of functions, if work is counted.
    pub weights: Option<&'m Weights>,
    /// Whether there are instructions for [`low::Expr::Fma`] …
    pub has_fma: bool,
    /// … and for [`low::Unary::Integral`].
    pub has_rounding: bool,
    /// The target, with the convention of C.
    pub frontend: TargetFrontendConfig,
}

/// A loop that is open.
struct OpenLoop {
    exit: Block,
    /// The registers that its exit has parameters for.
    carried: Vec<Reg>,
}

/// A function in translation.
pub(super) struct FunctionTranslator<'t, 'm> {
    pub b: FunctionBuilder<'t>,
    pub env: &'t mut Environment<'m>,
    pub function: &'t LowFunction,
    convention: &'t Convention,
    /// What is counted.
    plan: CostPlan,
    shapes: Vec<StmtFacts>,
    /// The index of the shape of the next statement that has one.
    pub next: usize,
    /// By register: its value here, if it has one. Behind those of the function are those of lanes.
    pub values: Vec<Option<Value>>,
    /// The types of these.
    pub types: Vec<Type>,
    /// The loops that are done in lanes.
    pub lane_plans: &'t Plans,
    /// The lanes of the open loop, if it is one of these.
    pub lanes: Option<OpenLanes>,
    /// True in the last steps of such a loop, which are done one by one.
    pub rest: bool,
    pub context: Value,
    /// Where further results go.
    results: Option<Value>,
    loops: Vec<OpenLoop>,
    functions: HashMap<u32, FuncRef>,
    /// The blocks that record errors without operands, by their indices and places.
    raised: BTreeMap<(i64, u32), Block>,
    /// Leaves the function with an error that is recorded.
    fail: Option<Block>,
    /// Notes the place that is its parameter, and leaves the function.
    note: Option<Block>,
}

/// Translates a function.
pub(super) fn translate<'t>(
    b: FunctionBuilder<'t>,
    env: &'t mut Environment<'_>,
    function: &'t LowFunction,
    convention: &'t Convention,
    lane_plans: &'t Plans,
    plan: CostPlan,
) {
    let mut translator = FunctionTranslator::new(b, env, function, convention, lane_plans, plan);
    translator.start();
    if !function.blocks.as_ref().is_some_and(|blocks| translator.split(blocks)) {
        translator.list(&function.body);
    }
    translator.finish();
}

/// The signature of operations on vectors.
pub(super) fn vector_signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params = vec![AbiParam::new(F64X2); 2];
    signature.returns = vec![AbiParam::new(F64X2)];
    signature
}

/// Translates an operation to a function of vectors.
pub(super) fn translate_vector<'t>(
    b: FunctionBuilder<'t>,
    env: &'t mut Environment<'_>,
    op: RealOp,
) {
    let function = lanes::vector_function(op);
    let convention = Convention { signature: vector_signature(), in_memory: Vec::new() };
    let (plans, plan) = (Plans::new(), CostPlan::default());
    let mut translator = FunctionTranslator::new(b, env, &function, &convention, &plans, plan);
    let block = translator.b.create_block();
    translator.b.append_block_params_for_function_params(block);
    translator.b.switch_to_block(block);
    let params = translator.b.block_params(block).to_vec();
    let result = translator.vectors_in_order(&params);
    translator.b.ins().return_(&[result]);
    translator.finish();
}

/// Translates a function that is called from outside the module, with the convention of C; the status is an Int.
pub(super) fn translate_outside(
    mut b: FunctionBuilder<'_>,
    callee: FuncRef,
    fallible: bool,
    frontend: TargetFrontendConfig,
) {
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let args = b.block_params(block).to_vec();
    let call = b.ins().call(callee, &args);
    let status = if fallible {
        let status = b.inst_results(call)[0];
        b.ins().uextend(I64, status)
    } else {
        b.ins().iconst(I64, 0)
    };
    b.ins().return_(&[status]);
    b.seal_all_blocks();
    b.finalize(frontend);
}

/// The flags of accesses to memory: aligned, and never to memory that is not mapped.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl<'t, 'm> FunctionTranslator<'t, 'm> {
    fn new(
        b: FunctionBuilder<'t>,
        env: &'t mut Environment<'m>,
        function: &'t LowFunction,
        convention: &'t Convention,
        lane_plans: &'t Plans,
        plan: CostPlan,
    ) -> FunctionTranslator<'t, 'm> {
        FunctionTranslator {
            b,
            env,
            function,
            convention,
            plan,
            shapes: shapes(function),
            next: 0,
            values: vec![None; function.registers.len()],
            types: Vec::new(),
            lane_plans,
            lanes: None,
            rest: false,
            context: Value::from_u32(0),
            results: None,
            loops: Vec::new(),
            functions: HashMap::new(),
            raised: BTreeMap::new(),
            fail: None,
            note: None,
        }
    }
}

impl FunctionTranslator<'_, '_> {
    fn start(&mut self) {
        let block = self.b.create_block();
        self.b.append_block_params_for_function_params(block);
        self.b.switch_to_block(block);
        let mut params = self.b.block_params(block).to_vec().into_iter();
        // The signature has been made from the same function.
        self.context = params.next().unwrap_or(self.context);
        if self.convention.words() > 0 {
            self.results = params.next();
        }
        for (reg, value) in self.function.params.iter().zip(params) {
            self.set(*reg, value);
        }
        if let Some(site) = self.function.recursive {
            let end = self.b.ins().load(I64, trusted(), self.context, runtime::STACK_END as i32);
            let pointer = self.b.ins().get_stack_pointer(I64);
            let over = self.b.ins().icmp(IntCC::UnsignedLessThan, pointer, end);
            let (ask, stop, go_on) = (self.cold(), self.cold(), self.b.create_block());
            self.b.ins().brif(over, ask, &[], go_on, &[]);
            self.b.switch_to_block(ask);
            let none = self.b.ins().iconst(I64, 0);
            let deep = self.call_runtime(&runtime::deep(), &[]).unwrap_or(none);
            self.b.ins().brif(deep, stop, &[], go_on, &[]);
            self.b.switch_to_block(stop);
            self.raise(&Raise::Stopped, &[], site);
            self.b.switch_to_block(go_on);
        }
    }

    /// Lets the runtime do the blocks of a loop, and leaves the function; whether it did.
    fn split(&mut self, blocks: &low::Blocks) -> bool {
        let params: Vec<Value> =
            self.function.params.iter().filter_map(|reg| self.values[reg.0 as usize]).collect();
        let Some((captured, [count, step])) = params.split_last_chunk() else { return false };
        let Some(task) = self.env.tasks.get(&blocks.task.0) else { return false };
        let (signature, task) = (outside(self.env.frontend.default_call_conv, 5), *task);
        let words = (captured.len() + blocks.how.len()) as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * words.max(1), 3);
        let slot = self.b.create_sized_stack_slot(slot);
        for (i, value) in captured.iter().enumerate() {
            self.b.ins().stack_store(I64, *value, slot, 8 * i as i32);
        }
        let frame = self.b.ins().stack_addr(I64, slot, 0);
        let task = self.function_ref(task, signature, false);
        let task = self.b.ins().func_addr(I64, task);
        let [layout, how] =
            runtime::shape(self.function, blocks).map(|word| self.b.ins().iconst(I64, word));
        let args = [task, frame, layout, how, *count, *step];
        let status = self.call_runtime(&runtime::split(), &args);
        if let Some(status) = status.filter(|_| self.function.fallible) {
            let (done, fail) = (self.b.create_block(), self.fail());
            self.b.ins().brif(status, fail, &[], done, &[]);
            self.b.switch_to_block(done);
        }
        let first = 8 * captured.len() as i32;
        let results: Vec<Value> = (0..blocks.how.len() as i32)
            .map(|i| self.b.ins().stack_load(I64, F64, slot, first + 8 * i))
            .collect();
        self.return_values(&results);
        true
    }

    fn finish(mut self) {
        for ((error, site), block) in std::mem::take(&mut self.raised) {
            self.b.switch_to_block(block);
            self.record(error, &[], site);
        }
        if let Some(note) = self.note {
            self.b.switch_to_block(note);
            let call = self.b.block_params(note).to_vec();
            self.call_runtime(&runtime::note(), &call);
            let fail = self.fail();
            self.b.ins().jump(fail, &[]);
        }
        if let Some(fail) = self.fail {
            self.b.switch_to_block(fail);
            let mut results = vec![self.b.ins().iconst(I8, 1)];
            let types = self.convention.signature.returns[1..].iter().map(|p| p.value_type);
            for ty in types {
                results.push(expr::zero(&mut self.b, ty));
            }
            self.b.ins().return_(&results);
        }
        self.b.seal_all_blocks();
        self.b.finalize(self.env.frontend);
    }

    pub fn cold(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    fn fail(&mut self) -> Block {
        if let Some(block) = self.fail {
            return block;
        }
        let block = self.cold();
        self.fail = Some(block);
        block
    }

    fn note(&mut self) -> Block {
        if let Some(block) = self.note {
            return block;
        }
        let block = self.cold();
        self.b.append_block_param(block, I64);
        self.b.append_block_param(block, I64);
        self.note = Some(block);
        block
    }

    pub fn ty(&self, reg: Reg) -> Type {
        match self.function.registers.get(reg.0 as usize) {
            Some(ty) => clif_type(*ty),
            None => self.types[reg.0 as usize - self.function.registers.len()],
        }
    }

    pub fn set(&mut self, reg: Reg, value: Value) {
        self.values[reg.0 as usize] = Some(value);
    }

    /// The value of a register. Where nothing has set it, nothing reads it, either.
    pub fn get(&mut self, reg: Reg) -> Value {
        match self.values[reg.0 as usize] {
            Some(value) => value,
            None => {
                let ty = self.ty(reg);
                expr::zero(&mut self.b, ty)
            }
        }
    }

    pub fn args(&mut self, regs: &[Reg]) -> Vec<BlockArg> {
        regs.iter().map(|reg| self.get(*reg).into()).collect()
    }

    /// Makes the registers parameters of a block.
    pub fn add_params(&mut self, block: Block, regs: &[Reg]) {
        for reg in regs {
            let ty = self.ty(*reg);
            self.b.append_block_param(block, ty);
        }
    }

    /// Goes on at a block whose last parameters are these registers.
    pub fn enter(&mut self, block: Block, regs: &[Reg]) {
        self.b.switch_to_block(block);
        let skip = self.b.block_params(block).len() - regs.len();
        for (i, reg) in regs.iter().enumerate() {
            self.values[reg.0 as usize] = Some(self.b.block_params(block)[skip + i]);
        }
    }

    /// Whether the end is reached.
    pub fn list(&mut self, stmts: &[Stmt]) -> bool {
        if let Some(work) = self.plan.lists.get(&stmts.as_ptr()) {
            let work = self.b.ins().iconst(I64, *work as i64);
            self.work(work);
        }
        stmts.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> bool {
        if self.lanes.is_some() && self.lane_stmt(stmt) {
            return true;
        }
        match stmt {
            Stmt::Set(reg, expr) => {
                let ty = self.function.registers[reg.0 as usize];
                let value = self.expr(expr, ty);
                self.set(*reg, value);
            }
            Stmt::Checked { op, result, overflow, a, b } => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                let (value, over) = match op {
                    low::Checked::Add => self.b.ins().sadd_overflow(a, b),
                    low::Checked::Sub => self.b.ins().ssub_overflow(a, b),
                    low::Checked::Mul => self.b.ins().smul_overflow(a, b),
                };
                self.set(*result, value);
                self.set(*overflow, over);
            }
            Stmt::Store(ty, address, value) => {
                let (base, offset) = self.address(address);
                let value = self.operand(*value);
                debug_assert_eq!(self.b.func.dfg.value_type(value), clif_type(*ty));
                self.b.ins().store(trusted(), value, base, offset);
            }
            Stmt::If(..) | Stmt::Switch(..) => return deep(|| self.branch(stmt)),
            Stmt::Loop(body) => return deep(|| self.repeat(body)),
            Stmt::For(step) => return deep(|| self.count(step)),
            Stmt::Break => {
                if let Some(open) = self.loops.last() {
                    let (exit, carried) = (open.exit, open.carried.clone());
                    let args = self.args(&carried);
                    self.b.ins().jump(exit, &args);
                }
                return false;
            }
            Stmt::Call { results, function, args, site } => {
                self.call(results, *function, args, *site);
            }
            Stmt::Runtime { results, op, args } => self.runtime(results, *op, args),
            Stmt::Raise { error, args, site } => {
                let args: Vec<Value> = args.iter().map(|arg| self.operand(*arg)).collect();
                self.raise(error, &args, *site);
                return false;
            }
            Stmt::Return(values) => {
                self.ret(values);
                return false;
            }
        }
        true
    }

    /// The work that was counted.
    fn worked(&mut self) -> Value {
        self.b.ins().load(I64, trusted(), self.context, runtime::WORK as i32)
    }

    /// Counts work.
    fn work(&mut self, work: Value) {
        let work = match self.lanes {
            Some(_) => {
                let vectors = self.count_vectors() as i64;
                self.b.ins().imul_imm_s(work, vectors)
            }
            None => work,
        };
        let before = self.worked();
        let after = self.b.ins().iadd(before, work);
        self.b.ins().store(trusted(), after, self.context, runtime::WORK as i32);
    }

    /// Counts so many steps of this work.
    fn steps(&mut self, steps: Value, each: u64) {
        let work = self.b.ins().imul_imm_s(steps, each as i64);
        self.work(work);
    }

    pub fn shape(&mut self) -> StmtFacts {
        // There are as many as there are statements that ask, and each asks once, and before that in lanes.
        let found = self.shapes.get_mut(self.next);
        self.next += 1;
        if self.lanes.is_none() {
            return found.map(std::mem::take).unwrap_or_default();
        }
        let mut shape = found.cloned().unwrap_or_default();
        shape.carried = self.widened(&shape.carried);
        shape
    }

    /// `If` and `Switch`.
    fn branch(&mut self, stmt: &Stmt) -> bool {
        let shape = self.shape();
        let lists = stmt.blocks();
        let entries: Vec<Block> = lists
            .iter()
            .map(|list| match list.last() {
                Some(Stmt::Raise { .. }) => self.cold(),
                _ => self.b.create_block(),
            })
            .collect();
        match stmt {
            Stmt::If(condition, ..) => {
                let condition = self.operand(*condition);
                self.b.ins().brif(condition, entries[0], &[], entries[1], &[]);
            }
            Stmt::Switch(on, arms, _) => {
                let on = self.operand(*on);
                let mut switch = Switch::new();
                for ((value, _), entry) in arms.iter().zip(&entries) {
                    if !switch.entries().contains_key(&u128::from(*value as u64)) {
                        switch.set_entry(u128::from(*value as u64), *entry);
                    }
                }
                switch.emit(&mut self.b, on, entries[arms.len()]);
            }
            Stmt::Loop(_)
            | Stmt::For(_)
            | Stmt::Set(..)
            | Stmt::Checked { .. }
            | Stmt::Store(..)
            | Stmt::Break
            | Stmt::Call { .. }
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => {}
        }
        let before: Vec<Option<Value>> =
            shape.carried.iter().map(|reg| self.values[reg.0 as usize]).collect();
        let restore = |this: &mut Self| {
            for (reg, value) in shape.carried.iter().zip(&before) {
                this.values[reg.0 as usize] = *value;
            }
        };
        // The only one whose end is reached goes on without a block of its own.
        let only = match shape.falls.iter().filter(|falls| **falls).count() {
            1 => shape.falls.iter().position(|falls| *falls),
            _ => None,
        };
        let end = self.b.create_block();
        let merges = only.is_none() && shape.falls.contains(&true);
        if merges {
            self.add_params(end, &shape.carried);
        }
        for (i, (list, entry)) in lists.iter().zip(&entries).enumerate() {
            if Some(i) != only {
                self.b.switch_to_block(*entry);
                restore(self);
                self.next = shape.starts[i];
                if self.list(list) {
                    let args = self.args(&shape.carried);
                    self.b.ins().jump(end, &args);
                }
            }
        }
        if let Some(i) = only {
            self.b.switch_to_block(entries[i]);
            restore(self);
            self.next = shape.starts[i];
            self.list(lists[i]);
        } else if merges {
            self.enter(end, &shape.carried);
        }
        self.next = shape.starts[lists.len()];
        only.is_some() || merges
    }

    fn repeat(&mut self, body: &[Stmt]) -> bool {
        let shape = self.shape();
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        self.add_params(head, &shape.carried);
        self.add_params(exit, &shape.carried);
        let args = self.args(&shape.carried);
        self.b.ins().jump(head, &args);
        self.enter(head, &shape.carried);
        self.loops.push(OpenLoop { exit, carried: shape.carried.clone() });
        if self.list(body) {
            let args = self.args(&shape.carried);
            self.b.ins().jump(head, &args);
        }
        self.loops.pop();
        if shape.breaks {
            self.enter(exit, &shape.carried);
            let each = self.plan.conditional.get(&body.as_ptr()).copied();
            if let (Some(each), Some((step, every, _))) = (each, polled(body)) {
                // The others have been counted.
                let step = self.get(step);
                let steps = self.b.ins().band_imm_s(step, every - 1);
                self.steps(steps, each);
            }
        }
        shape.breaks
    }

    fn count(&mut self, step: &low::For) -> bool {
        let shape = self.shape();
        let (from, to) = (self.operand(step.from), self.operand(step.to));
        let Some(rest) = self.in_outer_lanes(step, &shape, from, to) else {
            self.count_from(step, &shape, from, to);
            return true;
        };
        let around = std::mem::replace(&mut self.rest, true);
        self.count_from(step, &shape, rest, to);
        self.rest = around;
        true
    }

    /// The steps of a loop from one on, one by one or in the lanes of an innermost loop.
    fn count_from(&mut self, step: &low::For, shape: &StmtFacts, from: Value, to: Value) {
        if step.every == 0 {
            self.count_steps(step, from, to);
            return self.strip(step, shape, from, to);
        }
        let (head, exit) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(head, I64);
        self.add_params(head, &shape.carried);
        self.add_params(exit, &shape.carried);
        let any = self.b.ins().icmp(IntCC::SignedLessThan, from, to);
        let args = self.args(&shape.carried);
        let first: Vec<BlockArg> = [from.into()].into_iter().chain(args.iter().copied()).collect();
        self.b.ins().brif(any, head, &first, exit, &args);
        self.enter(head, &shape.carried);
        let start = self.b.block_params(head)[0];
        let every = match step.reductions[..] {
            [] => step.every,
            [_, ..] => step.every.min(SUMMED),
        };
        let every = self.b.ins().iconst(I64, every);
        let left = self.b.ins().isub(to, start);
        let steps = self.b.ins().smin(left, every);
        let end = self.b.ins().iadd(start, steps);
        self.count_steps(step, start, end);
        let sums = self.widened_sums(&step.reductions);
        let before: Vec<Value> = sums.iter().map(|(sum, _)| self.get(*sum)).collect();
        for (sum, how) in &sums {
            let neutral = self.neutral(*sum, *how);
            self.set(*sum, neutral);
        }
        self.strip(step, shape, start, end);
        for ((sum, how), before) in sums.iter().zip(before) {
            let own = self.get(*sum);
            let both = self.combine(*how, before, own);
            self.set(*sum, both);
        }
        let args = self.args(&shape.carried);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, end, to);
        let (poll, stop) = (self.b.create_block(), self.cold());
        self.b.ins().brif(more, poll, &[], exit, &args);
        self.b.switch_to_block(poll);
        let stopped = self.poll();
        let next: Vec<BlockArg> = [end.into()].into_iter().chain(args).collect();
        self.b.ins().brif(stopped, stop, &[], head, &next);
        self.b.switch_to_block(stop);
        self.raise(&Raise::Stopped, &[], step.site);
        self.enter(exit, &shape.carried);
    }

    /// Counts the steps of a loop, if its work is counted.
    pub fn count_steps(&mut self, step: &low::For, from: Value, to: Value) {
        let Some(each) = self.plan.loops.get(&std::ptr::from_ref(step)).copied() else { return };
        let steps = self.b.ins().isub(to, from);
        let none = self.b.ins().iconst(I64, 0);
        let steps = self.b.ins().smax(steps, none);
        let most = self.b.ins().iconst(I64, MOST_STEPS);
        let steps = self.b.ins().smin(steps, most);
        self.steps(steps, each);
    }

    /// The steps of a loop, without polls.
    fn strip(&mut self, step: &low::For, shape: &StmtFacts, from: Value, to: Value) {
        let from = self.in_lanes(step, shape, from, to).unwrap_or(from);
        let (body, exit) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(body, I64);
        self.add_params(body, &shape.carried);
        self.add_params(exit, &shape.carried);
        let any = self.b.ins().icmp(IntCC::SignedLessThan, from, to);
        let args = self.args(&shape.carried);
        let first: Vec<BlockArg> = [from.into()].into_iter().chain(args.iter().copied()).collect();
        self.b.ins().brif(any, body, &first, exit, &args);
        self.enter(body, &shape.carried);
        let index = self.b.block_params(body)[0];
        self.set(step.index, index);
        if self.list(&step.body) {
            let one = self.b.ins().iconst(I64, 1);
            let next = self.b.ins().iadd(index, one);
            let more = self.b.ins().icmp(IntCC::SignedLessThan, next, to);
            let args = self.args(&shape.carried);
            let next: Vec<BlockArg> =
                [next.into()].into_iter().chain(args.iter().copied()).collect();
            self.b.ins().brif(more, body, &next, exit, &args);
        }
        self.enter(exit, &shape.carried);
        // It has no value any more.
        self.values[step.index.0 as usize] = None;
    }

    /// Whether the run is to end.
    pub fn poll(&mut self) -> Value {
        // An atomic load, because another thread writes the word: it is not moved out of loops.
        let offset = self.b.ins().iconst(I64, runtime::STACK_END);
        let address = self.b.ins().iadd(self.context, offset);
        let end = self.b.ins().atomic_load(I64, trusted(), address);
        let ask = self.b.ins().iconst(I64, runtime::ASK as i64);
        let due = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, end, ask);
        let (asks, go_on) = (self.cold(), self.b.create_block());
        self.b.append_block_param(go_on, I8);
        let no = self.b.ins().iconst(I8, 0);
        self.b.ins().brif(due, asks, &[], go_on, &[no.into()]);
        self.b.switch_to_block(asks);
        let stop = self.call_runtime(&runtime::function(Runtime::Poll), &[]);
        let zero = self.b.ins().iconst(I64, 0);
        let stop = self.b.ins().icmp(IntCC::NotEqual, stop.unwrap_or(zero), zero);
        self.b.ins().jump(go_on, &[stop.into()]);
        self.b.switch_to_block(go_on);
        self.b.block_params(go_on)[0]
    }
}

/// The name of a function in Cranelift's text.
pub(super) fn name(index: u32) -> ir::UserFuncName {
    ir::UserFuncName::user(0, index)
}
