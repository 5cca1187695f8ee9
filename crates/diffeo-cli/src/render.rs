//! Messages on standard error.
//!
//! For people: a line that tools can read, then the source with labels, notes and help. Or one JSON
//! object a line, for tools.

use crate::args::{Color, MessageFormat};
use crate::excerpt::Excerpts;
use crate::print::unwritten;
use crate::printable::{disturbs, printable};
use crate::Stop;
use clap::error::{ContextKind, ContextValue};
use codespan_reporting::diagnostic as codespan;
use codespan_reporting::term::termcolor::{Ansi, ColorSpec, NoColor, WriteColor};
use codespan_reporting::term::{self, Config, Styles};
use diffeo::data::printable_json;
use diffeo::Message;
use diffeo_base::{Diagnostic, Label, Severity, SourceMap, Span, Spelling, MOST_SHOWN};
use serde_json::{json, Value as Json};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// How messages are written.
#[derive(Clone, Copy, Debug)]
pub struct Messages {
    format: MessageFormat,
    colored: bool,
    output_colored: bool,
}

impl Messages {
    /// As the command line asks for.
    pub fn new(format: MessageFormat, color: Color) -> Messages {
        let (colored, output_colored) =
            (is_colored(color, &io::stderr()), is_colored(color, &io::stdout()));
        Messages { format, colored, output_colored }
    }

    /// Whether what goes to standard output may be coloured.
    pub fn colors_output(self) -> bool {
        self.output_colored
    }

    /// Whether they are for people.
    pub fn is_human(self) -> bool {
        self.format == MessageFormat::Human
    }

    /// Writes messages to standard error: the first of them, and how many more there are.
    pub fn report(self, sources: &SourceMap, diagnostics: &[Diagnostic]) {
        let mut err = io::stderr().lock();
        let [mut errors, mut warnings] = [0, 0];
        let mut shown = |diagnostic: &&Diagnostic| {
            let count = match diagnostic.severity {
                Severity::Error => &mut errors,
                Severity::Warning => &mut warnings,
            };
            *count += 1;
            *count <= MOST_SHOWN
        };
        for diagnostic in diagnostics.iter().filter(|diagnostic| shown(diagnostic)) {
            note(err.write_all(&self.message(sources, diagnostic)));
        }
        for (count, severity) in [(errors, Severity::Error), (warnings, Severity::Warning)] {
            if count > MOST_SHOWN {
                let message = format!("and {} more {}s", count - MOST_SHOWN, kind(severity));
                let more =
                    Diagnostic { severity, ..Diagnostic::error("more", Span::NONE, message) };
                note(err.write_all(&self.message(&SourceMap::default(), &more)));
            }
        }
    }

    fn message(self, sources: &SourceMap, diagnostic: &Diagnostic) -> Vec<u8> {
        match self.format {
            MessageFormat::Human => rendered(sources, diagnostic, self.colored),
            MessageFormat::Json => {
                // A message has no part that JSON cannot hold.
                let json = serde_json::to_string(&Message::new(sources, diagnostic));
                format!("{}\n", printable_json(&json.unwrap_or_default())).into_bytes()
            }
        }
    }

    /// Writes a line of `trace`.
    pub fn trace(self, line: &str) {
        self.text(&match self.format {
            MessageFormat::Human => line.to_string(),
            MessageFormat::Json => json!({ "trace": line }).to_string(),
        });
    }

    /// Writes a text, and a line break.
    pub fn text(self, text: &str) {
        let text = match self.format {
            MessageFormat::Human => printable(text),
            MessageFormat::Json => printable_json(text),
        };
        note(writeln!(io::stderr().lock(), "{text}"));
    }

    /// Writes what was done: names, and what there is to say as text and as data.
    pub fn summary(self, entries: &[(&str, String, Json)]) {
        match self.format {
            MessageFormat::Human => {
                for (name, text, _) in entries {
                    self.text(&format!("{name}: {text}"));
                }
            }
            MessageFormat::Json => {
                let entries =
                    entries.iter().map(|(name, _, data)| (name.to_string(), data.clone()));
                let object: serde_json::Map<String, Json> = entries.collect();
                self.text(&json!({ "summary": object }).to_string());
            }
        }
    }
}

