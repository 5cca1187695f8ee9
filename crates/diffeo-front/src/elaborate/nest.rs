//! `builtin("nest", y, rows)` of the library's Jacobians: a structure with a row in the place of each Real.
//!
//! What comes in: a value, whose variants hold Reals in their types' arguments only, and an array of rows, one for each Real of it in the order
//! of `ravel`. What goes out: terms that go through the structure. What always holds: of an array of Reals, `nest` gives
//! the rows, `flat` and `basis` give their argument, so that Jacobians of arrays cost nothing more.

use super::{lets, var, Body};
use diffeo_base::Span;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::term::{Arm, Binder, Build, Case, Lit, Term, TermKind};
use diffeo_calculus::{Prim, Ty};

/// Whether this is `[]Real`, whose values are arrays of their own Reals.
fn is_flat(ty: &Ty) -> bool {
    matches!(ty, Ty::Array(element) if **element == Ty::Real)
}

/// Whether no Real is in a type.
fn is_inert(ty: &Ty) -> bool {
    match ty {
        Ty::Real => false,
        Ty::Array(element) => is_inert(element),
        Ty::Data(_, args) => args.iter().all(is_inert),
        _ => ty.components().unwrap_or_default().iter().all(is_inert),
    }
}

/// Whether values of a type may have different numbers of Reals, although their arrays are of the same lengths.
fn varies(ty: &Ty) -> bool {
    match ty {
        Ty::Array(element) => varies(element),
        Ty::Data(..) => !is_inert(ty),
        _ => ty.components().unwrap_or_default().iter().any(varies),
    }
}

/// `builtin("flat", x)`: the Reals of a value.
pub(super) fn flat(ty: Ty, x: Term, span: Span) -> Term {
    match is_flat(&ty) {
        true => x,
        false => Term::new(TermKind::Prim(Prim::Ravel(ty), vec![x]), span),
    }
}

/// `builtin("basis", x, reals)`: the value with these Reals.
pub(super) fn basis(ty: Ty, x: Term, reals: Term, span: Span) -> Term {
    match is_flat(&ty) {
        true => reals,
        false => Term::new(TermKind::Prim(Prim::Unravel(ty), vec![x, reals]), span),
    }
}

impl Body<'_, '_> {
    /// `builtin("nest", y, rows)`
    pub(super) fn nest(
        &mut self,
        ty: &Ty,
        out: &Ty,
        y: Term,
        rows: (Ty, Term),
        span: Span,
    ) -> Term {
        if is_flat(ty) {
            return rows.1;
        }
        if is_inert(ty) {
            return y;
        }
        let whole = self.cx.binder("y", ty.clone());
        let row = match &rows.0 {
            Ty::Array(row) => (**row).clone(),
            other => other.clone(),
        };
        let array = self.cx.binder("rows", rows.0);
        let mut nest = Nest { rows: array.clone(), row, span, functions: Vec::new() };
        let zero = nest.int(0);
        let nested = self.nested(&mut nest, ty, out, &whole, zero);
        lets(vec![(whole, y), (array, rows.1)], nested)
    }

