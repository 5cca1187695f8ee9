//! Core, the explicitly typed calculus that a Diffeo program elaborates to, and its evaluator.
//!
//! | part | what is in it |
//! |---|---|
//! | `term.rs`, `ty.rs` | terms and types |
//! | `typing.rs`, `lint.rs`, `eq.rs` | the types of operations; the checks of what always holds; equality of terms |
//! | `print.rs`, `parse.rs`, `names.rs` | Core as text, and back |
//! | `prim/` | the table of primitive operations |
//! | `linear/` | whether the rules of `with_derivative` are linear |
//! | `value.rs`, `array.rs`, `leaves.rs`, `labels.rs`, `show.rs` | values: arrays, walks over their Reals, paths, text |
//! | `eval/` | the evaluator, with the derivative operators |
//! | `ad/` | the derivative systems of three papers |

pub mod array;
pub mod build;
pub mod eq;
pub mod eval;
pub mod labels;
pub mod leaves;
pub mod linear;
pub mod lint;
pub mod names;
pub mod outside;
pub mod parse;
pub mod prim;
pub mod print;
pub mod show;
pub mod system;
pub mod term;
pub mod ty;
pub mod typing;
pub mod value;

pub use eq::{alpha_eq, alpha_eq_programs};
pub use lint::lint;
pub use parse::parse;
pub use prim::Prim;
pub use print::{print, print_term, print_type};
pub use term::Program;
pub use ty::Ty;
pub use typing::{type_of, Env};
