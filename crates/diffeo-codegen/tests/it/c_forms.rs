//! Every form of Low on engine `c`, against what it means: programs are built by hand, compiled by the system's
//! C compiler and run.

use crate::c_support::{compile, text, CMachine, Run, NO_HOST};
use diffeo_array::ir::{self, Reduction, SiteId};
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::text::{self as on_texts, TextResult, TextType};
use diffeo_calculus::prim::{int, real, IntOp, RealOp, Rounding, TextOp};
use diffeo_calculus::show;
use diffeo_codegen::c::compiler::{COptions, Compiler};
use diffeo_codegen::c::{RuntimeProvider, Unit};
use diffeo_codegen::engine::Instance;
use diffeo_codegen::low::*;
use std::sync::atomic::Ordering;
use std::sync::Arc;

const PLAIN: i64 = 0;
const TEXT: i64 = 1;
const REFERENCES: i64 = 2;

/// Whether there is a compiler; says so if there is none.
fn compiler() -> bool {
    let found = Compiler::find().path().is_some();
    if !found {
        eprintln!("skipped: there is no C compiler");
    }
    found
}

/// A function being built.
#[derive(Default)]
struct FunctionBuild {
    registers: Vec<LowTy>,
    body: Vec<Stmt>,
    params: Vec<Reg>,
    results: Vec<LowTy>,
    stored: i64,
}

fn r(reg: Reg) -> Operand {
    Operand::Reg(reg)
}

fn at(base: Operand, offset: i64) -> Address {
    Address { base, index: Operand::Int(0), scale: 8, offset }
}

fn element(base: Operand, index: Operand, offset: i64) -> Address {
    Address { base, index, scale: 8, offset }
}

fn raise(error: Raise, args: Vec<Operand>, site: u32) -> Stmt {
    Stmt::Raise { error, args, site: SiteId(site) }
}

fn runtime(results: &[Reg], op: Runtime, args: &[Operand]) -> Stmt {
    Stmt::Runtime { results: results.to_vec(), op, args: args.to_vec() }
}

fn call(results: &[Reg], function: u32, args: &[Operand], site: u32) -> Stmt {
    Stmt::Call {
        results: results.to_vec(),
        function: FunctionId(function),
        args: args.to_vec(),
        site: SiteId(site),
    }
}

impl FunctionBuild {
    /// The entry of a program: registers 0 and 1 are the addresses of arguments and results.
    fn entry() -> FunctionBuild {
        let mut b = FunctionBuild::default();
        b.param(LowTy::Ptr);
        b.param(LowTy::Ptr);
        b
    }

    fn reg(&mut self, ty: LowTy) -> Reg {
        self.registers.push(ty);
        Reg(self.registers.len() as u32 - 1)
    }

    fn param(&mut self, ty: LowTy) -> Reg {
        let reg = self.reg(ty);
        self.params.push(reg);
        reg
    }

    fn push(&mut self, stmt: Stmt) {
        self.body.push(stmt);
    }

    fn set(&mut self, ty: LowTy, expr: Expr) -> Reg {
        let reg = self.reg(ty);
        self.push(Stmt::Set(reg, expr));
        reg
    }

    /// An argument of the entry.
    fn arg(&mut self, ty: LowTy, index: i64) -> Reg {
        self.set(ty, Expr::Load(ty, at(r(Reg(0)), 8 * index)))
    }

    /// Stores the next result of the entry.
    fn result(&mut self, ty: LowTy, value: Operand) {
        let offset = 8 * self.stored;
        self.stored += 1;
        self.push(Stmt::Store(ty, at(r(Reg(1)), offset), value));
    }

    fn give(&mut self, ty: LowTy, expr: Expr) {
        let reg = self.set(ty, expr);
        self.result(ty, r(reg));
    }

    fn function(mut self, name: &str, fallible: bool, recursive: bool) -> LowFunction {
        if !matches!(self.body.last(), Some(Stmt::Return(_))) {
            self.body.push(Stmt::Return(vec![]));
        }
        LowFunction {
            name: name.to_string(),
            registers: self.registers,
            params: self.params,
            results: self.results,
            fallible,
            recursive: recursive.then_some(SiteId(99)),
            blocks: None,
            apart: false,
            body: self.body,
        }
    }
}

fn module(functions: Vec<LowFunction>, layouts: &[Layout], texts: &[&str]) -> LowModule {
    let mut all = vec![Layout::Plain, Layout::Text, Layout::References];
    all.extend_from_slice(layouts);
    LowModule {
        entry: FunctionId(functions.len() as u32 - 1),
        functions,
        layouts: all,
        texts: texts.iter().map(|t| (*t).into()).collect(),
        constant_words: 0,
        constant_references: vec![],
        flat: Arc::new(ir::Module::default()),
    }
}

fn word(x: f64) -> u64 {
    x.to_bits()
}

/// The bytes of a text.
fn bytes(block: u64) -> String {
    // SAFETY: the block is a text of the program.
    unsafe {
        let length = *((block as i64 + BYTES) as *const i64);
        let data = std::slice::from_raw_parts((block as i64 + DATA) as *const u8, length as usize);
        String::from_utf8(data.to_vec()).unwrap()
    }
}

/// A text as an argument.
fn text_block(text: &str) -> Vec<u64> {
    let mut words = vec![i64::MIN as u64 / 2, TEXT as u64, text.len() as u64, text.len() as u64];
    words.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(padded)
    }));
    words
}

const INTS: [i64; 9] = [0, 1, -1, 7, -13, 1 << 40, i64::MAX, i64::MIN, 63];
const REALS: [f64; 12] = [
    0.0,
    -0.0,
    1.5,
    -2.5,
    0.5,
    3.5,
    1e300,
    -1e-300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    5e-324,
];

