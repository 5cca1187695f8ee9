//! The monadic translation D (Figures 9, 14, section 10.2).

use crate::ad::{System, Workspace};
use crate::term::{Global, Term};
use crate::ty::Ty;

/// `D{ℝ} = ℝ × Delta`
pub(crate) fn real_type(_w: &mut Workspace, _system: &System) -> Ty {
    todo!()
}

/// `(r, Zero)`
pub(crate) fn constant(_w: &mut Workspace, _system: &System, _r: Term) -> Term {
    todo!()
}

/// `M A = DeltaState → (A, DeltaState)`
pub(crate) fn monad(_w: &mut Workspace, _system: &System, _a: Ty) -> Ty {
    todo!()
}

/// The type of the translation of a definition.
pub(crate) fn definition_type(_w: &mut Workspace, _system: &System, _a: &Ty) -> Ty {
    todo!()
}

/// The translation of a definition.
pub(crate) fn definition(_w: &mut Workspace, _system: &System, _source: &Global) -> Term {
    todo!()
}

/// The translation of a function `λx. e` or `letrec f = λx. e in f` as a value.
pub(crate) fn function(
    _w: &mut Workspace,
    _system: &System,
    _variables: std::collections::HashMap<u32, Term>,
    _e: &Term,
) -> Term {
    todo!()
}
