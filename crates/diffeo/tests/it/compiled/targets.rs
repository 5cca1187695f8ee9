//! The engines, and how a program is run on each.
//!
//! A [`TargetProgram`] comes in with what the evaluator gave; what an engine gave goes out, as text. Engines get
//! several programs at a time, because a C compiler takes as long for one of them as for ten.

use crate::support::{near, near_largest};
use diffeo::pipeline::{self, Backend};
use diffeo::{Cpu, Diagnostic, Engine, Entry, Limits, Options, Session};
use diffeo_array::ir::Module;
use diffeo_calculus::eval::error::TOLD;
use diffeo_calculus::eval::{Event, Events};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_codegen::c::compiler::Compiler;
use diffeo_codegen::engine::{CompileError, Compiled, Instance, RunOptions};
use diffeo_codegen::memory::{self, Splitting};
use diffeo_codegen::{c, cranelift, llvm, low};
use diffeo_lower::value::Layout;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

/// An engine.
pub struct Target {
    pub name: &'static str,
    /// Why it is not there.
    pub missing: fn() -> Option<String>,
    /// Takes one batch of programs in `share`: C and threads translate the same Low as `jit` and `llvm` do.
    share: usize,
    /// The same for large programs, most of which differ from others by what the library adds: the batches that have
    /// this remainder. Each is for one of `jit` and `llvm`.
    large: (usize, usize),
    /// Runs programs.
    pub run: fn(&[TargetProgram]) -> Vec<Ran>,
}

impl Target {
    /// Whether it takes a batch; it takes all if `DIFFEO_ALL` or `DIFFEO_CASE` is set or `DIFFEO_TARGET` names it.
    pub fn takes(&self, batch: usize, large: bool) -> bool {
        let all = ["DIFFEO_ALL", "DIFFEO_CASE", "DIFFEO_TARGET"].map(std::env::var_os);
        all.iter().any(Option::is_some) || {
            let (share, rest) = if large { self.large } else { (self.share, 0) };
            batch % share == rest
        }
    }
}

/// The engines that the evaluator is compared with.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "flat",
        missing: || None,
        share: 1,
        large: (4, 2),
        run: |programs| programs.iter().map(flat).collect(),
    },
    Target {
        name: "jit",
        missing: || None,
        share: 1,
        large: (2, 0),
        run: |programs| each(programs, Backend::Jit, compile_by_cranelift),
    },
    Target {
        name: "llvm",
        missing: || llvm::library().err().map(|missing| missing.to_string()),
        share: 1,
        large: (2, 1),
        run: |programs| each(programs, Backend::Llvm, compile_by_llvm),
    },
    Target { name: "c", missing: no_c_compiler, share: 6, large: (12, 3), run: run_c },
    Target {
        name: "threads",
        missing: || None,
        share: 4,
        large: (8, 5),
        run: |programs| programs.iter().map(threads).collect(),
    },
];

/// The engines that are there, or those that `DIFFEO_TARGET` names (`flat,jit`); of the others it is told why not.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    let only = std::env::var("DIFFEO_TARGET").ok();
    for name in only.iter().flat_map(|names| names.split(',')) {
        assert!(TARGETS.iter().any(|target| target.name == name), "there is no target `{name}`");
    }
    TARGETS.iter().filter(move |target| {
        if only.as_ref().is_some_and(|names| !names.split(',').any(|name| name == target.name)) {
            return false;
        }
        let missing = (target.missing)();
        if let Some(why) = &missing {
            eprintln!("engine {} is skipped: {why}", target.name);
        }
        missing.is_none()
    })
}

/// A program, and what it is on the evaluator.
pub struct TargetProgram {
    /// Where it comes from.
    pub place: String,
    pub text: String,
    pub session: Session,
    pub entry: Entry,
    pub argument: Option<Value>,
    pub layout: Layout,
    pub flat: Arc<Module>,
    /// The program has a form in XLA. The tests of the package for Python compile such texts.
    pub stablehlo: bool,
    /// The bounds of each run.
    pub limits: fn() -> Limits,
    /// How many bytes open calls may take.
    pub stack: usize,
    /// How far numbers may be from those of the evaluator, relative to them.
    pub tolerance: f64,
    pub scaled: bool,
    /// Whether what it prints is compared, and the numbers in messages.
    pub lines: bool,
    pub expected: Ran,
}

