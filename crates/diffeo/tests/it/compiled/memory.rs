//! What is allocated, by counting, and how deep recursion may be.

use crate::compiled::agree::{check, on, prepared, within, Bounds, ALL, UNBOUNDED};
use crate::compiled::targets::targets;
use diffeo::pipeline::{self, Backend};
use diffeo::{Cpu, Limits, MemoryLimit};
use diffeo_array::value::FlatValue;
use diffeo_calculus::value::Value;
use diffeo_codegen::cranelift;
use diffeo_codegen::engine::{Instance, RunOptions};
use diffeo_memory::in_use;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// How many blocks a program makes on one thread, its text with `SIZE` replaced by a number: others make blocks of their
/// own, depending on which parts of loops they get. Engines differ in this only where a loop is cut to be stopped.
fn made(text: &str, size: usize) -> u64 {
    let program = prepared(&text.replace("SIZE", &size.to_string()), None);
    let compiled =
        cranelift::compile(&program.low(Backend::Jit), &cranelift::CraneliftOptions::default());
    let compiled = Arc::new(compiled.unwrap_or_else(|error| panic!("{error}")));
    let limits = Limits { threads: NonZeroUsize::new(1), ..Limits::default() };
    let mut instance = Instance::new(compiled, RunOptions { limits, ..RunOptions::default() });
    instance.call(&[]).unwrap_or_else(|error| panic!("{error:?}"));
    instance.made_blocks()
}

/// The size of the data makes no difference.
fn steady(name: &str, text: &str) {
    let [small, large] = [100, 1000].map(|size| made(text, size));
    println!("{name}: {small} blocks");
    assert!(large <= small, "{name}: {small} blocks, then {large}");
}

#[test]
fn arrays_are_updated_in_their_place() {
    let programs = [
        (
            "a loop",
            "def f(xs: [n]Real) -> [n]Real = loop a = xs for i < n do a with [i] = sin(a[i])\n\
             def main = sum(f(replicate(SIZE, 0.5)))\n",
        ),
        (
            "rows",
            "def main =\n\
             let a = loop m = [[real(i * j) for j < 20] for i < SIZE] for i < SIZE do\n\
             loop m = m for j < 20 do m with [i, j] = m[i, j] + 1.0 in\n\
             sum([sum(r) for r in a])\n",
        ),
        (
            "a call in tail position",
            "def go(a: [n]Real, i: Int) -> [n]Real = if i == n then a else go(a with [i] = 2.0 * a[i], i + 1)\n\
             def main = sum(go(replicate(SIZE, 1.0), 0))\n",
        ),
        (
            "a recursive function",
            "def go(a: [n]Real, i: Int) -> [n]Real =\n\
             if i == n then a else let b = go(a, i + 1) in b with [i] = b[i] + real(i)\n\
             def main = sum(go(replicate(SIZE, 1.0), 0))\n",
        ),
        (
            "tuples",
            "def main =\n\
             let ps = loop ps = [(real(i), i) for i < SIZE] for i < SIZE do\n\
             let (x, k) = ps[i] in ps with [i] = (x * 2.0, k + 1) in\n\
             sum([x * real(k) for (x, k) in ps])\n",
        ),
        (
            "a record",
            "def main =\n\
             let s = loop s = {xs = replicate(SIZE, 0.0), n = 0} for i < SIZE do\n\
             {s with xs = s.xs with [i] = real(s.n), n = s.n + 1} in sum(s.xs)\n",
        ),
        (
            "a sieve",
            "def main =\n\
             let sieve = loop s = replicate(SIZE, true) for i < SIZE do\n\
             if i < 2 or not s[i] then s else\n\
             (loop (s, k) = (s, 2 * i) while k < SIZE do (s with [k] = false, k + i)).0 in\n\
             sum([if b then 1 else 0 for b in sieve])\n",
        ),
        (
            "insertion sort",
            "def sorted(xs: [n]Real) -> [n]Real = loop a = xs for i < n do\n\
             let x = a[i]\n\
             let (a, k) = loop (a, k) = (a, i) while k > 0 and a[max(k - 1, 0)] > x do (a with [k] = a[k - 1], k - 1) in\n\
             a with [k] = x\n\
             def main = sum(sorted([sin(real(i)) for i < SIZE]))\n",
        ),
        (
            "one of two arrays",
            "def main =\n\
             let (a, b) = loop (a, b) = (replicate(SIZE, 0), iota(SIZE)) for i < SIZE do\n\
             if i % 2 == 0 then (a with [i] = b[i], b) else (a, b with [i] = a[i - 1]) in\n\
             sum(a) + sum(b)\n",
        ),
    ];
    programs.iter().for_each(|(name, text)| steady(name, text));
}

