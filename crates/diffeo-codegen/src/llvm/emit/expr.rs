//! Operands, addresses and expressions.

use super::{llvm_type, real, Emitter, NOTHING};
use crate::low::{Address, Binary, Compare, Expr, LowTy, Operand, Reg, Unary};
use crate::runtime;
use diffeo_calculus::prim::{RealOp, Rounding};

impl Emitter<'_, '_> {
    /// The value of an operand, as LLVM writes it.
    pub(super) fn operand(&mut self, operand: Operand) -> String {
        match operand {
            Operand::Reg(register) => {
                let i = register.0 as usize;
                if self.facts.once[i] {
                    return self.values[i].clone();
                }
                let ty = llvm_type(self.ty(register));
                self.compute(format_args!("load {ty}, ptr %r{i}"))
            }
            Operand::Int(n) => n.to_string(),
            Operand::Real(x) => real(x),
            Operand::Bool(b) => b.to_string(),
            Operand::Null => "null".into(),
            Operand::Text(index) => self.entry_of(runtime::TEXTS, i64::from(index)),
            Operand::Static(layout) => self.entry_of(runtime::STATICS, i64::from(layout)),
            Operand::Constant(index) => {
                let words = self.table(runtime::CONSTANTS);
                self.at(&words, 8 * i64::from(index))
            }
        }
    }

    /// An address `offset` bytes further in the same object.
    pub(super) fn at(&mut self, base: &str, offset: i64) -> String {
        self.compute(format_args!("getelementptr inbounds i8, ptr {base}, i64 {offset}"))
    }

    /// The address of a table of the context; it does not change.
    fn table(&mut self, offset: i64) -> String {
        let at = self.at("%context", offset);
        self.compute(format_args!("load ptr, ptr {at}, align 8, !invariant.load !{NOTHING}"))
    }

    /// What stands in a table of the context.
    fn entry_of(&mut self, offset: i64, index: i64) -> String {
        let table = self.table(offset);
        let at = self.at(&table, 8 * index);
        self.compute(format_args!("load ptr, ptr {at}, align 8, !invariant.load !{NOTHING}"))
    }

    /// An address; something is there if it is `inbounds`.
    pub(super) fn address(&mut self, address: &Address, inbounds: bool) -> String {
        let inbounds = if inbounds { "inbounds " } else { "" };
        let mut value = self.operand(address.base);
        let mut offset = address.offset;
        if let Operand::Int(index) = address.index {
            offset = offset.wrapping_add(index.wrapping_mul(i64::from(address.scale)));
        } else {
            let index = self.operand(address.index);
            let unit = if address.scale == 8 { "double" } else { "i8" };
            value = self
                .compute(format_args!("getelementptr {inbounds}{unit}, ptr {value}, i64 {index}"));
        }
        if offset != 0 {
            value =
                self.compute(format_args!("getelementptr {inbounds}i8, ptr {value}, i64 {offset}"));
        }
        value
    }

    /// The metadata of an access to memory in independent loops.
    pub(super) fn access(&mut self) -> String {
        let list = match (self.access, &self.groups[..]) {
            (_, []) => return String::new(),
            (Some(list), _) => list,
            (None, [group]) => *group,
            (None, groups) => {
                let groups: Vec<_> = groups.iter().map(|group| format!("!{group}")).collect();
                self.shared.metadata(format!("!{{{}}}", groups.join(", ")))
            }
        };
        self.access = Some(list);
        format!(", !llvm.access.group !{list}")
    }

    /// The value of an expression for a register.
    pub(super) fn expr(&mut self, register: Reg, expr: &Expr) -> String {
        let ty = llvm_type(self.ty(register));
        match expr {
            Expr::Copy(a) => self.operand(*a),
            Expr::Unary(op, a) => {
                let a = self.operand(*a);
                self.unary(*op, &a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                let instruction = self.binary(*op);
                self.compute(format_args!("{instruction} {ty} {a}, {b}"))
            }
            Expr::Fma(a, b, c) => {
                let [a, b, c] = [*a, *b, *c].map(|x| self.operand(x));
                self.real_intrinsic("fma", &[&a, &b, &c])
            }
            Expr::Math(op, a, b) => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.math(*op, &a, &b)
            }
            Expr::Compare(op, a, b) => {
                let ty = llvm_type(self.operand_ty(*a));
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.compute(format_args!("{} {ty} {a}, {b}", compare(*op)))
            }
            Expr::Select(condition, a, b) => {
                let [condition, a, b] = [*condition, *a, *b].map(|x| self.operand(x));
                self.compute(format_args!("select i1 {condition}, {ty} {a}, {ty} {b}"))
            }
            Expr::Load(LowTy::Bool, address) => {
                let (at, access) = (self.address(address, true), self.access());
                let byte = self.compute(format_args!("load i8, ptr {at}{access}"));
                self.compute(format_args!("trunc i8 {byte} to i1"))
            }
            Expr::Load(_, address) => {
                let (at, access) = (self.address(address, true), self.access());
                self.compute(format_args!("load {ty}, ptr {at}, align 8{access}"))
            }
            Expr::Offset(address) => self.address(address, false),
        }
    }

    /// A call of an intrinsic function, declared if it was not.
    pub(super) fn intrinsic(
        &mut self,
        flags: &str,
        result: &str,
        name: &str,
        params: &str,
        args: &str,
    ) -> String {
        self.declare_intrinsic(name, result, params);
        self.compute(format_args!("call {flags}{result} @{name}({args})"))
    }

