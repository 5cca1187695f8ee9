//! Walks over the parts of statements: operands, regions, binders; copies of blocks with new variables.
//!
//! Everything here visits one level; a caller that wants the regions, too, recurses with [`deep`].

pub use super::ops::{operands, operands_mut};
use super::ops::{row, Group};
use super::{Atom, Block, FlatTy, Function, Op, SiteId, Stmt, Var, VarInfo};
pub(crate) use diffeo_base::deep;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Goes over the regions of an operation that has some. For references of both kinds.
macro_rules! regions {
    ($op:expr, $each:expr) => {
        match $op {
            Op::If { then, otherwise, .. } => {
                $each(then);
                $each(otherwise);
            }
            Op::Switch { arms, default, .. } => {
                for (_, arm) in arms {
                    $each(arm);
                }
                if let Some(block) = default {
                    $each(block);
                }
            }
            Op::While { cond, body, .. } => {
                $each(cond);
                $each(body);
            }
            Op::For { body, .. } | Op::Build { body, .. } | Op::Reduce { body, .. } => $each(body),
            _ => {}
        }
    };
}

/// The regions of an operation, in the order in which they run.
pub fn regions<'a>(op: &'a Op, mut each: impl FnMut(&'a Block)) {
    regions!(op, each);
}

/// The regions of an operation, to be changed.
pub fn regions_mut(op: &mut Op, mut each: impl FnMut(&mut Block)) {
    regions!(op, each);
}

/// Whether the operation has regions.
pub fn has_regions(op: &Op) -> bool {
    row(op).group == Group::Control
}

/// Whether an operation makes arrays of numbers that are never read, so that there is nothing to do but to make room.
pub fn makes_room(op: &Op) -> bool {
    let Op::Build { body, .. } = op else { return false };
    let unused = |atom: &Atom| match atom {
        Atom::Unused(ty) => matches!(ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool),
        Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) => false,
    };
    match (&body.stmts[..], &body.results[..]) {
        ([], results) => results.iter().all(unused),
        ([rows], [Atom::Var(v)]) => rows.results[..] == [*v] && deep(|| makes_room(&rows.op)),
        _ => false,
    }
}

/// The variables that an operation defines for its regions: the index of a loop, what it carries.
pub fn binders(op: &Op, mut each: impl FnMut(Var)) {
    match op {
        Op::For { index, carried, .. } => {
            each(*index);
            carried.iter().for_each(|c| each(c.param));
        }
        Op::While { carried, .. } => carried.iter().for_each(|c| each(c.param)),
        Op::Build { index, .. } | Op::Reduce { index, .. } => each(*index),
        _ => {}
    }
}

/// The variables that an operation defines for its regions, to be changed.
pub fn binders_mut(op: &mut Op, mut each: impl FnMut(&mut Var)) {
    match op {
        Op::For { index, carried, .. } => {
            each(index);
            carried.iter_mut().for_each(|c| each(&mut c.param));
        }
        Op::While { carried, .. } => carried.iter_mut().for_each(|c| each(&mut c.param)),
        Op::Build { index, .. } | Op::Reduce { index, .. } => each(index),
        _ => {}
    }
}

/// All statements of a block and its regions, each before what is within it.
pub fn statements<'a>(block: &'a Block, each: &mut dyn FnMut(&'a Stmt)) {
    for stmt in &block.stmts {
        each(stmt);
        if has_regions(&stmt.op) {
            deep(|| regions(&stmt.op, |region| statements(region, each)));
        }
    }
}

/// The number of statements of a block and its regions; stops counting beyond the limit.
pub fn size(block: &Block, limit: usize) -> usize {
    let mut count = 0;
    for stmt in &block.stmts {
        count += 1;
        if count > limit {
            break;
        }
        if has_regions(&stmt.op) {
            deep(|| regions(&stmt.op, |r| count += size(r, limit.saturating_sub(count))));
        }
    }
    count
}

/// Whether two atoms are the same variable or the same number, bit by bit.
pub(crate) fn same(a: &Atom, b: &Atom) -> bool {
    match (a, b) {
        (Atom::Var(a), Atom::Var(b)) => a == b,
        (Atom::Real(a), Atom::Real(b)) => a.to_bits() == b.to_bits(),
        (Atom::Int(a), Atom::Int(b)) => a == b,
        (Atom::Bool(a), Atom::Bool(b)) => a == b,
        (Atom::Unused(a), Atom::Unused(b)) => a == b,
        (Atom::Var(_) | Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_), _) => false,
    }
}

/// The variable of an atom.
pub(crate) fn var(atom: &Atom) -> Option<Var> {
    match atom {
        Atom::Var(v) => Some(*v),
        Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    }
}

/// A copy of a block whose variables are new.
pub(crate) struct Copier<'a, S> {
    /// The variables of the block's function, where it is another one.
    pub source: Option<&'a [VarInfo]>,
    /// The variables of the function that the copy is for.
    pub vars: &'a mut Vec<VarInfo>,
    /// The atoms that replace variables of the block. Other variables stay.
    pub map: HashMap<Var, Atom>,
    /// The site of a copied statement, by the old one.
    pub site: S,
}

