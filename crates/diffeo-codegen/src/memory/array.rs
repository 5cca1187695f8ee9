//! Arrays: elements, views, changes, appending.

use super::block::Given;
use super::emit::{counted, elem_ty, element, layout, width, ArrayParts};
use super::function::Lower;
use super::helpers::Helper;
use super::uses::var;
use crate::low::{Address, Compare, LowTy, Operand, Reg, Runtime, Stmt};
use diffeo_array::ir::walk::makes_room;
use diffeo_array::ir::{Atom, Elem, FlatTy, Var};

/// The words of the array without elements of a rank: the sizes of rows are not determined.
pub(super) fn empty(rank: usize) -> Vec<Operand> {
    let mut words = vec![Operand::Null, Operand::Null, Operand::Int(0)];
    words.resize(2 + rank, Operand::Int(-1));
    words
}

impl Lower<'_, '_> {
    /// The position of the element at some indices (or, with fewer indices than the rank, of the first element of the
    /// rows there).
    pub fn position(&mut self, sizes: &[Operand], indices: &[Operand]) -> Operand {
        let mut position = Operand::Int(0);
        for (size, index) in sizes.iter().zip(indices) {
            let before = self.mul(position, *size);
            position = self.add(before, *index);
        }
        let rest = self.product(&sizes[indices.len()..]);
        self.mul(position, rest)
    }

    /// The address of what is at some indices.
    pub fn place(&mut self, array: &ArrayParts, indices: &[Operand], width: i64) -> Address {
        let position = self.position(&array.sizes, indices);
        element(array.data, position, width)
    }

    /// The rows of an array or accumulator at some indices, a view.
    pub fn rows_at(&mut self, array: &Atom, indices: &[Atom], width: i64) -> Vec<Operand> {
        let indices = self.word_list(indices);
        let array = self.array(array);
        let address = self.place(&array, &indices, width);
        let data = self.offset(address);
        let sizes = array.sizes[indices.len()..].to_vec();
        ArrayParts { block: array.block, data, sizes }.words()
    }

    /// An element or rows.
    pub fn get(&mut self, results: &[Var], array: &Atom, indices: &[Atom]) -> Vec<Operand> {
        let (elem, rank) = self.array_ty(array);
        if indices.len() < rank {
            return self.rows_at(array, indices, width(elem));
        }
        let indices = self.word_list(indices);
        let array = self.array(array);
        let address = self.place(&array, &indices, width(elem));
        let value = self.load(elem_ty(elem), address);
        self.own(results, &[value]);
        vec![value]
    }

    /// The elements from `lo` to below `hi`, a view.
    pub fn slice(&mut self, array: &Atom, lo: &Atom, hi: &Atom) -> Vec<Operand> {
        let (elem, _) = self.array_ty(array);
        self.slice_of(array, lo, hi, width(elem))
    }

    /// The same of an array or accumulator with elements of this width.
    pub fn slice_of(&mut self, array: &Atom, lo: &Atom, hi: &Atom, width: i64) -> Vec<Operand> {
        let (lo, hi) = (self.word(lo), self.word(hi));
        let mut array = self.array(array);
        let address = self.place(&array, &[lo], width);
        array.data = self.offset(address);
        array.sizes[0] = self.sub(hi, lo);
        array.words()
    }

    /// The elements in another shape, a view.
    pub fn reshape(&mut self, array: &Atom, sizes: &[Atom]) -> Vec<Operand> {
        let sizes = self.word_list(sizes);
        let ArrayParts { block, data, .. } = self.array(array);
        ArrayParts { block, data, sizes }.words()
    }

    /// The bytes of so many elements.
    pub fn bytes(&mut self, count: Operand, elem: Elem) -> Operand {
        self.mul(count, Operand::Int(width(elem)))
    }

