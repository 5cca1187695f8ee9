//! Outer-loop vectorisation: a loop around short loops is done for several steps at once, each in a lane of vectors.
//!
//! LLVM does this to innermost loops only. What the steps have in common stays a number; what differs is a vector. A
//! branch that only some lanes take is computed by all, and its results are selected. The last steps, fewer than there
//! are lanes, are done under a mask. Arrays that a step makes for itself have the elements of all lanes side by side,
//! so that they are read and written as vectors. Where there are few steps, the loop runs as it is.

mod add;
mod blocks;

use super::{llvm_type, real, Emitter};
use crate::low::lanes::{self, LaneClass, LanePlan, LaneTarget, Stride, BLOCK, ROW};
use crate::low::{Address, Binary, Compare, Expr, For, LowTy, Operand, Reg, Runtime, Stmt, Unary};
use crate::runtime;
use diffeo_calculus::prim::{RealOp, Rounding};
use std::fmt::Write;
use std::rc::Rc;

/// Lanes of this back end. The number of sums is the same on every processor, so that digits are.
pub(super) fn target(wide: bool, eager: bool) -> LaneTarget {
    LaneTarget {
        sums: 16,
        inner_sums: 8,
        parts: 4,
        short: false,
        wide,
        eager,
        has: lanes::has_instruction,
        elsewhere: None,
    }
}

/// The lanes of the open loop.
pub(super) struct Lanes {
    plan: Rc<LanePlan>,
    /// The numbers of the lanes.
    numbers: String,
    /// The lanes that are here.
    mask: String,
    /// Whether all are here.
    whole: bool,
    /// Whether these are not all that have a step.
    divergent: bool,
    /// The part of the sums.
    part: u32,
    /// Of each row, whether it was copied.
    copied: Vec<String>,
}

impl Lanes {
    /// The stack slot of a register of all lanes.
    fn slot(&self, register: Reg) -> String {
        let part = if self.plan.reduced.contains(&register) { self.part } else { 0 };
        slot(&self.plan, register, part)
    }
}

/// The stack slot of a register of all lanes, of a part of the sums.
fn slot(plan: &LanePlan, register: Reg, part: u32) -> String {
    format!("%w{}.{}.{part}", plan.number, register.0)
}

impl Emitter<'_, '_> {
    /// Allocates stack slots for the lanes of registers that are set several times, and for copies.
    pub(super) fn room_for_lanes(&mut self) {
        let mut plans: Vec<Rc<LanePlan>> =
            self.plans.values().map(|(_, plan)| plan.clone()).collect();
        plans.sort_unstable_by_key(|plan| plan.number);
        for plan in plans {
            let mut registers: Vec<Reg> = plan.classes.keys().copied().collect();
            registers.sort_unstable();
            for r in registers {
                if plan.classes[&r] == LaneClass::Varying && !self.facts.once[r.0 as usize] {
                    let reduced = plan.reduced.contains(&r);
                    let width = if reduced { plan.sums } else { plan.width };
                    let ty = vector(width, self.ty(r));
                    for part in 0..if reduced { plan.parts } else { 1 } {
                        let slot = slot(&plan, r, part);
                        let _ = writeln!(self.out, "  {slot} = alloca {ty}, align 64");
                    }
                }
            }
            for r in &plan.kept {
                let _ = writeln!(self.out, "  %k{}.{} = alloca ptr", plan.number, r.0);
            }
            if plan.scatters {
                let n = plan.number;
                for (what, ty) in [("at", LowTy::Ptr), ("value", LowTy::Real)] {
                    let ty = vector(plan.width, ty);
                    let _ = writeln!(self.out, "  %{what}{n} = alloca {ty}, align 64");
                }
            }
            for (i, row) in plan.rows.iter().enumerate() {
                let (n, ty) = (plan.number, vector(plan.width, row.ty));
                let _ = writeln!(self.out, "  %row{n}.{i} = alloca [{ROW} x {ty}], align 64");
            }
        }
    }

