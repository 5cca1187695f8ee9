//! The primitive operations of Core: one table, read by every engine and every derivative.
//!
//! [`RealOp`] are the operations `op : ℝⁿ → ℝ` of the papers; their values, domains, kinks and
//! derivatives stand in [`mod@real`]. Everything else moves data or works on leaf types: its derivative
//! follows from the values it moves.

pub mod int;
pub mod interval;
pub mod real;
pub mod special;
pub(crate) mod table;
pub mod text;

use crate::system::System;
use crate::ty::Ty;
use diffeo_base::Name;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Operations on real numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum RealOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `-a`
    Neg,
    /// `a % b`: the remainder of division truncated towards zero.
    Rem,
    /// `a ^ b`
    Pow,
    /// The exponential.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// The cube root; odd.
    Cbrt,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// `exp(a) - 1`
    Expm1,
    /// `log(1 + a)`
    Log1p,
    /// `1 / (1 + exp(-a))`
    Sigmoid,
    /// `log(1 + exp(a))`
    Softplus,
    /// The error function.
    Erf,
    /// `1 - erf(a)`
    Erfc,
    /// The logarithm of the absolute gamma function.
    Lgamma,
    /// The polygamma function of this order; order 0 is digamma.
    Polygamma(u32),
    /// `atan2(y, x)`
    Atan2,
    /// `sqrt(a^2 + b^2)`
    Hypot,
    /// `a / hypot(a, b)`, the cosine of the angle of (a, b). Like the next two, it occurs in derivatives only: what
    /// its own derivative says as a product is a difference of nearly equal terms in other operations.
    Unit,
    /// `1 / cosh(a)`
    Sech,
    /// `1 - a^2`
    OneMinusSquare,
    /// The absolute value; derivative 0 at 0.
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// The smaller; the first if equal.
    Min,
    /// The larger; the first if equal.
    Max,
}

/// Operations on integers; the arithmetic ones stop the program on overflow and division by zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum IntOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, truncated towards zero.
    Div,
    /// `a % b`, with the sign of `a`.
    Rem,
    /// `-a`
    Neg,
    /// `a ^ b`, b not negative.
    Pow,
    /// The absolute value.
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// `a` shifted left by 0 … 63, bits shifted out are lost.
    ShiftLeft,
    /// `a` shifted right logically (zeros come in) by 0 … 63.
    ShiftRight,
    /// Addition modulo 2^64.
    WrappingAdd,
    /// Multiplication modulo 2^64.
    WrappingMul,
}

/// Operations on texts that Diffeo cannot express; see [`mod@text`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TextOp {
    /// `String -> Int`: how many bytes it has.
    Size,
    /// `(String, Int) -> Int`: a byte.
    Byte,
    /// `(String, Int, Int) -> String`: what stands between two bytes.
    Slice,
    /// `(part: String, String, Int) -> Int`: at which byte, from this one on, the part stands.
    Find,
    /// `Int -> String`: the character with this number.
    Character,
    /// `String -> String`: in lower case.
    Lower,
    /// `String -> String`: in upper case.
    Upper,
    /// `(Int, Real) -> String`: with so many digits after the point.
    Digits,
    /// `String -> Real`: the number that it is.
    Number,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Comparison {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// Roundings `Real -> Int`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Rounding {
    /// Towards minus infinity.
    Floor,
    /// Towards infinity.
    Ceil,
    /// To the nearest, halves away from zero.
    Round,
    /// Towards zero.
    Trunc,
}

