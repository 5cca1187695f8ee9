//! Loops in lanes: programs whose loops LLVM and Cranelift run several steps of at once give what Flat's evaluator says, whatever
//! the number of steps and the lengths of rows.

use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, parse, FlatEvaluator};
use diffeo_calculus::eval::Options;
use diffeo_codegen::cranelift::{self, CraneliftOptions};
use diffeo_codegen::engine::{Compiled, Instance, RunOptions};
use diffeo_codegen::llvm::{self, Stage};
use diffeo_codegen::memory;
use std::rc::Rc;
use std::sync::Arc;

/// Numbers of both signs, none of them 0.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 37 + 11) % 97) as f64 / 16.0 - 3.03).collect()
}

fn reals(n: usize) -> FlatValue {
    FlatValue::reals(numbers(n))
}

fn matrix(rows: usize, columns: usize) -> FlatValue {
    let elements = Data::Reals(Rc::new(numbers(rows * columns)));
    FlatValue::array(FlatArray::new(&[rows as i64, columns as i64], elements).unwrap())
}

/// The numbers in values, in order.
fn leaves(values: &[FlatValue]) -> Vec<f64> {
    let mut out = Vec::new();
    for value in values {
        match value {
            FlatValue::Real(x) => out.push(*x),
            FlatValue::Array(array) => {
                for i in 0..array.count() {
                    match array.element(i) {
                        FlatValue::Real(x) => out.push(x),
                        FlatValue::Int(n) => out.push(n as f64),
                        FlatValue::Bool(b) => out.push(f64::from(u8::from(b))),
                        other => panic!("{other:?}"),
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    }
    out
}

/// A program, which has to have loops in lanes, at each of the points.
fn check(text: &str, points: &[Vec<FlatValue>]) {
    check_in(text, points, &[false, true]);
}

/// The same if lanes need not pay (`true`), or have to.
fn check_in(text: &str, points: &[Vec<FlatValue>], eager: &[bool]) {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new(), "{text}");
    let module = Arc::new(module);
    let low = Arc::new(memory::lower(module.clone()));
    let run = |compiled: Compiled, what: &str| {
        let mut instance = Instance::new(Arc::new(compiled), RunOptions::default());
        for point in points {
            let mut evaluator = FlatEvaluator::new(module.clone(), Options::default());
            let expected = leaves(&evaluator.run(point.clone()).unwrap());
            let found = leaves(&instance.call(point).unwrap());
            assert_eq!(found.len(), expected.len());
            for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
                let scale = a.abs().max(b.abs()).max(1.0);
                let same = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-12 * scale;
                assert!(same, "{i}: {a}, not {b}, {what}, {point:?}\n{text}");
            }
            assert_eq!(instance.live_blocks(), 0);
        }
    };
    for eager in eager.iter().copied() {
        let options = CraneliftOptions { eager, verify: true, ..CraneliftOptions::default() };
        let emitted = cranelift::text(&low, &options).unwrap();
        assert!(emitted.contains("f64x2"), "no loop is in lanes\n{text}");
        run(cranelift::compile(&low, &options).unwrap(), &format!("Cranelift, eager {eager}"));
    }
    if let Err(missing) = llvm::library() {
        return println!("skipped: {missing}");
    }
    for eager in eager.iter().copied() {
        let options = llvm::LlvmOptions { eager, ..llvm::LlvmOptions::default() };
        let emitted = llvm::text(&low, &options, Stage::Emitted).unwrap();
        assert!(emitted.contains("%w0."), "no loop is in lanes\n{text}");
        run(llvm::compile(&low, &options).unwrap(), &format!("LLVM, eager {eager}"));
    }
}

/// The last steps, which Cranelift does one by one, give the digits of those in lanes.
#[test]
fn steps_that_do_the_same_give_the_same_digits() {
    let text = "entry main fn main(xs: []Real, ys: []Real) -> ([]Real) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        a: []Real = build i < n {
            x: Real = get(xs, i)
            s: Real = reduce[add] j < m {
                y: Real = get(ys, j)
                p: Real = real.mul(x, y)
                e: Real = real.exp(p)
                l: Real = real.sin(e)
                yield l }
            yield s }
        return a }";
    let low = Arc::new(memory::lower(Arc::new(parse(text).unwrap())));
    for eager in [false, true] {
        let options = CraneliftOptions { eager, verify: true, ..CraneliftOptions::default() };
        assert!(cranelift::text(&low, &options).unwrap().contains("f64x2"));
        let compiled = cranelift::compile(&low, &options).unwrap();
        let mut instance = Instance::new(Arc::new(compiled), RunOptions::default());
        for n in STEPS {
            let xs = FlatValue::reals(vec![0.7; n]);
            let found = leaves(&instance.call(&[xs, reals(37)]).unwrap());
            assert!(found.iter().all(|x| x.to_bits() == found[0].to_bits()), "{n}: {found:?}");
        }
    }
}

