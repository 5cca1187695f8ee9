//! Tangents of values by their types.
//!
//! The tangent of a Real is a Real, of an array of Reals an array of the same sizes, of an accumulator an accumulator.
//! The tangent of a box is its *shadow*: a box of another type with the same variants, whose fields are the tangents of
//! the fields that contain Reals. A shadow has one more variant, without fields: nothing in the box varies. So what
//! does not vary needs no shadow made of it, however large it is.
//!
//! With Taylor coefficients there are several tangents, one for each order. Adjoints are as tangents are, except that
//! those of arrays are bags.

use super::helpers::{self, Helper};
use super::nan_guard::watch;
use super::sparse_adjoint::{all, bag, nothing, unfold, AdjointCx};
use super::{differentiable, Deriver};
use crate::build::Builder;
use crate::ir::{
    Atom, BoxId, BoxType, Elem, FlatTy, FunctionId, Module, Op, Scalar, SiteId, Var, Variant,
};
use diffeo_base::Name;
use diffeo_calculus::prim::Comparison;

/// In the place of an order: adjoints.
pub(super) const ADJOINT: usize = 0;

/// The type of shadows of a type of boxes, with so many coefficients for each Real.
pub fn shadow(module: &mut Module, cache: &mut Deriver, id: BoxId, order: usize) -> BoxId {
    if let Some(shadow) = cache.shadows.get(&(id, order)) {
        return *shadow;
    }
    let made = BoxId(module.boxes.len() as u32);
    let BoxType { name, variants } = module.boxes[id.0 as usize].clone();
    let name = match order {
        ADJOINT => format!("{name}.bar"),
        1 => format!("{name}.dot"),
        _ => format!("{name}.jet{order}"),
    };
    module.boxes.push(BoxType { name: Name::from(name), variants: Vec::new() });
    cache.shadows.insert((id, order), made);
    let mut shadows = Vec::new();
    for variant in variants {
        let fields = variant.fields.iter().flat_map(|ty| tangents(module, cache, ty, order));
        shadows.push(Variant { name: variant.name, fields: fields.collect() });
    }
    shadows.push(Variant { name: Name::new("Zero"), fields: Vec::new() });
    module.boxes[made.0 as usize].variants = shadows;
    made
}

/// The types of tangents of a type, or of so many coefficients; none if there are no Reals in it. There is one shadow
/// of a box and one stack for all orders.
pub fn tangents(
    module: &mut Module,
    cache: &mut Deriver,
    ty: &FlatTy,
    order: usize,
) -> Vec<FlatTy> {
    if !differentiable(module, ty) {
        return Vec::new();
    }
    match ty {
        FlatTy::Box(id) => vec![FlatTy::Box(shadow(module, cache, *id, order))],
        FlatTy::Array(Elem::Box(id), rank) => {
            let shadow = Elem::Box(shadow(module, cache, *id, order));
            vec![match order {
                ADJOINT => FlatTy::Box(bag(module, cache, shadow, *rank)),
                _ => FlatTy::Array(shadow, *rank),
            }]
        }
        FlatTy::Array(elem, rank) if order == ADJOINT => {
            vec![FlatTy::Box(bag(module, cache, *elem, *rank))]
        }
        FlatTy::Stack(elems) => {
            let mut all = Vec::new();
            for elem in elems {
                let types = tangents(module, cache, &elem.ty(), order);
                all.extend(types.iter().filter_map(FlatTy::elements).map(|(elem, _)| elem));
            }
            vec![FlatTy::Stack(all.into())]
        }
        FlatTy::Real
        | FlatTy::Int
        | FlatTy::Bool
        | FlatTy::Text
        | FlatTy::Array(..)
        | FlatTy::Acc(_) => {
            vec![ty.clone(); order.max(1)]
        }
    }
}

/// The tag of the shadows of boxes of a type in which nothing varies.
pub fn zero_tag(module: &Module, id: BoxId) -> u32 {
    module.boxes[id.0 as usize].variants.len() as u32
}

