//! Walks over the Real leaves of first-order values, and over those of two values of one shape.
//!
//! What comes in: values. What goes out: values of the same shape, or what the visitor gathers. What always
//! holds: the leaves come from left to right, element by element through arrays; everything that is not a
//! Real leaf stays as it is, and parts that do not change are shared; and the depth of a value (long lists,
//! deep trees, also through arrays) costs memory for a list of pending work but no stack.
//!
//! A Real leaf is a [`Value::Real`], [`Value::Dual`], [`Value::Active`] or [`Value::Zero`]. Functions are not
//! looked into.

mod map;
mod zip;

pub use map::{each_leaf, map_leaves};
pub use zip::{each_leaf_pair, zip_leaves};

use crate::array::{Array, Column};
use crate::value::Value;
use std::collections::HashSet;
use std::convert::Infallible;
use std::rc::Rc;

/// The Real leaves of a value.
pub fn reals(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let Ok(()) = each_leaf::<Infallible>(value, &mut |x| {
        all.push(x.clone());
        Ok(())
    });
    all
}

/// Whether it is a Real leaf.
pub fn is_real(value: &Value) -> bool {
    match value {
        Value::Real(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero => true,
        Value::Unit
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Tuple(_)
        | Value::Data(_)
        | Value::Array(_)
        | Value::Function(_) => false,
    }
}

/// A Real leaf of a value that is not being differentiated is an interval.
pub fn has_interval(value: &Value) -> bool {
    any_active(value)
}

/// Whether a Real leaf depends on something that is being differentiated.
pub fn any_active(value: &Value) -> bool {
    let mut pending: Vec<&[Value]> = vec![std::slice::from_ref(value)];
    // A value that is shared, as often as there are paths to it, is looked at once.
    let mut shared = HashSet::new();
    while let Some(values) = pending.pop() {
        for value in values {
            match value {
                Value::Dual { .. } | Value::Active(_) => return true,
                Value::Tuple(_) | Value::Data(_) => {
                    let fields = value.fields();
                    let is_shared = match value {
                        Value::Tuple(v) => Rc::strong_count(v) > 1,
                        Value::Data(v) => Rc::strong_count(v) > 1,
                        _ => false,
                    };
                    if !is_shared || shared.insert(fields.as_ptr()) {
                        pending.push(fields);
                    }
                }
                Value::Array(a) => {
                    let (column, off, len) = a.parts();
                    gather_values(column, off, len, &mut pending);
                }
                Value::Real(_)
                | Value::Zero
                | Value::Unit
                | Value::Int(_)
                | Value::Bool(_)
                | Value::String(_)
                | Value::Function(_) => {}
            }
        }
    }
    false
}

/// The pieces of a column's range that are stored as values.
fn gather_values<'a>(column: &'a Column, off: usize, len: usize, into: &mut Vec<&'a [Value]>) {
    match column {
        Column::Values(xs) => into.push(&xs[off..off + len]),
        Column::Tuple(columns) => columns.iter().for_each(|c| gather_values(c, off, len, into)),
        Column::Nested(width, inner) => gather_values(inner, off * width, len * width, into),
        Column::Reals(_) | Column::Ints(_) | Column::Bools(_) | Column::Undetermined => {}
    }
}

/// What there is to do with the elements of an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Content {
    /// They have no Real leaf and no constructor.
    Inert,
    /// They are, or are tuples and rows of, Real leaves and inert parts.
    Flat,
    /// There are variants in them.
    Deep,
}

/// What is in this range of a column.
fn content(column: &Column, off: usize, len: usize) -> Content {
    match column {
        Column::Reals(_) => Content::Flat,
        Column::Ints(_) | Column::Bools(_) | Column::Undetermined => Content::Inert,
        Column::Values(xs) => match xs[off..off + len].first() {
            None => Content::Inert,
            Some(Value::Data(_)) => Content::Deep,
            Some(x) if is_real(x) => Content::Flat,
            Some(_) => Content::Inert,
        },
        Column::Tuple(columns) => {
            columns.iter().map(|c| content(c, off, len)).max().unwrap_or(Content::Inert)
        }
        Column::Nested(width, inner) => content(inner, off * width, len * width),
    }
}

