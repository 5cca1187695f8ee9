//! Run-time errors and warnings, as data, and their messages.

use super::limits::Exceeded;
use crate::prim::interval::Interval;
use crate::show::interval;
use diffeo_base::{CallOption, Diagnostic, Help, Name, Span};

/// What went wrong while a program ran.
#[derive(Clone, Debug)]
pub enum ErrorKind {
    /// An Int result beyond 64 bits.
    Overflow {
        /// The operation as written, such as `+`.
        op: &'static str,
        /// Its operands.
        operands: Vec<i64>,
    },
    /// Int division or remainder by zero.
    DivisionByZero {
        /// `/` or `%`
        op: &'static str,
        /// The left operand.
        dividend: i64,
    },
    /// `a ^ b` of Ints with negative b.
    NegativeExponent {
        /// The exponent.
        exponent: i64,
    },
    /// A shift by less than 0 or more than 63.
    ShiftOutOfRange {
        /// The amount.
        amount: i64,
    },
    /// A Real that has no Int: nan or beyond 64 bits.
    NotAnInt {
        /// The rounding operation.
        op: &'static str,
        /// The operand.
        operand: f64,
    },
    /// An index below 0 or not below the length.
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// The length.
        length: usize,
    },
    /// A slice that does not lie in the array.
    SliceOutOfBounds {
        /// The first index.
        lo: i64,
        /// One past the last.
        hi: i64,
        /// The length.
        length: usize,
    },
    /// The count of a comprehension is negative.
    NegativeCount {
        /// The count.
        count: i64,
    },
    /// The count of a comprehension is beyond any memory.
    TooLarge {
        /// The count.
        count: i64,
    },
    /// Two sizes that must be equal are not.
    SizeMismatch {
        /// What has the sizes: an operation, or the name of a size.
        what: Name,
        /// The size wanted.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// The rows of an array differ in length.
    IrregularRows {
        /// The length of the first row.
        expected: usize,
        /// The length of a later one.
        found: usize,
    },
    /// A tangent or cotangent has not the shape of its point, or two operands of a polytypic operation
    /// differ in shape.
    ShapeMismatch {
        /// The operation.
        op: Name,
        /// What differs, in words.
        difference: String,
    },
    /// `fail`.
    Fail {
        /// Its message.
        message: String,
    },
    /// A derivative is nan, and what ran the program cannot tell why.
    NanDerivative,
    /// A derivative is of a higher order than there is code for.
    DerivativeOrder,
    /// A constant needs its own value.
    ConstantCycle {
        /// The constants in the cycle.
        names: Vec<Name>,
    },
    /// Calls nest deeper than the memory for them allows.
    TooDeep {
        /// How many calls are open.
        depth: usize,
        /// The innermost function.
        function: Name,
    },
    /// Recursion that may unfold so often only unfolds once more.
    Unfolded {
        /// How often each recursive definition may unfold.
        most: u64,
    },
    /// Under `kinks = error`: an operation at a point where it is not differentiable.
    Kink {
        /// The operation.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
    },
    /// Under `kinks = exact`: the function is not continuous where it is differentiated.
    Jump {
        /// The comparison that decides otherwise beside the point.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
        /// The value at the point and beside it; none if they differ in shape, or there is none beside it.
        values: Option<[f64; 2]>,
    },
    /// Under `kinks = error`: an operation outside its domain.
    OutsideDomain {
        /// The operation.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
    },
    /// An operation that has no certain result, every Real being an interval.
    Uncertain {
        /// Why.
        why: Uncertainty,
        /// The operation.
        op: &'static str,
        /// The ends of its operands.
        operands: Vec<[f64; 2]>,
    },
    /// A bound on the run was reached.
    Exceeded(Exceeded),
    /// A bug of the evaluator or of what made the program.
    Internal {
        /// What was found.
        message: String,
    },
}

/// An error with its place.
#[derive(Clone, Debug)]
pub struct RuntimeError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// Where; within the standard library, the place of the call that led there.
    pub span: Span,
    /// The function of the standard library that was called there, if that is where it happened.
    pub function: Option<Name>,
    /// The open calls outside the standard library, innermost first: the function called, by its name in the program, and
    /// the place of the call; at most 64. Calls within the standard library are none of the user's.
    pub trace: Vec<(Name, Span)>,
}

