//! Core, the explicitly typed calculus that a Diffeo program elaborates to, and its evaluator.

pub mod ad;
pub mod array;
mod deep;
pub mod eq;
pub mod eval;
pub mod labels;
pub mod leaves;
pub mod lint;
pub mod names;
pub mod parse;
pub mod prim;
pub mod print;
pub mod show;
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
