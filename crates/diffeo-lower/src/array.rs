//! Arrays: literals, elements, slices, updates, concatenation, sums.
//!
//! Every check that the evaluator makes stands before the access, in its order. The length of rows is -1
//! where nothing has determined it, which fits everything.

use super::sym::Sym;
use super::Lower;
use diffeo_array::ir::{Atom, Block, Carried, Check, FlatTy, Op, Reduction, Scalar, SiteId, Var};
use diffeo_base::Name;
use diffeo_calculus::eval::error::NEW_ROW;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::term::Build;
use diffeo_calculus::Ty;

impl<'p> Lower<'p> {
    /// The rank of an array of Flat.
    pub(super) fn rank(&self, array: &Atom) -> u8 {
        match self.f.builder.ty(array) {
            FlatTy::Array(_, rank) => rank,
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => 0,
        }
    }

    pub(super) fn dim(&mut self, array: &Atom, dimension: u8, at: SiteId) -> Atom {
        self.one(at, Op::Dim(array.clone(), dimension))
    }

    pub(super) fn int(&mut self, op: IntOp, a: Atom, b: Atom, at: SiteId) -> Atom {
        self.one(at, Op::Int(op, vec![a, b]))
    }

    pub(super) fn compare(&mut self, comparison: Comparison, a: Atom, b: Atom, at: SiteId) -> Atom {
        self.one(at, Op::Compare(comparison, Scalar::Int, a, b))
    }

    /// The arrays that an array consists of; none if the program has stopped.
    pub(super) fn arrays(&mut self, value: &Sym) -> Vec<Atom> {
        match value {
            Sym::Array(arrays) => arrays.to_vec(),
            Sym::Never
            | Sym::Unit
            | Sym::Leaf(_)
            | Sym::Tuple(_)
            | Sym::Boxed(..)
            | Sym::Con(..)
            | Sym::Sum(..)
            | Sym::Known(..)
            | Sym::Dynamic(..) => {
                self.bug("an array was expected");
                Vec::new()
            }
        }
    }

    /// The length of an array.
    pub(super) fn length(&mut self, array: &Sym, at: SiteId) -> Atom {
        match self.arrays(array).first() {
            Some(first) => self.dim(first, 0, at),
            None => Atom::Int(0),
        }
    }

    /// An element of an array that has it.
    pub(super) fn get(&mut self, ty: &Ty, arrays: &[Atom], index: &Atom, at: SiteId) -> Sym {
        let shape = self.plain(ty);
        let atoms: Vec<Atom> = arrays
            .iter()
            .map(|array| self.one(at, Op::Get(array.clone(), vec![index.clone()])))
            .collect();
        self.element_of(&shape, &mut atoms.into_iter())
    }

    /// An array of elements of a type.
    pub(super) fn array_of(&mut self, ty: &Ty, values: &[Sym], at: SiteId) -> Sym {
        let shape = self.plain(ty);
        let types = self.element_types(&shape);
        let rows: Vec<Vec<Atom>> =
            values.iter().map(|value| self.element(value, &shape, at)).collect();
        if let Some((first, rest)) = rows.split_first() {
            let mut known: Vec<Vec<Atom>> = Vec::new();
            for (atom, (_, rank)) in first.iter().zip(&types) {
                let dims = if rest.is_empty() { 0 } else { *rank };
                known.push((0..dims).map(|d| self.dim(atom, d, at)).collect());
            }
            for row in rest {
                for (atom, known) in row.iter().zip(&mut known) {
                    for (d, expected) in (0..).zip(known.iter_mut()) {
                        let found = self.dim(atom, d, at);
                        self.check_rows(expected.clone(), found.clone(), at);
                        if d > 0 {
                            // Whichever of the two is determined.
                            *expected = self.int(IntOp::Max, expected.clone(), found, at);
                        }
                    }
                }
            }
        }
        let mut arrays = Vec::new();
        for (i, (elem, rank)) in types.iter().enumerate() {
            let atoms: Vec<Atom> = rows.iter().map(|row| row[i].clone()).collect();
            let op = match (atoms.is_empty(), rank) {
                (true, rank) => Op::Empty(*elem, rank + 1),
                (false, 0) => Op::Elements(*elem, atoms),
                (false, _) => Op::Rows(atoms),
            };
            arrays.push(self.one(at, op));
        }
        Sym::Array(arrays.into())
    }

    pub(super) fn check_rows(&mut self, expected: Atom, found: Atom, at: SiteId) {
        self.ops(at, Op::Check(Check::Rows { expected, found }));
    }

    /// Checks that two sizes are equal; -1 fits everything.
    pub(super) fn check_size(&mut self, what: &Name, expected: Atom, found: Atom, at: SiteId) {
        let expected = self.or(expected, found.clone(), at);
        let found = self.or(found, expected.clone(), at);
        self.ops(at, Op::Check(Check::Size { what: what.clone(), expected, found }));
    }

