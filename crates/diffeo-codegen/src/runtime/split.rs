//! Parallel execution of the blocks of a loop ([`Blocks`]): by the thread that reaches the loop, and by others of a
//! pool.
//!
//! A free thread takes the next block. The results are combined in the order of the blocks, so they do not depend on
//! which thread did which. Each of the other threads has a [`Context`] of its own: with memory, a stack with as much
//! room as is left on the first thread's, and a copy of the constants. In it, loops are done one block after the other.
//!
//! Of several errors, that of the lowest block counts, which is that of the lowest step: blocks are taken in their
//! order, and none is taken after an error, so all blocks before it are done to their end.

use super::context::{Context, Owned};
use super::failure::STOPPED;
use super::freeze::Frozen;
use super::stack_end::StackEnd;
use super::work::Work;
use crate::low::{Blocks, LowFunction};
use crate::process::{self, OfProcess};
use diffeo_array::ir::{Reduction, SiteId};
use diffeo_array::places::Told;
use diffeo_calculus::prim::{real, RealOp};
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Does the steps of a block, as [`Blocks::task`], and gives its status.
type BlockTask = unsafe extern "C" fn(*mut Context, *const u64, i64, i64, *mut f64) -> i64;

/// More threads would find nothing to do in most loops.
const MOST_THREADS: usize = 128;

/// How often the first thread looks whether the run is to end, while it waits for the others.
const TICK: Duration = Duration::from_millis(2);

/// The first bit of the place of the loop in the first word of [`shape`]; there are 31 for it.
const SITE: u32 = 33;

/// A function with blocks as [`split`] is told of it, in two words.
pub fn shape(function: &LowFunction, blocks: &Blocks) -> [i64; 2] {
    let captured = function.params.len().saturating_sub(2) as i64;
    let layout = captured | (blocks.shared as i64) << 16 | i64::from(blocks.constants) << 32;
    let layout = layout | i64::from(blocks.site.0) << SITE;
    let results = blocks.how.iter().enumerate().map(|(i, how)| {
        let code = match how {
            Reduction::Add => 0,
            Reduction::Max => 1,
            Reduction::Min => 2,
        };
        code << (8 + 2 * i)
    });
    [layout, blocks.how.len() as i64 | results.sum::<i64>()]
}

/// As the code that is made of a [`Reduction`].
fn combine(code: i64, so_far: f64, value: f64) -> f64 {
    match code {
        0 => so_far + value,
        1 => real::eval(RealOp::Max, so_far, value),
        _ => real::eval(RealOp::Min, so_far, value),
    }
}

/// A context for another thread.
struct Worker(Owned);

// SAFETY: it loses all events and its memory belongs to it alone; the module, the texts and the static blocks
// that it shares are not changed.
unsafe impl Send for Worker {}

/// Contexts that wait for the next loop.
#[derive(Default)]
pub(super) struct Workers(Vec<Worker>);

impl Workers {
    /// Their contexts.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Owned> {
        self.0.iter_mut().map(|worker| &mut worker.0)
    }
}

/// A loop.
#[derive(Clone, Copy)]
struct Job {
    task: BlockTask,
    frame: *const u64,
    count: i64,
    step: i64,
    /// How many blocks there are.
    blocks: i64,
    /// Where the results of each block go.
    results: *mut f64,
    width: usize,
    /// The place of the loop.
    site: SiteId,
}

impl Job {
    /// Does a block, unless the run is to end; its status.
    ///
    /// # Safety
    /// The block was not done, and the context is one for it, of this thread.
    unsafe fn run(&self, block: i64, context: *mut Context) -> i64 {
        let from = block * self.step;
        let to = (from + self.step).min(self.count);
        // SAFETY: `split` has these from its caller; each block has as many results as there is room for.
        unsafe {
            // A block may be too short to poll.
            if Context::poll(context) {
                (*context).failure.raise(STOPPED, self.site, [0; 3]);
                return 1;
            }
            let results = self.results.add(block as usize * self.width);
            (self.task)(context, self.frame, from, to, results)
        }
    }
}

/// A loop whose blocks are done at once.
struct SplitLoop {
    job: Job,
    /// The words of the constants when it began.
    constants: Vec<u64>,
    max_stack: usize,
    margin: usize,
    /// How many bytes of the stack are left.
    room: usize,
    /// The work of the run.
    work: *const Work,
    state: Mutex<SplitState>,
    /// Told when nobody is at work.
    idle: Condvar,
}

