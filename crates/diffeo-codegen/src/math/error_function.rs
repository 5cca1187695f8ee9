//! `erf` and `erfc`.
//!
//! Near zero `erf x = x·P(x²)`; elsewhere `erfc x = exp(-x²)·Q((x - c)/(x + c)) / x`, where the fraction makes
//! a smooth function of a bounded argument out of `x·exp(x²)·erfc x` (Schonfelder, "Chebyshev expansions for
//! the error and related functions", 1978).

use super::builder::Real;
use super::exponential::exp;

/// `erf x / x - 1`, at 0.
const SLOPE: f64 = 0.1283791670955126;

/// `(erf x / x - 2/√π) / x²` as a polynomial in `x²`, for `|x| ≤ 1`.
const NEAR: [f64; 12] = [
    -0.3761263890318375,
    0.1128379167095493,
    -0.02686617064508449,
    0.005223977624882068,
    -0.0008548326984103244,
    0.00012055331220086657,
    -1.4925597674694465e-05,
    1.646103658825779e-06,
    -1.6350673461625927e-07,
    1.4662077085983061e-08,
    -1.1381331435556956e-09,
    5.970911724474694e-11,
];

/// `x·exp(x²)·erfc x` as a polynomial in `(x - 4)/(x + 4)`, for `1 ≤ x ≤ 6`.
const FAR: [f64; 16] = [
    0.5479978305002455,
    0.059723465959805294,
    -0.10167001340783388,
    0.11617743547572469,
    -0.1050011217162147,
    0.07842032535051961,
    -0.04881471117850089,
    0.0250057293182756,
    -0.010129002392885757,
    0.002915573371164655,
    -0.00036787255947521826,
    -0.00013906546478637262,
    8.545193315975184e-05,
    -1.4956774002988333e-05,
    -1.2319406021508276e-05,
    -2.532098670606317e-07,
];

/// The same in `(x - 3)/(x + 3)`, for `½ ≤ x ≤ 28`.
const WIDE: [f64; 23] = [
    0.5370034535441699,
    0.09530622695922801,
    -0.14658304803289077,
    0.13988054760177035,
    -0.09546975030664609,
    0.04635026333127778,
    -0.014019825625655074,
    0.0009108226892948233,
    0.0012428761519444986,
    -0.000412543791339642,
    -8.460815290275387e-05,
    6.897995373495766e-05,
    6.463624255353123e-06,
    -1.1110361570839438e-05,
    -9.911780470381798e-07,
    1.883211270830558e-06,
    2.9344057330475046e-07,
    -3.222562590549327e-07,
    -9.023564497424795e-08,
    4.9531782395321705e-08,
    2.1169376528629454e-08,
    -5.111385094302686e-09,
    -2.612033129131838e-09,
];

/// `erf x - x` for `|x| ≤ 1`.
fn near(x: Real) -> Real {
    let z = x.square();
    x * z.fma(z.polynomial(&NEAR), SLOPE)
}

/// `erfc x` for the larger x of a table.
fn far<'b>(x: Real<'b>, centre: f64, table: &[f64]) -> Real<'b> {
    let square = x.square();
    let error = x.fma(x, -square);
    let q = ((x - centre) / (x + centre)).polynomial(table) / x;
    // exp(-square - error)
    exp(-square) * q.fma(-error, q)
}

pub(super) fn erf(x: Real) -> Real {
    let a = x.abs();
    let y = 1.0 - far(a.at_most(6.0), 4.0, &FAR);
    a.lt(1.0).select(x + near(x), y.with_sign_of(x))
}

pub(super) fn erfc(x: Real) -> Real {
    let a = x.abs();
    let y = far(a.at_most(28.0), 3.0, &WIDE);
    let y = x.lt(0.0).select(2.0 - y, y);
    a.lt(0.5).select(1.0 - (x + near(x)), y)
}
