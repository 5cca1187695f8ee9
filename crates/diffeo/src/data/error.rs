//! What can be wrong with data files and `--arg` texts, as data, and the messages made from it.
//!
//! A [`DataError`] knows the field being read, its type, the file and the place in it; types stay
//! types until a message is made.

use super::shown::show_type;
use super::{Field, Format};
use diffeo_base::{closest, Diagnostic, Name, Span};
use diffeo_calculus::ty::{DataDecl, Ty};
use std::fmt::Write;
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
    /// The text is not UTF-8.
    NotUtf8,
    /// There is nothing in it.
    Empty,
    /// `file.csv:option` with something else than `skip=N`.
    Option(String),
    /// More lines are to be left out than there are.
    SkippedAll(usize),
    /// A format that cannot hold values of this type.
    Unsuitable(Format, Ty),

    /// Not JSON.
    Syntax(String),
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
    /// A CSV line that looks as if it used this separator.
    Separator(char),
    /// A CSV cell that is not of its type.
    Cell(CsvColumn, Ty, String),
    /// An empty CSV cell.
    MissingCell(CsvColumn, Ty),
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
    /// Several arrays in an NPZ file, and none with the field's name.
    ManyMembers(Vec<String>),
}

impl DataError {
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

    /// The message; the variant types are those of the program.
    pub fn to_diagnostic(&self, datas: &[DataDecl]) -> Diagnostic {
        let mut message = String::new();
        let name = match &self.field {
            Some(field) => {
                let ty = match &field.written {
                    Some(text) => text.clone(),
                    None => show_type(&field.ty, datas),
                };
                let _ = write!(message, "cannot read `{}: {ty}` from ", field.name);
                field.name.as_str()
            }
            None => {
                message.push_str("cannot write ");
                "result"
            }
        };
        message.push_str(&self.place());
        message.push_str(": ");
        message.push_str(&self.problem.text(name, datas));
        let mut diagnostic = Diagnostic::error("data", Span::NONE, message);
        diagnostic.help = self.help(datas);
        diagnostic
    }

    fn help(&self, datas: &[DataDecl]) -> Option<String> {
        match (&self.problem, &self.source, self.at) {
            (Problem::Syntax(_), Source::File(_) | Source::Member(..), _) => None,
            (
                Problem::Cell(CsvColumn { name: None, .. }, ..) | Problem::Cells(..),
                Source::File(path),
                Some(Position { line: 1, .. }),
            ) => Some(format!(
                "if this line is none of the data, leave it out with `{}:skip=1`",
                path.display()
            )),
            (problem, _, _) => problem.help(datas),
        }
    }

    fn place(&self) -> String {
        let (mut place, in_file) = match &self.source {
            Source::Text => ("the argument's text".to_string(), false),
            Source::File(path) => (path.display().to_string(), true),
            Source::Member(path, member) => (format!("{}:{member}", path.display()), true),
        };
        match self.at {
            None => {}
            Some(Position { line, column: 0 }) => {
                let _ = write!(place, ":{line}");
            }
            Some(Position { line, column }) if in_file => {
                let _ = write!(place, ":{line}:{column}");
            }
            Some(Position { line: 1, column }) => {
                let _ = write!(place, ", column {column}");
            }
            Some(Position { line, column }) => {
                let _ = write!(place, ", line {line}, column {column}");
            }
        }
        place
    }
}

