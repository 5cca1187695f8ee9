//! Workbooks of Excel: the cells of a sheet as texts, row by row, read as those of any other table.
//!
//! The cells come in their order and not as a rectangle, which a single cell far away would make larger than any
//! memory.

use super::cell::CellText;
use super::column::Column;
use super::content::content;
use super::input::Input;
use super::table::{Table, TableSource};
use super::time::{Moment, MomentKind};
use super::{Check, Field, ReadFailure};
use crate::data::error::{Content, Damage, Position, Problem};
use crate::data::options::DataOptions;
use crate::data::place::{Format, Place};
use crate::data::shape::{layout, TableLayout};
use calamine::{Cell, DataRef, Reader, SheetType, Xlsx, XlsxCellReader, XlsxError};
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
    let content = content(&bytes);
    let is_none = |_| Problem::BadFile(Format::Excel, Damage::IsNone(content));
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|error| match content {
        Content::Zip => bad(error),
        _ => is_none(error),
    })?;
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
        is_1904: book.has_1904_epoch(),
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
    let part = |name: String| format!("its part `{name}` is missing");
    let damage = match error {
        XlsxError::Password => Damage::IsNone(Content::OldExcel),
        XlsxError::Zip(error) => Damage::of_zip(&error),
        XlsxError::FileNotFound(name) => Damage::Broken(part(name)),
        XlsxError::WorksheetNotFound(name) => Damage::Broken(part(name)),
        XlsxError::RelationshipNotFound => Damage::Broken(part("workbook.xml.rels".to_string())),
        XlsxError::CellTAttribute(_) | XlsxError::CellError(_) => {
            Damage::Broken("a cell is of a kind that Excel does not have".to_string())
        }
        XlsxError::Alphanumeric(_)
        | XlsxError::NumericColumn(_)
        | XlsxError::RangeWithoutColumnComponent
        | XlsxError::RangeWithoutRowComponent
        | XlsxError::ColumnNumberOverflow
        | XlsxError::RowNumberOverflow
        | XlsxError::DimensionCount(_) => {
            Damage::Broken("a cell has no place that Excel knows".to_string())
        }
        XlsxError::ParseFloat(_) | XlsxError::ParseInt(_) | XlsxError::Parse(_) => {
            Damage::Broken("a number in it is malformed".to_string())
        }
        _ => Damage::Broken("the XML in it is malformed".to_string()),
    };
    Problem::BadFile(Format::Excel, damage)
}

/// The rows of a sheet.
struct Sheet<'a, RS: Read + Seek> {
    /// Whether days count from 1904.
    is_1904: bool,
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
    /// Whether it is a time that is none.
    no_time: bool,
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
                    let what = "a cell stands beyond the last column of Excel, XFD".to_string();
                    return Err(Problem::BadFile(Format::Excel, Damage::Broken(what)).into());
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

fn text(value: &DataRef<'_>, is_1904: bool) -> ExcelText {
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
            return match moment(time.as_f64(), time.is_duration(), is_1904) {
                Some(moment) => ExcelText {
                    text: moment.text(),
                    time: Some(moment.real()),
                    ..ExcelText::default()
                },
                None => ExcelText {
                    text: format!("day {}", time.as_f64()),
                    no_time: true,
                    ..ExcelText::default()
                },
            };
        }
    };
    let number = matches!(value, DataRef::Int(_) | DataRef::Float(_));
    ExcelText { text, number, ..ExcelText::default() }
}

/// Excel counts days, from 1900 (with a 29 February in that year) or from 1904, to the end of the year 9999; what is
/// less than one is a time of day. Other counts are no time: programs take them for different ones.
fn moment(days: f64, is_duration: bool, is_1904: bool) -> Option<Moment> {
    const MILLISECONDS: i64 = 86_400_000;
    const LAST: f64 = 2_958_466.0;
    let milliseconds = (days * MILLISECONDS as f64).round() as i64;
    if is_duration {
        return Some(Moment::of(milliseconds, 1000, MomentKind::Duration));
    }
    let (day, clock) =
        (milliseconds.div_euclid(MILLISECONDS), milliseconds.rem_euclid(MILLISECONDS));
    let last = LAST - if is_1904 { 1462.0 } else { 0.0 };
    let from = match day {
        _ if !(0.0..last).contains(&days) => return None,
        0 => return Some(Moment::of(milliseconds, 1000, MomentKind::Clock)),
        _ if is_1904 => Moment::day(1904, 1, 1),
        60 => return None,
        ..60 => Moment::day(1899, 12, 31),
        _ => Moment::day(1899, 12, 30),
    };
    let kind = if clock == 0 { MomentKind::Date } else { MomentKind::Local };
    Some(Moment::of(from.seconds * 1000 + day * MILLISECONDS + clock, 1000, kind))
}

impl<RS: Read + Seek> TableSource for Sheet<'_, RS> {
    fn next(&mut self, blank: bool) -> Result<bool, ReadFailure> {
        self.record.clear();
        if blank && self.width.is_some() {
            if self.next.is_none() {
                self.next = self.cell()?;
            }
            if self.next.as_ref().is_some_and(|next| next.get_position().0 > self.row + 1) {
                self.row += 1;
                self.record.push(ExcelText::default());
                return Ok(true);
            }
        }
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
                        self.record[place] = text(found.get_value(), self.is_1904);
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
            Some(ExcelText { text, number, time, no_time }) => CellText {
                text: text.as_bytes(),
                quoted: false,
                plain: *number,
                time: *time,
                no_time: *no_time,
            },
            None => CellText::default(),
        }
    }

    fn failure(&self, problem: Problem) -> ReadFailure {
        let at = Some(Position { line: self.row as usize + 1, column: 0 });
        ReadFailure { at, ..ReadFailure::from(problem) }
    }
}
