//! Passes over Flat.

pub mod walk;
