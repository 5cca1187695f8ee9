//! Draws from posterior distributions, by Hamiltonian Monte Carlo with gradients of compiled programs.
//!
//! What comes in are the names of definitions and data; what goes out are draws of parameters and predictions with their
//! diagnostics. What always holds: draws depend on the program, the data, the options and the seed, never on the number of
//! threads.
//!
//! | file | what is in it |
//! |---|---|
//! | `model.rs` | definitions, kinds of parameters, the density of unconstrained vectors |
//! | `chain.rs` | one chain, by the crate nuts-rs |
//! | `approximate.rs` | draws from normal distributions near the posterior |
//! | `partial.rs` | what is kept of chains that were interrupted |
//! | `diagnose.rs` | R-hat, effective sample sizes, energies |
//! | `advice.rs` | what diagnostics mean, and what to do |
//! | `csv.rs` | files as Stan writes them |

mod advice;
mod approximate;
mod chain;
mod csv;
mod diagnose;
mod model;
mod partial;
mod vectors;

pub use approximate::Approximation;
pub use diagnose::Summary;
use model::ModelDefinitions;
pub use model::{Names, Variable};

use crate::host::{Error, HostOptions, Program, Value};
use crate::session::Engine;
use crate::Message;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How far a chain is.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which chain, from 0.
    pub chain: usize,
    /// How many draws there are, with those of the warm-up.
    pub draw: usize,
    /// How many there will be.
    pub total: usize,
    /// How many of them belong to the warm-up.
    pub warmup: usize,
    /// How many draws after the warm-up diverged.
    pub divergences: u64,
    /// How many steps the last draw took.
    pub leaps: u64,
}

/// Takes reports of chains, on any thread.
pub type Steps = Arc<dyn Fn(&Step) + Send + Sync>;

/// What draws come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// The posterior, by the no-U-turn sampler.
    #[default]
    Nuts,
    /// The normal distribution with the mode of the posterior and the curvature there, of unconstrained parameters.
    Laplace,
    /// The independent normal distributions that are nearest to the posterior, of unconstrained parameters.
    MeanField,
}

/// How to sample.
#[derive(Clone)]
pub struct SampleOptions {
    /// What draws come from. The approximations have no warm-up.
    pub method: Method,
    /// How many chains.
    pub chains: usize,
    /// How many draws a chain makes to adapt to the posterior, which are thrown away.
    pub warmup: usize,
    /// How many draws a chain keeps.
    pub draws: usize,
    /// The mean acceptance that step sizes aim at, between 0 and 1.
    pub target_accept: f64,
    /// How often a trajectory doubles at most.
    pub max_depth: u32,
    /// What draws depend on.
    pub seed: u64,
    /// First points lie within this distance from 0.
    pub radius: f64,
    /// The definition that says what values parameters take.
    pub parameters: String,
    /// The definition that makes predictions.
    pub predict: Option<String>,
    /// Whether an interrupt ends the draws only: those that there are make the result, and the flag of `host` is put
    /// back.
    pub keep_partial: bool,
    /// Takes reports.
    pub progress: Option<Steps>,
    /// How functions are run. `threads` is how many chains run at once; `time` is for each chain.
    pub host: HostOptions,
}

impl Default for SampleOptions {
    /// Four chains of 1000 draws after 1000 for the warm-up, as in Stan.
    fn default() -> SampleOptions {
        SampleOptions {
            method: Method::Nuts,
            chains: 4,
            warmup: 1000,
            draws: 1000,
            target_accept: 0.8,
            max_depth: 10,
            seed: 0,
            radius: 2.0,
            parameters: "parameters".to_string(),
            predict: None,
            keep_partial: false,
            progress: None,
            host: HostOptions::default(),
        }
    }
}