// SAFETY: what it refers to lives as long as there are blocks to take or to be done, and `split` waits for their
// end. The frame is only read, and each block has a place of its own for its results.
unsafe impl Send for SplitLoop {}
// SAFETY: as above.
unsafe impl Sync for SplitLoop {}

struct SplitState {
    /// The next block.
    next: i64,
    /// The lowest block that failed, or the number of blocks.
    failed: i64,
    /// Whether the run is to end.
    stop: bool,
    /// Whether a thread computed constants for itself.
    computed: bool,
    /// Contexts that nobody uses.
    free: Vec<Worker>,
    /// The blocks that other threads do, with the ends of their stacks.
    open: Vec<(i64, *const StackEnd)>,
    /// The block that failed and its context.
    failures: Vec<(i64, Worker)>,
    /// The blocks that are being done, with what counts their work.
    running: Vec<(i64, *const AtomicU64)>,
    /// What was warned of in each block that was done.
    told: Vec<(i64, Vec<Told>)>,
    /// By block: its work, when it is over.
    counts: Vec<Option<u64>>,
    /// What was done before these.
    base: u64,
    /// The lowest block that is not over …
    lowest: usize,
    /// … and what was done before it.
    before: u64,
}

impl SplitLoop {
    fn state(&self) -> MutexGuard<'_, SplitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next block, if there is one; the counter is that of the context that it is done in.
    fn take(&self, state: &mut SplitState, counter: &AtomicU64) -> Option<i64> {
        let block = state.take()?;
        counter.store(0, Ordering::Relaxed);
        state.running.push((block, counter));
        self.show_work(state);
        Some(block)
    }

    /// Does a block; whether it failed.
    ///
    /// # Safety
    /// As for [`Job::run`]; the block was taken.
    unsafe fn run(&self, block: i64, context: *mut Context) -> bool {
        // SAFETY: by the condition of the function.
        let (status, work) = unsafe {
            let status = self.job.run(block, context);
            (status, (*context).work.counter().load(Ordering::Relaxed))
        };
        // SAFETY: nothing else uses this field of the context.
        let told = unsafe { (*context).kept.as_mut().map(std::mem::take) };
        let mut state = self.state();
        state.told.extend(told.filter(|all| !all.is_empty()).map(|all| (block, all)));
        state.running.retain(|(other, _)| *other != block);
        state.counts[block as usize] = Some(work);
        while let Some(Some(work)) = state.counts.get(state.lowest).copied() {
            state.before += work;
            state.lowest += 1;
        }
        self.show_work(&state);
        if status != 0 {
            state.fail(block);
        }
        status != 0
    }

    /// Lets the run know what was done.
    fn show_work(&self, state: &SplitState) {
        let lowest = state.running.iter().find(|(block, _)| *block as usize == state.lowest);
        // SAFETY: the context of the run lives as long as there are blocks.
        unsafe { (*self.work).follow(state.before, lowest.map(|(_, counter)| *counter)) };
    }

    /// Works in another thread.
    fn help(&self) {
        let mut state = self.state();
        if state.next >= state.failed {
            return;
        }
        let Some(mut worker) = state.free.pop() else { return };
        let end = std::ptr::from_ref(worker.0.stack_end());
        state.open.push((-1, end));
        drop(state);
        worker.0.set_constants(&self.constants);
        let failed = crate::engine::on_stack(self.max_stack, self.margin, |lowest| {
            self.blocks_of(&worker.0, end, lowest)
        });
        let failed = failed.unwrap_or(None);
        let computed = failed.is_none() && worker.0.forget_constants(&self.constants);
        let mut state = self.state();
        state.computed |= computed;
        state.open.retain(|(_, other)| *other != end);
        match failed {
            Some(block) => state.failures.push((block, worker)),
            None => state.free.push(worker),
        }
        if state.open.is_empty() {
            self.idle.notify_one();
        }
    }

    /// Does blocks as long as there are any; gives the one that failed.
    fn blocks_of(&self, context: &Owned, end: *const StackEnd, lowest: usize) -> Option<i64> {
        let here = 0u8;
        let pointer = std::ptr::from_ref(&here) as usize;
        loop {
            let mut state = self.state();
            let block = self.take(&mut state, context.work().counter())?;
            let stack_end = pointer.saturating_sub(self.room).max(lowest);
            context.stack_end().finish();
            context.stack_end().begin(stack_end);
            if state.stop {
                context.stack_end().stop();
            }
            if let Some(own) = state.open.iter_mut().find(|(_, other)| *other == end) {
                own.0 = block;
            }
            drop(state);
            // SAFETY: it was taken just now.
            if unsafe { self.run(block, context.as_ptr()) } {
                return Some(block);
            }
        }
    }
}

