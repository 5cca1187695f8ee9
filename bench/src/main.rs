//! The command line of the benchmarks.

use clap::Parser;
use diffeo_bench::c::CCompiler;
use diffeo_bench::case::{Kernel, KernelCase};
use diffeo_bench::derivatives::{self, DerivativeCosts};
use diffeo_bench::gradbench::Checkout;
use diffeo_bench::python::PythonLibrary;
use diffeo_bench::suite::{RunnerRow, Suite};
use diffeo_bench::{engines, kernels, report, results};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Benchmarks of Diffeo beside C and Python; see bench/README.md.
#[derive(Parser)]
#[command(name = "diffeo-bench")]
struct Args {
    /// Only cases whose `KERNEL LABEL` contains this text.
    filter: Option<String>,
    /// Small data: to see whether everything works.
    #[arg(long)]
    quick: bool,
    /// The engines, separated by commas, or `none` [default: all; `flat` on small data only].
    #[arg(long, value_delimiter = ',')]
    engines: Option<Vec<String>>,
    /// Nothing but the engines: no C, no Rust, no Python.
    #[arg(long)]
    no_c: bool,
    /// No NumPy and no JAX.
    #[arg(long)]
    no_python: bool,
    /// No peaks of memory.
    #[arg(long)]
    no_memory: bool,
    /// For how many seconds each runner of a case is measured.
    #[arg(long, default_value_t = 1.0)]
    budget: f64,
    /// On how many threads Diffeo and libraries of Python may run; C has one.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Write all that was measured to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What derivatives take beside their functions: orders 1 to 10, and the gradients of kernels.
    #[arg(long)]
    derivatives: bool,
    /// Measure the tasks of GradBench, values and derivatives, and write this page about them.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// A checkout of GradBench whose tool `manual` is compiled: for `--results`.
    #[arg(long, value_name = "DIR")]
    gradbench: Option<PathBuf>,
    /// Print the peak of memory of one runner: kernel, label, runner.
    #[arg(long, num_args = 3, hide = true)]
    peak: Option<Vec<String>>,
}

