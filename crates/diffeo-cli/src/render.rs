//! Diagnostics on standard error: a line that tools can read, then the source with labels, notes
//! and help.

use crate::args::Color;
use crate::excerpt::Excerpts;
use codespan_reporting::diagnostic as codespan;
use codespan_reporting::term::termcolor::{Ansi, ColorSpec, NoColor, WriteColor};
use codespan_reporting::term::{self, Config, Styles};
use diffeo_base::{Diagnostic, Severity, SourceMap, Span};
use std::io::{self, IsTerminal, Write};

/// Whether messages are to be coloured.
pub fn is_colored(choice: Color) -> bool {
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            !declined && !dumb && io::stderr().is_terminal()
        }
    }
}

/// Writes messages to standard error; that it cannot be written to is no reason to stop.
pub fn report(sources: &SourceMap, diagnostics: &[Diagnostic], colored: bool) {
    let mut err = io::stderr().lock();
    for diagnostic in diagnostics {
        let _ = err.write_all(&rendered(sources, diagnostic, colored));
    }
}

/// Writes a line of `trace` to standard error.
pub fn trace(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The message as it is shown.
fn rendered(sources: &SourceMap, diagnostic: &Diagnostic, colored: bool) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = match colored {
        true => render(&mut Ansi::new(&mut out), sources, diagnostic),
        false => render(&mut NoColor::new(&mut out), sources, diagnostic),
    };
    out
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
        write!(out, "{}:{}:{}: ", sources.name(place.file), at.line, at.column)?;
    }
    out.set_color(styles.header(severity(diagnostic.severity)))?;
    let kind = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    write!(out, "{kind}[{}]", diagnostic.code)?;
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
    let help = diagnostic.help.iter().map(|help| format!("help: {help}"));
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
