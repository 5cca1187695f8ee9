//! Tells builds of different sources apart: what a build keeps on disk, no other one may take for its own.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// What decides what programs are compiled to, from the folder of this crate. As a package of its own, the crate has
/// its own sources only, and the others have versions.
const SOURCES: [&str; 7] = [
    "src",
    "../diffeo-base/src",
    "../diffeo-calculus/src",
    "../diffeo-array/src",
    "../diffeo-codegen/src",
    "../../std",
    "../../Cargo.lock",
];

fn main() {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES.map(Path::new).into_iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
        let mut files = Vec::new();
        find(source, &mut files);
        files.sort();
        for file in files {
            hasher.write(file.as_os_str().as_encoded_bytes());
            hasher.write(&fs::read(&file).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=DIFFEO_BUILD={:016x}", hasher.finish());
}

/// All files in a folder, or the file that it is.
fn find(path: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| find(&entry.path(), files)),
        Err(_) => files.push(path.to_path_buf()),
    }
}
