//! Polytypic operations by induction on their type (ours): what the systems translate in their place.

use super::polytypic::{self, Pointwise};
use super::Workspace;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{IntOp, Prim, RealOp};
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::is_vector;

/// Whether all values of the type have the same shape.
pub(crate) fn has_one_shape(a: &Ty) -> bool {
    match a {
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit => true,
        Ty::Tuple(types) => types.iter().all(has_one_shape),
        Ty::Record(fields) => fields.iter().all(|(_, t)| has_one_shape(t)),
        Ty::Array(_) | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => false,
    }
}

/// The definition of a polytypic operation by induction on its type: a function of the tuple of its arguments.
pub(crate) fn expansion(w: &mut Workspace, p: &Prim) -> GlobalId {
    let count = match p {
        Prim::Neg(_) | Prim::ZeroOf(_) | Prim::Ravel(_) | Prim::Sum(_) => 1,
        _ => 2,
    };
    let (params, result) = p.signature(count);
    let (name, a) = diffeo_calculus::names::prim_name(p);
    let key = format!("{name}[{}]", a.map_or(String::new(), |a| w.type_text(a)));
    let signature = Ty::fun(Ty::tuple(params.clone()), result);
    w.made(&key, signature, |w| {
        let x = w.binder("p", Ty::tuple(params.clone()));
        let mut xs: Vec<Term> = (0..count).map(|i| part(&params, i, var(&x))).collect();
        let second = if count == 2 { xs.pop() } else { None };
        let first = xs.pop().unwrap_or_else(unit);
        let body = expanded(w, p, first, second.unwrap_or_else(unit));
        lam(x, body)
    })
}

fn expanded(w: &mut Workspace, p: &Prim, x: Term, y: Term) -> Term {
    let both = |operation| {
        move |w: &mut Workspace, name, a: &Ty, x, y| polytypic::binary(w, name, operation, a, x, y)
    };
    match p {
        Prim::Add(a) => polytypic::add(w, a, x, y),
        Prim::Sub(a) => both(RealOp::Sub)(w, "⊖", a, x, y),
        Prim::MulElements(a) => both(RealOp::Mul)(w, "∗", a, x, y),
        Prim::DivElements(a) => both(RealOp::Div)(w, "⊘", a, x, y),
        Prim::Neg(a) => polytypic::each(w, "negate", a, x, &|x| op(RealOp::Neg, vec![x.clone()])),
        Prim::ZeroOf(a) => polytypic::zero_of(w, a, x),
        Prim::Scale(a) => polytypic::scale(w, a, x, y),
        Prim::Unscale(a) => {
            let family = Pointwise {
                name: "unscale",
                shared: Ty::Real,
                inputs: vec![None],
                output: None,
                leaf: &|_, r, xs| op(RealOp::Div, vec![xs[0].clone(), r.clone()]),
            };
            family.apply(w, a, Some(y), vec![x])
        }
        Prim::Inner(a) => polytypic::inner(w, a, x, y),
        Prim::Ravel(a) => polytypic::ravel(w, a, x),
        Prim::Unravel(a) => polytypic::unravel(w, a, x, y),
        // From the left; not called for no elements.
        Prim::Sum(a) => {
            let one = int(1);
            let minus = Prim::Int(IntOp::Sub);
            let plus = Prim::Int(IntOp::Add);
            let state = w.binder("sum", a.clone());
            let i = w.binder("i", Ty::Int);
            let count = prim(minus, vec![length(a, x.clone()), one.clone()]);
            let next = index(a, x.clone(), prim(plus, vec![var(&i), one]));
            let body = match a {
                Ty::Int => prim(Prim::Int(IntOp::Add), vec![var(&state), next]),
                _ if is_vector(a) => {
                    let y = w.binder("x", a.clone());
                    let sum = polytypic::add(w, a, var(&state), var(&y));
                    bind(y, next, sum)
                }
                _ => next,
            };
            let init = index(a, x, int(0));
            count_loop(state, init, i, count, body)
        }
        _ => prim(p.clone(), vec![x, y]),
    }
}
