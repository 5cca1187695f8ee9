//! Arithmetic of intervals ([`Kinks::Enclose`](super::Kinks)): every Real is a set that certainly has its exact value.
//!
//! What comes in: an operation and operands of which the primals are points (a plain [`Value::Real`]) or intervals
//! ([`Parts::Interval`], of level 0, so that levels of derivatives are above it and their rules stay as they are). What goes
//! out: a point where the result is exact, else an interval with outward rounding. What always holds: a comparison, a
//! rounding or an order that intervals do not decide, an operand outside the domain and a place without a derivative stop
//! the program; no choice is made by a number in the middle.

use super::{primal, Kinks, Reals};
use crate::array::Array;
use crate::eval::derivative::environment::highest_level;
use crate::eval::derivative::level::level_of;
use crate::eval::error::{ErrorKind, Uncertainty};
use crate::names::Named;
use crate::prim::interval::{
    enclose, enclose_twice, may_kink, power_int, whole_quotient, Interval, Uncertain,
};
use crate::prim::real::{row, Condition};
use crate::prim::{int, text, Comparison, DiffOp, RealOp, Rounding};
use crate::value::{Active, Parts, Value};
use diffeo_base::Span;
use std::rc::Rc;

/// A factorial from this one on is rounded, by so many ulp at most.
const ROUNDED: (f64, u32) = (9_007_199_254_740_992.0, 64);

/// A Real leaf without what is known of derivatives: a number or an interval.
pub(crate) fn undifferentiated(v: &Value) -> Value {
    let mut v = v;
    loop {
        match v {
            Value::Dual { primal, .. } => return Value::Real(*primal),
            Value::Zero => return Value::Real(0.0),
            Value::Active(a) => match &a.parts {
                Parts::Tape { primal, .. } => v = primal,
                Parts::Jet(coefficients) => v = &coefficients[0],
                Parts::Interval(_) => return v.clone(),
            },
            _ => return v.clone(),
        }
    }
}

/// The interval that a Real leaf is; none for nan.
pub fn interval(v: &Value) -> Option<Interval> {
    match undifferentiated(v) {
        Value::Active(a) => match a.parts {
            Parts::Interval(interval) => Some(interval),
            Parts::Tape { .. } | Parts::Jet(_) => None,
        },
        v => Interval::point(primal(&v)),
    }
}

/// The Real that is this interval.
pub fn enclosure(interval: Interval) -> Value {
    match interval.is_point() {
        true => Value::Real(interval.lo()),
        false => Value::Active(Rc::new(Active { level: 0, parts: Parts::Interval(interval) })),
    }
}

/// Two operands are one number, whichever of its interval: one result, copied.
fn same_number(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Active(a), Value::Active(b)) if Rc::ptr_eq(a, b))
}

/// The interval of so many ulp to either side.
fn around(x: f64, ulps: u32) -> Value {
    Interval::around(x, ulps).map_or(Value::Real(x), enclosure)
}

fn ends(v: &Value) -> [f64; 2] {
    interval(v).map_or([f64::NAN; 2], |x| [x.lo(), x.hi()])
}

fn uncertain(why: Uncertainty, op: &'static str, operands: &[&Value]) -> ErrorKind {
    ErrorKind::Uncertain { why, op, operands: operands.iter().map(|v| ends(v)).collect() }
}

impl Reals {
    /// Every Real is an interval.
    pub(crate) fn encloses(&self) -> bool {
        self.encloses
    }

    /// Makes every Real an interval from now on, with derivatives that certainly are those of the functions, and gives what
    /// was before.
    pub(crate) fn enclosing(&mut self) -> (Kinks, bool, bool) {
        let before = (self.kinks, self.encloses, self.proves);
        self.enclose_as((Kinks::Enclose, true, true));
        before
    }

    /// Goes on as before [`Reals::enclosing`].
    pub(crate) fn enclose_as(&mut self, before: (Kinks, bool, bool)) {
        (self.kinks, self.encloses, self.proves) = before;
    }

    /// Derivatives certainly are those of the functions.
    pub(crate) fn proves(&self) -> bool {
        self.proves
    }