    /// Emits a loop in lanes, and as it is for few steps.
    pub(super) fn in_lanes(&mut self, step: &For, plan: &Rc<LanePlan>) {
        let (from, to) = (self.operand(step.from), self.operand(step.to));
        let steps = self.compute(format_args!("sub i64 {to}, {from}"));
        let mut many = self.compute(format_args!("icmp sge i64 {steps}, {}", plan.least));
        // Blocks that are large for one lane are left as they are.
        for factors in plan.sizes.iter().filter(|_| plan.least > 1) {
            let mut size = "1".to_string();
            for factor in factors {
                let factor = self.operand(*factor);
                size = self.compute(format_args!("mul i64 {size}, {factor}"));
            }
            let fits = self.compute(format_args!("icmp ule i64 {size}, {BLOCK}"));
            many = self.compute(format_args!("and i1 {many}, {fits}"));
        }
        let [lanes, end] = [(); 2].map(|()| self.label());
        if plan.least == 1 {
            self.line(format_args!("br i1 {many}, label %{lanes}, label %{end}"));
            self.begin(lanes);
            self.blocks_of_lanes(step, plan, &from, &to);
            self.jump(&end);
            return self.begin(end);
        }
        let plain = self.label();
        self.line(format_args!("br i1 {many}, label %{lanes}, label %{plain}"));
        self.begin(lanes);
        self.blocks_of_lanes(step, plan, &from, &to);
        self.jump(&end);
        self.begin(plain);
        let around = std::mem::replace(&mut self.plain, true);
        self.count(step);
        self.plain = around;
        self.jump(&end);
        self.begin(end);
    }

