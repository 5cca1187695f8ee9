//! All paths of a function: the same where no choice depends on numbers that vary.
//!
//! What comes in: a function and which of its parameters vary. What goes out: a function whose results depend on these,
//! linearly or not, as the results do on any of the paths that it may go. Its numbers are not those of the function. Where a
//! condition depends on numbers that vary, both branches run, one after the other, and their results are added; the larger
//! or smaller of two numbers is their sum, an element at an index that is not known the sum of all. What is no number and
//! depends on them is not known, and not computed. A check that fails in a branch stops the program, for the evaluator to
//! begin again: it knows paths that end.
//!
//! Sizes, tags of boxes and numbers of steps that depend on numbers that vary are not followed.

use super::forward::name_of_derived;
use super::operators::put_body;
use super::{influence, Activity, Deriver, Key, Rule, Unsupported};
use crate::build::Builder;
use crate::ir::walk::{deep, operands_mut, statements};
use crate::ir::{
    Atom, Block, Check, Elem, FlatTy, Function, FunctionId, Module, Op, Reduction, Scalar, SiteId,
    Stmt, Stop, Var,
};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, IntOp, RealOp};
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// Makes the body of a declared function, which calls another on all its paths, by the parameters that it did not capture.
///
/// # Errors
/// [`Unsupported`] where paths are not followed, such as of open loops. The module is then not complete.
pub fn all_paths(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    captured: usize,
    declared: FunctionId,
) -> Result<(), Unsupported> {
    let count = module.functions[function.0 as usize].params.len();
    let active: Box<[bool]> = (0..count).map(|i| i >= captured).collect();
    let of = followed(module, cache, &(function, active))?;
    let wrapper = &module.functions[declared.0 as usize];
    let mut b = Builder::resume(wrapper, SiteId(0));
    let params = wrapper.params.iter().map(|v| Atom::Var(*v)).collect();
    let results = b.emit(module, Op::Call(of, params));
    put_body(module, declared, b, results)
}

/// The function on all its paths.
fn followed(
    module: &mut Module,
    cache: &mut Deriver,
    key: &Key,
) -> Result<FunctionId, Unsupported> {
    let mut pending = Vec::new();
    let made = declare(module, cache, (key, false), &mut pending);
    while let Some((key, chosen, function)) = pending.pop() {
        make(module, cache, (&key, chosen), function, &mut pending)?;
    }
    Ok(made)
}

/// Functions whose bodies are to be made, and whether they are called where they might not be.
type Pending = Vec<(Key, bool, FunctionId)>;

/// The function on all its paths, whose body is made later.
fn declare(
    module: &mut Module,
    cache: &mut Deriver,
    (key, chosen): (&Key, bool),
    pending: &mut Pending,
) -> FunctionId {
    if let Some(known) = cache.paths.get(&(key.clone(), chosen)) {
        return *known;
    }
    let name = name_of_derived(module, cache, key.0, "paths");
    let source = &module.functions[key.0 .0 as usize];
    let declared = Function { name, body: Block::default(), ..source.clone() };
    let function = FunctionId(module.functions.len() as u32);
    module.functions.push(declared);
    cache.paths.insert((key.clone(), chosen), function);
    pending.push((key.clone(), chosen, function));
    if cache.detached.contains(&key.0) {
        cache.detached.insert(function);
    }
    if cache.checkpoints.contains(&key.0) {
        cache.checkpoints.insert(function);
    }
    if let Some(rule) = cache.rules.get(&key.0).cloned() {
        let count = module.functions[rule.function.0 as usize].params.len();
        let mut active = key.1.to_vec();
        active.resize(count, true);
        let paths = declare(module, cache, (&(rule.function, active.into()), chosen), pending);
        cache.rules.insert(function, Rule { function: paths, ..rule });
    }
    function
}