/// What is reported while the program goes on.
#[derive(Clone, Debug)]
pub struct RuntimeWarning {
    /// What is reported.
    pub kind: WarningKind,
    /// Where, as for [`RuntimeError::span`].
    pub span: Span,
    /// As for [`RuntimeError::function`].
    pub function: Option<Name>,
}

/// The kinds of warning.
#[derive(Clone, Debug)]
pub enum WarningKind {
    /// Under `kinks = warn`: as [`ErrorKind::Kink`].
    Kink {
        /// The operation.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
    },
    /// Under `kinks = warn`: as [`ErrorKind::OutsideDomain`].
    OutsideDomain {
        /// The operation.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
    },
    /// A derivative is nan where the value is finite; this operation made it so.
    NanDerivative {
        /// The operation.
        op: &'static str,
        /// Its operands.
        operands: Vec<f64>,
    },
    /// What the library itself warns of, by `warn`.
    Told {
        /// A stable name of the kind of warning.
        code: &'static str,
        /// What is wrong.
        message: String,
        /// What to do; may be empty.
        help: String,
    },
}

/// The codes of what the library warns of.
pub const TOLD: [&str; 3] = ["not-converged", "inaccurate", "redundant"];

impl WarningKind {
    /// What `warn` is called with, as a warning.
    pub fn told(code: &str, message: &str, help: &str) -> WarningKind {
        let code = TOLD.into_iter().find(|known| *known == code).unwrap_or("warning");
        WarningKind::Told { code, message: message.to_string(), help: help.to_string() }
    }

    /// A stable name of the kind of warning.
    pub fn code(&self) -> &'static str {
        match self {
            WarningKind::Kink { .. } => "kink",
            WarningKind::OutsideDomain { .. } => "outside-domain",
            WarningKind::NanDerivative { .. } => "nan-derivative",
            WarningKind::Told { code, .. } => code,
        }
    }
}

/// Why an operation on intervals has no certain result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncertainty {
    /// It comes out in different ways for numbers in the operands.
    Undecided,
    /// A derivative is taken of it, and may not exist for some of them.
    Kink,
    /// Some of them lie outside its domain.
    Outside,
    /// No bounds are known there.
    Unknown,
    /// A rule or `stop_gradient` of the program may give another derivative than the function has.
    Hidden,
    /// Bounds that are values have no derivative.
    Varies,
}

impl Uncertainty {
    /// The answer is that nothing is certain; else it is a mistake to ask.
    pub fn is_an_answer(self) -> bool {
        self != Uncertainty::Varies
    }

    fn code(self) -> &'static str {
        match self {
            Uncertainty::Undecided => "undecided",
            Uncertainty::Kink => "kink",
            Uncertainty::Outside => "outside-domain",
            Uncertainty::Unknown | Uncertainty::Hidden => "unknown-bounds",
            Uncertainty::Varies => "no-derivative",
        }
    }

    fn message(self, operation: &str) -> String {
        match self {
            Uncertainty::Undecided => {
                format!("{operation} is not decided: it may differ within the intervals")
            }
            Uncertainty::Kink => {
                format!("{operation} may have no derivative somewhere within the intervals")
            }
            Uncertainty::Outside => {
                format!("{operation} may be outside the domain of the operation")
            }
            Uncertainty::Unknown => format!("{operation} has no known bounds"),
            Uncertainty::Hidden => {
                format!("{operation} may give another derivative than the function has")
            }
            Uncertainty::Varies => "the bounds of `interval.enclose` have no derivative".into(),
        }
    }

    fn help(self) -> &'static str {
        match self {
            Uncertainty::Undecided => {
                "give narrower intervals, or parts of them one by one; `abs`, `min` and `max` need no decision"
            }
            Uncertainty::Kink => "give narrower intervals, or parts of them on one side of the kink",
            Uncertainty::Outside => {
                "give narrower intervals, or use each argument once: `(x - 1.0)^2` is narrower than `x^2 - 2.0 * x + 1.0`"
            }
            Uncertainty::Unknown => "give intervals of positive numbers",
            Uncertainty::Hidden => "leave it out of the function whose bounds are asked",
            Uncertainty::Varies => "use `stop_gradient` on what it is given and on what its function captures",
        }
    }
}

