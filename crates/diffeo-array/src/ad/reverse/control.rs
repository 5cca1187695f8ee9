//! Branches and loops: their forward and backward parts.
//!
//! The backward part of a branch chooses as the branch did; that of a loop that carries something goes from the last
//! step to the first. What a region adds to the adjoints of Reals defined outside of it is a result of the region, or
//! is carried.

use super::boxes::Bar;
use super::forwards::again;
use super::prepare::{array, chosen, is_extremum};
use super::scope::BackwardScope;
use super::{unsupported, Reverser};
use crate::ad::Unsupported;
use crate::ir::walk::regions;
use crate::ir::{Atom, Block, Carried, FlatTy, Op, Reduction, Stmt, Var};
use diffeo_calculus::prim::{Comparison, IntOp};
use std::collections::BTreeSet;

type StmtsResult = Result<Vec<Stmt>, Unsupported>;

/// A loop of the backward part in the making.
pub(super) struct BackwardLoop {
    pub index: Var,
    /// The index of the program's loop.
    pub source: Option<Var>,
    /// The step of the program that it goes back over.
    pub step: Atom,
    pub lead: Vec<Stmt>,
    /// The statements before the loop.
    pub before: Vec<Stmt>,
    pub carried: Vec<Carried>,
    pub results: Vec<Atom>,
}

/// The adjoints that a region adds to.
#[derive(Clone, Copy)]
enum AdjointTarget {
    /// The adjoint of a variable.
    Whole(Var),
    /// That of a field of a box with this tag, by its place in the shadow.
    Field(Var, u32, usize),
}

impl AdjointTarget {
    fn var(self) -> Var {
        match self {
            AdjointTarget::Whole(v) | AdjointTarget::Field(v, ..) => v,
        }
    }
}