    /// The part of the result for a part of the value, whose rows begin at an offset.
    fn nested(&mut self, nest: &mut Nest, ty: &Ty, out: &Ty, y: &Binder, from: Term) -> Term {
        let span = nest.span;
        match (ty, out) {
            (Ty::Real, _) => {
                let args = vec![var(&nest.rows, span), from];
                Term::new(TermKind::Prim(Prim::Index(nest.row.clone()), args), span)
            }
            _ if is_inert(ty) => var(y, span),
            (Ty::Array(element), _) if **element == Ty::Real => {
                let end = nest.sum(from.clone(), nest.length(element, y));
                let args = vec![var(&nest.rows, span), from, end];
                Term::new(TermKind::Prim(Prim::Slice(nest.row.clone()), args), span)
            }
            (Ty::Array(element), Ty::Array(row)) => {
                let width = self.cx.binder("width", Ty::Int);
                let (index, x) =
                    (self.cx.binder("i", Ty::Int), self.cx.binder("x", Ty::clone(element)));
                let (first, before) = if varies(element) {
                    let args = vec![var(y, span), nest.int(0), var(&index, span)];
                    let before = Prim::Slice(Ty::clone(element));
                    (nest.int(0), nest.count(ty, Term::new(TermKind::Prim(before, args), span)))
                } else {
                    let first = self.width(nest, ty, y, true);
                    (first, nest.op(IntOp::Mul, var(&index, span), var(&width, span)))
                };
                let at = nest.sum(from, before);
                let inner = self.nested(nest, element, row, &x, at);
                let body = lets(vec![(x, nest.element(element, y, var(&index, span)))], inner);
                let build =
                    Build { count: nest.length(element, y), index, body, element: Ty::clone(row) };
                lets(vec![(width, first)], Term::new(TermKind::Build(Box::new(build)), span))
            }
            (Ty::Data(..), Ty::Data(..)) => {
                // A function of the offset and the value, which calls itself for parts of the same type.
                let known = nest.functions.iter().find(|(known, _)| known == ty);
                let given = Ty::tuple(vec![Ty::Int, ty.clone()]);
                let argument = TermKind::Tuple(given.clone(), vec![from, var(y, span)]);
                let call = |function: &Binder| {
                    let argument = Term::new(argument, span);
                    let function = Box::new(var(function, span));
                    Term::new(TermKind::App(function, Box::new(argument)), span)
                };
                if let Some((_, function)) = known {
                    return call(function);
                }
                let function = self.cx.binder("nested", Ty::fun(given.clone(), out.clone()));
                nest.functions.push((ty.clone(), function.clone()));
                let parameter = self.cx.binder("x", given.clone());
                let (start, value) =
                    (self.cx.binder("from", Ty::Int), self.cx.binder("y", ty.clone()));
                let case = self.constructors(nest, (ty, out), &value, &start);
                nest.functions.pop();
                let part = |i| {
                    let whole = Box::new(var(&parameter, span));
                    Term::new(TermKind::Proj(given.clone(), i, whole), span)
                };
                let body = lets(vec![(start, part(0)), (value, part(1))], case);
                let lam = Term::new(TermKind::Lam(parameter, Box::new(body)), span);
                let call = call(&function);
                Term::new(TermKind::LetRec(function, Box::new(lam), Box::new(call)), span)
            }
            _ => {
                let types = ty.components().unwrap_or_default();
                let outs = out.components().unwrap_or_default();
                let (mut bindings, mut parts) = (Vec::new(), Vec::new());
                for (i, part_ty) in types.iter().enumerate() {
                    let part = self.cx.binder("y", part_ty.clone());
                    let proj = TermKind::Proj(ty.clone(), i, Box::new(var(y, span)));
                    bindings.push((part.clone(), Term::new(proj, span)));
                    parts.push(part);
                }
                let (starts, parts) = self.parts(nest, (&types, &outs), &parts, from);
                bindings.extend(starts);
                lets(bindings, Term::new(TermKind::Tuple(out.clone(), parts), span))
            }
        }
    }

    /// The parts of the result for parts of the value that follow each other, with the offsets that they are in scope of.
    fn parts(
        &mut self,
        nest: &mut Nest,
        (types, outs): (&[Ty], &[Ty]),
        parts: &[Binder],
        mut from: Term,
    ) -> (Vec<(Binder, Term)>, Vec<Term>) {
        let (mut starts, mut nested) = (Vec::new(), Vec::new());
        for (i, ((ty, out), part)) in types.iter().zip(outs).zip(parts).enumerate() {
            let start = self.cx.binder("from", Ty::Int);
            starts.push((start.clone(), from));
            nested.push(self.nested(nest, ty, out, part, var(&start, nest.span)));
            from = match i + 1 == types.len() {
                true => nest.int(0),
                false => nest.sum(var(&start, nest.span), self.width(nest, ty, part, false)),
            };
        }
        (starts, nested)
    }

