//! Passes from Flat to Flat.

mod cse;
mod dce;
mod effects;
mod graph;
mod shapes;
mod simplify;
mod walk;

pub use cse::cse;
pub use dce::dce;
pub use simplify::simplify;
