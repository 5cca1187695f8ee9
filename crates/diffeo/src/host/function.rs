//! Functions of a program that any thread may call.
//!
//! Code is compiled once, by the first call. A call leases memory to run it from a pool, so calls from several threads
//! run at once; each lease is used by one thread at a time. The evaluator, of which there is one for each function, takes
//! over what is not compiled, and where a derivative is nan.

use super::code::{result, Arguments, ValueTypes};
use super::{sides, Error, FromDiffeo, Program, ToDiffeo, Type, Types, Value, World};
use crate::pipeline::{self, Backend};
use crate::session::{next, residuals, Engine, Next, BRIEF};
use diffeo_calculus::eval::{
    Event, Exceeded, Kinks, Limits, Machine, MemoryLimit, Options, RuntimeError, RuntimeWarning,
};
use diffeo_calculus::leaves::has_interval;
use diffeo_calculus::outside::{asked, derivative_by, Asked, By};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::{first_order, mentions_real};
use diffeo_calculus::value::Value as Core;
use diffeo_codegen::confined::Confined;
use diffeo_codegen::engine::{Compiled, Cpu, Instance, RunOptions};
use diffeo_codegen::llvm;
use diffeo_front::{Entry, Message};
use diffeo_lower::value::Layout;
use diffeo_lower::{differentiates, has_rules, LowerOptions, Lowered, Residuals};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What a program reports with `progress`: its label, how much there is to do, how much is done.
pub type Report<'r> = diffeo_calculus::eval::Progress<'r>;

/// Why an argument does not fit that has an interval in it.
pub(super) const INTERVAL: &str =
    "it has an interval in it, but the program computes with numbers: `enclose` gives a function of intervals";

/// How long a call waits at most, before it looks again whether its code is there.
const MOST_PAUSE: Duration = Duration::from_millis(2);

/// Takes lines, on any thread.
pub type Lines = Arc<dyn Fn(&str) + Send + Sync>;

/// Takes reports, on any thread.
pub type Reports = Arc<dyn Fn(&Report<'_>) + Send + Sync>;

/// How functions are run.
#[derive(Clone)]
pub struct HostOptions {
    /// What runs calls. [`Engine::Auto`] is LLVM's code, or Cranelift's where there is no LLVM: the same for all calls.
    pub engine: Engine,
    /// What happens where a function has no derivative. Whoever looks for kinks runs on the evaluator.
    pub kinks: Kinks,
    /// The longest time that a call may take.
    pub time: Option<Duration>,
    /// How much memory may be in use.
    pub memory: Option<MemoryLimit>,
    /// Set by another thread to end the calls that run.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// How many threads may work for one call.
    pub threads: Option<NonZeroUsize>,
    /// How many bytes of the stack open calls may take.
    pub max_stack: usize,
    /// Takes the lines that the program prints with `trace`.
    pub trace: Option<Lines>,
    /// Takes what the program reports with `progress`.
    pub progress: Option<Reports>,
}

impl Default for HostOptions {
    /// Kinks are ignored, traces are lost, open calls may take 1 GiB, and nothing else is bounded.
    fn default() -> HostOptions {
        HostOptions {
            engine: Engine::Auto,
            kinks: Kinks::Ignore,
            time: None,
            memory: None,
            interrupt: None,
            threads: None,
            max_stack: 1 << 30,
            trace: None,
            progress: None,
        }
    }
}

impl HostOptions {
    /// The bounds of a run that begins now.
    pub(crate) fn limits(&self) -> Limits {
        let deadline =
            self.time.and_then(|time| Instant::now().checked_add(time).map(|end| (end, time)));
        let (memory, interrupt) = (self.memory, self.interrupt.clone());
        Limits { deadline, memory, interrupt, threads: self.threads, host: None }
    }

    /// The options of a run that counts what it prints, and leaves out what was printed before.
    pub(super) fn run(
        &self,
        printed: &Arc<Printed>,
        warnings: &Arc<Mutex<Vec<RuntimeWarning>>>,
    ) -> Options {
        let (printed, warnings) = (printed.clone(), warnings.clone());
        let (trace, progress) = (self.trace.clone(), self.progress.clone());
        let events = move |event: Event<'_>| match event {
            Event::Line(line) => {
                if let Some(trace) = trace.as_ref().filter(|_| printed.lines.next()) {
                    trace(line);
                }
            }
            Event::Progress(report) => {
                if let Some(progress) = progress.as_ref().filter(|_| printed.reports.next()) {
                    progress(&report);
                }
            }
            Event::Warning(warning) => {
                let mut warnings = lock(&warnings);
                if !warnings.iter().any(|known| known.repeats(&warning)) {
                    warnings.push(warning);
                }
            }
        };
        Options {
            kinks: self.kinks,
            max_stack: self.max_stack,
            events: Box::new(events),
            limits: self.limits(),
        }
    }
}

