//! Rules for arrays: sizes and elements are taken from where the array came from.
//!
//! A replacement for a read must not extend the life of an old array past the place where a new one was made of it: the
//! old one would have to be copied there. So sizes come from variables that are there already, and an element of an
//! updated array comes from the old one only where its elements are known one by one.
//!
//! An access is within bounds wherever it stands, so its replacement is, too; sums of indices fit, because they are
//! indices of an array that exists.

use super::super::shapes::{Size, SizeExtent};
use super::{element_of, New, Simplifier};
use crate::ir::walk::same;
use crate::ir::{Atom, Elem, FlatTy, Op, SiteId, Stmt, Var};
use diffeo_calculus::prim::IntOp;

impl Simplifier {
    /// The size of an array in a dimension, if it is known without looking at the array.
    pub(super) fn known_size(&self, array: &Atom, k: u8) -> Option<Atom> {
        let Atom::Var(v) = array else { return None };
        match self.shapes.extent(*v, k) {
            Some(SizeExtent { size: Size::Is(atom), always: true }) => Some(self.resolve(&atom)),
            Some(_) | None => match self.def(array)? {
                Op::Elements(_, xs) if k == 0 => Some(Atom::Int(xs.len() as i64)),
                Op::Rows(xs) if k == 0 => Some(Atom::Int(xs.len() as i64)),
                Op::Reshape(_, sizes) => sizes.get(usize::from(k)).cloned(),
                Op::Update { array, .. } => self.known_size(array, k),
                Op::AccGet(acc) => match self.def(acc)? {
                    Op::AccNew(sizes) => sizes.get(usize::from(k)).cloned(),
                    _ => None,
                },
                Op::Empty(..) => Some(Atom::Int(if k == 0 { 0 } else { -1 })),
                _ => None,
            },
        }
    }

    /// The array and dimension whose size this one is known to have.
    pub(super) fn size_key(&self, array: Var, k: u8) -> (Var, u8) {
        match self.shapes.extent(array, k) {
            Some(SizeExtent { size: Size::Of(other, j), always: true }) => {
                match self.resolve(&Atom::Var(other)) {
                    Atom::Var(other) => (other, j),
                    Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => (array, k),
                }
            }
            Some(_) | None => (array, k),
        }
    }

    /// The size of an array that is known, or that some variable is.
    fn size(&self, array: &Atom, k: u8) -> Option<Atom> {
        if let Some(size) = self.known_size(array, k) {
            return Some(size);
        }
        let key = self.size_key(crate::ir::walk::var(array)?, k);
        self.dims.get(&key).map(|v| Atom::Var(*v))
    }

    pub(super) fn dim(&mut self, array: &Atom, k: u8) -> Option<New> {
        if let Some(size) = self.size(array, k) {
            return Some(size.into());
        }
        let new = match self.def(array)? {
            Op::Slice { lo, hi, .. } if k == 0 => {
                Op::IntFits(IntOp::Sub, vec![hi.clone(), lo.clone()])
            }
            Op::Slice { array, .. } => Op::Dim(array.clone(), k),
            Op::Get(array, indices) => Op::Dim(array.clone(), k + indices.len() as u8),
            Op::Append(a, b) if k == 0 => {
                Op::IntFits(IntOp::Add, vec![self.size(a, 0)?, self.size(b, 0)?])
            }
            _ => return None,
        };
        Some(new.into())
    }

