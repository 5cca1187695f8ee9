//! Gradients by reverse mode, and by differences.

use diffeo_array::ad::{reverse, Deriver, Residuals};
use diffeo_array::build::Builder;
use diffeo_array::ir::{Atom, Elem, FlatTy, FunctionId, Module, Op, SiteId};
use diffeo_array::opt::optimise;
use diffeo_array::typing::param_types;
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, parse, print, FlatEvaluator};
use diffeo_calculus::eval::{Options, RuntimeError};
use std::rc::Rc;
use std::sync::Arc;

/// The weight of the element at a position of a result in the number that is differentiated.
fn weight(at: usize) -> f64 {
    1.0 / (1.0 + at as f64 % 7.0)
}

/// Which parameters vary: all Reals and arrays of them.
pub fn active(module: &Module, function: FunctionId) -> Vec<bool> {
    let types = param_types(&module.functions[function.0 as usize]);
    types.iter().map(|ty| matches!(ty, FlatTy::Real | FlatTy::Array(Elem::Real, _))).collect()
}

/// Makes a function of the parameters of another its entry: it gives the gradient of its weighted results, by calling
/// the pullback so many times, and adding up.
pub fn gradient(module: &mut Module, calls: usize) -> Result<(), String> {
    gradient_with(module, calls, Residuals::Any)
}

/// The same, where loops may take so much memory for their residuals.
pub fn gradient_with(
    module: &mut Module,
    calls: usize,
    residuals: Residuals,
) -> Result<(), String> {
    let function = module.entry;
    let active = active(module, function);
    let mut deriver = Deriver::default();
    deriver.residuals = residuals;
    let made = reverse(module, &mut deriver, function, &active).map_err(|e| e.0)?;
    let source = module.functions[function.0 as usize].clone();
    let boxed = |ty: &FlatTy| matches!(ty, FlatTy::Box(_) | FlatTy::Array(Elem::Box(_), _));
    if source.results.iter().zip(&made.active).any(|(ty, a)| *a && boxed(ty)) {
        return Err("a cotangent of a box".to_string());
    }
    let mut b = Builder::new(SiteId(0));
    let types = param_types(&source);
    let params: Vec<Atom> = types.iter().map(|ty| b.param(ty.clone(), None)).collect();
    let mut results = b.emit(module, Op::Call(made.forward, params.clone()));
    let residuals = results.split_off(source.results.len());
    let sizes = |b: &mut Builder, module: &Module, array: &Atom, rank: u8| -> Vec<Atom> {
        (0..rank).map(|k| b.one(module, Op::Dim(array.clone(), k))).collect()
    };
    let mut totals: Vec<Option<Atom>> = vec![None; params.len()];
    for _ in 0..calls {
        let mut args = residuals.clone();
        for ((result, ty), _) in
            results.iter().zip(&source.results).zip(&made.active).filter(|(_, active)| **active)
        {
            args.push(match ty {
                FlatTy::Array(_, rank) => {
                    let sizes = sizes(&mut b, module, result, *rank);
                    let acc = b.one(module, Op::AccNew(sizes));
                    let mut count = Atom::Int(1);
                    for k in 0..*rank {
                        let n = b.one(module, Op::Dim(result.clone(), k));
                        let op = diffeo_calculus::prim::IntOp::Mul;
                        count = b.one(module, Op::IntFits(op, vec![count, n]));
                    }
                    let flat = b.one(module, Op::AccReshape(acc.clone(), vec![count.clone()]));
                    let index = b.var(FlatTy::Int, None);
                    b.open();
                    let seven = Atom::Int(7);
                    let op = diffeo_calculus::prim::IntOp::Rem;
                    let rest = b.one(module, Op::Int(op, vec![Atom::Var(index), seven]));
                    let rest = b.one(module, Op::ToReal(rest));
                    let op = diffeo_calculus::prim::RealOp::Add;
                    let rest = b.one(module, Op::Real(op, vec![Atom::Real(1.0), rest]));
                    let op = diffeo_calculus::prim::RealOp::Div;
                    let w = b.one(module, Op::Real(op, vec![Atom::Real(1.0), rest]));
                    let body = b.close(vec![w]);
                    let w = b.one(module, Op::Build { count, index, body });
                    b.emit(module, Op::AccAddArray(flat, w));
                    acc
                }
                _ => Atom::Real(1.0),
            });
        }
        let mut accs = Vec::new();
        for ((param, ty), _) in params.iter().zip(&types).zip(&active).filter(|(_, a)| **a) {
            if let FlatTy::Array(_, rank) = ty {
                let sizes = sizes(&mut b, module, param, *rank);
                let acc = b.one(module, Op::AccNew(sizes));
                args.push(acc.clone());
                accs.push(acc);
            }
        }
        let mut reals = b.emit(module, Op::Call(made.back, args)).into_iter();
        let mut accs = accs.into_iter();
        for ((ty, _), total) in types.iter().zip(&active).zip(&mut totals).filter(|((_, a), _)| **a)
        {
            let bar = match ty {
                FlatTy::Real => reals.next().expect("an adjoint"),
                _ => {
                    let acc = accs.next().expect("an accumulator");
                    b.one(module, Op::AccGet(acc))
                }
            };
            // That each call gives the same is for who looks at the results.
            *total = Some(bar);
        }
    }
    results.clear();
    results.extend(totals.into_iter().flatten());
    let name = format!("gradient {}", module.functions.len());
    let made = b.finish(name, results)?;
    module.functions.push(made);
    module.entry = FunctionId(module.functions.len() as u32 - 1);
    Ok(())
}

