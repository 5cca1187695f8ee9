//! The operations on integers: values, and where they have none.
//!
//! What always holds: a result that does not fit 64 bits is an error, never a wrong number (but for the
//! operations that say they wrap); division and remainder truncate towards zero.

use super::{IntOp, Rounding};
use crate::eval::error::ErrorKind;
use crate::names::Named;

/// The name of an operation as programs write it.
pub fn name(op: IntOp) -> &'static str {
    match op {
        IntOp::Add => "+",
        IntOp::Sub | IntOp::Neg => "-",
        IntOp::Mul => "*",
        IntOp::Div => "/",
        IntOp::Rem => "%",
        IntOp::Pow => "^",
        IntOp::Abs => "abs",
        IntOp::Sign => "sign",
        IntOp::Min => "min",
        IntOp::Max => "max",
        IntOp::BitAnd => "bit_and",
        IntOp::BitOr => "bit_or",
        IntOp::BitXor => "bit_xor",
        IntOp::ShiftLeft => "shift_left",
        IntOp::ShiftRight => "shift_right",
        IntOp::WrappingAdd => "wrapping_add",
        IntOp::WrappingMul => "wrapping_mul",
    }
}

/// How many operands an operation has.
pub fn arity(op: IntOp) -> usize {
    match op {
        IntOp::Neg | IntOp::Abs | IntOp::Sign => 1,
        IntOp::Add
        | IntOp::Sub
        | IntOp::Mul
        | IntOp::Div
        | IntOp::Rem
        | IntOp::Pow
        | IntOp::Min
        | IntOp::Max
        | IntOp::BitAnd
        | IntOp::BitOr
        | IntOp::BitXor
        | IntOp::ShiftLeft
        | IntOp::ShiftRight
        | IntOp::WrappingAdd
        | IntOp::WrappingMul => 2,
    }
}

/// The value of an operation; those with one operand ignore `b`.
///
/// # Errors
/// Overflow, division by zero, a negative exponent, a shift by less than 0 or more than 63.
pub fn apply(op: IntOp, a: i64, b: i64) -> Result<i64, ErrorKind> {
    let result = match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Div | IntOp::Rem if b == 0 => {
            return Err(ErrorKind::DivisionByZero { op: name(op), dividend: a });
        }
        IntOp::Div => a.checked_div(b),
        // The smallest Int % -1 is 0, though the quotient does not fit.
        IntOp::Rem => Some(a.wrapping_rem(b)),
        IntOp::Neg => a.checked_neg(),
        IntOp::Pow if b < 0 => return Err(ErrorKind::NegativeExponent { exponent: b }),
        IntOp::Pow => power(a, b),
        IntOp::Abs => a.checked_abs(),
        IntOp::Sign => Some(a.signum()),
        IntOp::Min => Some(a.min(b)),
        IntOp::Max => Some(a.max(b)),
        IntOp::BitAnd => Some(a & b),
        IntOp::BitOr => Some(a | b),
        IntOp::BitXor => Some(a ^ b),
        IntOp::ShiftLeft | IntOp::ShiftRight if !(0..64).contains(&b) => {
            return Err(ErrorKind::ShiftOutOfRange { amount: b });
        }
        IntOp::ShiftLeft => Some(a << b),
        IntOp::ShiftRight => Some(((a as u64) >> b) as i64),
        IntOp::WrappingAdd => Some(a.wrapping_add(b)),
        IntOp::WrappingMul => Some(a.wrapping_mul(b)),
    };
    result
        .ok_or_else(|| ErrorKind::Overflow { op: name(op), operands: [a, b][..arity(op)].to_vec() })
}

/// A Real rounded to an Int.
///
/// # Errors
/// [`ErrorKind::NotAnInt`] of nan and beyond 64 bits.
pub fn round(rounding: Rounding, x: f64) -> Result<i64, ErrorKind> {
    let rounded = match rounding {
        Rounding::Floor => x.floor(),
        Rounding::Ceil => x.ceil(),
        Rounding::Round => x.round(),
        Rounding::Trunc => x.trunc(),
    };
    // -2^63 is an Int and exact, 2^63 is not an Int.
    let limit = -(i64::MIN as f64);
    if (-limit..limit).contains(&rounded) {
        Ok(rounded as i64)
    } else {
        Err(ErrorKind::NotAnInt { op: rounding.name(), operand: x })
    }
}

