//! A bounded run of what `fuzz/` does without end: changed programs of the corpus and generated ones go
//! through the whole language, always the same ones.
//!
//! A longer search: `FUZZ_SEED=1000000 FUZZ_PROGRAMS=100000 cargo test --release -p diffeo --test it fuzz`.
//! If the process dies, `FUZZ_SHOW=1` and `-- --nocapture` show the programs as they come.

use crate::support;

use crate::fuzzing::derivatives::{derivatives, modes::function, Agreement};
use crate::fuzzing::generate::{differentiable, for_patterns, program, Choices, Random};
use crate::fuzzing::mutate::mutate;
use crate::fuzzing::probe::{self, ProbeOutcome};
use diffeo::{Kinks, Limits, MemoryLimit, Options};
use diffeo_calculus::value::Value;
use diffeo_memory::in_use;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// A program may run this long, and use this much memory beyond what is in use.
const TIME: Duration = Duration::from_millis(100);
const BYTES: usize = 400 << 20;

/// No program may take longer than this to be checked and run, on any machine.
const HANG: Duration = Duration::from_secs(20);

fn options(kinks: Kinks) -> Options {
    let memory = MemoryLimit { bytes: in_use() + BYTES, in_use };
    probe::options(kinks, &Limits { memory: Some(memory), ..Limits::default() }, TIME)
}

/// Runs a probe on as many programs as are asked for. What panics or takes too long is gathered, with its
/// program; how often each label came is given.
fn all(
    name: &str,
    count: usize,
    mut make: impl FnMut(&mut Random) -> String,
    mut probe: impl FnMut(&str, u64) -> &'static str,
) -> BTreeMap<&'static str, usize> {
    let variable = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let first = variable("FUZZ_SEED").unwrap_or(0);
    let count = variable("FUZZ_PROGRAMS").unwrap_or(count);
    let show = std::env::var_os("FUZZ_SHOW").is_some();
    let mut labels = BTreeMap::new();
    let mut failures = Vec::new();
    for i in first..first + count {
        let mut random = Random((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = make(&mut random);
        if show {
            println!("{name} {i}:\n{text}");
        }
        let start = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| probe(&text, random.0))) {
            Ok(label) => *labels.entry(label).or_insert(0) += 1,
            Err(payload) => {
                let message = payload
                    .downcast_ref::<String>()
                    .cloned()
                    .or(payload.downcast_ref::<&str>().map(|s| s.to_string()))
                    .unwrap_or_default();
                failures.push(format!("{i}: {message}\n{text}"));
            }
        }
        if start.elapsed() > HANG {
            failures.push(format!("{i}: it takes {:?}\n{text}", start.elapsed()));
        }
        if failures.len() >= 10 {
            break;
        }
    }
    println!("{name}: {count} programs: {labels:?}");
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n\n"));
    labels
}

fn outcome(outcome: &ProbeOutcome) -> &'static str {
    match outcome {
        ProbeOutcome::Value(_) => "value",
        ProbeOutcome::Stopped(code) => code,
        ProbeOutcome::NoEntry => "no entry",
    }
}

#[test]
fn changed_programs_of_the_corpus() {
    let mut texts: Vec<String> = support::corpus().into_iter().map(|c| c.text).collect();
    for file in std::fs::read_dir(support::root().join("examples")).expect("examples").flatten() {
        texts.extend(std::fs::read_to_string(file.path()).ok());
    }
    texts.retain(|text| !text.trim().is_empty());
    let count = 1500;
    let labels = all(
        "changed",
        count,
        |random| {
            let (a, b) = (random.below(texts.len()), random.below(texts.len()));
            mutate(random, &texts[a], &texts[b])
        },
        |text, _| {
            probe::syntax(text);
            match probe::front_end(text) {
                None => "refused",
                Some((mut session, module)) => {
                    outcome(&probe::run(&mut session, module, options(Kinks::Ignore)))
                }
            }
        },
    );
    let of = |label| labels.get(label).copied().unwrap_or(0);
    assert!(labels.values().sum::<usize>() >= count);
    // Enough of them go all the way.
    assert!(of("value") > count / 20, "{labels:?}");
}

