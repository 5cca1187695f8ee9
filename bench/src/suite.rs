//! A case prepared on everything that can run it, compared, measured.

use crate::c::{CCompiler, Style};
use crate::case::{Kernel, KernelCase};
use crate::compare::compare;
use crate::engines::{BenchEngine, CheckedProgram};
use crate::gradbench::Checkout;
use crate::measure::{interleaved, Times};
use crate::memory;
use crate::python::PythonLibrary;
use crate::run::{Runner, RustKernel};
use std::time::{Duration, Instant};

/// What is to be measured.
pub struct Suite {
    /// The C compiler, if there is one.
    pub compiler: Option<CCompiler>,
    /// The engines.
    pub engines: Vec<Box<dyn BenchEngine>>,
    /// The libraries of Python.
    pub libraries: Vec<PythonLibrary>,
    /// A checkout of GradBench with its tool in C++.
    pub gradbench: Option<Checkout>,
    /// How long each is measured for each case.
    pub budget: Duration,
    /// Whether the data are small.
    pub quick: bool,
    /// Whether the peak of memory is measured, by calling this program again.
    pub peaks: bool,
}

/// The outcome for one runner.
pub struct RunnerRow {
    /// The kernel.
    pub kernel: &'static str,
    /// The label of the case.
    pub case: String,
    /// The runner.
    pub runner: String,
    /// What was measured, or why nothing was.
    pub outcome: Result<Measurement, String>,
}

/// What was measured of a runner.
pub struct Measurement {
    /// The times of a call.
    pub times: Times,
    /// How long it took to compile.
    pub compile: Duration,
    /// The memory of a call at its peak.
    pub peak: Option<u64>,
    /// How many blocks a call allocates beyond its result.
    pub allocations: Option<u64>,
}

/// A runner that has been called once.
pub struct Called<'a> {
    /// The runner.
    pub runner: Runner<'a>,
    /// How long the call took.
    pub first: Duration,
}

/// A runner's name, and why it cannot run or what is wrong with its result.
pub type RunnerFailure = (String, String);

impl Suite {
    /// Everything that can run a case, called once: what gives another result than the first one fails.
    pub fn called<'a>(
        &self,
        kernel: &Kernel,
        case: &'a KernelCase,
    ) -> (Vec<Called<'a>>, Vec<RunnerFailure>) {
        let (mut called, mut failures): (Vec<Called<'a>>, Vec<RunnerFailure>) =
            (Vec::new(), Vec::new());
        let mut right: Option<Vec<f64>> = None;
        let mut take = |name: &str, runner: Result<Runner<'a>, String>| {
            let checked = runner.and_then(|mut runner| {
                let start = Instant::now();
                runner.prepared.call()?;
                let first = start.elapsed();
                let result = runner.prepared.result();
                match &right {
                    None if result.len() != case.results => {
                        return Err(format!("{} numbers instead of {}", result.len(), case.results))
                    }
                    None => right = Some(result),
                    Some(right) => compare(right, &result)?,
                }
                Ok(Called { runner, first })
            });
            match checked {
                Ok(runner) => called.push(runner),
                Err(error) => failures.push((name.to_string(), error)),
            }
        };
        for style in Style::ALL.into_iter().filter(|style| CCompiler::has(kernel, *style)) {
            if let Some(compiler) = &self.compiler {
                take(style.name(), compiler.prepare(kernel, case, style));
            }
        }
        if let Some(native) = RustKernel::prepare(kernel, case) {
            take("Rust", Ok(native));
        }
        match CheckedProgram::load(kernel) {
            Ok(program) => {
                let argument = (kernel.argument)(case);
                for engine in &self.engines {
                    take(engine.name(), program.prepare(&**engine, &argument, true));
                }
            }
            Err(error) => failures.push(("Diffeo".into(), error)),
        }
        (called, failures)
    }

    /// A case measured on everything that can run it.
    pub fn measure(&self, kernel: &Kernel, case: &KernelCase) -> Vec<RunnerRow> {
        let row = |runner: &str, outcome| RunnerRow {
            kernel: kernel.name,
            case: case.label.clone(),
            runner: runner.into(),
            outcome,
        };
        let (called, failures) = self.called(kernel, case);
        let first: Vec<Duration> = called.iter().map(|c| c.first).collect();
        let mut runners: Vec<Runner> = called.into_iter().map(|c| c.runner).collect();
        let right = runners.first().map(|r| r.prepared.result());
        let mut rows = Vec::new();
        match interleaved(&mut runners, &first, self.budget) {
            Ok(times) => {
                for (runner, times) in runners.into_iter().zip(times) {
                    let Runner { name, compile, prepared } = runner;
                    let peak = || memory::in_child(kernel.name, &case.label, &name, self.quick);
                    let peak = if self.peaks { peak() } else { None };
                    let allocations = prepared.allocations();
                    rows.push(row(&name, Ok(Measurement { times, compile, peak, allocations })));
                }
            }
            Err(error) => rows.push(row("all", Err(error))),
        }
        for library in &self.libraries {
            match library.measure(kernel, case, self.budget) {
                Ok(None) => {}
                Ok(Some(m)) => {
                    let equal = right.as_ref().map_or(Ok(()), |right| compare(right, &m.result));
                    let (times, compile, peak) = (m.times, m.compile, m.peak);
                    let outcome =
                        equal.map(|()| Measurement { times, compile, peak, allocations: None });
                    rows.push(row(library.name, outcome));
                }
                Err(error) => rows.push(row(library.name, Err(error))),
            }
        }
        if let Some(checkout) = &self.gradbench {
            let measured = match checkout.measure(kernel, case, self.budget) {
                Ok(None) => None,
                Ok(Some(m)) => {
                    let equal = right.as_ref().map_or(Ok(()), |right| compare(right, &m.result));
                    let times = m.times;
                    let (compile, peak, allocations) = (Duration::ZERO, None, None);
                    Some(equal.map(|()| Measurement { times, compile, peak, allocations }))
                }
                Err(error) => Some(Err(error)),
            };
            rows.extend(measured.map(|outcome| row("GradBench C++", outcome)));
        }
        rows.extend(failures.into_iter().map(|(name, error)| row(&name, Err(error))));
        rows
    }

    /// The peak of memory of one runner of a case in this process.
    ///
    /// # Errors
    /// There is no such runner, or it cannot run.
    pub fn peak(
        &self,
        kernel: &Kernel,
        case: &KernelCase,
        runner: &str,
    ) -> Result<Option<u64>, String> {
        let style = Style::ALL.into_iter().find(|s| s.name() == runner);
        let engine = self.engines.iter().find(|e| e.name() == runner);
        let mut runner = match (style, &self.compiler, engine) {
            (Some(style), Some(compiler), _) => compiler.prepare(kernel, case, style)?,
            (_, _, Some(engine)) => {
                CheckedProgram::load(kernel)?.prepare(&**engine, &(kernel.argument)(case), false)?
            }
            _ => {
                RustKernel::prepare(kernel, case).ok_or_else(|| format!("there is no {runner}"))?
            }
        };
        let mut outcome = Ok(());
        let peak = memory::peak(|| outcome = runner.prepared.call());
        outcome.map(|()| peak)
    }
}
