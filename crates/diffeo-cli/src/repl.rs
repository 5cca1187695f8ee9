//! `diffeo repl`: expressions and definitions, typed one after the other.
//!
//! Each input is a module of its own, in the scope of those before: a definition hides an earlier one of its name. An
//! input with errors leaves the session as it was. On a terminal, lines are edited (`repl/edit.rs`); from a file or a
//! pipe, they are read as they are, and the exit status tells whether all of them were right.

mod command;
mod edit;

use crate::args::{Evaluation, ReplArgs};
use crate::commands::{function_text, Setting, Shell};
use crate::printable::printable;
use crate::watch::{self, Asks};
use crate::{plot, print, Stop};
use diffeo::console::{Console, Constants, Refused};
use diffeo::plot::show;
use diffeo::{Cpu, Entry, Limits, ModuleId, Session};
use diffeo_base::{Diagnostic, FileId, Span};
use diffeo_calculus::value::Value;
use diffeo_syntax::ast::{Binding, ExprId, ExprKind, Item, PatId, PatKind};
use diffeo_syntax::TokenClass;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The most characters of a value that are shown.
const MOST: usize = 10_000;

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Goes,
    Ends,
}

/// What an input is.
#[derive(Clone, PartialEq, Debug)]
enum Input {
    Nothing,
    /// A command, without its colon.
    Command(String),
    Expression(String),
    Definitions(String),
    /// `let` without `in`, that is no definition of one name, and the names that it binds.
    Bindings(String, Vec<String>),
}

/// A session and the module whose scope the next input has.
struct Repl {
    shell: Shell,
    context: Option<ModuleId>,
    constants: Constants,
    how: Evaluation,
    cpu: Cpu,
    /// How long a run may take.
    timeout: Option<Duration>,
    /// Whether an input was refused or stopped.
    failed: bool,
}

/// `diffeo repl`
pub fn repl(args: &ReplArgs, setting: Setting, timeout: Option<Duration>) -> Result<(), Stop> {
    let shell = Shell::new(setting);
    let cpu = shell.cpu(&args.processor)?;
    shell.check_evaluation(&args.evaluation)?;
    // The thread ends what does not end by itself, and keeps a second Ctrl-C from ending the session.
    watch::ensure(&shell.setting.limits, shell.setting.messages);
    let Evaluation { json, kinks, enclose, engine, unfold } = args.evaluation;
    let how = Evaluation { json, kinks, enclose, engine, unfold };
    let constants = Constants::default();
    let mut repl = Repl { shell, context: None, constants, how, cpu, timeout, failed: false };
    if let Some(file) = &args.file {
        let path = file.display().to_string();
        repl.guarded(|repl| repl.load(&path))?;
    }
    if !args.args.is_empty() {
        repl.guarded(|repl| repl.arguments(&args.args))?;
    }
    match io::stdin().is_terminal() && io::stdout().is_terminal() {
        true => edit::session(&mut repl),
        false => piped(&mut repl),
    }
}

/// Reads inputs from what is no terminal.
fn piped(repl: &mut Repl) -> Result<(), Stop> {
    let mut pending = String::new();
    let mut lines = io::stdin().lock().split(b'\n').enumerate();
    loop {
        watch::doing("waiting for input".to_string(), Asks::Nobody);
        let line = match lines.next() {
            None => None,
            Some((at, Ok(line))) => match String::from_utf8(line) {
                Ok(line) => Some(line),
                Err(error) => {
                    let (line, byte) = (at + 1, error.utf8_error().valid_up_to());
                    repl.not_utf8(format!(
                        "line {line} is not UTF-8: byte {byte} is not part of a character"
                    ));
                    pending.clear();
                    continue;
                }
            },
            Some((_, Err(error))) => {
                let message = format!("cannot read the input: {error}");
                repl.shell.report(&[Diagnostic::error("unreadable-input", Span::NONE, message)]);
                return Err(Stop::Refused);
            }
        };
        let (ends, blank) = match &line {
            None => (true, false),
            Some(line) => {
                pending += line.strip_suffix('\r').unwrap_or(line);
                pending.push('\n');
                (false, line.trim().is_empty())
            }
        };
        if !ends && !blank && is_open(&pending) {
            continue;
        }
        let input = std::mem::take(&mut pending);
        if repl.take(&input)? == Next::Ends || ends {
            return if repl.failed { Err(Stop::Refused) } else { Ok(()) };
        }
    }
}

/// The first error of a text as an expression and as definitions, if it has any.
fn wrong(text: &str, definitions: bool) -> Option<Diagnostic> {
    let (_, found) = match definitions {
        true => diffeo_syntax::parse(FileId(0), text),
        false => diffeo_syntax::parse_expression(FileId(0), text),
    };
    found.into_iter().find(Diagnostic::is_error)
}

