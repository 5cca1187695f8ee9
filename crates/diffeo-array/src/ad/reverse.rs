//! Reverse mode: makes of a function a forward part, which gives its results and residuals, and a backward part, which
//! adds to the adjoints of its parameters.
//!
//! - The *forward part* takes the parameters of the function and gives its results, then the *residuals*: what the
//!   backward part needs.
//! - The *backward part* takes the residuals; the adjoint of each result that varies, in order (for an array of Reals
//!   an accumulator, which it uses up); and for each array of Reals among the parameters that vary, in order, an
//!   accumulator, to which it adds. It gives the adjoints of the other parameters that vary, in order: of Reals, boxes,
//!   and arrays of boxes. The adjoint of a box is a shadow of it. The adjoint of an array of boxes is a bag
//!   ([`super::sparse_adjoint`]), and so is that of an array of Reals for which the caller has no accumulator. The adjoint of an
//!   accumulator among the parameters is an accumulator: first of its contents at the end, then of its contents at the
//!   beginning.
//!
//! Residuals are ordinary values that are only read, so a pullback is its residuals, and may be called any number of
//! times. What is cheap is computed again from them ([`scope`]). The adjoint of a Real is a local variable; that of an
//! array is an accumulator, which it may share with other versions of the array ([`plan`]).
//!
//! | file | what is in it |
//! |---|---|
//! | `plan.rs` | places of the adjoints of arrays |
//! | `liveness.rs` | liveness of arrays |
//! | `sources.rs` | adjoints of results, for callers |
//! | `scope.rs` | regions of the backward part: primal values, adjoints, accumulators in them |
//! | `statement.rs` | operations without regions |
//! | `boxes.rs` | the adjoints of boxes |
//! | `sparse_adjoints.rs` | operations on arrays whose adjoints are bags |
//! | `call.rs` | calls |
//! | `control.rs` | branches and loops |
//! | `forwards.rs` | backward parts of loops that go forwards |
//! | `store.rs` | residuals of loops |
//! | `tape.rs` | residuals of recursion |
//! | `prepare.rs` | rewrites before reverse mode |
//! | `segments.rs` | checkpoints of loops |

mod boxes;
mod call;
mod control;
mod forwards;
mod liveness;
mod plan;
mod prepare;
mod scope;
mod segments;
mod sources;
mod sparse_adjoints;
mod statement;
mod store;
mod tape;

use super::{activity, words, Activity, Deriver, Unsupported};
use crate::build::Builder;
use crate::ir::walk::{operands, regions, statements};
use crate::ir::{
    Atom, Block, BoxId, BoxType, Elem, FlatTy, Function, FunctionId, Module, Op, SiteId, Stmt, Var,
    VarInfo, Variant,
};
use crate::opt::shapes::Shapes;
use crate::typing::param_types;
use boxes::{adjoint, is_supported};
use diffeo_base::on_large_stack;
use diffeo_base::{Name, Span};
use hashbrown::{HashMap, HashSet};
use plan::{AccumulatorSource, AdjointPlan};
use scope::BackwardScope;
pub(super) use sources::Sources;
use std::rc::Rc;
pub(super) use tape::{Recursion, Tape};

/// More residuals than these are put into a box.
const MOST_RESIDUALS: usize = 32;

/// A function in reverse mode.
#[derive(Clone, Debug)]
pub struct Reverse {
    /// Parameters → results, residuals.
    pub forward: FunctionId,
    /// Residuals, adjoints of the results that vary (Reals, shadows; accumulators, which are used up), accumulators for
    /// the arrays among the parameters that vary → adjoints of the others among them.
    pub back: FunctionId,
    /// The results that vary.
    pub active: Box<[bool]>,
    /// The types of the residuals.
    pub residuals: Vec<FlatTy>,
    /// The parameter that each residual is, if it is one.
    same: Vec<Option<usize>>,
    /// In a recursion: its tape, and the forward part that goes on with it. Its residuals are the parameters that are
    /// inherited, a position and the arrays of the tape; it gives the position.
    taped: Option<(Tape, FunctionId)>,
}

