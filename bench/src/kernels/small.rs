//! The kernels with simple data.

use crate::case::{CaseArray, Kernel, KernelCase};
use crate::random::Random;

/// A kernel whose argument is the record of its arrays, with one case.
macro_rules! kernel {
    ($(#[$doc:meta])* $const:ident $name:literal $program:literal $entry:literal $parameters:expr, $case:expr) => {
        $(#[$doc])*
        pub const $const: Kernel = Kernel {
            name: $name,
            program: $program,
            entry: $entry,
            argument: KernelCase::record,
            parameters: &$parameters,
            rust: None,
            cases: |quick| vec![$case(quick)],
        };
    };
}

/// A kernel for the derivative of another one: same program and data, another entry point and number of results.
macro_rules! derivative {
    ($(#[$doc:meta])* $const:ident $name:literal $of:ident $entry:literal, $results:expr) => {
        $(#[$doc])*
        pub const $const: Kernel = Kernel {
            name: $name,
            entry: $entry,
            parameters: &[],
            cases: |quick| {
                let mut cases = ($of.cases)(quick);
                cases.iter_mut().for_each(|case| case.results = $results(&*case));
                cases
            },
            ..$of
        };
    };
}
pub(super) use derivative;

kernel! {
    /// Least squares.
    LLSQ "llsq" "examples/gradbench/llsq.deo" "primal" ["x"], |quick| {
        let (n, m) = if quick { (70, 9) } else { (16_392, 128) };
        let arrays = vec![
            CaseArray::reals("x", &[m], Random::new(5).between(0.0, 1.0, m)),
            CaseArray::ints("n", &[], vec![n]),
        ];
        KernelCase { label: format!("n={n} m={m}"), sizes: vec![m as i64], arrays, results: 1 }
    }
}

derivative! {
    /// Its gradient.
    LLSQ_GRADIENT "llsq_gradient" LLSQ "gradient", |case: &KernelCase| case.reals("x").len()
}

kernel! {
    /// The logarithm of a sum of exponentials.
    LSE "lse" "examples/gradbench/lse.deo" "primal" ["x"], |quick| {
        let n = if quick { 1_003 } else { 1_000_000 };
        let arrays = vec![CaseArray::reals("x", &[n], Random::new(6).between(-100.0, 100.0, n))];
        KernelCase { label: format!("n={n}"), sizes: vec![n as i64], arrays, results: 1 }
    }
}

derivative! {
    /// Its gradient.
    LSE_GRADIENT "lse_gradient" LSE "gradient", |case: &KernelCase| case.reals("x").len()
}

kernel! {
    /// The determinant by minors.
    DET "det" "examples/gradbench/det.deo" "primal" ["A"], |quick| {
        let n = if quick { 5 } else { 9 };
        let arrays = vec![
            CaseArray::reals("A", &[n * n], Random::new(7).between(0.0, 1.0, n * n)),
            CaseArray::ints("ell", &[], vec![n as i64]),
        ];
        KernelCase { label: format!("n={n}"), sizes: vec![n as i64], arrays, results: 1 }
    }
}

derivative! {
    /// Its gradient.
    DET_GRADIENT "det_gradient" DET "gradient", |case: &KernelCase| case.reals("A").len()
}

kernel! {
    /// The cost of a clustering.
    KMEANS "kmeans" "examples/gradbench/kmeans.deo" "cost" ["centroids"], |quick| {
        let (n, k, d) = if quick { (50, 11, 3) } else { (10_000, 100, 16) };
        let points = Random::new(8).between(0.0, 1.0, n * d);
        let centroids = points[(n - k) * d..].to_vec();
        let arrays = vec![
            CaseArray::reals("points", &[n, d], points),
            CaseArray::reals("centroids", &[k, d], centroids),
        ];
        let sizes = vec![n as i64, k as i64, d as i64];
        KernelCase { label: format!("n={n} k={k} d={d}"), sizes, arrays, results: 1 }
    }
}

derivative! {
    /// The step of Newton's method.
    KMEANS_DIR "kmeans_dir" KMEANS "dir", |case: &KernelCase| case.reals("centroids").len()
}

kernel! {
    /// Differential equations.
    ODE "ode" "examples/gradbench/ode.deo" "primal" ["x"], |quick| {
        let (n, s) = if quick { (600, 3) } else { (10_000, 100) };
        let arrays = vec![
            CaseArray::reals("x", &[n], Random::new(9).between(0.0, 1.0, n)),
            CaseArray::ints("s", &[], vec![s]),
        ];
        KernelCase { label: format!("n={n} s={s}"), sizes: vec![n as i64], arrays, results: n }
    }
}

derivative! {
    /// The gradient of the last component.
    ODE_GRADIENT "ode_gradient" ODE "gradient", |case: &KernelCase| case.reals("x").len()
}

kernel! {
    /// The inner product.
    DOT "dot" "bench/programs/dot.deo" "main" ["x", "y"], |quick| {
        let n = if quick { 1_003 } else { 1_000_000 };
        let mut random = Random::new(10);
        let arrays = vec![
            CaseArray::reals("x", &[n], random.between(0.0, 1.0, n)),
            CaseArray::reals("y", &[n], random.between(0.0, 1.0, n)),
        ];
        KernelCase { label: format!("n={n}"), sizes: vec![n as i64], arrays, results: 1 }
    }
}

kernel! {
    /// A matrix times a vector.
    MATVEC "matvec" "bench/programs/matvec.deo" "main" ["a", "x"], |quick| {
        let n = if quick { 7 } else { 64 };
        let mut random = Random::new(11);
        let arrays = vec![
            CaseArray::reals("a", &[n, n], random.between(-1.0, 1.0, n * n)),
            CaseArray::reals("x", &[n], random.between(-1.0, 1.0, n)),
        ];
        KernelCase { label: format!("n={n}"), sizes: vec![n as i64; 2], arrays, results: n }
    }
}

kernel! {
    /// A mixture of Gaussians with independent coordinates.
    MIXTURE "mixture" "bench/programs/mixture.deo" "main" ["alpha", "mu", "r"], |quick| {
        let (n, d, k) = if quick { (35, 4, 3) } else { (2_000, 32, 50) };
        let mut random = Random::new(12);
        let arrays = vec![
            CaseArray::reals("x", &[n, d], random.normals(n * d)),
            CaseArray::reals("alpha", &[k], random.normals(k)),
            CaseArray::reals("mu", &[k, d], random.normals(k * d)),
            CaseArray::reals("r", &[k, d], random.between(0.5, 2.0, k * d)),
        ];
        let sizes = vec![n as i64, d as i64, k as i64];
        KernelCase { label: format!("n={n} d={d} k={k}"), sizes, arrays, results: 1 }
    }
}

kernel! {
    /// Calls.
    FIB "fib" "bench/programs/fib.deo" "main" ["n"], |quick| {
        let n = if quick { 15 } else { 35 };
        let arrays = vec![CaseArray::ints("n", &[], vec![n])];
        KernelCase { label: format!("n={n}"), sizes: Vec::new(), arrays, results: 1 }
    }
}

/// Sorting.
pub const SORT: Kernel = Kernel {
    name: "sort",
    program: "bench/programs/sort.deo",
    entry: "main",
    argument: KernelCase::record,
    parameters: &["x"],
    rust: Some(stable_sort),
    cases: sort_cases,
};

fn sort_cases(quick: bool) -> Vec<KernelCase> {
    let n = if quick { 1_000 } else { 1_000_000 };
    let arrays = vec![CaseArray::reals("x", &[n], Random::new(13).between(-1000.0, 1000.0, n))];
    vec![KernelCase { label: format!("n={n}"), sizes: vec![n as i64], arrays, results: n }]
}

fn stable_sort(case: &KernelCase) -> Vec<f64> {
    let mut sorted = case.reals("x").to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
