//! Every pass on random modules: what comes out lints, and gives the same values, the same errors at the same
//! places, and the same lines. (But for `tail`, which leaves calls out of traces, as the evaluator of Core does.)

use diffeo_array::ir::Module;
use diffeo_array::opt::{tail, PASSES};
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, print, FlatEvaluator};
use diffeo_array_generate::{program, Features, GeneratedProgram};
use diffeo_calculus::eval::{Limits, Options};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What a program gives: its values, or its error with its place and the open calls; what it prints; how many
/// operations it takes.
fn outcome(module: &Module, program: &GeneratedProgram) -> (String, Vec<String>, u64) {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let told = lines.clone();
    let options = Options {
        events: Box::new(move |event| told.borrow_mut().push(format!("{event:?}"))),
        limits: Limits::after(Duration::from_secs(10)),
        ..Options::default()
    };
    let mut evaluator = FlatEvaluator::new(Arc::new(module.clone()), options);
    let result = match evaluator.run(program.args.clone()) {
        Ok(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Err(e) => format!("{} at {:?} {:?} {:?}", e.kind.message(), e.span, e.function, e.trace),
    };
    let operations = evaluator.operations();
    drop(evaluator);
    let lines = lines.borrow().clone();
    (result, lines, operations)
}

/// A value as text: what is in it, not how it lies in memory.
fn shown(value: &FlatValue) -> String {
    match value {
        FlatValue::Array(array) => {
            let elements: Vec<String> =
                (0..array.count()).map(|i| shown(&array.element(i))).collect();
            format!("{:?}{elements:?}", array.sizes())
        }
        FlatValue::Box(object) => {
            let fields: Vec<String> = object.fields.iter().map(shown).collect();
            format!("{}{fields:?}", object.tag)
        }
        FlatValue::Real(_)
        | FlatValue::Int(_)
        | FlatValue::Bool(_)
        | FlatValue::Text(_)
        | FlatValue::Null => {
            format!("{value:?}")
        }
        FlatValue::Acc(_) | FlatValue::Stack(_) => "mutable".to_string(),
    }
}

fn choices() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..400)
}

fn check(
    name: &str,
    before: &Module,
    after: &Module,
    program: &GeneratedProgram,
) -> Result<u64, TestCaseError> {
    prop_assert_eq!(
        lint(after),
        Vec::<String>::new(),
        "{}\n{}\n{}",
        name,
        print(before),
        print(after)
    );
    let (result, lines, _) = outcome(before, program);
    let (new_result, new_lines, operations) = outcome(after, program);
    prop_assert_eq!(&result, &new_result, "{}\n{}\n{}", name, print(before), print(after));
    prop_assert_eq!(lines, new_lines, "{}\n{}\n{}", name, print(before), print(after));
    Ok(operations)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_passes_in_their_order_keep_the_meaning(choices in choices()) {
        let program = program(&choices, Features::default());
        let mut module = tail(program.module.clone());
        let mut operations = 0;
        for pass in PASSES.iter().filter(|pass| pass.name != "tail") {
            let after = (pass.run)(module.clone());
            operations = check(pass.name, &module, &after, &program)?;
            module = after;
        }
        let first = outcome(&program.module, &program).2;
        prop_assert!(operations <= first + first / 2 + 100, "{} to {}\n{}\n{}", first, operations,
            print(&program.module), print(&module));
    }

    #[test]
    fn each_pass_alone_keeps_the_meaning(choices in choices()) {
        let program = program(&choices, Features::default());
        for pass in PASSES.iter().filter(|pass| !pass.name.contains('.') && pass.name != "tail") {
            let after = (pass.run)(program.module.clone());
            check(pass.name, &program.module, &after, &program)?;
        }
    }
}
