//! Values of one process each: threads, and locks that other threads may hold.
//!
//! A fork of a process has the memory of the first one, but of its threads only the one that forked. A pool of threads
//! waits there for ever, and so does a lock that another thread held.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value for each process, made when it is first asked for. A fork makes its own; the one it has inherited stays as it
/// is, because to drop it would be to wait for its threads.
pub(crate) struct OfProcess<T: 'static> {
    /// The process that the value is for, and the value. Neither is freed: there are references for as long as the
    /// process runs.
    kept: AtomicPtr<(u32, T)>,
    make: fn() -> T,
}

impl<T: Send + Sync> OfProcess<T> {
    /// Makes nothing yet.
    pub const fn new(make: fn() -> T) -> OfProcess<T> {
        OfProcess { kept: AtomicPtr::new(ptr::null_mut()), make }
    }

    /// The value of this process.
    pub fn get(&self) -> &'static T {
        let process = std::process::id();
        let kept = self.kept.load(Ordering::Acquire);
        // SAFETY: it is null, or was put here below and is never freed.
        if let Some((_, value)) = unsafe { kept.as_ref() }.filter(|(of, _)| *of == process) {
            return value;
        }
        let made = Box::into_raw(Box::new((process, (self.make)())));
        let put = self.kept.compare_exchange(kept, made, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: `made` is kept from now on; or another thread of this process has put its own, and nobody else has
        // seen `made`.
        unsafe {
            match put {
                Ok(_) => &(*made).1,
                Err(other) => {
                    drop(Box::from_raw(made));
                    &(*other).1
                }
            }
        }
    }
}

/// A pool of so many threads of this name; none where the system refuses them. The pool that rayon itself has would be
/// without threads in a fork.
pub(crate) fn threads(count: usize, name: &'static str) -> Option<ThreadPool> {
    let named = move |i| format!("{name}-{i}");
    ThreadPoolBuilder::new().num_threads(count).thread_name(named).build().ok()
}
