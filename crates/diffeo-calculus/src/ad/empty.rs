//! The sum of no elements: a zero of the shape that the missing elements have (ours).
//!
//! In: an array without elements, translated or not. Out: `0_A` for its elements' type A, plain. What always
//! holds: it has the sizes that the array knows of rows that it does not have, which going through its elements
//! would lose.

use super::build::*;
use super::delta::split;
use super::{homomorphism, System, Workspace};
use crate::prim::{Prim, Shape, SizePattern, SizeRef};
use crate::term::{Kind, Term};
use crate::ty::Ty;
use diffeo_base::Name;
use std::rc::Rc;

/// The zero that `xs`, the translation of an array of no elements of this vector type, adds up to.
pub(crate) fn zero(w: &mut Workspace, system: &System, element: &Ty, xs: Term) -> Term {
    let array = Ty::array(element.clone());
    let mut count = 0;
    let rows = shape(element, &mut count);
    if count == 0 {
        return zeros(w, element, &mut Vec::new().into_iter());
    }
    let mut shape = Shape::Array(SizeRef::Any, Box::new(rows));
    if matches!(system, System::Delta(choices) if choices.split) {
        shape = split::shape(w, &shape, &array);
    }
    let names: Vec<Name> = (0..count).map(|i| Name::from(format!("n{i}"))).collect();
    let pattern = SizePattern { names, given: 0, shape };
    let translated = homomorphism::ty(w, system, &array);
    let types = vec![Ty::Int; count];
    let found = w.binder("sizes", Ty::tuple(types.clone()));
    let sizes: Vec<Term> = (0..count).map(|i| part(&types, i, var(&found))).collect();
    let zero = zeros(w, element, &mut sizes.into_iter());
    bind(found, prim(Prim::Sizes(Rc::new(pattern), translated), vec![xs]), zero)
}

/// Every size in a vector type by a name of its own, from the left.
fn shape(a: &Ty, count: &mut usize) -> Shape {
    match a {
        Ty::Array(element) => {
            let size = SizeRef::Name(*count);
            *count += 1;
            Shape::Array(size, Box::new(shape(element, count)))
        }
        Ty::Tuple(_) | Ty::Record(_) => {
            let parts = a.components().unwrap_or_default();
            Shape::Tuple(parts.iter().map(|t| shape(t, count)).collect())
        }
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => Shape::Any,
    }
}

/// The zero of a vector type with these sizes.
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
            term(Kind::Tuple(a.clone(), zeros))
        }
        Ty::Int => int(0),
        Ty::Real | Ty::Bool | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            real(0.0)
        }
    }
}