#[test]
fn scalar_operations() {
    if !compiler() {
        return;
    }
    let mut b = FunctionBuild::entry();
    let (a, c) = (b.arg(LowTy::Int, 0), b.arg(LowTy::Int, 1));
    let (x, y) = (b.arg(LowTy::Real, 2), b.arg(LowTy::Real, 3));
    let shift = b.set(LowTy::Int, Expr::Binary(Binary::And, r(c), Operand::Int(63)));
    for op in [Binary::IntAdd, Binary::IntSub, Binary::IntMul, Binary::And, Binary::Or, Binary::Xor]
    {
        b.give(LowTy::Int, Expr::Binary(op, r(a), r(c)));
    }
    for op in [Binary::ShiftLeft, Binary::ShiftRight, Binary::ShiftRightSigned] {
        b.give(LowTy::Int, Expr::Binary(op, r(a), r(shift)));
    }
    // 9
    b.give(LowTy::Int, Expr::Binary(Binary::IntDiv, r(a), Operand::Int(7)));
    b.give(LowTy::Int, Expr::Binary(Binary::IntRem, r(a), Operand::Int(7)));
    b.give(
        LowTy::Int,
        Expr::Binary(Binary::IntMul, Operand::Int(1_000_000), Operand::Int(1_000_000)),
    );
    // 12
    for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div] {
        b.give(LowTy::Real, Expr::Binary(op, r(x), r(y)));
    }
    b.give(LowTy::Real, Expr::Fma(r(x), r(y), Operand::Real(0.1)));
    // 17
    for op in [
        Unary::Neg,
        Unary::Abs,
        Unary::Sqrt,
        Unary::Integral(Rounding::Floor),
        Unary::Integral(Rounding::Ceil),
        Unary::Integral(Rounding::Round),
        Unary::Integral(Rounding::Trunc),
    ] {
        b.give(LowTy::Real, Expr::Unary(op, r(x)));
    }
    // 24
    b.give(LowTy::Real, Expr::Unary(Unary::ToReal, r(a)));
    b.give(LowTy::Int, Expr::Unary(Unary::Bits, r(x)));
    b.give(LowTy::Real, Expr::Unary(Unary::FromBits, r(a)));
    b.give(LowTy::Int, Expr::Unary(Unary::ToInt, Operand::Real(-7.9)));
    // 28
    for op in [Compare::IntEq, Compare::IntNe, Compare::IntLt, Compare::IntLe] {
        b.give(LowTy::Bool, Expr::Compare(op, r(a), r(c)));
    }
    for op in [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le] {
        b.give(LowTy::Bool, Expr::Compare(op, r(x), r(y)));
    }
    // 36
    b.give(LowTy::Bool, Expr::Compare(Compare::Below, r(a), Operand::Int(64)));
    let less = b.set(LowTy::Bool, Expr::Compare(Compare::Lt, r(x), r(y)));
    b.give(LowTy::Real, Expr::Select(r(less), r(x), r(y)));
    b.give(LowTy::Bool, Expr::Unary(Unary::Not, r(less)));
    b.give(LowTy::Int, Expr::Unary(Unary::FromBool, r(less)));
    b.give(LowTy::Bool, Expr::Binary(Binary::Xor, r(less), Operand::Bool(true)));
    // 41
    for op in [Checked::Add, Checked::Sub, Checked::Mul] {
        let (result, overflow) = (b.reg(LowTy::Int), b.reg(LowTy::Bool));
        b.push(Stmt::Checked { op, result, overflow, a: r(a), b: r(c) });
        b.result(LowTy::Int, r(result));
        b.result(LowTy::Bool, r(overflow));
    }
    // 47
    for x in REALS {
        b.give(LowTy::Real, Expr::Copy(Operand::Real(x)));
    }
    b.give(LowTy::Real, Expr::Copy(Operand::Real(0.1)));
    for n in INTS {
        b.give(LowTy::Int, Expr::Copy(Operand::Int(n)));
    }
    let programs = [module(vec![b.function("main", false, false)], &[], &[])];
    for mut state in CMachine::both(&programs) {
        for a in INTS {
            for c in INTS {
                for (x, y) in REALS.iter().flat_map(|x| REALS.map(|y| (*x, y))) {
                    let got = state.call::<69>(0, &[a as u64, c as u64, word(x), word(y)]).unwrap();
                    let s = (c & 63) as u32;
                    let mut expected: Vec<u64> = [
                        a.wrapping_add(c),
                        a.wrapping_sub(c),
                        a.wrapping_mul(c),
                        a & c,
                        a | c,
                        a ^ c,
                        a << s,
                        (a as u64 >> s) as i64,
                        a >> s,
                        a / 7,
                        a % 7,
                        1_000_000_000_000,
                    ]
                    .map(|n| n as u64)
                    .to_vec();
                    expected.extend([x + y, x - y, x * y, x / y, x.mul_add(y, 0.1)].map(word));
                    expected.extend(
                        [
                            -x,
                            x.abs(),
                            x.sqrt(),
                            x.floor(),
                            x.ceil(),
                            x.round_ties_even(),
                            x.trunc(),
                        ]
                        .map(word),
                    );
                    expected.extend([word(a as f64), word(x), a as u64, -7i64 as u64]);
                    let bools = [a == c, a != c, a < c, a <= c, x == y, x != y, x < y, x <= y];
                    expected.extend(bools.map(u64::from));
                    expected.push(u64::from((a as u64) < 64));
                    expected.push(word(if x < y { x } else { y }));
                    let less = u64::from(x < y);
                    expected.extend([1 - less, less, 1 - less]);
                    for (result, overflow) in
                        [a.overflowing_add(c), a.overflowing_sub(c), a.overflowing_mul(c)]
                    {
                        expected.extend([result as u64, u64::from(overflow)]);
                    }
                    expected.extend(REALS.map(word));
                    expected.push(word(0.1));
                    expected.extend(INTS.map(|n| n as u64));
                    assert_eq!(expected.len(), got.len());
                    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
                        let nans = (12..25).contains(&i) || i == 37;
                        let nans = nans
                            && f64::from_bits(*got).is_nan()
                            && f64::from_bits(*expected).is_nan();
                        assert!(
                            got == expected || nans,
                            "result {i} of {a}, {c}, {x}, {y}: {got:x}, not {expected:x}"
                        );
                    }
                }
            }
        }
    }
}

const MATH: [RealOp; 44] = [
    RealOp::Add,
    RealOp::Sub,
    RealOp::Mul,
    RealOp::Div,
    RealOp::Neg,
    RealOp::Rem,
    RealOp::Pow,
    RealOp::Exp,
    RealOp::Log,
    RealOp::Sqrt,
    RealOp::Sin,
    RealOp::Cos,
    RealOp::Tan,
    RealOp::Asin,
    RealOp::Acos,
    RealOp::Atan,
    RealOp::Sinh,
    RealOp::Cosh,
    RealOp::Tanh,
    RealOp::Asinh,
    RealOp::Acosh,
    RealOp::Atanh,
    RealOp::Expm1,
    RealOp::Log1p,
    RealOp::Cbrt,
    RealOp::Sigmoid,
    RealOp::Softplus,
    RealOp::Erf,
    RealOp::Erfc,
    RealOp::Lgamma,
    RealOp::Polygamma(0),
    RealOp::Polygamma(1),
    RealOp::Polygamma(2),
    RealOp::Polygamma(7),
    RealOp::Polygamma(50),
    RealOp::Atan2,
    RealOp::Hypot,
    RealOp::Unit,
    RealOp::Sech,
    RealOp::OneMinusSquare,
    RealOp::Abs,
    RealOp::Sign,
    RealOp::Min,
    RealOp::Max,
];

