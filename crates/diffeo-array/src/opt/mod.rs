//! Passes over Flat.

pub(crate) mod walk;
