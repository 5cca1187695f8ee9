//! Arithmetic on the Reals of one structure, or of two structures of one shape.
//!
//! Outside declared types, sizes that differ are a mismatch of sizes; within them, one of shapes, as are
//! constructors that differ.

use super::{has_data, Family, NOWHERE};
use crate::sym::Sym;
use crate::Lower;
use diffeo_array::ir::{Atom, Elem, FlatTy, Op, Scalar, SiteId, Stop};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, RealOp};
use diffeo_calculus::Ty;

/// An operation on two structures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Zip {
    /// Under this name.
    Add(&'static str),
    Sub,
    Mul,
    Div,
    /// The second, under this name: for what looks at its Reals only.
    Second(&'static str),
}

impl Zip {
    fn name(self) -> &'static str {
        match self {
            Zip::Add(name) | Zip::Second(name) => name,
            Zip::Sub => "-",
            Zip::Mul => "*",
            Zip::Div => "/",
        }
    }

    /// The operation on two Reals; none where the second is taken.
    fn op(self) -> Option<RealOp> {
        match self {
            Zip::Add(_) => Some(RealOp::Add),
            Zip::Sub => Some(RealOp::Sub),
            Zip::Mul => Some(RealOp::Mul),
            Zip::Div => Some(RealOp::Div),
            Zip::Second(_) => None,
        }
    }
}

/// An operation on one structure, perhaps with a Real.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Map {
    Neg,
    Scale,
    Unscale,
    Zero,
}

/// Where sizes that differ are found.
#[derive(Clone, Copy)]
struct ZipSite {
    /// The operation.
    name: &'static str,
    /// Whether it is within a declared type.
    inside: bool,
    at: SiteId,
}

impl<'p> Lower<'p> {
    /// An operation on the Reals of two structures; the rest is that of the first. Where the second is taken, nothing
    /// is made: only the shapes are compared.
    pub(crate) fn zip(&mut self, op: Zip, ty: &Ty, a: &Sym, b: &Sym, at: SiteId) -> Sym {
        // In a derivative, sizes are part of the shape everywhere.
        let inside = op.op().is_none();
        self.zip_at(op, ty, a, b, ZipSite { name: op.name(), inside, at })
    }

