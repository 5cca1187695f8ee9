//! Arithmetic of real numbers, whatever levels of differentiation they carry.
//!
//! What comes in: an operation of the table and its operands. What goes out: its result. An operation
//! whose highest operand is of level n follows the rule of that level; operands below n are constants of
//! it, and the arithmetic in the rule is this arithmetic again, which is what the levels below see. So
//! derivatives nest. What always holds: kinks and operands outside the domain are reported for the
//! program's own operations only, once, before any rule; a [`Value::Zero`] is a 0 that does not vary.

mod decisions;
mod enclosed;
mod exact;
mod reports;
mod sets;

pub(crate) use decisions::{Decision, Decisions, ARGUMENT, CAPTURED};
pub(crate) use enclosed::undifferentiated;
pub use enclosed::{enclosure, interval};
pub(crate) use exact::{Tie, Ties};
pub(crate) use sets::{set_of, with_set};

use super::derivative::jet::{self, At, JetShape};
use super::derivative::level::{
    below, coefficients, entry, level_of, taped, JetLevel, Level, DEEPEST,
};
use super::derivative::tape::{Operation, Tape};
use super::error::{ErrorKind, WarningKind};
use super::watch::Watches;
use crate::array::Array;
use crate::names::Named;
use crate::prim::real::{self, row, Condition, DerivativeRule, Partial};
use crate::prim::{int, Comparison, RealOp, Rounding};
use crate::value::{Parts, Value};
use diffeo_base::deep;
use diffeo_base::Span;
use std::collections::HashSet;
use std::rc::Rc;

/// What is done where a function has no derivative or an operation no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinks {
    /// Nothing.
    Ignore,
    /// It is reported as a warning.
    Warn,
    /// It stops the program.
    Error,
    /// The directions of the derivative decide where values leave an operation undecided: see `reals/exact.rs`.
    Exact,
    /// Every Real is an interval that certainly has its exact value; what is not certain stops the program: see
    /// `reals/enclosed.rs`.
    Enclose,
}

/// The open levels, the reports and the count of operations.
#[derive(Debug)]
pub struct Reals {
    kinks: Kinks,
    /// Every Real is an interval.
    encloses: bool,
    /// Derivatives certainly are those of the functions.
    proves: bool,
    /// How many operations on single numbers were done, those of derivatives included.
    pub operations: u64,
    /// Whether derivatives of higher orders are taken by nested levels, because a rule may be no derivative.
    pub(crate) nests: bool,
    /// Whether the program was translated by one of the papers' systems.
    pub(crate) translated: bool,
    /// What its derivatives that are not finite come from.
    pub(crate) watches: Watches,
    /// Numbers that are nan are not known: what chooses between them may choose both.
    all_paths: bool,
    /// The largest finite absolute value that this arithmetic gave: a scale for rounding errors.
    pub largest: f64,
    /// The same of the terms whose sums are Taylor coefficients of order 1 and of order 2.
    pub largest_terms: [f64; 2],
    /// Where they are remembered, the decisions so far.
    pub(crate) decisions: Option<Decisions>,
    /// New warnings: what and where. Only the first of a kind at a place.
    pub warnings: Vec<(WarningKind, Span)>,
    reported: HashSet<(&'static str, Span)>,
    levels: Vec<Level>,
    /// The undecided operations of each level. They outlive the level, since the operator asks for them once it has closed
    /// it.
    ties: Vec<Ties>,
    /// The multi-indices that were needed so far.
    shapes: Vec<Rc<JetShape>>,
    /// The number of steps of the longest tape so far.
    #[cfg(test)]
    longest_tape: usize,
}

/// The primal of a Real leaf: the number without any derivative information, of an interval one in the middle. Nan of
/// anything else.
pub fn primal(v: &Value) -> f64 {
    let mut v = v;
    loop {
        match v {
            Value::Real(x) => return *x,
            Value::Dual { primal, .. } => return *primal,
            Value::Zero => return 0.0,
            Value::Active(a) => {
                v = match &a.parts {
                    Parts::Tape { primal, .. } => primal,
                    Parts::Jet(coefficients) => &coefficients[0],
                    Parts::Interval(interval) => return interval.middle(),
                }
            }
            Value::Unit
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Tuple(_)
            | Value::Data(_)
            | Value::Array(_)
            | Value::Function(_) => return f64::NAN,
        }
    }
}

/// The number, if nothing that is being differentiated influences it.
#[inline]
pub(crate) fn plain(v: &Value) -> Option<f64> {
    if let Value::Real(x) = v {
        Some(*x)
    } else if let Value::Zero = v {
        Some(0.0)
    } else {
        None
    }
}

/// The partial derivative under this condition.
fn vanished(condition: Condition, a: f64) -> Value {
    if condition.is_number(a) {
        Value::Real(0.0)
    } else {
        Value::Zero
    }
}

#[inline]
fn is_zero(v: &Value) -> bool {
    matches!(v, Value::Zero)
}

impl Reals {
    /// No level open, nothing reported.
    pub fn new(kinks: Kinks) -> Reals {
        Reals {
            kinks,
            encloses: kinks == Kinks::Enclose,
            proves: false,
            operations: 0,
            nests: false,
            translated: false,
            watches: Watches::default(),
            all_paths: false,
            largest: 0.0,
            largest_terms: [0.0; 2],
            decisions: None,
            warnings: Vec::new(),
            reported: HashSet::new(),
            levels: Vec::new(),
            ties: Vec::new(),
            shapes: Vec::new(),
            #[cfg(test)]
            longest_tape: 0,
        }
    }

