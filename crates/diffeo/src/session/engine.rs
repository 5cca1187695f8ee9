//! Engines: which one runs a program, and when the evaluator takes over.

use super::attempt::{next, Next, BRIEF};
use super::auto;
use super::kept::CacheEntry;
use super::once::Once;
use super::prepared::{self, Prepared};
use crate::lower::value::Interface;
use crate::lower::{self, Lowered, Unsupported};
use crate::pipeline::{self, timed, Backend, Timing};
use diffeo_array::ir::Module;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, Kinks, Machine, Options, RuntimeError, RuntimeWarning};
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::value::Value;
use diffeo_codegen::cranelift::MachineCode;
use diffeo_codegen::engine::Cpu;
use diffeo_codegen::low;
use diffeo_papers::trace::{TraceEvaluator, TraceOptions, TraceStop};
use diffeo_papers::{engine, Delta};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What evaluates a program and computes its derivatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// [`Engine::Jit`] at first, [`Engine::Llvm`] where there is one and the run lasts. What is not compiled
    /// runs on the evaluator.
    #[default]
    Auto,
    /// The evaluator, with derivatives by tapes and Taylor coefficients.
    Evaluator,
    /// Evaluation by contexts and redexes, with derivatives of traces (Abadi & Plotkin). Of kinks it reports
    /// errors only.
    Trace,
    /// The evaluator, with derivatives by dual numbers (Krawiec et al., section 4). Reports no kinks.
    Dual,
    /// The evaluator, with reverse-mode derivatives by Delta terms (Krawiec et al., section 7). Reports no kinks.
    Delta,
    /// The evaluator, with derivatives by the (k,R)-Taylor macro (Huot et al.). Reports no kinks.
    Taylor,
    /// The evaluator of Flat. What is not compiled runs on the evaluator.
    Flat,
    /// Machine code by Cranelift. What is not compiled runs on the evaluator.
    Jit,
    /// Machine code by LLVM, where there is one. What is not compiled runs on the evaluator.
    Llvm,
    /// Machine code by the system's C compiler. What is not compiled runs on the evaluator.
    C,
}

/// What runs a program, and for which processor it makes code.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// The engine.
    pub engine: Engine,
    /// The processor, for engines that make code.
    pub cpu: Cpu,
    /// Whether to count the operations after each pass, which takes time.
    pub counted: bool,
    /// Whether programs in Cranelift's code are kept on disk, where there is a folder for them, and found there.
    pub keep: bool,
    /// How often each recursive definition may unfold, on [`Engine::Trace`] (Abadi & Plotkin, Figure 8).
    pub unfold: Option<u64>,
}

impl From<Engine> for How {
    fn from(engine: Engine) -> How {
        How { engine, ..How::default() }
    }
}

/// What a run of a definition gave.
pub(crate) struct Ran {
    pub result: Result<Value, RuntimeError>,
    pub warnings: Vec<RuntimeWarning>,
    pub operations: Option<u64>,
    /// What gave the result.
    pub engine: Engine,
    /// Why the evaluator took the place of the engine, if it did.
    pub unsupported: Option<Unsupported>,
    /// What became of LLVM's code, where the engine tried it; that the code was kept from an earlier run.
    pub note: Option<String>,
    pub times: Vec<Timing>,
}

impl Ran {
    pub fn on(engine: Engine, result: Result<Value, RuntimeError>) -> Ran {
        Ran {
            result,
            warnings: Vec::new(),
            operations: None,
            engine,
            unsupported: None,
            note: None,
            times: Vec::new(),
        }
    }
}