/// Residuals of calls lie on a tape, which makes few blocks as it grows.
#[test]
fn gradients_of_recursion_make_no_block_for_a_call() {
    let programs = [
        (
            "a call in each call",
            "def f(x: Real, n: Int) -> Real = if n == 0 then x else sin(f(x * 0.9, n - 1)) + x\n\
             def main = grad(fn x -> f(x, SIZE))(0.5)\n",
        ),
        (
            "halves",
            "def f(xs: [n]Real, lo: Int, hi: Int) -> Real = if hi - lo < 2 then sin(xs[lo]) else\n\
             let m = (lo + hi) / 2 in f(xs, lo, m) * cos(f(xs, m, hi))\n\
             def main = sum(grad(fn xs -> f(xs, 0, SIZE))([real(i) for i < SIZE]))\n",
        ),
        (
            "slices",
            "def f(xs: [n]Real) -> Real = if n < 2 then sin(xs[0]) else\n\
             let m = n / 2 in f(xs[0..m]) * cos(f(xs[m..n]))\n\
             def main = sum(grad(f)([real(i) for i < SIZE]))\n",
        ),
        (
            "a loop around the calls, and functions that call each other",
            "def f(xs: [n]Real, lo: Int, hi: Int) -> Real =\n\
             if hi - lo < 4 then sin(xs[lo]) else parts(xs, lo, (hi - lo) / 4)\n\
             def parts(xs: [n]Real, lo: Int, part: Int) -> Real =\n\
             loop s = 1.0 for i < 4 do if i == 2 then s else s * cos(f(xs, lo + i * part, lo + (i + 1) * part)) + s\n\
             def main = sum(grad(fn xs -> f(xs, 0, SIZE))([real(i) for i < SIZE]))\n",
        ),
    ];
    for (name, text) in programs {
        let [small, large] = [100, 1000].map(|size| made(text, size));
        println!("{name}: {small} blocks, then {large}");
        assert!(large <= small + 16, "{name}: {small} blocks, then {large}");
    }
}

#[test]
fn steps_that_make_new_arrays_take_turns_with_two_blocks() {
    let programs = [
        (
            "an array for the next step",
            "def main = sum(loop y = [real(i) for i < 50] for i < SIZE do [y[49 - i] + 1.0 for i < 50])\n",
        ),
        (
            "stages of a step, which look at neighbours",
            "def slope(y: [n]Real) -> [n]Real = [if i == 0 then y[0] else y[i] * y[i - 1] for i < n]\n\
             def main = sum(loop y = replicate(50, 0.1) for i < SIZE do\n\
             let k = slope(y)\n\
             let l = slope(y + 0.5 * k) in y + 0.01 * (k + 2.0 * l))\n",
        ),
        (
            "loops in loops",
            "def main = sum(loop y = [1.0 for i < 50] for i < SIZE do\n\
             loop x = [y[49 - i] for i < 50] for j < 3 do [0.5 * x[49 - i] + y[i] for i < 50])\n",
        ),
        (
            "some steps keep what they have",
            "def main = sum(loop y = [1.0 for i < 50] for i < SIZE do\n\
             if i % 3 == 0 then y else [0.5 * y[49 - i] for i < 50])\n",
        ),
    ];
    programs.iter().for_each(|(name, text)| steady(name, text));
    // Other sizes, and arrays that live on.
    let program = "def none(n: Int) -> []Real = [0.0 for i < n]\n\
        def rows(n: Int) -> [][]Real = [[0.5, 0.25] for i < n]\n\
        def main =\n\
        let (_, kept) = loop ((y: []Real), (kept: [][]Real)) = (none(1), rows(1)) for i < 20 do\n\
        ([real(i + k) for k < 1 + (i + 1) % 4], if i % 4 == 1 then kept ++ [y] ++ [y] else kept) in\n\
        sum([sum(y) for y in kept])\n";
    on(&ALL, program, None);
}

