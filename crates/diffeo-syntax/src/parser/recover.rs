//! Reporting what was found instead of what was expected, and finding the place to go on.
//!
//! After a message the parser is muted at the token it then stands at: whoever misses something there
//! keeps silent, and the first construct that finds what it waits for goes on.

use super::Parser;
use crate::token::{Token, TokenKind};
use crate::MAX_ERRORS;
use diffeo_base::{Diagnostic, Help, Span};

/// An open bracket.
#[derive(Clone, Copy)]
pub(super) struct Opener {
    pub(super) span: Span,
    pub(super) close: TokenKind,
    /// Whether it is the bracket of a call or an index and stands on a new line.
    pub(super) continues: bool,
}

/// The place of a kind of bracket in [`Parser::open`].
fn slot(kind: TokenKind) -> Option<usize> {
    match kind {
        TokenKind::LParen | TokenKind::RParen => Some(0),
        TokenKind::LBracket | TokenKind::RBracket => Some(1),
        TokenKind::LBrace | TokenKind::RBrace => Some(2),
        _ => None,
    }
}

fn is_closer(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace)
}

fn is_opener(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace)
}

pub(super) const CONTINUES: &str =
    "this line continues the expression above: is an `in` missing before it?";

// Reporting.
impl Parser<'_> {
    /// Adds a message, unless there are too many.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.full() {
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn full(&self) -> bool {
        self.diagnostics.len() > 2 * MAX_ERRORS
    }

    /// The place of the next token; if that is not of this item, just after the last one.
    pub(super) fn here(&self) -> Span {
        if self.at(TokenKind::Eof) || self.at_item_start() && self.on_new_line() {
            self.gap()
        } else {
            self.span()
        }
    }

    /// The place just after the last token read.
    fn gap(&self) -> Span {
        Span::new(self.file, self.previous_end(), self.previous_end())
    }

    /// A token as a message names it.
    pub(super) fn describe(&self, token: Token) -> String {
        let text = self.text_of(token);
        match token.kind {
            TokenKind::Eof => "the end of the input".into(),
            TokenKind::Str | TokenKind::BrokenStr => "a string".into(),
            kind if kind.is_keyword() => format!("the keyword `{text}`"),
            _ if text.chars().nth(30).is_some() => {
                format!("`{}…`", text.chars().take(30).collect::<String>())
            }
            _ => format!("`{text}`"),
        }
    }

    /// Says that the next token is not what is expected, unless something has been said here.
    pub(super) fn unexpected(&mut self, expected: &str) {
        self.expected_at(expected, |p| p.here(), |d| d);
    }

    /// [`Self::unexpected`] with more to say.
    pub(super) fn unexpected_with(
        &mut self,
        expected: &str,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        self.expected_at(expected, |p| p.here(), more);
    }

    /// Says that something is missing before the next token: on the line above, if that is where it
    /// should be.
    pub(super) fn missing(&mut self, expected: &str, more: impl FnOnce(Diagnostic) -> Diagnostic) {
        self.expected_at(expected, |p| if p.on_new_line() { p.gap() } else { p.here() }, more);
    }

    fn expected_at(
        &mut self,
        expected: &str,
        place: impl FnOnce(&Self) -> Span,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let silent = self.muted == Some(self.pos) || self.at(TokenKind::Stray) || self.full();
        self.muted = Some(self.pos);
        if silent {
            return;
        }
        let message = format!("expected {expected}, found {}", self.describe(self.token(0)));
        let mut diagnostic = Diagnostic::error("syntax", place(self), message)
            .primary_text(format!("expected {expected}"));
        diagnostic.help = self.hint().map(Help::from);
        self.report(more(diagnostic));
    }

    /// Whether to keep silent about the next token.
    pub(super) fn is_muted(&self) -> bool {
        self.muted == Some(self.pos)
    }

    /// Says that a keyword stands where a name should.
    pub(super) fn keyword_as_name(&mut self, expected: &str) {
        let word = self.text_of(self.token(0)).to_owned();
        self.unexpected_with(expected, |d| {
            d.help(format!(
                "`{word}` is a keyword of the language and cannot be a name: choose another"
            ))
        });
    }
}

