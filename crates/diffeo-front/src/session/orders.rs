//! The order in which a program declares the fields of records. Types do not have it: their fields are sorted by name,
//! and an alias is gone once it is expanded. So the order is looked up by the names of the fields, in what stands
//! nearest to an entry point: its annotations, the types that have names, literals, and the other annotations. For a field
//! of its parameter or result, what is said of that field comes first.

use super::Session;
use crate::db::{def_item, DefId, ModuleId, Res, TypeRef};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_syntax::ast::{
    BinaryOp, Binding, ExprId, ExprKind, Ident, PatId, PatKind, Path, TypeId, TypeKind,
};
use std::collections::HashSet;
use std::slice::from_ref;

/// The fields of records in the orders in which the program has them, for an entry point.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// For its parameter.
    pub parameter: FieldOrders,
    /// For its result.
    pub result: FieldOrders,
}

/// Orders for a value and for the fields of it: two types may have the same fields in other orders.
#[derive(Clone, Debug, Default)]
pub struct FieldOrders {
    /// What annotations and literals say of a field, and of a field of that.
    fields: Vec<(Vec<Name>, Vec<Vec<Name>>)>,
    all: Vec<Vec<Name>>,
}

impl FieldOrders {
    /// The orders for the field at this path, or for the whole; the first that has the same fields counts.
    pub fn of(&self, path: &[Name]) -> Vec<Vec<Name>> {
        let own = self.fields.iter().filter(|(field, _)| !path.is_empty() && field == path);
        own.flat_map(|(_, orders)| orders).chain(&self.all).cloned().collect()
    }
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
        let (mut parameter, mut result) = (FieldOrders::default(), FieldOrders::default());
        if let Some(pattern) = item.param {
            self.in_pattern(info.module, pattern, &mut HashSet::new(), &mut parameter.all);
            self.pattern_fields(info.module, pattern, &[], &mut parameter);
        }
        match item.ret {
            Some(ty) => {
                self.in_type(info.module, ty, &mut HashSet::new(), &mut result.all);
                self.type_fields(info.module, ty, &[], &mut result, &mut HashSet::new());
            }
            None => self.expr_fields(info.module, item.body, &[], &mut result),
        }
        let mut modules = vec![info.module];
        modules
            .extend((0..self.db.modules.len() as u32).map(ModuleId).filter(|m| *m != info.module));
        for orders in [&mut parameter.all, &mut result.all] {
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

    /// The alias that a name means, if it is one.
    fn alias(&self, module: ModuleId, path: &Path) -> Option<u32> {
        let scope = &self.db.module(module).scope;
        let from = match &path.module {
            None => module,
            Some(qualifier) => *scope.modules.get(&qualifier.name)?,
        };
        match self.db.module(from).scope.types.get(&path.name.name)? {
            (TypeRef::Alias(alias), _) => Some(*alias),
            (TypeRef::Data(_), _) => None,
        }
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
                if let Some(alias) = self.alias(module, path).filter(|alias| seen.insert(*alias)) {
                    let alias = &self.db.aliases[alias as usize];
                    self.in_type(alias.module, alias.body, seen, orders);
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

    /// The fields of the record that a pattern is annotated with.
    fn pattern_fields(
        &self,
        module: ModuleId,
        pattern: PatId,
        path: &[Name],
        orders: &mut FieldOrders,
    ) {
        match &self.db.module(module).ast.pats[pattern].kind {
            PatKind::Annot(_, ty) => {
                self.type_fields(module, *ty, path, orders, &mut HashSet::new());
            }
            PatKind::Record(fields) => {
                for (field, part) in fields {
                    let path = [path, from_ref(&field.name)].concat();
                    let mut own = Vec::new();
                    self.in_pattern(module, *part, &mut HashSet::new(), &mut own);
                    orders.fields.push((path.clone(), own));
                    deep(|| self.pattern_fields(module, *part, &path, orders));
                }
            }
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit
            | PatKind::Tuple(_)
            | PatKind::Con { .. }
            | PatKind::Cons(..) => {}
        }
    }

    /// The fields of a record type, by its aliases.
    fn type_fields(
        &self,
        module: ModuleId,
        ty: TypeId,
        path: &[Name],
        orders: &mut FieldOrders,
        seen: &mut HashSet<u32>,
    ) {
        match &self.db.module(module).ast.types[ty].kind {
            TypeKind::Record(fields) => {
                for (field, ty) in fields {
                    let path = [path, from_ref(&field.name)].concat();
                    let mut own = Vec::new();
                    self.in_type(module, *ty, &mut HashSet::new(), &mut own);
                    orders.fields.push((path.clone(), own));
                    deep(|| self.type_fields(module, *ty, &path, orders, seen));
                }
            }
            TypeKind::Named { path: name, .. } => {
                if let Some(alias) = self.alias(module, name).filter(|alias| seen.insert(*alias)) {
                    let alias = &self.db.aliases[alias as usize];
                    deep(|| self.type_fields(alias.module, alias.body, path, orders, seen));
                }
            }
            TypeKind::Error
            | TypeKind::Var(_)
            | TypeKind::Unit
            | TypeKind::Tuple(_)
            | TypeKind::Array(..)
            | TypeKind::Fun(..) => {}
        }
    }

    /// The fields of the record that an expression ends in: what the annotations of their values say, then
    /// literals, unless a type that has a name says it.
    fn expr_fields(&self, module: ModuleId, expr: ExprId, path: &[Name], orders: &mut FieldOrders) {
        let ast = &self.db.module(module).ast;
        match &ast.exprs[expr].kind {
            ExprKind::Let { body, .. } => deep(|| self.expr_fields(module, *body, path, orders)),
            ExprKind::Record(fields) => {
                for (field, value) in fields {
                    let path = [path, from_ref(&field.name)].concat();
                    let (mut own, mut literals) = (Vec::new(), Vec::new());
                    self.in_expr(module, *value, &mut own);
                    self.literals(module, Some(ast.exprs[*value].span), &mut literals);
                    for literal in literals.iter().filter(|literal| !self.is_declared(literal)) {
                        add(&mut own, literal.iter().cloned());
                    }
                    orders.fields.push((path.clone(), own));
                    deep(|| self.expr_fields(module, *value, &path, orders));
                }
            }
            _ => {}
        }
    }

    /// Whether the types that have a name say one order of these fields.
    fn is_declared(&self, names: &[Name]) -> bool {
        let mut orders: Vec<Vec<Name>> = Vec::new();
        for alias in &self.db.aliases {
            if let TypeKind::Record(fields) =
                &self.db.module(alias.module).ast.types[alias.body].kind
            {
                let order: Vec<Name> = self::names(fields).collect();
                let same = order.len() == names.len() && names.iter().all(|n| order.contains(n));
                if same && !orders.contains(&order) {
                    orders.push(order);
                }
            }
        }
        orders.len() == 1
    }

    /// The records in the annotation of an expression's value, where it is a call or a name.
    fn in_expr(&self, module: ModuleId, expr: ExprId, orders: &mut Vec<Vec<Name>>) {
        let data = self.db.module(module);
        let mut at = expr;
        loop {
            match &data.ast.exprs[at].kind {
                ExprKind::Let { body, .. } => at = *body,
                ExprKind::If { then, .. } => at = *then,
                ExprKind::Apply { fun, .. } => at = *fun,
                ExprKind::Binary { op: BinaryOp::Pipe, rhs, .. } => at = *rhs,
                _ => break,
            }
        }
        match data.res.get(&at) {
            Some(Res::Def(def)) => {
                let info = self.db.def(*def);
                let of = self.db.module(info.module);
                if let Some(ty) = def_item(&of.ast, info.item).ret.filter(|_| !of.std) {
                    self.in_type(info.module, ty, &mut HashSet::new(), orders);
                }
            }
            Some(Res::Local(pattern)) => {
                let bindings = data.ast.exprs.iter().flat_map(|(_, expr)| match &expr.kind {
                    ExprKind::Let { bindings, .. } => &bindings[..],
                    _ => &[],
                });
                for binding in bindings {
                    let (pat, value) = match binding {
                        Binding::Value { pat, value } => (pat, value),
                        Binding::Function { name, ret: Some(ty), .. } if name == pattern => {
                            self.in_type(module, *ty, &mut HashSet::new(), orders);
                            continue;
                        }
                        Binding::Function { .. } => continue,
                    };
                    let is_it = match &data.ast.pats[*pat].kind {
                        PatKind::Annot(inner, ty) if inner == pattern => {
                            self.in_type(module, *ty, &mut HashSet::new(), orders);
                            true
                        }
                        _ => pat == pattern,
                    };
                    if is_it {
                        deep(|| self.in_expr(module, *value, orders));
                    }
                }
            }
            _ => {}
        }
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