impl Engine {
    /// What makes machine code of programs, if it is that kind of engine.
    pub fn backend(self) -> Option<Backend> {
        match self {
            Engine::Jit => Some(Backend::Jit),
            Engine::Llvm => Some(Backend::Llvm),
            Engine::C => Some(Backend::C),
            Engine::Auto
            | Engine::Evaluator
            | Engine::Trace
            | Engine::Dual
            | Engine::Delta
            | Engine::Taylor
            | Engine::Flat => None,
        }
    }

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Engine> {
        let all = [
            Engine::Auto,
            Engine::Evaluator,
            Engine::Trace,
            Engine::Dual,
            Engine::Delta,
            Engine::Taylor,
            Engine::Flat,
            Engine::Jit,
            Engine::Llvm,
            Engine::C,
        ];
        all.into_iter().find(|engine| engine.name() == name)
    }

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Evaluator => "interp",
            Engine::Trace => "trace",
            Engine::Dual => "dual",
            Engine::Delta => "delta",
            Engine::Taylor => "taylor",
            Engine::Flat => "flat",
            Engine::Jit => "jit",
            Engine::Llvm => "llvm",
            Engine::C => "c",
        }
    }

    /// Whether it does this where a function that is differentiated has no derivative.
    pub fn reports(self, kinks: Kinks) -> bool {
        match self {
            Engine::Dual | Engine::Delta | Engine::Taylor => kinks == Kinks::Ignore,
            Engine::Trace => kinks != Kinks::Warn,
            Engine::Auto
            | Engine::Evaluator
            | Engine::Flat
            | Engine::Jit
            | Engine::Llvm
            | Engine::C => true,
        }
    }

    /// Whether it runs programs without derivatives in another way than the evaluator.
    pub fn is_compiled(self) -> bool {
        match self {
            Engine::Auto | Engine::Flat | Engine::Jit | Engine::Llvm | Engine::C => true,
            Engine::Evaluator | Engine::Trace | Engine::Dual | Engine::Delta | Engine::Taylor => {
                false
            }
        }
    }
}

impl How {
    /// The value of a definition, or of the function that it is at an argument.
    ///
    /// # Errors
    /// The engine is not there, or cannot compile the program.
    pub(super) fn run(
        self,
        program: &Rc<Program>,
        global: GlobalId,
        arg: Option<Value>,
        options: Options,
    ) -> Result<Ran, Unsupported> {
        let once = Once::new(options);
        let mut ran = self.run_once(program, global, arg, &once)?;
        ran.warnings = once.take_warnings();
        Ok(ran)
    }

    fn run_once(
        self,
        program: &Rc<Program>,
        global: GlobalId,
        arg: Option<Value>,
        once: &Once,
    ) -> Result<Ran, Unsupported> {
        let (mut times, mut unsupported) = (Vec::new(), None);
        if self.engine.is_compiled() {
            let kinks = once.kinks != Kinks::Ignore;
            let longest = (self.engine == Engine::Auto).then_some(LONGEST);
            let options = lower::LowerOptions { kinks, longest, ..lower::LowerOptions::default() };
            let mut done = self.compiled(program, global, arg.clone(), once, options)?;
            if let CompiledRun::Not(why @ Unsupported::Long(_), _) = done {
                if let Some(ran) = brief(program, global, arg.clone(), once) {
                    return Ok(Ran { unsupported: Some(why), ..ran });
                }
                let options = lower::LowerOptions { longest: None, ..options };
                done = self.compiled(program, global, arg.clone(), once, options)?;
            }
            match done {
                CompiledRun::Ran(ran) => return Ok(*ran),
                CompiledRun::Stopped(why, ran) => {
                    let found = brief(program, global, arg, once);
                    let found = found.filter(|found| found.result.is_ok());
                    return Ok(found.map_or(*ran, |found| Ran { unsupported: Some(why), ..found }));
                }
                CompiledRun::Not(why, steps) => (unsupported, times) = (Some(why), steps),
            }
        }
        let mut engine = self.engine;
        if matches!(engine, Engine::Dual | Engine::Delta | Engine::Taylor) {
            unsupported = lower::growing(program);
            engine = if unsupported.is_some() { Engine::Evaluator } else { engine };
        }
        let options = once.options();
        let given = arg.clone();
        let (engine, mut machine) = match engine {
            Engine::Trace => {
                let ran =
                    timed("run", &mut times, || trace(program, global, arg, options, self.unfold));
                return Ok(settled(Ran { times, ..ran }, program, global, given, once));
            }
            Engine::Dual => {
                (Engine::Dual, engine::machine(program, engine::TranslatingEngine::Dual, options))
            }
            Engine::Delta => {
                let choices = Delta { arrays: true, split: false };
                let system = engine::TranslatingEngine::Delta(choices);
                (Engine::Delta, engine::machine(program, system, options))
            }
            Engine::Taylor => (
                Engine::Taylor,
                engine::machine(program, engine::TranslatingEngine::Taylor, options),
            ),
            Engine::Auto
            | Engine::Evaluator
            | Engine::Flat
            | Engine::Jit
            | Engine::Llvm
            | Engine::C => (Engine::Evaluator, Machine::new(program.clone(), options)),
        };
        let ran = Ran { unsupported, ..evaluated(engine, &mut machine, global, arg, times) };
        Ok(settled(ran, program, global, given, once))
    }