    fn zip_at(&mut self, op: Zip, ty: &Ty, a: &Sym, b: &Sym, place: ZipSite) -> Sym {
        let at = place.at;
        match (ty, a, b) {
            (Ty::Real, Sym::Leaf(a), Sym::Leaf(b)) => {
                let Some(op) = op.op() else { return Sym::Leaf(b.clone()) };
                Sym::Leaf(self.one(at, Op::Real(op, vec![a.clone(), b.clone()])))
            }
            (Ty::Tuple(_) | Ty::Record(_), _, _) => {
                let types = ty.components().unwrap_or_default();
                let (a, b) = (self.components(a, at), self.components(b, at));
                let parts = types.iter().zip(a.iter().zip(b.iter()));
                Sym::Tuple(parts.map(|(ty, (a, b))| self.zip_at(op, ty, a, b, place)).collect())
            }
            (Ty::Array(element), _, _) => {
                let (a, b) = (self.arrays(a), self.arrays(b));
                self.agree(element, &a, &b, place);
                if has_data(element) && op.op().is_none() {
                    if let Some(first) = a.first() {
                        let count = self.dim(first, 0, at);
                        self.for_each(count, Vec::new(), at, &mut |cx, i, _| {
                            let (x, y) = (cx.get(element, &a, &i, at), cx.get(element, &b, &i, at));
                            cx.zip_at(op, element, &x, &y, place);
                            Vec::new()
                        });
                    }
                    return Sym::Array(b.into());
                }
                if has_data(element) {
                    return self.each((element, element), &a, at, &mut |cx, i, x| {
                        let y = cx.get(element, &b, i, at);
                        cx.zip_at(op, element, &x, &y, place)
                    });
                }
                let results = a.iter().zip(&b).map(|(a, b)| {
                    if !matches!(self.f.builder.ty(a), FlatTy::Array(Elem::Real, _)) {
                        return a.clone();
                    }
                    let Some(op) = op.op() else { return b.clone() };
                    let (x, sizes, count) = self.in_a_row(a, at);
                    let (y, _, _) = self.in_a_row(b, at);
                    self.fill(count, sizes, at, &mut |cx, i| {
                        let x = cx.one(at, Op::Get(x.clone(), vec![i.clone()]));
                        let y = cx.one(at, Op::Get(y.clone(), vec![i]));
                        cx.one(at, Op::Real(op, vec![x, y]))
                    })
                });
                Sym::Array(results.collect())
            }
            (Ty::Data(..), _, _) => {
                let types = self.plain_types(ty);
                let params = [types.clone(), types.clone()].concat();
                let results = if op.op().is_some() { types } else { Vec::new() };
                let id = self.family(Family::Zip(op), ty, &params, results, &|cx, params| {
                    let mut params = params.into_iter();
                    let (a, b) = (cx.plain_value(ty, &mut params), cx.plain_value(ty, &mut params));
                    cx.zip_data(op, ty, &a, &b)
                });
                let (mut args, others) = (self.store_plain(ty, a, at), self.store_plain(ty, b, at));
                // What is the same has the same shape.
                if op.op().is_none() && args == others {
                    return b.clone();
                }
                args.extend(others);
                let atoms = self.ops(at, Op::Call(id, args));
                if op.op().is_none() {
                    return b.clone();
                }
                self.plain_value(ty, &mut atoms.into_iter())
            }
            (
                Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_),
                _,
                _,
            ) => a.clone(),
        }
    }

    fn zip_data(&mut self, op: Zip, ty: &Ty, a: &Sym, b: &Sym) -> Vec<Atom> {
        let place = ZipSite { name: op.name(), inside: true, at: NOWHERE };
        let types = if op.op().is_some() { self.plain_types(ty) } else { Vec::new() };
        self.switch(a, NOWHERE, &types, &mut |cx, tag, fields| {
            cx.check_tag(b, tag, place);
            let others = cx.fields(b, tag, NOWHERE);
            let kinds = cx.field_types(ty, tag);
            let parts = kinds.iter().zip(fields.iter().zip(&others));
            let values: Vec<Sym> =
                parts.map(|(ty, (a, b))| cx.zip_at(op, ty, a, b, place)).collect();
            if op.op().is_none() {
                return Vec::new();
            }
            let value = cx.construct(ty, tag, values, NOWHERE);
            cx.store_plain(ty, &value, NOWHERE)
        })
    }

    // Whether shapes agree

    /// Stops the program unless two arrays are of one length, and so are their rows.
    fn agree(&mut self, element: &Ty, a: &[Atom], b: &[Atom], place: ZipSite) {
        let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else { return };
        let at = place.at;
        let (m, n) = (self.dim(first_a, 0, at), self.dim(first_b, 0, at));
        self.same_size("arrays", m, n, place);
        self.agree_rows(element, a, b, 1, place);
    }

    fn agree_rows(&mut self, ty: &Ty, a: &[Atom], b: &[Atom], depth: u8, place: ZipSite) {
        match ty {
            Ty::Array(element) => {
                let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else { return };
                let at = place.at;
                let (m, n) = (self.dim(first_a, depth, at), self.dim(first_b, depth, at));
                let m = self.or(m, n.clone(), at);
                let n = self.or(n, m.clone(), at);
                self.same_size("rows", m, n, place);
                self.agree_rows(element, a, b, depth + 1, place);
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let mut from = 0;
                for ty in ty.components().unwrap_or_default() {
                    let shape = self.plain(&ty);
                    let to = from + self.element_types(&shape).len();
                    self.agree_rows(&ty, &a[from..to], &b[from..to], depth, place);
                    from = to;
                }
            }
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_) => {}
        }
    }

    fn same_size(&mut self, what: &str, a: Atom, b: Atom, place: ZipSite) {
        let at = place.at;
        if !place.inside {
            let what = Name::from(format!("`{}` of arrays", place.name));
            let check = diffeo_array::ir::Check::Size { what, expected: a, found: b };
            self.ops(at, Op::Check(check));
            return;
        }
        let same = self.compare(Comparison::Eq, a.clone(), b.clone(), at);
        self.choose(same, at, &mut |_| Vec::new(), &mut |cx| {
            let parts = vec![
                cx.text(&format!("{what} of length "), at),
                cx.one(at, Op::Show(Scalar::Int, a.clone())),
                cx.text(" and ", at),
                cx.one(at, Op::Show(Scalar::Int, b.clone())),
            ];
            let difference = cx.texts(parts, at);
            cx.stop(Stop::Shape { what: Name::new(place.name), difference }, at);
            Vec::new()
        });
    }

    /// Stops the program unless a variant has a tag.
    fn check_tag(&mut self, variant: &Sym, tag: u32, place: ZipSite) {
        let at = place.at;
        let same = self.has_tag(variant, tag, at);
        self.choose(same, at, &mut |_| Vec::new(), &mut |cx| {
            let text =
                format!("the first is constructor {tag} of its type, the second constructor ");
            let on = match cx.tag(variant, at) {
                Ok(found) => Atom::Int(i64::from(found)),
                Err(atom) => atom,
            };
            let parts = vec![cx.text(&text, at), cx.one(at, Op::Show(Scalar::Int, on))];
            let difference = cx.texts(parts, at);
            cx.stop(Stop::Shape { what: Name::new(place.name), difference }, at);
            Vec::new()
        });
    }

    // One structure

    /// An operation on the Reals of a structure.
    pub(crate) fn map(
        &mut self,
        op: Map,
        ty: &Ty,
        scalar: Option<&Atom>,
        a: &Sym,
        at: SiteId,
    ) -> Sym {
        match (ty, a) {
            (Ty::Real, Sym::Leaf(x)) => Sym::Leaf(self.map_real(op, scalar, x.clone(), at)),
            (Ty::Tuple(_) | Ty::Record(_), _) => {
                let types = ty.components().unwrap_or_default();
                let parts = self.components(a, at);
                let parts = types.iter().zip(parts.iter());
                Sym::Tuple(parts.map(|(ty, a)| self.map(op, ty, scalar, a, at)).collect())
            }
            (Ty::Array(element), _) => {
                let arrays = self.arrays(a);
                if has_data(element) {
                    return self.each((element, element), &arrays, at, &mut |cx, _, x| {
                        cx.map(op, element, scalar, &x, at)
                    });
                }
                let results = arrays.iter().map(|array| {
                    if !matches!(self.f.builder.ty(array), FlatTy::Array(Elem::Real, _)) {
                        return array.clone();
                    }
                    let (flat, sizes, count) = self.in_a_row(array, at);
                    self.fill(count, sizes, at, &mut |cx, i| match op {
                        Map::Zero => Atom::Real(0.0),
                        Map::Neg | Map::Scale | Map::Unscale => {
                            let x = cx.one(at, Op::Get(flat.clone(), vec![i]));
                            cx.map_real(op, scalar, x, at)
                        }
                    })
                });
                Sym::Array(results.collect())
            }
            (Ty::Data(..), _) => {
                let types = self.plain_types(ty);
                let params = [vec![FlatTy::Real], types.clone()].concat();
                let id = self.family(Family::Map(op), ty, &params, types.clone(), &|cx, params| {
                    let mut params = params.into_iter();
                    let scalar = params.next();
                    let a = cx.plain_value(ty, &mut params);
                    let types = cx.plain_types(ty);
                    cx.switch(&a, NOWHERE, &types, &mut |cx, tag, fields| {
                        let kinds = cx.field_types(ty, tag);
                        let parts = kinds.iter().zip(&fields);
                        let values: Vec<Sym> = parts
                            .map(|(ty, a)| cx.map(op, ty, scalar.as_ref(), a, NOWHERE))
                            .collect();
                        let value = cx.construct(ty, tag, values, NOWHERE);
                        cx.store_plain(ty, &value, NOWHERE)
                    })
                });
                let mut args = vec![scalar.cloned().unwrap_or(Atom::Real(0.0))];
                args.extend(self.store_plain(ty, a, at));
                let atoms = self.ops(at, Op::Call(id, args));
                self.plain_value(ty, &mut atoms.into_iter())
            }
            (
                Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_),
                _,
            ) => a.clone(),
        }
    }

    fn map_real(&mut self, op: Map, scalar: Option<&Atom>, x: Atom, at: SiteId) -> Atom {
        let scalar = scalar.cloned().unwrap_or(Atom::Real(0.0));
        let op = match op {
            Map::Neg => Op::Real(RealOp::Neg, vec![x]),
            Map::Scale => Op::Real(RealOp::Mul, vec![scalar, x]),
            Map::Unscale => Op::Real(RealOp::Div, vec![x, scalar]),
            Map::Zero => return Atom::Real(0.0),
        };
        self.one(at, op)
    }

    // The inner product

    /// The sum of the products of the Reals of two structures.
    pub(crate) fn inner(&mut self, ty: &Ty, a: &Sym, b: &Sym, at: SiteId) -> Atom {
        let place = ZipSite { name: "inner", inside: false, at };
        self.add_inner(ty, a, b, None, place).unwrap_or(Atom::Real(0.0))
    }

    /// Adds to a sum; none if nothing has been added.
    fn add_inner(
        &mut self,
        ty: &Ty,
        a: &Sym,
        b: &Sym,
        sum: Option<Atom>,
        place: ZipSite,
    ) -> Option<Atom> {
        let at = place.at;
        match (ty, a, b) {
            (Ty::Real, Sym::Leaf(a), Sym::Leaf(b)) => {
                let product = self.one(at, Op::Real(RealOp::Mul, vec![a.clone(), b.clone()]));
                Some(self.plus(sum, product, at))
            }
            (Ty::Tuple(_) | Ty::Record(_), _, _) => {
                let types = ty.components().unwrap_or_default();
                let (a, b) = (self.components(a, at), self.components(b, at));
                let mut sum = sum;
                for (ty, (a, b)) in types.iter().zip(a.iter().zip(b.iter())) {
                    sum = self.add_inner(ty, a, b, sum, place);
                }
                sum
            }
            (Ty::Array(element), _, _) => {
                let (a, b) = (self.arrays(a), self.arrays(b));
                self.agree(element, &a, &b, place);
                if has_data(element) {
                    let count = a.first().map(|first| self.dim(first, 0, at))?;
                    let init = vec![sum.unwrap_or(Atom::Real(0.0))];
                    let sum = self.for_each(count, init, at, &mut |cx, i, state| {
                        let (x, y) = (cx.get(element, &a, &i, at), cx.get(element, &b, &i, at));
                        let sum = cx.add_inner(element, &x, &y, state.into_iter().next(), place);
                        vec![sum.unwrap_or(Atom::Real(0.0))]
                    });
                    return sum.into_iter().next();
                }
                let mut sum = sum;
                for (a, b) in a.iter().zip(&b) {
                    if matches!(self.f.builder.ty(a), FlatTy::Array(Elem::Real, _)) {
                        let ((x, _, count), (y, _, _)) =
                            (self.in_a_row(a, at), self.in_a_row(b, at));
                        let products = self.reduce(count, at, &mut |cx, i| {
                            let x = cx.one(at, Op::Get(x.clone(), vec![i.clone()]));
                            let y = cx.one(at, Op::Get(y.clone(), vec![i]));
                            cx.one(at, Op::Real(RealOp::Mul, vec![x, y]))
                        });
                        sum = Some(self.plus(sum, products, at));
                    }
                }
                sum
            }
            (Ty::Data(..), _, _) => {
                let types = self.plain_types(ty);
                let params = [types.clone(), types, vec![FlatTy::Real]].concat();
                let id =
                    self.family(Family::Inner, ty, &params, vec![FlatTy::Real], &|cx, params| {
                        let mut params = params.into_iter();
                        let (a, b) =
                            (cx.plain_value(ty, &mut params), cx.plain_value(ty, &mut params));
                        let start = params.next();
                        let place = ZipSite { name: "inner", inside: true, at: NOWHERE };
                        cx.switch(&a, NOWHERE, &[FlatTy::Real], &mut |cx, tag, fields| {
                            cx.check_tag(&b, tag, place);
                            let others = cx.fields(&b, tag, NOWHERE);
                            let kinds = cx.field_types(ty, tag);
                            let mut sum = start.clone();
                            for (ty, (a, b)) in kinds.iter().zip(fields.iter().zip(&others)) {
                                sum = cx.add_inner(ty, a, b, sum, place);
                            }
                            vec![sum.unwrap_or(Atom::Real(0.0))]
                        })
                    });
                let mut args = self.store_plain(ty, a, at);
                args.extend(self.store_plain(ty, b, at));
                args.push(sum.unwrap_or(Atom::Real(0.0)));
                Some(self.one(at, Op::Call(id, args)))
            }
            (
                Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_),
                _,
                _,
            ) => sum,
        }
    }

    fn plus(&mut self, sum: Option<Atom>, x: Atom, at: SiteId) -> Atom {
        match sum {
            Some(sum) => self.one(at, Op::Real(RealOp::Add, vec![sum, x])),
            None => x,
        }
    }
}
