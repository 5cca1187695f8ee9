//! Helper functions of derivatives: they add up, convert and put together tangents and adjoints. They call themselves
//! for the contents of boxes, so they are declared first, and their bodies are made later.

use super::series::Recipe;
use super::sum::Merge;
use crate::build::Builder;
use crate::ir::{Atom, BoxId, FlatTy, FunctionId, Module, Stop};
use diffeo_base::Name;

/// A helper function, by the type of its boxes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Helper {
    /// Adds up, or joins, two shadows.
    Merge(Merge, BoxId),
    /// Makes adjoints of boxes with adjoints in the place of Reals.
    ToAdjoint(BoxId),
    /// Makes boxes with adjoints in the place of Reals, and whether it looks for nan.
    FromAdjoint(BoxId, bool),
    /// Makes boxes with zeros in the place of Reals.
    Zeroed(BoxId),
    /// Converts tangents as a recipe says.
    Convert(BoxId, Recipe),
    /// Adds bags to arrays, of whose indices so many come first.
    AddToArray(BoxId, u8),
    /// Adds bags to accumulators.
    Scatter(BoxId),
}

/// Adds a function with the parameters of its builder that gives values of these types, of this name, which gets a
/// number if there is one. Until its body is made, it stops the program for the evaluator to take over.
pub(super) fn declare(
    module: &mut Module,
    b: &Builder,
    name: Name,
    results: Vec<FlatTy>,
) -> FunctionId {
    let function = FunctionId(module.functions.len() as u32);
    let taken = |name: &Name| module.functions.iter().any(|function| function.name == *name);
    let mut unique = name.clone();
    let mut number = 1;
    while taken(&unique) {
        number += 1;
        unique = Name::from(format!("{name}.{number}"));
    }
    let mut stopped = b.clone();
    let results = stopped.stop(Stop::Nan, results);
    if let Ok(mut declared) = stopped.finish(unique, results) {
        (declared.shown, declared.library) = (Name::new(""), true);
        module.functions.push(declared);
    }
    function
}

/// Makes the body of a declared function.
pub(super) fn complete(module: &mut Module, function: FunctionId, b: Builder, results: Vec<Atom>) {
    if let Ok(made) = b.finish("", results) {
        let declared = &mut module.functions[function.0 as usize];
        (declared.vars, declared.body) = (made.vars, made.body);
    }
}
