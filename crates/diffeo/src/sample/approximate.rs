//! Draws from normal distributions near a posterior: Laplace's approximation and the nearest independent ones, which the
//! module `bayes` of the library finds.
//!
//! What comes in are a model and options; what goes out are draws, with what is known of the approximation. What always
//! holds: each draw has the log densities of the posterior and of the approximation.

use super::chain::{self, seed_of, Density};
use super::model::{Model, ModelDefinitions};
use super::{Chain, Method, SampleOptions};
use crate::host::{Array, Error, Value};
use crate::Message;
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::rand::SeedableRng;
use std::time::Instant;

/// What is known of an approximation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Approximation {
    /// The logarithm of the integral of the density: of the approximation, or a lower bound of it (`MeanField`).
    pub log_evidence: f64,
    /// Whether the search for the approximation converged.
    pub converged: bool,
    /// The shape of the largest importance weights: above 0.7 the approximation is poor (Yao, Vehtari, Simpson & Gelman,
    /// "Yes, but Did It Work?", 2018).
    pub pareto_k: f64,
}

/// A normal distribution: its mean, and standard deviations along orthonormal directions.
struct Normal {
    mean: Vec<f64>,
    sd: Vec<f64>,
    /// One direction in each column, and the units in which they are orthonormal; the coordinates where there are none.
    directions: Option<(Vec<f64>, Vec<f64>)>,
}

/// An eigenvalue that is smaller, relative to the largest, is rounding.
const SINGULAR: f64 = 1e-13;

/// A search that has not converged, and is farther from 0 than this, goes on for ever.
const FAR: f64 = 1e6;

/// The draws of an approximation, as chains.
///
/// # Errors
/// No point has a density, there is no approximation, or the run was interrupted.
pub(super) fn run(
    definitions: &ModelDefinitions,
    model: &Model,
    options: &SampleOptions,
) -> Result<(Vec<Chain>, Approximation), Error> {
    let begun = Instant::now();
    let interrupt = options.host.interrupt.clone().unwrap_or_default();
    let mut density = Density::new(model, &interrupt)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of(options.seed, 0));
    let start = chain::start(model, options, &mut density, &mut rng)?;
    let d = model.dimension;
    let fitted = match options.method {
        Method::MeanField => {
            "let r' = bayes'.mean_field(f', x0', random'.key(s')) in (r'.mean, r'.bound, r'.sd, ([0.0][0..0], [0.0][0..0]), r'.converged"
        }
        Method::Laplace | Method::Nuts => {
            "let r' = bayes'.near_mode(f', x0') in (r'.mode, r'.value, r'.values, (flatten(r'.vectors), r'.scale), r'.converged"
        }
    };
    let data = if model.data.is_some() { "d', " } else { "" };
    let fit = definitions.expression(&format!(
        "fn ((x0': []Real), {data}(c': Int), (s': Int)) -> let f' = fn (x': []Real) -> {} in {fitted}, random'.normals(c', random'.key(s' + 1)))",
        model.text
    ))?;
    let count = options.chains * options.draws;
    let mut argument = vec![Value::Reals(Array::vector(start))];
    argument.extend(model.data.clone());
    argument.push(Value::Int((count * d) as i64));
    // A key and the one after it.
    argument.push(Value::Int((seed_of(options.seed, 1) >> 2) as i64));
    let found = fit.evaluate_until(&Value::Tuple(argument), Some(interrupt.clone()))?;
    let Value::Tuple(parts) = found else { return Err(Error::new("model", "no approximation")) };
    let [mean, value, spread, vectors, converged, noise] = parts.as_slice() else {
        return Err(Error::new("model", "no approximation"));
    };
    let reals = |value: &Value<'_>| {
        let mut out = Vec::new();
        let _ = chain::numbers(value, &mut out);
        out
    };
    let (mean, spread, noise) = (reals(mean), reals(spread), reals(noise));
    let value = reals(value).first().copied().unwrap_or(f64::NAN);
    let converged = matches!(converged, Value::Bool(true));
    let gaussian = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
    let (normal, log_evidence) = match options.method {
        Method::MeanField => {
            let far = |x: f64| !x.is_finite() || (!converged && x.abs() > FAR);
            let wide = spread.iter().position(|sd| far(*sd) || *sd <= 0.0);
            let lost = mean.iter().position(|x| far(*x));
            if let Some(at) = wide.or(lost) {
                return Err(no_mean_field(model, at, mean[at], spread[at]));
            }
            (Normal { mean, sd: spread, directions: None }, value)
        }
        Method::Laplace | Method::Nuts => {
            let Value::Tuple(parts) = vectors else {
                return Err(Error::new("model", "no approximation"));
            };
            let (vectors, scale) = (reals(&parts[0]), reals(&parts[1]));
            if let Some(at) = mean.iter().position(|x| !converged && x.abs() > FAR) {
                let name = &model.coordinates[at];
                return Err(no_mode(
                    model,
                    &mean,
                    &format!("it still grows along `{name}`"),
                    PROPER,
                ));
            }
            check_mode(model, &mean, &spread, &vectors)?;
            let sd: Vec<f64> = spread.iter().map(|v| 1.0 / v.sqrt()).collect();
            let normal = Normal { mean, sd, directions: Some((vectors, scale)) };
            let log_evidence = value + gaussian + normal.log_volume();
            (normal, log_evidence)
        }
    };
    let log_volume = normal.log_volume();
    let mut chains = Vec::new();
    let mut rows = noise.chunks_exact(d);
    for number in 0..options.chains {
        let mut chain = Chain::new(model, options, number);
        chain.step_size = 0.0;
        for z in rows.by_ref().take(options.draws) {
            let point = normal.at(z);
            let log_density = density.value(&point)?;
            let squares: f64 = z.iter().map(|z| z * z).sum();
            chain.log_approximation.push(-0.5 * squares - log_volume - gaussian);
            chain.log_density.push(log_density);
            chain.energy.push(-log_density);
            chain.accept.push(1.0);
            chain.depth.push(0);
            chain.steps.push(0);
            chain.divergent.push(false);
            chain.points.extend_from_slice(&point);
        }
        chain::values(model, options, &mut chain, &interrupt)?;
        chain.sampling_seconds = begun.elapsed().as_secs_f64();
        chains.push(chain);
    }
    let ratios: Vec<f64> = chains
        .iter()
        .flat_map(|c| c.log_density.iter().zip(&c.log_approximation).map(|(p, q)| p - q))
        .collect();
    Ok((chains, Approximation { log_evidence, converged, pareto_k: pareto_k(ratios) }))
}

