//! `RESULTS.md`: the tasks of GradBench, values and derivatives, of everything that runs them.

use crate::case::KernelCase;
use crate::kernels::{tasks, GradbenchTask};
use crate::report::{bytes, digits, time};
use crate::suite::{Measurement, RunnerRow, Suite};
use serde_json::{json, Value as Json};
use std::fmt::Write;

/// Measurements of a task on one case: rows for the value and for the derivative.
pub struct TaskMeasurements {
    task: &'static str,
    case: String,
    value: Vec<RunnerRow>,
    derivative: Vec<RunnerRow>,
}

/// Measures the tasks whose names contain a text.
pub fn measure(
    suite: &mut Suite,
    filter: Option<&str>,
    mut seen: impl FnMut(&str),
) -> Vec<TaskMeasurements> {
    let mut all = Vec::new();
    for GradbenchTask { name, value, derivative } in tasks() {
        for case in (derivative.cases)(suite.quick) {
            let whole = format!("{name} {}", case.label);
            if filter.is_some_and(|f| !whole.contains(f)) {
                continue;
            }
            seen(&whole);
            let peaks = std::mem::replace(&mut suite.peaks, false);
            let of_value = value.as_ref().and_then(|value| {
                let case: KernelCase =
                    (value.cases)(suite.quick).into_iter().find(|c| c.label == case.label)?;
                Some(suite.measure(value, &case))
            });
            suite.peaks = peaks;
            all.push(TaskMeasurements {
                task: name,
                value: of_value.unwrap_or_default(),
                derivative: suite.measure(&derivative, &case),
                case: case.label,
            });
        }
    }
    all
}

impl TaskMeasurements {
    fn name(&self) -> String {
        format!("{} {}", self.task, self.case)
    }

    fn find<'a>(rows: &'a [RunnerRow], runner: &str) -> Option<&'a Measurement> {
        rows.iter().find(|r| r.runner == runner)?.outcome.as_ref().ok()
    }

    fn derivative(&self, runner: &str) -> Option<f64> {
        Some(Self::find(&self.derivative, runner)?.times.median())
    }

    /// Error messages of the runs that failed.
    pub fn errors(&self) -> impl Iterator<Item = String> + '_ {
        self.value.iter().chain(&self.derivative).filter_map(|row| {
            let error = row.outcome.as_ref().err()?;
            Some(format!("{} {}, {}: {error}", row.kernel, row.case, row.runner))
        })
    }

    /// For programs to read: times in seconds, memory in bytes.
    pub fn json(&self) -> Vec<Json> {
        let one = |row: &RunnerRow| {
            let m = row.outcome.as_ref().ok()?;
            let value = Self::find(&self.value, &row.runner).map(|m| m.times.median());
            Some(json!({
                "task": self.task,
                "case": self.case,
                "runner": row.runner,
                "value": value,
                "derivative": m.times.median(),
                "compile": m.compile.as_secs_f64(),
                "peak": m.peak,
            }))
        };
        self.derivative.iter().filter_map(one).collect()
    }
}

const ENGINES: [&str; 2] = ["llvm", "jit"];
const OTHERS: [&str; 5] = ["good C", "plain C", "GradBench C++", "jax", "casadi"];

fn missing() -> String {
    "–".to_string()
}

/// The page, with the lines that say what ran.
pub fn page(all: &[TaskMeasurements], versions: &[String], threads: usize) -> String {
    let runs = match threads {
        1 => "Everything runs on one thread".to_string(),
        n => format!("Diffeo and JAX run on {n} threads, C on one"),
    };
    let mut out = format!(
        "# GradBench's tasks: values and derivatives\n\n\
         Made by `bench/results.sh`; [README.md](README.md) says how it is measured. {runs}, on the\n\
         same data. A derivative is what GradBench asks for: the gradient, of `ba` and `ht` the Jacobian, of `kmeans` the\n\
         step of Newton's method, of `particle` and `saddle` the whole descent with derivatives in derivatives. Values and\n\
         derivatives of all are equal within 1e-9. *GradBench C++* is its tool `manual`, with derivatives by hand (that of\n\
         `ode` is a formula for the result, without the steps).\n\n",
    );
    for version in versions {
        let _ = writeln!(out, "- {version}");
    }
    out.push_str(
        "\n![Times of derivatives beside those of llvm](results.svg)\n\n## Derivatives\n\n\
         The last column: how many times as long as `llvm` the fastest other one takes.\n\n",
    );
    let head: Vec<String> =
        ENGINES.iter().map(|e| format!("`{e}`")).chain(OTHERS.map(label)).collect();
    let _ = writeln!(out, "| task | {} | fastest other |", head.join(" | "));
    let _ = writeln!(out, "|---|{}---:|", "---:|".repeat(head.len()));
    for m in all {
        let times = ENGINES.iter().chain(&OTHERS).map(|r| m.derivative(r));
        let cells: Vec<String> = times.map(|t| t.map_or_else(missing, time)).collect();
        let other = OTHERS.iter().filter_map(|r| m.derivative(r)).min_by(f64::total_cmp);
        let ratio = other.zip(m.derivative("llvm")).map(|(other, ours)| digits(other / ours));
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            m.name(),
            cells.join(" | "),
            ratio.unwrap_or_else(missing)
        );
    }
    out.push_str(
        "\n## Values beside derivatives\n\n\
         *compile* is of the derivative, from the text to what can be called: of CasADi with the C compiler on the code that\n\
         it generates. *memory* is by how much the first call of the derivative lets the process grow at most.\n",
    );
    for m in all {
        let _ = write!(
            out,
            "\n### {}\n\n| run by | value | derivative | derivative / value | compile | memory |\n|---|---:|---:|---:|---:|---:|\n",
            m.name()
        );
        for runner in ENGINES.iter().chain(&OTHERS) {
            let Some(d) = TaskMeasurements::find(&m.derivative, runner) else { continue };
            let value = TaskMeasurements::find(&m.value, runner).map(|v| v.times.median());
            let compile = d.compile.as_secs_f64();
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                label(runner),
                value.map_or_else(missing, time),
                time(d.times.median()),
                value.map_or_else(missing, |v| digits(d.times.median() / v)),
                if compile == 0.0 { missing() } else { time(compile) },
                d.peak.map_or_else(missing, bytes),
            );
        }
    }
    let errors: Vec<String> = all.iter().flat_map(|m| m.errors()).collect();
    if !errors.is_empty() {
        out.push_str("\n## What did not run\n\n");
        for error in errors {
            let _ = writeln!(out, "- {}", error.lines().next().unwrap_or_default());
        }
    }
    out
}

/// What a runner is called on the page.
fn label(runner: &str) -> String {
    match runner {
        "jax" => "JAX".into(),
        "casadi" => "CasADi".into(),
        "llvm" | "jit" => format!("`{runner}`"),
        other => other.into(),
    }
}

/// The processor, as Linux tells it.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let model = field("model name").unwrap_or_else(|| "an unknown processor".into());
    let flags = field("flags").unwrap_or_default();
    let vectors =
        ["avx512f", "avx2", "avx"].into_iter().find(|f| flags.split(' ').any(|g| g == *f));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("processor: {model} with {}, {cores} cores", vectors.unwrap_or("no vectors known"))
}
