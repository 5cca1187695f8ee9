//! Core to Flat.
//!
//! What comes in: a Core program that lints, and one of its definitions, of a first-order type or a function between
//! such. What goes out: a module of Flat whose entry computes it, with the same values, failures and places as the
//! evaluator. Programs that cannot be lowered are found before anything is done; derivatives that cannot, when they are
//! made.
//!
//! A term is lowered by evaluating it on *symbolic values* ([`sym`]): a variable stands for what is known of its value
//! and the variables of Flat that hold the rest. So tuples cost nothing, known functions are called directly and a case
//! of a known constructor is no branch.
//!
//! | file | what is in it |
//! |---|---|
//! | `analyse.rs` | analysis of Core beforehand |
//! | `shape.rs` | how values of a type are laid out; what can be known of a value |
//! | `sym.rs` | symbolic values, and values of Flat made of them and turned into them |
//! | `term.rs`, `branch.rs` | the forms of Core |
//! | `call.rs` | instances of functions, constants, functions in boxes |
//! | `derivative.rs`, `derivative/make.rs` | derivative operators: declared; made when all else is there |
//! | `kinks.rs` | detection of kinks |
//! | `prim.rs`, `array.rs`, `sizes.rs` | primitive operations |
//! | `polytypic/` | operations by induction on types |
//! | `value.rs` | values of programs as values of Flat and back |
//!
//! A function of Core is lowered once for each *instance*: each combination of what is known of the functions in its
//! argument and in what it captured. A function of which nothing is known any more (in a list, or growing in a
//! recursion) is a box of captured values; a function for each function type calls what is in such a box.
//!
//! Functions that the lowering itself made (for equality of lists, say) have an empty [`shown`] name: they do not
//! appear in messages, and what fails in them failed at their call.
//!
//! [`shown`]: diffeo_array::ir::Function::shown

mod analyse;
mod array;
mod branch;
mod call;
mod derivative;
mod kinks;
pub mod passes;
mod polytypic;
mod prim;
mod refusal;
mod shape;
mod sizes;
mod sym;
mod term;
pub mod value;

pub use refusal::Refusal;

use analyse::Lambda;
use call::{Constant, FunctionType, Instance, Job};
use derivative::{Derivative, Pullback};
use diffeo_array::ad::Deriver;
pub use diffeo_array::ad::Residuals;
use diffeo_array::build::Builder;
use diffeo_array::ir::{
    Atom, Block, BoxId, FlatTy, Function, FunctionId, Inlined, Module, Op, Site, SiteId, VarInfo,
    Variant,
};
use diffeo_array::places::place_warnings;
use diffeo_base::{Name, Span};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{GlobalId, Program};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::{typing, Ty};
use passes::PassRun;
use serde::Serialize;
use shape::{Content, Fields, Shape};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use sym::Sym;

