//! Flat, the first-order array language between Core and machine code.
//!
//! [`ir`] is the language. This crate knows nothing of the source language and nothing of machines.
//!
//! | file | what is in it |
//! |---|---|
//! | `ir.rs` | the terms, and what always holds of them |
//! | `ir/ops.rs`, `ir/walk.rs` | the table of operations; walks over terms |
//! | `typing.rs`, `build.rs` | the types of operations; making functions |
//! | `compact.rs` | numbering variables anew |
//! | `print.rs`, `parse.rs` | Flat as text, and back |
//! | `lint.rs` | checks what always holds |
//! | `value.rs`, `eval/` | values, and the evaluator, which defines what a program means |
//! | `opt/` | passes from Flat to Flat |
//! | `ad/` | derivatives: from functions of Flat to functions of Flat |
//! | `report.rs`, `places.rs` | run-time errors and warnings with their places |

pub mod ad;
pub mod build;
pub mod compact;
pub mod eval;
pub mod ir;
pub mod lint;
pub mod opt;
pub mod parse;
pub mod places;
pub mod print;
pub mod report;
pub mod typing;
pub mod value;

pub use eval::FlatEvaluator;
pub use lint::lint;
pub use parse::parse;
pub use print::{print, print_plain};
