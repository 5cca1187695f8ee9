//! Tables into CSV and TSV files, a cell at a time: records with a header, tuples, rows and single
//! cells without one.
//!
//! A missing cell is empty. A text is quoted where it would be read as something else: one that is
//! empty, that holds a quote, a separator or a line break.

use super::unexpected;
use crate::data::shape::{layout, Cell, Layout};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io::{self, Write};

/// Writes an array as the lines of a table.
pub(super) fn write(
    out: &mut impl Write,
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
    separator: u8,
) -> io::Result<()> {
    let (Some(layout), Value::Array(rows)) = (layout(ty, datas), value) else {
        return Err(unexpected());
    };
    if let Layout::Rows(_) = layout {
        if rows.iter().next().is_some_and(|row| matches!(row, Value::Array(row) if row.is_empty()))
        {
            let reason =
                "rows without elements are lines without cells, which would not be read back; \
                          a .json or .npy file holds them";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
    }
    let mut line = Line { out, separator, cells: 0 };
    if let Layout::Records(fields) = &layout {
        fields.iter().try_for_each(|(name, _)| line.text(name))?;
        line.end()?;
    }
    for row in rows.iter() {
        match (&layout, &row) {
            (Layout::Records(fields), Value::Tuple(_)) => {
                for ((_, cell), component) in fields.iter().zip(row.fields()) {
                    line.cell(component, cell)?;
                }
            }
            (Layout::Tuples(cells), Value::Tuple(_)) => {
                for (cell, component) in cells.iter().zip(row.fields()) {
                    line.cell(component, cell)?;
                }
            }
            (Layout::Rows(cell), Value::Array(row)) => {
                row.iter().try_for_each(|component| line.cell(&component, cell))?;
            }
            (Layout::Cells(cell), _) => line.cell(&row, cell)?,
            (Layout::Records(_) | Layout::Tuples(_) | Layout::Rows(_), _) => {
                return Err(unexpected());
            }
        }
        line.end()?;
    }
    Ok(())
}

/// A line that is being written.
struct Line<'o, W> {
    out: &'o mut W,
    separator: u8,
    cells: usize,
}

impl<W: Write> Line<'_, W> {
    fn end(&mut self) -> io::Result<()> {
        self.cells = 0;
        self.out.write_all(b"\n")
    }

    /// Begins a cell.
    fn next(&mut self) -> io::Result<()> {
        if self.cells > 0 {
            self.out.write_all(&[self.separator])?;
        }
        self.cells += 1;
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.next()?;
        let special = |b| matches!(b, b'"' | b'\n' | b'\r') || b == self.separator;
        if !text.is_empty() && !text.bytes().any(special) {
            return self.out.write_all(text.as_bytes());
        }
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
            (Value::Data(data), Some(tags)) if data.tag == tags.just => {
                let payload = data.fields.first().ok_or_else(unexpected)?;
                self.scalar(payload, cell.scalar)
            }
            (Value::Data(_), Some(_)) => self.next(),
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
            Value::Int(i) => Ok(serde_json::to_writer(&mut *self.out, i)?),
            Value::Bool(b) => write!(self.out, "{b}"),
            _ => Err(unexpected()),
        }
    }
}
