//! The cursor of the formatter: tokens of the text become words of the document, with their comments.
//!
//! Every rule takes the tokens of its construct one after the other, so that nothing can be written
//! twice or left out unnoticed.

use super::layout::{Doc, Event, Group, Hug, Hugged, LineBreak, Sort};
use super::source::{CommentPlace, SourceText};
use crate::ast::Module;
use crate::token::{Token, TokenKind};
use diffeo_base::Span;

/// How much stack must be left on entering a level, and how much is added when it is not.
const RED_ZONE: usize = 128 << 10;
const STACK_SEGMENT: usize = 4 << 20;

/// What makes the document of a tree.
pub(super) struct DocBuilder<'s, 't> {
    pub(super) module: &'s Module,
    source: &'s SourceText<'t>,
    doc: Doc<'t>,
    /// The next token.
    next: usize,
    /// Whether the comments on lines of their own before it are already written.
    comments_written: bool,
    open: Vec<OpenGroup>,
    /// The parentheses that end with the token before the next.
    parentheses: Option<Parentheses>,
}

#[derive(Clone, Copy)]
struct Parentheses {
    group: usize,
    /// How many tokens they hold.
    size: usize,
    /// The token after them.
    next: usize,
}

struct OpenGroup {
    group: usize,
    /// Its first token.
    start: usize,
}

impl<'s, 't> DocBuilder<'s, 't> {
    pub(super) fn new(module: &'s Module, source: &'s SourceText<'t>) -> Self {
        DocBuilder {
            module,
            source,
            doc: Doc::default(),
            next: 0,
            comments_written: false,
            open: Vec::new(),
            parentheses: None,
        }
    }

    pub(super) fn finish(self) -> Doc<'t> {
        self.doc
    }

    /// Runs `write` with stack enough for one more level.
    pub(super) fn deeper(&mut self, write: impl FnOnce(&mut Self)) {
        stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || write(self));
    }

    fn push(&mut self, event: Event<'t>) {
        self.doc.events.push(event);
    }
}

// Tokens.
impl DocBuilder<'_, '_> {
    fn ahead(&self, ahead: usize) -> Token {
        let at = (self.next + ahead).min(self.source.tokens.len() - 1);
        self.source.tokens[at]
    }

    /// Whether the next token is of this kind.
    pub(super) fn at(&self, kind: TokenKind) -> bool {
        self.ahead(0).kind == kind
    }

    /// Whether the token before is of this kind.
    pub(super) fn after(&self, kind: TokenKind) -> bool {
        self.next.checked_sub(1).is_some_and(|i| self.source.tokens[i].kind == kind)
    }

    /// Whether the token after the next is of this kind.
    pub(super) fn before(&self, kind: TokenKind) -> bool {
        self.ahead(1).kind == kind
    }

    /// Whether a node starts exactly at the next token.
    pub(super) fn starts_here(&self, span: Span) -> bool {
        self.ahead(0).start == span.start
    }

    /// Whether the next token is a parenthesis around the node with this span.
    pub(super) fn at_parenthesis(&self, span: Span) -> bool {
        self.at(TokenKind::LParen) && self.ahead(0).start < span.start
    }

    /// Whether the token after the next is a parenthesis around the node with this span.
    pub(super) fn before_parenthesis(&self, span: Span) -> bool {
        self.before(TokenKind::LParen) && self.ahead(1).start < span.start
    }

    /// Whether there is a line break before the next token.
    pub(super) fn on_new_line(&self) -> bool {
        self.source.gaps.get(self.next).is_some_and(|gap| gap.newline)
    }

    /// The next token with its comments.
    pub(super) fn token(&mut self) {
        self.own_comments();
        let token = self.ahead(0);
        self.push(Event::Text(self.source.text_of(token)));
        self.comments_written = false;
        self.next += 1;
        let gap = self.source.gaps.get(self.next).map_or(0..0, |gap| gap.comments.clone());
        for comment in gap {
            if self.source.comments[comment].place == CommentPlace::Own {
                break;
            }
            self.push(Event::Comment(comment));
        }
    }

    /// This many tokens without anything between them.
    pub(super) fn tokens(&mut self, count: usize) {
        for _ in 0..count {
            self.token();
        }
    }

    /// The next token between spaces.
    pub(super) fn spaced_token(&mut self) {
        self.space();
        self.token();
        self.space();
    }

    /// The next token if it is of this kind.
    pub(super) fn token_if(&mut self, kind: TokenKind) -> bool {
        let there = self.at(kind);
        if there {
            self.token();
        }
        there
    }

    /// The comments on lines of their own before the next token, unless they are written already.
    pub(super) fn own_comments(&mut self) {
        if std::mem::replace(&mut self.comments_written, true) {
            return;
        }
        let Some(gap) = self.source.gaps.get(self.next) else { return };
        let mut any = false;
        for i in gap.comments.clone() {
            let comment = &self.source.comments[i];
            if comment.place == CommentPlace::Own {
                if any {
                    self.line(LineBreak::Hard, comment.blank);
                }
                self.push(Event::Comment(i));
                any = true;
            }
        }
        if any {
            self.line(LineBreak::Hard, gap.blank);
        }
    }

    /// The comments on lines of their own before the next token, which closes the present level: they
    /// still belong to it.
    pub(super) fn comments_inside(&mut self) {
        let Some(gap) = self.source.gaps.get(self.next) else { return };
        let mut comments = gap.comments.clone();
        if comments.any(|i| self.source.comments[i].place == CommentPlace::Own) {
            self.line_kept(LineBreak::Hard);
            self.own_comments();
        }
    }
}

