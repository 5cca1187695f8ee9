//! The system's allocator, with the bytes in use counted.
//!
//! A thread counts what it allocates and frees in a number of its own, and adds it to the sum of all threads when it
//! reaches [`BATCH`] or the thread ends: threads do not wait for each other's counters. The sum is exact but for
//! [`BATCH`] bytes of each other thread. Each block counts with what the system's allocator takes beside it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

/// Bytes that a thread counts before it adds them to the sum.
const BATCH: isize = 64 << 10;

/// The bytes in use, but for what threads have not added yet.
static IN_USE: AtomicIsize = AtomicIsize::new(0);

/// The largest sum so far.
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The sum from which on threads wait that are not free.
static BOUND: AtomicIsize = AtomicIsize::new(isize::MAX);

/// What one thread has counted.
struct Own {
    /// Bytes that are not in the sum yet.
    pending: Cell<isize>,
    /// Bytes allocated since the thread began, freed ones too.
    allocated: Cell<usize>,
    /// Whether it never waits.
    free: Cell<bool>,
}

impl Drop for Own {
    fn drop(&mut self) {
        IN_USE.fetch_add(self.pending.take(), Ordering::Relaxed);
    }
}

thread_local! {
    static OWN: Own =
        const { Own { pending: Cell::new(0), allocated: Cell::new(0), free: Cell::new(false) } };
}

/// What a block of so many bytes takes in the system's allocator: a word more, in steps of 16 bytes.
fn taken(bytes: usize) -> isize {
    if bytes == 0 {
        return 0;
    }
    // The size of every layout is at most `isize::MAX`.
    (bytes.saturating_add(23) & !15).max(32) as isize
}

/// Counts bytes that were allocated, and bytes that were freed.
fn count(allocated: usize, freed: usize) {
    let change = taken(allocated) - taken(freed);
    let counted = OWN.try_with(|own| {
        own.allocated.set(own.allocated.get().wrapping_add(allocated));
        let pending = own.pending.get() + change;
        let full = pending.abs() >= BATCH;
        own.pending.set(if full { 0 } else { pending });
        if full {
            let sum = IN_USE.fetch_add(pending, Ordering::Relaxed) + pending;
            if pending > 0 {
                PEAK.fetch_max(sum, Ordering::Relaxed);
            }
            if pending > 0 && sum > BOUND.load(Ordering::Relaxed) && !own.free.get() {
                wait();
            }
        }
    });
    // The thread ends, and its counter is gone.
    if counted.is_err() {
        IN_USE.fetch_add(change, Ordering::Relaxed);
    }
}

/// Waits as long as too much is in use.
#[cold]
fn wait() {
    while IN_USE.load(Ordering::Relaxed) > BOUND.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Has threads that take memory beyond this bound wait until less is in use, or the bound is another one: until then
/// somebody else can end the program. None lets them go on.
pub fn hold(bound: Option<usize>) {
    let bound = bound.and_then(|bytes| isize::try_from(bytes).ok()).unwrap_or(isize::MAX);
    BOUND.store(bound, Ordering::Relaxed);
}

/// Has this thread never wait.
pub fn never_wait() {
    let _ = OWN.try_with(|own| own.free.set(true));
}

/// The bytes in use. What other threads have taken or given back is exact to [`BATCH`] bytes each.
pub fn in_use() -> usize {
    let pending = OWN.try_with(|own| own.pending.get()).unwrap_or(0);
    usize::try_from(IN_USE.load(Ordering::Relaxed) + pending).unwrap_or(0)
}

/// The most bytes that were in use at any time since [`reset_peak`], exact to [`BATCH`] bytes of each thread.
pub fn peak() -> usize {
    usize::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0).max(in_use())
}

/// Has [`peak`] begin with what is in use now.
pub fn reset_peak() {
    PEAK.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The bytes of the machine's or the container's memory, where they can be known.
pub fn of_the_machine() -> Option<usize> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kilobytes: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes.saturating_mul(1024))
    });
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let container = container.ok().and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(container).min()
}

/// The bytes that this thread has allocated since it began, freed ones too.
pub fn allocated_by_thread() -> usize {
    OWN.try_with(|own| own.allocated.get()).unwrap_or(0)
}

/// The system's allocator, whose bytes are counted: for `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

// SAFETY: every request goes to the system's allocator as it came, and its answer back. Counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(layout.size(), 0);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size(), 0);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(block, layout) };
        count(0, layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            count(size, layout.size());
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: Counting = Counting;

    // One test, so that nobody else allocates.
    #[test]
    fn bytes_of_all_threads_are_counted() {
        let before = in_use();
        let blocks: Vec<Vec<u8>> = (0..8)
            .map(|_| std::thread::spawn(|| (0..10).map(|_| vec![0; 10_000]).collect::<Vec<_>>()))
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect();
        let taken = in_use() - before;
        assert!((800_000..850_000).contains(&taken), "{taken}");
        drop(blocks);
        assert!(in_use().abs_diff(before) < 50_000, "{before} {}", in_use());

        // What this thread allocates is counted at once, freed or not. The test's main thread may add what it has.
        let [used, allocated] = [in_use(), allocated_by_thread()];
        let mut grown = Vec::<u8>::with_capacity(1000);
        grown.reserve_exact(30_000);
        assert_eq!(allocated_by_thread() - allocated, 31_000);
        assert!((in_use() - used).abs_diff(30_000) < 10_000, "{used} {}", in_use());
        drop(grown);
        assert!(in_use().abs_diff(used) < 10_000, "{used} {}", in_use());

        // A block that is gone is in the peak until that begins anew.
        reset_peak();
        drop(std::hint::black_box(vec![0u8; 5_000_000]));
        assert!((4_900_000..5_100_000).contains(&(peak() - used)), "{used} {}", peak());
        reset_peak();
        assert!(peak().abs_diff(in_use()) < 100_000, "{} {}", peak(), in_use());
    }
}
