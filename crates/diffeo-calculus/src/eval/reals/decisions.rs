//! Decisions of a function by its argument: comparisons, roundings, choices. Whoever looks for jumps compares how they came
//! out at two points, and follows the place between by what was compared.

use super::Reals;
use crate::eval::derivative::level::{below, coefficients, level_of};
use crate::eval::error::ErrorKind;
use crate::prim::{real, RealOp, Rounding};
use crate::value::Value;
use diffeo_base::Span;

/// The coefficients of a number by the argument, and along a generic direction of what the function captured, at the
/// level of decisions.
pub(crate) const ARGUMENT: usize = 1;
pub(crate) const CAPTURED: usize = 2;

/// Decisions of a function, in order.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// The level of its argument.
    level: u16,
    pub all: Vec<Decision>,
}

impl Decisions {
    /// None so far.
    pub(crate) fn at(level: u16) -> Decisions {
        Decisions { level, all: Vec::new() }
    }
}

/// A comparison, a rounding, a choice that depends on the argument.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// A number for its place in the source.
    pub place: f64,
    pub outcome: f64,
    /// A number of the level that is 0 where it comes out otherwise.
    pub margin: Value,
    /// The largest number so far, whose rounding the margin may have; 0 if the library tells of the decision.
    pub largest: f64,
}

/// A number for a place in the source.
fn number_of_place(site: Span) -> f64 {
    f64::from(site.start) + f64::from(site.end) * 1e6 + f64::from(site.file.0) * 1e12
}

impl Reals {
    /// From now on decisions are remembered here; gives where they were before.
    pub(crate) fn swap_decisions(&mut self, new: Option<Decisions>) -> Option<Decisions> {
        std::mem::replace(&mut self.decisions, new)
    }

    /// Remembers a decision that the library tells of.
    pub(crate) fn told(&mut self, place: f64, outcome: f64, margin: &Value) {
        let Some(decisions) = &mut self.decisions else { return };
        let margin = at_level(margin, decisions.level);
        if depends(&margin, decisions.level) {
            decisions.all.push(Decision { place, outcome, margin, largest: 0.0 });
        }
    }

    /// Remembers a decision by these operands.
    #[inline]
    pub(super) fn decide<const N: usize>(
        &mut self,
        operands: [&Value; N],
        site: Span,
        outcome: i64,
        margin: impl FnOnce(&mut Reals, [Value; N]) -> Result<Value, ErrorKind>,
    ) -> Result<(), ErrorKind> {
        let Some(level) = self.decisions.as_ref().map(|decisions| decisions.level) else {
            return Ok(());
        };
        let operands = operands.map(|operand| at_level(operand, level));
        if operands.iter().any(|v| depends(v, level)) {
            let margin = margin(self, operands)?;
            if let Some(decisions) = &mut self.decisions {
                let (place, outcome) = (number_of_place(site), outcome as f64);
                let largest = self.largest;
                decisions.all.push(Decision { place, outcome, margin, largest });
            }
        }
        Ok(())
    }

    /// Remembers a comparison.
    pub(super) fn decide_by_order(
        &mut self,
        [a, b]: [&Value; 2],
        site: Span,
        outcome: i64,
    ) -> Result<(), ErrorKind> {
        self.decide([a, b], site, outcome, |reals, [a, b]| reals.op(RealOp::Sub, &a, &b, site))
    }

    /// Remembers a rounding: its distance from the nearest number at which it changes.
    pub(super) fn decide_rounding(
        &mut self,
        r: Rounding,
        v: &Value,
        site: Span,
        rounded: i64,
    ) -> Result<(), ErrorKind> {
        self.decide([v], site, rounded, |reals, [v]| {
            let x = super::primal(&v);
            let nearest = match r {
                Rounding::Floor | Rounding::Ceil | Rounding::Trunc => x.round(),
                Rounding::Round => x.floor() + 0.5,
            };
            reals.op(RealOp::Sub, &v, &Value::Real(nearest), site)
        })
    }

    /// Remembers the order of numbers, of which these are neighbours in it: the smallest gap.
    pub(super) fn decide_order(
        &mut self,
        sorted: &[Value],
        site: Span,
        outcome: i64,
    ) -> Result<(), ErrorKind> {
        let Some(level) = self.decisions.as_ref().map(|decisions| decisions.level) else {
            return Ok(());
        };
        let sorted: Vec<Value> = sorted.iter().map(|v| at_level(v, level)).collect();
        let gap = |pair: &[Value]| super::primal(&pair[1]) - super::primal(&pair[0]);
        let depending = sorted.windows(2).filter(|pair| pair.iter().any(|v| depends(v, level)));
        match depending.min_by(|p, q| gap(p).total_cmp(&gap(q))) {
            Some([a, b]) => self.decide_by_order([b, a], site, outcome),
            _ => Ok(()),
        }
    }

    /// Remembers what an operation chooses that is not smooth.
    pub(super) fn decide_in(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<(), ErrorKind> {
        let (x, y) = (super::primal(a), super::primal(b));
        match op {
            RealOp::Abs | RealOp::Sign => {
                let sign = real::eval(RealOp::Sign, x, 0.0) as i64;
                self.decide([a], site, sign, |_, [a]| Ok(a))
            }
            RealOp::Min | RealOp::Max => {
                self.decide_by_order([a, b], site, i64::from(real::chooses_first(op, x, y)))
            }
            RealOp::Rem => {
                let quotient = real::truncated_quotient(x, y) as i64;
                self.decide([a, b], site, quotient, |reals, [a, b]| {
                    let quotient = reals.op(RealOp::Div, &a, &b, site)?;
                    reals.op(RealOp::Sub, &quotient, &Value::Real((x / y).round()), site)
                })
            }
            // The cut is where the first is 0 and the second negative.
            RealOp::Atan2 => self.decide([a], site, i64::from(x < 0.0), |_, [a]| Ok(a)),
            _ => Ok(()),
        }
    }
}

/// A number without what varies at higher levels.
fn at_level(v: &Value, level: u16) -> Value {
    let mut v = v.clone();
    while level_of(&v) > level {
        v = below(&v, level_of(&v));
    }
    v
}

/// A number of a level depends on the argument.
fn depends(v: &Value, level: u16) -> bool {
    coefficients(v, level).is_some_and(|c| !matches!(c[ARGUMENT], Value::Zero))
}
