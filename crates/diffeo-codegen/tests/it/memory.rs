//! Programs of Flat, lowered and run on a memory that checks every access and every count: the results are those
//! of Flat's evaluator, nothing is left in the end, and what must not be copied is not.

use crate::support;
use crate::support::values::{check, Costs, Outcome};
use diffeo_array::ir::Module;
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, parse};
use std::sync::Arc;

fn module(text: &str) -> Arc<Module> {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new(), "{text}");
    Arc::new(module)
}

fn run(text: &str, args: &[FlatValue]) -> (Outcome, Costs) {
    check(&module(text), args)
}

/// The results of a function `main` with this head and body.
fn results(head: &str, body: &str, args: &[FlatValue]) -> Vec<String> {
    let text = format!("entry main fn main{head} {{ {body} }}");
    run(&text, args).0.unwrap_or_else(|code| panic!("{code}\n{text}"))
}

fn costs(head: &str, body: &str, args: &[FlatValue]) -> Costs {
    run(&format!("entry main fn main{head} {{ {body} }}"), args).1
}

fn reals(n: usize) -> FlatValue {
    FlatValue::reals((0..n).map(|i| i as f64).collect())
}

#[test]
fn operations_on_reals() {
    let xs = [0.0, -0.0, 1.0, -2.5, 0.5, 1.5, 2.5, -0.5, f64::NAN, f64::INFINITY, -1e300, 4.0];
    for a in xs {
        for b in xs {
            let body = "s: Real = real.add(a, b) d: Real = real.sub(a, b) m: Real = real.mul(a, b)
                q: Real = real.div(a, b) r: Real = real.rem(a, b) n: Real = real.neg(a)
                t: Real = real.abs(a) u: Real = real.sqrt(a) v: Real = real.sign(a)
                w: Real = real.min(a, b) x: Real = real.max(a, b) y: Real = real.pow(a, b)
                p3: Real = pow_int(a, 3) p2: Real = pow_int(a, -2) p0: Real = pow_int(a, 0)
                p99: Real = pow_int(a, 99) e: Real = real.exp(a) h: Real = real.hypot(a, b)
                lt: Bool = lt[Real](a, b) ge: Bool = ge[Real](a, b) ne: Bool = ne[Real](a, b)
                i: Bool = is_nan(a)
                return s, d, m, q, r, n, t, u, v, w, x, y, p3, p2, p0, p99, e, h, lt, ge, ne, i";
            let types = ["Real"; 18].into_iter().chain(["Bool"; 4]).collect::<Vec<_>>().join(", ");
            let head = format!("(a: Real, b: Real) -> ({types})");
            results(&head, body, &[FlatValue::Real(a), FlatValue::Real(b)]);
        }
        for rounding in ["floor", "ceil", "round", "trunc"] {
            let text = format!(
                "entry main fn main(a: Real) -> (Int) {{ n: Int = {rounding}(a) return n }}"
            );
            let _ = run(&text, &[FlatValue::Real(a)]);
            let _ = run(&text, &[FlatValue::Real(a * 1e19)]);
        }
    }
}

#[test]
fn operations_on_ints() {
    let ns = [0, 1, -1, 2, -2, 3, 7, 62, 63, 64, i64::MAX, i64::MIN, i64::MIN + 1, 3_037_000_500];
    let ops = [
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "pow",
        "min",
        "max",
        "bit_and",
        "bit_or",
        "bit_xor",
        "shift_left",
        "shift_right",
        "wrapping_add",
        "wrapping_mul",
    ];
    for op in ops {
        let text = format!(
            "entry main fn main(a: Int, b: Int) -> (Int) {{ n: Int = int.{op}(a, b) return n }}"
        );
        let flat = module(&text);
        for a in ns {
            for b in ns {
                let _ = check(&flat, &[FlatValue::Int(a), FlatValue::Int(b)]);
                let text = format!(
                    "entry main fn main(a: Int) -> (Int) {{ n: Int = int.{op}(a, {b}) return n }}"
                );
                if b.abs() < 65 {
                    let _ = run(&text, &[FlatValue::Int(a)]);
                }
            }
        }
    }
    for op in ["neg", "abs", "sign"] {
        for a in ns {
            let text =
                format!("entry main fn main(a: Int) -> (Int) {{ n: Int = int.{op}(a) return n }}");
            let _ = run(&text, &[FlatValue::Int(a)]);
        }
    }
}

