//! Checks derivatives: every mode against every other, and against differences.
//!
//! In: a function and a point. Out: a [`DerivativeReport`] of its first and second derivatives, component by
//! component: how far the modes of differentiation (and all nestings of two of them) are apart, how far
//! extrapolated differences are from them, where, and where derivatives are not finite. What always
//! holds: nothing depends on chance or on the clock; of a function that is large or takes long, a fixed
//! sample of the components is compared, and random directions, in which all take part.
//!
//! Modes are compared relative to the derivative, unless that is what has been left of much larger derivatives of its
//! order: then relative to the largest absolute value met in the computation, which is that of values, derivatives and
//! all intermediate results of the runs that give a component. Differences are compared with them
//! relative to the derivative, as far as rounding and the steps let differences be that exact; where they say
//! next to nothing, they are too rough to tell.

mod cells;
mod differences;
mod first;
mod probes;
mod second;

pub use cells::{Comparison, Worst};
pub use differences::Estimate;

use crate::differentiate::paths::{each_path, path_text};
use crate::differentiate::{numbers, Differentiator};
use crate::{Diagnostic, Kinks, Limits, Options, Session};
use cells::Cells;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::RuntimeError;
use diffeo_calculus::leaves::each_leaf_pair;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_front::Differentiable;
use differences::StepRange;
use probes::{Probe, ProbeRandom};

/// How far two modes may be apart.
pub const MODES_AGREE: f64 = 1e-9;
/// How far differences may be from the modes.
pub const DIFFERENCES_AGREE: f64 = 1e-6;

/// How much is compared.
#[derive(Clone, Debug)]
pub struct CheckExtent {
    /// The most numbers of the point, and of the result, whose derivatives are compared one by one.
    pub most: usize,
    /// About how many operations the check may take; fewer numbers are compared to keep it.
    pub operations: u64,
    /// Whether second derivatives are compared, too.
    pub second: bool,
    /// The bounds on all of it.
    pub limits: Limits,
    /// Directions decide at the kinks of the point, which are then not named.
    pub exact: bool,
}

impl Default for CheckExtent {
    fn default() -> CheckExtent {
        CheckExtent {
            most: 64,
            operations: 100_000_000,
            second: true,
            limits: Limits::default(),
            exact: false,
        }
    }
}

/// What a check found.
#[derive(Debug)]
pub struct DerivativeReport {
    /// The function's value.
    pub value: Value,
    /// How many numbers of the point were compared one by one, and how many there are.
    pub inputs: (usize, usize),
    /// The same of the result.
    pub outputs: (usize, usize),
    /// How many random directions were compared besides.
    pub directions: usize,
    /// First derivatives.
    pub first: OrderReport,
    /// Second derivatives, unless they were left out.
    pub second: Option<OrderReport>,
    /// How far the values that come with derivatives are from the function's, relative to the largest
    /// number met.
    pub values_apart: f64,
    /// The modes that give a derivative, or a value with it, of other constructors or lengths than it should have:
    /// those of the function's value, or of the point. Then nothing else is compared.
    pub shapes_apart: Vec<&'static str>,
    /// How many operations the value takes.
    pub value_operations: u64,
    /// How many operations value and gradient take in reverse mode.
    pub gradient_operations: u64,
    /// Kinks at the point and operations outside their domain there, and what made derivatives nan.
    pub warnings: Vec<Diagnostic>,
}

/// What a check found of the derivatives of an order.
#[derive(Debug)]
pub struct OrderReport {
    /// The modes that were compared.
    pub modes: Vec<&'static str>,
    /// How many components were compared.
    pub components: usize,
    /// The modes among each other.
    pub agreement: Comparison<ComponentName>,
    /// The modes with differences (of values; of the gradient for second derivatives).
    pub differences: Comparison<ComponentName>,
    /// Components that are not finite.
    pub not_finite: Vec<Worst<ComponentName>>,
}

/// A component of a derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentName {
    /// The numbers of the point that are varied, one or two of them: `w[2].slope`; empty for a point that is
    /// one number.
    pub inputs: Vec<String>,
    /// The number of the result; empty for a result that is one number.
    pub output: String,
}

impl OrderReport {
    /// Whether the modes agree and give finite numbers.
    pub fn modes_agree(&self) -> bool {
        self.agreement.disagreements == 0 && self.not_finite.is_empty()
    }

