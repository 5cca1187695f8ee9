//! Run-time errors with their places, made from what is known where a program stops: plain data, so that compiled code
//! can give it.
//!
//! What comes in: why the program stopped, with the operands that matter, the site, and the open calls. What goes out:
//! the error as the evaluator of Core reports it. What always holds: inlined calls count as open calls; what happens in
//! the standard library is reported at the call that led there.

use crate::ir::{ConstantId, FunctionId, Module, SiteId};
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::error::{written, ErrorKind};
use diffeo_calculus::eval::{Exceeded, RuntimeError, MOST_ELEMENTS};
use diffeo_calculus::prim::{int, IntOp, Rounding};

/// How many open calls the trace of an error names, from both ends.
const TRACE: usize = 64;

/// Why a program stops. The comment gives the operands.
#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// `(a: Int, b: Int)`, or `(a: Int)`: the operation has no value.
    Int(IntOp),
    /// `(x: Real)` has no Int.
    Round(Rounding),
    /// `(index, length)`
    Index,
    /// `(lo, hi, length)`
    Slice,
    /// `(count)`
    Count,
    /// `(expected, found)`
    Size(Name),
    /// `(expected, found)`
    Rows,
    /// `(message: Text)`
    Fail,
    /// `(difference: Text)`
    Shape(Name),
    /// A derivative is nan. `()`
    Nan,
    /// A derivative of a higher order than was compiled. `()`
    Order,
    /// The constant needs its own value. `()`
    Cycle(ConstantId),
    /// There is no stack left for a call, the innermost of those that are open. `()`
    TooDeep,
    /// A bound on the run is reached. `()`
    Exceeded(Exceeded),
    /// What never happens. `(what: Text)`
    Internal,
}

/// An operand that an error names.
#[derive(Clone, PartialEq, Debug)]
pub enum ErrorOperand {
    /// An Int.
    Int(i64),
    /// A Real.
    Real(f64),
    /// A text.
    Text(String),
}

/// An open call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The function that was called; that of a constant, if its value is being computed.
    pub function: FunctionId,
    /// The place of the call.
    pub site: SiteId,
}

/// The open calls, innermost first. Of very many, those in the middle may be left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenCalls {
    /// The innermost ones.
    pub inner: Vec<OpenCall>,
    /// How many follow that are left out.
    pub skipped: usize,
    /// The outermost ones, the last called by the root.
    pub outer: Vec<OpenCall>,
}

/// How many calls of each end have to be kept where calls are left out.
pub const KEPT: usize = TRACE;

/// Where a program stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// Why.
    pub why: Why,
    /// What the message names.
    pub operands: Vec<ErrorOperand>,
    /// The statement, in the innermost function.
    pub site: SiteId,
    /// The open calls.
    pub calls: OpenCalls,
    /// The function that was called from outside.
    pub root: FunctionId,
}

/// The error for a failure.
pub fn report(module: &Module, failure: Failure) -> RuntimeError {
    let Failure { why, operands, mut site, mut calls, root } = failure;
    let depth = calls.inner.len() + calls.skipped + calls.outer.len();
    let mut kind = match &why {
        Why::Cycle(constant) => cycle(module, *constant, &calls),
        Why::TooDeep => {
            // The call that found no room has not begun: what is open ends with its caller.
            let last = if calls.inner.is_empty() { &mut calls.outer } else { &mut calls.inner };
            let called = (!last.is_empty()).then(|| last.remove(0));
            site = called.map_or(site, |open| open.site);
            let function = called.map_or(root, |open| open.function);
            ErrorKind::TooDeep { depth: depth.saturating_sub(1), function: shown(module, function) }
        }
        why => kind(why, &operands),
    };
    let (inner, outer) = levels(module, site, &calls, root);
    let all = || inner.iter().chain(&outer);
    let entered = all().take_while(|level| level.library).count();
    let span = all().nth(entered).map_or(Span::NONE, |level| level.place);
    let function =
        entered.checked_sub(1).and_then(|last| all().nth(last)).map(|level| level.function.clone());
    if let (ErrorKind::TooDeep { function: last, .. }, Some(function)) = (&mut kind, &function) {
        // The library's own functions are none of the user's.
        *last = function.clone();
    }
    RuntimeError { kind, span, function, trace: trace(&inner, calls.skipped, &outer) }
}

