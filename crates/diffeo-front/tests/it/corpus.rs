//! The corpus of `tests/lang`: its cases. Tests of several crates include this file.
//!
//! A file holds many cases. A case starts with `#: name`; directive lines of its own follow, then the
//! program. Lines and columns in directives count from the first line after the directives.
//!
//! ```text
//! #= VALUE                     what `main` prints
//! #~ VALUE                     the same up to 1e-9 relative in each number
//! #! code 3:5 text             an error with this code, at this place, with this in its message, notes or help
//! #? code 3:5 text             a warning (place and text may be left out)
//! #> line                      a line of `trace` output, in order
//! #kinks warn|error|exact      how the case is run
//! #d f at X                    a derivative check of the expression f at the expression X
//! #d1 f at X                   the same, first derivatives only
//! ```

// Each test that uses this uses a part of it.
#![allow(dead_code)]

use diffeo_base::{Diagnostic, SourceMap, Spelling};
use diffeo_calculus::eval::Kinks;
use std::path::{Path, PathBuf};

/// A case of the corpus.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub file: PathBuf,
    pub line: usize,
    pub name: String,
    pub value: Option<String>,
    pub near: Option<String>,
    pub errors: Vec<Expected>,
    pub warnings: Vec<Expected>,
    pub trace: Vec<String>,
    pub kinks: Option<Kinks>,
    /// Function, point, and whether only first derivatives are checked.
    pub derivatives: Vec<(String, String, bool)>,
    pub text: String,
}

/// An expected message.
#[derive(Clone, Debug)]
pub struct Expected {
    pub code: String,
    pub place: Option<(usize, usize)>,
    pub text: String,
}

fn expected(line: &str) -> Expected {
    let mut words = line.trim().splitn(2, ' ');
    let code = words.next().unwrap_or_default().to_string();
    let rest = words.next().unwrap_or("").trim();
    let mut parts = rest.splitn(2, ' ');
    let first = parts.next().unwrap_or("");
    let place = first.split_once(':').and_then(|(l, c)| Some((l.parse().ok()?, c.parse().ok()?)));
    let text = match place {
        Some(_) => parts.next().unwrap_or("").trim().to_string(),
        None => rest.to_string(),
    };
    Expected { code, place, text }
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cases of every file below `tests/lang`, in order.
pub fn corpus() -> Vec<Case> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("tests/lang")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the corpus is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "deo") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.iter().flat_map(|f| cases(f)).collect()
}

/// The cases of a file.
pub fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("a readable corpus file");
    let mut out: Vec<Case> = Vec::new();
    let mut head = false;
    for (i, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("#: ") {
            head = true;
            out.push(Case {
                file: file.to_path_buf(),
                line: i + 1,
                name: name.trim().to_string(),
                ..Case::default()
            });
            continue;
        }
        let Some(case) = out.last_mut() else { continue };
        if head && line.starts_with('#') && !line.starts_with("# ") {
            let rest = |prefix: &str| line.strip_prefix(prefix).map(|r| r.trim().to_string());
            if let Some(v) = rest("#= ") {
                case.value = Some(v);
            } else if let Some(v) = rest("#~ ") {
                case.near = Some(v);
            } else if let Some(v) = rest("#! ") {
                case.errors.push(expected(&v));
            } else if let Some(v) = rest("#? ") {
                case.warnings.push(expected(&v));
            } else if let Some(v) = rest("#> ") {
                case.trace.push(v);
            } else if let Some(v) = rest("#kinks ") {
                case.kinks = Some(match v.as_str() {
                    "warn" => Kinks::Warn,
                    "error" => Kinks::Error,
                    "exact" => Kinks::Exact,
                    "enclose" => Kinks::Enclose,
                    other => panic!("{other:?} is no way with kinks"),
                });
            } else if let Some((first, v)) =
                rest("#d1 ").map(|v| (true, v)).or_else(|| rest("#d ").map(|v| (false, v)))
            {
                let (f, x) = v.split_once(" at ").unwrap_or_else(|| {
                    panic!("{}:{}: `#d f at X` expected", file.display(), i + 1)
                });
                case.derivatives.push((f.to_string(), x.to_string(), first));
            } else {
                panic!("{}:{}: an unknown directive: {line}", file.display(), i + 1);
            }
            continue;
        }
        head = false;
        case.text.push_str(line);
        case.text.push('\n');
    }
    for case in &out {
        let checks = case.value.is_some()
            || case.near.is_some()
            || !case.errors.is_empty()
            || !case.warnings.is_empty()
            || !case.trace.is_empty()
            || !case.derivatives.is_empty();
        assert!(checks, "{}:{}: the case expects nothing", case.file.display(), case.line);
    }
    out
}

/// What to do, as the command line says it.
fn help(diagnostic: &Diagnostic) -> Option<String> {
    diagnostic.help.as_ref().map(|help| help.written(Spelling::CommandLine))
}

/// A message in a line.
pub fn shown(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let at = sources.line_column(diagnostic.primary.span);
    let help = help(diagnostic).unwrap_or_else(|| "none".to_string());
    let Diagnostic { severity, code, message, .. } = diagnostic;
    format!("{severity:?}[{code}] {}:{}: {message} (help: {help})", at.line, at.column)
}

impl Expected {
    /// Whether a message is this one.
    pub fn is(&self, diagnostic: &Diagnostic, sources: &SourceMap) -> bool {
        let at = sources.line_column(diagnostic.primary.span);
        self.code == diagnostic.code
            && self.place.is_none_or(|place| place == (at.line, at.column))
            && (diagnostic.message.contains(&self.text)
                || diagnostic.notes.iter().chain(&help(diagnostic)).any(|t| t.contains(&self.text)))
    }
}

impl Case {
    /// The messages that the case does not expect, each in a line.
    pub fn unexpected(&self, found: &[Diagnostic], sources: &SourceMap) -> Vec<String> {
        let expected = |d: &&Diagnostic| {
            let list = if d.is_error() { &self.errors } else { &self.warnings };
            list.iter().any(|e| e.is(d, sources))
        };
        let others = found.iter().filter(|d| !expected(d));
        others.map(|d| format!("unexpected {}", shown(d, sources))).collect()
    }

    /// The expected messages that were not found, each in a line.
    pub fn missing(&self, found: &[Diagnostic], sources: &SourceMap) -> Vec<String> {
        let expected = self.errors.iter().map(|e| (e, true));
        let expected = expected.chain(self.warnings.iter().map(|w| (w, false)));
        let is_there = |(wanted, error): &(&Expected, bool)| {
            found.iter().any(|d| d.is_error() == *error && wanted.is(d, sources))
        };
        let missing = expected.filter(|wanted| !is_there(wanted));
        let all: Vec<String> = found.iter().map(|d| shown(d, sources)).collect();
        missing.map(|(e, _)| format!("expected {e:?}, found {}", all.join(" | "))).collect()
    }
}
