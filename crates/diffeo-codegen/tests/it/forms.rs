//! Every form of Low in machine code. Each module that includes this one has a `compile_for` and a `MATH_ERROR`.

#[path = "low/mod.rs"]
pub(crate) mod low;

use diffeo_array::ir::{Reduction, SiteId};
use diffeo_calculus::eval::{Event, Exceeded, Limits, MemoryLimit};
use diffeo_calculus::prim::real::eval;
use diffeo_calculus::prim::{IntOp, RealOp, Rounding};
use diffeo_codegen::cranelift::{text, CraneliftOptions};
use diffeo_codegen::engine::{Cpu, Instance, RunOptions};
use diffeo_codegen::low::{
    Address, Binary, Checked, Compare, Expr, For, FunctionId, Layout, LowTy, Operand, Raise, Reg,
    Runtime, Stmt, Unary, COUNT, DATA, FIELDS,
};
use low::{at, call, compiled, instance, ints, module, r, reals, run, set, value, Build};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const A: Operand = Operand::Reg(Reg(0));
const B: Operand = Operand::Reg(Reg(1));

#[test]
fn int_operations() {
    let xs = [0, 1, -1, 7, -7, 63, i64::MAX, i64::MIN];
    let shift = |b: i64| (0..64).contains(&b);
    let any = |_: i64| true;
    type IntForm = (Binary, fn(i64, i64) -> i64, fn(i64) -> bool);
    let ops: [IntForm; 11] = [
        (Binary::IntAdd, i64::wrapping_add, any),
        (Binary::IntSub, i64::wrapping_sub, any),
        (Binary::IntMul, i64::wrapping_mul, any),
        (Binary::IntDiv, i64::wrapping_div, |b| b != 0 && b != -1),
        (Binary::IntRem, i64::wrapping_rem, |b| b != 0 && b != -1),
        (Binary::And, |a, b| a & b, any),
        (Binary::Or, |a, b| a | b, any),
        (Binary::Xor, |a, b| a ^ b, any),
        (Binary::ShiftLeft, |a, b| a << b, shift),
        (Binary::ShiftRight, |a, b| (a as u64 >> b) as i64, shift),
        (Binary::ShiftRightSigned, |a, b| a >> b, shift),
    ];
    for (op, expected, fits) in ops {
        for a in xs {
            for b in xs.into_iter().filter(|b| fits(*b)) {
                let found =
                    value(LowTy::Int, LowTy::Int, Expr::Binary(op, A, B), a as u64, b as u64);
                assert_eq!(found as i64, expected(a, b), "{op:?} {a} {b}");
            }
        }
    }
}

#[test]
fn real_operations() {
    let xs = [0.0, -0.0, 1.5, -2.5, 1e300, f64::INFINITY, f64::NAN, 5e-324];
    type RealForm = (Binary, fn(f64, f64) -> f64);
    let ops: [RealForm; 4] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Sub, |a, b| a - b),
        (Binary::Mul, |a, b| a * b),
        (Binary::Div, |a, b| a / b),
    ];
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    for a in xs {
        let unary: [(Unary, f64); 7] = [
            (Unary::Neg, -a),
            (Unary::Abs, a.abs()),
            (Unary::Sqrt, a.sqrt()),
            (Unary::Integral(Rounding::Floor), a.floor()),
            (Unary::Integral(Rounding::Ceil), a.ceil()),
            (Unary::Integral(Rounding::Round), a.round_ties_even()),
            (Unary::Integral(Rounding::Trunc), a.trunc()),
        ];
        for (op, expected) in unary {
            let found = value(LowTy::Real, LowTy::Real, Expr::Unary(op, A), a.to_bits(), 0);
            assert!(same(f64::from_bits(found), expected), "{op:?} {a}");
        }
        for b in xs {
            for (op, expected) in ops {
                let found = value(
                    LowTy::Real,
                    LowTy::Real,
                    Expr::Binary(op, A, B),
                    a.to_bits(),
                    b.to_bits(),
                );
                assert!(same(f64::from_bits(found), expected(a, b)), "{op:?} {a} {b}");
            }
        }
    }
}

#[test]
fn conversions() {
    let one = |param, result, op, a| value(param, result, Expr::Unary(op, A), a, 0);
    assert_eq!(one(LowTy::Int, LowTy::Real, Unary::ToReal, -3i64 as u64), (-3.0f64).to_bits());
    for x in [0.0, -2.75, 2.75, 9.0e18, i64::MIN as f64] {
        assert_eq!(one(LowTy::Real, LowTy::Int, Unary::ToInt, f64::to_bits(x)) as i64, x as i64);
    }
    assert_eq!(one(LowTy::Real, LowTy::Int, Unary::Bits, 1.5f64.to_bits()), 1.5f64.to_bits());
    assert_eq!(one(LowTy::Int, LowTy::Real, Unary::FromBits, 1.5f64.to_bits()), 1.5f64.to_bits());
    assert_eq!(one(LowTy::Bool, LowTy::Int, Unary::FromBool, 1), 1);
    assert_eq!(one(LowTy::Bool, LowTy::Bool, Unary::Not, 1), 0);
    assert_eq!(one(LowTy::Bool, LowTy::Bool, Unary::Not, 0), 1);
}

