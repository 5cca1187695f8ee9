//! The evaluator's reverse, forward and Taylor derivatives agree with each other and with differences.

use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::{
    apply_main, close, close_values, derivative, inner, jets, machine, moved, options, reals,
    same_shape, theorem, CaseFailure, MOST_OPERATIONS,
};
use diffeo_calculus::eval::{Kinks, Machine, Options};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;

/// What the modes give for a case.
struct Modes {
    /// ∂f · v
    forward: Value,
    /// The largest number in them.
    largest: f64,
}

/// Takes all derivatives and compares them.
fn modes(case: &TheoremCase) -> Result<Modes, CaseFailure> {
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    let x = || case.point.clone();
    let jvp = derivative(&mut machine, case, DiffOp::Jvp, [x(), case.tangent.clone()])?;
    let [value, forward] = jvp.fields() else { return Err("jvp gives no pair".into()) };
    let gradient = derivative(&mut machine, case, DiffOp::Rd, [x(), case.cotangent.clone()])?;
    let vjp = derivative(&mut machine, case, DiffOp::Vjp, [x()])?;
    let [primal, pullback] = vjp.fields() else { return Err("vjp gives no pair".into()) };
    let pulled = machine.apply(pullback, case.cotangent.clone())?;
    let lifted = jets(&case.point, &[&case.tangent])?;
    let jet = derivative(&mut machine, case, DiffOp::Jet { k: 1, r: 1 }, [lifted])?;
    let magnitude = |value: &Value| reals(value).iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    let largest = machine.take_largest().max(magnitude(&case.value)).max(magnitude(&gradient));

    close_values(&case.value, value, largest)?;
    close_values(&case.value, primal, largest)?;
    close_values(&gradient, &pulled, largest)?;
    let both: Vec<f64> =
        reals(value).iter().zip(reals(forward)).flat_map(|(y, dy)| [*y, dy]).collect();
    let jet = reals(&jet);
    if both.len() != jet.len() {
        return Err("the jet has another shape".into());
    }
    both.iter().zip(&jet).try_for_each(|(a, b)| close(*a, *b, largest))?;
    close(inner(&case.cotangent, forward), inner(&gradient, &case.tangent), largest)?;
    Ok(Modes { forward: forward.clone(), largest })
}

theorem! {
    /// ⟨w, jvp(f, x, v)⟩ = ⟨rd(f, x, w), v⟩, and the (1,1)-jet is the value with its tangent.
    modes_agree, Features::all(), |case| modes(case).map(|_| ())
}

/// The derivative of ⟨w, f(x + h v)⟩ by h at 0 by Richardson's extrapolation of central differences, from the
/// step h; none where f has values of another shape nearby.
fn differences(case: &TheoremCase, h: f64) -> Result<Option<f64>, CaseFailure> {
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    richardson(case, h, |x| Ok(apply_main(&mut machine, case, x)?))
}

/// The same for another function that has the value of the case.
pub fn richardson(
    case: &TheoremCase,
    h: f64,
    mut f: impl FnMut(Value) -> Result<Value, CaseFailure>,
) -> Result<Option<f64>, CaseFailure> {
    let mut central = |h: f64| -> Result<Option<f64>, CaseFailure> {
        let mut ends = [0.0; 2];
        for (end, h) in ends.iter_mut().zip([h, -h]) {
            let y = f(moved(&case.point, h, &case.tangent))?;
            if !same_shape(&y, &case.value) {
                return Ok(None);
            }
            // The difference first: the values may be large.
            *end = inner(&case.cotangent, &moved(&y, -1.0, &case.value));
        }
        Ok(Some((ends[0] - ends[1]) / (2.0 * h)))
    };
    let (Some(whole), Some(half)) = (central(h)?, central(h / 2.0)?) else { return Ok(None) };
    Ok(Some((4.0 * half - whole) / 3.0))
}

theorem! {
    /// The derivative is what differences tend to, wherever they settle.
    modes_agree_with_differences, Features::smooth(), |case| {
        smooth_at_the_point(case)?;
        let modes = modes(case)?;
        let expected = inner(&case.cotangent, &modes.forward);
        tends_to(expected, modes.largest, |h| differences(case, h))
    }
}

/// Skips what no difference quotient is expected to tend to: the derivative meets a kink.
pub fn smooth_at_the_point(case: &TheoremCase) -> Result<(), CaseFailure> {
    let (warnings, events) = diffeo_calculus::eval::warnings();
    let options = Options { events, ..options(Kinks::Warn, MOST_OPERATIONS) };
    let mut machine = Machine::new(case.program.clone(), options);
    let point = case.point.clone();
    derivative(&mut machine, case, DiffOp::Jvp, [point, case.tangent.clone()])?;
    let warnings = warnings.borrow();
    match warnings.as_slice() {
        [] => Ok(()),
        _ => Err(CaseFailure::Skip("the function has no derivative here")),
    }
}

/// Whether difference quotients from smaller and smaller steps h tend to the derivative.
pub fn tends_to(
    expected: f64,
    largest: f64,
    mut slope: impl FnMut(f64) -> Result<Option<f64>, CaseFailure>,
) -> Result<(), CaseFailure> {
    // Functions that oscillate fast look settled by chance, but not three times.
    let mut found = Vec::new();
    for h in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
        let Some(slope) = slope(h)? else { continue };
        if (slope - expected).abs() <= 1e-6 * largest {
            return Ok(());
        }
        found.push(slope);
    }
    let settled = |three: &[f64]| {
        three.iter().all(|slope| (slope - three[0]).abs() <= 1e-4 * (1.0 + slope.abs()))
    };
    match found.windows(3).find(|three| settled(three)) {
        Some(three) => {
            Err(format!("the derivative is {expected}, differences tend to {}", three[0]).into())
        }
        None => Err(CaseFailure::Skip("differences do not settle")),
    }
}
