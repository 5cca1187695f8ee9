//! The directions that derivatives are compared along: single numbers of a point or a result, and
//! random directions.

use crate::differentiate::with_numbers;
use diffeo_calculus::value::Value;

/// A direction in the space of a value's numbers.
#[derive(Clone, Debug)]
pub enum Probe {
    /// One of the numbers.
    Number(usize),
    /// All of them, with these weights.
    Random(Vec<f64>),
}

impl Probe {
    /// Whether it is a single number.
    pub fn is_number(&self) -> bool {
        matches!(self, Probe::Number(_))
    }

    /// The component of this number.
    pub fn component(&self, i: usize) -> f64 {
        match self {
            Probe::Number(place) => f64::from(u8::from(i == *place)),
            Probe::Random(weights) => weights.get(i).copied().unwrap_or(0.0),
        }
    }

    /// The component of numbers along the direction.
    pub fn of(&self, numbers: &[f64]) -> f64 {
        match self {
            Probe::Number(place) => numbers.get(*place).copied().unwrap_or(f64::NAN),
            Probe::Random(weights) => weights.iter().zip(numbers).map(|(w, x)| w * x).sum(),
        }
    }

    /// The direction as a value of this shape.
    pub fn value(&self, like: &Value) -> Value {
        with_numbers(like, &mut |i, _| Value::Real(self.component(i)))
    }

    /// The point so far along the direction.
    pub fn moved(&self, from: &Value, by: f64) -> Value {
        with_numbers(from, &mut |i, x| match self.component(i) {
            0.0 => Value::Real(x),
            component => Value::Real(x + by * component),
        })
    }

    /// By how much rounding moves a number of the point so far along the direction, at most.
    pub fn rounding(&self, from: &[f64], by: f64) -> f64 {
        // Møller and Knuth's exact sum.
        let lost = |i: usize, x: f64| {
            let step = by * self.component(i);
            let sum = x + step;
            let moved = sum - x;
            ((x - (sum - moved)) + (step - moved)).abs()
        };
        match self {
            Probe::Number(i) => from.get(*i).map_or(0.0, |x| lost(*i, *x)),
            Probe::Random(_) => {
                from.iter().enumerate().map(|(i, x)| lost(i, *x)).fold(0.0, f64::max)
            }
        }
    }
}

/// Pseudo-random numbers between -1 and 1, always the same ones (Knuth's linear congruential generator).
pub struct ProbeRandom(u64);

impl ProbeRandom {
    /// The generator at its start.
    pub fn new() -> ProbeRandom {
        ProbeRandom(42)
    }

    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        2.0 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }

    /// A direction among so many numbers. Its components have few digits and none is 0: steps along it do
    /// not round the point.
    pub fn direction(&mut self, numbers: usize) -> Probe {
        let mut component = || (2.0 * (512.0 * self.next()).floor() + 1.0) / 1024.0;
        Probe::Random((0..numbers).map(|_| component()).collect())
    }

    /// At most so many of the numbers, in order: all of them, or some.
    pub fn some(&mut self, numbers: usize, most: usize) -> Vec<Probe> {
        if numbers <= most {
            return (0..numbers).map(Probe::Number).collect();
        }
        // One from each of as many stretches.
        (0..most)
            .map(|i| {
                let (from, to) = (i * numbers / most, (i + 1) * numbers / most);
                let within = (self.next() + 1.0) / 2.0 * (to - from) as f64;
                Probe::Number((from + within as usize).min(to - 1))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Probe, ProbeRandom};

    #[test]
    fn samples_are_in_order_and_within() {
        for (numbers, most) in [(3, 5), (5, 5), (1000, 64), (65, 64), (7, 0)] {
            let places: Vec<usize> = ProbeRandom::new()
                .some(numbers, most)
                .iter()
                .map(|p| if let Probe::Number(i) = p { *i } else { usize::MAX })
                .collect();
            assert_eq!(places.len(), numbers.min(most));
            assert!(places.windows(2).all(|w| w[0] < w[1]), "{places:?}");
            assert!(places.iter().all(|i| *i < numbers));
        }
    }

    #[test]
    fn components_along_directions() {
        assert_eq!(Probe::Number(1).of(&[2.0, 3.0]), 3.0);
        assert_eq!(Probe::Random(vec![1.0, -1.0]).of(&[2.0, 3.0]), -1.0);
        assert_eq!(Probe::Number(1).component(0), 0.0);
    }
}
