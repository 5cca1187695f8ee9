//! Accumulators of derivatives: tensors of one axis that statements change, in [`Lift::state`].
//!
//! The steps of a loop that adds to accumulators are computed at once, too, if they do not depend on each other: each
//! reads what it alone changes. That is seen from the places of all reads and additions in one step.

use crate::control::CountedLoop;
use crate::emit::union;
use crate::lift::{Lift, Outcome};
use crate::place::{product, Place};
use crate::value::{AccView, Affine, Dim, Tensor, Val};
use crate::Reason;
use diffeo_array::ir::walk::{operands, regions, statements};
use diffeo_array::ir::{Atom, Block, Elem, Op, Var};
use diffeo_calculus::prim::RealOp;
use std::rc::Rc;

/// A read of an accumulator, or an addition to it.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub root: usize,
    pub reads: bool,
    /// How deep regions lie there.
    depth: usize,
    /// A place that all steps share and only the run knows, the distance from there, and how many elements; if known.
    place: Option<(Option<Rc<str>>, Affine, i64)>,
}

/// A change of some elements.
enum Change {
    Add(Tensor),
    Clear,
}

impl<'m> Lift<'m> {
    pub fn accumulator(&mut self, op: &Op) -> Outcome<Vec<Val>> {
        let one = |value: Val| Ok(vec![value]);
        match op {
            Op::AccNew(sizes) => {
                let mut shape = Vec::new();
                for size in sizes {
                    // Of rows that nothing determines, there are none.
                    shape.push(self.known_int(size, Reason::Size)?.max(0));
                }
                let zeros = self.reals(0.0, &[product(&shape)]);
                self.state.push(zeros);
                self.scopes.push(self.open.clone());
                let (root, offset) = (self.state.len() - 1, Place::Affine(Affine::default()));
                one(Val::Acc(AccView { root, offset: Box::new(offset), shape }))
            }
            Op::AccAdd(acc, indices, value) => {
                let (place, acc) = self.element(acc, indices, false)?;
                let value = self.value(value);
                let value = self.tensor(&value, Elem::Real);
                self.add_to(&acc, &place, &value);
                Ok(Vec::new())
            }
            Op::AccAddArray(acc, array) => {
                let (place, acc) = self.element(acc, &[], false)?;
                let value = self.array(array)?;
                self.add_to(&acc, &place, &value);
                Ok(Vec::new())
            }
            Op::AccRead(acc, indices) => {
                let (place, acc) = self.element(acc, indices, true)?;
                let state = self.state[acc.root].clone();
                let read = self.read(op, acc.root, |lift| lift.take(&state, &place, &[]))?;
                one(Val::Tensor(read))
            }
            Op::AccTake(acc, indices) => {
                let (place, acc) = self.element(acc, indices, true)?;
                let state = self.state[acc.root].clone();
                let taken = self.read(op, acc.root, |lift| lift.take(&state, &place, &[]))?;
                self.change(acc.root, &place, Change::Clear);
                one(Val::Tensor(taken))
            }
            Op::AccView(acc, indices) => {
                let (acc, indices) = (self.acc(acc)?, self.values(indices));
                let offset = self.offset(&acc, &indices);
                let shape = acc.shape[indices.len()..].to_vec();
                one(Val::Acc(AccView { offset: Box::new(offset), shape, ..acc }))
            }
            Op::AccSlice { acc, lo, hi } => {
                let (acc, lo, hi) = (self.acc(acc)?, self.value(lo), self.value(hi));
                let length = self.difference(&hi, &lo)?;
                let offset = self.offset(&acc, &[lo]);
                let mut shape = acc.shape.clone();
                shape[0] = length;
                one(Val::Acc(AccView { offset: Box::new(offset), shape, ..acc }))
            }
            Op::AccReshape(acc, sizes) => {
                let acc = self.acc(acc)?;
                let mut shape = Vec::new();
                for size in sizes {
                    shape.push(self.known_int(size, Reason::Size)?);
                }
                one(Val::Acc(AccView { shape, ..acc }))
            }
            Op::AccGet(acc) => {
                let (place, acc) = self.element(acc, &[], true)?;
                let (state, window) = (self.state[acc.root].clone(), product(&acc.shape));
                let found = self.read(op, acc.root, |lift| {
                    let whole = matches!(&place, Place::Affine(a) if *a == Affine::default());
                    if whole && window == state.shape[0] {
                        return state;
                    }
                    let rows = lift.new_dim(window);
                    let place = lift.further(&place, &Affine::index(rows));
                    let taken = lift.take(&state, &place, &[]);
                    let taken = lift.broadcast_to_end(&taken, rows);
                    let dims = taken.dims[..taken.dims.len() - 1].to_vec();
                    Tensor { dims, shape: vec![window], ..taken }
                })?;
                let dims = found.dims.clone();
                one(Val::Tensor(self.reshape(&found, dims, acc.shape)))
            }
            _ => Err(self.refuse(Reason::Stacks)),
        }
    }

