//! Programs and functions.

use crate::error::{error, message};
use crate::given::{Given, ValuePath};
use crate::like::Like;
use crate::signals;
use crate::stablehlo::{StableHlo, XlaInput};
use crate::taken::Taken;
use diffeo::xla::Precision;
use diffeo::{Engine, HostOptions, Kinks, Limits, Report, Type, Types, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;
use std::time::Duration;

/// A program of Diffeo.
#[pyclass(name = "Program", frozen, module = "diffeo._diffeo")]
pub struct PyProgram {
    inner: diffeo::Program,
    /// The classes of its constructors.
    classes: Py<PyDict>,
    /// What to make it of again: its name and its text, or its file.
    source: (String, Option<String>),
}

/// The time that a keyword argument gives.
fn time(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let time = seconds.map(Duration::try_from_secs_f64).transpose();
    time.map_err(|_| PyValueError::new_err("timeout is a number of seconds"))
}

/// The options that keyword arguments name.
pub fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<HostOptions> {
    let mut options = HostOptions::default();
    let Some(given) = given else { return Ok(options) };
    for (key, value) in given.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "engine" => {
                let name: String = value.extract()?;
                options.engine = Engine::named(&name).ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "there is no engine {name}: auto, jit, llvm, c or interp"
                    ))
                })?;
            }
            "kinks" => {
                let mode: String = value.extract()?;
                options.kinks = match mode.as_str() {
                    "ignore" => Kinks::Ignore,
                    "warn" => Kinks::Warn,
                    "error" => Kinks::Error,
                    "exact" => Kinks::Exact,
                    _ => {
                        return Err(PyValueError::new_err("kinks is ignore, warn, error or exact"))
                    }
                };
            }
            "timeout" => options.time = time(value.extract()?)?,
            "threads" => {
                let threads: Option<usize> = value.extract()?;
                options.threads = threads
                    .map(|n| {
                        std::num::NonZeroUsize::new(n)
                            .ok_or_else(|| PyValueError::new_err("threads is at least 1"))
                    })
                    .transpose()?;
            }
            "trace" => {
                let call: Option<Py<PyAny>> = value.extract()?;
                options.trace = call.map(|call| -> Arc<dyn Fn(&str) + Send + Sync> {
                    Arc::new(move |line| {
                        Python::attach(|py| {
                            if let Err(error) = call.call1(py, (line,)) {
                                error.write_unraisable(py, None);
                            }
                        });
                    })
                });
            }
            "progress" => {
                let call: Option<Py<PyAny>> = value.extract()?;
                options.progress = call.map(|call| -> Arc<dyn Fn(&Report<'_>) + Send + Sync> {
                    Arc::new(move |report| {
                        Python::attach(|py| {
                            let args = (report.label, report.step, report.value);
                            if let Err(error) = call.call1(py, args) {
                                error.write_unraisable(py, None);
                            }
                        });
                    })
                });
            }
            _ => return Err(PyTypeError::new_err(format!("there is no option {key}"))),
        }
    }
    Ok(options)
}

#[pymethods]
impl PyProgram {
    #[new]
    #[pyo3(signature = (name, text, classes, timeout = None))]
    fn new(
        py: Python<'_>,
        name: String,
        text: Option<String>,
        classes: Py<PyDict>,
        timeout: Option<f64>,
    ) -> PyResult<PyProgram> {
        let limits = time(timeout)?.map_or(Limits::default(), Limits::after);
        let inner = signals::call(py, |host| {
            let limits = Limits { host, ..limits };
            match &text {
                Some(text) => diffeo::Program::from_text_within(&name, text, &limits),
                None => diffeo::Program::from_file_within(&name, &limits),
            }
        })?;
        Ok(PyProgram { inner, classes, source: (name, text) })
    }

    /// Names of the definitions, and whether they are functions.
    fn definitions(&self, py: Python<'_>) -> Vec<(String, bool)> {
        py.detach(|| {
            let names = self.inner.definitions().into_iter();
            names.filter_map(|name| self.inner.is_function(&name).map(|f| (name, f))).collect()
        })
    }

    /// Names of the variant types, each with names and numbers of fields of its constructors.
    fn variants(&self, py: Python<'_>) -> Vec<(String, Vec<(String, usize)>)> {
        py.detach(|| self.inner.variants())
    }

