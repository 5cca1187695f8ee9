//! The tests of this crate, in one binary: it is linked once.

mod constructs;
mod format;
mod messages;
mod robustness;
