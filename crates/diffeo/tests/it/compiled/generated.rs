//! Programs by chance on every engine: changed ones of the corpus, and generated ones with every form.
//!
//! `FUZZ_SEED=n FUZZ_PROGRAMS=m` choose the programs.

use crate::compiled::agree::{agree, Bounds, Report, SourceProgram};
use crate::compiled::corpus::ITERATES;
use crate::fuzzing::generate::{
    for_derivatives, for_engines, for_patterns, for_variants, Choices, Random,
};
use crate::fuzzing::mutate::mutate;
use crate::support::{corpus, Case};
use diffeo::{Limits, MemoryLimit};
use diffeo_array::ir::{Block, Module, Op};
use diffeo_memory::in_use;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// What the last digits of a program's numbers are for it.
#[derive(Clone, Copy, PartialEq)]
enum Digits {
    /// No more than that.
    Minor,
    /// What it does depends on them: how many steps it takes, and all digits of its numbers.
    Matter,
}

/// Rounding decides what it says, if it is changed.
const ROUNDING: &str = "a minimum whose Hessian is rounding";

/// How many programs a C compiler gets at a time.
const FILE: usize = 32;

/// A program may run this long on the evaluator …
const TIME: Duration = Duration::from_millis(200);
/// … and this long on an engine, on any machine.
const HANG: Duration = Duration::from_secs(20);
/// It may use this much memory beyond what is in use.
const BYTES: usize = 400 << 20;

fn limits(time: Duration) -> Limits {
    let memory = MemoryLimit { bytes: in_use() + BYTES, in_use };
    Limits { memory: Some(memory), ..Limits::after(time) }
}

/// How much memory a program takes depends on the engine.
const BOUNDED: Bounds = Bounds {
    evaluator: || limits(TIME),
    engines: || limits(HANG),
    // Less than they may take: it is outside of what the limits count.
    stack: 64 << 20,
    left_out: &["timeout", "out-of-memory", "too-deep"],
    ignored: &["out-of-memory", "too-deep"],
    rounded: true,
};