    fn acc(&self, atom: &Atom) -> Outcome<AccView> {
        match self.value(atom) {
            Val::Acc(view) => Ok(view),
            _ => Err(self.refuse(Reason::Stacks)),
        }
    }

    /// The place of an element of a view.
    fn offset(&mut self, acc: &AccView, indices: &[Val]) -> Place {
        let mut all = indices.to_vec();
        all.resize(acc.shape.len(), Val::int(0));
        let within = self.place(&all, &acc.shape);
        self.sum(&acc.offset, &within)
    }

    /// The view, and the place of an element of it or of all elements behind the indices. The access is noted.
    fn element(&mut self, acc: &Atom, indices: &[Atom], reads: bool) -> Outcome<(Place, AccView)> {
        let (acc, indices) = (self.acc(acc)?, self.values(indices));
        let place = self.offset(&acc, &indices);
        let noted = |place: &Place, width: i64| match place {
            Place::Affine(affine) => Some((None, affine.clone(), width)),
            Place::From(base, affine) => Some((Some(base.id.clone()), affine.clone(), width)),
            Place::Any(_) => None,
        };
        // An element whose place is not known lies in its view.
        let known = match &place {
            Place::Affine(_) => noted(&place, product(&acc.shape[indices.len()..])),
            _ => noted(&acc.offset, product(&acc.shape)),
        };
        self.accesses.push(Access { root: acc.root, reads, depth: self.depth, place: known });
        Ok((place, acc))
    }

    /// Adds to an accumulator, in the steps that get here.
    fn add_to(&mut self, acc: &AccView, place: &Place, value: &Tensor) {
        let mut value = value.clone();
        if let Some(mask) = self.mask.clone() {
            let mask = self.tensor(&mask, Elem::Bool);
            value = self.masked(&mask, &value);
        }
        self.change(acc.root, place, Change::Add(value));
    }

    /// Changes elements of an accumulator from a place on, once for each step of all open dimensions.
    fn change(&mut self, root: usize, place: &Place, change: Change) {
        if self.leaves(root) {
            return;
        }
        let (value, clears) = match change {
            Change::Add(value) => (value, false),
            // The elements that a sum of ones reaches.
            Change::Clear => {
                let mut ones = self.real(1.0);
                if let Some(mask) = self.mask.clone() {
                    let (mask, zero) = (self.tensor(&mask, Elem::Bool), self.real(0.0));
                    ones = self.select(&mask, &ones, &zero);
                }
                (ones, true)
            }
        };
        let (virtual_dims, within) = self.virtual_dims(&value.shape);
        let place = self.further(place, &within);
        let mut dims = value.dims.clone();
        dims.extend(&virtual_dims);
        let value = Tensor { dims, shape: Vec::new(), ..value };
        let scope = self.scopes[root].clone();
        let extra: Vec<Dim> = self.open.iter().copied().filter(|d| !scope.contains(d)).collect();
        let affine = match &place {
            Place::Affine(affine) | Place::From(_, affine) => Some(affine),
            Place::Any(_) => None,
        };
        let affine = affine.filter(|a| !a.terms.iter().any(|term| scope.contains(&term.0)));
        let Some(affine) = affine else {
            return self.scatter_at(root, &place, &value, &extra, clears);
        };
        let placed: Vec<Dim> = affine.terms.iter().map(|term| term.0).collect();
        // Steps that add at the same place.
        let summed: Vec<Dim> = extra.iter().copied().filter(|dim| !placed.contains(dim)).collect();
        let value = self.sum_over(&value, &summed);
        let all = union([&value.dims[..], &placed].into_iter());
        let value = self.broadcast(&value, &all);
        let state = self.state[root].clone();
        let length = state.shape[0];
        // Only the part that changes is read and written, in place.
        let (low, span) = self.extent(affine);
        let base = match &place {
            Place::From(base, _) => Some(base.clone()),
            _ => (span < length && low >= 0 && low + span <= length).then(|| self.int(0)),
        };
        let changed = match base {
            Some(base) => {
                let moved = affine.plus(1, &Affine::known(-low));
                let part = moved.filter(|_| span <= length);
                let part = part.and_then(|affine| self.put_affine(&value, &affine, span));
                part.map(|part| {
                    let low = self.int(low);
                    let start = self.each("add", &[base, low]);
                    let part = self.moved(&part, -1, &start, length);
                    let old = self.dynamic_slice(&state, &start, span);
                    let new = self.combined(&old, &part, clears);
                    let state = self.broadcast(&state, &new.dims);
                    self.dynamic_update(&state, &new, &[start])
                })
            }
            None => self
                .put_affine(&value, affine, length)
                .map(|part| self.combined(&state, &part, clears)),
        };
        match changed {
            Some(state) => self.state[root] = state,
            None => {
                let extra: Vec<Dim> = extra.into_iter().filter(|d| !summed.contains(d)).collect();
                self.scatter_at(root, &place, &value, &extra, clears);
            }
        }
    }