    /// The result of an operation of the program; a unary one ignores `b`.
    ///
    /// # Errors
    /// [`ErrorKind::Kink`] and [`ErrorKind::OutsideDomain`] under [`Kinks::Error`].
    #[inline]
    pub fn apply(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        match self.kinks {
            _ if self.encloses => self.check_enclosed(op, a, b)?,
            Kinks::Ignore | Kinks::Enclose => {}
            Kinks::Warn | Kinks::Error => self.check(op, a, b, site)?,
            Kinks::Exact => {
                if let Some(decided) = self.undecided(op, a, b, site)? {
                    return Ok(decided);
                }
            }
        }
        if self.translated {
            return Ok(self.translated(op, a, b, site));
        }
        self.op(op, a, b, site)
    }

    /// `x ^ n`, by repeated multiplication.
    ///
    /// # Errors
    /// As for [`Reals::apply`].
    pub fn pow_int(&mut self, x: &Value, n: i64, site: Span) -> Result<Value, ErrorKind> {
        if self.kinks != Kinks::Ignore && n < 0 && primal(x) == 0.0 {
            self.report_domain("^", &[0.0, n as f64], site)?;
        }
        self.raise(x, n, site)
    }

    /// The comparison of two numbers.
    ///
    /// # Errors
    /// As for [`Reals::apply`].
    pub fn compare(
        &mut self,
        c: Comparison,
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<bool, ErrorKind> {
        self.operations += 1;
        let (x, y) = (primal(a), primal(b));
        let (name, mut holds) = match c {
            Comparison::Eq => ("==", x == y),
            Comparison::Ne => ("!=", x != y),
            Comparison::Lt => ("<", x < y),
            Comparison::Le => ("<=", x <= y),
            Comparison::Gt => (">", x > y),
            Comparison::Ge => (">=", x >= y),
        };
        if self.encloses {
            return self.compare_enclosed((c, name), a, b, site);
        }
        if x == y && (level_of(a) > 0 || level_of(b) > 0) {
            if self.kinks == Kinks::Exact {
                holds = self.compare_exactly((c, name), a, b, site);
            } else {
                self.report_kink(name, &[x, y], site)?;
            }
        }
        if self.decisions.is_some() {
            self.decide_by_order([a, b], site, i64::from(holds))?;
        }
        Ok(holds)
    }

    /// A number rounded to an Int.
    ///
    /// # Errors
    /// [`ErrorKind::NotAnInt`] of nan and beyond 64 bits; else as for [`Reals::apply`].
    pub fn round(&mut self, r: Rounding, v: &Value, site: Span) -> Result<i64, ErrorKind> {
        self.operations += 1;
        if self.encloses {
            return self.round_enclosed(r, v, site);
        }
        let x = primal(v);
        let integer = x.fract() == 0.0;
        let mut rounded = int::round(r, x)?;
        let jump = match r {
            Rounding::Floor | Rounding::Ceil => integer,
            Rounding::Round => x.fract().abs() == 0.5,
            Rounding::Trunc => integer && x != 0.0,
        };
        if jump && level_of(v) > 0 {
            if self.kinks == Kinks::Exact {
                rounded = self.round_exactly(r, v, rounded, site);
            } else {
                self.report_kink(r.name(), &[x], site)?;
            }
        }
        if self.decisions.is_some() {
            self.decide_rounding(r, v, site, rounded)?;
        }
        Ok(rounded)
    }

    /// The stable permutation that sorts an array of numbers, nan last.
    ///
    /// # Errors
    /// As for [`Reals::apply`].
    pub fn argsort(&mut self, xs: &Array, site: Span) -> Result<Vec<i64>, ErrorKind> {
        let keys: Vec<f64> = match xs.reals() {
            Some(keys) => keys.to_vec(),
            None => xs.iter().map(|v| primal(&v)).collect(),
        };
        self.operations += keys.len() as u64;
        if self.encloses {
            return self.sort_enclosed(xs);
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|&i, &j| {
            let (x, y) = (keys[i], keys[j]);
            x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        });
        if self.kinks == Kinks::Exact && xs.reals().is_none() {
            self.sort_exactly(xs, &keys, &mut order, site);
        } else if self.kinks != Kinks::Ignore && xs.reals().is_none() {
            for pair in order.windows(2) {
                let [x, y] = [xs.get(pair[0]), xs.get(pair[1])];
                if primal(&x) == primal(&y) && (level_of(&x) > 0 || level_of(&y) > 0) {
                    self.report_kink("sort", &[primal(&x), primal(&y)], site)?;
                }
            }
        }
        if self.decisions.is_some() && xs.reals().is_none() {
            let sorted: Vec<Value> = order.iter().map(|i| xs.get(*i)).collect();
            let mixed = |h: i64, i: &usize| h.wrapping_mul(31).wrapping_add(*i as i64);
            self.decide_order(&sorted, site, order.iter().fold(0, mixed))?;
        }
        Ok(order.into_iter().map(|i| i as i64).collect())
    }
}

/// Levels.
impl Reals {
    /// How many levels are open.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The number of steps of the longest tape so far.
    #[cfg(test)]
    pub(crate) fn longest_tape(&self) -> usize {
        self.longest_tape
    }

