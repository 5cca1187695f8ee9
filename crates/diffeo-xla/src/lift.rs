//! The walk: a program of Flat is run on values of lowering time, and writes its text as it goes.
//!
//! The steps of a comprehension, a reduction and a loop without carried variables are computed at once, along a dimension.
//! Where only some steps reach a statement, a *mask* says which: values of the others are never looked at. Branches are
//! both computed and chosen from, or a region where all steps take the same. The *state* is what statements change: the
//! first failed check with its operands, and the accumulators.

use crate::accumulate::Access;
use crate::control::CountedLoop;
use crate::emit::union;
use crate::place::{product, Place};
use crate::products::Product;
use crate::split::Split;
use crate::value::{Affine, Check, Dim, Table, Tensor, TextPart, Val};
use crate::{Precision, Reason, Refusal};
use diffeo_array::ir::{
    self, Atom, Block, Elem, FlatTy, FunctionId, Module, Op, SiteId, Stmt, Stop, Var,
};
use diffeo_array::report::Why;
use diffeo_base::{deep, Name};
use diffeo_calculus::prim::Comparison;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub(crate) type Outcome<T> = Result<T, Box<Refusal>>;

/// The deepest nesting of regions: XLA compiles 100 branches in 2 s, 200 in 25 s, and ends the process by a fault at 250.
const DEEPEST: usize = 100;

/// The most statements: XLA takes minutes for some 100,000.
const LONGEST: usize = 1 << 20;

/// The most statements that are walked, which takes seconds.
const MOST_WALKED: usize = 8 * LONGEST;

/// How many operands of a failed check are kept.
pub(crate) const OPERANDS: usize = 4;

pub(crate) struct Lift<'m> {
    pub module: &'m Module,
    pub precision: Precision,
    pub out: String,
    /// How deep regions lie within each other.
    pub depth: usize,
    /// The statements that were written, those of a function at each call; and those that were walked, more than once
    /// where a loop is tried in several forms.
    pub count: usize,
    pub walked: usize,
    pub names: usize,
    /// By the name of a reshaped tensor, what it was, and its sizes.
    pub reshaped: HashMap<Rc<str>, (Rc<str>, Vec<i64>)>,
    /// Products by their names.
    pub products: HashMap<Rc<str>, Product>,
    /// Tensors without numbers of masked steps.
    pub taken: HashSet<Rc<str>>,
    /// The names of operations by their text, for operations that are there already, and these texts in order.
    pub seen: HashMap<String, Rc<str>>,
    pub texts: Vec<String>,
    /// The least and largest values of Ints that only the run knows, such as the index of a loop.
    pub bounds: HashMap<Rc<str>, (i64, i64)>,
    /// The reads and additions of accumulators so far.
    pub accesses: Vec<Access>,
    /// The sizes of all dimensions.
    pub sizes: Vec<i64>,
    /// The dimensions whose steps are being computed.
    pub open: Vec<Dim>,
    /// The steps that get here, a Bool.
    pub mask: Option<Val>,
    pub state: Vec<Tensor>,
    /// By state, the dimensions that were open where it was made: each of their steps has its own.
    pub scopes: Vec<Vec<Dim>>,
    pub checks: Vec<Check>,
    /// The loop that is being distributed.
    pub split: Option<Split>,
    /// The steps of unrolled loops and the calls that are open: statements by their address, since copies share a site.
    pub context: Vec<usize>,
    /// The open calls, outermost first, with the places of the calls.
    pub calls: Vec<(FunctionId, SiteId)>,
    pub env: Vec<Option<Val>>,
    pub site: SiteId,
}

/// A part of a message that only the run knows: messages are data, and no text is made on a device.
pub(crate) fn unknown_text() -> Val {
    Val::Text(vec![TextPart::Text(Name::new("…"))])
}

/// The type of the elements of a value.
pub(crate) fn elem(ty: &FlatTy) -> Elem {
    match ty {
        FlatTy::Real | FlatTy::Acc(_) => Elem::Real,
        FlatTy::Bool => Elem::Bool,
        FlatTy::Text => Elem::Text,
        FlatTy::Array(elem, _) => *elem,
        FlatTy::Int | FlatTy::Box(_) | FlatTy::Stack(_) => Elem::Int,
    }
}

