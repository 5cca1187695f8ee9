//! The derivative operators.
//!
//! What comes in: the operands of a derivative term. What goes out: its value. Each operator lifts its
//! point to a level of its own, calls the function, and reads the result off; `stop_gradient`,
//! `checkpoint` and `with_derivative` ([`super::rules`]) open none but act on the levels of their operands.

use super::enclosing::enclose;
use super::environment::{highest_level, map_active};
use super::exact::{self, Differentiated, Germ};
use super::jet::JetShape;
use super::level::{
    below, coefficients, detached, entry, is_plain_zero, jet, level_of, taped, JetLevel, Level,
};
use super::rules::with_derivative;
use super::sweep::{sweep, Watch};
use super::tape::Checkpoint;
use super::{shapes, Caller, Pullback};
use crate::array::Array;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::reals::{
    primal, set_of, undifferentiated, with_set, Decision, Decisions, Kinks, Reals, ARGUMENT,
    CAPTURED,
};
use crate::leaves::{each_leaf, each_leaf_pair, map_leaves, zip_leaves};
use crate::prim::{DiffOp, RealOp};
use crate::value::{FunctionValue, Value};
use diffeo_base::Span;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// The value of a derivative term.
///
/// # Errors
/// What stops the program in the functions called; [`ErrorKind::ShapeMismatch`] for a tangent or
/// cotangent of another shape.
pub fn derivative(
    cx: &mut dyn Caller,
    op: &DiffOp,
    args: Vec<Value>,
    site: Span,
) -> Result<Value, RuntimeError> {
    match (op, args.as_slice()) {
        (DiffOp::Rd, [f, x, cotangent]) => {
            let (_, p) = vjp(cx, f, x, site)?;
            gradient(cx, &p, cotangent, site)
        }
        (DiffOp::RdAlong, [f, directions, x, cotangent]) => {
            rd_along(cx, [f, directions, x, cotangent], site)
        }
        (DiffOp::Vjp, [f, x]) => {
            let (y, p) = vjp(cx, f, x, site)?;
            Ok(Value::tuple([y, Value::Function(Rc::new(FunctionValue::Pullback(p)))]))
        }
        (DiffOp::Jvp, [f, x, tangent]) => jvp(cx, f, x, tangent, site),
        (DiffOp::Jet { k, r }, [f, x]) => taylor(cx, (*k, *r), f, x, site),
        (DiffOp::StopGradient, [x]) => stop_gradient(cx, x, site),
        (DiffOp::Checkpoint, [f, x]) => checkpoint(cx, f, x, site),
        (DiffOp::WithDerivative | DiffOp::WithExactDerivative, [f, rule, x]) => {
            with_derivative(cx, f, rule, x, site)
        }
        (DiffOp::Deciding, [f, told, x]) => deciding(cx, f, told, x),
        (DiffOp::Decisions, [f, x, _]) => decisions(cx, f, x, site),
        (DiffOp::Enclose, [f, lower, upper]) => enclose(cx, f, [lower, upper], site),
        (DiffOp::Dependence, [f, x, sets]) => dependence(cx, f, x, sets, site),
        (DiffOp::AllPaths, [f, x]) => all_paths(cx, f, x, site),
        (
            DiffOp::Rd
            | DiffOp::RdAlong
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Jet { .. }
            | DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative
            | DiffOp::Decisions
            | DiffOp::Deciding
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths,
            operands,
        ) => {
            let message = format!("{op:?} of {} operands", operands.len());
            Err(cx.error(ErrorKind::Internal { message }, site))
        }
    }
}

/// The result with its place.
pub(super) fn at<T>(
    cx: &mut dyn Caller,
    result: Result<T, ErrorKind>,
    site: Span,
) -> Result<T, RuntimeError> {
    result.map_err(|kind| cx.error(kind, site))
}

