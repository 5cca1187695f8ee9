//! The Delta of a run.