impl SampleOptions {
    fn check(&self) -> Result<(), Error> {
        let refused = |message: &str| Err(Error::new("argument", message));
        if self.chains == 0 || self.draws == 0 {
            return refused("there is at least one chain, and one draw");
        }
        if self.chains.saturating_mul(self.draws.saturating_add(self.warmup)) > 1 << 32 {
            return refused("there are too many draws");
        }
        if !(self.target_accept > 0.0 && self.target_accept < 1.0) {
            return refused("the acceptance to aim at is between 0 and 1");
        }
        if !(1..=20).contains(&self.max_depth) {
            return refused("the largest depth of trees is from 1 to 20");
        }
        if !(self.radius >= 0.0 && self.radius.is_finite()) {
            return refused("the distance of first points from 0 is a number from 0");
        }
        Ok(())
    }
}

/// The draws of a chain, and what is known of each.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its number, from 0.
    pub number: usize,
    /// The unconstrained points, one after the other.
    pub points: Vec<f64>,
    /// The parameters of each draw, one draw after the other, in the order of the variables.
    pub values: Vec<f64>,
    /// The predictions of each draw, likewise.
    pub predictions: Vec<f64>,
    /// The log density of unconstrained points.
    pub log_density: Vec<f64>,
    /// The energy of each draw.
    pub energy: Vec<f64>,
    /// The mean acceptance along each trajectory.
    pub accept: Vec<f64>,
    /// How often each trajectory doubled.
    pub depth: Vec<u32>,
    /// How many steps each trajectory took.
    pub steps: Vec<u64>,
    /// Whether a trajectory left the energy that it had.
    pub divergent: Vec<bool>,
    /// The log density of the approximation at unconstrained points, where draws come from one.
    pub log_approximation: Vec<f64>,
    /// The step size after the warm-up.
    pub step_size: f64,
    /// The inverse of the diagonal metric.
    pub metric: Vec<f64>,
    /// How long the warm-up took.
    pub warmup_seconds: f64,
    /// How long the draws took.
    pub sampling_seconds: f64,
    at_depth_limit: u64,
    warmup_divergences: u64,
    predicted: Vec<Variable>,
    stops: u64,
    stopped: Option<Error>,
}

impl Chain {
    fn new(model: &model::Model, options: &SampleOptions, number: usize) -> Chain {
        let draws = options.draws;
        Chain {
            number,
            points: Vec::with_capacity(draws * model.dimension),
            values: Vec::new(),
            predictions: Vec::new(),
            log_density: Vec::with_capacity(draws),
            energy: Vec::with_capacity(draws),
            accept: Vec::with_capacity(draws),
            depth: Vec::with_capacity(draws),
            steps: Vec::with_capacity(draws),
            divergent: Vec::with_capacity(draws),
            log_approximation: Vec::new(),
            step_size: f64::NAN,
            metric: vec![1.0; model.dimension],
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            at_depth_limit: 0,
            warmup_divergences: 0,
            predicted: Vec::new(),
            stops: 0,
            stopped: None,
        }
    }

    /// Whether the parameters of the draws are known.
    fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    fn forget_values(&mut self) {
        self.values.clear();
        self.predictions.clear();
        self.predicted.clear();
    }
}

/// Draws, and what they tell.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The definition that was sampled.
    pub entry: String,
    /// What draws come from.
    pub method: Method,
    /// What is known of the approximation that they come from.
    pub approximation: Option<Approximation>,
    /// Whether an interrupt ended the chains.
    pub interrupted: bool,
    /// The seed.
    pub seed: u64,
    /// How many draws the warm-up had.
    pub warmup: usize,
    /// The acceptance that step sizes aimed at.
    pub target_accept: f64,
    /// How often trajectories could double.
    pub max_depth: u32,
    /// The parameters.
    pub parameters: Vec<Variable>,
    /// The predictions.
    pub predictions: Vec<Variable>,
    /// The chains.
    pub chains: Vec<Chain>,
    /// The name and summary of each number of the parameters.
    pub summaries: Vec<(String, Summary)>,
    /// The name and summary of each number of the predictions.
    pub predicted: Vec<(String, Summary)>,
    /// The fraction of missing information of each chain.
    pub e_bfmi: Vec<f64>,
    /// What is wrong with the draws, and what to do.
    pub advice: Vec<Message>,
}

fn interrupted() -> Error {
    Error::new("interrupted", "interrupted")
}

