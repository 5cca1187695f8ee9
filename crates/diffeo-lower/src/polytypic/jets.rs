//! Jets: values with an array of derivatives in the place of each Real (`J(T)` of Huot, Staton & Vákár), and their
//! conversion to one value for each derivative, and back.
//!
//! A Taylor coefficient is a derivative over the factorial of its multi-index.

use super::{has_data, Family, NOWHERE};
use crate::sym::Sym;
use crate::Lower;
use diffeo_array::ad::{factorials, Orders};
use diffeo_array::ir::{Atom, Check, Elem, FlatTy, Op, SiteId};
use diffeo_base::Name;
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::Ty;

/// A Taylor coefficient: the orders, and its place among theirs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Coefficient {
    pub orders: Orders,
    pub place: usize,
}

impl<'p> Lower<'p> {
    /// Of a value with derivatives in the place of its Reals, the value with one Taylor coefficient there. The first
    /// one is asked for first: then arrays of another length stop the program.
    pub(crate) fn coefficient(
        &mut self,
        ty: &Ty,
        jet: &Sym,
        which: Coefficient,
        at: SiteId,
    ) -> Sym {
        match ty {
            Ty::Real => {
                let arrays = self.arrays(jet);
                let Some(array) = arrays.first() else { return Sym::Never };
                self.check_derivatives(array, which, at);
                Sym::Leaf(self.coefficient_of(array, 0, which, at))
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                let parts = self.components(jet, at);
                let parts = types.iter().zip(parts.iter());
                Sym::Tuple(parts.map(|(ty, jet)| self.coefficient(ty, jet, which, at)).collect())
            }
            Ty::Array(element) => {
                let arrays = self.arrays(jet);
                if has_data(element) {
                    return self.each(
                        (&jet_type(element), element),
                        &arrays,
                        at,
                        &mut |cx, _, x| cx.coefficient(element, &x, which, at),
                    );
                }
                let mut made = Vec::new();
                for array in arrays {
                    made.push(match self.f.builder.ty(&array) {
                        FlatTy::Array(Elem::Real, rank) => {
                            self.check_derivatives(&array, which, at);
                            self.coefficient_of(&array, rank - 1, which, at)
                        }
                        _ => array,
                    });
                }
                Sym::Array(made.into())
            }
            Ty::Data(..) => {
                let from = jet_type(ty);
                let (params, results) = (self.plain_types(&from), self.plain_types(ty));
                let id =
                    self.family(Family::Coefficient(which), ty, &params, results, &|cx, params| {
                        let jet = cx.plain_value(&from, &mut params.into_iter());
                        let types = cx.plain_types(ty);
                        cx.switch(&jet, NOWHERE, &types, &mut |cx, tag, fields| {
                            let kinds = cx.field_types(ty, tag);
                            let parts = kinds.iter().zip(&fields);
                            let values: Vec<Sym> = parts
                                .map(|(ty, jet)| cx.coefficient(ty, jet, which, NOWHERE))
                                .collect();
                            let value = cx.construct(ty, tag, values, NOWHERE);
                            cx.store_plain(ty, &value, NOWHERE)
                        })
                    });
                let args = self.store_plain(&from, jet, at);
                let atoms = self.ops(at, Op::Call(id, args));
                self.plain_value(ty, &mut atoms.into_iter())
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => jet.clone(),
        }
    }

    /// Stops the program, as the evaluator does, if there are more or fewer derivatives. Rows that are not there have
    /// no length.
    fn check_derivatives(&mut self, array: &Atom, which: Coefficient, at: SiteId) {
        if which.place > 0 {
            return;
        }
        let Orders { k, r } = which.orders;
        let what = Name::from(format!("`jet({k}, {r}, …)` takes this many derivatives of a Real"));
        let expected = Atom::Int(factorials(which.orders).len() as i64);
        let found = self.dim(array, self.rank(array) - 1, at);
        let found = self.or(found, expected.clone(), at);
        self.ops(at, Op::Check(Check::Size { what, expected, found }));
    }

    /// The coefficients, in an array of this rank, of an array of derivatives.
    fn coefficient_of(&mut self, jet: &Atom, rank: u8, which: Coefficient, at: SiteId) -> Atom {
        if rank > 0 {
            let count = self.dim(jet, 0, at);
            let index = self.f.builder.var(FlatTy::Int, None);
            self.f.builder.open();
            let row = self.one(at, Op::Get(jet.clone(), vec![Atom::Var(index)]));
            let element = self.coefficient_of(&row, rank - 1, which, at);
            let body = self.f.builder.close(vec![element]);
            return self.one(at, Op::Build { count, index, body });
        }
        let place = Atom::Int(which.place as i64);
        let x = self.one(at, Op::Get(jet.clone(), vec![place]));
        match factorials(which.orders)[which.place] {
            1.0 => x,
            factorial => self.one(at, Op::Real(RealOp::Div, vec![x, Atom::Real(factorial)])),
        }
    }

    /// The value with derivatives in the place of its Reals, of those with one Taylor coefficient there each.
    pub(crate) fn jet_of(&mut self, ty: &Ty, values: &[Sym], orders: Orders, at: SiteId) -> Sym {
        match ty {
            Ty::Real => {
                let mut derivatives = Vec::new();
                for (value, factorial) in values.iter().zip(factorials(orders)) {
                    let Sym::Leaf(x) = value else { return Sym::Never };
                    derivatives.push(match factorial {
                        1.0 => x.clone(),
                        _ => {
                            let factors = vec![Atom::Real(factorial), x.clone()];
                            self.one(at, Op::Real(RealOp::Mul, factors))
                        }
                    });
                }
                Sym::Array([self.one(at, Op::Elements(Elem::Real, derivatives))].into())
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let all: Vec<_> = values.iter().map(|value| self.components(value, at)).collect();
                let types = ty.components().unwrap_or_default();
                let mut parts = Vec::new();
                for (i, ty) in types.iter().enumerate() {
                    let values: Vec<Sym> =
                        all.iter().filter_map(|parts| parts.get(i).cloned()).collect();
                    parts.push(self.jet_of(ty, &values, orders, at));
                }
                Sym::Tuple(parts.into())
            }
            Ty::Array(element) => {
                let all: Vec<Vec<Atom>> = values.iter().map(|value| self.arrays(value)).collect();
                let Some((first, rest)) = all.split_first() else { return Sym::Never };
                self.each((element, &jet_type(element)), first, at, &mut |cx, i, x| {
                    let mut values = vec![x];
                    for arrays in rest {
                        values.push(cx.get(element, arrays, i, at));
                    }
                    cx.jet_of(element, &values, orders, at)
                })
            }
            Ty::Data(..) => {
                let to = jet_type(ty);
                let types = self.plain_types(ty);
                let (params, results) = (vec![types; values.len()].concat(), self.plain_types(&to));
                let count = values.len();
                let id = self.family(Family::Jet(orders), ty, &params, results, &|cx, params| {
                    let mut params = params.into_iter();
                    let values: Vec<Sym> =
                        (0..count).map(|_| cx.plain_value(ty, &mut params)).collect();
                    let types = cx.plain_types(&to);
                    cx.switch(&values[0], NOWHERE, &types, &mut |cx, tag, fields| {
                        let mut all = vec![fields];
                        for value in &values[1..] {
                            all.push(cx.fields(value, tag, NOWHERE));
                        }
                        let mut made = Vec::new();
                        for (i, ty) in cx.field_types(ty, tag).iter().enumerate() {
                            let values: Vec<Sym> =
                                all.iter().filter_map(|parts| parts.get(i).cloned()).collect();
                            made.push(cx.jet_of(ty, &values, orders, NOWHERE));
                        }
                        let value = cx.construct(&to, tag, made, NOWHERE);
                        cx.store_plain(&to, &value, NOWHERE)
                    })
                });
                let mut args = Vec::new();
                for value in values {
                    args.extend(self.store_plain(ty, value, at));
                }
                let atoms = self.ops(at, Op::Call(id, args));
                self.plain_value(&to, &mut atoms.into_iter())
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                values.first().cloned().unwrap_or(Sym::Never)
            }
        }
    }
}
