//! Forward derivatives of random modules: they lint, values and errors are those of the module, and tangents and
//! Taylor coefficients are what differences tend to.

use diffeo_array::ad::{differentiable, forward, jet, zero, Deriver, Orders};
use diffeo_array::build::Builder;
use diffeo_array::ir::{
    Atom, Block, Elem, FlatTy, Function, FunctionId, Module, Op, SiteId, Var, VarInfo,
};
use diffeo_array::typing::param_types;
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_array::{lint, print, FlatEvaluator};
use diffeo_array_generate::{program, Features, GeneratedProgram};
use diffeo_base::Span;
use diffeo_calculus::eval::{Limits, Options};
use proptest::prelude::*;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The values, or the error with its place and the open calls.
fn run(module: &Arc<Module>, args: &[FlatValue]) -> Result<Vec<FlatValue>, String> {
    let options = Options { limits: Limits::after(Duration::from_secs(10)), ..Options::default() };
    let mut evaluator = FlatEvaluator::new(module.clone(), options);
    let result = evaluator.run(args.to_vec());
    result
        .map_err(|e| format!("{} at {:?} {:?} {:?}", e.kind.message(), e.span, e.function, e.trace))
}

/// The module whose entry gives values and tangents.
fn derived(program: &GeneratedProgram) -> Module {
    let mut module = program.module.clone();
    let entry = module.entry;
    let types = param_types(&module.functions[entry.0 as usize]);
    let results = module.functions[entry.0 as usize].results.clone();
    let all = [types.clone(), types].concat();
    let declared = Function {
        name: "derivative".into(),
        shown: "".into(),
        library: false,
        span: Span::NONE,
        vars: all.iter().map(|ty| VarInfo { ty: ty.clone(), name: None }).collect(),
        params: (0..all.len() as u32).map(Var).collect(),
        results: [results.clone(), results].concat(),
        body: Block::default(),
    };
    let id = FunctionId(module.functions.len() as u32);
    module.functions.push(declared);
    jet(&mut module, &mut Deriver::default(), entry, 0, id, (Orders::FIRST, false), false)
        .expect("everything is derived");
    module.entry = id;
    module
}

/// The Reals of values, and what else is in them.
#[derive(Default, PartialEq, Debug)]
struct Leaves {
    reals: Vec<f64>,
    others: String,
}

fn leaves(values: &[FlatValue]) -> Leaves {
    fn visit(value: &FlatValue, leaves: &mut Leaves) {
        match value {
            FlatValue::Real(x) => leaves.reals.push(*x),
            FlatValue::Array(array) => {
                leaves.others += &format!("{:?}", array.sizes());
                (0..array.count()).for_each(|i| visit(&array.element(i), leaves));
            }
            FlatValue::Box(object) => {
                leaves.others += &format!("#{}", object.tag);
                object.fields.iter().for_each(|field| visit(field, leaves));
            }
            FlatValue::Int(_) | FlatValue::Bool(_) | FlatValue::Text(_) | FlatValue::Null => {
                leaves.others += &format!("{value:?}");
            }
            FlatValue::Acc(_) | FlatValue::Stack(_) => leaves.others += "mutable",
        }
    }
    let mut leaves = Leaves::default();
    values.iter().for_each(|value| visit(value, &mut leaves));
    leaves
}

/// The value with each Real replaced.
fn map(value: &FlatValue, f: &mut dyn FnMut(f64) -> f64) -> FlatValue {
    match value {
        FlatValue::Real(x) => FlatValue::Real(f(*x)),
        FlatValue::Array(array) => {
            let data = match array.reals() {
                Some(xs) => Data::Reals(Rc::new(xs.iter().map(|x| f(*x)).collect())),
                None if array.count() > 0 && matches!(array.element(0), FlatValue::Box(_)) => {
                    let elements = (0..array.count()).map(|i| map(&array.element(i), f));
                    Data::Values(Rc::new(elements.collect()))
                }
                None => return value.clone(),
            };
            FlatValue::array(FlatArray::new(array.sizes(), data).expect("as many elements"))
        }
        FlatValue::Box(object) => FlatValue::object(
            object.tag,
            object.fields.iter().map(|v| map(v, f)).collect::<Vec<_>>(),
        ),
        FlatValue::Int(_)
        | FlatValue::Bool(_)
        | FlatValue::Text(_)
        | FlatValue::Null
        | FlatValue::Acc(_)
        | FlatValue::Stack(_) => value.clone(),
    }
}

