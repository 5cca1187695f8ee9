//! Reasons for which the evaluator takes the place of an engine.

use diffeo_base::{CallOption, Diagnostic, Help, SourceMap, Span};
use diffeo_calculus::eval::Exceeded;
use diffeo_codegen::engine::CompileError;
use diffeo_lower::Refusal;

/// Why a program, or this run of it, is left to the evaluator.
#[derive(Clone, Debug)]
pub enum Unsupported {
    /// The lowering refuses it.
    Lowering(Refusal),
    /// A derivative was nan when it ran: the evaluator knows more of each number.
    Nan,
    /// There is, or may be, a kink or an operand outside a domain, and these are to be reported.
    Kinks,
    /// It stopped, and has rules for derivatives: compiled code takes them wherever something may vary.
    Rule,
    /// The engine is not there, or cannot compile it: why.
    Engine(String),
    /// A limit of the run was reached while it was compiled.
    Exceeded(Exceeded),
}

impl From<Refusal> for Unsupported {
    fn from(refusal: Refusal) -> Unsupported {
        Unsupported::Lowering(refusal)
    }
}

impl From<CompileError> for Unsupported {
    fn from(error: CompileError) -> Unsupported {
        match error {
            CompileError::Unsupported(why) => Unsupported::Engine(why),
            CompileError::Exceeded(bound) => Unsupported::Exceeded(bound),
        }
    }
}

impl Unsupported {
    /// Why, in the words of a program with these sources.
    pub fn reason(&self, sources: &SourceMap) -> String {
        match self {
            Unsupported::Lowering(refusal) => refusal.reason(sources),
            Unsupported::Nan => {
                "a derivative is nan, or an integrand may jump at a place that moves".to_string()
            }
            Unsupported::Kinks => {
                "a kink, an operand outside a domain or a nan was met, or might have been"
                    .to_string()
            }
            Unsupported::Rule => {
                "a rule for derivatives was taken where nothing varies, and stopped".to_string()
            }
            Unsupported::Engine(why) => why.clone(),
            Unsupported::Exceeded(bound) => bound.message(),
        }
    }

    /// The message for the user; what has no place stands at `entry`.
    pub fn to_diagnostic(&self, entry: Span) -> Diagnostic {
        let refused = |code, message: &str| Diagnostic::error(code, entry, message.to_string());
        match self {
            Unsupported::Lowering(refusal) => refusal.to_diagnostic(entry),
            Unsupported::Nan => refused("nan-derivative", "a derivative is nan"),
            Unsupported::Kinks => {
                refused("not-compiled", "a kink or an operand outside a domain may be there")
            }
            Unsupported::Rule => {
                refused("not-compiled", "a rule for derivatives stopped where nothing varies")
            }
            // The message has no place in the program, which is not to blame.
            Unsupported::Engine(why) => Diagnostic::error("engine", Span::NONE, why.clone()).help(
                Help::from("choose another engine: ")
                    .option_of(CallOption::Engine, "jit")
                    .text(" and ")
                    .option_of(CallOption::Engine, "interp")
                    .text(" are always there"),
            ),
            Unsupported::Exceeded(bound) => {
                refused(bound.code(), &format!("{}, while compiling", bound.message()))
            }
        }
    }
}
