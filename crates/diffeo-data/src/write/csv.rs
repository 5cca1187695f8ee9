//! Tables into text files, a cell at a time: records, or a record of columns, with a header; tuples, rows and single
//! cells without one.
//!
//! The columns of fields stand in the order in which they are declared. A missing cell is empty, or `NA` where a line is
//! one cell: empty lines at the end of a file would be no rows. A nan is missing where a cell may be. A text is quoted where
//! it would be read as something else: one that is empty or of blanks alone, that holds a quote, a separator or a line break, or stands
//! for a missing cell where one may be missing.

use super::{misfitting, unexpected};
use crate::error::ColumnLengths;
use crate::format::Format;
use crate::read::is_missing;
use crate::shape::{layout, members, Cell, TableLayout};
use diffeo_base::Name;
use diffeo_calculus::array::Array;
use diffeo_calculus::show::show;
use diffeo_calculus::ty::{DataDecl, Ty, JUST};
use diffeo_calculus::value::Value;
use diffeo_front::interface::Type;
use std::io::{self, Write};

/// Writes an array, or a record of arrays, as the lines of a table.
pub(super) fn write(
    out: &mut impl Write,
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
    interface: Option<&Type>,
    format: Format,
) -> io::Result<()> {
    let Some(layout) = layout(ty, datas) else { return Err(unexpected()) };
    let only = match (&layout, value) {
        (TableLayout::Columns(fields) | TableLayout::Records(fields), _) => fields.len() == 1,
        (TableLayout::Tuples(cells), _) => cells.len() == 1,
        (TableLayout::Rows(_), Value::Array(rows)) => {
            matches!(rows.iter().next(), Some(Value::Array(row)) if row.len() == 1)
        }
        (TableLayout::Rows(_), _) => false,
        (TableLayout::Cells(_), _) => true,
    };
    let missing = if only { "NA" } else { "" };
    let mut line = CsvLine { out, separators: format.info().separators, missing, cells: 0 };
    // The fields by their position among the columns.
    let sorted = |fields: &[(&Name, Cell<'_>)]| {
        let mut sorted: Vec<usize> = (0..fields.len()).collect();
        if let Some(order) = layout.order(interface) {
            sorted.sort_by_key(|&i| order.iter().position(|name| name == fields[i].0));
        }
        sorted
    };
    match (&layout, value) {
        (TableLayout::Columns(fields), Value::Tuple(_)) => {
            let sorted = sorted(fields);
            sorted.iter().try_for_each(|&i| line.text(fields[i].0))?;
            line.end()?;
            let columns = sorted.iter().map(|&i| match value.fields().get(i) {
                Some(Value::Array(array)) => Ok((&**array, fields[i])),
                _ => Err(unexpected()),
            });
            let columns = columns.collect::<io::Result<Vec<_>>>()?;
            same_lengths(&columns, format, members(ty).is_some())?;
            rows(&mut line, &columns)
        }
        (TableLayout::Records(fields), Value::Array(records)) => {
            let sorted = sorted(fields);
            sorted.iter().try_for_each(|&i| line.text(fields[i].0))?;
            line.end()?;
            for record in records.iter() {
                let cells = record.fields();
                sorted.iter().try_for_each(|&i| {
                    line.cell(cells.get(i).ok_or_else(unexpected)?, &fields[i].1)
                })?;
                line.end()?;
            }
            Ok(())
        }
        (TableLayout::Tuples(cells), Value::Array(tuples)) => {
            for tuple in tuples.iter() {
                for (cell, component) in cells.iter().zip(tuple.fields()) {
                    line.cell(component, cell)?;
                }
                line.end()?;
            }
            Ok(())
        }
        (TableLayout::Rows(cell), Value::Array(rows)) => {
            for row in rows.iter() {
                let Value::Array(row) = row else { return Err(unexpected()) };
                if row.is_empty() {
                    let reason = "rows without elements are lines without cells, which would not be read back; \
                                  a .json or .npy file holds them";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
                }
                row.iter().try_for_each(|component| line.cell(&component, cell))?;
                line.end()?;
            }
            Ok(())
        }
        (TableLayout::Cells(cell), Value::Array(cells)) => {
            for value in cells.iter() {
                line.cell(&value, cell)?;
                line.end()?;
            }
            Ok(())
        }
        (
            TableLayout::Columns(_)
            | TableLayout::Records(_)
            | TableLayout::Tuples(_)
            | TableLayout::Rows(_)
            | TableLayout::Cells(_),
            _,
        ) => Err(unexpected()),
    }
}

/// A column with its name.
type Column<'a> = (&'a Array, (&'a Name, Cell<'a>));

