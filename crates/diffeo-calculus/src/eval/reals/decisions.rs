//! Decisions of a function by numbers of a level: comparisons, roundings, choices. Whoever looks for jumps compares how
//! they came out at two points.

use super::{primal, Kinks, Reals};
use crate::eval::derivative::level::{below, level_of};
use crate::prim::{real, RealOp};
use crate::value::Value;
use diffeo_base::Span;

/// What a function decided, at a level.
#[derive(Debug)]
pub(crate) struct Decisions {
    level: u16,
    all: Vec<Decision>,
}

/// A comparison, a rounding, a choice: how it came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub site: Span,
    pub outcome: i64,
    /// Whether it depends on a number that varies at another level.
    pub moves: bool,
}

impl Reals {
    /// From now on remembers decisions that depend on the variables of a level, which are no kinks; gives what is done
    /// with kinks.
    pub(crate) fn remember_decisions(&mut self, level: u16) -> Kinks {
        self.decisions = Some(Decisions { level, all: Vec::new() });
        std::mem::replace(&mut self.kinks, Kinks::Ignore)
    }

    /// Ends that.
    pub(crate) fn take_decisions(&mut self, kinks: Kinks) -> Vec<Decision> {
        self.kinks = kinks;
        self.decisions.take().map_or(Vec::new(), |decisions| decisions.all)
    }

    /// Remembers a decision by these operands, of which the primals are given.
    #[inline]
    pub(super) fn decide(
        &mut self,
        operands: &[&Value],
        site: Span,
        outcome: impl Fn(&[f64]) -> i64,
    ) {
        let Some(decisions) = &mut self.decisions else { return };
        let (mut depends, mut moves) = (false, false);
        for operand in operands {
            let mut v = (*operand).clone();
            while level_of(&v) > decisions.level {
                v = below(&v, level_of(&v));
            }
            if level_of(&v) == decisions.level {
                depends = true;
                v = below(&v, decisions.level);
            }
            moves |= level_of(&v) > 0;
        }
        if depends {
            let primals: Vec<f64> = operands.iter().map(|v| primal(v)).collect();
            decisions.all.push(Decision { site, outcome: outcome(&primals), moves });
        }
    }

    /// Remembers what an operation chooses that is not smooth.
    pub(super) fn decide_in(&mut self, op: RealOp, a: &Value, b: &Value, site: Span) {
        match op {
            RealOp::Abs | RealOp::Sign => {
                self.decide(&[a], site, |x| real::eval(RealOp::Sign, x[0], 0.0) as i64)
            }
            RealOp::Min | RealOp::Max => {
                self.decide(&[a, b], site, |x| i64::from(real::chooses_first(op, x[0], x[1])));
            }
            RealOp::Rem => {
                self.decide(&[a, b], site, |x| real::truncated_quotient(x[0], x[1]) as i64)
            }
            // On both sides of the cut.
            RealOp::Atan2 => {
                self.decide(&[a, b], site, |x| i64::from(x[0] < 0.0) + 2 * i64::from(x[1] < 0.0));
            }
            _ => {}
        }
    }
}
