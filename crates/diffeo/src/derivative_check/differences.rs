//! Derivatives by central differences, extrapolated to step zero.
//!
//! In: functions of one real variable, evaluated together, their values at 0 and a scale for each. Out:
//! an estimate of each derivative at 0. Central differences have an error in even powers of the step,
//! which Richardson's extrapolation removes one by one (Ridders, "Accurate computation of F'(x) and
//! F'(x) F''(x)", 1982, chooses among the steps by the estimated error, as here). Half the second
//! difference over the step tells the derivatives of the two sides apart: it goes to 0 unless there is
//! a kink.

/// By how much the step shrinks.
const RATIO: f64 = 4.0;
/// The steps that are extrapolated together.
const WINDOW: usize = 5;
/// A derivative is known well enough with this error, relative to it.
const ENOUGH: f64 = 1e-8;
/// Sides that differ by less than this, relative to the derivative, are taken to agree.
const SIDES: f64 = 1e-7;
/// An estimated error counts so many times.
pub const DOUBT: f64 = 10.0;
/// Smaller steps gain nothing where the error is no more than so many times what rounding does.
const ROUNDED: f64 = 20.0;

/// What differences say of a derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The derivative from the left; nan where the function is not defined around the point.
    pub left: f64,
    /// The derivative from the right: another one at a kink.
    pub right: f64,
    /// The estimated error.
    pub error: f64,
}

impl Estimate {
    /// How far a derivative is from it; nan if either is no number.
    pub fn distance(&self, derivative: f64) -> f64 {
        let (left, right) = ((self.left - derivative).abs(), (self.right - derivative).abs());
        if left.is_nan() || right.is_nan() {
            f64::NAN
        } else {
            left.max(right)
        }
    }

    /// Whether it shows that an estimate with larger steps only seemed exact.
    fn refutes(&self, larger: &Estimate) -> bool {
        let size = self.left.abs().min(self.right.abs());
        let apart = (self.left - larger.left).abs().max((self.right - larger.right).abs());
        self.error <= 0.1 * size && apart > DOUBT * (self.error + larger.error)
    }
}

/// Values at a step.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The values.
    pub values: Vec<f64>,
    /// The largest number met on the way to them.
    pub largest: f64,
    /// By how much rounding moved the place where they were taken.
    pub moved: f64,
}

/// The values at a step and at its opposite.
struct StepSamples {
    h: f64,
    up: Sample,
    down: Sample,
}

impl StepSamples {
    fn is_finite(&self, i: usize) -> bool {
        self.up.values[i].is_finite() && self.down.values[i].is_finite()
    }

    /// The differences of the function to its value, forwards and backwards.
    fn sides(&self, i: usize, value: f64) -> (f64, f64) {
        (self.up.values[i] - value, value - self.down.values[i])
    }

    /// What rounding does to a difference over the step.
    fn noise(&self, i: usize, value: f64) -> f64 {
        let (up, down) = (self.up.values[i].abs(), self.down.values[i].abs());
        let largest = self.up.largest.max(self.down.largest);
        let (right, left) = self.sides(i, value);
        let slope = right.abs().max(left.abs()) / self.h;
        let moved = self.up.moved.max(self.down.moved) / self.h + f64::EPSILON;
        // Multiplied in this order nothing overflows that need not.
        f64::EPSILON * (4.0 * value.abs().max(up).max(down)).min(f64::MAX) / self.h
            + f64::EPSILON * largest.min(f64::MAX) / self.h
            + moved * slope
    }
}

/// The steps of a sweep: the first, and about the last.
pub type StepRange = (f64, f64);

