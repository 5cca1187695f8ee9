//! The book (`docs/book`) and the doc comments of the standard library: every program in them runs.
//!
//! A block marked `diffeo` is a whole program. It must check without errors; if it defines `main`, the next
//! block is `text` and holds exactly what `main` prints, after the warnings, if there are any, as lines
//! `warning[code]: …` that are the beginnings of the messages. A block marked `diffeo error` must be refused
//! or stopped: the `text` block after it must be contained in the first error's `error[code]: message`. A
//! block `sh` between the two is the command line: its `--arg`, `--kinks` and `--json` count, and files are
//! looked for from the root of the repository. A block `sh` with `diffeo eval`, followed by `text`, is an
//! expression and its value. Blocks in other languages, or in none, are not run here. The tests of `diffeo-cli` run the
//! tutorial, as a session of a shell, and `diffeo show`.
//!
//! In doc comments of the standard library, a line `> e` is an expression and the next line its value.

use diffeo::data::{read_argument, to_json, Field};
use diffeo::plot::show;
use diffeo::{library, Diagnostic, Engine, Entry, Kinks, ModuleId, Options, Session};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the book: name and text.
fn pages() -> Vec<(String, String)> {
    let folder = root().join("docs/book");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the book is there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a readable page");
    names.into_iter().map(|name| (name.clone(), text(&name))).collect()
}

/// A fenced block.
struct FencedBlock {
    /// What stands after the fence.
    info: String,
    /// Its line in the page.
    line: usize,
    text: String,
}

