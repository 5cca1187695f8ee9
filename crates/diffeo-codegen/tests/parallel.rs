//! Loops whose blocks are done at once: results, errors and what is left are those of one thread, to the last bit,
//! however many threads there are.

use diffeo_array::generate::{program, Features};
use diffeo_array::parse::parse;
use diffeo_array::print::print;
use diffeo_array::value::{Array, Data, Value};
use diffeo_calculus::eval::{Limits, MemoryLimit, RuntimeError};
use diffeo_codegen::engine::{Compiled, Cpu, Instance, RunOptions};
use diffeo_codegen::memory::{lower_with, Splitting};
use diffeo_codegen::{cranelift, llvm, low};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn low(text: &str) -> Arc<low::Module> {
    let module = parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let violations = diffeo_array::lint(&module);
    assert!(violations.is_empty(), "{violations:?}");
    split(module)
}

fn split(module: diffeo_array::ir::Module) -> Arc<low::Module> {
    let low = lower_with(Arc::new(module), Splitting::ALWAYS);
    let violations = low::lint::lint(&low);
    assert!(violations.is_empty(), "{violations:?}\n{}", low::print::print(&low));
    Arc::new(low)
}

/// How many loops are done block by block.
fn loops(low: &low::Module) -> usize {
    low.functions.iter().filter(|f| f.blocks.is_some()).count()
}

fn jit(low: &Arc<low::Module>) -> Arc<Compiled> {
    let options = cranelift::Options { verify: true, ..Default::default() };
    Arc::new(cranelift::compile(low, &options).unwrap())
}

/// By each engine that does several blocks at once and is there.
fn engines(low: &Arc<low::Module>) -> Vec<Arc<Compiled>> {
    let mut engines = vec![jit(low)];
    if llvm::library().is_ok() {
        let options = llvm::Options { cpu: Cpu::Host, cache: None };
        engines.push(Arc::new(llvm::compile(low, &options).unwrap()));
    }
    engines
}

fn instance(compiled: &Arc<Compiled>, threads: usize, limits: Limits) -> Instance {
    let limits = Limits { threads: NonZeroUsize::new(threads), ..limits };
    Instance::new(compiled.clone(), RunOptions { limits, ..RunOptions::default() })
}

/// What is the same of two errors: everything but how deep calls were when the stack was used up.
fn shown(error: &RuntimeError) -> String {
    let (code, message) = (error.kind.code(), error.kind.message());
    format!("{code}: {message} at {:?} {:?} {:?}", error.span, error.function, error.trace)
}

fn bits(value: &Value, out: &mut String) {
    use std::fmt::Write;
    match value {
        Value::Real(x) => write!(out, "{:x} ", x.to_bits()).unwrap(),
        Value::Array(array) => match array.data() {
            Data::Reals(xs) => {
                let xs = &xs[array.range()];
                let bits: Vec<u64> = xs.iter().map(|x| x.to_bits()).collect();
                write!(out, "{:?} {bits:x?} ", array.sizes()).unwrap();
            }
            Data::Ints(_) | Data::Bools(_) | Data::Values(_) => write!(out, "{array:?} ").unwrap(),
        },
        Value::Int(_)
        | Value::Bool(_)
        | Value::Text(_)
        | Value::Box(_)
        | Value::Null
        | Value::Acc(_)
        | Value::Stack(_) => write!(out, "{value:?} ").unwrap(),
    }
}

/// What a run gives, with the bits of numbers; and that no memory is left.
fn run(instance: &mut Instance, args: &[Value]) -> String {
    let mut out = String::new();
    match instance.call(args) {
        Ok(values) => values.iter().for_each(|value| bits(value, &mut out)),
        Err(error) => out = shown(&error),
    }
    instance.release_constants();
    assert_eq!(instance.live_blocks(), 0, "{out}");
    out
}

/// What a program gives on one thread; the others give the same.
fn same(low: &Arc<low::Module>, args: &[Value], about: impl Fn() -> String) -> Vec<String> {
    let mut found = Vec::new();
    for compiled in engines(low) {
        let expected = run(&mut instance(&compiled, 1, Limits::default()), args);
        for threads in [2, 3, 8] {
            let mut instance = instance(&compiled, threads, Limits::default());
            // Twice: the second run finds the contexts and memory of the first.
            for _ in 0..2 {
                assert_eq!(run(&mut instance, args), expected, "{threads} threads\n{}", about());
            }
        }
        found.push(expected);
    }
    found
}

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

fn check(seed: u64) -> usize {
    let program = program(&choices(seed, 20 + (seed % 400) as usize), Features::default());
    let low = split(program.module.clone());
    let loops = loops(&low);
    if loops > 0 {
        let compiled = jit(&low);
        let expected = run(&mut instance(&compiled, 1, Limits::default()), &program.args);
        for threads in [2, 3, 8] {
            let mut instance = instance(&compiled, threads, Limits::default());
            for _ in 0..2 {
                let found = run(&mut instance, &program.args);
                let text = || format!("seed {seed}, {threads} threads\n{}", print(&program.module));
                assert_eq!(found, expected, "{}", text());
            }
        }
    }
    loops
}

#[test]
fn random_modules() {
    let loops: usize = (0..600).map(check).sum();
    assert!(loops > 200, "only {loops} loops");
}

#[test]
#[ignore = "takes minutes"]
fn many_random_modules() {
    (1000..50_000).for_each(|seed| _ = check(seed));
}

#[allow(dead_code)]
fn reals(count: usize) -> Value {
    let xs: Vec<f64> = (0..count).map(|i| (i as f64 * 0.7).sin() / 3.0).collect();
    let array = Array::new(&[count as i64], Data::Reals(Rc::new(xs)));
    Value::array(array.unwrap())
}