    fn open(&mut self, level: Level) -> Result<u16, ErrorKind> {
        if self.levels.len() >= usize::from(DEEPEST) {
            let depth = self.levels.len();
            return Err(ErrorKind::TooDeep { depth, function: "derivatives".into() });
        }
        self.ties.truncate(self.levels.len());
        self.ties.push(Ties::default());
        self.levels.push(level);
        Ok(self.levels.len() as u16)
    }

    /// Opens a reverse-mode level.
    pub(crate) fn open_tape(&mut self) -> Result<u16, ErrorKind> {
        let level = self.levels.len() as u16 + 1;
        self.open(Level::Tape(Tape { level, ..Tape::default() }))
    }

    /// Opens a level of Taylor coefficients of k variables up to order r.
    pub(crate) fn open_jet(&mut self, k: u32, r: u32) -> Result<(u16, Rc<JetShape>), ErrorKind> {
        let shape = self.jet_shape(k, r);
        let level = JetLevel { shape: shape.clone(), culprit: None, germ: None, sets: false };
        Ok((self.open(Level::Jet(level))?, shape))
    }

    /// The multi-indices of k variables up to order r.
    pub(crate) fn jet_shape(&mut self, k: u32, r: u32) -> Rc<JetShape> {
        if let Some(shape) = self.shapes.iter().find(|s| s.k == k && s.r == r) {
            return shape.clone();
        }
        let shape = Rc::new(JetShape::new(k, r));
        self.shapes.push(shape.clone());
        shape
    }

