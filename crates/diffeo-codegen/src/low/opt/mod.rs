//! Passes from Low to Low, and the order in which they run.
//!
//! | file | pass |
//! |---|---|
//! | `merge_functions.rs` | merges helper functions that do the same |
//! | `strip_mine.rs` | strip-mines comprehensions |
//! | `peel.rs` | peels first steps of loops |
//! | `outline.rs` | makes functions of large parts of long ones |
//! | `scratch.rs` | reuses arrays that each step of a loop makes |
//! | `polls.rs` | decides where the program polls whether it is to end |

mod merge_functions;
mod outline;
mod peel;
mod polls;
pub(crate) mod scratch;
mod strip_mine;

use super::LowModule;
pub(crate) use polls::{polled, MOST_POLLED};

/// What the passes are told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PassOptions {
    /// How many functions are the program's own; those behind them are helpers.
    pub program: usize,
    /// The number of statements from which on functions are outlined, if they have parts of a quarter of that.
    pub long: usize,
    /// Loops reuse arrays that each step makes for itself. Cranelift's and LLVM's back ends do so after they have
    /// planned lanes.
    pub reuse: bool,
}

/// A pass with its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name for people.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&mut LowModule, &PassOptions),
}

/// The passes in order.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "merge_functions",
        run: |module, of| merge_functions::merge_functions(module, of.program),
    },
    Pass {
        name: "strip_mine",
        run: |module, _| module.functions.iter_mut().for_each(strip_mine::strip_mine),
    },
    Pass { name: "peel", run: |module, _| module.functions.iter_mut().for_each(peel::peel) },
    Pass { name: "outline", run: |module, of| outline::outline(module, of.program, of.long) },
    Pass {
        name: "scratch",
        run: |module, of| {
            if of.reuse {
                scratch::reuse(module, &|_, _| false);
            }
        },
    },
    Pass { name: "polls", run: |module, _| polls::polls(module) },
];
