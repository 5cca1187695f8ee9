//! Abstract numbers of a rule: their dependence on the tangent, and whether they are 0 where the tangent is.
//!
//! A number is a part that is free of the tangent, and one that is linear in it. The arithmetic here says what both are
//! of a result; what is not linear keeps the place and the reason.

use super::{Reason, Why};
use crate::prim::{real, RealOp};
use diffeo_base::Span;

/// The part that is free of the tangent, as a function of the rule's point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// 0.
    Zero,
    /// This finite number, which is not 0.
    Exactly(f64),
    /// inf or -inf.
    Infinite,
    /// Analytic in the point and not constant.
    Varies,
    /// Analytic in the point and not 0 everywhere.
    NonZero,
    /// Not 0 at some points, or in some branches.
    Sometimes,
    /// Anything.
    Unknown,
}

use Constant::{Exactly, Infinite, NonZero, Sometimes, Unknown, Varies, Zero};

impl Constant {
    fn number(x: f64) -> Constant {
        match x {
            0.0 => Zero,
            x if x.is_finite() => Exactly(x),
            x if x.is_infinite() => Infinite,
            _ => Unknown,
        }
    }

    fn value(self) -> Option<f64> {
        match self {
            Zero => Some(0.0),
            Exactly(x) => Some(x),
            Infinite | Varies | NonZero | Sometimes | Unknown => None,
        }
    }

    /// Whether it certainly is not 0 somewhere.
    pub fn is_seen(self) -> bool {
        matches!(self, Exactly(_) | Varies | NonZero | Sometimes)
    }

    /// Of one or the other.
    fn or(self, other: Constant) -> Constant {
        match (self, other) {
            (a, b) if a == b => a,
            (Unknown | Infinite, _) | (_, Unknown | Infinite) => Unknown,
            (..) => Sometimes,
        }
    }

    fn plus(self, other: Constant) -> Constant {
        match (self, other) {
            (Zero, c) | (c, Zero) => c,
            (Exactly(a), Exactly(b)) => Constant::number(a + b),
            (Varies, Exactly(_)) | (Exactly(_), Varies) => Varies,
            (..) => Unknown,
        }
    }

    fn times(self, other: Constant) -> Constant {
        match (self, other) {
            (Zero, _) | (_, Zero) => Zero,
            (Exactly(a), Exactly(b)) => folded(a * b),
            (Exactly(_), c) | (c, Exactly(_)) => c,
            (Varies | NonZero, Varies | NonZero) => NonZero,
            (..) => Unknown,
        }
    }

    fn over(self, other: Constant) -> Constant {
        match (self, other) {
            (_, Zero) => Unknown,
            (Zero, _) => Zero,
            (Exactly(a), Exactly(b)) => folded(a / b),
            (c, Exactly(_)) => c,
            (Exactly(_), Varies) => Varies,
            (Exactly(_) | Varies | NonZero, Varies | NonZero) => NonZero,
            (..) => Unknown,
        }
    }

    /// An operation on one number.
    fn through(self, op: RealOp) -> Constant {
        if let Some(x) = self.value() {
            return Constant::number(real::eval(op, x, 0.0));
        }
        match (op, self) {
            (RealOp::Neg, c) => c,
            (_, Infinite) => Unknown,
            (
                RealOp::Exp
                | RealOp::Log
                | RealOp::Sqrt
                | RealOp::Cbrt
                | RealOp::Sin
                | RealOp::Cos
                | RealOp::Tan
                | RealOp::Asin
                | RealOp::Acos
                | RealOp::Atan
                | RealOp::Sinh
                | RealOp::Cosh
                | RealOp::Tanh
                | RealOp::Asinh
                | RealOp::Acosh
                | RealOp::Atanh
                | RealOp::Expm1
                | RealOp::Log1p
                | RealOp::Sigmoid
                | RealOp::Softplus
                | RealOp::Erf
                | RealOp::Erfc
                | RealOp::Lgamma
                | RealOp::Polygamma(_),
                Varies,
            ) => Varies,
            // Nowhere 0.
            (RealOp::Exp | RealOp::Cosh | RealOp::Sigmoid | RealOp::Softplus, _) => NonZero,
            (RealOp::Abs, c) if c.is_seen() => Sometimes,
            _ => Unknown,
        }
    }

