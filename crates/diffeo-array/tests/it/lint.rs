//! What is wrong with modules, in words.

use diffeo_array::{lint, parse};

/// The violations of a module.
fn violations(text: &str) -> Vec<String> {
    lint(&parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")))
}

/// The violations of the statements of a function.
fn of_body(body: &str) -> String {
    let text = format!(
        "entry main
        box List {{ Nil, Cons(Real, &List) }}
        fn main(x: Real, n: Int, p: Bool, t: Text, a: []Real, b: [][]Int, l: &List) -> () {{ {body} }}
        fn f(x: Real, s: Stack[Int]) -> (Int) {{ return 1 }}"
    );
    let found = violations(&text);
    assert!(!found.is_empty(), "{body}");
    found.join("\n")
}

#[test]
fn every_operation_wants_operands_of_its_types() {
    let bodies = [
        "y: Real = real.add(x)",
        "y: Real = real.add(x, n)",
        "y: Real = pow_int(x, x)",
        "y: Int = int.neg(n, n)",
        "y: Int = fits.add(n, x)",
        "y: Bool = eq[Text](t, n)",
        "y: Bool = lt[Bool](p, p)",
        "y: Bool = not(n)",
        "y: Bool = and(p, n)",
        "y: Text = select(p, t, t)",
        "y: Real = select(p, x, n)",
        "y: Real = to_real(x)",
        "y: Int = floor(n)",
        "y: Bool = is_nan(n)",
        "y: Text = append_text(t, n)",
        "y: Text = show[Real](n)",
        "check_index(n, x)",
        "check_slice(n, n, p)",
        "check_count(x)",
        "y: Real = fail(n)",
        "trace(t, x)",
        "progress(t, n, n)",
        "warn(t, t, t, t)",
        "y: Int = dim[1](a)",
        "y: Int = dim[0](n)",
        "y: Real = get(a)",
        "y: Real = get(a, n, n)",
        "y: []Real = slice(a, n, x)",
        "y: []Real = update(a, n, n)",
        "y: [][]Int = update(b, n, a)",
        "y: []Real = elements[Real](x, n)",
        "y: [][]Real = rows()",
        "y: [][]Real = rows(a, b)",
        "y: Real = empty[Real, 0]()",
        "y: []Real = append(a, b)",
        "y: []Real = reshape(a)",
        "y: []Int = arg_sort(b)",
        "y: &List = new List:Cons(x)",
        "y: Int = tag(a)",
        "y: Real = field[0, 0](l)",
        "y: Real = field[2, 0](l)",
        "if n { } else { }",
        "y: Int = if p { yield 1 } else { yield 1.0 }",
        "y: Int = if p { yield 1, 2 } else { yield 1, 2 }",
        "switch n { 1 { } 0 { } }",
        "switch n { }",
        "for i < x { }",
        "y: Int = for i < n with (k = 0) { yield 1.0 }",
        "y: Int = for i < n with (k = 0) { }",
        "while () { yield 1 } do { }",
        "y: []Int = build i < n { yield a }",
        "y: []Int = build i < n { s: Stack[] = stack_new[]() yield s }",
        "y: Real = reduce[add] i < n { yield i }",
        "y: Real = reduce[add, max] i < n { yield x }",
        "y: Real = call f(x, x)",
        "c: Acc[1] = acc_new(x)",
        "c: Acc[1] = acc_new(n) acc_add(c, x)",
        "c: Acc[1] = acc_new(n) acc_add_array(c, x)",
        "c: Acc[1] = acc_new(n) y: Real = acc_read(c)",
        "c: Acc[1] = acc_new(n) d: Acc[1] = acc_view(c, n, n)",
        "c: Acc[0] = acc_new() d: Acc[0] = acc_slice(c, n, n)",
        "c: Acc[0] = acc_new() y: []Real = acc_get(c)",
        "s: Stack[Int] = stack_new[Int]() push(s, x)",
        "s: Stack[Int] = stack_new[Int]() y: Real = stack_get(s, n)",
        "y: Int = stack_len(a)",
    ];
    let found: Vec<String> = bodies.iter().map(|body| of_body(body)).collect();
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn accumulators_and_stacks_stay_where_they_are() {
    let found = [
        of_body("c: Acc[0] = if p { d: Acc[0] = acc_new() yield d } else { e: Acc[0] = acc_new() yield e }"),
        of_body("c: Acc[0] = acc_new() d: Acc[0] = for i < n with (k = c) { yield c }"),
        of_body("y: Int = call f(x, _[Stack[Int]])"),
        violations("entry main box B { B(Acc[0]) } fn main() -> () { }").join("\n"),
        violations("entry main fn main(x: Stack[]) -> () { }").join("\n"),
        violations("entry main constant c = g fn main() -> () { } fn g() -> (Acc[0]) { a: Acc[0] = acc_new() return a }")
            .join("\n"),
    ];
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn variables_are_defined_once_and_in_scope() {
    let found = [
        of_body("if p { y: Int = int.neg(n) } else { z: Int = int.neg(y) }"),
        of_body("for i < n { } y: Int = int.neg(i)"),
        of_body("y: Int = if p { z: Int = int.neg(n) yield z } else { yield z }"),
    ];
    insta::assert_snapshot!(found.join("\n"));
    let mut module =
        parse("entry main fn main() -> () { x: Int = int.neg(1) y: Int = int.neg(2) }").unwrap();
    module.functions[0].body.stmts.reverse();
    assert_eq!(lint(&module), Vec::<String>::new());
    module.functions[0].body.stmts[0].results = module.functions[0].body.stmts[1].results.clone();
    assert_eq!(lint(&module).len(), 1);
}

#[test]
fn declarations() {
    let found = [
        violations("entry main fn main() -> (Int) { }").join("\n"),
        violations("entry main fn main() -> (Int) { return 1.0 }").join("\n"),
        violations("entry main constant c = main fn main(x: Int) -> () { }").join("\n"),
        violations(
            "entry main fn main() -> () { } site 0 = none in f at 1 site 1 = none in g at 0",
        )
        .join("\n"),
        violations("entry main fn main() -> () { } site 0 = none in f at 3").join("\n"),
        violations("entry main fn main() -> () { check_count(1) @2 } site 0 = none").join("\n"),
    ];
    insta::assert_snapshot!(found.join("\n"));
}
