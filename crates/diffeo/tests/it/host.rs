//! Programs called from Rust.

use diffeo::{Array, Engine, Function, HostOptions, Kinks, Limits, Program, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROGRAM: &str = "
type Shape = Dot | Circle(Real) | Box(Real, Real)
def answer = 42
def line(a: Real, b: Real) -> Real -> Real = fn x -> a * x + b
def norms(rows: [n][m]Real) -> [n]Real = [norm(row) for row in rows]
def area(shape: Shape) -> Real = case shape of { Dot -> 0.0 | Circle(r) -> pi * r * r | Box(a, b) -> a * b }
def describe(n: Int, flag: Bool, name: String) -> String = show((n, flag, name))
def total(xs: List[Maybe[Real]]) -> Real = fold_left_list(fn (s, x) -> s + from_maybe(0.5, x), 0.0, xs)
def evens(n: Int) -> List[Maybe[Int]] = to_list([if i % 2 == 0 then Just(i) else Nothing for i < n])
def scaled({x, by}: {x: (Real, [n]Real), by: Real}) = {y = (by * x.0, by * x.1), n = 1}
def loss(w: [n]Real, k: Int) -> Real = sum(w * w) * real(k)
def pair(x: Real) -> (Real, Real) = (x * x, sin(x))
def first(x: a) = x
def root(x: Real) -> Real = sqrt(x)
def spin(x: Real) -> Real = spin(x + 1)
def unit() = ()
def at(xs: [n]Real, i: Int) -> Real = xs[i]
";

/// Options by which what a program prints is collected.
fn tracing(kinks: Kinks) -> (Arc<Mutex<Vec<String>>>, HostOptions) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let printed = lines.clone();
    let trace = move |line: &str| printed.lock().expect("no panic").push(line.to_string());
    let trace: Option<diffeo::Lines> = Some(Arc::new(trace));
    (lines, HostOptions { kinks, trace, ..HostOptions::default() })
}

