//! What the systems of Krawiec et al. cost (sections 5 to 7.4), by counting operations and bindings.
//!
//! D¹ is quadratic on a sum of n inputs, D² exponential in what is shared, D linear. And R{e} takes a constant
//! times what e takes with the sizes of S and T, at every size: see [`MOST`].

use crate::support::{
    add, app, build, index, lam, length, let_, loop_, mul, prim, program, real, reals_ty,
};
use crate::theorems::generator::{Features, TheoremCase};
use crate::theorems::harness::{machine_for, theorem, CaseFailure};
use crate::theorems::translations::{call, machine_of, main_term, with};
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::Kinks;
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::value::Value;
use diffeo_calculus::{Prim, Program, Ty};
use diffeo_papers::delta::{naive, wrapper};
use diffeo_papers::{dual, Delta, Workspace};
use std::sync::Mutex;

const LISTS: Delta = Delta { arrays: false, split: false };
const ARRAYS: Delta = Delta { arrays: true, split: false };

/// The constant of section 7.4 for the time and for the memory of R with arrays: what R{e} takes is below so
/// many times the operations of e plus the numbers of S and T.
const MOST: f64 = 100.0;

/// The operations that one call of a wrapper or definition takes.
fn operations(
    program: &Program,
    make: impl FnOnce(&mut Workspace) -> GlobalId,
    at: Value,
) -> Result<u64, CaseFailure> {
    let mut w = Workspace::new(program);
    let f = make(&mut w);
    machine_of(&mut w)?;
    let mut machine = machine_for(w.program(), Kinks::Ignore, 1 << 40);
    call(&mut machine, f, at)?;
    Ok(machine.operations())
}

/// Slope and intercept of the least-squares line through points.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let slope = covariance / variance;
    (slope, y - slope * x)
}

/// The exponent p of counts that grow like nᵖ: the slope on log–log axes.
fn exponent(what: &str, counts: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = counts.iter().map(|(n, c)| (n.ln(), c.ln())).collect();
    let (slope, _) = line(&logs);
    println!("{what}: operations {counts:?}, exponent {slope:.3}");
    slope
}

/// The base b of counts that grow like bⁿ.
fn base(what: &str, counts: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = counts.iter().map(|(n, c)| (*n, c.ln())).collect();
    let base = line(&logs).0.exp();
    println!("{what}: operations {counts:?}, base {base:.3}");
    base
}

type Wrapper = fn(&mut Workspace) -> GlobalId;

const F: Wrapper = |w| dual::wrapper(w, GlobalId(0));
const R1: Wrapper = |w| naive::r1(w, GlobalId(0));
const R2: Wrapper = |w| naive::r2(w, GlobalId(0));
const R: Wrapper = |w| wrapper::r(w, GlobalId(0), LISTS);
const R_ARRAYS: Wrapper = |w| wrapper::r(w, GlobalId(0), ARRAYS);

fn numbers(n: usize) -> Value {
    let values = (0..n).map(|i| Value::Real(i as f64 / 8.0));
    Value::array(Array::from_values(values).expect("numbers"))
}

/// The counts of a wrapper for sums of so many numbers.
fn sums(wrapper: Wrapper, sizes: &[usize]) -> Vec<(f64, f64)> {
    let sum = lam(reals_ty(), |xs| {
        loop_(Ty::Real, real(0.0), length(Ty::Real, xs.clone()), |s, i| {
            add(s, index(Ty::Real, xs, i))
        })
    });
    let program = program(vec![("e", Ty::fun(reals_ty(), Ty::Real), sum)]);
    let count = |n: &usize| {
        let at = Value::tuple([numbers(*n), Value::Real(1.0)]);
        let count = operations(&program, wrapper, at).expect("a gradient");
        (*n as f64, count as f64)
    };
    sizes.iter().map(count).collect()
}