impl SplitState {
    /// The next block, if there is one.
    fn take(&mut self) -> Option<i64> {
        let block = self.next;
        (block < self.failed).then(|| {
            self.next += 1;
            block
        })
    }

    /// What was done before the loop and in it, up to the block that failed, if one did.
    fn work_up_to(&self, failed: i64) -> u64 {
        self.base + self.counts.iter().take(failed as usize + 1).flatten().sum::<u64>()
    }

    /// Notes that a block failed; who does a later one may stop.
    fn fail(&mut self, block: i64) {
        self.failed = self.failed.min(block);
        self.stop_behind(self.failed);
    }

    fn stop_behind(&self, block: i64) {
        for (_, end) in self.open.iter().filter(|(other, _)| *other > block) {
            // SAFETY: the contexts of open blocks are live.
            unsafe { (**end).stop() };
        }
    }
}

/// The threads that help, by how many there are.
static POOLS: OfProcess<Mutex<BTreeMap<usize, Arc<ThreadPool>>>> = OfProcess::new(Mutex::default);

/// A pool of this many threads that help.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let mut pools = POOLS.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Some(pool.clone());
    }
    let pool = Arc::new(process::threads(threads, "diffeo-worker")?);
    pools.insert(threads, pool.clone());
    Some(pool)
}

/// Does the blocks of a loop of `count` steps, `step` in each, as `layout` and `how` say ([`shape`]). The frame has the
/// words of what the steps read, and room for the results behind them. Gives 0, or 1 if a block failed; then the error
/// is recorded.
///
/// # Safety
/// The context is that of the run, the task is that of the function with blocks, compiled with the convention of C; the
/// frame has the words.
pub(super) unsafe extern "C" fn split(
    context: *mut Context,
    task: *const u8,
    frame: *mut u64,
    layout: i64,
    how: i64,
    count: i64,
    step: i64,
) -> i64 {
    let step = step.max(1);
    let blocks = if count > 0 { (count - 1) / step + 1 } else { 0 };
    let captured = (layout & 0xFFFF) as usize;
    let width = (how & 0xFF) as usize;
    // Of no block 0, so that none is null.
    let mut results = vec![0.0f64; (blocks as usize * width).max(1)];
    let room = results.as_mut_ptr();
    // SAFETY: by the condition of the function; a function pointer has the size of an address.
    unsafe {
        let task = std::mem::transmute::<*const u8, BlockTask>(task);
        let site = SiteId((layout as u64 >> SITE) as u32);
        let job = Job { task, frame, count, step, blocks, results: room, width, site };
        let done = at_once(context, &job, layout)
            .unwrap_or_else(|first| (first..blocks).all(|block| job.run(block, context) == 0));
        if !done {
            return 1;
        }
        for i in 0..width {
            let code = how >> (8 + 2 * i) & 3;
            let values = results.iter().take(blocks as usize * width).skip(i).step_by(width);
            let none = [-0.0, f64::NEG_INFINITY, f64::INFINITY][code as usize % 3];
            let combined = values.fold(none, |so_far, value| combine(code, so_far, *value));
            frame.add(captured + i).write(combined.to_bits());
        }
    }
    0
}

