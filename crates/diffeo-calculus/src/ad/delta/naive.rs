//! D¹ and R¹ (Figures 5, 6), D² and R² (Figures 7, 8).

use crate::ad::Workspace;
use crate::prim::RealOp;
use crate::term::Term;
use crate::ty::Ty;

pub(crate) fn real_type(_w: &mut Workspace) -> Ty {
    todo!()
}

pub(crate) fn constant(_w: &mut Workspace, _r: Term) -> Term {
    todo!()
}

pub(crate) fn operation(_w: &mut Workspace, _op: RealOp, _xs: &[Term]) -> Term {
    todo!()
}

pub(crate) fn power(_w: &mut Workspace, _x: &Term, _n: &Term) -> Term {
    todo!()
}

pub(crate) fn vector_operation(_w: &mut Workspace, _s: &Ty, _op: RealOp, _xs: &[Term]) -> Term {
    todo!()
}

pub(crate) fn vector_power(_w: &mut Workspace, _s: &Ty, _x: &Term, _n: &Term) -> Term {
    todo!()
}
