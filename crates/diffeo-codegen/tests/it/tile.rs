//! Loops that are done part by part: which are, and that they give what they gave.

use crate::support::values::{check, lowered};
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, parse};
use diffeo_codegen::low::{LowModule, Operand, Stmt};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

/// How many loops there are around several loops in a row.
fn tiled(low: &LowModule) -> usize {
    let mut found = 0;
    let mut todo: Vec<&[Stmt]> = low.functions.iter().map(|f| &f.body[..]).collect();
    while let Some(stmts) = todo.pop() {
        for stmt in stmts {
            if let Stmt::For(step) = stmt {
                let is_part = |stmt: &&Stmt| matches!(stmt, Stmt::For(part) if matches!(part.from, Operand::Reg(_)));
                found += usize::from(step.body.iter().filter(is_part).count() > 1);
            }
            todo.extend(stmt.blocks());
        }
    }
    found
}

/// Runs a program on arrays around the size of a part and gives how many loops are done part by part.
fn run(text: &str) -> usize {
    let module = Arc::new(parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
    assert_eq!(lint(&module), Vec::<String>::new(), "{text}");
    for n in [0, 1, 2, 255, 256, 257, 700] {
        let xs = (0..n).map(|i| f64::from(i % 17) - 3.5).collect();
        let (outcome, _) = check(&module, &[FlatValue::reals(xs)]);
        assert!(outcome.is_ok(), "{outcome:?}\n{text}");
    }
    tiled(&lowered(&module))
}

/// An array, and one that is made of it by an expression `e` that may refer to `i`, `n`, `x` and `a`.
fn two(expression: &str, behind: &str) -> usize {
    run(&format!(
        "entry main fn main(x: []Real) -> ([]Real) {{
            n: Int = dim[0](x)
            a: []Real = build k < n {{ p: Real = get(x, k) q: Real = real.sqrt(p) yield q }}
            {behind}
            b: []Real = build i < n {{ {expression} yield e }}
            return b
        }}"
    ))
}

#[test]
fn elements_that_are_there() {
    assert_eq!(two("e: Real = get(a, i)", ""), 1);
    let before = "f: Bool = eq[Int](i, 0)
        e: Real = if f { t: Real = get(a, 0) yield t } else {
            j: Int = fits.add(i, -1) s: Real = get(a, j) t: Real = real.neg(s) yield t }";
    assert_eq!(two(before, ""), 1);
    // Makes room for an array, which changes nothing.
    assert_eq!(two("e: Real = get(a, i)", "m: Int = fits.mul(n, 3)"), 1);
}

#[test]
fn elements_that_are_not_there_yet() {
    let after = "j: Int = fits.add(i, 1) f: Bool = lt[Int](j, n)
        e: Real = if f { t: Real = get(a, j) yield t } else { yield 0.0 }";
    assert_eq!(two(after, ""), 0);
    let backwards = "l: Int = fits.sub(n, i) j: Int = fits.add(l, -1) e: Real = get(a, j)";
    assert_eq!(two(backwards, ""), 0);
    let far = "f: Bool = lt[Int](300, n)
        e: Real = if f { t: Real = get(a, 300) yield t } else { yield 0.0 }";
    assert_eq!(two(far, ""), 0);
    let by_number = "r: Real = get(x, i) s: Real = real.abs(r) j: Int = trunc(s)
        f: Bool = lt[Int](j, n) e: Real = if f { t: Real = get(a, j) yield t } else { yield 0.0 }";
    assert_eq!(two(by_number, ""), 0);
}

#[test]
fn arrays_that_something_else_refers_to() {
    let view = "l: Int = int.min(1, n) v: []Real = slice(a, l, n) m: Int = dim[0](v)";
    let element = "f: Bool = lt[Int](i, m)
        e: Real = if f { t: Real = get(v, i) yield t } else { yield 0.0 }";
    assert_eq!(two(element, view), 0);
    let sum = "s: Real = reduce[add] k.2 < n { t: Real = get(a, k.2) yield t }";
    assert_eq!(two("t: Real = get(a, i) e: Real = real.sub(t, s)", sum), 0);
    // Another number of elements.
    let fewer = "m: Int = fits.div(n, 2)
        c: []Real = build k.2 < m { t: Real = get(a, k.2) yield t }";
    assert_eq!(two("e: Real = get(a, i)", fewer), 0);
}

#[test]
fn in_the_steps_of_a_loop() {
    let text = "entry main fn main(x: []Real) -> ([]Real) {
        n: Int = dim[0](x)
        z: []Real = for s < 3 with (y = x) {
            a: []Real = build i < n { t: Real = get(y, i) u: Real = real.sin(t) yield u }
            b: []Real = build j < n {
                f: Bool = eq[Int](j, 0)
                e: Real = if f { yield 1.0 } else {
                    l: Int = fits.add(j, -1) p: Real = get(a, l) q: Real = get(y, j)
                    r: Real = real.mul(p, q) yield r }
                g: Real = get(a, j)
                h: Real = real.add(e, g)
                yield h
            }
            yield b
        }
        return z
    }";
    assert_eq!(run(text), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Arrays that are each made of elements of two of those before, above, at and below their index.
    #[test]
    fn chains_by_chance(stages in prop::collection::vec((0..9usize, -2..2i64, 0..9usize, -1..1i64), 2..6)) {
        let mut text = "entry main fn main(x0: []Real) -> ([]Real) { n: Int = dim[0](x0)\n".to_string();
        let read = |text: &mut String, name: &str, array: usize, shift: i64, k: usize| {
            let v = format!("{name}{k}");
            write!(text, "{v}j: Int = fits.add(i{k}, {shift}) {v}l: Bool = le[Int](0, {v}j)
                {v}m: Bool = lt[Int]({v}j, n) {v}f: Bool = and({v}l, {v}m)
                {v}: Real = if {v}f {{ {v}g: Real = get(x{array}, {v}j) yield {v}g }}
                    else {{ yield 0.5 }}\n").unwrap();
        };
        for (k, (a, up, b, down)) in stages.iter().enumerate() {
            let k = k + 1;
            writeln!(text, "x{k}: []Real = build i{k} < n {{").unwrap();
            read(&mut text, "a", a % k, *up, k);
            read(&mut text, "b", k - 1 - b % k, *down, k);
            writeln!(text, "s{k}: Real = real.sub(a{k}, b{k}) yield s{k} }}").unwrap();
        }
        writeln!(text, "return x{} }}", stages.len()).unwrap();
        run(&text);
    }
}
