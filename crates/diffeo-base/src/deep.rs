//! Recursion over programs, which may be nested deeper than a thread's stack allows, and take longer than anybody waits.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// Runs something that recurses by itself, on a stack that is large enough for what people nest.
pub fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 << 20, 128 << 20, work)
}

/// Runs one level of a recursion, on a new piece of stack if less than 256 KiB of the present one are left. Within
/// [`bounded`], asks now and then whether it may go on.
pub fn deep<R>(level: impl FnOnce() -> R) -> R {
    ask();
    stacker::maybe_grow(256 << 10, 4 << 20, level)
}

/// After so many levels it is asked whether the work may go on: some microseconds.
const ASKED: u32 = 1 << 8;

/// Ends the work if it may not go on.
type Bound = Box<dyn Fn()>;

thread_local! {
    /// How many levels are left until it is asked; none where there is no bound.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
    static BOUND: RefCell<Option<Bound>> = const { RefCell::new(None) };
}

/// Why work ended early, on its way to [`bounded`].
struct Ended<E>(E);

/// Runs something whose end nobody knows. When what recurses in it ([`deep`]) finds that it may not go on, it ends there:
/// what it was changing is to be thrown away.
///
/// # Errors
/// What does not allow it to go on.
pub fn bounded<R, E: Send + 'static>(
    allowed: impl Fn() -> Result<(), E> + 'static,
    work: impl FnOnce() -> R,
) -> Result<R, E> {
    let bound: Bound = Box::new(move || {
        if let Err(why) = allowed() {
            // Not a panic: no hook is to tell of it.
            resume_unwind(Box::new(Ended(why)));
        }
    });
    let before = (LEFT.replace(ASKED), BOUND.replace(Some(bound)));
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(before.0);
    BOUND.set(before.1);
    done.map_err(|why: Box<dyn Any + Send>| match why.downcast::<Ended<E>>() {
        Ok(ended) => ended.0,
        Err(panic) => resume_unwind(panic),
    })
}

/// Asks, within [`bounded`], whether the work may go on.
pub fn ask() {
    let left = LEFT.get();
    if left == u32::MAX {
        return;
    }
    LEFT.set(left.wrapping_sub(1).min(ASKED));
    if left == 0 {
        BOUND.with_borrow(|bound| bound.iter().for_each(|ask| ask()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has no end unless it is given 0.
    fn endless(n: u64) -> u64 {
        while deep(|| n > 0) {}
        n
    }

    #[test]
    fn work_ends_where_it_may_not_go_on() {
        assert_eq!(bounded(|| Ok::<(), ()>(()), || deep(|| 3)), Ok(3));
        assert_eq!(bounded(|| Err::<(), _>("over"), || endless(1)), Err("over"));
        // The inner bound alone counts within it, the outer one afterwards.
        let inner = || bounded(|| Err::<(), _>(1), || endless(2));
        assert_eq!(bounded(|| Err::<(), _>("outer"), || (inner(), endless(3))), Err("outer"));
        assert_eq!(bounded(|| Ok::<(), ()>(()), inner), Ok(Err(1)));
        // Without a bound nothing is asked.
        assert_eq!((0..10_000).map(|i| deep(|| i)).max(), Some(9_999));
        let panic = catch_unwind(|| bounded(|| Ok::<(), ()>(()), || panic!("of its own")));
        assert!(panic.is_err());
    }
}
