//! Python's values as a program takes them, by the type that it takes. Arrays of the right kind are borrowed.

use crate::error::{misfit, misfit_with_help};
use crate::plot::Plot;
use diffeo::{Array, Name, Type, Types, Value, Variant, WellKnown};
use numpy::{
    Element, PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;

/// Values of Python on their way to a call: what they borrow from is kept as long as this is.
pub struct Given<'py> {
    py: Python<'py>,
    types: Types,
    reals: Vec<PyReadonlyArrayDyn<'py, f64>>,
    ints: Vec<PyReadonlyArrayDyn<'py, i64>>,
    bools: Vec<PyReadonlyArrayDyn<'py, bool>>,
}

/// The first whole number that is too large for an Int.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// The way to a value, for messages.
#[derive(Clone)]
pub struct ValuePath(pub String);

impl ValuePath {
    fn step(&self, step: impl std::fmt::Display) -> ValuePath {
        ValuePath(format!("{}{step}", self.0))
    }
}

impl<'py> Given<'py> {
    pub fn new(py: Python<'py>, types: &Types) -> Given<'py> {
        let (reals, ints, bools) = (Vec::new(), Vec::new(), Vec::new());
        Given { py, types: types.clone(), reals, ints, bools }
    }

    fn wrong<T>(
        &self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        path: &ValuePath,
        why: &str,
    ) -> PyResult<T> {
        let class = value.get_type().name().map_or("?".to_string(), |name| name.to_string());
        let mut found = format!("a value of type {class}");
        if let Ok(array) = value.cast::<PyUntypedArray>() {
            let sizes: Vec<String> = array.shape().iter().map(ToString::to_string).collect();
            let comma = if sizes.len() == 1 { "," } else { "" };
            found =
                format!("an array of {} with shape ({}{comma})", array.dtype(), sizes.join(", "));
        }
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Err(misfit(self.py, format!("{}: expected {ty}, found {found}{why}", path.0)))
    }

    /// The value of this type.
    ///
    /// # Errors
    /// An exception that names the argument, the type that is expected and what came.
    pub fn value(
        &mut self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let wrong = |given: &Self, why: &str| given.wrong(value, ty, path, why);
        match ty {
            Type::Unit => {
                match value.is_none() || value.cast::<PyTuple>().is_ok_and(|t| t.is_empty()) {
                    true => Ok(Value::Unit),
                    false => wrong(self, ""),
                }
            }
            Type::Real => {
                if let Ok(x) = value.cast_exact::<PyFloat>() {
                    return Ok(Value::Real(x.value()));
                }
                if let Some(ends) = value.getattr_opt("_diffeo_interval")? {
                    let (lo, hi) = ends.extract()?;
                    return Ok(Value::Interval(lo, hi));
                }
                if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
                    return wrong(self, "");
                }
                match self.scalar(value)?.extract::<f64>() {
                    Ok(x) => Ok(Value::Real(x)),
                    Err(_) => wrong(self, ""),
                }
            }
            Type::Int => {
                let scalar = self.scalar(value)?;
                if scalar.is_instance_of::<PyBool>() || scalar.is_instance_of::<PyFloat>() {
                    return wrong(self, "");
                }
                match scalar.extract::<i64>() {
                    Ok(n) => Ok(Value::Int(n)),
                    Err(error) if error.is_instance_of::<PyOverflowError>(self.py) => {
                        wrong(self, "an Int has 64 bits")
                    }
                    Err(_) => wrong(self, ""),
                }
            }
            Type::Bool => match self.scalar(value)?.extract::<bool>() {
                Ok(b) => Ok(Value::Bool(b)),
                Err(_) => wrong(self, ""),
            },
            Type::String => match value.cast::<PyString>() {
                Ok(text) => Ok(Value::String(Cow::Owned(text.to_cow()?.into_owned()))),
                Err(_) => wrong(self, ""),
            },
            Type::Tuple(types) => self.tuple(value, ty, types, path),
            Type::Record(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                if let Ok(dict) = value.cast::<PyDict>() {
                    for key in dict.keys() {
                        let key: String = key.str()?.to_string();
                        if !fields.iter().any(|(name, _)| **name == *key) {
                            return wrong(self, &format!("there is no field {key}"));
                        }
                    }
                }
                for (name, ty) in fields.iter() {
                    let Some(field) = field(value, name)? else {
                        return wrong(self, &format!("the field {name} is missing"));
                    };
                    let part = self.value(&field, ty, &path.step(format_args!(".{name}")))?;
                    parts.push((Cow::Owned(name.to_string()), part));
                }
                Ok(Value::Record(parts))
            }
            Type::Array(_, element) => self.array(value, ty, element, path),
            Type::Variant(variant, args) => self.variant(value, ty, (variant, args), path),
            Type::Function(_) | Type::Parameter(_) => wrong(self, "functions cannot be given"),
        }
    }

