//! `enclose`: the bounds of a function between two points, within a program of plain numbers; and narrower bounds of a
//! function that is called from outside with intervals.
//!
//! What comes in: a function and the lower and the upper ends of its argument. What goes out: the ends of its values, or why
//! there are none. What always holds: the call runs by the arithmetic of intervals, whatever the program runs by, and what
//! it leaves undecided is a value; any other error stops the program. Bounds have no derivative: a number that varies
//! outside the call, or captured by the function, stops the program if it reaches the bounds.

use super::level::level_of;
use super::operators::{gradient, vjp};
use super::Caller;
use crate::array::Array;
use crate::eval::error::{ErrorKind, RuntimeError, Uncertainty};
use crate::eval::event::lost;
use crate::eval::reals::{enclosure, interval};
use crate::leaves::{each_leaf_pair, map_leaves, reals, zip_leaves};
use crate::prim::interval::Interval;
use crate::prim::RealOp;
use crate::value::Value;
use diffeo_base::Span;

/// The two ends of each Real of `f` between two points, as an array; or none, and why.
pub(super) fn enclose(
    cx: &mut dyn Caller,
    f: &Value,
    [lower, upper]: [&Value; 2],
    site: Span,
) -> Result<Value, RuntimeError> {
    let none = |why: &str| Ok(Value::tuple([Value::array(Array::empty()), Value::string(why)]));
    let mut reversed = None;
    let between = zip_leaves("enclose", lower, upper, &mut |lower, upper| {
        let [a, b] = [constant(lower)?, constant(upper)?];
        let (lo, hi) = (a.map_or(f64::NAN, Interval::lo), b.map_or(f64::NAN, Interval::hi));
        Ok(Interval::new(lo, hi).map_or_else(
            || {
                reversed = Some([lo, hi]);
                Value::Real(lo)
            },
            enclosure,
        ))
    });
    let between = between.map_err(|kind| cx.error(kind, site))?;
    if let Some([lo, hi]) = reversed {
        let [lo, hi] = [lo, hi].map(crate::show::real);
        return none(&format!("no number is between {lo} and {hi}"));
    }
    let before = cx.reals().enclosing();
    let result = cx.call(f, between);
    cx.reals().enclose_as(before);
    let y = match result {
        Ok(y) => y,
        Err(RuntimeError { kind: kind @ ErrorKind::Uncertain { why, .. }, .. })
            if why.is_an_answer() =>
        {
            return none(&kind.message());
        }
        Err(error) => return Err(error),
    };
    let mut nan = false;
    let mut ends = |end: fn(Interval) -> f64| {
        map_leaves(&y, &mut |x| {
            let found = constant(x)?;
            nan |= found.is_none();
            Ok(Value::Real(found.map_or(f64::NAN, end)))
        })
    };
    let both = ends(Interval::lo).and_then(|lower| Ok([lower, ends(Interval::hi)?]));
    let both = both.map_err(|kind| cx.error(kind, site))?;
    match nan {
        true => none("it may be nan"),
        false => {
            let both = Array::from_values(both).map_err(|kind| cx.error(kind, site))?;
            Ok(Value::tuple([Value::array(both), Value::string("")]))
        }
    }
}

/// The derivative of each Real of a result is a run backwards: of more than these, bounds are not made narrower.
const MOST_RESULTS: usize = 16;

/// The result of a function, which is `y` at these intervals, no wider than the mean value theorem says: its value at the
/// middle, and its derivatives by each Real times the distance from there (Moore 1966, chapter 6). Any `y` that this does
/// not make narrower stays.
pub(crate) fn narrowed(cx: &mut dyn Caller, f: &Value, x: &Value, y: Value, site: Span) -> Value {
    let wide = reals(x).iter().any(|x| interval(x).is_some_and(|x| !x.is_point()));
    let results = reals(&y).len();
    if !wide || results == 0 || results > MOST_RESULTS {
        return y;
    }
    let before = cx.reals().enclosing();
    let mut unheard = lost();
    cx.swap_events(&mut unheard);
    let found = centred(cx, f, x, &y, site);
    cx.swap_events(&mut unheard);
    cx.reals().enclose_as(before);
    found.unwrap_or(y)
}

fn centred(
    cx: &mut dyn Caller,
    f: &Value,
    x: &Value,
    y: &Value,
    site: Span,
) -> Result<Value, RuntimeError> {
    let middle = |x: &Value| interval(x).map_or(f64::NAN, Interval::middle);
    let m = map_leaves(x, &mut |x| Ok(Value::Real(middle(x))));
    let m = m.map_err(|kind| cx.error(kind, site))?;
    let at_middle = cx.call(f, m.clone())?;
    let (_, pullback) = vjp(cx, f, x, site)?;
    let distance = zip_leaves("enclose", x, &m, &mut |x, m| cx.reals().op(RealOp::Sub, x, m, site));
    let distance = distance.map_err(|kind| cx.error(kind, site))?;
    let mut changes = Vec::new();
    for i in 0..reals(y).len() {
        let mut place = 0..;
        let unit = map_leaves(y, &mut |_| {
            Ok(Value::Real(if place.next() == Some(i) { 1.0 } else { 0.0 }))
        });
        let unit = unit.map_err(|kind| cx.error(kind, site))?;
        let slopes = gradient(cx, &pullback, &unit, site)?;
        let mut change = Value::Real(0.0);
        let summed = each_leaf_pair("enclose", &slopes, &distance, &mut |slope, distance| {
            let term = cx.reals().mul(slope, distance, site)?;
            change = cx.reals().add(&change, &term, site)?;
            Ok(())
        });
        summed.map_err(|kind| cx.error(kind, site))?;
        changes.push(change);
    }
    let mut changes = changes.iter();
    let met = zip_leaves("enclose", y, &at_middle, &mut |y, at_middle| {
        let Some(change) = changes.next() else { return Ok(y.clone()) };
        let centred = cx.reals().add(at_middle, change, site)?;
        let both = interval(y).zip(interval(&centred));
        let met = both.and_then(|(a, b)| Interval::new(a.lo().max(b.lo()), a.hi().min(b.hi())));
        Ok(met.map_or(y.clone(), enclosure))
    });
    met.map_err(|kind| cx.error(kind, site))
}

/// The interval of a number that does not vary.
fn constant(x: &Value) -> Result<Option<Interval>, ErrorKind> {
    match level_of(x) {
        0 => Ok(interval(x)),
        _ => Err(ErrorKind::Uncertain {
            why: Uncertainty::Varies,
            op: "interval.enclose",
            operands: Vec::new(),
        }),
    }
}
