//! One chain: the no-U-turn sampler of the crate nuts-rs on a model's log density.
//!
//! What comes in are a model, options and the number of the chain; what goes out are its draws. What always holds: a chain
//! depends on the seed and its number alone. Chains of nuts-rs belong to the thread that made them.

use super::model::Model;
use super::vectors::Vectors;
use super::{Chain, SampleOptions, Step};
use crate::host::{Array, Error, Repeated, Undefined, Value};
use crate::Message;
use diffeo_base::{CallOption, Help};
use diffeo_calculus::eval::Kinks;
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::rand::{RngExt, SeedableRng};
use nuts_rs::{
    Chain as _, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// How many points are tried for the first one.
const ATTEMPTS: usize = 100;

/// Why there is no density at a point.
#[derive(Debug)]
pub(super) enum Nowhere {
    /// For a reason that another point may not have.
    Here(NoDensity),
    /// The run has ended.
    Ended,
}

impl fmt::Display for Nowhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nowhere::Here(why) => why.fmt(f),
            Nowhere::Ended => f.write_str("the run has ended"),
        }
    }
}

impl std::error::Error for Nowhere {}

impl LogpError for Nowhere {
    fn is_recoverable(&self) -> bool {
        matches!(self, Nowhere::Here(_))
    }
}

/// What a chain tells beside its draws.
#[derive(Default)]
struct Told {
    /// Why the run has ended.
    ended: Option<Error>,
    /// The first point at which the program stopped, and how many there were.
    stopped: Option<Error>,
    stops: u64,
    /// The last point that was looked at, and the density there.
    last: (Vec<f64>, f64),
}

pub(super) struct Density<'m> {
    repeated: Repeated<'m>,
    dimension: usize,
    told: Rc<RefCell<Told>>,
}

impl<'m> Density<'m> {
    /// The density of a model.
    ///
    /// # Errors
    /// The data do not fit.
    pub fn new(model: &'m Model, interrupt: &Arc<AtomicBool>) -> Result<Density<'m>, Error> {
        let repeated = Repeated::new(&model.gradient, model.data.as_ref(), interrupt.clone())?;
        Ok(Density { repeated, dimension: model.dimension, told: Rc::default() })
    }

    /// The log density at a point, -inf where there is none.
    ///
    /// # Errors
    /// The run has ended.
    pub fn value(&mut self, x: &[f64]) -> Result<f64, Error> {
        match self.look(x, &mut vec![0.0; x.len()]) {
            Ok(value) => Ok(value),
            Err(Nowhere::Here(_)) => Ok(f64::NEG_INFINITY),
            Err(Nowhere::Ended) => {
                let ended = self.told.borrow_mut().ended.take();
                Err(ended.unwrap_or_else(super::interrupted))
            }
        }
    }
}

impl HasDims for Density<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_string(), self.dimension as u64)])
    }
}

impl Density<'_> {
    /// The value at a point where it and the gradient are finite.
    fn look(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Nowhere> {
        let value = self.repeated.value_and_gradient(x, gradient).map_err(|undefined| {
            let mut told = self.told.borrow_mut();
            match undefined {
                Undefined::Ended(error) => {
                    told.ended.get_or_insert(error);
                    Nowhere::Ended
                }
                Undefined::Stopped(error) => {
                    let why = error.to_string();
                    told.stopped.get_or_insert(error);
                    told.stops += 1;
                    Nowhere::Here(NoDensity::Stopped(why))
                }
                Undefined::NanGradient => Nowhere::Here(NoDensity::NanGradient),
            }
        })?;
        {
            let last = &mut self.told.borrow_mut().last;
            x.clone_into(&mut last.0);
            last.1 = value;
        }
        if value.is_nan() {
            return Err(Nowhere::Here(NoDensity::Nan));
        }
        if value.is_infinite() {
            return Err(Nowhere::Here(NoDensity::Infinite(value)));
        }
        match gradient.iter().find(|g| !g.is_finite()) {
            Some(g) if g.is_nan() => Err(Nowhere::Here(NoDensity::NanGradient)),
            Some(g) => Err(Nowhere::Here(NoDensity::InfiniteGradient(*g))),
            None => Ok(value),
        }
    }
}

