//! Signals: while a call runs, Python's handlers run as they come, and end it by raising.
//!
//! Python notes a signal and calls its handler later, on its main thread, when that thread asks. A call on the main
//! thread asks now and then ([`ask`]). So whatever handler a program has set works (of Jupyter, pytest, asyncio, its
//! own), and a call goes on unless the handler raises. Calls on other threads are not ended by signals, as in Python.

use diffeo::{Exceeded, Spelling};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a call asks at most: the interpreter may be busy with other threads.
const PAUSE: Duration = Duration::from_millis(40);

thread_local! {
    /// What a handler has raised during the call of this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// When this thread asks next.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Has handlers run, on the main thread; whether one has raised. What calls are given as `host`.
fn ask() -> Option<Exceeded> {
    if NEXT.get().is_some_and(|next| Instant::now() < next) {
        return None;
    }
    let raised = Python::attach(|py| py.check_signals()).err();
    NEXT.set(Instant::now().checked_add(PAUSE));
    let raised = raised?;
    RAISED.replace(Some(raised));
    Some(Exceeded::Interrupt)
}

/// Whether this is the thread on which Python runs handlers.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

thread_local! {
    /// Whether this is the main thread, and in which process: a fork has the main thread that forked.
    static MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Whether a run is to end.
type Ask = fn() -> Option<Exceeded>;

/// What a call of this thread is to ask.
fn host(py: Python<'_>) -> PyResult<Option<Ask>> {
    let process = std::process::id();
    let main = match MAIN.get().filter(|(known, _)| *known == process) {
        Some((_, main)) => main,
        None => is_main(py)?,
    };
    MAIN.set(Some((process, main)));
    Ok(main.then_some(ask as Ask))
}

/// Does a call without the interpreter; it is given what to ask while it runs.
///
/// # Errors
/// What a handler has raised.
pub fn call<R: Send>(
    py: Python<'_>,
    call: impl FnOnce(Option<Ask>) -> Result<R, diffeo::Error> + Send,
) -> PyResult<R> {
    let host = host(py)?;
    let result = py.detach(|| call(host));
    // Also of a call that was over before it heard of it.
    if let Some(raised) = RAISED.take() {
        return Err(raised);
    }
    result.map_err(|error| match error.is_interrupt() {
        true => PyKeyboardInterrupt::new_err(error.written(Spelling::Python)),
        false => crate::error::error(py, &error),
    })
}

/// The same of work that several threads do: it ends when the flag is set.
///
/// # Errors
/// What a handler has raised.
pub fn work<R: Send>(
    py: Python<'_>,
    flag: &AtomicBool,
    work: impl FnOnce() -> Result<R, diffeo::Error> + Send,
) -> PyResult<R> {
    let host = host(py)?;
    call(py, |_| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            while !worker.is_finished() {
                if host.is_some_and(|host| host().is_some()) {
                    flag.store(true, Ordering::Relaxed);
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