    /// Runs a program in Cranelift's code.
    fn start(
        self,
        interface: Interface,
        compiled: diffeo_codegen::engine::Compiled,
        arg: Option<Value>,
        once: &Once,
        times: Vec<Timing>,
    ) -> Ran {
        if self.engine == Engine::Auto {
            return auto::run(interface, compiled, arg, once.clone(), self, times);
        }
        Prepared::new(interface, compiled, once.options(), self.engine).run(arg, times)
    }

    /// As [`How::run`] on a compiled engine, if that can do it and, where kinks are looked for, has met none; the
    /// evaluator begins at the beginning otherwise.
    ///
    /// # Errors
    /// The engine is not there.
    pub(crate) fn compiled(
        self,
        program: &Program,
        global: GlobalId,
        arg: Option<Value>,
        once: &Once,
        options: lower::LowerOptions,
    ) -> Result<CompiledRun, Unsupported> {
        let kinks = options.kinks;
        let mut times = Vec::new();
        let place = CacheEntry::of(program, global, options, self);
        let ran = match place.as_ref().and_then(CacheEntry::find) {
            Some((interface, compiled)) => {
                let mut ran = self.start(interface, compiled, arg, once, times);
                ran.note.get_or_insert_with(|| "the code was kept from an earlier run".to_string());
                ran
            }
            None => {
                let start = Instant::now();
                let mut see = |step: &pipeline::PassRun<'_>| times.push(step.timing(self.counted));
                let Lowered { module, interface } =
                    match pipeline::flat_with(program, global, options, &mut see) {
                        Ok(lowered) => lowered,
                        Err(why) => return Ok(CompiledRun::Not(why, times)),
                    };
                match self.engine {
                    Engine::Flat => flat(module, &interface, arg, once.options(), times),
                    Engine::Auto | Engine::Jit => {
                        let keep = |low: &low::LowModule, code: &MachineCode| match &place {
                            Some(place) if start.elapsed() >= LONG => {
                                place.keep(&interface, low, code)
                            }
                            Some(_) | None => {}
                        };
                        match prepared::by_cranelift(module, self, keep, &mut times) {
                            Ok(compiled) => self.start(interface, compiled, arg, once, times),
                            Err(why) if self.engine == Engine::Auto => {
                                return Ok(CompiledRun::Not(why, times));
                            }
                            Err(why) => return Err(why),
                        }
                    }
                    Engine::Llvm
                    | Engine::C
                    | Engine::Evaluator
                    | Engine::Trace
                    | Engine::Dual
                    | Engine::Delta
                    | Engine::Taylor => {
                        let (compiled, engine) =
                            prepared::compile(module, self, &once.limits, &mut times)?;
                        Prepared::new(interface, compiled, once.options(), engine).run(arg, times)
                    }
                }
            }
        };
        let stopped = ran.result.as_ref().err();
        let done = match next(stopped, kinks, || lower::has_rules(program, global)) {
            Next::Stands => return Ok(CompiledRun::Ran(Box::new(ran))),
            Next::Evaluator(why) => CompiledRun::Not(why, Vec::new()),
            Next::Value(why) => CompiledRun::Stopped(why, Box::new(ran)),
        };
        once.again();
        Ok(done)
    }
}

