//! The backward parts of operations on arrays of boxes, whose adjoints are bags ([`crate::ad::bag`]).

use super::Reverser;
use crate::ad::bag::{all, from, part, unfold, zeros};
use crate::ir::{Atom, BoxId, Op, Ty, Var};

impl Reverser<'_, '_> {
    /// The type of the adjoint of an array of boxes.
    fn bag(&mut self, array: Var) -> BoxId {
        match self.bar_ty(array) {
            Ty::Box(bag) => bag,
            _ => BoxId(0),
        }
    }

    /// Adds to the adjoint of an array of boxes those of all its elements.
    fn add_elements(&mut self, array: Var, bars: Atom) {
        let bag = self.bag(array);
        let bar = all(&mut self.back, self.module, bag, bars);
        self.add_bar(&Atom::Var(array), bar);
    }

    /// Adds to the adjoint of a box; or, of the elements of an array of boxes, to those.
    pub fn add_part(&mut self, to: &Atom, bar: Atom) {
        match to {
            Atom::Var(v) if matches!(self.vars[v.0 as usize].ty, Ty::Array(..)) => {
                if self.varies(to) {
                    self.add_elements(*v, bar);
                }
            }
            to => self.add_bar(to, bar),
        }
    }

    /// The adjoints of the elements of an array of boxes that the innermost region defines, if there are any.
    pub fn take_elements(&mut self, array: Var) -> Option<Atom> {
        let bar = self.take_bar(array)?;
        let sizes = self.sizes_from(array, 0);
        Some(unfold((&mut self.back, self.module, self.cache), &bar, &sizes))
    }

    /// The sizes of an array, from this dimension on.
    fn sizes_from(&mut self, array: Var, first: usize) -> Vec<Atom> {
        let Ty::Array(_, rank) = self.vars[array.0 as usize].ty else { return Vec::new() };
        (first as u8..rank).map(|dim| self.size(array, dim)).collect()
    }

    /// The backward part of an operation on an array of boxes that varies.
    pub fn of_boxes(&mut self, op: &Op, result: Var, array: Var) {
        match op {
            Op::Get(_, indices) => {
                let Some(bar) = self.take_bar(result) else { return };
                let (bag, at) = (self.bag(array), self.primals(indices));
                let bar = part((&mut self.back, self.module, self.cache), bag, &at, bar);
                self.add_bar(&Atom::Var(array), bar);
            }
            Op::Slice { lo, .. } => {
                let Some(bar) = self.take_bar(result) else { return };
                let (bag, lo) = (self.bag(array), self.primal(lo));
                let bar = from(&mut self.back, self.module, bag, lo, bar);
                self.add_bar(&Atom::Var(array), bar);
            }
            Op::Reshape(..) => {
                let Some(bars) = self.take_elements(result) else { return };
                let sizes = self.sizes_from(array, 0);
                let bars = self.one(Op::Reshape(bars, sizes));
                self.add_elements(array, bars);
            }
            Op::Update { indices, value, .. } => {
                let Some(bars) = self.take_elements(result) else { return };
                let at = self.primals(indices);
                let bar = self.one(Op::Get(bars.clone(), at.clone()));
                self.add_part(value, bar);
                // What was there before has no influence.
                let (bag, sizes) = (self.bag(result), self.sizes_from(result, at.len()));
                let value = zeros(&mut self.back, self.module, self.cache, bag, &sizes);
                let bars = self.one(Op::Update { array: bars, indices: at, value });
                self.add_part(&Atom::Var(array), bars);
            }
            Op::Append(_, second) => {
                let Some(bars) = self.take_elements(result) else { return };
                let (middle, end) = (self.size(array, 0), self.size(result, 0));
                let slice = |lo, hi| Op::Slice { array: bars.clone(), lo, hi };
                let first = slice(Atom::Int(0), middle.clone());
                let rest = slice(middle, end);
                let (first, rest) = (self.one(first), self.one(rest));
                self.add_part(&Atom::Var(array), first);
                self.add_part(second, rest);
            }
            _ => {}
        }
    }

    /// The backward part of an operation that makes an array of boxes of these.
    pub fn made_of_boxes(&mut self, result: Var, parts: &[Atom]) {
        let Some(bars) = self.take_elements(result) else { return };
        for (i, part) in (0..).zip(parts) {
            if self.varies(part) {
                let bar = self.one(Op::Get(bars.clone(), vec![Atom::Int(i)]));
                self.add_part(part, bar);
            }
        }
    }
}
