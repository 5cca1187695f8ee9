//! Values at lowering time: what is known while text is written, and tensors of it.
//!
//! A *dimension* is the index of a comprehension, a reduction or a loop without carried variables: all its steps are
//! computed at once. A value that depends on some has a leading dimension of its tensor for each, in the order in which
//! they were opened.

use crate::place::Place;
use diffeo_array::ir::{Elem, SiteId};
use diffeo_array::report::{OpenCalls, Why};
use diffeo_base::Name;
use std::rc::Rc;

/// A dimension: an index into [`crate::lift::Lift::sizes`]. Inner ones are larger.
pub(crate) type Dim = u32;

/// A tensor of the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    /// Its name in the text.
    pub id: Rc<str>,
    pub elem: Elem,
    /// The dimensions that it depends on, rising.
    pub dims: Vec<Dim>,
    /// The sizes of the array that it is, behind the dimensions.
    pub shape: Vec<i64>,
}

/// An Int that is `constant + Σ factor · index` of dimensions, rising and with factors other than 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Affine {
    pub constant: i64,
    pub terms: Vec<(Dim, i64)>,
}

/// Ints or Bools that are known: by rising dimensions, then by the sizes of the array, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub elem: Elem,
    pub dims: Vec<Dim>,
    pub shape: Vec<i64>,
    pub data: Rc<Vec<i64>>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A text.
    Text(Name),
    /// The operand of this number, as Diffeo shows it.
    Operand(usize),
}

/// A view of an accumulator: numbers in row-major order from a place on.
#[derive(Clone, Debug)]
pub(crate) struct AccView {
    /// The index in [`crate::lift::Lift::state`].
    pub root: usize,
    pub offset: Box<Place>,
    pub shape: Vec<i64>,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Real(f64),
    Int(Affine),
    Table(Table),
    Tensor(Tensor),
    /// A text with values in it.
    Text(Vec<TextPart>),
    Acc(AccView),
    /// A value that no statement uses.
    Unused,
}

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum TextPart {
    Text(Name),
    Shown(Val),
}

impl Affine {
    pub fn known(constant: i64) -> Affine {
        Affine { constant, terms: Vec::new() }
    }

    pub fn index(dim: Dim) -> Affine {
        Affine { constant: 0, terms: vec![(dim, 1)] }
    }

    /// `self + factor * other`, where it fits.
    pub fn plus(&self, factor: i64, other: &Affine) -> Option<Affine> {
        let constant = self.constant.checked_add(factor.checked_mul(other.constant)?)?;
        let mut terms = self.terms.clone();
        for (dim, a) in &other.terms {
            let a = factor.checked_mul(*a)?;
            match terms.binary_search_by_key(dim, |term| term.0) {
                Ok(at) => terms[at].1 = terms[at].1.checked_add(a)?,
                Err(at) => terms.insert(at, (*dim, a)),
            }
        }
        terms.retain(|(_, a)| *a != 0);
        Some(Affine { constant, terms })
    }
}

impl Val {
    pub fn int(n: i64) -> Val {
        Val::Int(Affine::known(n))
    }

    pub fn bool(b: bool) -> Val {
        Val::Table(Table {
            elem: Elem::Bool,
            dims: Vec::new(),
            shape: Vec::new(),
            data: Rc::new(vec![i64::from(b)]),
        })
    }

    /// The Int or Bool, if it is known and the same everywhere.
    pub fn known(&self) -> Option<i64> {
        match self {
            Val::Int(affine) if affine.terms.is_empty() => Some(affine.constant),
            Val::Table(table) if table.shape.is_empty() => {
                let first = *table.data.first()?;
                table.data.iter().all(|n| *n == first).then_some(first)
            }
            _ => None,
        }
    }
}

/// A condition that XLA cannot stop at: the number of the first that does not hold is a result of the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The error if it does not hold.
    pub why: Why,
    /// The types of the operands that the module gives.
    pub operands: Vec<Elem>,
    /// The message of `fail`, or the difference of shapes.
    pub message: Vec<Piece>,
    /// The statement.
    pub site: SiteId,
    /// The calls that were open there.
    pub calls: OpenCalls,
}
