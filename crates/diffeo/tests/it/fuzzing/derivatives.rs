//! What holds of the derivatives of every function: all modes agree.

#[path = "modes.rs"]
pub mod modes;

use diffeo::Options;
use diffeo_calculus::value::Value;
use modes::{direction, function, numbers, within, MODES, SECOND};

/// What came of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// First and second derivatives agree.
    Agree,
    /// They agree, and the first ones are zero.
    Zero,
    /// The program stops, or a number is not finite.
    NoNumbers,
    /// The derivatives differ, but they change as much when the point is moved by 1e-9: rounding.
    Unstable,
}

/// Compares the derivatives of `f` at a point in every mode, and the second ones in every nesting of two.
/// Panics if they differ.
pub fn derivatives(
    program: &str,
    f: &str,
    point: &str,
    seed: u64,
    options: &dyn Fn() -> Options,
) -> Agreement {
    let mut seed = seed;
    let Some(mut at) = get(program, &format!("(fn () -> {point})"), options) else {
        return Agreement::NoNumbers;
    };
    let Some(mut value) = get(program, f, options) else { return Agreement::NoNumbers };
    let Some(x) = call(&mut at, [Value::Unit]) else { return Agreement::NoNumbers };
    let Some(y) = call(&mut value, [x.clone()]) else { return Agreement::NoNumbers };
    let (v, w) = (direction(&x, &mut seed), direction(&y, &mut seed));
    let mut agreement = Agreement::Agree;
    for (order, template, tolerance) in [(1, MODES, 1e-8), (2, SECOND, 1e-6)] {
        let template = template.replace("FUNCTION", &format!("({f})"));
        let modes = |x: &Value| {
            let mut of = get(program, &template, options)?;
            let all = numbers(&call(&mut of, [x.clone(), v.clone(), w.clone()])?);
            // Where a number is no longer finite, the order of operations shows.
            all.iter().all(|x| x.abs() < 1e100).then_some(all)
        };
        let Some(all) = modes(&x) else { return Agreement::NoNumbers };
        let derivatives = if order == 1 {
            assert_eq!(all[6], all[7], "the value and the first coefficient of its series");
            if all[..6].iter().all(|d| *d == 0.0) {
                agreement = Agreement::Zero;
            }
            &all[..6]
        } else {
            &all[..]
        };
        let largest = all.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
        let apart = |xs: &[f64]| xs.iter().map(|x| (x - xs[0]).abs()).fold(0.0, f64::max);
        if within(apart(derivatives), 0.0, tolerance * largest) {
            continue;
        }
        let mut moved = 0.0f64;
        for _ in 0..4 {
            let nearby = nudge(&x, &mut seed);
            let Some(there) = modes(&nearby) else { return Agreement::Unstable };
            moved = moved.max(
                derivatives.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
            );
        }
        if moved > 0.01 * apart(derivatives) {
            return Agreement::Unstable;
        }
        panic!("the derivatives differ: {all:?}");
    }
    agreement
}

/// A function of a program without errors; none if evaluating it stops.
fn get(
    program: &str,
    text: &str,
    options: &dyn Fn() -> Options,
) -> Option<modes::EvaluatedFunction> {
    stopped(function(program, text, options()))
}

fn call<const N: usize>(f: &mut modes::EvaluatedFunction, args: [Value; N]) -> Option<Value> {
    stopped(f.call(args))
}

fn stopped<T>(result: Result<T, String>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let bug = error.contains("Internal") || error.contains("Diagnostic");
            assert!(!bug, "{error}");
            None
        }
    }
}

/// The value with its Reals moved by about 1e-9.
fn nudge(value: &Value, seed: &mut u64) -> Value {
    let by = direction(value, seed);
    let mut steps = numbers(&by).into_iter();
    diffeo_calculus::leaves::map_leaves(value, &mut |leaf| match leaf {
        Value::Real(x) => {
            let step = steps.next().unwrap_or(0.0);
            Ok::<_, String>(Value::Real(x + 1e-9 * step * x.abs().max(1.0)))
        }
        other => Ok(other.clone()),
    })
    .expect("no step fails")
}
