//! Results into data files: `.json`, `.npy` and `.csv`.
//!
//! A file is written beside its place and then renamed to it, so that a failure leaves what was
//! there.

use super::csv::{cell_type, layout, Layout};
use super::error::{DataError, Problem, Source};
use super::{json, npy, reason, Format};
use diffeo_calculus::array::Array;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Whether results of this type can be written to a file with this name.
pub fn check_writable(path: &Path, ty: &Ty, datas: &[DataDecl]) -> Result<(), Box<DataError>> {
    let problem = match Format::of(&path.to_string_lossy()) {
        Some(Format::Json) => None,
        Some(format @ Format::Npy) => {
            npy::leaf(ty).is_none().then(|| Problem::Unsuitable(format, ty.clone()))
        }
        Some(format @ Format::Csv) => {
            layout(ty, datas).is_none().then(|| Problem::Unsuitable(format, ty.clone()))
        }
        Some(format @ Format::Npz) => Some(Problem::Unsuitable(format, ty.clone())),
        None => Some(Problem::Unwritable(
            "the name of a result's file ends in .json, .npy or .csv".to_string(),
        )),
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(writing(path, problem)),
    }
}

fn writing(path: &Path, problem: Problem) -> Box<DataError> {
    let source = Source::File(path.to_path_buf());
    Box::new(DataError { field: None, source, at: None, problem })
}

/// Writes a value to the file, in the format that the file's name ends in.
pub fn write_file(
    path: &Path,
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<(), Box<DataError>> {
    check_writable(path, ty, datas)?;
    let failed = |error: io::Error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "there is no such folder".to_string(),
            _ => reason(&error),
        };
        writing(path, Problem::Unwritable(reason))
    };
    // A link stays what it is; the file that it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if target.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let (beside, file) = create_beside(&target).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = match Format::of(&path.to_string_lossy()) {
        Some(Format::Npy) => write_npy(&mut out, value, ty),
        Some(Format::Csv) => write_csv(&mut out, value, ty, datas),
        Some(Format::Json | Format::Npz) | None => {
            json::to_json(&mut out, value, ty, datas).and_then(|()| out.write_all(b"\n"))
        }
    };
    let written = written
        .and_then(|()| out.flush())
        .and_then(|()| match fs::metadata(&target) {
            Ok(old) => fs::set_permissions(&beside, old.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| fs::rename(&beside, &target));
    written.map_err(|error| {
        // The first failure is the one to report.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// A new file in the same folder.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().unwrap_or_default();
    let mut attempt = 0;
    loop {
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let beside = target.with_file_name(beside);
        match File::options().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn write_npy(out: &mut impl Write, value: &Value, ty: &Ty) -> io::Result<()> {
    let Some((element, rank)) = npy::leaf(ty) else { return Err(unexpected()) };
    let Value::Array(array) = value else {
        npy::write_header(out, element, &[])?;
        return write_number(out, value);
    };
    let mut shape = vec![array.len()];
    let mut flat = (**array).clone();
    for _ in 1..rank {
        // Where nothing determined the length of rows there are none, and 0 is as good as any.
        let (width, elements) = flat.flat().unwrap_or((0, Array::empty()));
        shape.push(width);
        flat = elements;
    }
    npy::write_header(out, element, &shape)?;
    if let Some(reals) = flat.reals() {
        reals.iter().try_for_each(|r| out.write_all(&r.to_le_bytes()))
    } else {
        flat.iter().try_for_each(|number| write_number(out, &number))
    }
}

fn write_number(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Real(r) => out.write_all(&r.to_le_bytes()),
        Value::Int(i) => out.write_all(&i.to_le_bytes()),
        Value::Bool(b) => out.write_all(&[u8::from(*b)]),
        _ => Err(unexpected()),
    }
}

fn write_csv(out: &mut impl Write, value: &Value, ty: &Ty, datas: &[DataDecl]) -> io::Result<()> {
    let (Some(layout), Value::Array(rows)) = (layout(ty, datas), value) else {
        return Err(unexpected());
    };
    let mut lines = csv::WriterBuilder::new().flexible(true).from_writer(out);
    if let Layout::Records(fields) = &layout {
        lines.write_record(fields.iter().map(|(name, _)| name.as_bytes()))?;
    }
    let mut cells = Vec::new();
    for i in 0..rows.len() {
        cells.clear();
        let row = rows.get(i);
        match (&layout, &row) {
            (Layout::Records(fields), Value::Tuple(_)) => {
                for ((_, ty), component) in fields.iter().zip(row.fields()) {
                    cells.push(cell(component, ty, datas)?);
                }
            }
            (Layout::Tuples(types), Value::Tuple(_)) => {
                for (ty, component) in types.iter().zip(row.fields()) {
                    cells.push(cell(component, ty, datas)?);
                }
            }
            (Layout::Rows(ty), Value::Array(row)) => {
                for j in 0..row.len() {
                    cells.push(cell(&row.get(j), ty, datas)?);
                }
            }
            (Layout::Cells(ty), _) => cells.push(cell(&row, ty, datas)?),
            (Layout::Records(_) | Layout::Tuples(_) | Layout::Rows(_), _) => {
                return Err(unexpected());
            }
        }
        lines.write_record(&cells)?;
    }
    lines.flush()
}

/// A cell as it is read back; nothing for `Nothing`.
fn cell(value: &Value, ty: &Ty, datas: &[DataDecl]) -> io::Result<String> {
    match (value, cell_type(ty, datas)) {
        (Value::Real(r), _) if r.is_finite() => Ok(serde_json::to_string(r)?),
        (Value::Real(r), _) => Ok(if r.is_nan() { "nan".to_string() } else { r.to_string() }),
        (Value::Int(i), _) => Ok(i.to_string()),
        (Value::Bool(b), _) => Ok(b.to_string()),
        (Value::String(text), _) => Ok(text.to_string()),
        (Value::Data(data), Some((inner, Some(tags)))) if data.tag == tags.just => {
            data.fields.first().map_or_else(|| Err(unexpected()), |v| cell(v, inner, datas))
        }
        (Value::Data(_), Some((_, Some(_)))) => Ok(String::new()),
        _ => Err(unexpected()),
    }
}

/// A value that is not of its type.
fn unexpected() -> io::Error {
    io::Error::other("the value is not of its type")
}