#[test]
fn real_operations_are_those_of_the_table() {
    if !compiler() {
        return;
    }
    let mut b = FunctionBuild::entry();
    let (x, y) = (b.arg(LowTy::Real, 0), b.arg(LowTy::Real, 1));
    for op in MATH {
        b.give(LowTy::Real, Expr::Math(op, r(x), r(y)));
    }
    let n = b.arg(LowTy::Int, 2);
    let power = b.reg(LowTy::Real);
    b.push(runtime(&[power], Runtime::PowInt, &[r(x), r(n)]));
    b.result(LowTy::Real, r(power));
    let programs = [module(vec![b.function("main", false, false)], &[], &[])];
    for mut state in CMachine::both(&programs) {
        let mut points = REALS.to_vec();
        points
            .extend([0.3, -0.3, 1.0, 2.0, -3.0, -3.3, 1.4616, 12.5, 0.999, 1.0001, 700.0, -7.25e5]);
        for x in &points {
            for y in &points {
                let n = *y as i64;
                let got = state.call::<44>(0, &[word(*x), word(*y), n as u64]).unwrap();
                for (i, got) in got.iter().enumerate() {
                    let got = f64::from_bits(*got);
                    let (name, expected) = match MATH.get(i) {
                        Some(op) => (format!("{op:?}"), real::eval(*op, *x, *y)),
                        None => ("PowInt".to_string(), real::power(*x, n)),
                    };
                    let close = (got - expected).abs() <= 2e-13 * expected.abs();
                    // The evaluator's has values there.
                    let outside = i == 20 && *x < 1.0 && got.is_nan();
                    let same =
                        got == expected && got.is_sign_negative() == expected.is_sign_negative();
                    let both_nan = got.is_nan() && expected.is_nan();
                    let close = close && expected.is_finite() && expected != 0.0;
                    assert!(
                        same || both_nan || close || outside,
                        "{name}({x}, {y}) = {got}, not {expected}"
                    );
                }
            }
        }
    }
}

/// Sums of `1/(i+1)`, counting and reducing in different ways, in loops that poll every so many steps.
fn loops(every: i64) -> LowModule {
    let mut b = FunctionBuild::entry();
    let (data, n) = (b.arg(LowTy::Ptr, 0), b.arg(LowTy::Int, 1));
    // The sum, the largest and the smallest, in any order.
    for (how, op, zero) in [
        (Reduction::Add, RealOp::Add, 0.0),
        (Reduction::Max, RealOp::Max, f64::NEG_INFINITY),
        (Reduction::Min, RealOp::Min, f64::INFINITY),
    ] {
        let acc = b.set(LowTy::Real, Expr::Copy(Operand::Real(zero)));
        let (i, x) = (b.reg(LowTy::Int), b.reg(LowTy::Real));
        b.push(Stmt::For(Box::new(For {
            index: i,
            from: Operand::Int(0),
            to: r(n),
            body: vec![
                Stmt::Set(x, Expr::Load(LowTy::Real, element(r(data), r(i), 0))),
                Stmt::Set(acc, Expr::Math(op, r(acc), r(x))),
            ],
            independent: true,
            separate: true,
            reductions: vec![(acc, how)],
            most: i64::MAX,
            every,
            site: SiteId(0),
        })));
        b.result(LowTy::Real, r(acc));
    }
    // A value that is carried, first set within the loop; the end changes and is that of the beginning.
    let (end, last) = (b.set(LowTy::Int, Expr::Copy(r(n))), b.reg(LowTy::Int));
    let (i, first, sum) = (b.reg(LowTy::Int), b.reg(LowTy::Bool), b.reg(LowTy::Int));
    b.push(Stmt::Set(last, Expr::Copy(Operand::Int(0))));
    b.push(Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(0),
        to: r(end),
        body: vec![
            Stmt::Set(first, Expr::Compare(Compare::IntEq, r(i), Operand::Int(0))),
            Stmt::If(
                r(first),
                vec![Stmt::Set(sum, Expr::Copy(Operand::Int(5)))],
                vec![Stmt::Set(sum, Expr::Binary(Binary::IntAdd, r(sum), r(i)))],
            ),
            Stmt::Set(last, Expr::Copy(r(sum))),
            Stmt::Set(end, Expr::Binary(Binary::IntAdd, r(end), Operand::Int(1))),
        ],
        independent: false,
        separate: false,
        reductions: vec![],
        most: i64::MAX,
        every,
        site: SiteId(0),
    })));
    b.result(LowTy::Int, r(last));
    b.result(LowTy::Int, r(end));
    // Breaks within a switch within a loop within a loop.
    let (k, count) = (b.reg(LowTy::Int), b.reg(LowTy::Int));
    b.push(Stmt::Set(k, Expr::Copy(Operand::Int(0))));
    b.push(Stmt::Set(count, Expr::Copy(Operand::Int(0))));
    let add = |n: i64| Stmt::Set(count, Expr::Binary(Binary::IntAdd, r(count), Operand::Int(n)));
    b.push(Stmt::Loop(vec![
        Stmt::Set(k, Expr::Binary(Binary::IntAdd, r(k), Operand::Int(1))),
        Stmt::Loop(vec![add(1), Stmt::Break]),
        Stmt::Switch(
            r(k),
            vec![
                (3, vec![add(10)]),
                (5, vec![Stmt::Loop(vec![add(100), Stmt::Break]), Stmt::Break]),
                (i64::MIN, vec![Stmt::Break]),
            ],
            vec![add(1000)],
        ),
    ]));
    b.result(LowTy::Int, r(count));
    // Independent steps that store: elements become their squares.
    let (i, x, y, cond) =
        (b.reg(LowTy::Int), b.reg(LowTy::Real), b.reg(LowTy::Real), b.reg(LowTy::Bool));
    b.push(Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(1),
        to: r(n),
        body: vec![
            Stmt::Set(x, Expr::Load(LowTy::Real, element(r(data), r(i), 0))),
            Stmt::Set(cond, Expr::Compare(Compare::Lt, r(x), Operand::Real(0.0))),
            Stmt::If(
                r(cond),
                vec![Stmt::Set(y, Expr::Copy(Operand::Real(0.0)))],
                vec![Stmt::Set(y, Expr::Binary(Binary::Mul, r(x), r(x)))],
            ),
            Stmt::Store(LowTy::Real, element(r(data), r(i), 0), r(y)),
        ],
        independent: true,
        separate: true,
        reductions: vec![],
        most: i64::MAX,
        every,
        site: SiteId(0),
    })));
    module(vec![b.function("main", every > 0, false)], &[], &[])
}

