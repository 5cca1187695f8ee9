//! Horizontal fusion: several sums over the same steps that read the same arrays become one, and so do comprehensions,
//! so that what they read and compute alike is done once. A comprehension over the elements of another one, at the same
//! indices, is joined with it, too.
//!
//! What it needs: `hoist_checks` before, which leaves loops without effects; `cse` after, for what the bodies have in common.
//! Why it is right: a loop without effects gives the same wherever what it refers to is defined. The later one moves up
//! to the earlier one, but past no check, because a check may guard what it reads.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{
    binders, deep, has_regions, operands, regions, regions_mut, same, size, statements, var, Copier,
};
use crate::ir::{Atom, Block, FlatTy, Module, Op, Stmt, Var, VarInfo};
use hashbrown::{HashMap, HashSet};

/// Maximum number of statements of a joined body.
const LARGE: usize = 200;

/// How many earlier loops are tried as partners.
const TRIED: usize = 16;

/// Horizontal fusion: see the head of the file.
pub fn fuse_siblings(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let shapes = Shapes::of_rows(function);
        let vars = std::mem::take(&mut function.vars);
        let mut cx = SiblingFusion { effects: &effects, shapes, vars };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body);
        function.body = body;
        function.vars = cx.vars;
    }
    module
}

struct SiblingFusion<'a> {
    effects: &'a Effects,
    shapes: Shapes,
    vars: Vec<VarInfo>,
}

impl SiblingFusion<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out: Vec<Stmt> = Vec::with_capacity(block.stmts.len());
        // The loops that others can join: where they stand.
        let mut open: Vec<usize> = Vec::new();
        // What is defined behind the first of them.
        let mut later: HashMap<Var, usize> = HashMap::new();
        for mut stmt in std::mem::take(&mut block.stmts) {
            let effect = self.effects.stmt(&stmt, &self.shapes, &self.vars).any();
            if effect {
                open.clear();
                later.clear();
            } else if matches!(stmt.op, Op::Reduce { .. } | Op::Build { .. }) {
                let partner = open
                    .iter()
                    .copied()
                    .find(|at| joins(&out[*at], &stmt, *at, &later, &self.vars));
                if let Some(at) = partner {
                    let results = stmt.results.clone();
                    self.put(&mut out[at], stmt);
                    later.extend(results.into_iter().map(|v| (v, at)));
                    continue;
                }
                if open.len() == TRIED {
                    open.remove(0);
                }
                open.push(out.len());
            }
            if !open.is_empty() {
                later.extend(stmt.results.iter().map(|v| (*v, out.len())));
            }
            if !matches!(stmt.op, Op::Reduce { .. } | Op::Build { .. }) {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
            }
            out.push(stmt);
        }
        for stmt in &mut out {
            if matches!(stmt.op, Op::Reduce { .. } | Op::Build { .. }) {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
            }
        }
        block.stmts = out;
    }

    /// Puts a loop into another one.
    fn put(&mut self, into: &mut Stmt, stmt: Stmt) {
        let (Some(index), Some(own)) = (index_of(&into.op), index_of(&stmt.op)) else { return };
        let map = HashMap::from([(own, Atom::Var(index))]);
        let site = |site| site;
        let mut copier = Copier { source: None, vars: &mut self.vars, map, site };
        match (&mut into.op, &stmt.op) {
            (Op::Reduce { how, body, .. }, Op::Reduce { how: more, body: other, .. }) => {
                let mut copy = copier.block(other);
                body.stmts.append(&mut copy.stmts);
                body.results.append(&mut copy.results);
                how.extend(more.iter().copied());
            }
            (Op::Build { body, .. }, Op::Build { body: other, .. }) => {
                let mut copy = copier.block(other);
                elements_for_reads(&mut copy, &into.results, &body.results);
                body.stmts.append(&mut copy.stmts);
                body.results.append(&mut copy.results);
            }
            _ => return,
        }
        into.results.extend(stmt.results);
    }
}

