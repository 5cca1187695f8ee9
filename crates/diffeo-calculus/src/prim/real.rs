//! The table of real operations: for each [`RealOp`] its names, its number of operands, its cost, its value, where it is defined, where it has no derivative, and its partial derivatives.
//!
//! The partial derivatives are [`Partial`] terms over the operands, the result and further operations,
//! so whoever can evaluate the operations on numbers that carry derivatives has every order. The tape,
//! the Taylor coefficients and everything else that differentiates read this table and no other.
//! Operations without partial derivatives choose one of their operands ([`DerivativeRule::Select`]): `abs`,
//! `sign`, `min` and `max`. Nothing here knows about levels; everything is plain numbers.

use super::special::{polygamma, sech, sigmoid, softplus, unit};
use super::RealOp;

/// A term of a partial derivative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Partial {
    /// The first operand.
    A,
    /// The second operand.
    B,
    /// The result.
    Y,
    /// A constant.
    Num(f64),
    /// A unary operation.
    Un(RealOp, &'static Partial),
    /// A binary operation.
    Bin(RealOp, &'static Partial, &'static Partial),
    /// At the first operand, the polygamma function of the order after the operation's own.
    NextPolygamma,
    /// The quotient of the operands, truncated towards zero; a constant wherever it is differentiable. It is
    /// `(a - a % b) / b`: a quotient that is rounded before may be one more.
    TruncatedQuotient,
    /// Zero, constantly, under the condition; else the term.
    ZeroWhere(Condition, &'static Partial),
}

/// When a [`Partial::ZeroWhere`] is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The exponent b is a constant 0, or both operands are 0.
    ZeroExponent,
    /// The base a is 0 and the exponent b positive.
    ZeroBase,
    /// exp(-a²) is less than the smallest number.
    Vanishes,
}

/// Beyond, exp(-a²) is less than the smallest number.
pub const BELL_END: f64 = 28.0;

/// So many powers, each with an exponent that is less by 1, have derivatives `b·a^(b-1)` in a series; that of the last
/// is `b·y/a`, so that series of high orders close. That lacks what `y` has lost below the smallest numbers, which
/// `a^(b-1)` has not.
pub const POWERS: usize = 5;

/// How an operation is differentiated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DerivativeRule {
    /// By its partial derivatives, one for each operand.
    Partials(&'static [Partial]),
    /// It is one of its operands (`abs`: up to the sign; `sign`: none of them).
    Select,
}

/// What the table has on an operation.
#[derive(Clone, Copy, Debug)]
pub struct RealOpInfo {
    /// The name as users write it.
    pub name: &'static str,
    /// The name in Core, in Flat and of the runtime's function: that of users, or a word for an operator.
    pub symbol: &'static str,
    /// The name of the function in C.
    pub c: &'static str,
    /// The cost, in additions.
    pub cost: u32,
    /// The number of operands.
    pub arity: usize,
    /// Its derivative.
    pub derivative: DerivativeRule,
    /// Whether the operands lie outside the domain. Never of nan.
    pub outside: fn(f64, f64) -> bool,
    /// Whether it has no derivative at these operands, of which the given ones vary.
    pub kink: fn(f64, f64, [bool; 2]) -> bool,
}

impl RealOpInfo {
    const fn symbol(self, symbol: &'static str) -> RealOpInfo {
        RealOpInfo { symbol, ..self }
    }

    const fn c(self, c: &'static str) -> RealOpInfo {
        RealOpInfo { c, ..self }
    }

    const fn cost(self, cost: u32) -> RealOpInfo {
        RealOpInfo { cost, ..self }
    }

    const fn outside(self, outside: fn(f64, f64) -> bool) -> RealOpInfo {
        RealOpInfo { outside, ..self }
    }

    const fn kink(self, kink: fn(f64, f64, [bool; 2]) -> bool) -> RealOpInfo {
        RealOpInfo { kink, ..self }
    }
}

const fn smooth(name: &'static str, partials: &'static [Partial]) -> RealOpInfo {
    RealOpInfo {
        name,
        symbol: name,
        c: name,
        cost: 24,
        arity: partials.len(),
        derivative: DerivativeRule::Partials(partials),
        outside: |_, _| false,
        kink: |_, _, _| false,
    }
}

