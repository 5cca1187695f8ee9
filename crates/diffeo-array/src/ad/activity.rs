//! Activity analysis: which variables of a function vary with given parameters, and which matter for its results.
//!
//! A variable varies if a Real in it is computed from what varies by operations that have a derivative; Ints, truth
//! values and texts never vary, whatever they are computed from. An accumulator or stack varies if something that
//! varies is ever put into it or a view of it. Both are found for all variables of a function at once, by repeating
//! until nothing is added. The effect of a call is found in the same way, for the function called and its arguments.

use super::{decisive, Deriver, Key};
use crate::ir::walk::{deep, operands, statements};
use crate::ir::{Atom, Block, BoxId, Elem, FlatTy, FunctionId, Module, Op, Reduction, Stmt, Var};
use diffeo_calculus::prim::RealOp;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::rc::Rc;

/// What varies in a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// By variable, whether it varies.
    pub varied: Vec<bool>,
    /// By parameter, whether it varies; an accumulator also if the function puts something there that varies.
    pub params: Box<[bool]>,
    /// By result, whether it varies.
    pub results: Box<[bool]>,
    /// Whether it leads to a call, with arguments that vary, of a function with a rule: then that computes also what
    /// does not vary.
    pub ruled: bool,
    /// Whether it decides by something that varies: compares, rounds, sorts or chooses it.
    pub decides: bool,
}

impl Activity {
    /// Whether an operand varies.
    pub fn varies(&self, atom: &Atom) -> bool {
        varies(&self.varied, atom)
    }
}

fn varies(varied: &[bool], atom: &Atom) -> bool {
    match atom {
        Atom::Var(v) => varied.get(v.0 as usize).copied().unwrap_or(false),
        Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => false,
    }
}

/// Whether there are Reals in values of a type.
pub fn differentiable(module: &Module, ty: &FlatTy) -> bool {
    let mut boxes = Vec::new();
    let mut any = holds_real(ty, &mut boxes);
    let mut seen: HashSet<BoxId> = HashSet::new();
    while let (false, Some(id)) = (any, boxes.pop()) {
        let (true, Some(ty)) = (seen.insert(id), module.boxes.get(id.0 as usize)) else { continue };
        any = ty.variants.iter().flat_map(|v| &v.fields).any(|ty| holds_real(ty, &mut boxes));
    }
    any
}

/// Whether there are Reals in values of a type, outside boxes, which are added to a list.
fn holds_real(ty: &FlatTy, boxes: &mut Vec<BoxId>) -> bool {
    let mut elem = |elem: &Elem| match elem {
        Elem::Real => true,
        Elem::Int | Elem::Bool | Elem::Text => false,
        Elem::Box(id) => {
            boxes.push(*id);
            false
        }
    };
    match ty {
        FlatTy::Real | FlatTy::Acc(_) => true,
        FlatTy::Int | FlatTy::Bool | FlatTy::Text => false,
        FlatTy::Array(e, _) => elem(e),
        FlatTy::Box(id) => elem(&Elem::Box(*id)),
        FlatTy::Stack(elems) => elems.iter().filter(|e| elem(e)).count() > 0,
    }
}

/// What varies in a function of whose parameters these vary.
pub fn activity(
    module: &Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
) -> Rc<Activity> {
    kept(module, cache, (function, active.into()), false)
}

/// Variables of a function that depend on these of its parameters: numbers or not, by a choice or not.
pub(super) fn influence(
    module: &Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
) -> Rc<Activity> {
    kept(module, cache, (function, active.into()), true)
}

/// The activity, or the influence, solved once for all functions that are called.
fn kept(module: &Module, cache: &mut Deriver, key: Key, influence: bool) -> Rc<Activity> {
    fn table(cache: &mut Deriver, influence: bool) -> &mut HashMap<Key, Rc<Activity>> {
        if influence {
            &mut cache.influences
        } else {
            &mut cache.activities
        }
    }
    if let Some(known) = table(cache, influence).get(&key) {
        return known.clone();
    }
    let open = solved(module, cache, &key, influence);
    let table = table(cache, influence);
    table.extend(open);
    table.get(&key).cloned().unwrap_or_else(|| nothing(&key.1))
}

fn nothing(active: &[bool]) -> Rc<Activity> {
    let (varied, params, results) = (Vec::new(), active.into(), Box::default());
    Rc::new(Activity { varied, params, results, ruled: false, decides: false })
}

fn solved(
    module: &Module,
    cache: &Deriver,
    key: &Key,
    influences: bool,
) -> Vec<(Key, Rc<Activity>)> {
    let mut solver = Solver {
        module,
        cache,
        influences,
        types: HashMap::new(),
        open: HashMap::new(),
        callers: HashMap::new(),
        pending: VecDeque::new(),
    };
    solver.ask(key);
    while let Some(next) = solver.pending.pop_front() {
        solver.analyse(&next);
    }
    solver.open.into_iter().map(|(key, (activity, _))| (key, Rc::new(activity))).collect()
}