#[test]
fn texts() {
    let body = r#"t: Text = text "a b"
        u: Text = append_text(t, s)
        v: Text = append_text(u, u)
        w: Text = show[Text](v)
        r: Text = show[Real](1.5)
        x: Text = append_text(w, r)
        l: Bool = lt[Text](t, u)
        e: Bool = eq[Text](s, s)
        trace(t, x)
        return x, s, t, l, e"#;
    results("(s: Text) -> (Text, Text, Text, Bool, Bool)", body, &[FlatValue::text("ü\n")]);
}

#[test]
fn views_borrow_and_results_are_kept() {
    let head = "(xs: [][]Real) -> ([]Real, Real, [][]Real)";
    let body = "row: []Real = get(xs, 1)
        part: [][]Real = slice(xs, 1, 3)
        flat: []Real = reshape(part, 6)
        x: Real = get(flat, 4)
        return row, x, part";
    let data = diffeo_array::value::Data::Reals((0..12).map(f64::from).collect::<Vec<_>>().into());
    let xs = diffeo_array::value::FlatArray::new(&[4, 3], data).map(FlatValue::array).unwrap();
    results(head, body, &[xs]);
}

#[test]
fn updates_in_a_loop_allocate_once() {
    let head = "(xs: []Real) -> ([]Real)";
    let body = "n: Int = dim[0](xs)
        ys: []Real = for i < n with (a = xs) {
            x: Real = get(a, i)
            y: Real = real.mul(x, x)
            b: []Real = update(a, i, y)
            yield b
        }
        return ys";
    let found = costs(head, body, &[reals(100)]);
    assert_eq!(found.allocations, 1, "{found:?}");
    assert_eq!(found.copied, 800, "{found:?}");
}

/// What only becomes a row of an array that a loop carries is written there.
#[test]
fn rows_are_made_in_their_place() {
    let head = "(n: Int, a: Real) -> ([][]Real, Real)";
    let program = |between: &str, more: &str, last: &str| {
        format!(
            "z: [][]Real = build i < 1 {{ q: []Real = build j < 3 {{ yield a }} yield q }}
            o: [][]Real = build i < n {{ r: []Real = build j < 3 {{ yield 0.0 }} yield r }}
            m: [][]Real, s: Real = for i < n with (c = o, t = 0.0) {{
                x: []Real = build j < 3 {{ k: Real = to_real(i) e: Real = real.add(k, a) yield e }}
                {between}
                w: [][]Real = update(c, i, x)
                d: Real = get(x, 1)
                u: Real = real.add(t, d)
                {more}
                yield {last}, u
            }}
            return m, s"
        )
    };
    let arguments = |n: i64| [FlatValue::Int(n), FlatValue::Real(0.5)];
    let allocations = |between: &str, more: &str, last: &str| {
        let body = program(between, more, last);
        let (few, many) = (costs(head, &body, &arguments(2)), costs(head, &body, &arguments(12)));
        results(head, &body, &arguments(0));
        many.allocations - few.allocations
    };
    assert_eq!(allocations("", "", "w"), 0);
    // The array is looked at meanwhile; a check stands between; a row is
    // changed again.
    assert_eq!(allocations("y: Real = get(c, i, 0) p: Real = real.add(y, y)", "", "w"), 10);
    assert_eq!(allocations("l: Int = dim[0](x) check_size[\"rows\"](3, l)", "", "w"), 10);
    assert_eq!(
        allocations("", "h: []Real = get(z, 0) v: [][]Real = update(w, 0, h)", "v").min(10),
        10
    );
}

#[test]
fn an_update_of_what_is_used_later_is_a_copy() {
    let head = "(xs: []Real) -> ([]Real, []Real)";
    let body = "a: []Real = append(xs, xs)
        b: []Real = update(a, 0, 7.0)
        c: []Real = update(b, 1, 8.0)
        return a, c";
    let found = costs(head, body, &[reals(10)]);
    assert_eq!(found.allocations, 2, "{found:?}");
}

