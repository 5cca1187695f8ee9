//! The corpus as StableHLO, with its values, for `python/tests/test_xla.py`, which compiles it; and why the rest has no form.

use crate::support::{corpus, loaded, root};
use diffeo::pipeline;
use diffeo::{Engine, Options};
use diffeo_array::value::FlatValue;
use diffeo_lower::{LowerOptions, Nan};
use diffeo_xla::{Precision, Reason};
use std::collections::BTreeMap;

/// The numbers of a value, in order.
fn numbers(values: &[FlatValue]) -> Vec<f64> {
    let mut all = Vec::new();
    for value in values {
        match value {
            FlatValue::Real(x) => all.push(*x),
            FlatValue::Int(n) => all.push(*n as f64),
            FlatValue::Bool(b) => all.push(f64::from(u8::from(*b))),
            FlatValue::Array(array) => {
                let elements: Vec<FlatValue> =
                    (0..array.count()).map(|i| array.element(i)).collect();
                all.extend(numbers(&elements));
            }
            _ => {}
        }
    }
    all
}

/// The word of a reason.
fn word(reason: &Reason) -> &'static str {
    match reason {
        Reason::Recursion(_) => "recursion",
        Reason::Size => "sizes that data decide",
        Reason::Grows => "arrays that grow",
        Reason::Ragged => "rows of different sizes",
        Reason::Boxes => "boxes",
        Reason::Texts => "texts",
        Reason::Prints => "prints",
        Reason::Stacks => "stacks",
        Reason::Nested => "nested",
        Reason::Long => "long",
        Reason::Operation(name) => name,
    }
}

/// Why an entry has no form in XLA.
fn refused(text: &str) -> String {
    let (mut session, module) = loaded(text);
    let entry =
        session.entry(module, "f").unwrap_or_else(|| panic!("{:.2000?}", session.diagnostics()));
    session
        .stablehlo(&entry, &[], Precision::F64)
        .expect_err("XLA has no form for it")
        .message
        .to_string()
}

/// XLA takes hours for these, or ends the process.
#[test]
fn deep_and_long_programs_are_refused() {
    let chain: String =
        (0..2900).map(|i| format!("if x < {i}.5 then sin(x + {i}.0) else ")).collect();
    let deep = refused(&format!("def f({{x}}: {{x: Real}}) -> Real = {chain}x\n"));
    assert_eq!(deep, "branches or loops that are nested hundreds deep have no form in XLA");
    let doubled = "(loop (y, n) = (last(x), 0) while n < 2 do (y * last(y + 1.0), n + 1)).0";
    let mut text = "def f0(x: Real) -> Real = sin(x)\n".to_string();
    for i in 1..30 {
        let body = doubled.replace("last", &format!("f{}", i - 1));
        text += &format!("def f{i}(x: Real) -> Real = {body}\n");
    }
    let long = refused(&format!("{text}def f({{x}}: {{x: Real}}) -> Real = f29(x)\n"));
    assert_eq!(long, "a program of a million statements has no form in XLA");
}

#[test]
#[ignore = "writes a file for python/tests/test_xla.py"]
fn stablehlo_of_the_corpus() {
    let to = std::env::var("DIFFEO_XLA").expect("the file to write is in DIFFEO_XLA");
    let (mut lowered, mut refused, mut lines) = (0, BTreeMap::<&str, usize>::new(), String::new());
    for case in corpus().into_iter().filter(|case| case.kinks.is_none()) {
        let (mut session, module) = loaded(&case.text);
        let has_main = session.definitions(module).iter().any(|name| *name == "main");
        if session.has_errors() || !has_main {
            continue;
        }
        let Some(entry) = session.entry(module, "main") else { continue };
        if !entry.interface.fields.is_empty() {
            continue;
        }
        let options = LowerOptions { nan: Nan::Given, regular: true, ..LowerOptions::default() };
        let flat = pipeline::flat_with(&entry.program, entry.global, options, &mut |_| {});
        let Ok(flat) = flat else { continue };
        let made = match diffeo_xla::stablehlo(&flat.module, &[], &[], Precision::F64) {
            Ok(made) => made,
            Err(refusal) => {
                *refused.entry(word(&refusal.reason)).or_default() += 1;
                continue;
            }
        };
        lowered += 1;
        let run = session.run_on(&entry, None, Options::default(), Engine::Reference);
        let value = run.result.as_ref().ok();
        let value = value.map(|v| numbers(&flat.layout.flat(v, &flat.layout.to)));
        let value = value.map(|v| v.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>());
        let code = run.result.as_ref().err().map(|error| error.code);
        let line = serde_json::json!({ "name": case.name, "text": made.text, "code": code, "value": value });
        lines += &format!("{line}\n");
    }
    println!("{lowered} lower; of the others {refused:?}");
    std::fs::write(root().join(to), lines).expect("the file can be written");
}