/// The values at a step along a direction.
fn moved(args: &[FlatValue], direction: &[f64], step: f64) -> Vec<FlatValue> {
    let mut along = direction.iter();
    let mut f = |x: f64| x + step * along.next().copied().unwrap_or(0.0);
    args.iter().map(|arg| map(arg, &mut f)).collect()
}

/// Differences on both sides, and on each.
struct Differences {
    central: Vec<f64>,
    sides: [Vec<f64>; 2],
}

/// Differences; none where the step changes more than numbers.
fn differences(
    module: &Arc<Module>,
    (args, at): (&[FlatValue], &Leaves),
    direction: &[f64],
    step: f64,
) -> Option<Differences> {
    let after = leaves(&run(module, &moved(args, direction, step)).ok()?);
    let before = leaves(&run(module, &moved(args, direction, -step)).ok()?);
    let same = after.others == at.others && before.others == at.others;
    let between = |a: &Leaves, b: &Leaves, by: f64| -> Vec<f64> {
        a.reals.iter().zip(&b.reals).map(|(a, b)| (a - b) / by).collect()
    };
    same.then(|| Differences {
        central: between(&after, &before, 2.0 * step),
        sides: [between(&after, at, step), between(at, &before, step)],
    })
}

/// The program at arguments that are unlikely to lie where it has no derivative.
fn apart(mut program: GeneratedProgram) -> GeneratedProgram {
    let mut step = 0.0;
    let mut f = |x: f64| {
        step += 0.0137;
        x + 0.1 + step % 0.3
    };
    for arg in &mut program.args {
        *arg = map(arg, &mut f);
    }
    program
}

/// How many numbers were compared, and how many of them are not 0.
static COMPARED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

fn check(choices: &[u32], seed: u64) -> Result<(), TestCaseError> {
    let program = apart(program(choices, Features::default()));
    let module = derived(&program);
    prop_assert_eq!(lint(&module), Vec::<String>::new(), "{}", print(&module));
    let before = Arc::new(program.module.clone());
    let after = Arc::new(module);
    let mut state = seed | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 17) as f64 / 8.0 - 1.0
    };
    let count = leaves(&program.args).reals.len();
    let direction: Vec<f64> = (0..count).map(|_| next()).collect();
    let mut along = direction.iter();
    let mut tangent = |_| along.next().copied().unwrap_or(0.0);
    let mut args = program.args.clone();
    args.extend(program.args.iter().map(|arg| map(arg, &mut tangent)));
    let (value, both) = (run(&before, &program.args), run(&after, &args));
    let (value, both) = match (value, both) {
        (Err(a), Err(b)) => {
            prop_assert_eq!(a, b, "{}", print(&after));
            return Ok(());
        }
        (value, both) => {
            prop_assert_eq!(value.as_ref().err(), both.as_ref().err(), "{}", print(&after));
            (value.unwrap_or_default(), both.unwrap_or_default())
        }
    };
    let (found, tangents) = both.split_at(value.len());
    let (at, dots) = (leaves(&value), leaves(tangents));
    prop_assert_eq!(format!("{:?}", at), format!("{:?}", leaves(found)), "{}", print(&after));
    prop_assert_eq!(at.reals.len(), dots.reals.len(), "{}", print(&after));
    // A number that a text is read as has no derivative, but differences see where the text comes from.
    if print(&before).contains("text.number(") {
        return Ok(());
    }
    let steps = [1e-4, 0.5e-4].map(|h| differences(&before, (&program.args, &at), &direction, h));
    let [Some(coarse), Some(fine)] = steps else { return Ok(()) };
    for (i, dot) in dots.reals.iter().enumerate() {
        let (a, b) = (coarse.central[i], fine.central[i]);
        let scale = 1.0 + a.abs().max(at.reals[i].abs());
        // At a kink, or where rounding is felt, differences tell nothing.
        let sides = (fine.sides[0][i] - fine.sides[1][i]).abs();
        let settled = (a - b).abs() <= 1e-6 * scale && sides <= 1e-2 * scale && scale < 1e5;
        if !settled || !dot.is_finite() {
            continue;
        }
        COMPARED[0].fetch_add(1, Ordering::Relaxed);
        COMPARED[1].fetch_add(usize::from(*dot != 0.0), Ordering::Relaxed);
        let wrong = (dot - b).abs() > 1e-4 * scale;
        prop_assert!(
            !wrong,
            "number {}: {} and {}\n{:?}\n{}",
            i,
            dot,
            b,
            program.args,
            print(&after)
        );
    }
    Ok(())
}

