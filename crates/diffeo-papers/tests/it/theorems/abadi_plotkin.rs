//! Abadi & Plotkin, *A Simple Differentiable Programming Language*: what the paper proves of evaluation, traces
//! and their derivatives, on generated programs.
//!
//! M is the function of a case at its point; V its value; C its trace; W the cotangent.

use crate::support::translated::named;
use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::{
    apply_main, close, close_values, inner, machine, moved, reals, same_shape, theorem,
    CaseFailure, MOST_OPERATIONS,
};
use crate::theorems::modes::{richardson, smooth_at_the_point, tends_to};
use crate::theorems::systems::{
    by_machine, error, evaluate, evaluator, outcome, reference, same_outcome, trace_options,
    with_derivatives, wrong, Outcome,
};
use diffeo_calculus::eval::{Kinks, Machine};
use diffeo_calculus::term::{GlobalId, Lit, Program, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{alpha_eq_programs, lint, Prim, Ty};
use diffeo_papers::trace::{Trace, TraceEvaluator, TraceOptions, TraceStop};
use std::rc::Rc;

/// The language of the paper, in programs whose traces are short.
const SHORT_003: Features = Features { short: true, ..Features::paper_003() };

/// The most bindings of a trace that is differentiated as Figure 6 is printed.
const SHORT: usize = 12;

/// M ⇒ V
fn ordinary(case: &TheoremCase) -> Result<Outcome, CaseFailure> {
    let mut evaluator = evaluator(&case.program);
    outcome(evaluate(&mut evaluator, case.main, case.point.clone()))
}

/// M ⇝ C, with C ⇒ V as it was found on the way.
fn symbolic(case: &TheoremCase) -> Result<Result<(Trace, Value), &'static str>, CaseFailure> {
    let mut evaluator = evaluator(&case.program);
    match evaluator.trace(case.main, case.point.clone()) {
        Ok(found) => Ok(Ok(found)),
        Err(stop) => Ok(Err(outcome(Err(error(stop)))?.err().unwrap_or_default())),
    }
}

/// The trace of a case that has a value.
fn trace(case: &TheoremCase) -> Result<Trace, CaseFailure> {
    match symbolic(case)? {
        Ok((trace, _)) => Ok(trace),
        Err(code) => Err(format!("symbolic evaluation stops with {code}").into()),
    }
}

/// A trace as a program, well typed.
fn core(trace: &Trace) -> Result<Rc<Program>, CaseFailure> {
    let program = trace.to_core().map_err(wrong)?;
    match lint(&program).as_slice() {
        [] => Ok(Rc::new(program)),
        errors => {
            Err(format!("{}\n{}", errors.join("\n"), diffeo_calculus::print(&program)).into())
        }
    }
}

/// Whether two values are the same to the last bit.
fn identical(a: &Value, b: &Value) -> Result<(), CaseFailure> {
    let bits = |value| -> Vec<u64> { reals(value).into_iter().map(f64::to_bits).collect() };
    if same_shape(a, b) && bits(a) == bits(b) {
        return Ok(());
    }
    Err(format!("{a:?} is not {b:?}").into())
}

/// `T₁ → … → T`
fn function(parameters: &[&Ty], result: &Ty) -> Ty {
    parameters.iter().rev().fold(result.clone(), |ty, s| Ty::fun((*s).clone(), ty))
}

theorem! {
    /// If x:T ⊢ C : U, V : T and W : U, then W.R_V(x:T. C) : T, as printed and in linear form, and again.
    proposition_3_3_derivatives_of_traces_are_typed, Features::all(), |case| {
        let trace = trace(case)?;
        let (s, t) = (&case.s, &case.t);
        let linear = trace.reverse(case.cotangent.clone()).map_err(wrong)?;
        let twice = linear.reverse(case.tangent.clone()).map_err(wrong)?;
        let printed = (trace.len() <= SHORT)
            .then(|| trace.reverse_printed(case.cotangent.clone()).map_err(wrong));
        let mut derivatives =
            vec![(linear, function(&[s, t], s)), (twice, function(&[s, t, s], s))];
        derivatives.extend(printed.transpose()?.map(|printed| (printed, function(&[s, t], s))));
        for (derivative, ty) in derivatives {
            // The definition is of this type, and its body has the type of the definition.
            let program = core(&derivative)?;
            if derivative.type_of() != ty || program.globals[0].ty != ty {
                return Err(format!("{:?} is not {ty:?}", derivative.type_of()).into());
            }
        }
        Ok(())
    }
}