    /// The sum; or zeros where the part is not 0.
    fn combined(&mut self, old: &Tensor, part: &Tensor, clears: bool) -> Tensor {
        if !clears {
            return self.each("add", &[old.clone(), part.clone()]);
        }
        let zeros = self.reals(0.0, &old.shape);
        let reached = self.compare("NE", part, &zeros);
        self.select(&reached, &zeros, old)
    }

    fn scatter_at(
        &mut self,
        root: usize,
        place: &Place,
        value: &Tensor,
        extra: &[Dim],
        clears: bool,
    ) {
        let at = self.place_tensor(place);
        let summed: Vec<Dim> = extra.iter().copied().filter(|d| !at.dims.contains(d)).collect();
        let value = self.sum_over(value, &summed);
        let all = union([&at.dims[..], &value.dims].into_iter());
        let scope = self.scopes[root].clone();
        let state = self.state[root].clone();
        let own: Vec<Dim> = scope
            .iter()
            .copied()
            .filter(|dim| all.contains(dim) || state.dims.contains(dim))
            .collect();
        let all = union([&all[..], &own].into_iter());
        let (mut at, value) = (self.broadcast(&at, &all), self.broadcast(&value, &all));
        let state = self.broadcast(&state, &own);
        let length = state.shape[0];
        let mut stride = length;
        for dim in own.iter().rev() {
            let index = self.iota(*dim);
            let step = self.times(&index, stride);
            at = self.each("add", &[at, step]);
            stride *= self.sizes[*dim as usize];
        }
        let count = product(&self.sizes_of(&all, &[]));
        let flat = self.reshape(&state, Vec::new(), vec![stride]);
        let at = self.reshape(&at, Vec::new(), vec![count]);
        let value = self.reshape(&value, Vec::new(), vec![count]);
        let found = match clears {
            false => self.scatter_add(&flat, &at, &value),
            true => {
                let zeros = self.reals(0.0, &flat.shape);
                let reached = self.scatter_add(&zeros, &at, &value);
                self.combined(&flat, &reached, true)
            }
        };
        self.state[root] = self.reshape(&found, own, vec![length]);
    }

    // Loops whose steps are computed at once