    /// Whether differences agree with them as well.
    pub fn agrees(&self) -> bool {
        self.modes_agree() && self.differences.disagreements == 0
    }
}

impl DerivativeReport {
    /// Whether everything agrees.
    pub fn agrees(&self) -> bool {
        self.values_apart <= MODES_AGREE
            && self.shapes_apart.is_empty()
            && self.first.agrees()
            && self.second.as_ref().is_none_or(OrderReport::agrees)
    }
}

/// Compares the derivatives of a function at a point. Nothing is compared where there is no Real in the point; see
/// [`DerivativeReport::inputs`]. Where there is none in the value, as in `Nothing`, its derivatives have its shape, and
/// the point has gradients that are 0.
///
/// # Errors
/// What stops the program at the point.
pub fn check(
    session: &Session,
    function: &Differentiable,
    point: &Value,
    extent: &CheckExtent,
) -> Result<DerivativeReport, RuntimeError> {
    let by = if extent.exact { Kinks::Exact } else { Kinks::Ignore };
    let mut differentiator = Differentiator::new(session, function, options(extent, by))?;
    let value = differentiator.value(point)?;
    let value_operations = differentiator.machine.operations();
    let (x, y) = (numbers(point), numbers(&value));
    let mut warnings = match extent.exact {
        true => Vec::new(),
        false => kinks(session, function, point, extent)?,
    };
    let cost = value_operations + (x.len() + y.len()) as u64 + 20;
    let plan = CheckPlan::new(extent, cost, x.len(), y.len());
    let mut checker = DerivativeChecker::new(differentiator, point, value, (x, y), &plan);
    let shapes_apart = checker.shapes()?;
    let (mut gradient_operations, mut second) = (0, None);
    let first = if shapes_apart.is_empty() {
        gradient_operations = checker.gradient_operations()?;
        let first = checker.first()?;
        if let Some(counts) = plan.second {
            second = Some(checker.second(counts)?);
        }
        first
    } else {
        part(&Cells::new(Vec::new()), |_| ComponentName {
            inputs: Vec::new(),
            output: String::new(),
        })
    };
    for warning in checker.differentiator.take_warnings() {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Ok(DerivativeReport {
        inputs: (plan.inputs, checker.x.len()),
        outputs: (plan.outputs, checker.y.len()),
        directions: DIRECTIONS,
        first,
        second,
        values_apart: checker.values_apart,
        shapes_apart,
        value_operations,
        gradient_operations,
        warnings,
        value: checker.value,
    })
}

fn options(extent: &CheckExtent, kinks: Kinks) -> Options {
    let (limits, stack) = (extent.limits.clone(), Options::default().max_stack);
    let max_stack = limits.memory.as_ref().map_or(stack, |memory| memory.bytes.min(stack));
    Options { kinks, limits, max_stack, ..Options::default() }
}

/// The kinks and operations outside their domain at the point.
fn kinks(
    session: &Session,
    function: &Differentiable,
    point: &Value,
    extent: &CheckExtent,
) -> Result<Vec<Diagnostic>, RuntimeError> {
    let mut differentiator = Differentiator::new(session, function, options(extent, Kinks::Warn))?;
    differentiator.pullback(point)?;
    Ok(differentiator.take_warnings())
}

/// Steps for numbers below this are of their size, too.
const SMALL: f64 = 1e-3;

/// How many random directions of the point, and of the result, are compared.
const DIRECTIONS: usize = 2;

/// How much is compared of a function at hand.
struct CheckPlan {
    /// Numbers of the point.
    inputs: usize,
    /// Numbers of the result.
    outputs: usize,
    /// For second derivatives: numbers of the point, and of the result.
    second: Option<(usize, usize)>,
}

impl CheckPlan {
    /// For a function of `n` numbers with `m` numbers as the result that takes so many operations.
    fn new(extent: &CheckExtent, cost: u64, n: usize, m: usize) -> CheckPlan {
        // How many times the function's own operations each takes, about.
        let (input, output) = (25, 25);
        let second = |inputs: u64, outputs: u64| {
            let directions = inputs + 1;
            directions * outputs * 150 + directions * directions * (25 + 15 * outputs)
        };
        let affordable = extent.operations / cost.max(1);
        let most = |all: usize, each: u64| {
            let affordable = (affordable / 3 / each).max(2) as usize;
            all.min(extent.most).min(affordable)
        };
        let outputs = m.min(3) as u64;
        let inputs = (0..=n.min(8) as u64).rev().find(|i| second(*i, outputs) <= affordable / 3);
        let second = match inputs {
            Some(inputs) => Some((inputs as usize, outputs as usize)),
            None if second(0, 1) <= affordable => Some((0, 1)),
            None => None,
        };
        CheckPlan {
            inputs: most(n, input),
            outputs: most(m, output),
            second: second.filter(|_| extent.second),
        }
    }
}

/// A check under way.
struct DerivativeChecker<'a> {
    differentiator: Differentiator<'a>,
    point: &'a Value,
    value: Value,
    /// The numbers of the point.
    x: Vec<f64>,
    /// The numbers of the value.
    y: Vec<f64>,
    inputs: Directions,
    outputs: Directions,
    values_apart: f64,
}

