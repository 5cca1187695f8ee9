//! The evaluator by contexts and redexes: each rule, traces, their derivatives, and the agreement with the
//! machine.

mod support;

use diffeo_calculus::ad::trace::{Evaluator, Stop, TraceOptions};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, Limits, Machine, Options};
use diffeo_calculus::leaves::each_leaf_pair;
use diffeo_calculus::show::show;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, Program};
use std::rc::Rc;

const DATA: &str = "data List[$0] = Nil | Cons($0, List[$0])
data Maybe[$0] = Nothing | Just($0)
data Shape = Circle(Real) | Rectangle(Real, Real) | Point
";

fn program(text: &str) -> Rc<Program> {
    let program = parse(&format!("{DATA}{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(lint(&program), Vec::<String>::new(), "{text}");
    Rc::new(program)
}

fn evaluator(program: &Rc<Program>) -> Evaluator {
    Evaluator::new(program.clone(), TraceOptions::default())
}

fn last(program: &Program) -> GlobalId {
    GlobalId(program.globals.len() as u32 - 1)
}

/// The text of an outcome.
fn told(program: &Program, outcome: Result<Value, Stop>) -> String {
    match outcome {
        Ok(value) => show(&value, &program.globals[last(program).0 as usize].ty, &program.datas),
        Err(Stop::Error(error)) => format!("{}: {}", error.kind.code(), error.kind.message()),
        Err(Stop::OutOfFuel) => "out of fuel".to_string(),
    }
}

/// The value of the last definition of a program.
fn value_with(text: &str, options: TraceOptions) -> String {
    let program = program(text);
    let outcome = Evaluator::new(program.clone(), options).eval_global(last(&program));
    told(&program, outcome)
}

fn value(text: &str) -> String {
    value_with(text, TraceOptions::default())
}

/// The same in the machine.
fn in_machine(text: &str, kinks: Kinks) -> String {
    let program = program(text);
    let mut machine = Machine::new(program.clone(), Options { kinks, ..Options::default() });
    let outcome = machine.eval_global(last(&program));
    told(&program, outcome.map_err(|error| Stop::Error(Box::new(error))))
}

/// Both give the same value of `main : T = M`, up to rounding, or the same error.
fn agree(ty: &str, body: &str) {
    agree_in("", ty, body);
}

fn agree_in(definitions: &str, ty: &str, body: &str) {
    let text = format!("{definitions}\ndef main : {ty} = {body}");
    let program = program(&text);
    let expected = Machine::new(program.clone(), Options::default()).eval_global(last(&program));
    let found = evaluator(&program).eval_global(last(&program));
    match (expected, found) {
        (Ok(expected), Ok(found)) => same(&text, &expected, &found),
        (Err(expected), Err(Stop::Error(found))) => {
            assert_eq!(expected.kind.message(), found.kind.message(), "{text}");
        }
        (expected, found) => panic!("{text}\n{expected:?}\n{found:?}"),
    }
}

fn same(what: &str, expected: &Value, found: &Value) {
    let equal = each_leaf_pair("comparison", expected, found, &mut |a, b| {
        let (Value::Real(a), Value::Real(b)) = (a, b) else { panic!("{what}: no numbers") };
        let close = (a - b).abs() <= 1e-9 * (1.0 + a.abs()) || a == b || (a.is_nan() && b.is_nan());
        assert!(close, "{what}\nexpected {a}, found {b}\n{expected:?}\n{found:?}");
        Ok(())
    });
    equal.unwrap_or_else(|error| panic!("{what}\n{error:?}\n{expected:?}\n{found:?}"));
}

#[test]
fn nested_derivatives_are_not_confused() {
    // 1.rd_1(x. x × 1.rd_1(y. x + y))
    let first = "#rd[Real, Real](
      fn (x : Real) -> #real.mul(x, #rd[Real, Real](fn (y : Real) -> #real.add(x, y), 1.0, 1.0)),
      1.0, 1.0)";
    assert_eq!(value(&format!("def main : Real = {first}")), "1.0");
    // letrec f(x) = 1.rd_1(y. x + y) in 1.rd_1(x. x + f(x))
    let second = "letrec f : Real -> Real =
        fn (x : Real) -> #rd[Real, Real](fn (y : Real) -> #real.add(x, y), 1.0, 1.0) in
      #rd[Real, Real](fn (z : Real) -> #real.add(z, f z), 1.0, 1.0)";
    assert_eq!(value(&format!("def main : Real = {second}")), "1.0");
}

const FORMS: &[(&str, &str)] = &[
    ("Real", "#real.add(1.5, #real.sin(2.0))"),
    ("Real", "let x : Real = 2.0; y : Real = #real.mul(x, x) in #real.sub(y, x)"),
    ("(Real, Int)", "tuple[(Real, Int)](1.0, #int.add(2, 3))"),
    ("Int", "proj[(Real, Int), 1](tuple[(Real, Int)](1.0, 7))"),
    ("{a : Real, b : Int}", "tuple[{a : Real, b : Int}](1.0, 7)"),
    ("Real", "if #lt[Real](1.0, 2.0) then 3.0 else 4.0"),
    ("()", "()"),
    ("String", "#append_strings(\"a\", #show[[]Real](array[Real](1.0, 2.0)))"),
    ("List[Real]", "con List[Real].Cons(1.0, con List[Real].Nil())"),
    ("[]Int", "build[Int] i : Int < 4 do #int.mul(i, i)"),
    ("[][]Int", "build[[]Int] i : Int < 3 do build[Int] j : Int < i do j"),
    ("[]Int", "build[Int] i : Int < -1 do i"),
    ("Real", "loop s : Real = 1.0 for i : Int < 5 do #real.mul(s, 2.0)"),
    ("Real", "loop s : Real = 1.0 for i : Int < -5 do #real.mul(s, 2.0)"),
    ("Real", "loop s : Real = 1.0 while #lt[Real](s, 10.0) do #real.mul(s, 2.0)"),
    ("Real", "#index[Real](array[Real](1.0, 2.0), 1)"),
    ("Real", "#index[Real](array[Real](1.0, 2.0), 2)"),
    ("Int", "#int.div(1, 0)"),
    ("Real", "#fail[Real](\"no\")"),
    ("Real", "(fn (f : Real -> Real) -> f (f 3.0)) (fn (x : Real) -> #real.mul(x, x))"),
    (
        "Int",
        "letrec f : Int -> Int = fn (n : Int) ->
           if #lt[Int](n, 2) then n else #int.add(f #int.sub(n, 1), f #int.sub(n, 2)) in f 15",
    ),
    (
        "Int",
        "let k : Int = 5 in letrec f : Int -> Int = fn (n : Int) ->
           let g : Int -> Int = fn (m : Int) -> f m in
           if #eq[Int](n, 0) then k else #int.add(1, g #int.sub(n, 1)) in f 10",
    ),
    (
        "Real",
        "case con Shape.Rectangle(2.0, 3.0) of Shape {
           | Circle(r : Real) -> r
           | Rectangle(a : Real, b : Real) -> #real.mul(a, b)
           | else -> 0.0 }",
    ),
    ("Real", "case con Shape.Point() of Shape { | Circle(r : Real) -> r | else -> -1.0 }"),
    (
        "Int",
        "#index[Int -> Int](build[Int -> Int] i : Int < 3 do fn (x : Int) -> #int.mul(x, i), 2) 5",
    ),
];

