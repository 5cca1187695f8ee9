//! Messages to the user as plain data: the places are looked up, nothing refers to the sources any more.

use diffeo_base::{Diagnostic, Help, Label, Severity, SourceMap, Span, Spelling};
use serde::Serialize;
use std::fmt;

/// A message about a program, or about running it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// A stable name of the kind of message, such as `type-mismatch`.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// Where it shows; nothing where the message is about no place in a program.
    pub place: Option<Place>,
    /// A short text for the place; may be empty.
    pub text: String,
    /// Other places, with what there is to say about them.
    pub labels: Vec<Note>,
    /// More that helps to understand it.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<Help>,
}

/// A further place of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Note {
    /// Where.
    pub place: Option<Place>,
    /// What; may be empty.
    pub message: String,
}

/// A place in a source. Lines and columns (of characters) count from 1, bytes from 0; the end is
/// the first position that is not part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// The name of the file, as it was given.
    pub file: String,
    /// The line of the start.
    pub line: usize,
    /// The column of the start.
    pub column: usize,
    /// The line of the end.
    pub end_line: usize,
    /// The column of the end.
    pub end_column: usize,
    /// The byte of the start.
    pub start_byte: usize,
    /// The byte of the end.
    pub end_byte: usize,
}

impl Place {
    /// The place of a span; none for a span without a place.
    pub fn new(sources: &SourceMap, span: Span) -> Option<Place> {
        if span.is_none() {
            return None;
        }
        let start = sources.line_column(span);
        let end = sources.line_column(Span { start: span.end, ..span });
        Some(Place {
            file: sources.name(span.file).to_string(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            start_byte: span.start as usize,
            end_byte: span.end as usize,
        })
    }
}

impl Message {
    /// The message of a diagnostic.
    pub fn new(sources: &SourceMap, diagnostic: &Diagnostic) -> Message {
        let note = |label: &Label| Note {
            place: Place::new(sources, label.span),
            message: label.message.clone(),
        };
        Message {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            place: Place::new(sources, diagnostic.primary.span),
            text: diagnostic.primary.message.clone(),
            labels: diagnostic.labels.iter().map(note).collect(),
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
        }
    }

    /// An error that is about no place in a program.
    pub fn error(code: &'static str, message: impl Into<String>) -> Message {
        Message::new(&SourceMap::default(), &Diagnostic::error(code, Span::NONE, message))
    }
}

impl Message {
    /// `file.deo:1:5: error[code]: message`, then notes and help, a line each, for the users of a host.
    pub fn written(&self, spelling: Spelling) -> String {
        let mut out = String::new();
        if let Some(Place { file, line, column, .. }) = &self.place {
            out += &format!("{file}:{line}:{column}: ");
        }
        out += &format!("{}[{}]: {}", self.severity, self.code, self.message);
        for Note { place, message } in &self.labels {
            if let Some(Place { file, line, column, .. }) = place {
                out += &format!("\n  {file}:{line}:{column}: {message}");
            }
        }
        self.notes.iter().for_each(|note| out += &format!("\n  note: {note}"));
        let help = self.help.iter().map(|help| help.written(spelling));
        help.for_each(|help| out += &format!("\n  help: {help}"));
        out
    }
}

impl fmt::Display for Message {
    /// For users of Rust.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Spelling::Rust))
    }
}