/// What went wrong, of reasons that need nothing but their operands.
fn kind(why: &Why, operands: &[ErrorOperand]) -> ErrorKind {
    let int = |i: usize| match operands.get(i) {
        Some(ErrorOperand::Int(n)) => *n,
        Some(ErrorOperand::Real(_) | ErrorOperand::Text(_)) | None => 0,
    };
    let size = |i: usize| usize::try_from(int(i)).unwrap_or(0);
    let text = || match operands.first() {
        Some(ErrorOperand::Text(text)) => text.clone(),
        Some(ErrorOperand::Int(_) | ErrorOperand::Real(_)) | None => String::new(),
    };
    let internal = |message: &str| ErrorKind::Internal { message: message.to_string() };
    match why {
        Why::Int(op) => match int::apply(*op, int(0), int(1)) {
            Err(kind) => kind,
            Ok(_) => internal("an operation on Ints failed that has a value"),
        },
        Why::Round(rounding) => match operands.first() {
            Some(ErrorOperand::Real(x)) => match int::round(*rounding, *x) {
                Err(kind) => kind,
                Ok(_) => internal("a rounding failed that has a value"),
            },
            Some(ErrorOperand::Int(_) | ErrorOperand::Text(_)) | None => {
                internal("an operand is missing")
            }
        },
        Why::Index => ErrorKind::IndexOutOfBounds { index: int(0), length: size(1) },
        Why::Slice => ErrorKind::SliceOutOfBounds { lo: int(0), hi: int(1), length: size(2) },
        Why::Count if int(0) < 0 => ErrorKind::NegativeCount { count: int(0) },
        Why::Count => ErrorKind::TooLarge { count: int(0) },
        Why::Size(what) => {
            ErrorKind::SizeMismatch { what: what.clone(), expected: size(0), found: size(1) }
        }
        Why::Rows => ErrorKind::IrregularRows { expected: size(0), found: size(1) },
        Why::Fail => ErrorKind::Fail { message: text() },
        Why::Shape(op) => ErrorKind::ShapeMismatch { op: op.clone(), difference: text() },
        Why::Nan => ErrorKind::NanDerivative,
        Why::Order => ErrorKind::DerivativeOrder,
        Why::Exceeded(bound) => ErrorKind::Exceeded(*bound),
        Why::Internal => internal(&text()),
        // These need more than operands.
        Why::Cycle(_) | Why::TooDeep => internal("an error without its calls"),
    }
}

/// Whether a count of elements may be: not negative, and not beyond any memory.
pub fn counts(count: i64) -> bool {
    (0..=MOST_ELEMENTS).contains(&count)
}

fn shown(module: &Module, function: FunctionId) -> Name {
    let function = module.functions.get(function.0 as usize);
    function.map_or_else(|| Name::new("?"), |function| written(&function.shown))
}

/// The constants that are being computed from this one on, and this one again.
fn cycle(module: &Module, constant: ConstantId, calls: &OpenCalls) -> ErrorKind {
    let open = calls.inner.iter().chain(&calls.outer).rev();
    let mut names: Vec<Name> = Vec::new();
    let Some(last) = module.constants.get(constant.0 as usize) else {
        return ErrorKind::ConstantCycle { names };
    };
    for call in open {
        let computed = module.constants.iter().find(|constant| constant.init == call.function);
        if let Some(computed) = computed {
            if !names.is_empty() || computed.init == last.init {
                names.push(computed.name.clone());
            }
        }
    }
    names.push(last.name.clone());
    ErrorKind::ConstantCycle { names }
}

/// A function that is open, perhaps inlined.
struct CallLevel {
    /// Its name in the program.
    function: Name,
    library: bool,
    /// Where it is.
    place: Span,
}

/// The open functions, innermost first, at both ends of the calls.
fn levels(
    module: &Module,
    site: SiteId,
    calls: &OpenCalls,
    root: FunctionId,
) -> (Vec<CallLevel>, Vec<CallLevel>) {
    let mut inner = Vec::new();
    let mut outer = Vec::new();
    let mut at = site;
    for call in &calls.inner {
        unfold(module, at, call.function, &mut inner);
        at = call.site;
    }
    let mut levels = &mut inner;
    for (i, call) in calls.outer.iter().enumerate() {
        // The place within the first after those left out is not known, nor needed.
        if i > 0 || calls.skipped == 0 {
            unfold(module, at, call.function, levels);
        }
        levels = &mut outer;
        at = call.site;
    }
    unfold(module, at, root, levels);
    (inner, outer)
}

/// The functions that are open at a site of a function, innermost first. Those without a name for messages are
/// no functions of the program: what they do happens where they are called.
fn unfold(module: &Module, site: SiteId, function: FunctionId, levels: &mut Vec<CallLevel>) {
    let mut level = |function: Name, library: bool, place: Span| {
        if !function.is_empty() {
            levels.push(CallLevel { function: written(&function), library, place });
        }
    };
    let mut at = module.sites.get(site.0 as usize);
    let mut place = at.map_or(Span::NONE, |site| site.span);
    while let Some(inlined) = at.and_then(|site| site.inlined.as_ref()) {
        level(inlined.function.clone(), inlined.library, place);
        at = module.sites.get(inlined.at.0 as usize);
        place = at.map_or(Span::NONE, |site| site.span);
    }
    let library = module.functions.get(function.0 as usize).is_some_and(|f| f.library);
    level(shown(module, function), library, place);
}

/// The calls outside the standard library, innermost first: the function called and the place of the call.
fn trace(inner: &[CallLevel], skipped: usize, outer: &[CallLevel]) -> Vec<(Name, Span)> {
    let all: Vec<&CallLevel> = inner.iter().chain(outer).collect();
    let calls = all.len().saturating_sub(1);
    // Of a long trace the two ends are of interest.
    let middle = calls.saturating_sub(TRACE);
    let skipped_here = skipped > 0;
    all.windows(2)
        .enumerate()
        .filter(|(i, pair)| {
            let kept = *i < TRACE / 2 || *i >= TRACE / 2 + middle;
            // What was called across those left out is not known.
            let across = skipped_here && *i + 1 == inner.len();
            !pair[1].library && kept && !across
        })
        .map(|(_, pair)| (pair[0].function.clone(), pair[1].place))
        .collect()
}
