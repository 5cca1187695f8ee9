//! The columns in which the elements of arrays lie: what is done with one at a position or a range.
//!
//! What always holds: the columns of a [`Column::Tuple`] have their elements at the same positions; row
//! `i` of [`Column::Nested`] lies at `i * width` of the inner column; a [`Column::Undetermined`] has no
//! element; and [`Column::Values`] holds neither tuples nor arrays, nor integers nor truth values, and
//! elements of one type only. A column may be longer than the views of it.

use crate::array::Array;
use crate::eval::error::{ErrorKind, NEW_ROW};
use crate::value::Value;
use std::rc::Rc;

/// The elements of arrays, by the shape of their type.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// Plain reals.
    Reals(Rc<Vec<f64>>),
    /// Integers.
    Ints(Rc<Vec<i64>>),
    /// Truth values.
    Bools(Rc<Vec<bool>>),
    /// Texts, variants, functions, `()`, and reals of which some are active.
    Values(Rc<Vec<Value>>),
    /// Tuples and records: a column for each component.
    Tuple(Rc<Vec<Column>>),
    /// Arrays: the length of each, and their elements one after the other.
    Nested(usize, Rc<Column>),
    /// Nothing has determined what the elements are.
    Undetermined,
}

/// A bug: elements of different types in one array.
pub(super) fn mixed(found: &str, expected: &str) -> ErrorKind {
    ErrorKind::Internal { message: format!("{found} in an array of {expected}") }
}

/// What a value is, for messages about bugs.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Unit => "()",
        Value::Real(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero => "a Real",
        Value::Int(_) => "an Int",
        Value::Bool(_) => "a Bool",
        Value::String(_) => "a String",
        Value::Tuple(_) => "a tuple",
        Value::Data(_) => "a variant",
        Value::Array(_) => "an array",
        Value::Function(_) => "a function",
    }
}

