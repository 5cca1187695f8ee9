//! Tables and columns: frames of pandas and polars, structured arrays, series, masked arrays. They know which of their cells
//! are missing, and a missing cell needs a type for it.

use crate::error::misfit_with_help;
use crate::given::{Given, ValuePath};
use diffeo::{closest, Name, Type, Value, WellKnown};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyTuple};
use std::borrow::Cow;

/// The first whole number that is too large for an Int.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// The value of a Maybe that is not there.
pub const NOTHING: Value<'static> = Value::Variant(Cow::Borrowed("Nothing"), Vec::new());

impl<'py> Given<'py> {
    /// The rows of a frame or a structured array, as an array of records.
    pub(crate) fn rows(
        &mut self,
        table: &Bound<'py, PyAny>,
        fields: &[(Name, Type)],
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let mut columns = Vec::new();
        for (name, ty) in fields {
            let column = self.named_column(table, name, path)?;
            let missing = missing(&column)?;
            columns.push((name, ty, items(&column)?, missing));
        }
        let rows = columns.first().map_or(0, |(_, _, items, _)| items.len());
        let mut out = Vec::with_capacity(rows);
        for i in 0..rows {
            let mut record = Vec::with_capacity(columns.len());
            for (name, ty, items, missing) in &columns {
                let at = path.step(format_args!("[{i}].{name}"));
                let missing = missing.as_ref().is_some_and(|missing| missing[i]);
                let part = self.cell(&items[i], ty, Some(name), missing, &at)?;
                record.push((Cow::Owned(name.to_string()), part));
            }
            out.push(Value::Record(record));
        }
        Ok(Value::Array(out))
    }

    /// The columns of a frame or a structured array, or the cells of one of its rows, as a record.
    pub(crate) fn columns(
        &mut self,
        table: &Bound<'py, PyAny>,
        fields: &[(Name, Type)],
        path: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let (is_row, is_series) = (!is_frame(table)?, is_series(table)?);
        let mut record = Vec::with_capacity(fields.len());
        for (name, ty) in fields {
            let column = self.named_column(table, name, path)?;
            let at = path.step(format_args!(".{name}"));
            let part = match ty {
                Type::Array(_, element) => self.column(&column, element, Some(name), &at)?,
                // To a series of pandas, a nan is missing.
                _ if is_row => {
                    let is_nan = || column.extract::<f64>().is_ok_and(f64::is_nan);
                    let missing = is_missing(&column)? || is_series && is_nan();
                    Some(self.cell(&column, ty, Some(name), missing, &at)?)
                }
                _ => None,
            };
            let part = match part {
                Some(part) => part,
                None => self.value(&column, ty, &at)?,
            };
            record.push((Cow::Owned(name.to_string()), part));
        }
        Ok(Value::Record(record))
    }