/// A derivative in reverse mode that a caller needs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReverseRequest {
    function: FunctionId,
    params: Box<[ParamUse]>,
    /// The results whose adjoints are bags, if they are arrays.
    result_bags: Box<[bool]>,
}

/// The use of a parameter by a caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ParamUse {
    /// It varies.
    varies: bool,
    /// The backward part may keep it: the caller does not change it in place.
    kept: bool,
    /// It shares its accumulator with a result.
    given: bool,
    /// Its adjoint is a bag, if it is an array.
    bag: bool,
}

/// The parameters that vary.
fn varying(params: &[ParamUse]) -> Box<[bool]> {
    params.iter().map(|param| param.varies).collect()
}

/// A function that is being derived.
#[derive(Debug)]
pub(super) struct OpenReverse {
    forward: FunctionId,
    back: FunctionId,
    /// The derivative that calls of it get, if it belongs to a recursion.
    made: Option<Reverse>,
}

/// The forward and the backward part of a function of whose parameters these vary.
///
/// # Errors
/// The part that cannot be derived.
pub fn reverse(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
) -> Result<Reverse, Unsupported> {
    let param = |varies: &bool| ParamUse { varies: *varies, kept: true, given: false, bag: false };
    let result_bags = vec![false; module.functions[function.0 as usize].results.len()].into();
    let request =
        ReverseRequest { function, params: active.iter().map(param).collect(), result_bags };
    segments::segment(module, cache, function);
    tape::find_recursions(module, cache, function);
    on_large_stack(|| derive(module, cache, &request))
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

fn derive(
    module: &mut Module,
    cache: &mut Deriver,
    request: &ReverseRequest,
) -> Result<Reverse, Unsupported> {
    if let Some(known) = cache.reverses.get(request) {
        return Ok(known.clone());
    }
    let function = request.function;
    prepare::prepare(module, cache, function);
    let activity = activity(module, cache, function, &varying(&request.params));
    let face = ActiveInterface::new(module, cache, request, activity.results.clone())?;
    if cache.open_reverses.contains_key(request) {
        return Ok(call_open(module, cache, request, &face, &[]));
    }
    let source = module.functions[function.0 as usize].clone();
    let plan = AdjointPlan::new(module, cache, &source, &activity, &request.params);
    if !plan.is_given(&source, &request.params) {
        return unsupported("a bug of Diffeo: an array that a function is given");
    }
    let forward = declare(module, &source, "fwd");
    let back = declare(module, &source, "back");
    cache.open_reverses.insert(request.clone(), OpenReverse { forward, back, made: None });
    let recursion = cache.recursions.get(&function).cloned();
    let mut tape = None;
    if let Some(recursion) = &recursion {
        let kept = |i: usize| match face.params[i] {
            FlatTy::Real | FlatTy::Int | FlatTy::Bool | FlatTy::Text => true,
            FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
                request.params[i].kept && plan.keeps(source.params[i])
            }
        };
        let all = 0..source.params.len();
        let inherited: Vec<usize> = all.filter(|i| recursion.inherited[*i] && kept(*i)).collect();
        tape = call_open(module, cache, request, &face, &inherited).taped.map(|(tape, _)| tape);
    }
    let accumulates = source
        .vars
        .iter()
        .zip(&activity.varied)
        .any(|(info, varies)| *varies && matches!(info.ty, FlatTy::Acc(_)));
    let reverser = Reverser {
        accumulates,
        homes: vec![0; source.vars.len()],
        vars: source.vars.clone(),
        plan,
        back: Builder::new(SiteId(0)),
        module,
        cache,
        activity,
        scopes: Vec::new(),
        inserts: HashMap::new(),
        sizes: HashMap::new(),
        shapes: Shapes::of(&source),
        kept_sizes: HashMap::new(),
        touched: HashSet::new(),
        wholes: HashMap::new(),
        uses: uses(&source),
        chosen: HashMap::new(),
        lost: false,
        tape,
        stale: false,
        tape_back: None,
    };
    let made = reverser.function(&source, request, &face);
    let open = cache.open_reverses.remove(request);
    let (forward_part, back_part, residuals) = made?;
    let reverse = match open.and_then(|open| open.made) {
        Some(made) => {
            if let Some((_, taped)) = made.taped {
                complete(module, taped, forward_part);
            }
            made
        }
        None => {
            let kept = &forward_part.body.results[source.results.len()..];
            let param = |kept: &Atom| source.params.iter().position(|v| Atom::Var(*v) == *kept);
            let same = kept.iter().map(param).collect();
            complete(module, forward, forward_part);
            Reverse { forward, back, active: face.active, residuals, same, taped: None }
        }
    };
    complete(module, back, back_part);
    cache.reverses.insert(request.clone(), reverse.clone());
    Ok(reverse)
}

