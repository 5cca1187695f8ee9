//! Additions of lanes to accumulators from before the loop.

use super::{all, real, vector, Emitter, LaneAddress};
use crate::low::lanes::{LaneClass, LanePlan};
use crate::low::{Address, LowTy, Operand};
use diffeo_array::ir::Reduction;

impl Emitter<'_, '_> {
    /// Adds to elements of an accumulator from before the loop: to one that all lanes share their sum; to one for each
    /// what it has, in the order of the lanes, because some may be the same.
    pub(super) fn lane_add(&mut self, address: &Address, value: Operand, plan: &LanePlan) {
        let value = self.wide(value);
        let (width, ty) = (plan.width, vector(plan.width, LowTy::Real));
        let mask = self.lanes.as_ref().map(|l| l.mask.clone()).unwrap_or_default();
        let (base, index) = (plan.class(address.base), plan.class(address.index));
        if (base, index) == (LaneClass::Uniform, LaneClass::Uniform) {
            let value =
                self.select(width, &mask, &ty, &value, &all(width, LowTy::Real, &real(-0.0)));
            let at = self.address(address, false);
            let mut new = self.compute(format_args!("load double, ptr {at}, align 8"));
            for first in (0..width).step_by(plan.sums as usize) {
                let part = self.some_lanes(&ty, &value, first..first + plan.sums);
                let sum = self.all_lanes(Reduction::Add, plan.sums, part);
                new = self.compute(format_args!("fadd double {new}, {sum}"));
            }
            return self.line(format_args!("store double {new}, ptr {at}, align 8"));
        }
        match self.places(address, plan) {
            LaneAddress::Own(at) | LaneAddress::Together(at) => {
                let old = self.load_together(LowTy::Real, &at);
                let new = self.compute(format_args!("fadd {ty} {old}, {value}"));
                let name = format!("llvm.masked.store.v{width}f64.p0");
                let params = format!("{ty}, ptr, i32, <{width} x i1>");
                self.declare_intrinsic(&name, "void", &params);
                self.line(format_args!(
                    "call void @{name}({ty} {new}, ptr {at}, i32 8, <{width} x i1> {mask})"
                ));
            }
            LaneAddress::Each(at) => self.add_each(&at, &value, &mask, plan),
        }
    }

    /// Adds numbers to what is at addresses, one lane after the other.
    fn add_each(&mut self, at: &str, value: &str, mask: &str, plan: &LanePlan) {
        let (width, n) = (plan.width, plan.number);
        for (what, ty, all) in [("at", LowTy::Ptr, at), ("value", LowTy::Real, value)] {
            let ty = vector(width, ty);
            self.line(format_args!("store {ty} {all}, ptr %{what}{n}, align 64"));
        }
        let here = self.compute(format_args!("bitcast <{width} x i1> {mask} to i{width}"));
        let [step, end] = [(); 2].map(|()| self.label());
        let before = self.block.clone().unwrap_or_default();
        let some = self.compute(format_args!("icmp ne i{width} {here}, 0"));
        self.line(format_args!("br i1 {some}, label %{step}, label %{end}"));
        self.begin(step.clone());
        let (left, following) = (self.name(), self.name());
        self.line(format_args!(
            "{left} = phi i{width} [ {here}, %{before} ], [ {following}, %{step} ]"
        ));
        let (ty, cttz) = (format!("i{width}"), format!("llvm.cttz.i{width}"));
        let args = format!("{ty} {left}, i1 true");
        let lane = self.intrinsic("", &ty, &cttz, &format!("{ty}, i1"), &args);
        let load = |e: &mut Self, what: &str, ty: &str| {
            let from = e.compute(format_args!(
                "getelementptr inbounds {ty}, ptr %{what}{n}, i{width} {lane}"
            ));
            e.compute(format_args!("load {ty}, ptr {from}, align 8"))
        };
        let to = load(self, "at", "ptr");
        let part = load(self, "value", "double");
        let old = self.compute(format_args!("load double, ptr {to}, align 8"));
        let new = self.compute(format_args!("fadd double {old}, {part}"));
        self.line(format_args!("store double {new}, ptr {to}, align 8"));
        // Without the lowest one.
        let less = self.compute(format_args!("add i{width} {left}, -1"));
        self.line(format_args!("{following} = and i{width} {left}, {less}"));
        let again = self.compute(format_args!("icmp ne i{width} {following}, 0"));
        self.line(format_args!("br i1 {again}, label %{step}, label %{end}"));
        self.begin(end);
    }
}