#[test]
fn comparisons_and_choice() {
    let xs = [f64::NAN, -1.0, -0.0, 0.0, 2.0];
    type CompareForm = (Compare, fn(&f64, &f64) -> bool);
    let ops: [CompareForm; 4] = [
        (Compare::Eq, f64::eq),
        (Compare::Ne, f64::ne),
        (Compare::Lt, f64::lt),
        (Compare::Le, f64::le),
    ];
    for (op, expected) in ops {
        for a in xs {
            for b in xs {
                let compare = Expr::Compare(op, A, B);
                let found = value(LowTy::Real, LowTy::Bool, compare, a.to_bits(), b.to_bits());
                assert_eq!(found, u64::from(expected(&a, &b)), "{op:?} {a} {b}");
            }
        }
    }
    type IntOp = (Compare, fn(i64, i64) -> bool);
    let ops: [IntOp; 5] = [
        (Compare::IntEq, |a, b| a == b),
        (Compare::IntNe, |a, b| a != b),
        (Compare::IntLt, |a, b| a < b),
        (Compare::IntLe, |a, b| a <= b),
        (Compare::Below, |a, b| (a as u64) < b as u64),
    ];
    for (op, expected) in ops {
        for a in [-1, 0, 5] {
            for b in [0, 5, 6] {
                let compare = Expr::Compare(op, A, B);
                let found = value(LowTy::Int, LowTy::Bool, compare, a as u64, b as u64);
                assert_eq!(found, u64::from(expected(a, b)), "{op:?} {a} {b}");
            }
        }
    }
    let select = Expr::Select(A, Operand::Real(1.0), Operand::Real(2.0));
    assert_eq!(value(LowTy::Bool, LowTy::Real, select, 1, 0), 1.0f64.to_bits());
    assert_eq!(value(LowTy::Bool, LowTy::Real, select, 0, 0), 2.0f64.to_bits());
}

/// One program with every real operation of two parameters.
#[test]
fn math_is_that_of_the_evaluator() {
    use RealOp as R;
    let ops = [
        R::Add,
        R::Sub,
        R::Mul,
        R::Div,
        R::Neg,
        R::Rem,
        R::Pow,
        R::Exp,
        R::Log,
        R::Sqrt,
        R::Sin,
        R::Cos,
        R::Tan,
        R::Asin,
        R::Acos,
        R::Atan,
        R::Sinh,
        R::Cosh,
        R::Tanh,
        R::Asinh,
        R::Acosh,
        R::Atanh,
        R::Expm1,
        R::Log1p,
        R::Cbrt,
        R::Sigmoid,
        R::Softplus,
        R::Erf,
        R::Erfc,
        R::Lgamma,
        R::Polygamma(0),
        R::Polygamma(2),
        R::Atan2,
        R::Hypot,
        R::Unit,
        R::Sech,
        R::OneMinusSquare,
        R::Abs,
        R::Sign,
        R::Min,
        R::Max,
    ];
    for cpu in [Cpu::Host, Cpu::Baseline] {
        let mut f = Build::new("f", &[LowTy::Real, LowTy::Real], &vec![LowTy::Real; ops.len() + 5]);
        let mut body = Vec::new();
        let mut results = Vec::new();
        let exprs = ops.map(|op| Expr::Math(op, A, B)).into_iter().chain([
            Expr::Fma(A, B, Operand::Real(-1.0)),
            Expr::Unary(Unary::Integral(Rounding::Floor), A),
            Expr::Unary(Unary::Integral(Rounding::Ceil), A),
            Expr::Unary(Unary::Integral(Rounding::Round), A),
            Expr::Unary(Unary::Integral(Rounding::Trunc), A),
        ]);
        for expr in exprs {
            let y = f.reg(LowTy::Real);
            body.push(set(y, expr));
            results.push(r(y));
        }
        body.push(Stmt::Return(results));
        let module = Arc::new(module(vec![f.body(body)], Vec::new()));
        let code = super::compile_for(&module, cpu);
        let mut program = Instance::new(Arc::new(code), RunOptions::default());
        let xs = [0.3, -0.3, 0.0, -0.0, 1.0, 2.5, -2.0, 700.0, f64::NAN, f64::INFINITY, 1e-9];
        for a in xs {
            for b in xs {
                let found = run(&mut program, &reals(&[a, b]), ops.len() + 5).unwrap();
                let expected = ops.map(|op| eval(op, a, b)).into_iter().chain([
                    a.mul_add(b, -1.0),
                    a.floor(),
                    a.ceil(),
                    a.round_ties_even(),
                    a.trunc(),
                ]);
                for (i, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                    let found = f64::from_bits(found);
                    let same = found.to_bits() == expected.to_bits()
                        || (found.is_nan() && expected.is_nan())
                        || (found - expected).is_finite()
                            && (found - expected).abs() <= super::MATH_ERROR * expected.abs();
                    assert!(same, "{:?} of {a} {b}: {found}, not {expected}", ops.get(i));
                }
            }
        }
    }
}

#[test]
fn overflow_is_seen() {
    type Overflowing = fn(i64, i64) -> (i64, bool);
    let cases: [(Checked, Overflowing); 3] = [
        (Checked::Add, i64::overflowing_add),
        (Checked::Sub, i64::overflowing_sub),
        (Checked::Mul, i64::overflowing_mul),
    ];
    for (op, expected) in cases {
        let mut f = Build::new("f", &[LowTy::Int, LowTy::Int], &[LowTy::Int, LowTy::Bool]);
        let (result, overflow) = (f.reg(LowTy::Int), f.reg(LowTy::Bool));
        let body = vec![
            Stmt::Checked { op, result, overflow, a: A, b: B },
            Stmt::Return(vec![r(result), r(overflow)]),
        ];
        let mut program = instance(module(vec![f.body(body)], Vec::new()));
        for a in [0, 1, -1, 3, i64::MAX, i64::MIN, 1 << 40] {
            for b in [0, 1, -1, i64::MAX, i64::MIN, 1 << 40] {
                let found = run(&mut program, &ints(&[a, b]), 2).unwrap();
                let (value, over) = expected(a, b);
                assert_eq!(
                    (found[0] as i64, found[1] & 1),
                    (value, u64::from(over)),
                    "{op:?} {a} {b}"
                );
            }
        }
    }
}

/// `f(n) = if n < 2 { n } else { f(n - 1) + f(n - 2) }` with every result in a register of its own.
fn fibonacci() -> low::Build {
    Build::new("fib", &[LowTy::Int], &[LowTy::Int]).recursive(1)
}

