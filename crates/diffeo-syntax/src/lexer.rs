//! Text to tokens: comments and white space go, doc comments are kept for the item they stand before.
//!
//! Every byte belongs to a token, a comment or white space; the last token is [`TokenKind::Eof`]. What is
//! wrong with single tokens (stray characters, strings) is reported here and only here.

use crate::token::{keyword, Token, TokenKind};
use crate::MAX_ERRORS;
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{is_invisible, Diagnostic, FileId, Help, Name, Span};

/// What the lexer makes of a text.
pub(crate) struct Lexed {
    /// The tokens, [`TokenKind::Eof`] last.
    pub(crate) tokens: Vec<Token>,
    /// The lines of doc comments, by the index of the `def` or `type` token they stand before.
    pub(crate) docs: Vec<(usize, Vec<Name>)>,
    /// What was wrong; at most one more than [`MAX_ERRORS`].
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Cuts a text into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        pos: 0,
        pending_doc: Vec::new(),
        block_ends: true,
        out: Lexed { tokens: Vec::new(), docs: Vec::new(), diagnostics: Vec::new() },
    };
    if text.starts_with('\u{feff}') {
        lexer.pos = '\u{feff}'.len_utf8();
    }
    while let Some(c) = lexer.peek() {
        lexer.token(c);
    }
    lexer.push(TokenKind::Eof, text.len());
    lexer.out
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    pos: usize,
    pending_doc: Vec<Name>,
    /// Whether a `*/` may still come.
    block_ends: bool,
    out: Lexed,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.out.diagnostics.len() <= MAX_ERRORS {
            self.out.diagnostics.push(diagnostic);
        }
    }

    /// Adds the token from `start` to here.
    fn push(&mut self, kind: TokenKind, start: usize) {
        let doc = std::mem::take(&mut self.pending_doc);
        if matches!(kind, TokenKind::Def | TokenKind::Type) && !doc.is_empty() {
            self.out.docs.push((self.out.tokens.len(), doc));
        }
        self.out.tokens.push(Token { kind, start: start as u32, end: self.pos as u32 });
    }

    fn token(&mut self, c: char) {
        match c {
            ' ' | '\t' | '\r' | '\n' => self.pos += 1,
            '#' => self.comment(),
            '"' => self.string(),
            '0'..='9' => self.number(),
            _ if c == '_' || c.is_alphabetic() => self.word(c),
            _ => self.symbol(c),
        }
    }

    fn end_of_line(&self) -> usize {
        self.rest().find('\n').map_or(self.text.len(), |i| self.pos + i)
    }

    fn comment(&mut self) {
        let end = self.end_of_line();
        let line = self.text.get(self.pos..end).unwrap_or("");
        if let Some(doc) = line.strip_prefix("##") {
            // A line of many `#` is a ruler, not documentation.
            if !doc.starts_with('#') {
                self.pending_doc.push(Name::new(doc.strip_prefix(' ').unwrap_or(doc).trim_end()));
            }
        }
        self.pos = end;
    }

    fn word(&mut self, first: char) {
        let start = self.pos;
        let rest = self.rest();
        let body = rest
            .find(|c: char| !(c == '_' || c.is_ascii_digit() || c.is_alphabetic()))
            .unwrap_or(rest.len());
        let primes = rest.as_bytes()[body..].iter().take_while(|&&b| b == b'\'').count();
        self.pos += body + primes;
        let word = &rest[..body + primes];
        let kind = match keyword(word) {
            Some(kind) => kind,
            None if word == "_" => TokenKind::Underscore,
            None if first.is_uppercase() => TokenKind::Upper,
            None => TokenKind::Lower,
        };
        self.push(kind, start);
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.pos += 1;
        }
    }

    /// `3`, `3.0`, `1e-3`, `1.5e3`; right after a `.` only digits, so that `p.0.1` is `(p.0).1`.
    fn number(&mut self) {
        let start = self.pos;
        let component = self
            .out
            .tokens
            .last()
            .is_some_and(|t| t.kind == TokenKind::Dot && t.end as usize == start);
        let mut kind = TokenKind::Int;
        self.digits();
        if !component {
            if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
                kind = TokenKind::Real;
                self.pos += 1;
                self.digits();
            }
            if matches!(self.byte(0), b'e' | b'E') {
                let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
                if self.byte(1 + sign).is_ascii_digit() {
                    kind = TokenKind::Real;
                    self.pos += 1 + sign;
                    self.digits();
                }
            }
        }
        self.push(kind, start);
    }

    fn string(&mut self) {
        let start = self.pos;
        self.pos += 1;
        let mut escaped = false;
        loop {
            let rest = self.rest();
            let Some(next) = rest.find(['"', '\\', '\n']) else {
                self.pos = self.text.len();
                return self.unterminated(start);
            };
            self.pos += next;
            match self.byte(0) {
                b'"' => break,
                b'\n' => return self.unterminated(start),
                _ => {
                    escaped = true;
                    self.pos += 1;
                    match self.peek() {
                        Some(c) if c != '\n' => self.pos += c.len_utf8(),
                        _ => {}
                    }
                }
            }
        }
        self.pos += 1;
        if escaped {
            self.check_escapes(start);
        }
        self.push(TokenKind::Str, start);
    }

    fn check_escapes(&mut self, start: usize) {
        let body = self.text.get(start + 1..self.pos - 1).unwrap_or("");
        let mut bad = Vec::new();
        unescape(body, |from, to, problem| {
            if bad.len() <= MAX_ERRORS {
                bad.push((from, to, problem));
            }
        });
        for (from, to, problem) in bad {
            let span = self.span(start + 1 + from, start + 1 + to);
            self.report(
                Diagnostic::error("bad-escape", span, problem)
                    .primary_text("in this string")
                    .help("the escapes are `\\n`, `\\t`, `\\\"`, `\\\\` and `\\u{…}`"),
            );
        }
    }

    fn unterminated(&mut self, start: usize) {
        let line = self.text.get(start..self.pos).unwrap_or("").trim_end();
        self.report(
            Diagnostic::error(
                "unterminated-string",
                self.span(start, start + line.len()),
                "this string has no end",
            )
            .primary_text("a `\"` is missing on this line")
            .help("end it with `\"`; a line break inside a string is written `\\n`"),
        );
        self.push(TokenKind::BrokenStr, start);
    }

    fn symbol(&mut self, c: char) {
        use TokenKind::*;
        let start = self.pos;
        let (kind, length) = match (c, self.byte(1)) {
            ('(', _) => (LParen, 1),
            (')', _) => (RParen, 1),
            ('[', _) => (LBracket, 1),
            (']', _) => (RBracket, 1),
            ('{', _) => (LBrace, 1),
            ('}', _) => (RBrace, 1),
            (',', _) => (Comma, 1),
            (';', _) => (Semi, 1),
            ('\\', _) => (Backslash, 1),
            ('%', _) => (Percent, 1),
            ('^', _) => (Caret, 1),
            ('.', b'.') => (DotDot, 2),
            ('.', _) => (Dot, 1),
            (':', b':') => (ColonColon, 2),
            (':', b'=') => (ColonEq, 2),
            (':', _) => (Colon, 1),
            ('=', b'=') => (EqEq, 2),
            ('=', b'>') => (FatArrow, 2),
            ('=', _) => (Eq, 1),
            ('!', b'=') => (BangEq, 2),
            ('!', _) => (Bang, 1),
            ('<', b'=') => (Le, 2),
            ('<', _) => (Lt, 1),
            ('>', b'=') => (Ge, 2),
            ('>', _) => (Gt, 1),
            ('+', b'+') => (PlusPlus, 2),
            ('+', _) => (Plus, 1),
            ('-', b'>') => (Arrow, 2),
            ('-', _) => (Minus, 1),
            ('*', b'*') => (StarStar, 2),
            ('*', _) => (Star, 1),
            ('|', b'>') => (Pipe, 2),
            ('|', b'|') => (BarBar, 2),
            ('|', _) => (Bar, 1),
            ('&', b'&') => (AmpAmp, 2),
            ('/', b'/' | b'*') => return self.foreign_comment(),
            ('/', _) => (Slash, 1),
            _ => return self.stray(c),
        };
        self.pos += length;
        self.push(kind, start);
    }

    /// `// …` and `/* … */` are reported and passed over as the comments they are meant to be.
    fn foreign_comment(&mut self) {
        let start = self.pos;
        let block = self.byte(1) == b'*';
        let end = if block && self.block_ends { self.rest().find("*/") } else { None };
        // Looked for once only: a file may have many `/*` and no end.
        self.block_ends &= !block || end.is_some();
        self.pos = end.map_or_else(|| self.end_of_line(), |end| self.pos + end + 2);
        let mark = if block { "/*" } else { "//" };
        let mut diagnostic = Diagnostic::error(
            "syntax",
            self.span(start, start + 2),
            format!("`{mark}` does not start a comment"),
        )
        .help("a comment starts with `#` and goes to the end of the line");
        if !block {
            diagnostic =
                diagnostic.note("if a division was meant: `/` on two Ints is the integer division");
        }
        self.report(diagnostic);
    }

    /// Characters that belong to no token: one message for a run of them.
    fn stray(&mut self, first: char) {
        let start = self.pos;
        self.pos += first.len_utf8();
        while let Some(c) = self.peek() {
            if c.is_ascii()
                && !(c.is_ascii_control() || matches!(c, '@' | '$' | '?' | '~' | '`' | '&' | '\''))
                || c.is_alphabetic()
                || matches!(c, ' ' | '\t' | '\r' | '\n')
            {
                break;
            }
            self.pos += c.len_utf8();
        }
        let code = first as u32;
        let (shown, name, help) = about(first);
        // Only blanks are looked at: a line may hold very many stray characters.
        let before = self.text[..start].trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
        let starts_line = before.is_empty() || before.ends_with('\n');
        let sign = first.to_string();
        let help = help
            .or_else(|| replacement(Role::Item, &sign).filter(|_| starts_line))
            .or_else(|| replacement(Role::Sign, &sign));
        let name = if name.is_empty() { String::new() } else { format!(", {name}") };
        let message = if shown {
            format!("stray character `{first}` (U+{code:04X}{name})")
        } else {
            format!("stray character U+{code:04X}{name}")
        };
        let mut diagnostic = Diagnostic::error(
            "stray-character",
            self.span(start, start + first.len_utf8()),
            message,
        );
        diagnostic.help = help.map(Help::from);
        self.report(diagnostic);
        self.push(TokenKind::Stray, start);
    }
}