#[test]
fn swapped_rows_and_views_of_what_is_changed() {
    let head = "(xs: [][]Real) -> ([][]Real)";
    let body = "a: []Real = get(xs, 0)
        b: []Real = get(xs, 1)
        ys: [][]Real = update(xs, 0, b)
        zs: [][]Real = update(ys, 1, a)
        return zs";
    let data = diffeo_array::value::Data::Reals((0..6).map(f64::from).collect::<Vec<_>>().into());
    let xs = diffeo_array::value::FlatArray::new(&[2, 3], data).map(FlatValue::array).unwrap();
    results(head, body, std::slice::from_ref(&xs));
    let body = "a: []Real = reshape(xs, 6)
        b: []Real = slice(a, 2, 5)
        ys: [][]Real = update(xs, 0, b)
        return ys";
    results(head, body, &[xs]);
}

#[test]
fn appending_in_a_loop_is_linear() {
    let head = "(n: Int) -> ([]Real)";
    let body = "e: []Real = empty[Real, 1]()
        ys: []Real = for i < n with (a = e) {
            x: Real = to_real(i)
            one: []Real = elements[Real](x)
            b: []Real = append(a, one)
            yield b
        }
        return ys";
    let found = costs(head, body, &[FlatValue::Int(2000)]);
    assert!(found.copied < 8 * 2000 * 5, "{found:?}");
}

#[test]
fn texts_in_arrays() {
    let head = "(n: Int, s: Text) -> ([]Text, []Text, Text)";
    let body = "check_count(n)
        ts: []Text = build i < n {
            t: Text = show[Int](i)
            u: Text = append_text(s, t)
            yield u
        }
        us: []Text = update(ts, 0, s)
        a: Text = get(us, 1)
        vs: []Text = append(us, us)
        ws: []Text = for j < n with (w = vs) {
            b: Text = get(w, j)
            c: Text = append_text(b, a)
            d: []Text = update(w, j, c)
            yield d
        }
        first: Text = get(ws, 0)
        p: []Int = arg_sort(ws)
        x: Int = get(p, 0)
        es: []Text = elements[Text](first, a, a)
        return ws, es, first";
    let text = results(head, body, &[FlatValue::Int(5), FlatValue::text("x")]);
    assert!(text[2].contains('x'));
}

const LIST: &str = "entry main box List { Nil, Cons(Int, &List) }";

#[test]
fn lists() {
    let text = format!(
        "{LIST}
        fn main(n: Int) -> (Int, Int, &List) {{
            l: &List = call upto(0, n)
            s: Int = call sum(l)
            m: &List = call double(l)
            t: Int = call walk(m)
            k: &List = call double(m)
            return s, t, k
        }}
        fn upto(i: Int, n: Int) -> (&List) {{
            done: Bool = ge[Int](i, n)
            r: &List = if done {{
                e: &List = new List:Nil()
                yield e
            }} else {{
                j: Int = int.add(i, 1)
                rest: &List = call upto(j, n)
                c: &List = new List:Cons(i, rest)
                yield c
            }}
            return r
        }}
        fn sum(l: &List) -> (Int) {{
            t: Int = tag(l)
            r: Int = switch t {{
                0 {{ yield 0 }}
                1 {{
                    x: Int = field[1, 0](l)
                    rest: &List = field[1, 1](l)
                    s: Int = call sum(rest)
                    u: Int = int.add(x, s)
                    yield u
                }}
            }}
            return r
        }}
        fn double(l: &List) -> (&List) {{
            t: Int = tag(l)
            r: &List = switch t {{
                0 {{ yield l }}
                else {{
                    x: Int = field[1, 0](l)
                    y: Int = int.mul(x, 2)
                    rest: &List = field[1, 1](l)
                    m: &List = call double(rest)
                    c: &List = new List:Cons(y, m)
                    yield c
                }}
            }}
            return r
        }}
        fn walk(l: &List) -> (Int) {{
            r: Int, e: &List = while (s = 0, m = l) {{
                t: Int = tag(m)
                go: Bool = eq[Int](t, 1)
                yield go
            }} do {{
                x: Int = field[1, 0](m)
                rest: &List = field[1, 1](m)
                s2: Int = int.add(s, x)
                yield s2, rest
            }}
            return r
        }}"
    );
    let (outcome, costs) = run(&text, &[FlatValue::Int(50)]);
    assert_eq!(outcome.unwrap()[..2], ["1225".to_string(), "2450".to_string()]);
    assert_eq!(costs.allocations, 150, "{costs:?}");
    // Walking counts nothing.
    let low = support::values::lowered(&module(&text));
    for name in ["sum", "walk"] {
        let function = low.functions.iter().find(|f| f.name.starts_with(name)).unwrap();
        let text = diffeo_codegen::low::print::print_function(&low, function);
        assert!(!text.contains("retain") && !text.contains("release"), "{text}");
    }
}