    fn named_column(
        &self,
        table: &Bound<'py, PyAny>,
        name: &Name,
        path: &ValuePath,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = column_names(table)?;
        if known.iter().any(|known| *known == **name) {
            return table.get_item(&**name);
        }
        let text = format!("{path}: there is no column `{name}`");
        let near = closest(name, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let help = format!("{near}the columns are {}", known.join(", "));
        Err(misfit_with_help(self.py, text, help))
    }

    /// The elements of a column or another array that knows which of its cells are missing, where they are Maybes. None where
    /// it is an array as any other: nothing is missing.
    ///
    /// # Errors
    /// A cell is missing that has no Maybe type, or does not fit.
    pub(crate) fn column(
        &mut self,
        column: &Bound<'py, PyAny>,
        element: &Type,
        name: Option<&Name>,
        path: &ValuePath,
    ) -> PyResult<Option<Value<'static>>> {
        if column.is_exact_instance_of::<PyUntypedArray>() && name.is_none() {
            return Ok(None);
        }
        let masked = is_masked(column)?;
        let array = column.cast::<PyUntypedArray>().ok().filter(|array| array.ndim() != 1);
        if let (Some(array), Type::Array(..), true) = (array, element, masked) {
            let rows = (0..array.shape().first().copied().unwrap_or(0)).map(|i| {
                self.value(&column.get_item(i)?, element, &path.step(format_args!("[{i}]")))
            });
            return rows.collect::<PyResult<Vec<_>>>().map(|rows| Some(Value::Array(rows)));
        }
        let maybe = element.is(WellKnown::Maybe);
        let missing = match missing(column)? {
            Some(missing) => missing,
            // A column of a structured array.
            None if maybe && name.is_some() => vec![false; column.len()?],
            None => return Ok(None),
        };
        if !maybe && !missing.contains(&true) {
            return Ok(None);
        }
        let cells = items(column)?.into_iter().zip(missing).enumerate();
        let cells = cells.map(|(i, (cell, missing))| {
            let at = path.step(format_args!("[{i}]"));
            match masked && !missing {
                true => self.value(&cell, element, &at),
                false => self.cell(&cell, element, name, missing, &at),
            }
        });
        cells.collect::<PyResult<Vec<_>>>().map(|cells| Some(Value::Array(cells)))
    }

    /// Refuses a frame as an array of numbers if a cell is missing.
    pub(crate) fn refuse_missing_cells(
        &mut self,
        frame: &Bound<'py, PyAny>,
        element: &Type,
        path: &ValuePath,
    ) -> PyResult<()> {
        let columns: Vec<Bound<'py, PyAny>> = match frame.hasattr("get_columns")? {
            true => frame.call_method0("get_columns")?.try_iter()?.collect::<PyResult<_>>()?,
            false => {
                let items = frame.call_method0("items")?;
                let columns = items.try_iter()?.map(|item| item?.get_item(1));
                columns.collect::<PyResult<_>>()?
            }
        };
        for (name, column) in column_names(frame)?.iter().zip(columns) {
            let missing = missing(&column)?.unwrap_or_default();
            if let Some(i) = missing.iter().position(|missing| *missing) {
                let at = path.step(format_args!("[{i}].{name}"));
                let cell = items(&column)?.swap_remove(i);
                self.cell(&cell, element, Some(&Name::from(name.as_str())), true, &at)?;
            }
        }
        Ok(())
    }

    /// A cell of a frame, as of a table in a file: where it is missing it needs a Maybe type, and whole numbers are an Int
    /// also where pandas has made them floats because some are missing.
    fn cell(
        &mut self,
        item: &Bound<'py, PyAny>,
        ty: &Type,
        name: Option<&Name>,
        missing: bool,
        at: &ValuePath,
    ) -> PyResult<Value<'static>> {
        let maybe = ty.is(WellKnown::Maybe);
        let real = match is_missing(item)? {
            true => None,
            false => item.extract::<f64>().ok(),
        };
        if maybe && (missing || real.is_some_and(f64::is_nan)) {
            return Ok(NOTHING);
        }
        if missing {
            return self.missing(item, ty, name, at);
        }
        let is_int = match ty {
            Type::Variant(_, args) => maybe && matches!(args.first(), Some(Type::Int)),
            ty => matches!(ty, Type::Int),
        };
        let whole = real.filter(|x| is_int && x.trunc() == *x && x.abs() < TWO_TO_63);
        match whole.filter(|_| item.is_instance_of::<PyFloat>()) {
            Some(x) => self.value(PyInt::new(self.py, x as i64).as_any(), ty, at),
            None => self.value(item, ty, at),
        }
    }

    /// The exception for a value that is missing and has no type for that.
    pub(crate) fn missing<T>(
        &self,
        item: &Bound<'py, PyAny>,
        ty: &Type,
        column: Option<&Name>,
        at: &ValuePath,
    ) -> PyResult<T> {
        let masked = &*item.get_type().name()?.to_cow()? == "MaskedConstant";
        let (is, found) = match item.is_none() {
            true => ("empty".to_string(), "a value of type NoneType".to_string()),
            false if masked => ("masked".to_string(), "a masked element".to_string()),
            false => {
                let shown = format!("`{}`, a missing value", item.str()?);
                (shown.clone(), shown)
            }
        };
        let (text, has) = match column {
            Some(name) => (
                format!("{at}: column `{name}` must be of type `{ty}`, but it is {is}"),
                "a column with missing cells has",
            ),
            None => (format!("{at}: expected {ty}, found {found}"), "what may be missing has"),
        };
        Err(misfit_with_help(self.py, text, format!("{has} the type `Maybe[{ty}]`")))
    }
}

