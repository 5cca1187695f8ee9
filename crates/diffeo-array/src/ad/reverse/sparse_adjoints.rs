//! The backward parts of operations on arrays whose adjoints are bags ([`crate::ad::sparse_adjoint`]).

use super::boxes::{with_fields, Bar};
use super::scope::free;
use super::Reverser;
use crate::ad::sparse_adjoint::{
    all, from, part, part_by, scatter_function, unfold, zeros, AdjointCx,
};
use crate::ir::{Atom, BoxId, Elem, FlatTy, Op, Scalar, Var};
use diffeo_calculus::prim::{Comparison, IntOp};

impl Reverser<'_, '_> {
    /// The type of the adjoint of an array.
    fn bag(&mut self, array: Var) -> BoxId {
        match self.bar_ty(array) {
            FlatTy::Box(bag) => bag,
            _ => BoxId(0),
        }
    }

    /// Adds a bag to the accumulator of an array.
    pub fn scatter(&mut self, array: Var, bag: Atom) {
        let acc = self.acc(array);
        self.pour_into(acc, bag);
        self.touch(array);
    }

    fn pour_into(&mut self, acc: Atom, bag: Atom) {
        let FlatTy::Box(id) = self.back.ty(&bag) else { return };
        if let Some(whole) = self.wholes.get(&bag_var(&bag)).cloned() {
            return self.effect(Op::AccAddArray(acc, whole));
        }
        let scatter = scatter_function(self.module, self.cache, id);
        self.effect(Op::Call(scatter, vec![acc, bag, Atom::Int(0)]));
    }

    /// The bag of the adjoints of all elements.
    fn whole(&mut self, bag: BoxId, array: Atom) -> Atom {
        let made = all(&mut self.back, self.module, bag, array.clone());
        self.wholes.insert(bag_var(&made), array);
        made
    }

    /// Adds to the adjoint of an array those of all its elements.
    pub fn add_elements(&mut self, array: Var, bars: Atom) {
        let bag = self.bag(array);
        let bar = self.whole(bag, bars);
        self.add_bar(&Atom::Var(array), bar);
    }

    /// Adds to the adjoint of a Real or a box; or, of the elements of an array, to those.
    pub fn add_part(&mut self, to: &Atom, bar: Atom) {
        match self.back.ty(&bar) {
            FlatTy::Array(..) => self.add_array(to, bar),
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => self.add_bar(to, bar),
        }
    }

    /// Adds to the adjoint of an array what has been added to that of an element, or of rows, of it.
    fn add_at(&mut self, array: Var, at: &[Atom], bar: Atom) {
        let old = self.bag_so_far(array);
        let dense = match self.vars[array.0 as usize].ty {
            FlatTy::Array(Elem::Real, _) => {
                let whole = self.wholes.contains_key(&bag_var(&bar));
                self.dense(array, if whole { at.len() } else { usize::MAX })
            }
            _ => None,
        };
        let Some((cond, acc)) = dense else {
            let sum = self.with_part(array, old, at, bar);
            return self.set_bar(array, sum);
        };
        let old = old.unwrap_or_else(|| self.zero_bar(array));
        self.back.open();
        match self.back.ty(&bar) {
            FlatTy::Box(_) => {
                let rows = self.read(Op::AccView(acc, at.to_vec()));
                self.pour_into(rows, bar.clone());
            }
            _ => self.effect(Op::AccAdd(acc, at.to_vec(), bar.clone())),
        }
        let then = self.back.close(vec![old.clone()]);
        self.back.open();
        let sum = self.with_part(array, Some(old), at, bar);
        let otherwise = self.back.close(vec![sum]);
        let sum = self.one(Op::If { cond, then, otherwise });
        self.set_bar(array, sum);
    }

    /// The same for an element that is a box, of whose adjoint some fields are known; false if it is none.
    fn bag_of_fields(&mut self, element: Var, array: Var, indices: &[Atom]) -> bool {
        let Some(Bar::Fields(tag, fields)) = self.top().bars.get(&element).cloned() else {
            return false;
        };
        let (old, bag, at) = (self.bag_so_far(array), self.bag(array), self.primals(indices));
        let Some(value) = self.take_bar(element) else { return false };
        let sum = |cx: AdjointCx<'_>, old: Atom| with_fields(cx, old, tag, &fields);
        let cx = (&mut self.back, &mut *self.module, &mut *self.cache);
        let bar = part_by(cx, bag, (old, &at), value, &sum);
        self.set_bar(array, bar);
        true
    }

