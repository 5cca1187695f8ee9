//! ZIP archives, as NPZ and Excel files are.
//!
//! The members stand one after the other, each behind a header, and a directory at the end names them. Where the two do
//! not agree, or a name is there twice, nothing is read. What is read is read to its end, where its checksum is looked
//! at: the library stops where its user does.

use super::ReadFailure;
use crate::error::{Damage, Problem};
use crate::format::Format;
use crate::message::short;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use zip::read::ZipFile;
use zip::ZipArchive;

/// How the header of a member, an entry of the directory and what follows the last one begin.
const MEMBER: &[u8] = b"PK\x03\x04";
const ENTRY: &[u8] = b"PK\x01\x02";
const ENDS: [&[u8]; 2] = [b"PK\x05\x06", b"PK\x06\x06"];

/// An archive whose directory is sound.
pub(super) struct Archive<R> {
    zip: ZipArchive<R>,
    format: Format,
}

impl<R: Read + Seek> Archive<R> {
    /// The archive that is the whole of a file of this format.
    pub fn open(mut source: R, format: Format) -> Result<Archive<R>, ReadFailure> {
        let bad = |error| Problem::BadFile(format, Damage::of_zip(&error));
        let broken = |what: String| Problem::BadFile(format, Damage::Broken(what));
        let zip = ZipArchive::new(&mut source).map_err(bad)?;
        let start = zip.central_directory_start();
        let mut members = Vec::new();
        for i in 0..zip.len() {
            let member = zip.by_index_data(i).map_err(bad)?;
            members.push((member.header_start(), member.name_raw().to_vec()));
        }
        let mut names = HashSet::new();
        for name in entries(&mut source, start)?.ok_or_else(|| broken(directory()))? {
            let text = String::from_utf8_lossy(&name).into_owned();
            if !names.insert(name) {
                let what = format!("its ZIP archive has two members `{}`", short(&text));
                return Err(broken(what).into());
            }
        }
        if names.len() != members.len() {
            return Err(broken(directory()).into());
        }
        for (start, name) in members {
            if !begins_with(&mut source, start, &name)? {
                let name = String::from_utf8_lossy(&name).into_owned();
                let what = format!(
                    "the directory of its ZIP archive has a member `{}` that is not there",
                    short(&name)
                );
                return Err(broken(what).into());
            }
        }
        source.rewind()?;
        Ok(Archive { zip: ZipArchive::new(source).map_err(bad)?, format })
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.zip.len()
    }

    /// The names of all members.
    pub fn names(&self) -> Result<Vec<String>, ReadFailure> {
        let names = self.zip.file_names().map(|name| Ok(name.map_err(|e| self.bad(&e))?.into()));
        names.collect()
    }

    /// The place of the member with this name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.zip.index_for_name(name)
    }

    /// Where the data of a member begin in the file.
    pub fn start(&mut self, place: usize) -> Option<u64> {
        self.zip.by_index_raw(place).ok()?.data_start()
    }

    /// A member.
    pub fn member(&mut self, place: usize) -> Result<Member<'_, R>, ReadFailure> {
        let format = self.format;
        let bad = |error| Problem::BadFile(format, Damage::of_zip(&error));
        let file = self.zip.by_index(place).map_err(bad)?;
        let name = file.name().map_or(String::new(), |name| name.into_owned());
        Ok(Member { size: file.size(), file, name, format, read: 0 })
    }

    fn bad(&self, error: &zip::result::ZipError) -> Problem {
        Problem::BadFile(self.format, Damage::of_zip(error))
    }
}

fn directory() -> String {
    "the directory of its ZIP archive is damaged".to_string()
}

/// The names in a directory that begins here; none if it does not end as a directory does.
fn entries(source: &mut (impl Read + Seek), start: u64) -> io::Result<Option<Vec<Vec<u8>>>> {
    source.seek(SeekFrom::Start(start))?;
    let mut source = BufReader::new(source);
    let mut names = Vec::new();
    loop {
        let mut mark = [0; 4];
        source.read_exact(&mut mark)?;
        if mark != ENTRY {
            return Ok(ENDS.contains(&&mark[..]).then_some(names));
        }
        let mut entry = [0; 42];
        source.read_exact(&mut entry)?;
        let length = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        let mut name = vec![0; usize::from(length(24))];
        source.read_exact(&mut name)?;
        names.push(name);
        source.seek_relative(i64::from(length(26)) + i64::from(length(28)))?;
    }
}

/// Whether the header of a member of this name stands here.
fn begins_with(source: &mut (impl Read + Seek), start: u64, name: &[u8]) -> io::Result<bool> {
    source.seek(SeekFrom::Start(start))?;
    let mut header = Vec::new();
    source.take(30 + name.len() as u64).read_to_end(&mut header)?;
    let length = header.get(26..28).map_or(0, |at| usize::from(u16::from_le_bytes([at[0], at[1]])));
    Ok(header.starts_with(MEMBER) && length == name.len() && header.get(30..) == Some(name))
}

/// What a member holds. At its end its length and its checksum are those that the directory has, or reading fails.
pub(super) struct Member<'a, R: Read> {
    file: ZipFile<'a, R>,
    name: String,
    format: Format,
    size: u64,
    read: u64,
}

impl<R: Read> Member<'_, R> {
    fn damaged(&self, what: &str) -> io::Error {
        let what = format!("its member `{}` {what}", short(&self.name));
        io::Error::other(BadMember { format: self.format, what })
    }
}

impl<R: Read> Read for Member<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Other => self.damaged("is damaged"),
            _ => error,
        })?;
        self.read += read as u64;
        if read == 0 && !buffer.is_empty() && self.read != self.size {
            let (read, size) = (self.read, self.size);
            return Err(self.damaged(&format!("has {read} bytes, where the directory says {size}")));
        }
        Ok(read)
    }
}

/// What is wrong with a member, within an error of reading.
#[derive(Clone, Debug)]
struct BadMember {
    format: Format,
    what: String,
}

impl fmt::Display for BadMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for BadMember {}

/// What an error of reading says about a member of an archive, if it does.
pub(super) fn bad_member(error: &io::Error) -> Option<Problem> {
    let BadMember { format, what } = error.get_ref()?.downcast_ref::<BadMember>()?.clone();
    Some(Problem::BadFile(format, Damage::Broken(what)))
}
