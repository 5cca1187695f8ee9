//! The system's C compiler.
//!
//! What comes in: the text of a file of C. What goes out: a shared library. The command is `CC`, else `cc`.

use super::tool::{run, TempFolder};
use super::CText;
use crate::cache::Cache;
use crate::engine::Cpu;
use crate::low::HUGE;
use diffeo_calculus::eval::{Exceeded, Limits};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is no machine code.
#[derive(Debug)]
pub enum Error {
    /// There is no such command.
    Missing {
        /// The command.
        command: String,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The command has failed.
    Failed {
        /// The command with its arguments.
        command: String,
        /// How it ended, and what it printed first.
        output: String,
    },
    /// A file could not be written or read.
    File(PathBuf, std::io::Error),
    /// What was compiled could not be loaded.
    Load(String),
    /// A limit of the run was reached meanwhile.
    Exceeded(Exceeded),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Missing { command, reason } if reason.kind() == std::io::ErrorKind::NotFound => {
                let variable = if command == "ar" { "AR" } else { "CC" };
                write!(f, "there is no command `{command}`, which is needed to compile C: ")?;
                write!(f, "install it, or name another one in {variable}")
            }
            Error::Missing { command, reason } => {
                write!(f, "`{command}` cannot be run: {}", diffeo_base::reason(reason))
            }
            Error::Failed { command, output } => {
                write!(f, "`{command}` has failed: {output}")
            }
            Error::File(path, reason) => {
                write!(f, "{}: {}", path.display(), diffeo_base::reason(reason))
            }
            Error::Load(reason) => write!(f, "the compiled program cannot be loaded: {reason}"),
            Error::Exceeded(bound) => write!(f, "{}, while C was compiled", bound.message()),
        }
    }
}

impl std::error::Error for Error {}

/// Options of the compilation.
#[derive(Clone, Debug, Default)]
pub struct COptions {
    /// The instructions that the code may have.
    pub cpu: Cpu,
    /// Without optimisations.
    pub quick: bool,
    /// Where compiled code is kept.
    pub cache: Option<Cache>,
    /// The limits of compiling.
    pub limits: Limits,
}

/// A C compiler.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: OsString,
    /// The arguments that `CC` has besides the program.
    arguments: Vec<String>,
}

impl Compiler {
    /// The compiler of the environment.
    pub fn find() -> Compiler {
        let command = std::env::var("CC").unwrap_or_default();
        let mut words = command.split_whitespace().map(str::to_string);
        let program = words.next().unwrap_or_else(|| "cc".to_string()).into();
        Compiler { program, arguments: words.collect() }
    }

