//! The messages of data errors.

use super::error::{CsvColumn, DataError, DataSource, JsonPiece, PathStep, Position, Problem};
use super::options;
use super::read::MISSING;
use super::shape::is_list;
use super::show_type;
use super::Format;
use diffeo_base::{closest, field_name, is_invisible, Diagnostic, Span};
use diffeo_calculus::ty::{DataDecl, Ty};
use std::fmt::Write;

impl DataError {
    /// The message; the variant types are those of the program.
    pub fn to_diagnostic(&self, datas: &[DataDecl]) -> Diagnostic {
        let mut message = String::new();
        let name = match &self.field {
            Some(field) => {
                let ty = match &field.written {
                    Some(text) => text.clone(),
                    None => show_type(&field.ty, datas),
                };
                // An option of the command line is no field.
                let option = field.name.starts_with("--");
                let name =
                    if option { field.name.as_str().into() } else { field_name(&field.name) };
                let _ = write!(message, "cannot read `{name}: {ty}` from ");
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
        let may_be_missing = match &self.problem {
            Problem::Cell(_, _, cell, _) => !cell.bytes().any(|b| b.is_ascii_digit()),
            problem => matches!(problem, Problem::MissingCell(..)),
        };
        if may_be_missing {
            let texts: Vec<String> = MISSING.iter().map(|text| format!("`{text}`")).collect();
            diagnostic = diagnostic.note(format!(
                "missing are an empty cell, {} and what `:na=…` after the name of the file lists",
                texts.join(", ")
            ));
        }
        diagnostic
    }

    fn help(&self, datas: &[DataDecl]) -> Option<String> {
        match (&self.problem, &self.source, self.at) {
            (
                Problem::Syntax { found, .. },
                DataSource::File(_) | DataSource::Member(..) | DataSource::StandardInput,
                _,
            ) => in_json(found).map(str::to_string),
            (
                Problem::Cell(CsvColumn { name: None, .. }, _, cell, options),
                DataSource::File(_) | DataSource::StandardInput,
                Some(Position { line: 1, .. }),
            ) if options.is_empty() && mark(cell).is_none() => {
                let place = match &self.source {
                    DataSource::File(path) => path.display().to_string(),
                    _ => "-".to_string(),
                };
                let format = if Format::of(&place).is_some() { "" } else { ":csv" };
                Some(format!(
                    "if this line is none of the data, leave it out with `{place}{format}:skip=1`"
                ))
            }
            (Problem::Cell(_, ty, cell, _), DataSource::File(_) | DataSource::StandardInput, _) => {
                let format = match &self.source {
                    DataSource::File(path) => Format::of(&path.to_string_lossy()),
                    _ => None,
                };
                let is_text = !matches!(format, Some((Format::Parquet | Format::Arrow, _)));
                let date = is_time(cell.trim()).then(|| DATE.to_string());
                let help = || self.problem.help(datas).or_else(|| unread(cell.trim(), ty, datas));
                if is_text {
                    date.or_else(help)
                } else {
                    self.problem.help(datas)
                }
            }
            (problem, _, _) => problem.help(datas),
        }
    }

    fn place(&self) -> String {
        let (mut place, in_file) = match &self.source {
            DataSource::Text => ("the argument's text".to_string(), false),
            DataSource::StandardInput => ("standard input".to_string(), true),
            DataSource::StandardOutput => ("standard output".to_string(), true),
            DataSource::File(path) => (path.display().to_string(), true),
            DataSource::Member(path, member) => (format!("{}:{member}", path.display()), true),
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
        let at = |path: &[PathStep]| at_path(field, path);
        let ty = |ty: &Ty| show_type(ty, datas);
        match self {
            Problem::Unreadable(reason) | Problem::Unwritable(reason) => reason.clone(),
            Problem::Closed => "nobody reads it any more".to_string(),
            Problem::NotUtf8 => "the text is not UTF-8".to_string(),
            Problem::Utf16 => "the text is UTF-16".to_string(),
            Problem::Empty => "there is nothing in it".to_string(),
            Problem::NoHeader => "there is nothing in it, not even a header".to_string(),
            Problem::UnknownFormat(word) => format!("`{}` is no format", short(word)),
            Problem::NoFormat(name) => format!("the name `{}` tells no format", short(name)),
            Problem::Option(option, format) => {
                format!("`:{}` is no option of {}", short(option), format.article())
            }
            Problem::OptionValue(option, value) => {
                format!("`:{option}={}` is no value of the option `{option}`", short(value))
            }
            Problem::RepeatedOption(option) => format!("the option `{option}` is given twice"),
            Problem::SameSign(first, second, sign) => format!(
                "the {} is {} and {} at once",
                options::sign(*sign),
                meaning(first),
                meaning(second)
            ),
            Problem::WriteOption(option) => {
                format!("`:{}` has no meaning for a result", short(option))
            }
            Problem::SkippedAll(lines) => {
                format!("`skip={lines}` leaves no line of it")
            }
            Problem::Unsuitable(format, t) => {
                format!("{} cannot hold a value of type `{}`", format.article(), ty(t))
            }
            Problem::ReadOnly(format) => {
                format!("{} can be read, but not written", format.article())
            }
            Problem::Without(format) => {
                format!("this diffeo was built without what reads {}", format.article())
            }
            Problem::Syntax { message, found } => match in_json(found) {
                Some(_) => format!("this is not JSON: {message}, found `{}`", short(found)),
                None => format!("this is not JSON: {message}"),
            },
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
            Problem::MissingFields(path, wanted, names, _) => {
                format!(
                    "{}{} of `{}` {} missing",
                    at(path),
                    listed(if names.len() == 1 { "field" } else { "fields" }, names),
                    ty(wanted),
                    if names.len() == 1 { "is" } else { "are" }
                )
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
            Problem::AmbiguousColumn(name, first, second) => format!(
                "the columns `{}` and `{}` may both be the field `{name}`",
                short(first),
                short(second)
            ),
            Problem::SharedColumn(column, first, second) => {
                format!("the column `{}` may be the field `{first}` and `{second}`", short(column))
            }
            Problem::NoOrder => {
                "without a header nothing tells which column is which field".to_string()
            }
            Problem::Cells { wanted, found, header, .. } => format!(
                "expected {} {}, found {found}",
                count(*wanted, "field"),
                if *header { "as in the header" } else { "on the line" }
            ),
            Problem::Separator { found, one: true, .. } => {
                format!(
                    "the line has one field; it seems to be separated by {}",
                    separators(*found)
                )
            }
            Problem::Separator { found, one: false, .. } => {
                format!("the line seems to be separated by {}", separators(*found))
            }
            Problem::CarriageReturns => {
                "the line holds carriage returns; lines end with a line feed".to_string()
            }
            Problem::OpenQuote(column) => {
                format!("the quote that opens {} is not closed", column.text())
            }
            Problem::AfterQuote(column, text) => {
                format!("{} goes on with `{}` behind its closing quote", column.text(), short(text))
            }
            Problem::Cell(column, wanted, cell, _) => {
                format!(
                    "{} must be of type `{}`, found `{}`",
                    column.text(),
                    ty(wanted),
                    short(cell)
                )
            }
            Problem::MissingCell(column, wanted, mark) => format!(
                "{} must be of type `{}`, but {}",
                column.text(),
                ty(wanted),
                match &mark[..] {
                    "" => "it is empty".to_string(),
                    mark => format!("it is `{mark}`, a missing value"),
                }
            ),
            Problem::CellNotUtf8(column) => format!("{} is not UTF-8", column.text()),
            Problem::BadFile(format, reason) => {
                format!("this {} file cannot be read: {reason}", format.name())
            }
            Problem::NoSheet(Some(name), sheets) => {
                format!("there is no sheet `{}`; {}", short(name), listed("there are", sheets))
            }
            Problem::NoSheet(None, _) => "the workbook has no sheet".to_string(),
            Problem::ColumnType(column, wanted, found) => format!(
                "{} must be of type `{}`, but holds {}",
                column.text(),
                ty(wanted),
                short(found)
            ),
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
                format!(
                    "the elements have the dtype `{}`, the type wants `{}`",
                    short(dtype),
                    ty(wanted)
                )
            }
            Problem::BeyondInt(position, value) => {
                format!("element {position} is {value}, beyond the largest Int, {}", i64::MAX)
            }
            Problem::BadNpz(reason) => format!("this is not a sound NPZ file: {reason}"),
            Problem::NoMember(name, members) => {
                format!("there is no array `{}`; {}", short(name), listed("there is", members))
            }
            Problem::MissingMembers(names, members) => format!(
                "there is no array {}; {}",
                listed("for the fields", names),
                listed("there is", members)
            ),
            Problem::ManyMembers(members) => {
                format!("which array? {}", listed("there are", members))
            }
        }
    }

    fn help(&self, datas: &[DataDecl]) -> Option<String> {
        match self {
            Problem::Option(_, format) => Some(match &options::names(*format)[..] {
                [] => format!("{} has no options", format.article()),
                names => listed("the options are", names),
            }),
            Problem::OptionValue(option, _) => {
                Some(format!("`{option}` is {}", options::values(option)))
            }
            Problem::RepeatedOption(option) => match *option {
                "na" => Some("several texts are separated by `|`, as in `:na=?|999`".to_string()),
                _ => Some("each option stands once, in any order".to_string()),
            },
            Problem::SameSign(first, second, _) => {
                let one = |option: &&str| format!("`{option}` is {}", options::values(option));
                Some(format!("{}; {}", one(first), one(second)))
            }
            Problem::ReadOnly(_) => Some(
                "results are written to .csv, .tsv, .txt, .json, .npy and .npz files".to_string(),
            ),
            Problem::Without(_) => Some(
                "build it with the feature `binary-tables`, or save the table as a .csv file".to_string(),
            ),
            Problem::Unsuitable(format, ty) => Some(format.what_fits(ty)),
            Problem::Syntax { found, .. } => Some(in_json(found).unwrap_or(
                "an argument is JSON, or the name of a file that ends in .json, .csv, .tsv, .txt, .dat, .xlsx, \
                 .parquet, .arrow, .npy or .npz; `data.log:csv` names the format of another file",
            ).to_string()),
            Problem::NoFormat(name) => {
                Some(format!("write the format after it, as in `{}:csv`", short(name)))
            }
            Problem::Cell(_, _, _, options) if !options.is_empty() => {
                let options: Vec<String> = options.iter().map(|o| format!("`{o}`")).collect();
                Some(format!(
                    "it is a number with {} after the name of the file",
                    options.join(" or ")
                ))
            }
            Problem::Cell(_, _, cell, _) if cell.contains('\0') => Some(
                "the text seems to be UTF-16: write `:encoding=utf-16` after the name of the file".to_string(),
            ),
            Problem::Cell(_, _, cell, _) if cell.contains(is_invisible) => {
                let c = cell.chars().find(|c| is_invisible(*c)).map_or(0, u32::from);
                Some(format!("delete the invisible character U+{c:04X} from it"))
            }
            Problem::Mismatch(_, Ty::Int, JsonPiece::Number(_)) | Problem::Cell(_, Ty::Int, ..) => {
                Some(format!("an Int is a whole number from {} to {}", i64::MIN, i64::MAX))
            }
            Problem::UnknownFormat(_) => {
                Some(format!("the formats are {}", Format::WORDS))
            }
            Problem::Cell(_, Ty::Real, cell, _)
                if cell.trim().parse::<f64>().is_ok_and(f64::is_infinite) =>
            {
                Some(format!("the largest Real is {:e}; infinity is written `inf`", f64::MAX))
            }
            Problem::Mismatch(_, Ty::Real, JsonPiece::String(_)) => Some(
                "the only strings that are Reals are \"nan\", \"inf\" and \"-inf\"".to_string(),
            ),
            Problem::Mismatch(_, Ty::Data(id, _), _) => {
                let decl = datas.get(id.0 as usize)?;
                if is_list(decl) {
                    return Some("a list is written as a JSON array".to_string());
                }
                let constructors: Vec<String> =
                    decl.constructors.iter().map(constructor_json).collect();
                Some(format!("it is written as {}", constructors.join(" or ")))
            }
            Problem::Cell(CsvColumn { number: 1, .. }, _, cell, _) if mark(cell).is_some() => {
                mark(cell).map(comments)
            }
            Problem::Cell(_, Ty::Bool, ..) => {
                Some("a Bool is true, yes, t, y or 1, or false, no, f, n or 0".to_string())
            }
            Problem::Cells { first, .. } if mark(first).is_some() => mark(first).map(comments),
            Problem::Cells { wanted, found: 1, first, above, .. }
                if *wanted > 1 && !first.trim().is_empty() =>
            {
                Some(match above {
                    0 => "if this is a note and no data, `:skip=1` after the name of the file leaves out a line at \
                          the top"
                        .to_string(),
                    n => format!(
                        "if this is a note below the data, `:rows={n}` after the name of the file reads the {} \
                         above it",
                        if *n == 1 { "row".to_string() } else { format!("{n} rows") }
                    ),
                })
            }
            Problem::Cells { .. } => {
                Some("a cell that holds the separator stands in quotes".to_string())
            }
            Problem::MissingFields(_, _, names, further) => names.iter().find_map(|name| {
                let near = closest(name, further.iter().map(String::as_str))?;
                Some(format!("is `{}` meant for `{name}`?", short(near)))
            }),
            Problem::UnknownConstructor(_, Ty::Data(id, _), name) => {
                let decl = datas.get(id.0 as usize)?;
                let names = || decl.constructors.iter().map(|c| c.name.as_str());
                suggest(name, names())
                    .or_else(|| Some(listed("the constructors are", &names().collect::<Vec<_>>())))
            }
            Problem::MissingColumn(name, _, columns) => {
                let near = suggest(name, columns.iter().map(String::as_str));
                let title = if columns.iter().filter(|c| !c.is_empty()).count() > 1 {
                    ""
                } else {
                    "; `:skip=1` after the name of the file leaves out a line above the header"
                };
                near.or_else(|| Some(format!("{}{title}", listed("the columns are", columns))))
            }
            Problem::RepeatedColumn(_) => Some(
                "rename one of them in the file, or read the columns by position: as tuples, with `:header=yes`"
                    .to_string(),
            ),
            Problem::AmbiguousColumn(_, first, _) => Some(format!(
                "name the field as the column: `{{\"{}\": …}}`",
                short(first)
            )),
            Problem::SharedColumn(..) => Some(
                "columns are found by name up to case, blanks and punctuation: give each field its column".to_string(),
            ),
            Problem::NoOrder => Some(
                "annotate the parameter with the type of its records, in the order of the columns".to_string(),
            ),
            Problem::NoSheet(Some(name), sheets) => suggest(name, sheets.iter().map(String::as_str)),
            Problem::NoMember(name, members) => suggest(name, members.iter().map(String::as_str)),
            Problem::ManyMembers(members) => {
                members.first().map(|m| format!("name one, as in `file.npz:{}`", short(m)))
            }
            Problem::MissingCell(_, ty, _) => Some(format!(
                "a column with missing cells has the type `Maybe[{}]`",
                show_type(ty, datas)
            )),
            Problem::Separator { found, commas, .. } => {
                let decimal = if *commas { ":decimal=comma" } else { "" };
                Some(format!(
                    "write `:sep={}{decimal}` after the name of the file",
                    options::sign(*found)
                ))
            }
            Problem::CellNotUtf8(_) => Some(
                "write `:encoding=latin-1` after the name of the file, if that is what it is in".to_string(),
            ),
            Problem::OpenQuote(_) | Problem::AfterQuote(..) => {
                Some("a quote within quotes is written twice: `\"\"`".to_string())
            }
            Problem::Utf16 => Some("save it as UTF-8".to_string()),
            Problem::MissingMembers(names, members) => match &names[..] {
                [name] => suggest(name, members.iter().map(String::as_str)),
                _ => None,
            },
            Problem::Dtype(dtype, _) if other_than_numbers(dtype).is_some() => {
                other_than_numbers(dtype).map(str::to_string)
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
            | Problem::Closed
            | Problem::NotUtf8
            | Problem::WriteOption(_)
            | Problem::CarriageReturns
            | Problem::Empty
            | Problem::NoHeader
            | Problem::SkippedAll(_)
            | Problem::TooDeep(_)
            | Problem::Mismatch(..)
            | Problem::Components(..)
            | Problem::RepeatedField(..)
            | Problem::UnknownConstructor(..)
            | Problem::Ragged(..)
            | Problem::Cell(..)
            | Problem::BadFile(..)
            | Problem::NoSheet(None, _)
            | Problem::ColumnType(..)
            | Problem::BadNpy(_)
            | Problem::Rank(..)
            | Problem::BeyondInt(..)
            | Problem::BadNpz(_) => None,
        }
    }
}

impl JsonPiece {
    fn text(&self) -> String {
        match self {
            JsonPiece::Null => "null".to_string(),
            JsonPiece::Bool(b) => b.to_string(),
            JsonPiece::Number(n) => format!("the number {}", short(n)),
            JsonPiece::String(s) => format!("the string \"{}\"", short(s)),
            JsonPiece::Array => "an array".to_string(),
            JsonPiece::Object => "an object".to_string(),
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
fn at_path(field: &str, path: &[PathStep]) -> String {
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
            PathStep::Field(name) => write!(text, ".{}", field_name(name)),
            PathStep::Component(i) => write!(text, ".{i}"),
            PathStep::Index(i) => write!(text, "[{i}]"),
            PathStep::Constructor(name) => write!(text, ".{name}"),
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

/// What JSON has in the place of what other languages write.
fn in_json(found: &str) -> Option<&'static str> {
    Some(match found.trim_start_matches(['-', '+']).to_ascii_lowercase().as_str() {
        "nan" => "JSON has no NaN: write \"nan\", with the quotation marks",
        "inf" | "infinity" => {
            "JSON has no infinity: write \"inf\" or \"-inf\", with the quotation marks"
        }
        "none" | "nil" | "nothing" | "na" | "undefined" => "a missing value is `null` in JSON",
        "true" | "false" => "JSON writes `true` and `false`",
        "'" => "strings are in double quotation marks in JSON",
        text if text.starts_with('.') => "a number starts with a digit in JSON: `0.5`",
        text if text.ends_with('.') => "a number ends with a digit in JSON: `1.0`",
        _ => return None,
    })
}

/// What to do about an NPY dtype whose elements are no numbers, or two each.
fn other_than_numbers(dtype: &str) -> Option<&'static str> {
    match dtype.trim_start_matches(['<', '>', '|', '=']).chars().next()? {
        'U' | 'S' | 'a' | 'T' => Some("texts are read from CSV or JSON"),
        'c' => Some("save the real and the imaginary part, `a.real` and `a.imag`, as two arrays"),
        '[' | 'V' => Some("save each field, `a['x']`, as an array, for instance in an NPZ file"),
        'O' => Some("save an array of numbers: this one holds Python objects"),
        'M' | 'm' => {
            Some("save times as numbers, for instance `(a - a[0]) / numpy.timedelta64(1, 's')`")
        }
        _ => None,
    }
}

fn separators(separator: char) -> &'static str {
    match separator {
        '\t' => "tabs",
        ';' => "semicolons",
        ' ' => "blanks",
        _ => "commas",
    }
}

/// What a sign is by an option.
fn meaning(option: &str) -> &'static str {
    match option {
        "decimal" => "the decimal sign",
        "thousands" => "the sign between thousands",
        "comment" => "the beginning of a comment",
        _ => "the separator",
    }
}

/// The character that seems to mark a line as a comment.
fn mark(text: &str) -> Option<char> {
    text.trim_start().chars().next().filter(|c| "#%!*;/".contains(*c))
}

fn comments(mark: char) -> String {
    format!(
        "`:comment={mark}` after the name of the file leaves out what follows `{mark}` on a line"
    )
}

fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// A text of the user's, on one line and of bounded length.
fn short(text: &str) -> String {
    const LENGTH: usize = 60;
    let mut out = String::new();
    for c in text.chars().take(LENGTH) {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_invisible(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    if text.chars().nth(LENGTH).is_some() {
        out.push('…');
    }
    out
}

const DATE: &str = "in a table as text, a date or time is a String, of which `time.parse(\"%Y-%m-%d\", text)` makes seconds, in the \
                    form that you say";

/// Whether a cell seems to be a date or a time of day.
fn is_time(cell: &str) -> bool {
    let numbers = |text: &str, signs: &[char]| {
        let parts: Vec<&str> = text.split(signs).collect();
        let short = |part: &&str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
        parts.iter().all(|part| !part.is_empty() && short(part)).then_some(parts.len())
    };
    let day = cell.split(['T', ' ']).next().unwrap_or(cell);
    let signs = ['-', '/', '.'];
    signs.iter().any(|sign| numbers(day, &[*sign]) == Some(3))
        || numbers(cell, &[':']).is_some_and(|parts| parts > 1)
}

/// What to do about a cell that is no number.
fn unread(cell: &str, ty: &Ty, datas: &[DataDecl]) -> Option<String> {
    let may_be_missing = matches!(ty, Ty::Data(..));
    if !may_be_missing && !matches!(ty, Ty::Real | Ty::Int) {
        return None;
    }
    let typographic = |c: char| ('\u{2010}'..='\u{2015}').contains(&c) || c == '\u{2212}';
    if let Some(number) =
        cell.strip_prefix(typographic).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some(format!("a negative number is written `-{}`, with a hyphen", short(number)));
    }
    if cell.bytes().any(|b| b.is_ascii_digit()) {
        return Some(
            "cells that are more than numbers are read as Strings; `text.parse_real` makes a number of a part of one"
                .to_string(),
        );
    }
    let wanted = if may_be_missing {
        String::new()
    } else {
        format!(", and `Maybe[{}]` as the type", show_type(ty, datas))
    };
    let plain = cell.len() <= 20 && !cell.contains(['|', ':']);
    plain.then(|| {
        format!(
            "if it stands for a missing cell, write `:na={cell}` after the name of the file{wanted}"
        )
    })
}
