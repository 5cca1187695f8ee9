//! Loops whose blocks are done at once: results, errors and what is left are those of one thread, to the last bit,
//! however many threads there are.

use crate::random;
use diffeo_array::eval::FlatEvaluator;
use diffeo_array::ir::Module as Flat;
use diffeo_array::parse::parse;
use diffeo_array::print::print;
use diffeo_array::value::{Data, FlatValue, Object};
use diffeo_calculus::eval::{Limits, MemoryLimit, Options, RuntimeError};
use diffeo_codegen::engine::{Compiled, Cpu, Instance, RunOptions};
use diffeo_codegen::memory::{lower_with, MemoryOptions, Splitting};
use diffeo_codegen::{cranelift, llvm, low};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn flat(text: &str) -> Flat {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(diffeo_array::lint(&module), Vec::<String>::new(), "{text}");
    module
}

fn lowered(module: Flat, splitting: Splitting) -> Arc<low::LowModule> {
    let mut options = MemoryOptions { splitting, reuse: true, ..Default::default() };
    if splitting == Splitting::ALWAYS {
        options.long = 8;
    }
    let low = lower_with(Arc::new(module), options);
    let violations = low::lint::lint(&low);
    assert!(violations.is_empty(), "{violations:?}\n{}", low::print::print(&low));
    Arc::new(low)
}

/// With every loop that may be done block by block so done: there are as many as are said.
fn split(text: &str, count: usize) -> Arc<low::LowModule> {
    let low = lowered(flat(text), Splitting::ALWAYS);
    assert_eq!(loops(&low), count, "{}", low::print::print(&low));
    low
}

/// How many loops are done block by block.
fn loops(low: &low::LowModule) -> usize {
    low.functions.iter().filter(|f| f.blocks.is_some()).count()
}

fn jit(low: &Arc<low::LowModule>) -> Arc<Compiled> {
    let options = cranelift::CraneliftOptions { verify: true, ..Default::default() };
    Arc::new(cranelift::compile(low, &options).unwrap())
}

