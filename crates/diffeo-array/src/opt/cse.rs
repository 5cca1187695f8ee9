//! Common subexpression elimination: of two equal statements, one of which stands before the other or in a block around
//! it, the second goes.
//!
//! What it needs: nothing. Why it is right: operations have no identity but their values, so equal operations on equal
//! operands give equal results (what prints, and what reads or writes accumulators, is left alone). If the first of two
//! equal checks holds, so does the second; if it fails, the second is never reached. After a check that two sizes are
//! equal, and in a branch on the equality of two Ints, one replaces the other.

use super::effects::Effects;
use super::shapes::Shapes;
use crate::ir::walk::{deep, has_regions, operands, operands_mut, same, var};
use crate::ir::{Atom, Block, Check, Function, Module, Op, Scalar, Stmt, Var};
use diffeo_calculus::prim::{Comparison, IntOp, RealOp};
use hashbrown::HashTable;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// Common subexpression elimination: see the head of the file.
pub fn cse(mut module: Module) -> Module {
    let effects = Effects::of(&module);
    for function in &mut module.functions {
        let shapes = Shapes::of_rows(function);
        let body = std::mem::take(&mut function.body);
        let mut cx = Cse {
            function,
            shapes,
            effects: &effects,
            subst: vec![None; function.vars.len()],
            blocks: Vec::new(),
            known: HashTable::new(),
            defs: vec![None; function.vars.len()],
            scope: CseScope::default(),
        };
        function.body = cx.block(body);
    }
    module
}

struct Cse<'a> {
    function: &'a Function,
    shapes: Shapes,
    effects: &'a Effects,
    subst: Vec<Option<Atom>>,
    /// The statements so far of this block and of those around it, the outermost first.
    blocks: Vec<Vec<Stmt>>,
    /// Those that may stand for later ones, by [`hash`].
    known: HashTable<AvailableStmt>,
    /// The comparisons of Ints for equality that variables are results of.
    defs: Vec<Option<(Atom, Atom)>>,
    scope: CseScope,
}

/// A statement of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AvailableStmt {
    hash: u64,
    /// How many blocks are around its own.
    depth: u32,
    /// Its position there.
    index: u32,
}

/// What ends with the block.
#[derive(Default)]
struct CseScope {
    known: Vec<AvailableStmt>,
    equal: Vec<Var>,
}

impl Cse<'_> {
    fn resolve(&self, atom: &Atom) -> Atom {
        let mut atom = atom;
        while let Atom::Var(v) = atom {
            match &self.subst[v.0 as usize] {
                Some(new) => atom = new,
                None => break,
            }
        }
        atom.clone()
    }

    fn block(&mut self, block: Block) -> Block {
        self.block_where(block, None)
    }

    /// A block where two Ints are equal.
    fn block_where(&mut self, block: Block, equal: Option<(Atom, Atom)>) -> Block {
        let outer = std::mem::take(&mut self.scope);
        if let Some((a, b)) = equal {
            self.equate(&a, &b);
        }
        let depth = self.blocks.len();
        self.blocks.push(Vec::with_capacity(block.stmts.len()));
        for stmt in block.stmts {
            if let Some(stmt) = self.stmt(stmt) {
                self.blocks[depth].push(stmt);
            }
        }
        let stmts = self.blocks.pop().unwrap_or_default();
        let results = block.results.iter().map(|a| self.resolve(a)).collect();
        let inner = std::mem::replace(&mut self.scope, outer);
        for known in inner.known {
            if let Ok(entry) = self.known.find_entry(known.hash, |k| *k == known) {
                entry.remove();
            }
        }
        for v in inner.equal {
            self.subst[v.0 as usize] = None;
        }
        Block { stmts, results }
    }

    /// From here to the end of the block, one of the two stands for both.
    fn equate(&mut self, a: &Atom, b: &Atom) {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let (kept, gone) = match (&a, &b) {
            (a, Atom::Var(v)) => (a, *v),
            (Atom::Var(v), b) => (b, *v),
            (_, _) => return,
        };
        if !same(kept, &Atom::Var(gone)) {
            self.subst[gone.0 as usize] = Some(kept.clone());
            self.scope.equal.push(gone);
        }
    }

    /// What is left of a statement; nothing if an equal one stands before it.
    fn stmt(&mut self, mut stmt: Stmt) -> Option<Stmt> {
        operands_mut(&mut stmt.op, |a| *a = self.resolve(a));
        if has_regions(&stmt.op) {
            stmt.op = deep(|| self.regions(stmt.op));
            return Some(stmt);
        }
        if !self.is_repeatable(&stmt) {
            return Some(stmt);
        }
        let hash = hash(&stmt.op);
        let mut found = self.find(hash, &stmt.op);
        if let (None, Op::IntFits(op, xs)) = (found, &stmt.op) {
            // Where the operation succeeded, it fits. Not the other way round: what fits may have been moved.
            let checked = Op::Int(*op, xs.clone());
            found = self.find(self::hash(&checked), &checked);
        }
        if let Some(AvailableStmt { depth, index, .. }) = found {
            let known = &self.blocks[depth as usize][index as usize];
            for (v, old) in stmt.results.iter().zip(&known.results) {
                self.subst[v.0 as usize] = Some(Atom::Var(*old));
            }
            return None;
        }
        if let (Op::Compare(Comparison::Eq, Scalar::Int, a, b), [v]) = (&stmt.op, &stmt.results[..])
        {
            self.defs[v.0 as usize] = Some((a.clone(), b.clone()));
        }
        let depth = self.blocks.len() - 1;
        let index = self.blocks[depth].len() as u32;
        let known = AvailableStmt { hash, depth: depth as u32, index };
        self.known.insert_unique(hash, known, |known| known.hash);
        self.scope.known.push(known);
        if let Op::Check(Check::Size { expected, found, .. }) = &stmt.op {
            self.equate(expected, found);
        }
        Some(stmt)
    }

    /// A statement in scope with an equal operation.
    fn find(&self, hash: u64, op: &Op) -> Option<AvailableStmt> {
        let is_equal = |known: &AvailableStmt| {
            known.hash == hash
                && equal(&self.blocks[known.depth as usize][known.index as usize].op, op)
        };
        self.known.find(hash, is_equal).copied()
    }

    fn regions(&mut self, op: Op) -> Op {
        match op {
            Op::If { cond, then, otherwise } => {
                let equal = var(&cond).and_then(|c| self.defs[c.0 as usize].clone());
                let then = self.block_where(then, equal);
                Op::If { cond, then, otherwise: self.block(otherwise) }
            }
            Op::Switch { on, arms, default } => Op::Switch {
                arms: arms.into_iter().map(|(value, arm)| (value, self.block(arm))).collect(),
                default: default.map(|block| self.block(block)),
                on,
            },
            Op::For { count, index, carried, body } => {
                Op::For { count, index, carried, body: self.block(body) }
            }
            // What the condition computes is there in the body, too, but not as a variable.
            Op::While { carried, cond, body } => {
                Op::While { carried, cond: self.block(cond), body: self.block(body) }
            }
            Op::Build { count, index, body } => Op::Build { count, index, body: self.block(body) },
            Op::Reduce { how, count, index, body } => {
                Op::Reduce { how, count, index, body: self.block(body) }
            }
            _ => op,
        }
    }

    /// Whether the second of two equal statements is not needed.
    fn is_repeatable(&self, stmt: &Stmt) -> bool {
        let is_new = matches!(
            stmt.op,
            Op::AccNew(_)
                | Op::AccView(..)
                | Op::AccSlice { .. }
                | Op::AccReshape(..)
                | Op::StackNew(_)
                | Op::Stop(_)
        );
        let mutable = |v: &Var| self.function.vars[v.0 as usize].ty.is_mutable();
        !is_new
            && self.effects.own(stmt, &self.shapes, &self.function.vars).repeatable()
            && !stmt.results.iter().any(mutable)
    }
}

