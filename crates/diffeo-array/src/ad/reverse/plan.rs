//! Places of the adjoints of arrays: the arrays of a function that share an accumulator.
//!
//! An array that is updated, or grows, and is not read afterwards shares its accumulator with the new version: the
//! backward part takes the adjoint of the element out, and the rest is the adjoint of the old version. Arrays that a
//! loop carries share theirs in the same way, and so do arrays that a branch chooses. A view has a view of the
//! accumulator. Arrays that share one are a *class*; at every point of the program at most one version of it is in use.
//! Versions that grow are at the front of the last one.
//!
//! For an array that comes out of a box, and for one that a branch or a loop chooses among others, it is not known here
//! whose accumulator it would share. Its adjoint is a sparse one, a *bag* ([`crate::ad::sparse_adjoint`]), and so is that of what
//! a view, an update or another choice makes of it: a new accumulator of its size would take longer than the program
//! did.
//!
//! A function that is *given* an array, which nothing reads afterwards, may share its accumulator with one of its
//! results ([`sources`]).
//!
//! Arrays that are changed in place must not be kept for the backward part, since that would make the program copy
//! them: [`AdjointPlan::keeps`].

use super::liveness::{is_array, liveness};
use super::sources::{sources, ResultAdjoint, SourcesKey};
use super::ParamUse;
use crate::ad::{Activity, Deriver};
use crate::ir::walk::{deep, regions};
use crate::ir::{Atom, Block, Carried, Elem, FlatTy, Function, FunctionId, Module, Op, Stmt, Var};
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// The origin of the accumulator of an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AccumulatorSource {
    /// It is made where the array is defined.
    Own,
    /// It is that of another array.
    With(Var),
    /// It is a view of that of this array.
    View(Var),
    /// The caller's, of a parameter: others have added to it.
    Param,
    /// The caller's, of this result.
    Result(usize),
    /// The row of that of a comprehension, at an index.
    Row(Var, Var),
    /// There is none: its adjoint is a bag.
    Bag,
}

/// The facts about the arrays of a function.
pub(super) struct AdjointPlan {
    places: HashMap<Var, AccumulatorSource>,
    /// How many regions are around the definition of an array.
    depths: HashMap<Var, usize>,
    /// By the new version, the updates and appends that do not share.
    apart: HashSet<Var>,
    /// Classes with updates and appends in place, with appends in place; by their roots.
    changed: HashSet<Var>,
    grown: HashSet<Var>,
    /// By root, the last version in the block of the root.
    last: HashMap<Var, Var>,
    /// Variables of loops whose adjoints are carried as arrays.
    exchanged: HashSet<Var>,
    /// Parameters that the caller changes in place later.
    lent: HashSet<Var>,
    /// Arrays that may be the same ones as others, with bags: groups by a member; and those of which one is changed.
    groups: HashMap<Var, Var>,
    unkept: HashSet<Var>,
    /// By first result, what calls share.
    calls: HashMap<Var, Rc<[ResultAdjoint]>>,
}

impl AdjointPlan {
    /// The plan of a function; its parameters are used so.
    pub fn new(
        module: &Module,
        cache: &mut Deriver,
        function: &Function,
        activity: &Activity,
        params: &[ParamUse],
    ) -> AdjointPlan {
        let mut separate = HashSet::new();
        let used = || function.params.iter().zip(params);
        let mut bags: HashSet<Var> = used().filter(|(_, used)| used.bag).map(|(v, _)| *v).collect();
        let mut given: HashSet<Var> =
            used().filter(|(_, used)| used.given).map(|(v, _)| *v).collect();
        let liveness = liveness(function);
        loop {
            let of = (function, activity, &liveness);
            let (plan, more, more_bags) =
                plan(module, cache, of, params, [&given, &separate, &bags]);
            // What is no result in the end is not given. Every round changes something.
            let results: HashSet<Var> =
                given.iter().copied().filter(|v| plan.is_result(*v)).collect();
            if more.is_empty() && more_bags.is_empty() && results.len() == given.len() {
                return plan;
            }
            separate.extend(more);
            bags.extend(more_bags);
            given = results;
        }
    }

    fn is_result(&self, v: Var) -> bool {
        matches!(self.places.get(&v), Some(AccumulatorSource::Result(_)))
    }

