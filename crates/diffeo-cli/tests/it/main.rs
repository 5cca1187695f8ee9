//! The tests of this crate, in one binary: it is linked once.

mod build;
mod command_line;
mod common;
mod data;
mod engines;
mod examples;
mod fmt;
mod gradient_page;
mod gradients;
mod jupyter;
mod kept;
mod limits;
mod lsp;
mod messages;
mod papers;
mod plots;
mod programs;
mod project;
mod repl;
mod sample;
mod terminal;
mod tools;
mod tutorial;
