//! Forward mode: a function that computes the values of another with their tangents, or their Taylor coefficients.
//!
//! What comes in: a function and which of its parameters vary. What goes out: a function that takes its parameters and
//! the tangents of those that vary, and gives its results and the tangents of those that vary. The statements of the
//! function stay as they are, so they fail where they did and in the same order; each is followed by the computation of
//! its tangents, which cannot fail. What does not vary has no tangent. At order R, each tangent is R normalised
//! coefficients of a Taylor series, `x⁽ⁱ⁾ / i!` for i from 1 to R; only arithmetic knows the difference.

use super::operators::put_body;
use super::orders::{Indices, Orders};
use super::partials::along;
use super::shadow::{field, shadow, tangents, zero};
use super::taylor::coefficients;
use super::{activity, differentiable, slopes, Activity, Deriver, Key, Unsupported};
use crate::build::Builder;
use crate::ir::walk::deep;
use crate::ir::{
    Atom, Block, Carried, Elem, FlatTy, Function, FunctionId, Module, Op, Reduction, Scalar,
    SiteId, Stmt, Var, VarInfo,
};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, RealOp};
use hashbrown::HashMap;
use std::rc::Rc;

/// A function derived in forward mode.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Takes the parameters, then the tangents of those that vary; gives the results, then the tangents of those that
    /// vary.
    pub function: FunctionId,
    /// By parameter, whether it varies.
    pub params: Box<[bool]>,
    /// By result, whether it varies.
    pub results: Box<[bool]>,
}

/// What is to be derived.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ForwardKey {
    key: Key,
    orders: Orders,
    /// By parameter, whether it is a Real of which only the coefficients of the first derivatives are not 0: others are
    /// not passed.
    lines: Box<[bool]>,
    /// In the place of tangents stand sets ([`super::sets`]).
    sets: bool,
}

impl ForwardKey {
    /// With all coefficients of all parameters that vary.
    pub(super) fn new(key: Key, orders: Orders) -> ForwardKey {
        let lines = vec![false; key.1.len()].into();
        ForwardKey { key, orders, lines, sets: false }
    }

    /// With sets.
    pub(super) fn sets(key: Key) -> ForwardKey {
        ForwardKey { sets: true, ..ForwardKey::new(key, Orders::FIRST) }
    }
}

/// The function with its tangents, of whose parameters these vary (only such as have Reals in them); with
/// Taylor coefficients where the order is more than 1.
///
/// # Errors
/// [`Unsupported`] where a derivative is not made. The module is then not complete.
pub fn forward(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
    orders: impl Into<Orders>,
) -> Result<Forward, Unsupported> {
    make(module, cache, &ForwardKey::new((function, active.into()), orders.into()))
}

/// As [`forward`], of a function whose parameters that vary are Reals of which only the first coefficients are not 0.
pub(super) fn forward_along(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
    orders: Orders,
) -> Result<Forward, Unsupported> {
    let key = (function, active.into());
    make(module, cache, &ForwardKey { key, orders, lines: active.into(), sets: false })
}

/// As [`forward`], with sets in the place of tangents.
pub(super) fn forward_sets(
    module: &mut Module,
    cache: &mut Deriver,
    function: FunctionId,
    active: &[bool],
) -> Result<Forward, Unsupported> {
    make(module, cache, &ForwardKey::sets((function, active.into())))
}

fn make(
    module: &mut Module,
    cache: &mut Deriver,
    wanted: &ForwardKey,
) -> Result<Forward, Unsupported> {
    let made = declare(module, cache, wanted);
    while let Some(next) = cache.pending.pop() {
        derive(module, cache, &next)?;
    }
    Ok(made)
}

