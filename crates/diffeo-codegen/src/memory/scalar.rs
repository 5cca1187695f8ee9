//! Operations on Reals and truth values, comparisons, and checks: the values are those of `prim::real`.

use super::function::Lower;
use crate::low::{Binary, Compare, Expr, LowTy, Operand, Raise, Runtime, Unary};
use diffeo_array::ir::{self, Atom, Check, Scalar, Stop};
use diffeo_calculus::eval::MOST_ELEMENTS;
use diffeo_calculus::prim::{Comparison, RealOp, Rounding};

/// Powers with this exponent or less (of absolute value) become multiplications.
const LONGEST_POWER: u64 = 64;

impl Lower<'_, '_> {
    fn set_real(&mut self, expr: Expr) -> Operand {
        self.set(LowTy::Real, expr)
    }

    fn binary(&mut self, op: Binary, a: Operand, b: Operand) -> Operand {
        self.set(LowTy::Real, Expr::Binary(op, a, b))
    }

    /// An operation on Reals.
    pub fn real(&mut self, op: RealOp, args: &[Atom]) -> Operand {
        let a = args.first().map_or(Operand::Real(0.0), |atom| self.word(atom));
        let b = args.get(1).map_or(Operand::Real(0.0), |atom| self.word(atom));
        match op {
            RealOp::Add => self.binary(Binary::Add, a, b),
            RealOp::Sub => self.binary(Binary::Sub, a, b),
            RealOp::Mul => self.binary(Binary::Mul, a, b),
            RealOp::Div => self.binary(Binary::Div, a, b),
            RealOp::Neg => self.set_real(Expr::Unary(Unary::Neg, a)),
            RealOp::Abs => self.set_real(Expr::Unary(Unary::Abs, a)),
            RealOp::Sqrt => self.set_real(Expr::Unary(Unary::Sqrt, a)),
            RealOp::Sign => {
                let zero = Operand::Real(0.0);
                let is_zero = self.compare(Compare::Eq, a, zero);
                let rest = self.select(LowTy::Real, is_zero, zero, a);
                let negative = self.compare(Compare::Lt, a, zero);
                let rest = self.select(LowTy::Real, negative, Operand::Real(-1.0), rest);
                let positive = self.compare(Compare::Lt, zero, a);
                self.select(LowTy::Real, positive, Operand::Real(1.0), rest)
            }
            RealOp::Min | RealOp::Max => self.extremum(op, a, b),
            // The others are functions.
            _ => self.set_real(Expr::Math(op, a, b)),
        }
    }

    /// A power by repeated multiplication, in the order of `prim::real::power`.
    pub fn pow_int(&mut self, x: &Atom, n: &Atom) -> Operand {
        let (x, n) = (self.word(x), self.word(n));
        let Some(Operand::Int(exponent)) = Some(n).filter(|n| small(*n)) else {
            return self.runtime_one(Runtime::PowInt, vec![x, n]);
        };
        let (mut left, mut base, mut result) = (exponent.unsigned_abs(), x, None);
        while left > 0 {
            if left & 1 == 1 {
                // 1 * x is x.
                result = Some(match result {
                    None => base,
                    Some(result) => self.binary(Binary::Mul, result, base),
                });
            }
            left >>= 1;
            if left > 0 {
                base = self.binary(Binary::Mul, base, base);
            }
        }
        match result {
            None => Operand::Real(1.0),
            Some(result) if exponent < 0 => self.binary(Binary::Div, Operand::Real(1.0), result),
            Some(result) => result,
        }
    }

    /// A comparison.
    pub fn comparison(&mut self, op: Comparison, of: Scalar, a: &Atom, b: &Atom) -> Operand {
        let (mut a, mut b) = (self.word(a), self.word(b));
        if of == Scalar::Text {
            a = self.runtime_one(Runtime::CompareText, vec![a, b]);
            b = Operand::Int(0);
        }
        let real = of == Scalar::Real;
        let (op, swapped) = match op {
            Comparison::Eq => (if real { Compare::Eq } else { Compare::IntEq }, false),
            Comparison::Ne => (if real { Compare::Ne } else { Compare::IntNe }, false),
            Comparison::Lt => (if real { Compare::Lt } else { Compare::IntLt }, false),
            Comparison::Le => (if real { Compare::Le } else { Compare::IntLe }, false),
            Comparison::Gt => (if real { Compare::Lt } else { Compare::IntLt }, true),
            Comparison::Ge => (if real { Compare::Le } else { Compare::IntLe }, true),
        };
        if swapped {
            std::mem::swap(&mut a, &mut b);
        }
        self.compare(op, a, b)
    }

    /// `not a`
    pub fn not(&mut self, a: &Atom) -> Operand {
        let a = self.word(a);
        self.set(LowTy::Bool, Expr::Unary(Unary::Not, a))
    }

    /// An operation on two truth values.
    pub fn both(&mut self, op: Binary, a: &Atom, b: &Atom) -> Operand {
        let (a, b) = (self.word(a), self.word(b));
        self.set(LowTy::Bool, Expr::Binary(op, a, b))
    }

    /// A choice between scalars.
    pub fn choose(&mut self, c: &Atom, a: &Atom, b: &Atom) -> Operand {
        let ty = super::word_types(&self.atom_ty(a)).first().copied().unwrap_or(LowTy::Int);
        let (c, a, b) = (self.word(c), self.word(a), self.word(b));
        self.select(ty, c, a, b)
    }

