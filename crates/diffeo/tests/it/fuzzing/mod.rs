//! Programs by chance, and what has to hold of each; the fuzz targets in `fuzz/` use the same.

#![allow(dead_code)]

pub mod declared;
pub mod derivatives;
pub mod generate;
pub mod mutate;
pub mod probe;
