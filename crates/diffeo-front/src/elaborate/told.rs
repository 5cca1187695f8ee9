//! Warnings for methods of the standard library that may end without converging: the program itself tests the result of
//! a call, and prints a line, with the place of the call, if it did not converge.
//!
//! What comes in: the name in a program of a method that gives a result which tells how it ended. What goes out: the
//! method with a call around it of a teller of the library's module, which prints as `trace` does, so on every engine.
//! The session makes a warning of the line ([`crate::NotConverged`]).

use super::{var, Body};
use crate::db::DefId;
use crate::not_converged::NotConverged;
use diffeo_base::Name;
use diffeo_calculus::term::{Lit, Term, TermKind};
use diffeo_calculus::Ty;
use diffeo_syntax::ast::ExprId;

/// The tellers: the fields that the results of their methods have, their names, and the field whose type is the argument
/// of the teller's, if it takes results of several types. The first one that fits is taken.
const TELLERS: [(&[&str], &str, Option<&str>); 7] = [
    (&["standard_errors", "reason"], "told_fit", Some("point")),
    (&["violation", "reason"], "told_constrained", Some("point")),
    (&["point", "reason"], "told", Some("point")),
    (&["residual", "converged"], "told_krylov", None),
    (&["null_deviance", "converged"], "told_glm", None),
    (&["log_evidence", "converged"], "told_laplace", None),
    (&["bound", "converged"], "told_mean_field", None),
];

impl Body<'_, '_> {
    /// A definition that this expression names, with what tells of its results around it, if it is one that may have
    /// to.
    pub(super) fn told(&mut self, def: DefId, id: ExprId, method: Term) -> Term {
        let module = self.cx.db.def(def).module;
        if self.cx.db.module(self.module).std || !self.cx.db.module(module).std {
            return method;
        }
        let Ty::Fun(ty) = self.expr_ty(id) else { return method };
        let Ty::Record(fields) = &ty.1 else { return method };
        let field = |name: &str| fields.iter().find(|(field, _)| **field == *name);
        let fits = |marks: &[&str]| marks.iter().all(|mark| field(mark).is_some());
        let Some((_, teller, argument)) = TELLERS.iter().find(|(marks, ..)| fits(marks)) else {
            return method;
        };
        let argument = argument.and_then(field).map(|(_, ty)| ty.clone());
        let db = self.cx.db;
        let library = db.module(module);
        let Some((teller, _)) = library.scope.values.get(&Name::new(teller)) else {
            return method;
        };
        let (teller, span) = (*teller, method.span);
        let name = format!("{}.{}", library.name, db.def(def).name);
        let text = Term::new(
            TermKind::Lit(Lit::String(Name::new(&NotConverged::label(&db.sources, span, &name)))),
            span,
        );
        let teller = Term::new(
            TermKind::Global(self.cx.instance(teller, argument.into_iter().collect())),
            span,
        );
        let x = self.cx.binder("x", ty.0.clone());
        let apply = |f: Term, arg: Term| Term::new(TermKind::App(Box::new(f), Box::new(arg)), span);
        let call = apply(method, var(&x, span));
        let pair = Ty::Tuple(vec![Ty::String, ty.1.clone()].into());
        let told = apply(teller, Term::new(TermKind::Tuple(pair, vec![text, call]), span));
        Term::new(TermKind::Lam(x, Box::new(told)), span)
    }
}
