//! Patterns: variables, `_`, literals, tuples, records, constructors, `p :: p`, `(p: T)`; and the
//! parameters of definitions, which are patterns in parentheses.

use super::{Parser, SyntaxLevel};
use crate::ast::{Ident, PatId, PatKind, Path};
use crate::token::TokenKind;
use diffeo_base::{field_name, Diagnostic};

impl Parser<'_> {
    /// A whole pattern.
    pub(super) fn pattern(&mut self) -> PatId {
        self.deeper(SyntaxLevel::Pattern, Self::pattern_here, Self::error_pat)
    }

    fn pattern_here(&mut self) -> PatId {
        let start = self.start();
        let head = self.pattern_atom();
        if !self.eat(TokenKind::ColonColon) {
            return head;
        }
        let tail = self.pattern();
        self.pat_node(start, PatKind::Cons(head, tail))
    }

    /// A pattern that is one piece.
    pub(super) fn pattern_atom(&mut self) -> PatId {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Underscore => self.bumped(PatKind::Wild),
            TokenKind::Lower
                if self.next_kind() == TokenKind::Dot && self.token(2).kind == TokenKind::Upper =>
            {
                let module = Some(self.ident());
                self.bump();
                let name = self.ident();
                self.constructor(Path { module, name })
            }
            TokenKind::Lower => PatKind::Var(self.ident().name),
            TokenKind::Upper => {
                let name = self.ident();
                self.constructor(Path { module: None, name })
            }
            TokenKind::Int | TokenKind::Real => self.number_pattern(false),
            TokenKind::Minus if matches!(self.next_kind(), TokenKind::Int | TokenKind::Real) => {
                self.bump();
                self.number_pattern(true)
            }
            TokenKind::True => self.bumped(PatKind::Bool(true)),
            TokenKind::False => self.bumped(PatKind::Bool(false)),
            TokenKind::Str | TokenKind::BrokenStr => PatKind::Str(self.string()),
            TokenKind::LParen => return self.params(),
            TokenKind::LBrace => self.record_pattern(),
            TokenKind::LBracket | TokenKind::List => {
                self.unexpected_with("a pattern", |d| {
                    d.help("arrays have no patterns; those of lists are `Nil` and `x :: xs`")
                });
                self.eat(TokenKind::List);
                if self.at(TokenKind::LBracket) {
                    let opener = self.open();
                    while !self.at(TokenKind::RBracket) && !self.at_end() {
                        let before = self.pos;
                        self.skip();
                        self.eat(TokenKind::Comma);
                        if self.pos == before {
                            break;
                        }
                    }
                    self.close(opener);
                }
                PatKind::Error
            }
            TokenKind::Stray => {
                self.bumped(PatKind::Error);
                self.muted = Some(self.pos);
                PatKind::Error
            }
            _ if self.at_keyword_name() => {
                self.keyword_as_name("a pattern");
                self.bumped(PatKind::Error)
            }
            _ => {
                self.unexpected("a pattern");
                PatKind::Error
            }
        };
        self.pat_node(start, kind)
    }

    fn bumped(&mut self, kind: PatKind) -> PatKind {
        self.bump();
        kind
    }

    /// Whether a keyword stands here as if it were a name.
    pub(super) fn at_keyword_name(&self) -> bool {
        use TokenKind::*;
        self.kind().is_keyword()
            && !self.at_end()
            && matches!(
                self.next_kind(),
                Eq | Colon | ColonEq | Comma | RParen | RBrace | Arrow | Lt | LParen
            )
    }

    fn constructor(&mut self, path: Path) -> PatKind {
        if !self.at(TokenKind::LParen) {
            return PatKind::Con { path, arg: None };
        }
        // The fields are a tuple pattern, or the one pattern in parentheses.
        let arg = self.deeper(SyntaxLevel::Pattern, Self::params, Self::error_pat);
        PatKind::Con { path, arg: Some(arg) }
    }

    fn number_pattern(&mut self, negative: bool) -> PatKind {
        let digits = self.text_of(self.token(0));
        let kind = if self.at(TokenKind::Int) {
            let value = digits.parse::<u64>().ok().and_then(|n| match negative {
                true => 0i64.checked_sub_unsigned(n),
                false => i64::try_from(n).ok(),
            });
            if value.is_none() {
                self.literal_too_large("this literal is too large for an Int");
            }
            value.map_or(PatKind::Error, PatKind::Int)
        } else {
            self.real(digits)
                .map_or(PatKind::Error, |x| PatKind::Real(if negative { -x } else { x }))
        };
        self.bumped(kind)
    }

    /// `()`, `(p)`, `(p, q: T)`: the patterns of a tuple, of the fields of a constructor, of parameters.
    pub(super) fn params(&mut self) -> PatId {
        let start = self.start();
        let opener = self.open();
        let mut parts = Vec::new();
        self.elements(&opener, |p| {
            let part = p.annotated_pattern();
            parts.push(part);
        });
        self.close(opener);
        match parts.len() {
            0 => self.pat_node(start, PatKind::Unit),
            1 => parts[0],
            _ => self.pat_node(start, PatKind::Tuple(parts)),
        }
    }

    fn annotated_pattern(&mut self) -> PatId {
        let start = self.start();
        let pat = self.pattern();
        if self.at(TokenKind::Eq) {
            self.missing("`,` or `)`", |d| d.help("parameters have no default values"));
            self.skip();
        }
        if !self.eat(TokenKind::Colon) {
            return pat;
        }
        let ty = self.type_();
        self.pat_node(start, PatKind::Annot(pat, ty))
    }

    fn record_pattern(&mut self) -> PatKind {
        let opener = self.open();
        let mut fields = Vec::new();
        self.elements(&opener, |p| {
            if let Some(field) = p.field_pattern() {
                fields.push(field);
            }
        });
        if fields.is_empty() {
            self.unexpected_with("a field", |d| d.help("a record has at least one field"));
        }
        self.close(opener);
        if fields.is_empty() {
            return PatKind::Error;
        }
        PatKind::Record(fields)
    }

    /// `x = p` or `x`.
    fn field_pattern(&mut self) -> Option<(Ident, PatId)> {
        let start = self.start();
        let variable = self.at(TokenKind::Lower);
        let Some(field) = self.eat_field_name() else {
            self.missing_field_name("a field's pattern is written `x = p` or `x`");
            self.skip();
            return None;
        };
        if self.eat(TokenKind::Eq) {
            return Some((field, self.pattern()));
        }
        if !variable && !self.at(TokenKind::Colon) {
            let name = field_name(&field.name);
            self.missing("`=` and the pattern of the field", |d| {
                d.help(format!("only a variable's name stands for both: write `{name} = x`"))
            });
            let pat = self.error_pat();
            return Some((field, pat));
        }
        let pat = self.pat_node(start, PatKind::Var(field.name.clone()));
        if self.at(TokenKind::Colon) {
            self.report(
                Diagnostic::error("syntax", self.span(), "the pattern of a field follows `=`")
                    .primary_text("expected `=`")
                    .help("write `{x = p}`; a type stands after the whole pattern, `({x, y}: T)`"),
            );
            self.bump();
            self.skip();
        }
        Some((field, pat))
    }
}