    /// The file of the program, if it is found on the `PATH`.
    pub fn path(&self) -> Option<PathBuf> {
        let program = Path::new(&self.program);
        if program.components().count() > 1 {
            return Some(program.to_path_buf()).filter(|path| path.is_file());
        }
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())
    }

    /// What the compiled code depends on besides its text.
    pub fn identity(&self, options: &COptions) -> String {
        let path = self.path().and_then(|path| path.canonicalize().ok());
        let metadata = path.as_ref().and_then(|path| path.metadata().ok());
        let version = metadata.map(|m| (m.len(), m.modified().ok()));
        let COptions { cpu, quick, cache: _, limits: _ } = options;
        format!(
            "{path:?} {version:?} {:?} {cpu:?} {quick} {FLAGS:?} {}",
            self.arguments,
            processor()
        )
    }

    fn flags(&self, text: &CText, options: &COptions) -> Vec<String> {
        let level = match options.quick {
            true => "-O0",
            false if text.largest > HUGE => "-O1",
            false => "-O3",
        };
        let mut flags = self.arguments.clone();
        flags.push(level.to_string());
        match options.cpu {
            Cpu::Host => flags.push("-march=native".to_string()),
            Cpu::Baseline => {}
            Cpu::X86V2 | Cpu::X86V3 | Cpu::X86V4 => flags.push(format!("-march={}", options.cpu)),
        }
        flags.extend(FLAGS.map(str::to_string));
        flags
    }

    /// Compiles a file to the bytes of a shared library.
    fn shared(
        &self,
        text: &CText,
        folder: &TempFolder,
        options: &COptions,
    ) -> Result<Vec<u8>, Error> {
        let (source, to) = (folder.path().join("program.c"), folder.path().join("program.so"));
        std::fs::write(&source, &text.text).map_err(|e| Error::File(source.clone(), e))?;
        let mut command = Command::new(&self.program);
        command.args(self.flags(text, options)).args(["-shared", "-fPIC", "-o"]);
        command.arg(&to).arg(&source).arg("-lm");
        run(&mut command, folder, &options.limits)?;
        std::fs::read(&to).map_err(|e| Error::File(to, e))
    }

    /// Compiles files to objects, and makes a static and a shared library of them; other files go to a folder that
    /// is there for that. The first file is the program's.
    ///
    /// # Errors
    /// There is no compiler or no `ar` (the command is `AR`, if that is set), or they fail or reach a limit.
    pub(super) fn libraries(
        &self,
        text: &CText,
        sources: &[PathBuf],
        [static_library, shared_library]: [&Path; 2],
        folder: &TempFolder,
        options: &COptions,
    ) -> Result<(), Error> {
        let mut objects = Vec::new();
        for source in sources {
            let name = source.file_stem().unwrap_or_default();
            let object = folder.path().join(name).with_extension("o");
            let mut command = Command::new(&self.program);
            command.args(self.flags(text, options)).args(["-c", "-fPIC", "-o"]);
            run(command.arg(&object).arg(source), folder, &options.limits)?;
            objects.push(object);
        }
        let ar = std::env::var_os("AR").filter(|ar| !ar.is_empty()).unwrap_or_else(|| "ar".into());
        let mut command = Command::new(ar);
        command.arg("rcs").arg(static_library).args(&objects);
        run(&mut command, folder, &options.limits)?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(["-shared", "-o"]).arg(shared_library);
        run(command.args(&objects).arg("-lm"), folder, &options.limits)
    }
}

/// Compiles a file and loads it, or loads what was compiled from the same text before.
///
/// # Errors
/// There is no compiler, or it fails or reaches a limit.
pub fn load(text: &CText, options: &COptions) -> Result<libloading::Library, Error> {
    let compiler = Compiler::find();
    let key = format!("{}\n{}", compiler.identity(options), text.text).into_bytes();
    let folder = TempFolder::temporary()?;
    if let Some(code) = options.cache.as_ref().and_then(|cache| cache.read::<Vec<u8>>(&key)) {
        if let Ok(code) = open(&code, &folder) {
            return Ok(code);
        }
    }
    let code = compiler.shared(text, &folder, options)?;
    if let Some(cache) = &options.cache {
        cache.write(&key, &code);
    }
    open(&code, &folder)
}

/// Loads code from a file of its own, which nobody can change or cut off while it is in use.
fn open(code: &[u8], folder: &TempFolder) -> Result<libloading::Library, Error> {
    let path = folder.path().join("loaded.so");
    std::fs::write(&path, code).map_err(|e| Error::File(path.clone(), e))?;
    // SAFETY: the library was made here, from text that has no initialisers and needs the C library alone.
    unsafe { libloading::Library::new(&path) }.map_err(|e| Error::Load(e.to_string()))
}

/// How compiled code rounds and what it may assume.
const FLAGS: [&str; 7] = [
    "-std=gnu11",
    "-fopenmp-simd",
    // All engines round alike.
    "-ffp-contract=off",
    // Nobody looks at `errno` and the flags of the floating-point unit.
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-w",
];

/// The processor, as far as code for it is no code for another one.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = info.lines().take_while(|line| !line.is_empty());
    let of_interest =
        ["model name", "cpu family", "model", "stepping", "flags", "CPU part", "Features"];
    let lines = lines.filter(|line| {
        let name = line.split(':').next().unwrap_or("").trim();
        of_interest.contains(&name)
    });
    lines.collect::<Vec<_>>().join("\n") + std::env::consts::ARCH
}
