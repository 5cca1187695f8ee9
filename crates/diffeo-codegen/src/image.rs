//! The file that holds this code: the program, or the library that a program such as Python has loaded.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// Tells builds apart: version, path, bytes and time of change of the file. Two builds in one place differ in the last
/// two. None if the file cannot be looked at.
pub fn build() -> Option<(&'static str, PathBuf, u64, u128)> {
    let path = path()?;
    let file = std::fs::metadata(&path).ok()?;
    let changed = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some((env!("CARGO_PKG_VERSION"), path, file.len(), changed))
}

#[cfg(unix)]
fn path() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is one of this code, and `dladdr` fills the structure unless it gives 0.
    let found = unsafe {
        if libc::dladdr(path as *const libc::c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name ends in a zero byte, and the loader keeps it.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    // The name of a program is what it was called by, which need be no path.
    let library = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    match library.extension() {
        Some(extension) if extension == "so" || extension == "dylib" => Some(library),
        _ => std::env::current_exe().ok(),
    }
}

#[cfg(not(unix))]
fn path() -> Option<PathBuf> {
    std::env::current_exe().ok()
}