fn fibonacci_body(f: &mut Build) -> Vec<Stmt> {
    let (small, a, b, c, d, y) = (
        f.reg(LowTy::Bool),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
    );
    let overflow = f.reg(LowTy::Bool);
    vec![
        set(small, Expr::Compare(Compare::IntLt, A, Operand::Int(2))),
        Stmt::If(r(small), vec![Stmt::Return(vec![A])], vec![]),
        set(a, Expr::Binary(Binary::IntSub, A, Operand::Int(1))),
        call(&[b], 0, &[r(a)], 2),
        set(c, Expr::Binary(Binary::IntSub, A, Operand::Int(2))),
        call(&[d], 0, &[r(c)], 3),
        Stmt::Checked { op: Checked::Add, result: y, overflow, a: r(b), b: r(d) },
        Stmt::If(
            r(overflow),
            vec![Stmt::Raise {
                error: Raise::Int(IntOp::Add),
                args: vec![r(b), r(d)],
                site: SiteId(4),
            }],
            vec![],
        ),
        Stmt::Return(vec![r(y)]),
    ]
}

#[test]
fn recursion() {
    let mut f = fibonacci();
    let body = fibonacci_body(&mut f);
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    assert_eq!(run(&mut program, &ints(&[20]), 1).unwrap(), ints(&[6765]));
}

/// `f(n) = if n == 0 { 0 } else { f(n - 1) + 1 }`
fn deep(site: u32) -> low::Build {
    let mut f = Build::new("deep", &[LowTy::Int], &[LowTy::Int]).recursive(site);
    let (done, m, y, z) =
        (f.reg(LowTy::Bool), f.reg(LowTy::Int), f.reg(LowTy::Int), f.reg(LowTy::Int));
    let body = vec![
        set(done, Expr::Compare(Compare::IntEq, A, Operand::Int(0))),
        Stmt::If(r(done), vec![Stmt::Return(vec![Operand::Int(0)])], vec![]),
        set(m, Expr::Binary(Binary::IntSub, A, Operand::Int(1))),
        call(&[y], 0, &[r(m)], 8),
        set(z, Expr::Binary(Binary::IntAdd, r(y), Operand::Int(1))),
        Stmt::Return(vec![r(z)]),
    ];
    f.function.body = body;
    f
}

#[test]
fn recursion_may_be_a_million_calls_deep() {
    let mut program = instance(module(vec![deep(7).function], Vec::new()));
    assert_eq!(run(&mut program, &ints(&[1_000_000]), 1).unwrap(), ints(&[1_000_000]));
}

#[test]
fn a_stack_that_is_used_up_is_an_error_and_the_program_runs_again() {
    let code = compiled(module(vec![deep(7).function], Vec::new()));
    let options = RunOptions { max_stack: 1 << 20, ..RunOptions::default() };
    let mut program = Instance::new(code, options);
    let stopped = run(&mut program, &ints(&[i64::MAX]), 1).unwrap_err();
    assert_eq!(stopped.raise, Raise::Stopped);
    assert_eq!(stopped.exceeded, None);
    assert_eq!(stopped.site, SiteId(7));
    assert_eq!((stopped.innermost.len(), stopped.outermost.len()), (64, 64));
    assert!(stopped.innermost.iter().all(|open| open.site == SiteId(8) && open.function.0 == 0));
    assert!(stopped.skipped > 1000, "{}", stopped.skipped);
    assert_eq!(run(&mut program, &ints(&[1000]), 1).unwrap(), ints(&[1000]));
}

#[test]
fn an_error_has_its_operands_place_and_open_calls() {
    let inner =
        Build::new("inner", &[LowTy::Int, LowTy::Real], &[LowTy::Int]).fallible().body(vec![
            Stmt::Raise {
                error: Raise::Slice,
                args: vec![A, Operand::Int(-5), Operand::Int(9)],
                site: SiteId(30),
            },
        ]);
    let mut middle = Build::new("middle", &[LowTy::Int], &[LowTy::Int]).fallible();
    let y = middle.reg(LowTy::Int);
    let middle =
        middle.body(vec![call(&[y], 2, &[A, Operand::Real(0.5)], 20), Stmt::Return(vec![r(y)])]);
    let mut outer = Build::new("outer", &[LowTy::Int], &[LowTy::Int]).fallible();
    let y = outer.reg(LowTy::Int);
    let outer = outer.body(vec![call(&[y], 1, &[A], 10), Stmt::Return(vec![r(y)])]);
    let mut program = instance(module(vec![outer, middle, inner], Vec::new()));
    let stopped = run(&mut program, &ints(&[3]), 1).unwrap_err();
    assert_eq!(stopped.raise, Raise::Slice);
    assert_eq!(stopped.operands, [3, -5i64 as u64, 9]);
    assert_eq!(stopped.site, SiteId(30));
    let calls: Vec<(u32, u32)> =
        stopped.innermost.iter().map(|open| (open.function.0, open.site.0)).collect();
    assert_eq!(calls, [(2, 20), (1, 10)]);
    assert_eq!((stopped.skipped, stopped.outermost.len()), (0, 0));
}

/// Twenty results of three types: more than there are registers.
#[test]
fn calls_with_many_results() {
    let types: Vec<LowTy> =
        (0..20).map(|i| [LowTy::Int, LowTy::Real, LowTy::Bool, LowTy::Real][i % 4]).collect();
    for fallible in [false, true] {
        let mut inner = Build::new("inner", &types, &types);
        inner.function.fallible = fallible;
        // In reverse, among those of the same type.
        let reversed = |i: usize| {
            let ty = types[i];
            let same: Vec<usize> = (0..20).filter(|j| types[*j] == ty).collect();
            let at = same.iter().position(|j| *j == i).unwrap();
            same[same.len() - 1 - at]
        };
        let body = vec![Stmt::Return((0..20).map(|i| r(Reg(reversed(i) as u32))).collect())];
        let inner = inner.body(body);
        let mut outer = Build::new("outer", &types, &types);
        outer.function.fallible = fallible;
        let results: Vec<Reg> = types.iter().map(|ty| outer.reg(*ty)).collect();
        let args: Vec<Operand> = (0..20).map(|i| r(Reg(i))).collect();
        let body = vec![
            call(&results, 1, &args, 1),
            Stmt::Return(results.iter().map(|reg| r(*reg)).collect()),
        ];
        let mut program = instance(module(vec![outer.body(body), inner], Vec::new()));
        let words: Vec<u64> = (0..20)
            .map(|i| match types[i] {
                LowTy::Real => (i as f64 + 0.5).to_bits(),
                LowTy::Bool => (i as u64 / 4) % 2,
                LowTy::Int | LowTy::Ptr => i as u64 * 1000,
            })
            .collect();
        let found = run(&mut program, &words, 20).unwrap();
        for i in 0..20 {
            assert_eq!(found[i], words[reversed(i)], "result {i}");
        }
    }
}