/// A program of Flat for a definition of Core. Its entry takes the values that the argument consists of,
/// where the definition is a function, and gives those of the result.
///
/// # Errors
/// A [`Refusal`]: the evaluator runs the program.
pub fn lower(
    program: &Program,
    entry: GlobalId,
    options: LowerOptions,
    see: &mut dyn FnMut(&PassRun<'_>),
) -> Result<Lowered, Refusal> {
    if let Some(refusal) = refusal(program, entry) {
        return Err(refusal);
    }
    let evaluated = [
        (DiffOp::RdAlong, "directions decide at its kinks, which compiled code does not know"),
        (DiffOp::Enclose, "compiled code has no intervals"),
    ];
    for (evaluated, why) in evaluated {
        if let Some(place) = analyse::derivative(program, entry, |op| op == evaluated) {
            return Err(Refusal::Derivative(place, why.to_string()));
        }
    }
    let mut cx = Lower::new(program, see);
    cx.options = options;
    cx.deriver.residuals = options.residuals;
    cx.differentiates = differentiates(program, entry);
    let ty = program.globals[entry.0 as usize].ty.clone();
    cx.entry(entry, &ty);
    cx.finish(ty)
}

/// A definition leads to derivatives.
pub fn differentiates(program: &Program, entry: GlobalId) -> bool {
    // Where nothing is differentiated, the others are calls and the identity.
    let differentiates = |op| match op {
        DiffOp::Rd
        | DiffOp::Vjp
        | DiffOp::Jvp
        | DiffOp::Jet { .. }
        | DiffOp::Dependence
        | DiffOp::AllPaths => true,
        DiffOp::RdAlong
        | DiffOp::StopGradient
        | DiffOp::Checkpoint
        | DiffOp::WithDerivative
        | DiffOp::WithExactDerivative
        | DiffOp::Decisions
        | DiffOp::Deciding
        | DiffOp::Enclose => false,
    };
    analyse::derivative(program, entry, differentiates).is_some()
}

/// Whether a definition leads to rules for derivatives.
pub fn has_rules(program: &Program, entry: GlobalId) -> bool {
    let rule = |op| matches!(op, DiffOp::WithDerivative | DiffOp::WithExactDerivative);
    analyse::derivative(program, entry, rule).is_some()
}

/// Why there is no Flat for a definition, if there is none.
pub fn refusal(program: &Program, entry: GlobalId) -> Option<Refusal> {
    // Programs of the papers' systems are not lowered.
    if let Some(lifted) = analyse::derivative(program, entry, |_| false) {
        return Some(Refusal::Derivative(lifted, String::new()));
    }
    if let Some(growing) = growing(program) {
        return Some(growing);
    }
    let first_order = |ty: &Ty| typing::first_order(ty, program);
    let fits = match &program.globals[entry.0 as usize].ty {
        Ty::Fun(fun) => first_order(&fun.0) && first_order(&fun.1),
        ty => first_order(ty),
    };
    (!fits).then_some(Refusal::Entry)
}

/// The type that keeps a program from being lowered or translated, as there is code for each type of values.
pub fn growing(program: &Program) -> Option<Refusal> {
    let data = typing::growing(program)?;
    Some(Refusal::Type(program.datas[data.0 as usize].name.clone()))
}

/// How a program is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LowerOptions {
    /// What becomes of a derivative that is nan.
    pub nan: Nan,
    /// Whether the program stops, for the evaluator to look closer, where it may have met a kink or left a domain.
    pub kinks: bool,
    /// How many statements the derivatives may have, if that is bounded.
    pub longest: Option<usize>,
    /// The memory for the residuals of loops in reverse mode.
    pub residuals: Residuals,
    /// Passes after which data decide the sizes of arrays are left out: XLA compiles known sizes alone.
    pub regular: bool,
    /// For tests: whether Ints and Bools in fields that a variant's constructor does not have are values that change
    /// the result of whoever reads them.
    pub poison: bool,
}

/// What becomes of a derivative that is nan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub enum Nan {
    /// The program stops: whoever runs it asks the evaluator.
    #[default]
    Stops,
    /// It is a number like others, wherever the derivative is taken.
    Given,
}

/// A lowered program.
#[derive(Debug)]
pub struct Lowered {
    /// The program.
    pub module: Module,
    /// The layout of its argument and result.
    pub layout: value::Layout,
}

/// The function being lowered.
struct Current {
    id: FunctionId,
    builder: Builder,
    /// The variables of Core: those of the function, and innermost those of a function lowered in place.
    frames: Vec<HashMap<u32, Sym>>,
    /// The call that is replaced by what is being lowered.
    inlined: Option<Inlined>,
    /// The instance that it is.
    instance: Option<usize>,
}

/// A program being lowered.
struct Lower<'p> {
    program: &'p Program,
    /// Is shown the module after each pass before derivatives are taken.
    see: &'p mut dyn FnMut(&PassRun<'_>),
    module: Module,
    f: Current,

    // Core
    analysed: HashSet<GlobalId>,
    lambdas: HashMap<u32, Rc<Lambda<'p>>>,
    types: HashMap<u32, Ty>,
    uses: HashMap<u32, u32>,
    recursive: HashMap<DataId, bool>,

    // Layout
    shapes: HashMap<Ty, Shape>,
    sums: usize,
    boxes: HashMap<Content, diffeo_array::ir::BoxId>,
    contents: Vec<Content>,
    fields: Vec<Option<Fields>>,

    // Functions
    instances: Vec<Instance<'p>>,
    by_key: HashMap<call::Key, usize>,
    constants: HashMap<GlobalId, Constant>,
    functions: Vec<FunctionType>,
    by_type: HashMap<Rc<(Ty, Ty)>, u32>,
    families: HashMap<(polytypic::Family, Ty), FunctionId>,
    jobs: VecDeque<Job>,

    // Derivatives
    /// Whether the program takes any.
    differentiates: bool,
    /// Functions whose rule need not be their derivative: `with_derivative`'s.
    inexact: HashSet<FunctionId>,
    options: LowerOptions,
    deriver: Deriver,
    derivatives: Vec<Derivative>,
    by_function: HashMap<(derivative::DerivativeKind, FunctionId), usize>,
    /// The derivatives that functions were declared for.
    declared: HashMap<FunctionId, usize>,
    /// Functions that lead to no derivative that is still to be looked at, and how deep those are that they lead to.
    settled: HashMap<FunctionId, usize>,
    /// Boxes for the residuals of pullbacks that are differentiated within themselves: without fields until all
    /// derivatives are made.
    hidden: Vec<(BoxId, Vec<Variant>)>,
    /// Pullbacks, by numbers that no function of Core has.
    pullbacks: HashMap<u32, Pullback>,
    /// Functions with the functions that are their rules.
    ruled: HashMap<(FunctionId, FunctionId), FunctionId>,
    /// By function, what stands for [`DiffOp::Decisions`] of it.
    deciders: HashMap<FunctionId, FunctionId>,
    /// The functions that stop gradients, by the types of what they take.
    identities: HashMap<Vec<FlatTy>, FunctionId>,
    /// A derivative that cannot be lowered: the function that takes it, where, and why.
    unsupported: Option<(FunctionId, SiteId, String)>,

    // Names and places
    names: HashMap<Name, u32>,
    box_names: HashMap<Name, u32>,
    sites: HashMap<Site, SiteId>,

    bug: Option<String>,
}

