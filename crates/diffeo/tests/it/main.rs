//! The tests of this crate, in one binary: it is linked once.

mod accuracy;
mod auto;
mod book;
mod boundary;
mod compiled;
mod costs;
mod derivative_check;
mod enclose;
mod engines;
mod exact_kinks;
mod fuzz;
mod fuzzing;
mod gradient_costs;
mod host;
mod interrupt;
mod lang;
mod mgh;
mod modules;
mod moving;
mod nist;
mod nlp;
mod posteriors;
mod rules;
mod sample;
mod show;
mod support;
mod texts;
mod xla;

use diffeo_memory::Counting;

/// Counts the memory in use, for the bounds of generated programs.
#[global_allocator]
static MEMORY: Counting = Counting;
