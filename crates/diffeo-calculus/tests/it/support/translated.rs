//! What the tests of the translations have in common: programs by their names, comparison of values.

use super::machine;
use diffeo_calculus::eval::Machine;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, Program};
use std::rc::Rc;

/// The program of a text, which lints.
pub fn program(name: &str, text: &str) -> Rc<Program> {
    let program = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(lint(&program), Vec::<String>::new(), "{name}");
    Rc::new(program)
}

/// The definition with this name.
pub fn named(program: &Program, name: &str) -> GlobalId {
    let position = program.globals.iter().position(|g| *g.name == *name);
    GlobalId(position.unwrap_or_else(|| panic!("no {name}")) as u32)
}

/// The value of the definition with this name.
pub fn value(machine: &mut Machine, program: &Program, name: &str) -> Value {
    machine.eval_global(named(program, name)).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// What a translated function gives.
pub fn call(name: &str, program: &Rc<Program>, function: GlobalId, arg: Value) -> Value {
    let errors = lint(program);
    assert!(
        errors.is_empty(),
        "{name}: {}\n{}",
        errors.join("\n"),
        diffeo_calculus::print(program)
    );
    let mut machine = machine(program);
    let f = machine.eval_global(function).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    machine.apply(&f, arg).unwrap_or_else(|error| {
        panic!("{name}: {}: {} {:?}", error.kind.code(), error.kind.message(), error.trace)
    })
}

/// Fails if two values are not the same up to this error, relative to numbers above 1.
pub fn assert_close(what: &str, got: &Value, expected: &Value, tolerance: f64) {
    if let Some(difference) = difference(got, expected, tolerance) {
        panic!("{what}: {difference}\ngot      {got:?}\nexpected {expected:?}");
    }
}

fn difference(got: &Value, expected: &Value, tolerance: f64) -> Option<String> {
    let all = |xs: Vec<Value>, ys: Vec<Value>| {
        if xs.len() != ys.len() {
            return Some(format!("{} and {} parts", xs.len(), ys.len()));
        }
        xs.iter().zip(&ys).find_map(|(x, y)| difference(x, y, tolerance))
    };
    match (got, expected) {
        (Value::Real(x), Value::Real(y)) => {
            let close = x == y
                || (x.is_nan() && y.is_nan())
                || (x - y).is_finite()
                    && (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0);
            (!close).then(|| format!("{x:?} is not {y:?}"))
        }
        (Value::Unit, Value::Unit) => None,
        (Value::Int(x), Value::Int(y)) => (x != y).then(|| format!("{x} is not {y}")),
        (Value::Bool(x), Value::Bool(y)) => (x != y).then(|| format!("{x} is not {y}")),
        (Value::String(x), Value::String(y)) => (x != y).then(|| format!("{x} is not {y}")),
        (Value::Array(x), Value::Array(y)) => all(x.iter().collect(), y.iter().collect()),
        (Value::Tuple(x), Value::Tuple(y)) => all(x.0.to_vec(), y.0.to_vec()),
        (Value::Data(x), Value::Data(y)) if x.tag == y.tag => {
            all(x.fields.to_vec(), y.fields.to_vec())
        }
        _ => Some("different kinds".to_string()),
    }
}
