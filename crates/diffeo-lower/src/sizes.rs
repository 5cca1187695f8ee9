//! The sizes that a type annotation names, looked up in a value: [`SizePattern`].
//!
//! A size is bound where it is first found. Whether it has been found may be known when the program is lowered;
//! where it depends on constructors, or on whether the rows of an array without rows are determined, a size
//! that has not been found is -1.

use super::sym::Sym;
use super::Lower;
use diffeo_array::ir::{Atom, Carried, FlatTy, Op, SiteId};
use diffeo_calculus::prim::{Comparison, SizePattern, SizeRef, SizeShape};
use diffeo_calculus::Ty;

/// What is known of a size.
#[derive(Clone)]
enum KnownSize {
    No,
    Yes(Atom),
    /// -1 if it has not been found.
    Perhaps(Atom),
}

impl KnownSize {
    fn atom(&self) -> Atom {
        match self {
            KnownSize::No => Atom::Int(-1),
            KnownSize::Yes(atom) | KnownSize::Perhaps(atom) => atom.clone(),
        }
    }
}

struct SizeMatch<'s> {
    pattern: &'s SizePattern,
    /// The component of the value that is being looked at; none within a tuple that has not been entered.
    part: Option<usize>,
    bound: Vec<KnownSize>,
    at: SiteId,
}

impl<'p> Lower<'p> {
    /// The sizes bound by a pattern, as a tuple.
    pub(super) fn sizes(
        &mut self,
        pattern: &SizePattern,
        ty: &Ty,
        value: &Sym,
        given: &[Sym],
        at: SiteId,
    ) -> Sym {
        let mut bound = vec![KnownSize::No; pattern.names.len()];
        for (bound, value) in bound.iter_mut().zip(given) {
            if let Some(atom) = self.atom(value) {
                *bound = KnownSize::Yes(atom);
            }
        }
        let mut sizes = SizeMatch { pattern, part: pattern.first_part(), bound, at };
        self.find(&mut sizes, &pattern.shape, ty, value);
        let given = pattern.given.min(pattern.names.len());
        let mut found: Vec<Sym> = Vec::new();
        for bound in &sizes.bound[given..] {
            found.push(Sym::Leaf(match bound {
                KnownSize::No => Atom::Int(0),
                KnownSize::Yes(atom) => atom.clone(),
                KnownSize::Perhaps(atom) => {
                    self.int(diffeo_calculus::prim::IntOp::Max, atom.clone(), Atom::Int(0), at)
                }
            }));
        }
        match found.len() {
            0 => Sym::Unit,
            1 => found.swap_remove(0),
            _ => Sym::Tuple(found.into()),
        }
    }

    fn find(&mut self, sizes: &mut SizeMatch<'_>, shape: &SizeShape, ty: &Ty, value: &Sym) {
        match (shape, ty) {
            (SizeShape::Any, _) => {}
            (SizeShape::Array(size, rows), Ty::Array(element)) => {
                let arrays = self.arrays(value);
                let length = self.length(value, sizes.at);
                self.size(sizes, *size, length, true);
                self.elements(sizes, rows, element, &arrays, 1);
            }
            (SizeShape::Tuple(shapes), ty) => {
                let types = ty.components().unwrap_or_default();
                let outer = sizes.part;
                for (i, (shape, ty)) in shapes.iter().zip(&types).enumerate() {
                    sizes.part = outer.or(Some(i));
                    if !is_any(shape) {
                        let part = self.component(value, i, sizes.at);
                        self.find(sizes, shape, ty, &part);
                    }
                }
            }
            (SizeShape::Data(constructors), Ty::Data(data, args)) => {
                if constructors.iter().flatten().all(is_any) {
                    return;
                }
                let (data, args) = (*data, args.clone());
                let SizeMatch { pattern, part, at, .. } = *sizes;
                let before = sizes.bound.clone();
                let types = vec![FlatTy::Int; before.len()];
                let known = self.switch(value, at, &types, &mut |cx, tag, fields| {
                    let mut inner = SizeMatch { pattern, part, bound: before.clone(), at };
                    let types = cx.program.datas[data.0 as usize].fields(tag, &args);
                    if let Some(shapes) = constructors.get(tag as usize) {
                        for ((shape, ty), field) in shapes.iter().zip(&types).zip(&fields) {
                            cx.find(&mut inner, shape, ty, field);
                        }
                    }
                    inner.bound.iter().map(KnownSize::atom).collect()
                });
                after(&mut sizes.bound, known);
            }
            (SizeShape::Array(..) | SizeShape::Data(_), _) => {
                self.bug("sizes of a value of another type")
            }
        }
    }

