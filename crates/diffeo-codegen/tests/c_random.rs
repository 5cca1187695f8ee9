//! Random modules of Flat on engine `c`: what they give, and what they stop for, is what Flat's evaluator says,
//! and no memory is left. Many of them are compiled as one file.

use diffeo_array::eval::Evaluator;
use diffeo_array::generate::{program, Features, Program};
use diffeo_array::print::print;
use diffeo_array::value::Value;
use diffeo_calculus::eval::{Limits, RuntimeError};
use diffeo_codegen::c::compiler::{Compiler, Options};
use diffeo_codegen::c::engine::compile_all;
use diffeo_codegen::engine::{Compiled, Instance, RunOptions};
use diffeo_codegen::low;
use diffeo_codegen::memory::{self, Splitting};
use std::sync::Arc;
use std::time::Duration;

/// How many programs are a file.
const FILE: u64 = 64;

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

fn shown(error: &RuntimeError) -> String {
    let (code, message) = (error.kind.code(), error.kind.message());
    format!("{code}: {message} at {:?} {:?} {:?}", error.span, error.function, error.trace)
}

/// The limits of both: long enough for every program of the generator.
fn limits() -> Limits {
    Limits::after(Duration::from_secs(20))
}

fn expected(program: &Program) -> Result<Vec<Value>, String> {
    let options = diffeo_calculus::eval::Options {
        limits: limits(),
        ..diffeo_calculus::eval::Options::default()
    };
    let mut evaluator = Evaluator::new(Arc::new(program.module.clone()), options);
    evaluator.run(program.args.clone()).map_err(|error| shown(&error))
}

fn check(seed: u64, program: &Program, compiled: Compiled) {
    let expected = expected(program);
    let options = RunOptions { limits: limits(), ..RunOptions::default() };
    let mut instance = Instance::new(Arc::new(compiled), options);
    // Twice: the second run finds the constants, and the memory of the first.
    for _ in 0..2 {
        let found = instance.call(&program.args).map_err(|error| shown(&error));
        let text = || format!("seed {seed}\n{}\n{:?}", print(&program.module), program.args);
        assert_eq!(found, expected, "{}", text());
    }
    instance.release_constants();
    assert_eq!(instance.live_blocks(), 0, "seed {seed}");
}

fn check_all(seeds: std::ops::Range<u64>) {
    if Compiler::find().path().is_none() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    for first in seeds.clone().step_by(FILE as usize) {
        // Sums in another order differ in their last digits.
        let features = Features { inexact: false, ..Features::default() };
        let programs: Vec<(u64, Program)> = (first..seeds.end.min(first + FILE))
            .map(|seed| (seed, program(&choices(seed, 20 + (seed % 400) as usize), features)))
            .collect();
        let modules: Vec<Arc<low::Module>> = programs
            .iter()
            .map(|(seed, program)| {
                // Every other program with its loops done block by block.
                let always = seed.is_multiple_of(2);
                let splitting = if always { Splitting::ALWAYS } else { Splitting::NEVER };
                let options = memory::Options { splitting, ..memory::Options::default() };
                Arc::new(memory::lower_with(Arc::new(program.module.clone()), options))
            })
            .collect();
        // Every other file with all optimisations.
        let options = Options { quick: (first / FILE).is_multiple_of(2), ..Options::default() };
        let compiled = compile_all(&modules, &options).unwrap_or_else(|e| panic!("{e}"));
        for ((seed, program), compiled) in programs.iter().zip(compiled) {
            check(*seed, program, compiled);
        }
    }
}

#[test]
fn random_modules() {
    check_all(0..256);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    check_all(256..20_000);
}
