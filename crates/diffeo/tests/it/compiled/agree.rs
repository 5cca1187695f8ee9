//! Many programs on all engines: some at a time, on as many threads as there are processors.

use crate::compiled::stability::unstable;
use crate::compiled::targets::{differences, evaluate, targets, TargetProgram, TARGETS};
use crate::support::loaded;
use diffeo::pipeline::{self, Backend, PassRun};
use diffeo::Limits;
use diffeo_array::ir::{walk::size, Module};
use diffeo_calculus::value::Value;
use diffeo_codegen::low;
use diffeo_lower::{LowerOptions, Refusal};
use diffeo_xla::Precision;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A program as text.
pub struct SourceProgram {
    /// Where it comes from.
    pub place: String,
    pub text: String,
    /// How far numbers may be from those of the evaluator, relative to them.
    pub tolerance: f64,
    /// Whether they may be so far from them relative to the largest number, or to 1.
    pub scaled: bool,
    /// Whether what it prints is compared, and the numbers in messages. The steps of an iteration that ends near a solution depend on the last
    /// digits of each number, and so does how many there are.
    pub lines: bool,
}

/// The bounds on each run of a program.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// On the evaluator.
    pub evaluator: fn() -> Limits,
    /// On the engines.
    pub engines: fn() -> Limits,
    /// How many bytes open calls may take.
    pub stack: usize,
    /// Programs that stop with an error of these codes on the evaluator are left out.
    pub left_out: &'static [&'static str],
    /// Engines need not agree on errors of these codes.
    pub ignored: &'static [&'static str],
    /// Whether engines need not agree where rounding decides.
    pub rounded: bool,
}

/// No bounds.
pub const UNBOUNDED: Bounds = Bounds {
    evaluator: Limits::default,
    engines: Limits::default,
    stack: 1 << 30,
    left_out: &[],
    ignored: &[],
    rounded: false,
};

/// What became of a text.
pub enum Made {
    Program(Box<TargetProgram>),
    /// It is no program for the engines; a label that says why.
    Not(&'static str),
    Wrong(String),
}

/// The program of a text, with what it is on the evaluator. Flat is checked after passes, and shown.
pub fn program(
    source: &SourceProgram,
    argument: Option<Value>,
    bounds: Bounds,
    see: &mut dyn FnMut(&Module),
) -> Made {
    let (mut session, module) = loaded(&source.text);
    let has_main = session.definitions(module).iter().any(|d| *d == "main");
    if session.has_errors() || !has_main {
        return Made::Not("refused");
    }
    let Some(entry) = session.entry(module, "main") else { return Made::Not("refused") };
    if !entry.interface.fields.is_empty() && argument.is_none() {
        return Made::Not("parameters");
    }
    let mut wrong = Vec::new();
    let all = std::env::var_os("DIFFEO_ALL").is_some();
    let mut step_number = source.text.len();
    let mut check = |step: &PassRun<'_>| {
        see(step.module);
        // Large programs are checked after every fourth pass, each after others.
        step_number += 1;
        if !all && !step_number.is_multiple_of(4) && statements(step.module) > LARGE {
            return;
        }
        let found = diffeo_array::lint::lint(step.module);
        wrong.extend(found.into_iter().map(|w| format!("{}: {w}", step.pass)));
    };
    // Every other program has values that nobody may read.
    let options = LowerOptions {
        poison: source.text.len().is_multiple_of(2),
        longest: Some(LONGEST),
        ..Default::default()
    };
    let lowered = match pipeline::flat_with(&entry.program, entry.global, options, &mut check) {
        Ok(lowered) => lowered,
        Err(Refusal::Derivative(..)) => return Made::Not("derivative"),
        Err(Refusal::Type(_)) => return Made::Not("type"),
        Err(Refusal::Long(_)) => return Made::Not("long"),
        Err(other) => return Made::Wrong(format!("{other:?}")),
    };
    let stablehlo = argument.is_none()
        && diffeo_xla::stablehlo(&lowered.module, &[], &[], Precision::F64).is_ok();
    let flat = Arc::new(lowered.module);
    for backend in [Backend::Jit, Backend::Llvm] {
        let found = low::lint::lint(&pipeline::low(flat.clone(), backend.lowering()));
        wrong.extend(found.into_iter().map(|w| format!("low: {w}")));
    }
    if !wrong.is_empty() {
        return Made::Wrong(wrong.join("\n"));
    }
    let expected = {
        let limits = (bounds.evaluator)();
        evaluate(&session, &entry, argument.clone(), limits, bounds.stack)
    };
    if expected.stopped().is_some_and(|code| bounds.left_out.contains(&code)) {
        return Made::Not("bounded");
    }
    Made::Program(Box::new(TargetProgram {
        place: source.place.clone(),
        text: source.text.clone(),
        session,
        entry,
        argument,
        layout: lowered.layout,
        flat,
        stablehlo,
        limits: bounds.engines,
        stack: bounds.stack,
        tolerance: source.tolerance,
        scaled: source.scaled,
        lines: source.lines,
        expected,
    }))
}

