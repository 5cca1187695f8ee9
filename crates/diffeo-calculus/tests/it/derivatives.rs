//! Derivative terms in the machine: nested, in deep recursion, in long loops, through function values.

use crate::support::*;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, Machine, Options};
use diffeo_calculus::prim::{DiffOp, Prim};
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

fn real_to_real() -> Ty {
    Ty::fun(Ty::Real, Ty::Real)
}

/// The most memory that the process ever had, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).unwrap_or(0) / 1024
}

#[test]
fn nested_derivatives_are_not_confused() {
    // rd(fn x -> x * rd(fn y -> x + y, 1.0, 1.0), 1.0, 1.0)
    let inner = |x: Term| grad(Ty::Real, lam(Ty::Real, |y| add(x, y)), real(1.0));
    let first = grad(Ty::Real, lam(Ty::Real, |x| mul(x.clone(), inner(x))), real(1.0));
    assert_eq!(show(Ty::Real, first), "1.0");
    // let f(x) = rd(fn y -> x + y, 1.0, 1.0) in rd(fn x -> x + f(x), 1.0, 1.0)
    let second = let_(real_to_real(), lam(Ty::Real, inner), |f| {
        grad(Ty::Real, lam(Ty::Real, |x| add(x.clone(), app(f, x))), real(1.0))
    });
    assert_eq!(show(Ty::Real, second), "1.0");
    // The second derivative of x³ at 2.
    let cube = lam(Ty::Real, |x| mul(x.clone(), mul(x.clone(), x)));
    let slope = lam(Ty::Real, |x| grad(Ty::Real, cube, x));
    assert_eq!(show(Ty::Real, grad(Ty::Real, slope, real(2.0))), "12.0");
}

#[test]
fn doubling_is_linear_in_the_steps() {
    let doubled =
        |n: i64| lam(Ty::Real, move |x| loop_(Ty::Real, x, int(n), |y, _| add(y.clone(), y)));
    let shown = show(Ty::Real, grad(Ty::Real, doubled(60), real(1.0)));
    assert_eq!(shown, "1.152921504606847e18");
    let count = |n| operations(vec![("main", Ty::Real, grad(Ty::Real, doubled(n), real(1.0)))]);
    assert!(count(600) < 11 * count(60));
}

#[test]
fn gradients_of_a_million_steps_fit_in_memory() {
    // A loop …
    let f = lam(Ty::Real, |x| {
        loop_(Ty::Real, x, int(1_000_000), |y, _| add(y.clone(), mul(y, real(1e-6))))
    });
    // (1 + 10⁻⁶)^(10⁶)
    assert!(show(Ty::Real, grad(Ty::Real, f, real(0.5))).starts_with("2.71828"));
    // … and a recursion.
    let deep = lam_of(&[Ty::Int, Ty::Real], |v| {
        let rest = app(
            global(0),
            tuple(&[Ty::Int, Ty::Real], vec![isub(v[0].clone(), int(1)), v[1].clone()]),
        );
        if_(ieq(v[0].clone(), int(0)), real(0.0), add(v[1].clone(), rest))
    });
    let ty = Ty::fun(tuple_ty(&[Ty::Int, Ty::Real]), Ty::Real);
    let f = lam(Ty::Real, |x| app(global(0), tuple(&[Ty::Int, Ty::Real], vec![int(1_000_000), x])));
    let main = grad(Ty::Real, f, real(0.5));
    assert_eq!(show_in(vec![("deep", ty, deep)], Ty::Real, main), "1000000.0");
    assert!(peak() < 1024, "{} MiB", peak());
}

#[test]
fn derivatives_inside_deep_recursion() {
    // f(n) = if n == 0 then 0 else rd(fn x -> x * x, 1, 1) + f(n - 1), and rd around each call.
    let square = || lam(Ty::Real, |x| mul(x.clone(), x));
    let f = lam(Ty::Int, |n| {
        let rest = app(global(0), isub(n.clone(), int(1)));
        if_(ieq(n, int(0)), real(0.0), add(grad(Ty::Real, square(), real(1.0)), rest))
    });
    let ty = Ty::fun(Ty::Int, Ty::Real);
    let definitions = vec![("f", ty, f)];
    assert_eq!(show_in(definitions, Ty::Real, app(global(0), int(100_000))), "200000.0");
    let arg = [Ty::Int, Ty::Real];
    let nested = lam_of(&arg, |v| {
        let rest =
            lam(Ty::Real, |y| app(global(0), tuple(&arg, vec![isub(v[0].clone(), int(1)), y])));
        let checkpointed =
            diff(DiffOp::Checkpoint, Ty::Real, Ty::Real, vec![rest, add(v[1].clone(), real(1.0))]);
        if_(ieq(v[0].clone(), int(0)), v[1].clone(), checkpointed)
    });
    let ty = Ty::fun(tuple_ty(&arg), Ty::Real);
    let call = |n: i64, x: Term| app(global(0), tuple(&arg, vec![int(n), x]));
    let definitions = || vec![("f", ty.clone(), nested.clone())];
    // Where nothing is differentiated, these are calls like others.
    assert_eq!(show_in(definitions(), Ty::Real, call(1_000_000, real(0.0))), "1000000.0");
    let slope = grad(Ty::Real, lam(Ty::Real, |x| mul(x.clone(), call(200, x))), real(0.5));
    assert_eq!(show_in(definitions(), Ty::Real, slope), "201.0");
}

