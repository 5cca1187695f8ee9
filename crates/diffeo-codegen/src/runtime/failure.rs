//! The record of an error while the run leaves its functions: why, where, and the open calls.

use crate::low::FunctionId;
use diffeo_array::ir::SiteId;

/// How many of the innermost and of the outermost open calls are kept.
pub const KEPT: usize = 64;

/// The index of [`Raise::Stopped`](crate::low::Raise::Stopped) where the runtime stops the run: one that no table has.
pub(super) const STOPPED: u32 = u32::MAX;

/// An open call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The function that was called.
    pub function: FunctionId,
    /// The place of the call.
    pub site: SiteId,
}

/// An error on its way out.
pub struct Failure {
    /// Why: an index into the table of the compiled program.
    pub raise: u32,
    /// The operands that the error names, as words.
    pub operands: [u64; 3],
    /// Where.
    pub site: SiteId,
    innermost: Vec<OpenCall>,
    /// A ring: the call with number `i` lies at `i % KEPT`.
    outermost: Vec<OpenCall>,
    calls: usize,
}

impl Failure {
    pub(super) fn new() -> Failure {
        Failure {
            raise: 0,
            operands: [0; 3],
            site: SiteId(0),
            innermost: Vec::with_capacity(KEPT),
            outermost: Vec::with_capacity(KEPT),
            calls: 0,
        }
    }

    pub(super) fn raise(&mut self, raise: u32, site: SiteId, operands: [u64; 3]) {
        self.raise = raise;
        self.site = site;
        self.operands = operands;
        self.innermost.clear();
        self.outermost.clear();
        self.calls = 0;
    }

    pub(super) fn note(&mut self, call: OpenCall) {
        if self.calls < KEPT {
            self.innermost.push(call);
        } else if self.outermost.len() < KEPT {
            self.outermost.push(call);
        } else {
            self.outermost[(self.calls - KEPT) % KEPT] = call;
        }
        self.calls += 1;
    }

    /// How many calls were open.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// The innermost calls that were open, innermost first.
    pub fn innermost(&self) -> &[OpenCall] {
        &self.innermost
    }

    /// The outermost calls, innermost first, without those among the innermost.
    pub fn outermost(&self) -> Vec<OpenCall> {
        let mut calls = self.outermost.clone();
        if self.calls > 2 * KEPT {
            calls.rotate_left(self.calls % KEPT);
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, OpenCall, SiteId, KEPT};
    use crate::low::FunctionId;

    #[test]
    fn both_ends_of_the_open_calls_are_kept() {
        for n in [0, 1, KEPT, KEPT + 1, 2 * KEPT, 2 * KEPT + 1, 1000] {
            let mut failure = Failure::new();
            failure.raise(1, SiteId(7), [1, 2, 3]);
            let call = |i| OpenCall { function: FunctionId(i + 1), site: SiteId(u32::MAX - i) };
            let all: Vec<OpenCall> = (0..n as u32).map(call).collect();
            all.iter().for_each(|call| failure.note(*call));
            assert_eq!(failure.calls(), n);
            assert_eq!(failure.innermost(), &all[..n.min(KEPT)]);
            let rest = n.saturating_sub(KEPT).min(KEPT);
            assert_eq!(failure.outermost(), &all[n - rest..], "of {n}");
        }
    }
}