/// Whether a stray character can be shown, what it is called, and what to write instead.
fn about(c: char) -> (bool, &'static str, Option<&'static str>) {
    match c {
        '\u{a0}' => (false, "a no-break space", Some("write a plain space")),
        '\u{200b}' => (false, "a zero-width space", Some("delete it")),
        '\u{feff}' => (
            false,
            "a byte order mark",
            Some("it may stand only at the start of a file: delete it"),
        ),
        '\u{201c}' | '\u{201d}' => {
            (true, "a curly quotation mark", Some("strings are written with `\"`"))
        }
        '\u{2018}' | '\u{2019}' => {
            (true, "a quotation mark", Some("strings are written with `\"`"))
        }
        '\'' => (true, "a quotation mark", None),
        '\u{2212}' => (true, "a minus sign", Some("write `-`")),
        '\u{2013}' | '\u{2014}' => (true, "a dash", Some("write `-`")),
        '×' | '·' => (true, "a multiplication sign", Some("write `*`")),
        '÷' => (true, "a division sign", Some("write `/`")),
        '≤' => (true, "", Some("write `<=`")),
        '≥' => (true, "", Some("write `>=`")),
        '≠' => (true, "", Some("write `!=`")),
        '→' => (true, "an arrow", Some("write `->`")),
        _ if is_invisible(c) => (false, "an invisible character", Some("delete it")),
        _ => (true, "", None),
    }
}

