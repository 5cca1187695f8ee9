//! Smaller choices that still make a property wrong.
//!
//! What comes in: choices, and what says whether a property is wrong for some. What goes out: what it said of
//! the smallest that were found. What always holds: each step makes the list of a program shorter or its
//! numbers smaller, so it ends.

use crate::harness::Counterexample;
use std::ops::Range;

/// How many programs are tried.
const MOST_TRIES: usize = 20_000;

/// Tries smaller choices for the program and then for the values, as long as it finds any for which `wrong`
/// gives something; none if it gives nothing for the first ones.
pub fn shrink(
    (program, values): (Vec<u16>, Vec<u16>),
    wrong: impl Fn(&[u16], &[u16]) -> Option<Counterexample>,
) -> Option<Counterexample> {
    let best = wrong(&program, &values)?;
    let mut search = Search { wrong, best, values, tries: 0 };
    while search.tries < MOST_TRIES && search.round() {}
    search.shrink_values();
    Some(search.best)
}

struct Search<F> {
    wrong: F,
    best: Counterexample,
    values: Vec<u16>,
    tries: usize,
}

impl<F: Fn(&[u16], &[u16]) -> Option<Counterexample>> Search<F> {
    /// The choices of the best program, without those that the end of the list stands for.
    fn list(&self) -> Vec<u16> {
        trimmed(self.best.0.trace.list.clone())
    }

    /// Keeps these choices if they are smaller and still wrong.
    fn keep(&mut self, list: Vec<u16>) -> bool {
        let list = trimmed(list);
        let size = |list: &[u16]| (list.len(), list.iter().map(|n| u64::from(*n)).sum::<u64>());
        let before = size(&self.list());
        if self.tries >= MOST_TRIES || size(&list) >= before {
            return false;
        }
        self.tries += 1;
        let Some(found) = (self.wrong)(&list, &self.values) else { return false };
        // Other choices may be made than were asked for.
        if size(&trimmed(found.0.trace.list.clone())) >= before {
            return false;
        }
        self.best = found;
        true
    }

    /// Tries all ways once, the greatest steps first; whether any did.
    fn round(&mut self) -> bool {
        let before = self.list();
        // The simplest term in place of a term, or a part of it.
        let mut place = 0;
        while let Some(whole) = self.term(place) {
            let replaced =
                |by: &[u16], list: &[u16]| [&list[..whole.start], by, &list[whole.end..]].concat();
            let list = self.best.0.trace.list.clone();
            let mut done = self.keep(replaced(&[0], &list));
            let parts = self.best.0.trace.terms.clone();
            let inside = |part: &&Range<usize>| {
                **part != whole && part.start >= whole.start && part.end <= whole.end
            };
            let parts: Vec<Range<usize>> = parts.iter().rev().filter(inside).cloned().collect();
            for part in parts.into_iter().take(40) {
                done = done || self.keep(replaced(&list[part], &list));
            }
            if !done {
                place += 1;
            }
        }
        // Runs of choices left out.
        for length in [8, 4, 2, 1] {
            let mut start = 0;
            while start + length <= self.best.0.trace.list.len() {
                let mut list = self.best.0.trace.list.clone();
                list.drain(start..start + length);
                if !self.keep(list) {
                    start += 1;
                }
            }
        }
        // Smaller numbers.
        let mut at = 0;
        while at < self.best.0.trace.list.len() {
            let number = self.best.0.trace.list[at];
            let smaller = [0, number / 2, number - number / 8, number.saturating_sub(1)];
            let lower = |by: u16, list: &[u16]| {
                let mut list = list.to_vec();
                list[at] = by;
                list
            };
            let list = self.best.0.trace.list.clone();
            if !smaller.into_iter().any(|by| self.keep(lower(by, &list))) {
                at += 1;
            }
        }
        self.list() != before
    }

    /// The choices of the term at this place, wholes before parts.
    fn term(&self, place: usize) -> Option<Range<usize>> {
        self.best.0.trace.terms.iter().rev().nth(place).cloned()
    }

    fn shrink_values(&mut self) {
        let list = self.list();
        for at in 0..self.values.len() {
            let mut values = self.values.clone();
            values[at] = 0;
            if let Some(found) = (self.wrong)(&list, &values) {
                self.best = found;
                self.values = values;
            }
        }
    }
}

/// Without the zeros at the end.
fn trimmed(mut list: Vec<u16>) -> Vec<u16> {
    let end = list.iter().rposition(|n| *n != 0).map_or(0, |last| last + 1);
    list.truncate(end);
    list
}
