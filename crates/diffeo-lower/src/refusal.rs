//! Reasons not to lower a program: the evaluator runs it.

use diffeo_base::{Diagnostic, Name, SourceMap, Span};

/// Why there is no Flat for a program.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// A derivative at this place is not compiled; the reason in words, if it is known.
    Derivative(Span, String),
    /// The entry takes or gives functions.
    Entry,
    /// A type holds values of infinitely many types, so code for each would have no end.
    Type(Name),
    /// Its derivatives have more statements than this limit, and take long to compile.
    Long(usize),
    /// A bug of the lowering.
    Bug(String),
}

/// How many characters of a program are quoted.
const LONG: usize = 40;

impl Refusal {
    /// Why, in the words of a program with these sources.
    pub fn reason(&self, sources: &SourceMap) -> String {
        match self {
            Refusal::Derivative(span, why) if span.is_none() => {
                format!("the derivative is not compiled yet: {why}")
            }
            Refusal::Derivative(span, why) => {
                let at = sources.line_column(*span);
                let text = sources.slice(*span);
                let written: String = text.chars().take_while(|c| *c != '\n').take(LONG).collect();
                let more = if written.len() < text.len() { "…" } else { "" };
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                format!(
                    "`{written}{more}` ({}:{}:{}) takes a derivative, which is not compiled yet{why}",
                    sources.name(span.file),
                    at.line,
                    at.column
                )
            }
            Refusal::Entry => "the entry takes or gives functions".to_string(),
            Refusal::Type(name) => format!("the type `{name}` grows without end in its recursion"),
            Refusal::Long(most) => {
                format!(
                    "its derivatives have more than {most} statements, which takes long to compile"
                )
            }
            Refusal::Bug(what) => format!("a bug of Diffeo: {what}"),
        }
    }

    /// The message for the user; what has no place stands at `entry`.
    pub fn to_diagnostic(&self, entry: Span) -> Diagnostic {
        let refused = |message: String| Diagnostic::error("not-compiled", entry, message);
        match self {
            Refusal::Derivative(span, _) => {
                let message = "derivatives are not compiled yet".to_string();
                Diagnostic::error("not-compiled", *span, message)
                    .help("such a program runs on the evaluator")
            }
            Refusal::Entry => {
                refused("an entry that takes or gives functions is not compiled".to_string())
            }
            Refusal::Type(name) => refused(format!(
                "the type `{name}` grows without end in its recursion: it is not compiled or translated"
            )),
            Refusal::Long(most) => {
                refused(format!("the derivatives have more than {most} statements"))
            }
            Refusal::Bug(what) => {
                Diagnostic::error("internal", entry, format!("a bug of Diffeo: {what}"))
                    .help("please report it with the program")
            }
        }
    }
}
