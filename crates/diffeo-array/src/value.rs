//! The values of Flat: what programs are called with and give back, and what the evaluator works on.
//!
//! What always holds: cloning costs a reference; long chains of boxes are dropped without recursion.

mod array;

pub(crate) use array::{elements, locate};
pub use array::{Collector, Data, FlatArray, Sizes};

use crate::ir::{Elem, FlatTy};
use std::cell::RefCell;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub enum FlatValue {
    /// A real number.
    Real(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(Rc<Box<str>>),
    /// An array.
    Array(Box<FlatArray>),
    /// A box.
    Box(Rc<Object>),
    /// What stands for a box that nothing looks at.
    Null,
    /// An accumulator; only while a program runs.
    Acc(Box<Acc>),
    /// A stack; only while a program runs.
    Stack(Rc<RefCell<Stack>>),
}

/// A box: a tag with fields.
#[derive(Debug)]
pub struct Object {
    /// The alternative of its type.
    pub tag: u32,
    /// Its fields.
    pub fields: Box<[FlatValue]>,
}

/// An accumulator, or a view of one: numbers from `offset` in row-major order.
#[derive(Clone, Debug)]
pub struct Acc {
    /// Its sizes, none for a single number.
    pub sizes: Sizes,
    /// Where it begins.
    pub offset: usize,
    /// All numbers of the accumulator that this is a view of.
    pub numbers: Rc<RefCell<Vec<f64>>>,
}

/// A stack of tuples, one after the other.
#[derive(Debug)]
pub struct Stack {
    /// How many tuples there are.
    pub len: usize,
    /// Their components.
    pub values: Vec<FlatValue>,
}

impl FlatValue {
    /// A text.
    pub fn text(text: &str) -> FlatValue {
        FlatValue::Text(Rc::new(text.into()))
    }

    /// An array.
    pub fn array(array: FlatArray) -> FlatValue {
        FlatValue::Array(Box::new(array))
    }

    /// An array of rank 1 of Reals.
    pub fn reals(elements: Vec<f64>) -> FlatValue {
        FlatValue::array(FlatArray::vector(Data::Reals(Rc::new(elements))))
    }

    /// An array of rank 1 of Ints.
    pub fn ints(elements: Vec<i64>) -> FlatValue {
        FlatValue::array(FlatArray::vector(Data::Ints(Rc::new(elements))))
    }

    /// A box.
    pub fn object(tag: u32, fields: impl IntoIterator<Item = FlatValue>) -> FlatValue {
        FlatValue::Box(Rc::new(Object { tag, fields: fields.into_iter().collect() }))
    }

    /// A value of a type that nothing looks at.
    pub fn unused(ty: &FlatTy) -> FlatValue {
        match ty {
            FlatTy::Real => FlatValue::Real(0.0),
            FlatTy::Int => FlatValue::Int(0),
            FlatTy::Bool => FlatValue::Bool(false),
            FlatTy::Text => FlatValue::text(""),
            FlatTy::Array(elem, rank) => FlatValue::array(FlatArray::empty(*elem, *rank)),
            // Nothing is unused of the last two.
            FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => FlatValue::Null,
        }
    }

    /// Whether the value can be one of a type: of boxes and texts in arrays, nothing is known.
    pub fn has_type(&self, ty: &FlatTy) -> bool {
        match (self, ty) {
            (FlatValue::Real(_), FlatTy::Real)
            | (FlatValue::Int(_), FlatTy::Int)
            | (FlatValue::Bool(_), FlatTy::Bool)
            | (FlatValue::Text(_), FlatTy::Text)
            | (FlatValue::Box(_) | FlatValue::Null, FlatTy::Box(_))
            | (FlatValue::Stack(_), FlatTy::Stack(_)) => true,
            (FlatValue::Acc(acc), FlatTy::Acc(rank)) => acc.sizes.len() == usize::from(*rank),
            (FlatValue::Array(array), FlatTy::Array(elem, rank)) => {
                let fits = match (array.data(), elem) {
                    (Data::Reals(_), Elem::Real)
                    | (Data::Ints(_), Elem::Int)
                    | (Data::Bools(_), Elem::Bool)
                    | (Data::Values(_), Elem::Text | Elem::Box(_)) => true,
                    (Data::Reals(_) | Data::Ints(_) | Data::Bools(_) | Data::Values(_), _) => false,
                };
                fits && array.sizes().len() == usize::from(*rank)
            }
            (
                FlatValue::Real(_)
                | FlatValue::Int(_)
                | FlatValue::Bool(_)
                | FlatValue::Text(_)
                | FlatValue::Array(_)
                | FlatValue::Box(_)
                | FlatValue::Null
                | FlatValue::Acc(_)
                | FlatValue::Stack(_),
                _,
            ) => false,
        }
    }

    /// Whether dropping it drops boxes.
    fn owns(&self) -> bool {
        match self {
            FlatValue::Box(object) => Rc::strong_count(object) == 1,
            FlatValue::Array(array) => match array.data() {
                Data::Values(values) => Rc::strong_count(values) == 1,
                Data::Reals(_) | Data::Ints(_) | Data::Bools(_) => false,
            },
            FlatValue::Real(_)
            | FlatValue::Int(_)
            | FlatValue::Bool(_)
            | FlatValue::Text(_)
            | FlatValue::Null
            | FlatValue::Acc(_)
            | FlatValue::Stack(_) => false,
        }
    }
}

impl PartialEq for FlatValue {
    /// Equal structure, Reals by their bits (but for one nan), for tests: views are equal to copies. Not of
    /// accumulators and stacks.
    fn eq(&self, other: &FlatValue) -> bool {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let mut pending = vec![(self.clone(), other.clone())];
        while let Some((a, b)) = pending.pop() {
            let equal = match (&a, &b) {
                (FlatValue::Real(a), FlatValue::Real(b)) => same(*a, *b),
                (FlatValue::Int(a), FlatValue::Int(b)) => a == b,
                (FlatValue::Bool(a), FlatValue::Bool(b)) => a == b,
                (FlatValue::Text(a), FlatValue::Text(b)) => a == b,
                (FlatValue::Null, FlatValue::Null) => true,
                (FlatValue::Box(a), FlatValue::Box(b)) => {
                    pending.extend(a.fields.iter().cloned().zip(b.fields.iter().cloned()));
                    a.tag == b.tag && a.fields.len() == b.fields.len()
                }
                (FlatValue::Array(a), FlatValue::Array(b)) => {
                    let elements = (0..a.count()).zip(0..b.count());
                    pending.extend(elements.map(|(i, j)| (a.element(i), b.element(j))));
                    a.sizes() == b.sizes()
                }
                (_, _) => false,
            };
            if !equal {
                return false;
            }
        }
        true
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        release(&mut self.fields, &mut pending);
        while let Some(mut value) = pending.pop() {
            match &mut value {
                FlatValue::Box(object) => {
                    if let Some(object) = Rc::get_mut(object) {
                        release(&mut object.fields, &mut pending);
                    }
                }
                FlatValue::Array(array) => {
                    if let Data::Values(values) = array.data_mut() {
                        if let Some(values) = Rc::get_mut(values) {
                            release(values, &mut pending);
                        }
                    }
                }
                FlatValue::Real(_)
                | FlatValue::Int(_)
                | FlatValue::Bool(_)
                | FlatValue::Text(_)
                | FlatValue::Null
                | FlatValue::Acc(_)
                | FlatValue::Stack(_) => {}
            }
        }
    }
}

/// Moves the values that are dropped with these, and drop others, to `pending`.
fn release(values: &mut [FlatValue], pending: &mut Vec<FlatValue>) {
    for value in values {
        if value.owns() {
            pending.push(std::mem::replace(value, FlatValue::Null));
        }
    }
}
