//! Terms: what binds, makes, moves and takes apart values.

use super::sym::Sym;
use super::Lower;
use diffeo_array::ir::{Atom, Op, SiteId};
use diffeo_base::deep;
use diffeo_calculus::term::{Binder, Lit, Term, TermKind, Var};
use std::rc::Rc;

impl<'p> Lower<'p> {
    /// The value of a term.
    pub(super) fn term(&mut self, term: &'p Term) -> Sym {
        deep(|| self.kind(term))
    }

    /// The value of a term of a scalar type; none if the program stops before.
    pub(super) fn scalar(&mut self, term: &'p Term) -> Option<Atom> {
        let value = self.term(term);
        self.atom(&value)
    }

    /// The scalar that a value is; none if the program has stopped.
    pub(super) fn atom(&mut self, value: &Sym) -> Option<Atom> {
        match value {
            Sym::Leaf(atom) => Some(atom.clone()),
            Sym::Never => None,
            Sym::Unit
            | Sym::Tuple(_)
            | Sym::Boxed(..)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..)
            | Sym::Known(..)
            | Sym::Dynamic(..) => {
                self.bug("a scalar was expected");
                None
            }
        }
    }

    /// The values of terms, in order; none if the program stops before.
    pub(super) fn terms(&mut self, terms: &'p [Term]) -> Option<Vec<Sym>> {
        let mut values = Vec::with_capacity(terms.len());
        for term in terms {
            let value = self.term(term);
            if value.is_never() {
                return None;
            }
            values.push(value);
        }
        Some(values)
    }

    pub(super) fn bind(&mut self, binder: &Binder, value: Sym) {
        if let Sym::Leaf(atom) = &value {
            self.f.builder.name(atom, &binder.var.name);
        }
        if let Some(frame) = self.f.frames.last_mut() {
            frame.insert(binder.var.id, value);
        }
    }

    /// Binds variables to the values of terms, in order; false if the program stops before.
    pub(super) fn bindings(&mut self, bindings: &'p [(Binder, Term)]) -> bool {
        for (binder, value) in bindings {
            let value = self.term(value);
            if value.is_never() {
                return false;
            }
            self.bind(binder, value);
        }
        true
    }

    fn variable(&mut self, var: &Var) -> Sym {
        match self.f.frames.last().and_then(|frame| frame.get(&var.id)) {
            Some(value) => value.clone(),
            None => {
                self.bug(&format!("the variable {}.{} has no value", var.name, var.id));
                Sym::Never
            }
        }
    }

    pub(super) fn literal(&mut self, literal: &Lit, at: SiteId) -> Sym {
        match literal {
            Lit::Real(x) => Sym::Leaf(Atom::Real(*x)),
            Lit::Int(n) => Sym::int(*n),
            Lit::Bool(b) => Sym::Leaf(Atom::Bool(*b)),
            Lit::String(text) => Sym::Leaf(self.one(at, Op::Text(text.clone()))),
            Lit::Unit => Sym::Unit,
        }
    }

    /// A function with what it captures.
    fn lambda(&mut self, parameter: &Binder) -> Sym {
        let Some(lambda) = self.lambdas.get(&parameter.var.id).cloned() else {
            self.bug("a function that was not found beforehand");
            return Sym::Never;
        };
        Sym::Known(
            lambda.id,
            lambda.captured.iter().map(|binder| self.variable(&binder.var)).collect(),
        )
    }

    fn kind(&mut self, term: &'p Term) -> Sym {
        let at = self.site(term.span);
        match &term.kind {
            TermKind::Var(var) => self.variable(var),
            TermKind::Global(id) => self.global(*id, at),
            TermKind::Lit(literal) => self.literal(literal, at),
            TermKind::Lam(parameter, _) => self.lambda(parameter),
            TermKind::App(function, arg) => self.application(function, arg, at),
            TermKind::Let(bindings, body) => {
                if !self.bindings(bindings) {
                    return Sym::Never;
                }
                self.term(body)
            }
            TermKind::LetRec(binder, function, body) => {
                if let TermKind::Lam(parameter, _) = &function.kind {
                    let function = self.lambda(parameter);
                    self.bind(binder, function);
                }
                self.term(body)
            }
            TermKind::Tuple(_, terms) => match self.terms(terms) {
                Some(values) => Sym::Tuple(values.into()),
                None => Sym::Never,
            },
            TermKind::Proj(_, index, tuple) => {
                let tuple = self.term(tuple);
                self.component(&tuple, *index, at)
            }
            TermKind::Con(data, args, tag, terms) => {
                let Some(values) = self.terms(terms) else { return Sym::Never };
                self.construct(&diffeo_calculus::Ty::Data(*data, args.clone()), *tag, values, at)
            }
            TermKind::Case(case) => self.case(case, at),
            TermKind::If(condition, yes, no) => self.if_(condition, yes, no, at),
            TermKind::Array(element, terms) => {
                let Some(values) = self.terms(terms) else { return Sym::Never };
                self.array_of(element, &values, at)
            }
            TermKind::Build(build) => self.build(build, at),
            TermKind::Loop(l) => self.loop_(l, at),
            TermKind::Prim(prim, args) => self.prim(prim, args, at),
            TermKind::Diff(diff, args) => {
                let Some(values) = self.terms(args) else { return Sym::Never };
                self.diff(diff, &values, at)
            }
        }
    }

    fn application(&mut self, function: &'p Term, arg: &'p Term, at: SiteId) -> Sym {
        if let TermKind::Lam(binder, body) = &function.kind {
            let arg = self.term(arg);
            if arg.is_never() {
                return Sym::Never;
            }
            self.bind(binder, arg);
            return self.term(body);
        }
        // A function that is called at one place only is lowered there.
        let in_place = match &function.kind {
            TermKind::Var(var) => self.uses.get(&var.id) == Some(&1),
            _ => false,
        };
        let function = self.term(function);
        if function.is_never() {
            return Sym::Never;
        }
        let in_place = in_place && self.is_local(&function);
        let arg = self.term(arg);
        self.apply(&function, &arg, in_place, at)
    }

    /// Whether it is a function within a definition, which is there for the places where it is used.
    fn is_local(&self, function: &Sym) -> bool {
        match function {
            Sym::Known(id, _) => self.lambdas.get(id).is_some_and(|lambda| !lambda.global),
            Sym::Never
            | Sym::Unit
            | Sym::Leaf(_)
            | Sym::Tuple(_)
            | Sym::Boxed(..)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..)
            | Sym::Dynamic(..) => false,
        }
    }

    /// A variant with these fields.
    pub(super) fn construct(
        &mut self,
        ty: &diffeo_calculus::Ty,
        tag: u32,
        values: Vec<Sym>,
        at: SiteId,
    ) -> Sym {
        use super::shape::Shape;
        use diffeo_array::ir::FlatTy;
        match self.plain(ty) {
            Shape::Sum(sum) => Sym::Con(sum, tag, values.into()),
            Shape::Leaf(FlatTy::Box(id)) => {
                let fields = self.box_fields(id);
                let mut atoms = Vec::new();
                for (value, shape) in values.iter().zip(&fields[tag as usize]) {
                    atoms.extend(self.store(value, shape, at));
                }
                Sym::Leaf(self.one(at, Op::New(id, tag, atoms)))
            }
            shape => {
                self.bug(&format!("a constructor of the shape {shape:?}"));
                Sym::Tuple(Rc::new([]))
            }
        }
    }
}
