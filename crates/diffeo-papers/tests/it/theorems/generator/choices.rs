//! Choices from a list of numbers: smaller numbers choose what comes earlier, and where the list ends, the
//! first is chosen. What was chosen is written down, with the choices of each term together, so that lists can
//! be made smaller by whole terms.

use std::ops::Range;

/// A list that is being used up.
pub struct Choices<'c> {
    left: std::slice::Iter<'c, u16>,
    trace: Trace,
}

/// What was chosen.
#[derive(Clone, Default)]
pub struct Trace {
    /// The numbers.
    pub list: Vec<u16>,
    /// Those of each term, parts before wholes.
    pub terms: Vec<Range<usize>>,
    /// Those of further definitions, which can be left out.
    pub helpers: Vec<Range<usize>>,
    /// Those of the type of the whole program; its term comes next and last.
    pub result: Range<usize>,
}

impl<'c> Choices<'c> {
    /// The choices of a list.
    pub fn new(list: &'c [u16]) -> Choices<'c> {
        Choices { left: list.iter(), trace: Trace::default() }
    }

    /// What was chosen.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// How many choices were made.
    pub fn made(&self) -> usize {
        self.trace.list.len()
    }

    /// Writes down that the choices from `start` on made a term.
    pub fn term_since(&mut self, start: usize) {
        self.trace.terms.push(start..self.made());
    }

    /// Writes down that the choices from `start` on made a further definition.
    pub fn helper_since(&mut self, start: usize) {
        self.trace.helpers.push(start..self.made());
    }

    /// Writes down that the choices from `start` on made the type of the whole program.
    pub fn result_since(&mut self, start: usize) {
        self.trace.result = start..self.made();
    }

    /// The next number, as `f` has it.
    fn next(&mut self, f: impl FnOnce(u16) -> u16) -> u16 {
        let number = f(self.left.next().copied().unwrap_or(0));
        self.trace.list.push(number);
        number
    }

    /// The next number.
    pub fn number(&mut self) -> u16 {
        self.next(|number| number)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (usize::from(self.number()) * n) >> 16
    }

    /// Which form a term has: 0 and 1 always exist, and so many others.
    pub fn form(&mut self, others: usize) -> usize {
        /// The share of either.
        const LEAF: u16 = 2048;
        if others == 0 {
            // Written down as what it is where there are others, so that terms can be moved there.
            return usize::from(
                self.next(|number| if number < 4 * LEAF { 0 } else { LEAF }) / LEAF,
            );
        }
        match self.number() {
            0..LEAF => 0,
            LEAF..4096 => 1,
            number => 2 + usize::from(number - 2 * LEAF) * others / (65536 - 2 * usize::from(LEAF)),
        }
    }

    /// False is the simpler one.
    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// One of these, the first being the simplest.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}
