//! Walks over the Real leaves of two values of one shape.
//!
//! What always holds: constructors and lengths are compared before the leaves below them are visited; leaves
//! that are not Real are those of the first value, whatever they are in the second. An array whose element
//! shape nothing determined agrees with every empty one.

use super::{content, is_real, rebuild, rebuild_array, Content, Out};
use crate::array::{Array, Column};
use crate::eval::error::ErrorKind;
use crate::value::Value;
use std::rc::Rc;

/// What is still to be done.
enum ZipTask {
    /// Walk over two values and leave the result.
    Visit(Value, Value),
    /// Make a tuple or variant like this from the results of its components.
    Rebuild(Value),
    /// Walk over the elements from this one on, then make the array from their results.
    Elements(Rc<Array>, Rc<Array>, usize),
}

type Visitor<'a> = &'a mut dyn FnMut(&Value, &Value) -> Result<Value, ErrorKind>;

/// The first value with every Real leaf replaced by what `f` makes of it and its counterpart.
///
/// # Errors
/// [`ErrorKind::ShapeMismatch`] under the name `op`, or the first error that `f` gives.
pub fn zip_leaves(
    op: &'static str,
    a: &Value,
    b: &Value,
    f: &mut dyn FnMut(&Value, &Value) -> Result<Value, ErrorKind>,
) -> Result<Value, ErrorKind> {
    let mut done = Vec::new();
    walk(op, a, b, f, Some(&mut done))?;
    Ok(done.pop().expect("a visit leaves its result"))
}

/// Shows every Real leaf of the first value with its counterpart to `f`.
///
/// # Errors
/// As for [`zip_leaves`].
pub fn each_leaf_pair(
    op: &'static str,
    a: &Value,
    b: &Value,
    f: &mut dyn FnMut(&Value, &Value) -> Result<(), ErrorKind>,
) -> Result<(), ErrorKind> {
    walk(op, a, b, &mut |a, b| f(a, b).map(|()| Value::Unit), None)
}

/// The walk; the result is left in `done` if there is such a list.
fn walk(
    op: &'static str,
    a: &Value,
    b: &Value,
    f: Visitor,
    mut done: Option<&mut Vec<Value>>,
) -> Result<(), ErrorKind> {
    let mut tasks = vec![ZipTask::Visit(a.clone(), b.clone())];
    while let Some(task) = tasks.pop() {
        let result = match task {
            ZipTask::Visit(Value::Array(a), Value::Array(b)) => {
                match visit_arrays(op, &a, &b, f, done.is_some())? {
                    Some(array) => array,
                    None => {
                        tasks.push(ZipTask::Elements(a, b, 0));
                        continue;
                    }
                }
            }
            ZipTask::Visit(a, b) => {
                check(op, &a, &b)?;
                if is_real(&a) {
                    f(&a, &b)?
                } else if a.fields().is_empty() {
                    a
                } else {
                    if done.is_some() {
                        tasks.push(ZipTask::Rebuild(a.clone()));
                    }
                    let fields = a.fields().iter().zip(b.fields()).rev();
                    tasks.extend(fields.map(|(a, b)| ZipTask::Visit(a.clone(), b.clone())));
                    continue;
                }
            }
            ZipTask::Rebuild(a) => match &mut done {
                Some(done) => rebuild(a, done),
                None => continue,
            },
            ZipTask::Elements(a, b, next) if next < a.len() => {
                let elements = ZipTask::Visit(a.get(next), b.get(next));
                tasks.push(ZipTask::Elements(a, b, next + 1));
                tasks.push(elements);
                continue;
            }
            ZipTask::Elements(a, _, _) => match &mut done {
                Some(done) => rebuild_array(&a, done),
                None => continue,
            },
        };
        if let Some(done) = &mut done {
            done.push(result);
        }
    }
    Ok(())
}

/// Whether two values agree as far as they can be seen without looking at their components.
fn check(op: &'static str, a: &Value, b: &Value) -> Result<(), ErrorKind> {
    match (a, b) {
        (Value::Data(a), Value::Data(b)) if a.tag != b.tag => {
            let difference = format!(
                "the first is constructor {} of its type, the second constructor {}",
                a.tag, b.tag
            );
            Err(ErrorKind::ShapeMismatch { op: op.into(), difference })
        }
        (Value::Data(_), Value::Data(_)) | (Value::Tuple(_), Value::Tuple(_))
            if a.fields().len() == b.fields().len() =>
        {
            Ok(())
        }
        (Value::Data(_) | Value::Tuple(_) | Value::Array(_), _)
        | (_, Value::Data(_) | Value::Tuple(_) | Value::Array(_)) => Err(types_differ(op)),
        (
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero,
            _,
        ) if is_real(a) == is_real(b) => Ok(()),
        (
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero,
            _,
        ) => Err(types_differ(op)),
    }
}

