//! `Vector ℝ` as a pair of vectors (Krawiec et al., section 10.2), where [`Delta::split`] asks for it:
//!
//! ```text
//! D{Vector ℝ} = Vector ℝ × Vector Delta
//! ```
//!
//! What moves numbers in and out of such vectors does it to both; all else is as without. An element of a row of
//! a matrix is replaced in a copy of the row, and a matrix is flattened by copying.
//!
//! [`Delta::split`]: crate::Delta::split

use super::{runtime, translate};
use crate::{homomorphism, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Prim, SizePattern, SizeShape};
use diffeo_calculus::term::{Term, TermKind};
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

/// `D{Vector ℝ}`
pub(crate) fn array_type(w: &mut Workspace, system: &System) -> Ty {
    let delta = runtime::delta(w, system);
    Ty::tuple(vec![Ty::array(Ty::Real), Ty::array(delta)])
}

/// The two vectors, with the types of their elements.
fn halves(w: &mut Workspace, system: &System, xs: &Term) -> [(Ty, Term); 2] {
    let ty = array_type(w, system);
    let delta = runtime::delta(w, system);
    [(Ty::Real, proj(&ty, 0, xs.clone())), (delta, proj(&ty, 1, xs.clone()))]
}

fn pair(w: &mut Workspace, system: &System, halves: Vec<Term>) -> Term {
    let ty = array_type(w, system);
    tuple(ty.components().unwrap_or_default(), halves)
}

/// `index_ℝ (xs, i)`, a dual number.
pub(crate) fn element(w: &mut Workspace, system: &System, xs: &Term, i: &Term) -> Term {
    let parts = halves(w, system, xs).map(|(t, half)| index(&t, half, i.clone()));
    let dual = translate::real_type(w, system);
    tuple(dual.components().unwrap_or_default(), parts.into())
}

/// `length xs`
pub(crate) fn length(w: &mut Workspace, system: &System, xs: &Term) -> Term {
    let [(t, primals), _] = halves(w, system, xs);
    diffeo_calculus::build::length(&t, primals)
}

/// The pair of vectors, from a vector of pairs.
pub(crate) fn unzipped(w: &mut Workspace, system: &System, duals: Term) -> Term {
    let dual = translate::real_type(w, system);
    let (from, to) = (Ty::array(dual.clone()), array_type(w, system));
    let key = format!("unzip[{}]", system.symbol());
    let unzip = w.made(&key, Ty::fun(from.clone(), to), |w| {
        let xs = w.binder("xs", from.clone());
        let mut parts = Vec::new();
        for (k, t) in dual.components().unwrap_or_default().into_iter().enumerate() {
            let i = w.binder("i", Ty::Int);
            let x = proj(&dual, k, index(&dual, var(&xs), var(&i)));
            parts.push(build(diffeo_calculus::build::length(&dual, var(&xs)), i, t, x));
        }
        lam(xs, pair(w, system, parts))
    });
    app(global(unzip), duals)
}

/// `[x₁, …]` of dual numbers.
pub(crate) fn array(w: &mut Workspace, system: &System, xs: &[Term]) -> Term {
    let dual = translate::real_type(w, system);
    let part = |k: usize, t: Ty| {
        let items = xs.iter().map(|x| proj(&dual, k, x.clone())).collect();
        term(TermKind::Array(t, items))
    };
    let delta = runtime::delta(w, system);
    let parts = vec![part(0, Ty::Real), part(1, delta)];
    pair(w, system, parts)
}

