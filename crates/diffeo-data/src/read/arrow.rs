//! Parquet and Arrow files, batch by batch: the columns that belong to fields by name, or all of them by position.
//!
//! Rows count from 1 in messages.

mod lengths;
mod pages;

use super::column::{push, Column};
use super::content::content;
use super::input::Input;
use super::names::places;
use super::time::{Moment, MomentKind};
use super::{Check, Field, ReadFailure};
use crate::error::{BadCell, Content, CsvColumn, Damage, Position, Problem, Row};
use crate::format::Format;
use crate::place::Place;
use crate::shape::{layout, Cell, TableLayout};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Decimal32Type,
    Decimal64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Int8Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use bytes::Bytes;
use diffeo_calculus::ty::{DataDecl, Ty, JUST, NOTHING};
use diffeo_calculus::value::Value;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::ProjectionMask;
use parquet::errors::ParquetError;
use std::io::Cursor;

/// What an Arrow file begins with; a stream begins otherwise.
const ARROW: &[u8] = b"ARROW1";

/// Reads a file.
pub(super) fn read(
    place: &Place,
    field: &Field<'_>,
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let (format, ty) = (place.format, field.ty);
    let layout = layout(ty, datas).ok_or_else(|| Problem::Unsuitable(format, ty.clone()))?;
    let bytes = Input::open(&place.target, check)?.read_all()?;
    if bytes.is_empty() {
        return Err(Problem::Empty.into());
    }
    match content(&bytes) {
        Content::Of(found) if found == format => {}
        // A stream of Arrow may begin with the length of its first part.
        Content::Other if format == Format::Arrow => {}
        content => return Err(Problem::BadFile(format, Damage::IsNone(content)).into()),
    }
    let bad = |damage: Damage| Problem::BadFile(format, damage);
    let mut column = Column::new(ty);
    let mut rows = 0;
    match format {
        Format::Parquet => {
            let bytes = Bytes::from(bytes);
            let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())
                .map_err(|error| bad(of_parquet(&error)))?;
            let wanted = ArrowColumns::new(&layout, builder.schema())?;
            // Only these are read, in the order of the file.
            let mut read: Vec<usize> = wanted.columns.iter().map(|(place, ..)| *place).collect();
            read.sort_unstable();
            read.dedup();
            let mask = ProjectionMask::roots(builder.parquet_schema(), read.iter().copied());
            pages::check(&bytes, &read).map_err(bad)?;
            let batches = builder.with_projection(mask).build();
            for batch in batches.map_err(|error| bad(of_parquet(&error)))? {
                check()?;
                let batch = batch.map_err(|error| bad(of_arrow(&error)))?;
                let of = |place: usize| read.iter().position(|read| *read == place).unwrap_or(0);
                rows += wanted.take(&batch, of, rows, &mut column)?;
            }
        }
        _ => {
            lengths::are_true(&bytes).ok_or_else(|| bad(Damage::broken()))?;
            let bytes = Cursor::new(bytes);
            let failed = |error: ArrowError| bad(of_arrow(&error));
            let is_file = bytes.get_ref().starts_with(ARROW);
            type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;
            let (schema, batches): (_, Batches) = if is_file {
                let reader = FileReader::try_new(bytes, None).map_err(failed)?;
                (reader.schema(), Box::new(reader))
            } else {
                let reader = StreamReader::try_new(bytes, None).map_err(failed)?;
                (reader.schema(), Box::new(reader))
            };
            let wanted = ArrowColumns::new(&layout, &schema)?;
            for batch in batches {
                check()?;
                rows += wanted.take(&batch.map_err(failed)?, |place| place, rows, &mut column)?;
            }
        }
    }
    close(&layout, &mut column);
    Ok(column.into_value().ok_or(Problem::Empty)?)
}

/// What is wrong with a Parquet file, in words of our own: those of the library name its parts.
fn of_parquet(error: &ParquetError) -> Damage {
    not_read(&error.to_string()).unwrap_or_else(Damage::broken)
}

/// What is wrong with an Arrow file, or what was read of a Parquet file.
fn of_arrow(error: &ArrowError) -> Damage {
    not_read(&error.to_string()).unwrap_or_else(Damage::broken)
}

/// Whether an error says that a sound file has what is not read: encryption, or a compression that was left out.
fn not_read(error: &str) -> Option<Damage> {
    const ANEW: &str = "save it with the compression zstd, or none";
    let error = error.to_lowercase();
    if error.contains("encrypt") {
        return Some(Damage::NotRead("it is encrypted".to_string(), "save it without encryption"));
    }
    let word = ["brotli", "lzo"].into_iter().find(|word| error.contains(word))?;
    Some(Damage::NotRead(format!("it is compressed by {word}, which is not read here"), ANEW))
}

