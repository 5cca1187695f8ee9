//! Who translates function values while a program runs: the papers' systems, for which a [`Machine`](super::Machine)
//! knows nothing of them.

use super::limits::Exceeded;
use crate::system::System;
use crate::term::{GlobalId, Program};
use crate::value::Value;
use std::rc::Rc;

/// What a function value was compiled from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeSource {
    /// A definition.
    Definition(GlobalId),
    /// The function with this parameter within a definition.
    Local(u32),
}

/// A program that grows by translations of its functions.
pub trait Translator {
    /// The program with all that was added so far.
    fn program(&mut self) -> Rc<Program>;

    /// The bound that was reached while it translated, after which what it gives has no meaning.
    fn exceeded(&self) -> Option<Exceeded>;

    /// The definition that one was translated from, by however many systems; itself, if it was not.
    fn original(&self, id: GlobalId) -> GlobalId;

    /// Whether there is more than these definitions.
    fn has_more(&self, definitions: usize) -> bool;

    /// The translation by a system of a function whose code went through others before: the definition that has it, and
    /// the environment that it takes if the function captured one. None if the code is not known.
    fn lifting(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)>;

    /// The function that a translated one was made from, likewise.
    fn lowering(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)>;

    /// Whether a number that a translated function captured varies in the system: the Bool, or its function of the
    /// environment.
    fn varying(
        &mut self,
        system: &System,
        outer: &[System],
        source: CodeSource,
        captured: Vec<(u32, Value)>,
    ) -> Option<(GlobalId, Option<Value>)>;

    /// The state in which computations of a system start, as a function, if it has one.
    fn start(&mut self, system: &System) -> Option<GlobalId>;
}
