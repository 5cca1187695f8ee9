//! The bounds on a run, and how it is stopped from outside.
//!
//! The machine asks [`Limits::check`] every so many operations, and so does everything else that works long on a user's
//! behalf (reading data, writing results).

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The bounds on a run; none by default.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// When it has to be over, and the time that was allowed.
    pub deadline: Option<(Instant, Duration)>,
    /// How much memory may be in use.
    pub memory: Option<MemoryLimit>,
    /// Set by another thread to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// How many threads may work for it: if nothing is given, what the variable RAYON_NUM_THREADS of the environment
    /// says, or as many as there are processors. Only compiled code uses more than one.
    pub threads: Option<NonZeroUsize>,
    /// Tells of a bound that is reached. Only the thread of the run asks: where there is no clock and no other thread, as
    /// in a browser's worker, or where the host has to be asked on a thread of its own, as Python about signals.
    pub host: Option<fn() -> Option<Exceeded>>,
}

/// A bound on memory, and the way to know how much is in use.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// The bound in bytes.
    pub bytes: usize,
    /// Gives the bytes in use.
    pub in_use: fn() -> usize,
}

/// A bound that a run has reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exceeded {
    /// It was interrupted.
    Interrupt,
    /// It took longer than this.
    Time(Duration),
    /// It needs more memory than these bytes.
    Memory(usize),
}

#[allow(clippy::disallowed_methods, reason = "limits are times and threads")]
impl Limits {
    /// Bounds that end a run after this time from now.
    pub fn after(time: Duration) -> Limits {
        Limits {
            deadline: Instant::now().checked_add(time).map(|t| (t, time)),
            ..Limits::default()
        }
    }

    /// Whether there is anything to check.
    pub fn is_none(&self) -> bool {
        self.deadline.is_none()
            && self.memory.is_none()
            && self.interrupt.is_none()
            && self.host.is_none()
    }

    /// How many threads may work for the run.
    pub fn threads(&self) -> usize {
        static DEFAULT: LazyLock<NonZeroUsize> = LazyLock::new(|| {
            let told = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok());
            let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            told.unwrap_or_else(processors)
        });
        self.threads.unwrap_or(*DEFAULT).get()
    }

    /// Whether the run may go on.
    ///
    /// # Errors
    /// The bound that is reached.
    pub fn check(&self) -> Result<(), Exceeded> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Exceeded::Interrupt);
        }
        if let Some((deadline, time)) = self.deadline {
            if Instant::now() >= deadline {
                return Err(Exceeded::Time(time));
            }
        }
        if let Some(exceeded) = self.host.and_then(|host| host()) {
            return Err(exceeded);
        }
        match self.memory {
            Some(memory) if (memory.in_use)() > memory.bytes => Err(Exceeded::Memory(memory.bytes)),
            Some(_) | None => Ok(()),
        }
    }
}

impl Exceeded {
    /// A stable name.
    pub fn code(self) -> &'static str {
        match self {
            Exceeded::Interrupt => "interrupted",
            Exceeded::Time(_) => "timeout",
            Exceeded::Memory(_) => "out-of-memory",
        }
    }

    /// What happened.
    pub fn message(self) -> String {
        match self {
            Exceeded::Interrupt => "interrupted".to_string(),
            Exceeded::Time(time) => {
                format!("the time is up: the run was allowed {} s", time.as_secs_f64())
            }
            Exceeded::Memory(bytes) => {
                format!("the memory is used up: the run was allowed {}", megabytes(bytes))
            }
        }
    }
}

/// Bytes as people read them.
pub fn megabytes(bytes: usize) -> String {
    let mb = bytes as f64 / 1e6;
    if mb >= 1e4 {
        format!("{:.1} GB", mb / 1e3)
    } else if mb >= 10.0 {
        format!("{mb:.0} MB")
    } else {
        format!("{mb:.1} MB")
    }
}