const fn select(
    name: &'static str,
    arity: usize,
    kink: fn(f64, f64, [bool; 2]) -> bool,
) -> RealOpInfo {
    let derivative = DerivativeRule::Select;
    RealOpInfo {
        name,
        symbol: name,
        c: name,
        cost: 1,
        arity,
        derivative,
        outside: |_, _| false,
        kink,
    }
}

/// The poles of the gamma function.
fn pole(x: f64, _: f64) -> bool {
    x <= 0.0 && x.floor() == x
}

/// What the table has on an operation.
pub fn row(op: RealOp) -> &'static RealOpInfo {
    use Partial::{Bin, Num, Un, A, B, Y};
    use RealOp::{
        Add, Cos, Cosh, Div, Exp, Hypot, Log, Mul, Neg, OneMinusSquare, Pow, Sech, Sigmoid, Sin,
        Sinh, Sqrt, Sub, Tanh, Unit,
    };
    const ONE: Partial = Num(1.0);
    /// `2/√π · exp(-a²)`; where that vanishes, 0 with all its derivatives and no product with an infinite a.
    const BELL: Partial = Partial::ZeroWhere(
        Condition::Vanishes,
        &Bin(Mul, &Num(std::f64::consts::FRAC_2_SQRT_PI), &Un(Exp, &Un(Neg, &SQUARE))),
    );
    const NEAR: Partial = Partial::ZeroWhere(Condition::Vanishes, &A);
    const SQUARE: Partial = Bin(Mul, &NEAR, &NEAR);
    /// `√(1 - a²)`
    const CIRCLE: Partial = Un(Sqrt, &Un(OneMinusSquare, &A));
    /// `√(a² + 1)`
    const LENGTH: Partial = Bin(Hypot, &A, &ONE);
    /// `√(a² + b²)`
    const HYPOT: Partial = Bin(Hypot, &A, &B);
    /// `a / √(a² + b²)`
    const COSINE: Partial = Bin(Unit, &A, &B);
    /// `b / √(a² + b²)`
    const SINE: Partial = Bin(Unit, &B, &A);
    /// `1 / cosh(a/2)`
    const HALF_SECH: Partial = Un(Sech, &Bin(Mul, &Num(0.5), &A));
    match op {
        RealOp::Add => const { &smooth("+", &[ONE, ONE]).symbol("add").cost(1) },
        RealOp::Sub => const { &smooth("-", &[ONE, Num(-1.0)]).symbol("sub").cost(1) },
        RealOp::Mul => const { &smooth("*", &[B, A]).symbol("mul").cost(1) },
        RealOp::Div => {
            const {
                &smooth("/", &[Bin(Div, &ONE, &B), Un(Neg, &Bin(Div, &Y, &B))])
                    .symbol("div")
                    .cost(4)
                    .outside(|_, b| b == 0.0)
            }
        }
        RealOp::Neg => const { &smooth("-", &[Num(-1.0)]).symbol("neg").cost(1) },
        RealOp::Rem => {
            const {
                &smooth("%", &[ONE, Un(Neg, &Partial::TruncatedQuotient)])
                    .symbol("rem")
                    .c("fmod")
                    .outside(|_, b| b == 0.0)
                    .kink(|a, b, _| a != 0.0 && a % b == 0.0)
            }
        }
        RealOp::Pow => {
            const {
                &smooth(
                    "^",
                    &[
                        Partial::ZeroWhere(
                            Condition::ZeroExponent,
                            &Bin(Mul, &B, &Bin(Pow, &A, &Bin(Sub, &B, &ONE))),
                        ),
                        Partial::ZeroWhere(Condition::ZeroBase, &Bin(Mul, &Y, &Un(Log, &A))),
                    ],
                )
                .symbol("pow")
                .c("pow")
                .outside(|a, b| {
                    (a < 0.0 && b.is_finite() && b.fract() != 0.0) || (a == 0.0 && b < 0.0)
                })
                .kink(|a, b, [_, exponent]| {
                    (a == 0.0 && (b.fract() != 0.0 || (exponent && b == 0.0)))
                        || (a < 0.0 && exponent)
                })
            }
        }
        RealOp::Exp => const { &smooth("exp", &[Y]).cost(12) },
        RealOp::Log => {
            const { &smooth("log", &[Bin(Div, &ONE, &A)]).cost(12).outside(|x, _| x <= 0.0) }
        }
        RealOp::Sqrt => {
            const {
                &smooth("sqrt", &[Bin(Div, &Num(0.5), &Y)])
                    .cost(4)
                    .outside(|x, _| x < 0.0)
                    .kink(|x, _, _| x == 0.0)
            }
        }
        RealOp::Cbrt => {
            const {
                &smooth("cbrt", &[Bin(Div, &Num(1.0 / 3.0), &Bin(Mul, &Y, &Y))])
                    .kink(|x, _, _| x == 0.0)
            }
        }
        RealOp::Sin => const { &smooth("sin", &[Un(Cos, &A)]).cost(12) },
        RealOp::Cos => const { &smooth("cos", &[Un(Neg, &Un(Sin, &A))]).cost(12) },
        RealOp::Tan => const { &smooth("tan", &[Bin(Add, &ONE, &Bin(Mul, &Y, &Y))]) },
        RealOp::Asin => {
            const {
                &smooth("asin", &[Bin(Div, &ONE, &CIRCLE)])
                    .outside(|x, _| x.abs() > 1.0)
                    .kink(|x, _, _| x.abs() == 1.0)
            }
        }
        RealOp::Acos => {
            const {
                &smooth("acos", &[Bin(Div, &Num(-1.0), &CIRCLE)])
                    .outside(|x, _| x.abs() > 1.0)
                    .kink(|x, _, _| x.abs() == 1.0)
            }
        }
        // Unlike 1 + a², its root does not overflow.
        RealOp::Atan => const { &smooth("atan", &[Bin(Div, &Bin(Div, &ONE, &LENGTH), &LENGTH)]) },
        RealOp::Sinh => const { &smooth("sinh", &[Un(Cosh, &A)]) },
        RealOp::Cosh => const { &smooth("cosh", &[Un(Sinh, &A)]) },
        RealOp::Tanh => {
            const { &smooth("tanh", &[Bin(Mul, &Un(Sech, &A), &Un(Sech, &A))]).cost(12) }
        }
        RealOp::Asinh => const { &smooth("asinh", &[Bin(Div, &ONE, &LENGTH)]) },
        RealOp::Acosh => {
            const {
                &smooth(
                    "acosh",
                    &[Bin(
                        Div,
                        &Bin(Div, &ONE, &Un(Sqrt, &Bin(Sub, &A, &ONE))),
                        &Un(Sqrt, &Bin(Add, &A, &ONE)),
                    )],
                )
                .outside(|x, _| x < 1.0)
                .kink(|x, _, _| x == 1.0)
            }
        }
        RealOp::Atanh => {
            const {
                &smooth("atanh", &[Bin(Div, &ONE, &Un(OneMinusSquare, &A))])
                    .outside(|x, _| x.abs() >= 1.0)
            }
        }
        RealOp::Expm1 => const { &smooth("expm1", &[Un(Exp, &A)]).cost(12) },
        RealOp::Log1p => {
            const {
                &smooth("log1p", &[Bin(Div, &ONE, &Bin(Add, &ONE, &A))])
                    .cost(12)
                    .outside(|x, _| x <= -1.0)
            }
        }
        RealOp::Sigmoid => {
            const {
                &smooth("sigmoid", &[Bin(Mul, &Num(0.25), &Bin(Mul, &HALF_SECH, &HALF_SECH))])
                    .c("df_sigmoid")
                    .cost(12)
            }
        }
        RealOp::Softplus => const { &smooth("softplus", &[Un(Sigmoid, &A)]).c("df_softplus") },
        RealOp::Erf => const { &smooth("erf", &[BELL]) },
        RealOp::Erfc => const { &smooth("erfc", &[Un(Neg, &BELL)]) },
        RealOp::Lgamma => {
            const { &smooth("lgamma", &[Un(RealOp::Polygamma(0), &A)]).c("df_lgamma").outside(pole) }
        }
        RealOp::Polygamma(0) => {
            const { &smooth("digamma", &[Partial::NextPolygamma]).symbol("polygamma").outside(pole) }
        }
        RealOp::Polygamma(_) => {
            const { &smooth("polygamma", &[Partial::NextPolygamma]).outside(pole) }
        }
        RealOp::Atan2 => {
            const {
                &smooth("atan2", &[Bin(Div, &SINE, &HYPOT), Un(Neg, &Bin(Div, &COSINE, &HYPOT))])
                    .kink(|a, b, _| a == 0.0 && b == 0.0)
            }
        }
        RealOp::Hypot => {
            const { &smooth("hypot", &[COSINE, SINE]).kink(|a, b, _| a == 0.0 && b == 0.0) }
        }
        RealOp::Unit => {
            const {
                &smooth(
                    "unit",
                    &[
                        Bin(Div, &Bin(Mul, &SINE, &SINE), &HYPOT),
                        Un(Neg, &Bin(Div, &Bin(Mul, &Y, &SINE), &HYPOT)),
                    ],
                )
                .c("df_unit")
                .kink(|a, b, _| a == 0.0 && b == 0.0)
            }
        }
        RealOp::Sech => {
            const { &smooth("sech", &[Un(Neg, &Bin(Mul, &Y, &Un(Tanh, &A)))]).c("df_sech").cost(12) }
        }
        RealOp::OneMinusSquare => {
            const {
                &smooth("one_minus_square", &[Bin(Mul, &Num(-2.0), &A)])
                    .c("df_one_minus_square")
                    .cost(3)
            }
        }
        RealOp::Abs => const { &select("abs", 1, |x, _, _| x == 0.0).c("fabs") },
        RealOp::Sign => const { &select("sign", 1, |x, _, _| x == 0.0).c("df_sign") },
        RealOp::Min => const { &select("min", 2, |a, b, _| a == b).c("df_min") },
        RealOp::Max => const { &select("max", 2, |a, b, _| a == b).c("df_max") },
    }
}

