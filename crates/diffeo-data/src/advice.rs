//! What messages advise: another option, another type, what to do with the file. A place that is named can be taken as it
//! stands, options that were given included, and leads on.

use super::error::{BadCell, Content, Damage, DataError, DataSource, JsonPiece, Problem, Row};
use super::message::{in_json, listed, short};
use super::misfit::lengths_help;
use super::options;
use super::show_type;
use super::Format;
use diffeo_base::{closest, is_invisible};
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown};

impl DataError {
    /// Whether a file of this format has an option.
    pub(super) fn has(&self, option: &str) -> bool {
        self.given.format.is_some_and(|format| options::names(format).contains(&option))
    }

    /// The name of the file, without options.
    fn file(&self) -> String {
        match &self.source {
            DataSource::File(path) | DataSource::Member(path, _) => path.display().to_string(),
            DataSource::Text | DataSource::StandardInput | DataSource::StandardOutput => {
                "-".to_string()
            }
        }
    }

    /// The place with these options, as it is to be written in the place of what was: those that were given remain.
    fn with(&self, changes: &[(&str, &str)]) -> String {
        let mut place = self.file();
        let named = Format::of(&place).map(|(format, _)| format);
        if let Some(format) = self.given.format.filter(|format| named != Some(*format)) {
            place += &format!(":{}", format.word());
        }
        let mut options = self.given.options.clone();
        for (name, value) in changes {
            let is_it = |option: &&mut String| {
                option.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
            };
            match options.iter_mut().find(is_it) {
                // Texts for what is missing come to those that there are.
                Some(option) if *name == "na" => *option += &format!("|{value}"),
                Some(option) => *option = format!("{name}={value}"),
                None => options.push(format!("{name}={value}")),
            }
        }
        for option in options {
            place += &format!(":{option}");
        }
        quoted(&place)
    }

    /// The text before the name of a field in `--out`.
    fn within(&self) -> String {
        match self.part.as_str() {
            "" => String::new(),
            part => format!("{part}."),
        }
    }

