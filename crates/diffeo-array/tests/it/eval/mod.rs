//! The evaluator on programs written as text.

mod costs;
mod errors;
mod values;

use diffeo_array::ir::Module;
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, parse, print, FlatEvaluator};
use diffeo_calculus::eval::{Options, RuntimeError};
use std::sync::Arc;

/// A module that lints and reads back.
fn module(text: &str) -> Arc<Module> {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new());
    let printed = print(&module);
    let parsed = parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    // As text, because nan is unequal to itself.
    assert_eq!(format!("{parsed:?}"), format!("{module:?}"), "{printed}");
    Arc::new(module)
}

fn run(text: &str, args: Vec<FlatValue>) -> Result<Vec<FlatValue>, RuntimeError> {
    FlatEvaluator::new(module(text), Options::default()).run(args)
}

/// The results of a function `main` with this head and body.
fn results(head: &str, body: &str, args: Vec<FlatValue>) -> Vec<FlatValue> {
    let text = format!("entry main fn main{head} {{ {body} }}");
    run(&text, args).unwrap_or_else(|e| panic!("{:?}\n{text}", e.kind))
}
