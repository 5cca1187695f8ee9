//! Memory in lanes: how far apart the elements of the lanes lie, which rows are copied, which blocks are kept.

use super::{CopiedRow, LaneAnalysis, LaneClass, Stride};
use crate::low::opt::scratch;
use crate::low::{Address, Binary, Expr, LowTy, Operand, Reg, Runtime, Stmt, DATA};
use diffeo_base::deep;

impl LaneAnalysis<'_, '_> {
    /// The step of the result of an operation from lane to lane, if it is the same.
    pub(super) fn stride(
        &self,
        op: Binary,
        a: (Operand, LaneClass),
        b: (Operand, LaneClass),
    ) -> Option<Stride> {
        use {LaneClass::Linear, LaneClass::Uniform, Stride::By};
        match (op, a.1, b.1) {
            (Binary::IntAdd, Linear(s), Uniform) | (Binary::IntAdd, Uniform, Linear(s)) => Some(s),
            (Binary::IntSub, Linear(s), Uniform) => Some(s),
            (Binary::IntAdd, Linear(By(x)), Linear(By(y))) => x.checked_add(y).map(By),
            (Binary::IntSub, Linear(By(x)), Linear(By(y))) => x.checked_sub(y).map(By),
            (Binary::IntSub, Uniform, Linear(By(x))) => x.checked_neg().map(By),
            (Binary::IntMul, Linear(By(x)), Uniform) => self.times(x, b.0),
            (Binary::IntMul, Uniform, Linear(By(x))) => self.times(x, a.0),
            _ => None,
        }
    }

    fn times(&self, stride: i64, factor: Operand) -> Option<Stride> {
        match factor {
            Operand::Int(n) => stride.checked_mul(n).map(Stride::By),
            Operand::Reg(r) if stride == 1 && !self.set.contains(&r) => Some(Stride::Times(r)),
            _ => None,
        }
    }

    pub(super) fn offset(&mut self, address: &Address) -> Option<LaneClass> {
        let class = match (self.class(address.base)?, self.class(address.index)?) {
            (LaneClass::Uniform, LaneClass::Uniform) => LaneClass::Uniform,
            (LaneClass::Block, LaneClass::Uniform)
                if address.index == Operand::Int(0) && address.offset == DATA =>
            {
                LaneClass::Inside
            }
            (LaneClass::Inside, LaneClass::Uniform) => LaneClass::Inside,
            (LaneClass::Linear(s), LaneClass::Uniform) => LaneClass::Linear(s),
            (LaneClass::Uniform, LaneClass::Linear(s)) if address.scale == 8 => {
                LaneClass::Linear(s)
            }
            _ => {
                self.bad = true;
                return None;
            }
        };
        Some(class)
    }

    /// Takes note of an access to memory that is not the loop's own.
    pub(super) fn access(&mut self, ty: LowTy, address: &Address) {
        let size = if ty == LowTy::Bool { 1 } else { 8 };
        self.bad |= ty == LowTy::Ptr || size != address.scale;
        let by_one = LaneClass::Linear(Stride::By(1));
        let contiguous = match (self.class(address.base), self.class(address.index)) {
            (Some(LaneClass::Uniform), Some(class)) => class == by_one,
            (Some(class), Some(LaneClass::Uniform)) => class == by_one && size == 8,
            (base, _) => {
                // Addresses that grow and indices that do, too.
                self.bad |= base != Some(LaneClass::Uniform);
                false
            }
        };
        if self.judge && !contiguous {
            self.scattered = self.scattered.max(self.loops.len() + 1);
            self.costs.entry(self.loops.len() + 1).or_default().0 += 1;
        }
    }

    /// True of a load of elements that are copied first.
    pub(super) fn copied(&mut self, r: Reg, ty: LowTy, address: &Address) -> bool {
        if !self.judge
            || self.stops
            || self.conditional
            || self.loops.len() < 2
            || address.scale != 8
        {
            return false;
        }
        let outer = |o: Operand| !matches!(o, Operand::Reg(r) if self.set.contains(&r));
        let Operand::Reg(index) = address.index else { return false };
        let Some(LaneClass::Linear(Stride::Times(stride))) = self.class(address.index) else {
            return false;
        };
        let Some(Expr::Binary(Binary::IntAdd, a, b)) = self.exprs.get(&index) else { return false };
        let (a, b) = (*a, *b);
        let column = if self.is(a, LaneClass::Uniform) { a } else { b };
        let start = if column == a { b } else { a };
        let Operand::Reg(start) = start else { return false };
        let is_start = matches!(self.exprs.get(&start), Some(Expr::Binary(Binary::IntMul, ..)));
        let found = self.loops.iter().find(|(index, _)| Operand::Reg(*index) == column);
        let Some((_, count)) = found.copied() else { return false };
        let loops: Vec<Operand> = self.loops.iter().map(|(_, count)| *count).collect();
        if !is_start || !outer(address.base) || !loops.iter().all(|count| outer(*count)) {
            return false;
        }
        let row =
            CopiedRow { base: address.base, stride, offset: address.offset, count, ty, loops };
        let same = |other: &CopiedRow| {
            (other.base, other.stride, other.offset, other.count)
                == (row.base, row.stride, row.offset, row.count)
        };
        let number = self.plan.rows.iter().position(same).unwrap_or_else(|| {
            self.plan.rows.push(row.clone());
            self.plan.rows.len() - 1
        });
        self.plan.copied.insert(r, (number, column));
        true
    }

    /// Takes a product apart into what is known before the loop. False if that is not all.
    fn factors(&self, operand: Operand, out: &mut Vec<Operand>) -> bool {
        match operand {
            Operand::Reg(r) if self.set.contains(&r) => match self.products.get(&r) {
                Some((a, b)) if out.len() < 8 => self.factors(*a, out) && self.factors(*b, out),
                Some(_) | None => false,
            },
            _ => {
                out.push(operand);
                true
            }
        }
    }

    /// Finds the blocks that can be used again, because they have the same size in every step.
    pub(super) fn keep(&mut self, body: &[Stmt]) {
        let blocks = self.plan.classes.values().any(|class| *class == LaneClass::Block);
        let Some(release) = scratch::release_of(self.cx.module).filter(|_| blocks) else { return };
        let arrays = scratch::arrays(self.cx.function, release, &scratch::Unused::default());
        let defs = scratch::definitions(self.cx.function);
        let mut made = Vec::new();
        body.iter().for_each(|stmt| made_arrays(stmt, &mut made));
        for (r, bytes) in made {
            if arrays.contains(&r) && scratch::is_same(&defs, bytes, &self.set, scratch::DEPTH) {
                self.plan.kept.push(r);
            }
            let mut factors = Vec::new();
            if self.factors(bytes, &mut factors) {
                self.plan.sizes.push(factors);
            }
        }
    }
}

/// The arrays that a statement makes, with their sizes.
fn made_arrays(stmt: &Stmt, made: &mut Vec<(Reg, Operand)>) {
    match stmt {
        Stmt::Runtime { results, op: Runtime::Array, args } => {
            made.extend(results.iter().map(|r| (*r, args[1])));
        }
        _ => deep(|| stmt.blocks().into_iter().flatten().for_each(|s| made_arrays(s, made))),
    }
}
