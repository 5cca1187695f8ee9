//! What can be wrong with data files and `--arg` texts, as data.
//!
//! A [`DataError`] knows the field being read, its type, the file and the place in it; types stay
//! types until `message.rs` makes a message of it.

use super::{Field, Format};
use diffeo_base::Name;
use diffeo_calculus::ty::Ty;
use std::path::PathBuf;

/// A failed reading or writing.
#[derive(Clone, PartialEq, Debug)]
pub struct DataError {
    /// What was being read: the field and its type; nothing when a result was being written.
    pub field: Option<Declared>,
    /// Where from, or where to.
    pub source: Source,
    /// The place in the source, where that is known.
    pub at: Option<Position>,
    /// What is wrong.
    pub problem: Problem,
}

/// A field with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Declared {
    /// The field's name.
    pub name: Name,
    /// Its type.
    pub ty: Ty,
    /// The type as the program writes it, if that is known.
    pub written: Option<String>,
}

/// Where data comes from or goes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// The text of the argument itself.
    Text,
    /// Standard input.
    StandardInput,
    /// Standard output.
    StandardOutput,
    /// A file.
    File(PathBuf),
    /// An array of a `.npz` file.
    Member(PathBuf, String),
}

/// A place in a text: lines and columns count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column in characters; 0 where only the line is known.
    pub column: usize,
}

/// A step into a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// `.name`
    Field(Name),
    /// `.0`, also for the fields of a constructor.
    Component(usize),
    /// `[0]`
    Index(usize),
    /// The payload of this constructor.
    Constructor(Name),
}

/// A piece of JSON that was found where something else was wanted.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// `null`
    Null,
    /// A truth value.
    Bool(bool),
    /// A number, as text.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A column of a CSV file.
#[derive(Clone, PartialEq, Debug)]
pub struct CsvColumn {
    /// From 1.
    pub number: usize,
    /// Its name in the header, if there is one.
    pub name: Option<String>,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Problem {
    /// The file cannot be read.
    Unreadable(String),
    /// The file cannot be written.
    Unwritable(String),
    /// Nobody reads any more what is written.
    Closed,
    /// The text is not UTF-8.
    NotUtf8,
    /// The text is UTF-16.
    Utf16,
    /// There is nothing in it.
    Empty,
    /// A table of records without its header.
    NoHeader,
    /// The name of a file, or `-`, that does not tell the format.
    NoFormat(String),
    /// A word after the name of a file, or after `-`, that is no format.
    UnknownFormat(String),
    /// `file.csv:option` with something else than `skip=N`.
    Option(String),
    /// An option where a result is to be written.
    WriteOption(String),
    /// More lines are to be left out than there are.
    SkippedAll(usize),
    /// A format that cannot hold values of this type.
    Unsuitable(Format, Ty),

    /// Not JSON.
    Syntax {
        /// What the reader says.
        message: String,
        /// The word or sign at the place.
        found: String,
    },
    /// Nested too deeply.
    TooDeep(usize),
    /// Something else was wanted at this place in the value.
    Mismatch(Vec<Step>, Ty, Found),
    /// So many components were wanted, and so many found.
    Components(Vec<Step>, Ty, usize, usize),
    /// A record without these fields.
    MissingFields(Vec<Step>, Ty, Vec<Name>),
    /// A record with a field too many; the fields that it has by its type.
    UnknownField(Vec<Step>, String, Vec<Name>),
    /// A field given twice.
    RepeatedField(Vec<Step>, String),
    /// No constructor of this type.
    UnknownConstructor(Vec<Step>, Ty, String),
    /// Rows of different length in an array: that of the first, and this one's.
    Ragged(Vec<Step>, usize, usize),

    /// A CSV column that the type wants is not there; those that are.
    MissingColumn(Name, Ty, Vec<String>),
    /// A CSV column that the type wants is there twice.
    RepeatedColumn(String),
    /// A CSV line with another number of fields: wanted and found; whether a header says how many.
    Cells(usize, usize, bool),
    /// A line of one field that has no such separator, but this other one.
    Separator(char, char),
    /// Carriage returns that are no part of a line break.
    CarriageReturns,
    /// A quote that is not closed; the cell that it opens.
    OpenQuote(CsvColumn),
    /// Text behind the quote that closes this cell.
    AfterQuote(CsvColumn, String),
    /// A CSV cell that is not of its type.
    Cell(CsvColumn, Ty, String),
    /// A CSV cell that is empty or marked as missing, and the mark.
    MissingCell(CsvColumn, Ty, String),
    /// A CSV cell that is not UTF-8.
    CellNotUtf8(CsvColumn),

    /// Not an NPY file, or not a sound one.
    BadNpy(String),
    /// The shape in the file, against a type of this rank.
    Rank(Vec<u64>, usize),
    /// The dtype in the file, against elements of this type.
    Dtype(String, Ty),
    /// The number at this position is beyond Int.
    BeyondInt(usize, u64),
    /// Not an NPZ file.
    BadNpz(String),
    /// No such array in an NPZ file; those that are.
    NoMember(String, Vec<String>),
    /// No such arrays in an NPZ file for the fields of a record; those that are.
    MissingMembers(Vec<Name>, Vec<String>),
    /// Several arrays in an NPZ file, and none with the field's name.
    ManyMembers(Vec<String>),
}

impl DataError {
    /// Whether the name of the place is wrong as it is written, whatever lies there.
    pub fn is_usage(&self) -> bool {
        matches!(
            self.problem,
            Problem::NoFormat(_)
                | Problem::UnknownFormat(_)
                | Problem::Option(_)
                | Problem::WriteOption(_)
        )
    }

    /// The error in reading a field.
    pub(super) fn reading(
        field: &Field<'_>,
        source: Source,
        at: Option<Position>,
        problem: Problem,
    ) -> Box<Self> {
        let declared = Declared {
            name: field.name.into(),
            ty: field.ty.clone(),
            written: field.written.map(str::to_string),
        };
        Box::new(DataError { field: Some(declared), source, at, problem })
    }
}
