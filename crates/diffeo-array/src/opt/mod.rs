//! Passes from Flat to Flat.

mod cse;
mod dce;
mod effects;
mod graph;
mod inline;
mod ranges;
mod shapes;
mod simplify;
pub mod walk;

pub use cse::cse;
pub use dce::dce;
pub use inline::inline;
pub use ranges::ranges;
pub use simplify::simplify;