    /// The warnings about the program.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all: PyResult<Vec<_>> = self.inner.warnings().iter().map(|m| message(py, m)).collect();
        PyList::new(py, all?)
    }

    /// The documentation of a definition.
    fn documentation(&self, py: Python<'_>, name: &str) -> Option<String> {
        py.detach(|| self.inner.documentation(name))
    }

    /// A function.
    #[pyo3(signature = (name, /, **given))]
    fn function(
        slf: &Bound<'_, Self>,
        name: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyFunction> {
        let (py, program) = (slf.py(), slf.get());
        let options = options(given)?;
        let made = py.detach(|| program.inner.function_with(name, options));
        let inner = made.map_err(|e| error(py, &e))?;
        let options = given.map(|given| given.clone().unbind());
        let steps = vec![("function".to_string(), name.to_string(), Vec::new())];
        Ok(PyFunction { inner, program: slf.clone().unbind(), steps, options, like: Like::Nothing })
    }

    /// The function that an expression is, in the scope of the program.
    #[pyo3(signature = (text, /, **given))]
    fn expression(
        slf: &Bound<'_, Self>,
        text: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyFunction> {
        let (py, program) = (slf.py(), slf.get());
        let options = options(given)?;
        let made = py.detach(|| program.inner.expression(text, options));
        let inner = made.map_err(|e| error(py, &e))?;
        let options = given.map(|given| given.clone().unbind());
        let steps = vec![("expression".to_string(), text.to_string(), Vec::new())];
        Ok(PyFunction { inner, program: slf.clone().unbind(), steps, options, like: Like::Nothing })
    }

    /// The value of a constant.
    fn constant<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| {
            let constant = self.inner.constant(name)?;
            constant.call::<Value<'static>>(()).map(|value| (value, constant))
        });
        let (value, constant) = found.map_err(|e| error(py, &e))?;
        let taken = Taken { py, classes: self.classes.bind(py), types: constant.types() };
        taken.value(value, Some(constant.ty()), None)
    }

    /// Its name and its text, or its file.
    #[getter]
    fn source(&self) -> (String, Option<String>) {
        self.source.clone()
    }
}

// A function of a program, or a derivative of one. (A comment for Rust: the class has no text of its own, so that each
// function shows its own.)
#[pyclass(name = "Function", frozen, module = "diffeo._diffeo", weakref)]
pub struct PyFunction {
    inner: diffeo::Function,
    program: Py<PyProgram>,
    /// How it is made of the program: what is done, a name, argument numbers.
    steps: Vec<(String, String, Vec<u32>)>,
    options: Option<Py<PyDict>>,
    /// The parts of its result that have the type of an argument.
    like: Like,
}

impl PyFunction {
    fn derived(
        &self,
        py: Python<'_>,
        step: (&str, Vec<u32>),
        make: impl FnOnce(&diffeo::Function) -> Result<diffeo::Function, diffeo::Error> + Send,
    ) -> PyResult<PyFunction> {
        let made = py.detach(|| make(&self.inner));
        let inner = made.map_err(|e| error(py, &e))?;
        let like = self.like.derived(step.0, &step.1, self.inner.sides().0.arguments().len());
        let mut steps = self.steps.clone();
        steps.push((step.0.to_string(), String::new(), step.1));
        let options = self.options.as_ref().map(|options| options.clone_ref(py));
        Ok(PyFunction { inner, program: self.program.clone_ref(py), steps, options, like })
    }

    /// The names by which Python gives arguments: `arg0` and so on where the definition has none.
    fn names(&self) -> Vec<String> {
        let named = self.inner.parameters().into_iter().enumerate();
        named.map(|(i, name)| name.map_or_else(|| format!("arg{i}"), str::to_string)).collect()
    }

    /// The exception for arguments that are too many or too few, or have other names.
    fn misnamed(&self, py: Python<'_>, why: &str) -> PyErr {
        let (name, signature) = (self.inner.name(), self.inner.signature());
        let names = self.names();
        let known = match names.as_slice() {
            [] => "it takes no arguments".to_string(),
            names if self.inner.tuple_parameter().is_some() => {
                let tuple = self.inner.tuple_parameter().unwrap_or_default();
                format!("it takes the tuple `{tuple}` or its {} components", names.len())
            }
            names => format!("it takes {}", names.join(", ")),
        };
        let text = format!("{name}: {signature} {why}");
        crate::error::misfit_with_help(py, text, known)
    }

