//! Machine code and C from Flat.
//!
//! ```text
//! Flat ──memory──▶ Low ──▶ Cranelift ─▶ machine code
//!                      ──▶ LLVM ──────▶ machine code
//!                      ──▶ C
//! ```
//!
//! The back ends translate [`low`] statement by statement; what several of them need is done before, on Flat or Low.

pub mod c;
pub mod cache;
pub mod confined;
pub mod cranelift;
pub mod engine;
pub mod image;
pub mod llvm;
pub mod low;
pub mod math;
pub mod memory;
mod process;
pub mod runtime;