/// Calls a function at a lifted point and closes the level.
pub(super) fn call_at_level(
    cx: &mut dyn Caller,
    level: u16,
    f: &Value,
    lifted: Result<Value, ErrorKind>,
    site: Span,
) -> Result<(Value, Option<Level>), RuntimeError> {
    let result = match lifted {
        Ok(x) => cx.call(f, x),
        Err(kind) => Err(cx.error(kind, site)),
    };
    let closed = cx.reals().close(level);
    Ok((result?, closed))
}

/// Value and pullback.
pub(super) fn vjp(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    site: Span,
) -> Result<(Value, Pullback), RuntimeError> {
    let what = Differentiated { f, x, levels: 1, order: 1, directions: &[], site };
    exact::at_kinks(cx, &what, &mut |cx, germ| vjp_at(cx, f, x, germ, site))
}

/// The gradient where these directions decide at kinks.
fn rd_along(
    cx: &mut dyn Caller,
    [f, directions, x, cotangent]: [&Value; 4],
    site: Span,
) -> Result<Value, RuntimeError> {
    let directions = exact::directions(x, directions);
    let directions = at(cx, directions, site)?;
    let what = Differentiated { f, x, levels: 1, order: 1, directions: &directions, site };
    let kinks = cx.reals().set_kinks(Kinks::Exact);
    let result = exact::at_kinks(cx, &what, &mut |cx, germ| vjp_at(cx, f, x, germ, site));
    cx.reals().set_kinks(kinks);
    gradient(cx, &result?.1, cotangent, site)
}

fn vjp_at(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    germ: &Germ,
    site: Span,
) -> Result<(Value, Pullback), RuntimeError> {
    let opened = cx.reals().open_tape();
    let level = at(cx, opened, site)?;
    let reals = cx.reals();
    let lifted = map_leaves(x, &mut |leaf| {
        reals.operations += 1;
        Ok(taped(level, reals.tape(level)?.input()?, germ.lift(leaf)))
    });
    let (y, closed) = call_at_level(cx, level, f, lifted, site)?;
    let mut tape = match closed {
        Some(Level::Tape(tape)) => tape,
        Some(Level::Jet(_)) | None => Default::default(),
    };
    let mut entries = Vec::new();
    let output = map_leaves(&y, &mut |leaf| {
        entries.push(entry(leaf, level));
        Ok(germ.strip(&below(leaf, level)))
    });
    let output = at(cx, output, site)?;
    cx.reals().operations += entries.len() as u64;
    if level > 1 {
        tape.outer = tape.outer.max(highest_level(&[x, &output], level, level - 1));
    }
    let outer = tape.outer;
    let tape = Rc::new(tape);
    let p = Pullback { tape, point: x.clone(), output: output.clone(), entries, outer };
    Ok((output, p))
}

/// What a pullback makes of a cotangent.
pub(super) fn gradient(
    cx: &mut dyn Caller,
    p: &Pullback,
    cotangent: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let mut adjoints = seeded(cx, p, cotangent, false, site)?;
    sweep(cx, &p.tape, &mut adjoints, None)?;
    let mut inputs = adjoints.into_iter().skip(1);
    let mut nan = false;
    let gradient = map_leaves(&p.point, &mut |_| {
        let bar = inputs.next().unwrap_or(Value::Zero);
        nan |= primal(&bar).is_nan();
        Ok(if let Value::Zero = bar { Value::Real(0.0) } else { bar })
    });
    let gradient = at(cx, gradient, site)?;
    if nan && finite(&p.output) {
        let mut adjoints = seeded(cx, p, cotangent, true, site)?;
        if !adjoints.iter().any(|bar| primal(bar).is_nan()) {
            let mut watch = Watch::default();
            sweep(cx, &p.tape, &mut adjoints, Some(&mut watch))?;
            if let Some(culprit) = watch.culprit() {
                cx.reals().warn_nan(culprit);
            }
        }
    }
    Ok(gradient)
}