/// The value of an operation; a unary one ignores `b`.
pub fn eval(op: RealOp, a: f64, b: f64) -> f64 {
    match op {
        RealOp::Add => a + b,
        RealOp::Sub => a - b,
        RealOp::Mul => a * b,
        RealOp::Div => a / b,
        RealOp::Neg => -a,
        RealOp::Rem => a % b,
        RealOp::Pow => a.powf(b),
        RealOp::Exp => a.exp(),
        RealOp::Log => a.ln(),
        RealOp::Sqrt => a.sqrt(),
        RealOp::Cbrt => a.cbrt(),
        RealOp::Sin => a.sin(),
        RealOp::Cos => a.cos(),
        RealOp::Tan => a.tan(),
        RealOp::Asin => a.asin(),
        RealOp::Acos => a.acos(),
        RealOp::Atan => a.atan(),
        RealOp::Sinh => a.sinh(),
        RealOp::Cosh => a.cosh(),
        RealOp::Tanh => a.tanh(),
        // The standard library's overflows.
        RealOp::Asinh => libm::asinh(a),
        // The standard library's loses half the digits near 1; libm's has values below 1.
        RealOp::Acosh => {
            if a < 1.0 {
                f64::NAN
            } else {
                libm::acosh(a)
            }
        }
        // The standard library's loses half the digits near -1.
        RealOp::Atanh => a.abs().atanh().copysign(a),
        RealOp::Expm1 => a.exp_m1(),
        RealOp::Log1p => a.ln_1p(),
        RealOp::Sigmoid => sigmoid(a),
        RealOp::Softplus => softplus(a),
        RealOp::Erf => libm::erf(a),
        RealOp::Erfc => libm::erfc(a),
        RealOp::Lgamma => libm::lgamma(a),
        RealOp::Polygamma(n) => polygamma(n, a),
        RealOp::Atan2 => a.atan2(b),
        RealOp::Hypot => a.hypot(b),
        RealOp::Unit => unit(a, b),
        RealOp::Sech => sech(a),
        RealOp::OneMinusSquare => (1.0 - a) * (1.0 + a),
        RealOp::Abs => a.abs(),
        RealOp::Sign => sign(a),
        // Equal numbers with other bits are zeros.
        RealOp::Min if a == b => f64::from_bits(a.to_bits() | b.to_bits()),
        RealOp::Max if a == b => f64::from_bits(a.to_bits() & b.to_bits()),
        // `minimum` and `maximum` of IEEE 754-2019.
        RealOp::Min | RealOp::Max => {
            if chooses_first(op, a, b) {
                a
            } else {
                b
            }
        }
    }
}

