//! Elements, views, updates, concatenation and sorting of arrays.

use super::{PrimContext, Values};
use crate::array::{Array, ArrayBuilder, Column};
use crate::eval::error::ErrorKind;
use crate::value::Value;
use std::rc::Rc;

fn within(index: i64, length: usize) -> Result<usize, ErrorKind> {
    match usize::try_from(index) {
        Ok(i) if i < length => Ok(i),
        Ok(_) | Err(_) => Err(ErrorKind::IndexOutOfBounds { index, length }),
    }
}

/// An element.
pub(super) fn index(array: &Array, index: i64) -> Result<Value, ErrorKind> {
    Ok(array.get(within(index, array.len())?))
}

/// A view of the elements from `lo` to below `hi`.
pub(super) fn slice(array: &Array, lo: i64, hi: i64) -> Result<Value, ErrorKind> {
    let length = array.len();
    match (usize::try_from(lo), usize::try_from(hi)) {
        (Ok(from), Ok(to)) if from <= to && to <= length => Ok(Value::array(array.slice(from, to))),
        (_, _) => Err(ErrorKind::SliceOutOfBounds { lo, hi, length }),
    }
}

/// Whether nothing else refers to the elements.
fn is_unique(column: &Column) -> bool {
    match column {
        Column::Reals(r) => Rc::strong_count(r) == 1,
        Column::Ints(r) => Rc::strong_count(r) == 1,
        Column::Bools(r) => Rc::strong_count(r) == 1,
        Column::Values(r) => Rc::strong_count(r) == 1,
        Column::Tuple(r) => Rc::strong_count(r) == 1 && r.iter().all(is_unique),
        Column::Nested(_, r) => Rc::strong_count(r) == 1 && is_unique(r),
        Column::Undetermined => true,
    }
}

/// How many elements without parts an array has.
pub(super) fn size(array: &Array) -> usize {
    let (mut column, _, mut len) = array.parts();
    while let Column::Nested(width, inner) = column {
        len *= width;
        column = inner;
    }
    len
}

/// An array with an element replaced: in place if nothing else refers to it.
pub(crate) fn update(
    array: Value,
    indices: &[i64],
    element: Value,
    operations: &mut u64,
) -> Result<Value, ErrorKind> {
    let Value::Array(mut array) = array else {
        return Err(ErrorKind::Internal { message: "an update of what is no array".into() });
    };
    // The first index is checked here: the length of the others' rows is known to the array.
    let places: Result<Values<usize>, ErrorKind> = indices
        .iter()
        .enumerate()
        .map(|(i, index)| match i {
            0 => within(*index, array.len()),
            _ => usize::try_from(*index).map_err(|_| {
                let length = row_length(&array, i);
                ErrorKind::IndexOutOfBounds { index: *index, length }
            }),
        })
        .collect();
    let places = places?;
    if Rc::get_mut(&mut array).is_none() {
        array = Rc::new(Array::clone(&array));
    }
    let Some(elements) = Rc::get_mut(&mut array) else {
        return Err(ErrorKind::Internal { message: "a new array is shared".into() });
    };
    let mut element = element;
    if !is_unique(elements.parts().0) {
        // A row of the array itself would keep it from being changed in place.
        if let Value::Array(row) = &element {
            *operations += size(row) as u64;
            let mut copy = ArrayBuilder::new(row.len());
            copy.extend(row)?;
            element = Value::array(copy.finish());
        }
        if !is_unique(elements.parts().0) {
            *operations += size(elements) as u64;
        }
    }
    if let Value::Array(row) = &element {
        *operations += size(row) as u64;
    }
    elements.set(&places, element)?;
    Ok(Value::Array(array))
}

/// The length of the arrays so many levels inside.
fn row_length(array: &Array, level: usize) -> usize {
    let (mut column, _, mut length) = array.parts();
    for _ in 0..level {
        if let Column::Nested(width, inner) = column {
            length = *width;
            column = inner;
        }
    }
    length
}

/// As [`update`], with the array, the indices and the element in one list.
pub(super) fn update_all(
    mut args: Values<Value>,
    operations: &mut u64,
) -> Result<Value, ErrorKind> {
    let element = args.pop().unwrap_or(Value::Unit);
    let indices: Option<Values<i64>> = args[1..]
        .iter()
        .map(|index| match index {
            Value::Int(i) => Some(*i),
            _ => None,
        })
        .collect();
    let Some(indices) = indices else {
        return Err(ErrorKind::Internal { message: "an index that is no Int".into() });
    };
    let array = std::mem::replace(&mut args[0], Value::Unit);
    update(array, &indices, element, operations)
}

/// Concatenation: in place if nothing else refers to the first array.
pub(super) fn append(
    cx: &mut PrimContext<'_>,
    mut args: Values<Value>,
) -> Result<Value, ErrorKind> {
    let (Some(Value::Array(b)), Some(Value::Array(mut a))) = (args.pop(), args.pop()) else {
        return Err(ErrorKind::Internal { message: "an append to what is no array".into() });
    };
    cx.count(size(&b));
    if let Some(elements) = Rc::get_mut(&mut a) {
        if elements.grow(&b) {
            return Ok(Value::Array(a));
        }
    }
    cx.count(size(&a));
    Array::append(&a, &b).map(Value::array)
}

/// The stable sorting permutation.
pub(super) fn argsort(cx: &mut PrimContext<'_>, array: &Array) -> Result<Value, ErrorKind> {
    cx.count(array.len());
    let mut order: Vec<i64> = (0..array.len() as i64).collect();
    if let Some(xs) = array.ints() {
        order.sort_by_key(|i| xs[*i as usize]);
    } else if let Some(Value::String(_)) = array.values().and_then(|xs| xs.first()) {
        let texts: Vec<Value> = array.iter().collect();
        let text = |i: &i64| match &texts[*i as usize] {
            Value::String(text) => &***text,
            _ => "",
        };
        order.sort_by(|a, b| text(a).cmp(text(b)));
    } else if !array.is_empty() {
        order = cx.reals.argsort(array, cx.site)?;
    }
    Ok(Value::array(Array::from_ints(order)))
}