/// The derivatives at 0 of functions with these values there, which are `expected` to be these: nan where
/// nothing is asked. `at(t)` gives their values at t, none where the program stops. The steps go through the
/// sweeps until every derivative is known.
pub fn differences<E>(
    values: &[f64],
    expected: &[f64],
    sweeps: &[StepRange],
    at: &mut dyn FnMut(f64) -> Result<Option<Sample>, E>,
) -> Result<Vec<Estimate>, E> {
    let unknown = Estimate { left: f64::NAN, right: f64::NAN, error: f64::INFINITY };
    let mut best = vec![unknown; values.len()];
    let mut levels: Vec<StepSamples> = Vec::new();
    for (first, last) in sweeps {
        levels.clear();
        let mut before = vec![Limits::default(); values.len()];
        // Steps that are powers of two do not round the point.
        let mut h = first.log2().floor().exp2();
        while h >= *last {
            if let (Some(up), Some(down)) = (at(h)?, at(-h)?) {
                if up.values.len() == values.len() && down.values.len() == values.len() {
                    levels.push(StepSamples { h, up, down });
                    let window = &levels[levels.len().saturating_sub(WINDOW)..];
                    let (mut known, mut settled) = (true, true);
                    for (i, best) in best.iter_mut().enumerate() {
                        let limits = Limits::of(window, i, values[i]);
                        let found = limits.estimate(&before[i], expected[i]);
                        let noise = limits.noise;
                        before[i] = limits;
                        if found.error < best.error || found.refutes(best) {
                            *best = found;
                        }
                        if expected[i].is_nan() {
                            continue;
                        }
                        let size = expected[i].abs();
                        let agrees =
                            best.distance(expected[i]) <= SIDES * size + DOUBT * best.error;
                        let is_known = agrees && best.error <= ENOUGH * size;
                        known &= is_known;
                        settled &= is_known || (agrees && best.error <= ROUNDED * noise);
                    }
                    if known {
                        return Ok(best);
                    }
                    if settled {
                        break;
                    }
                }
            }
            h /= RATIO;
        }
    }
    for (i, best) in best.iter_mut().enumerate() {
        if let Some(jump) = discontinuity(&levels, i, values[i]) {
            *best = jump;
        }
    }
    Ok(best)
}

/// The slopes of a function that jumps at the point, by the smallest step: they grow as the steps shrink.
fn discontinuity(levels: &[StepSamples], i: usize, value: f64) -> Option<Estimate> {
    let [.., a, b, c] = levels else { return None };
    if !(a.is_finite(i) && b.is_finite(i) && c.is_finite(i)) {
        return None;
    }
    let far = |level: &StepSamples| {
        let (right, left) = level.sides(i, value);
        right.abs().max(left.abs())
    };
    let noise = c.noise(i, value);
    let jumps = far(c) > 0.9 * far(b) && far(b) > 0.9 * far(a) && far(c) / c.h > 1e3 * noise;
    let (right, left) = c.sides(i, value);
    jumps.then(|| Estimate { left: left / c.h, right: right / c.h, error: noise })
}

/// What some steps tell of a function.
#[derive(Clone, Copy)]
struct Limits {
    /// The derivative, and by how much that of the right is larger.
    derivative: f64,
    jump: f64,
    /// Their errors.
    error: f64,
    jump_error: f64,
    /// The part of them that is due to rounding.
    noise: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        let [unknown, infinite] = [f64::NAN, f64::INFINITY];
        Limits {
            derivative: unknown,
            jump: unknown,
            error: infinite,
            jump_error: infinite,
            noise: infinite,
        }
    }
}

impl Limits {
    /// Of function `i`, from these steps; those before the last one without a value do not count.
    fn of(window: &[StepSamples], i: usize, value: f64) -> Limits {
        let from = window.iter().rposition(|l| !l.is_finite(i)).map_or(0, |last| last + 1);
        let Some(last) = window[from..].last() else { return Limits::default() };
        let noise = last.noise(i, value);
        let sides = || window[from..].iter().map(|l| (l.sides(i, value), l.h));
        let central: Vec<f64> = sides().map(|((r, l), h)| r / h / 2.0 + l / h / 2.0).collect();
        let jumps: Vec<f64> = sides().map(|((r, l), h)| (r - l) / h / 2.0).collect();
        let (derivative, error) = extrapolated(&central, RATIO * RATIO);
        let (jump, jump_error) = extrapolated(&jumps, RATIO);
        Limits { derivative, jump, error: error + noise, jump_error: jump_error + noise, noise }
    }