/// Does blocks at once: whether all are done, or one failed. Otherwise, this thread has to do them alone, from the one
/// that is given.
///
/// # Safety
/// As for [`split`].
unsafe fn at_once(context: *mut Context, job: &Job, layout: i64) -> Result<bool, i64> {
    // SAFETY: the context is live, and nothing else uses these fields while the program waits for this function.
    let threads = unsafe { (*context).threads }.min(MOST_THREADS);
    if threads <= 1 || job.blocks <= 1 {
        return Err(0);
    }
    let shared = (layout >> 16 & 0xFFFF) as usize;
    let uses_constants = layout >> 32 & 1 != 0;
    let helpers = (threads - 1).min(job.blocks as usize - 1);
    let Some(pool) = pool(threads - 1) else { return Err(0) };
    let here = 0u8;
    let pointer = std::ptr::from_ref(&here) as usize;
    // SAFETY: by the condition of the function.
    unsafe {
        let mut first = 0;
        if uses_constants && std::mem::take(&mut (*context).constants_missing) {
            // The first block computes those that are needed, most likely.
            if job.run(0, context) != 0 {
                return Ok(false);
            }
            first = 1;
        }
        let constants =
            if uses_constants { Context::constant_words(context).to_vec() } else { Vec::new() };
        let roots = (0..shared).map(|i| job.frame.add(i).read() as *mut u8);
        let module = (*context).module.clone();
        let references = module.constant_references.iter().zip(&constants);
        let constant_roots =
            references.filter(|(counted, _)| **counted).map(|(_, word)| *word as *mut u8);
        let frozen = Frozen::new(&module.layouts, roots.chain(constant_roots));
        let Some(frozen) = frozen else { return Err(first) };
        let mut free = std::mem::take(&mut (*context).workers.0);
        while free.len() < helpers {
            free.push(Worker(Owned::worker(context)));
        }
        let stack_end = Context::stack_end(context);
        let state = SplitState {
            next: first,
            failed: job.blocks,
            stop: false,
            computed: false,
            free,
            open: Vec::new(),
            failures: Vec::new(),
            running: Vec::new(),
            told: Vec::new(),
            counts: vec![None; job.blocks as usize],
            lowest: first as usize,
            base: (*context).work.counter().load(Ordering::Relaxed),
            before: (*context).work.counter().load(Ordering::Relaxed),
        };
        let region = Arc::new(SplitLoop {
            job: *job,
            constants,
            max_stack: (*context).max_stack,
            margin: (*context).margin,
            room: pointer.saturating_sub(stack_end),
            work: &raw const (*context).work,
            state: Mutex::new(state),
            idle: Condvar::new(),
        });
        for _ in 0..helpers {
            let region = region.clone();
            pool.spawn(move || region.help());
        }
        // Loops within this one are done block by block.
        let all = std::mem::replace(&mut (*context).threads, 1);
        (*context).kept = Some(Vec::new());
        let failed = work(&region, context);
        (*context).threads = all;
        (*context).kept = None;
        // In the order of the blocks, as one thread would.
        let mut told = std::mem::take(&mut region.state().told);
        told.sort_by_key(|(block, _)| *block);
        let told = told.into_iter().filter(|(block, _)| *block <= failed);
        told.flat_map(|(_, all)| all).for_each(|told| Context::warn(context, told));
        let done = region.state().work_up_to(failed);
        (*context).work.alone(done);
        if failed == job.blocks {
            let mut workers = std::mem::take(&mut (*context).workers.0);
            for worker in &mut workers {
                Context::count_constants_of(context, worker.0.as_ptr());
            }
            (*context).workers.0 = workers;
        }
        if uses_constants && failed == job.blocks {
            // What was computed may refer to what was frozen, without having counted it.
            let computed = Context::forget_constants(context, &region.constants);
            (*context).constants_missing = computed || region.state().computed;
        }
        drop(frozen);
        Ok(failed == job.blocks)
    }
}

/// The part of the thread that came to the loop, until all is done; gives the lowest block that failed, whose error
/// the context has then, or the number of blocks.
///
/// # Safety
/// As for [`split`].
unsafe fn work(region: &SplitLoop, context: *mut Context) -> i64 {
    let mut own = None;
    loop {
        // SAFETY: the context is live, and nothing borrows this field mutably.
        let counter = unsafe { (*context).work.counter() };
        let Some(block) = region.take(&mut region.state(), counter) else { break };
        // SAFETY: it was taken just now.
        if unsafe { region.run(block, context) } {
            own = Some(block);
            break;
        }
    }
    let mut state = region.state();
    while !state.open.is_empty() {
        if !state.stop {
            drop(state);
            // SAFETY: this is the thread of the run, and nothing borrows the context.
            let stop = unsafe { Context::poll(context) };
            state = region.state();
            state.stop |= stop;
            if state.stop {
                state.stop_behind(-2);
            }
            if state.open.is_empty() {
                break;
            }
        }
        let waited = region.idle.wait_timeout(state, TICK);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    // Who comes now finds nothing to do: there are no blocks to take.
    let failed = state.failed;
    let mut free = std::mem::take(&mut state.free);
    for (block, mut worker) in std::mem::take(&mut state.failures) {
        if block == failed && own != Some(block) {
            // SAFETY: nothing else uses the failure of the context; the operands live in the memory of the worker
            // until the context is reset.
            unsafe { std::mem::swap(&mut (*context).failure, worker.0.failure()) };
        }
        free.push(worker);
    }
    // SAFETY: nothing else uses the field.
    unsafe { (*context).workers.0 = free };
    failed
}
