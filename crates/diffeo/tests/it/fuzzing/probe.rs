//! What holds of every text: the probes that the fuzz targets and the bounded test share.
//!
//! A text comes in and goes as far as it can: syntax tree, types, Core, value, and the value read back as a
//! program and as JSON. A probe panics where something does not hold that should; what is wrong with the
//! text is no failure.

use diffeo::data::{read_argument, to_json, Field};
use diffeo::{Diagnostic, Engine, Entry, Kinks, Limits, ModuleId, Options, Session};
use diffeo_base::{FileId, Span};
use diffeo_calculus::show::show;
use diffeo_calculus::{alpha_eq_programs, lint, Ty};
use std::time::Duration;

thread_local! {
    static NEW: Session = Session::new();
}

/// A session with the prelude.
pub fn session() -> Session {
    NEW.with(Session::clone)
}

/// The syntax: any text gives a tree whose places lie in the text, and what cannot be read is said.
pub fn syntax(text: &str) {
    let file = FileId(3);
    for (module, diagnostics) in
        [diffeo_syntax::parse_expression(file, text), diffeo_syntax::parse(file, text)]
    {
        let right = |span: Span| {
            span.file == file
                && span.start <= span.end
                && text.is_char_boundary(span.start as usize)
                && text.is_char_boundary(span.end as usize)
        };
        assert!(module.exprs.iter().all(|(_, e)| right(e.span)), "an expression's place");
        assert!(module.pats.iter().all(|(_, p)| right(p.span)), "a pattern's place");
        assert!(module.types.iter().all(|(_, t)| right(t.span)), "a type's place");
        for d in &diagnostics {
            assert!(right(d.primary.span) && d.labels.iter().all(|l| right(l.span)), "{d:?}");
            assert!(!d.message.is_empty(), "{d:?}");
        }
        let tree = diffeo_syntax::print(&module);
        assert!(!tree.contains("<error>") || !diagnostics.is_empty(), "an error that nobody tells");
    }
    layout(text);
}

/// A text without errors has a layout, of the same program, which laying it out again does not change.
pub fn layout(text: &str) -> Option<String> {
    let file = FileId(3);
    let (tree, errors) = diffeo_syntax::parse(file, text);
    let formatted = match diffeo_syntax::format(file, text) {
        Ok(formatted) => formatted,
        Err(found) => {
            assert!(errors.iter().any(Diagnostic::is_error), "no layout: {found:?}");
            return None;
        }
    };
    let (again, _) = diffeo_syntax::parse(file, &formatted);
    assert_eq!(diffeo_syntax::print(&tree), diffeo_syntax::print(&again), "{formatted}");
    assert_eq!(diffeo_syntax::format(file, &formatted).as_deref(), Ok(&*formatted));
    Some(formatted)
}

/// A text, loaded and checked.
pub fn load(text: &str) -> (Session, ModuleId) {
    let mut session = session();
    let module = session.load_text("program.deo", text);
    session.check();
    (session, module)
}

/// Every message says something, about places that exist.
fn messages(session: &Session, diagnostics: &[Diagnostic]) {
    let sources = session.sources();
    let right = |span: Span| {
        let text = sources.text(span.file);
        span.start <= span.end
            && text.is_char_boundary(span.start as usize)
            && text.is_char_boundary(span.end as usize)
    };
    for d in diagnostics {
        assert!(d.code != "internal", "{d:?}");
        assert!(!d.message.is_empty(), "{d:?}");
        // The library's files have other names.
        assert_eq!(sources.name(d.primary.span.file), "program.deo", "no place: {d:?}");
        assert!(right(d.primary.span) && d.labels.iter().all(|l| right(l.span)), "{d:?}");
    }
}

