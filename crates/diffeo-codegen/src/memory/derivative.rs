//! Accumulators and stacks.

use super::block::Given;
use super::emit::{at, counted, elem_ty, element, ArrayParts, PLAIN};
use super::function::Lower;
use super::uses::statements;
use crate::low::{
    Address, Binary, Compare, Expr, LowTy, Operand, Raise, Runtime, DATA, STACK_DATA, STACK_LENGTH,
    STACK_ROOM,
};
use diffeo_array::ir::walk::{has_regions, Accumulators};
use diffeo_array::ir::{Atom, Block, Elem, FlatTy, Op, Stmt, Var};

impl Lower<'_, '_> {
    /// If a step uses accumulators at its own index only, so that no other step uses the same elements: how often it
    /// does. Accumulators that were made in this function lie apart from all others.
    pub fn adds_apart(&self, index: Var, body: &Block) -> Option<u64> {
        let mut places: Vec<(Var, &[Atom], bool)> = Vec::new();
        for stmt in &body.stmts {
            match &stmt.op {
                Op::AccAdd(Atom::Var(acc), at, _) | Op::AccTake(Atom::Var(acc), at) => {
                    places.push((*acc, at, true));
                }
                Op::AccRead(Atom::Var(acc), at) => places.push((*acc, at, false)),
                Op::AccNew(_)
                | Op::AccAdd(..)
                | Op::AccAddArray(..)
                | Op::AccRead(..)
                | Op::AccTake(..)
                | Op::AccView(..)
                | Op::AccSlice { .. }
                | Op::AccReshape(..)
                | Op::AccGet(_)
                | Op::Call(..) => return None,
                op if has_regions(op) => return None,
                _ => {}
            }
        }
        let root = |v: Var| self.scan.root[v.0 as usize];
        let apart = |a: &(Var, &[Atom], bool), b: &(Var, &[Atom], bool)| {
            (a.0 == b.0 && a.1 == b.1) || self.lie_apart(root(a.0), root(b.0))
        };
        let at_index = |at: &[Atom]| at.contains(&Atom::Var(index));
        for (i, a) in places.iter().enumerate().filter(|(_, place)| place.2) {
            let others = places.iter().enumerate().filter(|(j, _)| *j != i);
            if !at_index(a.1) || !others.into_iter().all(|(_, b)| apart(a, b)) {
                return None;
            }
        }
        Some(places.len() as u64).filter(|n| *n > 0)
    }

    /// Whether all that the steps of a loop do to what was there before is to add to accumulators, which no step reads:
    /// sums of arrays.
    pub fn only_adds(&self, body: &Block) -> bool {
        let mut found = Accumulators::default();
        statements(body, &mut |stmt| found.see(stmt, |v| self.scan.root[v.0 as usize]));
        let [read, added] = found.outside();
        !found.ordered && read.iter().all(|a| added.iter().all(|b| self.lie_apart(*a, *b)))
    }

    /// Whether two accumulators certainly have no element in common.
    pub fn lie_apart(&self, a: Var, b: Var) -> bool {
        let is_new = |root: Var| {
            let def = self.scan.def[root.0 as usize];
            matches!(def, Some((Stmt { op: Op::AccNew(_), .. }, _)))
        };
        let known = |v: Var| is_new(v) || self.source.params.contains(&v);
        a != b && known(a) && known(b) && (is_new(a) || is_new(b))
    }

    /// A new accumulator.
    pub fn acc_new(&mut self, sizes: &[Atom]) -> Vec<Operand> {
        let sizes = self.word_list(sizes);
        let mut factors = sizes.clone();
        factors.push(Operand::Int(8));
        self.effects += 1;
        let bytes = self.total(&factors);
        // An array that each step makes for itself may be made once.
        let how = if self.in_loop { Runtime::Array } else { Runtime::Zeros };
        let block = self.fresh(how, vec![Operand::Int(PLAIN), bytes]);
        let data = self.offset(at(block, DATA));
        if self.in_loop {
            let count = self.product(&sizes);
            self.each(count, true, |code, i| {
                code.store(LowTy::Real, element(data, i, 8), Operand::Real(0.0));
            });
        }
        ArrayParts { block, data, sizes }.words()
    }

    fn acc_place(&mut self, acc: &Atom, indices: &[Atom]) -> Address {
        let indices = self.word_list(indices);
        let acc = self.array(acc);
        // Others may write there.
        self.effects += 1;
        self.place(&acc, &indices, 8)
    }

    /// Adds to an element.
    pub fn acc_add(&mut self, acc: &Atom, indices: &[Atom], value: &Atom) {
        let address = self.acc_place(acc, indices);
        let value = self.word(value);
        let old = self.load(LowTy::Real, address);
        let sum = self.set(LowTy::Real, Expr::Binary(Binary::Add, old, value));
        self.store(LowTy::Real, address, sum);
    }

