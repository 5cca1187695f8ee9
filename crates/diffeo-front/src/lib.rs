//! The front end: from the text of programs to Core, with all that is wrong with them.
//!
//! [`Session`] loads files and checks them; the phases are `resolve` (names), `infer` (types), `exhaustive` (patterns)
//! and `elaborate` (to Core). Nothing here runs a program or knows of a processor: it builds for WebAssembly.

pub mod db;
mod declare;
pub mod display;
mod elaborate;
mod exhaustive;
mod infer;
pub mod interface;
pub mod library;
mod message;
pub mod query;
mod resolve;
mod session;
pub mod types;

pub use db::ModuleId;
pub use interface::Interface;
pub use message::{Message, Note, Place};
pub use session::{Differentiable, Entry, LoadError, Modes, Session};
