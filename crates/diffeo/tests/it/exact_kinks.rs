//! Derivatives along directions at kinks, against a computation that shares nothing with the evaluator: random programs are
//! evaluated with polynomials in infinitesimals, exactly and without truncation, at the point moved along the directions.
//!
//! The point is `x + τ₁d₁ + τ₂d₂ + …`, with τ₁ ≫ τ₂ ≫ … and all products of two smaller than every single one: what
//! `x + ε(d₁ + δd₂ + δ²d₃ + …)` is for ε ≪ δ ≪ 1. Around it a program is smooth, and its gradient there, of which the part
//! without infinitesimals is taken, is one of a piece of the function: it lies in the hull of the gradients of all pieces.

mod infinitesimal;
mod programs;

use crate::support::run_on;
use diffeo::{Engine, Kinks};
use infinitesimal::Number;
use programs::{Generator, Program};

/// So many programs stand in one module.
const TOGETHER: usize = 25;

/// The numbers that `main` prints.
fn numbers(text: &str, kinks: Kinks) -> Result<Vec<f64>, String> {
    let (_, _, outcome) = run_on(text, kinks, Engine::Reference);
    let value = outcome.value.ok_or_else(|| format!("{:?}\n{text}", outcome.diagnostics))?;
    let words = value.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    Ok(words.filter(|w| !w.is_empty()).map(|w| w.parse().expect("a number")).collect())
}

/// A module whose `main` gives a list of these expressions, with what the programs call.
fn module(of: &[String]) -> String {
    format!("{}\ndef main = [{}]\n", programs::LIBRARY, of.join(",\n  "))
}

/// Compares gradients of so many programs and of sums of neighbours; says in how many something was undecided.
fn compare(count: usize, seed: u64) -> usize {
    let mut generator = Generator::new(seed);
    let (mut done, mut undecided) = (0, 0);
    while done < count {
        let mut calls = Vec::new();
        let mut expected: Vec<i64> = Vec::new();
        let mut smooth = true;
        let mut before: Option<(Program, Vec<i64>)> = None;
        while calls.len() < TOGETHER {
            let inputs = before.as_ref().map_or(0, |(p, _)| p.inputs());
            let program = generator.program(inputs);
            let Some((gradient, met)) = program.gradient() else { continue };
            undecided += usize::from(met);
            smooth &= !met;
            calls.push(program.call("grad_along"));
            expected.extend(&gradient);
            // The sum rule, along the same directions.
            before = match before.take() {
                Some((first, slope)) => {
                    let second = program.along(&first);
                    let Some((gradient, met)) = second.gradient() else { continue };
                    smooth &= !met;
                    calls.push(first.plus(&second).call("grad_along"));
                    expected.extend(slope.iter().zip(&gradient).map(|(a, b)| a + b));
                    None
                }
                None => Some((program, gradient)),
            };
        }
        done += calls.len();
        let text = module(&calls);
        let found = numbers(&text, Kinks::Ignore).unwrap_or_else(|error| panic!("{error}"));
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(*found, *expected as f64, "number {i} of {expected:?} in\n{text}");
        }
        assert_eq!(found.len(), expected.len(), "{text}");
        if smooth {
            let plain = text.replace("grad_along(", "grad_by_values(");
            assert_eq!(numbers(&plain, Kinks::Ignore).as_ref(), Ok(&found), "{plain}");
        }
    }
    undecided
}

#[test]
fn gradients_are_those_beside_the_kink() {
    let undecided = compare(1_000, 1);
    assert!(undecided > 300, "{undecided} of 1000");
}

#[test]
#[ignore = "takes minutes"]
fn many_gradients_are_those_beside_the_kink() {
    let undecided = compare(100_000, 2);
    println!("{undecided} of 100000 undecided by values");
    assert!(undecided > 30_000, "{undecided}");
}

/// Second derivatives: those beside the kink, or the message that the gradient jumps, where it does.
fn compare_second(count: usize, seed: u64) -> [usize; 2] {
    let mut generator = Generator::new(seed);
    let (mut found, mut jumps, mut tried) = (0, 0, 0);
    while tried < count {
        let program = generator.program(2).without_directions();
        let Some(hessian) = program.hessian(&[1, 1]) else { continue };
        tried += 1;
        let text = module(&[program.call_hessian()]);
        match numbers(&text, Kinks::Exact) {
            Ok(numbers) => {
                let expected: Vec<f64> = hessian.iter().map(|x| *x as f64).collect();
                assert_eq!(numbers, expected, "{text}");
                found += 1;
            }
            Err(error) => {
                assert!(error.contains("\"jump\""), "{error}");
                let gradient = |signs: &[i64; 2]| program.turned(signs).gradient().map(|g| g.0);
                let sides = [[1, 1], [-1, -1], [1, -1], [-1, 1]].map(|signs| gradient(&signs));
                let same = sides.iter().all(|side| *side == sides[0]);
                assert!(!same, "no jump of the gradient:\n{error}");
                jumps += 1;
            }
        }
    }
    [found, jumps]
}

#[test]
fn second_derivatives_are_those_beside_the_kink() {
    let [found, jumps] = compare_second(200, 3);
    assert!(found > 80 && jumps > 10, "{found} found, {jumps} jumps");
}

#[test]
#[ignore = "takes minutes"]
fn many_second_derivatives_are_those_beside_the_kink() {
    println!("found and jumps: {:?}", compare_second(5_000, 4));
}

/// Taylor coefficients of order 2 are those of the piece beside the kink, whether the derivative jumps or not.
#[test]
fn taylor_coefficients_are_those_beside_the_kink() {
    let mut generator = Generator::new(5);
    let mut tried = 0;
    while tried < 200 {
        let program = generator.program(1).without_directions();
        let Some(hessian) = program.hessian(&[1]) else { continue };
        let Some((gradient, _)) = program.gradient() else { continue };
        tried += 1;
        let text = module(&[program.call_taylor()]);
        let found = numbers(&text, Kinks::Exact).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found[1..], [gradient[0] as f64, hessian[0] as f64], "{text}");
    }
}

/// The ordered numbers themselves: τ₁ is larger than τ₂, and both than their products.
#[test]
fn infinitesimals_are_ordered() {
    let t = |i| Number::moved(0, &[(i, 1)], &[]);
    let larger = |a: &Number, b: &Number| assert_eq!(b.order(a), std::cmp::Ordering::Less);
    let product = t(0).times(&t(0)).expect("small");
    larger(&Number::constant(1), &t(0).times(&Number::constant(1_000_000)).expect("small"));
    larger(&t(0), &t(1).times(&Number::constant(1_000_000)).expect("small"));
    larger(&t(1), &product.times(&Number::constant(1_000_000)).expect("small"));
    larger(&product, &t(0).times(&t(1)).expect("small"));
}
