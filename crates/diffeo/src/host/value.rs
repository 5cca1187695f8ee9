//! Values of the language as plain data.

use std::borrow::Cow;

/// Elements of one kind, by rows, with sizes: `data.len()` is the product of `sizes`. Borrowed or owned.
#[derive(Clone, PartialEq, Debug)]
pub struct Array<'a, T: Clone> {
    /// The elements; those of the last index lie next to each other.
    pub data: Cow<'a, [T]>,
    /// The sizes, that of the first index first; at least one.
    pub sizes: Vec<usize>,
}

impl<'a, T: Clone + 'static> Array<'a, T> {
    /// An array of one index.
    pub fn vector(data: impl Into<Cow<'a, [T]>>) -> Array<'a, T> {
        let data = data.into();
        let sizes = vec![data.len()];
        Array { data, sizes }
    }

    /// The rows, for two or more indices; of one index, the elements are arrays of one element each.
    fn rows(&self) -> impl Iterator<Item = Array<'static, T>> + '_ {
        let sizes = &self.sizes[1..];
        let width: usize = sizes.iter().product();
        (0..self.sizes[0]).map(move |i| Array {
            data: Cow::Owned(self.data[i * width..(i + 1) * width].to_vec()),
            sizes: sizes.to_vec(),
        })
    }

    /// The same, with elements of its own.
    fn into_owned(self) -> Array<'static, T> {
        Array { data: Cow::Owned(self.data.into_owned()), sizes: self.sizes }
    }
}

