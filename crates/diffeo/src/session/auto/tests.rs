//! Which code gives a result, however fast it is made and however busy the machine is.

use super::{Auto, Compile, Policy};
use crate::pipeline::{self, Backend};
use crate::session::once::Once;
use crate::session::{Engine, Session};
use diffeo_calculus::eval::{Event, Limits, Options};
use diffeo_calculus::value::Value;
use diffeo_codegen::engine::Cpu;
use diffeo_codegen::{cranelift, llvm};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Programs that take some milliseconds, of every kind of work.
const PROGRAMS: [(&str, &str); 8] = [
    ("a sum", "def main = sum([sin(real(i)) / real(i + 1) for i < 300000])"),
    (
        "sums in sums",
        "def row(i: Int) = sum([cos(real(i * j)) * 0.1 for j < 200 + i % 7])
def main = sum([row(i) for i < 3000])",
    ),
    (
        "a loop with a condition",
        "def main = fst(loop (x, n) = (1.0, 0) while n < 400000 do (sin(x) + 1.0 / (x + 1.0), n + 1))",
    ),
    (
        "recursion",
        "def fib(n: Int) -> Int = if n < 2 then n else fib(n - 1) + fib(n - 2)
def main = real(fib(25)) * 0.1",
    ),
    (
        "constants",
        "def table = [exp(sin(real(i))) for i < 50000]
def other = sum([x * 0.1 for x in table])
def f(i: Int) = if i > 2000 then other * real(i) else table[i]
def main = sum([f(i) / (1.0 + sum([real(j) for j < i % 50])) for i < 20000]) + other",
    ),
    (
        "arrays",
        "def step(xs: [n]Real) = [0.5 * (xs[if i == 0 then 0 else i - 1] + xs[i]) for i < n]
def main = sum(loop xs = [sqrt(real(i)) for i < 3000] for k < 100 do step(xs))",
    ),
    ("sorting", "def main = sum(take(10, sort([sin(real(i)) for i < 100000]))) * 0.1"),
    (
        "an update in a loop",
        "def main = sum(loop xs = [0.1 for i < 100] for k < 100000 do xs with [k % 100] = sin(xs[k % 100]) + 0.1)",
    ),
];

/// What a run gave.
#[derive(PartialEq, Debug)]
struct RunSeen {
    engine: Engine,
    result: Result<u64, &'static str>,
    lines: Vec<String>,
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Real(x) => x.to_bits(),
        Value::Int(n) => *n as u64,
        other => panic!("no number: {other:?}"),
    }
}

/// A program with its lines.
fn auto(text: &str, policy: Policy, limits: Limits) -> (Auto, Rc<RefCell<Vec<String>>>) {
    let mut session = Session::new();
    let module = session.load_text("a.deo", text);
    session.check();
    let entry = session.callable(module, "main");
    let entry = entry.unwrap_or_else(|| panic!("{:?}", session.diagnostics()));
    let lowered =
        pipeline::flat(&entry.program, entry.global, &mut |_| {}).expect("no derivatives");
    let low = pipeline::low(lowered.module, Backend::Jit.lowering());
    let compiled = cranelift::compile(&low, &pipeline::cranelift_options(Cpu::default(), true))
        .expect("Cranelift's code");
    let lines = Rc::new(RefCell::new(Vec::new()));
    let printed = lines.clone();
    let events = Box::new(move |event: Event<'_>| {
        if let Event::Line(line) = event {
            printed.borrow_mut().push(line.to_string());
        }
    });
    let options = Options { events, limits, ..Options::default() };
    (Auto::by(policy, lowered.layout, compiled, Once::new(options), Cpu::default()), lines)
}

fn run(text: &str, policy: Policy, limits: Limits) -> (RunSeen, u64) {
    let (mut auto, lines) = auto(text, policy, limits);
    let result = auto.call(&Value::Unit, &mut Vec::new());
    let result = result.map(|value| number(&value)).map_err(|error| error.kind.code());
    let work = auto.prepared.work();
    let lines = lines.borrow().clone();
    (RunSeen { engine: auto.engine(), result, lines }, work)
}

/// Other code: LLVM's, or Cranelift's where there is none.
fn other(wait: Duration) -> Compile {
    Arc::new(move |module, cpu| {
        std::thread::sleep(wait);
        let backend = if llvm::library().is_ok() { Backend::Llvm } else { Backend::Jit };
        let low = pipeline::low(module, backend.lowering());
        pipeline::compile(&low, backend, cpu, &Limits::default()).map_err(|error| error.to_string())
    })
}

fn none(wait: Duration) -> Compile {
    Arc::new(move |_, _| {
        std::thread::sleep(wait);
        Err("there is none".to_string())
    })
}

const NEVER: u64 = u64::MAX;

