//! `with_derivative(f, rule)(x)` under the (k,R)-Taylor macro (ours).
//!
//! The rule gives `(f(x), ∂f(x)·dx)`, linear in dx, and its first component tells what f captures. With
//! x = x(ξ) and captured values c(ξ), ξ ∈ ℝᵏ, what is wanted is the Taylor tuple of F(x(ξ), c(ξ)).
//!
//! ```text
//! F(x(ξ), c(ξ)) = F(x₀, c(ξ)) + Σᵢ ∫₀¹ rule₂(xᵢ(s), d/ds xᵢ(s)) ds      xᵢ(s) = x(0, …, 0, s ξᵢ, ξᵢ₊₁, …, ξₖ)
//! ```
//!
//! goes from the point x₀ to x(ξ), one variable after the other, the last one first, while the captured
//! values stay at c(ξ). In ξ, up to degree R, an integrand is a polynomial in s of degree below R, so that
//! ⌈R/2⌉ nodes of Gauss and Legendre give the integral. It is exact whatever is captured if the rule is
//! the derivative of f; and if it is not, component α is ∂^(α-eᵢ) of rule₂(x, ∂ᵢx), i being the first
//! variable of α, as in the evaluator. A rule that uses the function it belongs to meets it at a constant
//! point at order 1; at higher orders it calls itself without end, for the order cannot fall.

use super::super::expansion::expansion;
use super::super::polytypic::Pointwise;
use super::super::{homomorphism, System, Workspace};
use super::indices;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::Prim;
use diffeo_calculus::term::Term;
use diffeo_calculus::ty::Ty;

/// `xs` are translated `f`, rule and point.
pub(crate) fn with_derivative(
    w: &mut Workspace,
    (k, r): (u32, u32),
    s: &Ty,
    t: &Ty,
    xs: &[Term],
) -> Term {
    // Nothing is differentiated.
    if k == 0 || r == 0 {
        return app(xs[0].clone(), xs[2].clone());
    }
    let rule =
        Ty::fun(Ty::tuple(vec![s.clone(), s.clone()]), Ty::tuple(vec![t.clone(), t.clone()]));
    let general = by_integration(w, (k, r), s, t, xs);
    if !w.dynamic {
        return general;
    }
    let simple = by_lower_order(w, (k, r), (s, t), &rule, xs);
    let translated = homomorphism::ty(w, &System::Taylor { k, r }, &rule);
    let system = System::Taylor { k, r };
    let captures = homomorphism::captures(&system, translated, xs[1].clone(), xs[0].clone());
    if_(captures, general, simple)
}

