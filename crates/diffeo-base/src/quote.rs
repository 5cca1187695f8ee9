//! Texts and names of fields as programs write them.
//!
//! What comes in: any text. What goes out: what reads back as it, on one line, with nothing in it that acts on a
//! terminal or is not seen.

use std::borrow::Cow;
use std::fmt::Write;

/// A text as a program writes it, with quotes and escapes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if is_escaped(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a character is never shown as it is: it acts on terminals, breaks lines, or orders or joins text unseen.
pub fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The name of a field as a program writes it: in quotes unless it is an identifier or a keyword.
pub fn field_name(name: &str) -> Cow<'_, str> {
    if is_word(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(quoted(name))
    }
}

/// Whether a text is an identifier of the language, or a keyword.
pub fn is_word(text: &str) -> bool {
    let body = text.trim_end_matches('\'');
    body != "_"
        && body.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && body.chars().all(|c| c == '_' || c.is_ascii_digit() || c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::field_name;

    #[test]
    fn names_of_fields_have_quotes_where_they_need_them() {
        for plain in ["x", "x1'", "_x", "Age", "type", "δ", "__"] {
            assert_eq!(field_name(plain), plain);
        }
        for (name, written) in [
            ("", r#""""#),
            ("_", r#""_""#),
            ("_'", r#""_'""#),
            ("2010", r#""2010""#),
            ("Dose (µM)", r#""Dose (µM)""#),
            ("a'b", r#""a'b""#),
            ("'", r#""'""#),
            ("a\"\n\u{202e}", r#""a\"\n\u{202e}""#),
        ] {
            assert_eq!(field_name(name), written);
        }
    }
}
