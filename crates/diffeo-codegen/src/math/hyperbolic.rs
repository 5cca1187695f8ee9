//! Hyperbolic functions and their inverses, by `expm1` and `log1p` (Muller, chapter 6), so that nothing is lost near
//! zero.

use super::builder::Real;
use super::exponential::{exp, expm1, quarters};
use super::logarithm::log1p;
use std::f64::consts::LN_2;

/// Above, the square plus 1 is the square.
const LARGE: f64 = 268435456.0;

pub(super) fn sinh(x: Real) -> Real {
    // With q = (exp|x| - 1) / 4: sinh|x| = 2(q + q / (1 + 4q)).
    let a = x.abs();
    let (q, _) = quarters(a);
    let y = 2.0 * (q + q / q.fma(4.0, 1.0));
    // Of subnormal numbers and -0, the quarter is not exact.
    a.lt(1e-8).select(x, y.with_sign_of(x))
}

pub(super) fn cosh(x: Real) -> Real {
    let (_, q) = quarters(x.abs());
    2.0 * (q + 0.0625 / q)
}

pub(super) fn tanh(x: Real) -> Real {
    let t = expm1(-2.0 * x.abs());
    (-t / (2.0 + t)).with_sign_of(x)
}

pub(super) fn sech(x: Real) -> Real {
    let e = exp(-x.abs());
    2.0 * e / (1.0 + e.square())
}

pub(super) fn asinh(x: Real) -> Real {
    let a = x.abs();
    let large = a.above(LARGE);
    let square = a.square();
    let argument = large.select(a - 1.0, a + square / (1.0 + (square + 1.0).sqrt()));
    (log1p(argument) + large.select(LN_2, 0.0)).with_sign_of(x)
}

pub(super) fn acosh(x: Real) -> Real {
    let t = x - 1.0;
    let large = x.above(LARGE);
    let argument = large.select(t, t + (t * (t + 2.0)).sqrt());
    x.lt(1.0).select(f64::NAN, log1p(argument) + large.select(LN_2, 0.0))
}

pub(super) fn atanh(x: Real) -> Real {
    let a = x.abs();
    (0.5 * log1p(2.0 * a / (1.0 - a))).with_sign_of(x)
}
