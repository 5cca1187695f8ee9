//! The elementary functions, as they are expanded, against the library's: at random operands from wide and
//! from narrow ranges, and at every special number.

use diffeo_calculus::prim::real::{eval, row};
use diffeo_calculus::prim::{RealOp, Rounding};
use diffeo_codegen::low::{Binary, Compare, Expr, LowFunction, LowTy, Operand, Reg, Stmt, Unary};
use diffeo_codegen::math;

/// A function that is one operation, expanded.
fn expanded(op: RealOp) -> LowFunction {
    let [a, b, result] = [Reg(0), Reg(1), Reg(2)];
    let math = Expr::Math(op, Operand::Reg(a), Operand::Reg(b));
    let mut function = LowFunction {
        name: "f".into(),
        registers: vec![LowTy::Real; 3],
        params: vec![a, b],
        results: vec![LowTy::Real],
        fallible: false,
        recursive: None,
        blocks: None,
        apart: false,
        body: vec![Stmt::Set(result, math), Stmt::Return(vec![Operand::Reg(result)])],
    };
    math::expand_function(&mut function);
    function
}

/// Runs straight-line code; every register is its bits.
struct MathMachine<'f> {
    function: &'f LowFunction,
    registers: Vec<u64>,
    /// How often the library was called.
    calls: usize,
}

impl MathMachine<'_> {
    fn call(&mut self, a: f64, b: f64) -> f64 {
        self.registers[0] = a.to_bits();
        self.registers[1] = b.to_bits();
        self.run(&self.function.body).expect("a result")
    }

    fn run(&mut self, stmts: &[Stmt]) -> Option<f64> {
        for stmt in stmts {
            match stmt {
                Stmt::Set(register, expr) => {
                    self.registers[register.0 as usize] = self.value(expr);
                }
                Stmt::If(condition, then, otherwise) => {
                    let taken = if self.bits(*condition) == 1 { then } else { otherwise };
                    self.run(taken);
                }
                Stmt::Return(results) => return Some(self.real(results[0])),
                other => panic!("no straight-line code: {other:?}"),
            }
        }
        None
    }

    fn bits(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Reg(register) => self.registers[register.0 as usize],
            Operand::Int(n) => n as u64,
            Operand::Real(x) => x.to_bits(),
            Operand::Bool(b) => u64::from(b),
            other => panic!("no scalar: {other:?}"),
        }
    }

    fn real(&self, operand: Operand) -> f64 {
        f64::from_bits(self.bits(operand))
    }

    fn value(&mut self, expr: &Expr) -> u64 {
        match *expr {
            Expr::Copy(a) => self.bits(a),
            Expr::Unary(op, a) => {
                let x = self.real(a);
                match op {
                    Unary::Neg => (-x).to_bits(),
                    Unary::Abs => x.abs().to_bits(),
                    Unary::Sqrt => x.sqrt().to_bits(),
                    Unary::Integral(Rounding::Round) => x.round_ties_even().to_bits(),
                    Unary::Bits | Unary::FromBits => self.bits(a),
                    Unary::Not => self.bits(a) ^ 1,
                    other => panic!("not used: {other:?}"),
                }
            }
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.real(a), self.real(b));
                let (a, b) = (self.bits(a), self.bits(b));
                match op {
                    Binary::Add => (x + y).to_bits(),
                    Binary::Sub => (x - y).to_bits(),
                    Binary::Mul => (x * y).to_bits(),
                    Binary::Div => (x / y).to_bits(),
                    Binary::IntAdd => a.wrapping_add(b),
                    Binary::IntSub => a.wrapping_sub(b),
                    Binary::And => a & b,
                    Binary::Or => a | b,
                    Binary::Xor => a ^ b,
                    Binary::ShiftLeft => a << b,
                    Binary::ShiftRight => a >> b,
                    other => panic!("not used: {other:?}"),
                }
            }
            Expr::Fma(a, b, c) => self.real(a).mul_add(self.real(b), self.real(c)).to_bits(),
            Expr::Compare(op, a, b) => {
                let (x, y) = (self.real(a), self.real(b));
                u64::from(match op {
                    Compare::IntEq => self.bits(a) == self.bits(b),
                    Compare::Eq => x == y,
                    Compare::Ne => x != y,
                    Compare::Lt => x < y,
                    Compare::Le => x <= y,
                    other => panic!("not used: {other:?}"),
                })
            }
            Expr::Select(c, a, b) => self.bits(if self.bits(c) == 1 { a } else { b }),
            Expr::Math(op, a, b) => {
                self.calls += 1;
                eval(op, self.real(a), self.real(b)).to_bits()
            }
            Expr::Load(..) | Expr::Offset(_) => panic!("no memory is used"),
        }
    }
}

/// Numbers that look random (Steele, Lea and Flood: SplitMix).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Of any size, or of the sizes where functions do something.
    fn real(&mut self) -> f64 {
        let sign = if self.next() & 1 == 0 { 1.0 } else { -1.0 };
        sign * match self.next() % 6 {
            0 => f64::from_bits(self.next() & (i64::MAX as u64)),
            1 => self.unit(),
            2 => 1.0 + (self.unit() - 0.5) * 2f64.powi(-((self.next() % 40) as i32)),
            3 => self.unit() * 8.0,
            4 => self.unit() * 800.0,
            _ => 2f64.powf((self.unit() - 0.5) * 80.0),
        }
    }
}

