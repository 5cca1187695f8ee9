//! Tangents of values by their types.
//!
//! The tangent of a Real is a Real, of an array of Reals an array of the same sizes, of an accumulator an accumulator.
//! The tangent of a box is its *shadow*: a box of another type with the same alternatives, of whose fields it has the
//! tangents, those without Reals left out. The shadows have one more alternative, without fields: nothing in the box
//! varies. So what does not vary needs no shadow made of it, however large it is.

use super::{differentiable, Deriver};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, BoxType, Elem, FunctionId, Module, Op, Scalar, SiteId, Ty, Variant};
use diffeo_base::Name;
use diffeo_calculus::prim::Comparison;

/// The type of shadows of a type of boxes.
pub fn shadow(module: &mut Module, cache: &mut Deriver, id: BoxId) -> BoxId {
    if let Some(shadow) = cache.shadows.get(&id) {
        return *shadow;
    }
    let made = BoxId(module.boxes.len() as u32);
    let BoxType { name, variants } = module.boxes[id.0 as usize].clone();
    module.boxes.push(BoxType { name: Name::from(format!("{name}.dot")), variants: Vec::new() });
    cache.shadows.insert(id, made);
    let mut shadows = Vec::new();
    for variant in variants {
        let fields = variant.fields.iter().filter_map(|ty| tangent(module, cache, ty)).collect();
        shadows.push(Variant { name: variant.name, fields });
    }
    shadows.push(Variant { name: Name::new("Zero"), fields: Vec::new() });
    module.boxes[made.0 as usize].variants = shadows;
    made
}

/// The type of tangents of a type; none if there are no Reals in it.
pub fn tangent(module: &mut Module, cache: &mut Deriver, ty: &Ty) -> Option<Ty> {
    if !differentiable(module, ty) {
        return None;
    }
    Some(match ty {
        Ty::Box(id) => Ty::Box(shadow(module, cache, *id)),
        Ty::Array(Elem::Box(id), rank) => Ty::Array(Elem::Box(shadow(module, cache, *id)), *rank),
        Ty::Stack(elems) => {
            let mut tangents = Vec::new();
            for elem in elems {
                let ty = tangent(module, cache, &elem.ty());
                tangents.extend(ty.and_then(|ty| ty.elements()).map(|(elem, _)| elem));
            }
            Ty::Stack(tangents.into())
        }
        Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Array(..) | Ty::Acc(_) => ty.clone(),
    })
}

/// The tag of the shadows of boxes of a type in which nothing varies.
pub fn zero_tag(module: &Module, id: BoxId) -> u32 {
    module.boxes[id.0 as usize].variants.len() as u32
}

/// The tangent of a value that does not vary.
pub fn zero(b: &mut Builder, module: &mut Module, cache: &mut Deriver, atom: &Atom) -> Atom {
    let ty = b.ty(atom);
    match (atom, &ty) {
        (Atom::Unused(ty), _) => {
            let tangent = tangent(module, cache, ty);
            Atom::Unused(tangent.unwrap_or(ty.clone()))
        }
        (_, Ty::Box(id)) => zero_box(b, module, cache, *id),
        (_, Ty::Array(elem, rank)) => zeros(b, module, cache, atom, *elem, *rank, 0),
        (_, Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Acc(_) | Ty::Stack(_)) => {
            Atom::Real(0.0)
        }
    }
}

fn zero_box(b: &mut Builder, module: &mut Module, cache: &mut Deriver, id: BoxId) -> Atom {
    let shadow = shadow(module, cache, id);
    b.one(module, Op::New(shadow, zero_tag(module, id), Vec::new()))
}

/// The tangent of an array, from this dimension on. Only its sizes are looked at.
fn zeros(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    array: &Atom,
    elem: Elem,
    rank: u8,
    dim: u8,
) -> Atom {
    let count = b.one(module, Op::Dim(array.clone(), dim));
    let index = b.var(Ty::Int, None);
    b.open();
    let element = if dim + 1 < rank {
        zeros(b, module, cache, array, elem, rank, dim + 1)
    } else if let Elem::Box(id) = elem {
        zero_box(b, module, cache, id)
    } else {
        Atom::Real(0.0)
    };
    let body = b.close(vec![element]);
    b.one(module, Op::Build { count, index, body })
}

/// The tangent of a field of a box whose shadow is this.
pub fn field(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    (object, shadow, value): (&Atom, &Atom, &Atom),
    tag: u32,
    index: u32,
) -> Atom {
    let Ty::Box(id) = b.ty(object) else { return Atom::Real(0.0) };
    let fields = module.boxes[id.0 as usize].variants[tag as usize].fields.clone();
    let before = fields[..index as usize].iter().filter(|ty| differentiable(module, ty)).count();
    let found = b.one(module, Op::Tag(shadow.clone()));
    let zero_tag = Atom::Int(i64::from(zero_tag(module, id)));
    let op = Op::Compare(Comparison::Eq, Scalar::Int, found, zero_tag);
    let cond = b.one(module, op);
    b.open();
    let nothing = zero(b, module, cache, value);
    let then = b.close(vec![nothing]);
    b.open();
    let op = Op::Field { object: shadow.clone(), tag, index: before as u32 };
    let something = b.one(module, op);
    let otherwise = b.close(vec![something]);
    b.one(module, Op::If { cond, then, otherwise })
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
        (Atom::Unused(_), ty) => Atom::Unused(tangent(module, cache, &ty).unwrap_or(ty)),
        (_, Ty::Box(id)) => {
            let function = converter(module, cache, id, false);
            b.one(module, Op::Call(function, vec![value.clone()]))
        }
        (_, Ty::Array(Elem::Box(id), rank)) => {
            let function = converter(module, cache, id, false);
            each(b, module, &[value.clone()], rank, function)
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
    let shadow = shadow(module, cache, id);
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
                let dot = field(&mut b, module, cache, of, tag, index);
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
