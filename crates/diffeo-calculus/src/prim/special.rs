//! Functions that neither the standard library nor libm has: sigmoid, softplus, the polygamma functions of
//! every order, and what derivatives need besides.
//!
//! What always holds: no overflow where the result is finite; relative error about 1e-13 (for
//! polygamma at negative arguments relative to the larger of the two terms of the reflection).

use std::f64::consts::PI;

/// `1 / (1 + exp(-x))`
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// `1 / cosh(x)`
pub fn sech(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    2.0 * e / (1.0 + e * e)
}

/// `x / hypot(x, y)`: ±1 at infinite x and finite y, nan if both are 0 or infinite.
pub fn unit(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs(), y.abs());
    if x.is_infinite() && b < f64::INFINITY {
        return 1.0_f64.copysign(x);
    }
    let (length, other) = if a < b { (b, a) } else { (a, b) };
    let ratio = other / length;
    x / length / (1.0 + ratio * ratio).sqrt()
}

/// `log(1 + exp(x))`
pub fn softplus(x: f64) -> f64 {
    if x > 0.0 {
        x + (-x).exp().ln_1p()
    } else {
        x.exp().ln_1p()
    }
}

/// The polygamma function of order n at x: the derivative of order n + 1 of the logarithm of the
/// gamma function. At the poles (x = 0, -1, …) nan for even n and inf for odd n.
pub fn polygamma(n: u32, x: f64) -> f64 {
    if x.is_nan() || x == f64::NEG_INFINITY {
        f64::NAN
    } else if x > 0.0 {
        if n == 0 {
            digamma(x)
        } else {
            polygamma_positive(n, x)
        }
    } else if x.floor() == x {
        if n.is_multiple_of(2) {
            f64::NAN
        } else {
            f64::INFINITY
        }
    } else {
        // ψ(1-x) - ψ(x) = π cot πx, differentiated n times.
        let mirrored = polygamma(n, 1.0 - x);
        let mirrored = if n.is_multiple_of(2) { mirrored } else { -mirrored };
        mirrored - cotangent_derivative(n, x)
    }
}

/// `B₂ⱼ / (2j)!` for j from 1.
const BERNOULLI_OVER_FACTORIAL: [f64; 15] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
    3.534707039629467e-21,
    -8.953517427037546e-23,
    2.267952452337683e-24,
];

/// `B₂ⱼ / 2j` for j from 1.
const BERNOULLI_OVER_INDEX: [f64; 8] = [
    0.08333333333333333,
    -0.008333333333333333,
    0.003968253968253968,
    -0.004166666666666667,
    0.007575757575757576,
    -0.021092796092796094,
    0.08333333333333333,
    -0.4432598039215686,
];

/// The zero of digamma among the positive numbers, as the sum of two.
const DIGAMMA_ZERO: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// At x > 0: the recurrence `ψ(x) = ψ(x+1) - 1/x` up to where the asymptotic series holds, and near
/// its zero, where that cancels, the Taylor series there.
fn digamma(x: f64) -> f64 {
    let d = (x - DIGAMMA_ZERO.0) - DIGAMMA_ZERO.1;
    if d.abs() < 0.2 {
        // Σ ψ⁽ⁿ⁾(x₀)/n! dⁿ; the radius of convergence is x₀.
        let (mut sum, mut power) = (0.0, 1.0);
        for n in 1..=20 {
            power *= d / f64::from(n);
            sum += polygamma_positive(n, DIGAMMA_ZERO.0) * power;
        }
        return sum;
    }
    let (mut z, mut shift) = (x, 0.0);
    while z < 10.0 {
        shift += 1.0 / z;
        z += 1.0;
    }
    let inverse = 1.0 / (z * z);
    let (mut tail, mut power) = (0.0, 1.0);
    for b in BERNOULLI_OVER_INDEX {
        power *= inverse;
        tail += b * power;
    }
    z.ln() - 0.5 / z - tail - shift
}

