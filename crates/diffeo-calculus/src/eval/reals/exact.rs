//! Kinks decided by directions ([`Kinks::Exact`](super::Kinks)): lexicographic directional derivatives.
//!
//! What comes in: an operation that its operands' values leave undecided. What goes out: what it comes to where the point
//! has moved a little along the directions of the derivatives that are being taken. A number of a level is its primal with
//! infinitesimals, those of a lower level larger than all of a higher one, of a level each larger than the next, and than
//! all products: so numbers are ordered by their primals, then by their coefficients, the lowest level first. What always
//! holds: levels whose variables an undecided operation depends on know it ([`Ties`]), so whoever opened them begins again
//! with a level of directions (a germ, `derivative/exact.rs`) below; what values decide is as without all this.
//!
//! Nesterov, Lexicographic differentiation of nonsmooth functions, 2005; Khan & Barton, A vector forward mode of automatic
//! differentiation for generalized derivative evaluation, 2015.

use super::Reals;
use crate::array::Array;
use crate::eval::derivative::jet::JetShape;
use crate::eval::derivative::level::{below, coefficients, level_of, JetLevel, Level};
use crate::eval::error::ErrorKind;
use crate::eval::reals::primal;
use crate::names::Named;
use crate::prim::real::{row, truncated_quotient};
use crate::prim::{Comparison, RealOp, Rounding};
use crate::value::Value;
use diffeo_base::{deep, Span};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The undecided operations of a level.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ties {
    /// An operation was undecided that the levels below had not decided.
    pub met: bool,
    /// The coefficients of the level have left an operation undecided.
    pub open: bool,
    /// The coefficients of the level that have decided an operation at which a function may jump.
    pub deciding: BTreeSet<usize>,
    /// Where a function may jump, and what was decided by the coefficients of the level.
    pub jumps: Vec<Tie>,
}

/// A comparison or a rounding that values leave undecided.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tie {
    pub site: Span,
    pub op: &'static str,
    pub operands: Vec<f64>,
    /// How the values alone come out, and how it was decided.
    pub outcomes: [i64; 2],
}

/// The primals or coefficients in which two numbers first differ, and the level and the coefficient that they are of.
type Leading = Option<([f64; 2], u16, usize)>;

/// Levels of directions.
impl Reals {
    /// Directions decide at kinks.
    pub(crate) fn is_exact(&self) -> bool {
        self.kinks == super::Kinks::Exact && !self.encloses
    }

    /// Decides kinks by directions from now on, or does again what this gave.
    pub(crate) fn set_kinks(&mut self, kinks: super::Kinks) -> super::Kinks {
        std::mem::replace(&mut self.kinks, kinks)
    }

    /// Opens a level of directions up to an order, which decide for the level above it.
    pub(crate) fn open_germ(
        &mut self,
        directions: u32,
        order: u32,
    ) -> Result<(u16, Rc<JetShape>), ErrorKind> {
        let shape = match order {
            0 | 1 => Rc::new(JetShape::directions(directions)),
            _ => self.jet_shape(directions, order),
        };
        let mut germ: Vec<usize> = (1..shape.count()).collect();
        // Infinitesimals by size: a lower degree is larger; within a degree, more of an earlier direction is.
        germ.sort_by_key(|i| (shape.degrees[*i], shape.indices.get(*i).map(std::cmp::Reverse)));
        let germ = Some(germ.into());
        let level = self.open(Level::Jet(JetLevel {
            shape: shape.clone(),
            culprit: None,
            germ,
            sets: false,
        }))?;
        Ok((level, shape))
    }

    /// The level of directions right below a level; 0 if there is none.
    pub(crate) fn germ_below(&self, level: u16) -> u16 {
        match usize::from(level).checked_sub(2).and_then(|i| self.levels.get(i)) {
            Some(Level::Jet(JetLevel { germ: Some(_), .. })) => level - 1,
            Some(Level::Jet(_) | Level::Tape(_)) | None => 0,
        }
    }

    /// The undecided operations of a level, which may have been closed since.
    pub(crate) fn ties(&self, level: u16) -> Ties {
        self.ties.get(usize::from(level).wrapping_sub(1)).cloned().unwrap_or_default()
    }

    /// An operation was undecided at this level, which may have been closed since.
    pub(crate) fn is_undecided(&self, level: u16) -> bool {
        self.ties.get(usize::from(level).wrapping_sub(1)).is_some_and(|ties| ties.met)
    }

    /// Passes on that something was undecided at a level of a rule to the level that it is used at.
    pub(crate) fn undecided_by_rule(&mut self, above: u16, level: u16) {
        if self.is_undecided(above) {
            self.ties[usize::from(level) - 1].met = true;
        }
    }
}