    /// Adds to all elements.
    pub fn acc_add_array(&mut self, acc: &Atom, array: &Atom) {
        let FlatTy::Array(..) = self.atom_ty(array) else {
            return self.acc_add(acc, &[], array);
        };
        let (acc, array) = (self.array(acc), self.array(array));
        let count = self.product(&acc.sizes);
        self.effects += 1;
        // Each step has its own element, and no array lies in the block of an accumulator.
        self.each(count, true, |code, i| {
            let to = element(acc.data, i, 8);
            let value = code.load(LowTy::Real, element(array.data, i, 8));
            let old = code.load(LowTy::Real, to);
            let sum = code.set(LowTy::Real, Expr::Binary(Binary::Add, old, value));
            code.store(LowTy::Real, to, sum);
        });
    }

    /// An element.
    pub fn acc_read(&mut self, acc: &Atom, indices: &[Atom]) -> Operand {
        let address = self.acc_place(acc, indices);
        self.load(LowTy::Real, address)
    }

    /// An element, which becomes 0.
    pub fn acc_take(&mut self, acc: &Atom, indices: &[Atom]) -> Operand {
        let address = self.acc_place(acc, indices);
        let value = self.load(LowTy::Real, address);
        self.store(LowTy::Real, address, Operand::Real(0.0));
        value
    }

    /// The contents of an accumulator: a copy, unless nothing else refers to the accumulator.
    pub fn acc_get(&mut self, acc: &Atom, given: Given) -> Vec<Operand> {
        let array = self.array(acc);
        self.effects += 1;
        if given.only && !array.sizes.is_empty() {
            return array.words();
        }
        let words = if array.sizes.is_empty() {
            vec![self.load(LowTy::Real, at(array.data, 0))]
        } else {
            let count = self.product(&array.sizes);
            let bytes = self.bytes(count, Elem::Real);
            let (block, data) = self.allocate(Operand::Int(PLAIN), bytes);
            self.runtime(Runtime::Copy, vec![data, array.data, bytes]);
            ArrayParts { block, data, sizes: array.sizes }.words()
        };
        if given.own {
            self.release(array.block);
        }
        words
    }

    /// A new stack.
    pub fn stack_new(&mut self, elems: &[Elem]) -> Operand {
        let layout = self.cx.stack(elems.iter().map(|elem| counted(*elem)).collect());
        self.effects += 1;
        self.fresh(Runtime::StackNew, vec![Operand::Int(i64::from(layout))])
    }

    fn stack_elems(&self, stack: &Atom) -> Box<[Elem]> {
        if let FlatTy::Stack(elems) = self.atom_ty(stack) {
            elems
        } else {
            Box::default()
        }
    }

    /// The address of the tuple at a position.
    fn tuple(&mut self, block: Operand, position: Operand, words: usize) -> Operand {
        let data = self.load(LowTy::Ptr, at(block, STACK_DATA));
        let word = self.mul(position, Operand::Int(words as i64));
        self.offset(element(data, word, 8))
    }

    /// Puts a tuple on top.
    pub fn stack_push(&mut self, stack: &Atom, atoms: &[Atom]) {
        let elems = self.stack_elems(stack);
        let block = self.word(stack);
        self.effects += 1;
        let length = self.load(LowTy::Int, at(block, STACK_LENGTH));
        let room = self.load(LowTy::Int, at(block, STACK_ROOM));
        let full = self.compare(Compare::IntEq, length, room);
        let outer = self.begin();
        let grown = self.runtime_one(Runtime::StackGrow, vec![block]);
        self.check(grown, Raise::Memory, Vec::new());
        let grow = self.end(outer);
        self.push(crate::low::Stmt::If(full, grow, Vec::new()));
        let tuple = self.tuple(block, length, elems.len());
        for (i, (atom, elem)) in atoms.iter().zip(&elems).enumerate() {
            let value = self.word(atom);
            self.store(elem_ty(*elem), at(tuple, 8 * i as i64), value);
        }
        let more = self.add(length, Operand::Int(1));
        self.store(LowTy::Int, at(block, STACK_LENGTH), more);
    }

    /// How many tuples there are.
    pub fn stack_length(&mut self, stack: &Atom) -> Operand {
        let block = self.word(stack);
        self.effects += 1;
        self.load(LowTy::Int, at(block, STACK_LENGTH))
    }

    /// A tuple.
    pub fn stack_get(&mut self, results: &[Var], stack: &Atom, position: &Atom) -> Vec<Operand> {
        let elems = self.stack_elems(stack);
        let (block, position) = (self.word(stack), self.word(position));
        self.effects += 1;
        let tuple = self.tuple(block, position, elems.len());
        let loads = elems.iter().enumerate();
        let values: Vec<Operand> =
            loads.map(|(i, elem)| self.load(elem_ty(*elem), at(tuple, 8 * i as i64))).collect();
        self.own(results, &values);
        values
    }
}
