//! Functions that StableHLO does not have.
//!
//! The gamma functions are Lanczos's ("A Precision Approximation of the Gamma Function", 1964) with g = 7 and the nine
//! coefficients of Godfrey, and Euler's reflection below 1/2. The error functions are polynomials of Chebyshev, which are
//! fitted here to the values of the evaluator: `erf(x) = x q(x²)` up to 1, `erfc(x) = t exp(p(t) - x²)` with
//! `t = 2 / (2 + x)` from 0.

use crate::lift::Lift;
use crate::value::Tensor;
use diffeo_calculus::prim::{real, RealOp};
use std::f64::consts::PI;

const G: f64 = 7.0;
const FIRST: f64 = 0.999_999_999_999_809_9;
const LANCZOS: [f64; 8] = [
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
/// How many polynomials are added.
const DEGREES: usize = 32;

/// The coefficients of Chebyshev's polynomials of a function from `lo` to `hi`.
fn chebyshev(lo: f64, hi: f64, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let n = DEGREES as f64;
    let angle = |k: usize| PI * (k as f64 + 0.5) / n;
    let at = |k: usize| f(0.5 * (hi + lo) + 0.5 * (hi - lo) * angle(k).cos());
    let values: Vec<f64> = (0..DEGREES).map(at).collect();
    let coefficient = |j: usize| {
        let terms = values.iter().enumerate().map(|(k, y)| y * (j as f64 * angle(k)).cos());
        terms.sum::<f64>() * if j == 0 { 1.0 } else { 2.0 } / n
    };
    (0..DEGREES).map(coefficient).collect()
}

/// `log(erfc(x) exp(x²))`, by the continued fraction of Laplace from 2 on.
fn log_erfcx(x: f64) -> f64 {
    if x < 2.0 {
        return real::eval(RealOp::Erfc, x, 0.0).ln() + x * x;
    }
    let fraction = (1..=120).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
    -(fraction.ln() + 0.5 * PI.ln())
}

impl Lift<'_> {
    fn apply(&mut self, op: &str, all: &[&Tensor]) -> Tensor {
        let all: Vec<Tensor> = all.iter().map(|t| (*t).clone()).collect();
        self.each(op, &all)
    }

    fn with(&mut self, op: &str, t: &Tensor, x: f64) -> Tensor {
        let x = self.real(x);
        self.apply(op, &[t, &x])
    }

    pub fn special(&mut self, op: RealOp, x: &Tensor) -> Tensor {
        match op {
            RealOp::Erf => self.erf(x),
            RealOp::Erfc => self.erfc(x),
            RealOp::Lgamma => self.lgamma(x),
            _ => self.digamma(x),
        }
    }

    /// A sum of Chebyshev's polynomials, by Clenshaw's recurrence, at a number from `lo` to `hi`.
    fn series(&mut self, coefficients: &[f64], t: &Tensor, lo: f64, hi: f64) -> Tensor {
        let scaled = self.with("multiply", t, 4.0 / (hi - lo));
        let twice = self.with("subtract", &scaled, 2.0 * (hi + lo) / (hi - lo));
        let zero = self.real(0.0);
        let (mut b, mut last) = (zero.clone(), zero);
        for c in coefficients[1..].iter().rev() {
            let next = self.apply("multiply", &[&twice, &b]);
            let next = self.apply("subtract", &[&next, &last]);
            let next = self.with("add", &next, *c);
            (last, b) = (b, next);
        }
        let half = self.with("multiply", &twice, 0.5);
        let sum = self.apply("multiply", &[&half, &b]);
        let sum = self.apply("subtract", &[&sum, &last]);
        self.with("add", &sum, coefficients[0])
    }

    /// `erfc` of the absolute value.
    fn erfc_of_size(&mut self, a: &Tensor) -> Tensor {
        let two = self.real(2.0);
        let below = self.with("add", a, 2.0);
        let t = self.apply("divide", &[&two, &below]);
        let of_t = |t: f64| {
            let x = 2.0 / t - 2.0;
            log_erfcx(x) - t.ln()
        };
        let coefficients = chebyshev(0.0, 1.0, of_t);
        let p = self.series(&coefficients, &t, 0.0, 1.0);
        let square = self.apply("multiply", &[a, a]);
        let exponent = self.apply("subtract", &[&p, &square]);
        let power = self.apply("exponential", &[&exponent]);
        self.apply("multiply", &[&t, &power])
    }

    /// `erf` up to 1.
    fn erf_near(&mut self, x: &Tensor) -> Tensor {
        let of_square = |s: f64| match s.sqrt() {
            x if x > 1e-8 => real::eval(RealOp::Erf, x, 0.0) / x,
            _ => 2.0 / PI.sqrt(),
        };
        let coefficients = chebyshev(0.0, 1.0, of_square);
        let square = self.apply("multiply", &[x, x]);
        let one = self.real(1.0);
        let square = self.apply("minimum", &[&square, &one]);
        let q = self.series(&coefficients, &square, 0.0, 1.0);
        self.apply("multiply", &[x, &q])
    }

    fn erf(&mut self, x: &Tensor) -> Tensor {
        let a = self.apply("abs", &[x]);
        let one = self.real(1.0);
        let is_near = self.compare("LT", &a, &one);
        let near = self.erf_near(x);
        let rest = self.erfc_of_size(&a);
        let far = self.apply("subtract", &[&one, &rest]);
        let sign = self.apply("sign", &[x]);
        let far = self.apply("multiply", &[&sign, &far]);
        self.select(&is_near, &near, &far)
    }

    fn erfc(&mut self, x: &Tensor) -> Tensor {
        let a = self.apply("abs", &[x]);
        let (zero, half, two) = (self.real(0.0), self.real(0.5), self.real(2.0));
        let one = self.real(1.0);
        let near = self.erf_near(x);
        let near = self.apply("subtract", &[&one, &near]);
        let rest = self.erfc_of_size(&a);
        let mirrored = self.apply("subtract", &[&two, &rest]);
        let is_negative = self.compare("LT", x, &zero);
        let far = self.select(&is_negative, &mirrored, &rest);
        let is_near = self.compare("LT", &a, &half);
        self.select(&is_near, &near, &far)
    }

    /// The distance from the next whole number, and its sine times π: both as for the absolute value.
    fn sine_of_pi(&mut self, x: &Tensor) -> Tensor {
        let a = self.apply("abs", &[x]);
        let whole = self.apply("floor", &[&a]);
        let fraction = self.apply("subtract", &[&a, &whole]);
        let one = self.real(1.0);
        let other = self.apply("subtract", &[&one, &fraction]);
        let distance = self.apply("minimum", &[&fraction, &other]);
        let angle = self.with("multiply", &distance, PI);
        self.apply("sine", &[&angle])
    }

    /// Lanczos's `z = x - 1` from 1/2 on, else that of `1 - x`; whether it is the latter.
    fn reflected(&mut self, x: &Tensor) -> (Tensor, Tensor) {
        let half = self.real(0.5);
        let is_reflected = self.compare("LT", x, &half);
        let minus = self.apply("negate", &[x]);
        let below = self.with("subtract", x, 1.0);
        (self.select(&is_reflected, &minus, &below), is_reflected)
    }

    /// `log(z + g + 1/2)`, and the argument.
    fn log_of_t(&mut self, z: &Tensor) -> (Tensor, Tensor) {
        let t = self.with("add", z, G + 0.5);
        let part = self.with("multiply", z, 1.0 / (G + 0.5));
        let log = self.apply("log_plus_one", &[&part]);
        (self.with("add", &log, (G + 0.5).ln()), t)
    }

    fn lgamma(&mut self, x: &Tensor) -> Tensor {
        let (z, is_reflected) = self.reflected(x);
        let mut sum = self.real(FIRST);
        for (i, c) in LANCZOS.iter().enumerate() {
            let below = self.with("add", &z, i as f64 + 1.0);
            let c = self.real(*c);
            let term = self.apply("divide", &[&c, &below]);
            sum = self.apply("add", &[&sum, &term]);
        }
        let (log_t, t) = self.log_of_t(&z);
        let quotient = self.apply("divide", &[&t, &log_t]);
        let factor = self.with("add", &z, 0.5);
        let factor = self.apply("subtract", &[&factor, &quotient]);
        let main = self.apply("multiply", &[&factor, &log_t]);
        let log_sum = self.apply("log", &[&sum]);
        let main = self.apply("add", &[&main, &log_sum]);
        let main = self.with("add", &main, 0.5 * (2.0 * PI).ln());
        let sine = self.sine_of_pi(x);
        let log_sine = self.apply("log", &[&sine]);
        let pi = self.real(PI.ln());
        let other = self.apply("subtract", &[&pi, &log_sine]);
        let other = self.apply("subtract", &[&other, &main]);
        let found = self.select(&is_reflected, &other, &main);
        let (a, infinity) = (self.apply("abs", &[x]), self.real(f64::INFINITY));
        let is_infinite = self.compare("EQ", &a, &infinity);
        self.select(&is_infinite, &infinity, &found)
    }

    fn digamma(&mut self, x: &Tensor) -> Tensor {
        let (z, is_reflected) = self.reflected(x);
        let (mut above, mut below) = (self.real(0.0), self.real(FIRST));
        for (i, c) in LANCZOS.iter().enumerate() {
            let place = self.with("add", &z, i as f64 + 1.0);
            let c = self.real(*c);
            let term = self.apply("divide", &[&c, &place]);
            below = self.apply("add", &[&below, &term]);
            let term = self.apply("divide", &[&term, &place]);
            above = self.apply("subtract", &[&above, &term]);
        }
        let (log_t, t) = self.log_of_t(&z);
        let g = self.real(G);
        let part = self.apply("divide", &[&g, &t]);
        let quotient = self.apply("divide", &[&above, &below]);
        let main = self.apply("add", &[&log_t, &quotient]);
        let main = self.apply("subtract", &[&main, &part]);
        // The cotangent of π x, by the distance to the nearest whole number.
        let whole = self.apply("round_nearest_afz", &[x]);
        let distance = self.apply("subtract", &[x, &whole]);
        let angle = self.with("multiply", &distance, PI);
        let tangent = self.apply("tan", &[&angle]);
        let pi = self.real(PI);
        let cotangent = self.apply("divide", &[&pi, &tangent]);
        let other = self.apply("subtract", &[&main, &cotangent]);
        let found = self.select(&is_reflected, &other, &main);
        let (zero, nan) = (self.real(0.0), self.real(f64::NAN));
        let is_whole = self.compare("EQ", &distance, &zero);
        let is_pole = self.apply("and", &[&is_whole, &is_reflected]);
        self.select(&is_pole, &nan, &found)
    }
}
