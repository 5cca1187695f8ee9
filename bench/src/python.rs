//! The kernels in NumPy and JAX: each case measured in a process of its own, where they are installed.

use crate::case::{CaseData, Kernel, KernelCase};
use crate::measure::Times;
use serde_json::{json, Value as Json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// An interpreter of Python with one of the libraries.
pub struct PythonLibrary {
    command: String,
    /// The library: `numpy` or `jax`.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// The threads that it may have. JAX has one, or as many as there are processors.
    threads: usize,
}

/// Times and result of a run.
pub struct Measured {
    /// The times of a call.
    pub times: Times,
    /// How long it took to compile.
    pub compile: Duration,
    /// The memory of a call at its peak.
    pub peak: Option<u64>,
    /// All numbers of the result.
    pub result: Vec<f64>,
}

impl PythonLibrary {
    /// A library of `$PYTHON`, else of `python3`, if it is installed.
    pub fn find(name: &'static str, threads: usize) -> Option<PythonLibrary> {
        let command = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let text = format!("import numpy, {name}; print({name}.__version__)");
        let output = Command::new(&command).args(["-c", &text]).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        output.status.success().then_some(PythonLibrary { command, name, version, threads })
    }

    /// A case measured, or nothing where the kernel does not exist in Python.
    ///
    /// # Errors
    /// What Python says against it.
    pub fn measure(
        &self,
        kernel: &Kernel,
        case: &KernelCase,
        budget: Duration,
    ) -> Result<Option<Measured>, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        write(case, folder.path()).map_err(|e| e.to_string())?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/run.py");
        let mut command = Command::new(&self.command);
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, self.threads.to_string());
        }
        if self.threads == 1 {
            let flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1";
            command.env("XLA_FLAGS", flags);
        }
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(script).arg(folder.path()).args([kernel.name, self.name]);
        command.arg(budget.as_secs_f64().to_string());
        let output = command.output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        let report: Json = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        if report.get("missing").is_some() {
            return Ok(None);
        }
        let bytes = std::fs::read(folder.path().join("result.bin")).map_err(|e| e.to_string())?;
        let number = |b: &[u8]| b.try_into().map_or(f64::NAN, f64::from_le_bytes);
        let samples = report["samples"].as_array().into_iter().flatten();
        Ok(Some(Measured {
            times: Times::new(samples.filter_map(Json::as_f64).collect()),
            compile: Duration::from_secs_f64(report["compile"].as_f64().unwrap_or(0.0)),
            peak: report["peak"].as_u64(),
            result: bytes.chunks(8).map(number).collect(),
        }))
    }
}

/// Writes the arrays of a case for `run.py`.
fn write(case: &KernelCase, folder: &Path) -> std::io::Result<()> {
    let mut list = Vec::new();
    for array in &case.arrays {
        let (kind, bytes): (&str, Vec<u8>) = match &array.data {
            CaseData::Reals(data) => {
                ("float64", data.iter().flat_map(|x| x.to_le_bytes()).collect())
            }
            CaseData::Ints(data) => ("int64", data.iter().flat_map(|n| n.to_le_bytes()).collect()),
        };
        list.push(json!({"name": array.name, "shape": array.shape, "type": kind}));
        std::fs::write(folder.join(format!("{}.bin", array.name)), bytes)?;
    }
    std::fs::write(folder.join("case.json"), Json::from(list).to_string())
}
