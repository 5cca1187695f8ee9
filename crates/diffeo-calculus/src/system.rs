//! The papers' translations of Core to Core, by name: what an operation that lifts function values says of them.

use crate::ty::Ty;
use std::rc::Rc;

/// A translation of Core to Core.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum System {
    /// `D⃗`: dual numbers (Krawiec et al., Figure 3).
    Forward,
    /// `D_(k,R)` (Huot et al., section 3.2).
    Taylor {
        /// The number of variables.
        k: u32,
        /// The order.
        r: u32,
    },
    /// The restricted `D_(2,2)′` (Huot et al., section 3.2).
    Mixed,
    /// `D¹_S` (Krawiec et al., Figure 5), with its S.
    Vector(Rc<Ty>),
    /// `D²` (Krawiec et al., Figure 7).
    Naive,
    /// `D` (Krawiec et al., Figure 9).
    Delta(Delta),
}

/// The choices that Krawiec et al. leave open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Delta {
    /// Bindings and sums are kept in growable arrays (section 7.3) instead of lists and maps (Figure 10).
    pub arrays: bool,
    /// `Vector ℝ` becomes a pair of vectors instead of a vector of pairs (section 10.2).
    pub split: bool,
}

impl System {
    /// How it is written behind the name of a definition that it made.
    pub fn suffix(&self) -> String {
        format!("'{}", self.symbol())
    }

    /// Whether arrays of these elements become pairs of arrays.
    pub fn splits(&self, element: &Ty) -> bool {
        matches!(self, System::Delta(Delta { split: true, .. })) && *element == Ty::Real
    }

    /// Its symbol in the papers.
    pub fn symbol(&self) -> String {
        match self {
            System::Forward => "D⃗".to_string(),
            System::Taylor { k, r } => format!("D({k},{r})"),
            System::Mixed => "D(2,2)′".to_string(),
            System::Vector(_) => "D¹".to_string(),
            System::Naive => "D²".to_string(),
            System::Delta(Delta { arrays, split }) => match (arrays, split) {
                (false, false) => "D".to_string(),
                (true, false) => "D array".to_string(),
                (false, true) => "D split".to_string(),
                (true, true) => "D array split".to_string(),
            },
        }
    }
}