    /// A size, or another one if it is not determined.
    pub(super) fn or(&mut self, size: Atom, other: Atom, at: SiteId) -> Atom {
        let open = self.compare(Comparison::Lt, size.clone(), Atom::Int(0), at);
        self.one(at, Op::Select(open, other, size))
    }

    pub(super) fn index(&mut self, ty: &Ty, array: &Sym, index: &Atom, at: SiteId) -> Sym {
        let arrays = self.arrays(array);
        let length = self.length(array, at);
        self.ops(at, Op::Check(Check::Index { index: index.clone(), length }));
        self.get(ty, &arrays, index, at)
    }

    pub(super) fn slice(&mut self, array: &Sym, lo: &Atom, hi: &Atom, at: SiteId) -> Sym {
        let length = self.length(array, at);
        let (lo, hi) = (lo.clone(), hi.clone());
        self.ops(at, Op::Check(Check::Slice { lo: lo.clone(), hi: hi.clone(), length }));
        let slices = self.arrays(array).into_iter().map(|array| {
            let (lo, hi) = (lo.clone(), hi.clone());
            self.one(at, Op::Slice { array, lo, hi })
        });
        Sym::Array(slices.collect())
    }

    pub(super) fn update(
        &mut self,
        ty: &Ty,
        array: &Sym,
        indices: &[Atom],
        value: &Sym,
        at: SiteId,
    ) -> Sym {
        let arrays = self.arrays(array);
        let Some(first) = arrays.first().cloned() else { return Sym::Never };
        for (d, index) in (0..).zip(indices) {
            let length = self.dim(&first, d, at);
            self.ops(at, Op::Check(Check::Index { index: index.clone(), length }));
        }
        let mut element = ty;
        for _ in indices {
            if let Ty::Array(inner) = element {
                element = inner;
            }
        }
        let shape = self.plain(element);
        let values = self.element(value, &shape, at);
        let what = Name::new(NEW_ROW);
        let depth = indices.len() as u8;
        for (array, value) in arrays.iter().zip(&values) {
            for d in 0..self.rank(value) {
                let expected = self.dim(array, depth + d, at);
                let found = self.dim(value, d, at);
                self.check_size(&what, expected, found, at);
            }
        }
        let updated = arrays.into_iter().zip(values).map(|(array, value)| {
            self.one(at, Op::Update { array, indices: indices.to_vec(), value })
        });
        Sym::Array(updated.collect())
    }

    pub(super) fn append(&mut self, a: &Sym, b: &Sym, at: SiteId) -> Sym {
        let (a, b) = (self.arrays(a), self.arrays(b));
        for (a, b) in a.iter().zip(&b) {
            for d in 1..self.rank(a) {
                let (expected, found) = (self.dim(a, d, at), self.dim(b, d, at));
                self.check_rows(expected, found, at);
            }
        }
        let both = a.into_iter().zip(b).map(|(a, b)| self.one(at, Op::Append(a, b)));
        Sym::Array(both.collect())
    }

    /// The sizes of an array, from a dimension on.
    pub(super) fn dims(&mut self, array: &Atom, from: u8, at: SiteId) -> Vec<Atom> {
        (from..self.rank(array)).map(|d| self.dim(array, d, at)).collect()
    }

    /// How many elements there are of these sizes; none if one is not determined.
    pub(super) fn product(&mut self, sizes: &[Atom], at: SiteId) -> Atom {
        let mut product = Atom::Int(1);
        for (i, size) in sizes.iter().enumerate() {
            product = match i {
                0 => size.clone(),
                _ => self.int(IntOp::WrappingMul, product, size.clone(), at),
            };
        }
        match sizes.len() {
            0 | 1 => product,
            // 0 rows of an undetermined size are 0 elements, but so are -1 of them.
            _ => self.int(IntOp::Max, product, Atom::Int(0), at),
        }
    }

    pub(super) fn flatten(&mut self, rows: &Sym, at: SiteId) -> Sym {
        let arrays = self.arrays(rows);
        let flat = arrays.into_iter().map(|array| {
            let mut sizes = self.dims(&array, 0, at);
            let outer: Vec<Atom> = sizes.drain(..2).collect();
            sizes.insert(0, self.product(&outer, at));
            self.one(at, Op::Reshape(array, sizes))
        });
        Sym::Array(flat.collect())
    }

    /// All elements of an array of Flat in one dimension.
    pub(super) fn in_a_row(&mut self, array: &Atom, at: SiteId) -> (Atom, Vec<Atom>, Atom) {
        let sizes = self.dims(array, 0, at);
        let count = self.product(&sizes, at);
        match sizes.len() {
            1 => (array.clone(), sizes, count),
            _ => {
                let flat = self.one(at, Op::Reshape(array.clone(), vec![count.clone()]));
                (flat, sizes, count)
            }
        }
    }

