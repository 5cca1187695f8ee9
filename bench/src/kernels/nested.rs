//! Derivatives in derivatives: minima by gradient descent, of functions that take derivatives.

use crate::case::{CaseArray, Kernel, KernelCase};

/// The kernels: each by forward (f) and reverse mode (r) outside and inside.
pub const ALL: [Kernel; 8] = [
    particle("particle_rr", "rr"),
    particle("particle_rf", "rf"),
    particle("particle_fr", "fr"),
    particle("particle_ff", "ff"),
    saddle("saddle_rr", "rr"),
    saddle("saddle_rf", "rf"),
    saddle("saddle_fr", "fr"),
    saddle("saddle_ff", "ff"),
];

const fn particle(name: &'static str, entry: &'static str) -> Kernel {
    Kernel {
        name,
        program: "examples/gradbench/particle.deo",
        entry,
        argument: KernelCase::record,
        parameters: &[],
        rust: None,
        cases: |_| {
            let arrays = vec![CaseArray::reals("w", &[], vec![0.0])];
            vec![KernelCase { label: "w=0".into(), sizes: Vec::new(), arrays, results: 1 }]
        },
    }
}

const fn saddle(name: &'static str, entry: &'static str) -> Kernel {
    Kernel {
        name,
        program: "examples/gradbench/saddle.deo",
        entry,
        argument: KernelCase::record,
        parameters: &[],
        rust: None,
        cases: |_| {
            let arrays = vec![CaseArray::reals("start", &[2], vec![1.0, 1.0])];
            vec![KernelCase { label: "start=(1, 1)".into(), sizes: Vec::new(), arrays, results: 4 }]
        },
    }
}