/// True of a frame of pandas or polars.
pub fn is_frame(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyUntypedArray>() || value.is_instance_of::<PyList>() {
        return Ok(false);
    }
    Ok(value.hasattr("columns")? && value.hasattr("to_numpy")?)
}

/// True of a value with named columns: a frame, a structured array, or one row of these.
pub fn is_table(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyDict>() {
        return Ok(false);
    }
    let names = match value.getattr_opt("dtype")? {
        Some(dtype) => dtype.getattr_opt("names")?.is_some_and(|names| !names.is_none()),
        None => false,
    };
    Ok(names || is_frame(value)? || is_series(value)?)
}

/// True of a series of pandas, whose elements have names.
fn is_series(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("isna")? && value.hasattr("index")? && value.hasattr("keys")?)
}

/// The names of the columns of a table.
fn column_names(table: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let names = if is_frame(table)? {
        table.getattr("columns")?
    } else if is_series(table)? {
        table.call_method0("keys")?
    } else {
        table.getattr("dtype")?.getattr("names")?
    };
    names.try_iter()?.map(|name| Ok(name?.str()?.to_string())).collect()
}

/// True of a masked array of NumPy's.
fn is_masked(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = value.is_instance_of::<PyUntypedArray>();
    Ok(array && !value.is_exact_instance_of::<PyUntypedArray>() && value.hasattr("mask")?)
}

/// True of a value that stands for a missing one: None, the NA and NaT of pandas, the masked element of NumPy.
pub fn is_missing(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    let class = value.get_type().name()?;
    Ok(value.is_none() || matches!(&*class.to_cow()?, "NAType" | "NaTType" | "MaskedConstant"))
}

/// The items of a column of a frame or a structured array.
fn items<'py>(column: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if is_masked(column)? {
        return column.try_iter()?.collect();
    }
    let list = match column.hasattr("tolist")? {
        true => column.call_method0("tolist")?,
        false => column.call_method0("to_list")?,
    };
    Ok(list.cast::<PyList>().map_err(PyErr::from)?.iter().collect())
}

/// The cells of a column that it calls missing: to pandas these are nan, too, to polars nulls alone, to a masked array those
/// under the mask. Other arrays and lists have none.
fn missing(column: &Bound<'_, PyAny>) -> PyResult<Option<Vec<bool>>> {
    if column.is_instance_of::<PyList>() || column.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let cells = if is_masked(column)? {
        let mask = column.py().import("numpy.ma")?.call_method1("getmaskarray", (column,))?;
        mask.call_method0("tolist")?
    } else {
        let known = ["isna", "is_null"].into_iter().find(|m| column.hasattr(m).unwrap_or(false));
        let Some(method) = known else { return Ok(None) };
        if !column.hasattr("tolist")? && !column.hasattr("to_list")? {
            return Ok(None);
        }
        let missing = column.call_method0(method)?;
        match missing.hasattr("tolist")? {
            true => missing.call_method0("tolist")?,
            false => missing.call_method0("to_list")?,
        }
    };
    match cells.cast::<PyList>() {
        Ok(cells) => cells.iter().map(|cell| cell.extract()).collect::<PyResult<_>>().map(Some),
        Err(_) => Ok(None),
    }
}
