//! Runs of cases and checks of properties on them.
//!
//! What comes in: a property, which says of a [`TheoremCase`] that it holds, that the case says nothing about it
//! ([`CaseFailure::Skip`]), or what is wrong. What goes out: nothing, or a panic with the smallest program, as
//! Core, for which it is wrong. What always holds: the cases depend on the name of the property alone, unless
//! the environment says otherwise, and no run is without bounds.
//!
//! | variable | what it does |
//! |---|---|
//! | `THEOREM_CASES` | how many cases |
//! | `THEOREM_SEED` | other cases |
//! | `THEOREM_SHOW` | the cases are shown as they come, with `--nocapture`, in case that the process dies |

use crate::theorems::generator::{Features, Rejected, TheoremCase};
use crate::theorems::shrink::shrink;
use diffeo_calculus::eval::derivative::with_derivatives;
use diffeo_calculus::eval::{Kinks, Limits, Machine, MemoryLimit, Options, RuntimeError};
use diffeo_calculus::leaves::{each_leaf, is_real, map_leaves};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;
use diffeo_calculus::Program;
use proptest::collection::vec;
use proptest::num::u16;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

/// The most choices of a program.
const MOST_CHOICES: usize = 700;

/// The operations that taking a derivative of a case may take.
pub const MOST_OPERATIONS: u64 = 2_000_000;

/// Where numbers are above this, disagreement says nothing.
const LARGE: f64 = 1e9;

/// Why a property does not hold of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseFailure {
    /// The case says nothing about it, for this reason.
    Skip(&'static str),
    /// It is wrong.
    Wrong(String),
}

impl From<String> for CaseFailure {
    fn from(message: String) -> CaseFailure {
        CaseFailure::Wrong(message)
    }
}

impl From<&str> for CaseFailure {
    fn from(message: &str) -> CaseFailure {
        CaseFailure::Wrong(message.to_string())
    }
}

impl From<RuntimeError> for CaseFailure {
    /// What runs out of its bounds is of no interest.
    fn from(error: RuntimeError) -> CaseFailure {
        match code(&error) {
            "out-of-memory" => CaseFailure::Skip("the run is too long"),
            _ => CaseFailure::Wrong(format!("it stops: {}", error.kind.message())),
        }
    }
}

/// Makes two tests of a property of cases: `NAME::theorem` with 1,000 cases, and `NAME::theorems_100_000`,
/// which is ignored unless asked for.
macro_rules! theorem {
    ($(#[$meta:meta])* $name:ident, $features:expr, |$case:ident| $body:expr) => {
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn property(
                $case: &$crate::theorems::generator::TheoremCase,
            ) -> Result<(), $crate::theorems::harness::CaseFailure> {
                $body
            }

            #[test]
            fn theorem() {
                $crate::theorems::harness::check(stringify!($name), $features, 1_000, property);
            }

            #[test]
            #[ignore = "takes long"]
            fn theorems_100_000() {
                $crate::theorems::harness::check(stringify!($name), $features, 100_000, property);
            }
        }
    };
}
pub(crate) use theorem;

/// The lists of choices for a program and for its values.
fn choices() -> impl Strategy<Value = (Vec<u16>, Vec<u16>)> {
    (vec(u16::ANY, 0..MOST_CHOICES), vec(u16::ANY, 0..40))
}

