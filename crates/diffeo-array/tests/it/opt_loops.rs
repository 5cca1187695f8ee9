//! Loops: what passes make of them, and that the meaning stays.

use diffeo_array::ir::Module;
use diffeo_array::opt::{
    cse, dce, defer_checks, demand, extrema, fuse, index_tables, inline, inline_small, optimise,
    promote, ranges, simplify, sink_producers, unroll,
};
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, parse, print_plain, FlatEvaluator};
use diffeo_calculus::eval::Options;
use std::rc::Rc;
use std::sync::Arc;

/// What a program gives, as text.
fn meaning(module: &Module, args: &[FlatValue]) -> String {
    let mut evaluator = FlatEvaluator::new(Arc::new(module.clone()), Options::default());
    match evaluator.run(args.to_vec()) {
        Ok(values) => format!("{values:?}"),
        Err(error) => format!("{:?} at {:?}, {:?}", error.kind, error.span, error.trace),
    }
}

/// The text of a module after passes, which means the same at each of the arguments.
fn after(passes: &[fn(Module) -> Module], text: &str, points: &[Vec<FlatValue>]) -> String {
    let before = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&before), Vec::<String>::new(), "{text}");
    let module = passes.iter().fold(before.clone(), |module, pass| pass(module));
    assert_eq!(lint(&module), Vec::<String>::new(), "{}", print_plain(&module));
    for point in points {
        assert_eq!(meaning(&module, point), meaning(&before, point), "{}", print_plain(&module));
    }
    print_plain(&module)
}

fn rows(sizes: &[i64], xs: &[f64]) -> FlatValue {
    FlatValue::array(
        FlatArray::new(sizes, Data::Reals(Rc::new(xs.to_vec()))).expect("as many elements"),
    )
}

const LARGEST: &str = "entry main fn main(xs: []Real, start: Real) -> (Real, Real, Real) {
    n: Int = dim[0](xs)
    a: Real = for i < n with (m = start) { x: Real = get(xs, i) y: Real = real.max(m, x) yield y }
    first: Real = get(xs, 0)
    others: Int = fits.add(n, -1)
    b: Real = for i.2 < others with (m.2 = first) {
        j: Int = fits.add(i.2, 1)
        x.2: Real = get(xs, j)
        y.2: Real = real.min(m.2, x.2)
        yield y.2
    }
    c: Real = for i.3 < n with (m.3 = start) {
        x.3: Real = get(xs, i.3)
        y.3: Real = real.max(m.3, x.3)
        z: Real = real.add(y.3, m.3)
        yield z
    }
    return a, b, c }";

#[test]
fn loops_for_the_largest_are_reductions() {
    let points = [
        vec![FlatValue::reals(vec![1.0, 5.0, -2.0]), FlatValue::Real(3.0)],
        vec![FlatValue::reals(vec![1.0, f64::NAN, -2.0]), FlatValue::Real(3.0)],
        vec![FlatValue::reals(vec![f64::NEG_INFINITY]), FlatValue::Real(f64::NAN)],
    ];
    insta::assert_snapshot!(after(&[extrema, dce], LARGEST, &points));
}

#[test]
fn the_smallest_of_a_comprehension_needs_no_array() {
    let text = "entry main fn main(n: Int, x: Real) -> (Real) {
        check_count(n)
        check_index(0, n)
        xs: []Real = build i < n {
            t: Real = to_real(i) u: Real = real.sub(t, x) v: Real = real.mul(u, u) yield v }
        first: Real = get(xs, 0)
        others: Int = fits.add(n, -1)
        b: Real = for i.2 < others with (m = first) {
            j: Int = fits.add(i.2, 1) w: Real = get(xs, j) y: Real = real.min(m, w) yield y }
        return b }";
    let points = [
        vec![FlatValue::Int(1), FlatValue::Real(0.5)],
        vec![FlatValue::Int(7), FlatValue::Real(3.25)],
        vec![FlatValue::Int(0), FlatValue::Real(3.25)],
    ];
    insta::assert_snapshot!(after(&[extrema, fuse, simplify, dce], text, &points));
}