/// The tangents of a value that does not vary.
pub fn zero(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    atom: &Atom,
    order: usize,
) -> Vec<Atom> {
    let ty = b.ty(atom);
    match (atom, &ty) {
        (Atom::Unused(ty), _) => {
            tangents(module, cache, ty, order).into_iter().map(Atom::Unused).collect()
        }
        (_, FlatTy::Box(id)) => vec![zero_box(b, module, cache, *id, order)],
        (_, FlatTy::Array(..)) if order == ADJOINT => {
            let types = tangents(module, cache, &ty, order);
            let bag = |ty| if let FlatTy::Box(bag) = ty { Some(bag) } else { None };
            types.into_iter().filter_map(bag).map(|bag| nothing(b, module, bag)).collect()
        }
        (_, FlatTy::Array(Elem::Box(id), rank)) => {
            let mut nothing =
                |b: &mut Builder, module: &mut Module| zero_box(b, module, cache, *id, order);
            vec![zeros(b, module, atom, (*rank, 0), &mut nothing)]
        }
        (_, FlatTy::Array(_, rank)) => {
            let zeros = zeros(b, module, atom, (*rank, 0), &mut |_, _| Atom::Real(0.0));
            vec![zeros; order.max(1)]
        }
        (
            _,
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Acc(_)
            | FlatTy::Stack(_),
        ) => {
            vec![Atom::Real(0.0); order.max(1)]
        }
    }
}

fn zero_box(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    id: BoxId,
    order: usize,
) -> Atom {
    let shadow = shadow(module, cache, id, order);
    b.one(module, Op::New(shadow, zero_tag(module, id), Vec::new()))
}

/// The tangent of an array, from this dimension on. Only its sizes are looked at.
fn zeros(
    b: &mut Builder,
    module: &mut Module,
    array: &Atom,
    (rank, dim): (u8, u8),
    element: &mut dyn FnMut(&mut Builder, &mut Module) -> Atom,
) -> Atom {
    let count = b.one(module, Op::Dim(array.clone(), dim));
    let index = b.var(FlatTy::Int, None);
    b.open();
    let element = match dim + 1 < rank {
        true => zeros(b, module, array, (rank, dim + 1), element),
        false => element(b, module),
    };
    let body = b.close(vec![element]);
    b.one(module, Op::Build { count, index, body })
}

/// The tangents of a field of a box whose shadow is this.
pub fn field(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    (object, shadow, value): (&Atom, &Atom, &Atom),
    (tag, index): (u32, u32),
    order: usize,
) -> Vec<Atom> {
    let FlatTy::Box(id) = b.ty(object) else { return Vec::new() };
    let fields = module.boxes[id.0 as usize].variants[tag as usize].fields.clone();
    let mut width = |ty: &FlatTy| tangents(module, cache, ty, order).len() as u32;
    let first: u32 = fields[..index as usize].iter().map(&mut width).sum();
    let count = width(&fields[index as usize]);
    let found = b.one(module, Op::Tag(shadow.clone()));
    let zero_tag = Atom::Int(i64::from(zero_tag(module, id)));
    let op = Op::Compare(Comparison::Eq, Scalar::Int, found, zero_tag);
    let cond = b.one(module, op);
    b.open();
    let nothing = zero(b, module, cache, value, order);
    let then = b.close(nothing);
    b.open();
    let mut something = Vec::new();
    for index in first..first + count {
        something.push(b.one(module, Op::Field { object: shadow.clone(), tag, index }));
    }
    let otherwise = b.close(something);
    b.emit(module, Op::If { cond, then, otherwise })
}

/// What a value of a type with adjoints in the place of its Reals is as an adjoint.
pub(super) fn to_adjoint(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    value: &Atom,
) -> Option<Atom> {
    let ty = b.ty(value);
    if !differentiable(module, &ty) {
        return None;
    }
    Some(match (value, ty) {
        (Atom::Unused(_), ty) => {
            Atom::Unused(tangents(module, cache, &ty, ADJOINT).pop().unwrap_or(ty))
        }
        (_, FlatTy::Box(id)) => {
            let function = to_box(module, cache, id);
            b.one(module, Op::Call(function, vec![value.clone()]))
        }
        (_, FlatTy::Array(Elem::Box(id), rank)) => {
            let function = to_box(module, cache, id);
            let array = each(b, module, std::slice::from_ref(value), rank, function);
            whole((b, module, cache), value, array)
        }
        (_, FlatTy::Array(..)) => whole((b, module, cache), value, value.clone()),
        (
            _,
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Acc(_)
            | FlatTy::Stack(_),
        ) => value.clone(),
    })
}

/// The adjoint of an array, of those of its elements.
fn whole((b, module, cache): AdjointCx<'_>, value: &Atom, array: Atom) -> Atom {
    match tangents(module, cache, &b.ty(value), ADJOINT).pop() {
        Some(FlatTy::Box(bag)) => all(b, module, bag, array),
        Some(_) | None => array,
    }
}