/// Whether standard error did not take all that was to be said.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// That standard error cannot be written to is no reason to stop, but for the status at the end; that nobody reads it
/// any more is none.
fn note(written: io::Result<()>) {
    if written.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        INCOMPLETE.store(true, Ordering::Relaxed);
    }
}

/// Whether something that was to be said on standard error could not be written.
pub fn is_incomplete() -> bool {
    INCOMPLETE.load(Ordering::Relaxed)
}

/// Writes what the parser of the command line has to say: help, or what is wrong.
///
/// # Errors
/// Help could not be written.
pub fn usage(mut error: clap::Error) -> Result<(), Stop> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let help = meant(&error, &words);
    if help.is_some() {
        // Clap's guesses are about its own options.
        for guess in [ContextKind::Suggested, ContextKind::SuggestedSubcommand] {
            error.remove(guess);
        }
    }
    let json = words.iter().any(|word| word == "--message-format=json")
        || words.windows(2).any(|two| two[0] == "--message-format" && two[1] == "json");
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        return printed.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::OutputClosed,
            _ => unwritten(&error),
        });
    }
    if !json {
        // Styles are escape sequences, too.
        match words.iter().any(|word| word.contains(disturbs)) {
            true => note(write!(io::stderr().lock(), "{}", printable(&error.render().to_string()))),
            false => note(error.print()),
        }
        if let Some(help) = help {
            note(writeln!(io::stderr().lock(), " = help: {help}"));
        }
        return Ok(());
    }
    let text = error.to_string();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let d = Diagnostic::error("usage", Span::NONE, message)
        .help(help.unwrap_or_else(|| rest.trim().to_string()));
    let messages = Messages { format: MessageFormat::Json, colored: false, output_colored: false };
    messages.report(&SourceMap::default(), &[d]);
    Ok(())
}

/// Help for usual slips that the parser of the command line cannot know: a program without `run`, a parameter without `--arg`.
fn meant(error: &clap::Error, words: &[String]) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        Some(_) | None => None,
    };
    match of(ContextKind::InvalidSubcommand) {
        Some("plot") => return Some("`diffeo run FILE --plot PLOT.svg` draws plots".to_string()),
        Some(word) if word.ends_with(".deo") => {
            return Some(format!("`diffeo run {word}` runs a program"));
        }
        Some(_) | None => {}
    }
    let found = of(ContextKind::InvalidArg)?;
    let takes = ["run", "sample", "grad", "show"].contains(&words.get(1)?.as_str());
    if !takes || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let at = words.iter().position(|word| word.split('=').next() == found.split('=').next())?;
    let given = words[at].trim_start_matches('-');
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(char::is_alphabetic)
            && letters.all(|c| c.is_alphanumeric() || c == '_')
    };
    let (name, value) = match given.split_once('=') {
        Some((name, value)) => (name, value.to_string()),
        None if found.starts_with("--") => (given, words.get(at + 1)?.clone()),
        // `--arg NAME VALUE`
        None if at > 1 && words[at - 2] == "--arg" && !words[at - 1].contains('=') => {
            (words[at - 1].as_str(), given.to_string())
        }
        None => return None,
    };
    let text = printable(&format!("{name}={value}")).to_string();
    is_name(name).then(|| format!("`--arg '{text}'` gives the parameter `{}`", printable(name)))
}

/// The word for a severity.
fn kind(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Whether what goes to a stream is to be coloured.
fn is_colored(choice: Color, stream: &impl IsTerminal) -> bool {
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            !declined && !dumb && stream.is_terminal()
        }
    }
}

/// The message as it is shown.
fn rendered(sources: &SourceMap, diagnostic: &Diagnostic, colored: bool) -> Vec<u8> {
    let diagnostic = &readable(diagnostic);
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = match colored {
        true => render(&mut Ansi::new(&mut out), sources, diagnostic),
        false => render(&mut NoColor::new(&mut out), sources, diagnostic),
    };
    out
}

