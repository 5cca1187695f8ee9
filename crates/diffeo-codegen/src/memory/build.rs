//! Arrays from their elements ([`Op::Build`]).
//!
//! Where the sizes of the rows are known before the loop, the whole array is allocated at once, and rows that the
//! body makes are made in their place, so nested comprehensions allocate once ("destination-passing style":
//! Shaikhha et al., 2017). Else the first step decides, and rows are copied.

use super::emit::{counted, elem_ty, element, layout, width, ArrayParts};
use super::function::{Destination, Lower};
use super::scan::BlockNumber;
use super::uses::{var, Use};
use crate::low::{Compare, Expr, LowTy, Operand, Reg, Stmt};
use diffeo_array::ir::walk::makes_room;
use diffeo_array::ir::{Atom, Elem, FlatTy, Op, Stmt as Statement, Var};
use diffeo_base::deep;
use diffeo_calculus::eval::MOST_ELEMENTS;

/// A size of rows that is known before the loop, and how many of the sizes before it must be positive: else there
/// are no such rows, and the size is not determined.
type KnownRowSize = (KnownSize, usize);

/// A size that is computed before the loop.
enum KnownSize {
    Is(Operand),
    Sum(Box<[KnownSize; 2]>),
}

/// The destination of the elements of a result.
enum ElementTarget {
    /// To the address of the first one and behind it.
    Allocated {
        data: Operand,
        /// The number of elements in a row.
        length: Operand,
        /// Whether the body puts the rows there itself.
        placed: bool,
    },
    /// To what the first step allocates.
    Open { block: Reg, data: Reg, sizes: Vec<Reg>, length: Reg },
}

