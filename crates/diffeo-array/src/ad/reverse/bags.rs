//! The backward parts of operations on arrays whose adjoints are bags ([`crate::ad::bag`]).

use super::Reverser;
use super::boxes::Bar;
use crate::ad::bag::{all, from, part, pourer, unfold, zeros};
use crate::ir::{Atom, BoxId, Op, Ty, Var};

impl Reverser<'_, '_> {
    /// The type of the adjoint of an array.
    fn bag(&mut self, array: Var) -> BoxId {
        match self.bar_ty(array) {
            Ty::Box(bag) => bag,
            _ => BoxId(0),
        }
    }

    /// Adds a bag to the accumulator of an array.
    pub fn pour(&mut self, array: Var, bag: Atom) {
        let Ty::Box(id) = self.back.ty(&bag) else { return };
        let pour = pourer(self.module, self.cache, id);
        let acc = self.acc(array);
        self.effect(Op::Call(pour, vec![acc, bag, Atom::Int(0)]));
        self.touch(array);
    }

    /// Adds to the adjoint of an array those of all its elements.
    pub fn add_elements(&mut self, array: Var, bars: Atom) {
        let bag = self.bag(array);
        let bar = all(&mut self.back, self.module, bag, bars);
        self.add_bar(&Atom::Var(array), bar);
    }

    /// Adds to the adjoint of a Real or a box; or, of the elements of an array, to those.
    pub fn add_part(&mut self, to: &Atom, bar: Atom) {
        match self.back.ty(&bar) {
            Ty::Array(..) => self.add_array(to, bar),
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::Text
            | Ty::Box(_)
            | Ty::Acc(_)
            | Ty::Stack(_) => self.add_bar(to, bar),
        }
    }

    /// Adds to the adjoint of an array what has been added to that of an element, or of rows, of it.
    fn add_at(&mut self, array: Var, at: &[Atom], bar: Atom) {
        let bag = self.bag(array);
        let old = self.take_bar(array);
        let bar = part((&mut self.back, self.module, self.cache), bag, old, at, bar);
        self.top().bars.insert(array, Bar::Value(bar));
    }

    /// The same, where that is a bag.
    pub fn with_part(&mut self, array: Var, old: Atom, at: &[Atom], bar: Atom) -> Atom {
        let bag = self.bag(array);
        part((&mut self.back, self.module, self.cache), bag, Some(old), at, bar)
    }

    /// The adjoints of the elements of an array that the innermost region defines, if there are any.
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

    /// The backward part of an operation on an array that varies, and whose adjoint is a bag.
    pub fn of_bag(&mut self, op: &Op, result: Var, array: Var) {
        match op {
            Op::Get(_, indices) => {
                let Some(bar) = self.take_bar(result) else { return };
                let at = self.primals(indices);
                self.add_at(array, &at, bar);
            }
            Op::Slice { lo, .. } => {
                let Some(bar) = self.take_bar(result) else { return };
                let (bag, lo) = (self.bag(array), self.primal(lo));
                let cx = (&mut self.back, &mut *self.module, &mut *self.cache);
                let bar = from(cx, bag, None, lo, bar);
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

    /// The backward part of an operation that makes an array whose adjoint is a bag of these.
    pub fn made_of_parts(&mut self, result: Var, parts: &[Atom]) {
        let Some(bars) = self.take_elements(result) else { return };
        for (i, part) in (0..).zip(parts) {
            if self.varies(part) {
                let bar = self.one(Op::Get(bars.clone(), vec![Atom::Int(i)]));
                self.add_part(part, bar);
            }
        }
    }
}
