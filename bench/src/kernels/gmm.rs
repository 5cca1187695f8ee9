//! Gaussian mixtures.

use crate::case::{CaseArray, Kernel, KernelCase};
use crate::random::Random;

/// The parameters of a mixture.
const FITTED: [&str; 4] = ["alpha", "mu", "q", "l"];

/// The log posterior.
pub const GMM: Kernel = Kernel {
    name: "gmm",
    program: "examples/gradbench/gmm.deo",
    entry: "objective",
    argument: KernelCase::record,
    parameters: &FITTED,
    rust: None,
    cases,
};

/// Its gradient.
pub const GRADIENT: Kernel =
    Kernel { name: "gmm_gradient", entry: "jacobian", cases: gradients, ..GMM };

fn gradients(quick: bool) -> Vec<KernelCase> {
    let mut cases = cases(quick);
    for case in &mut cases {
        case.results = FITTED.iter().map(|name| case.reals(name).len()).sum();
    }
    cases
}

fn cases(quick: bool) -> Vec<KernelCase> {
    if quick {
        // Of two numbers of points, one is no multiple of the lanes.
        return vec![case("n=35 d=5 k=4", 35, 5, 4), case("n=64 d=1 k=1", 64, 1, 1)];
    }
    vec![
        case("n=1k d=10 k=25", 1_000, 10, 25),
        case("n=1k d=64 k=50", 1_000, 64, 50),
        case("n=10k d=32 k=100", 10_000, 32, 100),
    ]
}

/// As GradBench draws them.
fn case(label: &str, n: usize, d: usize, k: usize) -> KernelCase {
    let mut random = Random::new(1);
    let t = d * (d - 1) / 2;
    let arrays = vec![
        CaseArray::reals("alpha", &[k], random.normals(k)),
        CaseArray::reals("mu", &[k, d], random.between(0.0, 1.0, k * d)),
        CaseArray::reals("q", &[k, d], random.normals(k * d)),
        CaseArray::reals("l", &[k, t], random.normals(k * t)),
        CaseArray::reals("x", &[n, d], random.normals(n * d)),
        CaseArray::reals("gamma", &[], vec![1.0]),
        CaseArray::ints("m", &[], vec![0]),
    ];
    let sizes = vec![n as i64, d as i64, k as i64];
    KernelCase { label: label.into(), sizes, arrays, results: 1 }
}