/// What a text is.
fn input(text: &str) -> Input {
    let trimmed = text.trim();
    let first = trimmed.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    let is_comment = |line: &str| line.starts_with('#') && !line.starts_with("##");
    let only_comments = trimmed.lines().all(|line| is_comment(line.trim_start()));
    if trimmed.is_empty() || only_comments {
        return Input::Nothing;
    }
    if let Some(command) = trimmed.strip_prefix(':') {
        return Input::Command(command.trim().to_string());
    }
    if ["def", "type", "import"].contains(&first) || trimmed.starts_with('#') {
        return Input::Definitions(trimmed.to_string());
    }
    let Some(as_expression) = wrong(trimmed, false) else {
        return Input::Expression(trimmed.to_string());
    };
    if let Some(bindings) = bindings(trimmed) {
        return bindings;
    }
    // `let x = e` without a body, and `x = e`.
    let rest = trimmed.strip_prefix("let ").map(str::trim_start);
    let as_definition = match rest.map(|rest| rest.strip_prefix("rec ").unwrap_or(rest)) {
        Some(rest) => format!("def {rest}"),
        None => format!("def {trimmed}"),
    };
    match wrong(&as_definition, true) {
        None => Input::Definitions(as_definition),
        Some(error) if first == "let" && at_end(&error, &as_definition) => {
            Input::Definitions(as_definition)
        }
        // It is what it goes further as.
        Some(error) if first != "let" && start(&error) > start(&as_expression) + "def ".len() => {
            Input::Definitions(as_definition)
        }
        Some(_) => Input::Expression(trimmed.to_string()),
    }
}

/// What `let` without `in` is, if it is complete. A definition knows itself, what a `let` binds does not: there its name is
/// one from before.
fn bindings(text: &str) -> Option<Input> {
    let closed = format!("{text}\nin ()");
    let (ast, found) = diffeo_syntax::parse_expression(FileId(0), &closed);
    if !text.starts_with("let") || found.iter().any(Diagnostic::is_error) {
        return None;
    }
    let Item::Def(def) = ast.items.first()? else { return None };
    let ExprKind::Let { bindings, .. } = &ast.exprs[def.body].kind else { return None };
    let mut names: Vec<String> = Vec::new();
    let mut pending: Vec<PatId> = Vec::new();
    for binding in bindings.iter().rev() {
        pending.push(match binding {
            Binding::Value { pat, .. } => *pat,
            Binding::Function { name, .. } => *name,
        });
    }
    while let Some(pat) = pending.pop() {
        match &ast.pats[pat].kind {
            PatKind::Var(name) if !names.iter().any(|known| *known == **name) => {
                names.push(name.to_string());
            }
            PatKind::Tuple(parts) => pending.extend(parts.iter().rev()),
            PatKind::Record(fields) => pending.extend(fields.iter().rev().map(|(_, pat)| pat)),
            PatKind::Con { arg, .. } => pending.extend(arg),
            PatKind::Cons(first, rest) => pending.extend([rest, first]),
            PatKind::Annot(pat, _) => pending.push(*pat),
            _ => {}
        }
    }
    let same = |value: ExprId, name: &str| {
        let span = ast.exprs[value].span;
        let mut value =
            closed.get(span.start as usize..span.end as usize).unwrap_or("").to_string();
        for (range, class) in diffeo_syntax::classes(&value.clone()).into_iter().rev() {
            if matches!(class, TokenClass::Text | TokenClass::Comment) {
                value.replace_range(range, " ");
            }
        }
        value.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'').any(|w| w == name)
    };
    match (bindings.as_slice(), names.as_slice()) {
        (_, []) => Some(Input::Expression(closed)),
        ([Binding::Function { recursive: true, .. }], _) => None,
        ([Binding::Function { body: value, .. } | Binding::Value { value, .. }], [name])
            if !same(*value, name) && is_simple(&ast, &bindings[0]) =>
        {
            None
        }
        _ => Some(Input::Bindings(text.to_string(), names)),
    }
}

/// Whether a binding is one of a name, which a definition may have, too.
fn is_simple(ast: &diffeo_syntax::ast::Module, binding: &Binding) -> bool {
    match binding {
        Binding::Function { .. } => true,
        Binding::Value { pat, .. } => {
            matches!(&ast.pats[*pat].kind, PatKind::Var(_) | PatKind::Annot(..))
        }
    }
}

fn start(error: &Diagnostic) -> usize {
    error.primary.span.start as usize
}

/// Whether an error is that the text ends.
fn at_end(error: &Diagnostic, text: &str) -> bool {
    start(error) >= text.trim_end().len()
}

/// The command that a word of other sessions stands for.
fn meant(text: &str) -> Option<&'static str> {
    match text {
        "quit" | "quit()" | "exit" | "exit()" | "q" => Some("quit"),
        "help" | "help()" | "?" => Some("help"),
        _ => None,
    }
}

