//! Programs as the papers show them: translated programs, traces and Deltas of an [`Entry`].

// A message is made once, when there is nothing more to do.
#![allow(clippy::result_large_err)]

use crate::session::Session;
use diffeo_base::Diagnostic;
use diffeo_calculus::eval::Options;
use diffeo_calculus::value::Value;
use diffeo_calculus::Program;
use diffeo_front::Entry;
use diffeo_lower::Refusal;
use diffeo_papers::definition::{self, Refused, ShownDefinition};
use diffeo_papers::delta::shown::Shown;

pub use diffeo_papers::definition::{Traced, Translation};

impl Session {
    /// The program that a definition is translated to: see [`definition::translation`].
    ///
    /// # Errors
    /// What is not translated, and why.
    pub fn translation(&self, entry: &Entry, by: Translation) -> Result<Program, Diagnostic> {
        let made = definition::translation(of(entry), by);
        made.map_err(|refused| self.refused(entry, refused))
    }

    /// The trace of a function at a point, or its derivative, as the program of one definition.
    ///
    /// # Errors
    /// What stopped the program.
    pub fn traced(
        &self,
        entry: &Entry,
        point: Value,
        what: Traced,
        options: Options,
    ) -> Result<Program, Diagnostic> {
        let made = definition::traced(of(entry), point, what, options);
        made.map_err(|refused| self.refused(entry, refused))
    }

    /// The Delta of a function at a point, by the monadic translation or by the one without sharing.
    ///
    /// # Errors
    /// What stopped the program; that the Delta without sharing is too large.
    pub fn delta(
        &self,
        entry: &Entry,
        point: Value,
        sharing: bool,
        options: Options,
    ) -> Result<Shown, Diagnostic> {
        let made = definition::delta(of(entry), point, sharing, options);
        made.map_err(|refused| self.refused(entry, refused))
    }

    fn refused(&self, entry: &Entry, refused: Refused) -> Diagnostic {
        match refused {
            Refused::Growing(name) => Refusal::Type(name).to_diagnostic(entry.span),
            Refused::Message(message) => message,
            Refused::Stopped(error) => self.explain(entry, &error),
        }
    }
}

/// The definition that an entry is.
fn of(entry: &Entry) -> ShownDefinition<'_> {
    let Entry { program, global, name, span, .. } = entry;
    ShownDefinition { program, global: *global, name, span: *span }
}