/// A number that depends on the name alone.
fn seed(name: &str) -> [u8; 32] {
    // FNV-1a.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    seed ^= variable("THEOREM_SEED").unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

/// A counterexample to a property, made small: the case and what is wrong.
pub type Counterexample = (TheoremCase, String);

/// Checks a property on so many cases, those not counted that it skips.
///
/// # Panics
/// If it is wrong of one, with the smallest that was found; if it skips most cases.
pub fn check(
    name: &str,
    features: Features,
    cases: u32,
    property: impl Fn(&TheoremCase) -> Result<(), CaseFailure>,
) {
    if let Some((case, message)) = counterexample(name, features, cases, property) {
        panic!("{name} does not hold: {message}\n\n{case}");
    }
}

/// The smallest case that was found for which a property is wrong.
///
/// # Panics
/// If the property skips most cases; if it panics.
pub fn counterexample(
    name: &str,
    features: Features,
    cases: u32,
    property: impl Fn(&TheoremCase) -> Result<(), CaseFailure>,
) -> Option<Counterexample> {
    let cases = variable("THEOREM_CASES").map_or(cases, |n| n as u32);
    let config = Config {
        cases,
        max_global_rejects: cases,
        // Choices are shrunk by what they mean.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed(name));
    let mut runner = TestRunner::new_with_rng(config, rng);
    let skipped = RefCell::new(BTreeMap::new());
    let skip = |why: &'static str| {
        *skipped.borrow_mut().entry(why).or_insert(0) += 1;
        Err(TestCaseError::reject(why))
    };
    let show = std::env::var_os("THEOREM_SHOW").is_some();
    let result = runner.run(&choices(), |(program, values)| {
        let case = match TheoremCase::new(features, &program, &values) {
            Ok(case) => case,
            Err(Rejected::Large) => return skip("a value is too large"),
            Err(Rejected::Long) => return skip("the program runs too long"),
        };
        if show {
            println!("{case}");
        }
        match property(&case) {
            Ok(()) => Ok(()),
            Err(CaseFailure::Skip(why)) => skip(why),
            Err(CaseFailure::Wrong(message)) => Err(TestCaseError::fail(message)),
        }
    });
    println!("{name}: {cases} cases; skipped: {:?}", skipped.borrow());
    let (why, first) = match result {
        Ok(()) => return None,
        Err(TestError::Abort(why)) => panic!("{name}: {why}: most cases say nothing"),
        Err(TestError::Fail(why, first)) => (why, first),
    };
    let shrunk = shrink(first.clone(), |program, values| {
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let case = TheoremCase::new(features, program, values).ok()?;
            match property(&case) {
                Err(CaseFailure::Wrong(message)) => Some((case, message)),
                Err(CaseFailure::Skip(_)) | Ok(()) => None,
            }
        }));
        tried.unwrap_or(None)
    });
    // What panics is not shrunk.
    Some(shrunk.unwrap_or_else(|| panic!("{name} does not hold: {why}\nchoices {first:?}")))
}

// Runs

thread_local! {
    /// How often the limits may still be asked for.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Limits that end a run after about so many operations, always at the same place: they are asked for every
/// thousand operations, so a count of that takes the place of the memory in use. Runs in the same thread
/// share the bound that was made last.
pub fn limits(operations: u64) -> Limits {
    LEFT.set((operations / 1024) as usize + 2);
    let in_use = || {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        usize::from(left == 0)
    };
    let memory = Some(MemoryLimit { bytes: 0, in_use });
    Limits { memory, ..Limits::default() }
}

/// How a run is to end after about so many operations (work on a whole array being one).
pub fn options(kinks: Kinks, operations: u64) -> Options {
    Options { kinks, limits: limits(operations), max_stack: 1 << 22, ..Options::default() }
}

/// A machine for a case that stops after about so many operations; see [`limits`].
pub fn machine(case: &TheoremCase, kinks: Kinks, operations: u64) -> Machine {
    Machine::new(case.program.clone(), options(kinks, operations))
}

/// The same for any program.
pub fn machine_for(program: Rc<Program>, kinks: Kinks, operations: u64) -> Machine {
    Machine::new(program, options(kinks, operations))
}

/// The stable name of an error.
pub fn code(error: &RuntimeError) -> &'static str {
    error.kind.code()
}

/// The value of the function of a case at an argument.
pub fn apply_main(
    machine: &mut Machine,
    case: &TheoremCase,
    at: Value,
) -> Result<Value, RuntimeError> {
    let main = machine.eval_global(case.main)?;
    machine.apply(&main, at)
}