/// Decisions.
impl Reals {
    /// The first primals or coefficients of two numbers that satisfy this; marks the levels that have left it open.
    fn leading(&mut self, a: &Value, b: &Value, decides: fn(f64, f64) -> bool) -> Leading {
        let level = level_of(a).max(level_of(b));
        if level == 0 {
            let pair = [primal(a), primal(b)];
            return decides(pair[0], pair[1]).then_some((pair, 0, 0));
        }
        if level.is_multiple_of(64) {
            return deep(|| self.leading_at(a, b, level, decides));
        }
        self.leading_at(a, b, level, decides)
    }

    fn leading_at(
        &mut self,
        a: &Value,
        b: &Value,
        level: u16,
        decides: fn(f64, f64) -> bool,
    ) -> Leading {
        if let found @ Some(_) = self.leading(&below(a, level), &below(b, level), decides) {
            return found;
        }
        if let Some(ties) = self.ties.get_mut(usize::from(level) - 1) {
            ties.met = true;
        }
        // Tangents of operators do not decide, so that derivatives are linear in them.
        let order = match self.levels.get(usize::from(level) - 1) {
            Some(Level::Jet(JetLevel { germ: Some(order), .. })) => order.clone(),
            Some(Level::Jet(_) | Level::Tape(_)) | None => return None,
        };
        for &i in order.iter() {
            let [x, y] =
                [a, b].map(|v| coefficients(v, level).map_or(Value::Zero, |c| c[i].clone()));
            if let Some((pair, ..)) = self.leading(&x, &y, decides) {
                return Some((pair, level, i));
            }
        }
        if let Some(ties) = self.ties.get_mut(usize::from(level) - 1) {
            ties.open = true;
        }
        None
    }

    /// How two numbers compare, one infinitesimally moved along all that varies, and what decides.
    fn order(&mut self, a: &Value, b: &Value) -> (Ordering, Leading) {
        let leading = self.leading(a, b, |x, y| x != y);
        let order = leading.and_then(|([x, y], ..)| x.partial_cmp(&y));
        (order.unwrap_or(Ordering::Equal), leading)
    }

    /// Remembers a decision at which a function may jump.
    fn may_jump(&mut self, leading: Leading, tie: Tie) {
        let Some((_, level, i)) = leading else { return };
        if let Some(ties) = self.ties.get_mut(usize::from(level).wrapping_sub(1)) {
            ties.deciding.insert(i);
            ties.jumps.push(tie);
        }
    }

