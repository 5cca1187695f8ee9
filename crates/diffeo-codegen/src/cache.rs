//! Compiled code on disk, found by everything that it was made from.
//!
//! What always holds: the folder and its files belong to the user who runs this, and nobody else can write or read
//! them; a file is complete or absent; the code is that of exactly the key asked for, which lies beside it. Where there
//! is no such folder, nothing is kept, and nothing fails.

use serde::de::DeserializeOwned;
use serde::Serialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most bytes that are kept.
const MOST: u64 = 256 << 20;

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    most: u64,
}

impl Cache {
    /// The folder of the environment: `DIFFEO_CACHE` (nothing is kept if that is empty), else `diffeo` in
    /// `XDG_CACHE_HOME` or `~/.cache`.
    pub fn open() -> Option<Cache> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = match std::env::var_os("DIFFEO_CACHE") {
            Some(folder) => PathBuf::from(folder),
            None => match variable("XDG_CACHE_HOME") {
                // The XDG base directory specification says so of relative paths.
                Some(folder) if Path::new(&folder).is_absolute() => {
                    PathBuf::from(folder).join("diffeo")
                }
                Some(_) | None => PathBuf::from(variable("HOME")?).join(".cache").join("diffeo"),
            },
        };
        Cache::at(std::path::absolute(folder).ok()?)
    }

    /// A folder, made if it is not there; none if it cannot be made or trusted.
    pub fn at(folder: PathBuf) -> Option<Cache> {
        Cache::with_most(folder, MOST)
    }

    fn with_most(folder: PathBuf, most: u64) -> Option<Cache> {
        if !folder.is_absolute() {
            return None;
        }
        make_private(&folder)?;
        Some(Cache { folder, most })
    }

    fn name(key: &[u8]) -> String {
        // Two numbers of 64 bits: the key itself is compared, too.
        let mut first = DefaultHasher::new();
        key.hash(&mut first);
        let mut second = DefaultHasher::new();
        (first.finish(), key).hash(&mut second);
        format!("{:016x}{:016x}", first.finish(), second.finish())
    }

    /// The key that stands for a value.
    pub fn key(of: &impl Serialize) -> Option<Vec<u8>> {
        postcard::to_stdvec(of).ok()
    }

    /// What is kept under this key.
    pub fn read<T: DeserializeOwned>(&self, key: &[u8]) -> Option<T> {
        let path = self.folder.join(format!("{}.bin", Cache::name(key)));
        // A device or a pipe in its place would have no end.
        if !std::fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        let (head, rest) = bytes.split_first_chunk::<16>()?;
        let (found, content) = rest.split_at_checked(key.len())?;
        if found != key || *head != Cache::head(key, content) {
            return None;
        }
        let (value, []) = postcard::take_from_bytes(content).ok()? else { return None };
        used(&path);
        Some(value)
    }

    /// Keeps this under a key. What fails is not kept.
    pub fn write<T: Serialize>(&self, key: &[u8], value: &T) {
        let Ok(content) = postcard::to_stdvec(value) else { return };
        if (key.len() + content.len()) as u64 > self.most / 4 {
            return;
        }
        let bytes = [&Cache::head(key, &content), key, &content].concat();
        if self.put_file(&format!("{}.bin", Cache::name(key)), &bytes).is_ok() {
            shrink(&self.folder, self.most);
        }
    }

    /// How long a key is, and a number by which content is recognised that is not whole.
    fn head(key: &[u8], content: &[u8]) -> [u8; 16] {
        let mut hasher = DefaultHasher::new();
        hasher.write(content);
        let words = [key.len() as u64, hasher.finish()].map(u64::to_le_bytes);
        let mut head = [0; 16];
        head[..8].copy_from_slice(&words[0]);
        head[8..].copy_from_slice(&words[1]);
        head
    }

    fn put_file(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        // A temporary file is its owner's alone.
        let mut file = tempfile::Builder::new().prefix(".new").tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(self.folder.join(name))?;
        Ok(())
    }
}

/// Marks a file as used: such files stay. That it cannot be marked does no harm.
fn used(path: &Path) {
    let now = std::fs::FileTimes::new().set_modified(SystemTime::now());
    let _ = std::fs::File::options().append(true).open(path).and_then(|file| file.set_times(now));
}

/// Drops the files of a folder that were not used for the longest time, until the rest is small enough.
fn shrink(folder: &Path, most: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in files {
        if total <= most {
            break;
        }
        if std::fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

/// Makes a folder that is the user's alone.
#[cfg(unix)]
fn make_private(folder: &Path) -> Option<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).ok()?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(_) => return None,
    }
    let metadata = std::fs::symlink_metadata(folder).ok()?;
    // A file that was just made belongs to whoever runs this.
    let own = tempfile::tempfile().and_then(|file| file.metadata()).ok()?;
    let private = metadata.is_dir() && metadata.uid() == own.uid() && metadata.mode() & 0o077 == 0;
    private.then_some(())
}

/// Where a folder's owner is not known, nothing is kept.
#[cfg(not(unix))]
fn make_private(_folder: &Path) -> Option<()> {
    None
}

#[cfg(test)]
mod tests {
    use super::Cache;
    use std::path::PathBuf;

    #[test]
    fn values_come_back_for_the_same_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("c")).unwrap();
        let value = (vec![1, 2, 3], "text".to_string(), f64::NAN.to_bits());
        let read = |key: &[u8]| cache.read::<(Vec<i32>, String, u64)>(key);
        cache.write(b"key", &value);
        assert_eq!(read(b"key"), Some(value));
        assert_eq!(read(b"yek"), None);
        // A file under the right name that belongs to another key, one that is cut off, and one that is damaged.
        let path = |key: &[u8]| cache.folder.join(format!("{}.bin", Cache::name(key)));
        std::fs::rename(path(b"key"), path(b"yek")).unwrap();
        assert_eq!(read(b"yek"), None);
        std::fs::rename(path(b"yek"), path(b"key")).unwrap();
        let bytes = std::fs::read(path(b"key")).unwrap();
        for at in 0..bytes.len() {
            std::fs::write(path(b"key"), &bytes[..at]).unwrap();
            assert_eq!(read(b"key"), None, "{at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(path(b"key"), &damaged).unwrap();
            assert_eq!(read(b"key"), None, "{at}");
        }
        std::fs::write(path(b"key"), &bytes).unwrap();
        assert!(read(b"key").is_some());
    }

    #[test]
    fn the_oldest_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::with_most(folder.path().join("c"), 1000).unwrap();
        for key in ["a", "b", "c", "d", "e", "f"] {
            cache.write(key.as_bytes(), &"x".repeat(200));
        }
        let files = std::fs::read_dir(folder.path().join("c")).unwrap();
        let bytes: u64 = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!((600..=1000).contains(&bytes), "{bytes}");
        assert!(cache.read::<String>(b"f").is_some());
        assert!(cache.read::<String>(b"a").is_none());
        // One that is too large for all.
        cache.write(b"g", &"x".repeat(900));
        assert!(cache.read::<String>(b"g").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn only_folders_of_the_user_alone_are_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let cache = Cache::at(path.clone()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        cache.write(b"a", &"text");
        let kept = path.join(format!("{}.bin", Cache::name(b"a")));
        let mode = std::fs::metadata(kept).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Cache::at(path.clone()).is_none());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Cache::at(link).is_none());
        assert!(Cache::at(PathBuf::from("relative")).is_none());
    }
}
