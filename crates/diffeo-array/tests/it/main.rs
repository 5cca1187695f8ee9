//! The tests of this crate, in one binary: it is linked once.

mod eval;
mod forward;
mod forward_table;
mod generated;
mod lint;
mod mutate;
mod opt;
mod opt_loops;
mod opt_random;
mod reverse;
mod tail;
mod text;
mod value;
