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
    pub source: DataSource,
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
pub enum DataSource {
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
pub enum PathStep {
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
pub enum JsonPiece {
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

/// A column of a table.
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
    /// `file.csv:option` that files of this format do not have.
    Option(String, Format),
    /// An option with a value that it does not have.
    OptionValue(&'static str, String),
    /// An option that is given twice.
    RepeatedOption(&'static str),
    /// Two options that give one sign two meanings.
    SameSign(&'static str, &'static str, char),
    /// An option where a result is to be written.
    WriteOption(String),
    /// More lines are to be left out than there are.
    SkippedAll(usize),
    /// A format that cannot hold values of this type.
    Unsuitable(Format, Ty),
    /// A format that is read, not written.
    ReadOnly(Format),
    /// A format that this program was built without.
    Without(Format),

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
    Mismatch(Vec<PathStep>, Ty, JsonPiece),
    /// So many components were wanted, and so many found.
    Components(Vec<PathStep>, Ty, usize, usize),
    /// A record without these fields; the further fields that it has.
    MissingFields(Vec<PathStep>, Ty, Vec<Name>, Vec<String>),
    /// A field given twice.
    RepeatedField(Vec<PathStep>, String),
    /// No constructor of this type.
    UnknownConstructor(Vec<PathStep>, Ty, String),
    /// Rows of different length in an array: that of the first, and this one's.
    Ragged(Vec<PathStep>, usize, usize),

    /// A column that the type wants is not there; those that are.
    MissingColumn(Name, Ty, Vec<String>),
    /// A column that the type wants is there twice.
    RepeatedColumn(String),
    /// A field that two columns may be.
    AmbiguousColumn(Name, String, String),
    /// A column that two fields may be.
    SharedColumn(String, Name, Name),
    /// A table without a header, for fields whose order nothing says.
    NoOrder,
    /// A record with another number of cells.
    Cells {
        /// How many there are to be.
        wanted: usize,
        /// How many there are.
        found: usize,
        /// Whether a header says how many.
        header: bool,
        /// The first one.
        first: String,
        /// How many rows stand above.
        above: usize,
    },
    /// Another separator than the table is read with.
    Separator {
        /// It, or a blank for runs of blanks.
        found: char,
        /// Whether the line has one cell without it.
        one: bool,
        /// Whether commas in the line seem to be decimal signs.
        commas: bool,
    },
    /// Carriage returns that are no part of a line break.
    CarriageReturns,
    /// A quote that is not closed; the cell that it opens.
    OpenQuote(CsvColumn),
    /// Text behind the quote that closes this cell.
    AfterQuote(CsvColumn, String),
    /// A cell that is not of its type, and the options with which it would be.
    Cell(CsvColumn, Ty, String, Vec<String>),
    /// A cell that is empty or marked as missing, and the mark.
    MissingCell(CsvColumn, Ty, String),
    /// A CSV cell that is not UTF-8.
    CellNotUtf8(CsvColumn),

    /// Not a sound file of this format.
    BadFile(Format, String),
    /// A workbook without this sheet; those that it has.
    NoSheet(Option<String>, Vec<String>),
    /// A column of values that are not read into this type.
    ColumnType(CsvColumn, Ty, String),
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
                | Problem::Option(..)
                | Problem::OptionValue(..)
                | Problem::RepeatedOption(_)
                | Problem::SameSign(..)
                | Problem::WriteOption(_)
                | Problem::ReadOnly(_)
        )
    }

    /// The error in reading a field.
    pub(super) fn reading(
        field: &Field<'_>,
        source: DataSource,
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
