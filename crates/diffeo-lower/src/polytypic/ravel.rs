//! The Reals of a structure from left to right as an array, and a structure with other Reals.

use super::{has_data, innermost, Family, NOWHERE};
use crate::sym::Sym;
use crate::Lower;
use diffeo_array::ir::{Atom, Elem, FlatTy, Op, Scalar, SiteId, Stop};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::Ty;

/// An array of Reals.
const REALS: FlatTy = FlatTy::Array(Elem::Real, 1);

/// Whether no Real can be in it.
pub(super) fn is_inert(ty: &Ty) -> bool {
    match ty {
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => true,
        Ty::Real | Ty::Data(..) => false,
        Ty::Tuple(types) => types.iter().all(is_inert),
        Ty::Record(fields) => fields.iter().all(|(_, ty)| is_inert(ty)),
        Ty::Array(element) => is_inert(element),
    }
}

impl<'p> Lower<'p> {
    pub(crate) fn ravel(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Sym {
        if let (Ty::Array(_), Ty::Real) = (ty, innermost(ty)) {
            let arrays = self.arrays(value);
            let flat = arrays.iter().map(|array| self.in_a_row(array, at).0);
            return Sym::Array(flat.collect());
        }
        let count = self.reals(ty, value, at);
        let sizes = vec![count.clone()];
        let out = self.fill(count, sizes, at, &mut |_, _| Atom::Real(0.0));
        let (out, _) = self.put(ty, value, out, Atom::Int(0), at);
        Sym::Array([out].into())
    }

    /// How many Reals there are in a value.
    pub(super) fn reals(&mut self, ty: &Ty, value: &Sym, at: SiteId) -> Atom {
        match ty {
            _ if is_inert(ty) => Atom::Int(0),
            Ty::Real => Atom::Int(1),
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = self.components(value, at);
                let types = ty.components().unwrap_or_default();
                self.reals_of(&types, &parts, at)
            }
            Ty::Array(element) => {
                let arrays = self.arrays(value);
                if let (Ty::Real, [array]) = (innermost(ty), arrays.as_slice()) {
                    let sizes = self.dims(array, 0, at);
                    return self.product(&sizes, at);
                }
                let count = self.length(value, at);
                let sum = self.for_each(count, vec![Atom::Int(0)], at, &mut |cx, i, state| {
                    let x = cx.get(element, &arrays, &i, at);
                    let n = cx.reals(element, &x, at);
                    let sum = state.into_iter().next().unwrap_or(Atom::Int(0));
                    vec![cx.int(IntOp::WrappingAdd, sum, n, at)]
                });
                sum.into_iter().next().unwrap_or(Atom::Int(0))
            }
            Ty::Data(..) => {
                let types = self.plain_types(ty);
                let id =
                    self.family(Family::Count, ty, &types, vec![FlatTy::Int], &|cx, params| {
                        let value = cx.plain_value(ty, &mut params.into_iter());
                        cx.switch(&value, NOWHERE, &[FlatTy::Int], &mut |cx, tag, fields| {
                            let types = cx.field_types(ty, tag);
                            vec![cx.reals_of(&types, &fields, NOWHERE)]
                        })
                    });
                let args = self.store_plain(ty, value, at);
                self.one(at, Op::Call(id, args))
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => Atom::Int(0),
        }
    }

    fn reals_of(&mut self, types: &[Ty], values: &[Sym], at: SiteId) -> Atom {
        let mut sum = Atom::Int(0);
        for (ty, value) in types.iter().zip(values) {
            let n = self.reals(ty, value, at);
            sum = match (sum, n) {
                (Atom::Int(0), n) => n,
                (sum, Atom::Int(0)) => sum,
                (Atom::Int(a), Atom::Int(b)) => Atom::Int(a.wrapping_add(b)),
                (sum, n) => self.int(IntOp::WrappingAdd, sum, n, at),
            };
        }
        sum
    }

    /// Puts the Reals of a value into an array from a position on; gives the array and the position behind them.
    fn put(&mut self, ty: &Ty, value: &Sym, out: Atom, position: Atom, at: SiteId) -> (Atom, Atom) {
        match (ty, value) {
            _ if is_inert(ty) => (out, position),
            (Ty::Real, Sym::Leaf(x)) => {
                let (indices, value) = (vec![position.clone()], x.clone());
                let out = self.one(at, Op::Update { array: out, indices, value });
                (out, self.int(IntOp::WrappingAdd, position, Atom::Int(1), at))
            }
            (Ty::Tuple(_) | Ty::Record(_), _) => {
                let parts = self.components(value, at);
                let types = ty.components().unwrap_or_default();
                self.put_all(&types, &parts, out, position, at)
            }
            (Ty::Array(element), _) => {
                let arrays = self.arrays(value);
                let count = self.length(value, at);
                let state = self.for_each(count, vec![out, position], at, &mut |cx, i, state| {
                    let x = cx.get(element, &arrays, &i, at);
                    let [out, position] = state.as_slice() else { return Vec::new() };
                    let (out, position) = cx.put(element, &x, out.clone(), position.clone(), at);
                    vec![out, position]
                });
                pair(state)
            }
            (Ty::Data(..), _) => {
                let params = [self.plain_types(ty), vec![REALS, FlatTy::Int]].concat();
                let results = vec![REALS, FlatTy::Int];
                let id = self.family(Family::Fill, ty, &params, results.clone(), &|cx, params| {
                    let mut params = params.into_iter();
                    let value = cx.plain_value(ty, &mut params);
                    let (out, position) = pair(params.collect());
                    cx.switch(&value, NOWHERE, &results, &mut |cx, tag, fields| {
                        let types = cx.field_types(ty, tag);
                        let (out, position) = (out.clone(), position.clone());
                        let (out, position) = cx.put_all(&types, &fields, out, position, NOWHERE);
                        vec![out, position]
                    })
                });
                let mut args = self.store_plain(ty, value, at);
                args.extend([out, position]);
                pair(self.ops(at, Op::Call(id, args)))
            }
            (
                Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_),
                _,
            ) => (out, position),
        }
    }

