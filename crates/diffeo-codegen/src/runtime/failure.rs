//! What is kept of an error while the run leaves its functions: why, where, and the open calls.

use diffeo_array::ir::SiteId;

/// How many of the innermost and of the outermost open calls are kept.
pub const KEPT: usize = 64;

/// An error on its way out.
pub struct Failure {
    /// Why: an index into the table of the compiled program.
    pub raise: u32,
    /// The operands that the error names, as words.
    pub operands: [u64; 3],
    /// Where.
    pub site: SiteId,
    innermost: Vec<SiteId>,
    /// A ring: the call with number `i` lies at `i % KEPT`.
    outermost: Vec<SiteId>,
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

    pub(super) fn note(&mut self, site: SiteId) {
        if self.calls < KEPT {
            self.innermost.push(site);
        } else if self.outermost.len() < KEPT {
            self.outermost.push(site);
        } else {
            self.outermost[(self.calls - KEPT) % KEPT] = site;
        }
        self.calls += 1;
    }

    /// How many calls were open.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// The places of the innermost calls that were open, innermost first.
    pub fn innermost(&self) -> &[SiteId] {
        &self.innermost
    }

    /// The places of the outermost calls, innermost first, without those among the innermost.
    pub fn outermost(&self) -> Vec<SiteId> {
        let mut sites = self.outermost.clone();
        if self.calls > 2 * KEPT {
            sites.rotate_left(self.calls % KEPT);
        }
        sites
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, SiteId, KEPT};

    #[test]
    fn both_ends_of_the_open_calls_are_kept() {
        for n in [0, 1, KEPT, KEPT + 1, 2 * KEPT, 2 * KEPT + 1, 1000] {
            let mut failure = Failure::new();
            failure.raise(1, SiteId(7), [1, 2, 3]);
            let all: Vec<SiteId> = (0..n as u32).map(SiteId).collect();
            all.iter().for_each(|site| failure.note(*site));
            assert_eq!(failure.calls(), n);
            assert_eq!(failure.innermost(), &all[..n.min(KEPT)]);
            let rest = n.saturating_sub(KEPT).min(KEPT);
            assert_eq!(failure.outermost(), &all[n - rest..], "of {n}");
        }
    }
}