/// Why a point has no density, or none that can be sampled.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum NoDensity {
    /// The program stops; the message.
    Stopped(String),
    Nan,
    Infinite(f64),
    NanGradient,
    InfiniteGradient(f64),
    /// The derivative by this parameter is 0: nothing holds it.
    Flat(String),
}

impl fmt::Display for NoDensity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDensity::Stopped(why) => write!(f, "the program stops: {why}"),
            NoDensity::Nan => f.write_str("the log density is nan"),
            NoDensity::Infinite(value) => write!(f, "the log density is {value}"),
            NoDensity::NanGradient => f.write_str("its gradient is nan"),
            NoDensity::InfiniteGradient(g) => write!(f, "its gradient is {g}"),
            NoDensity::Flat(name) => {
                write!(f, "its derivative by `{name}` is 0: nothing holds this parameter")
            }
        }
    }
}

impl CpuLogpFunc for Density<'_> {
    type LogpError = Nowhere;
    type FlowParameters = ();
    type ExpandedVector = ();

    fn dim(&self) -> usize {
        self.dimension
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, Nowhere> {
        self.look(position, gradient)
    }

    fn expand_vector<R: nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _rng: &mut R,
        _position: &[f64],
    ) -> Result<(), CpuMathError> {
        Ok(())
    }
}

