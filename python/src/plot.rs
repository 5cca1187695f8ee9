//! Plots as objects that notebooks draw.

use diffeo::plot::{self, Plot as Picture};
use diffeo::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// A plot that a program made. Notebooks draw it; `svg()`, `png()` and `save(path)` draw it elsewhere, and `vega_lite()`
/// is its specification. It may be given to a program as any value.
#[pyclass(frozen, module = "diffeo._diffeo")]
pub struct Plot {
    picture: Picture,
    value: Value<'static>,
}

impl Plot {
    /// The plot that a value is; else the value again.
    pub fn of(value: Value<'static>) -> Result<Plot, Value<'static>> {
        match plot::from_host(&value) {
            Some(picture) => Ok(Plot { picture, value }),
            None => Err(value),
        }
    }

    /// The value of the program.
    pub fn value(&self) -> Value<'static> {
        self.value.clone()
    }

    /// The plot, if it can be drawn as it is asked for. What it leaves out is a warning.
    fn checked(&self, py: Python<'_>) -> PyResult<&Picture> {
        let problem = |problem: plot::Problem| {
            PyValueError::new_err(format!("the plot cannot be drawn: {problem}"))
        };
        plot::check(&self.picture).map_err(problem)?;
        plot::notes(&self.picture).iter().try_for_each(|note| warn(py, note))?;
        Ok(&self.picture)
    }

    fn pixels(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let picture = self.checked(py)?;
        if let Some(note) = plot::boxes(picture) {
            warn(py, &format!("{note}; SVG has all letters"))?;
        }
        plot::png(picture).map_err(|_| {
            let what = "the plot has more than a hundred million pixels";
            PyValueError::new_err(format!("{what}: a smaller `plot.size`, or SVG, will do"))
        })
    }
}

/// Warns of what a picture leaves out, once for each place of a program.
fn warn(py: Python<'_>, note: &str) -> PyResult<()> {
    let class = py.import("diffeo._errors")?.getattr("PlotWarning")?;
    py.import("warnings")?.call_method1("warn", (note, class, 1))?;
    Ok(())
}

#[pymethods]
impl Plot {
    /// The picture as SVG.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        Ok(plot::svg(self.checked(py)?))
    }

    /// What the picture leaves out, such as numbers that are infinite: a line for each layer.
    #[getter]
    fn notes(&self) -> Vec<String> {
        plot::notes(&self.picture)
    }

    /// The picture as the bytes of a PNG file.
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.pixels(py)?))
    }

    /// The specification for Vega-Lite, as for `altair.Chart.from_dict`.
    fn vega_lite<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = plot::vega_lite(self.checked(py)?).to_string();
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Writes the picture to a .svg or .png file, or the specification to a .json file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let bytes = match ending.as_deref() {
            Some("svg") => self.svg(py)?.into_bytes(),
            Some("png") => self.pixels(py)?,
            Some("json") => plot::vega_lite(self.checked(py)?).to_string().into_bytes(),
            _ => {
                let name = path.display();
                let text = format!("{name} ends in none of .svg, .png and .json");
                return Err(PyValueError::new_err(text));
            }
        };
        Ok(std::fs::write(path, bytes)?)
    }

    #[pyo3(signature = (include=None, exclude=None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<Bound<'py, PyAny>>,
        exclude: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        // The notebook takes of them what it wants.
        let _ = (include, exclude);
        let bundle = PyDict::new(py);
        bundle.set_item("application/vnd.vegalite.v6+json", self.vega_lite(py)?)?;
        bundle.set_item("image/svg+xml", plot::svg(&self.picture))?;
        bundle.set_item("text/plain", self.__repr__())?;
        Ok(bundle)
    }

    fn __repr__(&self) -> String {
        plot::summary(&self.picture)
    }
}
