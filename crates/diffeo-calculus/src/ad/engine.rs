//! Whole programs whose derivatives are those of one of the papers' systems.

use super::{derived, Delta, System, Workspace};
use crate::eval::{Machine, Options};
use crate::term::Program;
use crate::value::Value;

/// A system of the papers that translates Core to Core, as what derives whole programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Forward mode by dual numbers (Krawiec et al., section 4).
    Dual,
    /// The (k,R)-Taylor macro (Huot et al.).
    Taylor,
    /// Reverse mode (Krawiec et al., section 7).
    Delta(Delta),
}

/// A machine that runs the program with the derivatives of the system. Its definitions keep their numbers.
pub fn machine(program: &Program, engine: Engine, options: Options) -> Machine {
    let mut workspace = Workspace::new(program);
    derived::prepare(&mut workspace, engine);
    Machine::translating(workspace, options)
}

/// The state in which a monadic computation begins; none for a system without a monad.
pub(crate) fn initial_state(system: &System) -> Option<Value> {
    match system {
        System::Delta(_) => None,
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Vector(_)
        | System::Naive => None,
    }
}
