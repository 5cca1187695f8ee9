//! Flat as text: what it looks like, and what is wrong with what is no module.

use diffeo_array::{lint, parse, print, print_plain};

/// A module with everything that has a form of its own.
const FORMS: &str = r#"entry main
box List.0 { Nil, Cons(Real, &List.0) }
box List.1 { Nil, Nil([][]Real, &List.0), `a b` }
constant pi.0 = `init[Real]`
constant pi.1 = `init[Real]`
fn main(x: Real, `if`: Bool, xs: []Real, i: Int) -> (Real, Real, &List.1) at 0:3-7 {
  n: Int = dim[0](xs) @1
  a: Int, b: Real = if `if` @2 { yield 1, -0.0 } else { c: Int = int.add(i, -3) @3 yield c, inf }
  t: Text = text "a \"text\"\n" @1
  s: Real = switch i @2 { -1 { yield 1.0e-300 } 2 { yield nan } else {
    y: Real = fail(t) @3
    yield y
  } }
  l: &List.1 = new List.1:Nil.1(_[[][]Real], _[&List.0]) @4
  check_size["a \"quoted\" size"](n, 3) @4
  p: Real, q: Int = for i < n with (best = s, k = 0) @5 {
    z: Real = get(xs, i) @1
    %1: Real = real.polygamma[2](z) @1
    yield %1, k
  }
  w: Int = while (k = q) @1 { g: Bool = gt[Int](k, 0) @1 yield g } do { h: Int = fits.sub(k, 1) @2 yield h }
  long: []Real = elements[Real](x, s, p, x, s, p, x, s, p, x, s, p, x, s, p, x, s, p, x, s, p, x, s, p, x, s) @1
  v: Real = reduce[add] j < w @2 { u: Real = get(long, j) @1 yield u }
  e: [][]Bool = build j < w @3 { d: []Bool = empty[Bool, 1]() @3 yield d }
  m: Real, o: Acc[1] = call `f[Real]'s`() @5
  acc_add(o, 0, v) @1
  r: Real = constant pi.1 @2
  stack: Stack[Real, &List.0] = stack_new[Real, &List.0]() @1
  return m, r, l
}
fn `f[Real]'s`() -> (Real, Acc[1]) shown f library at 1:0-1 {
  x: Acc[1] = acc_new(3) @3
  return 0.0, x
}
fn `init[Real]`() -> (Real) { return 3.0 }
library 1, 7
site 0 = none
site 1 = 0:10-11
site 2 = 1:20-21 in `f[Real]` at 1
site 3 = 1:20-21 in f library at 2
site 4 = none in fn at 0
site 5 = 0:30-31
"#;

#[test]
fn every_form_is_printed_as_it_is_read() {
    let module = parse(FORMS).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lint(&module), Vec::<String>::new());
    let text = print(&module);
    insta::assert_snapshot!(text);
    assert_eq!(print(&parse(&text).unwrap()), text);
    insta::assert_snapshot!(print_plain(&module));
}

#[test]
fn errors_say_where_they_are() {
    let errors: Vec<String> = [
        "",
        "entry main",
        "entry main fn f() -> () { }",
        "entry main fn main() -> () { x }",
        "entry main fn main() -> () { x: Real = real.nothing(1.0) }",
        "entry main fn main() -> () { x: Real = real.add(1.0, y) }",
        "entry main\nfn main() -> () {\n  x: Real = pow_int(1.0)\n}",
        "entry main fn main() -> () { x: Nat = dim[0](1) }",
        "entry main fn main() -> () { x: &List = tag(1) }",
        "entry main fn main() -> () { x: Text = text \"a\\q\" }",
        "entry main fn main() -> () { x: Text = text \"a }",
        "entry main fn main() -> () { if true { } }",
        "entry main fn main() -> () { x: Int = int.add(99999999999999999999, 1) }",
        "entry main fn main() -> () { } site 1 = none",
        "entry main fn main() -> () { } fn main() -> () { }",
        "entry main box A { B } fn main() -> () { x: &A = new A:C() }",
        "entry main fn main() -> () { } %",
        "entry main fn main() -> () { } é",
    ]
    .iter()
    .map(|text| parse(text).expect_err(text).to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn nesting_is_not_bounded_by_the_stack() {
    let depth = 20_000;
    let text = format!(
        "entry main fn main() -> () {{ {} {} }}",
        "if true { ".repeat(depth),
        "} else { }".repeat(depth)
    );
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            let module = parse(&text).unwrap();
            assert_eq!(lint(&module), Vec::<String>::new());
            let mut copy = parse(&print(&module)).unwrap();
            copy.functions.iter_mut().for_each(diffeo_array::compact::compact);
            let module = std::sync::Arc::new(module);
            let mut evaluator =
                diffeo_array::FlatEvaluator::new(module.clone(), Default::default());
            assert_eq!(evaluator.run(Vec::new()).unwrap(), []);
            drop(evaluator);
            assert!(parse(&text[..text.len() - 20]).is_err());
        })
        .unwrap()
        .join()
        .unwrap();
}
