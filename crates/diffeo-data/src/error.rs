//! What can be wrong with data files and `--arg` texts, as data.
//!
//! A [`DataError`] knows the field being read, its type, the file and the place in it; types stay
//! types until `message.rs` makes a message of it.

use super::{Field, Format};
use diffeo_base::Name;
use diffeo_calculus::ty::Ty;
use std::path::PathBuf;
use zip::result::ZipError;

/// A failed reading or writing.
#[derive(Clone, PartialEq, Debug)]
pub struct DataError {
    /// What was being read: the field and its type; nothing when a result was being written.
    pub field: Option<Declared>,
    /// The field of the result that was being written, as `--out` names it; the empty text for the whole result.
    pub part: String,
    /// Where from, or where to.
    pub source: DataSource,
    /// The format there, and the options that stand behind the name.
    pub given: Given,
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

/// The format and the options given for a data file.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Given {
    /// How it is written.
    pub format: Option<Format>,
    /// The options, as they stand behind the name.
    pub options: Vec<String>,
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

/// Columns of different lengths, which are no table.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnLengths {
    /// The format of the table.
    pub format: Format,
    /// The first column and its length.
    pub first: (Name, usize),
    /// The first one of another length.
    pub other: (Name, usize),
    /// All hold numbers, so that an NPZ file holds them.
    pub numbers: bool,
}

/// A cell that is not of its type.
#[derive(Clone, PartialEq, Debug)]
pub struct BadCell {
    /// Its column.
    pub column: CsvColumn,
    /// The type.
    pub ty: Ty,
    /// What it holds.
    pub text: String,
    /// The options with which it would be a number: each a way of its own.
    pub ways: Vec<Vec<(&'static str, &'static str)>>,
    /// The row in which it stands.
    pub row: Row,
}

/// A row of a table that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Row {
    /// How many rows stand above.
    pub above: usize,
    /// Whether a line with names stands above them.
    pub header: bool,
    /// Whether another cell of the row has digits.
    pub numbers: bool,
    /// Whether it begins with a word for a sum, a mean or the like.
    pub total: bool,
    /// Whether all its cells are empty.
    pub empty: bool,
    /// Whether its last cell is empty.
    pub open: bool,
    /// Whether it may have any number of cells.
    pub free: bool,
}

/// What a file seems to be, by how it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// A ZIP archive, as `.xlsx` and `.npz` files are.
    Zip,
    /// A file of Excel before 2007, or an Excel file with a password.
    OldExcel,
    /// A page of the web.
    Html,
    /// A file of this format.
    Of(Format),
    /// Text.
    Text,
    /// Something else.
    Other,
}

/// The error in a binary file: ZIP, Excel, Parquet, Arrow, NumPy.
#[derive(Clone, PartialEq, Debug)]
pub enum Damage {
    /// It is something else.
    IsNone(Content),
    /// It ends too early or bytes of it have changed; where, in words.
    Broken(String),
    /// It has what is not read here, and what to do instead.
    NotRead(String, &'static str),
}

impl Damage {
    /// It is broken; nothing says where.
    pub(super) fn broken() -> Damage {
        Damage::Broken("it is damaged or cut off".to_string())
    }

    /// What is wrong with a ZIP archive.
    pub(super) fn of_zip(error: &ZipError) -> Damage {
        match error {
            ZipError::InvalidPassword => {
                Damage::NotRead("it is encrypted".to_string(), "save it without a password")
            }
            ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
                Damage::NotRead("it is encrypted".to_string(), "save it without a password")
            }
            ZipError::CompressionMethodNotSupported(method) => Damage::NotRead(
                format!(
                    "its ZIP archive is compressed by the method {method}, which is not read here"
                ),
                "save it anew: Excel and NumPy use the method 8",
            ),
            ZipError::FileNotFound => Damage::Broken("a part of it is missing".to_string()),
            _ => Damage::Broken("its ZIP archive is damaged or cut off".to_string()),
        }
    }
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
    /// The text is UTF-32.
    Utf32,
    /// The text is UTF-16 up to here.
    NotUtf16,
    /// The text seems to be UTF-16, or UTF-32 where this is true: it is full of zeros.
    Zeros(bool),
    /// Not a text, but this.
    NoText(Content),
    /// There is nothing in it.
    Empty,
    /// A table of records without its header.
    NoHeader,
    /// The name of a file, or `-`, that does not tell the format.
    NoFormat(String),
    /// A text that stands for an interval, but not for one with numbers in it.
    NoInterval(String),
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
    /// Columns of different lengths.
    Lengths(ColumnLengths),
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
        /// The row.
        row: Row,
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
    /// A line feed or a carriage return that is no line break, where the other is.
    MixedBreaks,
    /// A quote that is not closed; the cell that it opens.
    OpenQuote(CsvColumn),
    /// Text behind the quote that closes this cell.
    AfterQuote(CsvColumn, String),
    /// A cell that is not of its type.
    Cell(Box<BadCell>),
    /// A cell that is empty or marked as missing, and the mark.
    MissingCell(CsvColumn, Ty, String, Row),
    /// A cell that an Excel file marks as a time, and its count of days, which is none.
    NoTime(CsvColumn, Ty, String),
    /// A CSV cell that is not UTF-8, and whether the file has the mark of UTF-8.
    CellNotUtf8(CsvColumn, bool),

    /// Not a sound file of this format.
    BadFile(Format, Damage),
    /// A workbook without this sheet; those that it has.
    NoSheet(Option<String>, Vec<String>),
    /// A workbook whose first sheet is hidden, and the first that is not.
    HiddenSheet(String, Option<String>),
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
        given: Given,
        at: Option<Position>,
        problem: Problem,
    ) -> Box<Self> {
        let declared = Declared {
            name: field.name.into(),
            ty: field.ty.clone(),
            written: field.written.map(str::to_string),
        };
        let part = String::new();
        Box::new(DataError { field: Some(declared), part, source, given, at, problem })
    }
}
