//! Privatisation of accumulators: the blocks of a parallel loop each add to accumulators of their own, which are added up
//! in the order of the blocks.
//!
//! Which accumulators from outside a step uses, and how, is found from the operations on them. Where a step uses only
//! the elements at its own index, no other step does: then the accumulator stays as it is. Where steps only add, each
//! block gets a part of one large array of zeros. The number of blocks is bounded: what is made and added up in the end
//! is little beside the loop, and fits into the caches where there are many blocks ([`Lower::private_room`]). It depends on
//! sizes alone, so the sums are the same on any number of threads.

use super::emit::{at, element, ArrayParts, CodeBuilder, PLAIN};
use super::function::Lower;
use super::uses::{regions, statements, var};
use crate::low::{Binary, Expr, LowTy, Operand, Reg, Runtime, Stmt, Unary, DATA};
use diffeo_array::ir::walk::operands;
use diffeo_array::ir::{Atom, Block, FlatTy, Function, Module, Op, Var};
use diffeo_calculus::prim::RealOp;
use hashbrown::HashMap;

/// Maximum number of elements of the private accumulators of more than [`FEW`] blocks: they stay in the caches.
const MANY_ELEMENTS: f64 = (1 << 19) as f64;
/// Maximum number of elements of the private accumulators of [`FEW`] blocks, each large enough to be worth a miss.
const MOST_ELEMENTS: f64 = (1 << 22) as f64;
const FEW: f64 = 16.0;
/// The numbers in a cache line, which accumulators of different blocks do not share.
const LINE: i64 = 8;

/// An accumulator from outside of a loop.
#[derive(Clone, Debug)]
pub(super) struct Accumulator {
    /// The address of its first element.
    pub data: Reg,
    /// Its sizes.
    sizes: Vec<Operand>,
}

/// How steps use an accumulator from outside.
#[derive(Clone, Copy, Debug, Default)]
struct AccumulatorUse {
    read: bool,
    changed: bool,
    /// The dimension in which all uses are at the index of the step; none if there is no such one.
    own: Option<usize>,
    seen: bool,
}

impl AccumulatorUse {
    fn see(&mut self, own: Option<usize>) {
        self.own = own.filter(|at| !self.seen || self.own == Some(*at));
        self.seen = true;
    }
}

/// The room for private accumulators.
pub(super) struct PrivateRoom {
    /// The least work of a block, so that there are not too many.
    pub least: Operand,
    /// The number of elements of each accumulator, rounded up.
    counts: Vec<Operand>,
    /// Their sum.
    elements: Operand,
}

impl Lower<'_, '_> {
    /// The accumulators from outside to which the steps of a loop only add, so that each block has to have its own. None
    /// if a step may read what another one changes.
    pub fn private_accumulators(&self, index: Var, body: &Block) -> Option<Vec<Accumulator>> {
        let uses = self.accumulator_uses(index, body)?;
        let mut private = Vec::new();
        for (i, (v, used)) in uses.iter().enumerate() {
            let mut own = used.own.is_some();
            for (_, (w, other)) in uses.iter().enumerate().filter(|(j, _)| *j != i) {
                let [a, b] = [v, w].map(|v| self.scan.root[v.0 as usize]);
                if (used.changed || other.changed) && !self.lie_apart(a, b) {
                    if used.read || other.read {
                        return None;
                    }
                    own = false;
                }
            }
            if !used.changed || own {
                continue;
            }
            let ArrayParts { data: Operand::Reg(data), sizes, .. } = self.array(&Atom::Var(*v))
            else {
                return None;
            };
            let taken = |other: &Accumulator| other.data == data;
            if used.read || private.iter().any(taken) {
                return None;
            }
            private.push(Accumulator { data, sizes });
        }
        Some(private)
    }

    /// A loop changes accumulators from outside.
    pub fn changes_accumulators(&self, index: Var, body: &Block) -> bool {
        let uses = self.accumulator_uses(index, body);
        uses.is_some_and(|uses| uses.iter().any(|(_, used)| used.changed))
    }

