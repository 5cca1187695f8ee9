//! Sums of arrays, from the left in blocks: their rounding errors grow with the logarithm of the number of terms, as
//! those of compiled code do, which works on blocks as well.

use super::vectors::binary;
use super::PrimContext;
use crate::array::{Array, Column};
use crate::eval::error::ErrorKind;
use crate::prim::{int, IntOp, RealOp};
use crate::ty::Ty;
use crate::value::Value;
use std::rc::Rc;

/// So many terms are added from the left; the sums of blocks of so many are terms again.
const BLOCK: usize = 128;

/// A sum of some terms.
pub struct Blocks<T> {
    /// For each level of blocks, the sum of the terms that fill no block yet, and how many they are.
    levels: Vec<(Option<T>, usize)>,
}

impl<T> Default for Blocks<T> {
    /// No terms.
    fn default() -> Blocks<T> {
        Blocks { levels: Vec::new() }
    }
}

impl<T> Blocks<T> {
    /// Adds a term.
    ///
    /// # Errors
    /// `add` may fail.
    pub fn push<E>(
        &mut self,
        term: T,
        add: &mut impl FnMut(T, T) -> Result<T, E>,
    ) -> Result<(), E> {
        self.push_at(0, term, add)
    }

    fn push_at<E>(
        &mut self,
        mut level: usize,
        mut term: T,
        add: &mut impl FnMut(T, T) -> Result<T, E>,
    ) -> Result<(), E> {
        loop {
            while self.levels.len() <= level {
                self.levels.push((None, 0));
            }
            let (sum, terms) = &mut self.levels[level];
            term = match sum.take() {
                Some(sum) => add(sum, term)?,
                None => term,
            };
            *terms += 1;
            if *terms < BLOCK {
                *sum = Some(term);
                return Ok(());
            }
            *terms = 0;
            level += 1;
        }
    }

    /// The sum; None of no terms.
    ///
    /// # Errors
    /// `add` may fail.
    pub fn total<E>(self, add: &mut impl FnMut(T, T) -> Result<T, E>) -> Result<Option<T>, E> {
        let mut total = None;
        for (sum, _) in self.levels {
            total = match (sum, total) {
                (Some(sum), Some(rest)) => Some(add(sum, rest)?),
                (sum, rest) => sum.or(rest),
            };
        }
        Ok(total)
    }
}

/// The sum of plain numbers; None of no numbers.
pub(super) fn plain(terms: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let mut terms = terms;
    let mut blocks = Blocks::default();
    let add = &mut |a: f64, b: f64| Ok::<f64, std::convert::Infallible>(a + b);
    while let Some(first) = terms.next() {
        let block = terms.by_ref().take(BLOCK - 1).fold(first, |sum, x| sum + x);
        let Ok(()) = blocks.push_at(1, block, add);
    }
    let Ok(total) = blocks.total(add);
    total
}

/// The sum of the elements; of no elements, 0 in the shape of an element.
pub(super) fn sum(cx: &mut PrimContext<'_>, array: &Array, ty: &Ty) -> Result<Value, ErrorKind> {
    cx.count(super::arrays::size(array));
    if array.is_empty() {
        return Ok(zero(ty, array));
    }
    if let Some(xs) = array.reals().filter(|_| !cx.reals.encloses()) {
        return Ok(Value::Real(plain(xs.iter().copied()).unwrap_or(0.0)));
    }
    if let Some(xs) = array.ints() {
        let total = xs[1..].iter().try_fold(xs[0], |sum, x| int::apply(IntOp::Add, sum, *x));
        return total.map(Value::Int);
    }
    let (column, off, len) = array.parts();
    if let (Column::Nested(..), false) = (column, cx.reals.encloses()) {
        if let Some(column) = rows(column, off, len, 1) {
            return Ok(Array::of(1, column).get(0));
        }
    }
    let add = &mut |a: Value, b: Value| match a {
        Value::Array(_) | Value::Tuple(_) => binary(cx, RealOp::Add, "+", &a, &b),
        _ => cx.real(RealOp::Add, &a, &b),
    };
    let mut blocks = Blocks::default();
    for element in array.iter() {
        blocks.push(element, add)?;
    }
    Ok(blocks.total(add)?.unwrap_or(Value::Real(0.0)))
}

/// The column of the sum of so many runs, each of `run` elements, of plain Reals in rows.
fn rows(column: &Column, off: usize, count: usize, run: usize) -> Option<Column> {
    match column {
        Column::Nested(width, inner) => {
            let inner = rows(inner, off * width, count, run * width)?;
            Some(Column::Nested(*width, inner.into()))
        }
        Column::Reals(xs) => {
            let into = |sum: &mut [f64], run: &[f64]| {
                sum.iter_mut().zip(run).for_each(|(sum, x)| *sum += x);
            };
            let add = &mut |mut a: Vec<f64>, b: Vec<f64>| {
                into(&mut a, &b);
                Ok::<_, std::convert::Infallible>(a)
            };
            let mut blocks = Blocks::default();
            for first in (0..count).step_by(BLOCK) {
                let run_at = |i: usize| &xs[off + i * run..off + (i + 1) * run];
                let mut block = run_at(first).to_vec();
                (first + 1..count.min(first + BLOCK)).for_each(|i| into(&mut block, run_at(i)));
                let Ok(()) = blocks.push_at(1, block, add);
            }
            let Ok(total) = blocks.total(add);
            Some(Column::Reals(Rc::new(total?)))
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
