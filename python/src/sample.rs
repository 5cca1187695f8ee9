//! Draws from posterior distributions: `diffeo._sample` gives them to ArviZ.

use crate::error::{error, message};
use crate::given::{Given, ValuePath};
use crate::{signals, taken};
use diffeo::{
    Array, Chain, Method, Names, SampleOptions, Samples, Step, Summary, Type, Value, Variable,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The exception that a function for reports has raised; it ends the draws.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// The options that keyword arguments name.
fn options(
    given: &Bound<'_, PyDict>,
    host: diffeo::HostOptions,
    raised: &Raised,
    stop: &Arc<AtomicBool>,
) -> PyResult<SampleOptions> {
    let mut options = SampleOptions { host, ..SampleOptions::default() };
    for (key, value) in given.iter() {
        match key.extract::<String>()?.as_str() {
            "method" => options.method = method(&value)?,
            "chains" => options.chains = value.extract()?,
            "warmup" => options.warmup = value.extract()?,
            "draws" => options.draws = value.extract()?,
            "target_accept" => options.target_accept = value.extract()?,
            "max_depth" => options.max_depth = value.extract()?,
            "seed" => options.seed = value.extract()?,
            "init" => options.radius = value.extract()?,
            "parameters" => options.parameters = value.extract()?,
            "predict" => options.predict = value.extract()?,
            "progress" => {
                let call: Option<Py<PyAny>> = value.extract()?;
                let (raised, stop) = (raised.clone(), stop.clone());
                options.progress = call.map(|call| -> diffeo::Steps {
                    Arc::new(move |step: &Step| {
                        Python::attach(|py| {
                            let args = (step.chain, step.draw, step.total, step.divergences);
                            if let Err(error) = call.call1(py, args) {
                                let mut raised =
                                    raised.lock().unwrap_or_else(PoisonError::into_inner);
                                raised.get_or_insert(error);
                                stop.store(true, Ordering::Relaxed);
                            }
                        });
                    })
                });
            }
            other => return Err(PyTypeError::new_err(format!("sample has no option {other}"))),
        }
    }
    Ok(options)
}

/// What draws come from, by the names of the command line.
fn method(name: &Bound<'_, PyAny>) -> PyResult<Method> {
    match name.extract::<String>()?.as_str() {
        "nuts" => Ok(Method::Nuts),
        "laplace" => Ok(Method::Laplace),
        "meanfield" => Ok(Method::MeanField),
        other => Err(PyValueError::new_err(format!(
            "sample has no method {other:?}: it is one of \"nuts\", \"laplace\" and \"meanfield\""
        ))),
    }
}

/// Draws of variables, by name: arrays of chains, draws, and the sizes of the variable.
fn draws<'py>(
    py: Python<'py>,
    samples: &Samples,
    variables: &[Variable],
    values: impl Fn(&Chain) -> &[f64],
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let width: usize = variables.iter().map(Variable::width).sum();
    let mut begin = 0;
    for variable in variables {
        let end = begin + variable.width();
        let rows = samples.chains.iter().flat_map(|chain| values(chain).chunks_exact(width));
        let data: Vec<f64> = rows.flat_map(|row| row[begin..end].iter().copied()).collect();
        let mut sizes = vec![samples.chains.len(), samples.draws()];
        sizes.extend(&variable.sizes);
        let array = Value::Reals(Array { data: data.into(), sizes });
        out.set_item(&variable.name, taken::numbers(py, array)?)?;
        begin = end;
    }
    Ok(out)
}

/// The numbers of each parameter, such as `w[0]` of `w`, in the order of the parameters.
fn ordered<'py>(all: &Bound<'py, PyDict>, order: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let mut items = Vec::new();
    for (key, value) in all.iter() {
        let name: String = key.extract()?;
        let own = name.split(['[', '.']).next().unwrap_or(&name);
        let place = order.iter().position(|known| [own, name.as_str()].contains(known));
        items.push((place.unwrap_or(order.len()), key, value));
    }
    items.sort_by_key(|(place, ..)| *place);
    let out = PyDict::new(all.py());
    items.into_iter().try_for_each(|(_, key, value)| out.set_item(key, value))?;
    Ok(out)
}