/// Directions of the point, or weights of the result: single numbers, then random ones.
struct Directions {
    probes: Vec<Probe>,
    values: Vec<Value>,
    names: Vec<String>,
}

impl Directions {
    fn new(value: &Value, ty: &Ty, function: &Differentiable, probes: Vec<Probe>) -> Directions {
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut names = vec![String::new(); probes.len()];
        let mut randoms = 0;
        for (i, probe) in probes.iter().enumerate() {
            match probe {
                Probe::Number(place) => places.push((*place, i)),
                Probe::Random(_) => {
                    randoms += 1;
                    names[i] = format!("random direction {randoms}");
                }
            }
        }
        let mut next = places.into_iter().peekable();
        let mut place = 0;
        each_path(value, ty, &function.entry.program.datas, &mut |path, _| {
            while let Some((_, i)) = next.next_if(|(wanted, _)| *wanted == place) {
                names[i] = path_text(path);
            }
            place += 1;
        });
        let values = probes.iter().map(|probe| probe.value(value)).collect();
        Directions { probes, values, names }
    }

    fn len(&self) -> usize {
        self.probes.len()
    }

    /// How many are single numbers.
    fn numbers(&self) -> usize {
        self.probes.iter().filter(|p| p.is_number()).count()
    }
}

impl<'a> DerivativeChecker<'a> {
    fn new(
        differentiator: Differentiator<'a>,
        point: &'a Value,
        value: Value,
        (x, y): (Vec<f64>, Vec<f64>),
        plan: &CheckPlan,
    ) -> DerivativeChecker<'a> {
        let mut random = ProbeRandom::new();
        let mut inputs = random.some(x.len(), plan.inputs);
        let mut outputs = random.some(y.len(), plan.outputs);
        for _ in 0..DIRECTIONS {
            inputs.push(random.direction(x.len()));
            outputs.push(random.direction(y.len()));
        }
        let function = differentiator.function;
        let inputs = Directions::new(point, &function.from, function, inputs);
        let outputs = Directions::new(&value, &function.to, function, outputs);
        DerivativeChecker { differentiator, point, value, x, y, inputs, outputs, values_apart: 0.0 }
    }

    /// Runs something, with the largest number met in it.
    fn measured<T>(
        &mut self,
        run: impl FnOnce(&mut Differentiator<'a>) -> Result<T, RuntimeError>,
    ) -> Result<(T, f64), RuntimeError> {
        self.differentiator.machine.take_largest();
        let result = run(&mut self.differentiator)?;
        Ok((result, self.differentiator.machine.take_largest()))
    }

    /// As [`DerivativeChecker::measured`], for Taylor coefficients; the largest of the terms of those of order 1 and
    /// of order 2 come, too.
    fn measured_with_terms<T>(
        &mut self,
        run: impl FnOnce(&mut Differentiator<'a>) -> Result<T, RuntimeError>,
    ) -> Result<(T, f64, [f64; 2]), RuntimeError> {
        self.differentiator.machine.take_largest_terms();
        let (result, largest) = self.measured(run)?;
        Ok((result, largest, self.differentiator.machine.take_largest_terms()))
    }

    /// The weighted result along a direction from the point, as a function of one variable.
    fn line(&mut self, i: usize, j: usize) -> Result<Value, RuntimeError> {
        let args =
            vec![self.outputs.values[j].clone(), self.point.clone(), self.inputs.values[i].clone()];
        self.made(self.differentiator.function.modes.line, args)
    }

    /// A function made of the checked one.
    fn made(&mut self, mode: GlobalId, args: Vec<Value>) -> Result<Value, RuntimeError> {
        let f = self.differentiator.itself()?;
        let args = Value::tuple(std::iter::once(f).chain(args));
        let made = self.measured(|e| {
            let mode = e.global(mode)?;
            e.machine.apply(&mode, args)
        });
        made.map(|(function, _)| function)
    }

    /// The result of a function near the point, where it need not be defined, and the largest number met.
    fn tried(&mut self, f: &Value, x: Value) -> Result<(Option<Value>, f64), RuntimeError> {
        self.measured(|e| match e.machine.apply(f, x) {
            Ok(value) => Ok(Some(value)),
            // What ends the check does so.
            Err(error) if matches!(error.kind, ErrorKind::Exceeded(_)) => Err(error),
            Err(_) => Ok(None),
        })
    }

    /// The steps of differences along a direction of the point.
    fn sweeps(&self, probe: &Probe) -> Vec<StepRange> {
        let smallest = match probe {
            Probe::Number(i) => self.x[*i].abs(),
            Probe::Random(_) => {
                let sizes = self.x.iter().map(|x| x.abs()).filter(|x| *x > 0.0);
                sizes.fold(f64::INFINITY, f64::min)
            }
        };
        let size = if smallest > 0.0 && smallest.is_finite() { smallest } else { 1.0 };
        if size >= SMALL {
            vec![(0.1 * size.max(1.0), 1e-9 * size)]
        } else {
            // What is small may be so by accident, or because its unit is.
            vec![(0.1, 1e-6), (0.1 * size, 1e-9 * size)]
        }
    }

    /// The operations of value and gradient.
    fn gradient_operations(&mut self) -> Result<u64, RuntimeError> {
        let before = self.differentiator.machine.operations();
        let point = self.point;
        let weights = self.outputs.values[self.outputs.numbers()].clone();
        self.measured(|e| {
            let (_, pullback) = e.pullback(point)?;
            e.machine.apply(&pullback, weights)
        })?;
        Ok(self.differentiator.machine.operations() - before)
    }

    /// The modes whose derivative, or value that comes with it, has other constructors or lengths than it should have;
    /// what is made of such values stops the program.
    fn shapes(&mut self) -> Result<Vec<&'static str>, RuntimeError> {
        let (f, x) = (self.differentiator.itself()?, self.point);
        let differs = |like: &Value, given: &Value| {
            each_leaf_pair("check", like, given, &mut |_, _| Ok(())).is_err()
        };
        let direction = self.inputs.values[self.inputs.numbers()].clone();
        let pair = self.differentiator.derivative(DiffOp::Jvp, [f, x.clone(), direction])?;
        let mut apart = Vec::new();
        if pair.fields().iter().any(|given| differs(&self.value, given)) {
            apart.push("forward");
        }
        let (value, pullback) = self.differentiator.pullback(x)?;
        if differs(&self.value, &value)
            || differs(x, &self.differentiator.machine.apply(&pullback, self.value.clone())?)
        {
            apart.push("pullback");
        }
        Ok(apart)
    }

    /// Compares a value that came with derivatives.
    fn seen(&mut self, value: &[f64], size: f64) {
        let largest = self.y.iter().filter(|y| y.is_finite()).fold(size, |m, y| m.max(y.abs()));
        for (a, b) in value.iter().zip(&self.y) {
            if a != b && !(a.is_nan() && b.is_nan()) {
                let apart = (a - b).abs() / largest;
                self.values_apart =
                    if apart.is_finite() { self.values_apart.max(apart) } else { f64::INFINITY };
            }
        }
        if value.len() != self.y.len() {
            self.values_apart = f64::INFINITY;
        }
    }
}

/// The findings about components, the places of which `place` names.
fn part(cells: &Cells, place: impl Fn(usize) -> ComponentName) -> OrderReport {
    OrderReport {
        modes: cells.modes().to_vec(),
        components: cells.filled(),
        agreement: cells.modes_compared(MODES_AGREE).at(&place),
        differences: cells.differences_compared(DIFFERENCES_AGREE).at(&place),
        not_finite: cells.not_finite().into_iter().map(|worst| worst.at(&place)).collect(),
    }
}