/// The value with the Reals of its adjoint in the place of its own; whether the program stops if there is a nan in a
/// box. Who asks for that looks at Reals and arrays itself.
pub(super) fn from_adjoint(
    (b, module, cache): AdjointCx<'_>,
    (value, bar): (&Atom, &Atom),
    watched: bool,
) -> Atom {
    let ty = b.ty(value);
    if !differentiable(module, &ty) {
        return value.clone();
    }
    match (value, ty) {
        (Atom::Unused(_), _) => value.clone(),
        (_, FlatTy::Box(id)) => {
            let function = from_box(module, cache, id, watched);
            b.one(module, Op::Call(function, vec![value.clone(), bar.clone()]))
        }
        (_, FlatTy::Array(elem, rank)) => {
            let mut sizes = Vec::new();
            for dim in 0..rank {
                sizes.push(b.one(module, Op::Dim(value.clone(), dim)));
            }
            let bar = unfold((b, module, cache), bar, &sizes);
            let Elem::Box(id) = elem else { return bar };
            let function = from_box(module, cache, id, watched);
            each(b, module, &[value.clone(), bar], rank, function)
        }
        (
            _,
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Acc(_)
            | FlatTy::Stack(_),
        ) => bar.clone(),
    }
}

/// The array of what a function makes of the elements of arrays of the same sizes.
pub(super) fn each(
    b: &mut Builder,
    module: &mut Module,
    arrays: &[Atom],
    rank: u8,
    f: FunctionId,
) -> Atom {
    let count = b.one(module, Op::Dim(arrays[0].clone(), 0));
    let index = b.var(FlatTy::Int, None);
    b.open();
    let mut elements = Vec::new();
    for array in arrays {
        elements.push(b.one(module, Op::Get(array.clone(), vec![Atom::Var(index)])));
    }
    let made = match rank {
        1 => b.one(module, Op::Call(f, elements)),
        _ => each(b, module, &elements, rank - 1, f),
    };
    let body = b.close(vec![made]);
    b.one(module, Op::Build { count, index, body })
}

