//! Sums of tangents and adjoints; unions of sets.
//!
//! Two shadows are added variant by variant, down to where one of them is zero.

use super::helpers::{complete, declare, Helper};
use super::sets::union;
use super::sparse_adjoint::{both, AdjointCx};
use super::Deriver;
use crate::build::Builder;
use crate::ir::{Atom, BoxId, FlatTy, FunctionId, Module, Op, Scalar, SiteId};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, RealOp};

/// The operation that makes one Real of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Merge {
    /// Their sum.
    Sum,
    /// They are sets: the union.
    Union,
}

/// The sum of two adjoints or tangents of the same type, each used for the last time.
pub(super) fn sum(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    of: [Atom; 2],
) -> Atom {
    merge(b, module, cache, Merge::Sum, of)
}

/// The sum, or the union, of two adjoints or tangents of the same type, each used for the last time.
pub(super) fn merge(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    how: Merge,
    [x, y]: [Atom; 2],
) -> Atom {
    match b.ty(&x) {
        FlatTy::Box(id) => {
            let function = adder(module, cache, how, id);
            b.one(module, Op::Call(function, vec![x, y]))
        }
        FlatTy::Array(..) => {
            let count = b.one(module, Op::Dim(x.clone(), 0));
            let index = b.var(FlatTy::Int, None);
            b.open();
            let row = |array| Op::Get(array, vec![Atom::Var(index)]);
            let rows = [b.one(module, row(x)), b.one(module, row(y))];
            let row = merge(b, module, cache, how, rows);
            let body = b.close(vec![row]);
            b.one(module, Op::Build { count, index, body })
        }
        FlatTy::Real
        | FlatTy::Int
        | FlatTy::Bool
        | FlatTy::Text
        | FlatTy::Acc(_)
        | FlatTy::Stack(_) => match how {
            Merge::Sum => b.one(module, Op::Real(RealOp::Add, vec![x, y])),
            Merge::Union => union(b, module, x, y),
        },
    }
}

/// The function that adds up shadows of a type.
fn adder(module: &mut Module, cache: &mut Deriver, how: Merge, id: BoxId) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::Merge(how, id)) {
        return *known;
    }
    let ty = FlatTy::Box(id);
    let word = if how == Merge::Sum { "add" } else { "union" };
    let name = Name::from(format!("{}.{word}.{}", module.boxes[id.0 as usize].name, id.0));
    let mut b = Builder::new(SiteId(0));
    let x = b.param(ty.clone(), Some("x".into()));
    let y = b.param(ty.clone(), Some("y".into()));
    let function = declare(module, &b, name, vec![ty]);
    cache.helpers.insert(Helper::Merge(how, id), function);
    let made = match cache.bag_types.contains_key(&id) {
        true => both((&mut b, module, cache), id, [&x, &y]),
        false => merge_fields((&mut b, module, cache), how, id, [&x, &y]),
    };
    complete(module, function, b, vec![made]);
    function
}

/// The sum, or union, of two shadows that are no bags.
fn merge_fields(
    (b, module, cache): AdjointCx<'_>,
    how: Merge,
    id: BoxId,
    [x, y]: [&Atom; 2],
) -> Atom {
    let variants = module.boxes[id.0 as usize].variants.clone();
    let zero = i64::from(zero_tag(module, id));
    let on = b.one(module, Op::Tag(x.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..zero_tag(module, id)).zip(&variants) {
        b.open();
        let other = b.one(module, Op::Tag(y.clone()));
        let cond = is(b, module, other, zero);
        let then = b.block(|_| vec![x.clone()]);
        b.open();
        let mut fields = Vec::new();
        for index in 0..variant.fields.len() as u32 {
            let of = |object: &Atom| Op::Field { object: object.clone(), tag, index };
            let parts = [b.one(module, of(x)), b.one(module, of(y))];
            fields.push(merge(b, module, cache, how, parts));
        }
        let made = b.one(module, Op::New(id, tag, fields));
        let otherwise = b.close(vec![made]);
        let made = b.one(module, Op::If { cond, then, otherwise });
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    let default = Some(b.block(|_| vec![y.clone()]));
    b.one(module, Op::Switch { on, arms, default })
}

/// The tag of a shadow of which nothing varies.
pub(super) fn zero_tag(module: &Module, shadow: BoxId) -> u32 {
    (module.boxes[shadow.0 as usize].variants.len() as u32).saturating_sub(1)
}

/// The Int is this number.
pub(super) fn is(b: &mut Builder, module: &Module, n: Atom, value: i64) -> Atom {
    b.one(module, Op::Compare(Comparison::Eq, Scalar::Int, n, Atom::Int(value)))
}
