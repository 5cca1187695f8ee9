//! The order in which a program declares the fields of records. Types do not have it: their fields are sorted by name,
//! and an alias is gone once it is expanded. So the order is looked up by the names of the fields, in what stands
//! nearest to an entry point: its annotations, the types that have names, literals, and the other annotations.

use super::Session;
use crate::db::{def_item, DefId, ModuleId, TypeRef};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_syntax::ast::{ExprKind, Ident, PatId, PatKind, TypeId, TypeKind};
use std::collections::HashSet;

/// The fields of records in the orders in which the program has them; the first that has the same fields counts.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// For the parameter of an entry point.
    pub parameter: Vec<Vec<Name>>,
    /// For its result.
    pub result: Vec<Vec<Name>>,
}

/// Adds an order where there is none yet of the same fields.
fn add(orders: &mut Vec<Vec<Name>>, names: impl Iterator<Item = Name>) {
    let names: Vec<Name> = names.collect();
    let same = |order: &Vec<Name>| {
        order.len() == names.len() && names.iter().all(|name| order.contains(name))
    };
    if names.len() > 1 && !orders.iter().any(same) {
        orders.push(names);
    }
}

fn names<T>(fields: &[(Ident, T)]) -> impl Iterator<Item = Name> + '_ {
    fields.iter().map(|(field, _)| field.name.clone())
}

impl Session {
    /// The orders for a definition.
    pub(super) fn orders(&self, def: DefId) -> Orders {
        let info = self.db.def(def);
        let ast = &self.db.module(info.module).ast;
        let item = def_item(ast, info.item);
        let (mut parameter, mut result) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        if let Some(pattern) = item.param {
            self.in_pattern(info.module, pattern, &mut seen, &mut parameter);
        }
        seen.clear();
        if let Some(ty) = item.ret {
            self.in_type(info.module, ty, &mut seen, &mut result);
        }
        let mut modules = vec![info.module];
        modules
            .extend((0..self.db.modules.len() as u32).map(ModuleId).filter(|m| *m != info.module));
        for orders in [&mut parameter, &mut result] {
            for module in &modules {
                self.declared(*module, orders);
            }
            for module in modules.iter().filter(|m| !self.db.module(**m).std) {
                self.literals(*module, Some(item.span), orders);
                self.literals(*module, None, orders);
            }
            for module in modules.iter().filter(|m| !self.db.module(**m).std) {
                for (_, ty) in self.db.module(*module).ast.types.iter() {
                    if let TypeKind::Record(fields) = &ty.kind {
                        add(orders, names(fields));
                    }
                }
            }
        }
        Orders { parameter, result }
    }

    fn in_pattern(
        &self,
        module: ModuleId,
        pattern: PatId,
        seen: &mut HashSet<u32>,
        orders: &mut Vec<Vec<Name>>,
    ) {
        deep(|| match &self.db.module(module).ast.pats[pattern].kind {
            PatKind::Annot(inner, ty) => {
                self.in_type(module, *ty, seen, orders);
                self.in_pattern(module, *inner, seen, orders);
            }
            PatKind::Tuple(parts) => {
                parts.iter().for_each(|part| self.in_pattern(module, *part, seen, orders));
            }
            PatKind::Record(fields) => {
                fields.iter().for_each(|(_, part)| self.in_pattern(module, *part, seen, orders));
            }
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit
            | PatKind::Con { .. }
            | PatKind::Cons(..) => {}
        });
    }

    /// The records in a type, those of the aliases in it too.
    fn in_type(
        &self,
        module: ModuleId,
        ty: TypeId,
        seen: &mut HashSet<u32>,
        orders: &mut Vec<Vec<Name>>,
    ) {
        deep(|| match &self.db.module(module).ast.types[ty].kind {
            TypeKind::Record(fields) => {
                add(orders, names(fields));
                fields.iter().for_each(|(_, ty)| self.in_type(module, *ty, seen, orders));
            }
            TypeKind::Named { path, args } => {
                let scope = &self.db.module(module).scope;
                let from = match &path.module {
                    None => Some(module),
                    Some(qualifier) => scope.modules.get(&qualifier.name).copied(),
                };
                let found = from.and_then(|m| self.db.module(m).scope.types.get(&path.name.name));
                if let Some((TypeRef::Alias(alias), _)) = found {
                    if seen.insert(*alias) {
                        let alias = &self.db.aliases[*alias as usize];
                        self.in_type(alias.module, alias.body, seen, orders);
                    }
                }
                args.iter().for_each(|ty| self.in_type(module, *ty, seen, orders));
            }
            TypeKind::Tuple(types) => {
                types.iter().for_each(|ty| self.in_type(module, *ty, seen, orders));
            }
            TypeKind::Array(_, element) => self.in_type(module, *element, seen, orders),
            TypeKind::Fun(from, to) => {
                self.in_type(module, *from, seen, orders);
                self.in_type(module, *to, seen, orders);
            }
            TypeKind::Error | TypeKind::Var(_) | TypeKind::Unit => {}
        });
    }

    /// The types of a module that have a name.
    fn declared(&self, module: ModuleId, orders: &mut Vec<Vec<Name>>) {
        for alias in self.db.aliases.iter().filter(|alias| alias.module == module) {
            if let TypeKind::Record(fields) = &self.db.module(module).ast.types[alias.body].kind {
                add(orders, names(fields));
            }
        }
    }

    /// The record literals of a module, those within a place or all.
    fn literals(&self, module: ModuleId, within: Option<Span>, orders: &mut Vec<Vec<Name>>) {
        let inside = |span: Span| {
            within.is_none_or(|w| w.file == span.file && w.start <= span.start && span.end <= w.end)
        };
        let mut found: Vec<(Span, &Vec<_>)> = Vec::new();
        for (_, expr) in self.db.module(module).ast.exprs.iter() {
            match &expr.kind {
                ExprKind::Record(fields) if inside(expr.span) => found.push((expr.span, fields)),
                _ => {}
            }
        }
        found.sort_by_key(|(span, _)| span.start);
        found.into_iter().for_each(|(_, fields)| add(orders, names(fields)));
    }
}
