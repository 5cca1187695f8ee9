//! Vectorisation of innermost loops whose steps do not depend on each other: several steps at once, in the two lanes of
//! vectors of 128 bits, and several vectors one after the other. The remaining steps are done one by one.
//!
//! A register is one value for all lanes, or one that grows by a constant from lane to lane (the index, addresses), or
//! a value for each lane, or a vector. A truth value in a vector is all ones or zeros. An operation without a vector
//! instruction is done for each lane.

use super::function::{clif_type, FunctionTranslator};
use super::scope::StmtFacts;
use crate::low::lanes::Plans;
use crate::low::{
    Address, Binary, Compare, Expr, For, LowFunction, LowTy, Operand, Reg, Stmt, Unary,
};
use crate::math;
use crate::memory::neutral;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, F64X2, I64, I64X2, I8};
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, Type, Value};
use diffeo_array::ir::Reduction;
use diffeo_calculus::prim::{RealOp, Rounding};
use hashbrown::HashMap;

/// How many steps a vector does.
const LANES: i64 = 2;

/// Loops with more statements are done step by step.
const LONG: usize = 400;

/// What a register is in the steps of the lanes.
#[derive(Clone, Copy)]
enum Lane {
    /// The same in all lanes.
    Same(Value),
    /// An Int or an address that grows by a constant from lane to lane; in the first one.
    Linear(Value, i64),
    /// A value for each.
    Each([Value; 2]),
    /// A vector.
    Packed(Value),
}

/// Whether the steps of a loop can be done in lanes.
pub(super) fn fits(step: &For) -> bool {
    let simple = |stmt: &Stmt| match stmt {
        Stmt::Set(..) | Stmt::Store(..) => true,
        Stmt::Checked { .. }
        | Stmt::If(..)
        | Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Call { .. }
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    };
    let real = |stmt: &Stmt| match stmt {
        Stmt::Set(_, Expr::Load(ty, _)) | Stmt::Store(ty, ..) => *ty == LowTy::Real,
        _ => false,
    };
    step.independent
        && step.body.len() <= LONG
        && step.body.iter().all(simple)
        && (step.body.iter().any(real) || !step.reductions.is_empty())
}

/// Expands the elementary functions in the loops that are done in lanes, so that they are done in lanes, too; not in the
/// outer loops of `plans`.
pub(super) fn expand(registers: &mut Vec<LowTy>, body: &mut [Stmt], plans: &Plans) {
    let mut pending: Vec<&mut [Stmt]> = vec![body];
    while let Some(stmts) = pending.pop() {
        for stmt in stmts {
            match stmt {
                Stmt::For(step) if plans.contains_key(&std::ptr::from_ref(&**step)) => {}
                Stmt::For(step) if fits(step) => {
                    math::expand_straight(registers, &mut step.body);
                }
                stmt => pending.extend(stmt.blocks_mut().into_iter().map(Vec::as_mut_slice)),
            }
        }
    }
}

/// How many vectors are done one after the other: sums wait for each other. Many would leave much of a short loop.
fn vectors(step: &For) -> i64 {
    match (step.body.len(), step.reductions.is_empty()) {
        (..=20, true) | (..=40, false) => 2,
        (_, _) => 1,
    }
}

/// The vector type of registers.
fn packed_type(ty: LowTy) -> Type {
    match ty {
        LowTy::Real => F64X2,
        LowTy::Int | LowTy::Ptr | LowTy::Bool => I64X2,
    }
}

/// Elements need not lie at multiples of the size of a vector.
pub(super) fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// A function that is the operation on its two parameters, as straight-line code; the result is the third register.
pub(super) fn vector_function(op: RealOp) -> LowFunction {
    let [a, b] = [0, 1].map(|i| Operand::Reg(Reg(i)));
    let mut registers = vec![LowTy::Real; 3];
    let mut body = vec![Stmt::Set(Reg(2), Expr::Math(op, a, b))];
    math::expand_straight(&mut registers, &mut body);
    LowFunction {
        name: String::new(),
        registers,
        params: vec![Reg(0), Reg(1)],
        results: vec![LowTy::Real],
        fallible: false,
        recursive: None,
        blocks: None,
        apart: false,
        body,
    }
}

