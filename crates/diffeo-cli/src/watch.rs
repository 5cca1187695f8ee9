//! The bounds on a run of the program: time, memory, Ctrl-C.
//!
//! Whatever works long asks the [`Limits`] now and then and ends in good order, with the place. Where
//! nothing asks (checking a program, a read that waits), Ctrl-C ends the program at once. If the command
//! line bounds time or memory, and while compiled code runs, a thread watches over phases that do not ask in
//! time, and ends the program with a message that says what it was doing. There is no such thread otherwise:
//! with a second thread, the allocator of the C library has to lock, which slows the evaluator down.

use crate::render::Messages;
use cap::Cap;
use diffeo::{Diagnostic, Exceeded, Limits, MemoryLimit, SourceMap, Span};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::alloc::System;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

/// Counts the memory in use.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// The most memory in use that was seen.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Whether nothing asks the limits at present.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// What the program is doing, as a message can say it.
static DOING: Mutex<String> = Mutex::new(String::new());

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(5);

/// How long a phase may take to end in good order.
const GRACE: Duration = Duration::from_millis(700);

/// Starts to watch, and gives the bounds to ask.
pub fn start(timeout: Option<Duration>, max_memory: Option<usize>, messages: Messages) -> Limits {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut limits = timeout.map_or(Limits::default(), Limits::after);
    limits.interrupt = Some(interrupt.clone());
    limits.memory =
        max_memory.or_else(most_of_the_machine).map(|bytes| MemoryLimit { bytes, in_use });
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second Ctrl-C ends the program in any case. Without a handler, the first
        // does.
        let _ = flag::register_conditional_shutdown(signal, 1, interrupt.clone());
        let _ = flag::register_conditional_shutdown(signal, 1, IDLE.clone());
        let _ = flag::register(signal, interrupt.clone());
    }
    if timeout.is_some() || max_memory.is_some() {
        ensure(&limits, messages);
    }
    limits
}

/// Starts the thread, if it is not there.
pub fn ensure(limits: &Limits, messages: Messages) {
    static START: Once = Once::new();
    START.call_once(|| {
        let watched = limits.clone();
        // Without the thread, only phases that ask come to an end.
        let _ = thread::Builder::new().spawn(move || watch(&watched, messages));
    });
}

/// Notes what the program is doing now, and whether the limits are asked meanwhile.
pub fn doing(what: String, asking: bool) {
    IDLE.store(!asking, Ordering::Relaxed);
    if let Ok(mut doing) = DOING.lock() {
        *doing = what;
    }
}

fn in_use() -> usize {
    let bytes = MEMORY.allocated();
    PEAK.fetch_max(bytes, Ordering::Relaxed);
    bytes
}

/// The most memory in use at any time when it was looked at, in bytes.
pub fn peak() -> usize {
    in_use();
    PEAK.load(Ordering::Relaxed)
}

fn watch(limits: &Limits, messages: Messages) {
    let mut since: Option<(Exceeded, Instant)> = None;
    loop {
        thread::sleep(TICK);
        match (limits.check(), since) {
            (Ok(()), _) => since = None,
            (Err(bound), None) => since = Some((bound, Instant::now())),
            (Err(_), Some((bound, start)))
                if start.elapsed() > GRACE
                    || far_beyond(limits) && IDLE.load(Ordering::Relaxed) =>
            {
                let doing = DOING.lock().map_or(String::new(), |d| d.clone());
                let message = format!("{}, while {doing}", bound.message());
                let error = Diagnostic::error(bound.code(), Span::NONE, message);
                messages.report(&SourceMap::default(), &[error]);
                signal_hook::low_level::exit(1);
            }
            (Err(_), Some(_)) => {}
        }
    }
}

/// Whether much more memory is in use than there may be.
fn far_beyond(limits: &Limits) -> bool {
    limits.memory.is_some_and(|memory| in_use() / 3 > memory.bytes / 2)
}

/// Nine tenths of the machine's or the container's memory, where it can be known.
fn most_of_the_machine() -> Option<usize> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kilobytes: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes.saturating_mul(1024))
    });
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let container = container.ok().and_then(|text| text.trim().parse().ok());
    let least = machine.into_iter().chain(container).min()?;
    Some(least / 10 * 9)
}