#[test]
fn tangents_are_what_differences_tend_to() {
    let config =
        ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() };
    let choices = prop::collection::vec(any::<u32>(), 0..300);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&(choices, any::<u64>()), |(choices, seed)| check(&choices, seed));
    if let Err(error) = result {
        panic!("{error}");
    }
    let [all, varying] = COMPARED.each_ref().map(|n| n.load(Ordering::Relaxed));
    println!("{all} numbers, {varying} not 0");
    assert!(varying > 2000, "{varying} of {all}");
}

/// The order of the Taylor coefficients.
const ORDER: usize = 3;

fn is_real(ty: &FlatTy) -> bool {
    matches!(ty, FlatTy::Real | FlatTy::Array(Elem::Real, _))
}

/// The module whose entry takes also a direction, for Reals and arrays of them, and gives also the Taylor coefficients
/// of results of such types: each that varies, in all orders. And which results those are.
fn expanded(program: &GeneratedProgram) -> (Module, Vec<bool>) {
    let mut module = program.module.clone();
    let mut cache = Deriver::default();
    let entry = module.entry;
    let types = param_types(&module.functions[entry.0 as usize]);
    let active: Vec<bool> = types.iter().map(is_real).collect();
    let derived = forward(&mut module, &mut cache, entry, &active, ORDER).expect("derived");
    let mut b = Builder::new(SiteId(0));
    let mut args: Vec<Atom> = types.iter().map(|ty| b.param(ty.clone(), None)).collect();
    let mut tangents = Vec::new();
    for (i, ty) in types.iter().enumerate().filter(|(i, _)| active[*i]) {
        tangents.push(b.param(ty.clone(), None));
        let zeros = zero(&mut b, &mut module, &mut cache, &args[i], ORDER);
        tangents.extend(zeros.into_iter().skip(1));
    }
    args.extend(tangents);
    let mut results = b.emit(&module, Op::Call(derived.function, args));
    let mut further = results.split_off(derived.results.len()).into_iter();
    let mut given = Vec::new();
    for (value, varies) in results.clone().iter().zip(&derived.results) {
        let real = is_real(&b.ty(value));
        given.push(*varies && real);
        if *varies {
            let dots = further.by_ref().take(if real { ORDER } else { 1 });
            let dots: Vec<Atom> = dots.collect();
            results.extend(dots.into_iter().filter(|_| real));
        }
    }
    let mut function = b.finish("expanded", results).expect("well typed");
    function.shown = "".into();
    module.entry = FunctionId(module.functions.len() as u32);
    module.functions.push(function);
    (module, given)
}

/// How many coefficients of each order were compared that are not 0.
static EXPANDED: [AtomicUsize; ORDER] = [const { AtomicUsize::new(0) }; ORDER];