/// The message with texts that a terminal may show.
fn readable(diagnostic: &Diagnostic) -> Diagnostic {
    let text = |text: &String| printable(text).into_owned();
    let label = |label: &Label| Label { message: text(&label.message), span: label.span };
    Diagnostic {
        code: diagnostic.code,
        severity: diagnostic.severity,
        message: text(&diagnostic.message),
        primary: label(&diagnostic.primary),
        labels: diagnostic.labels.iter().map(label).collect(),
        notes: diagnostic.notes.iter().map(text).collect(),
        help: diagnostic
            .help
            .as_ref()
            .map(|help| help.map_texts(|text| printable(text).into_owned())),
    }
}

fn render(
    out: &mut impl WriteColor,
    sources: &SourceMap,
    diagnostic: &Diagnostic,
) -> io::Result<()> {
    header(out, sources, diagnostic)?;
    let spans: Vec<Span> = std::iter::once(&diagnostic.primary)
        .chain(&diagnostic.labels)
        .map(|label| label.span)
        .filter(|span| !span.is_none())
        .collect();
    let excerpts = Excerpts::new(sources, &spans);
    let body = body(diagnostic, &excerpts);
    // The library's own first line is replaced by the header above; without a message it is one
    // line.
    let mut text = Vec::new();
    let emitted = if out.supports_color() {
        term::emit_to_write_style(&mut Ansi::new(&mut text), &Config::default(), &excerpts, &body)
    } else {
        term::emit_to_write_style(
            &mut NoColor::new(&mut text),
            &Config::default(),
            &excerpts,
            &body,
        )
    };
    if emitted.is_err() {
        text.clear();
    }
    let first = text.iter().position(|&b| b == b'\n').map_or(text.len(), |end| end + 1);
    for line in text[first..].split_inclusive(|&b| b == b'\n') {
        let kept = line.trim_ascii_end();
        out.write_all(kept)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// `file.deo:1:5: error[code]: message`
fn header(
    out: &mut impl WriteColor,
    sources: &SourceMap,
    diagnostic: &Diagnostic,
) -> io::Result<()> {
    let styles = Styles::default();
    let place = diagnostic.primary.span;
    if !place.is_none() {
        let at = sources.line_column(place);
        let name = printable(sources.name(place.file));
        write!(out, "{name}:{}:{}: ", at.line, at.column)?;
    }
    out.set_color(styles.header(severity(diagnostic.severity)))?;
    write!(out, "{}[{}]", kind(diagnostic.severity), diagnostic.code)?;
    out.set_color(styles.header_message())?;
    write!(out, ": {}", diagnostic.message)?;
    out.set_color(&ColorSpec::new())?;
    out.reset()?;
    writeln!(out)
}

fn severity(severity: Severity) -> codespan::Severity {
    match severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
    }
}

/// Labels, notes and help, for the library.
fn body(diagnostic: &Diagnostic, excerpts: &Excerpts<'_>) -> codespan::Diagnostic<usize> {
    let mut labels = Vec::new();
    if let Some((file, range)) = place(excerpts, diagnostic.primary.span) {
        let label = codespan::Label::primary(file, range);
        labels.push(label.with_message(&diagnostic.primary.message));
    }
    for label in &diagnostic.labels {
        if let Some((file, range)) = place(excerpts, label.span) {
            labels.push(codespan::Label::secondary(file, range).with_message(&label.message));
        }
    }
    let notes = diagnostic.notes.iter().map(|note| format!("note: {note}"));
    let help = diagnostic.help.iter().map(|help| help.written(Spelling::CommandLine));
    let help = help.map(|help| format!("help: {help}"));
    codespan::Diagnostic::new(severity(diagnostic.severity))
        .with_labels(labels)
        .with_notes(notes.chain(help).collect())
}

fn place(excerpts: &Excerpts<'_>, span: Span) -> Option<(usize, std::ops::Range<usize>)> {
    if span.is_none() {
        return None;
    }
    excerpts.place(span)
}
