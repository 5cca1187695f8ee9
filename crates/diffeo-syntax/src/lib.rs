//! Text to syntax tree. Every input gives a tree and a list of diagnostics; nothing here knows types.
//!
//! [`parse`] reads a file, [`parse_expression`] a single expression, [`print()`] shows a tree,
//! [`format()`] lays a text out anew.

pub mod ast;
mod classes;
mod format;
mod lexer;
mod parser;
mod print;
mod token;

pub use classes::{classes, TokenClass};
pub use format::format;
pub use parser::{parse, parse_expression};
pub use print::print;
pub use token::is_keyword;

/// How deep a tree may be, and so how deep every pass over it recurses.
pub const MAX_DEPTH: usize = 3000;

/// How many errors are reported for one file.
pub const MAX_ERRORS: usize = 50;