/// Numbers of each draw.
fn statistics<'py>(py: Python<'py>, samples: &Samples) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let sizes = vec![samples.chains.len(), samples.draws()];
    let reals = |of: &dyn Fn(&Chain) -> Vec<f64>| {
        let data: Vec<f64> = samples.chains.iter().flat_map(of).collect();
        taken::numbers(py, Value::Reals(Array { data: data.into(), sizes: sizes.clone() }))
    };
    let ints = |of: &dyn Fn(&Chain) -> Vec<i64>| {
        let data: Vec<i64> = samples.chains.iter().flat_map(of).collect();
        taken::numbers(py, Value::Ints(Array { data: data.into(), sizes: sizes.clone() }))
    };
    out.set_item("lp", reals(&|c| c.log_density.clone())?)?;
    if samples.approximation.is_some() {
        // Independent draws have nothing else to tell.
        out.set_item("log_q", reals(&|c| c.log_approximation.clone())?)?;
        return Ok(out);
    }
    out.set_item("acceptance_rate", reals(&|c| c.accept.clone())?)?;
    out.set_item("energy", reals(&|c| c.energy.clone())?)?;
    out.set_item("step_size", reals(&|c| vec![c.step_size; c.energy.len()])?)?;
    out.set_item("tree_depth", ints(&|c| c.depth.iter().map(|d| i64::from(*d)).collect())?)?;
    out.set_item("n_steps", ints(&|c| c.steps.iter().map(|n| *n as i64).collect())?)?;
    let divergent = samples.chains.iter().flat_map(|c| c.divergent.clone()).collect::<Vec<bool>>();
    let divergent = Value::Bools(Array { data: divergent.into(), sizes });
    out.set_item("diverging", taken::numbers(py, divergent)?)?;
    Ok(out)
}

fn summaries<'py>(py: Python<'py>, all: &[(String, Summary)]) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, s) in all {
        let row = PyDict::new(py);
        let [low, median, high] = s.quantiles;
        for (key, value) in [
            ("mean", s.mean),
            ("mcse", s.mcse),
            ("sd", s.sd),
            ("q5", low),
            ("median", median),
            ("q95", high),
            ("ess_bulk", s.ess_bulk),
            ("ess_tail", s.ess_tail),
            ("r_hat", s.r_hat),
        ] {
            row.set_item(key, value)?;
        }
        out.set_item(name, row)?;
    }
    Ok(out)
}

/// Draws from the distribution whose log density a function is: a dictionary of `posterior`, `predictions`, `sample_stats`,
/// `summary`, `warnings` and, of an approximation, `approximation`.
pub fn sample<'py>(
    py: Python<'py>,
    function: &diffeo::Function,
    data: &Bound<'py, PyAny>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let (flag, raised) = (Arc::<AtomicBool>::default(), Raised::default());
    let mut options = options(given, function.options().clone(), &raised, &flag)?;
    options.host.interrupt = Some(flag.clone());
    let (program, name) = (function.program(), function.name());
    let names = Names {
        density: name,
        parameters: &options.parameters,
        predict: options.predict.as_deref(),
    };
    let (fields, types) = py.detach(|| program.model_data(names)).map_err(|e| error(py, &e))?;
    let mut kept = Given::new(py, &types);
    let data = match fields.is_empty() && data.is_none() {
        true => Value::Record(Vec::new()),
        false => {
            let ty = Type::record(fields);
            kept.value(data, &ty, &ValuePath::new(format!("the data of {name}")))?
        }
    };
    let samples = signals::work(py, &flag, || program.sample(name, &data, &options));
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let samples = samples?;
    drop(kept);
    let out = PyDict::new(py);
    // The parameters are in the order in which the program writes them, as its density has them.
    let parameters = function.sides().0.arguments().first();
    let order: Vec<&str> = match parameters {
        Some(Type::Record(fields)) => fields.written().map(|(name, _)| &**name).collect(),
        _ => Vec::new(),
    };
    out.set_item(
        "posterior",
        ordered(&draws(py, &samples, &samples.parameters, |c| &c.values)?, &order)?,
    )?;
    out.set_item("predictions", draws(py, &samples, &samples.predictions, |c| &c.predictions)?)?;
    out.set_item("sample_stats", statistics(py, &samples)?)?;
    let summary = ordered(&summaries(py, &samples.summaries)?, &order)?;
    summary.update(summaries(py, &samples.predicted)?.as_mapping())?;
    out.set_item("summary", summary)?;
    if let Some(found) = &samples.approximation {
        let known = PyDict::new(py);
        known.set_item("log_evidence", found.log_evidence)?;
        known.set_item("converged", found.converged)?;
        known.set_item("pareto_k", found.pareto_k)?;
        out.set_item("approximation", known)?;
    }
    let warnings: PyResult<Vec<_>> = samples.advice.iter().map(|m| message(py, m)).collect();
    out.set_item("warnings", PyList::new(py, warnings?)?)?;
    Ok(out)
}
