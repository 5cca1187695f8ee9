//! Recursion over programs, which may be nested deeper than a thread's stack allows.

/// Runs something that recurses by itself, on a stack that is large enough for what people nest.
pub fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 << 20, 128 << 20, work)
}

/// Runs one level of a recursion, on a new piece of stack if less than 256 KiB of the present one are left.
pub fn deep<R>(level: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(256 << 10, 4 << 20, level)
}