    /// Copies the elements that the lanes read often, so that those of all lanes lie together.
    fn copy_rows(&mut self, index: Reg) {
        let Some(plan) = self.lanes.as_ref().map(|lanes| lanes.plan.clone()) else { return };
        for (i, row) in plan.rows.iter().enumerate() {
            let count = self.operand(row.count);
            let mut fits = self.compute(format_args!("icmp sle i64 {count}, {ROW}"));
            for steps in &row.loops {
                let steps = self.operand(*steps);
                let some = self.compute(format_args!("icmp sgt i64 {steps}, 0"));
                fits = self.compute(format_args!("and i1 {fits}, {some}"));
            }
            // They may be loads, which have to stand before the branch.
            let first = self.operand(Operand::Reg(index));
            let stride = self.operand(Operand::Reg(row.stride));
            let [copy, end] = [(); 2].map(|()| self.label());
            let before = self.block.clone().unwrap_or_default();
            self.line(format_args!("br i1 {fits}, label %{copy}, label %{end}"));
            self.begin(copy.clone());
            let (column, next) = (self.name(), self.name());
            self.line(format_args!("{column} = phi i64 [ 0, %{before} ], [ {next}, %{copy} ]"));
            let start = self.compute(format_args!("mul i64 {first}, {stride}"));
            let start = self.compute(format_args!("add i64 {start}, {column}"));
            let indices = self.linear(&start, Stride::Times(row.stride));
            let base = self.operand(row.base);
            let at = self.addresses(&base, 8, &indices, row.offset);
            let value = self.gather(row.ty, &at);
            let ty = vector(plan.width, row.ty);
            let to = self.compute(format_args!(
                "getelementptr inbounds {ty}, ptr %row{}.{i}, i64 {column}",
                plan.number
            ));
            self.line(format_args!("store {ty} {value}, ptr {to}, align 64"));
            self.line(format_args!("{next} = add nsw i64 {column}, 1"));
            let again = self.compute(format_args!("icmp slt i64 {next}, {count}"));
            self.line(format_args!("br i1 {again}, label %{copy}, label %{end}"));
            self.begin(end);
            if let Some(lanes) = &mut self.lanes {
                lanes.copied.push(fits);
            }
        }
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
            Stmt::Set(register, expr)
                if plan.reduced.contains(register) && plan.width > plan.sums =>
            {
                self.add_up(*register, expr, &plan);
                true
            }
            Stmt::Set(register, expr) => match plan.class(Operand::Reg(*register)) {
                LaneClass::Varying => {
                    let value = self.lane_expr(*register, expr, &plan);
                    self.set_lanes(*register, value, &plan);
                    true
                }
                LaneClass::Inside => {
                    let value = self.inside(expr, &plan);
                    self.set(*register, value);
                    true
                }
                LaneClass::Uniform | LaneClass::Linear(_) | LaneClass::Block => false,
            },
            Stmt::Store(ty, address, value) => {
                self.lane_store(*ty, address, *value, &plan);
                true
            }
            Stmt::If(on, then, otherwise) if plan.class(*on) != LaneClass::Uniform => {
                self.diverge(*on, then, otherwise);
                true
            }
            Stmt::Runtime { results, op: Runtime::Array, args } => {
                results.iter().for_each(|r| self.make_block(*r, args, &plan));
                true
            }
            Stmt::Call { args, .. } => match args[..] {
                // It is released behind the loop.
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

    /// A block with room for the data of all lanes, or the one that was made before.
    fn make_block(&mut self, register: Reg, args: &[Operand], plan: &LanePlan) {
        let kept = plan.kept.contains(&register);
        let slot = format!("%k{}.{}", plan.number, register.0);
        let [make, end] = [(); 2].map(|()| self.label());
        if kept {
            let before = self.compute(format_args!("load ptr, ptr {slot}"));
            let none = self.compute(format_args!("icmp eq ptr {before}, null"));
            self.line(format_args!("br i1 {none}, label %{make}, label %{end}"));
            self.begin(make);
        }
        // More than there is stays too much.
        let bytes = self.operand(args[1]);
        let most = format!("i64 {bytes}, i64 {}", i64::MAX / 64);
        let bytes = self.intrinsic("", "i64", "llvm.umin.i64", "i64, i64", &most);
        let bytes = self.compute(format_args!("mul i64 {bytes}, {}", plan.width));
        let layout = self.operand(args[0]);
        let name = self.import(runtime::function(Runtime::Array));
        let mut block =
            self.compute(format_args!("call ptr @{name}(ptr %context, i64 {layout}, i64 {bytes})"));
        if kept {
            self.line(format_args!("store ptr {block}, ptr {slot}"));
            self.jump(&end);
            self.begin(end);
            block = self.compute(format_args!("load ptr, ptr {slot}"));
        }
        self.set(register, block);
    }

    /// Both arms of a branch that some lanes take.
    fn diverge(&mut self, on: Operand, then: &[Stmt], otherwise: &[Stmt]) {
        let on = self.wide(on);
        let Some(lanes) = &mut self.lanes else { return };
        let bools = vector(lanes.plan.width, LowTy::Bool);
        let ones = all(lanes.plan.width, LowTy::Bool, "true");
        let around = (lanes.mask.clone(), std::mem::replace(&mut lanes.divergent, true));
        let mask = around.0.clone();
        let first = self.compute(format_args!("and {bools} {mask}, {on}"));
        self.under(first);
        self.list(then);
        if !otherwise.is_empty() {
            let not = self.compute(format_args!("xor {bools} {on}, {ones}"));
            let second = self.compute(format_args!("and {bools} {mask}, {not}"));
            self.under(second);
            self.list(otherwise);
        }
        if let Some(lanes) = &mut self.lanes {
            (lanes.mask, lanes.divergent) = around;
        }
    }

    fn under(&mut self, mask: String) {
        if let Some(lanes) = &mut self.lanes {
            lanes.mask = mask;
        }
    }

    /// Gives the lanes that are here a value.
    fn set_lanes(&mut self, register: Reg, value: String, plan: &LanePlan) {
        let i = register.0 as usize;
        if self.facts.once[i] {
            self.values[i] = value;
            return;
        }
        let Some(lanes) = &self.lanes else { return };
        let mask = lanes.mask.clone();
        let some = lanes.divergent || lanes.plan.reduced.contains(&register) && !lanes.whole;
        let slot = lanes.slot(register);
        let ty = vector(plan.width, self.ty(register));
        let mut value = value;
        if some {
            let bools = vector(plan.width, LowTy::Bool);
            let old = self.compute(format_args!("load {ty}, ptr {slot}"));
            value = self.compute(format_args!("select {bools} {mask}, {ty} {value}, {ty} {old}"));
        }
        self.line(format_args!("store {ty} {value}, ptr {slot}"));
    }

    /// A number for all lanes.
    fn splat(&mut self, width: u32, ty: LowTy, value: &str) -> String {
        let (lanes, one) = (vector(width, ty), llvm_type(ty));
        let first =
            self.compute(format_args!("insertelement {lanes} poison, {one} {value}, i64 0"));
        self.compute(format_args!(
            "shufflevector {lanes} {first}, {lanes} poison, <{width} x i32> zeroinitializer"
        ))
    }

    /// The Ints that grow from lane to lane.
    fn linear(&mut self, first: &str, stride: Stride) -> String {
        let Some(lanes) = &self.lanes else { return String::new() };
        let (width, numbers) = (lanes.plan.width, lanes.numbers.clone());
        let ints = vector(width, LowTy::Int);
        let by = match stride {
            Stride::By(n) => all(width, LowTy::Int, &n.to_string()),
            Stride::Times(register) => {
                let stride = self.operand(Operand::Reg(register));
                self.splat(width, LowTy::Int, &stride)
            }
        };
        let steps = self.compute(format_args!("mul {ints} {numbers}, {by}"));
        let first = self.splat(width, LowTy::Int, first);
        self.compute(format_args!("add {ints} {first}, {steps}"))
    }

    /// An operand of all lanes.
    fn wide(&mut self, operand: Operand) -> String {
        let Some(lanes) = &self.lanes else { return String::new() };
        let (width, class) = (lanes.plan.width, lanes.plan.class(operand));
        let ty = self.operand_ty(operand);
        match (operand, class) {
            (Operand::Reg(register), LaneClass::Varying) => {
                let i = register.0 as usize;
                if self.facts.once[i] {
                    return self.values[i].clone();
                }
                let slot = lanes.slot(register);
                self.compute(format_args!("load {}, ptr {slot}", vector(width, ty)))
            }
            (_, LaneClass::Linear(stride)) => {
                let first = self.operand(operand);
                self.linear(&first, stride)
            }
            (Operand::Int(_) | Operand::Real(_) | Operand::Bool(_), _) => {
                let value = self.operand(operand);
                all(width, ty, &value)
            }
            _ => {
                let value = self.operand(operand);
                self.splat(width, ty, &value)
            }
        }
    }

    /// An address in a block of the loop's own.
    fn inside(&mut self, expr: &Expr, plan: &LanePlan) -> String {
        match expr {
            Expr::Offset(address) if plan.class(address.base) == LaneClass::Inside => {
                self.own(address, plan)
            }
            expr => {
                // The beginning of the data, or a copy.
                match expr {
                    Expr::Offset(address) => self.address(address, false),
                    Expr::Copy(a) => self.operand(*a),
                    _ => String::new(),
                }
            }
        }
    }

    /// The address of the elements of all lanes, at an index that they share.
    fn own(&mut self, address: &Address, plan: &LanePlan) -> String {
        let base = self.operand(address.base);
        let index = self.operand(address.index);
        let unit = if address.scale == 8 { "i64" } else { "i8" };
        let width = plan.width;
        let at = self.compute(format_args!(
            "getelementptr inbounds <{width} x {unit}>, ptr {base}, i64 {index}"
        ));
        match address.offset {
            0 => at,
            offset => self.at(&at, offset * i64::from(width)),
        }
    }

    /// An address for each lane.
    fn addresses(&mut self, base: &str, scale: u8, indices: &str, offset: i64) -> String {
        let Some(lanes) = &self.lanes else { return String::new() };
        let width = lanes.plan.width;
        let unit = if scale == 8 { "double" } else { "i8" };
        let at = self
            .compute(format_args!("getelementptr {unit}, ptr {base}, <{width} x i64> {indices}"));
        if offset == 0 {
            return at;
        }
        self.compute(format_args!("getelementptr i8, <{width} x ptr> {at}, i64 {offset}"))
    }

    /// Where the lanes find their elements: one address behind which they lie side by side, or one for each.
    fn places(&mut self, address: &Address, plan: &LanePlan) -> LaneAddress {
        let (base, index) = (plan.class(address.base), plan.class(address.index));
        let by_one = LaneClass::Linear(Stride::By(1));
        match (base, index) {
            (LaneClass::Inside, LaneClass::Uniform) => LaneAddress::Own(self.own(address, plan)),
            (LaneClass::Inside, _) => {
                let ints = vector(plan.width, LowTy::Int);
                let indices = self.wide(address.index);
                let by = all(plan.width, LowTy::Int, &plan.width.to_string());
                let numbers = self.lanes.as_ref().map(|l| l.numbers.clone()).unwrap_or_default();
                let indices = self.compute(format_args!("mul {ints} {indices}, {by}"));
                let indices = self.compute(format_args!("add {ints} {indices}, {numbers}"));
                let base = self.operand(address.base);
                let offset = address.offset * i64::from(plan.width);
                LaneAddress::Each(self.addresses(&base, address.scale, &indices, offset))
            }
            (LaneClass::Uniform, class) if class == by_one => {
                LaneAddress::Together(self.address(address, false))
            }
            (class, LaneClass::Uniform) if class == by_one && address.scale == 8 => {
                LaneAddress::Together(self.address(address, false))
            }
            (LaneClass::Linear(stride), _) => {
                let first = self.address(&Address { index: Operand::Int(0), ..*address }, false);
                let index = self.operand(address.index);
                let indices = self.linear(&index, stride);
                LaneAddress::Each(self.addresses(&first, address.scale, &indices, 0))
            }
            (_, _) => {
                let base = self.operand(address.base);
                let indices = self.wide(address.index);
                LaneAddress::Each(self.addresses(&base, address.scale, &indices, address.offset))
            }
        }
    }

    /// Whether all lanes are here.
    fn all_here(&self) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| lanes.whole && !lanes.divergent)
    }

