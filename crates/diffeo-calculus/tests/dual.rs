//! Dual numbers: the wrapper F of every program is the evaluator's `jvp`.

mod support;

use diffeo_calculus::ad::{dual, System, Workspace};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;
use support::programs::{of_operation, DECLARED, OPERATIONS, PROGRAMS};
use support::translated::{assert_close, call, named, program, value};

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
    // primal_T (D⃗{e} s) = e (primal_S s): the translation has the values of the program.
    let id = w.translated(&System::Forward, named(&program, "f"));
    assert!(id.0 as usize >= program.globals.len());
}

#[test]
fn every_program() {
    for (name, text) in PROGRAMS.iter().chain(DECLARED) {
        agrees(name, text);
    }
}

#[test]
fn every_operation() {
    for operation in OPERATIONS {
        agrees(operation.0, &of_operation(*operation));
    }
}
