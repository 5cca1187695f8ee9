//! The regions of the backward part: the values of the program that they know, the adjoints of Reals, and the
//! accumulators of arrays.
//!
//! When the backward part needs a value of the program, it computes it again where that is cheap, from values of
//! regions around it and from what its own region keeps. Otherwise the region that defines the value keeps it.

use super::boxes::Bar;
use super::{AccumulatorSource, Reverser};
use crate::ir::ops::{row, Group};
use crate::ir::walk::{
    binders, deep, has_regions, operands, operands_mut, regions, regions_mut, statements,
    Accumulators,
};
use crate::ir::{Atom, Block, Check, FlatTy, Op, Stmt, Var};
use crate::opt::shapes::Size;
use diffeo_calculus::prim::IntOp;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Loops with bodies of at most so many statements are computed again.
const SHORT: usize = 40;

/// An open region of the backward part.
#[derive(Default)]
pub(super) struct BackwardScope<'s> {
    /// The variables that the region of the program defines.
    definitions: HashMap<Var, &'s Stmt>,
    /// The sizes that those of the region's arrays were checked to be, by array and dimension.
    checked_sizes: HashMap<(Var, u8), Vec<&'s Atom>>,
    /// The values of the program in the backward part.
    pub known: HashMap<Var, Atom>,
    /// The residuals, each with its variable of the backward part.
    pub stored: Vec<(Var, Var)>,
    /// In a branch: the variables of the forward part that hold what is kept, some of them by the branches before
    /// this one; and what this one has put into which.
    pub slots: Option<Vec<Var>>,
    pub filled: Vec<(usize, Var)>,
    /// Values that are computed again.
    head: Vec<Stmt>,
    /// New accumulators and views.
    prologue: Vec<Stmt>,
    /// The adjoints of Reals so far: all of it for what the region defines, else what it adds.
    pub bars: BTreeMap<Var, Bar>,
    /// How many steps the loop has whose step it is.
    pub steps: Option<Atom>,
    /// Of arrays of outside whose adjoints are bags, those that a step begins with.
    pub starts: HashMap<Var, Var>,
    /// Of arrays whose adjoints are bags: whether what is added in loops goes to an accumulator, and that.
    pub dense: BTreeMap<Var, (Atom, Atom)>,
    /// The accumulators of arrays, and of classes by their roots.
    accs: HashMap<Var, Atom>,
    pub storages: HashMap<Var, Atom>,
    /// Whether it uses accumulators.
    pub effects: bool,
    /// Its steps hand the tape of a recursion on.
    pub tape: bool,
}

impl BackwardScope<'_> {
    /// The statement that defines a variable of the region.
    pub fn definition(&self, v: Var) -> Option<&Stmt> {
        self.definitions.get(&v).copied()
    }

    /// The size of an array in a dimension, if the region has checked that it is a size that is known `before` it.
    pub fn checked_size(&self, v: Var, k: u8, before: impl Fn(&Atom) -> bool) -> Option<Atom> {
        let mut sizes = self.checked_sizes.get(&(v, k))?.iter();
        sizes.find(|size| before(size)).map(|size| Atom::clone(size))
    }

    /// The variables that the region defines.
    pub fn defined(&self) -> impl Iterator<Item = Var> + '_ {
        self.definitions.keys().copied()
    }

    /// Whether all that the region does with accumulators of outside is to add to them.
    pub fn only_adds(&self, code: &[Stmt]) -> bool {
        let mut found = Accumulators::default();
        for stmt in self.head.iter().chain(&self.prologue).chain(code) {
            found.see(stmt, |v| v);
            regions(&stmt.op, |region| statements(region, &mut |stmt| found.see(stmt, |v| v)));
        }
        !found.ordered && found.outside()[0].is_empty()
    }

    /// The statements of the region: first those given, then what it needs, then its code.
    pub fn with_head(self, mut first: Vec<Stmt>, code: Vec<Stmt>) -> Vec<Stmt> {
        first.extend(self.head);
        first.extend(self.prologue);
        first.extend(code);
        first
    }
}