    /// A number out of an array without indices, or a scalar of NumPy.
    fn scalar(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            return Ok(value.clone());
        }
        let single = value
            .getattr_opt("shape")?
            .is_some_and(|shape| shape.cast::<PyTuple>().is_ok_and(|shape| shape.is_empty()));
        match single && value.hasattr("item")? {
            true => value.call_method0("item"),
            false => Ok(value.clone()),
        }
    }

    fn tuple(
        &mut self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        types: &[Type],
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let Some(items) = sequence(value)? else { return self.wrong(value, ty, path, "") };
        if items.len() != types.len() {
            let why = format!("it has {} components", items.len());
            return self.wrong(value, ty, path, &why);
        }
        let parts = items.iter().zip(types).enumerate();
        let parts: PyResult<Vec<Value<'static>>> = parts
            .map(|(i, (item, ty))| self.value(item, ty, &path.step(format_args!("[{i}]"))))
            .collect();
        Ok(Value::Tuple(parts?))
    }

    fn array(
        &mut self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        element: &Type,
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let (mut rank, mut scalar) = (1, element);
        while let Type::Array(_, inner) = scalar {
            (rank, scalar) = (rank + 1, inner);
        }
        if matches!(scalar, Type::Real | Type::Int | Type::Bool) {
            if let Some(array) = self.numbers(value, ty, scalar, rank, path)? {
                return Ok(array);
            }
        }
        if let Type::Record(fields) = element {
            if let Some(rows) = self.frame(value, fields, path)? {
                return Ok(rows);
            }
        }
        let Some(items) = sequence(value)? else { return self.wrong(value, ty, path, "") };
        let items = items.iter().enumerate();
        let items: PyResult<Vec<Value<'static>>> = items
            .map(|(i, item)| self.value(item, element, &path.step(format_args!("[{i}]"))))
            .collect();
        Ok(Value::Array(items?))
    }

    /// An array of numbers, if the value is one. A list of numbers becomes an array, and other kinds of numbers are
    /// converted where nothing can be lost but digits of integers.
    fn numbers(
        &mut self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        scalar: &Type,
        rank: usize,
        path: &ValuePath,
    ) -> PyResult<Option<Value<'static>>> {
        let numpy = self.py.import("numpy")?;
        let array = match value.is_instance_of::<PyUntypedArray>() {
            true => value.clone(),
            false if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() => {
                return Ok(None)
            }
            // Rows of different lengths are no array: they are looked at one by one, for a message.
            false => match numpy.call_method1("asarray", (value,)) {
                Ok(array) => array,
                Err(_) => return Ok(None),
            },
        };
        let untyped = array.cast::<PyUntypedArray>().map_err(PyErr::from)?.clone();
        let kind = untyped.dtype().kind();
        if untyped.ndim() != rank {
            // Of lists without elements, nobody knows how many indices they have.
            if untyped.len() == 0 && !value.is_instance_of::<PyUntypedArray>() {
                let mut sizes = untyped.shape().to_vec();
                sizes.resize(rank, 0);
                return Ok(Some(empty(scalar, sizes)));
            }
            if kind == b'O' && !value.is_instance_of::<PyUntypedArray>() {
                return Ok(None);
            }
            let why = format!("it has {} indices, not {rank}", untyped.ndim());
            return self.wrong(value, ty, path, &why);
        }
        let fits = match scalar {
            Type::Real => matches!(kind, b'f' | b'i' | b'u'),
            Type::Int => matches!(kind, b'i' | b'u'),
            _ => kind == b'b',
        };
        if !fits && untyped.len() > 0 {
            if kind == b'O' && !value.is_instance_of::<PyUntypedArray>() {
                return Ok(None);
            }
            return self.wrong(&array, ty, path, "");
        }
        if matches!(scalar, Type::Int) && kind == b'u' && untyped.dtype().itemsize() == 8 {
            let most: u64 = match untyped.len() {
                0 => 0,
                _ => array.call_method0("max")?.extract()?,
            };
            if i64::try_from(most).is_err() {
                return self.wrong(&array, ty, path, "an Int has 64 bits, with its sign");
            }
        }
        let name = match scalar {
            Type::Real => "float64",
            Type::Int => "int64",
            _ => "bool",
        };
        // The same array if it is one already: in the order of C, of the machine's bytes, aligned.
        let ready = numpy.call_method1("require", (&array, name, vec!["C", "A"]))?;
        Ok(Some(match scalar {
            Type::Real => Value::Reals(borrowed(&ready, &mut self.reals)?),
            Type::Int => Value::Ints(borrowed(&ready, &mut self.ints)?),
            _ => Value::Bools(borrowed(&ready, &mut self.bools)?),
        }))
    }

    /// The rows of a data frame of pandas or polars, or of a structured array.
    fn frame(
        &mut self,
        value: &Bound<'py, PyAny>,
        fields: &[(Name, Type)],
        path: &ValuePath,
    ) -> PyResult<Option<Value<'static>>> {
        let is_frame = value.hasattr("columns")? && value.hasattr("to_numpy")?;
        let is_structured = value
            .getattr_opt("dtype")?
            .is_some_and(|dtype| dtype.getattr("names").is_ok_and(|names| !names.is_none()));
        if !is_frame && !is_structured {
            return Ok(None);
        }
        let mut columns = Vec::new();
        for (name, ty) in fields {
            let column = match value.get_item(&**name) {
                Ok(column) => column,
                Err(_) => {
                    let ty = Type::array(Type::record(fields.to_vec()));
                    return self.wrong(value, &ty, path, &format!("there is no column {name}"));
                }
            };
            let missing = missing(&column)?;
            columns.push((name, ty, items(&column)?, missing));
        }
        let rows = columns.first().map_or(0, |(_, _, items, _)| items.len());
        let mut out = Vec::with_capacity(rows);
        for i in 0..rows {
            let mut record = Vec::with_capacity(columns.len());
            for (name, ty, items, missing) in &columns {
                let at = path.step(format_args!("[{i}].{name}"));
                let missing = missing.as_ref().is_some_and(|missing| missing[i]);
                let part = self.cell(&items[i], ty, name, missing, &at)?;
                record.push((Cow::Owned(name.to_string()), part));
            }
            out.push(Value::Record(record));
        }
        Ok(Some(Value::Array(out)))
    }

    /// A cell of a frame, as of a table in a file: where it is missing it needs a Maybe type, and whole numbers are an Int
    /// also where pandas has made them floats because some are missing.
    fn cell(
        &mut self,
        item: &Bound<'py, PyAny>,
        ty: &Type,
        name: &Name,
        missing: bool,
        at: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let maybe = ty.is(WellKnown::Maybe);
        let real = item.extract::<f64>().ok();
        if maybe && (missing || real.is_some_and(f64::is_nan)) {
            return Ok(Value::Variant(Cow::Borrowed("Nothing"), Vec::new()));
        }
        if missing {
            let what = match item.is_none() {
                true => "it is empty".to_string(),
                false => format!("it is `{}`, a missing value", item.str()?),
            };
            let text = format!("{}: column `{name}` must be of type `{ty}`, but {what}", at.0);
            let help = format!("a column with missing cells has the type `Maybe[{ty}]`");
            return Err(misfit_with_help(self.py, text, help));
        }
        let is_int = match ty {
            Type::Variant(_, args) => maybe && matches!(args.first(), Some(Type::Int)),
            ty => matches!(ty, Type::Int),
        };
        let whole = real.filter(|x| is_int && x.trunc() == *x && x.abs() < TWO_TO_63);
        match whole.filter(|_| item.is_instance_of::<PyFloat>()) {
            Some(x) => self.value(PyInt::new(self.py, x as i64).as_any(), ty, at),
            None => self.value(item, ty, at),
        }
    }

    fn variant(
        &mut self,
        value: &Bound<'py, PyAny>,
        ty: &Type,
        (Variant { name, known, .. }, args): (&Variant, &[Type]),
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let constructors = self.types.constructors(ty).unwrap_or_default();
        if let (true, Ok(plot)) = (*known == Some(WellKnown::Plot), value.cast::<Plot>()) {
            return Ok(plot.get().value());
        }
        let given = value.getattr_opt("_diffeo_constructor")?;
        if *known == Some(WellKnown::List) && given.is_none() {
            if let (Some(items), [element]) = (sequence(value)?, args) {
                let items = items.iter().enumerate();
                let items: PyResult<Vec<Value<'static>>> = items
                    .map(|(i, item)| self.value(item, element, &path.step(format_args!("[{i}]"))))
                    .collect();
                return Ok(Value::Array(items?));
            }
        }
        let given: Option<String> = given.map(|given| given.extract()).transpose()?;
        let is_own = |given: &String| constructors.iter().any(|(name, _)| **name == **given);
        if *known == Some(WellKnown::Maybe) && !given.as_ref().is_some_and(is_own) {
            let Some(inner) = args.first().filter(|_| !value.is_none()) else {
                return Ok(Value::Variant(Cow::Borrowed("Nothing"), Vec::new()));
            };
            let inner = self.value(value, inner, path)?;
            return Ok(Value::Variant(Cow::Borrowed("Just"), vec![inner]));
        }
        let Some(given) = given else {
            let names: Vec<String> =
                constructors.iter().map(|(name, _)| name.to_string()).collect();
            return self.wrong(
                value,
                ty,
                path,
                &format!("a {name} is one of {}", names.join(", ")),
            );
        };
        let Some((_, types)) = constructors.iter().find(|(name, _)| **name == *given) else {
            return self.wrong(value, ty, path, &format!("{given} is no constructor of {name}"));
        };
        let fields = value.getattr("_fields")?;
        let fields: Vec<Bound<'py, PyAny>> =
            fields.cast::<PyTuple>().map_err(PyErr::from)?.iter().collect();
        if fields.len() != types.len() {
            return self.wrong(value, ty, path, &format!("{given} has {} fields", types.len()));
        }
        let fields = fields.iter().zip(types).enumerate();
        let fields: PyResult<Vec<Value<'static>>> = fields
            .map(|(i, (field, ty))| self.value(field, ty, &path.step(format_args!("._{i}"))))
            .collect();
        Ok(Value::Variant(Cow::Owned(given), fields?))
    }
}