/// The sum over i < n, j < i of i * j, skipping i = 3, leaving at i = 9.
#[test]
fn nested_loops_with_break() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int, LowTy::Int]);
    let (i, j, sum, product, done, skip) = (
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Bool),
        f.reg(LowTy::Bool),
    );
    let inner = Stmt::For(Box::new(For {
        index: j,
        from: Operand::Int(0),
        to: r(i),
        body: vec![
            set(product, Expr::Binary(Binary::IntMul, r(i), r(j))),
            set(sum, Expr::Binary(Binary::IntAdd, r(sum), r(product))),
        ],
        independent: false,
        separate: false,
        reductions: Vec::new(),
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    }));
    let body = vec![
        set(i, Expr::Copy(Operand::Int(0))),
        set(sum, Expr::Copy(Operand::Int(0))),
        Stmt::Loop(vec![
            set(done, Expr::Compare(Compare::IntLe, A, r(i))),
            Stmt::If(r(done), vec![Stmt::Break], vec![]),
            set(done, Expr::Compare(Compare::IntEq, r(i), Operand::Int(9))),
            Stmt::If(r(done), vec![Stmt::Break], vec![]),
            set(skip, Expr::Compare(Compare::IntEq, r(i), Operand::Int(3))),
            Stmt::If(r(skip), vec![], vec![inner]),
            set(i, Expr::Binary(Binary::IntAdd, r(i), Operand::Int(1))),
        ]),
        Stmt::Return(vec![r(i), r(sum)]),
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    for n in [-1, 0, 1, 3, 4, 8, 9, 100] {
        let (mut i, mut sum) = (0, 0);
        while i < n && i != 9 {
            if i != 3 {
                sum += (0..i).map(|j| i * j).sum::<i64>();
            }
            i += 1;
        }
        assert_eq!(run(&mut program, &ints(&[n]), 2).unwrap(), ints(&[i, sum]), "of {n}");
    }
}

/// Of the numbers of a range: the sum, and the last one, or -77; polls every so many steps.
fn counted(every: i64) -> diffeo_codegen::low::LowModule {
    let mut f = Build::new("f", &[LowTy::Int, LowTy::Int], &[LowTy::Real, LowTy::Int]);
    f = if every > 0 { f.fallible() } else { f };
    let (i, x, sum, last) =
        (f.reg(LowTy::Int), f.reg(LowTy::Real), f.reg(LowTy::Real), f.reg(LowTy::Int));
    let body = vec![
        set(sum, Expr::Copy(Operand::Real(0.0))),
        set(last, Expr::Copy(Operand::Int(-77))),
        Stmt::For(Box::new(For {
            index: i,
            from: A,
            to: B,
            body: vec![
                set(x, Expr::Unary(Unary::ToReal, r(i))),
                set(sum, Expr::Binary(Binary::Add, r(sum), r(x))),
                set(last, Expr::Copy(r(i))),
            ],
            independent: true,
            separate: true,
            reductions: vec![(sum, Reduction::Add)],
            most: i64::MAX,
            every,
            site: SiteId(8),
        })),
        Stmt::Return(vec![r(sum), r(last)]),
    ];
    module(vec![f.body(body)], Vec::new())
}

#[test]
fn for_counts_from_and_to_and_reduces() {
    for every in [0, 1, 4, 64] {
        let mut program = instance(counted(every));
        for (from, to) in [(0, 10), (5, 5), (6, 5), (-3, 2), (0, 128), (i64::MAX - 2, i64::MAX)] {
            let found = run(&mut program, &ints(&[from, to]), 2).unwrap();
            let expected: f64 = (from..to).map(|i| i as f64).sum();
            assert_eq!(f64::from_bits(found[0]), expected, "{from}..{to}");
            assert_eq!(found[1] as i64, if from < to { to - 1 } else { -77 });
        }
    }
}

#[test]
fn a_counted_loop_polls() {
    let mut program = instance(counted(1 << 12));
    program.set_limits(Limits::after(Duration::from_millis(50)));
    let stopped = run(&mut program, &ints(&[0, i64::MAX]), 2).unwrap_err();
    assert_eq!(stopped.exceeded, Some(Exceeded::Time(Duration::from_millis(50))));
    assert_eq!((stopped.raise, stopped.site), (Raise::Stopped, SiteId(8)));
}

thread_local! {
    /// How often a run has asked.
    static ASKED: Cell<i32> = const { Cell::new(0) };
}

#[test]
fn a_run_asks_its_host() {
    // The first two times it goes on.
    fn host() -> Option<Exceeded> {
        ASKED.set(ASKED.get() + 1);
        (ASKED.get() > 2).then_some(Exceeded::Interrupt)
    }
    let limits = Limits { host: Some(host), ..Limits::default() };
    for (module, args) in [(counted(1 << 12), 2), (endless(), 0), (spin(), 0)] {
        ASKED.set(0);
        let mut program = instance(module);
        program.set_limits(limits.clone());
        let stopped = run(&mut program, &ints(&[0, i64::MAX])[..args], args).unwrap_err();
        assert_eq!(stopped.exceeded, Some(Exceeded::Interrupt));
        assert_eq!((stopped.raise, ASKED.get()), (Raise::Stopped, 3));
    }
    // One that nobody stops ends by itself.
    ASKED.set(i32::MIN);
    let mut program = instance(counted(1 << 12));
    program.set_limits(limits);
    let found = run(&mut program, &ints(&[0, 1 << 30]), 2).unwrap();
    assert_eq!(found[1], (1 << 30) - 1);
}

