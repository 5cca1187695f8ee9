//! The kernels in C: compiled when they are measured.

use crate::case::{Kernel, KernelCase};
use crate::load::load;
use crate::run::Runner;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How a kernel is written in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// As it comes to mind.
    Plain,
    /// For speed: in vectors, with vector mathematics, in the order that suits the cache.
    Good,
}

impl Style {
    /// Both.
    pub const ALL: [Style; 2] = [Style::Plain, Style::Good];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Style::Plain => "plain C",
            Style::Good => "good C",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Style::Plain => "plain",
            Style::Good => "good",
        }
    }
}

/// The system's C compiler: `$CC`, else `cc`.
pub struct CCompiler {
    command: String,
    /// Its first line about itself.
    pub version: String,
    /// Whether the GNU C library's vector mathematics can be used.
    libmvec: bool,
    objects: tempfile::TempDir,
}

/// The folder `c/` of this crate.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

fn source(kernel: &Kernel, style: Style) -> PathBuf {
    sources().join(style.folder()).join(format!("{}.c", kernel.name))
}

impl CCompiler {
    /// The compiler, if there is one.
    ///
    /// # Errors
    /// There is none, or there is no room for what it makes.
    pub fn find() -> Result<CCompiler, String> {
        let command = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let version = Command::new(&command).arg("--version").output();
        let version = version.map_err(|e| format!("no C compiler `{command}`: {e}"))?;
        let text = String::from_utf8_lossy(&version.stdout);
        let version = text.lines().next().unwrap_or_default().to_string();
        let objects = tempfile::tempdir().map_err(|e| e.to_string())?;
        let mut compiler = CCompiler { command, version, libmvec: false, objects };
        compiler.libmvec = compiler.has_libmvec();
        Ok(compiler)
    }

    /// Whether a program with vector mathematics links and is vectorised so: GCC on x86-64 with a recent GNU C library.
    fn has_libmvec(&self) -> bool {
        let source = self.objects.path().join("probe.c");
        let text = "#include <stdint.h>\n#include \"vector_math.h\"\n\
            double probe(double *x, int n) {\n  double sum = 0;\n#pragma omp simd reduction(+ : sum)\n  \
            for (int i = 0; i < n; i++) sum += exp(x[i]) + tanh(x[i]);\n  return sum;\n}\n";
        let gnu = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
        if !gnu || std::fs::write(&source, text).is_err() {
            return false;
        }
        let object = self.objects.path().join("probe.so");
        let flags = ["-DUSE_LIBMVEC", "-Wl,--no-undefined"];
        let made = self.run(&source, &object, Style::Good, &flags, &["-lmvec"]);
        // clang takes the flags but not the attribute.
        made.is_ok() && !self.version.contains("clang")
    }

    fn run(
        &self,
        source: &Path,
        object: &Path,
        style: Style,
        flags: &[&str],
        libraries: &[&str],
    ) -> Result<(), String> {
        let mut command = Command::new(&self.command);
        command.args(["-std=c11", "-D_DEFAULT_SOURCE", "-O3", "-march=native", "-shared", "-fPIC"]);
        if style == Style::Good {
            command.args(["-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"]);
        }
        command.args(flags).arg("-I").arg(sources()).arg("-I").arg(sources().join("good"));
        command.arg(source).arg("-o").arg(object).args(libraries).arg("-lm");
        let output = command.output().map_err(|e| e.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{} refuses {}:\n{errors}", self.command, source.display()))
        }
    }

    /// Whether a kernel is written in C.
    pub fn has(kernel: &Kernel, style: Style) -> bool {
        source(kernel, style).is_file()
    }

    /// A kernel compiled and loaded for a case of it.
    ///
    /// # Errors
    /// What the compiler says against it.
    pub fn prepare<'a>(
        &self,
        kernel: &Kernel,
        case: &'a KernelCase,
        style: Style,
    ) -> Result<Runner<'a>, String> {
        let name = kernel.name;
        let source = source(kernel, style);
        // One object for each case: a file that is loaded is not written again.
        let label: String = case.label.chars().filter(char::is_ascii_alphanumeric).collect();
        let object = self.objects.path().join(format!("{name}_{label}_{}.so", style.folder()));
        let vector = style == Style::Good && self.libmvec;
        let (flags, libraries): (&[&str], &[&str]) =
            if vector { (&["-DUSE_LIBMVEC"], &["-lmvec"]) } else { (&[], &[]) };
        let start = Instant::now();
        self.run(&source, &object, style, flags, libraries)?;
        let compile = start.elapsed();
        Ok(Runner { name: style.name().into(), compile, prepared: Box::new(load(&object, case)?) })
    }
}
