//! The operators.

use super::*;
