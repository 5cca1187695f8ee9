//! Engines: which one runs a program, and when the evaluator takes over.

use super::attempt::{next, Next, BRIEF};
use super::auto;
use super::kept::CacheEntry;
use super::once::Once;
use super::prepared::{self, Prepared};
use super::Unsupported;
use crate::pipeline::{self, timed, Backend, Timing};
use diffeo_array::ir::Module;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{
    Exceeded, Kinks, Limits, Machine, Options, RuntimeError, RuntimeWarning,
};
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::value::Value;
use diffeo_codegen::cranelift::MachineCode;
use diffeo_codegen::engine::Cpu;
use diffeo_codegen::low;
use diffeo_lower::value::Layout;
use diffeo_lower::{differentiates, has_rules, LowerOptions, Lowered, Refusal, Residuals};
use diffeo_papers::engine::{self, TranslatingEngine};
use diffeo_papers::trace::{TraceEvaluator, TraceOptions, TraceStop};
use diffeo_papers::Delta;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What evaluates a program and computes its derivatives. What compiled engines have no code for runs on the evaluator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// [`Engine::JIT`] at first, [`Engine::LLVM`] where there is one and the run lasts.
    #[default]
    Auto,
    /// The evaluator of Core, with derivatives by tapes and Taylor coefficients.
    Reference,
    /// A system of the papers.
    Papers(PapersEngine),
    /// Machine code.
    Compiled(Backend),
    /// The evaluator of Flat.
    Flat,
}