/// A bug: the values are not of one type.
fn types_differ(op: &'static str) -> ErrorKind {
    ErrorKind::Internal { message: format!("{op} of values of different types") }
}

/// The result for two arrays, or `None` if their elements are to be visited one by one. Without `keep`,
/// the result does not matter.
fn visit_arrays(
    op: &'static str,
    a: &Rc<Array>,
    b: &Rc<Array>,
    f: Visitor,
    keep: bool,
) -> Result<Option<Value>, ErrorKind> {
    check_lengths(op, "arrays", a.len(), b.len())?;
    let ((a_col, a_off, len), (b_col, b_off, _)) = (a.parts(), b.parts());
    check_columns(op, a_col, b_col, len)?;
    match content(a_col, a_off, len) {
        Content::Inert => Ok(Some(Value::Array(a.clone()))),
        Content::Flat => {
            let mut out = Out::new(a_col, a_off, len);
            let mut g = |a: &Value, b: &Value, out: &mut Out| {
                let result = f(a, b)?;
                if keep {
                    out.push(result);
                }
                Ok(())
            };
            zip_range((a_col, a_off), (b_col, b_off), len, &mut out, &mut g)?;
            if !keep {
                return Ok(Some(Value::Unit));
            }
            Ok(Some(Value::array(Array::of(len, out.finish(a_col, a_off, len)))))
        }
        Content::Deep => Ok(None),
    }
}

fn check_lengths(op: &'static str, what: &str, a: usize, b: usize) -> Result<(), ErrorKind> {
    if a == b {
        return Ok(());
    }
    Err(ErrorKind::ShapeMismatch {
        op: op.into(),
        difference: format!("{what} of length {a} and {b}"),
    })
}

/// Whether `len` elements of two columns have rows of the same lengths.
fn check_columns(op: &'static str, a: &Column, b: &Column, len: usize) -> Result<(), ErrorKind> {
    match (a, b) {
        (Column::Undetermined, _) | (_, Column::Undetermined) if len == 0 => Ok(()),
        (Column::Nested(m, a), Column::Nested(n, b)) => {
            check_lengths(op, "rows", *m, *n)?;
            check_columns(op, a, b, len * n)
        }
        (Column::Tuple(a), Column::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b.iter()).try_for_each(|(a, b)| check_columns(op, a, b, len))
        }
        (Column::Reals(_) | Column::Values(_), Column::Reals(_) | Column::Values(_))
        | (Column::Ints(_), Column::Ints(_))
        | (Column::Bools(_), Column::Bools(_)) => Ok(()),
        (
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) if len == 0 => Ok(()),
        (
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) => Err(types_differ(op)),
    }
}

/// Walks over flat elements of columns that agree, in order.
fn zip_range(
    (a, a_off): (&Column, usize),
    (b, b_off): (&Column, usize),
    len: usize,
    out: &mut Out,
    f: &mut dyn FnMut(&Value, &Value, &mut Out) -> Result<(), ErrorKind>,
) -> Result<(), ErrorKind> {
    let (a_range, b_range) = (a_off..a_off + len, b_off..b_off + len);
    match (a, b, out) {
        (_, _, Out::Same) => {}
        _ if len == 0 => {}
        (Column::Reals(a), Column::Reals(b), out) => {
            for (a, b) in a[a_range].iter().zip(&b[b_range]) {
                f(&Value::Real(*a), &Value::Real(*b), out)?;
            }
        }
        (Column::Reals(a), Column::Values(b), out) => {
            for (a, b) in a[a_range].iter().zip(&b[b_range]) {
                f(&Value::Real(*a), b, out)?;
            }
        }
        (Column::Values(a), Column::Reals(b), out) => {
            for (a, b) in a[a_range].iter().zip(&b[b_range]) {
                f(a, &Value::Real(*b), out)?;
            }
        }
        (Column::Values(a), Column::Values(b), out) => {
            for (a, b) in a[a_range].iter().zip(&b[b_range]) {
                f(a, b, out)?;
            }
        }
        (Column::Nested(width, a), Column::Nested(_, b), Out::Nested(_, out)) => {
            zip_range((a, a_off * width), (b, b_off * width), len * width, out, f)?;
        }
        (Column::Tuple(a), Column::Tuple(b), Out::Tuple(outs)) => {
            for i in 0..len {
                for ((a, b), out) in a.iter().zip(b.iter()).zip(outs.iter_mut()) {
                    zip_range((a, a_off + i), (b, b_off + i), 1, out, f)?;
                }
            }
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
            _,
        ) => unreachable!("the columns agree"),
    }
    Ok(())
}
