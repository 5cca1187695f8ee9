//! Nonlinear programs: those of Hock and Schittkowski, optimal control, what cannot be solved, and what is refused. On the
//! evaluator: what other engines do with the method, `tests/lang/library/optim_nlp.deo` shows.

use crate::support::{root, run_on};
use diffeo::{Engine, Kinks, Program};

#[test]
fn problems_of_hock_and_schittkowski_are_solved_in_the_steps_of_ipopt() {
    let text = std::fs::read_to_string(root().join("tests/accuracy/nlp.deo")).expect("nlp.deo");
    let program = Program::from_text("nlp.deo", &text).unwrap_or_else(|e| panic!("{e}"));
    let failed = program.function("failed").expect("a function");
    let failed = failed.evaluate(&diffeo::Value::Unit).unwrap_or_else(|e| panic!("{e}"));
    let failed = failed.elements().expect("a list");
    assert!(failed.is_empty(), "{failed:?}");
}

/// Programs that stop, each with a part of the message.
const REFUSED: &[(&str, &str)] = &[
    (
        "optim.nlp(fn x -> log(x.rate), one(-inf, inf), fn x -> x, one(-1.0, 1.0), {rate = -0.5})",
        "nlp: the value is nan, outside of the domain of f, at the start (which is moved between its bounds), rate = -0.5",
    ),
    (
        "optim.nlp(fn x -> x.rate, one(-inf, inf), fn x -> {root = sqrt(x.rate)}, ({root = 0.0}, {root = 2.0}), {rate = -0.5})",
        "nlp: the constraint root is nan, outside of its domain, at the start",
    ),
    (
        "optim.nlp(fn x -> x.rate, one(-inf, inf), fn x -> {root = sqrt(x.rate)}, ({root = 0.0}, {root = 2.0}), {rate = 0.0})",
        "nlp: the derivative of the constraint root by the unknown rate is inf at the start",
    ),
    (
        "optim.nlp(fn x -> x.rate, one(2.0, 1.0), fn x -> x, one(-1.0, 1.0), {rate = 0.0})",
        "nlp: no number lies between the bounds 2.0 and 1.0 of the unknown rate: exchange them",
    ),
    (
        "optim.nlp(fn x -> x.rate, one(0.0, 1.0), fn x -> x, one(1.0, nan), {rate = 0.0})",
        "nlp: no number lies between the limits 1.0 and nan of the constraint rate: give numbers, -inf or inf",
    ),
    (
        "optim.nlp(fn x -> x[0], (some(1), some(2)), fn x -> x, (some(2), some(2)), some(2))",
        "nlp: the start has 2 Reals, the lower bounds 1 and the upper bounds 2: give one for each",
    ),
    (
        "optim.nlp(fn x -> x[0], (some(2), some(2)), fn x -> x, (some(1), some(1)), some(2))",
        "nlp: g gives 2 Reals, and there are limits for 1",
    ),
    ("optim.nlp(fn _ -> 1.0, (0, 1), fn _ -> (), ((), ()), 1)", "nlp: the start holds no Real: 1"),
    (
        "optim.nlp_with({optim.nlp_options with barrier = 0.0}, sq, (0.0, 1.0), fn _ -> (), ((), ()), 1.0)",
        "nlp: the barrier is 0.0; it must be positive",
    ),
    (
        "patterned({optim.nlp_options with jacobian = Just([(0, 0)])})",
        "nlp: the pattern `jacobian` misses an entry of [0]: leave the pattern out to have it found",
    ),
    (
        "patterned({optim.nlp_options with hessian = Just([(0, 0), (1, 1)])})",
        "nlp: the pattern `hessian` misses an entry of [0]: leave the pattern out to have it found",
    ),
    (
        "patterned({optim.nlp_options with hessian = Just([(0, 2)])})",
        "nlp: the pattern `hessian` has row 0, column 2, outside of 2 rows and 2 columns",
    ),
    (
        "grad(fn p -> (optim.nlp(fn x -> sq(x[0] - p) + sq(x[1]), free, fn x -> [x[0] + x[1], 2.0 * x[0] + 2.0 * x[1]], \
         ([2.0, 4.0], [2.0, 4.0]), [5.0, 2.0])).value)(1.0)",
        "nlp: what was found at [0] = 1.5, [1] = 0.5 has no derivative: the matrix of the Lagrangian's second derivatives is \
         singular (constraints that depend on one another, or a minimum that is not a point)",
    ),
    (
        "grad(fn p -> (optim.nlp(fn x -> p * x[0], free, fn x -> [sum(x)], ([2.0], [2.0]), [5.0, 2.0])).value)(1.0)",
        "has no derivative: it is no minimum (Unbounded)",
    ),
    (
        "ode.boundary_value(fn (_, y) -> y, fn (a, b) -> (a, b), (0.0, 1.0), 10, fn _ -> 1.0)",
        "ode.boundary_value: `ends` gives 2 Reals, and a state has 1: as many conditions are needed",
    ),
    (
        "ode.boundary_value(fn (_, y) -> y, fn (a, _) -> a, (0.0, 1.0), 0, fn _ -> 1.0)",
        "ode.boundary_value: there must be at least one step, not 0",
    ),
];

