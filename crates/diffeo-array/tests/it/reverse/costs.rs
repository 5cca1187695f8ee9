//! The gradient takes a bounded multiple of the operations of the program, and of the sizes.

use super::support::{gradient, gradient_with, module, numbers, reals, run};
use diffeo_array::ad::Residuals;
use diffeo_array::lint;
use diffeo_array::value::FlatValue;

/// Operations of value and gradient are at most six times those of the program and the sizes, at every size.
fn is_linear(text: &str) {
    let source = module(text);
    let mut made = source.clone();
    gradient(&mut made, 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lint(&made), Vec::<String>::new());
    for n in [100, 1_000, 10_000] {
        let xs: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let args = [reals(&xs), FlatValue::Int(n)];
        let (_, first) = run(&source, &args).unwrap_or_else(|e| panic!("{:?}", e.kind));
        let (_, all) = run(&made, &args).unwrap_or_else(|e| panic!("{:?}", e.kind));
        let size = n as u64;
        let ratio = all as f64 / (first + size) as f64;
        println!("{n}: {all} / ({first} + {size}) = {ratio:.2}");
        assert!(ratio <= 6.0, "{all} operations, {first} of the program, at size {size}");
    }
}

#[test]
fn calls_that_pass_one_array() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           s: Real = for i < n with (a = 0.0) {
             b: Real = call f(xs, i)
             c: Real = real.add(a, b)
             yield c
           }
           return s
         }
         fn f(xs: []Real, i: Int) -> (Real) {
           x: Real = get(xs, i)
           y: Real = real.mul(x, x)
           return y
         }",
    );
}

#[test]
fn loops_in_loops_that_are_computed_again() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           s: Real = reduce[add] i < n {
             x: Real = get(xs, i)
             t: Real = reduce[add] j < 3 {
               k: Real = to_real(j)
               y: Real = real.mul(x, k)
               ys: []Real = build l < 4 {
                 m: Real = to_real(l)
                 z: Real = real.sub(y, m)
                 yield z
               }
               u: Real = reduce[add] l < 4 {
                 z: Real = get(ys, l)
                 w: Real = reduce[add] o < l {
                   v: Real = get(ys, o)
                   yield v
                 }
                 p: Real = real.mul(z, w)
                 yield p
               }
               q: Real = real.sin(u)
               yield q
             }
             yield t
           }
           return s
         }",
    );
}

#[test]
fn calls_that_pass_one_array_on() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           s: Real = call f(xs, 0)
           return s
         }
         fn f(xs: []Real, i: Int) -> (Real) {
           n: Int = dim[0](xs)
           p: Bool = lt[Int](i, n)
           r: Real = if p {
             x: Real = get(xs, i)
             j: Int = int.add(i, 1)
             a: Real = call f(xs, j)
             y: Real = real.sin(x)
             z: Real = real.mul(a, y)
             yield z
           } else { yield 1.0 }
           return r
         }",
    );
}

#[test]
fn slices_in_a_loop() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           m: Int = int.sub(n, 3)
           s: Real = for i < m with (a = 0.0) {
             j: Int = int.add(i, 3)
             v: []Real = slice(xs, i, j)
             b: Real = get(v, 0)
             c: Real = get(v, 2)
             d: Real = real.mul(b, c)
             e: Real = real.add(a, d)
             yield e
           }
           return s
         }",
    );
}

#[test]
fn updates_in_a_loop() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> ([]Real) {
           ys: []Real = for i < n with (a = xs) {
             x: Real = get(a, i)
             y: Real = real.sin(x)
             b: []Real = update(a, i, y)
             yield b
           }
           return ys
         }",
    );
}

#[test]
fn updates_in_branches_of_a_loop() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           ys: []Real = for i < n with (a = xs) {
             x: Real = get(a, i)
             p: Bool = gt[Real](x, 0.0)
             c: []Real = if p {
               y: Real = real.sin(x)
               b: []Real = update(a, i, y)
               yield b
             } else { yield a }
             yield c
           }
           s: Real = for i < n with (t = 0.0) {
             x: Real = get(ys, i)
             u: Real = real.mul(x, x)
             v: Real = real.add(t, u)
             yield v
           }
           return s
         }",
    );
}

#[test]
fn arrays_that_grow_in_a_loop() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> ([]Real) {
           e: []Real = empty[Real, 1]()
           ys: []Real = for i < n with (a = e) {
             x: Real = get(xs, i)
             y: Real = real.sin(x)
             o: []Real = elements[Real](y)
             b: []Real = append(a, o)
             yield b
           }
           return ys
         }",
    );
}

#[test]
fn recurrences() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> (Real) {
           s: Real, k: Int = while (a = 1.0, i = 0) {
             p: Bool = lt[Int](i, n)
             yield p
           } do {
             x: Real = get(xs, i)
             b: Real = real.mul(a, x)
             c: Real = real.sin(b)
             j: Int = int.add(i, 1)
             yield c, j
           }
           return s
         }",
    );
}

