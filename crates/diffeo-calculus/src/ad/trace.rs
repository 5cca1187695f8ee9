//! Abadi & Plotkin, *A Simple Differentiable Programming Language* (POPL 2020): evaluation by contexts and
//! redexes, symbolic evaluation to traces, and their reverse-mode differentiation.
