//! The tests of this crate, in one binary: it is linked once.

mod coverage;
mod delta;
mod dual;
mod faa_di_bruno;
mod jet;
mod limits;
mod partials;
#[path = "../../../diffeo-calculus/tests/it/support/mod.rs"]
mod support;
mod theorems;
mod trace;
