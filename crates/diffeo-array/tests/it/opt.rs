//! Passes on programs written as text: what they make of them (snapshots), and that the meaning stays, errors
//! with their places included.

use diffeo_array::ir::Module;
use diffeo_array::opt::{
    canonical_loops, constants, cse, dce, dead_functions, dead_variants, fuse, fuse_siblings,
    hoist, hoist_checks, inline, optimise, ranges, rows, scalars, simplify, sink, specialise,
    unroll,
};
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, parse, print_plain, FlatEvaluator};
use diffeo_calculus::eval::Options;
use std::rc::Rc;
use std::sync::Arc;

/// What a program gives: its values, or its error with its place, as text.
fn meaning(module: &Module, args: &[FlatValue]) -> String {
    let mut evaluator = FlatEvaluator::new(Arc::new(module.clone()), Options::default());
    match evaluator.run(args.to_vec()) {
        Ok(values) => format!("{values:?}"),
        Err(error) => format!("{:?} at {:?}, {:?}", error.kind, error.span, error.trace),
    }
}

/// The text of a module after passes, which mean the same at each of the arguments.
fn after(passes: &[fn(Module) -> Module], text: &str, points: &[Vec<FlatValue>]) -> String {
    let before = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&before), Vec::<String>::new(), "{text}");
    let mut module = before.clone();
    for pass in passes {
        module = pass(module);
        assert_eq!(lint(&module), Vec::<String>::new(), "{}", print_plain(&module));
    }
    for point in points {
        assert_eq!(meaning(&module, point), meaning(&before, point), "{}", print_plain(&module));
    }
    print_plain(&module)
}

fn reals(xs: &[f64]) -> FlatValue {
    FlatValue::reals(xs.to_vec())
}

/// Two rows of two numbers.
fn square() -> FlatValue {
    let elements = Data::Reals(Rc::new(vec![1.0, 2.0, 3.0, 4.0]));
    FlatValue::array(FlatArray::new(&[2, 2], elements).unwrap())
}

/// Three rows of two numbers.
fn tall() -> FlatValue {
    let elements = Data::Reals(Rc::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    FlatValue::array(FlatArray::new(&[3, 2], elements).unwrap())
}

/// A test of the passes on a program, at points.
macro_rules! case {
    ($name:ident, [$($pass:expr),*], $text:expr $(, [$($arg:expr),*])*) => {
        #[test]
        fn $name() {
            let passes: &[fn(Module) -> Module] = &[$($pass),*];
            insta::assert_snapshot!(after(passes, $text, &[$(vec![$($arg),*]),*]));
        }
    };
}

case!(
    identities_that_hold_for_all_reals,
    [simplify, dce],
    "entry main fn main(x: Real, y: Real) -> (Real, Real, Real, Real, Real, Real, Real) {
        a: Real = real.mul(x, 1.0)
        b: Real = real.sub(a, 0.0)
        c: Real = real.add(b, -0.0)
        n: Real = real.neg(c)
        d: Real = real.neg(n)
        e: Real = real.mul(x, 0.0)
        f: Real = real.add(x, 0.0)
        g: Real = real.sub(y, n)
        h: Real = real.div(x, 4.0)
        i: Real = real.div(x, 3.0)
        j: Real = pow_int(x, 3)
        return d, e, f, g, h, i, j }",
    [FlatValue::Real(-0.0), FlatValue::Real(0.0)],
    [FlatValue::Real(f64::INFINITY), FlatValue::Real(1.5)]
);

// A sum is -0 only if both numbers are, so 0 may be left out behind another sum, a square or a size.
case!(
    zero_is_not_added_to_what_is_not_minus_zero,
    [simplify, dce],
    "entry main fn main(x: Real, n: Int) -> (Real, Real, Real, Real, Real, Real, Real) {
        a: Real = real.add(0.0, x)
        b: Real = real.add(a, 0.0)
        c: Real = real.sub(b, x)
        d: Real = real.add(0.0, c)
        e: Real = real.mul(x, x)
        f: Real = real.add(e, 0.0)
        g: Real = to_real(n)
        h: Real = real.add(g, 0.0)
        i: Real = real.neg(f)
        j: Real = real.add(i, 0.0)
        acc: Acc[1] = acc_new(2)
        acc_add(acc, 0, x)
        k: Real = acc_read(acc, 0)
        l: Real = real.add(0.0, k)
        m: Real = real.sub(x, g)
        o: Real = real.add(m, 0.0)
        return b, d, f, h, j, l, o }",
    [FlatValue::Real(-0.0), FlatValue::Int(0)],
    [FlatValue::Real(1.5), FlatValue::Int(1)]
);