impl<'m> Lift<'m> {
    pub fn new(module: &'m Module, precision: Precision) -> Lift<'m> {
        Lift {
            module,
            precision,
            out: String::new(),
            depth: 2,
            count: 0,
            walked: 0,
            names: 0,
            reshaped: HashMap::new(),
            products: HashMap::new(),
            taken: HashSet::new(),
            seen: HashMap::new(),
            texts: Vec::new(),
            bounds: HashMap::new(),
            accesses: Vec::new(),
            sizes: Vec::new(),
            open: Vec::new(),
            mask: None,
            state: Vec::new(),
            scopes: Vec::new(),
            checks: Vec::new(),
            split: None,
            context: Vec::new(),
            calls: Vec::new(),
            env: Vec::new(),
            site: SiteId(0),
        }
    }

    pub fn refuse(&self, reason: Reason) -> Box<Refusal> {
        Box::new(Refusal { site: self.site, reason })
    }

    pub fn new_dim(&mut self, size: i64) -> Dim {
        self.sizes.push(size);
        self.sizes.len() as Dim - 1
    }

    /// The results of the entry, the number of the first failed check and its operands.
    pub fn entry(&mut self, arguments: Vec<Val>) -> Outcome<Vec<Tensor>> {
        let none = self.int(-1);
        let failed = self.splat(Elem::Int, "0", &[OPERANDS as i64]);
        self.state = vec![none, failed];
        self.scopes = vec![Vec::new(), Vec::new()];
        let results = self.call(self.module.entry, arguments)?;
        let types = &self.module.functions[self.module.entry.0 as usize].results;
        let mut all = Vec::new();
        for (value, ty) in results.iter().zip(types) {
            match elem(ty) {
                _ if matches!(ty, FlatTy::Box(_)) => return Err(self.refuse(Reason::Boxes)),
                Elem::Text => return Err(self.refuse(Reason::Texts)),
                Elem::Box(_) => return Err(self.refuse(Reason::Boxes)),
                of => {
                    let t = self.tensor(value, of);
                    let rows = self.open.clone();
                    all.push(self.broadcast(&t, &rows));
                }
            }
        }
        all.extend(self.state[..2].iter().cloned());
        Ok(all)
    }

    pub fn call(&mut self, function: FunctionId, arguments: Vec<Val>) -> Outcome<Vec<Val>> {
        let f = &self.module.functions[function.0 as usize];
        if self.calls.iter().any(|(open, _)| *open == function) {
            return Err(self.refuse(Reason::Recursion(f.shown.clone())));
        }
        let mut env = vec![None; f.vars.len()];
        for (param, value) in f.params.iter().zip(arguments) {
            env[param.0 as usize] = Some(value);
        }
        self.calls.push((function, self.site));
        let (outer, site) = (std::mem::replace(&mut self.env, env), self.site);
        let results = self.block(&f.body);
        (self.env, self.site) = (outer, site);
        self.calls.pop();
        results
    }

    /// The type of a variable of the function at hand.
    pub fn elem_of(&self, var: Var) -> Elem {
        let function = self.calls.last().map_or(self.module.entry, |call| call.0);
        elem(&self.module.functions[function.0 as usize].vars[var.0 as usize].ty)
    }

    pub fn value(&self, atom: &Atom) -> Val {
        match atom {
            Atom::Var(var) => self.env[var.0 as usize].clone().unwrap_or(Val::Unused),
            Atom::Real(x) => Val::Real(*x),
            Atom::Int(n) => Val::int(*n),
            Atom::Bool(b) => Val::bool(*b),
            Atom::Unused(FlatTy::Real) => Val::Real(0.0),
            Atom::Unused(_) => Val::Unused,
        }
    }

    pub fn values(&self, atoms: &[Atom]) -> Vec<Val> {
        atoms.iter().map(|atom| self.value(atom)).collect()
    }

    pub fn array(&mut self, atom: &Atom) -> Outcome<Tensor> {
        match self.value(atom) {
            Val::Tensor(t) => Ok(t),
            Val::Table(table) => Ok(self.table(&table)),
            _ => Err(self.refuse(Reason::Size)),
        }
    }

    pub fn known_int(&self, atom: &Atom, reason: Reason) -> Outcome<i64> {
        self.value(atom).known().ok_or_else(|| self.refuse(reason))
    }

    /// The values of a block, on a stack that is large enough for the blocks within.
    pub fn block(&mut self, block: &Block) -> Outcome<Vec<Val>> {
        if self.depth > DEEPEST {
            return Err(self.refuse(Reason::Nested));
        }
        deep(|| block.stmts.iter().try_for_each(|stmt| self.stmt(stmt)))?;
        Ok(self.values(&block.results))
    }

    pub fn define(&mut self, vars: &[Var], values: Vec<Val>) {
        for (var, value) in vars.iter().zip(values) {
            self.env[var.0 as usize] = Some(value);
        }
    }

    pub fn stmt(&mut self, stmt: &Stmt) -> Outcome<()> {
        self.site = stmt.site;
        self.count += 1;
        self.walked += 1;
        if self.count > LONGEST || self.walked > MOST_WALKED {
            return Err(self.refuse(Reason::Long));
        }
        let values = self.op(stmt)?;
        self.define(&stmt.results, values);
        Ok(())
    }

    pub fn op(&mut self, stmt: &Stmt) -> Outcome<Vec<Val>> {
        let one = |value: Val| Ok(vec![value]);
        match &stmt.op {
            Op::Real(op, xs) => {
                let xs = self.values(xs);
                self.real_op(*op, &xs).and_then(one)
            }
            Op::PowInt(x, n) => {
                let (x, n) = (self.value(x), self.value(n));
                one(self.pow_int(&x, &n))
            }
            Op::Int(op, xs) => {
                let xs = self.values(xs);
                self.int_op(*op, &xs, false).and_then(one)
            }
            Op::IntFits(op, xs) => {
                let xs = self.values(xs);
                self.int_op(*op, &xs, true).and_then(one)
            }
            Op::Compare(how, of, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.comparison(*how, *of, &a, &b).and_then(one)
            }
            Op::Not(a) => {
                let a = self.value(a);
                one(self.not(&a))
            }
            Op::And(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                one(self.and(&a, &b))
            }
            Op::Or(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                one(self.or(&a, &b))
            }
            Op::Select(cond, a, b) => {
                let (cond, a, b) = (self.value(cond), self.value(a), self.value(b));
                let elem = self.elem_of(stmt.results[0]);
                self.choose(&cond, &a, &b, elem).and_then(one)
            }
            Op::ToReal(n) => match self.value(n) {
                n if n.known().is_some() => one(Val::Real(n.known().unwrap_or(0) as f64)),
                n => {
                    let n = self.ints(&n);
                    one(Val::Tensor(self.convert(&n, Elem::Real)))
                }
            },
            Op::Round(how, x) => {
                let x = self.value(x);
                self.round_op(*how, &x, false).and_then(one)
            }
            Op::RoundFits(how, x) => {
                let x = self.value(x);
                self.round_op(*how, &x, true).and_then(one)
            }
            Op::IsNan(x) => {
                let x = self.value(x);
                let x = self.tensor(&x, Elem::Real);
                one(Val::Tensor(self.compare("NE", &x, &x)))
            }

            Op::Text(text) => one(Val::Text(vec![TextPart::Text(text.clone())])),
            Op::AppendText(a, b) => match (self.value(a), self.value(b)) {
                (Val::Text(mut a), Val::Text(b)) => {
                    a.extend(b);
                    one(Val::Text(a))
                }
                _ => Err(self.refuse(Reason::Texts)),
            },
            Op::Show(_, x) => one(Val::Text(vec![TextPart::Shown(self.value(x))])),
            Op::TextOp(..) => Err(self.refuse(Reason::Texts)),

            Op::Check(check) => {
                self.checked(check)?;
                Ok(Vec::new())
            }
            Op::Stop(stop) => {
                let (why, text) = match stop {
                    Stop::Fail(message) => (Why::Fail, Some(message)),
                    Stop::Shape { what, difference } => {
                        (Why::Shape(what.clone()), Some(difference))
                    }
                    Stop::Nan => (Why::Nan, None),
                    Stop::Order => (Why::Order, None),
                    // Modules are made without bounds.
                    Stop::Room => (Why::Internal, None),
                };
                let text = text.map(|text| self.message(text)).transpose()?;
                let (pieces, operands) = text.unwrap_or_default();
                self.check_with(&Val::bool(false), why, &operands, pieces)?;
                Ok(vec![Val::Unused; stmt.results.len()])
            }
            Op::Trace(..) | Op::Warn(..) => Err(self.refuse(Reason::Prints)),
            Op::Progress(..) => Ok(Vec::new()),

            Op::Dim(array, axis) => {
                let shape = match self.value(array) {
                    Val::Tensor(t) => t.shape,
                    Val::Table(table) => table.shape,
                    _ => return Err(self.refuse(Reason::Size)),
                };
                one(Val::int(shape.get(*axis as usize).copied().unwrap_or(0)))
            }
            Op::Get(array, indices) => self.get(array, indices).and_then(one),
            Op::Slice { array, lo, hi } => {
                let (lo, hi) = (self.value(lo), self.value(hi));
                let t = self.array(array)?;
                let length = self.difference(&hi, &lo)?;
                let rows = self.new_dim(length);
                let place = self.place(&[lo], &t.shape[..1]);
                let place = self.further(&place, &Affine::index(rows));
                let taken = self.take(&t, &place, &t.shape[1..]);
                let taken = self.broadcast_to_end(&taken, rows);
                let mut shape = vec![length];
                shape.extend(&t.shape[1..]);
                let dims = taken.dims[..taken.dims.len() - 1].to_vec();
                one(Val::Tensor(Tensor { dims, shape, ..taken }))
            }
            Op::Update { array, indices, value } => {
                self.update(array, indices, value).and_then(one)
            }
            Op::Elements(of, elements) => {
                let values = self.values(elements);
                self.elements(*of, &values).and_then(one)
            }
            Op::Rows(rows) => {
                let mut parts = Vec::new();
                for row in rows {
                    let t = self.array(row)?;
                    let mut shape = vec![1];
                    shape.extend(&t.shape);
                    parts.push(self.reshape(&t, t.dims.clone(), shape));
                }
                let mut shape = parts[0].shape.clone();
                shape[0] = parts.len() as i64;
                one(Val::Tensor(self.concatenate(&parts, 0, shape)))
            }
            Op::Empty(Elem::Text | Elem::Box(_), _) => Err(self.refuse(Reason::Boxes)),
            Op::Empty(of, rank) => one(Val::Tensor(self.zeros(*of, &vec![0; *rank as usize]))),
            Op::Append(a, b) => {
                let (a, b) = (self.array(a)?, self.array(b)?);
                if a.shape[0] == 0 || b.shape[0] == 0 {
                    return one(Val::Tensor(if a.shape[0] == 0 { b } else { a }));
                }
                if a.shape[1..] != b.shape[1..] {
                    return Err(self.refuse(Reason::Size));
                }
                let mut shape = a.shape.clone();
                shape[0] += b.shape[0];
                one(Val::Tensor(self.concatenate(&[a, b], 0, shape)))
            }
            Op::Reshape(array, sizes) => {
                let mut shape = Vec::new();
                for size in sizes {
                    shape.push(self.known_int(size, Reason::Size)?);
                }
                let t = self.array(array)?;
                if product(&t.shape) != product(&shape) {
                    return Err(self.refuse(Reason::Size));
                }
                one(Val::Tensor(self.reshape(&t, t.dims.clone(), shape)))
            }
            Op::ArgSort(array) => {
                let t = self.array(array)?;
                one(Val::Tensor(self.arg_sort(&t)))
            }
            Op::New(..) | Op::Tag(_) | Op::Field { .. } => Err(self.refuse(Reason::Boxes)),

            Op::If { cond, then, otherwise } => {
                let cond = self.value(cond);
                self.branch(&cond, &stmt.results, &mut |lift| lift.block(then), &mut |lift| {
                    lift.block(otherwise)
                })
            }
            Op::Switch { on, arms, default } => {
                let on = self.value(on);
                self.switch(&on, arms, default.as_ref(), &stmt.results)
            }
            Op::For { count, index, carried, body } => {
                let count = self.value(count);
                let texts = |c: &ir::Carried| matches!(self.value(&c.init), Val::Text(_));
                if !carried.is_empty() && carried.iter().all(texts) {
                    return Ok(vec![unknown_text(); carried.len()]);
                }
                let of = CountedLoop { index: *index, carried, body };
                match self.at_once(&count, &of) {
                    Some(values) => Ok(values),
                    None => self.for_loop(&count, &of),
                }
            }
            Op::While { carried, cond, body } => self.while_loop(carried, cond, body),
            Op::Build { count, index, body } => {
                let count = self.value(count);
                let count = count.known().ok_or_else(|| self.refuse(Reason::Ragged))?.max(0);
                let known = Val::int(count);
                let (dim, values) = self.steps(&known, *index, |lift| lift.block(body))?;
                let mut all = Vec::new();
                for (value, var) in values.iter().zip(&stmt.results) {
                    all.push(self.built(value, self.elem_of(*var), dim)?);
                }
                Ok(all)
            }
            Op::Reduce { how, count, index, body } => {
                let count = self.value(count);
                self.reduction(how, &count, *index, body)
            }
            Op::Call(function, arguments) => {
                let arguments = self.values(arguments);
                self.context.push(std::ptr::from_ref(stmt) as usize);
                let results = self.call(*function, arguments);
                self.context.pop();
                results
            }
            Op::Constant(constant) => {
                self.call(self.module.constants[constant.0 as usize].init, Vec::new())
            }

            Op::AccNew(_)
            | Op::AccAdd(..)
            | Op::AccAddArray(..)
            | Op::AccRead(..)
            | Op::AccTake(..)
            | Op::AccView(..)
            | Op::AccSlice { .. }
            | Op::AccReshape(..)
            | Op::AccGet(_) => self.accumulator(&stmt.op),
            Op::StackNew(_) | Op::Push(..) | Op::StackLen(_) | Op::StackGet(..) => {
                Err(self.refuse(Reason::Stacks))
            }
        }
    }

    /// The tensor with a dimension that is larger than all of its own, if it has it not yet.
    pub fn broadcast_to_end(&mut self, t: &Tensor, dim: Dim) -> Tensor {
        let dims = union([&t.dims[..], &[dim]].into_iter());
        self.broadcast(t, &dims)
    }

    /// How far it is from one place to another, which has to be known.
    pub fn difference(&mut self, hi: &Val, lo: &Val) -> Outcome<i64> {
        let length = match (hi, lo) {
            (Val::Int(hi), Val::Int(lo)) => hi.plus(-1, lo).map(Val::Int).and_then(|d| d.known()),
            _ => None,
        };
        length.map(|n| n.max(0)).ok_or_else(|| self.refuse(Reason::Size))
    }

    pub fn get(&mut self, array: &Atom, indices: &[Atom]) -> Outcome<Val> {
        let indices = self.values(indices);
        if let Val::Table(table) = self.value(array) {
            if let Some(value) = self.get_known(&table, &indices) {
                return Ok(value);
            }
        }
        let t = self.array(array)?;
        let place = self.place(&indices, &t.shape[..indices.len()]);
        let window = t.shape[indices.len()..].to_vec();
        Ok(Val::Tensor(self.take(&t, &place, &window)))
    }

    /// An element of known numbers at a known place.
    pub fn get_known(&mut self, table: &Table, indices: &[Val]) -> Option<Val> {
        if !table.dims.is_empty() || table.shape.len() != indices.len() {
            return None;
        }
        let tables: Vec<Table> =
            indices.iter().map(|index| self.known_table(index)).collect::<Option<_>>()?;
        let dims = union(tables.iter().map(|table| &table.dims[..]));
        let all: Vec<Vec<i64>> = tables.iter().map(|t| self.widened(t, &dims)).collect();
        let lanes = product(&self.sizes_of(&dims, &[])) as usize;
        let at = |lane: usize| {
            let mut place = 0;
            for (indices, size) in all.iter().zip(&table.shape) {
                let index = indices[lane];
                // Steps that do not get here may be anywhere.
                if !(0..*size).contains(&index) {
                    return 0;
                }
                place = place * size + index;
            }
            table.data[place as usize]
        };
        let data = Rc::new((0..lanes).map(at).collect());
        Some(self.of_table(Table { elem: table.elem, dims, shape: Vec::new(), data }))
    }

    pub fn update(&mut self, array: &Atom, indices: &[Atom], value: &Atom) -> Outcome<Val> {
        let (t, indices, value) = (self.array(array)?, self.values(indices), self.value(value));
        let value = self.tensor(&value, t.elem);
        let uniform = |value: &Val| match value {
            Val::Int(affine) => affine.terms.is_empty(),
            Val::Tensor(t) => t.dims.is_empty(),
            _ => false,
        };
        if product(&t.shape) == 0 {
            // No step changes an empty array: its check failed.
            return Ok(Val::Tensor(t));
        }
        if indices.iter().all(uniform) {
            // In the sizes that it has: XLA changes no reshaped array in its place.
            let dims = union([&t.dims[..], &value.dims].into_iter());
            let (wide, part) = (self.broadcast(&t, &dims), self.broadcast(&value, &dims));
            let mut shape = vec![1; indices.len()];
            shape.extend(&t.shape[indices.len()..]);
            let part = self.reshape(&part, dims, shape);
            let starts: Vec<Tensor> = indices.iter().map(|index| self.ints(index)).collect();
            return Ok(Val::Tensor(self.dynamic_update(&wide, &part, &starts)));
        }
        let window = product(&t.shape[indices.len()..]);
        let rows = product(&t.shape[..indices.len()]);
        let place = self.place(&indices, &t.shape[..indices.len()]);
        // Each step changes its own: all rows are compared with the place.
        let row = self.new_dim(rows);
        let at = match &place {
            Place::Affine(affine) => Val::Int(affine.clone()),
            Place::From(base, affine) => {
                let affine = self.ints(&Val::Int(affine.clone()));
                Val::Tensor(self.each("add", &[base.clone(), affine]))
            }
            Place::Any(t) => Val::Tensor(t.clone()),
        };
        let (at, here) = (self.ints(&at), self.iota(row));
        let is_here = self.compare("EQ", &at, &here);
        let folded = self.reshape(&t, t.dims.clone(), vec![rows * window]);
        let within = self.new_dim(window);
        let mut dims = folded.dims.clone();
        dims.extend([row, within]);
        let folded = self.reshape(&folded, dims, Vec::new());
        let mut dims = value.dims.clone();
        dims.push(within);
        let value = self.reshape(&value, dims, Vec::new());
        let found = self.select(&is_here, &value, &folded);
        let all = union([&found.dims[..], &[row, within]].into_iter());
        let found = self.broadcast(&found, &all);
        let dims = found.dims[..found.dims.len() - 2].to_vec();
        Ok(Val::Tensor(self.reshape(&found, dims, t.shape.clone())))
    }

    pub fn elements(&mut self, of: Elem, values: &[Val]) -> Outcome<Val> {
        if matches!(of, Elem::Text | Elem::Box(_)) {
            return Err(self.refuse(Reason::Boxes));
        }
        let known: Option<Vec<i64>> = values.iter().map(Val::known).collect();
        if let Some(data) = known.filter(|_| of != Elem::Real) {
            let shape = vec![data.len() as i64];
            return Ok(Val::Table(Table { elem: of, dims: Vec::new(), shape, data: data.into() }));
        }
        let mut parts = Vec::new();
        for value in values {
            let t = self.tensor(value, of);
            parts.push(self.reshape(&t, t.dims.clone(), vec![1]));
        }
        Ok(Val::Tensor(self.concatenate(&parts, 0, vec![values.len() as i64])))
    }

    /// The steps of a loop, computed at once: the dimension, and what they give.
    pub fn steps<R>(
        &mut self,
        count: &Val,
        index: Var,
        body: impl FnOnce(&mut Self) -> Outcome<R>,
    ) -> Outcome<(Dim, R)> {
        let Some((_, most)) = self.range(count) else { return Err(self.refuse(Reason::Size)) };
        let most = most.max(0);
        let dim = self.new_dim(most);
        let at = Val::Int(Affine::index(dim));
        let outer = self.mask.clone();
        if count.known().is_none() {
            let reached = self.comparison(Comparison::Lt, ir::Scalar::Int, &at, count)?;
            self.narrow(&reached);
        }
        self.env[index.0 as usize] = Some(at);
        self.open.push(dim);
        let (roots, site) = (self.state.len(), self.site);
        let found = body(self);
        self.open.pop();
        self.mask = outer;
        self.site = site;
        self.state.truncate(roots);
        self.scopes.truncate(roots);
        Ok((dim, found?))
    }

    pub fn narrow(&mut self, by: &Val) {
        self.mask = Some(match self.mask.take() {
            Some(mask) => self.and(&mask, by),
            None => by.clone(),
        });
    }

    /// The array of the values along a dimension.
    pub fn built(&mut self, value: &Val, elem: Elem, dim: Dim) -> Outcome<Val> {
        let size = self.sizes[dim as usize];
        if let Some(table) = self.known_table(value).filter(|_| elem != Elem::Real) {
            let mut dims = union([&table.dims[..], &[dim]].into_iter());
            let data = Rc::new(self.widened(&table, &dims));
            dims.pop();
            let mut shape = vec![size];
            shape.extend(&table.shape);
            return Ok(Val::Table(Table { elem, dims, shape, data }));
        }
        if matches!(elem, Elem::Text | Elem::Box(_)) {
            return Err(self.refuse(Reason::Boxes));
        }
        let t = self.tensor(value, elem);
        let t = self.broadcast_to_end(&t, dim);
        let mut shape = vec![size];
        shape.extend(&t.shape);
        let dims = t.dims[..t.dims.len() - 1].to_vec();
        Ok(Val::Tensor(Tensor { dims, shape, ..t }))
    }
}
