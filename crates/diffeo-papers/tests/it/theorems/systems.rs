//! The papers' systems on cases: evaluators by traces, programs with derivatives of the case's function,
//! outcomes.
//!
//! What always holds: every run is bounded, and what runs out of its bounds is skipped.

use crate::theorems::generator::TheoremCase;
use crate::theorems::harness::{
    apply_main, close_values, code, derivative, limits, machine, reals, CaseFailure,
    MOST_OPERATIONS,
};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, RuntimeError};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::value::Value;
use diffeo_calculus::{parse, print, print_type};
use diffeo_papers::trace::{TraceEvaluator, TraceOptions, TraceStop};
use std::rc::Rc;

/// What a run ends with: a value, or the code of the error that stops it.
pub type Outcome = Result<Value, &'static str>;

/// A run that ended within its bounds.
pub fn outcome(result: Result<Value, RuntimeError>) -> Result<Outcome, CaseFailure> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => match code(&error) {
            "out-of-memory" | "too-deep" => Err(CaseFailure::Skip("the run is too long")),
            "internal" => Err(error.kind.message().into()),
            code => Ok(Err(code)),
        },
    }
}

/// Whether two runs end with values that agree, as for [`close_values`], or with the same error.
pub fn same_outcome(a: &Outcome, b: &Outcome, largest: f64) -> Result<(), CaseFailure> {
    match (a, b) {
        (Ok(a), Ok(b)) => close_values(a, b, largest),
        (Err(a), Err(b)) if a == b => Ok(()),
        _ => Err(format!("{a:?} and {b:?}").into()),
    }
}

/// The runtime error of an evaluation that is not limited.
pub fn error(stop: TraceStop) -> RuntimeError {
    match stop {
        TraceStop::Error(error) => *error,
        TraceStop::OutOfFuel => unreachable!("recursion is not limited"),
    }
}

/// What is wrong in a trace.
pub fn wrong(kind: ErrorKind) -> CaseFailure {
    kind.message().into()
}

/// How evaluators by traces run.
pub fn trace_options(kinks: Kinks) -> TraceOptions {
    let limits = limits(MOST_OPERATIONS);
    TraceOptions { kinks, limits, max_stack: 1 << 24, ..TraceOptions::default() }
}

/// An evaluator by traces.
pub fn evaluator(program: &Rc<Program>) -> TraceEvaluator {
    TraceEvaluator::new(program.clone(), trace_options(Kinks::Ignore))
}

/// The value of a definition at an argument.
pub fn evaluate(
    evaluator: &mut TraceEvaluator,
    definition: GlobalId,
    argument: Value,
) -> Result<Value, RuntimeError> {
    let f = evaluator.eval_global(definition).map_err(error)?;
    evaluator.apply(&f, argument).map_err(error)
}

/// The derivatives of the function of a case that the machine gives, to judge others by.
pub struct Reference {
    /// rd(f, x, w)
    pub gradient: Value,
    /// ∂f · v
    pub forward: Value,
    /// The largest number in them.
    pub largest: f64,
}

/// The machine's derivatives.
pub fn reference(case: &TheoremCase) -> Result<Reference, CaseFailure> {
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    let x = || case.point.clone();
    let jvp = derivative(&mut machine, case, DiffOp::Jvp, [x(), case.tangent.clone()])?;
    let [_, forward] = jvp.fields() else { return Err("jvp gives no pair".into()) };
    let gradient = derivative(&mut machine, case, DiffOp::Rd, [x(), case.cotangent.clone()])?;
    let all = [&case.value, forward, &gradient];
    let numbers = all.iter().flat_map(|value| reals(value));
    let largest = numbers.fold(machine.take_largest(), |m: f64, x| m.max(x.abs()));
    Ok(Reference { gradient, forward: forward.clone(), largest })
}

/// The value, or how the function stops.
pub fn by_machine(case: &TheoremCase) -> Result<Outcome, CaseFailure> {
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    outcome(apply_main(&mut machine, case, case.point.clone()))
}

/// The definitions that [`with_derivatives`] adds.
const DERIVATIVES: &str = "
def by_rd : (<S>, <T>) -> <S> = fn (p : (<S>, <T>)) ->
  #rd[<S>, <T>](@main, proj[(<S>, <T>), 0](p), proj[(<S>, <T>), 1](p))
def by_jvp : (<S>, <S>) -> (<T>, <T>) = fn (p : (<S>, <S>)) ->
  #jvp[<S>, <T>](@main, proj[(<S>, <S>), 0](p), proj[(<S>, <S>), 1](p))
def by_fd : (<S>, <S>) -> <T> = fn (p : (<S>, <S>)) ->
  let x : <S> = proj[(<S>, <S>), 0](p); y : <T> = @main x in
  #rd[<T>, <S>](fn (u : <T>) -> #rd[<S>, <T>](@main, x, u), #zero_of[<T>](y), proj[(<S>, <S>), 1](p))
def by_rd_3 : (<S>, <T>, <S>) -> <S> = fn (p : (<S>, <T>, <S>)) ->
  let w : <T> = proj[(<S>, <T>, <S>), 1](p); v : <S> = proj[(<S>, <T>, <S>), 2](p) in
  #rd[<S>, <S>](fn (a : <S>) -> #rd[<S>, <S>](fn (b : <S>) -> #rd[<S>, <T>](@main, b, w), a, v),
    proj[(<S>, <T>, <S>), 0](p), v)
";

/// The program of a case with derivatives of its function:
///
/// ```text
/// by_rd(x, w) = w.rd_x(f)          by_jvp(x, v) = jvp(f, x, v)
/// by_fd(x, v) = v.rd_0(λu. u.rd_x(f))
/// by_rd_3(x, w, v) = v.rd_x(λa. v.rd_a(λb. w.rd_b(f)))
/// ```
pub fn with_derivatives(case: &TheoremCase) -> Result<Rc<Program>, CaseFailure> {
    let [s, t] = [&case.s, &case.t].map(|ty| print_type(ty, &case.program));
    let definitions = DERIVATIVES.replace("<S>", &s).replace("<T>", &t);
    let text = print(&case.program) + &definitions;
    parse(&text).map(Rc::new).map_err(|error| format!("{error}\n{text}").into())
}