/// How often each variable of a function is used.
fn uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.vars.len()];
    let mut see = |atom: &Atom| {
        if let Atom::Var(v) = atom {
            uses[v.0 as usize] += 1;
        }
    };
    function.body.results.iter().for_each(&mut see);
    statements(&function.body, &mut |stmt| {
        operands(&stmt.op, &mut see);
        regions(&stmt.op, |region| region.results.iter().for_each(&mut see));
    });
    uses
}

/// The varying part of a function's interface.
struct ActiveInterface {
    /// The types of the parameters, and of the results.
    params: Vec<FlatTy>,
    results: Vec<FlatTy>,
    /// The results that vary.
    active: Box<[bool]>,
    /// The types that the backward part takes after the residuals, and those that it gives.
    adjoints: Vec<FlatTy>,
    given: Vec<FlatTy>,
}

impl ActiveInterface {
    fn new(
        module: &mut Module,
        cache: &mut Deriver,
        request: &ReverseRequest,
        active: Box<[bool]>,
    ) -> Result<ActiveInterface, Unsupported> {
        let function = &module.functions[request.function.0 as usize];
        let (params, results) = (param_types(function), function.results.clone());
        let (mut adjoints, mut given) = (Vec::new(), Vec::new());
        for (i, ty) in results.iter().enumerate().filter(|(i, _)| active[*i]) {
            match ty {
                FlatTy::Array(..) if request.result_bags[i] => {
                    adjoints.push(adjoint(module, cache, ty))
                }
                FlatTy::Real | FlatTy::Box(_) | FlatTy::Array(Elem::Box(_), _)
                    if is_supported(module, ty) =>
                {
                    adjoints.push(adjoint(module, cache, ty));
                }
                FlatTy::Array(Elem::Real, rank) => adjoints.push(FlatTy::Acc(*rank)),
                ty => {
                    return unsupported(format!("reverse mode with results that are {}", words(ty)))
                }
            }
        }
        for (ty, param) in params.iter().zip(&request.params).filter(|(_, param)| param.varies) {
            match ty {
                FlatTy::Array(..) if param.bag => given.push(adjoint(module, cache, ty)),
                FlatTy::Real | FlatTy::Box(_) | FlatTy::Array(Elem::Box(_), _)
                    if is_supported(module, ty) =>
                {
                    given.push(adjoint(module, cache, ty));
                }
                FlatTy::Array(Elem::Real, _) if param.given => {}
                FlatTy::Array(Elem::Real, rank) | FlatTy::Acc(rank) => {
                    adjoints.push(FlatTy::Acc(*rank))
                }
                ty => {
                    return unsupported(format!(
                        "reverse mode with arguments that are {}",
                        words(ty)
                    ))
                }
            }
        }
        Ok(ActiveInterface { params, results, active, adjoints, given })
    }
}

/// Adds a function that is made later.
fn declare(module: &mut Module, source: &Function, part: &str) -> FunctionId {
    let taken: HashSet<&Name> = module.functions.iter().map(|f| &f.name).collect();
    let mut name = Name::from(format!("{}.{part}", source.name));
    let mut number = 1;
    while taken.contains(&name) {
        number += 1;
        name = Name::from(format!("{}.{part}.{number}", source.name));
    }
    drop(taken);
    // Errors happen in the forward part and in segments of loops only.
    let shown = if part == "back" { Name::from("") } else { source.shown.clone() };
    module.functions.push(Function {
        name,
        shown,
        library: source.library,
        span: source.span,
        vars: Vec::new(),
        params: Vec::new(),
        results: Vec::new(),
        body: Block::default(),
    });
    FunctionId(module.functions.len() as u32 - 1)
}

