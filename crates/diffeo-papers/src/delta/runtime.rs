//! The functions that translated programs call (Krawiec et al., Figure 10 and section 7.3): Core, written out in
//! `figure_10.core` and in `lists.core` or `arrays.core`.
//!
//! | name | in the figure | lists (Figure 10) | arrays (section 7.3) |
//! |---|---|---|---|
//! | `DeltaBinds` | in reverse dependency order | `[(DeltaId, Delta)]` | `Array Delta`, in dependency order |
//! | `DeltaMap` | `Map DeltaId δℝ` | a radix tree | `Array (Maybe δℝ)` |
//! | `runDelta id m` | the Delta of a computation | wrapped in `Let`s | with the bindings behind it |
//! | `finalMap u` | `eval 1 u emptyMap` | | |
//! | `resume s m` | `runDelta`, from a state on (ours) | | |
//!
//! `Delta` and the maps take the type of numbers as a parameter, so that all of this, too, can be translated.
//!
//! The array has an entry for each id from 0 to the last one; `Nothing` instead of the paper's
//! 0 says that nothing was added, so that, as with the tree, bindings that the result does not depend on are
//! skipped (0 × ∞ would be nan). Instead of building a `Let` for each binding, which section 7.3 leaves open,
//! the array of bindings is gone through from the last to the first.

use crate::splice::TextDefinitions;
use crate::{System, Workspace};
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

const FIGURE_10: &str = include_str!("figure_10.core");
const LISTS: &str = include_str!("lists.core");
const ARRAYS: &str = include_str!("arrays.core");

/// What stands for a type in the text with lists.
const WITH_LISTS: &[(&str, &str)] = &[
    ("DeltaRun", "Delta[Real]"),
    ("DeltaState", "(Int, DeltaBinds)"),
    ("DeltaBinds", "List[(Int, Delta[Real])]"),
    ("DeltaMap", "Map[Real]"),
];

/// What stands for a type in the text with arrays.
const WITH_ARRAYS: &[(&str, &str)] = &[
    ("DeltaRun", "(Delta[Real], DeltaState)"),
    ("DeltaState", "(Int, DeltaBinds)"),
    ("DeltaBinds", "[]Delta[Real]"),
    ("DeltaMap", "[]Maybe[Real]"),
];

/// The constructors of Delta, by tag.
pub(crate) const ZERO: u32 = 0;
pub(crate) const SCALE: u32 = 1;
pub(crate) const ADD: u32 = 2;
pub(crate) const VAR: u32 = 3;

/// The supporting functions for a system.
pub(crate) fn library(w: &mut Workspace, system: &System) -> Rc<TextDefinitions> {
    let arrays = matches!(system, System::Delta(choices) if choices.arrays);
    if arrays {
        w.library("arrays", &[FIGURE_10, ARRAYS], WITH_ARRAYS)
    } else {
        w.library("lists", &[FIGURE_10, LISTS], WITH_LISTS)
    }
}

/// One of them.
pub(crate) fn function(w: &mut Workspace, system: &System, name: &str) -> GlobalId {
    library(w, system).global(name)
}

/// `Delta`
pub(crate) fn delta(w: &mut Workspace, system: &System) -> Ty {
    Ty::Data(library(w, system).data("Delta"), [Ty::Real].into())
}

/// `DeltaState`, what `start` gives.
pub(crate) fn state(w: &mut Workspace, system: &System) -> Ty {
    result(w, system, "start")
}

/// `DeltaMap`, what `finalMap` gives.
pub(crate) fn map(w: &mut Workspace, system: &System) -> Ty {
    result(w, system, "finalMap")
}

/// What `finalMap` takes.
pub(crate) fn run(w: &mut Workspace, system: &System) -> Ty {
    let id = function(w, system, "finalMap");
    match &w.global(id).ty {
        Ty::Fun(f) => f.0.clone(),
        other => other.clone(),
    }
}

fn result(w: &mut Workspace, system: &System, name: &str) -> Ty {
    let id = function(w, system, name);
    match &w.global(id).ty {
        Ty::Fun(f) => f.1.clone(),
        other => other.clone(),
    }
}