    /// Loads from an address for each lane that is here.
    fn gather(&mut self, ty: LowTy, at: &str) -> String {
        let Some(lanes) = &self.lanes else { return String::new() };
        let (width, mask) = (lanes.plan.width, lanes.mask.clone());
        let (unit, suffix) = memory(ty);
        let result = format!("<{width} x {unit}>");
        if self.all_here() {
            // Loads one by one are no slower on most processors.
            let mut value = "poison".to_string();
            for lane in 0..width {
                let from =
                    self.compute(format_args!("extractelement <{width} x ptr> {at}, i64 {lane}"));
                let one = self.compute(format_args!("load {unit}, ptr {from}"));
                value = self.compute(format_args!(
                    "insertelement {result} {value}, {unit} {one}, i64 {lane}"
                ));
            }
            return value;
        }
        let params = format!("<{width} x ptr>, i32, <{width} x i1>, {result}");
        let align = if ty == LowTy::Bool { 1 } else { 8 };
        let args = format!(
            "<{width} x ptr> {at}, i32 {align}, <{width} x i1> {mask}, {result} zeroinitializer"
        );
        let name = format!("llvm.masked.gather.v{width}{suffix}.v{width}p0");
        self.intrinsic("", &result, &name, &params, &args)
    }

    fn lane_load(
        &mut self,
        register: Reg,
        ty: LowTy,
        address: &Address,
        plan: &LanePlan,
    ) -> String {
        if let Some((row, column)) = plan.copied.get(&register) {
            return self.load_copied(*row, *column, ty, address, plan);
        }
        let value = match self.places(address, plan) {
            LaneAddress::Own(at) => {
                let (unit, _) = memory(ty);
                let align = if ty == LowTy::Bool { 1 } else { 8 };
                self.compute(format_args!(
                    "load <{} x {unit}>, ptr {at}, align {align}",
                    plan.width
                ))
            }
            LaneAddress::Together(at) => self.load_together(ty, &at),
            LaneAddress::Each(at) => self.gather(ty, &at),
        };
        if ty == LowTy::Bool {
            let width = plan.width;
            return self.compute(format_args!("trunc <{width} x i8> {value} to <{width} x i1>"));
        }
        value
    }

