//! D¹ and its wrapper R¹ (Krawiec et al., Figures 5, 6), D² and its wrapper R² (Figures 7, 8).
//!
//! ```text
//! D¹_S{ℝ} = ℝ × δS                D²{ℝ} = ℝ × Delta
//! ```
//!
//! Both are homomorphic: see [`crate::homomorphism`]. D¹ is given the zero of δS, which depends on the
//! argument of the main expression, as a parameter of every definition (section 6). What the figures do for
//! S = ℝᵃ and T = ℝ is done for all first-order S by position, and for all first-order T by `⊙_T` as in Figure 15
//! (ours).

use super::wrapper::inner_product;
use crate::polytypic::{self, Traversal};
use crate::splice::TextDefinitions;
use crate::{homomorphism, numbers, partial, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::real::{row, DerivativeRule};
use diffeo_calculus::prim::{Comparison, IntOp, Prim, RealOp};
use diffeo_calculus::term::{Binder, GlobalId, Term, TermKind};
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

/// The constructors of the Delta of Figure 7, by tag.
pub(super) const ZERO: u32 = 0;
pub(super) const ONE_HOT: u32 = 1;
pub(super) const SCALE: u32 = 2;
pub(super) const ADD: u32 = 3;

fn library(w: &mut Workspace) -> Rc<TextDefinitions> {
    w.library("figure 8", &[include_str!("figure_8.core")], &[])
}

fn delta_type(w: &mut Workspace) -> Ty {
    Ty::Data(library(w).data("Delta2"), [Ty::Real].into())
}

fn delta(w: &mut Workspace, tag: u32, fields: Vec<Term>) -> Term {
    let id = library(w).data("Delta2");
    term(TermKind::Con(id, [Ty::Real].into(), tag, fields))
}

// D²

/// `D²{ℝ} = ℝ × Delta`
pub(crate) fn real_type(w: &mut Workspace) -> Ty {
    Ty::tuple(vec![Ty::Real, delta_type(w)])
}

fn dual(w: &mut Workspace, r: Term, u: Term) -> Term {
    let ty = delta_type(w);
    tuple(vec![Ty::Real, ty], vec![r, u])
}

/// `D²{r} = (r, Zero)`
pub(crate) fn constant(w: &mut Workspace, r: Term) -> Term {
    let zero = delta(w, ZERO, vec![]);
    dual(w, r, zero)
}

/// `D²{f}` for `f : ℝⁿ → ℝ` with partial derivatives `df_i`, as Figure 14 generalises Figure 7:
///
/// ```text
/// D²{+} = λ((x, u₁), (y, u₂)). (x + y, Add u₁ u₂)
/// D²{×} = λ((x, u₁), (y, u₂)). (x × y, Add (Scale y u₁) (Scale x u₂))
/// ```
pub(crate) fn operation(w: &mut Workspace, op: RealOp, args: &[Term]) -> Term {
    let ty = real_type(w);
    by_partials(w, &ty, op, args, &mut |w, terms| {
        let scaled: Vec<Term> = terms.into_iter().map(|(df, u)| scale(w, df, u)).collect();
        let sum = scaled.into_iter().rev().reduce(|sum, u| delta(w, ADD, vec![u, sum]));
        sum.unwrap_or_else(|| delta(w, ZERO, vec![]))
    })
}

fn scale(w: &mut Workspace, df: Term, u: Term) -> Term {
    match literal(&df) {
        Some(1.0) => u,
        _ => delta(w, SCALE, vec![df, u]),
    }
}

/// `D²{x ↦ xⁿ}`, n an integer (ours).
pub(crate) fn power(w: &mut Workspace, x: &Term, n: &Term) -> Term {
    let ty = real_type(w);
    let (x, u) = (proj(&ty, 0, x.clone()), proj(&ty, 1, x.clone()));
    let u = scale(w, partial::power(&x, n, 1, &real(0.0)), u);
    dual(w, partial::power(&x, n, 0, &real(0.0)), u)
}

// D¹

/// `D¹{f}` for `f : ℝⁿ → ℝ` with partial derivatives `df_i`, as Figure 14 generalises Figure 5:
///
/// ```text
/// D¹{+} = λ((x, ds₁), (y, ds₂)). (x + y, ds₁ ⊕ ds₂)
/// D¹{×} = λ((x, ds₁), (y, ds₂)). (x × y, (y ⊗ ds₁) ⊕ (x ⊗ ds₂))
/// ```
pub(crate) fn vector_operation(w: &mut Workspace, s: &Ty, op: RealOp, args: &[Term]) -> Term {
    let ty = Ty::tuple(vec![Ty::Real, s.clone()]);
    by_partials(w, &ty, op, args, &mut |w, terms| {
        let mut steps = Vec::new();
        let mut scaled = Vec::new();
        for (df, ds) in terms {
            scaled.push(match literal(&df) {
                Some(1.0) => ds,
                _ => {
                    let df = named(w, Ty::Real, df, &mut steps);
                    let ds = polytypic::scale(w, s, df, ds);
                    named(w, s.clone(), ds, &mut steps)
                }
            });
        }
        let sum = scaled.into_iter().reduce(|a, b| {
            let sum = polytypic::add(w, s, a, b);
            named(w, s.clone(), sum, &mut steps)
        });
        bind_all(steps, sum.unwrap_or_else(unit))
    })
}

fn named(w: &mut Workspace, ty: Ty, x: Term, steps: &mut Vec<(Binder, Term)>) -> Term {
    if is_atom(&x) {
        return x;
    }
    let binder = w.binder("x", ty);
    let name = var(&binder);
    steps.push((binder, x));
    name
}

/// `D¹{x ↦ xⁿ}`, n an integer (ours).
pub(crate) fn vector_power(w: &mut Workspace, s: &Ty, x: &Term, n: &Term) -> Term {
    let types = vec![Ty::Real, s.clone()];
    let ty = Ty::tuple(types.clone());
    let (x, ds) = (proj(&ty, 0, x.clone()), proj(&ty, 1, x.clone()));
    let df = w.binder("df", Ty::Real);
    let scaled = polytypic::scale(w, s, var(&df), ds);
    bind(
        df,
        partial::power(&x, n, 1, &real(0.0)),
        tuple(types, vec![partial::power(&x, n, 0, &real(0.0)), scaled]),
    )
}

/// The sum of some `df_i × dx_i`.
type Sum<'a> = &'a mut dyn FnMut(&mut Workspace, Vec<(Term, Term)>) -> Term;

/// `(y, sum [(df_i, dx_i), …])` of an operation on dual numbers of this type.
fn by_partials(w: &mut Workspace, ty: &Ty, op: RealOp, args: &[Term], sum: Sum<'_>) -> Term {
    let xs: Vec<Term> = args.iter().map(|x| proj(ty, 0, x.clone())).collect();
    let dxs: Vec<Term> = args.iter().map(|x| proj(ty, 1, x.clone())).collect();
    let y = w.binder("y", Ty::Real);
    let dy = match (row(op).derivative, &dxs[..]) {
        // min and max are one of their operands (ours).
        (DerivativeRule::Select, [first, second]) => {
            let chosen = partial::derivative(op, 0, &xs, &var(&y), &real(0.0));
            let chosen = compare(Comparison::Eq, Ty::Real, chosen, real(1.0));
            if_(chosen, first.clone(), second.clone())
        }
        (DerivativeRule::Partials(_) | DerivativeRule::Select, _) => {
            let dfs = (0..xs.len()).map(|i| partial::derivative(op, i, &xs, &var(&y), &real(0.0)));
            let terms = dfs.zip(dxs).collect();
            sum(w, terms)
        }
    };
    let types = ty.components().unwrap_or_default();
    let value = diffeo_calculus::build::op(op, xs);
    bind(y.clone(), value, tuple(types, vec![var(&y), dy]))
}

// The wrappers

/// A structure with what `make` makes of the position, from 0, and the number in the place of each number.
fn by_position(
    w: &mut Workspace,
    name: &str,
    s: &Ty,
    (system, shared): (Option<&System>, &Ty),
    make: &dyn Fn(&mut Workspace, &Term, &Term, &Term) -> Term,
    given: Option<Term>,
    x: Term,
) -> (Term, Ty) {
    let number = match system {
        Some(system) => numbers::real(w, system),
        None => Ty::Real,
    };
    let family = Traversal {
        name,
        shared: shared.clone(),
        state: Ty::Int,
        inputs: vec![None],
        output: Some(system.cloned()),
        function: None,
        step: &|w, given, i, xs| {
            let value = make(w, given, i, &xs[0]);
            let next = prim(Prim::Int(IntOp::Add), vec![i.clone(), int(1)]);
            tuple(vec![number.clone(), Ty::Int], vec![value, next])
        },
    };
    let ty = family.result(w, s);
    (family.apply(w, s, given, int(0), vec![x]), ty)
}

/// `onehot_S i`, of the shape of s.
fn one_hot(w: &mut Workspace, s: &Ty, i: Term, x: Term) -> Term {
    let (both, ty) = by_position(
        w,
        "onehot",
        s,
        (None, &Ty::Int),
        &|_, i, j, _| {
            let here = compare(Comparison::Eq, Ty::Int, i.clone(), j.clone());
            if_(here, real(1.0), real(0.0))
        },
        Some(i),
        x,
    );
    proj(&ty, 0, both)
}

/// `R¹{e} : S × δT → δS` of a definition `e : S → T`:
///
/// ```text
/// R¹{e} = λ((…, s_i, …), dt). snd (D¹_S{e} (…, (s_i, dt ⊗_S onehot_S i), …))                   T = ℝ
/// R¹{e} = λ((…, s_i, …), dt). snd (D¹_S{λ(s, dt). e s ⊙_T dt} ((…, (s_i, onehot_S i), …), dt₀))   (ours)
/// ```
pub fn r1(w: &mut Workspace, e: GlobalId) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let (s, t) = (&f.0, &f.1);
    let system = System::Vector(Rc::new(s.clone()));
    let translated = w.translated(&system, e);
    wrapper(w, "R¹", e, |w, point, dt| {
        let mut steps = Vec::new();
        let zero = polytypic::zero_of(w, s, point.clone());
        let zero = named(w, s.clone(), zero, &mut steps);
        let factor = if *t == Ty::Real { dt.clone() } else { real(1.0) };
        let shared = Ty::tuple(vec![Ty::Real, s.clone()]);
        let (both, ty) = by_position(
            w,
            "initOneHots",
            s,
            (Some(&system), &shared),
            &|w, given, i, x| {
                let mut steps = Vec::new();
                let hot = one_hot(w, s, i.clone(), proj(&shared, 1, given.clone()));
                let hot = named(w, s.clone(), hot, &mut steps);
                let scaled = polytypic::scale(w, s, proj(&shared, 0, given.clone()), hot);
                let pair = tuple(vec![Ty::Real, s.clone()], vec![x.clone(), scaled]);
                bind_all(steps, pair)
            },
            Some(tuple(vec![Ty::Real, s.clone()], vec![factor, point.clone()])),
            point,
        );
        let both = named(w, ty.clone(), both, &mut steps);
        let s0 = proj(&ty, 0, both);
        let value = app(app(global(translated), zero.clone()), s0);
        let number = numbers::real(w, &system);
        let value = if *t == Ty::Real {
            value
        } else {
            let inner = inner_product(w, t);
            let inner = app(global(w.translated(&system, inner)), zero.clone());
            let t_ty = homomorphism::ty(w, &system, t);
            let dt0 = homomorphism::lift(w, &system, t, Some(zero), dt);
            app(inner, tuple(vec![t_ty.clone(), t_ty], vec![value, dt0]))
        };
        let value = named(w, number.clone(), value, &mut steps);
        bind_all(steps, proj(&number, 1, value))
    })
}