/// A value of the language. Arrays of numbers may be borrowed: they are not copied on their way to a program.
///
/// A function of several arguments takes their tuple.
///
/// ```
/// use diffeo::{Program, Value};
///
/// let program = Program::from_text("p.deo", "
///     type Shape = Circle(Real) | Box(Real, Real)
///     def area({shape, scale}: {shape: Shape, scale: Real}) -> Real =
///       scale * (case shape of { Circle(r) -> pi * r * r | Box(a, b) -> a * b })
/// ")?;
/// let shape = Value::Variant("Box".into(), vec![2.0.into(), 3.0.into()]);
/// let argument = Value::record([("shape", shape), ("scale", 10.0.into())]);
/// let area: Value = program.function("area")?.call(argument)?;
/// assert_eq!(area, Value::Real(60.0));
/// # Ok::<(), diffeo::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// `()`
    Unit,
    /// A Real.
    Real(f64),
    /// A Real between these two numbers, where functions are asked for certain values ([`super::Program::enclose`]).
    Interval(f64, f64),
    /// An Int.
    Int(i64),
    /// A Bool.
    Bool(bool),
    /// A String.
    String(Cow<'a, str>),
    /// A tuple.
    Tuple(Vec<Value<'a>>),
    /// A record: names and values, in any order.
    Record(Vec<(Cow<'a, str>, Value<'a>)>),
    /// An array of Reals, of any number of indices.
    Reals(Array<'a, f64>),
    /// An array of Ints.
    Ints(Array<'a, i64>),
    /// An array of Bools.
    Bools(Array<'a, bool>),
    /// An array of other elements, or a list; arrays of numbers may be written so, too.
    Array(Vec<Value<'a>>),
    /// A constructor with its fields.
    Variant(Cow<'a, str>, Vec<Value<'a>>),
}

impl<'a> Value<'a> {
    /// A record.
    pub fn record<'n: 'a>(fields: impl IntoIterator<Item = (&'n str, Value<'a>)>) -> Value<'a> {
        Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The value of a field of a record.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Value::Record(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The elements of an array or list, one by one; none of anything else.
    pub fn elements(self) -> Option<Vec<Value<'static>>> {
        Some(match self {
            Value::Array(elements) => elements.into_iter().map(Value::into_owned).collect(),
            Value::Reals(array) if array.sizes.len() == 1 => {
                array.data.iter().map(|x| Value::Real(*x)).collect()
            }
            Value::Ints(array) if array.sizes.len() == 1 => {
                array.data.iter().map(|n| Value::Int(*n)).collect()
            }
            Value::Bools(array) if array.sizes.len() == 1 => {
                array.data.iter().map(|b| Value::Bool(*b)).collect()
            }
            Value::Reals(array) => array.rows().map(Value::Reals).collect(),
            Value::Ints(array) => array.rows().map(Value::Ints).collect(),
            Value::Bools(array) => array.rows().map(Value::Bools).collect(),
            _ => return None,
        })
    }

    /// The same value, with nothing borrowed.
    pub fn into_owned(self) -> Value<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let all = |values: Vec<Value<'_>>| values.into_iter().map(Value::into_owned).collect();
        match self {
            Value::Unit => Value::Unit,
            Value::Real(x) => Value::Real(x),
            Value::Interval(lo, hi) => Value::Interval(lo, hi),
            Value::Int(n) => Value::Int(n),
            Value::Bool(b) => Value::Bool(b),
            Value::String(text) => Value::String(own(text)),
            Value::Tuple(parts) => Value::Tuple(all(parts)),
            Value::Record(fields) => Value::Record(
                fields.into_iter().map(|(name, value)| (own(name), value.into_owned())).collect(),
            ),
            Value::Reals(array) => Value::Reals(array.into_owned()),
            Value::Ints(array) => Value::Ints(array.into_owned()),
            Value::Bools(array) => Value::Bools(array.into_owned()),
            Value::Array(elements) => Value::Array(all(elements)),
            Value::Variant(name, fields) => Value::Variant(own(name), all(fields)),
        }
    }

    /// What it is, for a message.
    pub(super) fn describe(&self) -> String {
        fn array<T: Clone + 'static>(of: &str, array: &Array<'_, T>) -> String {
            let sizes = array.sizes.iter().map(|size| format!("[{size}]"));
            format!("an array {}{of}", sizes.collect::<String>())
        }
        match self {
            Value::Unit => "()".to_string(),
            Value::Real(x) => format!("the Real {}", diffeo_calculus::show::real(*x)),
            Value::Interval(lo, hi) => format!("the interval {lo:?}..{hi:?}"),
            Value::Int(n) => format!("the Int {n}"),
            Value::Bool(b) => format!("the Bool {b}"),
            Value::String(_) => "a String".to_string(),
            Value::Tuple(components) => format!("a tuple of {}", components.len()),
            Value::Record(fields) => {
                let names: Vec<_> =
                    fields.iter().map(|(name, _)| diffeo_base::field_name(name)).collect();
                format!("a record of {}", names.join(", "))
            }
            Value::Reals(reals) => array("Real", reals),
            Value::Ints(ints) => array("Int", ints),
            Value::Bools(bools) => array("Bool", bools),
            Value::Array(elements) => format!("an array of {}", elements.len()),
            Value::Variant(name, fields) => format!("`{name}` with {} fields", fields.len()),
        }
    }
}

impl From<()> for Value<'_> {
    fn from((): ()) -> Self {
        Value::Unit
    }
}

impl From<f64> for Value<'_> {
    fn from(x: f64) -> Self {
        Value::Real(x)
    }
}

impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Value::Int(n)
    }
}

impl From<bool> for Value<'_> {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::String(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::String(text.into())
    }
}

impl<'a> From<&'a [f64]> for Value<'a> {
    fn from(elements: &'a [f64]) -> Self {
        Value::Reals(Array::vector(elements))
    }
}

impl From<Vec<f64>> for Value<'_> {
    fn from(elements: Vec<f64>) -> Self {
        Value::Reals(Array::vector(elements))
    }
}

impl<'a> From<&'a [i64]> for Value<'a> {
    fn from(elements: &'a [i64]) -> Self {
        Value::Ints(Array::vector(elements))
    }
}

impl From<Vec<i64>> for Value<'_> {
    fn from(elements: Vec<i64>) -> Self {
        Value::Ints(Array::vector(elements))
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(elements: Vec<Value<'a>>) -> Self {
        Value::Array(elements)
    }
}
