//! The derivatives that modes and differences give, component by component, and how they are judged.
//!
//! A component is the derivative of one number of the result (or of a weighted sum of all) along one
//! direction of the point, twice for second derivatives.

use super::differences::{Estimate, DOUBT};

/// A component of a derivative.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What the modes give, by the position of the mode.
    values: Vec<(usize, f64)>,
    /// What differences give.
    estimate: Option<Estimate>,
    /// The largest number met on the way, by all modes.
    largest: f64,
    /// The same, by the modes that concern this direction only.
    own_largest: f64,
    /// The largest term of a derivative of this order along these directions, if that is known.
    of_order: Option<f64>,
}

impl Cell {
    /// The size of the derivative.
    fn size(&self) -> f64 {
        let sides = self.estimate.map(|e| [e.left, e.right]);
        let numbers = self.values.iter().map(|(_, x)| *x).chain(sides.into_iter().flatten());
        numbers.map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max)
    }

    /// Whether the estimate is too rough to tell anything: neither some digits of the derivative, nor as
    /// exact as the tolerance is relative to the largest number met.
    fn is_rough(&self, estimate: &Estimate, tolerance: f64) -> bool {
        let error = DOUBT * estimate.error;
        let size = estimate.left.abs().max(estimate.right.abs());
        // The direction itself, of size 1, is among the numbers met.
        let exact = error <= ROUGH * size || error <= tolerance * self.own_largest.max(1.0);
        estimate.left.is_nan() || estimate.right.is_nan() || !exact
    }
}

/// An estimate with an error up to this, relative to the derivative, tells something of it.
const ROUGH: f64 = 1e-3;

/// A derivative below this, relative to the largest term of its order on the way, may be what rounding has left.
pub(super) const CANCELLED: f64 = 1e-6;

/// All components of a derivative.
#[derive(Debug)]
pub struct Cells {
    modes: Vec<&'static str>,
    cells: Vec<Cell>,
    ranks: Vec<Rank>,
}

/// How much it says to name a component: of those that are wrong the highest rank is named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// A multiple of another component.
    Multiple,
    /// Along a random direction, or of a weighted result.
    Mixed,
    /// Of a single number by single numbers.
    Single,
}

/// What was compared with what tolerance, and what came out.
#[derive(Clone, Debug)]
pub struct Comparison<P> {
    /// The differences allowed, relative to the scale of each component.
    pub tolerance: f64,
    /// The component with the largest difference.
    pub worst: Option<Worst<P>>,
    /// How many components differ by more than is allowed.
    pub disagreements: usize,
    /// Of how many components differences are too rough to tell.
    pub rough: usize,
}

/// A component and what is known of it.
#[derive(Clone, Debug)]
pub struct Worst<P> {
    /// Which component.
    pub place: P,
    /// The largest difference between two of the numbers, relative to `scale`; nan if one of them is
    /// nan.
    pub difference: f64,
    /// What the difference is relative to.
    pub scale: f64,
    /// What the modes give.
    pub values: Vec<(&'static str, f64)>,
    /// What differences give.
    pub estimate: Option<Estimate>,
}

impl Cells {
    /// Components of these ranks, without numbers.
    pub fn new(ranks: Vec<Rank>) -> Cells {
        Cells { modes: Vec::new(), cells: vec![Cell::default(); ranks.len()], ranks }
    }

    /// The modes so far.
    pub fn modes(&self) -> &[&'static str] {
        &self.modes
    }

    /// How many components have numbers.
    pub fn filled(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.values.is_empty()).count()
    }

    /// Adds what a mode gives; `size` is the largest number met in its run, which concerned this
    /// direction of the point only (`own`) or others as well.
    pub fn add(&mut self, place: usize, mode: &'static str, value: f64, size: f64, own: bool) {
        let known = self.modes.iter().position(|m| *m == mode);
        let mode = known.unwrap_or_else(|| {
            self.modes.push(mode);
            self.modes.len() - 1
        });
        let cell = &mut self.cells[place];
        cell.values.push((mode, value));
        let size = if value.is_finite() { size.max(value.abs()) } else { size };
        cell.largest = cell.largest.max(size);
        if own {
            cell.own_largest = cell.own_largest.max(size);
        }
    }

    /// Adds the largest term of a derivative of the component's order and directions that was met.
    pub fn met(&mut self, place: usize, of_order: f64) {
        let cell = &mut self.cells[place];
        cell.of_order = Some(cell.of_order.map_or(of_order, |known| known.max(of_order)));
    }

    /// What the modes give so far; nan if they give nothing finite.
    pub fn expected(&self, place: usize) -> f64 {
        let mut values = self.cells[place].values.iter().map(|(_, x)| *x);
        values.find(|x| x.is_finite()).unwrap_or(f64::NAN)
    }

    /// Sets what differences give.
    pub fn estimated(&mut self, place: usize, estimate: Estimate) {
        self.cells[place].estimate = Some(estimate);
    }

