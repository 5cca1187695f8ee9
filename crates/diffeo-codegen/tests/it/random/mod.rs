//! Random modules of Flat, what Flat's evaluator says of them, and whether compiled code says the same.

#![allow(dead_code)]

use diffeo_array::eval::FlatEvaluator;
use diffeo_array::print::print;
use diffeo_array::value::FlatValue;
use diffeo_array_generate::{self as generate, Features, GeneratedProgram};
use diffeo_calculus::eval::{Events, Limits, Options, RuntimeError};
use diffeo_codegen::engine::{Compiled, Instance, RunOptions};
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

type LineLog = Rc<RefCell<Vec<String>>>;

/// Keeps what a run prints and reports.
fn events(lines: &LineLog) -> Events {
    let lines = lines.clone();
    Box::new(move |event| lines.borrow_mut().push(format!("{event:?}")))
}

fn shown(error: &RuntimeError) -> String {
    let (code, message) = (error.kind.code(), error.kind.message());
    format!("{code}: {message} at {:?} {:?} {:?}", error.span, error.function, error.trace)
}

/// The limits of both: long enough for every program of the generator.
fn limits() -> Limits {
    Limits::after(Duration::from_secs(20))
}

/// What Flat's evaluator says.
fn expected(program: &GeneratedProgram, lines: &LineLog) -> Result<Vec<FlatValue>, String> {
    let options = Options { events: events(lines), limits: limits(), ..Options::default() };
    let mut evaluator = FlatEvaluator::new(Arc::new(program.module.clone()), options);
    evaluator.run(program.args.clone()).map_err(|error| shown(&error))
}

/// A program that depends on the seed alone. Unless it is inexact, its numbers are such that sums are the same in every
/// order.
pub fn program(seed: u64, inexact: bool) -> GeneratedProgram {
    let features = Features { inexact, ..Features::default() };
    generate::program(&choices(seed, 20 + (seed % 400) as usize), features)
}

/// Compiled code gives, prints and stops for what Flat's evaluator says, and leaves no memory.
pub fn check(seed: u64, program: &GeneratedProgram, compiled: Compiled) {
    let lines = LineLog::default();
    let expected = expected(program, &lines);
    let found_lines = LineLog::default();
    let options =
        RunOptions { limits: limits(), events: events(&found_lines), ..RunOptions::default() };
    let mut instance = Instance::new(Arc::new(compiled), options);
    // Twice: the second run finds the constants, and the memory of the first.
    for _ in 0..2 {
        found_lines.borrow_mut().clear();
        let found = instance.call(&program.args).map_err(|error| shown(&error));
        let text = || format!("seed {seed}\n{}\n{:?}", print(&program.module), program.args);
        assert_eq!(found, expected, "{}", text());
        // Constants print when they are computed, and those that nobody reads need not be.
        if program.module.constants.is_empty() {
            assert_eq!(*found_lines.borrow(), *lines.borrow(), "{}", text());
        } else {
            let known = |line| lines.borrow().contains(line);
            assert!(found_lines.borrow().iter().all(known), "{}", text());
        }
        let constants = found.is_err() || program.module.constants.is_empty();
        assert!(!constants || instance.live_blocks() == 0, "{}", text());
    }
    instance.release_constants();
    assert_eq!(instance.live_blocks(), 0, "seed {seed}");
}
