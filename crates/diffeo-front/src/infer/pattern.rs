//! Patterns.

use super::error::Because;
use super::{duplicate_field, Constraint, Infer};
use crate::types::{instantiate_params, Size, Ty};
use diffeo_base::{deep, Diagnostic, Name};
use diffeo_syntax::ast::{PatId, PatKind};

impl Infer<'_> {
    /// The type of the values that a pattern is for, from its annotations.
    pub(super) fn pattern_type(&mut self, pat: PatId) -> Ty {
        let ast = self.ast.clone();
        match &ast.pats[pat].kind {
            PatKind::Annot(_, ty) => {
                let ty = self.annotation(*ty);
                self.pattern(pat, &ty);
                ty
            }
            PatKind::Tuple(ps) => {
                let ty = Ty::Tuple(ps.iter().map(|p| self.pattern_type(*p)).collect());
                self.set_pat(pat, &ty);
                ty
            }
            PatKind::Unit => {
                self.set_pat(pat, &Ty::Unit);
                Ty::Unit
            }
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Record(_)
            | PatKind::Con { .. }
            | PatKind::Cons(..) => {
                let ty = self.store().fresh();
                self.pattern(pat, &ty);
                ty
            }
        }
    }

    pub(super) fn set_pat(&mut self, pat: PatId, ty: &Ty) {
        self.db.module_mut(self.module).pat_ty[pat.index()] = ty.clone();
    }

    fn agree(&mut self, pat: PatId, expected: &Ty, found: &Ty) {
        if let Err(clash) = self.store().unify(expected, found) {
            let span = self.ast.pats[pat].span;
            self.report_clash(span, expected, found, &clash, &Because::Pattern);
        }
    }

    /// Gives a pattern for values of a type its types.
    pub(super) fn pattern(&mut self, pat: PatId, ty: &Ty) {
        deep(|| self.pattern_inner(pat, ty));
    }

    fn pattern_inner(&mut self, pat: PatId, ty: &Ty) {
        self.set_pat(pat, ty);
        let ast = self.ast.clone();
        let node = &ast.pats[pat];
        match &node.kind {
            PatKind::Error | PatKind::Wild => {}
            PatKind::Var(_) if self.in_signature => {}
            // The annotation that names the size may stand before the variable.
            PatKind::Var(_) => self.check_size_variable(pat, "variable"),
            PatKind::Int(_) => {
                let why = self.why(node.span, "this literal");
                let literal = self.store().fresh_literal(why);
                self.agree(pat, ty, &literal);
            }
            PatKind::Real(_) => self.agree(pat, ty, &Ty::Real),
            PatKind::Bool(_) => self.agree(pat, ty, &Ty::Bool),
            PatKind::Str(_) => self.agree(pat, ty, &Ty::String),
            PatKind::Unit => self.agree(pat, ty, &Ty::Unit),
            PatKind::Tuple(ps) => {
                let shallow = self.store().shallow(ty);
                let parts: Vec<Ty> = match &shallow {
                    Ty::Tuple(ts) if ts.len() == ps.len() => ts.to_vec(),
                    _ => {
                        let parts: Vec<Ty> = ps.iter().map(|_| self.store().fresh()).collect();
                        self.agree(pat, ty, &Ty::Tuple(parts.clone().into()));
                        parts
                    }
                };
                for (p, t) in ps.iter().zip(parts) {
                    self.pattern(*p, &t);
                }
            }
            PatKind::Record(fields) => {
                let mut parts: Vec<(Name, Ty)> = Vec::new();
                for (field, p) in fields {
                    if parts.iter().any(|(n, _)| *n == field.name) {
                        self.db.report(duplicate_field(field.span, &field.name));
                        continue;
                    }
                    let t = self.store().fresh();
                    parts.push((field.name.clone(), t.clone()));
                    self.add(Constraint::Field {
                        base: ty.clone(),
                        base_span: node.span,
                        field: field.clone(),
                        out: t.clone(),
                    });
                    self.pattern(*p, &t);
                }
                self.add(Constraint::RecordPattern { ty: ty.clone(), fields: parts });
            }
            PatKind::Con { arg, path } => {
                let Some((data, tag)) = self.db.module(self.module).con_pats.get(&pat).copied()
                else {
                    if let Some(arg) = arg {
                        self.pattern(*arg, &Ty::Error);
                    }
                    return;
                };
                let args: Vec<Ty> =
                    (0..self.db.data(data).params.len()).map(|_| self.store().fresh()).collect();
                let fields: Vec<Ty> = self.db.data(data).constructors[tag as usize]
                    .fields
                    .iter()
                    .map(|t| instantiate_params(t, &args))
                    .collect();
                self.agree(pat, ty, &Ty::Data(data, args.into()));
                match (arg, payload(&fields)) {
                    (None, None) => {}
                    (Some(arg), Some(payload)) => self.pattern(*arg, &payload),
                    (None, Some(_)) => {
                        let name = &path.name.name;
                        let holes = vec!["_"; fields.len()].join(", ");
                        self.db.report(
                            Diagnostic::error(
                                "constructor-arity",
                                node.span,
                                format!(
                                    "`{name}` has {} here without a pattern",
                                    count(fields.len())
                                ),
                            )
                            .help(format!("write `{name}({holes})`")),
                        );
                    }
                    (Some(arg), None) => {
                        let name = &path.name.name;
                        self.db.report(
                            Diagnostic::error(
                                "constructor-arity",
                                ast.pats[*arg].span,
                                format!("`{name}` has no fields"),
                            )
                            .help(format!("write `{name}` alone")),
                        );
                        self.pattern(*arg, &Ty::Error);
                    }
                }
            }
            PatKind::Cons(head, tail) => {
                let element = self.store().fresh();
                let list = self.list_of(element.clone());
                self.agree(pat, ty, &list);
                self.pattern(*head, &element);
                self.pattern(*tail, &list);
            }
            PatKind::Annot(p, annotation) => {
                let declared = self.annotation(*annotation);
                if let Err(clash) = self.store().unify(&declared, ty) {
                    let span = ast.types[*annotation].span;
                    self.report_clash(span, ty, &declared, &clash, &Because::Pattern);
                }
                self.pattern(*p, &declared);
            }
        }
    }

    /// `List[element]`
    pub(super) fn list_of(&self, element: Ty) -> Ty {
        match self.db.list {
            Some(list) => Ty::Data(list, [element].into()),
            None => Ty::Error,
        }
    }

    /// The type of an array of unknown size that is still to be found.
    pub(super) fn some_array(&mut self) -> (Size, Ty) {
        let size = self.store().fresh_size();
        let element = self.store().fresh();
        (size, element)
    }
}

/// The one argument of a constructor with these fields.
pub(super) fn payload(fields: &[Ty]) -> Option<Ty> {
    match fields {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(Ty::Tuple(several.to_vec().into())),
    }
}

fn count(n: usize) -> String {
    if n == 1 {
        "one field".to_string()
    } else {
        format!("{n} fields")
    }
}