    /// Whether a variable is an array.
    pub fn is_array(&self, v: Var) -> bool {
        matches!(self.vars[v.0 as usize].ty, FlatTy::Array(..))
    }

    /// Puts a value in the place of the adjoint so far.
    pub fn set_bar(&mut self, v: Var, bar: Atom) {
        self.top().bars.insert(v, Bar::Value(bar));
    }

    /// What has been added to the adjoint of an array so far, which is a bag; none if nothing. A branch goes on with
    /// what was there before it, and so does each step of a loop.
    pub fn bag_so_far(&mut self, array: Var) -> Option<Atom> {
        self.bag_in(array, self.scopes.len() - 1)
    }

    /// The same in an open region.
    pub fn bag_in(&mut self, array: Var, depth: usize) -> Option<Atom> {
        if let Some(Bar::Value(bar)) = self.scopes[depth].bars.get(&array) {
            return Some(bar.clone());
        }
        if depth <= self.homes[array.0 as usize] {
            return None;
        }
        if self.scopes[depth].slots.is_some() {
            return self.bag_in(array, depth - 1);
        }
        let ty = self.bar_ty(array);
        let name = self.bar_name(&Atom::Var(array));
        let start = self.back.var(ty, name);
        self.scopes[depth].starts.insert(array, start);
        self.scopes[depth].bars.insert(array, Bar::Value(Atom::Var(start)));
        Some(Atom::Var(start))
    }

    /// Where loops take as many steps as an array has elements, or there is a comprehension with as many beside them,
    /// what they add goes to an accumulator: whether that is so, and the accumulator. None if that is not known before.
    /// A step adds to all elements from this dimension on.
    fn dense(&mut self, array: Var, whole: usize) -> Option<(Atom, Atom)> {
        let (home, top) = (self.homes[array.0 as usize], self.scopes.len() - 1);
        if let Some(known) = (home..=top).find_map(|depth| self.scopes[depth].dense.get(&array)) {
            return Some(known.clone());
        }
        let around = (home..top).find(|depth| self.steps_known(depth + 1, *depth).is_some());
        let (depth, counts): (usize, Vec<Atom>) = match around {
            Some(depth) => {
                let steps = |inner| self.steps_known(inner, depth);
                (depth, (depth + 1..=top).map_while(steps).collect())
            }
            None => (top, vec![self.steps_beside(array, top)?]),
        };
        let made = self.made_beside(array, depth);
        let (mut counts, sizes) = (self.primals(&counts), self.sizes_from(array, 0));
        counts.extend(sizes.iter().skip(whole).cloned());
        self.back.open();
        let [steps, elements] = [&counts, &sizes].map(|factors| {
            let mut factors = factors.iter().cloned();
            let first = factors.next().unwrap_or(Atom::Int(1));
            factors.fold(first, |a, b| self.one(Op::IntFits(IntOp::Mul, vec![a, b])))
        });
        let mut cond = self.one(Op::Compare(Comparison::Ge, Scalar::Int, steps, elements.clone()));
        for sizes in made {
            let mut work = Atom::Int(1);
            for size in sizes {
                let size = self.one(Op::IntFits(IntOp::Max, vec![size, Atom::Int(0)]));
                work = self.one(Op::IntFits(IntOp::Mul, vec![work, size]));
            }
            let more = Op::Compare(Comparison::Ge, Scalar::Int, work, elements.clone());
            let more = self.one(more);
            cond = self.one(Op::Or(cond, more));
        }
        let sizes = sizes.into_iter().map(|size| {
            let size = self.one(Op::Select(cond.clone(), size, Atom::Int(0)));
            self.one(Op::IntFits(IntOp::Max, vec![size, Atom::Int(0)]))
        });
        let sizes = sizes.collect();
        let acc = self.one(Op::AccNew(sizes));
        let made = self.back.close(Vec::new());
        self.begin_with(depth, made.stmts);
        self.scopes[depth].dense.insert(array, (cond.clone(), acc.clone()));
        Some((cond, acc))
    }

    /// How many steps a loop in a region has that reads elements of an array, if there is one and that is known there.
    fn steps_beside(&self, array: Var, depth: usize) -> Option<Atom> {
        let count = |v: Var| {
            let op = &self.scopes[depth].definition(v)?.op;
            let (Op::For { count, .. } | Op::Build { count, .. } | Op::Reduce { count, .. }) = op
            else {
                return None;
            };
            let known = !matches!(count, Atom::Var(v) if self.homes[v.0 as usize] > depth);
            (known && free(op).contains(&array)).then(|| (v, count.clone()))
        };
        let found = self.scopes[depth].defined().filter_map(count);
        found.min_by_key(|(v, _)| *v).map(|(_, count)| count)
    }

