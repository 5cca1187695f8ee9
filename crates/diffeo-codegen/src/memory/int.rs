//! Operations on Ints: the values and errors are those of `prim::int`.

use super::function::Lower;
use super::helpers::Helper;
use crate::low::{Binary, Checked, Compare, Expr, LowTy, Operand, Raise, Stmt};
use diffeo_array::ir::Atom;
use diffeo_calculus::prim::IntOp;

/// Powers with this exponent or less become multiplications.
const LONGEST_POWER: i64 = 64;

impl Lower<'_, '_> {
    fn int_binary(&mut self, op: Binary, a: Operand, b: Operand) -> Operand {
        self.set(LowTy::Int, Expr::Binary(op, a, b))
    }

    fn operands(&self, args: &[Atom]) -> [Operand; 2] {
        let operand = |i| args.get(i).map_or(Operand::Int(0), |atom| self.word(atom));
        [operand(0), operand(1)]
    }

    /// `a op b`; fails with the error of `of` and its operands if it does not fit.
    fn checked(&mut self, op: Checked, [a, b]: [Operand; 2], of: (IntOp, [Operand; 2])) -> Operand {
        let (result, overflow) = (self.reg(LowTy::Int), self.reg(LowTy::Bool));
        self.push(Stmt::Checked { op, result, overflow, a, b });
        self.refuse(Operand::Reg(overflow), Raise::Int(of.0), of.1.to_vec());
        Operand::Reg(result)
    }

    /// The smaller or larger.
    fn extreme(&mut self, op: Compare, [x, y]: [Operand; 2], [a, b]: [Operand; 2]) -> Operand {
        let first = self.compare(op, x, y);
        self.select(LowTy::Int, first, a, b)
    }

    /// An operation.
    pub fn int(&mut self, op: IntOp, args: &[Atom]) -> Operand {
        let [a, b] = self.operands(args);
        let error = (op, [a, b]);
        let raise = || (Raise::Int(op), vec![a, b]);
        match op {
            IntOp::Add => self.checked(Checked::Add, [a, b], error),
            IntOp::Sub => self.checked(Checked::Sub, [a, b], error),
            IntOp::Mul => self.checked(Checked::Mul, [a, b], error),
            IntOp::Neg => self.checked(Checked::Sub, [Operand::Int(0), a], error),
            IntOp::Abs => {
                let negated = self.checked_abs(a, error);
                let negative = self.compare(Compare::IntLt, a, Operand::Int(0));
                self.select(LowTy::Int, negative, negated, a)
            }
            IntOp::Div | IntOp::Rem => {
                if !matches!(b, Operand::Int(n) if n != 0) {
                    let zero = self.compare(Compare::IntEq, b, Operand::Int(0));
                    let (error, args) = raise();
                    self.refuse(zero, error, args);
                }
                if op == IntOp::Div && !matches!(b, Operand::Int(n) if n != -1) {
                    let least = self.compare(Compare::IntEq, a, Operand::Int(i64::MIN));
                    let minus = self.compare(Compare::IntEq, b, Operand::Int(-1));
                    let beyond = self.set(LowTy::Bool, Expr::Binary(Binary::And, least, minus));
                    let (error, args) = raise();
                    self.refuse(beyond, error, args);
                }
                self.int_fits(op, args)
            }
            IntOp::ShiftLeft | IntOp::ShiftRight => {
                if !matches!(b, Operand::Int(0..=63)) {
                    let fits = self.compare(Compare::Below, b, Operand::Int(64));
                    let (error, args) = raise();
                    self.check(fits, error, args);
                }
                self.int_fits(op, args)
            }
            IntOp::Pow => self.power(a, b, error),
            IntOp::Sign
            | IntOp::Min
            | IntOp::Max
            | IntOp::BitAnd
            | IntOp::BitOr
            | IntOp::BitXor
            | IntOp::WrappingAdd
            | IntOp::WrappingMul => self.int_fits(op, args),
        }
    }

    /// `-a` where that is wanted; fails if it does not fit.
    fn checked_abs(&mut self, a: Operand, error: (IntOp, [Operand; 2])) -> Operand {
        let least = self.compare(Compare::IntEq, a, Operand::Int(i64::MIN));
        self.refuse(least, Raise::Int(error.0), error.1.to_vec());
        self.sub(Operand::Int(0), a)
    }

    fn power(&mut self, a: Operand, b: Operand, error: (IntOp, [Operand; 2])) -> Operand {
        if let Operand::Int(exponent @ 0..=LONGEST_POWER) = b {
            let (mut left, mut base, mut result) = (exponent, a, None);
            while left > 0 {
                if left & 1 == 1 {
                    result = Some(match result {
                        None => base,
                        Some(result) => self.checked(Checked::Mul, [result, base], error),
                    });
                }
                left >>= 1;
                if left > 0 {
                    base = self.checked(Checked::Mul, [base, base], error);
                }
            }
            return result.unwrap_or(Operand::Int(1));
        }
        let negative = self.compare(Compare::IntLt, b, Operand::Int(0));
        self.refuse(negative, Raise::Int(error.0), error.1.to_vec());
        let results = self.help(Helper::Power, vec![a, b]);
        let [result, overflow] = results[..] else { return Operand::Int(0) };
        self.refuse(overflow, Raise::Int(error.0), error.1.to_vec());
        result
    }

    /// An operation that is known to fit.
    pub fn int_fits(&mut self, op: IntOp, args: &[Atom]) -> Operand {
        let [a, b] = self.operands(args);
        let zero = Operand::Int(0);
        match op {
            IntOp::Add | IntOp::WrappingAdd => self.int_binary(Binary::IntAdd, a, b),
            IntOp::Sub => self.int_binary(Binary::IntSub, a, b),
            IntOp::Mul | IntOp::WrappingMul => self.int_binary(Binary::IntMul, a, b),
            IntOp::Neg => self.int_binary(Binary::IntSub, zero, a),
            IntOp::Div => self.int_binary(Binary::IntDiv, a, b),
            IntOp::Rem => {
                if matches!(b, Operand::Int(n) if n != -1) {
                    return self.int_binary(Binary::IntRem, a, b);
                }
                // The machine's remainder of the least Int by -1 traps; by -1 and 1 it is 0 all the same.
                let minus = self.compare(Compare::IntEq, b, Operand::Int(-1));
                let divisor = self.select(LowTy::Int, minus, Operand::Int(1), b);
                self.int_binary(Binary::IntRem, a, divisor)
            }
            IntOp::Pow => {
                let results = self.help(Helper::Power, vec![a, b]);
                results.first().copied().unwrap_or(zero)
            }
            IntOp::Abs => {
                let negated = self.int_binary(Binary::IntSub, zero, a);
                self.extreme(Compare::IntLt, [a, zero], [negated, a])
            }
            IntOp::Sign => {
                let rest = self.extreme(Compare::IntLt, [zero, a], [Operand::Int(1), zero]);
                self.extreme(Compare::IntLt, [a, zero], [Operand::Int(-1), rest])
            }
            IntOp::Min => self.extreme(Compare::IntLt, [b, a], [b, a]),
            IntOp::Max => self.extreme(Compare::IntLt, [a, b], [b, a]),
            IntOp::BitAnd => self.int_binary(Binary::And, a, b),
            IntOp::BitOr => self.int_binary(Binary::Or, a, b),
            IntOp::BitXor => self.int_binary(Binary::Xor, a, b),
            IntOp::ShiftLeft => self.int_binary(Binary::ShiftLeft, a, b),
            IntOp::ShiftRight => self.int_binary(Binary::ShiftRight, a, b),
        }
    }
}