    fn load_together(&mut self, ty: LowTy, at: &str) -> String {
        let Some(lanes) = &self.lanes else { return String::new() };
        let (width, mask) = (lanes.plan.width, lanes.mask.clone());
        let (unit, suffix) = memory(ty);
        let result = format!("<{width} x {unit}>");
        let params = format!("ptr, i32, <{width} x i1>, {result}");
        let align = if ty == LowTy::Bool { 1 } else { 8 };
        if self.all_here() {
            return self.compute(format_args!("load {result}, ptr {at}, align {align}"));
        }
        let args =
            format!("ptr {at}, i32 {align}, <{width} x i1> {mask}, {result} zeroinitializer");
        let name = format!("llvm.masked.load.v{width}{suffix}.p0");
        self.intrinsic("", &result, &name, &params, &args)
    }

    /// An element of a row, from its copy if there is one.
    fn load_copied(
        &mut self,
        row: usize,
        column: Operand,
        ty: LowTy,
        address: &Address,
        plan: &LanePlan,
    ) -> String {
        let fits = self.lanes.as_ref().and_then(|l| l.copied.get(row).cloned()).unwrap_or_default();
        let [near, far, end] = [(); 3].map(|()| self.label());
        let (n, lanes) = (plan.number, vector(plan.width, ty));
        let column = self.operand(column);
        let to = self.compute(format_args!(
            "getelementptr inbounds {lanes}, ptr %row{n}.{row}, i64 {column}"
        ));
        let LaneAddress::Each(at) = self.places(address, plan) else { return String::new() };
        self.line(format_args!("br i1 {fits}, label %{near}, label %{far}"));
        self.begin(near.clone());
        let first = self.compute(format_args!("load {lanes}, ptr {to}, align 64"));
        self.jump(&end);
        self.begin(far.clone());
        let second = self.gather(ty, &at);
        self.jump(&end);
        self.begin(end);
        self.compute(format_args!("phi {lanes} [ {first}, %{near} ], [ {second}, %{far} ]"))
    }