/// The items of a column of a frame or a structured array.
fn items<'py>(column: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let list = match column.hasattr("tolist")? {
        true => column.call_method0("tolist")?,
        false => column.call_method0("to_list")?,
    };
    Ok(list.cast::<PyList>().map_err(PyErr::from)?.iter().collect())
}

/// The cells of a column that its frame calls missing: to pandas these are nan, too, to polars nulls alone. Arrays of NumPy
/// have none.
fn missing(column: &Bound<'_, PyAny>) -> PyResult<Option<Vec<bool>>> {
    for method in ["isna", "is_null"] {
        if column.hasattr(method)? {
            return items(&column.call_method0(method)?)?
                .iter()
                .map(|cell| cell.extract())
                .collect();
        }
    }
    Ok(None)
}

/// An array without elements.
fn empty(scalar: &Type, sizes: Vec<usize>) -> Value<'static> {
    match scalar {
        Type::Int => Value::Ints(Array { data: Vec::new().into(), sizes }),
        Type::Bool => Value::Bools(Array { data: Vec::new().into(), sizes }),
        _ => Value::Reals(Array { data: Vec::new().into(), sizes }),
    }
}

/// The elements of an array, which `kept` keeps.
fn borrowed<'py, T: Element + Copy>(
    array: &Bound<'py, PyAny>,
    kept: &mut Vec<PyReadonlyArrayDyn<'py, T>>,
) -> PyResult<Array<'static, T>> {
    let array: PyReadonlyArrayDyn<'py, T> = array.extract()?;
    let sizes = array.shape().to_vec();
    let slice = array.as_slice()?;
    // SAFETY: the array is kept as long as the value is used, and nothing of NumPy's frees or moves its elements
    // meanwhile. Whoever writes to them from another thread during the call does as with NumPy's own functions.
    let data: &'static [T] = unsafe { std::slice::from_raw_parts(slice.as_ptr(), slice.len()) };
    kept.push(array);
    Ok(Array { data: Cow::Borrowed(data), sizes })
}

/// The items of a list, a tuple or an array.
fn sequence<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() {
        return Ok(None);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(Some(list.iter().collect()));
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(Some(tuple.iter().collect()));
    }
    let sized = value.hasattr("__len__")? && value.hasattr("__getitem__")?;
    match value.try_iter() {
        Ok(items) if sized => items.collect::<PyResult<Vec<_>>>().map(Some),
        _ => Ok(None),
    }
}

/// A field of a dictionary or of an object such as a dataclass.
fn field<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match value.cast::<PyDict>() {
        Ok(dict) => dict.get_item(name),
        Err(_) => value.getattr_opt(name),
    }
}
