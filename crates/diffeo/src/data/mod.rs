//! Data in and out: arguments and data files into a declared type, results into data files.
//!
//! What comes in is a text of the command line (JSON, or the name of a `.json`, `.npy`, `.npz` or
//! `.csv` file) and a first-order type; what goes out is a [`Value`] of that type, or a
//! [`DataError`] that names the field, the place in the file and the type. Sizes are no part of the
//! types here: the program checks them.

mod column;
mod csv;
mod error;
mod json;
mod npy;
mod output;
mod shown;
#[cfg(test)]
mod tests;

pub use error::{CsvColumn, DataError, Declared, Found, Position, Problem, Source, Step};
pub use json::to_json;
pub use output::{check_writable, write_file};
pub use shown::show_type;

use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The tags of the constructors of `List`.
const NIL: u32 = 0;
const CONS: u32 = 1;

/// What an argument is read into.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The field's name.
    pub name: &'a str,
    /// Its type.
    pub ty: &'a Ty,
    /// The type as the program writes it, sizes included, for messages.
    pub written: Option<&'a str>,
}

/// A kind of data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.json`
    Json,
    /// `.npy`: an array of NumPy.
    Npy,
    /// `.npz`: several of them; only read.
    Npz,
    /// `.csv`
    Csv,
}

impl Format {
    /// The format that a file name ends in.
    pub fn of(name: &str) -> Option<Format> {
        let (_, ending) = name.rsplit_once('.')?;
        [("json", Format::Json), ("npy", Format::Npy), ("npz", Format::Npz), ("csv", Format::Csv)]
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(ending))
            .map(|(_, format)| format)
    }

    fn article(self) -> &'static str {
        match self {
            Format::Json => "a JSON file",
            Format::Npy => "an NPY file",
            Format::Npz => "an NPZ file",
            Format::Csv => "a CSV file",
        }
    }

    /// What the format holds, and what to use for a value of this type.
    fn what_fits(self, ty: &Ty) -> String {
        let holds = match self {
            Format::Json => return "a function has no representation as data".to_string(),
            Format::Npy | Format::Npz => {
                "it holds a Real, Int or Bool, or an array of them of any rank"
            }
            Format::Csv => {
                "it holds arrays of records, tuples or rows whose components are Real, Int, Bool, \
                 String or Maybe of these"
            }
        };
        match (npy::leaf(ty), self) {
            (Some(_), Format::Csv) => format!("{holds}; this type fits into .npy and .json"),
            _ => format!("{holds}; .json holds every value"),
        }
    }
}

/// Reads the text of `--arg name=text` into the field's type.
///
/// The text is JSON or the name of a data file, `file.npz:array` and `file.csv:skip=1` included.
/// For a String it is the text itself, unless that is a JSON string.
pub fn read_argument(
    text: &str,
    field: &Field<'_>,
    datas: &[DataDecl],
) -> Result<Value, Box<DataError>> {
    if *field.ty == Ty::String {
        return Ok(match json::read(text, field.ty, datas) {
            Ok(value) if text.trim_start().starts_with('"') => value,
            _ => Value::string(text),
        });
    }
    if *field.ty == Ty::Real {
        // As JSON these are strings; on the command line nobody would write the quotes.
        match text.trim() {
            "nan" => return Ok(Value::Real(f64::NAN)),
            "inf" => return Ok(Value::Real(f64::INFINITY)),
            "-inf" => return Ok(Value::Real(f64::NEG_INFINITY)),
            _ => {}
        }
    }
    let Some((path, format, option)) = file_of(text) else {
        return json::read(text, field.ty, datas).map_err(|(at, problem)| {
            let problem = if text.trim().is_empty() { Problem::Empty } else { problem };
            DataError::reading(field, Source::Text, at, problem)
        });
    };
    let error = |(at, problem)| DataError::reading(field, Source::File(path.clone()), at, problem);
    match format {
        Format::Json => read_json(&path, field.ty, datas).map_err(error),
        Format::Csv => csv::read(&path, option, field.ty, datas).map_err(error),
        Format::Npy => npy::read_npy(&path, field.ty).map_err(|problem| error((None, problem))),
        Format::Npz => {
            npy::read_npz(&path, option, field.name, field.ty).map_err(|(member, problem)| {
                let source = match member {
                    Some(member) => Source::Member(path.clone(), member),
                    None => Source::File(path.clone()),
                };
                DataError::reading(field, source, None, problem)
            })
        }
    }
}

/// The file that an argument names, with what follows a colon.
fn file_of(text: &str) -> Option<(PathBuf, Format, Option<&str>)> {
    if let Some(format) = Format::of(text) {
        return Some((PathBuf::from(text), format, None));
    }
    if text.starts_with(['{', '[', '"']) {
        return None;
    }
    let (name, option) = text.rsplit_once(':')?;
    match Format::of(name)? {
        format @ (Format::Csv | Format::Npz) => Some((PathBuf::from(name), format, Some(option))),
        Format::Json | Format::Npy => None,
    }
}

fn read_json(
    path: &Path,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<Value, (Option<Position>, Problem)> {
    let bytes = std::fs::read(path).map_err(|e| (None, Problem::Unreadable(reason(&e))))?;
    let text = std::str::from_utf8(&bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        (Some(Position { line, column: 0 }), Problem::NotUtf8)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err((None, Problem::Empty));
    }
    json::read(text, ty, datas)
}

/// Whether this is the type of lists, which the data formats write as arrays.
pub(crate) fn is_list(decl: &DataDecl) -> bool {
    decl.name == "List" && decl.constructors.len() == 2 && decl.params == 1
}

/// The reason of a failed input or output, without the operating system's number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_string(),
        io::ErrorKind::IsADirectory => "this is a directory".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(end) => text[..end].to_string(),
                None => text,
            }
        }
    }
}