case!(
    what_is_done_with_boxes_that_nothing_makes,
    [dead_variants, simplify, dce, dead_functions],
    "entry main box B { One(Real), Two(Real), Three(&B) }
    fn read(b: &B, n: Int) -> (Real) {
        x: &B = field[2, 0](b)
        small: Bool = lt[Int](n, 1)
        y: Real = if small { yield 0.0 } else { m: Int = int.sub(n, 1) z: Real = call read(x, m) yield z }
        return y }
    fn checked(b: &B, n: Int) -> (Real) {
        d: Int = int.div(7, n)
        x: Real = field[1, 0](b)
        y: Real = to_real(d)
        z: Real = real.add(x, y)
        return z }
    fn main(x: Real, n: Int) -> (Real, Real) {
        b: &B = new B:One(x)
        t: Int = tag(b)
        odd: Bool = gt[Int](n, 1)
        u: Real = if odd { y: Real = call read(b, n) yield y } else { y: Real = field[0, 0](b) yield y }
        v: Real = switch n { 0 { y: Real = call checked(b, n) yield y } 1 { yield 1.0 } else { y: Real = field[1, 0](b) yield y } }
        w: Real = for i < t with (s = v) { y: Real = field[1, 0](b) z: Real = real.add(s, y) yield z }
        even: Bool = lt[Int](n, 2)
        r: Real = if even { yield w } else {
            q: Real = switch n {
                2 { y: Real = field[1, 0](b) yield y }
                3 { y: Real = call read(b, n) yield y }
                else { y: Real = field[1, 0](b) yield y }
            }
            yield q }
        return u, r }",
    [FlatValue::Real(1.5), FlatValue::Int(0)],
    [FlatValue::Real(1.5), FlatValue::Int(1)]
);

case!(
    boxes_from_outside_have_every_tag,
    [dead_variants, simplify, dce, dead_functions],
    "entry main box List { Nil, Cons(Real, &List) }
    fn main(l: &List) -> (Real) {
        t: Int = tag(l)
        x: Real = switch t { 0 { yield 0.0 } else { y: Real = field[1, 0](l) yield y } }
        return x }"
);

// What is one number wherever it comes from is that number behind calls, branches, loops, boxes and arrays; what is
// another one once is not.
case!(
    constants_come_through_calls_loops_boxes_and_arrays,
    [constants, simplify, dce],
    "entry main box B { Kept(Int, Int, [][]Real) }
    fn make(n: Int) -> (Int, Int, &B) {
        rows: [][]Real = build i < n {
            x: Real = to_real(i)
            row: []Real = elements[Real](x, x, 1.0)
            yield row
        }
        b: &B = new B:Kept(7, n, rows)
        return 4, n, b }
    fn down(n: Int, same: Int, other: Int) -> (Int, Int) {
        done: Bool = lt[Int](n, 1)
        a: Int, b: Int = if done { yield same, other } else {
            m: Int = int.sub(n, 1)
            c: Int, d: Int = call down(m, same, n)
            yield c, d
        }
        return a, b }
    fn main(n: Int) -> (Int, Int, Int, Int, Int, Int, Int, Int, Int, Int) {
        four: Int, n2: Int, b: &B = call make(n)
        seven: Int = field[0, 0](b)
        m: Int = field[0, 1](b)
        rows: [][]Real = field[0, 2](b)
        width: Int = dim[1](rows)
        height: Int = dim[0](rows)
        nothing: []Int = build i < n { yield _[Int] }
        kept: []Int, other: []Int, twelve: Int, sum: Int = for i < n with (k = nothing, o = nothing, t = 12, s = 0) {
            k2: []Int = update(k, i, four)
            o2: []Int = update(o, i, i)
            t2: Int = int.add(four, 8)
            s2: Int = int.add(s, t)
            yield k2, o2, t2, s2
        }
        e: Int = get(kept, 0)
        f: Int = get(other, 0)
        g: Int, h: Int = call down(n, 5, 6)
        return seven, m, width, height, e, f, g, h, twelve, sum }",
    [FlatValue::Int(1)],
    [FlatValue::Int(3)]
);

// Arguments and their fields may be anything; an array without rows has no size of rows; what comes from outside goes on.
case!(
    what_comes_from_outside_is_not_known,
    [constants, simplify, dce],
    "entry main box List { Nil, Cons(Int, &List) }
    fn count(l: &List, n: Int) -> (Int) {
        t: Int = tag(l)
        r: Int = switch t { 0 { yield n } else {
            tail: &List = field[1, 1](l)
            m: Int = field[1, 0](l)
            k: Int = call count(tail, m)
            yield k
        } }
        return r }
    fn main(n: Int, l: &List) -> (Int, Int, Int) {
        first: &List = new List:Cons(3, l)
        head: Int = field[1, 0](first)
        r: Int = call count(first, 3)
        row: []Real = elements[Real](1.0, 2.0)
        rows: [][]Real = build i < n { yield row }
        width: Int = dim[1](rows)
        return head, r, width }"
);

#[test]
fn a_row_that_others_have_too_stays() {
    let text = "entry main fn main(n: Int) -> (Real, Real) {
        row: []Real = build i < n { x: Real = to_real(i) yield x }
        rows: [][]Real = build j < 3 { yield row }
        a: Real = get(rows, 0, 1)
        b: Real = get(rows, 2, 1)
        return a, b }";
    after(&[fuse], text, &[vec![FlatValue::Int(3)]]);
}

case!(
    what_has_not_stopped_is_known,
    [simplify, dce],
    "entry main fn main(x: Real) -> (Real, Real) {
        bad: Bool = is_nan(x)
        large: Bool = gt[Real](x, 9.0)
        a: Real = if large {
            if bad { fail_nan() } else {}
            y: Real = select(bad, 1.0, 2.0)
            yield y
        } else { yield x }
        if bad { fail_nan() } else {}
        b: Real = real.sin(a)
        if bad { fail_nan() } else {}
        return a, b }",
    [FlatValue::Real(1.0)],
    [FlatValue::Real(10.0)],
    [FlatValue::Real(f64::NAN)]
);

