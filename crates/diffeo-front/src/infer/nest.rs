//! Types of Jacobians: the result's type of a function with its argument's type in the place of each Real.
//!
//! In a declared type that place is in its arguments, `Maybe[Real]`: a Real in the declaration itself has none.
//!
//! They are known when the result's type is. Where an annotation names that type by a variable, each use of the
//! definition decides; where nothing determines it, the function is one from arrays to arrays.

use super::constraint::{Constraint, SolveStatus};
use super::error::Because;
use super::Infer;
use crate::types::{instantiate_params, DataIdx, Nest, Ty, TyVar, TypeClass};
use diffeo_base::{Diagnostic, Name, Span};
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
        match self.nested(&nest.of, &nest.with) {
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

    fn nested(&mut self, of: &Ty, with: &Ty) -> Result<Ty, NoNest> {
        Ok(match self.store().shallow(of) {
            Ty::Real => with.clone(),
            t @ (Ty::Error
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Fun(_)
            | Ty::Param(_)) => t,
            Ty::Tuple(ts) => Ty::Tuple(
                ts.iter().map(|t| self.nested(t, with)).collect::<Result<Vec<_>, _>>()?.into(),
            ),
            Ty::Record(fs) => Ty::Record(
                fs.iter()
                    .map(|(n, t)| Ok((n.clone(), self.nested(t, with)?)))
                    .collect::<Result<Vec<_>, NoNest>>()?
                    .into(),
            ),
            Ty::Array(s, t) => Ty::array(s, self.nested(&t, with)?),
            t @ Ty::Data(..) if !self.has_real(&t, &mut Vec::new())? => t,
            Ty::Data(d, args) => {
                let units: Vec<Ty> = args.iter().map(|_| Ty::Unit).collect();
                let frame = Ty::Data(d, units.into());
                if self.has_real(&frame, &mut Vec::new())? || !self.is_finite(&frame) {
                    return Err(NoNest::Declared(d));
                }
                let args = args.iter().map(|t| self.nested(t, with));
                Ty::Data(d, args.collect::<Result<Vec<_>, _>>()?.into())
            }
            Ty::Var(v) => return Err(NoNest::Open(v)),
        })
    }

    /// Whether the declared types within one are finitely many: `type T[a] = A(T[(a, a)])` has ever larger ones.
    fn is_finite(&mut self, ty: &Ty) -> bool {
        let mut seen: HashSet<String> = HashSet::new();
        let mut pending = vec![ty.clone()];
        while let Some(ty) = pending.pop() {
            match self.store().shallow(&ty) {
                Ty::Tuple(ts) => pending.extend(ts.iter().cloned()),
                Ty::Record(fs) => pending.extend(fs.iter().map(|(_, t)| t.clone())),
                Ty::Array(_, t) => pending.push(Ty::clone(&t)),
                Ty::Data(d, args) => {
                    let text = self.show(&ty);
                    if text.len() > LONGEST {
                        return false;
                    }
                    if !seen.insert(text) {
                        continue;
                    }
                    let constructors = &self.db.data(d).constructors;
                    let fields = constructors.iter().flat_map(|c| &c.fields);
                    pending.extend(fields.map(|t| instantiate_params(t, &args)));
                }
                _ => {}
            }
            if seen.len() > MOST {
                return false;
            }
        }
        true
    }

    /// Whether a Real is in a type.
    fn has_real(&mut self, ty: &Ty, seen: &mut Vec<DataIdx>) -> Result<bool, NoNest> {
        let any = |cx: &mut Self, types: &[Ty], seen: &mut Vec<DataIdx>| {
            types.iter().try_fold(false, |found, t| Ok(found || cx.has_real(t, seen)?))
        };
        match self.store().shallow(ty) {
            Ty::Real => Ok(true),
            Ty::Error | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                Ok(false)
            }
            Ty::Tuple(ts) => any(self, &ts, seen),
            Ty::Record(fs) => {
                let types: Vec<Ty> = fs.iter().map(|(_, t)| t.clone()).collect();
                any(self, &types, seen)
            }
            Ty::Array(_, t) => self.has_real(&t, seen),
            Ty::Data(d, args) => {
                if any(self, &args, seen)? {
                    return Ok(true);
                }
                if seen.contains(&d) {
                    return Ok(false);
                }
                seen.push(d);
                let constructors = &self.db.data(d).constructors;
                let fields = constructors.iter().flat_map(|c| &c.fields);
                let fields: Vec<Ty> = fields.map(|t| instantiate_params(t, &args)).collect();
                any(self, &fields, seen)
            }
            Ty::Var(v) => Err(NoNest::Open(v)),
        }
    }

    /// Takes the function of a Jacobian for one from arrays to arrays, where nothing else is known of it.
    pub(super) fn close_nest(&mut self) -> bool {
        for i in 0..self.constraints.len() {
            let Constraint::Nest { nest, .. } = &self.constraints[i] else { continue };
            let (of, with) = (nest.of.clone(), nest.with.clone());
            let Err(NoNest::Open(v)) = self.nested(&of, &with) else { continue };
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
