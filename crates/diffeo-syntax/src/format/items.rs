//! The layout of a file: its imports, types and definitions; and of patterns and types.

use super::build::DocBuilder;
use super::exprs::Elements;
use super::layout::{Doc, LineBreak};
use crate::ast::{
    Constructor, Import, Item, PatId, PatKind, Path, SizeExpr, TypeBody, TypeDecl, TypeId, TypeKind,
};
use crate::token::TokenKind;

impl<'t> DocBuilder<'_, 't> {
    /// The whole file.
    pub(super) fn file(mut self) -> Doc<'t> {
        let module = self.module;
        for item in &module.items {
            self.line_kept(LineBreak::Hard);
            match item {
                Item::Import(import) => self.import(import),
                Item::Type(decl) => self.type_decl(decl),
                Item::Def(def) => {
                    self.token();
                    self.space();
                    self.token();
                    self.function(def.param, def.ret, def.body);
                }
            }
        }
        self.line_kept(LineBreak::Hard);
        self.own_comments();
        self.finish()
    }
}

impl DocBuilder<'_, '_> {
    fn import(&mut self, import: &Import) {
        self.token();
        self.space();
        self.token();
        if self.at(TokenKind::LParen) {
            self.space();
            self.elements(Elements::Filled, import.names.len(), |b, _| b.token());
        }
    }

    fn type_decl(&mut self, decl: &TypeDecl) {
        self.token();
        self.space();
        self.token();
        if !decl.params.is_empty() {
            self.elements(Elements::Lines, decl.params.len(), |b, _| b.token());
        }
        self.space();
        self.token();
        match &decl.body {
            TypeBody::Alias(alias) => self.alias(*alias),
            TypeBody::Variants(constructors) => self.variants(constructors),
        }
    }

    fn alias(&mut self, alias: TypeId) {
        let node = &self.module.types[alias];
        let hugs = !self.at_parenthesis(node.span)
            && matches!(node.kind, TypeKind::Tuple(_) | TypeKind::Record(_));
        self.body(hugs, |b| b.type_(alias));
    }

    /// On one line, or each constructor on a line of its own; a line break before a `|` is kept.
    fn variants(&mut self, constructors: &[Constructor]) {
        self.group(|b| {
            b.indented(|b| {
                for (i, constructor) in constructors.iter().enumerate() {
                    if i > 0 && b.on_new_line() {
                        b.break_group();
                    }
                    b.line_kept(LineBreak::Space);
                    if i > 0 {
                        b.token();
                        b.space();
                    } else {
                        b.own_comments();
                        // Without a `|` and fields it would be another type.
                        match constructors {
                            [only] if only.fields.is_empty() => b.word("| "),
                            _ => b.word_if_broken("| "),
                        }
                    }
                    b.token();
                    if !constructor.fields.is_empty() {
                        let fields = &constructor.fields;
                        b.elements(Elements::Lines, fields.len(), |b, i| b.type_(fields[i]));
                    }
                }
            });
        });
    }

    /// A constructor's or type's name, perhaps with its module.
    pub(super) fn path(&mut self, path: &Path) {
        self.tokens(if path.module.is_some() { 3 } else { 1 });
    }
}

// Patterns.
impl DocBuilder<'_, '_> {
    /// A pattern.
    pub(super) fn pat(&mut self, id: PatId) {
        self.deeper(|b| b.pat_here(id));
    }

    fn pat_here(&mut self, id: PatId) {
        let module = self.module;
        let node = &module.pats[id];
        if self.at_parenthesis(node.span) {
            return self.bracketed(|b| b.pat(id));
        }
        match &node.kind {
            PatKind::Error => {}
            PatKind::Wild | PatKind::Var(_) | PatKind::Bool(_) | PatKind::Str(_) => self.token(),
            PatKind::Int(_) | PatKind::Real(_) => {
                self.token_if(TokenKind::Minus);
                self.token();
            }
            PatKind::Unit | PatKind::Tuple(_) => {
                self.params(id);
            }
            PatKind::Record(fields) => {
                self.elements(Elements::Lines, fields.len(), |b, i| {
                    // `{x}` is `{x = x}` without the pattern.
                    if b.before(TokenKind::Eq) {
                        b.token();
                        b.spaced_token();
                        b.pat(fields[i].1);
                    } else {
                        b.token();
                    }
                });
            }
            PatKind::Con { path, arg } => {
                self.path(path);
                if let Some(arg) = arg {
                    self.params(*arg);
                }
            }
            PatKind::Cons(head, tail) => {
                self.pat(*head);
                self.spaced_token();
                self.pat(*tail);
            }
            PatKind::Annot(pat, ty) => {
                self.pat(*pat);
                self.token();
                self.space();
                self.type_(*ty);
            }
        }
    }

    /// The parameters of a function, the fields of a constructor: a pattern in parentheses. Answers which
    /// group they are.
    pub(super) fn params(&mut self, id: PatId) -> usize {
        let group = self.next_group();
        let node = &self.module.pats[id];
        match &node.kind {
            PatKind::Unit if self.starts_here(node.span) => {
                self.elements(Elements::Lines, 0, |_, _| {});
            }
            PatKind::Tuple(parts) if self.starts_here(node.span) => {
                self.elements(Elements::Lines, parts.len(), |b, i| b.pat(parts[i]));
            }
            _ => self.bracketed(|b| b.pat(id)),
        }
        group
    }
}

// Types.
impl DocBuilder<'_, '_> {
    /// A type.
    pub(super) fn type_(&mut self, id: TypeId) {
        self.deeper(|b| b.type_here(id));
    }

    fn type_here(&mut self, id: TypeId) {
        let module = self.module;
        let node = &module.types[id];
        if self.at_parenthesis(node.span) {
            return self.bracketed(|b| b.type_(id));
        }
        match &node.kind {
            TypeKind::Error => {}
            TypeKind::Var(_) => self.token(),
            TypeKind::Named { path, args } => {
                self.path(path);
                if !args.is_empty() {
                    self.elements(Elements::Lines, args.len(), |b, i| b.type_(args[i]));
                }
            }
            TypeKind::Unit => {
                self.elements(Elements::Lines, 0, |_, _| {});
            }
            TypeKind::Tuple(parts) => {
                self.elements(Elements::Lines, parts.len(), |b, i| b.type_(parts[i]));
            }
            TypeKind::Record(fields) => {
                self.elements(Elements::Kept, fields.len(), |b, i| {
                    b.tokens(2);
                    b.space();
                    b.type_(fields[i].1);
                });
            }
            TypeKind::Array(size, element) => {
                self.tokens(match size {
                    SizeExpr::Unknown => 2,
                    SizeExpr::Named(_) | SizeExpr::Literal(..) => 3,
                });
                self.type_(*element);
            }
            TypeKind::Fun(from, to) => self.arrows(*from, *to),
        }
    }

    /// `A -> B -> C` on one line, or broken after each arrow.
    fn arrows(&mut self, from: TypeId, mut to: TypeId) {
        let module = self.module;
        self.group(|b| {
            b.type_(from);
            b.indented(|b| loop {
                b.space();
                b.token();
                b.possible_line(LineBreak::Space);
                let next = &module.types[to];
                let TypeKind::Fun(from, rest) = next.kind else { break b.type_(to) };
                if b.at_parenthesis(next.span) {
                    break b.type_(to);
                }
                b.type_(from);
                to = rest;
            });
        });
    }
}