case!(
    ints_fail_where_they_did,
    [simplify, dce],
    "entry main fn main(n: Int) -> (Int, Int, Int) {
        a: Int = int.add(n, 0)
        b: Int = int.mul(a, 1)
        c: Int = int.sub(b, b)
        d: Int = int.add(b, 9223372036854775807)
        e: Int = int.div(n, 2)
        f: Int = int.add(3, 4)
        return c, e, f }",
    [FlatValue::Int(3)],
    [FlatValue::Int(-3)]
);

case!(
    decided_branches,
    [simplify, dce],
    "entry main fn main(x: Real, c: Bool) -> (Real, Real) {
        a: Real = if c {
            b: Real = if c { yield x } else { s: Text = text \"no\" fail(s) yield x }
            yield b
        } else { y: Real = real.neg(x) yield y }
        t: Int = if c { yield 0 } else { yield 1 }
        r: Real = switch t { 0 { yield x } 1 { yield 2.0 } }
        return a, r }",
    [FlatValue::Real(1.5), FlatValue::Bool(true)],
    [FlatValue::Real(1.5), FlatValue::Bool(false)]
);

case!(
    sizes_and_elements_from_where_they_come_from,
    [simplify, dce],
    "entry main fn main(x: Real, n: Int) -> (Real, Int, Int, Real) {
        check_count(n)
        xs: []Real = build i < n { y: Real = real.mul(x, 2.0) yield y }
        m: Int = dim[0](xs)
        a: []Real = elements[Real](x, 2.0, 3.0)
        b: []Real = update(a, 1, x)
        e: Real = get(b, 0)
        l: Int = dim[0](b)
        ys: []Real = for j < 3 with (zs = b) {
            u: Int = dim[0](zs)
            check_index(j, u)
            w: []Real = update(zs, j, 1.0)
            yield w }
        k: Int = dim[0](ys)
        f: Real = get(ys, 2)
        return e, m, k, f }",
    [FlatValue::Real(1.5), FlatValue::Int(4)],
    [FlatValue::Real(1.5), FlatValue::Int(-4)]
);

case!(
    what_was_computed_before,
    [cse, dce],
    "entry main fn main(x: Real, y: Real, n: Int, m: Int, xs: []Real) -> (Real, Real, Int, Real) {
        a: Real = real.add(x, y)
        b: Real = real.add(y, x)
        z: Real = real.mul(x, 0.0)
        w: Real = real.mul(x, -0.0)
        k: Int = int.add(n, m)
        check_size[\"n\"](n, m)
        l: Int = int.add(n, m)
        r: Real = if true {
            c: Real = real.add(x, y)
            d: Real = real.exp(c)
            yield d
        } else { yield 0.0 }
        e: Real = real.exp(a)
        check_index(n, m)
        check_index(m, m)
        u: Real = real.add(z, w)
        v: Real = real.add(r, e)
        return a, b, l, v }",
    [FlatValue::Real(1.0), FlatValue::Real(2.0), FlatValue::Int(1), FlatValue::Int(1), reals(&[])],
    [FlatValue::Real(1.0), FlatValue::Real(2.0), FlatValue::Int(1), FlatValue::Int(2), reals(&[])]
);

case!(
    what_nothing_needs,
    [dce],
    "entry main
    fn unused(x: Real) -> (Real) { return x }
    fn count(n: Int, kept: Real, only_handed_on: Real) -> (Real, Real) {
        c: Bool = le[Int](n, 0)
        a: Real, b: Real = if c { yield kept, only_handed_on } else {
            m: Int = fits.add(n, -1)
            p: Real, q: Real = call count(m, kept, only_handed_on)
            yield p, q }
        return a, b }
    fn main(x: Real, n: Int) -> (Real) {
        a: Real, b: Real = call count(n, x, x)
        s: Real, t: Real = for i < n with (u = 0.0, v = 0.0) {
            p: Real = real.add(u, x)
            q: Real = real.add(v, x)
            yield p, q }
        r: Real = real.add(a, s)
        return r }",
    [FlatValue::Real(1.0), FlatValue::Int(3)]
);

case!(
    what_the_program_never_comes_to,
    [dead_functions],
    "entry main
    constant first = init_first
    constant second = init_second
    fn init_first() -> (Real) { x: Real = call half(1.0) return x }
    fn half(x: Real) -> (Real) { h: Real = real.mul(x, 0.5) return h }
    fn up(n: Int, x: Real) -> (Real) { y: Real = call down(n, x) return y }
    fn down(n: Int, x: Real) -> (Real) { y: Real = call up(n, x) z: Real = constant first w: Real = real.add(y, z) return w }
    fn init_second() -> (Real) { x: Real = call third(1.0) return x }
    fn third(x: Real) -> (Real) { t: Real = real.div(x, 3.0) return t }
    fn main(x: Real, n: Int) -> (Real) {
        s: Real = for i < n with (u = 0.0) {
            c: Real = constant second
            p: Real = real.add(u, c)
            q: Real = call third(p)
            yield q }
        r: Real = real.add(s, x)
        return r }",
    [FlatValue::Real(1.0), FlatValue::Int(3)]
);

