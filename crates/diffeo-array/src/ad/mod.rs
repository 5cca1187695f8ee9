//! Derivatives: from functions of Flat to functions of Flat.
//!
//! What comes in: a function, complete with all that it calls, and which of its parameters vary. What goes out: further
//! functions of the module that compute its values with their derivatives, each once for each set of parameters that
//! vary. A derived function is ordinary Flat and can be derived again, so derivatives nest: the innermost comes first.
//!
//! | file | what is in it |
//! |---|---|
//! | `activity.rs` | activity analysis: which variables vary with the parameters, and which matter for the results |
//! | `partials.rs` | the partial derivatives of operations on Reals, as operations |
//! | `forward.rs` | forward mode: values and tangents, or Taylor coefficients |
//! | `orders.rs`, `taylor.rs` | multi-indices; Taylor coefficients of arithmetic |
//! | `rules.rs` | Taylor coefficients by the rules of `with_derivative` |
//! | `reverse.rs` | reverse mode: forward parts with residuals; backward parts |
//! | `sets.rs` | in the place of tangents, the sets of arguments on which numbers depend |
//! | `paths.rs` | a function on all paths that it may go |
//! | `operators.rs` | the derivative operators of programs |
//! | `helpers.rs` | helper functions |
//! | `sparse_adjoint.rs` | sparse adjoints of arrays |
//! | `shadow.rs` | tangents by type: of boxes, of what does not vary |
//! | `series.rs` | conversions of tangents: to other orders, from values, and back |
//! | `sum.rs` | sums of tangents and adjoints |
//! | `nan_guard.rs` | nan guards |
//!
//! A variable that varies is treated so whatever its derivative is: the product of a tangent 0 and an infinite slope is
//! nan, where the evaluator, which knows of each number whether it varies at all, has 0. Therefore the caller of a
//! derivative looks for nan in it.

mod activity;
mod forward;
mod helpers;
mod nan_guard;
mod operators;
mod orders;
mod partials;
mod paths;
mod reverse;
mod rules;
mod series;
mod sets;
mod shadow;
mod sparse_adjoint;
mod sum;
mod taylor;

use activity::influence;
pub use activity::{activity, differentiable, useful, Activity};
pub use forward::{forward, Forward};
pub use operators::{dependence, jet, rd, vjp};
pub use orders::{factorials, Orders};
pub use partials::{slopes, Slope};
pub use paths::all_paths;
pub use reverse::{reverse, Reverse};
pub use shadow::{tangents, zero};

use crate::ir::{BoxId, Elem, FlatTy, FunctionId, Module};
use hashbrown::{HashMap, HashSet};
use helpers::Helper;
use orders::Indices;
use serde::Serialize;
use std::rc::Rc;

/// The memory for the residuals of counted loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub enum Residuals {
    /// No bound.
    #[default]
    Any,
    /// The program stops ([`crate::ir::Stop::Room`]) before a loop that would keep more bytes.
    Most(u64),
    /// Checkpoints bound it: loops keep their carried values now and then, and are computed again in segments.
    Checkpoints,
}

/// A function, and which of its parameters vary.
pub type Key = (FunctionId, Box<[bool]>);