    pub(super) fn help(&self, datas: &[DataDecl]) -> Option<String> {
        let line = self.at.map_or(1, |at| at.line).to_string();
        match &self.problem {
            Problem::Syntax { found, .. } if self.source != DataSource::Text => {
                in_json(found).map(str::to_string)
            }
            Problem::Unsuitable(format, ty) => {
                let within = self.field.is_none().then(|| self.within());
                Some(format.what_fits(ty, datas, within.as_deref()))
            }
            Problem::Lengths(lengths) => Some(lengths_help(lengths, &self.within())),
            Problem::Cell(cell) => self.bad_cell(cell, datas),
            Problem::MissingCell(column, ty, _, row) => {
                if row.above > 0 && (row.total || row.empty) {
                    return self.rows_above(row, row.empty);
                }
                let first = column.number == 1 && row.above > 0 && self.has("rows");
                let wanted = format!(
                    "a column with missing cells has the type `Maybe[{}]`",
                    show_type(ty, datas)
                );
                match self.rows_above(row, false).filter(|_| first && !row.numbers) {
                    Some(rows) => Some(format!("{wanted}; {rows}")),
                    None => Some(wanted),
                }
            }
            Problem::Cells { wanted, found, header, first, row } => {
                self.number_of_cells(*wanted, *found, *header, first, row)
            }
            Problem::MissingColumn(name, _, columns) => {
                let near = suggest(name, columns.iter().map(String::as_str));
                let names = columns.iter().filter(|c| !c.is_empty()).count();
                let is_number =
                    |c: &String| c.bytes().any(|b| b.is_ascii_digit()) && c.parse::<f64>().is_ok();
                near.or_else(|| {
                    let list = listed("the columns are", columns);
                    Some(if self.has("header") && names > 0 && columns.iter().all(is_number) {
                        format!(
                            "the first line has no names: read the columns by position, as tuples, or by `{}` in the \
                             order of the declared type",
                            self.with(&[("header", "no")])
                        )
                    } else if self.has("skip") && names <= 1 {
                        format!(
                            "{list}; if this line stands above the header, leave it out with `{}`",
                            self.with(&[("skip", &line)])
                        )
                    } else {
                        list
                    })
                })
            }
            Problem::RepeatedColumn(_) => Some(if self.has("header") {
                format!(
                    "rename one of them in the file, or read the columns by position: as tuples, with `{}`",
                    self.with(&[("header", "yes")])
                )
            } else {
                "read the columns by position, as tuples, or rename one of them in the file".to_string()
            }),
            Problem::Separator { found, commas, .. } => {
                let sign = options::sign(*found);
                let mut changes = vec![("sep", sign.as_str())];
                if *commas {
                    changes.push(("decimal", "comma"));
                }
                Some(format!("write `{}`", self.with(&changes)))
            }
            Problem::CellNotUtf8(_, false) => Some(format!(
                "write `{}`, if that is what it is in",
                self.with(&[("encoding", "latin-1")])
            )),
            Problem::Zeros(false) => Some(format!("write `{}`", self.with(&[("encoding", "utf-16")]))),
            Problem::SameSign("sep", "decimal", ',') => Some(format!(
                "name the separator: `{}` for `1,5;2,5`; `{}` where numbers with commas stand in quotes",
                self.with(&[("sep", "semicolon")]),
                self.with(&[("sep", "comma")])
            )),
            Problem::HiddenSheet(hidden, shown) => {
                let of = |sheet: &String| self.with(&[("sheet", sheet)]);
                let it = format!("`{}` for it", of(hidden));
                Some(match shown {
                    Some(shown) => {
                        format!("write `{}` for the first that is shown, or {it}", of(shown))
                    }
                    None => format!("write {it}"),
                })
            }
            Problem::NoText(content) => Some(self.other_content(*content)),
            Problem::BadFile(_, Damage::IsNone(content)) => Some(self.other_content(*content)),
            problem => problem.help(datas),
        }
    }

    /// What to do about a cell that is not of its type.
    fn bad_cell(&self, cell: &BadCell, datas: &[DataDecl]) -> Option<String> {
        let BadCell { column, ty, text, ways, row } = cell;
        let is_text = !matches!(self.given.format, Some(Format::Parquet | Format::Arrow));
        let scalar = match ty {
            Ty::Data(_, args) => args.first().unwrap_or(ty),
            ty => ty,
        };
        if !ways.is_empty() {
            // Other columns have had the sign that was asked for.
            let given = self.given.options.iter().any(|option| option.starts_with("decimal="));
            let both = given && ways.iter().flatten().any(|(option, _)| *option == "decimal");
            let ways: Vec<String> =
                ways.iter().map(|way| format!("`{}`", self.with(way))).collect();
            let help = format!("it is a number with {}", ways.join(" or "));
            return Some(match both {
                true => format!(
                    "{help}; if the file has both signs, read one of the columns as Strings: \
                     `text.parse_real(text.replace(\",\", \".\", x))`"
                ),
                false => help,
            });
        }
        let trimmed = text.trim();
        if column.number == 1 && self.has("comment") {
            if let Some(mark) = mark(text) {
                return Some(self.comments(mark));
            }
        }
        if row.total && row.above > 0 {
            return self.rows_above(row, false);
        }
        if let (true, Some(format)) = (is_text, time_format(trimmed)) {
            return Some(format!(
                "a date or time is a String, of which `time.parse(\"{format}\", text)` makes seconds"
            ));
        }
        if let Some(sign) = several(trimmed).filter(|_| self.has("sep")) {
            return Some(format!(
                "if these are several cells, read them as tuples or rows, with `{}`",
                self.with(&[("sep", &options::sign(sign))])
            ));
        }
        let visible: String = trimmed.chars().filter(|c| !is_invisible(*c)).collect();
        if text.contains(is_invisible) && visible.parse::<f64>().is_ok() {
            let c = text.chars().find(|c| is_invisible(*c)).map_or(0, u32::from);
            return Some(format!("delete the invisible character U+{c:04X} from it"));
        }
        let digits = text.bytes().any(|b| b.is_ascii_digit()) && !is_sheet_error(trimmed);
        if is_text && row.above == 0 && !row.header && !row.numbers && !digits {
            return Some(format!(
                "if this line names the columns, or is none of the data, leave it out with `{}`",
                self.with(&[("header", "yes")])
            ));
        }
        match scalar {
            Ty::Int => {
                let number = trimmed.parse::<f64>().is_ok();
                if number || !is_text {
                    return Some(whole_number());
                }
            }
            Ty::Real if trimmed.parse::<f64>().is_ok_and(f64::is_infinite) => {
                return Some(format!(
                    "the largest Real is {:e}; infinity is written `inf`",
                    f64::MAX
                ));
            }
            Ty::Bool => {
                return Some("a Bool is true, yes, t, y or 1, or false, no, f, n or 0".to_string());
            }
            _ => {}
        }
        if !is_text {
            return None;
        }
        if let Some(help) = unread(trimmed, scalar) {
            return Some(help);
        }
        self.missing_or_below(cell, datas)
    }

