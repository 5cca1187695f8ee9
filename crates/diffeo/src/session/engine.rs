//! What evaluates a program and computes its derivatives.

use crate::lower::{Lowered, Unsupported};
use crate::pipeline;
use diffeo_calculus::ad::trace::{Evaluator, Stop, TraceOptions};
use diffeo_calculus::ad::{engine, Delta};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, Machine, Options, RuntimeError, RuntimeWarning};
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::value::Value;
use std::rc::Rc;

/// What evaluates a program and computes its derivatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// The evaluator, with derivatives by tapes and Taylor coefficients.
    #[default]
    Evaluator,
    /// Evaluation by contexts and redexes, with derivatives of traces (Abadi & Plotkin). Of kinks it reports
    /// errors only.
    Trace,
    /// The evaluator, with derivatives by dual numbers (Krawiec et al., section 4).
    Dual,
    /// The evaluator, with reverse-mode derivatives by Delta terms (Krawiec et al., section 7).
    Delta,
    /// The evaluator, with derivatives by the (k,R)-Taylor macro (Huot et al.).
    Taylor,
    /// The evaluator of Flat. What has no Flat, such as derivatives, runs on the evaluator.
    Flat,
}

/// What a run of a definition gave.
pub(super) struct Ran {
    pub result: Result<Value, RuntimeError>,
    pub warnings: Vec<RuntimeWarning>,
    pub operations: u64,
    /// Why the evaluator took the place of the engine, if it did.
    pub unsupported: Option<Unsupported>,
}

impl Engine {
    /// The value of a definition, or of the function that it is at an argument.
    pub(super) fn run(
        self,
        program: &Rc<Program>,
        global: GlobalId,
        arg: Option<Value>,
        options: Options,
    ) -> Ran {
        let mut unsupported = None;
        let machine = match self {
            Engine::Trace => return trace(program, global, arg, options),
            // Only the evaluator looks for kinks and domains.
            Engine::Flat if !matches!(options.kinks, Kinks::Ignore) => {
                Machine::new(program.clone(), options)
            }
            Engine::Flat => match pipeline::flat(program, global, &mut |_| {}) {
                Ok(lowered) => return flat(lowered, arg, options),
                Err(why) => {
                    unsupported = Some(why);
                    Machine::new(program.clone(), options)
                }
            },
            Engine::Evaluator => Machine::new(program.clone(), options),
            Engine::Dual => engine::machine(program, engine::Engine::Dual, options),
            Engine::Delta => {
                let choices = Delta { arrays: true, split: false };
                engine::machine(program, engine::Engine::Delta(choices), options)
            }
            Engine::Taylor => engine::machine(program, engine::Engine::Taylor, options),
        };
        let mut machine = machine;
        let result = machine.eval_global(global).and_then(|value| match arg {
            Some(arg) => machine.apply(&value, arg),
            None => Ok(value),
        });
        let (warnings, operations) = (machine.take_warnings(), machine.operations());
        Ran { result, warnings, operations, unsupported }
    }
}

fn flat(lowered: Lowered, arg: Option<Value>, options: Options) -> Ran {
    let Lowered { module, interface } = lowered;
    let args = arg.map(|arg| interface.arguments(&arg)).unwrap_or_default();
    let mut evaluator = diffeo_array::eval::Evaluator::new(module.into(), options);
    let result = evaluator.run(args).map(|results| interface.result(results));
    let operations = evaluator.operations();
    Ran { result, warnings: Vec::new(), operations, unsupported: None }
}

fn trace(program: &Rc<Program>, global: GlobalId, arg: Option<Value>, options: Options) -> Ran {
    let Options { kinks, max_stack, trace, progress, limits } = options;
    let options =
        TraceOptions { kinks, max_stack, limits, trace, progress, ..TraceOptions::default() };
    let mut evaluator = Evaluator::new(program.clone(), options);
    let result = evaluator.eval_global(global).and_then(|value| match arg {
        Some(arg) => evaluator.apply(&value, arg),
        None => Ok(value),
    });
    let result = result.map_err(|stop| match stop {
        Stop::Error(error) => *error,
        Stop::OutOfFuel => {
            let message = "recursion that is not limited came to its limit".into();
            let kind = ErrorKind::Internal { message };
            let span = program.globals[global.0 as usize].span;
            RuntimeError { kind, span, function: None, trace: Vec::new() }
        }
    });
    let operations = evaluator.operations();
    Ran { result, warnings: Vec::new(), operations, unsupported: None }
}