#[test]
fn switches() {
    let values = [0, 1, 2, 7, -4, i64::MAX, i64::MIN];
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int, LowTy::Int]);
    let (y, z) = (f.reg(LowTy::Int), f.reg(LowTy::Int));
    let arm = |n: i64| vec![set(y, Expr::Copy(Operand::Int(n)))];
    let mut arms: Vec<(i64, Vec<Stmt>)> =
        values.iter().enumerate().map(|(i, value)| (*value, arm(10 + i as i64))).collect();
    // One leaves, one has an effect of its own.
    arms[1].1 = vec![Stmt::Return(vec![Operand::Int(-1), Operand::Int(-2)])];
    arms[2].1.push(set(z, Expr::Copy(Operand::Int(5))));
    let body =
        vec![set(z, Expr::Copy(A)), Stmt::Switch(A, arms, arm(99)), Stmt::Return(vec![r(y), r(z)])];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    for (i, value) in values.into_iter().chain([3, -5, 6, 8]).enumerate() {
        let expected = match i {
            1 => [-1, -2],
            2 => [12, 5],
            _ if i < values.len() => [10 + i as i64, value],
            _ => [99, value],
        };
        assert_eq!(run(&mut program, &ints(&[value]), 2).unwrap(), ints(&expected), "of {value}");
    }
}

/// Arms that all leave, as the last statement.
#[test]
fn nothing_need_follow_arms_that_leave() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int]);
    let small = f.reg(LowTy::Bool);
    let body = vec![
        set(small, Expr::Compare(Compare::IntLt, A, Operand::Int(0))),
        Stmt::If(
            r(small),
            vec![Stmt::Return(vec![Operand::Int(-1)])],
            vec![Stmt::Loop(vec![Stmt::Switch(
                A,
                vec![(0, vec![Stmt::Return(vec![Operand::Int(0)])])],
                vec![Stmt::Return(vec![Operand::Int(1)])],
            )])],
        ),
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    for n in [-9, 0, 9] {
        assert_eq!(run(&mut program, &ints(&[n]), 1).unwrap(), ints(&[n.signum()]));
    }
}

/// The arm whose end is reached stands first; both have statements with inner statements.
#[test]
fn an_arm_that_leaves_may_stand_last() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int]);
    let (small, odd, y, i, big) = (
        f.reg(LowTy::Bool),
        f.reg(LowTy::Bool),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Bool),
    );
    let twice = Stmt::For(Box::new(For {
        index: i,
        from: Operand::Int(0),
        to: Operand::Int(2),
        body: vec![set(y, Expr::Binary(Binary::IntAdd, r(y), A))],
        independent: false,
        separate: false,
        reductions: Vec::new(),
        most: i64::MAX,
        every: 0,
        site: SiteId(0),
    }));
    let body = vec![
        set(y, Expr::Copy(Operand::Int(7))),
        set(small, Expr::Compare(Compare::IntLt, A, Operand::Int(10))),
        set(odd, Expr::Compare(Compare::IntEq, A, Operand::Int(3))),
        Stmt::If(
            r(small),
            vec![twice, Stmt::If(r(odd), vec![set(y, Expr::Copy(Operand::Int(0)))], vec![])],
            vec![Stmt::Loop(vec![
                set(y, Expr::Binary(Binary::IntMul, r(y), Operand::Int(2))),
                set(big, Expr::Compare(Compare::IntLt, A, r(y))),
                Stmt::If(r(big), vec![Stmt::Return(vec![r(y)])], vec![]),
            ])],
        ),
        Stmt::Return(vec![r(y)]),
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    for (n, expected) in [(2, 11), (3, 0), (-4, -1), (10, 14), (100, 112)] {
        assert_eq!(run(&mut program, &ints(&[n]), 1).unwrap(), ints(&[expected]), "of {n}");
    }
}

fn runtime(results: &[Reg], op: Runtime, args: &[Operand]) -> Stmt {
    Stmt::Runtime { results: results.to_vec(), op, args: args.to_vec() }
}

fn word(base: Reg, offset: i64) -> Address {
    Address { base: r(base), index: Operand::Int(0), scale: 8, offset }
}

/// Stores and loads of every type, by register and constant index.
#[test]
fn memory() {
    let mut f = Build::new(
        "f",
        &[LowTy::Int, LowTy::Real],
        &[LowTy::Int, LowTy::Real, LowTy::Bool, LowTy::Int, LowTy::Int],
    );
    let block = f.reg(LowTy::Ptr);
    let (n, x, b, zero, p) = (
        f.reg(LowTy::Int),
        f.reg(LowTy::Real),
        f.reg(LowTy::Bool),
        f.reg(LowTy::Int),
        f.reg(LowTy::Ptr),
    );
    let count = f.reg(LowTy::Int);
    let indexed = |scale| Address { base: r(block), index: A, scale, offset: DATA };
    let body = vec![
        runtime(&[block], Runtime::Zeros, &[Operand::Int(0), Operand::Int(800)]),
        Stmt::Store(LowTy::Int, indexed(8), A),
        set(p, Expr::Offset(indexed(8))),
        set(n, Expr::Load(LowTy::Int, word(p, 0))),
        Stmt::Store(LowTy::Real, word(block, DATA + 8), B),
        set(x, Expr::Load(LowTy::Real, at(block, 5))),
        Stmt::Store(LowTy::Bool, Address { offset: DATA + 100, ..indexed(1) }, Operand::Bool(true)),
        set(b, Expr::Load(LowTy::Bool, word(block, DATA + 103))),
        set(zero, Expr::Load(LowTy::Int, word(block, DATA + 400))),
        set(count, Expr::Load(LowTy::Int, word(block, COUNT))),
        runtime(&[], Runtime::Free, &[r(block)]),
        Stmt::Return(vec![r(n), r(x), r(b), r(zero), r(count)]),
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    let found = run(&mut program, &[3, 2.5f64.to_bits()], 5).unwrap();
    assert_eq!(found, [3, 2.5f64.to_bits(), 1, 0, 1]);
    assert_eq!(program.live_blocks(), 0);
}

/// Builds a list of a million boxes, each with a text and an array of references, and frees it.
#[test]
fn freeing_is_not_recursive_and_leaves_nothing() {
    let mut f = Build::new("f", &[LowTy::Int], &[]);
    let (list, i, node, text, array) = (
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Int),
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Ptr),
    );
    let body = vec![
        set(list, Expr::Copy(Operand::Null)),
        Stmt::For(Box::new(For {
            index: i,
            from: Operand::Int(0),
            to: A,
            body: vec![
                runtime(&[node], Runtime::Box, &[Operand::Int(3)]),
                runtime(&[text], Runtime::ShowInt, &[r(i)]),
                runtime(&[array], Runtime::Array, &[Operand::Int(2), Operand::Int(16)]),
                // The text is in the node and twice in the array.
                Stmt::Store(LowTy::Int, word(text, COUNT), Operand::Int(1)),
                Stmt::Store(LowTy::Ptr, word(array, DATA), r(text)),
                Stmt::Store(LowTy::Ptr, word(array, DATA + 8), r(text)),
                runtime(&[], Runtime::RetainAll, &[r(array), Operand::Int(0)]),
                Stmt::Store(LowTy::Int, word(text, COUNT), Operand::Int(3)),
                Stmt::Store(LowTy::Ptr, word(node, FIELDS), r(text)),
                Stmt::Store(LowTy::Int, word(node, FIELDS + 8), r(i)),
                Stmt::Store(LowTy::Ptr, word(node, FIELDS + 16), r(array)),
                Stmt::Store(LowTy::Ptr, word(node, FIELDS + 24), r(list)),
                set(list, Expr::Copy(r(node))),
            ],
            independent: false,
            separate: false,
            reductions: Vec::new(),
            most: i64::MAX,
            every: 0,
            site: SiteId(0),
        })),
        runtime(&[], Runtime::Free, &[r(list)]),
        Stmt::Return(vec![]),
    ];
    let layout = Layout::Fields([true, false, true, true].into());
    let mut program = instance(module(vec![f.body(body)], vec![layout]));
    for n in [1, 10, 1_000_000] {
        run(&mut program, &ints(&[n]), 0).unwrap();
        assert_eq!(program.live_blocks(), 0);
    }
}

