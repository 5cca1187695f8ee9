//! Values of the language as plain data, for callers that do not know the types beforehand.

/// A value of the language.
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
pub enum Value {
    /// `()`
    Unit,
    /// A Real.
    Real(f64),
    /// An Int.
    Int(i64),
    /// A Bool.
    Bool(bool),
    /// A String.
    String(String),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A record: names and values, in any order.
    Record(Vec<(String, Value)>),
    /// An array, or a list.
    Array(Vec<Value>),
    /// A constructor with its fields.
    Variant(String, Vec<Value>),
}

impl Value {
    /// A record.
    pub fn record<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
        Value::Record(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// The value of a field of a record.
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Record(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, value)| value),
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Tuple(_)
            | Value::Array(_)
            | Value::Variant(..) => None,
        }
    }

    /// What it is, for a message.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Unit => "()".to_string(),
            Value::Real(x) => format!("the Real {x}"),
            Value::Int(n) => format!("the Int {n}"),
            Value::Bool(b) => format!("the Bool {b}"),
            Value::String(_) => "a String".to_string(),
            Value::Tuple(components) => format!("a tuple of {}", components.len()),
            Value::Record(fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                format!("a record of {}", names.join(", "))
            }
            Value::Array(elements) => format!("an array of {}", elements.len()),
            Value::Variant(name, fields) => format!("`{name}` with {} fields", fields.len()),
        }
    }
}

impl From<()> for Value {
    fn from((): ()) -> Value {
        Value::Unit
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Real(x)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_string())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(elements: &[T]) -> Value {
        Value::Array(elements.iter().cloned().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Value {
        Value::Array(elements.into_iter().map(Into::into).collect())
    }
}