theorem! {
    /// If M ⇒ V and M ⇒ V′ then V = V′; if M ⇝ C and M ⇝ C′ then C = C′, up to names.
    proposition_3_4_evaluation_is_deterministic, Features::all().and_partial(), |case| {
        match (ordinary(case)?, ordinary(case)?) {
            (Ok(v), Ok(again)) => identical(&v, &again)?,
            (a, b) if a.is_err() && a.as_ref().err() == b.as_ref().err() => {}
            (a, b) => return Err(format!("{a:?} and {b:?}").into()),
        }
        match (symbolic(case)?, symbolic(case)?) {
            (Ok((c, v)), Ok((again, w))) => {
                identical(&v, &w)?;
                match alpha_eq_programs(&*core(&c)?, &*core(&again)?) {
                    true => Ok(()),
                    false => Err("two traces".into()),
                }
            }
            (Err(a), Err(b)) if a == b => Ok(()),
            _ => Err("symbolic evaluation ends in two ways".into()),
        }
    }
}

theorem! {
    /// M ⇒ V if and only if M ⇝ C and C ⇒ V, for some C; and what stops one stops the other.
    proposition_3_5_a_trace_has_the_value_of_its_term, Features::all().and_partial(), |case| {
        match (ordinary(case)?, symbolic(case)?) {
            (Ok(v), Ok((c, on_the_way))) => {
                let scale = largest_of(&v);
                close_values(&v, &on_the_way, scale)?;
                close_values(&v, &c.evaluate(std::slice::from_ref(&case.point)).map_err(wrong)?, scale)?;
                // The trace is a program: by the machine.
                let mut machine = Machine::new(core(&c)?, crate::theorems::harness::options(Kinks::Ignore, MOST_OPERATIONS));
                let f = machine.eval_global(GlobalId(0))?;
                close_values(&v, &machine.apply(&f, case.point.clone())?, scale)
            }
            (Err(a), Err(b)) if a == b => Ok(()),
            (v, c) => Err(format!("{v:?}, but symbolically {:?}", c.map(|(_, v)| v)).into()),
        }
    }
}

fn largest_of(value: &Value) -> f64 {
    reals(value).iter().fold(1.0, |m: f64, x| m.max(x.abs()))
}

theorem! {
    /// If M : T and M ⇒ V then V : T, and if M ⇝ C then C : T, C being a trace term.
    proposition_3_6_values_and_traces_are_typed, Features::all(), |case| {
        let v = ordinary(case)?.map_err(|code| format!("it stops with {code}"))?;
        if !has_type(&v, &case.t, &case.program) {
            return Err(format!("{v:?} is not of type {:?}", case.t).into());
        }
        let program = core(&trace(case)?)?;
        if program.globals[0].ty != function(&[&case.s], &case.t) {
            return Err(format!("{:?}", program.globals[0].ty).into());
        }
        let TermKind::Lam(_, body) = &program.globals[0].body.kind else {
            return Err("a trace of one parameter is expected".into());
        };
        let mut bodies = vec![&**body];
        if let TermKind::Let(bindings, rest) = &body.kind {
            bodies = bindings.iter().map(|(_, value)| value).chain([&**rest]).collect();
        }
        match bodies.into_iter().find(|term| !is_trace_term(term)) {
            None => Ok(()),
            Some(other) => Err(format!("{other:?} is no trace term").into()),
        }
    }
}

