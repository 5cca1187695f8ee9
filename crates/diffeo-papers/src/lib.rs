//! The derivative systems of three papers, as they are printed, on Core: the reference for every faster engine.
//!
//! | file | what is in it |
//! |---|---|
//! | `trace.rs`, `trace/` | Abadi & Plotkin, *A Simple Differentiable Programming Language* (POPL 2020) |
//! | `jet.rs`, `jet/` | Huot, Staton & Vákár, *Higher Order Automatic Differentiation of Higher Order Functions* (LMCS 2022) |
//! | `dual.rs`, `delta/` | Krawiec et al., *Provably Correct, Asymptotically Efficient, Higher-Order Reverse-Mode Automatic Differentiation* (POPL 2022) |
//! | `homomorphism.rs`, `numbers.rs` | what the translations of the last two have in common |
//! | `polytypic.rs`, `expansion.rs`, `empty.rs` | operations by induction on the type; sums of nothing |
//! | `partial.rs` | partial derivatives as terms |
//! | `shown.rs`, `shown/` | translated programs in short, for readers |
//! | `definition.rs` | a definition in each form, for those who show it |
//! | `coverage.rs` | which system has which form of Core, from the paper or as an extension |
//! | `workspace.rs`, `splice.rs` | a program that grows by translations |

pub mod coverage;
pub mod definition;
pub mod delta;
mod derived;
pub mod dual;
mod empty;
pub mod engine;
mod expansion;
pub mod homomorphism;
pub mod jet;
mod numbers;
mod partial;
mod polytypic;
pub mod shown;
mod splice;
pub mod trace;
pub mod workspace;

pub use workspace::{Refusal, Workspace};

pub use diffeo_calculus::system::{Delta, System};