#[test]
fn loops_and_branches() {
    if !compiler() {
        return;
    }
    for mut state in CMachine::both(&[0, 1, 3, 64].map(loops)) {
        for (program, n) in (0..4).flat_map(|program| [1, 2, 3, 100, 1001].map(|n| (program, n))) {
            for nan in [None, Some(n / 2), Some(n - 1)] {
                let mut data: Vec<f64> = (0..n).map(|i| ((i * 37) % 101) as f64 - 50.0).collect();
                if let Some(i) = nan {
                    data[i] = f64::NAN;
                }
                let before = data.clone();
                let got = state.call::<6>(program, &[data.as_mut_ptr() as u64, n as u64]).unwrap();
                let sum: f64 = before.iter().sum();
                let max =
                    before.iter().fold(f64::NEG_INFINITY, |a, x| real::eval(RealOp::Max, a, *x));
                let min = before.iter().fold(f64::INFINITY, |a, x| real::eval(RealOp::Min, a, *x));
                for (got, expected) in got.iter().zip([sum, max, min]) {
                    let got = f64::from_bits(*got);
                    assert!(
                        got == expected || (got.is_nan() && expected.is_nan()),
                        "{got} {expected}"
                    );
                }
                assert_eq!(got[3] as usize, 5 + n * (n - 1) / 2);
                assert_eq!(got[4] as usize, 2 * n);
                assert_eq!(got[5], 5 + 3 * 1000 + 10 + 100);
                for (i, (x, y)) in before.iter().zip(&data).enumerate() {
                    let expected = match i {
                        0 => *x,
                        _ if *x < 0.0 => 0.0,
                        _ => x * x,
                    };
                    assert!(*y == expected || expected.is_nan() && y.is_nan(), "{y} {expected}");
                }
            }
        }
    }
}

/// `divide(a, b) → (a / b, a % b, 0.5)`, or fails; `fib(n)`; `spin(n)`: recursion without end for negative n.
fn calls() -> Vec<LowFunction> {
    let mut b = FunctionBuild::default();
    let (x, y) = (b.param(LowTy::Int), b.param(LowTy::Int));
    let zero = b.set(LowTy::Bool, Expr::Compare(Compare::IntEq, r(y), Operand::Int(0)));
    b.push(Stmt::If(r(zero), vec![raise(Raise::Int(IntOp::Div), vec![r(x), r(y)], 7)], vec![]));
    let q = b.set(LowTy::Int, Expr::Binary(Binary::IntDiv, r(x), r(y)));
    let m = b.set(LowTy::Int, Expr::Binary(Binary::IntRem, r(x), r(y)));
    b.results = vec![LowTy::Int, LowTy::Int, LowTy::Real];
    b.push(Stmt::Return(vec![r(q), r(m), Operand::Real(0.5)]));
    let divide = b.function("divide", true, false);

    let mut b = FunctionBuild::default();
    let n = b.param(LowTy::Int);
    b.results = vec![LowTy::Int];
    let small = b.set(LowTy::Bool, Expr::Compare(Compare::IntLt, r(n), Operand::Int(2)));
    b.push(Stmt::If(r(small), vec![Stmt::Return(vec![r(n)])], vec![]));
    let mut sums = vec![];
    for k in [1, 2] {
        let less = b.set(LowTy::Int, Expr::Binary(Binary::IntSub, r(n), Operand::Int(k)));
        let f = b.reg(LowTy::Int);
        b.push(call(&[f], 1, &[r(less)], 20 + k as u32));
        sums.push(f);
    }
    let (sum, overflow) = (b.reg(LowTy::Int), b.reg(LowTy::Bool));
    b.push(Stmt::Checked { op: Checked::Add, result: sum, overflow, a: r(sums[0]), b: r(sums[1]) });
    b.push(Stmt::If(
        r(overflow),
        vec![raise(Raise::Int(IntOp::Add), vec![r(sums[0]), r(sums[1])], 25)],
        vec![],
    ));
    b.push(Stmt::Return(vec![r(sum)]));
    let fib = b.function("fib", true, true);

    let mut b = FunctionBuild::default();
    let n = b.param(LowTy::Int);
    b.results = vec![LowTy::Int];
    let done = b.set(LowTy::Bool, Expr::Compare(Compare::IntEq, r(n), Operand::Int(0)));
    b.push(Stmt::If(r(done), vec![Stmt::Return(vec![Operand::Int(0)])], vec![]));
    let less = b.set(LowTy::Int, Expr::Binary(Binary::IntSub, r(n), Operand::Int(1)));
    let f = b.reg(LowTy::Int);
    b.push(call(&[f], 2, &[r(less)], 30));
    let more = b.set(LowTy::Int, Expr::Binary(Binary::IntAdd, r(f), Operand::Int(1)));
    b.push(Stmt::Return(vec![r(more)]));
    let spin = b.function("spin", true, true);

    // Nothing is given by one that fails, several values by one that does not.
    let mut b = FunctionBuild::default();
    let n = b.param(LowTy::Real);
    let bad = b.set(LowTy::Bool, Expr::Compare(Compare::Lt, r(n), Operand::Real(0.0)));
    b.push(Stmt::If(r(bad), vec![raise(Raise::Round(Rounding::Floor), vec![r(n)], 40)], vec![]));
    let check = b.function("check", true, false);
    let mut b = FunctionBuild::default();
    let n = b.param(LowTy::Real);
    let half = b.set(LowTy::Real, Expr::Binary(Binary::Mul, r(n), Operand::Real(0.5)));
    b.results = vec![LowTy::Real, LowTy::Bool];
    b.push(Stmt::Return(vec![r(half), Operand::Bool(true)]));
    let halve = b.function("halve", false, false);
    vec![divide, fib, spin, check, halve]
}

