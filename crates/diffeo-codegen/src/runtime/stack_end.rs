//! The end of the stack of a run, and how a run is stopped or asked something from outside.
//!
//! Compiled code compares one word with the stack pointer. Another thread may put [`STOP`] or [`ASK`] into it at any
//! moment; the thread of the run puts the end back after [`ASK`]. [`STOP`] stays until the run is over.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The word if the run is to end.
pub const STOP: usize = usize::MAX;

/// The word if the thread of the run is to ask whoever began it whether it goes on. No end of a stack is as high.
pub const ASK: usize = usize::MAX - 1;

/// The end of a stack.
#[repr(C)]
pub struct StackEnd {
    /// What compiled code reads: the end, or [`STOP`] or [`ASK`]; 0 while nothing runs.
    word: AtomicUsize,
    /// The end; only the thread of the run uses it.
    end: AtomicUsize,
}

impl StackEnd {
    pub(super) fn new() -> StackEnd {
        StackEnd { word: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    /// A run begins, unless another thread was faster and has stopped it.
    pub fn begin(&self, end: usize) {
        self.end.store(end, Ordering::Relaxed);
        let _ = self.word.compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Moves the end.
    pub(super) fn set(&self, end: usize) {
        let before = self.end.swap(end, Ordering::Relaxed);
        // What another thread has put there stays.
        let _ = self.word.compare_exchange(before, end, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The run is over: its end, and whether it was stopped.
    pub fn finish(&self) -> (usize, bool) {
        let word = self.word.swap(0, Ordering::Relaxed);
        (self.end.load(Ordering::Relaxed), word == STOP)
    }

    /// The end.
    pub(super) fn end(&self) -> usize {
        self.end.load(Ordering::Relaxed)
    }

    /// Stops the run.
    pub fn stop(&self) {
        self.word.store(STOP, Ordering::Relaxed);
    }

    /// Has the thread of the run ask whether it goes on; not before it has begun.
    pub fn ask(&self) {
        let word = self.word.load(Ordering::Relaxed);
        if (1..ASK).contains(&word) {
            let _ = self.word.compare_exchange(word, ASK, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Whether there is [`STOP`] or [`ASK`].
    pub(super) fn is_due(&self) -> bool {
        self.word.load(Ordering::Relaxed) >= ASK
    }

    /// Whether the run is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.word.load(Ordering::Relaxed) == STOP
    }

    /// Whether the thread of the run is to ask; then the end is back.
    pub(super) fn takes_question(&self) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        self.word.compare_exchange(ASK, end, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
