//! The adjoints of boxes: shadows that are built up as the backward part runs.
//!
//! The adjoint of a box has the type of its tangents ([`crate::ad::shadow`]), except that arrays in it are bags
//! ([`crate::ad::sparse_adjoint`]). A read of a field adds a shadow in which everything else is zero. Two shadows are added
//! variant by variant, down to where one of them is zero. So each addition uses up a shadow that a read has made, and
//! all of them together take no longer than the reads, however often a box is read and wherever else it is contained.

use super::{unsupported, Reverser};
use crate::ad::shadow::{tangents, varies, ADJOINT};
use crate::ad::sparse_adjoint::AdjointCx;
use crate::ad::sum::{is, sum, zero_tag};
use crate::ad::{differentiable, words, Deriver, Unsupported};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, Elem, FlatTy, Module, Op, Var};
use hashbrown::HashSet;

/// An adjoint of a Real or a box.
#[derive(Clone, Debug)]
pub(super) enum Bar {
    /// As a value.
    Value(Atom),
    /// Of a box with this tag: the adjoints of its fields, as far as they are not zero.
    Fields(u32, Vec<Option<Atom>>),
}

impl Bar {
    /// The adjoint of the field in this place of a shadow, if it is known alone and not zero.
    pub fn field(&self, place: usize) -> Option<Atom> {
        match self {
            Bar::Fields(_, fields) => fields.get(place).cloned().flatten(),
            Bar::Value(_) => None,
        }
    }
}

/// The type of the adjoints of a type of Reals or boxes.
pub(super) fn adjoint(module: &mut Module, cache: &mut Deriver, ty: &FlatTy) -> FlatTy {
    tangents(module, cache, ty, ADJOINT).pop().unwrap_or(FlatTy::Real)
}

/// Whether what varies can be of this type.
pub(super) fn is_supported(module: &Module, ty: &FlatTy) -> bool {
    let mut todo = vec![ty];
    let mut seen = HashSet::new();
    while let Some(ty) = todo.pop() {
        match ty {
            FlatTy::Real | FlatTy::Int | FlatTy::Bool | FlatTy::Text | FlatTy::Acc(_) => {}
            FlatTy::Array(Elem::Real | Elem::Int | Elem::Bool | Elem::Text, _) => {}
            FlatTy::Stack(_) => return false,
            FlatTy::Array(Elem::Box(id), _) | FlatTy::Box(id) => {
                if seen.insert(*id) {
                    let variants = &module.boxes[id.0 as usize].variants;
                    todo.extend(variants.iter().flat_map(|variant| &variant.fields));
                }
            }
        }
    }
    true
}

/// An adjoint of this type that is zero.
pub(super) fn zero_adjoint(b: &mut Builder, module: &Module, ty: &FlatTy) -> Atom {
    match ty {
        FlatTy::Box(id) => b.one(module, Op::New(*id, zero_tag(module, *id), Vec::new())),
        FlatTy::Real
        | FlatTy::Int
        | FlatTy::Bool
        | FlatTy::Text
        | FlatTy::Array(..)
        | FlatTy::Acc(_)
        | FlatTy::Stack(_) => Atom::Real(0.0),
    }
}

/// A shadow with these adjoints of fields.
fn new_shadow(
    b: &mut Builder,
    module: &Module,
    (shadow, tag): (BoxId, u32),
    fields: &[Option<Atom>],
) -> Atom {
    let types = module.boxes[shadow.0 as usize].variants[tag as usize].fields.clone();
    let mut atoms = Vec::new();
    for (field, ty) in fields.iter().zip(&types) {
        atoms.push(field.clone().unwrap_or_else(|| zero_adjoint(b, module, ty)));
    }
    b.one(module, Op::New(shadow, tag, atoms))
}

