//! What an axis reaches over, and where a number is on it.

use crate::dates;
use crate::model::Axis;
use crate::ticks::{linear, logarithmic, Tick};

/// The largest number that is drawn, so that sums and differences are numbers, too.
const LARGEST: f64 = 1e300;

/// How much room is left beside the data, as a part of its extent.
const ROOM: f64 = 0.04;

/// Whether a number has a place on some axis.
pub fn drawable(v: f64, log: bool) -> bool {
    v.abs() <= LARGEST && (!log || v > 0.0)
}

/// The extent of data along an axis.
#[derive(Clone, Copy)]
pub struct Extent {
    pub log: bool,
    pub low: f64,
    pub high: f64,
    /// Whether no room is left beside an end that is at these edges.
    edges: (f64, f64),
}

impl Extent {
    pub fn new(log: bool) -> Extent {
        let (none, least) = (f64::INFINITY, f64::NEG_INFINITY);
        Extent { log, low: none, high: least, edges: (none, least) }
    }

    pub fn is_empty(&self) -> bool {
        self.low > self.high
    }

    pub fn has(&self, v: f64) -> bool {
        drawable(v, self.log)
    }

    pub fn take(&mut self, v: f64) {
        if self.has(v) {
            self.low = self.low.min(v);
            self.high = self.high.max(v);
        }
    }

    /// A number that the axis may end at exactly.
    pub fn take_edge(&mut self, v: f64) {
        self.take(v);
        if self.has(v) {
            self.edges = (self.edges.0.min(v), self.edges.1.max(v));
        }
    }

    /// What bars stand on.
    pub fn base(&mut self) {
        if !self.log {
            self.edges = (self.edges.0.min(0.0), self.edges.1.max(0.0));
            // Without data, the base alone is no extent.
            (self.low, self.high) = (self.low.min(0.0), self.high.max(0.0));
        }
    }

    pub fn exactly(&mut self, low: f64, high: f64) {
        *self = Extent { log: false, low, high, edges: (low, high) };
    }

    /// The scale of an axis over this data.
    pub fn scale(&self, axis: &Axis) -> Scale {
        let fixed = |v: f64| Some(v).filter(|v| self.has(*v));
        let (low, high) = (fixed(axis.low), fixed(axis.high));
        let data = match (self.is_empty(), self.log) {
            (false, _) => (self.low, self.high),
            (true, true) => (1.0, 10.0),
            (true, false) => (0.0, 1.0),
        };
        let to = |v: f64| if self.log { v.log10() } else { v };
        let (mut from, mut end) = (to(low.unwrap_or(data.0)), to(high.unwrap_or(data.1)));
        // Data on the other side of a fixed end, or all at one place
        let least = 4.0 * f64::EPSILON * from.abs().max(end.abs());
        let apart = end - from > least && end - from > 1e-290;
        if !apart {
            let around = match self.log {
                true => 0.5,
                false if from == 0.0 || from.abs() < 1e-280 => 1.0,
                false => 0.1 * from.abs(),
            };
            match (low, high) {
                (Some(_), Some(_)) | (None, None) => (from, end) = (from - around, from + around),
                (Some(_), None) => end = from + 2.0 * around,
                (None, Some(_)) => from = end - 2.0 * around,
            }
        } else {
            let room = ROOM * (end - from);
            if low.is_none() && data.0 != self.edges.0 {
                from -= room;
            }
            if high.is_none() && data.1 != self.edges.1 {
                end += room;
            }
        }
        let dates = axis.dates && !self.log && from.abs().max(end.abs()) <= dates::LARGEST;
        Scale { log: self.log, low: from, high: end, backwards: axis.backwards, dates }
    }
}

/// An axis: its ends, of which a logarithmic one has the logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    log: bool,
    low: f64,
    high: f64,
    backwards: bool,
    /// Whether its numbers are times.
    pub dates: bool,
}

impl Scale {
    /// The place of a number as a fraction of the axis, if it has one.
    pub fn at(&self, v: f64) -> Option<f64> {
        if !drawable(v, self.log) {
            return None;
        }
        let v = if self.log { v.log10() } else { v };
        let part = (v - self.low) / (self.high - self.low);
        // Far outside, all places are the same to whoever draws.
        let part = part.clamp(-1e9, 1e9);
        Some(if self.backwards { 1.0 - part } else { part })
    }

    /// The numbers at its ends, the lower one first.
    pub fn ends(&self) -> (f64, f64) {
        match self.log {
            // A power may round to infinity or 0.
            true => {
                (10f64.powf(self.low).max(f64::MIN_POSITIVE), 10f64.powf(self.high).min(f64::MAX))
            }
            false => (self.low, self.high),
        }
    }

    /// From one end to the other; on a logarithmic axis in decades.
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    /// What bars stand on: 0, or the lower end.
    pub fn base(&self) -> f64 {
        match self.log {
            false => self.at(0.0).unwrap_or(0.0),
            true if self.backwards => 1.0,
            true => 0.0,
        }
    }

    /// About so many ticks as numbers, where they are written as what they are beyond the first.
    pub fn offset_ticks(&self, wanted: usize) -> Option<Vec<Tick>> {
        let (low, high) = self.ends();
        let ticks = (!self.log && !self.dates).then(|| linear(low, high, wanted))?;
        ticks.get(1).is_some_and(|(_, text)| text.starts_with('+')).then_some(ticks)
    }

    /// About so many ticks, with their places.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        let (low, high) = self.ends();
        let ticks = match self.log {
            true => logarithmic(low, high, wanted),
            false if self.dates => dates::ticks(low, high, wanted),
            false => linear(low, high, wanted),
        };
        ticks.into_iter().filter_map(|(v, text)| Some((self.at(v)?, text))).collect()
    }
}

/// The edges of cells around these positions, halfway to the neighbours: the number of each that has a place, the least
/// first, with its lower and its upper edge.
pub fn edges(positions: &[f64], log: bool) -> Vec<(usize, (f64, f64))> {
    let to = |v: f64| if log { v.log10() } else { v };
    let back = |v: f64| if log { 10f64.powf(v) } else { v };
    let mut all: Vec<(usize, f64)> = positions
        .iter()
        .map(|v| to(*v))
        .enumerate()
        .filter(|(i, _)| drawable(positions[*i], log))
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let half = |i: usize| Some(0.5 * (all.get(i + 1)?.1 - all[i].1));
    (0..all.len())
        .map(|i| {
            let (before, after) = match (i.checked_sub(1).and_then(half), half(i)) {
                (Some(b), Some(a)) => (b, a),
                (Some(b), None) => (b, b),
                (None, Some(a)) => (a, a),
                (None, None) => (0.5, 0.5),
            };
            let (number, here) = all[i];
            (number, (back(here - before), back(here + after)))
        })
        .collect()
}
