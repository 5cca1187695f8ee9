//! What `diffeo show` prints: it parses back to the same program, lints, and has the values of the translation
//! that it is a short form of.

use diffeo::differentiate::numbers;
use diffeo::show::{Traced, Translation};
use diffeo::{Entry, Options, Session};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{alpha_eq_programs, lint, parse, print, Program, Ty};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::{dual, System, Workspace};
use std::convert::Infallible;
use std::rc::Rc;

const ALL: [Translation; 10] = [
    Translation::Forward,
    Translation::Taylor { k: 1, r: 1 },
    Translation::Taylor { k: 1, r: 2 },
    Translation::Taylor { k: 2, r: 2 },
    Translation::Mixed,
    Translation::Vector,
    Translation::DeltaNaive,
    Translation::DELTA,
    Translation::DELTA_ARRAY,
    Translation::DELTA_SPLIT,
];

/// Small functions with points.
const FUNCTIONS: &[&str] = &[
    "def f(x: Real, y: Real) = x * sin(y) + exp(x / y)\ndef f_at = (0.5, 1.5)",
    "def f(x: Real) = if x > 1.0 then log(x) else sqrt(x)\ndef f_at = 0.4",
    "def f(xs: [n]Real) = sum(map(fn x -> x * x, xs))\ndef f_at = [1.0, 2.0, 3.0]",
    "def f(xs: [n]Real, m: [k][n]Real) = matvec(m, xs)\ndef f_at = ([1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]])",
    "def f(x: Real, n: Int) = loop y = x for i < n do y * y + x\ndef f_at = (0.3, 4)",
    "def f(x: Real) = loop y = x while y < 10.0 do 2.0 * y\ndef f_at = 0.3",
    "def f(p: {a: Real, b: (Real, Int)}) = {b = p.a * fst(p.b), c = x_of(p)}
     def x_of(p: {a: Real, b: (Real, Int)}) = real(snd(p.b)) * p.a
     def f_at = {a = 2.0, b = (3.0, 4)}",
    "type Shape = Circle(Real) | Box(Real, Real)
     def f(s: Shape) = case s of { Circle(r) -> 3.0 * r ^ 2 | Box(w, h) -> w * h }
     def f_at = Box(2.0, 3.0)",
    "def f(xs: List[Real]) = fold_left_list(fn (s, x) -> s * x, 1.0, xs)\ndef f_at = list[1.5, 2.5, 3.5]",
    "def twice(g) = fn x -> g(g(x))\ndef f(x: Real, y: Real) = twice(fn z -> z * y + 1.0)(x)\ndef f_at = (2.0, 3.0)",
    "def f(x: Real, y: Real) = max(x, y) * min(x, 1.0) - abs(y) + atan2(x, y)\ndef f_at = (0.5, -1.5)",
    "def f(x: Real, y: Real) = let rec power(n: Int) -> Real = if n == 0 then y else x * power(n - 1) in power(3)
     def f_at = (1.5, 2.0)",
    "def f(x: Real) = (x + 1.0) ^ 2.5 / hypot(x, 2.0)\ndef f_at = 0.7",
];

fn function(text: &str, name: &str) -> (Entry, Value) {
    let mut session = Session::new();
    let module = session.load_text("test.deo", text);
    session.check();
    let point = format!("{name}_at");
    let function = session.differentiable(module, name, Some((module, &point)));
    let messages: Vec<String> = session.diagnostics().iter().map(|d| d.message.clone()).collect();
    let function = function.unwrap_or_else(|| panic!("{name}: {messages:?}\n{text}"));
    let mut machine = Machine::new(function.entry.program.clone(), Options::default());
    let point = machine.eval_global(function.point.expect("a point")).expect("a point");
    (function.entry, point)
}

/// The structure with what `f` makes of the position of each number and of the number.
fn mapped(value: &Value, f: &dyn Fn(usize, f64) -> Value) -> Value {
    let mut i = 0;
    let made: Result<Value, Infallible> = map_leaves(value, &mut |x| {
        i += 1;
        Ok(f(i, if let Value::Real(x) = x { *x } else { 0.0 }))
    });
    made.unwrap_or_else(|never| match never {})
}

fn applied(program: Rc<Program>, f: GlobalId, x: &Value) -> String {
    let mut machine = Machine::new(program, Options::default());
    let f = machine.eval_global(f).unwrap_or_else(|e| panic!("{:?}", e.kind));
    let value = machine.apply(&f, x.clone()).unwrap_or_else(|e| panic!("{:?}", e.kind));
    format!("{value:?}")
}

