//! The theorems of the papers, and what else holds of every program, as properties of generated programs.
//!
//! A property is written with [`harness::theorem!`]: its name, the features of the programs that it is about,
//! and what holds of a [`generator::TheoremCase`], for example
//!
//! ```text
//! theorem! {
//!     /// Evaluation is deterministic (Abadi & Plotkin, Proposition 3.4).
//!     proposition_3_4, Features::paper_003(), |case| {
//!         let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
//!         let again = apply_main(&mut machine, case, case.point.clone())?;
//!         close_values(&case.value, &again, 0.0)
//!     }
//! }
//! ```
//!
//! It returns `Ok(())` where it holds, `Err(CaseFailure::Skip(…))` where a case says nothing about it, and any other
//! error (a text will do, `?` on a `RuntimeError` too) where it is wrong. Each makes two tests, one of 1,000
//! cases and one of 100,000, which `cargo test --release -- --ignored theorems` runs. What fails is shrunk and
//! shown as Core, with the point, tangent, cotangent and value.
//!
//! [`harness`] has bounded machines, derivatives of a case's function, the Reals of values and comparisons to
//! 1e-9 of the largest intermediate magnitude.

mod abadi_plotkin;
mod agreement;
mod beta_eta;
mod costs;
mod generator;
mod harness;
mod huot_staton_vakar;
mod krawiec;
mod modes;
mod programs;
mod rewrite;
mod shrink;
mod systems;
mod translations;
