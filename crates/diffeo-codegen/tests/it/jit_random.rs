//! Random modules of Flat in machine code by Cranelift.

use crate::random;
use crate::random::program;
use diffeo_codegen::{cranelift, memory};
use std::sync::Arc;

fn check(seed: u64) {
    let program = program(seed, false);
    let lowering = memory::MemoryOptions { reuse: true, ..Default::default() };
    let low = Arc::new(memory::lower_with(Arc::new(program.module.clone()), lowering));
    let options = cranelift::CraneliftOptions { verify: true, ..Default::default() };
    random::check(seed, &program, cranelift::compile(&low, &options).unwrap());
}

#[test]
fn random_modules() {
    (0..1000).for_each(check);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    (1000..100_000).for_each(check);
}