#[test]
fn nested_builds_allocate_once() {
    let head = "(n: Int, m: Int) -> ([][]Real, [][][]Int)";
    let body = "check_count(n)
        xs: [][]Real = build i < n {
            check_count(m)
            row: []Real = build j < m {
                k: Int = int.add(i, j)
                x: Real = to_real(k)
                yield x
            }
            yield row
        }
        ys: [][][]Int = build p < n {
            check_count(m)
            plane: [][]Int = build q < m {
                e: []Int = elements[Int](p, q, 7)
                yield e
            }
            yield plane
        }
        return xs, ys";
    for (n, m) in [(3, 4), (0, 4), (4, 0), (1, 1)] {
        let found = costs(head, body, &[FlatValue::Int(n), FlatValue::Int(m)]);
        assert_eq!((found.allocations, found.copied), (2, 0), "{found:?}");
    }
    for (n, m) in [(2, -1), (0, -1), (-1, 2), (1, 1 << 40)] {
        let _ = run(
            &format!("entry main fn main{head} {{ {body} }}"),
            &[FlatValue::Int(n), FlatValue::Int(m)],
        );
    }
}

#[test]
fn rows_of_sizes_that_only_a_step_knows() {
    let head = "(n: Int, k: Int) -> ([][]Real, [][]Real)";
    let body = "check_count(n)
        xs: [][]Real, ys: [][]Real = build i < n {
            over: Bool = gt[Int](i, k)
            m: Int = select(over, 3, 2)
            row: []Real = build j < m {
                x: Real = to_real(i)
                yield x
            }
            two: []Real = append(row, row)
            yield row, two
        }
        return xs, ys";
    for (n, k) in [(3, 9), (3, 1), (3, -1), (0, 0), (1, 0), (2, 0)] {
        let _ = run(
            &format!("entry main fn main{head} {{ {body} }}"),
            &[FlatValue::Int(n), FlatValue::Int(k)],
        );
    }
}

#[test]
fn rows_without_rows_fit_everything() {
    let head = "(n: Int, k: Int) -> ([][][]Real, [][][]Real, Int, Int)";
    let body = "check_count(n)
        xs: [][][]Real = build i < n {
            first: Bool = lt[Int](i, k)
            row: [][]Real = if first {
                e: [][]Real = empty[Real, 2]()
                yield e
            } else {
                z: []Real = empty[Real, 1]()
                r: [][]Real = reshape(z, 0, 5)
                yield r
            }
            yield row
        }
        e2: [][]Real = empty[Real, 2]()
        z2: []Real = empty[Real, 1]()
        r2: [][]Real = reshape(z2, 0, 5)
        ys: [][][]Real = rows(e2, r2, e2)
        d: Int = dim[2](xs)
        f: [][]Real = append(e2, r2)
        g: Int = dim[1](f)
        return xs, ys, d, g";
    for (n, k) in [(3, 1), (3, 0), (0, 0), (3, 3)] {
        let _ = run(
            &format!("entry main fn main{head} {{ {body} }}"),
            &[FlatValue::Int(n), FlatValue::Int(k)],
        );
    }
}

#[test]
fn reductions() {
    let head = "(xs: []Real) -> (Real, Real, Real)";
    let body = "n: Int = dim[0](xs)
        s: Real, a: Real, b: Real = reduce[add, max, min] i < n {
            x: Real = get(xs, i)
            y: Real = real.mul(x, x)
            yield y, x, x
        }
        return s, a, b";
    results(head, body, &[reals(10)]);
    results(head, body, &[reals(0)]);
    results(head, body, &[FlatValue::reals(vec![1.0, f64::NAN, 2.0])]);
}

