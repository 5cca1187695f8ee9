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

/// The passes in order. Each slot says why the pass runs there, and why again.
pub const PASSES: &[Pass] = &[
    // Lowering makes functions that nothing calls: instances that were inlined, derivatives of parts.
    pass("dead_functions", dead_functions),
    // Before inlining, which would copy the calls: recursion becomes loops that the others know.
    pass("tail", tail),
    // Lowering writes what is easy to make: projections of tuples, sizes that are known.
    pass("simplify", simplify),
    // Lowering computes sizes and closures where they are used, again and again.
    pass("cse", cse),
    // Inlining goes by the size of functions: what is not used does not count.
    pass("dce", dce),
    // The passes below see one function at a time.
    pass("inline", inline),
    // Functions of which every call was inlined.
    pass("dead_functions.2", dead_functions),
    // Arguments of inlined calls are known: branches and indices go.
    pass("simplify.2", simplify),
    // Inlined copies of one function compute the same of the same.
    pass("cse.2", cse),
    // Constructors that nothing makes any more, now that functions are gone.
    pass("dead_variants", dead_variants),
    // After variants: an argument is constant if all calls that are left agree.
    pass("constants", constants),
    // Sizes and functions that are constants of calls; before loops are looked at.
    pass("specialise", specialise),
    // The general functions of which all calls are special ones now.
    pass("dead_functions.3", dead_functions),
    // Before unrolling and fusion, which know counted loops.
    pass("canonical_loops", canonical_loops),
    // Small loops of known counts, before their arrays are looked at.
    pass("unroll", unroll),
    // Accumulators of derivatives that one loop adds to, once the loops around are settled.
    pass("promote", promote),
    // Elements of unrolled arrays are known.
    pass("simplify.3", simplify),
    // Checks go before fusion, which does not cross what can stop.
    pass("ranges", ranges),
    // Conditions that ranges have decided.
    pass("simplify.4", simplify),
    // Elements that unrolled steps read twice.
    pass("cse.3", cse),
    // So that functions are small enough to be inlined.
    pass("dce.2", dce),
    // Functions that have become small.
    pass("inline.2", inline_small),
    // Those, where no call is left.
    pass("dead_functions.4", dead_functions),
    // Before fusion: a reduction can be fused, a loop with a comparison cannot.
    pass("extrema", extrema),
    // Producers into consumers, when all loops have the form that fusion knows.
    pass("fuse", fuse),
    // Elements of arrays that are not made any more.
    pass("simplify.5", simplify),
    // Loops whose counts fusion has made known.
    pass("unroll.2", unroll),
    // Accumulators that a fused loop adds to.
    pass("promote.2", promote),
    // What unrolling has made known; scalars looks for plain elements.
    pass("simplify.6", simplify),
    // Small arrays as numbers, across the loops that are left.
    pass("scalars", scalars),
    // Numbers that were elements of the same arrays.
    pass("cse.4", cse),
    // Indices that are plain numbers now.
    pass("ranges.2", ranges),
    // Arrays of which all elements are numbers; fusion counts the uses of arrays.
    pass("dce.3", dce),
    // Arrays that have one consumer left.
    pass("fuse.2", fuse),
    // Behind fusion, which would not cross a deferred check; before hoisting, which moves it.
    pass("defer_checks", defer_checks),
    // Out of the loops that fusion has left.
    pass("hoist", hoist),
    // Checks of what hoist has moved out.
    pass("hoist_checks", hoist_checks),
    // Loops of one count side by side, once nothing stands between them.
    pass("fuse_siblings", fuse_siblings),
    // Needs one loop with all that it adds to an array.
    pass("scatter_to_map", scatter_to_map),
    // What the joined loops compute for each of them.
    pass("hoist.2", hoist),
    // Maps that were scatters.
    pass("simplify.7", simplify),
    // Joined loops compute the same.
    pass("cse.5", cse),
    // Indices of joined loops and new maps.
    pass("ranges.3", ranges),
    // Maps that were scatters, into who reads them.
    pass("fuse.3", fuse),
    // Elements of these.
    pass("simplify.8", simplify),
    // Behind the last fusion, which would undo it: what one branch alone needs.
    pass("sink_producers", sink_producers),
    // Loops of which few elements are asked for, when all readers are known.
    pass("demand", demand),
    // Loops that became alike by that.
    pass("fuse_siblings.2", fuse_siblings),
    // What these leave.
    pass("simplify.9", simplify),
    // The last time: what follows keeps values apart.
    pass("cse.6", cse),
    // When it is clear who reads a sum of arrays.
    pass("add_elements", add_elements),
    // Tables of indices that do not depend on the run, behind all that would look through them.
    pass("index_tables", index_tables),
    // Matrices as flat arrays: the passes above know rows.
    pass("rows", rows),
    // Into the branches that need it, behind cse, which would move it out.
    pass("sink", sink),
    // What the last ones leave.
    pass("dce.4", dce),
];

