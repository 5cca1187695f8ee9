//! Every form of Low in machine code by LLVM: the tests of `forms.rs` with the other engine, and what
//! LLVM alone does.

#[path = "forms.rs"]
mod forms;
use crate::cranelift;
use forms::low;

use diffeo_array::ir::{Reduction, SiteId};
use diffeo_calculus::prim::real::eval;
use diffeo_calculus::prim::RealOp;
use diffeo_codegen::cache::Cache;
use diffeo_codegen::engine::{Compiled, Cpu, Instance, RunOptions};
use diffeo_codegen::llvm::{self, LlvmOptions, Stage};
use diffeo_codegen::low::{
    Address, Binary, Compare, Expr, For, LowFunction, LowModule, LowTy, Operand, Reg, Stmt,
};
use low::{instance, module, r, run, set, Build};
use std::sync::Arc;
use std::time::Instant;

/// The relative error that functions may have: they are expanded.
const MATH_ERROR: f64 = cranelift::MATH_ERROR + 4.0 * f64::EPSILON;

/// Whether there is an LLVM; without one the tests are of the other engine alone.
fn found() -> bool {
    match llvm::library() {
        Ok(_) => true,
        Err(missing) => {
            println!("skipped: {missing}");
            false
        }
    }
}

/// Compiles a program by the engine of this test.
pub fn compile_for(module: &Arc<LowModule>, cpu: Cpu) -> Compiled {
    if !found() {
        return cranelift::compile_for(module, cpu);
    }
    llvm::compile(module, &LlvmOptions { cpu, ..LlvmOptions::default() }).unwrap()
}

const XS: Reg = Reg(0);
const YS: Reg = Reg(1);
const N: Reg = Reg(2);

/// An element of an array.
fn element(array: Reg, index: Reg) -> Expr {
    Expr::Load(LowTy::Real, Address { base: r(array), index: r(index), scale: 8, offset: 0 })
}

/// `for i in 0..n { body }`
fn each(index: Reg, reductions: Vec<(Reg, Reduction)>, body: Vec<Stmt>) -> Stmt {
    Stmt::For(Box::new(For {
        index,
        from: Operand::Int(0),
        to: r(N),
        body,
        independent: true,
        separate: true,
        reductions,
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    }))
}

/// The sum of products.
fn dot() -> LowFunction {
    let mut f = Build::new("dot", &[LowTy::Ptr, LowTy::Ptr, LowTy::Int], &[LowTy::Real]);
    let [sum, x, y, product] = [(); 4].map(|()| f.reg(LowTy::Real));
    let i = f.reg(LowTy::Int);
    let step = vec![
        set(x, element(XS, i)),
        set(y, element(YS, i)),
        set(product, Expr::Binary(Binary::Mul, r(x), r(y))),
        set(sum, Expr::Binary(Binary::Add, r(sum), r(product))),
    ];
    f.body(vec![
        set(sum, Expr::Copy(Operand::Real(0.0))),
        each(i, vec![(sum, Reduction::Add)], step),
        Stmt::Return(vec![r(sum)]),
    ])
}

/// `ys[i] = op(xs[i])`
fn map(op: RealOp) -> LowFunction {
    let mut f = Build::new("map", &[LowTy::Ptr, LowTy::Ptr, LowTy::Int], &[]);
    let [x, y] = [(); 2].map(|()| f.reg(LowTy::Real));
    let i = f.reg(LowTy::Int);
    let to = Address { base: r(YS), index: r(i), scale: 8, offset: 0 };
    let step = vec![
        set(x, element(XS, i)),
        set(y, Expr::Math(op, r(x), Operand::Real(0.0))),
        Stmt::Store(LowTy::Real, to, r(y)),
    ];
    f.body(vec![each(i, Vec::new(), step), Stmt::Return(Vec::new())])
}

