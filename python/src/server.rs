//! What editors and notebooks ask about a text: the language server without its transport.

use diffeo_ide::{Bounds, Refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::time::Duration;

/// How long an answer may take.
const TIME: Duration = Duration::from_secs(10);

/// The address of the one text.
const TEXT: &str = "cell.deo";

/// A language server with one text. It belongs to the thread that has made it.
#[pyclass(unsendable, module = "diffeo._diffeo")]
pub struct Server {
    inner: diffeo_ide::Server,
}

#[pymethods]
impl Server {
    #[new]
    fn new() -> Server {
        let bounds = Bounds { time: Some(TIME), memory: None };
        Server { inner: diffeo_ide::Server::bounded(false, bounds) }
    }

    /// The answer to a request of the Language Server Protocol about a text: `params` and the answer are JSON.
    fn answer(&mut self, text: &str, method: &str, params: &str) -> PyResult<String> {
        let mut params: Value =
            serde_json::from_str(params).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let document = json!({ "uri": TEXT, "text": text });
        self.inner.note("textDocument/didOpen", &json!({ "textDocument": document }));
        params["textDocument"] = json!({ "uri": TEXT });
        match self.inner.answer(method, &params) {
            Ok(answer) => Ok(answer.to_string()),
            Err(Refusal::NoMethod) => Err(PyValueError::new_err(format!("there is no {method}"))),
            Err(Refusal::Failed(why) | Refusal::Parameter(why)) => Err(PyValueError::new_err(why)),
        }
    }
}

/// Whether a text of definitions, or an expression, ends where more has to come.
#[pyfunction]
pub fn is_unfinished(text: &str) -> bool {
    diffeo_ide::is_unfinished(text)
}