/// What the passes of [`EARLY`] are told of functions that are to be differentiated.
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

/// A pass before derivatives are taken.
#[derive(Clone, Copy, Debug)]
pub struct EarlyPass {
    /// Its name for people: `early.` and that of the function.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Module, &Early<'_>) -> Module,
}

macro_rules! early {
    ($name:literal, $run:expr) => {
        EarlyPass { name: concat!("early.", $name), run: |module, _| $run(module) }
    };
}

/// The passes before derivatives are taken, in order, so that there are fewer residuals. Functions and constants stay where
/// they are, with their parameters and results. What may have an infinite derivative is not computed speculatively. Each
/// slot says why the pass runs there, and why again.
pub const EARLY: &[EarlyPass] = &[
    // Lowering writes what is easy to make; each of it would have an adjoint.
    early!("simplify", simplify_early),
    // What is computed twice is kept twice.
    early!("cse", cse),
    // Inlining goes by the size of functions.
    early!("dce", dce::dce_within),
    // The derivative of a call keeps all that the function keeps; within one function less is kept.
    EarlyPass {
        name: "early.inline",
        run: |module, of| {
            inline::inline_early(module, &inline::Early { roots: of.roots, stay: of.stay })
        },
    },
    // Arguments of inlined calls are known.
    early!("simplify.2", simplify_early),
    // Inlined copies of one function compute the same of the same.
    early!("cse.2", cse),
    // Sizes and functions that are constants of calls: fewer adjoints vary.
    EarlyPass {
        name: "early.specialise",
        run: |module, of| specialise::specialise_early(module, of.stay),
    },
    // Reverse mode of a counted loop keeps an array of known size, that of another one a stack.
    early!("canonical_loops", canonical_loops),
    // Loops over the components of small vectors, which would keep each component.
    early!("unroll", unroll_early),
    // Elements of unrolled arrays are known.
    early!("simplify.3", simplify_early),
    // A check stands between what could be fused, and again in the backward part.
    early!("ranges", ranges),
    // Conditions that ranges have decided.
    early!("simplify.4", simplify_early),
    // Elements that unrolled steps read twice.
    early!("cse.3", cse),
    // Fusion counts the uses of arrays.
    early!("dce.2", dce::dce_within),
    // The derivative of a maximum reads one element; that of the loop adds to all.
    early!("extrema", extrema_early),
    // An array that is not made is not kept.
    early!("fuse", fuse),
    // What does not change from step to step has one adjoint, not one for each step.
    early!("hoist", hoist_early),
    // Elements of arrays that are not made any more.
    early!("simplify.5", simplify_early),
    // Loops whose counts fusion has made known. Backwards unrolled code is long: forwards only.
    EarlyPass {
        name: "early.unroll.2",
        run: |module, of| if of.forward { unroll_early(module) } else { module },
    },
    // What these leave.
    early!("simplify.6", simplify_early),
    // The last time, before residuals are chosen.
    early!("cse.4", cse),
    // What is not used has no residuals.
    early!("dce.3", dce::dce_within),
];

/// A module after all passes.
pub fn optimise(module: Module) -> Module {
    PASSES.iter().fold(module, |module, pass| (pass.run)(module))
}
