//! The thread that ends runs: it writes a word of the context that compiled code reads.
//!
//! There is one thread for all runs. It starts with the first run that has a bound on its time, can be interrupted, has
//! an overseer, or is to ask its host; it sleeps while there is none.

use crate::process::OfProcess;
use crate::runtime::{StackEnd, Work};
use diffeo_calculus::eval::{Exceeded, Limits};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(2);

/// How often a run asks its host.
const QUESTION: Duration = Duration::from_millis(50);

/// The decision about a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on.
    GoesOn,
    /// It ends, as if it were interrupted.
    Ends,
    /// It goes on, and nobody asks again.
    Free,
}

/// Decides about a run, by the work that was done. It is asked every few milliseconds, by another thread.
pub type Overseer = Arc<dyn Fn(u64) -> Verdict + Send + Sync>;

/// A run that is watched.
struct Watched {
    number: u64,
    limits: Limits,
    overseer: Option<Overseer>,
    /// The word to write. It is live as long as this is in the list.
    end: *const StackEnd,
    /// What was done, live as long.
    work: *const Work,
    /// When it is to ask its host, if it has one.
    question: Option<Instant>,
    exceeded: Option<Exceeded>,
}

// SAFETY: `end` and `work` are atomics that live as long as this is in the list: `Watch::end` takes it out.
unsafe impl Send for Watched {}

#[derive(Default)]
struct Runs {
    next: u64,
    list: Vec<Watched>,
}

/// The thread that watches, and the runs that it works on.
#[derive(Default)]
struct Watching {
    runs: Mutex<Runs>,
    begun: Condvar,
    /// Set when the thread begins.
    thread: OnceLock<()>,
}

/// A fork has no such thread, and may have been made while it held the lock.
static WATCHING: OfProcess<Watching> = OfProcess::new(Watching::default);

impl Watching {
    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is watched, if anything can end it.
pub(super) struct Watch<'w> {
    number: Option<u64>,
    _end: &'w StackEnd,
}

/// Begins to watch a run.
pub(super) fn watch<'w>(
    limits: &Limits,
    overseer: Option<&Overseer>,
    end: &'w StackEnd,
    work: &'w Work,
) -> Watch<'w> {
    let nothing = limits.deadline.is_none() && limits.interrupt.is_none() && limits.host.is_none();
    if nothing && overseer.is_none() {
        return Watch { number: None, _end: end };
    }
    let watching = WATCHING.get();
    watching.thread.get_or_init(|| {
        // Without the thread, programs run to their end.
        let _ = thread::Builder::new().name("diffeo-watch".to_string()).spawn(|| run(watching));
    });
    let mut runs = watching.runs();
    let number = runs.next;
    runs.next += 1;
    let question = limits.host.map(|_| Instant::now() + QUESTION);
    // Memory is the allocator's business, and the host is asked by the thread of the run.
    let limits = Limits { memory: None, host: None, ..limits.clone() };
    let overseer = overseer.cloned();
    runs.list.push(Watched { number, limits, overseer, end, work, question, exceeded: None });
    if runs.list.len() == 1 {
        watching.begun.notify_one();
    }
    Watch { number: Some(number), _end: end }
}

impl Watched {
    /// The bound that is reached.
    fn check(&mut self) -> Result<(), Exceeded> {
        self.limits.check()?;
        let Some(overseer) = &self.overseer else { return Ok(()) };
        // SAFETY: it is in the list, so this is live.
        let work = unsafe { &*self.work };
        match overseer(work.done()) {
            Verdict::GoesOn => Ok(()),
            Verdict::Ends => Err(Exceeded::Interrupt),
            Verdict::Free => {
                work.set_bound(u64::MAX);
                self.overseer = None;
                Ok(())
            }
        }
    }
}

impl Watch<'_> {
    /// Ends watching; the bound that was reached.
    pub(super) fn end(mut self) -> Option<Exceeded> {
        self.leave()
    }

    fn leave(&mut self) -> Option<Exceeded> {
        let number = self.number.take()?;
        let mut runs = WATCHING.get().runs();
        let at = runs.list.iter().position(|watched| watched.number == number)?;
        runs.list.swap_remove(at).exceeded
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The thread.
fn run(watching: &Watching) {
    let mut open = watching.runs();
    loop {
        while open.list.is_empty() {
            open = watching.begun.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        for watched in open.list.iter_mut().filter(|watched| watched.exceeded.is_none()) {
            if let Err(exceeded) = watched.check() {
                watched.exceeded = Some(exceeded);
                // SAFETY: it is in the list, so the word is live.
                unsafe { (*watched.end).stop() };
            } else if watched.question.is_some_and(|at| Instant::now() >= at) {
                watched.question = Some(Instant::now() + QUESTION);
                // SAFETY: as above.
                unsafe { (*watched.end).ask() };
            }
        }
        drop(open);
        thread::sleep(TICK);
        open = watching.runs();
    }
}