/// Programs that end without a minimum or are at the edge of what can be solved, and that hold.
const HOLDS: &[&str] = &[
    // Two constraints and a bound against each other.
    "let r = optim.nlp(fn x -> x.a + x.b, ({a = -inf, b = -inf}, {a = 1.0, b = inf}), fn x -> {sum = x.a + x.b, disc = sq(x.a) + sq(x.b),
       other = x.b}, ({sum = 3.0, disc = -inf, other = -5.0}, {sum = inf, disc = 4.0, other = 9.0}), {a = 0.5, b = 0.5}) in
     r.reason == optim.Infeasible and length(r.conflicts) == 3 and near(ravel(r.point), [1.0, sqrt(3.0)])
     and near(ravel(r.multipliers), [-0.5 / sqrt(3.0), 0.0, 1.0])",
    // More equations than unknowns, with a solution and without one.
    "let r(c: Real) = optim.nlp(fn x -> 0.0 * x[0], free, fn x -> [x[0] - 1.0, x[1] - 2.0, sum(x) - c], (zeros(3), zeros(3)), [0.0, 0.5]) in
     r(3.0).reason == optim.GradientSmall and near(r(3.0).point, [1.0, 2.0]) and length(r(4.0).conflicts) == 3",
    // No minimum, by bounds and by a linear function.
    "let r = optim.nlp(fn (x, y) -> -x * y, ((0.0, 0.0), (inf, inf)), fn (x, y) -> x - y, (0.0, 0.0), (1.0, 1.0))
     let s = optim.nlp(fn (x, y) -> x + sq(y), optim.unbounded((0.0, 0.0)), fn (x, y) -> x - y, (-inf, 0.0), (1.0, 1.0)) in
     r.reason == optim.Unbounded and s.reason == optim.Unbounded",
    // Equalities that depend on one another.
    "let r = optim.nlp(fn x -> sq(x[0] - 3.0) + sq(x[1]), free, fn x -> [x[0] + x[1], 2.0 * x[0] + 2.0 * x[1], sq(x[0]) - 1.0],
       ([2.0, 4.0, 0.0], [2.0, 4.0, 0.0]), [5.0, 2.0]) in
     r.reason == optim.GradientSmall and near(r.point, [1.0, 1.0]) and r.violation < 1e-14",
    // A Hessian that is nowhere positive; a corner that three constraints hold.
    "let r = optim.nlp(fn x -> -norm_sq(x), ([-1.0, -2.0], [2.0, 1.0]), fn x -> [sum(x)], ([-inf], [1.5]), [0.1, 0.2])
     let s = optim.nlp(fn x -> -3.0 * x[0] - 2.0 * x[1], ([0.0, 0.0], [inf, inf]), fn x -> [x[0] + x[1], x[0] + 3.0 * x[1], x[0]],
       ([-inf, -inf, -inf], [4.0, 6.0, 3.0]), [0.1, 0.1]) in
     r.reason == optim.GradientSmall and s.reason == optim.GradientSmall and near(s.point, [3.0, 1.0])",
    // An unknown without room, and none that is free; f has values between the bounds alone.
    "let r = optim.nlp(fn x -> sq(x[0] - 1.0) + x[1] * x[0], ([-inf, 2.0], [inf, 2.0]), fn _ -> (), ((), ()), [0.5, 0.2])
     let s = optim.nlp(fn x -> x ^ 4 - x, (2.0, 2.0), fn _ -> (), ((), ()), 2.0)
     let t = optim.nlp(fn x -> x * log(x) - sqrt(2.0 - x), (0.0, 2.0), fn _ -> (), ((), ()), 0.0) in
     near(r.point, [0.0, 2.0]) and s.bound_multipliers == 31.0 and t.reason == optim.GradientSmall",
    // Bratu's equation and its derivative by a parameter; an eigenvalue, as a state that stays.
    "let middle(l: Real) = (ode.boundary_value(fn (_, (y, v)) -> (v, -l * exp(y)), fn ((a, _), (b, _)) -> [a, b], (0.0, 1.0), 20,
       fn _ -> (0.1, 0.0))).states[10].0
     let r = ode.boundary_value(fn (_, (y, v, k)) -> (v, -k * k * y, 0.0), fn ((a, v, _), (b, _, _)) -> [a, b, v - 1.0], (0.0, 1.0), 40,
       fn t -> (t * (1.0 - t), 1.0 - 2.0 * t, 3.0)) in
     near([middle(1.0), grad(middle)(1.0)], [0.1405392, 0.1592028]) and abs(r.states[0].2 - pi) < 1e-6 and r.error < 1e-6",
    // The least time between two points, which is 2 sqrt(d), and its derivatives.
    "let time(d: Real) =
       let (p: ode.Control[Mass, Real, (Mass, Mass)]) = {
         dynamics = fn (_, {x, v}, u) -> {x = v, v = u}, running = fn _ -> 0.0, final = fn (t, _) -> t,
         ends = fn (a, b) -> (a, {x = b.x - d, v = b.v}), states = ({x = -inf, v = -inf}, {x = inf, v = inf}),
         controls = (-1.0, 1.0), start = 0.0, end = (0.1, inf)} in
       ode.collocate(p, 10, fn t -> ({x = t, v = 0.5}, 0.0)).value in
     near([time(1.0), grad(time)(1.0), grad(grad(time))(1.0)], [2.0, 1.0, -0.5])",
    // M. Kelly, 2017: the swing-up of a cart-pole by trapezoids, as Ipopt finds it.
    "let (m1, m2, l, g) = (1.0, 0.3, 0.5, 9.81)
     let (p: ode.Control[Pole, Real, (Pole, Pole)]) = {
       dynamics = fn (_, x, u) ->
         let (s, c) = (sin(x.angle), cos(x.angle)) in
         let mass = m1 + m2 * (1.0 - c * c) in
         {q = x.v, angle = x.w, v = (l * m2 * s * sq(x.w) + u + m2 * g * c * s) / mass,
          w = -(l * m2 * c * s * sq(x.w) + u * c + (m1 + m2) * g * s) / (l * mass)},
       running = fn (_, _, u) -> sq(u), final = fn _ -> 0.0,
       ends = fn (a, b) -> (a, {q = b.q - 1.0, angle = b.angle - pi, v = b.v, w = b.w}),
       states = ({q = -2.0, angle = -inf, v = -inf, w = -inf}, {q = 2.0, angle = inf, v = inf, w = inf}),
       controls = (-20.0, 20.0), start = 0.0, end = (2.0, 2.0)}
     let r = ode.collocate_with({ode.collocation_defaults with rule = ode.Trapezoid}, p, 30,
       fn t -> ({q = t, angle = pi * t, v = 0.0, w = 0.0}, 0.0)) in
     abs(r.value - 59.686163) < 1e-6 and r.reason == optim.GradientSmall",
    // A report.
    "let r = optim.nlp(fn x -> -norm_sq(x), ([-1.0, -2.0], [2.0, 1.0]), fn x -> [sum(x)], ([-inf], [1.5]), [0.1, 0.2]) in
     optim.nlp_summary({r with iterations = 7, evaluations = 9}) == \"GradientSmall after 7 steps, 9 evaluations\\nvalue                      -2.000000\\nconstraints missed by      0.0\\ngradient of the Lagrangian 0.0\\n\\nUnknowns: 2, of which 2 held\\n         value    multiplier\\n     -1.000000      2.000000  [0]\\n      1.000000     -2.000000  [1]\\n\\nConstraints: 1, of which 0 held\\n\"",
];

