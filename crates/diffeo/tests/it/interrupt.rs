//! A run that is told to end ends soon, whatever it is at, on every engine.
//!
//! Each program would take days. They are the kinds of loops that passes make, and what has no loop. The bound on the
//! time is wide: other tests run beside these.

use diffeo::{Engine, HostOptions, Program, Session, Value};
use diffeo_calculus::eval::{Limits, Options};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How soon a run has to end.
const SOON: Duration = Duration::from_secs(4);

/// By name, a function of an Int that is given 10^12.
const ENDLESS: &[(&str, &str)] = &[
    ("carried", "def f(n: Int) -> Real = loop a = 0.0 for i < n do a + sin(real(i))"),
    ("sum", "def f(n: Int) -> Real = sum([sin(real(i)) * exp(cos(real(i))) for i < n / 1000])"),
    ("maximum", "def f(n: Int) -> Real = loop a = 0.0 for i < n do max(a, cos(real(i)))"),
    ("lanes", "def f(n: Int) -> Real =
  let m = n % 7 + 3 in
  sum([sum([sin(real(i * j)) * real(j) for j < m]) for i < n / 1000])"),
    ("short inner loops", "def f(n: Int) -> Real =
  let m = n % 7 + 3 in
  loop a = 0.0 for i < n do loop b = a for j < m do loop c = b for k < m do c * 0.5 + real(j)"),
    ("inner loops just too short to poll", "def f(n: Int) -> Real =
  let m = n % 7 + 60000 in
  loop a = 0.0 for h < m do loop b = a for i < m do loop c = b for j < m do loop d = c for k < m do sin(d)"),
    ("checked", "def f(n: Int) -> Int = loop a = 0 for i < n do a + i % 3"),
    ("array", "def f(n: Int) -> Real =
  let m = n % 7 + 1000 in
  loop a = 0.0 for i < n do (let xs = [a + real(j) for j < m] in xs[i % m] * 0.5)"),
    ("scan", "def f(n: Int) -> Real =
  let m = n % 7 + 1000 in
  loop a = 0.0 for i < n do scan(fn (x, y) -> x * 0.5 + y, 0.0, [a + real(j) for j < m])[m - 1] * 0.1"),
    ("backward loop", "def g(x: Real) = loop a = x for i < 1000 do sin(a) + x
def f(n: Int) -> Real = loop a = 0.5 for i < n do grad(g)(a) * 0.1"),
    ("accumulator", "def g(xs: [k]Real, n: Int) = sum([sq(xs[i * i % 100]) for i < n])
def f(n: Int) -> Real =
  loop a = 0.5 for i < n do sum(grad(fn xs -> g(xs, 1000))([a + real(j) for j < 100])) * 0.0001"),
    ("condition", "def f(n: Int) -> Real = loop x = real(n) while x > 0.0 do x * 0.5 + 1.0"),
    ("condition around a loop", "def f(n: Int) -> Real =
  let m = n % 7 + 60000 in
  loop x = 1.0 while x > 0.0 do loop y = x for i < m do sin(y) + 1.0"),
    ("recursion", "def fib(n: Int) -> Int = if n < 2 then n else fib(n - 1) + fib(n - 2)
def f(n: Int) -> Int = fib(80 + n % 7)"),
    ("tail recursion", "def spin(x: Real, n: Int) -> Real = if n == 0 then x else spin(sin(x) + 1.0, n - 1)
def f(n: Int) -> Real = spin(0.5, n)"),
    ("mutual recursion", "def even(n: Int, a: Int) -> Int = if n == 0 then a else odd(n - 1, a + 1)
def odd(n: Int, a: Int) -> Int = if n == 0 then a else even(n - 1, a)
def f(n: Int) -> Int = loop a = 0 for i < n do even(1000, a) % 1000"),
    ("work behind calls", "def work(x: Real, m: Int) = loop a = x for i < m do sin(a)
def deep(n: Int, m: Int) -> Real = if n == 0 then 0.5 else work(deep(n - 1, m), m)
def f(n: Int) -> Real = deep(100000, n % 7 + 60000)"),
    ("sort", "def f(n: Int) -> Real =
  let m = n % 7 + 20000 in
  loop a = 0.5 for i < n do sort([sin(real(j) * a) for j < m])[0]"),
    ("texts", "def f(n: Int) -> Int = loop a = 0 for i < n do if show(i) ++ show(a) < \"5\" then a + 1 else a"),
    ("concatenation", "def f(n: Int) -> Real =
  let m = n % 7 + 1000 in
  loop a = 0.5 for i < n do (let xs = [a for j < m] in (xs ++ xs ++ xs)[m] * 0.5)"),
    ("histogram", "def f(n: Int) -> Real =
  let m = n % 7 + 1000 in
  loop a = 0.5 for i < n do histogram(10, [j % 10 for j < m], [a for j < m])[3] * 0.001"),
    ("matmul", "def f(n: Int) -> Real =
  let m = n % 7 + 40 in
  loop a = 0.5 for i < n do (let x = [[a + real(j * k) for k < m] for j < m] in matmul(x, x)[1][2] * 0.0001)"),
    ("convolution", "def f(n: Int) -> Real =
  let m = n % 7 + 300 in
  loop a = 0.5 for i < n do (let xs = [a + real(j) for j < m] in convolve(xs, xs)[m] * 0.00001)"),
    ("list", "def f(n: Int) -> Real =
  loop a = 0.5 for i < n do fold_left_list(fn (a, x) -> a * 0.5 + x, a, to_list([real(j) for j < 1000])) * 0.1"),
    ("parallel", "def g(x: Real, m: Int) = loop a = x for i < m do sin(a) + 0.1
def f(n: Int) -> Real = sum([g(real(i), n) for i < 1000])"),
    ("parallel, short blocks", "def f(n: Int) -> Real =
  let m = n % 7 + 3000 in
  loop a = 0.5 for i < n do sum([sin(a + real(j)) + cos(real(j) * a) for j < m * 100]) * 0.00001"),
    ("constant", "def c: Real = loop a = 0.0 for i < 1000000000000 do a + sin(real(i))
def f(n: Int) -> Real = c + real(n)"),
];

/// A chain of functions without a loop or recursion, each of which calls the next one twice.
fn chain() -> String {
    let mut text = "def f0(x: Real) -> Real = sin(x) + 0.5\n".to_string();
    for i in 1..=50 {
        let before = i - 1;
        text += &format!("def f{i}(x: Real) -> Real = f{before}(f{before}(x) + 0.5)\n");
    }
    text + "def f(n: Int) -> Real = f50(real(n))\n"
}

/// Sets a flag after a while; gives when.
fn later(flag: &Arc<AtomicBool>) -> std::thread::JoinHandle<Instant> {
    let flag = flag.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        flag.store(true, Ordering::Relaxed);
        Instant::now()
    })
}

/// Begins each program as a call from Rust, and tells it to end.
fn ends(engine: Engine, threads: usize) {
    let chain = chain();
    for (name, text) in ENDLESS.iter().copied().chain([("calls", &*chain)]) {
        let program = Program::from_text("endless.deo", text).expect(name);
        let threads = NonZeroUsize::new(threads);
        let options = HostOptions { engine, threads, ..HostOptions::default() };
        let function = program.function_with("f", options).expect(name);
        function.prepare();
        let flag = Arc::new(AtomicBool::new(false));
        let told = later(&flag);
        let result = function.evaluate_until(&Value::Int(1_000_000_000_000), Some(flag));
        let took = told.join().expect("no panic").elapsed();
        let error = result.expect_err(name);
        assert!(error.is_interrupt(), "{name}: {error}");
        assert!(took < SOON, "{name} on {engine:?}: {took:?}");
        if took > Duration::from_millis(500) {
            println!("{name} on {engine:?}: {took:?}");
        }
    }
}

#[test]
fn on_llvm() {
    if diffeo_codegen::llvm::library().is_err() {
        return;
    }
    ends(Engine::LLVM, 1);
    ends(Engine::LLVM, 3);
}

#[test]
fn on_jit() {
    ends(Engine::JIT, 1);
    ends(Engine::JIT, 3);
}

#[test]
fn on_c() {
    ends(Engine::C, 1);
}

#[test]
fn on_the_evaluator() {
    ends(Engine::Reference, 1);
}

/// The same for engines that only sessions have.
fn run_ends(engine: Engine) {
    let chain = chain();
    for (name, text) in ENDLESS.iter().copied().chain([("calls", &*chain)]) {
        let mut session = Session::new();
        let text = format!("{text}\ndef main = f(1000000000000)\n");
        let module = session.load_text("endless.deo", &text);
        session.check();
        let entry = session.entry(module, "main").expect(name);
        let flag = Arc::new(AtomicBool::new(false));
        let limits = Limits { interrupt: Some(flag.clone()), ..Limits::default() };
        let told = later(&flag);
        let run = session.run_on(&entry, None, Options { limits, ..Options::default() }, engine);
        let took = told.join().expect("no panic").elapsed();
        assert_eq!(run.result.expect_err(name).code, "interrupted", "{name} on {engine:?}");
        assert!(took < SOON, "{name} on {engine:?}: {took:?}");
        if took > Duration::from_millis(500) {
            println!("{name} on {engine:?}: {took:?}");
        }
    }
}

#[test]
fn on_the_evaluators_of_flat_and_of_the_papers() {
    for engine in [Engine::Flat, Engine::TRACE, Engine::DUAL, Engine::DELTA, Engine::TAYLOR] {
        run_ends(engine);
    }
}

#[test]
fn on_auto() {
    run_ends(Engine::Auto);
}
