//! The corpus of `tests/lang`: its cases and how they are run.
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
//! #kinks warn|error            how the case is run
//! #d f at X                    a derivative check of the expression f at the expression X
//! #d1 f at X                   the same, first derivatives only
//! ```

// Each test that uses this uses a part of it.
#![allow(dead_code)]

use diffeo::{
    Diagnostic, Engine, Event, Kinks, Limits, MemoryLimit, ModuleId, Options, Session, Unsupported,
};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

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
                case.kinks = Some(if v == "warn" { Kinks::Warn } else { Kinks::Error });
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

/// What running a case's `main` gave.
#[derive(Default)]
pub struct CaseOutcome {
    pub value: Option<String>,
    pub diagnostics: Vec<Diagnostic>,
    pub trace: Vec<String>,
    /// Why the evaluator took the place of the engine, if it did.
    pub unsupported: Option<Unsupported>,
}

/// How many times a thousand operations a case may take on one of the papers' systems.
const MOST: usize = 2_000;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Limits that end a run always at the same place: they are asked for every thousand operations, and a count of
/// that takes the place of the memory in use.
pub fn bounded() -> Limits {
    LEFT.set(MOST);
    let in_use = || {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        usize::from(left == 0)
    };
    Limits { memory: Some(MemoryLimit { bytes: 0, in_use }), ..Limits::default() }
}

/// Loads a program and runs its `main`, if it has one, on an engine.
pub fn run_on(text: &str, kinks: Kinks, engine: Engine) -> (Session, ModuleId, CaseOutcome) {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    let mut outcome = CaseOutcome::default();
    let has_main = session.definitions(module).iter().any(|d| *d == "main");
    if has_main && !session.has_errors() {
        if let Some(entry) = session.entry(module, "main") {
            let lines = Rc::new(RefCell::new(Vec::new()));
            let sink = lines.clone();
            let limits = match engine {
                Engine::Auto
                | Engine::Reference
                | Engine::Flat
                | Engine::JIT
                | Engine::LLVM
                | Engine::C => Limits::default(),
                Engine::TRACE | Engine::DUAL | Engine::DELTA | Engine::TAYLOR => bounded(),
            };
            let options = Options {
                kinks,
                limits,
                events: Box::new(move |event| {
                    if let Event::Line(line) = event {
                        sink.borrow_mut().push(line.to_string());
                    }
                }),
                ..Options::default()
            };
            let run = session.run_on(&entry, None, options, engine);
            outcome.diagnostics.extend(run.warnings);
            outcome.unsupported = run.unsupported;
            match run.result {
                Ok(value) => {
                    let ty = match &entry.ty {
                        diffeo_calculus::Ty::Fun(f) => f.1.clone(),
                        ty => ty.clone(),
                    };
                    let datas = &entry.program.datas;
                    outcome.value = Some(diffeo_calculus::show::show(&value, &ty, datas));
                }
                Err(error) => outcome.diagnostics.push(error),
            }
            outcome.trace = lines.borrow().clone();
        }
    }
    outcome.diagnostics.extend(session.diagnostics());
    (session, module, outcome)
}

/// What is wrong with the outcome of a case.
pub fn judge(case: &Case, session: &Session, outcome: &CaseOutcome) -> Vec<String> {
    judge_by(|a, b| a == b, case, session, outcome)
}

/// As [`judge`], with values compared by `equal`.
pub fn judge_by(
    equal: impl Fn(&str, &str) -> bool,
    case: &Case,
    session: &Session,
    outcome: &CaseOutcome,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let help =
        |d: &Diagnostic| d.help.as_ref().map(|help| help.written(diffeo::Spelling::CommandLine));
    let shown = |d: &Diagnostic| {
        let at = session.sources().line_column(d.primary.span);
        let help = help(d).unwrap_or_else(|| "none".to_string());
        let text = format!("{} (help: {help})", d.message);
        format!("{:?}[{}] {}:{}: {text}", d.severity, d.code, at.line, at.column)
    };
    let matches = |e: &Expected, d: &Diagnostic| {
        let at = session.sources().line_column(d.primary.span);
        e.code == d.code
            && e.place.is_none_or(|p| p == (at.line, at.column))
            && (d.message.contains(&e.text)
                || d.notes.iter().chain(&help(d)).any(|text| text.contains(&e.text)))
    };
    for (wanted, error) in
        case.errors.iter().map(|e| (e, true)).chain(case.warnings.iter().map(|w| (w, false)))
    {
        if !outcome.diagnostics.iter().any(|d| d.is_error() == error && matches(wanted, d)) {
            let all: Vec<String> = outcome.diagnostics.iter().map(shown).collect();
            wrong.push(format!(
                "expected {wanted:?}, found {}; value {:?}",
                all.join(" | "),
                outcome.value
            ));
        }
    }
    for d in &outcome.diagnostics {
        let list = if d.is_error() { &case.errors } else { &case.warnings };
        if !list.iter().any(|e| matches(e, d)) {
            wrong.push(format!("unexpected {}", shown(d)));
        }
    }
    if let Some(value) = &case.value {
        if !outcome.value.as_ref().is_some_and(|v| equal(value, v)) {
            wrong.push(format!("expected {value}, found {:?}", outcome.value));
        }
    }
    if let Some(value) = &case.near {
        if !outcome.value.as_ref().is_some_and(|v| near(value, v, 1e-9)) {
            wrong.push(format!("expected about {value}, found {:?}", outcome.value));
        }
    }
    if !case.trace.is_empty() && case.trace != outcome.trace {
        wrong.push(format!("expected the trace {:?}, found {:?}", case.trace, outcome.trace));
    }
    wrong
}

/// The numbers of a printed value, and what is left of it.
fn split(s: &str) -> (Vec<f64>, String) {
    let mut numbers = Vec::new();
    let mut rest = String::new();
    let mut word = String::new();
    for c in s.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || "+-._'".contains(c) {
            word.push(c);
            continue;
        }
        match word.parse::<f64>() {
            Ok(x) => {
                numbers.push(x);
                rest.push('#');
            }
            Err(_) => rest.push_str(&word),
        }
        word.clear();
        rest.push(c);
    }
    (numbers, rest)
}

/// Whether two printed values agree up to a relative tolerance in their numbers.
pub fn near(a: &str, b: &str, tolerance: f64) -> bool {
    agree(a, b, &|x, y| tolerance * x.abs().max(y.abs()).max(1e-12))
}

/// The same relative to the largest of the numbers, or to 1.
pub fn near_largest(a: &str, b: &str, tolerance: f64) -> bool {
    let finite = split(a).0.into_iter().filter(|x| x.is_finite());
    let largest = finite.fold(1.0, |m: f64, x| m.max(x.abs()));
    agree(a, b, &|_, _| tolerance * largest)
}

fn agree(a: &str, b: &str, allowed: &dyn Fn(f64, f64) -> f64) -> bool {
    let ((xs, s), (ys, t)) = (split(a), split(b));
    let close = |x: f64, y: f64| {
        let finite = x.is_finite() && y.is_finite();
        x == y || x.is_nan() && y.is_nan() || finite && (x - y).abs() <= allowed(x, y)
    };
    s == t && xs.len() == ys.len() && xs.iter().zip(&ys).all(|(x, y)| close(*x, *y))
}
