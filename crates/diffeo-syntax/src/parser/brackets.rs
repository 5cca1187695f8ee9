//! What stands in brackets: calls, indices and slices, tuples, arrays and comprehensions, records, lists.

use super::{Parser, SyntaxLevel};
use crate::ast::{Clause, ExprId, ExprKind, Ident, Range};
use crate::token::TokenKind;
use diffeo_base::{field_name, Diagnostic, Span};

impl Parser<'_> {
    /// `fun(a, b)`.
    pub(super) fn call(&mut self, start: usize, fun: ExprId) -> ExprId {
        let continues = self.note_continuation();
        let args_start = self.start();
        let mut opener = self.open();
        opener.continues = continues;
        let mut args = Vec::new();
        let mut hole = None;
        self.elements(&opener, |p| args.push(p.argument(&mut hole)));
        self.close(opener);
        let arg = match args.len() {
            0 => self.expr_node(args_start, ExprKind::Unit),
            1 => args[0],
            _ => self.expr_node(args_start, ExprKind::Tuple(args)),
        };
        self.expr_node(start, ExprKind::Apply { fun, arg })
    }

    /// An argument of a call, perhaps the `_` of the call; `hole` is where that stands.
    fn argument(&mut self, hole: &mut Option<Span>) -> ExprId {
        if self.at(TokenKind::Lower) && self.next_kind() == TokenKind::Eq {
            let name = self.text_of(self.token(0));
            self.report(Diagnostic::error("syntax", self.span(), "arguments have no names").help(
                format!(
                    "give the values alone, in order; a function of a record takes `{{{name} = e}}`"
                ),
            ));
            self.bump();
            self.bump();
            return self.expr();
        }
        if !self.at(TokenKind::Underscore)
            || !matches!(self.next_kind(), TokenKind::Comma | TokenKind::RParen)
        {
            return self.element();
        }
        let start = self.start();
        let kind = match *hole {
            None => {
                *hole = Some(self.span());
                ExprKind::Hole
            }
            Some(first) => {
                self.misplaced_hole("a call takes only one `_`", |d| {
                    d.label(first, "the first one")
                        .help("write the function out, as in `fn (x, y) -> f(x, y)`")
                });
                ExprKind::Error
            }
        };
        self.bump();
        self.expr_node(start, kind)
    }

    /// An expression in parentheses; where it is a comprehension, that lacks brackets.
    fn element(&mut self) -> ExprId {
        let (start, span) = (self.start(), self.span());
        let body = self.expr();
        if !self.at(TokenKind::For) {
            return body;
        }
        let word = self.span();
        self.bump();
        let clause = self.clause();
        let clauses = vec![self.condition(clause)];
        let comprehension = self.expr_node(start, ExprKind::Comprehension { body, clauses });
        let all = span.to(self.module.exprs[comprehension].span);
        let written = self.text.get(all.start as usize..all.end as usize).unwrap_or_default();
        let help = match written.len() < 60 && !written.contains('\n') {
            true => format!("write `[{written}]`"),
            false => "put `[` before the element and `]` behind the clauses".to_string(),
        };
        let message = "a comprehension stands in brackets";
        self.report(Diagnostic::error("syntax", word, message).help(help));
        comprehension
    }

    /// `base[i, j]`, `base[lo..hi]`.
    pub(super) fn index(&mut self, start: usize, base: ExprId) -> ExprId {
        let continues = self.note_continuation();
        let mut opener = self.open();
        opener.continues = continues;
        if self.at(TokenKind::RBracket) {
            self.unexpected_with("an index", |d| {
                d.label(opener.span, "of the index that starts here")
            });
            self.close(opener);
            return self.error_expr_from(start);
        }
        let first = if self.at(TokenKind::DotDot) { self.missing_end() } else { self.expr() };
        if self.eat(TokenKind::DotDot) {
            let hi = if self.at(TokenKind::RBracket) { self.missing_end() } else { self.expr() };
            self.close(opener);
            return self.expr_node(start, ExprKind::Slice { base, lo: first, hi });
        }
        let mut indices = vec![first];
        while self.another(&opener) {
            indices.push(self.expr());
        }
        self.close(opener);
        self.expr_node(start, ExprKind::Index { base, indices })
    }

    /// Says that a slice lacks an end.
    fn missing_end(&mut self) -> ExprId {
        let span = self.here();
        self.report(
            Diagnostic::error("syntax", span, "both ends of a slice are needed")
                .primary_text("an end is missing here")
                .help("a slice is written `xs[a..b]`; `xs[0..b]` starts at the beginning, `xs[a..length(xs)]` ends at the end"),
        );
        self.error_expr()
    }

    /// `()`, `(e)`, `(e, e)`.
    pub(super) fn parenthesised(&mut self) -> ExprId {
        let start = self.start();
        let opener = self.open();
        if self.eat(TokenKind::RParen) {
            self.open[0] -= 1;
            return self.expr_node(start, ExprKind::Unit);
        }
        let mut parts = Vec::new();
        self.elements(&opener, |p| parts.push(p.element()));
        if parts.is_empty() {
            self.unexpected_with("an expression", |d| {
                d.label(opener.span, "in the parentheses opened here")
            });
        }
        self.close(opener);
        match parts.len() {
            0 => self.error_expr_from(start),
            1 => parts[0],
            _ => self.expr_node(start, ExprKind::Tuple(parts)),
        }
    }

    /// `list[e, e]`.
    pub(super) fn list(&mut self) -> ExprId {
        let start = self.start();
        self.bump();
        if !self.at(TokenKind::LBracket) {
            self.missing("`[` after `list`", |d| {
                d.help("a list is written `list[a, b]`; `list` is a keyword and cannot be a name")
            });
            return self.error_expr_from(start);
        }
        let opener = self.open();
        let mut parts = Vec::new();
        self.elements(&opener, |p| parts.push(p.expr()));
        self.close(opener);
        self.expr_node(start, ExprKind::List(parts))
    }

    /// `[e, e]`, `[e for …]`.
    pub(super) fn array(&mut self) -> ExprId {
        let start = self.start();
        let opener = self.open();
        if self.eat(TokenKind::RBracket) {
            self.open[1] -= 1;
            return self.expr_node(start, ExprKind::Array(Vec::new()));
        }
        let first = self.expr();
        if self.at(TokenKind::For) {
            let mut clauses = Vec::new();
            self.bump();
            loop {
                let clause = self.clause();
                clauses.push(self.condition(clause));
                let again = self.at(TokenKind::For)
                    || self.at(TokenKind::Comma) && self.next_kind() == TokenKind::For;
                if !again && !self.another(&opener) {
                    break;
                }
                if again {
                    self.eat(TokenKind::Comma);
                    self.report(
                        Diagnostic::error(
                            "syntax",
                            self.span(),
                            "a comprehension has only one `for`",
                        )
                        .help("further clauses follow after commas: `[e for i < n, j < m]`"),
                    );
                    self.bump();
                }
            }
            self.close(opener);
            return self.expr_node(start, ExprKind::Comprehension { body: first, clauses });
        }
        let mut parts = vec![first];
        while self.another(&opener) {
            parts.push(self.expr());
        }
        self.close(opener);
        self.expr_node(start, ExprKind::Array(parts))
    }

    /// `if c` after a clause.
    fn condition(&mut self, clause: Clause) -> Clause {
        if !self.eat(TokenKind::If) {
            return clause;
        }
        let cond = Some(self.expr());
        if self.at(TokenKind::Then) {
            self.unexpected_with("`,` or `]` after the condition", |d| {
                d.help("an element that is chosen stands before `for`: `[if c then a else b for x in xs]`")
            });
            self.skip();
        } else if self.at(TokenKind::If) {
            self.report(
                Diagnostic::error("syntax", self.span(), "a clause has one condition")
                    .help("join them with `and`: `[x for x in xs if x > a and x < b]`"),
            );
            self.bump();
            self.expr();
        }
        Clause { cond, ..clause }
    }

    /// `i < n` or `x in xs` after `for`.
    pub(super) fn clause(&mut self) -> Clause {
        let pat = self.pattern();
        if self.eat(TokenKind::In) {
            return Clause { pat, range: Range::In(self.expr()), cond: None };
        }
        if !self.eat(TokenKind::Lt) {
            self.missing("`<` or `in` after the pattern of `for`", |d| {
                d.help("`for i < n` counts i from 0 to n - 1, `for x in xs` goes over the elements")
            });
            if matches!(
                self.kind(),
                TokenKind::Eq | TokenKind::Le | TokenKind::Colon | TokenKind::ColonEq
            ) {
                self.bump();
            } else if !self.kind().starts_expr() {
                self.skip();
            }
        }
        Clause { pat, range: Range::Count(self.expr()), cond: None }
    }

    /// `{x = e, y}`, `{r with x = e}`.
    pub(super) fn record(&mut self) -> ExprId {
        let start = self.start();
        let opener = self.open();
        if self.at(TokenKind::RBrace) {
            let span = opener.span.to(self.span());
            self.close(opener);
            self.report(
                Diagnostic::error("syntax", span, "a record has at least one field")
                    .help("the value without parts is `()`"),
            );
            return self.error_expr_from(start);
        }
        if self.at_field() {
            let fields = self.fields(&opener);
            self.close(opener);
            return self.expr_node(start, ExprKind::Record(fields));
        }
        let base = self.deeper(SyntaxLevel::Expression, Self::application, Self::error_expr);
        if self.eat(TokenKind::With) {
            let fields = self.fields(&opener);
            self.close(opener);
            return self.expr_node(start, ExprKind::RecordWith { base, fields });
        }
        self.unexpected_with("a record", |d| {
            d.label(opener.span, "a record starts here").help(
                "a record is written `{x = e, y = e}` or `{r with x = e}`; parentheses group expressions",
            )
        });
        self.skip();
        self.close(opener);
        self.error_expr_from(start)
    }

    /// Whether a field with its value, or what is meant as one, starts here.
    fn at_field(&self) -> bool {
        use TokenKind::*;
        self.at_field_name()
            && matches!(self.next_kind(), Eq | EqEq | Colon | ColonEq | Comma | RBrace)
    }

    fn fields(&mut self, opener: &super::recover::Opener) -> Vec<(Ident, ExprId)> {
        let mut fields = Vec::new();
        self.elements(opener, |p| {
            if let Some(field) = p.field() {
                fields.push(field);
            }
        });
        if fields.is_empty() {
            self.unexpected("a field");
        }
        fields
    }

    /// `x = e`, or `x` for `x = x`.
    pub(super) fn field(&mut self) -> Option<(Ident, ExprId)> {
        let start = self.start();
        let variable = self.at(TokenKind::Lower);
        let Some(name) = self.eat_field_name() else {
            self.missing_field_name("a field is written `x = e`");
            self.skip();
            return None;
        };
        let text = field_name(&name.name);
        match self.kind() {
            TokenKind::Eq => self.bump(),
            TokenKind::Colon => {
                self.report(
                    Diagnostic::error("syntax", self.span(), "the value of a field follows `=`")
                        .primary_text("expected `=`")
                        .help(format!("write `{text} = …`; `:` stands in record types")),
                );
                self.bump();
            }
            TokenKind::Comma | TokenKind::RBrace if variable => {
                let value = self.expr_node(start, ExprKind::Var(name.name.clone()));
                return Some((name, value));
            }
            TokenKind::Comma | TokenKind::RBrace => {
                self.missing("`=` and the value of the field", |d| {
                    d.help(format!("only a variable's name stands for both: write `{text} = e`"))
                });
                let value = self.error_expr();
                return Some((name, value));
            }
            _ => self.equals("after the name of the field"),
        }
        Some((name, self.expr()))
    }

    /// `base with [i, j] = value`, from the `with` on.
    pub(super) fn update(&mut self, start: usize, base: ExprId) -> ExprId {
        let with = self.span();
        self.bump();
        if self.at_field_name() {
            self.report(
                Diagnostic::error("syntax", with, "the `with` of a record stands in braces").help(
                    "write `{r with x = e}`; `xs with [i] = e` replaces an element of an array",
                ),
            );
            let fields = self.field().into_iter().collect();
            return self.expr_node(start, ExprKind::RecordWith { base, fields });
        }
        if !self.at(TokenKind::LBracket) {
            self.unexpected_with("`[` after `with`", |d| {
                d.help("an element of an array is replaced with `xs with [i] = e`")
            });
            return self.error_expr_from(start);
        }
        let opener = self.open();
        let mut indices = Vec::new();
        self.elements(&opener, |p| indices.push(p.expr()));
        if indices.is_empty() {
            self.unexpected("an index");
        }
        self.close(opener);
        self.equals("and the new element");
        let value = self.expr();
        if indices.is_empty() {
            return self.error_expr_from(start);
        }
        self.expr_node(start, ExprKind::Update { base, indices, value })
    }
}
