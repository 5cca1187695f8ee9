//! Results into data files, as they are written: nothing but a buffer stands between the value and
//! the file.
//!
//! Files are written beside their places, and renamed to them when all is written, so that a failure leaves what was
//! there, and nothing else. A pipe or a device, and standard output, are written to directly.

mod csv;
mod json;
mod npy;

pub use json::{printable_json, to_json};

use super::error::{ColumnLengths, DataError, DataSource, Given, Problem};
use super::format::Format;
use super::place::{Place, Target};
use super::read::Check;
use super::{reason, BUFFER};
use diffeo_calculus::eval::leftovers;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use diffeo_front::interface::Type;
use flate2::{write::GzEncoder, Compression};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// True if results of this type, or the part of a result that has this name, can be written to this place.
pub fn check_writable(
    place: &Place,
    part: &str,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<(), Box<DataError>> {
    let refused = |problem| Err(writing(&place.target, part, problem));
    let Some(fits) = place.format.info().written else {
        return refused(Problem::ReadOnly(place.format));
    };
    let fits = fits(ty, datas);
    match place.options.first() {
        Some(option) => refused(Problem::WriteOption(option.clone())),
        None if !fits => refused(Problem::Unsuitable(place.format, ty.clone())),
        None => Ok(()),
    }
}

fn writing(target: &Target, part: &str, problem: Problem) -> Box<DataError> {
    let source = match target {
        Target::Standard => DataSource::StandardOutput,
        Target::File(path) => DataSource::File(path.clone()),
    };
    let part = part.to_string();
    Box::new(DataError { field: None, part, source, given: Given::default(), at: None, problem })
}

/// A value, or a part of one, and where it goes.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The file or stream.
    pub place: &'a Place,
    /// The field of the result that is written, as `--out` names it; the empty text for the whole result.
    pub part: &'a str,
    /// The value.
    pub value: &'a Value,
    /// Its type.
    pub ty: &'a Ty,
    /// Its type in the interface of the program, with the order of fields, for tables.
    pub interface: Option<&'a Type>,
}

/// Writes values to their places. Files are written within the bounds of `check`, and all of them or none; other places
/// may wait.
///
/// # Errors
/// A type does not suit its place, or what went wrong there.
pub fn write_results(
    outputs: &[Output<'_>],
    datas: &[DataDecl],
    check: Check<'_>,
) -> Result<(), Box<DataError>> {
    let (mut staged, mut direct) = (Vec::new(), Vec::new());
    for output in outputs {
        check_writable(output.place, output.part, output.ty, datas)?;
        let write = |out: &mut dyn Write| encode(out, output, datas);
        let failed = |error| failure(&output.place.target, output.part, &error);
        match &output.place.target {
            Target::Standard => direct.push((output, None)),
            Target::File(path) if path == Path::new("/dev/stdout") => direct.push((output, None)),
            Target::File(path) => match stage(path, check, write).map_err(failed)? {
                Some(file) => staged.push((output, file)),
                None => direct.push((output, Some(path))),
            },
        }
    }
    for (output, path) in direct {
        let written = match path {
            None => encode(&mut io::stdout().lock(), output, datas),
            Some(path) => File::options()
                .write(true)
                .open(path)
                .and_then(|mut file| encode(&mut file, output, datas)),
        };
        written.map_err(|error| failure(&output.place.target, output.part, &error))?;
    }
    for (output, file) in staged {
        file.put().map_err(|error| failure(&output.place.target, output.part, &error))?;
    }
    Ok(())
}

/// Writes bytes to a place, as a result is written.
///
/// # Errors
/// What went wrong there.
pub fn write_bytes(target: &Target, bytes: &[u8], check: Check<'_>) -> Result<(), Box<DataError>> {
    let write = |out: &mut dyn Write| {
        out.write_all(bytes)?;
        out.flush()
    };
    let written = match target {
        Target::Standard => write(&mut io::stdout().lock()),
        Target::File(path) if path == Path::new("/dev/stdout") => write(&mut io::stdout().lock()),
        Target::File(path) => stage(path, check, write).and_then(|staged| match staged {
            Some(file) => file.put(),
            None => write(&mut File::options().write(true).open(path)?),
        }),
    };
    written.map_err(|error| failure(target, "", &error))
}

/// A value that the format cannot hold though its type fits, on its way through what writes.
#[derive(Debug)]
struct Misfitting(ColumnLengths);

impl fmt::Display for Misfitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the format cannot hold this value")
    }
}

impl std::error::Error for Misfitting {}