#[test]
fn generated_programs() {
    let count = 1000;
    let labels = all(
        "generated",
        count,
        |random| {
            let fuel = 4 + random.below(200);
            program(random, fuel)
        },
        |text, _| {
            probe::syntax(text);
            let Some((mut session, module)) = probe::front_end(text) else {
                panic!("{:?}", session_errors(text));
            };
            let ignored = probe::run(&mut session, module, options(Kinks::Ignore));
            // Reporting kinks changes no value.
            let warned = probe::run(&mut session, module, options(Kinks::Warn));
            let stopped = probe::run(&mut session, module, options(Kinks::Error));
            // The program as the formatter writes it has the same value.
            let formatted = probe::layout(text).expect("a program without errors has a layout");
            let Some((mut session, module)) = probe::front_end(&formatted) else {
                panic!("{:?} in\n{formatted}", session_errors(&formatted));
            };
            let again = probe::run(&mut session, module, options(Kinks::Ignore));
            let bounded = ["timeout", "out-of-memory"].map(ProbeOutcome::Stopped);
            if [&ignored, &warned, &stopped, &again].into_iter().any(|o| bounded.contains(o)) {
                return "bounded";
            }
            assert_eq!(ignored, warned);
            let kink = ["kink", "outside-domain"].map(ProbeOutcome::Stopped).contains(&stopped);
            assert!(kink || stopped == ignored, "{stopped:?} and not {ignored:?}");
            assert!(again == ignored, "{again:?} and not {ignored:?} of\n{formatted}");
            outcome(&ignored)
        },
    );
    let of = |label| labels.get(label).copied().unwrap_or(0);
    assert!(of("value") > count * 8 / 10, "{labels:?}");
}

#[test]
fn derivatives_of_generated_functions() {
    let count = 600;
    let labels = all(
        "derivatives",
        count,
        |random| {
            let fuel = 4 + random.below(200);
            differentiable(random, fuel)
        },
        |text, seed| {
            if probe::front_end(text).is_none() {
                panic!("{:?}", session_errors(text));
            }
            match derivatives(text, "f", "point", seed, &|| options(Kinks::Ignore)) {
                Agreement::Agree => "agree",
                Agreement::Zero => "zero",
                Agreement::NoNumbers => "no numbers",
                Agreement::Unstable => "unstable",
            }
        },
    );
    let of = |label| labels.get(label).copied().unwrap_or(0);
    assert!(of("agree") > count / 2, "{labels:?}");
    assert!(of("unstable") < count / 50, "{labels:?}");
}

#[test]
fn patterns_of_generated_functions() {
    let count = 150;
    let limits = || Limits::after(Duration::from_secs(5));
    let labels = all(
        "patterns",
        count,
        |random| {
            let fuel = 4 + random.below(100);
            for_patterns(random, fuel, 100)
        },
        |text, _| {
            let options = probe::options(Kinks::Ignore, &limits(), Duration::from_secs(5));
            let Ok(mut main) = function(text, "(fn () -> main)", options) else {
                return "stopped";
            };
            match main.call([Value::Unit]) {
                Ok(missed) => {
                    assert!(matches!(missed, Value::Int(0)), "{missed:?} entries are missed")
                }
                Err(error) => {
                    assert!(!error.contains("Internal"), "{error}");
                    return "stopped";
                }
            }
            "none missed"
        },
    );
    let of = |label| labels.get(label).copied().unwrap_or(0);
    assert!(of("none missed") > count * 3 / 5, "{labels:?}");
}

fn session_errors(text: &str) -> Vec<String> {
    let mut session = probe::session();
    session.load_text("program.deo", text);
    session.check();
    let errors = session.diagnostics();
    errors
        .iter()
        .map(|d| {
            let at = session.sources().line_column(d.primary.span);
            format!("{}:{} {}", at.line, at.column, d.message)
        })
        .collect()
}