impl Program {
    /// Draws from the distribution whose log density is the definition `entry`, a function of a record of parameters and
    /// perhaps one of data. `data` is a record with what it takes, and what the definitions of parameters and predictions
    /// take.
    ///
    /// ```
    /// use diffeo::{Program, SampleOptions, Value};
    ///
    /// let program = Program::from_text("coin.deo", "
    ///     import bayes
    ///     import stats (binomial_logpmf)
    ///     def parameters = {bias = bayes.Between(0.0, 1.0)}
    ///     def log_density({bias}: {bias: Real}, {heads, tosses}: {heads: Int, tosses: Int}) -> Real =
    ///       binomial_logpmf(heads, tosses, bias)
    /// ")?;
    /// let data = Value::record([("heads", 7.into()), ("tosses", 10.into())]);
    /// let samples = program.sample("log_density", &data, &SampleOptions::default())?;
    /// let (name, bias) = &samples.summaries[0];
    /// // The posterior is the beta distribution with 8 and 4.
    /// assert!(name == "bias" && (bias.mean - 8.0 / 12.0).abs() < 5.0 * bias.mcse);
    /// # Ok::<(), diffeo::Error>(())
    /// ```
    ///
    /// # Errors
    /// The definitions make no model, the data do not fit, no point has a density, or the run was interrupted.
    pub fn sample(
        &self,
        entry: &str,
        data: &Value<'_>,
        options: &SampleOptions,
    ) -> Result<Samples, Error> {
        options.check()?;
        let workers = options.host.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            NonZeroUsize::get,
        );
        let at_once = workers.min(options.chains).max(1);
        let mut options = options.clone();
        options.host.threads = NonZeroUsize::new((workers / at_once).max(1));
        let options = &options;
        let names = Names {
            density: entry,
            parameters: &options.parameters,
            predict: options.predict.as_deref(),
        };
        let definitions = ModelDefinitions::new(self, names, &options.host)?;
        let model = definitions.model(data)?;
        // Compiled once, before the chains would wait for each other.
        let compiled = model.gradient.prepare();
        let rest = std::iter::once(&model.constrain);
        for function in rest.chain(model.predict.as_ref().map(|(f, _)| f)) {
            function.prepare();
        }
        let (chains, approximation, interrupted) = match options.method {
            Method::Nuts => {
                let (chains, interrupted) = run(&model, options, at_once)?;
                (chains, None, interrupted)
            }
            Method::Laplace | Method::MeanField => {
                let (chains, found) = approximate::run(&definitions, &model, options)?;
                (chains, Some(found), false)
            }
        };
        let nuts = approximation.is_none();
        let mut samples = Samples {
            entry: entry.to_string(),
            method: options.method,
            approximation,
            interrupted,
            seed: options.seed,
            warmup: if nuts { options.warmup } else { 0 },
            target_accept: options.target_accept,
            max_depth: options.max_depth,
            predictions: chains.first().map_or(Vec::new(), |chain| chain.predicted.clone()),
            parameters: model.parameters.clone(),
            summaries: Vec::new(),
            predicted: Vec::new(),
            e_bfmi: match nuts {
                true => chains.iter().map(|chain| diagnose::e_bfmi(&chain.energy)).collect(),
                false => Vec::new(),
            },
            chains,
            advice: Vec::new(),
        };
        if samples.chains.iter().any(|chain| chain.predicted != samples.predictions) {
            let message = "predictions have not the same sizes at all draws";
            return Err(Error::new("model", message));
        }
        samples.summaries = samples.summarised(&samples.parameters, |chain| &chain.values);
        samples.predicted = samples.summarised(&samples.predictions, |chain| &chain.predictions);
        samples.advice = match &samples.approximation {
            None => advice::advice(&samples, &model),
            Some(found) => advice::of_approximation(samples.method, found),
        };
        samples.advice.extend(told(&model));
        if !compiled && options.host.engine == Engine::Auto {
            samples.advice.push(advice::not_compiled(entry, model.gradient.not_compiled()));
        }
        Ok(samples)
    }

    /// What data a model takes: names and types.
    ///
    /// # Errors
    /// The definitions make no model.
    pub fn model_data(
        &self,
        names: Names<'_>,
    ) -> Result<(Vec<(crate::Name, crate::Type)>, crate::Types), Error> {
        let definitions = ModelDefinitions::new(self, names, &HostOptions::default())?;
        Ok((definitions.data(), definitions.types()))
    }
}

