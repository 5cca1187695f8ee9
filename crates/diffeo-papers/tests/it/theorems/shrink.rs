//! Smaller choices that still make a property wrong.
//!
//! What comes in: choices, and what says whether a property is wrong for some. What goes out: what it said of
//! the smallest that were found. What always holds: each step makes the list of a program shorter or its
//! numbers smaller, so it ends.

use crate::theorems::harness::Counterexample;
use std::ops::Range;

/// How many programs are tried.
const MOST_TRIES: usize = 20_000;

/// How many parts of a term are tried in its place.
const MOST_PARTS: usize = 20;

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

    /// Tries all ways once, those that lead furthest first; whether any did.
    fn round(&mut self) -> bool {
        let before = self.list();
        self.simplest_terms();
        self.fewer_definitions();
        self.part_for_program();
        self.fewer_choices();
        self.smaller_numbers();
        self.parts_for_wholes();
        self.list() != before
    }

    /// The simplest term in place of each term.
    fn simplest_terms(&mut self) {
        let mut place = 0;
        while let Some(whole) = self.term(place) {
            if !self.replace(&whole, &[0]) {
                place += 1;
            }
        }
    }

    /// Further definitions left out.
    fn fewer_definitions(&mut self) {
        let mut place = 0;
        while let Some(helper) = self.best.0.trace.helpers.get(place).cloned() {
            if !self.replace(&helper, &[]) {
                place += 1;
            }
        }
    }

    /// A part as the whole program, which then gives a Real.
    fn part_for_program(&mut self) {
        let mut place = 1;
        while let Some(part) = self.term(place) {
            let trace = self.best.0.trace.clone();
            let result = trace.result.start;
            let first = trace.helpers.first().map_or(result, |helper| helper.start);
            let mut with = |start: &[u16]| {
                let list = [start, &[0], &trace.list[part.clone()]].concat();
                self.keep(list)
            };
            // Without further definitions, with them.
            let none = [&trace.list[..first], &[0]].concat();
            place = if with(&none) || with(&trace.list[..result]) { 1 } else { place + 1 };
        }
    }

    /// Each term replaced by a part of it.
    fn parts_for_wholes(&mut self) {
        let mut place = 0;
        while let Some(whole) = self.term(place) {
            let inside = |part: &&Range<usize>| {
                **part != whole && part.start >= whole.start && part.end <= whole.end
            };
            let terms = &self.best.0.trace.terms;
            let parts: Vec<Range<usize>> =
                terms.iter().rev().filter(inside).take(MOST_PARTS).cloned().collect();
            let list = self.best.0.trace.list.clone();
            if !parts.into_iter().any(|part| self.replace(&whole, &list[part])) {
                place += 1;
            }
        }
    }

    /// Runs of choices left out.
    fn fewer_choices(&mut self) {
        for length in [8, 4, 2, 1] {
            let mut start = 0;
            while start + length <= self.best.0.trace.list.len() {
                if !self.replace(&(start..start + length), &[]) {
                    start += 1;
                }
            }
        }
    }

    /// Each number made smaller.
    fn smaller_numbers(&mut self) {
        let mut at = 0;
        while let Some(number) = self.best.0.trace.list.get(at).copied() {
            let smaller = [0, number / 2, number - number / 8, number.saturating_sub(1)];
            if !smaller.into_iter().any(|by| self.replace(&(at..at + 1), &[by])) {
                at += 1;
            }
        }
    }

    /// Puts these choices in place of others, if that is smaller and still wrong.
    fn replace(&mut self, place: &Range<usize>, by: &[u16]) -> bool {
        let list = &self.best.0.trace.list;
        let list = [&list[..place.start], by, &list[place.end..]].concat();
        self.keep(list)
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
