//! What each system makes of Reals: one line for each, in the room that the paper's figure is in.

use super::build::*;
use super::{delta, dual, jet, System, Workspace};
use crate::prim::{Comparison, RealOp};
use crate::term::Term;
use crate::ty::Ty;

/// `D{ℝ}`
pub(crate) fn real(w: &mut Workspace, system: &System) -> Ty {
    match system {
        System::Forward => dual::real_type(),
        System::Taylor { k, r } => jet::real_type(*k, *r),
        System::Mixed => jet::mixed_type(),
        System::Vector(s) => Ty::tuple(vec![Ty::Real, (**s).clone()]),
        System::Naive => delta::naive::real_type(w),
        System::Delta(_) => delta::translate::real_type(w, system),
    }
}

/// What a number is paired with, where it is not made of the number alone.
pub(crate) fn displacement(system: &System) -> Ty {
    match system {
        System::Vector(s) => (**s).clone(),
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Naive
        | System::Delta(_) => Ty::Unit,
    }
}

/// `D{r}`: a number that does not vary. `zero` is that of δS for D¹.
pub(crate) fn constant(w: &mut Workspace, system: &System, zero: Option<&Term>, r: Term) -> Term {
    match system {
        System::Forward => dual::pair(r, super::build::real(0.0)),
        System::Taylor { k, r: order } => jet::constant(*k, *order, r),
        System::Mixed => jet::mixed_constant(r),
        System::Vector(s) => {
            let zero = zero.cloned().unwrap_or_else(unit);
            tuple(vec![Ty::Real, (**s).clone()], vec![r, zero])
        }
        System::Naive => delta::naive::constant(w, r),
        System::Delta(_) => delta::translate::constant(w, system, r),
    }
}

/// The number itself.
pub(crate) fn primal(w: &mut Workspace, system: &System, x: Term) -> Term {
    match real(w, system) {
        Ty::Real => x,
        ty => proj(&ty, 0, x),
    }
}

/// 0, varying as the number does.
pub(crate) fn tangent(w: &mut Workspace, system: &System, x: Term) -> Term {
    let ty = real(w, system);
    match &ty {
        Ty::Tuple(types) => {
            let rest = (1..types.len()).map(|i| proj(&ty, i, x.clone()));
            let components = std::iter::once(super::build::real(0.0)).chain(rest).collect();
            tuple(types.to_vec(), components)
        }
        _ => super::build::real(0.0),
    }
}

/// Whether the number does not vary, if that is seen from the value.
pub(crate) fn is_constant(w: &mut Workspace, system: &System, x: &Term) -> Option<Term> {
    let types = match system {
        System::Forward | System::Taylor { .. } | System::Mixed => real(w, system),
        System::Vector(_) | System::Naive | System::Delta(_) => return None,
    };
    let types = types.components().unwrap_or_else(|| vec![Ty::Real]);
    let zero = |i| {
        let component = part(&types, i, x.clone());
        compare(Comparison::Eq, Ty::Real, component, super::build::real(0.0))
    };
    Some((1..types.len()).rev().fold(truth(true), |rest, i| if_(zero(i), rest, truth(false))))
}

/// Whether operations mention each argument once, being calls of definitions.
pub(crate) fn by_calls(system: &System) -> bool {
    match system {
        System::Taylor { k, r } => !jet::in_place(*k, *r),
        System::Forward | System::Mixed | System::Vector(_) | System::Naive | System::Delta(_) => {
            false
        }
    }
}

/// `D{op}` at arguments that may be mentioned several times, but see [`by_calls`].
pub(crate) fn operation(w: &mut Workspace, system: &System, op: RealOp, xs: Vec<Term>) -> Term {
    match system {
        System::Forward => dual::operation(w, op, &xs),
        System::Taylor { k, r } => jet::operation(w, (*k, *r), op, &xs),
        System::Mixed => jet::mixed_operation(w, op, &xs),
        System::Vector(s) => delta::naive::vector_operation(w, s, op, &xs),
        System::Naive => delta::naive::operation(w, op, &xs),
        // Monadic: in `delta::translate`.
        System::Delta(_) => super::build::op(op, xs),
    }
}

/// `D{x ↦ xⁿ}`, n an integer.
pub(crate) fn power(w: &mut Workspace, system: &System, xs: &[Term]) -> Term {
    let (x, n) = (&xs[0], &xs[1]);
    match system {
        System::Forward => dual::power(x, n),
        System::Taylor { k, r } => jet::power(w, (*k, *r), x, n),
        System::Mixed => jet::mixed_power(w, x, n),
        System::Vector(s) => delta::naive::vector_power(w, s, x, n),
        System::Naive => delta::naive::power(w, x, n),
        System::Delta(_) => prim(crate::prim::Prim::PowInt, xs.to_vec()),
    }
}