/// `max + log(sum(exp(xs[i] - max)))`
fn log_sum_exp() -> LowFunction {
    let mut f = Build::new("log_sum_exp", &[LowTy::Ptr, LowTy::Ptr, LowTy::Int], &[LowTy::Real]);
    let [max, sum, x, y, z, e, log, result] = [(); 8].map(|()| f.reg(LowTy::Real));
    let [i, j] = [(); 2].map(|()| f.reg(LowTy::Int));
    let zero = Operand::Real(0.0);
    f.body(vec![
        set(max, Expr::Copy(Operand::Real(f64::NEG_INFINITY))),
        each(
            i,
            vec![(max, Reduction::Max)],
            vec![set(x, element(XS, i)), set(max, Expr::Math(RealOp::Max, r(max), r(x)))],
        ),
        set(sum, Expr::Copy(zero)),
        each(
            j,
            vec![(sum, Reduction::Add)],
            vec![
                set(y, element(XS, j)),
                set(z, Expr::Binary(Binary::Sub, r(y), r(max))),
                set(e, Expr::Math(RealOp::Exp, r(z), zero)),
                set(sum, Expr::Binary(Binary::Add, r(sum), r(e))),
            ],
        ),
        set(log, Expr::Math(RealOp::Log, r(sum), zero)),
        set(result, Expr::Binary(Binary::Add, r(max), r(log))),
        Stmt::Return(vec![r(result)]),
    ])
}

fn words(xs: &[f64], ys: &[f64]) -> [u64; 3] {
    [xs.as_ptr() as u64, ys.as_ptr() as u64, xs.len() as u64]
}

/// Numbers between -1 and 1.
fn numbers(n: usize) -> Vec<f64> {
    (0..n as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 * 2f64.powi(-52) - 1.0)
        .collect()
}

#[test]
fn loops_are_vectorised() {
    if !found() {
        return;
    }
    let cases = [
        ("dot", dot(), "@llvm.fma.v8"),
        ("log_sum_exp", log_sum_exp(), "@llvm.fma.v"),
        ("exp", map(RealOp::Exp), "@llvm.fma.v"),
        ("log", map(RealOp::Log), "@llvm.fma.v"),
        ("sin", map(RealOp::Sin), "@llvm.fma.v"),
        ("tan", map(RealOp::Tan), "@llvm.fma.v"),
        ("tanh", map(RealOp::Tanh), "@llvm.fma.v"),
    ];
    for (name, function, wanted) in cases {
        let module = module(vec![function], Vec::new());
        let text = llvm::text(&module, &LlvmOptions::default(), Stage::Optimised).unwrap();
        assert!(text.contains(wanted), "no vectors in {name}:\n{text}");
        // What LLVM may change of numbers depends on the processor.
        for flag in ["reassoc", "contract", "fast"] {
            let changes = |line: &str| line.split(' ').any(|word| word == flag);
            assert!(!text.lines().any(changes), "{flag} in {name}:\n{text}");
        }
    }
}

/// Of numbers, those below zero, one after the other; how many there are.
fn below_zero() -> LowFunction {
    let mut f = Build::new("below_zero", &[LowTy::Ptr, LowTy::Ptr, LowTy::Int], &[LowTy::Int]);
    let [count, i] = [(); 2].map(|()| f.reg(LowTy::Int));
    let x = f.reg(LowTy::Real);
    let below = f.reg(LowTy::Bool);
    let to = Address { base: r(YS), index: r(count), scale: 8, offset: 0 };
    let keep = vec![
        Stmt::Store(LowTy::Real, to, r(x)),
        set(count, Expr::Binary(Binary::IntAdd, r(count), Operand::Int(1))),
    ];
    let step = For {
        index: i,
        from: Operand::Int(0),
        to: r(N),
        body: vec![
            set(x, element(XS, i)),
            set(below, Expr::Compare(Compare::Lt, r(x), Operand::Real(0.0))),
            Stmt::If(r(below), keep, Vec::new()),
        ],
        independent: false,
        separate: false,
        reductions: Vec::new(),
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    };
    f.body(vec![
        set(count, Expr::Copy(Operand::Int(0))),
        Stmt::For(Box::new(step)),
        Stmt::Return(vec![r(count)]),
    ])
}

