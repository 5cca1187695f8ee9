//! Engine `auto`: every case of `tests/lang` gives what it says, and a run that goes over from one code to another
//! is seen once.

use crate::compiled::corpus::LONG;
use crate::support::{all, corpus, judge_by, near, part_of, run_on};
use diffeo::{Engine, Event, Kinks, Limits, Options, Refusal, Run, Session, Unsupported};
use diffeo_calculus::show::show;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// At least so many cases run in machine code.
const LEAST: usize = 400;

#[test]
fn the_corpus_gives_what_it_says() {
    let mut failures = Vec::new();
    let mut compiled = 0;
    // All cases run on Cranelift's code and on LLVM's by themselves: a third will do.
    for case in corpus().into_iter().filter(|case| all() || part_of(&case.name, 3) == 0) {
        let kinks = case.kinks.unwrap_or(Kinks::Ignore);
        let (session, _, outcome) = run_on(&case.text, kinks, Engine::Auto);
        match &outcome.unsupported {
            None => compiled += 1,
            Some(
                Unsupported::Lowering(Refusal::Derivative(..) | Refusal::Type(_))
                | Unsupported::Nan
                | Unsupported::Kinks,
            ) => {}
            Some(Unsupported::Lowering(Refusal::Long(_))) if LONG.contains(&&*case.name) => {}
            Some(other) => failures.push(format!("{}: {other:?}", case.name)),
        }
        // Compiled adjoints may have zeros of the other sign.
        let equal = |a: &str, b: &str| near(a, b, 0.0);
        for wrong in judge_by(equal, &case, &session, &outcome) {
            failures.push(format!("{}:{} {}: {wrong}", case.file.display(), case.line, case.name));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(compiled >= LEAST, "{compiled} in machine code");
}

/// What a run gave, and what it printed and reported.
struct Seen {
    run: Run,
    value: Option<f64>,
    lines: Vec<String>,
}

fn seen(text: &str, engine: Engine, limits: Limits) -> Seen {
    let mut session = Session::new();
    let module = session.load_text("long.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("a program");
    let lines = Rc::new(RefCell::new(Vec::new()));
    let told = lines.clone();
    let events = Box::new(move |event: Event<'_>| match event {
        Event::Line(line) => told.borrow_mut().push(line.to_string()),
        Event::Progress(p) => told.borrow_mut().push(format!("{} {}", p.label, p.step)),
        Event::Warning(warning) => panic!("a warning beside those of the run: {warning:?}"),
    });
    let options = Options { events, limits, ..Options::default() };
    let run = session.run_on(&entry, None, options, engine);
    let value = run
        .result
        .as_ref()
        .ok()
        .map(|value| show(value, &entry.ty, &entry.program.datas).parse().expect("a number"));
    let lines = lines.borrow().clone();
    Seen { run, value, lines }
}

/// So long a run that LLVM is ready before it ends, if there is one.
fn long(end: &str) -> String {
    format!(
        "def step(k: Int, x: Real) -> Real =
  let y = loop y = x for i < 4000000 do sin(y) * 0.5 + 1.0 / real(i + 1) in
  progress(\"step\", k, y, trace(\"y\", y))
def main = let x = loop x = 0.5 for k < 30 do step(k, x) in {end}
"
    )
}

/// The engine that a long run ends on.
fn best() -> Engine {
    match diffeo_codegen::llvm::library() {
        Ok(_) => Engine::LLVM,
        Err(_) => Engine::JIT,
    }
}

#[test]
fn a_run_that_goes_over_is_seen_once() {
    let text = long("x");
    let auto = seen(&text, Engine::Auto, Limits::default());
    let jit = seen(&text, Engine::JIT, Limits::default());
    assert_eq!(auto.run.engine, best(), "{:?}", auto.run.note);
    let kind = |line: &String| line.split([':']).next().unwrap_or("").to_string();
    assert_eq!(auto.lines.len(), 60, "{:?}", auto.lines);
    assert_eq!(
        auto.lines.iter().map(kind).collect::<Vec<_>>(),
        jit.lines.iter().map(kind).collect::<Vec<_>>()
    );
    let (auto, jit) = (auto.value.expect("a value"), jit.value.expect("a value"));
    assert!((auto - jit).abs() <= 1e-12 * jit.abs(), "{auto} {jit}");
}

#[test]
fn errors_are_those_of_the_evaluator_on_either_code() {
    for text in [long("fail(\"the end\")"), "def main = 1.0 + real([1, 2][5])\n".to_string()] {
        let auto = seen(&text, Engine::Auto, Limits::default());
        let jit = seen(&text, Engine::JIT, Limits::default());
        let (auto, jit) = (auto.run.result.err(), jit.run.result.err());
        assert!(auto.is_some() && auto == jit, "{auto:?} {jit:?}");
    }
}

#[test]
fn a_run_is_interrupted_on_either_code() {
    let text = "def main = loop x = 1.0 while x > 0 do loop y = x for i < 1000 do sin(y) + 1.0\n";
    for wait in [5, 400] {
        let flag = Arc::new(AtomicBool::new(false));
        let limits = Limits { interrupt: Some(flag.clone()), ..Limits::default() };
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait));
            flag.store(true, Ordering::Relaxed);
        });
        let seen = seen(text, Engine::Auto, limits);
        thread.join().expect("it ends");
        let error = seen.run.result.expect_err("it is endless");
        assert_eq!(error.code, "interrupted");
        assert!(!error.primary.span.is_none());
    }
    let seen = seen(text, Engine::Auto, Limits::after(Duration::from_millis(300)));
    assert_eq!(seen.run.result.expect_err("it is endless").code, "timeout");
}

