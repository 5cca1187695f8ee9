//! Support of the machine for programs translated by the papers' systems: zeros that do not vary, and blame for nan.
//!
//! The derivatives of these programs are ordinary numbers. What comes in: [`Lifting`], which the translations write.
//! What always holds: [`Value::Zero`] is the derivative of what does not vary, and times anything, also times inf, it
//! is itself; so constants have no part in derivatives that are not finite. Which operation made such derivatives of
//! finite ones is remembered for the warning.

use super::derivative::jet::Culprit;
use super::derivative::level::is_plain_zero;
use super::error::ErrorKind;
use super::ops::Values;
use super::reals::{primal, Reals};
use crate::leaves::{each_leaf, each_leaf_pair, map_leaves};
use crate::prim::{real, Lifting, RealOp};
use crate::value::Value;
use diffeo_base::Span;

/// The operations that are to blame for derivatives that are not finite.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// The first one since each derivative began to be computed that is not done yet, and the first operation that
    /// made nan of other numbers.
    open: Vec<[Option<Culprit>; 2]>,
    /// The last one: a pullback may be called long after its function was.
    last: Option<Culprit>,
}

impl Watches {
    fn blame(&mut self, culprit: Culprit) {
        for [first, _] in &mut self.open {
            first.get_or_insert_with(|| culprit.clone());
        }
        self.last = Some(culprit);
    }

    fn made_nan(&mut self, culprit: &Culprit) {
        for [_, first] in &mut self.open {
            first.get_or_insert_with(|| culprit.clone());
        }
    }

    fn end(&mut self) -> Option<Culprit> {
        let [first, nan] = self.open.pop()?;
        first.or_else(|| self.last.clone()).or(nan)
    }
}

/// What a [`Lifting`] of values, other than one of functions, makes of its arguments.
///
/// # Errors
/// [`ErrorKind::ShapeMismatch`]
pub(crate) fn note(
    reals: &mut Reals,
    what: Lifting,
    args: &mut Values<Value>,
    site: Span,
) -> Result<Option<Value>, ErrorKind> {
    match what {
        Lifting::Stop => return Err(ErrorKind::NanDerivative),
        Lifting::Lift | Lifting::Lower | Lifting::Captures => return Ok(None),
        Lifting::SameShape(name) => {
            each_leaf_pair(name, &args[0], &args[1], &mut |_, _| Ok(()))?;
        }
        Lifting::Zero => return Ok(Some(Value::Zero)),
        Lifting::Varies => return Ok(Some(Value::Bool(!args.iter().all(is_nothing)))),
        Lifting::Sparse => {
            let value = args.pop().unwrap_or(Value::Unit);
            if !is_nothing(&value) {
                return Ok(Some(value));
            }
            return map_leaves(&value, &mut |_| Ok(Value::Zero)).map(Some);
        }
        Lifting::Watch => reals.watches.open.push([None, None]),
        Lifting::Blame(blame) => {
            let (derivatives, others) = args.split_at(blame.derivatives);
            let finite = |v: &Value| primal(v).is_finite();
            if !derivatives.iter().all(finite) && others.iter().all(finite) {
                let operands = others[..blame.operands].iter().map(primal).collect();
                reals.watches.blame(Culprit { op: blame.op, operands, site });
            }
        }
        Lifting::Warn => {
            let [value, derivative, given] = [0, 1, 2].map(|i| &args[0].fields()[i]);
            let such = |v: &Value, is: fn(f64) -> bool| {
                each_leaf(v, &mut |x| if is(primal(x)) { Err(()) } else { Ok(()) }).is_err()
            };
            let culprit = reals.watches.end();
            let infinite = |v| such(v, |x| !x.is_finite());
            if such(derivative, f64::is_nan) && !infinite(value) && !infinite(given) {
                culprit.into_iter().for_each(|culprit| reals.warn_nan(culprit));
            }
        }
    }
    Ok(Some(Value::Unit))
}

/// Whether all numbers in it are 0, and no constructor has anything that varies.
fn is_nothing(v: &Value) -> bool {
    match v {
        Value::Real(_) | Value::Zero => is_plain_zero(v),
        Value::Tuple(_) => v.fields().iter().all(is_nothing),
        Value::Data(_) => v.fields().is_empty(),
        Value::Unit
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Function(_)
        | Value::Dual { .. }
        | Value::Active(_) => false,
    }
}

impl Reals {
    /// The result of an operation in a translated program; a unary one ignores `b`.
    pub(crate) fn translated(&mut self, op: RealOp, a: &Value, b: &Value, site: Span) -> Value {
        let [zero_a, zero_b] = [a, b].map(|v| matches!(v, Value::Zero));
        match op {
            RealOp::Mul if zero_a || zero_b => return Value::Zero,
            RealOp::Div | RealOp::Neg if zero_a => return Value::Zero,
            RealOp::Add if zero_a => return b.clone(),
            RealOp::Add | RealOp::Sub if zero_b => return a.clone(),
            _ => {}
        }
        let binary = real::row(op).arity == 2;
        let (x, y) = (primal(a), if binary { primal(b) } else { 0.0 });
        let z = real::eval(op, x, y);
        // Operations without a place are the sums of a pullback, which no line of the program contains.
        if z.is_nan() && !x.is_nan() && !y.is_nan() && site != Span::NONE {
            let operands = if binary { vec![x, y] } else { vec![x] };
            self.watches.made_nan(&Culprit { op: real::row(op).name, operands, site });
        }
        Value::Real(z)
    }
}
