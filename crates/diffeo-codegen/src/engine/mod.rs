//! The interface of compiled code: a program that can be called, whichever engine compiled it.
//!
//! [`Compiled`] is the code, which any number of threads may share; an [`Instance`] runs it, one call at a time, with
//! memory and constants of its own. Programs run on a stack of their own, so that recursion is as deep as its size
//! allows. A call allocates nothing beyond what the program itself makes.
//!
//! | file | what is in it |
//! |---|---|
//! | `cpu.rs` | the processors that code is made for |
//! | `stack.rs` | the stack, and how much of it programs need |
//! | `watch.rs` | the thread that ends runs |
//! | `values.rs` | arguments and results |

mod cpu;
mod stack;
mod values;
mod watch;

pub use cpu::Cpu;
pub(crate) use stack::on_stack;
pub use stack::stack_margin;
pub use watch::{Overseer, Verdict};

use crate::low::{LowModule, Raise, BYTES, DATA};
use crate::runtime::{Context, OpenCall, Owned};
use diffeo_array::ir::{ConstantId, FlatTy, FunctionId, SiteId};
use diffeo_array::report::{self, report, ErrorOperand, Why};
use diffeo_array::value::FlatValue;
use diffeo_calculus::eval::{lost, Events, Exceeded, Limits, RuntimeError};
use hashbrown::HashMap;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use values::Face;
pub use values::{Arg, Results};

/// Why a program could not be compiled.
#[derive(Clone, Debug)]
pub enum CompileError {
    /// The engine cannot do it here, or not of this size.
    Unsupported(String),
    /// A limit of the run was reached meanwhile.
    Exceeded(Exceeded),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Unsupported(reason) => f.write_str(reason),
            CompileError::Exceeded(bound) => write!(f, "{}, while compiling", bound.message()),
        }
    }
}

impl std::error::Error for CompileError {}

/// A program as callers see it: the context, the words of the arguments and of the results. Gives 0, or another
/// number if the program has failed.
pub type EntryFn = unsafe extern "C" fn(*mut Context, *const u64, *mut u64) -> i64;

/// The errors of a program, by the index that compiled code gives.
#[derive(Default)]
pub struct Raises {
    /// The errors.
    pub list: Vec<Raise>,
    index: HashMap<Raise, i64>,
}

impl Raises {
    /// The index of an error.
    pub fn index(&mut self, raise: &Raise) -> i64 {
        if let Some(index) = self.index.get(raise) {
            return *index;
        }
        let index = self.list.len() as i64;
        self.list.push(raise.clone());
        self.index.insert(raise.clone(), index);
        index
    }
}

/// A compiled program.
pub struct Compiled {
    module: Arc<LowModule>,
    raises: Vec<Raise>,
    entry: EntryFn,
    /// How much of the stack is needed where no function tests it.
    margin: usize,
    /// How many statements of Low it was made of.
    statements: usize,
    face: Face,
    /// What keeps the code in memory.
    _code: Box<dyn Any + Send + Sync>,
}

impl Compiled {
    /// A program with its errors by index, its entry, and what [`stack_margin`] says of it.
    ///
    /// # Safety
    /// The entry is that of the module, compiled as [`low`](crate::low) and [`runtime`](crate::runtime) say, and
    /// it can be called as long as `code` lives.
    pub unsafe fn new(
        module: Arc<LowModule>,
        raises: Vec<Raise>,
        entry: EntryFn,
        margin: usize,
        code: Box<dyn Any + Send + Sync>,
    ) -> Compiled {
        let (face, statements) = (Face::new(&module), module.statements());
        Compiled { module, raises, entry, margin, statements, face, _code: code }
    }

    /// Sets the number of statements, for a module whose functions are not there any more.
    pub(crate) fn of_statements(self, statements: usize) -> Compiled {
        Compiled { statements, ..self }
    }

    /// How many statements of Low it was made of.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// What it was compiled from.
    pub fn module(&self) -> &Arc<LowModule> {
        &self.module
    }
}

/// How a program is to be run.
pub struct RunOptions {
    /// How many bytes of the stack open calls may take.
    pub max_stack: usize,
    /// What the run may take.
    pub limits: Limits,
    /// Takes what the program prints and reports.
    pub events: Events,
}

impl Default for RunOptions {
    /// Open calls may take 1 GiB; nothing else is bounded, and what is printed is lost.
    fn default() -> RunOptions {
        RunOptions { max_stack: 1 << 30, limits: Limits::default(), events: lost() }
    }
}

