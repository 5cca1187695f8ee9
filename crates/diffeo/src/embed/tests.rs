//! Where calls run.

use crate::embed::Program;
use crate::{Kinks, Options};

/// Each kind of derivative is compiled once, by its first call.
#[test]
fn derivatives_run_as_machine_code() {
    let text = "def f(xs: [n]Real, k: Int) -> Real = sum([sin(x) * real(k) for x in xs])";
    let program = Program::from_text("p.deo", text).expect("a program");
    let compiled = program.function("f").expect("a function");
    let warn = Options { kinks: Kinks::Warn, ..Options::default() };
    let evaluated = program.function_with("f", warn).expect("a function");
    let mut code = None;
    for i in 0..1000 {
        let x = f64::from(i);
        let point = ([x, 2.0], 3);
        let found: (f64, (Vec<f64>, i64)) = compiled.value_and_gradient(point).expect("one");
        let slopes: (f64, f64) = compiled.pushforward(point, ([1.0, 0.5], 0)).expect("one");
        let now = [&compiled.pull, &compiled.push]
            .map(|code| code.get().and_then(Option::as_ref).map(|code| code.as_ptr()));
        assert!(now[0].is_some() && now[1].is_some());
        assert_eq!(*code.get_or_insert(now), now);
        if i % 100 == 0 {
            assert_eq!(Ok(found), evaluated.value_and_gradient(point));
            assert_eq!(Ok(slopes), evaluated.pushforward(point, ([1.0, 0.5], 0)));
        }
    }
    assert_eq!(compiled.machine.borrow().operations(), 0);
    // Whoever looks for kinks stays on the evaluator.
    assert!(evaluated.machine.borrow().operations() > 0);
}

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