    pub(super) fn declare_intrinsic(&mut self, name: &str, result: &str, params: &str) {
        if !self.shared.intrinsics.contains_key(name) {
            let declaration = format!("declare {result} @{name}({params})");
            self.shared.intrinsics.insert(name.to_string(), declaration);
        }
    }

    /// A call of an intrinsic function of Reals.
    pub(super) fn real_intrinsic(&mut self, name: &str, args: &[&str]) -> String {
        let params = vec!["double"; args.len()].join(", ");
        let args: Vec<_> = args.iter().map(|arg| format!("double {arg}")).collect();
        self.intrinsic("", "double", &format!("llvm.{name}.f64"), &params, &args.join(", "))
    }

    fn unary(&mut self, op: Unary, a: &str) -> String {
        match op {
            Unary::Neg => self.compute(format_args!("fneg double {a}")),
            Unary::Abs => self.real_intrinsic("fabs", &[a]),
            Unary::Sqrt => self.real_intrinsic("sqrt", &[a]),
            Unary::Integral(Rounding::Floor) => self.real_intrinsic("floor", &[a]),
            Unary::Integral(Rounding::Ceil) => self.real_intrinsic("ceil", &[a]),
            Unary::Integral(Rounding::Round) => self.real_intrinsic("roundeven", &[a]),
            Unary::Integral(Rounding::Trunc) => self.real_intrinsic("trunc", &[a]),
            Unary::ToReal => self.compute(format_args!("sitofp i64 {a} to double")),
            Unary::ToInt => self.compute(format_args!("fptosi double {a} to i64")),
            Unary::Bits => self.compute(format_args!("bitcast double {a} to i64")),
            Unary::FromBits => self.compute(format_args!("bitcast i64 {a} to double")),
            Unary::FromBool => self.compute(format_args!("zext i1 {a} to i64")),
            Unary::Not => self.compute(format_args!("xor i1 {a}, true")),
        }
    }

    /// The instruction of an operation.
    pub(super) fn binary(&self, op: Binary) -> &'static str {
        match op {
            Binary::Add => "fadd",
            Binary::Sub => "fsub",
            Binary::Mul => "fmul",
            Binary::Div => "fdiv",
            Binary::IntAdd => "add",
            Binary::IntSub => "sub",
            Binary::IntMul => "mul",
            Binary::IntDiv => "sdiv",
            Binary::IntRem => "srem",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::ShiftLeft => "shl",
            Binary::ShiftRight => "lshr",
            Binary::ShiftRightSigned => "ashr",
        }
    }

    fn math(&mut self, op: RealOp, a: &str, b: &str) -> String {
        let binary = |e: &mut Self, op: Binary| {
            let instruction = e.binary(op);
            e.compute(format_args!("{instruction} double {a}, {b}"))
        };
        match op {
            RealOp::Add => binary(self, Binary::Add),
            RealOp::Sub => binary(self, Binary::Sub),
            RealOp::Mul => binary(self, Binary::Mul),
            RealOp::Div => binary(self, Binary::Div),
            RealOp::Neg => self.unary(Unary::Neg, a),
            RealOp::Sqrt => self.unary(Unary::Sqrt, a),
            RealOp::Abs => self.unary(Unary::Abs, a),
            RealOp::Sign => self.sign(a),
            RealOp::Min => self.real_intrinsic("minimum", &[a, b]),
            RealOp::Max => self.real_intrinsic("maximum", &[a, b]),
            RealOp::Polygamma(order) => self.call_math(op, format_args!("i64 {order}, double {a}")),
            RealOp::Sin | RealOp::Cos => {
                let function = runtime::math(op);
                let name = self.import(function);
                // What stands in no loop, and gets into none, does not become a vector.
                let mut attribute = String::new();
                if !self.single {
                    self.shared.rare.insert(name, function);
                    attribute = super::vector::attribute(name);
                }
                self.compute(format_args!(
                    "call double @{name}(double {a}, double {b}) nounwind willreturn memory(none) {attribute}"
                ))
            }
            _ => self.call_math(op, format_args!("double {a}, double {b}")),
        }
    }

    fn call_math(&mut self, op: RealOp, args: std::fmt::Arguments<'_>) -> String {
        let name = self.import(runtime::math(op));
        self.compute(format_args!("call double @{name}({args})"))
    }

    /// -1, 0 or 1; nan of nan.
    fn sign(&mut self, x: &str) -> String {
        let mut value = x.to_string();
        for (condition, sign) in [("oeq", 0.0), ("olt", -1.0), ("ogt", 1.0)] {
            let holds = self.compute(format_args!("fcmp {condition} double {x}, {}", real(0.0)));
            let sign = real(sign);
            value = self.compute(format_args!("select i1 {holds}, double {sign}, double {value}"));
        }
        value
    }
}

pub(super) fn compare(op: Compare) -> &'static str {
    match op {
        Compare::IntEq => "icmp eq",
        Compare::IntNe => "icmp ne",
        Compare::IntLt => "icmp slt",
        Compare::IntLe => "icmp sle",
        Compare::Below => "icmp ult",
        Compare::Eq => "fcmp oeq",
        Compare::Ne => "fcmp une",
        Compare::Lt => "fcmp olt",
        Compare::Le => "fcmp ole",
    }
}
