//! The expressions that start with a keyword and extend as far right as they can: `let`, `fn`, `if`,
//! `case`, `loop`.

use super::{Parser, SyntaxLevel};
use crate::ast::{Arm, Binding, Clause, Control, ExprId, ExprKind, PatId, PatKind, Range, TypeId};
use crate::token::TokenKind;
use diffeo_base::{Diagnostic, Span};

impl Parser<'_> {
    /// The form whose keyword is here.
    pub(super) fn form(&mut self) -> ExprId {
        match self.kind() {
            TokenKind::Let => self.let_(),
            TokenKind::If => self.if_(),
            TokenKind::Case => self.case(),
            TokenKind::Loop => self.loop_(),
            TokenKind::Backslash => {
                self.foreign_function();
                self.function_from(true)
            }
            _ => self.function(),
        }
    }

    /// A chain of `let`s, read by a loop: it may be of any length.
    fn let_(&mut self) -> ExprId {
        let start = self.start();
        let mut bindings = Vec::new();
        let mut keyword = self.span();
        self.bump();
        let body = loop {
            let value = self.pos;
            bindings.push(self.binding());
            let goes_on = self.at(TokenKind::Let)
                || self.eat(TokenKind::In)
                || self.missing_in(keyword, value);
            if self.at(TokenKind::Let) {
                keyword = self.span();
                self.bump();
                continue;
            }
            // A binding whose `let` is missing, which has been said.
            if goes_on
                && self.at(TokenKind::Lower)
                && self.next_kind() == TokenKind::Eq
                && self.is_muted()
            {
                continue;
            }
            break if goes_on { self.expr() } else { self.error_expr() };
        };
        self.expr_node(start, ExprKind::Let { bindings, body })
    }

    /// Says that an `in` is missing after the binding that starts at the token `value`. Answers whether
    /// there is something to go on with: a body, a `let`, or a binding whose `let` is missing.
    fn missing_in(&mut self, keyword: Span, value: usize) -> bool {
        let continued = self.continuation_since(value);
        let ended = self.at_end();
        let binds = self.at(TokenKind::Lower) && self.next_kind() == TokenKind::Eq;
        let starts = self.kind().starts_expr();
        // Behind a number or a bracket, what follows is the body, unless its `in` comes.
        let side_by_side = starts
            && !self.full()
            && !matches!(
                self.previous().map(|t| t.kind),
                Some(TokenKind::Lower | TokenKind::Upper)
            )
            && self.previous_end() != self.start()
            && !self.in_comes();
        self.missing("`in` after the value of this `let`", |mut d| {
            if let Some((span, text)) = continued {
                d = d.label(span, text);
            }
            d = d.label(keyword, "this `let`");
            if side_by_side {
                d.help = None;
            }
            if ended && continued.is_none() {
                d = d.help("an expression must follow: `let x = e in …`; a name for the whole file is given by `def`");
            } else if binds {
                d = d.help("is a `let` missing before this binding?");
            } else if starts && d.help.is_none() {
                d = d.help("`in` stands between the bindings and the expression they are for");
            }
            d
        });
        if self.eat(TokenKind::Semi) {
            return true;
        }
        if !self.kind().starts_expr() {
            self.skip();
        }
        self.eat(TokenKind::In) || self.kind().starts_expr()
    }

    /// A binding after `let`.
    fn binding(&mut self) -> Binding {
        let rec = self.at(TokenKind::Rec).then(|| self.span());
        if rec.is_some() {
            self.bump();
        }
        self.foreign_binding();
        let start = self.start();
        if self.next_kind() == TokenKind::LParen
            && (self.at(TokenKind::Lower) || self.at_keyword_name())
        {
            if self.kind().is_keyword() {
                self.keyword_as_name("the name of a function");
            }
            let name = self.ident().name;
            let name = self.pat_node(start, PatKind::Var(name));
            let param = self.deeper(SyntaxLevel::Pattern, Self::params, Self::error_pat);
            return self.function_binding(rec.is_some(), name, param);
        }
        let pat = self.pattern();
        let is_name = matches!(self.module.pats[pat].kind, PatKind::Var(_));
        if is_name
            && matches!(self.kind(), TokenKind::Lower | TokenKind::Underscore)
            && !self.on_new_line()
        {
            let param = self.bare_params();
            return self.function_binding(rec.is_some(), pat, param);
        }
        let pat = self.bare_annotation(start, pat, "let", Self::type_);
        if let Some(rec) = rec {
            self.report(Diagnostic::error("syntax", rec, "`let rec` defines only functions").help(
                "write `let rec f(x) = …`; a value is defined by `let` and cannot refer to itself",
            ));
        }
        let several = self.at(TokenKind::Comma)
            && matches!(self.next_kind(), TokenKind::Lower | TokenKind::Underscore);
        let pat = if several { self.bare_tuple(start, pat) } else { pat };
        self.equals("and the value of this `let`");
        let value = self.let_value();
        Binding::Value { pat, value }
    }

    /// Passes a word that other languages have after `let`, such as `mut`, and says what is bound how.
    fn foreign_binding(&mut self) {
        if self.at(TokenKind::Lower) && self.next_kind() == TokenKind::Lower {
            let word = self.text_of(self.token(0));
            if matches!(word, "mut" | "mutable" | "var" | "val" | "const") {
                self.report(
                    Diagnostic::error(
                        "syntax",
                        self.span(),
                        format!("`{word}` does not stand after `let`"),
                    )
                    .help("leave it out: values do not change; a `loop` carries one from step to step"),
                );
                self.bump();
            }
        }
    }

    /// A tuple pattern without its parentheses, from the comma on: reported, and taken.
    fn bare_tuple(&mut self, start: usize, first: PatId) -> PatId {
        self.report(
            Diagnostic::error("syntax", self.span(), "a tuple pattern stands in parentheses")
                .help("write `let (a, b) = e`"),
        );
        let mut parts = vec![first];
        while self.eat(TokenKind::Comma) {
            parts.push(self.pattern_atom());
        }
        self.pat_node(start, PatKind::Tuple(parts))
    }

    fn function_binding(&mut self, recursive: bool, name: PatId, param: PatId) -> Binding {
        let ret = self.result_type();
        self.equals("and the body of this function");
        let body = self.let_value();
        Binding::Function { recursive, name, param, ret, body }
    }

    fn let_value(&mut self) -> ExprId {
        self.let_values += 1;
        let value = self.expr();
        self.let_values -= 1;
        value
    }

    /// Whether the next token is the last one of its line.
    fn ends_line(&self) -> bool {
        let (here, next) = (self.token(0), self.token(1));
        self.text.get(here.end as usize..next.start as usize).is_some_and(|gap| gap.contains('\n'))
    }

    /// `-> T` after parameters.
    pub(super) fn result_type(&mut self) -> Option<TypeId> {
        match self.kind() {
            TokenKind::Arrow => {}
            TokenKind::Colon if self.ends_line() => {
                self.report(
                    Diagnostic::error("syntax", self.span(), "the body of a function follows `=`")
                        .primary_text("expected `=`")
                        .help("write `def f(x) = e`"),
                );
                self.muted = Some(self.pos);
                return None;
            }
            TokenKind::Colon | TokenKind::FatArrow => {
                let found = self.describe(self.token(0));
                self.report(
                    Diagnostic::error(
                        "syntax",
                        self.span(),
                        format!("the result type follows `->`, not {found}"),
                    )
                    .primary_text("expected `->`")
                    .help("write `f(x: A) -> B = …`"),
                );
            }
            _ => return None,
        }
        self.bump();
        Some(self.type_())
    }

    /// Parameters without parentheses, after the name of a function.
    pub(super) fn bare_params(&mut self) -> PatId {
        let start = self.start();
        let first = self.span();
        let mut params = Vec::new();
        while matches!(
            self.kind(),
            TokenKind::Lower | TokenKind::Underscore | TokenKind::LParen | TokenKind::LBrace
        ) {
            params.push(self.pattern_atom());
        }
        self.report(
            Diagnostic::error("syntax", first, "parameters stand in parentheses")
                .help("write `f(x, y)`: a function of several things takes a tuple"),
        );
        if let [param] = params[..] {
            return param;
        }
        self.pat_node(start, PatKind::Tuple(params))
    }

    /// `: T` after a pattern that is not in parentheses: reported, and taken.
    fn bare_annotation(
        &mut self,
        start: usize,
        pat: PatId,
        form: &str,
        read: impl FnOnce(&mut Self) -> TypeId,
    ) -> PatId {
        if !self.at(TokenKind::Colon) {
            return pat;
        }
        self.report(
            Diagnostic::error("syntax", self.span(), "a pattern with a type needs parentheses")
                .help(format!("write `{form} (x: T)`")),
        );
        self.bump();
        let ty = read(self);
        self.pat_node(start, PatKind::Annot(pat, ty))
    }

    fn function(&mut self) -> ExprId {
        self.function_from(false)
    }

    /// `fn p -> e`, from its first word on; `foreign` if that is of another language.
    pub(super) fn function_from(&mut self, foreign: bool) -> ExprId {
        let start = self.start();
        self.bump();
        let pat_start = self.start();
        let mut param = self.pattern();
        if matches!(self.kind(), TokenKind::Lower | TokenKind::Underscore | TokenKind::Comma)
            && !self.is_muted()
        {
            let mut params = vec![param];
            self.report(
                Diagnostic::error("syntax", self.span(), "`fn` takes one pattern")
                    .help("a function of several things takes a tuple: `fn (x, y) -> e`"),
            );
            loop {
                self.eat(TokenKind::Comma);
                if !matches!(
                    self.kind(),
                    TokenKind::Lower
                        | TokenKind::Underscore
                        | TokenKind::LParen
                        | TokenKind::LBrace
                ) {
                    break;
                }
                params.push(self.pattern_atom());
            }
            param = self.pat_node(pat_start, PatKind::Tuple(params));
        }
        if foreign {
            // Whatever arrow follows, all has been said.
            self.muted = Some(self.pos);
        } else {
            param = self.bare_annotation(pat_start, param, "fn", Self::type_atom);
        }
        self.arrow("after the parameter of `fn`");
        let body = self.expr();
        self.expr_node(start, ExprKind::Fn { param, body })
    }

    fn if_(&mut self) -> ExprId {
        let start = self.start();
        let keyword = self.span();
        self.bump();
        let cond = self.expr();
        if !self.at(TokenKind::Then) && matches!(self.kind(), TokenKind::Colon) {
            self.missing("`then` after the condition", |d| d.help("write `if c then a else b`"));
            self.bump();
        } else {
            self.expect(TokenKind::Then, "after the condition", |d| {
                let d = d.label(keyword, "of this `if`");
                if d.help.is_none() {
                    d.help("write `if c then a else b`")
                } else {
                    d
                }
            });
        }
        let then = self.expr();
        if self.at(TokenKind::Lower)
            && matches!(self.text_of(self.token(0)), "elif" | "elsif" | "elseif")
        {
            self.report(
                Diagnostic::error("syntax", self.span(), "a further condition follows `else if`")
                    .help("write `else if`"),
            );
            let otherwise = self.deeper(SyntaxLevel::Expression, Self::if_, Self::error_expr);
            return self.expr_node(start, ExprKind::If { cond, then, otherwise });
        }
        self.expect(TokenKind::Else, "after the first branch", |d| {
            d.label(keyword, "of this `if`")
                .help("every `if` has an `else`: its value is that of one of the two branches")
        });
        let otherwise = self.expr();
        self.expr_node(start, ExprKind::If { cond, then, otherwise })
    }

    fn case(&mut self) -> ExprId {
        let start = self.start();
        let keyword = self.span();
        self.bump();
        let scrutinee = self.expr();
        self.expect(TokenKind::Of, "after what the `case` looks at", |d| {
            d.label(keyword, "of this `case`")
        });
        if !self.at(TokenKind::LBrace) {
            self.missing("`{` before the arms of the `case`", |d| {
                d.label(keyword, "of this `case`").help("write `case e of { P -> e | P -> e }`")
            });
            let mut arms = Vec::new();
            if self.at(TokenKind::Bar) || starts_pattern(self.kind()) {
                self.eat(TokenKind::Bar);
                loop {
                    arms.push(self.arm());
                    if !self.eat(TokenKind::Bar) {
                        break;
                    }
                }
            }
            // A closing brace whose opening one is missing.
            if self.open[2] == 0 {
                self.eat(TokenKind::RBrace);
            }
            return self.expr_node(start, ExprKind::Case { scrutinee, arms });
        }
        let opener = self.open();
        let mut arms = Vec::new();
        self.eat(TokenKind::Bar);
        if self.at(TokenKind::RBrace) {
            self.unexpected_with("an arm `P -> e`", |d| d.label(keyword, "of this `case`"));
        }
        while !self.at(TokenKind::RBrace) && !self.at_end() {
            arms.push(self.arm());
            if self.eat(TokenKind::Bar) {
                continue;
            }
            if self.at(TokenKind::Comma) && self.next_kind() == TokenKind::RBrace {
                self.bump();
                break;
            }
            if !self.at(TokenKind::RBrace) {
                self.missing("`|` or `}`", |d| {
                    let d = d.label(opener.span, "the arms start here");
                    if d.help.is_none() {
                        d.help("the arms of a `case` are separated by `|`")
                    } else {
                        d
                    }
                });
                if matches!(self.kind(), TokenKind::Comma | TokenKind::Semi) {
                    self.bump();
                    continue;
                }
                self.skip();
                if !self.eat(TokenKind::Bar) {
                    break;
                }
            }
        }
        self.close(opener);
        self.expr_node(start, ExprKind::Case { scrutinee, arms })
    }

    fn arm(&mut self) -> Arm {
        let pat = self.pattern();
        self.arrow("after the pattern of this arm");
        let body = self.expr();
        Arm { pat, body }
    }

    fn loop_(&mut self) -> ExprId {
        let start = self.start();
        let keyword = self.span();
        self.bump();
        let pat_start = self.start();
        let pat = self.pattern();
        let pat = self.bare_annotation(pat_start, pat, "loop", Self::type_);
        self.equals("and the first value of the loop");
        let init = self.expr();
        if !matches!(self.kind(), TokenKind::For | TokenKind::While) {
            self.missing("`for` or `while` after the first value of the loop", |d| {
                d.label(keyword, "of this `loop`")
                    .help("write `loop p = e for i < n do e` or `loop p = e while c do e`")
            });
            self.skip();
        }
        let control = if self.eat(TokenKind::For) {
            let Clause { pat, range, cond: _ } = self.clause();
            match range {
                Range::Count(bound) => Control::Count { pat, bound },
                Range::In(source) => Control::In { pat, source },
            }
        } else {
            self.eat(TokenKind::While);
            Control::While(self.expr())
        };
        if self.at(TokenKind::If) {
            let help = "a condition stands in the body: `do if c then e else acc`";
            self.report(
                Diagnostic::error("syntax", self.span(), "a loop has no condition").help(help),
            );
            self.bump();
            self.expr();
        }
        self.expect(TokenKind::Do, "before the body of the loop", |d| {
            d.label(keyword, "of this `loop`")
        });
        let body = self.expr();
        self.expr_node(start, ExprKind::Loop { pat, init, control: Box::new(control), body })
    }
}

/// Whether a pattern can start with this.
fn starts_pattern(kind: TokenKind) -> bool {
    kind.starts_operand() && !matches!(kind, TokenKind::List | TokenKind::LBracket)
        || kind == TokenKind::Minus
}