/// At n > 0 and x > 0: `(-1)ⁿ⁺¹ Σₖ n!/(x+k)ⁿ⁺¹`, the tail by Euler's and Maclaurin's formula.
fn polygamma_positive(n: u32, x: f64) -> f64 {
    let sign = if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    if x == f64::INFINITY {
        return sign * 0.0;
    }
    // m!/zᵐ⁺¹, without overflow of either part.
    let power = |m: u32, z: f64| (1..=m).fold(1.0 / z, |t, i| t * (f64::from(i) / z));
    let term = |z: f64| power(n, z);
    let start = 10.0 + f64::from(n) / 2.0;
    let (mut z, mut sum) = (x, 0.0);
    while z < start {
        sum += term(z);
        z += 1.0;
    }
    let last = term(z);
    // The integral, (n-1)!/zⁿ, is more than the smallest number where the term may be less.
    sum += power(n - 1, z) + 0.5 * last;
    // s(s+1)…(s+2j-2) / z²ʲ⁻¹ with s = n+1.
    let s = f64::from(n) + 1.0;
    let mut factor = s / z;
    for (j, b) in BERNOULLI_OVER_FACTORIAL.iter().enumerate() {
        let next = last * b * factor;
        sum += next;
        if next.abs() < 1e-18 * sum.abs() {
            break;
        }
        let i = 2.0 * j as f64 + 1.0;
        factor *= (s + i) / z * ((s + i + 1.0) / z);
    }
    sign * sum
}

/// The derivative of order n of `π cot πx`: a polynomial in `c = cot πx`, by `c' = -π(1 + c²)`.
fn cotangent_derivative(n: u32, x: f64) -> f64 {
    let c = 1.0 / (PI * (x - x.round())).tan();
    // The coefficients of π⁻ⁿ⁻¹ times the derivative.
    let mut p = vec![0.0, 1.0];
    for _ in 0..n {
        let mut next = vec![0.0; p.len() + 1];
        for (i, a) in p.iter().enumerate().skip(1) {
            let a = -a * i as f64;
            next[i - 1] += a;
            next[i + 1] += a;
        }
        p = next;
    }
    let value = p.iter().rev().fold(0.0, |sum, a| sum * c + a);
    (0..=n).fold(value, |v, _| v * PI)
}

#[cfg(test)]
mod tests {
    use super::{polygamma, sigmoid, softplus};

    /// Order, argument, value; computed with 40 digits.
    const KNOWN: &[(u32, f64, f64)] = &[
        (0, 1.0, -0.5772156649015329),
        (0, 0.5, -1.9635100260214235),
        (0, 1.4, -0.06138454458511624),
        (0, 1.4616321449683622, -9.241265521729427e-17),
        (0, 1.47, 0.008066489011364869),
        (0, 2.0, 0.42278433509846713),
        (0, 10.0, 2.251752589066721),
        (0, 0.001, -1000.5755719318103),
        (0, 10000000000.0, 23.025850929890456),
        (0, -0.5, 0.03648997397857652),
        (0, -1.5, 0.7031566406452432),
        (0, -0.3, 2.113309779635399),
        (0, -20.25, 6.174235633614484),
        (1, 1.0, 1.6449340668482264),
        (1, 0.1, 101.43329915079275),
        (1, 5.0, 0.22132295573711533),
        (1, -0.5, 8.934802200544679),
        (1, -3.3, 14.817739525515929),
        (2, 1.0, -2.4041138063191885),
        (2, 3.7, -0.09539530872855403),
        (2, -0.6, -22.979869364319093),
        (3, 1.0, 6.493939402266829),
        (3, 0.25, 1538.7821440091884),
        (3, -1.2, 3768.2644105890045),
        (5, 2.5, 0.5785691785671835),
        (10, 1.5, -42108.85876897549),
        (10, -0.4, 85517084631.51274),
        (20, 8.0, -0.2888376308332013),
        (30, 0.7, -1.681205625310475e37),
        (60, 40.0, -2.0171001213402938e-16),
    ];

    #[test]
    fn polygamma_has_its_known_values() {
        for &(n, x, y) in KNOWN {
            let got = polygamma(n, x);
            assert!((got - y).abs() <= 2e-13 * y.abs(), "polygamma({n}, {x}) = {got}, not {y}");
        }
        for n in 0..4 {
            assert!(polygamma(n, f64::NAN).is_nan());
            assert!(!polygamma(n, -3.0).is_finite());
        }
        assert_eq!(polygamma(0, f64::INFINITY), f64::INFINITY);
        assert_eq!(polygamma(3, f64::INFINITY), 0.0);
    }

    #[test]
    fn sigmoid_and_softplus_do_not_overflow() {
        assert_eq!((sigmoid(1e4), softplus(1e4)), (1.0, 1e4));
        assert_eq!((sigmoid(-1e4), softplus(-1e4)), (0.0, 0.0));
        assert_eq!(sigmoid(-700.0), (-700f64).exp());
        assert_eq!(softplus(-700.0), (-700f64).exp());
        assert_eq!(sigmoid(0.0), 0.5);
        assert!(sigmoid(f64::NAN).is_nan() && softplus(f64::NAN).is_nan());
    }
}