fn real(x: f64) -> String {
    crate::show::real(x)
}

fn operands(op: &str, xs: &[f64]) -> String {
    operation(op, &xs.iter().map(|x| real(*x)).collect::<Vec<_>>())
}

/// An operation as it would be written with operands that are.
fn operation(op: &str, xs: &[String]) -> String {
    let infix = op.chars().all(|c| !c.is_alphabetic());
    match (infix, xs) {
        // A negative operand would read as the negation of the whole.
        (true, [a, b]) if a.starts_with('-') => format!("({a}) {op} {b}"),
        (true, [a, b]) => format!("{a} {op} {b}"),
        (true, [a]) => format!("{op}{a}"),
        (_, []) => op.to_string(),
        _ => format!("{op}({})", xs.join(", ")),
    }
}

impl ErrorKind {
    /// Whether the run was interrupted, or has used up its time or memory.
    pub fn is_bound(&self) -> bool {
        matches!(self, ErrorKind::Exceeded(_))
    }

    /// A stable name of the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            ErrorKind::Overflow { .. } => "overflow",
            ErrorKind::DivisionByZero { .. } => "division-by-zero",
            ErrorKind::NegativeExponent { .. } => "negative-exponent",
            ErrorKind::ShiftOutOfRange { .. } => "shift-out-of-range",
            ErrorKind::NotAnInt { .. } => "not-an-int",
            ErrorKind::IndexOutOfBounds { .. } => "index-out-of-bounds",
            ErrorKind::SliceOutOfBounds { .. } => "slice-out-of-bounds",
            ErrorKind::NegativeCount { .. } => "negative-count",
            ErrorKind::TooLarge { .. } => "too-large",
            ErrorKind::SizeMismatch { .. } => "size-mismatch",
            ErrorKind::IrregularRows { .. } => "irregular-rows",
            ErrorKind::ShapeMismatch { .. } => "shape-mismatch",
            ErrorKind::Fail { .. } => "fail",
            ErrorKind::NanDerivative => "nan-derivative",
            ErrorKind::DerivativeOrder => "derivative-order",
            ErrorKind::ConstantCycle { .. } => "constant-cycle",
            ErrorKind::TooDeep { .. } => "too-deep",
            ErrorKind::Unfolded { .. } => "unfolded",
            ErrorKind::Kink { .. } => "kink",
            ErrorKind::Jump { .. } => "jump",
            ErrorKind::OutsideDomain { .. } => "outside-domain",
            ErrorKind::Uncertain { why, .. } => why.code(),
            ErrorKind::Exceeded(bound) => bound.code(),
            ErrorKind::Internal { .. } => "internal",
        }
    }

    /// The message: what happened, with the values.
    pub fn message(&self) -> String {
        match self {
            ErrorKind::Overflow { op, operands } => match operands.as_slice() {
                [a, b] if op.chars().all(|c| !c.is_alphabetic()) => {
                    format!("Int overflow: {a} {op} {b} has more than 64 bits")
                }
                xs => {
                    let xs: Vec<String> = xs.iter().map(i64::to_string).collect();
                    format!("Int overflow: {op}({}) has more than 64 bits", xs.join(", "))
                }
            },
            ErrorKind::DivisionByZero { op, dividend } => {
                format!("Int division by zero: {dividend} {op} 0")
            }
            ErrorKind::NegativeExponent { exponent } => {
                format!("an Int to the power {exponent}: the exponent must not be negative")
            }
            ErrorKind::ShiftOutOfRange { amount } => {
                format!("a shift by {amount} bits: it must be from 0 to 63")
            }
            ErrorKind::NotAnInt { op, operand } => {
                format!("{op}({}) is not an Int", real(*operand))
            }
            ErrorKind::IndexOutOfBounds { index, length } => match length {
                0 => format!("index {index} of an empty array"),
                n => format!("index {index} is out of bounds: the array has length {n}, its indices are 0 to {}", n - 1),
            },
            ErrorKind::SliceOutOfBounds { lo, hi, length } => format!(
                "the slice {lo}..{hi} does not lie in an array of length {length}"
            ),
            ErrorKind::NegativeCount { count } => format!("a negative count of elements: {count}"),
            ErrorKind::TooLarge { count } => {
                format!("an array of {count} elements does not fit into memory")
            }
            ErrorKind::SizeMismatch { what, expected, found } => {
                format!("the sizes {expected} and {found} differ: {what}")
            }
            ErrorKind::IrregularRows { expected, found } => format!(
                "the rows of an array must be of one length, but there are rows of {expected} and of {found}"
            ),
            ErrorKind::ShapeMismatch { op, difference } => format!("{op}: {difference}"),
            ErrorKind::Fail { message } => message.clone(),
            ErrorKind::NanDerivative => "a derivative is nan".to_string(),
            ErrorKind::DerivativeOrder => {
                "a derivative is of a higher order than is compiled".to_string()
            }
            ErrorKind::ConstantCycle { names } => {
                let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                format!("the value of a constant depends on itself: {}", names.join(" needs "))
            }
            ErrorKind::TooDeep { depth, function } => {
                format!("the recursion is too deep: {depth} calls are open, the last of `{function}`")
            }
            ErrorKind::Unfolded { most } => {
                format!("a recursive definition would unfold more than {most} times")
            }
            ErrorKind::Kink { op, operands: xs } => {
                format!("{} has no derivative there", operands(op, xs))
            }
            ErrorKind::Jump { op, operands: xs, values } => {
                let decision = operands(op, xs);
                match values {
                    Some([x, y]) => format!(
                        "the function jumps where {decision} is decided: from {} to {}",
                        real(*x),
                        real(*y)
                    ),
                    None => format!(
                        "the function jumps where {decision} is decided: it has no such value on the other side"
                    ),
                }
            }
            ErrorKind::OutsideDomain { op, operands: xs } => {
                format!("{} is outside the domain of the operation", operands(op, xs))
            }
            ErrorKind::Uncertain { why, op, operands: xs } => {
                let xs = xs.iter().map(|[lo, hi]| match Interval::new(*lo, *hi) {
                    Some(x) if !x.is_point() => interval(x),
                    _ => real(*lo),
                });
                why.message(&operation(op, &xs.collect::<Vec<_>>()))
            }
            ErrorKind::Exceeded(bound) => bound.message(),
            ErrorKind::Internal { message } => format!("a bug of Diffeo: {message}"),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<Help> {
        match self {
            ErrorKind::Kink { op, operands } => at_the_origin(op, operands).map(Help::from),
            ErrorKind::Jump { .. } => Some(
                "at a jump there is no derivative: move the point, make the step smooth, such as `sigmoid(x / width)`, or \
                 compare `stop_gradient` of what varies if the other side is not meant"
                    .into(),
            ),
            ErrorKind::Overflow { .. } => Some(
                "use Real, or `wrapping_add` and `wrapping_mul` for arithmetic modulo 2^64".into(),
            ),
            ErrorKind::IrregularRows { .. } => {
                Some("use a List of arrays where the lengths differ".into())
            }
            ErrorKind::SizeMismatch { what, .. } if *what == NEW_ROW => Some(
                "rows of several lengths stay a List: `map_list(f, xs)` goes over it, `to_list(xs)` makes one of an array"
                    .into(),
            ),
            ErrorKind::TooDeep { .. } => Some(
                "check that the recursion ends; a call in tail position needs no memory".into(),
            ),
            ErrorKind::Unfolded { .. } => {
                Some("with a larger `--unfold` it may have a value".into())
            }
            ErrorKind::ConstantCycle { .. } => Some("make one of them a function".into()),
            ErrorKind::NanDerivative => Some(
                Help::default()
                    .option_of(CallOption::Engine, "interp")
                    .text(" tells which operation made it so"),
            ),
            ErrorKind::DerivativeOrder => Some(
                Help::default().option_of(CallOption::Engine, "interp").text(" has all orders"),
            ),
            ErrorKind::Uncertain { why, .. } => Some(why.help().into()),
            ErrorKind::Internal { .. } => Some("please report it with the program".into()),
            ErrorKind::Exceeded(_)
            | ErrorKind::DivisionByZero { .. }
            | ErrorKind::NegativeExponent { .. }
            | ErrorKind::ShiftOutOfRange { .. }
            | ErrorKind::NotAnInt { .. }
            | ErrorKind::IndexOutOfBounds { .. }
            | ErrorKind::SliceOutOfBounds { .. }
            | ErrorKind::NegativeCount { .. }
            | ErrorKind::TooLarge { .. }
            | ErrorKind::SizeMismatch { .. }
            | ErrorKind::ShapeMismatch { .. }
            | ErrorKind::Fail { .. }
            | ErrorKind::OutsideDomain { .. } => None,
        }
    }
}

/// The two values that differ in size where a row is stored in an array of rows, as messages name them.
pub const NEW_ROW: &str = "the rows of the array and the new row";

/// The calls that a message shows of those that led to an error, from the innermost on.
const CALLS_SHOWN: usize = 3;

/// The name of a definition as the program has it, without the type arguments of an instance: `map` for `map[Real, Int]`.
pub fn written(name: &Name) -> Name {
    match name.split_once('[') {
        Some((written, _)) => Name::new(written),
        None => name.clone(),
    }
}

/// What to say at the call that led into the library.
fn called(name: &Name) -> String {
    if *name == "fn" {
        "within the library, called here".to_string()
    } else {
        format!("in `{name}`, called here")
    }
}

impl RuntimeError {
    /// The message for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut d = Diagnostic::error(self.kind.code(), self.span, self.kind.message());
        if let Some(name) = &self.function {
            d = d.primary_text(called(name));
        }
        let mut places = vec![self.span];
        for (name, caller) in &self.trace {
            // Recursion calls from the same place again and again.
            if places.len() > CALLS_SHOWN || caller.is_none() || places.contains(caller) {
                continue;
            }
            places.push(*caller);
            d = match *name == "fn" {
                true => d.label(*caller, "called here"),
                false => d.label(*caller, format!("`{name}` called here")),
            };
        }
        if let Some(help) = self.kind.help() {
            d = d.help(help);
        }
        d
    }
}