#[test]
fn loops_in_parts_are_whole() {
    // Some of many parts, one that ends with a part, one of a single part, and none.
    for n in [200_001, 131_072, 65_536, 65_537, 3, 0] {
        let text = format!(
            "def xs(n: Int) = [real(i) for i < n]
def last(xs: [n]Real) = if length(xs) == 0 then 0.0 else xs[length(xs) - 1]
def main =
  let xs = xs({n}) in
  sum(xs) + 1e6 * last(xs) + sum([if x > 5.0 then 1.0 else 0.5 for x in xs])
"
        );
        let jit = seen(&text, Engine::JIT, Limits::default()).value.expect("a value");
        let evaluator = seen(&text, Engine::Reference, Limits::default()).value.expect("a value");
        assert_eq!(jit, evaluator, "{n}");
    }
}

#[test]
fn programs_to_be_called_often_get_the_best_code() {
    let mut session = Session::new();
    let module = session.load_text("f.deo", "def f(x: Real, n: Int) = x * real(n) + 1.0\n");
    session.check();
    let entry = session.callable(module, "f").expect("a function");
    let mut prepared = session.prepare(&entry, Options::default(), Engine::Auto).expect("code");
    assert_eq!(prepared.engine(), best());
    use diffeo_calculus::value::Value;
    let args = prepared.arguments(&Value::tuple(vec![Value::Real(1.5), Value::Int(2)]));
    for _ in 0..3 {
        let results = prepared.call(&args).expect("a value");
        assert!(matches!(prepared.result(results), Value::Real(x) if x == 4.0));
    }
    assert_eq!(prepared.live_blocks(), 0);
}

#[test]
fn the_reason_names_what_the_user_wrote() {
    let cases = [
        (
            "def s(x: Real) -> []Real = [x for i < 1771]
def main = jet(20, 3, fn (x: Real, y: Real) -> x * y)(s(2.0), s(1.0))\n",
            "`jet(20, 3, fn (x: Real, y: Real)",
        ),
        (
            "def f(x: Real) = derivatives(100, fn (x: Real) -> x)(x)\ndef main = f(1.0)\n",
            "`derivatives(100, fn (x: Real) -> x)",
        ),
        // In the library, but not because of the library.
        (
            "def g(x: Real) -> Real = if x < 1.0 then x else g(x / 2.0) * grad(g)(x / 2.0)
def main = grad(g)(5.0)\n",
            "`grad(g)(x / 2.0)`",
        ),
        (
            "import quadrature
def f(b: Real) = quadrature.integrate(fn x -> sin(x), 0.0, b)
def main = grad(grad(grad(grad(f))))(2.0)\n",
            "`quadrature.integrate(fn x -> sin(x),",
        ),
    ];
    for (text, wanted) in cases {
        let mut session = Session::new();
        let module = session.load_text("a.deo", text);
        session.check();
        let entry = session.entry(module, "main");
        let entry = entry.unwrap_or_else(|| panic!("{:?}", session.diagnostics()));
        let run = session.run_with(&entry, None, Options::default());
        let why = run.unsupported.unwrap_or_else(|| panic!("{text} is compiled"));
        let reason = why.reason(session.sources());
        assert!(reason.starts_with(wanted), "{reason}");
    }
    let mut session = Session::new();
    let module = session.load_text("a.deo", "def main = 1.0\n");
    session.check();
    let entry = session.entry(module, "main").expect("a program");
    assert!(session.run_with(&entry, None, Options::default()).unsupported.is_none());
}