/// Makes what was read the arrays of the value.
fn close(layout: &TableLayout<'_>, column: &mut Column) {
    match (layout, column) {
        (TableLayout::Columns(_), Column::Tuple(columns)) => {
            columns.iter_mut().for_each(Column::close)
        }
        (_, column) => column.close(),
    }
}

/// The columns that are wanted: where each stands in the file, its name and its cells.
struct ArrowColumns<'t> {
    columns: Vec<(usize, CsvColumn, Cell<'t>)>,
    /// Whether the cells of a row are an array.
    rows: bool,
}

impl<'t> ArrowColumns<'t> {
    fn new(layout: &TableLayout<'t>, schema: &Schema) -> Result<ArrowColumns<'t>, Problem> {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let column =
            |place: usize| CsvColumn { number: place + 1, name: names.get(place).cloned() };
        let expect = |wanted: usize| match names.len() {
            found if found == wanted => Ok(()),
            found => {
                let first = names.first().cloned().unwrap_or_default();
                Err(Problem::Cells { wanted, found, header: false, first, row: Row::default() })
            }
        };
        let cells: Vec<(usize, Cell<'t>)> = match layout {
            TableLayout::Records(fields) | TableLayout::Columns(fields) => {
                let places = places(&names, fields)?;
                places.into_iter().zip(fields.iter().map(|(_, cell)| *cell)).collect()
            }
            TableLayout::Tuples(cells) => {
                expect(cells.len())?;
                cells.iter().copied().enumerate().collect()
            }
            TableLayout::Rows(cell) => (0..names.len()).map(|place| (place, *cell)).collect(),
            TableLayout::Cells(cell) => {
                expect(1)?;
                vec![(0, *cell)]
            }
        };
        let columns = cells.into_iter().map(|(place, cell)| (place, column(place), cell)).collect();
        Ok(ArrowColumns { columns, rows: matches!(layout, TableLayout::Rows(_)) })
    }

    /// Puts the rows of a batch at the end; how many they are.
    fn take(
        &self,
        batch: &RecordBatch,
        of: impl Fn(usize) -> usize,
        before: usize,
        column: &mut Column,
    ) -> Result<usize, ReadFailure> {
        let mut read = Vec::new();
        for (place, name, cell) in &self.columns {
            let array = batch.column(of(*place));
            let values = values(array.as_ref()).ok_or_else(|| {
                let held = kind(array.data_type()).to_string();
                Problem::ColumnType(name.clone(), cell.ty.clone(), held)
            })?;
            read.push((name, cell, values));
        }
        let at = |row: usize, problem: Problem| {
            let at = Some(Position { line: before + row + 1, column: 0 });
            ReadFailure { at, ..ReadFailure::from(problem) }
        };
        let rows = batch.num_rows();
        if let (true, Column::Rows { elements, .. }) = (self.rows, &mut *column) {
            if let Column::Rows { width, count, elements } = &mut **elements {
                for row in 0..rows {
                    for (name, cell, values) in &read {
                        let value = values.get(row).and_then(Option::as_ref);
                        put(value, name, cell, elements).map_err(|problem| at(row, problem))?;
                    }
                }
                *count += rows;
                *width = Some(read.len());
                return Ok(rows);
            }
        }
        let columns: Vec<&mut Column> = match column {
            Column::Rows { elements, .. } => match &mut **elements {
                Column::Tuple(columns) => columns.iter_mut().collect(),
                column => vec![column],
            },
            Column::Tuple(columns) => columns
                .iter_mut()
                .filter_map(|column| match column {
                    Column::Rows { elements, .. } => Some(&mut **elements),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        for ((name, cell, values), column) in read.iter().zip(columns) {
            for (row, value) in values.iter().enumerate() {
                put(value.as_ref(), name, cell, column).map_err(|problem| at(row, problem))?;
            }
        }
        Ok(rows)
    }
}

/// A value of a file.
#[derive(Clone, PartialEq, Debug)]
enum ArrowScalar {
    Real(f64),
    Int(i128),
    Bool(bool),
    Text(String),
    Time(Moment),
}

impl ArrowScalar {
    fn text(&self) -> String {
        match self {
            ArrowScalar::Real(r) => r.to_string(),
            ArrowScalar::Int(i) => i.to_string(),
            ArrowScalar::Bool(b) => b.to_string(),
            ArrowScalar::Text(text) => text.clone(),
            ArrowScalar::Time(moment) => moment.text(),
        }
    }

    fn real(&self) -> Option<f64> {
        match self {
            ArrowScalar::Real(r) => Some(*r),
            ArrowScalar::Int(i) => Some(*i as f64),
            ArrowScalar::Time(moment) => Some(moment.real()),
            ArrowScalar::Bool(_) | ArrowScalar::Text(_) => None,
        }
    }

    fn int(&self) -> Option<i64> {
        match self {
            ArrowScalar::Int(i) => i64::try_from(*i).ok(),
            // Other programs make Reals of whole numbers where some are missing.
            ArrowScalar::Real(r) if r.fract() == 0.0 && r.abs() < 9e15 => Some(*r as i64),
            ArrowScalar::Real(_)
            | ArrowScalar::Bool(_)
            | ArrowScalar::Text(_)
            | ArrowScalar::Time(_) => None,
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            ArrowScalar::Bool(b) => Some(*b),
            ArrowScalar::Int(i @ (0 | 1)) => Some(*i == 1),
            ArrowScalar::Int(_)
            | ArrowScalar::Real(_)
            | ArrowScalar::Text(_)
            | ArrowScalar::Time(_) => None,
        }
    }

    fn value(&self, ty: &Ty) -> Option<Value> {
        match (ty, self) {
            (Ty::Real, _) => self.real().map(Value::Real),
            (Ty::Int, _) => self.int().map(Value::Int),
            (Ty::Bool, _) => self.truth().map(Value::Bool),
            (Ty::String, ArrowScalar::Text(_) | ArrowScalar::Time(_)) => {
                Some(Value::string(&self.text()))
            }
            _ => None,
        }
    }
}

/// Puts a value at the end of a column.
fn put(
    value: Option<&ArrowScalar>,
    name: &CsvColumn,
    cell: &Cell<'_>,
    column: &mut Column,
) -> Result<(), Problem> {
    let is_nan = matches!(value, Some(ArrowScalar::Real(r)) if r.is_nan());
    let ty = || cell.ty.clone();
    let Some(value) = value.filter(|_| !(is_nan && cell.maybe)) else {
        return match (cell.maybe, column) {
            (true, Column::Other(values)) => {
                push(values, Value::data(NOTHING, []));
                Ok(())
            }
            _ => Err(Problem::MissingCell(name.clone(), ty(), String::new(), Row::default())),
        };
    };
    let done = match column {
        Column::Real(reals) => value.real().map(|real| push(reals, real)),
        Column::Int(ints) => value.int().map(|int| push(ints, int)),
        Column::Bool(bools) => value.truth().map(|truth| push(bools, truth)),
        Column::Other(values) => value.value(cell.scalar).map(|value| match cell.maybe {
            true => push(values, Value::data(JUST, [value])),
            false => push(values, value),
        }),
        Column::Tuple(_) | Column::Rows { .. } => None,
    };
    let wrong = || {
        Problem::Cell(Box::new(BadCell {
            column: name.clone(),
            ty: ty(),
            text: value.text(),
            ways: Vec::new(),
            row: Row::default(),
        }))
    };
    done.ok_or_else(wrong)
}

/// What an array holds, if that is numbers, truth values, texts or times.
fn values(array: &dyn Array) -> Option<Vec<Option<ArrowScalar>>> {
    use DataType as T;
    let real = ArrowScalar::Real;
    let int = |i| ArrowScalar::Int(i);
    let time = |units, kind| move |count| ArrowScalar::Time(Moment::of(count, units, kind));
    let text = |text: Option<&str>| text.map(|text| ArrowScalar::Text(text.to_string()));
    // By the digits, so that the number is rounded once.
    let decimal = |digits: String, scale: i8| {
        let number = format!("{digits}e{}", -i32::from(scale)).parse();
        ArrowScalar::Real(number.unwrap_or(f64::NAN))
    };
    Some(match array.data_type() {
        T::Null => vec![None; array.len()],
        T::Boolean => array.as_boolean().iter().map(|b| b.map(ArrowScalar::Bool)).collect(),
        T::Int8 => each::<Int8Type>(array, |i| int(i.into())),
        T::Int16 => each::<Int16Type>(array, |i| int(i.into())),
        T::Int32 => each::<Int32Type>(array, |i| int(i.into())),
        T::Int64 => each::<Int64Type>(array, |i| int(i.into())),
        T::UInt8 => each::<UInt8Type>(array, |i| int(i.into())),
        T::UInt16 => each::<UInt16Type>(array, |i| int(i.into())),
        T::UInt32 => each::<UInt32Type>(array, |i| int(i.into())),
        T::UInt64 => each::<UInt64Type>(array, |i| int(i.into())),
        T::Float16 => each::<Float16Type>(array, |r| real(r.into())),
        T::Float32 => each::<Float32Type>(array, |r| real(r.into())),
        T::Float64 => each::<Float64Type>(array, real),
        T::Decimal32(_, s) => each::<Decimal32Type>(array, |d| decimal(d.to_string(), *s)),
        T::Decimal64(_, s) => each::<Decimal64Type>(array, |d| decimal(d.to_string(), *s)),
        T::Decimal128(_, s) => each::<Decimal128Type>(array, |d| decimal(d.to_string(), *s)),
        T::Decimal256(_, s) => each::<Decimal256Type>(array, |d| decimal(d.to_string(), *s)),
        T::Utf8 => array.as_string::<i32>().iter().map(text).collect(),
        T::LargeUtf8 => array.as_string::<i64>().iter().map(text).collect(),
        T::Utf8View => array.as_string_view().iter().map(text).collect(),
        T::Date32 => each::<Date32Type>(array, |days| {
            ArrowScalar::Time(Moment::of(i64::from(days) * 86_400, 1, MomentKind::Date))
        }),
        T::Date64 => each::<Date64Type>(array, time(1_000, MomentKind::Date)),
        T::Timestamp(unit, zone) => {
            let kind = if zone.is_some() { MomentKind::Utc } else { MomentKind::Local };
            match unit {
                TimeUnit::Second => each::<TimestampSecondType>(array, time(1, kind)),
                TimeUnit::Millisecond => each::<TimestampMillisecondType>(array, time(1_000, kind)),
                TimeUnit::Microsecond => {
                    each::<TimestampMicrosecondType>(array, time(1_000_000, kind))
                }
                TimeUnit::Nanosecond => {
                    each::<TimestampNanosecondType>(array, time(1_000_000_000, kind))
                }
            }
        }
        T::Time32(TimeUnit::Second) => {
            each::<Time32SecondType>(array, |t| time(1, MomentKind::Clock)(t.into()))
        }
        T::Time32(_) => {
            each::<Time32MillisecondType>(array, |t| time(1_000, MomentKind::Clock)(t.into()))
        }
        T::Time64(TimeUnit::Nanosecond) => {
            each::<Time64NanosecondType>(array, time(1_000_000_000, MomentKind::Clock))
        }
        T::Time64(_) => each::<Time64MicrosecondType>(array, time(1_000_000, MomentKind::Clock)),
        T::Duration(unit) => {
            let kind = MomentKind::Duration;
            match unit {
                TimeUnit::Second => each::<DurationSecondType>(array, time(1, kind)),
                TimeUnit::Millisecond => each::<DurationMillisecondType>(array, time(1_000, kind)),
                TimeUnit::Microsecond => {
                    each::<DurationMicrosecondType>(array, time(1_000_000, kind))
                }
                TimeUnit::Nanosecond => {
                    each::<DurationNanosecondType>(array, time(1_000_000_000, kind))
                }
            }
        }
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let entries = values(dictionary.values().as_ref())?;
            if entries.is_empty() {
                return Some(vec![None; array.len()]);
            }
            let keys = dictionary.normalized_keys();
            let entry = |(i, key): (usize, usize)| match dictionary.keys().is_null(i) {
                true => None,
                false => entries.get(key).cloned().flatten(),
            };
            keys.into_iter().enumerate().map(entry).collect()
        }
        // Nested values, bytes, intervals, runs.
        _ => return None,
    })
}

/// What values that are not read are, in words.
fn kind(ty: &DataType) -> &'static str {
    use DataType as T;
    match ty {
        T::List(_)
        | T::LargeList(_)
        | T::FixedSizeList(..)
        | T::ListView(_)
        | T::LargeListView(_) => "lists",
        T::Struct(_) => "records",
        T::Map(..) => "maps",
        T::Binary | T::LargeBinary | T::FixedSizeBinary(_) | T::BinaryView => "bytes",
        T::Interval(_) => "intervals of the calendar",
        T::Union(..) => "values of several types",
        _ => "values of a type that is not read here",
    }
}

fn each<T: ArrowPrimitiveType>(
    array: &dyn Array,
    scalar: impl Fn(T::Native) -> ArrowScalar,
) -> Vec<Option<ArrowScalar>> {
    array.as_primitive::<T>().iter().map(|value| value.map(&scalar)).collect()
}
