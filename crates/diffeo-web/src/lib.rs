//! Diffeo in a browser: a request as JSON comes in, an answer as JSON goes out.
//!
//! | file | what is in it |
//! |---|---|
//! | `engine.rs` | [`Engine`]: the requests |
//! | `run.rs` | running a program's definitions, within bounds on time and memory |
//! | `pictures.rs` | the plots in values, drawn |
//! | `table.rs` | values that are tables |
//! | `show.rs` | a definition in the forms of the papers |
//! | `gradient.rs` | value, gradient and check at a point |
//! | `graph.rs` | a Delta as a graph, Figure 12 of Krawiec et al. |
//! | `exports.rs` | the functions of the WebAssembly module |
//!
//! A browser's worker has no clock that Rust's library knows, no second thread and little stack. So the [`Host`] tells
//! the time, and recursion of the compiler that the stack cannot hold ends the module; the page starts a new one.

mod engine;
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code)]
mod exports;
mod gradient;
mod graph;
mod pictures;
mod run;
mod show;
mod table;

pub use engine::Engine;
pub use run::Host;
