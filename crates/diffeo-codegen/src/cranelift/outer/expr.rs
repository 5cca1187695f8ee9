//! Operands and expressions in the lanes.

use super::super::function::FunctionTranslator;
use super::{packed, LaneClass, LanePlan};
use crate::low::lanes::Stride;
use crate::low::{Binary, Compare, Expr, LowTy, Operand, Reg, Unary};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64X2, I64, I64X2, I8};
use cranelift_codegen::ir::{InstBuilder, Value};
use diffeo_array::ir::Reduction;
use diffeo_calculus::prim::{RealOp, Rounding};

impl FunctionTranslator<'_, '_> {
    fn class(&self, operand: Operand) -> LaneClass {
        self.lanes.as_ref().map_or(LaneClass::Uniform, |lanes| lanes.plan.class(operand))
    }

    /// A number for all lanes.
    pub(super) fn splat(&mut self, value: Value, ty: LowTy) -> Vec<Value> {
        let value = self.bits(value, ty);
        let vector = self.b.ins().splat(packed(ty), value);
        vec![vector; self.count_vectors()]
    }

    /// A number as a lane of vectors: a truth value is all ones or zeros.
    fn bits(&mut self, value: Value, ty: LowTy) -> Value {
        match ty {
            LowTy::Bool => {
                let word = self.b.ins().uextend(I64, value);
                self.b.ins().ineg(word)
            }
            LowTy::Int | LowTy::Real | LowTy::Ptr => value,
        }
    }

    /// A number of each lane as vectors.
    pub(super) fn pack(&mut self, values: &[Value], ty: LowTy) -> Vec<Value> {
        let pair = |pair: &[Value]| {
            let [first, second] = [pair[0], pair[1]].map(|value| self.bits(value, ty));
            let vector = self.b.ins().scalar_to_vector(packed(ty), first);
            self.b.ins().insertlane(vector, second, 1)
        };
        values.chunks_exact(2).map(pair).collect()
    }

    /// The numbers of the lanes of vectors, each by itself.
    fn unpack(&mut self, vectors: &[Value], ty: LowTy) -> Vec<Value> {
        let mut values = Vec::with_capacity(2 * vectors.len());
        for vector in vectors {
            for lane in [0, 1] {
                let value = self.b.ins().extractlane(*vector, lane);
                values.push(match ty {
                    LowTy::Bool => {
                        let byte = self.b.ins().ireduce(I8, value);
                        self.b.ins().band_imm_s(byte, 1)
                    }
                    LowTy::Int | LowTy::Real | LowTy::Ptr => value,
                });
            }
        }
        values
    }

    /// The vectors of a register that has some.
    fn own_vectors(&mut self, operand: Operand) -> Vec<Value> {
        let Operand::Reg(reg) = operand else { return Vec::new() };
        self.widened(&[reg]).into_iter().map(|reg| self.get(reg)).collect()
    }

    /// An operand of all lanes, as vectors.
    pub(super) fn wide(&mut self, operand: Operand, ty: LowTy) -> Vec<Value> {
        match self.class(operand) {
            LaneClass::Varying => self.own_vectors(operand),
            LaneClass::Linear(_) => {
                let values = self.each(operand, ty);
                self.pack(&values, ty)
            }
            LaneClass::Uniform | LaneClass::Block | LaneClass::Inside => {
                let value = self.operand(operand);
                self.splat(value, ty)
            }
        }
    }

    /// An operand of all lanes, each by itself.
    pub(super) fn each(&mut self, operand: Operand, ty: LowTy) -> Vec<Value> {
        let lanes = 2 * self.count_vectors();
        match self.class(operand) {
            LaneClass::Varying => {
                let vectors = self.own_vectors(operand);
                self.unpack(&vectors, ty)
            }
            LaneClass::Linear(Stride::By(n)) => {
                let first = self.operand(operand);
                let at = |lane: i64| self.b.ins().iadd_imm_s(first, n.wrapping_mul(lane));
                (0..lanes as i64).map(at).collect()
            }
            LaneClass::Linear(Stride::Times(stride)) => {
                let mut value = self.operand(operand);
                let stride = self.operand(Operand::Reg(stride));
                let mut values = vec![value];
                while values.len() < lanes {
                    value = self.b.ins().iadd(value, stride);
                    values.push(value);
                }
                values
            }
            LaneClass::Uniform | LaneClass::Block | LaneClass::Inside => {
                vec![self.operand(operand); lanes]
            }
        }
    }

