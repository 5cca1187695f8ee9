//! The derivative terms of Core, on values.
//!
//! What comes in: a function value, a point and perhaps tangents or cotangents of its shape. What goes
//! out: values whose non-Real leaves are those of the point or of the result. Every operator opens a level
//! (see [`level`]), lifts its point to it, calls the function, and reads the result off the level:
//!
//! | operator | level | paper |
//! |---|---|---|
//! | `rd`, `vjp` | a Wengert list ([`tape`]), walked backwards ([`sweep`]) | Abadi & Plotkin's `rd` |
//! | `jvp` | Taylor coefficients ([`jet`]) of one variable, order 1 | |
//! | `jet` | Taylor coefficients of k variables, order R | Huot, Staton & Vákár's `D_(k,R)` |
//! | `checkpoint`, `with_derivative` | none; they act on the highest level that concerns them | |
//!
//! What always holds: no result holds the level that was opened for it, and no level stays open, whether
//! the call succeeds or fails. The arithmetic of the rules is that of [`Reals`], so operators nest.

mod enclosing;
pub(in crate::eval) mod environment;
mod exact;
pub mod jet;
pub(crate) mod level;
mod operators;
mod rules;
mod shapes;
pub mod sweep;
pub(crate) mod tape;
#[cfg(test)]
mod tests;

pub(crate) use enclosing::narrowed;
pub use jet::JetShape;
pub use jet::{jet_coefficients, multi_indices, MOST_COEFFICIENTS};
pub(crate) use operators::any_function_of;
pub use operators::derivative;
pub use shapes::{from_derivatives, to_derivatives};

use super::error::{ErrorKind, RuntimeError};
use super::event::Events;
use super::reals::Reals;
use crate::value::Value;
use diffeo_base::Span;
use std::fmt;
use std::rc::Rc;

/// The value of J(S) for `jet`: every Real of a value of S replaced by the derivatives, so many of each,
/// that `of` makes of it.
///
/// # Errors
/// [`ErrorKind::IrregularRows`] if `of` gives more or fewer.
pub fn with_derivatives(
    v: &Value,
    count: usize,
    of: &mut dyn FnMut(f64) -> Vec<Value>,
) -> Result<Value, ErrorKind> {
    shapes::to_derivatives(v, count, &mut |leaf| Ok(of(super::reals::primal(leaf))))
}

/// Who evaluates: calls functions and knows the call trace.
pub trait Caller {
    /// The result of a function.
    ///
    /// # Errors
    /// What stops the program in the call.
    fn call(&mut self, f: &Value, arg: Value) -> Result<Value, RuntimeError>;

    /// The result of a function on all its paths, where Reals that are nan are not known.
    ///
    /// # Errors
    /// As for [`Caller::call`]; [`ErrorKind::Internal`] where paths cannot be followed.
    fn call_on_all_paths(&mut self, f: &Value, arg: Value) -> Result<Value, RuntimeError> {
        self.call(f, arg)
    }

    /// Calls are those of [`Caller::call_on_all_paths`].
    fn follows_all_paths(&self) -> bool {
        false
    }

    /// Whether the run may go on.
    ///
    /// # Errors
    /// The bound that is reached.
    fn check_limits(&mut self, site: Span) -> Result<(), RuntimeError>;

    /// The real arithmetic.
    fn reals(&mut self) -> &mut Reals;

    /// Gives what it tells to these events from now on, and what it gave to before.
    fn swap_events(&mut self, events: &mut Events);

    /// The error with its place and the call trace.
    fn error(&mut self, kind: ErrorKind, site: Span) -> RuntimeError;
}

/// The pullback of a function at a point: a linear function from cotangents of the result to gradients.
pub struct Pullback {
    tape: Rc<tape::Tape>,
    /// The point, for the shape and the other leaves of a gradient. Its leaves are the first entries.
    point: Value,
    /// The result, for the shape of a cotangent.
    output: Value,
    /// The entry of each Real leaf of the result; 0 for one that does not vary.
    entries: Vec<u32>,
    /// The highest level among the values it holds.
    outer: u16,
}

impl fmt::Debug for Pullback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pullback({} entries)", self.tape.entries)
    }
}

/// The gradient that a cotangent is pulled back to.
///
/// # Errors
/// [`ErrorKind::ShapeMismatch`] if the cotangent has not the shape of the result; what stops a
/// checkpointed function when it is run again.
pub fn pull_back(
    cx: &mut dyn Caller,
    p: &Pullback,
    cotangent: Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    operators::gradient(cx, p, &cotangent, site)
}
