//! Runs a program: `main`, or without one each constant, on the evaluator.
//!
//! What always holds: a run ends within its bounds on time and memory, with a message that says where it was.

use crate::engine::messages;
use crate::{pictures, table};
use diffeo_base::{Diagnostic, Name, SourceMap};
use diffeo_calculus::eval::{Event, Exceeded, Limits, Machine, MemoryLimit, Options, Warnings};
use diffeo_calculus::show::real;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_front::query::SymbolKind;
use diffeo_front::{Entry, ModuleId, Session};
use diffeo_plot_values::{may_hold, show};
use serde_json::{json, Value as Json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// What the page lends to the engine.
#[derive(Clone, Copy)]
pub struct Host {
    /// The time in seconds since some moment.
    pub now: fn() -> f64,
    /// The bytes in use.
    pub memory: fn() -> usize,
    /// Takes what a program tells while it runs.
    pub tell: fn(&str),
}

/// What a run may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Its time.
    pub seconds: f64,
    /// Its memory beyond what is in use.
    pub bytes: usize,
}

/// Gives the time.
type Clock = fn() -> f64;

thread_local! {
    /// When the run has to be over, how long it may take, and who tells the time.
    static DEADLINE: Cell<(f64, f64, Option<Clock>)> = const { Cell::new((0.0, 0.0, None)) };
}

/// How many lines of `trace` are kept.
const MOST_LINES: usize = 1000;
/// How many characters of a value are shown.
const MOST_SHOWN: usize = 20_000;
/// How many characters a line may have.
const LINE: usize = 70;
/// How often progress is told, in seconds.
const EVERY: f64 = 0.2;
/// What open calls may take.
const STACK: usize = 256 << 20;