/// Whether `min` or `max` has the derivative of the first operand: if they are equal, too; a nan is preferred.
pub fn chooses_first(op: RealOp, a: f64, b: f64) -> bool {
    let second = if op == RealOp::Min { b < a } else { b > a };
    a.is_nan() || !(second || b.is_nan())
}

/// -1, 0 or 1; nan of nan.
fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else if x == 0.0 {
        0.0
    } else {
        x
    }
}

/// `x ^ n` by repeated multiplication; `1 / x ^ |n|` for negative n.
pub fn power(x: f64, n: i64) -> f64 {
    let mut exponent = n.unsigned_abs();
    let (mut base, mut result) = (x, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        exponent >>= 1;
        if exponent > 0 {
            base *= base;
        }
    }
    if n < 0 {
        1.0 / result
    } else {
        result
    }
}

impl Condition {
    /// Whether it holds of plain operands.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Condition::ZeroExponent => b == 0.0,
            Condition::ZeroBase => a == 0.0 && b > 0.0,
            Condition::Vanishes => a.abs() > BELL_END,
        }
    }

    /// Whether the zero is a number that is multiplied, so that it makes nan of what is infinite, and not that of an
    /// operation that does not depend on its operand a: what is less than the smallest number still depends.
    pub fn is_number(self, a: f64) -> bool {
        self == Condition::Vanishes && a.is_finite()
    }
}

