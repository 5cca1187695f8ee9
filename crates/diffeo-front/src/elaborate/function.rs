//! Functions, and the sizes that their annotations name.

use super::types::SizeCollector;
use super::{lets, var, Body, TooLarge};
use crate::db::SizeRes;
use crate::types::Ty as Inferred;
use diffeo_base::{Name, Span};
use diffeo_calculus::prim::{SizePattern, SizeRef, SizeShape};
use diffeo_calculus::term::{Binder, Term, TermKind};
use diffeo_calculus::{Prim, Ty};
use diffeo_syntax::ast::{ExprId, PatId, PatKind, TypeId};
use std::collections::HashSet;
use std::rc::Rc;

/// The sizes that a pattern's annotations bind and check, before it is known which are used.
pub(super) struct BoundSizes {
    owner: PatId,
    shape: SizeShape,
    /// Names with their values, then names to be bound.
    given: Vec<(Name, Binder)>,
    new: Vec<(Name, Binder)>,
    must: bool,
    span: Span,
}

impl Body<'_, '_> {
    /// `λparam. body`, with the checks of its annotations.
    pub(super) fn function(
        &mut self,
        param: PatId,
        ret: Option<TypeId>,
        body: ExprId,
        span: Span,
    ) -> Term {
        let ty = self.pat_ty(param);
        let name = self.pattern_name(param);
        let binder = self.cx.binder(&name, ty);
        let mut bindings = Vec::new();
        self.bind(param, &binder, &mut bindings, span);
        let sizes = self.declare_sizes(param);
        let term = self.expr(body);
        let term = self.checked_result(term, body, ret);
        if let Some(sizes) = sizes {
            self.emit_sizes(sizes, &binder, &mut bindings);
        }
        Term::new(TermKind::Lam(binder, Box::new(lets(bindings, term))), span)
    }

    /// The type that the annotations within a pattern give; `Error` where they say nothing.
    fn annotated(&self, pat: PatId) -> Inferred {
        match &self.ast.pats[pat].kind {
            PatKind::Annot(_, ty) => {
                let found = self.cx.db.module(self.module).annotations.get(ty);
                found.cloned().unwrap_or(Inferred::Error)
            }
            PatKind::Tuple(ps) => Inferred::Tuple(ps.iter().map(|p| self.annotated(*p)).collect()),
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit
            | PatKind::Record(_)
            | PatKind::Con { .. }
            | PatKind::Cons(..) => Inferred::Error,
        }
    }

