//! Taylor coefficients of every operation on Reals are what forward derivatives of forward derivatives give.

use diffeo_array::ad::{forward, Deriver};
use diffeo_array::build::Builder;
use diffeo_array::ir::{Atom, FlatTy, FunctionId, Module, Op, Site, SiteId};
use diffeo_array::value::FlatValue;
use diffeo_array::{lint, print, FlatEvaluator};
use diffeo_base::Span;
use diffeo_calculus::eval::Options;
use diffeo_calculus::prim::RealOp;
use std::sync::Arc;

const ORDER: usize = 4;

/// Operations, with points inside their domains.
const OPERATIONS: &[(RealOp, [f64; 2])] = &[
    (RealOp::Add, [0.6, 1.3]),
    (RealOp::Sub, [0.6, 1.3]),
    (RealOp::Mul, [0.6, 1.3]),
    (RealOp::Div, [0.6, 1.3]),
    (RealOp::Neg, [0.6, 0.0]),
    (RealOp::Rem, [5.6, 1.3]),
    (RealOp::Pow, [0.6, 1.3]),
    (RealOp::Exp, [0.6, 0.0]),
    (RealOp::Log, [0.6, 0.0]),
    (RealOp::Sqrt, [0.6, 0.0]),
    (RealOp::Sin, [0.6, 0.0]),
    (RealOp::Cos, [0.6, 0.0]),
    (RealOp::Tan, [0.6, 0.0]),
    (RealOp::Asin, [0.6, 0.0]),
    (RealOp::Acos, [0.6, 0.0]),
    (RealOp::Atan, [0.6, 0.0]),
    (RealOp::Sinh, [0.6, 0.0]),
    (RealOp::Cosh, [0.6, 0.0]),
    (RealOp::Tanh, [0.6, 0.0]),
    (RealOp::Asinh, [0.6, 0.0]),
    (RealOp::Acosh, [1.6, 0.0]),
    (RealOp::Atanh, [0.6, 0.0]),
    (RealOp::Expm1, [0.6, 0.0]),
    (RealOp::Log1p, [0.6, 0.0]),
    (RealOp::Cbrt, [0.6, 0.0]),
    (RealOp::Sigmoid, [0.6, 0.0]),
    (RealOp::Softplus, [0.6, 0.0]),
    (RealOp::Erf, [0.6, 0.0]),
    (RealOp::Erfc, [0.6, 0.0]),
    (RealOp::Lgamma, [1.6, 0.0]),
    (RealOp::Polygamma(0), [1.6, 0.0]),
    (RealOp::Polygamma(2), [1.6, 0.0]),
    (RealOp::Atan2, [0.6, 1.3]),
    (RealOp::Hypot, [0.6, 1.3]),
    (RealOp::Unit, [0.6, 1.3]),
    (RealOp::Sech, [0.6, 0.0]),
    (RealOp::OneMinusSquare, [0.6, 0.0]),
    (RealOp::Abs, [-0.6, 0.0]),
    (RealOp::Sign, [-0.6, 0.0]),
    (RealOp::Min, [0.6, 1.3]),
    (RealOp::Max, [0.6, 1.3]),
];

/// A module of one function, of one parameter.
fn module(body: impl Fn(&mut Builder, &Module, Atom) -> Atom) -> Module {
    let mut module = Module::default();
    module.sites.push(Site { span: Span::NONE, inlined: None });
    let mut b = Builder::new(SiteId(0));
    let t = b.param(FlatTy::Real, Some("t".into()));
    let result = body(&mut b, &module, t);
    module.functions.push(b.finish("f", vec![result]).expect("well typed"));
    module
}

fn run(module: Module, args: &[f64]) -> Vec<f64> {
    assert_eq!(lint(&module), Vec::<String>::new(), "{}", print(&module));
    let mut evaluator = FlatEvaluator::new(Arc::new(module), Options::default());
    let args = args.iter().map(|x| FlatValue::Real(*x)).collect();
    let real = |value: &FlatValue| if let FlatValue::Real(x) = value { *x } else { f64::NAN };
    evaluator.run(args).expect("values").iter().map(real).collect()
}

