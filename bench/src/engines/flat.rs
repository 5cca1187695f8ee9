//! The evaluator of Flat.

use super::{argument, messages, numbers, Compiled, Engine};
use crate::case::Value;
use crate::run::Prepared;
use diffeo::lower::value::Interface;
use diffeo::lower::Lowered;
use diffeo::{pipeline, Entry, Options, Session};
use diffeo_array::eval::Evaluator;
use diffeo_array::value::Value as Operand;

/// The evaluator of Flat, after all passes.
pub struct Flat;

impl Engine for Flat {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn for_tests(&self) -> bool {
        true
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn Compiled + 'a>, String> {
        let lowered = pipeline::flat(&entry.program, entry.global, &mut |_| {});
        let Lowered { module, interface } =
            lowered.map_err(|why| messages(session, &[why.to_diagnostic(entry.span)]))?;
        let evaluator = Evaluator::new(module.into(), Options::default());
        Ok(Box::new(Ready { entry, evaluator, interface }))
    }
}

struct Ready<'a> {
    entry: &'a Entry,
    evaluator: Evaluator,
    interface: Interface,
}

impl Compiled for Ready<'_> {
    fn prepare(self: Box<Self>, value: &Value) -> Result<Box<dyn Prepared>, String> {
        let arguments = self.interface.arguments(&argument(self.entry, value)?);
        let (evaluator, interface, entry) = (self.evaluator, self.interface, self.entry.clone());
        Ok(Box::new(Call { entry, evaluator, interface, arguments, results: Vec::new() }))
    }
}

struct Call {
    entry: Entry,
    evaluator: Evaluator,
    interface: Interface,
    arguments: Vec<Operand>,
    results: Vec<Operand>,
}

impl Prepared for Call {
    fn call(&mut self) -> Result<(), String> {
        let results = self.evaluator.run(self.arguments.clone());
        self.results = results.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        numbers(&self.entry, &self.interface.result(self.results.clone()))
    }
}
