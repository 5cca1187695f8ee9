//! Diffeo as a tool of GradBench: a session of its protocol, a JSON message a line, on standard input and output.
//!
//! A module `NAME` is the program `NAME.deo`, a function the definition of that name, by which the program also has the
//! derivative: nothing here knows what a benchmark computes. See README.md.

mod tool;

use clap::{Parser, ValueEnum};
use diffeo::Engine;
use serde_json::Value as Json;
use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tool::Tool;

/// Runs programs of Diffeo for GradBench (https://github.com/gradbench/gradbench).
#[derive(Parser)]
#[command(name = "diffeo-gradbench")]
struct Args {
    /// What compiles the programs.
    #[arg(long, value_enum, default_value_t = NativeEngine::Llvm)]
    engine: NativeEngine,
    /// The folder of the programs [default: examples/gradbench of Diffeo's repository].
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// On how many threads a program may run.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
}

/// The engines that make machine code.
#[derive(Clone, Copy, ValueEnum)]
enum NativeEngine {
    /// LLVM.
    Llvm,
    /// Cranelift.
    Jit,
}

impl NativeEngine {
    fn engine(self) -> Engine {
        match self {
            NativeEngine::Llvm => Engine::LLVM,
            NativeEngine::Jit => Engine::JIT,
        }
    }
}

/// Has the allocator keep what a call frees for the next one, as GradBench's tools in C++ keep their outputs. Otherwise
/// large results go back to the system after each call: with `ba` its page faults take longer than the derivative.
fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: `mallopt` takes numbers and touches the allocator's settings alone; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}

fn run(args: Args) -> Result<(), String> {
    keep_memory();
    // No cache of compiled programs, so that compile times are those of a first run.
    std::env::set_var("DIFFEO_CACHE", "");
    std::env::set_var("RAYON_NUM_THREADS", args.threads.to_string());
    let programs = args
        .programs
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gradbench"));
    let mut tool = Tool::new(programs, args.engine.engine(), args.threads);
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        if line.trim().is_empty() {
            continue;
        }
        let message: Json = serde_json::from_str(&line).map_err(|e| format!("no JSON: {e}"))?;
        let response = tool.answer(&message);
        writeln!(output, "{response}").and_then(|()| output.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