const STEPS: [usize; 10] = [0, 1, 7, 8, 15, 16, 31, 32, 33, 101];

#[test]
fn sums_in_sums() {
    let text = "entry main fn main(xs: []Real, ys: []Real) -> (Real, []Real, Real) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        a: Real = reduce[add] i < n {
            x: Real = get(xs, i)
            s: Real = reduce[add] j < m {
                y: Real = get(ys, j)
                d: Real = real.sub(x, y)
                q: Real = real.mul(d, d)
                e: Real = real.neg(q)
                r: Real = real.exp(e)
                yield r }
            yield s }
        b: []Real = build i < n {
            x: Real = get(xs, i)
            t: Real = for j < m with (u = x) {
                y: Real = get(ys, j)
                v: Real = real.mul(u, 0.5)
                w: Real = real.add(v, y)
                yield w }
            yield t }
        c: Real = reduce[max] i < n {
            x: Real = get(xs, i)
            s: Real = reduce[min] j < m {
                y: Real = get(ys, j)
                p: Real = real.mul(x, y)
                yield p }
            yield s }
        return a, b, c }";
    let points: Vec<Vec<FlatValue>> =
        STEPS.iter().flat_map(|n| [0, 1, 5].map(|m| vec![reals(*n), reals(m)])).collect();
    check(text, &points);
}

#[test]
fn rows_and_arrays_of_their_own() {
    let text = "entry main fn main(xs: [][]Real, ms: [][]Real, d: Int) -> (Real, []Real) {
        n: Int = dim[0](xs)
        k: Int = dim[0](ms)
        a: Real = reduce[add] i < n {
            q: []Real = build c < k {
                z: []Real = build j < d {
                    x: Real = get(xs, i, j)
                    m: Real = get(ms, c, j)
                    e: Real = real.sub(x, m)
                    yield e }
                s: Real = reduce[add] j < d {
                    l: Int = fits.sub(d, j)
                    h: Int = fits.add(l, -1)
                    u: Real = get(z, j)
                    v: Real = get(z, h)
                    w: Real = real.mul(u, v)
                    yield w }
                yield s }
            t: Real = reduce[max] c < k { y: Real = get(q, c) yield y }
            some: Bool = gt[Int](k, 0)
            r: Real = select(some, t, 0.0)
            yield r }
        b: []Real = build i < n {
            s: Real = reduce[add] c < k {
                t: Real = reduce[add] j < d {
                    x: Real = get(xs, i, j)
                    m: Real = get(ms, c, j)
                    e: Real = real.mul(x, m)
                    yield e }
                u: Real = real.abs(t)
                yield u }
            yield s }
        return a, b }";
    let mut points = Vec::new();
    for n in STEPS {
        for (k, d) in [(0, 3), (3, 0), (1, 1), (3, 5), (2, 64), (2, 65)] {
            points.push(vec![matrix(n, d), matrix(k, d), FlatValue::Int(d as i64)]);
        }
    }
    check(text, &points);
}

#[test]
fn branches_and_other_types() {
    let text = "entry main fn main(xs: []Real, is: []Int, ys: []Real) -> ([]Real, []Int, []Bool) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        a: []Real, b: []Int, c: []Bool = build i < n {
            x: Real = get(xs, i)
            k: Int = get(is, i)
            s: Real = reduce[add] j < m { y: Real = get(ys, j) z: Real = real.mul(x, y) yield z }
            positive: Bool = gt[Real](x, 0.0)
            r: Real, q: Int = if positive {
                zero: Bool = eq[Int](k, 0)
                w: Real, p: Int = if zero {
                    yield s, 7
                } else {
                    o: Int = fits.div(100, k)
                    g: Real = to_real(o)
                    yield g, o
                }
                e: Real = real.sin(x)
                h: Real = real.mul(e, w)
                yield h, p
            } else {
                v: Real = real.cos(s)
                some: Bool = lt[Int](k, m)
                f: Real = if some {
                    l: Bool = ge[Int](k, 0)
                    y: Real = if l { t: Real = get(ys, k) yield t } else { yield 1.0 }
                    yield y
                } else { yield 2.0 }
                u: Real = real.add(v, f)
                yield u, i
            }
            big: Bool = gt[Real](r, 0.5)
            yield r, q, big }
        return a, b, c }";
    let mut points = Vec::new();
    for n in STEPS {
        for m in [0, 1, 4] {
            let is = FlatValue::ints((0..n as i64).map(|i| (i * 5) % 9 - 3).collect());
            points.push(vec![reals(n), is, reals(m)]);
        }
    }
    check(text, &points);
}

