//! The derivatives within a program that is shown, translated where they stand, the innermost first (ours).
//!
//! Engines translate function values while a program runs. What is shown has to be text, so each function that is
//! differentiated is put where the derivative is taken: through variables, components of tuples, and the functions
//! of the library that pass it on, such as `grad`. What comes in: a workspace. What goes out: the same program
//! whose only derivative terms are `stop_gradient`, `checkpoint` and `with_derivative`; a function that is not found in
//! this way is left to [`super::dynamic`].

use super::reach::{reached, references};
use crate::engine::TranslatingEngine;
use crate::{derived, Workspace};
use diffeo_base::deep;
use diffeo_calculus::build::{is_atom, map_children, term, unit, var};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::each_binder;
use diffeo_calculus::term::{Binder, GlobalId, Term, TermKind};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::first_order;
use std::collections::{HashMap, HashSet};

/// Translates the derivatives in the definitions of a workspace as the engine defines them.
pub fn in_place(w: &mut Workspace, engine: TranslatingEngine) {
    let globals = w.globals.clone();
    let takes = |e: &Term| {
        let mut pending = vec![e];
        while let Some(e) = pending.pop() {
            if matches!(&e.kind, TermKind::Diff(diff, _) if differentiates(diff.op)) {
                return true;
            }
            e.each_child(|child| pending.push(child));
        }
        false
    };
    if !globals.iter().any(|global| takes(&global.body)) {
        return;
    }
    let mut binders = HashMap::new();
    for global in &globals {
        each_binder(&global.body, &mut |b| {
            binders.insert(b.var.id, b.clone());
        });
    }
    w.binders = Some(binders);
    // Functions that differentiate a parameter, or pass it to such a function.
    let mut passes = HashSet::new();
    loop {
        let before = passes.len();
        for (i, global) in globals.iter().enumerate() {
            let id = GlobalId(i as u32);
            let Ty::Fun(f) = &global.ty else { continue };
            let leads = takes(&global.body)
                || references(&global.body).iter().any(|other| passes.contains(other));
            let recursive = || {
                let found = references(&global.body);
                found.iter().any(|next| *next == id || reached(&globals, *next).contains(&id))
            };
            if leads && !first_order(&f.0, &w.declarations()) && !recursive() {
                passes.insert(id);
            }
        }
        if passes.len() == before {
            break;
        }
    }
    for (i, global) in globals.iter().enumerate() {
        let id = GlobalId(i as u32);
        if !passes.contains(&id) {
            let body =
                Places { w: &mut *w, passes: &passes, known: HashMap::new() }.term(&global.body);
            w.define(id, body);
        }
    }
    derived::prepare(w, engine);
}

fn differentiates(op: DiffOp) -> bool {
    match op {
        DiffOp::Rd | DiffOp::Vjp | DiffOp::Jvp | DiffOp::Jet { .. } => true,
        DiffOp::RdAlong
        | DiffOp::StopGradient
        | DiffOp::Checkpoint
        | DiffOp::WithDerivative
        | DiffOp::WithExactDerivative
        | DiffOp::Decisions
        | DiffOp::Deciding
        | DiffOp::Enclose
        | DiffOp::Dependence
        | DiffOp::AllPaths => false,
    }
}

struct Places<'w> {
    w: &'w mut Workspace,
    /// The definitions that are put in the place of their calls.
    passes: &'w HashSet<GlobalId>,
    /// The functions, and tuples with functions in them, that variables stand for.
    known: HashMap<u32, Term>,
}

