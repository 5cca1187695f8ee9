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
/// The most steps that are tried.
const STEPS: usize = 24;
/// The steps that are extrapolated together.
const WINDOW: usize = 5;
/// A derivative is known well enough with this error, relative to its scale.
const ENOUGH: f64 = 1e-8;
/// Sides that differ by less than this, relative to the scale, are taken to agree.
const SIDES: f64 = 1e-7;

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
}

/// The values at a step and at its opposite.
struct Level {
    h: f64,
    up: Vec<f64>,
    down: Vec<f64>,
}

/// The derivatives at 0 of functions with these values there. `at(t)` gives their values at t, none
/// where the program stops; steps go from `first` down to about `last`, until each derivative is known.
pub fn differences<E>(
    values: &[f64],
    scales: &[f64],
    (first, last): (f64, f64),
    at: &mut dyn FnMut(f64) -> Result<Option<Vec<f64>>, E>,
) -> Result<Vec<Estimate>, E> {
    let unknown = Estimate { left: f64::NAN, right: f64::NAN, error: f64::INFINITY };
    let mut best = vec![unknown; values.len()];
    let mut last_limits = vec![Limits::default(); values.len()];
    let mut levels: Vec<Level> = Vec::new();
    let mut h = first;
    for _ in 0..STEPS {
        if let (Some(up), Some(down)) = (at(h)?, at(-h)?) {
            if up.len() == values.len() && down.len() == values.len() {
                levels.push(Level { h, up, down });
                let window = &levels[levels.len().saturating_sub(WINDOW)..];
                for (i, best) in best.iter_mut().enumerate() {
                    let limits = Limits::of(window, i, values[i]);
                    let found = limits.estimate(&last_limits[i], scales[i]);
                    last_limits[i] = limits;
                    if found.error < best.error {
                        *best = found;
                    }
                }
                if best.iter().zip(scales).all(|(e, scale)| e.error <= ENOUGH * scale) {
                    break;
                }
            }
        }
        h /= RATIO;
        if h < last {
            break;
        }
    }
    Ok(best)
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
}

impl Default for Limits {
    fn default() -> Limits {
        let [unknown, infinite] = [f64::NAN, f64::INFINITY];
        Limits { derivative: unknown, jump: unknown, error: infinite, jump_error: infinite }
    }
}

impl Limits {
    /// Of function `i`, from these steps.
    fn of(window: &[Level], i: usize, value: f64) -> Limits {
        let half = |l: &Level, sum: f64| sum / (2.0 * l.h);
        let central: Vec<f64> = window.iter().map(|l| half(l, l.up[i] - l.down[i])).collect();
        let jumps: Vec<f64> =
            window.iter().map(|l| half(l, (l.up[i] - value) + (l.down[i] - value))).collect();
        let noise = window.last().map_or(f64::INFINITY, |l| {
            2.0 * f64::EPSILON * value.abs().max(l.up[i].abs()).max(l.down[i].abs()) / l.h
        });
        let (derivative, error) = extrapolated(&central, RATIO * RATIO);
        let (jump, jump_error) = extrapolated(&jumps, RATIO);
        Limits { derivative, jump, error: error + noise, jump_error: jump_error + noise }
    }

    /// The estimate, if larger steps told that before: once may be an accident.
    fn estimate(&self, before: &Limits, scale: f64) -> Estimate {
        let error = self.error + (self.derivative - before.derivative).abs();
        let jump_error = self.jump_error + (self.jump - before.jump).abs();
        let jump = match self.jump.abs() > (SIDES * scale).max(10.0 * jump_error) {
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
            column.windows(2).map(|w| (factor * w[1] - w[0]) / (factor - 1.0)).collect();
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
    use super::{differences, Estimate};

    fn of(f: impl Fn(f64) -> f64, scale: f64) -> Estimate {
        let mut at = |t: f64| {
            let y = f(t);
            Ok::<_, String>((!y.is_nan()).then(|| vec![y]))
        };
        differences(&[f(0.0)], &[scale], (0.1, 1e-7), &mut at).expect("no step fails")[0]
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
            let e = of(f, f64::max(derivative.abs(), 1.0));
            assert!(
                e.distance(derivative) <= 1e-8 * derivative.abs().max(1.0),
                "{e:?} {derivative}"
            );
        }
    }

    #[test]
    fn kinks_have_two_sides() {
        let e = of(f64::abs, 1.0);
        assert!((e.left + 1.0).abs() < 1e-9 && (e.right - 1.0).abs() < 1e-9, "{e:?}");
        let e = of(|t| t.max(2.0 * t) + t.sin(), 1.0);
        assert!((e.left - 2.0).abs() < 1e-7 && (e.right - 3.0).abs() < 1e-7, "{e:?}");
    }

    #[test]
    fn jumps_and_undefined_functions_agree_with_nothing() {
        let e = of(|t| if t < 0.0 { 0.0 } else { 1.0 }, 1.0);
        assert!(e.distance(0.0) > 1e-3 || e.error > 1e-3, "{e:?}");
        assert!(of(|t| t.powf(1.5), 1.0).distance(0.0).is_nan());
    }
}