/// The translation as it is, and an argument for it.
fn plain(entry: &Entry, point: &Value, by: Translation) -> (Rc<Program>, GlobalId, Value) {
    let mut w = Workspace::new(&entry.program);
    let e = entry.global;
    let value = || {
        let mut machine = Machine::new(entry.program.clone(), Options::default());
        let f = machine.eval_global(e).expect("a function");
        machine.apply(&f, point.clone()).expect("a value")
    };
    let wave = |i: usize| (i as f64).sin();
    let tangent = mapped(point, &|i, _| Value::Real(wave(i)));
    let cotangent = |value: Value| mapped(&value, &|i, _| Value::Real(wave(i)));
    let taylor = |components: usize| {
        mapped(point, &|i, x| {
            let rest = (1..components).map(|j| Value::Real(wave(i * components + j)));
            Value::tuple(std::iter::once(Value::Real(x)).chain(rest).collect::<Vec<_>>())
        })
    };
    let (made, argument) = match by {
        Translation::Forward => {
            (dual::wrapper(&mut w, e), Value::tuple(vec![point.clone(), tangent]))
        }
        Translation::Vector => {
            (naive::r1(&mut w, e), Value::tuple(vec![point.clone(), cotangent(value())]))
        }
        Translation::DeltaNaive => {
            (naive::r2(&mut w, e), Value::tuple(vec![point.clone(), cotangent(value())]))
        }
        Translation::Delta(choices) => {
            let r = wrapper::r(&mut w, e, choices);
            (r, Value::tuple(vec![point.clone(), cotangent(value())]))
        }
        Translation::Taylor { k, r } => {
            let components = [(1, 1, 2), (1, 2, 3), (2, 2, 6)];
            let found = components.iter().find(|(a, b, _)| (*a, *b) == (k, r));
            let made = w.translated(&System::Taylor { k, r }, e);
            (made, taylor(found.expect("a known one").2))
        }
        Translation::Mixed => (w.translated(&System::Mixed, e), taylor(4)),
    };
    (w.program(), made, argument)
}

/// What is printed parses back to what is shown, which lints; gives the program that was read.
fn read_back(program: &Program, what: &str) -> Program {
    let text = print(program);
    assert!(text.lines().all(|line| line.chars().count() <= 140), "{what}: long lines\n{text}");
    assert_eq!(lint(program), Vec::<String>::new(), "{what}\n{text}");
    let parsed = parse(&text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    assert!(alpha_eq_programs(program, &parsed), "{what}\n{text}");
    parsed
}

fn check(text: &str, name: &str) {
    let (entry, point) = function(text, name);
    let session = Session::new();
    for by in ALL {
        let what = format!("{name} {}\n{text}", by.name());
        let shown = session.translation(&entry, by);
        let shown = shown.unwrap_or_else(|d| panic!("{what}: {}", d.message));
        let parsed = Rc::new(read_back(&shown, &what));
        let last = GlobalId(parsed.globals.len() as u32 - 1);
        let (program, f, argument) = plain(&entry, &point, by);
        assert_eq!(applied(parsed, last, &argument), applied(program, f, &argument), "{what}");
    }
    let trace = session.traced(&entry, point.clone(), Traced::Function, Options::default());
    let trace = Rc::new(read_back(&trace.expect("a trace"), name));
    let value = applied(entry.program.clone(), entry.global, &point);
    assert_eq!(applied(trace, GlobalId(0), &point), value, "{name}");
    // Its derivatives, as they are printed where that is short.
    for what in [Traced::Printed, Traced::Linear] {
        match session.traced(&entry, point.clone(), what, Options::default()) {
            Ok(derivative) => {
                read_back(&derivative, name);
            }
            Err(d) => {
                assert_eq!((d.code, what), ("too-large", Traced::Printed), "{name}: {}", d.message);
            }
        }
    }
}

#[test]
fn what_is_shown_is_the_translation() {
    for text in FUNCTIONS {
        check(text, "f");
    }
}

/// The text of an example.
fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}.deo", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the example")
}

#[test]
fn figure_6_is_shown_in_both_forms() {
    // The printed form has the body of each `let` twice.
    let text = "def f(x: Real) = let y = x * x in let z = y * y in z * z\ndef f_at = 1.1";
    let (entry, point) = function(text, "f");
    let session = Session::new();
    let shown = |what| {
        let program = session.traced(&entry, point.clone(), what, Options::default());
        let program = Rc::new(read_back(&program.expect("a derivative"), "f"));
        let mut machine = Machine::new(program.clone(), Options::default());
        let f = machine.eval_global(GlobalId(0)).expect("a function");
        let of_w = machine.apply(&f, point.clone()).expect("a function of W");
        let gradient = machine.apply(&of_w, Value::Real(1.0)).expect("a gradient");
        (print(&program).len(), numbers(&gradient)[0])
    };
    let (printed, linear) = (shown(Traced::Printed), shown(Traced::Linear));
    assert!(printed.0 > linear.0, "{printed:?}, {linear:?}");
    // 8 x⁷
    for (_, gradient) in [printed, linear] {
        assert!((gradient - 8.0 * 1.1f64.powi(7)).abs() < 1e-9, "{gradient}");
    }
}

