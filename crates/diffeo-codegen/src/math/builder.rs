//! A notation for straight-line code: operations on [`Real`], [`Int`] and [`Truth`] append statements, so that formulas
//! are written as formulas.

use crate::low::{Binary, Compare, Expr, LowTy, Operand, Reg, Stmt, Unary};
use diffeo_calculus::prim::{RealOp, Rounding};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// The registers of a function, and the statements that are being written.
pub(super) struct MathBuilder {
    registers: RefCell<Vec<LowTy>>,
    stmts: RefCell<Vec<Stmt>>,
}

impl MathBuilder {
    pub(super) fn new(registers: Vec<LowTy>, stmts: Vec<Stmt>) -> MathBuilder {
        MathBuilder { registers: RefCell::new(registers), stmts: RefCell::new(stmts) }
    }

    pub(super) fn finish(self) -> (Vec<LowTy>, Vec<Stmt>) {
        (self.registers.into_inner(), self.stmts.into_inner())
    }

    /// A Real operand.
    pub(super) fn real(&self, operand: Operand) -> Real<'_> {
        Real { builder: self, operand }
    }

    /// `register = value`
    pub(super) fn set(&self, register: Reg, value: Real) {
        self.push(Stmt::Set(register, Expr::Copy(value.operand)));
    }

    /// Any statement.
    pub(super) fn push(&self, stmt: Stmt) {
        self.stmts.borrow_mut().push(stmt);
    }

    fn register(&self, ty: LowTy) -> Reg {
        let mut registers = self.registers.borrow_mut();
        registers.push(ty);
        Reg(registers.len() as u32 - 1)
    }

    fn compute(&self, ty: LowTy, expr: Expr) -> Operand {
        let register = self.register(ty);
        self.push(Stmt::Set(register, expr));
        Operand::Reg(register)
    }
}

/// A Real.
#[derive(Clone, Copy)]
pub(super) struct Real<'b> {
    builder: &'b MathBuilder,
    operand: Operand,
}

/// An Int, without a test whether results fit.
#[derive(Clone, Copy)]
pub(super) struct Int<'b> {
    builder: &'b MathBuilder,
    operand: Operand,
}

/// A Bool.
#[derive(Clone, Copy)]
pub(super) struct Truth<'b> {
    builder: &'b MathBuilder,
    operand: Operand,
}

/// An operand of a formula: a [`Real`] or a number.
pub(super) trait Number {
    /// As an operand.
    fn operand(self) -> Operand;
}

impl Number for Real<'_> {
    fn operand(self) -> Operand {
        self.operand
    }
}

impl Number for f64 {
    fn operand(self) -> Operand {
        Operand::Real(self)
    }
}

impl<'b> Real<'b> {
    fn new(builder: &'b MathBuilder, expr: Expr) -> Real<'b> {
        Real { builder, operand: builder.compute(LowTy::Real, expr) }
    }

    fn unary(self, op: Unary) -> Real<'b> {
        Real::new(self.builder, Expr::Unary(op, self.operand))
    }

    fn binary(self, op: Binary, other: impl Number) -> Real<'b> {
        Real::new(self.builder, Expr::Binary(op, self.operand, other.operand()))
    }

    fn compare(self, op: Compare, other: impl Number) -> Truth<'b> {
        Truth::new(self.builder, Expr::Compare(op, self.operand, other.operand()))
    }

    /// The number, as a [`Real`].
    pub(super) fn number(self, x: f64) -> Real<'b> {
        self.builder.real(Operand::Real(x))
    }

    /// `self * factor + summand`, rounded once.
    pub(super) fn fma(self, factor: impl Number, summand: impl Number) -> Real<'b> {
        Real::new(self.builder, Expr::Fma(self.operand, factor.operand(), summand.operand()))
    }

    pub(super) fn abs(self) -> Real<'b> {
        self.unary(Unary::Abs)
    }

    pub(super) fn sqrt(self) -> Real<'b> {
        self.unary(Unary::Sqrt)
    }

    /// The nearest integral number.
    pub(super) fn nearest(self) -> Real<'b> {
        self.unary(Unary::Integral(Rounding::Round))
    }

    pub(super) fn square(self) -> Real<'b> {
        self * self
    }

    pub(super) fn bits(self) -> Int<'b> {
        Int::new(self.builder, Expr::Unary(Unary::Bits, self.operand))
    }

    pub(super) fn lt(self, other: impl Number) -> Truth<'b> {
        self.compare(Compare::Lt, other)
    }

    /// `other < self`
    pub(super) fn above(self, other: f64) -> Truth<'b> {
        self.number(other).lt(self)
    }

    pub(super) fn equals(self, other: impl Number) -> Truth<'b> {
        self.compare(Compare::Eq, other)
    }

    pub(super) fn is_nan(self) -> Truth<'b> {
        self.compare(Compare::Ne, self)
    }

    /// The larger one; `self` may be nan.
    pub(super) fn at_least(self, bound: f64) -> Real<'b> {
        self.lt(bound).select(bound, self)
    }

    /// The smaller one; `self` may be nan.
    pub(super) fn at_most(self, bound: f64) -> Real<'b> {
        self.above(bound).select(bound, self)
    }

    /// With the sign of another number.
    pub(super) fn with_sign_of(self, other: Real<'b>) -> Real<'b> {
        ((self.bits() & i64::MAX) | (other.bits() & i64::MIN)).real()
    }

    /// The polynomial in `self`, the lowest coefficient first: even and odd powers apart, which halves the
    /// time to the result for one operation more.
    pub(super) fn polynomial(self, coefficients: &[f64]) -> Real<'b> {
        let square = self.square();
        let horner = |first: usize| {
            let mut terms = coefficients.iter().skip(first).step_by(2).rev();
            let highest = self.number(terms.next().copied().unwrap_or(0.0));
            terms.fold(highest, |value, &c| value.fma(square, c))
        };
        horner(1).fma(self, horner(0))
    }

    /// A function of the library.
    pub(super) fn call(self, op: RealOp) -> Real<'b> {
        Real::new(self.builder, Expr::Math(op, self.operand, Operand::Real(0.0)))
    }

    /// Another value where `rare` holds; what `slow` writes is executed only there. The only branch.
    pub(super) fn unless(self, rare: Truth<'b>, slow: impl FnOnce() -> Real<'b>) -> Real<'b> {
        let builder = self.builder;
        let register = builder.register(LowTy::Real);
        builder.set(register, self);
        let before = std::mem::take(&mut *builder.stmts.borrow_mut());
        builder.set(register, slow());
        let then = std::mem::replace(&mut *builder.stmts.borrow_mut(), before);
        builder.push(Stmt::If(rare.operand, then, Vec::new()));
        builder.real(Operand::Reg(register))
    }
}