    /// The uses of accumulators from outside, in order. None if some are not known.
    fn accumulator_uses(&self, index: Var, body: &Block) -> Option<Vec<(Var, AccumulatorUse)>> {
        let number = self.scan.number(body);
        let is_acc = |v: Var| matches!(self.ty(v), FlatTy::Acc(_));
        let mut found: Vec<(Var, AccumulatorUse)> = Vec::new();
        // Views that the steps make: of which accumulator, and at the index in which of its dimensions.
        let mut views: HashMap<Var, (Var, Option<usize>)> = HashMap::new();
        let mut known = true;
        statements(body, &mut |stmt| {
            let mut use_of = |acc: &Atom, at: &[Atom], read, changed| {
                let Some(v) = var(acc) else { return };
                let (outer, own) = match views.get(&v) {
                    Some(view) => *view,
                    None if self.scan.home[v.0 as usize] < number => {
                        (v, at.iter().position(|i| *i == Atom::Var(index)))
                    }
                    None => return,
                };
                if let (Op::AccView(..) | Op::AccSlice { .. } | Op::AccReshape(..), [view]) =
                    (&stmt.op, &stmt.results[..])
                {
                    views.insert(*view, (outer, own));
                    return;
                }
                if !found.iter().any(|(w, _)| *w == outer) {
                    found.push((outer, AccumulatorUse::default()));
                }
                for (_, used) in found.iter_mut().filter(|(w, _)| *w == outer) {
                    used.see(own);
                    used.read |= read;
                    used.changed |= changed;
                }
            };
            match &stmt.op {
                Op::AccAdd(acc, at, _) => use_of(acc, at, false, true),
                Op::AccAddArray(acc, _) => use_of(acc, &[], false, true),
                Op::AccTake(acc, at) => use_of(acc, at, true, true),
                Op::AccRead(acc, at) => use_of(acc, at, true, false),
                Op::AccGet(acc) => use_of(acc, &[], true, false),
                Op::AccView(acc, at) => use_of(acc, at, false, false),
                Op::AccSlice { acc, .. } | Op::AccReshape(acc, _) => {
                    use_of(acc, &[], false, false);
                }
                Op::Call(callee, args) => {
                    let adds = &self.cx.effects.adds[callee.0 as usize];
                    for (arg, adds) in args.iter().zip(adds) {
                        if matches!(self.atom_ty(arg), FlatTy::Acc(_)) {
                            use_of(arg, &[], !adds, true);
                        }
                    }
                }
                op => {
                    // Loops and branches that take or give accumulators from outside.
                    let mut pass = |atom: &Atom| {
                        let Some(v) = var(atom).filter(|v| is_acc(*v)) else { return };
                        known &= self.scan.home[v.0 as usize] >= number && !views.contains_key(&v);
                    };
                    operands(op, &mut pass);
                    regions(op, |region| region.results.iter().for_each(&mut pass));
                }
            }
        });
        known.then_some(found)
    }

    /// The room for the private accumulators of a loop with so much work: of how many elements, and in how many blocks at
    /// most.
    pub fn private_room(&mut self, private: &[Accumulator], total: Operand) -> PrivateRoom {
        let mut elements = Operand::Int(0);
        let mut counts = Vec::new();
        for acc in private {
            let count = self.product(&acc.sizes);
            let count = self.add(count, Operand::Int(2 * LINE - 1));
            let count = self.set(LowTy::Int, Expr::Binary(Binary::And, count, Operand::Int(-LINE)));
            elements = self.add(elements, count);
            counts.push(count);
        }
        let splitting = self.cx.options.splitting;
        let real = |this: &mut Self, expr| this.set(LowTy::Real, expr);
        let size = real(self, Expr::Unary(Unary::ToReal, elements));
        let over = |this: &mut Self, a, b| real(this, Expr::Binary(Binary::Div, a, b));
        let many = over(self, Operand::Real(MANY_ELEMENTS), size);
        let few = over(self, Operand::Real(MOST_ELEMENTS), size);
        let few = self.extremum(RealOp::Min, few, Operand::Real(FEW));
        let mut most = real(self, Expr::Math(RealOp::Max, many, few));
        if splitting.private > 0.0 {
            let all = real(self, Expr::Binary(Binary::Mul, size, Operand::Real(splitting.private)));
            let paid = over(self, total, all);
            most = real(self, Expr::Math(RealOp::Min, most, paid));
        }
        let least = over(self, total, most);
        let least = self.extremum(RealOp::Max, least, Operand::Real(splitting.block));
        PrivateRoom { least, counts, elements }
    }

