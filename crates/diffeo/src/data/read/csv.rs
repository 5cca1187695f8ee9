//! CSV and TSV files: arrays of records with a header, arrays of tuples, matrices and vectors
//! without one.
//!
//! The leading line is a header exactly when the elements are records; columns are then found by
//! name. Cells are Real, Int, Bool, String or Maybe of these. Reading streams: each cell goes to the
//! end of its [`Column`].

use super::column::{push, Column};
use super::input::Input;
use super::records::Records;
use super::{Check, Failure};
use crate::data::error::{CsvColumn, Problem};
use crate::data::place::Place;
use crate::data::shape::{layout, Cell, Layout};
use diffeo_base::Name;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io::BufRead;

/// Reads a file.
pub(super) fn read(
    place: &Place,
    ty: &Ty,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, Failure> {
    let skip = match &place.option {
        None => 0,
        Some(text) => text
            .strip_prefix("skip=")
            .and_then(|n| n.parse::<usize>().ok())
            .ok_or_else(|| Problem::Option(text.clone()))?,
    };
    let layout = layout(ty, datas).ok_or_else(|| Problem::Unsuitable(place.format, ty.clone()))?;
    let separator = place.format.separator();
    let input = Input::open(&place.target, check)?.buffered();
    let mut table = Table { records: Records::new(input, separator, skip)?, separator };
    // Without a header, a file in which nothing is left is a table of no rows.
    if table.records.at_end()? {
        match layout {
            _ if table.records.lines() < skip => return Err(Problem::SkippedAll(skip).into()),
            Layout::Records(_) => return Err(Problem::NoHeader.into()),
            Layout::Tuples(_) | Layout::Rows(_) | Layout::Cells(_) => {}
        }
    }
    let mut column = Column::new(ty);
    table.read(&layout, &mut column)?;
    Ok(column.into_value().ok_or(Problem::Empty)?)
}

struct Table<R> {
    records: Records<R>,
    separator: u8,
}

impl<R: BufRead> Table<R> {
    fn read(&mut self, layout: &Layout<'_>, column: &mut Column) -> Result<(), Failure> {
        let Column::Rows { width, count, elements } = column else {
            return Err(Problem::Empty.into());
        };
        // Where a line is one cell that may be missing, an empty line is a missing cell.
        match (layout, &mut **elements) {
            (Layout::Records(fields), Column::Tuple(columns)) => {
                if !self.records.next(false)? {
                    return Err(Problem::NoHeader.into());
                }
                let header = self.header().map_err(|problem| self.records.failure(problem))?;
                let places = places(&header, fields).map_err(|problem| self.failure(problem))?;
                let blank = header.len() == 1 && fields[0].1.maybe.is_some();
                while self.records.next(blank)? {
                    self.expect(header.len(), true)?;
                    for ((&place, (_, cell)), column) in
                        places.iter().zip(fields).zip(&mut *columns)
                    {
                        self.cell(place, Some(&header), cell, column)?;
                    }
                }
            }
            (Layout::Tuples(cells), Column::Tuple(columns)) => {
                while self.records.next(false)? {
                    self.expect(cells.len(), false)?;
                    for (i, (cell, column)) in cells.iter().zip(&mut *columns).enumerate() {
                        self.cell(i, None, cell, column)?;
                    }
                }
            }
            (Layout::Rows(cell), Column::Rows { width: inner, count, elements }) => {
                while self.records.next(cell.maybe.is_some() && inner.is_none_or(|n| n == 1))? {
                    let cells = *inner.get_or_insert(self.records.len());
                    self.expect(cells, false)?;
                    for i in 0..cells {
                        self.cell(i, None, cell, elements)?;
                    }
                    *count += 1;
                }
            }
            (Layout::Cells(cell), column) => {
                while self.records.next(cell.maybe.is_some())? {
                    self.expect(1, false)?;
                    self.cell(0, None, cell, column)?;
                }
            }
            (Layout::Records(_) | Layout::Tuples(_) | Layout::Rows(_), _) => {
                return Err(Problem::Empty.into());
            }
        }
        *width = Some(elements.len());
        *count = 1;
        Ok(())
    }

    /// The column names of the record read last.
    fn header(&self) -> Result<Vec<String>, Problem> {
        let name = |i| match std::str::from_utf8(self.records.cell(i).0) {
            Ok(name) => Ok(name.trim().to_string()),
            Err(_) => Err(Problem::CellNotUtf8(CsvColumn { number: i + 1, name: None })),
        };
        (0..self.records.len()).map(name).collect()
    }

    fn expect(&self, cells: usize, header: bool) -> Result<(), Failure> {
        let found = self.records.len();
        match found == cells {
            true => Ok(()),
            false => Err(self.failure(Problem::Cells(cells, found, header))),
        }
    }

    /// A problem with the record read last, or the reason of it if that has other separators.
    fn failure(&self, problem: Problem) -> Failure {
        let (only, quoted) = self.records.cell(0);
        let others = [b',', b';', b'\t'].into_iter().filter(|&b| b != self.separator);
        let other = others.into_iter().find(|b| only.contains(b));
        let broken = |i| matches!(self.records.cell(i), (cell, false) if cell.contains(&b'\r'));
        self.records.failure(match other {
            _ if (0..self.records.len()).any(broken) => Problem::CarriageReturns,
            Some(other) if self.records.len() == 1 && !quoted => {
                Problem::Separator(self.separator as char, other as char)
            }
            _ => problem,
        })
    }

    /// Puts a cell at the end of its column.
    fn cell(
        &self,
        place: usize,
        header: Option<&[String]>,
        cell: &Cell<'_>,
        column: &mut Column,
    ) -> Result<(), Failure> {
        let (bytes, quoted) = self.records.cell(place);
        if put(bytes, quoted, cell, column).is_some() {
            return Ok(());
        }
        let column =
            CsvColumn { number: place + 1, name: header.and_then(|h| h.get(place)).cloned() };
        Err(self.failure(match std::str::from_utf8(bytes) {
            Err(_) => Problem::CellNotUtf8(column),
            Ok(text) if is_missing(bytes.trim_ascii()) => {
                Problem::MissingCell(column, cell.ty.clone(), text.trim().to_string())
            }
            Ok(text) => Problem::Cell(column, cell.ty.clone(), text.to_string()),
        }))
    }
}

/// Puts what a cell stands for at the end of a column, if it is of its type.
fn put(bytes: &[u8], quoted: bool, cell: &Cell<'_>, column: &mut Column) -> Option<()> {
    match column {
        Column::Real(reals) => push(reals, real(bytes)?),
        Column::Int(ints) => push(ints, number(bytes)?),
        Column::Bool(bools) => push(bools, truth(bytes)?),
        Column::Other(values) => {
            let value = match cell.maybe {
                None => scalar(cell.scalar, bytes)?,
                Some(tags) => {
                    let missing = match cell.scalar {
                        Ty::String => bytes.is_empty() && !quoted,
                        _ => is_missing(bytes.trim_ascii()),
                    };
                    match missing {
                        true => Value::data(tags.nothing, []),
                        false => Value::data(tags.just, [scalar(cell.scalar, bytes)?]),
                    }
                }
            };
            push(values, value);
        }
        Column::Tuple(_) | Column::Rows { .. } => return None,
    }
    Some(())
}

/// Whether a cell says that there is no number or truth value in it.
fn is_missing(text: &[u8]) -> bool {
    text.is_empty()
        || ["NA", "N/A", "null"].iter().any(|mark| text.eq_ignore_ascii_case(mark.as_bytes()))
}

fn scalar(ty: &Ty, bytes: &[u8]) -> Option<Value> {
    match ty {
        Ty::Real => real(bytes).map(Value::Real),
        Ty::Int => number(bytes).map(Value::Int),
        Ty::Bool => truth(bytes).map(Value::Bool),
        Ty::String => std::str::from_utf8(bytes).ok().map(Value::string),
        Ty::Unit
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes.trim_ascii()).ok()?.parse().ok()
}

/// A number too large for a Real is none: infinity is written `inf`.
fn real(bytes: &[u8]) -> Option<f64> {
    number(bytes).filter(|r: &f64| !(r.is_infinite() && bytes.iter().any(u8::is_ascii_digit)))
}

fn truth(bytes: &[u8]) -> Option<bool> {
    match bytes.trim_ascii() {
        text if text.eq_ignore_ascii_case(b"true") => Some(true),
        text if text.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// Where each field of the record type stands.
fn places(header: &[String], fields: &[(&Name, Cell<'_>)]) -> Result<Vec<usize>, Problem> {
    let place = |&(name, cell): &(&Name, Cell<'_>)| {
        let mut found = header.iter().enumerate().filter(|(_, column)| *name == column.as_str());
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => Err(Problem::RepeatedColumn(name.to_string())),
            (None, _) => {
                Err(Problem::MissingColumn(name.clone(), cell.ty.clone(), header.to_vec()))
            }
        }
    };
    fields.iter().map(place).collect()
}
