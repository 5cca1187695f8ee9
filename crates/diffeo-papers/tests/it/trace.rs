//! The evaluator by contexts and redexes: each rule, traces, their derivatives, and the agreement with the
//! machine.

use crate::support;
use crate::support::{app, at, fail, global, int, lam, place};
use diffeo_base::Span;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Event, Kinks, Limits, Machine, Options};
use diffeo_calculus::leaves::each_leaf_pair;
use diffeo_calculus::show::show;
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, Program, Ty};
use diffeo_papers::trace::{Trace, TraceEvaluator, TraceOptions, TraceStop};
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

fn evaluator(program: &Rc<Program>) -> TraceEvaluator {
    TraceEvaluator::new(program.clone(), TraceOptions::default())
}

fn last(program: &Program) -> GlobalId {
    GlobalId(program.globals.len() as u32 - 1)
}

/// The text of an outcome.
fn told(program: &Program, outcome: Result<Value, TraceStop>) -> String {
    match outcome {
        Ok(value) => show(&value, &program.globals[last(program).0 as usize].ty, &program.datas),
        Err(TraceStop::Error(error)) => format!("{}: {}", error.kind.code(), error.kind.message()),
        Err(TraceStop::OutOfFuel) => "out of fuel".to_string(),
    }
}

/// The value of the last definition of a program.
fn value_with(text: &str, options: TraceOptions) -> String {
    let program = program(text);
    let outcome = TraceEvaluator::new(program.clone(), options).eval_global(last(&program));
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
    told(&program, outcome.map_err(|error| TraceStop::Error(Box::new(error))))
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
        (Err(expected), Err(TraceStop::Error(found))) => {
            assert_eq!(expected.kind.message(), found.kind.message(), "{text}");
        }
        (expected, found) => panic!("{text}\n{expected:?}\n{found:?}"),
    }
}