fn make(
    module: &mut Module,
    cache: &mut Deriver,
    (key, chosen): (&Key, bool),
    function: FunctionId,
    pending: &mut Pending,
) -> Result<(), Unsupported> {
    if cache.rules.get(&key.0).is_some_and(|rule| rule.decisions.is_some()) {
        return Err(not_followed("decisions of an integrand"));
    }
    let activity = influence(module, cache, key.0, &key.1);
    let source = module.functions[key.0 .0 as usize].clone();
    let declared = &module.functions[function.0 as usize];
    let mut b = Builder::resume(declared, SiteId(0));
    if source.body.results.len() != source.results.len() {
        // A derivative taken within itself, which has no body yet.
        let unused = b.stop(Stop::Order, source.results);
        return put_body(module, function, b, unused);
    }
    let renamed = HashMap::new();
    let (of, within) = (key.0, u32::from(chosen));
    let mut paths = Follow { module, cache, b, activity, of, renamed, within, pending };
    paths.stmts(&source.body)?;
    let results = source.body.results.iter().map(|atom| paths.atom(atom)).collect();
    let b = paths.b;
    put_body(module, function, b, results)
}

fn not_followed(what: &str) -> Unsupported {
    Unsupported(format!("{what} may depend on numbers whose pattern is looked for"))
}

struct Follow<'a> {
    module: &'a mut Module,
    cache: &'a mut Deriver,
    b: Builder,
    activity: Rc<Activity>,
    /// The function.
    of: FunctionId,
    /// Atoms that stand for variables.
    renamed: HashMap<Var, Atom>,
    /// Within so many branches that may not be taken.
    within: u32,
    pending: &'a mut Pending,
}