/// By each engine that does several blocks at once and is there.
fn engines(low: &Arc<low::LowModule>) -> Vec<Arc<Compiled>> {
    let mut engines = vec![jit(low)];
    if llvm::library().is_ok() {
        let options = llvm::LlvmOptions { cpu: Cpu::Host, ..llvm::LlvmOptions::default() };
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

fn bits(value: &FlatValue, out: &mut String) {
    use std::fmt::Write;
    match value {
        FlatValue::Real(x) => write!(out, "{:x} ", x.to_bits()).unwrap(),
        FlatValue::Array(array) => match array.data() {
            Data::Reals(xs) => {
                let xs = &xs[array.range()];
                let bits: Vec<u64> = xs.iter().map(|x| x.to_bits()).collect();
                write!(out, "{:?} {bits:x?} ", array.sizes()).unwrap();
            }
            Data::Ints(_) | Data::Bools(_) | Data::Values(_) => write!(out, "{array:?} ").unwrap(),
        },
        FlatValue::Int(_)
        | FlatValue::Bool(_)
        | FlatValue::Text(_)
        | FlatValue::Box(_)
        | FlatValue::Null
        | FlatValue::Acc(_)
        | FlatValue::Stack(_) => write!(out, "{value:?} ").unwrap(),
    }
}

/// What a run gives, with the bits of numbers; and that no memory is left.
fn run(instance: &mut Instance, args: &[FlatValue]) -> String {
    let mut out = String::new();
    match instance.call(args) {
        Ok(values) => values.iter().for_each(|value| bits(value, &mut out)),
        Err(error) => out = shown(&error),
    }
    instance.release_constants();
    assert_eq!(instance.live_blocks(), 0, "{out}");
    out
}

/// What a program gives, on each engine, with any number of threads.
fn same(low: &Arc<low::LowModule>, args: &[FlatValue]) -> Vec<String> {
    let mut found = Vec::new();
    for compiled in engines(low) {
        let expected = run(&mut instance(&compiled, 1, Limits::default()), args);
        for threads in [2, 3, 8] {
            let mut instance = instance(&compiled, threads, Limits::default());
            // Twice: the second run finds the contexts and memory of the first.
            for _ in 0..2 {
                assert_eq!(run(&mut instance, args), expected, "{threads} threads");
            }
        }
        found.push(expected);
    }
    found
}

fn check(seed: u64) -> usize {
    // Numbers for which the order of sums does not matter, every other time.
    let inexact = seed % 2 == 1;
    let program = random::program(seed, inexact);
    let low = lowered(program.module.clone(), Splitting::ALWAYS);
    let loops = loops(&low);
    if loops == 0 {
        return 0;
    }
    let compiled = jit(&low);
    let expected = run(&mut instance(&compiled, 1, Limits::default()), &program.args);
    let text = || format!("seed {seed}\n{}", print(&program.module));
    if !inexact {
        let whole = jit(&lowered(program.module.clone(), Splitting::NEVER));
        let found = run(&mut instance(&whole, 1, Limits::default()), &program.args);
        assert_eq!(found, expected, "{}", text());
    }
    for threads in [2, 3, 8] {
        let mut instance = instance(&compiled, threads, Limits::default());
        for _ in 0..2 {
            let found = run(&mut instance, &program.args);
            assert_eq!(found, expected, "{threads} threads, {}", text());
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

fn reals(count: usize) -> FlatValue {
    FlatValue::reals((0..count).map(|i| (i as f64 * 0.7).sin() / 3.0).collect())
}

#[test]
fn sums_do_not_depend_on_threads() {
    let text = "entry main fn main(xs: []Real) -> (Real, Real, Real) {
        n: Int = dim[0](xs)
        s: Real, a: Real, b: Real = reduce[add, max, min] i < n {
            x: Real = get(xs, i)
            y: Real = real.exp(x)
            z: Real = real.sin(y)
            yield z, y, x
        }
        return s, a, b
    }";
    let low = split(text, 1);
    for n in [0, 1, 2, 127, 128, 129, 5000] {
        for found in same(&low, &[reals(n)]) {
            let FlatValue::Array(xs) = reals(n) else { unreachable!() };
            let Data::Reals(xs) = xs.data() else { unreachable!() };
            let expected: f64 = xs.iter().map(|x| x.exp().sin()).sum();
            let bits = found.split(' ').next().unwrap();
            let sum = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
            assert!((sum - expected).abs() <= 1e-12 * expected.abs(), "{sum} {expected}");
        }
    }
    same(&low, &[FlatValue::reals(vec![1.0, f64::NAN, -0.0])]);
    same(&low, &[FlatValue::reals(vec![-0.0; 300])]);
}

#[test]
fn arrays_and_loops_within() {
    let text = "entry main fn main(xs: []Real, m: Int) -> ([][]Real, []Bool, Real) {
        n: Int = dim[0](xs)
        check_count(m)
        rows: [][]Real, large: []Bool = build i < n {
            x: Real = get(xs, i)
            row: []Real = build j < m {
                k: Real = to_real(j)
                y: Real = real.mul(x, k)
                yield y
            }
            w: []Real = build j < m { k: Real = to_real(j) yield k }
            s: Real = reduce[add] j < m {
                a: Real = get(row, j)
                b: Real = get(w, j)
                p: Real = real.mul(a, b)
                yield p
            }
            big: Bool = gt[Real](s, 0.0)
            yield row, big
        }
        t: Real = reduce[add] i < n {
            r: []Real = get(rows, i)
            s: Real = call total(r)
            yield s
        }
        return rows, large, t
    }
    fn total(xs: []Real) -> (Real) {
        n: Int = dim[0](xs)
        s: Real = reduce[add] i < n { x: Real = get(xs, i) yield x }
        return s
    }";
    // Both of the entry, and that of the function, which is within another one as well.
    let low = split(text, 3);
    for (n, m) in [(0, 3), (1, 1), (200, 7), (7, 300)] {
        same(&low, &[reals(n), FlatValue::Int(m)]);
    }
}

/// A backward part: sums, an accumulator that each step adds to at its own index, through a view as well, and others that
/// all steps add to.
const BACKWARD: &str =
    "entry main fn main(xs: []Real, m: Int) -> (Real, []Real, [][]Real, []Real, Real) {
        n: Int = dim[0](xs)
        own: Acc[1] = acc_new(n)
        rows: Acc[2] = acc_new(n, m)
        all: Acc[1] = acc_new(m)
        one: Acc[0] = acc_new()
        s: Real = for i < n with (so_far = 2.5) {
            x: Real = get(xs, i)
            acc_add(own, i, x)
            row: Acc[1] = acc_view(rows, i)
            of_step: Acc[1] = acc_new(m)
            for j < m {
                k: Real = to_real(j)
                y: Real = real.mul(x, k)
                z: Real = real.sin(y)
                acc_add(row, j, y)
                call put(all, j, z)
                acc_add(of_step, j, z)
            }
            zs: []Real = acc_get(of_step)
            acc_add_array(all, zs)
            acc_add(one, x)
            now: Real = real.add(so_far, x)
            yield now
        }
        a: []Real = acc_get(own)
        b: [][]Real = acc_get(rows)
        c: []Real = acc_get(all)
        d: Real = acc_get(one)
        return s, a, b, c, d
    }
    fn put(acc: Acc[1], j: Int, x: Real) -> () {
        of: Acc[0] = acc_view(acc, j)
        acc_add(of, x)
        return
    }";

#[test]
fn accumulators() {
    let low = split(BACKWARD, 1);
    let module = Arc::new(flat(BACKWARD));
    for (n, m) in [(0, 3), (1, 1), (5000, 1), (200, 7), (7, 300), (40, 0)] {
        let args = [reals(n), FlatValue::Int(m)];
        let found = same(&low, &args);
        let mut evaluator = FlatEvaluator::new(module.clone(), Options::default());
        let mut expected = String::new();
        evaluator.run(args.to_vec()).unwrap().iter().for_each(|value| bits(value, &mut expected));
        found.iter().for_each(|found| close(found, &expected));
    }
}

/// Numbers by their bits, equal but for the order of sums.
fn close(found: &str, expected: &str) {
    let numbers = |text: &str| -> Vec<f64> {
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap())).collect()
    };
    let (a, b) = (numbers(found), numbers(expected));
    assert_eq!(a.len(), b.len(), "{found} {expected}");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn loops_up_to_the_index() {
    let text = "entry main fn main(xs: []Real) -> ([]Real, Real) {
        n: Int = dim[0](xs)
        ys: []Real = build i < n {
            s: Real = reduce[add] j < i { x: Real = get(xs, j) yield x }
            yield s
        }
        t: Real = reduce[add] i < n {
            s: Real = reduce[add] j < i {
                u: Real = reduce[max] k < j { x: Real = get(ys, k) yield x }
                big: Bool = gt[Real](u, 9.5)
                x: Real = get(xs, j)
                y: Real = select(big, u, x)
                yield y
            }
            yield s
        }
        return ys, t
    }";
    let low = split(text, 2);
    for n in [0, 1, 100] {
        same(&low, &[reals(n)]);
    }
}