#[test]
fn errors() {
    let index = "entry main fn main(xs: []Real, i: Int) -> (Real) {
        n: Int = dim[0](xs) check_index(i, n) x: Real = get(xs, i) return x }";
    for i in [-1, 0, 2, 3] {
        let _ = run(index, &[reals(3), FlatValue::Int(i)]);
    }
    let slice = "entry main fn main(xs: []Real, i: Int, j: Int) -> ([]Real) {
        n: Int = dim[0](xs) check_slice(i, j, n) x: []Real = slice(xs, i, j) return x }";
    for i in -1..=4 {
        for j in -1..=4 {
            let _ = run(slice, &[reals(3), FlatValue::Int(i), FlatValue::Int(j)]);
        }
    }
    let fail = r#"entry main fn main(xs: []Real, c: Bool) -> ([]Real) {
        r: []Real = if c { t: Text = text "no" z: []Real = fail(t) yield z } else { yield xs }
        check_size["n"](1, 1)
        return r }"#;
    for c in [true, false] {
        let _ = run(fail, &[reals(3), FlatValue::Bool(c)]);
    }
    let rest = r#"entry main fn main(c: Bool) -> (Int) {
        r: Int = if c { t: Text = text "a" z: Int = fail(t) yield z } else {
            u: Text = text "b" y: Int = fail_shape["f"](u) yield y }
        s: Int = int.add(r, 1)
        return s }"#;
    for c in [true, false] {
        let _ = run(rest, &[FlatValue::Bool(c)]);
    }
}

#[test]
fn constants() {
    let text = r#"entry main constant table = table constant name = name constant a = a constant b = b
        fn main(c: Bool, n: Int) -> (Real, Text, []Real) {
            t: []Real = constant table
            x: Real = get(t, 3)
            s: Text = for i < n with (s0 = _[Text]) {
                u: Text = constant name
                v: Text = append_text(u, u)
                yield u
            }
            q: []Real = update(t, 0, 9.0)
            w: []Real = constant table
            if c { z: Int = constant a }  else { }
            return x, s, w
        }
        fn table() -> ([]Real) { t: []Real = build i < 10 { x: Real = to_real(i) yield x } return t }
        fn name() -> (Text) { n: Text = text "n" t: Text = append_text(n, n) return t }
        fn a() -> (Int) { x: Int = constant b return x }
        fn b() -> (Int) { x: Int = constant a return x }"#;
    for (c, n) in [(false, 3), (true, 3), (false, 1)] {
        let _ = run(text, &[FlatValue::Bool(c), FlatValue::Int(n)]);
    }
}

#[test]
fn boxes_with_arrays() {
    let text = "entry main box S { S([]Real, Int, Text), E }
        fn main(xs: []Real, t: Text, n: Int) -> (&S, &S) {
            s: &S = new S:S(xs, 0, t)
            u: &S = for i < n with (s2 = s) {
                a: []Real = field[0, 0](s2)
                k: Int = field[0, 1](s2)
                t2: Text = field[0, 2](s2)
                b: []Real = update(a, i, 5.0)
                j: Int = int.add(k, 1)
                v: &S = new S:S(b, j, t2)
                yield v
            }
            e: &S = new S:E()
            return u, e
        }";
    let (_, costs) = run(text, &[reals(30), FlatValue::text("t"), FlatValue::Int(30)]);
    // One copy of the array; a box for each step.
    assert_eq!(costs.copied, 240, "{costs:?}");
    assert_eq!(costs.allocations, 32, "{costs:?}");
}

#[test]
fn what_is_chosen_is_borrowed_or_kept() {
    let text = "entry main box T { L, N(&T, Int, &T) }
        fn main(n: Int) -> (Int, &T) {
            l: &T = new T:L()
            t: &T = for i < n with (s = l) {
                m: Int = int.mul(i, 37)
                k: Int = int.rem(m, 101)
                u: &T = call insert(s, k)
                yield u
            }
            d: Int = call depth(t, 17)
            return d, t
        }
        fn insert(t: &T, k: Int) -> (&T) {
            g: Int = tag(t)
            r: &T = switch g {
                0 { leaf: &T = new T:N(t, k, t) yield leaf }
                1 {
                    l: &T = field[1, 0](t)
                    x: Int = field[1, 1](t)
                    right: &T = field[1, 2](t)
                    less: Bool = lt[Int](k, x)
                    n: &T = if less {
                        m: &T = call insert(l, k)
                        n1: &T = new T:N(m, x, right)
                        yield n1
                    } else {
                        m2: &T = call insert(right, k)
                        n2: &T = new T:N(l, x, m2)
                        yield n2
                    }
                    yield n
                }
            }
            return r
        }
        fn depth(t: &T, k: Int) -> (Int) {
            e: &T, depth: Int = while (u = t, d = 0) {
                g: Int = tag(u)
                go: Bool = eq[Int](g, 1)
                yield go
            } do {
                x: Int = field[1, 1](u)
                less: Bool = lt[Int](k, x)
                v: &T = if less {
                    l: &T = field[1, 0](u)
                    yield l
                } else {
                    r: &T = field[1, 2](u)
                    yield r
                }
                d2: Int = int.add(d, 1)
                yield v, d2
            }
            return depth
        }";
    let _ = run(text, &[FlatValue::Int(60)]);
    let low = support::values::lowered(&module(text));
    let depth = low.functions.iter().find(|f| f.name.starts_with("depth")).unwrap();
    let text = diffeo_codegen::low::print::print_function(&low, depth);
    assert!(!text.contains("retain") && !text.contains("release"), "{text}");
}