/// What takes longer to compile is kept.
const LONG: Duration = Duration::from_millis(10);

/// A run on one of the papers' systems; one on the evaluator where an integrand may jump at a place that moves, which a
/// system does not know.
fn settled(
    ran: Ran,
    program: &Rc<Program>,
    global: GlobalId,
    arg: Option<Value>,
    once: &Once,
) -> Ran {
    if !matches!(ran.result, Err(RuntimeError { kind: ErrorKind::NanDerivative, .. })) {
        return ran;
    }
    once.again();
    let mut machine = Machine::new(program.clone(), once.options());
    let unsupported = Some(Unsupported::Nan);
    Ran { unsupported, ..evaluated(Engine::Evaluator, &mut machine, global, arg, ran.times) }
}

/// What became of a run on a compiled engine.
pub(crate) enum CompiledRun {
    /// What it gave stands.
    Ran(Box<Ran>),
    /// It stopped, unless the evaluator gives a value, for this reason.
    Stopped(Unsupported, Box<Ran>),
    /// Nothing, or no more than a nan, and how long that took.
    Not(Unsupported, Vec<Timing>),
}

/// Derivatives of more statements take a second or more to compile, which `auto` does for runs that last only.
const LONGEST: usize = 50_000;

/// A run on the evaluator, if that does not take long.
fn brief(program: &Rc<Program>, global: GlobalId, arg: Option<Value>, once: &Once) -> Option<Ran> {
    let mut machine = Machine::new(program.clone(), once.options());
    machine.set_budget(BRIEF);
    let ran = evaluated(Engine::Evaluator, &mut machine, global, arg, Vec::new());
    let is_over = matches!(
        ran.result,
        Err(RuntimeError { kind: ErrorKind::Exceeded(Exceeded::Interrupt), .. })
    ) && once.limits.check() != Err(Exceeded::Interrupt);
    once.again();
    (!is_over).then_some(ran)
}

fn evaluated(
    engine: Engine,
    machine: &mut Machine,
    global: GlobalId,
    arg: Option<Value>,
    mut times: Vec<Timing>,
) -> Ran {
    let result = timed("run", &mut times, || {
        let value = machine.eval_global(global)?;
        match arg {
            Some(arg) => machine.apply(&value, arg),
            None => Ok(value),
        }
    });
    let operations = Some(machine.operations());
    Ran { operations, times, ..Ran::on(engine, result) }
}

fn flat(
    module: Module,
    interface: &Interface,
    arg: Option<Value>,
    options: Options,
    mut times: Vec<Timing>,
) -> Ran {
    let args = arg.map(|arg| interface.arguments(&arg)).unwrap_or_default();
    let mut evaluator = diffeo_array::eval::FlatEvaluator::new(module.into(), options);
    let result = timed("run", &mut times, || evaluator.run(args));
    let result = result.map(|results| interface.result(results));
    let operations = Some(evaluator.operations());
    Ran { operations, times, ..Ran::on(Engine::Flat, result) }
}

/// The value by the trace system, and the number of operations.
fn trace(
    program: &Rc<Program>,
    global: GlobalId,
    arg: Option<Value>,
    options: Options,
    fuel: Option<u64>,
) -> Ran {
    let Options { kinks, max_stack, events, limits } = options;
    let options = TraceOptions { kinks, fuel, max_stack, limits, events, printed: false };
    let mut evaluator = TraceEvaluator::new(program.clone(), options);
    let result = evaluator.eval_global(global).and_then(|value| match arg {
        Some(arg) => evaluator.apply(&value, arg),
        None => Ok(value),
    });
    let result = result.map_err(|stop| match stop {
        TraceStop::Error(error) => *error,
        TraceStop::OutOfFuel => {
            let kind = ErrorKind::Unfolded { most: fuel.unwrap_or(u64::MAX) };
            let span = program.globals[global.0 as usize].span;
            RuntimeError { kind, span, function: None, trace: Vec::new() }
        }
    });
    let operations = Some(evaluator.operations());
    Ran { operations, ..Ran::on(Engine::Trace, result) }
}
