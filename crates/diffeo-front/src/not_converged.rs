//! Notes on the results of library methods: lines that a program prints as `trace` does, and the warnings that the
//! session makes of them.

use diffeo_base::{Diagnostic, LineColumn, SourceMap, Span};

/// That a method ended without converging.
#[derive(Clone, PartialEq, Debug)]
pub struct NotConverged {
    /// The place of the call: `model.deo:3:5-4:20`.
    place: String,
    message: String,
}

const MARK: &str = ": warning[not-converged]: ";

impl NotConverged {
    /// What the line begins with: the place of a call and what is called.
    pub fn label(sources: &SourceMap, call: Span, method: &str) -> String {
        let start = sources.line_column(call);
        let end = sources.line_column(Span { start: call.end, ..call });
        let (line, column) = (start.line, start.column);
        let name = sources.name(call.file);
        format!("{name}:{line}:{column}-{}:{}{MARK}{method}", end.line, end.column)
    }

    /// The note that a line is, if it is one.
    pub fn read(line: &str) -> Option<NotConverged> {
        let (place, message) = line.split_once(MARK)?;
        Some(NotConverged { place: place.to_string(), message: message.to_string() })
    }

    /// Whether it is about the same call.
    pub fn same_place(&self, other: &NotConverged) -> bool {
        self.place == other.place
    }

    fn span(&self, sources: &SourceMap) -> Option<Span> {
        let (start, end) = self.place.rsplit_once('-')?;
        let at = |text: &str| {
            let (line, column) = text.split_once(':')?;
            Some(LineColumn { line: line.parse().ok()?, column: column.parse().ok()? })
        };
        let (name, column) = start.rsplit_once(':')?;
        let (name, line) = name.rsplit_once(':')?;
        let file = sources.named(name)?;
        let start = sources.offset(file, at(&format!("{line}:{column}"))?)?;
        Some(Span::new(file, start, sources.offset(file, at(end)?)?))
    }

    /// The warning.
    pub fn to_diagnostic(&self, sources: &SourceMap) -> Diagnostic {
        let span = self.span(sources).unwrap_or(Span::NONE);
        Diagnostic::warning("not-converged", span, self.message.clone()).help(self.help())
    }

    /// What to do.
    fn help(&self) -> &'static str {
        match self.message.split('.').next() {
            Some("linalg") => {
                return "it may need more products, `{linalg.krylov_options with max_iterations = …}`, or a tolerance \
                        that can be reached; the matrix may be singular or ill-conditioned, or for `cg` not positive \
                        definite"
            }
            Some("stats") if self.message.contains("numerically 0") => {
                return "columns of x tell the responses apart (separation): the larger the coefficients, the more \
                        likely, so there is no best fit. Leave such a column out, or give coefficients priors and \
                        draw from the posterior, `diffeo sample`"
            }
            Some("stats") if self.message.contains("exactly") => {
                return "there are as many coefficients as responses, or the responses are a formula of the columns: \
                        nothing tells how much responses vary. Take more responses, or fewer columns"
            }
            Some("stats") => {
                return "it may need more iterations, `{stats.glm_options with max_iterations = …}`; coefficients that \
                        grow without end mean that columns of x tell the responses apart (separation)"
            }
            Some("bayes") => {
                return "is the posterior proper? If it is, scale parameters and predictors to about 1, or start nearer \
                        to the mode"
            }
            _ => {}
        }
        match self.message.rsplit(": ").next() {
            Some("IterationLimit") => {
                "it may need more steps, `{optim.…_options with max_iterations = …}`, a start that is nearer, or \
                 tolerances that can be reached"
            }
            Some("SearchFailed") => {
                "no step down the gradient makes the function smaller: it may have a kink there, no lower bound, or \
                 a derivative that is wrong; `diffeo grad --check` tells"
            }
            Some("NotFinite") => {
                "the function or its gradient is infinite or nan at the next point: make steps shorter, start nearer, \
                 or keep the function within its domain"
            }
            Some("Infeasible") => {
                "no point near fulfils all the constraints: look for two that contradict each other, or a start from \
                 which they can be reached"
            }
            _ => {
                "the residuals do not tell these parameters, or are no more than these: measure more, or leave \
                 parameters out"
            }
        }
    }
}
