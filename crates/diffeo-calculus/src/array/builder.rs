//! Building arrays element by element.
//!
//! What comes in: elements of one type in order. What goes out: the [`Array`] of them. What always holds:
//! rows of different length are found when the second of them comes, through arrays, tuples and records;
//! and what an element without rows says about their shape is kept.

use super::column::{describe, mixed, Column};
use super::Array;
use crate::eval::error::ErrorKind;
use crate::value::Value;
use std::rc::Rc;

/// An array in the making.
#[derive(Debug)]
pub struct ArrayBuilder {
    len: usize,
    capacity: usize,
    growing: Growing,
}

impl ArrayBuilder {
    /// A builder that expects so many elements.
    pub fn new(capacity: usize) -> ArrayBuilder {
        ArrayBuilder { len: 0, capacity, growing: Growing::Undetermined }
    }

    /// Adds an element.
    ///
    /// # Errors
    /// [`ErrorKind::IrregularRows`] if rows in it have another length than those before.
    pub fn push(&mut self, element: Value) -> Result<(), ErrorKind> {
        self.growing.push(element, self.capacity)?;
        self.len += 1;
        Ok(())
    }

    /// Adds the elements of an array.
    ///
    /// # Errors
    /// As for [`ArrayBuilder::push`].
    pub fn extend(&mut self, elements: &Array) -> Result<(), ErrorKind> {
        let (column, off, len) = elements.parts();
        self.growing.extend(column, off, len, self.capacity)?;
        self.len += len;
        Ok(())
    }

    /// How many elements there are so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none so far.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The array of the elements.
    pub fn finish(self) -> Array {
        Array::of(self.len, self.growing.finish())
    }
}

/// A column in the making: as [`Column`].
#[derive(Debug)]
enum Growing {
    Reals(Vec<f64>),
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Values(Vec<Value>),
    Tuple(Vec<Growing>),
    Nested(usize, Box<Growing>),
    Undetermined,
}

/// A vector that expects so many elements; the number is only a hint and may be too large for the memory.
fn vec<T>(capacity: usize) -> Vec<T> {
    let mut elements = Vec::new();
    // A refusal shows when the elements really come.
    elements.try_reserve_exact(capacity).ok();
    elements
}