    /// The arguments of a call in their order.
    fn ordered<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, mut all) = (args.py(), args.iter().collect::<Vec<_>>());
        let count = self.inner.sides().0.arguments().len();
        let Some(named) = named.filter(|named| !named.is_empty()) else {
            if all.len() != count {
                let why = format!("takes {count} arguments, {} were given", all.len());
                return Err(self.misnamed(py, &why));
            }
            return Ok(all);
        };
        let names = self.names();
        // A record is also given by its fields.
        if let (Type::Record(_), [name], []) = (self.inner.sides().0, names.as_slice(), &all[..]) {
            if !named.contains(name)? {
                return Ok(vec![named.clone().into_any()]);
            }
        }
        for key in named.keys() {
            let key: String = key.extract()?;
            match names.iter().enumerate().position(|(i, name)| is_named(&key, i, name)) {
                None => return Err(self.misnamed(py, &format!("has no parameter `{key}`"))),
                Some(i) if i < all.len() => {
                    return Err(self.misnamed(py, &format!("was given `{key}` twice")))
                }
                Some(_) => {}
            }
        }
        if all.len() > count {
            let given = all.len() + named.len();
            return Err(self.misnamed(py, &format!("takes {count} arguments, {given} were given")));
        }
        for (i, name) in names.iter().enumerate().skip(all.len()) {
            let shown = || named.get_item(format!("arg{i}"));
            match named.get_item(name)?.map_or_else(shown, |value| Ok(Some(value)))? {
                Some(value) => all.push(value),
                None => return Err(self.misnamed(py, &format!("was not given `{name}`"))),
            }
        }
        Ok(all)
    }

    /// The arguments of a call as Python has them: several, or the one tuple of them.
    fn given<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (from, _) = self.inner.sides();
        let named = named.filter(|named| !named.is_empty());
        let tuple = self.inner.tuple_parameter();
        let whole = match (named, tuple, from) {
            (Some(named), Some(tuple), _) if args.is_empty() && named.len() == 1 => {
                named.get_item(tuple)?
            }
            (None, _, Type::Tuple(types)) if args.len() == 1 && types.len() != 1 => {
                // A list is a tuple only where the parameter is one.
                let only = args.get_item(0)?;
                let fits = only.is_instance_of::<PyTuple>()
                    || tuple.is_some() && only.is_instance_of::<PyList>();
                fits.then_some(only)
            }
            _ => None,
        };
        let Some(whole) = whole else { return self.ordered(args, named) };
        let parts = whole.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let count = from.arguments().len();
        if parts.len() != count {
            let why = format!("takes {count} arguments, a tuple of {} was given", parts.len());
            return Err(self.misnamed(args.py(), &why));
        }
        Ok(parts)
    }

    /// The argument of a call: the tuple of several.
    fn argument<'py>(
        &self,
        given: &mut Given<'py>,
        args: &[Bound<'py, PyAny>],
    ) -> PyResult<Value<'static>> {
        let (from, _) = self.inner.sides();
        let types = from.arguments();
        if let Type::Unit = from {
            return Ok(Value::Unit);
        }
        let (names, function) = (self.inner.parameters(), self.inner.name());
        let tuple = self.inner.tuple_parameter();
        let path = |i: usize| match (self.steps.last().map(|(what, ..)| what.as_str()), tuple) {
            (Some("vjp"), _) if i == 1 => ValuePath::new(format!("the cotangent of {function}")),
            (Some("jvp"), _) if i == 1 => ValuePath::new(format!("the tangent of {function}")),
            (_, Some(tuple)) => {
                ValuePath::argument(0, Some(tuple), function).step(format_args!("[{i}]"))
            }
            _ => ValuePath::argument(i, names[i], function),
        };
        let mut value = |i: usize| given.value(&args[i], &types[i], &path(i));
        if let Type::Tuple(_) = from {
            return (0..types.len()).map(value).collect::<PyResult<_>>().map(Value::Tuple);
        }
        value(0)
    }
}

