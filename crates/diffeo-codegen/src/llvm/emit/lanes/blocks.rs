//! The loops around the lanes: whole blocks, the rest under a mask, and what becomes of sums.
//!
//! A sum has a part for each lane, of light loops several; they are added up in an order that the plan says, so that no
//! processor gives other digits.

use super::{all, real, slot, vector, Emitter, Lanes};
use crate::low::lanes::LanePlan;
use crate::low::opt::scratch;
use crate::low::{Expr, For, FunctionId, LowTy, Operand, Reg};
use crate::memory::neutral;
use diffeo_array::ir::Reduction;
use diffeo_calculus::prim::RealOp;
use std::rc::Rc;

impl Emitter<'_, '_> {
    /// Emits a loop over the blocks of lanes, for at least one step.
    pub(super) fn blocks_of_lanes(
        &mut self,
        step: &For,
        plan: &Rc<LanePlan>,
        from: &str,
        to: &str,
    ) {
        let width = plan.width;
        // What is done where there are few steps is kept short.
        let parts = if self.plain { 1 } else { plan.parts };
        for (register, how) in &step.reductions {
            let (ty, sums) = (vector(plan.sums, LowTy::Real), plan.sums);
            let value = all(sums, LowTy::Real, &real(neutral(*how)));
            for part in 0..parts {
                let slot = slot(plan, *register, part);
                self.line(format_args!("store {ty} {value}, ptr {slot}"));
            }
        }
        for r in &plan.kept {
            self.line(format_args!("store ptr null, ptr %k{}.{}", plan.number, r.0));
        }
        // Digits do not depend on where it polls: lanes are combined behind all strips.
        if parts > 1 {
            let rest = self.whole_blocks(step, plan, parts, from, to);
            for (register, how) in &step.reductions {
                self.join_parts(*register, *how, plan, parts);
            }
            self.in_strips(step, 0, [&rest, to], |e, from, to| e.masked(step, plan, from, to));
        } else {
            let every = strip(step, width);
            self.in_strips(step, every, [from, to], |e, from, to| e.masked(step, plan, from, to));
        }
        for (register, how) in &step.reductions {
            self.reduce_lanes(*register, *how, plan);
        }
        let release = scratch::release_of(self.shared.module);
        for r in &plan.kept {
            let block = self.compute(format_args!("load ptr, ptr %k{}.{}", plan.number, r.0));
            if let Some(FunctionId(f)) = release {
                self.shared.called.insert(f as usize);
                self.line(format_args!("call fastcc void @f{f}(ptr %context, ptr {block})"));
            }
        }
    }

    /// Emits blocks under a mask, for at least one step.
    fn masked(&mut self, step: &For, plan: &Rc<LanePlan>, from: &str, to: &str) {
        let width = plan.width;
        let [body, latch, exit] = [(); 3].map(|()| self.label());
        let (index, next) = (self.name(), self.name());
        let before = self.block.clone().unwrap_or_default();
        self.line(format_args!("br label %{body}"));
        self.begin(body.clone());
        self.line(format_args!("{index} = phi i64 [ {from}, %{before} ], [ {next}, %{latch} ]"));
        let left = self.compute(format_args!("sub i64 {to}, {index}"));
        let left = self.splat(width, LowTy::Int, &left);
        let (ints, numbers) = (vector(width, LowTy::Int), numbers(width));
        let mask = self.compute(format_args!("icmp slt {ints} {numbers}, {left}"));
        self.block_of_lanes(step, plan, &index, mask, 0);
        self.jump(&latch);
        self.begin(latch);
        self.line(format_args!("{next} = add i64 {index}, {width}"));
        let again = self.compute(format_args!("icmp slt i64 {next}, {to}"));
        self.line(format_args!("br i1 {again}, label %{body}, label %{exit}"));
        self.begin(exit);
    }