    fn shapes(&self, found: bool) -> SizeCollector<'_> {
        SizeCollector {
            db: self.cx.db,
            module: self.module,
            names: Vec::new(),
            literals: false,
            occurrences: 0,
            found,
            open: Vec::new(),
            again: false,
            plain: HashSet::new(),
            left: self.cx.most,
        }
    }

    /// The value of a size, where it has one.
    fn size_value(&mut self, res: &SizeRes) -> Option<Binder> {
        match res {
            SizeRes::Local(pat) => match self.locals.get(pat) {
                Some(super::Local::Var(binder)) => Some(binder.clone()),
                Some(super::Local::Poly(_)) | None => None,
            },
            SizeRes::Name(owner, name) => {
                let (binder, used) = self.sizes.get_mut(&(*owner, name.clone()))?;
                *used = true;
                Some(binder.clone())
            }
            SizeRes::Free(..) => None,
        }
    }

    /// Declares the sizes that a pattern's annotations name.
    pub(super) fn declare_sizes(&mut self, pat: PatId) -> Option<BoundSizes> {
        let annotation = self.annotated(pat);
        let mut shapes = self.shapes(false);
        let shape = shapes.shape(&annotation, None);
        let (names, literals, occurrences) = (shapes.names, shapes.literals, shapes.occurrences);
        if shapes.left == 0 {
            self.cx.too_large.get_or_insert(TooLarge::Type);
        }
        if shape == SizeShape::Any {
            return None;
        }
        let (mut given, mut new, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for (name, res) in &names {
            let own = matches!(res, SizeRes::Name(owner, _) if *owner == pat);
            match if own { None } else { self.size_value(res) } {
                Some(binder) => {
                    order.push((true, given.len()));
                    given.push((name.clone(), binder));
                }
                None => {
                    order.push((false, new.len()));
                    let binder = self.cx.binder(name, Ty::Int);
                    if own {
                        self.sizes.insert((pat, name.clone()), (binder.clone(), false));
                    }
                    new.push((name.clone(), binder));
                }
            }
        }
        let n = given.len();
        let shape = renumber(&shape, &|i| {
            let (is_given, k) = order[i];
            SizeRef::Name(if is_given { k } else { n + k })
        });
        let must = literals || !given.is_empty() || occurrences > new.len();
        Some(BoundSizes { owner: pat, shape, given, new, must, span: self.ast.pats[pat].span })
    }

    /// Binds and checks the sizes of a pattern's value, if anything depends on it.
    pub(super) fn emit_sizes(
        &mut self,
        sizes: BoundSizes,
        value: &Binder,
        bindings: &mut Vec<(Binder, Term)>,
    ) {
        let BoundSizes { owner, shape, given, new, must, span } = sizes;
        let used = new
            .iter()
            .any(|(name, _)| self.sizes.get(&(owner, name.clone())).is_some_and(|(_, used)| *used));
        if !must && !used {
            return;
        }
        // Only the components that matter, so that the argument itself need not be built.
        let mut parts = self.part_names(owner, &value.ty);
        let (shape, arg, ty) = match (shape, &value.ty.components()) {
            (SizeShape::Tuple(shapes), Some(types)) => {
                let matters: Vec<bool> = shapes.iter().map(|s| *s != SizeShape::Any).collect();
                let mut place = matters.iter();
                parts.retain(|_| place.next() == Some(&true));
                let mut relevant: Vec<(SizeShape, Term, Ty)> = shapes
                    .into_iter()
                    .enumerate()
                    .filter(|(i, _)| matters[*i])
                    .map(|(i, s)| {
                        let part = TermKind::Proj(value.ty.clone(), i, Box::new(var(value, span)));
                        (s, Term::new(part, span), types[i].clone())
                    })
                    .collect();
                if relevant.len() == 1 {
                    relevant.remove(0)
                } else {
                    let ty = Ty::tuple(relevant.iter().map(|(_, _, t)| t.clone()).collect());
                    let (shapes, terms): (Vec<SizeShape>, Vec<Term>) =
                        relevant.into_iter().map(|(s, term, _)| (s, term)).unzip();
                    let tuple = Term::new(TermKind::Tuple(ty.clone(), terms), span);
                    (SizeShape::Tuple(shapes), tuple, ty)
                }
            }
            (shape, _) => (shape, var(value, span), value.ty.clone()),
        };
        let names = given.iter().chain(&new).map(|(n, _)| n.clone()).collect();
        let pattern = SizePattern { names, given: given.len(), parts, shape };
        let args = std::iter::once(arg).chain(given.iter().map(|(_, b)| var(b, span))).collect();
        let prim = Term::new(TermKind::Prim(Prim::Sizes(Rc::new(pattern), ty), args), span);
        match new.as_slice() {
            [] => {
                let unit = self.cx.binder("_", Ty::Unit);
                bindings.push((unit, prim));
            }
            [(_, binder)] => bindings.push((binder.clone(), prim)),
            several => {
                let ty = Ty::tuple(vec![Ty::Int; several.len()]);
                let all = self.cx.binder("sizes", ty.clone());
                bindings.push((all.clone(), prim));
                for (i, (_, binder)) in several.iter().enumerate() {
                    let part = TermKind::Proj(ty.clone(), i, Box::new(var(&all, span)));
                    bindings.push((binder.clone(), Term::new(part, span)));
                }
            }
        }
    }

    /// The names of what a pattern matches: of the components of a tuple or record, if all have names, or of the whole.
    fn part_names(&self, pat: PatId, ty: &Ty) -> Vec<Name> {
        let pats = &self.ast.pats;
        let plain = |mut pat: PatId| {
            while let PatKind::Annot(inner, _) = &pats[pat].kind {
                pat = *inner;
            }
            pat
        };
        let variable = |pat: &PatId| match &pats[plain(*pat)].kind {
            PatKind::Var(name) => Some(name.clone()),
            _ => None,
        };
        let of = variable(&pat);
        match (&pats[plain(pat)].kind, ty) {
            (PatKind::Tuple(pats), _) => {
                let names: Option<Vec<Name>> = pats.iter().map(variable).collect();
                names.unwrap_or_default()
            }
            (_, Ty::Record(fields)) => {
                let field = |name: &Name| match &of {
                    Some(of) => format!("{of}.{name}").into(),
                    None => name.clone(),
                };
                fields.iter().map(|(name, _)| field(name)).collect()
            }
            (_, Ty::Tuple(_)) => Vec::new(),
            _ => of.into_iter().collect(),
        }
    }

    /// Checks the sizes of a pattern's annotations in a value, and binds those that they name: the
    /// names may be used in all that follows.
    pub(super) fn check_sizes(
        &mut self,
        pat: PatId,
        value: &Binder,
        bindings: &mut Vec<(Binder, Term)>,
    ) {
        if let Some(sizes) = self.declare_sizes(pat) {
            for ((owner, _), (_, used)) in &mut self.sizes {
                *used |= *owner == pat;
            }
            self.emit_sizes(sizes, value, bindings);
        }
    }

    /// A result with the sizes of its annotation checked where inference does not know them.
    pub(super) fn checked_result(&mut self, term: Term, body: ExprId, ret: Option<TypeId>) -> Term {
        let Some(ret) = ret else { return term };
        let module = self.cx.db.module(self.module);
        let Some(annotation) = module.annotations.get(&ret).cloned() else { return term };
        let found = module.expr_ty[body.index()].clone();
        let mut shapes = self.shapes(true);
        let shape = shapes.shape(&annotation, Some(&found));
        let (names, literals) = (shapes.names, shapes.literals);
        if shapes.left == 0 {
            self.cx.too_large.get_or_insert(TooLarge::Type);
        }
        if shape == SizeShape::Any {
            return term;
        }
        let mut given: Vec<(Name, Binder)> = Vec::new();
        let mut order = Vec::new();
        for (name, res) in &names {
            order.push(self.size_value(res).map(|binder| {
                given.push((name.clone(), binder));
                given.len() - 1
            }));
        }
        if given.is_empty() && !literals {
            return term;
        }
        let shape = renumber(&shape, &|i| order[i].map_or(SizeRef::Any, SizeRef::Name));
        let (ty, span) = (self.expr_ty(body), term.span);
        let ret_span = self.ast.types[ret].span;
        let result = self.cx.binder("result", ty.clone());
        let names = given.iter().map(|(n, _)| n.clone()).collect();
        let pattern = SizePattern { names, given: given.len(), parts: Vec::new(), shape };
        let args = std::iter::once(var(&result, span))
            .chain(given.iter().map(|(_, b)| var(b, span)))
            .collect();
        let check = Term::new(TermKind::Prim(Prim::Sizes(Rc::new(pattern), ty), args), ret_span);
        let unit = self.cx.binder("_", Ty::Unit);
        let last = var(&result, span);
        lets(vec![(result, term), (unit, check)], last)
    }
}

/// The shape with its names replaced.
fn renumber(shape: &SizeShape, name: &dyn Fn(usize) -> SizeRef) -> SizeShape {
    match shape {
        SizeShape::Any => SizeShape::Any,
        SizeShape::Array(size, inner) => {
            let size = match size {
                SizeRef::Name(i) => name(*i),
                SizeRef::Any | SizeRef::Literal(_) => *size,
            };
            SizeShape::Array(size, Box::new(renumber(inner, name)))
        }
        SizeShape::Tuple(parts) => {
            SizeShape::Tuple(parts.iter().map(|s| renumber(s, name)).collect())
        }
        SizeShape::Data(constructors) => SizeShape::Data(
            constructors.iter().map(|c| c.iter().map(|s| renumber(s, name)).collect()).collect(),
        ),
    }
}
