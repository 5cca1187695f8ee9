//! The messages of data errors; `advice.rs` has what they advise.

use super::error::{
    ColumnLengths, Content, CsvColumn, Damage, DataError, DataSource, JsonPiece, PathStep,
    Position, Problem,
};
use super::options;
use super::read::MISSING;
use super::show_type;
use diffeo_base::{field_name, is_invisible, Diagnostic, Help, Span};
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
        diagnostic.help = self.help(datas).map(Help::from);
        let about_cell = matches!(self.problem, Problem::Cell(_) | Problem::MissingCell(..));
        if about_cell && self.has("na") {
            let texts: Vec<String> = MISSING.iter().map(|text| format!("`{text}`")).collect();
            diagnostic = diagnostic.note(format!(
                "missing are an empty cell, {} and what `:na=…` after the name of the file lists",
                texts.join(", ")
            ));
        }
        diagnostic
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
            Problem::Utf32 => "the text is UTF-32, which is not read".to_string(),
            Problem::NotUtf16 => {
                "the text is malformed UTF-16: half of a character stands on this line".to_string()
            }
            Problem::Zeros(false) => "the text seems to be UTF-16".to_string(),
            Problem::Zeros(true) => "the text seems to be UTF-32, which is not read".to_string(),
            Problem::NoText(content) => format!("this is {}", content.words()),
            Problem::Empty => "there is nothing in it".to_string(),
            Problem::NoHeader => "there is nothing in it, not even a header".to_string(),
            Problem::UnknownFormat(word) => format!("`{}` is no format", short(word)),
            Problem::NoInterval(text) => format!("`{}` is no interval", short(text)),
            Problem::NoFormat(name) => format!("the name `{}` tells no format", short(name)),
            Problem::Option(option, format) => {
                format!("`:{}` is no option of {}", short(option), format.info().article)
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
                let (article, why) = (format.info().article, format.why_not(t, datas));
                format!("{article} cannot hold a value of type `{}`: {why}", ty(t))
            }
            Problem::Lengths(ColumnLengths { first: (first, length), other: (other, found), .. }) => {
                format!(
                    "the columns of a table have the same length, but `{first}` has {length} and `{other}` has {found}"
                )
            }
            Problem::ReadOnly(format) => {
                format!("{} can be read, but not written", format.info().article)
            }
            Problem::Without(format) => {
                format!("this diffeo was built without what reads {}", format.info().article)
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
            Problem::MixedBreaks => {
                "the file has two kinds of line breaks: some are a carriage return alone".to_string()
            }
            Problem::OpenQuote(column) => {
                format!("the quote that opens {} is not closed", column.text())
            }
            Problem::AfterQuote(column, text) => {
                format!("{} goes on with `{}` behind its closing quote", column.text(), short(text))
            }
            Problem::Cell(cell) => {
                format!(
                    "{} must be of type `{}`, found `{}`",
                    cell.column.text(),
                    ty(&cell.ty),
                    short(&cell.text)
                )
            }
            Problem::NoTime(column, wanted, day) => format!(
                "{} must be of type `{}`, but is {}, which is no date of Excel",
                column.text(),
                ty(wanted),
                short(day)
            ),
            Problem::MissingCell(column, wanted, mark, _) => format!(
                "{} must be of type `{}`, but {}",
                column.text(),
                ty(wanted),
                match &mark[..] {
                    "" => "it is empty".to_string(),
                    mark => format!("it is `{mark}`, a missing value"),
                }
            ),
            Problem::CellNotUtf8(column, _) => format!("{} is not UTF-8", column.text()),
            Problem::BadFile(format, Damage::IsNone(content)) => {
                format!("this is not {}, but {}", format.info().article, content.words())
            }
            Problem::BadFile(format, Damage::Broken(what)) => {
                format!("this {} file cannot be read: {what}", format.name())
            }
            Problem::BadFile(format, Damage::NotRead(what, _)) => {
                format!("this {} file cannot be read: {what}", format.name())
            }
            Problem::NoSheet(Some(name), sheets) => {
                format!("there is no sheet `{}`; {}", short(name), listed("there are", sheets))
            }
            Problem::NoSheet(None, _) => "the workbook has no sheet".to_string(),
            Problem::HiddenSheet(sheet, _) => {
                format!("the first sheet, `{}`, is hidden", short(sheet))
            }
            Problem::ColumnType(column, wanted, found) => format!(
                "{} must be of type `{}`, but holds {}",
                column.text(),
                ty(wanted),
                short(found)
            ),
            Problem::BadNpy(reason) => format!("this NPY file cannot be read: {reason}"),
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
}

impl Content {
    fn words(self) -> &'static str {
        match self {
            Content::Zip => "a ZIP archive, as .xlsx and .npz files are",
            Content::OldExcel => "a file of Excel before 2007, or one with a password",
            Content::Html => "a page of the web",
            Content::Of(format) => format.info().article,
            Content::Text => "text",
            Content::Other => "something else",
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

/// `lead a, b, c`, the first of many.
pub(super) fn listed<T: std::ops::Deref<Target = str>>(lead: &str, names: &[T]) -> String {
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
pub(super) fn in_json(found: &str) -> Option<&'static str> {
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

fn separators(separator: char) -> &'static str {
    match separator {
        '\t' => "tabs",
        ';' => "semicolons",
        '|' => "bars",
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

fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// A text of the user's, on one line and of bounded length.
pub(super) fn short(text: &str) -> String {
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
