//! Function values under the translations (ours): the papers differentiate closed terms, Diffeo differentiates values.
//!
//! What comes in: a function value, or a function that is written in its place. What goes out: its translation, or
//! what it was translated from, which [`Prim::Lift`] makes when the program runs.

use super::super::{System, Workspace};
use super::{function, lift, ty};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Lift, Lifting, Prim};
use diffeo_calculus::term::each_binder;
use diffeo_calculus::term::{Term, TermKind};
use diffeo_calculus::ty::Ty;
use std::collections::HashSet;
use std::rc::Rc;

/// The translation of a function value: its code is translated when it is known, that is when the program
/// runs (ours).
pub(crate) fn lift_function(w: &mut Workspace, system: &System, a: &Ty, f: Term) -> Term {
    let to = ty(w, system, a);
    let systems = vec![system.clone()];
    let lift = Lift { what: Lifting::Lift, systems, from: a.clone(), to };
    prim(Prim::Lift(Rc::new(lift)), vec![f])
}

/// The translation of a function that is written where it is wanted, on the embeddings of the variables that it
/// takes from around it; else as [`lift_function`] (ours).
pub(crate) fn function_in_place(w: &mut Workspace, system: &System, a: &Ty, f: &Term) -> Term {
    let Some(binders) = &w.binders else { return lift_function(w, system, a, f.clone()) };
    let (mut own, mut free) = (HashSet::new(), Vec::new());
    each_binder(f, &mut |binder| {
        own.insert(binder.var.id);
    });
    let mut pending = vec![f];
    while let Some(e) = pending.pop() {
        if let TermKind::Var(x) = &e.kind {
            if own.insert(x.id) {
                free.extend(binders.get(&x.id).cloned());
            }
        }
        e.each_child(|child| pending.push(child));
    }
    match &f.kind {
        TermKind::Global(id) => global(w.translated(system, *id)),
        TermKind::Lam(..) | TermKind::LetRec(..) => {
            let (mut bindings, mut variables) = (Vec::new(), Vec::new());
            for source in free {
                let value = lift(w, system, &source.ty, None, var(&source));
                let ty = ty(w, system, &source.ty);
                let binder = w.renamed(system, &source, ty);
                variables.push((source.var.id, binder.clone()));
                bindings.push((binder, value));
            }
            let body = function(w, system, &variables, f);
            bind_all(bindings, body)
        }
        _ => lift_function(w, system, a, f.clone()),
    }
}

/// The function that a function value was translated from: the primal of a function (ours).
pub(crate) fn lower_function(w: &mut Workspace, system: &System, a: &Ty, f: Term) -> Term {
    let from = ty(w, system, a);
    let systems = vec![system.clone()];
    let lift = Lift { what: Lifting::Lower, systems, from, to: a.clone() };
    prim(Prim::Lift(Rc::new(lift)), vec![f])
}

/// Whether a number in the environment of a translated function value varies in the system.
///
/// `kept` is mentioned so that what captures the one captures the other: the code may go through systems that want
/// it.
pub(crate) fn captures(system: &System, from: Ty, f: Term, kept: Term) -> Term {
    let systems = vec![system.clone()];
    let lift = Lift { what: Lifting::Captures, systems, from, to: Ty::Bool };
    prim(Prim::Lift(Rc::new(lift)), vec![kept, f])
}