/// The value of a derivative term of the function of a case: `args` are those after the function.
pub fn derivative(
    machine: &mut Machine,
    case: &TheoremCase,
    op: DiffOp,
    args: impl IntoIterator<Item = Value>,
) -> Result<Value, RuntimeError> {
    let main = machine.eval_global(case.main)?;
    machine.derivative(op, std::iter::once(main).chain(args).collect())
}

// Values

/// The Reals of a value, from left to right.
pub fn reals(value: &Value) -> Vec<f64> {
    let mut all = Vec::new();
    let seen = each_leaf(value, &mut |leaf| {
        all.push(diffeo_calculus::eval::reals::primal(leaf));
        Ok::<_, String>(())
    });
    seen.expect("no leaf fails");
    all
}

/// The value with its Reals replaced, from left to right, by what `f` makes of them.
pub fn with_reals(value: &Value, mut f: impl FnMut(f64) -> f64) -> Value {
    let mapped = map_leaves(value, &mut |leaf| {
        Ok::<_, String>(Value::Real(f(diffeo_calculus::eval::reals::primal(leaf))))
    });
    mapped.expect("no leaf fails")
}

/// `x + h v`
pub fn moved(x: &Value, h: f64, v: &Value) -> Value {
    let mut steps = reals(v).into_iter();
    with_reals(x, |x| x + h * steps.next().unwrap_or(0.0))
}

/// The value of `J(S)` for `jet`: each Real with its derivatives from values of the same shape.
///
/// # Errors
/// None for values of one shape.
pub fn jets(point: &Value, derivatives: &[&Value]) -> Result<Value, CaseFailure> {
    let all: Vec<Vec<f64>> =
        std::iter::once(&point).chain(derivatives).map(|value| reals(value)).collect();
    // Numbers in place of the Reals tell which ones they are, in whatever order they come.
    let mut count = 0.0;
    let numbered = with_reals(point, |_| {
        count += 1.0;
        count - 1.0
    });
    let of =
        &mut |number: f64| all.iter().map(|reals| Value::Real(reals[number as usize])).collect();
    with_derivatives(&numbered, all.len(), of).map_err(|kind| kind.message().into())
}

/// The sum of the products of the Reals of two values of one shape.
pub fn inner(a: &Value, b: &Value) -> f64 {
    reals(a).iter().zip(reals(b)).map(|(a, b)| a * b).sum()
}

/// Whether two values have one shape; the shape is all but the Reals, and but texts, which may show Reals.
pub fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_shape(&a, &b))
        }
        (Value::Data(x), Value::Data(y)) if x.tag != y.tag => false,
        (Value::Tuple(_), Value::Tuple(_)) | (Value::Data(_), Value::Data(_)) => {
            let (a, b) = (a.fields(), b.fields());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b))
        }
        (Value::Unit, Value::Unit) | (Value::Function(_), Value::Function(_)) => true,
        _ => is_real(a) && is_real(b),
    }
}

/// Whether two numbers agree to 1e-9 of the largest intermediate magnitude (see
/// [`Machine::take_largest`]).
pub fn close(a: f64, b: f64, largest: f64) -> Result<(), CaseFailure> {
    let largest = largest.max(1.0);
    if a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-9 * largest {
        return Ok(());
    }
    // Near the largest numbers, the order of operations decides what is still finite.
    if largest >= LARGE {
        return Err(CaseFailure::Skip("a number is too large"));
    }
    let difference = (a - b).abs();
    Err(format!("{a} and {b} differ by {difference:e}; the largest magnitude is {largest}").into())
}

/// Whether two values have one shape and Reals that agree as for [`close`].
pub fn close_values(a: &Value, b: &Value, largest: f64) -> Result<(), CaseFailure> {
    if !same_shape(a, b) {
        return Err(CaseFailure::Wrong(format!("{a:?} and {b:?} have different shapes")));
    }
    reals(a).iter().zip(reals(b)).try_for_each(|(a, b)| close(*a, b, largest))
}
