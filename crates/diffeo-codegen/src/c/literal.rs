//! Numbers and texts as C writes them, exactly.

use std::fmt::Write;

/// An Int.
pub fn int(n: i64) -> String {
    match n {
        i64::MIN => "INT64_MIN".to_string(),
        n if i32::try_from(n).is_ok() => n.to_string(),
        n => format!("INT64_C({n})"),
    }
}

/// A Real: decimal where that is exact and short, else hexadecimal.
pub fn real(x: f64) -> String {
    if x.is_nan() {
        return match x.to_bits() == f64::NAN.to_bits() {
            true => "NAN".to_string(),
            false => format!("df_from_bits(INT64_C({}))", x.to_bits() as i64),
        };
    }
    if x.is_infinite() {
        return if x > 0.0 { "INFINITY" } else { "-INFINITY" }.to_string();
    }
    let scaled = x * 1024.0;
    if scaled.trunc() == scaled && scaled.abs() < 1e12 {
        return format!("{x:?}");
    }
    let sign = if x < 0.0 { "-" } else { "" };
    let bits = x.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i64);
    // A number near zero has no leading 1.
    let (lead, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent}")
}

/// A string literal of these bytes.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b'\n' => out.push_str("\\n"),
            // A question mark may begin a trigraph.
            b' '..=b'~' if byte != b'?' => out.push(char::from(byte)),
            byte => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// A text that is safe within a comment.
pub fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::{comment, int, real, string};

    #[test]
    fn reals_are_exact() {
        for (x, text) in [
            (0.5, "0.5"),
            (-0.0, "-0.0"),
            (3.0, "3.0"),
            (0.1, "0x1.999999999999ap-4"),
            (-1e300, "-0x1.7e43c8800759cp996"),
            (5e-324, "0x0.0000000000001p-1022"),
            (f64::MIN_POSITIVE, "0x1p-1022"),
            (f64::INFINITY, "INFINITY"),
            (f64::NAN, "NAN"),
        ] {
            assert_eq!(real(x), text);
        }
    }

    #[test]
    fn ints_and_strings() {
        assert_eq!(int(-7), "-7");
        assert_eq!(int(1 << 40), "INT64_C(1099511627776)");
        assert_eq!(int(i64::MIN), "INT64_MIN");
        assert_eq!(string("a\"b\\\n?é\u{1}1"), r#""a\"b\\\n\077\303\251\0011""#);
        assert_eq!(comment("a */ b"), "a * / b");
    }
}