impl Normal {
    fn log_volume(&self) -> f64 {
        let scale = self.directions.iter().flat_map(|(_, scale)| scale);
        self.sd.iter().chain(scale).map(|s| s.ln()).sum()
    }

    fn at(&self, z: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = z.iter().zip(&self.sd).map(|(z, sd)| z * sd).collect();
        match &self.directions {
            None => self.mean.iter().zip(&scaled).map(|(m, s)| m + s).collect(),
            Some((columns, scale)) => {
                let rows = columns.chunks_exact(scaled.len()).zip(scale);
                let along = |row: &[f64]| row.iter().zip(&scaled).map(|(v, s)| v * s).sum::<f64>();
                self.mean.iter().zip(rows).map(|(m, (row, unit))| m + unit * along(row)).collect()
            }
        }
    }
}

/// The parameters at a point, for a message.
fn shown_at(model: &Model, point: &[f64]) -> String {
    let point = Value::Reals(Array::vector(point.to_vec()));
    model.constrain.evaluate(&point).map_or(String::new(), |value| chain::shown(&value))
}

const PROPER: &str = "is the posterior proper? A parameter that neither a prior nor the data hold has no mode, and neither has a density that grows without bound, as that of a scale towards 0 may: give it a prior, or take other parameters, such as `mean + sd * z` with a standard normal z";

/// That there is a maximum, by the eigenvalues of minus the second derivatives, ascending, and the eigenvectors as columns.
fn check_mode(model: &Model, mode: &[f64], values: &[f64], vectors: &[f64]) -> Result<(), Error> {
    let d = values.len();
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let (why, help) = if !values.iter().all(|v| v.is_finite()) {
        let farthest = (0..d).max_by(|a, b| mode[*a].abs().total_cmp(&mode[*b].abs()));
        let at = farthest.unwrap_or(0);
        let why = format!(
            "its second derivatives are not finite, and `{}` has gone farthest, to {:.4e} before its transform",
            model.coordinates[at], mode[at]
        );
        (why, PROPER)
    } else if let Some(at) = values.iter().position(|v| *v <= SINGULAR * largest) {
        // The parameters that take part in the direction.
        let mut parts: Vec<(f64, &String)> =
            (0..d).map(|i| (vectors[i * d + at].abs(), &model.coordinates[i])).collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        parts.retain(|(part, _)| *part > 0.3);
        let mut names: Vec<String> = Vec::new();
        for (_, name) in parts {
            let name = format!("`{name}`");
            if names.len() < 3 && !names.contains(&name) {
                names.push(name);
            }
        }
        let help = match names.len() {
            1 => "neither a prior nor the data hold it: give it a prior, or leave it out",
            _ => "parameters of which only a sum or a product counts have no single mode: hold one of them by a prior, or leave it out",
        };
        let names = names.join(", ");
        match values[at] < -SINGULAR * largest {
            true => (format!("it still grows along {names}"), PROPER),
            false => {
                let what = "its matrix of second derivatives is singular, in the direction of";
                (format!("{what} {names}"), help)
            }
        }
    } else {
        return Ok(());
    };
    Err(no_mode(model, mode, &why, help))
}

