//! Passes from Flat to Flat, and the order in which they run.
//!
//! Each pass is a function in a file of its own, whose head says what it does and why it is right. Every pass keeps
//! values, errors, their places and their order, and keeps arithmetic to the last bit (only a `Reduce` may add in
//! another order).
//!
//! | file | pass |
//! |---|---|
//! | `simplify/` | constant folding, identities, copy propagation, elements and sizes from where they come from |
//! | `cse.rs`, `dce.rs`, `dead_functions.rs` | common subexpressions; dead code; dead functions |
//! | `dead_variants.rs` | dead-variant elimination |
//! | `constants.rs` | sparse constant propagation through calls, loops, boxes and arrays |
//! | `tail.rs` | tail-call elimination |
//! | `inline.rs` | inlining |
//! | `canonical_loops.rs` | loop canonicalisation: `while` to counted loops |
//! | `extrema.rs` | reduction recognition: loops for the largest or smallest number |
//! | `ranges/` | elimination of checks that certainly hold |
//! | `fuse.rs`, `fuse_siblings.rs` | vertical and horizontal fusion |
//! | `defer_checks.rs`, `hoist_checks.rs` | deferred checks; check hoisting |
//! | `hoist.rs`, `sink.rs` | loop-invariant code motion; sinking into branches |
//! | `sink_producers.rs`, `demand.rs` | producer sinking; demand slicing |
//! | `specialise.rs` | shape specialisation |
//! | `scalars.rs`, `rows.rs` | scalar replacement of small arrays across calls, branches and loops; flat matrices |
//! | `index_tables.rs` | index tables |
//! | `scatter_to_map.rs`, `promote.rs` | scatter to map; accumulator promotion |
//! | `add_elements.rs` | addition where elements are made |
//! | `unroll.rs` | unrolling; small arrays as numbers |
//! | `effects.rs`, `shapes.rs`, `graph.rs` | what passes ask: effects, sizes, calls |

mod add_elements;
mod canonical_loops;
mod constants;
mod cse;
mod dce;
mod dead_functions;
mod dead_variants;
mod defer_checks;
mod demand;
pub(crate) mod effects;
mod extrema;
mod fuse;
mod fuse_siblings;
mod graph;
mod hoist;
mod hoist_checks;
mod index_tables;
mod inline;
mod promote;
mod ranges;
mod rows;
mod scalars;
mod scatter_to_map;
pub(crate) mod shapes;
mod simplify;
mod sink;
mod sink_producers;
mod specialise;
mod tail;
mod unroll;

pub use add_elements::add_elements;
pub use canonical_loops::canonical_loops;
pub use constants::constants;
pub use cse::cse;
pub use dce::dce;
pub use dead_functions::dead_functions;
pub use dead_variants::dead_variants;
pub use defer_checks::defer_checks;
pub use demand::demand;
pub use extrema::extrema;
pub use fuse::fuse;
pub use fuse_siblings::fuse_siblings;
pub use hoist::hoist;
pub use hoist_checks::hoist_checks;
pub use index_tables::index_tables;
pub use inline::{inline, inline_small};
pub use promote::promote;
pub use ranges::ranges;
pub use rows::rows;
pub use scalars::scalars;
pub use scatter_to_map::scatter_to_map;
pub use simplify::simplify;
pub use sink::sink;
pub use sink_producers::sink_producers;
pub use specialise::specialise;
pub use tail::tail;
pub use unroll::unroll;

use crate::ir::{FunctionId, Module};
use extrema::extrema_early;
use hashbrown::HashSet;
use hoist::hoist_early;
use simplify::simplify_early;
use unroll::unroll_early;

/// A pass with its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name for people: that of the function, with a number where it runs again.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Module) -> Module,
}

const fn pass(name: &'static str, run: fn(Module) -> Module) -> Pass {
    Pass { name, run }
}