fn suite(args: &Args) -> Result<Suite, String> {
    let mut engines = engines::all();
    if let Some(wanted) = &args.engines {
        let known: Vec<&str> = engines.iter().map(|e| e.name()).collect();
        if let Some(unknown) = wanted.iter().find(|w| *w != "none" && !known.contains(&w.as_str()))
        {
            return Err(format!(
                "there is no engine `{unknown}` here: there are {}",
                known.join(", ")
            ));
        }
        engines.retain(|e| wanted.iter().any(|w| w == e.name()));
    } else if !args.quick && args.peak.is_none() {
        engines.retain(|e| !e.for_tests());
    }
    let budget = Duration::try_from_secs_f64(args.budget).map_err(|e| format!("--budget: {e}"))?;
    let compiler = if args.no_c { Err("not asked for".into()) } else { CCompiler::find() };
    let (mut libraries, mut gradbench) = (Vec::new(), None);
    if args.peak.is_none() {
        match &compiler {
            Ok(compiler) => println!("C: {}", compiler.version),
            Err(error) => println!("C: {error}"),
        }
        let names: &[&'static str] =
            if args.results.is_some() { &["jax", "casadi"] } else { &["numpy", "jax"] };
        for name in names {
            match PythonLibrary::find(name, args.threads) {
                _ if args.no_python => {}
                Some(library) => {
                    println!("{name}: {}", library.version);
                    libraries.push(library);
                }
                None => println!("{name}: not installed, left out (bench/requirements.txt)"),
            }
        }
        if let Some(folder) = &args.gradbench {
            gradbench = Checkout::find(folder);
            if gradbench.is_none() {
                return Err(format!("{}: no compiled tools/manual there", folder.display()));
            }
        }
    }
    let (quick, peaks) = (args.quick, !args.no_memory);
    Ok(Suite { compiler: compiler.ok(), engines, libraries, gradbench, budget, quick, peaks })
}

/// The case of a kernel by their names.
fn find(kernel: &str, label: &str, quick: bool) -> Option<(Kernel, KernelCase)> {
    let mut all = kernels::ALL.into_iter().chain(kernels::nested::ALL);
    let kernel = all.find(|k| k.name == kernel)?;
    let case = (kernel.cases)(quick).into_iter().find(|c| c.label == label)?;
    Some((kernel, case))
}

/// Prints what derivatives cost.
fn derivatives(args: &Args, suite: &Suite) -> Result<ExitCode, String> {
    let wanted = |name: &str| args.filter.as_ref().is_none_or(|f| name.contains(f.as_str()));
    let (mut all, mut failed) = (Vec::new(), false);
    let mut take = |name: &str, costs: Result<Vec<DerivativeCosts>, String>| match costs {
        Ok(costs) => {
            costs.iter().for_each(|costs| println!("{}", report::costs_line(costs)));
            all.extend(costs.iter().map(report::costs_json));
        }
        Err(error) => {
            eprintln!("error: {name}: {error}");
            failed = true;
        }
    };
    for engine in suite.engines.iter().filter(|_| wanted("orders")) {
        take("orders", derivatives::orders(&**engine, args.quick, suite.budget));
    }
    for kernel in kernels::ALL.into_iter().filter(|kernel| !kernel.parameters.is_empty()) {
        for case in (kernel.cases)(args.quick) {
            let name = format!("{} {}", kernel.name, case.label);
            for engine in suite.engines.iter().filter(|_| wanted(&name)) {
                let costs = derivatives::gradient(&kernel, &case, &**engine, suite.budget);
                take(&name, costs.map(|costs| vec![costs]));
            }
        }
    }
    write(args, &all)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures GradBench's tasks and writes the page about them.
fn results(args: &Args, mut suite: Suite, path: &Path) -> Result<ExitCode, String> {
    let all = results::measure(&mut suite, args.filter.as_deref(), |name| println!("{name}"));
    if all.is_empty() {
        return Err("no task has the filter's text in its name".into());
    }
    let mut versions = vec![results::machine()];
    versions.extend(suite.compiler.iter().map(|compiler| format!("C: {}", compiler.version)));
    let llvm = diffeo_codegen::llvm::library().ok().map(|l| l.version.map(|n| n.to_string()));
    versions.extend(llvm.map(|version| format!("LLVM {}", version.join("."))));
    let python = |library: &PythonLibrary| format!("{} {}", library.name, library.version);
    versions.extend(suite.libraries.iter().map(python));
    let page = results::page(&all, &versions, args.threads);
    std::fs::write(path, page).map_err(|e| format!("{}: {e}", path.display()))?;
    let records: Vec<serde_json::Value> = all.iter().flat_map(|m| m.json()).collect();
    write(args, &records)?;
    let errors: Vec<String> = all.iter().flat_map(|m| m.errors()).collect();
    for error in &errors {
        eprintln!("\nerror: {error}");
    }
    Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes what was measured, if that was asked for.
fn write(args: &Args, records: &[serde_json::Value]) -> Result<(), String> {
    let Some(path) = &args.json else { return Ok(()) };
    let text = serde_json::to_string_pretty(records).map_err(|e| e.to_string())?;
    std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))
}

fn run(args: &Args) -> Result<ExitCode, String> {
    // Read by rayon when it first runs something.
    std::env::set_var("RAYON_NUM_THREADS", args.threads.to_string());
    // No cache of compiled programs, so that compile times are those of a first run.
    std::env::set_var("DIFFEO_CACHE", "");
    let suite = suite(args)?;
    if let Some([kernel, label, runner]) = args.peak.as_deref() {
        let (kernel, case) = find(kernel, label, args.quick).ok_or("there is no such case")?;
        if let Some(bytes) = suite.peak(&kernel, &case, runner)? {
            println!("{bytes}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.derivatives {
        return derivatives(args, &suite);
    }
    if let Some(path) = &args.results {
        return results(args, suite, path);
    }
    println!("\n{}", report::head());
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    for kernel in kernels::ALL {
        for case in (kernel.cases)(args.quick) {
            let name = format!("{} {}", kernel.name, case.label);
            if args.filter.as_ref().is_some_and(|f| !name.contains(f.as_str())) {
                continue;
            }
            let rows: Vec<RunnerRow> = suite.measure(&kernel, &case);
            for line in report::lines(&rows) {
                println!("{}", report::table_line(&line, &report::WIDTHS));
            }
            records.extend(report::json(&rows));
            for row in rows {
                if let Err(error) = row.outcome {
                    errors.push(format!("{name}, {}: {error}", row.runner));
                }
            }
        }
    }
    if records.is_empty() {
        return Err("no case has the filter's text in its name".into());
    }
    write(args, &records)?;
    for error in &errors {
        eprintln!("\nerror: {error}");
    }
    Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