/// By Taylor coefficients: value, and derivatives up to the order.
fn expanded(mut module: Module, t: f64) -> Vec<f64> {
    let f = module.entry;
    let made = forward(&mut module, &mut Deriver::default(), f, &[true], ORDER).expect("derived");
    module.entry = made.function;
    let mut args = vec![0.0; ORDER + 1];
    (args[0], args[1]) = (t, 1.0);
    let mut all = run(module, &args);
    let mut factorial = 1.0;
    for (i, x) in all.iter_mut().enumerate().skip(1) {
        factorial *= i as f64;
        *x *= factorial;
    }
    all
}

/// By derivatives of derivatives.
fn nested(mut module: Module, t: f64) -> Vec<f64> {
    let mut cache = Deriver::default();
    let mut all = run(module.clone(), &[t]);
    for _ in 0..ORDER {
        let f = module.entry;
        let made = forward(&mut module, &mut cache, f, &[true], 1).expect("derived");
        // The derivative alone, as a function of the parameter.
        let mut b = Builder::new(SiteId(0));
        let t_param = b.param(FlatTy::Real, Some("t".into()));
        let results = b.emit(&module, Op::Call(made.function, vec![t_param, Atom::Real(1.0)]));
        let dot = results.get(1).cloned().unwrap_or(Atom::Real(0.0));
        let name = format!("d{}", module.functions.len());
        module.entry = FunctionId(module.functions.len() as u32);
        module.functions.push(b.finish(name, vec![dot]).expect("well typed"));
        all.extend(run(module.clone(), &[t]));
    }
    all
}

fn compare(what: &str, module: &Module, t: f64) {
    let (mut found, expected) = (expanded(module.clone(), t), nested(module.clone(), t));
    found.resize(ORDER + 1, 0.0);
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        let finite = (a - b).is_finite();
        let close = a == b || finite && (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(close, "derivative {i} of {what}: {found:?} and {expected:?}");
    }
}

#[test]
fn operations_have_the_same_derivatives_in_both_ways() {
    for (op, [x, y]) in OPERATIONS {
        let curve = |b: &mut Builder, m: &Module, t: Atom, at: f64, slope: f64, bend: f64| {
            let real = |b: &mut Builder, op, args| b.one(m, Op::Real(op, args));
            let square = real(b, RealOp::Mul, vec![t.clone(), t.clone()]);
            let bent = real(b, RealOp::Mul, vec![Atom::Real(bend), square]);
            let moved = real(b, RealOp::Mul, vec![Atom::Real(slope), t]);
            let sum = real(b, RealOp::Add, vec![moved, bent]);
            real(b, RealOp::Add, vec![Atom::Real(at), sum])
        };
        let varying = [(0.7, -0.2, -0.5, 0.3), (0.7, -0.2, 0.0, 0.0), (0.0, 0.0, -0.5, 0.3)];
        for (a, c, p, q) in varying {
            let module = module(|b, m, t| {
                let first = curve(b, m, t.clone(), *x, a, c);
                let second = curve(b, m, t, *y, p, q);
                let args = [first, second][..op.arity()].to_vec();
                b.one(m, Op::Real(*op, args))
            });
            compare(&format!("{op:?} along {:?}", (a, c, p, q)), &module, 0.01);
        }
        // With an operand that is a number.
        if op.arity() == 2 {
            let module = module(|b, m, t| {
                let first = curve(b, m, t, *x, 0.7, -0.2);
                b.one(m, Op::Real(*op, vec![first, Atom::Real(*y)]))
            });
            compare(&format!("{op:?} with a number"), &module, 0.01);
        }
    }
}

#[test]
fn powers_have_the_same_derivatives_in_both_ways() {
    for n in [-3, -1, 0, 1, 2, 3, 7] {
        let literal = module(|b, m, t| b.one(m, Op::PowInt(t, Atom::Int(n))));
        compare(&format!("x ^ {n}"), &literal, 0.8);
        let variable = module(|b, m, t| {
            let n =
                b.one(m, Op::Round(diffeo_calculus::prim::Rounding::Round, Atom::Real(n as f64)));
            b.one(m, Op::PowInt(t, n))
        });
        compare(&format!("x ^ n at {n}"), &variable, 0.8);
    }
}