impl TargetProgram {
    /// What a back end is given.
    pub fn low(&self, backend: Backend) -> Arc<low::LowModule> {
        pipeline::low(self.flat.clone(), backend.lowering())
    }
}

/// What a program gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// The value as it is shown, or the error.
    pub result: Result<String, Diagnostic>,
    /// What it printed.
    pub lines: Vec<String>,
    /// How many blocks of memory it has left behind.
    pub blocks: usize,
}

impl Ran {
    /// The code of the error, if it stopped.
    pub fn stopped(&self) -> Option<&'static str> {
        self.result.as_ref().err().map(|error| error.code)
    }

    /// Whether another run gave the same to the last bit. How much memory was left for it may differ.
    fn is_same(&self, other: &Ran) -> bool {
        let full = [self, other].map(|ran| ran.stopped() == Some("out-of-memory"));
        self == other || full == [true; 2]
    }
}

/// What a program prints and reports, and behind that what it warns of.
#[derive(Clone, Default)]
struct Told(Rc<RefCell<[Vec<String>; 2]>>);

impl Told {
    fn events(&self) -> Events {
        let told = self.clone();
        Box::new(move |event| {
            let [lines, warnings] = &mut *told.0.borrow_mut();
            match event {
                Event::Line(line) => lines.push(line.to_string()),
                Event::Progress(p) => lines.push(format!("{} {} {}", p.label, p.step, p.value)),
                Event::Warning(warning) => warnings.push(warned(&warning.to_diagnostic())),
            }
        })
    }

    fn take(&self) -> Vec<String> {
        self.0.take().concat()
    }
}

fn warned(warning: &Diagnostic) -> String {
    format!("{} {} at {:?}", warning.code, warning.message, warning.primary.span)
}

fn options(limits: Limits, stack: usize) -> (Options, Told) {
    let told = Told::default();
    (Options { events: told.events(), limits, max_stack: stack, ..Options::default() }, told)
}

fn shown(entry: &Entry, value: &Value) -> String {
    let ty = match &entry.ty {
        Ty::Fun(fun) => &fun.1,
        ty => ty,
    };
    diffeo_calculus::show::show(value, ty, &entry.program.datas)
}

/// What a program gives on the evaluator.
pub fn evaluate(
    session: &Session,
    entry: &Entry,
    argument: Option<Value>,
    limits: Limits,
    stack: usize,
) -> Ran {
    let (options, lines) = options(limits, stack);
    let run = session.run_on(entry, argument, options, Engine::Reference);
    let result = run.result.map(|value| shown(entry, &value));
    let mut lines = lines.take();
    lines.extend(run.warnings.iter().filter(|w| TOLD.contains(&w.code)).map(warned));
    Ran { result, lines, blocks: 0 }
}

fn flat(program: &TargetProgram) -> Ran {
    let (options, lines) = options((program.limits)(), program.stack);
    let args = program.argument.as_ref().map(|arg| program.layout.arguments(arg));
    let mut evaluator = diffeo_array::FlatEvaluator::new(program.flat.clone(), options);
    let result = evaluator.run(args.unwrap_or_default());
    let result = match result {
        Ok(values) => {
            let absent = program.layout.absent_reals_are_zero(&values);
            assert!(absent, "a Real that a constructor does not have is not 0: {}", program.place);
            Ok(shown(&program.entry, &program.layout.result(values)))
        }
        Err(error) => Err(program.session.explain(&program.entry, &error)),
    };
    drop(evaluator);
    let lines = lines.take();
    Ran { result, lines, blocks: 0 }
}

/// Runs a compiled program.
fn call(program: &TargetProgram, compiled: Compiled) -> Ran {
    call_on(None, program, compiled)
}