impl<'p> Lower<'p> {
    fn new(program: &'p Program, see: &'p mut dyn FnMut(&PassRun<'_>)) -> Lower<'p> {
        let mut module = Module::default();
        module.library.clone_from(&program.library);
        let mut cx = Lower {
            program,
            see,
            module,
            f: Current::new(FunctionId(0), Builder::new(SiteId(0))),
            analysed: HashSet::new(),
            lambdas: HashMap::new(),
            types: HashMap::new(),
            uses: HashMap::new(),
            recursive: HashMap::new(),
            shapes: HashMap::new(),
            sums: 0,
            boxes: HashMap::new(),
            contents: Vec::new(),
            fields: Vec::new(),
            instances: Vec::new(),
            by_key: HashMap::new(),
            constants: HashMap::new(),
            functions: Vec::new(),
            by_type: HashMap::new(),
            families: HashMap::new(),
            jobs: VecDeque::new(),
            differentiates: false,
            inexact: HashSet::new(),
            options: LowerOptions::default(),
            deriver: Deriver::default(),
            derivatives: Vec::new(),
            by_function: HashMap::new(),
            declared: HashMap::new(),
            settled: HashMap::new(),
            hidden: Vec::new(),
            pullbacks: HashMap::new(),
            ruled: HashMap::new(),
            deciders: HashMap::new(),
            identities: HashMap::new(),
            unsupported: None,
            names: HashMap::new(),
            box_names: HashMap::new(),
            sites: HashMap::new(),
            bug: None,
        };
        cx.site(Span::NONE);
        cx
    }

    /// The function that the program is called with.
    fn entry(&mut self, global: GlobalId, ty: &Ty) {
        let program = self.program;
        let span = program.globals[global.0 as usize].span;
        let at = self.site(span);
        let (from, to) = match (ty, &program.globals[global.0 as usize].body.kind) {
            (Ty::Fun(fun), _) => (Some(self.plain(&fun.0)), self.plain(&fun.1)),
            (ty, _) => (None, self.plain(ty)),
        };
        let params = from.as_ref().map(|shape| self.types(shape)).unwrap_or_default();
        let name = self.unique(&Name::new("entry"));
        let id = self.declare(name, Name::new(""), false, span, &params, self.types(&to));
        let saved = self.begin(id, at);
        let params = self.params(id);
        let value = self.global(global, at);
        let value = match from {
            Some(shape) => {
                let arg = self.load(&shape, &mut params.into_iter());
                self.apply(&value, &arg, false, at)
            }
            None => value,
        };
        let results = self.store(&value, &to, at);
        self.end(id, results, saved);
        self.module.entry = id;
        self.complete(ty);
    }

    /// Lays out all boxes in values of a type, for values from outside.
    fn complete(&mut self, ty: &Ty) {
        let parts = match ty {
            Ty::Fun(fun) => vec![self.plain(&fun.0), self.plain(&fun.1)],
            ty => vec![self.plain(ty)],
        };
        let mut pending: Vec<FlatTy> = parts.iter().flat_map(|shape| self.types(shape)).collect();
        let mut seen = HashSet::new();
        while let Some(ty) = pending.pop() {
            let id = match ty {
                FlatTy::Box(id) | FlatTy::Array(diffeo_array::ir::Elem::Box(id), _) => id,
                FlatTy::Real
                | FlatTy::Int
                | FlatTy::Bool
                | FlatTy::Text
                | FlatTy::Array(..)
                | FlatTy::Acc(_)
                | FlatTy::Stack(_) => continue,
            };
            if seen.len() < 10_000 && seen.insert(id) {
                self.box_fields(id);
                let variants = &self.module.boxes[id.0 as usize].variants;
                pending.extend(variants.iter().flat_map(|v| v.fields.iter().cloned()));
            }
        }
    }

    /// Lowers everything that is needed, to the end.
    fn finish(mut self, ty: Ty) -> Result<Lowered, Refusal> {
        self.run_jobs();
        if let Some(bug) = self.bug {
            return Err(Refusal::Bug(bug));
        }
        self.derive()?;
        if !self.derivatives.is_empty() {
            // A wrong derivative is the worst that could come out.
            if let Some(violation) = diffeo_array::lint(&self.module).into_iter().next() {
                return Err(Refusal::Bug(violation));
            }
        }
        let (from, to) = match ty {
            Ty::Fun(fun) => (Some(fun.0.clone()), fun.1.clone()),
            ty => (None, ty),
        };
        let datas = self.program.datas.clone();
        let layout = value::Layout { from, to, shapes: self.shapes, datas };
        Ok(Lowered { module: place_warnings(self.module), layout })
    }

    // Functions in the making

    /// A name that no function has.
    fn unique(&mut self, name: &Name) -> Name {
        let used = self.names.entry(name.clone()).or_insert(0);
        *used += 1;
        match *used {
            1 => name.clone(),
            n => self.unique(&Name::from(format!("{name}.{}", n - 1))),
        }
    }

    fn declare(
        &mut self,
        name: Name,
        shown: Name,
        library: bool,
        span: Span,
        params: &[FlatTy],
        results: Vec<FlatTy>,
    ) -> FunctionId {
        let vars = params.iter().map(|ty| VarInfo { ty: ty.clone(), name: None }).collect();
        let params = (0..params.len() as u32).map(diffeo_array::ir::Var).collect();
        let body = Block::default();
        let function = Function { name, shown, library, span, vars, params, results, body };
        self.module.functions.push(function);
        FunctionId(self.module.functions.len() as u32 - 1)
    }

    /// A function that messages do not name.
    fn glue(&mut self, name: &str, params: &[FlatTy], results: Vec<FlatTy>) -> FunctionId {
        let name = self.unique(&Name::new(name));
        self.declare(name, Name::new(""), true, Span::NONE, params, results)
    }

    /// Begins the body of a declared function; gives what was being lowered.
    fn begin(&mut self, id: FunctionId, at: SiteId) -> Current {
        let builder = Builder::resume(&self.module.functions[id.0 as usize], at);
        std::mem::replace(&mut self.f, Current::new(id, builder))
    }

    fn params(&self, id: FunctionId) -> Vec<Atom> {
        self.module.functions[id.0 as usize].params.iter().map(|var| Atom::Var(*var)).collect()
    }

    /// Ends the body of a function, with its results, and goes on with what was being lowered.
    fn end(&mut self, id: FunctionId, results: Vec<Atom>, saved: Current) {
        let current = std::mem::replace(&mut self.f, saved);
        let function = &mut self.module.functions[id.0 as usize];
        match current.builder.finish(function.name.clone(), results) {
            Ok(made) => {
                function.results = made.results;
                function.vars = made.vars;
                function.body = made.body;
            }
            Err(error) => self.bug(&error),
        }
    }

    // Statements

    fn ops(&mut self, at: SiteId, op: Op) -> Vec<Atom> {
        self.f.builder.set_site(at);
        self.f.builder.emit(&self.module, op)
    }

    fn one(&mut self, at: SiteId, op: Op) -> Atom {
        if self.options.kinks {
            self.look(&op, at);
        }
        self.f.builder.set_site(at);
        self.f.builder.one(&self.module, op)
    }

    /// The place of an expression.
    fn site(&mut self, span: Span) -> SiteId {
        let site = Site { span, inlined: self.f.inlined.clone() };
        if let Some(id) = self.sites.get(&site) {
            return *id;
        }
        let id = SiteId(self.module.sites.len() as u32);
        self.module.sites.push(site.clone());
        self.sites.insert(site, id);
        id
    }

    fn bug(&mut self, message: &str) {
        if self.bug.is_none() {
            self.bug = Some(message.to_string());
        }
    }
}

impl Current {
    fn new(id: FunctionId, builder: Builder) -> Current {
        Current { id, builder, frames: vec![HashMap::new()], inlined: None, instance: None }
    }
}