/// The seed of a chain: far from those of others, by the finaliser of SplitMix64.
pub(super) fn seed_of(seed: u64, chain: u64) -> u64 {
    let mut z = seed.wrapping_add((chain + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs a chain, until `stop` is set.
///
/// # Errors
/// No point has a density, the run was interrupted, or the program stopped where nothing else can be tried.
pub(super) fn run(
    model: &Model,
    options: &SampleOptions,
    number: usize,
    stop: &AtomicBool,
) -> Result<Chain, Error> {
    let interrupt = options.host.interrupt.clone().unwrap_or_default();
    let begun = Instant::now();
    let mut density = Density::new(model, &interrupt)?;
    let told = density.told.clone();
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of(options.seed, number as u64));
    let start = start(model, options, &mut density, &mut rng)?;
    let mut settings = DiagNutsSettings {
        num_tune: options.warmup as u64,
        num_draws: options.draws as u64,
        maxdepth: u64::from(options.max_depth),
        ..DiagNutsSettings::default()
    };
    settings.adapt_options.step_size_settings.target_accept = options.target_accept;
    settings.adapt_options.mass_matrix_options.store_mass_matrix = true;
    let failed = |why: String| {
        // Further lines are where in the sampler.
        let why = why.lines().next().unwrap_or_default();
        let mut told = told.borrow_mut();
        told.ended.take().unwrap_or_else(|| lost(model, number, &told.last, why))
    };
    let sampled = catch_unwind(AssertUnwindSafe(|| {
        let mut chain = settings
            .new_chain(number as u64, Vectors(CpuMath::new(density)), &mut rng)
            .map_err(|why| failed(why.to_string()))?;
        chain.set_position(&start).map_err(|why| failed(why.to_string()))?;
        let mut found = Chain::new(model, options, number);
        let total = options.warmup + options.draws;
        for i in 0..total {
            let kept = options.keep_partial && !found.log_density.is_empty();
            if interrupt.load(Ordering::Relaxed) && kept {
                break;
            }
            if stop.load(Ordering::Relaxed) || interrupt.load(Ordering::Relaxed) {
                return Err(super::interrupted());
            }
            if i == options.warmup {
                found.warmup_seconds = begun.elapsed().as_secs_f64();
            }
            let (point, _, stats, progress) = match chain.expanded_draw() {
                Ok(drawn) => drawn,
                Err(why) => match failed(why.to_string()) {
                    error if error.is_interrupt() && kept => break,
                    error => return Err(error),
                },
            };
            if let Some(metric) = stats.hamiltonian.transformation.mass_matrix_inv {
                found.metric = metric;
            }
            let diverging = stats.divergence.diverging;
            if i < options.warmup {
                found.warmup_divergences += u64::from(diverging);
            } else {
                found.points.extend_from_slice(&point);
                found.log_density.push(stats.point.logp);
                found.energy.push(stats.point.energy);
                found.accept.push(stats.adapt.step_size.mean_tree_accept);
                found.depth.push(stats.depth as u32);
                found.steps.push(progress.num_steps);
                found.divergent.push(diverging);
                found.at_depth_limit += u64::from(stats.maxdepth_reached);
                found.step_size = progress.step_size;
            }
            if let Some(report) = &options.progress {
                let divergences = found.divergent.iter().filter(|d| **d).count() as u64;
                report(&Step {
                    chain: number,
                    draw: i + 1,
                    total,
                    warmup: options.warmup,
                    divergences,
                    leaps: progress.num_steps,
                });
            }
        }
        Ok(found)
    }));
    let mut found = match sampled {
        Ok(found) => found?,
        Err(_) => {
            let message = format!("chain {number} failed within the sampler");
            return Err(Error::new("sampler", message));
        }
    };
    found.sampling_seconds = begun.elapsed().as_secs_f64() - found.warmup_seconds;
    let told = told.borrow_mut();
    (found.stops, found.stopped) = (told.stops, told.stopped.clone());
    drop(told);
    match values(model, options, &mut found, &interrupt) {
        // They are made later, of what is kept.
        Err(error) if error.is_interrupt() && options.keep_partial => found.forget_values(),
        made => made?,
    }
    Ok(found)
}

/// That a chain is where the sampler finds no step.
fn lost(model: &Model, number: usize, (point, value): &(Vec<f64>, f64), why: &str) -> Error {
    let at = Value::Reals(Array::vector(point.clone()));
    let at = model.constrain.evaluate(&at).map_or(String::new(), |value| shown(&value));
    let mut message = Message::error(
        "sampler",
        format!("chain {number} cannot go on: no step from where it is has a density"),
    );
    if !at.is_empty() {
        message.notes.push(format!("the log density is {value:.4e} where the parameters are {at}"));
    }
    message.notes.push(format!("the sampler says: {why}"));
    message.help = Some("is the posterior proper? A parameter that neither a prior nor the data hold goes to infinity, and so does a density without bound, as that of a scale towards 0: give it a prior".into());
    Error::one(message)
}

/// The first point: 0 and random numbers, until the density and its gradient are finite.
pub(super) fn start(
    model: &Model,
    options: &SampleOptions,
    density: &mut Density<'_>,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<f64>, Error> {
    let mut gradient = vec![0.0; model.dimension];
    let mut reasons: Vec<(NoDensity, usize, Vec<f64>)> = Vec::new();
    for _ in 0..ATTEMPTS {
        let point: Vec<f64> = (0..model.dimension)
            .map(|_| (rng.random::<f64>() * 2.0 - 1.0) * options.radius)
            .collect();
        // What the density does not depend on has no posterior, and no scale.
        let looked = density.look(&point, &mut gradient).and_then(|value| {
            match gradient.iter().position(|g| *g == 0.0) {
                Some(at) => Err(Nowhere::Here(NoDensity::Flat(model.coordinates[at].clone()))),
                None => Ok(value),
            }
        });
        match looked {
            Ok(_) => return Ok(point),
            Err(Nowhere::Ended) => {
                let ended = density.told.borrow_mut().ended.take();
                return Err(ended.unwrap_or_else(super::interrupted));
            }
            Err(Nowhere::Here(why)) => match reasons.iter_mut().find(|(known, ..)| *known == why) {
                Some((_, count, _)) => *count += 1,
                None => reasons.push((why, 1, point)),
            },
        }
    }
    Err(no_start(model, options, reasons, density.told.borrow_mut().stopped.take()))
}

/// What is wrong at the first points.
fn no_start(
    model: &Model,
    options: &SampleOptions,
    mut reasons: Vec<(NoDensity, usize, Vec<f64>)>,
    stopped: Option<Error>,
) -> Error {
    reasons.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    let (why, count, point) = reasons.swap_remove(0);
    let radius = options.radius;
    // A program that stops says where.
    let mut error = match stopped.filter(|_| matches!(why, NoDensity::Stopped(_))) {
        Some(stopped) => stopped,
        None => Error::new("no-start", ""),
    };
    let found = match error.messages.first().filter(|m| m.code != "no-start") {
        Some(first) => format!(
            "no chain can start: none of {ATTEMPTS} points has a density; the program stops there: {}",
            first.message
        ),
        None if count == ATTEMPTS => {
            format!("no chain can start: at each of {ATTEMPTS} points {why}")
        }
        None => format!(
            "no chain can start: none of {ATTEMPTS} points has a density; at {count} of them {why}"
        ),
    };
    let at = Value::Reals(Array::vector(point.clone()));
    let at = model.constrain.evaluate(&at).map_or(String::new(), |value| shown(&value));
    let argument = match &model.data {
        Some(data) => Value::Tuple(vec![Value::Reals(Array::vector(point)), data.clone()]),
        None => Value::Reals(Array::vector(point)),
    };
    // The evaluator finds where a nan comes from.
    let looking = crate::HostOptions { kinks: Kinks::Warn, ..options.host.clone() };
    let function = match why == NoDensity::NanGradient {
        true => &model.gradient,
        false => &model.density,
    };
    let causes = function.with(looking).map(|function| {
        let _ = function.evaluate(&argument);
        function.take_warnings()
    });
    let cause = causes.ok().and_then(|causes| {
        causes.into_iter().find(|m| ["outside-domain", "nan-derivative"].contains(&m.code))
    });
    if let Some(message) = error.messages.first_mut() {
        if let Some(cause) = &cause {
            message.place = cause.place.clone();
            message.notes.push(cause.message.clone());
        }
        message.message = found;
        message.code = "no-start";
        // The expression that the sampler has made around the definition is no text of the program.
        message
            .labels
            .retain(|l| l.place.as_ref().is_none_or(|place| place.file != "<expression>"));
        let nan = model.data.as_ref().and_then(first_nan);
        if let Some(at) = &nan {
            let at = at.trim_start_matches('.');
            message.notes.push(format!("the data hold a nan: `{at}`"));
        }
        if !at.is_empty() {
            message.notes.push(format!("for instance where the parameters are {at}"));
        }
        let improper =
            "is the posterior proper? A parameter needs a prior, or data that depend on it";
        message.help = Some(if matches!(why, NoDensity::Flat(_)) {
            improper.into()
        } else if nan.is_some() {
            "leave out of the data what is missing, or give it as a `Maybe`".into()
        } else {
            Help::from(format!("points are random numbers from -{radius} to {radius} before the transforms of `parameters`: check that these say what values the density accepts, or choose points nearer to 0 ("))
                .option_of(CallOption::Init, "0.1")
                .text(")")
        });
    }
    error
}

/// The place of the first nan of a value, as the language writes it behind the name of the value.
fn first_nan(value: &Value<'_>) -> Option<String> {
    let each = |values: &[Value<'_>]| {
        let mut all = values.iter().enumerate();
        all.find_map(|(i, value)| Some((i, first_nan(value)?)))
    };
    match value {
        Value::Real(x) => x.is_nan().then(String::new),
        Value::Reals(reals) => {
            let mut at = reals.data.iter().position(|x| x.is_nan())?;
            let mut index = Vec::new();
            for size in reals.sizes.iter().rev() {
                index.insert(0, (at % size).to_string());
                at /= size;
            }
            Some(format!("[{}]", index.join(", ")))
        }
        Value::Array(values) => each(values).map(|(i, rest)| format!("[{i}]{rest}")),
        Value::Tuple(values) => each(values).map(|(i, rest)| format!(".{i}{rest}")),
        Value::Record(fields) => {
            fields.iter().find_map(|(name, value)| Some(format!(".{name}{}", first_nan(value)?)))
        }
        _ => None,
    }
}

/// A number with four digits behind the point, where that is short.
fn short(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-3..1e6 => format!("{x:.4}"),
        _ => format!("{x:.4e}"),
    }
}

/// A value on one line, shortened.
pub(super) fn shown(value: &Value<'_>) -> String {
    let reals = |xs: &[f64]| {
        let some: Vec<String> = xs.iter().take(4).map(|x| short(*x)).collect();
        let more = if xs.len() > 4 { ", …" } else { "" };
        format!("[{}{more}]", some.join(", "))
    };
    match value {
        Value::Real(x) => short(*x),
        Value::Reals(xs) => reals(&xs.data),
        Value::Record(fields) => {
            let fields: Vec<String> =
                fields.iter().take(8).map(|(name, x)| format!("{name} = {}", shown(x))).collect();
            fields.join(", ")
        }
        _ => String::new(),
    }
}

/// The numbers of a value, and its sizes.
pub(super) fn numbers(value: &Value<'_>, out: &mut Vec<f64>) -> Option<Vec<usize>> {
    match value {
        Value::Real(x) => out.push(*x),
        Value::Int(n) => out.push(*n as f64),
        Value::Bool(b) => out.push(f64::from(u8::from(*b))),
        Value::Reals(a) => {
            out.extend_from_slice(&a.data);
            return Some(a.sizes.clone());
        }
        Value::Ints(a) => {
            out.extend(a.data.iter().map(|n| *n as f64));
            return Some(a.sizes.clone());
        }
        Value::Bools(a) => {
            out.extend(a.data.iter().map(|b| f64::from(u8::from(*b))));
            return Some(a.sizes.clone());
        }
        Value::Array(elements) => {
            let mut sizes = vec![elements.len()];
            for (i, element) in elements.iter().enumerate() {
                let inner = numbers(element, out)?;
                if i == 0 {
                    sizes.extend(inner);
                } else if sizes[1..] != inner {
                    return None;
                }
            }
            return Some(sizes);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// The values of parameters and predictions at the points of a chain.
pub(super) fn values(
    model: &Model,
    options: &SampleOptions,
    chain: &mut Chain,
    interrupt: &Arc<AtomicBool>,
) -> Result<(), Error> {
    let count = chain.log_density.len();
    for i in 0..count {
        // Short calls are over before anybody looks.
        if interrupt.load(Ordering::Relaxed) {
            return Err(super::interrupted());
        }
        let point = &chain.points[i * model.dimension..(i + 1) * model.dimension];
        let point = Value::Reals(Array::vector(point));
        let found = model.constrain.evaluate_until(&point, Some(interrupt.clone()))?;
        for variable in &model.parameters {
            if let Some(value) = found.field(&variable.name) {
                let _ = numbers(value, &mut chain.values);
            }
        }
        let Some((predict, data)) = &model.predict else { continue };
        let draw = (chain.number * options.draws + i) as i64;
        let seed = Value::Int(seed_of(options.seed ^ 0x7072_6564, draw as u64) as i64);
        let argument = match data {
            Some(data) => Value::Tuple(vec![point, data.clone(), seed]),
            None => Value::Tuple(vec![point, seed]),
        };
        let found = predict.evaluate_until(&argument, Some(interrupt.clone()))?;
        let Value::Record(fields) = found else { continue };
        for (place, (name, value)) in fields.iter().enumerate() {
            let sizes = numbers(value, &mut chain.predictions);
            let variable = super::Variable {
                name: name.to_string(),
                sizes: sizes.ok_or_else(|| ragged(name))?,
            };
            match chain.predicted.get(place) {
                None => chain.predicted.push(variable),
                Some(known) if known.sizes != variable.sizes => return Err(ragged(name)),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

fn ragged(name: &str) -> Error {
    let message = format!("the prediction `{name}` has not the same sizes at all draws");
    Error::new("model", message)
}