#[test]
fn steps_with_branches_are_written_once() {
    if !found() {
        return;
    }
    let module = module(vec![below_zero()], Vec::new());
    let text = llvm::text(&module, &LlvmOptions::default(), Stage::Optimised).unwrap();
    let stores = text.matches("store double").count();
    assert_eq!(stores, 1, "{text}");
}

/// Takes and gives Reals among Ints: the Reals times the last one, in the opposite order.
fn scaled(count: usize) -> LowFunction {
    let mut params = vec![LowTy::Int];
    params.extend(vec![LowTy::Real; count]);
    params.extend([LowTy::Int, LowTy::Real]);
    let mut results = vec![LowTy::Real; count];
    results.extend([LowTy::Int, LowTy::Int]);
    let mut f = Build::new("scaled", &params, &results);
    let factor = Reg(count as u32 + 2);
    let (mut body, mut values) = (Vec::new(), Vec::new());
    for x in (1..=count as u32).rev().map(Reg) {
        let y = f.reg(LowTy::Real);
        body.push(set(y, Expr::Binary(Binary::Mul, r(x), r(factor))));
        values.push(r(y));
    }
    values.extend([r(Reg(0)), r(Reg(count as u32 + 1))]);
    body.push(Stmt::Return(values));
    f.body(body)
}

#[test]
fn many_reals_are_handed_over_as_vectors() {
    for count in [1, 7, 8, 11, 16] {
        for fallible in [false, true] {
            let mut function = scaled(count);
            function.fallible = fallible;
            let module = module(vec![function], Vec::new());
            if found() {
                let text = llvm::text(&module, &LlvmOptions::default(), Stage::Emitted).unwrap();
                assert_eq!(text.contains("<4 x double> %p1"), count >= 8, "{text}");
            }
            let xs: Vec<f64> = (0..count).map(|i| i as f64 + 0.25).collect();
            let args = [&[7], &low::reals(&xs)[..], &[8], &low::reals(&[3.0])].concat();
            let found = run(&mut instance(module), &args, count + 2).unwrap();
            let expected: Vec<f64> = xs.iter().rev().map(|x| x * 3.0).collect();
            assert_eq!(found, [&low::reals(&expected)[..], &[7, 8]].concat());
        }
    }
}

/// `f_k(x) = f_(k+1)(x) + 1` in a chain that begins with the entry; each is called again by the entry, and its own `+ 1` is
/// the last of a chain of so many operations.
fn chain(functions: u32, operations: usize) -> Vec<LowFunction> {
    let function = |k: u32| {
        let mut f = Build::new(&format!("f{k}"), &[LowTy::Real], &[LowTy::Real]).fallible();
        let mut body = Vec::new();
        let mut last = f.reg(LowTy::Real);
        match k + 1 < functions {
            true => body.push(low::call(&[last], k + 1, &[r(Reg(0))], k)),
            false => body.push(set(last, Expr::Copy(r(Reg(0))))),
        }
        let others = if k == 0 { 2..functions } else { 0..0 };
        for other in others {
            let y = f.reg(LowTy::Real);
            body.push(low::call(&[y], other, &[r(last)], k));
            last = y;
        }
        for _ in 0..operations {
            let y = f.reg(LowTy::Real);
            body.push(set(y, Expr::Binary(Binary::Add, r(last), Operand::Real(1.0))));
            last = y;
        }
        body.push(Stmt::Return(vec![r(last)]));
        f.body(body)
    };
    (0..functions).map(function).collect()
}

#[test]
fn large_programs_are_several_modules() {
    for (functions, operations, several) in [(4, 2, false), (12, 100, true), (200, 5, true)] {
        let module = module(chain(functions, operations), Vec::new());
        if found() {
            let text = llvm::text(&module, &LlvmOptions::default(), Stage::Emitted).unwrap();
            assert_eq!(text.matches("\nattributes #0").count() > 1, several, "{text}");
            assert_eq!(text.contains("\ndeclare hidden"), several, "{text}");
        }
        let found = f64::from_bits(run(&mut instance(module), &low::reals(&[0.5]), 1).unwrap()[0]);
        // The chain from each of them to the last one has so many functions.
        let lengths = [functions].into_iter().chain((2..functions).map(|k| functions - k));
        let expected = 0.5 + (lengths.sum::<u32>() as usize * operations) as f64;
        assert_eq!(found, expected, "{functions} of {operations}");
    }
}