/// How much a call has printed and reported.
#[derive(Default)]
pub(super) struct Printed {
    lines: Counter,
    reports: Counter,
}

impl Printed {
    /// Begins a call of which so many lines and reports were printed before: those are not printed again.
    pub fn begin(&self, [lines, reports]: [u64; 2]) {
        self.lines.begin(lines);
        self.reports.begin(reports);
    }

    fn most(&self) -> [u64; 2] {
        [&self.lines, &self.reports].map(|counter| counter.most.load(Ordering::Relaxed))
    }
}

/// The number of messages since the call began, and the number that were printed.
#[derive(Default)]
struct Counter {
    now: AtomicU64,
    most: AtomicU64,
}

impl Counter {
    /// Whether the next message is new.
    fn next(&self) -> bool {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed) < now
    }

    fn begin(&self, most: u64) {
        self.now.store(0, Ordering::Relaxed);
        self.most.store(most, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function as the world of its program knows it.
pub(super) struct Definition {
    entry: Entry,
    /// The evaluator, if it was needed.
    machine: Option<Machine>,
}

/// A function of a program, or a derivative of one. Clones share the code.
#[derive(Clone)]
pub struct Function(Arc<Inner>);

struct Inner {
    program: Program,
    /// Where it is among the definitions of the world.
    place: usize,
    name: String,
    text: String,
    ty: Type,
    /// The names of its arguments.
    parameters: Vec<Option<diffeo_base::Name>>,
    types: Types,
    options: HostOptions,
    /// Its machine code, if it has been called and there is some.
    native: OnceLock<Result<Native, NotCompiled>>,
    /// The same with checkpoints in loops, if the residuals of one had no room.
    checkpointed: OnceLock<Result<Native, NotCompiled>>,
    printed: Arc<Printed>,
    warnings: Arc<Mutex<Vec<RuntimeWarning>>>,
}

/// Why there is no machine code, unless the options ask for none.
struct NotCompiled(Option<String>);

/// Machine code, and memory to run it.
struct Native {
    compiled: Arc<Compiled>,
    /// The layout, written by serde: each lease has one of its own.
    layout: Vec<u8>,
    /// Whether the program has rules for derivatives.
    rules: bool,
    /// Whether code with checkpoints would take less memory.
    spends: bool,
    pool: Mutex<Vec<Lease>>,
}

type Lease = Confined<Running>;

/// What one call uses.
pub(super) struct Running {
    pub layout: Layout,
    pub from: Ty,
    to: Ty,
    pub instance: Instance,
    rules: bool,
    spends: bool,
    pub printed: Arc<Printed>,
    /// The memory of the last call's arguments.
    arguments: Arguments<'static>,
}

impl Function {
    pub(super) fn new(
        program: &Program,
        options: HostOptions,
        find: impl FnOnce(&mut World) -> Result<Entry, Error> + Send,
    ) -> Result<Function, Error> {
        if options.engine == Engine::LLVM {
            llvm::library().map_err(|why| {
                let message = format!("{why}; the engines `jit` and `interp` are always there");
                Error::new("engine", message)
            })?;
        }
        let (place, name, interface, types) = program.world.with(|world| {
            let entry = find(world)?;
            let (name, interface) = (entry.name.to_string(), (*entry.interface).clone());
            let types = Types::new(&entry.program.datas);
            world.definitions.push(Definition { entry, machine: None });
            Ok((world.definitions.len() - 1, name, interface, types))
        })?;
        let diffeo_front::Interface { text, ty, parameters, .. } = interface;
        Ok(Function(Arc::new(Inner {
            program: program.clone(),
            place,
            name,
            text,
            ty,
            parameters,
            types,
            options,
            native: OnceLock::new(),
            checkpointed: OnceLock::new(),
            printed: Arc::default(),
            warnings: Arc::default(),
        })))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its type, as the language writes it.
    pub fn signature(&self) -> &str {
        &self.0.text
    }

    /// Its type.
    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    /// The variant types that its type mentions.
    pub fn types(&self) -> &Types {
        &self.0.types
    }

    /// The types of what it takes and gives; both the type itself for a constant.
    pub fn sides(&self) -> (&Type, &Type) {
        self.0.ty.sides()
    }

    /// The name of each argument: none where its pattern takes it apart, or where no definition names it.
    pub fn parameters(&self) -> Vec<Option<&str>> {
        let count = self.sides().0.arguments().len();
        // A name for all arguments, as in `def f(both: (Real, Real))`, is none for each.
        let named = Some(&self.0.parameters).filter(|names| names.len() == count);
        (0..count).map(|i| named.and_then(|names| names[i].as_deref())).collect()
    }

    /// The name of the tuple that it takes, as in `def f(both: (Real, Real))`; none where it has several parameters.
    pub fn tuple_parameter(&self) -> Option<&str> {
        match (&self.0.parameters[..], self.sides().0) {
            ([Some(name)], Type::Tuple(_)) => Some(name),
            _ => None,
        }
    }

    /// The program that it belongs to.
    pub fn program(&self) -> &Program {
        &self.0.program
    }

    /// The same function, run with other options.
    ///
    /// # Errors
    /// The engine is LLVM, and there is none.
    pub fn with(&self, options: HostOptions) -> Result<Function, Error> {
        let place = self.0.place;
        Function::new(&self.0.program, options, |world| Ok(world.definitions[place].entry.clone()))
    }

    /// The options of its calls.
    pub fn options(&self) -> &HostOptions {
        &self.0.options
    }

    // Derivatives

    /// The gradient by these arguments, of a function to Real: of one argument its tangent, of several a tuple.
    ///
    /// # Errors
    /// The function is not one to Real, has no such argument, or takes or gives functions.
    pub fn grad(&self, arguments: &[usize]) -> Result<Function, Error> {
        self.by(By::Gradient, arguments, "grad")
    }

    /// Value and gradient by these arguments, of a function to Real.
    ///
    /// # Errors
    /// As for [`Function::grad`].
    pub fn value_and_grad(&self, arguments: &[usize]) -> Result<Function, Error> {
        self.by(By::ValueAndGradient, arguments, "value_and_grad")
    }

    /// The function of the arguments and a cotangent of the result that gives the value and the pullback of the cotangent
    /// to these arguments: reverse mode.
    ///
    /// # Errors
    /// The function has no such argument, or takes or gives functions.
    pub fn vjp(&self, arguments: &[usize]) -> Result<Function, Error> {
        self.by(By::Vjp, arguments, "vjp")
    }

    /// The function of the arguments and a tangent of these arguments that gives the value and its derivative along the
    /// tangent: forward mode.
    ///
    /// # Errors
    /// As for [`Function::vjp`].
    pub fn jvp(&self, arguments: &[usize]) -> Result<Function, Error> {
        self.by(By::Jvp, arguments, "jvp")
    }

    /// All derivatives in `k` variables up to order `r`, from and to arrays of derivatives for each Real.
    ///
    /// # Errors
    /// There is no type for the jets of its types, or it takes or gives functions.
    pub fn jet(&self, k: u32, r: u32) -> Result<Function, Error> {
        self.derived("jet", self.ty(), |entry| {
            asked(&entry.program, entry.global, Asked::Jet { k, r }, None)
                .ok_or_else(|| "there are no jets of its types".to_string())
        })
    }

    fn by(&self, what: By, arguments: &[usize], name: &str) -> Result<Function, Error> {
        let (from, to) = self.sides();
        let count = from.arguments().len();
        let needs_real = matches!(what, By::Gradient | By::ValueAndGradient);
        if needs_real && *to != Type::Real {
            let message = format!(
                "a gradient needs a function to Real; `{}` is {}: take `vjp` or `jvp`",
                self.name(),
                self.signature()
            );
            return Err(Error::new("entry-type", message));
        }
        if let Some(i) = arguments.iter().find(|i| **i >= count) {
            let message = format!(
                "`{}: {}` has {count} arguments, and none of number {i}",
                self.name(),
                self.signature()
            );
            return Err(Error::new("argument", message));
        }
        let all = from.arguments();
        let chosen = match arguments {
            [i] => all[*i].clone(),
            several => Type::Tuple(several.iter().map(|i| all[*i].clone()).collect()),
        };
        let pair = |a: &Type, b: &Type| Type::Tuple([a.clone(), b.clone()].into());
        let sides = match what {
            By::Gradient => (from.clone(), chosen),
            By::ValueAndGradient => (from.clone(), pair(to, &chosen)),
            By::Vjp => (pair(from, to), pair(to, &chosen)),
            By::Jvp => (pair(from, &chosen), pair(to, to)),
        };
        let arguments = arguments.to_vec();
        self.derived(name, &Type::Function(Arc::new(sides)), move |entry| {
            let all = match super::sides(&entry.ty).0 {
                Ty::Tuple(parts) => parts.to_vec(),
                ty => vec![ty.clone()],
            };
            if !arguments.iter().any(|i| mentions_real(&all[*i], &entry.program)) {
                let named: Vec<String> = arguments.iter().map(usize::to_string).collect();
                return Err(format!(
                    "no Real to differentiate by is in argument {}",
                    named.join(", ")
                ));
            }
            derivative_by(&entry.program, entry.global, what, &arguments)
                .ok_or_else(|| "no arguments to differentiate by were named".to_string())
        })
    }

    /// A derived function: the fields of its type are in the order of a type that is `like` it.
    fn derived(
        &self,
        name: &str,
        like: &Type,
        make: impl FnOnce(
                &Entry,
            )
                -> Result<(diffeo_calculus::Program, diffeo_calculus::term::GlobalId), String>
            + Send,
    ) -> Result<Function, Error> {
        let message =
            |why: &str| format!("`{}: {}` has no {name}: {why}", self.name(), self.signature());
        let (place, message) = (self.0.place, &message);
        Function::new(&self.0.program, self.0.options.clone(), move |world| {
            let entry = &world.definitions[place].entry;
            let (from, to) = sides(&entry.ty);
            let program = &entry.program;
            let data = |ty: &Ty| first_order(ty, program);
            if !matches!(entry.ty, Ty::Fun(_)) || !data(from) || !data(to) {
                return Err(Error::new("entry-type", message("it is no function of data to data")));
            }
            let (program, global) =
                make(entry).map_err(|why| Error::new("entry-type", message(&why)))?;
            let ty = program.globals[global.0 as usize].ty.clone();
            let name = diffeo_base::Name::from(format!("{name}({})", entry.name));
            let mut interface = diffeo_front::Interface::of_core(&ty, &program.datas);
            interface.ty = interface.ty.in_order_of(like);
            interface.text = interface.ty.signature();
            if sides(&ty).0 == from {
                interface.parameters = entry.interface.parameters.clone();
            }
            let interface = Rc::new(interface);
            let (program, span) = (Rc::new(program), entry.span);
            Ok(Entry { program, global, ty, name, span, interface })
        })
    }

    // Calls

    /// The function at an argument; several are a tuple.
    ///
    /// # Errors
    /// The argument is not of the function's type, the program stops, or its result is no `R`.
    pub fn call<R: FromDiffeo>(&self, argument: impl ToDiffeo) -> Result<R, Error> {
        let value = self.evaluate(&argument.to_value())?;
        R::from_value(value).map_err(|mismatch| {
            let (name, signature) = (self.name(), self.signature());
            let why = mismatch.explain();
            let message =
                format!("a result of `{name}: {signature}` is asked for as another type: {why}");
            Error::new("result", message)
        })
    }

    /// The value of the function at an argument.
    ///
    /// # Errors
    /// The argument is not of the function's type, or the program stops.
    pub fn evaluate(&self, argument: &Value<'_>) -> Result<Value<'static>, Error> {
        self.evaluate_until(argument, None)
    }

    /// As [`Function::evaluate`]; another thread may end this call alone by setting a flag.
    ///
    /// # Errors
    /// As for [`Function::evaluate`].
    pub fn evaluate_until(
        &self,
        argument: &Value<'_>,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Value<'static>, Error> {
        let mut limits = self.0.options.limits();
        limits.interrupt = interrupt.or(limits.interrupt);
        self.evaluate_within(argument, limits)
    }

    /// As [`Function::evaluate`]; while it runs, it asks now and then, on this thread, which bound is reached.
    ///
    /// # Errors
    /// As for [`Function::evaluate`].
    pub fn evaluate_asking(
        &self,
        argument: &Value<'_>,
        host: Option<fn() -> Option<Exceeded>>,
    ) -> Result<Value<'static>, Error> {
        self.evaluate_within(argument, Limits { host, ..self.0.options.limits() })
    }

    fn evaluate_within(
        &self,
        argument: &Value<'_>,
        limits: Limits,
    ) -> Result<Value<'static>, Error> {
        let native = self.native_within(&limits);
        let native = native.map_err(|bound| Error::new(bound.code(), bound.message()))?;
        let Some(native) = native else { return self.evaluated(argument, [0; 2], limits, None) };
        let mut called = self.compiled(native, argument, [0; 2], limits.clone());
        if let Err(Failed::Room(_, printed)) = called {
            if let Some(native) = self.checkpointed() {
                called = self.compiled(native, argument, printed, limits.clone());
            }
        }
        match called {
            Ok(value) => Ok(value),
            Err(Failed::Misfit(why)) => Err(self.misfit(&why)),
            Err(Failed::Again(printed)) => self.evaluated(argument, printed, limits, None),
            Err(Failed::Value(error, printed)) => self
                .evaluated(argument, printed, limits, Some(BRIEF))
                .map_err(|_| self.stopped(&error)),
            Err(Failed::Stopped(error) | Failed::Room(error, _)) => Err(self.stopped(&error)),
        }
    }

    /// Compiles the function now, which the first call does otherwise. Gives whether there is machine code for it.
    pub fn prepare(&self) -> bool {
        self.native().is_some()
    }

    fn native(&self) -> Option<&Native> {
        let most = || residuals(&self.0.options.limits());
        self.0.native.get_or_init(|| self.compile(most())).as_ref().ok()
    }

    /// The code with checkpoints in loops, which keeps less.
    fn checkpointed(&self) -> Option<&Native> {
        self.0.checkpointed.get_or_init(|| self.compile(Residuals::Checkpoints)).as_ref().ok()
    }

    /// Why the evaluator runs calls, if it does although its options ask for machine code. The function is compiled first.
    pub fn not_compiled(&self) -> Option<&str> {
        self.prepare();
        let made = self.0.native.get()?;
        made.as_ref().err().and_then(|NotCompiled(why)| why.as_deref())
    }

    /// The warnings of the calls since this was last asked, such as a derivative that is nan.
    pub fn take_warnings(&self) -> Vec<Message> {
        let warnings = std::mem::take(&mut *lock(&self.0.warnings));
        self.0.program.world.with(move |world| {
            let sources = world.session.sources();
            let message = |warning: RuntimeWarning| Message::new(sources, &warning.to_diagnostic());
            warnings.into_iter().map(message).collect()
        })
    }

    /// The machine code, if there is some. Where the call is bounded, another thread compiles; it goes on if the call
    /// ends before, because compilers cannot be stopped, and the next call finds what it has made.
    fn native_within(&self, limits: &Limits) -> Result<Option<&Native>, Exceeded> {
        let limits = Limits { memory: None, ..limits.clone() };
        let done = || self.0.native.get().is_some();
        if !limits.is_none() && !done() {
            let own = self.clone();
            let compile = move || _ = own.prepare();
            let worker = std::thread::Builder::new().name("diffeo-compile".into()).spawn(compile);
            let mut pause = Duration::from_micros(100);
            while worker.as_ref().is_ok_and(|worker| !worker.is_finished()) {
                limits.check()?;
                std::thread::sleep(pause);
                pause = (pause * 2).min(MOST_PAUSE);
            }
        }
        Ok(self.native())
    }

    fn compile(&self, residuals: Residuals) -> Result<Native, NotCompiled> {
        let options = &self.0.options;
        let backend = match options.engine {
            _ if options.kinks != Kinks::Ignore => return Err(NotCompiled(None)),
            Engine::Auto if llvm::library().is_ok() => Backend::Llvm,
            Engine::Auto => Backend::Jit,
            Engine::Compiled(backend) => backend,
            Engine::Reference | Engine::Papers(_) | Engine::Flat => return Err(NotCompiled(None)),
        };
        let (place, limits) = (self.0.place, Limits::default());
        let lowered = self.0.program.world.with(move |world| {
            let Entry { program, global, .. } = &world.definitions[place].entry;
            let options = LowerOptions { residuals, ..LowerOptions::default() };
            let lowered = pipeline::flat_with(program, *global, options, &mut |_| {});
            let Lowered { module, layout } =
                lowered.map_err(|why| why.reason(world.session.sources()))?;
            let layout = postcard::to_stdvec(&layout).map_err(|why| why.to_string())?;
            let low = pipeline::low(module, backend.lowering());
            let spends = residuals != Residuals::Checkpoints && differentiates(program, *global);
            Ok((low, layout, has_rules(program, *global), spends))
        });
        let (low, layout, rules, spends) = lowered.map_err(|why: String| NotCompiled(Some(why)))?;
        // Others may use the program meanwhile.
        let compiled = match pipeline::compile(&low, backend, Cpu::default(), &limits) {
            Err(_) if options.engine == Engine::Auto => {
                let low = pipeline::low(low.flat.clone(), Backend::Jit.lowering());
                pipeline::compile(&low, Backend::Jit, Cpu::default(), &limits)
            }
            compiled => compiled,
        };
        let compiled = compiled.map_err(|why| NotCompiled(Some(why.to_string())))?;
        Ok(Native { compiled: Arc::new(compiled), layout, rules, spends, pool: Mutex::default() })
    }

    /// The value by machine code.
    fn compiled(
        &self,
        native: &Native,
        argument: &Value<'_>,
        printed: [u64; 2],
        limits: Limits,
    ) -> Result<Value<'static>, Failed> {
        let leased = lock(&native.pool).pop();
        let lease = match leased {
            Some(lease) => lease,
            None => match self.lease(native) {
                Some(lease) => lease,
                None => return Err(Failed::Again(printed)),
            },
        };
        let called = lease.with(|running| running.call(argument, printed, limits));
        lock(&native.pool).push(lease);
        called
    }

    fn lease(&self, native: &Native) -> Option<Lease> {
        Confined::try_new(|| self.run_of(native).ok_or(())).ok()
    }

    /// Memory to run it, for one thread, if there is machine code for it.
    pub(super) fn running(&self) -> Option<Running> {
        self.run_of(self.native()?)
    }

    /// As [`Function::running`], of the code with checkpoints.
    pub(super) fn running_checkpointed(&self) -> Option<Running> {
        self.run_of(self.checkpointed()?)
    }

    fn run_of(&self, native: &Native) -> Option<Running> {
        let inner = &*self.0;
        let layout: Layout = postcard::from_bytes(&native.layout).ok()?;
        let printed = Arc::<Printed>::default();
        let options = inner.options.run(&printed, &inner.warnings);
        let Options { max_stack, events, limits, kinks: _ } = options;
        let options = RunOptions { max_stack, limits, events };
        let instance = Instance::new(native.compiled.clone(), options);
        let (from, to) = (layout.from.clone().unwrap_or(Ty::Unit), layout.to.clone());
        let Native { rules, spends, .. } = *native;
        let arguments = Arguments::default();
        Some(Running { layout, from, to, instance, rules, spends, printed, arguments })
    }

    pub(super) fn misfit(&self, why: &str) -> Error {
        let (name, signature) = (self.name(), self.signature());
        Error::new("argument", format!("the argument of `{name}: {signature}` does not fit: {why}"))
    }

    /// Uses the session and the definition.
    pub(super) fn defined<R: Send>(
        &self,
        work: impl FnOnce(&crate::session::Session, &Entry) -> R + Send,
    ) -> R {
        let place = self.0.place;
        self.0
            .program
            .world
            .with(move |world| work(&world.session, &world.definitions[place].entry))
    }

    pub(super) fn stopped(&self, error: &RuntimeError) -> Error {
        let diagnostic = error.to_diagnostic();
        let message = |world: &mut World| Message::new(world.session.sources(), &diagnostic);
        Error::one(self.0.program.world.with(message))
    }

    /// The value by the evaluator, after compiled code has printed and reported so much; in at most so many operations.
    pub(super) fn evaluated(
        &self,
        argument: &Value<'_>,
        printed: [u64; 2],
        limits: Limits,
        most: Option<u64>,
    ) -> Result<Value<'static>, Error> {
        let inner = &*self.0;
        inner.program.world.with(|world| {
            let Definition { entry, machine } = &mut world.definitions[inner.place];
            let (from, to) = sides(&entry.ty);
            let code = ValueTypes { datas: &entry.program.datas };
            let is_function = matches!(entry.ty, Ty::Fun(_));
            let given = match is_function {
                true => code.core(argument, from).map_err(|m| self.misfit(&m.explain()))?,
                false => Core::Unit,
            };
            if has_interval(&given) && inner.options.kinks != Kinks::Enclose {
                return Err(self.misfit(INTERVAL));
            }
            inner.printed.begin(printed);
            let machine = machine.get_or_insert_with(|| {
                let options = inner.options.run(&inner.printed, &inner.warnings);
                Machine::new(entry.program.clone(), options)
            });
            machine.begin(limits);
            machine.set_budget(most.map_or(u64::MAX, |most| machine.operations() + most));
            let run = || {
                let value = machine.eval_global(entry.global)?;
                if is_function {
                    machine.evaluate(&value, given)
                } else {
                    Ok(value)
                }
            };
            let result = run();
            let sources = world.session.sources();
            match result {
                Ok(value) => Ok(code.host(&value, to)),
                Err(error) => Err(Error::one(Message::new(sources, &error.to_diagnostic()))),
            }
        })
    }
}

/// Why a call of compiled code gave no value.
pub(super) enum Failed {
    Misfit(String),
    /// The evaluator begins again, after so much was printed and reported.
    Again([u64; 2]),
    /// The evaluator begins again for a value; if there is none, this is the error.
    Value(Box<RuntimeError>, [u64; 2]),
    /// Code with checkpoints begins again, after so much was printed and reported; without it, this is the error.
    Room(Box<RuntimeError>, [u64; 2]),
    Stopped(Box<RuntimeError>),
}

impl Running {
    /// Why a call gave no value.
    pub fn failed(&self, error: RuntimeError) -> Failed {
        let Running { rules, spends, .. } = *self;
        match next(Some(&error), false, || rules) {
            Next::Checkpoints if spends => Failed::Room(Box::new(error), self.printed.most()),
            Next::Stands | Next::Checkpoints => Failed::Stopped(Box::new(error)),
            Next::Evaluator(_) => Failed::Again(self.printed.most()),
            Next::Value(_) => Failed::Value(Box::new(error), self.printed.most()),
        }
    }

    fn call(
        &mut self,
        argument: &Value<'_>,
        before: [u64; 2],
        limits: Limits,
    ) -> Result<Value<'static>, Failed> {
        let Running { layout, from, to, instance, printed, arguments: kept, .. } = self;
        let mut arguments = std::mem::take(kept).again();
        if layout.from.is_some() {
            let added = arguments.add(layout, argument, from);
            added.map_err(|misfit| Failed::Misfit(misfit.explain()))?;
        }
        instance.set_limits(limits);
        printed.begin(before);
        let called = arguments
            .with(|args| instance.call_with(args, |results| result(layout, results, to, &mut 0)));
        *kept = arguments.again();
        called.map_err(|error| self.failed(error))
    }
}