/// Runs a compiled program on so many threads: twice, because the second run finds the constants and the memory of
/// the first.
fn call_on(threads: Option<NonZeroUsize>, program: &TargetProgram, compiled: Compiled) -> Ran {
    let lines = Told::default();
    let limits = || Limits { threads, ..(program.limits)() };
    let options = RunOptions { events: lines.events(), limits: limits(), max_stack: program.stack };
    let mut instance = Instance::new(Arc::new(compiled), options);
    let argument = program.argument.clone().unwrap_or(Value::Unit);
    let args = program.layout.arguments(&argument);
    let mut run = || {
        instance.set_limits(limits());
        let result = match instance.call(&args) {
            Ok(values) => Ok(shown(&program.entry, &program.layout.result(values))),
            Err(error) => Err(program.session.explain(&program.entry, &error)),
        };
        (result, lines.take())
    };
    let (result, lines) = run();
    let (again, _) = run();
    instance.release_constants();
    let blocks = instance.live_blocks();
    let result = if again == result { result } else { again };
    Ran { result, lines, blocks }
}

/// What it is if there is no machine code.
fn not_compiled(program: &TargetProgram, error: impl std::fmt::Display) -> Ran {
    let error = Diagnostic::error("compile", program.entry.span, error.to_string());
    Ran { result: Err(error), lines: Vec::new(), blocks: 0 }
}

/// How programs are compiled one by one: for a processor, perhaps with few optimisations.
type Compile = fn(&Arc<low::LowModule>, Cpu, bool) -> Result<Compiled, CompileError>;

/// Runs programs that are compiled one by one. Those that are compiled well have to give the same digits without
/// optimisations, and for another processor whose instructions this one has; with `DIFFEO_ALL` all programs for all.
fn each(programs: &[TargetProgram], backend: Backend, compile: Compile) -> Vec<Ran> {
    let all = std::env::var_os("DIFFEO_ALL").is_some();
    let run = |program: &TargetProgram| {
        let low = program.low(backend);
        let run = |cpu, quick| match compile(&low, cpu, quick) {
            Ok(compiled) => call(program, compiled),
            Err(error) => not_compiled(program, error),
        };
        let hash = hash(std::slice::from_ref(&low));
        let quick = quick(hash);
        let ran = run(Cpu::default(), quick);
        if quick && !all {
            return ran;
        }
        let here = Cpu::all().filter(|cpu| cpu.lacking().is_none());
        let mut processors: Vec<Cpu> = here.collect();
        if !all {
            let other = (hash / WELL) as usize % processors.len();
            processors = vec![processors[other]];
        }
        let others = processors.into_iter().map(|cpu| (cpu, false));
        for (cpu, quick) in others.chain([(Cpu::default(), true)]) {
            let other = run(cpu, quick);
            if !other.is_same(&ran) {
                let how = format!("for {cpu}, quick: {quick}");
                return not_compiled(program, format!("{ran:.2000?}, but {other:.2000?} {how}"));
            }
        }
        ran
    };
    programs.iter().map(run).collect()
}

fn compile_by_cranelift(
    module: &Arc<low::LowModule>,
    cpu: Cpu,
    _: bool,
) -> Result<Compiled, CompileError> {
    let options = cranelift::CraneliftOptions { cpu, ..cranelift::CraneliftOptions::default() };
    cranelift::compile(module, &options)
}

/// By Cranelift, where every loop that can be is done by several threads and in lanes, and every function cut that can be,
/// however small they are.
fn threads(program: &TargetProgram) -> Ran {
    let splitting = Splitting::ALWAYS;
    let options = memory::MemoryOptions { splitting, long: 8, ..Default::default() };
    let module = memory::lower_with(program.flat.clone(), options);
    let options = cranelift::CraneliftOptions { eager: true, ..Default::default() };
    match cranelift::compile(&Arc::new(module), &options) {
        Ok(compiled) => call_on(NonZeroUsize::new(3), program, compiled),
        Err(error) => not_compiled(program, error),
    }
}

/// Of so many programs one is compiled with all optimisations of LLVM or the C compiler.
const WELL: u64 = 16;

