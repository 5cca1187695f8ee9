//! The engines of Diffeo, as far as they take a program whole and can be called again and again.

mod evaluator;

use crate::case::{Case, Kernel};
use crate::run::{Prepared, Runner};
use diffeo::{Diagnostic, Entry, Session, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// An engine.
pub trait Engine {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// An entry point compiled; the argument is converted afterwards.
    ///
    /// # Errors
    /// Why the engine cannot compile it.
    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn Compiled + 'a>, String>;
}

/// An entry point compiled.
pub trait Compiled {
    /// The entry point with its argument in the engine's own form.
    ///
    /// # Errors
    /// The argument does not fit.
    fn prepare(self: Box<Self>, argument: &Value) -> Result<Box<dyn Prepared>, String>;
}

/// All engines. A new one is added here.
pub fn all() -> Vec<Box<dyn Engine>> {
    vec![Box::new(evaluator::Evaluator)]
}

/// A program checked: what all engines start from.
pub struct Program {
    session: Session,
    entry: Entry,
    /// How long it took from the text to Core, the standard library aside.
    front_end: Duration,
}

fn messages(session: &Session, diagnostics: &[Diagnostic]) -> String {
    let one = |d: &Diagnostic| diffeo::Message::new(session.sources(), d).to_string();
    diagnostics.iter().map(one).collect::<Vec<String>>().join("\n")
}

impl Program {
    /// The program of a kernel.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(kernel: &Kernel) -> Result<Program, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let mut session = Session::new();
        let start = Instant::now();
        let module = session.load_file(&folder.join(format!("{}.deo", kernel.name)));
        let module = module.map_err(|e| messages(&session, &[e.to_diagnostic()]))?;
        session.check();
        let entry = session.entry(module, "main");
        let front_end = start.elapsed();
        let entry = entry.ok_or_else(|| messages(&session, &session.diagnostics()))?;
        Ok(Program { session, entry, front_end })
    }

    /// The program on an engine, ready for a case.
    ///
    /// # Errors
    /// Why the engine cannot run it.
    pub fn prepare(
        &self,
        engine: &dyn Engine,
        kernel: &Kernel,
        case: &Case,
    ) -> Result<Runner<'static>, String> {
        let start = Instant::now();
        let compiled = engine.compile(&self.session, &self.entry)?;
        let compile = self.front_end + start.elapsed();
        let prepared = compiled.prepare(&(kernel.argument)(case))?;
        Ok(Runner { name: engine.name().into(), compile, prepared })
    }
}
