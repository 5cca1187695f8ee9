//! What evaluates a program and computes its derivatives.

use super::prepared::Prepared;
use crate::lower::{Lowered, Unsupported};
use crate::pipeline::{self, Backend};
use diffeo_calculus::ad::trace::{Evaluator, Stop, TraceOptions};
use diffeo_calculus::ad::{engine, Delta};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, Machine, Options, RuntimeError, RuntimeWarning};
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::value::Value;
use diffeo_codegen::engine::Cpu;
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
    /// Machine code by Cranelift. What has no Flat, such as derivatives, runs on the evaluator.
    Jit,
    /// Machine code by LLVM, where there is one. What has no Flat, such as derivatives, runs on the evaluator.
    Llvm,
    /// Machine code by the system's C compiler. What has no Flat, such as derivatives, runs on the evaluator.
    C,
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
    /// What makes machine code of programs, if it is that kind of engine.
    pub fn backend(self) -> Option<Backend> {
        match self {
            Engine::Jit => Some(Backend::Jit),
            Engine::Llvm => Some(Backend::Llvm),
            Engine::C => Some(Backend::C),
            Engine::Evaluator
            | Engine::Trace
            | Engine::Dual
            | Engine::Delta
            | Engine::Taylor
            | Engine::Flat => None,
        }
    }

    /// The value of a definition, or of the function that it is at an argument.
    ///
    /// # Errors
    /// The engine is not there, or cannot compile the program.
    pub(super) fn run(
        self,
        program: &Rc<Program>,
        global: GlobalId,
        arg: Option<Value>,
        options: Options,
    ) -> Result<Ran, Unsupported> {
        let mut unsupported = None;
        let machine = match self {
            Engine::Trace => return Ok(trace(program, global, arg, options)),
            // Only the evaluator looks for kinks and domains.
            Engine::Flat | Engine::Jit | Engine::Llvm | Engine::C
                if !matches!(options.kinks, Kinks::Ignore) =>
            {
                Machine::new(program.clone(), options)
            }
            Engine::Flat => match pipeline::flat(program, global, &mut |_| {}) {
                Ok(lowered) => return Ok(flat(lowered, arg, options)),
                Err(why) => {
                    unsupported = Some(why);
                    Machine::new(program.clone(), options)
                }
            },
            Engine::Jit | Engine::Llvm | Engine::C => {
                let lowered = pipeline::flat(program, global, &mut |_| {});
                match (lowered, self.backend()) {
                    (Ok(lowered), Some(backend)) => {
                        return Prepared::new(lowered, backend, Cpu::Host, options)
                            .map(|mut prepared| prepared.run(arg));
                    }
                    (lowered, _) => {
                        unsupported = lowered.err();
                        Machine::new(program.clone(), options)
                    }
                }
            }
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
        Ok(Ran { result, warnings, operations, unsupported })
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