fn index_of(op: &Op) -> Option<Var> {
    match op {
        Op::Reduce { index, .. } | Op::Build { index, .. } => Some(*index),
        _ => None,
    }
}

/// Whether a loop can be computed together with one that stands at a place before.
fn joins(
    first: &Stmt,
    second: &Stmt,
    at: usize,
    later: &HashMap<Var, usize>,
    vars: &[VarInfo],
) -> bool {
    let (a, b, x, y) = match (&first.op, &second.op) {
        (Op::Reduce { count: a, body: x, .. }, Op::Reduce { count: b, body: y, .. })
        | (Op::Build { count: a, body: x, .. }, Op::Build { count: b, body: y, .. }) => {
            (a, b, x, y)
        }
        _ => return false,
    };
    if !same(a, b) || size(x, LARGE) + size(y, LARGE) > LARGE {
        return false;
    }
    let follows = index_of(&second.op).is_some_and(|index| follows(first, y, index, vars));
    let mut before = true;
    refers(second, &mut HashSet::new(), &mut |v| {
        let own = follows && first.results.contains(&v);
        before &= own || later.get(&v).is_none_or(|place| *place < at);
    });
    before && (follows || arrays(x).iter().any(|v| arrays(y).contains(v)))
}

/// Whether a body reads what a comprehension gives, and only the elements of its own step.
fn follows(first: &Stmt, body: &Block, index: Var, vars: &[VarInfo]) -> bool {
    if !matches!(first.op, Op::Build { .. }) {
        return false;
    }
    let given = |a: &Atom| var(a).is_some_and(|v| first.results.contains(&v));
    let (mut some, mut only) = (false, !body.results.iter().any(given));
    statements(body, &mut |stmt| {
        match &stmt.op {
            Op::Get(array, indices) if given(array) => {
                some = true;
                only &= indices[..] == [Atom::Var(index)]
                    && stmt.results.iter().all(|v| is_number(&vars[v.0 as usize].ty));
            }
            op => operands(op, |a| only &= !given(a)),
        }
        regions(&stmt.op, |r| only &= !r.results.iter().any(given));
    });
    some && only
}

fn is_number(ty: &FlatTy) -> bool {
    matches!(ty, FlatTy::Real | FlatTy::Int | FlatTy::Bool)
}

/// Puts elements in the place of reading them from what a loop makes: `elements` are those of a step.
fn elements_for_reads(block: &mut Block, results: &[Var], elements: &[Atom]) {
    for stmt in &mut block.stmts {
        if let Op::Get(Atom::Var(array), _) = &stmt.op {
            if let Some(i) = results.iter().position(|v| v == array) {
                let element = &elements[i];
                stmt.op = Op::Select(Atom::Bool(true), element.clone(), element.clone());
            }
        }
        deep(|| regions_mut(&mut stmt.op, |r| elements_for_reads(r, results, elements)));
    }
}

/// The arrays of which a block reads elements.
fn arrays(block: &Block) -> HashSet<Var> {
    let mut found = HashSet::new();
    statements(block, &mut |stmt| {
        if let Op::Get(array, _) = &stmt.op {
            found.extend(var(array));
        }
    });
    found
}

/// The variables from outside that a statement refers to.
pub(super) fn refers(stmt: &Stmt, own: &mut HashSet<Var>, each: &mut dyn FnMut(Var)) {
    let mut one = |a: &Atom, own: &HashSet<Var>| {
        if let Some(v) = var(a).filter(|v| !own.contains(v)) {
            each(v);
        }
    };
    operands(&stmt.op, |a| one(a, own));
    if !has_regions(&stmt.op) {
        own.extend(stmt.results.iter().copied());
        return;
    }
    binders(&stmt.op, |v| _ = own.insert(v));
    deep(|| {
        regions(&stmt.op, |r| {
            r.stmts.iter().for_each(|stmt| refers(stmt, own, each));
            r.results.iter().for_each(|a| {
                if let Some(v) = var(a).filter(|v| !own.contains(v)) {
                    each(v);
                }
            });
        });
    });
    own.extend(stmt.results.iter().copied());
}