    /// `stop_gradient` and rules of a program hide how a value varies, which proofs need.
    pub(crate) fn check_hidden(&self, op: DiffOp, args: &[Value]) -> Result<(), ErrorKind> {
        let hides = match op {
            DiffOp::StopGradient | DiffOp::WithDerivative | DiffOp::WithExactDerivative => true,
            DiffOp::Rd
            | DiffOp::RdAlong
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Jet { .. }
            | DiffOp::Checkpoint
            | DiffOp::Decisions
            | DiffOp::Deciding
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths => false,
        };
        let depth = self.depth() as u16;
        match hides && highest_level(&args.iter().collect::<Vec<_>>(), 0, depth) > 0 {
            true => Err(ErrorKind::Uncertain {
                why: Uncertainty::Hidden,
                op: op.name(),
                operands: Vec::new(),
            }),
            false => Ok(()),
        }
    }

    fn kept(
        &mut self,
        op: &'static str,
        operands: &[&Value],
        found: Result<Interval, Uncertain>,
    ) -> Result<Value, ErrorKind> {
        match found {
            Ok(found) => {
                let size = found.middle().abs();
                if size > self.largest && size < f64::INFINITY {
                    self.largest = size;
                }
                Ok(enclosure(found))
            }
            Err(Uncertain::Outside) => Err(uncertain(Uncertainty::Outside, op, operands)),
            Err(Uncertain::Unknown) => Err(uncertain(Uncertainty::Unknown, op, operands)),
        }
    }

    /// The result of an operation that no derivative is taken of.
    pub(super) fn enclosed(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
    ) -> Result<Value, ErrorKind> {
        let row = row(op);
        let operands = [a, b];
        let operands = &operands[..row.arity];
        let twice = row.arity == 2 && same_number(a, b);
        let b = if row.arity == 2 { b } else { &Value::Zero };
        let found = match (interval(a), interval(b)) {
            (Some(a), Some(_)) if twice => enclose_twice(op, a),
            (Some(a), Some(b)) => enclose(op, a, b),
            _ => Err(Uncertain::Outside),
        };
        self.kept(row.name, operands, found)
    }

    /// `x ^ n`, of which no derivative is taken.
    pub(super) fn enclosed_power(&mut self, x: &Value, n: i64) -> Result<Value, ErrorKind> {
        let found = interval(x).map_or(Err(Uncertain::Outside), |x| power_int(x, n));
        self.kept("^", &[x, &Value::Real(n as f64)], found)
    }

    /// An operation of the program whose operands are differentiated has a derivative at all numbers in them.
    pub(super) fn check_enclosed(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
    ) -> Result<(), ErrorKind> {
        let row = row(op);
        let b = if row.arity == 2 { b } else { &Value::Zero };
        let active = [level_of(a) > 0, level_of(b) > 0];
        if active == [false; 2] || self.decisions.is_some() {
            return Ok(());
        }
        match (interval(a), interval(b)) {
            (Some(x), Some(y)) if may_kink(op, x, y, active) => {
                Err(uncertain(Uncertainty::Kink, row.name, &[a, b][..row.arity]))
            }
            _ => Ok(()),
        }
    }

