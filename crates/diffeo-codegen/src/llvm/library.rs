//! Finds an LLVM on this machine and loads it: `DIFFEO_LLVM` (`none` for none), else the system's, else the one
//! that a Rust toolchain of rustup carries, else that of llvmlite in the Python environment.
//!
//! No process is started to look. Only files that begin like a library are tried (rustup has a linker script
//! under such a name), only versions that are known, and what was loaded stays loaded, out of sight of other
//! libraries.

use super::api::{self, CApi, LiteApi};
use super::interface::Interface;
use super::llvm_c::LlvmC;
use super::llvmlite::Llvmlite;
use libloading::Library;
use object::elf::{FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// The versions whose text and functions are as expected.
const VERSIONS: RangeInclusive<u32> = 17..=22;

/// The variable that names a library, or the directory of one.
const VARIABLE: &str = "DIFFEO_LLVM";

/// What the variable is where none is to be used.
const NONE: &str = "none";

/// A setting of LLVM that passes cannot be told otherwise: without "loop strength reduction", which takes an eighth of
/// all time and makes loops no faster.
const SETTING: &CStr = c"-disable-lsr";

/// A loaded LLVM.
pub struct LlvmLibrary {
    /// Where it was found.
    pub path: PathBuf,
    /// Its version.
    pub version: [u32; 3],
    pub(super) interface: Box<dyn Interface>,
}

impl fmt::Display for LlvmLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        write!(f, "{major}.{minor}.{patch}, {}", self.path.display())
    }
}

/// Why there is no LLVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Nowhere is one: the directories that were looked into, and the libraries that cannot be used.
    NotFound {
        /// The directories.
        looked: Vec<PathBuf>,
        /// The libraries, each with the reason.
        unusable: Vec<(PathBuf, String)>,
    },
    /// The library that the user named cannot be used.
    Named(PathBuf, String),
    /// The user wants none.
    Declined,
    /// Compiled code is not supported here.
    Processor,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (VERSIONS.start(), VERSIONS.end());
        match self {
            Missing::NotFound { looked, unusable } => {
                write!(f, "no LLVM library (version {from} to {to}) was found")?;
                for (path, reason) in unusable {
                    write!(f, "; {} cannot be used: {reason}", path.display())?;
                }
                if !looked.is_empty() {
                    let looked = looked.iter().map(|path| path.display().to_string());
                    write!(f, "; looked in {}", looked.collect::<Vec<_>>().join(", "))?;
                }
                write!(f, ". Set {VARIABLE} to the path of one")
            }
            Missing::Named(path, reason) => {
                write!(
                    f,
                    "the LLVM library that {VARIABLE} names, {}, cannot be used: {reason}",
                    path.display()
                )
            }
            Missing::Declined => write!(f, "no LLVM is used, because {VARIABLE} is `{NONE}`"),
            Missing::Processor => write!(f, "LLVM is used on x86-64 and AArch64 processors only"),
        }
    }
}

impl std::error::Error for Missing {}

/// Further directories, which a host knows.
static FURTHER: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Looks for an LLVM in a directory, too, behind the system's and those of toolchains, if none was looked for so far.
pub fn also_look_in(directory: PathBuf) {
    if let Ok(mut further) = FURTHER.lock() {
        further.push(directory);
    }
}

/// The LLVM of this machine; it is looked for once.
///
/// # Errors
/// There is none.
pub fn library() -> Result<&'static LlvmLibrary, &'static Missing> {
    static LIBRARY: OnceLock<Result<LlvmLibrary, Missing>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref()
}

fn find() -> Result<LlvmLibrary, Missing> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(Missing::Processor);
    }
    find_among(std::env::var_os(VARIABLE).map(PathBuf::from), &directories())
}

/// The library that the user named, or the first that can be used in the directories.
fn find_among(named: Option<PathBuf>, directories: &[PathBuf]) -> Result<LlvmLibrary, Missing> {
    if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
        if path.as_os_str() == NONE {
            return Err(Missing::Declined);
        }
        let directory = path.is_dir();
        let candidates = if directory { candidates(&path) } else { vec![path.clone()] };
        let (from, to) = (VERSIONS.start(), VERSIONS.end());
        let mut reason = format!("there is no libLLVM of version {from} to {to} in the directory");
        for candidate in candidates {
            match load(&candidate) {
                Ok(library) => return Ok(library),
                Err(why) if directory => reason = format!("{}: {why}", candidate.display()),
                Err(why) => reason = why,
            }
        }
        return Err(Missing::Named(path, reason));
    }
    let mut unusable = Vec::new();
    for candidate in directories.iter().flat_map(|directory| candidates(directory)) {
        match load(&candidate) {
            Ok(library) => return Ok(library),
            Err(reason) => unusable.push((candidate, reason)),
        }
    }
    Err(Missing::NotFound { looked: directories.to_vec(), unusable })
}

