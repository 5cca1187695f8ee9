//! Operations on whole values.
//!
//! An operation comes in with its arguments (all of the right types); its value goes out, or what is wrong,
//! without the place. Work on whole arrays counts one operation for each element.

mod arrays;
mod compare;
mod sizes;
mod sum;
mod vectors;

pub(crate) use arrays::update;
pub use sizes::sizes;
pub use sum::Blocks;

use super::error::{ErrorKind, WarningKind};
use super::event::{Event, Progress};
use super::reals::{primal, Reals};
use crate::array::{Array, ArrayBuilder};
use crate::labels::labels as labels_of;
use crate::prim::text::{self, TextOperand, TextResult};
use crate::prim::{Prim, RealOp, TextOp};
use crate::show::show;
use crate::term::Program;
use crate::typing::is_vector;
use crate::value::Value;
use diffeo_base::Span;
use smallvec::SmallVec;

/// Arguments.
pub type Values<V> = SmallVec<[V; 4]>;

/// What operations need.
pub struct PrimContext<'m> {
    /// Arithmetic on Reals that carry derivatives.
    pub reals: &'m mut Reals,
    /// The operations so far.
    pub operations: &'m mut u64,
    /// Whether operations on plain Reals can do nothing but give a Real.
    pub smooth: bool,
    /// For the names of constructors.
    pub program: &'m Program,
    /// Takes what the program prints and reports.
    pub events: &'m mut dyn FnMut(Event<'_>),
    /// The place.
    pub site: Span,
}

impl PrimContext<'_> {
    /// An operation on Reals.
    fn real(&mut self, op: RealOp, a: &Value, b: &Value) -> Result<Value, ErrorKind> {
        self.reals.apply(op, a, b, self.site)
    }

    fn count(&mut self, elements: usize) {
        *self.operations += elements as u64;
    }
}

fn mistyped(prim: &Prim) -> ErrorKind {
    ErrorKind::Internal { message: format!("{prim:?} was applied to values of other types") }
}

fn text(cx: &mut PrimContext<'_>, op: TextOp, operands: &[Value]) -> Option<Value> {
    let operands = operands.iter().map(|value| match value {
        Value::Int(n) => Some(TextOperand::Int(*n)),
        Value::String(text) => Some(TextOperand::Text(text)),
        Value::Real(_) | Value::Dual { .. } | Value::Active(_) => {
            Some(TextOperand::Real(primal(value)))
        }
        _ => None,
    });
    let operands = operands.collect::<Option<Vec<TextOperand<'_>>>>()?;
    Some(match text::apply(op, &operands)? {
        TextResult::Int(n) => Value::Int(n),
        TextResult::Real(x) => Value::Real(x),
        TextResult::Text(text) => {
            cx.count(text.len());
            Value::string(&text)
        }
    })
}