    /// Whether the function is given these parameters, as was found before.
    pub fn is_given(&self, function: &Function, params: &[ParamUse]) -> bool {
        let mut params = function.params.iter().zip(params).filter(|(_, used)| used.given);
        params.all(|(v, _)| self.is_result(*v))
    }

    /// The adjoints of the results.
    pub fn sources(&self, function: &Function, activity: &Activity) -> Rc<[ResultAdjoint]> {
        let mut sources = vec![ResultAdjoint::Own; function.results.len()];
        for (source, result) in sources.iter_mut().zip(&function.body.results) {
            let (Atom::Var(v), true) = (result, activity.varies(result)) else { continue };
            let place = self.place(self.root(*v));
            if matches!(function.vars[v.0 as usize].ty, FlatTy::Array(Elem::Real, _))
                && matches!(place, AccumulatorSource::Bag | AccumulatorSource::Param)
            {
                *source = ResultAdjoint::Bag;
            }
        }
        for (param, v) in function.params.iter().enumerate() {
            if let Some(AccumulatorSource::Result(k)) = self.places.get(v) {
                sources[*k] = ResultAdjoint::Shared { param, grows: self.grown.contains(v) };
            }
        }
        sources.into()
    }

    /// The adjoints of the results of a call with this first result.
    pub fn call(&self, result: Var) -> &[ResultAdjoint] {
        self.calls.get(&result).map(|shared| &shared[..]).unwrap_or_default()
    }

    /// The origin of the accumulator of an array.
    pub fn place(&self, v: Var) -> AccumulatorSource {
        self.places.get(&v).cloned().unwrap_or(AccumulatorSource::Own)
    }

    /// Whether the adjoint of an array of Reals is a bag.
    pub fn is_bag(&self, v: Var) -> bool {
        matches!(self.places.get(&v), Some(AccumulatorSource::Bag))
    }

    /// The array whose accumulator it is, or a view of it.
    pub fn root(&self, v: Var) -> Var {
        let mut v = v;
        while let Some(AccumulatorSource::With(w) | AccumulatorSource::View(w)) =
            self.places.get(&v)
        {
            v = *w;
        }
        v
    }

    /// Whether a new version has its accumulator apart from that of the old one.
    pub fn is_apart(&self, new: Var) -> bool {
        self.apart.contains(&new)
    }

    /// Whether a variable of a loop is another array after each step, so that its adjoint is carried as an array.
    pub fn is_exchanged(&self, param: Var) -> bool {
        self.exchanged.contains(&param)
    }

    /// Whether versions of the class of this root grow.
    pub fn grows(&self, root: Var) -> bool {
        self.grown.contains(&root)
    }

    /// The largest version of the class of this root.
    pub fn largest(&self, root: Var) -> Var {
        self.last.get(&root).copied().unwrap_or(root)
    }

    /// Whether the backward part may keep an array.
    pub fn keeps(&self, v: Var) -> bool {
        let root = self.root(v);
        let group = self.group(root);
        !self.changed.contains(&root) && !self.lent.contains(&root) && !self.unkept.contains(&group)
    }

    /// The array that stands for those that may be the same one.
    fn group(&self, v: Var) -> Var {
        let mut v = v;
        while let Some(w) = self.groups.get(&v) {
            v = *w;
        }
        v
    }
}

