//! Recursion over statements, which may be nested deeper than a thread's stack allows.

/// Runs one level of a recursion, on a new piece of stack if the present one is nearly used up.
pub(crate) fn deep<R>(level: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(256 << 10, 4 << 20, level)
}
