//! What holds of generated programs, and what they are like.

use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::MOST_OPERATIONS;
use crate::theorems::harness::{
    apply_main, check, close_values, counterexample, derivative, machine, reals, CaseFailure,
};
use diffeo_calculus::eval::Kinks;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::{alpha_eq_programs, lint, parse, print};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const PRESETS: [(&str, Features); 7] = [
    ("core", Features::CORE),
    ("paper_003", Features::paper_003()),
    ("paper_002", Features::paper_002()),
    ("paper_004", Features::paper_004()),
    ("no derivatives", Features::no_derivatives()),
    ("all", Features::all()),
    ("partial", Features::all().and_partial()),
];

#[test]
fn generated_programs_lint_print_and_have_values() {
    for (name, features) in PRESETS {
        check(name, features, 2_000, |case| {
            let violations = lint(&case.program);
            if !violations.is_empty() {
                return Err(violations.join("\n").into());
            }
            let text = print(&case.program);
            let read = parse(&text).map_err(|error| error.to_string())?;
            if !alpha_eq_programs(&case.program, &read) || print(&read) != text {
                return Err(format!("it reads back as\n{}", print(&read)).into());
            }
            let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
            match (apply_main(&mut machine, case, case.point.clone()), case.stops) {
                (Ok(value), None) => close_values(&value, &case.value, 0.0),
                (Err(error), Some(code)) if error.kind.code() == code => Ok(()),
                (Ok(_), Some(code)) => Err(format!("it stopped with {code} before").into()),
                (Err(error), _) => Err(error.into()),
            }
        });
    }
}

/// The words of a program that are not names or numbers: what forms and operations it has.
fn forms(text: &str) -> (BTreeSet<String>, usize) {
    const KEYWORDS: [&str; 14] = [
        "fn", "let", "letrec", "if", "case", "build", "loop", "for", "while", "tuple", "proj",
        "con", "array", "else",
    ];
    let mut found = BTreeSet::new();
    let mut size = 0;
    let words = text.split(|c: char| !(c.is_alphanumeric() || "#@._".contains(c)));
    for word in words.filter(|word| !word.is_empty()) {
        let form = match word.strip_prefix('@') {
            Some(_) => "@",
            None => word,
        };
        if KEYWORDS.contains(&form) || form.starts_with('#') || form == "@" {
            found.insert(form.to_string());
            size += 1;
        }
    }
    (found, size)
}

#[derive(Default)]
struct Statistics {
    cases: usize,
    forms: BTreeMap<String, usize>,
    size: usize,
    operations: u64,
    /// Cases whose derivative is not all zeros.
    varying: usize,
    stopped: usize,
}

#[test]
fn generated_programs_are_interesting() {
    for (name, features) in PRESETS {
        let all = RefCell::new(Statistics::default());
        check(name, features, 2_000, |case| statistics(case, &mut all.borrow_mut()));
        let all = all.into_inner();
        let share = |n: usize| 100 * n / all.cases;
        let of = |form: &str| share(all.forms.get(form).copied().unwrap_or(0));
        println!(
            "{name}: forms {}, operations {}, derivative not zero {} %, stopped {} %",
            all.size / all.cases,
            all.operations / all.cases as u64,
            share(all.varying),
            share(all.stopped)
        );
        let shares: Vec<String> =
            all.forms.keys().map(|form| format!("{form} {}", of(form))).collect();
        println!("  {}", shares.join(", "));
        assert!(all.size / all.cases >= 20, "{name}: programs are small");
        let varying = if features.partial { 40 } else { 55 };
        assert!(share(all.varying) >= varying, "{name}: derivatives are zero");
        let at_least = |condition: bool, forms: &[&str], percent: usize| {
            for form in forms.iter().filter(|_| condition) {
                assert!(of(form) >= percent, "{name}: {form} is in {} % of the programs", of(form));
            }
        };
        at_least(true, &["let", "tuple", "#real.mul", "#real.sin"], 30);
        at_least(features.recursion || features.lists, &["letrec"], 10);
        at_least(features.conditionals, &["if"], 20);
        at_least(features.variants, &["case", "con"], 15);
        at_least(features.arrays, &["array", "build", "#index"], 10);
        at_least(features.loops, &["for", "while"], 5);
        at_least(features.rd, &["#rd"], 10);
        at_least(features.derivatives, &["#vjp", "#jvp", "#checkpoint", "#with_derivative"], 4);
        at_least(features.derivatives, &["#jet"], 1);
        at_least(features.effects, &["#trace", "#progress"], 1);
        let none = |condition: bool, forms: &[&str]| {
            for form in forms.iter().filter(|_| condition) {
                assert!(!all.forms.contains_key(*form), "{name}: there is {form}");
            }
        };
        none(!features.recursion && !features.lists, &["letrec"]);
        none(!features.conditionals && !features.arrays && !features.recursion, &["if", "#lt"]);
        none(!features.variants && !features.lists, &["case", "con"]);
        none(!features.arrays, &["build", "#index", "#length"]);
        none(!features.loops, &["loop"]);
        none(!features.rd, &["#rd"]);
        none(!features.derivatives, &["#vjp", "#jvp", "#checkpoint", "#with_derivative", "#jet"]);
        none(!features.stop_gradient, &["#stop_gradient"]);
        none(!features.polytypic, &["#add", "#scale", "#inner", "#ravel", "#zero_of"]);
        none(!features.leaves, &["#to_real", "#show", "#pow_int"]);
        none(!features.kinky, &["#real.abs", "#real.max", "#real.rem"]);
        none(!features.special, &["#real.tanh", "#real.pow"]);
        none(!features.globals, &["@"]);
        none(!features.partial, &["#fail"]);
    }
}

fn statistics(case: &TheoremCase, all: &mut Statistics) -> Result<(), CaseFailure> {
    let (forms, size) = forms(&print(&case.program));
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    let result = apply_main(&mut machine, case, case.point.clone());
    all.operations += machine.operations();
    if result.is_ok() {
        let args = [case.point.clone(), case.cotangent.clone()];
        let gradient = derivative(&mut machine, case, DiffOp::Rd, args)?;
        all.varying += usize::from(reals(&gradient).iter().any(|x| *x != 0.0));
    }
    all.cases += 1;
    all.stopped += usize::from(case.stops.is_some());
    all.size += size;
    for form in forms {
        *all.forms.entry(form).or_insert(0) += 1;
    }
    Ok(())
}

#[test]
fn counterexamples_are_small() {
    let with = |all: &'static [&'static str]| {
        let property = move |case: &TheoremCase| {
            let text = print(&case.program);
            match all.iter().all(|form| text.contains(form)) {
                true => Err(CaseFailure::Wrong(format!("it has {all:?}"))),
                false => Ok(()),
            }
        };
        let name = all.join(" ");
        let (case, _) = counterexample(&name, Features::all(), 5_000, property).expect("one");
        let (_, size) = forms(&print(&case.program));
        assert!(size <= 15 * all.len(), "{name}: {size} forms in\n{case}");
    };
    with(&["#vjp"]);
    with(&["#jet"]);
    with(&["#real.erf"]);
    with(&["letrec", "#index"]);
    with(&["while", "#jvp"]);
    with(&["#update", "#checkpoint"]);
    with(&["Tree", "#rd", "for"]);
}