/// Where libraries may be: of the system, then of Rust's toolchains.
fn directories() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for version in VERSIONS.rev() {
        all.push(format!("/usr/lib/llvm-{version}/lib").into());
        all.push(format!("/usr/lib/llvm/{version}/lib64").into());
        all.push(format!("/usr/lib64/llvm{version}/lib").into());
    }
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let fixed = [
        "/usr/lib64",
        "/usr/lib",
        &multiarch,
        "/usr/local/lib",
        "/opt/homebrew/opt/llvm/lib",
        "/usr/local/opt/llvm/lib",
    ];
    all.extend(fixed.map(PathBuf::from));
    if !env!("DIFFEO_SYSROOT").is_empty() {
        all.push(Path::new(env!("DIFFEO_SYSROOT")).join("lib"));
    }
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".rustup"));
    if let Some(rustup) = std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or(home) {
        let mut toolchains = entries(&rustup.join("toolchains"));
        toolchains.sort();
        all.extend(toolchains.into_iter().map(|toolchain| toolchain.join("lib")));
    }
    all.extend(FURTHER.lock().map(|further| further.clone()).unwrap_or_default());
    all.extend(python_environments().into_iter().flat_map(|root| llvmlite_of(&root)));
    all.retain(|directory| directory.is_dir());
    all.dedup();
    all
}

/// Roots of environments of Python: the active one, and that of the first `python3` on the path.
fn python_environments() -> Vec<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(std::env::var_os);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let python = python.into_iter().find(|python| python.is_file());
    let root = python.and_then(|python| Some(python.parent()?.parent()?.to_path_buf()));
    active.map(PathBuf::from).chain(root).collect()
}

