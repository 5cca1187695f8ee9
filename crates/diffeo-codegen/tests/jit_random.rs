//! Random modules of Flat in machine code by Cranelift: what they give, print and stop for is what Flat's
//! evaluator says, and no memory is left.

use diffeo_array::eval::Evaluator;
use diffeo_array::generate::{program, Features, Program};
use diffeo_array::print::print;
use diffeo_array::value::Value;
use diffeo_calculus::eval::{Limits, Options, Progress, RuntimeError};
use diffeo_codegen::engine::{Callbacks, Instance, RunOptions};
use diffeo_codegen::memory::Polls;
use diffeo_codegen::{cranelift, memory};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

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

type Lines = Rc<RefCell<Vec<String>>>;

/// What a run prints.
fn callbacks(lines: &Lines) -> Callbacks {
    let (traced, reported) = (lines.clone(), lines.clone());
    Callbacks {
        trace: Box::new(move |line| traced.borrow_mut().push(line.to_string())),
        progress: Box::new(move |p: &Progress<'_>| {
            reported.borrow_mut().push(format!("{} {} {}", p.label, p.step, p.value));
        }),
    }
}

fn shown(error: &RuntimeError) -> String {
    let (code, message) = (error.kind.code(), error.kind.message());
    format!("{code}: {message} at {:?} {:?} {:?}", error.span, error.function, error.trace)
}

/// The limits of both: long enough for every program of the generator.
fn limits() -> Limits {
    Limits::after(Duration::from_secs(20))
}

fn expected(program: &Program, lines: &Lines) -> Result<Vec<Value>, String> {
    let Callbacks { trace, progress } = callbacks(lines);
    let options = Options { trace, progress, limits: limits(), ..Options::default() };
    let mut evaluator = Evaluator::new(Arc::new(program.module.clone()), options);
    evaluator.run(program.args.clone()).map_err(|error| shown(&error))
}

fn check(seed: u64) {
    // Sums in another order differ in their last digits.
    let features = Features { inexact: false, ..Features::default() };
    let program = program(&choices(seed, 20 + (seed % 400) as usize), features);
    let lines = Lines::default();
    let expected = expected(&program, &lines);
    let lowering = memory::Options { polls: Polls::All, reuse: true, ..Default::default() };
    let low = Arc::new(memory::lower_with(Arc::new(program.module.clone()), lowering));
    let options = cranelift::Options { verify: true, ..Default::default() };
    let compiled = Arc::new(cranelift::compile(&low, &options).unwrap());
    let found_lines = Lines::default();
    let options = RunOptions {
        limits: limits(),
        callbacks: callbacks(&found_lines),
        ..RunOptions::default()
    };
    let mut instance = Instance::new(compiled, options);
    // Twice: the second run finds the constants, and the memory of the first.
    for _ in 0..2 {
        found_lines.borrow_mut().clear();
        let found = instance.call(&program.args).map_err(|error| shown(&error));
        let text = || format!("seed {seed}\n{}\n{:?}", print(&program.module), program.args);
        assert_eq!(found, expected, "{}", text());
        // Constants print when they are computed.
        if found_lines.borrow().len() != lines.borrow().len() {
            assert!(!program.module.constants.is_empty(), "{}", text());
        } else {
            assert_eq!(*found_lines.borrow(), *lines.borrow(), "{}", text());
        }
        let constants = found.is_err() || program.module.constants.is_empty();
        assert!(!constants || instance.live_blocks() == 0, "{}", text());
    }
    instance.release_constants();
    assert_eq!(instance.live_blocks(), 0, "seed {seed}");
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