/// Component α is ∂^(α-eᵢ) of rule₂(x, ∂ᵢx), for which the rule itself, if nothing varies that it captured, goes through
/// `D_(k,R-1)`: a rule that is defined by its own derivative comes to an end.
fn by_lower_order(
    w: &mut Workspace,
    (k, r): (u32, u32),
    (s, t): (&Ty, &Ty),
    rule: &Ty,
    xs: &[Term],
) -> Term {
    let system = System::Taylor { k, r };
    let lower = (r > 1).then_some(System::Taylor { k, r: r - 1 });
    let (above, below) = (indices(&system), indices(&System::Taylor { k, r: r - 1 }));
    let place = |of: &[Vec<u32>], alpha: &[u32]| of.iter().position(|a| a == alpha).unwrap_or(0);
    let (wide, narrow) = (vec![Ty::Real; above.len()], vec![Ty::Real; below.len()]);
    // x up to order R-1, differentiated by the variable i if one is given.
    let shifted = |w: &mut Workspace, name: &str, i: Option<usize>| {
        let family = Pointwise {
            name,
            shared: Ty::Unit,
            inputs: vec![Some(system.clone())],
            output: lower.clone(),
            leaf: &|_, _, xs| {
                let component = |alpha: &Vec<u32>| {
                    let mut alpha = alpha.clone();
                    i.iter().for_each(|i| alpha[*i] += 1);
                    part(&wide, place(&above, &alpha), xs[0].clone())
                };
                tuple(narrow.clone(), below.iter().map(component).collect())
            },
        };
        if homomorphism::inert(w, s) {
            return xs[2].clone();
        }
        family.apply(w, s, None, vec![xs[2].clone()])
    };
    let f = homomorphism::lower_function(w, &system, rule, xs[1].clone());
    let f = match &lower {
        Some(lower) => homomorphism::lift_function(w, lower, rule, f),
        None => f,
    };
    let at = |w: &mut Workspace, ty: &Ty| match &lower {
        Some(lower) => homomorphism::ty(w, lower, ty),
        None => ty.clone(),
    };
    let (ds, dt) = (at(w, s), at(w, t));
    let both = Ty::tuple(vec![dt.clone(), dt.clone()]);
    let rule = at(w, rule);
    let function = w.binder("rule", rule);
    let mut bindings = vec![(function.clone(), f)];
    let mut slopes = Vec::new();
    let mut value = unit();
    for i in 0..k as usize {
        let x = shifted(w, "truncated", None);
        let dx = shifted(w, &format!("shifted {i}"), Some(i));
        let pair = w.binder("p", both.clone());
        let args = tuple(vec![ds.clone(), ds.clone()], vec![x, dx]);
        bindings.push((pair.clone(), app(var(&function), args)));
        let [y, dy] = [0, 1].map(|i| proj(&both, i, var(&pair)));
        bindings.extend(homomorphism::same_shapes_of_rule(w, t, &dt, [y.clone(), dy.clone()]));
        value = y;
        slopes.push(dy);
    }
    let assemble = Pointwise {
        name: "assembled",
        shared: Ty::Unit,
        inputs: vec![lower.clone(); slopes.len() + 1],
        output: Some(system.clone()),
        leaf: &|_, _, xs| {
            let component = |alpha: &Vec<u32>| match alpha.iter().position(|n| *n > 0) {
                None => part(&narrow, 0, xs[0].clone()),
                Some(i) => {
                    let mut before = alpha.clone();
                    before[i] -= 1;
                    part(&narrow, place(&below, &before), xs[i + 1].clone())
                }
            };
            tuple(wide.clone(), above.iter().map(component).collect())
        },
    };
    let whole = if homomorphism::inert(w, t) {
        value
    } else {
        let parts = std::iter::once(value).chain(slopes).collect();
        assemble.apply(w, t, None, parts)
    };
    bind_all(bindings, whole)
}

fn by_integration(w: &mut Workspace, (k, r): (u32, u32), s: &Ty, t: &Ty, xs: &[Term]) -> Term {
    let system = System::Taylor { k, r };
    let x = xs[2].clone();
    let (ds, dt) = (homomorphism::ty(w, &system, s), homomorphism::ty(w, &system, t));
    let both = Ty::tuple(vec![dt.clone(), dt.clone()]);
    let mut bindings = Vec::new();
    let mut ruled = |w: &mut Workspace, point: Term, variation: Term| {
        let pair = w.binder("p", both.clone());
        let args = tuple(vec![ds.clone(), ds.clone()], vec![point, variation]);
        bindings.push((pair.clone(), app(xs[1].clone(), args)));
        let [y, dy] = [0, 1].map(|i| proj(&both, i, var(&pair)));
        bindings.extend(homomorphism::same_shapes_of_rule(w, t, &dt, [y.clone(), dy.clone()]));
        [y, dy]
    };
    // F(x₀, c), and at order 1 the whole sum, for one node at s = 0 then is enough for all variables.
    let point = homomorphism::primal(w, &system, s, x.clone());
    let point = homomorphism::lift(w, &system, s, None, point);
    let first = if r <= 1 { tangent(w, &system, s, &x) } else { zero(w, &system, s, &x) };
    let [mut sum, slope] = ruled(w, point, first);
    let mut parts = Vec::new();
    if r <= 1 {
        parts.push(slope);
    } else if !homomorphism::inert(w, s) {
        for i in (0..k as usize).rev() {
            for (node, weight) in gauss_legendre(r.div_ceil(2)) {
                let at = along(w, &system, s, &x, &format!("at {i} {node}"), &|alpha| {
                    before(alpha, i) * node.powi(alpha[i] as i32)
                });
                let by = along(w, &system, s, &x, &format!("by {i} {node}"), &|alpha| {
                    let n = alpha[i] as i32;
                    before(alpha, i) * weight * f64::from(n) * node.powi((n - 1).max(0))
                });
                let [_, slope] = ruled(w, at, by);
                parts.push(slope);
            }
        }
    }
    let add = expansion(w, &Prim::Add(t.clone()));
    let add = w.translated(&system, add);
    for part in parts {
        sum = app(global(add), tuple(vec![dt.clone(), dt.clone()], vec![sum, part]));
    }
    bind_all(bindings, sum)
}

