//! What is kept of chains that were interrupted: equally many draws of each, as diagnostics need them.
//!
//! What comes in are chains of different lengths, some perhaps without the values of their parameters; what goes out are
//! chains of one length, with values. What always holds: no other choice of a length keeps more draws in all.

use super::model::Model;
use super::{chain, Chain, SampleOptions};
use crate::host::Error;
use std::sync::atomic::Ordering;

/// The length that keeps most draws: of the k longest chains, that of the shortest.
fn best(chains: &[Chain]) -> usize {
    let mut lengths: Vec<usize> = chains.iter().map(|chain| chain.log_density.len()).collect();
    lengths.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    let all = lengths.iter().enumerate().map(|(i, n)| ((i + 1) * n, *n));
    all.max().map_or(0, |(_, n)| n)
}

/// The chains that have so many draws, cut to that, with their values.
///
/// # Errors
/// Another interrupt, or what `constrain` and predictions say.
pub(super) fn kept(
    model: &Model,
    options: &SampleOptions,
    mut chains: Vec<Chain>,
) -> Result<Vec<Chain>, Error> {
    let interrupt = options.host.interrupt.clone().unwrap_or_default();
    // From here on it is another interrupt.
    interrupt.store(false, Ordering::Relaxed);
    let draws = best(&chains);
    chains.retain(|chain| chain.log_density.len() >= draws);
    for chain in &mut chains {
        if !chain.has_values() {
            chain::values(model, options, chain, &interrupt)?;
        }
        chain.cut(draws, model.dimension);
    }
    Ok(chains)
}

impl Chain {
    fn cut(&mut self, draws: usize, dimension: usize) {
        let had = self.log_density.len();
        // So many numbers a draw.
        let (values, predictions) = (self.values.len() / had, self.predictions.len() / had);
        self.points.truncate(draws * dimension);
        self.values.truncate(draws * values);
        self.predictions.truncate(draws * predictions);
        self.log_density.truncate(draws);
        self.energy.truncate(draws);
        self.accept.truncate(draws);
        self.depth.truncate(draws);
        self.steps.truncate(draws);
        self.divergent.truncate(draws);
    }
}
