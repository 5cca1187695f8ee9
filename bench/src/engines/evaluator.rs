//! The evaluator of Core.

use super::{argument, messages, numbers, BenchEngine, CompiledEntry};
use crate::case::OwnedValue;
use crate::run::Prepared;
use diffeo::{Entry, Options, Session};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::value::Value as Core;

/// The evaluator.
pub struct EvaluatorEngine;

impl BenchEngine for EvaluatorEngine {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn CompiledEntry + 'a>, String> {
        let mut machine = Machine::new(entry.program.clone(), Options::default());
        let function = machine.eval_global(entry.global);
        let function = function.map_err(|e| messages(session, &[session.explain(entry, &e)]))?;
        Ok(Box::new(EvaluatorReady { entry, machine, function }))
    }
}

struct EvaluatorReady<'a> {
    entry: &'a Entry,
    machine: Machine,
    function: Core,
}

impl CompiledEntry for EvaluatorReady<'_> {
    fn prepare(self: Box<Self>, value: &OwnedValue) -> Result<Box<dyn Prepared>, String> {
        let argument = argument(self.entry, value)?;
        let (machine, function, entry) = (self.machine, self.function, self.entry.clone());
        Ok(Box::new(EvaluatorCall { entry, machine, function, argument, result: Core::Unit }))
    }
}

struct EvaluatorCall {
    entry: Entry,
    machine: Machine,
    function: Core,
    argument: Core,
    result: Core,
}

impl Prepared for EvaluatorCall {
    fn call(&mut self) -> Result<(), String> {
        let result = self.machine.apply(&self.function, self.argument.clone());
        self.result = result.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        numbers(&self.entry, &self.result)
    }
}