fn program() -> Program {
    Program::from_text("p.deo", PROGRAM).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn functions_take_and_give_values_of_rust() {
    let p = program();
    let f = |name: &str| p.function(name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(p.value::<i64>("answer"), Ok(42));
    assert_eq!(f("norms").call(vec![[3.0, 4.0], [0.0, 2.0]]), Ok(vec![5.0, 2.0]));
    assert_eq!(f("norms").call(Vec::<Vec<f64>>::new()), Ok(Vec::<f64>::new()));
    let text: String = f("describe").call((3, true, "x")).expect("a text");
    assert_eq!(text, "(3, true, \"x\")");
    assert_eq!(f("total").call([Some(1.5), None].as_slice()), Ok(2.0));
    assert_eq!(f("evens").call(3), Ok(vec![Some(0), None, Some(2)]));
    assert_eq!(f("unit").call(()), Ok(()));
    assert_eq!(f("pair").signature(), "Real -> (Real, Real)");
    // Called again and again, also after an error.
    let at = f("at");
    assert_eq!(at.call((&[1.0, 2.0], 1)), Ok(2.0));
    let error = at.call::<f64>((&[1.0, 2.0], 2)).expect_err("an index out of bounds");
    let place = error.messages[0].place.as_ref().expect("a place");
    assert_eq!((error.messages[0].code, place.line, place.column), ("index-out-of-bounds", 17, 39));
    assert_eq!(at.call((&[1.0, 2.0], 0)), Ok(1.0));
}

#[test]
fn any_data_is_a_value() {
    let p = program();
    let area = p.function("area").expect("a function");
    let circle = Value::Variant("Box".into(), vec![2.0.into(), Value::Int(3)]);
    assert_eq!(area.call(circle), Ok(6.0));
    assert_eq!(area.call(Value::Variant("Dot".into(), vec![])), Ok(Value::Real(0.0)));
    let x = Value::Tuple(vec![1.0.into(), vec![2.0, 3.0].into()]);
    let scaled = p.function("scaled").expect("a function");
    let out: Value = scaled.call(Value::record([("by", 10.0.into()), ("x", x)])).expect("a record");
    let y = Value::Tuple(vec![10.0.into(), vec![20.0, 30.0].into()]);
    assert_eq!(out.field("y"), Some(&y));
    assert_eq!(out.field("n"), Some(&Value::Int(1)));
    let evens: Value = p.function("evens").and_then(|f| f.call(1)).expect("a list");
    assert_eq!(evens, Value::Array(vec![Value::Variant("Just".into(), vec![Value::Int(0)])]));
}

#[test]
fn functions_are_differentiated() {
    let p = program();
    let loss = p.function("loss").expect("a function");
    let (value, (dw, k)): (f64, (Vec<f64>, i64)) =
        loss.value_and_grad(&[0, 1]).and_then(|g| g.call((&[1.0, 2.0], 3))).expect("a gradient");
    assert_eq!((value, dw, k), (15.0, vec![6.0, 12.0], 3));
    let pair = p.function("pair").expect("a function");
    let (value, slope): ((f64, f64), (f64, f64)) =
        pair.jvp(&[0]).and_then(|f| f.call((0.0, 1.0))).expect("a slope");
    assert_eq!((value, slope), ((0.0, 0.0), (0.0, 1.0)));
    let (_, back): ((f64, f64), f64) =
        pair.vjp(&[0]).and_then(|f| f.call((3.0, (1.0, 0.0)))).expect("a gradient");
    assert_eq!(back, 6.0);
    let area = p.function("area").expect("a function");
    let gradient: Value = area
        .grad(&[0])
        .and_then(|g| g.call(Value::Variant("Box".into(), vec![2.0.into(), 3.0.into()])))
        .expect("one");
    assert_eq!(gradient, Value::Variant("Box".into(), vec![3.0.into(), 2.0.into()]));
    let error = pair.grad(&[0]).err().expect("not to Real");
    assert!(error.to_string().contains("a gradient needs a function to Real"), "{error}");
    let root = p.function("root").expect("a function");
    let slope = root.grad(&[0]).expect("a derivative");
    assert_eq!(slope.call(0.0), Ok(f64::INFINITY));
    assert!(slope.take_warnings().is_empty());
}

#[test]
fn what_does_not_fit_is_said() {
    let p = program();
    let told = |error: diffeo::Error| error.to_string();
    let norms = p.function("norms").expect("a function");
    let text = told(norms.call::<f64>([[1.0]]).expect_err("no Real"));
    assert!(text.contains("norms: [n][m]Real -> [n]Real") && text.contains("f64"), "{text}");
    let text = told(norms.call::<Vec<f64>>([["x"]]).expect_err("no Reals"));
    assert!(text.contains("at [0][0]: the program has Real, given was a String"), "{text}");
    let text = told(norms.call::<Vec<f64>>(vec![vec![1.0], vec![]]).expect_err("ragged"));
    assert!(text.contains("rows"), "{text}");
    let describe = p.function("describe").expect("a function");
    let text = told(describe.call::<String>((1, 2.0, "x")).expect_err("no Bool"));
    assert!(text.contains("at .1: the program has Bool, given was the Real 2"), "{text}");
    let shape = Value::Variant("Bux".into(), vec![]);
    let text = told(p.function("area").and_then(|f| f.call::<f64>(shape)).expect_err("no shape"));
    assert!(text.contains("the program has Shape, given was `Bux`"), "{text}");
    let line = p.function("line").expect("a function");
    assert!(line.call::<f64>((1.0, 2.0)).is_err());
    assert!(p.function("answer").is_err() && p.value::<f64>("loss").is_err());
    let text = told(p.function("lose").err().expect("unknown"));
    assert!(text.contains("did you mean `loss`"), "{text}");
    let text = told(p.function("first").err().expect("generic"));
    assert!(text.contains("nothing determines all of the type of `first`"), "{text}");
}

#[test]
fn checks_of_programs_are_bounded() {
    let flag = Arc::new(AtomicBool::new(true));
    let limits = Limits { interrupt: Some(flag.clone()), ..Limits::default() };
    let error = Program::from_text_within("p.deo", PROGRAM, &limits).err().expect("it ends");
    assert!(error.is_interrupt(), "{error}");
    assert!(Program::from_file_within("none.deo", &limits).is_err());
    flag.store(false, Ordering::Relaxed);
    assert!(Program::from_text_within("p.deo", PROGRAM, &limits).is_ok());
    let time = Limits::after(Duration::ZERO);
    let error = Program::from_text_within("p.deo", PROGRAM, &time).err().expect("it ends");
    assert_eq!(error.messages[0].code, "timeout");
}

#[test]
fn errors_in_programs_are_data() {
    let error = Program::from_text("p.deo", "def f(x: Int) -> Real = x\ndef g = 1 +\n").err();
    let messages = error.expect("errors").messages;
    let places: Vec<Option<usize>> =
        messages.iter().map(|m| m.place.as_ref().map(|p| p.line)).collect();
    assert_eq!(places, [Some(1), Some(2)]);
    assert!(messages.iter().all(|m| m.severity == "error"));
    let missing = Program::from_file("no/such/file.deo").err().expect("no file");
    assert_eq!(missing.messages[0].code, "unreadable-file");
}

#[test]
fn runs_are_bounded() {
    let options = HostOptions { time: Some(Duration::from_millis(50)), ..HostOptions::default() };
    let spin = program().function_with("spin", options).expect("a function");
    // Compilers take time on a busy machine, and have no place in the program.
    spin.prepare();
    let error = spin.call::<f64>(0.0).expect_err("no end");
    assert_eq!(error.messages[0].code, "timeout");
    assert_eq!(error.messages[0].place.as_ref().map(|p| p.line), Some(15));
}

#[test]
fn what_programs_print_goes_to_one_place() {
    let text = "
def noted = trace(\"noted\", 3.0)
def f(x: Real) -> Real = trace(\"x\", x) * noted
";
    let p = Program::from_text("p.deo", text).expect("a program");
    let (lines, options) = tracing(Kinks::Ignore);
    let f = p.function_with("f", options).expect("a function");
    assert_eq!(f.call(1.0), Ok(3.0));
    assert_eq!(f.call(2.0), Ok(6.0));
    assert_eq!(lines.lock().expect("no panic")[..], ["x: 1.0", "noted: 3.0", "x: 2.0"]);
    assert_eq!(f.grad(&[0]).and_then(|g| g.call(2.0)), Ok(3.0));
    assert!(
        lines.lock().expect("no panic")[3..].contains(&"x: 2.0".to_string()),
        "{:?}",
        lines.lock().expect("no panic")
    );
}

#[test]
fn kinks_are_reported_by_calls() {
    let p = Program::from_text(
        "p.deo",
        "def f(x: Real) -> Real = grad(fn x -> abs(x))(x)\ndef g(x: Real) = abs(x)\n",
    );
    let p = p.expect("a program");
    for (name, code) in [("f", Some("kink")), ("g", None)] {
        let options = HostOptions { kinks: Kinks::Error, ..HostOptions::default() };
        let f = p.function_with(name, options).expect("a function");
        let error = f.call::<f64>(0.0).err();
        assert_eq!(error.map(|error| error.messages[0].code), code, "{name}");
    }
}

#[test]
fn calls_in_machine_code_give_what_the_evaluator_gives() {
    let text =
        "def f(xs: [n]Real, a: Real) -> Real = sum([sin(a * x) / (1.0 + x * x) for x in xs])";
    let p = Program::from_text("p.deo", text).expect("a program");
    let xs: Vec<f64> = (0..100).map(f64::from).collect();
    let values = |kinks| -> Vec<f64> {
        let f = p
            .function_with("f", HostOptions { kinks, ..HostOptions::default() })
            .expect("a function");
        (0..100).map(|i| f.call((&xs[..], f64::from(i) * 0.01)).expect("a value")).collect()
    };
    let two = Program::from_text("two.deo", "def f(x: Real, y: Real) = max(x, y) + min(x, y)")
        .expect("a program");
    let gradient = |kinks| -> (f64, f64) {
        let f = two.function_with("f", HostOptions { kinks, ..HostOptions::default() });
        let slope = f.expect("a function").grad(&[0, 1]).expect("a derivative");
        slope.call((1.0, 1.0)).expect("a gradient")
    };
    assert_eq!((gradient(Kinks::Ignore), gradient(Kinks::Exact)), ((2.0, 0.0), (1.0, 1.0)));
    // Whoever looks for kinks stays on the evaluator.
    let (compiled, evaluated) = (values(Kinks::Ignore), values(Kinks::Warn));
    for (a, b) in evaluated.iter().zip(&compiled) {
        assert!((a - b).abs() <= 1e-12 * a.abs(), "{a} {b}");
    }
}

#[test]
fn derivatives_from_rust_stop_and_warn_as_the_evaluators() {
    let text =
        "def f(x: Real, xs: [n]Real) = trace(\"y\", sqrt(trace(\"x\", x) * x) + xs[floor(x)])
def id(xs: [n]Real) = xs
def swap(xs: List[Maybe[Real]]) = map_list(fn x -> 2.0 * from_maybe(0.5, x), xs)
def both(p: {n: Int, x: Real}) = {y = p.x * real(p.n), z = [p.x, sin(p.x)]}
";
    let p = Program::from_text("p.deo", text).expect("a program");
    let told = |kinks, work: &dyn Fn(&Function) -> (String, Function)| {
        let (lines, options) = tracing(kinks);
        let f = p.function_with("f", options).expect("a function");
        let (result, derivative) = work(&f);
        let mut told = vec![result];
        told.extend(derivative.take_warnings().iter().map(ToString::to_string));
        told.retain(|text| !text.contains("[kink]"));
        told.extend(lines.lock().expect("no panic").drain(..));
        told.join("\n")
    };
    let none: [f64; 0] = [];
    let gradient = |point: (f64, Vec<f64>)| {
        move |f: &Function| {
            let g = f.grad(&[0, 1]).expect("a derivative");
            (format!("{:?}", g.call::<(f64, Vec<f64>)>(&point)), g)
        }
    };
    let along = |dots: (f64, Vec<f64>)| {
        move |f: &Function| {
            let g = f.jvp(&[0, 1]).expect("a derivative");
            (format!("{:?}", g.call::<(f64, f64)>(((1.0, [2.0, 3.0]), &dots))), g)
        }
    };
    type Work = Box<dyn Fn(&Function) -> (String, Function)>;
    let cases: [Work; 5] = [
        Box::new(gradient((1.5, vec![2.0, 3.0]))),
        // A nan, an index that is out of bounds, a tangent of another shape.
        Box::new(gradient((0.0, vec![2.0]))),
        Box::new(gradient((4.0, vec![2.0]))),
        Box::new(along((1.0, vec![1.0, 1.0]))),
        Box::new(along((1.0, none.to_vec()))),
    ];
    for (i, work) in cases.iter().enumerate() {
        let (compiled, evaluated) = (told(Kinks::Ignore, work), told(Kinks::Warn, work));
        assert_eq!(compiled, evaluated, "case {i}");
    }
    assert!(told(Kinks::Ignore, &cases[1]).contains("nan"));
    assert!(told(Kinks::Ignore, &cases[2]).contains("index 4 is out of bounds"));
    assert!(told(Kinks::Ignore, &cases[4]).contains("the tangent"));
    // Points and results of other types.
    let data = |name: &str, kinks, point: &Value, bar: &Value| {
        let f = p
            .function_with(name, HostOptions { kinks, ..HostOptions::default() })
            .expect("a function");
        let call = |g: diffeo::Function, with: &Value| g.call::<Value>((point, with));
        (f.vjp(&[0]).and_then(|g| call(g, bar)), f.jvp(&[0]).and_then(|g| call(g, point)))
    };
    let list = Value::Array(vec![
        Value::Variant("Just".into(), vec![1.5.into()]),
        Value::Variant("Nothing".into(), vec![]),
    ]);
    let xs: Value = vec![1.0, 2.0].into();
    let record = Value::record([("n", Value::Int(3)), ("x", 0.5.into())]);
    let bar = Value::record([("y", 2.0.into()), ("z", xs.clone())]);
    let short: Value = vec![1.0].into();
    for (name, point, bar) in
        [("swap", &list, &xs), ("both", &record, &bar), ("id", &xs, &xs), ("id", &xs, &short)]
    {
        let found = data(name, Kinks::Ignore, point, bar);
        assert_eq!(found, data(name, Kinks::Warn, point, bar), "{name}");
        assert_eq!(found.0.is_ok(), *bar != short, "{found:?}");
    }
}

#[test]
fn a_nan_derivative_leads_to_the_evaluator_and_lines_are_printed_once() {
    let text = "def f(x: Real) = trace(\"f\", grad(fn z -> sqrt(z * z))(trace(\"x\", x)))";
    let (lines, options) = tracing(Kinks::Ignore);
    let p = Program::from_text("p.deo", text).expect("a program");
    let f = p.function_with("f", options).expect("a function");
    assert!(f.call::<f64>(0.0).expect("a value").is_nan());
    assert_eq!(*lines.lock().expect("no panic"), ["x: 0.0", "f: nan"]);
    assert_eq!(f.take_warnings().len(), 1);
    assert_eq!(f.call::<f64>(2.0), Ok(1.0));
    assert_eq!(*lines.lock().expect("no panic"), ["x: 0.0", "f: nan", "x: 2.0", "f: 1.0"]);
}

/// Functions that any thread may call give each the same, to the last digit.
#[test]
fn a_rule_that_stops_where_nothing_varies_is_not_taken() {
    let text =
        "import root\ndef solved(x: Real) -> Real =\n  let c = (if x > 0.0 then 2.0 else x) in\n  \
                trace(\"x\", root.newton(fn (c, z) -> sq(z - c), c, 2.0) * x)\n";
    let p = Program::from_text("p.deo", text).unwrap_or_else(|error| panic!("{error}"));
    for engine in [Engine::Auto, Engine::JIT, Engine::Reference] {
        let (lines, options) = tracing(Kinks::Ignore);
        let f = p.function_with("solved", HostOptions { engine, ..options }).expect("a function");
        let gradient = f.grad(&[0]).expect("of a Real");
        assert_eq!(gradient.call(0.5), Ok(2.0), "{engine:?}");
        assert_eq!(*lines.lock().expect("no panic"), ["x: 1.0"], "{engine:?}");
        let error = gradient.call::<f64>(-0.5).expect_err("it varies here");
        assert!(error.to_string().contains("has no derivative"), "{engine:?}: {error}");
        assert_eq!(f.jvp(&[0]).expect("one").call((0.5, 1.0)), Ok((1.0, 2.0)), "{engine:?}");
        assert_eq!(f.vjp(&[0]).expect("one").call((0.5, 1.0)), Ok((1.0, 2.0)), "{engine:?}");
    }
}

#[test]
fn threads_share_a_function() {
    let text = "def loss(w: [n]Real, xs: [m]Real) -> Real =
  sum([sum([sin(x * a) / (1.0 + exp(x)) for x in xs]) for a in w])
";
    let p = Program::from_text("p.deo", text).expect("a program");
    let gradient = p.function("loss").and_then(|f| f.grad(&[0])).expect("a gradient");
    let xs: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.1).collect();
    let at = |i: u32| -> Vec<u64> {
        let w = [f64::from(i) * 1e-3, 0.5];
        let found: Vec<f64> = gradient.call((&w, &xs)).expect("a value");
        found.iter().map(|x| x.to_bits()).collect()
    };
    let alone: Vec<_> = (0..1000).map(at).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..1000).map(at).collect::<Vec<_>>())).collect();
        for thread in threads {
            assert!(thread.join().expect("no panic") == alone);
        }
    });
}

