//! The evaluator of Core.

use super::{argument, messages, numbers, Compiled, Engine};
use crate::case::Value;
use crate::run::Prepared;
use diffeo::{Entry, Options, Session};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::value::Value as Core;

/// The evaluator.
pub struct Evaluator;

impl Engine for Evaluator {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn Compiled + 'a>, String> {
        let mut machine = Machine::new(entry.program.clone(), Options::default());
        let function = machine.eval_global(entry.global);
        let function = function.map_err(|e| messages(session, &[session.explain(entry, &e)]))?;
        Ok(Box::new(Ready { entry, machine, function }))
    }
}

struct Ready<'a> {
    entry: &'a Entry,
    machine: Machine,
    function: Core,
}

impl Compiled for Ready<'_> {
    fn prepare(self: Box<Self>, value: &Value) -> Result<Box<dyn Prepared>, String> {
        let argument = argument(self.entry, value)?;
        let (machine, function, entry) = (self.machine, self.function, self.entry.clone());
        Ok(Box::new(Call { entry, machine, function, argument, result: Core::Unit }))
    }
}

struct Call {
    entry: Entry,
    machine: Machine,
    function: Core,
    argument: Core,
    result: Core,
}

impl Prepared for Call {
    fn call(&mut self) -> Result<(), String> {
        let result = self.machine.apply(&self.function, self.argument.clone());
        self.result = result.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        numbers(&self.entry, &self.result)
    }
}