const PRELUDE: &str = "import optim
import ode
type Mass = {x: Real, v: Real}
type Pole = {q: Real, angle: Real, v: Real, w: Real}
def one(a: Real, b: Real) = ({rate = a}, {rate = b})
def some(n: Int) -> []Real = zeros(n)
def free = ([-inf, -inf], [inf, inf])
def near(xs: []Real, ys: []Real) = length(xs) == length(ys) and all(fn d -> abs(d) < 1e-7, xs - ys)
def patterned(options: optim.NlpOptions) =
  optim.nlp_with(options, fn x -> x[0], ([0.0, 0.0], [1.0, 1.0]), fn x -> [x[0] * x[1]], ([0.5], [inf]), [0.0, 0.0])
";

#[test]
fn what_is_no_nonlinear_program_is_refused() {
    for (program, message) in REFUSED {
        let text = format!("{PRELUDE}def main = {program}");
        let (_, _, outcome) = run_on(&text, Kinks::Ignore, Engine::Reference);
        assert!(outcome.value.is_none(), "{program}: {:?}", outcome.value);
        let told = format!("{:?}", outcome.diagnostics);
        assert!(told.contains(message), "{program}: {told}");
    }
}

#[test]
fn programs_without_a_minimum_or_at_the_edge_end_as_they_should() {
    for program in HOLDS {
        let text = format!("{PRELUDE}def main =\n     {program}");
        let (_, _, outcome) = run_on(&text, Kinks::Ignore, Engine::Reference);
        assert_eq!(outcome.value.as_deref(), Some("true"), "{program}: {:?}", outcome.diagnostics);
    }
}