/// Sizes of rows are chosen among those of arrays that have rows.
#[test]
fn rows_have_the_sizes_that_were_checked() {
    let text = "entry main fn main(a: [][]Real, b: [][]Real) -> ([]Real) {
        n: Int = dim[0](a)
        k: Int = dim[0](b)
        check_size[\"n\"](n, k)
        p: Int = dim[1](a)
        q: Int = dim[1](b)
        open: Bool = lt[Int](p, 0)
        m: Int = select(open, q, p)
        open.2: Bool = lt[Int](q, 0)
        m.2: Int = select(open.2, m, q)
        check_size[\"m\"](m, m.2)
        sums: []Real = build i < n {
            sum: Real = reduce[add] j < m {
                check_index(j, p)
                x: Real = get(a, i, j)
                check_index(j, q)
                y: Real = get(b, i, j)
                z: Real = real.mul(x, y)
                yield z
            }
            yield sum
        }
        return sums }";
    let point = |sizes: &[i64], xs: &[f64]| vec![rows(sizes, xs), rows(sizes, xs)];
    let points = [
        point(&[2, 2], &[1.0, 2.0, 3.0, 4.0]),
        point(&[0, -1], &[]),
        vec![rows(&[0, -1], &[]), rows(&[0, 3], &[])],
        vec![rows(&[1, 1], &[1.0]), rows(&[1, 2], &[1.0, 2.0])],
    ];
    let text = after(&[ranges, dce], text, &points);
    assert!(!text.contains("check_index"), "{text}");
}

#[test]
fn small_recursive_functions_are_put_into_themselves_once() {
    let text = "entry main fn main(n: Int) -> (Int) { a: Int = call fib(n) return a }
    fn fib(n: Int) -> (Int) {
        small: Bool = lt[Int](n, 2)
        r: Int = if small { yield n } else {
            a: Int = int.sub(n, 1) b: Int = call fib(a)
            c: Int = int.sub(n, 2) d: Int = call fib(c)
            e: Int = int.add(b, d) yield e }
        return r }";
    let points = [vec![FlatValue::Int(10)], vec![FlatValue::Int(-3)], vec![FlatValue::Int(1)]];
    let text = after(&[inline], text, &points);
    assert_eq!(text.matches("call fib").count(), 5, "{text}");
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(meaning(&optimise(module), &[FlatValue::Int(12)]), "[Int(144)]");
}

#[test]
fn functions_that_have_become_small_are_put_into_their_callers() {
    let sum = |k: i64| {
        format!(
            "s.{k}: Real = reduce[add] i.{k} < 9 {{ r.{k}: Real = to_real(i.{k}) yield r.{k} }}\n"
        )
    };
    let add = |k: i64| format!("t.{k}: Real = real.add(t.{}, s.{k})\n", k - 1);
    let sums: String = (1..=40).map(sum).chain((1..=40).map(add)).collect();
    let text = format!(
        "entry main fn main(x: Real) -> (Real) {{
            a: Real = call f(x) b: Real = call f(a) c: Real = call f(b) return c }}
        fn f(x: Real) -> (Real) {{ t.0: Real = to_real(1) {sums} y: Real = real.add(x, t.40) return y }}"
    );
    let points = [vec![FlatValue::Real(0.5)], vec![FlatValue::Real(-0.5)]];
    assert!(after(&[inline], &text, &points).contains("call"));
    let text = after(&[unroll, simplify, cse, dce, inline_small], &text, &points);
    assert!(!text.contains("call"), "{text}");
}

/// In a loop, a function that calls another, of these lengths.
fn nested_calls(middle: usize, inner: usize) -> String {
    let body = |count: usize| -> String {
        (1..=count).map(|k| format!("x.{k}: Real = real.sin(x.{})\n", k - 1)).collect()
    };
    format!(
        "entry main fn main(n: Int) -> (Real) {{
            sum: Real = reduce[add] i < n {{
                x: Real = to_real(i) y: Real = call middle(x) yield y }}
            return sum }}
        fn middle(x.0: Real) -> (Real) {{
            {} y: Real = call inner(x.{middle}) return y }}
        fn inner(x.0: Real) -> (Real) {{ {} return x.{inner} }}",
        body(middle),
        body(inner)
    )
}

#[test]
fn of_two_functions_that_are_too_large_together_the_larger_stays_a_call() {
    let points = [vec![FlatValue::Int(3)]];
    let calls = |text: &str| {
        let text = after(&[inline, dce], text, &points);
        (text.contains("call middle"), text.contains("call inner"))
    };
    assert_eq!(calls(&nested_calls(40, 100)), (false, false));
    assert_eq!(calls(&nested_calls(40, 580)), (false, true));
    assert_eq!(calls(&nested_calls(580, 40)), (true, false));
}

