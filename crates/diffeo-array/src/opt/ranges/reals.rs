//! Intervals of Reals: bounds from comparisons with numbers, and what arithmetic makes of them. A Real with an
//! interval is no nan.

use super::prove::Facts;
use crate::ir::{Atom, Op, Var};
use diffeo_calculus::prim::{Comparison, RealOp};

/// The least and the largest value.
pub(super) type Interval = (f64, f64);

/// Reals up to here are Ints when rounded.
const LARGEST: f64 = (1_i64 << 62) as f64;

/// Whether rounding a Real of this interval gives an Int.
pub(super) fn has_int(interval: Interval) -> bool {
    -LARGEST <= interval.0 && interval.1 <= LARGEST
}

impl Facts {
    /// The interval of a Real, if it is known.
    pub fn real_interval(&self, atom: &Atom) -> Option<Interval> {
        match atom {
            Atom::Real(x) => (!x.is_nan()).then_some((*x, *x)),
            Atom::Var(v) => self.real(*v),
            Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        }
    }

    /// The interval of the result of an operation. Arithmetic rounds monotonically, so its ends are those of the
    /// operands' ends.
    pub fn result_interval(&mut self, op: &Op) -> Option<Interval> {
        let interval = match op {
            Op::ToReal(n) => {
                let form = self.form(n);
                let low = if self.prove(&form) { 0.0 } else { -2.0 * LARGEST };
                let most = self.form(&Atom::Int(1 << 62));
                let fits = self.at_most(&form, &most, 0);
                (low, if fits { LARGEST } else { 2.0 * LARGEST })
            }
            Op::Real(op, xs) => {
                let (a, b) = self.real_interval(xs.first()?)?;
                let second = xs.get(1).map(|x| self.real_interval(x));
                match (op, second) {
                    (RealOp::Neg, None) => (-b, -a),
                    (RealOp::Abs, None) => (
                        if a <= 0.0 && 0.0 <= b { 0.0 } else { a.abs().min(b.abs()) },
                        a.abs().max(b.abs()),
                    ),
                    (RealOp::Sqrt, None) if a >= 0.0 => (a.sqrt(), b.sqrt()),
                    (RealOp::Add, Some(Some((c, d)))) => (a + c, b + d),
                    (RealOp::Sub, Some(Some((c, d)))) => (a - d, b - c),
                    (RealOp::Min, Some(Some((c, d)))) => (a.min(c), b.min(d)),
                    (RealOp::Max, Some(Some((c, d)))) => (a.max(c), b.max(d)),
                    (RealOp::Mul, Some(Some((c, d)))) => ends([a * c, a * d, b * c, b * d]),
                    (RealOp::Div, Some(Some((c, d)))) if c > 0.0 || d < 0.0 => {
                        ends([a / c, a / d, b / c, b / d])
                    }
                    (_, _) => return None,
                }
            }
            _ => return None,
        };
        // An end that is infinite or nan comes from numbers that may be.
        (interval.0.is_finite() && interval.1.is_finite()).then_some(interval)
    }

    /// Notes what a comparison of Reals that holds says.
    pub fn assume_reals(&mut self, comparison: Comparison, a: &Atom, b: &Atom) {
        match comparison {
            Comparison::Lt | Comparison::Le => self.ordered(a, b),
            Comparison::Gt | Comparison::Ge => self.ordered(b, a),
            Comparison::Eq => {
                self.ordered(a, b);
                self.ordered(b, a);
            }
            Comparison::Ne => {}
        }
    }

    /// Notes `a ≤ b`, one of them a number.
    fn ordered(&mut self, a: &Atom, b: &Atom) {
        match (a, b) {
            (Atom::Var(v), Atom::Real(most)) => self.narrow(*v, (f64::NEG_INFINITY, *most)),
            (Atom::Real(least), Atom::Var(v)) => self.narrow(*v, (*least, f64::INFINITY)),
            (_, _) => {}
        }
    }

    /// Notes that a Real, and what its absolute value is of, lies in an interval.
    pub fn narrow(&mut self, v: Var, within: Interval) {
        self.note_real(v, within);
        if let Some(of) = self.absolute(v) {
            self.note_real(of, (-within.1, within.1));
        }
    }
}

fn ends(products: [f64; 4]) -> Interval {
    if products.iter().any(|x| x.is_nan()) {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    (
        products.into_iter().fold(f64::INFINITY, f64::min),
        products.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}
