//! Arithmetic on values of vector types, and the polytypic operations on all first-order values.
//!
//! Plain numbers in columns are worked on in loops over slices; what carries derivatives goes leaf by leaf
//! through the arithmetic of Reals.

use super::sum::{self, Blocks};
use super::PrimContext;
use crate::array::{Array, ArrayBuilder, Column};
use crate::eval::error::ErrorKind;
use crate::leaves::{each_leaf, each_leaf_pair, is_real, map_leaves, zip_leaves};
use crate::prim::RealOp;
use crate::value::Value;
use diffeo_base::Name;
use std::rc::Rc;

/// The operation on the Real leaves of two values of one shape; other leaves come from the first.
pub(super) fn binary(
    cx: &mut PrimContext<'_>,
    op: RealOp,
    name: &'static str,
    a: &Value,
    b: &Value,
) -> Result<Value, ErrorKind> {
    match (a, b) {
        (Value::Real(_), Value::Real(_)) => cx.real(op, a, b),
        (Value::Array(a_array), Value::Array(b_array)) => {
            agree(name, a_array, b_array)?;
            cx.count(super::arrays::size(a_array));
            let (a_parts, b_parts) = (a_array.parts(), b_array.parts());
            let plain = match op {
                _ if cx.reals.encloses() => None,
                RealOp::Add => zip(a_parts, b_parts, |a, b| a + b),
                RealOp::Sub => zip(a_parts, b_parts, |a, b| a - b),
                RealOp::Mul => zip(a_parts, b_parts, |a, b| a * b),
                RealOp::Div if cx.smooth => zip(a_parts, b_parts, |a, b| a / b),
                _ => None,
            };
            match plain {
                Some(column) => Ok(Value::array(Array::of(a_array.len(), column))),
                None => leaves(cx, op, name, a, b),
            }
        }
        (Value::Tuple(_), Value::Tuple(_)) => {
            let pairs = a.fields().iter().zip(b.fields());
            let components: Result<Vec<Value>, ErrorKind> =
                pairs.map(|(a, b)| binary(cx, op, name, a, b)).collect();
            Ok(Value::tuple(components?))
        }
        _ => leaves(cx, op, name, a, b),
    }
}

fn leaves(
    cx: &mut PrimContext<'_>,
    op: RealOp,
    name: &'static str,
    a: &Value,
    b: &Value,
) -> Result<Value, ErrorKind> {
    zip_leaves(name, a, b, &mut |a, b| cx.real(op, a, b))
}

/// The operation on the Real leaves of a value, with a Real as the other operand if there is one: `true` for
/// the left operand.
pub(super) fn unary(
    cx: &mut PrimContext<'_>,
    op: RealOp,
    scalar: Option<(&Value, bool)>,
    a: &Value,
) -> Result<Value, ErrorKind> {
    match a {
        Value::Array(array) => {
            cx.count(super::arrays::size(array));
            let parts = array.parts();
            let plain = match (op, scalar) {
                _ if cx.reals.encloses() => None,
                (RealOp::Neg, None) => map(parts, |x| -x),
                (RealOp::Mul, Some((Value::Real(r), true))) => map(parts, |x| r * x),
                (RealOp::Div, Some((Value::Real(r), false))) if cx.smooth => map(parts, |x| x / r),
                _ => None,
            };
            match plain {
                Some(column) => Ok(Value::array(Array::of(array.len(), column))),
                None => each(cx, op, scalar, a),
            }
        }
        Value::Tuple(_) => {
            let components: Result<Vec<Value>, ErrorKind> =
                a.fields().iter().map(|a| unary(cx, op, scalar, a)).collect();
            Ok(Value::tuple(components?))
        }
        Value::Unit
        | Value::Real(_)
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Data(_)
        | Value::Function(_)
        | Value::Dual { .. }
        | Value::Active(_)
        | Value::Zero => each(cx, op, scalar, a),
    }
}

fn each(
    cx: &mut PrimContext<'_>,
    op: RealOp,
    scalar: Option<(&Value, bool)>,
    a: &Value,
) -> Result<Value, ErrorKind> {
    map_leaves(a, &mut |x| match scalar {
        None => cx.real(op, x, &Value::Unit),
        Some((r, true)) => cx.real(op, r, x),
        Some((r, false)) => cx.real(op, x, r),
    })
}