    /// Emits the blocks that are whole in all parts; the first step that is left.
    fn whole_blocks(
        &mut self,
        step: &For,
        plan: &Rc<LanePlan>,
        parts: u32,
        from: &str,
        to: &str,
    ) -> String {
        let steps = plan.width * parts;
        let left = self.compute(format_args!("sub i64 {to}, {from}"));
        let left = self.compute(format_args!("and i64 {left}, {}", -i64::from(steps)));
        let end = self.compute(format_args!("add i64 {from}, {left}"));
        self.in_strips(step, strip(step, steps), [from, &end], |e, from, to| {
            e.strip_of_whole_blocks(step, plan, parts, from, to)
        });
        end
    }

    /// Emits blocks that are whole in all parts, of which there is at least one.
    fn strip_of_whole_blocks(
        &mut self,
        step: &For,
        plan: &Rc<LanePlan>,
        parts: u32,
        from: &str,
        to: &str,
    ) {
        let (width, steps) = (plan.width, plan.width * parts);
        let [body, latch, exit] = [(); 3].map(|()| self.label());
        let (index, next) = (self.name(), self.name());
        let before = self.block.clone().unwrap_or_default();
        self.line(format_args!("br label %{body}"));
        self.begin(body.clone());
        self.line(format_args!("{index} = phi i64 [ {from}, %{before} ], [ {next}, %{latch} ]"));
        for part in 0..parts {
            let at = self.compute(format_args!("add nsw i64 {index}, {}", part * width));
            self.block_of_lanes(step, plan, &at, all(width, LowTy::Bool, "true"), part);
        }
        self.jump(&latch);
        self.begin(latch);
        self.line(format_args!("{next} = add nsw i64 {index}, {steps}"));
        let again = self.compute(format_args!("icmp slt i64 {next}, {to}"));
        let own = self.shared.metadata.len();
        self.shared.metadata(format!("distinct !{{!{own}, !{}}}", own + 1));
        self.shared.metadata("!{!\"llvm.loop.unroll.disable\"}".into());
        self.line(format_args!("br i1 {again}, label %{body}, label %{exit}, !llvm.loop !{own}"));
        self.begin(exit);
    }

    /// Emits a step in all lanes, the first of which has this index.
    fn block_of_lanes(
        &mut self,
        step: &For,
        plan: &Rc<LanePlan>,
        index: &str,
        mask: String,
        part: u32,
    ) {
        self.set(step.index, index.to_string());
        self.lanes = Some(Lanes {
            plan: plan.clone(),
            numbers: numbers(plan.width),
            whole: !mask.starts_with('%'),
            mask,
            divergent: false,
            part,
            copied: Vec::new(),
        });
        self.copy_rows(step.index);
        self.list(&step.body);
        self.lanes = None;
    }

