//! Diffeo from Python: conversions, and classes around [`diffeo::Program`] and [`diffeo::Function`].
//!
//! | file | what is in it |
//! |---|---|
//! | `program.rs` | programs, functions, their derivatives |
//! | `given.rs` | Python's values as a program takes them; arrays are borrowed |
//! | `taken.rs` | what a program gives as Python's values |
//! | `notebook.rs` | cells and commands of the kernel for Jupyter |
//! | `plot.rs` | plots, which notebooks draw |
//! | `sample.rs` | draws from posterior distributions |
//! | `signals.rs` | signals that come while a call runs |
//! | `xla.rs` | functions as custom calls of XLA, for JAX |
//! | `server.rs` | what editors and notebooks ask about a text |
//! | `error.rs` | exceptions |

mod error;
mod given;
mod like;
mod notebook;
mod plot;
mod program;
mod sample;
mod server;
mod signals;
mod stablehlo;
mod table;
mod taken;
mod xla;

use pyo3::prelude::*;

/// Looks for an LLVM in this folder, too.
#[pyfunction]
fn look_for_llvm_in(folder: std::path::PathBuf) {
    diffeo::also_look_for_llvm_in(folder);
}

/// The compiled part of the package `diffeo`.
#[pymodule]
fn _diffeo(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<program::PyProgram>()?;
    module.add_class::<program::PyFunction>()?;
    module.add_class::<stablehlo::StableHlo>()?;
    module.add_class::<plot::Plot>()?;
    module.add_class::<notebook::Notebook>()?;
    module.add_class::<server::Server>()?;
    module.add_function(wrap_pyfunction!(look_for_llvm_in, module)?)?;
    module.add_function(wrap_pyfunction!(server::is_unfinished, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