#[test]
fn kernels_make_no_blocks_for_their_steps() {
    let programs = [
        (
            "dot",
            "def main = dot([real(i) for i < SIZE], [0.5 for i < SIZE])\n",
        ),
        (
            "log-sum-exp",
            "def lse(xs: [n]Real) -> Real = let m = maximum(xs) in m + log(sum([exp(x - m) for x in xs]))\n\
             def main = lse([sin(real(i)) for i < SIZE])\n",
        ),
        (
            "matrix and vector",
            "def main = sum(matvec([[real(i + j) for j < 30] for i < SIZE], [1.5 for j < 30]))\n",
        ),
        (
            "distances",
            "def main = let xs = [[real(i * j) for j < 3] for i < SIZE] in\n\
             sum([minimum([norm_sq(x - y) for y in xs[0..5]]) for x in xs])\n",
        ),
        (
            "a recurrence",
            "def step(x: Real, v: Real) -> (Real, Real) = (x + 0.01 * v, v - 0.01 * x)\n\
             def main = (loop (x, v) = (1.0, 0.0) for i < SIZE do step(x, v)).0\n",
        ),
        (
            "a fold of tuples",
            "def main = (fold_left(fn ((s, n), x) -> (s + x, n + 1), (0.0, 0), [real(i) for i < SIZE])).0\n",
        ),
        (
            "words of a state machine",
            "type State = Start | Digits(Int) | Bad\n\
             def next(s: State, c: Int) -> State = case s of { Start -> Digits(c) | Digits(n) -> if n > 1000 then Bad else Digits(n + c) | Bad -> Start }\n\
             def main = case (loop s = Start for i < SIZE do next(s, i % 10)) of { Digits(n) -> n | _ -> -1 }\n",
        ),
        (
            "the gradient of a regression",
            "def loss(w: [d]Real, xs: [n][d]Real, ys: [n]Real) = sum([softplus(-ys[i] * dot(xs[i], w)) for i < n])\n\
             def xs = [[real((i * 7 + j) % 11) * 0.1 for j < 5] for i < SIZE]\n\
             def main = sum(grad(fn w -> loss(w, xs, [real(i % 3) - 1 for i < SIZE]))([0.5 for j < 5]))\n",
        ),
    ];
    programs.iter().for_each(|(name, text)| steady(name, text));
}

#[test]
fn structures_cost_what_they_hold() {
    let per_element = |text: &str| {
        let [small, large] = [1000, 2000].map(|size| made(text, size));
        (large - small) as f64 / 1000.0
    };
    let list = "def main = sum_list(map_list(fn x -> x + 1, to_list(iota(SIZE))))\n\
                def sum_list(l: List[Int]) -> Int = fold_left_list(fn (a, x) -> a + x, 0, l)\n";
    assert!(per_element(list) <= 3.0, "{}", per_element(list));
    let append = "def main = length(loop (a: []Int) = [] for i < SIZE do a ++ [i])\n";
    // That of the element, and now and then a larger one for all.
    assert!(per_element(append) < 1.01, "{}", per_element(append));
    // What each step of the gradient makes for itself is made once by all steps that are done together.
    let mixture = "def likelihood(ms: [k][d]Real, xs: [n][d]Real) = sum([logsumexp([-norm_sq(x - m) for m in ms]) for x in xs])\n\
                   def xs = [[real((i * 7 + j) % 11) * 0.1 for j < 5] for i < SIZE]\n\
                   def main = sum(map(sum, grad(fn ms -> likelihood(ms, xs))([[real(i - j) for j < 5] for i < 4])))\n";
    assert!(per_element(mixture) < 0.05, "{}", per_element(mixture));
    let tree = "type Tree = Leaf | Node(Tree, Int, Tree)\n\
                def insert(t: Tree, k: Int) -> Tree = case t of { Leaf -> Node(Leaf, k, Leaf) | Node(l, m, r) -> if k < m then Node(insert(l, k), m, r) else Node(l, m, insert(r, k)) }\n\
                def size(t: Tree) -> Int = case t of { Leaf -> 0 | Node(l, _, r) -> size(l) + size(r) + 1 }\n\
                def full(n: Int) -> Tree = if n == 0 then Leaf else Node(full(n / 2), n, Leaf)\n\
                def main = size(loop t = full(8) for i < SIZE do insert(Leaf, i))\n";
    assert!(per_element(tree) <= 1.0, "{}", per_element(tree));
}

#[test]
fn recursion_may_be_a_million_deep() {
    let calls = "def count(n: Int) -> Int = if n == 0 then 0 else 1 + count(n - 1)\n\
                 def main = count(1000000)\n";
    assert_eq!(on(&ALL, calls, None), "1000000");
    let mutual = "def even(n: Int, x: Real) -> Real = if n == 0 then x else 1.0 + odd(n - 1, x)\n\
                  def odd(n: Int, x: Real) -> Real = if n == 0 then -x else 0.5 * even(n - 1, x)\n\
                  def main = even(1000000, 1.0)\n";
    on(&ALL, mutual, None);
    let list = "def from(n: Int) -> List[Int] = if n == 0 then Nil else n :: from(n - 1)\n\
                def total(l: List[Int]) -> Int = case l of { Nil -> 0 | x :: rest -> x + total(rest) }\n\
                def main = total(from(1000000))\n";
    assert_eq!(on(&ALL, list, None), "500000500000");
    let arrays = "def build_up(n: Int, xs: [k]Real) -> [k]Real = if n == 0 then xs else let ys = build_up(n - 1, xs) in ys with [n % k] = real(n)\n\
                  def main = build_up(1000000, [0.0, 0.0, 0.0])\n";
    on(&ALL, arrays, None);
}