    fn lane_store(&mut self, ty: LowTy, address: &Address, value: Operand, plan: &LanePlan) {
        let mut value = self.wide(value);
        let (width, (unit, suffix)) = (plan.width, memory(ty));
        if ty == LowTy::Bool {
            value = self.compute(format_args!("zext <{width} x i1> {value} to <{width} x i8>"));
        }
        let (mask, divergent) =
            self.lanes.as_ref().map(|l| (l.mask.clone(), l.divergent)).unwrap_or_default();
        let lanes = format!("<{width} x {unit}>");
        let align = if ty == LowTy::Bool { 1 } else { 8 };
        let here = self.all_here();
        match self.places(address, plan) {
            LaneAddress::Own(at) | LaneAddress::Together(at) if here => {
                self.line(format_args!("store {lanes} {value}, ptr {at}, align {align}"));
            }
            LaneAddress::Own(at) if !divergent => {
                self.line(format_args!("store {lanes} {value}, ptr {at}, align {align}"));
            }
            LaneAddress::Own(at) | LaneAddress::Together(at) => {
                let name = format!("llvm.masked.store.v{width}{suffix}.p0");
                self.declare_intrinsic(
                    &name,
                    "void",
                    &format!("{lanes}, ptr, i32, <{width} x i1>"),
                );
                self.line(format_args!(
                    "call void @{name}({lanes} {value}, ptr {at}, i32 {align}, <{width} x i1> {mask})"
                ));
            }
            LaneAddress::Each(at) => {
                let name = format!("llvm.masked.scatter.v{width}{suffix}.v{width}p0");
                let params = format!("{lanes}, <{width} x ptr>, i32, <{width} x i1>");
                self.declare_intrinsic(&name, "void", &params);
                self.line(format_args!(
                    "call void @{name}({lanes} {value}, <{width} x ptr> {at}, i32 {align}, <{width} x i1> {mask})"
                ));
            }
        }
    }

