//! Python's values as a program takes them, by the type that it takes. Arrays of the right kind are borrowed.

use crate::error::{misfit, misfit_with_help};
use crate::plot::Plot;
use crate::table::{is_frame, is_missing, is_table, NOTHING};
use diffeo::{closest, Array, Type, Types, Value, Variant, WellKnown};
use numpy::{
    Element, PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;

/// Values of Python on their way to a call: what they borrow from is kept as long as this is.
pub struct Given<'py> {
    pub(crate) py: Python<'py>,
    types: Types,
    reals: Vec<PyReadonlyArrayDyn<'py, f64>>,
    ints: Vec<PyReadonlyArrayDyn<'py, i64>>,
    bools: Vec<PyReadonlyArrayDyn<'py, bool>>,
}

/// The way to a value, for messages.
#[derive(Clone)]
pub struct ValuePath {
    /// The name of the argument, if it has one.
    name: Option<String>,
    /// The function that takes it; of an argument without a name all that is said of it.
    of: String,
    steps: String,
}

impl ValuePath {
    /// The way to a value that this says: "argument 1 of f".
    pub fn new(of: String) -> ValuePath {
        ValuePath { name: None, of, steps: String::new() }
    }

    /// The way to an argument of a function.
    pub fn argument(i: usize, name: Option<&str>, function: &str) -> ValuePath {
        match name {
            Some(name) => {
                ValuePath { name: Some(name.to_string()), ..ValuePath::new(function.to_string()) }
            }
            None => ValuePath::new(format!("argument {i} of {function}")),
        }
    }

    pub fn step(&self, step: impl std::fmt::Display) -> ValuePath {
        ValuePath { steps: format!("{}{step}", self.steps), ..self.clone() }
    }
}

impl std::fmt::Display for ValuePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ValuePath { name, of, steps } = self;
        match name {
            Some(name) => write!(f, "argument `{name}{steps}` of {of}"),
            None if steps.is_empty() => f.write_str(of),
            None => write!(f, "{of}, at {steps}"),
        }
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
        Err(misfit(self.py, format!("{path}: expected {ty}, found {found}{why}")))
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
                if is_missing(value)? {
                    return self.missing(value, ty, None, path);
                }
                match self.scalar(value)?.extract::<f64>() {
                    Ok(x) => Ok(Value::Real(x)),
                    Err(_) => wrong(self, ""),
                }
            }
            Type::Int | Type::Bool | Type::String if is_missing(value)? => {
                self.missing(value, ty, None, path)
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
                if is_table(value)? {
                    return self.columns(value, fields, path);
                }
                let mut parts = Vec::with_capacity(fields.len());
                if let Ok(dict) = value.cast::<PyDict>() {
                    for key in dict.keys() {
                        let key: String = key.str()?.to_string();
                        if !fields.iter().any(|(name, _)| **name == *key) {
                            let names = fields.iter().map(|(name, _)| &**name);
                            let near = closest(&key, names);
                            let near =
                                near.map_or(String::new(), |n| format!(": did you mean `{n}`?"));
                            return wrong(self, &format!("there is no field {key}{near}"));
                        }
                    }
                }
                for (name, ty) in fields.iter() {
                    let Some(field) = field(value, name)? else {
                        let is_list = value.is_instance_of::<PyList>();
                        let hint = match is_list || value.is_instance_of::<PyUntypedArray>() {
                            true => "; `x, unravel = diffeo.ravel(record)` makes the record of an array again: `unravel(x)`",
                            false => "",
                        };
                        return wrong(self, &format!("the field {name} is missing{hint}"));
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
        let numbers = matches!(scalar, Type::Real | Type::Int | Type::Bool);
        if let Type::Record(fields) = element {
            if is_table(value)? {
                return self.rows(value, fields, path);
            }
        }
        if is_frame(value)? {
            if !numbers || rank != 2 {
                let why = "the rows of a frame are records of its columns: `[]{name: Real}`";
                return self.wrong(value, ty, path, why);
            }
            self.refuse_missing_cells(value, scalar, path)?;
        } else if let Some(elements) = self.column(value, element, None, path)? {
            return Ok(elements);
        }
        if numbers {
            if let Some(array) = self.numbers(value, ty, scalar, rank, path)? {
                return Ok(array);
            }
        }
        let Some(items) = sequence(value)? else { return self.wrong(value, ty, path, "") };
        let items = items.iter().enumerate();
        let items: PyResult<Vec<Value<'static>>> = items
            .map(|(i, item)| self.value(item, element, &path.step(format_args!("[{i}]"))))
            .collect();
        let items = items?;
        // Rows that are arrays have one length.
        let rows = items.first().filter(|_| matches!(element, Type::Array(..)));
        if let Some(size) = rows.and_then(length) {
            let differs = |item: &Value<'_>| length(item).is_some_and(|other| other != size);
            if let Some(i) = items.iter().position(differs) {
                let other = length(&items[i]).unwrap_or_default();
                let at = path.step(format_args!("[{i}]"));
                let text = format!("{at}: this row has {other} elements, that before it {size}");
                let help =
                    "the rows of an array have one length: take `List` for others".to_string();
                return Err(misfit_with_help(self.py, text, help));
            }
        }
        Ok(Value::Array(items))
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
            // The message is about the element that does not fit.
            if matches!(kind, b'O' | b'U' | b'S') && !value.is_instance_of::<PyUntypedArray>() {
                return Ok(None);
            }
            let why = match (scalar, kind) {
                (Type::Int, b'f') => "`astype(int)` makes Ints of them",
                (Type::Real, b'b') => "`astype(float)` makes 1.0 and 0.0 of them",
                _ => "",
            };
            return self.wrong(&array, ty, path, why);
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
            if let [Type::Record(fields)] = args {
                if is_table(value)? {
                    return self.rows(value, fields, path);
                }
            }
            if is_frame(value)? {
                let why = "the rows of a frame are records of its columns: `List[{name: Real}]`";
                return self.wrong(value, ty, path, why);
            }
            if let [element] = args {
                if let Some(elements) = self.column(value, element, None, path)? {
                    return Ok(elements);
                }
            }
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
            let missing = is_missing(value)?;
            let Some(inner) = args.first().filter(|_| !missing) else { return Ok(NOTHING) };
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

/// The number of elements of an array.
fn length(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Reals(Array { sizes, .. })
        | Value::Ints(Array { sizes, .. })
        | Value::Bools(Array { sizes, .. }) => sizes.first().copied(),
        _ => None,
    }
}

/// A field of a dictionary or of an object such as a dataclass.
fn field<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match value.cast::<PyDict>() {
        Ok(dict) => dict.get_item(name),
        Err(_) => value.getattr_opt(name),
    }
}
