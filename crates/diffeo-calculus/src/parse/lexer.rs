//! The text of Core as tokens.

use super::ParseError;
use crate::names::{continues_identifier, starts_identifier, unescape, KEYWORDS};
use diffeo_base::Name;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum CoreToken {
    /// A keyword or a mark.
    Mark(&'static str),
    /// `name`, `` `name` `` or either with `.number`.
    Name(Name, Option<u32>),
    /// The name of an operation, after `#`.
    Op(String),
    /// A number as it is written.
    Number(String),
    /// A string.
    Text(Name),
    /// The end of the text.
    End,
}

/// What is not a word; a mark stands before those that are its beginning.
const MARKS: &[&str] =
    &["->", "-inf", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "<", "|", ".", "@", "$"];

/// The tokens of a text, each with the byte where it starts; the last is [`CoreToken::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(CoreToken, usize)>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.take_while(char::is_whitespace);
        let start = lexer.at;
        let token = lexer.token()?;
        let last = token == CoreToken::End;
        tokens.push((token, start));
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::at(self.text, self.at, message.into()))
    }

    fn token(&mut self) -> Result<CoreToken, ParseError> {
        let Some(first) = self.peek() else { return Ok(CoreToken::End) };
        let number_follows =
            self.rest().trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        if starts_identifier(first) {
            let word = self.take_while(continues_identifier);
            return match KEYWORDS.iter().find(|keyword| **keyword == word) {
                Some(keyword) => Ok(CoreToken::Mark(keyword)),
                None => self.numbered(Name::new(word)),
            };
        }
        if number_follows && (first == '-' || first.is_ascii_digit()) {
            return Ok(self.number());
        }
        match first {
            '`' => {
                let name = self.quoted('`')?;
                self.numbered(name)
            }
            '"' => Ok(CoreToken::Text(self.quoted('"')?)),
            '#' => {
                self.at += 1;
                let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                Ok(CoreToken::Op(name.to_string()))
            }
            _ => match MARKS.iter().find(|mark| self.eat(mark)) {
                Some(mark) => Ok(CoreToken::Mark(mark)),
                None => self.error(format!("unexpected `{first}`")),
            },
        }
    }

    /// What `.number` after a name adds to it.
    fn numbered(&mut self, name: Name) -> Result<CoreToken, ParseError> {
        let after_point = self.rest().strip_prefix('.').unwrap_or("");
        if !after_point.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(CoreToken::Name(name, None));
        }
        self.at += 1;
        match self.take_while(|c| c.is_ascii_digit()).parse() {
            Ok(number) => Ok(CoreToken::Name(name, Some(number))),
            Err(_) => self.error("a number that is too large"),
        }
    }

    fn number(&mut self) -> CoreToken {
        let start = self.at;
        self.eat("-");
        self.take_while(|c| c.is_ascii_digit());
        if self.eat(".") {
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.eat("e") {
            self.eat("-");
            self.take_while(|c| c.is_ascii_digit());
        }
        CoreToken::Number(self.text[start..self.at].to_string())
    }

    fn quoted(&mut self, quote: char) -> Result<Name, ParseError> {
        self.at += quote.len_utf8();
        match unescape(self.rest(), quote) {
            Ok((text, length)) => {
                self.at += length;
                Ok(Name::from(text))
            }
            Err((message, after)) => {
                self.at += after;
                self.error(message)
            }
        }
    }
}