// Spaces, lines and groups.
impl<'t> DocBuilder<'_, 't> {
    /// A word of the formatter's own, there only in a broken group.
    pub(super) fn word_if_broken(&mut self, word: &'static str) {
        self.push(Event::IfBroken(word));
    }

    /// A word of the formatter's own.
    pub(super) fn word(&mut self, word: &'t str) {
        self.push(Event::Text(word));
    }

    pub(super) fn space(&mut self) {
        self.push(Event::Space);
    }

    fn line(&mut self, kind: LineBreak, blank: bool) {
        self.push(Event::Line { kind, blank });
    }

    /// A possible line break.
    pub(super) fn possible_line(&mut self, kind: LineBreak) {
        self.line(kind, false);
    }

    /// A possible line break before a group, which is broken only if that does not fit; see
    /// [`LineBreak::Fill`].
    pub(super) fn filled(&mut self, hugs: bool, write: impl FnOnce(&mut Self)) {
        self.line_kept(LineBreak::Fill { group: self.next_group(), hugs });
        self.group(write);
    }

    /// A possible line break where an empty line of the text is kept.
    pub(super) fn line_kept(&mut self, kind: LineBreak) {
        let blank = self.source.gaps.get(self.next).is_some_and(|gap| {
            let mut comments = gap.comments.clone().map(|i| &self.source.comments[i]);
            comments.find(|c| c.place == CommentPlace::Own).map_or(gap.blank, |c| c.blank)
        });
        self.line(kind, blank);
    }

    /// What `write` writes, indented.
    pub(super) fn indented(&mut self, write: impl FnOnce(&mut Self)) {
        self.push(Event::Indent);
        write(self);
        self.push(Event::Dedent);
    }

    /// What `write` writes, as a group that is flat or broken as a whole. Answers which group.
    pub(super) fn group(&mut self, write: impl FnOnce(&mut Self)) -> usize {
        self.group_of(Sort::Plain, false, write)
    }

    /// What `write` writes in parentheses, whose last element may be hugged: what it answers, and where the
    /// element starts.
    pub(super) fn call(&mut self, write: impl FnOnce(&mut Self) -> Option<(Hugged, usize)>) {
        let before = self.parentheses.filter(|p| p.next == self.next);
        let start = self.next;
        let mut hug = None;
        let group = self.group_of(Sort::Call(None), false, |b| {
            b.token();
            b.push(Event::Indent);
            b.possible_line(LineBreak::Nothing);
            let hugged = write(b);
            let end = b.doc.events.len();
            let commented = b.has_comments();
            b.comments_inside();
            b.push(Event::Dedent);
            b.possible_line(LineBreak::Close);
            b.token();
            hug = hugged.filter(|_| !commented).map(|(kind, start)| Hug { kind, start, end });
        });
        self.doc.groups[group].sort = Sort::Call(hug);
        let here = Parentheses { group, size: self.next - start, next: self.next };
        // Of the parentheses in a row, as in `grad(f)(x)`, those with the most in them are broken first.
        self.parentheses = Some(match before {
            Some(larger) if larger.size > here.size => {
                self.extend(larger.group);
                Parentheses { next: self.next, ..larger }
            }
            _ => here,
        });
    }

    /// Where the next event comes, if the innermost open group is not broken so far and there are no
    /// comments before the next token.
    pub(super) fn unbroken(&self) -> Option<usize> {
        let open = self.open.last()?;
        // At the end of the text there is no next token.
        let next = (self.next + 1).min(self.source.tokens.len());
        let commented = self.source.has_comments_between(open.start..next);
        let broken = self.doc.groups[open.group].broken || commented;
        (!broken).then_some(self.doc.events.len())
    }

    /// Whether there are comments before the next token.
    fn has_comments(&self) -> bool {
        self.source.gaps.get(self.next).is_some_and(|gap| !gap.comments.is_empty())
    }

    /// What `write` writes after a `=`, `->` or the like; see [`Sort::Body`].
    pub(super) fn body(&mut self, hugs: bool, write: impl FnOnce(&mut Self)) -> usize {
        let commented = self.has_comments();
        self.group_of(Sort::Body { hugs }, commented, write)
    }

    fn group_of(&mut self, sort: Sort, on_next_line: bool, write: impl FnOnce(&mut Self)) -> usize {
        let group = self.doc.groups.len();
        self.doc.groups.push(Group { sort, end: 0, broken: false, on_next_line });
        self.open.push(OpenGroup { group, start: self.next });
        self.push(Event::Open(group));
        write(self);
        self.doc.groups[group].end = self.doc.events.len();
        self.push(Event::Close);
        if let Some(open) = self.open.pop() {
            let commented = self.source.has_comments_between(open.start..self.next);
            self.doc.groups[group].broken |= commented;
            if self.doc.groups[group].broken {
                self.break_group();
            }
        }
        group
    }

    /// Says that the innermost open group, and so everything around it, cannot be flat.
    pub(super) fn break_group(&mut self) {
        if let Some(open) = self.open.last() {
            self.doc.groups[open.group].broken = true;
        }
    }

    /// Says that a group is flat only if all up to here is.
    pub(super) fn extend(&mut self, group: usize) {
        self.doc.groups[group].end = self.doc.events.len();
    }

    /// The group that will be opened next.
    pub(super) fn next_group(&self) -> usize {
        self.doc.groups.len()
    }
}
