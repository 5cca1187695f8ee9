//! A text in pieces for colours: what a reader tells apart, in any text, right or wrong.

use crate::lexer::lex;
use crate::token::TokenKind;
use diffeo_base::FileId;
use std::ops::Range;

/// What a piece of a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenClass {
    /// A keyword.
    Keyword,
    /// A number.
    Number,
    /// A text in quotes, also without its end.
    Text,
    /// A name of a type or constructor.
    Upper,
    /// A comment.
    Comment,
}

/// The pieces that have a class, in order.
pub fn classes(text: &str) -> Vec<(Range<usize>, TokenClass)> {
    let mut out = Vec::new();
    let mut end = 0;
    for token in lex(FileId(0), text).tokens {
        let range = token.start as usize..token.end as usize;
        comments(text, end..range.start, &mut out);
        end = range.end;
        let class = match token.kind {
            TokenKind::Int | TokenKind::Real => TokenClass::Number,
            TokenKind::Str | TokenKind::BrokenStr => TokenClass::Text,
            TokenKind::Upper => TokenClass::Upper,
            kind if kind.is_keyword() => TokenClass::Keyword,
            _ => continue,
        };
        out.push((range, class));
    }
    out
}

/// The comments between two tokens: the rest is white space.
fn comments(text: &str, gap: Range<usize>, out: &mut Vec<(Range<usize>, TokenClass)>) {
    let mut start = gap.start;
    for line in text.get(gap).unwrap_or("").split_inclusive('\n') {
        let shown = line.trim_end();
        if let Some(at) = shown.find('#') {
            out.push((start + at..start + shown.len(), TokenClass::Comment));
        }
        start += line.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_what_a_reader_tells_apart() {
        let text = "def f(x) = Just(2.5) # a \"comment\"\n## more\nlet s = \"a # b\" in 3 \"open";
        let found: Vec<(&str, TokenClass)> =
            classes(text).into_iter().map(|(range, class)| (&text[range], class)).collect();
        assert_eq!(
            found,
            [
                ("def", TokenClass::Keyword),
                ("Just", TokenClass::Upper),
                ("2.5", TokenClass::Number),
                ("# a \"comment\"", TokenClass::Comment),
                ("## more", TokenClass::Comment),
                ("let", TokenClass::Keyword),
                ("\"a # b\"", TokenClass::Text),
                ("in", TokenClass::Keyword),
                ("3", TokenClass::Number),
                ("\"open", TokenClass::Text),
            ]
        );
        for text in ["", ":type é", "\u{feff}x", "\u{0}#", "\"\\u{", "∂ #"] {
            let mut end = 0;
            for (range, _) in classes(text) {
                assert!(end <= range.start && text.get(range.clone()).is_some(), "{text:?}");
                end = range.end;
            }
        }
    }
}
