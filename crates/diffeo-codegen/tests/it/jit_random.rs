//! Random modules of Flat in machine code by Cranelift, of every other one with every loop in lanes that can be.

use crate::random;
use crate::random::program;
use diffeo_codegen::{cranelift, memory};
use std::sync::Arc;

fn check(seed: u64) {
    let program = program(seed, false);
    let low = Arc::new(memory::lower(Arc::new(program.module.clone())));
    let eager = seed.is_multiple_of(2);
    let options = cranelift::CraneliftOptions { verify: true, eager, ..Default::default() };
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
