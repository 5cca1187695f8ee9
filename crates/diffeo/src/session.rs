//! A session: the front end's, whose entry points are run.

mod attempt;
mod auto;
mod engine;
mod kept;
mod once;
mod prepared;
mod show;
mod unsupported;

use crate::pipeline::{self, Timing};
use diffeo_base::{field_name, Diagnostic, Span};
use diffeo_calculus::eval::{Kinks, Options, RuntimeError, RuntimeWarning};
use diffeo_calculus::leaves::has_interval;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_front::Entry;
use diffeo_lower::Refusal;
use std::ops::{Deref, DerefMut};

pub(crate) use attempt::{next, Next, BRIEF};
pub(crate) use engine::residuals;
pub(crate) use engine::{CompiledRun, Ran};
pub use engine::{Engine, How, PapersEngine};
pub(crate) use once::Once;
pub use prepared::Prepared;
pub use unsupported::Unsupported;

/// Programs being worked on: what [`diffeo_front::Session`] loads and checks, and how it is run. A copy of a new session
/// is made faster than another one.
#[derive(Clone, Default)]
pub struct Session(diffeo_front::Session);

impl Deref for Session {
    type Target = diffeo_front::Session;

    fn deref(&self) -> &diffeo_front::Session {
        &self.0
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut diffeo_front::Session {
        &mut self.0
    }
}

/// What a run gave.
pub struct Run {
    /// The value, or the error that stopped the program.
    pub result: Result<Value, Diagnostic>,
    /// What was reported on the way.
    pub warnings: Vec<Diagnostic>,
    /// How many operations were counted; machine code counts none.
    pub operations: Option<u64>,
    /// What gave the result.
    pub engine: Engine,
    /// Why the evaluator took the place of the engine, if it did.
    pub unsupported: Option<Unsupported>,
    /// What became of LLVM's code, where engine [`Engine::Auto`] tried it.
    pub note: Option<String>,
    /// How long the steps took.
    pub times: Vec<Timing>,
}

/// The refusal of an argument with an interval in it, where Reals are numbers.
pub fn refused_intervals(arg: &Value, kinks: Kinks) -> Option<Diagnostic> {
    if kinks == Kinks::Enclose || !has_interval(arg) {
        return None;
    }
    let message = "an argument is an interval, but the program computes with numbers";
    let diagnostic = Diagnostic::error("argument", Span::NONE, message);
    Some(diagnostic.help("`--enclose` computes with intervals"))
}

impl Session {
    /// A session with the prelude loaded.
    pub fn new() -> Session {
        Session(diffeo_front::Session::new())
    }

    /// Runs an entry point with its argument (a record of its fields), if it takes one; what it prints
    /// with `trace` is lost.
    pub fn run(&self, entry: &Entry, arg: Option<Value>, kinks: Kinks) -> Run {
        self.run_with(entry, arg, Options { kinks, ..Options::default() })
    }

    /// As [`Session::run`], with all options.
    pub fn run_with(&self, entry: &Entry, arg: Option<Value>, options: Options) -> Run {
        self.run_on(entry, arg, options, Engine::Auto)
    }

    /// As [`Session::run_with`], on this engine.
    pub fn run_on(
        &self,
        entry: &Entry,
        arg: Option<Value>,
        options: Options,
        how: impl Into<How>,
    ) -> Run {
        let arg = match &entry.ty {
            Ty::Fun(_) => Some(arg.unwrap_or(Value::Unit)),
            _ => None,
        };
        let how = how.into();
        let failed = |diagnostic: Diagnostic| Run {
            result: Err(diagnostic),
            warnings: Vec::new(),
            operations: None,
            engine: how.engine,
            unsupported: None,
            note: None,
            times: Vec::new(),
        };
        if let Some(refused) = arg.as_ref().and_then(|arg| refused_intervals(arg, options.kinks)) {
            return failed(refused);
        }
        match how.run(&entry.program, entry.global, arg.clone(), options) {
            Ok(ran) => Run {
                result: ran.result.map_err(|e| self.explain_at(entry, arg.as_ref(), &e)),
                warnings: ran.warnings.iter().map(RuntimeWarning::to_diagnostic).collect(),
                operations: ran.operations,
                engine: ran.engine,
                unsupported: ran.unsupported,
                note: ran.note,
                times: ran.times,
            },
            Err(unsupported) => failed(unsupported.to_diagnostic(entry.span)),
        }
    }

    /// Why compiled engines leave an entry to the evaluator, as far as that is seen without compiling it.
    pub fn not_compiled(&self, entry: &Entry) -> Option<Refusal> {
        diffeo_lower::refusal(&entry.program, entry.global)
    }

    /// An entry in machine code, to be called many times.
    ///
    /// # Errors
    /// What there is no machine code for, or that the engine makes none.
    pub fn prepare(
        &self,
        entry: &Entry,
        options: Options,
        how: impl Into<How>,
    ) -> Result<Prepared, Box<Diagnostic>> {
        let message = |unsupported: Unsupported| Box::new(unsupported.to_diagnostic(entry.span));
        let lowered = pipeline::flat(&entry.program, entry.global, &mut |_| {});
        let lowered = lowered.map_err(|refusal| message(refusal.into()))?;
        Prepared::compiled(lowered, options, how.into()).map_err(message)
    }

    /// The message for what stopped an entry.
    pub fn explain(&self, entry: &Entry, error: &RuntimeError) -> Diagnostic {
        self.explain_at(entry, None, error)
    }

    /// The same, where the argument is known.
    pub(crate) fn explain_at(
        &self,
        entry: &Entry,
        arg: Option<&Value>,
        error: &RuntimeError,
    ) -> Diagnostic {
        let mut d = error.to_diagnostic();
        if d.code == "size-mismatch" && error.trace.is_empty() && !entry.interface.fields.is_empty()
        {
            let fields: Vec<String> = entry
                .interface
                .fields
                .iter()
                .map(|(n, t)| format!("`{}: {t}`", field_name(n)))
                .collect();
            d = d.note(format!("`{}` takes {}", entry.name, fields.join(", ")));
            let given = arg.map_or(&[][..], Value::fields).iter().zip(&entry.interface.fields);
            let given: Vec<String> = given
                .filter(|(value, _)| matches!(value, Value::Array(_)))
                .map(|(value, (name, _))| format!("`{}` {}", field_name(name), sizes(value)))
                .collect();
            if !given.is_empty() {
                d = d.note(format!("the sizes given are {}", given.join(", ")));
            }
        }
        d
    }
}

/// The sizes of an array and of its first rows, as a type has them: `[2][3]`.
fn sizes(value: &Value) -> String {
    let Value::Array(rows) = value else { return String::new() };
    let row = if rows.is_empty() { String::new() } else { sizes(&rows.get(0)) };
    format!("[{}]{row}", rows.len())
}
