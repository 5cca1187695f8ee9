//! Levels: what each open derivative operator keeps, and Real leaves seen from a level.
//!
//! A derivative operator opens a level whose number is the depth of nesting, from 1, and strips it from
//! its results before it closes it. So the number is unique among all live values, and a value of level n
//! consists of values below n. A number that a level knows nothing of is a constant of that level.

use super::jet::{Culprit, JetShape};
use super::tape::Tape;
use crate::value::{Active, Parts, Value};
use std::rc::Rc;

/// Levels are at most this, for numbers are dropped by recursion over their levels.
pub(crate) const DEEPEST: u16 = 10_000;

/// The level of the variables of a tape of this level in what it keeps to run a block again. No open
/// level has such a number, so nothing takes them for its own once the tape's level is closed.
pub(crate) fn detached(level: u16) -> u16 {
    u16::MAX - level
}

/// What an open derivative operator keeps.
#[derive(Debug)]
pub(crate) enum Level {
    /// Reverse mode.
    Tape(Tape),
    /// Taylor coefficients.
    Jet(JetLevel),
}

/// A level of Taylor coefficients.
#[derive(Debug)]
pub(crate) struct JetLevel {
    /// Its multi-indices.
    pub shape: Rc<JetShape>,
    /// The first operation whose operands were finite and whose derivatives were not.
    pub culprit: Option<Culprit>,
    /// Of a level of directions, which decide at kinks for the level above it: the coefficients in the order in which
    /// they decide.
    pub germ: Option<Rc<[usize]>>,
    /// Of a level of sets (`reals/sets.rs`): its one coefficient is the set of the arguments on which a number depends.
    pub sets: bool,
}

/// The level of a Real leaf; 0 for a plain number.
pub(crate) fn level_of(v: &Value) -> u16 {
    match v {
        Value::Dual { level, .. } => *level,
        Value::Active(a) => a.level,
        Value::Real(_)
        | Value::Zero
        | Value::Unit
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Tuple(_)
        | Value::Data(_)
        | Value::Array(_)
        | Value::Function(_) => 0,
    }
}

/// What a leaf of this level knows there, unless it is a [`Value::Dual`] or a constant of the level.
fn parts(v: &Value, level: u16) -> Option<&Parts> {
    if let Value::Active(a) = v {
        if a.level == level {
            return Some(&a.parts);
        }
    }
    None
}

/// The primal of a leaf of this level; any other leaf itself.
pub(crate) fn below(v: &Value, level: u16) -> Value {
    if let Value::Dual { level: l, primal, .. } = v {
        if *l == level {
            return Value::Real(*primal);
        }
    }
    match parts(v, level) {
        Some(Parts::Tape { primal, .. }) => primal.clone(),
        Some(Parts::Jet(coefficients)) => coefficients[0].clone(),
        Some(Parts::Interval(_)) | None => v.clone(),
    }
}

/// The entry of a leaf in the tape of this level; 0 if it is a constant of it.
pub(crate) fn entry(v: &Value, level: u16) -> u32 {
    if let Value::Dual { level: l, id, .. } = v {
        return if *l == level { *id } else { 0 };
    }
    match parts(v, level) {
        Some(Parts::Tape { id, .. }) => *id,
        Some(Parts::Jet(_) | Parts::Interval(_)) | None => 0,
    }
}

/// The Taylor coefficients of a leaf at this level, unless it is a constant of it.
pub(crate) fn coefficients(v: &Value, level: u16) -> Option<&[Value]> {
    match parts(v, level) {
        Some(Parts::Jet(coefficients)) => Some(coefficients),
        Some(Parts::Tape { .. } | Parts::Interval(_)) | None => None,
    }
}

/// The number with this primal and this entry in the tape of a level.
pub(crate) fn taped(level: u16, id: u32, primal: Value) -> Value {
    match primal {
        Value::Real(primal) => Value::Dual { level, id, primal },
        Value::Zero => Value::Dual { level, id, primal: 0.0 },
        primal => Value::Active(Rc::new(Active { level, parts: Parts::Tape { id, primal } })),
    }
}

/// The number with these Taylor coefficients at a level.
pub(crate) fn jet(level: u16, coefficients: Vec<Value>) -> Value {
    let parts = Parts::Jet(coefficients.into_boxed_slice());
    Value::Active(Rc::new(Active { level, parts }))
}

/// Whether a supplied derivative is a plain zero, which stands for a component that does not vary.
pub(crate) fn is_plain_zero(v: &Value) -> bool {
    matches!(v, Value::Zero) || matches!(v, Value::Real(x) if *x == 0.0)
}