    pub(super) fn get(
        &mut self,
        array: &Atom,
        indices: &[Atom],
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Option<New> {
        let (first, rest) = indices.split_first()?;
        let within = |array: Atom| -> New {
            if rest.is_empty() {
                array.into()
            } else {
                Op::Get(array, rest.to_vec()).into()
            }
        };
        match self.def(array)?.clone() {
            Op::Elements(_, xs) | Op::Rows(xs) => match first {
                Atom::Int(i) => Some(within(xs.get(usize::try_from(*i).ok()?)?.clone())),
                _ if xs.len() == 1 => Some(within(xs[0].clone())),
                _ => None,
            },
            Op::Get(array, mut outer) => {
                outer.extend_from_slice(indices);
                Some(Op::Get(array, outer).into())
            }
            Op::Slice { array, lo, .. } => {
                let sum = Op::IntFits(IntOp::Add, vec![lo, first.clone()]);
                let mut indices = vec![self.emit(sum, FlatTy::Int, site, out)];
                indices.extend_from_slice(rest);
                Some(Op::Get(array, indices).into())
            }
            Op::Update { array, indices: at, value } => {
                self.get_updated(array, &at, value, indices)
            }
            Op::Append(a, b) => {
                let (Atom::Int(i), Atom::Int(n)) = (first, self.known_size(&a, 0)?) else {
                    return None;
                };
                let (part, i) = if *i < n { (a, *i) } else { (b, i - n) };
                match self.def(&part)? {
                    Op::Elements(_, xs) => Some(xs.get(usize::try_from(i).ok()?)?.clone().into()),
                    _ => None,
                }
            }
            Op::Reshape(source, sizes) => self.get_reshaped(source, &sizes, indices, site, out),
            _ => None,
        }
    }

    /// An element of an array of which another, or the same, was replaced.
    fn get_updated(&self, array: Atom, at: &[Atom], value: Atom, indices: &[Atom]) -> Option<New> {
        let (mut array, mut at, mut value) = (array, at.to_vec(), value);
        loop {
            let common = at.len().min(indices.len());
            let equal = at.iter().zip(indices).all(|(a, b)| same(a, b));
            if equal && common == at.len() {
                let rest = &indices[common..];
                let whole = rest.is_empty();
                return Some(if whole {
                    value.into()
                } else {
                    Op::Get(value, rest.to_vec()).into()
                });
            }
            if !at.iter().zip(indices).any(|pair| self.differ(pair.0, pair.1)) {
                return None;
            }
            match (self.def(&array)?, indices) {
                (Op::Update { array: a, indices: i, value: v }, _) => {
                    (array, at, value) = (a.clone(), i.clone(), v.clone());
                }
                (Op::Elements(_, xs), [Atom::Int(i)]) => {
                    return xs.get(usize::try_from(*i).ok()?).map(|x| x.clone().into());
                }
                (_, _) => return None,
            }
        }
    }

    /// Whether two Ints are certainly different: they are the same but for constants.
    fn differ(&self, a: &Atom, b: &Atom) -> bool {
        let split = |a: &Atom| match (a, self.def(a)) {
            (Atom::Int(n), _) => (None, *n),
            (a, Some(Op::Int(IntOp::Add, xs) | Op::IntFits(IntOp::Add, xs))) => match &xs[..] {
                [x, Atom::Int(n)] => (Some(x.clone()), *n),
                _ => (Some(a.clone()), 0),
            },
            (a, _) => (Some(a.clone()), 0),
        };
        match (split(a), split(b)) {
            ((None, m), (None, n)) => m != n,
            ((Some(x), m), (Some(y), n)) => same(&x, &y) && m != n,
            (_, _) => false,
        }
    }

    /// An element of a reshaped array, where it takes no division to find.
    fn get_reshaped(
        &mut self,
        source: Atom,
        sizes: &[Atom],
        indices: &[Atom],
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Option<New> {
        let FlatTy::Array(_, rank) = self.ty(&source) else { return None };
        if rank > 1 || indices.len() < sizes.len() {
            return None;
        }
        let mut position = indices.first()?.clone();
        for (size, index) in sizes.iter().zip(indices).skip(1) {
            let scaled = Op::IntFits(IntOp::Mul, vec![position, size.clone()]);
            let scaled = self.emit(scaled, FlatTy::Int, site, out);
            let sum = Op::IntFits(IntOp::Add, vec![scaled, index.clone()]);
            position = self.emit(sum, FlatTy::Int, site, out);
        }
        Some(Op::Get(source, vec![position]).into())
    }

    pub(super) fn slice(
        &mut self,
        array: &Atom,
        lo: &Atom,
        hi: &Atom,
        site: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Option<New> {
        if matches!(lo, Atom::Int(0)) && self.is_size(hi, array) {
            return Some(array.clone().into());
        }
        // An empty array is no view of the array, and shares no adjoint with it.
        if let (true, FlatTy::Array(elem, 1)) = (same(lo, hi), self.ty(array)) {
            return Some(Op::Empty(elem, 1).into());
        }
        let Op::Slice { array, lo: start, .. } = self.def(array)?.clone() else { return None };
        let mut shifted = |this: &mut Self, by: &Atom| {
            let sum = Op::IntFits(IntOp::Add, vec![start.clone(), by.clone()]);
            this.emit(sum, FlatTy::Int, site, out)
        };
        let lo = shifted(self, lo);
        let hi = shifted(self, hi);
        Some(Op::Slice { array, lo, hi }.into())
    }

    /// Whether an Int is the first size of an array.
    pub(super) fn is_size(&self, n: &Atom, array: &Atom) -> bool {
        if self.known_size(array, 0).is_some_and(|size| same(&size, n)) {
            return true;
        }
        matches!(self.def(n), Some(Op::Dim(a, 0)) if same(a, array))
    }

    /// An update that puts back what was there is the array.
    pub(super) fn update(&mut self, array: &Atom, indices: &[Atom], value: &Atom) -> Option<New> {
        if let Some(Op::Elements(elem, xs)) = self.def(array) {
            if let [Atom::Int(i)] = indices {
                let (elem, mut xs) = (*elem, xs.clone());
                *xs.get_mut(usize::try_from(*i).ok()?)? = value.clone();
                // Many elements are not copied for one.
                return (xs.len() <= 16).then(|| Op::Elements(elem, xs).into());
            }
        }
        let Some(Op::Get(from, at)) = self.def(value) else { return None };
        let unchanged = same(from, array)
            && at.len() == indices.len()
            && at.iter().zip(indices).all(|(a, b)| same(a, b));
        unchanged.then(|| array.clone().into())
    }

    pub(super) fn append(&mut self, a: &Atom, b: &Atom) -> Option<New> {
        if let (Some(Op::Elements(elem, xs)), Some(Op::Elements(_, ys))) =
            (self.def(a), self.def(b))
        {
            if xs.len() + ys.len() <= 16 {
                return Some(Op::Elements(*elem, xs.iter().chain(ys).cloned().collect()).into());
            }
        }
        // Of rank 1; rows of another array may be needed for their sizes.
        let flat = matches!(self.ty(a), FlatTy::Array(_, 1));
        let none = |x: &Atom| matches!(self.known_size(x, 0), Some(Atom::Int(0)));
        match () {
            () if flat && none(a) => Some(b.clone().into()),
            () if flat && none(b) => Some(a.clone().into()),
            () => None,
        }
    }

    pub(super) fn reshape(&mut self, array: &Atom, sizes: &[Atom]) -> Option<New> {
        let FlatTy::Array(_, rank) = self.ty(array) else { return None };
        // As many elements in one dimension are the same array.
        if rank == 1 && sizes.len() == 1 {
            return Some(array.clone().into());
        }
        let same_sizes = usize::from(rank) == sizes.len()
            && sizes.iter().enumerate().all(|(k, size)| {
                self.known_size(array, k as u8).is_some_and(|s| same(&s, size))
                    || matches!(self.def(size), Some(Op::Dim(a, j)) if same(a, array) && usize::from(*j) == k)
            });
        if same_sizes {
            return Some(array.clone().into());
        }
        match self.def(array)? {
            Op::Reshape(source, _) => Some(Op::Reshape(source.clone(), sizes.to_vec()).into()),
            _ => None,
        }
    }

    /// `elements` of all elements of an array, one by one, is the array.
    pub(super) fn elements(&mut self, _: Elem, xs: &[Atom]) -> Option<New> {
        let Op::Get(array, indices) = self.def(xs.first()?)? else { return None };
        let (prefix, array) = (indices.split_last()?.1.to_vec(), array.clone());
        let in_order = xs.iter().enumerate().all(|(i, x)| match self.def(x) {
            Some(Op::Get(from, at)) => {
                same(from, &array)
                    && at.len() == prefix.len() + 1
                    && at.iter().zip(&prefix).all(|(a, b)| same(a, b))
                    && matches!(at.last(), Some(Atom::Int(j)) if *j == i as i64)
            }
            _ => false,
        });
        let k = prefix.len() as u8;
        let n = Atom::Int(xs.len() as i64);
        if !in_order || !self.known_size(&array, k).is_some_and(|size| same(&size, &n)) {
            return None;
        }
        element_of(&self.ty(&array), prefix.len())?;
        Some(if prefix.is_empty() { array.into() } else { Op::Get(array, prefix).into() })
    }
}