/// Pushes n tuples of an Int and a text on a stack, sums the Ints by position, and frees it.
#[test]
fn stacks() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int]).fallible();
    let (stack, i, ok, text, data, at, n, sum) = (
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Int),
        f.reg(LowTy::Bool),
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Ptr),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
        f.reg(LowTy::Int),
    );
    let tuple = |offset| Address { base: r(data), index: r(at), scale: 8, offset };
    let each = |body: Vec<Stmt>| {
        Stmt::For(Box::new(For {
            index: i,
            from: Operand::Int(0),
            to: A,
            body,
            independent: false,
            separate: false,
            reductions: Vec::new(),
            most: i64::MAX,
            every: 0,
            site: SiteId(0),
        }))
    };
    let body = vec![
        runtime(&[stack], Runtime::StackNew, &[Operand::Int(3)]),
        each(vec![
            runtime(&[ok], Runtime::StackGrow, &[r(stack)]),
            Stmt::If(
                r(ok),
                vec![],
                vec![Stmt::Raise { error: Raise::Memory, args: vec![], site: SiteId(0) }],
            ),
            runtime(&[text], Runtime::ShowInt, &[r(i)]),
            set(data, Expr::Load(LowTy::Ptr, word(stack, 32))),
            set(n, Expr::Load(LowTy::Int, word(stack, 16))),
            set(at, Expr::Binary(Binary::IntMul, r(n), Operand::Int(2))),
            Stmt::Store(LowTy::Int, tuple(0), r(i)),
            Stmt::Store(LowTy::Ptr, tuple(8), r(text)),
            set(n, Expr::Binary(Binary::IntAdd, r(n), Operand::Int(1))),
            Stmt::Store(LowTy::Int, word(stack, 16), r(n)),
        ]),
        set(sum, Expr::Copy(Operand::Int(0))),
        set(data, Expr::Load(LowTy::Ptr, word(stack, 32))),
        each(vec![
            set(at, Expr::Binary(Binary::IntMul, r(i), Operand::Int(2))),
            set(n, Expr::Load(LowTy::Int, tuple(0))),
            set(sum, Expr::Binary(Binary::IntAdd, r(sum), r(n))),
        ]),
        runtime(&[], Runtime::Free, &[r(stack)]),
        Stmt::Return(vec![r(sum)]),
    ];
    let layout = Layout::Stack([false, true].into());
    let mut program = instance(module(vec![f.body(body)], vec![layout]));
    for n in [0, 1, 16, 17, 10_000] {
        assert_eq!(run(&mut program, &ints(&[n]), 1).unwrap(), ints(&[n * (n - 1) / 2]));
        assert_eq!(program.live_blocks(), 0);
    }
}