/// The value with 0 for every Real.
pub(super) fn zero_of(cx: &mut PrimContext<'_>, a: &Value) -> Result<Value, ErrorKind> {
    let operations = &mut *cx.operations;
    map_leaves(a, &mut |_| {
        *operations += 1;
        Ok(Value::Real(0.0))
    })
}

/// The Real leaves from left to right.
pub(super) fn ravel(cx: &mut PrimContext<'_>, a: &Value) -> Result<Value, ErrorKind> {
    let mut leaves = ArrayBuilder::new(0);
    each_leaf(a, &mut |leaf| leaves.push(leaf.clone()))?;
    cx.count(leaves.len());
    Ok(Value::array(match leaves.is_empty() {
        true => Array::from_reals(Vec::new()),
        false => leaves.finish(),
    }))
}

/// The structure of a value with other Real leaves.
pub(super) fn unravel(
    cx: &mut PrimContext<'_>,
    a: &Value,
    leaves: &Array,
) -> Result<Value, ErrorKind> {
    cx.count(leaves.len());
    let mut used = 0;
    let result = map_leaves(a, &mut |_| {
        used += 1;
        Ok(if used <= leaves.len() { leaves.get(used - 1) } else { Value::Real(0.0) })
    })?;
    if used != leaves.len() {
        let difference = format!("{} numbers for a structure with {used}", leaves.len());
        return Err(ErrorKind::ShapeMismatch { op: "unravel".into(), difference });
    }
    Ok(result)
}

/// The sum of the products of Real leaves.
pub(super) fn inner(cx: &mut PrimContext<'_>, a: &Value, b: &Value) -> Result<Value, ErrorKind> {
    let mut sum = Blocks::default();
    add_inner(cx, a, b, &mut sum)?;
    let total = sum.total(&mut |a, b| cx.real(RealOp::Add, &a, &b))?;
    Ok(total.unwrap_or(Value::Real(0.0)))
}

fn add_inner(
    cx: &mut PrimContext<'_>,
    a: &Value,
    b: &Value,
    sum: &mut Blocks<Value>,
) -> Result<(), ErrorKind> {
    match (a, b) {
        (Value::Tuple(_), Value::Tuple(_)) => {
            let mut pairs = a.fields().iter().zip(b.fields());
            return pairs.try_for_each(|(a, b)| add_inner(cx, a, b, sum));
        }
        (Value::Array(a_array), Value::Array(b_array)) => {
            agree("inner", a_array, b_array)?;
            cx.count(super::arrays::size(a_array));
            let plain = real_columns(a_array.parts(), b_array.parts());
            if let Some((a, b)) = plain.filter(|_| !cx.reals.encloses()) {
                let Some(product) = sum::plain(a.iter().zip(b).map(|(a, b)| a * b)) else {
                    return Ok(());
                };
                return sum.push(Value::Real(product), &mut |a, b| cx.real(RealOp::Add, &a, &b));
            }
            // Numbers that carry derivatives are added in the same order.
            if of_reals(a_array.parts().0) {
                let mut products = Blocks::default();
                add_products(cx, a, b, &mut products)?;
                let Some(product) = products.total(&mut |a, b| cx.real(RealOp::Add, &a, &b))?
                else {
                    return Ok(());
                };
                return sum.push(product, &mut |a, b| cx.real(RealOp::Add, &a, &b));
            }
        }
        _ => {}
    }
    add_products(cx, a, b, sum)
}

fn add_products(
    cx: &mut PrimContext<'_>,
    a: &Value,
    b: &Value,
    sum: &mut Blocks<Value>,
) -> Result<(), ErrorKind> {
    each_leaf_pair("inner", a, b, &mut |a, b| {
        let product = cx.real(RealOp::Mul, a, b)?;
        sum.push(product, &mut |a, b| cx.real(RealOp::Add, &a, &b))
    })
}

/// Whether a column has Reals, or rows of one length of them.
fn of_reals(column: &Column) -> bool {
    match column {
        Column::Reals(_) => true,
        Column::Values(values) => values.first().is_some_and(is_real),
        Column::Nested(_, inner) => of_reals(inner),
        Column::Ints(_) | Column::Bools(_) | Column::Tuple(_) | Column::Undetermined => false,
    }
}