    /// Closes a level, and those above it that an error left open.
    pub(crate) fn close(&mut self, level: u16) -> Option<Level> {
        self.levels.truncate(usize::from(level));
        let closed = self.levels.pop();
        #[cfg(test)]
        if let Some(Level::Tape(tape)) = &closed {
            self.longest_tape = self.longest_tape.max(tape.length);
        }
        closed
    }

    /// The multi-indices of a level of Taylor coefficients; none for a tape.
    pub(crate) fn shape(&self, level: u16) -> Option<Rc<JetShape>> {
        match self.levels.get(usize::from(level).checked_sub(1)?)? {
            Level::Jet(jet) => Some(jet.shape.clone()),
            Level::Tape(_) => None,
        }
    }

    /// The tape of a level.
    pub(crate) fn tape(&mut self, level: u16) -> Result<&mut Tape, ErrorKind> {
        match self.levels.get_mut(usize::from(level).wrapping_sub(1)) {
            Some(Level::Tape(tape)) => Ok(tape),
            Some(Level::Jet(_)) | None => Err(no_level(level)),
        }
    }

    /// A number of lower levels as one that depends on this level's variables with derivative zero.
    pub(crate) fn lift(&self, level: u16, v: Value) -> Value {
        match self.shape(level) {
            Some(shape) => super::derivative::level::jet(level, jet::constant(&shape, v)),
            None => taped(level, 0, v),
        }
    }
}

#[cold]
fn no_level(level: u16) -> ErrorKind {
    ErrorKind::Internal { message: format!("a number of level {level}, which is not open") }
}

/// Arithmetic without reports, for the rules themselves.
impl Reals {
    /// The result of an operation; a unary one ignores `b`.
    pub(crate) fn op(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        self.operations += 1;
        if self.encloses && level_of(a) == 0 && level_of(b) == 0 {
            return self.enclosed(op, a, b);
        }
        if let (Some(x), Some(y)) = (plain(a), plain(b)) {
            return Ok(self.number(real::eval(op, x, y)));
        }
        if self.decisions.is_some() {
            self.decide_in(op, a, b, site)?;
        }
        let row = row(op);
        let b = if row.arity == 2 { b } else { &Value::Zero };
        let level = level_of(a).max(level_of(b));
        if level == 0 {
            return Ok(self.number(real::eval(op, primal(a), primal(b))));
        }
        // The rule of a level does its arithmetic one level below.
        if level.is_multiple_of(64) {
            return deep(|| self.at_level(op, a, b, level, site));
        }
        self.at_level(op, a, b, level, site)
    }

    /// A result that nothing influences.
    #[inline]
    fn number(&mut self, x: f64) -> Value {
        let size = x.abs();
        if size > self.largest && size < f64::INFINITY {
            self.largest = size;
        }
        Value::Real(x)
    }

    /// Notes a term whose sum with others is a Taylor coefficient of this order.
    pub(crate) fn met(&mut self, order: u32, term: f64) {
        let order = order.checked_sub(1).and_then(|i| self.largest_terms.get_mut(i as usize));
        if let Some(largest) = order.filter(|_| term.is_finite()) {
            *largest = largest.max(term.abs());
        }
    }

    fn at_level(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        level: u16,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        if self.has_sets(level) {
            return self.with_sets(op, [a, b], level, site);
        }
        if row(op).derivative == DerivativeRule::Select {
            return self.select(op, a, b, level, site);
        }
        match self.levels.get(usize::from(level) - 1) {
            Some(Level::Tape(_)) => self.record(op, a, b, level, site),
            Some(Level::Jet(jet)) => {
                let shape = &jet.shape.clone();
                jet::apply(self, op, a, b, At { level, shape, site })
            }
            None => Err(no_level(level)),
        }
    }

