//! All systems give the same derivative, to 1e-9 of the largest intermediate magnitude, and stop the same
//! programs.

use crate::support::translated::named;
use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::{
    close, close_values, inner, jets, moved, options, reals, theorem, with_reals, CaseFailure,
    MOST_OPERATIONS,
};
use crate::theorems::systems::{
    by_machine, evaluate, evaluator, outcome, reference, same_outcome, with_derivatives,
};
use diffeo_calculus::eval::{Kinks, Machine};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, parse, print, print_type};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::engine::{self, TranslatingEngine};
use diffeo_papers::jet::canonical;
use diffeo_papers::{dual, Delta, Workspace};
use std::rc::Rc;

const DELTAS: [Delta; 4] = [
    Delta { arrays: false, split: false },
    Delta { arrays: true, split: false },
    Delta { arrays: false, split: true },
    Delta { arrays: true, split: true },
];

/// Programs between types that have jets: variants have no Reals of their own.
const JETS: Features = Features { variants: false, ..Features::no_derivatives() };

/// The machine of a program with a definition that a system makes of that of the case, and the definition.
fn translated(
    case: &TheoremCase,
    make: impl FnOnce(&mut Workspace, GlobalId) -> GlobalId,
) -> Result<(Machine, Value), CaseFailure> {
    let mut workspace = Workspace::new(&case.program);
    let made = make(&mut workspace, case.main);
    let program = workspace.program();
    if let [refusal, ..] = workspace.refusals() {
        return Err(format!("{refusal:?}").into());
    }
    if let [error, ..] = lint(&program).as_slice() {
        return Err(error.as_str().into());
    }
    let mut machine = Machine::new(program, options(Kinks::Ignore, MOST_OPERATIONS));
    let f = machine.eval_global(made)?;
    Ok((machine, f))
}

/// R{e} (x, w) is the gradient.
fn reverse(
    case: &TheoremCase,
    make: impl FnOnce(&mut Workspace, GlobalId) -> GlobalId,
) -> Result<(), CaseFailure> {
    let reference = reference(case)?;
    let (mut machine, r) = translated(case, make)?;
    let gradient = machine.apply(&r, Value::tuple([case.point.clone(), case.cotangent.clone()]))?;
    let largest = reference.largest.max(machine.take_largest());
    close_values(&reference.gradient, &gradient, largest)
}

/// F{e} (x, v) is the forward derivative, and w ⊙ F{e} (x, eᵢ) is number i of the gradient.
fn forward(case: &TheoremCase) -> Result<(), CaseFailure> {
    let reference = reference(case)?;
    let (mut machine, f) = translated(case, dual::wrapper)?;
    let mut along = |dx: Value| machine.apply(&f, Value::tuple([case.point.clone(), dx]));
    close_values(&reference.forward, &along(case.tangent.clone())?, reference.largest)?;
    for (i, expected) in reals(&reference.gradient).into_iter().enumerate() {
        let mut number = 0;
        let one_hot = with_reals(&case.point, |_| {
            number += 1;
            f64::from(u8::from(number == i + 1))
        });
        let dy = along(one_hot)?;
        close(expected, inner(&case.cotangent, &dy), reference.largest)?;
    }
    Ok(())
}

/// D_(1,1) of a point with its tangent is the value with its derivative.
fn taylor(case: &TheoremCase) -> Result<(), CaseFailure> {
    let reference = reference(case)?;
    let (mut machine, f) = translated(case, |w, e| canonical::wrapper(w, e, 1, 1))?;
    let jet = machine.apply(&f, jets(&case.point, &[&case.tangent])?)?;
    let expected = jets(&case.value, &[&reference.forward])?;
    close_values(&expected, &jet, reference.largest)
}

macro_rules! systems_agree {
    ($($name:ident, $features:expr, |$case:ident| $body:expr;)*) => {
        $(theorem! { $name, $features, |$case| $body })*
    };
}

// Programs without derivative terms: the translation of the function itself.
systems_agree! {
    forward_of_paper_004, Features::paper_004(), |case| forward(case);
    forward_without_derivatives, Features::no_derivatives(), |case| forward(case);
    taylor_of_first_order_jets, JETS, |case| taylor(case);
    taylor_of_paper_004, Features::paper_004(), |case| {
        whole_program(case, TranslatingEngine::Taylor)
    };
    reverse_with_lists_of_paper_004, Features::paper_004(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[0]))
    };
    reverse_with_arrays_of_paper_004, Features::paper_004(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[1]))
    };
    reverse_split_of_paper_004, Features::paper_004(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[2]))
    };
    reverse_with_arrays_split_of_paper_004, Features::paper_004(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[3]))
    };
    reverse_with_lists_without_derivatives, Features::no_derivatives(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[0]))
    };
    reverse_with_arrays_split_without_derivatives, Features::no_derivatives(), |case| {
        reverse(case, |w, e| wrapper::r(w, e, DELTAS[3]))
    };
    reverse_1_of_paper_004, Features::paper_004(), |case| reverse(case, naive::r1);
    reverse_1_without_derivatives, Features::no_derivatives(), |case| reverse(case, naive::r1);
    reverse_2_of_paper_004, Features::paper_004(), |case| reverse(case, naive::r2);
    reverse_2_without_derivatives, Features::no_derivatives(), |case| reverse(case, naive::r2);
}

