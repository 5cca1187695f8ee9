//! Programs as the papers show them: translated programs, traces and Deltas of a definition.
//!
//! In: an [`Entry`], elaborated, and a point where the form needs one. Out: a Core program that prints, parses back
//! and runs, or a Delta; where a system has no translation, a message that says why and what to do instead.

// A message is made once, when there is nothing more to do.
#![allow(clippy::result_large_err)]

use crate::lower;
use crate::session::Session;
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Options, RuntimeError};
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::value::Value;
use diffeo_calculus::{Program, Ty};
use diffeo_front::Entry;
use diffeo_papers::delta::shown::{figure_12, naive, Shown, MOST};
use diffeo_papers::delta::{naive as without_sharing, wrapper};
use diffeo_papers::trace::{Evaluator, Stop, TraceOptions};
use diffeo_papers::{dual, engine, shown, Delta, System, Workspace};
use std::rc::Rc;

/// A translation of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Translation {
    /// `D⃗` with its wrapper F (Krawiec et al., Figures 3 and 4).
    Forward,
    /// `D_(k,R)` (Huot et al., section 3.2).
    Taylor {
        /// The number of variables.
        k: u32,
        /// The order.
        r: u32,
    },
    /// `D_(2,2)′` (Huot et al., section 3.2).
    Mixed,
    /// `D¹` with its wrapper R¹ (Krawiec et al., Figures 5 and 6).
    Vector,
    /// `D²` with its wrapper R² (Krawiec et al., Figures 7 and 8).
    DeltaNaive,
    /// `D` with its wrapper R (Krawiec et al., Figures 9 to 11), in one of its forms.
    Delta(Delta),
}

/// What is shown of a function that is traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traced {
    /// Its trace (Abadi & Plotkin, Figures 4 and 5).
    Function,
    /// The reverse derivative of the trace, W.R_V, as it is printed (Figure 6).
    Printed,
    /// The same in linear size.
    Linear,
}

impl Traced {
    /// How it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Traced::Function => "trace",
            Traced::Printed => "trace-reverse",
            Traced::Linear => "trace-linear",
        }
    }
}

/// The longest trace whose derivative is shown as Figure 6 is printed: each `let` of it doubles that.
const LONGEST: usize = 10;

impl Translation {
    /// With lists and maps (Figure 10), and arrays of pairs.
    pub const DELTA: Translation = Translation::Delta(Delta { arrays: false, split: false });
    /// With arrays of bindings and sums (section 7.3).
    pub const DELTA_ARRAY: Translation = Translation::Delta(Delta { arrays: true, split: false });
    /// With pairs of arrays (section 10.2).
    pub const DELTA_SPLIT: Translation = Translation::Delta(Delta { arrays: false, split: true });

    /// How it is asked for.
    pub fn name(&self) -> String {
        match self {
            Translation::Forward => "forward".to_string(),
            Translation::Taylor { k, r } => format!("taylor:{k},{r}"),
            Translation::Mixed => "taylor:2,2-mixed".to_string(),
            Translation::Vector => "vector".to_string(),
            Translation::DeltaNaive => "delta-naive".to_string(),
            Translation::Delta(Delta { arrays, split }) => {
                let array = if *arrays { "-array" } else { "" };
                format!("delta{array}{}", if *split { "-split" } else { "" })
            }
        }
    }

    /// The system; that of D¹ is for this argument.
    fn system(self, s: &Ty) -> System {
        match self {
            Translation::Vector => System::Vector(Rc::new(s.clone())),
            Translation::Forward => System::Forward,
            Translation::Taylor { k, r } => System::Taylor { k, r },
            Translation::Mixed => System::Mixed,
            Translation::DeltaNaive => System::Naive,
            Translation::Delta(choices) => System::Delta(choices),
        }
    }

    /// What the derivatives within are.
    fn within(self) -> engine::Engine {
        match self {
            Translation::Forward => engine::Engine::Dual,
            Translation::Taylor { .. } | Translation::Mixed => engine::Engine::Taylor,
            Translation::Vector | Translation::DeltaNaive => {
                engine::Engine::Delta(Delta::default())
            }
            Translation::Delta(choices) => engine::Engine::Delta(choices),
        }
    }

    /// The engine that runs what cannot be shown.
    fn engine(self) -> &'static str {
        match self {
            Translation::Forward => "dual",
            Translation::Taylor { .. } | Translation::Mixed => "taylor",
            Translation::Vector | Translation::DeltaNaive | Translation::Delta(_) => "delta",
        }
    }
}

