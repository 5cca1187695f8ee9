//! Expressions: operators by precedence climbing, prefixes, application, and the smallest operands.
//!
//! `expr` reads a whole expression. Everything else reads an operand of some tightness; there the forms
//! that extend as far right as they can (`let`, `fn`, `if`, `case`, `loop`, `with`) need parentheses.

use super::hints::is_lambda_word;
use super::recover::CONTINUES;
use super::{Continuation, Parser, SyntaxLevel};
use crate::ast::{BinaryOp, ExprId, ExprKind, UnaryOp};
use crate::lexer::unescape;
use crate::token::TokenKind;
use diffeo_base::{Diagnostic, Name, Span};

/// How tightly operators bind, loosest first.
mod level {
    pub(super) const PIPE: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const NOT: u8 = 4;
    pub(super) const COMPARE: u8 = 5;
    pub(super) const CONS: u8 = 6;
    pub(super) const APPEND: u8 = 7;
    pub(super) const ADD: u8 = 8;
    pub(super) const MULTIPLY: u8 = 9;
    pub(super) const POWER: u8 = 11;
}

/// The operator of a token with its level. Signs other languages use for an operator count as it.
fn infix(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::Pipe => (BinaryOp::Pipe, level::PIPE),
        TokenKind::Or | TokenKind::BarBar => (BinaryOp::Or, level::OR),
        TokenKind::And | TokenKind::AmpAmp => (BinaryOp::And, level::AND),
        TokenKind::EqEq | TokenKind::Eq => (BinaryOp::Eq, level::COMPARE),
        TokenKind::BangEq => (BinaryOp::Ne, level::COMPARE),
        TokenKind::Lt => (BinaryOp::Lt, level::COMPARE),
        TokenKind::Le => (BinaryOp::Le, level::COMPARE),
        TokenKind::Gt => (BinaryOp::Gt, level::COMPARE),
        TokenKind::Ge => (BinaryOp::Ge, level::COMPARE),
        TokenKind::ColonColon => (BinaryOp::Cons, level::CONS),
        TokenKind::PlusPlus => (BinaryOp::Append, level::APPEND),
        TokenKind::Plus => (BinaryOp::Add, level::ADD),
        TokenKind::Minus => (BinaryOp::Sub, level::ADD),
        TokenKind::Star => (BinaryOp::Mul, level::MULTIPLY),
        TokenKind::Slash => (BinaryOp::Div, level::MULTIPLY),
        TokenKind::Percent => (BinaryOp::Rem, level::MULTIPLY),
        TokenKind::Caret | TokenKind::StarStar => (BinaryOp::Pow, level::POWER),
        _ => return None,
    })
}

