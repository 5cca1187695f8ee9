//! Terms of every type: variables, `let`, `if`, `case`, calls, tuples, variants. The forms that belong to
//! one type are in the other files.

use super::types::{datas, first_order, has_rows, LIST, MAYBE, ROW, SHAPE, TREE};
use super::{Choices, Generator};
use crate::support::{
    app, array, boolean, cons, fail, if_, int, nil, prim, proj, real, term, text, tuple, unit,
};
use diffeo_calculus::prim::{Comparison, Prim};
use diffeo_calculus::term::{Arm, Case, Term, TermKind};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::Ty;
use std::rc::Rc;

/// The most that loops and recursions around a term may repeat it.
const MOST_STEPS: usize = 40;

/// The forms that any type has.
#[derive(Clone, Copy)]
enum TermForm {
    /// The simplest there is, without further choices.
    Simplest,
    /// A variable or literal.
    Leaf,
    /// What belongs to the type.
    Own,
    Let,
    Component,
    If,
    Case,
    Call,
    Apply,
    Recursion,
    Fold,
    Loop,
    Derivative,
    Effect,
    Fail,
}

impl Generator<'_> {
    /// A term of this type with about so many forms in it.
    pub fn term(&mut self, ty: &Ty, size: usize) -> Term {
        let start = self.choices.made();
        let term = self.term_of_form(ty, size);
        self.choices.term_since(start);
        term
    }

    /// The forms that a term of this size may have, beside leaves.
    fn forms(&self, size: usize) -> Vec<TermForm> {
        if size == 0 {
            return Vec::new();
        }
        let f = self.features;
        // Programs are to compute something.
        let mut forms = vec![TermForm::Own; 12];
        let repeat = self.steps < MOST_STEPS;
        let mut add = |condition: bool, new: &[TermForm]| {
            if condition {
                forms.extend(new);
            }
        };
        add(true, &[TermForm::Let; 4]);
        add(true, &[TermForm::Component]);
        add(f.conditionals, &[TermForm::If]);
        add(f.variants, &[TermForm::Case]);
        add(f.functions, &[TermForm::Apply]);
        add(f.functions || f.recursion || f.globals, &[TermForm::Call, TermForm::Call]);
        add(f.recursion && repeat, &[TermForm::Recursion]);
        add(f.lists && repeat, &[TermForm::Fold]);
        add(f.loops && repeat, &[TermForm::Loop]);
        add(f.rd || f.derivatives || f.stop_gradient, &[TermForm::Derivative]);
        add(f.effects, &[TermForm::Effect]);
        add(f.partial, &[TermForm::Fail]);
        forms
    }

    fn term_of_form(&mut self, ty: &Ty, size: usize) -> Term {
        let f = self.features;
        let rest = size.saturating_sub(1);
        let forms = self.forms(size);
        let form = match self.choices.form(forms.len()) {
            0 => TermForm::Simplest,
            1 => TermForm::Leaf,
            form => forms[form - 2],
        };
        match form {
            TermForm::Simplest => self.simplest(ty),
            TermForm::Leaf => self.leaf(ty),
            TermForm::Own => self.own(ty, rest),
            TermForm::Let => self.let_form(ty, rest),
            TermForm::Component => {
                let mut types = vec![ty.clone(), self.ty(1)];
                if self.choices.flag() {
                    types.swap(0, 1);
                }
                let place = usize::from(types[0] != *ty);
                let pair = Ty::tuple(types);
                proj(&pair, place, self.term(&pair, rest))
            }
            TermForm::If => {
                let condition = self.condition(rest / 3);
                let yes = self.term(ty, rest / 3);
                if_(condition, yes, self.term(ty, rest / 3))
            }
            TermForm::Case => self.case(ty, rest),
            TermForm::Call => {
                let call = self.call_in_scope(ty, |g, param| g.term(param, rest / 2));
                match call {
                    Some(call) => call,
                    None if f.functions => self.apply(ty, rest),
                    None => self.own(ty, rest),
                }
            }
            TermForm::Apply => self.apply(ty, rest),
            TermForm::Recursion => self.recursion(ty, rest),
            TermForm::Fold => self.fold(ty, rest),
            TermForm::Loop => self.loop_form(ty, rest),
            TermForm::Derivative => match self.derivative(ty, rest) {
                Some(term) => term,
                None => self.own(ty, rest),
            },
            TermForm::Effect => {
                let label = self.leaf(&Ty::String);
                if first_order(ty) && !self.choices.flag() {
                    return prim(Prim::Trace(ty.clone()), vec![label, self.term(ty, rest)]);
                }
                let (step, x) = (self.leaf(&Ty::Int), self.term(&Ty::Real, rest / 2));
                let args = vec![label, step, x, self.term(ty, rest / 2)];
                prim(Prim::Progress(ty.clone()), args)
            }
            TermForm::Fail => {
                let condition = self.condition(rest / 2);
                if_(condition, self.term(ty, rest / 2), fail(ty.clone(), "stopped"))
            }
        }
    }

    /// `(λx. M) N`, or a function made by other means.
    fn apply(&mut self, ty: &Ty, size: usize) -> Term {
        let from = self.ty(1);
        let function = self.term(&Ty::fun(from.clone(), ty.clone()), size / 2);
        app(function, self.term(&from, size / 2))
    }

    /// The leaf of the simplest choices.
    fn simplest(&mut self, ty: &Ty) -> Term {
        let choices = std::mem::replace(&mut self.choices, Choices::new(&[]));
        let term = self.leaf(ty);
        self.choices = choices;
        term
    }

    /// A variable or a literal, or a small term of them.
    pub fn leaf(&mut self, ty: &Ty) -> Term {
        if self.choices.below(8) < 7 {
            if let Some(x) = self.variable(ty, false) {
                return x;
            }
        }
        match ty {
            Ty::Real => real(self.choices.pick(&[1.0, 0.5, 2.0, -1.0, 0.0, -0.5, 1.5, 3.0])),
            Ty::Int => int(self.choices.pick(&[1, 0, 2, 3, -1])),
            Ty::Bool => boolean(!self.choices.flag()),
            Ty::String => text(self.choices.pick(&["", "a", "b c"])),
            Ty::Unit => unit(),
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                let items = types.iter().map(|t| self.leaf(t)).collect();
                term(TermKind::Tuple(ty.clone(), items))
            }
            Ty::Array(element) => {
                let count = self.choices.pick(&[2, 1, 3, 0]);
                let items = (0..count).map(|_| self.leaf_element(element)).collect();
                array((**element).clone(), items)
            }
            Ty::Data(LIST, args) => {
                let count = self.choices.pick(&[1, 0, 2, 3]);
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.leaf(&args[0]));
                }
                items
                    .into_iter()
                    .rev()
                    .fold(nil(args[0].clone()), |tail, head| cons(args[0].clone(), head, tail))
            }
            Ty::Data(data, args) => {
                let decl = &datas()[data.0 as usize];
                let last = decl.constructors.len() as u32 - 1;
                // The fields of the last constructor: a tree's are empty trees.
                let tag = if self.choices.flag() { 0 } else { last };
                let fields = decl.fields(tag, args);
                let fields = fields.iter().map(|field| match field == ty {
                    true => term(TermKind::Con(*data, args.clone(), 0, Vec::new())),
                    false => self.leaf(field),
                });
                let fields = fields.collect();
                term(TermKind::Con(*data, args.clone(), tag, fields))
            }
            Ty::Fun(fun) => self.lam(&fun.0, |g, _| g.leaf(&fun.1)),
            Ty::Param(_) => panic!("parameters stand in declarations"),
        }
    }

    /// The simplest element of an array.
    pub fn leaf_element(&mut self, ty: &Ty) -> Term {
        self.element(ty, 0)
    }

    /// A form that belongs to the type.
    fn own(&mut self, ty: &Ty, size: usize) -> Term {
        match ty {
            Ty::Real => self.real(size),
            Ty::Int => self.int(size),
            Ty::Bool => self.condition(size),
            Ty::String => self.string(size),
            Ty::Unit => self.leaf(ty),
            Ty::Tuple(_) | Ty::Record(_) => {
                if let Some(term) = self.polytypic(ty, size) {
                    return term;
                }
                let types = ty.components().unwrap_or_default();
                let each = size / types.len();
                let items = types.iter().map(|t| self.term(t, each)).collect();
                term(TermKind::Tuple(ty.clone(), items))
            }
            Ty::Array(element) => self.array(element, size),
            Ty::Data(data, args) => {
                if let Some(term) = self.polytypic(ty, size) {
                    return term;
                }
                self.constructor(*data, args, size)
            }
            Ty::Fun(fun) => self.function(&fun.0, &fun.1, size),
            Ty::Param(_) => panic!("parameters stand in declarations"),
        }
    }

    fn constructor(&mut self, data: DataId, args: &Rc<[Ty]>, size: usize) -> Term {
        let decl = &datas()[data.0 as usize];
        let last = decl.constructors.len() as u32 - 1;
        let tag = if self.choices.below(5) == 0 { 0 } else { last };
        let fields = decl.fields(tag, args);
        let each = size / fields.len().max(1);
        let mut fields: Vec<Term> = fields.iter().map(|field| self.term(field, each)).collect();
        // The body of `main` has one function around it.
        if data == TREE && tag == last && (self.steps > 1 || self.lambdas > 1) {
            fields[2] = term(TermKind::Con(data, args.clone(), 0, Vec::new()));
        }
        term(TermKind::Con(data, args.clone(), tag, fields))
    }

    /// `let`, of one to three bindings.
    fn let_form(&mut self, ty: &Ty, size: usize) -> Term {
        let count = 1 + self.choices.below(3) * self.choices.below(2);
        let outer = self.scope.len();
        let mut bindings = Vec::new();
        for _ in 0..count {
            let bound = self.bound_type();
            let value = self.term(&bound, size / (2 * count));
            let (binder, x) = self.binder(&bound);
            self.scope.push(super::scope::ScopeEntry { ty: bound, term: x, regular: false });
            bindings.push((binder, value));
        }
        let body = self.term(ty, size - size / 2);
        self.scope.truncate(outer);
        term(TermKind::Let(bindings, Box::new(body)))
    }

    /// The type of something bound: often Real.
    pub fn bound_type(&mut self) -> Ty {
        match self.choices.flag() {
            false => Ty::Real,
            true => self.ty(2),
        }
    }

    /// `let x = value in body(x)`, where `x` is in scope of the body.
    pub fn bind(
        &mut self,
        ty: &Ty,
        value: Term,
        regular: bool,
        body: impl FnOnce(&mut Self, Term) -> Term,
    ) -> Term {
        let (binder, x) = self.binder(ty);
        let body = self.with(ty, &x, regular, |g| body(g, x.clone()));
        term(TermKind::Let(vec![(binder, value)], Box::new(body)))
    }

    /// A case distinction over a variant type, if possible of something in scope.
    fn case(&mut self, ty: &Ty, size: usize) -> Term {
        let variant = |ty: &Ty| matches!(ty, Ty::Data(data, _) if *data != LIST);
        if let Some(scrutinised) = self.type_in_scope(variant) {
            if let Ty::Data(data, args) = &scrutinised {
                let scrutinee = self.term(&scrutinised, size / 4);
                return self.case_of(ty, scrutinee, *data, args.clone(), size - size / 4);
            }
        }
        let data = self.choices.pick(&[MAYBE, SHAPE, TREE]);
        let args: Rc<[Ty]> = match data {
            SHAPE => Rc::new([]),
            _ => Rc::new([self.ty(1)]),
        };
        let scrutinee = self.term(&Ty::Data(data, args.clone()), size / 3);
        self.case_of(ty, scrutinee, data, args, size - size / 3)
    }

    /// A case distinction over this.
    fn case_of(
        &mut self,
        ty: &Ty,
        scrutinee: Term,
        data: DataId,
        args: Rc<[Ty]>,
        size: usize,
    ) -> Term {
        let decl = &datas()[data.0 as usize];
        let count = decl.constructors.len() as u32;
        // Sometimes a default takes the place of an arm.
        let left_out = match self.choices.below(8) {
            7 => Some(self.choices.below(count as usize) as u32),
            _ => None,
        };
        let mut arms = Vec::new();
        for tag in (0..count).filter(|tag| Some(*tag) != left_out) {
            let outer = self.scope.len();
            let mut binders = Vec::new();
            for field in decl.fields(tag, &args) {
                let (binder, x) = self.binder(&field);
                self.scope.push(super::scope::ScopeEntry { ty: field, term: x, regular: false });
                binders.push(binder);
            }
            let body = self.term(ty, size / count as usize);
            self.scope.truncate(outer);
            arms.push(Arm { tag, binders, body });
        }
        let default = left_out.map(|_| self.term(ty, size / count as usize));
        term(TermKind::Case(Box::new(Case { scrutinee, data: (data, args), arms, default })))
    }

    /// An element of an array: all arrays in it have length [`ROW`].
    pub fn element(&mut self, ty: &Ty, size: usize) -> Term {
        if !has_rows(ty) {
            return self.term(ty, size);
        }
        if self.choices.below(3) == 0 || size == 0 && self.choices.flag() {
            if let Some(x) = self.variable(ty, true) {
                return x;
            }
        }
        match ty {
            Ty::Array(element) => {
                if size > 0 && self.choices.flag() {
                    return self.build_of(element, int(ROW as i64), size - 1);
                }
                let items = (0..ROW).map(|_| self.element(element, size / ROW)).collect();
                array((**element).clone(), items)
            }
            _ => {
                let types = ty.components().unwrap_or_default();
                let each = size / types.len().max(1);
                let items = types.iter().map(|t| self.element(t, each)).collect();
                term(TermKind::Tuple(ty.clone(), items))
            }
        }
    }

    /// A value of the shape of this variable.
    pub fn like(&mut self, ty: &Ty, x: &Term, size: usize) -> Term {
        if super::types::one_shape(ty) {
            return self.term(ty, size);
        }
        let scale = |g: &mut Self, size| {
            let factor = g.term(&Ty::Real, size);
            prim(Prim::Scale(ty.clone()), vec![factor, x.clone()])
        };
        match self.choices.below(4) {
            0 => x.clone(),
            1 | 2 => scale(self, size),
            _ => {
                let scaled = scale(self, size);
                prim(Prim::Add(ty.clone()), vec![x.clone(), scaled])
            }
        }
    }

    /// A truth value.
    pub fn condition(&mut self, size: usize) -> Term {
        let f = self.features;
        let mut kinds = vec![0, 0, 0];
        if f.leaves {
            kinds.extend([1, 1, 2, 3, 4, 5]);
        }
        let order = [Comparison::Lt, Comparison::Ge, Comparison::Le, Comparison::Gt];
        let each = size.saturating_sub(1) / 2;
        let compare = |g: &mut Self, comparison: Comparison, ty: Ty| {
            let a = g.term(&ty, each);
            let b = g.term(&ty, each);
            prim(Prim::Compare(comparison, ty), vec![a, b])
        };
        match self.choices.pick(&kinds) {
            0 => {
                let comparison = self.choices.pick(&order);
                compare(self, comparison, Ty::Real)
            }
            1 => {
                let comparison = self.choices.pick(&order);
                compare(self, comparison, Ty::Int)
            }
            2 if size > 0 => prim(Prim::Not, vec![self.condition(size - 1)]),
            3 => prim(Prim::IsNan, vec![self.term(&Ty::Real, each)]),
            4 => {
                let ty = self.first_order_type(1);
                let comparison = self.choices.pick(&[Comparison::Eq, Comparison::Ne]);
                compare(self, comparison, ty)
            }
            _ => self.leaf(&Ty::Bool),
        }
    }

    /// A pair of these.
    pub fn pair(types: [&Ty; 2], items: [Term; 2]) -> Term {
        tuple(&types.map(Ty::clone), items.into())
    }
}
