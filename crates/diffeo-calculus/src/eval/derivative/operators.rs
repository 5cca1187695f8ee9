//! The derivative operators.
//!
//! What comes in: the operands of a derivative term. What goes out: its value. Each operator lifts its
//! point to a level of its own, calls the function, and reads the result off; `stop_gradient`,
//! `checkpoint` and `with_derivative` open none but act on the levels of their operands.

use super::environment::{highest_level, map_active};
use super::jet::JetShape;
use super::level::{
    below, coefficients, detached, entry, is_plain_zero, jet, level_of, taped, JetLevel, Level,
};
use super::sweep::{sweep, Watch};
use super::tape::{Checkpoint, Operation};
use super::{shapes, Caller, Pullback};
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::reals::{primal, Decision, Reals};
use crate::leaves::{each_leaf, each_leaf_pair, map_leaves, zip_leaves};
use crate::prim::DiffOp;
use crate::value::{FunctionValue, Value};
use diffeo_base::Span;
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
        (DiffOp::Moves, [f, x, y, Value::String(words)]) => moves(cx, f, [x, y], words, site),
        (
            DiffOp::Rd
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Jet { .. }
            | DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative
            | DiffOp::Moves,
            operands,
        ) => {
            let message = format!("{op:?} of {} operands", operands.len());
            Err(cx.error(ErrorKind::Internal { message }, site))
        }
    }
}

/// The result with its place.
fn at<T>(cx: &mut dyn Caller, result: Result<T, ErrorKind>, site: Span) -> Result<T, RuntimeError> {
    result.map_err(|kind| cx.error(kind, site))
}

/// Calls a function at a lifted point and closes the level.
fn call_at_level(
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
fn vjp(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    site: Span,
) -> Result<(Value, Pullback), RuntimeError> {
    let opened = cx.reals().open_tape();
    let level = at(cx, opened, site)?;
    let reals = cx.reals();
    let lifted = map_leaves(x, &mut |leaf| {
        reals.operations += 1;
        Ok(taped(level, reals.tape(level)?.input()?, leaf.clone()))
    });
    let (y, closed) = call_at_level(cx, level, f, lifted, site)?;
    let mut tape = match closed {
        Some(Level::Tape(tape)) => tape,
        Some(Level::Jet(_)) | None => Default::default(),
    };
    let mut entries = Vec::new();
    let output = map_leaves(&y, &mut |leaf| {
        entries.push(entry(leaf, level));
        Ok(below(leaf, level))
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
    let opened = cx.reals().open_jet(1, 1);
    let (level, _) = at(cx, opened, site)?;
    let reals = cx.reals();
    let lifted = zip_leaves("the tangent", x, tangent, &mut |p, dot| {
        reals.operations += 1;
        let dot = if is_plain_zero(dot) { Value::Zero } else { dot.clone() };
        Ok(jet(level, vec![p.clone(), dot]))
    });
    let (y, closed) = call_at_level(cx, level, f, lifted, site)?;
    let split = split(cx.reals(), &y, level);
    let (value, dot) = at(cx, split, site)?;
    warn_if_nan(cx, &value, &dot, closed);
    Ok(Value::tuple([value, dot]))
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
    if r > 1 && cx.reals().nests {
        return nested(cx, (k, r), f, x, site);
    }
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
                reals.divide(c, &Value::Real(shape.factorials[i]), site)?
            };
        }
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
                reals.times(*factorial, c, site)?
            });
        }
        Ok(out)
    });
    let derivatives = at(cx, derivatives, site)?;
    if let Some(Level::Jet(JetLevel { culprit: Some(_), .. })) = &closed {
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
    if culprit.is_some() {
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
        Ok(Value::Real(primal(leaf)))
    });
    cx.reals().operations += stripped;
    at(cx, value, site)
}

