//! Small pieces of Core: how the translations write the terms that they make.
//!
//! Everything made here has no place in a source text unless it is given one.

use crate::prim::{Comparison, Prim, RealOp};
use crate::term::{Arm, Binder, Build, Case, Control, GlobalId, Lit, Loop, Term, TermKind};
use crate::ty::Ty;
use diffeo_base::{Name, Span};

/// A term without a place.
pub fn term(kind: TermKind) -> Term {
    Term::new(kind, Span::NONE)
}

/// A variable.
pub fn var(binder: &Binder) -> Term {
    term(TermKind::Var(binder.var.clone()))
}

/// A definition.
pub fn global(id: GlobalId) -> Term {
    term(TermKind::Global(id))
}

/// The term with other terms in it, made in the order of evaluation.
pub fn map_children(e: &Term, f: &mut dyn FnMut(&Term) -> Term) -> Term {
    let all = |es: &[Term], f: &mut dyn FnMut(&Term) -> Term| es.iter().map(f).collect();
    let kind = match &e.kind {
        TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => e.kind.clone(),
        TermKind::Lam(x, body) => TermKind::Lam(x.clone(), Box::new(f(body))),
        TermKind::App(g, x) => {
            let g = Box::new(f(g));
            TermKind::App(g, Box::new(f(x)))
        }
        TermKind::Let(bindings, body) => {
            let bindings = bindings.iter().map(|(x, value)| (x.clone(), f(value))).collect();
            TermKind::Let(bindings, Box::new(f(body)))
        }
        TermKind::LetRec(g, function, body) => {
            let function = Box::new(f(function));
            TermKind::LetRec(g.clone(), function, Box::new(f(body)))
        }
        TermKind::Tuple(ty, es) => TermKind::Tuple(ty.clone(), all(es, f)),
        TermKind::Proj(ty, i, of) => TermKind::Proj(ty.clone(), *i, Box::new(f(of))),
        TermKind::Con(id, args, tag, es) => TermKind::Con(*id, args.clone(), *tag, all(es, f)),
        TermKind::Case(case) => {
            let scrutinee = f(&case.scrutinee);
            let arm = |arm: &Arm, f: &mut dyn FnMut(&Term) -> Term| Arm {
                tag: arm.tag,
                binders: arm.binders.clone(),
                body: f(&arm.body),
            };
            let arms = case.arms.iter().map(|a| arm(a, f)).collect();
            let default = case.default.as_ref().map(f);
            TermKind::Case(Box::new(Case { scrutinee, data: case.data.clone(), arms, default }))
        }
        TermKind::If(a, b, c) => {
            let (a, b) = (Box::new(f(a)), Box::new(f(b)));
            TermKind::If(a, b, Box::new(f(c)))
        }
        TermKind::Array(ty, es) => TermKind::Array(ty.clone(), all(es, f)),
        TermKind::Build(b) => {
            let count = f(&b.count);
            let (index, element) = (b.index.clone(), b.element.clone());
            TermKind::Build(Box::new(Build { count, index, body: f(&b.body), element }))
        }
        TermKind::Loop(l) => {
            let init = f(&l.init);
            let control = match &l.control {
                Control::Count { index, count } => {
                    Control::Count { index: index.clone(), count: f(count) }
                }
                Control::While(condition) => Control::While(f(condition)),
            };
            let state = l.state.clone();
            TermKind::Loop(Box::new(Loop { state, init, control, body: f(&l.body) }))
        }
        TermKind::Prim(p, es) => TermKind::Prim(p.clone(), all(es, f)),
        TermKind::Diff(d, es) => TermKind::Diff(d.clone(), all(es, f)),
    };
    Term::new(kind, e.span)
}

/// The term with a place for what has none.
pub fn placed(e: Term, span: Span) -> Term {
    if e.span != Span::NONE {
        return e;
    }
    let e = map_children(&e, &mut |child| placed(child.clone(), span));
    Term::new(e.kind, span)
}

/// A real number.
pub fn real(x: f64) -> Term {
    term(TermKind::Lit(Lit::Real(x)))
}

/// An integer.
pub fn int(n: i64) -> Term {
    term(TermKind::Lit(Lit::Int(n)))
}

/// `()`
pub fn unit() -> Term {
    term(TermKind::Lit(Lit::Unit))
}

/// A truth value.
pub fn truth(b: bool) -> Term {
    term(TermKind::Lit(Lit::Bool(b)))
}

/// A text.
pub fn text(s: &str) -> Term {
    term(TermKind::Lit(Lit::String(Name::new(s))))
}

/// `λx:T. M`
pub fn lam(binder: Binder, body: Term) -> Term {
    term(TermKind::Lam(binder, Box::new(body)))
}