struct Solver<'a> {
    module: &'a Module,
    cache: &'a Deriver,
    /// Ints, Bools and choices that depend on parameters count as well, since numbers may depend on them.
    influences: bool,
    types: HashMap<FlatTy, bool>,
    /// What has been found so far, and whether it is to be looked at again.
    open: HashMap<Key, (Activity, bool)>,
    callers: HashMap<Key, HashSet<Key>>,
    pending: VecDeque<Key>,
}

impl Solver<'_> {
    fn differentiable(&mut self, ty: &FlatTy) -> bool {
        let module = self.module;
        *self.types.entry(ty.clone()).or_insert_with(|| differentiable(module, ty))
    }

    /// What is known of a function: of its parameters and results, of rules and of decisions.
    fn ask(&mut self, key: &Key) -> Asked {
        let known = |a: &Activity| Asked {
            params: a.params.clone(),
            results: a.results.clone(),
            ruled: a.ruled,
            decides: a.decides,
        };
        let found = match self.influences {
            true => &self.cache.influences,
            false => &self.cache.activities,
        };
        if let Some(activity) = found.get(key) {
            return known(activity);
        }
        if let Some((activity, _)) = self.open.get(key) {
            return known(activity);
        }
        let function = &self.module.functions[key.0 .0 as usize];
        let mut varied = vec![false; function.vars.len()];
        for (param, active) in function.params.iter().zip(&key.1) {
            varied[param.0 as usize] = *active;
        }
        let results: Box<[bool]> = vec![false; function.results.len()].into();
        let (params, ruled, decides) = (key.1.clone(), false, false);
        let activity = Activity { varied, params, results, ruled, decides };
        let asked = known(&activity);
        self.open.insert(key.clone(), (activity, true));
        self.pending.push_back(key.clone());
        asked
    }

    fn analyse(&mut self, key: &Key) {
        let Some((activity, waits)) = self.open.get_mut(key) else { return };
        *waits = false;
        let varied = std::mem::take(&mut activity.varied);
        let mut walk = ActivityWalk { key, varied, ruled: false, decides: false, changed: true };
        let function = &self.module.functions[key.0 .0 as usize];
        while walk.changed {
            walk.changed = false;
            walk.block(self, &function.body);
        }
        let of = |atom: &Atom| walk.of(atom);
        let results: Box<[bool]> = function.body.results.iter().map(of).collect();
        let params: Box<[bool]> = function.params.iter().map(|v| of(&Atom::Var(*v))).collect();
        let ActivityWalk { varied, ruled, decides, .. } = walk;
        let found = Activity { varied, params, results, ruled, decides };
        let Some((activity, _)) = self.open.get_mut(key) else { return };
        let news = activity.params != found.params
            || activity.results != found.results
            || (activity.ruled, activity.decides) != (found.ruled, found.decides);
        *activity = found;
        if news {
            for caller in self.callers.get(key).into_iter().flatten() {
                if let Some((_, waits @ false)) = self.open.get_mut(caller) {
                    *waits = true;
                    self.pending.push_back(caller.clone());
                }
            }
        }
    }
}

/// What [`Solver::ask`] gives.
struct Asked {
    params: Box<[bool]>,
    results: Box<[bool]>,
    ruled: bool,
    decides: bool,
}

struct ActivityWalk<'a> {
    key: &'a Key,
    varied: Vec<bool>,
    ruled: bool,
    decides: bool,
    changed: bool,
}