#[test]
fn a_sum_of_n_inputs() {
    let sizes = [100, 200, 400, 800, 1600];
    let quadratic = exponent("R¹ of a sum", &sums(R1, &sizes));
    assert!((1.8..2.1).contains(&quadratic), "R¹: {quadratic}");
    for (name, wrapper) in [("R²", R2), ("R with arrays", R_ARRAYS)] {
        let linear = exponent(&format!("{name} of a sum"), &sums(wrapper, &sizes));
        assert!((0.9..1.1).contains(&linear), "{name}: {linear}");
    }
    // With maps, each look-up takes the logarithm of their size (section 7.3).
    let linear = exponent("R of a sum", &sums(R, &sizes));
    assert!((0.9..1.25).contains(&linear), "R: {linear}");
}

/// `doubled x = let x₁ = x + x in let x₂ = x₁ + x₁ in … xₙ` (section 7)
fn doubled(wrapper: Wrapper, sizes: &[usize]) -> Vec<(f64, f64)> {
    let count = |n: &usize| {
        fn times(x: Term, n: usize) -> Term {
            match n {
                0 => x,
                _ => let_(Ty::Real, add(x.clone(), x), |y| times(y, n - 1)),
            }
        }
        let doubled = lam(Ty::Real, |x| times(x, *n));
        let program = program(vec![("e", Ty::fun(Ty::Real, Ty::Real), doubled)]);
        let at = Value::tuple([Value::Real(0.5), Value::Real(1.0)]);
        let count = operations(&program, wrapper, at).expect("a gradient");
        (*n as f64, count as f64)
    };
    sizes.iter().map(count).collect()
}

#[test]
fn sharing() {
    let two = base("R² of doubled", &doubled(R2, &[8, 10, 12, 14, 16]));
    assert!((1.9..2.1).contains(&two), "R²: {two}");
    for (name, wrapper) in [("R¹", R1), ("R with arrays", R_ARRAYS), ("F", F)] {
        let linear = exponent(&format!("{name} of doubled"), &doubled(wrapper, &[20, 40, 80, 160]));
        assert!((0.7..1.15).contains(&linear), "{name}: {linear}");
    }
    let linear = exponent("R of doubled", &doubled(R, &[20, 40, 80, 160]));
    assert!((0.7..1.25).contains(&linear), "R: {linear}");
}

/// What R{e} takes for each operation of e and number of S and T.
#[derive(Clone, Copy, Default)]
struct Most {
    time: f64,
    memory: f64,
}

/// The largest at each size, over all cases.
static LARGEST: Mutex<[Most; SIZES.len()]> =
    Mutex::new([Most { time: 0.0, memory: 0.0 }; SIZES.len()]);

const SIZES: [usize; 3] = [1, 8, 64];

/// Takes part in the largest, and prints it where it grows.
fn record(i: usize, found: Most) -> Result<(), CaseFailure> {
    let mut all = LARGEST.lock().map_err(|_| "another test failed")?;
    let largest = &mut all[i];
    if found.time > largest.time || found.memory > largest.memory {
        largest.time = largest.time.max(found.time);
        largest.memory = largest.memory.max(found.memory);
        let (n, Most { time, memory }) = (SIZES[i], *largest);
        println!(
            "R with arrays at size {n}: at most {time:.2} × in time, {memory:.2} × in bindings"
        );
    }
    Ok(())
}

/// `λxs. [f xs[i] for i < length xs]` and `λxs. loop s = 0 for i < length xs do s + f xs[i] ⊙ f xs[i] * s`, of a
/// case's function.
fn scaled(case: &TheoremCase) -> [(Ty, Ty, Term); 2] {
    let (s, t) = (case.s.clone(), case.t.clone());
    let f = || main_term(case);
    let each = lam(Ty::array(s.clone()), |xs| {
        build(t.clone(), length(s.clone(), xs.clone()), |i| app(f(), index(s.clone(), xs, i)))
    });
    let total = lam(Ty::array(s.clone()), |xs| {
        loop_(Ty::Real, real(0.0), length(s.clone(), xs.clone()), |sum, i| {
            let_(t.clone(), app(f(), index(s.clone(), xs, i)), |y| {
                let square = prim(Prim::Inner(t.clone()), vec![y.clone(), y]);
                add(mul(real(0.5), sum.clone()), mul(square, real(0.25)))
            })
        })
    });
    [(Ty::array(s.clone()), Ty::array(t), each), (Ty::array(s), Ty::Real, total)]
}