/// Adjoints of the entries of a tape, those of the outputs being the cotangent's (or their primals).
fn seeded(
    cx: &mut dyn Caller,
    p: &Pullback,
    cotangent: &Value,
    primals: bool,
    site: Span,
) -> Result<Vec<Value>, RuntimeError> {
    let reals = cx.reals();
    let mut adjoints = vec![Value::Zero; p.tape.entries as usize + 1];
    let mut entries = p.entries.iter();
    let seeded = each_leaf_pair("the cotangent", &p.output, cotangent, &mut |_, bar| {
        reals.operations += 1;
        let id = entries.next().copied().unwrap_or(0) as usize;
        if id != 0 && !is_plain_zero(bar) {
            let bar = if primals { &Value::Real(primal(bar)) } else { bar };
            adjoints[id] = reals.add(&adjoints[id], bar, site)?;
        }
        Ok(())
    });
    at(cx, seeded, site)?;
    Ok(adjoints)
}

/// Whether all numbers in it are finite.
fn finite(v: &Value) -> bool {
    each_leaf(v, &mut |leaf| if primal(leaf).is_finite() { Ok(()) } else { Err(()) }).is_ok()
}

/// Value and pushforward.
fn jvp(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    tangent: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let what = Differentiated { f, x, levels: 1, order: 1, directions: &[], site };
    exact::at_kinks(cx, &what, &mut |cx, germ| jvp_at(cx, f, [x, tangent], germ, site))
}

fn jvp_at(
    cx: &mut dyn Caller,
    f: &Value,
    [x, tangent]: [&Value; 2],
    germ: &Germ,
    site: Span,
) -> Result<Value, RuntimeError> {
    let opened = cx.reals().open_jet(1, 1);
    let (level, _) = at(cx, opened, site)?;
    let reals = cx.reals();
    let lifted = zip_leaves("the tangent", x, tangent, &mut |p, dot| {
        reals.operations += 1;
        let dot = if is_plain_zero(dot) { Value::Zero } else { dot.clone() };
        Ok(jet(level, vec![germ.lift(p), dot]))
    });
    let (y, closed) = call_at_level(cx, level, f, lifted, site)?;
    let split = split(cx.reals(), &y, level);
    let (value, dot) = at(cx, split, site)?;
    if !germ.is_to_follow(cx.reals(), level) {
        warn_if_nan(cx, &value, &dot, closed);
    }
    let result = germ.strip_all(&Value::tuple([value, dot]));
    at(cx, result, site)
}

/// The primals and the first-order coefficients of the numbers of a level of one variable.
fn split(reals: &mut Reals, y: &Value, level: u16) -> Result<(Value, Value), ErrorKind> {
    let value = map_leaves(y, &mut |leaf| {
        reals.operations += 1;
        Ok::<_, ErrorKind>(below(leaf, level))
    })?;
    let dot = map_leaves(y, &mut |leaf| {
        Ok::<_, ErrorKind>(match coefficients(leaf, level) {
            None | Some([_, Value::Zero] | [] | [_]) => Value::Real(0.0),
            Some([_, dot, ..]) => dot.clone(),
        })
    })?;
    Ok((value, dot))
}

/// Warns if a derivative is nan and the value is finite, and the level knows why.
fn warn_if_nan(cx: &mut dyn Caller, value: &Value, derivative: &Value, closed: Option<Level>) {
    let Some(Level::Jet(JetLevel { culprit: Some(culprit), .. })) = closed else { return };
    let nan =
        each_leaf(derivative, &mut |leaf| if primal(leaf).is_nan() { Err(()) } else { Ok(()) });
    if nan.is_err() && finite(value) {
        cx.reals().warn_nan(culprit);
    }
}

/// Huot, Staton & Vákár's `D_(k,R)`.
fn taylor(
    cx: &mut dyn Caller,
    (k, r): (u32, u32),
    f: &Value,
    x: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let nests = r > 1 && cx.reals().nests;
    let point = if cx.reals().is_exact() {
        let shape = cx.reals().jet_shape(k, r);
        shapes::from_derivatives(x, &shape, &mut |derivatives| Ok(derivatives[0].clone()))
    } else {
        Ok(Value::Unit)
    };
    let point = at(cx, point, site)?;
    let levels = if nests { (k * r) as u16 } else { 1 };
    let what = Differentiated { f, x: &point, levels, order: r, directions: &[], site };
    exact::at_kinks(cx, &what, &mut |cx, germ| {
        let result = match nests {
            true => nested(cx, (k, r), f, x, germ, site)?,
            false => taylor_at(cx, (k, r), f, x, germ, site)?,
        };
        let result = germ.strip_all(&result);
        at(cx, result, site)
    })
}

