//! The evaluator of Core.

mod code;
mod compile;
pub mod derivative;
pub mod error;
mod liveness;
mod machine;
mod ops;
pub mod reals;
mod scope;
mod usage;

pub use error::{RuntimeError, RuntimeWarning};
pub use machine::{Machine, Options};
pub use reals::Kinks;
