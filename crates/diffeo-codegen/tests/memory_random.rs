//! Random modules of Flat: their Low lints, gives what Flat's evaluator gives, keeps to the rules of memory and
//! leaves nothing.

mod random;
mod support;

use diffeo_codegen::memory::Splitting;
use random::program;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use support::values::check_with;

fn programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        // What Low does backwards is in another order.
        let program = program(seed, false);
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