pub fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(lint(&module), Vec::<String>::new());
    module
}

/// The results of the entry, and how many operations they took.
pub fn run(module: &Module, args: &[FlatValue]) -> Result<(Vec<FlatValue>, u64), RuntimeError> {
    let mut evaluator = FlatEvaluator::new(Arc::new(module.clone()), Options::default());
    let results = evaluator.run(args.to_vec())?;
    Ok((results, evaluator.operations()))
}

/// The weighted sum of the Reals among results.
pub fn objective(values: &[FlatValue]) -> f64 {
    let of = |value: &FlatValue| match value {
        FlatValue::Real(x) => *x,
        FlatValue::Array(array) => match array.reals() {
            Some(xs) => xs.iter().enumerate().map(|(i, x)| weight(i) * x).sum(),
            None => 0.0,
        },
        _ => 0.0,
    };
    values.iter().map(of).sum()
}

pub fn reals(xs: &[f64]) -> FlatValue {
    FlatValue::array(FlatArray::vector(Data::Reals(Rc::new(xs.to_vec()))))
}

pub fn matrix(rows: usize, columns: usize, xs: &[f64]) -> FlatValue {
    let sizes = [rows as i64, columns as i64];
    FlatValue::array(
        FlatArray::new(&sizes, Data::Reals(Rc::new(xs.to_vec()))).expect("as many elements"),
    )
}

/// Every number in a value, changed by a function of its position.
fn changed(value: &FlatValue, at: usize, by: f64) -> FlatValue {
    match value {
        FlatValue::Real(x) => FlatValue::Real(x + by),
        FlatValue::Array(array) => {
            let mut xs = array.reals().expect("Reals").to_vec();
            xs[at] += by;
            FlatValue::array(
                FlatArray::new(array.sizes(), Data::Reals(Rc::new(xs))).expect("as many"),
            )
        }
        other => other.clone(),
    }
}

/// All numbers of values, in order.
pub fn numbers(values: &[FlatValue]) -> Vec<f64> {
    let mut out = Vec::new();
    for value in values {
        match value {
            FlatValue::Real(x) => out.push(*x),
            FlatValue::Array(array) => out.extend(array.reals().unwrap_or_default()),
            _ => {}
        }
    }
    out
}

/// The gradient by central differences.
pub fn differences(module: &Module, args: &[FlatValue]) -> Result<Vec<f64>, RuntimeError> {
    let active = active(module, module.entry);
    let mut out = Vec::new();
    for (i, _) in active.iter().enumerate().filter(|(_, active)| **active) {
        let count = numbers(&args[i..=i]).len();
        for at in 0..count {
            let value = |by: f64| {
                let mut args = args.to_vec();
                args[i] = changed(&args[i], at, by);
                run(module, &args).map(|(results, _)| objective(&results))
            };
            let h = 1e-4;
            let wide = (value(h)? - value(-h)?) / (2.0 * h);
            let narrow = (value(h / 2.0)? - value(-h / 2.0)?) / h;
            out.push((4.0 * narrow - wide) / 3.0);
        }
    }
    Ok(out)
}

pub fn close(a: f64, b: f64) -> bool {
    let close = (a - b).is_finite() && (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()));
    close || a == b || (a.is_nan() && b.is_nan())
}

/// The gradient of a program is that of differences, before and after the passes of the optimiser, at the first and
/// the second call of the pullback, with checkpoints of loops and without.
pub fn check(text: &str, args: &[FlatValue]) {
    let source = module(text);
    let expected = differences(&source, args).unwrap_or_else(|e| panic!("{:?}\n{text}", e.kind));
    for (calls, residuals) in
        [(1, Residuals::Any), (2, Residuals::Any), (1, Residuals::Checkpoints)]
    {
        let mut made = source.clone();
        gradient_with(&mut made, calls, residuals).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let violations = lint(&made);
        assert!(violations.is_empty(), "{violations:#?}\n{}", print(&made));
        for made in [made.clone(), optimise(made)] {
            assert_eq!(lint(&made), Vec::<String>::new(), "{}", print(&made));
            let (found, _) =
                run(&made, args).unwrap_or_else(|e| panic!("{:?}\n{}", e.kind, print(&made)));
            let found = numbers(&found);
            let fits = found.len() == expected.len()
                && found.iter().zip(&expected).all(|(a, b)| close(*a, *b));
            assert!(fits, "{found:?}\n{expected:?}\n{}", print(&made));
        }
    }
}