/// An operation that moves numbers; none for those that work as without.
pub(crate) fn moving(w: &mut Workspace, system: &System, p: &Prim, args: &[Term]) -> Option<Term> {
    let both = |w: &mut Workspace, make: &dyn Fn(Ty, Vec<Term>) -> Term, arrays: &[Term]| {
        let halves: Vec<[(Ty, Term); 2]> = arrays.iter().map(|xs| halves(w, system, xs)).collect();
        let parts = (0..2).map(|k| {
            let terms = halves.iter().map(|h| h[k].1.clone()).collect();
            make(halves[0][k].0.clone(), terms)
        });
        let parts = parts.collect();
        pair(w, system, parts)
    };
    match p {
        Prim::Sizes(pattern, a) => {
            let shape = shape(w, &pattern.shape, a);
            let pattern = SizePattern { shape, ..(**pattern).clone() };
            let a = homomorphism::ty(w, system, a);
            Some(prim(Prim::Sizes(Rc::new(pattern), a), args.to_vec()))
        }
        Prim::Length(Ty::Real) => Some(length(w, system, &args[0])),
        Prim::Index(Ty::Real) => Some(element(w, system, &args[0], &args[1])),
        Prim::Slice(Ty::Real) => {
            let slice = |t, mut xs: Vec<Term>| {
                xs.extend_from_slice(&args[1..]);
                prim(Prim::Slice(t), xs)
            };
            Some(both(w, &slice, &args[..1]))
        }
        Prim::Append(Ty::Real) => Some(both(w, &|t, xs| prim(Prim::Append(t), xs), args)),
        Prim::Flatten(Ty::Real) => {
            let row = array_type(w, system);
            let rows = args[0].clone();
            let mut parts = Vec::new();
            for (k, t) in [Ty::Real, runtime::delta(w, system)].into_iter().enumerate() {
                let i = w.binder("i", Ty::Int);
                let half = proj(&row, k, index(&row, rows.clone(), var(&i)));
                let count = diffeo_calculus::build::length(&row, rows.clone());
                let halves = build(count, i, Ty::array(t.clone()), half);
                parts.push(prim(Prim::Flatten(t), vec![halves]));
            }
            Some(pair(w, system, parts))
        }
        Prim::Update(a) => update(w, system, a, args),
        _ => None,
    }
}

/// `update (xs, i, …, j, x)` where the last index leads to a number.
fn update(w: &mut Workspace, system: &System, a: &Ty, args: &[Term]) -> Option<Term> {
    let (xs, indices, x) = (&args[0], &args[1..args.len() - 1], &args[args.len() - 1]);
    let mut element = a.clone();
    let mut row = xs.clone();
    for (n, i) in indices.iter().enumerate() {
        let Ty::Array(inner) = &element else { return None };
        let inner = Ty::clone(inner);
        if n + 1 < indices.len() {
            let t = homomorphism::ty(w, system, &inner);
            row = index(&t, row, i.clone());
        }
        element = inner;
    }
    let (j, outer) = indices.split_last()?;
    if element != Ty::Real {
        return None;
    }
    let row_type = array_type(w, system);
    let r = w.binder("row", row_type);
    let dual = translate::real_type(w, system);
    let halves = halves(w, system, &var(&r)).into_iter().enumerate();
    let parts = halves.map(|(k, (t, half))| {
        let x = proj(&dual, k, x.clone());
        prim(Prim::Update(Ty::array(t)), vec![half, j.clone(), x])
    });
    let parts = parts.collect();
    let changed = bind(r, row, pair(w, system, parts));
    if outer.is_empty() {
        return Some(changed);
    }
    let a = homomorphism::ty(w, system, a);
    let mut args = vec![xs.clone()];
    args.extend_from_slice(outer);
    args.push(changed);
    Some(prim(Prim::Update(a), args))
}

/// The shape of a translated value, in which the sizes stand at the numbers.
pub(crate) fn shape(w: &Workspace, shape: &SizeShape, a: &Ty) -> SizeShape {
    match (shape, a) {
        (SizeShape::Array(size, row), Ty::Array(element)) if **element == Ty::Real => {
            SizeShape::Tuple(vec![SizeShape::Array(*size, row.clone()), SizeShape::Any])
        }
        (SizeShape::Array(size, row), Ty::Array(element)) => {
            SizeShape::Array(*size, Box::new(self::shape(w, row, element)))
        }
        (SizeShape::Tuple(parts), _) => {
            let types = a.components().unwrap_or_default();
            SizeShape::Tuple(parts.iter().zip(&types).map(|(s, t)| self::shape(w, s, t)).collect())
        }
        (SizeShape::Data(constructors), Ty::Data(id, args)) => {
            let decl = &w.datas[id.0 as usize];
            let of = |(tag, shapes): (usize, &Vec<SizeShape>)| {
                let fields = decl.fields(tag as u32, args);
                shapes.iter().zip(&fields).map(|(s, t)| self::shape(w, s, t)).collect()
            };
            SizeShape::Data(constructors.iter().enumerate().map(of).collect())
        }
        (SizeShape::Any | SizeShape::Array(..) | SizeShape::Data(_), _) => shape.clone(),
    }
}
