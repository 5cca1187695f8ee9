//! The cases of `tests/lang` on every engine: the same values, messages with places and open calls, and lines, and
//! no memory is left.
//!
//! `DIFFEO_CASE=name` runs the cases with this in their names, `DIFFEO_TARGET=jit` one engine, and
//! `DIFFEO_TELL=1` tells which case is next.

use crate::agree::{agree, Source, UNBOUNDED};
use crate::support::{corpus, Case};

/// How many programs a C compiler gets at a time.
const FILE: usize = 32;

/// At least so many cases have a `main` that takes no derivatives.
const LEAST: usize = 700;

/// In at most so many runs a derivative is nan, or might be, so that the evaluator takes over.
const MOST_NAN: usize = 95;

/// And in at most so many of them it is not, for the evaluator.
const MOST_NAN_ON_ENGINES: usize = 25;

/// Their steps, which they print or name in a message, depend on the last digits.
const ITERATES: &[&str] = &[
    "MGH17",
    "Rosenbrock's valley in twenty dimensions",
    "a badly conditioned quadratic",
    "Powell's singular function, whose Hessian vanishes at the minimum",
    "a minimum at zero whose Hessian vanishes",
];

#[test]
fn the_corpus_gives_what_the_evaluator_gives() {
    let only = std::env::var("DIFFEO_CASE").ok();
    let wanted = |case: &Case| {
        case.kinks.is_none() && only.as_ref().is_none_or(|name| case.name.contains(name))
    };
    let cases: Vec<Case> = corpus().into_iter().filter(wanted).collect();
    let make = |batch: usize| {
        let source = |case: &Case| Source {
            place: format!("{}:{} {}", case.file.display(), case.line, case.name),
            text: case.text.clone(),
            tolerance: if case.near.is_some() { 1e-9 } else { 1e-12 },
            scaled: false,
            lines: !ITERATES.contains(&case.name.as_str()),
        };
        cases.iter().skip(batch * FILE).take(FILE).map(source).collect()
    };
    let report = agree(cases.len().div_ceil(FILE), &make, UNBOUNDED, &|_| {});
    println!("{} cases: {:?}", cases.len(), report.labels);
    let failures = &report.failures;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let stopped: usize = ["refused", "parameters", "derivative"].map(|l| report.of(l)).iter().sum();
    let ran = report.labels.values().sum::<usize>() - stopped;
    // On each engine.
    assert!(report.of("nan") <= MOST_NAN, "{} derivatives are nan", report.of("nan"));
    let false_alarms = report.of("nan on an engine only");
    assert!(
        false_alarms <= MOST_NAN_ON_ENGINES,
        "{false_alarms} derivatives are nan on engines only"
    );
    assert!(only.is_some() || ran >= LEAST, "{ran} cases were run");
}
