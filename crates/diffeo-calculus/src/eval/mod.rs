//! The evaluator of Core.

pub mod error;
