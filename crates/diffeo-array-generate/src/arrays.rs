//! Arrays, accumulators and stacks: every access is checked.

use super::ModuleGenerator;
use diffeo_array::ir::{Atom, Check, Elem, FlatTy, Op};
use diffeo_calculus::prim::IntOp;

impl ModuleGenerator<'_> {
    pub(super) fn new_array(&mut self, elem: Elem, rank: u8) -> Atom {
        match self.below(3) {
            0 if rank == 1 => {
                let count = self.below(4);
                let elements = (0..count).map(|_| self.atom(&elem.ty())).collect();
                self.one(Op::Elements(elem, elements))
            }
            1 if rank > 1 && !self.done() => {
                let row = self.atom(&FlatTy::Array(elem, rank - 1));
                let count = 1 + self.below(3);
                self.one(Op::Rows(vec![row; count]))
            }
            _ => self.one(Op::Empty(elem, rank)),
        }
    }

    /// An array that there is, if there is one.
    fn some_array(&mut self) -> Option<(Atom, Elem, u8)> {
        let found: Vec<(Atom, Elem, u8)> = self
            .scope
            .iter()
            .rev()
            .filter_map(|(atom, ty)| match ty {
                FlatTy::Array(elem, rank) => Some((atom.clone(), *elem, *rank)),
                _ => None,
            })
            .collect();
        (!found.is_empty()).then(|| self.pick(&found))
    }

    fn dim(&mut self, array: &Atom, dim: u8) -> Atom {
        self.one(Op::Dim(array.clone(), dim))
    }

    /// An index below a length, which is checked.
    fn index(&mut self, length: &Atom) -> Atom {
        let index = match self.below(4) {
            0 => self.atom(&FlatTy::Int),
            // Mostly there is one.
            1 => {
                let last = self.less(length);
                self.one(Op::Int(IntOp::Max, vec![last, Atom::Int(0)]))
            }
            _ => Atom::Int(0),
        };
        self.emit(Op::Check(Check::Index { index: index.clone(), length: length.clone() }));
        index
    }

    /// Indices into the first dimensions of an array, checked.
    fn indices(&mut self, array: &Atom, count: u8) -> Vec<Atom> {
        (0..count)
            .map(|d| {
                let length = self.dim(array, d);
                self.index(&length)
            })
            .collect()
    }

    pub(super) fn array(&mut self) {
        let Some((array, elem, rank)) = self.some_array() else {
            let elem = self.elem();
            self.new_array(elem, 1);
            return;
        };
        match self.below(10) {
            0 => {
                let dim = self.below(usize::from(rank)) as u8;
                self.emit(Op::Dim(array, dim));
            }
            1 | 2 => {
                let count = 1 + self.below(usize::from(rank)) as u8;
                let indices = self.indices(&array, count);
                self.emit(Op::Get(array, indices));
            }
            3 | 4 => self.update(array, elem, rank),
            5 => {
                let length = self.dim(&array, 0);
                let lo = self.pick(&[Atom::Int(0), Atom::Int(1), length.clone()]);
                let hi = if self.below(3) == 0 { self.atom(&FlatTy::Int) } else { length.clone() };
                let check = Check::Slice { lo: lo.clone(), hi: hi.clone(), length };
                self.emit(Op::Check(check));
                self.emit(Op::Slice { array, lo, hi });
            }
            6 => self.append(array, elem, rank),
            7 => self.reshape(array, rank),
            8 => {
                let sorted = matches!(elem, Elem::Real | Elem::Int | Elem::Text) && rank == 1;
                if sorted {
                    self.emit(Op::ArgSort(array));
                } else {
                    self.dim(&array, 0);
                }
            }
            _ => {
                let rank = 1 + self.below(2) as u8;
                self.new_array(elem, rank);
            }
        }
    }

    fn update(&mut self, array: Atom, elem: Elem, rank: u8) {
        let count = 1 + self.below(usize::from(rank)) as u8;
        let indices = self.indices(&array, count);
        let value = if count == rank {
            self.atom(&elem.ty())
        } else if self.below(2) == 0 {
            // A row of the array itself.
            let others = self.indices(&array, count);
            self.one(Op::Get(array.clone(), others))
        } else {
            let row = self.atom(&FlatTy::Array(elem, rank - count));
            for d in 0..rank - count {
                let (expected, found) = (self.dim(&array, count + d), self.dim(&row, d));
                self.emit(Op::Check(Check::Size { what: "a row".into(), expected, found }));
            }
            row
        };
        self.emit(Op::Update { array, indices, value });
    }

    /// The second array is small, so that arrays do not double in loops.
    fn append(&mut self, array: Atom, elem: Elem, rank: u8) {
        let other = if rank == 1 {
            let element = self.atom(&elem.ty());
            self.one(Op::Elements(elem, vec![element]))
        } else {
            let row = self.atom(&FlatTy::Array(elem, rank - 1));
            let rows = self.one(Op::Rows(vec![row]));
            for d in 1..rank {
                let (expected, found) = (self.dim(&array, d), self.dim(&rows, d));
                self.emit(Op::Check(Check::Rows { expected, found }));
            }
            rows
        };
        let (a, b) = if self.below(3) == 0 { (other, array) } else { (array, other) };
        self.emit(Op::Append(a, b));
    }

    /// The number of elements of these sizes.
    fn product(&mut self, sizes: &[Atom]) -> Atom {
        let mut product = Atom::Int(1);
        for size in sizes {
            product = self.one(Op::Int(IntOp::Mul, vec![product, size.clone()]));
        }
        product
    }

    fn reshape(&mut self, array: Atom, rank: u8) {
        let sizes: Vec<Atom> = (0..rank).map(|d| self.dim(&array, d)).collect();
        // Where sizes are not determined there are no elements: another size is 0.
        let count = self.product(&sizes);
        let sizes = match self.below(3) {
            0 => vec![count],
            1 => vec![Atom::Int(1), count],
            _ => vec![count, Atom::Int(1)],
        };
        self.emit(Op::Reshape(array, sizes));
    }

    /// Something with an accumulator.
    pub(super) fn accumulate(&mut self) {
        if self.accs.is_empty() || self.below(4) == 0 {
            let rank = self.below(3);
            let sizes: Vec<Atom> = (0..rank).map(|_| Atom::Int(self.below(4) as i64)).collect();
            let acc = self.one(Op::AccNew(sizes.clone()));
            self.accs.push((acc, sizes));
            return;
        }
        let which = self.below(self.accs.len());
        let (acc, sizes) = self.accs[which].clone();
        match self.below(8) {
            0 | 1 => {
                let indices = self.acc_indices(&sizes);
                let x = self.atom(&FlatTy::Real);
                self.emit(Op::AccAdd(acc, indices, x));
            }
            2 => {
                let read = self.one(Op::AccGet(acc.clone()));
                self.emit(Op::AccAddArray(acc, read));
            }
            3 => {
                let indices = self.acc_indices(&sizes);
                self.emit(Op::AccRead(acc, indices));
            }
            4 => {
                let indices = self.acc_indices(&sizes);
                self.emit(Op::AccTake(acc, indices));
            }
            5 => {
                let count = self.below(sizes.len() + 1);
                let indices = self.acc_indices(&sizes[..count]);
                let view = self.one(Op::AccView(acc, indices));
                self.accs.push((view, sizes[count..].to_vec()));
            }
            6 if !sizes.is_empty() => {
                let mut sizes = sizes;
                let hi = sizes[0].clone();
                let lo = self.pick(&[Atom::Int(0), hi.clone()]);
                let slice = self.one(Op::AccSlice { acc, lo: lo.clone(), hi: hi.clone() });
                sizes[0] = self.one(Op::Int(IntOp::Sub, vec![hi, lo]));
                self.accs.push((slice, sizes));
            }
            7 => {
                let count = self.product(&sizes);
                let view = self.one(Op::AccReshape(acc, vec![count.clone()]));
                self.accs.push((view, vec![count]));
            }
            _ => {
                self.emit(Op::AccGet(acc));
            }
        }
    }

    fn acc_indices(&mut self, sizes: &[Atom]) -> Vec<Atom> {
        sizes.iter().map(|size| self.index(size)).collect()
    }

    /// Something with a stack.
    pub(super) fn stack(&mut self) {
        let found: Vec<(Atom, Box<[Elem]>)> = self
            .scope
            .iter()
            .rev()
            .filter_map(|(atom, ty)| match ty {
                FlatTy::Stack(elems) => Some((atom.clone(), elems.clone())),
                _ => None,
            })
            .collect();
        if found.is_empty() || self.below(4) == 0 {
            let count = self.below(4);
            let elems: Vec<Elem> = (0..count).map(|_| self.elem()).collect();
            self.emit(Op::StackNew(elems.into()));
            return;
        }
        let (stack, elems) = self.pick(&found);
        if self.below(2) == 0 {
            let atoms = elems.iter().map(|elem| self.atom(&elem.ty())).collect();
            self.emit(Op::Push(stack, atoms));
        } else {
            let length = self.one(Op::StackLen(stack.clone()));
            let position = self.index(&length);
            self.emit(Op::StackGet(stack, position));
        }
    }
}