/// A number that depends on these programs.
fn hash(modules: &[Arc<low::LowModule>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    modules.iter().for_each(|module| low::print::print(module).hash(&mut hasher));
    hasher.finish()
}

/// Whether programs with this hash are compiled with few of the optimisations.
fn quick(hash: u64) -> bool {
    !hash.is_multiple_of(WELL)
}

fn compile_by_llvm(
    module: &Arc<low::LowModule>,
    cpu: Cpu,
    quick: bool,
) -> Result<Compiled, CompileError> {
    llvm::compile(module, &llvm::LlvmOptions { cpu, quick, ..llvm::LlvmOptions::default() })
}

fn no_c_compiler() -> Option<String> {
    let found = Compiler::find().path();
    found.is_none().then(|| "there is no C compiler".to_string())
}

fn run_c(programs: &[TargetProgram]) -> Vec<Ran> {
    let modules: Vec<Arc<low::LowModule>> = programs.iter().map(|p| p.low(Backend::C)).collect();
    // The programs with these indices, as one file.
    let run = |chosen: &[usize], cpu, quick| -> Vec<Ran> {
        let options = c::compiler::COptions { cpu, quick, ..c::compiler::COptions::default() };
        let file: Vec<_> = chosen.iter().map(|i| modules[*i].clone()).collect();
        let programs = chosen.iter().map(|i| &programs[*i]);
        match c::engine::compile_all(&file, &options) {
            Ok(all) => programs.zip(all).map(|(p, compiled)| call(p, compiled)).collect(),
            Err(error) => programs.map(|p| not_compiled(p, &error)).collect(),
        }
    };
    let (few, well): (Vec<usize>, Vec<usize>) =
        (0..modules.len()).partition(|i| quick(hash(&modules[*i..=*i])));
    let mut ran: Vec<(usize, Ran)> = Vec::new();
    if !few.is_empty() {
        ran.extend(few.iter().copied().zip(run(&few, Cpu::default(), true)));
    }
    if !well.is_empty() {
        let here = run(&well, Cpu::default(), false);
        let baseline = run(&well, Cpu::Baseline, false);
        for ((i, here), other) in well.iter().zip(here).zip(baseline) {
            let found = match other.is_same(&here) {
                true => here,
                false => {
                    let all = format!("{here:.2000?}, but {other:.2000?} for the baseline");
                    not_compiled(&programs[*i], all)
                }
            };
            ran.push((*i, found));
        }
    }
    ran.sort_by_key(|(i, _)| *i);
    ran.into_iter().map(|(_, ran)| ran).collect()
}

/// What is wrong with what an engine gave.
pub fn differences(program: &TargetProgram, ran: &Ran) -> Vec<String> {
    let mut wrong = Vec::new();
    let close = |a: &str, b: &str| match program.scaled {
        true => near_largest(a, b, program.tolerance),
        false => near(a, b, program.tolerance),
    };
    let expected = &program.expected;
    let same = match (&expected.result, &ran.result) {
        (Ok(a), Ok(b)) => close(a, b),
        (Err(a), Err(b)) => {
            // A message may name numbers. The evaluator forgets calls in tail position, engines do not.
            let (message, labels) = (b.message.clone(), b.labels.clone());
            // How deep is too deep depends on the engine.
            (close(&a.message, &b.message)
                || a.code == "too-deep"
                || !program.lines && near(&a.message, &b.message, f64::INFINITY))
                && a.labels.len() <= b.labels.len()
                && Diagnostic { message, labels, ..a.clone() } == *b
        }
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    };
    if !same {
        wrong.push(format!("expected {:.2000?}, found {:.2000?}", expected.result, ran.result));
    }
    let lines = !program.lines
        || expected.lines.len() == ran.lines.len()
            && expected.lines.iter().zip(&ran.lines).all(|(a, b)| close(a, b));
    if !lines {
        wrong.push(format!("expected the lines {:?}, found {:?}", expected.lines, ran.lines));
    }
    if ran.blocks > 0 {
        wrong.push(format!("{} blocks are left", ran.blocks));
    }
    wrong
}
