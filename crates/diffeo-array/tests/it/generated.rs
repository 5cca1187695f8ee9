//! What holds of every module, on random ones.

use crate::mutate;
use diffeo_array::compact::compact;
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, parse, print, print_plain, FlatEvaluator};
use diffeo_array_generate::{program, Features, GeneratedProgram};
use diffeo_calculus::eval::{Limits, Options};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What running a program gives: its results, or the error with its place and the open calls; and what it
/// printed.
fn outcome(program: &GeneratedProgram) -> (Result<Vec<FlatValue>, String>, Vec<String>) {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let told = lines.clone();
    let options = Options {
        events: Box::new(move |event| told.borrow_mut().push(format!("{event:?}"))),
        limits: Limits::after(Duration::from_secs(10)),
        ..Options::default()
    };
    let mut evaluator = FlatEvaluator::new(Arc::new(program.module.clone()), options);
    let result = evaluator.run(program.args.clone());
    let result = result.map_err(|e| {
        format!(
            "{}: {} at {:?} {:?} {:?}",
            e.kind.code(),
            e.kind.message(),
            e.span,
            e.function,
            e.trace
        )
    });
    drop(evaluator);
    let lines = lines.borrow().clone();
    (result, lines)
}

fn choices() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..500)
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn modules_lint_and_read_back(choices in choices()) {
        let mut module = program(&choices, Features::default()).module;
        prop_assert_eq!(lint(&module), Vec::<String>::new());
        let text = print(&module);
        prop_assert!(text.lines().all(|line| line.len() < 140), "{}", text);
        let parsed = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        prop_assert_eq!(print(&parsed), text.clone());
        module.functions.iter_mut().for_each(compact);
        // As text, because nan is unequal to itself.
        prop_assert_eq!(format!("{:?}", parsed), format!("{:?}", module), "{}", text);
        let plain = parse(&print_plain(&module));
        prop_assert_eq!(lint(&plain.unwrap()), Vec::<String>::new());
    }

    #[test]
    fn programs_run_and_do_the_same_again(choices in choices()) {
        let mut program = program(&choices, Features::default());
        let (result, lines) = outcome(&program);
        if let Err(error) = &result {
            prop_assert!(!error.starts_with("internal"), "{}\n{}", error, print(&program.module));
            prop_assert!(!error.starts_with("timeout"), "{}\n{}", error, print(&program.module));
        }
        program.module = parse(&print(&program.module)).unwrap();
        prop_assert_eq!(outcome(&program), (result, lines));
    }

    #[test]
    fn exact_programs_have_dyadic_numbers(choices in choices()) {
        let features = Features { inexact: false, stops: false, ..Features::default() };
        let (result, _) = outcome(&program(&choices, features));
        for value in result.unwrap_or_default() {
            if let FlatValue::Real(x) = value {
                prop_assert!(!x.is_finite() || (x * 1024.0).fract() == 0.0, "{}", x);
            }
        }
    }

    #[test]
    fn wrong_modules_are_found(choices in choices(), mutation: u32) {
        let mut module = program(&choices, Features::default()).module;
        if let Some(what) = mutate::mutate(&mut module, mutation as usize) {
            prop_assert!(!lint(&module).is_empty(), "{}\n{}", what, print(&module));
        }
    }

    #[test]
    fn texts_that_are_no_modules_are_errors(choices in choices(), at: u32, with: char) {
        let text = print(&program(&choices, Features::default()).module);
        let chars: Vec<char> = text.chars().collect();
        let at = at as usize % chars.len();
        let changed: String =
            chars[..at].iter().chain([&with]).chain(&chars[at + 1..]).collect();
        // What is read is a module, which lint may look at and the printer print.
        if let Ok(module) = parse(&changed) {
            lint(&module);
            print(&module);
        }
        let cut: String = chars[..at].iter().collect();
        if let Err(error) = parse(&cut) {
            prop_assert!(error.line <= text.lines().count() + 1);
        }
    }
}

#[test]
fn every_operation_occurs_and_most_programs_end_with_a_result() {
    let mut seed: u64 = 1;
    let mut next = || {
        // Knuth's linear congruential generator.
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as u32
    };
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..1000 {
        let choices: Vec<u32> = (0..500).map(|_| next()).collect();
        let program = program(&choices, Features::default());
        let (result, _) = outcome(&program);
        let end = result.map_or_else(|e| e[..e.find(':').unwrap()].to_string(), |_| "value".into());
        *ends.entry(end).or_default() += 1;
        let text = print(&program.module);
        let split = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        split.for_each(|word| *words.entry(word.to_string()).or_default() += 1);
    }
    for word in [
        "real.add",
        "real.polygamma",
        "pow_int",
        "int.mul",
        "fits.min",
        "lt",
        "not",
        "and",
        "or",
        "select",
        "to_real",
        "floor",
        "is_nan",
        "text",
        "append_text",
        "text.find",
        "text.number",
        "show",
        "check_index",
        "check_slice",
        "check_count",
        "check_size",
        "check_rows",
        "fail",
        "fail_shape",
        "trace",
        "progress",
        "warn",
        "dim",
        "get",
        "slice",
        "update",
        "elements",
        "rows",
        "empty",
        "append",
        "reshape",
        "arg_sort",
        "new",
        "tag",
        "field",
        "if",
        "switch",
        "for",
        "while",
        "build",
        "reduce",
        "call",
        "constant",
        "acc_new",
        "acc_add",
        "acc_add_array",
        "acc_read",
        "acc_take",
        "acc_view",
        "acc_slice",
        "acc_reshape",
        "acc_get",
        "stack_new",
        "push",
        "stack_len",
        "stack_get",
    ] {
        assert!(words.get(word).is_some_and(|count| *count > 10), "{word}: {:?}", words.get(word));
    }
    assert!(ends["value"] > 300, "{ends:?}");
    assert!(ends.len() > 6, "{ends:?}");
}
