//! Static knowledge of array sizes: which sizes are equal, and which comprehensions certainly have rows of one size.

use crate::ir::walk::{binders, deep, same, statements};
use crate::ir::{Atom, Block, FlatTy, Function, Op, Stmt, Var, VarInfo};

/// The size of an array in a dimension.
#[derive(Clone, Debug)]
pub(crate) enum Size {
    /// This Int.
    Is(Atom),
    /// What [`Op::Dim`] gives of this variable.
    Of(Var, u8),
}

/// A size, and whether it holds even where the array has no rows (then the size of rows may be -1).
#[derive(Clone, Debug)]
pub(crate) struct SizeExtent {
    pub size: Size,
    pub always: bool,
}

/// The sizes of the arrays of a function.
pub(crate) struct Shapes {
    /// Those of all variables in a row.
    extents: Vec<SizeExtent>,
    /// By variable, where its own begin; one number more.
    first: Vec<u32>,
    /// Loop parameters whose arrays have the sizes of what the loop began with.
    keeps: Vec<Option<Var>>,
    /// The position of definitions in the text of the function.
    order: Vec<u32>,
    /// Of the results of comprehensions, whether their rows certainly have one size.
    regular: Vec<bool>,
    /// Comprehensions to be judged at the end: where their region begins, a result, the body's result.
    builds: Vec<(u32, Var, Atom)>,
    next: u32,
}

impl Shapes {
    /// The sizes in a function.
    pub fn of(function: &Function) -> Shapes {
        let is_array = |v: &VarInfo| matches!(v.ty, FlatTy::Array(..));
        Shapes::from(function, function.vars.iter().any(is_array))
    }

    /// The sizes in a function, for callers that only ask whether comprehensions have rows of one size. It is cheap for
    /// functions that make no rows, which are most.
    pub fn of_rows(function: &Function) -> Shapes {
        let is_matrix =
            |v: &Var| matches!(function.vars[v.0 as usize].ty, FlatTy::Array(_, rank) if rank > 1);
        let mut some = false;
        statements(&function.body, &mut |stmt| {
            some |= matches!(stmt.op, Op::Build { .. }) && stmt.results.iter().any(is_matrix);
        });
        Shapes::from(function, some)
    }

    /// The sizes in a function, if `some` are asked for.
    fn from(function: &Function, some: bool) -> Shapes {
        let count = if some { function.vars.len() } else { 0 };
        let mut first = vec![0];
        let mut extents = Vec::new();
        for (v, info) in function.vars.iter().take(count).enumerate() {
            if let FlatTy::Array(_, rank) = info.ty {
                let size = |k| Size::Of(Var(v as u32), k);
                extents.extend((0..rank).map(|k| SizeExtent { size: size(k), always: true }));
            }
            first.push(extents.len() as u32);
        }
        let mut shapes = Shapes {
            extents,
            first,
            keeps: vec![None; count],
            order: vec![0; count],
            regular: vec![false; count],
            builds: Vec::new(),
            next: 0,
        };
        if !some {
            return shapes;
        }
        for p in &function.params {
            shapes.define(*p);
        }
        shapes.block(&function.body);
        for (start, result, element) in std::mem::take(&mut shapes.builds) {
            shapes.regular[result.0 as usize] = match &element {
                Atom::Var(v) => shapes.own(*v).iter().all(|e| shapes.known_before(&e.size, start)),
                Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => true,
            };
        }
        shapes
    }

    /// Whether the rows of this result of a comprehension certainly have one size.
    pub fn is_regular(&self, result: Var) -> bool {
        self.regular.get(result.0 as usize).copied().unwrap_or(false)
    }

    /// The size of an array in a dimension, resolved as far as it is known; `None` of a new variable.
    pub fn extent(&self, array: Var, k: u8) -> Option<SizeExtent> {
        let extent = self.own(array).get(usize::from(k))?;
        Some(SizeExtent { size: self.resolve(&extent.size), always: extent.always })
    }

    /// Follows what loops keep.
    fn resolve(&self, size: &Size) -> Size {
        let mut size = size.clone();
        while let Size::Of(v, k) = size {
            let Some(init) = self.keeps[v.0 as usize] else { break };
            match self.own(init).get(usize::from(k)) {
                Some(extent) if extent.always => size = extent.size.clone(),
                // Not known but by looking at that array.
                Some(_) | None => return Size::Of(init, k),
            }
        }
        size
    }