#[pymethods]
impl PyFunction {
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut given = Given::new(py, self.inner.types());
        let args = self.given(args, named)?;
        let argument = self.argument(&mut given, &args)?;
        let value = signals::call(py, |host| self.inner.evaluate_asking(&argument, host))?;
        drop(given);
        let program = self.program.bind(py).get();
        let taken = Taken { py, classes: program.classes.bind(py), types: self.inner.types() };
        let like = self.like.of(py, &args)?;
        taken.value(value, Some(self.inner.sides().1), like.as_ref())
    }

    /// For each argument: it holds a Real.
    fn _holds_real(&self) -> Vec<bool> {
        let types = self.inner.types();
        let arguments = self.inner.sides().0.arguments().iter();
        arguments.map(|ty| holds_real(ty, types, &mut Vec::new())).collect()
    }

    /// The gradient by these arguments.
    fn _grad(&self, py: Python<'_>, argnums: Vec<u32>) -> PyResult<PyFunction> {
        let at = argnums.iter().map(|i| *i as usize).collect::<Vec<_>>();
        self.derived(py, ("grad", argnums), move |f| f.grad(&at))
    }

    /// Value and gradient by these arguments.
    fn _value_and_grad(&self, py: Python<'_>, argnums: Vec<u32>) -> PyResult<PyFunction> {
        let at = argnums.iter().map(|i| *i as usize).collect::<Vec<_>>();
        self.derived(py, ("value_and_grad", argnums), move |f| f.value_and_grad(&at))
    }

    /// Value and pullback by these arguments.
    fn _vjp(&self, py: Python<'_>, argnums: Vec<u32>) -> PyResult<PyFunction> {
        let at = argnums.iter().map(|i| *i as usize).collect::<Vec<_>>();
        self.derived(py, ("vjp", argnums), move |f| f.vjp(&at))
    }

    /// Value and pushforward by these arguments.
    fn _jvp(&self, py: Python<'_>, argnums: Vec<u32>) -> PyResult<PyFunction> {
        let at = argnums.iter().map(|i| *i as usize).collect::<Vec<_>>();
        self.derived(py, ("jvp", argnums), move |f| f.jvp(&at))
    }

    /// The function of intervals, whose values certainly contain the exact ones.
    fn _enclose(&self, py: Python<'_>) -> PyResult<PyFunction> {
        self.derived(py, ("enclose", Vec::new()), |f| {
            f.with(HostOptions { kinks: Kinks::Enclose, ..f.options().clone() })
        })
    }

    /// Jets in `k` variables up to order `r`.
    fn _jet(&self, py: Python<'_>, kr: (u32, u32)) -> PyResult<PyFunction> {
        self.derived(py, ("jet", vec![kr.0, kr.1]), move |f| f.jet(kr.0, kr.1))
    }

    /// Compiles the function now, which the first call does otherwise; whether there is machine code for it.
    fn compile(&self, py: Python<'_>) -> bool {
        py.detach(|| self.inner.prepare())
    }

    /// Draws from the distribution whose log density it is.
    #[pyo3(signature = (data, /, **given))]
    fn _sample<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let none = PyDict::new(py);
        crate::sample::sample(py, &self.inner, data, given.unwrap_or(&none))
    }

    /// The warnings of the calls since this was last asked.
    fn take_warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let warnings = py.detach(|| self.inner.take_warnings());
        let all: PyResult<Vec<_>> = warnings.iter().map(|m| message(py, m)).collect();
        PyList::new(py, all?)
    }

    #[getter]
    fn __name__(&self) -> &str {
        self.inner.name()
    }

    /// Its type, as the language writes it.
    #[getter]
    fn type_(&self) -> &str {
        self.inner.signature()
    }

    /// Names and types of its parameters, and the type of its result, for `inspect.signature`.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (from, to) = self.inner.sides();
        let types: Vec<String> = from.arguments().iter().map(ToString::to_string).collect();
        let make = py.import("diffeo._signature")?.getattr("signature")?;
        make.call1((self.names(), types, to.to_string()))
    }

    /// How many arguments it takes.
    #[getter]
    fn arity(&self) -> usize {
        self.inner.sides().0.arguments().len()
    }

    /// The `##` text of the definition.
    #[getter]
    fn __doc__(&self, py: Python<'_>) -> String {
        let text = match self.steps.as_slice() {
            [(what, name, _)] if what == "function" => {
                // Whoever has the program may wait for the interpreter.
                let program = &self.program.get().inner;
                py.detach(|| program.documentation(name))
            }
            _ => None,
        };
        let head = format!("{} : {}", self.inner.name(), self.inner.signature());
        match text {
            Some(text) => format!("{head}\n\n{text}"),
            None => head,
        }
    }

    /// The number by which custom calls of XLA name it.
    fn _registered(&self) -> i64 {
        crate::xla::register(self.inner.clone())
    }

    /// The function as a module of StableHLO for arguments of these sizes, each with those of the batch in front.
    fn _stablehlo(
        &self,
        py: Python<'_>,
        inputs: Vec<XlaInput>,
        batch: Vec<i64>,
        precision: &str,
    ) -> PyResult<StableHlo> {
        let precision = if precision == "f32" { Precision::F32 } else { Precision::F64 };
        StableHlo::of(py, &self.inner, inputs, &batch, precision)
    }

    /// What it takes and gives, as nested tuples: `("tuple", (…))`, `("record", ((name, …), …))`,
    /// `("array", (size, …), scalar)`, `("Real",)`, `("other", text)`; a size that is not known is `""`.
    fn _types<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (from, to) = self.inner.sides();
        Ok((described(py, from)?, described(py, to)?))
    }

    #[getter]
    fn program(&self, py: Python<'_>) -> Py<PyProgram> {
        self.program.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        format!("<diffeo function {} : {}>", self.inner.name(), self.inner.signature())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let program = self.program.bind(py).get();
        let rebuild = py.import("diffeo._rebuild")?.getattr("function")?;
        let options = self.options.as_ref().map(|options| options.clone_ref(py));
        let args = (program.source.clone(), self.steps.clone(), options);
        PyTuple::new(py, [rebuild, args.into_pyobject(py)?.into_any()])
    }
}