    /// An array of these sizes of what `element` gives for each position.
    pub(super) fn fill(
        &mut self,
        count: Atom,
        sizes: Vec<Atom>,
        at: SiteId,
        element: &mut dyn FnMut(&mut Self, Atom) -> Atom,
    ) -> Atom {
        let (index, body) = self.steps(element);
        let flat = self.one(at, Op::Build { count, index, body });
        match sizes.len() {
            1 => flat,
            _ => self.one(at, Op::Reshape(flat, sizes)),
        }
    }

    /// The index and the body of a loop of what `element` gives.
    fn steps(&mut self, element: &mut dyn FnMut(&mut Self, Atom) -> Atom) -> (Var, Block) {
        let index = self.f.builder.var(FlatTy::Int, None);
        self.f.builder.open();
        let value = element(self, Atom::Var(index));
        (index, self.f.builder.close(vec![value]))
    }

    /// The sum of what `element` gives for each index.
    pub(super) fn reduce(
        &mut self,
        count: Atom,
        at: SiteId,
        element: &mut dyn FnMut(&mut Self, Atom) -> Atom,
    ) -> Atom {
        let (index, body) = self.steps(element);
        self.one(at, Op::Reduce { how: vec![Reduction::Add], count, index, body })
    }

    /// The sum of a comprehension of Reals: no array is made.
    pub(super) fn sum_of(&mut self, build: &'p Build, at: SiteId) -> Sym {
        let place = self.site(build.count.span);
        let Some(count) = self.count(build, place) else { return Sym::Never };
        let index = self.f.builder.var(FlatTy::Int, None);
        self.f.builder.open();
        self.bind(&build.index, Sym::Leaf(Atom::Var(index)));
        let value = self.scalar(&build.body).unwrap_or(Atom::Unused(FlatTy::Real));
        let body = self.f.builder.close(vec![value]);
        Sym::Leaf(self.one(at, Op::Reduce { how: vec![Reduction::Add], count, index, body }))
    }

    /// The sum of the elements of an array.
    pub(super) fn sum(&mut self, ty: &Ty, array: &Sym, at: SiteId) -> Sym {
        let arrays = self.arrays(array);
        if *ty == Ty::Int {
            let Some(array) = arrays.first() else { return Sym::Never };
            let count = self.dim(array, 0, at);
            let index = self.f.builder.var(FlatTy::Int, None);
            let param = self.f.builder.var(FlatTy::Int, None);
            self.f.builder.open();
            let element = self.one(at, Op::Get(array.clone(), vec![Atom::Var(index)]));
            let total = self.int(IntOp::Add, Atom::Var(param), element, at);
            let body = self.f.builder.close(vec![total]);
            let carried = vec![Carried { param, init: Atom::Int(0) }];
            return Sym::Leaf(self.one(at, Op::For { count, index, carried, body }));
        }
        let sums: Vec<Atom> = arrays.iter().map(|array| self.sum_rows(array, at)).collect();
        let shape = self.plain(ty);
        self.element_of(&shape, &mut sums.into_iter())
    }

    /// The sum of the rows of an array of Flat of Reals.
    fn sum_rows(&mut self, array: &Atom, at: SiteId) -> Atom {
        let count = self.dim(array, 0, at);
        let mut sizes = self.dims(array, 1, at);
        if sizes.is_empty() {
            return self
                .reduce(count, at, &mut |cx, i| cx.one(at, Op::Get(array.clone(), vec![i])));
        }
        // Of no rows whose sizes are not determined it is an array without elements.
        let mut inside = Atom::Bool(true);
        for size in &mut sizes {
            let least = self.int(IntOp::Max, size.clone(), Atom::Int(0), at);
            *size = match inside {
                Atom::Bool(_) => least.clone(),
                _ => self.one(at, Op::Select(inside.clone(), least.clone(), size.clone())),
            };
            let some = self.compare(Comparison::Gt, least, Atom::Int(0), at);
            inside = match inside {
                Atom::Bool(_) => some,
                _ => self.one(at, Op::And(inside, some)),
            };
        }
        let width = self.product(&sizes, at);
        let matrix = match sizes.len() {
            1 => array.clone(),
            _ => self.one(at, Op::Reshape(array.clone(), vec![count.clone(), width.clone()])),
        };
        self.fill(width, sizes, at, &mut |cx, j| {
            let (matrix, count) = (matrix.clone(), count.clone());
            cx.reduce(count, at, &mut |cx, i| {
                cx.one(at, Op::Get(matrix.clone(), vec![i, j.clone()]))
            })
        })
    }

    pub(super) fn argsort(&mut self, array: &Sym, at: SiteId) -> Sym {
        let arrays = self.arrays(array);
        let sorted = arrays.into_iter().map(|array| {
            let order = self.one(at, Op::ArgSort(array.clone()));
            self.look_at_order(&array, &order, at);
            order
        });
        Sym::Array(sorted.collect())
    }
}