fn taylor_at(
    cx: &mut dyn Caller,
    (k, r): (u32, u32),
    f: &Value,
    x: &Value,
    germ: &Germ,
    site: Span,
) -> Result<Value, RuntimeError> {
    let opened = cx.reals().open_jet(k, r);
    let (level, shape) = at(cx, opened, site)?;
    let reals = cx.reals();
    let lifted = shapes::from_derivatives(x, &shape, &mut |derivatives| {
        reals.operations += derivatives.len() as u64;
        let mut out = derivatives;
        for (i, c) in out.iter_mut().enumerate().skip(1) {
            *c = if is_plain_zero(c) {
                Value::Zero
            } else if shape.factorials[i] == 1.0 {
                c.clone()
            } else {
                reals.divide(c, &reals.whole(shape.factorials[i]), site)?
            };
        }
        out[0] = germ.lift(&out[0]);
        Ok(jet(level, out))
    });
    let (y, closed) = call_at_level(cx, level, f, lifted, site)?;
    let reals = cx.reals();
    let derivatives = shapes::to_derivatives(&y, shape.count(), &mut |leaf| {
        reals.operations += shape.count() as u64;
        let Some(coefficients) = coefficients(leaf, level) else {
            let mut out = vec![Value::Real(0.0); shape.count()];
            out[0] = leaf.clone();
            return Ok(out);
        };
        let mut out = Vec::with_capacity(coefficients.len());
        for (c, factorial) in coefficients.iter().zip(&shape.factorials) {
            out.push(if is_plain_zero(c) {
                Value::Real(0.0)
            } else {
                reals.mul(&reals.whole(*factorial), c, site)?
            });
        }
        Ok(out)
    });
    let derivatives = at(cx, derivatives, site)?;
    let culprit = matches!(&closed, Some(Level::Jet(JetLevel { culprit: Some(_), .. })));
    if culprit && !germ.is_to_follow(cx.reals(), level) {
        let value = map_leaves(&y, &mut |leaf| Ok::<_, ErrorKind>(below(leaf, level)));
        let value = at(cx, value, site)?;
        warn_if_nan(cx, &value, &derivatives, closed);
    }
    Ok(derivatives)
}

/// The same by as many levels of order 1 as there are variables times orders, the first variable innermost. A rule of
/// `with_derivative` that is not the function's derivative has no Taylor series: by levels, its own expressions are
/// differentiated, as other operators do. The work doubles with each level.
fn nested(
    cx: &mut dyn Caller,
    (k, r): (u32, u32),
    f: &Value,
    x: &Value,
    germ: &Germ,
    site: Span,
) -> Result<Value, RuntimeError> {
    let shape = cx.reals().jet_shape(k, r);
    // Outermost first, each with its variable.
    let mut levels: Vec<(u16, usize)> = Vec::new();
    for variable in (0..k as usize).rev() {
        for _ in 0..r {
            let opened = cx.reals().open_jet(1, 1);
            levels.push((at(cx, opened, site)?.0, variable));
        }
    }
    let reals = cx.reals();
    let lifted = shapes::from_derivatives(x, &shape, &mut |derivatives| {
        reals.operations += derivatives.len() as u64;
        let mut derivatives = derivatives;
        derivatives[0] = germ.lift(&derivatives[0]);
        Ok(polynomial(&levels, &shape, &derivatives, &mut vec![0; k as usize]))
    });
    let result = match lifted {
        Ok(x) => cx.call(f, x),
        Err(kind) => Err(cx.error(kind, site)),
    };
    let mut culprit = None;
    for (level, _) in levels.iter().rev() {
        let closed = cx.reals().close(*level);
        if matches!(closed, Some(Level::Jet(JetLevel { culprit: Some(_), .. }))) {
            culprit = closed;
        }
    }
    let y = result?;
    let reals = cx.reals();
    let derivatives = shapes::to_derivatives(&y, shape.count(), &mut |leaf| {
        reals.operations += shape.count() as u64;
        Ok(shape.indices.iter().map(|alpha| derivative_of(leaf, &levels, alpha)).collect())
    });
    let derivatives = at(cx, derivatives, site)?;
    let to_follow = levels.iter().any(|(level, _)| germ.is_to_follow(cx.reals(), *level));
    if culprit.is_some() && !to_follow {
        let below =
            |leaf: &Value| levels.iter().rev().fold(leaf.clone(), |v, (l, _)| below(&v, *l));
        let value = map_leaves(&y, &mut |leaf| Ok::<_, ErrorKind>(below(leaf)));
        let value = at(cx, value, site)?;
        warn_if_nan(cx, &value, &derivatives, culprit);
    }
    Ok(derivatives)
}

