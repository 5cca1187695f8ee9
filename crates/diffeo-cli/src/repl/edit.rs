//! A session on a terminal: lines that are edited, with a history and completions.

use super::{is_open, Next, Repl};
use crate::watch::{self, Asks};
use crate::{print, Stop};
use diffeo::console::COMMANDS;
use diffeo::{ModuleId, Session};
use diffeo_base::{Diagnostic, Span};
use diffeo_front::library;
use diffeo_syntax::TokenClass;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// How many inputs are remembered.
const REMEMBERED: usize = 1000;

/// What the editor asks.
struct EditorHelp {
    /// The session as it was when the line began, and its scope.
    session: Session,
    context: Option<ModuleId>,
    files: FilenameCompleter,
}

impl Helper for EditorHelp {}

impl Highlighter for EditorHelp {
    fn highlight<'l>(&self, line: &'l str, _at: usize) -> Cow<'l, str> {
        Cow::Owned(colored(line))
    }

    fn highlight_char(&self, _line: &str, _at: usize, kind: CmdKind) -> bool {
        // What a letter does to the rest of the line is seen at once.
        kind != CmdKind::MoveCursor
    }
}

/// A text in colours.
fn colored(text: &str) -> String {
    let mut out = String::new();
    let mut end = 0;
    for (range, class) in diffeo_syntax::classes(text) {
        let color = match class {
            TokenClass::Keyword => 34,
            TokenClass::Number => 36,
            TokenClass::Text => 32,
            TokenClass::Upper => 33,
            TokenClass::Comment => 90,
        };
        out += &text[end..range.start];
        out += &format!("\x1b[{color}m{}\x1b[0m", &text[range.clone()]);
        end = range.end;
    }
    out + &text[end..]
}

impl Hinter for EditorHelp {
    type Hint = String;
}

impl Validator for EditorHelp {
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = line.input();
        // An empty line ends what is not complete.
        let ended = text.ends_with('\n');
        Ok(match !ended && is_open(text) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for EditorHelp {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..at];
        let is_data = before.trim_start().starts_with(":data ") && before.contains('=');
        if before.trim_start().starts_with(":load ") || is_data {
            return self.files.complete(line, at, context);
        }
        let is_name = |c: char| c.is_alphanumeric() || "_'.".contains(c);
        let start = before.char_indices().rev().take_while(|(_, c)| is_name(*c)).last();
        let start = start.map_or(at, |(start, _)| start);
        let word = &before[start..];
        if before[..start].trim() == ":" {
            let names = COMMANDS.iter().map(|command| command.name.to_string());
            return Ok((start, pairs(names.filter(|name| name.starts_with(word)))));
        }
        let (skipped, names) = self.names(word);
        Ok((start + skipped, pairs(names.into_iter())))
    }
}

fn pairs(names: impl Iterator<Item = String>) -> Vec<Pair> {
    names.map(|name| Pair { display: name.clone(), replacement: name }).collect()
}

impl EditorHelp {
    /// The names that a word may become, and how many bytes of it they do not replace.
    fn names(&self, word: &str) -> (usize, Vec<String>) {
        if let Some((module, part)) = word.rsplit_once('.') {
            let mut session = self.session.clone();
            let Some(id) = session.library_module(module) else { return (0, Vec::new()) };
            session.check();
            let symbols = session.symbols(id).into_iter().filter(|s| s.doc.is_some());
            let names = symbols.map(|s| s.name.to_string()).filter(|name| name.starts_with(part));
            return (module.len() + 1, names.collect());
        }
        let mut names: Vec<String> = library::MODULES
            .iter()
            .map(|(module, _)| module.to_string())
            .filter(|module| module != "prelude")
            .chain(self.session.visible(self.context).iter().map(ToString::to_string))
            .filter(|name| name.starts_with(word))
            .collect();
        names.sort();
        names.dedup();
        (0, names)
    }
}

/// Where inputs are remembered: in `diffeo/history` of `XDG_STATE_HOME` or `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = match variable("XDG_STATE_HOME").map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder,
        Some(_) | None => PathBuf::from(variable("HOME")?).join(".local").join("state"),
    };
    Some(state.join("diffeo").join("history"))
}

/// Goes on until the user leaves.
pub fn session(repl: &mut Repl) -> Result<(), Stop> {
    let refused = |repl: &Repl, error: &ReadlineError| {
        let message = format!("cannot read from the terminal: {error}");
        repl.shell.report(&[Diagnostic::error("unreadable-input", Span::NONE, message)]);
        Stop::Refused
    };
    let colors = match repl.shell.setting.messages.colors_output() {
        true => ColorMode::Forced,
        false => ColorMode::Disabled,
    };
    let config = Config::builder().max_history_size(REMEMBERED).map(|config| {
        let config = config.completion_type(CompletionType::List).auto_add_history(true);
        config.color_mode(colors).build()
    });
    let editor = config.and_then(Editor::<EditorHelp, FileHistory>::with_config);
    let mut editor = editor.map_err(|error| refused(repl, &error))?;
    let history = history_file();
    if let Some(file) = &history {
        // That there is none yet is no failure.
        let _ = editor.load_history(file);
    }
    let version = env!("CARGO_PKG_VERSION");
    print::text(&format!(
        "Diffeo {version}. `:help` lists the commands, Ctrl-D ends the session."
    ))?;
    loop {
        watch::doing("waiting for input".to_string(), Asks::Nobody);
        editor.set_helper(Some(EditorHelp {
            session: repl.shell.session.clone(),
            context: repl.context,
            files: FilenameCompleter::new(),
        }));
        let next = match editor.readline("> ") {
            Ok(text) => repl.take(&text)?,
            // Ctrl-C leaves the line alone.
            Err(ReadlineError::Interrupted) => Next::Goes,
            Err(ReadlineError::Eof) => Next::Ends,
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                repl.not_utf8("what was typed is not UTF-8".to_string());
                Next::Goes
            }
            Err(error) => return Err(refused(repl, &error)),
        };
        if next == Next::Ends {
            break;
        }
    }
    if let Some(file) = &history {
        // A session is not less good for not being remembered.
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.append_history(file);
    }
    Ok(())
}