/// Whether an input goes on with the next line.
fn is_open(text: &str) -> bool {
    match input(text) {
        Input::Nothing | Input::Command(_) | Input::Bindings(..) => false,
        // A doc comment belongs to what follows.
        Input::Definitions(text) if text.lines().all(|line| line.trim_start().starts_with('#')) => {
            true
        }
        Input::Definitions(text) => wrong(&text, true).is_some_and(|e| at_end(&e, &text)),
        Input::Expression(text) => wrong(&text, false).is_some_and(|e| at_end(&e, &text)),
    }
}

impl Repl {
    /// Refuses an input that is no text; what was begun before it is left out, too.
    fn not_utf8(&mut self, message: String) {
        self.shell.report(&[Diagnostic::error("not-utf8", Span::NONE, message)]);
        self.failed = true;
    }

    /// Does what an input says.
    fn take(&mut self, text: &str) -> Result<Next, Stop> {
        match input(text) {
            Input::Nothing => Ok(Next::Goes),
            Input::Command(command) => self.command(&command),
            Input::Expression(text) => self.guarded(|repl| repl.expression(&text)),
            Input::Definitions(text) => self.guarded(|repl| repl.definitions(&text)),
            Input::Bindings(text, names) => self.guarded(|repl| repl.bindings(&text, &names)),
        }
    }

    /// Does something that may be refused or stopped: then the session is what it was.
    fn guarded(&mut self, act: impl FnOnce(&mut Repl) -> Result<(), Stop>) -> Result<Next, Stop> {
        let before = (self.shell.session.clone(), self.context);
        watch::doing("checking the input".to_string(), Asks::Always);
        let limits = &mut self.shell.setting.limits;
        limits.deadline = self.timeout.and_then(|t| Some((Instant::now().checked_add(t)?, t)));
        let done = act(self);
        // A run that was interrupted is over; the next one is not.
        if let Some(interrupt) = &self.shell.setting.limits.interrupt {
            interrupt.store(false, Ordering::Relaxed);
        }
        match done {
            Ok(()) => Ok(Next::Goes),
            Err(Stop::Refused | Stop::Usage) => {
                self.failed = true;
                (self.shell.session, self.context) = before;
                Ok(Next::Goes)
            }
            Err(Stop::OutputClosed) => Err(Stop::OutputClosed),
        }
    }

    fn definitions(&mut self, text: &str) -> Result<(), Stop> {
        let place = std::env::current_dir().ok().map(|folder| folder.join("<input>"));
        let context = self.context;
        let module = self.within(|session| session.definitions_in(context, place, text))?;
        self.defined(module)
    }

    fn bindings(&mut self, text: &str, names: &[String]) -> Result<(), Stop> {
        let context = self.context;
        let module = self.within(|session| session.bindings(context, text, names))?;
        self.defined(module)
    }

    fn defined(&mut self, module: ModuleId) -> Result<(), Stop> {
        self.context = Some(module);
        for symbol in self.shell.session.symbols(module) {
            if let Some(ty) = symbol.ty {
                print::text(&printable(&format!("{} : {ty}", symbol.name)))?;
            }
        }
        Ok(())
    }

    fn expression(&mut self, text: &str) -> Result<(), Stop> {
        let module = self.checked(text)?;
        let shown = self.value(module)?;
        self.context = Some(module);
        print::text(&shown)
    }

    /// The value of a checked expression, as it is shown.
    fn value(&mut self, module: ModuleId) -> Result<String, Stop> {
        if self.shell.session.is_function(module, "it") {
            return Ok(function_text(&self.shell.session, module));
        }
        let entry = self.shell.entry(module, "it")?;
        let (entry, value) = self.evaluate(entry)?;
        self.constants.keep(&entry, &value);
        watch::doing("showing the value".to_string(), Asks::Always);
        let (ty, datas) = (entry.result_type(), &entry.program.datas);
        if self.how.json {
            let mut out = Vec::new();
            // Writing to memory does not fail.
            let _ = diffeo::data::to_json(&mut out, &value, ty, datas);
            return Ok(String::from_utf8_lossy(&out).into_owned());
        }
        if let Some(picture) = diffeo::plot::of(&value, ty, datas) {
            return Ok(plot::picture(&self.shell, &picture));
        }
        let text = show(&value, ty, datas);
        Ok(match text.char_indices().nth(MOST) {
            Some((end, _)) if io::stdout().is_terminal() => {
                let all = text.chars().count();
                format!("{} … ({all} characters; `diffeo run --out FILE` writes all)", &text[..end])
            }
            _ => text,
        })
    }