#[test]
fn vectorised_loops_compute_what_they_should() {
    for n in [0, 1, 3, 7, 64, 1000, 1001] {
        let (xs, ys) = (numbers(n), numbers(n + 7).split_off(7));
        let mut program = instance(module(vec![dot()], Vec::new()));
        let found = f64::from_bits(run(&mut program, &words(&xs, &ys), 1).unwrap()[0]);
        let expected: f64 = xs.iter().zip(&ys).map(|(x, y)| x * y).sum();
        assert!((found - expected).abs() <= 1e-13 * (n as f64), "{found}, not {expected}");
        let mut program = instance(module(vec![log_sum_exp()], Vec::new()));
        let found = f64::from_bits(run(&mut program, &words(&xs, &ys), 1).unwrap()[0]);
        let expected = xs.iter().map(|x| x.exp()).sum::<f64>().ln();
        let same = found == expected || (found - expected).abs() <= 1e-13;
        assert!(same || (n == 0 && found.is_nan()), "{found}, not {expected}");
        for op in [RealOp::Exp, RealOp::Sin, RealOp::Log, RealOp::Tanh] {
            // Among them one that sine does not reduce itself.
            let mut xs = xs.clone();
            if n > 3 {
                xs[3] = 1e20;
            }
            let results = vec![0.0f64; n];
            let mut program = instance(module(vec![map(op)], Vec::new()));
            run(&mut program, &words(&xs, &results), 0).unwrap();
            for (x, found) in xs.iter().zip(&results) {
                // SAFETY: the place is that of a live number, which the program has written.
                let found = unsafe { std::ptr::read_volatile(found) };
                let expected = eval(op, *x, 0.0);
                let same = (found.is_nan() && expected.is_nan()) || found == expected;
                let close = (found - expected).is_finite()
                    && (found - expected).abs() <= MATH_ERROR * expected.abs();
                assert!(same || close, "{op:?}({x})");
            }
        }
    }
}

#[test]
fn objects_are_kept_and_found_again() {
    if !found() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let options =
        LlvmOptions { cache: Cache::at(directory.path().join("c")), ..LlvmOptions::default() };
    let module = Arc::new(module(vec![dot()], Vec::new()));
    let xs = numbers(10);
    let expected: f64 = xs.iter().map(|x| x * x).sum();
    for _ in 0..2 {
        let compiled = Arc::new(llvm::compile(&module, &options).unwrap());
        let mut program = Instance::new(compiled, RunOptions::default());
        let found = f64::from_bits(run(&mut program, &words(&xs, &xs), 1).unwrap()[0]);
        assert!((found - expected).abs() < 1e-14);
        assert_eq!(std::fs::read_dir(directory.path().join("c")).unwrap().count(), 1);
    }
}

/// Prints how long kernels of 10^6 take, and their compilation.
#[test]
#[ignore = "measures time"]
fn time() {
    let (xs, ys) = (numbers(1_000_000), numbers(1_000_000));
    for (name, function) in [
        ("dot", dot()),
        ("log_sum_exp", log_sum_exp()),
        ("exp", map(RealOp::Exp)),
        ("log", map(RealOp::Log)),
        ("sin", map(RealOp::Sin)),
        ("tan", map(RealOp::Tan)),
        ("tanh", map(RealOp::Tanh)),
        ("erf", map(RealOp::Erf)),
    ] {
        let begin = Instant::now();
        let mut program = instance(module(vec![function], Vec::new()));
        let compiled = begin.elapsed();
        let mut times: Vec<_> = (0..50)
            .map(|_| {
                let begin = Instant::now();
                let mut results = [0];
                // SAFETY: the words are those of the parameters; there is one result at most.
                unsafe { program.call_words(&words(&xs, &ys), &mut results) }.unwrap();
                begin.elapsed()
            })
            .collect();
        times.sort();
        println!("{name:12} {:?}; compiled in {compiled:?}", times[times.len() / 2]);
    }
}