    /// An operation at a tape level.
    fn record(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        level: u16,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let parents = [entry(a, level), entry(b, level)];
        let (a, b) = (below(a, level), below(b, level));
        let y = self.op(op, &a, &b, site)?;
        if parents == [0, 0] {
            return Ok(taped(level, 0, y));
        }
        let second = if row(op).arity == 2 { b } else { y.clone() };
        let germ = self.germ_below(level);
        let tape = self.tape(level)?;
        // The directions have decided: the sweep needs them no more.
        let held = || match germ {
            0 => [a, second],
            germ => [below(&a, germ), below(&second, germ)],
        };
        let id = tape.push(Operation::Real(op), site, parents, held)?;
        Ok(taped(level, id, y))
    }

    /// An operation whose result is one of its operands, whatever influenced the choice.
    fn select(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        level: u16,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let (x, y) = (primal(a), primal(b));
        if self.may_choose_both(op, x, y) {
            return self.op(RealOp::Add, a, b, site);
        }
        if op == RealOp::Abs && x < 0.0 {
            return self.op(RealOp::Neg, a, &Value::Zero, site);
        }
        let chosen = if op == RealOp::Sign || (op == RealOp::Abs && x == 0.0) {
            None
        } else if op == RealOp::Abs || real::chooses_first(op, x, y) {
            Some(a)
        } else {
            Some(b)
        };
        // The levels below choose for themselves; that marks what influenced the choice there.
        let p = self.op(op, &below(a, level), &below(b, level), site)?;
        Ok(match chosen.filter(|v| level_of(v) == level) {
            None => self.lift(level, p),
            Some(v) => match coefficients(v, level) {
                None => taped(level, entry(v, level), p),
                Some(coefficients) => {
                    let mut coefficients = coefficients.to_vec();
                    coefficients[0] = p;
                    super::derivative::level::jet(level, coefficients)
                }
            },
        })
    }

    /// `x ^ n` by repeated multiplication.
    pub(crate) fn raise(&mut self, x: &Value, n: i64, site: Span) -> Result<Value, ErrorKind> {
        self.operations += 1;
        let level = level_of(x);
        if level == 0 && self.encloses {
            return self.enclosed_power(x, n);
        }
        if level == 0 {
            return Ok(self.number(real::power(primal(x), n)));
        }
        let base = below(x, level);
        if n == 0 {
            let y = self.raise(&base, n, site)?;
            return Ok(self.lift(level, y));
        }
        if self.has_sets(level) {
            let y = self.raise(&base, n, site)?;
            return Ok(with_set(level, y, set_of(x, level)));
        }
        if let Some(shape) = &self.shape(level) {
            return jet::power(self, x, n, At { level, shape, site });
        }
        let y = self.raise(&base, n, site)?;
        let id = match entry(x, level) {
            0 => 0,
            id => {
                let germ = self.germ_below(level);
                let held = || [below(&base, germ), Value::Int(n)];
                self.tape(level)?.push(Operation::Power, site, [id, 0], held)?
            }
        };
        Ok(taped(level, id, y))
    }

    /// The derivative `n x^(n-1)` of `x ^ n`.
    pub(crate) fn power_slope(
        &mut self,
        x: &Value,
        n: i64,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let power = self.raise(x, n.saturating_sub(1), site)?;
        self.mul(&self.of_int(n), &power, site)
    }

    /// The partial derivative of an operation by operand `i`; its result is computed if need be.
    pub(crate) fn partial(
        &mut self,
        i: usize,
        op: RealOp,
        a: &Value,
        b: &Value,
        y: &mut Option<Value>,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let DerivativeRule::Partials(partials) = row(op).derivative else { return Ok(Value::Zero) };
        let term = &partials[i];
        let (Some(p), Some(q)) = (plain(a), plain(b)) else {
            return self.term(term, op, a, b, y, site);
        };
        if self.encloses {
            return self.term(term, op, a, b, y, site);
        }
        if let Partial::ZeroWhere(condition, _) = term {
            if condition.holds(p, q) {
                return Ok(vanished(*condition, p));
            }
        }
        let mut z = y.as_ref().map(primal);
        let slope = real::partial(term, op, [p, q], &mut z, &mut self.operations);
        *y = z.map(Value::Real);
        Ok(Value::Real(slope))
    }