fn same(what: &str, expected: &Value, found: &Value) {
    let equal = each_leaf_pair("comparison", expected, found, &mut |a, b| {
        let (Value::Real(a), Value::Real(b)) = (a, b) else { panic!("{what}: no numbers") };
        let near = (a - b).is_finite() && (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        let close = near || a == b || (a.is_nan() && b.is_nan());
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
    let events = Box::new(move |event: Event<'_>| sink.borrow_mut().push(format!("{event:?}")));
    let options = TraceOptions { events, ..TraceOptions::default() };
    let outcome = TraceEvaluator::new(program.clone(), options).eval_global(last(&program));
    assert_eq!(told(&program, outcome), "(false, 6)");
    assert_eq!(*lines.borrow(), ["Line(\"c: 3\")"]);
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
    let down =
        "def down : Int -> Int = fn (n : Int) -> if #eq[Int](n, 0) then 7 else @down #int.sub(n, 1)
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

/// Functions from (Real, []Real) to a type, one for every form and operation that Reals take part in.
const FUNCTIONS: &[(&str, &str)] = &[
    ("Real", "a"),
    ("Real", "3.0"),
    ("Real", "#real.add(a, #real.mul(b, b))"),
    ("Real", "#real.div(a, #real.sub(b, a))"),
    ("Real", "#real.pow(a, b)"),
    ("Real", "#real.pow(a, 0.0)"),
    ("Real", "#pow_int(a, 5)"),
    ("Real", "#pow_int(b, -3)"),
    ("Real", "#pow_int(b, 0)"),
    ("Real", "#real.rem(#real.mul(b, 3.3), a)"),
    ("Real", "#real.exp(#real.neg(#real.log(#real.sqrt(a))))"),
    ("Real", "#real.sin(#real.cos(#real.tan(a)))"),
    ("Real", "#real.asin(#real.div(a, 3.0))"),
    ("Real", "#real.acos(#real.div(a, 3.0))"),
    ("Real", "#real.atan(#real.sinh(#real.cosh(#real.tanh(a))))"),
    ("Real", "#real.asinh(#real.acosh(#real.add(a, 1.0)))"),
    ("Real", "#real.atanh(#real.div(a, 3.0))"),
    ("Real", "#real.expm1(#real.log1p(#real.sigmoid(#real.softplus(a))))"),
    ("Real", "#real.erf(#real.mul(a, #real.erfc(b)))"),
    ("Real", "#real.mul(#real.lgamma(a), #real.polygamma[0](b))"),
    ("Real", "#real.polygamma[2](a)"),
    ("Real", "#real.atan2(a, b)"),
    ("Real", "#real.hypot(a, b)"),
    ("Real", "#real.mul(#real.abs(#real.neg(a)), #real.sign(b))"),
    ("Real", "#real.min(#real.mul(a, b), #real.max(a, #real.mul(b, b)))"),
    ("Real", "if #lt[Real](a, b) then #real.mul(a, b) else #real.sub(a, b)"),
    ("Real", "if #eq[[]Real](xs, xs) then #real.mul(a, b) else a"),
    ("Real", "#real.mul(a, #to_real(#floor(b)))"),
    ("Real", "if #not(#is_nan(a)) then #real.mul(a, a) else b"),
    ("(Real, Int)", "tuple[(Real, Int)](#real.mul(a, b), #length[Real](xs))"),
    ("{p : Real, q : (Real, Real)}",
     "tuple[{p : Real, q : (Real, Real)}](a, tuple[(Real, Real)](b, #real.mul(a, b)))"),
    ("Real", "let p : (Real, []Real) = tuple[(Real, []Real)](#real.mul(a, a), xs);
              q : (Real, []Real) = p in
              #real.mul(proj[(Real, []Real), 0](q), #index[Real](proj[(Real, []Real), 1](q), 1))"),
    ("[]Real", "#add[[]Real](xs, #scale[[]Real](a, xs))"),
    ("[]Real", "#sub[[]Real](#neg[[]Real](xs), #unscale[[]Real](xs, a))"),
    ("[]Real", "#mul_elements[[]Real](xs, #div_elements[[]Real](xs, #add[[]Real](xs, xs)))"),
    ("(Real, []Real)", "#zero_of[(Real, []Real)](tuple[(Real, []Real)](a, xs))"),
    ("(Real, Int, []Real)", "#add[(Real, Int, []Real)](tuple[(Real, Int, []Real)](a, 3, xs),
                                          tuple[(Real, Int, []Real)](b, 4, xs))"),
    ("Real", "#inner[[]Real](xs, #scale[[]Real](a, xs))"),
    ("[]Real", "#ravel[(Real, [][]Real)](
        tuple[(Real, [][]Real)](a, array[[]Real](xs, array[Real](a, 1.0, b))))"),
    ("(Real, []Real)", "#unravel[(Real, []Real)](tuple[(Real, []Real)](0.0, xs),
                        array[Real](b, a, #real.mul(a, b), 2.0))"),
    ("Real", "#index[Real](xs, 2)"),
    ("Real", "#index[Real](array[Real](a, b, #real.mul(a, b)), 2)"),
    ("[]Real", "#slice[Real](xs, 1, 3)"),
    ("[]Real", "#slice[Real](xs, 1, 1)"),
    ("[]Real", "#update[[]Real](xs, 1, #real.mul(a, #index[Real](xs, 1)))"),
    ("[][]Real", "#update[[][]Real](array[[]Real](xs, xs), 1, 2, #real.mul(a, b))"),
    ("[][]Real", "#update[[][]Real](array[[]Real](xs, xs), 0, #scale[[]Real](a, xs))"),
    ("[]Real", "#append[Real](xs, array[Real](a, 2.0))"),
    ("[]Real", "#flatten[Real](array[[]Real](xs, #scale[[]Real](a, xs)))"),
    ("Real", "#sum[Real](#scale[[]Real](a, xs))"),
    ("[]Real", "#sum[[]Real](array[[]Real](xs, #scale[[]Real](a, xs), xs))"),
    ("[]Real", "let order : []Int = #arg_sort[Real](xs) in
                build[Real] i : Int < #length[Int](order) do #index[Real](xs, #index[Int](order, i))"),
    ("Real", "#real.mul(a, #to_real(#sizes[{n}, 0, [n]_, []Real](xs)))"),
    ("Real", "#trace[Real](\"a\", #real.mul(a, a))"),
    ("Real", "#progress[Real](\"a\", 1, a, #real.mul(a, a))"),
    ("String", "#show[Real](a)"),
    ("List[Real]", "con List[Real].Cons(#real.mul(a, b), con List[Real].Cons(b, con List[Real].Nil()))"),
    ("Real", "letrec total : List[Real] -> Real = fn (l : List[Real]) ->
                case l of List[Real] { | Nil() -> 0.0
                  | Cons(h : Real, t : List[Real]) -> #real.add(#real.mul(h, a), total t) } in
              letrec list : Int -> List[Real] = fn (i : Int) ->
                if #eq[Int](i, 3) then con List[Real].Nil()
                else con List[Real].Cons(#index[Real](xs, i), list #int.add(i, 1)) in
              total (list 0)"),
    ("Maybe[(Real, Int)]", "con Maybe[(Real, Int)].Just(tuple[(Real, Int)](#real.mul(a, b), 1))"),
    ("Real", "case (if #lt[Real](a, b) then con Shape.Circle(a) else con Shape.Rectangle(a, b)) of Shape {
                | Circle(r : Real) -> #real.mul(3.0, #real.mul(r, r))
                | Rectangle(p : Real, q : Real) -> #real.mul(p, q) | else -> 0.0 }"),
    ("Shape", "con Shape.Rectangle(b, #real.mul(a, b))"),
    ("[]Real", "build[Real] i : Int < 4 do #real.mul(a, #to_real(i))"),
    ("Real", "loop s : Real = a for i : Int < 5 do #real.mul(s, #real.add(b, #to_real(i)))"),
    ("Real", "loop s : Real = a while #lt[Real](s, 50.0) do #real.mul(s, b)"),
    ("Real", "loop s : Real = 0.0 for i : Int < #length[Real](xs) do
                #real.add(s, #real.mul(#index[Real](xs, i), #index[Real](xs, i)))"),
    ("(Real, []Real)",
     "loop s : (Real, []Real) = tuple[(Real, []Real)](a, xs) for i : Int < 3 do
        tuple[(Real, []Real)](
          #real.mul(proj[(Real, []Real), 0](s), b),
          #update[[]Real](proj[(Real, []Real), 1](s), i, proj[(Real, []Real), 0](s)))"),
    ("Real", "(fn (f : Real -> Real) -> f (f b)) (fn (z : Real) -> #real.mul(z, a))"),
    ("Real", "let fs : []Real -> Real = fn (z : []Real) -> #real.mul(a, #index[Real](z, 0)) in fs xs"),
    ("Real", "let fs : [](Real -> Real) = array[Real -> Real](
                fn (z : Real) -> #real.mul(z, a), fn (y : Real) -> #real.add(y, b));
                gs : [](Real -> Real) = #append[Real -> Real](#slice[Real -> Real](fs, 1, 2), fs);
                hs : [](Real -> Real) = #update[[](Real -> Real)](gs, 0, fn (u : Real) -> #real.mul(u, u)) in
              (#index[Real -> Real](hs, 1)) ((#index[Real -> Real](hs, 0)) a)"),
    ("Real", "let p : (Real, Real -> Real) =
                tuple[(Real, Real -> Real)](#real.mul(a, a), fn (z : Real) -> #real.mul(z, b)) in
              proj[(Real, Real -> Real), 1](p) proj[(Real, Real -> Real), 0](p)"),
    ("Real", "case con Maybe[Real -> Real].Just(fn (z : Real) -> #real.mul(z, a)) of Maybe[Real -> Real] {
                | Nothing() -> 0.0 | Just(f : Real -> Real) -> f b }"),
    ("Real", "#real.mul(b, #rd[Real, Real](fn (z : Real) -> #real.mul(z, #real.mul(z, a)), b, a))"),
    ("Real", "#real.mul(b, proj[(Real, Real), 1](
                #jvp[Real, Real](fn (z : Real) -> #real.sin(#real.mul(z, a)), b, a)))"),
    ("Real", "proj[(Real, Real -> Real), 1](
                #vjp[Real, Real](fn (z : Real) -> #real.sin(#real.mul(z, a)), b)) #real.mul(a, b)"),
    ("[]Real", "#jet[1, 2, Real, Real](fn (z : Real) -> #real.sin(#real.mul(z, a)), array[Real](b, a, 1.0))"),
    ("Real", "#real.mul(a, #stop_gradient[Real, Real](#real.mul(a, b)))"),
    ("Real", "#checkpoint[Real, Real](fn (z : Real) -> #real.mul(z, #real.mul(b, z)), a)"),
    ("Real", "#with_derivative[Real, Real](
                fn (z : Real) -> #real.mul(z, z),
                fn (p : (Real, Real)) -> let
                    z : Real = proj[(Real, Real), 0](p); dz : Real = proj[(Real, Real), 1](p) in
                  tuple[(Real, Real)](#real.mul(z, z), #real.mul(dz, #real.mul(3.0, z))),
                #real.mul(a, b))"),
    ("Real", "#rd[Real, Real](fn (y : Real) -> #with_derivative[Real, Real](
                fn (z : Real) -> #real.mul(z, z),
                fn (p : (Real, Real)) -> let
                    z : Real = proj[(Real, Real), 0](p); dz : Real = proj[(Real, Real), 1](p) in
                  tuple[(Real, Real)](#real.mul(z, z), #real.mul(dz, #real.mul(a, #real.mul(3.0, z)))),
                #real.mul(y, b)), a, b)"),
];

/// `f : (Real, []Real) -> T` with this body over a, b (the first element) and xs.
fn function(ty: &str, body: &str) -> String {
    format!(
        "def f : (Real, []Real) -> {ty} = fn (p0 : (Real, []Real)) ->
           let a : Real = proj[(Real, []Real), 0](p0); xs : []Real = proj[(Real, []Real), 1](p0);
               b : Real = #index[Real](xs, 0) in {body}\n"
    )
}

const POINT: &str = "tuple[(Real, []Real)](1.25, array[Real](1.75, 0.5, 2.5))";
const TANGENT: &str = "tuple[(Real, []Real)](0.5, array[Real](-1.0, 2.0, 0.25))";

#[test]
fn values_and_derivatives_are_those_of_the_machine() {
    let s = "(Real, []Real)";
    for (ty, body) in FUNCTIONS {
        let f = function(ty, body);
        agree_in(&f, ty, &format!("@f {POINT}"));
        // The cotangent: the value itself.
        agree_in(&f, s, &format!("#rd[{s}, {ty}](@f, {POINT}, @f {POINT})"));
        agree_in(&f, &format!("({ty}, {ty})"), &format!("#jvp[{s}, {ty}](@f, {POINT}, {TANGENT})"));
        let pair = format!("({ty}, {ty} -> {s})");
        let vjp = format!(
            "let p : {pair} = #vjp[{s}, {ty}](@f, {POINT}) in
          tuple[({ty}, {s})](proj[{pair}, 0](p), proj[{pair}, 1](p) (@f {POINT}))"
        );
        agree_in(&f, &format!("({ty}, {s})"), &vjp);
    }
}

#[test]
fn second_derivatives_are_those_of_the_machine() {
    let s = "(Real, []Real)";
    for (ty, body) in FUNCTIONS {
        let f = function(ty, body);
        // The derivative of v ↦ rd(f, v, f(v)): reverse over reverse, forward over reverse.
        let inner = format!("fn (v : {s}) -> #rd[{s}, {ty}](@f, v, @f v)");
        agree_in(&f, s, &format!("#rd[{s}, {s}]({inner}, {POINT}, {TANGENT})"));
        agree_in(
            &f,
            &format!("({s}, {s})"),
            &format!("#jvp[{s}, {s}]({inner}, {POINT}, {TANGENT})"),
        );
    }
}

#[test]
fn jets_are_those_of_the_machine() {
    let s = "[]Real";
    let j = "[][]Real";
    for (k, r, rows) in [
        (0, 3, "array[[]Real](array[Real](0.5), array[Real](1.5))"),
        (1, 0, "array[[]Real](array[Real](0.5), array[Real](1.5))"),
        (1, 3, "array[[]Real](array[Real](0.5, 1.0, 0.5, 2.0), array[Real](1.5, -1.0, 0.0, 1.0))"),
        (
            2,
            2,
            "array[[]Real](array[Real](0.5, 1.0, 0.5, 2.0, 1.0, 3.0),
                              array[Real](1.5, -1.0, 0.0, 1.0, 0.0, -2.0))",
        ),
    ] {
        for (ty, jet, body) in [
            ("Real", "[]Real", "#real.mul(#real.sin(#index[Real](x, 0)), #index[Real](x, 1))"),
            ("Real", "[]Real", "3.0"),
            ("[]Real", "[][]Real", "#scale[[]Real](#index[Real](x, 0), x)"),
            (
                "(Int, Real)",
                "(Int, []Real)",
                "tuple[(Int, Real)](3, #real.exp(#index[Real](x, 1)))",
            ),
            (
                "List[Real]",
                "List[[]Real]",
                "con List[Real].Cons(#index[Real](x, 0), con List[Real].Nil())",
            ),
        ] {
            let f = format!("def f : {s} -> {ty} = fn (x : {s}) -> {body}\n");
            let term = format!("#jet[{k}, {r}, {s}, {ty}](@f, {rows})");
            agree_in(&f, jet, &term);
            if jet == "[]Real" {
                // A derivative of it.
                let by = format!("#rd[{j}, []Real](fn (m : {j}) -> #jet[{k}, {r}, {s}, {ty}](@f, m), {rows}, {term})");
                agree_in(&f, j, &by);
            }
        }
    }
    let bad = "#jet[1, 1, Real, Real](fn (x : Real) -> x, array[Real](1.0))";
    agree("[]Real", bad);
}

/// The function `f` at the point, traced, with the value of the trace.
fn trace_of(text: &str) -> (Rc<Program>, Trace, Value) {
    let program = program(&format!("{text}\ndef point : (Real, []Real) = {POINT}"));
    let point = evaluator(&program).eval_global(last(&program)).expect("a point");
    let f = program.globals.iter().position(|global| &*global.name == "f").expect("f");
    let mut evaluator = evaluator(&program);
    let (trace, value) = evaluator.trace(GlobalId(f as u32), point).expect("a trace");
    (program, trace, value)
}

/// The arguments of a trace at its point, with a cotangent.
fn arguments(program: &Rc<Program>, cotangent: Option<&Value>) -> Vec<Value> {
    let point = evaluator(program).eval_global(last(program)).expect("a point");
    std::iter::once(point).chain(cotangent.cloned()).collect()
}

#[test]
fn a_term_and_its_trace_have_one_value_and_traces_read_back() {
    for (ty, body) in FUNCTIONS {
        let text = function(ty, body);
        let (program, trace, value) = trace_of(&text);
        // φ | ρ ⊢ M ⇒ V iff φ | ρ ⊢ M ⇝ C and φ | ρ ⊢ C ⇒ V
        same(&text, &value, &trace.evaluate(&arguments(&program, None)).expect("a value"));
        let reversed = trace.reverse(value.clone()).expect("a derivative");
        let twice = reversed.reverse(arguments(&program, None).remove(0)).expect("a derivative");
        for (trace, arguments) in [
            (&trace, arguments(&program, None)),
            (&reversed, arguments(&program, Some(&value))),
            (&twice, [arguments(&program, Some(&value)), arguments(&program, None)].concat()),
        ] {
            let printed = trace.print().expect("a text");
            assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
            let parsed =
                Rc::new(parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}")));
            assert_eq!(lint(&parsed), Vec::<String>::new(), "{printed}");
            assert_eq!(diffeo_calculus::print(&parsed), printed);
            let expected = trace.evaluate(&arguments).expect("a value");
            let mut machine = Machine::new(parsed, Options::default());
            let mut found = machine.eval_global(GlobalId(0)).expect("a function");
            for argument in arguments {
                found = machine.apply(&found, argument).expect("a value");
            }
            same(&printed, &expected, &found);
        }
    }
}

#[test]
fn the_linear_form_is_the_printed_one() {
    let short = |trace: &Trace| trace.len() <= 12;
    let mut compared = 0;
    for (ty, body) in FUNCTIONS {
        let text = function(ty, body);
        let (program, trace, value) = trace_of(&text);
        if !short(&trace) {
            continue;
        }
        compared += 1;
        let arguments = arguments(&program, Some(&value));
        let linear = trace.reverse(value.clone()).expect("a derivative");
        let printed = trace.reverse_printed(value).expect("a derivative");
        assert_eq!(linear.type_of(), printed.type_of());
        let expected = linear.evaluate(&arguments).expect("a value");
        same(&text, &expected, &printed.evaluate(&arguments).expect("a value"));
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn programs_can_be_run_with_the_printed_form() {
    let options = || TraceOptions { printed: true, ..TraceOptions::default() };
    let nested = "def main : Real = #rd[Real, Real](
      fn (x : Real) -> #real.mul(x, #rd[Real, Real](fn (y : Real) -> #real.add(x, y), 1.0, 1.0)),
      1.0, 1.0)";
    assert_eq!(value_with(nested, options()), "1.0");
    // Rules and structures.
    for (body, expected) in [
        ("#real.mul(x, #real.mul(x, x))", "12.0"),
        ("proj[(Real, Real), 1](tuple[(Real, Real)](3.0, #real.mul(x, x)))", "4.0"),
        ("#index[Real](array[Real](x, #real.mul(x, x)), 1)", "4.0"),
        (
            "#with_derivative[Real, Real](fn (z : Real) -> z, fn (p : (Real, Real)) ->
            tuple[(Real, Real)](proj[(Real, Real), 0](p),
              #real.mul(5.0, #real.mul(proj[(Real, Real), 0](p), proj[(Real, Real), 1](p)))), x)",
            "10.0",
        ),
    ] {
        let text = format!(
            "def f : Real -> Real = fn (x : Real) -> {body}
          def main : Real = #rd[Real, Real](@f, 2.0, 1.0)"
        );
        assert_eq!(value_with(&text, options()), expected, "{body}");
        assert_eq!(value(&text), expected, "{body}");
    }
}

#[test]
fn a_trace_of_the_example_of_section_2() {
    let (_, trace, _) = trace_of(
        "def f : (Real, []Real) -> Real = fn (p : (Real, []Real)) ->
           let w : Real = proj[(Real, []Real), 0](p);
               inputs : []Real = proj[(Real, []Real), 1](p);
               loss : Real -> Real = fn (a : Real) ->
                 let error : Real = #real.sub(#real.mul(w, a), 1.0) in #real.mul(error, error) in
           loop sum : Real = 0.0 for i : Int < 2 do
             if #lt[Real](w, 0.0) then sum else #real.add(sum, loss #index[Real](inputs, i))",
    );
    insta::assert_snapshot!("trace", trace.print().expect("a text"));
    let reversed = trace.reverse(Value::Real(1.0)).expect("a derivative");
    insta::assert_snapshot!("reversed", reversed.print().expect("a text"));
}

#[test]
fn gradient_descent() {
    // The example of section 2: descend(w) = if loss(w) < c then w else descend(w - rate * gradLoss(w))
    let text = "def loss : Real -> Real = fn (w : Real) ->
          let error : Real = #real.sub(#real.mul(2.0, w), 3.0) in #real.mul(error, error)
        def descend : Real -> Real = fn (w : Real) ->
          if #lt[Real](@loss w, 1.0e-12) then w
          else @descend #real.sub(w, #real.mul(0.1, #rd[Real, Real](@loss, w, 1.0)))
        def trained : Real -> Real = fn (x : Real) -> #real.mul(x, @descend 0.25)";
    agree_in(text, "Real", "@trained 4.0");
    agree_in(text, "Real", "#rd[Real, Real](@descend, 0.25, 1.0)");
    agree_in(text, "Real", "#rd[Real, Real](@trained, 4.0, 1.0)");
}

#[test]
fn a_function_defined_by_its_own_derivative() {
    let text = "def f : Real -> Real = fn (x : Real) ->
          if #lt[Real](x, 1.0) then #real.mul(x, x)
          else #real.add(@f #real.div(x, 2.0), #rd[Real, Real](@f, #real.div(x, 2.0), 1.0))";
    // f(1.5) = 0.75² + 2 · 0.75, and f(3) = f(1.5) + f′(1.5), where f′(1.5) = 0.75 + 1
    assert_eq!(value(&format!("{text} def main : Real = @f 1.5")), "2.0625");
    assert_eq!(value(&format!("{text} def main : Real = @f 3.0")), "3.8125");
    for x in ["5.0", "9.0"] {
        agree_in(text, "Real", &format!("@f {x}"));
        agree_in(text, "Real", &format!("#rd[Real, Real](@f, {x}, 1.0)"));
    }
}

#[test]
fn leaf_constants_of_a_derivative_are_those_of_the_point() {
    let pair = "(Int, Real)";
    for printed in [false, true] {
        for body in ["p", "let q : (Int, Real) = p in q"] {
            let text = format!(
                "def main : {pair} = #rd[{pair}, {pair}](fn (p : {pair}) -> {body},
                   tuple[{pair}](3, 2.0), tuple[{pair}](1, 5.0))"
            );
            let options = TraceOptions { printed, ..TraceOptions::default() };
            assert_eq!(value_with(&text, options), "(3, 5.0)");
            assert_eq!(in_machine(&text, Kinks::Ignore), "(3, 5.0)");
        }
    }
    // Within another derivative.
    let text = format!(
        "def main : Real = #rd[Real, Real](fn (x : Real) ->
           let g : {pair} = #rd[{pair}, {pair}](fn (p : {pair}) -> p,
             tuple[{pair}](3, 2.0), tuple[{pair}](1, #real.mul(x, x))) in
           #real.mul(#to_real(proj[{pair}, 0](g)), proj[{pair}, 1](g)), 2.0, 1.0)"
    );
    assert_eq!(value(&text), "12.0");
    assert_eq!(in_machine(&text, Kinks::Ignore), "12.0");
}

#[test]
fn predicates_are_not_defined_on_the_diagonal() {
    let relu = "def relu : Real -> Real = fn (x : Real) -> if #lt[Real](x, 0.0) then 0.0 else x";
    let slope = |x: &str| format!("{relu} def main : Real = #rd[Real, Real](@relu, {x}, 1.0)");
    let error = || TraceOptions { kinks: Kinks::Error, ..TraceOptions::default() };
    assert_eq!(value(&slope("0.0")), "1.0");
    assert_eq!(value_with(&slope("0.0"), error()), "kink: 0.0 < 0.0 has no derivative there");
    assert_eq!(value_with(&slope("2.0"), error()), "1.0");
    assert_eq!(value_with(&slope("-2.0"), error()), "0.0");
    // Nothing is traced.
    assert_eq!(value_with(&format!("{relu} def main : Real = @relu 0.0"), error()), "0.0");
    for body in [
        "#real.abs(#real.sub(x, 1.0))",
        "#real.max(x, 1.0)",
        "#real.sqrt(#real.sub(x, 1.0))",
        "#real.log(#real.neg(x))",
        "#real.div(x, 0.0)",
        "#pow_int(#real.sub(x, 1.0), -2)",
        "#to_real(#floor(x))",
        "#to_real(#length[Int](#arg_sort[Real](array[Real](2.0, x, 1.0))))",
        "#to_real(#length[Int](#arg_sort[Real](array[Real](2.0, x, 3.0))))",
        "if #eq[[]Real](array[Real](2.0, x), array[Real](2.0, 1.0)) then x else 1.0",
        "if #eq[[]Real](array[Real](2.0, x), array[Real](3.0, 1.0)) then x else 1.0",
        // Only the part that x influences counts.
        "let p : (Real, Real) = tuple[(Real, Real)](x, 1.0) in
         if #lt[Real](proj[(Real, Real), 1](p), 1.0) then x else 2.0",
        "let p : [](Real) = array[Real](x, 1.0) in if #lt[Real](#index[Real](p, 1), 1.0) then x else 2.0",
        "if #lt[Real](#stop_gradient[Real, Real](x), 1.0) then x else 2.0",
        "#sum[Real](#div_elements[[]Real](array[Real](x, 1.0), array[Real](0.0, x)))",
    ] {
        let text = format!("def f : Real -> Real = fn (x : Real) -> {body}
          def main : Real = #rd[Real, Real](@f, 1.0, 1.0)");
        assert_eq!(value_with(&text, error()), in_machine(&text, Kinks::Error), "{body}");
    }
}

#[test]
fn kinks_warn_once_at_their_place() {
    let text = "def main : Real = #rd[Real, Real](fn (x : Real) -> #real.abs(x), 0.0, 1.0)";
    let program = program(text);
    let (warnings, events) = diffeo_calculus::eval::warnings();
    let options = TraceOptions { kinks: Kinks::Warn, events, ..TraceOptions::default() };
    let mut evaluator = TraceEvaluator::new(program.clone(), options);
    assert_eq!(told(&program, evaluator.eval_global(GlobalId(0))), "0.0");
    assert_eq!(warnings.borrow().len(), 1);
}

#[test]
fn a_rule_counts_the_traces_that_depend_on_its_point() {
    // order(x) = how many derivatives are being taken of x; f(x) = x³ times that.
    let text = "def order : Real -> Int = fn (m : Real) -> #with_derivative[Real, Int](
            fn (u : Real) -> 0,
            fn (p : (Real, Real)) ->
              let n : Int = @order proj[(Real, Real), 0](p) in tuple[(Int, Int)](#int.add(n, 1), n),
            m)
        def f : Real -> Real = fn (x : Real) ->
          #real.mul(#to_real(@order x), #real.mul(x, #real.mul(x, x)))
        def f1 : Real -> Real = fn (y : Real) -> #rd[Real, Real](@f, y, 1.0)
        def f2 : Real -> Real = fn (z : Real) -> #rd[Real, Real](@f1, z, 1.0)";
    for (body, expected) in [("@f 2.0", "0.0"), ("@f1 2.0", "12.0"), ("@f2 2.0", "24.0")] {
        agree_in(text, "Real", body);
        assert_eq!(value(&format!("{text} def main : Real = {body}")), expected);
    }
    // The value that comes with a derivative is that of the rule.
    agree_in(text, "(Real, Real)", "#jvp[Real, Real](@f, 2.0, 1.0)");
    agree_in(
        text,
        "[]Real",
        "#jet[1, 2, Real, Real](fn (x : Real) -> #real.mul(x, x), array[Real](2.0, 1.0, 0.0))",
    );
}

#[test]
fn recursion_can_be_limited() {
    let limited = |text: &str, fuel| {
        value_with(text, TraceOptions { fuel: Some(fuel), ..TraceOptions::default() })
    };
    let programs = [
        "def main : Int = letrec f : Int -> Int = fn (n : Int) ->
           if #eq[Int](n, 0) then 0 else #int.add(1, f #int.sub(n, 1)) in f 4",
        "def f : Int -> Int = fn (n : Int) -> if #eq[Int](n, 0) then 0 else #int.add(1, @g #int.sub(n, 1))
         def g : Int -> Int = fn (m : Int) -> if #eq[Int](m, 0) then 0 else #int.add(1, @f #int.sub(m, 1))
         def main : Int = @f 4",
    ];
    for text in programs {
        // letrec_n: f(4) unfolds five times, one inside the other.
        assert_eq!(limited(text, 4), "out of fuel");
        assert_eq!(limited(text, 5), "4");
        // M^(n) ⇒ V implies M ⇒ V, and M^(m) ⇒ V for m ≥ n.
        assert_eq!(limited(text, 50), "4");
        assert_eq!(value(text), "4");
    }
    // Not the number of calls counts but how they nest.
    let twice = "def f : Int -> Int = fn (n : Int) ->
          if #eq[Int](n, 0) then 1 else #int.add(@f #int.sub(n, 1), @f #int.sub(n, 1))
        def main : Int = #int.add(@f 3, @f 3)";
    assert_eq!(limited(twice, 3), "out of fuel");
    assert_eq!(limited(twice, 4), "16");
    // What does not call itself is not limited; a derivative of a recursive function is.
    assert_eq!(limited("def f : Int -> Int = fn (n : Int) -> n def main : Int = @f 3", 0), "3");
    let power = "def f : (Int, Real) -> Real = fn (p : (Int, Real)) ->
          let n : Int = proj[(Int, Real), 0](p); x : Real = proj[(Int, Real), 1](p) in
          if #eq[Int](n, 0) then 1.0 else #real.mul(x, @f tuple[(Int, Real)](#int.sub(n, 1), x))
        def main : Real =
          #rd[Real, Real](fn (x : Real) -> @f tuple[(Int, Real)](3, x), 2.0, 1.0)";
    assert_eq!(limited(power, 3), "out of fuel");
    assert_eq!(limited(power, 4), "12.0");
}

#[test]
fn errors_have_their_place_and_evaluation_can_begin_anew() {
    let text =
        "def f : Int -> Int = fn (n : Int) -> if #eq[Int](n, 0) then #fail[Int](\"no\") else n";
    let program = program(text);
    let mut evaluator = evaluator(&program);
    let f = evaluator.eval_global(GlobalId(0)).expect("a function");
    for _ in 0..2 {
        let Err(TraceStop::Error(error)) = evaluator.apply(&f, Value::Int(0)) else {
            panic!("an error")
        };
        assert!(matches!(&error.kind, ErrorKind::Fail { message } if message == "no"));
        assert!(matches!(evaluator.apply(&f, Value::Int(2)), Ok(Value::Int(2))));
    }
    // A call of the library from line 2, of a function that fails on line 1 of it.
    let library = diffeo_base::FileId(9);
    let failing = |body: Term| {
        let mut t = body;
        t.span = Span::new(library, 0, 1);
        t
    };
    let body = failing(fail(Ty::Int, "no"));
    let mut first = lam(Ty::Int, |_| body);
    first.span = Span::new(library, 0, 2);
    let call = at(2, app(global(0), int(1)));
    let mut definitions = vec![("lib[Int]", Ty::fun(Ty::Int, Ty::Int), first)];
    definitions.push(("main", Ty::Int, call));
    let mut made = Rc::into_inner(support::program(definitions)).expect("one owner");
    made.library = vec![library];
    let error =
        TraceEvaluator::new(Rc::new(made), TraceOptions::default()).eval_global(GlobalId(1));
    let Err(TraceStop::Error(error)) = error else { panic!("an error") };
    assert_eq!(error.span, place(2));
    assert_eq!(error.function.as_deref(), Some("lib"));
}

#[test]
fn a_run_ends_with_its_limits() {
    let endless = "def main : Int = loop s : Int = 0 while true do s";
    let limits = Limits::after(std::time::Duration::from_millis(20));
    let options = TraceOptions { limits, ..TraceOptions::default() };
    assert!(value_with(endless, options).starts_with("timeout: "));
}

#[test]
fn derivatives_are_linear_in_the_trace() {
    let operations = |n: usize, body: &str| {
        let text = format!(
            "def f : []Real -> Real = fn (xs : []Real) -> {body}
          def main : []Real = let xs : []Real = build[Real] i : Int < {n} do 1.0 in
            #rd[[]Real, Real](@f, xs, 1.0)"
        );
        let program = program(&text);
        let mut evaluator = evaluator(&program);
        evaluator.eval_global(last(&program)).expect("a value");
        evaluator.steps() + evaluator.operations()
    };
    for body in [
        // Doubling, which as printed is exponential; and reading an array element by element.
        "loop s : Real = #index[Real](xs, 0) for i : Int < #length[Real](xs) do #real.add(s, s)",
        "loop s : Real = 0.0 for i : Int < #length[Real](xs) do
           #real.add(s, #real.mul(#index[Real](xs, i), #index[Real](xs, i)))",
        "letrec f : ([]Real, Int) -> Real = fn (p : ([]Real, Int)) ->
           let ys : []Real = proj[([]Real, Int), 0](p); i : Int = proj[([]Real, Int), 1](p) in
           if #eq[Int](i, #length[Real](ys)) then 0.0
           else #real.add(#index[Real](ys, i), f tuple[([]Real, Int)](ys, #int.add(i, 1)))
         in f tuple[([]Real, Int)](xs, 0)",
    ] {
        let (few, many) = (operations(100, body), operations(1000, body));
        assert!(many < 11 * few, "{few} and {many}: {body}");
    }
}
