//! Flat, the first-order array language between Core and machine code.
//!
//! [`ir`] is the language. Everything here knows Flat alone: nothing of the source language, nothing of
//! machines.

pub mod ir;
pub mod opt;