#[test]
fn accumulators_and_stacks() {
    let body = "n: Int = dim[0](xs)
        a: Acc[2] = acc_new(n, 3)
        z: Acc[0] = acc_new()
        for i < n {
            v: Acc[1] = acc_view(a, i)
            x: Real = get(xs, i)
            acc_add(v, 1, x)
            acc_add(a, i, 2, 1.0)
            acc_add(z, x)
        }
        s: Acc[2] = acc_slice(a, 0, 1)
        t: Real = acc_take(s, 0, 2)
        f: Acc[1] = acc_reshape(a, 6)
        ys: []Real = acc_get(f)
        acc_add_array(f, ys)
        zs: [][]Real = acc_get(a)
        zz: Real = acc_get(z)
        r: Real = acc_read(a, 1, 2)
        st: Stack[Real, Text] = stack_new[Real, Text]()
        for j < n {
            y: Real = get(xs, j)
            ty: Text = show[Real](y)
            push(st, y, ty)
        }
        len: Int = stack_len(st)
        sx: Real, tt: Text = stack_get(st, 1)
        return ys, zs, zz, r, t, len, sx, tt";
    let head = "(xs: []Real) -> ([]Real, [][]Real, Real, Real, Real, Int, Real, Text)";
    results(head, body, &[reals(2)]);
}

#[test]
fn what_is_not_used_is_given_up() {
    let head = "(xs: []Real, c: Bool) -> ([]Real)";
    let body = "a: []Real = append(xs, xs)
        b: []Real = append(a, xs)
        r: []Real = if c {
            u: []Real = update(a, 0, 1.0)
            yield u
        } else {
            yield xs
        }
        w: []Real = while (w0 = r) { yield false } do { yield xs }
        return w";
    for c in [true, false] {
        results(head, body, &[reals(3), FlatValue::Bool(c)]);
    }
}

#[test]
fn deep_nesting_and_many_functions() {
    // Choices within choices.
    let depth = 20_000;
    let mut text = "entry main fn main(xs: []Real, n: Int) -> ([]Real) { ".to_string();
    for i in 0..depth {
        text +=
            &format!("c{i}: Bool = lt[Int](n, {i}) r{i}: []Real = if c{i} {{ yield xs }} else {{ ");
    }
    text += "z: []Real = update(xs, 0, 5.0) yield z ";
    for i in (0..depth).rev() {
        let inner = if i == depth - 1 { "".to_string() } else { format!("yield r{} ", i + 1) };
        text += &format!("{inner}}} ");
    }
    text += "return r0 }";
    let flat = module(&text);
    let low = support::values::lowered(&flat);
    assert!(diffeo_codegen::low::print::print(&low).len() > depth);
    drop(low);
    // Nobody drops Flat that deep.
    std::mem::forget(flat);

    let count = 10_000;
    let mut text = "entry f0 ".to_string();
    for i in 0..count {
        let next = (i + 1).min(count - 1);
        text += &format!(
            "fn f{i}(xs: []Real, n: Int) -> ([]Real) {{
                m: Int = int.add(n, 1)
                a: []Real = update(xs, 0, 1.0)
                z: Bool = gt[Int](n, {count})
                b: []Real = if z {{ yield a }} else {{ c: []Real = call f{next}(a, m) yield c }}
                return b
            }} "
        );
    }
    let (outcome, costs) = run(&text, &[reals(3), FlatValue::Int(0)]);
    assert!(outcome.is_ok());
    assert_eq!(costs.allocations, 1, "{costs:?}");
}
