//! Values that only one thread at a time may use.

use std::sync::Mutex;

/// A value whose parts are shared among themselves alone, such as a graph of `Rc`: any thread may use it, one at a time.
///
/// What goes in is made within, and what comes out can be sent to other threads: so no count of references is changed
/// by two threads at once.
pub struct Confined<T>(Mutex<Inner<T>>);

struct Inner<T>(T);

// SAFETY: the value is made, used and dropped by one thread at a time, for a mutex is around it. Closures that make or
// use it can be sent, and so can what they return, so no other owner of a part of it is left behind. Nothing that is put
// into one keeps its parts in variables of a thread.
unsafe impl<T> Send for Inner<T> {}

impl<T> Confined<T> {
    /// A value that is made here.
    pub fn new(make: impl FnOnce() -> T + Send) -> Confined<T> {
        Confined(Mutex::new(Inner(make())))
    }

    /// As [`Confined::new`], if the value can be made.
    ///
    /// # Errors
    /// `make` may fail.
    pub fn try_new<E: Send>(make: impl FnOnce() -> Result<T, E> + Send) -> Result<Confined<T>, E> {
        make().map(|value| Confined(Mutex::new(Inner(value))))
    }

    /// Uses the value. After a panic it is used as it was left.
    pub fn with<R: Send>(&self, work: impl FnOnce(&mut T) -> R + Send) -> R {
        let mut inner = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        work(&mut inner.0)
    }
}
