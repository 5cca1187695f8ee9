//! Comparison: order of Ints, Reals and texts, equality of all first-order values.

use super::PrimContext;
use crate::array::Array;
use crate::eval::error::ErrorKind;
use crate::leaves::is_real;
use crate::prim::Comparison;
use crate::value::Value;
use std::rc::Rc;

fn holds<T: Ord + ?Sized>(comparison: Comparison, a: &T, b: &T) -> bool {
    match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

/// Compares two values of one type.
pub(super) fn compare(
    cx: &mut PrimContext<'_>,
    comparison: Comparison,
    a: &Value,
    b: &Value,
) -> Result<bool, ErrorKind> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(holds(comparison, a, b)),
        (Value::String(a), Value::String(b)) => {
            cx.count(a.len().min(b.len()));
            Ok(holds::<str>(comparison, a, b))
        }
        _ if is_real(a) && is_real(b) => cx.reals.compare(comparison, a, b, cx.site),
        _ => match comparison {
            Comparison::Eq => equal(cx, a, b),
            Comparison::Ne => equal(cx, a, b).map(|equal| !equal),
            Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
                Err(ErrorKind::Internal { message: "values without an order".into() })
            }
        },
    }
}

enum CompareTask {
    Values(Value, Value),
    /// The elements from this one.
    Elements(Rc<Array>, Rc<Array>, usize),
}

/// Whether two values are equal; looks at their parts from left to right until two of them differ.
fn equal(cx: &mut PrimContext<'_>, a: &Value, b: &Value) -> Result<bool, ErrorKind> {
    let mut tasks = vec![CompareTask::Values(a.clone(), b.clone())];
    while let Some(task) = tasks.pop() {
        cx.count(1);
        match task {
            CompareTask::Values(Value::Array(a), Value::Array(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                cx.count(a.len());
                if let (Some(a), Some(b)) = (a.reals(), b.reals()) {
                    if a != b {
                        return Ok(false);
                    }
                } else if let (Some(a), Some(b)) = (a.ints(), b.ints()) {
                    if a != b {
                        return Ok(false);
                    }
                } else if let (Some(a), Some(b)) = (a.bools(), b.bools()) {
                    if a != b {
                        return Ok(false);
                    }
                } else {
                    tasks.push(CompareTask::Elements(a, b, 0));
                }
            }
            CompareTask::Elements(a, b, i) => {
                if i < a.len() {
                    let elements = CompareTask::Values(a.get(i), b.get(i));
                    tasks.push(CompareTask::Elements(a, b, i + 1));
                    tasks.push(elements);
                }
            }
            CompareTask::Values(a, b) => {
                let same = match (&a, &b) {
                    (Value::Unit, Value::Unit) => true,
                    (Value::Int(a), Value::Int(b)) => a == b,
                    (Value::Bool(a), Value::Bool(b)) => a == b,
                    (Value::String(a), Value::String(b)) => a == b,
                    (Value::Tuple(_), Value::Tuple(_)) => true,
                    (Value::Data(a), Value::Data(b)) => a.tag == b.tag,
                    _ if is_real(&a) && is_real(&b) => {
                        cx.reals.compare(Comparison::Eq, &a, &b, cx.site)?
                    }
                    _ => return Err(ErrorKind::Internal { message: "no equality".into() }),
                };
                if !same {
                    return Ok(false);
                }
                let pairs = a.fields().iter().zip(b.fields()).rev();
                tasks.extend(pairs.map(|(a, b)| CompareTask::Values(a.clone(), b.clone())));
            }
        }
    }
    Ok(true)
}