/// The distance in units in the last place of the second number.
fn ulps(found: f64, expected: f64) -> f64 {
    if found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()) {
        return 0.0;
    }
    if found == expected {
        // Zeros of different signs.
        return f64::INFINITY;
    }
    let size = expected.abs().clamp(f64::MIN_POSITIVE, f64::MAX);
    let exponent = (size.to_bits() >> 52) as i32;
    let ulp = if exponent > 52 {
        f64::from_bits(((exponent - 52) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent - 1))
    };
    let difference = (found - expected).abs();
    if difference.is_nan() {
        f64::INFINITY
    } else {
        difference / ulp
    }
}

/// The functions with an expansion that is more than an instruction, and the largest difference from the
/// library's in ulps, that may err by an ulp itself.
const FUNCTIONS: &[(RealOp, f64)] = &[
    (RealOp::Exp, 1.0),
    (RealOp::Expm1, 2.0),
    (RealOp::Log, 1.0),
    (RealOp::Log1p, 2.0),
    (RealOp::Sin, 1.0),
    (RealOp::Cos, 1.0),
    (RealOp::Tan, 2.0),
    (RealOp::Asin, 2.0),
    (RealOp::Acos, 2.0),
    (RealOp::Atan, 1.0),
    (RealOp::Atan2, 2.0),
    (RealOp::Sinh, 3.0),
    (RealOp::Cosh, 2.0),
    (RealOp::Tanh, 3.0),
    (RealOp::Asinh, 3.0),
    (RealOp::Acosh, 3.0),
    (RealOp::Atanh, 3.0),
    (RealOp::Sigmoid, 3.0),
    (RealOp::Softplus, 3.0),
    (RealOp::Erf, 3.0),
    (RealOp::Erfc, 5.0),
    (RealOp::Pow, 1.0),
    (RealOp::Hypot, 2.0),
    (RealOp::Unit, 3.0),
    (RealOp::Sech, 3.0),
    (RealOp::OneMinusSquare, 0.0),
];

#[test]
fn values_differ_by_a_few_ulps_at_most() {
    let mut failures = Vec::new();
    for &(op, bound) in FUNCTIONS {
        let function = expanded(op);
        let registers = vec![0; function.registers.len()];
        let mut machine = MathMachine { function: &function, registers, calls: 0 };
        let mut random = SplitMix(7);
        let mut worst = (0.0, 0.0, 0.0);
        for _ in 0..100_000 {
            let (a, b) = (random.real(), random.real());
            let error = ulps(machine.call(a, b), eval(op, a, b));
            if error > worst.0 {
                worst = (error, a, b);
            }
        }
        let (error, a, b) = worst;
        let statements = function.body.len();
        let name = row(op).name;
        println!("{name:10} {error:6.2} ulps at {a:e}, {b:e}; {statements} statements");
        if error > bound {
            let (found, expected) = (machine.call(a, b), eval(op, a, b));
            failures
                .push(format!("{name}({a:e}, {b:e}) = {found:e}, not {expected:e}: {error} ulps"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn special_operands() {
    let mut special = vec![
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        22.0,
        709.0,
        709.782712893384,
        709.8,
        710.4758,
        710.476,
        745.0,
        745.2,
        800.0,
    ];
    special.extend([
        f64::MIN_POSITIVE,
        5e-324,
        1e-310,
        f64::EPSILON,
        1e-9,
        1e-300,
        1e300,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ]);
    special.extend([
        1.0 - f64::EPSILON / 2.0,
        1.0 + f64::EPSILON,
        9007199254740991.0,
        9007199254740993e3,
        1e22,
    ]);
    special.extend([std::f64::consts::PI, std::f64::consts::FRAC_PI_2, std::f64::consts::LN_2]);
    special.extend(special.clone().iter().map(|x| -x));
    let mut failures = Vec::new();
    for &(op, bound) in FUNCTIONS {
        let function = expanded(op);
        let registers = vec![0; function.registers.len()];
        let mut machine = MathMachine { function: &function, registers, calls: 0 };
        let seconds = if row(op).arity == 2 { &special[..] } else { &[0.0][..] };
        for &a in &special {
            for &b in seconds {
                let (found, expected) = (machine.call(a, b), eval(op, a, b));
                if ulps(found, expected) > bound {
                    let name = row(op).name;
                    failures.push(format!("{name}({a:e}, {b:e}) = {found:e}, not {expected:e}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn only_huge_angles_call_the_library() {
    for op in [RealOp::Sin, RealOp::Cos, RealOp::Tan] {
        let function = expanded(op);
        let registers = vec![0; function.registers.len()];
        let mut machine = MathMachine { function: &function, registers, calls: 0 };
        let mut random = SplitMix(3);
        for _ in 0..20_000 {
            let x = (random.unit() - 0.5) * 2f64.powi((random.next() % 40) as i32);
            assert!(ulps(machine.call(x, 0.0), eval(op, x, 0.0)) <= 2.0, "{op:?}({x:e})");
        }
        assert_eq!(machine.calls, 0);
        machine.call(1e15, 0.0);
        assert!(machine.calls > 0);
    }
}