#[test]
fn calls_and_failures() {
    if !compiler() {
        return;
    }
    let mut programs = vec![];
    // 0: divide, check and halve.
    let mut b = FunctionBuild::entry();
    let (x, y, z) = (b.arg(LowTy::Int, 0), b.arg(LowTy::Int, 1), b.arg(LowTy::Real, 2));
    let (q, m, h) = (b.reg(LowTy::Int), b.reg(LowTy::Int), b.reg(LowTy::Real));
    b.push(call(&[q, m, h], 0, &[r(x), r(y)], 50));
    b.push(call(&[], 3, &[r(z)], 51));
    let (half, yes) = (b.reg(LowTy::Real), b.reg(LowTy::Bool));
    b.push(call(&[half, yes], 4, &[r(z)], 52));
    for (ty, reg) in [
        (LowTy::Int, q),
        (LowTy::Int, m),
        (LowTy::Real, h),
        (LowTy::Real, half),
        (LowTy::Bool, yes),
    ] {
        b.result(ty, r(reg));
    }
    let mut functions = calls();
    functions.push(b.function("main", true, false));
    programs.push(module(functions, &[], &[]));
    // 1: fib, 2: spin.
    for f in [1, 2] {
        let mut b = FunctionBuild::entry();
        let (n, result) = (b.arg(LowTy::Int, 0), b.reg(LowTy::Int));
        b.push(call(&[result], f, &[r(n)], NOWHERE.0));
        b.result(LowTy::Int, r(result));
        let mut functions = calls();
        functions.push(b.function("main", true, false));
        programs.push(module(functions, &[], &[]));
    }
    for mut state in CMachine::both(&programs) {
        let minus_seven = -7i64 as u64;
        let got = state.call::<5>(0, &[minus_seven, 2, word(3.0)]).unwrap();
        assert_eq!(got, [-3i64 as u64, -1i64 as u64, word(0.5), word(1.5), 1]);
        let failed = state.call::<5>(0, &[minus_seven, 0, word(3.0)]).unwrap_err();
        assert_eq!(failed.raise, Raise::Int(IntOp::Div));
        assert!(
            int::apply(IntOp::Div, failed.operands[0] as i64, failed.operands[1] as i64).is_err()
        );
        assert_eq!((failed.operands[0], failed.site), (minus_seven, SiteId(7)));
        assert_eq!((failed.calls.as_slice(), failed.depth), ([SiteId(50)].as_slice(), 1));
        let failed = state.call::<5>(0, &[minus_seven, 2, word(-3.5)]).unwrap_err();
        assert_eq!(failed.raise, Raise::Round(Rounding::Floor));
        assert_eq!((failed.operands[0], failed.site), (word(-3.5), SiteId(40)));
        assert_eq!(failed.calls, [SiteId(51)]);

        assert_eq!(state.call::<1>(1, &[20]).unwrap(), [6765]);
        // The stack may grow by half a megabyte.
        assert_eq!(state.call::<1>(2, &[1000]).unwrap(), [1000]);
        let failed = state.call::<1>(2, &[-1i64 as u64]).unwrap_err();
        assert_eq!((failed.raise, failed.site), (Raise::Stopped, SiteId(99)));
        assert!(failed.depth > 1000 && failed.calls.len() == 128, "{}", failed.depth);
        assert!(failed.calls.iter().all(|site| *site == SiteId(30)));
        let CMachine::Own(run) = &state else { continue };
        // Another thread ends a run so.
        run.stack_end().store(usize::MAX, Ordering::Relaxed);
        let failed = state.call::<1>(1, &[20]).unwrap_err();
        assert_eq!((failed.raise, failed.depth), (Raise::Stopped, 0));
    }
}

/// 0: shows a Real, an Int, a truth value and a text; 1: appends and compares texts, and fails with one.
fn texts() -> Vec<LowModule> {
    let mut b = FunctionBuild::entry();
    for (i, (ty, op)) in [
        (LowTy::Real, Runtime::ShowReal),
        (LowTy::Int, Runtime::ShowInt),
        (LowTy::Bool, Runtime::ShowBool),
        (LowTy::Ptr, Runtime::ShowText),
    ]
    .into_iter()
    .enumerate()
    {
        let (x, shown) = (b.arg(ty, i as i64), b.reg(LowTy::Ptr));
        b.push(runtime(&[shown], op, &[r(x)]));
        b.result(LowTy::Ptr, r(shown));
    }
    let show = module(vec![b.function("main", false, false)], &[], &[]);
    let mut b = FunctionBuild::entry();
    let (x, y) = (b.arg(LowTy::Ptr, 0), b.arg(LowTy::Ptr, 1));
    let (both, all, order) = (b.reg(LowTy::Ptr), b.reg(LowTy::Ptr), b.reg(LowTy::Int));
    b.push(runtime(&[both], Runtime::AppendText, &[r(x), r(y)]));
    b.push(runtime(&[all], Runtime::AppendText, &[r(both), Operand::Text(1)]));
    b.push(runtime(&[order], Runtime::CompareText, &[r(x), r(y)]));
    b.push(runtime(&[], Runtime::Free, &[r(both)]));
    b.result(LowTy::Ptr, r(all));
    b.result(LowTy::Int, r(order));
    let equal = b.set(LowTy::Bool, Expr::Compare(Compare::IntEq, r(order), Operand::Int(0)));
    b.push(Stmt::If(r(equal), vec![raise(Raise::Fail, vec![r(all)], 3)], vec![]));
    let append = module(vec![b.function("main", true, false)], &[], &["unused", "?\n\"é\\\u{0}1"]);
    vec![show, append]
}

#[test]
fn texts_and_what_is_shown() {
    if !compiler() {
        return;
    }
    for mut state in CMachine::both(&texts()) {
        let text = text_block("plain");
        let mut show_all = |x: f64, n: i64, b: bool, t: &[u64]| -> [String; 4] {
            let words = [word(x), n as u64, u64::from(b), t.as_ptr() as u64];
            let blocks = state.call::<4>(0, &words).unwrap();
            let texts = blocks.map(bytes);
            for block in blocks {
                state.release(block);
            }
            assert!(state.has_live(0));
            texts
        };
        for x in REALS.into_iter().chain(difficult()) {
            let [shown, ..] = show_all(x, 0, false, &text);
            assert_eq!(shown, show::real(x), "{x:e}");
        }
        for n in INTS {
            assert_eq!(show_all(0.0, n, n > 0, &text)[1..3], [n.to_string(), (n > 0).to_string()]);
        }
        let mut special = String::new();
        for c in (0u32..0x2100).chain([0xfeff, 0x1f600, 0x10ffff]).filter_map(char::from_u32) {
            special.push(c);
        }
        for t in ["", "a\"b\\c\n\t", &special] {
            assert_eq!(show_all(0.0, 0, false, &text_block(t))[3], show::string(t));
        }

        let more = ["", "a", "ab", "b", "é", "日本", "😀"];
        for a in more {
            for b in more {
                let (x, y) = (text_block(a), text_block(b));
                let words = [x.as_ptr() as u64, y.as_ptr() as u64];
                let all = format!("{a}{b}?\n\"é\\\u{0}1");
                match state.call::<2>(1, &words) {
                    Ok([block, order]) => {
                        assert_eq!((bytes(block), order as i64), (all, a.cmp(b) as i64));
                        state.release(block);
                    }
                    Err(failed) => {
                        assert_eq!(a, b);
                        assert_eq!((failed.raise, failed.text), (Raise::Fail, all));
                    }
                }
                assert!(state.has_live(0));
            }
        }
    }
}

/// One for each operation on texts, in order.
fn text_operations() -> Vec<LowModule> {
    let ty = |leaf: &TextType| match leaf {
        TextType::Int => LowTy::Int,
        TextType::Real => LowTy::Real,
        TextType::Text => LowTy::Ptr,
    };
    let of = |op: &TextOp| {
        let (leaves, result) = on_texts::signature(*op);
        let mut b = FunctionBuild::entry();
        let args: Vec<Operand> =
            leaves.iter().enumerate().map(|(i, leaf)| r(b.arg(ty(leaf), i as i64))).collect();
        let given = b.reg(ty(&result));
        b.push(runtime(&[given], Runtime::Text(*op), &args));
        b.result(ty(&result), r(given));
        module(vec![b.function("main", false, false)], &[], &[])
    };
    TextOp::ALL.iter().map(of).collect()
}