impl Places<'_> {
    fn term(&mut self, e: &Term) -> Term {
        deep(|| self.placed(e))
    }

    fn placed(&mut self, e: &Term) -> Term {
        match &e.kind {
            TermKind::Let(bindings, body) => {
                let mut all = Vec::new();
                for (x, value) in bindings {
                    let value = self.term(value);
                    self.bind(x, value, &mut all);
                }
                let body = self.term(body);
                Term::new(TermKind::Let(all, Box::new(body)), e.span)
            }
            TermKind::LetRec(f, function, body) => {
                let function = self.term(function);
                let itself =
                    TermKind::LetRec(f.clone(), Box::new(function.clone()), Box::new(var(f)));
                self.known.insert(f.var.id, term(itself));
                let body = self.term(body);
                Term::new(TermKind::LetRec(f.clone(), Box::new(function), Box::new(body)), e.span)
            }
            TermKind::App(f, x) => {
                let (f, x) = (self.term(f), self.term(x));
                self.apply(f, x, e)
            }
            TermKind::Diff(diff, args) if differentiates(diff.op) => {
                let mut args: Vec<Term> = args.iter().map(|x| self.term(x)).collect();
                let mut hoisted = Vec::new();
                let mut f = std::mem::replace(&mut args[0], unit());
                while let TermKind::Let(bindings, body) = f.kind {
                    hoisted.extend(bindings);
                    f = *body;
                }
                args[0] = self.resolved(&f);
                let derivative = Term::new(TermKind::Diff(diff.clone(), args), e.span);
                match hoisted.is_empty() {
                    true => derivative,
                    false => Term::new(TermKind::Let(hoisted, Box::new(derivative)), e.span),
                }
            }
            _ => map_children(e, &mut |child| self.term(child)),
        }
    }

    fn apply(&mut self, f: Term, x: Term, e: &Term) -> Term {
        match f.kind {
            TermKind::Global(id) if self.passes.contains(&id) => {
                let body = self.w.global(id).body.clone();
                let copy = self.w.copied(&mut HashMap::new(), &body);
                self.apply(copy, x, e)
            }
            TermKind::Lam(p, body) => {
                self.term(&Term::new(TermKind::Let(vec![(p, x)], body), e.span))
            }
            TermKind::Let(bindings, body) => {
                let body = self.apply(*body, x, e);
                Term::new(TermKind::Let(bindings, Box::new(body)), e.span)
            }
            kind => {
                let f = Term::new(kind, e.span);
                Term::new(TermKind::App(Box::new(f), Box::new(x)), e.span)
            }
        }
    }

    /// Notes what a variable stands for.
    fn bind(&mut self, x: &Binder, value: Term, all: &mut Vec<(Binder, Term)>) {
        if first_order(&x.ty, &self.w.declarations()) {
            return all.push((x.clone(), value));
        }
        let mut value = value;
        while let TermKind::Let(bindings, body) = value.kind {
            all.extend(bindings);
            value = *body;
        }
        if let TermKind::Tuple(ty, parts) = &mut value.kind {
            // First-order parts get a name, so that copies of the tuple do not evaluate them again.
            for (part, a) in parts.iter_mut().zip(ty.components().unwrap_or_default()) {
                if first_order(&a, &self.w.declarations()) && !is_atom(part) {
                    let name = self.w.binder("x", a);
                    let x = var(&name);
                    all.push((name, std::mem::replace(part, x)));
                }
            }
        }
        let form = self.resolved(&value);
        if matches!(
            form.kind,
            TermKind::Lam(..) | TermKind::LetRec(..) | TermKind::Global(_) | TermKind::Tuple(..)
        ) {
            self.known.insert(x.var.id, form);
        }
        all.push((x.clone(), value));
    }

    /// A function in the place of a variable, or component, that stands for it.
    fn resolved(&mut self, f: &Term) -> Term {
        match &f.kind {
            TermKind::Var(x) => match self.known.get(&x.id).cloned() {
                Some(known) => self.w.copied(&mut HashMap::new(), &known),
                None => f.clone(),
            },
            TermKind::Proj(_, i, of) => match self.resolved(of).kind {
                TermKind::Tuple(_, parts) => self.resolved(&parts[*i]),
                _ => f.clone(),
            },
            _ => f.clone(),
        }
    }
}
