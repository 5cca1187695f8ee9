//! Linear forms: sums of Int variables and products of two, with constant factors; exact as mathematical integers.

use crate::ir::Var;
use smallvec::SmallVec;

/// A term of a linear form: a variable, or a product of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Term {
    Var(Var),
    /// The first is not after the second.
    Product(Var, Var),
}

/// `constant + Σ factor · term`, the terms in rising order, without zero factors.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Linear {
    pub constant: i128,
    pub terms: SmallVec<[(Term, i64); 4]>,
}

/// Maximum number of terms of a form.
const MOST_TERMS: usize = 6;

impl Linear {
    pub fn constant(n: i64) -> Linear {
        Linear { constant: i128::from(n), terms: SmallVec::new() }
    }

    pub fn var(v: Var) -> Linear {
        Linear { constant: 0, terms: SmallVec::from_iter([(Term::Var(v), 1)]) }
    }

    /// `self + factor · other`; `None` if it gets too long or large.
    pub fn plus(&self, factor: i64, other: &Linear) -> Option<Linear> {
        let scaled = other.constant.checked_mul(i128::from(factor))?;
        let mut sum =
            Linear { constant: self.constant.checked_add(scaled)?, terms: SmallVec::new() };
        let (mut i, mut j) = (0, 0);
        while i < self.terms.len() || j < other.terms.len() {
            let (left, right) = (self.terms.get(i), other.terms.get(j));
            let take_left = right.is_none_or(|r| left.is_some_and(|l| l.0 <= r.0));
            let take_right = left.is_none_or(|l| right.is_some_and(|r| r.0 <= l.0));
            let mut entry = None;
            if let (true, Some(l)) = (take_left, left) {
                entry = Some(*l);
                i += 1;
            }
            if let (true, Some(r)) = (take_right, right) {
                let more = r.1.checked_mul(factor)?;
                entry = Some((r.0, entry.map_or(Some(more), |e| e.1.checked_add(more))?));
                j += 1;
            }
            sum.terms.extend(entry.filter(|e| e.1 != 0));
        }
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }

    pub fn plus_constant(&self, n: i64) -> Linear {
        Linear { constant: self.constant.saturating_add(i128::from(n)), ..self.clone() }
    }

    /// `factor · self`
    pub fn times(&self, factor: i64) -> Option<Linear> {
        Linear::default().plus(factor, self)
    }

    /// The product; `None` if it has a product of three variables.
    pub fn product(&self, other: &Linear) -> Option<Linear> {
        let mut sum = other.times(i64::try_from(self.constant).ok()?)?;
        for (term, factor) in &self.terms {
            let Term::Var(v) = term else {
                // Only with a constant.
                if other.terms.is_empty() {
                    let factor = factor.checked_mul(i64::try_from(other.constant).ok()?)?;
                    let one = Linear { constant: 0, terms: SmallVec::from_iter([(*term, 1)]) };
                    sum = sum.plus(factor, &one)?;
                    continue;
                }
                return None;
            };
            sum = sum.plus(*factor, &other.times_var(*v)?)?;
        }
        Some(sum)
    }

    /// `v · self`
    pub fn times_var(&self, v: Var) -> Option<Linear> {
        let mut product = Linear::default();
        let constant = i64::try_from(self.constant).ok()?;
        product = product.plus(constant, &Linear::var(v))?;
        for (term, factor) in &self.terms {
            let Term::Var(w) = term else { return None };
            let term = Term::Product(v.min(*w), v.max(*w));
            let one = Linear { constant: 0, terms: SmallVec::from_iter([(term, 1)]) };
            product = product.plus(*factor, &one)?;
        }
        Some(product)
    }

    /// The form without the term at a position.
    pub fn without(&self, i: usize) -> Linear {
        let mut rest = self.clone();
        rest.terms.remove(i);
        rest
    }
}