    /// Int to Real.
    pub fn real_of(&mut self, a: &Atom) -> Operand {
        let a = self.word(a);
        self.set_real(Expr::Unary(Unary::ToReal, a))
    }

    /// Real to Int, or failure.
    pub fn round(&mut self, rounding: Rounding, a: &Atom) -> Operand {
        let (whole, fits) = self.whole(rounding, a);
        let x = self.word(a);
        self.check(fits, Raise::Round(rounding), vec![x]);
        self.set(LowTy::Int, Expr::Unary(Unary::ToInt, whole))
    }

    /// Real to Int; 0 where there is none.
    pub fn round_fits(&mut self, rounding: Rounding, a: &Atom) -> Operand {
        let (whole, fits) = self.whole(rounding, a);
        let whole = self.select(LowTy::Real, fits, whole, Operand::Real(0.0));
        self.set(LowTy::Int, Expr::Unary(Unary::ToInt, whole))
    }

    /// The whole number that a Real is rounded to, and whether it is an Int.
    fn whole(&mut self, rounding: Rounding, a: &Atom) -> (Operand, Operand) {
        let x = self.word(a);
        let whole = match rounding {
            Rounding::Floor | Rounding::Ceil | Rounding::Trunc => {
                self.set_real(Expr::Unary(Unary::Integral(rounding), x))
            }
            Rounding::Round => {
                // Halves away from zero. What is cut off is exact.
                let cut = self.set_real(Expr::Unary(Unary::Integral(Rounding::Trunc), x));
                let rest = self.binary(Binary::Sub, x, cut);
                let size = self.set_real(Expr::Unary(Unary::Abs, rest));
                let away = self.compare(Compare::Le, Operand::Real(0.5), size);
                let negative = self.compare(Compare::Lt, x, Operand::Real(0.0));
                let (down, up) = (Operand::Real(-1.0), Operand::Real(1.0));
                let step = self.select(LowTy::Real, negative, down, up);
                let further = self.binary(Binary::Add, cut, step);
                self.select(LowTy::Real, away, further, cut)
            }
        };
        // -2^63 is an Int, 2^63 is none; comparisons of nan are false.
        let limit = -(i64::MIN as f64);
        let above = self.compare(Compare::Le, Operand::Real(-limit), whole);
        let below = self.compare(Compare::Lt, whole, Operand::Real(limit));
        (whole, self.set(LowTy::Bool, Expr::Binary(Binary::And, above, below)))
    }

    /// Whether it is nan.
    pub fn is_nan(&mut self, a: &Atom) -> Operand {
        let a = self.word(a);
        self.compare(Compare::Ne, a, a)
    }

    /// Fails unless the check holds.
    pub fn check_holds(&mut self, check: &Check) {
        match check {
            Check::Index { index, length } => {
                let (index, length) = (self.word(index), self.word(length));
                let inside = self.compare(Compare::Below, index, length);
                self.check(inside, Raise::Index, vec![index, length]);
            }
            Check::Slice { lo, hi, length } => {
                let (lo, hi, length) = (self.word(lo), self.word(hi), self.word(length));
                let mut holds = self.compare(Compare::IntLe, Operand::Int(0), lo);
                for (a, b) in [(lo, hi), (hi, length)] {
                    let next = self.compare(Compare::IntLe, a, b);
                    holds = self.set(LowTy::Bool, Expr::Binary(Binary::And, holds, next));
                }
                self.check(holds, Raise::Slice, vec![lo, hi, length]);
            }
            Check::Count(count) => {
                let count = self.word(count);
                let fits = self.compare(Compare::Below, count, Operand::Int(MOST_ELEMENTS + 1));
                self.check(fits, Raise::Count, vec![count]);
            }
            Check::Size { what, expected, found } => {
                let (expected, found) = (self.word(expected), self.word(found));
                let same = self.compare(Compare::IntEq, expected, found);
                self.check(same, Raise::Size(what.clone()), vec![expected, found]);
            }
            Check::Rows { expected, found } => {
                let (expected, found) = (self.word(expected), self.word(found));
                self.check_rows(expected, found);
            }
        }
    }

    /// Fails unless the sizes of rows are equal; -1 fits everything.
    pub fn check_rows(&mut self, expected: Operand, found: Operand) {
        let mut fits = self.compare(Compare::IntEq, expected, found);
        for size in [expected, found] {
            let open = self.compare(Compare::IntEq, size, Operand::Int(-1));
            fits = self.set(LowTy::Bool, Expr::Binary(Binary::Or, fits, open));
        }
        self.check(fits, Raise::Rows, vec![expected, found]);
    }

    /// Stops the program.
    pub fn stop(&mut self, stop: &Stop) {
        match stop {
            ir::Stop::Fail(message) => {
                let message = self.word(message);
                self.raise(Raise::Fail, vec![message]);
            }
            ir::Stop::Shape { what, difference } => {
                let difference = self.word(difference);
                self.raise(Raise::Shape(what.clone()), vec![difference]);
            }
            ir::Stop::Nan => self.raise(Raise::Nan, Vec::new()),
            ir::Stop::Order => self.raise(Raise::Order, Vec::new()),
            ir::Stop::Room => self.raise(Raise::Memory, Vec::new()),
        }
    }
}

fn small(n: Operand) -> bool {
    matches!(n, Operand::Int(n) if n.unsigned_abs() <= LONGEST_POWER)
}