    fn known_before(&self, size: &Size, start: u32) -> bool {
        match self.resolve(size) {
            Size::Is(Atom::Var(v)) | Size::Of(v, _) => self.order[v.0 as usize] < start,
            Size::Is(_) => true,
        }
    }

    /// The sizes of a variable; none of a new one.
    fn own(&self, v: Var) -> &[SizeExtent] {
        let v = v.0 as usize;
        match self.first.get(v..v + 2) {
            Some([first, end]) => &self.extents[*first as usize..*end as usize],
            _ => &[],
        }
    }

    fn define(&mut self, v: Var) {
        self.next += 1;
        self.order[v.0 as usize] = self.next;
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    fn extents_of(&self, atom: &Atom) -> &[SizeExtent] {
        match atom {
            Atom::Var(v) => self.own(*v),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => &[],
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        binders(&stmt.op, |v| self.define(v));
        let start = self.next;
        match &stmt.op {
            Op::If { then, otherwise, .. } => deep(|| {
                self.block(then);
                self.block(otherwise);
            }),
            Op::Switch { arms, default, .. } => deep(|| {
                arms.iter().for_each(|(_, arm)| self.block(arm));
                default.iter().for_each(|arm| self.block(arm));
            }),
            Op::While { cond, body, .. } => deep(|| {
                self.block(cond);
                self.block(body);
            }),
            Op::For { body, .. } | Op::Build { body, .. } | Op::Reduce { body, .. } => {
                deep(|| self.block(body));
            }
            _ => {}
        }
        for v in &stmt.results {
            self.define(*v);
        }
        self.results(stmt, start);
    }

    /// What the results of a statement have, after its regions.
    fn results(&mut self, stmt: &Stmt, start: u32) {
        if stmt.results.iter().all(|v| self.own(*v).is_empty()) {
            return;
        }
        let whole = |a: &Atom| self.extents_of(a).to_vec();
        let known = match &stmt.op {
            Op::Get(a, indices) => self
                .extents_of(a)
                .get(indices.len()..)
                .map(<[SizeExtent]>::to_vec)
                .unwrap_or_default(),
            Op::Slice { array, lo, hi } => {
                let mut extents = whole(array);
                let size = match (lo, hi) {
                    (Atom::Int(lo), Atom::Int(hi)) => Some(Atom::Int(hi.wrapping_sub(*lo))),
                    (Atom::Int(0), hi) => Some(hi.clone()),
                    (lo, hi) if same(lo, hi) => Some(Atom::Int(0)),
                    (_, _) => None,
                };
                if let (Some(first), Some(v)) = (extents.first_mut(), stmt.results.first()) {
                    first.size = size.map_or(Size::Of(*v, 0), Size::Is);
                }
                extents
            }
            Op::Update { array, .. } => whole(array),
            Op::Elements(_, xs) => vec![number(xs.len())],
            Op::Rows(xs) => {
                let mut extents = vec![number(xs.len())];
                if let Some(x) = xs.first() {
                    extents.extend(whole(x));
                }
                extents
            }
            Op::Reshape(_, sizes) => sizes
                .iter()
                .map(|s| SizeExtent { size: Size::Is(s.clone()), always: true })
                .collect(),
            Op::ArgSort(a) => whole(a),
            Op::Build { count, body, .. } => {
                for (result, element) in stmt.results.iter().zip(&body.results) {
                    self.builds.push((start, *result, element.clone()));
                    let mut extents =
                        vec![SizeExtent { size: Size::Is(count.clone()), always: true }];
                    for (k, extent) in self.extents_of(element).iter().enumerate() {
                        // Where there are no elements, rows have no sizes.
                        extents.push(if self.known_before(&extent.size, start) {
                            SizeExtent { size: self.resolve(&extent.size), always: false }
                        } else {
                            SizeExtent { size: Size::Of(*result, k as u8 + 1), always: true }
                        });
                    }
                    self.set(*result, extents);
                }
                return;
            }
            Op::If { then, otherwise, .. } => {
                for (i, result) in stmt.results.iter().enumerate() {
                    let extents =
                        self.agreed(*result, start, [&then.results[i], &otherwise.results[i]]);
                    self.set(*result, extents);
                }
                return;
            }
            Op::Switch { arms, default, .. } => {
                for (i, result) in stmt.results.iter().enumerate() {
                    let atoms = arms.iter().map(|(_, b)| b).chain(default).map(|b| &b.results[i]);
                    let extents = self.agreed(*result, start, atoms);
                    self.set(*result, extents);
                }
                return;
            }
            Op::For { carried, body, .. } | Op::While { carried, body, .. } => {
                for (i, result) in stmt.results.iter().enumerate() {
                    let (param, Atom::Var(init)) = (carried[i].param, &carried[i].init) else {
                        continue;
                    };
                    let (first, last) = (self.own(*init), self.extents_of(&body.results[i]));
                    let count = last.len();
                    let keeps = last.iter().enumerate().all(|(k, extent)| {
                        let size = self.resolve(&extent.size);
                        let begins = first.get(k).filter(|first| first.always && extent.always);
                        matches!(size, Size::Of(v, j) if v == param && j == k as u8)
                            || begins
                                .is_some_and(|first| same_size(&self.resolve(&first.size), &size))
                    });
                    if keeps && count > 0 {
                        self.keeps[param.0 as usize] = Some(*init);
                        let resolved = |k| SizeExtent {
                            size: self.resolve(&Size::Of(param, k as u8)),
                            always: true,
                        };
                        let extents = (0..count).map(resolved).collect();
                        self.set(*result, extents);
                    }
                }
                return;
            }
            // The others give no arrays, or arrays of which nothing is known.
            _ => return,
        };
        if let Some(v) = stmt.results.first() {
            self.set(*v, known);
        }
    }

    /// What the ends of branches agree on.
    fn agreed<'a>(
        &self,
        result: Var,
        start: u32,
        atoms: impl IntoIterator<Item = &'a Atom>,
    ) -> Vec<SizeExtent> {
        if self.own(result).is_empty() {
            return Vec::new();
        }
        let atoms: Vec<&Atom> = atoms.into_iter().collect();
        let used = |a: &&Atom| !matches!(a, Atom::Unused(_));
        let all = atoms.iter().all(used);
        let mut atoms = atoms.into_iter().filter(used);
        let first: Vec<SizeExtent> =
            atoms.next().map(|a| self.extents_of(a).to_vec()).unwrap_or_default();
        let mut agreed: Vec<Option<Size>> = first
            .iter()
            .map(|e| {
                Some(self.resolve(&e.size)).filter(|s| self.known_before(s, start) && e.always)
            })
            .collect();
        for atom in atoms {
            let other = self.extents_of(atom);
            for (k, size) in agreed.iter_mut().enumerate() {
                let equal = match (&size, other.get(k)) {
                    (Some(size), Some(other)) if other.always => {
                        same_size(size, &self.resolve(&other.size))
                    }
                    _ => false,
                };
                if !equal {
                    *size = None;
                }
            }
        }
        // Where the result is not used, its size is not that of the other array, whoever asks for it.
        let known = |size: &Size| all || matches!(size, Size::Is(_));
        let extent = |(k, size): (usize, Option<Size>)| SizeExtent {
            size: size.filter(known).unwrap_or(Size::Of(result, k as u8)),
            always: true,
        };
        agreed.into_iter().enumerate().map(extent).collect()
    }

    /// Notes the extents, the first of which always holds, and those behind positive numbers.
    fn set(&mut self, v: Var, mut extents: Vec<SizeExtent>) {
        if extents.len() != self.own(v).len() {
            return;
        }
        let mut rows = true;
        for extent in &mut extents {
            extent.always |= rows;
            rows &= matches!(extent.size, Size::Is(Atom::Int(n)) if n > 0);
        }
        let first = self.first[v.0 as usize] as usize;
        for (own, extent) in self.extents[first..].iter_mut().zip(extents) {
            *own = extent;
        }
    }
}

fn number(n: usize) -> SizeExtent {
    SizeExtent { size: Size::Is(Atom::Int(n as i64)), always: true }
}

/// Whether two sizes are the same for sure.
pub(crate) fn same_size(a: &Size, b: &Size) -> bool {
    match (a, b) {
        (Size::Is(a), Size::Is(b)) => same(a, b),
        (Size::Of(v, j), Size::Of(w, k)) => v == w && j == k,
        (Size::Is(_), Size::Of(..)) | (Size::Of(..), Size::Is(_)) => false,
    }
}
