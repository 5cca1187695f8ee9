//! Workbooks of Excel: the cells of a sheet as texts, row by row, read as those of any other table.
//!
//! The cells come in their order and not as a rectangle, which a single cell far away would make larger than any
//! memory. What the library has opened of a workbook is read to its end first: it stops before the checksums.

mod order;

use super::archive::Archive;
use super::cell::CellText;
use super::column::Column;
use super::content::content;
use super::input::Input;
use super::table::{Table, TableSource};
use super::time::{Moment, MomentKind};
use super::{Check, Field, ReadFailure};
use crate::error::{Content, Damage, Position, Problem};
use crate::format::Format;
use crate::message::short;
use crate::options::DataOptions;
use crate::place::Place;
use crate::shape::{layout, TableLayout};
use bytes::Bytes;
use calamine::{Cell, DataRef, Reader, SheetType, SheetVisible, Xlsx, XlsxCellReader, XlsxError};
use diffeo_calculus::ty::DataDecl;
use diffeo_calculus::value::Value;
use std::cell::RefCell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

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
    match content(&bytes) {
        Content::Zip => {}
        content => return Err(Problem::BadFile(Format::Excel, Damage::IsNone(content)).into()),
    }
    let mut parts = Parts::new(Bytes::from(bytes), check)?;
    let book = Xlsx::new(parts.source());
    parts.check()?;
    let mut book = book.map_err(bad)?;
    let name = sheet(&book, options.sheet.as_deref())?;
    let named = matches!(layout, TableLayout::Records(_) | TableLayout::Columns(_));
    let is_1904 = book.has_1904_epoch();
    let cells = book.worksheet_cells_reader(&name);
    parts.check_sheet()?;
    let sheet = Sheet {
        is_1904,
        cells: cells.map_err(bad)?,
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
    table.read(&layout, field.order(&layout).as_deref(), &mut column)?;
    Ok(column.into_value().ok_or(Problem::Empty)?)
}

/// The name of the sheet with this name, or of the first one, which is to be one that people see.
fn sheet<R: Read + Seek>(book: &Xlsx<R>, wanted: Option<&str>) -> Result<String, Problem> {
    let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let sheets: Vec<_> = sheets.collect();
    let names = || sheets.iter().map(|sheet| sheet.name.clone()).collect();
    let is_hidden = |visible| visible != SheetVisible::Visible;
    let found = match wanted {
        Some(name) => sheets.iter().find(|sheet| sheet.name == name),
        None => sheets.first(),
    };
    let Some(found) = found else {
        return Err(Problem::NoSheet(wanted.map(str::to_string), names()));
    };
    if sheets.iter().filter(|sheet| sheet.name == found.name).count() > 1 {
        return Err(broken(format!("it has two sheets `{}`", short(&found.name))));
    }
    if wanted.is_none() && is_hidden(found.visible) {
        let shown = sheets.iter().find(|sheet| !is_hidden(sheet.visible));
        return Err(Problem::HiddenSheet(
            found.name.clone(),
            shown.map(|sheet| sheet.name.clone()),
        ));
    }
    Ok(found.name.clone())
}

/// The parts of a workbook, and the places in it that the library has gone to: so it is known what it reads.
struct Parts<'a> {
    archive: Archive<Cursor<Bytes>>,
    bytes: Bytes,
    sought: Rc<RefCell<Vec<u64>>>,
    check: Check<'a>,
}

impl<'a> Parts<'a> {
    fn new(bytes: Bytes, check: Check<'a>) -> Result<Parts<'a>, ReadFailure> {
        let archive = Archive::open(Cursor::new(bytes.clone()), Format::Excel)?;
        Ok(Parts { archive, bytes, sought: Rc::default(), check })
    }

    /// The workbook, for the library.
    fn source(&self) -> Source {
        Source { bytes: Cursor::new(self.bytes.clone()), sought: self.sought.clone() }
    }

    /// The parts that the library has opened.
    fn opened(&mut self) -> Vec<usize> {
        let sought = std::mem::take(&mut *self.sought.borrow_mut());
        let parts = 0..self.archive.len();
        parts
            .filter(|place| self.archive.start(*place).is_some_and(|at| sought.contains(&at)))
            .collect()
    }

    /// Reads those parts to their ends.
    fn check(&mut self) -> Result<(), ReadFailure> {
        for place in self.opened() {
            io::copy(&mut self.archive.member(place)?, &mut io::sink())?;
            (self.check)()?;
        }
        Ok(())
    }

    /// Reads the sheet that the library has opened to its end, and looks at the order of its cells.
    fn check_sheet(&mut self) -> Result<(), ReadFailure> {
        for place in self.opened() {
            order::check_order(self.archive.member(place)?, self.check)?;
        }
        Ok(())
    }
}

/// The bytes of a workbook, and each place that is gone to.
struct Source {
    bytes: Cursor<Bytes>,
    sought: Rc<RefCell<Vec<u64>>>,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = self.bytes.seek(to)?;
        self.sought.borrow_mut().push(place);
        Ok(place)
    }
}

fn broken(what: String) -> Problem {
    Problem::BadFile(Format::Excel, Damage::Broken(what))
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
