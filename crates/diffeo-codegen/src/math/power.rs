//! `pow`, `hypot` and `unit`.
//!
//! `x^y = exp(y·log x)`, where the logarithm is the sum of two numbers, good to about 2^-65 (Muller, chapter
//! 13): products and sums whose errors count are followed by their exact errors (Dekker).

use super::builder::{Real, Truth};
use super::exponential::exp_of_sum;
use super::logarithm::split;

/// The first 32 bits of `log 2`, so that products with exponents are exact, and the rest.
const LN_2_PARTS: [f64; 2] = [0.6931471803691238, 1.9082149292705877e-10];

/// `2/3`, in two numbers.
const TWO_THIRDS: [f64; 2] = [0.6666666666666666, 3.700743415417188e-17];

/// `(2 artanh(s)/s - 2 - ⅔s²) / s⁴` as a polynomial in `s²`.
const ARTANH: [f64; 8] = [
    0.3999999999999998,
    0.2857142857144515,
    0.22222222217526813,
    0.1818181887150198,
    0.15384556789834367,
    0.13336320546978042,
    0.1167475490976256,
    0.11989543648820616,
];

/// `a + b` for `|a| ≥ |b|` or a = 0, and what it lacks.
fn sum<'b>(a: Real<'b>, b: Real<'b>) -> (Real<'b>, Real<'b>) {
    let total = a + b;
    (total, (a - total) + b)
}

/// `a·b`, and what it lacks.
fn product<'b>(a: Real<'b>, b: Real<'b>) -> (Real<'b>, Real<'b>) {
    let p = a * b;
    (p, a.fma(b, -p))
}

/// The logarithm of a positive normal number with 2^raised as a factor.
fn log<'b>(u: Real<'b>, raised: Real<'b>) -> (Real<'b>, Real<'b>) {
    let (k, _, m) = split(u);
    let k = k + raised;
    let f = m - 1.0;
    // s + s_low = f / (2 + f)
    let d = f + 2.0;
    let d_low = f - (d - 2.0);
    let inverse = 1.0 / d;
    let s = f * inverse;
    let s_low = (s.fma(-d, f) - s * d_low) * inverse;
    // c + c_low = ⅔s³
    let (z, z_error) = product(s, s);
    let z_low = z_error + 2.0 * s * s_low;
    let (cube, cube_error) = product(s, z);
    let cube_low = cube_error + s.fma(z_low, s_low * z);
    let (c, c_error) = product(cube, s.number(TWO_THIRDS[0]));
    let c_low = c_error + cube.fma(TWO_THIRDS[1], cube_low * TWO_THIRDS[0]);
    let rest = cube * z * z.polynomial(&ARTANH);
    let (log_m, error) = sum(2.0 * s, c);
    let log_m_low = error + (c_low + 2.0 * s_low + rest);
    let (high, error) = sum(k * LN_2_PARTS[0], log_m);
    sum(high, k.fma(LN_2_PARTS[1], error + log_m_low))
}

/// Whether a number is integral, and whether it is odd.
fn parity(y: Real) -> (Truth, Truth) {
    let integral = y.nearest().equals(y);
    let half = 0.5 * y;
    (integral, integral & !half.nearest().equals(half))
}

pub(super) fn pow<'b>(x: Real<'b>, y: Real<'b>) -> Real<'b> {
    let a = x.abs();
    let subnormal = a.lt(f64::MIN_POSITIVE);
    let u = subnormal.select(a * 2f64.powi(54), a);
    let (log, log_low) = log(u, subnormal.select(-54.0, x.number(0.0)));
    let infinite = a.equals(f64::INFINITY);
    let log = a.equals(0.0).select(f64::NEG_INFINITY, infinite.select(a, log));
    let exponent = y * log;
    let low = y.fma(log, -exponent) + y * log_low;
    let low = exponent.abs().lt(800.0).select(low, 0.0);
    let size = exp_of_sum(exponent, low);

    let (integral, odd) = parity(y);
    let negative = x.number(1.0).with_sign_of(x).lt(0.0);
    let value = (negative & odd).select(-size, size);
    let undefined = x.is_nan() | (x.lt(0.0) & !infinite & !integral);
    let value = undefined.select(f64::NAN, value);
    let one = x.equals(1.0) | y.equals(0.0) | (a.equals(1.0) & y.abs().equals(f64::INFINITY));
    one.select(1.0, value)
}

/// The larger of the sizes, the smaller, and that over the larger.
fn proportion<'b>(x: Real<'b>, y: Real<'b>) -> (Real<'b>, Real<'b>, Real<'b>) {
    let (a, b) = (x.abs(), y.abs());
    let less = a.lt(b);
    let (long, short) = (less.select(b, a), less.select(a, b));
    (long, short, short / long)
}

pub(super) fn hypot<'b>(x: Real<'b>, y: Real<'b>) -> Real<'b> {
    let (long, short, ratio) = proportion(x, y);
    let value = long * ratio.fma(ratio, 1.0).sqrt();
    let value = long.equals(0.0).select(short, value);
    // Infinity comes before nan.
    let infinite = x.abs().equals(f64::INFINITY) | y.abs().equals(f64::INFINITY);
    infinite.select(f64::INFINITY, value)
}

/// `x / hypot(x, y)`
pub(super) fn unit<'b>(x: Real<'b>, y: Real<'b>) -> Real<'b> {
    let (long, _, ratio) = proportion(x, y);
    let value = (x / long) / ratio.fma(ratio, 1.0).sqrt();
    let along = x.abs().equals(f64::INFINITY) & y.abs().lt(f64::INFINITY);
    along.select(x.number(1.0).with_sign_of(x), value)
}
