//! Workbooks of Excel: the cells of a sheet as texts, row by row, read as those of any other table.
//!
//! The cells come in their order and not as a rectangle, which a single cell far away would make larger than any
//! memory.

use super::cell::CellText;
use super::column::Column;
use super::input::Input;
use super::table::{Table, TableSource};
use super::time::{Moment, MomentKind};
use super::{Check, Field, ReadFailure};
use crate::data::error::{Position, Problem};
use crate::data::options::DataOptions;
use crate::data::place::{Format, Place};
use crate::data::shape::{layout, TableLayout};
use calamine::{Cell, DataRef, ExcelDateTime, Reader, SheetType, Xlsx, XlsxCellReader, XlsxError};
use diffeo_calculus::ty::DataDecl;
use diffeo_calculus::value::Value;
use std::io::{Cursor, Read, Seek};

/// After so many cells the reading is checked.
const CHECKED: usize = 1 << 10;

/// Reads a sheet.
pub(super) fn read(
    place: &Place,
    field: &Field<'_>,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let options = DataOptions::of(&place.options, place.format)?;
    let ty = field.ty;
    let layout = layout(ty, datas).ok_or_else(|| Problem::Unsuitable(place.format, ty.clone()))?;
    let bytes = Input::open(&place.target, check)?.read_all()?;
    if bytes.is_empty() {
        return Err(Problem::Empty.into());
    }
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(bad)?;
    let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let sheets: Vec<String> = sheets.map(|sheet| sheet.name.clone()).collect();
    let name = match &options.sheet {
        Some(name) => sheets.iter().find(|sheet| *sheet == name),
        None => sheets.first(),
    };
    let Some(name) = name else {
        return Err(Problem::NoSheet(options.sheet.clone(), sheets).into());
    };
    let named = matches!(layout, TableLayout::Records(_) | TableLayout::Columns(_));
    let sheet = Sheet {
        cells: book.worksheet_cells_reader(name).map_err(bad)?,
        check,
        count: 0,
        done: false,
        next: None,
        skip: u32::try_from(options.skip).unwrap_or(u32::MAX),
        start: 0,
        width: None,
        further: named && options.header != Some(false),
        row: 0,
        record: Vec::new(),
    };
    let mut table = Table::new(sheet, &options);
    let mut column = Column::new(ty);
    table.read(&layout, field.order(&layout), &mut column)?;
    Ok(column.into_value().ok_or(Problem::Empty)?)
}

fn bad(error: XlsxError) -> Problem {
    Problem::BadFile(Format::Excel, error.to_string())
}

/// The rows of a sheet.
struct Sheet<'a, RS: Read + Seek> {
    cells: XlsxCellReader<'a, RS>,
    check: Check<'a>,
    count: usize,
    /// Whether all cells are read.
    done: bool,
    /// The first cell of the next row.
    next: Option<Cell<DataRef<'a>>>,
    /// So many rows are left out.
    skip: u32,
    /// The first column of the table, and how many it has: those of its first row.
    start: u32,
    width: Option<usize>,
    /// Whether what stands right of the table, without a name, is passed over.
    further: bool,
    /// The row read last, from 0.
    row: u32,
    record: Vec<ExcelText>,
}

/// A cell as text, whether it is a number, and its seconds if it is a time.
#[derive(Clone, Default)]
struct ExcelText {
    text: String,
    number: bool,
    time: Option<f64>,
}

/// The most columns that a sheet has.
const COLUMNS: u32 = 1 << 14;

impl<'a, RS: Read + Seek> Sheet<'a, RS> {
    /// The next cell that is not empty.
    fn cell(&mut self) -> Result<Option<Cell<DataRef<'a>>>, ReadFailure> {
        loop {
            self.count += 1;
            if self.count.is_multiple_of(CHECKED) {
                (self.check)()?;
            }
            if self.done {
                return Ok(None);
            }
            match self.cells.next_cell().map_err(bad)? {
                None => self.done = true,
                Some(cell) if is_empty(cell.get_value()) || cell.get_position().0 < self.skip => {}
                Some(cell) if cell.get_position().1 >= COLUMNS => {
                    let reason = "a cell stands beyond the last column of Excel, XFD".to_string();
                    return Err(Problem::BadFile(Format::Excel, reason).into());
                }
                cell => return Ok(cell),
            }
        }
    }
}

