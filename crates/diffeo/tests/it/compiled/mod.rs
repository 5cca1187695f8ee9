//! Compiled programs: on every engine of [`targets::TARGETS`] they give what the evaluator gives.
//!
//! | file | what is in it |
//! |---|---|
//! | `targets.rs` | the engines, and how a program is run on each |
//! | `agree.rs` | many programs on all engines, some at a time |
//! | `corpus.rs` | the cases of `tests/lang` |
//! | `generated.rs` | programs by chance |
//! | `values.rs` | arguments and results of every type |
//! | `declared.rs` | declared types by chance: their values in and out, and gradients |
//! | `lowering.rs` | what Flat is made of programs |
//! | `stability.rs` | whether rounding decides what a program gives |
//! | `memory.rs` | what is allocated, and how deep recursion may be |
//! | `large.rs` | large programs |

mod agree;
pub mod corpus;
mod declared;
mod generated;
mod large;
mod lowering;
mod memory;
mod stability;
mod targets;
mod values;
