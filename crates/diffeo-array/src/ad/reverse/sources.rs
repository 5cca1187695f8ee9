//! The adjoints of the results of functions, for their callers.
//!
//! The answer for a function depends on those for the functions that it calls. Where functions call each other, the
//! answers have to be a fixed point: the first of them that is asked for, the *root*, goes through all of them, each
//! once, until a round finds what the one before has found.

use super::plan::AdjointPlan;
use super::{varying, ParamUse};
use crate::ad::{activity, Deriver};
use crate::ir::walk::deep;
use crate::ir::{Elem, FlatTy, Function, FunctionId, Module, Var};
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// After so many rounds through functions that call each other, they share nothing.
const ROUNDS: usize = 5;

/// The adjoint of a result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultAdjoint {
    /// If it is an array, it has an accumulator of its own.
    Own,
    /// It has that of this parameter in common with it; the result may be larger.
    Shared { param: usize, grows: bool },
    /// A bag.
    Bag,
}

impl ResultAdjoint {
    /// The parameter with which the accumulator is shared.
    pub fn param(self) -> Option<usize> {
        match self {
            ResultAdjoint::Shared { param, .. } => Some(param),
            ResultAdjoint::Own | ResultAdjoint::Bag => None,
        }
    }
}

/// A function and the uses of its parameters, as if all were kept.
pub(super) type SourcesKey = (FunctionId, Box<[ParamUse]>);

/// The adjoints of the results of functions, as far as they are known.
#[derive(Debug, Default)]
pub(in crate::ad) struct Sources {
    found: HashMap<SourcesKey, Rc<[ResultAdjoint]>>,
    /// Functions that are being looked at, and those that depend on what is supposed of these.
    open: HashMap<SourcesKey, OpenResults>,
    /// The results of the round before.
    guesses: HashMap<SourcesKey, Rc<[ResultAdjoint]>>,
    /// How many functions are being looked at, each for the one before.
    depth: usize,
    /// The first one of them that what was asked for depends on.
    lowest: usize,
    /// Whether something was found in this round that was not supposed.
    differs: bool,
}

#[derive(Debug)]
struct OpenResults {
    sources: Rc<[ResultAdjoint]>,
    /// The first function that is being looked at on which they depend.
    lowest: usize,
}

/// The adjoint of each result of a function.
pub(super) fn sources(
    module: &Module,
    cache: &mut Deriver,
    key: &SourcesKey,
) -> Rc<[ResultAdjoint]> {
    let (function, params) = key;
    let source = &module.functions[function.0 as usize];
    let special = cache.rules.contains_key(function)
        || cache.detached.contains(function)
        || cache.checkpoints.contains(function);
    let arrays = source.results.iter().any(|ty| matches!(ty, FlatTy::Array(Elem::Real, _)));
    if special
        || !(arrays && params.iter().any(|param| param.varies)
            || params.iter().any(|param| param.given))
    {
        return own(source);
    }
    if let Some(known) = cache.sources.found.get(key) {
        return known.clone();
    }
    if let Some(open) = cache.sources.open.get(key) {
        cache.sources.lowest = cache.sources.lowest.min(open.lowest);
        return open.sources.clone();
    }
    let depth = cache.sources.depth;
    cache.sources.depth += 1;
    let outer = (cache.sources.lowest, std::mem::take(&mut cache.sources.differs));
    let guess = cache.sources.guesses.get(key).cloned();
    let (found, lowest) =
        settle(module, cache, key, guess.unwrap_or_else(|| matching(source, params)));
    cache.sources.depth = depth;
    cache.sources.lowest = outer.0.min(lowest);
    cache.sources.differs |= outer.1;
    found
}

/// The same of a function that is not known yet; and the first function that is being looked at on which it depends.
fn settle(
    module: &Module,
    cache: &mut Deriver,
    key: &SourcesKey,
    mut guess: Rc<[ResultAdjoint]>,
) -> (Rc<[ResultAdjoint]>, usize) {
    let source = &module.functions[key.0 .0 as usize];
    let depth = cache.sources.depth - 1;
    let mut members = Vec::new();
    for _ in 0..ROUNDS {
        let found = look(module, cache, (key, &guess), depth);
        let state = &mut cache.sources;
        let lowest = state.lowest;
        if lowest > depth {
            // It does not call itself.
            state.open.remove(key);
            state.found.insert(key.clone(), found.clone());
            return (found, lowest);
        }
        state.differs |= found != guess;
        if lowest < depth {
            // Its root goes through all of them again, if need be; what depends on this one depends on that, too.
            state.open.insert(key.clone(), OpenResults { sources: found.clone(), lowest });
            state.open.values_mut().filter(|open| open.lowest >= depth).for_each(|open| {
                open.lowest = lowest;
            });
            return (found, lowest);
        }
        members = state.open.extract_if(|_, open| open.lowest >= depth).collect();
        if !std::mem::take(&mut state.differs) {
            state.found.extend(members.into_iter().map(|(key, open)| (key, open.sources)));
            return (found, usize::MAX);
        }
        state.guesses.extend(members.iter().map(|(key, open)| (key.clone(), open.sources.clone())));
        guess = found;
    }
    for (member, _) in members {
        let none = own(&module.functions[member.0 .0 as usize]);
        cache.sources.found.insert(member, none);
    }
    (own(source), usize::MAX)
}

/// The results of a plan that supposes these.
fn look(
    module: &Module,
    cache: &mut Deriver,
    (key, guess): (&SourcesKey, &Rc<[ResultAdjoint]>),
    depth: usize,
) -> Rc<[ResultAdjoint]> {
    cache.sources.lowest = usize::MAX;
    let open = OpenResults { sources: guess.clone(), lowest: depth };
    cache.sources.open.insert(key.clone(), open);
    let (function, params) = key;
    let source = &module.functions[function.0 as usize];
    let activity = activity(module, cache, *function, &varying(params));
    let plan = deep(|| AdjointPlan::new(module, cache, source, &activity, params));
    plan.sources(source, &activity)
}

/// Nothing is shared.
fn own(function: &Function) -> Rc<[ResultAdjoint]> {
    vec![ResultAdjoint::Own; function.results.len()].into()
}

/// Supposes that the arrays given are the results of the same types, in order.
fn matching(function: &Function, params: &[ParamUse]) -> Rc<[ResultAdjoint]> {
    let mut taken = HashSet::new();
    let ty = |v: &Var| &function.vars[v.0 as usize].ty;
    let mut find = |wanted: &FlatTy| {
        let mut params = function.params.iter().enumerate().zip(params);
        let ((param, _), _) = params.find(|((i, v), used)| {
            used.given
                && ty(v) == wanted
                && matches!(wanted, FlatTy::Array(..))
                && !taken.contains(i)
        })?;
        taken.insert(param);
        Some(ResultAdjoint::Shared { param, grows: false })
    };
    function.results.iter().map(|ty| find(ty).unwrap_or(ResultAdjoint::Own)).collect()
}
