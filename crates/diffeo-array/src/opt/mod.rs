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
//! | `promote.rs` | accumulator promotion |
//! | `unroll.rs` | unrolling; small arrays as numbers |
//! | `effects.rs`, `shapes.rs`, `graph.rs` | what passes ask: effects, sizes, calls |

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
pub(crate) mod shapes;
mod simplify;
mod sink;
mod sink_producers;
mod specialise;
mod tail;
mod unroll;

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
    /// Data decide sizes of arrays behind it, even where those of arguments are known.
    pub data_decide_sizes: bool,
}

const fn pass(name: &'static str, run: fn(Module) -> Module) -> Pass {
    Pass { name, run, data_decide_sizes: false }
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
    // Accumulators of a few numbers: unroll has made their indices constant.
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
    // Accumulators whose indices the second unrolling has made constant.
    pass("promote.2", promote),
    // Elements that unrolling has made known: scalars looks for elements written out.
    pass("simplify.6", simplify),
    // Small arrays as numbers, across the loops that are left.
    pass("scalars", scalars),
    // Numbers that were elements of the same arrays.
    pass("cse.4", cse),
    // Indices that are plain numbers now.
    pass("ranges.2", ranges),
    // Arrays of which all elements are numbers now: fusion counts uses.
    pass("dce.3", dce),
    // Arrays that have one consumer left.
    pass("fuse.2", fuse),
    // Looks for nan move behind their loops, so that hoist_checks finds steps that cannot stop.
    pass("defer_checks", defer_checks),
    // Out of the loops that fusion has left.
    pass("hoist", hoist),
    // Loops without effects, which fuse_siblings, sink_producers and demand need.
    pass("hoist_checks", hoist_checks),
    // Loops of one count side by side: both are without effects now.
    pass("fuse_siblings", fuse_siblings),
    // Statements that do not change in the loops that were joined.
    pass("hoist.2", hoist),
    // Elements that one step of a joined loop writes and reads.
    pass("simplify.7", simplify),
    // Statements that joined loops compute twice.
    pass("cse.5", cse),
    // Checks of indices in joined loops.
    pass("ranges.3", ranges),
    // Producers into consumers, now that checks have left both loops.
    pass("fuse.3", fuse),
    // Elements of arrays that are not made any more.
    pass("simplify.8", simplify),
    // Comprehensions move to the callers, where demand sees which elements are read.
    pass("sink_producers", sink_producers),
    // Comprehensions of which few elements are read, once all readers stand in one function.
    Pass { data_decide_sizes: true, ..pass("demand", demand) },
    // Loops that demand has given one count.
    pass("fuse_siblings.2", fuse_siblings),
    // Reads of arrays that the last three have changed.
    pass("simplify.9", simplify),
    // Common subexpressions, for the last time.
    pass("cse.6", cse),
    // Indices go into tables when no pass has to understand them any more.
    pass("index_tables", index_tables),
    // Matrices as flat arrays, late: the passes above understand rows.
    pass("rows", rows),
    // Statements move into the branch that uses them, when no pass moves them out any more.
    pass("sink", sink),
    // Statements that have lost their uses since.
    pass("dce.4", dce),
];

/// The functions that are to be differentiated, for the passes of [`EARLY`].
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
    // Projections and sizes of lowering: each statement that stays has an adjoint.
    early!("simplify", simplify_early),
    // Common subexpressions, which reverse mode would keep twice.
    early!("cse", cse),
    // Inlining goes by the size of functions.
    early!("dce", dce::dce_within),
    // Inlined calls: reverse mode keeps less within one function than across calls.
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
    // Known sizes are written down before loops are looked at, so that derivatives know them, too.
    EarlyPass {
        name: "early.specialise",
        run: |module, of| specialise::specialise_early(module, of.stay),
    },
    // Counted loops, which unroll, ranges and fuse understand.
    early!("canonical_loops", canonical_loops),
    // Loops over the components of small vectors: numbers need no array to keep them.
    early!("unroll", unroll_early),
    // Elements of unrolled arrays are known.
    early!("simplify.3", simplify_early),
    // Checks that certainly hold: fusion does not cross what can stop.
    early!("ranges", ranges),
    // Conditions that ranges have decided.
    early!("simplify.4", simplify_early),
    // Elements that unrolled steps read twice.
    early!("cse.3", cse),
    // Fusion counts the uses of arrays.
    early!("dce.2", dce::dce_within),
    // Before fusion, which joins reductions and no loops with comparisons; the derivative goes to the chosen element
    // alone.
    early!("extrema", extrema_early),
    // Arrays between loops: reverse mode keeps none that is not made.
    early!("fuse", fuse),
    // Out of the loops that fusion has left: outside, code has one adjoint, not one a step.
    early!("hoist", hoist_early),
    // Elements of arrays that are not made any more; branches that hoisting has decided.
    early!("simplify.5", simplify_early),
    // Loops whose counts fusion has made known. Backwards unrolled code is long: forwards only.
    EarlyPass {
        name: "early.unroll.2",
        run: |module, of| if of.forward { unroll_early(module) } else { module },
    },
    // Elements that the second unrolling has made known; for reverse mode there are none.
    early!("simplify.6", simplify_early),
    // Common subexpressions, for the last time before residuals are chosen.
    early!("cse.4", cse),
    // Dead code, for which reverse mode would keep residuals.
    early!("dce.3", dce::dce_within),
];

/// A module after all passes.
pub fn optimise(module: Module) -> Module {
    PASSES.iter().fold(module, |module, pass| (pass.run)(module))
}
