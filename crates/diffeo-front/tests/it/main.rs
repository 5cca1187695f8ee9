//! The tests of this crate, in one binary.

#![allow(clippy::disallowed_methods, reason = "tests read files")]

mod corpus;
mod messages;
mod reached;
mod rules;
