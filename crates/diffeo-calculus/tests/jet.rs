//! The (k,R)-Taylor macro: its translation of every program, called with jets, is the evaluator's `jet`;
//! the paper's examples as they are printed; its theorems about terms.

mod support;

use diffeo_calculus::ad::jet::canonical;
use diffeo_calculus::ad::Workspace;
use diffeo_calculus::eval::derivative::{jet_coefficients, with_derivatives};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;
use support::programs::{of_operation, OPERATIONS, PROGRAMS};
use support::translated::{assert_close, call, named, program, value};

/// A jet of some numbers at a point: derivatives that differ from Real to Real and from α to α.
fn jet_at(point: &Value, k: u32, r: u32) -> Value {
    let count = jet_coefficients(k.into(), r.into()) as usize;
    let mut seed = 0.5f64;
    let jet = with_derivatives(point, count, &mut |x| {
        let mut next = || {
            seed = (seed * 7.3 + 0.619).fract();
            1.6 * seed - 0.8
        };
        std::iter::once(x).chain((1..count).map(|_| next())).collect()
    });
    jet.expect("a jet")
}

fn agrees(name: &str, text: &str, (k, r): (u32, u32), tolerance: f64) {
    let name = format!("({k},{r}) of {name}");
    let program = program(&name, text);
    let mut machine = support::machine(&program);
    let f = value(&mut machine, &program, "f");
    let point = value(&mut machine, &program, "point");
    let jet = jet_at(&point, k, r);
    let expected = machine.derivative(DiffOp::Jet { k, r }, vec![f, jet.clone()]).expect("a jet");
    let mut w = Workspace::new(&program);
    let wrapper = canonical::wrapper(&mut w, named(&program, "f"), k, r);
    let translated = w.program();
    assert_eq!(w.refusals(), [], "{name}");
    let got = call(&name, &translated, wrapper, jet);
    assert_close(&name, &got, &expected, tolerance);
}

#[test]
fn every_program() {
    for (k, r) in [(0, 2), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (3, 3), (1, 8)] {
        for (name, text) in PROGRAMS {
            agrees(name, text, (k, r), 1e-9);
        }
    }
}

#[test]
fn every_operation() {
    for (k, r) in [(1, 1), (3, 1), (1, 2), (2, 2), (3, 3), (1, 8)] {
        for operation in OPERATIONS {
            agrees(operation.0, &of_operation(*operation), (k, r), 1e-9);
        }
    }
}