impl RuntimeWarning {
    /// Whether it is of the same kind and place.
    pub fn repeats(&self, other: &RuntimeWarning) -> bool {
        (self.kind.code(), self.span) == (other.kind.code(), other.span)
    }

    /// The message for the user.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let warning = |message| Diagnostic::warning(self.kind.code(), self.span, message);
        let (d, help) = match &self.kind {
            WarningKind::Kink { op, operands: xs } => (
                warning(format!("{} has no derivative there", operands(op, xs))),
                at_the_origin(op, xs).map(Help::from),
            ),
            WarningKind::OutsideDomain { op, operands: xs } => (
                warning(format!("{} is outside the domain of the operation", operands(op, xs))),
                at_the_origin(op, xs).map(Help::from),
            ),
            WarningKind::NanDerivative { op, operands: xs } => (
                warning(format!("the derivative is nan because of {}", operands(op, xs)))
                    .note("the value is finite, but the derivative does not exist there"),
                at_the_origin(op, xs).map(Help::from),
            ),
            WarningKind::Told { code: _, message, help } => {
                let help = (!help.is_empty()).then(|| Help::from(help.clone()));
                (warning(message.clone()), help)
            }
        };
        let d = match &self.function {
            Some(name) => d.primary_text(called(name)),
            None => d,
        };
        match help {
            Some(help) => d.help(help),
            None => d,
        }
    }
}

/// What to write instead of a root that may be that of a norm, whose derivative at 0 is missed.
fn at_the_origin(op: &str, operands: &[f64]) -> Option<&'static str> {
    let is_root = op == "sqrt" || op == "hypot";
    (is_root && operands.iter().all(|x| *x == 0.0)).then_some(
        "the square of a norm has a derivative at 0, too: `norm_sq(xs)`, or `x * x + y * y`, without the root",
    )
}
