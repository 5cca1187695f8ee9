//! Tools of GradBench itself, where a checkout of it is at hand: the hand-written derivatives in C++ of its `manual`
//! tool, compiled there beforehand (`make -C tools/manual`).

use crate::case::{Kernel, KernelCase};
use crate::json;
use crate::measure::Times;
use serde_json::{json, Value as Json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A checkout of GradBench.
pub struct Checkout {
    folder: PathBuf,
}

/// Times and result of a run.
pub struct Measured {
    /// The times of a call.
    pub times: Times,
    /// All numbers of the result.
    pub result: Vec<f64>,
}

impl Checkout {
    /// A checkout in a folder, if its tool is compiled.
    pub fn find(folder: &Path) -> Option<Checkout> {
        folder.join("tools/manual/bin").is_dir().then(|| Checkout { folder: folder.into() })
    }

    /// A case measured, or nothing where the tool does not have the kernel or its data are not those of the protocol.
    ///
    /// # Errors
    /// What the tool says against it.
    pub fn measure(
        &self,
        kernel: &Kernel,
        case: &KernelCase,
        budget: Duration,
    ) -> Result<Option<Measured>, String> {
        let module = Path::new(kernel.program).file_stem().and_then(|s| s.to_str()).unwrap_or("");
        let tool = self.folder.join("tools/manual/bin").join(module);
        // Of bundle adjustment the protocol sends one observation, which is repeated; the tool's Jacobian of a mirrored
        // hand, which no eval sends, is not that of its errors.
        if !tool.is_file() || module == "ba" || kernel.name == "ht_jacobian" {
            return Ok(None);
        }
        let mut input = json::write(&(kernel.argument)(case))?;
        match module {
            "gmm" => ["n", "d", "k"].iter().zip(&case.sizes).for_each(|(name, size)| {
                input[*name] = json!(size);
            }),
            "ht" => {
                let names: Vec<String> = (0..case.sizes[1]).map(|i| i.to_string()).collect();
                input["data"]["model"]["bone_names"] = json!(names);
            }
            _ => {}
        }
        input["min_runs"] = json!(1);
        input["min_seconds"] = json!(budget.as_secs_f64());
        let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
        std::fs::write(file.path(), input.to_string()).map_err(|e| e.to_string())?;
        let output = Command::new(tool).arg(file.path()).arg(kernel.entry).output();
        let output = output.map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().map(serde_json::from_str::<Json>);
        let value = lines.next().ok_or("no output")?.map_err(|e| e.to_string())?;
        let mut samples = Vec::new();
        for line in lines {
            let line = line.map_err(|e| e.to_string())?;
            if line["name"] == "evaluate" {
                samples.extend(line["nanoseconds"].as_f64().map(|n| n * 1e-9));
            }
        }
        let mut result = Vec::new();
        numbers(&value, &mut result);
        Ok(Some(Measured { times: Times::new(samples), result }))
    }
}

fn numbers(json: &Json, out: &mut Vec<f64>) {
    match json {
        Json::Array(items) => items.iter().for_each(|x| numbers(x, out)),
        Json::Object(fields) => fields.values().for_each(|x| numbers(x, out)),
        other => out.extend(other.as_f64()),
    }
}
