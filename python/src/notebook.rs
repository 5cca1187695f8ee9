//! Cells of a notebook, for the kernel for Jupyter.

use crate::error::message;
use crate::program::options;
use crate::signals;
use crate::taken::Taken;
use diffeo::Limits;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A notebook in the language.
#[pyclass(frozen, module = "diffeo._diffeo")]
pub struct Notebook {
    inner: diffeo::Notebook,
}

#[pymethods]
impl Notebook {
    #[new]
    fn new(py: Python<'_>) -> Notebook {
        Notebook { inner: py.detach(diffeo::Notebook::new) }
    }

    /// Checks the program of a cell: the scope of what follows.
    fn check(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        signals::call(py, |host| self.inner.check(text, Limits { host, ..Limits::default() }))
    }

    /// The value of an expression (nothing for a function), its text, and the columns of a table; `classes` has the classes of
    /// constructors.
    #[pyo3(signature = (expression, classes, /, **given))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        expression: &str,
        classes: &Bound<'py, PyDict>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Option<Bound<'py, PyAny>>, String, Vec<String>)> {
        let options = options(given)?;
        let shown = signals::call(py, |host| {
            self.inner.evaluate(expression, &options, Limits { host, ..Limits::default() })
        })?;
        let taken = Taken { py, classes, types: &shown.types };
        let value =
            shown.value.map(|value| taken.value(value, Some(&shown.ty), None)).transpose()?;
        Ok((value, shown.text, shown.columns))
    }

    /// Runs a command, its text without the colon: gives the answer, and the definition that it adds.
    #[pyo3(signature = (text, /, **given))]
    fn command(
        &self,
        py: Python<'_>,
        text: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(String, Option<String>)> {
        let options = options(given)?;
        signals::call(py, |host| {
            self.inner.command(text, &options, Limits { host, ..Limits::default() })
        })
    }

    /// Names of the variant types, each with names and numbers of fields of its constructors.
    fn variants(&self, py: Python<'_>) -> Vec<(String, Vec<(String, usize)>)> {
        py.detach(|| self.inner.variants())
    }

    /// The warnings since this was last asked.
    fn take_warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let warnings = py.detach(|| self.inner.take_warnings());
        let all: PyResult<Vec<_>> = warnings.iter().map(|m| message(py, m)).collect();
        PyList::new(py, all?)
    }
}
