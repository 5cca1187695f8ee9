//! Outer-loop vectorisation: a loop around short loops is done for several steps at once, each in a lane, as
//! `low/lanes.rs` plans it.
//!
//! Values that the steps have in common stay numbers; others become several vectors of two lanes. A branch that only some
//! lanes take is computed by all, and its results are selected. Arrays that a step makes for itself have the elements of
//! all lanes side by side. The last steps, fewer than there are lanes, are done one by one.
//!
//! The vectors of a register are registers behind those of the function, so that loops and branches within carry them as
//! they carry others.

mod expr;
mod memory;

use super::expr::zero;
use super::function::FunctionTranslator;
use super::lanes;
use super::scope::StmtFacts;
use crate::low::facts::facts;
use crate::low::lanes::{
    has_instruction, plans, LaneClass, LanePlan, LaneTarget, Plans, BLOCK, ROW,
};
use crate::low::opt::scratch;
use crate::low::{
    Expr, For, LowFunction, LowModule, LowTy, Operand, Raise, Reg, Runtime, Stmt, NOWHERE,
};
use crate::memory::neutral;
use crate::runtime;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, F64X2, I64, I64X2};
use cranelift_codegen::ir::{
    Block, BlockArg, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Type, Value,
};
use diffeo_array::ir::Reduction;
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;
use std::rc::Rc;

/// The number of lanes, and of partial sums, of loops that are not long: several vectors hide the latency of additions.
const LANES: u32 = 8;

/// Lanes of this back end.
fn target(eager: bool) -> LaneTarget {
    let others: fn(&For) -> bool = if eager { lanes::fits } else { |_| true };
    LaneTarget {
        sums: LANES,
        inner_sums: LANES,
        parts: 1,
        short: true,
        wide: false,
        eager,
        has: |op| has_instruction(op) || crate::math::is_straight(op),
        // Others that have no loops in them take too long to compile for what they gain.
        elsewhere: Some(others),
    }
}

/// The loops of a function that are done in lanes.
pub(super) fn planned(module: &LowModule, function: &LowFunction, eager: bool) -> Plans {
    // Most functions have no loop, or one without loops and branches.
    fn may(stmt: &Stmt) -> bool {
        match stmt {
            Stmt::For(step) => step.separate && !lanes::fits(step) || step.body.iter().any(may),
            stmt => diffeo_base::deep(|| stmt.blocks().into_iter().flatten().any(may)),
        }
    }
    match function.body.iter().any(may) {
        true => plans(module, function, &facts(function).once, &target(eager)),
        false => Plans::new(),
    }
}

/// The operations of loops within loops in lanes, which become functions of vectors, each once.
pub(super) fn operations(module: &LowModule, plans: &[Plans]) -> Vec<RealOp> {
    let mut found = Vec::new();
    for (function, plans) in module.functions.iter().zip(plans) {
        let mut pending = match plans.is_empty() {
            true => Vec::new(),
            false => vec![(&function.body[..], 0)],
        };
        while let Some((stmts, depth)) = pending.pop() {
            for stmt in stmts {
                let depth = match stmt {
                    Stmt::Set(_, Expr::Math(op, ..)) if depth > 1 && !found.contains(op) => {
                        found.extend(crate::math::is_straight(*op).then_some(*op));
                        continue;
                    }
                    Stmt::For(step)
                        if depth > 0 || plans.contains_key(&std::ptr::from_ref(&**step)) =>
                    {
                        depth + 1
                    }
                    _ => depth,
                };
                pending.extend(stmt.blocks().into_iter().map(|list| (list, depth)));
            }
        }
    }
    found
}

/// The lanes of the open loop.
pub(super) struct OpenLanes {
    plan: Rc<LanePlan>,
    /// The lanes that are here, if not all are.
    mask: Option<Vec<Value>>,
    /// Of each row, whether it was copied.
    copied: Vec<Value>,
    /// The slots of the copies.
    rows: Vec<StackSlot>,
    /// The slots with the addresses of blocks that are made once for all steps.
    kept: HashMap<Reg, StackSlot>,
    /// The first of the vectors of a register.
    first: HashMap<Reg, u32>,
    /// The slot that lanes read and write which are not here.
    nowhere: Option<StackSlot>,
}

/// The vector type of registers.
fn packed(ty: LowTy) -> Type {
    match ty {
        LowTy::Real => F64X2,
        LowTy::Int | LowTy::Ptr | LowTy::Bool => I64X2,
    }
}

