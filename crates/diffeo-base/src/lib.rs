//! What every crate of Diffeo shares: places in source text, names, typed arenas and diagnostics.
//!
//! Nothing here knows the language; nothing here does input or output.

mod arena;
pub mod calendar;
mod character;
mod deep;
mod diagnostic;
pub mod foreign;
mod graph;
mod help;
mod name;
mod never;
mod quote;
mod reason;
mod source;
mod suggest;

pub use arena::{Arena, Idx};
pub use character::is_invisible;
pub use deep::{ask, bounded, deep, on_large_stack};
pub use diagnostic::{Diagnostic, Label, Severity, MOST_SHOWN};
pub use graph::Components;
pub use help::{CallOption, Fix, Help, Spelling};
pub use name::Name;
pub use quote::{field_name, is_escaped, is_word, quoted};
pub use reason::reason;
pub use source::{FileId, LineColumn, SourceMap, Span};
pub use suggest::closest;