const SMALL: &str = "entry main fn main(x: Real) -> (Real, []Real, [][]Real, []Real) {
    a: Acc[1] = acc_new(3)
    acc_add(a, 2, x)
    y: Real = real.sin(x)
    acc_add(a, 0, y)
    acc_add(a, 2, y)
    r: Real = acc_read(a, 2)
    t: Real = acc_take(a, 0)
    s: Real = real.add(r, t)
    all: []Real = acc_get(a)
    b: Acc[2] = acc_new(2, 2)
    acc_add(b, 1, 0, s)
    acc_add(b, 0, 1, x)
    rows: [][]Real = acc_get(b)
    c: Acc[1] = acc_new(2)
    acc_add(c, 0, x)
    large: Bool = gt[Real](x, 1.0)
    if large { acc_add(c, 1, y) } else {}
    kept: []Real = acc_get(c)
    return s, all, rows, kept }";

#[test]
fn small_accumulators_are_numbers() {
    let points: Vec<Vec<FlatValue>> = [0.5, -0.0, 2.0].map(|x| vec![FlatValue::Real(x)]).into();
    insta::assert_snapshot!(after(&[promote], SMALL, &points));
}

#[test]
fn views_of_small_accumulators_are_numbers() {
    let program = |changed: &str, at: &str| {
        format!(
            "entry main fn main(x: Real, i: Int, xs: [][]Real) -> (Real, Real, []Real, [][]Real) {{
                other: Acc[2] = acc_new(2, 2)
                acc_add_array(other, xs)
                row: Acc[1] = acc_view(other, 1)
                taken: []Real = acc_get(row)
                {changed}
                a: Acc[1] = acc_new(4)
                b: Acc[2] = acc_reshape(a, 2, 2)
                c: Acc[1] = acc_view(b, 1)
                acc_add_array(c, taken)
                acc_add(a, {at}, x)
                acc_add_array(b, xs)
                y: Real = acc_read(b, 1, 0)
                z: Real = acc_take(c, 1)
                all: []Real = acc_get(c)
                rest: [][]Real = acc_get(other)
                return y, z, all, rest
            }}"
        )
    };
    let xs = || rows(&[2, 2], &[1.0, -0.0, 0.0, 4.5]);
    let points = [0.5, -0.0].map(|x| vec![FlatValue::Real(x), FlatValue::Int(1), xs()]);
    insta::assert_snapshot!(after(&[promote, simplify, dce], &program("", "3"), &points));
    // What was taken is not read again where it has changed since.
    let text = after(&[promote, simplify, dce], &program("acc_add(row, i, x)", "3"), &points);
    assert!(text.contains("acc_get(row)") && !text.contains("acc_new(4)"), "{text}");
    // At a place that is not known, nothing is a number.
    let text = after(&[promote, simplify, dce], &program("", "i"), &points);
    assert!(text.contains("acc_new(4)"), "{text}");
}

const TRIANGLE: &str = "entry main fn main(l: []Real, x: []Real, d: Int) -> ([]Real) {
    two: Int = fits.mul(2, d)
    m: Int = fits.add(d, -1)
    n: Int = int.max(m, 0)
    check_count(d)
    y: []Real = build i < d {
        s: Real = reduce[add] j < i {
            a: Int = fits.sub(two, j)
            b: Int = fits.add(a, -1)
            c: Int = fits.mul(j, b)
            e: Int = fits.div(c, 2)
            f: Int = fits.add(e, i)
            g: Int = fits.sub(f, j)
            h: Int = fits.add(g, -1)
            p: Real = get(l, h)
            q: Real = get(x, j)
            r: Real = real.mul(p, q)
            yield r
        }
        yield s
    }
    return y }";

#[test]
fn places_in_packed_triangles_are_looked_up() {
    let reals = |n: i64| FlatValue::reals((0..n).map(|i| (i as f64).sin()).collect());
    let point = |d: i64| vec![reals(d * (d - 1) / 2), reals(d), FlatValue::Int(d)];
    let points: Vec<Vec<FlatValue>> = [0, 1, 2, 3, 7].into_iter().map(point).collect();
    insta::assert_snapshot!(after(&[index_tables, dce], TRIANGLE, &points));
}

