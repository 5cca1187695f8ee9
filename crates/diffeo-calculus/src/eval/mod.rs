//! The evaluator of Core.
//!
//! [`Machine`] runs a program: a definition is compiled to register code when it is first needed, and the
//! code is run.
//!
//! | file | what is in it |
//! |---|---|
//! | `usage.rs`, `scope.rs` | what a definition does with its variables |
//! | `compile.rs`, `liveness.rs` | from terms to code, with the last use of every variable |
//! | `code.rs` | the code |
//! | `machine.rs` | calls, frames and errors; the instructions |
//! | `ops.rs` | operations on whole values |
//! | `reals.rs`, `derivative/` | arithmetic on Reals that carry derivatives; the derivative terms |
//! | `translator.rs` | what translates function values while a program runs |
//! | `watch.rs` | zeros and blame in programs that the papers' systems translated |
//! | `limits.rs` | time, memory and interruption |
//! | `error.rs` | what can go wrong |
//! | `event.rs` | what a run tells while it goes on |

mod code;
mod compile;
pub mod derivative;
pub mod error;
mod event;
pub mod leftovers;
pub mod limits;
mod liveness;
mod machine;
pub mod ops;
pub mod reals;
mod scope;
pub mod translator;
mod usage;
mod watch;

pub use code::{SizesCall, SizesTree};
pub use error::{RuntimeError, RuntimeWarning};
pub use event::{lost, warnings, Event, Events, Progress, Warnings};
pub use limits::{Exceeded, Limits, MemoryLimit};
pub use machine::environment;
pub use machine::{Machine, Options, MOST_ELEMENTS};
pub use ops::Blocks;
pub use reals::Kinks;
