//! Reverse mode: Krawiec et al., Figures 5 to 11, 14 and 15.
//!
//! | file | what is in it |
//! |---|---|
//! | `naive.rs`, `figure_8.core` | D¹ and R¹ (Figures 5, 6), D² and R² (Figures 7, 8) |
//! | `translate.rs`, `translate/` | D (Figures 9 and 14, section 10.2) |
//! | `split.rs` | `Vector ℝ` as a pair of vectors (section 10.2) |
//! | `runtime.rs`, `figure_10.core`, `lists.core`, `arrays.core` | its supporting functions (Figure 10, section 7.3) |
//! | `wrapper.rs` | R (Figures 11 and 15) |
//! | `shown.rs` | the Delta of a run, as Figure 12 shows it |

pub mod naive;
pub mod runtime;
pub mod shown;
pub(crate) mod split;
pub mod translate;
pub mod wrapper;
