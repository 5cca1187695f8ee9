//! Programs compiled once and called many times.

use super::engine::{How, Ran};
use super::{auto, Engine, Unsupported};
use crate::pipeline::{self, timed, Backend, Timing};
use diffeo_array::value::FlatValue;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, Limits, Options, RuntimeError};
use diffeo_calculus::value::Value;
use diffeo_codegen::cranelift::{self, MachineCode};
use diffeo_codegen::engine::{Compiled, Instance, Overseer, RunOptions};
use diffeo_codegen::low;
use diffeo_lower::value::Layout;
use diffeo_lower::Lowered;
use std::sync::Arc;

/// An entry point in machine code, with the memory to run it. Its constants are computed by the first call
/// that needs them.
pub struct Prepared {
    layout: Layout,
    instance: Instance,
    engine: Engine,
    max_stack: usize,
    /// How much memory calls may take.
    memory: Option<usize>,
}

/// The machine code of a program, by an engine that makes some.
///
/// # Errors
/// The back end is not there, or cannot compile the program; the engine makes no machine code.
pub(super) fn compile(
    module: diffeo_array::ir::Module,
    how: How,
    limits: &Limits,
    times: &mut Vec<Timing>,
) -> Result<(Compiled, Engine), Unsupported> {
    let backend = match how.engine {
        Engine::Compiled(backend) => backend,
        Engine::Auto => return auto::compile(module, how.cpu).map_err(Unsupported::Engine),
        Engine::Reference | Engine::Papers(_) | Engine::Flat => {
            return Err(Unsupported::Engine("this engine makes no machine code".to_string()));
        }
    };
    let low = pipeline::timed_low(module, backend.lowering(), times);
    let compile = || pipeline::compile(&low, backend, how.cpu, limits);
    let compiled = timed(backend.name(), times, compile).map_err(Unsupported::from)?;
    Ok((compiled, how.engine))
}

/// Cranelift's code, for engine `auto` such that counts the work that it does; `keep` is shown it before it is put into
/// memory.
///
/// # Errors
/// Cranelift does not know this processor, or the program is too large.
pub(super) fn by_cranelift(
    module: diffeo_array::ir::Module,
    how: How,
    keep: impl FnOnce(&low::LowModule, &MachineCode),
    times: &mut Vec<Timing>,
) -> Result<Compiled, Unsupported> {
    let low = pipeline::timed_low(module, Backend::Jit.lowering(), times);
    let options = pipeline::cranelift_options(how.cpu, how.engine == Engine::Auto);
    let compiled = timed("jit", times, || {
        let code = cranelift::code(&low, &options)?;
        keep(&low, &code);
        code.load(low)
    });
    compiled.map_err(Unsupported::from)
}

/// The code with memory to run it.
fn instance(compiled: Compiled, options: Options) -> Instance {
    let Options { max_stack, events, limits, kinks: _ } = options;
    let options = RunOptions { max_stack, limits, events };
    Instance::new(Arc::new(compiled), options)
}

impl Prepared {
    pub(super) fn new(
        layout: Layout,
        compiled: Compiled,
        options: Options,
        engine: Engine,
    ) -> Prepared {
        let (max_stack, memory) = (options.max_stack, options.limits.memory);
        let (instance, memory) = (instance(compiled, options), memory.map(|memory| memory.bytes));
        Prepared { layout, instance, engine, max_stack, memory }
    }

    /// The machine code of a program.
    ///
    /// # Errors
    /// The back end is not there, or cannot compile the program.
    pub(super) fn compiled(
        lowered: Lowered,
        options: Options,
        how: How,
    ) -> Result<Prepared, Unsupported> {
        let Lowered { module, layout } = lowered;
        let (compiled, engine) = compile(module, how, &options.limits, &mut Vec::new())?;
        Ok(Prepared::new(layout, compiled, options, engine))
    }

    /// Puts other code of the same program in the place of this one.
    pub(super) fn replace(&mut self, compiled: Compiled, options: Options, engine: Engine) {
        self.engine = engine;
        self.instance = instance(compiled, options);
    }

    /// From now on, somebody decides about calls by the work that was done.
    pub(super) fn oversee(&mut self, bound: u64, overseer: Overseer) {
        self.instance.oversee(bound, overseer);
    }

    /// Nobody decides about calls any more.
    pub(super) fn free(&mut self) {
        self.instance.free();
    }

    /// The work that was done, if the code counts it.
    pub(super) fn work(&self) -> u64 {
        self.instance.work()
    }

    /// Whether the last call has kept back what it was to print.
    pub(super) fn silent(&self) -> bool {
        self.instance.silent()
    }

    /// Whose code it is: [`Engine::JIT`], [`Engine::LLVM`] or [`Engine::C`].
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Changes what the following calls may take.
    pub fn set_limits(&mut self, limits: Limits) {
        self.memory = limits.memory.map(|memory| memory.bytes);
        self.instance.set_limits(limits);
    }

    /// The argument as the values that the program takes; of a constant, `()`. Values that are used again need
    /// to be converted once.
    pub fn arguments(&self, arg: &Value) -> Vec<FlatValue> {
        self.layout.arguments(arg)
    }

    /// Calls the program.
    ///
    /// # Errors
    /// What stopped it.
    pub fn call(&mut self, args: &[FlatValue]) -> Result<Vec<FlatValue>, RuntimeError> {
        self.instance.call(args).map_err(|mut error| {
            // Open calls that may take all memory have taken it.
            if let (ErrorKind::TooDeep { .. }, Some(bytes)) = (&error.kind, self.memory) {
                if bytes <= self.max_stack {
                    error.kind = ErrorKind::Exceeded(Exceeded::Memory(bytes));
                }
            }
            error
        })
    }

    /// The value that results are.
    pub fn result(&self, results: Vec<FlatValue>) -> Value {
        self.layout.result(results)
    }

    /// How many blocks of memory the program holds besides its constants: none, if all is well.
    pub fn live_blocks(&mut self) -> usize {
        self.instance.release_constants();
        self.instance.live_blocks()
    }

    /// How many blocks of memory the last call allocated besides its results and constants.
    pub fn allocations(&self) -> u64 {
        self.instance.allocations()
    }

    pub(super) fn run(&mut self, arg: Option<Value>, mut times: Vec<Timing>) -> Ran {
        let args = self.arguments(&arg.unwrap_or(Value::Unit));
        let result = timed("run", &mut times, || self.call(&args));
        let result = result.map(|results| self.result(results));
        Ran { times, ..Ran::on(self.engine, result) }
    }
}