    /// A power.
    fn to_the(self, exponent: Constant) -> Constant {
        match (self, exponent) {
            (_, Zero) => Exactly(1.0),
            (Varies, Exactly(_)) => Varies,
            (a, b) => match (a.value(), b.value()) {
                (Some(a), Some(b)) => Constant::number(real::eval(RealOp::Pow, a, b)),
                _ => Unknown,
            },
        }
    }
}

/// The constant that arithmetic gives; what it makes too small for a number is not known to be 0.
fn folded(x: f64) -> Constant {
    match Constant::number(x) {
        Zero => Unknown,
        c => c,
    }
}

/// How something depends on the tangent.
#[derive(Clone, PartialEq, Debug)]
pub enum Dependence {
    /// Not at all.
    Free,
    /// Linearly, up to a part that is free of it.
    Linear,
    /// One or the other.
    Either,
    /// In a way that cannot be seen.
    Unseen(Reason),
    /// Not linearly.
    Nonlinear(Reason),
}

use Dependence::{Either, Free, Linear, Nonlinear, Unseen};

impl Dependence {
    /// The worse of two dependences, if one is not linear or cannot be seen.
    fn worse(&self, other: &Dependence) -> Option<Dependence> {
        match (self, other) {
            (d @ Nonlinear(_), _) | (_, d @ Nonlinear(_)) => Some(d.clone()),
            (d @ Unseen(_), _) | (_, d @ Unseen(_)) => Some(d.clone()),
            (Free | Linear | Either, Free | Linear | Either) => None,
        }
    }

    /// The dependence of a sum.
    pub fn and(&self, other: &Dependence) -> Dependence {
        self.worse(other).unwrap_or(match (self, other) {
            (Free, Free) => Free,
            (Free | Either, Free | Either) => Either,
            (_, _) => Linear,
        })
    }

    /// The dependence of a choice. `mixed`: of values that are known as one; otherwise of branches, of which one that is
    /// not linear is enough.
    pub fn or(&self, other: &Dependence, mixed: bool) -> Dependence {
        match (self, other) {
            (Nonlinear(_), Nonlinear(_)) => self.clone(),
            (Nonlinear(reason), _) | (_, Nonlinear(reason)) if mixed => Unseen(reason.clone()),
            (a, b) if a == b => a.clone(),
            (a, b) => a.worse(b).unwrap_or(Either),
        }
    }

    /// The dependence of Ints, texts and shapes beside such numbers: those of the tangent repeat those of the point.
    pub fn beside(&self) -> Dependence {
        match self {
            Free | Linear | Either => Free,
            worse @ (Unseen(_) | Nonlinear(_)) => worse.clone(),
        }
    }

    /// The dependence of a nonlinear function.
    pub fn broken(&self, why: Why, span: Span) -> Dependence {
        match self {
            Free => Free,
            Linear => Nonlinear(Reason { why, span }),
            Either => Unseen(Reason { why, span }),
            worse @ (Unseen(_) | Nonlinear(_)) => worse.clone(),
        }
    }

    /// The dependence of a comparison that may come out the same for all tangents.
    pub fn perhaps(&self, why: Why, span: Span) -> Dependence {
        match self {
            Nonlinear(reason) => Unseen(reason.clone()),
            other => other.hidden(why, span),
        }
    }

    /// The dependence of a function that is not known.
    pub fn hidden(&self, why: Why, span: Span) -> Dependence {
        match self {
            Free => Free,
            Linear | Either => Unseen(Reason { why, span }),
            worse @ (Unseen(_) | Nonlinear(_)) => worse.clone(),
        }
    }
}

/// A number.
#[derive(Clone, PartialEq, Debug)]
pub struct Number {
    /// The part that is free of the tangent.
    pub constant: Constant,
    /// The other part.
    pub on: Dependence,
}

impl Number {
    /// 0.
    pub const ZERO: Number = Number { constant: Zero, on: Free };
    /// Any number that is free of the tangent.
    pub const FREE: Number = Number { constant: Unknown, on: Free };
    /// The tangent.
    pub const TANGENT: Number = Number { constant: Zero, on: Linear };
    /// The point.
    pub const POINT: Number = Number { constant: Varies, on: Free };

