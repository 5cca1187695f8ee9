//! Exceptions: `diffeo.Error` with its messages, and `diffeo.ArgumentError` for values that do not fit.

use diffeo::Spelling;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// An instance of a class of `diffeo._errors`.
fn raise(py: Python<'_>, class: &str, args: impl FnOnce() -> PyResult<Py<PyAny>>) -> PyErr {
    let made = args().and_then(|args| {
        let class = py.import("diffeo._errors")?.getattr(class)?;
        match args.bind(py).cast::<PyTuple>() {
            Ok(args) => class.call1(args),
            Err(_) => class.call1((args,)),
        }
    });
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

fn set_place(dict: &Bound<'_, PyDict>, place: Option<&diffeo::Place>) -> PyResult<()> {
    dict.set_item("file", place.map(|place| &place.file))?;
    dict.set_item("line", place.map(|place| place.line))?;
    dict.set_item("column", place.map(|place| place.column))?;
    dict.set_item("end_line", place.map(|place| place.end_line))?;
    dict.set_item("end_column", place.map(|place| place.end_column))
}

/// A message as a dictionary.
pub fn message<'py>(py: Python<'py>, message: &diffeo::Message) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let labels = message.labels.iter().map(|label| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("message", &label.message)?;
        set_place(&dict, label.place.as_ref())?;
        Ok(dict)
    });
    dict.set_item("severity", message.severity)?;
    dict.set_item("code", message.code)?;
    dict.set_item("message", &message.message)?;
    dict.set_item("notes", &message.notes)?;
    let help = message.help.as_ref().map(|help| help.written(Spelling::Python));
    dict.set_item("help", help)?;
    dict.set_item("label", &message.text)?;
    dict.set_item("labels", PyList::new(py, labels.collect::<PyResult<Vec<_>>>()?)?)?;
    set_place(&dict, message.place.as_ref())?;
    dict.set_item("text", message.written(Spelling::Python))?;
    Ok(dict)
}

/// The exception for an error of a program.
pub fn error(py: Python<'_>, error: &diffeo::Error) -> PyErr {
    let class = match error.messages.first().map(|message| message.code) {
        Some("argument" | "entry-type") => "ArgumentError",
        _ => "Error",
    };
    raise(py, class, || {
        let all: PyResult<Vec<_>> = error.messages.iter().map(|m| message(py, m)).collect();
        Ok(PyList::new(py, all?)?.into_any().unbind())
    })
}

/// The exception for a value that does not fit.
pub fn misfit(py: Python<'_>, text: String) -> PyErr {
    raise(py, "ArgumentError", || Ok(text.into_pyobject(py)?.into_any().unbind()))
}

/// The exception for a value that does not fit, and what to do.
pub fn misfit_with_help(py: Python<'_>, text: String, help: String) -> PyErr {
    raise(py, "ArgumentError", || Ok((text, help).into_pyobject(py)?.into_any().unbind()))
}
