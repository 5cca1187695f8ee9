//! Arrays: flat columns behind reference counts, seen through views.
//!
//! What comes in: values, one by one ([`ArrayBuilder`]) or as whole columns. What goes out: elements,
//! views and plain slices. What always holds: an array is regular through arrays, tuples and records
//! (all rows at one place of the element type have one length); its elements lie flat, reals, integers
//! and truth values unboxed; slices, rows and fields are views that cost nothing; and the length of rows
//! is kept when there are no rows.
//!
//! The elements of an array of type `[]T` are stored by the shape of `T`:
//!
//! | `T` | column |
//! |---|---|
//! | Real, Int, Bool | plain numbers; a Real column that holds active numbers is one of values |
//! | tuple, record | one column for each component |
//! | array | the column of all its elements, row after row, with the length of a row |
//! | anything else | values |
//!
//! Where no element ever determined `T`, the column is undetermined and fits any.

mod builder;
mod column;

pub use builder::ArrayBuilder;
pub(crate) use column::Column;

use crate::eval::error::ErrorKind;
use crate::value::Value;
use std::rc::Rc;

/// An array: a view of `len` elements of a column from `off`. Cloning it shares the column.
#[derive(Clone, Debug)]
pub struct Array {
    off: usize,
    len: usize,
    col: Column,
}

impl Array {
    /// An array without elements whose element shape nothing has determined.
    pub fn empty() -> Array {
        Array { off: 0, len: 0, col: Column::Undetermined }
    }

    /// An array of plain reals.
    pub fn from_reals(elements: Vec<f64>) -> Array {
        Array::of(elements.len(), Column::Reals(Rc::new(elements)))
    }

    /// An array of integers.
    pub fn from_ints(elements: Vec<i64>) -> Array {
        Array::of(elements.len(), Column::Ints(Rc::new(elements)))
    }

    /// An array of truth values.
    pub fn from_bools(elements: Vec<bool>) -> Array {
        Array::of(elements.len(), Column::Bools(Rc::new(elements)))
    }

    /// The array of rows of this width whose elements, row after row, are those of `flat`; no rows if
    /// the width is 0 (see [`Array::rows`]).
    pub fn nested(width: usize, flat: Array) -> Array {
        Array::rows(flat.len.checked_div(width).unwrap_or(0), width, flat)
    }

    /// The array of so many rows of this width whose elements, row after row, are those of `flat`.
    ///
    /// # Panics
    /// If `flat` has not `rows * width` elements.
    pub fn rows(rows: usize, width: usize, flat: Array) -> Array {
        assert_eq!(Some(flat.len), rows.checked_mul(width), "the rows of an array fill it");
        match flat.off.checked_rem(width) {
            Some(0) => Array {
                off: flat.off / width,
                len: rows,
                col: Column::Nested(width, flat.col.into()),
            },
            Some(_) | None => {
                let col = flat.col.compact(flat.off, flat.len);
                Array::of(rows, Column::Nested(width, col.into()))
            }
        }
    }

    /// The array of tuples whose components are the elements of these arrays.
    ///
    /// # Panics
    /// If their lengths differ or there are none.
    pub fn tuples(components: Vec<Array>) -> Array {
        let len = components[0].len;
        assert!(components.iter().all(|c| c.len == len), "the columns of tuples are of one length");
        let off = components[0].off;
        if components.iter().all(|c| c.off == off) {
            let columns: Vec<Column> = components.into_iter().map(|c| c.col).collect();
            return Array { off, len, col: Column::Tuple(columns.into()) };
        }
        let columns: Vec<Column> = components.iter().map(|c| c.col.compact(c.off, c.len)).collect();
        Array::of(len, Column::Tuple(columns.into()))
    }

    /// The array of these elements; [`ErrorKind::IrregularRows`] if rows in them differ in length.
    pub fn from_values(elements: impl IntoIterator<Item = Value>) -> Result<Array, ErrorKind> {
        let elements = elements.into_iter();
        let mut builder = ArrayBuilder::new(elements.size_hint().0);
        for element in elements {
            builder.push(element)?;
        }
        Ok(builder.finish())
    }

    /// The array of the first `len` elements of a column.
    pub(crate) fn of(len: usize, col: Column) -> Array {
        Array { off: 0, len, col }
    }

    /// The column, the position of the first element in it, and how many elements there are.
    pub(crate) fn parts(&self) -> (&Column, usize, usize) {
        (&self.col, self.off, self.len)
    }

