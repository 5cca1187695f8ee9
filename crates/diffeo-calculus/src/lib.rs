//! Core, the explicitly typed calculus that a Diffeo program elaborates to, and its evaluator.

pub mod prim;
pub mod term;
pub mod ty;

pub use prim::Prim;
pub use term::Program;
pub use ty::Ty;