/// `base ^ exponent`, the exponent not negative; `None` where it does not fit.
fn power(base: i64, exponent: i64) -> Option<i64> {
    match u32::try_from(exponent) {
        Ok(exponent) => base.checked_pow(exponent),
        // Of larger powers, only those of -1, 0 and 1 fit; these depend on the parity alone.
        Err(_) if (-1..=1).contains(&base) => base.checked_pow(2 + (exponent % 2) as u32),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{apply, IntOp};

    fn value(op: IntOp, a: i64, b: i64) -> i64 {
        apply(op, a, b).unwrap()
    }

    fn code(op: IntOp, a: i64, b: i64) -> &'static str {
        apply(op, a, b).unwrap_err().code()
    }

    #[test]
    fn division_and_remainder_truncate() {
        assert_eq!(value(IntOp::Div, -7, 3), -2);
        assert_eq!(value(IntOp::Rem, -7, 3), -1);
        assert_eq!(value(IntOp::Rem, 7, -3), 1);
        assert_eq!(value(IntOp::Rem, i64::MIN, -1), 0);
        assert_eq!(code(IntOp::Div, i64::MIN, -1), "overflow");
        assert_eq!(code(IntOp::Div, 1, 0), "division-by-zero");
        assert_eq!(code(IntOp::Rem, 1, 0), "division-by-zero");
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_names_the_operands() {
        assert_eq!(code(IntOp::Add, i64::MAX, 1), "overflow");
        assert_eq!(code(IntOp::Sub, i64::MIN, 1), "overflow");
        assert_eq!(code(IntOp::Abs, i64::MIN, 0), "overflow");
        let error = apply(IntOp::Mul, i64::MAX, 2).unwrap_err();
        assert!(error.message().contains("9223372036854775807 * 2"), "{}", error.message());
        let error = apply(IntOp::Neg, i64::MIN, 5).unwrap_err();
        assert!(error.message().contains("-(-9223372036854775808)"), "{}", error.message());
        assert_eq!(value(IntOp::WrappingAdd, i64::MAX, 1), i64::MIN);
        assert_eq!(value(IntOp::WrappingMul, i64::MAX, 2), -2);
    }

    #[test]
    fn powers() {
        assert_eq!(value(IntOp::Pow, 2, 62), 1 << 62);
        assert_eq!(value(IntOp::Pow, -2, 63), i64::MIN);
        assert_eq!(code(IntOp::Pow, 2, 63), "overflow");
        assert_eq!(value(IntOp::Pow, 0, 0), 1);
        let large = (1 << 40) + 1;
        assert_eq!(value(IntOp::Pow, -1, large), -1);
        assert_eq!(value(IntOp::Pow, -1, large + 1), 1);
        assert_eq!(value(IntOp::Pow, 0, large + 1), 0);
        assert_eq!(code(IntOp::Pow, 3, large), "overflow");
        assert_eq!(code(IntOp::Pow, 3, -1), "negative-exponent");
    }

    #[test]
    fn bits() {
        assert_eq!(value(IntOp::ShiftLeft, 3, 63), i64::MIN);
        assert_eq!(value(IntOp::ShiftRight, -1, 63), 1);
        assert_eq!(value(IntOp::ShiftRight, -1, 0), -1);
        assert_eq!(code(IntOp::ShiftLeft, 1, 64), "shift-out-of-range");
        assert_eq!(code(IntOp::ShiftRight, 1, -1), "shift-out-of-range");
        assert_eq!(value(IntOp::BitXor, 6, 3), 5);
        assert_eq!((value(IntOp::BitAnd, 6, 3), value(IntOp::BitOr, 6, 3)), (2, 7));
    }

    #[test]
    fn order() {
        assert_eq!(value(IntOp::Sign, -9, 0), -1);
        assert_eq!(value(IntOp::Abs, -9, 0), 9);
        assert_eq!((value(IntOp::Min, -1, 2), value(IntOp::Max, -1, 2)), (-1, 2));
    }
}
