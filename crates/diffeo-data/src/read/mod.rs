//! Arguments and data files into values of a declared type.

mod archive;
#[cfg(feature = "binary-tables")]
mod arrow;
mod cell;
mod column;
mod content;
mod csv;
mod encoding;
#[cfg(feature = "binary-tables")]
mod excel;
mod folded;
mod input;
mod json;
mod names;
mod npy;
mod npz;
mod records;
mod table;
#[cfg(feature = "binary-tables")]
mod time;

pub(super) use cell::{is_missing, MISSING};

use encoding::BadEncoding;

use super::error::{Content, Damage, DataError, DataSource, Given, Position, Problem};
use super::format::Format;
use super::options::DataOptions;
use super::place::{Place, Target};
use super::reason;
use super::shape::{maybe, TableLayout};
use content::content;
use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty, JUST};
use diffeo_calculus::value::Value;
use diffeo_front::interface::Type;
use input::Input;
use std::cell::Cell;
use std::io;
#[cfg(feature = "binary-tables")]
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

/// What an argument is read into.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The field's name.
    pub name: &'a str,
    /// Its type.
    pub ty: &'a Ty,
    /// The type as the program writes it, sizes included, for messages.
    pub written: Option<&'a str>,
    /// Its type in the interface of the program, with the order of fields, for tables without a header.
    pub interface: Option<&'a Type>,
}

impl<'a> Field<'a> {
    fn order(&self, layout: &TableLayout<'_>) -> Option<Vec<Name>> {
        layout.order(self.interface)
    }
}

/// Called again and again while something is read, at the latest after some thousand numbers. An
/// error from it ends the reading, with its text as the reason.
pub type Check<'a> = &'a dyn Fn() -> io::Result<()>;

/// What is wrong, and where, inside of one source.
#[derive(Debug)]
struct ReadFailure {
    /// The array of an NPZ file.
    member: Option<String>,
    at: Option<Position>,
    problem: Box<Problem>,
}

impl From<Problem> for ReadFailure {
    fn from(problem: Problem) -> ReadFailure {
        ReadFailure { member: None, at: None, problem: Box::new(problem) }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        match BadEncoding::of(&error) {
            Some(BadEncoding::NotUtf16) => Problem::NotUtf16,
            Some(BadEncoding::Utf32) => Problem::Utf32,
            None => {
                archive::bad_member(&error).unwrap_or_else(|| Problem::Unreadable(reason(&error)))
            }
        }
    }
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> ReadFailure {
        Problem::from(error).into()
    }
}

/// Reads the text of `--arg name=text` into the field's type.
///
/// The text is JSON or the [`Place`] of a data file. For a String it is the text itself, unless that
/// is a JSON string.
pub fn read_argument(
    text: &str,
    field: &Field<'_>,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, Box<DataError>> {
    if *field.ty == Ty::String {
        return Ok(match json::read(text, field.ty, datas, check) {
            Ok(value) if text.trim_start().starts_with('"') => value,
            _ => Value::string(text),
        });
    }
    if *field.ty == Ty::Real {
        // As JSON these are strings; on the command line nobody would write the quotes.
        if let Some(real) = json::special_real(text.trim()) {
            return Ok(real);
        }
    }
    let Some(place) = Place::of(text) else {
        return json::read(text, field.ty, datas, check).map_err(|failure| {
            let ReadFailure { mut at, mut problem, .. } = failure;
            if text.trim().is_empty() {
                *problem = Problem::Empty;
            } else if matches!(*problem, Problem::Syntax { .. }) {
                if let Some(format) = no_format(text) {
                    (at, *problem) = (None, format);
                } else if *field.ty == Ty::Real && json::means_interval(text) {
                    (at, *problem) = (None, Problem::NoInterval(text.trim().to_string()));
                }
            }
            DataError::reading(field, DataSource::Text, Given::default(), at, *problem)
        });
    };
    read_place(&place, field, datas, check).map_err(|ReadFailure { member, at, problem }| {
        let source = match (member, &place.target) {
            (_, Target::Standard) => DataSource::StandardInput,
            (Some(member), Target::File(path)) => DataSource::Member(path.clone(), member),
            (None, Target::File(path)) => DataSource::File(path.clone()),
        };
        let given = Given { format: Some(place.format), options: place.options.clone() };
        DataError::reading(field, source, given, at, *problem)
    })
}

/// What is wrong with a text that can only be the name of something, without a format or with an
/// unknown one.
fn no_format(text: &str) -> Option<Problem> {
    let is_name = |text: &str| text == "-" || Path::new(text).exists();
    if Path::new(text).is_dir() {
        return Some(Problem::Unreadable(reason(&io::ErrorKind::IsADirectory.into())));
    }
    if is_name(text) {
        return Some(Problem::NoFormat(text.to_string()));
    }
    let (name, format) = text.rsplit_once(':')?;
    is_name(name).then(|| Problem::UnknownFormat(format.to_string()))
}

fn read_place(
    place: &Place,
    field: &Field<'_>,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let ty = field.ty;
    // JSON has a `Just` of its own.
    if let (Some(inner), true) = (maybe(ty, datas), place.format != Format::Json) {
        let value = read_place(place, &Field { ty: inner, ..*field }, datas, check)?;
        return Ok(Value::data(JUST, [value]));
    }
    match place.format {
        Format::Json | Format::Npy | Format::Parquet | Format::Arrow => {
            // None of them has any.
            DataOptions::of(&place.options, place.format)?;
        }
        Format::Npz | Format::Csv | Format::Tsv | Format::Text | Format::Excel => {}
    }
    match place.format {
        Format::Json => {
            let bytes = Input::open(&place.target, check)?.read_all()?;
            json::read_bytes(&bytes, ty, datas, check)
        }
        Format::Csv | Format::Tsv | Format::Text => csv::read(place, field, datas, check),
        #[cfg(feature = "binary-tables")]
        Format::Excel => guarded(place.format, || excel::read(place, field, datas, check)),
        #[cfg(feature = "binary-tables")]
        Format::Parquet | Format::Arrow => {
            guarded(place.format, || arrow::read(place, field, datas, check))
        }
        #[cfg(not(feature = "binary-tables"))]
        Format::Excel | Format::Parquet | Format::Arrow => {
            Err(Problem::Without(place.format).into())
        }
        Format::Npy => npy::read_npy(&place.target, ty, check),
        Format::Npz => npz::read(place, field.name, ty, check),
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes a message, at present: a library found a file damaged. A hook for panics need
/// not show it.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Reads by a library that panics where some files are damaged.
#[cfg(feature = "binary-tables")]
fn guarded(
    format: Format,
    read: impl FnOnce() -> Result<Value, ReadFailure>,
) -> Result<Value, ReadFailure> {
    GUARDED.set(true);
    // Nothing is used any more of what it read.
    let value = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    value.unwrap_or_else(|_| Err(Problem::BadFile(format, Damage::broken()).into()))
}

/// How many bytes at the beginning of a text are no part of it.
fn text_start(bytes: &[u8]) -> Result<usize, Problem> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err(Problem::Utf32),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(Problem::Utf16),
        [0xef, 0xbb, 0xbf, ..] => Ok(3),
        _ => match content(bytes) {
            Content::Text | Content::Other => Ok(0),
            content => Err(Problem::NoText(content)),
        },
    }
}