impl Column {
    /// What the elements are, for messages about bugs.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Column::Reals(_) => "Reals",
            Column::Ints(_) => "Ints",
            Column::Bools(_) => "Bools",
            Column::Values(_) => "values",
            Column::Tuple(_) => "tuples",
            Column::Nested(..) => "arrays",
            Column::Undetermined => "nothing",
        }
    }

    /// The element at a position.
    pub(super) fn get(&self, at: usize) -> Value {
        match self {
            Column::Reals(xs) => Value::Real(xs[at]),
            Column::Ints(xs) => Value::Int(xs[at]),
            Column::Bools(xs) => Value::Bool(xs[at]),
            Column::Values(xs) => xs[at].clone(),
            Column::Tuple(columns) => Value::tuple(columns.iter().map(|c| c.get(at))),
            Column::Nested(width, inner) => {
                Value::array(Array { off: at * width, len: *width, col: Column::clone(inner) })
            }
            Column::Undetermined => unreachable!("an undetermined column has no element"),
        }
    }

    /// A column with only these elements, from position 0, that shares nothing.
    pub(super) fn copy(&self, off: usize, len: usize) -> Column {
        let range = off..off + len;
        match self {
            Column::Reals(xs) => Column::Reals(Rc::new(xs[range].to_vec())),
            Column::Ints(xs) => Column::Ints(Rc::new(xs[range].to_vec())),
            Column::Bools(xs) => Column::Bools(Rc::new(xs[range].to_vec())),
            Column::Values(xs) => Column::Values(Rc::new(xs[range].to_vec())),
            Column::Tuple(columns) => {
                Column::Tuple(Rc::new(columns.iter().map(|c| c.copy(off, len)).collect()))
            }
            Column::Nested(width, inner) => {
                Column::Nested(*width, Rc::new(inner.copy(off * width, len * width)))
            }
            Column::Undetermined => Column::Undetermined,
        }
    }

    /// A column with these elements from position 0: itself if they stand there already.
    pub(crate) fn compact(&self, off: usize, len: usize) -> Column {
        match off {
            0 => self.clone(),
            _ => self.copy(off, len),
        }
    }

    /// Whether nothing else refers to any part of it.
    pub(super) fn is_unique(&self) -> bool {
        match self {
            Column::Reals(r) => Rc::strong_count(r) == 1,
            Column::Ints(r) => Rc::strong_count(r) == 1,
            Column::Bools(r) => Rc::strong_count(r) == 1,
            Column::Values(r) => Rc::strong_count(r) == 1,
            Column::Tuple(r) => Rc::strong_count(r) == 1 && r.iter().all(Column::is_unique),
            Column::Nested(_, r) => Rc::strong_count(r) == 1 && r.is_unique(),
            Column::Undetermined => true,
        }
    }

    /// Moves the values that only this column owns, and that may own others, to `pending`.
    pub(super) fn release(&mut self, pending: &mut Vec<Value>) {
        match self {
            Column::Values(r) => {
                for value in Rc::get_mut(r).into_iter().flatten().filter(|v| v.owns()) {
                    pending.push(std::mem::replace(value, Value::Unit));
                }
            }
            Column::Tuple(r) => {
                Rc::get_mut(r).into_iter().flatten().for_each(|c| c.release(pending));
            }
            Column::Nested(_, r) => {
                if let Some(inner) = Rc::get_mut(r) {
                    inner.release(pending);
                }
            }
            Column::Reals(_) | Column::Ints(_) | Column::Bools(_) | Column::Undetermined => {}
        }
    }

    /// Whether this can be stored at `indices` below an element of the column.
    pub(super) fn check_store(&self, indices: &[usize], element: &Value) -> Result<(), ErrorKind> {
        let Some((&first, rest)) = indices.split_first() else {
            return self.check_element(element);
        };
        match self {
            Column::Nested(width, _) if first >= *width => {
                Err(ErrorKind::IndexOutOfBounds { index: first as i64, length: *width })
            }
            Column::Nested(_, inner) => inner.check_store(rest, element),
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Undetermined => Err(mixed("a row", self.describe())),
        }
    }

    /// Whether a value is of the kind and the shape of the elements.
    fn check_element(&self, element: &Value) -> Result<(), ErrorKind> {
        match (self, element) {
            (
                Column::Reals(_),
                Value::Real(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero,
            )
            | (Column::Ints(_), Value::Int(_))
            | (Column::Bools(_), Value::Bool(_))
            | (
                Column::Values(_),
                Value::Unit
                | Value::String(_)
                | Value::Data(_)
                | Value::Function(_)
                | Value::Real(_)
                | Value::Dual { .. }
                | Value::Active(_)
                | Value::Zero,
            ) => Ok(()),
            (Column::Tuple(columns), Value::Tuple(fields)) if columns.len() == fields.0.len() => {
                columns.iter().zip(&fields.0).try_for_each(|(c, v)| c.check_element(v))
            }
            (Column::Nested(width, inner), Value::Array(row)) => {
                check_sizes(*width, row.len)?;
                inner.check_shape(&row.col, row.len)
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
            ) => Err(mixed(describe(element), self.describe())),
        }
    }

    /// Whether `len` elements of another column are of the kind and the shape of the elements.
    fn check_shape(&self, other: &Column, len: usize) -> Result<(), ErrorKind> {
        match (self, other) {
            (Column::Undetermined, _) | (_, Column::Undetermined) => Ok(()),
            (Column::Tuple(a), Column::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b.iter()).try_for_each(|(a, b)| a.check_shape(b, len))
            }
            (Column::Nested(m, a), Column::Nested(n, b)) => {
                check_sizes(*m, *n)?;
                a.check_shape(b, len * n)
            }
            (Column::Reals(_) | Column::Values(_), Column::Reals(_) | Column::Values(_))
            | (Column::Ints(_), Column::Ints(_))
            | (Column::Bools(_), Column::Bools(_)) => Ok(()),
            (_, Column::Reals(_) | Column::Ints(_) | Column::Bools(_) | Column::Values(_))
                if len == 0 =>
            {
                Ok(())
            }
            (
                Column::Reals(_)
                | Column::Ints(_)
                | Column::Bools(_)
                | Column::Values(_)
                | Column::Tuple(_)
                | Column::Nested(..),
                _,
            ) => Err(mixed(other.describe(), self.describe())),
        }
    }

    /// Whether it has no element from a position on.
    pub(super) fn ends_at(&self, end: usize) -> bool {
        match self {
            Column::Reals(xs) => xs.len() == end,
            Column::Ints(xs) => xs.len() == end,
            Column::Bools(xs) => xs.len() == end,
            Column::Values(xs) => xs.len() == end,
            Column::Tuple(columns) => columns.iter().all(|c| c.ends_at(end)),
            Column::Nested(width, inner) => inner.ends_at(end * width),
            Column::Undetermined => end == 0,
        }
    }

    /// Whether it can take the elements of another column as they are.
    pub(super) fn takes(&self, other: &Column) -> bool {
        match (self, other) {
            (Column::Reals(_), Column::Reals(_))
            | (Column::Ints(_), Column::Ints(_))
            | (Column::Bools(_), Column::Bools(_))
            | (Column::Values(_), Column::Values(_)) => true,
            (Column::Tuple(a), Column::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.takes(b))
            }
            (Column::Nested(m, a), Column::Nested(n, b)) => m == n && a.takes(b),
            (
                Column::Reals(_)
                | Column::Ints(_)
                | Column::Bools(_)
                | Column::Values(_)
                | Column::Tuple(_)
                | Column::Nested(..)
                | Column::Undetermined,
                _,
            ) => false,
        }
    }

    /// Adds elements of a column that this one [takes](Column::takes). This column is unique.
    pub(super) fn push(&mut self, from: &Column, off: usize, len: usize) {
        let range = off..off + len;
        match (self, from) {
            (Column::Reals(to), Column::Reals(from)) => {
                Rc::make_mut(to).extend_from_slice(&from[range]);
            }
            (Column::Ints(to), Column::Ints(from)) => {
                Rc::make_mut(to).extend_from_slice(&from[range]);
            }
            (Column::Bools(to), Column::Bools(from)) => {
                Rc::make_mut(to).extend_from_slice(&from[range]);
            }
            (Column::Values(to), Column::Values(from)) => {
                Rc::make_mut(to).extend_from_slice(&from[range]);
            }
            (Column::Tuple(to), Column::Tuple(from)) => {
                for (to, from) in Rc::make_mut(to).iter_mut().zip(from.iter()) {
                    to.push(from, off, len);
                }
            }
            (Column::Nested(width, to), Column::Nested(_, from)) => {
                Rc::make_mut(to).push(from, off * *width, len * *width);
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
            ) => unreachable!("the column takes the elements"),
        }
    }

    /// Stores a value that [`Column::check_store`] accepted at `indices` below the element at a position.
    /// The column is unique.
    pub(super) fn store(&mut self, at: usize, indices: &[usize], element: Value) {
        match (self, element) {
            (Column::Nested(width, inner), element) if !indices.is_empty() => {
                Rc::make_mut(inner).store(at * *width + indices[0], &indices[1..], element);
            }
            (Column::Nested(width, inner), Value::Array(row)) => {
                Rc::make_mut(inner).store_range(at * *width, &row.col, row.off, row.len);
            }
            (Column::Reals(xs), Value::Real(x)) => Rc::make_mut(xs)[at] = x,
            (Column::Ints(xs), Value::Int(x)) => Rc::make_mut(xs)[at] = x,
            (Column::Bools(xs), Value::Bool(x)) => Rc::make_mut(xs)[at] = x,
            (Column::Values(xs), element) => Rc::make_mut(xs)[at] = element,
            (column @ Column::Reals(_), element) => column.values_mut()[at] = element,
            (Column::Tuple(columns), Value::Tuple(fields)) => {
                for (column, field) in Rc::make_mut(columns).iter_mut().zip(&fields.0) {
                    column.store(at, &[], field.clone());
                }
            }
            (
                Column::Ints(_)
                | Column::Bools(_)
                | Column::Tuple(_)
                | Column::Nested(..)
                | Column::Undetermined,
                _,
            ) => unreachable!("the element was checked"),
        }
    }

    /// Stores the elements of another column from a position on. The column is unique.
    fn store_range(&mut self, at: usize, from: &Column, off: usize, len: usize) {
        if len == 0 {
            return;
        }
        match (self, from) {
            (Column::Reals(to), Column::Reals(from)) => {
                Rc::make_mut(to)[at..at + len].copy_from_slice(&from[off..off + len]);
            }
            (Column::Ints(to), Column::Ints(from)) => {
                Rc::make_mut(to)[at..at + len].copy_from_slice(&from[off..off + len]);
            }
            (Column::Bools(to), Column::Bools(from)) => {
                Rc::make_mut(to)[at..at + len].copy_from_slice(&from[off..off + len]);
            }
            (to @ (Column::Reals(_) | Column::Values(_)), Column::Values(from)) => {
                to.values_mut()[at..at + len].clone_from_slice(&from[off..off + len]);
            }
            (Column::Values(to), Column::Reals(from)) => {
                for (to, from) in Rc::make_mut(to)[at..at + len].iter_mut().zip(&from[off..]) {
                    *to = Value::Real(*from);
                }
            }
            (Column::Tuple(to), Column::Tuple(from)) => {
                for (to, from) in Rc::make_mut(to).iter_mut().zip(from.iter()) {
                    to.store_range(at, from, off, len);
                }
            }
            (Column::Nested(width, to), Column::Nested(_, from)) => {
                Rc::make_mut(to).store_range(at * *width, from, off * *width, len * *width);
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
            ) => unreachable!("the shape was checked"),
        }
    }

    /// The elements as values, after turning plain reals into such.
    fn values_mut(&mut self) -> &mut Vec<Value> {
        if let Column::Reals(xs) = self {
            *self = Column::Values(Rc::new(xs.iter().map(|x| Value::Real(*x)).collect()));
        }
        match self {
            Column::Values(xs) => Rc::make_mut(xs),
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined => unreachable!("only reals become values"),
        }
    }
}

/// Whether a stored row has the length of the others.
fn check_sizes(expected: usize, found: usize) -> Result<(), ErrorKind> {
    if expected == found {
        return Ok(());
    }
    Err(ErrorKind::SizeMismatch { what: NEW_ROW.into(), expected, found })
}
