//! Types of Jacobians: the result's type of a function with its argument's type in the place of each Real.
//!
//! In a declared type that place is in its arguments, `Maybe[Real]`: a Real in the declaration itself has none.
//!
//! They are known when the result's type is. Where an annotation names that type by a variable, each use of the
//! definition decides; where nothing determines it, the function is one from arrays to arrays.

use super::constraint::{Constraint, SolveStatus};
use super::error::Because;
use super::Infer;
use crate::types::{instantiate_params, DataIdx, Made, Nest, Ty, TyVar, TypeClass, Walk};
use diffeo_base::{deep, Diagnostic, Name, Span};
use std::collections::HashSet;

/// How many declared types may be in a type.
const MOST: usize = 200;

/// How long such a type may be, written out: one that grows may double with each step.
const LONGEST: usize = 2000;

/// Why a type has no type of Jacobians.
enum NoNest {
    /// It is not known.
    Open(TyVar),
    /// The declaration of this type in it holds Reals.
    Declared(DataIdx),
}

impl Infer<'_> {
    pub(super) fn nest(&mut self, nest: &Nest, span: Span, name: &Name) -> SolveStatus {
        match self.nested(&nest.of, &nest.with, &mut Made::default()) {
            Ok(ty) => self.must(span, &nest.out, &ty, &Because::Use),
            Err(NoNest::Open(v)) => return SolveStatus::Wait(vec![v]),
            Err(NoNest::Declared(data)) => {
                let (text, data) = (self.show(&nest.of), self.db.data(data).name.clone());
                let of = if *name == "hessian" { "argument" } else { "result" };
                let message = format!("`{name}` cannot be taken at type {text}");
                self.db.report(
                    Diagnostic::error("jacobian-type", span, message)
                        .note(format!(
                            "a derivative stands in the place of every Real of the {of}, and the declaration of `{data}` has no place for it"
                        ))
                        .help(format!(
                            "make the Real a parameter of the type, `type {data}[r] = …`; or differentiate by an array of the Reals, `{name}(fn v -> f(unravel(x, v)))(ravel(x))`"
                        )),
                );
                let _ = self.store().unify(&nest.out, &Ty::Error);
            }
        }
        SolveStatus::Done
    }

    fn nested(&mut self, of: &Ty, with: &Ty, made: &mut Made<Ty>) -> Result<Ty, NoNest> {
        let of = self.store().shallow(of);
        if let Some(made) = made.get(&of) {
            return Ok(made);
        }
        let nested = deep(|| match &of {
            Ty::Real => Ok(with.clone()),
            Ty::Var(v) => Err(NoNest::Open(*v)),
            Ty::Fun(_) => Ok(of.clone()),
            Ty::Data(d, args) => {
                if !self.has_real(&of, &mut Vec::new(), &mut Made::default())? {
                    return Ok(of.clone());
                }
                let units: Vec<Ty> = args.iter().map(|_| Ty::Unit).collect();
                let frame = Ty::Data(*d, units.into());
                let declares = self.has_real(&frame, &mut Vec::new(), &mut Made::default())?;
                if declares || !self.is_finite(&frame) {
                    return Err(NoNest::Declared(*d));
                }
                of.with_parts(&mut |t| self.nested(t, with, made))
            }
            _ => of.with_parts(&mut |t| self.nested(t, with, made)),
        })?;
        made.put(&of, &nested);
        Ok(nested)
    }

    /// Whether the declared types within one are finitely many: `type T[a] = A(T[(a, a)])` has ever larger ones.
    fn is_finite(&mut self, ty: &Ty) -> bool {
        let mut seen: HashSet<String> = HashSet::new();
        let mut pending = vec![ty.clone()];
        while let Some(ty) = pending.pop() {
            let mut walk = Walk::of(&ty);
            while let Some(ty) = walk.next(&self.db.store) {
                if matches!(ty, Ty::Fun(_)) {
                    walk.skip();
                }
                let Ty::Data(d, args) = &ty else { continue };
                walk.skip();
                let text = self.show(&ty);
                if text.len() > LONGEST {
                    return false;
                }
                if !seen.insert(text) {
                    continue;
                }
                let constructors = &self.db.data(*d).constructors;
                let fields = constructors.iter().flat_map(|c| &c.fields);
                pending.extend(fields.map(|t| instantiate_params(t, args)));
                if seen.len() > MOST {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a Real is in a type.
    fn has_real(
        &mut self,
        ty: &Ty,
        seen: &mut Vec<DataIdx>,
        made: &mut Made<bool>,
    ) -> Result<bool, NoNest> {
        let ty = self.store().shallow(ty);
        if let Some(known) = made.get(&ty) {
            return Ok(known);
        }
        let mut any = |cx: &mut Self, types: &[Ty]| {
            types.iter().try_fold(false, |found, t| Ok(found || cx.has_real(t, seen, made)?))
        };
        let found = match &ty {
            Ty::Real => true,
            Ty::Error | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                false
            }
            Ty::Var(v) => return Err(NoNest::Open(*v)),
            Ty::Tuple(ts) => any(self, ts)?,
            Ty::Record(fs) => {
                let types: Vec<Ty> = fs.iter().map(|(_, t)| t.clone()).collect();
                any(self, &types)?
            }
            Ty::Array(_, t) => any(self, std::slice::from_ref(&**t))?,
            Ty::Data(d, args) => {
                if any(self, args)? {
                    true
                } else if seen.contains(d) {
                    false
                } else {
                    seen.push(*d);
                    let constructors = &self.db.data(*d).constructors;
                    let fields = constructors.iter().flat_map(|c| &c.fields);
                    let fields: Vec<Ty> = fields.map(|t| instantiate_params(t, args)).collect();
                    fields
                        .iter()
                        .try_fold(false, |found, t| Ok(found || self.has_real(t, seen, made)?))?
                }
            }
        };
        made.put(&ty, &found);
        Ok(found)
    }

    /// Takes the function of a Jacobian for one from arrays to arrays, where nothing else is known of it.
    pub(super) fn close_nest(&mut self) -> bool {
        for i in 0..self.constraints.len() {
            let Constraint::Nest { nest, .. } = &self.constraints[i] else { continue };
            let (of, with) = (nest.of.clone(), nest.with.clone());
            let made = &mut Made::default();
            let Err(NoNest::Open(v)) = self.nested(&of, &with, made) else { continue };
            let store = &self.db.store;
            let free = |v: TyVar| {
                matches!(store.class(v).0, TypeClass::Any | TypeClass::Add | TypeClass::Vec)
            };
            if store.is_rigid(v) || !free(v) {
                continue;
            }
            let with = store.open_var(&with).filter(|v| !store.is_rigid(*v) && free(*v));
            let array = |cx: &mut Self| {
                let size = cx.store().fresh_size();
                Ty::array(size, Ty::Real)
            };
            let whole = store.open_var(&of).is_some();
            let ty = if whole { array(self) } else { Ty::Real };
            let mut done = self.store().unify(&Ty::Var(v), &ty).is_ok();
            if let Some(with) = with {
                let ty = array(self);
                done |= self.store().unify(&Ty::Var(with), &ty).is_ok();
            }
            self.solve();
            if done {
                return true;
            }
        }
        false
    }
}