impl<'b> Int<'b> {
    fn new(builder: &'b MathBuilder, expr: Expr) -> Int<'b> {
        Int { builder, operand: builder.compute(LowTy::Int, expr) }
    }

    fn binary(self, op: Binary, other: Operand) -> Int<'b> {
        Int::new(self.builder, Expr::Binary(op, self.operand, other))
    }

    /// The Real with these bits.
    pub(super) fn real(self) -> Real<'b> {
        Real::new(self.builder, Expr::Unary(Unary::FromBits, self.operand))
    }

    pub(super) fn equals(self, other: i64) -> Truth<'b> {
        let expr = Expr::Compare(Compare::IntEq, self.operand, Operand::Int(other));
        Truth::new(self.builder, expr)
    }
}

impl<'b> Truth<'b> {
    fn new(builder: &'b MathBuilder, expr: Expr) -> Truth<'b> {
        Truth { builder, operand: builder.compute(LowTy::Bool, expr) }
    }

    /// The first where it holds, else the second.
    pub(super) fn select(self, first: impl Number, second: impl Number) -> Real<'b> {
        let expr = Expr::Select(self.operand, first.operand(), second.operand());
        Real::new(self.builder, expr)
    }
}

/// An operator of Reals, with a number on either side.
macro_rules! real_operator {
    ($($trait:ident $method:ident),*) => {$(
        impl<'b, N: Number> $trait<N> for Real<'b> {
            type Output = Real<'b>;
            fn $method(self, other: N) -> Real<'b> {
                self.binary(Binary::$trait, other)
            }
        }
        impl<'b> $trait<Real<'b>> for f64 {
            type Output = Real<'b>;
            fn $method(self, other: Real<'b>) -> Real<'b> {
                other.number(self).$method(other)
            }
        }
    )*};
}
real_operator!(Add add, Sub sub, Mul mul, Div div);

/// An operator of Ints, perhaps with a constant on the right.
macro_rules! int_operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<'b> $trait<Int<'b>> for Int<'b> {
            type Output = Int<'b>;
            fn $method(self, other: Int<'b>) -> Int<'b> {
                self.binary(Binary::$op, other.operand)
            }
        }
        impl<'b> $trait<i64> for Int<'b> {
            type Output = Int<'b>;
            fn $method(self, other: i64) -> Int<'b> {
                self.binary(Binary::$op, Operand::Int(other))
            }
        }
    )*};
}
int_operator!(Add add IntAdd, Sub sub IntSub, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor,
    Shl shl ShiftLeft, Shr shr ShiftRight);

/// An operator of Bools.
macro_rules! truth_operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<'b> $trait for Truth<'b> {
            type Output = Truth<'b>;
            fn $method(self, other: Truth<'b>) -> Truth<'b> {
                Truth::new(self.builder, Expr::Binary(Binary::$op, self.operand, other.operand))
            }
        }
    )*};
}
truth_operator!(BitAnd bitand And, BitOr bitor Or);

impl<'b> Not for Truth<'b> {
    type Output = Truth<'b>;
    fn not(self) -> Truth<'b> {
        Truth::new(self.builder, Expr::Unary(Unary::Not, self.operand))
    }
}

impl<'b> Neg for Real<'b> {
    type Output = Real<'b>;
    fn neg(self) -> Real<'b> {
        self.unary(Unary::Neg)
    }
}