/// What became of many programs.
#[derive(Default)]
pub struct Report {
    /// How often programs ended how: `value`, the code of an error, or why they were not run.
    pub labels: BTreeMap<&'static str, usize>,
    /// The places of those that no engine, or one of them, left to the evaluator, by why.
    pub left: BTreeMap<&'static str, BTreeSet<String>>,
    /// The number of programs that have a form in XLA.
    pub stablehlo: usize,
    pub failures: Vec<String>,
}

impl Report {
    pub fn of(&self, label: &str) -> usize {
        self.labels.get(label).copied().unwrap_or(0)
    }

    fn leave(&mut self, label: &'static str, place: &str) {
        self.count(label);
        self.left.entry(label).or_default().insert(place.to_string());
    }

    fn count(&mut self, label: &'static str) {
        *self.labels.entry(label).or_insert(0) += 1;
    }
}

/// What a panic says.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
}

/// With how many statements of derivatives the engine `auto` leaves a program to the evaluator.
const LONGEST: usize = 50_000;

/// Of how many statements Flat is that of a large program.
const LARGE: usize = 8_000;

fn statements(module: &Module) -> usize {
    module.functions.iter().map(|f| size(&f.body, usize::MAX)).sum()
}

fn is_large(program: &TargetProgram) -> bool {
    statements(&program.flat) > LARGE
}

/// Runs programs of a batch, large ones or others, on every engine that takes them.
fn compared(
    programs: &[TargetProgram],
    (batch, large): (usize, bool),
    bounds: Bounds,
    report: &mut Report,
) {
    for target in targets().filter(|target| target.takes(batch, large)) {
        let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(programs)));
        let ran = match ran {
            Ok(ran) => ran,
            Err(panic) => {
                let places: Vec<&str> = programs.iter().map(|p| &*p.place).collect();
                let what = said(&*panic);
                let name = target.name;
                report.failures.push(format!("{name}: panic: {what} at one of {places:?}"));
                continue;
            }
        };
        for (program, ran) in programs.iter().zip(&ran) {
            // Then the evaluator's result is the result.
            if ran.stopped() == Some("nan-derivative") {
                report.count("nan");
                if program.expected.result.as_ref().is_ok_and(|value| !value.contains("nan")) {
                    report.leave("nan on an engine only", &program.place);
                }
                continue;
            }
            if ran.stopped() == Some("derivative-order") {
                report.leave("derivative-order", &program.place);
                continue;
            }
            if ran.stopped().is_some_and(|code| bounds.ignored.contains(&code)) {
                report.count("bounded on an engine");
                continue;
            }
            let wrong = differences(program, ran);
            if bounds.rounded && !wrong.is_empty() && ran.blocks == 0 && unstable(program, bounds) {
                report.leave("unstable", &program.place);
                continue;
            }
            for wrong in wrong {
                report.failures.push(format!("{} on {}: {wrong}", program.place, target.name));
            }
        }
    }
}