/// The polynomial with these derivatives at 0, where each variable is the sum of what varies at its levels: the part
/// that belongs to some of the levels is the derivative by their variables.
fn polynomial(
    levels: &[(u16, usize)],
    shape: &JetShape,
    derivatives: &[Value],
    alpha: &mut Vec<u32>,
) -> Value {
    let Some(((level, variable), lower)) = levels.split_last() else {
        let place = shape.indices.iter().position(|index| index == alpha);
        return place.map_or(Value::Zero, |place| derivatives[place].clone());
    };
    let primal = polynomial(lower, shape, derivatives, alpha);
    alpha[*variable] += 1;
    let tangent = polynomial(lower, shape, derivatives, alpha);
    alpha[*variable] -= 1;
    if is_plain_zero(&tangent) {
        return primal;
    }
    let primal = if let Value::Zero = primal { Value::Real(0.0) } else { primal };
    jet(*level, vec![primal, tangent])
}

/// The derivative of a leaf with this multi-index: what varies at the first levels of each variable.
fn derivative_of(leaf: &Value, levels: &[(u16, usize)], alpha: &[u32]) -> Value {
    let mut left = alpha.to_vec();
    let mut v = leaf.clone();
    for (level, variable) in levels.iter().rev() {
        v = if left[*variable] == 0 {
            below(&v, *level)
        } else {
            left[*variable] -= 1;
            coefficients(&v, *level).map_or(Value::Zero, |c| c[1].clone())
        };
    }
    if let Value::Zero = v {
        Value::Real(0.0)
    } else {
        v
    }
}

/// The identity with derivative zero, also of what a function captured.
fn stop_gradient(cx: &mut dyn Caller, x: &Value, site: Span) -> Result<Value, RuntimeError> {
    if cx.reals().depth() == 0 {
        return Ok(x.clone());
    }
    let mut stripped = 0;
    let value = map_active(x, &mut |leaf| {
        stripped += 1;
        Ok(undifferentiated(leaf))
    });
    cx.reals().operations += stripped;
    at(cx, value, site)
}