impl Session {
    /// The program that a definition is translated to, with all that it needs; the definition, or the wrapper
    /// around it, is the last one.
    ///
    /// # Errors
    /// What is not translated, and why.
    pub fn translation(&self, entry: &Entry, by: Translation) -> Result<Program, Diagnostic> {
        if let Some(growing) = lower::growing(&entry.program) {
            return Err(growing.to_diagnostic(entry.span));
        }
        let mut w = Workspace::new(&entry.program);
        shown::in_place(&mut w, by.within());
        let e = entry.global;
        let function = matches!(entry.ty, Ty::Fun(_));
        let argument = match &entry.ty {
            Ty::Fun(f) => f.0.clone(),
            _ => Ty::Unit,
        };
        let made = match by {
            Translation::Forward if function => dual::wrapper(&mut w, e),
            Translation::Vector if function => without_sharing::r1(&mut w, e),
            Translation::DeltaNaive if function => without_sharing::r2(&mut w, e),
            Translation::Delta(choices) if function => wrapper::r(&mut w, e, choices),
            _ => w.translated(&by.system(&argument), e),
        };
        let program = shown::readable(&mut w, made);
        let name = &entry.name;
        let refused = |what: &str, why: &str, span: Span| {
            let message = format!("`{name}` has no translation to show: {what}");
            let help = format!(
                "write the function where its derivative is taken, or by `def`; `diffeo run … --engine {}` evaluates it as it is",
                by.engine()
            );
            let library = entry.program.library.contains(&span.file);
            let span = if span == Span::NONE || library { entry.span } else { span };
            Err(Diagnostic::error("not-translated", span, message).note(why).help(help))
        };
        if let Some(refusal) = w.refusals().first() {
            return refused(refusal.what, refusal.reason, refusal.span);
        }
        if let Some(span) = shown::dynamic(&program) {
            let why = "a function value is translated when the program runs: which one, is known only then";
            return refused(
                "a function that is differentiated is not written in its place",
                why,
                span,
            );
        }
        Ok(program)
    }

    /// The trace of a function at a point, or its derivative, as the program of one definition.
    ///
    /// # Errors
    /// What stopped the program.
    pub fn traced(
        &self,
        entry: &Entry,
        point: Value,
        what: Traced,
        options: Options,
    ) -> Result<Program, Diagnostic> {
        let Options { kinks, max_stack, trace, progress, limits } = options;
        let options =
            TraceOptions { kinks, max_stack, limits, trace, progress, ..TraceOptions::default() };
        let mut evaluator = Evaluator::new(entry.program.clone(), options);
        match evaluator.trace(entry.global, point) {
            Ok((trace, _)) if what == Traced::Printed && trace.len() > LONGEST => {
                let (name, count) = (&entry.name, trace.len());
                let message = format!(
                    "the trace of `{name}` has {count} bindings, each of which doubles its derivative as printed"
                );
                Err(Diagnostic::error("too-large", entry.span, message)
                    .note(format!("up to {LONGEST} bindings are shown"))
                    .help("`--as trace-linear` shows it with one adjoint for each variable"))
            }
            Ok((trace, value)) => {
                let one: Result<Value, ErrorKind> =
                    map_leaves(&value, &mut |_| Ok(Value::Real(1.0)));
                let shown = one.and_then(|one| match what {
                    Traced::Function => Ok(trace),
                    Traced::Printed => trace.reverse_printed(one),
                    Traced::Linear => trace.reverse(one),
                });
                let program = shown.and_then(|trace| trace.to_core());
                program.map(|program| shown::pruned(&program)).map_err(|kind| {
                    let span = entry.span;
                    self.explain(
                        entry,
                        &RuntimeError { kind, span, function: None, trace: Vec::new() },
                    )
                })
            }
            Err(Stop::Error(error)) => Err(self.explain(entry, &error)),
            Err(Stop::OutOfFuel) => {
                let message = "recursion that is not limited came to its limit";
                Err(Diagnostic::error("internal", entry.span, message))
            }
        }
    }

    /// The Delta of a function at a point, by the monadic translation or by the one without sharing.
    ///
    /// # Errors
    /// What stopped the program; that the Delta without sharing is too large.
    pub fn delta(
        &self,
        entry: &Entry,
        point: Value,
        sharing: bool,
        options: Options,
    ) -> Result<Shown, Diagnostic> {
        if let Some(growing) = lower::growing(&entry.program) {
            return Err(growing.to_diagnostic(entry.span));
        }
        let explained = |error: RuntimeError| self.explain(entry, &error);
        if sharing {
            return figure_12(&entry.program, entry.global, point, options).map_err(explained);
        }
        let shown = naive(&entry.program, entry.global, point, options).map_err(explained)?;
        shown.ok_or_else(|| {
            let message =
                format!("the Delta of `{}` without sharing has more than {MOST} nodes", entry.name);
            Diagnostic::error("too-large", entry.span, message)
                .note("what is used several times stands there several times")
                .help("`--as delta` shows the Delta with sharing")
        })
    }
}
