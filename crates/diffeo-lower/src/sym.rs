//! Symbolic values: what a variable of Core stands for while a program is lowered; and their conversion from
//! and to the values of a [`Shape`].

use super::shape::{Shape, VariantLayout};
use super::Lower;
use diffeo_array::ir::{Atom, Block, BoxId, FlatTy, Op, SiteId};
use std::rc::Rc;

/// A value as it is known when the program is lowered.
#[derive(Clone, Debug)]
pub(super) enum Sym {
    /// There is none: the program has stopped.
    Never,
    /// `()`
    Unit,
    /// A scalar, or data in a box.
    Leaf(Atom),
    /// A tuple or record.
    Tuple(Rc<[Sym]>),
    /// A tuple or variant in a box of this shape.
    Boxed(Atom, BoxId, Rc<Shape>),
    /// An array.
    Array(Rc<[Atom]>),
    /// A variant with a known constructor.
    Con(Rc<VariantLayout>, u32, Rc<[Sym]>),
    /// A variant: its tag (0 if it has one constructor) and slots.
    Sum(Rc<VariantLayout>, Atom, Rc<[Atom]>),
    /// A function with known code, by its parameter, and the values that it captured.
    Known(u32, Rc<[Sym]>),
    /// A function of this type in a box.
    Dynamic(u32, Atom),
}

/// An Int that no program computes.
const POISON: i64 = 0x5aa5_5aa5_5aa5_5aa5;

/// What is done for a constructor: given its tag and fields, the results.
type ArmFn<'a, L> = dyn FnMut(&mut L, u32, Vec<Sym>) -> Vec<Atom> + 'a;

impl Sym {
    pub fn int(n: i64) -> Sym {
        Sym::Leaf(Atom::Int(n))
    }

    pub fn is_never(&self) -> bool {
        matches!(self, Sym::Never)
    }
}