impl FunctionTranslator<'_, '_> {
    /// The result of [`vector_function`] for vectors.
    pub(super) fn vectors_in_order(&mut self, params: &[Value]) -> Value {
        let body = &self.function.body;
        let mut lanes = Lanes { t: self, known: HashMap::new() };
        for (i, param) in (0..).zip(params) {
            lanes.known.insert(Reg(i), Lane::Packed(*param));
        }
        body.iter().for_each(|stmt| lanes.stmt(stmt));
        let result = lanes.operand(Operand::Reg(Reg(2)));
        lanes.packed(result, LowTy::Real)
    }

    /// Emits the vectorised part of a loop; gives the first index that is left to the rest.
    pub(super) fn in_lanes(
        &mut self,
        step: &For,
        shape: &StmtFacts,
        from: Value,
        to: Value,
    ) -> Option<Value> {
        let reduced: Vec<Reg> = step.reductions.iter().map(|(reg, _)| *reg).collect();
        let only = shape.carried.iter().all(|reg| reduced.contains(reg));
        if !fits(step) || !only || self.lanes.is_some() || self.rest {
            return None;
        }
        let vectors = vectors(step);
        let length = self.b.ins().isub(to, from);
        let steps = self.b.ins().iconst(I64, -(LANES * vectors));
        let whole = self.b.ins().band(length, steps);
        let none = self.b.ins().iconst(I64, 0);
        let any = self.b.ins().icmp(IntCC::SignedGreaterThan, whole, none);
        let end = self.b.ins().iadd(from, whole);
        let (entry, body, exit) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.append_block_param(body, I64);
        self.b.append_block_param(exit, I64);
        for _ in &reduced {
            for _ in 0..vectors {
                self.b.append_block_param(body, F64X2);
            }
            self.b.append_block_param(exit, F64);
        }
        let before: Vec<Value> = reduced.iter().map(|reg| self.get(*reg)).collect();
        let skipped: Vec<BlockArg> =
            [from].into_iter().chain(before.iter().copied()).map(BlockArg::from).collect();
        self.b.ins().brif(any, entry, &[], exit, &skipped);
        self.b.switch_to_block(entry);
        let mut first = vec![BlockArg::from(from)];
        for (_, how) in &step.reductions {
            let neutral = self.b.ins().f64const(neutral(*how));
            let neutral = self.b.ins().splat(F64X2, neutral);
            first.extend((0..vectors).map(|_| BlockArg::from(neutral)));
        }
        self.b.ins().jump(body, &first);
        self.b.switch_to_block(body);
        let index = self.b.block_params(body)[0];
        let sums: Vec<Value> = self.b.block_params(body)[1..].to_vec();
        let mut results = sums.clone();
        for vector in 0..vectors {
            let offset = self.b.ins().iconst(I64, vector * LANES);
            let start = self.b.ins().iadd(index, offset);
            let mut lanes = Lanes { t: self, known: HashMap::new() };
            lanes.known.insert(step.index, Lane::Linear(start, 1));
            let place = |i: usize| i * vectors as usize + vector as usize;
            for (i, reg) in reduced.iter().enumerate() {
                lanes.known.insert(*reg, Lane::Packed(sums[place(i)]));
            }
            step.body.iter().for_each(|stmt| lanes.stmt(stmt));
            for (i, reg) in reduced.iter().enumerate() {
                let lane = lanes.operand(Operand::Reg(*reg));
                results[place(i)] = lanes.packed(lane, LowTy::Real);
            }
        }
        let all = self.b.ins().iconst(I64, LANES * vectors);
        let next = self.b.ins().iadd(index, all);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, next, end);
        let done = self.b.create_block();
        let again: Vec<BlockArg> =
            [next].into_iter().chain(results.iter().copied()).map(BlockArg::from).collect();
        self.b.ins().brif(more, body, &again, done, &[]);
        self.b.switch_to_block(done);
        let mut left = vec![BlockArg::from(end)];
        for (i, (_, how)) in step.reductions.iter().enumerate() {
            let parts = &results[i * vectors as usize..(i + 1) * vectors as usize];
            let mut sum = parts[0];
            for part in &parts[1..] {
                sum = self.combine(*how, sum, *part);
            }
            let halves = [0, 1].map(|lane| self.b.ins().extractlane(sum, lane));
            let sum = self.combine(*how, halves[0], halves[1]);
            left.push(self.combine(*how, before[i], sum).into());
        }
        self.b.ins().jump(exit, &left);
        self.b.switch_to_block(exit);
        let params = self.b.block_params(exit).to_vec();
        for (reg, value) in reduced.iter().zip(&params[1..]) {
            self.set(*reg, *value);
        }
        Some(params[0])
    }

    /// Two numbers or vectors combined.
    pub(super) fn combine(&mut self, how: Reduction, a: Value, b: Value) -> Value {
        match how {
            Reduction::Add => self.b.ins().fadd(a, b),
            Reduction::Max => self.b.ins().fmax(a, b),
            Reduction::Min => self.b.ins().fmin(a, b),
        }
    }

    /// By a vector of truth values.
    pub(super) fn select_packed(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        let mask = self.cast(mask, ty);
        self.b.ins().bitselect(mask, a, b)
    }

    /// The same bits as a vector of another type.
    pub(super) fn cast(&mut self, value: Value, ty: Type) -> Value {
        if self.b.func.dfg.value_type(value) == ty {
            return value;
        }
        let little = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        self.b.ins().bitcast(ty, little, value)
    }
}