    fn term(
        &mut self,
        term: &Partial,
        op: RealOp,
        a: &Value,
        b: &Value,
        y: &mut Option<Value>,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        match term {
            Partial::A => Ok(a.clone()),
            Partial::B => Ok(b.clone()),
            Partial::Y => match y {
                Some(y) => Ok(y.clone()),
                None => Ok(y.insert(self.op(op, a, b, site)?).clone()),
            },
            Partial::Num(x) => Ok(self.constant(*x)),
            Partial::Un(f, t) => {
                let t = self.term(t, op, a, b, y, site)?;
                self.op(*f, &t, &Value::Zero, site)
            }
            Partial::Bin(f, s, t) => {
                let s = self.term(s, op, a, b, y, site)?;
                let t = self.term(t, op, a, b, y, site)?;
                self.op(*f, &s, &t, site)
            }
            Partial::NextPolygamma => self.op(real::next_polygamma(op), a, &Value::Zero, site),
            Partial::TruncatedQuotient => self.truncated_quotient(a, b),
            Partial::ZeroWhere(condition, t) => {
                let (x, e) = (primal(a), primal(b));
                let zero = match condition {
                    _ if self.encloses => self.certainly(*condition, a, b, plain(b).is_some()),
                    Condition::ZeroExponent => e == 0.0 && (x == 0.0 || plain(b).is_some()),
                    Condition::ZeroBase | Condition::Vanishes => condition.holds(x, e),
                };
                if zero {
                    Ok(vanished(*condition, x))
                } else {
                    self.term(t, op, a, b, y, site)
                }
            }
        }
    }

    /// The value of [`Partial::TruncatedQuotient`].
    pub(crate) fn truncated_quotient(&self, a: &Value, b: &Value) -> Result<Value, ErrorKind> {
        match self.encloses {
            true => self.whole_quotient(a, b),
            false => Ok(Value::Real(real::truncated_quotient(primal(a), primal(b)))),
        }
    }

    /// `a + b`
    #[inline]
    pub(crate) fn add(&mut self, a: &Value, b: &Value, site: Span) -> Result<Value, ErrorKind> {
        if is_zero(a) {
            Ok(b.clone())
        } else if is_zero(b) {
            Ok(a.clone())
        } else {
            self.op(RealOp::Add, a, b, site)
        }
    }

    /// `a * b`; zero where one does not vary at all.
    #[inline]
    pub(crate) fn mul(&mut self, a: &Value, b: &Value, site: Span) -> Result<Value, ErrorKind> {
        if is_zero(a) || is_zero(b) {
            Ok(Value::Zero)
        } else if plain(a) == Some(1.0) {
            Ok(b.clone())
        } else if plain(b) == Some(1.0) {
            Ok(a.clone())
        } else {
            self.op(RealOp::Mul, a, b, site)
        }
    }

    /// `a / b`; zero where a does not vary at all.
    pub(crate) fn divide(&mut self, a: &Value, b: &Value, site: Span) -> Result<Value, ErrorKind> {
        if is_zero(a) {
            Ok(Value::Zero)
        } else {
            self.op(RealOp::Div, a, b, site)
        }
    }

    /// `-a`
    pub(crate) fn negate(&mut self, a: &Value, site: Span) -> Result<Value, ErrorKind> {
        if is_zero(a) {
            Ok(Value::Zero)
        } else {
            self.op(RealOp::Neg, a, &Value::Zero, site)
        }
    }

    /// `c * a` for a number c.
    pub(crate) fn times(&mut self, c: f64, a: &Value, site: Span) -> Result<Value, ErrorKind> {
        self.mul(&Value::Real(c), a, site)
    }
}