/// A system of the papers, as an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PapersEngine {
    /// Evaluation by contexts and redexes, with derivatives of traces (Abadi & Plotkin). Of kinks it reports errors only.
    Trace,
    /// The evaluator, with derivatives by dual numbers (Krawiec et al., section 4). Reports no kinks.
    Dual,
    /// The evaluator, with reverse-mode derivatives by Delta terms (Krawiec et al., section 7). Reports no kinks.
    Delta,
    /// The evaluator, with derivatives by the (k,R)-Taylor macro (Huot et al.). Reports no kinks.
    Taylor,
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
    /// Abadi & Plotkin's system.
    pub const TRACE: Engine = Engine::Papers(PapersEngine::Trace);
    /// Dual numbers of Krawiec et al.
    pub const DUAL: Engine = Engine::Papers(PapersEngine::Dual);
    /// Delta terms of Krawiec et al.
    pub const DELTA: Engine = Engine::Papers(PapersEngine::Delta);
    /// The Taylor macro of Huot et al.
    pub const TAYLOR: Engine = Engine::Papers(PapersEngine::Taylor);
    /// Machine code by Cranelift.
    pub const JIT: Engine = Engine::Compiled(Backend::Jit);
    /// Machine code by LLVM, where there is one.
    pub const LLVM: Engine = Engine::Compiled(Backend::Llvm);
    /// Machine code by the system's C compiler.
    pub const C: Engine = Engine::Compiled(Backend::C);

    /// All engines.
    pub const ALL: [Engine; 10] = [
        Engine::Auto,
        Engine::Reference,
        Engine::TRACE,
        Engine::DUAL,
        Engine::DELTA,
        Engine::TAYLOR,
        Engine::Flat,
        Engine::JIT,
        Engine::LLVM,
        Engine::C,
    ];

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Reference => "interp",
            Engine::Papers(PapersEngine::Trace) => "trace",
            Engine::Papers(PapersEngine::Dual) => "dual",
            Engine::Papers(PapersEngine::Delta) => "delta",
            Engine::Papers(PapersEngine::Taylor) => "taylor",
            Engine::Flat => "flat",
            Engine::Compiled(backend) => backend.name(),
        }
    }

    /// Whether it does this where a function that is differentiated has no derivative.
    pub fn reports(self, kinks: Kinks) -> bool {
        match self {
            Engine::Papers(PapersEngine::Trace) => matches!(kinks, Kinks::Ignore | Kinks::Error),
            Engine::Papers(_) => kinks == Kinks::Ignore,
            Engine::Flat | Engine::Compiled(_) => kinks != Kinks::Enclose,
            Engine::Auto | Engine::Reference => true,
        }
    }

    /// Whether it runs programs without derivatives in another way than the evaluator.
    pub fn is_compiled(self) -> bool {
        matches!(self, Engine::Auto | Engine::Flat | Engine::Compiled(_))
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
        if self.engine.is_compiled() && once.kinks != Kinks::Enclose {
            let kinks = once.kinks != Kinks::Ignore;
            let longest = (self.engine == Engine::Auto).then_some(LONGEST);
            let options = LowerOptions { kinks, longest, ..LowerOptions::default() };
            let mut done = self.compiled(program, global, arg.clone(), once, options)?;
            if let CompiledRun::Not(why @ Unsupported::Lowering(Refusal::Long(_)), _) = done {
                if let Some(ran) = brief(program, global, arg.clone(), once) {
                    return Ok(Ran { unsupported: Some(why), ..ran });
                }
                let options = LowerOptions { longest: None, ..options };
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
        let system = match self.engine {
            Engine::Papers(system) if once.kinks != Kinks::Enclose => Some(system),
            Engine::Papers(_)
            | Engine::Auto
            | Engine::Reference
            | Engine::Flat
            | Engine::Compiled(_) => None,
        };
        if system.is_some_and(|system| system != PapersEngine::Trace) {
            unsupported = diffeo_lower::growing(program).map(Unsupported::from);
        }
        let options = once.options();
        let given = arg.clone();
        let (engine, mut machine) = match system.filter(|_| unsupported.is_none()) {
            Some(PapersEngine::Trace) => {
                let ran =
                    timed("run", &mut times, || trace(program, global, arg, options, self.unfold));
                return Ok(settled(Ran { times, ..ran }, program, global, given, once));
            }
            Some(PapersEngine::Dual) => {
                (self.engine, engine::machine(program, TranslatingEngine::Dual, options))
            }
            Some(PapersEngine::Delta) => {
                let choices = Delta { arrays: true, split: false };
                (self.engine, engine::machine(program, TranslatingEngine::Delta(choices), options))
            }
            Some(PapersEngine::Taylor) => {
                (self.engine, engine::machine(program, TranslatingEngine::Taylor, options))
            }
            None => (Engine::Reference, Machine::new(program.clone(), options)),
        };
        let ran = Ran { unsupported, ..evaluated(engine, &mut machine, global, arg, times) };
        Ok(settled(ran, program, global, given, once))
    }

    /// Runs a program in Cranelift's code.
    fn start(
        self,
        layout: Layout,
        compiled: diffeo_codegen::engine::Compiled,
        arg: Option<Value>,
        once: &Once,
        times: Vec<Timing>,
    ) -> Ran {
        if self.engine == Engine::Auto {
            return auto::run(layout, compiled, arg, once.clone(), self, times);
        }
        Prepared::new(layout, compiled, once.options(), self.engine).run(arg, times)
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
        mut options: LowerOptions,
    ) -> Result<CompiledRun, Unsupported> {
        let kinks = options.kinks;
        let given = arg.clone();
        if options.residuals == Residuals::Any {
            options.residuals = residuals(&once.limits);
        }
        let mut times = Vec::new();
        let place = CacheEntry::of(program, global, options, self);
        let ran = match place.as_ref().and_then(CacheEntry::find) {
            Some((layout, compiled)) => {
                let mut ran = self.start(layout, compiled, arg, once, times);
                ran.note.get_or_insert_with(|| "the code was kept from an earlier run".to_string());
                ran
            }
            None => {
                let start = Instant::now();
                let mut see =
                    |step: &pipeline::PassRun<'_>| times.push(Timing::of(step, self.counted));
                let Lowered { module, layout } =
                    match pipeline::flat_with(program, global, options, &mut see) {
                        Ok(lowered) => lowered,
                        Err(why) => return Ok(CompiledRun::Not(why.into(), times)),
                    };
                match self.engine {
                    Engine::Flat => flat(module, &layout, arg, once.options(), times),
                    Engine::Auto | Engine::Compiled(Backend::Jit) => {
                        let keep = |low: &low::LowModule, code: &MachineCode| match &place {
                            Some(place) if start.elapsed() >= LONG => {
                                place.keep(&layout, low, code)
                            }
                            Some(_) | None => {}
                        };
                        match prepared::by_cranelift(module, self, keep, &mut times) {
                            Ok(compiled) => self.start(layout, compiled, arg, once, times),
                            Err(why) if self.engine == Engine::Auto => {
                                return Ok(CompiledRun::Not(why, times));
                            }
                            Err(why) => return Err(why),
                        }
                    }
                    Engine::Compiled(_) | Engine::Reference | Engine::Papers(_) => {
                        let (compiled, engine) =
                            prepared::compile(module, self, &once.limits, &mut times)?;
                        Prepared::new(layout, compiled, once.options(), engine).run(arg, times)
                    }
                }
            }
        };
        let stopped = ran.result.as_ref().err();
        let done = match next(stopped, kinks, || has_rules(program, global)) {
            Next::Checkpoints
                if options.residuals != Residuals::Checkpoints
                    && differentiates(program, global) =>
            {
                once.again();
                options.residuals = Residuals::Checkpoints;
                return self.compiled(program, global, given, once, options);
            }
            Next::Stands | Next::Checkpoints => return Ok(CompiledRun::Ran(Box::new(ran))),
            Next::Evaluator(why) => CompiledRun::Not(why, Vec::new()),
            Next::Value(why) => CompiledRun::Stopped(why, Box::new(ran)),
        };
        once.again();
        Ok(done)
    }
}

/// The memory for the residuals of a loop: an eighth of what the run may take, or of the machine's, as a power of two,
/// so that code that was kept is found again.
pub(crate) fn residuals(limits: &Limits) -> Residuals {
    let most = limits.memory.map(|limit| limit.bytes).or_else(diffeo_memory::of_the_machine);
    most.map_or(Residuals::Any, |most| Residuals::Most(1 << (most as u64 / 8).max(1).ilog2()))
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
    Ran { unsupported, ..evaluated(Engine::Reference, &mut machine, global, arg, ran.times) }
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
    let ran = evaluated(Engine::Reference, &mut machine, global, arg, Vec::new());
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
            Some(arg) => machine.evaluate(&value, arg),
            None => Ok(value),
        }
    });
    let operations = Some(machine.operations());
    Ran { operations, times, ..Ran::on(engine, result) }
}

fn flat(
    module: Module,
    layout: &Layout,
    arg: Option<Value>,
    options: Options,
    mut times: Vec<Timing>,
) -> Ran {
    let args = arg.map(|arg| layout.arguments(&arg)).unwrap_or_default();
    let mut evaluator = diffeo_array::eval::FlatEvaluator::new(module.into(), options);
    let result = timed("run", &mut times, || evaluator.run(args));
    let result = result.map(|results| layout.result(results));
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
    Ran { operations, ..Ran::on(Engine::TRACE, result) }
}