fn blocks(page: &str) -> Vec<FencedBlock> {
    let mut out: Vec<FencedBlock> = Vec::new();
    let mut open = false;
    for (i, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => {
                out.push(FencedBlock {
                    info: info.trim().to_string(),
                    line: i + 1,
                    text: String::new(),
                });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                if let Some(block) = out.last_mut() {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    out
}

/// How a program is run.
struct Command {
    args: Vec<(String, String)>,
    kinks: Kinks,
    json: bool,
    /// The expression of `diffeo eval`.
    expression: Option<String>,
}

impl Default for Command {
    fn default() -> Command {
        Command { args: Vec::new(), kinks: Kinks::Ignore, json: false, expression: None }
    }
}

/// The words of a command line; quotes of either kind keep words together.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() || c == '\\' => out.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

fn command(text: &str) -> Command {
    let mut command = Command::default();
    let mut words = words(text).into_iter();
    assert_eq!(words.next().as_deref(), Some("diffeo"), "a command of diffeo: {text}");
    match words.next().as_deref() {
        Some("eval") => command.expression = words.next(),
        Some("run") => {
            words.next().expect("the file to run");
        }
        other => panic!("only `run` and `eval` are run: {other:?}"),
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => command.json = true,
            "--enclose" => command.kinks = Kinks::Enclose,
            "--kinks" => {
                command.kinks = match words.next().as_deref() {
                    Some("warn") => Kinks::Warn,
                    Some("error") => Kinks::Error,
                    Some("exact") => Kinks::Exact,
                    _ => Kinks::Ignore,
                }
            }
            "--arg" => {
                let arg = words.next().expect("NAME=VALUE after --arg");
                let (name, value) = arg.split_once('=').expect("NAME=VALUE after --arg");
                command.args.push((name.to_string(), in_root(value)));
            }
            other => panic!("the option {other} is not known to this test"),
        }
    }
    command
}

/// The value of an argument; a file's name from the root of the repository.
fn in_root(value: &str) -> String {
    let is_file = root().join(value.split(':').next().unwrap_or(value)).is_file();
    if is_file {
        root().join(value).to_string_lossy().into_owned()
    } else {
        value.to_string()
    }
}

/// What a program gave.
#[derive(Default)]
struct ExampleOutcome {
    value: Option<String>,
    diagnostics: Vec<Diagnostic>,
}

impl ExampleOutcome {
    fn lines(&self, error: bool) -> Vec<String> {
        let kind = if error { "error" } else { "warning" };
        let line = |d: &Diagnostic| format!("{kind}[{}]: {}", d.code, d.message);
        self.diagnostics.iter().filter(|d| d.is_error() == error).map(line).collect()
    }
}

fn program(text: &str, command: &Command) -> ExampleOutcome {
    let mut session = Session::new();
    let module = session.load_text("program.deo", text);
    session.check();
    let has_main = session.definitions(module).iter().any(|name| *name == "main");
    let entry =
        if has_main && !session.has_errors() { session.entry(module, "main") } else { None };
    let mut outcome =
        entry.map_or(ExampleOutcome::default(), |entry| evaluate(&session, &entry, command));
    outcome.diagnostics.extend(session.diagnostics());
    outcome
}

fn expression(
    session: &mut Session,
    module: Option<ModuleId>,
    text: &str,
    command: &Command,
) -> ExampleOutcome {
    let entry = session.expression(module, text).and_then(|it| session.entry(it, "it"));
    let mut outcome =
        entry.map_or(ExampleOutcome::default(), |entry| evaluate(session, &entry, command));
    outcome.diagnostics.extend(session.take_diagnostics());
    outcome
}

fn evaluate(session: &Session, entry: &Entry, command: &Command) -> ExampleOutcome {
    let datas = &entry.program.datas;
    let mut outcome = ExampleOutcome::default();
    let (arg, ty) = match &entry.ty {
        Ty::Fun(function) => {
            let mut values = Vec::new();
            if let Ty::Record(fields) = &function.0 {
                for (name, ty) in fields.iter() {
                    let given = command.args.iter().find(|(arg, _)| *name == arg.as_str());
                    let (_, text) = given.unwrap_or_else(|| panic!("no `--arg {name}=…`"));
                    let written = entry.interface.fields.iter().find(|(field, _)| field == name);
                    let written = written.map(|(_, ty)| ty.as_str());
                    let interface = entry.interface.ty.sides().0.field(name);
                    let field = Field { name, ty, written, interface };
                    match read_argument(text, &field, datas, &|| Ok(())) {
                        Ok(value) => values.push(value),
                        Err(error) => outcome.diagnostics.push(error.to_diagnostic(datas)),
                    }
                }
            }
            let arg = if values.is_empty() { Value::Unit } else { Value::tuple(values) };
            (Some(arg), function.1.clone())
        }
        ty => (None, ty.clone()),
    };
    if !outcome.diagnostics.is_empty() {
        return outcome;
    }
    let options = Options { kinks: command.kinks, ..Options::default() };
    // As the command line runs it, without the change of code that depends on the time.
    let run = session.run_on(entry, arg, options, Engine::JIT);
    outcome.diagnostics.extend(run.warnings);
    match run.result {
        Err(error) => outcome.diagnostics.push(error),
        Ok(value) if command.json => {
            let mut out = Vec::new();
            to_json(&mut out, &value, &ty, datas).expect("JSON goes to memory");
            outcome.value = Some(String::from_utf8(out).expect("JSON is text"));
        }
        Ok(value) => outcome.value = Some(show(&value, &ty, datas)),
    }
    outcome
}

/// What is wrong with the outcome of a program that is to give this text.
fn judge(outcome: &ExampleOutcome, is_error: bool, expected: Option<&str>) -> Result<(), String> {
    let (errors, warnings) = (outcome.lines(true), outcome.lines(false));
    let expected = expected.map(str::trim_end);
    if is_error {
        let first = errors.first().ok_or(format!("no error; the value is {:?}", outcome.value))?;
        return match expected {
            Some(text) if !text.is_empty() && first.contains(text) => Ok(()),
            _ => Err(format!("the error is\n{first}")),
        };
    }
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let mut wanted: Vec<&str> = expected.map_or(Vec::new(), |text| text.lines().collect());
    let announced = wanted.iter().take_while(|line| line.starts_with("warning[")).count();
    let mut announced = wanted.drain(..announced).collect::<Vec<_>>().into_iter();
    for warning in &warnings {
        if !announced.next().is_some_and(|line| warning.starts_with(line)) {
            return Err(format!("this warning is not announced:\n{warning}"));
        }
    }
    if let Some(line) = announced.next() {
        return Err(format!("this warning does not come:\n{line}"));
    }
    match (&outcome.value, expected.map(|_| wanted.join("\n"))) {
        (Some(value), Some(text)) if *value == text => Ok(()),
        (Some(value), _) => Err(format!("it prints\n{value}")),
        (None, Some(_)) => Err("it prints nothing: there is no `main`".to_string()),
        (None, None) => Ok(()),
    }
}

#[test]
fn the_programs_of_the_book_do_what_it_says() {
    let mut failures = Vec::new();
    let mut run = 0;
    // The tutorial is a session of a shell, which the tests of the program `diffeo` go through.
    for (page, text) in pages().into_iter().filter(|(page, _)| page != "tutorial.md") {
        let blocks = blocks(&text);
        let info = |i: usize| blocks.get(i).map_or("", |b: &FencedBlock| b.info.as_str());
        let mut i = 0;
        while i < blocks.len() {
            let block = &blocks[i];
            let shows = |i: usize| {
                blocks.get(i).is_some_and(|b: &FencedBlock| b.text.starts_with("diffeo show"))
            };
            let has_command = info(i + 1) == "sh" && info(i + 2) == "text" && !shows(i + 1);
            let result = match block.info.as_str() {
                "diffeo" | "diffeo error" => {
                    let how =
                        if has_command { command(&blocks[i + 1].text) } else { Command::default() };
                    i += usize::from(has_command);
                    let expected = (info(i + 1) == "text").then(|| blocks[i + 1].text.as_str());
                    i += usize::from(expected.is_some());
                    judge(&program(&block.text, &how), block.info != "diffeo", expected)
                }
                "sh" if shows(i) => {
                    i += 2;
                    continue;
                }
                "sh" if info(i + 1) == "text" => {
                    i += 1;
                    let how = command(&block.text);
                    let text = how.expression.clone().unwrap_or_default();
                    let outcome = expression(&mut Session::new(), None, &text, &how);
                    judge(&outcome, false, Some(&blocks[i].text))
                }
                "text" => Err("this text belongs to no program".to_string()),
                other if other.starts_with("diffeo") => Err(format!("an unknown mark: {other}")),
                _ => {
                    i += 1;
                    continue;
                }
            };
            run += 1;
            if let Err(wrong) = result {
                failures.push(format!("docs/book/{page}:{}: {wrong}", block.line));
            }
            i += 1;
        }
    }
    println!("{run} programs");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    assert!(run >= 70, "the book has only {run} programs");
}

#[test]
fn the_examples_of_the_library_give_their_values() {
    let mut failures = Vec::new();
    let mut run = 0;
    for (module_name, _) in library::MODULES {
        let mut session = Session::new();
        let module = session.library_module(module_name).expect("a module of the library");
        for (name, lines) in session.documentation(module) {
            let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            let examples: Vec<usize> =
                (0..lines.len()).filter(|i| lines[*i].starts_with("> ")).collect();
            let deprecated = lines.iter().any(|line| line.starts_with("Deprecated:"));
            let shown = *module_name == "prelude" || !lines.is_empty();
            if examples.is_empty() && shown && !deprecated {
                failures.push(format!("{module_name}.{name} has no example"));
            }
            for i in examples {
                run += 1;
                let text = lines[i].trim_start_matches("> ");
                let outcome = expression(&mut session, Some(module), text, &Command::default());
                if let Err(wrong) = judge(&outcome, false, Some(lines.get(i + 1).unwrap_or(&""))) {
                    failures.push(format!("{module_name}.{name}: {text}: {wrong}"));
                }
            }
        }
    }
    println!("{run} examples");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The heads of the documented definitions of a module as written: `name(x: T) -> U`, `name: T`.
fn signatures(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let documented = (1..lines.len()).filter(|i| lines[i - 1].starts_with("##"));
    documented
        .filter_map(|i| lines[i].strip_prefix("def ").map(|first| (first, &lines[i + 1..])))
        .map(|(first, rest)| {
            // Long parameter lists stand on several lines.
            let mut head = first.to_string();
            let mut rest = rest.iter();
            while !head.contains(" =") {
                let line = rest.next().expect("a head ends with `=`").trim();
                let joint = if head.ends_with('(') || line.starts_with(')') { "" } else { " " };
                head.push_str(joint);
                head.push_str(line);
            }
            head.split(" =").next().unwrap_or(&head).to_string()
        })
        .collect()
}

#[test]
fn the_pages_of_the_library_list_every_documented_definition() {
    let pages = pages();
    for (module, source) in library::MODULES {
        let file = if *module == "prelude" { "library.md".into() } else { format!("{module}.md") };
        let page = pages.iter().find(|(name, _)| *name == file);
        let (_, page) = page.unwrap_or_else(|| panic!("there is no page {file}"));
        let missing: Vec<String> =
            signatures(source).into_iter().filter(|s| !page.contains(&format!("`{s}`"))).collect();
        assert!(missing.is_empty(), "docs/book/{file} lacks\n{}", missing.join("\n"));
    }
}

/// A page without its blocks and without the code in its lines.
fn prose(page: &str) -> String {
    let even = |text: &str, separator: &str, joint: &str| -> String {
        let parts: Vec<&str> = text.split(separator).step_by(2).collect();
        parts.join(joint)
    };
    even(&even(page, "\n```", "\n"), "`", "")
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn the_links_of_the_book_lead_somewhere() {
    let pages = pages();
    let anchors = |page: &str| -> Vec<String> {
        let text = pages.iter().find(|(name, _)| name == page).map_or("", |(_, text)| text);
        let text = prose(text);
        let headings = text.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
    };
    for (page, text) in &pages {
        for link in prose(text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page.as_str() } else { file };
            assert!(root().join("docs/book").join(file).exists(), "{page}: no file for {link}");
            let found = place.is_empty() || anchors(file).iter().any(|a| a == place);
            assert!(found, "{page}: no heading for {link}");
        }
    }
}