case!(
    bodies_in_the_place_of_calls,
    [inline, dce],
    "entry main
    fn recip(x: Real) -> (Int) { r: Int = floor(x) @1 k: Int = int.div(6, r) @2 return k }
    fn twice(x: Real) -> (Int) { a: Int = call recip(x) @3 b: Int = call recip(x) @4 c: Int = int.add(a, b) @5 return c }
    fn main(x: Real) -> (Int) { a: Int = call twice(x) @6 return a }
    site 0 = none
    site 1 = 0:1-2
    site 2 = 0:3-4
    site 3 = 0:5-6
    site 4 = 0:7-8
    site 5 = 0:9-10
    site 6 = 0:11-12",
    [FlatValue::Real(2.0)],
    [FlatValue::Real(0.0)]
);

case!(
    checks_that_hold,
    [ranges, dce],
    "entry main fn main(xs: []Real, ys: []Real, k: Int) -> (Real, []Real, []Int) {
        n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        s: Real = reduce[add] i < n {
            check_index(i, n)
            x: Real = get(xs, i)
            check_index(i, m)
            y: Real = get(ys, i)
            p: Real = real.mul(x, y)
            yield p }
        l: Int = int.sub(n, 1)
        check_count(l)
        d: []Real = build i2 < l {
            j: Int = int.add(i2, 1)
            check_index(j, n)
            x2: Real = get(xs, j)
            check_index(i2, n)
            y2: Real = get(xs, i2)
            z: Real = real.sub(x2, y2)
            yield z }
        c: Bool = ge[Int](k, 0)
        e: Bool = lt[Int](k, 100)
        f: Bool = and(c, e)
        r: Int = if f { a: Int = int.mul(k, 10) b: Int = int.add(a, 7) yield b } else { a2: Int = int.mul(k, 10) yield a2 }
        o: []Int = elements[Int](r, r)
        return s, d, o }",
    [reals(&[1.0, 2.0, 3.0]), reals(&[4.0, 5.0, 6.0]), FlatValue::Int(4)],
    [reals(&[1.0, 2.0, 3.0]), reals(&[4.0, 5.0]), FlatValue::Int(4)],
    [reals(&[]), reals(&[]), FlatValue::Int(4)],
    [reals(&[1.0]), reals(&[1.0]), FlatValue::Int(i64::MAX)]
);

case!(
    rounding_that_fits,
    [ranges, dce],
    "entry main fn main(x: Real, n: Int) -> ([]Int) {
        size: Real = real.abs(x)
        small: Bool = lt[Real](size, 1100.0)
        a: Int = if small { k: Int = round(x) yield k } else { yield 0 }
        below: Bool = lt[Real](x, 10.0)
        b: Int = if below {
            above: Bool = le[Real](-10.0, x)
            m: Int = if above { k2: Int = floor(x) yield k2 } else { yield 1 }
            yield m
        } else { yield 2 }
        c: Int = if below { up: Real = real.max(x, -3.0) k3: Int = ceil(up) yield k3 } else { yield 3 }
        r: Real = to_real(n)
        h: Real = real.mul(r, 0.5)
        d: Int = trunc(h)
        e: Int = trunc(r)
        all: []Int = elements[Int](a, b, c, d, e)
        return all }",
    [FlatValue::Real(2.5), FlatValue::Int(7)],
    [FlatValue::Real(-1e4), FlatValue::Int(i64::MAX - 1)],
    [FlatValue::Real(f64::NAN), FlatValue::Int(3)],
    [FlatValue::Real(f64::INFINITY), FlatValue::Int(3)],
    [FlatValue::Real(f64::NEG_INFINITY), FlatValue::Int(3)]
);

case!(
    comprehensions_without_arrays,
    [fuse, dce],
    "entry main fn main(xs: []Real) -> (Real, Real) {
        n: Int = dim[0](xs)
        ys: []Real = build i < n { x: Real = get(xs, i) y: Real = real.exp(x) yield y }
        zs: []Real = build j < n { y2: Real = get(ys, j) z: Real = real.mul(y2, y2) yield z }
        s: Real = reduce[add] k < n { z2: Real = get(zs, k) yield z2 }
        rows: [][]Real = build i2 < n {
            row: []Real = build j2 < n { x2: Real = get(xs, j2) y3: Real = get(xs, i2) z3: Real = real.mul(x2, y3) yield z3 }
            yield row }
        t: Real = reduce[add] i3 < n {
            u: Real = reduce[add] j3 < n { z4: Real = get(rows, j3, i3) yield z4 }
            yield u }
        return s, t }",
    [reals(&[1.0, 2.0, 3.0])],
    [reals(&[])]
);

case!(
    matrices_that_are_written_out,
    [rows, dce],
    "entry main fn main(x: Real, i: Int) -> ([][]Real, [][]Real, [][]Real, Real) {
        check_index(i, 2)
        a: []Real = elements[Real](x, 1.0)
        b: []Real = elements[Real](2.0, x)
        m: [][]Real = rows(a, b)
        n: [][]Real = rows(a, a, b)
        c: []Real = get(m, i)
        o: [][]Real = rows(c, a)
        y: Real = get(n, 2, i)
        p: [][]Real = update(m, 1, c)
        return p, n, o, y }",
    [FlatValue::Real(0.5), FlatValue::Int(0)],
    [FlatValue::Real(f64::NAN), FlatValue::Int(1)],
    [FlatValue::Real(0.5), FlatValue::Int(2)]
);

