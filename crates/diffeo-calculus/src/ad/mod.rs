//! The derivative systems of three papers, as they are printed, on Core: what every faster engine is judged by.
//!
//! | file | paper |
//! |---|---|
//! | `trace.rs`, `trace/` | Abadi & Plotkin, *A Simple Differentiable Programming Language* (POPL 2020) |

pub mod trace;
