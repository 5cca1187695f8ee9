//! The translation of Reals in each system: one line for each, beside the figure of the paper that it comes from.

use super::{delta, dual, jet, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Blame, Comparison, Lift, Lifting, Prim, RealOp};
use diffeo_calculus::term::{Binder, Term};
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

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
        System::Forward => {
            let zero = nothing(w);
            dual::pair(r, zero)
        }
        System::Taylor { k, r: order } => {
            let zero = nothing(w);
            jet::constant(*k, *order, r, &zero)
        }
        System::Mixed => jet::mixed_constant(r),
        System::Vector(s) => {
            let zero = zero.cloned().unwrap_or_else(unit);
            tuple(vec![Ty::Real, (**s).clone()], vec![r, zero])
        }
        System::Naive => delta::naive::constant(w, r),
        System::Delta(_) => delta::translate::constant(w, system, r),
    }
}

/// The derivative of what does not vary: 0, times anything. As the papers have no such number, shown programs have 0.
pub(crate) fn nothing(w: &mut Workspace) -> Term {
    if !w.dynamic {
        return diffeo_calculus::build::real(0.0);
    }
    global(w.made("0", Ty::Real, |_| lifting(Lifting::Zero, Ty::Unit, Ty::Real, Vec::new())))
}

/// An operation of translated programs on values.
pub(crate) fn lifting(what: Lifting, from: Ty, to: Ty, args: Vec<Term>) -> Term {
    prim(Prim::Lift(Rc::new(Lift { what, systems: Vec::new(), from, to })), args)
}

/// The number, as one that does not vary if it is 0 and nothing in it varies.
pub(crate) fn sparse(w: &Workspace, x: Term) -> Term {
    match w.dynamic {
        true => lifting(Lifting::Sparse, Ty::Real, Ty::Real, vec![x]),
        false => x,
    }
}

/// The number as programs know it: an ordinary 0 if it does not vary.
pub(crate) fn settled(w: &Workspace, x: Term) -> Term {
    match w.dynamic {
        true => diffeo_calculus::build::op(RealOp::Add, vec![x, diffeo_calculus::build::real(0.0)]),
        false => x,
    }
}

/// Whether an operation is blamed for derivatives that are not finite.
pub(crate) fn may_be_to_blame(w: &Workspace, op: RealOp) -> bool {
    w.dynamic
        && !matches!(
            op,
            RealOp::Add
                | RealOp::Sub
                | RealOp::Neg
                | RealOp::Mul
                | RealOp::Sin
                | RealOp::Cos
                | RealOp::Abs
                | RealOp::Sign
                | RealOp::Min
                | RealOp::Max
        )
}

/// Blames an operation, if its derivatives are not finite and the operands and the `others` are.
pub(crate) fn blame(
    w: &mut Workspace,
    op: &'static str,
    derivatives: Vec<Term>,
    operands: Vec<Term>,
    others: Vec<Term>,
) -> (Binder, Term) {
    let blame = Blame { op, derivatives: derivatives.len(), operands: operands.len() };
    let args = [derivatives, operands, others].concat();
    let seen = w.binder("seen", Ty::Unit);
    (seen, lifting(Lifting::Blame(blame), Ty::Real, Ty::Unit, args))
}

/// `D{op}` with the operation blamed for what is not finite in it, for the systems whose numbers are tuples; `exponent`
/// is that of a power. The arguments may be mentioned several times.
pub(crate) fn blamed(
    w: &mut Workspace,
    system: &System,
    op: &'static str,
    (xs, exponent): (&[Term], Option<&Term>),
    value: Term,
) -> Term {
    let types = match system {
        System::Forward | System::Taylor { .. } if w.dynamic => real(w, system).components(),
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Vector(_)
        | System::Naive
        | System::Delta(_) => None,
    };
    let Some(types) = types else { return value };
    let z = w.binder("z", Ty::tuple(types.clone()));
    let parts = |x: &Term| (1..types.len()).map(|i| part(&types, i, x.clone())).collect::<Vec<_>>();
    let mut operands: Vec<Term> = xs.iter().map(|x| part(&types, 0, x.clone())).collect();
    operands.extend(exponent.map(|n| prim(Prim::ToReal, vec![n.clone()])));
    let others = xs.iter().flat_map(parts).collect();
    let (seen, noted) = blame(w, op, parts(&var(&z)), operands, others);
    let result = var(&z);
    bind(z, value, bind(seen, noted, result))
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
            let components =
                std::iter::once(diffeo_calculus::build::real(0.0)).chain(rest).collect();
            tuple(types.to_vec(), components)
        }
        _ => diffeo_calculus::build::real(0.0),
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
        compare(Comparison::Eq, Ty::Real, component, diffeo_calculus::build::real(0.0))
    };
    Some((1..types.len()).rev().fold(truth(true), |rest, i| if_(zero(i), rest, truth(false))))
}

/// Whether the number varies, in a program that runs: whether what it has beside the primal is not 0.
pub(crate) fn varies(w: &mut Workspace, system: &System, x: &Term) -> Term {
    let ty = real(w, system);
    let types = ty.components().unwrap_or_else(|| vec![Ty::Real]);
    let parts = (1..types.len()).rev();
    parts.fold(truth(false), |rest, i| {
        let part = proj(&ty, i, x.clone());
        if_(lifting(Lifting::Varies, types[i].clone(), Ty::Bool, vec![part]), truth(true), rest)
    })
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
        System::Delta(_) => diffeo_calculus::build::op(op, xs),
    }
}

/// `D{x ↦ xⁿ}`, n an integer.
pub(crate) fn power(w: &mut Workspace, system: &System, xs: &[Term]) -> Term {
    let (x, n) = (&xs[0], &xs[1]);
    match system {
        System::Forward => dual::power(w, x, n),
        System::Taylor { k, r } => jet::power(w, (*k, *r), x, n),
        System::Mixed => jet::mixed_power(w, x, n),
        System::Vector(s) => delta::naive::vector_power(w, s, x, n),
        System::Naive => delta::naive::power(w, x, n),
        System::Delta(_) => prim(diffeo_calculus::prim::Prim::PowInt, xs.to_vec()),
    }
}
