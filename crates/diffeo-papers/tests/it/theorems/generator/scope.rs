//! Binders and what is in scope.

use super::types::first_order;
use super::Generator;
use crate::support::{app, term};
use diffeo_base::Name;
use diffeo_calculus::term::{Binder, Term, TermKind, Var};
use diffeo_calculus::Ty;

/// Something that can be referred to.
#[derive(Clone)]
pub struct ScopeEntry {
    /// Its type.
    pub ty: Ty,
    /// The variable or definition.
    pub term: Term,
    /// Whether all arrays in it, also through tuples, have length [`super::ROW`].
    pub regular: bool,
}

impl Generator<'_> {
    /// A new variable. The letter of its name tells its type.
    pub fn binder(&mut self, ty: &Ty) -> (Binder, Term) {
        self.next += 1;
        let letter = match ty {
            Ty::Real => "x",
            Ty::Int => "n",
            Ty::Bool => "b",
            Ty::String => "s",
            Ty::Unit => "u",
            Ty::Tuple(_) | Ty::Record(_) => "p",
            Ty::Array(_) => "a",
            Ty::Data(..) => "d",
            Ty::Fun(_) => "f",
            Ty::Param(_) => "t",
        };
        let var = Var { name: Name::new(&format!("{letter}{}", self.next)), id: self.next };
        (Binder { var: var.clone(), ty: ty.clone() }, term(TermKind::Var(var)))
    }

    /// Runs with something in scope.
    pub fn with<R>(
        &mut self,
        ty: &Ty,
        term: &Term,
        regular: bool,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let count = self.scope.len();
        self.scope.push(ScopeEntry { ty: ty.clone(), term: term.clone(), regular });
        let result = run(self);
        self.scope.truncate(count);
        result
    }

    /// Runs as in the body of a function: without functions as values, with no variables but functions.
    pub fn closed<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        if self.features.functions {
            return run(self);
        }
        let outer = self.scope.clone();
        self.scope.retain(|entry| matches!(entry.ty, Ty::Fun(_)));
        let result = run(self);
        self.scope = outer;
        result
    }

    /// Runs in a term that is run so many times more often.
    pub fn repeated<R>(&mut self, times: usize, run: impl FnOnce(&mut Self) -> R) -> R {
        self.steps *= times;
        let result = run(self);
        self.steps /= times;
        result
    }

    /// Everything in scope and its components, innermost first.
    pub fn in_scope(&self) -> Vec<ScopeEntry> {
        let mut found = Vec::new();
        for entry in self.scope.iter().rev() {
            let mut pending = vec![(entry.ty.clone(), entry.term.clone(), 0)];
            while let Some((ty, term, depth)) = pending.pop() {
                if depth < 2 {
                    let parts = Generator::components(&ty, &term).into_iter().rev();
                    pending.extend(parts.map(|(t, part)| (t, part, depth + 1)));
                }
                found.push(ScopeEntry { ty, term, regular: entry.regular });
            }
        }
        found
    }

    /// A variable, or a component of one, of this type; regular if that is asked for.
    pub fn variable(&mut self, ty: &Ty, regular: bool) -> Option<Term> {
        // Without functions as values, functions occur in calls alone.
        if !self.features.functions && !first_order(ty) {
            return None;
        }
        let mut found = self.in_scope();
        found.retain(|entry| entry.ty == *ty && (entry.regular || !regular));
        if found.is_empty() {
            return None;
        }
        // The innermost ones are the likelier: so what is bound is used.
        let (a, b) = (self.choices.below(found.len()), self.choices.below(found.len()));
        Some(found.swap_remove(a.min(b)).term)
    }

    /// Usually the type of something in scope for which this holds, if there is one.
    pub fn type_in_scope(&mut self, holds: impl Fn(&Ty) -> bool) -> Option<Ty> {
        if self.choices.below(4) == 3 {
            return None;
        }
        let mut found = self.in_scope();
        found.retain(|entry| holds(&entry.ty));
        if found.is_empty() {
            return None;
        }
        let chosen = self.choices.below(found.len());
        Some(found.swap_remove(chosen).ty)
    }

    /// A call of a function in scope that gives this type, with arguments by `argument`.
    pub fn call_in_scope(
        &mut self,
        ty: &Ty,
        mut argument: impl FnMut(&mut Self, &Ty) -> Term,
    ) -> Option<Term> {
        let mut found: Vec<(Term, Vec<Ty>)> = Vec::new();
        for entry in self.in_scope() {
            let mut params = Vec::new();
            let mut result = &entry.ty;
            while let Ty::Fun(fun) = result {
                params.push(fun.0.clone());
                result = &fun.1;
                if result == ty {
                    found.push((entry.term.clone(), params.clone()));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        let chosen = self.choices.below(found.len());
        let (function, params) = found.swap_remove(chosen);
        Some(params.iter().fold(function, |f, param| app(f, argument(self, param))))
    }
}