impl Lower<'_> {
    /// What is known of a value.
    pub(super) fn shape_of(&mut self, value: &Sym) -> Shape {
        let shapes = |cx: &mut Self, values: &Rc<[Sym]>| -> Rc<[Shape]> {
            values.iter().map(|value| cx.shape_of(value)).collect()
        };
        match value {
            Sym::Never => Shape::Never,
            Sym::Unit => Shape::Unit,
            Sym::Leaf(atom) => Shape::Leaf(self.f.builder.ty(atom)),
            Sym::Tuple(parts) => Shape::Tuple(shapes(self, parts)),
            Sym::Boxed(_, id, inner) => Shape::Boxed(*id, inner.clone()),
            Sym::Array(arrays) => {
                Shape::Array(arrays.iter().map(|a| self.f.builder.ty(a)).collect())
            }
            Sym::Con(sum, tag, fields) => Shape::Con(sum.clone(), *tag, shapes(self, fields)),
            Sym::Sum(sum, ..) => Shape::Sum(sum.clone()),
            Sym::Known(lambda, captured) => Shape::Known(*lambda, shapes(self, captured)),
            Sym::Dynamic(function, _) => Shape::Dynamic(*function),
        }
    }

    /// The shape of a value that has one of two shapes.
    pub(super) fn meet(&mut self, a: &Shape, b: &Shape) -> Shape {
        if a == b {
            return a.clone();
        }
        let all = |cx: &mut Self, a: &Rc<[Shape]>, b: &Rc<[Shape]>| -> Rc<[Shape]> {
            a.iter().zip(b.iter()).map(|(a, b)| cx.meet(a, b)).collect()
        };
        match (a, b) {
            (Shape::Never, other) | (other, Shape::Never) => other.clone(),
            (Shape::Tuple(a), Shape::Tuple(b)) => Shape::Tuple(all(self, a, b)),
            (Shape::Con(sum, m, a), Shape::Con(_, n, b)) if m == n => {
                Shape::Con(sum.clone(), *m, all(self, a, b))
            }
            (Shape::Con(sum, ..), _) | (_, Shape::Con(sum, ..)) => Shape::Sum(sum.clone()),
            (Shape::Sum(sum), _) | (_, Shape::Sum(sum)) => Shape::Sum(sum.clone()),
            (Shape::Boxed(..), _) => a.clone(),
            (_, Shape::Boxed(..)) => b.clone(),
            (Shape::Known(f, a), Shape::Known(g, b)) if f == g => Shape::Known(*f, all(self, a, b)),
            (Shape::Known(f, _), Shape::Known(..)) => Shape::Dynamic(self.function_of(*f)),
            (Shape::Dynamic(_), _) => a.clone(),
            (_, Shape::Dynamic(_)) => b.clone(),
            (
                Shape::Unit | Shape::Leaf(_) | Shape::Tuple(_) | Shape::Array(_) | Shape::Known(..),
                _,
            ) => {
                self.bug("two branches have values of different types");
                a.clone()
            }
        }
    }

    /// What stands in the slot of a variant whose constructor has no such field. A Real is 0, constantly: cotangents,
    /// tangents and Taylor coefficients may be taken from all slots, whatever the tag is. Nobody reads the others.
    fn absent(&self, ty: &FlatTy) -> Atom {
        match ty {
            FlatTy::Real => Atom::Real(0.0),
            FlatTy::Int if self.options.poison => Atom::Int(POISON),
            FlatTy::Bool if self.options.poison => Atom::Bool(true),
            FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => Atom::Unused(ty.clone()),
        }
    }

    /// The values that a value of this shape consists of.
    pub(super) fn store(&mut self, value: &Sym, shape: &Shape, at: SiteId) -> Vec<Atom> {
        let mut atoms = Vec::new();
        self.store_into(value, shape, at, &mut atoms);
        atoms
    }

    fn store_into(&mut self, value: &Sym, shape: &Shape, at: SiteId, out: &mut Vec<Atom>) {
        match (value, shape) {
            (Sym::Never, shape) => out.extend(self.types(shape).into_iter().map(Atom::Unused)),
            (Sym::Unit, Shape::Unit) => {}
            (Sym::Leaf(atom), Shape::Leaf(_)) => out.push(atom.clone()),
            (Sym::Tuple(parts), Shape::Tuple(shapes)) => {
                for (part, shape) in parts.iter().zip(shapes.iter()) {
                    self.store_into(part, shape, at, out);
                }
            }
            (Sym::Boxed(atom, ..), Shape::Boxed(..)) => out.push(atom.clone()),
            (_, Shape::Boxed(id, inner)) => {
                let boxed = match &**inner {
                    Shape::Sum(_) => self.box_variant(value, *id, at),
                    inner => {
                        let fields = self.store(value, inner, at);
                        self.one(at, Op::New(*id, 0, fields))
                    }
                };
                out.push(boxed);
            }
            (Sym::Boxed(_, _, inner), Shape::Sum(sum)) if matches!(**inner, Shape::Sum(_)) => {
                let (sum, shape) = (sum.clone(), shape.clone());
                let types: Vec<FlatTy> = sum.types().collect();
                let atoms = self.switch(value, at, &types, &mut |cx, tag, fields| {
                    cx.store(&Sym::Con(sum.clone(), tag, fields.into()), &shape, at)
                });
                out.extend(atoms);
            }
            (Sym::Boxed(..), Shape::Tuple(_)) => {
                let parts = self.components(value, at);
                self.store_into(&Sym::Tuple(parts), shape, at, out);
            }
            (Sym::Array(arrays), Shape::Array(_)) => out.extend(arrays.iter().cloned()),
            (Sym::Con(_, m, fields), Shape::Con(_, n, shapes)) if m == n => {
                for (field, shape) in fields.iter().zip(shapes.iter()) {
                    self.store_into(field, shape, at, out);
                }
            }
            (Sym::Con(_, tag, fields), Shape::Sum(sum)) => {
                if sum.tagged() {
                    out.push(Atom::Int(i64::from(*tag)));
                }
                let mut slots: Vec<Atom> = sum.slots.iter().map(|ty| self.absent(ty)).collect();
                let alternative = &sum.alternatives[*tag as usize];
                let mut places = alternative.slots.iter();
                for (field, shape) in fields.iter().zip(&alternative.fields) {
                    for atom in self.store(field, shape, at) {
                        if let Some(place) = places.next() {
                            slots[*place] = atom;
                        }
                    }
                }
                out.extend(slots);
            }
            (Sym::Sum(sum, tag, slots), Shape::Sum(_)) => {
                if sum.tagged() {
                    out.push(tag.clone());
                }
                out.extend(slots.iter().cloned());
            }
            (Sym::Known(_, captured), Shape::Known(_, shapes)) => {
                for (value, shape) in captured.iter().zip(shapes.iter()) {
                    self.store_into(value, shape, at, out);
                }
            }
            (Sym::Known(lambda, captured), Shape::Dynamic(_)) => {
                let closure = self.closure(*lambda, captured, at);
                out.push(closure);
            }
            (Sym::Dynamic(_, atom), Shape::Dynamic(_)) => out.push(atom.clone()),
            (
                Sym::Unit
                | Sym::Leaf(_)
                | Sym::Tuple(_)
                | Sym::Boxed(..)
                | Sym::Array(_)
                | Sym::Con(..)
                | Sym::Sum(..)
                | Sym::Known(..)
                | Sym::Dynamic(..),
                _,
            ) => {
                self.bug(&format!("{value:?} has not the shape {shape:?}"));
                out.extend(self.types(shape).into_iter().map(Atom::Unused));
            }
        }
    }

    /// A variant in a box.
    fn box_variant(&mut self, value: &Sym, id: BoxId, at: SiteId) -> Atom {
        let fields = self.box_fields(id);
        let mut make = |cx: &mut Self, tag: u32, values: Vec<Sym>| -> Vec<Atom> {
            let mut atoms = Vec::new();
            for (value, shape) in values.iter().zip(&fields[tag as usize]) {
                cx.store_into(value, shape, at, &mut atoms);
            }
            vec![cx.one(at, Op::New(id, tag, atoms))]
        };
        let mut made = self.switch(value, at, &[FlatTy::Box(id)], &mut make);
        made.pop().unwrap_or(Atom::Unused(FlatTy::Box(id)))
    }

    /// The value of this shape that consists of these values.
    pub(super) fn load(&self, shape: &Shape, atoms: &mut impl Iterator<Item = Atom>) -> Sym {
        let mut next = || atoms.next().unwrap_or(Atom::Unused(FlatTy::Int));
        match shape {
            Shape::Never => Sym::Never,
            Shape::Unit => Sym::Unit,
            Shape::Leaf(_) => Sym::Leaf(next()),
            Shape::Tuple(shapes) => {
                Sym::Tuple(shapes.iter().map(|s| self.load(s, atoms)).collect())
            }
            Shape::Boxed(id, inner) => Sym::Boxed(next(), *id, inner.clone()),
            Shape::Array(types) => Sym::Array(types.iter().map(|_| next()).collect()),
            Shape::Con(sum, tag, shapes) => {
                Sym::Con(sum.clone(), *tag, shapes.iter().map(|s| self.load(s, atoms)).collect())
            }
            Shape::Sum(sum) => {
                let tag = if sum.tagged() { next() } else { Atom::Int(0) };
                Sym::Sum(sum.clone(), tag, sum.slots.iter().map(|_| next()).collect())
            }
            Shape::Known(lambda, shapes) => {
                Sym::Known(*lambda, shapes.iter().map(|s| self.load(s, atoms)).collect())
            }
            Shape::Dynamic(function) => Sym::Dynamic(*function, next()),
        }
    }

    // Elements of arrays

    /// What an element of an array is in the arrays that it consists of.
    pub(super) fn element(&mut self, value: &Sym, shape: &Shape, at: SiteId) -> Vec<Atom> {
        let mut atoms = Vec::new();
        self.element_into(value, shape, at, &mut atoms);
        atoms
    }

    fn element_into(&mut self, value: &Sym, shape: &Shape, at: SiteId, out: &mut Vec<Atom>) {
        match (shape, value) {
            (_, Sym::Never) => {
                let types = self.element_types(shape);
                out.extend(
                    types.into_iter().map(|(elem, rank)| Atom::Unused(FlatTy::array(elem, rank))),
                );
            }
            (Shape::Unit, _) => out.push(Atom::Bool(false)),
            (Shape::Tuple(parts), _) if parts.is_empty() => out.push(Atom::Bool(false)),
            (Shape::Tuple(shapes), _) => {
                let parts = self.components(value, at);
                for (part, shape) in parts.iter().zip(shapes.iter()) {
                    self.element_into(part, shape, at, out);
                }
            }
            (Shape::Boxed(_, inner), _) => self.element_into(value, inner, at, out),
            (Shape::Sum(sum), _) => match sum.boxed {
                Some(id) => {
                    self.store_into(value, &Shape::Boxed(id, Rc::new(shape.clone())), at, out)
                }
                None => {
                    let before = out.len();
                    self.store_into(value, shape, at, out);
                    if out.len() == before {
                        out.push(Atom::Bool(false));
                    }
                }
            },
            (
                Shape::Never
                | Shape::Leaf(_)
                | Shape::Array(_)
                | Shape::Con(..)
                | Shape::Known(..)
                | Shape::Dynamic(_),
                _,
            ) => self.store_into(value, shape, at, out),
        }
    }

    /// The element that is this in the arrays.
    pub(super) fn element_of(&self, shape: &Shape, atoms: &mut impl Iterator<Item = Atom>) -> Sym {
        match shape {
            Shape::Never | Shape::Unit => {
                atoms.next();
                Sym::Unit
            }
            Shape::Tuple(parts) if parts.is_empty() => {
                atoms.next();
                Sym::Tuple(Rc::new([]))
            }
            Shape::Tuple(shapes) => {
                Sym::Tuple(shapes.iter().map(|s| self.element_of(s, atoms)).collect())
            }
            Shape::Boxed(_, inner) => self.element_of(inner, atoms),
            Shape::Sum(sum) => match sum.boxed {
                Some(id) => {
                    let atom = atoms.next().unwrap_or(Atom::Unused(FlatTy::Box(id)));
                    Sym::Boxed(atom, id, Rc::new(shape.clone()))
                }
                None => {
                    let value = self.load(shape, atoms);
                    if sum.types().next().is_none() {
                        atoms.next();
                    }
                    value
                }
            },
            Shape::Leaf(_)
            | Shape::Array(_)
            | Shape::Con(..)
            | Shape::Known(..)
            | Shape::Dynamic(_) => self.load(shape, atoms),
        }
    }

    // Parts

    /// The components of a tuple.
    pub(super) fn components(&mut self, tuple: &Sym, at: SiteId) -> Rc<[Sym]> {
        match tuple {
            Sym::Tuple(parts) => parts.clone(),
            Sym::Boxed(object, _, inner) => {
                let types = self.types(inner);
                let atoms: Vec<Atom> = (0..types.len() as u32)
                    .map(|index| self.one(at, Op::Field { object: object.clone(), tag: 0, index }))
                    .collect();
                match self.load(inner, &mut atoms.into_iter()) {
                    Sym::Tuple(parts) => parts,
                    _ => Rc::new([]),
                }
            }
            Sym::Never
            | Sym::Unit
            | Sym::Leaf(_)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..)
            | Sym::Known(..)
            | Sym::Dynamic(..) => {
                self.bug("a tuple was expected");
                Rc::new([])
            }
        }
    }

    /// A component of a tuple.
    pub(super) fn component(&mut self, tuple: &Sym, index: usize, at: SiteId) -> Sym {
        match tuple {
            Sym::Never => Sym::Never,
            Sym::Boxed(object, _, inner) => {
                let Shape::Tuple(shapes) = &**inner else { return Sym::Never };
                let first: usize = shapes[..index].iter().map(|s| self.types(s).len()).sum();
                let count = self.types(&shapes[index]).len();
                let atoms: Vec<Atom> = (first..first + count)
                    .map(|i| {
                        let op = Op::Field { object: object.clone(), tag: 0, index: i as u32 };
                        self.one(at, op)
                    })
                    .collect();
                self.load(&shapes[index], &mut atoms.into_iter())
            }
            Sym::Unit
            | Sym::Leaf(_)
            | Sym::Tuple(_)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..)
            | Sym::Known(..)
            | Sym::Dynamic(..) => {
                self.components(tuple, at).get(index).cloned().unwrap_or(Sym::Never)
            }
        }
    }

    /// The tag of a variant: known, or a value.
    pub(super) fn tag(&mut self, variant: &Sym, at: SiteId) -> Result<u32, Atom> {
        match variant {
            Sym::Con(_, tag, _) => Ok(*tag),
            Sym::Sum(sum, tag, _) if sum.tagged() => Err(tag.clone()),
            Sym::Leaf(object) | Sym::Boxed(object, ..) => {
                let FlatTy::Box(id) = self.f.builder.ty(object) else {
                    self.bug("a variant was expected");
                    return Ok(0);
                };
                match self.box_fields(id).len() {
                    1 => Ok(0),
                    _ => Err(self.one(at, Op::Tag(object.clone()))),
                }
            }
            Sym::Sum(..)
            | Sym::Never
            | Sym::Unit
            | Sym::Tuple(_)
            | Sym::Array(_)
            | Sym::Known(..)
            | Sym::Dynamic(..) => Ok(0),
        }
    }

    /// The fields of a variant that has this tag.
    pub(super) fn fields(&mut self, variant: &Sym, tag: u32, at: SiteId) -> Vec<Sym> {
        match variant {
            Sym::Con(_, _, fields) => fields.to_vec(),
            Sym::Sum(sum, _, slots) => {
                let Some(alternative) = sum.alternatives.get(tag as usize) else {
                    return Vec::new();
                };
                let mut atoms = alternative.slots.iter().map(|slot| slots[*slot].clone());
                alternative.fields.iter().map(|shape| self.load(shape, &mut atoms)).collect()
            }
            Sym::Leaf(object) | Sym::Boxed(object, ..) => {
                let FlatTy::Box(id) = self.f.builder.ty(object) else { return Vec::new() };
                let all = self.box_fields(id);
                let Some(shapes) = all.get(tag as usize) else { return Vec::new() };
                let mut index = 0;
                let mut fields = Vec::new();
                for shape in shapes {
                    let count = self.types(shape).len() as u32;
                    let atoms: Vec<Atom> = (index..index + count)
                        .map(|index| self.one(at, Op::Field { object: object.clone(), tag, index }))
                        .collect();
                    index += count;
                    fields.push(self.load(shape, &mut atoms.into_iter()));
                }
                fields
            }
            Sym::Never
            | Sym::Unit
            | Sym::Tuple(_)
            | Sym::Array(_)
            | Sym::Known(..)
            | Sym::Dynamic(..) => Vec::new(),
        }
    }

    /// How many constructors a variant has.
    pub(super) fn constructors(&mut self, variant: &Sym) -> u32 {
        match variant {
            Sym::Con(sum, ..) | Sym::Sum(sum, ..) => sum.alternatives.len() as u32,
            Sym::Leaf(object) | Sym::Boxed(object, ..) => match self.f.builder.ty(object) {
                FlatTy::Box(id) => self.box_fields(id).len() as u32,
                _ => 0,
            },
            Sym::Never
            | Sym::Unit
            | Sym::Tuple(_)
            | Sym::Array(_)
            | Sym::Known(..)
            | Sym::Dynamic(..) => 0,
        }
    }

    /// Does something for the constructor of a variant, given its tag and fields; gives values of these types.
    pub(super) fn switch(
        &mut self,
        variant: &Sym,
        at: SiteId,
        types: &[FlatTy],
        arm: &mut ArmFn<'_, Self>,
    ) -> Vec<Atom> {
        if variant.is_never() {
            return types.iter().cloned().map(Atom::Unused).collect();
        }
        match self.tag(variant, at) {
            Ok(tag) => {
                let fields = self.fields(variant, tag, at);
                arm(self, tag, fields)
            }
            Err(on) => {
                let mut arms: Vec<(i64, Block)> = Vec::new();
                for tag in 0..self.constructors(variant) {
                    self.f.builder.open();
                    let fields = self.fields(variant, tag, at);
                    let results = arm(self, tag, fields);
                    arms.push((i64::from(tag), self.f.builder.close(results)));
                }
                self.ops(at, Op::Switch { on, arms, default: None })
            }
        }
    }
}
