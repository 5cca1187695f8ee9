//! A table record by record into arrays: of records, or a record of columns, by the names in its header; of tuples,
//! rows or single cells by position.

use super::cell::{CellFormat, CellText};
use super::column::Column;
use super::names::places;
use super::ReadFailure;
use crate::error::{CsvColumn, Problem, Row};
use crate::options::DataOptions;
use crate::shape::{Cell, TableLayout};
use diffeo_base::Name;

/// What tables are read from.
pub(super) trait TableSource {
    /// Reads the next record; false at the end. Empty lines are passed over, except where `blank` says that one above
    /// another record is a record with one empty cell.
    fn next(&mut self, blank: bool) -> Result<bool, ReadFailure>;

    /// How many cells the record has.
    fn len(&self) -> usize;

    /// A cell of the record.
    fn cell(&self, place: usize) -> CellText<'_>;

    /// A problem with the record, or the reason of it that is known here.
    fn failure(&self, problem: Problem) -> ReadFailure;
}

/// How a table is read.
pub(super) struct Table<S> {
    pub source: S,
    pub cells: CellFormat,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// How many rows are read at most.
    rows: Option<usize>,
    /// How many were begun.
    begun: usize,
    /// Whether a line with names was read.
    named: bool,
}

impl<S: TableSource> Table<S> {
    pub fn new(source: S, options: &DataOptions) -> Table<S> {
        let (cells, header, rows) = (CellFormat::new(options), options.header, options.rows);
        Table { source, cells, header, rows, begun: 0, named: false }
    }

    /// Reads the next row; false at the end, and behind as many as are wanted.
    fn next(&mut self, blank: bool) -> Result<bool, ReadFailure> {
        if self.rows.is_some_and(|rows| self.begun >= rows) {
            return Ok(false);
        }
        self.begun += 1;
        self.source.next(blank)
    }

    /// Reads into the column of a value; `order` is that of the fields, where it is known.
    pub fn read(
        &mut self,
        layout: &TableLayout<'_>,
        order: Option<&[Name]>,
        column: &mut Column,
    ) -> Result<(), ReadFailure> {
        match (layout, column) {
            (TableLayout::Columns(fields), Column::Tuple(columns)) => {
                let mut inner = Vec::new();
                for column in columns.iter_mut() {
                    match column {
                        Column::Rows { elements, .. } => inner.push(&mut **elements),
                        _ => return Err(Problem::Empty.into()),
                    }
                }
                self.named(fields, order, &mut inner)?;
                columns.iter_mut().for_each(Column::close);
                Ok(())
            }
            (_, column) => {
                let Column::Rows { elements, .. } = column else {
                    return Err(Problem::Empty.into());
                };
                self.rows(layout, order, elements)?;
                column.close();
                Ok(())
            }
        }
    }

    fn rows(
        &mut self,
        layout: &TableLayout<'_>,
        order: Option<&[Name]>,
        elements: &mut Column,
    ) -> Result<(), ReadFailure> {
        if !matches!(layout, TableLayout::Records(_)) && self.header == Some(true) {
            self.named = self.source.next(false)?;
        }
        // Where a line is one cell that may be missing, an empty line is a missing cell.
        match (layout, elements) {
            (TableLayout::Records(fields), Column::Tuple(columns)) => {
                return self.named(fields, order, &mut columns.iter_mut().collect::<Vec<_>>());
            }
            (TableLayout::Tuples(cells), Column::Tuple(columns)) => {
                while self.next(false)? {
                    self.expect(cells.len(), false)?;
                    for (i, (cell, column)) in cells.iter().zip(&mut *columns).enumerate() {
                        self.cell(i, None, cell, column, false)?;
                    }
                }
            }
            (TableLayout::Rows(cell), Column::Rows { width, count, elements }) => {
                while self.next(cell.maybe && *width == Some(1))? {
                    let cells = *width.get_or_insert(self.source.len());
                    self.expect(cells, false)?;
                    for i in 0..cells {
                        self.cell(i, None, cell, elements, *count == 0 && cells == 1)?;
                    }
                    *count += 1;
                }
            }
            (TableLayout::Cells(cell), column) => {
                while self.next(cell.maybe)? {
                    self.expect(1, false)?;
                    self.cell(0, None, cell, column, false)?;
                }
            }
            (
                TableLayout::Records(_)
                | TableLayout::Columns(_)
                | TableLayout::Tuples(_)
                | TableLayout::Rows(_),
                _,
            ) => {
                return Err(Problem::Empty.into());
            }
        }
        Ok(())
    }