#[test]
fn operations_on_texts() {
    if !compiler() {
        return;
    }
    let mut all = String::new();
    all.extend(('\0'..='\u{2fff}').chain('\u{a640}'..='\u{abff}').chain('\u{10400}'..='\u{1e943}'));
    let texts = [
        "",
        "a",
        "ab",
        "é€😀b",
        "straße İ",
        "1",
        "-2.5e-3",
        "+.5",
        "5.",
        ".",
        "1e400",
        "1e-400",
        "1e",
        "0x10",
        "inf",
        "-INFINITY",
        "nan",
        "9007199254740993",
        "1.7976931348623157081452742373170435679807056752584e308",
        "1e99999999999999",
        "0.000000000000000000000000000001",
        "2.2250738585072011e-308",
        "1 ",
        "--1",
        &all,
    ];
    let ints = [0, 1, 2, 3, 5, 7, 20, 100, 101, -1, i64::MAX, i64::MIN, 0xd800, 0x1f600, 0x110000];
    let reals = [
        0.0,
        -0.0,
        2.5,
        2.675,
        -1.0 / 3.0,
        1e300,
        5e-324,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.05,
    ];
    for mut state in CMachine::both(&text_operations()) {
        for (number, op) in TextOp::ALL.iter().enumerate() {
            let leaves = on_texts::signature(*op).0;
            // All combinations of operands.
            let mut calls: Vec<Vec<on_texts::TextOperand<'_>>> = vec![Vec::new()];
            for leaf in leaves {
                let values: Vec<on_texts::TextOperand<'_>> = match leaf {
                    TextType::Int => ints.iter().map(|n| on_texts::TextOperand::Int(*n)).collect(),
                    TextType::Real => {
                        reals.iter().map(|x| on_texts::TextOperand::Real(*x)).collect()
                    }
                    TextType::Text => {
                        texts.iter().map(|t| on_texts::TextOperand::Text(t)).collect()
                    }
                };
                let longer = calls.iter().flat_map(|call| {
                    values.iter().map(move |v| call.iter().chain([v]).cloned().collect())
                });
                calls = longer.collect();
            }
            for call in calls {
                let blocks: Vec<Option<Vec<u64>>> = call
                    .iter()
                    .map(|operand| match operand {
                        on_texts::TextOperand::Text(t) => Some(text_block(t)),
                        on_texts::TextOperand::Int(_) | on_texts::TextOperand::Real(_) => None,
                    })
                    .collect();
                let words: Vec<u64> = call
                    .iter()
                    .zip(&blocks)
                    .map(|(operand, block)| match (operand, block) {
                        (on_texts::TextOperand::Int(n), _) => *n as u64,
                        (on_texts::TextOperand::Real(x), _) => word(*x),
                        (on_texts::TextOperand::Text(_), block) => {
                            block.as_ref().unwrap().as_ptr() as u64
                        }
                    })
                    .collect();
                let [given] = state.call::<1>(number, &words).unwrap();
                match on_texts::apply(*op, &call).unwrap() {
                    TextResult::Int(n) => assert_eq!(given as i64, n, "{op:?} {call:?}"),
                    TextResult::Real(x) => {
                        let given = f64::from_bits(given);
                        let same = given.to_bits() == x.to_bits() || given.is_nan() && x.is_nan();
                        assert!(same, "{op:?} {call:?}: {given:e}, not {x:e}");
                    }
                    TextResult::Text(t) => {
                        assert_eq!(bytes(given), t, "{op:?} {call:?}");
                        state.release(given);
                    }
                }
                assert!(state.has_live(0));
            }
        }
    }
}

/// Numbers whose shortest text is not the nearest of its length, ties, all powers of two and ten, and many
/// others.
fn difficult() -> impl Iterator<Item = f64> {
    let ties = (0..64).map(|k| (1_125_899_906_842_624.0 + 0.25) + 0.5 * f64::from(k));
    let two = (-1074..1024).map(|e| 2f64.powi(e));
    let ten = (-323..309).map(|e| format!("1e{e}").parse::<f64>().unwrap_or(0.0));
    let near = [1e16, 9999999999999998.0, 1e-4, 9.999e-5, 123456.789, 0.1, 1.0 / 3.0, 5e-324, 1e23];
    let mut seed = 42u64;
    let random = std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f64::from_bits(seed ^ seed >> 29)
    });
    let mut small = 7u64;
    let decimal = std::iter::repeat_with(move || {
        small = small.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (small >> 44) as f64 / 1000.0
    });
    ties.chain(two).chain(ten).chain(near).chain(random.take(60_000)).chain(decimal.take(20_000))
}

/// 0: sorts Reals, 1: Ints, 2: texts; `(data, length, to)`.
fn sorts() -> Vec<LowModule> {
    [Runtime::SortReals, Runtime::SortInts, Runtime::SortTexts]
        .into_iter()
        .map(|op| {
            let mut b = FunctionBuild::entry();
            let (data, n, to) = (b.arg(LowTy::Ptr, 0), b.arg(LowTy::Int, 1), b.arg(LowTy::Ptr, 2));
            b.push(runtime(&[], op, &[r(data), r(n), r(to)]));
            module(vec![b.function("main", false, false)], &[], &[])
        })
        .collect()
}

#[test]
fn sorting_is_stable() {
    if !compiler() {
        return;
    }
    for mut state in CMachine::both(&sorts()) {
        let mut sort = |program: usize, words: &[u64]| -> Vec<i64> {
            let mut to = vec![-1i64; words.len()];
            let args = [words.as_ptr() as u64, words.len() as u64, to.as_mut_ptr() as u64];
            state.call::<0>(program, &args).unwrap();
            to
        };
        let mut seed = 1u64;
        for n in [0, 1, 2, 15, 16, 17, 33, 100, 1000, 4096] {
            for most in [3u64, 50, 1 << 40] {
                let ints: Vec<i64> = (0..n)
                    .map(|_| {
                        seed = seed
                            .wrapping_mul(6364136223846793005)
                            .wrapping_add(1442695040888963407);
                        (seed >> 20) as i64 % most as i64 - most as i64 / 2
                    })
                    .collect();
                let reals: Vec<f64> = ints
                    .iter()
                    .map(|i| match i % 5 {
                        0 if i % 2 == 0 => f64::NAN,
                        1 => 0.0,
                        -1 => -0.0,
                        _ => *i as f64 / 3.0,
                    })
                    .collect();
                let texts: Vec<String> = ints.iter().map(|i| format!("{}", i % 1000)).collect();
                let blocks: Vec<Vec<u64>> = texts.iter().map(|t| text_block(t)).collect();

                let mut expected: Vec<i64> = (0..n as i64).collect();
                expected.sort_by_key(|i| ints[*i as usize]);
                let words: Vec<u64> = ints.iter().map(|i| *i as u64).collect();
                assert_eq!(sort(1, &words), expected);

                let mut expected: Vec<i64> = (0..n as i64).collect();
                expected.sort_by(|i, j| {
                    let (x, y) = (reals[*i as usize], reals[*j as usize]);
                    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
                });
                let words: Vec<u64> = reals.iter().map(|x| x.to_bits()).collect();
                assert_eq!(sort(0, &words), expected);

                let mut expected: Vec<i64> = (0..n as i64).collect();
                expected.sort_by_key(|i| &texts[*i as usize]);
                let words: Vec<u64> = blocks.iter().map(|b| b.as_ptr() as u64).collect();
                assert_eq!(sort(2, &words), expected);
            }
        }
    }
}