    /// What to do about a word where a number is wanted: it stands for nothing, or the row is no data.
    fn missing_or_below(&self, cell: &BadCell, datas: &[DataDecl]) -> Option<String> {
        let BadCell { column, ty, text, row, .. } = cell;
        let trimmed = text.trim();
        let may_be_missing = matches!(ty, Ty::Data(..));
        let wanted = if may_be_missing {
            String::new()
        } else {
            format!(", and `Maybe[{}]` as the type", show_type(ty, datas))
        };
        let plain = self.has("na") && trimmed.len() <= 20 && !trimmed.contains(['|', ':']);
        let missing = plain.then(|| {
            format!(
                "if it stands for a missing cell, write `{}`{wanted}",
                self.with(&[("na", trimmed)])
            )
        });
        let units = row.above == 0 && row.header && !row.numbers;
        let below = match units {
            true => Some("if this line is none of the data, such as units, delete it".to_string()),
            false if column.number == 1 && row.above > 0 => self.rows_above(row, false),
            false => None,
        };
        let both: Vec<String> = missing.into_iter().chain(below).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// How to read the rows above one that is no data.
    fn rows_above(&self, row: &Row, empty: bool) -> Option<String> {
        if !self.has("rows") {
            return None;
        }
        let above = row.above.to_string();
        let rows = match row.above {
            1 => "the row".to_string(),
            n => format!("the {n} rows"),
        };
        let what = if empty {
            "the row is empty: delete it, or, if it is behind the data,"
        } else {
            "if this row is none of the data, and none is below,"
        };
        Some(format!("{what} read {rows} above it with `{}`", self.with(&[("rows", &above)])))
    }

    /// What to do about a row of another number of cells.
    fn number_of_cells(
        &self,
        wanted: usize,
        found: usize,
        header: bool,
        first: &str,
        row: &Row,
    ) -> Option<String> {
        if !self.has("rows") {
            return Some(
                "a tuple has a component for each column; a record reads columns by name"
                    .to_string(),
            );
        }
        if let Some(mark) = mark(first).filter(|_| self.has("comment")) {
            return Some(self.comments(mark));
        }
        let line = self.at.map_or(1, |at| at.line).to_string();
        let words = found == 1 && wanted > 1 && !first.trim().is_empty();
        match row.above {
            n if n > 0 && (words || row.total) => self.rows_above(row, false),
            0 if words && !header && !row.header => Some(format!(
                "if this line is none of the data, leave it out with `{}`",
                self.with(&[("skip", &line)])
            )),
            0 if words => Some("if this line is none of the data, delete it".to_string()),
            0 if !header => Some(
                "a tuple has a component for each column, `[n]Real` one column; a record reads columns by name"
                    .to_string(),
            ),
            _ if found == wanted + 1 && row.open && self.has("sep") => Some(
                "the line ends with a separator: delete it, or end the header with one, too".to_string(),
            ),
            _ if found > wanted && self.has("sep") => {
                Some("a cell that holds the separator stands in quotes".to_string())
            }
            _ => Some(format!(
                "each {} has as many cells, of which some may be empty",
                if self.has("sep") { "line" } else { "row" }
            )),
        }
    }

    fn comments(&self, mark: char) -> String {
        format!(
            "`{}` leaves out what follows `{mark}` on a line",
            self.with(&[("comment", &mark.to_string())])
        )
    }

    /// What to do with a file that is something else than its name says.
    fn other_content(&self, content: Content) -> String {
        let place = self.file();
        let format =
            |word: &str| format!("read it as what it is: `{}`", quoted(&format!("{place}:{word}")));
        match content {
            Content::Zip if self.given.format != Some(Format::Excel) => {
                format!("{}, or `:npz`, or unpack it", format("xlsx"))
            }
            Content::OldExcel => {
                "save it in Excel as a workbook of the kind .xlsx, without a password".to_string()
            }
            Content::Html => "fetch the file itself: the server sent a page".to_string(),
            Content::Of(found) => format(found.word()),
            Content::Text => format("csv"),
            Content::Zip | Content::Other => "fetch or save it anew".to_string(),
        }
    }
}

impl Problem {
    fn help(&self, datas: &[DataDecl]) -> Option<String> {
        match self {
            Problem::Option(_, format) => Some(match &options::names(*format)[..] {
                [] => format!("{} has no options", format.info().article),
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
            // These need more than the problem.
            Problem::Unsuitable(..) | Problem::Lengths(_) => None,
            Problem::Syntax { found, .. } => Some(in_json(found).unwrap_or(
                "an argument is JSON, or the name of a file that ends in .json, .csv, .tsv, .txt, .dat, .xlsx, \
                 .parquet, .arrow, .feather, .npy or .npz; `data.log:csv` names the format of another file",
            ).to_string()),
            Problem::NoInterval(_) => Some(
                "an interval is `LOWER..UPPER` or `MIDDLE+-RADIUS`, of decimal numbers, the lower one first"
                    .to_string(),
            ),
            Problem::NoFormat(name) if not_read(name).is_some() => not_read(name).map(str::to_string),
            Problem::NoFormat(name) => {
                Some(format!("write the format after it, as in `{}:csv`", short(name)))
            }
            Problem::Mismatch(_, Ty::Int, JsonPiece::Number(text)) => {
                let whole = text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && x.abs() < 1e15);
                Some(match whole {
                    Some(x) => format!("an Int is written without a point: `{x}`"),
                    None => whole_number(),
                })
            }
            Problem::Mismatch(_, Ty::Array(_), JsonPiece::Number(_)) => {
                Some("an array is written in brackets: `[1, 2, 3]`".to_string())
            }
            Problem::UnknownFormat(_) => {
                Some(format!("the formats are {}", Format::WORDS))
            }
            Problem::Mismatch(_, Ty::Real, JsonPiece::String(_)) => Some(
                "the only strings that are Reals are \"nan\", \"inf\" and \"-inf\"".to_string(),
            ),
            Problem::Mismatch(_, Ty::Data(id, _), _) => {
                let decl = datas.get(id.0 as usize)?;
                if decl.is(WellKnown::List) {
                    return Some("a list is written as a JSON array".to_string());
                }
                let constructors: Vec<String> =
                    decl.constructors.iter().map(constructor_json).collect();
                Some(format!("it is written as {}", constructors.join(" or ")))
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
            Problem::OpenQuote(_) | Problem::AfterQuote(..) => {
                Some("a quote within quotes is written twice: `\"\"`".to_string())
            }
            Problem::Utf16 | Problem::Utf32 | Problem::Zeros(true) => {
                Some("save it as UTF-8".to_string())
            }
            Problem::NotUtf16 | Problem::NotUtf8 => Some(
                "save it anew as UTF-8; if it was cut off on its way, fetch it again".to_string(),
            ),
            Problem::CellNotUtf8(_, true) => Some(
                "the file begins with the mark of UTF-8, but is not all of it: save it anew".to_string(),
            ),
            Problem::MixedBreaks => Some("save it with line feeds alone".to_string()),
            Problem::NoTime(..) => Some(
                "Excel counts days from 1 January 1900 or 1904 to the end of 9999, and has a 29 February 1900 that no \
                 calendar has; a date beyond that is a text"
                    .to_string(),
            ),
            Problem::BadFile(_, Damage::Broken(_)) | Problem::BadNpy(_) => {
                Some("fetch or save it anew".to_string())
            }
            Problem::BadFile(_, Damage::NotRead(_, instead)) => Some((*instead).to_string()),
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
            | Problem::WriteOption(_)
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
            | Problem::MissingCell(..)
            | Problem::Cells { .. }
            | Problem::MissingColumn(..)
            | Problem::RepeatedColumn(_)
            | Problem::Separator { .. }
            | Problem::CellNotUtf8(_, false)
            | Problem::Zeros(false)
            | Problem::NoText(_)
            | Problem::BadFile(_, Damage::IsNone(_))
            | Problem::NoSheet(None, _)
            | Problem::ColumnType(..)
            | Problem::Rank(..)
            | Problem::BeyondInt(..)
            | Problem::HiddenSheet(..) => None,
        }
    }
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

/// The character that seems to mark a line as a comment.
fn mark(text: &str) -> Option<char> {
    let first = text.trim_start().chars().next();
    first.filter(|c| "#%!*;".contains(*c) && !is_sheet_error(text.trim()))
}

/// Whether a cell is what spreadsheets write for a failed formula, such as `#DIV/0!`.
fn is_sheet_error(cell: &str) -> bool {
    let letter = |c: char| c.is_ascii_uppercase() || c == '/' || c == '0';
    let word = cell.strip_prefix('#').and_then(|rest| rest.strip_suffix(['!', '?']));
    word.is_some_and(|word| !word.is_empty() && word.chars().all(letter))
}

/// What separates numbers in a cell, if it holds several.
fn several(cell: &str) -> Option<char> {
    let numbers = |sign: &char| {
        let mut parts = cell.split(*sign).map(str::trim);
        cell.contains(*sign) && parts.all(|part| part.parse::<f64>().is_ok())
    };
    [';', '\t', '|'].into_iter().find(numbers)
}

fn whole_number() -> String {
    format!("an Int is a whole number from {} to {}", i64::MIN, i64::MAX)
}

/// A place as a shell takes it for one word.
fn quoted(place: &str) -> String {
    let special = |c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?[]{}!".contains(c);
    match place.contains(special) {
        false => place.to_string(),
        true => format!("'{}'", place.replace('\'', "'\\''")),
    }
}

/// What to do with a file of a format that is not read.
fn not_read(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "xls" | "xlsb" | "ods" | "numbers" => "save it as .xlsx or .csv",
        "zip" | "7z" | "rar" | "tar" | "bz2" | "xz" | "zst" => {
            "unpack it: .gz files are read packed, no others"
        }
        "rds" | "rda" | "rdata" | "sav" | "dta" | "sas7bdat" | "orc" | "avro" | "pkl"
        | "pickle" => "save it as .csv or .parquet",
        "mat" | "h5" | "hdf5" | "nc" | "pt" | "safetensors" => "save its arrays as .npy or .npz",
        "yaml" | "yml" | "toml" | "jsonl" | "ndjson" | "xml" => {
            "save it as .json, or a table as .csv"
        }
        _ => return None,
    })
}

/// The form of `time.parse` for a cell that seems to be a date or a time of day.
fn time_format(cell: &str) -> Option<String> {
    let clock = |text: &str| -> Option<String> {
        let (text, zone) = match text.strip_suffix('Z') {
            Some(text) => (text, "%z"),
            None => (text, ""),
        };
        let (text, fraction) = match text.split_once('.') {
            Some((text, fraction)) if fraction.len() <= 9 && is_digits(fraction) => (text, ".%f"),
            Some(_) => return None,
            None => (text, ""),
        };
        let parts: Vec<&str> = text.split(':').collect();
        let format = match &parts[..] {
            [_, _] if fraction.is_empty() => "%H:%M",
            [_, _, _] => "%H:%M:%S",
            _ => return None,
        };
        let short = |part: &&str| part.len() <= 2 && is_digits(part);
        parts.iter().all(short).then(|| format!("{format}{fraction}{zone}"))
    };
    let day = |text: &str| -> Option<String> {
        let sign = text.chars().find(|c| ['-', '/', '.'].contains(c))?;
        let parts: Vec<&str> = text.split(sign).collect();
        let [first, second, third] = parts[..] else { return None };
        if ![first, second, third].into_iter().all(is_digits) {
            return None;
        }
        let up_to = |part: &str, most: u32| {
            part.len() <= 2 && part.parse::<u32>().is_ok_and(|n| (1..=most).contains(&n))
        };
        let year = |part: &str| match part.len() {
            4 => Some("%Y"),
            // Two digits with points may be anything but a date.
            2 if sign != '.' || first.len() == 2 && second.len() == 2 => Some("%y"),
            _ => None,
        };
        if first.len() == 4 && up_to(second, 12) && up_to(third, 31) {
            return Some(format!("%Y{sign}%m{sign}%d"));
        }
        let year = year(third)?;
        if up_to(first, 31) && up_to(second, 12) {
            Some(format!("%d{sign}%m{sign}{year}"))
        } else if up_to(first, 12) && up_to(second, 31) {
            Some(format!("%m{sign}%d{sign}{year}"))
        } else {
            None
        }
    };
    if let Some(format) = day(cell).or_else(|| clock(cell)) {
        return Some(format);
    }
    let at = cell.find(['T', ' '])?;
    let (date, time) = (&cell[..at], &cell[at + 1..]);
    Some(format!("{}{}{}", day(date)?, &cell[at..=at], clock(time)?))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// What to do about a cell that is more or less than a number.
fn unread(cell: &str, ty: &Ty) -> Option<String> {
    if !matches!(ty, Ty::Real | Ty::Int) {
        return None;
    }
    let typographic = |c: char| ('\u{2010}'..='\u{2015}').contains(&c) || c == '\u{2212}';
    if let Some(number) =
        cell.strip_prefix(typographic).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some(format!("a negative number is written `-{}`, with a hyphen", short(number)));
    }
    if !cell.bytes().any(|b| b.is_ascii_digit()) || is_sheet_error(cell) {
        return None;
    }
    // A unit behind the number, or a currency before it.
    let is_number =
        |text: &str| text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok();
    let cuts = || (1..cell.len().min(40)).filter(|at| cell.is_char_boundary(*at));
    let behind = cuts().rev().find(|at| is_number(&cell[..*at])).map(|at| &cell[at..]);
    let before = cuts().find(|at| is_number(&cell[*at..])).map(|at| &cell[..at]);
    // Signs and digits are part of the number; a bound says something else; a text in a program escapes some marks.
    let plain = |more: &&str| {
        !more.contains(|c: char| c.is_ascii_digit() || "+-.,()<>~≤≥\"\\`".contains(c))
    };
    let more = behind.filter(plain).or(before.filter(plain));
    Some(match more {
        Some(more) => format!(
            "read the column as Strings; `text.parse_real(text.replace(\"{}\", \"\", s))` makes numbers of them",
            short(more)
        ),
        _ => "read the column as Strings; `text.parse_real` makes a number of a part of one".to_string(),
    })
}