    /// A copy of an array in a block of its own; where `owned`, instead of the reference to its block.
    fn copied(&mut self, array: &ArrayParts, elem: Elem, owned: bool) -> [Operand; 2] {
        let count = self.product(&array.sizes);
        let bytes = self.bytes(count, elem);
        let helper = if counted(elem) { Helper::CopyReferences } else { Helper::CopyPlain };
        let block = if owned { array.block } else { Operand::Null };
        let copy = self.help(helper, vec![block, array.data, bytes]);
        let [block, data] = copy[..] else { return [Operand::Null; 2] };
        self.check_memory(block);
        [block, data]
    }

    /// The array with an element or rows replaced: in place if there is no other reference.
    pub fn update(
        &mut self,
        results: &[Var],
        array: &Atom,
        indices: &[Atom],
        value: &Atom,
        given: Given,
    ) -> Vec<Operand> {
        let (elem, _) = self.array_ty(array);
        if results.iter().any(|result| self.is_in_place(value, *result)) {
            self.effects += 1;
            return self.array(array).words();
        }
        let indices = self.word_list(indices);
        let mut array = self.array(array);
        self.effects += 1;
        if !given.own {
            [array.block, array.data] = self.copied(&array, elem, false);
        } else if !given.only {
            let regs = [self.reg(LowTy::Ptr), self.reg(LowTy::Ptr)];
            self.assign(regs[0], array.block);
            self.assign(regs[1], array.data);
            self.make_only(&array, elem, regs);
            [array.block, array.data] = regs.map(Operand::Reg);
        }
        let address = self.place(&array, &indices, width(elem));
        if let FlatTy::Array(..) = self.atom_ty(value) {
            let to = self.offset(address);
            let rows = self.array(value);
            let count = self.product(&rows.sizes);
            if counted(elem) {
                self.release_elements(to, count);
            }
            self.copy_elements(to, rows.data, count, elem);
        } else {
            let value = self.word(value);
            if counted(elem) {
                let old = self.load(LowTy::Ptr, address);
                self.store(LowTy::Ptr, address, value);
                self.release(old);
            } else {
                self.store(elem_ty(elem), address, value);
            }
        }
        array.words()
    }

    /// Copies an array if it is shared; `regs` then have its block and data.
    pub fn make_only(&mut self, array: &ArrayParts, elem: Elem, regs: [Reg; 2]) {
        let only = self.unshared(array.block);
        let outer = self.begin();
        let copy = self.copied(array, elem, true);
        self.assign(regs[0], copy[0]);
        self.assign(regs[1], copy[1]);
        let shared = self.end(outer);
        self.push(Stmt::If(only, Vec::new(), shared));
    }

    /// Takes away a reference to each of so many blocks.
    fn release_elements(&mut self, data: Operand, count: Operand) {
        let id = self.cx.helper(Helper::Release);
        self.effects += 1;
        self.each(count, false, |code, i| {
            let old = code.load(LowTy::Ptr, element(data, i, 8));
            code.call(id, vec![old], Vec::new());
        });
    }

    /// Copies so many elements to where there are none.
    pub fn copy_elements(&mut self, to: Operand, from: Operand, count: Operand, elem: Elem) {
        let bytes = self.bytes(count, elem);
        self.runtime(Runtime::Copy, vec![to, from, bytes]);
        if counted(elem) {
            self.effects += 1;
            self.runtime(Runtime::RetainAll, vec![to, count]);
        }
    }

    /// An array of elements.
    pub fn elements(&mut self, results: &[Var], elem: Elem, atoms: &[Atom]) -> Vec<Operand> {
        let values = self.word_list(atoms);
        let count = Operand::Int(atoms.len() as i64);
        let placed = results.first().and_then(|v| self.placed.get(v)).copied();
        let (block, data) = match placed {
            Some(place) => (Operand::Null, place.data),
            None if atoms.is_empty() => return empty(1),
            None => {
                self.effects += 1;
                let bytes = self.bytes(count, elem);
                self.allocate(layout(elem), bytes)
            }
        };
        for (i, value) in values.into_iter().enumerate() {
            let address = element(data, Operand::Int(i as i64), width(elem));
            self.store(elem_ty(elem), address, value);
        }
        vec![block, data, count]
    }

