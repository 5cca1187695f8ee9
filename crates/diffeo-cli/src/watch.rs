//! The bounds on a run of the program: time, memory, Ctrl-C.
//!
//! Whatever works long asks the [`Limits`] now and then and ends in good order, with the place. Where
//! nothing asks (checking a program, a read that waits), Ctrl-C ends the program at once. If the command
//! line bounds time or memory, while compiled code runs, and while there is something to put away, a thread
//! watches over phases that do not ask in time, and ends the program with a message that says what it was doing.
//! There is no such thread otherwise: with a second thread, the allocator of the C library has to lock, which
//! slows the evaluator down.

use crate::render::Messages;
use diffeo::leftovers;
use diffeo::{Diagnostic, Exceeded, Limits, MemoryLimit, SourceMap, Span};
use diffeo_memory::Counting;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level, SigId};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Counts the memory in use.
#[global_allocator]
static MEMORY: Counting = Counting;

/// The memory in use that the allocator does not count: the program itself, its libraries, the first stack. It is looked
/// at where the command line bounds the memory.
static BESIDE: AtomicUsize = AtomicUsize::new(0);

/// The bound on the memory that the command line gives, or none.
static BOUND: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The most memory in use that was seen.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Who asks the limits in a phase of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Nobody: what reaches a bound ends at once.
    Nobody,
    /// Somebody who may wait for others, and be ended while waiting.
    Waiting,
    /// Somebody who never waits, and ends in good order.
    Always,
}

/// Whether Ctrl-C ends the program at once.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Whether nobody asks the limits at present.
static UNASKED: AtomicBool = AtomicBool::new(true);

/// What ends the program at the second Ctrl-C, as long as no thread watches.
static IMPATIENT: Mutex<Vec<SigId>> = Mutex::new(Vec::new());

/// Whether the end of the time is an interrupt at present, after which what there is is kept.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// The time that was over, and became an interrupt.
static OVER: OnceLock<Duration> = OnceLock::new();

/// Whether the thread watches.
static WATCHES: AtomicBool = AtomicBool::new(false);

/// What the program is doing, as a message can say it.
static DOING: Mutex<String> = Mutex::new(String::new());

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(2);

/// How long a phase in which somebody asks may take to end in good order.
const GRACE: Duration = Duration::from_millis(700);

/// The same where memory is used up, which may go on, in time of processors: others may have them meanwhile. What asks may
/// be making an array or a stack twice as large.
const MEMORY_GRACE: Duration = Duration::from_millis(400);

/// The time on the clock that this takes at most.
const MEMORY_WAIT: Duration = Duration::from_secs(4);

/// How long writing the last message may take.
const LAST: Duration = Duration::from_millis(200);

/// Starts to watch, and gives the bounds to ask.
pub fn start(timeout: Option<Duration>, max_memory: Option<usize>, messages: Messages) -> Limits {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut limits = timeout.map_or(Limits::default(), Limits::after);
    limits.interrupt = Some(interrupt.clone());
    // Nine tenths of the machine's.
    let most = max_memory.or_else(|| Some(diffeo_memory::of_the_machine()? / 10 * 9));
    limits.memory = most.map(|bytes| MemoryLimit { bytes, in_use });
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && hangups_are_ignored() {
            continue;
        }
        // In this order: the second Ctrl-C ends the program in any case. Without a handler, the first
        // does.
        let impatient = flag::register_conditional_shutdown(signal, 1, interrupt.clone());
        if let (Ok(id), Ok(mut ids)) = (impatient, IMPATIENT.lock()) {
            ids.push(id);
        }
        let _ = flag::register_conditional_shutdown(signal, 1, IDLE.clone());
        let _ = flag::register(signal, interrupt.clone());
    }
    if let Some(bytes) = max_memory {
        BOUND.store(bytes, Ordering::Relaxed);
        look_beside();
    }
    if timeout.is_some() || max_memory.is_some() {
        ensure(&limits, messages);
    }
    limits
}

/// The bytes that this process has in memory, and those of them that files are the origin of.
fn resident() -> Option<(usize, usize)> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|pages| pages.parse::<usize>().ok());
    // Pages are as large as the smallest that Linux has: what are larger ones are more.
    Some((pages.next()?? << 12, pages.next()?? << 12))
}

/// The time that processors have worked for this process.
fn work() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may have any character.
    let fields = text.rsplit_once(") ")?.1.split(' ').skip(11).take(2);
    let hundredths: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(10 * hundredths))
}

/// Looks at the memory that the allocator does not count, before there is much that it has taken and given back.
fn look_beside() {
    if let Some((all, of_files)) = resident() {
        let counted = diffeo_memory::in_use();
        BESIDE.fetch_max(all.saturating_sub(counted).max(of_files), Ordering::Relaxed);
    }
}

