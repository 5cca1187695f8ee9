//! Random modules of Flat: their Low lints, gives what Flat's evaluator gives, keeps to the rules of memory and
//! leaves nothing.

use crate::random::program;
use crate::support::values::check_with;
use diffeo_codegen::memory::Splitting;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

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