    /// The estimate, if larger steps told that before: once may be an accident.
    fn estimate(&self, before: &Limits, expected: f64) -> Estimate {
        let error = self.error + (self.derivative - before.derivative).abs();
        let jump_error = self.jump_error + (self.jump - before.jump).abs();
        let scale = expected.abs().max(self.derivative.abs());
        let jump = match self.jump.abs() > (SIDES * scale).max(DOUBT * jump_error) {
            true => self.jump,
            false => 0.0,
        };
        // A function that is flat so far away that it is not itself has jumps that grow: they count.
        let error = error + jump_error;
        Estimate {
            left: self.derivative - jump,
            right: self.derivative + jump,
            error: if error.is_nan() { f64::INFINITY } else { error },
        }
    }
}

/// The limit of a sequence whose error loses a factor `ratio`, `ratio²`, … from term to term, and the
/// estimated error.
fn extrapolated(sequence: &[f64], ratio: f64) -> (f64, f64) {
    let Some(last) = sequence.last() else { return (f64::NAN, f64::INFINITY) };
    let mut best = (*last, f64::INFINITY);
    let mut column = sequence.to_vec();
    let mut factor = ratio;
    while column.len() > 1 {
        let next: Vec<f64> =
            column.windows(2).map(|w| w[1] + (w[1] - w[0]) / (factor - 1.0)).collect();
        let (new, old) = (next[next.len() - 1], column[column.len() - 1]);
        let error = (new - old).abs();
        if error < best.1 {
            best = (new, error);
        }
        column = next;
        factor *= ratio;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{differences, Estimate, Sample};

    fn of(f: impl Fn(f64) -> f64, expected: f64) -> Estimate {
        let mut at = |t: f64| {
            let y = f(t);
            let sample = Sample { values: vec![y], largest: y.abs(), moved: 0.0 };
            Ok::<_, String>((!y.is_nan()).then_some(sample))
        };
        differences(&[f(0.0)], &[expected], &[(0.1, 1e-9)], &mut at).expect("no step fails")[0]
    }

    #[test]
    fn smooth_functions() {
        for (f, derivative) in [
            ((|t| (1.0 + t).exp()) as fn(f64) -> f64, 1f64.exp()),
            (|t| (3.0 * t + 0.5).sin(), 3.0 * 0.5f64.cos()),
            (|t| 1.0 / (0.2 + t), -25.0),
            // Another function further away than 0.01.
            (|t| if t.abs() > 0.01 { 7.0 } else { t * t + t }, 1.0),
            // Undefined further away than 0.05.
            (|t| (0.05 - t).ln() + (0.05 + t).ln() + t, 1.0),
            // All but flat except near the point.
            (|t| (-((t + 5e-5) / 1e-4).powi(2)).exp(), -7788.007830714049),
            (|_| 3.0, 0.0),
        ] {
            let e = of(f, derivative);
            assert!(
                e.distance(derivative) <= 1e-8 * derivative.abs().max(1.0),
                "{e:?} {derivative}"
            );
        }
    }

    #[test]
    fn kinks_have_two_sides() {
        let e = of(f64::abs, 0.0);
        assert!((e.left + 1.0).abs() < 1e-9 && (e.right - 1.0).abs() < 1e-9, "{e:?}");
        let e = of(|t| t.max(2.0 * t) + t.sin(), 1.0);
        assert!((e.left - 2.0).abs() < 1e-7 && (e.right - 3.0).abs() < 1e-7, "{e:?}");
    }

    #[test]
    fn jumps_and_undefined_functions_agree_with_nothing() {
        let e = of(|t| if t < 0.0 { 0.0 } else { 1.0 }, 0.0);
        assert!(e.distance(0.0) > 1e3 * e.error, "{e:?}");
        assert!(of(|t| t.powf(1.5), 0.0).distance(0.0).is_nan());
    }
}
