//! Inverse trigonometric functions.
//!
//! `atan` is reduced to `|t| ≤ tan(π/8)` by `atan a = π/4 + atan((a - 1)/(a + 1))` and `π/2 - atan(1/a)`,
//! `asin` to `|x| ≤ ½` by `asin a = π/2 - 2 asin √((1 - a)/2)` (Muller, chapter 11).

use super::builder::Real;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `π/2 - FRAC_PI_2`
const PI_2_LOW: f64 = 6.123233995736766e-17;

/// `(atan t - t) / t³` as a polynomial in `t²`.
const ATAN: [f64; 11] = [
    -0.333333333333332,
    0.19999999999954057,
    -0.14285714280245987,
    0.111111107860099,
    -0.09090897832730496,
    0.07692061570335945,
    -0.06663119617836329,
    0.05848003292234732,
    -0.050398199468885824,
    0.03807766579068282,
    -0.017921555658082063,
];

/// `(asin s - s) / s³` as a polynomial in `s²`.
const ASIN: [f64; 13] = [
    0.16666666666666763,
    0.07499999999970261,
    0.04464285717512058,
    0.03038194268364838,
    0.022372215659018622,
    0.017351600120037038,
    0.013980961070222423,
    0.01139777935089306,
    0.010786509276730213,
    0.003683118976206148,
    0.02176330829346628,
    -0.021077019207038077,
    0.03267671810389313,
];

/// `atan(b / a)` for a and b not negative, not both zero nor infinite.
fn quotient<'b>(b: Real<'b>, a: Real<'b>) -> Real<'b> {
    let middle = (a * 0.41421356237309503).lt(b);
    let steep = (a * 2.414213562373095).lt(b);
    let numerator = steep.select(-a, middle.select(b - a, b));
    let denominator = steep.select(b, middle.select(b + a, a));
    let offset = steep.select(FRAC_PI_2, middle.select(FRAC_PI_4, 0.0));
    let low = steep.select(PI_2_LOW, middle.select(PI_2_LOW / 2.0, 0.0));
    let t = numerator / denominator;
    let z = t.square();
    offset + ((t * z).fma(z.polynomial(&ATAN), low) + t)
}

pub(super) fn atan(x: Real) -> Real {
    quotient(x.abs(), x.number(1.0)).with_sign_of(x)
}

pub(super) fn atan2<'b>(y: Real<'b>, x: Real<'b>) -> Real<'b> {
    let (a, b) = (x.abs(), y.abs());
    let infinite = a.equals(f64::INFINITY) & b.equals(f64::INFINITY);
    // Away from overflow and underflow.
    let scale = (a.above(1e300) | b.above(1e300)).select(1e-100, 1.0);
    let scale = (a.lt(1e-200) & b.lt(1e-200)).select(1e100, scale);
    let nothing = b.equals(0.0);
    let a = infinite.select(1.0, nothing.select(1.0, a * scale));
    let b = infinite.select(1.0, b * scale);
    let angle = quotient(b, a);
    // The sign of x, that of zeros included.
    let left = x.number(1.0).with_sign_of(x).lt(0.0);
    let angle = left.select((PI - angle) + 2.0 * PI_2_LOW, angle);
    (x.is_nan() | y.is_nan()).select(f64::NAN, angle.with_sign_of(y))
}

/// Whether `|x| > ½`, and the part of `asin` that remains: `asin s` and `s`.
fn reduced(x: Real) -> (super::builder::Truth, Real, Real) {
    let a = x.abs();
    let large = a.above(0.5);
    let z = large.select(0.5 * (1.0 - a), a.square());
    let s = large.select(z.sqrt(), a);
    (large, s * z * z.polynomial(&ASIN), s)
}

pub(super) fn asin(x: Real) -> Real {
    let (large, rest, s) = reduced(x);
    let far = FRAC_PI_2 - (2.0 * (s + rest) - PI_2_LOW);
    large.select(far, s + rest).with_sign_of(x)
}

pub(super) fn acos(x: Real) -> Real {
    let (large, rest, s) = reduced(x);
    let near = FRAC_PI_2 - ((s + rest).with_sign_of(x) - PI_2_LOW);
    let far = 2.0 * (s + rest);
    let far = x.lt(0.0).select(PI - (far - 2.0 * PI_2_LOW), far);
    large.select(far, near)
}