/// 0: a list of n boxes with an array of references each, freed if the second argument is 0; 1: a stack; 2: a
/// constant.
fn blocks() -> Vec<LowModule> {
    let layouts = [
        Layout::Fields([true, true, false].into()),
        Layout::Fields([].into()),
        Layout::Stack([false, true].into()),
    ];
    let memory = |b: &mut FunctionBuild, block: Reg, site: u32| {
        let none = b.set(LowTy::Bool, Expr::Compare(Compare::IntEq, r(block), Operand::Null));
        b.push(Stmt::If(r(none), vec![raise(Raise::Memory, vec![], site)], vec![]));
    };
    // cell(next, i) → a box of (next, an array of one reference to an array of one Real and a null, i)
    let mut b = FunctionBuild::default();
    let (next, i) = (b.param(LowTy::Ptr), b.param(LowTy::Int));
    let (cell, refs, data) = (b.reg(LowTy::Ptr), b.reg(LowTy::Ptr), b.reg(LowTy::Ptr));
    b.push(runtime(&[cell], Runtime::Box, &[Operand::Int(3)]));
    memory(&mut b, cell, 1);
    b.push(runtime(&[refs], Runtime::Zeros, &[Operand::Int(REFERENCES), Operand::Int(16)]));
    memory(&mut b, refs, 2);
    b.push(runtime(&[data], Runtime::Array, &[Operand::Int(PLAIN), Operand::Int(8)]));
    memory(&mut b, data, 3);
    let x = b.set(LowTy::Real, Expr::Unary(Unary::ToReal, r(i)));
    b.push(Stmt::Store(LowTy::Real, at(r(data), DATA), r(x)));
    b.push(Stmt::Store(LowTy::Ptr, at(r(refs), DATA), r(data)));
    b.push(Stmt::Store(LowTy::Ptr, at(r(cell), FIELDS), r(next)));
    b.push(Stmt::Store(LowTy::Ptr, at(r(cell), FIELDS + 8), r(refs)));
    b.push(Stmt::Store(LowTy::Int, at(r(cell), FIELDS + 16), r(i)));
    b.results = vec![LowTy::Ptr];
    b.push(Stmt::Return(vec![r(cell)]));
    let cell_function = b.function("cell", true, false);
    let mut b = FunctionBuild::entry();
    let (n, keep) = (b.arg(LowTy::Int, 0), b.arg(LowTy::Int, 1));
    let list = b.set(LowTy::Ptr, Expr::Copy(Operand::Static(4)));
    let (i, sum) = (b.reg(LowTy::Int), b.reg(LowTy::Real));
    b.push(Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(0),
        to: r(n),
        body: vec![call(&[list], 0, &[r(list), r(i)], 10)],
        independent: false,
        separate: false,
        reductions: vec![],
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    })));
    b.push(Stmt::Set(sum, Expr::Copy(Operand::Real(0.0))));
    let (cell, layout, end) = (b.reg(LowTy::Ptr), b.reg(LowTy::Int), b.reg(LowTy::Bool));
    let (refs, data, x) = (b.reg(LowTy::Ptr), b.reg(LowTy::Ptr), b.reg(LowTy::Real));
    b.push(Stmt::Set(cell, Expr::Copy(r(list))));
    b.push(Stmt::Loop(vec![
        Stmt::Set(layout, Expr::Load(LowTy::Int, at(r(cell), LAYOUT))),
        Stmt::Set(end, Expr::Compare(Compare::IntEq, r(layout), Operand::Int(4))),
        Stmt::If(r(end), vec![Stmt::Break], vec![]),
        Stmt::Set(refs, Expr::Load(LowTy::Ptr, at(r(cell), FIELDS + 8))),
        Stmt::Set(data, Expr::Load(LowTy::Ptr, element(r(refs), Operand::Int(0), DATA))),
        Stmt::Set(x, Expr::Load(LowTy::Real, at(r(data), DATA))),
        Stmt::Set(sum, Expr::Binary(Binary::Add, r(sum), r(x))),
        Stmt::Set(cell, Expr::Load(LowTy::Ptr, at(r(cell), FIELDS))),
    ]));
    b.result(LowTy::Real, r(sum));
    b.result(LowTy::Ptr, r(list));
    let freed = b.set(LowTy::Bool, Expr::Compare(Compare::IntEq, r(keep), Operand::Int(0)));
    let nothing = b.set(LowTy::Bool, Expr::Compare(Compare::IntLt, r(n), Operand::Int(1)));
    let some = b.set(LowTy::Bool, Expr::Unary(Unary::Not, r(nothing)));
    let freed = b.set(LowTy::Bool, Expr::Binary(Binary::And, r(freed), r(some)));
    b.push(Stmt::If(r(freed), vec![runtime(&[], Runtime::Free, &[r(list)])], vec![]));
    let list = module(vec![cell_function, b.function("main", true, false)], &layouts, &[]);

    // A stack of (i, a new array), its sum, freed.
    let mut b = FunctionBuild::entry();
    let n = b.arg(LowTy::Int, 0);
    let (stack, i) = (b.reg(LowTy::Ptr), b.reg(LowTy::Int));
    b.push(runtime(&[stack], Runtime::StackNew, &[Operand::Int(5)]));
    let (room, data, length, more) =
        (b.reg(LowTy::Bool), b.reg(LowTy::Ptr), b.reg(LowTy::Int), b.reg(LowTy::Int));
    let (tuples, first, value) = (b.reg(LowTy::Ptr), b.reg(LowTy::Int), b.reg(LowTy::Ptr));
    b.push(Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(0),
        to: r(n),
        body: vec![
            runtime(&[room], Runtime::StackGrow, &[r(stack)]),
            Stmt::If(r(room), vec![], vec![raise(Raise::Memory, vec![], 1)]),
            Stmt::Set(length, Expr::Load(LowTy::Int, at(r(stack), STACK_LENGTH))),
            Stmt::Set(tuples, Expr::Load(LowTy::Ptr, at(r(stack), STACK_DATA))),
            Stmt::Set(first, Expr::Binary(Binary::IntMul, r(length), Operand::Int(2))),
            Stmt::Store(LowTy::Int, element(r(tuples), r(first), 0), r(i)),
            runtime(&[data], Runtime::Array, &[Operand::Int(PLAIN), Operand::Int(1000)]),
            Stmt::Set(value, Expr::Offset(element(r(tuples), r(first), 8))),
            Stmt::Store(LowTy::Ptr, at(r(value), 0), r(data)),
            Stmt::Set(more, Expr::Binary(Binary::IntAdd, r(length), Operand::Int(1))),
            Stmt::Store(LowTy::Int, at(r(stack), STACK_LENGTH), r(more)),
        ],
        independent: false,
        separate: false,
        reductions: vec![],
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    })));
    let sum = b.set(LowTy::Int, Expr::Copy(Operand::Int(0)));
    b.push(Stmt::Set(tuples, Expr::Load(LowTy::Ptr, at(r(stack), STACK_DATA))));
    let (x, k) = (b.reg(LowTy::Int), b.reg(LowTy::Int));
    b.push(Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(0),
        to: r(n),
        body: vec![
            Stmt::Set(k, Expr::Binary(Binary::IntMul, r(i), Operand::Int(2))),
            Stmt::Set(x, Expr::Load(LowTy::Int, element(r(tuples), r(k), 0))),
            Stmt::Set(sum, Expr::Binary(Binary::IntAdd, r(sum), r(x))),
        ],
        independent: false,
        separate: false,
        reductions: vec![],
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    })));
    b.result(LowTy::Int, r(sum));
    b.push(runtime(&[], Runtime::Free, &[r(stack)]));
    let stack = module(vec![b.function("main", true, false)], &layouts, &[]);

    // A constant: its state, and a text; computed twice if its state is not kept.
    let mut b = FunctionBuild::entry();
    let (state, value) = (Operand::Constant(1), Operand::Constant(2));
    let done = b.set(LowTy::Int, Expr::Load(LowTy::Int, at(state, 0)));
    let text = b.reg(LowTy::Ptr);
    let open = raise(Raise::Cycle(0), vec![], 5);
    b.push(Stmt::Switch(
        r(done),
        vec![
            (
                0,
                vec![
                    runtime(&[text], Runtime::ShowInt, &[Operand::Int(41)]),
                    Stmt::Store(LowTy::Ptr, at(value, 0), r(text)),
                    Stmt::Store(LowTy::Int, at(state, 0), Operand::Int(2)),
                ],
            ),
            (2, vec![]),
        ],
        vec![open],
    ));
    b.give(LowTy::Ptr, Expr::Load(LowTy::Ptr, at(value, 0)));
    b.result(LowTy::Int, r(done));
    let mut constant = module(vec![b.function("main", true, false)], &[], &[]);
    constant.constant_words = 3;
    constant.constant_references = vec![false, false, true];
    vec![list, stack, constant.clone(), constant]
}