    /// The results of a counted loop, if its steps do not depend on each other: variables that it carries are sums that
    /// no step looks at.
    pub fn at_once(&mut self, count: &Val, of: &CountedLoop<'_>) -> Option<Vec<Val>> {
        let CountedLoop { index, carried, body } = *of;
        self.range(count)?;
        let inits = self.inits(carried);
        let passes = |i: usize| body.results[i] == Atom::Var(carried[i].param);
        let fits = |i: usize| match &inits[i] {
            Val::Acc(_) => passes(i),
            Val::Tensor(t) if t.elem != Elem::Real || !t.shape.is_empty() => false,
            Val::Real(_) | Val::Tensor(_) => is_sum(body, carried[i].param, &body.results[i]),
            _ => false,
        };
        if !(0..carried.len()).all(fits) {
            return None;
        }
        let (out, texts, accesses) = (self.out.len(), self.texts.len(), self.accesses.len());
        let (state, checks) = (self.state.clone(), self.checks.len());
        let (split, written) = (self.split.clone(), self.count);
        let found = self.steps(count, index, |lift| {
            for (c, init) in carried.iter().zip(&inits) {
                let begins = match init {
                    Val::Acc(_) => init.clone(),
                    // Plus any number, that number.
                    _ => Val::Real(-0.0),
                };
                lift.env[c.param.0 as usize] = Some(begins);
            }
            let values = lift.block(body)?;
            let mut parts = Vec::new();
            for (value, init) in values.into_iter().zip(&inits) {
                parts.push(match init {
                    Val::Acc(_) => None,
                    _ => {
                        let mut part = lift.tensor(&value, Elem::Real);
                        if let Some(mask) = lift.mask.clone().filter(|_| count.known().is_none()) {
                            let mask = lift.tensor(&mask, Elem::Bool);
                            part = lift.masked(&mask, &part);
                        }
                        Some(part)
                    }
                });
            }
            Ok(parts)
        });
        match found {
            Ok((dim, parts)) if self.independent(dim, accesses, state.len()) => {
                let mut all = Vec::new();
                for (part, init) in parts.into_iter().zip(inits) {
                    all.push(match part {
                        None => init,
                        Some(part) => {
                            let sum = self.sum_over(&part, &[dim]);
                            let init = self.tensor(&init, Elem::Real);
                            Val::Tensor(self.each("add", &[init, sum]))
                        }
                    });
                }
                Some(all)
            }
            _ => {
                self.forget(texts);
                self.out.truncate(out);
                self.accesses.truncate(accesses);
                self.checks.truncate(checks);
                (self.state, self.split, self.count) = (state, split, written);
                None
            }
        }
    }

    /// Each step of a dimension reads, of the accumulators from outside, only elements that it alone changes.
    fn independent(&self, dim: Dim, from: usize, roots: usize) -> bool {
        let all = &self.accesses[from..];
        let read = |root: usize| all.iter().any(|a| a.root == root && a.reads);
        (0..roots).filter(|root| read(*root)).all(|root| {
            let mut first: Option<(&Option<Rc<str>>, Affine)> = None;
            let (mut low, mut high) = (i64::MAX, i64::MIN);
            for access in all.iter().filter(|access| access.root == root) {
                let Some((base, affine, width)) = &access.place else { return false };
                // In a region within the step, one name may stand for several places.
                if base.is_some() && access.depth != self.depth {
                    return false;
                }
                // Dimensions inside the step extend the place; the others are the same for all.
                let (inner, outer): (Vec<_>, Vec<_>) =
                    affine.terms.iter().copied().partition(|(d, _)| *d > dim);
                let outer = Affine { constant: 0, terms: outer };
                match &first {
                    None => first = Some((base, outer)),
                    Some(first) if *first == (base, outer) => {}
                    Some(_) => return false,
                }
                let inner = Affine { constant: affine.constant, terms: inner };
                let (start, span) = self.extent(&inner);
                low = low.min(start);
                high = high.max(start + span - 1 + width);
            }
            let step = first.and_then(|(_, outer)| {
                outer.terms.iter().find(|(d, _)| *d == dim).map(|(_, a)| a.abs())
            });
            step.is_some_and(|step| high - low <= step)
        })
    }
}

/// The result of a body is a variable plus and minus terms that do not depend on it, and nothing else reads the variable.
fn is_sum(body: &Block, param: Var, result: &Atom) -> bool {
    let mut at = param;
    while uses(body, at) == 1 && *result != Atom::Var(at) {
        let next = body.stmts.iter().find(|stmt| match &stmt.op {
            Op::Real(RealOp::Add, xs) => xs.contains(&Atom::Var(at)),
            Op::Real(RealOp::Sub, xs) => xs[0] == Atom::Var(at),
            _ => false,
        });
        let Some(next) = next else { return false };
        at = next.results[0];
    }
    uses(body, at) == 1
}

/// The number of uses of a variable in a block and its regions.
fn uses(block: &Block, var: Var) -> usize {
    let of = |atoms: &[Atom]| atoms.iter().filter(|atom| **atom == Atom::Var(var)).count();
    let mut count = of(&block.results);
    statements(block, &mut |stmt| {
        operands(&stmt.op, |atom| count += of(std::slice::from_ref(atom)));
        regions(&stmt.op, |region| count += of(&region.results));
    });
    count
}
