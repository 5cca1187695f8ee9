//! Values of the evaluator: 16 bytes each, shared by reference counts, dropped without recursion.
//!
//! The first group is what programs see. The second occurs only while a derivative is taken: a Real
//! that depends on what is being differentiated carries its *level* (the nesting depth of the
//! derivative operator that made it), and its components are values of lower levels.

use crate::array::Array;
use crate::prim::interval::Interval;
use smallvec::SmallVec;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `()`
    Unit,
    /// A real number that nothing being differentiated influences.
    Real(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A text.
    String(Rc<Box<str>>),
    /// A tuple or record: the components in the order of the type.
    Tuple(Rc<Fields>),
    /// A constructor with its fields.
    Data(Rc<Data>),
    /// An array.
    Array(Rc<Array>),
    /// A function.
    Function(Rc<FunctionValue>),

    /// A variable of the tape at `level` whose primal is a plain number: the usual case of
    /// [`Value::Active`] in reverse mode, without an allocation.
    Dual {
        /// The level.
        level: u16,
        /// Its entry in the tape; 0 for a value that depends on the variables with derivative zero.
        id: u32,
        /// Its primal.
        primal: f64,
    },
    /// A real number with derivative information at a level.
    Active(Rc<Active>),
    /// The structural zero of a tangent or a coefficient.
    Zero,
}

/// The components of a tuple, inline up to three.
#[derive(Debug)]
pub struct Fields(pub SmallVec<[Value; 3]>);

/// A constructor applied to its fields.
#[derive(Debug)]
pub struct Data {
    /// The constructor's position in its type.
    pub tag: u32,
    /// Its fields.
    pub fields: SmallVec<[Value; 2]>,
}

/// A real number with derivative information at a level.
#[derive(Debug)]
pub struct Active {
    /// The level.
    pub level: u16,
    /// What is known at that level.
    pub parts: Parts,
}

/// The derivative information of an [`Active`] number.
#[derive(Debug)]
pub enum Parts {
    /// On the tape of the level.
    Tape {
        /// The entry; 0 for derivative zero.
        id: u32,
        /// The primal, of lower levels.
        primal: Value,
    },
    /// Normalised Taylor coefficients f^(α)/α!, of lower levels, over the level's multi-indices in
    /// order; the first is the primal, the others may be [`Value::Zero`].
    Jet(Box<[Value]>),
    /// At level 0: an interval that contains the number, which is not known any better.
    Interval(Interval),
}

/// A function value.
#[derive(Debug)]
pub enum FunctionValue {
    /// Code with the values it captured.
    Closure {
        /// The function's code.
        code: u32,
        /// What it captured.
        captured: Box<[Value]>,
    },
    /// The pullback that `vjp` gave.
    Pullback(crate::eval::derivative::Pullback),
}

impl Value {
    /// A text.
    pub fn string(text: &str) -> Value {
        Value::String(Rc::new(text.into()))
    }

    /// A tuple of at least two components.
    pub fn tuple(components: impl IntoIterator<Item = Value>) -> Value {
        Value::Tuple(Rc::new(Fields(components.into_iter().collect())))
    }

    /// A constructor with its fields.
    pub fn data(tag: u32, fields: impl IntoIterator<Item = Value>) -> Value {
        Value::Data(Rc::new(Data { tag, fields: fields.into_iter().collect() }))
    }

    /// An array.
    pub fn array(array: Array) -> Value {
        Value::Array(Rc::new(array))
    }

    /// The components of a tuple, the fields of a constructor; none for other values.
    pub fn fields(&self) -> &[Value] {
        match self {
            Value::Tuple(t) => &t.0,
            Value::Data(d) => &d.fields,
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero => &[],
        }
    }

    /// Whether it owns other values, so that dropping it may cascade.
    pub(crate) fn owns(&self) -> bool {
        match self {
            Value::Tuple(r) => Rc::strong_count(r) == 1,
            Value::Data(r) => Rc::strong_count(r) == 1,
            Value::Function(r) => Rc::strong_count(r) == 1,
            Value::Array(r) => Rc::strong_count(r) == 1,
            Value::Active(r) => Rc::strong_count(r) == 1,
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Dual { .. }
            | Value::Zero => false,
        }
    }
}

/// Drops values that may own long chains of others, with a list of what is still to be dropped
/// instead of recursion.
fn drop_chain(values: &mut [Value]) {
    if !values.iter().any(Value::owns) {
        return;
    }
    let mut pending: Vec<Value> = Vec::new();
    let take = |values: &mut [Value], pending: &mut Vec<Value>| {
        for v in values {
            if v.owns() {
                pending.push(std::mem::replace(v, Value::Unit));
            }
        }
    };
    take(values, &mut pending);
    while let Some(mut value) = pending.pop() {
        match &mut value {
            Value::Tuple(r) => {
                if let Some(t) = Rc::get_mut(r) {
                    take(&mut t.0, &mut pending);
                }
            }
            Value::Data(r) => {
                if let Some(d) = Rc::get_mut(r) {
                    take(&mut d.fields, &mut pending);
                }
            }
            Value::Function(r) => {
                if let Some(FunctionValue::Closure { captured, .. }) = Rc::get_mut(r) {
                    take(captured, &mut pending);
                }
            }
            Value::Array(r) => {
                if let Some(a) = Rc::get_mut(r) {
                    a.release(&mut pending);
                }
            }
            // Active numbers are as deep as levels nest.
            _ => {}
        }
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        drop_chain(&mut self.0);
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        drop_chain(&mut self.fields);
    }
}

impl Drop for FunctionValue {
    fn drop(&mut self) {
        if let FunctionValue::Closure { captured, .. } = self {
            drop_chain(captured);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Value;
    use crate::array::Array;

    #[test]
    fn a_value_is_two_words_and_long_lists_are_dropped() {
        assert_eq!(std::mem::size_of::<Value>(), 16);
        let mut list = Value::data(0, []);
        for i in 0..1_000_000 {
            list = Value::data(1, [Value::Int(i), list]);
        }
        drop(list);
    }

    #[test]
    fn trees_that_are_deep_through_arrays_are_dropped() {
        let mut tree = Value::data(0, []);
        for i in 0..1_000_000 {
            let children = Array::from_values([Value::tuple([Value::Int(i), tree])]).unwrap();
            tree = Value::data(1, [Value::array(children)]);
        }
        drop(tree);
    }
}
