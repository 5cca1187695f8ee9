//! The Faà di Bruno formula (Huot, Staton & Vákár, section 2.2), as it stands in the (k,R)-Taylor macro
//! (section 3.2), for |α| > 0:
//!
//! ```text
//! D^α op = α! · Σ_{β ∈ ℕⁿ, 1 ≤ |β| ≤ |α|} ∂_β op(x¹₀, …, xⁿ₀) · Σ_e Π_r Π_j 1/e_{r,j}! · (x^j_{α^r} / α^r!)^{e_{r,j}}
//! ```
//!
//! with α¹, …, α^q all multi-indices 0 ≠ α^r ≤ α and e ∈ (ℕⁿ)^q such that `Σ_r e_{r,j} = β_j` for each j and
//! `Σ_r (Σ_j e_{r,j}) · α^r = α`. First the combinatorics as plain data, then the terms.

use super::partials::{Graph, Id};
use diffeo_calculus::eval::derivative::multi_indices;

/// `∂_β op · Σ_e …`
#[derive(Clone, PartialEq, Debug)]
pub struct Summand {
    /// How often the operation is differentiated by each operand.
    pub beta: Vec<u32>,
    /// A product for each e.
    pub products: Vec<Product>,
}

/// `α! · Π_r Π_j 1/e_{r,j}! · (x^j_{α^r} / α^r!)^{e_{r,j}}`
#[derive(Clone, PartialEq, Debug)]
pub struct Product {
    /// Its number: `α! / Π_r Π_j e_{r,j}! (α^r!)^{e_{r,j}}`, which is whole.
    pub coefficient: f64,
    /// The powers of which e_{r,j} is not 0, by rising r and j.
    pub powers: Vec<Power>,
}

/// `(x^j_{α^r})^{e_{r,j}}`
#[derive(Clone, PartialEq, Debug)]
pub struct Power {
    /// j
    pub operand: usize,
    /// α^r
    pub alpha: Vec<u32>,
    /// e_{r,j}
    pub exponent: u32,
}

/// The sum over β for an operation of n operands, in lexicographic order, without those that have no e.
pub fn summands(alpha: &[u32], n: usize) -> Vec<Summand> {
    let order: u32 = alpha.iter().sum();
    let parts = parts(alpha);
    let mut out = Vec::new();
    for beta in multi_indices(n as u32, order) {
        let mut search = Search { alpha, parts: &parts, e: Vec::new(), found: Vec::new() };
        if beta.iter().any(|b| *b > 0) {
            search.from(0, &beta, alpha);
        }
        if !search.found.is_empty() {
            out.push(Summand { beta, products: search.found });
        }
    }
    out
}

/// α¹, …, α^q: all multi-indices but 0 that are nowhere greater than α, in lexicographic order.
fn parts(alpha: &[u32]) -> Vec<Vec<u32>> {
    let order = alpha.iter().sum();
    multi_indices(alpha.len() as u32, order)
        .into_iter()
        .filter(|part| part.iter().any(|n| *n > 0))
        .filter(|part| part.iter().zip(alpha).all(|(n, most)| n <= most))
        .collect()
}

/// The search for all e.
struct Search<'a> {
    alpha: &'a [u32],
    parts: &'a [Vec<u32>],
    /// Those that are not 0 so far: r, j and e_{r,j}.
    e: Vec<(usize, usize, u32)>,
    found: Vec<Product>,
}

impl Search<'_> {
    /// Chooses e^r, e^(r+1), …, when this much of β and of α is left.
    fn from(&mut self, r: usize, beta: &[u32], alpha: &[u32]) {
        if alpha.iter().all(|n| *n == 0) {
            if beta.iter().all(|n| *n == 0) {
                self.found.push(self.product());
            }
            return;
        }
        if r < self.parts.len() {
            self.operand(r, 0, beta, alpha);
        }
    }

    /// Chooses e_{r,j}, e_{r,j+1}, ….
    fn operand(&mut self, r: usize, j: usize, beta: &[u32], alpha: &[u32]) {
        if j == beta.len() {
            return self.from(r + 1, beta, alpha);
        }
        let part = &self.parts[r];
        for e in 0..=beta[j] {
            if alpha.iter().zip(part).any(|(left, n)| e * n > *left) {
                break;
            }
            let left: Vec<u32> = alpha.iter().zip(part).map(|(left, n)| left - e * n).collect();
            let mut beta = beta.to_vec();
            beta[j] -= e;
            if e > 0 {
                self.e.push((r, j, e));
            }
            self.operand(r, j + 1, &beta, &left);
            if e > 0 {
                self.e.pop();
            }
        }
    }

    fn product(&self) -> Product {
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        let all = |alpha: &[u32]| alpha.iter().map(|n| factorial(*n)).product::<f64>();
        let mut divisor = 1.0;
        let mut powers = Vec::new();
        for (r, j, e) in &self.e {
            let part = &self.parts[*r];
            divisor *= factorial(*e) * all(part).powi(*e as i32);
            powers.push(Power { operand: *j, alpha: part.clone(), exponent: *e });
        }
        Product { coefficient: (all(self.alpha) / divisor).round(), powers }
    }
}

/// `D^α op` for |α| > 0: `partial` is ∂_β op, `argument` is x^j_α. Terms of which ∂_β op is 0 are left out.
pub(crate) fn derivative(
    graph: &mut Graph,
    (alpha, n): (&[u32], usize),
    partial: &mut dyn FnMut(&mut Graph, &[u32]) -> Id,
    argument: &dyn Fn(usize, &[u32]) -> Id,
) -> Id {
    let mut sum = graph.number(0.0);
    for summand in summands(alpha, n) {
        let slope = partial(graph, &summand.beta);
        if graph.is_zero(slope) {
            continue;
        }
        let mut inner = graph.number(0.0);
        for product in &summand.products {
            let mut value = graph.number(product.coefficient);
            for power in &product.powers {
                let x = argument(power.operand, &power.alpha);
                // tⁿ stands for t * … * t.
                let mut raised = x;
                for _ in 1..power.exponent {
                    raised = graph.multiply(raised, x);
                }
                value = graph.multiply(value, raised);
            }
            inner = graph.add(inner, value);
        }
        let term = graph.multiply(slope, inner);
        sum = graph.add(sum, term);
    }
    sum
}
