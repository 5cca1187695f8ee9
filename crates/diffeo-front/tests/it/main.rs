//! The tests of this crate, in one binary.

mod corpus;
mod messages;
mod rules;