impl<'t> Parser<'t> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> ExprId {
        self.deeper(SyntaxLevel::Expression, Self::expr_here, Self::error_expr)
    }

    fn expr_here(&mut self) -> ExprId {
        match self.kind() {
            TokenKind::Let
            | TokenKind::Fn
            | TokenKind::If
            | TokenKind::Case
            | TokenKind::Loop
            | TokenKind::Backslash => {
                let start = self.start();
                let is_case = self.at(TokenKind::Case);
                let form = self.form();
                // Only a `case` has an end of its own, after which an operator can come.
                if is_case && infix(self.kind()).is_some() && !self.is_muted() {
                    self.needs_parentheses("case", self.span_from(start));
                    return self.operators(start, form, 0);
                }
                form
            }
            _ => self.binary(0, true),
        }
    }

    /// An expression of operators at least as tight as `min`; `lead` if it starts a whole expression.
    fn binary(&mut self, min: u8, lead: bool) -> ExprId {
        let start = self.start();
        let lhs = self.prefix(min, lead);
        self.operators(start, lhs, min)
    }

    /// What follows the first operand `lhs`, which starts at `start`.
    fn operators(&mut self, start: usize, mut lhs: ExprId, min: u8) -> ExprId {
        let mut compared: Option<Span> = None;
        while let Some((op, level)) = infix(self.kind()) {
            if level < min || self.at(TokenKind::Eq) && self.is_muted() {
                break;
            }
            let op_span = self.span();
            self.foreign_operator(op, lhs);
            if level == level::COMPARE {
                if let Some(first) = compared {
                    self.report(
                        Diagnostic::error(
                            "chained-comparison",
                            op_span,
                            "comparisons cannot be chained",
                        )
                        .primary_text("a second comparison")
                        .label(first, "the first one")
                        .help("join them with `and`, as in `a < b and b < c`, or use parentheses"),
                    );
                }
                compared = Some(op_span);
            }
            self.bump();
            let rhs = match op {
                BinaryOp::Cons | BinaryOp::Pow => self.deeper(
                    SyntaxLevel::Expression,
                    |p| p.binary(level, false),
                    Self::error_expr,
                ),
                _ => self.binary(level + 1, false),
            };
            lhs = self.expr_node(start, ExprKind::Binary { op, op_span, lhs, rhs });
        }
        lhs
    }

    /// Says what to write for an operator of another language.
    fn foreign_operator(&mut self, op: BinaryOp, lhs: ExprId) {
        let kind = self.kind();
        let symbol = op.symbol();
        if kind == TokenKind::Eq {
            return self.assignment(lhs);
        }
        if kind == TokenKind::Lt && self.is_arrow() {
            let arrow = Span { end: self.token(1).end, ..self.span() };
            return self.report(
                Diagnostic::warning(
                    "misleading-arrow",
                    arrow,
                    "`<-` gives no value to a name: this compares with a negative number",
                )
                .help("write `let x = 2 in`, or `x < -2` to compare"),
            );
        }
        let message = match kind {
            TokenKind::BarBar | TokenKind::AmpAmp => "there is no such operator",
            TokenKind::StarStar => "there is no operator `**`",
            _ => return,
        };
        self.report(
            Diagnostic::error("syntax", self.span(), message)
                .primary_text(format!("expected `{symbol}`"))
                .help(format!("write `{symbol}`")),
        );
    }

    /// Whether `<` and `-` stand together, apart from what follows: as a comparison nobody writes so.
    fn is_arrow(&self) -> bool {
        let [less, minus, next] = [0, 1, 2].map(|i| self.token(i));
        minus.kind == TokenKind::Minus && less.end == minus.start && minus.end < next.start
    }

    /// Says what to write for `lhs =` in an expression: an assignment, a binding without `let`, a comparison.
    fn assignment(&mut self, lhs: ExprId) {
        let span = self.module.exprs[lhs].span;
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
        let before = self.text.get(..span.start as usize).unwrap_or("");
        let line_start = before.rfind('\n').map_or(before, |i| &before[i + 1..]).trim().is_empty();
        let name = text.len() < 40 && !text.contains('\n');
        let mut compares = false;
        let (message, help) = match &self.module.exprs[lhs].kind {
            ExprKind::Index { .. } => {
                let (array, index) = text.split_once('[').filter(|_| name).unwrap_or(("xs", "i]"));
                let index = index.replace("][", ", ");
                (
                    "arrays are not assigned to",
                    format!(
                        "write `{array} with [{index} = e`, an array that differs in this element"
                    ),
                )
            }
            ExprKind::Field { base, field } => {
                let span = self.module.exprs[*base].span;
                let base = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
                let base = if name { base } else { "r" };
                (
                    "records are not assigned to",
                    format!(
                        "write `{{{base} with {} = e}}`, a record that differs in this field",
                        field.name
                    ),
                )
            }
            ExprKind::Var(x) if line_start => (
                "`=` does not stand in an expression",
                format!("bind a name with `let {x} = e in …`; `==` compares"),
            ),
            _ => {
                compares = true;
                ("`=` does not compare", "write `==`".into())
            }
        };
        let mut diagnostic = Diagnostic::error("syntax", self.span(), message).help(help);
        if compares {
            diagnostic = diagnostic
                .primary_text("expected `==`")
                .note("`=` binds names, as in `let x = e in …`");
        }
        self.report(diagnostic);
    }

    /// Says that a form that extends to the right stands as an operand.
    fn needs_parentheses(&mut self, form: &str, span: Span) {
        self.report(
            Diagnostic::error(
                "needs-parentheses",
                span,
                format!("`{form}` needs parentheses as an operand"),
            )
            .help(format!("put parentheses around the whole `{form}` expression")),
        );
    }

    fn prefix(&mut self, min: u8, lead: bool) -> ExprId {
        let start = self.start();
        let (op, below) = match self.kind() {
            TokenKind::Not => {
                if min > level::NOT {
                    self.needs_parentheses("not", self.span());
                }
                (UnaryOp::Not, level::NOT)
            }
            TokenKind::Bang => {
                self.report(
                    Diagnostic::error("syntax", self.span(), "there is no operator `!`")
                        .primary_text("expected `not`")
                        .help("write `not`"),
                );
                (UnaryOp::Not, level::POWER)
            }
            TokenKind::Minus => (UnaryOp::Neg, level::POWER),
            TokenKind::Plus if self.next_kind().starts_expr() => {
                self.report(
                    Diagnostic::error("syntax", self.span(), "there is no prefix `+`")
                        .help("leave out the `+`"),
                );
                self.bump();
                return self.deeper(
                    SyntaxLevel::Expression,
                    |p| p.binary(level::POWER, false),
                    Self::error_expr,
                );
            }
            _ => return self.postfix(lead),
        };
        self.bump();
        let operand =
            self.deeper(SyntaxLevel::Expression, |p| p.binary(below, false), Self::error_expr);
        self.expr_node(start, ExprKind::Unary { op, operand })
    }

    /// An application-level expression, and a `with` after it.
    fn postfix(&mut self, lead: bool) -> ExprId {
        let start = self.start();
        let base = self.application();
        if !self.at(TokenKind::With) {
            return base;
        }
        if !lead {
            self.needs_parentheses("with", self.span());
        }
        self.update(start, base)
    }

    /// An operand with its calls, indices and fields.
    pub(super) fn application(&mut self) -> ExprId {
        let start = self.start();
        let mut base = self.operand();
        loop {
            base = match self.kind() {
                TokenKind::LParen => self.call(start, base),
                TokenKind::LBracket => self.index(start, base),
                TokenKind::Dot => self.dot(start, base),
                _ => return base,
            };
        }
    }

    /// Notes a bracket that continues an expression from the line above.
    pub(super) fn note_continuation(&mut self) -> bool {
        let continues = self.on_new_line();
        if continues {
            let (token, span) = (self.pos, self.span());
            let nesting = self.open.iter().sum();
            self.continuations.push(Continuation { token, nesting, span });
        }
        continues
    }

    /// The last bracket since the token `from` that continues an expression from the line above.
    pub(super) fn continuation_since(&self, from: usize) -> Option<(Span, &'static str)> {
        let nesting = self.open.iter().sum();
        let later = self.continuations.iter().rev().take_while(|c| c.token >= from);
        later.filter(|c| c.nesting == nesting).map(|c| (c.span, CONTINUES)).next()
    }

    /// `.field`, `.0`; after a module's name also `.Constructor`, which only name resolution can tell.
    fn dot(&mut self, start: usize, base: ExprId) -> ExprId {
        let after_int = self.previous().is_some_and(|t| t.kind == TokenKind::Int);
        self.bump();
        let applied = self.at(TokenKind::LParen);
        match self.kind() {
            TokenKind::Int => {
                let digits = self.text_of(self.token(0));
                let Ok(index) = digits.parse() else {
                    self.literal_too_large("this component number is too large");
                    self.bump();
                    return self.error_expr_from(start);
                };
                self.bump();
                self.expr_node(start, ExprKind::Component { base, index })
            }
            _ if self.at_field_name() && !(self.kind().is_keyword() && self.on_new_line()) => {
                let Some(field) = self.eat_field_name() else {
                    return self.error_expr_from(start);
                };
                self.expr_node(start, ExprKind::Field { base, field })
            }
            _ => {
                self.unexpected_with("a field or the number of a component", |d| {
                    if after_int {
                        d.help("a Real literal has digits on both sides of the point: `3.0`")
                    } else if applied {
                        d.help("a function is applied to each element in `[f(x) for x in xs]`")
                    } else {
                        d
                    }
                });
                self.error_expr_from(start)
            }
        }
    }

    /// A name, a literal, or something in brackets.
    fn operand(&mut self) -> ExprId {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Lower if self.at_foreign_function() => {
                self.foreign_function();
                return self.deeper(
                    SyntaxLevel::Expression,
                    |p| p.function_from(true),
                    Self::error_expr,
                );
            }
            TokenKind::Lower => ExprKind::Var(self.ident().name),
            TokenKind::Upper => ExprKind::Con(self.ident()),
            TokenKind::Int | TokenKind::Real => self.number(),
            TokenKind::Str | TokenKind::BrokenStr => ExprKind::Str(self.string()),
            TokenKind::True => self.constant(ExprKind::Bool(true)),
            TokenKind::False => self.constant(ExprKind::Bool(false)),
            TokenKind::LParen => return self.parenthesised(),
            TokenKind::LBracket => return self.array(),
            TokenKind::LBrace => return self.record(),
            TokenKind::List => return self.list(),
            TokenKind::Underscore => {
                self.misplaced_hole("`_` can stand only for a whole argument of a call", |d| {
                    d.help("`f(a, _)` is `fn x -> f(a, x)`; elsewhere write the `fn`")
                });
                self.constant(ExprKind::Error)
            }
            TokenKind::Let | TokenKind::Fn | TokenKind::If | TokenKind::Case | TokenKind::Loop => {
                let span = self.span();
                let word = self.kind().text().unwrap_or("");
                self.needs_parentheses(word, span);
                return self.deeper(SyntaxLevel::Expression, Self::form, Self::error_expr);
            }
            TokenKind::Backslash => {
                return self.deeper(SyntaxLevel::Expression, Self::form, Self::error_expr)
            }
            TokenKind::Stray => {
                self.bump();
                self.muted = Some(self.pos);
                ExprKind::Error
            }
            kind => {
                let word = kind.is_item() || matches!(kind, TokenKind::Rec | TokenKind::With);
                if word && !self.at_end() {
                    self.keyword_as_name("an expression");
                } else {
                    self.unexpected("an expression");
                }
                self.skip();
                ExprKind::Error
            }
        };
        self.expr_node(start, kind)
    }

    fn constant(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    /// Whether a function of another language stands here: `lambda x`, `fun x`.
    fn at_foreign_function(&self) -> bool {
        let after = self.token(1);
        matches!(after.kind, TokenKind::Lower | TokenKind::Underscore)
            && is_lambda_word(self.text_of(self.token(0)))
            && self
                .text
                .get(self.token(0).end as usize..after.start as usize)
                .is_some_and(|gap| !gap.contains('\n'))
    }

    /// Says how a function is written.
    pub(super) fn foreign_function(&mut self) {
        let found = self.describe(self.token(0));
        self.report(
            Diagnostic::error("syntax", self.span(), format!("{found} does not start a function"))
                .primary_text("expected `fn`")
                .help("a function is written `fn x -> e`"),
        );
    }

    pub(super) fn misplaced_hole(
        &mut self,
        message: &str,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let diagnostic = more(Diagnostic::error("misplaced-hole", self.span(), message));
        self.report(diagnostic);
    }

    pub(super) fn literal_too_large(&mut self, message: &str) {
        self.report(Diagnostic::error("literal-too-large", self.span(), message));
    }

    fn number(&mut self) -> ExprKind {
        let text = self.text_of(self.token(0));
        let kind = if self.at(TokenKind::Int) {
            match text.parse() {
                Ok(n) => ExprKind::Int(n),
                // Only as a Real does it have a meaning.
                Err(_) => match self.real(text) {
                    Some(x) => ExprKind::Real(x),
                    None => ExprKind::Error,
                },
            }
        } else {
            match self.real(text) {
                Some(x) => ExprKind::Real(x),
                None => ExprKind::Error,
            }
        };
        self.bump();
        kind
    }

    /// The value of a Real literal, reported if it is beyond all Reals.
    pub(super) fn real(&mut self, text: &str) -> Option<f64> {
        let value: Option<f64> = text.parse().ok().filter(|x: &f64| x.is_finite());
        if value.is_none() {
            self.literal_too_large("this literal is too large for a Real");
        }
        value
    }

    /// The value of the string that is here.
    pub(super) fn string(&mut self) -> Name {
        let broken = self.at(TokenKind::BrokenStr);
        let text = self.text_of(self.token(0));
        self.bump();
        if broken {
            // What is missing after it may have been meant as a part of it.
            self.muted = Some(self.pos);
        }
        let body = text.strip_prefix('"').unwrap_or(text);
        let body = if broken { body } else { body.strip_suffix('"').unwrap_or(body) };
        Name::from(unescape(body, |_, _, _| {}))
    }
}