/// The value of a primitive operation other than [`Prim::Sizes`].
pub fn apply(
    cx: &mut PrimContext<'_>,
    prim: &Prim,
    args: Values<Value>,
) -> Result<Value, ErrorKind> {
    let args_ref = args.as_slice();
    match (prim, args_ref) {
        (Prim::Real(op), [a]) => cx.real(*op, a, &Value::Unit),
        (Prim::Real(op), [a, b]) => cx.real(*op, a, b),
        (Prim::PowInt, [x, Value::Int(n)]) => cx.reals.pow_int(x, *n, cx.site),
        (Prim::Int(op), [Value::Int(a)]) => crate::prim::int::apply(*op, *a, 0).map(Value::Int),
        (Prim::Int(op), [Value::Int(a), Value::Int(b)]) => {
            crate::prim::int::apply(*op, *a, *b).map(Value::Int)
        }
        (Prim::Compare(comparison, _), [a, b]) => {
            compare::compare(cx, *comparison, a, b).map(Value::Bool)
        }
        (Prim::Not, [Value::Bool(b)]) => Ok(Value::Bool(!b)),
        (Prim::ToReal, [Value::Int(n)]) => Ok(cx.reals.of_int(*n)),
        (Prim::Round(rounding), [x]) => cx.reals.round(*rounding, x, cx.site).map(Value::Int),
        (Prim::IsNan, [x]) => Ok(Value::Bool(primal(x).is_nan())),

        (Prim::Add(ty), [a, b]) => {
            // At types that are no vectors it was written `add(x, y)`.
            let name = if is_vector(ty) { "+" } else { "add" };
            vectors::binary(cx, RealOp::Add, name, a, b)
        }
        (Prim::Sub(_), [a, b]) => vectors::binary(cx, RealOp::Sub, "-", a, b),
        (Prim::MulElements(_), [a, b]) => vectors::binary(cx, RealOp::Mul, "*", a, b),
        (Prim::DivElements(_), [a, b]) => vectors::binary(cx, RealOp::Div, "/", a, b),
        (Prim::Neg(_), [a]) => vectors::unary(cx, RealOp::Neg, None, a),
        (Prim::Scale(_), [r, a]) => vectors::unary(cx, RealOp::Mul, Some((r, true)), a),
        (Prim::Unscale(_), [a, r]) => vectors::unary(cx, RealOp::Div, Some((r, false)), a),
        (Prim::ZeroOf(_), [a]) => vectors::zero_of(cx, a),
        (Prim::Inner(_), [a, b]) => vectors::inner(cx, a, b),
        (Prim::Ravel(_), [a]) => vectors::ravel(cx, a),
        (Prim::Unravel(_), [a, Value::Array(leaves)]) => vectors::unravel(cx, a, leaves),

        (Prim::Length(_), [Value::Array(array)]) => Ok(Value::Int(array.len() as i64)),
        (Prim::Index(_), [Value::Array(array), Value::Int(i)]) => arrays::index(array, *i),
        (Prim::Slice(_), [Value::Array(array), Value::Int(lo), Value::Int(hi)]) => {
            arrays::slice(array, *lo, *hi)
        }
        (Prim::Update(_), [_, .., _]) => arrays::update_all(args, cx.operations),
        (Prim::Append(_), [Value::Array(_), Value::Array(_)]) => arrays::append(cx, args),
        (Prim::Flatten(_), [Value::Array(rows)]) => {
            Ok(Value::array(rows.flat().map_or(Array::empty(), |(_, flat)| flat)))
        }
        (Prim::Sum(ty), [Value::Array(array)]) => sum::sum(cx, array, ty),
        (Prim::ArgSort(_), [Value::Array(array)]) => arrays::argsort(cx, array),

        (Prim::AppendStrings, [Value::String(a), Value::String(b)]) => {
            cx.count(a.len() + b.len());
            Ok(Value::string(&format!("{a}{b}")))
        }
        (Prim::Text(TextOp::Digits), [Value::Int(count), x]) if cx.reals.encloses() => {
            cx.reals.digits(*count, x).map(|text| Value::string(&text))
        }
        (Prim::Text(op), operands) => text(cx, *op, operands).ok_or_else(|| mistyped(prim)),
        (Prim::Show(ty), [value]) => {
            let text = show(value, ty, &cx.program.datas);
            cx.count(text.len());
            Ok(Value::string(&text))
        }
        (Prim::Labels(ty), [value]) => {
            let mut labels = ArrayBuilder::new(0);
            for label in labels_of(value, ty, &cx.program.datas) {
                cx.count(label.len());
                labels.push(Value::string(&label))?;
            }
            Ok(Value::array(labels.finish()))
        }
        (Prim::Fail(_), [Value::String(message)]) => {
            Err(ErrorKind::Fail { message: message.to_string() })
        }
        (Prim::Trace(ty), [Value::String(label), value]) => {
            let text = show(value, ty, &cx.program.datas);
            cx.count(text.len());
            (cx.events)(Event::Line(&format!("{label}: {text}")));
            Ok(value.clone())
        }
        (
            Prim::Progress(_),
            [Value::String(label), Value::Int(step), x @ (Value::Real(_) | Value::Dual { .. } | Value::Active(_)), value],
        ) => {
            (cx.events)(Event::Progress(Progress { label, step: *step, value: primal(x) }));
            Ok(value.clone())
        }
        (Prim::Warn, [Value::String(code), Value::String(message), Value::String(help)]) => {
            cx.reals.warn(WarningKind::told(code, message, help), cx.site);
            Ok(Value::Unit)
        }
        (
            Prim::Real(_)
            | Prim::PowInt
            | Prim::Int(_)
            | Prim::Compare(..)
            | Prim::Not
            | Prim::ToReal
            | Prim::Round(_)
            | Prim::IsNan
            | Prim::Add(_)
            | Prim::Sub(_)
            | Prim::Neg(_)
            | Prim::Scale(_)
            | Prim::Unscale(_)
            | Prim::MulElements(_)
            | Prim::DivElements(_)
            | Prim::ZeroOf(_)
            | Prim::Inner(_)
            | Prim::Ravel(_)
            | Prim::Unravel(_)
            | Prim::Length(_)
            | Prim::Index(_)
            | Prim::Slice(_)
            | Prim::Update(_)
            | Prim::Append(_)
            | Prim::Flatten(_)
            | Prim::Sum(_)
            | Prim::ArgSort(_)
            | Prim::Sizes(..)
            | Prim::AppendStrings
            | Prim::Show(_)
            | Prim::Labels(_)
            | Prim::Fail(_)
            | Prim::Trace(_)
            | Prim::Progress(_)
            | Prim::Warn
            | Prim::Lift(_),
            _,
        ) => Err(mistyped(prim)),
    }
}
