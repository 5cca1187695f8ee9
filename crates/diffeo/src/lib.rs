//! Diffeo, a differentiable programming language: load programs, check them, run them.
//!
//! [`Session`] is the entry point: it loads files, checks them and runs entry points. The phases are `resolve` (names),
//! `infer` (types), `exhaustive` (patterns) and `elaborate` (to Core); [`pipeline`] has the way from Core to machine
//! code.

/// The Rust code of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

pub mod data;
mod db;
mod declare;
pub mod derivative_check;
pub mod differentiate;
mod display;
mod elaborate;
mod embed;
mod exhaustive;
pub mod export;
mod infer;
pub mod library;
pub mod lower;
mod message;
pub mod pipeline;
mod resolve;
mod session;
pub mod show;
mod types;

pub use db::ModuleId;
pub use diffeo_base::{Diagnostic, Severity, SourceMap, Span};
pub use diffeo_calculus::eval::leftovers;
pub use diffeo_calculus::eval::{
    Exceeded, Kinks, Limits, MemoryLimit, Options, Progress, RuntimeError,
};
pub use diffeo_codegen::engine::Cpu;
pub use embed::{Error, FromDiffeo, Function, Misfit, Program, ToDiffeo, Value};
pub use message::{Message, Note, Place};
pub use session::{Differentiable, Engine, Entry, How, LoadError, Prepared, Run, Session};