    fn put_all(
        &mut self,
        types: &[Ty],
        values: &[Sym],
        out: Atom,
        position: Atom,
        at: SiteId,
    ) -> (Atom, Atom) {
        let mut state = (out, position);
        for (ty, value) in types.iter().zip(values) {
            state = self.put(ty, value, state.0, state.1, at);
        }
        state
    }

    /// The structure of a value with the Reals of an array.
    pub(crate) fn unravel(&mut self, ty: &Ty, value: &Sym, leaves: &Sym, at: SiteId) -> Sym {
        let found = self.length(leaves, at);
        let wanted = self.reals(ty, value, at);
        let same = self.compare(Comparison::Eq, found.clone(), wanted.clone(), at);
        self.choose(same, at, &mut |_| Vec::new(), &mut |cx| {
            let parts = vec![
                cx.one(at, Op::Show(Scalar::Int, found.clone())),
                cx.text(" numbers for a structure with ", at),
                cx.one(at, Op::Show(Scalar::Int, wanted.clone())),
            ];
            let difference = cx.texts(parts, at);
            cx.stop(Stop::Shape { what: Name::new("unravel"), difference }, at);
            Vec::new()
        });
        let Some(leaves) = self.arrays(leaves).into_iter().next() else { return Sym::Never };
        self.take(ty, value, &leaves, Atom::Int(0), at).0
    }

