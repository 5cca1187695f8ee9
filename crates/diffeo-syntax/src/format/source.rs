//! The text as the formatter keeps it: its tokens and, between them, the comments and line breaks.
//!
//! What comes in: a text that parses without errors. What goes out: its tokens without those that are set anew (a comma
//! before a closing bracket, a `|` at the edges of a list of alternatives), and for each the gap before it. Every
//! comment belongs to exactly one gap. No comment stands before a token that belongs to the end of a line, such as a
//! comma or `in`: there it is moved behind the token.

use crate::lexer::lex;
use crate::token::{Token, TokenKind};
use diffeo_base::FileId;
use std::ops::Range;

/// Where a comment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommentPlace {
    /// Behind a token, on its line.
    Trailing,
    /// On the line below a trailing comment, in the same column: it goes on.
    Continued,
    /// On a line of its own.
    Own,
}

/// A comment.
#[derive(Clone, Debug)]
pub(super) struct Comment<'t> {
    /// From its `#` on, without white space at its end.
    pub(super) text: &'t str,
    pub(super) place: CommentPlace,
    /// Whether there is an empty line before it.
    pub(super) blank: bool,
    /// Where it began.
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What stands before a token.
#[derive(Clone, Debug, Default)]
pub(super) struct Gap {
    /// The comments.
    pub(super) comments: Range<usize>,
    /// Whether there is a line break.
    pub(super) newline: bool,
    /// Whether there is an empty line directly before the token.
    pub(super) blank: bool,
}

/// A text as the formatter sees it.
pub(super) struct SourceText<'t> {
    pub(super) text: &'t str,
    /// The tokens; the last is [`TokenKind::Eof`].
    pub(super) tokens: Vec<Token>,
    /// The gap before each token.
    pub(super) gaps: Vec<Gap>,
    /// The comments in order.
    pub(super) comments: Vec<Comment<'t>>,
    /// For each token how many gaps before its own hold comments, and in the end their number.
    commented: Vec<u32>,
}

impl<'t> SourceText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let all = lex(FileId(0), text).tokens;
        let mut source = SourceText {
            text,
            tokens: Vec::with_capacity(all.len()),
            gaps: Vec::with_capacity(all.len()),
            comments: Vec::new(),
            commented: Vec::with_capacity(all.len() + 1),
        };
        let mut scanner = Scanner { line: 0, newlines: 0, gap: Gap::default() };
        let mut before = 0;
        for (i, &token) in all.iter().enumerate() {
            source.scan(&mut scanner, before, token.start as usize);
            before = token.end as usize;
            let previous = i.checked_sub(1).map(|i| all[i].kind);
            let next = all.get(i + 1).map(|t| t.kind);
            if !is_set_anew(previous, token.kind, next) {
                let gap = Gap { blank: scanner.newlines > 1, ..std::mem::take(&mut scanner.gap) };
                source
                    .gaps
                    .push(Gap { comments: gap.comments.start..source.comments.len(), ..gap });
                scanner.gap.comments = source.comments.len()..source.comments.len();
                scanner.newlines = 0;
                source.tokens.push(token);
            }
        }
        source.move_behind();
        source.find_continued();
        let mut count = 0;
        for gap in &source.gaps {
            source.commented.push(count);
            count += u32::from(!gap.comments.is_empty());
        }
        source.commented.push(count);
        source
    }

    /// Notes the line breaks and comments from `start` to `end`.
    fn scan(&mut self, scanner: &mut Scanner, start: usize, end: usize) {
        let mut pos = start;
        while let Some(found) = self.text.get(pos..end).and_then(|t| t.find(['\n', '#'])) {
            pos += found;
            if self.text.as_bytes()[pos] == b'\n' {
                scanner.newlines += 1;
                scanner.line += 1;
                scanner.gap.newline = true;
                pos += 1;
                continue;
            }
            let length = self.text[pos..end].find('\n').unwrap_or(end - pos);
            let line_start = self.text[..pos].rfind('\n').map_or(0, |i| i + 1);
            let first = scanner.gap.comments.start == self.comments.len();
            let behind = first && scanner.newlines == 0 && !self.tokens.is_empty();
            self.comments.push(Comment {
                text: self.text[pos..pos + length].trim_end(),
                place: if behind { CommentPlace::Trailing } else { CommentPlace::Own },
                blank: scanner.newlines > 1,
                line: scanner.line,
                column: self.text[line_start..pos].chars().count(),
            });
            scanner.newlines = 0;
            pos += length;
        }
    }

    /// Moves the comments before tokens that belong to the end of a line behind them.
    fn move_behind(&mut self) {
        for i in 0..self.tokens.len() - 1 {
            let previous = i.checked_sub(1).map(|i| self.tokens[i].kind);
            if self.gaps[i].comments.is_empty() || !ends_line(previous, self.tokens[i].kind) {
                continue;
            }
            let start = self.gaps[i].comments.start;
            self.gaps[i].comments.end = start;
            let next = &mut self.gaps[i + 1];
            if let Some(displaced) = self.comments.get_mut(next.comments.start) {
                if displaced.place == CommentPlace::Trailing && !next.comments.is_empty() {
                    displaced.place = CommentPlace::Own;
                }
            }
            next.comments.start = start;
        }
    }

    fn find_continued(&mut self) {
        for gap in &self.gaps {
            for i in gap.comments.clone().skip(1) {
                let (before, after) = self.comments.split_at_mut(i);
                let (above, comment) = (&before[i - 1], &mut after[0]);
                if above.place != CommentPlace::Own
                    && (above.line + 1, above.column) == (comment.line, comment.column)
                {
                    comment.place = CommentPlace::Continued;
                }
            }
        }
    }

    /// The text of a token.
    pub(super) fn text_of(&self, token: Token) -> &'t str {
        self.text.get(token.range()).unwrap_or("")
    }

    /// Whether there are comments between the tokens of this range.
    pub(super) fn has_comments_between(&self, tokens: Range<usize>) -> bool {
        tokens.len() > 1 && self.commented[tokens.end] > self.commented[tokens.start + 1]
    }

    /// Whether the other text has the same tokens and the same comments in the same order.
    pub(super) fn says_the_same(&self, other: &SourceText<'_>) -> bool {
        let words = |s: &SourceText<'_>, o: &SourceText<'_>| {
            s.tokens.len() == o.tokens.len()
                && s.tokens.iter().zip(&o.tokens).all(|(a, b)| s.text_of(*a) == o.text_of(*b))
        };
        let comments = |s: &SourceText<'_>, o: &SourceText<'_>| {
            s.comments.iter().map(|c| c.text).eq(o.comments.iter().map(|c| c.text))
        };
        words(self, other) && comments(self, other)
    }
}

struct Scanner {
    line: usize,
    /// How many line breaks there are since the last token kept or comment.
    newlines: usize,
    gap: Gap,
}

/// Whether the formatter decides itself if this token is written.
fn is_set_anew(previous: Option<TokenKind>, kind: TokenKind, next: Option<TokenKind>) -> bool {
    match kind {
        TokenKind::Comma => {
            matches!(next, Some(TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace))
        }
        TokenKind::Bar => {
            matches!(previous, Some(TokenKind::LBrace | TokenKind::Eq))
                || next == Some(TokenKind::RBrace)
        }
        _ => false,
    }
}

/// Whether a token stands at the end of a line rather than at the start of the next.
fn ends_line(previous: Option<TokenKind>, kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Comma | In | Do | Of | Eq | Arrow) || kind == LBrace && previous == Some(Of)
}