/// 0 if α has one of the variables before i, for which ξ is 0; else 1.
fn before(alpha: &[u32], i: usize) -> f64 {
    if alpha[..i].iter().any(|n| *n > 0) {
        0.0
    } else {
        1.0
    }
}

/// The point with each component α multiplied by `factor(α)`; 0 times anything is 0.
fn along(
    w: &mut Workspace,
    system: &System,
    s: &Ty,
    x: &Term,
    name: &str,
    factor: &dyn Fn(&[u32]) -> f64,
) -> Term {
    let indices = indices(system);
    let types = vec![Ty::Real; indices.len()];
    let family = Pointwise {
        name,
        shared: Ty::Unit,
        inputs: vec![Some(system.clone())],
        output: Some(system.clone()),
        leaf: &|_, _, xs| {
            let scaled = |(i, alpha): (usize, &Vec<u32>)| match factor(alpha) {
                0.0 => real(0.0),
                c => times(real(c), part(&types, i, xs[0].clone())),
            };
            tuple(types.clone(), indices.iter().enumerate().map(scaled).collect())
        },
    };
    if homomorphism::inert(w, s) {
        return x.clone();
    }
    family.apply(w, s, None, vec![x.clone()])
}

/// The point with its number 0, varying as it does.
fn tangent(w: &mut Workspace, system: &System, s: &Ty, x: &Term) -> Term {
    let varies = |alpha: &[u32]| if alpha.iter().all(|n| *n == 0) { 0.0 } else { 1.0 };
    along(w, system, s, x, "tangent", &varies)
}

/// 0 in the shape of the point.
fn zero(w: &mut Workspace, system: &System, s: &Ty, x: &Term) -> Term {
    along(w, system, s, x, "zero", &|_| 0.0)
}

/// Nodes and weights on [0, 1] that integrate polynomials of degree below 2n: the roots z of Legendre's
/// polynomial P on [-1, 1], found by Newton's method, with weights 2 / ((1 - z²) P′(z)²).
pub fn gauss_legendre(n: u32) -> Vec<(f64, f64)> {
    let mut rule = Vec::new();
    for i in 0..n {
        let mut z = (std::f64::consts::PI * (f64::from(i) + 0.75) / (f64::from(n) + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..8 {
            // (j + 1) P_{j+1} = (2j + 1) z P_j - j P_{j-1}
            let (mut last, mut p) = (0.0, 1.0);
            for j in 0..n {
                let j = f64::from(j);
                (last, p) = (p, ((2.0 * j + 1.0) * z * p - j * last) / (j + 1.0));
            }
            slope = f64::from(n) * (z * p - last) / (z * z - 1.0);
            z -= p / slope;
        }
        rule.push(((1.0 - z) / 2.0, 1.0 / ((1.0 - z * z) * slope * slope)));
    }
    rule
}
