//! `diffeo test`: the tests of programs, and the examples in their doc comments.
//!
//! A test is a definition `test_…` that is a Bool or `()`, or a function of `()` that gives one. An example is a line
//! `> e` of a doc comment with the value of e, as it is printed, on the next line; it is evaluated in the scope of the
//! program. Each runs by itself: one that is stopped stops no other.

use crate::args::{Evaluation, Kinks, TestArgs};
use crate::commands::{Setting, Shell};
use crate::printable::printable;
use crate::{print, Stop};
use diffeo::{Cpu, Engine, Entry, Limits, ModuleId};
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::show::show;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use diffeo_ide::docs::examples;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What the name of a test begins with.
const TEST: &str = "test_";

/// Something to run.
struct TestCase {
    /// As it is shown.
    name: String,
    /// Its line, from 0, if that is known.
    line: Option<usize>,
    what: TestKind,
}

enum TestKind {
    /// The definition of this name.
    Test,
    /// An expression, and its value as it is printed.
    Example { expression: String, value: String },
}

/// How many there were.
#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    left_out: usize,
    /// Whether there is more, which has not run since time was up.
    is_stopped: bool,
}

/// `diffeo test`
pub fn test(args: &TestArgs, setting: Setting) -> Result<(), Stop> {
    let start = Instant::now();
    let mut shell = Shell::new(setting);
    let files = match args.files.is_empty() {
        true => programs(Path::new(".")).map_err(|error| {
            let message = format!("cannot look for programs here: {error}");
            shell.report(&[Diagnostic::error("unreadable-file", Span::NONE, message)]);
            Stop::Refused
        })?,
        false => args.files.clone(),
    };
    if files.is_empty() {
        let d = Diagnostic::error("argument", Span::NONE, "there are no .deo files here or below");
        return Err(shell.usage(&[d.help("name them: `diffeo test FILE…`")]));
    }
    let (mut count, mut refused) = (Count::default(), 0);
    let limits = shell.setting.limits.clone();
    let fresh = shell.session.clone();
    for path in files {
        if limits.check().is_err() {
            count.is_stopped = true;
            break;
        }
        // A program of its own: what is wrong with one says nothing of others.
        shell.session = fresh.clone();
        match shell.checked(&path) {
            Ok(module) => file(&mut shell, module, &path, args, &limits, &mut count)?,
            Err(Stop::Refused) => refused += 1,
            Err(stop) => return Err(stop),
        }
    }
    let mut summary = format!("{} passed, {} failed", count.passed, count.failed);
    if count.left_out > 0 {
        summary += &format!(", {} left out", count.left_out);
    }
    if refused > 0 {
        let files = if refused == 1 { "file" } else { "files" };
        summary += &format!(", {refused} {files} refused");
    }
    if count.is_stopped {
        summary += ", the rest not run,";
    }
    print::text(&format!("{summary} in {:.2} s", start.elapsed().as_secs_f64()))?;
    match count.failed + refused {
        0 if !count.is_stopped => Ok(()),
        _ => Err(Stop::Refused),
    }
}

/// The programs in a folder and those below it, in order; hidden folders are left out.
fn programs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link to a folder may lead back here.
        let kind = entry.file_type()?;
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if kind.is_dir() && !name.starts_with('.') {
            folders.push(path);
        } else if name.ends_with(".deo") && !kind.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    folders.sort();
    for folder in folders {
        files.extend(programs(&folder)?);
    }
    Ok(files)
}

