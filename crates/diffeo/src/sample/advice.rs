//! What the diagnostics of draws mean, in words, with what to do.

use super::diagnose::Summary;
use super::model::Model;
use super::{Approximation, Chain, Method, Samples};
use crate::Message;
use diffeo_base::{CallOption, Help};
use std::cmp::Ordering;

/// From where on chains do not agree.
const R_HAT: f64 = 1.01;

/// The least effective sample size for each chain.
const ESS: f64 = 100.0;

/// From where down energies are explored too slowly.
const E_BFMI: f64 = 0.3;

/// From where on an unconstrained Real is far from where models have it.
const FAR: f64 = 1e4;

/// From where on a higher acceptance helps no more.
const HIGH_ACCEPT: f64 = 0.95;

fn warning(code: &'static str, message: String, help: impl Into<Help>) -> Message {
    let mut warning = Message::error(code, message);
    warning.severity = "warning";
    warning.help = Some(help.into());
    warning
}

/// That the evaluator runs a density.
pub(super) fn not_compiled(entry: &str, why: Option<&str>) -> Message {
    let mut message = warning(
        "not-compiled",
        format!("there is no machine code for the gradient of `{entry}`: the evaluator has run it, which takes much longer"),
        "write the density in another way, if it takes too long",
    );
    message.notes.extend(why.map(str::to_string));
    message
}

/// From where on an approximation is poor.
const PARETO_K: f64 = 0.7;

/// What is wrong with an approximation.
pub(super) fn of_approximation(method: Method, found: &Approximation) -> Vec<Message> {
    let mut all = Vec::new();
    if !found.converged {
        all.push(warning(
            "not-converged",
            "the search for the approximation ended before it had converged".to_string(),
            Help::from("is the posterior proper? If it is, scale parameters and predictors to about 1, or begin elsewhere (")
                .option(CallOption::Seed)
                .text(", ")
                .option(CallOption::Init)
                .text("); ")
                .option_of(CallOption::Method, "nuts")
                .text(" draws from the posterior itself"),
        ));
    }
    // A nan: there are few draws, or some have no density.
    if found.pareto_k.partial_cmp(&PARETO_K) != Some(Ordering::Less) {
        let how = match method {
            Method::MeanField => {
                "correlations and tails that independent normal distributions do not have"
            }
            Method::Laplace | Method::Nuts => {
                "skewness and tails that a normal distribution does not have"
            }
        };
        all.push(warning(
            "approximation",
            format!("the approximation is poor: the Pareto k of its weights is {:.2}, and should be below {PARETO_K}", found.pareto_k),
            Help::from(format!("the posterior has {how}, or there are few draws: take "))
                .option_of(CallOption::Method, "nuts"),
        ));
    }
    all
}