    /// An operation on vectors.
    fn by_vectors<const N: usize>(
        &mut self,
        args: [Vec<Value>; N],
        mut each: impl FnMut(&mut Self, [Value; N]) -> Value,
    ) -> Vec<Value> {
        (0..self.count_vectors())
            .map(|i| {
                let args = std::array::from_fn(|k| args[k][i]);
                each(self, args)
            })
            .collect()
    }

    /// An operation on each lane by itself.
    fn one_by_one<const N: usize>(
        &mut self,
        args: [(Operand, LowTy); N],
        ty: LowTy,
        mut each: impl FnMut(&mut Self, [Value; N]) -> Value,
    ) -> Vec<Value> {
        let args = args.map(|(operand, ty)| self.each(operand, ty));
        let values: Vec<Value> = (0..2 * self.count_vectors())
            .map(|i| {
                let args = std::array::from_fn(|k| args[k][i]);
                each(self, args)
            })
            .collect();
        self.pack(&values, ty)
    }

    /// The value of an expression in all lanes.
    pub(super) fn lane_expr(&mut self, register: Reg, expr: &Expr, plan: &LanePlan) -> Vec<Value> {
        let ty = self.function.registers[register.0 as usize];
        match expr {
            Expr::Copy(a) => self.wide(*a, ty),
            Expr::Unary(op, a) => self.lane_unary(*op, *a),
            Expr::Binary(op, a, b) => self.lane_binary(*op, *a, *b, ty),
            Expr::Fma(a, b, c) => {
                if self.env.has_fma {
                    let args = [*a, *b, *c].map(|x| self.wide(x, LowTy::Real));
                    return self.by_vectors(args, |t, [a, b, c]| t.b.ins().fma(a, b, c));
                }
                let args = [*a, *b, *c].map(|x| (x, LowTy::Real));
                self.one_by_one(args, LowTy::Real, |t, args| t.fma(args))
            }
            Expr::Math(op, a, b) => self.lane_math(*op, *a, *b),
            Expr::Compare(op, a, b) => self.lane_compare(*op, *a, *b),
            Expr::Select(condition, a, b) => {
                let condition = self.wide(*condition, LowTy::Bool);
                let [a, b] = [*a, *b].map(|x| self.wide(x, ty));
                self.by_vectors([condition, a, b], |t, [on, a, b]| t.select_packed(on, a, b))
            }
            Expr::Load(ty, address) => self.lane_load(register, *ty, address, plan),
            // Addresses are never of that class.
            Expr::Offset(address) => {
                let (at, _) = self.address(address);
                self.splat(at, LowTy::Ptr)
            }
        }
    }

    fn lane_unary(&mut self, op: Unary, a: Operand) -> Vec<Value> {
        let (from, to) = op.types();
        let single = match op {
            Unary::ToReal | Unary::ToInt => true,
            Unary::Integral(_) => !self.env.has_rounding,
            Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::FromBool => false,
            Unary::Bits | Unary::FromBits | Unary::Not => false,
        };
        if single {
            return self.one_by_one([(a, from)], to, |t, [a]| t.unary(op, a));
        }
        let a = self.wide(a, from);
        self.by_vectors([a], |t, [a]| match op {
            Unary::Neg => t.b.ins().fneg(a),
            Unary::Abs => t.b.ins().fabs(a),
            Unary::Sqrt => t.b.ins().sqrt(a),
            Unary::Integral(Rounding::Floor) => t.b.ins().floor(a),
            Unary::Integral(Rounding::Ceil) => t.b.ins().ceil(a),
            Unary::Integral(Rounding::Round) => t.b.ins().nearest(a),
            Unary::Integral(Rounding::Trunc) => t.b.ins().trunc(a),
            Unary::Bits => t.cast(a, I64X2),
            Unary::FromBits => t.cast(a, F64X2),
            Unary::FromBool => t.b.ins().ineg(a),
            Unary::Not => t.b.ins().bnot(a),
            // Each lane by itself, above.
            Unary::ToReal | Unary::ToInt => a,
        })
    }

