//! Dual numbers: the forward translation `D⃗` and its wrapper `F` (Krawiec et al., Figures 3, 4, 14 and 15).
//!
//! ```text
//! D⃗{ℝ} = ℝ × δℝ
//! ```
//!
//! The homomorphic cases of Figure 3 are in [`super::homomorphism`].

use super::partial;
use super::polytypic::Pointwise;
use super::{homomorphism, numbers, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Comparison, RealOp};
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::ty::Ty;

/// `D⃗{ℝ} = ℝ × δℝ`
pub(crate) fn real_type() -> Ty {
    Ty::tuple(vec![Ty::Real, Ty::Real])
}

/// `(x, dx)`
pub(crate) fn pair(x: Term, dx: Term) -> Term {
    tuple(vec![Ty::Real, Ty::Real], vec![x, dx])
}

/// `D⃗{op}` for `op : ℝⁿ → ℝ` with partial derivatives `df_i` (Figure 14):
///
/// ```text
/// D⃗{f} = λ((x₁, dx₁), …, (xₙ, dxₙ)). let y = f(x₁, …, xₙ) in (y, Σᵢ df_i x⃗ × dxᵢ)
/// ```
pub(crate) fn operation(w: &mut Workspace, op: RealOp, args: &[Term]) -> Term {
    let ty = real_type();
    let xs: Vec<Term> = args.iter().map(|x| proj(&ty, 0, x.clone())).collect();
    let dxs: Vec<Term> = args.iter().map(|x| proj(&ty, 1, x.clone())).collect();
    let y = w.binder("y", Ty::Real);
    let dy = match (op, &dxs[..]) {
        // D⃗{+} = λ((x, dx), (y, dy)). (x + y, dx + dy)
        (RealOp::Add, [a, b]) => {
            diffeo_calculus::build::op(RealOp::Add, vec![a.clone(), b.clone()])
        }
        // min and max are one of their operands, abs is ±x, sign is constant (ours).
        (RealOp::Min | RealOp::Max, [dx, dy]) if w.dynamic => {
            let first = partial::derivative(op, 0, &xs, &var(&y), &real(0.0));
            if_(compare(Comparison::Eq, Ty::Real, first, real(1.0)), dx.clone(), dy.clone())
        }
        (RealOp::Abs, [dx]) if w.dynamic => {
            let is = |comparison| compare(comparison, Ty::Real, xs[0].clone(), real(0.0));
            let negative = diffeo_calculus::build::op(RealOp::Neg, vec![dx.clone()]);
            let zero = numbers::nothing(w);
            if_(is(Comparison::Lt), negative, if_(is(Comparison::Eq), zero, dx.clone()))
        }
        (RealOp::Sign, _) if w.dynamic => numbers::nothing(w),
        // A constant exponent has no part in it: where x is not positive, the derivative by it is nan (ours).
        (RealOp::Pow, [_, db]) => {
            let not_positive = compare(Comparison::Le, Ty::Real, xs[0].clone(), real(0.0));
            let constant = compare(Comparison::Eq, Ty::Real, db.clone(), real(0.0));
            let of_base = sum_of(w, op, &xs, &dxs[..1], &var(&y));
            let of_both = sum_of(w, op, &xs, &dxs, &var(&y));
            if_(if_(not_positive, constant, truth(false)), of_base, of_both)
        }
        // D⃗{×} = λ((x, dx), (y, dy)). (x × y, y × dx + x × dy)
        _ => sum_of(w, op, &xs, &dxs, &var(&y)),
    };
    let value = diffeo_calculus::build::op(op, xs);
    bind(y.clone(), value, pair(var(&y), dy))
}

/// `Σᵢ df_i x⃗ × dxᵢ` over the given `dxᵢ`.
fn sum_of(w: &mut Workspace, op: RealOp, xs: &[Term], dxs: &[Term], y: &Term) -> Term {
    let zero = numbers::nothing(w);
    dxs.iter().enumerate().fold(real(0.0), |sum, (i, dx)| {
        plus(sum, partial::product(partial::derivative(op, i, xs, y, &zero), dx.clone()))
    })
}

/// `D⃗{x ↦ xⁿ}`, n an integer: `(xⁿ, n × xⁿ⁻¹ × dx)` (ours, by Figure 14).
pub(crate) fn power(w: &mut Workspace, x: &Term, n: &Term) -> Term {
    let zero = numbers::nothing(w);
    let ty = real_type();
    let (x, dx) = (proj(&ty, 0, x.clone()), proj(&ty, 1, x.clone()));
    let df = partial::power(&x, n, 1, &zero);
    pair(partial::power(&x, n, 0, &zero), partial::product(df, dx))
}

/// `zip_A : A × δA → D⃗{A}` (Figure 15).
pub(crate) fn zip(w: &mut Workspace, system: &System, a: &Ty, x: Term, dx: Term) -> Term {
    let family = Pointwise {
        name: "zip",
        shared: Ty::Unit,
        inputs: vec![None, None],
        output: Some(system.clone()),
        leaf: &|w, _, xs| pair(xs[0].clone(), numbers::sparse(w, xs[1].clone())),
    };
    family.apply(w, a, None, vec![x, dx])
}

/// `delta_A : D⃗{A} → δA` (Figure 15).
pub(crate) fn delta(w: &mut Workspace, system: &System, a: &Ty, x: Term) -> Term {
    let family = Pointwise {
        name: "delta",
        shared: Ty::Unit,
        inputs: vec![Some(system.clone())],
        output: None,
        leaf: &|_, _, xs| proj(&real_type(), 1, xs[0].clone()),
    };
    family.apply(w, a, None, vec![x])
}

/// `F{e} : S × δS → δT` of a definition `e : S → T` (Figure 15, generalising Figure 4):
///
/// ```text
/// F{e} = λx. delta_T (D⃗{e} (zip_S x))
/// ```
pub fn wrapper(w: &mut Workspace, e: GlobalId) -> GlobalId {
    let source = w.global(e).clone();
    let Ty::Fun(f) = &source.ty else { return e };
    let (s, t) = (f.0.clone(), f.1.clone());
    let system = System::Forward;
    let translated = w.translated(&system, e);
    let pair = Ty::tuple(vec![s.clone(), s.clone()]);
    let ty = Ty::fun(pair.clone(), t.clone());
    w.made(&format!("F{{{}}}", source.name), ty, |w| {
        let x = w.binder("x", pair.clone());
        let (point, tangent) = (proj(&pair, 0, var(&x)), proj(&pair, 1, var(&x)));
        let arg = zip(w, &system, &s, point, tangent);
        let value = app(global(translated), arg);
        let y_ty = homomorphism::ty(w, &system, &t);
        let y = w.binder("y", y_ty);
        let body = delta(w, &system, &t, var(&y));
        lam(x, bind(y, value, body))
    })
}
