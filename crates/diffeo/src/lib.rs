//! Diffeo, a differentiable programming language: load programs, check them, run them.
//!
//! [`Session`] is the entry point: it loads and checks files (crate `diffeo-front`) and runs entry points; [`pipeline`]
//! has the way from Core to machine code.

/// The Rust code of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

pub mod console;
pub mod derivative_check;
pub mod differentiate;
pub mod export;
mod host;
pub mod pipeline;
pub mod plot;
mod sample;
mod session;
pub mod show;
pub mod xla;

pub use diffeo_base::{closest, Diagnostic, Fix, Help, Name, Severity, SourceMap, Span, Spelling};
pub use diffeo_calculus::eval::leftovers;
pub use diffeo_calculus::eval::{
    Event, Exceeded, Kinks, Limits, MemoryLimit, Options, Progress, RuntimeError,
};
pub use diffeo_codegen::engine::Cpu;
pub use diffeo_codegen::llvm::also_look_in as also_look_for_llvm_in;
#[doc(inline)]
pub use diffeo_data as data;
pub use diffeo_front::{
    library, Differentiable, Entry, Interface, LoadError, Message, ModuleId, Note, Place,
};
pub use diffeo_lower::Refusal;
#[doc(hidden)]
pub use host::{from_core, to_core};
pub use host::{
    Array, Error, FromDiffeo, Function, HostOptions, Interval, Lines, Mismatch, Notebook, Program,
    Report, Reports, Shown, ToDiffeo, Type, Types, Value, Variant, WellKnown, XlaModule,
};
pub use sample::{
    Approximation, Chain, Method, Names, SampleOptions, Samples, Step, Steps, Summary, Variable,
};
pub use session::{
    refused_intervals, Engine, How, PapersEngine, Prepared, Run, Session, Unsupported,
};
