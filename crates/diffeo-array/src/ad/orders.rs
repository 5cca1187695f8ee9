//! Multi-indices of k variables up to order R, in lexicographic order: the Taylor coefficients of Huot, Staton &
//! Vákár's (k,R)-jets.

use diffeo_calculus::eval::derivative::multi_indices;
use hashbrown::HashMap;

/// How many variables there are, and the order. Tangents are the coefficients of `k = r = 1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Orders {
    /// The number of variables.
    pub k: u32,
    /// The order.
    pub r: u32,
}

impl Orders {
    /// One tangent.
    pub const FIRST: Orders = Orders { k: 1, r: 1 };
}

/// In one variable.
impl From<usize> for Orders {
    fn from(r: usize) -> Orders {
        Orders { k: 1, r: r as u32 }
    }
}

/// α! for each multi-index α of orders: what a coefficient of a Taylor series times that is, is a derivative.
pub fn factorials(orders: Orders) -> Vec<f64> {
    let one = |n: &u32| (1..=*n).map(f64::from).product::<f64>();
    let all = multi_indices(orders.k, orders.r);
    all.iter().map(|alpha| alpha.iter().map(one).product()).collect()
}

/// The multi-indices. A coefficient depends only on those before it.
#[derive(Debug)]
pub(super) struct Indices {
    pub orders: Orders,
    /// The multi-indices α.
    pub all: Vec<Vec<u32>>,
    /// |α| for each α.
    pub degrees: Vec<usize>,
    /// For each γ the pairs α + β = γ, by rising α.
    pub pairs: Vec<Vec<(usize, usize)>>,
    positions: HashMap<Vec<u32>, usize>,
}

impl Indices {
    pub fn new(orders: Orders) -> Indices {
        let all = multi_indices(orders.k, orders.r);
        let degrees: Vec<usize> =
            all.iter().map(|alpha| alpha.iter().sum::<u32>() as usize).collect();
        let positions: HashMap<Vec<u32>, usize> = all.iter().cloned().zip(0..).collect();
        let mut pairs = vec![Vec::new(); all.len()];
        for (i, alpha) in all.iter().enumerate() {
            for (j, beta) in all.iter().enumerate() {
                let sum: Vec<u32> = alpha.iter().zip(beta).map(|(a, b)| a + b).collect();
                if let Some(gamma) = positions.get(&sum) {
                    pairs[*gamma].push((i, j));
                }
            }
        }
        Indices { orders, all, degrees, pairs, positions }
    }

    /// How many there are besides that of the value.
    pub fn width(&self) -> usize {
        self.all.len() - 1
    }

    /// Whether the coefficient in this place is passed to functions: of a `line`, only those of first derivatives are
    /// not 0.
    pub fn passed(&self, place: usize, line: bool) -> bool {
        !line || self.degrees[place] == 1
    }

    /// The place of a multi-index.
    pub fn place(&self, alpha: &[u32]) -> Option<usize> {
        self.positions.get(alpha).copied()
    }

    /// The place of a multi-index with one more of a variable.
    pub fn after(&self, beta: &[u32], variable: usize) -> Option<usize> {
        let mut alpha = beta.to_vec();
        alpha[variable] += 1;
        self.place(&alpha)
    }
}
