//! Draws from posteriors whose moments are known from elsewhere: posteriordb's reference draws, and simulation.

use diffeo::{Array, Chain, Program, SampleOptions, Samples, Summary, Value};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/posteriors")
}

fn json(name: &str) -> Json {
    let text = std::fs::read_to_string(folder().join(name)).expect("a file of the test");
    serde_json::from_str(&text).expect("JSON")
}

/// A number or an array of numbers of any number of indices; a whole number is an Int where that is asked for.
fn value(json: &Json, int: bool) -> Value<'static> {
    fn leaves(json: &Json, depth: usize, sizes: &mut Vec<usize>, out: &mut Vec<f64>) {
        match json {
            Json::Array(elements) => {
                if sizes.len() == depth {
                    sizes.push(elements.len());
                }
                elements.iter().for_each(|e| leaves(e, depth + 1, sizes, out));
            }
            x => out.push(x.as_f64().expect("a number")),
        }
    }
    let (mut sizes, mut data) = (Vec::new(), Vec::new());
    leaves(json, 0, &mut sizes, &mut data);
    match sizes.is_empty() {
        true if int => Value::Int(data[0] as i64),
        true => Value::Real(data[0]),
        false => Value::Reals(Array { data: data.into(), sizes }),
    }
}

/// Draws from a model of the folder, with the fields of the data that it takes.
fn draws(file: &str, entry: &str, data: &str, predict: Option<&str>, seed: u64) -> Samples {
    let program = Program::from_file(folder().join(file)).unwrap_or_else(|error| panic!("{error}"));
    let names = diffeo::Names { density: entry, parameters: "parameters", predict };
    let (taken, _) = program.model_data(names).unwrap_or_else(|error| panic!("{file}: {error}"));
    let json = json(data);
    let fields = taken.iter().map(|(name, ty)| {
        let int = ty.to_string() == "Int";
        (name.to_string().into(), value(&json[&**name], int))
    });
    let data = Value::Record(fields.collect());
    let options = SampleOptions {
        seed,
        target_accept: 0.9,
        draws: 1500,
        predict: predict.map(str::to_string),
        ..SampleOptions::default()
    };
    program.sample(entry, &data, &options).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The draws of a number of the parameters or the predictions.
fn column(samples: &Samples, name: &str) -> Option<Vec<Vec<f64>>> {
    fn find(all: &[(String, Summary)], name: &str) -> Option<usize> {
        all.iter().position(|(known, _)| known == name)
    }
    let pick = |at: usize, width: usize, values: &dyn Fn(&Chain) -> &Vec<f64>| {
        let of = |c: &Chain| values(c).iter().skip(at).step_by(width).copied().collect();
        samples.chains.iter().map(of).collect()
    };
    if let Some(at) = find(&samples.summaries, name) {
        return Some(pick(at, samples.summaries.len(), &|c| &c.values));
    }
    let at = find(&samples.predicted, name)?;
    Some(pick(at, samples.predicted.len(), &|c| &c.predictions))
}

/// Means and standard deviations agree with 10,000 reference draws within four Monte Carlo errors of the difference.
fn agrees(samples: &Samples, reference: &str, rename: &dyn Fn(&str) -> String) {
    let known = json("reference.json");
    let known = known[reference].as_object().expect("a reference");
    assert!(!known.is_empty());
    for (name, moments) in known {
        // Stan counts from 1.
        let ours = match name.split_once('[') {
            Some((of, index)) => {
                let index: usize = index.trim_end_matches(']').parse().expect("an index");
                rename(&format!("{of}[{}]", index - 1))
            }
            None => rename(name),
        };
        let columns = column(samples, &ours).unwrap_or_else(|| panic!("{reference} has no {ours}"));
        let (mean, sd) = (moments[0].as_f64().expect("a mean"), moments[1].as_f64().expect("sd"));
        let summary = Summary::new(&columns);
        let near = |what: &str, found: f64, expected: f64, error: f64| {
            assert!(
                (found - expected).abs() < 4.0 * error,
                "{reference}, {what} of {name}: {found}, but the reference has {expected} (error {error})"
            );
        };
        let of_reference = sd / 100.0;
        near("mean", summary.mean, mean, summary.mcse.hypot(of_reference));
        // The error of a standard deviation, from that of the variance.
        let squares =
            columns.iter().map(|c| c.iter().map(|x| (x - summary.mean).powi(2)).collect());
        let squares = Summary::new(&squares.collect::<Vec<Vec<f64>>>());
        let error = squares.mcse.hypot(squares.sd / 100.0) / (2.0 * sd);
        near("standard deviation", summary.sd, sd, error);
        assert!(summary.r_hat < 1.02, "{reference}: {name} has R-hat {}", summary.r_hat);
    }
}

fn same(name: &str) -> String {
    name.to_string()
}

#[test]
fn eight_schools_not_centred() {
    let samples =
        draws("eight_schools.deo", "noncentred", "eight_schools.json", Some("effects"), 1);
    let effect = |name: &str| name.replace("theta", "effect");
    agrees(&samples, "eight_schools-eight_schools_noncentered", &effect);
    assert!(samples.divergences() < 30, "{}", samples.divergences());
}

#[test]
fn eight_schools_centred_is_a_funnel_and_said_to_be() {
    // Its neck is not reached, so only the diagnostics are right.
    let samples = draws("eight_schools.deo", "log_density", "eight_schools.json", None, 1);
    let told = samples.advice.iter().any(|m| m.code == "divergences");
    assert!(told && samples.divergences() > 10, "{} {:?}", samples.divergences(), samples.advice);
    let (_, mu) = samples.summaries.iter().find(|(name, _)| name == "mu").expect("mu");
    assert!((mu.mean - 4.4).abs() < 1.5, "{mu:?}");
}

#[test]
fn kidscore() {
    let samples = draws("kidscore_momiq.deo", "log_density", "kidiq.json", None, 2);
    agrees(&samples, "kidiq-kidscore_momiq", &same);
    let samples = draws("kidscore_interaction.deo", "log_density", "kidiq.json", None, 3);
    agrees(&samples, "kidiq-kidscore_interaction", &same);
}

#[test]
fn autoregression() {
    agrees(&draws("arK.deo", "log_density", "arK.json", None, 4), "arK-arK", &same);
}

#[test]
fn garch() {
    let samples = draws("garch.deo", "log_density", "garch.json", Some("derived"), 5);
    agrees(&samples, "garch-garch11", &same);
}

#[test]
fn mesquite() {
    let samples = draws("mesquite.deo", "log_density", "mesquite.json", None, 6);
    agrees(&samples, "mesquite-mesquite", &same);
}

#[test]
fn lotka_volterra() {
    let samples = draws("lotka_volterra.deo", "log_density", "hudson_lynx_hare.json", None, 7);
    agrees(&samples, "hudson_lynx_hare-lotka_volterra", &same);
}

// Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari & Gelman, "Validating Bayesian Inference Algorithms with
// Simulation-Based Calibration", 2018): parameters from the prior, data from the parameters, draws from the posterior. The rank of
// the parameter among draws is uniform.

const CALIBRATED: &str = "
import bayes
import random
import stats

def hierarchy = {mu = bayes.Free, tau = bayes.Positive, theta = bayes.Array(5, bayes.Free)}
def hierarchical({mu, tau, theta}: {mu: Real, tau: Real, theta: [k]Real}, {y}: {y: [k]Real}) -> Real =
  stats.normal_logpdf(mu, 0.0, 1.0) + stats.lognormal_logpdf(tau, 0.0, 0.5)
  + sum([stats.normal_logpdf(t, 0.0, 1.0) for t in theta])
  + sum([stats.normal_logpdf(y[i], mu + tau * theta[i], 0.5) for i < k])
def hierarchical_case(seed: Int) =
  let (a, b) = random.split(random.key(seed))
  let z = random.normals(7, a)
  let (mu, tau) = (z[0], exp(0.5 * z[1])) in
  {truth = [mu, tau] ++ z[2..7], y = [mu + tau * z[i + 2] + 0.5 * e for (i, e) in enumerate(random.normals(5, b))]}

def mixture = {weights = bayes.Simplex(3), correlation = bayes.Correlation(2)}
def constrained({weights, correlation}: {weights: [3]Real, correlation: [2][2]Real}, {y}: {y: [k][2]Real}) -> Real =
  stats.dirichlet_logpdf(weights, [2.0, 3.0, 4.0]) + stats.lkj_logpdf(correlation, 1.0)
  + sum([stats.multivariate_normal_logpdf(v, weights[0..2], correlation) for v in y])
def constrained_case(seed: Int) =
  let keys = random.split_many(3, random.key(seed))
  let weights = stats.dirichlet_sample([2.0, 3.0, 4.0], keys[0])
  # For two variables, uniform from -1 to 1.
  let r = 2.0 * random.uniform(keys[1]) - 1.0
  let draw(k: random.Key) = stats.multivariate_normal_sample(weights[0..2], [[1.0, r], [r, 1.0]], k) in
  {truth = weights ++ [r], y = map(draw, random.split_many(8, keys[2]))}
";

/// The chi-squared statistic of the ranks of a model's parameters, in 10 bins, for each number of `truth`.
fn calibration(entry: &str, parameters: &str, numbers: &[&str], cases: usize) {
    let program = Program::from_text("calibrated.deo", CALIBRATED).expect("a program");
    let case = program.function(&format!("{entry}_case")).expect("a function");
    let mut bins = vec![[0.0f64; 10]; numbers.len()];
    for i in 0..cases {
        let made: Value = case.call(i as i64).expect("a case");
        let data = Value::Record(vec![("y".into(), made.field("y").expect("data").clone())]);
        let Some(Value::Reals(truth)) = made.field("truth") else { panic!("the truth") };
        let options = SampleOptions {
            chains: 1,
            draws: 990,
            warmup: 500,
            seed: i as u64,
            parameters: parameters.to_string(),
            ..SampleOptions::default()
        };
        let samples = program.sample(entry, &data, &options).expect("draws");
        for (j, name) in numbers.iter().enumerate() {
            let draws = column(&samples, name).expect("a parameter").concat();
            // Every tenth is nearly independent.
            let below = draws.iter().step_by(10).filter(|x| **x < truth.data[j]).count();
            bins[j][below / 10] += 1.0;
        }
    }
    for (name, bins) in numbers.iter().zip(&bins) {
        let expected = cases as f64 / 10.0;
        let chi: f64 = bins.iter().map(|n| (n - expected).powi(2) / expected).sum();
        // The 99.99 percent quantile with 9 degrees of freedom.
        assert!(chi < 33.7, "{entry}: ranks of {name} are not uniform: {bins:?}");
    }
}

#[test]
#[ignore = "500 posteriors each: a minute or more"]
fn ranks_of_true_parameters_are_uniform() {
    let theta: Vec<String> = (0..5).map(|i| format!("theta[{i}]")).collect();
    let names: Vec<&str> =
        ["mu", "tau"].into_iter().chain(theta.iter().map(String::as_str)).collect();
    calibration("hierarchical", "hierarchy", &names, 500);
    let names = ["weights[0]", "weights[1]", "weights[2]", "correlation[0,1]"];
    calibration("constrained", "mixture", &names, 500);
}
