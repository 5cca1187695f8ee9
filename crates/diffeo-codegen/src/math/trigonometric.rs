//! `sin`, `cos` and `tan`.
//!
//! `x = k·π/2 + r` with `|r| ≤ π/4`, π/2 being the sum of three numbers (Cody and Waite). With a fused
//! multiply-add the first subtraction is exact, and the error of the second is known, so this is good up to
//! |x| = 2^40. Beyond, functions of the library are called: the reduction for huge numbers (Payne and Hanek)
//! would double the time of all others.

use super::builder::{Int, Real};
use super::exponential::ROUNDER;
use diffeo_calculus::prim::RealOp;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// `π/2 - FRAC_PI_2`, in two numbers.
const PI_2_REST: [f64; 2] = [6.123233995736766e-17, -1.4973849048591698e-33];

/// The operands above are huge.
const HUGE: f64 = 1099511627776.0;

/// `(sin r - r) / r³` as a polynomial in `r²`.
const SINE: [f64; 6] = [
    -0.16666666666666632,
    0.00833333333332242,
    -0.0001984126982981342,
    2.755731369393448e-06,
    -2.5050758441753612e-08,
    1.5896815182731637e-10,
];

/// `(cos r - 1 + r²/2) / r⁴` as a polynomial in `r²`.
const COSINE: [f64; 6] = [
    0.0416666666666666,
    -0.0013888888888874133,
    2.4801587289487975e-05,
    -2.7557314354062486e-07,
    2.0875723515977655e-09,
    -1.1359660761692736e-11,
];

/// Sine and cosine of r, and k.
fn both(x: Real) -> (Real, Real, Int) {
    let rounded = x.fma(FRAC_2_PI, ROUNDER);
    let k = rounded - ROUNDER;
    let first = k.fma(-FRAC_PI_2, x);
    let r = k.fma(-PI_2_REST[0], first);
    // What r lacks.
    let low = k.fma(-PI_2_REST[1], k.fma(-PI_2_REST[0], first - r));
    let z = r.square();
    let half = 0.5 * z;
    let sine = (r * z).fma(z.polynomial(&SINE), low * (1.0 - half)) + r;
    let near = 1.0 - half;
    let rest = z.square().fma(z.polynomial(&COSINE), -(r * low));
    let cosine = near + (((1.0 - near) - half) + rest);
    (sine, cosine, rounded.bits())
}

/// `-y` where the second bit of k is set.
fn signed<'b>(y: Real<'b>, k: Int<'b>) -> Real<'b> {
    (y.bits() ^ ((k & 2) << 62)).real()
}

pub(super) fn sin(x: Real) -> Real {
    let (sine, cosine, k) = both(x);
    let y = signed((k & 1).equals(0).select(sine, cosine), k);
    // -0 has been lost.
    x.equals(0.0).select(x, y).unless(x.abs().above(HUGE), || x.call(RealOp::Sin))
}

pub(super) fn cos(x: Real) -> Real {
    let (sine, cosine, k) = both(x);
    let y = signed((k & 1).equals(0).select(cosine, sine), k + 1);
    y.unless(x.abs().above(HUGE), || x.call(RealOp::Cos))
}

pub(super) fn tan(x: Real) -> Real {
    let (sine, cosine, k) = both(x);
    let even = (k & 1).equals(0);
    let y = even.select(sine, -cosine) / even.select(cosine, sine);
    let far = || x.call(RealOp::Sin) / x.call(RealOp::Cos);
    x.equals(0.0).select(x, y).unless(x.abs().above(HUGE), far)
}