/// Whether a value is of a first-order type.
fn has_type(value: &Value, ty: &Ty, program: &Program) -> bool {
    let all = |values: &[Value], types: &[Ty]| {
        values.len() == types.len()
            && values.iter().zip(types).all(|(v, ty)| has_type(v, ty, program))
    };
    match (value, ty) {
        (Value::Real(_), Ty::Real)
        | (Value::Int(_), Ty::Int)
        | (Value::Bool(_), Ty::Bool)
        | (Value::String(_), Ty::String)
        | (Value::Unit, Ty::Unit) => true,
        (Value::Tuple(_), Ty::Tuple(_) | Ty::Record(_)) => {
            all(value.fields(), &ty.components().unwrap_or_default())
        }
        (Value::Array(array), Ty::Array(element)) => {
            array.iter().all(|v| has_type(&v, element, program))
        }
        (Value::Data(data), Ty::Data(id, args)) => {
            let decl = &program.datas[id.0 as usize];
            (data.tag as usize) < decl.constructors.len()
                && all(value.fields(), &decl.fields(data.tag, args))
        }
        _ => false,
    }
}

/// C ::= x | k | op(C, …) | ⟨C, …⟩ | C.i, and constructors and arrays with their parts, that is, without
/// conditionals, definitions, calls, functions, loops and derivatives.
fn is_trace_term(term: &Term) -> bool {
    match &term.kind {
        TermKind::Var(_) | TermKind::Lit(_) => true,
        TermKind::Tuple(_, terms)
        | TermKind::Con(_, _, _, terms)
        | TermKind::Array(_, terms)
        | TermKind::Prim(Prim::Real(_), terms) => terms.iter().all(is_trace_term),
        TermKind::Proj(_, _, c) => is_trace_term(c),
        TermKind::Prim(Prim::Index(_), terms) => {
            is_trace_term(&terms[0]) && matches!(terms[1].kind, TermKind::Lit(Lit::Int(_)))
        }
        // A field of a constructor that is known.
        TermKind::Case(case) => {
            let [arm] = case.arms.as_slice() else { return false };
            let other = case
                .default
                .as_ref()
                .is_none_or(|default| matches!(&default.kind, TermKind::Prim(Prim::Fail(_), _)));
            other && is_trace_term(&case.scrutinee) && matches!(arm.body.kind, TermKind::Var(_))
        }
        TermKind::Global(_)
        | TermKind::Lam(..)
        | TermKind::App(..)
        | TermKind::Let(..)
        | TermKind::LetRec(..)
        | TermKind::If(..)
        | TermKind::Build(_)
        | TermKind::Loop(_)
        | TermKind::Prim(..)
        | TermKind::Diff(..) => false,
    }
}

theorem! {
    /// Every program that is no value is E[R] for one context E and one redex R: evaluation ends in a value or an
    /// error of an operation, and is never stuck, with derivatives of the function neither.
    lemma_3_1_evaluation_is_never_stuck, Features::all().and_partial(), |case| {
        // `outcome` says of an internal error that it is wrong.
        ordinary(case)?.ok();
        symbolic(case)?.ok();
        if case.stops.is_some() {
            return Ok(());
        }
        let program = with_derivatives(case)?;
        let mut evaluator = evaluator(&program);
        let argument = Value::tuple([case.point.clone(), case.cotangent.clone()]);
        let f = named(&program, "by_rd");
        outcome(evaluate(&mut evaluator, f, argument)).map(|_| ())
    }
}

/// The derivative of a trace at the point of the case.
fn at_point(case: &TheoremCase, derivative: &Trace) -> Result<Value, CaseFailure> {
    derivative.evaluate(&[case.point.clone(), case.cotangent.clone()]).map_err(wrong)
}

theorem! {
    /// The derivative that Figure 6 prints is the one in linear form, on short traces.
    theorem_6_1_printed_derivatives_are_linear_ones, SHORT_003, |case| {
        let trace = trace(case)?;
        if trace.len() > SHORT {
            return Err(CaseFailure::Skip("the trace is long"));
        }
        let linear = trace.reverse(case.cotangent.clone()).map_err(wrong)?;
        let printed = trace.reverse_printed(case.cotangent.clone()).map_err(wrong)?;
        let largest = reference(case)?.largest;
        close_values(&at_point(case, &linear)?, &at_point(case, &printed)?, largest)
    }
}