/// The functions that are not derived as they are written, and those that have been derived.
#[derive(Debug, Default)]
pub struct Deriver {
    /// Functions whose results do not vary, whatever the arguments do.
    pub detached: HashSet<FunctionId>,
    /// Functions of which reverse mode keeps the arguments, and computes the rest again.
    pub checkpoints: HashSet<FunctionId>,
    /// The memory that loops may take for their residuals.
    pub residuals: Residuals,
    /// Functions whose loops have been looked at for checkpoints.
    segmented: HashSet<FunctionId>,
    /// Functions with derivatives of their own.
    pub rules: HashMap<FunctionId, Rule>,
    /// By function and parameters, what varies in it.
    activities: HashMap<Key, Rc<Activity>>,
    /// By function and parameters, what depends on these, numbers or not.
    influences: HashMap<Key, Rc<Activity>>,
    /// The functions on all their paths.
    paths: HashMap<(Key, bool), FunctionId>,
    /// The derived functions.
    forwards: HashMap<forward::ForwardKey, Forward>,
    /// By rule and which of its parameters vary, what gives the derivatives of its results.
    slopes: HashMap<Key, FunctionId>,
    /// Derived functions whose bodies are still to be made.
    pending: Vec<forward::ForwardKey>,
    /// The multi-indices of orders.
    indices: HashMap<Orders, Rc<Indices>>,
    /// The parts of functions in reverse mode; those that are being derived.
    reverses: HashMap<reverse::ReverseRequest, Reverse>,
    /// Of functions, what the adjoints of results are.
    sources: reverse::Sources,
    open_reverses: HashMap<reverse::ReverseRequest, reverse::OpenReverse>,
    /// The recursions that functions belong to, and the tapes of these by their first function.
    recursions: HashMap<FunctionId, reverse::Recursion>,
    tapes: HashMap<FunctionId, reverse::Tape>,
    /// How often a function was derived.
    names: HashMap<FunctionId, u32>,
    /// The shadows of types of boxes, by order.
    shadows: HashMap<(BoxId, usize), BoxId>,
    /// Functions that add up, convert and put together tangents and adjoints.
    helpers: HashMap<Helper, FunctionId>,
    /// The bags of adjoints of a type, by rank; and back.
    bags: HashMap<(Elem, u8), BoxId>,
    bag_types: HashMap<BoxId, (Elem, u8)>,
}

/// The derivative that a function was given: a function of the parameters of the function, then the tangents of
/// those parameters from `point` on that are differentiable. It gives the results of the function, then the tangents
/// of the differentiable ones, which are linear in the tangents given. With the parameters before `point`, captured by
/// the rule, its results vary as any function's do.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The function.
    pub function: FunctionId,
    /// The first parameter that belongs to the point.
    pub point: usize,
    /// A condition of the rule: it counts only where this function decides by numbers that vary and by its argument. The
    /// number is that of the first parameters here, which are the function's; the last of these is the argument.
    pub decisions: Option<(FunctionId, usize)>,
}

impl Deriver {
    /// The rule of a function that counts where these of its arguments vary.
    fn rule(&mut self, module: &Module, function: FunctionId, active: &[bool]) -> Option<Rule> {
        let rule = self.rules.get(&function)?.clone();
        let counts = match rule.decisions {
            None => true,
            Some(_) if !active.contains(&true) => false,
            Some((of, count)) => {
                let keys = decisive(module, of, &active[..count]);
                keys.iter().all(|active| activity(module, self, of, active).decides)
            }
        };
        counts.then_some(rule)
    }

    /// Forgets what was found of functions, which are not as they were.
    pub fn forget(&mut self) {
        self.activities.clear();
        self.influences.clear();
        self.paths.clear();
        self.forwards.clear();
        self.slopes.clear();
        self.reverses.clear();
        self.sources = reverse::Sources::default();
        self.recursions.clear();
        self.tapes.clear();
    }

    /// The derivatives of a type of boxes have types.
    fn has_shadow(&self, boxes: BoxId) -> bool {
        self.shadows.keys().any(|(id, _)| *id == boxes)
    }

    fn indices(&mut self, orders: Orders) -> Rc<Indices> {
        let made = || Rc::new(Indices::new(orders));
        self.indices.entry(orders).or_insert_with(made).clone()
    }
}

/// Of all parameters of a function, those that vary, where these are the first of them and the others do not; and the last
/// of these alone, the argument by which it is to decide, too.
fn decisive(module: &Module, function: FunctionId, first: &[bool]) -> [Vec<bool>; 2] {
    let count = module.functions[function.0 as usize].params.len();
    let mut active = first.to_vec();
    active.resize(count, false);
    let mut argument = vec![false; count];
    if let Some(last) = first.len().checked_sub(1) {
        argument[last] = true;
    }
    [active, argument]
}

/// A derivative that is not made, in words.
#[derive(Clone, Debug)]
pub struct Unsupported(pub String);

/// The values of a type, in the words of a program.
fn words(ty: &FlatTy) -> &'static str {
    match ty {
        FlatTy::Real | FlatTy::Int | FlatTy::Bool | FlatTy::Text => "numbers and texts",
        FlatTy::Array(Elem::Box(_), _) => "arrays of data or functions",
        FlatTy::Array(Elem::Real | Elem::Int | Elem::Bool | Elem::Text, _) => "arrays",
        FlatTy::Box(_) => "data or functions",
        FlatTy::Acc(_) | FlatTy::Stack(_) => "another gradient",
    }
}
