//! What a program gives as Python's values: numbers, arrays of NumPy, tuples, dictionaries, lists, variants.

use crate::plot::Plot;
use diffeo::{Array, Type, Types, Value};
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

/// The form that results take.
pub struct Taken<'a, 'py> {
    pub py: Python<'py>,
    /// The class of each constructor.
    pub classes: &'a Bound<'py, PyDict>,
    /// The variant types of the program.
    pub types: &'a Types,
}

impl<'py> Taken<'_, 'py> {
    /// The value for Python. Dictionaries have the order of those in the same places of a value that is `like` it, and else
    /// that of the record types.
    pub fn value(
        &self,
        given: Value<'static>,
        ty: Option<&Type>,
        like: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let like = like.filter(|like| !like.is_none());
        let all = |values: Vec<Value<'static>>, types: &dyn Fn(usize) -> Option<Type>| {
            let parts = values.into_iter().enumerate();
            let part = |(i, x)| self.value(x, types(i).as_ref(), at(like, i).as_ref());
            parts.map(part).collect::<PyResult<Vec<_>>>()
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
            Value::Tuple(parts) => {
                let types = |i: usize| match ty {
                    Some(Type::Tuple(types)) => types.get(i).cloned(),
                    _ => None,
                };
                PyTuple::new(py, all(parts, &types)?)?.into_any()
            }
            Value::Record(fields) => self.record(fields, ty, like)?,
            Value::Reals(reals) => array(py, reals)?,
            Value::Ints(ints) => array(py, ints)?,
            Value::Bools(bools) => array(py, bools)?,
            Value::Array(elements) => {
                let element = match ty {
                    Some(Type::Array(_, element)) => Some(&**element),
                    Some(Type::Variant(_, args)) => args.first(),
                    _ => None,
                };
                let elements = elements.into_iter().enumerate();
                let part = |(i, x)| self.value(x, element, at(like, i).as_ref());
                PyList::new(py, elements.map(part).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            // The `Maybe` of the prelude is a value or None; `Just` stays where its value would be None, too, or one of
            // those.
            Value::Variant(name, fields)
                if name == "Nothing"
                    && fields.is_empty()
                    && !self.classes.contains("Nothing")? =>
            {
                py.None().into_bound(py)
            }
            Value::Variant(name, mut fields)
                if name == "Just"
                    && fields.len() == 1
                    && !is_bare_none(&fields[0])
                    && !self.classes.contains("Just")? =>
            {
                let inner = match ty {
                    Some(Type::Variant(_, args)) => args.first(),
                    _ => None,
                };
                self.value(fields.remove(0), inner, like)?
            }
            Value::Variant(name, fields) => {
                let (name, fields) = match Plot::of(Value::Variant(name, fields)) {
                    Ok(plot) => return Ok(Bound::new(py, plot)?.into_any()),
                    Err(Value::Variant(name, fields)) => (name, fields),
                    Err(_) => return Ok(py.None().into_bound(py)),
                };
                let constructors = ty.and_then(|ty| self.types.constructors(ty));
                let own = constructors.and_then(|all| all.into_iter().find(|(n, _)| **n == *name));
                let types = own.map(|(_, types)| types).unwrap_or_default();
                let fields = PyTuple::new(py, all(fields, &|i| types.get(i).cloned())?)?;
                match self.classes.get_item(&*name)? {
                    Some(class) => class.call1(fields)?,
                    None => {
                        py.import("diffeo._variants")?.call_method1("unknown", (&*name, fields))?
                    }
                }
            }
        })
    }

    fn record(
        &self,
        fields: Vec<(std::borrow::Cow<'static, str>, Value<'static>)>,
        ty: Option<&Type>,
        like: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let like = like.and_then(|like| like.cast::<PyDict>().ok());
        let record = match ty {
            Some(Type::Record(record)) => Some(record),
            _ => None,
        };
        // First the names in their order, then the values.
        let dict = PyDict::new(self.py);
        if let Some(like) = like {
            for key in like.keys() {
                if fields.iter().any(|(name, _)| key.eq(&**name).unwrap_or(false)) {
                    dict.set_item(key, self.py.None())?;
                }
            }
        }
        for (name, _) in record.iter().flat_map(|record| record.written()) {
            if fields.iter().any(|(own, _)| **own == **name) && !dict.contains(&**name)? {
                dict.set_item(&**name, self.py.None())?;
            }
        }
        for (name, field) in fields {
            let ty = ty.and_then(|ty| ty.field(&name));
            let like = like.map(|like| like.get_item(&*name)).transpose()?.flatten();
            dict.set_item(&*name, self.value(field, ty, like.as_ref())?)?;
        }
        Ok(dict.into_any())
    }
}

/// A part of a list, a tuple or a value of a constructor.
fn at<'py>(like: Option<&Bound<'py, PyAny>>, i: usize) -> Option<Bound<'py, PyAny>> {
    let like = like?;
    if let Ok(list) = like.cast::<PyList>() {
        return list.get_item(i).ok();
    }
    if let Ok(tuple) = like.cast::<PyTuple>() {
        return tuple.get_item(i).ok();
    }
    let fields = like.getattr_opt("_fields").ok()??;
    fields.cast::<PyTuple>().ok()?.get_item(i).ok()
}

/// Whether a value may be None in Python.
fn is_bare_none(value: &Value<'_>) -> bool {
    match value {
        Value::Unit => true,
        Value::Variant(name, _) => name == "Just" || name == "Nothing",
        _ => false,
    }
}

/// An array of numbers for Python.
pub fn numbers<'py>(py: Python<'py>, value: Value<'static>) -> PyResult<Bound<'py, PyAny>> {
    let (classes, types) = (PyDict::new(py), Types::default());
    Taken { py, classes: &classes, types: &types }.value(value, None, None)
}
