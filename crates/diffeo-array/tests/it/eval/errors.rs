//! What stops a program, and where.

use super::{module, run};
use diffeo_array::value::FlatValue;
use diffeo_array::FlatEvaluator;
use diffeo_base::{FileId, Span};
use diffeo_calculus::eval::{Limits, Options, RuntimeError};
use std::time::Duration;

/// The error of a program; `body` stands at sites 1 (0:1-2), 2 (0:2-3) …
fn error(head: &str, body: &str, args: Vec<FlatValue>) -> RuntimeError {
    let sites: String = (0..20).map(|i| format!("site {i} = 0:{i}-{} ", i + 1)).collect();
    run(&format!("entry main fn main{head} {{ {body} }} {sites}"), args).unwrap_err()
}

/// Code, message and the number of the site.
fn shown(error: &RuntimeError) -> String {
    format!("{} at {}: {}", error.kind.code(), error.span.start, error.kind.message())
}

#[test]
fn checks_name_what_they_found() {
    let check = |body: &str| shown(&error("() -> ()", body, Vec::new()));
    insta::assert_snapshot!(check("check_index(0, 1) @1 check_index(2, 2) @2"));
    insta::assert_snapshot!(check("check_index(-1, 0) @1"));
    insta::assert_snapshot!(check("check_slice(0, 2, 2) @1 check_slice(2, 1, 3) @2"));
    insta::assert_snapshot!(check("check_count(0) @1 check_count(-1) @2"));
    insta::assert_snapshot!(check("check_count(9223372036854775807) @3"));
    insta::assert_snapshot!(check(r#"check_size["+"](2, 2) @1 check_size["+"](2, 3) @2"#));
    insta::assert_snapshot!(check("check_rows(-1, 3) @1 check_rows(3, -1) @1 check_rows(3, 4) @2"));
}

#[test]
fn operations_without_a_value_stop() {
    let check = |body: &str| shown(&error("() -> ()", body, Vec::new()));
    insta::assert_snapshot!(check("n: Int = int.add(9223372036854775807, 1) @1"));
    insta::assert_snapshot!(check("n: Int = int.neg(-9223372036854775808) @1"));
    insta::assert_snapshot!(check("n: Int = int.rem(5, 0) @1"));
    insta::assert_snapshot!(check("n: Int = int.pow(5, -1) @1"));
    insta::assert_snapshot!(check("n: Int = int.shift_left(5, 64) @1"));
    insta::assert_snapshot!(check("n: Int = ceil(1.0e300) @1"));
    insta::assert_snapshot!(check(r#"t: Text = text "no" @1 x: Real, a: []Int = fail(t) @2"#));
    insta::assert_snapshot!(check(r#"t: Text = text "lengths 1 and 2" @1 fail_shape["+"](t) @2"#));
}

#[test]
fn irregular_rows_stop_after_their_step() {
    let body = "a: [][]Int = build i < 4 @1 {
          r: []Int = build j < i @2 { yield j }
          p: Bool = eq[Int](i, 2) @3
          if p @4 { n: Int = int.div(i, 0) @5 } else { }
          yield r
        }
        return a";
    // The rows of lengths 0 and 1 differ before the division is reached.
    insta::assert_snapshot!(shown(&error("() -> ([][]Int)", body, Vec::new())));
}

#[test]
fn the_first_step_that_fails_counts() {
    let body = "a: []Int = build i < n @1 {
          k: Int = int.sub(i, 5) @2
          q: Int = int.div(1, k) @3
          yield q
        }
        return a";
    let error = error("(n: Int) -> ([]Int)", body, vec![FlatValue::Int(100)]);
    insta::assert_snapshot!(shown(&error));
}

#[test]
fn what_was_not_checked_is_a_bug_not_a_panic() {
    let a = || FlatValue::reals(vec![1.0]);
    for body in [
        "x: Real = get(a, 1)",
        "x: Real = get(a, -1)",
        "b: []Real = slice(a, 1, 2)",
        "b: []Real = update(a, 1, 0.0)",
        "b: [][]Real = reshape(a, 2, 1)",
        "s: Stack[] = stack_new[]() stack_get(s, 0)",
        "c: Acc[1] = acc_new(1) x: Real = acc_read(c, 1)",
        "c: Acc[1] = acc_new(2) acc_add_array(c, a)",
        "n: Int = fits.div(1, 0)",
        "switch 3 { 0 { } 1 { } }",
    ] {
        assert_eq!(error("(a: []Real) -> ()", body, vec![a()]).kind.code(), "internal", "{body}");
    }
}

const CALLS: &str = "entry main
    constant c = first
    constant d = second
    fn main(n: Int) -> (Int) at 0:1-2 {
      x: Int = call map(n) @1
      return x
    }
    fn `map[Int]`(n: Int) -> (Int) library { x: Int = call inner(n) @4 return x }
    fn map(n: Int) -> (Int) shown `map[Int]` library {
      p: Bool = eq[Int](n, 0) @2
      x: Int = if p @2 { y: Int = call user(n) @3 yield y } else {
        z: Int = call `map[Int]`(n) @3
        yield z
      }
      return x
    }
    fn inner(n: Int) -> (Int) library { x: Int = int.div(1, 0) @5 return x }
    fn user(n: Int) -> (Int) shown fn {
      x: Int = int.div(1, n) @6
      return x
    }
    fn first() -> (Int) shown c { x: Int = constant d @8 return x }
    fn second() -> (Int) shown d { x: Int = call third() @9 return x }
    fn third() -> (Int) { x: Int = constant c @10 return x }
    library 1
    site 0 = none
    site 1 = 0:10-11
    site 2 = 1:20-21
    site 3 = 1:30-31
    site 4 = 1:40-41
    site 5 = 1:50-51
    site 6 = 0:60-61 in f at 7
    site 7 = 0:70-71 in sum library at 11
    site 8 = 0:80-81
    site 9 = 0:90-91
    site 10 = 0:100-101
    site 11 = 0:110-111";

fn described(error: &RuntimeError) -> String {
    let trace: Vec<String> =
        error.trace.iter().map(|(name, span)| format!("{name} at {}", span.start)).collect();
    let function = error.function.as_ref().map(|name| name.as_str());
    format!("{} in {function:?}; {}", shown(error), trace.join(", "))
}

#[test]
fn what_happens_in_the_library_is_reported_at_the_call_that_led_there() {
    let error = run(CALLS, vec![FlatValue::Int(1)]).unwrap_err();
    insta::assert_snapshot!(described(&error));
    assert_eq!(error.span, Span::new(FileId(0), 10, 11));
}

#[test]
fn inlined_calls_are_open_calls() {
    let error = run(CALLS, vec![FlatValue::Int(0)]).unwrap_err();
    insta::assert_snapshot!(described(&error));
}

#[test]
fn constants_that_need_themselves() {
    let text = CALLS.replace("x: Int = call map(n) @1", "x: Int = constant d @1");
    let mut evaluator = FlatEvaluator::new(module(&text), Options::default());
    for _ in 0..2 {
        let error = evaluator.run(vec![FlatValue::Int(0)]).unwrap_err();
        insta::allow_duplicates! { insta::assert_snapshot!(described(&error)); }
    }
}

const RECURSION: &str = "entry main
    fn main(n: Int) -> (Int) { x: Int = call down(n) @1 return x }
    fn down(n: Int) -> (Int) {
      p: Bool = lt[Int](n, 1) @2
      x: Int = if p @2 {
        y: Int = int.div(1, n) @3
        yield y
      } else {
        m: Int = int.sub(n, 1) @4
        z: Int = call down(m) @5
        w: Int = int.add(z, 1) @6
        yield w
      }
      return x
    }
    site 0 = none
    site 1 = 0:1-2
    site 2 = 0:2-3
    site 3 = 0:3-4
    site 4 = 0:4-5
    site 5 = 0:5-6
    site 6 = 0:6-7";

#[test]
fn long_traces_have_two_ends() {
    for n in [10, 64, 65, 1000, 1_000_000] {
        let error = run(RECURSION, vec![FlatValue::Int(n)]).unwrap_err();
        assert_eq!((error.kind.code(), error.span.start), ("division-by-zero", 3));
        assert_eq!(error.trace.len(), usize::min(n as usize + 1, 64));
        let last = error.trace.last().unwrap();
        assert_eq!((last.0.as_str(), last.1.start), ("down", 1));
        assert!(error.trace[..error.trace.len() - 1].iter().all(|(_, span)| span.start == 5));
    }
}

#[test]
fn the_stack_is_bounded() {
    let options = Options { max_stack: 1 << 20, ..Options::default() };
    let mut evaluator = FlatEvaluator::new(module(RECURSION), options);
    let error = evaluator.run(vec![FlatValue::Int(1_000_000)]).unwrap_err();
    assert_eq!((error.kind.code(), error.span.start), ("too-deep", 5));
    assert!(error.kind.message().ends_with("the last of `down`"), "{}", error.kind.message());
    assert_eq!(error.trace.len(), 64);
    let options = Options { max_stack: 0, ..Options::default() };
    let error =
        FlatEvaluator::new(module(RECURSION), options).run(vec![FlatValue::Int(1)]).unwrap_err();
    assert!(error.kind.message().contains("0 calls are open, the last of `main`"));
}

#[test]
fn a_run_ends_when_its_time_is_up() {
    let text = "entry main
        fn main() -> (Int) {
          x: Int = while (k = 0) { p: Bool = lt[Int](k, 1) yield p } do { yield k }
          return x
        }";
    let limits = Limits::after(Duration::from_millis(20));
    let mut evaluator = FlatEvaluator::new(module(text), Options { limits, ..Options::default() });
    assert_eq!(evaluator.run(Vec::new()).unwrap_err().kind.code(), "timeout");
}

#[test]
fn arguments_have_the_types_of_the_parameters() {
    for args in [vec![], vec![FlatValue::Real(1.0)], vec![FlatValue::Int(1), FlatValue::Int(2)]] {
        assert_eq!(run(RECURSION, args).unwrap_err().kind.code(), "internal");
    }
}
