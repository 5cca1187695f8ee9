//! Derivatives that are right at kinks: runs along directions, where values leave something undecided.
//!
//! What comes in: a derivative operator as a function of a germ. What goes out: its result, an element of the generalised
//! Jacobian. The operator first runs as ever. If something was undecided, it runs once more with a level of directions (a
//! germ) below its own: `x + ε₁d₁ + ε₂d₂ + …` with ε₁ ≫ ε₂ ≫ … decides (`reals/exact.rs`), and what is recorded has no
//! directions any more. What always holds: no result holds the germ's level; a function whose value at the point, along
//! the directions and against them is not the same stops the program.

use super::environment::map_active;
use super::jet::jet_coefficients;
use super::level::{below, jet};
use super::Caller;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::event::lost;
use crate::eval::reals::{primal, Reals, Tie, Ties};
use crate::leaves::{each_leaf, each_leaf_pair, map_leaves};
use crate::value::Value;
use diffeo_base::Span;
use std::cell::Cell;

/// So many directions are tried first; most kinks are decided by few.
const FIRST: usize = 8;

/// So many coefficients, at most, has a number along directions of derivatives of higher orders.
const MOST: u64 = 2000;

/// So many directions, at most, are turned one by one to look for jumps.
const TURNED: usize = 16;

/// Values differ if they do by more than this part of them.
const TOLERANCE: f64 = 1e-9;

/// The same of the largest number that their evaluation met, whose rounding they may have.
const ROUNDING: f64 = 1e-13;

/// The function that an operator differentiates.
pub(super) struct Differentiated<'a> {
    pub f: &'a Value,
    /// The point, in the domain of f.
    pub x: &'a Value,
    /// The number of levels that the operator opens.
    pub levels: u16,
    /// The order of the derivatives that the operator takes.
    pub order: u32,
    /// The directions that decide first, by the Reals of the point; then the unit vectors do.
    pub directions: &'a [Vec<f64>],
    pub site: Span,
}

/// Directions in which the point moves infinitesimally, or none.
pub(super) struct Germ<'a> {
    /// The level of the directions; 0 if there are none.
    level: u16,
    given: &'a [Vec<f64>],
    /// The direction of each coefficient, forwards or backwards: a given one, or the unit vector of this leaf.
    signs: Vec<f64>,
    /// The coefficient of each direction.
    units: Vec<usize>,
    /// The number of coefficients.
    count: usize,
    /// The leaf of the point that is lifted next.
    next: Cell<usize>,
}

impl Germ<'_> {
    /// No directions.
    fn none() -> Germ<'static> {
        let (signs, units) = (Vec::new(), Vec::new());
        Germ { level: 0, given: &[], signs, units, count: 0, next: Cell::new(0) }
    }

    /// A leaf of the point, the next from left to right, with its directions.
    pub(super) fn lift(&self, leaf: &Value) -> Value {
        if self.level == 0 {
            return leaf.clone();
        }
        let i = self.next.replace(self.next.get() + 1);
        let mut coefficients = vec![Value::Zero; self.count];
        coefficients[0] = if let Value::Zero = leaf { Value::Real(0.0) } else { leaf.clone() };
        for (j, sign) in self.signs.iter().enumerate() {
            let direction = match self.given.get(j) {
                Some(direction) => direction[i],
                None if j - self.given.len() == i => 1.0,
                None => 0.0,
            };
            if direction != 0.0 {
                coefficients[self.units[j]] = Value::Real(sign * direction);
            }
        }
        jet(self.level, coefficients)
    }

    /// A number without the directions.
    pub(super) fn strip(&self, v: &Value) -> Value {
        below(v, self.level)
    }

    /// A value without the directions.
    pub(super) fn strip_all(&self, v: &Value) -> Result<Value, ErrorKind> {
        match self.level {
            0 => Ok(v.clone()),
            level => map_active(v, &mut |leaf| Ok(below(leaf, level))),
        }
    }

    /// Another run follows, because an operation was undecided at a level of the operator.
    pub(super) fn is_to_follow(&self, reals: &Reals, level: u16) -> bool {
        self.level == 0 && reals.is_exact() && reals.is_undecided(level)
    }
}

/// Directions given as values of the shape of the point, as vectors of its leaves.
///
/// # Errors
/// [`ErrorKind::ShapeMismatch`] for one of another shape.
pub(super) fn directions(x: &Value, directions: &Value) -> Result<Vec<Vec<f64>>, ErrorKind> {
    let Value::Array(directions) = directions else {
        return Err(ErrorKind::Internal { message: "directions that are no array".into() });
    };
    let vector = |direction: Value| {
        let mut leaves = Vec::new();
        each_leaf_pair("a direction", x, &direction, &mut |_, d| {
            leaves.push(primal(d));
            Ok(())
        })?;
        Ok(leaves)
    };
    directions.iter().map(vector).collect()
}

type Run<'r, T> = &'r mut dyn FnMut(&mut dyn Caller, &Germ) -> Result<T, RuntimeError>;

/// The result of an operator; where something is undecided and kinks are exact, the one along its directions.
pub(super) fn at_kinks<T>(
    cx: &mut dyn Caller,
    what: &Differentiated,
    run: Run<'_, T>,
) -> Result<T, RuntimeError> {
    let depth = cx.reals().depth() as u16;
    let plain = run(cx, &Germ::none())?;
    let reals = cx.reals();
    if !reals.is_exact()
        || !(depth + 1..=depth + what.levels).any(|level| reals.is_undecided(level))
    {
        return Ok(plain);
    }
    drop(plain);
    // The program has printed and warned.
    let mut events = lost();
    cx.swap_events(&mut events);
    let result = along(cx, what, run);
    cx.swap_events(&mut events);
    result
}