#[test]
fn tables_of_what_is_cheap_or_not_known_before_the_loops() {
    let unchanged = |body: &str, count: &str| {
        let text = format!(
            "entry main fn main(xs: []Real, d: Int) -> (Real) {{
                z: Real = reduce[add] i < d {{
                    n: Int = fits.mul(i, 2)
                    s: Real = reduce[add] j < {count} {{ {body} r: Real = to_real(h) yield r }}
                    yield s
                }}
                return z }}"
        );
        let point = |d: i64| vec![FlatValue::reals(Vec::new()), FlatValue::Int(d)];
        let points: Vec<Vec<FlatValue>> = [-1, 0, 1, 5].into_iter().map(point).collect();
        after(&[dce], &text, &points) == after(&[index_tables, dce], &text, &points)
    };
    let dear = "a: Int = fits.mul(j, j) b: Int = fits.add(a, 7) c: Int = fits.div(b, 3)";
    assert!(!unchanged(&format!("{dear} h: Int = fits.add(c, i)"), "i"));
    assert!(!unchanged(&format!("{dear} h: Int = fits.sub(i, c)"), "d"));
    // It has no bound that is known before.
    assert!(unchanged(&format!("{dear} h: Int = fits.add(c, i)"), "n"));
    // It depends on both indices.
    assert!(unchanged(
        "a: Int = fits.mul(j, i) b: Int = fits.add(a, 7) c: Int = fits.div(b, 3) h: Int = fits.add(c, j)",
        "i"
    ));
    // It is cheap.
    assert!(unchanged("a: Int = fits.mul(j, 3) h: Int = fits.add(a, i)", "i"));
    // It might divide by 0.
    assert!(unchanged(
        "a: Int = fits.mul(j, j) b: Int = fits.add(a, 7) k: Int = fits.add(j, 1) c: Int = fits.div(b, k)
         h: Int = fits.add(c, i)",
        "i"
    ));
}

/// Positions that take much to compute, and a few of them.
const WANTED: &str = "entry main fn main(xs: []Real, is: []Int, js: []Int) -> ([]Real, Real) {
    k: Int = dim[0](is)
    l: Int = dim[0](js)
    n: Int = dim[0](xs)
    check_size[\"js\"](k, l)
    a: []Real, b: []Real = call positions(xs)
    m: Int = dim[0](a)
    for i < k {
        p: Int = get(is, i)
        q: Int = get(js, i)
        check_index(p, m)
        check_index(q, m)
    }
    ys: []Real = build i.2 < k {
        p.2: Int = get(is, i.2)
        q.2: Int = get(js, i.2)
        u: Real = get(a, p.2)
        v: Real = get(b, q.2)
        w: Real = get(a, q.2)
        y: Real = real.mul(u, v)
        z: Real = real.sub(y, w)
        yield z
    }
    c: []Real, d: []Real = call positions(ys)
    e: Int = dim[0](d)
    s: Real = reduce[add] i.3 < k {
        p.3: Int = get(is, i.3)
        f: Bool = lt[Int](p.3, e)
        g: Bool = ge[Int](p.3, 0)
        h: Bool = and(f, g)
        t: Real = if h { o: Real = get(c, p.3) yield o } else { yield 1.0 }
        yield t
    }
    return ys, s
}
fn positions(xs: []Real) -> ([]Real, []Real) {
    n: Int = dim[0](xs)
    check_index(0, n)
    shift: Real = get(xs, 0)
    a: []Real, b: []Real = build i < n {
        x: Real = get(xs, i)
        s: Real, c: Real = reduce[add, add] j < n {
            y: Real = get(xs, j)
            d: Real = real.sub(x, y)
            e: Real = real.sin(d)
            f: Real = real.cos(d)
            g: Real = real.exp(e)
            h: Real = real.exp(f)
            yield g, h
        }
        t: Real = real.add(s, shift)
        yield t, c
    }
    return b, a
}";