    /// The sizes of what comprehensions in a region make, of as many dimensions as an array.
    fn made_beside(&mut self, array: Var, depth: usize) -> Vec<Vec<Atom>> {
        let rank = match self.vars[array.0 as usize].ty {
            FlatTy::Array(_, rank) => rank,
            _ => 0,
        };
        let scope = &self.scopes[depth];
        let made = |v: &Var| {
            scope.definition(*v).is_some_and(|stmt| matches!(stmt.op, Op::Build { .. }))
                && self.vars[v.0 as usize].ty == FlatTy::Array(Elem::Real, rank)
        };
        let mut arrays: Vec<Var> = scope.defined().filter(made).collect();
        arrays.sort();
        arrays.truncate(1);
        arrays.into_iter().map(|v| self.sizes_from(v, 0)).collect()
    }

    /// How many steps a loop has whose step a region is, if that is known in a region around it.
    fn steps_known(&self, inner: usize, depth: usize) -> Option<Atom> {
        let steps = self.scopes[inner].steps.clone()?;
        match steps {
            Atom::Var(v) if self.homes[v.0 as usize] > depth => None,
            steps => Some(steps),
        }
    }

    /// Puts what was added to the adjoint of an array in the loops of the innermost region to it.
    pub fn flush(&mut self, array: Var) {
        let Some((cond, acc)) = self.top().dense.remove(&array) else { return };
        let (bag, old) = (self.bag(array), self.bag_so_far(array));
        self.back.open();
        let sum = self.read(Op::AccGet(acc));
        let sum = self.whole(bag, sum);
        let sum = match &old {
            Some(old) => self.sum_bars(old.clone(), sum),
            None => sum,
        };
        let then = self.back.close(vec![sum]);
        self.back.open();
        let old = old.unwrap_or_else(|| self.zero_bar(array));
        let otherwise = self.back.close(vec![old]);
        let sum = self.one(Op::If { cond, then, otherwise });
        self.set_bar(array, sum);
    }

    /// The same for all arrays of outside.
    pub fn flush_outer(&mut self) {
        let top = self.scopes.len() - 1;
        let arrays: Vec<Var> = self.top().dense.keys().copied().collect();
        for array in arrays {
            if self.homes[array.0 as usize] < top {
                self.flush(array);
            }
        }
    }

    /// A bag, if it is not zero, and the adjoint of the element, or rows, of an array at these indices.
    pub fn with_part(&mut self, array: Var, old: Option<Atom>, at: &[Atom], bar: Atom) -> Atom {
        let bag = self.bag(array);
        part((&mut self.back, self.module, self.cache), bag, old, at, bar)
    }

    /// The adjoints of the elements of an array that the innermost region defines, if there are any.
    pub fn take_elements(&mut self, array: Var) -> Option<Atom> {
        let bar = self.take_bar(array)?;
        let sizes = self.sizes_from(array, 0);
        Some(unfold((&mut self.back, self.module, self.cache), &bar, &sizes))
    }

    /// The sizes of an array, from this dimension on.
    fn sizes_from(&mut self, array: Var, first: usize) -> Vec<Atom> {
        let FlatTy::Array(_, rank) = self.vars[array.0 as usize].ty else { return Vec::new() };
        (first as u8..rank).map(|dim| self.size(array, dim)).collect()
    }

    /// The backward part of an operation on an array that varies, and whose adjoint is a bag.
    pub fn of_bag(&mut self, op: &Op, result: Var, array: Var) {
        match op {
            Op::Get(_, indices) if self.bag_of_fields(result, array, indices) => {}
            Op::Get(_, indices) => {
                let Some(bar) = self.take_bar(result) else { return };
                let at = self.primals(indices);
                self.add_at(array, &at, bar);
            }
            Op::Slice { lo, .. } => {
                let Some(bar) = self.take_bar(result) else { return };
                let (bag, lo) = (self.bag(array), self.primal(lo));
                let old = self.bag_so_far(array);
                let cx = (&mut self.back, &mut *self.module, &mut *self.cache);
                let bar = from(cx, bag, old, lo, bar);
                self.set_bar(array, bar);
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

/// The variable of a bag.
fn bag_var(bag: &Atom) -> Option<Var> {
    match bag {
        Atom::Var(v) => Some(*v),
        Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    }
}
