//! The back end for C: C from Low.
//!
//! | file | what is in it |
//! |---|---|
//! | `unit.rs` | a file of C: runtime, tables, functions |
//! | `function.rs`, `scope.rs`, `literal.rs` | a function; where registers are declared; numbers and texts |
//! | `letter_case.rs` | tables of lower and upper case |
//! | `runtime/` | the runtime, in C |
//! | `compiler.rs`, `tool.rs` | the system's C compiler; running other programs, and ending them |
//! | `engine.rs` | engine `c`: loads and runs what was compiled |
//! | `library.rs`, `names.rs` | libraries for C; their names |
//! | `interface/` | what other programs find in such a library: XLA, CasADi, BridgeStan |
//!
//! Each form of Low is translated by itself. All engines round alike: nothing is contracted or reordered except in
//! reductions, which are marked.

pub mod compiler;
pub mod engine;
mod function;
pub mod interface;
mod letter_case;
pub mod library;
mod literal;
mod names;
mod scope;
mod tool;
mod unit;

pub use unit::{CText, RuntimeProvider, Unit};
