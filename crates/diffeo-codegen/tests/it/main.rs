//! The tests of this crate, in one binary: it is linked once.

// The forms of Low are tested on two engines, each with its own `compile_for`.
#![allow(clippy::duplicate_mod)]

mod c_forms;
mod c_random;
mod c_support;
mod cranelift;
mod jit_random;
mod lanes;
mod llvm;
mod llvm_random;
mod lowered;
mod math;
mod memory;
mod memory_random;
mod parallel;
mod random;
mod support;
mod tile;
