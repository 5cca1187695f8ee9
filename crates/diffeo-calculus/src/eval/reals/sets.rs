//! Sets of arguments: on which a number depends.
//!
//! A level of sets has numbers of two coefficients: what the number is, and the set of the arguments on which it
//! depends, a whole number whose bits are elements. An operation has the union of the sets of its operands, but of those
//! by which its derivative is 0 everywhere; of an operation that chooses, that of what it chose.

use super::{is_zero, primal, Reals};
use crate::eval::derivative::jet::JetShape;
use crate::eval::derivative::level::{below, coefficients, jet, JetLevel, Level};
use crate::eval::error::ErrorKind;
use crate::prim::{real, RealOp};
use crate::value::Value;
use diffeo_base::Span;
use std::rc::Rc;

impl Reals {
    /// Opens a level of sets.
    pub(crate) fn open_sets(&mut self) -> Result<(u16, Rc<JetShape>), ErrorKind> {
        let shape = self.jet_shape(1, 1);
        let level = JetLevel { shape: shape.clone(), culprit: None, germ: None, sets: true };
        Ok((self.open(Level::Jet(level))?, shape))
    }

    /// The numbers of a level have sets.
    pub(crate) fn has_sets(&self, level: u16) -> bool {
        let of = usize::from(level).checked_sub(1).and_then(|i| self.levels.get(i));
        matches!(of, Some(Level::Jet(jet)) if jet.sets)
    }

    /// Sets whether nan are numbers that are not known; what was set.
    pub(crate) fn set_all_paths(&mut self, all_paths: bool) -> bool {
        std::mem::replace(&mut self.all_paths, all_paths)
    }

    /// The operation chooses one of these, and it is not known which.
    pub(super) fn may_choose_both(&self, op: RealOp, x: f64, y: f64) -> bool {
        self.all_paths && matches!(op, RealOp::Min | RealOp::Max) && (x.is_nan() || y.is_nan())
    }

    /// An operation at a level of sets.
    pub(super) fn with_sets(
        &mut self,
        op: RealOp,
        [a, b]: [&Value; 2],
        level: u16,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let (x, y) = (primal(a), primal(b));
        let counts = match op {
            RealOp::Sign => [false, false],
            RealOp::Min | RealOp::Max if self.may_choose_both(op, x, y) => [true, true],
            RealOp::Min | RealOp::Max => {
                let first = real::chooses_first(op, x, y);
                [first, !first]
            }
            _ => [true, real::row(op).arity == 2],
        };
        let value = self.op(op, &below(a, level), &below(b, level), site)?;
        let sets = [(a, counts[0]), (b, counts[1])].map(|(v, counts)| match counts {
            true => set_of(v, level),
            false => 0,
        });
        Ok(with_set(level, value, sets[0] | sets[1]))
    }
}

/// The number of a level of sets with this set.
pub(crate) fn with_set(level: u16, value: Value, set: u64) -> Value {
    match set {
        0 => value,
        set => {
            let value = if is_zero(&value) { Value::Real(0.0) } else { value };
            jet(level, vec![value, Value::Real(set as f64)])
        }
    }
}

/// The set of a number at a level of sets.
pub(crate) fn set_of(v: &Value, level: u16) -> u64 {
    match coefficients(v, level) {
        Some([_, set]) => primal(set) as u64,
        Some(_) | None => 0,
    }
}
