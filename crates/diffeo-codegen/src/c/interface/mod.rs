//! Interfaces of libraries for C to programs that load functions: a file of C each, which calls the library.
//!
//! What comes in: the functions of the library. What goes out: the text of a file that needs the library's header and
//! the C library alone. What always holds: any thread may call it, since each call takes a context of its own; a nan is
//! given as any other number is.

mod bridgestan;
mod casadi;
mod xla;

pub use bridgestan::Bridgestan;
pub use casadi::{Casadi, Companions};

use super::library::{CValue, Crossing, Exported, Refused};
use diffeo_array::ir::Elem;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What other programs find in a library.
pub enum Interface {
    /// Each function is a handler of XLA's foreign function interface.
    XlaFfi,
    /// Functions are external functions of CasADi.
    Casadi(Casadi),
    /// The library is a model of BridgeStan.
    Bridgestan(Bridgestan),
}

/// Why an interface does not have a function.
#[derive(Debug)]
pub struct Unfit {
    /// The number of the function.
    pub number: usize,
    /// The result is to blame, not a parameter.
    pub in_result: bool,
    /// Why not.
    pub why: String,
}

impl From<(usize, String)> for Unfit {
    fn from((number, why): (usize, String)) -> Unfit {
        Unfit { number, in_result: false, why }
    }
}

/// Sizes that are known when the library is made.
pub type KnownSizes = BTreeMap<String, u64>;

/// The contexts of calls.
const POOL: &str = include_str!("../runtime/interface/pool.c");

impl Interface {
    /// What the name of its file ends in.
    pub fn ending(&self) -> &'static str {
        match self {
            Interface::XlaFfi => "xla_ffi",
            Interface::Casadi(_) => "casadi",
            Interface::Bridgestan(_) => "bridgestan",
        }
    }

    /// Its file.
    ///
    /// # Errors
    /// The interface does not have what a function takes or gives.
    pub(super) fn source(&self, library: &str, functions: &[Exported]) -> Result<String, Refused> {
        let text = match self {
            Interface::XlaFfi => xla::source(functions).map_err(Unfit::from),
            Interface::Casadi(casadi) => casadi.source(functions),
            Interface::Bridgestan(bridgestan) => bridgestan.source(functions).map_err(Unfit::from),
        };
        let text = text.map_err(Refused::Interface)?;
        Ok(text.replace("NAME", library))
    }
}

/// How many indices a value has.
fn rank(leaf: &CValue) -> usize {
    match leaf.crossing {
        Crossing::Array(_, rank) => usize::from(rank),
        Crossing::Scalar(_) | Crossing::Text => 0,
    }
}

/// What the elements are; none for texts.
fn elem(leaf: &CValue) -> Option<Elem> {
    match leaf.crossing {
        Crossing::Array(Elem::Text, _) | Crossing::Text => None,
        Crossing::Array(elem, _) | Crossing::Scalar(elem) => Some(elem),
    }
}

/// The type of the local variable that takes a result.
fn result_type(leaf: &CValue) -> String {
    match leaf.crossing {
        Crossing::Scalar(elem) => super::library::c_type(elem).0.to_string(),
        Crossing::Array(elem, rank) => {
            super::library::array_type("NAME", super::library::c_type(elem).0, rank)
        }
        Crossing::Text => "NAME_text".to_string(),
    }
}

/// Declarations of the local variables for results, `r0` and so on.
fn locals(results: &[CValue]) -> String {
    let mut text = String::new();
    for (i, leaf) in results.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {} r{i};", result_type(leaf));
    }
    text
}

/// The data of a result: an expression for where it begins.
fn data(leaf: &CValue, i: usize) -> String {
    if rank(leaf) > 0 {
        format!("r{i}.data")
    } else {
        format!("&r{i}")
    }
}

/// The sizes of a result, an expression.
fn shape(leaf: &CValue, i: usize) -> String {
    if rank(leaf) > 0 {
        format!("r{i}.shape")
    } else {
        "NULL".to_string()
    }
}

/// Statements that free the results, indented so.
fn released(results: &[CValue], indent: &str) -> String {
    let arrays = results.iter().enumerate().filter(|(_, leaf)| rank(leaf) > 0);
    arrays.map(|(i, _)| format!("{indent}NAME_release(r{i}.data);\n")).collect()
}

/// What a value is called by those who do not see the parameters: a field of a record by its own name.
fn short(leaf: &CValue) -> String {
    match leaf.path.get(1) {
        Some(field) if field.starts_with(|c: char| c.is_alphabetic()) => leaf.path[1..].join("_"),
        _ => leaf.path.join("_"),
    }
}
