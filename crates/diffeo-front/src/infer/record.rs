//! Records of a type that nothing determines, of which fields are taken.

use super::constraint::Constraint;
use super::Infer;
use crate::types::{Ty, TyVar};
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{field_name, Diagnostic, Span};
use diffeo_syntax::ast::{Ident, PatKind};
use std::collections::{HashMap, HashSet};

/// Maximum number of fields of a record that a message names.
pub const MOST_FIELDS: usize = 6;

/// A field that is taken of a record.
struct Taken {
    base: Span,
    field: Ident,
    ty: Ty,
}

impl Infer<'_> {
    /// Reports each record whose type is not known once, with all fields that are taken of it.
    pub(super) fn open_records(&mut self) {
        let mut records: Vec<(TyVar, Vec<Taken>)> = Vec::new();
        let mut places: HashMap<TyVar, usize> = HashMap::new();
        let mut within: HashSet<TyVar> = HashSet::new();
        for constraint in &self.constraints {
            let Constraint::Field { base, base_span, field, out } = constraint else { continue };
            let Some(v) = self.db.store.open_var(base) else { continue };
            within.extend(self.db.store.open_var(out));
            let place = *places.entry(v).or_insert(records.len());
            if place == records.len() {
                records.push((v, Vec::new()));
            }
            let taken = Taken { base: *base_span, field: field.clone(), ty: out.clone() };
            records[place].1.push(taken);
        }
        for (v, taken) in &records {
            // Of the records within a record that one tells.
            if !within.contains(v) {
                self.open_record(*v, taken);
            }
        }
        for (v, _) in records {
            self.store().give_up(&Ty::Var(v));
        }
    }

    /// Reports a record of an unknown type, where its variable is bound, if it is one.
    fn open_record(&mut self, v: TyVar, taken: &[Taken]) {
        let first = taken[0].base;
        let module = self.db.module(self.module);
        let shown = self.db.shows_more();
        let variable =
            module.ast.pats.iter().filter(|_| shown).find_map(|(id, pat)| match &pat.kind {
                PatKind::Var(name) => {
                    let open = self.db.store.open_var(&module.pat_ty[id.index()]);
                    (open == Some(v)).then(|| (name.clone(), pat.span))
                }
                _ => None,
            });
        let variable = variable.filter(|(_, span)| span.file == first.file);
        let mut fields: Vec<(String, String)> = Vec::new();
        for Taken { field, ty, .. } in taken {
            let name = field_name(&field.name).into_owned();
            if fields.len() > MOST_FIELDS {
                break;
            }
            if fields.iter().all(|(other, _)| *other != name) {
                let ty = match self.db.store.open_var(ty) {
                    Some(_) => "…".to_string(),
                    None => self.show(ty),
                };
                fields.push((name, ty));
            }
        }
        let names: Vec<String> =
            fields.iter().take(MOST_FIELDS).map(|(name, _)| format!("`{name}`")).collect();
        let more = if fields.len() > names.len() { ", …" } else { "" };
        let names = names.join(", ");
        let taken_as = match fields.len() {
            1 => format!("its field {names} is taken"),
            _ => format!("its fields {names}{more} are taken"),
        };
        let message = format!("the type of this record is not known when {taken_as}");
        let types: Vec<String> =
            fields.iter().take(MOST_FIELDS).map(|(name, ty)| format!("{name}: {ty}")).collect();
        let record = format!("{{{}{more}}}", types.join(", "));
        let mut diagnostic = match variable {
            Some((name, span)) => Diagnostic::error("annotation-needed", span, message)
                .label(first, "here, for instance")
                .help(format!("annotate it: `({name}: {record})`")),
            None => Diagnostic::error("annotation-needed", first, message)
                .help(format!("give it a type where it is bound: `(r: {record})`")),
        };
        let method = taken.iter().find_map(|t| replacement(Role::Member, &t.field.name));
        if let Some(method) = method {
            diagnostic = diagnostic.note(format!("if it is no record, but an array: {method}"));
        }
        self.db.report(diagnostic);
    }
}
