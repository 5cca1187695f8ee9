//! Accesses to memory in the lanes: elements side by side are vectors, others are read and written one by one.

use super::super::function::{clif_type, trusted, FunctionTranslator};
use super::super::lanes::unaligned;
use super::{packed, LaneClass, LanePlan};
use crate::low::lanes::{Stride, ROW};
use crate::low::{Address, LowTy, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64X2, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use diffeo_array::ir::Reduction;

/// An address, as a value and an offset.
type Place = (Value, i32);

/// The places of the elements of the lanes.
enum Places {
    /// The same for all.
    Same(Place),
    /// In a block of the loop's own, side by side; of lanes that are not there, too.
    Own(Place),
    /// Side by side.
    Together(Place),
    /// An address for each.
    Each(Vec<Place>),
}

impl FunctionTranslator<'_, '_> {
    /// An address with an offset that may be too large for an instruction.
    fn offset(&mut self, base: Value, offset: i64) -> Place {
        match i32::try_from(offset) {
            Ok(offset) => (base, offset),
            Err(_) => (self.b.ins().iadd_imm_s(base, offset), 0),
        }
    }

    /// The address as one value.
    fn whole(&mut self, (base, offset): Place) -> Value {
        match offset {
            0 => base,
            offset => self.b.ins().iadd_imm_s(base, i64::from(offset)),
        }
    }

    /// The address of the elements of all lanes in a block of the loop's own, at an index that they share.
    pub(super) fn own(&mut self, address: &Address, plan: &LanePlan) -> Place {
        let width = i64::from(plan.width);
        let mut base = self.operand(address.base);
        let mut offset = address.offset.wrapping_mul(width);
        let scale = i64::from(address.scale) * width;
        match address.index {
            Operand::Int(index) => offset = offset.wrapping_add(index.wrapping_mul(scale)),
            index => {
                let index = self.operand(index);
                let index = self.b.ins().ishl_imm_u(index, i64::from(scale.trailing_zeros()));
                base = self.b.ins().iadd(base, index);
            }
        }
        self.offset(base, offset)
    }

    fn places(&mut self, address: &Address, plan: &LanePlan) -> Places {
        let (base, index) = (plan.class(address.base), plan.class(address.index));
        let (width, scale) = (i64::from(plan.width), i64::from(address.scale));
        match (base, index) {
            (LaneClass::Uniform, LaneClass::Uniform) => Places::Same(self.address(address)),
            (LaneClass::Inside, LaneClass::Uniform) => Places::Own(self.own(address, plan)),
            (LaneClass::Inside, _) => {
                let base = self.operand(address.base);
                let shift = i64::from((scale * width).trailing_zeros());
                let indices = self.each(address.index, LowTy::Int);
                let places = (0..).zip(indices).map(|(lane, index)| {
                    let index = self.b.ins().ishl_imm_u(index, shift);
                    let at = self.b.ins().iadd(base, index);
                    self.offset(at, address.offset.wrapping_mul(width) + lane * scale)
                });
                Places::Each(places.collect())
            }
            (LaneClass::Linear(stride), _) => self.strided(address, stride, 8),
            (_, LaneClass::Linear(stride)) => self.strided(address, stride, scale),
            (_, _) => {
                let base = self.operand(address.base);
                let indices = self.each(address.index, LowTy::Int);
                let places = indices.into_iter().map(|index| {
                    let index = self.b.ins().ishl_imm_u(index, i64::from(scale.trailing_zeros()));
                    let at = self.b.ins().iadd(base, index);
                    self.offset(at, address.offset)
                });
                Places::Each(places.collect())
            }
        }
    }

    /// Places that lie `stride` times `unit` bytes apart.
    fn strided(&mut self, address: &Address, stride: Stride, unit: i64) -> Places {
        let first = self.address(address);
        match stride {
            Stride::By(1) if unit == i64::from(address.scale) => Places::Together(first),
            Stride::By(n) => {
                let by = n.wrapping_mul(unit);
                let lanes = 2 * self.count_vectors() as i64;
                let place = |lane: i64| {
                    let offset = i64::from(first.1).wrapping_add(lane.wrapping_mul(by));
                    self.offset(first.0, offset)
                };
                Places::Each((0..lanes).map(place).collect())
            }
            Stride::Times(reg) => {
                let stride = self.operand(Operand::Reg(reg));
                let by = self.b.ins().ishl_imm_u(stride, i64::from(unit.trailing_zeros()));
                let twice = self.b.ins().ishl_imm_u(by, 1);
                let (mut at, offset) = first;
                let mut places = Vec::new();
                for vector in 0..self.count_vectors() {
                    if vector > 0 {
                        at = self.b.ins().iadd(at, twice);
                    }
                    places.extend([(at, offset), (self.b.ins().iadd(at, by), offset)]);
                }
                Places::Each(places)
            }
        }
    }

    /// A place for each lane that is here; the others get one that nothing looks at.
    fn guarded(&mut self, places: Places, ty: LowTy) -> Vec<Place> {
        let size = if ty == LowTy::Bool { 1 } else { 8 };
        let lanes = 2 * self.count_vectors() as i32;
        let places: Vec<Place> = match places {
            Places::Same(place) => vec![place; lanes as usize],
            Places::Own((at, offset)) | Places::Together((at, offset)) => {
                (0..lanes).map(|lane| (at, offset.wrapping_add(lane * size))).collect()
            }
            Places::Each(places) => places,
        };
        let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
        let Some(mask) = mask else { return places };
        let nowhere = self.nowhere();
        let mut guarded = Vec::new();
        for (lane, place) in places.into_iter().enumerate() {
            let here = self.b.ins().extractlane(mask[lane / 2], (lane % 2) as u8);
            let at = self.whole(place);
            guarded.push((self.b.ins().select(here, at, nowhere), 0));
        }
        guarded
    }

    /// True outside of branches, where all lanes are here.
    fn all_here(&self) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| lanes.mask.is_none())
    }

    /// Loads from a place for each lane.
    fn gather(&mut self, ty: LowTy, places: &[Place]) -> Vec<Value> {
        let load = |(at, offset): &Place| self.b.ins().load(clif_type(ty), trusted(), *at, *offset);
        let values: Vec<Value> = places.iter().map(load).collect();
        self.pack(&values, ty)
    }

    fn load_vectors(&mut self, ty: LowTy, (at, offset): Place) -> Vec<Value> {
        let count = self.count_vectors() as i32;
        let load = |i: i32| self.b.ins().load(packed(ty), unaligned(), at, offset + 16 * i);
        (0..count).map(load).collect()
    }

    fn store_vectors(&mut self, vectors: &[Value], (at, offset): Place) {
        for (i, vector) in (0..).zip(vectors) {
            self.b.ins().store(unaligned(), *vector, at, offset + 16 * i);
        }
    }

    pub(super) fn lane_load(
        &mut self,
        register: Reg,
        ty: LowTy,
        address: &Address,
        plan: &LanePlan,
    ) -> Vec<Value> {
        if let Some((row, column)) = plan.copied.get(&register) {
            return self.load_copied(*row, *column, ty, address, plan);
        }
        match self.places(address, plan) {
            Places::Same(place) => self.load_same(ty, place),
            Places::Own(place) if ty != LowTy::Bool => self.load_vectors(ty, place),
            Places::Together(place) if ty != LowTy::Bool && self.all_here() => {
                self.load_vectors(ty, place)
            }
            places => {
                let places = self.guarded(places, ty);
                self.gather(ty, &places)
            }
        }
    }

    /// Loads what all lanes that are here have in common.
    fn load_same(&mut self, ty: LowTy, place: Place) -> Vec<Value> {
        // The context of the run is always there to be read.
        let (at, offset) = self.shared(place, self.context);
        let value = self.b.ins().load(clif_type(ty), trusted(), at, offset);
        self.splat(value, ty)
    }

    /// An element of a row, from its copy if there is one.
    fn load_copied(
        &mut self,
        row: usize,
        column: Operand,
        ty: LowTy,
        address: &Address,
        plan: &LanePlan,
    ) -> Vec<Value> {
        let found = self.lanes.as_ref().map(|lanes| (lanes.copied[row], lanes.rows[row]));
        let Some((fits, slot)) = found else { return Vec::new() };
        let places = self.places(address, plan);
        let [near, far, end] = [(); 3].map(|()| self.b.create_block());
        for _ in 0..self.count_vectors() {
            self.b.append_block_param(end, packed(ty));
        }
        self.b.ins().brif(fits, near, &[], far, &[]);
        self.b.switch_to_block(near);
        let copy = self.b.ins().stack_addr(I64, slot, 0);
        let column = self.operand(column);
        let size = 8 * i64::from(plan.width);
        let column = self.b.ins().ishl_imm_u(column, i64::from(size.trailing_zeros()));
        let at = self.b.ins().iadd(copy, column);
        let vectors: Vec<_> = self.load_vectors(ty, (at, 0)).into_iter().map(Into::into).collect();
        self.b.ins().jump(end, &vectors);
        self.b.switch_to_block(far);
        let places = self.guarded(places, ty);
        let vectors: Vec<_> = self.gather(ty, &places).into_iter().map(Into::into).collect();
        self.b.ins().jump(end, &vectors);
        self.b.switch_to_block(end);
        self.b.block_params(end).to_vec()
    }

    /// Copies the elements that the lanes read often, so that those of all lanes lie together.
    pub(super) fn copy_rows(&mut self, index: Reg, plan: &LanePlan) {
        let slots = self.lanes.as_ref().map_or(Vec::new(), |lanes| lanes.rows.clone());
        let mut copied = Vec::new();
        for (row, slot) in plan.rows.iter().zip(slots) {
            let count = self.operand(row.count);
            let most = self.b.ins().iconst(I64, ROW);
            let mut fits = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, count, most);
            for steps in &row.loops {
                let steps = self.operand(*steps);
                let none = self.b.ins().iconst(I64, 0);
                let some = self.b.ins().icmp(IntCC::SignedGreaterThan, steps, none);
                fits = self.b.ins().band(fits, some);
            }
            let first = self.get(index);
            let stride = self.operand(Operand::Reg(row.stride));
            let start = self.b.ins().imul(first, stride);
            let base = self.operand(row.base);
            let [copy, end] = [(); 2].map(|()| self.b.create_block());
            let column = self.b.append_block_param(copy, I64);
            let none = self.b.ins().iconst(I64, 0);
            self.b.ins().brif(fits, copy, &[none.into()], end, &[]);
            self.b.switch_to_block(copy);
            let at = self.b.ins().iadd(start, column);
            let at = self.b.ins().ishl_imm_u(at, 3);
            let mut at = self.b.ins().iadd(base, at);
            let by = self.b.ins().ishl_imm_u(stride, 3);
            let mut places = Vec::new();
            for lane in 0..plan.width {
                if lane > 0 {
                    at = self.b.ins().iadd(at, by);
                }
                let place = self.offset(at, row.offset);
                places.push(place);
            }
            let vectors = self.gather(row.ty, &places);
            let to = self.b.ins().stack_addr(I64, slot, 0);
            let size = 8 * i64::from(plan.width);
            let offset = self.b.ins().ishl_imm_u(column, i64::from(size.trailing_zeros()));
            let to = self.b.ins().iadd(to, offset);
            self.store_vectors(&vectors, (to, 0));
            let next = self.b.ins().iadd_imm_s(column, 1);
            let again = self.b.ins().icmp(IntCC::SignedLessThan, next, count);
            self.b.ins().brif(again, copy, &[next.into()], end, &[]);
            self.b.switch_to_block(end);
            copied.push(fits);
        }
        if let Some(lanes) = &mut self.lanes {
            lanes.copied = copied;
        }
    }

    pub(super) fn lane_store(
        &mut self,
        ty: LowTy,
        address: &Address,
        value: Operand,
        plan: &LanePlan,
    ) {
        match self.places(address, plan) {
            Places::Own(place) if ty != LowTy::Bool => {
                let mut vectors = self.wide(value, ty);
                let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
                if let Some(mask) = mask {
                    let old = self.load_vectors(ty, place);
                    for (i, vector) in vectors.iter_mut().enumerate() {
                        *vector = self.select_packed(mask[i], *vector, old[i]);
                    }
                }
                self.store_vectors(&vectors, place);
            }
            Places::Together(place) if ty != LowTy::Bool && self.all_here() => {
                let vectors = self.wide(value, ty);
                self.store_vectors(&vectors, place);
            }
            places => {
                let values = self.each(value, ty);
                for ((at, offset), value) in self.guarded(places, ty).into_iter().zip(values) {
                    self.b.ins().store(trusted(), value, at, offset);
                }
            }
        }
    }

    /// Adds to elements of an accumulator from before the loop: to one that all lanes share their sum; to one for each
    /// what it has, in the order of the lanes, because some may be the same.
    pub(super) fn lane_add(&mut self, address: &Address, value: Operand, plan: &LanePlan) {
        match self.places(address, plan) {
            Places::Same(place) => {
                let mut vectors = self.wide(value, LowTy::Real);
                let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
                let mut place = place;
                if let Some(mask) = mask {
                    let nothing = self.b.ins().f64const(-0.0);
                    let nothing = self.b.ins().splat(F64X2, nothing);
                    for (vector, mask) in vectors.iter_mut().zip(mask) {
                        *vector = self.select_packed(mask, *vector, nothing);
                    }
                    let nowhere = self.nowhere();
                    place = self.shared(place, nowhere);
                }
                self.add_sum(vectors, place);
            }
            Places::Own(place) | Places::Together(place) if self.all_here() => {
                let values = self.wide(value, LowTy::Real);
                let mut vectors = self.load_vectors(LowTy::Real, place);
                for (vector, value) in vectors.iter_mut().zip(values) {
                    *vector = self.b.ins().fadd(*vector, value);
                }
                self.store_vectors(&vectors, place);
            }
            places => {
                let values = self.each(value, LowTy::Real);
                let places = self.guarded(places, LowTy::Real);
                for ((at, offset), value) in places.into_iter().zip(values) {
                    let ty = clif_type(LowTy::Real);
                    let old = self.b.ins().load(ty, trusted(), at, offset);
                    let new = self.b.ins().fadd(old, value);
                    self.b.ins().store(trusted(), new, at, offset);
                }
            }
        }
    }

    /// A place that all lanes share if one is here, else another one.
    fn shared(&mut self, place: Place, other: Value) -> Place {
        let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
        let Some(mask) = mask else { return place };
        let mut any = mask[0];
        for lanes in &mask[1..] {
            any = self.b.ins().bor(any, *lanes);
        }
        let [first, second] = [0, 1].map(|lane| self.b.ins().extractlane(any, lane));
        let any = self.b.ins().bor(first, second);
        let whole = self.whole(place);
        (self.b.ins().select(any, whole, other), 0)
    }

    /// An address that nothing looks at.
    fn nowhere(&mut self) -> Value {
        let slot = match self.lanes.as_ref().and_then(|lanes| lanes.nowhere) {
            Some(slot) => slot,
            None => self.slot(16),
        };
        if let Some(lanes) = &mut self.lanes {
            lanes.nowhere = Some(slot);
        }
        self.b.ins().stack_addr(I64, slot, 0)
    }

    fn add_sum(&mut self, vectors: Vec<Value>, (at, offset): Place) {
        let sum = self.all_lanes(Reduction::Add, vectors);
        let old = self.b.ins().load(clif_type(LowTy::Real), trusted(), at, offset);
        let new = self.b.ins().fadd(old, sum);
        self.b.ins().store(trusted(), new, at, offset);
    }
}