impl Problem {
    fn text(&self, field: &str, datas: &[DataDecl]) -> String {
        let at = |path: &[Step]| at_path(field, path);
        let ty = |ty: &Ty| show_type(ty, datas);
        match self {
            Problem::Unreadable(reason) | Problem::Unwritable(reason) => reason.clone(),
            Problem::NotUtf8 => "the text is not UTF-8".to_string(),
            Problem::Empty => "there is nothing in it".to_string(),
            Problem::Option(option) => format!("`:{}` is no option of a CSV file", short(option)),
            Problem::SkippedAll(lines) => {
                format!("`skip={lines}` leaves no line of it")
            }
            Problem::Unsuitable(format, t) => {
                format!("{} cannot hold a value of type `{}`", format.article(), ty(t))
            }
            Problem::Syntax(message) => format!("this is not JSON: {message}"),
            Problem::TooDeep(limit) => format!("the data is nested more than {limit} levels deep"),
            Problem::Mismatch(path, wanted, found) => {
                format!("{}expected `{}`, found {}", at(path), ty(wanted), found.text())
            }
            Problem::Components(path, wanted, n, found) => format!(
                "{}expected the {n} components of `{}`, found {}",
                at(path),
                ty(wanted),
                count(*found, "element")
            ),
            Problem::MissingFields(path, wanted, names) => {
                format!(
                    "{}{} of `{}` {} missing",
                    at(path),
                    listed(if names.len() == 1 { "field" } else { "fields" }, names),
                    ty(wanted),
                    if names.len() == 1 { "is" } else { "are" }
                )
            }
            Problem::UnknownField(path, name, fields) => {
                let fields = listed("the fields are", fields);
                format!("{}there is no field `{}`; {fields}", at(path), short(name))
            }
            Problem::RepeatedField(path, name) => {
                format!("{}`{}` is given twice", at(path), short(name))
            }
            Problem::UnknownConstructor(path, wanted, name) => {
                format!("{}`{}` is no constructor of `{}`", at(path), short(name), ty(wanted))
            }
            Problem::Ragged(path, first, found) => format!(
                "{}the rows of an array have the same length, but this one has {} and the first has {first}",
                at(path),
                count(*found, "element"),
            ),
            Problem::MissingColumn(name, wanted, _) => {
                format!("the header has no column `{name}` (of type `{}`)", ty(wanted))
            }
            Problem::RepeatedColumn(name) => {
                format!("the header has the column `{}` twice", short(name))
            }
            Problem::Cells(wanted, found, header) => format!(
                "expected {} {}, found {found}",
                count(*wanted, "field"),
                if *header { "as in the header" } else { "on the line" }
            ),
            Problem::Separator(separator) => {
                let separator = if *separator == '\t' { "tabs" } else { "semicolons" };
                format!("the line has one field; it seems to be separated by {separator}")
            }
            Problem::Cell(column, wanted, cell) => {
                format!("{} must be of type `{}`, found `{}`", column.text(), ty(wanted), short(cell))
            }
            Problem::MissingCell(column, wanted) => {
                format!("{} must be of type `{}`, but it is empty", column.text(), ty(wanted))
            }
            Problem::CellNotUtf8(column) => format!("{} is not UTF-8", column.text()),
            Problem::BadNpy(reason) => format!("this is not a sound NPY file: {reason}"),
            Problem::Rank(shape, rank) => {
                let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
                let shape = match dims.len() {
                    0 => "is a single number".to_string(),
                    1 => format!("has one dimension of {}", dims[0]),
                    n => format!("has the shape {} ({n} dimensions)", dims.join("×")),
                };
                format!("the array {shape}, the type has {}", count(*rank, "dimension"))
            }
            Problem::Dtype(dtype, wanted) => {
                format!("the elements have the dtype `{}`, the type wants `{}`", short(dtype), ty(wanted))
            }
            Problem::BeyondInt(position, value) => {
                format!("element {position} is {value}, beyond the largest Int, {}", i64::MAX)
            }
            Problem::BadNpz(reason) => format!("this is not a sound NPZ file: {reason}"),
            Problem::NoMember(name, members) => {
                format!("there is no array `{}`; {}", short(name), listed("there is", members))
            }
            Problem::ManyMembers(members) => {
                format!("which array? {}", listed("there are", members))
            }
        }
    }

