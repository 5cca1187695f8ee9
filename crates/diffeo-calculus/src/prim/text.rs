//! The operations on texts that Diffeo cannot express: values, by which every engine goes.
//!
//! Positions count bytes of UTF-8; the library's module `text` counts characters on top of them. All of them have a
//! value whatever the operands are, and none has a derivative.

use super::TextOp;

/// The type of an operand or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextType {
    /// `Int`
    Int,
    /// `Real`
    Real,
    /// `String`
    Text,
}

/// The types of the operands and of the result.
pub fn signature(op: TextOp) -> (&'static [TextType], TextType) {
    use TextType::{Int, Real, Text};
    match op {
        TextOp::Size => (&[Text], Int),
        TextOp::Byte => (&[Text, Int], Int),
        TextOp::Slice => (&[Text, Int, Int], Text),
        TextOp::Find => (&[Text, Text, Int], Int),
        TextOp::Character => (&[Int], Text),
        TextOp::Lower | TextOp::Upper => (&[Text], Text),
        TextOp::Digits => (&[Int, Real], Text),
        TextOp::Number => (&[Text], Real),
    }
}

/// The most digits that [`TextOp::Digits`] gives after the point.
pub const MOST_DIGITS: i64 = 100;

/// An operand or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum TextOperand<'a> {
    /// `Int`
    Int(i64),
    /// `Real`
    Real(f64),
    /// `String`
    Text(&'a str),
}

/// A result.
#[derive(Clone, PartialEq, Debug)]
pub enum TextResult {
    /// `Int`
    Int(i64),
    /// `Real`
    Real(f64),
    /// `String`
    Text(String),
}

/// The value of an operation; none if the operands are not those of [`signature`].
pub fn apply(op: TextOp, operands: &[TextOperand<'_>]) -> Option<TextResult> {
    use TextOperand::{Int, Real, Text};
    Some(match (op, operands) {
        (TextOp::Size, [Text(s)]) => TextResult::Int(s.len() as i64),
        (TextOp::Byte, [Text(s), Int(i)]) => TextResult::Int(byte(s.as_bytes(), *i)),
        (TextOp::Slice, [Text(s), Int(lo), Int(hi)]) => {
            TextResult::Text(slice(s, *lo, *hi).to_string())
        }
        (TextOp::Find, [Text(part), Text(s), Int(from)]) => TextResult::Int(find(part, s, *from)),
        (TextOp::Character, [Int(code)]) => TextResult::Text(character(*code).to_string()),
        (TextOp::Lower, [Text(s)]) => TextResult::Text(lower(s)),
        (TextOp::Upper, [Text(s)]) => TextResult::Text(upper(s)),
        (TextOp::Digits, [Int(count), Real(x)]) => TextResult::Text(digits(*count, *x)),
        (TextOp::Number, [Text(s)]) => TextResult::Real(number(s)),
        (
            TextOp::Size
            | TextOp::Byte
            | TextOp::Slice
            | TextOp::Find
            | TextOp::Character
            | TextOp::Lower
            | TextOp::Upper
            | TextOp::Digits
            | TextOp::Number,
            _,
        ) => return None,
    })
}

/// The byte at a position; -1 outside.
pub fn byte(s: &[u8], i: i64) -> i64 {
    usize::try_from(i).ok().and_then(|i| s.get(i)).map_or(-1, |b| i64::from(*b))
}

/// The nearest position at or before this one where a character begins.
fn boundary(s: &str, at: i64) -> usize {
    s.floor_char_boundary(usize::try_from(at).unwrap_or(0))
}

/// The text between two positions; a position outside is the nearest one inside.
pub fn slice(s: &str, lo: i64, hi: i64) -> &str {
    s.get(boundary(s, lo)..boundary(s, hi)).unwrap_or("")
}

/// The first position, not before `from`, at which there is this part; -1 if there is none.
pub fn find(part: &str, s: &str, from: i64) -> i64 {
    let from = boundary(s, from);
    s[from..].find(part).map_or(-1, |at| (from + at) as i64)
}

/// The character with this number; U+FFFD if there is none.
pub fn character(code: i64) -> char {
    let code = u32::try_from(code).ok().and_then(char::from_u32);
    code.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Each character in lower case.
pub fn lower(s: &str) -> String {
    s.chars().flat_map(char::to_lowercase).collect()
}

/// Each character in upper case.
pub fn upper(s: &str) -> String {
    s.chars().flat_map(char::to_uppercase).collect()
}

/// A number with so many digits after the point, 0 to [`MOST_DIGITS`]; the nearest such one.
pub fn digits(count: i64, x: f64) -> String {
    let count = count.clamp(0, MOST_DIGITS) as usize;
    match x.is_nan() {
        true => "nan".to_string(),
        false => format!("{x:.count$}"),
    }
}

/// The nearest Real to the number that a text is, such as `-1.5e3`, `.5`, `inf`; nan if it is none.
pub fn number(s: &str) -> f64 {
    s.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_outside_and_within_characters_are_taken_to_the_nearest_before() {
        assert_eq!(slice("aéb", 2, 99), "éb");
        assert_eq!(slice("aéb", -5, 2), "a");
        assert_eq!(slice("aéb", 4, 1), "");
        assert_eq!(find("", "aé", 2), 1);
        assert_eq!(find("b", "abcb", 2), 3);
        assert_eq!(find("b", "abcb", 4), -1);
        assert_eq!(find("b", "abcb", 400), -1);
        assert_eq!((byte(b"ab", 1), byte(b"ab", 2), byte(b"ab", -1)), (98, -1, -1));
        assert_eq!(
            (character(0xd800), character(-1), character(0x1f600)),
            ('\u{fffd}', '\u{fffd}', '😀')
        );
    }

    #[test]
    fn numbers_are_read_and_written_to_the_nearest() {
        assert_eq!(digits(2, 2.675), "2.67");
        assert_eq!(digits(0, 2.5), "2");
        assert_eq!(digits(1, -0.04), "-0.0");
        assert_eq!(digits(3, f64::NEG_INFINITY), "-inf");
        assert_eq!(digits(-1, 1.5), "2");
        assert_eq!(digits(500, 1.0).len(), 102);
        for (text, x) in [(".5", 0.5), ("5.", 5.0), ("+1e3", 1e3), ("Infinity", f64::INFINITY)] {
            assert_eq!(number(text), x, "{text}");
        }
        for text in ["", ".", "e1", "1e", "1_0", " 1", "0x10", "1.5.2", "nan"] {
            assert!(number(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn characters_may_become_several() {
        assert_eq!(upper("straße"), "STRASSE");
        assert_eq!(lower("ΣΑΣ"), "σασ");
    }
}