/// A primitive operation. The types are those of the comment, with the type parameter as `T`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub enum Prim {
    /// `Real… -> Real`
    Real(RealOp),
    /// `(Real, Int) -> Real`: repeated multiplication.
    PowInt,
    /// `Int… -> Int`
    Int(IntOp),
    /// `(T, T) -> Bool`: order at Int, Real, String; equality at every first-order type.
    Compare(Comparison, Ty),
    /// `Bool -> Bool`
    Not,
    /// `Int -> Real`
    ToReal,
    /// `Real -> Int`
    Round(Rounding),
    /// `Real -> Bool`
    IsNan,

    /// `(T, T) -> T` at any first-order type: adds Real leaves; the others come from the first.
    Add(Ty),
    /// `(T, T) -> T` at vector types.
    Sub(Ty),
    /// `T -> T` at vector types.
    Neg(Ty),
    /// `(Real, T) -> T` at any first-order type: scales Real leaves.
    Scale(Ty),
    /// `(T, Real) -> T` at vector types.
    Unscale(Ty),
    /// `(T, T) -> T` elementwise at array types of Real.
    MulElements(Ty),
    /// `(T, T) -> T` elementwise at array types of Real.
    DivElements(Ty),
    /// `T -> T`: Real leaves become 0.
    ZeroOf(Ty),
    /// `(T, T) -> Real`: the sum of the products of Real leaves (⊙ of Krawiec et al.).
    Inner(Ty),
    /// `T -> []Real`: the Real leaves from left to right.
    Ravel(Ty),
    /// `(T, []Real) -> T`: the structure with these Real leaves.
    Unravel(Ty),

    /// `[]T -> Int`
    Length(Ty),
    /// `([]T, Int) -> T`
    Index(Ty),
    /// `([]T, Int, Int) -> []T`: half-open; a view.
    Slice(Ty),
    /// `(A, Int…, U) -> A`: a copy of the array with the element at these indices replaced (as many
    /// indices as arguments less two). `A` is the type given. In place when nothing else refers to it.
    Update(Ty),
    /// `([]T, []T) -> []T`
    Append(Ty),
    /// `[][]T -> []T`: the rows one after the other; a view.
    Flatten(Ty),
    /// `[]T -> T` at Int, Real and vector types, from the left; 0 for an empty array.
    Sum(Ty),
    /// `[]T -> []Int` at Int, Real and String: the stable sorting permutation; nan last.
    ArgSort(Ty),
    /// `(T, Int…) -> the tuple of Ints`: sizes in a value, bound and checked; see [`SizePattern`].
    Sizes(Rc<SizePattern>, Ty),

    /// `(String, String) -> String`
    AppendStrings,
    /// See [`TextOp`].
    Text(TextOp),
    /// `T -> String` at first-order types, as Diffeo writes the value.
    Show(Ty),
    /// `T -> []String` at first-order types: the path of each Real leaf, in the order of `Ravel`.
    Labels(Ty),
    /// `String -> T`: stops the program with this message.
    Fail(Ty),
    /// `(String, T) -> T`: prints label and value on standard error.
    Trace(Ty),
    /// `(String, Int, Real, T) -> T`: tells how far a long computation is; the last argument.
    Progress(Ty),
    /// `(String, String, String) -> ()`: warns, at the place where an error would be reported; the code, the message, the
    /// help.
    Warn,
    /// A function value with its code translated by one more of the papers' systems, or one less.
    #[serde(skip)]
    Lift(Rc<Lift>),
}

/// What [`Prim::Lift`] does with a function value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifting {
    /// Its code is translated by one more system, its environment embedded.
    Lift,
    /// The function that its code was translated from, with the primals of its environment.
    Lower,
    /// Whether a number in its environment varies in the system: a Bool.
    Captures,
    /// Nothing; of two values of a type, stops the program if their shapes differ, under this name: `()`.
    SameShape(&'static str),
    /// The number 0 of what does not vary, by which even what is not finite may be multiplied. It has no argument.
    Zero,
    /// The same value; if all numbers in it are 0 and nothing in it varies, of such zeros.
    Sparse,
    /// Whether a number in it is not 0, or something in it varies: a Bool.
    Varies,
    /// Nothing; a derivative begins to be computed, of which operations may be to blame: `()`.
    Watch,
    /// Nothing; remembers an operation whose derivatives are not finite, though its operands' are: `()`.
    Blame(Blame),
    /// Nothing; stops the program for the evaluator, which knows what the systems do not: `()`.
    Stop,
    /// Nothing; of a value, its derivative, and what that was taken along, with which the last [`Lifting::Watch`]
    /// ends: warns of the operation to blame if the derivative is nan and the others are finite: `()`.
    Warn,
}

/// The Reals that [`Lifting::Blame`] is given: derivatives of the result, the operands, and what else has to be
/// finite for the operation to be to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blame {
    /// The operation, as users write it.
    pub op: &'static str,
    /// How many derivatives there are.
    pub derivatives: usize,
    /// How many operands there are.
    pub operands: usize,
}

/// How [`Prim::Lift`] translates a function value.
#[derive(Clone, PartialEq, Debug)]
pub struct Lift {
    /// What it does.
    pub what: Lifting,
    /// The system to translate by, then those that the function's code went through, from the inside out.
    pub systems: Vec<System>,
    /// The type of the function value.
    pub from: Ty,
    /// The type of its translation.
    pub to: Ty,
}

/// The sizes that a type annotation names, looked up in a value.
///
/// `Sizes` takes the value and the values of the first `given` names, walks the value along `shape`,
/// binds each further name at its first determined occurrence, compares every other occurrence, and
/// returns the newly bound sizes (names[given..]) as a tuple (an Int for one, `()` for none). A name
/// that nothing determines (all its occurrences lie in empty data) is 0 and fits everything.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SizePattern {
    /// The names of the sizes.
    pub names: Vec<Name>,
    /// How many of them are arguments.
    pub given: usize,
    /// The names of the components of the value, if it is a tuple of such, or of the value: for messages.
    pub parts: Vec<Name>,
    /// Where they stand.
    pub shape: SizeShape,
}

impl SizePattern {
    /// The part that a walk over the value begins in; none where the components of a tuple are the parts.
    pub fn first_part(&self) -> Option<usize> {
        match self.shape {
            SizeShape::Tuple(_) => None,
            SizeShape::Any | SizeShape::Array(..) | SizeShape::Data(_) => Some(0),
        }
    }

