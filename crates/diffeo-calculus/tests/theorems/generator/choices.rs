//! Choices from a list of numbers: smaller numbers choose what comes earlier, and where the list ends, the
//! first is chosen.

/// What is left of a list.
pub struct Choices<'c> {
    left: std::slice::Iter<'c, u16>,
}

impl<'c> Choices<'c> {
    /// The choices of a list.
    pub fn new(list: &'c [u16]) -> Choices<'c> {
        Choices { left: list.iter() }
    }

    /// The next number.
    pub fn number(&mut self) -> u16 {
        self.left.next().copied().unwrap_or(0)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (usize::from(self.number()) * n) >> 16
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