impl<'a> Lower<'_, 'a> {
    /// Translates an [`Op::Build`] and defines its results.
    pub fn build(&mut self, results: &[Var], op: &'a Op) {
        let Op::Build { count, index: flat_index, body } = op else { return };
        let site = self.site;
        let count = self.word(count);
        let number = self.scan.number(body);
        let kinds: Vec<(Elem, usize)> = body.results.iter().map(|row| self.kind(row)).collect();
        let mut targets = Vec::new();
        for ((v, row), (elem, rank)) in results.iter().zip(&body.results).zip(&kinds) {
            targets.push(self.target(*v, row, count, (*elem, *rank), number));
        }
        let allocated = |target| matches!(target, &ElementTarget::Allocated { .. });
        if targets.iter().all(allocated) && makes_room(op) {
            return;
        }
        let register = self.define_index(*flat_index);
        let index = Operand::Reg(register);
        let plain = |(target, (elem, _)): (&ElementTarget, &(Elem, usize))| {
            matches!(target, ElementTarget::Allocated { .. }) && !counted(*elem)
        };
        let candidate = if targets.iter().zip(&kinds).all(plain) {
            self.candidate(*flat_index, body)
        } else {
            None
        };
        let before = self.effects;
        let outer = self.begin();
        let mut rows = Vec::new();
        for ((target, row), (elem, rank)) in targets.iter().zip(&body.results).zip(&kinds) {
            // Where the row goes.
            let mut to = Operand::Null;
            if let (ElementTarget::Allocated { data, length, placed }, 1..) = (target, *rank) {
                let before = self.mul(index, *length);
                to = self.offset(element(*data, before, width(*elem)));
                if let (true, Some(v)) = (*placed, var(row)) {
                    self.placed.insert(v, Destination { data: to });
                }
            }
            rows.push(to);
        }
        // Rows are copied, elements stored.
        let how = |_: &Self, i: usize| if kinds[i].1 > 0 { Use::Read } else { Use::Keep };
        let around = std::mem::replace(&mut self.in_loop, true);
        if let Some(left) = self.block(body, Vec::new(), how) {
            self.site = site;
            let mut words = left.results.as_slice();
            for (i, ((target, (elem, rank)), to)) in
                targets.iter().zip(&kinds).zip(rows).enumerate()
            {
                let (value, rest) = words.split_at(if *rank == 0 { 1 } else { 2 + rank });
                words = rest;
                match target {
                    ElementTarget::Allocated { data, .. } if *rank == 0 => {
                        self.store(elem_ty(*elem), element(*data, index, width(*elem)), value[0]);
                    }
                    ElementTarget::Allocated { placed: true, .. } => {}
                    // A loop, which can be done for several steps at once.
                    ElementTarget::Allocated { length, .. } if self.is_built(&body.results[i]) => {
                        let (from, width, ty) =
                            (ArrayParts::of(value).data, width(*elem), elem_ty(*elem));
                        self.each(*length, true, |code, j| {
                            let value = code.load(ty, element(from, j, width));
                            code.store(ty, element(to, j, width), value);
                        });
                    }
                    ElementTarget::Allocated { length, .. } => {
                        self.copy_elements(to, ArrayParts::of(value).data, *length, *elem);
                    }
                    ElementTarget::Open { .. } => {
                        self.row(target, index, count, &ArrayParts::of(value), *elem)
                    }
                }
            }
            self.release_all(left.pending);
        }
        self.in_loop = around;
        let steps = self.end(outer);
        self.site = site;
        let independent = self.effects == before;
        let steps = self.repeat(register, count, steps, independent, Vec::new(), true);
        self.spread(steps, candidate);
    }

    /// Whether an array is a comprehension of numbers.
    fn is_built(&self, row: &Atom) -> bool {
        let def = var(row).and_then(|v| self.scan.def[v.0 as usize]);
        matches!(def, Some((Statement { op: Op::Build { .. }, .. }, _)))
            && !counted(self.kind(row).0)
    }

    /// The elements of a row, and its rank.
    fn kind(&self, row: &Atom) -> (Elem, usize) {
        match self.atom_ty(row) {
            FlatTy::Array(elem, rank) => (elem, usize::from(rank)),
            FlatTy::Int => (Elem::Int, 0),
            FlatTy::Bool => (Elem::Bool, 0),
            FlatTy::Text => (Elem::Text, 0),
            FlatTy::Box(id) => (Elem::Box(id), 0),
            FlatTy::Real | FlatTy::Acc(_) | FlatTy::Stack(_) => (Elem::Real, 0),
        }
    }

    /// Decides where a result goes, and defines it.
    fn target(
        &mut self,
        v: Var,
        row: &Atom,
        count: Operand,
        (elem, rank): (Elem, usize),
        body: BlockNumber,
    ) -> ElementTarget {
        let Some(known) = self.known_rows(row, &mut vec![body]) else {
            return self.open(v, count, rank);
        };
        let known: Vec<(Operand, usize)> =
            known.iter().map(|(size, under)| (self.emit_size(size), *under)).collect();
        let mut factors = Vec::new();
        for (size, _) in &known {
            factors.push(self.clamped(*size));
        }
        let length = self.product(&factors);
        let placed = rank > 0 && self.is_made_for(row, body);
        if let Some(Destination { data }) = self.placed.get(&v).copied() {
            // Nothing looks at its sizes: it is made for this place alone.
            let sizes = std::iter::once(count).chain(known.iter().map(|(size, _)| *size)).collect();
            self.define(v, ArrayParts { block: Operand::Null, data, sizes }.words());
            return ElementTarget::Allocated { data, length, placed };
        }
        let mut all = vec![count];
        all.extend(factors);
        all.push(Operand::Int(width(elem)));
        self.effects += 1;
        let bytes = self.total(&all);
        let (block, data) = self.allocate(layout(elem), bytes);
        let mut sizes = vec![count];
        for (size, under) in known {
            let above = sizes[under];
            sizes.push(match above {
                Operand::Int(1..) => size,
                Operand::Int(_) => Operand::Int(-1),
                above => {
                    let some = self.compare(Compare::IntLt, Operand::Int(0), above);
                    self.select(LowTy::Int, some, size, Operand::Int(-1))
                }
            });
        }
        self.define(v, ArrayParts { block, data, sizes }.words());
        ElementTarget::Allocated { data, length, placed }
    }

    /// A size that is not wrong: if it is, the body fails before it makes a row.
    fn clamped(&mut self, size: Operand) -> Operand {
        match size {
            Operand::Int(0..=MOST_ELEMENTS) => size,
            _ => {
                let right = self.compare(Compare::Below, size, Operand::Int(MOST_ELEMENTS + 1));
                self.select(LowTy::Int, right, size, Operand::Int(0))
            }
        }
    }

    /// The sizes of the rows that a body leaves, if they are known before it, and before the bodies around it
    /// that are counted as `within`.
    fn known_rows(&self, row: &Atom, within: &mut Vec<BlockNumber>) -> Option<Vec<KnownRowSize>> {
        let (_, rank) = self.kind(row);
        if rank == 0 {
            return Some(Vec::new());
        }
        if let Some((Statement { op: Op::Build { count, body, .. }, .. }, i)) =
            self.made_within(row, within)
        {
            let count = self.known_size(count, within)?;
            within.push(self.scan.number(body));
            let mut known = vec![(count, 0)];
            let rows = self.known_rows(&body.results[i], within)?;
            known.extend(rows.into_iter().map(|(size, under)| (size, under + 1)));
            return Some(known);
        }
        (0..rank).map(|dim| Some((self.known_dim(row, dim, within)?, 0))).collect()
    }

    /// The statement that makes a value, if that stands in certain bodies, and which of its results it is.
    fn made_within(&self, atom: &Atom, within: &[BlockNumber]) -> Option<(&'a Statement, usize)> {
        let v = var(atom).filter(|v| within.contains(&self.scan.home[v.0 as usize]))?;
        self.scan.def[v.0 as usize]
    }

    /// The size of an array or accumulator in a dimension, if it is known before certain bodies.
    fn known_dim(&self, array: &Atom, dim: usize, within: &[BlockNumber]) -> Option<KnownSize> {
        let v = var(array)?;
        if !within.contains(&self.scan.home[v.0 as usize]) {
            return self.array(array).sizes.get(dim).map(|size| KnownSize::Is(*size));
        }
        match &self.made_within(array, within)?.0.op {
            Op::Elements(_, atoms) => Some(KnownSize::Is(Operand::Int(atoms.len() as i64))),
            Op::Build { count, .. } if dim == 0 => self.known_size(count, within),
            Op::Get(array, indices) => deep(|| self.known_dim(array, dim + indices.len(), within)),
            Op::Reshape(_, sizes) | Op::AccNew(sizes) => self.known_size(sizes.get(dim)?, within),
            Op::AccGet(acc) => self.known_dim(acc, dim, within),
            Op::Append(a, b) if dim == 0 => {
                let [a, b] = [a, b].map(|part| deep(|| self.known_dim(part, 0, within)));
                Some(KnownSize::Sum(Box::new([a?, b?])))
            }
            _ => None,
        }
    }

    /// A size, if it is known before certain bodies.
    fn known_size(&self, size: &Atom, within: &[BlockNumber]) -> Option<KnownSize> {
        let Some((stmt, _)) = self.made_within(size, within) else {
            let outside = |v: Var| !within.contains(&self.scan.home[v.0 as usize]);
            return var(size).is_none_or(outside).then(|| KnownSize::Is(self.word(size)));
        };
        let Op::Dim(array, dim) = &stmt.op else { return None };
        self.known_dim(array, usize::from(*dim), within)
    }

    /// Computes a size.
    fn emit_size(&mut self, size: &KnownSize) -> Operand {
        match size {
            KnownSize::Is(size) => *size,
            KnownSize::Sum(parts) => {
                let [a, b] = [0, 1].map(|i| deep(|| self.emit_size(&parts[i])));
                self.add(a, b)
            }
        }
    }

    /// Whether a row is made in the body and for nothing else, so that it can be made in its place.
    fn is_made_for(&self, row: &Atom, body: BlockNumber) -> bool {
        var(row).is_some_and(|v| {
            let made = self.scan.def[v.0 as usize]
                .is_some_and(|(stmt, _)| matches!(stmt.op, Op::Build { .. } | Op::Elements(..)));
            made && self.scan.home[v.0 as usize] == body && self.scan.count[v.0 as usize] == 1
        })
    }

    /// A result that the first step allocates.
    fn open(&mut self, v: Var, count: Operand, rank: usize) -> ElementTarget {
        let (block, data) = (self.reg(LowTy::Ptr), self.reg(LowTy::Ptr));
        self.assign(block, Operand::Null);
        self.assign(data, Operand::Null);
        let sizes = self.regs(vec![LowTy::Int; rank]);
        let length = self.reg(LowTy::Int);
        for size in &sizes {
            self.assign(*size, Operand::Int(-1));
        }
        self.assign(length, Operand::Int(0));
        let mut words = vec![Operand::Reg(block), Operand::Reg(data), count];
        words.extend(sizes.iter().map(|size| Operand::Reg(*size)));
        self.define(v, words);
        ElementTarget::Open { block, data, sizes, length }
    }

    /// Puts a row into what the first step allocated, or allocates it.
    fn row(
        &mut self,
        target: &ElementTarget,
        index: Operand,
        count: Operand,
        row: &ArrayParts,
        elem: Elem,
    ) {
        let ElementTarget::Open { block, data, sizes, length } = target else { return };
        let first = self.compare(Compare::IntEq, index, Operand::Int(0));
        let outer = self.begin();
        for (size, found) in sizes.iter().zip(&row.sizes) {
            self.assign(*size, *found);
        }
        let elements = self.product(&row.sizes);
        self.assign(*length, elements);
        self.effects += 1;
        let bytes = self.total(&[count, elements, Operand::Int(width(elem))]);
        let (new, address) = self.allocate(layout(elem), bytes);
        self.assign(*block, new);
        self.assign(*data, address);
        let allocate = self.end(outer);
        let outer = self.begin();
        for (dim, (size, found)) in sizes.iter().zip(&row.sizes).enumerate() {
            self.check_rows(Operand::Reg(*size), *found);
            if dim > 0 {
                let known = self.compare(Compare::IntLe, Operand::Int(0), Operand::Reg(*size));
                self.push(Stmt::Set(*size, Expr::Select(known, Operand::Reg(*size), *found)));
            }
        }
        let compare = self.end(outer);
        self.push(Stmt::If(first, allocate, compare));
        let before = self.mul(index, Operand::Reg(*length));
        let to = self.offset(element(Operand::Reg(*data), before, width(elem)));
        self.copy_elements(to, row.data, Operand::Reg(*length), elem);
    }
}