/// Runs what is in a program.
fn file(
    shell: &mut Shell,
    module: ModuleId,
    path: &Path,
    args: &TestArgs,
    limits: &Limits,
    count: &mut Count,
) -> Result<(), Stop> {
    let mut cases = Vec::new();
    let places = shell.session.documentation_lines(module);
    for ((name, lines), places) in shell.session.documentation(module).into_iter().zip(places) {
        let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        for (i, expression, value) in examples(&lines) {
            let number = lines[..i].iter().filter(|line| line.trim().starts_with("> ")).count();
            let name = match number {
                0 => format!("{name}, example"),
                n => format!("{name}, example {}", n + 1),
            };
            let line = places.get(i).copied().filter(|_| places.len() == lines.len());
            cases.push(TestCase { name, line, what: TestKind::Example { expression, value } });
        }
    }
    let symbols = shell.session.symbols(module);
    for name in shell.session.definitions(module) {
        if name.starts_with(TEST) {
            let symbol = symbols.iter().find(|symbol| symbol.name == name);
            let line = symbol.map(|s| shell.session.sources().line_column(s.spans[0]).line - 1);
            cases.push(TestCase { name: name.to_string(), line, what: TestKind::Test });
        }
    }
    for case in cases {
        if limits.check().is_err() {
            count.is_stopped = true;
            break;
        }
        if args.only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            count.left_out += 1;
            continue;
        }
        shell.setting.limits = limits.clone();
        let before = shell.session.clone();
        let failure = match &case.what {
            TestKind::Test => of_test(shell, module, &case.name, args.engine),
            TestKind::Example { expression, value } => {
                of_example(shell, module, case.line, expression, value, args.engine)
            }
        };
        shell.session = before;
        let line = case.line.filter(|_| failure.is_some());
        let line = line.map_or(String::new(), |line| format!(":{}", line + 1));
        let name = printable(&format!("{}{line}: {}", path.display(), case.name)).into_owned();
        match failure {
            None => {
                count.passed += 1;
                print::text(&format!("ok      {name}"))?;
            }
            Some(why) => {
                count.failed += 1;
                let why = printable(&why).replace('\n', "\n        ");
                let why = if why.is_empty() { why } else { format!("\n        {why}") };
                print::text(&format!("FAILED  {name}{why}"))?;
            }
        }
    }
    Ok(())
}

/// The reason why a test failed; empty if a message has said it already.
fn of_test(shell: &mut Shell, module: ModuleId, name: &str, engine: Engine) -> Option<String> {
    let other = |shell: &Shell| {
        let ty = shell.session.type_of(module, name).unwrap_or_default();
        Some(format!(
            "a test is a Bool or (), or a function of () that gives one, but this is {ty}"
        ))
    };
    if shell.session.is_function(module, name) {
        return other(shell);
    }
    let Ok(entry) = shell.entry(module, name) else { return Some(String::new()) };
    if !matches!(entry.ty, Ty::Bool | Ty::Unit)
        && !matches!(&entry.ty, Ty::Fun(f) if f.0 == Ty::Unit && matches!(f.1, Ty::Bool | Ty::Unit))
    {
        return other(shell);
    }
    match value(shell, &entry, engine) {
        Err(_) => Some(String::new()),
        Ok(Value::Bool(false)) => Some("it is false".to_string()),
        Ok(_) => None,
    }
}

/// The reason why an example failed; empty if a message has said it already.
fn of_example(
    shell: &mut Shell,
    module: ModuleId,
    line: Option<usize>,
    expression: &str,
    wanted: &str,
    engine: Engine,
) -> Option<String> {
    let found = match line {
        Some(line) => shell.session.example(module, line),
        None => shell.session.expression(Some(module), expression),
    };
    if shell.flush().is_err() {
        return Some(format!("> {expression}"));
    }
    let entry = found.and_then(|it| shell.entry(it, "it").ok());
    let Some(entry) = entry else { return Some(format!("> {expression}")) };
    match value(shell, &entry, engine) {
        Err(_) => Some(format!("> {expression}")),
        Ok(value) => {
            let text = show(&value, entry.result_type(), &entry.program.datas);
            (text != wanted).then(|| format!("> {expression}\nis       {text}\nnot      {wanted}"))
        }
    }
}

fn value(shell: &mut Shell, entry: &Entry, engine: Engine) -> Result<Value, Stop> {
    let how =
        Evaluation { json: false, kinks: Kinks::Ignore, enclose: false, engine, unfold: None };
    shell.evaluate(entry, None, &how, Cpu::default())
}