// Finding the place to go on.
impl Parser<'_> {
    /// Whether a definition, a type or an import starts here: at the start of a line, or anywhere if it
    /// looks like one.
    pub(super) fn at_item_start(&self) -> bool {
        // In braces these words may be names of fields.
        let names_field = self.open[2] > 0
            && matches!(
                self.next_kind(),
                TokenKind::Colon | TokenKind::Eq | TokenKind::Comma | TokenKind::RBrace
            );
        self.kind().is_item()
            && !names_field
            && (self.on_new_line()
                || match self.kind() {
                    TokenKind::Def => {
                        matches!(self.next_kind(), TokenKind::Lower | TokenKind::Upper)
                    }
                    TokenKind::Type => self.next_kind() == TokenKind::Upper,
                    _ => self.next_kind() == TokenKind::Lower,
                })
    }

    /// Whether nothing more of this item comes.
    pub(super) fn at_end(&self) -> bool {
        self.at(TokenKind::Eof) || self.at_item_start()
    }

    /// Passes everything up to the next item.
    pub(super) fn skip_to_item(&mut self) {
        while !self.at_end() {
            self.bump();
        }
    }

    /// Passes tokens, and whole brackets, up to one that something around may be waiting for.
    pub(super) fn skip(&mut self) {
        use TokenKind::*;
        let mut nested = 0usize;
        while !self.at_end() {
            let kind = self.kind();
            if nested == 0 {
                let wanted = match kind {
                    // A closing bracket of the wrong kind may be meant for the right one.
                    Comma | RParen | RBracket | RBrace => self.open != [0; 3],
                    In | Then | Else | Of | Do | For | While | Let | Bar => true,
                    _ => false,
                };
                if wanted {
                    break;
                }
            }
            if is_opener(kind) {
                nested += 1;
            } else if is_closer(kind) {
                nested = nested.saturating_sub(1);
            }
            self.bump();
        }
        self.muted = Some(self.pos);
    }

    /// Reads `kind`, or says that it is missing and looks whether it comes a little later. `what` says
    /// where it is expected, as in "after the condition"; `more` is more to say.
    pub(super) fn expect(
        &mut self,
        kind: TokenKind,
        what: &str,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) -> bool {
        if self.eat(kind) {
            return true;
        }
        self.missing(&format!("`{}` {what}", kind.text().unwrap_or("")), more);
        if !self.kind().starts_expr() {
            self.skip();
        }
        self.eat(kind)
    }

    /// Reads `=`, or says that it is missing; other signs of assignment and comparison are taken for it.
    pub(super) fn equals(&mut self, what: &str) {
        if self.eat(TokenKind::Eq) {
            return;
        }
        let colon = self.at(TokenKind::Colon);
        self.missing(&format!("`=` {what}"), |d| match colon {
            true => d.help("write `=` in the place of the `:`"),
            false => d,
        });
        if matches!(
            self.kind(),
            TokenKind::ColonEq | TokenKind::EqEq | TokenKind::FatArrow | TokenKind::Colon
        ) {
            self.bump();
        }
    }

    /// Reads `->`, or says that it is missing; other arrows are taken for it.
    pub(super) fn arrow(&mut self, what: &str) {
        if self.eat(TokenKind::Arrow) {
            return;
        }
        self.missing(&format!("`->` {what}"), |d| d);
        if matches!(
            self.kind(),
            TokenKind::FatArrow | TokenKind::Eq | TokenKind::Colon | TokenKind::Dot
        ) {
            self.bump();
        }
    }
}

// Brackets.
impl Parser<'_> {
    /// Reads the opening bracket that is here.
    pub(super) fn open(&mut self) -> Opener {
        let close = match self.kind() {
            TokenKind::LParen => TokenKind::RParen,
            TokenKind::LBracket => TokenKind::RBracket,
            _ => TokenKind::RBrace,
        };
        let span = self.span();
        self.bump();
        if let Some(slot) = slot(close) {
            self.open[slot] += 1;
        }
        Opener { span, close, continues: false }
    }

    fn opener_label(&self, opener: &Opener) -> &'static str {
        if opener.continues && self.let_values > 0 {
            CONTINUES
        } else {
            "opened here"
        }
    }

    /// Reads the closing bracket, or says that it is missing.
    pub(super) fn close(&mut self, opener: Opener) {
        if let Some(slot) = slot(opener.close) {
            self.open[slot] = self.open[slot].saturating_sub(1);
        }
        if self.eat(opener.close) {
            return;
        }
        let label = self.opener_label(&opener);
        self.missing(&format!("`{}`", opener.close.text().unwrap_or("")), |d| {
            d.label(opener.span, label)
        });
        // While it is looked for, its own kind counts as awaited.
        if let Some(slot) = slot(opener.close) {
            self.open[slot] += 1;
            self.skip();
            self.open[slot] -= 1;
        }
        // The wrong closing bracket, if nothing else waits for it, is taken for the right one.
        let kind = self.kind();
        if kind == opener.close || is_closer(kind) && slot(kind).is_some_and(|s| self.open[s] == 0)
        {
            self.bump();
        }
    }

    /// After an element: whether another one follows. A comma before the closing bracket is tolerated.
    pub(super) fn another(&mut self, opener: &Opener) -> bool {
        if !self.at(TokenKind::Comma) && !self.at(opener.close) {
            let label = self.opener_label(opener);
            self.missing(&format!("`,` or `{}`", opener.close.text().unwrap_or("")), |d| {
                d.label(opener.span, label)
            });
            self.skip();
        }
        self.eat(TokenKind::Comma) && !self.at(opener.close) && !self.at_end()
    }

    /// Reads the elements up to the closing bracket, which stays.
    pub(super) fn elements(&mut self, opener: &Opener, mut element: impl FnMut(&mut Self)) {
        if self.at(opener.close) || self.at_end() {
            return;
        }
        loop {
            element(self);
            if !self.another(opener) {
                break;
            }
        }
    }
}