/// The value of the inside of a string literal. What is wrong with an escape goes to `bad` with the
/// bytes it takes; U+FFFD stands for it in the value.
pub(crate) fn unescape(body: &str, mut bad: impl FnMut(usize, usize, String)) -> String {
    let mut value = String::with_capacity(body.len());
    let mut pos = 0;
    while let Some(found) = body.get(pos..).and_then(|rest| rest.find('\\')) {
        let at = pos + found;
        value.push_str(&body[pos..at]);
        let rest = &body[at + 1..];
        let Some(c) = rest.chars().next() else {
            bad(at, body.len(), "this escape has no end".into());
            return value;
        };
        pos = at + 1 + c.len_utf8();
        match c {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            '"' => value.push('"'),
            '\\' => value.push('\\'),
            'u' => {
                let digits = rest.strip_prefix("u{").and_then(|r| {
                    let digits = r.bytes().take(7).take_while(u8::is_ascii_hexdigit).count();
                    r.get(digits..)?.starts_with('}').then(|| &r[..digits])
                });
                let code = digits
                    .filter(|d| (1..=6).contains(&d.len()))
                    .and_then(|d| u32::from_str_radix(d, 16).ok())
                    .and_then(char::from_u32);
                match (code, digits) {
                    (Some(code), Some(digits)) => {
                        value.push(code);
                        pos += digits.len() + 2;
                    }
                    _ => {
                        bad(
                            at,
                            pos,
                            "`\\u` needs the code point of a character in braces, as in `\\u{3b4}`"
                                .into(),
                        );
                        value.push('\u{fffd}');
                    }
                }
            }
            _ => {
                bad(at, pos, format!("unknown escape `\\{}`", c.escape_debug()));
                value.push('\u{fffd}');
            }
        }
    }
    value.push_str(body.get(pos..).unwrap_or(""));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        lex(FileId(0), text).tokens.iter().map(|t| t.kind).collect()
    }

    #[test]
    fn numbers_components_and_slices() {
        use TokenKind::*;
        assert_eq!(kinds("p.0.1"), [Lower, Dot, Int, Dot, Int, Eof]);
        assert_eq!(kinds("xs[0..h]"), [Lower, LBracket, Int, DotDot, Lower, RBracket, Eof]);
        assert_eq!(
            kinds("3. 1e-3 1.5e3 3.0 2e 1E+5"),
            [Int, Dot, Real, Real, Real, Int, Lower, Real, Eof]
        );
    }

    #[test]
    fn names_keywords_comments_and_line_ends() {
        use TokenKind::*;
        assert_eq!(
            kinds("\u{feff}x' _ _y Tree\tlet # x\r\n## d\r\nlets"),
            [Lower, Underscore, Lower, Upper, Let, Lower, Eof]
        );
        assert_eq!(
            kinds("x<-1 |> || a->b"),
            [Lower, Lt, Minus, Int, Pipe, BarBar, Lower, Arrow, Lower, Eof]
        );
    }

    #[test]
    fn escapes() {
        let mut bad = 0;
        assert_eq!(unescape(r#"a\n\t\"\\\u{3b4}"#, |_, _, _| bad += 1), "a\n\t\"\\δ");
        assert_eq!(unescape(r"\q\u{110000}", |_, _, _| bad += 1), "\u{fffd}\u{fffd}{110000}");
        assert_eq!(bad, 2);
    }
}