/// Whether two values are the same one, so that either may stand for the other.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Unit, Value::Unit) | (Value::Zero, Value::Zero) => true,
        (Value::Real(a), Value::Real(b)) => a.to_bits() == b.to_bits(),
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => Rc::ptr_eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => Rc::ptr_eq(a, b),
        (Value::Data(a), Value::Data(b)) => Rc::ptr_eq(a, b),
        (Value::Array(a), Value::Array(b)) => Rc::ptr_eq(a, b),
        (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
        (Value::Active(a), Value::Active(b)) => Rc::ptr_eq(a, b),
        (
            Value::Dual { level: l, id: i, primal: p },
            Value::Dual { level: m, id: j, primal: q },
        ) => (l, i, p.to_bits()) == (m, j, q.to_bits()),
        (
            Value::Unit
            | Value::Zero
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Tuple(_)
            | Value::Data(_)
            | Value::Array(_)
            | Value::Function(_)
            | Value::Active(_)
            | Value::Dual { .. },
            _,
        ) => false,
    }
}

/// A tuple or variant like `of` with the last of the `done` values as its components; `of` itself if they
/// are the ones it has.
fn rebuild(of: Value, done: &mut Vec<Value>) -> Value {
    let fields = done.len() - of.fields().len()..;
    if of.fields().iter().zip(&done[fields.clone()]).all(|(a, b)| same(a, b)) {
        done.truncate(fields.start);
        return of;
    }
    if let Value::Data(d) = &of {
        return Value::data(d.tag, done.drain(fields));
    }
    Value::tuple(done.drain(fields))
}

/// An array like `of` with the last of the `done` values as its elements.
fn rebuild_array(of: &Rc<Array>, done: &mut Vec<Value>) -> Value {
    let elements = done.len() - of.len()..;
    if let Some(old) = of.values() {
        if old.iter().zip(&done[elements.clone()]).all(|(a, b)| same(a, b)) {
            done.truncate(elements.start);
            return Value::Array(of.clone());
        }
    }
    let values: Vec<Value> = done.drain(elements).collect();
    Value::array(build(values))
}

/// The array of these values. Values of one shape stay of one shape; if a visitor breaks that, they are
/// kept as they are.
fn build(values: Vec<Value>) -> Array {
    match Array::from_values(values.iter().cloned()) {
        Ok(array) => array,
        Err(_) => Array::of(values.len(), Column::Values(Rc::new(values))),
    }
}

/// The results for the elements of an array whose content is flat, as they come, in the shape of its column.
enum Out {
    /// Inert: as in the column.
    Same,
    /// Real leaves: all plain so far.
    Reals(Vec<f64>),
    /// Real leaves.
    Values(Vec<Value>),
    /// Rows of this width.
    Nested(usize, Box<Out>),
    /// Tuples.
    Tuple(Vec<Out>),
}

impl Out {
    /// For this range of a column.
    fn new(column: &Column, off: usize, len: usize) -> Out {
        match column {
            _ if content(column, off, len) == Content::Inert => Out::Same,
            Column::Nested(width, inner) => {
                Out::Nested(*width, Box::new(Out::new(inner, off * width, len * width)))
            }
            Column::Tuple(columns) => {
                Out::Tuple(columns.iter().map(|c| Out::new(c, off, len)).collect())
            }
            Column::Reals(_)
            | Column::Values(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Undetermined => Out::Reals(Vec::with_capacity(len)),
        }
    }

    /// Adds the result for a leaf.
    fn push(&mut self, leaf: Value) {
        match (&mut *self, leaf) {
            (Out::Reals(xs), Value::Real(x)) => xs.push(x),
            (Out::Reals(xs), leaf) => {
                let mut values = Vec::with_capacity(xs.capacity());
                values.extend(xs.iter().map(|x| Value::Real(*x)));
                values.push(leaf);
                *self = Out::Values(values);
            }
            (Out::Values(xs), leaf) => xs.push(leaf),
            (Out::Same | Out::Nested(..) | Out::Tuple(_), _) => {
                unreachable!("leaves go where leaves are")
            }
        }
    }

    /// The column of the results, where the arguments are those in this range.
    fn finish(self, column: &Column, off: usize, len: usize) -> Column {
        match (self, column) {
            (Out::Reals(xs), _) => Column::Reals(Rc::new(xs)),
            (Out::Values(xs), _) => build(xs).parts().0.clone(),
            (Out::Nested(width, out), Column::Nested(_, inner)) => {
                Column::Nested(width, Rc::new(out.finish(inner, off * width, len * width)))
            }
            (Out::Tuple(outs), Column::Tuple(columns)) => {
                let columns = outs.into_iter().zip(columns.iter());
                Column::Tuple(Rc::new(columns.map(|(o, c)| o.finish(c, off, len)).collect()))
            }
            (Out::Same | Out::Nested(..) | Out::Tuple(_), _) => column.compact(off, len),
        }
    }
}

#[cfg(test)]
mod tests;