    fn help(&self, datas: &[DataDecl]) -> Option<String> {
        match self {
            Problem::Option(_) => {
                Some("`table.csv:skip=1` leaves out the first line of a CSV file".to_string())
            }
            Problem::Unsuitable(format, ty) => Some(format.what_fits(ty)),
            Problem::Syntax(_) => Some(
                "an argument is JSON, or the name of a file that ends in .json, .npy, .npz or .csv"
                    .to_string(),
            ),
            Problem::Mismatch(_, Ty::Int, Found::Number(_)) => {
                Some(format!("an Int is a whole number from {} to {}", i64::MIN, i64::MAX))
            }
            Problem::Mismatch(_, Ty::Real, Found::String(_)) => Some(
                "the only strings that are Reals are \"nan\", \"inf\" and \"-inf\"".to_string(),
            ),
            Problem::Mismatch(_, Ty::Data(id, _), _) => {
                let decl = datas.get(id.0 as usize)?;
                if super::is_list(decl) {
                    return Some("a list is written as a JSON array".to_string());
                }
                let constructors: Vec<String> =
                    decl.constructors.iter().map(constructor_json).collect();
                Some(format!("it is written as {}", constructors.join(" or ")))
            }
            Problem::UnknownField(_, name, fields) => {
                suggest(name, fields.iter().map(Name::as_str))
            }
            Problem::UnknownConstructor(_, Ty::Data(id, _), name) => {
                let decl = datas.get(id.0 as usize)?;
                let names = || decl.constructors.iter().map(|c| c.name.as_str());
                suggest(name, names())
                    .or_else(|| Some(listed("the constructors are", &names().collect::<Vec<_>>())))
            }
            Problem::MissingColumn(name, _, columns) => {
                suggest(name, columns.iter().map(String::as_str))
                    .or_else(|| Some(listed("the columns are", columns)))
            }
            Problem::NoMember(name, members) => suggest(name, members.iter().map(String::as_str)),
            Problem::ManyMembers(members) => {
                members.first().map(|m| format!("name one, as in `file.npz:{}`", short(m)))
            }
            Problem::MissingCell(..) => {
                Some("a column with missing values has a type like `Maybe[Real]`".to_string())
            }
            Problem::Separator(_) => {
                Some("the fields of a CSV file are separated by commas".to_string())
            }
            Problem::Dtype(_, ty) => match ty {
                Ty::Int => Some("convert it with `.astype('int64')`".to_string()),
                Ty::Real => Some("convert it with `.astype('float64')`".to_string()),
                Ty::Bool => Some("convert it with `.astype(bool)`".to_string()),
                Ty::String
                | Ty::Unit
                | Ty::Tuple(_)
                | Ty::Record(_)
                | Ty::Array(_)
                | Ty::Data(..)
                | Ty::Fun(_)
                | Ty::Param(_) => None,
            },
            Problem::Unreadable(_)
            | Problem::Unwritable(_)
            | Problem::NotUtf8
            | Problem::Empty
            | Problem::SkippedAll(_)
            | Problem::TooDeep(_)
            | Problem::Mismatch(..)
            | Problem::Components(..)
            | Problem::MissingFields(..)
            | Problem::RepeatedField(..)
            | Problem::UnknownConstructor(..)
            | Problem::Ragged(..)
            | Problem::RepeatedColumn(_)
            | Problem::Cells(..)
            | Problem::Cell(..)
            | Problem::CellNotUtf8(_)
            | Problem::BadNpy(_)
            | Problem::Rank(..)
            | Problem::BeyondInt(..)
            | Problem::BadNpz(_) => None,
        }
    }
}

impl Found {
    fn text(&self) -> String {
        match self {
            Found::Null => "null".to_string(),
            Found::Bool(b) => b.to_string(),
            Found::Number(n) => format!("the number {}", short(n)),
            Found::String(s) => format!("the string \"{}\"", short(s)),
            Found::Array => "an array".to_string(),
            Found::Object => "an object".to_string(),
        }
    }
}

impl CsvColumn {
    fn text(&self) -> String {
        match &self.name {
            Some(name) => format!("column {} (`{}`)", self.number, short(name)),
            None => format!("column {}", self.number),
        }
    }
}

/// `at table[3].x, ` or nothing for the value itself.
fn at_path(field: &str, path: &[Step]) -> String {
    if path.is_empty() {
        return String::new();
    }
    let mut text = format!("at `{field}");
    // The innermost steps of a deep path say the most.
    let shown = &path[path.len().saturating_sub(12)..];
    if shown.len() < path.len() {
        text.push('…');
    }
    for step in shown {
        let _ = match step {
            Step::Field(name) => write!(text, ".{name}"),
            Step::Component(i) => write!(text, ".{i}"),
            Step::Index(i) => write!(text, "[{i}]"),
            Step::Constructor(name) => write!(text, ".{name}"),
        };
    }
    text.push_str("`, ");
    text
}

fn constructor_json(constructor: &diffeo_calculus::ty::ConstructorDecl) -> String {
    let payload = match constructor.fields.len() {
        0 => "null",
        1 => "…",
        _ => "[…]",
    };
    format!("{{\"{}\": {payload}}}", constructor.name)
}

fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(name, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// `lead a, b, c`, the first of many.
fn listed<T: std::ops::Deref<Target = str>>(lead: &str, names: &[T]) -> String {
    const MANY: usize = 20;
    if names.is_empty() {
        return format!("{lead} none");
    }
    let mut text = format!("{lead} ");
    for (i, name) in names.iter().take(MANY).enumerate() {
        let _ = write!(text, "{}`{}`", if i == 0 { "" } else { ", " }, short(name));
    }
    if names.len() > MANY {
        let _ = write!(text, " and {} more", names.len() - MANY);
    }
    text
}

fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// A text of the user's, on one line and of bounded length.
fn short(text: &str) -> String {
    const LENGTH: usize = 60;
    let mut out: String =
        text.chars().take(LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LENGTH).is_some() {
        out.push('…');
    }
    out
}