impl FunctionTranslator<'_, '_> {
    /// The plan of a loop that is to be done in lanes.
    pub(super) fn lane_plan(&self, step: &For) -> Option<Rc<LanePlan>> {
        match self.lanes {
            Some(_) => None,
            None => self.lane_plans.get(&std::ptr::from_ref(step)).map(|(_, plan)| plan.clone()),
        }
    }

    /// The registers of the vectors of a register, if it has vectors.
    fn vectors(&self, reg: Reg) -> Option<impl Iterator<Item = Reg>> {
        let lanes = self.lanes.as_ref()?;
        let first = *lanes.first.get(&reg)?;
        Some((first..first + lanes.plan.width / 2).map(Reg))
    }

    /// The number of vectors for a value of each lane.
    pub(super) fn count_vectors(&self) -> usize {
        self.lanes.as_ref().map_or(1, |lanes| lanes.plan.width as usize / 2)
    }

    /// Registers as they are in the lanes.
    pub(super) fn widened(&self, regs: &[Reg]) -> Vec<Reg> {
        let mut wide = Vec::with_capacity(regs.len());
        for reg in regs {
            match self.vectors(*reg) {
                Some(vectors) => wide.extend(vectors),
                None => wide.push(*reg),
            }
        }
        wide
    }

    /// Reduced registers as they are in the lanes.
    pub(super) fn widened_sums(&self, sums: &[(Reg, Reduction)]) -> Vec<(Reg, Reduction)> {
        let wide = |(reg, how): &(Reg, Reduction)| {
            self.widened(&[*reg]).into_iter().map(|reg| (reg, *how)).collect::<Vec<_>>()
        };
        sums.iter().flat_map(wide).collect()
    }

    /// The start of a reduced register.
    pub(super) fn neutral(&mut self, reg: Reg, how: Reduction) -> Value {
        let value = self.b.ins().f64const(neutral(how));
        match self.ty(reg) {
            F64X2 => self.b.ins().splat(F64X2, value),
            _ => value,
        }
    }