/// Whether the order of the two operands does not matter.
fn commutes(op: &Op) -> bool {
    matches!(
        op,
        Op::Real(RealOp::Add | RealOp::Mul, _)
            | Op::Int(IntOp::Add | IntOp::Mul, _)
            | Op::IntFits(IntOp::Add | IntOp::Mul, _)
    )
}

/// Whether two operations without regions are equal, bit by bit, in whatever order their operands are where it does not
/// matter.
fn equal(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Real(f, xs), Op::Real(g, ys)) => f == g && equal_operands(xs, ys, commutes(a)),
        (Op::Int(f, xs), Op::Int(g, ys)) | (Op::IntFits(f, xs), Op::IntFits(g, ys)) => {
            f == g && equal_operands(xs, ys, commutes(a))
        }
        (a, b) => a == b && zeros(a) == zeros(b),
    }
}

fn equal_operands(xs: &[Atom], ys: &[Atom], commute: bool) -> bool {
    let all = xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same(x, y));
    all || matches!((xs, ys), ([a, b], [c, d]) if commute && same(a, d) && same(b, c))
}

/// The zeros among the operands: `==` of operations does not tell 0 from -0.
fn zeros(op: &Op) -> Vec<u64> {
    let mut zeros = Vec::new();
    operands(op, |a| {
        if let Atom::Real(x) = a {
            zeros.extend((*x == 0.0).then_some(x.to_bits()));
        }
    });
    zeros
}

/// A number that is the same for operations that are [`equal`].
fn hash(op: &Op) -> u64 {
    let mut state = Mix(0);
    discriminant(op).hash(&mut state);
    match op {
        Op::Real(op, _) => op.hash(&mut state),
        Op::Int(op, _) | Op::IntFits(op, _) => op.hash(&mut state),
        Op::Dim(_, k) => k.hash(&mut state),
        Op::Field { tag, index, .. } => (tag, index).hash(&mut state),
        Op::Call(f, _) => f.hash(&mut state),
        Op::Constant(c) => c.hash(&mut state),
        Op::Text(text) => text.hash(&mut state),
        Op::Compare(comparison, _, _, _) => comparison.hash(&mut state),
        // The rest is told apart by the operands well enough.
        _ => {}
    }
    let commutes = commutes(op);
    let mut sum = 0u64;
    operands(op, |a| {
        if commutes {
            let mut one = Mix(0);
            bits(a).hash(&mut one);
            sum = sum.wrapping_add(one.0);
        } else {
            bits(a).hash(&mut state);
        }
    });
    state.write_u64(sum);
    state.0
}

/// What atoms are hashed by.
fn bits(atom: &Atom) -> (u8, u64) {
    match atom {
        Atom::Var(v) => (0, u64::from(v.0)),
        Atom::Real(x) => (1, x.to_bits()),
        Atom::Int(n) => (2, *n as u64),
        Atom::Bool(b) => (3, u64::from(*b)),
        Atom::Unused(_) => (4, 0),
    }
}

/// Makes one word of many, quickly.
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, x: u8) {
        self.write_u64(x.into());
    }

    fn write_u64(&mut self, x: u64) {
        // The odd number next to 2^64 divided by the golden ratio (Knuth, *Sorting and Searching*, 6.4).
        self.0 = (self.0.rotate_left(5) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