    /// Adds the definitions of a file, read anew.
    fn load(&mut self, path: &str) -> Result<(), Stop> {
        self.shell.session.forget_files();
        let module = self.shell.checked(&PathBuf::from(path))?;
        // The file's names, with those from before.
        let names: Vec<String> = self
            .shell
            .session
            .symbols(module)
            .iter()
            .map(|symbol| match &symbol.ty {
                Some(ty) => format!("{} : {ty}", symbol.name),
                None => format!("type {}", symbol.name),
            })
            .collect();
        let joined = self.shell.session.joined(module, self.context);
        self.shell.flush()?;
        self.context = joined;
        print::text(&printable(&names.join("\n")))
    }
}

impl Console for Repl {
    fn session(&mut self) -> &mut Session {
        &mut self.shell.session
    }

    fn context(&self) -> Option<ModuleId> {
        self.context
    }

    fn constants(&mut self) -> &mut Constants {
        &mut self.constants
    }

    fn limits(&self) -> &Limits {
        &self.shell.setting.limits
    }

    fn report(&mut self, messages: &[Diagnostic]) {
        self.shell.report(messages);
    }

    fn checked(&mut self, text: &str) -> Result<ModuleId, Refused> {
        if let Some(command) = meant(text) {
            let word = text.trim_end_matches("()");
            let names = self.shell.session.visible(self.context);
            if !names.iter().any(|name| name.as_str() == word) {
                let d = Diagnostic::error("command", Span::NONE, format!("`{text}` is no command"));
                let d = d.help(format!("commands begin with a colon: `:{command}`"));
                return Err(self.refuse(d));
            }
        }
        let context = self.context;
        self.within(|session| session.expression(context, text))
    }

    fn evaluate(&mut self, entry: Entry) -> Result<(Entry, Value), Refused> {
        let how = Evaluation { ..self.how };
        let (cpu, shell) = (self.cpu, &mut self.shell);
        let whole = entry.clone();
        let (entry, argument) = self.constants.put(entry, &mut |constant, argument| {
            watch::doing(format!("evaluating `{}`", constant.name), Asks::Always);
            let run = shell.attempt(constant, argument, &how, cpu);
            let value = run.result.ok()?;
            shell.took(run.operations, run.warnings, how.kinks());
            Some(value)
        });
        let value = self.shell.evaluate(&entry, argument, &how, self.cpu);
        Ok((whole, value.map_err(|_| Refused)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart() {
        for text in ["", "  ", "# a comment"] {
            assert_eq!(input(text), Input::Nothing, "{text}");
        }
        assert_eq!(input(":type x "), Input::Command("type x".into()));
        for text in ["1 + 1", "let x = 1 in x", "x == 1", "f(x)", "{x = 1}", "if a then b else c"] {
            assert_eq!(input(text), Input::Expression(text.into()));
        }
        for text in ["def x = 1", "type T = A", "import linalg", "## About.\ndef x = 1"] {
            assert_eq!(input(text), Input::Definitions(text.into()));
        }
        assert_eq!(input("let x = 1"), Input::Definitions("def x = 1".into()));
        assert_eq!(
            input("let rec f(n: Int) = f(n)"),
            Input::Definitions("def f(n: Int) = f(n)".into())
        );
        for text in ["let x = x + 1", "let (x, _) = (1, 2)", "let f(y) = x\nlet x = f(1)"] {
            let Input::Bindings(same, names) = input(text) else { panic!("{text}") };
            assert!(same == text && names.contains(&"x".to_string()), "{names:?}");
        }
        assert_eq!(input("let x = \"x\""), Input::Definitions("def x = \"x\"".into()));
        assert_eq!(input("x = 1"), Input::Definitions("def x = 1".into()));
        assert_eq!(input("f(x: Real) = x"), Input::Definitions("def f(x: Real) = x".into()));
        for text in ["1 +* 2", "a == b == c", "x := 3", "sin 1.0", "1, 2"] {
            assert_eq!(input(text), Input::Expression(text.into()));
        }
        for text in ["a = 3; b = 4", "x = 3 +* 2", "x ="] {
            assert_eq!(input(text), Input::Definitions(format!("def {text}")));
        }
    }

    #[test]
    fn what_is_not_complete_goes_on() {
        for text in [
            "1 +",
            "f(",
            "[1,",
            "let x = 1 in",
            "let x =",
            "let (x, y) =",
            "let rec f(x) =",
            "x =",
            "def f(x) =",
            "if a then b",
            "fn x ->",
            "case m of {",
            "type T =",
            "## About.",
            "def f(x) =\n  let y = x in",
        ] {
            assert!(is_open(text), "{text}");
        }
        for text in [
            "1",
            "1 + * 2",
            ")",
            "def f(x) = x",
            "let x = 1",
            "let (x, y) = z",
            "let x = x",
            ":type (",
            "\"abc",
            "# a",
        ] {
            assert!(!is_open(text), "{text}");
        }
    }
}
