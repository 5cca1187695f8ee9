//! Integrals within integrals over figures that move: areas and moments of discs and polygons beside closed forms, and
//! what has no velocity. On the evaluator, to which every engine leaves them.

use crate::support::run_on;
use diffeo::{Engine, Kinks};

/// The value of `main`, which is true where the program holds.
fn holds(text: &str) {
    let (_, _, outcome) = run_on(text, Kinks::Ignore, Engine::Reference);
    assert_eq!(outcome.value.as_deref(), Some("true"), "{:?}", outcome.diagnostics);
}

/// Compares two arrays up to 1e-9.
const NEAR: &str = "
def near(xs: [n]Real, ys: [n]Real) = all(fn d -> abs(d) < 1e-9, xs - ys)
";

#[test]
fn discs_have_derivatives_to_order_3() {
    holds(&format!(
        "import quadrature (integrate)\n{NEAR}
# The moment of a disc with the density 1 + x, whose centre and radius move.
def disc(r: Real, c: Real, d: Real) =
  integrate(fn y -> integrate(fn x -> if sq(x - c) + sq(y - d) < r * r then 1.0 + x else 0.0, -2.0, 2.0), -2.0, 2.0)
def exact(r: Real, c: Real) = pi * r * r * (1.0 + c)
def moved(t: Real) = disc(1.0 + 0.3 * t, 0.1 + 0.2 * t, 0.05 - 0.1 * t * t)
def main =
  let (dr, dc, dd) = grad(disc)(0.9, 0.1, 0.05)
  let (er, ec) = grad(exact)(0.9, 0.1) in
  near([dr, dc, dd], [er, ec, 0.0])
  and near(derivatives(3, moved)(0.2), derivatives(3, fn t -> exact(1.0 + 0.3 * t, 0.1 + 0.2 * t))(0.2))
"
    ));
}

#[test]
fn polygons_have_derivatives_to_order_3() {
    holds(&format!(
        "import quadrature (integrate)\n{NEAR}
type P = {{x: Real, y: Real}}
def side(p: P, q: P, x: Real, y: Real) = (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x)
def area(p: P, q: P, r: P) =
  integrate(fn y -> integrate(fn x ->
    if side(p, q, x, y) > 0.0 and side(q, r, x, y) > 0.0 and side(r, p, x, y) > 0.0 then 1.0 else 0.0,
    0.0, 1.0), 0.0, 1.0)
def shoelace(p: P, q: P, r: P) = 0.5 * side(p, q, r.x, r.y)
def at(t: Real) =
  ({{x = 0.1 + 0.1 * t * t, y = 0.15}}, {{x = 0.85, y = 0.2 + 0.1 * t}}, {{x = 0.4 - 0.2 * t, y = 0.8 + 0.1 * t}})
def main =
  near(ravel(grad(area)(at(0.0))), ravel(grad(shoelace)(at(0.0))))
  and near(derivatives(3, fn t -> area(at(t)))(0.3), derivatives(3, fn t -> shoelace(at(t)))(0.3))
"
    ));
}

#[test]
fn a_line_leaves_the_square_through_a_corner() {
    // From the slope 1 on, the line leaves through the upper side.
    holds(&format!(
        "import quadrature (integrate)\n{NEAR}
def below(t: Real) = integrate(fn x -> integrate(fn y -> if y < t * x then 1.0 else 0.0, 0.0, 1.0), 0.0, 1.0)
def main =
  near(derivatives(2, below)(1.6), derivatives(2, fn t -> 1.0 - 0.5 / t)(1.6))
"
    ));
}