#[test]
fn blocks_are_counted_and_freed() {
    if !compiler() {
        return;
    }
    for mut state in CMachine::both(&blocks()) {
        for n in [0, 1, 10, 300_000u64] {
            let expected = (n * n.saturating_sub(1) / 2) as f64;
            let [sum, _] = state.call::<2>(0, &[n, 0]).unwrap();
            assert_eq!(f64::from_bits(sum), expected, "of {n}");
            assert!(state.has_live(0));
            let [sum, list] = state.call::<2>(0, &[n, 1]).unwrap();
            assert_eq!(f64::from_bits(sum), expected);
            assert!(state.has_live(3 * n as i64));
            state.release(list);
            assert!(state.has_live(0));
        }
        for n in [0, 1, 1000u64] {
            assert_eq!(state.call::<1>(1, &[n]).unwrap(), [n * n.saturating_sub(1) / 2]);
            assert!(state.has_live(0));
        }
        // Each of two programs has constants of its own.
        for (program, before) in [(2, 0), (2, 2), (3, 0), (2, 2), (3, 2)] {
            let [text, state_before] = state.call::<2>(program, &[]).unwrap();
            assert_eq!((bytes(text).as_str(), state_before), ("41", before));
        }
        match &mut state {
            CMachine::Own(run) => {
                assert_eq!(run.live(), 2);
                run.release_constants();
                assert_eq!(run.live(), 0);
            }
            CMachine::Process(instances) => {
                instances.iter_mut().for_each(Instance::release_constants)
            }
        }
        assert_eq!(state.call::<2>(2, &[]).unwrap()[1], 0);
    }
}

#[test]
fn after_an_error_everything_is_freed() {
    if !compiler() {
        return;
    }
    let mut unit = Unit::new(RuntimeProvider::Own);
    for module in blocks() {
        unit.add(&module);
    }
    let library = compile(unit, &COptions::default()).unwrap_or_else(|e| panic!("{e}"));
    // SAFETY: the host has no functions.
    let run = unsafe { Run::new(Arc::new(library), NO_HOST, 1 << 20).unwrap() };
    let mut state = CMachine::Own(run);
    state.call::<2>(2, &[]).unwrap();
    for _ in 0..3 {
        let failed = state.call::<2>(0, &[300_000, 0]).unwrap_err();
        assert_eq!(failed.raise, Raise::Memory);
        assert!(state.has_live(0));
        // The constant is computed again.
        assert_eq!(state.call::<2>(2, &[]).unwrap()[1], 0);
        assert_eq!(f64::from_bits(state.call::<2>(0, &[10, 0]).unwrap()[0]), 45.0);
    }
}

#[test]
fn the_text_is_the_same_every_time_and_grows_linearly() {
    let make = |n: usize| {
        let mut b = FunctionBuild::entry();
        let x = b.arg(LowTy::Real, 0);
        for i in 0..n {
            let y =
                b.set(LowTy::Real, Expr::Binary(Binary::Mul, r(x), Operand::Real(i as f64 + 0.1)));
            b.push(Stmt::Set(x, Expr::Binary(Binary::Add, r(x), r(y))));
        }
        b.result(LowTy::Real, r(x));
        let mut unit = Unit::new(RuntimeProvider::Own);
        unit.add(&module(vec![b.function("main", false, false)], &[], &[]));
        text(unit)
    };
    assert_eq!(make(10).text, make(10).text);
    let (short, long) = (make(1000).text.len() - make(0).text.len(), make(100_000));
    assert!(long.text.len() - make(0).text.len() < 110 * short);
    assert!(long.largest > 200_000);
    // Nesting as deep as text may be costs no stack.
    let mut body = vec![];
    for _ in 0..20_000 {
        body = vec![Stmt::If(Operand::Bool(true), body, vec![])];
    }
    let mut b = FunctionBuild::entry();
    b.body = body;
    let mut unit = Unit::new(RuntimeProvider::Own);
    let deep = module(vec![b.function("main", false, false)], &[], &[]);
    unit.add(&deep);
    assert!(text(unit).text.len() > 20_000);
    // Terms are dropped by recursion.
    std::mem::forget(deep);
}
