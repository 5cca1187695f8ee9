//! The layout of each construct, short and long, with comments; what is refused; large and deep texts.

use diffeo_base::FileId;
use diffeo_syntax::{format, parse, print, MAX_DEPTH};
use std::time::{Duration, Instant};

fn formatted(text: &str) -> String {
    let beginning: String = text.chars().take(1000).collect();
    format(FileId(0), text).unwrap_or_else(|errors| panic!("{errors:?}\n{beginning}"))
}

/// The text in its layout is this one.
#[track_caller]
fn becomes(text: &str, layout: &str) {
    assert_eq!(formatted(text), layout);
}

#[test]
fn imports_and_types() {
    let layout = formatted(
        r"
import   linalg
import linalg(solve,cholesky , Shape)
import linalg (solve, cholesky, lu, qr, inverse, determinant, logdet, eigh, solve_lower, solve_upper)

type Maybe[ a ]=Nothing|Just( a )
type Shape = Circle(Real) | Square(Real, Real) | Polygon([](Real, Real)) | Nothing | Something(Real) | Text
type One = | One
type Two = | One
  | Two
type Vec3     = {x: Real, y: Real, z: Real}           # an alias
type Longer     = {x: Real, y: Real}                  # another
type Options = {tolerance: Real, max_steps: Int, verbose: Bool, callback: (Int, Real) -> (), start: [n]Real}
type Point = {
  x: Real, y: Real}
type Rule = ((Real, Real, Real, Some[Long, Type]), Some[Long, Type]) -> (Real -> [3][n]Real) -> m.Result[(), Real]
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn definitions() {
    let layout = formatted(
        r"
## Documentation.
##   > pi
def pi : Real=3.14
def nothing( )=()
def id(x:a)->a=x
def f({x,y=q}: {x: Real, y: Real},(a,_): (Int, Int))=x
def pull(f: s -> t, x: s) -> (t -> s) = some_function_with_a_long_name(f, x, another_argument_of_it)
def minimise(f: [n]Real -> Real, start: [n]Real, tolerance: Real, max_steps: Int) -> ([n]Real, Real) = start
def minimum_of(f: [n]Real -> Real, start: [n]Real, tolerance: Real) -> {minimum: [n]Real, value: Real} = start
def rows = [[1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 1.0]]
def call = some_function_with_long_name(argument_number_one, argument_number_two, argument_number_three, last)
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn lets() {
    let layout = formatted(
        r"
def a = let x = 1 in x
def b = let x = 1 in
  x
def c = let x = 1 let y = 2 in let z = 3


let (w: Int) = 4 in x + y + z + w
def d = let rec go(n: Int) -> Int = if n == 0 then 0 else go(n - 1) in let f() = 1 in go(f())
def e = let value = some_function(argument_number_one, argument_number_two) * another_one(argument) in value
def f = let values = [some_function(argument_number_one), another_function(argument_number_two), third(x)] in values
def g = f(let x = 1 let y = 2 in x, 2)
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn conditionals() {
    let layout = formatted(
        r"
def a(x) = if x then 1 else 2
def b(x) = if x then 1
  else 2
def c(x) = if some_condition(x) then some_function(argument_number_one) else another_function(argument_two)
def d(x) = if some_condition(x) and another_condition(x) or a_third(x) then some_function(argument_number_one, x) else 1
def e(x) = if x > 1 then let y = 1 let z = 2 in y + z else if x > 0 then 1 else let y = 2 let z = 3 in y + z
def f(x) = if x then (if y then 1 else 2) else if z then 3 else 4
def g(x) = if the_first_condition(x) and the_second_condition(x) or the_third_condition(x) and a_fourth then 1 else 2
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn cases() {
    let layout = formatted(
        r"
def a(xs) = case xs of {Nil->0|x::_->x}
def b(xs) = case xs of {
 | Nil -> 0 | x :: _ -> x |}
def c(xs) = case xs of { Nil -> some_value | x :: rest -> some_function(x, rest) + another_function(x, rest) }
def d(xs) = case xs of { Just(x, (m.Pair(_, -1.5e3))) -> let y = 1 let z = 2 in x | {x, y = true} -> 1 | () -> f(case x of { y -> z }) | _ -> fail(s) }
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn loops_and_functions() {
    let layout = formatted(
        r"
def a = loop x=0 for i<n do x+i
def b = loop x=0 while x<n do
  x+1
def c = loop (out, rest) = (replicate(n, x), xs) for x in some_function(xs) do some_function(out, rest, x, i)
def d = loop (some_state, other_state, third_state) = (initial_state(xs), another_initial_state(xs)) for i < steps do body
def e = fn x->fn(y,z)->x
def f = fn x -> fn y -> some_function(argument_number_one, x) * another_function(argument_number_two, y) * 100000
def g = grad(fn (w, b) -> let y = some_function(w, b) in some_other_function(y, y, y) + another_function(y, b))(w, b)
def h = fold_left(fn (acc, x) -> some_function_with_a_long_name(acc, x), initial_value, some_array_with_a_name)
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn operators() {
    let layout = formatted(
        r"
def a = -x^2*y+(z)-((w))%2
def b = not a and b or c==d and e!=f::g++h
def c = xs|>map(f,_)|>sum
def d = xs |> map(f, _)
 |> sum
def e = some_long_name_of_a_value + another_long_name_of_a_value * a_third_long_name_of_a_value - a_fourth_long_name
def f = first_element_of_the_list :: second_element_of_the_list :: (third_element :: fourth_element) :: the_rest
def g = f(some_long_name_of_a_value + another_long_name_of_a_value * a_third_long_name_of_a_value - a_fourth_one)
def h = a.b.0.1(x)[i,j].c + 3 .0 + 92233720368547758071 .1 + xs[1 .. n]
",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn brackets() {
    let layout = formatted(
        r#"
def a = ( 1,2, ) |> f( ) |> g(x,) |> list[1,2] |> {x=1,y={r with x=1,y=2}} |> [x for x in xs,i<n]
def b = [
 1, 2, 3]
def c = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, -16.0, -17.0, 18.0, 1e-3]
def d = [some_function(x, y) * another_function(x, y) + a_third_function(x, y) for x in some_array, y in another]
def e = sum([some_function(x, y) * another_function(x, y) + a_third_function(x, y) for x in some_array, y < 10])
def f = {some_field = some_function(argument_number_one), another_field = another_function(argument_two), z = 1}
def g = {r with some_field = some_function(argument_number_one), another_field = another_function(argument_two)}
def h = xs with [i,j] = some_function(argument_number_one, argument_two) * another_function(argument_three) + 1
def i = (xs with [i] = 1) with [j] = 2
def j = ("tab\tdelta \u{3b4}", 1e-3, 007, 1.50, 2E5, true, _x, x')
"#,
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn last_arguments_and_operands_are_hugged() {
    let layout = formatted(
        r#"
def a = progress("lbfgs", state.k + 1, next.value, {point = next.point, value = next.value, gradient = next.gradient})
def b = build(number_of_rows, fn i -> let x = some_function(i) in x * some_other_function(x) + another_one(x))
def c = with_derivative(fn (a, bs) -> let f = factors(name, a) in [substitute(f, b) for b in bs], rule)(a, bs)
def d = twice(adapted(tolerance, fn t -> at(f, a + t) + at(f, a + 1.0 / t) / t / t, start, end, maximum_of_steps, x))
def e = fail("ode.solve: the times must all rise or all fall, but ts[" ++ show(i) ++ "] = " ++ show(ts[i]) ++ ", ts[")
def f = h * (71.0 / 57600.0 * k1 - 71.0 / 16695.0 * k3 + 71.0 / 1920.0 * k4 - 17253.0 / 339200.0 * k5 + 22.0 * k6)
def g = ((((7.7454501427834140764 * r + 0.0227238449892691845833) * r + 0.241780725177450611) * r + 1.27045825245236) * r)
def h = update(xs, [1, 2, 3], # a comment before the last one
  {point = next.point, value = next.value})
def i = update(fn x -> some_function_with_a_long_name(x), fn y -> another_function_with_a_long_name(y) + 1, initial)
def j = if some_condition(x) then [some_function(argument_one), another_function(argument_two)] else {r with x = 1, y = z}
def k = [(10.07, 77.6), (14.73, 114.9), (17.94, 141.1), (23.93, 190.8), (29.61, 239.9), (35.18, 289.0), (40.02, 332.8)]
def l = [
  1, 0, 0, 0, 1, 0,
  0, 0, 1]
"#,
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn comments() {
    let layout = formatted(
        r"

# At the top.
#no space


## Documentation of f,
# interrupted.
def f(x) = x+1 # behind
               # and below
def g( # of parameters
  x, # the first
  y # the second
  # no third
  ) # before the sign
  = # after it
  # on its own
  x
def h = let x = 1 # one

  # about y
  let y = 2
  # before in
  in # after in

  # about the body
  x
def i = case # odd
  x of # odder
  { # open
  # the first
  A -> 1 # one
  # the second

  # of them
  | # bar
  B -> 2
  # no more
  }
def j = [ # numbers
  1, 2 # two
  , 3
  # no four
  ]
def k = f(
  # nothing
)
def l = if a # why
  then b # then
  # otherwise
  else # else
  c
def m = a + # plus
  b
  # minus
  - c
def n = loop x = 1 # start
  for i < n # bound
  do # body
    x
type T # name
  = # sign
  # of A
  A(Real) # a
  # of B
  | B
# The end.

# Really.


",
    );
    insta::assert_snapshot!(layout);
}

#[test]
fn comments_behind_lines_stay_below_each_other() {
    becomes(
        "def a = 1     # one\ndef bcd = 2   # two\n              # three\ndef e = 3 # four\n",
        "def a = 1    # one\ndef bcd = 2  # two\n             # three\ndef e = 3  # four\n",
    );
}

#[test]
fn texts_without_definitions() {
    becomes("", "");
    becomes(" \r\n\t\n", "");
    becomes("\u{feff}\n# only\r\n\r\n\r\n# comments  ", "# only\n\n# comments\n");
}

#[test]
fn line_ends_become_those_of_unix() {
    becomes("def f =\r\n  1 # one\r\n\r\n\r\ndef g = 2", "def f = 1  # one\n\ndef g = 2\n");
}

#[test]
fn texts_with_syntax_errors_are_refused_with_their_messages() {
    for text in ["def f =", "def f = (1", "def f = @", "def f = \"a", "f = 1", "def f = let x = 1"]
    {
        let (_, diagnostics) = parse(FileId(0), text);
        assert!(!diagnostics.is_empty());
        assert_eq!(format(FileId(0), text), Err(diagnostics), "{text}");
    }
}

#[test]
fn deep_texts() {
    let n = MAX_DEPTH - 10;
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("f(", ")"),
        ("[", "]"),
        ("[x, ", "]"),
        ("{x = ", "}"),
        ("if a then b else ", ""),
        ("if a then ", " else b"),
        ("a :: ", ""),
        ("fn x -> ", ""),
        ("let x = ", " in x"),
        ("case a of { x -> ", "}"),
        ("loop x = 1 while b do ", ""),
        ("[a for i < ", "]"),
        ("(a + ", ")"),
        ("xs with [i] = ", ""),
    ] {
        let text = format!("def f = {}x{}", open.repeat(n), close.repeat(n));
        let done = formatted(&text);
        assert_eq!(formatted(&done), done, "{open}");
        assert!(done.len() < 400 * n, "{open}: {} bytes", done.len());
    }
    for (open, close, n) in [("(", ")", n), ("S(", ")", n / 2), ("{x = ", "}", n), ("x :: ", "", n)]
    {
        formatted(&format!("def f({}x{}) = 1", open.repeat(n), close.repeat(n)));
    }
    for (open, close) in [("(", ")"), ("L[", "]"), ("[]", ""), ("Real -> ", ""), ("{x: ", "}")] {
        formatted(&format!("def f: {}Real{} = 1", open.repeat(n), close.repeat(n)));
    }
}

#[test]
fn long_texts_take_linear_time() {
    const N: usize = 100_000;
    for text in [
        format!("def f = [{}]", "1.5,".repeat(N)),
        format!("def f = [{}]", "[x, 1],".repeat(N)),
        format!("def f = {} in x", "let x = y + 1 ".repeat(N)),
        format!("def f(x) = case x of {{{}}}", "A -> 1 |".repeat(N)),
        "def f(x) = x # why\n\n".repeat(N),
        format!("def f = [{}1]", "1, # one\n# two\n".repeat(N)),
        format!("{}def f = 1", "#\n".repeat(N)),
        format!("def f = a{}\n", " + x".repeat(MAX_DEPTH - 10)).repeat(N / MAX_DEPTH),
        format!("def f = {}", "x".repeat(10 * N)),
    ] {
        let start = Instant::now();
        let done = formatted(&text);
        let beginning: String = text.chars().take(40).collect();
        assert!(start.elapsed() < Duration::from_secs(20), "{beginning} …");
        let dump = |text: &str| print(&parse(FileId(0), text).0);
        assert!(dump(&done) == dump(&text), "{beginning} …");
    }
}
