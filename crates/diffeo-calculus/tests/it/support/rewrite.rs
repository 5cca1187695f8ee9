//! Terms rewritten by the laws of the calculus, for the theorems about terms.

use diffeo_calculus::term::{Arm, Build, Case, Control, Kind, Loop, Term, Var};

/// `t` with every child replaced.
fn map(t: &Term, f: &dyn Fn(&Term) -> Term) -> Term {
    let boxed = |t: &Term| Box::new(f(t));
    let all = |ts: &[Term]| ts.iter().map(f).collect::<Vec<Term>>();
    let kind = match &t.kind {
        Kind::Var(_) | Kind::Global(_) | Kind::Lit(_) => t.kind.clone(),
        Kind::Lam(x, body) => Kind::Lam(x.clone(), boxed(body)),
        Kind::App(g, x) => Kind::App(boxed(g), boxed(x)),
        Kind::Let(bindings, body) => {
            let bindings = bindings.iter().map(|(x, value)| (x.clone(), f(value))).collect();
            Kind::Let(bindings, boxed(body))
        }
        Kind::LetRec(x, function, body) => Kind::LetRec(x.clone(), boxed(function), boxed(body)),
        Kind::Tuple(ty, ts) => Kind::Tuple(ty.clone(), all(ts)),
        Kind::Proj(ty, i, t) => Kind::Proj(ty.clone(), *i, boxed(t)),
        Kind::Con(data, args, tag, ts) => Kind::Con(*data, args.clone(), *tag, all(ts)),
        Kind::Case(case) => {
            let arm =
                |arm: &Arm| Arm { tag: arm.tag, binders: arm.binders.clone(), body: f(&arm.body) };
            Kind::Case(Box::new(Case {
                scrutinee: f(&case.scrutinee),
                data: case.data.clone(),
                arms: case.arms.iter().map(arm).collect(),
                default: case.default.as_ref().map(f),
            }))
        }
        Kind::If(a, b, c) => Kind::If(boxed(a), boxed(b), boxed(c)),
        Kind::Array(ty, ts) => Kind::Array(ty.clone(), all(ts)),
        Kind::Build(b) => Kind::Build(Box::new(Build {
            count: f(&b.count),
            index: b.index.clone(),
            body: f(&b.body),
            element: b.element.clone(),
        })),
        Kind::Loop(l) => {
            let control = match &l.control {
                Control::Count { index, count } => {
                    Control::Count { index: index.clone(), count: f(count) }
                }
                Control::While(condition) => Control::While(f(condition)),
            };
            let (state, init, body) = (l.state.clone(), f(&l.init), f(&l.body));
            Kind::Loop(Box::new(Loop { state, init, control, body }))
        }
        Kind::Prim(p, ts) => Kind::Prim(p.clone(), all(ts)),
        Kind::Diff(d, ts) => Kind::Diff(d.clone(), all(ts)),
    };
    Term::new(kind, t.span)
}

/// `t[s/x]`, for terms whose bound variables are all different and not free in `s`.
pub fn substitute(t: &Term, x: &Var, s: &Term) -> Term {
    match &t.kind {
        Kind::Var(y) if y == x => s.clone(),
        _ => map(t, &|t| substitute(t, x, s)),
    }
}

/// Every `let` of which this holds replaced by what it stands for, and components of tuples taken.
pub fn reduced(t: &Term, goes: &dyn Fn(&Term) -> bool) -> Term {
    let t = map(t, &|t| reduced(t, goes));
    match t.kind {
        Kind::Let(bindings, mut body) => {
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
            Term::new(Kind::Let(kept, body), t.span)
        }
        Kind::Proj(ty, i, of) => match of.kind {
            Kind::Tuple(_, mut components) => components.swap_remove(i),
            kind => {
                let of = Box::new(Term::new(kind, of.span));
                Term::new(Kind::Proj(ty, i, of), t.span)
            }
        },
        kind => Term::new(kind, t.span),
    }
}