case!(
    failures_stay_in_order,
    [fuse, dce],
    "entry main fn main(ns: []Int) -> (Real, Real, Int) {
        n: Int = dim[0](ns)
        alone: []Int = build i < n { a: Int = get(ns, i) b: Int = int.div(6, a) yield b }
        s: Real = reduce[add] i2 < n { b2: Int = get(alone, i2) r: Real = to_real(b2) yield r }
        first: []Int = build i3 < n { a2: Int = get(ns, i3) b3: Int = int.sub(a2, 5) c: Int = int.div(6, b3) yield c }
        t: Real = reduce[add] i4 < n { b4: Int = get(first, i4) c2: Int = int.sub(b4, 6) d: Int = int.div(6, c2) r2: Real = to_real(d) yield r2 }
        return s, t, n }",
    [FlatValue::ints(vec![1, 2, 3])],
    [FlatValue::ints(vec![6, 5, 0])],
    [FlatValue::ints(vec![6, 5])]
);

case!(
    out_of_loops,
    [hoist, dce],
    "entry main fn main(xs: []Real, k: Int, x: Real) -> ([]Real, Real) {
        n: Int = dim[0](xs)
        ys: []Real = build i < n {
            e: Real = real.exp(x)
            check_index(k, n)
            y: Real = get(xs, k)
            s: Real = reduce[add] j < n { z: Real = get(xs, j) yield z }
            w: Real = get(xs, i)
            d: Int = int.div(i, k)
            q: Int = int.div(7, k)
            v: Real = real.add(w, s)
            u: Real = real.mul(e, y)
            r: Real = real.add(u, v)
            yield r }
        return ys, x }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(1), FlatValue::Real(0.5)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(0), FlatValue::Real(0.5)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(5), FlatValue::Real(0.5)],
    [reals(&[]), FlatValue::Int(5), FlatValue::Real(0.5)]
);

case!(
    loops_with_accumulators_of_their_own_leave_loops,
    [hoist, dce],
    "entry main fn main(xs: []Real, x: Real) -> ([]Real, []Real) {
        n: Int = dim[0](xs)
        all: Acc[1] = acc_new(n)
        ys: []Real = build i < 3 {
            own: Real, last: Real = while (sum = 0.0, y = x) {
                more: Bool = gt[Real](y, 0.0)
                yield more
            } do {
                a: Acc[1] = acc_new(n)
                for j < n { z: Real = get(xs, j) acc_add(a, j, z) }
                zs: []Real = acc_get(a)
                s: Real = reduce[add] k < n { z: Real = get(zs, k) yield z }
                t: Real = real.add(sum, s)
                y2: Real = real.sub(y, 1.0)
                yield t, y2
            }
            w: Real = real.add(own, last)
            yield w
        }
        zs: []Real = build i < 3 {
            for j < n { z: Real = get(xs, j) acc_add(all, j, z) }
            yield x
        }
        add_all: []Real = acc_get(all)
        both: []Real = append(ys, zs)
        return both, add_all }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Real(2.5)],
    [reals(&[]), FlatValue::Real(1.0)]
);

case!(
    checks_leave_loops,
    [hoist_checks, dce],
    "entry main fn main(xs: []Real, is: []Int, m: [][]Real, k: Int) -> (Real, []Real, Real, Real) {
        n: Int = dim[0](xs)
        l: Int = dim[0](is)
        rows: Int = dim[0](m)
        columns: Int = dim[1](m)
        a: Real = reduce[add] i < l {
            check_index(i, n)
            x: Real = get(xs, i)
            y: Real = real.exp(x)
            yield y }
        b: []Real = build i < l {
            j: Int = get(is, i)
            check_index(j, n)
            x: Real = get(xs, j)
            y: Real = real.exp(x)
            z: Real = real.sin(y)
            yield z }
        c: Real = reduce[max] i < n {
            s: Real = reduce[add] j < rows {
                p: Int = int.mul(j, k)
                q: Int = int.add(p, j)
                check_index(q, columns)
                x: Real = get(m, j, q)
                y: Real = get(xs, i)
                z: Real = real.mul(x, y)
                yield z }
            yield s }
        d: Real = for i < n with (t = 0.0) {
            u: Real = if true {
                check_index(i, l)
                j: Int = get(is, i)
                w: Real = to_real(j)
                yield w
            } else { yield t }
            v: Real = real.add(t, u)
            yield v }
        return a, b, c, d }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, 0, 1]), square(), FlatValue::Int(0)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, 3, 1]), square(), FlatValue::Int(0)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, -1, 1]), square(), FlatValue::Int(0)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, 0, 1]), square(), FlatValue::Int(1)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, 0, 1]), square(), FlatValue::Int(i64::MAX)],
    [reals(&[1.0, 2.0]), FlatValue::ints(vec![1, 0, 1]), square(), FlatValue::Int(0)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::ints(vec![2, 0]), square(), FlatValue::Int(0)],
    [reals(&[]), FlatValue::ints(vec![]), square(), FlatValue::Int(9)]
);