    /// A comparison, if it comes out in one way for all numbers.
    pub(super) fn compare_enclosed(
        &mut self,
        (c, name): (Comparison, &'static str),
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<bool, ErrorKind> {
        let (Some(x), Some(y)) = (interval(a), interval(b)) else {
            return Ok(c == Comparison::Ne);
        };
        // Below, equal, above for some of the numbers.
        let differ = !same_number(&undifferentiated(a), &undifferentiated(b));
        let [below, above] = [differ && x.lo() < y.hi(), differ && x.hi() > y.lo()];
        let equal = x.lo() <= y.hi() && y.lo() <= x.hi();
        let [true_for_some, false_for_some] = match c {
            Comparison::Eq => [equal, below || above],
            Comparison::Ne => [below || above, equal],
            Comparison::Lt => [below, equal || above],
            Comparison::Le => [below || equal, above],
            Comparison::Gt => [above, equal || below],
            Comparison::Ge => [above || equal, below],
        };
        if true_for_some && false_for_some {
            return Err(uncertain(Uncertainty::Undecided, name, &[a, b]));
        }
        let varies = level_of(a) > 0 || level_of(b) > 0;
        if equal && differ && varies && self.decisions.is_none() {
            return Err(uncertain(Uncertainty::Kink, name, &[a, b]));
        }
        self.decide_by_order([a, b], site, i64::from(true_for_some))?;
        Ok(true_for_some)
    }

    /// A rounding, if it gives one Int for all numbers.
    pub(super) fn round_enclosed(
        &mut self,
        r: Rounding,
        v: &Value,
        site: Span,
    ) -> Result<i64, ErrorKind> {
        let [lo, hi] = ends(v);
        let [first, last] = [int::round(r, lo)?, int::round(r, hi)?];
        if first != last {
            return Err(uncertain(Uncertainty::Undecided, r.name(), &[v]));
        }
        let jumps = |x: f64| match r {
            Rounding::Floor | Rounding::Ceil => x.fract() == 0.0,
            Rounding::Round => x.fract().abs() == 0.5,
            Rounding::Trunc => x.fract() == 0.0 && x != 0.0,
        };
        if (jumps(lo) || jumps(hi)) && level_of(v) > 0 && self.decisions.is_none() {
            return Err(uncertain(Uncertainty::Kink, r.name(), &[v]));
        }
        self.decide_rounding(r, v, site, first)?;
        Ok(first)
    }

    /// The stable permutation that sorts an array, nan last, if it is one for all numbers.
    pub(super) fn sort_enclosed(&mut self, xs: &Array) -> Result<Vec<i64>, ErrorKind> {
        let all: Vec<Value> = xs.iter().collect();
        let keys: Vec<Option<Interval>> = all.iter().map(interval).collect();
        let mut order: Vec<usize> = (0..all.len()).collect();
        let ends = |i: usize| keys[i].map_or([f64::INFINITY; 2], |x| [x.lo(), x.hi()]);
        order.sort_by(|&i, &j| {
            let nan = keys[i].is_none().cmp(&keys[j].is_none());
            let [[a, b], [c, d]] = [ends(i), ends(j)];
            nan.then(a.total_cmp(&c)).then(b.total_cmp(&d)).then(i.cmp(&j))
        });
        for pair in order.windows(2) {
            let [i, j] = [pair[0], pair[1]];
            let (Some(x), Some(y)) = (keys[i], keys[j]) else { continue };
            let operands = [&all[i], &all[j]];
            // Equal numbers stay in their order.
            if x.hi() > y.lo() || (x.hi() == y.lo() && i > j) {
                return Err(uncertain(Uncertainty::Undecided, "sort", &operands));
            }
            let varies = operands.iter().any(|v| level_of(v) > 0);
            if x.hi() == y.lo() && varies && self.decisions.is_none() {
                return Err(uncertain(Uncertainty::Kink, "sort", &operands));
            }
        }
        Ok(order.into_iter().map(|i| i as i64).collect())
    }

    /// An Int as a Real.
    pub(crate) fn of_int(&self, n: i64) -> Value {
        match self.encloses {
            true => enclosure(Interval::of_int(n)),
            false => Value::Real(n as f64),
        }
    }

    /// The product of whole numbers, which may have been rounded.
    pub(crate) fn whole(&self, x: f64) -> Value {
        match self.encloses && x >= ROUNDED.0 {
            true => around(x, ROUNDED.1),
            false => Value::Real(x),
        }
    }

    /// A number of the table: exact if it has few digits, else the nearest to the one that is meant.
    #[inline]
    pub(crate) fn constant(&self, x: f64) -> Value {
        match self.encloses && (x * 8.0).fract() != 0.0 {
            true => around(x, 1),
            false => Value::Real(x),
        }
    }

    /// A partial derivative is zero under a condition, for all numbers; the exponent may be a constant.
    pub(crate) fn certainly(
        &self,
        condition: Condition,
        a: &Value,
        b: &Value,
        constant: bool,
    ) -> bool {
        let (Some(x), Some(e)) = (interval(a), interval(b)) else { return false };
        let zero = |x: Interval| x.is_point() && x.lo() == 0.0;
        match condition {
            Condition::ZeroExponent => zero(e) && (zero(x) || constant),
            Condition::ZeroBase => zero(x) && e.lo() > 0.0,
            // A number below the smallest of 64 bits is still not 0.
            Condition::Vanishes => false,
        }
    }

    /// The truncated quotient, if it is one for all numbers.
    pub(super) fn whole_quotient(&self, a: &Value, b: &Value) -> Result<Value, ErrorKind> {
        let quotient = interval(a).zip(interval(b)).and_then(|(a, b)| whole_quotient(a, b));
        quotient.map(Value::Real).ok_or_else(|| uncertain(Uncertainty::Undecided, "%", &[a, b]))
    }

    /// A Real with so many digits after the point, if that is one text for all numbers.
    pub(crate) fn digits(&self, count: i64, v: &Value) -> Result<String, ErrorKind> {
        let [lo, hi] = ends(v);
        let digits = text::digits(count, lo);
        match digits == text::digits(count, hi) {
            true => Ok(digits),
            false => Err(uncertain(Uncertainty::Undecided, "digits", &[v])),
        }
    }
}
