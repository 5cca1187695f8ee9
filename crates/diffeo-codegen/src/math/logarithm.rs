//! `log` and `log1p`.
//!
//! `x = 2^k·m` with `√½ ≤ m < √2`, `m = 1 + f`, and `log(1 + f) = 2 artanh(s)` with `s = f / (2 + f)`, put
//! together so that f itself carries no error: `f - (f²/2 - s·(f²/2 + R))` (Muller, chapter 5; Ng).

use super::builder::{Int, Real};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// `log 2 - LN_2`
const LN_2_LOW: f64 = 2.3190468138462996e-17;

/// `(2 artanh(s)/s - 2) / s²` as a polynomial in `s²`.
const ARTANH: [f64; 8] = [
    0.6666666666666666,
    0.40000000000006264,
    0.28571428569081153,
    0.22222222647511625,
    0.1818177560809388,
    0.15387093277984137,
    0.13250061063123272,
    0.1325185030935544,
];

pub(super) const MANTISSA: i64 = (1 << 52) - 1;
pub(super) const TWO_52: f64 = 4503599627370496.0;

/// `log(u + c)` for a normal number u and a correction c, with `raised` added to k before.
fn kernel<'b>(
    u: Real<'b>,
    c: Option<Real<'b>>,
    raised: impl FnOnce(Real<'b>) -> Real<'b>,
) -> Real<'b> {
    let (k, exponent, m) = split(u);
    let k = raised(k);
    let f = match c {
        None => m - 1.0,
        // The number with the exponent 2047 - exponent is 2^(1 - k).
        Some(c) => (0.5 * c).fma(((exponent ^ 2047) << 52).real(), m - 1.0),
    };
    let s = f / (2.0 + f);
    let z = s.square();
    let half_square = 0.5 * f * f;
    let rest = z * z.polynomial(&ARTANH);
    let correction = s.fma(half_square + rest, k * LN_2_LOW);
    k.fma(LN_2, f - (half_square - correction))
}

/// k, the exponent with its bias of 1023 + k, and m, for a normal number.
pub(super) fn split(u: Real) -> (Real, Int, Real) {
    let root = FRAC_1_SQRT_2.to_bits() as i64;
    let shifted = u.bits() + (1.0f64.to_bits() as i64 - root);
    let exponent = shifted >> 52;
    let m = ((shifted & MANTISSA) + root).real();
    // An integer below 2^52 becomes a Real as the last bits of one.
    let k = (exponent | TWO_52.to_bits() as i64).real() - (TWO_52 + 1023.0);
    (k, exponent, m)
}

pub(super) fn log(x: Real) -> Real {
    let subnormal = x.lt(f64::MIN_POSITIVE);
    let u = subnormal.select(x * 2f64.powi(54), x);
    let y = kernel(u, None, |k| k - subnormal.select(54.0, 0.0));
    outside(y, x, x)
}

pub(super) fn log1p(x: Real) -> Real {
    // 1 + x = u + c exactly (Knuth).
    let u = x + 1.0;
    let part = u - 1.0;
    let c = (1.0 - (u - part)) + (x - part);
    let y = outside(kernel(u, Some(c), |k| k), u, x);
    x.abs().lt(f64::EPSILON / 4.0).select(x, y)
}

/// The logarithm y of u, unless u is not a positive number; then x is inf or nan, if it is neither zero nor
/// negative.
fn outside<'b>(y: Real<'b>, u: Real<'b>, x: Real<'b>) -> Real<'b> {
    let not_positive = u.equals(0.0).select(f64::NEG_INFINITY, u.lt(0.0).select(f64::NAN, x));
    (u.above(0.0) & u.lt(f64::INFINITY)).select(y, not_positive)
}
