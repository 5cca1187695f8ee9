//! Reverse mode: Krawiec et al., Figures 5 to 11, 14 and 15.

pub mod naive;
pub mod translate;
pub mod wrapper;
