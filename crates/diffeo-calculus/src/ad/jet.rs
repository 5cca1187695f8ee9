//! The (k,R)-Taylor macro.

pub mod faa_di_bruno;

use super::{System, Workspace};
use crate::prim::RealOp;
use crate::term::Term;
use crate::ty::Ty;

/// `D_(k,R)(real) = real^c`
pub(crate) fn real_type(_k: u32, _r: u32) -> Ty {
    todo!()
}

/// `⟨r, 0, …, 0⟩`
pub(crate) fn constant(_k: u32, _order: u32, _r: Term) -> Term {
    todo!()
}

pub(crate) fn operation(_w: &mut Workspace, _: (u32, u32), _op: RealOp, _xs: &[Term]) -> Term {
    todo!()
}

pub(crate) fn power(_w: &mut Workspace, _: (u32, u32), _x: &Term, _n: &Term) -> Term {
    todo!()
}

pub(crate) fn mixed_type() -> Ty {
    todo!()
}

pub(crate) fn mixed_constant(_r: Term) -> Term {
    todo!()
}

pub(crate) fn mixed_operation(_w: &mut Workspace, _op: RealOp, _xs: &[Term]) -> Term {
    todo!()
}

pub(crate) fn mixed_power(_w: &mut Workspace, _x: &Term, _n: &Term) -> Term {
    todo!()
}

/// `xs` are translated `f`, rule and point.
pub(crate) fn with_derivative(
    _w: &mut Workspace,
    (k, r): (u32, u32),
    _s: &Ty,
    _t: &Ty,
    _xs: &[Term],
) -> Term {
    let _ = System::Taylor { k, r };
    todo!()
}

/// `J(T) → D_(k,R)(T)`
pub(crate) fn from_jet(_w: &mut Workspace, _: (u32, u32), _ty: &Ty, _x: Term) -> Term {
    todo!()
}

/// `D_(k,R)(T) → J(T)`
pub(crate) fn to_jet(_w: &mut Workspace, _: (u32, u32), _ty: &Ty, _x: Term) -> Term {
    todo!()
}
