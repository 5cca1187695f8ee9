//! Messages as they are rendered: header, source lines with labels, notes and help.

use crate::common::Folder;

/// What a program writes to standard error.
fn messages(text: &str) -> String {
    Folder::new().with("case.deo", text).run(&["run", "case.deo"]).err
}

#[test]
fn types_that_differ() {
    insta::assert_snapshot!(messages(
        "def f(x: Real, n: Int) -> Real = x * n\ndef main = f(1.0, \"two\")\n"
    ));
}

#[test]
fn sizes_that_differ() {
    insta::assert_snapshot!(messages(
        "def f(x: [n]Real, y: [m]Real) -> Real = dot(x, y)\ndef main = [1.0, 2.0] + [1.0, 2.0, 3.0]
def g(x: Real) -> []Real = if x < 0.0 then [] else [x]\n"
    ));
}

#[test]
fn a_case_that_does_not_cover_everything() {
    insta::assert_snapshot!(messages(
        "type Shape = Circle(Real) | Box(Real, Real)
def area(s: Maybe[Shape]) =
  case s of { Just(Circle(r)) -> r | Nothing -> 0.0 | Nothing -> 1.0 }
def main = area(Nothing)\n"
    ));
}

#[test]
fn several_errors_in_one_run() {
    insta::assert_snapshot!(messages(
        "def a = lenght([1])\ndef b = 1 + true\ndef c(x, y) = x == y\ndef main = (a, b\n"
    ));
}

#[test]
fn an_error_within_the_library_stands_at_the_call() {
    insta::assert_snapshot!(messages(
        "def rows = iota(2)\ndef main = maximum(rows[0..0]) + rows[5]\n"
    ));
}

#[test]
fn sizes_that_differ_at_run_time() {
    insta::assert_snapshot!(messages(
        "def f(x: [n]Real, y: [n]Real) = dot(x, y)
def some(k: Int) = [1.0 for i < k]
def main =
  let r = f(some(2), some(3)) in r + 1.0\n"
    ));
}

#[test]
fn a_nan_derivative_of_a_finite_value() {
    insta::assert_snapshot!(messages("def main = grad(fn x -> sqrt(x * x))(0.0)\n"));
}

#[test]
fn calls_have_the_names_of_the_program() {
    // Functions of the library end with calls of others of its own, and each is an instance.
    let text = "import ode
def at(xs: []a, i: Int) -> a = xs[i]
def motion(v: Real, force: Real) = force + at([v], 1)
def pushed(far: Real) =
  let (problem: ode.Control[Real, Real, []Real]) = {
    dynamics = fn (_, v, force) -> motion(v, force) + 0.0,
    running = fn (_, _, force) -> sq(force),
    final = fn _ -> 0.0,
    ends = fn (a, b) -> [a, b - far],
    states = (-inf, inf),
    controls = (-inf, inf),
    start = 0.0,
    end = (1.0, 1.0)
  } in
  ode.collocate(problem, 4, fn part -> (part, 0.0)).value
def main = pushed(1.0) + 0.0\n";
    for engine in ["interp", "flat", "jit"] {
        let folder = Folder::new().with("case.deo", text);
        let err = folder.run(&["run", "case.deo", "--engine", engine]).err;
        for name in ["at", "motion", "ode.collocate"] {
            assert!(err.contains(&format!("`{name}` called here")), "{engine}: {err}");
        }
        assert!(!err.contains("collocated") && !err.contains("[Real"), "{engine}: {err}");
    }
}
