//! Random modules: the gradient by reverse mode is that by forward mode, direction by direction; so is the gradient of
//! the weighted gradient.

use super::support::{active, close, gradient, gradient_with, numbers, objective, run};
use diffeo_array::ad::{forward, Deriver, Residuals};
use diffeo_array::ir::{Elem, FlatTy, Module};
use diffeo_array::opt::optimise;
use diffeo_array::typing::param_types;
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, print};
use diffeo_array_generate::{program, Features, GeneratedProgram};
use std::rc::Rc;

/// Numbers that depend on the seed alone (Marsaglia's xorshift).
fn choices(seed: u64, count: usize) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..count).map(|_| next()).collect()
}

/// A value of the shape of another, of zeros and a one.
fn unit(value: &FlatValue, at: Option<usize>) -> FlatValue {
    match value {
        FlatValue::Array(array) => {
            let mut xs = vec![0.0; array.count()];
            if let Some(at) = at {
                xs[at] = 1.0;
            }
            FlatValue::array(
                FlatArray::new(array.sizes(), Data::Reals(Rc::new(xs))).expect("as many"),
            )
        }
        _ => FlatValue::Real(if at.is_some() { 1.0 } else { 0.0 }),
    }
}

/// The gradient by forward mode; `None` if it cannot be derived, or the program stops.
fn by_forward(program: &GeneratedProgram) -> Option<Vec<f64>> {
    let mut module = program.module.clone();
    let varying = active(&module, module.entry);
    let entry = module.entry;
    let made = forward(&mut module, &mut Deriver::default(), entry, &varying, 1).ok()?;
    let results = module.functions[program.module.entry.0 as usize].results.clone();
    module.entry = made.function;
    let mut out = Vec::new();
    let indices: Vec<usize> = (0..varying.len()).filter(|i| varying[*i]).collect();
    for i in &indices {
        for at in 0..numbers(&program.args[*i..=*i]).len() {
            let mut args = program.args.clone();
            for j in &indices {
                args.push(unit(&program.args[*j], (i == j).then_some(at)));
            }
            let (values, _) = run(&module, &args).ok()?;
            out.push(objective(&values[results.len()..]));
        }
    }
    Some(out)
}

fn is_derivable(module: &Module) -> bool {
    let entry = &module.functions[module.entry.0 as usize];
    let real = |ty: &FlatTy| matches!(ty, FlatTy::Real | FlatTy::Array(Elem::Real, _));
    param_types(entry).iter().any(real) && entry.results.iter().any(real)
}

/// Whether the program, or its gradient so many times, was derived and compared.
fn check(seed: u64, before: usize) -> bool {
    let features = Features { derivatives: false, inexact: seed.is_multiple_of(2), stops: false };
    let mut program = program(&choices(seed, 20 + (seed % 400) as usize), features);
    for _ in 0..before {
        if !is_derivable(&program.module) || gradient(&mut program.module, 1).is_err() {
            return false;
        }
    }
    if !is_derivable(&program.module) {
        return false;
    }
    if run(&program.module, &program.args).is_err() {
        return false;
    }
    let mut made = program.module.clone();
    let text = || format!("seed {seed}\n{}\n{:?}", print(&program.module), program.args);
    let residuals = if seed % 4 < 2 { Residuals::Any } else { Residuals::Checkpoints };
    if let Err(error) = gradient_with(&mut made, 1, residuals) {
        assert!(!error.contains("operand"), "{error}\n{}", text());
        return false;
    }
    assert_eq!(lint(&made), Vec::<String>::new(), "{}\n{}", text(), print(&made));
    let Some(expected) = by_forward(&program) else { return false };
    let optimised = optimise(made.clone());
    for made in [made, optimised] {
        assert_eq!(lint(&made), Vec::<String>::new(), "{}\n{}", text(), print(&made));
        let found = run(&made, &program.args)
            .unwrap_or_else(|e| panic!("{:?}\n{}\n{}", e.kind, text(), print(&made)));
        let found = numbers(&found.0);
        assert_eq!(found.len(), expected.len(), "{}", text());
        let largest = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (a, b) in found.iter().zip(&expected) {
            let fits = close(*a, *b)
                || !a.is_finite()
                || !b.is_finite()
                || before > 0 && (a - b).abs() <= 1e-9 * largest;
            assert!(fits, "{found:?}\n{expected:?}\n{}\n{}", text(), print(&made));
        }
    }
    true
}

#[test]
fn gradients_are_those_of_forward_mode() {
    let derived = (0..3000).filter(|seed| check(*seed, 0)).count();
    assert!(derived > 300, "{derived} programs");
}

#[test]
fn gradients_of_gradients_are_those_of_forward_mode() {
    let derived = (0..600).filter(|seed| check(*seed, 1)).count();
    assert!(derived > 60, "{derived} programs");
    let derived = (0..100).filter(|seed| check(*seed, 2)).count();
    assert!(derived > 10, "{derived} programs");
}

#[test]
#[ignore = "takes minutes"]
fn many_gradients_of_gradients_are_those_of_forward_mode() {
    let derived = (600..20_000).filter(|seed| check(*seed, 1)).count();
    assert!(derived > 2000, "{derived} programs");
}

#[test]
#[ignore = "takes minutes"]
fn many_gradients_are_those_of_forward_mode() {
    let derived = (3000..100_000).filter(|seed| check(*seed, 0)).count();
    assert!(derived > 10_000, "{derived} programs");
}