    /// Combines the parts of a reduced register to one of as many lanes: neighbours first.
    fn join_parts(&mut self, register: Reg, how: Reduction, plan: &LanePlan, parts: u32) {
        let ty = vector(plan.sums, LowTy::Real);
        let load = |e: &mut Self, part| {
            let slot = slot(plan, register, part);
            e.compute(format_args!("load {ty}, ptr {slot}"))
        };
        let mut values: Vec<String> = (0..parts).map(|part| load(self, part)).collect();
        while let [_, _, ..] = values[..] {
            values = values
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => self.combine(how, plan.sums, a, b),
                    _ => pair.concat(),
                })
                .collect();
        }
        let (slot, value) = (slot(plan, register, 0), &values[0]);
        self.line(format_args!("store {ty} {value}, ptr {slot}"));
    }

    /// Two vectors of so many lanes combined.
    fn combine(&mut self, how: Reduction, width: u32, a: &str, b: &str) -> String {
        let ty = vector(width, LowTy::Real);
        match how {
            Reduction::Add => self.compute(format_args!("fadd {ty} {a}, {b}")),
            Reduction::Max => self.lane_intrinsic("maximum", &[a, b], width),
            Reduction::Min => self.lane_intrinsic("minimum", &[a, b], width),
        }
    }

    /// Combines a reduced register with what the lanes have.
    fn reduce_lanes(&mut self, register: Reg, how: Reduction, plan: &LanePlan) {
        let (ty, slot) = (vector(plan.sums, LowTy::Real), slot(plan, register, 0));
        let lanes = self.compute(format_args!("load {ty}, ptr {slot}"));
        let before = self.operand(Operand::Reg(register));
        let one = self.all_lanes(how, plan.sums, lanes);
        let value = match how {
            Reduction::Add => self.compute(format_args!("fadd double {before}, {one}")),
            Reduction::Max => self.real_intrinsic("maximum", &[&before, &one]),
            Reduction::Min => self.real_intrinsic("minimum", &[&before, &one]),
        };
        self.set(register, value);
    }

    /// Some lanes of a vector.
    pub(super) fn some_lanes(
        &mut self,
        ty: &str,
        value: &str,
        lanes: impl Iterator<Item = u32>,
    ) -> String {
        let which: Vec<String> = lanes.map(|lane| format!("i32 {lane}")).collect();
        let (count, which) = (which.len(), which.join(", "));
        self.compute(format_args!(
            "shufflevector {ty} {value}, {ty} poison, <{count} x i32> <{which}>"
        ))
    }

    /// Combines a reduced register with what more lanes have than there are sums: one group after the other, as in
    /// blocks of fewer lanes.
    pub(super) fn add_up(&mut self, register: Reg, expr: &Expr, plan: &LanePlan) {
        let Some(lanes) = &self.lanes else { return };
        let (mask, slot) = (lanes.mask.clone(), lanes.slot(register));
        let some = lanes.divergent || !lanes.whole;
        let (how, values) = match expr {
            Expr::Fma(a, b, _) => (Reduction::Add, vec![*a, *b]),
            Expr::Binary(_, a, b) | Expr::Math(_, a, b) => {
                let how = match expr {
                    Expr::Math(RealOp::Max, ..) => Reduction::Max,
                    Expr::Math(RealOp::Min, ..) => Reduction::Min,
                    _ => Reduction::Add,
                };
                (how, vec![if *a == Operand::Reg(register) { *b } else { *a }])
            }
            // There are no others (`sums_once`).
            _ => return,
        };
        let values: Vec<String> = values.into_iter().map(|value| self.wide(value)).collect();
        let [all, bools] = [LowTy::Real, LowTy::Bool].map(|ty| vector(plan.width, ty));
        let (sums, ty) = (plan.sums, vector(plan.sums, LowTy::Real));
        for first in (0..plan.width).step_by(sums as usize) {
            let part =
                |e: &mut Self, value: &String| e.some_lanes(&all, value, first..first + sums);
            let parts: Vec<String> = values.iter().map(|value| part(self, value)).collect();
            let old = self.compute(format_args!("load {ty}, ptr {slot}"));
            let mut new = match &parts[..] {
                [a, b] => self.lane_intrinsic("fma", &[a, b, &old], sums),
                parts => self.combine(how, sums, &old, &parts.concat()),
            };
            if some {
                let mask = self.some_lanes(&bools, &mask, first..first + sums);
                new = self.select(sums, &mask, &ty, &new, &old);
            }
            self.line(format_args!("store {ty} {new}, ptr {slot}"));
        }
    }

    /// What all lanes have together: the upper half is combined with the lower one, again and again.
    pub(super) fn all_lanes(&mut self, how: Reduction, width: u32, lanes: String) -> String {
        let (mut value, mut width) = (lanes, width);
        while width > 1 {
            let (ty, half) = (vector(width, LowTy::Real), width / 2);
            let [low, high] =
                [0, half].map(|first| self.some_lanes(&ty, &value, first..first + half));
            value = self.combine(how, half, &low, &high);
            width = half;
        }
        self.compute(format_args!("extractelement <1 x double> {value}, i64 0"))
    }
}

/// After how many steps to poll: blocks stay whole.
fn strip(step: &For, steps: u32) -> i64 {
    (step.every as u64).next_multiple_of(u64::from(steps)) as i64
}

/// The numbers of so many lanes, as a constant.
fn numbers(width: u32) -> String {
    let all: Vec<String> = (0..width).map(|lane| format!("i64 {lane}")).collect();
    format!("<{}>", all.join(", "))
}
