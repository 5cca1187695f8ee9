//! NPZ files: one of the arrays of a ZIP archive, or a record of several.

use super::content::{content, START};
use super::input::Input;
use super::{npy, Check, ReadFailure};
use crate::data::error::{Content, Damage, Problem};
use crate::data::place::{Format, Place, Target};
use crate::data::shape::{leaf, members};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use zip::ZipArchive;

/// What an archive is read from: its directory stands at the end.
trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Reads into a record each array that has the name of a field; else one array: the one asked for,
/// the only one, or that with the parameter's name.
pub(super) fn read(
    place: &Place,
    parameter: &str,
    ty: &Ty,
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let unsuitable = |format| ReadFailure::from(Problem::Unsuitable(format, ty.clone()));
    if leaf(ty).is_none() && members(ty).is_none() {
        return Err(unsuitable(Format::Npz));
    }
    let mut file = open(&place.target, check)?;
    let mut start = Vec::new();
    Read::take(&mut file, START as u64).read_to_end(&mut start)?;
    file.rewind()?;
    match content(&start) {
        _ if start.is_empty() => return Err(Problem::Empty.into()),
        Content::Zip => {}
        content => return Err(Problem::BadFile(Format::Npz, Damage::IsNone(content)).into()),
    }
    let mut archive = ZipArchive::new(file).map_err(bad)?;
    let mut names = Vec::new();
    for file in archive.file_names() {
        let file = file.map_err(bad)?;
        names.extend(file.strip_suffix(".npy").map(str::to_string));
    }
    names.sort();
    let exists = |name: &str| names.iter().any(|n| n == name);
    let option = (!place.options.is_empty()).then(|| place.options.join(":"));
    match (option, members(ty)) {
        (Some(_), Some(_)) => Err(unsuitable(Format::Npy)),
        (None, Some(fields)) => {
            let missing: Vec<_> =
                fields.iter().map(|(name, _)| name.clone()).filter(|name| !exists(name)).collect();
            if !missing.is_empty() {
                return Err(Problem::MissingMembers(missing, names).into());
            }
            let arrays = fields.iter().map(|(name, ty)| member(&mut archive, name, ty, check));
            Ok(Value::tuple(arrays.collect::<Result<Vec<_>, _>>()?))
        }
        (Some(name), None) if exists(&name) => member(&mut archive, &name, ty, check),
        (Some(name), None) => Err(Problem::NoMember(name, names).into()),
        (None, None) if exists(parameter) => member(&mut archive, parameter, ty, check),
        (None, None) => match &names[..] {
            [] => Err(Problem::Empty.into()),
            [name] => member(&mut archive, name, ty, check),
            _ => Err(Problem::ManyMembers(names).into()),
        },
    }
}

/// A file as it is; a pipe or something compressed as a whole in memory.
fn open<'a>(target: &Target, check: Check<'a>) -> io::Result<Box<dyn ReadSeek + 'a>> {
    match target {
        Target::File(path) if fs::metadata(path)?.is_file() => {
            let mut file = File::open(path)?;
            if !Input::is_gzip(&mut file)? {
                file.rewind()?;
                return Ok(Box::new(BufReader::new(file)));
            }
        }
        Target::File(_) | Target::Standard => {}
    }
    Ok(Box::new(io::Cursor::new(Input::open(target, check)?.read_all()?)))
}

fn bad(error: zip::result::ZipError) -> Problem {
    Problem::BadFile(Format::Npz, Damage::of_zip(&error))
}

fn member<'a>(
    archive: &mut ZipArchive<Box<dyn ReadSeek + 'a>>,
    name: &str,
    ty: &Ty,
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let mut read = || {
        let file = archive.by_name(&format!("{name}.npy")).map_err(bad)?;
        let size = file.size();
        let input = Input::new(Sound(file), check)?;
        let gzip = input.is_compressed();
        let (value, bytes) = npy::read(&mut input.buffered(), ty)?;
        if !gzip && bytes != size {
            let what = format!("the array has {bytes} bytes, where the archive says {size}");
            return Err(Problem::BadFile(Format::Npz, Damage::Broken(what)).into());
        }
        Ok(value)
    };
    read().map_err(|failure: ReadFailure| ReadFailure { member: Some(name.to_string()), ..failure })
}

/// What an archive holds, with the errors of its library in our words.
struct Sound<R>(R);

impl<R: Read> Read for Sound<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                io::Error::other("its data in the archive is damaged: fetch or save it anew")
            }
            _ => error,
        })
    }
}