#[test]
fn texts_constants_and_what_is_printed() {
    let mut f = Build::new("f", &[LowTy::Real], &[LowTy::Int, LowTy::Int, LowTy::Int]);
    let regs: Vec<Reg> = (0..8).map(|_| f.reg(LowTy::Ptr)).collect();
    let (order, state, tag) = (f.reg(LowTy::Int), f.reg(LowTy::Int), f.reg(LowTy::Int));
    let fixed =
        |k| Address { base: Operand::Constant(k), index: Operand::Int(0), scale: 8, offset: 0 };
    let tag_of = Address { base: Operand::Static(3), index: Operand::Int(0), scale: 8, offset: 8 };
    let mut body = vec![
        runtime(&[regs[0]], Runtime::ShowReal, &[A]),
        runtime(&[regs[1]], Runtime::AppendText, &[r(regs[0]), Operand::Text(1)]),
        runtime(&[regs[2]], Runtime::ShowText, &[r(regs[1])]),
        runtime(&[regs[3]], Runtime::ShowBool, &[Operand::Bool(true)]),
        runtime(&[], Runtime::Trace, &[Operand::Text(0), r(regs[2])]),
        runtime(&[], Runtime::Trace, &[Operand::Text(0), r(regs[3])]),
        runtime(&[], Runtime::Progress, &[Operand::Text(0), Operand::Int(4), A]),
        runtime(
            &[],
            Runtime::Warn,
            &[Operand::Text(0), r(regs[0]), Operand::Text(0), Operand::Int(0)],
        ),
        runtime(&[order], Runtime::CompareText, &[Operand::Text(1), Operand::Text(0)]),
        set(state, Expr::Load(LowTy::Int, fixed(0))),
        set(tag, Expr::Load(LowTy::Int, tag_of)),
        Stmt::Store(LowTy::Int, fixed(0), Operand::Int(2)),
        runtime(&[regs[4]], Runtime::ShowInt, &[Operand::Int(-3)]),
        Stmt::Store(LowTy::Ptr, fixed(1), r(regs[4])),
    ];
    body.extend((0..4).map(|i| runtime(&[], Runtime::Free, &[r(regs[i])])));
    body.push(Stmt::Return(vec![r(order), r(state), r(tag)]));
    let mut module = module(vec![f.body(body)], vec![Layout::Fields([].into())]);
    module.texts = vec!["label".into(), " \"é\" and more than eight bytes".into()];
    module.constant_words = 2;
    module.constant_references = vec![false, true];
    let lines = Rc::new(RefCell::new(Vec::new()));
    let told = lines.clone();
    let events = Box::new(move |event: Event<'_>| {
        told.borrow_mut().push(match event {
            Event::Line(line) => line.to_string(),
            Event::Progress(p) => format!("{} {} {}", p.label, p.step, p.value),
            Event::Warning(warning) => warning.to_diagnostic().message,
        });
    });
    let options = RunOptions { events, ..RunOptions::default() };
    let mut program = Instance::new(compiled(module), options);
    let found = run(&mut program, &reals(&[0.5]), 3).unwrap();
    assert_eq!(found, ints(&[-1, 0, 3]));
    let expected =
        ["label: \"0.5 \\\"é\\\" and more than eight bytes\"", "label: true", "label 4 0.5", "0.5"];
    assert_eq!(*lines.borrow(), expected);
    assert_eq!(program.live_blocks(), 1);
    program.release_constants();
    assert_eq!(program.live_blocks(), 0);
    assert_eq!(run(&mut program, &reals(&[0.5]), 3).unwrap()[1], 0);
}

#[test]
fn an_error_with_a_text_frees_everything() {
    let mut f = Build::new("f", &[], &[]).fallible();
    let (kept, message) = (f.reg(LowTy::Ptr), f.reg(LowTy::Ptr));
    let body = vec![
        runtime(&[kept], Runtime::Array, &[Operand::Int(0), Operand::Int(100_000)]),
        runtime(&[message], Runtime::ShowInt, &[Operand::Int(17)]),
        Stmt::Raise { error: Raise::Fail, args: vec![r(message)], site: SiteId(5) },
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    for _ in 0..3 {
        let stopped = run(&mut program, &[], 0).unwrap_err();
        assert_eq!((stopped.raise, stopped.text.as_deref()), (Raise::Fail, Some("17")));
        assert_eq!(program.live_blocks(), 0);
    }
}

/// A loop that never ends but for what it is asked.
fn endless() -> diffeo_codegen::low::LowModule {
    let mut f = Build::new("f", &[], &[]).fallible();
    let stop = f.reg(LowTy::Bool);
    let body = vec![Stmt::Loop(vec![
        runtime(&[stop], Runtime::Poll, &[]),
        Stmt::If(
            r(stop),
            vec![Stmt::Raise { error: Raise::Stopped, args: vec![], site: SiteId(6) }],
            vec![],
        ),
    ])];
    module(vec![f.body(body)], Vec::new())
}

/// Calls a recursive function again and again.
fn spin() -> diffeo_codegen::low::LowModule {
    let f = Build::new("f", &[], &[]).fallible();
    let call =
        Stmt::Call { results: vec![], function: FunctionId(1), args: vec![], site: SiteId(6) };
    let f = f.body(vec![Stmt::Loop(vec![call])]);
    let g = Build::new("g", &[], &[]).recursive(7).body(vec![Stmt::Return(vec![])]);
    module(vec![f, g], Vec::new())
}

#[test]
fn time_and_interruption_end_a_loop() {
    let mut program = instance(endless());
    let begin = Instant::now();
    program.set_limits(Limits::after(Duration::from_millis(50)));
    let stopped = run(&mut program, &[], 0).unwrap_err();
    assert_eq!(stopped.exceeded, Some(Exceeded::Time(Duration::from_millis(50))));
    assert!(begin.elapsed() >= Duration::from_millis(50));
    let flag = Arc::new(AtomicBool::new(false));
    program.set_limits(Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        flag.store(true, Ordering::Relaxed);
    });
    let stopped = run(&mut program, &[], 0).unwrap_err();
    assert_eq!(stopped.exceeded, Some(Exceeded::Interrupt));
    assert_eq!(stopped.site, SiteId(6));
    other.join().unwrap();
}

#[test]
fn a_panic_of_a_callback_ends_the_run_first() {
    let mut endless = endless();
    endless.texts = vec!["label".into()];
    let trace = runtime(&[], Runtime::Trace, &[Operand::Text(0), Operand::Text(0)]);
    endless.functions[0].body.insert(0, trace);
    let events = Box::new(|_: Event<'_>| panic!("from the callback"));
    let options = RunOptions { events, ..RunOptions::default() };
    let mut program = Instance::new(compiled(endless), options);
    let caught =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut program, &[], 0)));
    let payload = caught.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"from the callback"));
}

#[test]
fn memory_has_a_bound() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Bool]);
    let (block, null) = (f.reg(LowTy::Ptr), f.reg(LowTy::Bool));
    let body = vec![
        runtime(&[block], Runtime::Array, &[Operand::Int(0), A]),
        set(null, Expr::Compare(Compare::IntEq, r(block), Operand::Null)),
        Stmt::If(r(null), vec![], vec![runtime(&[], Runtime::Free, &[r(block)])]),
        Stmt::Return(vec![r(null)]),
    ];
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    let is_null =
        |program: &mut Instance, bytes: i64| run(program, &ints(&[bytes]), 1).unwrap()[0] & 1 == 1;
    assert!(!is_null(&mut program, 1 << 24));
    assert!(is_null(&mut program, i64::MAX));
    assert!(is_null(&mut program, i64::MAX - 40));
    let memory = Some(MemoryLimit { bytes: 1 << 22, in_use: || 1 << 21 });
    program.set_limits(Limits { memory, ..Limits::default() });
    assert!(is_null(&mut program, 1 << 24));
    assert!(!is_null(&mut program, 1 << 20));
    assert_eq!(program.live_blocks(), 0);
}

