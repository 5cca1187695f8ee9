//! CSV files: arrays of records with a header, arrays of tuples, matrices and vectors without one.
//!
//! The leading line is a header exactly when the elements are records; columns are then found by
//! name. Cells are Real, Int, Bool, String or Maybe of these, an empty cell being `Nothing`.
//! Reading streams: each cell goes to the end of its [`Column`].

use super::column::Column;
use super::error::{CsvColumn, Position, Problem};
use super::{reason, Format};
use csv::ByteRecord;
use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A failure with its line.
type Failure = (Option<Position>, Problem);

/// What an array is, for CSV.
pub(super) enum Layout<'t> {
    /// Records: the fields by name.
    Records(&'t [(Name, Ty)]),
    /// Tuples.
    Tuples(&'t [Ty]),
    /// Rows of cells of one type, any number of them.
    Rows(&'t Ty),
    /// One cell on each line.
    Cells(&'t Ty),
}

/// How a type is laid out in a CSV file, if it can be.
pub(super) fn layout<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<Layout<'t>> {
    let Ty::Array(element) = ty else { return None };
    let cell = |ty: &Ty| cell_type(ty, datas).is_some();
    match &**element {
        Ty::Record(fields) => {
            fields.iter().all(|(_, t)| cell(t)).then_some(Layout::Records(fields))
        }
        Ty::Tuple(types) => types.iter().all(cell).then_some(Layout::Tuples(types)),
        Ty::Array(inner) => cell(inner).then_some(Layout::Rows(inner)),
        other @ (Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Data(..)) => {
            cell(other).then_some(Layout::Cells(other))
        }
        Ty::Unit | Ty::Fun(_) | Ty::Param(_) => None,
    }
}

/// The tags of `Nothing` and `Just`, where a cell may be missing.
#[derive(Clone, Copy)]
pub(super) struct MaybeTags {
    pub nothing: u32,
    pub just: u32,
}

/// What a cell of this type holds.
pub(super) fn cell_type<'t>(ty: &'t Ty, datas: &[DataDecl]) -> Option<(&'t Ty, Option<MaybeTags>)> {
    match ty {
        Ty::Real | Ty::Int | Ty::Bool | Ty::String => Some((ty, None)),
        Ty::Data(id, args) => {
            let decl = datas.get(id.0 as usize)?;
            let tag = |name: &str| decl.constructors.iter().position(|c| c.name == name);
            let tags = MaybeTags { nothing: tag("Nothing")? as u32, just: tag("Just")? as u32 };
            match &args[..] {
                [inner @ (Ty::Real | Ty::Int | Ty::Bool | Ty::String)] if decl.name == "Maybe" => {
                    Some((inner, Some(tags)))
                }
                _ => None,
            }
        }
        Ty::Unit | Ty::Tuple(_) | Ty::Record(_) | Ty::Array(_) | Ty::Fun(_) | Ty::Param(_) => None,
    }
}

/// Reads a file; `option` is what follows the name after a colon.
pub(super) fn read(
    path: &Path,
    option: Option<&str>,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<Value, Failure> {
    let skip = match option {
        None => 0,
        Some(text) => text
            .strip_prefix("skip=")
            .and_then(|n| n.parse::<usize>().ok())
            .ok_or_else(|| (None, Problem::Option(text.to_string())))?,
    };
    let layout =
        layout(ty, datas).ok_or_else(|| (None, Problem::Unsuitable(Format::Csv, ty.clone())))?;
    let file = File::open(path).map_err(unreadable)?;
    let mut input = BufReader::with_capacity(1 << 16, file);
    let skipped = skip_lines(&mut input, skip).map_err(unreadable)?;
    if input.fill_buf().map_err(unreadable)?.is_empty() {
        return Err((None, if skip > 0 { Problem::SkippedAll(skip) } else { Problem::Empty }));
    }
    let mut table = Table {
        lines: csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input),
        record: ByteRecord::new(),
    };
    let mut column = Column::new(ty);
    match table.read(&layout, &mut column, datas) {
        Ok(()) => column.into_value().ok_or((None, Problem::Empty)),
        Err(Stop::Whole(problem)) => Err((None, problem)),
        Err(Stop::Record(problem)) => {
            let start = table.record.position().map_or(0, csv::Position::byte);
            let at = line_at(path, skipped + start).map(|line| Position { line, column: 0 });
            Err((at.ok(), problem))
        }
    }
}

fn unreadable(error: io::Error) -> Failure {
    (None, Problem::Unreadable(reason(&error)))
}

/// Leaves out leading lines; the number of bytes left out.
fn skip_lines(input: &mut impl BufRead, lines: usize) -> io::Result<u64> {
    let mut bytes = 0;
    for _ in 0..lines {
        match input.skip_until(b'\n')? {
            0 => break,
            n => bytes += n as u64,
        }
    }
    Ok(bytes)
}

/// The line, from 1, of the record that begins at a byte or after the line breaks that stand there.
fn line_at(path: &Path, byte: u64) -> io::Result<usize> {
    let mut input = BufReader::new(File::open(path)?);
    let mut line = 1;
    let mut before = input.by_ref().take(byte);
    loop {
        let buffer = before.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        line += buffer.iter().filter(|&&b| b == b'\n').count();
        let n = buffer.len();
        before.consume(n);
    }
    loop {
        let buffer = input.fill_buf()?;
        let breaks = buffer.iter().take_while(|&&b| b == b'\n' || b == b'\r').count();
        line += buffer[..breaks].iter().filter(|&&b| b == b'\n').count();
        if breaks == 0 || breaks < buffer.len() {
            return Ok(line);
        }
        input.consume(breaks);
    }
}

/// Why reading stopped.
enum Stop {
    /// Because of the file.
    Whole(Problem),
    /// Because of the record read last.
    Record(Problem),
}

struct Table<R> {
    lines: csv::Reader<R>,
    record: ByteRecord,
}

impl<R: Read> Table<R> {
    /// The next record, or none at the end.
    fn next(&mut self) -> Result<bool, Stop> {
        self.lines.read_byte_record(&mut self.record).map_err(|error| {
            Stop::Whole(Problem::Unreadable(match error.into_kind() {
                csv::ErrorKind::Io(error) => reason(&error),
                other => format!("{other:?}"),
            }))
        })
    }

    fn read(
        &mut self,
        layout: &Layout<'_>,
        column: &mut Column,
        datas: &[DataDecl],
    ) -> Result<(), Stop> {
        let Column::Rows { width, count, elements } = column else {
            return Err(Stop::Whole(Problem::Empty));
        };
        match (layout, &mut **elements) {
            (Layout::Records(fields), Column::Tuple(columns)) => {
                if !self.next()? {
                    return Err(Stop::Whole(Problem::Empty));
                }
                let header = self.header().map_err(Stop::Record)?;
                let places = places(&header, fields)
                    .map_err(|problem| Stop::Record(self.separator().unwrap_or(problem)))?;
                while self.next()? {
                    self.expect(header.len(), true)?;
                    for ((&place, (_, ty)), column) in places.iter().zip(*fields).zip(&mut *columns)
                    {
                        let name = || Some(header[place].clone());
                        self.cell(place, name, ty, column, datas)?;
                    }
                }
            }
            (Layout::Tuples(types), Column::Tuple(columns)) => {
                while self.next()? {
                    self.expect(types.len(), false)?;
                    for (i, (ty, column)) in types.iter().zip(&mut *columns).enumerate() {
                        self.cell(i, || None, ty, column, datas)?;
                    }
                }
            }
            (Layout::Rows(ty), Column::Rows { width: inner, count, elements }) => {
                while self.next()? {
                    let cells = *inner.get_or_insert(self.record.len());
                    self.expect(cells, false)?;
                    for i in 0..cells {
                        self.cell(i, || None, ty, elements, datas)?;
                    }
                    *count += 1;
                }
            }
            (Layout::Cells(ty), cells) => {
                while self.next()? {
                    self.expect(1, false)?;
                    self.cell(0, || None, ty, cells, datas)?;
                }
            }
            (Layout::Records(_) | Layout::Tuples(_) | Layout::Rows(_), _) => {
                return Err(Stop::Whole(Problem::Empty));
            }
        }
        *width = Some(elements.len());
        *count = 1;
        Ok(())
    }

    /// The column names of the record read last.
    fn header(&self) -> Result<Vec<String>, Problem> {
        let name = |(i, cell)| match std::str::from_utf8(cell) {
            Ok(name) => Ok(name.trim().to_string()),
            Err(_) => Err(Problem::CellNotUtf8(CsvColumn { number: i + 1, name: None })),
        };
        self.record.iter().enumerate().map(name).collect()
    }

    fn expect(&self, fields: usize, header: bool) -> Result<(), Stop> {
        let found = self.record.len();
        if found == fields {
            return Ok(());
        }
        let problem = Problem::Cells(fields, found, header);
        Err(Stop::Record(self.separator().unwrap_or(problem)))
    }

    /// What is wrong if the record read last has other separators than commas.
    fn separator(&self) -> Option<Problem> {
        let mut separators = [b';', b'\t'].into_iter();
        let found = separators.find(|s| self.record.len() == 1 && self.record[0].contains(s))?;
        Some(Problem::Separator(found as char))
    }

    /// Puts a cell at the end of its column.
    fn cell(
        &self,
        place: usize,
        name: impl Fn() -> Option<String>,
        ty: &Ty,
        column: &mut Column,
        datas: &[DataDecl],
    ) -> Result<(), Stop> {
        let bytes = self.record.get(place).unwrap_or(b"");
        let stop = |problem: fn(CsvColumn, Ty, String) -> Problem, text: &str| {
            let column = CsvColumn { number: place + 1, name: name() };
            Err(Stop::Record(problem(column, ty.clone(), text.to_string())))
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return stop(|column, _, _| Problem::CellNotUtf8(column), "");
        };
        let number = text.trim();
        let pushed = match (&mut *column, ty) {
            (Column::Real(reals), _) => number.parse().map(|r| reals.push(r)).is_ok(),
            (Column::Int(ints), _) => number.parse().map(|i| ints.push(i)).is_ok(),
            (Column::Bool(bools), _) => truth(number).map(|b| bools.push(b)).is_some(),
            (Column::Other(values), Ty::String) => {
                values.push(Value::string(text));
                true
            }
            (Column::Other(values), _) => {
                let read = match cell_type(ty, datas) {
                    Some((_, Some(tags))) if number.is_empty() => {
                        Some(Value::data(tags.nothing, Vec::new()))
                    }
                    Some((inner, Some(tags))) => {
                        scalar(inner, text).map(|v| Value::data(tags.just, vec![v]))
                    }
                    Some((_, None)) | None => None,
                };
                read.map(|value| values.push(value)).is_some()
            }
            (Column::Tuple(_) | Column::Rows { .. }, _) => false,
        };
        match pushed {
            true => Ok(()),
            false if number.is_empty() => {
                stop(|column, ty, _| Problem::MissingCell(column, ty), "")
            }
            false => match self.separator() {
                Some(problem) => Err(Stop::Record(problem)),
                None => stop(Problem::Cell, text),
            },
        }
    }
}

/// Where each field of the record type stands.
fn places(header: &[String], fields: &[(Name, Ty)]) -> Result<Vec<usize>, Problem> {
    let place = |(name, ty): &(Name, Ty)| {
        let mut found = header.iter().enumerate().filter(|(_, column)| *name == column.as_str());
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(Problem::RepeatedColumn(name.to_string())),
            (None, _) => Err(Problem::MissingColumn(name.clone(), ty.clone(), header.to_vec())),
        }
    };
    fields.iter().map(place).collect()
}

fn scalar(ty: &Ty, text: &str) -> Option<Value> {
    let number = text.trim();
    match ty {
        Ty::Real => number.parse().ok().map(Value::Real),
        Ty::Int => number.parse().ok().map(Value::Int),
        Ty::Bool => truth(number).map(Value::Bool),
        Ty::String => Some(Value::string(text)),
        Ty::Unit
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}
