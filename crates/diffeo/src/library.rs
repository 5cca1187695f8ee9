//! The standard library, embedded in the program.

/// The modules: their names and texts.
pub const MODULES: &[(&str, &str)] = &[("prelude", include_str!("../../../std/prelude.deo"))];

/// The text of a module of the standard library.
pub fn source(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
