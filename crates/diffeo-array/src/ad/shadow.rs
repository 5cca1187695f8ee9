//! Tangents of values by their types.
//!
//! The tangent of a Real is a Real, of an array of Reals an array of the same sizes, of an accumulator an accumulator.
//! The tangent of a box is its *shadow*: a box of another type with the same alternatives, of whose fields it has the
//! tangents, those without Reals left out. The shadows have one more alternative, without fields: nothing in the box
//! varies. So what does not vary needs no shadow made of it, however large it is.
//!
//! With Taylor coefficients there are several tangents, one for each order.

use super::{differentiable, Deriver};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, BoxType, Elem, FunctionId, Module, Op, Scalar, SiteId, Ty, Variant};
use diffeo_base::Name;
use diffeo_calculus::prim::Comparison;

/// The type of shadows of a type of boxes, with so many coefficients for each Real.
pub fn shadow(module: &mut Module, cache: &mut Deriver, id: BoxId, order: usize) -> BoxId {
    if let Some(shadow) = cache.shadows.get(&(id, order)) {
        return *shadow;
    }
    let made = BoxId(module.boxes.len() as u32);
    let BoxType { name, variants } = module.boxes[id.0 as usize].clone();
    let name = match order {
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
pub fn tangents(module: &mut Module, cache: &mut Deriver, ty: &Ty, order: usize) -> Vec<Ty> {
    if !differentiable(module, ty) {
        return Vec::new();
    }
    match ty {
        Ty::Box(id) => vec![Ty::Box(shadow(module, cache, *id, order))],
        Ty::Array(Elem::Box(id), rank) => {
            vec![Ty::Array(Elem::Box(shadow(module, cache, *id, order)), *rank)]
        }
        Ty::Stack(elems) => {
            let mut all = Vec::new();
            for elem in elems {
                let types = tangents(module, cache, &elem.ty(), order);
                all.extend(types.iter().filter_map(Ty::elements).map(|(elem, _)| elem));
            }
            vec![Ty::Stack(all.into())]
        }
        Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Array(..) | Ty::Acc(_) => {
            vec![ty.clone(); order]
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
        (_, Ty::Box(id)) => vec![zero_box(b, module, cache, *id, order)],
        (_, Ty::Array(Elem::Box(id), rank)) => {
            let mut nothing =
                |b: &mut Builder, module: &mut Module| zero_box(b, module, cache, *id, order);
            vec![zeros(b, module, atom, (*rank, 0), &mut nothing)]
        }
        (_, Ty::Array(_, rank)) => {
            let zeros = zeros(b, module, atom, (*rank, 0), &mut |_, _| Atom::Real(0.0));
            vec![zeros; order]
        }
        (_, Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Acc(_) | Ty::Stack(_)) => {
            vec![Atom::Real(0.0); order]
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
    let index = b.var(Ty::Int, None);
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
    let Ty::Box(id) = b.ty(object) else { return Vec::new() };
    let fields = module.boxes[id.0 as usize].variants[tag as usize].fields.clone();
    let mut width = |ty: &Ty| tangents(module, cache, ty, order).len() as u32;
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

/// What a value of a type with tangents in the place of its Reals is as a tangent.
pub fn to_tangent(
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
        (Atom::Unused(_), ty) => Atom::Unused(tangents(module, cache, &ty, 1).pop().unwrap_or(ty)),
        (_, Ty::Box(id)) => {
            let function = converter(module, cache, id, false);
            b.one(module, Op::Call(function, vec![value.clone()]))
        }
        (_, Ty::Array(Elem::Box(id), rank)) => {
            let function = converter(module, cache, id, false);
            each(b, module, std::slice::from_ref(value), rank, function)
        }
        (
            _,
            Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Array(..) | Ty::Acc(_) | Ty::Stack(_),
        ) => value.clone(),
    })
}

/// The value with the Reals of its tangent in the place of its own.
pub fn from_tangent(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    value: &Atom,
    dot: &Atom,
) -> Atom {
    let ty = b.ty(value);
    if !differentiable(module, &ty) {
        return value.clone();
    }
    match (value, ty) {
        (Atom::Unused(_), _) => value.clone(),
        (_, Ty::Box(id)) => {
            let function = converter(module, cache, id, true);
            b.one(module, Op::Call(function, vec![value.clone(), dot.clone()]))
        }
        (_, Ty::Array(Elem::Box(id), rank)) => {
            let function = converter(module, cache, id, true);
            each(b, module, &[value.clone(), dot.clone()], rank, function)
        }
        (
            _,
            Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Array(..) | Ty::Acc(_) | Ty::Stack(_),
        ) => dot.clone(),
    }
}

/// The tangent or adjoint of a field. Arrays that are zero may have no elements in an adjoint.
fn filled(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    value: &Atom,
    dot: Atom,
) -> Atom {
    let Ty::Array(..) = b.ty(value) else { return dot };
    let count = b.one(module, Op::Dim(dot.clone(), 0));
    let op = Op::Compare(Comparison::Eq, Scalar::Int, count, Atom::Int(0));
    let cond = b.one(module, op);
    b.open();
    let nothing = zero(b, module, cache, value, 1);
    let then = b.close(nothing);
    let otherwise = b.block(|_| vec![dot]);
    b.one(module, Op::If { cond, then, otherwise })
}

/// The array of what a function makes of the elements of arrays of the same sizes.
fn each(b: &mut Builder, module: &mut Module, arrays: &[Atom], rank: u8, f: FunctionId) -> Atom {
    let count = b.one(module, Op::Dim(arrays[0].clone(), 0));
    let index = b.var(Ty::Int, None);
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

/// The function that makes shadows of boxes in which tangents are in the place of Reals; or, back, such boxes of
/// boxes and their shadows.
fn converter(module: &mut Module, cache: &mut Deriver, id: BoxId, back: bool) -> FunctionId {
    if let Some(known) = cache.converters.get(&(id, back)) {
        return *known;
    }
    let shadow = shadow(module, cache, id, 1);
    let BoxType { name, variants } = module.boxes[id.0 as usize].clone();
    let name = format!("{name}.{}", if back { "from_dot" } else { "to_dot" });
    let mut b = Builder::new(SiteId(0));
    let object = b.param(Ty::Box(id), None);
    let dot = if back { b.param(Ty::Box(shadow), None) } else { object.clone() };
    let result = Ty::Box(if back { id } else { shadow });
    let function = FunctionId(module.functions.len() as u32);
    let stopped = b.clone().finish(name.as_str(), vec![Atom::Unused(result)]);
    if let Ok(mut declared) = stopped {
        (declared.shown, declared.library) = (Name::new(""), true);
        module.functions.push(declared);
    }
    cache.converters.insert((id, back), function);
    let on = b.one(module, Op::Tag(object.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..).zip(&variants) {
        b.open();
        let mut fields = Vec::new();
        for index in 0..variant.fields.len() as u32 {
            let op = Op::Field { object: object.clone(), tag, index };
            let value = b.one(module, op);
            if !back {
                fields.extend(to_tangent(&mut b, module, cache, &value));
            } else if differentiable(module, &variant.fields[index as usize]) {
                let of = (&object, &dot, &value);
                let dots = field(&mut b, module, cache, of, (tag, index), 1);
                let dot = dots.into_iter().next().unwrap_or_else(|| value.clone());
                let dot = filled(&mut b, module, cache, &value, dot);
                fields.push(from_tangent(&mut b, module, cache, &value, &dot));
            } else {
                fields.push(value);
            }
        }
        let made = b.one(module, Op::New(if back { id } else { shadow }, tag, fields));
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    let made = b.one(module, Op::Switch { on, arms, default: None });
    if let Ok(made) = b.finish(name.as_str(), vec![made]) {
        let declared = &mut module.functions[function.0 as usize];
        (declared.vars, declared.body) = (made.vars, made.body);
    }
    function
}