/// So many copies of a value.
fn copies(value: &Value, n: usize) -> Option<Value> {
    Some(Value::array(Array::from_values((0..n).map(|_| value.clone())).ok()?))
}

theorem! {
    /// Time and memory of R{e} are at most a constant times those of e with the sizes of S and T (section 7.4), the
    /// same one whatever the program and its input's size.
    section_7_4_costs, Features::no_derivatives(), |case| {
        let [each, total] = scaled(case);
        let definitions = vec![
            ("each", Ty::fun(each.0, each.1), each.2),
            ("total", Ty::fun(total.0, total.1), total.2),
        ];
        let (program, ids) = with(case, definitions);
        // One machine for all sizes, whose programs are compiled once.
        let mut w = Workspace::new(&program);
        let made = ids.iter().map(|id| {
            (*id, wrapper::r(&mut w, *id, ARRAYS), wrapper::deltas(&mut w, *id, ARRAYS))
        });
        let made: Vec<_> = made.collect();
        machine_of(&mut w)?;
        let program = w.program();
        let (Some(one), Some(one_value)) = (copies(&case.point, 1), copies(&case.cotangent, 1)) else {
            return Err(CaseFailure::Skip("there is no array of values of several shapes"));
        };
        for (i, n) in SIZES.into_iter().enumerate() {
            let (Some(at), Some(values)) = (copies(&case.point, n), copies(&case.cotangent, n))
            else {
                return Err(CaseFailure::Skip("there is no array of values of several shapes"));
            };
            for (e, r, deltas) in &made {
                let is_each = *e == ids[0];
                let dt = if is_each { values.clone() } else { Value::Real(1.0) };
                let parts = n * (parts(&case.point) + if is_each { parts(&case.value) } else { 0 });
                let mut machine = machine_for(program.clone(), Kinks::Ignore, 200_000_000);
                let mut count = |f: GlobalId, at: Value| -> Result<(u64, Value), CaseFailure> {
                    let before = machine.operations();
                    let value = call(&mut machine, f, at)?;
                    Ok((machine.operations() - before, value))
                };
                // What is evaluated once is not counted.
                count(*r, Value::tuple([one.clone(), if is_each { one_value.clone() } else { Value::Real(1.0) }]))?;
                let (primal, _) = count(*e, at.clone())?;
                let (reverse, _) = count(*r, Value::tuple([at.clone(), dt]))?;
                let (_, ran) = count(*deltas, at.clone())?;
                let bound = (primal as usize + parts) as f64;
                let Value::Array(bindings) = &ran.fields()[1].fields()[1] else {
                    return Err("there are no bindings".into());
                };
                let found =
                    Most { time: reverse as f64 / bound, memory: bindings.len() as f64 / bound };
                record(i, found)?;
                if found.time > MOST || found.memory > MOST / 10.0 {
                    return Err(format!(
                        "at size {n}, {primal} operations on {parts} parts become {reverse} with {} \
                         bindings",
                        bindings.len()
                    ).into());
                }
            }
        }
        Ok(())
    }
}

/// How many parts a value has: its size.
fn parts(value: &Value) -> usize {
    let mut pending = vec![value.clone()];
    let mut seen = 0;
    while let Some(value) = pending.pop() {
        seen += 1;
        pending.extend_from_slice(value.fields());
        if let Value::Array(array) = &value {
            pending.extend(array.iter());
        }
    }
    seen
}