/// The sum of a shadow, which is zero or has this tag, and these adjoints of fields.
pub(super) fn with_fields(
    (b, module, cache): AdjointCx<'_>,
    old: Atom,
    tag: u32,
    fields: &[Option<Atom>],
) -> Atom {
    let FlatTy::Box(shadow) = b.ty(&old) else { return old };
    let found = b.one(module, Op::Tag(old.clone()));
    let cond = is(b, module, found, i64::from(tag));
    b.open();
    let mut sums = Vec::new();
    for (index, bar) in (0..).zip(fields) {
        let field = b.one(module, Op::Field { object: old.clone(), tag, index });
        sums.push(match bar {
            Some(bar) => sum(b, module, cache, [field, bar.clone()]),
            None => field,
        });
    }
    let made = b.one(module, Op::New(shadow, tag, sums));
    let then = b.close(vec![made]);
    b.open();
    let made = new_shadow(b, module, (shadow, tag), fields);
    let otherwise = b.close(vec![made]);
    b.one(module, Op::If { cond, then, otherwise })
}

impl<'s> Reverser<'_, 's> {
    /// The type of the adjoint of a variable; of an array whose adjoint is in an accumulator, as an array.
    pub fn bar_ty(&mut self, v: Var) -> FlatTy {
        let ty = self.vars[v.0 as usize].ty.clone();
        match ty {
            FlatTy::Array(Elem::Real, _) if !self.has_bar(v) => ty,
            ty => adjoint(self.module, self.cache, &ty),
        }
    }

    /// The adjoint zero of a variable.
    pub fn zero_bar(&mut self, v: Var) -> Atom {
        let ty = self.bar_ty(v);
        zero_adjoint(&mut self.back, self.module, &ty)
    }

    /// The sum of two adjoints, each used for the last time.
    pub fn sum_bars(&mut self, x: Atom, y: Atom) -> Atom {
        sum(&mut self.back, self.module, self.cache, [x, y])
    }

    /// Whether the adjoint of a variable is a value: of a Real, a box, an array of boxes, or one with a bag.
    pub fn has_bar(&self, v: Var) -> bool {
        match self.vars[v.0 as usize].ty {
            FlatTy::Real | FlatTy::Box(_) | FlatTy::Array(Elem::Box(_), _) => true,
            FlatTy::Array(Elem::Real, _) => self.plan.is_bag(v),
            FlatTy::Array(..)
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => false,
        }
    }

    /// The adjoint of a variable as a value.
    pub fn value_of(&mut self, v: Var, bar: Bar) -> Atom {
        match (bar, self.bar_ty(v)) {
            (Bar::Value(atom), _) => atom,
            (Bar::Fields(tag, fields), FlatTy::Box(shadow)) => {
                new_shadow(&mut self.back, self.module, (shadow, tag), &fields)
            }
            (Bar::Fields(..), _) => Atom::Real(0.0),
        }
    }

    /// The sum of a shadow and these adjoints of fields.
    pub fn with_fields(&mut self, old: Atom, tag: u32, fields: &[Option<Atom>]) -> Atom {
        with_fields((&mut self.back, self.module, self.cache), old, tag, fields)
    }

    /// The backward part of the making of a box.
    pub fn new_box(&mut self, result: Var, (id, tag): (BoxId, u32), fields: &[Atom]) {
        let Some(bar) = self.top().bars.remove(&result) else { return };
        let types = self.module.boxes[id.0 as usize].variants[tag as usize].fields.clone();
        // The fields that vary, with their places in the shadow.
        let mut index = 0;
        let mut varying = Vec::new();
        for (field, ty) in fields.iter().zip(&types) {
            if !differentiable(self.module, ty) {
                continue;
            }
            if let (Atom::Var(v), true) = (field, self.varies(field)) {
                varying.push((*v, index));
            }
            index += 1;
        }
        match bar {
            Bar::Value(bar) => self.new_box_value(bar, tag, &varying),
            Bar::Fields(found, bars) if found == tag => {
                for (v, index) in varying {
                    if let Some(Some(bar)) = bars.get(index as usize) {
                        self.add_bar(&Atom::Var(v), bar.clone());
                    }
                }
            }
            // A field of another alternative is read where the program never comes.
            Bar::Fields(..) => {}
        }
    }

    /// The same, where the adjoint is a shadow, which may be zero.
    fn new_box_value(&mut self, bar: Atom, tag: u32, varying: &[(Var, u32)]) {
        let found = self.one(Op::Tag(bar.clone()));
        let cond = is(&mut self.back, self.module, found, i64::from(tag));
        self.back.open();
        let field = |index| Op::Field { object: bar.clone(), tag, index };
        let parts = varying.iter().map(|(_, index)| self.one(field(*index))).collect();
        let then = self.back.close(parts);
        self.back.open();
        let mut zeros = Vec::new();
        for (v, _) in varying {
            let ty = self.vars[v.0 as usize].ty.clone();
            let ty = adjoint(self.module, self.cache, &ty);
            zeros.push(zero_adjoint(&mut self.back, self.module, &ty));
        }
        let otherwise = self.back.close(zeros);
        let parts = self.back.emit(self.module, Op::If { cond, then, otherwise });
        for ((v, _), part) in varying.iter().zip(parts) {
            self.add_bar(&Atom::Var(*v), part);
        }
    }

    /// The backward part of the read of a field, with this adjoint.
    pub fn read_field(&mut self, object: &Atom, (tag, index): (u32, u32), bar: Atom) {
        let Atom::Var(v) = object else { return };
        let FlatTy::Box(id) = self.vars[v.0 as usize].ty else { return };
        let types = &self.module.boxes[id.0 as usize].variants[tag as usize].fields;
        let differ = |ty: &&FlatTy| differentiable(self.module, ty);
        let place = types[..index as usize].iter().filter(differ).count();
        self.add_field(*v, (tag, place), bar);
    }

    /// The types of the fields of a shadow of a box with this tag.
    fn field_types(&mut self, v: Var, tag: u32) -> Vec<FlatTy> {
        match self.bar_ty(v) {
            FlatTy::Box(id) => {
                self.module.boxes[id.0 as usize].variants[tag as usize].fields.clone()
            }
            _ => Vec::new(),
        }
    }

    /// The adjoint zero of the field in this place of the shadow.
    pub fn zero_field(&mut self, v: Var, (tag, place): (u32, usize)) -> Atom {
        let types = self.field_types(v, tag);
        zero_adjoint(&mut self.back, self.module, types.get(place).unwrap_or(&FlatTy::Real))
    }

    /// Whether boxes vary in one alternative only: so a shadow that is not zero is of that one.
    pub fn has_one_variant(&self, v: Var) -> bool {
        let FlatTy::Box(id) = self.vars[v.0 as usize].ty else { return false };
        let variants = &self.module.boxes[id.0 as usize].variants;
        variants.iter().filter(|variant| varies(self.module, variant)).count() == 1
    }

    /// Adds to the adjoint of the field in this place of the shadow of a box.
    pub fn add_field(&mut self, v: Var, (tag, place): (u32, usize), bar: Atom) {
        let mut fields = vec![None; self.field_types(v, tag).len()];
        match self.top().bars.remove(&v) {
            None => fields[place] = Some(bar),
            Some(Bar::Fields(found, bars)) if found == tag => {
                fields = bars;
                let sum = match fields[place].take() {
                    Some(old) => self.sum_bars(old, bar),
                    None => bar,
                };
                fields[place] = Some(sum);
            }
            Some(old) => {
                let old = self.value_of(v, old);
                fields[place] = Some(bar);
                let sum = self.with_fields(old, tag, &fields);
                self.top().bars.insert(v, Bar::Value(sum));
                return;
            }
        }
        self.top().bars.insert(v, Bar::Fields(tag, fields));
    }

    /// Whether all that varies is of types that are supported.
    pub fn check_types(&self) -> Result<(), Unsupported> {
        for (info, varies) in self.vars.iter().zip(&self.activity.varied) {
            if *varies && !is_supported(self.module, &info.ty) {
                return unsupported(format!("reverse mode through {}", words(&info.ty)));
            }
        }
        Ok(())
    }
}