    /// Arrays as rows of an array.
    pub fn rows(&mut self, rows: &[Atom]) -> Vec<Operand> {
        let Some(first) = rows.first() else { return empty(2) };
        let (elem, _) = self.array_ty(first);
        let arrays: Vec<ArrayParts> = rows.iter().map(|row| self.array(row)).collect();
        let mut sizes = arrays[0].sizes.clone();
        for row in &arrays[1..] {
            self.determine(&mut sizes, &row.sizes);
        }
        let length = self.product(&sizes);
        let count = Operand::Int(rows.len() as i64);
        self.effects += 1;
        let total = self.total(&[count, length, Operand::Int(width(elem))]);
        let (block, data) = self.allocate(layout(elem), total);
        for (i, row) in arrays.iter().enumerate() {
            let before = self.mul(Operand::Int(i as i64), length);
            let to = self.offset(element(data, before, width(elem)));
            self.copy_elements(to, row.data, length, elem);
        }
        sizes.insert(0, count);
        ArrayParts { block, data, sizes }.words()
    }

    /// Sizes of rows that are not determined become those of other rows. The first size always is.
    fn determine(&mut self, sizes: &mut [Operand], others: &[Operand]) {
        for (size, other) in sizes.iter_mut().zip(others).skip(1) {
            *size = self.determined(*size, *other);
        }
    }

    /// A size of rows, or another one if it is not determined.
    fn determined(&mut self, size: Operand, other: Operand) -> Operand {
        match (size, other) {
            (Operand::Int(-1), _) => other,
            (Operand::Int(_), _) | (_, Operand::Int(-1)) => size,
            _ if size == other => size,
            _ => {
                let open = self.compare(Compare::IntEq, size, Operand::Int(-1));
                self.select(LowTy::Int, open, other, size)
            }
        }
    }

    /// One array after the other: in place if `owned` is the only reference and there is room.
    pub fn append(&mut self, a: &Atom, b: &Atom, owned: bool) -> Vec<Operand> {
        let (elem, _) = self.array_ty(a);
        // Elements that only make room are written before they are read: a copy would be wasted.
        let made = var(b).and_then(|v| self.scan.def[v.0 as usize]);
        let room = made.is_some_and(|(stmt, _)| makes_room(&stmt.op));
        let (mut a, b) = (self.array(a), self.array(b));
        let [used, more] = [&a, &b].map(|array| {
            let count = self.product(&array.sizes);
            (count, self.bytes(count, elem))
        });
        let helper = if counted(elem) { Helper::GrowReferences } else { Helper::GrowPlain };
        let block = if owned { a.block } else { Operand::Null };
        self.effects += 1;
        let grown = self.help(helper, vec![block, a.data, used.1, more.1]);
        let [block, data] = grown[..] else { return Vec::new() };
        self.check_memory(block);
        if !room {
            let to = self.offset(element(data, used.0, width(elem)));
            self.copy_elements(to, b.data, more.0, elem);
        }
        (a.block, a.data) = (block, data);
        a.sizes[0] = self.add(a.sizes[0], b.sizes[0]);
        self.determine(&mut a.sizes, &b.sizes);
        a.words()
    }

    /// The sorting permutation.
    pub fn arg_sort(&mut self, array: &Atom) -> Vec<Operand> {
        let (elem, _) = self.array_ty(array);
        let array = self.array(array);
        let op = match elem {
            Elem::Real => Runtime::SortReals,
            Elem::Text => Runtime::SortTexts,
            Elem::Int | Elem::Bool | Elem::Box(_) => Runtime::SortInts,
        };
        let bytes = self.bytes(array.sizes[0], Elem::Int);
        self.effects += 1;
        let (block, data) = self.allocate(layout(Elem::Int), bytes);
        self.runtime(op, vec![array.data, array.sizes[0], data]);
        // Sorting gives up if the run is to end.
        self.poll();
        ArrayParts { block, data, sizes: array.sizes }.words()
    }
}
