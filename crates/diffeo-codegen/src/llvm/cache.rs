//! Objects on disk: a file for each, that begins with everything that it was made from, so that no two are
//! ever taken for each other. Only their owner can read or write them.
//!
//! Whatever goes wrong here costs time, nothing else: then the program is compiled again.

use super::compile::Object;
use std::fs::{DirBuilder, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

fn path(directory: &Path, key: &[u8]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    directory.join(format!("{:016x}.o", hasher.finish()))
}

/// The object that was made from the same.
pub(super) fn read(directory: &Path, key: &[u8]) -> Option<Object> {
    let mut file = File::open(path(directory, key)).ok()?;
    if !is_private(&file) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let mut rest = &bytes[..];
    let length = word(&mut rest)?;
    if length != key.len() || rest.get(..length)? != key {
        return None;
    }
    rest = &rest[length..];
    let count = word(&mut rest)?;
    let frames: Option<Vec<_>> =
        (0..count).map(|_| Some((word(&mut rest)?, word(&mut rest)?))).collect();
    let length = word(&mut rest)?;
    (rest.len() == length).then_some(Object { bytes: rest.to_vec(), frames: frames? })
}

/// Keeps an object, if that is possible.
pub(super) fn write(directory: &Path, key: &[u8], object: &Object) {
    let mut bytes = Vec::with_capacity(key.len() + object.bytes.len() + 64);
    let mut part = |number: usize, data: &[u8]| {
        bytes.extend_from_slice(&(number as u64).to_le_bytes());
        bytes.extend_from_slice(data);
    };
    part(key.len(), key);
    part(object.frames.len(), &[]);
    for (function, size) in &object.frames {
        part(*function, &(*size as u64).to_le_bytes());
    }
    part(object.bytes.len(), &object.bytes);
    // The program has been compiled; that the next time takes as long is no error.
    let _ = replace(&path(directory, key), &bytes);
}

/// Writes a file as a whole, with what it takes that only the owner has access.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)?;
    }
    // Such files are the owner's alone.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Whether nobody else may have written a file.
fn is_private(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o022 == 0)
    }
    #[cfg(not(unix))]
    {
        file.metadata().is_ok_and(|metadata| metadata.is_file())
    }
}

/// The next eight bytes as a number.
fn word(rest: &mut &[u8]) -> Option<usize> {
    let (word, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    usize::try_from(u64::from_le_bytes(*word)).ok()
}

#[cfg(test)]
mod tests {
    use super::{path, read, write, Object};
    use std::fs;

    #[test]
    fn objects_come_back_for_the_same_key_only() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("deep/inside");
        let object = Object { bytes: vec![1, 2, 3], frames: vec![(4, 5000), (7, 2000)] };
        write(&directory, b"key", &object);
        let found = read(&directory, b"key").unwrap();
        assert_eq!((found.bytes, found.frames), (object.bytes, object.frames));
        assert!(read(&directory, b"other").is_none());
        // A file under the right name that was made from something else, and one that is cut off.
        fs::rename(path(&directory, b"key"), path(&directory, b"other")).unwrap();
        assert!(read(&directory, b"other").is_none());
        fs::rename(path(&directory, b"other"), path(&directory, b"key")).unwrap();
        let bytes = fs::read(path(&directory, b"key")).unwrap();
        for length in 0..bytes.len() {
            fs::write(path(&directory, b"key"), &bytes[..length]).unwrap();
            assert!(read(&directory, b"key").is_none(), "{length}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_are_their_owner_s() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let object = Object { bytes: vec![1], frames: Vec::new() };
        write(directory.path(), b"key", &object);
        let file = path(directory.path(), b"key");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(read(directory.path(), b"key").is_none());
    }
}
