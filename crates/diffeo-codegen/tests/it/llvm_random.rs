//! Random modules of Flat in machine code by LLVM, with every loop in lanes that can be, and every other one with every
//! function cut that can be.

use crate::random;
use crate::random::program;
use diffeo_codegen::{llvm, memory};
use std::sync::Arc;

fn check(seed: u64) {
    let program = program(seed, false);
    let mut lowering = memory::MemoryOptions::default();
    if seed.is_multiple_of(2) {
        lowering.long = 8;
    }
    let low = Arc::new(memory::lower_with(Arc::new(program.module.clone()), lowering));
    let options = llvm::LlvmOptions { eager: true, ..Default::default() };
    random::check(seed, &program, llvm::compile(&low, &options).unwrap());
}

#[test]
fn random_modules() {
    if let Err(missing) = llvm::library() {
        return println!("skipped: {missing}");
    }
    (0..400).for_each(check);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    (400..20_000).for_each(check);
}
