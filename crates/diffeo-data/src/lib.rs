//! Data in and out: arguments and data files into a declared type, results into data files.
//!
//! What comes in: a text of the command line (JSON, or the [`Place`] of a data file) and a first-order type. What goes
//! out: a [`Value`](diffeo_calculus::value::Value) of that type, or a [`DataError`] that names the field, the place in
//! the file and the type. Sizes are no part of the types here: the program checks them. Text tables
//! and NPY files are read piece by piece, so that a large one takes little more memory than its value; other formats are
//! read as a whole first. All are written piece by piece.

mod advice;
mod error;
mod format;
mod message;
mod misfit;
mod options;
mod place;
mod read;
mod shape;
mod shown;
mod write;

pub use diffeo_base::reason;
pub use error::{
    BadCell, ColumnLengths, Content, CsvColumn, Damage, DataError, DataSource, Declared, Given,
    JsonPiece, PathStep, Position, Problem, Row,
};
pub use format::Format;
pub use place::{Place, Target};
pub use read::{is_guarded, read_argument, Check, Field};
pub use shape::left_out;
pub use shown::show_type;
pub use write::{check_writable, printable_json, to_json, write_bytes, write_results, Output};

/// Room that one level of nesting certainly finds on the stack, and how much is added when it is
/// short.
const RED_ZONE: usize = 64 << 10;
const SEGMENT: usize = 4 << 20;

/// How much is read or written at a time.
const BUFFER: usize = 1 << 16;