/// Starts the thread, if it is not there.
pub fn ensure(limits: &Limits, messages: Messages) {
    static START: Once = Once::new();
    START.call_once(|| {
        let watched = limits.clone();
        // Without the thread, only phases that ask come to an end.
        if thread::Builder::new().spawn(move || watch(watched, messages)).is_ok() {
            WATCHES.store(true, Ordering::Relaxed);
            if UNASKED.load(Ordering::Relaxed) {
                hold(Asks::Nobody);
            }
            // It does not wait long, and puts away what there is.
            if let Ok(mut ids) = IMPATIENT.lock() {
                for id in ids.drain(..) {
                    low_level::unregister(id);
                }
            }
        }
    });
}

/// Begins, or ends, a phase in which the end of the time is an interrupt: what asks ends in good order, and keeps what there
/// is. Gives whether it is; without the thread, the phase has to look at the time itself.
pub fn keep(keeps: bool) -> bool {
    let watches = WATCHES.load(Ordering::Relaxed);
    KEEPS.store(keeps && watches, Ordering::Relaxed);
    watches
}

/// The bound that an interrupt stands for, if the time was over.
pub fn over() -> Option<Exceeded> {
    OVER.get().copied().map(Exceeded::Time)
}

/// Whether this process is to go on when its terminal goes, as `nohup` has it.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

/// Notes what the program is doing now, and who asks the limits meanwhile.
pub fn doing(what: String, asks: Asks) {
    IDLE.store(asks != Asks::Always, Ordering::Relaxed);
    UNASKED.store(asks == Asks::Nobody, Ordering::Relaxed);
    hold(asks);
    if let Ok(mut doing) = DOING.lock() {
        *doing = what;
    }
}

/// Where nobody asks, what takes memory beyond the bound waits for the thread that ends the program.
fn hold(asks: Asks) {
    let bound = BOUND.load(Ordering::Relaxed);
    let holds = asks == Asks::Nobody && bound != usize::MAX && WATCHES.load(Ordering::Relaxed);
    let beside = BESIDE.load(Ordering::Relaxed);
    diffeo_memory::hold(holds.then(|| bound.saturating_sub(beside)));
}

fn in_use() -> usize {
    let bytes = diffeo_memory::in_use() + BESIDE.load(Ordering::Relaxed);
    PEAK.fetch_max(bytes, Ordering::Relaxed);
    bytes
}

/// The most memory in use at any time when it was looked at, in bytes.
pub fn peak() -> usize {
    in_use();
    PEAK.load(Ordering::Relaxed)
}

fn watch(mut limits: Limits, messages: Messages) {
    diffeo_memory::never_wait();
    let bytes = BOUND.load(Ordering::Relaxed);
    let mut since: Option<(Exceeded, Instant, Option<Duration>)> = None;
    loop {
        thread::sleep(TICK);
        // Stacks, and what the allocator cannot use again.
        let over = bytes != usize::MAX && resident().is_some_and(|(all, _)| all > bytes);
        let checked = limits.check().and(match over {
            true => Err(Exceeded::Memory(bytes)),
            false => Ok(()),
        });
        let Err(bound) = checked else {
            since = None;
            continue;
        };
        if KEEPS.load(Ordering::Relaxed) {
            if let (Exceeded::Time(time), Some(interrupt)) = (bound, &limits.interrupt) {
                let _ = OVER.set(time);
                interrupt.store(true, Ordering::Relaxed);
            }
            // The deadline falls away: ending the program at it would lose the draws that the interrupt keeps.
            if matches!(bound, Exceeded::Time(_) | Exceeded::Interrupt) {
                limits.deadline = None;
            }
        }
        let (bound, start, worked) = *since.get_or_insert_with(|| (bound, Instant::now(), work()));
        let is_over = match bound {
            _ if UNASKED.load(Ordering::Relaxed) => true,
            Exceeded::Memory(_) => {
                let since = work().zip(worked).map(|(now, then)| now.saturating_sub(then));
                since.unwrap_or_else(|| start.elapsed()) >= MEMORY_GRACE
                    || start.elapsed() >= MEMORY_WAIT
            }
            Exceeded::Time(_) | Exceeded::Interrupt => start.elapsed() >= GRACE,
        };
        if is_over {
            end(bound, messages);
        }
    }
}

/// Ends the program with a message.
fn end(bound: Exceeded, messages: Messages) -> ! {
    let doing = DOING.lock().map_or(String::new(), |d| d.clone());
    let bound = if bound == Exceeded::Interrupt { over().unwrap_or(bound) } else { bound };
    let message = format!("{}, while {doing}", bound.message());
    let mut error = Diagnostic::error(bound.code(), Span::NONE, message);
    if KEEPS.load(Ordering::Relaxed) {
        error = error.note("it did not come to an end in time, so nothing of it is kept");
    }
    leftovers::put_away();
    // Nobody may read the messages, and others may wait for that already.
    let (written, is_written) = std::sync::mpsc::channel();
    let _ = thread::Builder::new().spawn(move || {
        diffeo_memory::never_wait();
        messages.report(&SourceMap::default(), &[error]);
        let _ = written.send(());
    });
    let _ = is_written.recv_timeout(LAST);
    low_level::exit(1)
}