fn complete(module: &mut Module, id: FunctionId, made: Function) {
    let slot = &mut module.functions[id.0 as usize];
    slot.vars = made.vars;
    slot.params = made.params;
    slot.results = made.results;
    slot.body = made.body;
}

/// The derivative that calls of a function get which is still being derived: it has a tape, and these parameters are
/// inherited, if this was not decided before.
fn call_open(
    module: &mut Module,
    cache: &mut Deriver,
    request: &ReverseRequest,
    face: &ActiveInterface,
    inherited: &[usize],
) -> Reverse {
    let function = request.function;
    let of = cache.recursions.get(&function).map_or(function, |recursion| recursion.of);
    let (forward, back) = match cache.open_reverses.get(request) {
        Some(OpenReverse { made: Some(made), .. }) => return made.clone(),
        Some(open) => (open.forward, open.back),
        None => (function, function),
    };
    let tape = tape::tape(module, cache, of);
    let source = module.functions[function.0 as usize].clone();
    let taped = declare(module, &source, "fwd.tape");
    let residuals: Vec<FlatTy> =
        inherited.iter().map(|i| face.params[*i].clone()).chain(tape.types()).collect();
    let types = |first: &[FlatTy], rest: &[FlatTy]| [first, rest].concat();
    let given = types(&face.results, &types(&[FlatTy::Int], &tape.types()));
    declare_types(module, taped, &types(&face.params, &tape.types()), given);
    declare_types(module, back, &types(&residuals, &face.adjoints), face.given.clone());
    // From outside it begins with an empty tape.
    let mut b = Builder::new(SiteId(0));
    let params: Vec<Atom> = face.params.iter().map(|ty| b.param(ty.clone(), None)).collect();
    let empty = tape.empty().map(|op| b.one(module, op));
    let args = params.iter().cloned().chain([Atom::Int(0)]).chain(empty).collect();
    let mut results = b.emit(module, Op::Call(taped, args));
    let rest = results.split_off(face.results.len().min(results.len()));
    results.extend(inherited.iter().map(|i| params[*i].clone()));
    // The position is one that was given, and where the tape ends nobody asks any more.
    results.extend(rest.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, atom)| atom.clone()));
    if let Ok(made) = b.finish("", results) {
        complete(module, forward, made);
    }
    module.functions[forward.0 as usize].shown = Name::from("");
    let same = inherited.iter().map(|i| Some(*i)).chain([None; tape::PARTS]).collect();
    let active = face.active.clone();
    let made = Reverse { forward, back, active, residuals, same, taped: Some((tape, taped)) };
    if let Some(open) = cache.open_reverses.get_mut(request) {
        open.made = Some(made.clone());
    }
    made
}

fn declare_types(module: &mut Module, id: FunctionId, params: &[FlatTy], results: Vec<FlatTy>) {
    let function = &mut module.functions[id.0 as usize];
    function.vars = params.iter().map(|ty| VarInfo { ty: ty.clone(), name: None }).collect();
    function.params = (0..params.len() as u32).map(Var).collect();
    function.results = results;
}

/// A type of boxes for residuals, whose fields are not known yet.
fn box_type(module: &mut Module, name: &Name) -> BoxId {
    let kept = Variant { name: "Kept".into(), fields: Vec::new() };
    let name = Name::from(format!("{name} residuals"));
    module.boxes.push(BoxType { name, variants: vec![kept] });
    BoxId(module.boxes.len() as u32 - 1)
}