/// Runs a batch of programs on every engine that takes it.
fn together(
    batch: usize,
    sources: &[SourceProgram],
    bounds: Bounds,
    see: &mut dyn FnMut(&Module),
) -> Report {
    let mut report = Report::default();
    let mut programs = Vec::new();
    for source in sources {
        if std::env::var_os("DIFFEO_TELL").is_some() {
            eprintln!("{}", source.place);
        }
        let made = catch_unwind(AssertUnwindSafe(|| program(source, None, bounds, see)));
        match made {
            Ok(Made::Program(program)) => {
                report.count(program.expected.stopped().unwrap_or("value"));
                report.stablehlo += usize::from(program.stablehlo);
                programs.push(*program);
            }
            Ok(Made::Not(why @ ("derivative" | "type" | "long"))) => {
                report.leave(why, &source.place)
            }
            Ok(Made::Not(why)) => report.count(why),
            Ok(Made::Wrong(what)) => report.failures.push(format!("{}: {what}", source.place)),
            Err(panic) => {
                report.failures.push(format!("{}: panic: {}", source.place, said(&*panic)));
            }
        }
    }
    let (large, small): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_large);
    for (programs, large) in [(small, false), (large, true)] {
        if !programs.is_empty() {
            compared(&programs, (batch, large), bounds, &mut report);
        }
    }
    report
}

/// Runs `batches` batches of programs on every engine; `make` gives the programs of a batch, `see` is shown
/// their Flat after each pass.
pub fn agree(
    batches: usize,
    make: &(dyn Fn(usize) -> Vec<SourceProgram> + Sync),
    bounds: Bounds,
    see: &(dyn Fn(&Module) + Sync),
) -> Report {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Report::default());
    let work = || loop {
        let batch = next.fetch_add(1, Ordering::Relaxed);
        let full = || all.lock().map_or(true, |all| all.failures.len() >= 20);
        if batch >= batches || full() {
            break;
        }
        let report = together(batch, &make(batch), bounds, &mut |module| see(module));
        if let Ok(mut all) = all.lock() {
            for (label, count) in report.labels {
                *all.labels.entry(label).or_insert(0) += count;
            }
            for (label, places) in report.left {
                all.left.entry(label).or_default().extend(places);
            }
            all.stablehlo += report.stablehlo;
            all.failures.extend(report.failures);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(batches.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A program that has to run on every engine, with its argument.
pub fn prepared(text: &str, argument: Option<Value>) -> TargetProgram {
    within(text, argument, UNBOUNDED)
}

/// The same within bounds.
pub fn within(text: &str, argument: Option<Value>, bounds: Bounds) -> TargetProgram {
    let place = "case.deo".into();
    let source =
        SourceProgram { place, text: text.into(), tolerance: 1e-12, scaled: false, lines: true };
    match program(&source, argument, bounds, &mut |_| {}) {
        Made::Program(program) => *program,
        Made::Not(why) => panic!("{why}: {text:.2000}"),
        Made::Wrong(what) => panic!("{what}"),
    }
}

/// Runs programs on the engines of these names, which have to give what the evaluator gives.
pub fn check(names: &[&str], programs: &[TargetProgram]) {
    for target in targets().filter(|target| names.contains(&target.name)) {
        for (program, ran) in programs.iter().zip((target.run)(programs)) {
            let wrong = differences(program, &ran);
            assert!(wrong.is_empty(), "{} on {}: {}", program.place, target.name, wrong.join("\n"));
        }
    }
}

/// Runs the `main` of a program on the engines of these names; gives the value as it is shown.
pub fn on(names: &[&str], text: &str, argument: Option<Value>) -> String {
    let program = prepared(text, argument);
    check(names, std::slice::from_ref(&program));
    program.expected.result.unwrap_or_else(|error| panic!("{error:?}"))
}

/// The names of all engines.
pub const ALL: [&str; TARGETS.len()] = {
    let mut names = [""; TARGETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = TARGETS[i].name;
        i += 1;
    }
    names
};
