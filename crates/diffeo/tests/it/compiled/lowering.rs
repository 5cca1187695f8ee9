//! What Flat is made of programs.

use crate::compiled::agree::{on, ALL};
use diffeo::{Engine, Options, Session};

/// What Flat is made of the `main` of a program before it is optimised.
pub fn lowered(text: &str) -> String {
    flat(text, Some("lower"))
}

/// What Flat is made of the `main` of a program up to a pass, or after all of them.
fn flat(text: &str, pass: Option<&str>) -> String {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("an entry");
    session.show_flat(&entry, pass, &mut Vec::new()).expect("a program that is compiled")
}

#[test]
fn steps_that_take_gradients_of_small_arrays_cannot_stop() {
    let gradients = "def f(v: []Real) = v[0] * sin(v[1]) * v[2] + sum(map(sq, v))\n\
        def main = [grad(f)([x, x * x, 1.0 + x])[0] for x in [0.1 * real(i) for i < 100]]\n";
    let tangents = "def f(v: []Real) = [v[0] * sin(v[1]), v[2]]\n\
        def main = [let (y, d) = jvp(f, [x, x * x, 1.0], [x, 1.0, 2.0]) in y[0] * d[1] + d[0] for x in [0.1 * real(i) for i < 100]]\n";
    for text in [gradients, tangents] {
        let text = flat(text, None);
        let (step, behind) = text.split_once("yield").expect("a comprehension");
        let numbers = !step.contains("fail_") && !step.contains("acc_") && !step.contains("reduce");
        assert!(numbers && behind.contains("fail_nan"), "{text}");
    }
}

#[test]
fn functions_that_grow_in_a_recursion_have_few_instances() {
    let text = "def grow(n: Int, k: Real -> Real) -> Real -> Real = \
                if n <= 0 then k else if n > 3 then grow(n - 1, fn x -> k(x) + 1.0) else grow(n - 2, fn x -> k(k(x)))\n\
                def main = grow(20, sin)(1.0)\n";
    let functions = lowered(text).matches("\nfn ").count();
    assert!(functions < 40, "{functions} functions");
    on(&ALL, text, None);
    // Twice as many calls for each definition, but not twice as much code.
    let mut text =
        "def twice(f: Real -> Real) -> Real -> Real = fn x -> f(f(x))\ndef f0(x: Real) = x + 1.0\n"
            .to_string();
    for i in 1..16 {
        text += &format!("def f{i} = twice(f{})\n", i - 1);
    }
    text += "def main = f15(0.0)\n";
    let functions = lowered(&text).matches("\nfn ").count();
    assert!(functions < 100, "{functions} functions");
    assert_eq!(on(&ALL, &text, None), "32768.0");
}

#[test]
fn what_is_known_costs_nothing() {
    // A function that is used once is part of the loop; the sum of a comprehension makes no array.
    let text = lowered("def main = sum([x * 2.0 for x in map(fn y -> y + 1.0, [1.0, 2.0])])\n");
    assert_eq!(text.matches("build").count(), 1, "{text}");
    assert!(!text.contains("call `fn`") && text.contains("reduce[add]"), "{text}");
    // A case of a known constructor is no branch, and a variant that is not stored is no box.
    let text = lowered(
        "type S = A(Real) | B(Int, Int)\n\
         def size(s: S) -> Real = case s of { A(x) -> x | B(i, j) -> real(i * j) }\n\
         def main = (fn b -> size(if b then A(1.0) else B(2, 3)))(1 < 2) + (case A(2.0) of { A(x) -> x | B(_, _) -> 0.0 })\n",
    );
    assert_eq!(text.matches("switch").count(), 1, "{text}");
    assert!(!text.contains("new "), "{text}");
}

#[test]
fn calls_at_the_end_of_functions_take_no_memory() {
    let text = "def even(n: Int) -> Bool = if n == 0 then true else odd(n - 1)\n\
                def odd(n: Int) -> Bool = if n == 0 then false else even(n - 1)\n\
                def count(n: Int, a: Int) -> Int = if n == 0 then a else count(n - 1, a + 1)\n\
                def through(n: Int, k: Int -> Int) -> Int = if n == 0 then k(0) else through(n - 1, fn x -> k(x + 1))\n\
                def walk(fs: List[Int -> Int], n: Int) -> Int = case fs of { Nil -> n | f :: rest -> walk(rest, f(n)) }\n\
                def main = (even(1000000), count(1000000, 0), through(1000, fn x -> x), walk(list[fn x -> x + 1, fn x -> 2 * x], 1))\n";
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let entry = session.entry(module, "main").expect("an entry");
    let options = Options { max_stack: 1 << 20, ..Options::default() };
    let run = session.run_on(&entry, None, options, Engine::Flat);
    let value = run.result.unwrap_or_else(|error| panic!("{error:?}"));
    let shown = diffeo_calculus::show::show(&value, &entry.ty, &entry.program.datas);
    assert_eq!(shown, "(true, 1000000, 1000, 4)");
    on(&ALL, text, None);
}

#[test]
fn what_derivatives_print_is_printed_in_each_step() {
    let traced = "def f(t: Real) = sum([fd(fn x -> trace(\"v\", x), t, t) for i < 2])\n\
                  def main = fd(f, 0.83, 1.0)\n";
    let by_a_rule = "def rule((x: Real, dx: Real)) = (x, trace(\"rule\", x) / x * dx)\n\
                     def f(x: Real) = with_derivative(fn x -> x, rule)(x)\n\
                     def main = grad(fn t -> sum([f(t) for i < 2]))(0.5)\n";
    for text in [traced, by_a_rule] {
        assert_eq!(on(&ALL, text, None), "2.0");
    }
}