/// Options that keep within the bounds, of which the one on time counts from `start`.
pub(crate) fn options(host: Host, bounds: Bounds, start: f64) -> Options {
    DEADLINE.set((start + bounds.seconds, bounds.seconds, Some(host.now)));
    let over = || {
        let (end, seconds, now) = DEADLINE.get();
        let over = now.is_some_and(|now| now() >= end);
        over.then(|| Exceeded::Time(Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    };
    let bytes = (host.memory)().saturating_add(bounds.bytes);
    let memory = Some(MemoryLimit { bytes, in_use: host.memory });
    let limits = Limits { memory, host: Some(over), ..Limits::default() };
    Options { max_stack: STACK, limits, ..Options::default() }
}

/// What a run is of.
pub(crate) struct RunRequest<'a> {
    /// The entry; empty for `main`, or each constant of a program without it.
    pub entry: &'a str,
    /// What the run may take.
    pub bounds: Bounds,
    /// The width in pixels that pictures have.
    pub room: f64,
}

/// Runs what a program defines, and says which further entries have plots.
pub(crate) fn run(
    session: &mut Session,
    module: ModuleId,
    host: Host,
    request: &RunRequest<'_>,
) -> Json {
    let RunRequest { entry, bounds, room } = *request;
    if session.has_errors() {
        let told = messages(session, module, &session.diagnostics());
        return json!({ "values": [], "messages": told, "lines": [] });
    }
    let mut said = session.take_diagnostics();
    let main = session.definitions(module).iter().any(|n| *n == "main");
    let constants: Vec<Name> = match (entry, main) {
        ("", true) => vec![Name::new("main")],
        ("", false) => {
            let all = session.symbols(module).into_iter();
            all.filter(|s| s.kind == SymbolKind::Constant).map(|s| s.name).collect()
        }
        (entry, _) => vec![Name::new(entry)],
    };
    let lines = Rc::new(RefCell::new(Vec::new()));
    let mut values = Vec::new();
    let entries = session.entries(module, &constants);
    let mut refused = session.take_diagnostics();
    if constants.len() > 1 {
        // A constant that is a function is none to show.
        refused.retain(|d| d.code != "entry-type");
    }
    said.extend(refused);
    let mut options = options(host, bounds, (host.now)());
    let (kept, warned) = (lines.clone(), Warnings::default());
    let mut next = f64::NEG_INFINITY;
    let sink = warned.clone();
    options.events = Box::new(move |event| match event {
        Event::Line(line) => {
            let mut kept = kept.borrow_mut();
            if kept.len() < MOST_LINES {
                (host.tell)(line);
                kept.push(line.to_string());
            }
        }
        Event::Progress(at) => {
            let now = (host.now)();
            if now >= next {
                next = now + EVERY;
                (host.tell)(&format!("{}: step {}, {}", at.label, at.step, real(at.value)));
            }
        }
        Event::Warning(warning) => sink.borrow_mut().push(warning),
    });
    let program = entries.first().map_or_else(Rc::default, |entry| entry.program.clone());
    let mut machine = Machine::new(program, options);
    for entry in &entries {
        if !entry.interface.fields.is_empty() {
            said.push(with_parameters(entry));
            continue;
        }
        let result = machine.eval_global(entry.global).and_then(|value| match &entry.ty {
            Ty::Fun(_) => machine.apply(&value, Value::Unit),
            _ => Ok(value),
        });
        said.extend(warned.take().iter().map(|w| w.to_diagnostic()));
        match result {
            Ok(value) => {
                let (pictures, told) = pictures::pictures(entry, &value, room);
                values.push(shown(session, module, entry, &value, pictures));
                said.extend(told);
            }
            Err(error) => {
                said.push(error.to_diagnostic());
                break;
            }
        }
    }
    let lines = lines.take();
    let said = messages(session, module, &said);
    let plots = plots(session, module, &constants);
    json!({ "values": values, "messages": said, "lines": lines, "plots": plots })
}

/// The entries beside these whose values may hold plots.
fn plots(session: &mut Session, module: ModuleId, run: &[Name]) -> Vec<String> {
    let all = session.symbols(module).into_iter().filter(|s| s.runnable);
    let others: Vec<Name> = all.map(|s| s.name).filter(|name| !run.contains(name)).collect();
    let entries = session.entries(module, &others);
    session.take_diagnostics();
    let holds = |entry: &&Entry| may_hold(result(entry), &entry.program.datas);
    entries.iter().filter(holds).map(|entry| entry.name.to_string()).collect()
}

/// The type of a constant, or of what a function gives.
pub(crate) fn result(entry: &Entry) -> &Ty {
    match &entry.ty {
        Ty::Fun(f) => &f.1,
        ty => ty,
    }
}

/// A value with its name and type; as a table, where it is one; with the pictures of the plots in it.
fn shown(
    session: &mut Session,
    module: ModuleId,
    entry: &Entry,
    value: &Value,
    pictures: Vec<Json>,
) -> Json {
    let (ty, datas) = (result(entry), &entry.program.datas);
    let mut text = laid_out(show(value, ty, datas));
    if let Some((end, _)) = text.char_indices().nth(MOST_SHOWN) {
        text.truncate(end);
        text.push_str(" …");
    }
    let written = session.show_types(module, Some(&entry.name));
    let ty_text = written.split_once(" : ").map_or("", |(_, ty)| ty.trim_end());
    json!({
        "name": entry.name.as_str(),
        "type": ty_text,
        "text": text,
        "table": table::table(value, ty, datas),
        "pictures": pictures,
    })
}

/// A value that is too long for a line, in the lines that the formatter makes of it.
fn laid_out(text: String) -> String {
    if !(LINE..MOST_SHOWN).contains(&text.len()) || !text.contains(['{', '(']) {
        return text;
    }
    let definition = format!("def it = {text}");
    let file = SourceMap::default().add("<value>", definition.as_str());
    match diffeo_syntax::format(file, &definition) {
        Ok(lines) => match lines.trim_end().strip_prefix("def it =\n") {
            Some(lines) => format!("\n{lines}").replace("\n  ", "\n").trim_start().to_string(),
            None => lines.trim_end().trim_start_matches("def it = ").to_string(),
        },
        // A function is no expression.
        Err(_) => text,
    }
}

fn with_parameters(entry: &Entry) -> Diagnostic {
    let fields: Vec<String> =
        entry.interface.fields.iter().map(|(n, t)| format!("`{n}: {t}`")).collect();
    let message = format!("`{}` has parameters: {}", entry.name, fields.join(", "));
    Diagnostic::error("parameters", entry.span, message)
        .help("here no files and arguments are read: define the parameters in the program, or a `main` without them")
}