    /// The value of an expression in all lanes.
    fn lane_expr(&mut self, register: Reg, expr: &Expr, plan: &LanePlan) -> String {
        let width = plan.width;
        let ty = vector(width, self.ty(register));
        match expr {
            Expr::Copy(a) => self.wide(*a),
            Expr::Unary(op, a) => {
                let a = self.wide(*a);
                self.lane_unary(*op, &a, width)
            }
            Expr::Binary(op, a, b) => {
                let (a, mut b) = (self.wide(*a), self.wide(*b));
                if matches!(op, Binary::IntDiv | Binary::IntRem) {
                    // The lanes that are not here may divide by anything.
                    let mask = self.lanes.as_ref().map(|l| l.mask.clone()).unwrap_or_default();
                    let ones = all(width, LowTy::Int, "1");
                    let bools = vector(width, LowTy::Bool);
                    b = self.compute(format_args!("select {bools} {mask}, {ty} {b}, {ty} {ones}"));
                }
                let instruction = self.binary(*op);
                self.compute(format_args!("{instruction} {ty} {a}, {b}"))
            }
            Expr::Fma(a, b, c) => {
                let [a, b, c] = [*a, *b, *c].map(|x| self.wide(x));
                self.lane_intrinsic("fma", &[&a, &b, &c], width)
            }
            Expr::Math(op, a, b) => {
                let (a, b) = (self.wide(*a), self.wide(*b));
                self.lane_math(*op, &a, &b, width)
            }
            Expr::Compare(op, a, b) => {
                let ty = vector(width, self.operand_ty(*a));
                let (a, b) = (self.wide(*a), self.wide(*b));
                self.compute(format_args!("{} {ty} {a}, {b}", compare(*op)))
            }
            Expr::Select(condition, a, b) => {
                let [condition, a, b] = [*condition, *a, *b].map(|x| self.wide(x));
                self.select(width, &condition, &ty, &a, &b)
            }
            Expr::Load(ty, address) => self.lane_load(register, *ty, address, plan),
            // Addresses are never of that class.
            Expr::Offset(address) => self.address(address, false),
        }
    }

    fn select(&mut self, width: u32, condition: &str, ty: &str, a: &str, b: &str) -> String {
        let bools = vector(width, LowTy::Bool);
        self.compute(format_args!("select {bools} {condition}, {ty} {a}, {ty} {b}"))
    }

    fn lane_intrinsic(&mut self, name: &str, args: &[&str], width: u32) -> String {
        let ty = vector(width, LowTy::Real);
        let params = vec![ty.as_str(); args.len()].join(", ");
        let args: Vec<_> = args.iter().map(|arg| format!("{ty} {arg}")).collect();
        self.intrinsic("", &ty, &format!("llvm.{name}.v{width}f64"), &params, &args.join(", "))
    }