/// Where llvmlite's library is in an environment of Python.
fn llvmlite_of(root: &Path) -> Vec<PathBuf> {
    let versions = entries(&root.join("lib")).into_iter();
    versions.map(|version| version.join("site-packages/llvmlite/binding")).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

/// The files of a directory that may be an LLVM, the newest first. Versions that are told by the name and not
/// known are left out.
fn candidates(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = entries(directory)
        .into_iter()
        .filter_map(|path| {
            let major = named_version(path.file_name()?)?;
            (major == 0 || VERSIONS.contains(&major)).then_some((major, path))
        })
        .filter(|(_, path)| is_library(path))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The version in the name of a library of LLVM (`libLLVM-16.so.1`, `libLLVM.so.19.1`), 0 if it has none.
fn named_version(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    if name.starts_with("libllvmlite.") {
        return Some(0);
    }
    let rest = name.strip_prefix("libLLVM")?;
    let rest = if rest.contains(".dylib") {
        rest.strip_prefix('-').unwrap_or("")
    } else {
        let (before, after) = rest.split_once(".so")?;
        if before.is_empty() {
            after.strip_prefix('.').unwrap_or("")
        } else {
            before.strip_prefix('-')?
        }
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if rest.is_empty() {
        Some(0)
    } else {
        digits.parse().ok()
    }
}

/// Whether a file begins like a library of ELF or Mach-O.
fn is_library(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    let known = [*b"\x7fELF", [0xcf, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe]];
    read.is_ok() && known.contains(&magic)
}

/// Whether a file has all that the system's loader maps: where it ends early, reading the rest would end the process.
fn is_whole(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let cache = ReadCache::new(file);
    let Ok(FileKind::Elf64) = FileKind::parse(&cache) else { return true };
    let mapped = |header: &FileHeader64<Endianness>| {
        let endian = header.endian()?;
        let segments = header.program_headers(endian, &cache)?.iter();
        let end = |s: &ProgramHeader64<_>| s.p_offset(endian).saturating_add(s.p_filesz(endian));
        Ok(segments.map(end).max())
    };
    let end: Result<Option<u64>, object::Error> = FileHeader64::parse(&cache).and_then(mapped);
    end.is_ok_and(|end| end.is_some_and(|end| end <= length))
}

/// What a file that is no library is: such names belong to scripts for linkers, too.
fn no_library(path: &Path) -> String {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    let text = match (read, std::str::from_utf8(&start)) {
        (Err(error), _) => return error.to_string(),
        (Ok(_), Ok(text)) => text,
        (Ok(_), Err(_)) => "",
    };
    let command = text.lines().find(|line| {
        ["INPUT", "GROUP", "OUTPUT_FORMAT"].iter().any(|word| line.trim_start().starts_with(word))
    });
    match command {
        Some(line) => {
            format!("it is a script for linkers, not a shared library: name the library that it stands for ({})", line.trim())
        }
        None => "it is no shared library".into(),
    }
}

fn load(path: &Path) -> Result<LlvmLibrary, String> {
    if !path.exists() {
        return Err("there is no such file".into());
    }
    if !is_library(path) {
        return Err(no_library(path));
    }
    if !is_whole(path) {
        return Err("it is incomplete: install it again".into());
    }
    // SAFETY: LLVM's initialisers register its options and targets, nothing else; that the file is an LLVM
    // is what its name or the user says.
    let loaded = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    let missing = |name: &str| format!("it has no function {name}");
    let lite = api::lite_version(&loaded);
    let version = lite.or_else(|_| api::version(&loaded)).map_err(|name| {
        format!("it is no LLVM, or one before version 17: it has no function {name}")
    })?;
    if !VERSIONS.contains(&version[0]) {
        let (from, to) = (VERSIONS.start(), VERSIONS.end());
        return Err(format!("it is version {}, not one of {from} to {to}", version[0]));
    }
    let interface: Box<dyn Interface> = if lite.is_ok() {
        let api = LiteApi::load(&loaded).map_err(missing)?;
        // SAFETY: they take nothing, and may be called once the library is loaded.
        let status = unsafe {
            (api.LLVMPY_InitializeNativeTarget)()
                | (api.LLVMPY_InitializeNativeAsmPrinter)()
                | (api.LLVMPY_InitializeNativeAsmParser)()
        };
        if status != 0 {
            return Err("it makes no code for this processor".into());
        }
        Box::new(Llvmlite { api })
    } else {
        let api = CApi::load(&loaded).map_err(missing)?;
        api::initialize(&loaded).map_err(|name| missing(&name))?;
        let args = [c"diffeo".as_ptr(), SETTING.as_ptr()];
        // SAFETY: there are two texts, which end with zeros; all versions know the setting.
        unsafe { (api.LLVMParseCommandLineOptions)(2, args.as_ptr(), std::ptr::null()) };
        Box::new(LlvmC { api })
    };
    // It has threads and handlers of its own: it stays.
    std::mem::forget(loaded);
    Ok(LlvmLibrary { path: path.to_path_buf(), version, interface })
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use super::is_whole;
    use super::{candidates, find_among, named_version, Missing};
    use std::ffi::OsStr;
    use std::fs;

    #[test]
    fn versions_in_names() {
        let version = |name: &str| named_version(OsStr::new(name));
        assert_eq!(version("libLLVM-16.so.1"), Some(16));
        assert_eq!(version("libLLVM-14.0.6.so"), Some(14));
        assert_eq!(version("libLLVM.so.19.1"), Some(19));
        assert_eq!(version("libLLVM.so"), Some(0));
        assert_eq!(version("libLLVM.so.22.1-rust-1.95.0-stable"), Some(22));
        assert_eq!(version("libLLVM-22-rust-1.95.0-stable.so"), Some(22));
        assert_eq!(version("libLLVM.dylib"), Some(0));
        assert_eq!(version("libLLVMCore.so.1"), None);
        assert_eq!(version("libLTO.so"), None);
        assert_eq!(version("libllvmlite.so"), Some(0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_incomplete_is_not_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libLLVM-22.so");
        let mut whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        fs::write(&path, &whole).unwrap();
        assert!(is_whole(&path));
        for left in [whole.len() / 2, 4096, 80] {
            whole.truncate(left);
            fs::write(&path, &whole).unwrap();
            let error = find_among(Some(path.clone()), &[]).err();
            let incomplete = "it is incomplete: install it again".to_string();
            assert_eq!(error, Some(Missing::Named(path.clone(), incomplete)), "{left}");
        }
    }

    #[test]
    fn what_is_no_library_is_not_tried() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("libLLVM-22.so");
        fs::write(&script, "INPUT(libLLVM.so.22)").unwrap();
        fs::write(directory.path().join("libLLVM-14.so"), b"\x7fELF and so on").unwrap();
        assert!(candidates(directory.path()).is_empty());
        let error = find_among(None, &[directory.path().to_path_buf()]).err();
        let looked = vec![directory.path().to_path_buf()];
        assert_eq!(error, Some(Missing::NotFound { looked, unusable: Vec::new() }));
        let error = find_among(Some(script.clone()), &[]).err().unwrap().to_string();
        assert!(error.contains("script for linkers"), "{error}");
        assert!(error.contains("INPUT(libLLVM.so.22)"), "{error}");
        let text = directory.path().join("notes");
        fs::write(&text, "nothing").unwrap();
        let error = find_among(Some(text.clone()), &[]).err();
        assert_eq!(error, Some(Missing::Named(text, "it is no shared library".into())));
        let error = find_among(Some(directory.path().to_path_buf()), &[]).err().unwrap();
        assert!(error.to_string().contains("no libLLVM of version 17"), "{error}");
    }

    #[test]
    fn none_is_used_if_the_user_wants_none() {
        assert_eq!(find_among(Some("none".into()), &[]).err(), Some(Missing::Declined));
    }

    #[test]
    fn a_broken_library_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let broken = directory.path().join("libLLVM-20.so");
        fs::write(&broken, b"\x7fELF, but not really").unwrap();
        let error = find_among(None, &[directory.path().to_path_buf()]).err().unwrap();
        let Missing::NotFound { unusable, .. } = &error else { panic!("{error}") };
        assert_eq!(unusable[0].0, broken);
        assert!(error.to_string().contains("cannot be used"), "{error}");
        assert!(error.to_string().contains("DIFFEO_LLVM"), "{error}");
    }
}