    /// The components of which a mode gives no finite number.
    pub fn not_finite(&self) -> Vec<Worst<usize>> {
        let bad = |(_, cell): &(usize, &Cell)| cell.values.iter().any(|(_, x)| !x.is_finite());
        let cells = self.cells.iter().enumerate().filter(bad);
        cells.map(|(place, cell)| self.worst(place, cell, f64::NAN, cell.largest)).collect()
    }

    /// The modes among each other; components that are not finite are left out.
    pub fn modes_compared(&self, tolerance: f64) -> Comparison<usize> {
        self.compared(tolerance, |cell| {
            let values = || cell.values.iter().map(|(_, x)| *x);
            let (low, high) =
                (values().fold(f64::INFINITY, f64::min), values().fold(-f64::INFINITY, f64::max));
            // What is left where much cancels can have no digits that are right.
            let size = low.abs().max(high.abs());
            let exact = cell.of_order.is_some_and(|of_order| size > CANCELLED * of_order);
            Some((high - low, if exact { size } else { cell.largest }))
        })
    }

    /// The modes with differences; components that are not finite are left out.
    pub fn differences_compared(&self, tolerance: f64) -> Comparison<usize> {
        let rough = |cell: &Cell| cell.estimate.is_some_and(|e| cell.is_rough(&e, tolerance));
        let mut comparison = self.compared(tolerance, |cell| {
            let estimate = cell.estimate.filter(|_| !rough(cell))?;
            let distances = cell.values.iter().map(|(_, x)| estimate.distance(*x));
            let distance = distances.fold(0.0, |a: f64, b| if b.is_nan() { b } else { a.max(b) });
            // Nothing is demanded that rounding and the steps do not support.
            Some((distance, cell.size() + DOUBT * estimate.error / tolerance))
        });
        let finite = |cell: &&Cell| cell.values.iter().all(|(_, x)| x.is_finite());
        comparison.rough = self.cells.iter().filter(finite).filter(|cell| rough(cell)).count();
        comparison
    }

    fn compared(
        &self,
        tolerance: f64,
        distance: impl Fn(&Cell) -> Option<(f64, f64)>,
    ) -> Comparison<usize> {
        let mut comparison = Comparison { tolerance, worst: None, disagreements: 0, rough: 0 };
        let mut largest = (false, Rank::Multiple, -1.0);
        for (place, cell) in self.cells.iter().enumerate() {
            if cell.values.is_empty() || cell.values.iter().any(|(_, x)| !x.is_finite()) {
                continue;
            }
            let Some((distance, scale)) = distance(cell) else { continue };
            let relative = if distance == 0.0 { 0.0 } else { distance / scale };
            let size = if relative.is_nan() { f64::INFINITY } else { relative };
            let disagrees = size > tolerance;
            comparison.disagreements += usize::from(disagrees);
            let rank =
                if disagrees { self.ranks[place] } else { self.ranks[place].min(Rank::Mixed) };
            let order = (disagrees, rank, size);
            if order > largest {
                largest = order;
                comparison.worst = Some(self.worst(place, cell, relative, scale));
            }
        }
        comparison
    }

    fn worst(&self, place: usize, cell: &Cell, difference: f64, scale: f64) -> Worst<usize> {
        let values = cell.values.iter().map(|(mode, x)| (self.modes[*mode], *x)).collect();
        Worst { place, difference, scale, values, estimate: cell.estimate }
    }
}

impl<P> Comparison<P> {
    /// The same with other places.
    pub fn at<Q>(self, name: impl FnOnce(P) -> Q) -> Comparison<Q> {
        Comparison {
            tolerance: self.tolerance,
            worst: self.worst.map(|worst| worst.at(name)),
            disagreements: self.disagreements,
            rough: self.rough,
        }
    }
}

impl<P> Worst<P> {
    /// The same at another place.
    pub fn at<Q>(self, name: impl FnOnce(P) -> Q) -> Worst<Q> {
        Worst {
            place: name(self.place),
            difference: self.difference,
            scale: self.scale,
            values: self.values,
            estimate: self.estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Rank};

    /// How many components disagree of one with the second derivatives of hypot(x, 2.0) at 1e8 as two ways gave them
    /// that lost digits, where the largest term of a derivative was this.
    fn disagreements(of_order: f64) -> usize {
        let mut cells = Cells::new(vec![Rank::Single]);
        cells.add(0, "reverse", 3.31e-24, 1e8, true);
        cells.add(0, "Taylor", 2.22e-24, 1e8, true);
        cells.met(0, of_order);
        cells.modes_compared(1e-9).disagreements
    }

    #[test]
    fn small_derivatives_are_compared_relative_to_themselves() {
        assert_eq!(disagreements(4e-24), 1);
        assert_eq!(disagreements(1e-18), 1);
    }

    #[test]
    fn what_is_left_of_large_terms_is_not() {
        assert_eq!(disagreements(1e-8), 0);
        assert_eq!(disagreements(f64::INFINITY), 0);
    }
}
