//! Engine `auto`: a run begins at once on Cranelift's code; where it lasts, LLVM compiles the same program
//! meanwhile, and when its code is ready the run begins again on that.
//!
//! What always holds: the program is seen to run once. What it printed and reported before it began again is not
//! shown twice, and a run that has come to its end, or to an error, before LLVM is ready is the result.

use super::engine::{How, Ran};
use super::once::Once;
use super::prepared::Prepared;
use super::Engine;
use crate::lower::value::Interface;
use crate::pipeline::{self, timed, Backend, Timing};
use diffeo_array::ir::Module as Flat;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Exceeded, Limits, Options, RuntimeError};
use diffeo_calculus::value::Value;
use diffeo_codegen::engine::{Compiled, Cpu};
use diffeo_codegen::llvm;
use diffeo_codegen::low::HUGE;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A run that lasts so long is worth it that LLVM is loaded, which takes as long, and compiles the program.
const PATIENCE: Duration = Duration::from_millis(25);

/// Runs a program of which there is Cranelift's code.
pub(super) fn run(
    interface: Interface,
    compiled: Compiled,
    arg: Option<Value>,
    options: Options,
    how: How,
    mut times: Vec<Timing>,
) -> Ran {
    let once = Once::new(options);
    let module = compiled.module().flat.clone();
    let mut prepared = Prepared::new(interface, compiled, once.options(), Engine::Jit);
    let args = prepared.arguments(&arg.unwrap_or(Value::Unit));
    let start = Instant::now();
    let later = Later::start(module, how.cpu);
    if let Some(later) = &later {
        prepared.end_when(later.ready.clone());
    }
    let mut result = timed("run", &mut times, || prepared.call(&args));
    let mut engine = Engine::Jit;
    let note = match later.map(|later| later.end(&result, once.limits())) {
        Some(Outcome::Ready(compiled, took)) => {
            let after = start.elapsed();
            times.push(Timing { step: "llvm", time: took, operations: None });
            engine = Engine::Llvm;
            prepared = prepared.on(compiled, || once.options(), engine);
            result = timed("run again", &mut times, || prepared.call(&args));
            Some(format!("LLVM's code took over after {:.3} s", after.as_secs_f64()))
        }
        Some(Outcome::Failed(why)) => Some(why),
        Some(Outcome::Late) if start.elapsed() > PATIENCE => {
            Some("LLVM was not ready before the run ended".to_string())
        }
        Some(Outcome::Late) | None => None,
    };
    let result = result.map(|results| prepared.result(results));
    Ran { note, times, ..Ran::on(engine, result) }
}

/// The code that suits a program that is called many times: LLVM's if there is one and it takes no unbounded time,
/// else Cranelift's.
///
/// # Errors
/// Cranelift does not know this processor, or the program is too large.
pub(super) fn compile(module: Flat, cpu: Cpu) -> Result<(Compiled, Engine), String> {
    let module = Arc::new(module);
    if let Ok(compiled) = by_llvm(module.clone(), cpu) {
        return Ok((compiled, Engine::Llvm));
    }
    let module = pipeline::low(module, Backend::Jit.lowering());
    let compiled = pipeline::compile(&module, Backend::Jit, cpu).map_err(|e| e.to_string())?;
    Ok((compiled, Engine::Jit))
}

/// LLVM's code, or why there is none.
fn by_llvm(module: Arc<Flat>, cpu: Cpu) -> Result<Compiled, String> {
    llvm::library().map_err(ToString::to_string)?;
    let module = pipeline::low(module, Backend::Llvm.lowering());
    if module.longest() > HUGE {
        return Err(format!("a function of {} operations is too long for LLVM", module.longest()));
    }
    pipeline::compile(&module, Backend::Llvm, cpu).map_err(|error| error.to_string())
}

/// LLVM's code, or why there is none.
type Found = Result<(Compiled, Duration), String>;

/// A thread that compiles a program by LLVM if its run lasts.
struct Later {
    /// Set when there is code: the run on other code is to end.
    ready: Arc<AtomicBool>,
    found: Receiver<Found>,
    /// Dropped when the run is over.
    over: Sender<()>,
    thread: JoinHandle<()>,
}

/// What became of LLVM's code when a run ended.
enum Outcome {
    /// It is there, and the run ended for it. It took so long.
    Ready(Compiled, Duration),
    /// There is none.
    Failed(String),
    /// It is not needed.
    Late,
}

impl Later {
    /// None where there are no threads.
    fn start(module: Arc<Flat>, cpu: Cpu) -> Option<Later> {
        let ready = Arc::new(AtomicBool::new(false));
        let (over, is_over) = channel::<()>();
        let (sender, found) = sync_channel(1);
        let flag = ready.clone();
        let work = move || {
            if is_over.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let start = Instant::now();
            let found = by_llvm(module, cpu).map(|code| (code, start.elapsed()));
            let done = found.is_ok();
            // Nobody may be there to take it any more.
            if sender.send(found).is_ok() && done {
                flag.store(true, Ordering::Relaxed);
            }
        };
        // Without a thread the run goes on as it began.
        let thread = thread::Builder::new().name("diffeo-llvm".to_string()).spawn(work).ok()?;
        Some(Later { ready, found, over, thread })
    }

    /// After the run.
    fn end<T>(self, result: &Result<T, RuntimeError>, limits: &Limits) -> Outcome {
        drop(self.over);
        OPEN.with_borrow_mut(|open| {
            open.0.retain(|thread| !thread.is_finished());
            open.0.push(self.thread);
        });
        // The user's interruption looks the same, and comes first.
        let stopped = result.as_ref().is_err_and(|error| {
            matches!(error.kind, ErrorKind::Exceeded(Exceeded::Interrupt))
                && limits.check() != Err(Exceeded::Interrupt)
        });
        match self.found.try_recv() {
            Ok(Ok((compiled, took))) if stopped => Outcome::Ready(compiled, took),
            Ok(Err(why)) => Outcome::Failed(why),
            Ok(Ok(_)) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => Outcome::Late,
        }
    }
}

/// Threads that may still be compiling. LLVM must not be at work while the process takes itself apart, so a thread
/// that began such work waits for it at its own end.
struct Open(Vec<JoinHandle<()>>);

impl Drop for Open {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

thread_local! {
    static OPEN: RefCell<Open> = const { RefCell::new(Open(Vec::new())) };
}