/// The derived function, whose body is made later.
pub(super) fn declare(module: &mut Module, cache: &mut Deriver, all: &ForwardKey) -> Forward {
    let ForwardKey { key, orders, lines, sets } = all;
    if let Some(known) = cache.forwards.get(all) {
        return known.clone();
    }
    let indices = cache.indices(*orders);
    let width = indices.width();
    let activity = activity(module, cache, key.0, &key.1);
    let source = &module.functions[key.0 .0 as usize];
    let Function { shown, library, span, vars, params, results, .. } = source;
    let (shown, library, span) = (shown.clone(), *library, *span);
    let (vars, params, mut results) = (vars.clone(), params.clone(), results.clone());
    let suffix = match *orders {
        _ if *sets => "sets".to_string(),
        Orders::FIRST => "dot".to_string(),
        Orders { k: 1, r } => format!("jet{r}"),
        Orders { k, r } => format!("jet{k}_{r}"),
    };
    let name = name_of_derived(module, cache, key.0, &suffix);
    let declared = Function {
        name,
        shown,
        library,
        span,
        vars,
        params: params.clone(),
        results: Vec::new(),
        body: Block::default(),
    };
    let function = FunctionId(module.functions.len() as u32);
    module.functions.push(declared);
    let made =
        Forward { function, params: activity.params.clone(), results: activity.results.clone() };
    cache.forwards.insert(all.clone(), made.clone());
    let varying = params.iter().zip(lines).zip(&made.params).filter(|(_, varies)| **varies);
    for ((param, line), _) in varying {
        let info = module.functions[function.0 as usize].vars[param.0 as usize].clone();
        let types = tangents(module, cache, &info.ty, width);
        let declared = &mut module.functions[function.0 as usize];
        for (i, ty) in (1..).zip(types).filter(|(i, _)| indices.passed(*i, *line)) {
            declared.params.push(Var(declared.vars.len() as u32));
            let name = info.name.as_ref().map(|name| dotted(name, i));
            declared.vars.push(VarInfo { ty, name });
        }
    }
    for (i, varies) in made.results.iter().enumerate() {
        if *varies {
            let ty = results[i].clone();
            results.extend(tangents(module, cache, &ty, width));
        }
    }
    module.functions[function.0 as usize].results = results;
    cache.pending.push(all.clone());
    made
}

/// The name of a function derived from another.
pub(super) fn name_of_derived(
    module: &Module,
    cache: &mut Deriver,
    of: FunctionId,
    suffix: &str,
) -> Name {
    let name = &module.functions[of.0 as usize].name;
    let used = cache.names.entry(of).or_insert(0);
    *used += 1;
    Name::from(match *used {
        1 => format!("{name}.{suffix}"),
        n => format!("{name}.{suffix}.{}", n - 1),
    })
}

/// The name of a tangent of this order.
fn dotted(name: &Name, order: usize) -> Name {
    Name::from(match order {
        1 => format!("{name}_dot"),
        i => format!("{name}_dot{i}"),
    })
}

/// Makes the body of a derived function.
fn derive(module: &mut Module, cache: &mut Deriver, all: &ForwardKey) -> Result<(), Unsupported> {
    let ForwardKey { key, orders, lines, sets } = all;
    let (indices, sets) = (cache.indices(*orders), *sets);
    let Some(made) = cache.forwards.get(all).cloned() else { return Ok(()) };
    let activity = activity(module, cache, key.0, &key.1);
    let source = module.functions[key.0 .0 as usize].clone();
    let declared = &module.functions[made.function.0 as usize];
    let b = Builder::resume(declared, SiteId(0));
    let given = declared.params[source.params.len()..].to_vec();
    let mut given = given.into_iter();
    let mut dots = HashMap::new();
    let varying = source.params.iter().zip(lines).zip(&made.params).filter(|(_, varies)| **varies);
    for ((param, line), _) in varying {
        let ty = source.vars[param.0 as usize].ty.clone();
        let width = tangents(module, cache, &ty, indices.width()).len();
        let mut dot = |i| match indices.passed(i, *line) {
            true => given.next().map(Atom::Var),
            false => None,
        };
        dots.insert(*param, (1..=width).map(|i| dot(i).unwrap_or(Atom::Real(0.0))).collect());
    }
    let width = indices.width();
    let mut forward = Derive { module, cache, b, activity, width, indices, sets, dots };
    forward.stmts(&source.body)?;
    let mut results = source.body.results.clone();
    for (result, varies) in source.body.results.iter().zip(&made.results) {
        if *varies {
            results.extend(forward.dots(result));
        }
    }
    let b = forward.b;
    put_body(module, made.function, b, results)
}

