//! The next step after a program has run in compiled code: one table for runs, `diffeo grad`, draws, Rust and Python.
//!
//! Compiled code knows less of each number than the evaluator: not why a derivative is nan, not which values vary where
//! it takes a rule. Who differs in what follows from that differs in derivatives.

use super::Unsupported;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, RuntimeError};
use diffeo_lower::Refusal;

/// The operations that the evaluator does in about a second.
pub(crate) const BRIEF: u64 = 16_000_000;

/// What follows a run in compiled code.
pub(crate) enum Next {
    /// Nothing: what it gave stands.
    Stands,
    /// Where loops were derived without checkpoints, code with checkpoints begins at the beginning.
    Checkpoints,
    /// The evaluator begins at the beginning, and what it gives stands; why.
    Evaluator(Unsupported),
    /// The evaluator begins at the beginning. A value that it gives within [`BRIEF`] operations stands, else what compiled
    /// code gave; why.
    Value(Unsupported),
}

/// The next step after a run that gave a value or stopped by an error; `kinks` are reported, and the program `has_rules`
/// for derivatives.
pub(crate) fn next(
    stopped: Option<&RuntimeError>,
    kinks: bool,
    has_rules: impl FnOnce() -> bool,
) -> Next {
    let Some(RuntimeError { kind, span, .. }) = stopped else { return Next::Stands };
    match kind {
        ErrorKind::NanDerivative if kinks => Next::Evaluator(Unsupported::Kinks),
        ErrorKind::NanDerivative => Next::Evaluator(Unsupported::Nan),
        ErrorKind::DerivativeOrder => {
            let why = "its order depends on the run".to_string();
            Next::Evaluator(Refusal::Derivative(*span, why).into())
        }
        ErrorKind::Exceeded(Exceeded::Memory(_)) => Next::Checkpoints,
        ErrorKind::Exceeded(_) => Next::Stands,
        // Which values vary, compiled code only knows of the ways that the program might go: it may have stopped in a rule
        // that the evaluator does not take.
        _ if has_rules() => Next::Value(Unsupported::Rule),
        _ => Next::Stands,
    }
}