#[test]
fn first_steps_that_are_others() {
    let text = "entry main fn main(xs: []Real) -> ([]Real) {
        n: Int = dim[0](xs)
        ys: []Real = build i < n {
            first: Bool = eq[Int](i, 0)
            y: Real = if first {
                x: Real = get(xs, 0)
                yield x
            } else {
                x: Real = get(xs, i)
                before: Int = fits.add(i, -1)
                w: Real = get(xs, before)
                z: Real = real.mul(x, w)
                yield z
            }
            yield y
        }
        return ys
    }";
    let whole = jit(&lowered(flat(text), Splitting::NEVER));
    let low = split(text, 1);
    for n in [0, 1, 2, 5000] {
        let expected = run(&mut instance(&whole, 1, Limits::default()), &[reals(n)]);
        same(&low, &[reals(n)]).iter().for_each(|found| assert_eq!(*found, expected));
    }
}

/// Fails at the negative elements, with the index in the message.
const PICKY: &str = r#"entry main fn main(xs: []Real) -> ([]Real) {
        n: Int = dim[0](xs)
        ys: []Real = build i < n @1 {
            x: Real = get(xs, i)
            y: Real = call root(x, i) @2
            yield y
        }
        return ys
    }
    fn root(x: Real, i: Int) -> (Real) at 0:5-9 {
        bad: Bool = lt[Real](x, 0.0)
        y: Real = if bad {
            t: Text = text "element "
            s: Text = show[Int](i)
            u: Text = append_text(t, s)
            z: Real = fail(u) @3
            yield z
        } else {
            z: Real = real.sqrt(x)
            yield z
        }
        return y
    }
    site 0 = none
    site 1 = 0:10-11
    site 2 = 0:20-21
    site 3 = 0:30-31"#;

#[test]
fn the_first_error_counts() {
    let low = split(PICKY, 1);
    for bad in [vec![], vec![0], vec![999], vec![400, 3, 700], vec![5, 6, 7], (0..1000).collect()] {
        let mut xs = vec![2.0; 1000];
        bad.iter().for_each(|i| xs[*i] = -1.0);
        let found = same(&low, &[FlatValue::reals(xs)]);
        if let Some(first) = bad.iter().min() {
            let message = format!("element {first} at");
            assert!(found.iter().all(|text| text.contains(&message)), "{found:?}");
        }
    }
}

