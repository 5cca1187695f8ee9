//! Diffeo.
