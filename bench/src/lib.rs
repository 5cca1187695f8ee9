//! Benchmarks: programs of Diffeo beside the same in C and in Python.
//!
//! A [`case::Kernel`] is a program in `programs/`, the same in `c/plain/` and `c/good/`, and data of several sizes,
//! each a [`case::KernelCase`]. A [`run::Prepared`] is one of them ready to be called, in C or on an engine of Diffeo.
//! A [`suite::Suite`] prepares all that there are for a case, compares their results and measures them in turn;
//! `report` shows what came out. What derivatives cost beside their functions, `derivatives` measures.

pub mod c;
pub mod case;
pub mod compare;
pub mod derivatives;
pub mod engines;
pub mod gradbench;
pub mod json;
pub mod kernels;
mod load;
pub mod measure;
pub mod memory;
pub mod python;
pub mod random;
pub mod report;
pub mod results;
pub mod run;
pub mod suite;
