//! Functions with derivatives of their own (`with_derivative`): what their rules make of a level.
//!
//! What comes in: a function, its rule and a point. What goes out: its value, which varies as the rule says at the highest
//! level that concerns them. A rule decides by values: it is not shown the directions that decide at kinks.

use super::environment::{highest_level, map_active};
use super::jet::JetShape;
use super::level::{below, coefficients, entry, jet, taped};
use super::operators::{at, call_at_level};
use super::tape::Operation;
use super::Caller;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::reals::{set_of, with_set, Reals};
use crate::leaves::{map_leaves, zip_leaves};
use crate::value::Value;
use diffeo_base::Span;

/// The function where nothing is differentiated; else what its rule says.
pub(super) fn with_derivative(
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
        Some(_) | None => by_rule(cx, [f, rule, x], level, site),
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
///
/// A rule decides by values: it is not shown the directions that decide at kinks, with which y comes from the level below.
fn by_rule(
    cx: &mut dyn Caller,
    [f, rule, x]: [&Value; 3],
    level: u16,
    site: Span,
) -> Result<Value, RuntimeError> {
    let germ = cx.reals().germ_below(level);
    let with_directions = match germ {
        0 => None,
        _ => {
            let mut strip = |v: &Value| Ok(below(v, level));
            let stripped = map_active(f, &mut strip)
                .and_then(|f| Ok((f, map_active(rule, &mut strip)?, map_active(x, &mut strip)?)));
            let (f, rule, x) = at(cx, stripped, site)?;
            Some(with_derivative(cx, &f, &rule, &x, site)?)
        }
    };
    let reals = cx.reals();
    let point = map_leaves(x, &mut |leaf| {
        reals.operations += 1;
        Ok(below(&below(leaf, level), germ))
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
        if reals.has_sets(level) {
            return Ok(with_set(level, p, set_of(y, level) | set_of(w, level)));
        }
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
    let sum = at(cx, sum, site)?;
    let Some(primals) = with_directions else { return Ok(sum) };
    let joined = zip_leaves(RULE, &sum, &primals, &mut |v, p| match coefficients(v, level) {
        None => Ok(taped(level, entry(v, level), p.clone())),
        Some(c) => Ok(jet(level, [std::slice::from_ref(p), &c[1..]].concat())),
    });
    at(cx, joined, site)
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
        cx.reals().undecided_by_rule(above, level);
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
    cx.reals().undecided_by_rule(above, level);
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