/// Derives a function. The regions of its body are gone over from the end to the beginning; of each, the backward
/// part is made first, which says what the forward part has to keep.
struct Reverser<'m, 's> {
    module: &'m mut Module,
    cache: &'m mut Deriver,
    activity: Rc<Activity>,
    /// Whether there are accumulators that vary.
    accumulates: bool,
    plan: AdjointPlan,
    /// The variables of the forward part: those of the function, and more.
    vars: Vec<VarInfo>,
    /// By variable of the forward part, how many regions are around its definition.
    homes: Vec<usize>,
    /// The backward part.
    back: Builder,
    /// The open regions of the backward part, outermost first.
    scopes: Vec<BackwardScope<'s>>,
    /// Statements of the forward part, to be put behind the definitions of variables.
    inserts: HashMap<Var, Vec<Stmt>>,
    /// The variables of the forward part that hold sizes.
    sizes: HashMap<(Var, u8), Var>,
    /// The known sizes of the function's arrays.
    shapes: Shapes,
    /// The sizes of the arrays that loops keep.
    kept_sizes: HashMap<Var, Vec<Atom>>,
    /// The roots of classes whose accumulators have been added to.
    touched: HashSet<Var>,
    /// How often each variable of the function is used.
    uses: Vec<u32>,
    /// By array of which only the largest or smallest element is used: its index and its adjoint.
    chosen: HashMap<Var, (Atom, Atom)>,
    /// Bags of the adjoints of all elements, with the arrays of these.
    wholes: HashMap<Option<Var>, Atom>,
    /// Whether the accumulator of an array that has none was asked for.
    lost: bool,
    /// A box of the tape was derived, and would get another variant.
    stale: bool,
    /// The tape of the recursion that the function belongs to, and its arrays in the backward part.
    tape: Option<Tape>,
    tape_back: Option<[Var; tape::PARTS - 1]>,
}