/// The value of a partial derivative of `op` at operands `a` and `b`; the result `y` is computed if it is
/// wanted and not known. Adds the number of operations to `count`.
pub fn partial(
    term: &Partial,
    op: RealOp,
    [a, b]: [f64; 2],
    y: &mut Option<f64>,
    count: &mut u64,
) -> f64 {
    match term {
        Partial::A => a,
        Partial::B => b,
        Partial::Y => *y.get_or_insert_with(|| {
            *count += 1;
            eval(op, a, b)
        }),
        Partial::Num(x) => *x,
        Partial::Un(f, t) => {
            *count += 1;
            eval(*f, partial(t, op, [a, b], y, count), 0.0)
        }
        Partial::Bin(f, s, t) => {
            *count += 1;
            let s = partial(s, op, [a, b], y, count);
            eval(*f, s, partial(t, op, [a, b], y, count))
        }
        Partial::NextPolygamma => {
            *count += 1;
            eval(next_polygamma(op), a, 0.0)
        }
        Partial::TruncatedQuotient => truncated_quotient(a, b),
        Partial::ZeroWhere(condition, t) => {
            if condition.holds(a, b) {
                0.0
            } else {
                partial(t, op, [a, b], y, count)
            }
        }
    }
}

/// What [`Partial::TruncatedQuotient`] stands for.
pub fn truncated_quotient(a: f64, b: f64) -> f64 {
    (a - a % b) / b
}

/// What [`Partial::NextPolygamma`] stands for in the row of `op`.
pub fn next_polygamma(op: RealOp) -> RealOp {
    if let RealOp::Polygamma(n) = op {
        RealOp::Polygamma(n + 1)
    } else {
        op
    }
}

/// All of them, with some of the polygamma functions at the end.
pub const ALL: &[RealOp] = &[
    RealOp::Add,
    RealOp::Sub,
    RealOp::Mul,
    RealOp::Div,
    RealOp::Neg,
    RealOp::Rem,
    RealOp::Pow,
    RealOp::Exp,
    RealOp::Log,
    RealOp::Sqrt,
    RealOp::Cbrt,
    RealOp::Sin,
    RealOp::Cos,
    RealOp::Tan,
    RealOp::Asin,
    RealOp::Acos,
    RealOp::Atan,
    RealOp::Sinh,
    RealOp::Cosh,
    RealOp::Tanh,
    RealOp::Asinh,
    RealOp::Acosh,
    RealOp::Atanh,
    RealOp::Expm1,
    RealOp::Log1p,
    RealOp::Sigmoid,
    RealOp::Softplus,
    RealOp::Erf,
    RealOp::Erfc,
    RealOp::Lgamma,
    RealOp::Atan2,
    RealOp::Hypot,
    RealOp::Unit,
    RealOp::Sech,
    RealOp::OneMinusSquare,
    RealOp::Abs,
    RealOp::Sign,
    RealOp::Min,
    RealOp::Max,
    RealOp::Polygamma(0),
    RealOp::Polygamma(1),
    RealOp::Polygamma(2),
];

/// Operations without a parameter: their names alone determine them.
pub const PLAIN: &[RealOp] = ALL.split_at(ALL.len() - 3).0;