/// Where a program stopped, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Stopped {
    /// Why it stopped.
    pub raise: Raise,
    /// The words of the operands that the error names.
    pub operands: [u64; 3],
    /// The operand, if it is a text.
    pub text: Option<String>,
    /// The bound that was reached, for [`Raise::Stopped`] and [`Raise::Memory`]. Without one the stack is used up.
    pub exceeded: Option<Exceeded>,
    /// The statement, in the innermost function.
    pub site: SiteId,
    /// The innermost open calls, innermost first.
    pub innermost: Vec<OpenCall>,
    /// How many open calls are left out after them.
    pub skipped: usize,
    /// The outermost open calls, innermost first.
    pub outermost: Vec<OpenCall>,
}

impl Stopped {
    /// The error as the evaluator reports it.
    pub fn report(self, module: &LowModule) -> RuntimeError {
        let [a, b, c] = self.operands.map(|word| ErrorOperand::Int(word as i64));
        let text = || vec![ErrorOperand::Text(self.text.clone().unwrap_or_default())];
        let exceeded = self.exceeded.unwrap_or(Exceeded::Interrupt);
        let (why, operands) = match self.raise {
            Raise::Int(op) => (Why::Int(op), vec![a, b]),
            Raise::Round(rounding) => {
                (Why::Round(rounding), vec![ErrorOperand::Real(f64::from_bits(self.operands[0]))])
            }
            Raise::Index => (Why::Index, vec![a, b]),
            Raise::Slice => (Why::Slice, vec![a, b, c]),
            Raise::Count => (Why::Count, vec![a]),
            Raise::Size(what) => (Why::Size(what), vec![a, b]),
            Raise::Rows => (Why::Rows, vec![a, b]),
            Raise::Fail => (Why::Fail, text()),
            Raise::Shape(what) => (Why::Shape(what), text()),
            Raise::Nan => (Why::Nan, vec![]),
            Raise::Order => (Why::Order, vec![]),
            Raise::Cycle(constant) => (Why::Cycle(ConstantId(constant)), vec![]),
            Raise::Memory => (Why::Exceeded(exceeded), vec![]),
            Raise::Stopped if self.exceeded.is_some() => (Why::Exceeded(exceeded), vec![]),
            Raise::Stopped => (Why::TooDeep, vec![]),
        };
        let calls = |open: Vec<OpenCall>| {
            open.into_iter()
                .map(|open| report::OpenCall {
                    function: FunctionId(open.function.0),
                    site: open.site,
                })
                .collect()
        };
        let calls = report::OpenCalls {
            inner: calls(self.innermost),
            skipped: self.skipped,
            outer: calls(self.outermost),
        };
        let root = module.flat.entry;
        report(&module.flat, report::Failure { why, operands, site: self.site, calls, root })
    }
}

/// A program with the memory to run it.
pub struct Instance {
    compiled: Arc<Compiled>,
    context: Owned,
    limits: Limits,
    /// See [`Instance::oversee`].
    overseer: Option<Overseer>,
    max_stack: usize,
    /// The words of arguments and results, to be used again.
    words: Vec<u64>,
    /// See [`Instance::allocations`].
    allocations: u64,
}

impl Instance {
    /// A program that has not run yet.
    pub fn new(compiled: Arc<Compiled>, options: RunOptions) -> Instance {
        let mut context = Owned::new(compiled.module.clone(), options.events);
        context.set_memory_limit(options.limits.memory);
        context.set_host(options.limits.host);
        let threads = options.limits.threads();
        context.set_threads(threads, options.max_stack, compiled.margin);
        Instance {
            compiled,
            context,
            limits: options.limits,
            overseer: None,
            max_stack: options.max_stack,
            words: Vec::new(),
            allocations: 0,
        }
    }

    /// The program.
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// Changes what the following calls may take.
    pub fn set_limits(&mut self, limits: Limits) {
        self.context.set_memory_limit(limits.memory);
        self.context.set_host(limits.host);
        self.context.set_threads(limits.threads(), self.max_stack, self.compiled.margin);
        self.limits = limits;
    }

    /// From now on an overseer decides about runs by their work, if the code counts it. A run beyond the bound prints
    /// and reports nothing, but ends.
    pub fn oversee(&mut self, bound: u64, overseer: Overseer) {
        self.context.work().set_bound(bound);
        self.overseer = Some(overseer);
    }

    /// Removes the overseer.
    pub fn free(&mut self) {
        self.context.work().set_bound(u64::MAX);
        self.overseer = None;
    }

