//! Type expressions: names with arguments, variables, tuples, records, arrays, functions.

use super::{Parser, SyntaxLevel};
use crate::ast::{Path, SizeExpr, TypeId, TypeKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// A whole type.
    pub(super) fn type_(&mut self) -> TypeId {
        self.deeper(SyntaxLevel::Type, Self::type_here, Self::error_type)
    }

    fn type_here(&mut self) -> TypeId {
        let start = self.start();
        let from = self.type_atom();
        if !self.eat(TokenKind::Arrow) {
            return from;
        }
        let to = self.type_();
        self.type_node(start, TypeKind::Fun(from, to))
    }

    /// A type that is no function, unless in parentheses.
    pub(super) fn type_atom(&mut self) -> TypeId {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Lower if self.next_kind() == TokenKind::Dot => {
                let module = Some(self.ident());
                self.bump();
                match self.eat_ident(TokenKind::Upper) {
                    Some(name) => self.named(Path { module, name }),
                    None => {
                        self.unexpected_with("the name of a type", |d| {
                            d.help("types start with an upper-case letter")
                        });
                        TypeKind::Error
                    }
                }
            }
            TokenKind::Lower => TypeKind::Var(self.ident().name),
            TokenKind::Upper => {
                let name = self.ident();
                self.named(Path { module: None, name })
            }
            TokenKind::LParen => return self.parenthesised_type(),
            TokenKind::LBrace => self.record_type(),
            TokenKind::LBracket => self.array_type(),
            TokenKind::List => {
                self.unexpected_with("a type", |d| {
                    d.help("the type of lists is written `List[T]`")
                });
                self.bump();
                if self.at(TokenKind::LBracket) {
                    self.type_args();
                }
                TypeKind::Error
            }
            TokenKind::Stray => {
                self.bump();
                self.muted = Some(self.pos);
                TypeKind::Error
            }
            _ => {
                self.unexpected("a type");
                TypeKind::Error
            }
        };
        self.type_node(start, kind)
    }

    fn named(&mut self, path: Path) -> TypeKind {
        if self.at(TokenKind::LBracket) && path.module.is_none() {
            if let Some(ty) = self.brackets_behind(&path) {
                return ty;
            }
        }
        let args = if self.at(TokenKind::LBracket) { self.type_args() } else { Vec::new() };
        TypeKind::Named { path, args }
    }

    /// `Real[]` and `Real[n][3]`: types of arrays as other languages write them.
    fn brackets_behind(&mut self, path: &Path) -> Option<TypeKind> {
        let name = path.name.name.as_str();
        if !matches!(name, "Real" | "Int" | "Bool" | "String") {
            return None;
        }
        let mut sizes = Vec::new();
        let mut at = 0;
        while self.token(at).kind == TokenKind::LBracket {
            let inner = self.token(at + 1);
            let sized = matches!(inner.kind, TokenKind::Lower | TokenKind::Int);
            sizes.push(if sized { self.text_of(inner) } else { "" });
            at += if sized { 3 } else { 2 };
            if self.token(at - 1).kind != TokenKind::RBracket {
                return None;
            }
        }
        let written: String = sizes.iter().map(|size| format!("[{size}]")).collect();
        self.unexpected_with("the end of the type", |d| {
            d.help(format!("the brackets of an array type stand in front: `{written}{name}`"))
        });
        (0..at).for_each(|_| self.bump());
        Some(TypeKind::Error)
    }

    /// `[T, U]` after the name of a type.
    fn type_args(&mut self) -> Vec<TypeId> {
        let opener = self.open();
        let mut args = Vec::new();
        self.elements(&opener, |p| args.push(p.type_()));
        if args.is_empty() {
            self.unexpected("a type");
        }
        self.close(opener);
        args
    }

    fn parenthesised_type(&mut self) -> TypeId {
        let start = self.start();
        let opener = self.open();
        let mut parts = Vec::new();
        self.elements(&opener, |p| parts.push(p.type_()));
        self.close(opener);
        match parts.len() {
            0 => self.type_node(start, TypeKind::Unit),
            1 => parts[0],
            _ => self.type_node(start, TypeKind::Tuple(parts)),
        }
    }

    fn record_type(&mut self) -> TypeKind {
        let opener = self.open();
        let mut fields = Vec::new();
        self.elements(&opener, |p| {
            let Some(name) = p.eat_field_name() else {
                p.missing_field_name("a record type is written `{x: T, y: T}`");
                p.skip();
                return;
            };
            if !p.eat(TokenKind::Colon) {
                p.missing("`:` and the type of the field", |d| {
                    d.help("a record type is written `{x: T, y: T}`")
                });
                p.eat(TokenKind::Eq);
            }
            let ty = p.type_();
            fields.push((name, ty));
        });
        if fields.is_empty() {
            self.unexpected_with("a field", |d| {
                d.help("the type of the value without parts is `()`")
            });
        }
        self.close(opener);
        if fields.is_empty() {
            return TypeKind::Error;
        }
        TypeKind::Record(fields)
    }

    /// `[n]T`, `[3]T`, `[]T`.
    fn array_type(&mut self) -> TypeKind {
        let opener = self.open();
        let mut known = true;
        let size = match self.kind() {
            TokenKind::Lower => SizeExpr::Named(self.ident()),
            TokenKind::Int => {
                let span = self.span();
                let size = self.text_of(self.token(0)).parse();
                if size.is_err() {
                    self.literal_too_large("this size is too large");
                }
                self.bump();
                size.map_or(SizeExpr::Unknown, |n| SizeExpr::Literal(n, span))
            }
            TokenKind::RBracket => SizeExpr::Unknown,
            found => {
                known = false;
                self.unexpected_with("a size", |d| match found {
                    TokenKind::Upper => d.help("the element type follows the brackets: `[n]Real`, or `[]Real` of any size"),
                    _ => d.help("a size is a lower-case name or a number, or left out: `[n]Real`, `[3]Real`, `[]Real`"),
                });
                self.skip();
                SizeExpr::Unknown
            }
        };
        if !self.at(TokenKind::RBracket) {
            let comma = self.at(TokenKind::Comma);
            self.missing("`]` after the size", |d| {
                let d = d.label(opener.span, "opened here");
                if comma {
                    d.help("each dimension has its own brackets: `[n][m]Real`")
                } else {
                    d.help("a size is a lower-case name or a number; a computed size is left out: `[]Real`")
                }
            });
            while !self.at(TokenKind::RBracket) {
                let before = self.pos;
                self.skip();
                self.eat(TokenKind::Comma);
                if self.pos == before {
                    break;
                }
            }
        }
        self.close(opener);
        if !known {
            // What was meant as the element type may stand in the brackets.
            self.muted = Some(self.pos);
        }
        let element = self.deeper(SyntaxLevel::Type, Self::type_atom, Self::error_type);
        TypeKind::Array(size, element)
    }
}