#[test]
fn examples_are_shown_as_they_are_translated() {
    let papers = example("papers");
    for name in ["inner_product", "network", "filled", "doubled", "product", "squares", "relu"] {
        check(&papers, name);
    }
    check(&example("quaternion"), "rotated_x");
    check(&example("tree"), "imbalance");
    check(&example("missing_data"), "loss");
}

#[test]
fn a_constant_is_shown_translated() {
    let mut session = Session::new();
    let module = session.load_text("test.deo", "def half = 1.0 / 2.0\ndef both = (half, sin)");
    session.check();
    for name in ["half", "both"] {
        let entry = session.callable(module, name).expect("a definition");
        for by in ALL {
            let shown = session.translation(&entry, by).unwrap_or_else(|d| panic!("{}", d.message));
            let parsed = read_back(&shown, name);
            let translated = parsed.globals.last().expect("a definition");
            assert!(translated.ty != Ty::Real, "{name}");
        }
    }
}

/// Functions with derivatives within.
const NESTED: &[&str] = &[
    "def f(x: Real) = x * grad(fn y -> x + y)(1.0)\ndef f_at = 1.0",
    "def f(x: Real) = grad(fn y -> grad(fn z -> x * y * z ^ 3)(y))(x)\ndef f_at = 1.5",
    "def cube(x: Real) = x ^ 3\ndef f(x: Real) = let d = grad(cube) in x * d(x) + fd(d, x, 1.0)\ndef f_at = 1.5",
    "def g(xs: [n]Real) = sum([x ^ 3 for x in xs])\ndef f(xs: [n]Real) = hvp(g, xs, xs)\ndef f_at = [1.0, 2.0]",
    "def f(x: Real) = derivatives(2, fn y -> x * y * y)(x)\ndef f_at = 1.5",
    "def f(x: Real) = let (y, back) = vjp(fn z -> (z * x, z), x) in fst(y) * back((1.0, 2.0))\ndef f_at = 1.5",
];

#[test]
fn derivatives_within_are_translated_first() {
    for text in NESTED {
        let (entry, point) = function(text, "f");
        let session = Session::new();
        // The derivative along the tangent that the evaluator gives.
        let tangent = mapped(&point, &|i, _| Value::Real((i as f64).sin()));
        let mut machine = Machine::new(entry.program.clone(), Options::default());
        let f = machine.eval_global(entry.global).expect("a function");
        let pair = machine.derivative(DiffOp::Jvp, vec![f, point.clone(), tangent.clone()]);
        let pair = pair.expect("a derivative");
        let expected = numbers(&pair.fields()[1]);
        let close = |found: &Value, what: &str| {
            let found = numbers(found);
            let fits = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            assert!(
                expected.iter().zip(&found).all(fits),
                "{what}: {expected:?}, {found:?}\n{text}"
            );
        };
        for by in ALL {
            let what = by.name();
            let shown = session.translation(&entry, by);
            let shown = shown.unwrap_or_else(|d| panic!("{what}: {}\n{text}", d.message));
            let parsed = Rc::new(read_back(&shown, &format!("{what}\n{text}")));
            let last = GlobalId(parsed.globals.len() as u32 - 1);
            let mut machine = Machine::new(parsed, Options::default());
            let f = machine.eval_global(last).expect("a function");
            let mut apply = |x: Value| machine.apply(&f, x).expect("a value");
            if by == Translation::Forward {
                close(&apply(Value::tuple([point.clone(), tangent.clone()])), &what);
            }
            if matches!(by, Translation::Vector | Translation::DeltaNaive | Translation::Delta(_)) {
                // The inner product with the tangent is the derivative of the sum of the numbers.
                let ones = mapped(&pair.fields()[0], &|_, _| Value::Real(1.0));
                let gradient = numbers(&apply(Value::tuple([point.clone(), ones])));
                let along: f64 = gradient.iter().zip(numbers(&tangent)).map(|(a, b)| a * b).sum();
                let sum: f64 = expected.iter().sum();
                assert!((along - sum).abs() < 1e-9, "{what}: {sum}, {along}\n{text}");
            }
        }
    }
}

#[test]
fn what_cannot_be_translated_is_refused_by_name() {
    let text = "def f(x: Real) = grad(if x > 0.0 then sin else cos)(x)\ndef f_at = 1.0";
    let (entry, point) = function(text, "f");
    let session = Session::new();
    let mut sessions = Session::new();
    let module = sessions.load_text("test.deo", text);
    assert!(sessions.definitions(module).len() == 2);
    for by in ALL {
        let Err(d) = session.translation(&entry, by) else { panic!("{}", by.name()) };
        assert_eq!(d.code, "not-translated", "{d:?}");
        assert!(d.message.contains("`f`") && d.help.is_some() && !d.notes.is_empty(), "{d:?}");
    }
    // Its trace has the derivative in it.
    let trace =
        session.traced(&entry, point, Traced::Function, Options::default()).expect("a trace");
    read_back(&trace, "trace");
}
