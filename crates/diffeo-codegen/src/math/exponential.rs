//! `exp`, `expm1` and what is made of them.
//!
//! `x = k·log 2 + r` with `|r| ≤ ½ log 2` (Cody and Waite; with a fused multiply-add the first step is
//! exact), `exp(x) = 2^k·exp(r)`.

use super::builder::{Int, Real};
use super::logarithm::log1p;
use std::f64::consts::{LN_2, LOG2_E};

/// `log 2 - LN_2`
const LN_2_LOW: f64 = 2.3190468138462996e-17;

/// Added to a number below 2^51, leaves it rounded to an integer in the lowest bits.
pub(super) const ROUNDER: f64 = 6755399441055744.0;

/// `(exp r - 1 - r) / r²`
const TAIL: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.041666666666666685,
    0.008333333333326068,
    0.001388888888887426,
    0.00019841269875051432,
    2.480158734766593e-05,
    2.755725510807714e-06,
    2.7557252600049094e-07,
    2.5105338329058474e-08,
    2.0921694377572112e-09,
];

/// Twice the number that exponents of floating-point numbers are larger by, when they are written as bits.
const TWICE_BIAS: i64 = 2046;

/// A word whose last 12 bits are `k + TWICE_BIAS`, and r.
fn reduce(x: Real) -> (Int, Real) {
    let rounder = ROUNDER + TWICE_BIAS as f64;
    let rounded = x.fma(LOG2_E, rounder);
    let k = rounded - rounder;
    let r = k.fma(-LN_2_LOW, k.fma(-LN_2, x));
    (rounded.bits(), r)
}

/// `exp(r) - 1`
fn small(r: Real) -> Real {
    r.square().fma(r.polynomial(&TAIL), r)
}

/// `value·2^k`, for k from -2040 to 2040, rounded once unless the result is subnormal. `k` is as [`reduce`] gives it.
fn scaled<'b>(value: Real<'b>, k: Int<'b>) -> Real<'b> {
    // Half of it, and the rest, are the exponents of normal numbers.
    let half = k >> 1;
    let rest = k - half;
    value * (half << 52).real() * (rest << 52).real()
}

pub(super) fn exp(x: Real) -> Real {
    let (k, r) = reduce(x.at_most(710.0).at_least(-746.0));
    scaled(small(r) + 1.0, k)
}

/// `exp(x + low)`
pub(super) fn exp_of_sum<'b>(x: Real<'b>, low: Real<'b>) -> Real<'b> {
    let (k, r) = reduce(x.at_most(710.0).at_least(-746.0));
    scaled(small(r + low) + 1.0, k)
}

/// Quarters of `exp(x) - 1`, for `x ≥ -40`, and of `exp(x)`: they do not overflow where `sinh` does not.
pub(super) fn quarters(x: Real) -> (Real, Real) {
    let (k, r) = reduce(x.at_most(710.7));
    let power = ((k + (1021 - TWICE_BIAS)) << 52).real();
    let small = small(r);
    (power.fma(small, power - 0.25), power.fma(small, power))
}

pub(super) fn expm1(x: Real) -> Real {
    let y = 4.0 * quarters(x.at_least(-40.0)).0;
    // Of subnormal numbers and -0, the quarter is not exact.
    x.abs().lt(f64::EPSILON / 4.0).select(x, y)
}

/// `1 / (1 + exp(-x))`, without a loss for negative x.
pub(super) fn sigmoid(x: Real) -> Real {
    let e = exp(-x.abs());
    x.lt(0.0).select(e, 1.0) / (1.0 + e)
}

/// `log(1 + exp(x))`
pub(super) fn softplus(x: Real) -> Real {
    x.at_least(0.0) + log1p(exp(-x.abs()))
}
