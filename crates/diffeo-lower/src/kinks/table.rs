//! Tests of operands: where an operation may be outside its domain, and where it may be at a kink.

use diffeo_calculus::prim::{Comparison, RealOp};

/// What is asked of the operands of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    /// How the first compares with a number.
    First(Comparison, f64),
    /// How the second compares with a number.
    Second(Comparison, f64),
    /// How the absolute value of the first compares with a number.
    Size(Comparison, f64),
    /// Whether both are 0.
    Zeros,
    /// Whether they are equal.
    Equal,
    /// Whether the second divides the first.
    Divides,
}

/// Where operands may be outside the domain of an operation, and where they may be at a kink. What the
/// [table](diffeo_calculus::prim::real::row) has on it is a part of that.
pub(super) fn tests(op: RealOp) -> (Option<Test>, Option<Test>) {
    use Comparison::{Eq, Ge, Gt, Le, Lt};
    match op {
        RealOp::Div => (Some(Test::Second(Eq, 0.0)), None),
        RealOp::Rem => (Some(Test::Second(Eq, 0.0)), Some(Test::Divides)),
        RealOp::Pow => (Some(Test::First(Le, 0.0)), Some(Test::First(Le, 0.0))),
        RealOp::Log => (Some(Test::First(Le, 0.0)), None),
        RealOp::Sqrt => (Some(Test::First(Lt, 0.0)), Some(Test::First(Eq, 0.0))),
        RealOp::Cbrt => (None, Some(Test::First(Eq, 0.0))),
        RealOp::Asin | RealOp::Acos => (Some(Test::Size(Gt, 1.0)), Some(Test::Size(Eq, 1.0))),
        RealOp::Acosh => (Some(Test::First(Lt, 1.0)), Some(Test::First(Eq, 1.0))),
        RealOp::Atanh => (Some(Test::Size(Ge, 1.0)), None),
        RealOp::Log1p => (Some(Test::First(Le, -1.0)), None),
        RealOp::Lgamma | RealOp::Polygamma(_) => (Some(Test::First(Le, 0.0)), None),
        RealOp::Atan2 | RealOp::Hypot | RealOp::Unit => (None, Some(Test::Zeros)),
        RealOp::Abs | RealOp::Sign => (None, Some(Test::First(Eq, 0.0))),
        RealOp::Min | RealOp::Max => (None, Some(Test::Equal)),
        // The table reports nothing of the others, as a test says.
        _ => (None, None),
    }
}
