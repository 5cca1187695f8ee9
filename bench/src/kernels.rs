//! The kernels with their data, in the order of reports.
//!
//! The sizes are those of GradBench and ADBench, the data our own: random, the same on every machine.

mod ba;
mod gmm;
mod ht;
mod lstm;
mod small;

use crate::case::Kernel;

/// All kernels.
pub const ALL: [Kernel; 15] = [
    gmm::GMM,
    gmm::GRADIENT,
    ba::BA,
    ht::HT,
    lstm::LSTM,
    small::LLSQ,
    small::LSE,
    small::DET,
    small::KMEANS,
    small::ODE,
    small::DOT,
    small::MATVEC,
    small::MIXTURE,
    small::FIB,
    small::SORT,
];