#[test]
fn calls_that_update_in_a_loop() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> ([]Real, Real) {
           ys: []Real, s: Real = for i < n with (a = xs, t = 0.0) {
             b: []Real, u: Real = call f(a, i, t)
             c: []Real = call g(b, i)
             yield c, u
           }
           return ys, s
         }
         fn f(a: []Real, i: Int, t: Real) -> ([]Real, Real) {
           x: Real = get(a, i)
           y: Real = real.sin(x)
           z: Real = real.mul(y, t)
           w: Real = real.add(z, x)
           p: Bool = gt[Real](x, 0.0)
           b: []Real = if p {
             c: []Real = update(a, i, w)
             yield c
           } else { yield a }
           return b, y
         }
         fn g(a: []Real, i: Int) -> ([]Real) {
           b: []Real, x: Real = call f(a, i, 2.0)
           c: []Real = update(b, 0, x)
           return c
         }",
    );
}

#[test]
fn recursion_that_updates() {
    is_linear(
        "entry main
         fn main(xs: []Real, n: Int) -> ([]Real) {
           ys: []Real = call f(xs, 0, n)
           return ys
         }
         fn f(a: []Real, lo: Int, hi: Int) -> ([]Real) {
           n: Int = int.sub(hi, lo)
           p: Bool = le[Int](n, 1)
           r: []Real = if p { yield a } else {
             s: Int = int.add(lo, hi)
             m: Int = int.div(s, 2)
             b: []Real = call f(a, lo, m)
             c: []Real = call f(b, m, hi)
             x: Real = get(c, lo)
             y: Real = get(c, m)
             z: Real = real.mul(x, y)
             w: Real = real.sin(z)
             d: []Real = update(c, lo, w)
             yield d
           }
           return r
         }",
    );
}

#[test]
fn lists_that_are_read_many_times() {
    is_linear(
        "entry main
         box List { Nil, Cons(Real, &List) }
         box Pair { Pair(&List, &List) }
         fn main(xs: []Real, n: Int) -> (Real) {
           e: &List = new List:Nil()
           l: &List = for i < n with (t = e) {
             x: Real = get(xs, i)
             c: &List = new List:Cons(x, t)
             yield c
           }
           p: &Pair = new Pair:Pair(l, l)
           s: Real = for i < n with (a = 0.0) {
             q: &List = field[0, 0](p)
             r: &List = field[0, 1](p)
             x: Real = field[1, 0](q)
             y: Real = field[1, 0](r)
             z: Real = real.mul(x, y)
             b: Real = real.add(a, z)
             yield b
           }
           m: Real, k: &List = while (a = s, t = l) {
             g: Int = tag(t)
             p: Bool = eq[Int](g, 1)
             yield p
           } do {
             x: Real = field[1, 0](t)
             u: &List = field[1, 1](t)
             y: Real = real.mul(x, x)
             b: Real = real.add(a, y)
             yield b, u
           }
           return m
         }",
    );
}

/// A loop that carries three numbers.
const STATE: &str = "entry main
    fn main(x: Real, n: Int) -> (Real) {
        s: Real, u: Real, v: Real = for i < n with (a = x, b = 0.5, c = x) {
            d: Real = real.sin(b)
            e: Real = real.mul(a, d)
            f: Real = real.cos(c)
            g: Real = real.mul(e, f)
            h: Real = real.add(g, x)
            yield h, e, g
        }
        return s
    }";

/// The same as long as a number is below another one.
const OPEN: &str = "entry main
    fn main(x: Real, n: Int) -> (Real) {
        s: Real, k: Int = while (a = x, i = 0) {
            more: Bool = lt[Int](i, n)
            yield more
        } do {
            b: Real = real.sin(a)
            c: Real = real.add(b, x)
            j: Int = int.add(i, 1)
            yield c, j
        }
        return s
    }";

/// With checkpoints, each step is done once more.
#[test]
fn checkpoints_of_loops() {
    for text in [STATE, OPEN] {
        let source = module(text);
        let made = |residuals| {
            let mut made = source.clone();
            gradient_with(&mut made, 1, residuals).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(lint(&made), Vec::<String>::new());
            made
        };
        let (whole, cut) = (made(Residuals::Any), made(Residuals::Checkpoints));
        for n in [0, 1, 2, 10, 1_000, 10_000, 100_000] {
            let args = [FlatValue::Real(0.3), FlatValue::Int(n)];
            let run = |module| run(module, &args).unwrap_or_else(|e| panic!("{:?}", e.kind));
            let (_, first) = run(&source);
            let (expected, all) = run(&whole);
            let (found, with_checkpoints) = run(&cut);
            let (found, expected) = (numbers(&found)[0], numbers(&expected)[0]);
            // Segments add up what they add to the adjoints of what they use by themselves.
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} {expected}");
            let more = with_checkpoints as f64 - all as f64;
            println!(
                "{n}: {all} operations, {with_checkpoints} with checkpoints, {first} of values"
            );
            // A step, its test and what it keeps, and √(2 n) segments.
            let bound = 3.0 * first as f64 + 100.0 * (2.0 * n as f64).sqrt() + 100.0;
            assert!(
                more <= bound,
                "{more} operations more than {all}, {first} of values, {n} steps"
            );
        }
    }
}

/// A loop stops the program before it takes more memory than it may.
#[test]
fn a_bound_on_residuals() {
    let mut made = module(STATE);
    gradient_with(&mut made, 1, Residuals::Most(1 << 20)).unwrap_or_else(|e| panic!("{e}"));
    let run = |n| run(&made, &[FlatValue::Real(0.3), FlatValue::Int(n)]);
    assert!(run(1_000).is_ok());
    assert_eq!(run(1_000_000).unwrap_err().kind.code(), "out-of-memory");
}
