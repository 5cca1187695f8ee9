//! Recursion over blocks, which may be nested deeper than a thread's stack allows.

/// Runs something that recurses by itself, on a stack that is large enough for what people nest.
pub(crate) fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 << 20, 128 << 20, work)
}

/// Runs one level of a recursion, on a new piece of stack if the present one is nearly used up.
pub(crate) fn deep<R>(level: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(256 << 10, 4 << 20, level)
}
