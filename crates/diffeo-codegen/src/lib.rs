//! Machine code and C from Flat.
//!
//! ```text
//! Flat ──memory──▶ Low ──▶ Cranelift ─▶ machine code
//!                      ──▶ LLVM ──────▶ machine code
//!                      ──▶ C
//! ```
//!
//! Everything clever happens before: what stands in [`low`] is translated statement by statement.

<<<<<<< HEAD
=======
pub mod c;
>>>>>>> main
pub mod cranelift;
mod deep;
pub mod engine;
pub mod llvm;
pub mod low;
<<<<<<< HEAD
=======
pub mod math;
>>>>>>> main
pub mod memory;
pub mod runtime;