#[test]
fn short_loops_of_functions() {
    let text = "entry main fn main(xs: []Real, k: Int) -> ([]Real, Real) {
        n: Int = dim[0](xs)
        a: []Real = build i < n {
            x: Real = get(xs, i)
            y: Real = real.tanh(x)
            z: Real = real.mul(x, 1e13)
            s: Real = real.sin(z)
            r: Real = real.add(y, s)
            yield r }
        b: Real = reduce[add] i < n {
            j: Int = fits.sub(n, i)
            h: Int = fits.add(j, -1)
            x: Real = get(xs, h)
            y: Real = real.sigmoid(x)
            z: Real = real.exp(y)
            yield z }
        return a, b }";
    check(text, &STEPS.map(|n| vec![reals(n), FlatValue::Int(1)]));
}

/// Loops that add to accumulators from before them: at one place of all steps, at places of their own, at places that
/// several steps share, in a branch; and to accumulators that each step makes.
#[test]
fn additions_to_accumulators() {
    let text = "entry main fn main(xs: []Real, is: []Int, ys: []Real, stride: Int) -> ([]Real, [][]Real, []Real, []Real) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        shared: Acc[1] = acc_new(m)
        rows: Acc[2] = acc_new(n, m)
        mixed: Acc[1] = acc_new(7)
        apart: Acc[1] = acc_new(400)
        for i < n {
            x: Real = get(xs, i)
            k: Int = get(is, i)
            own: Acc[1] = acc_new(m)
            for j < m {
                y: Real = get(ys, j)
                p: Real = real.mul(x, y)
                e: Real = real.exp(p)
                acc_add(own, j, p)
                acc_add(own, j, e)
                acc_add(shared, j, e)
                acc_add(rows, i, j, p)
            }
            at: Int = fits.mul(i, stride)
            positive: Bool = gt[Real](x, 0.0)
            s: Real = reduce[add] j < m { o: Real = acc_read(own, j) yield o }
            some: Bool = lt[Int](k, m)
            if some {
                acc_add(shared, k, 1.0)
                acc_add(rows, i, k, 1.0)
            } else {
            }
            if positive {
                acc_add(mixed, k, s)
                acc_add(mixed, 2, s)
                acc_add(apart, at, x)
            } else {
                acc_add(mixed, 3, x)
            }
        }
        a: []Real = acc_get(shared)
        b: [][]Real = acc_get(rows)
        c: []Real = acc_get(mixed)
        d: []Real = acc_get(apart)
        return a, b, c, d }";
    let mut points = Vec::new();
    for n in STEPS {
        for (m, stride) in [(0, 1), (1, 0), (5, 3)] {
            let is = FlatValue::ints((0..n as i64).map(|i| (i * 5) % 7).collect());
            points.push(vec![reals(n), is, reals(m), FlatValue::Int(stride)]);
        }
    }
    check_in(text, &points, &[true]);
}

/// An accumulator that a step reads is no sum: the steps stay in order.
#[test]
fn accumulators_that_steps_read_stay_in_order() {
    if llvm::library().is_err() {
        return;
    }
    let text = "entry main fn main(xs: []Real, ys: []Real) -> ([]Real) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        acc: Acc[1] = acc_new(m)
        for i < n {
            x: Real = get(xs, i)
            for j < m {
                old: Real = acc_read(acc, j)
                y: Real = real.mul(old, x)
                acc_add(acc, j, y)
            }
            acc_add(acc, 0, x)
        }
        a: []Real = acc_get(acc)
        return a }";
    let module = Arc::new(parse(text).unwrap());
    let low = Arc::new(memory::lower(module));
    let options = llvm::LlvmOptions { eager: true, ..llvm::LlvmOptions::default() };
    let emitted = llvm::text(&low, &options, Stage::Emitted).unwrap();
    assert!(!emitted.contains("llvm.vector.reduce"), "{emitted}");
}
