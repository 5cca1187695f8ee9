//! Messages to the user, as data. Only the command line renders them.

use crate::{Help, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is refused or stopped.
    Error,
    /// The program runs on.
    Warning,
}

/// A place with what there is to say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What; may be empty.
    pub message: String,
}

/// The most errors, and the most warnings, that are shown at once.
pub const MOST_SHOWN: usize = 50;

/// One message: what is wrong, where, why and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// A stable name of the kind of message, such as `type-mismatch`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where it shows, with a short text for the place.
    pub primary: Label,
    /// Where it comes from.
    pub labels: Vec<Label>,
    /// More that helps to understand it.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<Help>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary: Label { span, message: String::new() },
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Says something at the primary place.
    pub fn primary_text(mut self, text: impl Into<String>) -> Self {
        self.primary.message = text.into();
        self
    }

    /// Adds another place.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<Help>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
