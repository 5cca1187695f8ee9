//! Whether rounding decides what a program gives, such as by a comparison of two numbers that are equal but for it.
//!
//! Engines may round differently, so on such a program they may differ by more than rounding.

use crate::compiled::agree::Bounds;
use crate::compiled::targets::{differences, evaluate, TargetProgram};
use crate::fuzzing::generate::{Choices, Random};
use crate::support::loaded;

/// Number of times that the literals are changed.
const TRIES: u64 = 8;

/// Largest relative change of a literal.
const CHANGE: f64 = 1e-14;

/// Whether the evaluator's own result changes by more than the tolerance when each Real literal changes in its last
/// digits. Exponents stay: `x ^ 2.0` has a value at negative x.
pub fn unstable(program: &TargetProgram, bounds: Bounds) -> bool {
    (0..TRIES).any(|seed| {
        let text = changed(&program.text, &mut Random(seed));
        let (mut session, module) = loaded(&text);
        let entry = session.entry(module, "main");
        entry.is_some_and(|entry| {
            let limits = (bounds.evaluator)();
            let ran = evaluate(&session, &entry, program.argument.clone(), limits, bounds.stack);
            match (&program.expected.result, &ran.result) {
                // The places of a message move with the literals before them.
                (Err(a), Err(b)) => a.code != b.code,
                _ => !differences(program, &ran).is_empty(),
            }
        })
    })
}

/// The text with other last digits in each literal.
fn changed(text: &str, random: &mut Random) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, literal) = rest.split_at(start);
        let fits = |i: usize, c: char| {
            c.is_ascii_digit() || c == '.' || c == 'e' || c == '-' && literal[..i].ends_with('e')
        };
        let end =
            literal.char_indices().find(|&(i, c)| !fits(i, c)).map_or(literal.len(), |(i, _)| i);
        let (literal, after) = literal.split_at(end);
        let named = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        let exponent = before.trim_end().ends_with('^');
        out += before;
        match literal.parse::<f64>() {
            Ok(number) if literal.contains('.') && !named && !exponent => {
                let part = random.below(2001) as f64 / 1000.0 - 1.0;
                out += &format!("{:?}", number * (1.0 + CHANGE * part));
            }
            _ => out += literal,
        }
        rest = after;
    }
    out + rest
}

#[test]
fn literals_change_in_their_last_digits() {
    let text = "def main = f1(2.5, 3) + x.0 + 1e-3 + x ^ 2.0 # \"4\"";
    let new = changed(text, &mut Random(1));
    assert_ne!(text, new);
    assert!(crate::support::near(text, &new, 2.0 * CHANGE), "{new}");
    assert!(new.contains("x.0 + 1e-3 + x ^ 2.0"), "{new}");
}

#[test]
fn a_comparison_of_equal_numbers_is_unstable() {
    let unstable = |text| {
        let program = crate::compiled::agree::within(text, None, crate::compiled::agree::UNBOUNDED);
        unstable(&program, crate::compiled::agree::UNBOUNDED)
    };
    assert!(unstable("def main = if 0.1 + 0.2 - 0.3 < 0.0 then 1.0 else 2.0"));
    assert!(!unstable("def main = if 0.1 + 0.2 < 0.4 then 1.0 else 2.0"));
}
