//! The corpus as StableHLO: what has a form, and why the rest has none. `python/tests/test_xla.py` runs the texts.

use crate::support::{corpus, loaded, root};
use diffeo::pipeline;
use diffeo::{Engine, Options};
use diffeo_array::value::FlatValue;
use diffeo_lower::{LowerOptions, Nan};
use diffeo_xla::Reason;
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
        Reason::Operation(name) => name,
    }
}

#[test]
fn the_corpus_lowers_or_says_why_not() {
    let to = std::env::var("DIFFEO_XLA").ok();
    let (mut lowered, mut refused, mut lines) = (0, BTreeMap::<&str, usize>::new(), String::new());
    // Each fourth case, or all that are to be written.
    let step = if to.is_some() || std::env::var_os("DIFFEO_ALL").is_some() { 1 } else { 4 };
    for case in corpus().into_iter().filter(|case| case.kinks.is_none()).step_by(step) {
        let (mut session, module) = loaded(&case.text);
        let has_main = session.definitions(module).iter().any(|name| *name == "main");
        if session.has_errors() || !has_main {
            continue;
        }
        let Some(entry) = session.entry(module, "main") else { continue };
        if !entry.interface.fields.is_empty() {
            continue;
        }
        let options = LowerOptions { nan: Nan::Given, ..LowerOptions::default() };
        let flat = pipeline::flat_with(&entry.program, entry.global, options, &mut |_| {});
        let Ok(flat) = flat else { continue };
        match diffeo_xla::stablehlo(&flat.module, &[], &[]) {
            Err(refusal) => *refused.entry(word(&refusal.reason)).or_default() += 1,
            Ok(made) => {
                lowered += 1;
                if to.is_some() {
                    let run = session.run_on(&entry, None, Options::default(), Engine::Reference);
                    let value = run.result.as_ref().ok();
                    let value = value.map(|v| numbers(&flat.layout.flat(v, &flat.layout.to)));
                    let code = run.result.as_ref().err().map(|error| error.code);
                    let line = serde_json::json!({
                        "name": case.name, "text": made.text, "code": code,
                        "value": value.map(|v| v.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>()),
                    });
                    lines += &format!("{line}\n");
                }
            }
        }
    }
    println!("{lowered} lower; of the others {refused:?}");
    if let Some(to) = to {
        std::fs::write(root().join(to), lines).expect("the file can be written");
    }
    assert!(lowered > 700 / step, "{lowered} lower; of the others {refused:?}");
}
