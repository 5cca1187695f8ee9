//! What a program gives as Python's values: numbers, arrays of NumPy, tuples, dictionaries, lists, variants.

use crate::plot::Plot;
use diffeo::{Array, Value};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// An array of NumPy's that has these elements.
fn array<'py, T: Element + Clone>(
    py: Python<'py>,
    array: Array<'static, T>,
) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, array.data.into_owned());
    match array.sizes.len() {
        1 => Ok(flat.into_any()),
        _ => Ok(flat.reshape(array.sizes)?.into_any()),
    }
}

/// The value for Python; `classes` has the class of each constructor.
pub fn value<'py>(
    py: Python<'py>,
    given: Value<'static>,
    classes: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let all = |values: Vec<Value<'static>>| -> PyResult<Vec<Bound<'py, PyAny>>> {
        values.into_iter().map(|x| value(py, x, classes)).collect()
    };
    Ok(match given {
        Value::Unit => py.None().into_bound(py),
        Value::Real(x) => PyFloat::new(py, x).into_any(),
        Value::Interval(lo, hi) => {
            py.import("diffeo._interval")?.call_method1("Interval", (lo, hi))?
        }
        Value::Int(n) => PyInt::new(py, n).into_any(),
        Value::Bool(b) => PyBool::new(py, b).to_owned().into_any(),
        Value::String(text) => PyString::new(py, &text).into_any(),
        Value::Tuple(parts) => PyTuple::new(py, all(parts)?)?.into_any(),
        Value::Record(fields) => {
            let dict = PyDict::new(py);
            for (name, field) in fields {
                dict.set_item(&*name, value(py, field, classes)?)?;
            }
            dict.into_any()
        }
        Value::Reals(reals) => array(py, reals)?,
        Value::Ints(ints) => array(py, ints)?,
        Value::Bools(bools) => array(py, bools)?,
        Value::Array(elements) => PyList::new(py, all(elements)?)?.into_any(),
        // The `Maybe` of the prelude is a value or None; `Just` stays where its value would be None, too, or one of those.
        Value::Variant(name, fields)
            if name == "Nothing" && fields.is_empty() && !classes.contains("Nothing")? =>
        {
            py.None().into_bound(py)
        }
        Value::Variant(name, mut fields)
            if name == "Just"
                && fields.len() == 1
                && !is_bare_none(&fields[0])
                && !classes.contains("Just")? =>
        {
            value(py, fields.remove(0), classes)?
        }
        Value::Variant(name, fields) => {
            let (name, fields) = match Plot::of(Value::Variant(name, fields)) {
                Ok(plot) => return Ok(Bound::new(py, plot)?.into_any()),
                Err(Value::Variant(name, fields)) => (name, fields),
                Err(_) => return Ok(py.None().into_bound(py)),
            };
            let fields = PyTuple::new(py, all(fields)?)?;
            match classes.get_item(&*name)? {
                Some(class) => class.call1(fields)?,
                None => py.import("diffeo._variants")?.call_method1("unknown", (&*name, fields))?,
            }
        }
    })
}

/// Whether a value may be None in Python.
fn is_bare_none(value: &Value<'_>) -> bool {
    match value {
        Value::Unit => true,
        Value::Variant(name, _) => name == "Just" || name == "Nothing",
        _ => false,
    }
}
