//! Dual numbers: the wrapper F of every program is the evaluator's `jvp`.

use crate::support;
use crate::support::programs::{
    of_operation, DECLARED, FALSE_RULES, OPERATIONS, OWN_FUNCTION, PROGRAMS,
};
use crate::support::translated::{assert_close, call, named, program, value};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;
use diffeo_papers::{dual, Workspace};

fn agrees(name: &str, text: &str) {
    let program = program(name, text);
    let mut machine = support::machine(&program);
    let f = value(&mut machine, &program, "f");
    let point = value(&mut machine, &program, "point");
    let tangent = value(&mut machine, &program, "tangent");
    let args = vec![f, point.clone(), tangent.clone()];
    let expected = machine.derivative(DiffOp::Jvp, args).expect("a derivative");
    let mut w = Workspace::new(&program);
    let wrapper = dual::wrapper(&mut w, named(&program, "f"));
    let translated = w.program();
    assert_eq!(w.refusals(), [], "{name}");
    let got = call(name, &translated, wrapper, Value::tuple([point.clone(), tangent]));
    assert_close(name, &got, &expected.fields()[1], 1e-12);
}

#[test]
fn every_program() {
    for (name, text) in PROGRAMS.iter().chain(DECLARED).chain(FALSE_RULES).chain([&OWN_FUNCTION]) {
        agrees(name, text);
    }
}

#[test]
fn what_is_translated_is_translated_again() {
    // F{F{f}} is the evaluator's jvp of F{f}.
    for (name, text) in PROGRAMS.iter().chain(DECLARED).chain([&OWN_FUNCTION]) {
        let program = program(name, text);
        let mut w = Workspace::new(&program);
        let once = dual::wrapper(&mut w, named(&program, "f"));
        w.program();
        let twice = dual::wrapper(&mut w, once);
        let translated = w.program();
        assert_eq!(w.refusals(), [], "{name}");
        let mut machine = support::machine(&translated);
        let f = machine.eval_global(once).expect("a function");
        let point = value(&mut machine, &program, "point");
        let tangent = value(&mut machine, &program, "tangent");
        let pair = Value::tuple([point.clone(), tangent.clone()]);
        let other = Value::tuple([tangent, point]);
        let args = vec![f, pair.clone(), other.clone()];
        let expected = machine.derivative(DiffOp::Jvp, args).expect("a derivative");
        let got = call(name, &translated, twice, Value::tuple([pair, other]));
        assert_close(name, &got, &expected.fields()[1], 1e-12);
    }
}

#[test]
fn every_operation() {
    for operation in OPERATIONS {
        agrees(operation.0, &of_operation(*operation));
    }
}
