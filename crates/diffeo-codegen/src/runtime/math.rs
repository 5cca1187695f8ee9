//! Real operations as functions with the calling convention of C. They are the evaluator's own, so that all engines
//! give the same numbers.

use super::RuntimeFunction;
use crate::low::LowTy;
use diffeo_calculus::prim::real::eval;
use diffeo_calculus::prim::RealOp;

macro_rules! functions {
    ($($name:ident $op:ident),* $(,)?) => {
        $(
            /// The operation of this name; a unary one ignores `b`.
            pub(super) extern "C" fn $name(a: f64, b: f64) -> f64 {
                eval(RealOp::$op, a, b)
            }
        )*

        /// The function of a real operation: `(a, b)`, where a unary one ignores `b`; of [`RealOp::Polygamma`]:
        /// `(order: Int, a)`.
        pub fn function(op: RealOp) -> RuntimeFunction {
            match op {
                $(RealOp::$op => real!($name(Real, Real)),)*
                RealOp::Polygamma(_) => real!(polygamma(Int, Real)),
            }
        }
    };
}

functions! {
    add Add, sub Sub, mul Mul, div Div, neg Neg, rem Rem, pow Pow, exp Exp, log Log, sqrt Sqrt, cbrt Cbrt, sin Sin,
    cos Cos, tan Tan, asin Asin, acos Acos, atan Atan, sinh Sinh, cosh Cosh, tanh Tanh, asinh Asinh,
    acosh Acosh, atanh Atanh, expm1 Expm1, log1p Log1p, sigmoid Sigmoid, softplus Softplus, erf Erf,
    erfc Erfc, lgamma Lgamma, atan2 Atan2, hypot Hypot, unit Unit, sech Sech,
    one_minus_square OneMinusSquare, abs Abs, sign Sign, min Min, max Max,
}

/// The polygamma function of an order.
pub(super) extern "C" fn polygamma(order: i64, x: f64) -> f64 {
    eval(RealOp::Polygamma(order as u32), x, 0.0)
}

/// Towards minus infinity.
pub(super) extern "C" fn floor(x: f64) -> f64 {
    x.floor()
}

/// Towards infinity.
pub(super) extern "C" fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// Towards zero.
pub(super) extern "C" fn trunc(x: f64) -> f64 {
    x.trunc()
}

/// To the nearest, halves to even.
pub(super) extern "C" fn nearest(x: f64) -> f64 {
    x.round_ties_even()
}

/// `a * b + c`, rounded once.
pub(super) extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}