    /// Reads the columns that belong to fields.
    fn named(
        &mut self,
        fields: &[(&Name, Cell<'_>)],
        order: Option<&[Name]>,
        columns: &mut [&mut Column],
    ) -> Result<(), ReadFailure> {
        let (header, places) = match self.header {
            Some(false) => {
                // Without names the columns stand as the type is declared.
                let order = order.ok_or(Problem::NoOrder)?;
                let place = |(name, _): &(&Name, Cell<'_>)| order.iter().position(|n| n == *name);
                (None, fields.iter().filter_map(place).collect())
            }
            Some(true) | None => {
                if !self.source.next(false)? {
                    return Err(Problem::NoHeader.into());
                }
                self.named = true;
                let header = self.names().map_err(|problem| self.source.failure(problem))?;
                let found = places(&header, fields);
                let places = found.map_err(|problem| self.source.failure(problem))?;
                (Some(header), places)
            }
        };
        let width = header.as_ref().map_or(fields.len(), Vec::len);
        let blank = width == 1 && fields[0].1.maybe;
        while self.next(blank)? {
            self.expect(width, header.is_some())?;
            for ((&place, (_, cell)), column) in places.iter().zip(fields).zip(&mut *columns) {
                self.cell(place, header.as_deref(), cell, column, false)?;
            }
        }
        Ok(())
    }

    /// The column names of the record read last.
    fn names(&self) -> Result<Vec<String>, Problem> {
        let name = |i| match std::str::from_utf8(self.source.cell(i).text) {
            Ok(name) => Ok(name.trim().to_string()),
            Err(_) => Err(Problem::CellNotUtf8(CsvColumn { number: i + 1, name: None }, false)),
        };
        (0..self.source.len()).map(name).collect()
    }

    fn expect(&self, cells: usize, header: bool) -> Result<(), ReadFailure> {
        let found = self.source.len();
        match found == cells {
            true => Ok(()),
            false => {
                let first = String::from_utf8_lossy(self.source.cell(0).text).into_owned();
                let row = self.row(0, false);
                let problem = Problem::Cells { wanted: cells, found, header, first, row };
                Err(self.source.failure(problem))
            }
        }
    }

    /// Puts a cell at the end of its column.
    fn cell(
        &self,
        place: usize,
        header: Option<&[String]>,
        cell: &Cell<'_>,
        column: &mut Column,
        free: bool,
    ) -> Result<(), ReadFailure> {
        let name = || CsvColumn {
            number: place + 1,
            name: header.and_then(|header| header.get(place)).cloned(),
        };
        let put = self.cells.put(self.source.cell(place), name, cell, column);
        put.map_err(|mut problem| {
            let number = place + 1;
            match &mut problem {
                Problem::Cell(cell) => cell.row = self.row(number, free),
                Problem::MissingCell(.., row) => *row = self.row(number, free),
                _ => {}
            }
            self.source.failure(problem)
        })
    }

    /// The row read last, of which the cell with this number cannot be read.
    fn row(&self, number: usize, free: bool) -> Row {
        let text = |i: usize| self.source.cell(i).text;
        let mut cells = (0..self.source.len()).map(|i| (i + 1, text(i)));
        Row {
            above: self.begun.saturating_sub(1),
            header: self.named,
            numbers: cells
                .clone()
                .any(|(i, text)| i != number && text.iter().any(u8::is_ascii_digit)),
            total: is_total(text(0)),
            open: text(self.source.len().saturating_sub(1)).trim_ascii().is_empty(),
            empty: cells.all(|(_, text)| text.trim_ascii().is_empty()),
            free,
        }
    }
}

/// Whether the first cell of a row says that it is no data, but made of the rows above.
fn is_total(text: &[u8]) -> bool {
    const WORDS: [&str; 14] = [
        "total",
        "totals",
        "totale",
        "subtotal",
        "sum",
        "sums",
        "mean",
        "average",
        "median",
        "summe",
        "gesamt",
        "mittelwert",
        "somme",
        "moyenne",
    ];
    let text = String::from_utf8_lossy(text).to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next_back().is_some_and(|word| WORDS.contains(&word))
        || text.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS[..4].contains(&word))
}
