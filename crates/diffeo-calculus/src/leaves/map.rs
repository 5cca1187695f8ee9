//! Walks over the Real leaves of one value.
//!
//! Pending work is a stack; the results of a value's components lie on another one until it is rebuilt.

use super::{content, is_real, rebuild, rebuild_array, Content, Out};
use crate::array::{Array, Column};
use crate::value::Value;
use std::rc::Rc;

/// What is still to be done.
enum MapTask {
    /// Walk over a value and leave its result.
    Visit(Value),
    /// Make a tuple or variant like this from the results of its components.
    Rebuild(Value),
    /// Walk over the elements from this one on, then make the array from their results.
    Elements(Rc<Array>, usize),
}

/// Puts the components of a tuple or variant on the stack so that the first comes first.
fn push_fields(value: &Value, tasks: &mut Vec<MapTask>) {
    tasks.extend(value.fields().iter().rev().map(|v| MapTask::Visit(v.clone())));
}

/// The value with every Real leaf replaced by what `f` makes of it.
///
/// # Errors
/// The first that `f` gives.
pub fn map_leaves<E>(
    value: &Value,
    f: &mut dyn FnMut(&Value) -> Result<Value, E>,
) -> Result<Value, E> {
    let mut tasks = vec![MapTask::Visit(value.clone())];
    let mut done = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            MapTask::Visit(v) if is_real(&v) => done.push(f(&v)?),
            MapTask::Visit(v @ (Value::Tuple(_) | Value::Data(_))) if !v.fields().is_empty() => {
                tasks.push(MapTask::Rebuild(v.clone()));
                push_fields(&v, &mut tasks);
            }
            MapTask::Visit(Value::Array(a)) => {
                let (column, off, len) = a.parts();
                match content(column, off, len) {
                    Content::Inert => done.push(Value::Array(a)),
                    Content::Flat => {
                        let mut out = Out::new(column, off, len);
                        map_range(column, off, len, &mut out, f)?;
                        done.push(Value::array(Array::of(len, out.finish(column, off, len))));
                    }
                    Content::Deep => tasks.push(MapTask::Elements(a, 0)),
                }
            }
            MapTask::Visit(v) => done.push(v),
            MapTask::Rebuild(v) => {
                let v = rebuild(v, &mut done);
                done.push(v);
            }
            MapTask::Elements(a, next) if next < a.len() => {
                let element = a.get(next);
                tasks.push(MapTask::Elements(a, next + 1));
                tasks.push(MapTask::Visit(element));
            }
            MapTask::Elements(a, _) => {
                let array = rebuild_array(&a, &mut done);
                done.push(array);
            }
        }
    }
    Ok(done.pop().expect("a visit leaves its result"))
}

/// Walks over flat elements, in order.
fn map_range<E>(
    column: &Column,
    off: usize,
    len: usize,
    out: &mut Out,
    f: &mut dyn FnMut(&Value) -> Result<Value, E>,
) -> Result<(), E> {
    match (column, out) {
        (_, Out::Same) => {}
        (Column::Reals(xs), out) => {
            for x in &xs[off..off + len] {
                out.push(f(&Value::Real(*x))?);
            }
        }
        (Column::Values(xs), out) => {
            for x in &xs[off..off + len] {
                out.push(f(x)?);
            }
        }
        (Column::Nested(width, inner), Out::Nested(_, out)) => {
            map_range(inner, off * width, len * width, out, f)?;
        }
        (Column::Tuple(columns), Out::Tuple(outs)) => {
            for at in off..off + len {
                for (column, out) in columns.iter().zip(outs.iter_mut()) {
                    map_range(column, at, 1, out, f)?;
                }
            }
        }
        (
            Column::Ints(_)
            | Column::Bools(_)
            | Column::Tuple(_)
            | Column::Nested(..)
            | Column::Undetermined,
            _,
        ) => unreachable!("the results have the shape of the column"),
    }
    Ok(())
}

/// Shows every Real leaf to `f`.
///
/// # Errors
/// The first that `f` gives.
pub fn each_leaf<E>(value: &Value, f: &mut dyn FnMut(&Value) -> Result<(), E>) -> Result<(), E> {
    let mut tasks = vec![MapTask::Visit(value.clone())];
    while let Some(task) = tasks.pop() {
        match task {
            MapTask::Visit(v) if is_real(&v) => f(&v)?,
            MapTask::Visit(Value::Array(a)) => {
                let (column, off, len) = a.parts();
                match content(column, off, len) {
                    Content::Inert => {}
                    Content::Flat => each_in_range(column, off, len, f)?,
                    Content::Deep => tasks.push(MapTask::Elements(a, 0)),
                }
            }
            MapTask::Visit(v) => push_fields(&v, &mut tasks),
            MapTask::Elements(a, next) if next < a.len() => {
                let element = a.get(next);
                tasks.push(MapTask::Elements(a, next + 1));
                tasks.push(MapTask::Visit(element));
            }
            MapTask::Elements(..) | MapTask::Rebuild(_) => {}
        }
    }
    Ok(())
}

/// Shows the Real leaves of flat elements to `f`, in order.
fn each_in_range<E>(
    column: &Column,
    off: usize,
    len: usize,
    f: &mut dyn FnMut(&Value) -> Result<(), E>,
) -> Result<(), E> {
    match column {
        Column::Reals(xs) => xs[off..off + len].iter().try_for_each(|x| f(&Value::Real(*x))),
        Column::Values(xs) => xs[off..off + len].iter().filter(|x| is_real(x)).try_for_each(f),
        Column::Nested(width, inner) => each_in_range(inner, off * width, len * width, f),
        Column::Tuple(columns) => (off..off + len)
            .try_for_each(|at| columns.iter().try_for_each(|c| each_in_range(c, at, 1, f))),
        Column::Ints(_) | Column::Bools(_) | Column::Undetermined => Ok(()),
    }
}