impl Growing {
    /// The column for elements like this one.
    fn for_element(element: &Value, capacity: usize) -> Growing {
        match element {
            Value::Real(_) => Growing::Reals(vec(capacity)),
            Value::Int(_) => Growing::Ints(vec(capacity)),
            Value::Bool(_) => Growing::Bools(vec(capacity)),
            Value::Tuple(t) => {
                Growing::Tuple(t.0.iter().map(|v| Growing::for_element(v, capacity)).collect())
            }
            Value::Array(row) => Growing::Nested(row.len(), Box::new(Growing::Undetermined)),
            Value::Unit
            | Value::String(_)
            | Value::Data(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero => Growing::Values(vec(capacity)),
        }
    }

    /// The column for elements like those of another.
    fn for_column(column: &Column, capacity: usize) -> Growing {
        match column {
            Column::Reals(_) => Growing::Reals(vec(capacity)),
            Column::Ints(_) => Growing::Ints(vec(capacity)),
            Column::Bools(_) => Growing::Bools(vec(capacity)),
            Column::Values(_) => Growing::Values(vec(capacity)),
            Column::Tuple(columns) => {
                Growing::Tuple(columns.iter().map(|c| Growing::for_column(c, capacity)).collect())
            }
            Column::Nested(width, _) => Growing::Nested(*width, Box::new(Growing::Undetermined)),
            Column::Undetermined => Growing::Undetermined,
        }
    }

    /// Whether it has no elements and says nothing about their shape.
    fn is_open(&self) -> bool {
        match self {
            Growing::Reals(xs) => xs.is_empty(),
            Growing::Ints(xs) => xs.is_empty(),
            Growing::Bools(xs) => xs.is_empty(),
            Growing::Values(xs) => xs.is_empty(),
            Growing::Undetermined => true,
            Growing::Tuple(_) | Growing::Nested(..) => false,
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Growing::Reals(_) => "Reals",
            Growing::Ints(_) => "Ints",
            Growing::Bools(_) => "Bools",
            Growing::Values(_) => "values",
            Growing::Tuple(_) => "tuples",
            Growing::Nested(..) => "arrays",
            Growing::Undetermined => "nothing",
        }
    }

    fn push(&mut self, element: Value, capacity: usize) -> Result<(), ErrorKind> {
        let open = self.is_open();
        match (&mut *self, element) {
            (Growing::Reals(xs), Value::Real(x)) => xs.push(x),
            (Growing::Ints(xs), Value::Int(x)) => xs.push(x),
            (Growing::Bools(xs), Value::Bool(x)) => xs.push(x),
            (Growing::Tuple(columns), Value::Tuple(t)) if columns.len() == t.0.len() => {
                for (column, v) in columns.iter_mut().zip(&t.0) {
                    column.push(v.clone(), capacity)?;
                }
            }
            (Growing::Nested(width, inner), Value::Array(row)) => {
                let (column, off, len) = row.parts();
                check_rows(*width, len)?;
                inner.extend(column, off, len, capacity.saturating_mul(*width))?;
            }
            (
                Growing::Values(xs),
                element @ (Value::Unit
                | Value::String(_)
                | Value::Data(_)
                | Value::Function(_)
                | Value::Dual { .. }
                | Value::Active(_)
                | Value::Zero),
            ) => xs.push(element),
            (Growing::Values(xs), element @ Value::Real(_)) if !open => xs.push(element),
            (
                Growing::Reals(xs),
                element @ (Value::Dual { .. } | Value::Active(_) | Value::Zero),
            ) => {
                let mut values = vec(capacity.max(xs.len() + 1));
                values.extend(xs.iter().map(|x| Value::Real(*x)));
                values.push(element);
                *self = Growing::Values(values);
            }
            (_, element) if open => {
                *self = Growing::for_element(&element, capacity);
                return self.push(element, capacity);
            }
            (_, element) => return Err(mixed(describe(&element), self.describe())),
        }
        Ok(())
    }

    fn extend(
        &mut self,
        column: &Column,
        off: usize,
        len: usize,
        capacity: usize,
    ) -> Result<(), ErrorKind> {
        let range = off..off + len;
        let open = self.is_open();
        match (&mut *self, column) {
            (_, Column::Undetermined) => {}
            (Growing::Tuple(to), Column::Tuple(from)) if to.len() == from.len() => {
                for (to, from) in to.iter_mut().zip(from.iter()) {
                    to.extend(from, off, len, capacity)?;
                }
            }
            (Growing::Nested(width, to), Column::Nested(found, from)) => {
                check_rows(*width, *found)?;
                to.extend(from, off * *width, len * *width, capacity.saturating_mul(*width))?;
            }
            (Growing::Undetermined, _) => {
                *self = Growing::for_column(column, capacity.max(len));
                return self.extend(column, off, len, capacity);
            }
            // Columns of plain elements say nothing about shapes when they are empty.
            (_, Column::Reals(_) | Column::Ints(_) | Column::Bools(_) | Column::Values(_))
                if len == 0 => {}
            (Growing::Reals(to), Column::Reals(from)) => to.extend_from_slice(&from[range]),
            (Growing::Ints(to), Column::Ints(from)) => to.extend_from_slice(&from[range]),
            (Growing::Bools(to), Column::Bools(from)) => to.extend_from_slice(&from[range]),
            (Growing::Values(to), Column::Values(from)) => to.extend_from_slice(&from[range]),
            (Growing::Values(to), Column::Reals(from)) if !open => {
                to.extend(from[range].iter().map(|x| Value::Real(*x)));
            }
            (Growing::Reals(to), Column::Values(from)) => {
                let mut values = vec(capacity.max(to.len() + len));
                values.extend(to.iter().map(|x| Value::Real(*x)));
                values.extend_from_slice(&from[range]);
                *self = Growing::Values(values);
            }
            (_, _) if open => {
                *self = Growing::for_column(column, capacity.max(len));
                return self.extend(column, off, len, capacity);
            }
            (_, _) => return Err(mixed(column.describe(), self.describe())),
        }
        Ok(())
    }

    fn finish(self) -> Column {
        match self {
            Growing::Reals(xs) => Column::Reals(Rc::new(xs)),
            Growing::Ints(xs) => Column::Ints(Rc::new(xs)),
            Growing::Bools(xs) => Column::Bools(Rc::new(xs)),
            Growing::Values(xs) => Column::Values(Rc::new(xs)),
            Growing::Tuple(columns) => {
                Column::Tuple(Rc::new(columns.into_iter().map(Growing::finish).collect()))
            }
            Growing::Nested(width, inner) => Column::Nested(width, Rc::new(inner.finish())),
            Growing::Undetermined => Column::Undetermined,
        }
    }
}

/// Whether a row has the length of the first one.
fn check_rows(expected: usize, found: usize) -> Result<(), ErrorKind> {
    if expected == found {
        return Ok(());
    }
    Err(ErrorKind::IrregularRows { expected, found })
}
