//! Functions as modules of StableHLO.

use crate::error::error;
use diffeo::xla::{Input, Precision};
use diffeo::{Function, XlaModule};
use pyo3::prelude::*;

/// A number or an array that a module takes: an Int that it is made for, or sizes, of a number none.
#[derive(FromPyObject)]
pub enum XlaInput {
    Fixed(i64),
    Sizes(Vec<i64>),
}

impl From<XlaInput> for Input {
    fn from(input: XlaInput) -> Input {
        match input {
            XlaInput::Fixed(n) => Input::Fixed(n),
            XlaInput::Sizes(sizes) if sizes.is_empty() => Input::Scalar,
            XlaInput::Sizes(sizes) => Input::Array(sizes),
        }
    }
}

/// A module of StableHLO.
#[pyclass(frozen, module = "diffeo._diffeo")]
pub struct StableHlo {
    module: XlaModule,
}

impl StableHlo {
    pub fn of(
        py: Python<'_>,
        function: &Function,
        inputs: Vec<XlaInput>,
        batch: &[i64],
        precision: Precision,
    ) -> PyResult<StableHlo> {
        let inputs: Vec<Input> = inputs.into_iter().map(Input::from).collect();
        let made = py.detach(|| function.stablehlo(&inputs, batch, precision));
        made.map(|module| StableHlo { module }).map_err(|why| error(py, &why))
    }
}

#[pymethods]
impl StableHlo {
    /// The text.
    #[getter]
    fn text(&self) -> &str {
        self.module.text()
    }

    /// The results: the name of the type of the elements, and the sizes.
    #[getter]
    fn results(&self) -> Vec<(&'static str, Vec<i64>)> {
        self.module.results().collect()
    }

    /// The module has checks that may fail when it runs.
    #[getter]
    fn can_fail(&self) -> bool {
        self.module.can_fail()
    }

    /// Raises the error of a check that did not hold.
    fn check(&self, py: Python<'_>, number: i64, operands: Vec<i64>) -> PyResult<()> {
        match self.module.error(number, &operands) {
            Some(why) => Err(error(py, &why)),
            None => Ok(()),
        }
    }
}