#[test]
fn boxes_texts_and_constants_of_all_threads() {
    let text = r#"entry main
    box List { Nil, Cons(Real, &List) }
    constant table = table
    constant name = name
    fn main(n: Int, t: Text, l: &List) -> (Real, []Int) {
        s: Real = reduce[add] i < n {
            x: Real = to_real(i)
            longer: &List = new List:Cons(x, l)
            again: &List = new List:Cons(x, longer)
            y: Real = call sum(again)
            ts: []Real = constant table
            k: Int = int.rem(i, 10)
            check_index(k, 10)
            z: Real = get(ts, k)
            changed: []Real = update(ts, 0, x)
            w: Real = get(changed, 0)
            p: Real = real.add(y, z)
            q: Real = real.add(p, w)
            yield q
        }
        ks: []Int = build i < n {
            u: Text = constant name
            v: Text = append_text(t, u)
            a: Text = show[Int](i)
            b: Text = append_text(v, a)
            words: []Text = elements[Text](b, t, v, a)
            order: []Int = arg_sort(words)
            first: Int = get(order, 0)
            yield first
        }
        return s, ks
    }
    fn sum(l: &List) -> (Real) {
        g: Int = tag(l)
        s: Real = switch g {
            0 { yield 0.0 }
            else {
                x: Real = field[1, 0](l)
                r: &List = field[1, 1](l)
                y: Real = call sum(r)
                z: Real = real.add(x, y)
                yield z
            }
        }
        return s
    }
    fn table() -> ([]Real) {
        t: []Real = build i < 10 { x: Real = to_real(i) yield x }
        return t
    }
    fn name() -> (Text) { n: Text = text "n" t: Text = append_text(n, n) return t }"#;
    // Those of the entry and that of the constant, which is computed within steps.
    let low = split(text, 3);
    let mut list = FlatValue::Box(Rc::new(Object { tag: 0, fields: [].into() }));
    for i in 0..20 {
        let fields = [FlatValue::Real(f64::from(i)), list].into();
        list = FlatValue::Box(Rc::new(Object { tag: 1, fields }));
    }
    for n in [0, 1, 3, 500] {
        same(&low, &[FlatValue::Int(n), FlatValue::text("m"), list.clone()]);
    }
    // More than is worth the while of stopping to count.
    for i in 0..10_000 {
        let fields = [FlatValue::Real(f64::from(i)), list].into();
        list = FlatValue::Box(Rc::new(Object { tag: 1, fields }));
    }
    same(&low, &[FlatValue::Int(5), FlatValue::text("m"), list.clone()]);
}

/// Recursion that is as deep as its argument, in each step.
const DEEP: &str = "entry main fn main(n: Int, d: Int) -> (Real) {
        s: Real = reduce[add] i < n {
            x: Real = call depth(d)
            yield x
        }
        return s
    }
    fn depth(d: Int) -> (Real) {
        more: Bool = gt[Int](d, 0)
        x: Real = if more {
            e: Int = int.sub(d, 1)
            y: Real = call depth(e)
            z: Real = real.add(y, 1.0)
            yield z
        } else { yield 0.0 }
        return x
    }";

#[test]
fn recursion_is_as_deep_in_every_thread() {
    let low = split(DEEP, 1);
    let found = same(&low, &[FlatValue::Int(40), FlatValue::Int(100_000)]);
    let sum = (40.0 * 100_000.0f64).to_bits();
    assert!(found.iter().all(|text| *text == format!("{sum:x} ")), "{found:?}");
    for compiled in engines(&low) {
        for threads in [1, 2, 8] {
            let limits = Limits { threads: NonZeroUsize::new(threads), ..Limits::default() };
            let options = RunOptions { max_stack: 4 << 20, limits, ..RunOptions::default() };
            let mut instance = Instance::new(compiled.clone(), options);
            let error = instance.call(&[FlatValue::Int(40), FlatValue::Int(1 << 30)]).unwrap_err();
            assert_eq!(error.kind.code(), "too-deep");
            assert_eq!(instance.live_blocks(), 0);
        }
    }
}

/// Each step takes as long as its argument.
const LONG: &str = "entry main fn main(n: Int, d: Int) -> (Real) {
        s: Real = reduce[add] i < n {
            m: Int = while (k = 0) { more: Bool = lt[Int](k, d) yield more } do {
                l: Int = int.add(k, 1)
                yield l
            }
            x: Real = to_real(m)
            yield x
        }
        return s
    }";

