//! Every operation of the table, in every mode, against each other and against differences.

use super::*;
use crate::prim::real::{eval, row, DerivativeRule, ALL};

/// The operations that have no partial derivatives in the table, because they are one of their operands.
const EXCEPTIONS: &[RealOp] = &[RealOp::Abs, RealOp::Sign, RealOp::Min, RealOp::Max];

#[test]
fn every_operation_has_partial_derivatives_or_stands_on_the_list() {
    for op in ALL {
        match row(*op).derivative {
            DerivativeRule::Partials(partials) => {
                assert_eq!(partials.len(), row(*op).arity, "{op:?}");
                assert!(!EXCEPTIONS.contains(op), "{op:?}");
            }
            DerivativeRule::Select => assert!(EXCEPTIONS.contains(op), "{op:?}"),
        }
    }
}

/// Points inside the domains.
fn points(op: RealOp) -> Vec<f64> {
    match op {
        RealOp::Acosh => vec![1.3, 2.5, 40.0],
        RealOp::Log | RealOp::Sqrt | RealOp::Pow => vec![0.3, 1.0, 7.0],
        RealOp::Lgamma | RealOp::Polygamma(_) => vec![0.4, 1.5, 6.0, -0.4, -2.3],
        RealOp::Asin | RealOp::Acos | RealOp::Atanh | RealOp::Log1p => vec![-0.6, 0.1, 0.8],
        _ => vec![-1.7, -0.4, 0.25, 1.2],
    }
}

/// The derivative of a smooth function by Richardson's extrapolation of central differences.
fn difference(f: &dyn Fn(f64) -> f64, x: f64) -> f64 {
    let mut h = 0.02 * x.abs().max(0.5);
    let mut table: Vec<Vec<f64>> = Vec::new();
    let mut best = (f64::INFINITY, f64::NAN);
    for i in 0..7 {
        let mut line = vec![(f(x + h) - f(x - h)) / (2.0 * h)];
        for j in 0..i {
            let power = 4f64.powi(j as i32 + 1);
            line.push(line[j] + (line[j] - table[i - 1][j]) / (power - 1.0));
            let error = (line[j + 1] - line[j]).abs().max((line[j + 1] - table[i - 1][j]).abs());
            if error < best.0 {
                best = (error, line[j + 1]);
            }
        }
        table.push(line);
        h /= 2.0;
    }
    best.1
}

/// `op(x, c + d x)`, to reach both operands.
fn along(op: RealOp, c: f64, d: f64) -> Fun {
    Rc::new(move |t, x| {
        let b = t.bin(RealOp::Mul, &real(d), &x)?;
        let b = t.bin(RealOp::Add, &real(c), &b)?;
        t.bin(op, &x, &b)
    })
}

/// `op(c + d x, x)`.
fn across(op: RealOp, c: f64, d: f64) -> Fun {
    Rc::new(move |t, x| {
        let a = t.bin(RealOp::Mul, &real(d), &x)?;
        let a = t.bin(RealOp::Add, &real(c), &a)?;
        t.bin(op, &a, &x)
    })
}

#[test]
fn all_modes_agree_to_order_three_and_with_differences() {
    let mut t = Eval::new(Kinks::Ignore);
    for &op in ALL {
        let mut functions = vec![];
        if row(op).arity == 1 {
            functions.push(Rc::new(move |t: &mut Eval, x: Value| t.un(op, &x)) as Fun);
        } else {
            functions.extend([along(op, 0.7, 0.0), along(op, 2.3, 0.6), across(op, 2.1, 0.0)]);
            functions.push(across(op, 2.6, 0.3));
        }
        for (case, f) in functions.iter().enumerate() {
            for x in points(op) {
                let jets = derivatives(&mut t, f, 3, x);
                let fs = [f.clone(), forward(f.clone()), forward(forward(f.clone()))];
                let value = number(f(&mut t, real(x)));
                assert_close(&format!("{op:?} {case} at {x}"), jets[0], value, 0.0);
                for n in 1..=3 {
                    let what = format!("derivative {n} of {op:?}, case {case}, at {x}");
                    let below = &fs[n - 1];
                    let got = number(forward(below.clone())(&mut t, real(x)));
                    assert_close(&format!("jets: {what}"), jets[n], got, 1e-11);
                    // Every nesting of forwards and backwards.
                    for modes in 0..1 << n {
                        let mut g = f.clone();
                        for i in 0..n {
                            g = if modes >> i & 1 == 0 { forward(g) } else { backward(g) };
                        }
                        let other = number(g(&mut t, real(x)));
                        assert_close(&format!("modes {modes:b}: {what}"), other, got, 1e-11);
                    }
                    let steps = std::cell::RefCell::new(&mut t);
                    let by_steps =
                        difference(&|x| number(below(&mut steps.borrow_mut(), real(x))), x);
                    assert_close(&format!("differences: {what}"), got, by_steps, 1e-6);
                }
            }
        }
    }
    assert!(t.reals.warnings.is_empty(), "{:?}", t.reals.warnings);
}

#[test]
fn high_orders_of_the_exponential_and_of_sine_and_polygamma() {
    let mut t = Eval::new(Kinks::Ignore);
    let f: Fun = Rc::new(|t, x| t.un(RealOp::Exp, &x));
    for d in derivatives(&mut t, &f, 30, 0.5) {
        assert_close("exp", d, 0.5f64.exp(), 1e-12);
    }
    let f: Fun = Rc::new(|t, x| t.un(RealOp::Sin, &x));
    for (n, d) in derivatives(&mut t, &f, 25, 0.5).into_iter().enumerate() {
        let expected = (0.5 + n as f64 * std::f64::consts::FRAC_PI_2).sin();
        assert_close("sin", d, expected, 1e-12);
    }
    let f: Fun = Rc::new(|t, x| t.un(RealOp::Lgamma, &x));
    for (n, d) in derivatives(&mut t, &f, 8, 2.5).into_iter().enumerate().skip(1) {
        assert_close("lgamma", d, eval(RealOp::Polygamma(n as u32 - 1), 2.5, 0.0), 1e-12);
    }
}

#[test]
fn structural_zeros_meet_no_infinity() {
    let mut t = Eval::new(Kinks::Ignore);
    // The square root of a component that does not vary, at 0, times one that does.
    let f = t.function(|t, p| {
        let root = t.un(RealOp::Sqrt, &p.fields()[0])?;
        t.bin(RealOp::Add, &root, &p.fields()[1])
    });
    let point = Value::tuple([real(0.0), real(2.0)]);
    let tangent = Value::tuple([real(0.0), real(1.0)]);
    let y = t.diff(DiffOp::Jvp, [f.clone(), point, tangent]).unwrap();
    assert_eq!(numbers(&y), [2.0, 1.0]);
    let point = Value::tuple([reals(&[0.0, 0.0, 0.0]), reals(&[2.0, 1.0, 0.0])]);
    let y = t.diff(DiffOp::Jet { k: 1, r: 2 }, [f, point]).unwrap();
    assert_eq!(numbers(&y), [2.0, 1.0, 0.0]);
    assert!(t.reals.warnings.is_empty());
}
