//! Partition of a program into modules that LLVM compiles at the same time.
//!
//! LLVM takes a module as a whole, on one thread, so a large program is cut into several. What LLVM would inline stays
//! with its callers: a function that is called at one place is in the part of its caller, and the smallest ones are in
//! each part that calls them. The cut depends on the program alone, so that results do not depend on the machine.

use crate::low::opt::scratch::release_of;
use crate::low::{FunctionId, LowModule};
use hashbrown::HashSet;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How many statements are worth a part.
const PART: usize = 200;

/// At most how many parts there are.
const MOST: usize = 8;

/// The maximum number of statements of a function that is copied into each part that calls it, so that LLVM can inline
/// it. Copies stop where they would make the parts together half as large again.
const SMALL: usize = 60;

/// The parts of a program.
pub(super) struct ProgramParts {
    /// The functions of each part, by index.
    pub parts: Vec<BTreeSet<usize>>,
    /// The functions that other parts call.
    pub shared: HashSet<usize>,
}

impl ProgramParts {
    /// Cuts a program. `apart` has the functions that are not to be inlined; `calls` the callees of each function, once
    /// for each call; `eager` cuts however small the program is.
    pub fn new(
        module: &LowModule,
        calls: &[Vec<usize>],
        apart: &HashSet<FunctionId>,
        eager: bool,
    ) -> ProgramParts {
        let sizes: Vec<usize> = module.functions.iter().map(|f| f.statements()).collect();
        let total: usize = sizes.iter().sum();
        let worth = (total / PART).clamp(1, MOST);
        let count = if eager { MOST } else { worth };
        if count == 1 {
            return ProgramParts {
                parts: vec![(0..sizes.len()).collect()],
                shared: HashSet::new(),
            };
        }
        let mut sites = vec![Vec::new(); sizes.len()];
        for (caller, callees) in calls.iter().enumerate() {
            callees.iter().for_each(|callee| sites[*callee].push(caller));
        }
        let release = release_of(module).map(|id| id.0 as usize);
        let inlined = |f: usize| !apart.contains(&FunctionId(f as u32)) && Some(f) != release;
        let may_be_copied = |f: &usize| {
            inlined(*f)
                && sites[*f].len() > 1
                && sizes[*f] <= SMALL
                && module.functions[*f].recursive.is_none()
        };
        let mut smallest: Vec<usize> = (0..sizes.len()).filter(may_be_copied).collect();
        smallest.sort_by_key(|f| sizes[*f]);
        let mut room = total / (2 * (count - 1));
        let copied: HashSet<usize> = smallest
            .into_iter()
            .take_while(|f| {
                let fits = sizes[*f] <= room;
                room = room.saturating_sub(sizes[*f]);
                fits
            })
            .collect();
        let caller = |f: usize| match sites[f][..] {
            [caller] if inlined(f) => Some(caller),
            _ => None,
        };
        let first = firsts(sizes.len(), caller);
        let mut clusters = vec![(0, Vec::new()); sizes.len()];
        for f in (0..sizes.len()).filter(|f| !copied.contains(f)) {
            let cluster = &mut clusters[first[f]];
            cluster.0 += sizes[f];
            cluster.1.push(f);
        }
        clusters.retain(|(_, functions)| !functions.is_empty());
        clusters.sort_by_key(|(size, _)| Reverse(*size));
        let mut parts = vec![(0, BTreeSet::new()); count];
        for (size, functions) in clusters {
            if let Some(least) = parts.iter_mut().min_by_key(|(size, _)| *size) {
                least.0 += size;
                least.1.extend(functions);
            }
        }
        let mut parts: Vec<BTreeSet<usize>> =
            parts.into_iter().map(|(_, functions)| functions).filter(|f| !f.is_empty()).collect();
        let mut shared: HashSet<usize> = release.into_iter().collect();
        for part in &mut parts {
            let mut todo: Vec<usize> = part.iter().copied().collect();
            while let Some(f) = todo.pop() {
                for callee in &calls[f] {
                    if copied.contains(callee) {
                        todo.extend(part.insert(*callee).then_some(*callee));
                    } else if !part.contains(callee) {
                        shared.insert(*callee);
                    }
                }
            }
        }
        ProgramParts { parts, shared }
    }
}

/// Of each function the first one in the chain of callers that leads to it; in a circle, one of them.
fn firsts(count: usize, caller: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut first: Vec<Option<usize>> = vec![None; count];
    for f in 0..count {
        let (mut at, mut chain) = (f, Vec::new());
        let found = loop {
            if let Some(known) = first[at] {
                break known;
            }
            // Until the end of the chain is known: whoever comes back here has gone round.
            first[at] = Some(at);
            chain.push(at);
            match caller(at) {
                Some(next) => at = next,
                None => break at,
            }
        };
        chain.into_iter().for_each(|f| first[f] = Some(found));
    }
    first.into_iter().enumerate().map(|(f, first)| first.unwrap_or(f)).collect()
}
