//! A Delta as a graph: Figure 12 of Krawiec et al. An edge goes from what is used to what uses it, and has the factor
//! with which it counts; each node has the derivative of the result by it.

use diffeo_papers::delta::shown::{Expression, Shown};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;

/// How many nodes are drawn.
const MOST: usize = 150;

/// The graph of the first number of the result: `nodes` with `name`, `kind`, `value`, `derivative`, and `edges` with
/// `from`, `to`, `factor`. None for a Delta that is too large to be drawn.
pub(crate) fn graph(shown: &Shown) -> Option<Json> {
    let result = shown.results.first()?;
    if shown.inputs.len() + shown.bindings.len() > MOST {
        return None;
    }
    let mut names: Vec<&str> = shown.inputs.iter().map(|(name, _)| name.as_str()).collect();
    names.extend(shown.bindings.iter().map(|(name, _)| name.as_str()));
    let place = |name: &str| names.iter().rposition(|known| *known == name);
    let result_at = names.len();
    let last = (&"result", &result.delta);
    let first = shown.inputs.len();
    let uses = shown.bindings.iter().map(|(_, delta)| delta).chain([last.1]);
    let mut edges: Vec<(usize, usize, f64)> = Vec::new();
    for (i, delta) in uses.enumerate() {
        let mut factors = BTreeMap::new();
        collect(delta, 1.0, &mut factors);
        for (name, factor) in factors {
            edges.push((place(name)?, first + i, factor));
        }
    }
    // Reverse mode over the graph: the edges of later nodes first.
    let mut derivatives = vec![0.0; result_at + 1];
    derivatives[result_at] = 1.0;
    edges.sort_by_key(|(_, to, _)| std::cmp::Reverse(*to));
    for (from, to, factor) in &edges {
        derivatives[*from] += factor * derivatives[*to];
    }
    let node = |i: usize, name: &str, kind: &str, value: Option<f64>| json!({ "name": name, "kind": kind, "value": value, "derivative": derivatives[i] });
    let mut nodes = Vec::new();
    for (i, (name, value)) in shown.inputs.iter().enumerate() {
        nodes.push(node(i, name, "input", Some(*value)));
    }
    for (i, (name, _)) in shown.bindings.iter().enumerate() {
        nodes.push(node(first + i, name, "binding", None));
    }
    nodes.push(node(result_at, last.0, "result", Some(result.value)));
    let edges: Vec<Json> = edges
        .iter()
        .map(|(from, to, factor)| json!({ "from": from, "to": to, "factor": factor }))
        .collect();
    Some(json!({ "nodes": nodes, "edges": edges }))
}

/// The factor of each variable in a Delta.
fn collect<'d>(delta: &'d Expression, factor: f64, out: &mut BTreeMap<&'d str, f64>) {
    match delta {
        Expression::Zero => {}
        Expression::Scale(by, of) => collect(of, factor * by, out),
        Expression::Add(a, b) => {
            collect(a, factor, out);
            collect(b, factor, out);
        }
        Expression::Var(name) | Expression::OneHot(name) => {
            *out.entry(name).or_insert(0.0) += factor;
        }
        // The Delta of a run has its bindings in a list.
        Expression::Let(_, _, body) => collect(body, factor, out),
    }
}
