//! What computes the derivatives of a program.

use diffeo_calculus::ad::{engine, Delta};
use diffeo_calculus::eval::{Machine, Options};
use diffeo_calculus::Program;
use std::rc::Rc;

/// What computes the derivatives of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// The evaluator's own: tapes and Taylor coefficients.
    #[default]
    Evaluator,
    /// Dual numbers (Krawiec et al., section 4).
    Dual,
    /// Reverse mode by Delta terms (Krawiec et al., section 7).
    Delta,
    /// The (k,R)-Taylor macro (Huot et al.).
    Taylor,
}

impl Engine {
    /// A machine for the program; its definitions keep their numbers.
    pub(crate) fn machine(self, program: &Rc<Program>, options: Options) -> Machine {
        match self {
            Engine::Evaluator => Machine::new(program.clone(), options),
            Engine::Dual => engine::machine(program, engine::Engine::Dual, options),
            Engine::Delta => {
                let choices = Delta { arrays: true, split: false };
                engine::machine(program, engine::Engine::Delta(choices), options)
            }
            Engine::Taylor => engine::machine(program, engine::Engine::Taylor, options),
        }
    }
}
