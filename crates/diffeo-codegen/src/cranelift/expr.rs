//! Operands, addresses and expressions.

use super::function::{clif_type, trusted, FunctionTranslator};
use crate::low::{Address, Binary, Compare, Expr, LowTy, Operand, Unary};
use crate::runtime;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, F64X2, I64, I8};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;
use diffeo_calculus::prim::{RealOp, Rounding};

/// A zero of a type.
pub(super) fn zero(b: &mut FunctionBuilder<'_>, ty: Type) -> Value {
    if ty.is_vector() {
        let zero = zero(b, ty.lane_type());
        return b.ins().splat(ty, zero);
    }
    if ty == F64 {
        b.ins().f64const(0.0)
    } else {
        b.ins().iconst(ty, 0)
    }
}

/// A value as a word.
pub(super) fn word(b: &mut FunctionBuilder<'_>, value: Value) -> Value {
    match b.func.dfg.value_type(value) {
        F64 => b.ins().bitcast(I64, MemFlagsData::new(), value),
        I8 => b.ins().uextend(I64, value),
        _ => value,
    }
}

/// The flags of loads of what never changes while the program runs.
fn constant() -> MemFlagsData {
    trusted().with_readonly().with_can_move()
}

impl FunctionTranslator<'_, '_> {
    pub(super) fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.get(reg),
            Operand::Int(n) => self.b.ins().iconst(I64, n),
            Operand::Real(x) => self.b.ins().f64const(x),
            Operand::Bool(b) => self.b.ins().iconst(I8, i64::from(b)),
            Operand::Null => self.b.ins().iconst(I64, 0),
            Operand::Text(index) => self.table(runtime::TEXTS, index),
            Operand::Static(layout) => self.table(runtime::STATICS, layout),
            Operand::Constant(index) => {
                let words = self.constants();
                let offset = self.b.ins().iconst(I64, 8 * i64::from(index));
                self.b.ins().iadd(words, offset)
            }
        }
    }

    /// An address in a table whose address stands in the context.
    fn table(&mut self, offset: i64, index: u32) -> Value {
        let table = self.b.ins().load(I64, constant(), self.context, offset as i32);
        let at = self.b.ins().iconst(I64, 8 * i64::from(index));
        let at = self.b.ins().iadd(table, at);
        self.b.ins().load(I64, constant(), at, 0)
    }

    fn constants(&mut self) -> Value {
        self.b.ins().load(I64, constant(), self.context, runtime::CONSTANTS as i32)
    }

    /// An address as a value and an offset.
    pub(super) fn address(&mut self, address: &Address) -> (Value, i32) {
        let scale = i64::from(address.scale);
        let mut offset = address.offset;
        let mut base = match address.base {
            Operand::Constant(index) => {
                offset = offset.wrapping_add(8 * i64::from(index));
                self.constants()
            }
            other => self.operand(other),
        };
        if let Operand::Int(index) = address.index {
            offset = offset.wrapping_add(index.wrapping_mul(scale));
        } else {
            let mut index = self.operand(address.index);
            if scale != 1 {
                let shift = self.b.ins().iconst(I64, i64::from(scale.trailing_zeros()));
                index = self.b.ins().ishl(index, shift);
            }
            base = self.b.ins().iadd(base, index);
        }
        match i32::try_from(offset) {
            Ok(offset) => (base, offset),
            Err(_) => {
                let offset = self.b.ins().iconst(I64, offset);
                (self.b.ins().iadd(base, offset), 0)
            }
        }
    }

    /// The value of an expression for a register of a type.
    pub(super) fn expr(&mut self, expr: &Expr, ty: LowTy) -> Value {
        match expr {
            Expr::Copy(a) => self.operand(*a),
            Expr::Unary(op, a) => {
                let a = self.operand(*a);
                self.unary(*op, a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.binary(*op, a, b)
            }
            Expr::Fma(a, b, c) => {
                let args = [*a, *b, *c].map(|x| self.operand(x));
                self.fma(args)
            }
            Expr::Math(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.math(*op, a, b)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.compare(*op, a, b)
            }
            Expr::Select(condition, a, b) => {
                let [condition, a, b] = [*condition, *a, *b].map(|x| self.operand(x));
                self.b.ins().select(condition, a, b)
            }
            Expr::Load(ty, address) => {
                let (base, offset) = self.address(address);
                self.b.ins().load(clif_type(*ty), trusted(), base, offset)
            }
            Expr::Offset(address) => {
                let (base, offset) = self.address(address);
                debug_assert_eq!(ty, LowTy::Ptr);
                let offset = self.b.ins().iconst(I64, i64::from(offset));
                self.b.ins().iadd(base, offset)
            }
        }
    }

    /// The function of vectors that an operation is.
    pub(super) fn vector_of(&self, op: RealOp) -> Option<usize> {
        self.env.vectors.iter().position(|found| *found == op)
    }

    fn call_real(&mut self, function: &runtime::RuntimeFunction, args: &[Value]) -> Value {
        match self.call_runtime(function, args) {
            Some(value) => value,
            None => zero(&mut self.b, F64),
        }
    }

    pub(super) fn fma(&mut self, [a, b, c]: [Value; 3]) -> Value {
        match self.env.has_fma {
            true => self.b.ins().fma(a, b, c),
            false => self.call_real(&runtime::fma(), &[a, b, c]),
        }
    }

    pub(super) fn unary(&mut self, op: Unary, a: Value) -> Value {
        let ins = self.b.ins();
        match op {
            Unary::Neg => ins.fneg(a),
            Unary::Abs => ins.fabs(a),
            Unary::Sqrt => ins.sqrt(a),
            Unary::Integral(rounding) => {
                if !self.env.has_rounding {
                    return self.call_real(&runtime::integral(rounding), &[a]);
                }
                match rounding {
                    Rounding::Floor => ins.floor(a),
                    Rounding::Ceil => ins.ceil(a),
                    Rounding::Round => ins.nearest(a),
                    Rounding::Trunc => ins.trunc(a),
                }
            }
            Unary::ToReal => ins.fcvt_from_sint(F64, a),
            // It fits; where the operation was moved to a place that it does not belong to, it must not trap.
            Unary::ToInt => ins.fcvt_to_sint_sat(I64, a),
            Unary::Bits => ins.bitcast(I64, MemFlagsData::new(), a),
            Unary::FromBits => ins.bitcast(F64, MemFlagsData::new(), a),
            Unary::FromBool => ins.uextend(I64, a),
            Unary::Not => {
                let one = self.b.ins().iconst(I8, 1);
                self.b.ins().bxor(a, one)
            }
        }
    }

    pub(super) fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        let ins = self.b.ins();
        match op {
            Binary::Add => ins.fadd(a, b),
            Binary::Sub => ins.fsub(a, b),
            Binary::Mul => ins.fmul(a, b),
            Binary::Div => ins.fdiv(a, b),
            Binary::IntAdd => ins.iadd(a, b),
            Binary::IntSub => ins.isub(a, b),
            Binary::IntMul => ins.imul(a, b),
            Binary::IntDiv => ins.sdiv(a, b),
            Binary::IntRem => ins.srem(a, b),
            Binary::And => ins.band(a, b),
            Binary::Or => ins.bor(a, b),
            Binary::Xor => ins.bxor(a, b),
            Binary::ShiftLeft => ins.ishl(a, b),
            Binary::ShiftRight => ins.ushr(a, b),
            Binary::ShiftRightSigned => ins.sshr(a, b),
        }
    }

    pub(super) fn compare(&mut self, op: Compare, a: Value, b: Value) -> Value {
        let ins = self.b.ins();
        match op {
            Compare::IntEq => ins.icmp(IntCC::Equal, a, b),
            Compare::IntNe => ins.icmp(IntCC::NotEqual, a, b),
            Compare::IntLt => ins.icmp(IntCC::SignedLessThan, a, b),
            Compare::IntLe => ins.icmp(IntCC::SignedLessThanOrEqual, a, b),
            Compare::Below => ins.icmp(IntCC::UnsignedLessThan, a, b),
            Compare::Eq => ins.fcmp(FloatCC::Equal, a, b),
            Compare::Ne => ins.fcmp(FloatCC::NotEqual, a, b),
            Compare::Lt => ins.fcmp(FloatCC::LessThan, a, b),
            Compare::Le => ins.fcmp(FloatCC::LessThanOrEqual, a, b),
        }
    }

    pub(super) fn math(&mut self, op: RealOp, a: Value, b: Value) -> Value {
        // The last steps of a loop in lanes give the digits of the others.
        if let Some(vector) = self.vector_of(op).filter(|_| self.rest) {
            let [a, b] = [a, b].map(|x| self.b.ins().splat(F64X2, x));
            let both = self.call_vector(vector, [a, b]);
            return self.b.ins().extractlane(both, 0);
        }
        match op {
            RealOp::Add => self.b.ins().fadd(a, b),
            RealOp::Sub => self.b.ins().fsub(a, b),
            RealOp::Mul => self.b.ins().fmul(a, b),
            RealOp::Div => self.b.ins().fdiv(a, b),
            RealOp::Neg => self.b.ins().fneg(a),
            RealOp::Sqrt => self.b.ins().sqrt(a),
            RealOp::Abs => self.b.ins().fabs(a),
            RealOp::Min => self.b.ins().fmin(a, b),
            RealOp::Max => self.b.ins().fmax(a, b),
            RealOp::Sign => self.sign(a),
            RealOp::Polygamma(order) => {
                let order = self.b.ins().iconst(I64, i64::from(order));
                self.call_real(&runtime::math(op), &[order, a])
            }
            _ => self.call_real(&runtime::math(op), &[a, b]),
        }
    }

    /// -1, 0 or 1; nan of nan.
    fn sign(&mut self, x: Value) -> Value {
        let [zero, one, minus] = [0.0, 1.0, -1.0].map(|c| self.b.ins().f64const(c));
        let is_zero = self.b.ins().fcmp(FloatCC::Equal, x, zero);
        let rest = self.b.ins().select(is_zero, zero, x);
        let negative = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
        let rest = self.b.ins().select(negative, minus, rest);
        let positive = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
        self.b.ins().select(positive, one, rest)
    }
}