/// The call, of which a tape keeps only what it takes to run it again.
fn checkpoint(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
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

/// The function where nothing is differentiated; else what its rule says.
fn with_derivative(
    cx: &mut dyn Caller,
    f: &Value,
    rule: &Value,
    x: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let most = cx.reals().depth() as u16;
    let level = highest_level(&[f, rule, x], 0, most);
    if level == 0 {
        return cx.call(f, x.clone());
    }
    let outside = std::mem::take(&mut cx.reals().largest);
    let result = match cx.reals().shape(level) {
        Some(shape) if shape.r > 1 && highest_level(&[rule], 0, level) < level => {
            by_rule_of_lower_order(cx, rule, x, level, site)
        }
        Some(shape) if shape.r > 1 => by_rule_of_all_orders(cx, rule, x, level, site),
        Some(_) | None => by_rule(cx, rule, x, level, site),
    };
    // Any number of the rule may be a term of any coefficient.
    let reals = cx.reals();
    let inside = reals.largest;
    (1..=2).for_each(|order| reals.met(order, inside));
    reals.largest = outside.max(inside);
    result
}

const RULE: &str = "the rule of `with_derivative`";

/// The components of the pair that a rule gives.
fn pair(cx: &mut dyn Caller, v: &Value, site: Span) -> Result<(Value, Value), RuntimeError> {
    match v.fields() {
        [a, b] => Ok((a.clone(), b.clone())),
        _ => {
            let message = format!("{RULE} did not give a pair");
            Err(cx.error(ErrorKind::Internal { message }, site))
        }
    }
}

/// On a tape or with coefficients of order 1: `(y, w) = rule(p, v)` where p is the point without the level
/// and v has its variations with primal 0; y + w varies as it should, for w is linear in v, and y
/// varies with what the rule captured.
fn by_rule(
    cx: &mut dyn Caller,
    rule: &Value,
    x: &Value,
    level: u16,
    site: Span,
) -> Result<Value, RuntimeError> {
    let reals = cx.reals();
    let point = map_leaves(x, &mut |leaf| {
        reals.operations += 1;
        Ok(below(leaf, level))
    });
    let variation = map_leaves(x, &mut |leaf| {
        Ok(match (coefficients(leaf, level), entry(leaf, level)) {
            (Some([_, rest @ ..]), _) => {
                let zero = std::iter::once(Value::Real(0.0));
                jet(level, zero.chain(rest.iter().cloned()).collect())
            }
            (None, id) if id != 0 => taped(level, id, Value::Real(0.0)),
            (None | Some([]), _) => Value::Real(0.0),
        })
    });
    let argument = Value::tuple([at(cx, point, site)?, at(cx, variation, site)?]);
    let result = cx.call(rule, argument)?;
    let (y, w) = pair(cx, &result, site)?;
    let reals = cx.reals();
    let sum = zip_leaves(RULE, &y, &w, &mut |y, w| {
        reals.operations += 1;
        let p = below(y, level);
        if let Some(shape) = reals.shape(level) {
            let mut out = super::jet::constant(&shape, p);
            for (i, out) in out.iter_mut().enumerate().skip(1) {
                let [a, b] = [y, w].map(|v| coefficients(v, level).map_or(&Value::Zero, |c| &c[i]));
                *out = reals.add(a, b, site)?;
            }
            return Ok(jet(level, out));
        }
        let id = match [entry(y, level), entry(w, level)] {
            [id, 0] | [0, id] => id,
            both => reals
                .tape(level)?
                .push(Operation::Sum, site, both, || [Value::Zero, Value::Zero])?,
        };
        Ok(taped(level, id, p))
    });
    at(cx, sum, site)
}

/// Reports that a function decides otherwise at two points by a number that varies. The points are lifted to a level of
/// their own, so that decisions are remembered that depend on them. The first that comes out otherwise has made the
/// others.
fn moves(
    cx: &mut dyn Caller,
    f: &Value,
    points: [&Value; 2],
    words: &str,
    site: Span,
) -> Result<Value, RuntimeError> {
    let depth = cx.reals().depth() as u16;
    if highest_level(&[f], 0, depth) == 0 || cx.reals().decisions.is_some() {
        return Ok(Value::Unit);
    }
    let mut decisions = Vec::new();
    for point in points {
        let opened = cx.reals().open_jet(1, 1);
        let (level, _) = at(cx, opened, site)?;
        let one = || Value::Real(1.0);
        let lifted = map_leaves(point, &mut |x| Ok(jet(level, vec![x.clone(), one()])));
        let kinks = cx.reals().remember_decisions(level);
        let result = call_at_level(cx, level, f, lifted, site);
        decisions.push(cx.reals().take_decisions(kinks));
        result?;
    }
    let differ = |a: &Decision, b: &Decision| (a.site, a.outcome) != (b.site, b.outcome);
    let differing = decisions[0].iter().zip(&decisions[1]).find(|(a, b)| differ(a, b));
    if let Some((decision, other)) = differing {
        if decision.site == other.site && (decision.moves || other.moves) {
            let reported = cx.reals().report_moving(words, decision.site, site);
            at(cx, reported, site)?;
        }
    }
    Ok(Value::Unit)
}

/// With coefficients of order R for a rule that captured none of them: `∂ᵢy = V` where
/// `(Y, V) = rule(x, ∂ᵢx)` with coefficients of order R - 1 at a level of their own. So a rule may use the
/// function it belongs to: the order falls until the rule meets a plain point.
fn by_rule_of_lower_order(
    cx: &mut dyn Caller,
    rule: &Value,
    x: &Value,
    level: u16,
    site: Span,
) -> Result<Value, RuntimeError> {
    let Some(shape) = cx.reals().shape(level) else { return cx.call(rule, x.clone()) };
    let position = |alpha: &[u32]| shape.indices.iter().position(|a| a == alpha);
    let mut total: Option<Value> = None;
    for i in 0..shape.k as usize {
        let opened = cx.reals().open_jet(shape.k, shape.r - 1);
        let (above, lower) = at(cx, opened, site)?;
        let next = |beta: &[u32]| {
            let mut alpha = beta.to_vec();
            alpha[i] += 1;
            alpha
        };
        let reals = cx.reals();
        let point = map_leaves(x, &mut |v| match coefficients(v, level) {
            None => Ok::<_, ErrorKind>(v.clone()),
            Some(c) => {
                let kept = lower.indices.iter().filter_map(|beta| position(beta));
                Ok(jet(above, kept.map(|p| c[p].clone()).collect()))
            }
        });
        let variation = map_leaves(x, &mut |v| {
            let Some(c) = coefficients(v, level) else { return Ok(Value::Real(0.0)) };
            let mut out = Vec::with_capacity(lower.indices.len());
            for beta in &lower.indices {
                let Some(p) = position(&next(beta)) else { continue };
                out.push(reals.times(f64::from(beta[i] + 1), &c[p], site)?);
            }
            if matches!(out[0], Value::Zero) {
                out[0] = Value::Real(0.0);
            }
            Ok(jet(above, out))
        });
        let argument =
            point.and_then(|point| variation.map(|variation| Value::tuple([point, variation])));
        let (result, _) = call_at_level(cx, above, rule, argument, site)?;
        let (y, v) = pair(cx, &result, site)?;
        let start = match total.take() {
            Some(total) => total,
            None => {
                let lifted = map_leaves(&y, &mut |y| {
                    let constant = super::jet::constant(&shape, below(y, above));
                    Ok::<_, ErrorKind>(jet(level, constant))
                });
                at(cx, lifted, site)?
            }
        };
        let reals = cx.reals();
        let filled = zip_leaves(RULE, &start, &v, &mut |y, v| {
            let mut out = coefficients(y, level).map(<[Value]>::to_vec).unwrap_or_default();
            for (beta, n) in lower.indices.iter().zip(0..) {
                // Each α is taken from the first variable that it has.
                if beta[..i].iter().any(|b| *b > 0) {
                    continue;
                }
                let Some(p) = position(&next(beta)) else { continue };
                let slope = match coefficients(v, above) {
                    Some(c) => c[n].clone(),
                    None if n == 0 => v.clone(),
                    None => Value::Zero,
                };
                let by = Value::Real(f64::from(beta[i] + 1));
                out[p] = reals.divide(&slope, &by, site)?;
            }
            Ok(jet(level, out))
        });
        total = Some(at(cx, filled, site)?);
    }
    match total {
        Some(total) => Ok(total),
        // Coefficients in no variables are plain numbers.
        None => cx.call(rule, Value::tuple([x.clone(), x.clone()])).map(|v| v.fields()[0].clone()),
    }
}

/// With coefficients of any order, by Euler's operator: `E y = V + W` where `(Y, V) = rule(x, E x)` and W
/// is how Y varies when what the rule captured varies by E of itself (a level above tells).
fn by_rule_of_all_orders(
    cx: &mut dyn Caller,
    rule: &Value,
    x: &Value,
    level: u16,
    site: Span,
) -> Result<Value, RuntimeError> {
    let Some(shape) = cx.reals().shape(level) else { return cx.call(rule, x.clone()) };
    let reals = cx.reals();
    let variation = map_leaves(x, &mut |v| match coefficients(v, level) {
        None => Ok(Value::Real(0.0)),
        Some(coefficients) => euler(reals, coefficients, level, &shape, site),
    });
    let variation = at(cx, variation, site)?;
    let opened = cx.reals().open_jet(1, 1);
    let (above, _) = at(cx, opened, site)?;
    let reals = cx.reals();
    let rule = map_active(rule, &mut |v| match coefficients(v, level) {
        None => Ok(v.clone()),
        Some(coefficients) => {
            let variation = euler(reals, coefficients, level, &shape, site)?;
            Ok(jet(above, vec![v.clone(), variation]))
        }
    });
    let (rule, argument) = match rule {
        Ok(rule) => (rule, Ok(Value::tuple([x.clone(), variation]))),
        Err(kind) => (Value::Unit, Err(kind)),
    };
    let (result, _) = call_at_level(cx, above, &rule, argument, site)?;
    let (y, v) = pair(cx, &result, site)?;
    let reals = cx.reals();
    let sum = zip_leaves(RULE, &y, &v, &mut |y, v| {
        let v = below(v, above);
        let w = coefficients(y, above).map_or(Value::Zero, |c| c[1].clone());
        let mut out = super::jet::constant(&shape, below(&below(y, above), level));
        for (i, out) in out.iter_mut().enumerate().skip(1) {
            let [v, w] = [&v, &w].map(|v| coefficients(v, level).map_or(&Value::Zero, |c| &c[i]));
            let sum = reals.add(v, w, site)?;
            *out = reals.divide(&sum, &Value::Real(f64::from(shape.degrees[i])), site)?;
        }
        Ok(jet(level, out))
    });
    at(cx, sum, site)
}

/// `E x`: coefficient α times |α|.
fn euler(
    reals: &mut Reals,
    coefficients: &[Value],
    level: u16,
    shape: &JetShape,
    site: Span,
) -> Result<Value, ErrorKind> {
    let mut out = vec![Value::Real(0.0)];
    for (c, degree) in coefficients.iter().zip(&shape.degrees).skip(1) {
        out.push(reals.times(f64::from(*degree), c, site)?);
    }
    Ok(jet(level, out))
}
