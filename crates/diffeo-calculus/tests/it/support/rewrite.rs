//! Terms rewritten by the laws of the calculus, for the theorems about terms.

use diffeo_calculus::term::{Arm, Build, Case, Control, Loop, Term, TermKind, Var};

/// `t` with every child replaced.
fn map(t: &Term, f: &dyn Fn(&Term) -> Term) -> Term {
    let boxed = |t: &Term| Box::new(f(t));
    let all = |ts: &[Term]| ts.iter().map(f).collect::<Vec<Term>>();
    let kind = match &t.kind {
        TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => t.kind.clone(),
        TermKind::Lam(x, body) => TermKind::Lam(x.clone(), boxed(body)),
        TermKind::App(g, x) => TermKind::App(boxed(g), boxed(x)),
        TermKind::Let(bindings, body) => {
            let bindings = bindings.iter().map(|(x, value)| (x.clone(), f(value))).collect();
            TermKind::Let(bindings, boxed(body))
        }
        TermKind::LetRec(x, function, body) => {
            TermKind::LetRec(x.clone(), boxed(function), boxed(body))
        }
        TermKind::Tuple(ty, ts) => TermKind::Tuple(ty.clone(), all(ts)),
        TermKind::Proj(ty, i, t) => TermKind::Proj(ty.clone(), *i, boxed(t)),
        TermKind::Con(data, args, tag, ts) => TermKind::Con(*data, args.clone(), *tag, all(ts)),
        TermKind::Case(case) => {
            let arm =
                |arm: &Arm| Arm { tag: arm.tag, binders: arm.binders.clone(), body: f(&arm.body) };
            TermKind::Case(Box::new(Case {
                scrutinee: f(&case.scrutinee),
                data: case.data.clone(),
                arms: case.arms.iter().map(arm).collect(),
                default: case.default.as_ref().map(f),
            }))
        }
        TermKind::If(a, b, c) => TermKind::If(boxed(a), boxed(b), boxed(c)),
        TermKind::Array(ty, ts) => TermKind::Array(ty.clone(), all(ts)),
        TermKind::Build(b) => TermKind::Build(Box::new(Build {
            count: f(&b.count),
            index: b.index.clone(),
            body: f(&b.body),
            element: b.element.clone(),
        })),
        TermKind::Loop(l) => {
            let control = match &l.control {
                Control::Count { index, count } => {
                    Control::Count { index: index.clone(), count: f(count) }
                }
                Control::While(condition) => Control::While(f(condition)),
            };
            let (state, init, body) = (l.state.clone(), f(&l.init), f(&l.body));
            TermKind::Loop(Box::new(Loop { state, init, control, body }))
        }
        TermKind::Prim(p, ts) => TermKind::Prim(p.clone(), all(ts)),
        TermKind::Diff(d, ts) => TermKind::Diff(d.clone(), all(ts)),
    };
    Term::new(kind, t.span)
}

/// `t[s/x]`, for terms whose bound variables are all different and not free in `s`.
pub fn substitute(t: &Term, x: &Var, s: &Term) -> Term {
    match &t.kind {
        TermKind::Var(y) if y == x => s.clone(),
        _ => map(t, &|t| substitute(t, x, s)),
    }
}

/// Every `let` of which this holds replaced by what it stands for, and components of tuples taken.
pub fn reduced(t: &Term, goes: &dyn Fn(&Term) -> bool) -> Term {
    let t = map(t, &|t| reduced(t, goes));
    match t.kind {
        TermKind::Let(bindings, mut body) => {
            let mut kept = Vec::new();
            let mut bindings = std::collections::VecDeque::from(bindings);
            while let Some((x, value)) = bindings.pop_front() {
                if goes(&value) {
                    for (_, later) in &mut bindings {
                        *later = reduced(&substitute(later, &x.var, &value), goes);
                    }
                    *body = reduced(&substitute(&body, &x.var, &value), goes);
                } else {
                    kept.push((x, value));
                }
            }
            if kept.is_empty() {
                return *body;
            }
            Term::new(TermKind::Let(kept, body), t.span)
        }
        TermKind::Proj(ty, i, of) => match of.kind {
            TermKind::Tuple(_, mut components) => components.swap_remove(i),
            kind => {
                let of = Box::new(Term::new(kind, of.span));
                Term::new(TermKind::Proj(ty, i, of), t.span)
            }
        },
        kind => Term::new(kind, t.span),
    }
}
