//! Programs compiled once and called many times.

use super::engine::Ran;
use crate::lower::value::Interface;
use crate::lower::{Lowered, Unsupported};
use crate::pipeline::{self, Backend};
use diffeo_array::value::Value as FlatValue;
use diffeo_calculus::eval::{Limits, Options, RuntimeError};
use diffeo_calculus::value::Value;
use diffeo_codegen::engine::{Callbacks, Cpu, Instance, RunOptions};
use std::sync::Arc;

/// An entry point in machine code, with the memory to run it. Its constants are computed by the first call
/// that needs them.
pub struct Prepared {
    interface: Interface,
    instance: Instance,
}

impl Prepared {
    /// The machine code of a program.
    ///
    /// # Errors
    /// The back end is not there, or cannot compile the program.
    pub(super) fn new(
        lowered: Lowered,
        backend: Backend,
        cpu: Cpu,
        options: Options,
    ) -> Result<Prepared, Unsupported> {
        let Lowered { module, interface } = lowered;
        let compiled = pipeline::compile(&pipeline::low(module), backend, cpu)
            .map_err(|error| Unsupported::Engine(error.to_string()))?;
        let Options { max_stack, trace, progress, limits, kinks: _ } = options;
        let options = RunOptions { max_stack, limits, callbacks: Callbacks { trace, progress } };
        Ok(Prepared { interface, instance: Instance::new(Arc::new(compiled), options) })
    }

    /// Changes what the following calls may take.
    pub fn set_limits(&mut self, limits: Limits) {
        self.instance.set_limits(limits);
    }

    /// The argument as the values that the program takes; of a constant, `()`. Values that are used again need
    /// to be converted once.
    pub fn arguments(&self, arg: &Value) -> Vec<FlatValue> {
        self.interface.arguments(arg)
    }

    /// Calls the program.
    ///
    /// # Errors
    /// What stopped it.
    pub fn call(&mut self, args: &[FlatValue]) -> Result<Vec<FlatValue>, RuntimeError> {
        self.instance.call(args)
    }

    /// The value that results are.
    pub fn result(&self, results: Vec<FlatValue>) -> Value {
        self.interface.result(results)
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

    pub(super) fn run(&mut self, arg: Option<Value>) -> Ran {
        let args = self.arguments(&arg.unwrap_or(Value::Unit));
        let result = self.call(&args).map(|results| self.result(results));
        Ran { result, warnings: Vec::new(), operations: 0, unsupported: None }
    }
}