impl<'s> Reverser<'_, 's> {
    /// Adds the backward part of a statement with regions; gives what it is in the forward part.
    pub fn control(&mut self, stmt: &'s Stmt) -> StmtsResult {
        if !self.is_wanted(&stmt.results) && !self.acts(stmt) && !self.is_ruled(stmt) {
            return Ok(vec![stmt.clone()]);
        }
        match &stmt.op {
            Op::If { .. } | Op::Switch { .. } => self.branch(stmt),
            Op::For { count, index, carried, body } => {
                self.repeat(stmt, Some((count, *index)), carried, body)
            }
            Op::While { carried, body, .. } => self.repeat(stmt, None, carried, body),
            Op::Build { count, index, body } => self.comprehension(stmt, count, *index, body),
            op if is_extremum(op) => self.extremum(stmt),
            Op::Reduce { count, index, body, .. } => self.sum(stmt, count, *index, body),
            _ => unsupported("an operation with regions"),
        }
    }

    fn branch(&mut self, stmt: &'s Stmt) -> StmtsResult {
        let mut bars = Vec::new();
        for v in &stmt.results {
            bars.push(self.take_bar(*v));
        }
        let on = match &stmt.op {
            Op::If { cond: on, .. } | Op::Switch { on, .. } => self.primal(on),
            _ => return unsupported("a branch"),
        };
        let mut blocks = Vec::new();
        regions(&stmt.op, |region| blocks.push(region));
        let mut slots: Vec<Var> = Vec::new();
        let mut made = Vec::new();
        for block in &blocks {
            self.open([], block);
            self.top().slots = Some(std::mem::take(&mut slots));
            for ((v, bar), last) in stmt.results.iter().zip(&bars).zip(&block.results) {
                match bar {
                    Some(bar) => self.add_bar(last, bar.clone()),
                    None => self.flow(*v, last),
                }
            }
            let mut stmts = self.block(block, &[])?;
            let (mut scope, code) = self.close();
            slots = scope.slots.take().unwrap_or_default();
            let record = self.record(&scope.stored, stmt.site);
            stmts.extend(record.put);
            made.push((stmts, scope, code, (record.position, record.at, record.get)));
        }
        let scopes: Vec<&BackwardScope<'_>> = made.iter().map(|(_, scope, ..)| scope).collect();
        let outer = self.targets(&scopes);
        let kept = scopes.iter().any(|scope| !scope.stored.is_empty());
        let home = self.scopes.len() - 1;
        let position = kept.then(|| self.forward_var(FlatTy::Int, None, home));
        let read = position.map(|v| self.primal(&Atom::Var(v)));
        let (mut forward, mut back) = (Vec::new(), Vec::new());
        let mut before = Vec::new();
        for target in &outer {
            before.push(match target {
                AdjointTarget::Whole(v) if self.is_array(*v) => self.bag_so_far(*v),
                AdjointTarget::Whole(_) | AdjointTarget::Field(..) => None,
            });
        }
        for ((stmts, mut scope, code, (given, at, mut first)), block) in
            made.into_iter().zip(blocks)
        {
            if let (Some(read), false) = (&read, scope.stored.is_empty()) {
                let op = Op::IntFits(IntOp::Add, vec![read.clone(), Atom::Int(0)]);
                first.insert(0, Stmt { results: vec![at], op, site: stmt.site });
            }
            let mut results = block.results.clone();
            for (i, slot) in slots.iter().enumerate() {
                let held = scope.filled.iter().find(|(filled, _)| *filled == i);
                let unused = || Atom::Unused(self.vars[slot.0 as usize].ty.clone());
                results.push(held.map_or_else(unused, |(_, v)| Atom::Var(*v)));
            }
            results.extend(position.map(|_| given));
            forward.push(Block { stmts, results });
            self.back.open();
            let mut results = Vec::new();
            for (target, before) in outer.iter().zip(&before) {
                results.push(match (target, before) {
                    (AdjointTarget::Field(v, tag, place), _) => {
                        let bar = scope.bars.get(v).and_then(|bar| bar.field(*place));
                        bar.unwrap_or_else(|| self.zero_field(*v, (*tag, *place)))
                    }
                    (AdjointTarget::Whole(v), before) => match (scope.bars.remove(v), before) {
                        (Some(bar), _) => self.value_of(*v, bar),
                        (None, Some(before)) => before.clone(),
                        (None, None) => self.zero_bar(*v),
                    },
                });
            }
            let mut code = code;
            code.extend(self.back.close(Vec::new()).stmts);
            back.push(Block { stmts: scope.with_head(first, code), results });
        }
        let (mut forward, mut back) = (forward.into_iter(), back.into_iter());
        let mut next = || (forward.next().unwrap_or_default(), back.next().unwrap_or_default());
        let (forward, back) = match &stmt.op {
            Op::Switch { on: old, arms, default } => {
                let (mut arms_forward, mut arms_back) = (Vec::new(), Vec::new());
                for (value, _) in arms {
                    let (forward, back) = next();
                    arms_forward.push((*value, forward));
                    arms_back.push((*value, back));
                }
                let (forward, back) = default.as_ref().map(|_| next()).unzip();
                let old = old.clone();
                (
                    Op::Switch { on: old, arms: arms_forward, default: forward },
                    Op::Switch { on, arms: arms_back, default: back },
                )
            }
            op => {
                let old = if let Op::If { cond, .. } = op { cond.clone() } else { on.clone() };
                let ((then, then_back), (otherwise, otherwise_back)) = (next(), next());
                (
                    Op::If { cond: old, then, otherwise },
                    Op::If { cond: on, then: then_back, otherwise: otherwise_back },
                )
            }
        };
        let given = self.back.emit(self.module, back);
        for (target, bar) in outer.into_iter().zip(given) {
            match target {
                // What was there before is in it.
                AdjointTarget::Whole(v) if self.is_array(v) => self.set_bar(v, bar),
                AdjointTarget::Whole(v) => self.add_bar(&Atom::Var(v), bar),
                AdjointTarget::Field(v, tag, place) => self.add_field(v, (tag, place), bar),
            }
        }
        let results = stmt.results.iter().copied().chain(slots).chain(position).collect();
        Ok(vec![Stmt { results, op: forward, site: stmt.site }])
    }

    /// Gives the adjoint of an array that a region chose to the array of the region.
    fn flow(&mut self, result: Var, from: &Atom) {
        let Atom::Var(v) = from else { return };
        if self.has_bar(result)
            || !self.varies(from)
            || !self.is_touched(result)
            || (!self.is_view(*v) && self.plan.root(*v) == self.plan.root(result))
        {
            return;
        }
        let acc = self.acc(result);
        self.add_all(from, acc);
    }

    fn is_view(&self, v: Var) -> bool {
        matches!(self.plan.place(v), super::AccumulatorSource::View(_))
    }

    /// Opens a region of the backward part for the steps of a loop.
    fn open_loop(&mut self, index: Option<Var>, params: &[Var], body: &'s Block) -> BackwardLoop {
        let name = index.and_then(|v| self.vars[v.0 as usize].name.clone());
        let new = self.back.var(FlatTy::Int, name);
        self.open(params.iter().copied().chain(index), body);
        let step = Atom::Var(new);
        if let Some(index) = index {
            self.top().known.insert(index, step.clone());
        }
        BackwardLoop {
            index: new,
            source: index,
            step,
            lead: Vec::new(),
            before: Vec::new(),
            carried: Vec::new(),
            results: Vec::new(),
        }
    }

    /// Has the loop go from the last of so many steps to the first; before anything is added to it.
    fn backwards(&mut self, at: &mut BackwardLoop, last: Atom, index: Option<Var>) {
        self.back.open();
        at.step = self.one(Op::IntFits(IntOp::Sub, vec![last, Atom::Var(at.index)]));
        at.lead = self.back.close(Vec::new()).stmts;
        if let Some(index) = index {
            self.top().known.insert(index, at.step.clone());
        }
    }

    /// A variable of the loop of the backward part.
    fn carry(&mut self, at: &mut BackwardLoop, ty: FlatTy, like: Var, init: Atom) -> Atom {
        let name = self.bar_name(&Atom::Var(like));
        let param = self.back.var(ty, name);
        at.carried.push(Carried { param, init });
        Atom::Var(param)
    }

    /// The additions of branches to adjoints of outside.
    fn targets(&self, branches: &[&BackwardScope<'_>]) -> Vec<AdjointTarget> {
        let all: BTreeSet<Var> = branches.iter().flat_map(|s| s.bars.keys().copied()).collect();
        let mut targets = Vec::new();
        for v in all {
            let bars: Vec<&Bar> = branches.iter().filter_map(|s| s.bars.get(&v)).collect();
            let fields = |bar: &&Bar| matches!(bar, Bar::Fields(..));
            match bars.first() {
                Some(Bar::Fields(tag, parts))
                    if self.has_one_variant(v) && bars.iter().all(fields) =>
                {
                    let added = |i: &usize| bars.iter().any(|bar| bar.field(*i).is_some());
                    let places = (0..parts.len()).filter(added);
                    targets.extend(places.map(|place| AdjointTarget::Field(v, *tag, place)));
                }
                _ => targets.push(AdjointTarget::Whole(v)),
            }
        }
        targets
    }

    /// The adjoints of outside that steps add to: their sums are carried, too.
    fn carry_outer(&mut self, at: &mut BackwardLoop) -> Vec<AdjointTarget> {
        let bars = std::mem::take(&mut self.top().bars);
        let mut outer = Vec::new();
        for (v, bar) in bars {
            if let (Bar::Fields(tag, fields), true) = (&bar, self.has_one_variant(v)) {
                for (place, bar) in fields.iter().enumerate() {
                    let Some(bar) = bar else { continue };
                    outer.push(AdjointTarget::Field(v, *tag, place));
                    self.back.open();
                    let zero = self.zero_field(v, (*tag, place));
                    at.before.extend(self.back.close(Vec::new()).stmts);
                    let ty = self.back.ty(bar);
                    let param = self.carry(at, ty, v, zero);
                    let sum = self.sum_bars(param, bar.clone());
                    at.results.push(sum);
                }
                continue;
            }
            outer.push(AdjointTarget::Whole(v));
            let depth = self.scopes.len() - 2;
            if let (Some(start), Bar::Value(bar)) = (self.top().starts.remove(&v), &bar) {
                let before = self.bag_in(v, depth).map(Bar::Value);
                let init = self.outer_value(at, v, before);
                at.carried.push(Carried { param: start, init });
                at.results.push(bar.clone());
                continue;
            }
            let before = self.scopes[depth].bars.remove(&v);
            let before = self.outer_value(at, v, before);
            let ty = self.bar_ty(v);
            let param = self.carry(at, ty, v, before);
            let sum = match bar {
                Bar::Value(bar) => self.sum_bars(param, bar),
                Bar::Fields(tag, fields) => self.with_fields(param, tag, &fields),
            };
            at.results.push(sum);
        }
        outer
    }

    /// Adds the sums for adjoints of outside that a loop has carried.
    fn put_outer(&mut self, outer: Vec<AdjointTarget>, given: Vec<Atom>) {
        for (target, bar) in outer.into_iter().zip(given) {
            match target {
                // What was there before is in it.
                AdjointTarget::Whole(v) => self.set_bar(v, bar),
                AdjointTarget::Field(v, tag, place) => self.add_field(v, (tag, place), bar),
            }
        }
    }

    /// An adjoint as a value before the loop.
    fn outer_value(&mut self, at: &mut BackwardLoop, v: Var, bar: Option<Bar>) -> Atom {
        self.back.open();
        let value = match bar {
            Some(bar) => self.value_of(v, bar),
            None => self.zero_bar(v),
        };
        at.before.extend(self.back.close(Vec::new()).stmts);
        value
    }

    /// The body of the loop of the backward part.
    fn loop_body(
        &mut self,
        at: &mut BackwardLoop,
        first: Vec<Stmt>,
        scope: BackwardScope<'s>,
        code: Vec<Stmt>,
    ) -> Block {
        let mut lead = std::mem::take(&mut at.lead);
        lead.extend(first);
        Block { stmts: scope.with_head(lead, code), results: std::mem::take(&mut at.results) }
    }

    fn repeat(
        &mut self,
        stmt: &'s Stmt,
        counted: Option<(&Atom, Var)>,
        carried: &'s [Carried],
        body: &'s Block,
    ) -> StmtsResult {
        let home = self.scopes.len() - 1;
        let site = stmt.site;
        // The number of steps: of a conditional loop, counted by the forward part.
        let steps = counted.map_or_else(
            || Atom::Var(self.forward_var(FlatTy::Int, Some("steps".into()), home)),
            |(count, _)| count.clone(),
        );
        let count = self.primal(&steps);
        let last = self.one(Op::IntFits(IntOp::Sub, vec![count.clone(), Atom::Int(1)]));
        let mut bars = Vec::new();
        for (c, v) in carried.iter().zip(&stmt.results) {
            let active = self.varies(&Atom::Var(*v));
            bars.push(match self.vars[v.0 as usize].ty {
                _ if active && self.has_bar(*v) => {
                    Some(self.take_bar(*v).unwrap_or_else(|| self.zero_bar(*v)))
                }
                FlatTy::Array(..) if active && self.plan.is_exchanged(c.param) => {
                    let acc = self.acc(*v);
                    Some(self.read(Op::AccGet(acc)))
                }
                FlatTy::Array(..) if active => {
                    // Steps before may add to it.
                    self.touch(*v);
                    None
                }
                _ => None,
            });
        }
        let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        let index = counted.map(|(_, index)| index);
        let mut at = self.open_loop(index, &params, body);
        self.top().steps = Some(steps.clone());
        self.backwards(&mut at, last, index);
        for ((c, bar), last) in carried.iter().zip(&bars).zip(&body.results) {
            let Some(bar) = bar else { continue };
            let ty = self.bar_ty(c.param);
            let carry = self.carry(&mut at, ty.clone(), c.param, bar.clone());
            match ty {
                FlatTy::Array(..) => self.add_array(last, carry),
                _ => self.add_bar(last, carry),
            }
        }
        for (c, _) in carried.iter().zip(&bars).filter(|(_, bar)| bar.is_some()) {
            if !self.has_bar(c.param) {
                // Its sizes are put into the step, which is made here.
                self.acc(c.param);
            }
        }
        let stmts = self.block(body, &binders(index, &params))?;
        for (c, _) in carried.iter().zip(&bars).filter(|(_, bar)| bar.is_some()) {
            let result = if self.has_bar(c.param) {
                self.take_bar(c.param).unwrap_or_else(|| self.zero_bar(c.param))
            } else {
                let acc = self.acc(c.param);
                self.read(Op::AccGet(acc))
            };
            at.results.push(result);
        }
        let outer = self.carry_outer(&mut at);
        let (mut scope, code) = self.close();
        let free = counted.is_some() && outer.is_empty() && scope.only_adds(&code);
        let again = if free { again(&at, &scope, (carried, body)) } else { None };
        let first = match again.filter(|again| self.computes_again(again, &scope, carried)) {
            Some(again) => self.forwards(&mut at, &again, &mut scope, (carried, body)),
            None => Vec::new(),
        };
        let store = self.store(&scope, counted.map(|(count, _)| count));
        let unpacked = self.unpack(&store, &at.step.clone(), site);
        let first = first.into_iter().chain(unpacked).collect();
        let adjoints = bars.iter().flatten().count();
        let block = self.loop_body(&mut at, first, scope, code);
        at.before.drain(..).for_each(|stmt| self.back.push_stmt(stmt));
        let op = Op::For { count, index: at.index, carried: at.carried, body: block };
        let mut given = self.back.emit(self.module, op);
        let rest = given.split_off(adjoints.min(given.len()));
        self.put_outer(outer, rest);
        let mut given = given.into_iter();
        for ((c, v), bar) in carried.iter().zip(&stmt.results).zip(&bars) {
            match (bar, &self.vars[v.0 as usize].ty) {
                (Some(_), _) => {
                    if let Some(bar) = given.next() {
                        match self.has_bar(*v) {
                            true => self.add_bar(&c.init, bar),
                            false => self.add_array(&c.init, bar),
                        }
                    }
                }
                (None, FlatTy::Array(..)) if self.varies(&Atom::Var(*v)) => {
                    self.flow_first(*v, &c.init)
                }
                (None, _) => {}
            }
        }
        self.repeat_forward(stmt, counted, (stmts, body), &store, &steps)
    }

    /// Gives the adjoint of an array that a loop changes to the array that it began with.
    fn flow_first(&mut self, result: Var, init: &Atom) {
        let Atom::Var(v) = init else { return };
        let root = self.plan.root(result);
        if !self.varies(init) || (!self.is_view(*v) && self.plan.root(*v) == root) {
            return;
        }
        let mut acc = self.acc(result);
        if self.plan.grows(root) {
            let hi = self.size(*v, 0);
            acc = self.one(Op::AccSlice { acc, lo: Atom::Int(0), hi });
        }
        self.add_all(init, acc);
    }

    /// The loop of the forward part.
    fn repeat_forward(
        &mut self,
        stmt: &'s Stmt,
        counted: Option<(&Atom, Var)>,
        (stmts, body): (Vec<Stmt>, &'s Block),
        store: &super::store::Store,
        steps: &Atom,
    ) -> StmtsResult {
        let site = stmt.site;
        let mut body = Block { stmts, results: body.results.clone() };
        let mut results = stmt.results.clone();
        let (mut made, op) = match (&stmt.op, counted) {
            (Op::For { count, index, carried, .. }, _) => {
                let (before, more) = self.fill(store, count, *index, &mut body, site);
                let carried = carried.iter().cloned().chain(more).collect();
                (before, Op::For { count: count.clone(), index: *index, carried, body })
            }
            (Op::While { carried, cond, .. }, _) => {
                let (before, mut more) = self.grow(store, &mut body, site);
                let home = self.scopes.len();
                let (param, next) = (
                    self.forward_var(FlatTy::Int, None, home),
                    self.forward_var(FlatTy::Int, None, home),
                );
                let op = Op::IntFits(IntOp::Add, vec![Atom::Var(param), Atom::Int(1)]);
                body.stmts.push(Stmt { results: vec![next], op, site });
                // The count comes before what is kept.
                body.results.insert(carried.len(), Atom::Var(next));
                more.insert(0, Carried { param, init: Atom::Int(0) });
                if let Atom::Var(steps) = steps {
                    results.push(*steps);
                }
                let carried = carried.iter().cloned().chain(more).collect();
                (before, Op::While { carried, cond: cond.clone(), body })
            }
            _ => return unsupported("a loop"),
        };
        results.extend(&store.arrays);
        made.push(Stmt { results, op, site });
        Ok(made)
    }

    fn comprehension(
        &mut self,
        stmt: &'s Stmt,
        count: &Atom,
        index: Var,
        body: &'s Block,
    ) -> StmtsResult {
        if let Some(chosen) = stmt.results.first().and_then(|v| self.chosen.remove(v)) {
            let (stmts, store) = self.chosen_step(stmt, (count, index, body), chosen)?;
            return Ok(self.comprehension_forward(stmt, (count, index, body), stmts, store));
        }
        let mut accs: Vec<Option<(Var, Atom)>> = Vec::new();
        for v in &stmt.results {
            let bar = if self.has_bar(*v) {
                self.take_elements(*v)
            } else {
                let wanted = self.varies(&Atom::Var(*v)) && self.is_touched(*v);
                wanted.then(|| self.acc(*v))
            };
            accs.push(bar.map(|bar| (*v, bar)));
        }
        let steps = self.primal(count);
        let at = self.open_loop(Some(index), &[], body);
        self.top().tape = false;
        self.top().steps = Some(count.clone());
        for (acc, last) in accs.into_iter().zip(&body.results) {
            let Some((v, acc)) = acc.filter(|_| self.varies(last)) else { continue };
            let step = vec![at.step.clone()];
            match last {
                last if self.has_bar(v) => {
                    let bar = self.one(Op::Get(acc, step));
                    self.add_part(last, bar);
                }
                Atom::Var(row) if matches!(self.vars[row.0 as usize].ty, FlatTy::Array(..)) => {
                    let root = self.plan.root(*row);
                    if !self.is_view(*row)
                        && self.plan.place(root) == super::AccumulatorSource::Row(v, index)
                    {
                        self.touch(*row);
                    } else {
                        let part = self.read(Op::AccView(acc, step));
                        self.add_all(last, part);
                    }
                }
                last => {
                    let bar = self.read(Op::AccRead(acc, step));
                    self.add_bar(last, bar);
                }
            }
        }
        let (stmts, store) = self.steps(stmt, steps, at, index, body)?;
        Ok(self.comprehension_forward(stmt, (count, index, body), stmts, store))
    }

    /// The comprehension of the forward part.
    fn comprehension_forward(
        &mut self,
        stmt: &Stmt,
        (count, index, body): (&Atom, Var, &Block),
        stmts: Vec<Stmt>,
        store: super::store::Store,
    ) -> Vec<Stmt> {
        let mut body = Block { stmts, results: body.results.clone() };
        let (more, values) = self.step_keeps(&store, stmt.site);
        body.stmts.extend(more);
        body.results.extend(values);
        let results = stmt.results.iter().copied().chain(store.arrays).collect();
        let op = Op::Build { count: count.clone(), index, body };
        vec![Stmt { results, op, site: stmt.site }]
    }

    fn sum(&mut self, stmt: &'s Stmt, count: &Atom, index: Var, body: &'s Block) -> StmtsResult {
        let mut bars = Vec::new();
        for v in &stmt.results {
            bars.push(self.take_bar(*v));
        }
        let steps = self.primal(count);
        let at = self.open_loop(Some(index), &[], body);
        self.top().tape = false;
        self.top().steps = Some(count.clone());
        for (bar, last) in bars.into_iter().zip(&body.results) {
            if let Some(bar) = bar {
                self.add_bar(last, bar);
            }
        }
        let (stmts, store) = self.steps(stmt, steps, at, index, body)?;
        let mut body = Block { stmts, results: body.results.clone() };
        if store.arrays.is_empty() {
            let Op::Reduce { how, .. } = &stmt.op else { return unsupported("a reduction") };
            let op = Op::Reduce { how: how.clone(), count: count.clone(), index, body };
            return Ok(vec![Stmt { results: stmt.results.clone(), op, site: stmt.site }]);
        }
        let (more, values) = self.step_keeps(&store, stmt.site);
        body.stmts.extend(more);
        body.results.extend(values);
        Ok(self.keep_terms(stmt, count, index, body, store.arrays))
    }

    /// A sum of the forward part whose steps keep something: first the terms, then their sum.
    fn keep_terms(
        &mut self,
        stmt: &Stmt,
        count: &Atom,
        index: Var,
        body: Block,
        kept: Vec<Var>,
    ) -> Vec<Stmt> {
        let (home, site) = (self.scopes.len() - 1, stmt.site);
        let ty = FlatTy::Array(crate::ir::Elem::Real, 1);
        let terms: Vec<Var> =
            stmt.results.iter().map(|_| self.forward_var(ty.clone(), None, home)).collect();
        let steps = self.forward_var(FlatTy::Int, None, home);
        let op = Op::Int(IntOp::Max, vec![count.clone(), Atom::Int(0)]);
        let mut made = vec![Stmt { results: vec![steps], op, site }];
        let results = terms.iter().copied().chain(kept).collect();
        let op = Op::Build { count: Atom::Var(steps), index, body };
        made.push(Stmt { results, op, site });
        let index = self.forward_var(FlatTy::Int, None, home);
        let mut sum = Block::default();
        for array in &terms {
            let x = self.forward_var(FlatTy::Real, None, home);
            let op = Op::Get(Atom::Var(*array), vec![Atom::Var(index)]);
            sum.stmts.push(Stmt { results: vec![x], op, site });
            sum.results.push(Atom::Var(x));
        }
        let how = vec![Reduction::Add; terms.len()];
        let op = Op::Reduce { how, count: Atom::Var(steps), index, body: sum };
        made.push(Stmt { results: stmt.results.clone(), op, site });
        made
    }

    /// The backward part of steps that do not depend on each other, from the first to the last.
    fn steps(
        &mut self,
        stmt: &'s Stmt,
        count: Atom,
        mut at: BackwardLoop,
        index: Var,
        body: &'s Block,
    ) -> Result<(Vec<Stmt>, super::store::Store), Unsupported> {
        let stmts = self.block(body, &[index])?;
        let bars: Vec<Var> = self.top().bars.keys().copied().collect();
        let real = |v: &Var| self.vars[v.0 as usize].ty == FlatTy::Real;
        let reals = bars.iter().all(real);
        let pure = reals && !self.top().effects;
        let outer = if pure { self.sum_outer(&mut at) } else { self.carry_outer(&mut at) };
        let (scope, code) = self.close();
        let store = self.store(&scope, number_of_steps(&stmt.op));
        let first = self.unpack(&store, &at.step.clone(), stmt.site);
        let block = self.loop_body(&mut at, first, scope, code);
        at.before.drain(..).for_each(|stmt| self.back.push_stmt(stmt));
        let op = if pure {
            let how = vec![Reduction::Add; outer.len()];
            Op::Reduce { how, count, index: at.index, body: block }
        } else {
            Op::For { count, index: at.index, carried: at.carried, body: block }
        };
        let given = self.back.emit(self.module, op);
        match pure {
            true => {
                for (target, bar) in outer.into_iter().zip(given) {
                    self.add_bar(&Atom::Var(target.var()), bar);
                }
            }
            false => self.put_outer(outer, given),
        }
        Ok((stmts, store))
    }

    /// The additions of steps to adjoints of outside, as terms of sums.
    fn sum_outer(&mut self, at: &mut BackwardLoop) -> Vec<AdjointTarget> {
        let bars = std::mem::take(&mut self.top().bars);
        let outer = bars.keys().map(|v| AdjointTarget::Whole(*v)).collect();
        for (v, bar) in bars {
            let term = self.value_of(v, bar);
            at.results.push(term);
        }
        outer
    }

    /// Whether an array is a comprehension of the innermost region that has no other use than one, and an accumulator.
    fn is_made_for(&mut self, array: Var) -> bool {
        let once = self.uses.get(array.0 as usize) == Some(&1) && !self.has_bar(array);
        let definition = self.top().definition(array);
        let alone = |stmt: &Stmt| matches!(stmt.op, Op::Build { .. }) && stmt.results.len() == 1;
        once && definition.is_some_and(alone)
    }

    /// The backward part of a comprehension of which only one element is used: of its step alone.
    fn chosen_step(
        &mut self,
        stmt: &'s Stmt,
        (count, index, body): (&Atom, Var, &'s Block),
        (step, bar): (Atom, Atom),
    ) -> Result<(Vec<Stmt>, super::store::Store), Unsupported> {
        // None, if there are no elements.
        let count = self.primal(count);
        let steps = self.one(Op::IntFits(IntOp::Min, vec![count, Atom::Int(1)]));
        let mut at = self.open_loop(Some(index), &[], body);
        at.step = step.clone();
        self.top().tape = false;
        self.top().known.insert(index, step);
        self.top().steps = Some(Atom::Int(1));
        self.add_bar(&body.results[0], bar);
        self.steps(stmt, steps, at, index, body)
    }

    /// The largest or smallest element of an array.
    fn extremum(&mut self, stmt: &'s Stmt) -> StmtsResult {
        let same = vec![stmt.clone()];
        let (Some(array), Op::Reduce { count, .. }) = (array(&stmt.op), &stmt.op) else {
            return unsupported("a reduction");
        };
        let Some(bar) = stmt.results.first().and_then(|v| self.take_bar(*v)) else {
            return Ok(same);
        };
        let number = Atom::Var(stmt.results[0]);
        let operands = [count.clone(), Atom::Var(array), number];
        let (find, at) = chosen(&mut self.vars, self.module, operands, stmt.site);
        self.homes.resize(self.vars.len(), self.scopes.len() - 1);
        let at = self.primal(&at);
        if self.is_made_for(array) {
            self.touch(array);
            self.chosen.insert(array, (at, bar));
            return Ok(same.into_iter().chain(find).collect());
        }
        let found = Op::Compare(Comparison::Ge, crate::ir::Scalar::Int, at.clone(), Atom::Int(0));
        let cond = self.one(found);
        if self.has_bar(array) {
            let old = match self.bag_so_far(array) {
                Some(old) => old,
                None => self.zero_bar(array),
            };
            self.back.open();
            let made = self.with_part(array, Some(old.clone()), &[at], bar);
            let then = self.back.close(vec![made]);
            let otherwise = self.back.block(|_| vec![old]);
            let made = self.one(Op::If { cond, then, otherwise });
            self.set_bar(array, made);
            return Ok(same.into_iter().chain(find).collect());
        }
        let acc = self.acc(array);
        self.touch(array);
        self.top().effects = true;
        self.back.open();
        self.back.emit(self.module, Op::AccAdd(acc, vec![at], bar));
        let then = self.back.close(Vec::new());
        self.back.emit(self.module, Op::If { cond, then, otherwise: Block::default() });
        Ok(same.into_iter().chain(find).collect())
    }
}

fn binders(index: Option<Var>, params: &[Var]) -> Vec<Var> {
    index.into_iter().chain(params.iter().copied()).collect()
}

/// How many steps a comprehension or a sum has.
fn number_of_steps(op: &Op) -> Option<&Atom> {
    match op {
        Op::Build { count, .. } | Op::Reduce { count, .. } => Some(count),
        _ => None,
    }
}
