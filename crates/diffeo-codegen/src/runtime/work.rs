//! The work of a run, which the code itself counts where the engine asked for it.
//!
//! Compiled code adds to one word. What always holds: the count of a run that ends without an error depends on the
//! program and its input alone, neither on time nor on the number of threads. So the counts of several threads are
//! added up block by block (`split.rs`), and a constant counts once, whichever thread computes it, and however often.

use super::context::Context;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// What stands for the counter of a block that nobody does.
static NOBODY: AtomicU64 = AtomicU64::new(0);

/// The work done so far. Another thread may read it at any moment.
#[repr(C)]
pub struct Work {
    /// Compiled code adds to it.
    counter: AtomicU64,
    /// What was counted before that which …
    before: AtomicU64,
    /// … this counter counts; null for the own one.
    open: AtomicPtr<AtomicU64>,
    /// What the constants took.
    constants: AtomicU64,
    /// Beyond this, the run prints and reports nothing any more, but ends.
    bound: AtomicU64,
    /// Whether that has happened.
    silent: AtomicBool,
}

/// The offset of the word that compiled code adds to.
pub(super) const COUNTER: usize = std::mem::offset_of!(Work, counter);

impl Work {
    pub(super) fn new() -> Work {
        Work {
            counter: AtomicU64::new(0),
            before: AtomicU64::new(0),
            open: AtomicPtr::new(null_mut()),
            constants: AtomicU64::new(0),
            bound: AtomicU64::new(u64::MAX),
            silent: AtomicBool::new(false),
        }
    }

    /// The work done so far; while several threads do a loop, the part that is certain: that of the first blocks.
    pub fn done(&self) -> u64 {
        let constants = self.constants.load(Ordering::Relaxed);
        loop {
            let before = self.before.load(Ordering::Acquire);
            let open = self.open.load(Ordering::Acquire);
            // SAFETY: counters of other threads belong to contexts that live as long as this one.
            let open = unsafe { open.as_ref() }.unwrap_or(&self.counter);
            let now = open.load(Ordering::Acquire);
            // Else the counter may belong to something else that was counted before.
            if before == self.before.load(Ordering::Relaxed) {
                return constants + before + now;
            }
        }
    }

    /// Beyond `bound`, the run is to print and report nothing.
    pub fn set_bound(&self, bound: u64) {
        self.bound.store(bound, Ordering::Relaxed);
    }

    /// A new run may print.
    pub fn begin(&self) {
        self.silent.store(false, Ordering::Relaxed);
    }

    /// Whether the run has kept back what it was to print.
    pub fn silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Whether the run may print.
    pub(super) fn may_print(&self) -> bool {
        if self.done() > self.bound.load(Ordering::Relaxed) {
            self.silent.store(true, Ordering::Relaxed);
        }
        !self.silent()
    }

    /// The word that compiled code adds to.
    pub(super) fn counter(&self) -> &AtomicU64 {
        &self.counter
    }

    /// Counts what a function of the runtime does.
    pub(super) fn add(&self, work: u64) {
        self.counter.store(self.counter.load(Ordering::Relaxed) + work, Ordering::Relaxed);
    }

    /// Continues the count by another counter from here: that of the lowest block that is not done, if a thread does
    /// it.
    pub(super) fn follow(&self, before: u64, counter: Option<*const AtomicU64>) {
        let counter = counter.unwrap_or(std::ptr::from_ref(&NOBODY));
        // In this order: what is read between is less than what was done.
        self.open.store(counter.cast_mut(), Ordering::Release);
        self.before.store(before, Ordering::Release);
    }

    /// Continues the count by its own counter from here.
    pub(super) fn alone(&self, before: u64) {
        self.follow(0, None);
        self.counter.store(before, Ordering::Relaxed);
        self.open.store(null_mut(), Ordering::Release);
    }
}

/// Called when a constant has been computed: its work, all that was counted since `before`, counts apart from the rest.
pub(super) unsafe extern "C" fn constant(context: *mut Context, constant: i64, before: u64) {
    // SAFETY: the context is that of the run; nothing else uses these fields now.
    unsafe {
        let took = (*context).work.counter.swap(before, Ordering::Relaxed).saturating_sub(before);
        Context::count_constant(context, constant as usize, took);
    }
}

impl Context {
    /// Whether the run may print; if not, it ends.
    ///
    /// # Safety
    /// The context is live.
    pub(super) unsafe fn may_print(context: *mut Context) -> bool {
        // SAFETY: by the condition of the function.
        unsafe {
            let may = (*context).work.may_print();
            if !may {
                Context::stop(context);
            }
            may
        }
    }

    /// Counts what a constant took, unless it was counted before.
    ///
    /// # Safety
    /// The context is live, and nothing else uses these fields now.
    unsafe fn count_constant(context: *mut Context, constant: usize, took: u64) {
        // SAFETY: by the condition of the function.
        unsafe {
            let counted = &mut (*context).counted;
            if counted.len() <= constant {
                counted.resize(constant + 1, None);
            }
            if counted[constant].is_none() {
                counted[constant] = Some(took);
                (*context).work.constants.fetch_add(took, Ordering::Relaxed);
            }
        }
    }

    /// Counts the constants that another thread computed for the same run.
    ///
    /// # Safety
    /// As for [`Context::count_constant`], of both.
    pub(super) unsafe fn count_constants_of(context: *mut Context, other: *mut Context) {
        // SAFETY: by the condition of the function.
        unsafe {
            let counted = (*other).counted.clone();
            for (constant, took) in counted.into_iter().enumerate() {
                if let Some(took) = took {
                    Context::count_constant(context, constant, took);
                }
            }
        }
    }
}