fn is_empty(value: &DataRef<'_>) -> bool {
    match value {
        DataRef::Empty => true,
        DataRef::String(text) => text.trim().is_empty(),
        DataRef::SharedString(text) => text.trim().is_empty(),
        _ => false,
    }
}

fn text(value: &DataRef<'_>) -> ExcelText {
    let text = match value {
        DataRef::Empty => String::new(),
        DataRef::Int(i) => i.to_string(),
        DataRef::Float(r) => r.to_string(),
        DataRef::Bool(b) => b.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            text.clone()
        }
        DataRef::SharedString(text) => (*text).to_string(),
        DataRef::Error(error) => error.to_string(),
        DataRef::DateTime(time) => {
            let moment = moment(time);
            return ExcelText { text: moment.text(), number: false, time: Some(moment.real()) };
        }
    };
    let number = matches!(value, DataRef::Int(_) | DataRef::Float(_));
    ExcelText { text, number, time: None }
}

/// Excel counts days; what is less than one is a time of day.
fn moment(time: &ExcelDateTime) -> Moment {
    let days = time.as_f64();
    let milliseconds = (days * 86_400_000.0).round() as i64;
    if time.is_duration() {
        return Moment::of(milliseconds, 1000, MomentKind::Duration);
    }
    if (0.0..1.0).contains(&days) {
        return Moment::of(milliseconds, 1000, MomentKind::Clock);
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let date = Moment::day(year.into(), month.into(), day.into());
    let clock = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    Moment {
        seconds: date.seconds + clock,
        nanoseconds: u32::from(milli) * 1_000_000,
        kind: if clock == 0 && milli == 0 { MomentKind::Date } else { MomentKind::Local },
    }
}

impl<RS: Read + Seek> TableSource for Sheet<'_, RS> {
    fn next(&mut self, _blank: bool) -> Result<bool, ReadFailure> {
        self.record.clear();
        // A row may have cells beside the table alone.
        while self.record.is_empty() {
            let first = match self.next.take() {
                Some(cell) => Some(cell),
                None => self.cell()?,
            };
            let Some(first) = first else { return Ok(false) };
            let (row, column) = first.get_position();
            if self.width.is_none() {
                self.start = column;
            }
            self.row = row;
            let mut cell = Some(first);
            while let Some(found) = cell {
                let (of_row, column) = found.get_position();
                if of_row != row {
                    self.next = Some(found);
                    break;
                }
                // Left of the table stands what belongs to no column.
                if let Some(place) = column.checked_sub(self.start) {
                    let place = place as usize;
                    if !(self.further && self.width.is_some_and(|width| place >= width)) {
                        if self.record.len() <= place {
                            self.record.resize(place + 1, ExcelText::default());
                        }
                        self.record[place] = text(found.get_value());
                    }
                }
                cell = self.cell()?;
            }
        }
        let width = *self.width.get_or_insert(self.record.len());
        if self.record.len() < width {
            self.record.resize(width, ExcelText::default());
        }
        Ok(true)
    }

    fn len(&self) -> usize {
        self.record.len()
    }

    fn cell(&self, place: usize) -> CellText<'_> {
        match self.record.get(place) {
            Some(ExcelText { text, number, time }) => {
                CellText { text: text.as_bytes(), quoted: false, plain: *number, time: *time }
            }
            None => CellText { text: b"", quoted: false, plain: false, time: None },
        }
    }

    fn failure(&self, problem: Problem) -> ReadFailure {
        let at = Some(Position { line: self.row as usize + 1, column: 0 });
        ReadFailure { at, ..ReadFailure::from(problem) }
    }
}