/// Checks that columns have one length; whether an NPZ file holds them.
fn same_lengths(columns: &[Column<'_>], format: Format, numbers: bool) -> io::Result<()> {
    let Some((first, (name, _))) = columns.first() else { return Ok(()) };
    match columns.iter().find(|(column, _)| column.len() != first.len()) {
        Some((other, (second, _))) => Err(misfitting(ColumnLengths {
            format,
            first: ((*name).clone(), first.len()),
            other: ((*second).clone(), other.len()),
            numbers,
        })),
        None => Ok(()),
    }
}

/// Writes the lines of columns of one length.
fn rows<W: Write>(line: &mut CsvLine<'_, W>, columns: &[Column<'_>]) -> io::Result<()> {
    let Some((first, _)) = columns.first() else { return Ok(()) };
    for i in 0..first.len() {
        for (column, (_, cell)) in columns {
            line.cell(&column.get(i), cell)?;
        }
        line.end()?;
    }
    Ok(())
}

/// A line that is being written.
struct CsvLine<'o, W> {
    out: &'o mut W,
    /// The separator, and what may be taken for one.
    separators: &'static [u8],
    /// What stands for a missing cell.
    missing: &'static str,
    cells: usize,
}

impl<W: Write> CsvLine<'_, W> {
    fn end(&mut self) -> io::Result<()> {
        self.cells = 0;
        self.out.write_all(b"\n")
    }

    /// Begins a cell.
    fn next(&mut self) -> io::Result<()> {
        if self.cells > 0 {
            self.out.write_all(&self.separators[..1])?;
        }
        self.cells += 1;
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.next()?;
        let special = |b| matches!(b, b'"' | b'\n' | b'\r') || self.separators.contains(&b);
        // A line of blanks is passed over, and a mark at the beginning is none of the text.
        let lost = text.trim().is_empty() || text.starts_with('\u{feff}');
        if !lost && !text.bytes().any(special) {
            return self.out.write_all(text.as_bytes());
        }
        self.quoted(text)
    }

    fn quoted(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(b"\"")?;
        for (i, part) in text.split('"').enumerate() {
            if i > 0 {
                self.out.write_all(b"\"\"")?;
            }
            self.out.write_all(part.as_bytes())?;
        }
        self.out.write_all(b"\"")
    }

    fn cell(&mut self, value: &Value, cell: &Cell<'_>) -> io::Result<()> {
        match (value, cell.maybe) {
            (Value::Data(data), true) if data.tag == JUST => {
                match data.fields.first().ok_or_else(unexpected)? {
                    Value::String(text) if is_missing(text.trim()) => {
                        self.next()?;
                        self.quoted(text)
                    }
                    payload => self.scalar(payload, cell.scalar),
                }
            }
            (Value::Data(_), true) => {
                self.next()?;
                self.out.write_all(self.missing.as_bytes())
            }
            _ => self.scalar(value, cell.ty),
        }
    }

    fn scalar(&mut self, value: &Value, ty: &Ty) -> io::Result<()> {
        match (ty, value) {
            (Ty::String, Value::String(text)) => return self.text(text),
            (Ty::Real | Ty::Int | Ty::Bool, _) => self.next()?,
            _ => return Err(unexpected()),
        }
        match value {
            Value::Real(r) if r.is_finite() => Ok(serde_json::to_writer(&mut *self.out, r)?),
            Value::Real(r) if r.is_nan() => self.out.write_all(b"nan"),
            Value::Real(r) => write!(self.out, "{r}"),
            Value::Active(_) => self.out.write_all(show(value, ty, &[]).as_bytes()),
            Value::Int(i) => Ok(serde_json::to_writer(&mut *self.out, i)?),
            Value::Bool(b) => write!(self.out, "{b}"),
            _ => Err(unexpected()),
        }
    }
}