    /// Makes a stack slot of a size in bytes.
    fn slot(&mut self, bytes: i64) -> StackSlot {
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, 4);
        self.b.create_sized_stack_slot(slot)
    }

    /// Emits the part of a loop that is done in lanes; gives the first index that is left to the rest.
    pub(super) fn in_outer_lanes(
        &mut self,
        step: &For,
        shape: &StmtFacts,
        from: Value,
        to: Value,
    ) -> Option<Value> {
        let plan = self.lane_plan(step)?;
        let width = i64::from(plan.width);
        let body_shapes = self.next;
        let length = self.b.ins().isub(to, from);
        let whole = self.b.ins().band_imm_s(length, -width);
        let none = self.b.ins().iconst(I64, 0);
        let mut any = self.b.ins().icmp(IntCC::SignedGreaterThan, whole, none);
        // Blocks that are large for one lane are left as they are.
        for factors in &plan.sizes {
            let mut size = self.b.ins().iconst(I64, 1);
            for factor in factors {
                let factor = self.operand(*factor);
                size = self.b.ins().imul(size, factor);
            }
            let most = self.b.ins().iconst(I64, BLOCK);
            let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, size, most);
            any = self.b.ins().band(any, fits);
        }
        let end = self.b.ins().iadd(from, whole);
        let [entry, body, done, exit]: [Block; 4] = std::array::from_fn(|_| self.b.create_block());
        self.b.append_block_param(exit, I64);
        plan.reduced.iter().for_each(|_| _ = self.b.append_block_param(exit, F64));
        let before: Vec<Value> = plan.reduced.iter().map(|reg| self.get(*reg)).collect();
        let skipped: Vec<BlockArg> =
            [from].into_iter().chain(before.iter().copied()).map(BlockArg::from).collect();
        self.b.ins().brif(any, entry, &[], exit, &skipped);

        self.b.switch_to_block(entry);
        self.count_steps(step, from, end);
        self.open_lanes(&plan);
        let sums = self.widened_sums(&step.reductions);
        for (reg, how) in &sums {
            let neutral = self.neutral(*reg, *how);
            self.set(*reg, neutral);
        }
        let carried = self.widened(&shape.carried);
        self.b.append_block_param(body, I64);
        self.add_params(body, &carried);
        let first: Vec<BlockArg> = [from.into()].into_iter().chain(self.args(&carried)).collect();
        self.b.ins().jump(body, &first);
        self.enter(body, &carried);
        let index = self.b.block_params(body)[0];
        self.set(step.index, index);
        self.copy_rows(step.index, &plan);
        self.list(&step.body);
        let next = self.b.ins().iadd_imm_s(index, width);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        let again: Vec<BlockArg> = [next.into()].into_iter().chain(self.args(&carried)).collect();
        match step.every {
            0 => _ = self.b.ins().brif(more, body, &again, done, &[]),
            _ => {
                let (poll, stop) = (self.b.create_block(), self.cold());
                self.b.ins().brif(more, poll, &[], done, &[]);
                self.b.switch_to_block(poll);
                let stopped = self.poll();
                self.b.ins().brif(stopped, stop, &[], body, &again);
                self.b.switch_to_block(stop);
                self.raise(&Raise::Stopped, &[], step.site);
            }
        }

        self.b.switch_to_block(done);
        let mut left = vec![BlockArg::from(end)];
        for ((reg, how), before) in step.reductions.iter().zip(before) {
            let lanes: Vec<Value> =
                self.widened(&[*reg]).into_iter().map(|reg| self.get(reg)).collect();
            let sum = self.all_lanes(*how, lanes);
            left.push(self.combine(*how, before, sum).into());
        }
        let kept: Vec<StackSlot> = match self.lanes.take() {
            Some(lanes) => plan.kept.iter().filter_map(|r| lanes.kept.get(r).copied()).collect(),
            None => Vec::new(),
        };
        if let Some(release) = scratch::release_of(self.env.module) {
            let block = self.register(I64);
            for slot in kept {
                let address = self.b.ins().stack_load(I64, I64, slot, 0);
                self.set(block, address);
                self.call(&[], release, &[Operand::Reg(block)], NOWHERE);
            }
        }
        let registers = self.function.registers.len();
        self.types.clear();
        self.values.truncate(registers);
        self.b.ins().jump(exit, &left);
        self.b.switch_to_block(exit);
        let params = self.b.block_params(exit).to_vec();
        for (reg, value) in plan.reduced.iter().zip(&params[1..]) {
            self.set(*reg, *value);
        }
        self.next = body_shapes;
        Some(params[0])
    }

    /// A register behind those of the function.
    fn register(&mut self, ty: Type) -> Reg {
        self.types.push(ty);
        self.values.push(None);
        Reg(self.values.len() as u32 - 1)
    }

    /// Begins the code of lanes.
    fn open_lanes(&mut self, plan: &Rc<LanePlan>) {
        let mut first = HashMap::new();
        for (reg, class) in &plan.classes {
            if *class == LaneClass::Varying {
                let ty = packed(self.function.registers[reg.0 as usize]);
                first.insert(*reg, self.values.len() as u32);
                (0..plan.width / 2).for_each(|_| _ = self.register(ty));
            }
        }
        let mut kept = HashMap::new();
        for reg in &plan.kept {
            let slot = self.slot(16);
            let null = self.b.ins().iconst(I64, 0);
            self.b.ins().stack_store(I64, null, slot, 0);
            kept.insert(*reg, slot);
        }
        let size = 8 * ROW * i64::from(plan.width);
        let rows = plan.rows.iter().map(|_| self.slot(size)).collect();
        self.lanes = Some(OpenLanes {
            plan: plan.clone(),
            mask: None,
            copied: Vec::new(),
            rows,
            kept,
            first,
            nowhere: None,
        });
    }

    /// Reduces all lanes to one number: the upper half is combined with the lower one, again and again.
    fn all_lanes(&mut self, how: Reduction, mut vectors: Vec<Value>) -> Value {
        while vectors.len() > 1 {
            let upper = vectors.split_off(vectors.len() / 2);
            for (low, high) in vectors.iter_mut().zip(upper) {
                *low = self.combine(how, *low, high);
            }
        }
        let [first, second] = [0, 1].map(|lane| self.b.ins().extractlane(vectors[0], lane));
        self.combine(how, first, second)
    }

    /// Emits a statement in lanes; not if all lanes have it in common.
    pub(super) fn lane_stmt(&mut self, stmt: &Stmt) -> bool {
        let Some(lanes) = &self.lanes else { return false };
        let plan = lanes.plan.clone();
        match stmt {
            Stmt::Set(register, _) if plan.added.contains_key(register) => true,
            Stmt::Store(_, address, Operand::Reg(sum)) if plan.added.contains_key(sum) => {
                if let Some(value) = plan.added[sum] {
                    self.lane_add(address, value, &plan);
                }
                true
            }
            Stmt::Set(register, expr) => match plan.class(Operand::Reg(*register)) {
                LaneClass::Varying => {
                    let vectors = self.lane_expr(*register, expr, &plan);
                    self.set_lanes(*register, vectors);
                    true
                }
                LaneClass::Inside => match expr {
                    Expr::Offset(address) if plan.class(address.base) == LaneClass::Inside => {
                        let (base, offset) = self.own(address, &plan);
                        let value = self.b.ins().iadd_imm_s(base, i64::from(offset));
                        self.set(*register, value);
                        true
                    }
                    // The beginning of the data, or a copy.
                    _ => false,
                },
                LaneClass::Uniform | LaneClass::Linear(_) | LaneClass::Block => false,
            },
            Stmt::Store(ty, address, value) => {
                self.lane_store(*ty, address, *value, &plan);
                true
            }
            Stmt::If(on, then, otherwise) if plan.class(*on) != LaneClass::Uniform => {
                self.diverge(stmt, *on, [then, otherwise]);
                true
            }
            Stmt::Runtime { results, op: Runtime::Array, args } => {
                results.iter().for_each(|r| self.make_block(*r, args, &plan));
                true
            }
            Stmt::Call { args, .. } => match args[..] {
                // Blocks that are kept are released behind the loop.
                [Operand::Reg(r)] => plan.kept.contains(&r),
                _ => false,
            },
            Stmt::If(..)
            | Stmt::Checked { .. }
            | Stmt::Switch(..)
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::For(_)
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => false,
        }
    }

    /// Gives the lanes that are here a value.
    fn set_lanes(&mut self, register: Reg, vectors: Vec<Value>) {
        let own = self.widened(&[register]);
        let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
        for (i, (reg, mut value)) in own.into_iter().zip(vectors).enumerate() {
            // A register without a value yet is read by the lanes that are here alone.
            if let (Some(mask), Some(old)) = (&mask, self.values[reg.0 as usize]) {
                value = self.select_packed(mask[i], value, old);
            }
            self.set(reg, value);
        }
    }

    /// Both arms of a branch that some lanes take.
    fn diverge(&mut self, stmt: &Stmt, on: Operand, arms: [&[Stmt]; 2]) {
        let shape = self.shape();
        let on = self.wide(on, LowTy::Bool);
        let around = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
        for (i, arm) in arms.into_iter().enumerate() {
            self.next = shape.starts[i];
            if arm.is_empty() {
                continue;
            }
            let mut mask = on.clone();
            for (k, lanes) in mask.iter_mut().enumerate() {
                if i == 1 {
                    *lanes = self.b.ins().bnot(*lanes);
                }
                if let Some(around) = &around {
                    *lanes = self.b.ins().band(*lanes, around[k]);
                }
            }
            self.under(Some(mask));
            diffeo_base::deep(|| self.list(arm));
        }
        self.under(around);
        self.next = shape.starts[stmt.blocks().len()];
    }

    fn under(&mut self, mask: Option<Vec<Value>>) {
        if let Some(lanes) = &mut self.lanes {
            lanes.mask = mask;
        }
    }

    /// A block with room for the data of all lanes, or the one that was made before.
    fn make_block(&mut self, register: Reg, args: &[Operand], plan: &LanePlan) {
        let kept = self.lanes.as_ref().and_then(|lanes| lanes.kept.get(&register).copied());
        let [make, end] = [(); 2].map(|()| self.b.create_block());
        self.b.append_block_param(end, I64);
        match kept {
            Some(slot) => {
                let before = self.b.ins().stack_load(I64, I64, slot, 0);
                self.b.ins().brif(before, end, &[before.into()], make, &[]);
            }
            None => _ = self.b.ins().jump(make, &[]),
        }
        self.b.switch_to_block(make);
        let [layout, bytes] = [args[0], args[1]].map(|arg| self.operand(arg));
        // More than there is stays too much.
        let most = self.b.ins().iconst(I64, i64::MAX / 64);
        let bytes = self.b.ins().umin(bytes, most);
        let bytes = self.b.ins().imul_imm_s(bytes, i64::from(plan.width));
        let block = self.call_runtime(&runtime::function(Runtime::Array), &[layout, bytes]);
        let block = block.unwrap_or_else(|| zero(&mut self.b, I64));
        if let Some(slot) = kept {
            self.b.ins().stack_store(I64, block, slot, 0);
        }
        self.b.ins().jump(end, &[block.into()]);
        self.b.switch_to_block(end);
        let block = self.b.block_params(end)[0];
        self.set(register, block);
    }
}