/// What is wrong with draws.
pub(super) fn advice(samples: &Samples, model: &Model) -> Vec<Message> {
    let mut all = Vec::new();
    let total = samples.chains.len() * samples.draws();
    let divergences = samples.divergences();
    if divergences == total {
        all.push(warning(
            "divergences",
            format!("all {total} draws diverged: they tell nothing of the posterior"),
            "the density has jumps, or changes too quickly for the steps: look at it with `diffeo grad --check`, and at the kinds of its parameters",
        ));
    } else if let Some(lost) = samples.chains.iter().find(|c| c.divergent.iter().all(|d| *d)) {
        all.push(warning(
            "divergences",
            format!("all draws of chain {} diverged: it tells nothing of the posterior", lost.number),
            Help::from("a chain is lost where the density has jumps, or a derivative that does not change; take another ")
                .option(CallOption::Seed)
                .text(", more ")
                .option(CallOption::Warmup)
                .text(", or other parameters"),
        ));
    } else if divergences > 0 {
        // One chain has most of them where it is caught in a narrow place.
        let of = |chain: &Chain| chain.divergent.iter().filter(|d| **d).count();
        let most = samples.chains.iter().max_by_key(|chain| of(chain));
        let caught = most.filter(|chain| samples.chains.len() > 1 && 2 * of(chain) > divergences);
        let chain = caught.map_or(String::new(), |c| format!(" ({} in chain {})", of(c), c.number));
        let parameters = "write the model in other parameters: an effect as `mean + sd * z` with a standard normal z where the data tell little of \
                          each effect, as itself where they tell much";
        all.push(warning(
            "divergences",
            format!("{divergences} of {total} draws diverged{chain}: parts of the posterior may not have been visited"),
            match samples.target_accept < HIGH_ACCEPT {
                true => Help::from("aim at a higher acceptance, as with ")
                    .option_of(CallOption::TargetAccept, "0.95")
                    .text(format!("; where that does not help, {parameters}")),
                false => parameters.into(),
            },
        ));
    }
    let worst = |value: fn(&Summary) -> f64| {
        let all = samples.summaries.iter().map(move |(name, s)| (name, value(s)));
        all.filter(|(_, v)| !v.is_nan())
    };
    let apart: Vec<(&String, f64)> = worst(|s| s.r_hat).filter(|(_, r)| *r > R_HAT).collect();
    let least = ESS * samples.chains.len() as f64;
    let small: Vec<(&String, f64)> =
        worst(|s| s.ess_bulk.min(s.ess_tail)).filter(|(_, e)| *e < least).collect();
    let stuck = stuck(samples, model);
    let low: Vec<String> = samples
        .e_bfmi
        .iter()
        .enumerate()
        .filter(|(_, e)| **e < E_BFMI)
        .map(|(chain, e)| format!("{chain} ({e:.2})"))
        .collect();
    let limit = samples.at_depth_limit();
    if limit > 0 {
        let doubts = [apart.is_empty(), small.is_empty(), low.is_empty(), stuck.is_none()];
        let good = divergences == 0 && doubts == [true; 4];
        let effect =
            if good { "draws are right, but take long" } else { "they end before they are far" };
        all.push(warning(
            "tree-depth",
            format!(
                "{limit} of {total} trajectories were as long as they could be, 2^{} steps: {effect}",
                samples.max_depth
            ),
            Help::from("parameters of very different scales, or strongly correlated ones, make long ways: put predictors and parameters to the scale of 1, or raise ")
                .option(CallOption::MaxDepth),
        ));
    }
    if !low.is_empty() {
        all.push(warning(
            "energy",
            format!("E-BFMI is below {E_BFMI} in chain {}: tails are explored slowly", low.join(", ")),
            "heavy tails and funnels cause it: write the model in other parameters, or make priors narrower",
        ));
    }
    if let Some((name, r_hat)) = apart.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        let far = wandering(samples, model);
        let (reason, help) = match &far {
            Some((parameter, distance)) => (
                format!(", and `{parameter}` wanders as far as {distance:.1e}"),
                "is the posterior proper? A parameter that neither a prior nor the data hold has none: give it a prior".into(),
            ),
            None => (
                String::new(),
                Help::from("take more warm-up (")
                    .option(CallOption::Warmup)
                    .text("); if that does not help, the posterior may have several modes, or be improper"),
            ),
        };
        all.push(warning(
            "r-hat",
            format!(
                "chains do not agree: R-hat is above {R_HAT} for {} of {} numbers, at most {} for `{name}`{reason}",
                apart.len(),
                samples.summaries.len(),
                if *r_hat < 100.0 { format!("{r_hat:.2}") } else { format!("{r_hat:.0e}") }
            ),
            help,
        ));
    } else if let Some((name, ess)) = small.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
        all.push(warning(
            "ess",
            format!(
                "there are few effective draws: less than {least} for {} of {} numbers, {ess:.0} for `{name}`",
                small.len(),
                samples.summaries.len()
            ),
            Help::from("take more draws, as with ").option_of(CallOption::Draws, "4000"),
        ));
    }
    if let Some((parameter, chain)) = stuck {
        all.push(warning(
            "stuck",
            format!("`{parameter}` has not moved in chain {chain}: no trajectory was accepted"),
            "the density may be infinite at a point: a posterior without a mode, such as a scale that can be 0, needs other priors",
        ));
    }
    let stops: u64 = samples.chains.iter().map(|chain| chain.stops).sum();
    let first = samples.chains.iter().find_map(|chain| chain.stopped.as_ref());
    if let Some(mut message) = first.and_then(|error| error.messages.first()).cloned() {
        message.severity = "warning";
        message.message = format!(
            "the program stopped at {stops} points of the trajectories, which count as points without density: {}",
            message.message
        );
        message.help = Some("a few while a chain warms up do no harm; for many, say with `parameters` what values the density accepts".into());
        all.push(message);
    }
    all
}

/// A parameter whose Reals before its transform are the same at all draws of a chain, and the number of the chain.
fn stuck<'m>(samples: &Samples, model: &'m Model) -> Option<(&'m String, usize)> {
    for chain in samples.chains.iter().filter(|chain| chain.log_density.len() > 1) {
        let (first, rest) = chain.points.split_at(model.dimension);
        let moved = |i: usize| rest.iter().skip(i).step_by(model.dimension).any(|x| *x != first[i]);
        if let Some(i) = (0..model.dimension).find(|i| !moved(*i)) {
            return Some((&model.coordinates[i], chain.number));
        }
    }
    None
}

/// The parameter that is farthest from 0 before its transform, if that is far.
fn wandering(samples: &Samples, model: &Model) -> Option<(String, f64)> {
    let mut found: Option<(usize, f64)> = None;
    for chain in &samples.chains {
        for (i, x) in chain.points.iter().enumerate() {
            if x.abs() > found.map_or(FAR, |(_, most)| most) {
                found = Some((i % model.dimension, x.abs()));
            }
        }
    }
    found.map(|(i, far)| (model.coordinates[i].clone(), far))
}