/// Stops an engine at so many bytes more than are in use.
fn memory() -> Limits {
    Limits {
        memory: Some(MemoryLimit { bytes: in_use() + (100 << 20), in_use }),
        ..Limits::default()
    }
}

#[test]
fn calls_without_end_stop_at_the_limit_with_their_place() {
    let bounds = Bounds { stack: 4 << 20, ..UNBOUNDED };
    let programs = [
        "def down(x: Real) -> Real = 1 + down(x - 1)\ndef main = down(0)\n",
        "def from(n: Int) -> List[Int] = n :: from(n + 1)\ndef main = from(0)\n",
        "type T = T(T -> Int)\ndef loop_(t: T) -> Int = case t of { T(f) -> 1 + f(t) }\ndef main = loop_(T(loop_))\n",
    ];
    let programs = programs.map(|text| within(text, None, bounds));
    for program in &programs {
        assert_eq!(program.expected.stopped(), Some("too-deep"), "{:?}", program.expected);
    }
    check(&ALL, &programs);
}

#[test]
fn memory_without_end_stops_at_the_limit() {
    let bounds = Bounds { evaluator: memory, engines: memory, ..UNBOUNDED };
    let programs = [
        // With one program for each way to ask for memory.
        "def grow(xs: List[Int], n: Int) -> Int = if n < 0 then length_list(xs) else grow(n :: xs, n + 1)\n\
         def main = grow(Nil, 0)\n",
        "def main = sum(loop (xs: []Real) = [1.0] while length(xs) > 0 do xs ++ xs)\n",
        "def main = let n = 1000000000 in sum(sort([sin(real(i)) for i < n]))\n",
        "def main = length_list(loop l = Nil while true do show(l) :: l)\n",
    ];
    for text in programs {
        let program = within(text, None, bounds);
        assert_eq!(program.expected.stopped(), Some("out-of-memory"), "{:?}", program.expected);
        for target in targets() {
            for ran in (target.run)(std::slice::from_ref(&program)) {
                assert_eq!(ran.stopped(), Some("out-of-memory"), "{}: {ran:?}", target.name);
                assert_eq!(ran.blocks, 0, "{}", target.name);
            }
        }
    }
}

/// What is in use besides, as far as the next test is concerned.
static USED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn stack_and_blocks_are_bounded_together() {
    let text = "def down(n: Int) -> Int = if n == 0 then 0 else 1 + down(n - 1)\n\
                def hold(n: Int, m: Int) -> Real = if n == 0 then largest_of(sort([sin(real(i)) for i < m])) else 1.0 + hold(n - 1, m)\n\
                def largest_of(xs: [k]Real) -> Real = xs[k - 1]\n\
                def main({n, m}: {n: Int, m: Int}) -> Real = if m == 0 then real(down(n)) else hold(n, m)\n";
    let arguments = Value::tuple(vec![Value::Int(10), Value::Int(10)]);
    let program = prepared(text, Some(arguments));
    for backend in [Backend::Jit, Backend::Llvm] {
        if backend == Backend::Llvm && diffeo_codegen::llvm::library().is_err() {
            continue;
        }
        let compiled =
            pipeline::compile(&program.low(backend), backend, Cpu::default(), &Limits::default());
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        let bytes = 64 << 20;
        let in_use = || USED.load(Ordering::Relaxed);
        let limits = Limits {
            memory: Some(MemoryLimit { bytes, in_use }),
            threads: NonZeroUsize::new(1),
            ..Limits::default()
        };
        let options = RunOptions { limits, ..RunOptions::default() };
        let mut instance = Instance::new(Arc::new(compiled), options);
        let mut run = |used: usize, n: i64, m: i64| {
            USED.store(used, Ordering::Relaxed);
            // The fields of a record are in the order of their names.
            let result = instance.call(&[FlatValue::Int(m), FlatValue::Int(n)]);
            assert_eq!(instance.live_blocks(), 0);
            result.err().map(|error| error.kind.code())
        };
        for m in [0, 1] {
            // How deep calls may be, to some percent.
            let mut deepest = 1 << 12;
            while run(0, deepest + deepest / 32, m).is_none() {
                deepest += deepest / 32;
            }
            let part = |tenths: i64| deepest * tenths / 10;
            assert_eq!(run(0, 2 * deepest, m), Some("out-of-memory"), "{backend:?}");
            assert_eq!(run(bytes / 2, part(4), m), None, "{backend:?}");
            assert_eq!(run(bytes / 2, part(6), m), Some("out-of-memory"), "{backend:?}");
            if m == 1 {
                // 24 MB at the deepest point.
                let many = 3 << 20;
                assert_eq!(run(0, part(5), many), None, "{backend:?}");
                assert_eq!(run(0, part(7), many), Some("out-of-memory"), "{backend:?}");
            }
        }
    }
}
