//! The evaluator of Flat.

use super::{argument, messages, numbers, BenchEngine, CompiledEntry};
use crate::case::OwnedValue;
use crate::run::Prepared;
use diffeo::{pipeline, Entry, Options, Session};
use diffeo_array::eval::FlatEvaluator;
use diffeo_array::value::FlatValue;
use diffeo_lower::value::Layout;
use diffeo_lower::Lowered;

/// The evaluator of Flat, after all passes.
pub struct Flat;

impl BenchEngine for Flat {
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
    ) -> Result<Box<dyn CompiledEntry + 'a>, String> {
        let lowered = pipeline::flat(&entry.program, entry.global, &mut |_| {});
        let Lowered { module, layout } =
            lowered.map_err(|why| messages(session, &[why.to_diagnostic(entry.span)]))?;
        let evaluator = FlatEvaluator::new(module.into(), Options::default());
        Ok(Box::new(FlatReady { entry, evaluator, layout }))
    }
}

struct FlatReady<'a> {
    entry: &'a Entry,
    evaluator: FlatEvaluator,
    layout: Layout,
}

impl CompiledEntry for FlatReady<'_> {
    fn prepare(self: Box<Self>, value: &OwnedValue) -> Result<Box<dyn Prepared>, String> {
        let arguments = self.layout.arguments(&argument(self.entry, value)?);
        let (evaluator, layout, entry) = (self.evaluator, self.layout, self.entry.clone());
        Ok(Box::new(FlatCall { entry, evaluator, layout, arguments, results: Vec::new() }))
    }
}

struct FlatCall {
    entry: Entry,
    evaluator: FlatEvaluator,
    layout: Layout,
    arguments: Vec<FlatValue>,
    results: Vec<FlatValue>,
}

impl Prepared for FlatCall {
    fn call(&mut self) -> Result<(), String> {
        let results = self.evaluator.run(self.arguments.clone());
        self.results = results.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        numbers(&self.entry, &self.layout.result(self.results.clone()))
    }
}
