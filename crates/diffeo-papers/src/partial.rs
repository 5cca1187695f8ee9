//! The first partial derivatives of the operations, from their table, as terms: `df_i` of Krawiec et al.,
//! Figure 14, and `op_r` of Abadi & Plotkin.

use crate::homomorphism;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::real::{
    chooses_first, next_polygamma, row, Condition, DerivativeRule, Partial, BELL_END,
};
use diffeo_calculus::prim::{Comparison, Diff, DiffOp, IntOp, Prim, RealOp};
use diffeo_calculus::term::Term;
use diffeo_calculus::ty::Ty;

/// `∂op/∂x_i` at these operands, `y` being the result. All of them may be mentioned several times.
/// `zero` is the derivative of what does not vary.
pub(crate) fn derivative(op: RealOp, i: usize, xs: &[Term], y: &Term, zero: &Term) -> Term {
    match row(op).derivative {
        DerivativeRule::Partials(partials) => partial(op, &partials[i], xs, y, zero),
        DerivativeRule::Select => select(op, i, xs),
    }
}

/// `df × dx`, without what a constant factor 0 or ±1 does not need.
pub(crate) fn product(df: Term, dx: Term) -> Term {
    match literal(&df) {
        Some(0.0) => real(0.0),
        Some(-1.0) => op(RealOp::Neg, vec![dx]),
        _ => times(df, dx),
    }
}

/// `trunc(a / b)`, whose derivative is 0, also for b = 0.
pub(crate) fn truncated_quotient(a: Term, b: Term) -> Term {
    let rest = op(RealOp::Rem, vec![a.clone(), b.clone()]);
    let quotient = op(RealOp::Div, vec![op(RealOp::Sub, vec![a, rest]), b]);
    homomorphism::stopped(
        &Diff { op: DiffOp::StopGradient, from: Ty::Real, to: Ty::Real },
        quotient,
    )
}

fn partial(f: RealOp, p: &Partial, xs: &[Term], y: &Term, zero: &Term) -> Term {
    let second = || xs.get(1).cloned().unwrap_or_else(|| real(0.0));
    match p {
        Partial::A => xs[0].clone(),
        Partial::B => second(),
        Partial::Y => y.clone(),
        Partial::Num(x) => real(*x),
        Partial::Un(g, a) => op(*g, vec![partial(f, a, xs, y, zero)]),
        Partial::Bin(g, a, b) => {
            op(*g, vec![partial(f, a, xs, y, zero), partial(f, b, xs, y, zero)])
        }
        Partial::NextPolygamma => op(next_polygamma(f), vec![xs[0].clone()]),
        Partial::TruncatedQuotient => truncated_quotient(xs[0].clone(), second()),
        Partial::ZeroWhere(condition, p) => {
            let equal = |x: Term| compare(Comparison::Eq, Ty::Real, x, real(0.0));
            let value = partial(f, p, xs, y, zero);
            match condition {
                // Elsewhere b × a^(b-1) is 0 for b = 0, and right to every order.
                Condition::ZeroExponent => {
                    let of_b = if_(equal(second()), zero.clone(), value.clone());
                    if_(equal(xs[0].clone()), of_b, value)
                }
                Condition::ZeroBase => {
                    let positive = compare(Comparison::Gt, Ty::Real, second(), real(0.0));
                    let of_b = if_(positive, zero.clone(), value.clone());
                    if_(equal(xs[0].clone()), of_b, value)
                }
                Condition::Vanishes => if_(vanishes(&xs[0]), vanished(&xs[0], zero), value),
            }
        }
    }
}

/// [`Condition::Vanishes`]
pub(crate) fn vanishes(x: &Term) -> Term {
    beyond(x, BELL_END)
}

/// What a partial derivative is there: a number ([`Condition::is_number`]) or the derivative of what does not vary.
pub(crate) fn vanished(x: &Term, zero: &Term) -> Term {
    if_(beyond(x, f64::MAX), zero.clone(), real(0.0))
}

fn beyond(x: &Term, end: f64) -> Term {
    compare(Comparison::Gt, Ty::Real, op(RealOp::Abs, vec![x.clone()]), real(end))
}

/// `abs` is ±x, `sign` is constant, `min` and `max` are one of their operands.
fn select(f: RealOp, i: usize, xs: &[Term]) -> Term {
    match f {
        RealOp::Abs => op(RealOp::Sign, vec![xs[0].clone()]),
        RealOp::Min | RealOp::Max => chosen(f, i, xs[0].clone(), xs[1].clone()),
        _ => real(0.0),
    }
}

/// 1 if `min` or `max` of these operands is the operand with this number, else 0.
pub(crate) fn chosen(f: RealOp, i: usize, a: Term, b: Term) -> Term {
    debug_assert!(chooses_first(f, 1.0, 1.0));
    // The second is chosen if it is less (more), or if it alone is nan.
    let order = if f == RealOp::Min { Comparison::Lt } else { Comparison::Gt };
    let other = compare(order, Ty::Real, b.clone(), a.clone());
    let [first, second] = if i == 0 { [1.0, 0.0] } else { [0.0, 1.0] };
    let of_nan = if_(prim(Prim::IsNan, vec![b]), real(second), real(first));
    let chosen = if_(other, real(second), of_nan);
    if_(prim(Prim::IsNan, vec![a]), real(first), chosen)
}

/// The derivative of this order of x ↦ xⁿ, n an integer: `n (n-1) … (n-order+1) x^(n-order)`, and 0 where a
/// factor is 0.
pub(crate) fn power(x: &Term, n: &Term, order: u32, zero: &Term) -> Term {
    let less = |j: u32| match j {
        0 => n.clone(),
        _ => prim(Prim::Int(IntOp::Sub), vec![n.clone(), int(i64::from(j))]),
    };
    let value = prim(Prim::PowInt, vec![x.clone(), less(order)]);
    (0..order).rev().fold(value, |value, j| {
        let none = compare(Comparison::Eq, Ty::Int, less(j), int(0));
        let factor = prim(Prim::ToReal, vec![less(j)]);
        if_(none, zero.clone(), times(factor, value))
    })
}