/// Whether a keyword names this argument: by its own name, or by its place where that is no name of Python.
fn is_named(key: &str, i: usize, name: &str) -> bool {
    key == name || key == format!("arg{i}")
}

/// True if there are Reals in values of a type. `within` has the variant types that it is in.
fn holds_real(ty: &Type, types: &Types, within: &mut Vec<Type>) -> bool {
    match ty {
        Type::Real => true,
        Type::Tuple(parts) => parts.iter().any(|ty| holds_real(ty, types, within)),
        Type::Record(fields) => fields.iter().any(|(_, ty)| holds_real(ty, types, within)),
        Type::Array(_, element) => holds_real(element, types, within),
        Type::Variant(_, args) if !within.contains(ty) && within.len() < 100 => {
            within.push(ty.clone());
            let constructors = types.constructors(ty).unwrap_or_default();
            let mut fields = constructors.iter().flat_map(|(_, fields)| fields).chain(args.iter());
            fields.any(|ty| holds_real(ty, types, within))
        }
        _ => false,
    }
}

/// A type as nested tuples.
fn described<'py>(py: Python<'py>, ty: &Type) -> PyResult<Bound<'py, PyAny>> {
    let all = |types: &[Type]| -> PyResult<Bound<'py, PyTuple>> {
        let types: PyResult<Vec<_>> = types.iter().map(|ty| described(py, ty)).collect();
        PyTuple::new(py, types?)
    };
    let (mut sizes, mut scalar) = (Vec::new(), ty);
    while let Type::Array(size, inner) = scalar {
        sizes.push(size.to_string());
        scalar = inner;
    }
    let other = || ("other", ty.to_string()).into_pyobject(py).map(|t| t.into_any());
    Ok(match (sizes.len(), scalar) {
        (0, Type::Tuple(types)) => ("tuple", all(types)?).into_pyobject(py)?.into_any(),
        (0, Type::Unit) => ("tuple", all(&[])?).into_pyobject(py)?.into_any(),
        (0, Type::Record(fields)) => {
            let fields: PyResult<Vec<_>> = fields
                .iter()
                .map(|(name, ty)| Ok((name.to_string(), described(py, ty)?)))
                .collect();
            ("record", PyTuple::new(py, fields?)?).into_pyobject(py)?.into_any()
        }
        (0, Type::Real | Type::Int | Type::Bool) => (ty.to_string(),).into_pyobject(py)?.into_any(),
        (_, Type::Real | Type::Int | Type::Bool) => {
            ("array", PyTuple::new(py, sizes)?, scalar.to_string()).into_pyobject(py)?.into_any()
        }
        _ => other()?,
    })
}