#[test]
fn only_elements_that_are_read_are_computed() {
    let point = |n: i64, is: &[i64], js: &[i64]| {
        let xs = (0..n).map(|i| (i as f64).sqrt()).collect();
        vec![FlatValue::reals(xs), FlatValue::ints(is.to_vec()), FlatValue::ints(js.to_vec())]
    };
    let many: Vec<i64> = (0..40).map(|i| i % 3).collect();
    let points = [
        point(9, &[3, 8, 3], &[8, 0, 8]),
        point(9, &[], &[]),
        point(3, &many, &many),
        point(0, &[], &[]),
        point(3, &[1, 3], &[0, 0]),
        point(3, &[1, 2], &[0, -1]),
        point(3, &[1, 2], &[0]),
    ];
    insta::assert_snapshot!(after(&[sink_producers, demand, simplify, dce], WANTED, &points));
    // It takes less than all of them.
    let operations = |module: &Module| {
        let mut evaluator = FlatEvaluator::new(Arc::new(module.clone()), Options::default());
        let xs = (0..200).map(|i| f64::from(i).sqrt()).collect();
        let args = vec![FlatValue::reals(xs), FlatValue::ints(vec![7]), FlatValue::ints(vec![150])];
        evaluator.run(args).expect("it runs");
        evaluator.operations()
    };
    let before = parse(WANTED).unwrap();
    let selected = demand(sink_producers(before.clone()));
    assert!(operations(&selected) * 10 < operations(&before));
}

#[test]
fn comprehensions_of_which_all_is_read_stay() {
    let unchanged = |rest: &str| {
        let text = format!(
            "entry main fn main(xs: []Real, is: []Int) -> ([]Real) {{
                n: Int = dim[0](xs)
                k: Int = dim[0](is)
                a: []Real = build i < n {{
                    s: Real = reduce[add] j < n {{
                        x: Real = get(xs, j) y: Real = real.sin(x) z: Real = real.exp(y)
                        u: Real = real.tan(z) v: Real = real.cos(u) w: Real = real.exp(v) yield w }}
                    yield s }}
                {rest}
            }}"
        );
        let point = vec![FlatValue::reals(vec![0.5, 2.0, 1.0]), FlatValue::ints(vec![2, 0])];
        let points = [point];
        after(&[dce], &text, &points) == after(&[sink_producers, demand, dce], &text, &points)
    };
    assert!(!unchanged(
        "b: []Real = build l < k { p: Int = get(is, l) q: Real = get(a, p) yield q } return b"
    ));
    assert!(unchanged("b: []Real = build l < n { q: Real = get(a, l) yield q } return b"));
    assert!(unchanged("return a"));
    assert!(unchanged(
        "b: []Real = build l < k { p: Int = get(is, l) q: Real = get(a, p) yield q }
        c: []Real = build l.2 < k { p.2: Int = get(is, l.2) q.2: Real = get(a, p.2) yield q.2 }
        d: []Real = append(b, c) return d"
    ));
    assert!(unchanged(
        "b: []Real = for l < k with (c = xs) {
        p: Int = get(is, l) q: Real = get(a, p) d: []Real = update(c, l, q) yield d } return b"
    ));
    // The second index is not known before the first element.
    assert!(unchanged(
        "b: []Real = build l < k { p: Int = get(is, l) q: Real = get(a, p)
        f: Bool = lt[Real](q, 0.0) r: Int = select(f, 0, 1) s: Real = get(a, r) yield s } return b"
    ));
}

const LOOKS: &str = "entry main fn main(xs: []Real) -> (Real, []Real, []Real) {
    n: Int = dim[0](xs)
    s: Real = reduce[add] i < n {
        x: Real = get(xs, i)
        y: Real = real.log(x)
        bad: Bool = is_nan(y)
        if bad { fail_nan() } else {}
        z: Real = real.mul(y, y)
        yield z
    }
    a: []Real = build i.2 < n {
        x.2: Real = get(xs, i.2)
        y.2: Real = real.sqrt(x.2)
        bad.2: Bool = is_nan(y.2)
        if bad.2 { fail_nan() } else {}
        yield y.2
    }
    b: []Real = build i.3 < n {
        x.3: Real = get(xs, i.3)
        large: Bool = gt[Real](x.3, 9.0)
        if large { fail_nan() } else {}
        k: Int = floor(x.3)
        y.3: Real = to_real(k)
        bad.3: Bool = is_nan(x.3)
        if bad.3 { fail_nan() } else {}
        yield y.3
    }
    return s, a, b }";

#[test]
fn steps_are_looked_through_for_nan_behind_their_loop() {
    let points: Vec<Vec<FlatValue>> = [
        vec![1.0, 2.0],
        vec![4.0, -1.0],
        vec![],
        vec![9.5],
        vec![f64::NAN, 1e300],
        vec![2.0, 1e300],
    ]
    .map(|xs| vec![FlatValue::reals(xs)])
    .into();
    insta::assert_snapshot!(after(&[defer_checks], LOOKS, &points));
}
