//! Allocations are bounded: of repeated calls by their results, of a session by the prelude.

use diffeo::{Program, Session, Value};
use diffeo_memory::{allocated_by_thread, Counting};

/// Counts allocations, those of each thread by themselves.
#[global_allocator]
static MEMORY: Counting = Counting;

#[test]
fn repeated_calls_allocate_nothing_but_results() {
    let text = "
def scalar(x: Real, k: Int, up: Bool) -> Real = if up then sin(x) ^ k else x
def dotted(xs: [n]Real, ys: [n]Real, p: {a: Real}) -> Real = p.a * sum([xs[i] * ys[i] for i < n])
def scaled(xs: [n]Real, a: Real) -> [n]Real = [a * x for x in xs]
";
    let program = Program::from_text("p.deo", text).expect("a program");
    let xs: Vec<f64> = (0..100).map(f64::from).collect();
    let vector = || Value::from(&xs[..]);
    let scalar = Value::Tuple(vec![0.5.into(), Value::Int(3), Value::Bool(true)]);
    let dotted = Value::Tuple(vec![vector(), vector(), Value::record([("a", 2.0.into())])]);
    let scaled = Value::Tuple(vec![vector(), 2.0.into()]);
    // The elements of an array, and its one size.
    let array = 100 * 8 + size_of::<usize>();
    for (name, argument, result) in
        [("scalar", &scalar, 0), ("dotted", &dotted, 0), ("scaled", &scaled, array)]
    {
        let f = program.function(name).expect("a function");
        let gradient = (result == 0).then(|| f.value_and_grad(&[0]).expect("a gradient"));
        // The first calls compile, and make what later ones use again.
        for _ in 0..3 {
            f.evaluate(argument).expect("a value");
        }
        let before = allocated_by_thread();
        for _ in 0..1000 {
            f.evaluate(argument).expect("a value");
        }
        let bytes = allocated_by_thread() - before;
        assert_eq!(bytes, 1000 * result, "{name}");
        assert!(gradient.is_none_or(|gradient| gradient.evaluate(argument).is_ok()));
    }
    // The argument of a call may be a number of Rust.
    let one = Program::from_text("p.deo", "def f(x: Real) -> Real = x * x").expect("a program");
    let f = one.function("f").expect("a function");
    f.call::<f64>(1.0).expect("a value");
    let before = allocated_by_thread();
    let sum: f64 = (0..1000).map(|i| f.call::<f64>(f64::from(i)).expect("a value")).sum();
    assert_eq!((sum, allocated_by_thread() - before), (332_833_500.0, 0));
}

/// What a session allocates to check a program.
fn checking(text: &str) -> usize {
    let before = allocated_by_thread();
    let mut session = Session::new();
    session.load_text("p.deo", text);
    session.check();
    allocated_by_thread() - before
}

#[test]
fn a_session_reads_the_prelude_alone() {
    let known = "def f(x: Maybe[Real]) -> Real = case x of { Just(y) -> y | Nothing -> 0.0 }";
    let first = checking(known);
    // The help for a name that means nothing reads the whole library, once in a process.
    let unknown =
        checking("def f(x: Maybe[Real]) -> Real = case x of { Just(y) -> y | Nothin -> 0.0 }");
    let again = checking(known);
    println!("{first} {unknown} {again}");
    assert!(first < again + again / 10, "{first} and {again} bytes");
    assert!(unknown > 2 * again, "{unknown} and {again} bytes");
}
