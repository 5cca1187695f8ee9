//! What a process has to clean up before it ends at once: temporary files, other programs at work.
//!
//! What always holds: what was [`make`]d is cleaned up by its maker or by [`put_away`], whenever the process ends,
//! unless the system kills it.

use std::sync::{Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

/// How to put things away, by their numbers.
static LEFTOVERS: Mutex<(u64, Vec<(u64, Action)>)> = Mutex::new((0, Vec::new()));

fn leftovers() -> MutexGuard<'static, (u64, Vec<(u64, Action)>)> {
    LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stands for something that is to be put away; dropped when that is done.
#[derive(Debug)]
pub struct Leftover(u64);

/// Makes something, and keeps how to put it away. The process does not end in between.
///
/// # Errors
/// What could not be made.
pub fn make<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    away: impl FnOnce(&T) -> Action,
) -> Result<(T, Leftover), E> {
    let mut leftovers = leftovers();
    let made = make()?;
    leftovers.0 += 1;
    let number = leftovers.0;
    leftovers.1.push((number, away(&made)));
    Ok((made, Leftover(number)))
}

impl Drop for Leftover {
    fn drop(&mut self) {
        leftovers().1.retain(|(number, _)| *number != self.0);
    }
}

/// Puts everything away, the last first; nothing can be made any more. The process has to end then.
pub fn put_away() {
    let mut leftovers = leftovers();
    while let Some((_, away)) = leftovers.1.pop() {
        away();
    }
    std::mem::forget(leftovers);
}