/// `M N`
pub fn app(f: Term, x: Term) -> Term {
    term(TermKind::App(Box::new(f), Box::new(x)))
}

/// `f(M, …)` of a definition.
pub fn call(f: GlobalId, types: Vec<Ty>, args: Vec<Term>) -> Term {
    app(global(f), tuple(types, args))
}

/// `let x:T = M in N`
pub fn bind(binder: Binder, value: Term, body: Term) -> Term {
    match body.kind {
        TermKind::Let(mut bindings, body) => {
            bindings.insert(0, (binder, value));
            term(TermKind::Let(bindings, body))
        }
        _ => term(TermKind::Let(vec![(binder, value)], Box::new(body))),
    }
}

/// Some bindings, then the term.
pub fn bind_all(bindings: Vec<(Binder, Term)>, body: Term) -> Term {
    if bindings.is_empty() {
        return body;
    }
    term(TermKind::Let(bindings, Box::new(body)))
}

/// The tuple of some terms; the term itself if it is one, `()` if there is none.
pub fn tuple(types: Vec<Ty>, mut terms: Vec<Term>) -> Term {
    match terms.len() {
        0 => unit(),
        1 => terms.swap_remove(0),
        _ => term(TermKind::Tuple(Ty::tuple(types), terms)),
    }
}

/// A component of a tuple or record of this type: of a tuple that is there, the component.
pub fn proj(ty: &Ty, index: usize, of: Term) -> Term {
    match of.kind {
        TermKind::Tuple(_, mut terms) if terms.iter().all(is_atom) => terms.swap_remove(index),
        _ => term(TermKind::Proj(ty.clone(), index, Box::new(of))),
    }
}

/// A component of the tuple of these types; with one type, the term itself.
pub fn part(types: &[Ty], index: usize, of: Term) -> Term {
    match types {
        [_] => of,
        _ => proj(&Ty::Tuple(types.into()), index, of),
    }
}

/// Whether evaluating the term does nothing, so that it may stand several times.
pub fn is_atom(t: &Term) -> bool {
    match &t.kind {
        TermKind::Var(_) | TermKind::Lit(_) | TermKind::Global(_) => true,
        TermKind::Proj(_, _, of) => is_atom(of),
        _ => false,
    }
}

/// A primitive operation.
pub fn prim(prim: Prim, args: Vec<Term>) -> Term {
    term(TermKind::Prim(prim, args))
}

/// An operation on Reals.
pub fn op(op: RealOp, args: Vec<Term>) -> Term {
    prim(Prim::Real(op), args)
}

/// `a + b`, without adding zeros.
pub fn plus(a: Term, b: Term) -> Term {
    match (literal(&a), literal(&b)) {
        (Some(x), Some(y)) => real(x + y),
        (Some(0.0), None) => b,
        (None, Some(0.0)) => a,
        _ => op(RealOp::Add, vec![a, b]),
    }
}

/// `a * b`, without multiplying by one.
pub fn times(a: Term, b: Term) -> Term {
    match (literal(&a), literal(&b)) {
        (Some(x), Some(y)) => real(x * y),
        (Some(1.0), None) => b,
        (None, Some(1.0)) => a,
        _ => op(RealOp::Mul, vec![a, b]),
    }
}

/// The number, if the term is one.
pub fn literal(t: &Term) -> Option<f64> {
    match &t.kind {
        TermKind::Lit(Lit::Real(x)) => Some(*x),
        _ => None,
    }
}

/// `if a then b else c`
pub fn if_(condition: Term, yes: Term, no: Term) -> Term {
    term(TermKind::If(Box::new(condition), Box::new(yes), Box::new(no)))
}

/// A comparison.
pub fn compare(comparison: Comparison, ty: Ty, a: Term, b: Term) -> Term {
    prim(Prim::Compare(comparison, ty), vec![a, b])
}

/// `length(xs)` of an array of these elements.
pub fn length(element: &Ty, xs: Term) -> Term {
    prim(Prim::Length(element.clone()), vec![xs])
}

/// `xs[i]` of an array of these elements.
pub fn index(element: &Ty, xs: Term, i: Term) -> Term {
    prim(Prim::Index(element.clone()), vec![xs, i])
}

/// `[body for i < count]`
pub fn build(count: Term, index: Binder, element: Ty, body: Term) -> Term {
    term(TermKind::Build(Box::new(Build { count, index, body, element })))
}

/// `loop state = init for index < count do body`
pub fn count_loop(state: Binder, init: Term, index: Binder, count: Term, body: Term) -> Term {
    let control = Control::Count { index, count };
    term(TermKind::Loop(Box::new(Loop { state, init, control, body })))
}