impl<'s> Reverser<'_, 's> {
    fn function(
        mut self,
        source: &'s Function,
        request: &ReverseRequest,
        face: &ActiveInterface,
    ) -> Result<(Function, Function, Vec<FlatTy>), Unsupported> {
        self.check_types()?;
        self.open(source.params.clone(), &source.body);
        let open = self.cache.open_reverses.get(request).and_then(|open| open.made.as_ref());
        let inherited: Vec<usize> =
            open.map_or(Vec::new(), |made| made.same.iter().copied().flatten().collect());
        let mut handed: Vec<Var> = Vec::new();
        for param in inherited.iter().map(|i| source.params[*i]) {
            let var = self.copied(param);
            self.top().known.insert(param, Atom::Var(var));
            handed.push(var);
        }
        let mut params = Vec::new();
        let mut bars = Vec::new();
        let mut adjoints = face.adjoints.iter();
        for (k, result) in source.body.results.iter().enumerate().filter(|(k, _)| face.active[*k]) {
            let Some(ty) = adjoints.next() else { break };
            let bar = self.back.var(ty.clone(), self.bar_name(result));
            params.push(bar);
            match (ty, self.owner(k, result)) {
                (FlatTy::Acc(_), Some(root)) => {
                    self.top().storages.insert(root, Atom::Var(bar));
                    self.touched.insert(root);
                }
                _ => bars.push((result, Atom::Var(bar))),
            }
        }
        for (param, used) in source.params.iter().zip(&request.params) {
            let in_acc = used.varies && !used.given && !self.has_bar(*param);
            if let (FlatTy::Array(Elem::Real, rank) | FlatTy::Acc(rank), true) =
                (&self.vars[param.0 as usize].ty, in_acc)
            {
                let (ty, name) = (FlatTy::Acc(*rank), self.bar_name(&Atom::Var(*param)));
                let acc = self.back.var(ty, name);
                params.push(acc);
                self.top().storages.insert(*param, Atom::Var(acc));
            }
        }
        for (result, bar) in bars {
            match self.back.ty(&bar) {
                FlatTy::Acc(_) => self.add_all(result, bar),
                _ => self.add_bar(result, bar),
            }
        }
        let stmts = self.block(&source.body, &source.params)?;
        let mut given = Vec::new();
        for (param, _) in source.params.iter().zip(&request.params).filter(|(_, used)| used.varies)
        {
            if self.has_bar(*param) {
                let bar = self.take_bar(*param);
                given.push(bar.unwrap_or_else(|| self.zero_bar(*param)));
            }
        }
        if self.lost {
            return unsupported("a bug of Diffeo: an array without accumulator");
        }
        let mut results = source.body.results.clone();
        let (scope, code) = self.close();
        let stored: Vec<Var> = scope.stored.iter().map(|(v, _)| *v).collect();
        let types: Vec<FlatTy> =
            stored.iter().map(|v| self.vars[v.0 as usize].ty.clone()).collect();
        let taped = self.cache.open_reverses.get(request).and_then(|open| open.made.clone());
        let boxed = stored.len() > MOST_RESIDUALS && taped.is_none();
        let mut body = Block { stmts, results: Vec::new() };
        let mut unpacking = Vec::new();
        let mut forward_params = source.params.clone();
        let residuals = if let Some(Reverse { taped: Some((tape, _)), residuals, .. }) = taped {
            self.tape = Some(tape);
            let record = self.record(&scope.stored, SiteId(0));
            if self.stale {
                return unsupported("a derivative of a recursion within the same one");
            }
            body.stmts.extend(record.put);
            unpacking = record.get;
            let (before, after) = tape::thread(self.module, &mut self.vars, tape, &mut body);
            forward_params.extend(before);
            results.push(record.position);
            results.extend(after);
            // Where nothing is kept, nobody asks for the position.
            handed.push(if scope.stored.is_empty() {
                self.back.var(FlatTy::Int, None)
            } else {
                record.at
            });
            handed.extend(self.tape_arrays());
            params.splice(0..0, handed);
            residuals
        } else if boxed {
            let id = box_type(self.module, &source.name);
            self.module.boxes[id.0 as usize].variants[0].fields = types;
            let object = self.forward_var(FlatTy::Box(id), Some("kept".into()), 0);
            let fields = stored.iter().map(|v| Atom::Var(*v)).collect();
            let op = Op::New(id, 0, fields);
            body.stmts.push(Stmt { results: vec![object], op, site: SiteId(0) });
            results.push(Atom::Var(object));
            let object = self.back.var(FlatTy::Box(id), Some("kept".into()));
            params.insert(0, object);
            for (index, (_, var)) in scope.stored.iter().enumerate() {
                let op = Op::Field { object: Atom::Var(object), tag: 0, index: index as u32 };
                unpacking.push(Stmt { results: vec![*var], op, site: SiteId(0) });
            }
            vec![FlatTy::Box(id)]
        } else {
            results.extend(stored.iter().map(|v| Atom::Var(*v)));
            params.splice(0..0, scope.stored.iter().map(|(_, var)| *var));
            types
        };
        body.results = results;
        let function = |vars, params, results, body| {
            let (name, span) = (Name::from(""), Span::NONE);
            Function {
                name: name.clone(),
                shown: name,
                library: false,
                span,
                vars,
                params,
                results,
                body,
            }
        };
        let mut types = source.results.clone();
        match self.tape {
            Some(tape) => types.extend([FlatTy::Int].into_iter().chain(tape.types())),
            None => types.extend(residuals.iter().cloned()),
        }
        let forward = function(self.vars, forward_params, types, body);
        let code = scope.with_head(unpacking, code);
        let made = self.back.finish("", given.clone()).map_err(Unsupported)?;
        let back =
            function(made.vars, params, face.given.clone(), Block { stmts: code, results: given });
        Ok((forward, back, residuals))
    }

    /// The root of the class that has the accumulator of a result of the function.
    fn owner(&self, k: usize, result: &Atom) -> Option<Var> {
        let Atom::Var(v) = result else { return None };
        let root = self.plan.root(*v);
        (self.plan.place(root) == AccumulatorSource::Result(k)).then_some(root)
    }

    /// A new variable of the forward part.
    fn forward_var(&mut self, ty: FlatTy, name: Option<Name>, home: usize) -> Var {
        self.vars.push(VarInfo { ty, name });
        self.homes.push(home);
        Var(self.vars.len() as u32 - 1)
    }

    /// The name of the adjoint of a variable.
    fn bar_name(&self, atom: &Atom) -> Option<Name> {
        match atom {
            Atom::Var(v) => {
                let name = self.vars[v.0 as usize].name.as_ref()?;
                Some(Name::from(format!("{name}_bar")))
            }
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        }
    }
}
