//! The value of every operation.

use super::{module, results, run};
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::FlatEvaluator;
use diffeo_calculus::eval::{Event, Options};
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn scalars() {
    let body = "a: Real = real.add(x, 2.0)
        b: Real = real.sqrt(a)
        c: Real = pow_int(b, 3)
        m: Int = int.mul(n, 7)
        f: Int = fits.add(9223372036854775807, n)
        p: Bool = lt[Real](x, nan)
        q: Bool = ge[Int](m, n)
        r: Bool = and(p, q)
        s: Bool = or(p, q)
        t: Bool = not(r)
        u: Int = select(t, m, 0)
        v: Real = to_real(n)
        w: Int = floor(-2.5)
        y: Bool = is_nan(nan)
        z: Real = real.polygamma[1](1.0)
        e: Bool = eq[Bool](true, y)
        return c, m, f, p, q, r, s, t, u, v, w, y, z, e";
    let head = "(x: Real, n: Int) ->
        (Real, Int, Int, Bool, Bool, Bool, Bool, Bool, Int, Real, Int, Bool, Real, Bool)";
    let found = results(head, body, vec![FlatValue::Real(2.0), FlatValue::Int(3)]);
    let expected = [
        FlatValue::Real(8.0),
        FlatValue::Int(21),
        FlatValue::Int(i64::MIN + 2),
        FlatValue::Bool(false),
        FlatValue::Bool(true),
        FlatValue::Bool(false),
        FlatValue::Bool(true),
        FlatValue::Bool(true),
        FlatValue::Int(21),
        FlatValue::Real(3.0),
        FlatValue::Int(-3),
        FlatValue::Bool(true),
        FlatValue::Real(diffeo_calculus::prim::special::polygamma(1, 1.0)),
        FlatValue::Bool(true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn texts() {
    let body = "t: Text = text \"a \\\"b\\\"\"
        u: Text = append_text(t, s)
        v: Text = show[Text](u)
        w: Text = show[Real](1.0)
        x: Text = show[Int](-3)
        y: Text = show[Bool](true)
        p: Bool = lt[Text](t, s)
        return u, v, w, x, y, p";
    let head = "(s: Text) -> (Text, Text, Text, Text, Text, Bool)";
    let found = results(head, body, vec![FlatValue::text("z")]);
    let texts = ["a \"b\"z", "\"a \\\"b\\\"z\"", "1.0", "-3", "true"].map(FlatValue::text);
    assert_eq!(found[..5], texts);
    assert_eq!(found[5], FlatValue::Bool(true));
}

#[test]
fn effects_are_told_in_order() {
    let text = "entry main
        fn main() -> () {
          t: Text = text \"loss\"
          v: Text = show[Real](0.5)
          trace(t, v)
          progress(t, 7, 0.25)
          trace(v, t)
          warn(t, v, t, -1)
          warn(t, t, t, -1)
        }";
    let told = Rc::new(RefCell::new(Vec::new()));
    let sink = told.clone();
    let events = Box::new(move |event: Event<'_>| {
        sink.borrow_mut().push(match event {
            Event::Line(line) => line.to_string(),
            Event::Progress(p) => format!("{} {} {}", p.label, p.step, p.value),
            Event::Warning(warning) => warning.to_diagnostic().message,
        });
    });
    let options = Options { events, ..Options::default() };
    assert_eq!(FlatEvaluator::new(module(text), options).run(Vec::new()).unwrap(), []);
    // What is warned of at a place once is not warned of again.
    assert_eq!(*told.borrow(), ["loss: 0.5", "loss 7 0.25", "0.5: loss", "0.5"]);
}

fn matrix(rows: i64, columns: i64, elements: &[f64]) -> FlatValue {
    let data = Data::Reals(Rc::new(elements.to_vec()));
    FlatValue::array(FlatArray::new(&[rows, columns], data).unwrap())
}

#[test]
fn parts_of_arrays() {
    let body = "n: Int = dim[0](a)
        m: Int = dim[1](a)
        x: Real = get(a, 1, 2)
        r: []Real = get(a, 1)
        s: [][]Real = slice(a, 1, 3)
        y: Real = get(s, 1, 0)
        f: []Real = reshape(s, 6)
        e: [][]Real = slice(a, 3, 3)
        return n, m, x, r, s, y, f, e";
    let head = "(a: [][]Real) -> (Int, Int, Real, []Real, [][]Real, Real, []Real, [][]Real)";
    let a = matrix(3, 3, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let found = results(head, body, vec![a]);
    let expected = [
        FlatValue::Int(3),
        FlatValue::Int(3),
        FlatValue::Real(5.0),
        FlatValue::reals(vec![3.0, 4.0, 5.0]),
        matrix(2, 3, &[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        FlatValue::Real(6.0),
        FlatValue::reals(vec![3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        matrix(0, 3, &[]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_update_changes_nothing_that_others_see() {
    let body = "b: [][]Real = update(a, 0, 1, 9.0)
        r: []Real = get(b, 0)
        c: [][]Real = update(b, 1, r)
        d: [][]Real = update(c, 1, 0, 8.0)
        v: [][]Real = slice(d, 1, 2)
        w: [][]Real = update(v, 0, 0, 7.0)
        return a, b, c, d, w";
    let head = "(a: [][]Real) -> ([][]Real, [][]Real, [][]Real, [][]Real, [][]Real)";
    let found = results(head, body, vec![matrix(2, 2, &[0.0, 1.0, 2.0, 3.0])]);
    let expected = [
        matrix(2, 2, &[0.0, 1.0, 2.0, 3.0]),
        matrix(2, 2, &[0.0, 9.0, 2.0, 3.0]),
        matrix(2, 2, &[0.0, 9.0, 0.0, 9.0]),
        matrix(2, 2, &[0.0, 9.0, 8.0, 9.0]),
        matrix(1, 2, &[7.0, 9.0]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn new_arrays() {
    let body = "x: []Int = elements[Int](3, 1, 2)
        y: []Int = elements[Int]()
        r: [][]Int = rows(x, x)
        e: [][]Int = empty[Int, 2]()
        n: Int = dim[0](e)
        m: Int = dim[1](e)
        g: [][]Int = append(e, r)
        h: [][]Int = append(g, e)
        p: []Int = arg_sort(x)
        o: []Int = arg_sort(z)
        return y, r, n, m, h, p, o";
    let head = "(z: []Real) -> ([]Int, [][]Int, Int, Int, [][]Int, []Int, []Int)";
    let found = results(head, body, vec![FlatValue::reals(vec![f64::NAN, 2.0, -1.0, 2.0])]);
    let twice = Data::Ints(Rc::new(vec![3, 1, 2, 3, 1, 2]));
    let rows = FlatValue::array(FlatArray::new(&[2, 3], twice).unwrap());
    let expected = [
        FlatValue::ints(Vec::new()),
        rows.clone(),
        FlatValue::Int(0),
        FlatValue::Int(-1),
        rows,
        FlatValue::ints(vec![1, 2, 0]),
        FlatValue::ints(vec![2, 1, 3, 0]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn texts_and_boxes_lie_in_arrays() {
    let text = "entry main
        box Maybe { Nothing, Just(Text) }
        fn main(s: Text) -> (Text, Int, []Int) {
          a: Text = text \"b\"
          t: []Text = elements[Text](s, a)
          p: []Int = arg_sort(t)
          i: Int = get(p, 0)
          m: Text = get(t, i)
          j: &Maybe = new Maybe:Just(m)
          b: []&Maybe = elements[&Maybe](_[&Maybe], j)
          k: &Maybe = get(b, 1)
          g: Int = tag(k)
          f: Text = field[1, 0](k)
          return f, g, p
        }";
    let found = run(text, vec![FlatValue::text("c")]).unwrap();
    assert_eq!(found, [FlatValue::text("b"), FlatValue::Int(1), FlatValue::ints(vec![1, 0])]);
}

#[test]
fn one_block_is_chosen() {
    let body = "p: Bool = lt[Int](n, 2)
        x: Int = if p {
          y: Int = switch n { 0 { yield 10 } 1 { z: Int = int.add(n, 10) yield z } else { yield -1 } }
          yield y
        } else {
          w: Int = int.mul(n, n)
          yield w
        }
        return x";
    for (n, x) in [(-5, -1), (0, 10), (1, 11), (3, 9)] {
        assert_eq!(
            results("(n: Int) -> (Int)", body, vec![FlatValue::Int(n)]),
            [FlatValue::Int(x)]
        );
    }
}

#[test]
fn loops() {
    let body = "s: Int, t: Int = for i < n with (a = 0, b = 1) {
          c: Int = int.add(a, b)
          d: Int = int.add(b, i)
          yield c, d
        }
        u: Int = while (k = n) {
          p: Bool = gt[Int](k, 1)
          yield p
        } do {
          h: Int = int.div(k, 2)
          yield h
        }
        return s, t, u";
    let head = "(n: Int) -> (Int, Int, Int)";
    let found = |n| results(head, body, vec![FlatValue::Int(n)]);
    assert_eq!(found(4), [8, 7, 1].map(FlatValue::Int));
    assert_eq!(found(0), [0, 1, 0].map(FlatValue::Int));
    assert_eq!(found(-3), [0, 1, -3].map(FlatValue::Int));
}

#[test]
fn comprehensions_and_reductions() {
    let body = "a: []Int, r: [][]Real = build i < n {
          x: Real = to_real(i)
          row: []Real = elements[Real](x, 0.5)
          yield i, row
        }
        s: Real, hi: Real, lo: Real = reduce[add, max, min] j < n {
          y: Real = get(r, j, 0)
          yield y, y, y
        }
        return a, r, s, hi, lo";
    let head = "(n: Int) -> ([]Int, [][]Real, Real, Real, Real)";
    let found = results(head, body, vec![FlatValue::Int(3)]);
    let expected = [
        FlatValue::ints(vec![0, 1, 2]),
        matrix(3, 2, &[0.0, 0.5, 1.0, 0.5, 2.0, 0.5]),
        FlatValue::Real(3.0),
        FlatValue::Real(2.0),
        FlatValue::Real(0.0),
    ];
    assert_eq!(found, expected);
    let found = results(head, body, vec![FlatValue::Int(0)]);
    let empty = FlatArray::new(&[0, -1], Data::Reals(Rc::default())).unwrap();
    let expected = [
        FlatValue::ints(vec![]),
        FlatValue::array(empty),
        FlatValue::Real(0.0),
        FlatValue::Real(f64::NEG_INFINITY),
        FlatValue::Real(f64::INFINITY),
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_and_constants() {
    let text = "entry main
        constant table = init
        fn main(n: Int) -> (Int, Int) {
          a: Int = call fact(n)
          t: []Int = constant table
          u: []Int = constant table
          b: Int = get(u, n)
          return a, b
        }
        fn fact(n: Int) -> (Int) {
          p: Bool = le[Int](n, 1)
          r: Int = if p { yield 1 } else {
            m: Int = int.sub(n, 1)
            f: Int = call fact(m)
            g: Int = int.mul(n, f)
            yield g
          }
          return r
        }
        fn init() -> ([]Int) {
          label: Text = text \"computed\"
          trace(label, label)
          t: []Int = build i < 10 { f: Int = call fact(i) yield f }
          return t
        }";
    let lines = Rc::new(RefCell::new(0));
    let count = lines.clone();
    let events = Box::new(move |_: Event<'_>| *count.borrow_mut() += 1);
    let mut evaluator = FlatEvaluator::new(module(text), Options { events, ..Options::default() });
    for _ in 0..2 {
        let found = evaluator.run(vec![FlatValue::Int(5)]).unwrap();
        assert_eq!(found, [FlatValue::Int(120), FlatValue::Int(120)]);
    }
    assert_eq!(*lines.borrow(), 1);
}

#[test]
fn accumulators_are_seen_through_views() {
    let text = "entry main
        fn main(x: []Real) -> (Real, Real, [][]Real, Real, []Real) {
          a: Acc[2] = acc_new(2, 3)
          acc_add(a, 0, 1, 2.0)
          acc_add(a, 0, 1, 0.5)
          r: Acc[1] = acc_view(a, 1)
          acc_add_array(r, x)
          s: Acc[1] = acc_slice(r, 1, 3)
          acc_add(s, 0, 10.0)
          f: Acc[1] = acc_reshape(a, 6)
          t: Real = acc_take(f, 1)
          u: Real = acc_read(f, 4)
          z: Acc[0] = acc_new()
          call add(z)
          y: Real = acc_get(z)
          all: [][]Real = acc_get(a)
          part: []Real = acc_get(s)
          return t, u, all, y, part
        }
        fn add(z: Acc[0]) -> () {
          w: Acc[0] = for i < 3 with (v = z) {
            acc_add(v, 1.5)
            yield v
          }
          p: Acc[0] = acc_view(w)
          acc_add_array(p, 0.25)
        }";
    let found = run(text, vec![FlatValue::reals(vec![1.0, 2.0, 3.0])]).unwrap();
    let expected = [
        FlatValue::Real(2.5),
        FlatValue::Real(12.0),
        matrix(2, 3, &[0.0, 0.0, 0.0, 1.0, 12.0, 3.0]),
        FlatValue::Real(4.75),
        FlatValue::reals(vec![12.0, 3.0]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn stacks_are_read_by_position() {
    let body = "s: Stack[Real, Int] = stack_new[Real, Int]()
        for i < n {
          x: Real = to_real(i)
          push(s, x, i)
        }
        len: Int = stack_len(s)
        y: Real, k: Int = stack_get(s, 2)
        t: Stack[] = stack_new[]()
        push(t)
        push(t)
        stack_get(t, 1)
        m: Int = stack_len(t)
        return len, y, k, m";
    let found = results("(n: Int) -> (Int, Real, Int, Int)", body, vec![FlatValue::Int(4)]);
    assert_eq!(
        found,
        [FlatValue::Int(4), FlatValue::Real(2.0), FlatValue::Int(2), FlatValue::Int(2)]
    );
}