/// The plain Reals of two columns that agree; None where there are others.
fn real_columns<'c>(
    (a, a_off, len): (&'c Column, usize, usize),
    (b, b_off, _): (&'c Column, usize, usize),
) -> Option<(&'c [f64], &'c [f64])> {
    match (a, b) {
        (Column::Reals(a), Column::Reals(b)) => {
            Some((&a[a_off..a_off + len], &b[b_off..b_off + len]))
        }
        (Column::Nested(m, a), Column::Nested(n, b)) if m == n => {
            real_columns((a, a_off * m, len * m), (b, b_off * n, len * n))
        }
        (
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) => None,
    }
}

/// Arrays that are worked on together are of one length, and so are their rows.
fn agree(name: &'static str, a: &Array, b: &Array) -> Result<(), ErrorKind> {
    same_size(name, a.len(), b.len())?;
    same_rows(name, a.parts().0, b.parts().0, a.len())
}

fn same_size(name: &'static str, expected: usize, found: usize) -> Result<(), ErrorKind> {
    if expected == found {
        return Ok(());
    }
    let what = Name::from(format!("`{name}` of arrays"));
    Err(ErrorKind::SizeMismatch { what, expected, found })
}

fn same_rows(name: &'static str, a: &Column, b: &Column, len: usize) -> Result<(), ErrorKind> {
    match (a, b) {
        (Column::Nested(m, a), Column::Nested(n, b)) => {
            same_size(name, *m, *n)?;
            same_rows(name, a, b, len * m)
        }
        (Column::Tuple(a), Column::Tuple(b)) => {
            a.iter().zip(b.iter()).try_for_each(|(a, b)| same_rows(name, a, b, len))
        }
        (
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) => Ok(()),
    }
}

/// The operation on columns of plain numbers that agree; None where there are others.
fn zip(
    (a, a_off, len): (&Column, usize, usize),
    (b, b_off, _): (&Column, usize, usize),
    f: impl Fn(f64, f64) -> f64 + Copy,
) -> Option<Column> {
    match (a, b) {
        (Column::Reals(a), Column::Reals(b)) => {
            let pairs = a[a_off..a_off + len].iter().zip(&b[b_off..b_off + len]);
            Some(Column::Reals(Rc::new(pairs.map(|(a, b)| f(*a, *b)).collect())))
        }
        (Column::Nested(width, a), Column::Nested(_, b)) => {
            let (a, b) = ((&**a, a_off * width, len * width), (&**b, b_off * width, len * width));
            Some(Column::Nested(*width, zip(a, b, f)?.into()))
        }
        (Column::Tuple(a), Column::Tuple(b)) => {
            let pairs = a.iter().zip(b.iter());
            let columns: Option<Vec<Column>> =
                pairs.map(|(a, b)| zip((a, a_off, len), (b, b_off, len), f)).collect();
            Some(Column::Tuple(columns?.into()))
        }
        (Column::Ints(_), Column::Ints(_)) | (Column::Bools(_), Column::Bools(_)) => {
            Some(a.compact(a_off, len))
        }
        (Column::Undetermined, Column::Undetermined) => Some(Column::Undetermined),
        (
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) => None,
    }
}

/// The operation on a column of plain numbers; None where there are others.
fn map((a, off, len): (&Column, usize, usize), f: impl Fn(f64) -> f64 + Copy) -> Option<Column> {
    match a {
        Column::Reals(xs) => {
            let xs = xs[off..off + len].iter();
            Some(Column::Reals(Rc::new(xs.map(|x| f(*x)).collect())))
        }
        Column::Nested(width, inner) => {
            let inner = map((inner, off * width, len * width), f)?;
            Some(Column::Nested(*width, inner.into()))
        }
        Column::Tuple(columns) => {
            let columns: Option<Vec<Column>> =
                columns.iter().map(|column| map((column, off, len), f)).collect();
            Some(Column::Tuple(columns?.into()))
        }
        Column::Ints(_) | Column::Bools(_) => Some(a.compact(off, len)),
        Column::Undetermined => Some(Column::Undetermined),
        Column::Values(_) => None,
    }
}
