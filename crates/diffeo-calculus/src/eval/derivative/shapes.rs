//! The types J(S) of `jet`: every Real of S is an array of its c derivatives.
//!
//! What comes in: a value of S or of J(S), and what becomes of one Real. What goes out: the value of the
//! other type. What always holds: only Reals change; in J(S) there is no Real outside an innermost array of
//! length c, so the values tell which arrays stand for one Real; the shape of empty arrays is kept as
//! far as it is known.

use super::jet::JetShape;
use crate::array::Array;
use crate::eval::error::ErrorKind;
use crate::leaves::is_real;
use crate::value::Value;
use diffeo_base::deep;

/// Whether the elements of an array are Reals.
fn of_reals(a: &Array) -> bool {
    a.reals().is_some() || a.values().is_some_and(|v| v.first().is_some_and(is_real))
}

/// Data with its components replaced, from the last to the first in depth, so that long lists need no stack.
fn each_field(
    v: &Value,
    f: &mut dyn FnMut(&Value) -> Result<Value, ErrorKind>,
) -> Result<Value, ErrorKind> {
    // The last component may be of the same kind again: the rest of a list.
    let mut spine: Vec<(Value, Vec<Value>)> = Vec::new();
    let mut v = v.clone();
    let mut rest = loop {
        let Some((last, others)) = v.fields().split_last() else { break f(&v)? };
        let mut done = Vec::with_capacity(others.len() + 1);
        for other in others {
            done.push(deep(|| f(other))?);
        }
        let last = last.clone();
        spine.push((v, done));
        v = last;
    };
    while let Some((like, mut done)) = spine.pop() {
        done.push(rest);
        rest =
            if let Value::Data(d) = &like { Value::data(d.tag, done) } else { Value::tuple(done) };
    }
    Ok(rest)
}

type Lift<'a> = &'a mut dyn FnMut(Vec<Value>) -> Result<Value, ErrorKind>;

/// The value of S whose Reals are made of their derivatives in a value of J(S).
pub fn from_derivatives(v: &Value, shape: &JetShape, lift: Lift) -> Result<Value, ErrorKind> {
    match v {
        Value::Array(a) if of_reals(a) => number(a, shape, lift),
        Value::Array(a) => Ok(Value::array(elements_from(a, shape, lift)?)),
        v if v.fields().is_empty() => Ok(v.clone()),
        v => each_field(v, &mut |v| from_derivatives(v, shape, lift)),
    }
}

/// The Real with these derivatives.
fn number(a: &Array, shape: &JetShape, lift: Lift) -> Result<Value, ErrorKind> {
    length(a.len(), shape)?;
    lift(a.iter().collect())
}

fn length(found: usize, shape: &JetShape) -> Result<(), ErrorKind> {
    if found == shape.count() {
        return Ok(());
    }
    let what = format!("`jet({}, {}, …)` takes this many derivatives of a Real", shape.k, shape.r);
    Err(ErrorKind::SizeMismatch { what: what.into(), expected: shape.count(), found })
}

fn elements_from(a: &Array, shape: &JetShape, lift: Lift) -> Result<Array, ErrorKind> {
    if let Some((width, flat)) = a.flat() {
        if !of_reals(&flat) {
            return Ok(Array::rows(a.len(), width, elements_from(&flat, shape, lift)?));
        }
        length(width, shape)?;
        if a.is_empty() {
            return Ok(Array::from_reals(Vec::new()));
        }
        let mut out = Vec::with_capacity(a.len());
        for i in 0..a.len() {
            out.push(number(&flat.slice(i * width, (i + 1) * width), shape, lift)?);
        }
        return Array::from_values(out);
    }
    if let Some(values) = a.values() {
        let mut out = Vec::with_capacity(values.len());
        for v in values {
            out.push(deep(|| from_derivatives(v, shape, lift))?);
        }
        return if out.is_empty() { Ok(a.clone()) } else { Array::from_values(out) };
    }
    columns(a, &mut |column| elements_from(column, shape, lift))
}

/// An array of tuples with its columns replaced; any other array itself.
fn columns(
    a: &Array,
    f: &mut dyn FnMut(&Array) -> Result<Array, ErrorKind>,
) -> Result<Array, ErrorKind> {
    let mut out = Vec::new();
    while let Some(column) = a.field(out.len()) {
        out.push(f(&column)?);
    }
    Ok(if out.is_empty() { a.clone() } else { Array::tuples(out) })
}

type Read<'a> = &'a mut dyn FnMut(&Value) -> Result<Vec<Value>, ErrorKind>;

/// The value of J(S) whose derivatives, so many of each, are read off the Reals of a value of S.
pub fn to_derivatives(v: &Value, count: usize, read: Read) -> Result<Value, ErrorKind> {
    match v {
        Value::Array(a) => Ok(Value::array(elements_to(a, count, read)?)),
        v if is_real(v) => Ok(Value::array(Array::from_values(read(v)?)?)),
        v if v.fields().is_empty() => Ok(v.clone()),
        v => each_field(v, &mut |v| to_derivatives(v, count, read)),
    }
}

fn elements_to(a: &Array, count: usize, read: Read) -> Result<Array, ErrorKind> {
    if of_reals(a) {
        let mut flat = Vec::with_capacity(a.len() * count);
        for v in a.iter() {
            flat.extend(read(&v)?);
        }
        let flat = match flat.is_empty() {
            true => Array::from_reals(Vec::new()),
            false => Array::from_values(flat)?,
        };
        return Ok(Array::rows(a.len(), count, flat));
    }
    if let Some((width, flat)) = a.flat() {
        return Ok(Array::rows(a.len(), width, elements_to(&flat, count, read)?));
    }
    if let Some(values) = a.values() {
        let mut out = Vec::with_capacity(values.len());
        for v in values {
            out.push(deep(|| to_derivatives(v, count, read))?);
        }
        return if out.is_empty() { Ok(a.clone()) } else { Array::from_values(out) };
    }
    columns(a, &mut |column| elements_to(column, count, read))
}