impl<'s> Reverser<'_, 's> {
    /// Opens a region that binds these variables, for the statements of a block of the program.
    pub fn open(&mut self, binders: impl IntoIterator<Item = Var>, block: &'s Block) {
        let depth = self.scopes.len();
        let tape = self.scopes.last().map_or(self.tape.is_some(), |outer| outer.tape);
        let mut scope = BackwardScope { tape, ..BackwardScope::default() };
        for v in binders {
            self.homes[v.0 as usize] = depth;
        }
        for stmt in &block.stmts {
            if let Op::Check(Check::Size { expected, found, .. }) = &stmt.op {
                for (size, other) in [(expected, found), (found, expected)] {
                    let Atom::Var(size) = size else { continue };
                    if let Some(Op::Dim(Atom::Var(v), k)) = scope.definition(*size).map(|s| &s.op) {
                        scope.checked_sizes.entry((*v, *k)).or_default().push(other);
                    }
                }
            }
            for v in &stmt.results {
                self.homes[v.0 as usize] = depth;
                scope.definitions.insert(*v, stmt);
            }
        }
        self.scopes.push(scope);
        self.back.open();
    }

    /// Closes the innermost region; gives its code.
    pub fn close(&mut self) -> (BackwardScope<'s>, Vec<Stmt>) {
        let code = self.back.close(Vec::new()).stmts;
        let scope = self.scopes.pop().unwrap_or_default();
        if let Some(outer) = self.scopes.last_mut() {
            outer.effects |= scope.effects;
        }
        (scope, code)
    }

    /// The innermost region.
    pub fn top(&mut self) -> &mut BackwardScope<'s> {
        if self.scopes.is_empty() {
            self.scopes.push(BackwardScope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Adds an operation with one result.
    pub fn one(&mut self, op: Op) -> Atom {
        self.back.one(self.module, op)
    }

    /// Adds an operation on accumulators without results.
    pub fn effect(&mut self, op: Op) {
        self.top().effects = true;
        self.back.emit(self.module, op);
    }

    // Values of the program

    /// An operand of the program in the backward part.
    pub fn primal(&mut self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(v) => self.primal_var(*v),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => atom.clone(),
        }
    }

    pub fn primals(&mut self, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|atom| self.primal(atom)).collect()
    }

    fn primal_var(&mut self, v: Var) -> Atom {
        let depth = self.homes[v.0 as usize];
        if let Some(known) = self.scopes[depth].known.get(&v) {
            return known.clone();
        }
        let found = self.scopes[depth].definitions.get(&v).copied();
        if let Some(stmt) = found.filter(|stmt| self.recomputes(&stmt.op, depth)) {
            deep(|| self.recompute(stmt, depth));
            if let Some(known) = self.scopes[depth].known.get(&v) {
                return known.clone();
            }
        }
        self.keep(v, depth)
    }

    /// As [`Reverser::primal`], for a statement of the region at this depth. What a step has to keep on a tape is kept by
    /// the branch that needs it: the others put nothing there.
    pub fn primal_at(&mut self, atom: &Atom, depth: usize) -> Atom {
        let Atom::Var(v) = atom else { return atom.clone() };
        let home = self.homes[v.0 as usize];
        let mut known = self.scopes[home..=depth].iter().filter_map(|scope| scope.known.get(v));
        if let Some(known) = known.next() {
            return known.clone();
        }
        let step = &self.scopes[home];
        if step.tape && step.slots.is_none() && home > 0 {
            let made = step.definitions.get(v).is_some_and(|stmt| self.recomputes(&stmt.op, home));
            let branch = (home + 1..=depth).find(|i| self.scopes[*i].slots.is_some());
            if let Some(branch) = branch.filter(|_| !made) {
                return self.keep_in_branch(*v, branch);
            }
        }
        self.primal_var(*v)
    }

    /// Computes a statement of a region again.
    fn recompute(&mut self, stmt: &Stmt, depth: usize) {
        if has_regions(&stmt.op) {
            return self.recompute_loop(stmt, depth);
        }
        let mut op = match &stmt.op {
            // They did not overflow.
            Op::Int(op @ (IntOp::Add | IntOp::Sub | IntOp::Mul | IntOp::Neg), args) => {
                Op::IntFits(*op, args.clone())
            }
            op => op.clone(),
        };
        operands_mut(&mut op, |atom| *atom = self.primal_at(atom, depth));
        let results: Vec<Var> = stmt.results.iter().map(|v| self.copied(*v)).collect();
        for (v, new) in stmt.results.iter().zip(&results) {
            self.scopes[depth].known.insert(*v, Atom::Var(*new));
        }
        self.scopes[depth].head.push(Stmt { results, op, site: stmt.site });
    }

    /// Computes a loop again.
    fn recompute_loop(&mut self, stmt: &Stmt, depth: usize) {
        let map = free(&stmt.op).into_iter().map(|v| (v, self.primal_var(v))).collect();
        let mut copy = self.back.copy(stmt, &self.vars, map);
        regions_mut(&mut copy.op, passed);
        for (v, new) in stmt.results.iter().zip(&copy.results) {
            self.scopes[depth].known.insert(*v, Atom::Var(*new));
        }
        self.scopes[depth].head.push(copy);
    }

    /// A variable of the backward part for one of the program.
    pub fn copied(&mut self, v: Var) -> Var {
        let info = self.vars[v.0 as usize].clone();
        self.back.var(info.ty, info.name)
    }

    /// Has a value kept by the region that defines it.
    fn keep(&mut self, v: Var, depth: usize) -> Atom {
        if self.scopes[depth].slots.is_some() && !self.has_record(depth) {
            return self.keep_in_branch(v, depth);
        }
        let var = self.copied(v);
        self.scopes[depth].known.insert(v, Atom::Var(var));
        self.scopes[depth].stored.push((v, var));
        Atom::Var(var)
    }

    /// A branch puts its residuals on the tape itself: there are only branches around it.
    fn has_record(&self, depth: usize) -> bool {
        let mut scopes = self.scopes[1..=depth].iter();
        scopes.all(|scope| scope.tape && scope.slots.is_some())
    }

    fn keep_in_branch(&mut self, v: Var, depth: usize) -> Atom {
        let info = self.vars[v.0 as usize].clone();
        let scope = &self.scopes[depth];
        let slots = scope.slots.as_deref().unwrap_or_default();
        let free = |i: &usize| {
            self.vars[slots[*i].0 as usize].ty == info.ty
                && !scope.filled.iter().any(|(filled, _)| filled == i)
        };
        let slot = match (0..slots.len()).find(free) {
            Some(slot) => slot,
            None => {
                let slot = slots.len();
                let new = self.forward_var(info.ty, info.name, depth - 1);
                self.scopes[depth].slots.get_or_insert_default().push(new);
                slot
            }
        };
        let held = self.scopes[depth].slots.as_ref().map(|slots| slots[slot]);
        self.scopes[depth].filled.push((slot, v));
        let atom = self.primal(&Atom::Var(held.unwrap_or(v)));
        self.scopes[depth].known.insert(v, atom.clone());
        atom
    }

    /// Whether an operation of a region is cheap, and needs no arrays that cannot be kept.
    fn recomputes(&self, op: &Op, depth: usize) -> bool {
        match op {
            op if is_simple(op) => true,
            Op::Dim(array, _)
            | Op::Get(array, _)
            | Op::Slice { array, .. }
            | Op::Reshape(array, _) => self.obtains(array, depth),
            Op::Field { object, .. } | Op::Tag(object) => self.has_object(object),
            Op::If { then, otherwise, .. } => self.chooses_object([then, otherwise], op),
            // Elsewhere than in loops, to keep what is there costs nothing; in one loop, to keep a number costs little.
            Op::Elements(..) => self.loops(depth) > 0,
            Op::Build { body, .. } => self.loops(depth) > 0 && self.is_cheap(body, op, depth),
            Op::Reduce { body, .. } => self.loops(depth) > 1 && self.is_cheap(body, op, depth),
            _ => false,
        }
    }

    /// The backward part has a box without keeping it: an inherited one, or a field of it.
    fn has_object(&self, object: &Atom) -> bool {
        let Atom::Var(v) = object else { return false };
        let scope = &self.scopes[self.homes[v.0 as usize]];
        let definition = scope.definitions.get(v).map(|stmt| &stmt.op);
        scope.known.contains_key(v)
            || matches!(definition, Some(Op::Field { object, .. }) if deep(|| self.has_object(object)))
    }

    /// A branch of a recursion only chooses between boxes that the backward part has, and numbers.
    fn chooses_object(&self, arms: [&Block; 2], op: &Op) -> bool {
        let cheap =
            |stmt: &Stmt| is_simple(&stmt.op) || matches!(stmt.op, Op::Field { .. } | Op::Tag(_));
        let there = |v: &Var| match self.vars[v.0 as usize].ty {
            FlatTy::Real | FlatTy::Int | FlatTy::Bool => true,
            FlatTy::Box(_) => self.has_object(&Atom::Var(*v)),
            FlatTy::Text | FlatTy::Array(..) | FlatTy::Acc(_) | FlatTy::Stack(_) => false,
        };
        self.tape.is_some()
            && arms.iter().all(|arm| arm.stmts.iter().all(cheap))
            && free(op).iter().all(there)
    }

    /// How many loops there are around what a region defines.
    fn loops(&self, depth: usize) -> usize {
        self.scopes[1..=depth].iter().filter(|scope| scope.slots.is_none()).count()
    }

    /// Whether a loop with this body is short and has no loops in it, and needs no arrays that cannot be had.
    fn is_cheap(&self, body: &Block, op: &Op, depth: usize) -> bool {
        let simple = |stmt: &Stmt| {
            is_simple(&stmt.op)
                || matches!(
                    stmt.op,
                    Op::Check(_) | Op::Dim(..) | Op::Get(..) | Op::Slice { .. } | Op::Reshape(..)
                )
        };
        let number = |v: &Var| match self.vars[v.0 as usize].ty {
            FlatTy::Real | FlatTy::Int | FlatTy::Bool => true,
            FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => false,
        };
        body.stmts.len() <= SHORT
            && body.stmts.iter().all(simple)
            && free(op).iter().all(|v| number(v) || self.obtains(&Atom::Var(*v), depth))
    }

    /// Whether an array can be had in a region without keeping it there.
    pub fn obtains(&self, array: &Atom, depth: usize) -> bool {
        let Atom::Var(v) = array else { return false };
        let home = self.homes[v.0 as usize];
        if self.scopes[home].known.contains_key(v) {
            return true;
        }
        if !self.plan.keeps(*v) {
            return false;
        }
        if home < depth {
            return true;
        }
        match self.scopes[home].definitions.get(v) {
            Some(stmt) => match &stmt.op {
                Op::Get(array, _) | Op::Slice { array, .. } | Op::Reshape(array, _) => {
                    deep(|| self.obtains(array, depth))
                }
                Op::Constant(_) => true,
                Op::Build { .. } | Op::Elements(..) => deep(|| self.recomputes(&stmt.op, depth)),
                _ => false,
            },
            // A parameter of the function.
            None => home == 0,
        }
    }

    /// The size of an array of the program in a dimension.
    pub fn size(&mut self, v: Var, dim: u8) -> Atom {
        let known = self.shapes.extent(v, dim).filter(|extent| extent.always);
        let home = self.homes[v.0 as usize];
        match known.map(|extent| extent.size) {
            Some(Size::Is(n @ Atom::Int(_))) => return n,
            // Known before the region, so that no step keeps it.
            Some(Size::Is(Atom::Var(n))) if self.homes[n.0 as usize] < home => {
                return self.primal(&Atom::Var(n));
            }
            // Often outside of the loop.
            Some(Size::Of(other, k)) if (other, k) != (v, dim) => return self.size(other, k),
            Some(_) | None => {}
        }
        let definition = self.scopes[home].definitions.get(&v).map(|stmt| &stmt.op);
        if let (0, Some(Op::Build { count, .. })) = (dim, definition) {
            return self.primal(count);
        }
        let before = |atom: &Atom| match atom {
            Atom::Var(v) => self.homes[v.0 as usize] < home,
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => true,
        };
        if let Some(size) = self.scopes[home].checked_size(v, dim, before) {
            return self.primal(&size);
        }
        let size = self.size_variable(v, dim);
        self.primal(&Atom::Var(size))
    }

    /// A variable of the forward part for the size of an array in a dimension.
    pub fn size_variable(&mut self, v: Var, dim: u8) -> Var {
        if let Some(size) = self.sizes.get(&(v, dim)) {
            return *size;
        }
        let size = self.forward_var(FlatTy::Int, None, self.homes[v.0 as usize]);
        let site = self.back.site();
        let op = Op::Dim(Atom::Var(v), dim);
        self.inserts.entry(v).or_default().push(Stmt { results: vec![size], op, site });
        self.sizes.insert((v, dim), size);
        size
    }

    /// The sizes of the accumulator of the class of this root.
    fn sizes_of(&mut self, root: Var) -> Vec<Atom> {
        let home = self.homes[root.0 as usize];
        if let Some(Op::AccNew(sizes)) =
            self.scopes[home].definitions.get(&root).map(|stmt| &stmt.op)
        {
            return self.primals(sizes);
        }
        let largest = self.plan.largest(root);
        let rank = match self.vars[root.0 as usize].ty {
            FlatTy::Array(_, rank) => rank,
            _ => 0,
        };
        (0..rank).map(|k| self.size(largest, k)).collect()
    }

    // Adjoints of Reals and boxes

    /// Whether an operand varies.
    pub fn varies(&self, atom: &Atom) -> bool {
        self.activity.varies(atom)
    }

    /// Adds to the adjoint of a variable: that of an array is a bag.
    pub fn add_bar(&mut self, to: &Atom, bar: Atom) {
        let Atom::Var(v) = to else { return };
        if !self.varies(to) {
            return;
        }
        if !self.has_bar(*v) {
            return self.scatter(*v, bar);
        }
        let old = match self.is_array(*v) {
            true => self.bag_so_far(*v),
            false => self.top().bars.remove(v).map(|old| self.value_of(*v, old)),
        };
        let sum = match old {
            Some(old) => self.sum_bars(old, bar),
            None => bar,
        };
        if let Some(name) = self.bar_name(to) {
            self.back.name(&sum, &name);
        }
        self.top().bars.insert(*v, Bar::Value(sum));
    }

    /// The adjoint, as a value, of what the innermost region defines, if there is one.
    pub fn take_bar(&mut self, v: Var) -> Option<Atom> {
        self.flush(v);
        let bar = self.top().bars.remove(&v)?;
        Some(self.value_of(v, bar))
    }

    // Adjoints of arrays

    /// Adds operations to the beginning of a region.
    fn in_prologue(&mut self, depth: usize, op: Op) -> Atom {
        self.back.open();
        let atom = self.one(op);
        let made = self.back.close(Vec::new());
        self.begin_with(depth, made.stmts);
        atom
    }

    /// Adds statements to the beginning of a region.
    pub fn begin_with(&mut self, depth: usize, stmts: Vec<Stmt>) {
        self.scopes[depth].prologue.extend(stmts);
        self.scopes[depth].effects = true;
    }

    /// Whether something may have been added to the adjoint of an array.
    pub fn is_touched(&self, v: Var) -> bool {
        self.touched.contains(&self.plan.root(v))
    }

    pub fn touch(&mut self, v: Var) {
        let root = self.plan.root(v);
        self.touched.insert(root);
    }

    /// The accumulator with the adjoint of an array.
    pub fn acc(&mut self, v: Var) -> Atom {
        let home = self.homes[v.0 as usize];
        if let Some(acc) = self.scopes[home].accs.get(&v) {
            return acc.clone();
        }
        let acc = match self.plan.place(v) {
            AccumulatorSource::View(of) => deep(|| self.view(v, of, home)),
            AccumulatorSource::Own
            | AccumulatorSource::With(_)
            | AccumulatorSource::Param
            | AccumulatorSource::Result(_)
            | AccumulatorSource::Row(..) => {
                let root = self.plan.root(v);
                let storage = self.storage(root);
                if self.plan.grows(root) {
                    let hi = self.size(v, 0);
                    self.in_prologue(home, Op::AccSlice { acc: storage, lo: Atom::Int(0), hi })
                } else {
                    storage
                }
            }
            AccumulatorSource::Bag => {
                self.lost = true;
                Atom::Unused(FlatTy::Acc(1))
            }
        };
        if let Some(name) = self.bar_name(&Atom::Var(v)) {
            self.back.name(&acc, &name);
        }
        self.scopes[home].accs.insert(v, acc.clone());
        acc
    }

    fn view(&mut self, v: Var, of: Var, home: usize) -> Atom {
        let acc = self.acc(of);
        let op = match self.scopes[home].definitions.get(&v).map(|stmt| &stmt.op) {
            Some(Op::Get(_, indices) | Op::AccView(_, indices)) => {
                Op::AccView(acc, self.primals(indices))
            }
            Some(Op::Slice { lo, hi, .. } | Op::AccSlice { lo, hi, .. }) => {
                let (lo, hi) = (self.primal(lo), self.primal(hi));
                Op::AccSlice { acc, lo, hi }
            }
            Some(Op::Reshape(_, sizes) | Op::AccReshape(_, sizes)) => {
                Op::AccReshape(acc, self.primals(sizes))
            }
            _ => Op::AccView(acc, Vec::new()),
        };
        self.in_prologue(home, op)
    }

    /// The accumulator of the class of this root.
    fn storage(&mut self, root: Var) -> Atom {
        let home = self.homes[root.0 as usize];
        if let Some(storage) = self.scopes[home].storages.get(&root) {
            return storage.clone();
        }
        let storage = if let AccumulatorSource::Row(whole, index) = self.plan.place(root) {
            let acc = self.acc(whole);
            let index = self.primal(&Atom::Var(index));
            self.in_prologue(home, Op::AccView(acc, vec![index]))
        } else {
            let sizes = self.sizes_of(root);
            self.in_prologue(home, Op::AccNew(sizes))
        };
        self.scopes[home].storages.insert(root, storage.clone());
        storage
    }

    /// Adds an accumulator to the adjoint of an array.
    pub fn add_all(&mut self, to: &Atom, from: Atom) {
        let sum = self.one(Op::AccGet(from));
        self.add_array(to, sum);
    }

    /// Adds an array to the adjoint of an array.
    pub fn add_array(&mut self, to: &Atom, bar: Atom) {
        let Atom::Var(v) = to else { return };
        if self.varies(to) {
            if self.has_bar(*v) {
                return self.add_elements(*v, bar);
            }
            let acc = self.acc(*v);
            self.effect(Op::AccAddArray(acc, bar));
            self.touch(*v);
        }
    }

    /// Whether statements need a backward part: something was added to the adjoints of these results.
    pub fn is_wanted(&mut self, results: &[Var]) -> bool {
        results.iter().any(|v| {
            self.varies(&Atom::Var(*v)) && (self.top().bars.contains_key(v) || self.is_touched(*v))
        })
    }

    /// The statements of the forward part of a block, whose backward part is added to the innermost region.
    pub fn block(
        &mut self,
        block: &'s Block,
        binders: &[Var],
    ) -> Result<Vec<Stmt>, super::Unsupported> {
        let mut groups = Vec::new();
        for stmt in block.stmts.iter().rev() {
            let site = self.back.set_site(stmt.site);
            let group = if has_regions(&stmt.op) {
                deep(|| self.control(stmt))
            } else {
                self.statement(stmt)
            };
            self.back.set_site(site);
            groups.push(group?);
        }
        self.flush_outer();
        let mut out = Vec::new();
        for v in binders {
            out.extend(self.inserts.remove(v).unwrap_or_default());
        }
        for stmt in groups.into_iter().rev().flatten() {
            let results = stmt.results.clone();
            out.push(stmt);
            for v in results {
                out.extend(self.inserts.remove(&v).unwrap_or_default());
            }
        }
        Ok(out)
    }
}

