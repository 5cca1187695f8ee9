//! How cases of the corpus are run, and their outcomes judged.

// Each test that uses this uses a part of it.
#![allow(dead_code, unused_imports)]

#[path = "../../../../diffeo-front/tests/it/corpus.rs"]
mod corpus;

pub use corpus::{cases, corpus, root, Case};
use diffeo::{
    Diagnostic, Engine, Event, Kinks, Limits, MemoryLimit, ModuleId, Options, Session, Unsupported,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What running a case's `main` gave.
#[derive(Default)]
pub struct CaseOutcome {
    pub value: Option<String>,
    pub diagnostics: Vec<Diagnostic>,
    pub trace: Vec<String>,
    /// Why the evaluator took the place of the engine, if it did.
    pub unsupported: Option<Unsupported>,
}

/// How many times a thousand operations a case may take on one of the papers' systems.
const MOST: usize = 2_000;

/// True if all cases are to run, where a test takes a sample of them otherwise.
pub fn all() -> bool {
    std::env::var_os("DIFFEO_ALL").is_some()
}

/// In which of so many parts a case is, by its name: cases that come or go move no others.
pub fn part_of(name: &str, parts: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    (name.bytes().fold(0xcbf2_9ce4_8422_2325, step) >> 32) % parts
}

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
    static FRESH: RefCell<Session> = RefCell::new(Session::new());
}

/// A session that has loaded a program and the library's modules that it imports, which each thread checks once.
pub fn loaded(text: &str) -> (Session, ModuleId) {
    let mut session = FRESH.with_borrow_mut(|fresh| {
        fresh.preload(text);
        fresh.clone()
    });
    let module = session.load_text("case.deo", text);
    session.check();
    (session, module)
}

/// Limits that end a run always at the same place: they are asked for every thousand operations, and a count of
/// that takes the place of the memory in use.
pub fn bounded() -> Limits {
    LEFT.set(MOST);
    let in_use = || {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        usize::from(left == 0)
    };
    Limits { memory: Some(MemoryLimit { bytes: 0, in_use }), ..Limits::default() }
}

/// Loads a program and runs its `main`, if it has one, on an engine.
pub fn run_on(text: &str, kinks: Kinks, engine: Engine) -> (Session, ModuleId, CaseOutcome) {
    let (mut session, module) = loaded(text);
    let mut outcome = CaseOutcome::default();
    let has_main = session.definitions(module).iter().any(|d| *d == "main");
    if has_main && !session.has_errors() {
        if let Some(entry) = session.entry(module, "main") {
            let lines = Rc::new(RefCell::new(Vec::new()));
            let sink = lines.clone();
            let limits = match engine {
                Engine::Auto
                | Engine::Reference
                | Engine::Flat
                | Engine::JIT
                | Engine::LLVM
                | Engine::C => Limits::default(),
                Engine::TRACE | Engine::DUAL | Engine::DELTA | Engine::TAYLOR => bounded(),
            };
            let options = Options {
                kinks,
                limits,
                events: Box::new(move |event| {
                    if let Event::Line(line) = event {
                        sink.borrow_mut().push(line.to_string());
                    }
                }),
                ..Options::default()
            };
            let run = session.run_on(&entry, None, options, engine);
            outcome.diagnostics.extend(run.warnings);
            outcome.unsupported = run.unsupported;
            match run.result {
                Ok(value) => {
                    let ty = match &entry.ty {
                        diffeo_calculus::Ty::Fun(f) => f.1.clone(),
                        ty => ty.clone(),
                    };
                    let datas = &entry.program.datas;
                    outcome.value = Some(diffeo_calculus::show::show(&value, &ty, datas));
                }
                Err(error) => outcome.diagnostics.push(error),
            }
            outcome.trace = lines.borrow().clone();
        }
    }
    outcome.diagnostics.extend(session.diagnostics());
    (session, module, outcome)
}

/// What is wrong with the outcome of a case.
pub fn judge(case: &Case, session: &Session, outcome: &CaseOutcome) -> Vec<String> {
    judge_by(|a, b| a == b, case, session, outcome)
}

/// As [`judge`], with values compared by `equal`.
pub fn judge_by(
    equal: impl Fn(&str, &str) -> bool,
    case: &Case,
    session: &Session,
    outcome: &CaseOutcome,
) -> Vec<String> {
    let (found, sources) = (&outcome.diagnostics, session.sources());
    let mut wrong = case.missing(found, sources);
    if let (false, Some(value)) = (wrong.is_empty(), &outcome.value) {
        wrong.push(format!("the value is {value}"));
    }
    wrong.extend(case.unexpected(found, sources));
    if let Some(value) = &case.value {
        if !outcome.value.as_ref().is_some_and(|v| equal(value, v)) {
            wrong.push(format!("expected {value}, found {:?}", outcome.value));
        }
    }
    if let Some(value) = &case.near {
        if !outcome.value.as_ref().is_some_and(|v| near(value, v, 1e-9)) {
            wrong.push(format!("expected about {value}, found {:?}", outcome.value));
        }
    }
    if !case.trace.is_empty() && case.trace != outcome.trace {
        wrong.push(format!("expected the trace {:?}, found {:?}", case.trace, outcome.trace));
    }
    wrong
}

/// The numbers of a printed value, and what is left of it.
fn split(s: &str) -> (Vec<f64>, String) {
    let mut numbers = Vec::new();
    let mut rest = String::new();
    let mut word = String::new();
    for c in s.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || "+-._'".contains(c) {
            word.push(c);
            continue;
        }
        match word.parse::<f64>() {
            Ok(x) => {
                numbers.push(x);
                rest.push('#');
            }
            Err(_) => rest.push_str(&word),
        }
        word.clear();
        rest.push(c);
    }
    (numbers, rest)
}

/// Whether two printed values agree up to a relative tolerance in their numbers.
pub fn near(a: &str, b: &str, tolerance: f64) -> bool {
    agree(a, b, &|x, y| tolerance * x.abs().max(y.abs()).max(1e-12))
}

/// The same relative to the largest of the numbers, or to 1.
pub fn near_largest(a: &str, b: &str, tolerance: f64) -> bool {
    let finite = split(a).0.into_iter().filter(|x| x.is_finite());
    let largest = finite.fold(1.0, |m: f64, x| m.max(x.abs()));
    agree(a, b, &|_, _| tolerance * largest)
}

fn agree(a: &str, b: &str, allowed: &dyn Fn(f64, f64) -> f64) -> bool {
    let ((xs, s), (ys, t)) = (split(a), split(b));
    let close = |x: f64, y: f64| {
        let finite = x.is_finite() && y.is_finite();
        x == y || x.is_nan() && y.is_nan() || finite && (x - y).abs() <= allowed(x, y)
    };
    s == t && xs.len() == ys.len() && xs.iter().zip(&ys).all(|(x, y)| close(*x, *y))
}