/// `R²{e} : S × δT → δS` of a definition `e : S → T`, δS as the array of its numbers while it is added to:
///
/// ```text
/// R²{e} = λ((…, s_i, …), dt). let s₀ = (…, (s_i, OneHot i), …) in
///                             let z = (…, 0, …) in
///                             let (t, u) = D²{e} s₀ in          D²{λ(s, dt). e s ⊙_T dt} (s₀, dt₀)   (ours)
///                             eval₂ dt u z                      eval₂ 1 u z                          (ours)
/// ```
pub fn r2(w: &mut Workspace, e: GlobalId) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let (s, t) = (&f.0, &f.1);
    let system = System::Naive;
    let translated = w.translated(&system, e);
    wrapper(w, "R²", e, |w, point, dt| {
        let mut steps = Vec::new();
        let (both, ty) = one_hots(w, s, point.clone());
        let both = named(w, ty.clone(), both, &mut steps);
        let (s0, count) = (proj(&ty, 0, both.clone()), proj(&ty, 1, both));
        let i = w.binder("i", Ty::Int);
        let z = build(count, i, Ty::Real, real(0.0));
        let z = named(w, Ty::array(Ty::Real), z, &mut steps);
        let value = app(global(translated), s0);
        let number = numbers::real(w, &system);
        let (value, factor) = if *t == Ty::Real {
            (value, dt)
        } else {
            let inner = inner_product(w, t);
            let inner = w.translated(&system, inner);
            let t_ty = homomorphism::ty(w, &system, t);
            let dt0 = homomorphism::lift(w, &system, t, None, dt);
            (call(inner, vec![t_ty.clone(), t_ty], vec![value, dt0]), real(1.0))
        };
        let value = named(w, number.clone(), value, &mut steps);
        let eval2 = global(library(w).global("eval2"));
        let ds = app(app(app(eval2, factor), proj(&number, 1, value)), z);
        let ds = named(w, Ty::array(Ty::Real), ds, &mut steps);
        let gradient = polytypic::unravel(w, s, point, ds);
        bind_all(steps, gradient)
    })
}

