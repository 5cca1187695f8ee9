//! Passes from Flat to Flat, and the order in which they run.
//!
//! Each pass is a function in a file of its own, whose head says what it does and why it is right. Values,
//! errors, their places and their order stay the same through every pass; arithmetic does, too, to the last bit.
//!
//! | file | |
//! |---|---|
//! | `simplify/` | constants, identities, elements and sizes from where they come from |
//! | `cse.rs`, `dce.rs`, `reach.rs` | what was computed before; what nothing needs; functions that nothing calls |
//! | `absent.rs` | what is done with boxes that nothing makes |
//! | `constants.rs` | constants through calls, loops, boxes and arrays |
//! | `tail.rs` | calls at the end of functions become loops |
//! | `inline.rs` | bodies in the place of calls |
//! | `count.rs` | loops that count are counted loops |
//! | `extrema.rs` | loops for the largest or smallest number are reductions |
//! | `ranges/` | checks that certainly hold |
//! | `fuse.rs` | comprehensions without arrays |
//! | `defer.rs`, `split.rs`, `join.rs` | looks for nan and checks out of loops; several loops to one |
//! | `hoist.rs`, `sink.rs` | out of loops; into branches |
//! | `expose.rs`, `select.rs` | comprehensions at the end of functions to the callers; only elements that are read |
//! | `sizes.rs` | copies of functions for the sizes of their arrays |
//! | `rows.rs` | matrices that are written out |
//! | `numbers.rs` | small arrays into functions, and out of functions, branches and loops, as numbers |
//! | `tabulate.rs` | tables of what inner loops compute from their index |
//! | `adjoints.rs` | comprehensions for loops that fill accumulators |
//! | `unroll.rs`, `cells.rs` | short loops written out; small arrays and accumulators as numbers |
//! | `effects.rs`, `shapes.rs`, `graph.rs`, `walk.rs` | what passes ask: effects, sizes, calls; walking over terms |

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
    /// The name that people call it by; that of the function, with a number where it runs again.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Module) -> Module,
}

const fn pass(name: &'static str, run: fn(Module) -> Module) -> Pass {
    Pass { name, run }
}

/// The passes in order. Everything runs a second time on what the first round uncovered, with what is not
/// worth a second time left out.
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

/// What derivatives are taken of.
#[derive(Clone, Copy, Debug)]
pub struct Early<'a> {
    /// The functions that are called from elsewhere than the module, too.
    pub roots: &'a [FunctionId],
    /// Those of which calls stay calls.
    pub stay: &'a HashSet<FunctionId>,
    /// Whether all derivatives are forward ones: what is written out has a long backward part.
    pub forward: bool,
}

/// What is done before derivatives are taken: what is computed at once has no residuals. Functions and constants stay
/// where they are, with their parameters and results. Loops for the largest number are no reductions yet: which one of
/// equal numbers has the derivative depends on how they are written. What may have an infinite derivative is not computed
/// where it was not.
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