    /// A comparison of numbers with equal primals.
    pub(super) fn compare_exactly(
        &mut self,
        (c, op): (Comparison, &'static str),
        a: &Value,
        b: &Value,
        site: Span,
    ) -> bool {
        let (order, leading) = self.order(a, b);
        let holds = |order: Ordering| match c {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
        };
        let outcomes = [Ordering::Equal, order].map(|o| i64::from(holds(o)));
        self.may_jump(leading, Tie { site, op, operands: vec![primal(a), primal(b)], outcomes });
        holds(order)
    }

    /// A rounding where it jumps.
    pub(super) fn round_exactly(
        &mut self,
        r: Rounding,
        v: &Value,
        rounded: i64,
        site: Span,
    ) -> i64 {
        let x = primal(v);
        let (order, leading) = self.order(v, &Value::Real(x));
        let step = match (r, order) {
            (_, Ordering::Equal) => 0,
            (Rounding::Floor, Ordering::Less) => -1,
            (Rounding::Ceil, Ordering::Greater) => 1,
            (Rounding::Trunc, Ordering::Less) if x > 0.0 => -1,
            (Rounding::Trunc, Ordering::Greater) if x < 0.0 => 1,
            (Rounding::Round, Ordering::Less) if x > 0.0 => -1,
            (Rounding::Round, Ordering::Greater) if x < 0.0 => 1,
            (Rounding::Floor | Rounding::Ceil | Rounding::Trunc | Rounding::Round, _) => 0,
        };
        let decided = rounded.saturating_add(step);
        let outcomes = [rounded, decided];
        self.may_jump(leading, Tie { site, op: r.name(), operands: vec![x], outcomes });
        decided
    }

    /// Sorts what ties in a permutation that sorts the keys.
    pub(super) fn sort_exactly(
        &mut self,
        xs: &Array,
        keys: &[f64],
        order: &mut [usize],
        site: Span,
    ) {
        for tied in order.chunk_by_mut(|&i, &j| keys[i] == keys[j]).filter(|c| c.len() > 1) {
            let by_value = tied.to_vec();
            let mut numbers: Vec<(usize, Value)> = tied.iter().map(|&i| (i, xs.get(i))).collect();
            let mut decisive = None;
            numbers.sort_by(|(_, x), (_, y)| {
                let (_, leading) = self.order(x, y);
                decisive = decisive.or(leading);
                // nan last, as among the keys: sorting asks for a total order.
                leading.map_or(Ordering::Equal, |([x, y], ..)| {
                    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
                })
            });
            for (place, (i, _)) in tied.iter_mut().zip(numbers) {
                *place = i;
            }
            let mixed = |order: &[usize]| {
                order.iter().fold(0i64, |h, i| h.wrapping_mul(31).wrapping_add(*i as i64))
            };
            let outcomes = [mixed(&by_value), mixed(tied)];
            let operands = vec![keys[tied[0]], keys[tied[1]]];
            self.may_jump(decisive, Tie { site, op: "sort", operands, outcomes });
        }
    }

    /// The result of an operation of the program at a kink; nothing where it has none.
    ///
    /// # Errors
    /// [`ErrorKind::Kink`] where no direction decides: the derivative is not bounded.
    pub(super) fn undecided(
        &mut self,
        op: RealOp,
        a: &Value,
        b: &Value,
        site: Span,
    ) -> Result<Option<Value>, ErrorKind> {
        let row = row(op);
        let b = if row.arity == 2 { b } else { &Value::Zero };
        let operands = [primal(a), primal(b)];
        let active = [level_of(a) > 0, level_of(b) > 0];
        if active == [false; 2] || !(row.kink)(operands[0], operands[1], active) {
            return Ok(None);
        }
        let chosen = match op {
            RealOp::Abs => match self.order(a, &Value::Zero).0 {
                Ordering::Less => Some(self.op(RealOp::Neg, a, &Value::Zero, site)?),
                Ordering::Greater => Some(a.clone()),
                Ordering::Equal => None,
            },
            RealOp::Sign => {
                let (order, leading) = self.order(a, &Value::Zero);
                let outcomes = [0, order as i64];
                self.may_jump(leading, Tie { site, op: row.name, operands: vec![0.0], outcomes });
                order.is_ne().then_some(Value::Real(f64::from(order as i8)))
            }
            RealOp::Min | RealOp::Max => {
                let first = if op == RealOp::Min { Ordering::Less } else { Ordering::Greater };
                match self.order(a, b).0 {
                    Ordering::Equal => None,
                    order if order == first => Some(a.clone()),
                    _ => Some(b.clone()),
                }
            }
            RealOp::Rem => self.remainder(a, b, operands, site)?,
            RealOp::Hypot => Some(self.length(a, b, site)?),
            _ => {
                let operands = operands[..row.arity].to_vec();
                return Err(ErrorKind::Kink { op: row.name, operands });
            }
        };
        Ok(chosen)
    }

    /// `a % b` where b divides a: from below, the quotient is one less.
    fn remainder(
        &mut self,
        a: &Value,
        b: &Value,
        [x, y]: [f64; 2],
        site: Span,
    ) -> Result<Option<Value>, ErrorKind> {
        let quotient = truncated_quotient(x, y).round();
        let multiple = self.op(RealOp::Mul, b, &Value::Real(quotient), site)?;
        let rest = self.op(RealOp::Sub, a, &multiple, site)?;
        // The multiple may be rounded: what is infinitesimal decides.
        let (order, leading) = self.order(&rest, &Value::Real(primal(&rest)));
        let beyond = order.is_ne() && order.is_lt() == (x > 0.0);
        let decided = if beyond { quotient - quotient.signum() } else { quotient };
        let outcomes = [quotient as i64, decided as i64];
        self.may_jump(leading, Tie { site, op: "%", operands: vec![x, y], outcomes });
        if !beyond {
            return Ok(None);
        }
        let multiple = self.op(RealOp::Mul, b, &Value::Real(decided), site)?;
        self.op(RealOp::Sub, a, &multiple, site).map(Some)
    }

    /// `hypot(a, b)` at (0, 0): along the first direction in which they leave it, they are in a fixed ratio, so it is a
    /// linear function of them. Of second derivatives there are none.
    fn length(&mut self, a: &Value, b: &Value, site: Span) -> Result<Value, ErrorKind> {
        if self.differentiations(a, b) > 1 {
            return Err(ErrorKind::Kink { op: "hypot", operands: vec![0.0, 0.0] });
        }
        let [x, y] = self.leading(a, b, |x, y| x != 0.0 || y != 0.0).map_or([0.0; 2], |l| l.0);
        let length = x.hypot(y);
        let [x, y] = [x, y].map(|x| if length == 0.0 { 0.0 } else { x / length });
        let x = self.op(RealOp::Mul, a, &Value::Real(x), site)?;
        let y = self.op(RealOp::Mul, b, &Value::Real(y), site)?;
        self.op(RealOp::Add, &x, &y, site)
    }

    /// The number of derivatives, directions apart, that are taken of numbers that depend on these.
    fn differentiations(&self, a: &Value, b: &Value) -> u32 {
        let mut order = 0;
        let (mut a, mut b) = (a.clone(), b.clone());
        loop {
            let level = level_of(&a).max(level_of(&b));
            order += match usize::from(level).checked_sub(1).and_then(|i| self.levels.get(i)) {
                None => return order,
                Some(Level::Tape(_)) => 1,
                Some(Level::Jet(jet)) if jet.germ.is_some() => 0,
                Some(Level::Jet(jet)) => jet.shape.r,
            };
            (a, b) = (below(&a, level), below(&b, level));
        }
    }
}