    /// A size in words, as messages have it where the part of this number has another one.
    pub fn contradicted(&self, size: SizeRef, part: Option<usize>) -> Name {
        let part = part.unwrap_or(0);
        let i = match size {
            SizeRef::Any => return "a size".into(),
            SizeRef::Literal(n) => return format!("the size {n} of a type").into(),
            SizeRef::Name(i) => i,
        };
        let size = format!("the size `{}`", self.names[i]);
        let first = match &self.shape {
            _ if i < self.given => None,
            SizeShape::Tuple(parts) => parts.iter().position(|shape| shape.names(i)),
            SizeShape::Any | SizeShape::Array(..) | SizeShape::Data(_) => None,
        };
        let first = first.filter(|first| *first != part).and_then(|first| self.parts.get(first));
        match (first, self.parts.get(part)) {
            (Some(first), Some(part)) => format!("{size} of `{first}` and of `{part}`").into(),
            (None, Some(part)) => format!("{size} of `{part}`").into(),
            (_, None) => size.into(),
        }
    }
}

/// The part of a type that a [`SizePattern`] looks at.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub enum SizeShape {
    /// Nothing of interest.
    Any,
    /// An array of this length, of rows of this shape.
    Array(SizeRef, Box<SizeShape>),
    /// A tuple or record.
    Tuple(Vec<SizeShape>),
    /// A variant: the shapes of the fields of each constructor (recursive occurrences are `Any`).
    Data(Vec<Vec<SizeShape>>),
}

impl SizeShape {
    /// True if the size of this number stands in the shape.
    fn names(&self, i: usize) -> bool {
        match self {
            SizeShape::Any => false,
            SizeShape::Array(size, rows) => *size == SizeRef::Name(i) || rows.names(i),
            SizeShape::Tuple(parts) => parts.iter().any(|part| part.names(i)),
            SizeShape::Data(constructors) => constructors.iter().flatten().any(|f| f.names(i)),
        }
    }
}

/// A size in a [`SizeShape`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum SizeRef {
    /// Any length.
    Any,
    /// This length.
    Literal(u64),
    /// The name at this position of [`SizePattern::names`].
    Name(usize),
}

/// A derivative term, for a function `S → T` between first-order types.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diff {
    /// Which.
    pub op: DiffOp,
    /// `S`
    pub from: Ty,
    /// `T`
    pub to: Ty,
}

/// The derivative terms of Core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub enum DiffOp {
    /// `(S → T, S, T) → S`: Abadi & Plotkin's `M.rd_L(x:T. N)`.
    Rd,
    /// `(S → T, []S, S, T) → S`: the same where, at kinks, these directions decide first.
    RdAlong,
    /// `(S → T, S) → (T, T → S)`: value and pullback.
    Vjp,
    /// `(S → T, S, S) → (T, T)`: value and pushforward.
    Jvp,
    /// `(S → T, J(S)) → J(T)`: Huot et al.'s `D_(k,R)`; every Real is an array of the derivatives ∂^α.
    Jet {
        /// The number of variables.
        k: u32,
        /// The order.
        r: u32,
    },
    /// `S → S` (`to` is `S`): identity with derivative zero.
    StopGradient,
    /// `(S → T, S) → T`: the backward pass recomputes the call.
    Checkpoint,
    /// `(S → T, (S, S) → (T, T), S) → T`: a function with a jvp rule of its own, which may say anything.
    WithDerivative,
    /// The same, where the rule is the function's derivative: so are Taylor coefficients that are made by it.
    WithExactDerivative,
    /// `(S → T, S, String) → []Real`: what the function decides at a point by the point: nothing if it does not
    /// decide, else a number for how all decisions come out, then of each decision six numbers: one
    /// for its place in the source; how it comes out; one that is 0 where it comes out otherwise; its slope; how that place
    /// moves along a generic direction of what the function captured; and the largest number so far. Where the program
    /// decides by numbers that vary, compiled code stops, a library for C with this message.
    Decisions,
    /// `(S → T, () → []Real, S) → T`: the call, which decides these for [`DiffOp::Decisions`], of each three numbers (place,
    /// outcome and what is 0 where it comes out otherwise), and nothing else. S is Bool, and the argument `true`: it is
    /// `false` where the value does not count, but what is decided.
    Deciding,
    /// `(S → T, S, S) → ([]T, String)`: the lower and the upper ends of the values at all numbers between two points, or
    /// none and why there are none.
    Enclose,
    /// `(S → T, S, S) → T`: on which arguments each Real of the value depends in this run. In the place of each Real stands
    /// the set of these, a whole number below 2^53 whose bits are elements; the third operand gives those of the argument.
    Dependence,
    /// `(S → T, S) → T`: the call, for which the Reals of the argument are not known: what depends on a choice by them depends
    /// on all that may be chosen. The Reals of the value are not its own, but vary as those of each choice do.
    AllPaths,
}