    fn lane_unary(&mut self, op: Unary, a: &str, width: u32) -> String {
        let [reals, ints, bools] =
            [LowTy::Real, LowTy::Int, LowTy::Bool].map(|ty| vector(width, ty));
        match op {
            Unary::Neg => self.compute(format_args!("fneg {reals} {a}")),
            Unary::Abs => self.lane_intrinsic("fabs", &[a], width),
            Unary::Sqrt => self.lane_intrinsic("sqrt", &[a], width),
            Unary::Integral(Rounding::Floor) => self.lane_intrinsic("floor", &[a], width),
            Unary::Integral(Rounding::Ceil) => self.lane_intrinsic("ceil", &[a], width),
            Unary::Integral(Rounding::Round) => self.lane_intrinsic("roundeven", &[a], width),
            Unary::Integral(Rounding::Trunc) => self.lane_intrinsic("trunc", &[a], width),
            Unary::ToReal => self.compute(format_args!("sitofp {ints} {a} to {reals}")),
            Unary::ToInt => self.compute(format_args!("fptosi {reals} {a} to {ints}")),
            Unary::Bits => self.compute(format_args!("bitcast {reals} {a} to {ints}")),
            Unary::FromBits => self.compute(format_args!("bitcast {ints} {a} to {reals}")),
            Unary::FromBool => self.compute(format_args!("zext {bools} {a} to {ints}")),
            Unary::Not => {
                let ones = all(width, LowTy::Bool, "true");
                self.compute(format_args!("xor {bools} {a}, {ones}"))
            }
        }
    }

    fn lane_math(&mut self, op: RealOp, a: &str, b: &str, width: u32) -> String {
        let ty = vector(width, LowTy::Real);
        let plain = match op {
            RealOp::Add => Binary::Add,
            RealOp::Sub => Binary::Sub,
            RealOp::Mul => Binary::Mul,
            RealOp::Div => Binary::Div,
            RealOp::Neg => return self.lane_unary(Unary::Neg, a, width),
            RealOp::Sqrt => return self.lane_unary(Unary::Sqrt, a, width),
            RealOp::Abs => return self.lane_unary(Unary::Abs, a, width),
            RealOp::Sign => {
                let zero = all(width, LowTy::Real, &real(0.0));
                let mut value = a.to_string();
                for (condition, sign) in [("oeq", 0.0), ("olt", -1.0), ("ogt", 1.0)] {
                    let holds = self.compute(format_args!("fcmp {condition} {ty} {a}, {zero}"));
                    let sign = all(width, LowTy::Real, &real(sign));
                    value = self.select(width, &holds, &ty, &sign, &value);
                }
                return value;
            }
            RealOp::Min | RealOp::Max => {
                let which = if op == RealOp::Min { "minimum" } else { "maximum" };
                let (name, args) =
                    (format!("llvm.{which}.v{width}f64"), format!("{ty} {a}, {ty} {b}"));
                return self.intrinsic("", &ty, &name, &format!("{ty}, {ty}"), &args);
            }
            _ => {
                let function = runtime::math(op);
                let name = self.import(function);
                self.shared.rare.insert(name, function);
                self.shared.widths.insert(width);
                let (bools, mask) = (
                    vector(width, LowTy::Bool),
                    self.lanes.as_ref().map(|l| l.mask.clone()).unwrap_or_default(),
                );
                return self.compute(format_args!(
                    "call {ty} @{name}_{width}({ty} {a}, {ty} {b}, {bools} {mask})"
                ));
            }
        };
        let instruction = self.binary(plain);
        self.compute(format_args!("{instruction} {ty} {a}, {b}"))
    }
}

/// Where lanes find their elements.
enum LaneAddress {
    /// In a block of the loop's own, side by side; of lanes that are not there, too.
    Own(String),
    /// Side by side.
    Together(String),
    /// An address for each.
    Each(String),
}

fn compare(op: Compare) -> &'static str {
    super::expr::compare(op)
}

/// The type of a number for each lane.
fn vector(width: u32, ty: LowTy) -> String {
    format!("<{width} x {}>", llvm_type(ty))
}

/// The type of an element in memory, and its name in those of functions.
fn memory(ty: LowTy) -> (&'static str, &'static str) {
    match ty {
        LowTy::Int | LowTy::Ptr => ("i64", "i64"),
        LowTy::Real => ("double", "f64"),
        LowTy::Bool => ("i8", "i8"),
    }
}

/// A constant for all lanes.
fn all(width: u32, ty: LowTy, value: &str) -> String {
    let one = format!("{} {value}", llvm_type(ty));
    format!("<{}>", vec![one; width as usize].join(", "))
}