impl ActivityWalk<'_> {
    fn of(&self, atom: &Atom) -> bool {
        varies(&self.varied, atom)
    }

    fn any(&self, op: &Op) -> bool {
        let mut any = false;
        operands(op, |atom| any |= self.of(atom));
        any
    }

    fn set(&mut self, var: Var, varies: bool) {
        if varies && !self.varied[var.0 as usize] {
            self.varied[var.0 as usize] = true;
            self.changed = true;
        }
    }

    fn set_atom(&mut self, atom: &Atom, varies: bool) {
        if let Atom::Var(var) = atom {
            self.set(*var, varies);
        }
    }

    fn block(&mut self, solver: &mut Solver<'_>, block: &Block) {
        deep(|| block.stmts.iter().for_each(|stmt| self.stmt(solver, stmt)));
    }

    fn all(&mut self, stmt: &Stmt, varies: bool) {
        stmt.results.iter().for_each(|v| self.set(*v, varies));
    }

    /// Something mutable and a view of it vary together.
    fn view(&mut self, stmt: &Stmt, acc: &Atom) {
        let varies = self.of(acc) || stmt.results.iter().any(|v| self.of(&Atom::Var(*v)));
        self.set_atom(acc, varies);
        self.all(stmt, varies);
    }

    fn stmt(&mut self, solver: &mut Solver<'_>, stmt: &Stmt) {
        match &stmt.op {
            Op::If { cond, then, otherwise } => {
                self.block(solver, then);
                self.block(solver, otherwise);
                self.join(stmt, [then, otherwise]);
                self.chosen(solver, stmt, cond, &[then, otherwise]);
            }
            Op::Switch { on, arms, default } => {
                let blocks: Vec<&Block> = arms.iter().map(|(_, arm)| arm).chain(default).collect();
                blocks.iter().for_each(|block| self.block(solver, block));
                self.join(stmt, blocks.iter().copied());
                self.chosen(solver, stmt, on, &blocks);
            }
            Op::For { carried, body, .. } | Op::While { carried, body, .. } => {
                if let Op::While { cond, .. } = &stmt.op {
                    self.block(solver, cond);
                }
                for c in carried {
                    self.set(c.param, self.of(&c.init));
                }
                self.block(solver, body);
                for ((c, last), result) in carried.iter().zip(&body.results).zip(&stmt.results) {
                    let varies = self.of(last) || self.of(&Atom::Var(*result));
                    self.set(c.param, varies);
                    let varies = self.of(&Atom::Var(c.param));
                    self.set(*result, varies);
                    if let FlatTy::Acc(_) | FlatTy::Stack(_) = self.ty(solver, c.param) {
                        self.set_atom(&c.init, varies);
                    }
                }
            }
            Op::Build { body, .. } | Op::Reduce { body, .. } => {
                self.block(solver, body);
                self.join(stmt, [body]);
                self.decides |= decides(&stmt.op) && body.results.iter().any(|v| self.of(v));
            }
            _ => self.leaf(solver, stmt),
        }
    }

    /// Results that differ from one branch to another depend on what decides.
    fn chosen(&mut self, solver: &Solver<'_>, stmt: &Stmt, by: &Atom, blocks: &[&Block]) {
        if !solver.influences || !self.of(by) {
            return;
        }
        for (i, result) in stmt.results.iter().enumerate() {
            let first = blocks.first().map(|block| &block.results[i]);
            let differs = blocks.iter().any(|block| Some(&block.results[i]) != first);
            self.set(*result, differs);
        }
    }

    fn leaf(&mut self, solver: &mut Solver<'_>, stmt: &Stmt) {
        self.decides |= decides(&stmt.op) && self.any(&stmt.op);
        if let Op::Call(callee, args) = &stmt.op {
            self.call(solver, stmt, *callee, args);
        } else if let Op::AccAdd(acc, _, value) | Op::AccAddArray(acc, value) = &stmt.op {
            self.set_atom(acc, self.of(value));
        } else if let Op::Push(stack, values) = &stmt.op {
            let varies = values.iter().any(|value| self.of(value));
            self.set_atom(stack, varies);
        } else if let Op::AccView(acc, _) | Op::AccReshape(acc, _) | Op::AccSlice { acc, .. } =
            &stmt.op
        {
            self.view(stmt, acc);
        } else if solver.influences {
            // Sizes and tags do not depend on numbers that vary, nor what is no number within boxes: see `paths.rs`.
            match &stmt.op {
                Op::Dim(..) | Op::Tag(_) | Op::StackLen(_) => {}
                op if !self.any(op) => {}
                Op::Field { .. } | Op::StackGet(..) => self.differentiable_results(solver, stmt),
                _ => self.all(stmt, true),
            }
        } else if !matches!(stmt.op, Op::Real(RealOp::Sign, _)) && self.any(&stmt.op) {
            self.differentiable_results(solver, stmt);
        }
    }

    fn ty<'m>(&self, solver: &Solver<'m>, var: Var) -> &'m FlatTy {
        &solver.module.functions[self.key.0 .0 as usize].vars[var.0 as usize].ty
    }

    fn differentiable_results(&mut self, solver: &mut Solver<'_>, stmt: &Stmt) {
        for v in &stmt.results {
            let varies = solver.differentiable(self.ty(solver, *v));
            self.set(*v, varies);
        }
    }

    fn join<'b>(&mut self, stmt: &Stmt, blocks: impl IntoIterator<Item = &'b Block>) {
        for block in blocks {
            for (result, atom) in stmt.results.iter().zip(&block.results) {
                self.set(*result, self.of(atom));
            }
        }
    }

    fn call(&mut self, solver: &mut Solver<'_>, stmt: &Stmt, callee: FunctionId, args: &[Atom]) {
        if solver.cache.detached.contains(&callee) && !solver.influences {
            return;
        }
        let active: Box<[bool]> = args.iter().map(|arg| self.of(arg)).collect();
        if !active.contains(&true) && !args.iter().any(|arg| self.is_mutable(solver, arg)) {
            return;
        }
        let cache = solver.cache;
        if let (Some(rule), false) = (cache.rules.get(&callee), solver.influences) {
            let counts = match rule.decisions {
                None => true,
                Some((of, count)) => {
                    let keys = decisive(solver.module, of, &active[..count]);
                    keys.into_iter().fold(true, |all, active| {
                        let key = (of, active.into());
                        let decides = solver.ask(&key).decides;
                        solver.callers.entry(key).or_default().insert(self.key.clone());
                        all && decides
                    })
                }
            };
            self.ruled |= counts;
            if counts {
                return self.differentiable_results(solver, stmt);
            }
        }
        let key = (callee, active);
        let Asked { params, results, ruled, decides } = solver.ask(&key);
        self.ruled |= ruled;
        self.decides |= decides;
        solver.callers.entry(key).or_default().insert(self.key.clone());
        for (arg, varies) in args.iter().zip(&params) {
            self.set_atom(arg, *varies);
        }
        for (result, varies) in stmt.results.iter().zip(&results) {
            self.set(*result, *varies);
        }
    }

    fn is_mutable(&self, solver: &Solver<'_>, atom: &Atom) -> bool {
        match atom {
            Atom::Var(v) => self.ty(solver, *v).is_mutable(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => false,
        }
    }
}

