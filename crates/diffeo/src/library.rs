//! The standard library, embedded in the program.

/// The modules: their names and texts. A long one is in several files, one after the other.
pub const MODULES: &[(&str, &str)] = &[
    (
        "prelude",
        concat!(
            include_str!("../../../std/prelude.deo"),
            include_str!("../../../std/prelude/arrays.deo")
        ),
    ),
    ("linalg", include_str!("../../../std/linalg.deo")),
    ("ode", include_str!("../../../std/ode.deo")),
    (
        "optim",
        concat!(
            include_str!("../../../std/optim.deo"),
            include_str!("../../../std/optim/newton.deo"),
            include_str!("../../../std/optim/least_squares.deo")
        ),
    ),
    ("quadrature", include_str!("../../../std/quadrature.deo")),
    ("random", include_str!("../../../std/random.deo")),
    ("root", include_str!("../../../std/root.deo")),
    ("stats", include_str!("../../../std/stats.deo")),
];

/// The text of a module of the standard library.
pub fn source(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
