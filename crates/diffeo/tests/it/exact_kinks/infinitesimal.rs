//! Polynomials with whole coefficients in infinitesimals τ₁ ≫ τ₂ ≫ …, ordered by their sign for all that are small enough,
//! with first and second derivatives by the inputs of a program.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Programs have at most so many inputs, and points move along at most so many directions.
pub const INPUTS: usize = 3;
pub const DIRECTIONS: usize = 6;

/// Numbers beyond are not exact in 64 bits, and their programs are left out.
const LARGEST: i128 = 1 << 45;

/// Exponents of the infinitesimals, by total degree first; then those with more of an earlier one come first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Monomial([u8; DIRECTIONS]);

impl Monomial {
    const ONE: Monomial = Monomial([0; DIRECTIONS]);

    fn degree(self) -> u32 {
        self.0.iter().map(|e| u32::from(*e)).sum()
    }
}

impl Ord for Monomial {
    /// The larger a monomial is for small infinitesimals, the earlier it comes.
    fn cmp(&self, other: &Monomial) -> Ordering {
        self.degree().cmp(&other.degree()).then_with(|| other.0.cmp(&self.0))
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A value of a program beside the point, and the derivatives of the piece that is taken there, at the point.
#[derive(Clone)]
pub struct Number {
    value: BTreeMap<Monomial, i128>,
    gradient: [i128; INPUTS],
    hessian: [[i128; INPUTS]; INPUTS],
}

impl Number {
    pub fn constant(x: i64) -> Number {
        Number::moved(x, &[], &[])
    }

    /// A number that moves by these multiples of infinitesimals, with this gradient.
    pub fn moved(x: i64, along: &[(usize, i64)], slopes: &[(usize, i64)]) -> Number {
        let mut value = BTreeMap::from([(Monomial::ONE, i128::from(x))]);
        for (i, factor) in along {
            let mut monomial = Monomial::ONE;
            monomial.0[*i] = 1;
            value.insert(monomial, i128::from(*factor));
        }
        value.retain(|_, x| *x != 0);
        let mut gradient = [0; INPUTS];
        slopes.iter().for_each(|(i, slope)| gradient[*i] = i128::from(*slope));
        Number { value, gradient, hessian: [[0; INPUTS]; INPUTS] }
    }

    /// The number without infinitesimals.
    pub fn standard(&self) -> i128 {
        self.value.get(&Monomial::ONE).copied().unwrap_or(0)
    }

    pub fn gradient(&self) -> [i128; INPUTS] {
        self.gradient
    }

    pub fn hessian(&self) -> [[i128; INPUTS]; INPUTS] {
        self.hessian
    }

    pub fn plus(&self, other: &Number) -> Option<Number> {
        let mut sum = self.clone();
        for (monomial, x) in &other.value {
            *sum.value.entry(*monomial).or_insert(0) += x;
        }
        for i in 0..INPUTS {
            sum.gradient[i] += other.gradient[i];
            (0..INPUTS).for_each(|j| sum.hessian[i][j] += other.hessian[i][j]);
        }
        sum.exact()
    }

    pub fn times(&self, other: &Number) -> Option<Number> {
        let mut value = BTreeMap::new();
        for (m, x) in &self.value {
            for (n, y) in &other.value {
                let exponents = std::array::from_fn(|i| m.0[i] + n.0[i]);
                *value.entry(Monomial(exponents)).or_insert(0) += x * y;
            }
        }
        let [a, b] = [self.standard(), other.standard()];
        let gradient = std::array::from_fn(|i| a * other.gradient[i] + b * self.gradient[i]);
        let hessian = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let mixed =
                    self.gradient[i] * other.gradient[j] + self.gradient[j] * other.gradient[i];
                a * other.hessian[i][j] + b * self.hessian[i][j] + mixed
            })
        });
        Number { value, gradient, hessian }.exact()
    }

    pub fn minus(&self, other: &Number) -> Option<Number> {
        self.plus(&other.times(&Number::constant(-1))?)
    }

    /// The number, if it is small enough for exact arithmetic.
    fn exact(mut self) -> Option<Number> {
        self.value.retain(|_, x| *x != 0);
        let mut all =
            self.value.values().chain(&self.gradient).chain(self.hessian.iter().flatten());
        let small = self.value.len() < 500 && all.all(|x| x.abs() < LARGEST);
        small.then_some(self)
    }

    /// How it compares with another.
    pub fn order(&self, other: &Number) -> Ordering {
        let difference = self.minus(other).expect("small numbers");
        difference.value.values().next().map_or(Ordering::Equal, |x| x.cmp(&0))
    }
}