#[test]
fn every_form_evaluates_as_in_the_machine() {
    for (ty, body) in FORMS {
        agree(ty, body);
    }
}

#[test]
fn definitions_call_each_other_and_constants_are_evaluated_once() {
    let text = "def even : Int -> Bool =
          fn (n : Int) -> if #eq[Int](n, 0) then true else @odd #int.sub(n, 1)
        def odd : Int -> Bool =
          fn (m : Int) -> if #eq[Int](m, 0) then false else @even #int.sub(m, 1)
        def c : Int = #trace[Int](\"c\", 3)
        def main : (Bool, Int) = tuple[(Bool, Int)](@even 1001, #int.add(@c, @c))";
    let program = program(text);
    let lines = Rc::new(std::cell::RefCell::new(Vec::new()));
    let sink = lines.clone();
    let trace = Box::new(move |line: &str| sink.borrow_mut().push(line.to_string()));
    let options = TraceOptions { trace, ..TraceOptions::default() };
    let outcome = Evaluator::new(program.clone(), options).eval_global(last(&program));
    assert_eq!(told(&program, outcome), "(false, 6)");
    assert_eq!(*lines.borrow(), ["c: 3"]);
    let cycle = "def a : Int = #int.add(1, @b) def b : Int = @a";
    assert!(value(cycle).starts_with("constant-cycle: "), "{}", value(cycle));
    assert_eq!(value(cycle), in_machine(cycle, Kinks::Ignore));
}

#[test]
fn a_million_calls_nest_and_ten_million_tail_calls_take_no_space() {
    let sum = "def sum_to : Int -> Int = fn (n : Int) ->
          if #eq[Int](n, 0) then 0 else #int.add(n, @sum_to #int.sub(n, 1))
        def main : Int = @sum_to 1000000";
    assert_eq!(value(sum), "500000500000");
    let down = "def down : Int -> Int = fn (n : Int) -> if #eq[Int](n, 0) then 7 else @down #int.sub(n, 1)
        def main : Int = @down 3000000";
    let options = TraceOptions { max_stack: 10_000, ..TraceOptions::default() };
    assert_eq!(value_with(down, options), "7");
    let endless = "def f : Int -> Int = fn (n : Int) -> #int.add(1, @f n) def main : Int = @f 0";
    let options = TraceOptions { max_stack: 1 << 24, ..TraceOptions::default() };
    assert!(value_with(endless, options).starts_with("too-deep: "));
    // Long lists are built and dropped.
    let list = "def list : Int -> List[Int] = fn (n : Int) ->
          if #eq[Int](n, 0) then con List[Int].Nil() else con List[Int].Cons(n, @list #int.sub(n, 1))
        def main : Int = case @list 1000000 of List[Int] {
          | Nil() -> 0 | Cons(x : Int, rest : List[Int]) -> x }";
    assert_eq!(value(list), "1000000");
}