    /// Moves the values that only this array owns, and that may own others, to `pending`.
    pub(crate) fn release(&mut self, pending: &mut Vec<Value>) {
        self.col.release(pending);
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An element: for rows, a view.
    ///
    /// # Panics
    /// If the index is not below the length.
    pub fn get(&self, index: usize) -> Value {
        assert!(index < self.len, "the index lies in the array");
        self.col.get(self.off + index)
    }

    /// The elements from `lo` to below `hi`, as a view.
    ///
    /// # Panics
    /// Unless `lo <= hi <= len`.
    pub fn slice(&self, lo: usize, hi: usize) -> Array {
        assert!(lo <= hi && hi <= self.len, "the slice lies in the array");
        Array { off: self.off + lo, len: hi - lo, col: self.col.clone() }
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Value> + ExactSizeIterator + '_ {
        (self.off..self.off + self.len).map(|at| self.col.get(at))
    }

    /// The elements, if they are stored as plain reals.
    pub fn reals(&self) -> Option<&[f64]> {
        match &self.col {
            Column::Reals(xs) => Some(&xs[self.off..self.off + self.len]),
            Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined => None,
        }
    }

    /// The elements, if they are stored as integers.
    pub fn ints(&self) -> Option<&[i64]> {
        match &self.col {
            Column::Ints(xs) => Some(&xs[self.off..self.off + self.len]),
            Column::Reals(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined => None,
        }
    }

    /// The elements, if they are stored as truth values.
    pub fn bools(&self) -> Option<&[bool]> {
        match &self.col {
            Column::Bools(xs) => Some(&xs[self.off..self.off + self.len]),
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined => None,
        }
    }

    /// The elements, if they are stored as values: texts, variants, functions, `()`, active reals.
    pub fn values(&self) -> Option<&[Value]> {
        match &self.col {
            Column::Values(xs) => Some(&xs[self.off..self.off + self.len]),
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined => None,
        }
    }

    /// The length of a row, in an array of arrays, even when there are no rows.
    pub fn width(&self) -> Option<usize> {
        self.flat().map(|(width, _)| width)
    }

    /// The length of a row and the elements of all rows, row after row, as a view.
    pub fn flat(&self) -> Option<(usize, Array)> {
        match &self.col {
            Column::Nested(width, col) => {
                let (off, len) = (self.off * width, self.len * width);
                Some((*width, Array { off, len, col: Column::clone(col) }))
            }
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Tuple(_)
            | Column::Undetermined => None,
        }
    }

    /// The components at one place, in an array of tuples, as a view.
    pub fn field(&self, place: usize) -> Option<Array> {
        match &self.col {
            Column::Tuple(columns) => columns.get(place).map(|col| Array {
                off: self.off,
                len: self.len,
                col: col.clone(),
            }),
            Column::Reals(_)
            | Column::Ints(_)
            | Column::Bools(_)
            | Column::Values(_)
            | Column::Nested(..)
            | Column::Undetermined => None,
        }
    }

    /// Replaces the element at `indices`, which lead through rows: in place if nothing else refers to
    /// the columns, else in a copy of this view.
    ///
    /// # Errors
    /// [`ErrorKind::IndexOutOfBounds`]; [`ErrorKind::SizeMismatch`] if a row of another length is stored.
    pub fn set(&mut self, indices: &[usize], element: Value) -> Result<(), ErrorKind> {
        let Some((&first, rest)) = indices.split_first() else {
            return Err(ErrorKind::Internal { message: "an update without an index".into() });
        };
        if first >= self.len {
            return Err(ErrorKind::IndexOutOfBounds { index: first as i64, length: self.len });
        }
        self.col.check_store(rest, &element)?;
        if !self.col.is_unique() {
            self.col = self.col.copy(self.off, self.len);
            self.off = 0;
        }
        self.col.store(self.off + first, rest, element);
        Ok(())
    }

    /// Adds the elements of another array in place, if nothing else refers to the columns, which end where
    /// this view of them ends, and hold elements of the same shape. Otherwise nothing changes.
    pub(crate) fn grow(&mut self, other: &Array) -> bool {
        let end = self.off + self.len;
        let fits = self.col.is_unique() && self.col.ends_at(end) && self.col.takes(&other.col);
        if fits {
            self.col.push(&other.col, other.off, other.len);
            self.len += other.len;
        }
        fits
    }

    /// The elements of both, in order.
    ///
    /// # Errors
    /// [`ErrorKind::IrregularRows`] if rows in them differ in length.
    pub fn append(first: &Array, second: &Array) -> Result<Array, ErrorKind> {
        if matches!(second.col, Column::Undetermined) {
            return Ok(first.clone());
        }
        if matches!(first.col, Column::Undetermined) {
            return Ok(second.clone());
        }
        let mut builder = ArrayBuilder::new(first.len + second.len);
        builder.extend(first)?;
        builder.extend(second)?;
        Ok(builder.finish())
    }
}

#[cfg(test)]
mod tests;
