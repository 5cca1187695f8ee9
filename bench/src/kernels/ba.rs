//! Bundle adjustment.

use crate::case::OwnedValue;
use crate::case::{CaseArray, Kernel, KernelCase};
use crate::kernels::small::derivative;
use crate::random::Random;

/// The errors of the observations.
pub const BA: Kernel = Kernel {
    name: "ba",
    program: "examples/gradbench/ba.deo",
    entry: "objective",
    argument,
    parameters: &["cams", "x", "w"],
    rust: None,
    cases,
};

derivative! {
    /// The entries of the Jacobian that are not structurally zero.
    JACOBIAN "ba_jacobian" BA "derivatives", |case: &KernelCase| 31 * case.reals("weights").len()
}

fn cases(quick: bool) -> Vec<KernelCase> {
    if quick {
        return vec![case("n=5 m=30 p=100", 5, 30, 100)];
    }
    vec![
        case("ba1: n=49 m=7776 p=31843", 49, 7_776, 31_843),
        case("ba10: n=1197 m=126k p=564k", 1_197, 126_327, 563_734),
    ]
}

/// Cameras near the origin look along z at points some units away. Observation i is of point i by camera i, modulo
/// their numbers, as in ADBench. One camera is not turned.
fn case(label: &str, n: usize, m: usize, p: usize) -> KernelCase {
    let mut random = Random::new(2);
    let mut cameras = Vec::with_capacity(11 * n);
    for camera in 0..n {
        let turn = if camera == 3 { 0.0 } else { 0.2 };
        cameras.extend(random.between(-turn, turn, 3));
        cameras.extend(random.between(-0.5, 0.5, 3));
        cameras.extend(random.between(400.0, 600.0, 1));
        cameras.extend(random.between(-10.0, 10.0, 2));
        cameras.extend([-0.1, 0.01]);
    }
    let points = (0..m).flat_map(|_| {
        let mut point = random.between(-1.0, 1.0, 2);
        point.extend(random.between(4.0, 8.0, 1));
        point
    });
    let points = points.collect();
    let arrays = vec![
        CaseArray::reals("cameras", &[n, 11], cameras),
        CaseArray::reals("points", &[m, 3], points),
        CaseArray::reals("weights", &[p], random.between(0.5, 1.5, p)),
        CaseArray::ints(
            "observations",
            &[p, 2],
            (0..p).flat_map(|i| [(i % n) as i64, (i % m) as i64]).collect(),
        ),
        CaseArray::reals("features", &[p, 2], random.between(-100.0, 100.0, 2 * p)),
    ];
    KernelCase { label: label.into(), sizes: vec![p as i64], arrays, results: 3 * p }
}

fn argument(case: &KernelCase) -> OwnedValue {
    let names = ["cams", "x", "w", "obs", "feats"];
    OwnedValue::record(names.into_iter().zip(case.arrays.iter().map(CaseArray::value)))
}