    /// A value with the Reals of an array from a position on, and the position behind them.
    fn take(
        &mut self,
        ty: &Ty,
        value: &Sym,
        leaves: &Atom,
        position: Atom,
        at: SiteId,
    ) -> (Sym, Atom) {
        match ty {
            _ if is_inert(ty) => (value.clone(), position),
            Ty::Real => {
                let x = self.one(at, Op::Get(leaves.clone(), vec![position.clone()]));
                (Sym::Leaf(x), self.int(IntOp::WrappingAdd, position, Atom::Int(1), at))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let parts = self.components(value, at);
                let types = ty.components().unwrap_or_default();
                let (parts, position) = self.take_all(&types, &parts, leaves, position, at);
                (Sym::Tuple(parts.into()), position)
            }
            Ty::Array(element) => {
                let arrays = self.arrays(value);
                if let (Ty::Real, [array], false) = (innermost(ty), arrays.as_slice(), has_data(ty))
                {
                    let sizes = self.dims(array, 0, at);
                    let count = self.product(&sizes, at);
                    let hi = self.int(IntOp::WrappingAdd, position.clone(), count, at);
                    let op = Op::Slice { array: leaves.clone(), lo: position, hi: hi.clone() };
                    let mut flat = self.one(at, op);
                    if sizes.len() > 1 {
                        flat = self.one(at, Op::Reshape(flat, sizes));
                    }
                    return (Sym::Array([flat].into()), hi);
                }
                let count = self.length(value, at);
                let mut state = arrays;
                state.push(position);
                let shape = self.plain(element);
                let mut state = self.for_each(count, state, at, &mut |cx, i, mut state| {
                    let position = state.pop().unwrap_or(Atom::Int(0));
                    let x = cx.get(element, &state, &i, at);
                    let (x, position) = cx.take(element, &x, leaves, position, at);
                    let values = cx.element(&x, &shape, at);
                    let arrays = state.into_iter().zip(values).map(|(array, value)| {
                        cx.one(at, Op::Update { array, indices: vec![i.clone()], value })
                    });
                    let mut next: Vec<Atom> = arrays.collect();
                    next.push(position);
                    next
                });
                let position = state.pop().unwrap_or(Atom::Int(0));
                (Sym::Array(state.into()), position)
            }
            Ty::Data(..) => {
                let types = self.plain_types(ty);
                let params = [types.clone(), vec![REALS, FlatTy::Int]].concat();
                let results = [types, vec![FlatTy::Int]].concat();
                let id =
                    self.family(Family::Rebuild, ty, &params, results.clone(), &|cx, params| {
                        let mut params = params.into_iter();
                        let value = cx.plain_value(ty, &mut params);
                        let (leaves, position) = pair(params.collect());
                        cx.switch(&value, NOWHERE, &results, &mut |cx, tag, fields| {
                            let types = cx.field_types(ty, tag);
                            let (values, position) =
                                cx.take_all(&types, &fields, &leaves, position.clone(), NOWHERE);
                            let value = cx.construct(ty, tag, values, NOWHERE);
                            let mut results = cx.store_plain(ty, &value, NOWHERE);
                            results.push(position);
                            results
                        })
                    });
                let mut args = self.store_plain(ty, value, at);
                args.extend([leaves.clone(), position]);
                let mut atoms = self.ops(at, Op::Call(id, args));
                let position = atoms.pop().unwrap_or(Atom::Int(0));
                (self.plain_value(ty, &mut atoms.into_iter()), position)
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                (value.clone(), position)
            }
        }
    }

    fn take_all(
        &mut self,
        types: &[Ty],
        values: &[Sym],
        leaves: &Atom,
        position: Atom,
        at: SiteId,
    ) -> (Vec<Sym>, Atom) {
        let mut position = position;
        let mut taken = Vec::new();
        for (ty, value) in types.iter().zip(values) {
            let (value, next) = self.take(ty, value, leaves, position, at);
            taken.push(value);
            position = next;
        }
        (taken, position)
    }
}

pub(super) fn pair(atoms: Vec<Atom>) -> (Atom, Atom) {
    let mut atoms = atoms.into_iter();
    let mut next = || atoms.next().unwrap_or(Atom::Int(0));
    (next(), next())
}