theorem! {
    /// W.R_V(x:T. C) denotes the transposed derivative of what C denotes, at V, applied to W: the machine's, and
    /// what differences of the trace tend to, which is smooth on a neighbourhood of the point.
    theorem_6_1_derivatives_of_traces_are_derivatives, Features::smooth(), |case| {
        smooth_at_the_point(case)?;
        let trace = trace(case)?;
        let reference = reference(case)?;
        let reversed = trace.reverse(case.cotangent.clone()).map_err(wrong)?;
        let gradient = at_point(case, &reversed)?;
        close_values(&reference.gradient, &gradient, reference.largest)?;
        tends_to(inner(&gradient, &case.tangent), reference.largest, |h| {
            richardson(case, h, |x| trace.evaluate(&[x]).map_err(wrong))
        })
    }
}

theorem! {
    /// Evaluation by contexts and redexes gives what the program denotes: as the machine does, the value or the
    /// error.
    theorem_6_2_evaluation_is_adequate, Features::all().and_partial(), |case| {
        let machine = by_machine(case)?;
        let scale = machine.as_ref().map_or(1.0, largest_of);
        same_outcome(&machine, &ordinary(case)?, scale)
    }
}

theorem! {
    /// A term and its trace at a point denote the same function on a neighbourhood of the point: where it has
    /// the same trace.
    theorem_6_2_a_trace_is_its_term_on_a_neighbourhood, Features::smooth(), |case| {
        let trace = trace(case)?;
        let here = core(&trace)?;
        let mut near = 0;
        for h in [1e-2, -1e-3, 1e-5] {
            let x = moved(&case.point, h, &case.tangent);
            let Ok((other, _)) = evaluator(&case.program).trace(case.main, x.clone()) else { continue };
            if !alpha_eq_programs(&here, &*core(&other)?) {
                continue;
            }
            near += 1;
            let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
            let expected = apply_main(&mut machine, case, x.clone())?;
            let scale = largest_of(&expected);
            close_values(&expected, &trace.evaluate(&[x]).map_err(wrong)?, scale)?;
        }
        match near {
            0 => Err(CaseFailure::Skip("nearby points have other traces")),
            _ => Ok(()),
        }
    }
}

/// M^(n) ⇒ V: no outcome, if recursion ends first.
fn limited(case: &TheoremCase, n: u64) -> Result<Option<Outcome>, CaseFailure> {
    let options = TraceOptions { fuel: Some(n), ..trace_options(Kinks::Ignore) };
    let mut evaluator = TraceEvaluator::new(case.program.clone(), options);
    let run =
        evaluator.eval_global(case.main).and_then(|f| evaluator.apply(&f, case.point.clone()));
    match run {
        Ok(value) => Ok(Some(Ok(value))),
        Err(TraceStop::OutOfFuel) => Ok(None),
        Err(TraceStop::Error(error)) => outcome(Err(*error)).map(Some),
    }
}

theorem! {
    /// If M^(n) ⇒ V then M ⇒ V and M^(m) ⇒ V for all m ≥ n, and if M ⇒ V then M^(n) ⇒ V for some n.
    lemma_6_6_limited_recursion_is_sound, Features::all().and_partial(), |case| {
        let unlimited = ordinary(case)?;
        let mut ended = false;
        for n in [0, 1, 2, 3, 4, 6, 10, 100_000] {
            match limited(case, n)? {
                Some(outcome) => {
                    match (&outcome, &unlimited) {
                        (Ok(v), Ok(w)) => identical(v, w)?,
                        (outcome, unlimited) => same_outcome(outcome, unlimited, 1.0)?,
                    }
                    ended = true;
                }
                None if ended => return Err(format!("out of fuel with {n}, not with less").into()),
                None => {}
            }
        }
        match ended {
            true => Ok(()),
            false => Err("out of fuel".into()),
        }
    }
}

