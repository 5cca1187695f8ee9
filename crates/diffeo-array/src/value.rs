//! The values of Flat: what programs are called with and give back, and what the evaluator works on.
//!
//! What always holds: cloning costs a reference; long chains of boxes are dropped without recursion.

mod array;

pub(crate) use array::{elements, locate};
pub use array::{Array, Collector, Data, Sizes};

use crate::ir::{Elem, Ty};
use std::cell::RefCell;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A real number.
    Real(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(Rc<Box<str>>),
    /// An array.
    Array(Box<Array>),
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
    pub fields: Box<[Value]>,
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
    pub values: Vec<Value>,
}

impl Value {
    /// A text.
    pub fn text(text: &str) -> Value {
        Value::Text(Rc::new(text.into()))
    }

    /// An array.
    pub fn array(array: Array) -> Value {
        Value::Array(Box::new(array))
    }

    /// An array of rank 1 of Reals.
    pub fn reals(elements: Vec<f64>) -> Value {
        Value::array(Array::vector(Data::Reals(Rc::new(elements))))
    }

    /// An array of rank 1 of Ints.
    pub fn ints(elements: Vec<i64>) -> Value {
        Value::array(Array::vector(Data::Ints(Rc::new(elements))))
    }

    /// A box.
    pub fn object(tag: u32, fields: impl IntoIterator<Item = Value>) -> Value {
        Value::Box(Rc::new(Object { tag, fields: fields.into_iter().collect() }))
    }

    /// A value of a type that nothing looks at.
    pub fn unused(ty: &Ty) -> Value {
        match ty {
            Ty::Real => Value::Real(0.0),
            Ty::Int => Value::Int(0),
            Ty::Bool => Value::Bool(false),
            Ty::Text => Value::text(""),
            Ty::Array(elem, rank) => Value::array(Array::empty(*elem, *rank)),
            // Nothing is unused of the last two.
            Ty::Box(_) | Ty::Acc(_) | Ty::Stack(_) => Value::Null,
        }
    }

    /// Whether the value can be one of a type: of boxes and texts in arrays, nothing is known.
    pub fn has_type(&self, ty: &Ty) -> bool {
        match (self, ty) {
            (Value::Real(_), Ty::Real)
            | (Value::Int(_), Ty::Int)
            | (Value::Bool(_), Ty::Bool)
            | (Value::Text(_), Ty::Text)
            | (Value::Box(_) | Value::Null, Ty::Box(_))
            | (Value::Stack(_), Ty::Stack(_)) => true,
            (Value::Acc(acc), Ty::Acc(rank)) => acc.sizes.len() == usize::from(*rank),
            (Value::Array(array), Ty::Array(elem, rank)) => {
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
                Value::Real(_)
                | Value::Int(_)
                | Value::Bool(_)
                | Value::Text(_)
                | Value::Array(_)
                | Value::Box(_)
                | Value::Null
                | Value::Acc(_)
                | Value::Stack(_),
                _,
            ) => false,
        }
    }

    /// Whether dropping it drops boxes.
    fn owns(&self) -> bool {
        match self {
            Value::Box(object) => Rc::strong_count(object) == 1,
            Value::Array(array) => match array.data() {
                Data::Values(values) => Rc::strong_count(values) == 1,
                Data::Reals(_) | Data::Ints(_) | Data::Bools(_) => false,
            },
            Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::Text(_)
            | Value::Null
            | Value::Acc(_)
            | Value::Stack(_) => false,
        }
    }
}

impl PartialEq for Value {
    /// Equal structure, Reals by their bits (but for one nan), for tests: views are equal to copies. Not of
    /// accumulators and stacks.
    fn eq(&self, other: &Value) -> bool {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let mut pending = vec![(self.clone(), other.clone())];
        while let Some((a, b)) = pending.pop() {
            let equal = match (&a, &b) {
                (Value::Real(a), Value::Real(b)) => same(*a, *b),
                (Value::Int(a), Value::Int(b)) => a == b,
                (Value::Bool(a), Value::Bool(b)) => a == b,
                (Value::Text(a), Value::Text(b)) => a == b,
                (Value::Null, Value::Null) => true,
                (Value::Box(a), Value::Box(b)) => {
                    pending.extend(a.fields.iter().cloned().zip(b.fields.iter().cloned()));
                    a.tag == b.tag && a.fields.len() == b.fields.len()
                }
                (Value::Array(a), Value::Array(b)) => {
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
                Value::Box(object) => {
                    if let Some(object) = Rc::get_mut(object) {
                        release(&mut object.fields, &mut pending);
                    }
                }
                Value::Array(array) => {
                    if let Data::Values(values) = array.data_mut() {
                        if let Some(values) = Rc::get_mut(values) {
                            release(values, &mut pending);
                        }
                    }
                }
                Value::Real(_)
                | Value::Int(_)
                | Value::Bool(_)
                | Value::Text(_)
                | Value::Null
                | Value::Acc(_)
                | Value::Stack(_) => {}
            }
        }
    }
}

/// Moves the values that are dropped with these, and drop others, to `pending`.
fn release(values: &mut [Value], pending: &mut Vec<Value>) {
    for value in values {
        if value.owns() {
            pending.push(std::mem::replace(value, Value::Null));
        }
    }
}