/// The number that an environment variable names, or another one.
fn chosen(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Programs number `first` and following.
fn check(
    first: usize,
    count: usize,
    scaled: bool,
    make: impl Fn(&mut Random) -> (String, Digits) + Sync,
    see: &(dyn Fn(&Module) + Sync),
) -> Report {
    let first = chosen("FUZZ_SEED", first);
    let batch = |batch: usize| {
        let source = |i: usize| {
            let (text, last) = make(&mut Random((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            if std::env::var_os("FUZZ_SHOW").is_some() {
                println!("{i}:\n{text}");
            }
            let place = format!("program {i}\n{text}");
            let tolerance = if last == Digits::Matter { f64::INFINITY } else { 1e-9 };
            SourceProgram {
                place,
                text,
                tolerance,
                scaled,
                lines: !scaled && last == Digits::Minor,
            }
        };
        let end = (first + count).min(first + (batch + 1) * FILE);
        (first + batch * FILE..end).map(source).collect()
    };
    let report = agree(count.div_ceil(FILE), &batch, BOUNDED, see);
    println!("{count} programs from {first}: {:?}", report.labels);
    let failures = &report.failures;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    report
}

fn changed(first: usize, count: usize) {
    let decided = |case: &Case| ROUNDING == case.name || ITERATES.contains(&case.name.as_str());
    let cases = corpus().into_iter().filter(|case| !decided(case));
    let texts: Vec<String> = cases.map(|case| case.text).collect();
    let count = chosen("FUZZ_PROGRAMS", count);
    let make = |random: &mut Random| {
        let (a, b) = (random.below(texts.len()), random.below(texts.len()));
        let text = mutate(random, &texts[a], &texts[b]);
        // When they are changed, fits are often badly conditioned, and eigenvalues equal.
        let matter = ["optim", "eigh"].iter().any(|name| text.contains(name));
        (text, if matter { Digits::Matter } else { Digits::Minor })
    };
    let report = check(first, count, false, make, &|_| {});
    assert!(report.of("value") > count / 20, "{:?}", report.labels);
}

/// How often each operation occurs.
type Counts = BTreeMap<String, usize>;

fn count(counts: &mut Counts, block: &Block) {
    for stmt in &block.stmts {
        let text = format!("{:?}", stmt.op);
        let name: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
        // What is checked, and why it stops, are the next words.
        let next = text[name.len()..].trim_start_matches(['(', ' ']);
        let next: String = next.chars().take_while(|c| c.is_alphanumeric()).collect();
        let name = match stmt.op {
            Op::Check(_) | Op::Stop(_) | Op::Int(..) | Op::Real(..) => format!("{name} {next}"),
            _ => name,
        };
        *counts.entry(name).or_insert(0) += 1;
        diffeo_array::ir::walk::regions(&stmt.op, |region| count(counts, region));
    }
}

fn generated(first: usize, programs: usize) -> Counts {
    let programs = chosen("FUZZ_PROGRAMS", programs);
    let counts = Mutex::new(Counts::new());
    let see = |module: &Module| {
        let mut counts = counts.lock().expect("no panic");
        module.functions.iter().for_each(|function| count(&mut counts, &function.body));
    };
    let make = |random: &mut Random| {
        let fuel = 4 + random.below(160);
        (for_engines(random, fuel), Digits::Minor)
    };
    let report = check(first, programs, false, make, &see);
    let of = |label| report.of(label);
    assert!(of("value") > programs / 2, "{:?}", report.labels);
    assert!(of("refused") <= programs / 20, "{:?}", report.labels);
    counts.into_inner().expect("no panic")
}

/// Programs with derivative operators within each other.
fn derived(first: usize, programs: usize, generate: fn(&mut dyn Choices, usize) -> String) {
    let programs = chosen("FUZZ_PROGRAMS", programs);
    let make = |random: &mut Random| {
        let fuel = 4 + random.below(60);
        (generate(random, fuel), Digits::Minor)
    };
    let report = check(first, programs, true, make, &|_| {});
    let of = |label| report.of(label);
    assert!(of("value") > programs / 2, "{:?}", report.labels);
    let unstable = report.left.get("unstable");
    assert!(unstable.is_none_or(|places| places.len() <= 1 + programs / 1000), "{unstable:?}");
    assert!(of("refused") <= programs / 20, "{:?}", report.labels);
}

#[test]
fn generated_derivatives() {
    derived(0, 200, for_derivatives);
}

#[test]
#[ignore = "takes minutes"]
fn many_generated_derivatives() {
    derived(1_000_000, 10_000, for_derivatives);
}

#[test]
fn generated_variants() {
    derived(0, 200, for_variants);
}

#[test]
#[ignore = "takes minutes"]
fn many_generated_variants() {
    derived(1_000_000, 10_000, for_variants);
}

fn patterns(first: usize, programs: usize) {
    let programs = chosen("FUZZ_PROGRAMS", programs);
    let make = |random: &mut Random| {
        let fuel = 4 + random.below(60);
        (for_patterns(random, fuel, 3), Digits::Minor)
    };
    let report = check(first, programs, true, make, &|_| {});
    assert!(report.of("value") > programs / 2, "{:?}", report.labels);
}

#[test]
fn generated_patterns() {
    patterns(0, 6);
}

#[test]
#[ignore = "takes minutes"]
fn many_generated_patterns() {
    patterns(1_000_000, 10_000);
}

#[test]
fn changed_programs_of_the_corpus() {
    changed(0, 320);
}

#[test]
fn generated_programs() {
    let counts = generated(0, 320);
    println!("{counts:?}");
}

#[test]
#[ignore = "takes minutes"]
fn many_changed_programs_of_the_corpus() {
    changed(1_000_000, 10_000);
}

#[test]
#[ignore = "takes minutes"]
fn many_generated_programs() {
    generated(1_000_000, 10_000);
}