#[test]
fn all_threads_can_be_stopped() {
    let low = split(LONG, 1);
    for compiled in engines(&low) {
        for threads in [1, 2, 8] {
            let flag = Arc::new(AtomicBool::new(false));
            let limits = Limits { interrupt: Some(flag.clone()), ..Limits::default() };
            let mut instance = instance(&compiled, threads, limits);
            let other = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                flag.store(true, Ordering::Relaxed);
            });
            let error =
                instance.call(&[FlatValue::Int(100), FlatValue::Int(i64::MAX)]).unwrap_err();
            assert_eq!(error.kind.code(), "interrupted");
            other.join().unwrap();
            // It can be used again.
            instance
                .set_limits(Limits { threads: NonZeroUsize::new(threads), ..Limits::default() });
            let found = instance.call(&[FlatValue::Int(100), FlatValue::Int(3)]).unwrap();
            assert_eq!(found, [FlatValue::Real(300.0)]);
        }
    }
}

#[test]
fn memory_is_bounded_in_every_thread() {
    let text = "entry main fn main(n: Int, m: Int) -> (Real) {
        check_count(m)
        s: Real = reduce[add] i < n {
            xs: []Real = build j < m { x: Real = to_real(j) yield x }
            ys: []Real = append(xs, xs)
            y: Real = reduce[add] j < m { z: Real = get(ys, j) yield z }
            yield y
        }
        return s
    }";
    let low = split(text, 1);
    for compiled in engines(&low) {
        for threads in [1, 2, 8] {
            let memory = Some(MemoryLimit { bytes: 1 << 22, in_use: || 1 << 21 });
            let limits = Limits { memory, ..Limits::default() };
            let mut instance = instance(&compiled, threads, limits);
            let error = instance.call(&[FlatValue::Int(50), FlatValue::Int(1 << 20)]).unwrap_err();
            assert_eq!(error.kind.code(), "out-of-memory");
            assert_eq!(instance.live_blocks(), 0);
            assert!(instance.call(&[FlatValue::Int(50), FlatValue::Int(100)]).is_ok());
            assert_eq!(instance.live_blocks(), 0);
        }
    }
}

#[test]
fn what_prints_or_depends_on_other_steps_is_done_in_order() {
    for text in [
        r#"entry main fn main(n: Int) -> ([]Int) {
            t: Text = text "i"
            xs: []Int = build i < n { s: Text = show[Int](i) trace(t, s) yield i }
            return xs
        }"#,
        r#"entry main fn main(n: Int) -> ([]Text) {
            xs: []Text = build i < n { s: Text = show[Int](i) yield s }
            return xs
        }"#,
        r#"entry main fn main(n: Int) -> ([]Int) {
            xs: []Int = build i < n { k: Int = call f(i) yield k }
            return xs
        }
        fn f(i: Int) -> (Int) {
            t: Text = text "i"
            s: Text = show[Int](i)
            trace(t, s)
            return i
        }"#,
        "entry main fn main(n: Int) -> (Real) {
            a: Acc[0] = acc_new()
            xs: []Int = build i < n {
                x: Real = to_real(i)
                y: Real = acc_read(a)
                z: Real = real.add(x, y)
                acc_add(a, z)
                yield i
            }
            s: Real = acc_get(a)
            return s
        }",
    ] {
        same(&split(text, 0), &[FlatValue::Int(200)]);
    }
}

/// Prints how long loops take with one and two threads.
#[test]
#[ignore = "measures time"]
fn time() {
    let text = "entry main fn main(xs: []Real) -> (Real) {
        n: Int = dim[0](xs)
        s: Real = reduce[add] i < n {
            x: Real = get(xs, i)
            y: Real = real.exp(x)
            yield y
        }
        return s
    }";
    let low = lowered(flat(text), Splitting::default());
    for compiled in engines(&low) {
        for n in [100, 10_000, 30_000, 100_000, 1_000_000] {
            let args = [reals(n)];
            let times = [1, 2].map(|threads| {
                let mut instance = instance(&compiled, threads, Limits::default());
                let mut times: Vec<Duration> = (0..200)
                    .map(|_| {
                        let begin = Instant::now();
                        instance.call(&args).unwrap();
                        begin.elapsed()
                    })
                    .collect();
                times.sort_unstable();
                times[times.len() / 2]
            });
            println!("{n}: {times:?}");
        }
    }
}