/// The call, of which a tape keeps only what it takes to run it again; all of it where kinks are decided by directions,
/// which are gone when it is run again.
fn checkpoint(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    if cx.reals().is_exact() {
        return cx.call(f, x.clone());
    }
    let most = cx.reals().depth() as u16;
    let level = highest_level(&[f, x], 0, most);
    if level == 0 || cx.reals().shape(level).is_some() {
        return cx.call(f, x.clone());
    }
    let mut walked = 0;
    let mut strip = |v: &Value| {
        walked += 1;
        Ok(below(v, level))
    };
    let stripped = map_active(f, &mut strip).and_then(|f| Ok((f, map_active(x, &mut strip)?)));
    let (function, argument) = at(cx, stripped, site)?;
    // The levels below may have tapes of their own.
    let y = checkpoint(cx, &function, &argument, site)?;
    let own = detached(level);
    let mut detach = |v: &Value| {
        walked += 1;
        Ok(if level_of(v) == level {
            taped(own, entry(v, level), below(v, level))
        } else {
            v.clone()
        })
    };
    let kept = map_active(f, &mut detach).and_then(|f| Ok((f, map_active(x, &mut detach)?)));
    let (function, argument) = at(cx, kept, site)?;
    let mut outputs = 0;
    let counted = each_leaf(&y, &mut |_| {
        outputs += 1;
        Ok(())
    });
    at(cx, counted, site)?;
    if outputs == 0 {
        return Ok(y);
    }
    let outer = highest_level(&[f, x], level, level - 1).min(level - 1);
    let reals = cx.reals();
    reals.operations += walked;
    let block = Checkpoint { function, argument, outputs };
    let pushed = reals.tape(level).and_then(|tape| tape.push_block(block, outer, site));
    let mut id = pushed.map_err(|kind| cx.error(kind, site))?;
    let reals = cx.reals();
    let marked = map_leaves(&y, &mut |leaf| {
        reals.operations += 1;
        id += 1;
        Ok(taped(level, id, leaf.clone()))
    });
    at(cx, marked, site)
}

/// The decisions of a function at a point that depend on the point: a number for how all come out, then of each six
/// numbers: where it is made; how it comes out; a number that is 0 where it comes out otherwise; its slope by the point; the
/// velocity of that place along a generic direction of the numbers that the function captured and that vary, by which places
/// that move alike are known; and the largest number so far, whose rounding the third may have.
fn decisions(cx: &mut dyn Caller, f: &Value, x: &Value, site: Span) -> Result<Value, RuntimeError> {
    let opened = cx.reals().open_jet(2, 1);
    let (level, _) = at(cx, opened, site)?;
    let lifted =
        map_leaves(x, &mut |x| Ok(jet(level, vec![x.clone(), Value::Real(1.0), Value::Zero])));
    let moved = map_active(f, &mut |leaf| {
        Ok(jet(level, vec![leaf.clone(), Value::Zero, Value::Real(generic(leaf))]))
    });
    let f = at(cx, moved, site)?;
    let kinks = cx.reals().set_kinks(Kinks::Ignore);
    let before = cx.reals().swap_decisions(Some(Decisions::at(level)));
    let outside = std::mem::take(&mut cx.reals().largest);
    let result = call_at_level(cx, level, &f, lifted, site);
    let reals = cx.reals();
    reals.set_kinks(kinks);
    reals.largest = reals.largest.max(outside);
    let decisions = reals.swap_decisions(before).map_or(Vec::new(), |found| found.all);
    result?;
    let mut numbers = Vec::with_capacity(6 * decisions.len() + 1);
    if !decisions.is_empty() {
        numbers.push(Value::Real(all_outcomes(&decisions)));
    }
    for Decision { place, outcome, margin, largest } in &decisions {
        let slopes = coefficients(margin, level);
        let [slope, along] =
            slopes.map_or([0.0, 0.0], |c| [ARGUMENT, CAPTURED].map(|i| primal(&c[i])));
        numbers.push(Value::Real(*place));
        numbers.push(Value::Real(*outcome));
        numbers.push(below(margin, level));
        numbers.push(Value::Real(slope));
        numbers.push(Value::Real(-along / slope));
        numbers.push(Value::Real(*largest));
    }
    let numbers = Array::from_values(numbers);
    Ok(Value::array(at(cx, numbers, site)?))
}

/// The sets of the arguments on which the numbers of a value depend, where those of the point have these.
fn dependence(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    sets: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let opened = cx.reals().open_sets();
    let (level, _) = at(cx, opened, site)?;
    let lifted = zip_leaves("the sets", x, sets, &mut |x, set| {
        Ok(with_set(level, x.clone(), primal(set) as u64))
    });
    let kinks = cx.reals().set_kinks(Kinks::Ignore);
    let result = call_at_level(cx, level, f, lifted, site);
    cx.reals().set_kinks(kinks);
    let (y, _) = result?;
    let found =
        map_leaves(&y, &mut |leaf| Ok::<_, ErrorKind>(Value::Real(set_of(leaf, level) as f64)));
    at(cx, found, site)
}