/// The error for a value that the format cannot hold.
fn misfitting(lengths: ColumnLengths) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, Misfitting(lengths))
}

fn failure(target: &Target, part: &str, error: &io::Error) -> Box<DataError> {
    let misfit = error.get_ref().and_then(|inner| inner.downcast_ref::<Misfitting>());
    let problem = match (misfit, error.kind()) {
        (Some(Misfitting(lengths)), _) => Problem::Lengths(lengths.clone()),
        (None, io::ErrorKind::BrokenPipe) => Problem::Closed,
        (None, io::ErrorKind::NotFound) => {
            Problem::Unwritable("there is no such folder".to_string())
        }
        (None, _) => Problem::Unwritable(reason(error)),
    };
    writing(target, part, problem)
}

/// A file that is written beside its place; it goes if it is not put there.
struct Staged {
    beside: PathBuf,
    target: PathBuf,
    put: bool,
    _leftover: leftovers::Leftover,
}

impl Staged {
    fn put(mut self) -> io::Result<()> {
        fs::rename(&self.beside, &self.target)?;
        self.put = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.put {
            // The failure that led here is the one to report.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// Writes a file for this name beside it; none where the name is no file's.
fn stage(
    path: &Path,
    check: Check<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Option<Staged>> {
    let target = target(path)?;
    let old = fs::metadata(path).ok();
    match &old {
        Some(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Some(old) if !old.is_file() => return Ok(None),
        // Renaming would replace it all the same.
        Some(old) if old.permissions().readonly() => {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Some(_) | None => {}
    }
    let ((beside, file), leftover) = leftovers::make(
        || create_beside(&target),
        |(beside, _)| {
            let beside = beside.clone();
            Box::new(move || drop(fs::remove_file(beside)))
        },
    )?;
    let staged = Staged { beside, target, put: false, _leftover: leftover };
    write(&mut CheckedFile { file, check })?;
    if let Some(old) = old {
        fs::set_permissions(&staged.beside, old.permissions())?;
    }
    Ok(Some(staged))
}

/// A file that is written as long as that is allowed.
struct CheckedFile<'a> {
    file: File,
    check: Check<'a>,
}

impl Write for CheckedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // As another kind than `Interrupted`, after which writing would be tried again.
        (self.check)().map_err(|error| io::Error::other(reason(&error)))?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file to replace or to make: a link stays what it is, and what it leads to is meant.
fn target(path: &Path) -> io::Result<PathBuf> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if is_link(path) && error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) => {
            let mut target = path.to_path_buf();
            // The system follows no more links than this.
            for _ in 0..40 {
                if !is_link(&target) {
                    break;
                }
                let next = fs::read_link(&target)?;
                target = target.with_file_name("").join(next);
            }
            Ok(target)
        }
    }
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

/// Writes a value in the place's format, compressed if its name says so.
fn encode(out: &mut dyn Write, output: &Output<'_>, datas: &[DataDecl]) -> io::Result<()> {
    let out = Out { out, failed: false };
    if output.place.gzip {
        let mut encoder = GzEncoder::new(out, Compression::default());
        buffered(&mut encoder, |out| write(out, output, datas))?;
        encoder.finish()?.flush()
    } else {
        buffered(out, |out| write(out, output, datas))
    }
}

fn buffered<W: Write>(
    out: W,
    write: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    write(&mut out)?;
    out.flush()
}

/// Where the bytes go. After a failure they go nowhere, because buffers and encoders try to write
/// what they still have when they are dropped.
struct Out<W> {
    out: W,
    failed: bool,
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.failed = written.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.failed {
            true => Ok(()),
            false => self.out.flush(),
        }
    }
}

fn write(out: &mut impl Write, output: &Output<'_>, datas: &[DataDecl]) -> io::Result<()> {
    let Output { place, part: _, value, ty, interface } = *output;
    match place.format {
        Format::Json => {
            to_json(out, value, ty, datas)?;
            out.write_all(b"\n")
        }
        Format::Npy => npy::write(out, value, ty),
        Format::Npz => npy::write_npz(out, value, ty),
        Format::Text => match value {
            Value::String(text) => out.write_all(text.as_bytes()),
            _ => csv::write(out, value, ty, datas, interface, place.format),
        },
        Format::Csv | Format::Tsv => csv::write(out, value, ty, datas, interface, place.format),
        Format::Excel | Format::Parquet | Format::Arrow => Err(unexpected()),
    }
}

/// A value that is not of its type.
fn unexpected() -> io::Error {
    io::Error::other("the value is not of its type")
}