fn check_expansion(choices: &[u32], seed: u64) -> Result<(), TestCaseError> {
    let program = apart(program(choices, Features::default()));
    let (module, given) = expanded(&program);
    prop_assert_eq!(lint(&module), Vec::<String>::new(), "{}", print(&module));
    let (before, after) = (Arc::new(program.module.clone()), Arc::new(module));
    let mut state = seed | 1;
    let mut next = |_: f64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 17) as f64 / 8.0 - 1.0
    };
    let types = param_types(&before.functions[before.entry.0 as usize]);
    let directions: Vec<Option<FlatValue>> = types
        .iter()
        .zip(&program.args)
        .map(|(ty, arg)| is_real(ty).then(|| map(arg, &mut next)))
        .collect();
    let mut args = program.args.clone();
    args.extend(directions.iter().flatten().cloned());
    let (Ok(value), Ok(all)) = (run(&before, &program.args), run(&after, &args)) else {
        return Ok(());
    };
    let (found, coefficients) = all.split_at(value.len());
    let same = format!("{:?}", leaves(&value)) == format!("{:?}", leaves(found));
    prop_assert!(same, "{}", print(&after));
    // The values at a step along the direction.
    let at = |step: f64| -> Option<Leaves> {
        let move_by = |(arg, direction): (&FlatValue, &Option<FlatValue>)| match direction {
            None => arg.clone(),
            Some(direction) => {
                let along = leaves(std::slice::from_ref(direction)).reals;
                let mut along = along.into_iter();
                map(arg, &mut |x| x + step * along.next().unwrap_or(0.0))
            }
        };
        let args: Vec<FlatValue> = program.args.iter().zip(&directions).map(move_by).collect();
        let values = run(&before, &args).ok()?;
        let kept: Vec<FlatValue> =
            values.into_iter().zip(&given).filter(|(_, g)| **g).map(|(v, _)| v).collect();
        Some(leaves(&kept))
    };
    let Some(origin) = at(0.0) else { return Ok(()) };
    // Differences of each order.
    let differences = |h: f64| -> Option<[Vec<f64>; ORDER]> {
        let points = [2.0 * h, h, -h, -2.0 * h].map(at);
        let [Some(a), Some(b), Some(c), Some(d)] = points else { return None };
        if [&a, &b, &c, &d].iter().any(|p| p.others != origin.others) {
            return None;
        }
        let each = |f: &dyn Fn(usize) -> f64| (0..origin.reals.len()).map(f).collect();
        Some([
            each(&|i| (b.reals[i] - c.reals[i]) / (2.0 * h)),
            each(&|i| (b.reals[i] - 2.0 * origin.reals[i] + c.reals[i]) / (2.0 * h * h)),
            each(&|i| {
                let odd = a.reals[i] - 2.0 * b.reals[i] + 2.0 * c.reals[i] - d.reals[i];
                odd / (12.0 * h * h * h)
            }),
        ])
    };
    let (Some(coarse), Some(fine)) = (differences(4e-3), differences(2e-3)) else { return Ok(()) };
    // How much the slopes on both sides differ.
    let (Some(right), Some(left)) = (at(2e-3), at(-2e-3)) else { return Ok(()) };
    let jump = |(i, x): (usize, &f64)| (right.reals[i] - 2.0 * x + left.reals[i]).abs() / 2e-3;
    let jumps: Vec<f64> = origin.reals.iter().enumerate().map(jump).collect();
    // By result, then order, then element.
    let mut position = 0;
    for group in coefficients.chunks(ORDER) {
        let orders: Vec<Vec<f64>> =
            group.iter().map(|c| leaves(std::slice::from_ref(c)).reals).collect();
        for (order, numbers) in orders.iter().enumerate() {
            for (i, number) in numbers.iter().enumerate() {
                let at = position + i;
                let (a, b) = (coarse[order][at], fine[order][at]);
                let scale = 1.0 + a.abs().max(origin.reals[at].abs());
                let (x, y) = (fine[0][at], coarse[0][at]);
                let smooth = (x - y).abs() <= 1e-4 * scale && jumps[at] <= 1e-2 * scale;
                let settled = (a - b).abs() <= 1e-3 * scale && scale <= 1e3;
                if !smooth || !settled || !number.is_finite() {
                    continue;
                }
                EXPANDED[order].fetch_add(usize::from(*number != 0.0), Ordering::Relaxed);
                prop_assert!(
                    (number - b).abs() <= 1e-2 * scale,
                    "order {}, number {}: {} and {}\n{:?} {:?}\n{}",
                    order + 1,
                    at,
                    number,
                    b,
                    program.args,
                    directions,
                    print(&after)
                );
            }
        }
        position += orders[0].len();
    }
    Ok(())
}

#[test]
fn taylor_coefficients_are_what_differences_tend_to() {
    let config =
        ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() };
    let choices = prop::collection::vec(any::<u32>(), 0..300);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let check = |(choices, seed): (Vec<u32>, u64)| check_expansion(&choices, seed);
    if let Err(error) = runner.run(&(choices, any::<u64>()), check) {
        panic!("{error}");
    }
    let counts = EXPANDED.each_ref().map(|n| n.load(Ordering::Relaxed));
    println!("{counts:?}");
    assert!(counts[0] > 1000, "{counts:?}");
}

#[test]
fn ints_and_truth_values_have_no_tangents() {
    let module = Module::default();
    let of = |ty: &FlatTy| differentiable(&module, ty);
    assert!([FlatTy::Int, FlatTy::Bool, FlatTy::Text].iter().all(|ty| !of(ty)));
    assert!([FlatTy::Real, FlatTy::Acc(1)].iter().all(of));
}