/// The call of a function on all its paths. Where these have no end that is found, its value depends on everything.
fn all_paths(cx: &mut dyn Caller, f: &Value, x: &Value, site: Span) -> Result<Value, RuntimeError> {
    let within = cx.follows_all_paths();
    let unknown = map_leaves(x, &mut |leaf| Ok::<_, ErrorKind>(unknown(leaf)));
    let unknown = at(cx, unknown, site)?;
    match cx.call_on_all_paths(f, unknown) {
        Err(error) if !within && !matches!(error.kind, ErrorKind::Exceeded(_)) => {}
        result => return result,
    }
    let plain = map_leaves(x, &mut |leaf| Ok::<_, ErrorKind>(Value::Real(primal(leaf))));
    let plain = at(cx, plain, site)?;
    let y = cx.call(f, plain)?;
    let everything = any_function_of(cx.reals(), &[f, x], site);
    let everything = at(cx, everything, site)?;
    let all = map_leaves(&y, &mut |_| Ok::<_, ErrorKind>(everything.clone()));
    at(cx, all, site)
}

/// The number with the same derivatives whose primal is not known.
fn unknown(v: &Value) -> Value {
    let level = level_of(v);
    match coefficients(v, level) {
        _ if level == 0 => Value::Real(f64::NAN),
        Some([primal, rest @ ..]) => jet(level, [&[unknown(primal)], rest].concat()),
        Some([]) | None => taped(level, entry(v, level), unknown(&below(v, level))),
    }
}

/// A number that is not known, and varies with all numbers in some values in every way: derivatives of every order are not 0.
pub(crate) fn any_function_of(
    reals: &mut Reals,
    values: &[&Value],
    site: Span,
) -> Result<Value, ErrorKind> {
    let mut sum = Value::Real(f64::NAN);
    for value in values {
        map_active(value, &mut |leaf| {
            sum = reals.op(RealOp::Add, &sum, leaf, site)?;
            Ok(leaf.clone())
        })?;
    }
    reals.op(RealOp::Exp, &sum, &Value::Zero, site)
}

/// A number for where decisions are made and how they come out.
fn all_outcomes(decisions: &[Decision]) -> f64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for decision in decisions {
        (decision.place.to_bits(), decision.outcome.to_bits()).hash(&mut hasher);
    }
    (hasher.finish() >> 11) as f64
}

/// The call of a function that decides what is told of it, whatever it does. Its argument is whether its value counts, and
/// not only what it decides.
fn deciding(
    cx: &mut dyn Caller,
    f: &Value,
    told: &Value,
    x: &Value,
) -> Result<Value, RuntimeError> {
    let before = cx.reals().swap_decisions(None);
    let recorded = before.is_some();
    let counts = if recorded { Value::Bool(false) } else { x.clone() };
    let result = cx.call(f, counts);
    let told = if recorded { cx.call(told, Value::Unit) } else { Ok(Value::Unit) };
    cx.reals().swap_decisions(before);
    if let Value::Array(told) = told? {
        let numbers: Vec<Value> = told.iter().collect();
        for decision in numbers.chunks_exact(3) {
            cx.reals().told(primal(&decision[0]), primal(&decision[1]), &decision[2]);
        }
    }
    result
}

/// How a number varies along a direction in which each variable of each level has a pseudo-random component.
fn generic(v: &Value) -> f64 {
    let component = |level: u16, i: u32| {
        let mixed = (u64::from(level) << 32 | u64::from(i)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        1.0 + (mixed >> 11) as f64 * 2f64.powi(-53)
    };
    let level = level_of(v);
    match (level, coefficients(v, level)) {
        (0, _) => 0.0,
        (_, Some(c)) => {
            let own = (1..).zip(&c[1..]).map(|(i, c)| component(level, i) * primal(c));
            own.sum::<f64>() + generic(&c[0])
        }
        (_, None) => match entry(v, level) {
            0 => generic(&below(v, level)),
            id => component(level, id) + generic(&below(v, level)),
        },
    }
}