    /// The case distinction over the constructors of a value of this type.
    fn constructors(
        &mut self,
        nest: &mut Nest,
        (ty, out): (&Ty, &Ty),
        value: &Binder,
        from: &Binder,
    ) -> Term {
        let span = nest.span;
        let (Ty::Data(data, args), Ty::Data(_, outs)) = (ty, out) else { return var(value, span) };
        let count = self.cx.program.datas[data.0 as usize].constructors.len() as u32;
        let mut arms = Vec::new();
        for tag in 0..count {
            let types = self.cx.program.datas[data.0 as usize].fields(tag, args);
            let results = self.cx.program.datas[data.0 as usize].fields(tag, outs);
            let binders: Vec<Binder> =
                types.iter().map(|ty| self.cx.binder("y", ty.clone())).collect();
            let (starts, parts) = self.parts(nest, (&types, &results), &binders, var(from, span));
            let con = Term::new(TermKind::Con(*data, outs.clone(), tag, parts), span);
            arms.push(Arm { tag, binders, body: lets(starts, con) });
        }
        let data = (*data, args.clone());
        let case = Case { scrutinee: var(value, span), data, arms, default: None };
        Term::new(TermKind::Case(Box::new(case)), span)
    }

    /// How many Reals there are in a value; with `element`, in each element of an array.
    fn width(&mut self, nest: &Nest, ty: &Ty, y: &Binder, element: bool) -> Term {
        let span = nest.span;
        match ty {
            _ if is_inert(ty) => nest.int(0),
            Ty::Real => nest.int(1),
            _ if varies(ty) && !element => nest.count(ty, var(y, span)),
            Ty::Array(of) if **of == Ty::Real && !element => nest.length(of, y),
            Ty::Array(of) => {
                let x = self.cx.binder("x", Ty::clone(of));
                let width = self.width(nest, of, &x, false);
                let width = match element {
                    true => width,
                    false => nest.op(IntOp::Mul, nest.length(of, y), width),
                };
                let width = lets(vec![(x, nest.element(of, y, nest.int(0)))], width);
                let is_empty = Prim::Compare(Comparison::Eq, Ty::Int);
                let is_empty = TermKind::Prim(is_empty, vec![nest.length(of, y), nest.int(0)]);
                let is_empty = Box::new(Term::new(is_empty, span));
                Term::new(TermKind::If(is_empty, Box::new(nest.int(0)), Box::new(width)), span)
            }
            _ => {
                let mut all = nest.int(0);
                let mut bindings = Vec::new();
                for (i, part_ty) in ty.components().unwrap_or_default().iter().enumerate() {
                    let part = self.cx.binder("y", part_ty.clone());
                    let proj = TermKind::Proj(ty.clone(), i, Box::new(var(y, span)));
                    bindings.push((part.clone(), Term::new(proj, span)));
                    all = nest.sum(all, self.width(nest, part_ty, &part, false));
                }
                lets(bindings, all)
            }
        }
    }
}

/// The rows, the type of one, and the place in the source.
struct Nest {
    rows: Binder,
    row: Ty,
    span: Span,
    /// The functions in scope that go through declared types.
    functions: Vec<(Ty, Binder)>,
}

impl Nest {
    fn int(&self, n: i64) -> Term {
        Term::new(TermKind::Lit(Lit::Int(n)), self.span)
    }

    fn op(&self, op: IntOp, a: Term, b: Term) -> Term {
        Term::new(TermKind::Prim(Prim::Int(op), vec![a, b]), self.span)
    }

    /// The sum of two numbers, one of which may be written out.
    fn sum(&self, a: Term, b: Term) -> Term {
        match (&a.kind, &b.kind) {
            (TermKind::Lit(Lit::Int(0)), _) => b,
            (_, TermKind::Lit(Lit::Int(0))) => a,
            (TermKind::Lit(Lit::Int(m)), TermKind::Lit(Lit::Int(n))) => self.int(m + n),
            _ => self.op(IntOp::Add, a, b),
        }
    }

    /// How many Reals are in a value.
    fn count(&self, ty: &Ty, value: Term) -> Term {
        let reals = Term::new(TermKind::Prim(Prim::Ravel(ty.clone()), vec![value]), self.span);
        Term::new(TermKind::Prim(Prim::Length(Ty::Real), vec![reals]), self.span)
    }

    fn length(&self, element: &Ty, array: &Binder) -> Term {
        let args = vec![var(array, self.span)];
        Term::new(TermKind::Prim(Prim::Length(element.clone()), args), self.span)
    }

    fn element(&self, element: &Ty, array: &Binder, i: Term) -> Term {
        let args = vec![var(array, self.span), i];
        Term::new(TermKind::Prim(Prim::Index(element.clone()), args), self.span)
    }
}