/// The function that makes adjoints of boxes in which adjoints are in the place of Reals.
fn to_box(module: &mut Module, cache: &mut Deriver, id: BoxId) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::ToAdjoint(id)) {
        return *known;
    }
    let shadow = shadow(module, cache, id, ADJOINT);
    let (mut b, function) = make_helper(module, "to_bar", (id, &[FlatTy::Box(id)]), shadow);
    cache.helpers.insert(Helper::ToAdjoint(id), function);
    let object = Atom::Var(Var(0));
    let on = b.one(module, Op::Tag(object.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..).zip(module.boxes[id.0 as usize].variants.clone()) {
        b.open();
        let mut fields = Vec::new();
        for index in 0..variant.fields.len() as u32 {
            let op = Op::Field { object: object.clone(), tag, index };
            let value = b.one(module, op);
            fields.extend(to_adjoint(&mut b, module, cache, &value));
        }
        let made = if varies(module, &variant) { tag } else { zero_tag(module, id) };
        let made = b.one(module, Op::New(shadow, made, fields));
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    let made = b.one(module, Op::Switch { on, arms, default: None });
    helpers::complete(module, function, b, vec![made]);
    function
}

/// Whether anything can vary in an alternative.
pub(super) fn varies(module: &Module, variant: &Variant) -> bool {
    variant.fields.iter().any(|ty| differentiable(module, ty))
}

/// The function that makes boxes with adjoints in the place of Reals of boxes and their adjoints.
fn from_box(module: &mut Module, cache: &mut Deriver, id: BoxId, watched: bool) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::FromAdjoint(id, watched)) {
        return *known;
    }
    let shadow = shadow(module, cache, id, ADJOINT);
    let params = [FlatTy::Box(id), FlatTy::Box(shadow)];
    let (mut b, function) = make_helper(module, "from_bar", (id, &params), id);
    cache.helpers.insert(Helper::FromAdjoint(id, watched), function);
    let (object, bar) = (Atom::Var(Var(0)), Atom::Var(Var(1)));
    let variants = module.boxes[id.0 as usize].variants.clone();
    let mut varying = (0..).zip(&variants).filter(|(_, variant)| varies(module, variant));
    // Where only one alternative varies, adjoints of objects of the others may be zeros of that one.
    let only = match (varying.next(), varying.next()) {
        (Some((tag, _)), None) if variants.len() > 1 => {
            let found = b.one(module, Op::Tag(object.clone()));
            let op = Op::Compare(Comparison::Eq, Scalar::Int, found, Atom::Int(tag));
            let cond = b.one(module, op);
            b.open();
            Some(cond)
        }
        _ => None,
    };
    let on = b.one(module, Op::Tag(bar.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..).zip(variants) {
        if !varies(module, &variant) {
            continue;
        }
        b.open();
        let mut index_of_bar = 0;
        let (mut fields, mut numbers) = (Vec::new(), Vec::new());
        for (index, ty) in (0..).zip(&variant.fields) {
            let value = b.one(module, Op::Field { object: object.clone(), tag, index });
            if !differentiable(module, ty) {
                fields.push(value);
                continue;
            }
            let op = Op::Field { object: bar.clone(), tag, index: index_of_bar };
            let bar = b.one(module, op);
            index_of_bar += tangents(module, cache, ty, ADJOINT).len() as u32;
            let made = from_adjoint((&mut b, module, cache), (&value, &bar), watched);
            numbers.push(made.clone());
            fields.push(made);
        }
        if watched {
            watch(&mut b, module, &numbers);
        }
        let made = b.one(module, Op::New(id, tag, fields));
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    b.open();
    let zeroed = zeroed(module, cache, id);
    let made = b.one(module, Op::Call(zeroed, vec![object.clone()]));
    let default = Some(b.close(vec![made]));
    let mut made = b.one(module, Op::Switch { on, arms, default });
    if let Some(cond) = only {
        let then = b.close(vec![made]);
        let otherwise = b.block(|_| vec![object]);
        made = b.one(module, Op::If { cond, then, otherwise });
    }
    helpers::complete(module, function, b, vec![made]);
    function
}

/// The function that makes boxes with zeros in the place of Reals.
pub(super) fn zeroed(module: &mut Module, cache: &mut Deriver, id: BoxId) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::Zeroed(id)) {
        return *known;
    }
    let (mut b, function) = make_helper(module, "zeroed", (id, &[FlatTy::Box(id)]), id);
    cache.helpers.insert(Helper::Zeroed(id), function);
    let object = Atom::Var(Var(0));
    let on = b.one(module, Op::Tag(object.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..).zip(module.boxes[id.0 as usize].variants.clone()) {
        b.open();
        let mut fields = Vec::new();
        for index in 0..variant.fields.len() as u32 {
            let value = b.one(module, Op::Field { object: object.clone(), tag, index });
            fields.push(zero_value((&mut b, module, cache), value));
        }
        let made = match varies(module, &variant) {
            true => b.one(module, Op::New(id, tag, fields)),
            false => object.clone(),
        };
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    let made = b.one(module, Op::Switch { on, arms, default: None });
    helpers::complete(module, function, b, vec![made]);
    function
}

/// A value with zeros in the place of Reals.
pub(super) fn zero_value((b, module, cache): AdjointCx<'_>, value: Atom) -> Atom {
    let ty = b.ty(&value);
    if !differentiable(module, &ty) {
        return value;
    }
    match ty {
        FlatTy::Real => Atom::Real(0.0),
        FlatTy::Box(id) => {
            let function = zeroed(module, cache, id);
            b.one(module, Op::Call(function, vec![value]))
        }
        FlatTy::Array(Elem::Box(id), rank) => {
            let function = zeroed(module, cache, id);
            each(b, module, &[value], rank, function)
        }
        FlatTy::Array(_, rank) => zeros(b, module, &value, (rank, 0), &mut |_, _| Atom::Real(0.0)),
        FlatTy::Int | FlatTy::Bool | FlatTy::Text | FlatTy::Acc(_) | FlatTy::Stack(_) => value,
    }
}

/// Adds a function that has to do with a type of boxes, with these parameters, that gives a box; its body is made
/// later. The type is in its name.
pub(super) fn make_helper(
    module: &mut Module,
    what: &str,
    (of, params): (BoxId, &[FlatTy]),
    to: BoxId,
) -> (Builder, FunctionId) {
    let name = module.boxes[of.0 as usize].name.clone();
    let mut b = Builder::new(SiteId(0));
    for ty in params {
        b.param(ty.clone(), None);
    }
    let function =
        helpers::declare(module, &b, Name::from(format!("{name}.{what}")), vec![FlatTy::Box(to)]);
    (b, function)
}