/// Derivatives are functions, which have derivatives.
#[test]
fn derivatives_of_derivatives() {
    let text =
        "def f(x: Real, y: Real) -> Real = sin(x * y) + x ^ 3\ndef g(xs: [n]Real) = map(exp, xs)\n";
    let p = Program::from_text("p.deo", text).expect("a program");
    let f = p.function("f").expect("a function");
    let (x, y) = (0.7, 1.3f64);
    let fx = f.grad(&[0]).expect("a gradient");
    assert_eq!(fx.signature(), "(Real, Real) -> Real");
    let near = |f: &Function, expected: f64| {
        let found: f64 = f.call((x, y)).expect("a value");
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    };
    near(&fx, y * (x * y).cos() + 3.0 * x * x);
    near(&fx.grad(&[0]).expect("one"), -y * y * (x * y).sin() + 6.0 * x);
    near(&fx.grad(&[1]).expect("one"), (x * y).cos() - x * y * (x * y).sin());
    let third = fx.grad(&[0]).and_then(|f| f.grad(&[0])).expect("one");
    near(&third, -y.powi(3) * (x * y).cos() + 6.0);
    let g = p.function("g").and_then(|g| g.jvp(&[0])).and_then(|g| g.vjp(&[0])).expect("one");
    let pair = "([]Real, []Real)";
    assert_eq!(g.signature(), format!("({pair}, {pair}) -> ({pair}, []Real)"));
    assert!(f.grad(&[2]).err().expect("no such argument").to_string().contains("none of number 2"));
    let whole = Program::from_text("p.deo", "def f(x: Real, n: Int) -> Real = x ^ n").expect("one");
    let error = whole.function("f").and_then(|f| f.grad(&[1])).err().expect("an Int");
    assert!(error.to_string().contains("no Real to differentiate by is in argument 1"), "{error}");
}

/// Arrays of several indices go in and come out as they lie in memory.
#[test]
fn arrays_of_numbers_are_dense() {
    let text = "def f(a: [n][m]Real, k: [n]Int) -> ([m][n]Real, [n][2]Int, [n]Bool) =
  (transpose(a), [[i, 2 * i] for i in k], [i > 1 for i in k])
";
    let p = Program::from_text("p.deo", text).expect("a program");
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let a = Value::Reals(Array { data: (&a[..]).into(), sizes: vec![2, 3] });
    let found = p.function("f").and_then(|f| f.call::<Value>((a, &[1, 2]))).expect("a value");
    let Value::Tuple(parts) = found else { panic!("{found:?}") };
    let reals = |xs: &[f64], sizes: [usize; 2]| {
        Value::Reals(Array { data: xs.to_vec().into(), sizes: sizes.to_vec() })
    };
    assert_eq!(parts[0], reals(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0], [3, 2]));
    let ints = Array { data: vec![1, 2, 2, 4].into(), sizes: vec![2, 2] };
    assert_eq!(parts[1], Value::Ints(ints));
    assert_eq!(parts[2], Value::Bools(Array::vector(vec![false, true])));
}
