//! A definition as the papers show it: its translation, its trace or its Delta.
//!
//! In: a program and a definition of it, and a point where the form needs one. Out: a Core program that prints, parses
//! back and runs, or a Delta; where a system has no translation, why, and what to do instead.

// A refusal is made once, when there is nothing more to do.
#![allow(clippy::result_large_err)]

use crate::delta::shown::{figure_12, naive, Shown, MOST};
use crate::delta::{naive as without_sharing, wrapper};
use crate::trace::{TraceEvaluator, TraceOptions, TraceStop};
use crate::{dual, engine, shown, Delta, System, Workspace};
use diffeo_base::{Diagnostic, Name, Span};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Options, RuntimeError};
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{typing, Program, Ty};
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
    fn within(self) -> engine::TranslatingEngine {
        match self {
            Translation::Forward => engine::TranslatingEngine::Dual,
            Translation::Taylor { .. } | Translation::Mixed => engine::TranslatingEngine::Taylor,
            Translation::Vector | Translation::DeltaNaive => {
                engine::TranslatingEngine::Delta(Delta::default())
            }
            Translation::Delta(choices) => engine::TranslatingEngine::Delta(choices),
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

/// The definition that is shown.
#[derive(Clone, Copy, Debug)]
pub struct ShownDefinition<'p> {
    /// The program.
    pub program: &'p Rc<Program>,
    /// Its definition there.
    pub global: GlobalId,
    /// What messages call it.
    pub name: &'p Name,
    /// Where messages about all of it stand.
    pub span: Span,
}

/// Why a form is not shown.
#[derive(Clone, Debug)]
pub enum Refused {
    /// A variant type grows without end in its recursion.
    Growing(Name),
    /// There is nothing to show, as the message says.
    Message(Diagnostic),
    /// The program stopped.
    Stopped(RuntimeError),
}

/// The program that a definition is translated to, with all that it needs; the definition, or the wrapper around it,
/// is the last one.
///
/// # Errors
/// What is not translated, and why.
pub fn translation(of: ShownDefinition<'_>, by: Translation) -> Result<Program, Refused> {
    let ShownDefinition { program, global: e, name, span: whole } = of;
    not_growing(program)?;
    let mut w = Workspace::new(program);
    shown::in_place(&mut w, by.within());
    let source = &program.globals[e.0 as usize];
    let function = matches!(source.ty, Ty::Fun(_));
    let argument = match &source.ty {
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
    let readable = shown::readable(&mut w, made);
    let refused = |what: &str, why: &str, span: Span| {
        let message = format!("`{name}` has no translation to show: {what}");
        let help = format!(
            "write the function where its derivative is taken, or by `def`; `diffeo run … --engine {}` evaluates it as it is",
            by.engine()
        );
        let library = program.library.contains(&span.file);
        let span = if span == Span::NONE || library { whole } else { span };
        Err(Refused::Message(
            Diagnostic::error("not-translated", span, message).note(why).help(help),
        ))
    };
    if let Some(refusal) = w.refusals().first() {
        return refused(refusal.what, refusal.reason, refusal.span);
    }
    if let Some(span) = shown::dynamic(&readable) {
        let why =
            "a function value is translated when the program runs: which one, is known only then";
        return refused("a function that is differentiated is not written in its place", why, span);
    }
    Ok(readable)
}

/// The trace of a function at a point, or its derivative, as the program of one definition.
///
/// # Errors
/// What stopped the program; that the derivative as printed is too large.
pub fn traced(
    of: ShownDefinition<'_>,
    point: Value,
    what: Traced,
    options: Options,
) -> Result<Program, Refused> {
    let ShownDefinition { program, global: e, name, span } = of;
    let Options { kinks, max_stack, events, limits } = options;
    let options = TraceOptions { kinks, max_stack, limits, events, ..TraceOptions::default() };
    let mut evaluator = TraceEvaluator::new(program.clone(), options);
    match evaluator.trace(e, point) {
        Ok((trace, _)) if what == Traced::Printed && trace.len() > LONGEST => {
            let count = trace.len();
            let message = format!(
                "the trace of `{name}` has {count} bindings, each of which doubles its derivative as printed"
            );
            let d = Diagnostic::error("too-large", span, message)
                .note(format!("up to {LONGEST} bindings are shown"))
                .help("`--as trace-linear` shows it with one adjoint for each variable");
            Err(Refused::Message(d))
        }
        Ok((trace, value)) => {
            let one: Result<Value, ErrorKind> = map_leaves(&value, &mut |_| Ok(Value::Real(1.0)));
            let shown = one.and_then(|one| match what {
                Traced::Function => Ok(trace),
                Traced::Printed => trace.reverse_printed(one),
                Traced::Linear => trace.reverse(one),
            });
            let made = shown.and_then(|trace| trace.to_core());
            made.map(|made| shown::pruned(&made)).map_err(|kind| {
                Refused::Stopped(RuntimeError { kind, span, function: None, trace: Vec::new() })
            })
        }
        Err(TraceStop::Error(error)) => Err(Refused::Stopped(*error)),
        Err(TraceStop::OutOfFuel) => {
            let message = "recursion that is not limited came to its limit";
            Err(Refused::Message(Diagnostic::error("internal", span, message)))
        }
    }
}

/// The Delta of a function at a point, by the monadic translation or by the one without sharing.
///
/// # Errors
/// What stopped the program; that the Delta without sharing is too large.
pub fn delta(
    of: ShownDefinition<'_>,
    point: Value,
    sharing: bool,
    options: Options,
) -> Result<Shown, Refused> {
    let ShownDefinition { program, global: e, name, span } = of;
    not_growing(program)?;
    if sharing {
        return figure_12(program, e, point, options).map_err(Refused::Stopped);
    }
    let shown = naive(program, e, point, options).map_err(Refused::Stopped)?;
    shown.ok_or_else(|| {
        let message = format!("the Delta of `{name}` without sharing has more than {MOST} nodes");
        let d = Diagnostic::error("too-large", span, message)
            .note("what is used several times stands there several times")
            .help("`--as delta` shows the Delta with sharing");
        Refused::Message(d)
    })
}

fn not_growing(program: &Program) -> Result<(), Refused> {
    match typing::growing(program) {
        Some(data) => Err(Refused::Growing(program.datas[data.0 as usize].name.clone())),
        None => Ok(()),
    }
}