    /// Makes the private accumulators of all blocks. Gives what the function of the steps takes: what it reads, and where the
    /// accumulators of a block are; and the block of memory and the number of blocks.
    pub fn open_private(
        &mut self,
        (private, read): (&[Accumulator], &[Operand]),
        room: &PrivateRoom,
        [count, per_block]: [Operand; 2],
    ) -> (Vec<Operand>, [Operand; 2]) {
        let more = self.sub(per_block, Operand::Int(1));
        let more = self.add(count, more);
        let blocks = self.set(LowTy::Int, Expr::Binary(Binary::IntDiv, more, per_block));
        let bytes = self.total(&[blocks, room.elements, Operand::Int(8)]);
        let made = self.fresh(Runtime::Zeros, vec![Operand::Int(PLAIN), bytes]);
        self.effects += 1;
        let mut first = self.offset(at(made, DATA));
        let mut read = read.to_vec();
        for (acc, count) in private.iter().zip(&room.counts) {
            for operand in read.iter_mut().filter(|operand| **operand == Operand::Reg(acc.data)) {
                *operand = first;
            }
            first = self.offset(element(first, *count, 8));
        }
        read.extend([room.elements, per_block]);
        (read, [made, blocks])
    }

    /// Adds up the private accumulators, in the order of the blocks.
    pub fn close_private(
        &mut self,
        private: &[Accumulator],
        room: &PrivateRoom,
        [made, blocks]: [Operand; 2],
    ) {
        let mut first = self.offset(at(made, DATA));
        for (acc, padded) in private.iter().zip(&room.counts) {
            let count = self.product(&acc.sizes);
            let to = Operand::Reg(acc.data);
            self.each(blocks, false, |code, block| {
                let before = code.mul(block, room.elements);
                let from = code.offset(element(first, before, 8));
                code.each(count, true, |code, i| {
                    let value = code.load(LowTy::Real, element(from, i, 8));
                    let old = code.load(LowTy::Real, element(to, i, 8));
                    let sum = code.set(LowTy::Real, Expr::Binary(Binary::Add, old, value));
                    code.store(LowTy::Real, element(to, i, 8), sum);
                });
            });
            first = self.offset(element(first, *padded, 8));
        }
        self.release(made);
    }
}

/// By function and parameter: whether it is an accumulator that the function, and what it calls, only adds to.
pub(super) fn adds(module: &Module) -> Vec<Vec<bool>> {
    let is_acc = |f: &Function, v: Var| matches!(f.vars[v.0 as usize].ty, FlatTy::Acc(_));
    let functions = || module.functions.iter();
    let mut adds: Vec<Vec<bool>> =
        functions().map(|f| f.params.iter().map(|p| is_acc(f, *p)).collect()).collect();
    // Greatest fixed point: calls are taken to add until something else is found.
    loop {
        let mut changed = false;
        for (i, f) in functions().enumerate() {
            let mut origins: HashMap<Var, usize> =
                f.params.iter().enumerate().map(|(k, v)| (*v, k)).collect();
            let mut others = Vec::new();
            statements(&f.body, &mut |stmt| {
                let origin = |atom: &Atom| origins.get(&var(atom)?).copied();
                match &stmt.op {
                    Op::AccAdd(..) | Op::AccAddArray(..) => {}
                    Op::AccView(acc, _) | Op::AccSlice { acc, .. } | Op::AccReshape(acc, _) => {
                        if let (Some(k), [view]) = (origin(acc), &stmt.results[..]) {
                            origins.insert(*view, k);
                        }
                    }
                    Op::Call(callee, args) => {
                        let adds = &adds[callee.0 as usize];
                        let rest = args.iter().zip(adds).filter(|(_, adds)| !**adds);
                        others.extend(rest.filter_map(|(arg, _)| origin(arg)));
                    }
                    op => {
                        operands(op, |atom| others.extend(origin(atom)));
                        regions(op, |r| others.extend(r.results.iter().filter_map(origin)));
                    }
                }
            });
            others.extend(f.body.results.iter().filter_map(|atom| origins.get(&var(atom)?)));
            for k in others {
                changed |= std::mem::replace(&mut adds[i][k], false);
            }
        }
        if !changed {
            return adds;
        }
    }
}

/// Has a function of steps find the accumulators of its block, which are its parameters at these places: so many numbers
/// lie between those of two blocks, each of `per_block` steps.
pub(super) fn own_part(
    code: &mut CodeBuilder,
    params: &mut [Reg],
    places: impl Iterator<Item = usize>,
    [stride, per_block, from]: [Operand; 3],
) {
    let block = code.set(LowTy::Int, Expr::Binary(Binary::IntDiv, from, per_block));
    let before = code.mul(block, stride);
    for place in places {
        let own = std::mem::replace(&mut params[place], code.reg(LowTy::Ptr));
        let address = element(Operand::Reg(params[place]), before, 8);
        code.push(Stmt::Set(own, Expr::Offset(address)));
    }
}