fn no_mode(model: &Model, point: &[f64], why: &str, help: &str) -> Error {
    let message = format!("the log density has no maximum where the search ended: {why}");
    let mut message = Message::error("no-mode", message);
    let at = shown_at(model, point);
    if !at.is_empty() {
        message.notes.push(format!("the parameters are {at} there"));
    }
    message.help = Some(help.to_string().into());
    Error::one(message)
}

/// That the nearest normal distributions are infinitely far or wide.
fn no_mean_field(model: &Model, at: usize, mean: f64, sd: f64) -> Error {
    let message = format!(
        "no independent normal distributions are nearest: that of `{}` ends with the mean {mean:.4e} and the standard deviation {sd:.4e} (before its transform)",
        model.coordinates[at]
    );
    let mut message = Message::error("no-approximation", message);
    message.help = Some(PROPER.into());
    Error::one(message)
}

/// The shape of the generalised Pareto distribution of the largest weights, from their logarithms: Vehtari, Simpson, Gelman,
/// Yao & Gabry, "Pareto Smoothed Importance Sampling", 2024. nan for few of them.
fn pareto_k(mut logs: Vec<f64>) -> f64 {
    logs.sort_by(f64::total_cmp);
    let (n, largest) = (logs.len(), logs.last().copied().unwrap_or(f64::NAN));
    let tail = (0.2 * n as f64).min(3.0 * (n as f64).sqrt()).ceil() as usize;
    if tail < 5 || !largest.is_finite() {
        return f64::NAN;
    }
    let cut = (logs[n - tail - 1] - largest).exp();
    let above: Vec<f64> = logs[n - tail..].iter().map(|l| (l - largest).exp() - cut).collect();
    // Weights that are all the same have no tail.
    if above[tail - 1] <= 1e-12 {
        return f64::NEG_INFINITY;
    }
    shape(&above)
}

/// The shape of a generalised Pareto distribution from ascending numbers, as J. Zhang and M. A. Stephens, "A New and Efficient
/// Estimation Method for the Generalized Pareto Distribution", 2009, with a weak prior at 0.5.
fn shape(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let quartile = x[((n / 4.0 + 0.5).floor() as usize).max(1) - 1].max(f64::MIN_POSITIVE);
    let points = 30 + n.sqrt() as usize;
    let shape_at = |theta: f64| x.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / n;
    let theta: Vec<f64> = (1..=points)
        .map(|j| {
            let ratio = (points as f64 / (j as f64 - 0.5)).sqrt();
            1.0 / x[x.len() - 1] + (1.0 - ratio) / (3.0 * quartile)
        })
        .collect();
    let likelihood: Vec<f64> = theta
        .iter()
        .map(|t| {
            let k = shape_at(*t);
            n * ((-t / k).ln() - k - 1.0)
        })
        .collect();
    let weight = |l: f64| 1.0 / likelihood.iter().map(|m| (m - l).exp()).sum::<f64>();
    let mean: f64 = theta.iter().zip(&likelihood).map(|(t, l)| t * weight(*l)).sum();
    (n * shape_at(mean) + 5.0) / (n + 10.0)
}

#[cfg(test)]
mod tests {
    use super::pareto_k;

    /// Weights with the tail of a Pareto distribution, at its quantiles.
    fn weights(k: f64) -> Vec<f64> {
        let n = 4000;
        (0..n).map(|i| -k * (1.0 - (f64::from(i) + 0.5) / f64::from(n)).ln()).collect()
    }

    #[test]
    fn the_shape_of_a_tail_is_found() {
        for k in [0.2, 0.5, 0.9] {
            let found = pareto_k(weights(k));
            assert!((found - k).abs() < 0.08, "{k}: {found}");
        }
        assert_eq!(pareto_k(vec![1.0; 1000]), f64::NEG_INFINITY);
        assert!(pareto_k(vec![0.0, 1.0]).is_nan());
    }
}