/// Whole programs, nested derivatives included, with all their derivatives from one system.
fn whole_program(case: &TheoremCase, engine: TranslatingEngine) -> Result<(), CaseFailure> {
    let reference = reference(case)?;
    let program = with_derivatives(case)?;
    let mut machine = engine::machine(&program, engine, options(Kinks::Ignore, MOST_OPERATIONS));
    let mut run = |name: &str, arguments: [&Value; 2]| -> Result<Value, CaseFailure> {
        let f = machine.eval_global(named(&program, name))?;
        Ok(machine.apply(&f, Value::tuple(arguments.map(Value::clone)))?)
    };
    let gradient = run("by_rd", [&case.point, &case.cotangent])?;
    let jvp = run("by_jvp", [&case.point, &case.tangent])?;
    let expected = Value::tuple([case.value.clone(), reference.forward.clone()]);
    let largest = reference.largest.max(machine.take_largest());
    close_values(&reference.gradient, &gradient, largest)?;
    close_values(&expected, &jvp, largest)
}

/// jet(1, 2, f) of the function of a case, of which there are few in the programs themselves.
fn second_order(case: &TheoremCase) -> Result<(), CaseFailure> {
    let [s, t] = [&case.s, &case.t].map(|ty| print_type(ty, &case.program));
    let [from, to] = [&case.s, &case.t].map(|ty| print_type(&jet_type(ty), &case.program));
    let text = format!(
        "{}\ndef by_jet : {from} -> {to} = fn (x : {from}) -> #jet[1, 2, {s}, {t}](@main, x)",
        print(&case.program)
    );
    let program = parse(&text).map(Rc::new).map_err(|error| format!("{error}\n{text}"))?;
    let by_jet = named(&program, "by_jet");
    let second = moved(&case.tangent, -0.5, &case.point);
    let point = jets(&case.point, &[&case.tangent, &second])?;
    let run = |mut machine: Machine| -> Result<(Value, f64), CaseFailure> {
        let f = machine.eval_global(by_jet)?;
        let jet = machine.apply(&f, point.clone())?;
        let largest = reals(&jet).iter().fold(machine.take_largest(), |m: f64, x| m.max(x.abs()));
        Ok((jet, largest))
    };
    let bounded = || options(Kinks::Ignore, MOST_OPERATIONS);
    let (expected, largest) = run(Machine::new(program.clone(), bounded()))?;
    for engine in
        [TranslatingEngine::Dual, TranslatingEngine::Taylor, TranslatingEngine::Delta(DELTAS[0])]
    {
        let (jet, most) = run(engine::machine(&program, engine, bounded()))?;
        close_values(&expected, &jet, largest.max(most))?;
    }
    let jet = evaluate(&mut evaluator(&program), by_jet, point.clone())?;
    close_values(&expected, &jet, largest)
}

/// The function of a case, with all derivatives in it from one system, ends as with the machine's.
fn stops(case: &TheoremCase, engine: TranslatingEngine) -> Result<(), CaseFailure> {
    let expected = by_machine(case)?;
    let mut machine =
        engine::machine(&case.program, engine, options(Kinks::Ignore, MOST_OPERATIONS));
    let found = machine.eval_global(case.main).and_then(|f| machine.apply(&f, case.point.clone()));
    let largest = machine.take_largest();
    let found = outcome(found)?;
    let numbers = expected.as_ref().map_or(Vec::new(), reals);
    let largest = numbers.iter().fold(largest, |m: f64, x| m.max(x.abs()));
    same_outcome(&expected, &found, largest)
}

systems_agree! {
    programs_on_dual, Features::all(), |case| whole_program(case, TranslatingEngine::Dual);
    programs_on_taylor, Features::all(), |case| whole_program(case, TranslatingEngine::Taylor);
    programs_on_delta, Features::all(), |case| {
        whole_program(case, TranslatingEngine::Delta(DELTAS[0]))
    };
    programs_on_delta_with_arrays_split, Features::all(), |case| {
        whole_program(case, TranslatingEngine::Delta(DELTAS[3]))
    };
    jets_of_order_2, Features { short: true, ..JETS }, |case| second_order(case);
    stops_on_dual, Features::all().and_partial(), |case| stops(case, TranslatingEngine::Dual);
    stops_on_taylor, Features::all().and_partial(), |case| stops(case, TranslatingEngine::Taylor);
    stops_on_delta, Features::all().and_partial(), |case| {
        stops(case, TranslatingEngine::Delta(DELTAS[0]))
    };
    stops_on_delta_with_arrays_split, Features::all().and_partial(), |case| {
        stops(case, TranslatingEngine::Delta(DELTAS[3]))
    };
}