/// The passes in order. Those that are worth it run again on what the first round uncovered.
pub const PASSES: &[Pass] = &[
    pass("dead_functions", dead_functions),
    pass("tail", tail),
    pass("simplify", simplify),
    pass("cse", cse),
    pass("dce", dce),
    pass("inline", inline),
    pass("dead_functions.2", dead_functions),
    pass("simplify.2", simplify),
    pass("cse.2", cse),
    pass("dead_variants", dead_variants),
    pass("constants", constants),
    pass("specialise", specialise),
    pass("dead_functions.3", dead_functions),
    pass("canonical_loops", canonical_loops),
    pass("unroll", unroll),
    pass("promote", promote),
    pass("simplify.3", simplify),
    pass("ranges", ranges),
    pass("simplify.4", simplify),
    pass("cse.3", cse),
    pass("dce.2", dce),
    pass("inline.2", inline_small),
    pass("dead_functions.4", dead_functions),
    pass("extrema", extrema),
    pass("fuse", fuse),
    pass("simplify.5", simplify),
    pass("unroll.2", unroll),
    pass("promote.2", promote),
    pass("simplify.6", simplify),
    pass("scalars", scalars),
    pass("cse.4", cse),
    pass("ranges.2", ranges),
    pass("dce.3", dce),
    pass("fuse.2", fuse),
    pass("defer_checks", defer_checks),
    pass("hoist", hoist),
    pass("hoist_checks", hoist_checks),
    pass("fuse_siblings", fuse_siblings),
    pass("scatter_to_map", scatter_to_map),
    pass("hoist.2", hoist),
    pass("simplify.7", simplify),
    pass("cse.5", cse),
    pass("ranges.3", ranges),
    pass("fuse.3", fuse),
    pass("simplify.8", simplify),
    pass("sink_producers", sink_producers),
    pass("demand", demand),
    pass("fuse_siblings.2", fuse_siblings),
    pass("simplify.9", simplify),
    pass("cse.6", cse),
    pass("add_elements", add_elements),
    pass("index_tables", index_tables),
    pass("rows", rows),
    pass("sink", sink),
    pass("dce.4", dce),
];

/// What [`early`] is told of functions that are to be differentiated.
#[derive(Clone, Copy, Debug)]
pub struct Early<'a> {
    /// Functions that are called from outside the module, too.
    pub roots: &'a [FunctionId],
    /// Functions whose calls stay calls.
    pub stay: &'a HashSet<FunctionId>,
    /// Whether all derivatives are forward ones. For reverse mode less is unrolled, because unrolled code has a long
    /// backward part.
    pub forward: bool,
}

/// Optimises a module before derivatives are taken, so that there are fewer residuals. Functions and constants stay
/// where they are, with their parameters and results. What may have an infinite derivative is not computed speculatively.
pub fn early(module: Module, of: &Early<'_>) -> Module {
    let Early { roots, stay, forward } = of;
    const BEFORE: [fn(Module) -> Module; 3] = [simplify_early, cse, dce::dce_within];
    const AFTER: [fn(Module) -> Module; 11] = [
        canonical_loops,
        unroll_early,
        simplify_early,
        ranges,
        simplify_early,
        cse,
        dce::dce_within,
        extrema_early,
        fuse,
        hoist_early,
        simplify_early,
    ];
    const END: [fn(Module) -> Module; 4] = [unroll_early, simplify_early, cse, dce::dce_within];
    let module = BEFORE.iter().fold(module, |module, run| run(module));
    let module = inline::inline_early(module, &inline::Early { roots, stay });
    let module = specialise::specialise_early(cse(simplify_early(module)), stay);
    let end = if *forward { &END } else { &END[1..] };
    AFTER.iter().chain(end).fold(module, |module, run| run(module))
}

/// A module after all passes.
pub fn optimise(module: Module) -> Module {
    PASSES.iter().fold(module, |module, pass| (pass.run)(module))
}
