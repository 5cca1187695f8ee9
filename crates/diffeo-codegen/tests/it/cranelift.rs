//! Every form of Low in machine code by Cranelift.

#[path = "forms.rs"]
mod forms;

use diffeo_codegen::cranelift::{compile, CraneliftOptions};
use diffeo_codegen::engine::{Compiled, Cpu};
use diffeo_codegen::low::LowModule;
use std::sync::Arc;

/// Compiles a program by the engine of this test.
pub fn compile_for(module: &Arc<LowModule>, cpu: Cpu) -> Compiled {
    compile(module, &CraneliftOptions { cpu, verify: true, ..Default::default() }).unwrap()
}

/// The relative error that functions may have: they are the evaluator's.
pub const MATH_ERROR: f64 = 0.0;