/// Where there is a kink, or where compiled code cannot tell that there is none, the evaluator runs the program.
#[test]
fn programs_without_kinks_are_compiled() {
    let smooth = "def f(x: Real) = if x > 1.0 then abs(x) * max(x, 2.0) else sqrt(x) % 2.0
def main = grad(f)(3.0) + log(2.0) + real(floor(2.5)) + sum(sort([2.0, 1.0])) + 2.0 ^ -1 + (-2.0) ^ 2.0
";
    let kinks = [
        ("def main = grad(fn x -> abs(x))(0.0)", 1),
        ("def main = grad(fn x -> max(x, 1.0))(1.0)", 1),
        ("def main = grad(fn x -> if x < 1.0 then x else 2.0 * x)(1.0)", 1),
        ("def main = grad(fn x -> if x == 1.0 then x else 2.0 * x)(1.0)", 1),
        ("def main = grad(fn x -> case x of { 1.0 -> x | _ -> 2.0 * x })(1.0)", 1),
        ("def main = grad(fn x -> x * real(round(x)))(2.5)", 1),
        ("def main = grad(fn x -> x * real(trunc(x)))(2.0)", 1),
        ("def main = grad(fn x -> sort([1.0, x, 3.0])[0])(1.0)", 1),
        ("def main = grad(fn x -> maximum([1.0, x]))(1.0)", 1),
        ("def main = grad(fn x -> x % 1.0)(2.0)", 1),
        ("def main = grad(fn (x: [2]Real) -> if x == [1.0, 2.0] then x[0] else x[1])([1.0, 2.0])", 1),
        ("def main = [1.0, 2.0] / [1.0, 0.0]", 1),
        ("def main = [1.0, 2.0] / (1.0 - 1.0)", 1),
        ("def main = (1.0 - 1.0) ^ (1 - 2)", 1),
        ("def main = (0.0 - 1.0) ^ 0.5", 1),
        // These do not depend on what varies.
        ("def main = grad(fn x -> x * abs(0.0))(1.0)", 0),
        ("def main = grad(fn x -> if length([x]) == 1 and sum([1.0]) == 1.0 then x else 0.0)(1.0)", 0),
    ];
    let run = |text: &str, engine| {
        let mut session = Session::new();
        let module = session.load_text("a.deo", text);
        session.check();
        let entry = session.entry(module, "main");
        let entry = entry.unwrap_or_else(|| panic!("{text}: {:?}", session.diagnostics()));
        let warn = Options { kinks: Kinks::Warn, ..Options::default() };
        session.run_on(&entry, None, warn, engine)
    };
    for engine in [Engine::Auto, Engine::Flat, Engine::JIT] {
        let run = run(smooth, engine);
        assert!(run.unsupported.is_none() && run.warnings.is_empty(), "{:?}", run.unsupported);
        assert!(run.engine != Engine::Reference && run.result.is_ok());
    }
    for (text, kinks) in kinks {
        for engine in [Engine::Flat, Engine::JIT] {
            let run = run(text, engine);
            assert_eq!(run.engine, Engine::Reference, "{text}");
            assert!(matches!(run.unsupported, Some(Unsupported::Kinks)), "{text}");
            assert_eq!(run.warnings.len(), kinks, "{text}: {:?}", run.warnings);
        }
    }
}

/// Which values vary, compiled code knows only of the ways that the program might go.
#[test]
fn rules_that_stop_where_nothing_varies_are_not_taken() {
    let text = |x: &str| {
        format!(
            "import root\ndef solved(x: Real) -> Real =\n  let c = (if x > 0.0 then 2.0 else x) in\n  \
             trace(\"x\", root.newton(fn (c, z) -> sq(z - c), c, 2.0) * x)\ndef main = grad(solved)({x})\n"
        )
    };
    for engine in [Engine::Auto, Engine::JIT, Engine::Flat] {
        let found = seen(&text("0.5"), engine, Limits::default());
        assert_eq!(found.value, Some(2.0), "{engine:?}: {:?}", found.run.result);
        assert_eq!(found.lines, ["x: 1.0"], "{engine:?}");
        assert!(matches!(found.run.unsupported, Some(Unsupported::Rule)), "{engine:?}");
        // It varies here.
        let found = seen(&text("-0.5"), engine, Limits::default());
        let error = found.run.result.expect_err("no derivative");
        let expected = seen(&text("-0.5"), Engine::Reference, Limits::default());
        let expected = expected.run.result.expect_err("no derivative");
        assert_eq!(error.message, expected.message, "{engine:?}");
        assert!(found.run.unsupported.is_none(), "{engine:?}");
    }
}