case!(
    loops_are_cut,
    [hoist_checks, simplify, dce],
    "entry main fn main(xs: []Real, n: Int) -> (Real, Int) {
        m: Int = dim[0](xs)
        s: Real, t: Int = for i < n with (a = 1.0, b = 0) {
            check_index(i, m)
            x: Real = get(xs, i)
            y: Real = real.mul(a, 0.5)
            z: Real = real.add(x, y)
            c: Int = int.shift_left(1, i)
            d: Int = int.add(b, c)
            yield z, d }
        return s, t }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(3)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(4)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(-1)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(i64::MIN)],
    [reals(&[1.5; 80]), FlatValue::Int(64)],
    [reals(&[1.5; 80]), FlatValue::Int(65)]
);

case!(
    several_loops_become_one,
    [fuse_siblings, cse, dce],
    "entry main fn main(xs: []Real, k: Int) -> (Real, Real, []Real, []Real, Real) {
        n: Int = dim[0](xs)
        a: Real = reduce[add] i < n {
            x: Real = get(xs, i) y: Real = real.mul(x, x) yield y }
        t: Real = real.mul(a, 2.0)
        b: Real = reduce[max] i < n {
            x: Real = get(xs, i) y: Real = real.mul(x, x) z: Real = real.sub(y, 1.0) yield z }
        c: []Real = build i < n { x: Real = get(xs, i) y: Real = real.mul(x, t) yield y }
        d: []Real = build i < n { x: Real = get(c, i) y: Real = real.exp(x) yield y }
        check_index(k, n)
        e: Real = reduce[min] i < n {
            x: Real = get(xs, i) w: Real = get(xs, k) y: Real = real.mul(x, w) yield y }
        return a, b, c, d, e }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(1)],
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(3)],
    [reals(&[]), FlatValue::Int(0)]
);

case!(
    into_branches,
    [sink, dce],
    "entry main fn main(x: Real, c: Bool) -> (Real) {
        a: Real = real.exp(x)
        b: Real = real.sin(a)
        d: Real = real.cos(x)
        r: Real = if c { e: Real = real.add(b, d) yield e } else { yield d }
        return r }",
    [FlatValue::Real(1.0), FlatValue::Bool(true)],
    [FlatValue::Real(1.0), FlatValue::Bool(false)]
);

case!(
    small_arrays_are_numbers,
    [unroll, simplify, unroll, simplify, dce],
    "entry main fn main(x: Real, y: Real, n: Int, c: Bool) -> (Real, Real) {
        a: []Real = elements[Real](x, y, 1.0)
        b: []Real = build i < 3 { e: Real = get(a, i) f: Real = real.mul(e, 2.0) yield f }
        m: []Real = if c { yield a } else { yield b }
        p: []Real = for k < n with (q = m) {
            s: Real = get(q, 0)
            t: Real = get(q, 1)
            u: Real = real.add(s, t)
            v: []Real = update(q, 2, u)
            yield v }
        w: Real = get(p, 2)
        z: Real = reduce[add] i2 < 3 { e2: Real = get(p, i2) yield e2 }
        return w, z }",
    [FlatValue::Real(1.0), FlatValue::Real(2.0), FlatValue::Int(2), FlatValue::Bool(false)],
    [FlatValue::Real(1.0), FlatValue::Real(2.0), FlatValue::Int(0), FlatValue::Bool(true)]
);

case!(
    sums_around_sums_are_one_loop,
    [unroll, simplify, fuse_siblings, cse, dce],
    "entry main fn main(w: []Real, a: [][]Real, p: []Real) -> (Real) {
        n: Int = dim[0](w)
        s: Real = reduce[add] j < 3 {
            t: Real = reduce[add] i < n {
                x: Real = get(w, i) y: Real = get(a, j, i) z: Real = real.mul(x, y) yield z }
            q: Real = get(p, j)
            u: Real = real.mul(t, q)
            yield u }
        return s }",
    [reals(&[3.0, 5.0]), tall(), reals(&[1.0, 10.0, 100.0])]
);

