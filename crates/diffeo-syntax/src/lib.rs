//! Text to syntax tree. Every input gives a tree and a list of diagnostics; nothing here knows types.

pub mod ast;
