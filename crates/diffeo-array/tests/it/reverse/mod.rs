//! Reverse mode on programs written as text, against differences of values.

mod costs;
mod forms;
mod random;
mod support;