/// Whether an operation is one of numbers.
pub(super) fn is_simple(op: &Op) -> bool {
    row(op).group == Group::Scalar || matches!(op, Op::Constant(_))
}

/// The variables of outside that an operation uses.
pub(super) fn free(op: &Op) -> BTreeSet<Var> {
    let (mut used, mut own) = (BTreeSet::new(), HashSet::new());
    let mut see = |atom: &Atom| {
        if let Atom::Var(v) = atom {
            used.insert(*v);
        }
    };
    operands(op, &mut see);
    binders(op, |v| {
        own.insert(v);
    });
    regions(op, |region| {
        region.results.iter().for_each(&mut see);
        statements(region, &mut |stmt| {
            operands(&stmt.op, &mut see);
            regions(&stmt.op, |region| region.results.iter().for_each(&mut see));
            own.extend(&stmt.results);
            binders(&stmt.op, |v| {
                own.insert(v);
            });
        });
    });
    used.retain(|v| !own.contains(v));
    used
}

/// Takes out what is known not to happen: it was looked at in the forward part.
fn passed(block: &mut Block) {
    block.stmts.retain(|stmt| !matches!(stmt.op, Op::Check(_)));
    for stmt in &mut block.stmts {
        if let Op::Int(op @ (IntOp::Add | IntOp::Sub | IntOp::Mul | IntOp::Neg), args) = &stmt.op {
            stmt.op = Op::IntFits(*op, args.clone());
        }
    }
}
