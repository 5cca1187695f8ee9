//! Intervals as text: `0.9..1.1`, or `1.0+-0.1`, read as well with `±`.
//!
//! What always holds: as decimal numbers, the ends that are written lie outside the interval or at its ends, and those that
//! are read inside it or at its ends; so nothing is lost on the way, though decimals are rounded to 64 bits.

use super::real;
use crate::prim::interval::{enclose, Interval};
use crate::prim::RealOp;
use std::cmp::Ordering;

/// An interval as text.
pub fn interval(x: Interval) -> String {
    let lo = match compare_decimal(&real(x.lo()), x.lo()) {
        Some(Ordering::Greater) => x.lo().next_down(),
        _ => x.lo(),
    };
    let hi = match compare_decimal(&real(x.hi()), x.hi()) {
        Some(Ordering::Less) => x.hi().next_up(),
        _ => x.hi(),
    };
    format!("{}..{}", real(lo), real(hi))
}

/// The interval that a text is: `LO..HI`, `MIDDLE+-RADIUS` or `MIDDLE±RADIUS`; none of other texts, and of one without
/// numbers.
pub fn parse_interval(text: &str) -> Option<Interval> {
    if let Some((lo, hi)) = text.split_once("..") {
        let [lo, hi] = [number(lo)?, number(hi)?];
        return Interval::new(lo.lo(), hi.hi()).filter(|_| lo.hi() <= hi.hi());
    }
    let (middle, radius) = text.split_once("+-").or_else(|| text.split_once('±'))?;
    let [middle, radius] = [number(middle)?, number(radius)?];
    if radius.lo() < 0.0 || !radius.hi().is_finite() || !middle.hi().is_finite() {
        return None;
    }
    let lo = enclose(RealOp::Sub, middle, radius).ok()?.lo();
    Interval::new(lo, enclose(RealOp::Add, middle, radius).ok()?.hi())
}

/// A decimal number between its neighbours; `inf` and `-inf`.
fn number(text: &str) -> Option<Interval> {
    let text = text.trim();
    let x: f64 = match text {
        "inf" => f64::INFINITY,
        "-inf" => f64::NEG_INFINITY,
        _ if text.contains(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E')) => {
            return None
        }
        _ => text.parse().ok()?,
    };
    match compare_decimal(text, x) {
        Some(Ordering::Less) => Interval::new(x.next_down(), x),
        Some(Ordering::Greater) => Interval::new(x, x.next_up()),
        Some(Ordering::Equal) => Interval::point(x),
        None if x.is_infinite() && text.ends_with("inf") => Interval::point(x),
        // A number beyond all that have 64 bits.
        None => Interval::new(x.next_down(), x.next_up()),
    }
}

/// How a decimal number compares with a finite one, digit for digit; none of other texts and numbers.
pub fn compare_decimal(text: &str, x: f64) -> Option<Ordering> {
    if !x.is_finite() {
        return None;
    }
    let negative = text.starts_with('-');
    let magnitude = |text: &str| -> Option<(i64, String)> {
        let text = text.trim_start_matches(['-', '+']);
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits = format!("{whole}{fraction}");
        let leading = digits.len() - digits.trim_start_matches('0').len();
        let digits = digits.trim_matches('0').to_string();
        let exponent: i64 = exponent.parse().ok()?;
        Some((exponent.checked_add(whole.len() as i64 - leading as i64)?, digits))
    };
    let (exponent, digits) = magnitude(text)?;
    // All digits of a number of 64 bits.
    let (own_exponent, own_digits) = magnitude(&format!("{:.800e}", x.abs()))?;
    let opposite = negative != (x < 0.0) && !digits.is_empty() && !own_digits.is_empty();
    let order = match (digits.is_empty(), own_digits.is_empty()) {
        _ if opposite => Ordering::Greater,
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => exponent.cmp(&own_exponent).then_with(|| digits.cmp(&own_digits)),
    };
    let below = if digits.is_empty() { x < 0.0 } else { negative };
    Some(if below { order.reverse() } else { order })
}

#[cfg(test)]
mod tests {
    use super::{compare_decimal, interval, parse_interval};
    use crate::prim::interval::Interval;
    use std::cmp::Ordering;

    #[test]
    fn decimals_compare_with_all_their_digits() {
        assert_eq!(compare_decimal("0.1", 0.1), Some(Ordering::Less));
        assert_eq!(compare_decimal("-0.1", -0.1), Some(Ordering::Greater));
        assert_eq!(compare_decimal("0.3", 0.3), Some(Ordering::Greater));
        assert_eq!(compare_decimal("250e-3", 0.25), Some(Ordering::Equal));
        assert_eq!(compare_decimal("0.000", 0.0), Some(Ordering::Equal));
        assert_eq!(compare_decimal("1e-400", 0.0), Some(Ordering::Greater));
        assert_eq!(compare_decimal("1.5e3", 1500.0), Some(Ordering::Equal));
        assert_eq!(compare_decimal("1000000000000000000000", 1e21), Some(Ordering::Equal));
        assert_eq!(compare_decimal("5e-324", f64::from_bits(1)), Some(Ordering::Greater));
    }

    #[test]
    fn what_is_read_and_written_contains_the_decimals() {
        let read = |text: &str| parse_interval(text).map(|x| (x.lo(), x.hi()));
        // 0.1 is below the nearest number of 64 bits, 0.3 above.
        assert_eq!(read("0.1..0.3"), Some((0.1_f64.next_down(), 0.3_f64.next_up())));
        assert_eq!(read("1.0+-0.5"), Some((0.5, 1.5)));
        assert_eq!(read("-2±0.5"), Some((-2.5, -1.5)));
        assert_eq!(read("-inf..1e999"), Some((f64::NEG_INFINITY, f64::INFINITY)));
        for none in ["2.0..1.0", "1.0", "..", "1+--1", "nan..1", "1..nan", "1+-inf", "a..b"] {
            assert_eq!(read(none), None, "{none}");
        }
        // The shortest text of 0.1 is less than it, that of 0.3 more.
        let text = |lo: f64, hi: f64| interval(Interval::new(lo, hi).unwrap());
        assert_eq!(text(0.1, 0.25), "0.1..0.25");
        assert_eq!(text(0.25, 0.3), "0.25..0.3");
        assert_eq!(text(0.3, 0.5), "0.29999999999999993..0.5");
        assert_eq!(text(-0.5, 0.1), "-0.5..0.10000000000000002");
    }
}
