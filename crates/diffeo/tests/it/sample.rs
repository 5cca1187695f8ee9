//! `Program::sample`: what draws depend on, and what is refused.

use diffeo::{HostOptions, Method, Program, SampleOptions, Samples, Spelling, Value};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

const MODELS: &str = "
import bayes
import random
import stats

type Place = {x: Real, name: String}

def one = {x = bayes.Free}
def normal({x}: {x: Real}) -> Real = stats.normal_logpdf(x, 3.0, 2.0)
def slow({x}: {x: Real}) -> Real =
  let y = stop_gradient(x) in 0.0 * (loop s = 0.0 for i < 30000000 do s + sin(s + y)) - x * x
def flat({x}: {x: Real}) -> Real = 1e-12 * sin(x)
def constant({x}: {x: Real}) -> Real = 0.0 * x
def nowhere({x}: {x: Real}) -> Real = log(x - 10.0)
def never({x}: {x: Real}) -> Real = if x > 10.0 then -x else -inf
def stops({x}: {x: Real}) -> Real = if x > 10.0 then -x else fail(\"x is too small\")
def stops_below({x}: {x: Real}) -> Real = if x > -4.0 then -0.5 * x * x else fail(\"x is too small\")
def jumpy({x}: {x: Real}) -> Real = -1e8 * abs(x * 1e3 - real(round(x * 1e3)))
def spike({x}: {x: Real}) -> Real = -10.0 * log(abs(x))
def pair({x}: {x: Real}) = (x, x)
def two = {a = bayes.Free, b = bayes.Free}
def leaning({a, b}: {a: Real, b: Real}) -> Real = stats.normal_logpdf(a, 1.0, 2.0) + stats.normal_logpdf(b, 3.0 * a, 0.5)
def ridge({a, b}: {a: Real, b: Real}) -> Real = -sq(a + b - 1.0)
def some({a}: {a: Real}) = {y = 2.0 * a}
def funnel({a, b}: {a: Real, b: Real}) -> Real = stats.normal_logpdf(a, 0.0, 3.0) + stats.normal_logpdf(b, 0.0, exp(a))
def scale = {x = bayes.Positive}
def unbounded({x}: {x: Real}) -> Real = -2.0 * log(x)
def heavy({x}: {x: Real}) -> Real = logsumexp([stats.normal_logpdf(x, 0.0, 0.1), stats.normal_logpdf(x, 0.0, 3.0)])
def not_record(x: Real) -> Real = x
def vector({x}: {x: [n]Real}) -> Real = -norm_sq(x)
def three = {x = bayes.Array(3, bayes.Free)}
def negative = {x = bayes.Array(-3, bayes.Free)}
def other = {y = bayes.Free}
def crossed = {x = bayes.Between(1.0, 0.0)}
def no_kinds = {x = 1.0}
def none = {x = bayes.Array(0, bayes.Free)}

def everything = {
  free = bayes.Free, positive = bayes.Positive, above = bayes.Above(2.0), below = bayes.Below(-1.0),
  between = bayes.Between(-3.0, 5.0), simplex = bayes.Simplex(3), ordered = bayes.Ordered(3),
  rising = bayes.PositiveOrdered(2), direction = bayes.UnitVector(3), factor = bayes.CholeskyCorrelation(3),
  correlation = bayes.Correlation(3), root = bayes.CholeskyCovariance(2), covariance = bayes.Covariance(2),
  rows = bayes.Array(2, bayes.Simplex(3)), table = bayes.Array(2, bayes.Array(3, bayes.Positive))
}
type Everything = {
  free: Real, positive: Real, above: Real, below: Real, between: Real, simplex: [3]Real, ordered: [3]Real,
  rising: [2]Real, direction: [3]Real, factor: [3][3]Real, correlation: [3][3]Real, root: [2][2]Real,
  covariance: [2][2]Real, rows: [2][3]Real, table: [2][3]Real
}
# Distributions whose means are known.
def all_kinds(p: Everything) -> Real =
  stats.normal_logpdf(p.free, 1.0, 2.0)
  + stats.gamma_logpdf(p.positive, 3.0, 2.0)
  + stats.exponential_logpdf(p.above - 2.0, 1.0)
  + stats.exponential_logpdf(-1.0 - p.below, 2.0)
  + stats.dirichlet_logpdf(p.simplex, [2.0, 3.0, 5.0])
  + sum([stats.normal_logpdf(x, 0.0, 1.0) for x in p.ordered])
  + sum([stats.exponential_logpdf(x, 1.0) for x in p.rising])
  + stats.lkj_cholesky_logpdf(p.factor, 2.0)
  + stats.lkj_logpdf(p.correlation, 2.0)
  # The factor of a Wishart matrix, by Bartlett: chi variables on the diagonal, a normal one below it.
  + stats.chi_squared_logpdf(sq(p.root[0, 0]), 5.0) + log(2.0 * p.root[0, 0])
  + stats.chi_squared_logpdf(sq(p.root[1, 1]), 4.0) + log(2.0 * p.root[1, 1])
  + stats.normal_logpdf(p.root[1, 0], 0.0, 1.0)
  + stats.wishart_logpdf(p.covariance, 5.0, [[1.0, 0.5], [0.5, 1.0]])
  + sum([stats.dirichlet_logpdf(row, [1.0, 2.0, 3.0]) for row in p.rows])
  + sum([stats.gamma_logpdf(x, 2.0, 1.0) for x in flatten(p.table)])

def with_data({x}: {x: Real}, {places, scale}: {places: [n]Place, scale: Real}) -> Real =
  -0.5 * sum([sq(p.x - x) / scale for p in places])
def predicted({x}: {x: Real}, {extra}: {extra: Int}, key: random.Key) = {near = x + random.normal(key), twice = [x, 2.0 * x], extra = extra}
";

fn program() -> Program {
    Program::from_text("models.deo", MODELS).unwrap_or_else(|error| panic!("{error}"))
}

fn options(parameters: &str) -> SampleOptions {
    SampleOptions { parameters: parameters.to_string(), ..SampleOptions::default() }
}

fn nothing() -> Value<'static> {
    Value::Record(Vec::new())
}

fn sample(entry: &str, options: &SampleOptions) -> Samples {
    program().sample(entry, &nothing(), options).unwrap_or_else(|error| panic!("{entry}: {error}"))
}

fn refused(entry: &str, parameters: &str) -> String {
    match program().sample(entry, &nothing(), &options(parameters)) {
        Ok(_) => panic!("{entry} has draws"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn draws_have_the_moments_of_the_distribution() {
    let samples = sample("normal", &options("one"));
    let (_, x) = &samples.summaries[0];
    assert!((x.mean - 3.0).abs() < 5.0 * x.mcse && (x.sd - 2.0).abs() < 0.15, "{x:?}");
    assert!(samples.advice.is_empty(), "{:?}", samples.advice);
    assert!(samples.e_bfmi.iter().all(|e| *e > 0.5));
}

#[test]
fn every_kind_of_parameter_has_its_values_and_its_jacobian() {
    let samples = sample("all_kinds", &SampleOptions { draws: 4000, ..options("everything") });
    let of = |name: &str| {
        let found = samples.summaries.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    let means = [
        ("free", 1.0),
        ("positive", 1.5),
        ("above", 3.0),
        ("below", -1.5),
        // Uniform.
        ("between", 1.0),
        ("simplex[0]", 0.2),
        ("simplex[2]", 0.5),
        // The order statistics of three normal variables.
        ("ordered[0]", -0.846_284_375_321_634_4),
        ("ordered[1]", 0.0),
        // Of two exponential ones.
        ("rising[0]", 0.5),
        ("rising[1]", 1.5),
        ("direction[0]", 0.0),
        ("factor[1,0]", 0.0),
        ("correlation[2,0]", 0.0),
        // Of a chi variable with 5 degrees of freedom.
        ("root[0,0]", 2.127_692_162_140_974),
        ("covariance[0,0]", 5.0),
        ("covariance[1,0]", 2.5),
        ("rows[1,2]", 0.5),
        ("table[1,2]", 2.0),
    ];
    for (name, mean) in means {
        let found = of(name);
        assert!((found.mean - mean).abs() < 5.0 * found.mcse, "{name}: {found:?}, not {mean}");
    }
    // A correlation of an LKJ(2) matrix of size 3 is 2 b - 1 with b of the beta distribution (2.5, 2.5); a component of a
    // direction in three dimensions is uniform.
    for (name, sd) in [
        ("correlation[2,1]", (1.0f64 / 6.0).sqrt()),
        ("direction[1]", (1.0f64 / 3.0).sqrt()),
        ("between", 8.0 / 12.0f64.sqrt()),
    ] {
        let found = of(name);
        assert!((found.sd / sd - 1.0).abs() < 0.05, "{name}: {found:?}, not {sd}");
    }
    let chain = &samples.chains[0];
    assert_eq!(chain.values.len(), samples.draws() * samples.summaries.len());
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let with = |seed: u64, threads: usize| {
        let host = HostOptions { threads: NonZeroUsize::new(threads), ..HostOptions::default() };
        let samples = sample(
            "normal",
            &SampleOptions { seed, draws: 100, warmup: 100, host, ..options("one") },
        );
        samples.chains.iter().map(|chain| chain.values.clone()).collect::<Vec<_>>()
    };
    let draws = with(1, 1);
    assert_eq!(draws, with(1, 4));
    assert_ne!(draws, with(2, 4));
    assert_ne!(draws[0], draws[1]);
}

#[test]
fn all_engines_sample() {
    let with = |engine| {
        let host = HostOptions { engine, ..HostOptions::default() };
        let samples =
            sample("normal", &SampleOptions { draws: 50, warmup: 50, host, ..options("one") });
        samples.chains[0].values.clone()
    };
    assert_eq!(with(diffeo::Engine::Reference), with(diffeo::Engine::JIT));
}

#[test]
fn data_go_to_what_takes_them() {
    let place = |x: f64| Value::record([("x", x.into()), ("name", "p".into())]);
    let data = Value::record([
        ("places", Value::Array(vec![place(1.0), place(3.0)])),
        ("scale", 0.5.into()),
        ("extra", Value::Int(7)),
    ]);
    let options = SampleOptions { predict: Some("predicted".to_string()), ..options("one") };
    let samples = program().sample("with_data", &data, &options).unwrap_or_else(|e| panic!("{e}"));
    let (_, x) = &samples.summaries[0];
    assert!((x.mean - 2.0).abs() < 5.0 * x.mcse && (x.sd - 0.5).abs() < 0.05, "{x:?}");
    let names: Vec<&str> = samples.predicted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["extra", "near", "twice[0]", "twice[1]"]);
    let chain = &samples.chains[2];
    assert_eq!((chain.predictions[0], chain.predictions[3]), (7.0, 2.0 * chain.values[0]));
    // The prediction's noise adds to the posterior's.
    assert!((samples.predicted[1].1.sd - 1.25f64.sqrt()).abs() < 0.1);
}

#[test]
fn data_that_are_missing_or_too_many_are_named() {
    let told = |data: Value<'_>| {
        let error = program().sample("with_data", &data, &options("one"));
        error.expect_err("refused").to_string()
    };
    let text = told(Value::record([("scale", 0.5.into())]));
    assert!(
        text.contains("the data of `with_data` lack `places: [n]{x: Real, name: String}`"),
        "{text}"
    );
    let places = || Value::Array(Vec::new());
    let text =
        told(Value::record([("scale", 0.5.into()), ("places", places()), ("z", 1.0.into())]));
    assert!(text.contains("`with_data` has no data `z`"), "{text}");
    let text = told(Value::record([("scale", "x".into()), ("places", places())]));
    assert!(text.contains("the program has Real, given was a String"), "{text}");
}

#[test]
fn what_is_no_model_is_refused_with_what_to_do() {
    for (entry, parameters, parts) in [
        (
            "pair",
            "one",
            &["no log density: `pair` is {x: Real} -> (Real, Real)", "gives a Real"][..],
        ),
        ("not_record", "one", &["no log density", "takes a record of parameters"]),
        ("three", "one", &["no log density"]),
        (
            "vector",
            "missing",
            &[
                "nothing says what values the parameter `x: [n]Real` of `vector` takes",
                "define `parameters`",
            ],
        ),
        ("vector", "one", &["the parameter `x` is Real in `one`, but `vector` takes [n]Real"]),
        ("normal", "other", &["`other` says nothing of the parameter `x` of `normal`"]),
        ("normal", "crossed", &["no Real is between the bounds"]),
        ("normal", "no_kinds", &["it is to say what values parameters take"]),
        ("vector", "negative", &["the size of `Array` is -3"]),
        ("vector", "none", &["has 0 parameters"]),
        ("absent", "one", &["there is no definition `absent`"]),
    ] {
        let text = refused(entry, parameters);
        for part in parts {
            assert!(text.contains(part), "{entry} with {parameters}: no {part:?} in\n{text}");
        }
    }
    let predict = |name: &str| {
        let options = SampleOptions { predict: Some(name.to_string()), ..options("one") };
        program().sample("normal", &nothing(), &options).expect_err("refused").to_string()
    };
    assert!(predict("vector").contains("no predictions: `vector` is"), "{}", predict("vector"));
    let options = SampleOptions { predict: Some("some".to_string()), ..options("two") };
    let error = program().sample("leaning", &nothing(), &options).expect_err("refused");
    assert!(error.to_string().contains("`b: Real` is lacking"), "{error}");
}

#[test]
fn where_no_chain_can_start_the_reason_is_told() {
    let text = refused("nowhere", "one");
    assert!(text.contains("no chain can start") && text.contains("nan"), "{text}");
    // The place of the logarithm.
    assert!(text.starts_with("models.deo:14:"), "{text}");
    assert!(text.contains("for instance where the parameters are x = "), "{text}");
    let text = refused("constant", "one");
    assert!(text.contains("its derivative by `x` is 0"), "{text}");
    assert!(text.contains("is the posterior proper?"), "{text}");
    let text = refused("never", "one");
    assert!(text.contains("the log density is -inf"), "{text}");
    let text = refused("stops", "one");
    assert!(text.contains("x is too small") && text.starts_with("models.deo:16:"), "{text}");
}

/// The codes of what is said about draws.
fn codes(entry: &str) -> Vec<&'static str> {
    let samples = sample(entry, &SampleOptions { draws: 500, warmup: 500, ..options("one") });
    samples.advice.iter().map(|message| message.code).collect()
}

#[test]
fn advice_on_divergences_is_what_was_not_done_yet() {
    for (target_accept, aims) in [(0.8, true), (0.96, false)] {
        let samples = sample("funnel", &SampleOptions { target_accept, ..options("two") });
        let found = samples.advice.iter().find(|message| message.code == "divergences");
        let help = found.and_then(|message| message.help.as_ref()).expect("it diverges");
        let help = help.written(Spelling::CommandLine);
        assert!(
            help.contains("--target-accept") == aims && help.contains("mean + sd * z"),
            "{help}"
        );
    }
}

#[test]
fn bad_posteriors_are_said_to_be() {
    // Improper: hardly anything holds it.
    let samples = sample("flat", &SampleOptions { draws: 200, warmup: 200, ..options("one") });
    let told = samples.advice.iter().find(|m| m.code == "r-hat");
    let told = told.unwrap_or_else(|| panic!("{:?}", samples.advice));
    assert!(told.message.contains("`x` wanders as far as"), "{told}");
    // Advice names options as the caller writes them.
    let samples = sample("jumpy", &SampleOptions { draws: 500, warmup: 500, ..options("one") });
    let told = samples.advice.iter().find(|m| m.code == "r-hat");
    let help = told.and_then(|m| m.help.clone()).unwrap_or_default();
    for (spelling, option) in [
        (Spelling::Rust, "(`warmup`)"),
        (Spelling::Python, "(`warmup`)"),
        (Spelling::CommandLine, "(`--warmup`)"),
    ] {
        assert!(help.written(spelling).contains(option), "{help:?}");
    }
    // Without a mode.
    assert!(codes("spike").contains(&"divergences"), "{:?}", codes("spike"));
    // Points without density within trajectories.
    let samples = sample("stops_below", &options("one"));
    let told = samples.advice.iter().find(|m| m.message.contains("x is too small"));
    assert!(told.is_some_and(|m| m.severity == "warning"), "{:?}", samples.advice);
}

#[test]
fn runs_end_when_they_are_told_to() {
    let flag = Arc::new(AtomicBool::new(false));
    let host = HostOptions { interrupt: Some(flag.clone()), ..HostOptions::default() };
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = steps.clone();
    let progress: diffeo::Steps = Arc::new(move |step| {
        assert!(step.draw <= step.total);
        if counted.fetch_add(1, Ordering::Relaxed) == 50 {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let long = SampleOptions { draws: 1_000_000, progress: Some(progress), host, ..options("one") };
    let error = program().sample("normal", &nothing(), &long).expect_err("interrupted");
    assert!(error.is_interrupt(), "{error}");
    assert!(steps.load(Ordering::Relaxed) < 1000);
    let host = HostOptions { time: Some(Duration::from_millis(300)), ..HostOptions::default() };
    let error = program()
        .sample("slow", &nothing(), &SampleOptions { host, ..options("one") })
        .expect_err("out of time");
    assert_eq!(error.messages[0].code, "timeout");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for options in [
        SampleOptions { chains: 0, ..options("one") },
        SampleOptions { draws: 0, ..options("one") },
        SampleOptions { target_accept: 1.0, ..options("one") },
        SampleOptions { target_accept: f64::NAN, ..options("one") },
        SampleOptions { max_depth: 0, ..options("one") },
        SampleOptions { radius: -1.0, ..options("one") },
    ] {
        let error = program().sample("normal", &nothing(), &options).expect_err("refused");
        assert_eq!(error.messages[0].code, "argument");
    }
    // No warm-up at all, and a short one.
    for warmup in [0, 1, 3] {
        let samples = sample("normal", &SampleOptions { warmup, draws: 20, ..options("one") });
        assert_eq!(samples.draws(), 20);
    }
}

#[test]
fn files_have_the_columns_of_stan() {
    let samples =
        sample("all_kinds", &SampleOptions { draws: 10, warmup: 20, ..options("everything") });
    let mut out = Vec::new();
    samples.write_csv(&samples.chains[0], &mut out).expect("written");
    let text = String::from_utf8(out).expect("a text");
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 11);
    let columns: Vec<&str> = rows[0].split(',').collect();
    assert_eq!(
        columns[..7],
        [
            "lp__",
            "accept_stat__",
            "stepsize__",
            "treedepth__",
            "n_leapfrog__",
            "divergent__",
            "energy__"
        ]
    );
    // The first index runs fastest, from 1.
    let at = columns.iter().position(|c| *c == "table.1.1").expect("a table");
    assert_eq!(
        columns[at..at + 6],
        ["table.1.1", "table.2.1", "table.1.2", "table.2.2", "table.1.3", "table.2.3"]
    );
    let names: Vec<&String> = samples.summaries.iter().map(|(name, _)| name).collect();
    let ours = names.iter().position(|name| *name == "table[1,0]").expect("a number");
    let row: Vec<f64> = rows[1].split(',').map(|x| x.parse().expect("a number")).collect();
    assert_eq!(row[at + 1], samples.chains[0].values[ours]);
}

fn by(method: Method, parameters: &str) -> SampleOptions {
    SampleOptions { method, ..options(parameters) }
}

#[test]
fn approximations_of_normal_distributions_are_exact() {
    for method in [Method::Laplace, Method::MeanField] {
        let samples = sample("normal", &by(method, "one"));
        let (_, x) = &samples.summaries[0];
        assert!((x.mean - 3.0).abs() < 5.0 * x.mcse && (x.sd - 2.0).abs() < 0.1, "{x:?}");
        let found = samples.approximation.expect("an approximation");
        assert!(found.converged && found.log_evidence.abs() < 1e-6, "{method:?}: {found:?}");
        assert!(samples.advice.is_empty(), "{:?}", samples.advice);
        let chain = &samples.chains[3];
        assert_eq!(chain.log_density.len(), 1000);
        for (p, q) in chain.log_density.iter().zip(&chain.log_approximation) {
            assert!((p - q).abs() < 1e-4, "{p} {q}");
        }
        // The seed decides.
        let again = sample("normal", &by(method, "one"));
        assert_eq!(again.chains[0].values, samples.chains[0].values);
        let other = sample("normal", &SampleOptions { seed: 1, ..by(method, "one") });
        assert_ne!(other.chains[0].values, samples.chains[0].values);
    }
}

#[test]
fn laplace_has_correlations_and_the_nearest_independent_normals_have_not() {
    let correlation = |samples: &Samples| {
        let rows: Vec<&[f64]> =
            samples.chains.iter().flat_map(|chain| chain.values.chunks(2)).collect();
        let mean = |f: &dyn Fn(&[f64]) -> f64| {
            rows.iter().map(|row| f(row)).sum::<f64>() / rows.len() as f64
        };
        let (a, b) = (mean(&|r| r[0]), mean(&|r| r[1]));
        mean(&|r| (r[0] - a) * (r[1] - b))
            / (mean(&|r| (r[0] - a).powi(2)) * mean(&|r| (r[1] - b).powi(2))).sqrt()
    };
    let laplace = sample("leaning", &by(Method::Laplace, "two"));
    // b is 3 a and noise: the correlation is 6 / sqrt(36.25).
    assert!((correlation(&laplace) - 0.9965).abs() < 1e-3, "{}", correlation(&laplace));
    assert!((laplace.summaries[0].1.sd - 2.0).abs() < 0.1, "{:?}", laplace.summaries[0]);
    assert!(laplace.advice.is_empty(), "{:?}", laplace.advice);
    let apart = sample("leaning", &by(Method::MeanField, "two"));
    assert!(correlation(&apart).abs() < 0.1);
    assert!(apart.summaries[0].1.sd < 0.5, "{:?}", apart.summaries[0]);
    let advice: Vec<&str> = apart.advice.iter().map(|m| m.code).collect();
    assert_eq!(advice, ["approximation"]);
}

#[test]
fn approximations_that_are_poor_are_told() {
    let samples = sample("heavy", &by(Method::Laplace, "one"));
    assert_eq!(samples.advice.len(), 1, "{:?}", samples.advice);
    assert!(samples.advice[0].message.contains("Pareto k"), "{:?}", samples.advice);
}

#[test]
fn posteriors_without_a_mode_have_no_approximation() {
    let refused = |entry: &str, method: Method, parameters: &str| {
        let result = program().sample(entry, &nothing(), &by(method, parameters));
        result.err().unwrap_or_else(|| panic!("{entry} has draws")).to_string()
    };
    let ridge = refused("ridge", Method::Laplace, "two");
    assert!(ridge.contains("singular, in the direction of `a`, `b`"), "{ridge}");
    let unbounded = refused("unbounded", Method::Laplace, "scale");
    assert!(unbounded.contains("is the posterior proper?"), "{unbounded}");
    assert!(unbounded.contains("`x`"), "{unbounded}");
    // The nearest normal distribution widens until numbers end.
    let wide = sample("unbounded", &by(Method::MeanField, "scale"));
    let advice: Vec<&str> = wide.advice.iter().map(|m| m.code).collect();
    assert_eq!(advice, ["not-converged", "approximation"]);
    for method in [Method::Laplace, Method::MeanField] {
        let nowhere = refused("nowhere", method, "one");
        assert!(nowhere.contains("no chain can start"), "{nowhere}");
    }
}

/// Samples until the flag is put down after so many draws of one chain.
fn until(draws: usize, keep_partial: bool) -> (Result<Samples, diffeo::Error>, bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let host = HostOptions { interrupt: Some(flag.clone()), ..HostOptions::default() };
    let put = flag.clone();
    let progress: diffeo::Steps = Arc::new(move |step| {
        if step.draw == draws {
            put.store(true, Ordering::Relaxed);
        }
    });
    let options = SampleOptions {
        chains: 2,
        warmup: 100,
        draws: 1_000_000,
        keep_partial,
        progress: Some(progress),
        predict: Some("predicted".to_string()),
        host,
        ..options("one")
    };
    let data = Value::record([("extra", Value::Int(5))]);
    (program().sample("normal", &data, &options), flag.load(Ordering::Relaxed))
}

#[test]
fn draws_of_an_interrupted_run_are_kept() {
    let (samples, flag) = until(600, true);
    let samples = samples.expect("some draws");
    assert!(samples.interrupted && !flag);
    let draws = samples.draws();
    assert!((1..=600).contains(&draws), "{draws}");
    for chain in &samples.chains {
        assert_eq!((chain.values.len(), chain.predictions.len()), (draws, 4 * draws));
        assert_eq!((chain.energy.len(), chain.points.len()), (draws, draws));
    }
    // Of one chain there are 500.
    assert!(samples.chains.len() * draws >= 500);
    let (samples, _) = until(600, false);
    assert!(samples.expect_err("interrupted").is_interrupt());
    // In the warm-up there are none.
    let (samples, _) = until(50, true);
    assert!(samples.expect_err("interrupted").is_interrupt());
}

#[test]
fn why_a_density_is_not_compiled_is_told() {
    let text = "import bayes\ntype T[a] = E | C(a, T[[]a])\n\
                def log_density(p: {x: Real}) -> Real = case C(p.x, E) of { E -> 0.0 | C(y, _) -> -0.5 * y * y }\n\
                def one = {x = bayes.Free}\n";
    let program = Program::from_text("t.deo", text).unwrap_or_else(|error| panic!("{error}"));
    let options = SampleOptions { draws: 20, warmup: 20, ..options("one") };
    let samples = program.sample("log_density", &Value::Record(Vec::new()), &options);
    let samples = samples.unwrap_or_else(|error| panic!("{error}"));
    let told = samples.advice.iter().find(|message| message.code == "not-compiled");
    let told = told.unwrap_or_else(|| panic!("{:?}", samples.advice));
    assert!(told.notes.iter().any(|note| note.contains("`T`")), "{told}");
}