#[test]
fn functions_that_operators_call_take_tuples_apart() {
    let arg = [Ty::Real, reals_ty()];
    let ty = tuple_ty(&arg);
    let f = lam_of(&arg, |v| mul(v[0].clone(), sum(Ty::Real, v[1].clone())));
    let row = array(Ty::Real, vec![real(1.0), real(2.0)]);
    let point = tuple(&arg, vec![real(3.0), row]);
    assert_eq!(show(ty.clone(), grad(ty, f, point)), "(3.0, [3.0, 3.0])");
}

#[test]
fn pullbacks_are_functions() {
    let pullback = real_to_real();
    let pair = tuple_ty(&[Ty::Real, pullback.clone()]);
    let square = || lam(Ty::Real, |x| mul(x.clone(), x));
    let both = || diff(DiffOp::Vjp, Ty::Real, Ty::Real, vec![square(), real(3.0)]);
    let applied = let_(pair.clone(), both(), |both| {
        let_(pullback.clone(), proj(&pair, 1, both.clone()), |back| {
            add(proj(&pair, 0, both), add(app(back.clone(), real(1.0)), app(back, real(10.0))))
        })
    });
    assert_eq!(show(Ty::Real, applied), "75.0");
    // In tail position, and called by an operator.
    let tail = lam(Ty::Real, |ct| app(proj(&pair, 1, both()), ct));
    assert_eq!(
        show_in(vec![("f", real_to_real(), tail)], Ty::Real, app(global(0), real(2.0))),
        "12.0"
    );
    let linear = grad(Ty::Real, proj(&pair, 1, both()), real(5.0));
    assert_eq!(show(Ty::Real, linear), "6.0");
}

#[test]
fn polytypic_operations_are_differentiated() {
    let ty = reals_ty();
    let f = lam(ty.clone(), |xs| {
        let twice = prim(Prim::Scale(reals_ty()), vec![real(2.0), xs.clone()]);
        let shifted = prim(Prim::Sub(reals_ty()), vec![twice, xs.clone()]);
        prim(Prim::Inner(reals_ty()), vec![shifted, xs])
    });
    let xs = array(Ty::Real, vec![real(1.0), real(-2.0)]);
    assert_eq!(show(ty.clone(), grad(ty, f, xs)), "[2.0, -4.0]");
}

#[test]
fn errors_inside_derivatives_have_the_whole_trace() {
    let inner = lam(Ty::Real, |x| {
        let bad = at(1, index(Ty::Real, array(Ty::Real, vec![x]), int(3)));
        add(real(1.0), bad)
    });
    let outer = lam(Ty::Real, |x| add(real(1.0), at(2, grad(Ty::Real, global(0), x))));
    let main = add(real(1.0), at(3, app(global(1), real(1.0))));
    let program = program(vec![
        ("inner", real_to_real(), inner),
        ("outer", real_to_real(), outer),
        ("main", Ty::Real, main),
    ]);
    let mut machine = machine(&program);
    for _ in 0..2 {
        let error = machine.eval_global(GlobalId(2)).expect_err("an index out of bounds");
        assert!(matches!(error.kind, ErrorKind::IndexOutOfBounds { index: 3, length: 1 }));
        assert_eq!(error.span, place(1));
        let trace: Vec<_> = error.trace.iter().map(|(name, span)| (&**name, *span)).collect();
        assert_eq!(trace, [("inner", place(2)), ("outer", place(3))]);
    }
}

#[test]
fn kinks_are_reported() {
    let f =
        || lam(Ty::Real, |x| if_(at(1, lt(x.clone(), real(1.0))), x.clone(), mul(x.clone(), x)));
    let main = |point: f64| vec![("main", Ty::Real, grad(Ty::Real, f(), real(point)))];
    let definitions = program(main(1.0));
    let error = machine_with(&definitions, Kinks::Error).eval_global(GlobalId(0));
    let error = error.expect_err("a kink");
    assert!(matches!(error.kind, ErrorKind::Kink { .. }), "{error:?}");
    assert_eq!(error.span, place(1));
    let (warnings, events) = diffeo_calculus::eval::warnings();
    let options = Options { kinks: Kinks::Warn, events, ..Options::default() };
    let value = Machine::new(definitions, options).eval_global(GlobalId(0)).expect("a value");
    assert!(matches!(value, Value::Real(x) if x == 2.0));
    let warnings = warnings.take();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].span, place(1));
    let smooth = program(main(2.0));
    let value = machine_with(&smooth, Kinks::Error).eval_global(GlobalId(0)).expect("a value");
    assert!(matches!(value, Value::Real(x) if x == 4.0));
}