/// A vector's steps in translation.
struct Lanes<'l, 't, 'm> {
    t: &'l mut FunctionTranslator<'t, 'm>,
    known: HashMap<Reg, Lane>,
}

impl Lanes<'_, '_, '_> {
    fn operand(&mut self, operand: Operand) -> Lane {
        if let Operand::Reg(reg) = operand {
            if let Some(lane) = self.known.get(&reg) {
                return *lane;
            }
        }
        Lane::Same(self.t.operand(operand))
    }

    /// The value in a lane.
    fn single(&mut self, lane: Lane, ty: LowTy, which: usize) -> Value {
        match lane {
            Lane::Same(value) => value,
            Lane::Linear(value, _) if which == 0 => value,
            Lane::Linear(value, stride) => {
                let stride = self.t.b.ins().iconst(I64, stride);
                self.t.b.ins().iadd(value, stride)
            }
            Lane::Each(values) => values[which],
            Lane::Packed(value) => {
                let value = self.t.b.ins().extractlane(value, which as u8);
                match ty {
                    LowTy::Bool => self.t.b.ins().ireduce(I8, value),
                    LowTy::Int | LowTy::Real | LowTy::Ptr => value,
                }
            }
        }
    }

    /// A truth value as it is for one lane: 0 or 1.
    fn singles(&mut self, lane: Lane, ty: LowTy) -> [Value; 2] {
        [0, 1].map(|which| {
            let value = self.single(lane, ty, which);
            match (ty, lane) {
                (LowTy::Bool, Lane::Packed(_)) => {
                    let one = self.t.b.ins().iconst(I8, 1);
                    self.t.b.ins().band(value, one)
                }
                (_, _) => value,
            }
        })
    }

    /// All lanes as a vector.
    fn packed(&mut self, lane: Lane, ty: LowTy) -> Value {
        let packed = packed_type(ty);
        // A truth value is all ones or zeros.
        let wide = |this: &mut Self, value: Value| match ty {
            LowTy::Bool => {
                let word = this.t.b.ins().uextend(I64, value);
                this.t.b.ins().ineg(word)
            }
            LowTy::Int | LowTy::Real | LowTy::Ptr => value,
        };
        match lane {
            Lane::Packed(value) => value,
            Lane::Same(value) => {
                let value = wide(self, value);
                self.t.b.ins().splat(packed, value)
            }
            Lane::Linear(..) | Lane::Each(_) => {
                let [first, second] = self.singles(lane, ty);
                let (first, second) = (wide(self, first), wide(self, second));
                let both = self.t.b.ins().splat(packed, first);
                self.t.b.ins().insertlane(both, second, 1)
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(reg, expr) => {
                let ty = self.t.function.registers[reg.0 as usize];
                let lane = self.expr(expr, ty);
                self.known.insert(*reg, lane);
            }
            Stmt::Store(ty, address, value) => {
                let value = self.operand(*value);
                match self.place(address) {
                    Lane::Linear(at, 8) if *ty != LowTy::Bool => {
                        let value = self.packed(value, *ty);
                        self.t.b.ins().store(unaligned(), value, at, 0);
                    }
                    place => {
                        let places = self.singles(place, LowTy::Ptr);
                        let values = self.singles(value, *ty);
                        for (at, value) in places.into_iter().zip(values) {
                            self.t.b.ins().store(super::function::trusted(), value, at, 0);
                        }
                    }
                }
            }
            // There are none, see `fits`.
            Stmt::Checked { .. }
            | Stmt::If(..)
            | Stmt::Switch(..)
            | Stmt::Loop(_)
            | Stmt::Break
            | Stmt::For(_)
            | Stmt::Call { .. }
            | Stmt::Runtime { .. }
            | Stmt::Raise { .. }
            | Stmt::Return(_) => {}
        }
    }

    /// Where an address is.
    fn place(&mut self, address: &Address) -> Lane {
        let (base, index) = (self.operand(address.base), self.operand(address.index));
        let scale = i64::from(address.scale);
        let offset = address.offset;
        let lane = |this: &mut Self, base: Value, index: Value| {
            let shift = i64::from(address.scale.trailing_zeros());
            let shift = this.t.b.ins().iconst(I64, shift);
            let index = this.t.b.ins().ishl(index, shift);
            let sum = this.t.b.ins().iadd(base, index);
            let offset = this.t.b.ins().iconst(I64, offset);
            this.t.b.ins().iadd(sum, offset)
        };
        let start = |this: &mut Self, stride: i64| {
            let (base, index) =
                (this.single(base, LowTy::Ptr, 0), this.single(index, LowTy::Int, 0));
            Lane::Linear(lane(this, base, index), stride)
        };
        match (base, index) {
            (Lane::Same(base), Lane::Same(index)) => Lane::Same(lane(self, base, index)),
            (Lane::Same(_), Lane::Linear(_, stride)) => start(self, stride.wrapping_mul(scale)),
            (Lane::Linear(_, stride), Lane::Same(_)) => start(self, stride),
            (Lane::Linear(_, a), Lane::Linear(_, b)) => {
                start(self, a.wrapping_add(b.wrapping_mul(scale)))
            }
            (_, _) => {
                let (bases, indices) =
                    (self.singles(base, LowTy::Ptr), self.singles(index, LowTy::Int));
                Lane::Each([0, 1].map(|i| lane(self, bases[i], indices[i])))
            }
        }
    }

    fn expr(&mut self, expr: &Expr, ty: LowTy) -> Lane {
        match expr {
            Expr::Copy(a) => self.operand(*a),
            Expr::Unary(op, a) => {
                let a = self.operand(*a);
                self.unary(*op, a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.binary(*op, ty, a, b)
            }
            Expr::Fma(a, b, c) => match [*a, *b, *c].map(|x| self.operand(x)) {
                [Lane::Same(a), Lane::Same(b), Lane::Same(c)] => Lane::Same(self.t.fma([a, b, c])),
                args if self.t.env.has_fma => {
                    let [a, b, c] = args.map(|x| self.packed(x, LowTy::Real));
                    Lane::Packed(self.t.b.ins().fma(a, b, c))
                }
                args => {
                    let [a, b, c] = args.map(|x| self.singles(x, LowTy::Real));
                    Lane::Each([0, 1].map(|i| self.t.fma([a[i], b[i], c[i]])))
                }
            },
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
                self.select(ty, condition, a, b)
            }
            Expr::Load(ty, address) => match self.place(address) {
                Lane::Same(at) => Lane::Same(self.load(*ty, at)),
                // Ints are indices most of the time, each in a register.
                Lane::Linear(at, 8) if *ty == LowTy::Real => {
                    Lane::Packed(self.t.b.ins().load(packed_type(*ty), unaligned(), at, 0))
                }
                place => {
                    let places = self.singles(place, LowTy::Ptr);
                    Lane::Each(places.map(|at| self.load(*ty, at)))
                }
            },
            Expr::Offset(address) => self.place(address),
        }
    }

    fn load(&mut self, ty: LowTy, at: Value) -> Value {
        self.t.b.ins().load(clif_type(ty), super::function::trusted(), at, 0)
    }

    fn unary(&mut self, op: Unary, a: Lane) -> Lane {
        if let Lane::Same(a) = a {
            return Lane::Same(self.t.unary(op, a));
        }
        let (ty, _) = op.types();
        let single = match op {
            Unary::ToReal | Unary::ToInt | Unary::FromBool => true,
            Unary::Integral(_) => !self.t.env.has_rounding,
            Unary::Neg | Unary::Abs | Unary::Sqrt => false,
            Unary::Bits | Unary::FromBits | Unary::Not => false,
        };
        if single {
            let values = self.singles(a, ty);
            return Lane::Each(values.map(|a| self.t.unary(op, a)));
        }
        let a = self.packed(a, ty);
        Lane::Packed(match op {
            Unary::Neg => self.t.b.ins().fneg(a),
            Unary::Abs => self.t.b.ins().fabs(a),
            Unary::Sqrt => self.t.b.ins().sqrt(a),
            Unary::Integral(Rounding::Floor) => self.t.b.ins().floor(a),
            Unary::Integral(Rounding::Ceil) => self.t.b.ins().ceil(a),
            Unary::Integral(Rounding::Round) => self.t.b.ins().nearest(a),
            Unary::Integral(Rounding::Trunc) => self.t.b.ins().trunc(a),
            Unary::Bits => self.t.cast(a, I64X2),
            Unary::FromBits => self.t.cast(a, F64X2),
            Unary::Not => self.t.b.ins().bnot(a),
            // Each lane by itself, above.
            Unary::ToReal | Unary::ToInt | Unary::FromBool => a,
        })
    }

    fn binary(&mut self, op: Binary, ty: LowTy, a: Lane, b: Lane) -> Lane {
        if let (Lane::Same(a), Lane::Same(b)) = (a, b) {
            return Lane::Same(self.t.binary(op, a, b));
        }
        let sum = |this: &mut Self, stride: i64| {
            let (a, b) = (this.single(a, ty, 0), this.single(b, ty, 0));
            Lane::Linear(this.t.binary(op, a, b), stride)
        };
        match (op, a, b) {
            (Binary::IntAdd | Binary::IntSub, Lane::Linear(_, s), Lane::Same(_)) => {
                return sum(self, s)
            }
            (Binary::IntAdd, Lane::Same(_), Lane::Linear(_, s)) => return sum(self, s),
            (Binary::IntAdd, Lane::Linear(_, s), Lane::Linear(_, r)) => {
                return sum(self, s.wrapping_add(r))
            }
            (_, _, _) => {}
        }
        let is_packed = matches!(a, Lane::Packed(_)) || matches!(b, Lane::Packed(_));
        let by_vectors = match op {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => true,
            Binary::IntAdd | Binary::IntSub | Binary::And | Binary::Or | Binary::Xor => {
                is_packed || ty == LowTy::Bool
            }
            Binary::ShiftLeft | Binary::ShiftRight => is_packed && matches!(b, Lane::Same(_)),
            Binary::IntMul | Binary::IntDiv | Binary::IntRem | Binary::ShiftRightSigned => false,
        };
        if !by_vectors {
            let (a, b) = (self.singles(a, ty), self.singles(b, ty));
            return Lane::Each([0, 1].map(|i| self.t.binary(op, a[i], b[i])));
        }
        let first = self.packed(a, ty);
        if let (Binary::ShiftLeft | Binary::ShiftRight, Lane::Same(by)) = (op, b) {
            return Lane::Packed(self.t.binary(op, first, by));
        }
        let second = self.packed(b, ty);
        Lane::Packed(self.t.binary(op, first, second))
    }

    fn compare(&mut self, op: Compare, a: Lane, b: Lane) -> Lane {
        if let (Lane::Same(a), Lane::Same(b)) = (a, b) {
            return Lane::Same(self.t.compare(op, a, b));
        }
        let real = match op {
            Compare::Eq => FloatCC::Equal,
            Compare::Ne => FloatCC::NotEqual,
            Compare::Lt => FloatCC::LessThan,
            Compare::Le => FloatCC::LessThanOrEqual,
            Compare::IntEq | Compare::IntNe | Compare::IntLt | Compare::IntLe | Compare::Below => {
                let is_int = |this: &Self, lane: Lane| match lane {
                    Lane::Packed(_) => Some(LowTy::Int),
                    Lane::Same(v) | Lane::Linear(v, _) | Lane::Each([v, _]) => {
                        (this.t.b.func.dfg.value_type(v) == I8).then_some(LowTy::Bool)
                    }
                };
                // Of truth values, one is perhaps a vector.
                let bools = [a, b].into_iter().any(|lane| is_int(self, lane) == Some(LowTy::Bool));
                let ty = if bools { LowTy::Bool } else { LowTy::Int };
                let (a, b) = (self.singles(a, ty), self.singles(b, ty));
                return Lane::Each([0, 1].map(|i| self.t.compare(op, a[i], b[i])));
            }
        };
        let (a, b) = (self.packed(a, LowTy::Real), self.packed(b, LowTy::Real));
        Lane::Packed(self.t.b.ins().fcmp(real, a, b))
    }

    fn select(&mut self, ty: LowTy, condition: Lane, a: Lane, b: Lane) -> Lane {
        if let (Lane::Same(condition), Lane::Same(a), Lane::Same(b)) = (condition, a, b) {
            return Lane::Same(self.t.b.ins().select(condition, a, b));
        }
        if ty == LowTy::Real || ty == LowTy::Bool {
            let mask = self.packed(condition, LowTy::Bool);
            let (a, b) = (self.packed(a, ty), self.packed(b, ty));
            return Lane::Packed(self.t.select_packed(mask, a, b));
        }
        let conditions = self.singles(condition, LowTy::Bool);
        let (a, b) = (self.singles(a, ty), self.singles(b, ty));
        Lane::Each([0, 1].map(|i| self.t.b.ins().select(conditions[i], a[i], b[i])))
    }

    fn math(&mut self, op: RealOp, a: Lane, b: Lane) -> Lane {
        if let (Lane::Same(a), Lane::Same(b)) = (a, b) {
            return Lane::Same(self.t.math(op, a, b));
        }
        match op {
            RealOp::Max | RealOp::Min => {
                let (a, b) = (self.packed(a, LowTy::Real), self.packed(b, LowTy::Real));
                let how = if op == RealOp::Max { Reduction::Max } else { Reduction::Min };
                Lane::Packed(self.t.combine(how, a, b))
            }
            op => {
                let (a, b) = (self.singles(a, LowTy::Real), self.singles(b, LowTy::Real));
                Lane::Each([0, 1].map(|i| self.t.math(op, a[i], b[i])))
            }
        }
    }
}
