//! Where calls run.

use crate::embed::Program;
use crate::{Kinks, Options};

#[test]
fn calls_run_as_machine_code() {
    let text = "def f(x: Real) -> Real = grad(fn y -> sum([sin(x * y * real(i)) for i < 10]))(x)";
    let program = Program::from_text("p.deo", text).expect("a program");
    let operations = |kinks| {
        let options = Options { kinks, ..Options::default() };
        let f = program.function_with("f", options).expect("a function");
        for i in 0..100 {
            f.call::<f64>(f64::from(i)).expect("a value");
        }
        let operations = f.machine.borrow().operations();
        operations
    };
    assert_eq!(operations(Kinks::Ignore), 0);
    // Whoever looks for kinks stays on the evaluator.
    assert!(operations(Kinks::Warn) > 1000);
}
