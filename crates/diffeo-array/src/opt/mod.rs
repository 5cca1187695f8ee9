//! Passes from Flat to Flat, and the order in which they run.
//!
//! Each pass is a function in a file of its own, whose head says what it does and why it is right. Every pass keeps
//! values, errors, their places and their order, and keeps arithmetic to the last bit (only a `Reduce` may add in
//! another order).
//!
//! | file | pass |
//! |---|---|
//! | `simplify/` | constant folding, identities, copy propagation, elements and sizes from where they come from |
//! | `cse.rs`, `dce.rs`, `reach.rs` | common subexpressions; dead code; dead functions |
//! | `absent.rs` | dead-variant elimination |
//! | `constants.rs` | sparse constant propagation through calls, loops, boxes and arrays |
//! | `tail.rs` | tail-call elimination |
//! | `inline.rs` | inlining |
//! | `count.rs` | loop canonicalisation: `while` to counted loops |
//! | `extrema.rs` | reduction recognition: loops for the largest or smallest number |
//! | `ranges/` | elimination of checks that certainly hold |
//! | `fuse.rs`, `join.rs` | vertical and horizontal fusion |
//! | `defer.rs`, `split.rs` | deferred checks; check hoisting |
//! | `hoist.rs`, `sink.rs` | loop-invariant code motion; sinking into branches |
//! | `expose.rs`, `select.rs` | producer sinking; demand slicing |
//! | `sizes.rs` | shape specialisation |
//! | `numbers.rs`, `rows.rs` | scalar replacement of small arrays across calls, branches and loops; flat matrices |
//! | `tabulate.rs` | index tables |
//! | `adjoints.rs`, `cells.rs` | scatter to map; accumulator promotion |
//! | `unroll.rs` | unrolling; small arrays as numbers |
//! | `effects.rs`, `shapes.rs`, `graph.rs`, `walk.rs` | what passes ask: effects, sizes, calls; walks over terms |

mod absent;
mod adjoints;
mod cells;
mod constants;
mod count;
mod cse;
mod dce;
mod defer;
mod effects;
mod expose;
mod extrema;
mod fuse;
mod graph;
mod hoist;
mod inline;
mod join;
mod numbers;
mod ranges;
mod reach;
mod rows;
mod select;
pub(crate) mod shapes;
mod simplify;
mod sink;
mod sizes;
mod split;
mod tabulate;
mod tail;
mod unroll;
pub mod walk;

pub use absent::absent;
pub use adjoints::adjoints;
pub use cells::cells;
pub use constants::constants;
pub use count::count;
pub use cse::cse;
pub use dce::dce;
pub use defer::defer;
pub use expose::expose;
pub use extrema::extrema;
pub use fuse::fuse;
pub use hoist::hoist;
pub use inline::{inline, inline_small};
pub use join::join;
pub use numbers::numbers;
pub use ranges::ranges;
pub use reach::reach;
pub use rows::rows;
pub use select::select;
pub use simplify::simplify;
pub use sink::sink;
pub use sizes::sizes;
pub use split::split;
pub use tabulate::tabulate;
pub use tail::tail;
pub use unroll::unroll;

use crate::ir::{FunctionId, Module};
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
    pass("reach", reach),
    pass("tail", tail),
    pass("simplify", simplify),
    pass("cse", cse),
    pass("dce", dce),
    pass("inline", inline),
    pass("reach.2", reach),
    pass("simplify.2", simplify),
    pass("cse.2", cse),
    pass("absent", absent),
    pass("constants", constants),
    pass("sizes", sizes),
    pass("reach.3", reach),
    pass("count", count),
    pass("unroll", unroll),
    pass("cells", cells),
    pass("simplify.3", simplify),
    pass("ranges", ranges),
    pass("simplify.4", simplify),
    pass("cse.3", cse),
    pass("dce.2", dce),
    pass("inline.2", inline_small),
    pass("reach.4", reach),
    pass("extrema", extrema),
    pass("fuse", fuse),
    pass("simplify.5", simplify),
    pass("unroll.2", unroll),
    pass("cells.2", cells),
    pass("simplify.6", simplify),
    pass("numbers", numbers),
    pass("cse.4", cse),
    pass("ranges.2", ranges),
    pass("dce.3", dce),
    pass("fuse.2", fuse),
    pass("defer", defer),
    pass("hoist", hoist),
    pass("split", split),
    pass("join", join),
    pass("adjoints", adjoints),
    pass("hoist.2", hoist),
    pass("simplify.7", simplify),
    pass("cse.5", cse),
    pass("ranges.3", ranges),
    pass("fuse.3", fuse),
    pass("simplify.8", simplify),
    pass("expose", expose),
    pass("select", select),
    pass("join.2", join),
    pass("simplify.9", simplify),
    pass("cse.6", cse),
    pass("tabulate", tabulate),
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
/// where they are, with their parameters and results. Loops for the largest number are not made reductions, because it
/// depends on how they are written which of equal numbers has the derivative. What may have an infinite derivative is
/// not computed speculatively.
pub fn early(module: Module, of: &Early<'_>) -> Module {
    let Early { roots, stay, forward } = of;
    const BEFORE: [fn(Module) -> Module; 3] = [simplify_early, cse, dce::dce_within];
    const AFTER: [fn(Module) -> Module; 10] = [
        count,
        unroll_early,
        simplify_early,
        ranges,
        simplify_early,
        cse,
        dce::dce_within,
        fuse,
        hoist_early,
        simplify_early,
    ];
    const END: [fn(Module) -> Module; 4] = [unroll_early, simplify_early, cse, dce::dce_within];
    let module = BEFORE.iter().fold(module, |module, run| run(module));
    let module = inline::inline_early(module, &inline::Early { roots, stay });
    let module = sizes::sizes_early(cse(simplify_early(module)), stay);
    let end = if *forward { &END } else { &END[1..] };
    AFTER.iter().chain(end).fold(module, |module, run| run(module))
}

/// A module after all passes.
pub fn optimise(module: Module) -> Module {
    PASSES.iter().fold(module, |module, pass| (pass.run)(module))
}