    fn lane_binary(&mut self, op: Binary, a: Operand, b: Operand, ty: LowTy) -> Vec<Value> {
        match op {
            Binary::IntDiv | Binary::IntRem => {
                // The lanes that are not here may divide by anything.
                let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
                let here = mask.map(|mask| self.unpack(&mask, LowTy::Bool));
                let one = self.b.ins().iconst(I64, 1);
                let mut lane = 0;
                self.one_by_one([(a, ty), (b, ty)], ty, |t, [a, b]| {
                    let here = here.as_ref().map(|here| here[lane]);
                    lane += 1;
                    let b = match here {
                        Some(here) => t.b.ins().select(here, b, one),
                        None => b,
                    };
                    t.binary(op, a, b)
                })
            }
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => {
                if self.class(b) != LaneClass::Uniform {
                    return self.one_by_one([(a, ty), (b, ty)], ty, |t, [a, b]| t.binary(op, a, b));
                }
                let a = self.wide(a, ty);
                let by = self.operand(b);
                self.by_vectors([a], |t, [a]| t.binary(op, a, by))
            }
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::Div
            | Binary::IntAdd
            | Binary::IntSub
            | Binary::IntMul
            | Binary::And
            | Binary::Or
            | Binary::Xor => {
                let args = [a, b].map(|x| self.wide(x, ty));
                self.by_vectors(args, |t, [a, b]| t.binary(op, a, b))
            }
        }
    }

    fn lane_compare(&mut self, op: Compare, a: Operand, b: Operand) -> Vec<Value> {
        let ty = a.ty(&self.function.registers);
        let args = [a, b].map(|x| self.wide(x, ty));
        let real = |cc: FloatCC| Ok::<_, IntCC>(cc);
        let cc = match op {
            Compare::Eq => real(FloatCC::Equal),
            Compare::Ne => real(FloatCC::NotEqual),
            Compare::Lt => real(FloatCC::LessThan),
            Compare::Le => real(FloatCC::LessThanOrEqual),
            Compare::IntEq => Err(IntCC::Equal),
            Compare::IntNe => Err(IntCC::NotEqual),
            Compare::IntLt => Err(IntCC::SignedLessThan),
            Compare::IntLe => Err(IntCC::SignedLessThanOrEqual),
            Compare::Below => Err(IntCC::UnsignedLessThan),
        };
        self.by_vectors(args, |t, [a, b]| match cc {
            Ok(cc) => t.b.ins().fcmp(cc, a, b),
            Err(cc) => t.b.ins().icmp(cc, a, b),
        })
    }

    fn lane_math(&mut self, op: RealOp, a: Operand, b: Operand) -> Vec<Value> {
        let real = LowTy::Real;
        let args = |t: &mut Self| [a, b].map(|x| t.wide(x, real));
        let plain = match op {
            RealOp::Add => Binary::Add,
            RealOp::Sub => Binary::Sub,
            RealOp::Mul => Binary::Mul,
            RealOp::Div => Binary::Div,
            RealOp::Neg => return self.lane_unary(Unary::Neg, a),
            RealOp::Sqrt => return self.lane_unary(Unary::Sqrt, a),
            RealOp::Abs => return self.lane_unary(Unary::Abs, a),
            RealOp::Max | RealOp::Min => {
                let how = if op == RealOp::Max { Reduction::Max } else { Reduction::Min };
                let args = args(self);
                return self.by_vectors(args, |t, [a, b]| t.combine(how, a, b));
            }
            _ => {
                let Some(function) = self.vector_of(op) else {
                    return self
                        .one_by_one([(a, real), (b, real)], real, |t, [a, b]| t.math(op, a, b));
                };
                let args = args(self);
                return self.by_vectors(args, |t, args| t.call_vector(function, args));
            }
        };
        self.lane_binary(plain, a, b, real)
    }
}
