//! Random modules of Flat: their Low lints, gives what Flat's evaluator gives, keeps to the rules of memory and
//! leaves nothing.

mod support;

use diffeo_array::generate::{program, Features};
use diffeo_codegen::memory::Splitting;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use support::values::check_with;

/// Numbers that depend on the seed alone (Marsaglia's xorshift).
fn choices(seed: u64, count: usize) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..count).map(|_| next()).collect()
}

fn programs(seeds: std::ops::Range<u64>) {
    // Sums in another order differ in their last digits, and what Low does backwards is in another order.
    let features = Features { inexact: false, ..Features::default() };
    for seed in seeds {
        let program = program(&choices(seed, 20 + (seed % 400) as usize), features);
        let flat = Arc::new(program.module);
        for splitting in [Splitting::NEVER, Splitting::ALWAYS] {
            let check = || check_with(&flat, &program.args, splitting);
            if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(check)) {
                eprintln!("seed {seed}, {splitting:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[test]
fn random_modules() {
    programs(0..2000);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    programs(2000..100_000);
}
