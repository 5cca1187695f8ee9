//! Engine `auto`: a run begins at once on Cranelift's code, which counts its work. If there is much, LLVM compiles the
//! same program meanwhile; if there is more, the run begins again on LLVM's code.
//!
//! What always holds:
//! - the program and its arguments alone decide which code gives the result: a run that has done more than its budget
//!   is LLVM's, even if it is over before LLVM's code is there, and any other one is Cranelift's, even if LLVM's code
//!   is early. So results are the same in every run, to the last digit;
//! - the program is seen to run once. What it printed and reported before it began again is not shown twice.
//!
//! `later.rs` has the thread that compiles by LLVM.

mod later;
#[cfg(test)]
mod tests;

use super::engine::{How, Ran};
use super::once::Once;
use super::prepared::Prepared;
use super::Engine;
use crate::pipeline::{self, timed, Backend, Timing};
use diffeo_array::ir::Module as Flat;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, Limits, RuntimeError};
use diffeo_calculus::value::Value;
use diffeo_codegen::engine::{Compiled, Cpu};
use diffeo_codegen::llvm;
use diffeo_codegen::low::HUGE;
use diffeo_lower::value::Layout;
use later::{Later, LlvmOutcome};
use std::sync::Arc;
use std::time::Instant;

/// About the work that Cranelift's code does in a millisecond.
const MILLISECOND: u64 = 4_000_000;

/// Compiles a program, or says why not.
type Compile = Arc<dyn Fn(Arc<Flat>, Cpu) -> Result<Compiled, String> + Send + Sync>;

/// When a program goes over to other code.
#[derive(Clone)]
pub(super) struct Policy {
    /// Runs that have done so much work are worth it that the other code is made …
    worth: u64,
    /// … and those that have done more than this are done by it.
    budget: u64,
    /// Makes it.
    compile: Compile,
}

impl Policy {
    /// Of a program in Cranelift's code: loading LLVM takes some 25 ms, and compiling takes longer the longer the
    /// program is.
    fn of(compiled: &Compiled) -> Policy {
        let statements = compiled.statements() as u64;
        Policy {
            worth: 25 * MILLISECOND,
            budget: 150 * MILLISECOND + statements * (MILLISECOND / 10),
            compile: Arc::new(by_llvm),
        }
    }
}

/// A program that can be called, once or many times.
pub(crate) struct Auto {
    prepared: Prepared,
    /// The options of runs, on whatever code.
    once: Once,
    /// LLVM's code, as long as that is open.
    later: Option<Later>,
    /// What became of it.
    note: Option<String>,
}

impl Auto {
    /// A program in Cranelift's code.
    pub fn new(layout: Layout, compiled: Compiled, once: Once, cpu: Cpu) -> Auto {
        let policy = Policy::of(&compiled);
        Auto::by(policy, layout, compiled, once, cpu)
    }

    fn by(policy: Policy, layout: Layout, compiled: Compiled, once: Once, cpu: Cpu) -> Auto {
        let module = compiled.module().flat.clone();
        let mut prepared = Prepared::new(layout, compiled, once.options(), Engine::JIT);
        let later = Later::new(module, cpu, policy);
        prepared.oversee(later.budget(), later.overseer());
        Auto { prepared, once, later: Some(later), note: None }
    }

    /// Whose code it is now.
    pub fn engine(&self) -> Engine {
        self.prepared.engine()
    }

    /// The program stays on the code that it is on.
    fn stays(&mut self) {
        self.prepared.free();
        self.later = None;
    }

    /// The value of the program, or of the function that it is at an argument.
    ///
    /// # Errors
    /// What stopped it.
    pub fn call(&mut self, arg: &Value, times: &mut Vec<Timing>) -> Result<Value, RuntimeError> {
        let start = Instant::now();
        self.once.begin();
        let args = self.prepared.arguments(arg);
        let mut result = timed("run", times, || self.prepared.call(&args));
        if self.is_to_go_over(result.as_ref().err(), start, times) {
            self.once.again();
            result = timed("run again", times, || self.prepared.call(&args));
        }
        result.map(|results| self.prepared.result(results))
    }

    /// After a run: whether it is to begin again; then on other code, if there is any.
    fn is_to_go_over(
        &mut self,
        error: Option<&RuntimeError>,
        start: Instant,
        times: &mut Vec<Timing>,
    ) -> bool {
        let Some(later) = &self.later else { return false };
        let limits = &self.once.limits;
        let mut unfinished = self.prepared.silent();
        if let Some(ErrorKind::Exceeded(exceeded)) = error.map(|error| &error.kind) {
            // The user's interruption looks the same as that for the other code, and comes first.
            if *exceeded != Exceeded::Interrupt || limits.check() == Err(Exceeded::Interrupt) {
                return false;
            }
            unfinished = true;
        }
        let work = self.prepared.work();
        later.consider(work);
        let known = if work > later.budget() { later.wait(limits) } else { later.failed() };
        match known {
            Some(LlvmOutcome::Code(compiled, took)) => {
                let time = start.elapsed().as_secs_f64();
                self.note = Some(format!("LLVM's code took over after {time:.3} s"));
                times.push(Timing { step: "llvm", time: took, operations: None });
                self.prepared.replace(*compiled, self.once.options(), Engine::LLVM);
                self.later = None;
                true
            }
            Some(LlvmOutcome::Failed(why)) => {
                self.note = Some(why);
                self.stays();
                unfinished
            }
            Some(LlvmOutcome::Exceeded) => {
                // The run that begins again will end for that.
                self.prepared.free();
                unfinished
            }
            None => false,
        }
    }
}

/// Runs a program of which there is Cranelift's code.
pub(super) fn run(
    layout: Layout,
    compiled: Compiled,
    arg: Option<Value>,
    once: Once,
    how: How,
    mut times: Vec<Timing>,
) -> Ran {
    let mut auto = Auto::new(layout, compiled, once, how.cpu);
    let result = auto.call(&arg.unwrap_or(Value::Unit), &mut times);
    let engine = auto.engine();
    Ran { note: auto.note, times, ..Ran::on(engine, result) }
}

/// The code that suits a program that is called many times: LLVM's if there is one and it takes no unbounded time,
/// else Cranelift's.
///
/// # Errors
/// Cranelift does not know this processor, or the program is too large.
pub(super) fn compile(module: Flat, cpu: Cpu) -> Result<(Compiled, Engine), String> {
    let module = Arc::new(module);
    if let Ok(compiled) = by_llvm(module.clone(), cpu) {
        return Ok((compiled, Engine::LLVM));
    }
    let module = pipeline::low(module, Backend::Jit.lowering());
    let compiled = pipeline::compile(&module, Backend::Jit, cpu, &Limits::default())
        .map_err(|e| e.to_string())?;
    Ok((compiled, Engine::JIT))
}

/// LLVM's code, or why there is none.
fn by_llvm(module: Arc<Flat>, cpu: Cpu) -> Result<Compiled, String> {
    llvm::library().map_err(ToString::to_string)?;
    let module = pipeline::low(module, Backend::Llvm.lowering());
    if module.longest() > HUGE {
        return Err(format!("a function of {} operations is too long for LLVM", module.longest()));
    }
    pipeline::compile(&module, Backend::Llvm, cpu, &Limits::default())
        .map_err(|error| error.to_string())
}