impl Follow<'_> {
    fn varies(&self, atom: &Atom) -> bool {
        self.activity.varies(atom)
    }

    fn atom(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(v) => self.renamed.get(v).unwrap_or(atom).clone(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => atom.clone(),
        }
    }

    fn one(&mut self, op: Op) -> Atom {
        self.b.one(self.module, op)
    }

    fn stmts(&mut self, block: &Block) -> Result<(), Unsupported> {
        deep(|| block.stmts.iter().try_for_each(|stmt| self.stmt(stmt)))
    }

    fn region(&mut self, block: &Block) -> Result<Block, Unsupported> {
        self.b.open();
        self.stmts(block)?;
        let results = block.results.iter().map(|atom| self.atom(atom)).collect();
        Ok(self.b.close(results))
    }

    /// Something that is no number, nor has any in it, and is not known.
    fn unknown(&mut self, ty: &FlatTy) -> Atom {
        match ty {
            // As an exponent, it is one of which no derivative that is asked for is 0.
            FlatTy::Int => Atom::Int(3),
            FlatTy::Bool => Atom::Bool(false),
            FlatTy::Real => Atom::Real(0.0),
            FlatTy::Text => self.one(Op::Text(Name::new(""))),
            FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
                Atom::Unused(ty.clone())
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        self.b.set_site(stmt.site);
        let varies = |atom: &Atom| self.activity.varies(atom);
        let op = match &stmt.op {
            Op::If { cond, then, otherwise } if varies(cond) => {
                return self.branches(stmt, &[then, otherwise]);
            }
            Op::Switch { on, arms, default } if varies(on) => {
                let blocks: Vec<&Block> = arms.iter().map(|(_, arm)| arm).chain(default).collect();
                return self.branches(stmt, &blocks);
            }
            Op::If { cond, then, otherwise } => {
                let cond = self.atom(cond);
                let (then, otherwise) = (self.region(then)?, self.region(otherwise)?);
                Op::If { cond, then, otherwise }
            }
            Op::Switch { on, arms, default } => {
                let on = self.atom(on);
                let mut blocks = Vec::new();
                for (value, arm) in arms {
                    blocks.push((*value, self.region(arm)?));
                }
                let default = match default {
                    Some(block) => Some(self.region(block)?),
                    None => None,
                };
                Op::Switch { on, arms: blocks, default }
            }
            Op::For { count, .. } | Op::Build { count, .. } | Op::Reduce { count, .. }
                if varies(count) =>
            {
                return Err(not_followed("the number of steps of a loop"));
            }
            Op::While { cond, .. } if cond.results.iter().any(varies) => {
                return Err(not_followed("the number of steps of a loop"));
            }
            Op::For { count, index, carried, body } => {
                let (count, mut carried) = (self.atom(count), carried.clone());
                carried.iter_mut().for_each(|c| c.init = self.atom(&c.init));
                Op::For { count, index: *index, carried, body: self.region(body)? }
            }
            Op::While { carried, cond, body } => {
                let mut carried = carried.clone();
                carried.iter_mut().for_each(|c| c.init = self.atom(&c.init));
                Op::While { carried, cond: self.region(cond)?, body: self.region(body)? }
            }
            Op::Build { count, index, body } => {
                Op::Build { count: self.atom(count), index: *index, body: self.region(body)? }
            }
            Op::Reduce { how, count, index, body } => {
                let varying: Vec<bool> = body.results.iter().map(varies).collect();
                let how = how.iter().zip(varying);
                let how = how.map(|(how, varies)| if varies { Reduction::Add } else { *how });
                let (how, count) = (how.collect(), self.atom(count));
                Op::Reduce { how, count, index: *index, body: self.region(body)? }
            }
            _ => return self.leaf(stmt),
        };
        self.b.push_stmt(Stmt { results: stmt.results.clone(), op, site: stmt.site });
        Ok(())
    }

    fn leaf(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        let mut op = stmt.op.clone();
        operands_mut(&mut op, |atom| *atom = self.atom(atom));
        let result = stmt.results.first().copied();
        let varied = result.is_some_and(|v| self.varies(&Atom::Var(v)));
        // What it was computed from, before names changed.
        match &stmt.op {
            Op::Trace(..) | Op::Progress(..) | Op::Warn(..) => return Ok(()),
            Op::Check(check) => {
                self.check(check);
                return Ok(());
            }
            Op::Call(callee, args) => {
                let active: Box<[bool]> = args.iter().map(|arg| self.varies(arg)).collect();
                let chosen = self.within > 0;
                if chosen && leads_to(self.module, self.cache, *callee, self.of) {
                    return Err(not_followed("the depth of a recursion"));
                }
                if chosen || active.contains(&true) {
                    let key = (*callee, active);
                    let of = declare(self.module, self.cache, (&key, chosen), self.pending);
                    if let Op::Call(callee, _) = &mut op {
                        *callee = of;
                    }
                }
            }
            Op::Dim(..) | Op::Tag(_) | Op::StackLen(_) => {}
            Op::Stop(_) if self.within > 0 => op = Op::Stop(Stop::Nan),
            Op::Int(IntOp::Div | IntOp::Rem, args) if self.within > 0 && !varied => {
                let by = self.atom(&args[1]);
                let zero = Op::Compare(Comparison::Eq, Scalar::Int, by, Atom::Int(0));
                let zero = self.one(zero);
                self.stop_if(zero);
            }
            // Any power.
            Op::PowInt(x, n) if self.varies(n) => op = Op::Real(RealOp::Exp, vec![self.atom(x)]),
            Op::Select(cond, x, y) if self.varies(cond) => {
                let (x, y) = (self.atom(x), self.atom(y));
                let Some(result) = result else { return Ok(()) };
                let chosen = self.either(&Atom::Var(result), [&x, &y])?;
                self.renamed.insert(result, chosen);
                return Ok(());
            }
            Op::Real(RealOp::Min | RealOp::Max, _) if varied => {
                if let Op::Real(op, _) = &mut op {
                    *op = RealOp::Add;
                }
            }
            Op::Get(array, indices) if indices.iter().any(|i| self.varies(i)) => {
                let Some(result) = result else { return Ok(()) };
                let array = self.atom(array);
                let chosen = self.any_element(&Atom::Var(result), &array, indices)?;
                self.renamed.insert(result, chosen);
                return Ok(());
            }
            Op::Update { array, indices, value } if indices.iter().any(|i| self.varies(i)) => {
                let Some(result) = result else { return Ok(()) };
                let (array, value) = (self.atom(array), self.atom(value));
                let chosen = self.anywhere(&array, indices, &value)?;
                self.renamed.insert(result, chosen);
                return Ok(());
            }
            Op::Slice { lo, hi, .. } if self.varies(lo) || self.varies(hi) => {
                return Err(not_followed("the bounds of a slice"));
            }
            Op::Reshape(_, sizes) | Op::AccNew(sizes) if sizes.iter().any(|s| self.varies(s)) => {
                return Err(not_followed("the size of an array"));
            }
            Op::AccAdd(_, at, _) | Op::AccRead(_, at) | Op::AccTake(_, at) | Op::AccView(_, at)
                if at.iter().any(|i| self.varies(i)) =>
            {
                return Err(not_followed("the place of an addition"));
            }
            Op::AccSlice { lo, hi, .. } if self.varies(lo) || self.varies(hi) => {
                return Err(not_followed("the bounds of a slice"));
            }
            Op::StackGet(_, at) if self.varies(at) => {
                return Err(not_followed("a position"));
            }
            Op::Push(..) if self.within > 0 => {
                return Err(not_followed("the size of a stack"));
            }
            Op::New(_, _, fields) | Op::Push(_, fields) => {
                let unknown = |atom: &&Atom| {
                    self.varies(atom)
                        && matches!(
                            self.b.ty(atom),
                            FlatTy::Int
                                | FlatTy::Bool
                                | FlatTy::Text
                                | FlatTy::Array(Elem::Int | Elem::Bool | Elem::Text, _)
                        )
                };
                if fields.iter().any(|atom| unknown(&atom)) {
                    return Err(not_followed("an Int, a Bool or a String within data"));
                }
            }
            _ => {
                if let (Some(result), true) = (result, varied) {
                    let ty = self.b.ty(&Atom::Var(result));
                    let sorts = matches!(stmt.op, Op::ArgSort(_));
                    if matches!(ty, FlatTy::Int | FlatTy::Bool | FlatTy::Text) {
                        let unknown = self.unknown(&ty);
                        self.renamed.insert(result, unknown);
                        return Ok(());
                    }
                    if sorts {
                        // Any array of as many Ints.
                        let Op::ArgSort(array) = &op else { return Ok(()) };
                        let count = self.one(Op::Dim(array.clone(), 0));
                        let index = self.b.var(FlatTy::Int, None);
                        let body = self.b.block(|_| vec![Atom::Int(0)]);
                        let some = self.one(Op::Build { count, index, body });
                        self.renamed.insert(result, some);
                        return Ok(());
                    }
                }
            }
        }
        self.b.push_stmt(Stmt { results: stmt.results.clone(), op, site: stmt.site });
        Ok(())
    }

    /// Runs branches one after the other; their results are added.
    fn branches(&mut self, stmt: &Stmt, blocks: &[&Block]) -> Result<(), Unsupported> {
        self.within += 1;
        let mut all: Vec<Vec<Atom>> = Vec::new();
        for block in blocks {
            if ends(self.module, block, &mut Vec::new()) {
                continue;
            }
            self.stmts(block)?;
            all.push(block.results.iter().map(|atom| self.atom(atom)).collect());
        }
        self.within -= 1;
        self.b.set_site(stmt.site);
        if all.is_empty() {
            // Whatever it chooses, the program stops.
            let types = stmt.results.iter().map(|v| self.b.ty(&Atom::Var(*v))).collect();
            let unused = self.b.stop(Stop::Nan, types);
            self.renamed.extend(stmt.results.iter().copied().zip(unused));
            return Ok(());
        }
        for (i, result) in stmt.results.iter().enumerate() {
            let mut chosen = all[0][i].clone();
            for other in &all[1..] {
                chosen = self.either(&Atom::Var(*result), [&chosen, &other[i]])?;
            }
            self.renamed.insert(*result, chosen);
        }
        Ok(())
    }

    /// The value that stands for one of two, of which a path takes either.
    fn either(&mut self, result: &Atom, [x, y]: [&Atom; 2]) -> Result<Atom, Unsupported> {
        if x == y {
            return Ok(x.clone());
        }
        let ty = self.b.ty(result);
        match &ty {
            FlatTy::Real => Ok(match (x, y) {
                (Atom::Unused(_), other) | (other, Atom::Unused(_)) => other.clone(),
                (x, y) => self.one(Op::Real(RealOp::Add, vec![x.clone(), y.clone()])),
            }),
            FlatTy::Int | FlatTy::Bool | FlatTy::Text => Ok(self.unknown(&ty)),
            FlatTy::Array(elem, rank) => {
                for dim in 0..*rank {
                    let sizes = [x, y].map(|array| self.one(Op::Dim((*array).clone(), dim)));
                    let [a, b] = sizes;
                    let bad = self.one(Op::Compare(Comparison::Ne, Scalar::Int, a, b));
                    self.stop_if(bad);
                }
                match elem {
                    Elem::Real => Ok(self.sum_of_arrays([x.clone(), y.clone()])),
                    Elem::Int | Elem::Bool | Elem::Text => Ok(x.clone()),
                    Elem::Box(_) => Err(not_followed("which data there are")),
                }
            }
            FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
                Err(not_followed("which data there are"))
            }
        }
    }

    fn sum_of_arrays(&mut self, [x, y]: [Atom; 2]) -> Atom {
        if self.b.ty(&x) == FlatTy::Real {
            return self.one(Op::Real(RealOp::Add, vec![x, y]));
        }
        let count = self.one(Op::Dim(x.clone(), 0));
        let index = self.b.var(FlatTy::Int, None);
        self.b.open();
        let rows = [x, y].map(|array| self.one(Op::Get(array, vec![Atom::Var(index)])));
        let row = self.sum_of_arrays(rows);
        let body = self.b.close(vec![row]);
        self.one(Op::Build { count, index, body })
    }

    /// An element at indices of which some are not known: the sum of all that it may be.
    fn any_element(
        &mut self,
        result: &Atom,
        array: &Atom,
        indices: &[Atom],
    ) -> Result<Atom, Unsupported> {
        let ty = self.b.ty(result);
        match ty {
            FlatTy::Int | FlatTy::Bool | FlatTy::Text => return Ok(self.unknown(&ty)),
            FlatTy::Real => {}
            FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
                return Err(not_followed("which row there is"));
            }
        }
        let mut known = Vec::new();
        let mut open = Vec::new();
        for (dim, index) in (0..).zip(indices) {
            if !self.varies(index) {
                known.push(self.atom(index));
                continue;
            }
            let count = self.one(Op::Dim(array.clone(), dim));
            let index = self.b.var(FlatTy::Int, None);
            known.push(Atom::Var(index));
            open.push((count, index));
            self.b.open();
        }
        let mut sum = self.one(Op::Get(array.clone(), known));
        for (count, index) in open.into_iter().rev() {
            let body = self.b.close(vec![sum]);
            sum = self.one(Op::Reduce { how: vec![Reduction::Add], count, index, body });
        }
        Ok(sum)
    }

    /// An array of which an element that is not known is replaced: each may be the new one.
    fn anywhere(
        &mut self,
        array: &Atom,
        indices: &[Atom],
        value: &Atom,
    ) -> Result<Atom, Unsupported> {
        match self.b.ty(array) {
            FlatTy::Array(Elem::Real, 1) if indices.len() == 1 => {}
            FlatTy::Array(Elem::Int | Elem::Bool | Elem::Text, _) => return Ok(array.clone()),
            _ => return Err(not_followed("which element is replaced")),
        }
        let count = self.one(Op::Dim(array.clone(), 0));
        let index = self.b.var(FlatTy::Int, None);
        self.b.open();
        let old = self.one(Op::Get(array.clone(), vec![Atom::Var(index)]));
        let new = self.one(Op::Real(RealOp::Add, vec![old, value.clone()]));
        let body = self.b.close(vec![new]);
        Ok(self.one(Op::Build { count, index, body }))
    }

    fn stop_if(&mut self, cond: Atom) {
        self.b.open();
        self.b.emit(self.module, Op::Stop(Stop::Nan));
        let then = self.b.close(Vec::new());
        self.b.emit(self.module, Op::If { cond, then, otherwise: Block::default() });
    }

    /// A check of what is not known says nothing; one in a branch that may not be taken stops for the evaluator.
    fn check(&mut self, check: &Check) {
        let all: Vec<&Atom> = match check {
            Check::Index { index, length } => vec![index, length],
            Check::Slice { lo, hi, length } => vec![lo, hi, length],
            Check::Count(count) => vec![count],
            Check::Size { expected, found, .. } | Check::Rows { expected, found } => {
                vec![expected, found]
            }
        };
        if all.iter().any(|atom| self.varies(atom)) {
            return;
        }
        let mut op = Op::Check(check.clone());
        operands_mut(&mut op, |atom| *atom = self.atom(atom));
        if self.within == 0 {
            self.b.emit(self.module, op);
            return;
        }
        let all: Vec<Atom> = all.into_iter().map(|atom| self.atom(atom)).collect();
        let mut fails = |c, x: &Atom, y: &Atom| {
            let op = Op::Compare(c, Scalar::Int, x.clone(), y.clone());
            let bad = self.b.one(self.module, op);
            self.stop_if(bad);
        };
        match (check, &all[..]) {
            (Check::Index { .. }, [index, length]) => {
                fails(Comparison::Lt, index, &Atom::Int(0));
                fails(Comparison::Ge, index, length);
            }
            (Check::Slice { .. }, [lo, hi, length]) => {
                fails(Comparison::Lt, lo, &Atom::Int(0));
                fails(Comparison::Gt, lo, hi);
                fails(Comparison::Gt, hi, length);
            }
            (Check::Count(_), [count]) => fails(Comparison::Lt, count, &Atom::Int(0)),
            (_, [expected, found]) => fails(Comparison::Ne, expected, found),
            _ => {}
        }
    }
}

/// A function leads to another, or is it.
fn leads_to(module: &Module, cache: &Deriver, from: FunctionId, to: FunctionId) -> bool {
    let mut seen: HashSet<FunctionId> = HashSet::from([from]);
    let mut pending = vec![from];
    while let Some(next) = pending.pop() {
        if next == to {
            return true;
        }
        let rule = cache.rules.get(&next).map(|rule| rule.function);
        pending.extend(rule.filter(|rule| seen.insert(*rule)));
        statements(&module.functions[next.0 as usize].body, &mut |stmt| {
            if let Op::Call(callee, _) = &stmt.op {
                if seen.insert(*callee) {
                    pending.push(*callee);
                }
            }
        });
    }
    false
}

/// The program stops in a block, whatever happens there.
fn ends(module: &Module, block: &Block, within: &mut Vec<FunctionId>) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.op {
        Op::Stop(_) => true,
        Op::Call(callee, _) if !within.contains(callee) => {
            within.push(*callee);
            let body = &module.functions[callee.0 as usize].body;
            let ends = deep(|| ends(module, body, within));
            within.pop();
            ends
        }
        Op::If { then, otherwise, .. } => {
            deep(|| ends(module, then, within) && ends(module, otherwise, within))
        }
        _ => false,
    })
}