fn unbounded() -> Policy {
    Policy { worth: NEVER, budget: NEVER, compile: none(Duration::ZERO) }
}

fn threads(n: usize) -> Limits {
    Limits { threads: NonZeroUsize::new(n), ..Limits::default() }
}

/// Does something while threads keep the processors busy.
fn busy<T>(n: usize, work: impl FnOnce() -> T) -> T {
    let over = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let over = over.clone();
            std::thread::spawn(move || while !over.load(Ordering::Relaxed) {})
        })
        .collect();
    let done = work();
    over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    done
}

#[test]
fn the_work_of_a_run_is_always_the_same() {
    for (name, text) in PROGRAMS {
        let (expected, work) = run(text, unbounded(), threads(1));
        assert!(expected.result.is_ok() && expected.engine == Engine::JIT, "{name}: {expected:?}");
        assert!(work > 100_000, "{name}: {work}");
        for n in [1, 2, 3, 8] {
            let again = busy(n % 3, || run(text, unbounded(), threads(n)));
            assert_eq!(
                again,
                (RunSeen { lines: Vec::new(), ..expected }, work),
                "{name}, {n} threads"
            );
        }
    }
}

#[test]
fn the_budget_alone_decides() {
    for (name, text) in PROGRAMS {
        let (slow, work) = run(text, unbounded(), Limits::default());
        let mut results = Vec::new();
        // The other code is there early, or late, or long after the run.
        for (worth, wait, load) in [(0, 0, 0), (0, 0, 2), (work / 2, 30, 0), (work / 2, 0, 3)] {
            let policy =
                |budget| Policy { worth, budget, compile: other(Duration::from_millis(wait)) };
            let (seen, _) = busy(load, || run(text, policy(work), Limits::default()));
            assert_eq!(seen, slow, "{name} {worth} {wait}");
            let (seen, _) = busy(load, || run(text, policy(work - 1), Limits::default()));
            assert_eq!(seen.engine, Engine::LLVM, "{name} {worth} {wait}");
            results.push(seen.result);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {results:?}");
    }
}

/// It prints in every step, and then ends as told.
fn printing(end: &str) -> String {
    format!(
        "def step(k: Int, x: Real) = let y = loop y = x for i < 20000 do sin(y) * 0.5 + 1.0 in trace(\"y\", y)
def main = let x = loop x = 0.5 for k < 20 do step(k, x) in if x > 100.0 then 0.0 else {end}"
    )
}

#[test]
fn lines_are_printed_once_on_any_code() {
    for end in ["x", "fail(\"the end\")"] {
        let text = printing(end);
        let (slow, work) = run(&text, unbounded(), Limits::default());
        assert_eq!(slow.lines.len(), 20);
        let mut all = Vec::new();
        for (worth, wait) in [(0, 0), (work / 4, 0), (work / 4, 50), (NEVER, 0)] {
            let wait = Duration::from_millis(wait);
            let policy = |compile| Policy { worth, budget: work / 2, compile };
            let (seen, _) = run(&text, policy(other(wait)), Limits::default());
            assert_eq!((seen.engine, seen.lines.len()), (Engine::LLVM, 20));
            // What was printed before is Cranelift's.
            assert_eq!(seen.lines[..9], slow.lines[..9]);
            all.push(seen);
            let (seen, _) = run(&text, policy(none(wait)), Limits::default());
            assert_eq!(seen, slow);
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    }
}

#[test]
fn who_waits_for_code_can_be_stopped() {
    let text = printing("x");
    let (_, work) = run(&text, unbounded(), Limits::default());
    let compile = none(Duration::from_millis(1500));
    let policy = Policy { worth: 0, budget: work / 2, compile };
    let start = Instant::now();
    let (seen, _) = run(&text, policy, Limits::after(Duration::from_millis(300)));
    // Where the machine is busy, the time is up before it waits, or behind it.
    assert!(seen.result == Err("timeout") || seen.result.is_ok(), "{seen:?}");
    assert!(start.elapsed() < Duration::from_millis(1400));
}

#[test]
fn the_work_of_calls_adds_up() {
    let text = "def main(x: Real) = sum([sin(x * real(i)) for i < 1000])";
    let first_other = |wait: u64| {
        let compile = other(Duration::from_millis(wait));
        let (mut auto, _) =
            auto(text, Policy { worth: 50_000, budget: 1_000_000, compile }, Limits::default());
        let mut calls = 0;
        while auto.engine() == Engine::JIT {
            auto.call(&Value::Real(0.5), &mut Vec::new()).expect("a value");
            calls += 1;
            assert!(calls < 10_000);
        }
        calls
    };
    let calls = first_other(0);
    assert!(calls > 10, "{calls}");
    assert_eq!(first_other(40), calls);
    assert_eq!(busy(2, || first_other(0)), calls);
}