#[test]
fn sorting() {
    for (op, keys, expected) in [
        (Runtime::SortReals, reals(&[2.0, f64::NAN, -1.0, 2.0, 0.0]), [2, 4, 0, 3, 1]),
        (Runtime::SortInts, ints(&[5, i64::MIN, 5, -1, 0]), [1, 3, 4, 0, 2]),
    ] {
        let mut f = Build::new("f", &[LowTy::Ptr, LowTy::Ptr], &[]);
        f.function.fallible = false;
        let body = vec![runtime(&[], op, &[A, Operand::Int(5), B]), Stmt::Return(vec![])];
        let mut program = instance(module(vec![f.body(body)], Vec::new()));
        let mut to = [0i64; 5];
        let args = [keys.as_ptr() as u64, to.as_mut_ptr() as u64];
        run(&mut program, &args, 0).unwrap();
        assert_eq!(to, expected);
    }
}

/// A function of 50,000 operations, of which every tenth may fail.
#[test]
fn large_functions_compile() {
    let mut f = Build::new("f", &[LowTy::Real, LowTy::Int], &[LowTy::Real, LowTy::Int]).fallible();
    let mut body = Vec::new();
    let (mut x, mut n) = (Reg(0), Reg(1));
    for i in 0..50_000 {
        if i % 10 == 0 {
            let (m, overflow) = (f.reg(LowTy::Int), f.reg(LowTy::Bool));
            body.push(Stmt::Checked {
                op: Checked::Add,
                result: m,
                overflow,
                a: r(n),
                b: Operand::Int(i),
            });
            let raise = Stmt::Raise {
                error: Raise::Int(IntOp::Add),
                args: vec![r(n), Operand::Int(i)],
                site: SiteId(i as u32),
            };
            body.push(Stmt::If(r(overflow), vec![raise], vec![]));
            n = m;
        } else {
            let y = f.reg(LowTy::Real);
            let op = if i % 2 == 0 { Binary::Add } else { Binary::Mul };
            let by = if i % 2 == 0 { A } else { Operand::Real(0.5) };
            body.push(set(y, Expr::Binary(op, r(x), by)));
            x = y;
        }
    }
    body.push(Stmt::Return(vec![r(x), r(n)]));
    let begin = Instant::now();
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    println!("50,000 operations: {:?}", begin.elapsed());
    let expected: i64 = (0..50_000).step_by(10).sum();
    let found = run(&mut program, &[1.0f64.to_bits(), 0], 2).unwrap();
    assert_eq!(found[1] as i64, expected);
    let mut x = 1.0;
    for i in (0..50_000).filter(|i| i % 10 != 0) {
        x = if i % 2 == 0 { x + 1.0 } else { x * 0.5 };
    }
    assert_eq!(f64::from_bits(found[0]), x);
    let stopped = run(&mut program, &[0, i64::MAX as u64 - 15], 2).unwrap_err();
    assert_eq!(stopped.site, SiteId(20));
}

/// Ten thousand functions, each of which calls the next: no function tests the stack.
#[test]
fn many_functions_compile_and_call_each_other() {
    let n = 10_000;
    let functions = (0..n)
        .map(|i| {
            let mut f = Build::new(&format!("f{i}"), &[LowTy::Int], &[LowTy::Int]);
            let (y, z) = (f.reg(LowTy::Int), f.reg(LowTy::Int));
            let mut body = vec![set(y, Expr::Copy(A))];
            if i + 1 < n {
                body = vec![call(&[y], i + 1, &[A], i)];
            }
            body.push(set(z, Expr::Binary(Binary::IntAdd, r(y), Operand::Int(1))));
            body.push(Stmt::Return(vec![r(z)]));
            f.body(body)
        })
        .collect();
    let begin = Instant::now();
    let code = compiled(module(functions, Vec::new()));
    println!("10,000 functions: {:?}", begin.elapsed());
    let options = RunOptions { max_stack: 1 << 16, ..RunOptions::default() };
    let mut program = Instance::new(code, options);
    assert_eq!(run(&mut program, &ints(&[5]), 1).unwrap(), ints(&[i64::from(n) + 5]));
}

/// Statements nested deeper than a thread's stack allows.
#[test]
fn deep_nesting_compiles() {
    let mut f = Build::new("f", &[LowTy::Int], &[LowTy::Int]);
    let (same, y) = (f.reg(LowTy::Bool), f.reg(LowTy::Int));
    let mut body = vec![set(y, Expr::Copy(Operand::Int(-1)))];
    for i in 0..4000 {
        body = vec![
            set(same, Expr::Compare(Compare::IntEq, A, Operand::Int(i))),
            Stmt::If(r(same), vec![set(y, Expr::Copy(Operand::Int(2 * i)))], body),
        ];
    }
    body.push(Stmt::Return(vec![r(y)]));
    let begin = Instant::now();
    let mut program = instance(module(vec![f.body(body)], Vec::new()));
    println!("4,000 nested statements: {:?}", begin.elapsed());
    for (n, expected) in [(0, 0), (3999, 7998), (777, 1554), (4000, -1)] {
        assert_eq!(run(&mut program, &ints(&[n]), 1).unwrap(), ints(&[expected]));
    }
    // Dropping them takes a level of the stack for each.
    std::mem::forget(program);
}

#[test]
fn the_text_names_what_is_called() {
    let mut f = fibonacci();
    let body = fibonacci_body(&mut f);
    let module = Arc::new(module(vec![f.body(body)], Vec::new()));
    let text =
        text(&module, &CraneliftOptions { cpu: Cpu::Baseline, verify: true, ..Default::default() })
            .unwrap();
    for part in ["; u0:0 = fib\nfunction u0:0(i64, i64) -> i8, i64 tail {", "diffeo_raise", "cold:"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}