fn along<T>(
    cx: &mut dyn Caller,
    what: &Differentiated,
    run: Run<'_, T>,
) -> Result<T, RuntimeError> {
    let mut leaves = 0;
    let counted = each_leaf(what.x, &mut |_| {
        leaves += 1;
        Ok(())
    });
    counted.map_err(|kind| cx.error(kind, what.site))?;
    let all = what.directions.len() + leaves;
    let mut count = all.min(what.directions.len() + FIRST);
    loop {
        let signs = vec![1.0; count];
        let (result, ties) = with_germ(cx, what, signs, run)?;
        if ties.open && count < all {
            count = all.min(4 * count);
            continue;
        }
        if !ties.jumps.is_empty() {
            look_for_jumps(cx, what, count, &ties)?;
        }
        return Ok(result);
    }
}

/// The multi-index is that of one variable.
fn is_unit(alpha: &[u32], j: usize) -> bool {
    alpha.iter().enumerate().all(|(i, n)| *n == u32::from(i == j))
}

/// Runs it with so many directions, forwards or backwards; gives what they decided, too.
fn with_germ<T>(
    cx: &mut dyn Caller,
    what: &Differentiated,
    signs: Vec<f64>,
    run: Run<'_, T>,
) -> Result<(T, Ties), RuntimeError> {
    let directions = signs.len();
    let coefficients = jet_coefficients(directions as u64, u64::from(what.order));
    let opened = match what.order {
        2.. if coefficients > MOST => Err(ErrorKind::TooLarge { count: coefficients as i64 }),
        order => cx.reals().open_germ(directions as u32, order),
    };
    let (level, shape) = opened.map_err(|kind| cx.error(kind, what.site))?;
    let units = (0..directions).map(|j| match shape.r {
        0 | 1 => j + 1,
        _ => shape.indices.iter().position(|a| is_unit(a, j)).unwrap_or(0),
    });
    let (units, count) = (units.collect(), shape.count());
    let germ = Germ { level, given: what.directions, signs, units, count, next: Cell::new(0) };
    let result = run(cx, &germ);
    cx.reals().close(level);
    let ties = cx.reals().ties(level);
    Ok((result?, ties))
}

/// Stops the program if the value at the point, along the directions, against all of them and against those that decided
/// a comparison or a rounding, one by one, is not the same.
fn look_for_jumps(
    cx: &mut dyn Caller,
    what: &Differentiated,
    count: usize,
    along: &Ties,
) -> Result<(), RuntimeError> {
    let site = what.site;
    let before = std::mem::take(&mut cx.reals().largest);
    let here = cx.call(what.f, what.x.clone())?;
    let mut turned = vec![vec![1.0; count], vec![-1.0; count]];
    if along.deciding.len() > 1 {
        // Of a higher order, any direction may have.
        let units = (0..count).filter(|j| match what.order {
            0 | 1 => along.deciding.contains(&(j + 1)),
            _ => true,
        });
        turned.extend(units.take(TURNED).map(|j| {
            let mut signs = vec![1.0; count];
            signs[j] = -1.0;
            signs
        }));
    }
    for signs in turned {
        let moved = with_germ(cx, what, signs, &mut |cx, germ| {
            let x = map_leaves(what.x, &mut |leaf| Ok::<_, ErrorKind>(germ.lift(leaf)));
            let x = x.map_err(|kind| cx.error(kind, site))?;
            cx.call(what.f, x)
        });
        let (differing, ties) = match moved {
            Ok((there, there_ties)) => {
                let rounding = ROUNDING * cx.reals().largest;
                (difference(&here, &there, rounding), there_ties)
            }
            Err(error) if matches!(error.kind, ErrorKind::Exceeded(_)) => return Err(error),
            Err(_) => (Some(None), Ties::default()),
        };
        let Some(values) = differing else { continue };
        let other = |tie: &&Tie| tie.outcomes[0] != tie.outcomes[1];
        let tie = ties.jumps.iter().find(other).or(ties.jumps.first()).or(along.jumps.first());
        let (op, operands, site) = match tie {
            Some(tie) => (tie.op, tie.operands.clone(), tie.site),
            None => ("the function", Vec::new(), site),
        };
        let error = cx.error(ErrorKind::Jump { op, operands, values }, site);
        // The place is the decision's, not the operator's in the library.
        return Err(RuntimeError { function: None, ..error });
    }
    let reals = cx.reals();
    reals.largest = before.max(reals.largest);
    Ok(())
}

/// The first two Reals in which two values differ by more than rounding; none if they differ in shape. None of values that
/// are the same.
fn difference(here: &Value, there: &Value, rounding: f64) -> Option<Option<[f64; 2]>> {
    let mut values = None;
    let walked = each_leaf_pair("", here, there, &mut |a, b| {
        let [x, y] = [primal(a), primal(b)];
        let close = x == y || (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()) + rounding;
        let same = close || (x.is_nan() && y.is_nan());
        if !same && values.is_none() {
            values = Some([x, y]);
        }
        Ok(())
    });
    match (walked, values) {
        (Err(_), _) => Some(None),
        (Ok(()), Some(values)) => Some(Some(values)),
        (Ok(()), None) => None,
    }
}