/// A product of matrices, of which one is what another product gives, one is put together and one is read from an
/// array.
const TURNED: &str =
    "entry main fn main(x: Real, c: Bool, ms: [][][]Real, n: Int) -> ([][]Real, Real) {
    d: Int = dim[0](ms)
    s: Real = real.sin(x)
    r: []Real = elements[Real](x, s)
    t: []Real = elements[Real](s, 1.0)
    a: [][]Real = rows(r, t)
    check_index(n, d)
    m: [][]Real = get(ms, n)
    b: [][]Real = reshape(m, 2, 2)
    p: [][]Real = call product(a, b)
    q: [][]Real = call product(p, a)
    e: [][]Real = if c { u: [][]Real = call product(q, b) yield u } else { yield a }
    w: [][]Real = for i < n with (v = a) {
        check_index(i, 1)
        o: [][]Real = call product(v, e)
        yield o
    }
    y: Real = call corner(w)
    return e, y
}
fn product(a: [][]Real, b: [][]Real) -> ([][]Real) {
    p: Real = get(a, 0, 0)
    q: Real = get(a, 0, 1)
    r: Real = get(a, 1, 0)
    s: Real = get(a, 1, 1)
    m: [][]Real = reshape(b, 2, 2)
    t: Real = get(m, 0, 0)
    u: Real = get(m, 1, 1)
    v: Real = real.mul(p, t)
    w: Real = real.mul(q, u)
    x: Real = real.mul(r, t)
    y: Real = real.mul(s, u)
    z: []Real = elements[Real](v, w, x, y)
    d: Int = dim[0](a)
    e: Int = dim[1](b)
    check_size[\"the inner size\"](d, e)
    o: [][]Real = reshape(z, 2, 2)
    return o
}
fn corner(a: [][]Real) -> (Real) {
    n: Int = dim[0](a)
    check_size[\"corner\"](n, 2)
    x: Real = get(a, 1, 0)
    return x
}";

/// Matrices of two rows of two numbers.
fn matrices(count: usize) -> FlatValue {
    let elements: Vec<f64> = (0..4 * count).map(|i| 0.5 * i as f64 - 1.0).collect();
    FlatValue::array(FlatArray::new(&[count as i64, 2, 2], Data::Reals(Rc::new(elements))).unwrap())
}

case!(
    small_arrays_go_through_calls_as_numbers,
    [scalars, dce],
    TURNED,
    [FlatValue::Real(0.5), FlatValue::Bool(true), matrices(3), FlatValue::Int(1)],
    [FlatValue::Real(-0.0), FlatValue::Bool(false), matrices(3), FlatValue::Int(0)],
    [FlatValue::Real(1.5), FlatValue::Bool(true), matrices(3), FlatValue::Int(2)],
    [FlatValue::Real(1.5), FlatValue::Bool(true), matrices(3), FlatValue::Int(3)]
);

#[test]
fn arrays_that_functions_need_whole_stay() {
    // What `f` does with its parameter, what the second call passes, and whether it becomes numbers.
    let cases = [
        ("y: Real = get(a, 0)", "elements[Real](1.0, x)", true),
        ("n: Int = dim[0](a) check_index(2, n) y: Real = get(a, 2)", "elements[Real](1.0, x)", true),
        ("i: Int = floor(x) n: Int = dim[0](a) check_index(i, n) y: Real = get(a, i)", "elements[Real](1.0, x)", false),
        ("y: Real = reduce[add] i < 2 { e: Real = get(a, i) yield e }", "elements[Real](1.0, x)", false),
        ("b: []Real = update(a, 0, x) y: Real = get(b, 0)", "elements[Real](1.0, x)", false),
        ("p: Bool = lt[Real](x, 0.0) y: Real = if p { yield x } else { n: Real = real.neg(x) z: Real = call f(n, a) yield z }", "elements[Real](1.0, x)", true),
        // Arrays of different sizes, and one of which nobody knows it.
        ("y: Real = get(a, 0)", "elements[Real](1.0, x, x)", false),
        ("y: Real = get(a, 0)", "append(xs, xs)", false),
    ];
    for (body, second, numbers_now) in cases {
        let text = format!(
            "entry main fn main(x: Real, xs: []Real) -> (Real) {{
                r: []Real = elements[Real](x, 2.0)
                a: Real = call f(x, r)
                s: []Real = {second}
                b: Real = call f(x, s)
                c: Real = real.add(a, b)
                return c
            }}
            fn f(x: Real, a: []Real) -> (Real) {{ {body} return y }}"
        );
        let points = [0.5, 1.5, 7.0].map(|x| vec![FlatValue::Real(x), reals(&[1.0])]);
        let text = after(&[scalars, dce], &text, &points);
        assert_eq!(!text.contains("a: []Real"), numbers_now, "{body}\n{text}");
    }
}

case!(
    loops_that_count,
    [canonical_loops, ranges, dce],
    "entry main fn main(xs: []Real, n: Int) -> (Real, Int) {
        m: Int = dim[0](xs)
        j: Int, s: Real = while (i = 0, t = 0.0) { c: Bool = lt[Int](i, m) yield c } do {
            check_index(i, m)
            x: Real = get(xs, i)
            u: Real = real.add(t, x)
            k: Int = int.add(i, 1)
            yield k, u }
        p: Int, q: Int = while (a = 3, b = 0) { d: Bool = ge[Int](n, a) yield d } do {
            e: Int = int.add(a, b)
            f: Int = int.add(a, 1)
            yield f, e }
        r: Int = int.add(j, q)
        return s, r }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(5)],
    [reals(&[]), FlatValue::Int(2)],
    [reals(&[]), FlatValue::Int(-7)]
);

case!(
    loops_that_count_to_what_the_condition_computes,
    [canonical_loops, ranges, dce],
    "entry main fn main(xs: []Real, n: Int) -> (Real, Int, Int) {
        j: Int, s: Real = while (i = 0, t = 0.0) {
            m: Int = dim[0](xs)
            c: Bool = lt[Int](i, m)
            yield c } do {
            w: Int = dim[0](xs)
            check_index(i, w)
            x: Real = get(xs, i)
            u: Real = real.add(t, x)
            k: Int = int.add(i, 1)
            yield k, u }
        p: Int, q: Int = while (a = 3, b = 0) {
            g: Int = int.add(n, 1)
            d: Bool = gt[Int](g, a)
            yield d } do {
            e: Int = int.add(a, b)
            f: Int = int.add(a, 1)
            yield f, e }
        v: Int, y: Int = while (l = 0, o = 5) {
            h: Int = int.sub(o, 1)
            z: Bool = lt[Int](l, h)
            yield z } do {
            aa: Int = int.add(l, 1)
            ab: Int = int.sub(o, 1)
            yield aa, ab }
        r: Int = int.add(j, q)
        return s, r, v }",
    [reals(&[1.0, 2.0, 3.0]), FlatValue::Int(5)],
    [reals(&[]), FlatValue::Int(-7)],
    [reals(&[2.0]), FlatValue::Int(i64::MAX)]
);