theorem! {
    /// If a program denotes a value it evaluates to it, ordinarily and symbolically.
    theorem_6_7_what_has_a_value_evaluates_to_it, Features::all(), |case| {
        let scale = largest_of(&case.value);
        same_outcome(&Ok(case.value.clone()), &ordinary(case)?, scale)?;
        let symbolic = symbolic(case)?.map(|(_, value)| value);
        same_outcome(&Ok(case.value.clone()), &symbolic, scale)
    }
}

/// A derivative of the function of a case by the engine `trace`.
fn derivative(case: &TheoremCase, name: &str, arguments: &[&Value]) -> Result<Value, CaseFailure> {
    let program = with_derivatives(case)?;
    let argument = Value::tuple(arguments.iter().map(|v| (*v).clone()));
    match outcome(evaluate(&mut evaluator(&program), named(&program, name), argument))? {
        Ok(value) => Ok(value),
        Err(code) => Err(format!("{name} stops with {code}").into()),
    }
}

theorem! {
    /// ⟨W, v.fd_x(f)⟩ = ⟨W.rd_x(f), v⟩
    equation_5_forward_and_reverse_are_adjoint, Features::all(), |case| {
        let rd = derivative(case, "by_rd", &[&case.point, &case.cotangent])?;
        let jvp = derivative(case, "by_jvp", &[&case.point, &case.tangent])?;
        let [value, fd] = jvp.fields() else { return Err("jvp gives no pair".into()) };
        let largest = reference(case)?.largest;
        close_values(&case.value, value, largest)?;
        close(inner(&case.cotangent, fd), inner(&rd, &case.tangent), largest)
    }
}

theorem! {
    /// v.fd_x(f) = v.rd_0(u. u.rd_x(f)): the machine's forward derivative.
    equation_6_forward_from_nested_reverse, Features::all(), |case| {
        let reference = reference(case)?;
        let fd = derivative(case, "by_fd", &[&case.point, &case.tangent])?;
        close_values(&reference.forward, &fd, reference.largest)
    }
}

theorem! {
    /// Derivatives of derivatives of derivatives are the machine's.
    derivatives_of_depth_3, Features::all(), |case| {
        let argument = [&case.point, &case.cotangent, &case.tangent];
        let program = with_derivatives(case)?;
        let options = crate::theorems::harness::options(Kinks::Ignore, MOST_OPERATIONS);
        let mut machine = Machine::new(program.clone(), options);
        let f = machine.eval_global(named(&program, "by_rd_3"))?;
        let expected = machine.apply(&f, Value::tuple(argument.map(Value::clone)))?;
        let largest = machine.take_largest().max(largest_of(&expected));
        close_values(&expected, &derivative(case, "by_rd_3", &argument)?, largest)
    }
}

theorem! {
    /// Where predicates are not defined on the diagonal, nor operations at their kinks, the engine stops as the
    /// machine does.
    kinks_stop_where_the_machine_stops, Features::all().and_partial(), |case| {
        if case.stops.is_some() {
            return Err(CaseFailure::Skip("there is no value"));
        }
        // A tape does not know which results of a checkpoint vary before it runs backwards: all do. A function in a
        // trace captures variables whole, so one with a rule varies if any component of them does.
        let text = diffeo_calculus::print::print(&case.program);
        if text.contains("#checkpoint") || text.contains("#with_derivative") {
            return Err(CaseFailure::Skip("what varies depends on the system"));
        }
        let program = with_derivatives(case)?;
        let f = named(&program, "by_rd");
        let argument = Value::tuple([case.point.clone(), case.cotangent.clone()]);
        let options = crate::theorems::harness::options(Kinks::Error, MOST_OPERATIONS);
        let mut machine = Machine::new(program.clone(), options);
        let expected = machine.eval_global(f).and_then(|f| machine.apply(&f, argument.clone()));
        let largest = machine.take_largest();
        let expected = outcome(expected)?;
        let largest = expected.as_ref().map_or(largest, |v| largest.max(largest_of(v)));
        let mut evaluator = TraceEvaluator::new(program.clone(), trace_options(Kinks::Error));
        same_outcome(&expected, &outcome(evaluate(&mut evaluator, f, argument))?, largest)
    }
}