impl<S: FnMut(SiteId) -> SiteId> Copier<'_, S> {
    /// A new variable in the place of another.
    pub fn fresh(&mut self, old: Var) -> Var {
        let info = match self.source {
            Some(source) => source[old.0 as usize].clone(),
            None => self.vars[old.0 as usize].clone(),
        };
        let new = Var(self.vars.len() as u32);
        self.vars.push(info);
        self.map.insert(old, Atom::Var(new));
        new
    }

    /// The atom that replaces an atom.
    pub fn atom(&self, atom: &Atom) -> Atom {
        match atom {
            Atom::Var(v) => self.map.get(v).unwrap_or(atom).clone(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => atom.clone(),
        }
    }

    /// The copy of a block.
    pub fn block(&mut self, block: &Block) -> Block {
        let stmts = block.stmts.iter().map(|stmt| self.stmt(stmt)).collect();
        Block { stmts, results: block.results.iter().map(|a| self.atom(a)).collect() }
    }

    /// The copy of a statement.
    pub fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        // Regions are copied one by one: cloning the operation whole would take time for every level.
        let mut op = shell(&stmt.op);
        operands_mut(&mut op, |a| *a = self.atom(a));
        binders_mut(&mut op, |v| *v = self.fresh(*v));
        if has_regions(&stmt.op) {
            let mut copies = Vec::new();
            deep(|| regions(&stmt.op, |r| copies.push(self.block(r))));
            let mut copies = copies.into_iter();
            regions_mut(&mut op, |r| *r = copies.next().unwrap_or_default());
        }
        let site = (self.site)(stmt.site);
        let results = stmt.results.iter().map(|v| self.fresh(*v)).collect();
        Stmt { results, op, site }
    }
}

/// The operation with empty regions.
pub(crate) fn shell(op: &Op) -> Op {
    match op {
        Op::If { cond, .. } => {
            Op::If { cond: cond.clone(), then: Block::default(), otherwise: Block::default() }
        }
        Op::Switch { on, arms, default } => Op::Switch {
            on: on.clone(),
            arms: arms.iter().map(|(value, _)| (*value, Block::default())).collect(),
            default: default.as_ref().map(|_| Block::default()),
        },
        Op::For { count, index, carried, .. } => Op::For {
            count: count.clone(),
            index: *index,
            carried: carried.clone(),
            body: Block::default(),
        },
        Op::While { carried, .. } => {
            Op::While { carried: carried.clone(), cond: Block::default(), body: Block::default() }
        }
        Op::Build { count, index, .. } => {
            Op::Build { count: count.clone(), index: *index, body: Block::default() }
        }
        Op::Reduce { how, count, index, .. } => Op::Reduce {
            how: how.clone(),
            count: count.clone(),
            index: *index,
            body: Block::default(),
        },
        _ => op.clone(),
    }
}

/// How often each variable is used.
pub(crate) fn uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.vars.len()];
    let mut see = |atom: &Atom| {
        if let Some(v) = var(atom) {
            uses[v.0 as usize] += 1;
        }
    };
    statements(&function.body, &mut |stmt| {
        operands(&stmt.op, &mut see);
        regions(&stmt.op, |region| region.results.iter().for_each(&mut see));
    });
    function.body.results.iter().for_each(&mut see);
    uses
}

/// Replaces variables by atoms.
pub(crate) fn replace(block: &mut Block, replaced: &HashMap<Var, Atom>) {
    let resolve = |a: &mut Atom| {
        while let Some(new) = var(a).and_then(|v| replaced.get(&v)) {
            *a = new.clone();
        }
    };
    for stmt in &mut block.stmts {
        operands_mut(&mut stmt.op, resolve);
        if has_regions(&stmt.op) {
            deep(|| regions_mut(&mut stmt.op, |r| replace(r, replaced)));
        }
    }
    block.results.iter_mut().for_each(resolve);
}

/// What statements do with accumulators.
#[derive(Debug, Default)]
pub struct Accumulators {
    /// Those that they make.
    pub own: BTreeSet<Var>,
    /// Those that they read.
    pub read: BTreeSet<Var>,
    /// Those that they add to or take from.
    pub changed: BTreeSet<Var>,
    /// Whether they do anything else in order: call, print, use stacks.
    pub ordered: bool,
}

impl Accumulators {
    /// Takes note of a statement, without its regions. `root` gives the accumulator that a view is of.
    pub fn see(&mut self, stmt: &Stmt, root: impl Fn(Var) -> Var) {
        let root = |acc: &Atom| match acc {
            Atom::Var(v) => Some(root(*v)),
            _ => None,
        };
        match &stmt.op {
            Op::AccNew(_) => self.own.extend(stmt.results.iter().copied()),
            Op::AccAdd(acc, ..) | Op::AccAddArray(acc, _) => self.changed.extend(root(acc)),
            Op::AccRead(acc, _) | Op::AccGet(acc) => self.read.extend(root(acc)),
            Op::AccTake(acc, _) => {
                self.changed.extend(root(acc));
                self.read.extend(root(acc));
            }
            Op::Call(..)
            | Op::Trace(..)
            | Op::Progress(..)
            | Op::Warn(..)
            | Op::StackNew(_)
            | Op::Push(..)
            | Op::StackLen(_)
            | Op::StackGet(..) => self.ordered = true,
            _ => {}
        }
    }

    /// Those of outside that they read, and those that they change.
    pub fn outside(&self) -> [Vec<Var>; 2] {
        [&self.read, &self.changed].map(|set| set.difference(&self.own).copied().collect())
    }
}