case!(
    all_passes,
    [optimise],
    "entry main
    fn dot(x: []Real, y: []Real) -> (Real) {
        n: Int = dim[0](x)
        m: Int = dim[0](y)
        check_size[\"n\"](n, m)
        p: []Real = build i < n {
            check_index(i, n) a: Real = get(x, i) check_index(i, n) b: Real = get(y, i)
            c: Real = real.mul(a, b) yield c }
        k: Int = dim[0](p)
        s: Real = reduce[add] i2 < k { check_index(i2, k) a2: Real = get(p, i2) yield a2 }
        return s }
    fn main(x: []Real) -> (Real) {
        s: Real = call dot(x, x)
        t: Real = call dot(x, x)
        r: Real = real.add(s, t)
        return r }",
    [reals(&[1.0, 2.0, 3.0])],
    [reals(&[])]
);

/// What large programs give before and after all passes.
fn stays(text: &str, point: &[FlatValue]) -> Module {
    let before = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let module = optimise(before.clone());
    assert_eq!(lint(&module), Vec::<String>::new());
    assert_eq!(meaning(&module, point), meaning(&before, point));
    module
}

#[test]
fn long_functions() {
    let mut body = String::new();
    for i in 0..50_000 {
        let op = ["add", "mul", "sub", "max"][i % 4];
        let (a, b) = (i, i / 2);
        body.push_str(&format!("x{}: Real = real.{op}(x{a}, x{b})\n", i + 1));
    }
    let text = format!("entry main fn main(x0: Real) -> (Real) {{ {body} return x50000 }}");
    stays(&text, &[FlatValue::Real(0.5)]);
}

#[test]
fn many_functions() {
    let mut text = String::from("entry f10000 fn f0(x: Real) -> (Real) { return x }\n");
    for i in 1..=10_000 {
        text.push_str(&format!(
            "fn f{i}(x: Real) -> (Real) {{ y: Real = call f{}(x) z: Real = real.sin(y) return z }}\n",
            i - 1
        ));
    }
    stays(&text, &[FlatValue::Real(0.5)]);
}

#[test]
fn deep_blocks() {
    let depth = 5_000;
    let mut text = String::from("entry main fn main(n: Int, x: Real) -> (Real) { ");
    for i in 0..depth {
        text.push_str(&format!(
            "c{i}: Bool = gt[Int](n, {i}) r{i}: Real = if c{i} {{ y{i}: Real = real.exp(x) yield y{i} }} else {{ "
        ));
    }
    text.push_str("yield x }");
    for i in (0..depth - 1).rev() {
        text.push_str(&format!(" yield r{} }}", i + 1));
    }
    text.push_str(" return r0 }");
    // What is nested so deeply takes stack to be copied and dropped.
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    let run = move || drop(stays(&text, &[FlatValue::Int(3), FlatValue::Real(0.5)]));
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn chains_of_comprehensions() {
    // Chains of comprehensions become one loop without an array between them.
    let mut text = String::from("entry main fn main(a0: []Real) -> (Real) { n: Int = dim[0](a0)\n");
    for i in 0..100 {
        text.push_str(&format!(
            "a{}: []Real = build i{i} < n {{ x{i}: Real = get(a{i}, i{i}) y{i}: Real = real.add(x{i}, 1.0) yield y{i} }}\n",
            i + 1
        ));
    }
    text.push_str("s: Real = reduce[add] j < n { e: Real = get(a100, j) yield e } return s }");
    let module = stays(&text, &[reals(&[1.0, 2.0])]);
    let text = print_plain(&module);
    assert!(!text.contains("build"), "{text}");
}

case!(
    functions_are_copied_for_small_arrays_of_known_sizes,
    [specialise, unroll, simplify, dce],
    "entry main fn main(a: [][]Real, x: Real) -> (Real, [][]Real) {
        n: Int = dim[0](a)
        check_size[\"the size 2 of a type\"](2, n)
        w: Int = dim[1](a)
        open: Bool = lt[Int](w, 0)
        m: Int = select(open, 2, w)
        check_size[\"the size 2 of a type\"](2, m)
        r: []Real = elements[Real](x, 1.0)
        s: []Real = elements[Real](2.0, x)
        b: [][]Real = rows(r, s)
        p: [][]Real = call transpose(b)
        q: [][]Real = call transpose(a)
        t: [][]Real = call transpose(q)
        y: Real = get(t, 0, 1)
        return y, p }
     fn transpose(a: [][]Real) -> ([][]Real) {
        h: Int = dim[0](a)
        w: Int = dim[1](a)
        t: [][]Real = build j < w {
            r: []Real = build i < h {
                y: Real = get(a, i, j)
                yield y }
            yield r }
        return t }",
    [square(), FlatValue::Real(3.0)],
    [
        FlatValue::array(FlatArray::new(&[1, 2], Data::Reals(Rc::new(vec![1.0, 2.0]))).unwrap()),
        FlatValue::Real(3.0)
    ]
);
