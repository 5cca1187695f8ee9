//! The tests of this crate, in one binary: it is linked once.

mod costs;
mod coverage;
mod delta;
mod derivatives;
mod dual;
mod jet;
mod lint;
mod machine;
mod random;
mod support;
mod text;
mod theorems;
mod trace;