    /// The work that all calls have done, if the code counts it. For calls that succeeded, it depends on the program
    /// and its arguments alone.
    pub fn work(&self) -> u64 {
        self.context.work().done()
    }

    /// Whether the last call has kept back what it was to print: see [`Instance::oversee`].
    pub fn silent(&self) -> bool {
        self.context.work().silent()
    }

    /// The number of live blocks: 0 if all results and the constants were released.
    pub fn live_blocks(&mut self) -> usize {
        self.context.blocks().1
    }

    /// How many blocks the last call allocated besides its arguments, its results and constants.
    pub fn allocations(&self) -> u64 {
        self.allocations
    }

    /// How many blocks were made so far: the memory that programs take is tested by counting.
    pub fn made_blocks(&mut self) -> u64 {
        self.context.memory().made()
    }

    /// Releases the constants; a later call computes them again.
    pub fn release_constants(&mut self) {
        self.context.release_constants();
    }

    /// Calls the program.
    ///
    /// # Errors
    /// What the program stopped for, as the evaluator reports it.
    pub fn call(&mut self, args: &[FlatValue]) -> Result<Vec<FlatValue>, RuntimeError> {
        let args: Vec<Arg<'_>> = args.iter().map(Arg::Value).collect();
        self.call_with(&args, |results| (0..results.len()).map(|i| results.value(i)).collect())
    }

