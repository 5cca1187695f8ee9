//! Rules of derivatives of which it cannot be seen whether they are linear in their tangents: where one is given, the
//! program itself looks at it at each point where it is used.
//!
//! What comes in: the name of `with_derivative` or `with_exact_derivative` at such a place. What goes out: the function
//! that gives it `fn q -> if fault == 0 then rule(q) else fail(…)`, where `fault`
//! (`session/rules.deo`) tells what is wrong at the point of q; on every engine, and at the place of the name.

use super::{var, Body};
use crate::db::DefId;
use diffeo_base::Span;
use diffeo_calculus::prim::Comparison;
use diffeo_calculus::term::{Lit, Term, TermKind};
use diffeo_calculus::{Prim, Ty};

impl Body<'_, '_> {
    /// A definition that is named here, with the check of rules around it where they are given to it and may not be
    /// linear.
    pub(super) fn ruled(
        &mut self,
        def: DefId,
        taker: Term,
        ty: impl FnOnce(&mut Self) -> Ty,
    ) -> Term {
        let span = taker.span;
        if !self.cx.db.unseen_rules.contains(&span) || !self.cx.db.rule_takers().contains(&def) {
            return taker;
        }
        let Ty::Fun(ty) = ty(self) else { return taker };
        let (Ty::Tuple(pair), Ty::Fun(own)) = (&ty.0, &ty.1) else { return taker };
        let Ty::Fun(rule) = &pair[1] else { return taker };
        let Some(fault) = self.rule_check("fault", vec![own.0.clone(), own.1.clone()], span) else {
            return taker;
        };
        let Some(words) = self.rule_check("words", vec![], span) else { return taker };
        let new = |kind| Term::new(kind, span);
        let apply = |f: Term, x: Term| new(TermKind::App(Box::new(f), Box::new(x)));
        let given = self.cx.binder("p", ty.0.clone());
        let part = |of: Term, ty: &Ty, i| new(TermKind::Proj(ty.clone(), i, Box::new(of)));
        let given_rule = || part(var(&given, span), &ty.0, 1);
        let argument = self.cx.binder("q", rule.0.clone());
        let types = Ty::Tuple([pair[1].clone(), own.0.clone()].into());
        let point = part(var(&argument, span), &rule.0, 0);
        let found = apply(fault, new(TermKind::Tuple(types, vec![given_rule(), point])));
        let code = self.cx.binder("fault", Ty::Int);
        let name = new(TermKind::Lit(Lit::String(self.cx.db.def(def).name.clone())));
        let types = Ty::Tuple([Ty::String, Ty::Int].into());
        let text = apply(words, new(TermKind::Tuple(types, vec![name, var(&code, span)])));
        let none = vec![var(&code, span), new(TermKind::Lit(Lit::Int(0)))];
        let checked = new(TermKind::If(
            Box::new(new(TermKind::Prim(Prim::Compare(Comparison::Eq, Ty::Int), none))),
            Box::new(apply(given_rule(), var(&argument, span))),
            Box::new(new(TermKind::Prim(Prim::Fail(rule.1.clone()), vec![text]))),
        ));
        let body = new(TermKind::Let(vec![(code, found)], Box::new(checked)));
        let checked = new(TermKind::Lam(argument, Box::new(body)));
        let both = vec![part(var(&given, span), &ty.0, 0), checked];
        let call = apply(taker, new(TermKind::Tuple(ty.0.clone(), both)));
        new(TermKind::Lam(given, Box::new(call)))
    }

    /// A definition of the module that looks at rules, at types for what it leaves open.
    fn rule_check(&mut self, name: &str, args: Vec<Ty>, span: Span) -> Option<Term> {
        let db = self.cx.db;
        let (def, _) = *db.module(db.rule_checks?).scope.values.get(name)?;
        Some(Term::new(TermKind::Global(self.cx.instance(def, args)), span))
    }
}