/// `(…, (s_i, OneHot i), …)` with the number of numbers, and its type.
fn one_hots(w: &mut Workspace, s: &Ty, point: Term) -> (Term, Ty) {
    let make = |w: &mut Workspace, _: &Term, i: &Term, x: &Term| {
        let u = delta(w, ONE_HOT, vec![i.clone()]);
        dual(w, x.clone(), u)
    };
    by_position(w, "initOneHots", s, (Some(&System::Naive), &Ty::Unit), &make, None, point)
}

/// A run of a definition `e : S → T` up to its Delta: `λs. D²{e} s₀ : S → D²{T}`.
pub fn deltas(w: &mut Workspace, e: GlobalId) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let translated = w.translated(&System::Naive, e);
    let to = homomorphism::ty(w, &System::Naive, &f.1);
    let key = format!("deltas²{{{}}}", w.label(e));
    w.made(&key, Ty::fun(f.0.clone(), to), |w| {
        let x = w.binder("s", f.0.clone());
        let (both, ty) = one_hots(w, &f.0, var(&x));
        lam(x, app(global(translated), proj(&ty, 0, both)))
    })
}

/// `λ(s, dt). …`
fn wrapper(
    w: &mut Workspace,
    name: &str,
    e: GlobalId,
    body: impl FnOnce(&mut Workspace, Term, Term) -> Term,
) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let from = Ty::tuple(vec![f.0.clone(), f.1.clone()]);
    let key = format!("{name}{{{}}}", w.label(e));
    w.made(&key, Ty::fun(from.clone(), f.0.clone()), |w| {
        let p = w.binder("p", from.clone());
        let (point, dt) = (proj(&from, 0, var(&p)), proj(&from, 1, var(&p)));
        lam(p, body(w, point, dt))
    })
}