/// Whether an operation decides by its operands, so that its result may jump where they are smooth.
fn decides(op: &Op) -> bool {
    match op {
        Op::Compare(..) | Op::Round(..) | Op::RoundFits(..) | Op::ArgSort(..) => true,
        Op::Reduce { how, .. } => how.iter().any(|how| *how != Reduction::Add),
        Op::Real(op, _) => matches!(
            op,
            RealOp::Abs | RealOp::Sign | RealOp::Min | RealOp::Max | RealOp::Rem | RealOp::Atan2
        ),
        _ => false,
    }
}

/// By variable of a function, whether a Real in it may matter for a Real in a result of it, or in what it puts into
/// accumulators and stacks, or in what it gives to a function.
pub fn useful(module: &Module, function: FunctionId) -> Vec<bool> {
    let function = &module.functions[function.0 as usize];
    let mut useful = vec![false; function.vars.len()];
    let mut types: HashMap<&FlatTy, bool> = HashMap::new();
    let differentiable: Vec<bool> = function
        .vars
        .iter()
        .map(|info| *types.entry(&info.ty).or_insert_with(|| differentiable(module, &info.ty)))
        .collect();
    let mut changed = true;
    let mark = |useful: &mut Vec<bool>, atom: &Atom| match atom {
        Atom::Var(v) if differentiable[v.0 as usize] && !useful[v.0 as usize] => {
            useful[v.0 as usize] = true;
            true
        }
        Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => false,
    };
    for atom in &function.body.results {
        mark(&mut useful, atom);
    }
    while changed {
        changed = false;
        statements(&function.body, &mut |stmt| {
            let mut wanted: Vec<bool> = stmt.results.iter().map(|v| useful[v.0 as usize]).collect();
            if let Op::For { carried, .. } | Op::While { carried, .. } = &stmt.op {
                for (wanted, c) in wanted.iter_mut().zip(carried) {
                    *wanted |= useful[c.param.0 as usize];
                }
            }
            each_source(&stmt.op, &wanted, &mut |atom| changed |= mark(&mut useful, atom));
        });
    }
    useful
}

/// Calls `see` with what matters if these results of an operation do.
fn each_source(op: &Op, wanted: &[bool], see: &mut dyn FnMut(&Atom)) {
    match op {
        Op::If { then, otherwise, .. } => {
            for block in [then, otherwise] {
                chosen(&block.results, wanted, see);
            }
        }
        Op::Switch { arms, default, .. } => {
            for block in arms.iter().map(|(_, arm)| arm).chain(default) {
                chosen(&block.results, wanted, see);
            }
        }
        Op::For { carried, body, .. } | Op::While { carried, body, .. } => {
            // What is carried matters if it does at the end or in a step.
            for (i, c) in carried.iter().enumerate() {
                if wanted.get(i) == Some(&true) {
                    see(&Atom::Var(c.param));
                    see(&c.init);
                    see(&body.results[i]);
                }
            }
        }
        Op::Build { body, .. } | Op::Reduce { body, .. } => chosen(&body.results, wanted, see),
        _ => {
            let acts =
                matches!(op, Op::Call(..) | Op::AccAdd(..) | Op::AccAddArray(..) | Op::Push(..));
            if acts || wanted.contains(&true) {
                operands(op, see);
            }
        }
    }
}

fn chosen(atoms: &[Atom], wanted: &[bool], see: &mut dyn FnMut(&Atom)) {
    atoms.iter().zip(wanted).filter(|(_, w)| **w).for_each(|(atom, _)| see(atom));
}
