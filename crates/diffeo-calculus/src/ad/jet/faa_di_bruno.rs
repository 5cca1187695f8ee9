//! The Faà di Bruno formula.