    /// The elements of an array, so many dimensions inside. Rows are regular: one look is enough, but at variants.
    fn elements(
        &mut self,
        sizes: &mut SizeMatch<'_>,
        shape: &SizeShape,
        ty: &Ty,
        arrays: &[Atom],
        depth: u8,
    ) {
        let at = sizes.at;
        match (shape, ty) {
            (SizeShape::Any, _) => {}
            (SizeShape::Array(size, rows), Ty::Array(element)) => {
                let Some(first) = arrays.first() else { return };
                let width = self.dim(first, depth, at);
                self.size(sizes, *size, width, false);
                self.elements(sizes, rows, element, arrays, depth + 1);
            }
            (SizeShape::Tuple(shapes), ty) => {
                let types = ty.components().unwrap_or_default();
                let mut from = 0;
                for (shape, ty) in shapes.iter().zip(&types) {
                    let plain = self.plain(ty);
                    let count = self.element_types(&plain).len();
                    self.elements(sizes, shape, ty, &arrays[from..from + count], depth);
                    from += count;
                }
            }
            (SizeShape::Data(constructors), Ty::Data(..)) => {
                if constructors.iter().flatten().all(is_any) {
                    return;
                }
                let Some(first) = arrays.first() else { return };
                let dims: Vec<Atom> = (0..depth).map(|d| self.dim(first, d, at)).collect();
                let count = self.product(&dims, at);
                let flat: Vec<Atom> = match depth {
                    1 => arrays.to_vec(),
                    _ => arrays
                        .iter()
                        .map(|array| self.one(at, Op::Reshape(array.clone(), vec![count.clone()])))
                        .collect(),
                };
                let index = self.f.builder.var(FlatTy::Int, None);
                let carried: Vec<Carried> = sizes
                    .bound
                    .iter()
                    .map(|bound| Carried {
                        param: self.f.builder.var(FlatTy::Int, None),
                        init: bound.atom(),
                    })
                    .collect();
                self.f.builder.open();
                let SizeMatch { pattern, part, .. } = *sizes;
                let mut inner = SizeMatch { pattern, part, bound: sizes.bound.clone(), at };
                after(&mut inner.bound, carried.iter().map(|c| Atom::Var(c.param)).collect());
                let element = self.get(ty, &flat, &Atom::Var(index), at);
                self.find(&mut inner, shape, ty, &element);
                let body = self.f.builder.close(inner.bound.iter().map(KnownSize::atom).collect());
                let known = self.ops(at, Op::For { count, index, carried, body });
                after(&mut sizes.bound, known);
            }
            (SizeShape::Array(..) | SizeShape::Data(_), _) => {
                self.bug("sizes of a value of another type")
            }
        }
    }

    /// A size was found; -1 if it is not `determined`.
    fn size(&mut self, sizes: &mut SizeMatch<'_>, size: SizeRef, found: Atom, determined: bool) {
        let at = sizes.at;
        let expected = match size {
            SizeRef::Any => return,
            SizeRef::Literal(n) => Atom::Int(n as i64),
            SizeRef::Name(i) => match sizes.bound[i].clone() {
                KnownSize::Yes(atom) => atom,
                KnownSize::No => {
                    sizes.bound[i] = match determined {
                        true => KnownSize::Yes(found),
                        false => KnownSize::Perhaps(found),
                    };
                    return;
                }
                KnownSize::Perhaps(atom) => {
                    let open = self.compare(Comparison::Lt, atom.clone(), Atom::Int(0), at);
                    let expected = self.one(at, Op::Select(open, found.clone(), atom));
                    sizes.bound[i] = match determined {
                        true => KnownSize::Yes(expected.clone()),
                        false => KnownSize::Perhaps(expected.clone()),
                    };
                    expected
                }
            },
        };
        let found = if determined { found } else { self.or(found, expected.clone(), at) };
        let what = sizes.pattern.contradicted(size, sizes.part);
        self.ops(at, Op::Check(diffeo_array::ir::Check::Size { what, expected, found }));
    }
}

/// What is known after something that bound sizes, perhaps.
fn after(bound: &mut [KnownSize], atoms: Vec<Atom>) {
    for (bound, atom) in bound.iter_mut().zip(atoms) {
        *bound = match bound {
            KnownSize::Yes(_) => continue,
            KnownSize::No | KnownSize::Perhaps(_) => KnownSize::Perhaps(atom),
        };
    }
}

fn is_any(shape: &SizeShape) -> bool {
    match shape {
        SizeShape::Any => true,
        SizeShape::Array(..) => false,
        SizeShape::Tuple(shapes) => shapes.iter().all(is_any),
        SizeShape::Data(constructors) => constructors.iter().flatten().all(is_any),
    }
}