/// The plan, if these arrays are given, these new versions do not share, and the adjoints of these are bags; which
/// others must not share, or be bags.
fn plan(
    module: &Module,
    cache: &mut Deriver,
    (function, activity, liveness): (&Function, &Activity, &HashMap<Var, HashSet<Var>>),
    params: &[ParamUse],
    [given, separate, bags]: [&HashSet<Var>; 3],
) -> (AdjointPlan, Vec<Var>, Vec<Var>) {
    let mut planner = Planner {
        module,
        cache,
        function,
        activity,
        given,
        separate,
        bags,
        liveness,
        plan: AdjointPlan {
            places: HashMap::new(),
            depths: HashMap::new(),
            apart: HashSet::new(),
            changed: HashSet::new(),
            grown: HashSet::new(),
            last: HashMap::new(),
            exchanged: HashSet::new(),
            lent: HashSet::new(),
            groups: HashMap::new(),
            unkept: HashSet::new(),
            calls: HashMap::new(),
        },
        more_bags: Vec::new(),
        bags_changed: Vec::new(),
        members: HashMap::new(),
        taken: HashSet::new(),
        grown: Vec::new(),
        changed: Vec::new(),
        depth: 0,
    };
    for (param, used) in function.params.iter().zip(params) {
        planner.define(
            *param,
            if bags.contains(param) { AccumulatorSource::Bag } else { AccumulatorSource::Param },
        );
        if !used.kept {
            planner.plan.lent.insert(*param);
        }
    }
    planner.block(&function.body);
    for (k, result) in function.body.results.iter().enumerate() {
        let own = planner.local(result).or_else(|| {
            let root = planner.class(result)?;
            let given =
                given.contains(&root) && planner.plan.place(root) == AccumulatorSource::Param;
            given.then_some(root)
        });
        if let Some(root) = own {
            planner.plan.places.insert(root, AccumulatorSource::Result(k));
        }
    }
    let more = planner.finish();
    (planner.plan, more, planner.more_bags)
}

struct Planner<'f> {
    module: &'f Module,
    cache: &'f mut Deriver,
    function: &'f Function,
    activity: &'f Activity,
    /// The parameters that nobody looks at afterwards.
    given: &'f HashSet<Var>,
    separate: &'f HashSet<Var>,
    /// Parameters, of the function and of loops, whose adjoints are bags; those of loops that are to be.
    bags: &'f HashSet<Var>,
    more_bags: Vec<Var>,
    /// The arrays with bags that are changed in place.
    bags_changed: Vec<Var>,
    liveness: &'f HashMap<Var, HashSet<Var>>,
    plan: AdjointPlan,
    /// By root, the arrays of its class, with the views of them.
    members: HashMap<Var, Vec<Var>>,
    /// The arrays that a later version of their class has taken over.
    taken: HashSet<Var>,
    /// The results of appends and updates in place.
    grown: Vec<Var>,
    changed: Vec<Var>,
    depth: usize,
}

