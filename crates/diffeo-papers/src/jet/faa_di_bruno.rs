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

#[cfg(test)]
mod tests {
    use super::*;

    fn products(alpha: &[u32], n: usize) -> Vec<Product> {
        summands(alpha, n).into_iter().flat_map(|s| s.products).collect()
    }

    #[test]
    fn there_is_a_product_for_each_partition() {
        // The partitions of the number n.
        let partitions = [1, 2, 3, 5, 7, 11, 15, 22, 30, 42];
        for (order, count) in (1..).zip(partitions) {
            assert_eq!(products(&[order], 1).len(), count, "{order}");
        }
        // The partitions of n into parts of two kinds, for an operation of two operands.
        let two_kinds = [2, 5, 10, 20, 36, 65, 110, 185];
        for (order, count) in (1..).zip(two_kinds) {
            assert_eq!(products(&[order], 2).len(), count, "{order}");
        }
        // The partitions of the pair (m, n), and of a set of n.
        for (alpha, count) in [([1, 1], 2), ([2, 1], 4), ([2, 2], 9), ([3, 1], 7), ([3, 3], 31)] {
            assert_eq!(products(&alpha, 1).len(), count, "{alpha:?}");
        }
        assert_eq!(products(&[1, 1, 1], 1).len(), 5);
        assert_eq!(products(&[1, 1, 1, 1], 1).len(), 15);
    }

    #[test]
    fn the_coefficients_count_the_partitions_of_a_set() {
        // Bell's numbers, and Stirling's of the second kind for each |β|.
        let bell = [1.0, 2.0, 5.0, 15.0, 52.0, 203.0, 877.0, 4140.0, 21147.0, 115975.0];
        for (order, count) in (1..).zip(bell) {
            let sum: f64 = products(&[order], 1).iter().map(|p| p.coefficient).sum();
            assert_eq!(sum, count, "{order}");
        }
        let by_blocks: Vec<f64> = summands(&[5], 1)
            .iter()
            .map(|s| s.products.iter().map(|p| p.coefficient).sum())
            .collect();
        assert_eq!(by_blocks, [1.0, 15.0, 25.0, 10.0, 1.0]);
        // However the elements are told apart.
        for alpha in [&[3, 2][..], &[2, 2, 1], &[1, 1, 1, 1, 1]] {
            let sum: f64 = products(alpha, 1).iter().map(|p| p.coefficient).sum();
            assert_eq!(sum, 52.0, "{alpha:?}");
        }
    }

    #[test]
    fn second_order_is_as_printed_in_the_paper() {
        // (∂_ĵ g · ∂²f_j) and (∂_{ĵ,ĵ′} g · ∂₁f_j · ∂₂f_j′), section 2.3.
        let power =
            |operand, alpha: [u32; 2], exponent| Power { operand, alpha: alpha.to_vec(), exponent };
        let one = |powers| Product { coefficient: 1.0, powers };
        let (f01, f10) = (|j| power(j, [0, 1], 1), |j| power(j, [1, 0], 1));
        let expected = [
            (vec![0, 1], vec![one(vec![power(1, [1, 1], 1)])]),
            (vec![0, 2], vec![one(vec![f01(1), f10(1)])]),
            (vec![1, 0], vec![one(vec![power(0, [1, 1], 1)])]),
            (vec![1, 1], vec![one(vec![f01(1), f10(0)]), one(vec![f01(0), f10(1)])]),
            (vec![2, 0], vec![one(vec![f01(0), f10(0)])]),
        ];
        let expected = expected.map(|(beta, products)| Summand { beta, products });
        assert_eq!(summands(&[1, 1], 2), expected);
    }
}
