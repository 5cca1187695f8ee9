//! What must take as much work as there is to do, by counting operations.

use super::module;
use diffeo_array::value::FlatValue;
use diffeo_array::FlatEvaluator;
use diffeo_calculus::eval::Options;

/// The operations of a program at this size.
fn operations(text: &str, n: i64) -> u64 {
    let mut evaluator = FlatEvaluator::new(module(text), Options::default());
    evaluator.run(vec![FlatValue::Int(n)]).unwrap_or_else(|e| panic!("{:?}", e.kind));
    evaluator.operations()
}

/// Ten times the size is about ten times the work.
fn is_linear(text: &str) {
    let (small, large) = (operations(text, 1_000), operations(text, 10_000));
    assert!(large < 11 * small, "{small} and {large} operations");
}

#[test]
fn updates_in_a_loop() {
    is_linear(
        "entry main
        fn main(n: Int) -> ([]Real) {
          a: []Real = build i < n { yield 0.0 }
          b: []Real = for i < n with (c = a) {
            x: Real = get(c, i)
            p: Bool = lt[Real](x, 1.0)
            d: []Real = if p {
              e: []Real = call set(c, i)
              yield e
            } else {
              v: []Real = slice(c, 0, i)
              m: Int = dim[0](v)
              f: []Real = update(c, m, 2.0)
              yield f
            }
            g: []Real = update(d, i, 3.0)
            yield g
          }
          return b
        }
        fn set(c: []Real, i: Int) -> ([]Real) {
          d: []Real = update(c, i, 1.0)
          return d
        }",
    );
}

#[test]
fn updates_of_a_view_that_is_dropped_in_one_branch() {
    is_linear(
        "entry main
        fn main(n: Int) -> ([]Real) {
          a: []Real = build i < n { yield 0.0 }
          b: []Real = for i < n with (c = a) {
            v: []Real = slice(c, 0, 1)
            p: Bool = lt[Int](i, 0)
            m: Int = if p { k: Int = dim[0](v) yield k } else { yield i }
            d: []Real = update(c, m, 1.0)
            yield d
          }
          return b
        }",
    );
}

#[test]
fn rows_are_updated_in_place() {
    is_linear(
        "entry main
        fn main(n: Int) -> ([][]Real) {
          r: []Real = elements[Real](1.0, 2.0)
          a: [][]Real = build i < n { yield r }
          b: [][]Real = for i < n with (c = a) {
            s: []Real = get(c, 0)
            d: [][]Real = update(c, i, s)
            yield d
          }
          return b
        }",
    );
}

#[test]
fn arrays_grow_at_the_end() {
    is_linear(
        "entry main
        fn main(n: Int) -> ([]Int) {
          a: []Int = elements[Int]()
          b: []Int = for i < n with (c = a) {
            e: []Int = elements[Int](i)
            d: []Int = append(c, e)
            yield d
          }
          return b
        }",
    );
}

#[test]
fn arrays_are_passed_to_calls_and_boxes_for_nothing() {
    is_linear(
        "entry main
        box Pair { Pair([]Real, Int) }
        fn main(n: Int) -> (Real) {
          a: []Real = build i < n { yield 1.0 }
          s: Real = for i < n with (t = 0.0) {
            p: &Pair = new Pair:Pair(a, i)
            x: Real = call read(p)
            u: Real = real.add(t, x)
            yield u
          }
          return s
        }
        fn read(p: &Pair) -> (Real) {
          a: []Real = field[0, 0](p)
          i: Int = field[0, 1](p)
          x: Real = get(a, i)
          return x
        }",
    );
}

#[test]
fn lists_a_million_long_are_made_read_and_dropped() {
    let text = "entry main
        box List { Nil, Cons(Int, &List) }
        fn main(n: Int) -> (Int, &List) {
          l: &List = call upto(n)
          s: Int = call sum(l)
          return s, l
        }
        fn upto(n: Int) -> (&List) {
          p: Bool = le[Int](n, 0)
          l: &List = if p { e: &List = new List:Nil() yield e } else {
            m: Int = int.sub(n, 1)
            t: &List = call upto(m)
            c: &List = new List:Cons(n, t)
            yield c
          }
          return l
        }
        fn sum(l: &List) -> (Int) {
          g: Int = tag(l)
          s: Int = switch g {
            0 { yield 0 }
            1 {
              x: Int = field[1, 0](l)
              t: &List = field[1, 1](l)
              r: Int = call sum(t)
              a: Int = int.add(x, r)
              yield a
            }
          }
          return s
        }";
    let n = 1_000_000;
    let results = FlatEvaluator::new(module(text), Options::default()).run(vec![FlatValue::Int(n)]);
    assert_eq!(
        results.unwrap_or_else(|e| panic!("{:?}", e.kind))[0],
        FlatValue::Int(n * (n + 1) / 2)
    );
    is_linear(text);
}