/// What the program warned of, each once.
fn told(model: &model::Model) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for message in model.gradient.take_warnings() {
        if !messages.iter().any(|m| m.code == message.code && m.place == message.place) {
            messages.push(message);
        }
    }
    messages
}

/// All chains, so many at once; and whether they were interrupted.
fn run(
    model: &model::Model,
    options: &SampleOptions,
    at_once: usize,
) -> Result<(Vec<Chain>, bool), Error> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<Chain, Error>)>> = Mutex::default();
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= options.chains || stop.load(Ordering::Relaxed) {
            return;
        }
        let result = chain::run(model, options, number, &stop);
        // Where an interrupt has ended one, others keep what they have.
        let others_go_on = |error: &Error| options.keep_partial && error.is_interrupt();
        if result.as_ref().is_err_and(|error| !others_go_on(error)) {
            stop.store(true, Ordering::Relaxed);
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
    };
    std::thread::scope(|scope| {
        for _ in 1..at_once {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    // The chain that failed first has ended the others.
    let mut failed: Vec<Error> = Vec::new();
    let mut chains = Vec::new();
    for (_, result) in done {
        match result {
            Ok(chain) => chains.push(chain),
            Err(error) => failed.push(error),
        }
    }
    let cause = failed.iter().position(|error| !error.is_interrupt());
    let short = chains.iter().any(|chain| chain.log_density.len() < options.draws);
    match cause {
        Some(cause) => Err(failed.swap_remove(cause)),
        None if failed.is_empty() && !short && chains.iter().all(Chain::has_values) => {
            Ok((chains, false))
        }
        None if options.keep_partial && !chains.is_empty() => {
            Ok((partial::kept(model, options, chains)?, true))
        }
        None => Err(failed.swap_remove(0)),
    }
}

/// The names of the numbers of a variable: `theta[0]`, `l[1,0]`.
fn elements(variable: &Variable) -> Vec<String> {
    indices(&variable.sizes)
        .into_iter()
        .map(|index| match index.is_empty() {
            true => variable.name.clone(),
            false => {
                let index: Vec<String> = index.iter().map(ToString::to_string).collect();
                format!("{}[{}]", variable.name, index.join(","))
            }
        })
        .collect()
}

/// All indices of an array, by rows.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |all, size| {
        all.iter()
            .flat_map(|index| (0..*size).map(move |i| index.iter().copied().chain([i]).collect()))
            .collect()
    })
}

impl Samples {
    /// How many draws a chain has.
    pub fn draws(&self) -> usize {
        self.chains.first().map_or(0, |chain| chain.log_density.len())
    }

    /// How many draws diverged after the warm-up.
    pub fn divergences(&self) -> usize {
        self.chains.iter().flat_map(|chain| &chain.divergent).filter(|d| **d).count()
    }

    /// How many trajectories were as long as they could be.
    pub fn at_depth_limit(&self) -> u64 {
        self.chains.iter().map(|chain| chain.at_depth_limit).sum()
    }

    fn summarised(
        &self,
        variables: &[Variable],
        values: impl Fn(&Chain) -> &Vec<f64>,
    ) -> Vec<(String, Summary)> {
        let names: Vec<String> = variables.iter().flat_map(elements).collect();
        let width = names.len();
        let summary = |at: usize| {
            let column = |chain: &Chain| -> Vec<f64> {
                values(chain).iter().skip(at).step_by(width).copied().collect()
            };
            Summary::new(&self.chains.iter().map(column).collect::<Vec<_>>())
        };
        names.into_iter().enumerate().map(|(at, name)| (name, summary(at))).collect()
    }
}