pub(super) struct Derive<'a> {
    pub module: &'a mut Module,
    pub cache: &'a mut Deriver,
    pub b: Builder,
    activity: Rc<Activity>,
    pub indices: Rc<Indices>,
    /// How many coefficients there are.
    pub width: usize,
    /// In the place of tangents stand sets.
    pub sets: bool,
    /// The tangents of what varies.
    dots: HashMap<Var, Vec<Atom>>,
}

impl Derive<'_> {
    pub(super) fn varies(&self, atom: &Atom) -> bool {
        self.activity.varies(atom)
    }

    pub(super) fn one(&mut self, op: Op) -> Atom {
        self.b.one(self.module, op)
    }

    pub(super) fn known(&self, atom: &Atom) -> Option<Vec<Atom>> {
        match atom {
            Atom::Var(var) => self.dots.get(var).cloned(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
        }
    }

    /// The tangents of an operand, made if it does not vary.
    pub(super) fn dots(&mut self, atom: &Atom) -> Vec<Atom> {
        match self.known(atom) {
            Some(dots) => dots,
            None => zero(&mut self.b, self.module, self.cache, atom, self.width),
        }
    }

    /// New variables for the tangents of a variable.
    fn fresh(&mut self, var: Var) -> Vec<Var> {
        let ty = self.b.ty(&Atom::Var(var));
        let name = self.b.name_of(var).cloned();
        let types = tangents(self.module, self.cache, &ty, self.width);
        let mut vars = Vec::new();
        for (i, ty) in (1..).zip(types) {
            vars.push(self.b.var(ty, name.as_ref().map(|name| dotted(name, i))));
        }
        self.dots.insert(var, vars.iter().map(|v| Atom::Var(*v)).collect());
        vars
    }

    pub(super) fn set(&mut self, var: Var, dots: Vec<Atom>) {
        if let Some(name) = self.b.name_of(var).cloned() {
            for (i, dot) in (1..).zip(&dots) {
                self.b.name(dot, &dotted(&name, i));
            }
        }
        self.dots.insert(var, dots);
    }

    fn stmts(&mut self, block: &Block) -> Result<(), Unsupported> {
        deep(|| block.stmts.iter().try_for_each(|stmt| self.stmt(stmt)))
    }

    /// A region, whose results are followed by the tangents of these.
    fn region(&mut self, block: &Block, varying: &[bool]) -> Result<Block, Unsupported> {
        self.b.open();
        self.stmts(block)?;
        let mut results = block.results.clone();
        for (atom, _) in block.results.iter().zip(varying).filter(|(_, varies)| **varies) {
            results.extend(self.dots(atom));
        }
        Ok(self.b.close(results))
    }

    fn varying(&self, vars: &[Var]) -> Vec<bool> {
        vars.iter().map(|v| self.varies(&Atom::Var(*v))).collect()
    }

    /// Adds a statement whose results are followed by the tangents of those that vary.
    fn push(&mut self, stmt: &Stmt, op: Op) -> Result<(), Unsupported> {
        let mut results = stmt.results.clone();
        for var in &stmt.results {
            if self.varies(&Atom::Var(*var)) {
                results.extend(self.fresh(*var));
            }
        }
        self.b.push_stmt(Stmt { results, op, site: stmt.site });
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        self.b.set_site(stmt.site);
        match &stmt.op {
            Op::If { cond, then, otherwise } => {
                let varying = self.varying(&stmt.results);
                let then = self.region(then, &varying)?;
                let otherwise = self.region(otherwise, &varying)?;
                self.push(stmt, Op::If { cond: cond.clone(), then, otherwise })
            }
            Op::Switch { on, arms, default } => {
                let varying = self.varying(&stmt.results);
                let mut blocks = Vec::new();
                for (value, arm) in arms {
                    blocks.push((*value, self.region(arm, &varying)?));
                }
                let default = match default {
                    Some(block) => Some(self.region(block, &varying)?),
                    None => None,
                };
                self.push(stmt, Op::Switch { on: on.clone(), arms: blocks, default })
            }
            Op::For { count, index, carried, body } => {
                let (carried, varying) = self.carried(carried)?;
                let body = self.region(body, &varying)?;
                let (count, index) = (count.clone(), *index);
                self.push(stmt, Op::For { count, index, carried, body })
            }
            Op::While { carried, cond, body } => {
                let (carried, varying) = self.carried(carried)?;
                let body = self.region(body, &varying)?;
                self.push(stmt, Op::While { carried, cond: cond.clone(), body })
            }
            Op::Build { count, index, body } => {
                let varying = self.varying(&stmt.results);
                let body = self.region(body, &varying)?;
                self.push(stmt, Op::Build { count: count.clone(), index: *index, body })
            }
            Op::Reduce { how, count, index, body } => self.reduce(stmt, (how, count, *index, body)),
            _ => self.leaf(stmt),
        }
    }

    fn leaf(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        if let Op::Call(callee, args) = &stmt.op {
            return self.call(stmt, *callee, args);
        }
        self.b.push_stmt(stmt.clone());
        if let Op::AccAdd(acc, ..) | Op::AccAddArray(acc, _) | Op::Push(acc, _) = &stmt.op {
            return if self.varies(acc) { self.put(&stmt.op) } else { Ok(()) };
        }
        if let Op::StackGet(stack, position) = &stmt.op {
            return self.pop(stmt, stack, position);
        }
        match stmt.results[..] {
            [var] if self.varies(&Atom::Var(var)) => {
                let dots = self.value(&stmt.op, var)?;
                self.set(var, dots);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a loop carries, with the tangents of what varies.
    fn carried(&mut self, carried: &[Carried]) -> Result<(Vec<Carried>, Vec<bool>), Unsupported> {
        let vars: Vec<Var> = carried.iter().map(|c| c.param).collect();
        let varying = self.varying(&vars);
        let mut all = carried.to_vec();
        for (c, _) in carried.iter().zip(&varying).filter(|(_, varies)| **varies) {
            let inits = self.dots(&c.init);
            for (param, init) in self.fresh(c.param).into_iter().zip(inits) {
                all.push(Carried { param, init });
            }
        }
        Ok((all, varying))
    }

    /// A sum has the sum of the tangents; of the largest the first is chosen, step by step.
    fn reduce(
        &mut self,
        stmt: &Stmt,
        (how, count, index, body): (&[Reduction], &Atom, Var, &Block),
    ) -> Result<(), Unsupported> {
        let varying = self.varying(&stmt.results);
        let chosen = |(how, varies): (&Reduction, &bool)| *varies && *how != Reduction::Add;
        if self.sets && varying.contains(&true) || how.iter().zip(&varying).any(chosen) {
            return self.choose(stmt, (how, count, index, body));
        }
        let body = self.region(body, &varying)?;
        let tangents = varying.iter().filter(|varies| **varies).count() * self.width;
        let tangents = std::iter::repeat_n(Reduction::Add, tangents);
        let how = how.iter().copied().chain(tangents).collect();
        self.push(stmt, Op::Reduce { how, count: count.clone(), index, body })
    }

    fn choose(
        &mut self,
        stmt: &Stmt,
        (how, count, index, body): (&[Reduction], &Atom, Var, &Block),
    ) -> Result<(), Unsupported> {
        let varying = self.varying(&stmt.results);
        let mut carried = Vec::new();
        for how in how {
            let init = match how {
                // A sum begins with its first term, whose sign it keeps if that is a zero.
                Reduction::Add => {
                    let none =
                        Op::Compare(Comparison::Lt, Scalar::Int, count.clone(), Atom::Int(1));
                    let none = self.one(none);
                    self.one(Op::Select(none, Atom::Real(0.0), Atom::Real(-0.0)))
                }
                Reduction::Max => Atom::Real(f64::NEG_INFINITY),
                Reduction::Min => Atom::Real(f64::INFINITY),
            };
            carried.push(Carried { param: self.b.var(FlatTy::Real, None), init });
        }
        for _ in 0..varying.iter().filter(|varies| **varies).count() * self.width {
            carried.push(Carried { param: self.b.var(FlatTy::Real, None), init: Atom::Real(0.0) });
        }
        self.b.open();
        self.stmts(body)?;
        self.b.set_site(stmt.site);
        let tangents: Vec<Atom> = carried[how.len()..].iter().map(|c| Atom::Var(c.param)).collect();
        let mut tangents = tangents.into_iter();
        let (mut results, mut dots) = (Vec::new(), Vec::new());
        for (((how, varies), before), next) in
            how.iter().zip(&varying).zip(&carried).zip(&body.results)
        {
            let before = Atom::Var(before.param);
            let op = match how {
                Reduction::Add => RealOp::Add,
                Reduction::Max => RealOp::Max,
                Reduction::Min => RealOp::Min,
            };
            let op = Op::Real(op, vec![before.clone(), next.clone()]);
            let after = self.one(op.clone());
            results.push(after.clone());
            if *varies {
                let before: Vec<Atom> = tangents.by_ref().take(self.width).collect();
                let terms = [Some(before), self.known(next)];
                dots.extend(self.combine(&op, &after, &terms));
            }
        }
        results.extend(dots);
        let body = self.b.close(results);
        self.push(stmt, Op::For { count: count.clone(), index, carried, body })
    }

    /// The tangents of the result of an operation on Reals with these tangents of its operands.
    fn combine(&mut self, op: &Op, result: &Atom, dots: &[Option<Vec<Atom>>]) -> Vec<Atom> {
        if self.sets {
            return vec![self.union_of_operands(op, dots)];
        }
        let absent = |dot: &Atom| match dot {
            Atom::Real(x) if *x == 0.0 => None,
            dot => Some(dot.clone()),
        };
        if self.indices.orders.r > 1 {
            let operands: Vec<_> = dots
                .iter()
                .map(|dots| dots.as_ref().map(|dots| dots.iter().map(absent).collect()))
                .collect();
            let indices = self.indices.clone();
            let all = coefficients(&mut self.b, self.module, op, result, &operands, &indices);
            return all.into_iter().map(|c| c.unwrap_or(Atom::Real(0.0))).collect();
        }
        let wanted: Vec<bool> = dots.iter().map(Option::is_some).collect();
        let slopes = slopes(&mut self.b, self.module, op, result, &wanted);
        let mut all = Vec::with_capacity(self.width);
        for i in 0..self.width {
            let dots: Vec<Option<Atom>> =
                dots.iter().map(|dots| dots.as_ref()?.get(i).cloned()).collect();
            let dot = along(&mut self.b, self.module, &slopes, &dots);
            all.push(dot.unwrap_or(Atom::Real(0.0)));
        }
        all
    }

    /// The tangents of what an operation with one result gives, which varies.
    fn value(&mut self, op: &Op, result: Var) -> Result<Vec<Atom>, Unsupported> {
        // What is done to one operand, or to two, is done to each of their tangents.
        macro_rules! each {
            ($x:expr, |$dot:ident| $op:expr) => {{
                let mut all = Vec::new();
                for $dot in self.dots($x) {
                    all.push(self.one($op));
                }
                Ok(all)
            }};
            ($x:expr, $y:expr, |$dot:ident, $other:ident| $op:expr) => {{
                let mut all = Vec::new();
                for ($dot, $other) in self.dots($x).into_iter().zip(self.dots($y)) {
                    all.push(self.one($op));
                }
                Ok(all)
            }};
        }
        match op {
            Op::Real(_, args) => {
                let dots: Vec<Option<Vec<Atom>>> = args.iter().map(|arg| self.known(arg)).collect();
                Ok(self.combine(op, &Atom::Var(result), &dots))
            }
            Op::PowInt(x, _) => {
                let dots = [self.known(x), None];
                Ok(self.combine(op, &Atom::Var(result), &dots))
            }
            Op::Field { object, tag, index } => {
                let shadow = self.dots(object).pop().unwrap_or(object.clone());
                let of = (object, &shadow, &Atom::Var(result));
                let which = (*tag, *index);
                Ok(field(&mut self.b, self.module, self.cache, of, which, self.width))
            }
            Op::New(id, tag, fields) => {
                let mut dots = Vec::new();
                for atom in fields {
                    let ty = self.b.ty(atom);
                    if differentiable(self.module, &ty) {
                        dots.extend(self.dots(atom));
                    }
                }
                let shadow = shadow(self.module, self.cache, *id, self.width);
                Ok(vec![self.one(Op::New(shadow, *tag, dots))])
            }
            Op::StackNew(elems) => {
                let ty = FlatTy::Stack(elems.clone());
                let mut types = tangents(self.module, self.cache, &ty, self.width);
                match types.pop() {
                    Some(FlatTy::Stack(elems)) => Ok(vec![self.one(Op::StackNew(elems))]),
                    Some(_) | None => Ok(Vec::new()),
                }
            }
            Op::Elements(_, atoms) => {
                let all: Vec<Vec<Atom>> = atoms.iter().map(|atom| self.dots(atom)).collect();
                let mut arrays = Vec::new();
                for i in 0..all.first().map_or(0, Vec::len) {
                    let dots: Vec<Atom> = all.iter().map(|dots| dots[i].clone()).collect();
                    let elem = self.b.ty(&dots[0]).elements().map_or(Elem::Real, |(elem, _)| elem);
                    arrays.push(self.one(Op::Elements(elem, dots)));
                }
                Ok(arrays)
            }
            Op::Rows(rows) => {
                let all: Vec<Vec<Atom>> = rows.iter().map(|row| self.dots(row)).collect();
                let mut arrays = Vec::new();
                for i in 0..all.first().map_or(0, Vec::len) {
                    let dots = all.iter().map(|dots| dots[i].clone()).collect();
                    arrays.push(self.one(Op::Rows(dots)));
                }
                Ok(arrays)
            }
            Op::AccNew(sizes) => {
                Ok((0..self.width).map(|_| self.one(Op::AccNew(sizes.clone()))).collect())
            }
            Op::Select(cond, x, y) => each!(x, y, |x, y| Op::Select(cond.clone(), x, y)),
            Op::Update { array, indices, value } => each!(array, value, |array, value| {
                Op::Update { array, indices: indices.clone(), value }
            }),
            Op::Append(x, y) => each!(x, y, |x, y| Op::Append(x, y)),
            Op::Get(array, indices) => each!(array, |array| Op::Get(array, indices.clone())),
            Op::Slice { array, lo, hi } => {
                each!(array, |array| Op::Slice { array, lo: lo.clone(), hi: hi.clone() })
            }
            Op::Reshape(array, sizes) => each!(array, |array| Op::Reshape(array, sizes.clone())),
            Op::AccRead(acc, indices) => each!(acc, |acc| Op::AccRead(acc, indices.clone())),
            Op::AccTake(acc, indices) => each!(acc, |acc| Op::AccTake(acc, indices.clone())),
            Op::AccView(acc, indices) => each!(acc, |acc| Op::AccView(acc, indices.clone())),
            Op::AccSlice { acc, lo, hi } => {
                each!(acc, |acc| Op::AccSlice { acc, lo: lo.clone(), hi: hi.clone() })
            }
            Op::AccReshape(acc, sizes) => each!(acc, |acc| Op::AccReshape(acc, sizes.clone())),
            Op::AccGet(acc) => each!(acc, |acc| Op::AccGet(acc)),
            // Results of other operations do not vary, or are set where they are made.
            _ => Err(Unsupported("a bug of Diffeo: a tangent of what has none".to_string())),
        }
    }

    /// What is put into something mutable that varies.
    fn put(&mut self, op: &Op) -> Result<(), Unsupported> {
        if self.sets && !matches!(op, Op::Push(..)) {
            self.put_set(op);
            return Ok(());
        }
        let mut ops = Vec::new();
        if let Op::AccAdd(acc, indices, value) = op {
            let values = self.known(value).unwrap_or_default();
            for (acc, value) in self.dots(acc).into_iter().zip(values) {
                ops.push(Op::AccAdd(acc, indices.clone(), value));
            }
        } else if let Op::AccAddArray(acc, array) = op {
            let arrays = self.known(array).unwrap_or_default();
            for (acc, array) in self.dots(acc).into_iter().zip(arrays) {
                ops.push(Op::AccAddArray(acc, array));
            }
        } else if let Op::Push(stack, values) = op {
            let mut dots = Vec::new();
            for value in values {
                let ty = self.b.ty(value);
                if differentiable(self.module, &ty) {
                    dots.extend(self.dots(value));
                }
            }
            ops.extend(self.dots(stack).into_iter().map(|stack| Op::Push(stack, dots.clone())));
        }
        for op in ops {
            self.b.emit(self.module, op);
        }
        Ok(())
    }

    /// The tangents of a tuple of a stack.
    fn pop(&mut self, stmt: &Stmt, stack: &Atom, position: &Atom) -> Result<(), Unsupported> {
        if !self.varies(stack) {
            return Ok(());
        }
        let Some(stack) = self.dots(stack).pop() else { return Ok(()) };
        let op = Op::StackGet(stack, position.clone());
        let mut dots = self.b.emit(self.module, op).into_iter();
        for var in &stmt.results {
            let ty = self.b.ty(&Atom::Var(*var));
            let width = tangents(self.module, self.cache, &ty, self.width).len();
            if width > 0 {
                self.set(*var, dots.by_ref().take(width).collect());
            }
        }
        Ok(())
    }

    fn call(&mut self, stmt: &Stmt, callee: FunctionId, args: &[Atom]) -> Result<(), Unsupported> {
        let varying: Vec<bool> = args.iter().map(|arg| self.varies(arg)).collect();
        let mutable = args.iter().zip(&varying).any(|(arg, v)| *v && self.b.ty(arg).is_mutable());
        let results = self.varying(&stmt.results);
        if varying.contains(&true) {
            if let Some(rule) = self.cache.rule(self.module, callee, &varying) {
                return self.rule(stmt, rule, args);
            }
        }
        if !mutable && !results.contains(&true) && !self.ruled(callee, &varying) {
            self.b.push_stmt(stmt.clone());
            return Ok(());
        }
        let key = (callee, varying.clone().into());
        let mut wanted =
            ForwardKey { sets: self.sets, ..ForwardKey::new(key, self.indices.orders) };
        let mut all = args.to_vec();
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| varying[*i]) {
            let dots = self.dots(arg);
            let zero = |dot: &Atom| matches!(dot, Atom::Real(x) if *x == 0.0);
            let mut above = (1..).zip(&dots).filter(|(i, _)| !self.indices.passed(*i, true));
            let line = self.b.ty(arg) == FlatTy::Real && above.all(|(_, dot)| zero(dot));
            wanted.lines[i] = line && self.indices.orders.r > 1;
            let passed = (1..).zip(dots).filter(|(j, _)| self.indices.passed(*j, wanted.lines[i]));
            all.extend(passed.map(|(_, dot)| dot));
        }
        let derived = declare(self.module, self.cache, &wanted);
        if derived.results[..] != results[..] || derived.params[..] != varying[..] {
            return Err(Unsupported("a bug of Diffeo: what varies in a call".to_string()));
        }
        self.push(stmt, Op::Call(derived.function, all))
    }

    /// Whether a rule has a say in what a function gives.
    fn ruled(&mut self, callee: FunctionId, varying: &[bool]) -> bool {
        varying.contains(&true)
            && !self.cache.detached.contains(&callee)
            && activity(self.module, self.cache, callee, varying).ruled
    }
}
