//! Sums of arrays, from the left.

use super::vectors::binary;
use super::Context;
use crate::array::{Array, Column};
use crate::eval::error::ErrorKind;
use crate::prim::{int, IntOp, RealOp};
use crate::ty::Ty;
use crate::value::Value;
use std::rc::Rc;

/// The sum of the elements; of no elements, 0 in the shape of an element.
pub(super) fn sum(cx: &mut Context<'_>, array: &Array, ty: &Ty) -> Result<Value, ErrorKind> {
    cx.count(super::arrays::size(array));
    if array.is_empty() {
        return Ok(zero(ty, array));
    }
    if let Some(xs) = array.reals() {
        return Ok(Value::Real(xs[1..].iter().fold(xs[0], |sum, x| sum + x)));
    }
    if let Some(xs) = array.ints() {
        let total = xs[1..].iter().try_fold(xs[0], |sum, x| int::apply(IntOp::Add, sum, *x));
        return total.map(Value::Int);
    }
    let (column, off, len) = array.parts();
    if let Column::Nested(..) = column {
        if let Some(column) = rows(column, off, len, 1) {
            return Ok(Array::of(1, column).get(0));
        }
    }
    let mut total = array.get(0);
    for element in array.iter().skip(1) {
        total = match (&total, &element) {
            (Value::Array(_) | Value::Tuple(_), _) => {
                binary(cx, RealOp::Add, "+", &total, &element)?
            }
            _ => cx.real(RealOp::Add, &total, &element)?,
        };
    }
    Ok(total)
}

/// The column of the sum of so many runs, each of `run` elements, of plain Reals in rows.
fn rows(column: &Column, off: usize, count: usize, run: usize) -> Option<Column> {
    match column {
        Column::Nested(width, inner) => {
            let inner = rows(inner, off * width, count, run * width)?;
            Some(Column::Nested(*width, inner.into()))
        }
        Column::Reals(xs) => {
            let mut total = xs[off..off + run].to_vec();
            for i in 1..count {
                let from = off + i * run;
                for (sum, x) in total.iter_mut().zip(&xs[from..from + run]) {
                    *sum += x;
                }
            }
            Some(Column::Reals(Rc::new(total)))
        }
        Column::Undetermined => Some(Column::Undetermined),
        Column::Ints(_) | Column::Bools(_) | Column::Values(_) | Column::Tuple(_) => None,
    }
}

/// 0 in the shape of an element of the array.
fn zero(ty: &Ty, array: &Array) -> Value {
    match ty {
        Ty::Int => Value::Int(0),
        Ty::Tuple(types) => {
            Value::tuple(types.iter().enumerate().map(|(i, ty)| zero(ty, &component(array, i))))
        }
        Ty::Record(fields) => {
            let types = fields.iter().map(|(_, ty)| ty);
            Value::tuple(types.enumerate().map(|(i, ty)| zero(ty, &component(array, i))))
        }
        Ty::Array(element) => {
            let Some((width, rows)) = array.flat() else { return Value::array(Array::empty()) };
            Value::array(zeros(width, element, &rows))
        }
        Ty::Real | Ty::Bool | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            Value::Real(0.0)
        }
    }
}

fn component(array: &Array, i: usize) -> Array {
    array.field(i).unwrap_or_else(Array::empty)
}

/// So many zeros in the shape of an element of the array.
fn zeros(count: usize, ty: &Ty, array: &Array) -> Array {
    match ty {
        Ty::Int => Array::from_ints(vec![0; count]),
        Ty::Tuple(types) => Array::tuples(
            (0..).zip(types.iter()).map(|(i, ty)| zeros(count, ty, &component(array, i))).collect(),
        ),
        Ty::Record(fields) => Array::tuples(
            (0..)
                .zip(fields.iter())
                .map(|(i, (_, ty))| zeros(count, ty, &component(array, i)))
                .collect(),
        ),
        Ty::Array(element) => match array.flat() {
            Some((width, rows)) => Array::rows(count, width, zeros(count * width, element, &rows)),
            None if count == 0 => Array::empty(),
            None => Array::rows(count, 0, Array::empty()),
        },
        Ty::Real | Ty::Bool | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            Array::from_reals(vec![0.0; count])
        }
    }
}
