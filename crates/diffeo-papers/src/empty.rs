//! Shapes of arrays without elements (ours).
//!
//! What comes in: an array without elements, translated or not. What goes out: what a walk over its elements, or their
//! sum, gives for it. What always holds: the result has the row sizes that the array knows although it has no rows;
//! walking over its elements would lose them.

use super::delta::split;
use super::polytypic::{self, At};
use super::{homomorphism, System, Workspace};
use diffeo_base::Name;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Comparison, Prim, SizePattern, SizeRef, SizeShape};
use diffeo_calculus::term::{Binder, Term, TermKind};
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

/// `array`, made of the elements of `xs` one by one; if there are none and they are arrays, an array without elements
/// that knows their sizes. The types are those of `element` in the systems of the two.
pub(super) fn kept(
    w: &mut Workspace,
    (from, to): (&At, &At),
    element: &Ty,
    xs: &Term,
    array: Term,
) -> Term {
    if !holds_arrays(element) {
        return array;
    }
    let count = polytypic::length_at(w, from, element, xs);
    let empty = compare(Comparison::Eq, Ty::Int, count, int(0));
    if from == to {
        return if_(empty, xs.clone(), array);
    }
    // Numbers of D¹ are not made without the zero of δS.
    let liftable = !matches!(to, Some(System::Vector(_)));
    if !(holds_data_only(element) && liftable) {
        return array;
    }
    let out = polytypic::at(w, to, element);
    let (found, of_xs, sizes) = sizes(w, from.as_ref(), element, xs.clone());
    // A length that nothing has determined is 0.
    let mut known = truth(true);
    for i in outermost(element, 0).0 {
        known =
            if_(compare(Comparison::Gt, Ty::Int, sizes[i].clone(), int(0)), known, truth(false));
    }
    let one = zeros(w, element, &mut sizes.into_iter());
    let one = match to {
        None => one,
        Some(system) => homomorphism::lift(w, system, element, None, one),
    };
    let one = term(TermKind::Array(out.clone(), vec![one]));
    let none = prim(Prim::Slice(out), vec![one, int(0), int(0)]);
    bind(found, of_xs, if_(if_(empty, known, truth(false)), none, array))
}

/// The positions among all sizes in a type of those that no other array is around, and how many there are before the
/// next type if so many were before this one.
fn outermost(a: &Ty, before: usize) -> (Vec<usize>, usize) {
    match a {
        Ty::Array(element) => (vec![before], outermost(element, before + 1).1),
        Ty::Tuple(_) | Ty::Record(_) => {
            let mut all = Vec::new();
            let mut before = before;
            for part in a.components().unwrap_or_default() {
                let (found, after) = outermost(&part, before);
                all.extend(found);
                before = after;
            }
            (all, before)
        }
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => (Vec::new(), before),
    }
}

fn holds_arrays(a: &Ty) -> bool {
    match a {
        Ty::Array(_) => true,
        Ty::Tuple(types) => types.iter().any(holds_arrays),
        Ty::Record(fields) => fields.iter().any(|(_, t)| holds_arrays(t)),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => false,
    }
}

/// Whether the type is built of numbers, truth values and texts with tuples, records and arrays.
fn holds_data_only(a: &Ty) -> bool {
    match a {
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit => true,
        Ty::Array(element) => holds_data_only(element),
        Ty::Tuple(types) => types.iter().all(holds_data_only),
        Ty::Record(fields) => fields.iter().all(|(_, t)| holds_data_only(t)),
        Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => false,
    }
}

/// The zero that `xs`, an array of no elements of this type or its translation, adds up to.
pub(crate) fn zero(w: &mut Workspace, system: Option<&System>, element: &Ty, xs: Term) -> Term {
    if !holds_arrays(element) {
        return zeros(w, element, &mut Vec::new().into_iter());
    }
    let (found, of_xs, sizes) = sizes(w, system, element, xs);
    let zero = zeros(w, element, &mut sizes.into_iter());
    bind(found, of_xs, zero)
}

/// All sizes in the elements of an array, or of its translation, from the left: the variable for the tuple of them,
/// that tuple, and each of them by the variable.
fn sizes(
    w: &mut Workspace,
    system: Option<&System>,
    element: &Ty,
    xs: Term,
) -> (Binder, Term, Vec<Term>) {
    let array = Ty::array(element.clone());
    let mut count = 0;
    let mut shape = SizeShape::Array(SizeRef::Any, Box::new(shape(element, &mut count)));
    if matches!(system, Some(System::Delta(choices)) if choices.split) {
        shape = split::shape(w, &shape, &array);
    }
    let names: Vec<Name> = (0..count).map(|i| Name::from(format!("n{i}"))).collect();
    let pattern = SizePattern { names, given: 0, parts: Vec::new(), shape };
    let translated = polytypic::at(w, &system.cloned(), &array);
    let types = vec![Ty::Int; count];
    let found = w.binder("sizes", Ty::tuple(types.clone()));
    let sizes = (0..count).map(|i| part(&types, i, var(&found))).collect();
    (found, prim(Prim::Sizes(Rc::new(pattern), translated), vec![xs]), sizes)
}

/// Every size in a type by a name of its own, from the left.
fn shape(a: &Ty, count: &mut usize) -> SizeShape {
    match a {
        Ty::Array(element) => {
            let size = SizeRef::Name(*count);
            *count += 1;
            SizeShape::Array(size, Box::new(shape(element, count)))
        }
        Ty::Tuple(_) | Ty::Record(_) => {
            let parts = a.components().unwrap_or_default();
            SizeShape::Tuple(parts.iter().map(|t| shape(t, count)).collect())
        }
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => SizeShape::Any,
    }
}

/// The zero of a type with these sizes; what is no number is anything.
fn zeros(w: &mut Workspace, a: &Ty, sizes: &mut dyn Iterator<Item = Term>) -> Term {
    match a {
        Ty::Array(element) => {
            let size = sizes.next().unwrap_or_else(|| int(0));
            let element = Ty::clone(element);
            let zero = zeros(w, &element, sizes);
            let i = w.binder("i", Ty::Int);
            build(size, i, element, zero)
        }
        Ty::Tuple(_) | Ty::Record(_) => {
            let parts = a.components().unwrap_or_default();
            let zeros = parts.iter().map(|t| zeros(w, t, sizes)).collect();
            term(TermKind::Tuple(a.clone(), zeros))
        }
        Ty::Int => int(0),
        Ty::Bool => truth(false),
        Ty::String => text(""),
        Ty::Unit => unit(),
        Ty::Real | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => real(0.0),
    }
}
