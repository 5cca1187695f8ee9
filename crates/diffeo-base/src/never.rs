//! What cannot happen unless Diffeo has a bug.

/// Stops debug builds, and so tests, with a message. Elsewhere the fall-back behind it counts, which must not give a
/// value as if nothing had happened.
#[macro_export]
macro_rules! never {
    ($($what:tt)+) => {
        if cfg!(debug_assertions) {
            panic!("a bug of Diffeo: {}", format_args!($($what)+));
        }
    };
}
