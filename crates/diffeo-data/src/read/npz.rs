//! NPZ files: one of the arrays of a ZIP archive, or a record of several.

use super::archive::Archive;
use super::content::{content, START};
use super::input::Input;
use super::{npy, Check, ReadFailure};
use crate::error::{Content, Damage, Problem};
use crate::format::Format;
use crate::place::{Place, Target};
use crate::shape::{leaf, members};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};

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
    let mut archive = Archive::open(file, Format::Npz)?;
    let files = archive.names()?;
    let mut names: Vec<String> =
        files.iter().filter_map(|file| file.strip_suffix(".npy")).map(str::to_string).collect();
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

fn member<'a>(
    archive: &mut Archive<Box<dyn ReadSeek + 'a>>,
    name: &str,
    ty: &Ty,
    check: Check<'_>,
) -> Result<Value, ReadFailure> {
    let place = archive.place(&format!("{name}.npy"));
    let place = place.ok_or_else(|| Problem::NoMember(name.to_string(), Vec::new()))?;
    let mut read = || npy::read(&mut Input::new(archive.member(place)?, check)?.buffered(), ty);
    read().map_err(|failure: ReadFailure| ReadFailure { member: Some(name.to_string()), ..failure })
}
