//! Whole programs whose derivatives are those of one of the papers' systems.

use super::{delta, derived, Delta, System, Workspace};
use diffeo_calculus::eval::{Machine, Options};
use diffeo_calculus::term::{GlobalId, Program};

/// A system of the papers that translates Core to Core, as what derives whole programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TranslatingEngine {
    /// Forward mode by dual numbers (Krawiec et al., section 4).
    Dual,
    /// The (k,R)-Taylor macro (Huot et al.).
    Taylor,
    /// Reverse mode (Krawiec et al., section 7).
    Delta(Delta),
}

/// A machine that runs the program with the derivatives of the system. Its definitions keep their numbers.
pub fn machine(program: &Program, engine: TranslatingEngine, options: Options) -> Machine {
    let mut workspace = Workspace::new(program);
    workspace.dynamic = true;
    workspace.bound(options.limits.clone());
    derived::prepare(&mut workspace, engine);
    Machine::translating(Box::new(workspace), options)
}

/// The function from a number to the state in which a monadic computation begins; none for a system without a
/// monad.
pub(crate) fn start(w: &mut Workspace, system: &System) -> Option<GlobalId> {
    match system {
        System::Delta(_) => Some(delta::runtime::function(w, system, "start")),
        System::Forward
        | System::Taylor { .. }
        | System::Mixed
        | System::Vector(_)
        | System::Naive => None,
    }
}