impl Planner<'_> {
    fn define(&mut self, v: Var, place: AccumulatorSource) {
        let accumulator = matches!(self.function.vars[v.0 as usize].ty, FlatTy::Acc(_));
        if accumulator || is_array(self.function, v) {
            self.plan.places.insert(v, place);
            self.plan.depths.insert(v, self.depth);
            self.members.entry(self.plan.root(v)).or_default().push(v);
        }
    }

    fn depth_of(&self, v: Var) -> usize {
        self.plan.depths.get(&v).copied().unwrap_or(0)
    }

    /// The root of the class of an array that is no view.
    fn class(&self, atom: &Atom) -> Option<Var> {
        match atom {
            Atom::Var(v) if !is_array(self.function, *v) => None,
            Atom::Var(v) => match self.plan.places.get(v) {
                Some(AccumulatorSource::View(_) | AccumulatorSource::Bag) | None => None,
                Some(_) => Some(self.plan.root(*v)),
            },
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        }
    }

    fn is_bag(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(v) if self.plan.is_bag(*v))
    }

    /// Whether a variable is an array of Reals that varies.
    fn is_varying(&self, v: Var) -> bool {
        matches!(self.function.vars[v.0 as usize].ty, FlatTy::Array(Elem::Real, _))
            && self.activity.varies(&Atom::Var(v))
    }

    /// Whether an array was made in the innermost region, or is a view of such.
    fn is_made(&self, atom: &Atom) -> bool {
        let Atom::Var(v) = atom else { return true };
        let root = self.plan.root(*v);
        !self.plan.is_bag(*v)
            && self.depth_of(root) >= self.depth
            && matches!(self.plan.place(root), AccumulatorSource::Own | AccumulatorSource::Row(..))
    }

    /// Whether a step of a loop made an array.
    fn is_new(&self, atom: &Atom, carried: &[Carried]) -> bool {
        let root = |v: &Var| self.plan.root(*v);
        let old = |v: &Var| carried.iter().any(|c| c.param == root(v));
        self.is_made(atom) && !matches!(atom, Atom::Var(v) if old(v))
    }

    /// Notes that two arrays may be the same one.
    fn unite(&mut self, v: Var, w: Var) {
        let (v, w) = (self.plan.group(v), self.plan.group(w));
        if v != w {
            self.plan.groups.insert(v, w);
        }
    }

    fn unite_with(&mut self, v: Var, atom: &Atom) {
        if let Atom::Var(w) = atom {
            let root = self.plan.root(*w);
            self.unite(v, root);
        }
    }

    /// The root of the class of an array, if its accumulator is made in the innermost region.
    fn local(&self, atom: &Atom) -> Option<Var> {
        let root = self.class(atom)?;
        (self.plan.place(root) == AccumulatorSource::Own && self.depth_of(root) >= self.depth)
            .then_some(root)
    }

    /// Joins the class of a root to that of another array.
    fn join(&mut self, root: Var, to: Var) {
        let members = self.members.remove(&root).unwrap_or_default();
        self.plan.places.insert(root, AccumulatorSource::With(to));
        self.members.entry(self.plan.root(to)).or_default().extend(members);
    }

    /// Whether nothing of a class is used later, where a statement with this result is.
    fn is_dead(&self, root: Var, result: Var) -> bool {
        let none = Vec::new();
        let members = self.members.get(&root).unwrap_or(&none);
        self.liveness.get(&result).is_some_and(|live| !members.iter().any(|v| live.contains(v)))
    }

    /// Whether nobody but the function has added to the accumulator of a root.
    fn is_own(&self, root: Var) -> bool {
        self.plan.place(root) != AccumulatorSource::Param || self.given.contains(&root)
    }

    fn call(&mut self, stmt: &Stmt, callee: FunctionId, args: &[Atom]) {
        let Some(first) = stmt.results.first().copied() else { return };
        let root = |atom: &Atom| match atom {
            Atom::Var(v) => Some(self.plan.root(*v)),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        };
        let roots: Vec<Option<Var>> = args.iter().map(root).collect();
        let given = args.iter().enumerate().map(|(i, arg)| {
            let Some(class) = self.class(arg) else { return false };
            let others = roots.iter().enumerate().any(|(j, other)| j != i && *other == Some(class));
            let separate = stmt.results.iter().any(|v| self.separate.contains(v));
            !others && !separate && self.is_own(class) && self.is_dead(class, first)
        });
        let used = args.iter().zip(given).map(|(arg, given)| {
            let varies = self.activity.varies(arg);
            ParamUse { varies, kept: true, given, bag: self.is_bag(arg) }
        });
        let mut key: SourcesKey = (callee, used.collect());
        let shared = loop {
            let shared = sources(self.module, self.cache, &key);
            let is_shared = |i| shared.iter().any(|shared| shared.param() == Some(i));
            if key.1.iter().enumerate().all(|(i, used)| used.given == is_shared(i)) {
                break shared;
            }
            key.1.iter_mut().enumerate().for_each(|(i, used)| used.given = is_shared(i));
        };
        for (result, shared) in stmt.results.iter().zip(shared.iter()) {
            match (shared, shared.param().and_then(|param| self.class(&args[param]))) {
                (ResultAdjoint::Shared { param, grows }, Some(root)) => {
                    self.take(&args[*param]);
                    self.define(*result, AccumulatorSource::With(root));
                    self.changed.push(*result);
                    if *grows {
                        self.grown.push(*result);
                    }
                }
                (ResultAdjoint::Bag, _) => {
                    self.define(*result, AccumulatorSource::Bag);
                    args.iter().for_each(|arg| self.unite_with(*result, arg));
                }
                (ResultAdjoint::Own | ResultAdjoint::Shared { .. }, _) => {
                    self.define(*result, AccumulatorSource::Own)
                }
            }
        }
        self.plan.calls.insert(first, shared);
    }

    /// A new version of an array, by an update or an append.
    fn version(&mut self, array: &Atom, new: Var, grows: bool) {
        if let (Atom::Var(old), true) = (array, self.is_bag(array)) {
            self.define(new, AccumulatorSource::Bag);
            self.unite(new, *old);
            return self.bags_changed.push(new);
        }
        let root = self.class(array).filter(|root| {
            self.is_own(*root) && !self.separate.contains(&new) && self.is_dead(*root, new)
        });
        let Some(root) = root else {
            self.plan.apart.insert(new);
            return self.define(new, AccumulatorSource::Own);
        };
        self.take(array);
        self.define(new, AccumulatorSource::With(root));
        self.changed.push(new);
        if grows {
            self.grown.push(new);
        }
    }

    fn take(&mut self, atom: &Atom) {
        if let Atom::Var(v) = atom {
            self.taken.insert(*v);
        }
    }

    fn inner(&mut self, block: &Block) {
        self.depth += 1;
        deep(|| self.block(block));
        self.depth -= 1;
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            let one = stmt.results.first().copied();
            match (&stmt.op, one) {
                (
                    Op::Get(Atom::Var(x), _)
                    | Op::Slice { array: Atom::Var(x), .. }
                    | Op::Reshape(Atom::Var(x), _)
                    | Op::AccView(Atom::Var(x), _)
                    | Op::AccSlice { acc: Atom::Var(x), .. }
                    | Op::AccReshape(Atom::Var(x), _),
                    Some(y),
                ) => {
                    if self.plan.is_bag(*x) {
                        self.define(y, AccumulatorSource::Bag);
                        self.unite(y, *x);
                    } else {
                        self.define(y, AccumulatorSource::View(*x));
                    }
                }
                (Op::Field { .. }, Some(new)) if self.is_varying(new) => {
                    self.define(new, AccumulatorSource::Bag);
                }
                (Op::Update { array, .. }, Some(new)) => self.version(array, new, false),
                (Op::Append(array, _), Some(new)) => self.version(array, new, true),
                (Op::If { .. } | Op::Switch { .. }, _) => {
                    let mut blocks = Vec::new();
                    regions(&stmt.op, |region| blocks.push(region));
                    self.choice(&blocks, &stmt.results);
                }
                (Op::For { carried, body, .. }, _) => {
                    self.repeat(carried, None, body, &stmt.results);
                }
                (Op::While { carried, cond, body }, _) => {
                    self.repeat(carried, Some(cond), body, &stmt.results);
                }
                (Op::Build { index, body, .. }, _) => {
                    self.inner(body);
                    stmt.results.iter().for_each(|v| self.define(*v, AccumulatorSource::Own));
                    self.depth += 1;
                    for (result, row) in stmt.results.iter().zip(&body.results) {
                        if let Some(root) = self.local(row) {
                            self.plan.places.insert(root, AccumulatorSource::Row(*result, *index));
                        }
                    }
                    self.depth -= 1;
                }
                (Op::Reduce { body, .. }, _) => self.inner(body),
                (Op::Call(callee, args), _) => self.call(stmt, *callee, args),
                (_, _) => stmt.results.iter().for_each(|v| self.define(*v, AccumulatorSource::Own)),
            }
        }
    }

    fn choice(&mut self, blocks: &[&Block], results: &[Var]) {
        blocks.iter().for_each(|block| self.inner(block));
        for (i, result) in results.iter().enumerate() {
            if !is_array(self.function, *result) {
                continue;
            }
            let classes: Vec<Option<Var>> =
                blocks.iter().map(|block| self.class(&block.results[i])).collect();
            if let Some(Some(root)) = classes.first() {
                let outer = self.depth_of(*root) <= self.depth;
                if outer && classes.iter().all(|class| *class == Some(*root)) {
                    blocks.iter().for_each(|block| self.take(&block.results[i]));
                    self.define(*result, AccumulatorSource::With(*root));
                    continue;
                }
            }
            self.depth += 1;
            let chosen = blocks.iter().any(|block| {
                let from = &block.results[i];
                self.activity.varies(from) && !self.is_made(from)
            });
            self.depth -= 1;
            if chosen && self.is_varying(*result) {
                self.define(*result, AccumulatorSource::Bag);
                blocks.iter().for_each(|block| self.unite_with(*result, &block.results[i]));
                self.depth += 1;
                blocks.iter().for_each(|block| self.choose_made(block, &block.results[i]));
                self.depth -= 1;
                continue;
            }
            self.define(*result, AccumulatorSource::Own);
            self.depth += 1;
            for block in blocks {
                if let Some(root) = self.local(&block.results[i]) {
                    self.take(&block.results[i]);
                    self.join(root, *result);
                }
            }
            self.depth -= 1;
        }
    }

    /// Where the adjoint of what is chosen is a bag, so is that of a comprehension that a branch makes for it: as an
    /// array, the bag comes as it is.
    fn choose_made(&mut self, block: &Block, result: &Atom) {
        let Some(root) = self.local(result).filter(|root| self.is_varying(*root)) else { return };
        let built = block
            .stmts
            .iter()
            .any(|stmt| matches!(stmt.op, Op::Build { .. }) && stmt.results.contains(&root));
        let alone = self.members.get(&root).is_some_and(|members| members[..] == [root]);
        let rows = self.plan.places.values();
        let shared = rows
            .into_iter()
            .any(|place| matches!(place, AccumulatorSource::Row(v, _) if *v == root));
        if built && alone && !shared {
            self.plan.places.insert(root, AccumulatorSource::Bag);
        }
    }

    fn repeat(&mut self, carried: &[Carried], cond: Option<&Block>, body: &Block, results: &[Var]) {
        self.depth += 1;
        for c in carried {
            let bag = self.bags.contains(&c.param);
            self.define(c.param, if bag { AccumulatorSource::Bag } else { AccumulatorSource::Own });
        }
        self.depth -= 1;
        for (c, result) in carried.iter().zip(results) {
            if let (FlatTy::Acc(_), Atom::Var(init)) =
                (&self.function.vars[c.param.0 as usize].ty, &c.init)
            {
                // It is the same one in every step.
                self.plan.places.insert(c.param, AccumulatorSource::View(*init));
                self.define(*result, AccumulatorSource::View(*init));
            }
        }
        if let Some(cond) = cond {
            self.inner(cond);
        }
        self.inner(body);
        for (i, (c, result)) in carried.iter().zip(results).enumerate() {
            if !is_array(self.function, c.param) {
                continue;
            }
            if self.plan.is_bag(c.param) {
                self.define(*result, AccumulatorSource::Bag);
                self.unite(*result, c.param);
                self.unite_with(c.param, &c.init);
                self.unite_with(c.param, &body.results[i]);
                continue;
            }
            if self.class(&body.results[i]) != Some(c.param) {
                self.depth += 1;
                if self.is_varying(c.param) && !self.is_new(&body.results[i], carried) {
                    self.more_bags.push(c.param);
                }
                self.depth -= 1;
                self.plan.exchanged.insert(c.param);
                self.define(*result, AccumulatorSource::Own);
                continue;
            }
            self.take(&body.results[i]);
            let changes = self.changed.iter().any(|v| self.plan.root(*v) == c.param);
            let first = self.class(&c.init).filter(|root| {
                let own = self.is_own(*root);
                let others = carried.iter().enumerate().any(|(j, other)| {
                    let same = |v: &Var| self.plan.root(*v) == *root;
                    j != i && matches!(&other.init, Atom::Var(v) if same(v))
                });
                !changes || (own && !others && self.is_dead(*root, results[0]))
            });
            match first {
                Some(root) => {
                    self.take(&c.init);
                    self.join(c.param, root);
                    self.define(*result, AccumulatorSource::With(root));
                }
                None => {
                    self.define(*result, AccumulatorSource::Own);
                    self.join(c.param, *result);
                }
            }
        }
    }

    /// Completes the plan. What must not share, which makes it another one.
    fn finish(&mut self) -> Vec<Var> {
        let root = |v: &Var| self.plan.root(*v);
        let changed: HashSet<Var> = self.changed.iter().map(root).collect();
        let grown: HashSet<Var> = self.grown.iter().map(root).collect();
        let mut wrong = HashSet::new();
        let mut last = HashMap::new();
        for root in &grown {
            let depth = self.depth_of(*root);
            let mut at = *root;
            for v in &self.members[root] {
                if matches!(self.plan.place(*v), AccumulatorSource::View(_)) {
                    continue;
                }
                if self.depth_of(*v) == depth {
                    at = *v;
                } else if !self.taken.contains(v) {
                    // It may be larger than what is there in the block of the root.
                    wrong.insert(*root);
                }
            }
            last.insert(*root, at);
        }
        let more = self.grown.iter().filter(|v| wrong.contains(&self.plan.root(**v)));
        let more = more.copied().collect();
        let unkept = self.bags_changed.iter().chain(&self.plan.lent).chain(&changed);
        self.plan.unkept = unkept.map(|v| self.plan.group(self.plan.root(*v))).collect();
        (self.plan.changed, self.plan.grown, self.plan.last) = (changed, grown, last);
        more
    }
}