/// The front end: names, types, patterns. If there is nothing wrong with the text, it has types to show and
/// every definition has Core that lints and that prints and parses back.
pub fn front_end(text: &str) -> Option<(Session, ModuleId)> {
    let (mut session, module) = load(text);
    let diagnostics = session.diagnostics();
    messages(&session, &diagnostics);
    assert_eq!(diagnostics, load(text).0.diagnostics(), "the same text, other messages");
    if session.has_errors() {
        return None;
    }
    session.show_types(module, None);
    for name in session.definitions(module).iter().take(16) {
        let Some(entry) = session.function(module, name) else {
            // A limit of elaboration, which reading does not know.
            let said = session.diagnostics();
            assert!(
                said.iter().all(|d| d.code == "type-too-large") && !said.is_empty(),
                "{said:?}"
            );
            return None;
        };
        let wrong = lint(&entry.program);
        assert!(wrong.is_empty(), "Core of `{name}` that does not lint: {}", wrong.join("\n"));
        let core = session.show_core(module, Some(name)).expect("a definition without errors");
        let back = diffeo_calculus::parse(&core).unwrap_or_else(|e| panic!("{e} in\n{core}"));
        assert!(alpha_eq_programs(&entry.program, &back), "not read back as printed:\n{core}");
    }
    Some((session, module))
}

/// What became of `main`.
#[derive(Clone, PartialEq, Debug)]
pub enum ProbeOutcome {
    /// Its value, as it is shown.
    Value(String),
    /// It stopped with an error of this code.
    Stopped(&'static str),
    /// There is no `main`, or it takes parameters or functions.
    NoEntry,
}

/// How a program is to be run: at most this long, with at most as much memory as `Limits` say.
pub fn options(kinks: Kinks, limits: &Limits, time: Duration) -> Options {
    let limits = Limits { memory: limits.memory, ..Limits::after(time) };
    // Less than a gigabyte of open calls: they are outside of what `limits` count.
    Options { kinks, limits, max_stack: 64 << 20, ..Options::default() }
}

/// Runs `main`, and reads what it shows back.
pub fn run(session: &mut Session, module: ModuleId, options: Options) -> ProbeOutcome {
    let main = session.definitions(module).iter().any(|d| *d == "main");
    let Some(entry) = main.then(|| session.entry(module, "main")).flatten() else {
        let diagnostics = session.take_diagnostics();
        messages(session, &diagnostics);
        return ProbeOutcome::NoEntry;
    };
    if !entry.interface.fields.is_empty() {
        return ProbeOutcome::NoEntry;
    }
    let run = session.run_on(&entry, None, options, Engine::Reference);
    messages(session, &run.warnings);
    let value = match run.result {
        Ok(value) => value,
        Err(error) => {
            // Where a bound on the whole run is reached, no place is to blame.
            if !["timeout", "out-of-memory"].contains(&error.code) {
                messages(session, std::slice::from_ref(&error));
            }
            return ProbeOutcome::Stopped(error.code);
        }
    };
    let ty = match &entry.ty {
        Ty::Fun(f) => &f.1,
        ty => ty,
    };
    let datas = &entry.program.datas;
    let shown = show(&value, ty, datas);
    let mut json = Vec::new();
    to_json(&mut json, &value, ty, datas).expect("writing to memory");
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    let field = Field { name: "x", ty, written: None, interface: None };
    match read_argument(&json, &field, datas, &|| Ok(())) {
        Ok(back) => assert_eq!(show(&back, ty, datas), shown, "not read back as JSON: {json}"),
        Err(error) => panic!("{:?}: {json}", error.to_diagnostic(datas)),
    }
    read_back(session, module, &entry, &shown);
    ProbeOutcome::Value(shown)
}

/// A value is shown as an expression of this value.
fn read_back(session: &mut Session, module: ModuleId, entry: &Entry, shown: &str) {
    // Names of the program may hide those of the constants that are written by name.
    let hidden = session.definitions(module).iter().any(|d| *d == "nan" || *d == "inf");
    if hidden || shown.len() > 10_000 {
        return;
    }
    let Some(it) = session.expression(Some(module), shown) else {
        // Deep values are beyond the parser, constructors of other modules are written without the module,
        // and arrays of different lengths in variants cannot be written side by side.
        let known = ["too-deep", "unknown-constructor", "size-mismatch"];
        let errors = session.diagnostics();
        let expected = errors.iter().all(|d| known.contains(&d.code) || !d.is_error());
        assert!(expected, "{shown} is no expression: {errors:?}");
        return;
    };
    let again = session.entry(it, "it").expect("the type of a value");
    match session.run(&again, None, Kinks::Ignore).result {
        Ok(value) => {
            let ty = &again.ty;
            assert_eq!(show(&value, ty, &again.program.datas), shown, "at {:?}", entry.ty);
        }
        Err(error) => panic!("{shown} stops: {error:?}"),
    }
}
