//! The tests of this crate, in one binary: it is linked once.

#![allow(clippy::disallowed_methods, reason = "tests read files")]

mod costs;
mod derivatives;
mod intervals;
mod lint;
mod machine;
mod random;
mod support;
mod text;
