//! The Low of typical functions, to be read: where references are counted, what is allocated, which loops are
//! independent.

use crate::support::values::lowered;
use diffeo_array::{lint, parse};
use diffeo_codegen::low::print::print;
use std::sync::Arc;

/// The Low of a module, with the text of Flat before it.
fn low(text: &str) -> String {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new());
    let module = Arc::new(module);
    let flat = diffeo_array::print::print_plain(&module);
    format!("{flat}\n---\n\n{}", print(&lowered(&module)))
}

fn main(head: &str, body: &str) -> String {
    low(&format!("entry main fn main{head} {{ {body} }}"))
}

#[test]
fn dot() {
    insta::assert_snapshot!(main(
        "(xs: []Real, ys: []Real) -> (Real)",
        r#"n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        check_size["n"](n, m)
        s: Real = reduce[add] i < n {
            x: Real = get(xs, i)
            y: Real = get(ys, i)
            p: Real = real.mul(x, y)
            yield p
        }
        return s"#
    ));
}

#[test]
fn outer_product() {
    insta::assert_snapshot!(main(
        "(xs: []Real, ys: []Real) -> ([][]Real)",
        "n: Int = dim[0](xs)
        m: Int = dim[0](ys)
        a: [][]Real = build i < n {
            x: Real = get(xs, i)
            row: []Real = build j < m {
                y: Real = get(ys, j)
                p: Real = real.mul(x, y)
                yield p
            }
            yield row
        }
        return a"
    ));
}

#[test]
fn rows_decided_by_the_first_step() {
    insta::assert_snapshot!(main(
        "(xs: [][]Real, n: Int) -> ([][]Real)",
        "check_count(n)
        a: [][]Real = build i < n {
            row: []Real = get(xs, 0)
            one: []Real = slice(row, 0, 1)
            two: []Real = append(row, one)
            yield two
        }
        return a"
    ));
}

#[test]
fn update_in_a_loop() {
    insta::assert_snapshot!(main(
        "(xs: []Real) -> ([]Real)",
        "n: Int = dim[0](xs)
        ys: []Real = for i < n with (a = xs) {
            x: Real = get(a, i)
            y: Real = real.sin(x)
            b: []Real = update(a, i, y)
            yield b
        }
        return ys"
    ));
}

#[test]
fn append_in_a_loop() {
    insta::assert_snapshot!(main(
        "(n: Int) -> ([]Int)",
        "e: []Int = empty[Int, 1]()
        ys: []Int = for i < n with (a = e) {
            one: []Int = elements[Int](i)
            b: []Int = append(a, one)
            yield b
        }
        return ys"
    ));
}

#[test]
fn update_of_what_may_be_shared() {
    insta::assert_snapshot!(main(
        "(xs: []Real, c: Bool) -> ([]Real, Real)",
        "ys: []Real = if c {
            a: []Real = update(xs, 0, 1.0)
            yield a
        } else {
            yield xs
        }
        x: Real = get(ys, 1)
        return ys, x"
    ));
}

#[test]
fn fibonacci() {
    insta::assert_snapshot!(main(
        "(n: Int) -> (Int)",
        "small: Bool = lt[Int](n, 2)
        r: Int = if small {
            yield n
        } else {
            a: Int = int.sub(n, 1)
            x: Int = call main(a)
            b: Int = int.sub(n, 2)
            y: Int = call main(b)
            s: Int = int.add(x, y)
            yield s
        }
        return r"
    ));
}

#[test]
fn walk_along_a_list() {
    insta::assert_snapshot!(low("entry main box List { Nil, Cons(Real, &List) }
        fn main(l: &List) -> (Real) {
            s: Real, e: &List = while (t = 0.0, m = l) {
                k: Int = tag(m)
                go: Bool = eq[Int](k, 1)
                yield go
            } do {
                x: Real = field[1, 0](m)
                rest: &List = field[1, 1](m)
                u: Real = real.add(t, x)
                yield u, rest
            }
            return s
        }"));
}

#[test]
fn map_over_a_list() {
    insta::assert_snapshot!(low("entry main box List { Nil, Cons(Real, &List) }
        fn main(l: &List) -> (&List) {
            k: Int = tag(l)
            r: &List = switch k {
                0 {
                    nil: &List = new List:Nil()
                    yield nil
                }
                1 {
                    x: Real = field[1, 0](l)
                    rest: &List = field[1, 1](l)
                    y: Real = real.mul(x, 2.0)
                    m: &List = call main(rest)
                    c: &List = new List:Cons(y, m)
                    yield c
                }
            }
            return r
        }"));
}

#[test]
fn state_in_a_box() {
    insta::assert_snapshot!(low("entry main box S { S([]Real, Int) }
        fn main(s: &S, n: Int) -> (&S) {
            r: &S = for i < n with (t = s) {
                a: []Real = field[0, 0](t)
                k: Int = field[0, 1](t)
                b: []Real = update(a, k, 1.0)
                u: &S = new S:S(b, i)
                yield u
            }
            return r
        }"));
}

#[test]
fn constant() {
    insta::assert_snapshot!(low("entry main constant table = table
        fn main(i: Int) -> (Real) {
            t: []Real = constant table
            n: Int = dim[0](t)
            check_index(i, n)
            x: Real = get(t, i)
            return x
        }
        fn table() -> ([]Real) {
            t: []Real = build i < 100 {
                x: Real = to_real(i)
                y: Real = real.sqrt(x)
                yield y
            }
            return t
        }"));
}

#[test]
fn accumulator_and_stack() {
    insta::assert_snapshot!(main(
        "(xs: []Real) -> ([]Real)",
        "n: Int = dim[0](xs)
        a: Acc[1] = acc_new(n)
        s: Stack[Real] = stack_new[Real]()
        for i < n {
            x: Real = get(xs, i)
            push(s, x)
        }
        for j < n {
            y: Real = stack_get(s, j)
            acc_add(a, j, y)
        }
        r: []Real = acc_get(a)
        return r"
    ));
}

#[test]
fn accumulators_at_the_index_of_a_loop() {
    let independent = |body: &str| {
        let text = main(
            "(xs: []Real, k: Int) -> ([]Real)",
            &format!(
                "n: Int = dim[0](xs)
                a: Acc[1] = acc_new(n)
                b: Acc[1] = acc_new(n)
                v: Acc[1] = acc_slice(a, 0, n)
                for i < n {{ x: Real = get(xs, i) {body} }}
                ys: []Real = acc_get(a)
                return ys"
            ),
        );
        text.contains(" independent")
    };
    assert!(independent("acc_add(a, i, x) acc_add(a, i, x)"));
    assert!(independent("acc_add(a, i, x) y: Real = acc_take(b, i) acc_add(b, i, x)"));
    assert!(independent("y: Real = acc_read(b, k) acc_add(a, i, y)"));
    // Steps that touch what others touch, or may.
    assert!(!independent("acc_add(a, k, x)"));
    assert!(!independent("acc_add(a, i, x) acc_add(v, i, x)"));
    assert!(!independent("acc_add(a, i, x) y: Real = acc_read(a, k) acc_add(b, i, y)"));
    assert!(!independent("acc_add(a, i, x) y: Real = acc_read(v, i) acc_add(b, i, y)"));
}