    /// Calls the program; `take` is shown the results, which are released behind it.
    ///
    /// # Errors
    /// What the program stopped for, as the evaluator reports it.
    pub fn call_with<R>(
        &mut self,
        args: &[Arg<'_>],
        take: impl FnOnce(&Results<'_>) -> R,
    ) -> Result<R, RuntimeError> {
        let compiled = self.compiled.clone();
        self.call_args(args, take).map_err(|stopped| stopped.report(&compiled.module))
    }

    fn call_args<R>(
        &mut self,
        args: &[Arg<'_>],
        take: impl FnOnce(&Results<'_>) -> R,
    ) -> Result<R, Box<Stopped>> {
        let compiled = self.compiled.clone();
        let (module, face) = (&compiled.module, &compiled.face);
        let fits = args.iter().zip(&face.params).all(|(arg, ty)| arg.has_type(ty));
        if !fits || args.len() != face.params.len() {
            return Err(self.without_a_run(Raise::Fail, Some(MISTYPED)));
        }
        let mut words = std::mem::take(&mut self.words);
        let sizes = |types: &[FlatTy]| types.iter().map(values::words).sum::<usize>();
        let (params, results) = (sizes(&face.params), sizes(&face.results));
        words.clear();
        words.resize(params + results, 0);
        let mut at = 0;
        for (arg, ty) in args.iter().zip(&face.params) {
            // SAFETY: there is room for the words of all parameters.
            let written = unsafe {
                let to = words.as_mut_ptr().add(at);
                arg.write(module, face, &mut self.context, ty, to)
            };
            if written.is_err() {
                self.context.reset();
                return Err(self.without_a_run(Raise::Memory, None));
            }
            at += values::words(ty);
        }
        let (given, taken) = words.split_at_mut(params);
        let (allocated, live) = self.context.blocks();
        // SAFETY: these are the words of the parameters, and there is room for the results.
        unsafe { self.call_words(given, taken) }?;
        let after = self.context.blocks();
        let kept = after.1.saturating_sub(live) as u64;
        self.allocations = (after.0 - allocated).saturating_sub(kept);
        // SAFETY: the program has given the words of its results, whose blocks are live.
        let found = take(&unsafe { Results::new(module, face, taken) });
        self.release(&face.results, taken);
        self.release(&face.params, given);
        self.words = words;
        Ok(found)
    }

    /// Gives up the references of values of these types.
    fn release(&mut self, types: &[FlatTy], words: &[u64]) {
        let (memory, layouts) = self.context.memory_and_layouts();
        let mut at = 0;
        for ty in types {
            if values::refers(ty) {
                // SAFETY: the word refers to a live block of the memory, or is null, and was counted.
                unsafe { memory.release(layouts, words[at] as *mut u8) };
            }
            at += values::words(ty);
        }
    }

    /// Calls the program with the words of its arguments. After an error its memory is empty.
    ///
    /// # Errors
    /// What the program stopped for.
    ///
    /// # Safety
    /// The words are those of the parameters of the entry, those of the results have room for its results,
    /// and references among the arguments are to live blocks of [`Instance::context`], or are null where
    /// arrays belong to the caller.
    pub unsafe fn call_words(
        &mut self,
        args: &[u64],
        results: &mut [u64],
    ) -> Result<(), Box<Stopped>> {
        let (entry, context) = (self.compiled.entry, self.context.as_ptr());
        let end = self.context.stack_end();
        let work = self.context.work();
        work.begin();
        let watched = watch::watch(&self.limits, self.overseer.as_ref(), end, work);
        let status = stack::on_stack(self.max_stack, self.compiled.margin, |stack_end| {
            end.begin(stack_end);
            let here = 0u8;
            // SAFETY: nothing runs yet.
            unsafe { Context::begin(context, std::ptr::from_ref(&here) as usize, stack_end) };
            // SAFETY: the entry is that of the module, whose context this is; the rest is the caller's part.
            unsafe { entry(context, args.as_ptr(), results.as_mut_ptr()) }
        });
        let exceeded = watched.end();
        let (end, stop) = self.context.stack_end().finish();
        let exceeded = exceeded.or(self.context.take_exceeded());
        let narrowed = self.context.memory().end(end) && !stop;
        // What is in use besides has used up the stack.
        let bytes = self.limits.memory.map_or(usize::MAX, |limit| limit.bytes);
        let exceeded = exceeded.or(narrowed.then_some(Exceeded::Memory(bytes)));
        if let Some(panic) = self.context.take_panic() {
            self.context.reset();
            std::panic::resume_unwind(panic);
        }
        match status {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.stopped(exceeded, stop || narrowed)),
            Err(_) => Err(self.without_a_run(Raise::Memory, None)),
        }
    }

    /// The error that the context has; frees all memory.
    #[cold]
    fn stopped(&mut self, exceeded: Option<Exceeded>, stop: bool) -> Box<Stopped> {
        let failure = self.context.failure();
        let raise = match self.compiled.raises.get(failure.raise as usize) {
            Some(raise) => raise.clone(),
            None => Raise::Stopped,
        };
        let text = match raise {
            Raise::Fail | Raise::Shape(_) => {
                // SAFETY: the operand of these is a live text.
                Some(unsafe { text_of(failure.operands[0] as *const u8) })
            }
            Raise::Int(_)
            | Raise::Round(_)
            | Raise::Index
            | Raise::Slice
            | Raise::Count
            | Raise::Size(_)
            | Raise::Rows
            | Raise::Nan
            | Raise::Order
            | Raise::Cycle(_)
            | Raise::Memory
            | Raise::Stopped => None,
        };
        let exceeded = match raise {
            Raise::Stopped if stop => Some(exceeded.unwrap_or(Exceeded::Interrupt)),
            Raise::Memory => {
                let limit = self.limits.memory.map_or(usize::MAX, |limit| limit.bytes);
                Some(Exceeded::Memory(limit))
            }
            Raise::Stopped
            | Raise::Fail
            | Raise::Shape(_)
            | Raise::Int(_)
            | Raise::Round(_)
            | Raise::Index
            | Raise::Slice
            | Raise::Count
            | Raise::Size(_)
            | Raise::Rows
            | Raise::Nan
            | Raise::Order
            | Raise::Cycle(_) => None,
        };
        let (innermost, outermost) = (failure.innermost().to_vec(), failure.outermost());
        let stopped = Stopped {
            raise,
            operands: failure.operands,
            text,
            exceeded,
            site: failure.site,
            skipped: failure.calls() - innermost.len() - outermost.len(),
            innermost,
            outermost,
        };
        self.context.reset();
        Box::new(stopped)
    }

    /// An error outside of the program.
    #[cold]
    fn without_a_run(&mut self, raise: Raise, text: Option<&str>) -> Box<Stopped> {
        let limit = self.limits.memory.map_or(usize::MAX, |limit| limit.bytes);
        Box::new(Stopped {
            raise,
            operands: [0; 3],
            text: text.map(str::to_string),
            exceeded: Some(Exceeded::Memory(limit)),
            site: crate::low::NOWHERE,
            innermost: Vec::new(),
            skipped: 0,
            outermost: Vec::new(),
        })
    }
}

/// The message if the caller gives other values than the program takes.
const MISTYPED: &str = "the program was called with values of other types";

/// The characters of a text.
///
/// # Safety
/// It is a live block with the layout of a text.
pub(crate) unsafe fn text_of(block: *const u8) -> String {
    // SAFETY: by the condition of the function.
    unsafe {
        let length = block.offset(BYTES as isize).cast::<u64>().read() as usize;
        let bytes = std::slice::from_raw_parts(block.offset(DATA as isize), length);
        String::from_utf8_lossy(bytes).into_owned()
    }
}
