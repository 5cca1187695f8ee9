//! `builtin("nest", y, rows)` of the library's Jacobians: a structure with a row in the place of each Real.
//!
//! What comes in: a value without variants that hold Reals, and an array of rows, one for each Real of it in the order
//! of `ravel`. What goes out: terms that go through the structure. What always holds: of an array of Reals, `nest` gives
//! the rows, `flat` and `basis` give their argument, so that Jacobians of arrays cost nothing more.

use super::{lets, var, Body};
use diffeo_base::Span;
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::term::{Binder, Build, Lit, Term, TermKind};
use diffeo_calculus::{Prim, Ty};

/// Whether this is `[]Real`, whose values are arrays of their own Reals.
fn is_flat(ty: &Ty) -> bool {
    matches!(ty, Ty::Array(element) if **element == Ty::Real)
}

/// Whether no Real is in a type that has no variants with Reals.
fn is_inert(ty: &Ty) -> bool {
    match ty {
        Ty::Real => false,
        Ty::Array(element) => is_inert(element),
        _ => ty.components().unwrap_or_default().iter().all(is_inert),
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
        let nest = Nest { rows: array.clone(), row, span };
        let zero = nest.int(0);
        let nested = self.nested(&nest, ty, out, &whole, zero);
        lets(vec![(whole, y), (array, rows.1)], nested)
    }

    /// The part of the result for a part of the value, whose rows begin at an offset.
    fn nested(&mut self, nest: &Nest, ty: &Ty, out: &Ty, y: &Binder, from: Term) -> Term {
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
                let first = self.width(nest, ty, y, true);
                let (index, x) =
                    (self.cx.binder("i", Ty::Int), self.cx.binder("x", Ty::clone(element)));
                let at = nest.sum(from, nest.op(IntOp::Mul, var(&index, span), var(&width, span)));
                let inner = self.nested(nest, element, row, &x, at);
                let body = lets(vec![(x, nest.element(element, y, var(&index, span)))], inner);
                let build =
                    Build { count: nest.length(element, y), index, body, element: Ty::clone(row) };
                lets(vec![(width, first)], Term::new(TermKind::Build(Box::new(build)), span))
            }
            _ => {
                let types = ty.components().unwrap_or_default();
                let outs = out.components().unwrap_or_default();
                let (mut bindings, mut parts) = (Vec::new(), Vec::new());
                let mut from = from;
                for (i, (part_ty, out)) in types.iter().zip(&outs).enumerate() {
                    let part = self.cx.binder("y", part_ty.clone());
                    let proj = TermKind::Proj(ty.clone(), i, Box::new(var(y, span)));
                    bindings.push((part.clone(), Term::new(proj, span)));
                    let start = self.cx.binder("from", Ty::Int);
                    bindings.push((start.clone(), from));
                    parts.push(self.nested(nest, part_ty, out, &part, var(&start, span)));
                    from = nest.sum(var(&start, span), self.width(nest, part_ty, &part, false));
                }
                lets(bindings, Term::new(TermKind::Tuple(out.clone(), parts), span))
            }
        }
    }

    /// How many Reals there are in a value; with `element`, in each element of an array.
    fn width(&mut self, nest: &Nest, ty: &Ty, y: &Binder, element: bool) -> Term {
        let span = nest.span;
        match ty {
            _ if is_inert(ty) => nest.int(0),
            Ty::Real => nest.int(1),
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

    fn length(&self, element: &Ty, array: &Binder) -> Term {
        let args = vec![var(array, self.span)];
        Term::new(TermKind::Prim(Prim::Length(element.clone()), args), self.span)
    }

    fn element(&self, element: &Ty, array: &Binder, i: Term) -> Term {
        let args = vec![var(array, self.span), i];
        Term::new(TermKind::Prim(Prim::Index(element.clone()), args), self.span)
    }
}