    /// A number with both parts; where it is not linear, its parts cannot be told apart.
    pub fn new(constant: Constant, on: Dependence) -> Number {
        match on {
            Free | Linear | Either => Number { constant, on },
            Unseen(_) | Nonlinear(_) => Number { constant: Unknown, on },
        }
    }

    /// This number.
    pub fn exactly(x: f64) -> Number {
        Number::new(Constant::number(x), Free)
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        *self == Number::ZERO
    }

    /// One or the other; 0 is linear, too.
    pub fn or(&self, other: &Number, mixed: bool) -> Number {
        let on = match (self.is_zero(), other.is_zero()) {
            (true, _) => other.on.clone(),
            (_, true) => self.on.clone(),
            (false, false) => self.on.or(&other.on, mixed),
        };
        Number::new(self.constant.or(other.constant), on)
    }

    /// The sum.
    pub fn plus(&self, other: &Number) -> Number {
        Number::new(self.constant.plus(other.constant), self.on.and(&other.on))
    }

    /// The number with the other sign.
    pub fn negated(&self) -> Number {
        Number::new(self.constant.through(RealOp::Neg), self.on.clone())
    }

    /// The sum of several such numbers.
    pub fn summed(&self) -> Number {
        let constant = if self.constant == Zero { Zero } else { Unknown };
        Number::new(constant, self.on.clone())
    }

    /// The product.
    pub fn times(&self, other: &Number, span: Span) -> Number {
        if self.is_zero() || other.is_zero() {
            return Number::ZERO;
        }
        let on = match (&self.on, &other.on) {
            (Free, on) | (on, Free) => on.clone(),
            (a, b) => a.worse(b).unwrap_or_else(|| {
                let both = if a == b { a } else { &Either };
                both.broken(Why::Product, span)
            }),
        };
        Number::new(self.constant.times(other.constant), on)
    }

    /// The quotient.
    pub fn over(&self, other: &Number, span: Span) -> Number {
        if self.is_zero() {
            return Number::ZERO;
        }
        let on = match &other.on {
            Free => self.on.clone(),
            on => self.on.worse(on).unwrap_or_else(|| on.broken(Why::Quotient, span)),
        };
        Number::new(self.constant.over(other.constant), on)
    }

    /// The power of two numbers.
    pub fn power(&self, exponent: &Number, span: Span) -> Number {
        if *exponent == Number::exactly(1.0) {
            return self.clone();
        }
        let on = self.on.and(&exponent.on).broken(Why::Operation("^".into()), span);
        Number::new(self.constant.to_the(exponent.constant), on)
    }

    /// The square.
    pub fn squared(&self, span: Span) -> Number {
        match self.times(self, span) {
            Number { constant: NonZero, on } if self.constant == Varies => Number::new(Varies, on),
            square => square,
        }
    }

    /// The result of an operation on numbers.
    pub fn of(op: RealOp, numbers: &[Number], span: Span) -> Number {
        match (op, numbers) {
            (RealOp::Add, [a, b]) => a.plus(b),
            (RealOp::Sub, [a, b]) => a.plus(&b.negated()),
            (RealOp::Neg, [a]) => a.negated(),
            (RealOp::Mul, [a, b]) => a.times(b, span),
            (RealOp::Div, [a, b]) => a.over(b, span),
            (RealOp::Pow, [a, b]) => a.power(b, span),
            (op, numbers) => {
                let on = numbers.iter().fold(Free, |on, n| on.and(&n.on));
                let constant = match numbers {
                    [a] => a.constant.through(op),
                    _ => Unknown,
                };
                Number::new(constant, on.broken(Why::Operation(real::row(op).name.into()), span))
            }
        }
    }

    /// The derivative along a change, of a function with values that are such numbers at every point that is free of the
    /// tangent.
    pub fn along(&self, change: &Number, span: Span) -> Number {
        if change.is_zero() {
            return Number::ZERO;
        }
        let constant = |c| if c == Zero { Zero } else { Unknown };
        match (&self.on, &change.on) {
            (Free, _) => Number::new(constant(change.constant), change.on.clone()),
            (Linear, Free) => Number::new(constant(self.constant), Linear),
            (_, _) => Number::new(Unknown, Unseen(Reason { why: Why::Derivative, span })),
        }
    }
}
