//! The text of Flat as tokens.

use diffeo_base::Name;
use diffeo_calculus::names::{continues_identifier, starts_identifier, unescape};
use diffeo_calculus::parse::ParseError;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FlatToken {
    /// A word: a keyword, the name of an operation (perhaps with a point: `real.add`), or a name.
    Word(Name),
    /// A name in backquotes.
    Quoted(Name),
    /// `.number`, right behind a name.
    Position(u32),
    /// `%number`: a variable without name.
    Unnamed(u32),
    /// A number as it is written.
    Number(String),
    /// A text.
    Text(Name),
    /// Anything else that has a meaning.
    Mark(&'static str),
    /// The end of the text.
    End,
}

const MARKS: &[&str] = &["->", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", "&", "@", "-"];

/// The tokens of a text, each with the byte where it starts; the last is [`FlatToken::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(FlatToken, usize)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (token, length) =
            token(text, at).map_err(|(message, at)| ParseError::at(text, at, message))?;
        let last = token == FlatToken::End;
        tokens.push((token, at));
        if last {
            return Ok(tokens);
        }
        at += length;
    }
}

/// The length of the characters at the beginning that are accepted.
fn run(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    run(text, |c| c.is_ascii_digit())
}

/// The token at a byte, and its length.
fn token(text: &str, at: usize) -> Result<(FlatToken, usize), (String, usize)> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok((FlatToken::End, 0)) };
    let before = text[..at].chars().next_back();
    if starts_identifier(first) {
        let mut length = run(rest, continues_identifier);
        let after = rest[length..].strip_prefix('.').unwrap_or_default();
        if after.starts_with(starts_identifier) {
            length += 1 + run(after, continues_identifier);
        }
        return Ok((FlatToken::Word(Name::new(&rest[..length])), length));
    }
    // A minus right behind a number stands between two.
    let signed = first == '-' && !before.is_some_and(|c| c.is_ascii_digit());
    let unsigned = if signed { &rest[1..] } else { rest };
    if signed && unsigned.starts_with("inf") {
        return Ok((FlatToken::Number("-inf".to_string()), 4));
    }
    if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        let length = rest.len() - unsigned.len() + number(unsigned);
        return Ok((FlatToken::Number(rest[..length].to_string()), length));
    }
    let numbered = |make: fn(u32) -> FlatToken| match rest[1..1 + digits(&rest[1..])].parse() {
        Ok(n) => Ok((make(n), 1 + digits(&rest[1..]))),
        Err(_) => Err(("expected a number that fits".to_string(), at)),
    };
    match first {
        '%' => numbered(FlatToken::Unnamed),
        '.' => numbered(FlatToken::Position),
        '`' | '"' => {
            let (content, length) = unescape(&rest[1..], first)
                .map_err(|(message, after)| (message, at + 1 + after))?;
            let name = Name::from(content);
            let token = if first == '`' { FlatToken::Quoted(name) } else { FlatToken::Text(name) };
            Ok((token, 1 + length))
        }
        _ => match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            Some(mark) => Ok((FlatToken::Mark(mark), mark.len())),
            None => Err((format!("`{first}` does not belong here"), at)),
        },
    }
}

/// The length of a number without sign.
fn number(text: &str) -> usize {
    let mut length = digits(text);
    let fraction = text[length..].strip_prefix('.').map_or(0, digits);
    if fraction > 0 {
        length += 1 + fraction;
    }
    if let Some(exponent) = text[length..].strip_prefix('e') {
        let sign = usize::from(exponent.starts_with('-'));
        let count = digits(&exponent[sign..]);
        if count > 0 {
            length += 1 + sign + count;
        }
    }
    length
}
