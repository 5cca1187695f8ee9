//! The kernels with their data, in the order of reports.
//!
//! The sizes are those of GradBench and ADBench, the data our own: random, the same on every machine.

mod ba;
mod gmm;
mod ht;
mod lstm;
pub mod nested;
mod small;

use crate::case::Kernel;

/// All kernels.
pub const ALL: [Kernel; 23] = [
    gmm::GMM,
    gmm::GRADIENT,
    ba::BA,
    ba::JACOBIAN,
    ht::HT,
    ht::JACOBIAN,
    lstm::LSTM,
    lstm::GRADIENT,
    small::LLSQ,
    small::LLSQ_GRADIENT,
    small::LSE,
    small::LSE_GRADIENT,
    small::DET,
    small::DET_GRADIENT,
    small::KMEANS,
    small::KMEANS_DIR,
    small::ODE,
    small::ODE_GRADIENT,
    small::DOT,
    small::MATVEC,
    small::MIXTURE,
    small::FIB,
    small::SORT,
];

/// A task of GradBench: a value and its derivative, with the same cases.
pub struct GradbenchTask {
    /// Its name.
    pub name: &'static str,
    /// The value, where it is one of its own.
    pub value: Option<Kernel>,
    /// The derivative.
    pub derivative: Kernel,
}

/// The tasks of GradBench.
pub fn tasks() -> Vec<GradbenchTask> {
    let task = |value: Kernel, derivative| GradbenchTask {
        name: value.name,
        value: Some(value),
        derivative,
    };
    let alone =
        |derivative: Kernel| GradbenchTask { name: derivative.name, value: None, derivative };
    let pairs = [
        task(gmm::GMM, gmm::GRADIENT),
        task(ba::BA, ba::JACOBIAN),
        task(ht::HT, ht::JACOBIAN),
        task(lstm::LSTM, lstm::GRADIENT),
        task(small::LLSQ, small::LLSQ_GRADIENT),
        task(small::LSE, small::LSE_GRADIENT),
        task(small::DET, small::DET_GRADIENT),
        task(small::KMEANS, small::KMEANS_DIR),
        task(small::ODE, small::ODE_GRADIENT),
    ];
    pairs.into_iter().chain(nested::ALL.into_iter().map(alone)).collect()
}
