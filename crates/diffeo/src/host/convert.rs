//! Between Rust's types and [`Value`].

use super::value::{Array, Value};
use std::borrow::Cow;

/// What can be given to a program: numbers, texts, slices, vectors and arrays of them (for arrays and lists), tuples,
/// `Option` (for `Maybe`), and [`Value`] for everything. Slices of numbers are not copied.
pub trait ToDiffeo: Sync {
    /// The value.
    fn to_value(&self) -> Value<'_>;

    /// The array of these elements.
    #[doc(hidden)]
    fn array(items: &[Self]) -> Value<'_>
    where
        Self: Sized,
    {
        Value::Array(items.iter().map(ToDiffeo::to_value).collect())
    }
}

/// What can be taken from a program: as [`ToDiffeo`], owned.
pub trait FromDiffeo: Sized + Send {
    /// The Rust value of a value of the program.
    ///
    /// # Errors
    /// The value is none that this Rust type stands for.
    fn from_value(value: Value<'static>) -> Result<Self, Mismatch>;

    /// The elements of an array.
    ///
    /// # Errors
    /// As for [`FromDiffeo::from_value`].
    #[doc(hidden)]
    fn vector(value: Value<'static>) -> Result<Vec<Self>, Mismatch> {
        let found = value.describe();
        let elements = value.elements().ok_or_else(|| Mismatch::new(found, "a Vec"))?;
        let each = elements.into_iter().enumerate();
        each.map(|(i, x)| Self::from_value(x).map_err(|m| m.within(&format!("[{i}]")))).collect()
    }
}

/// A value of the program is asked for as another type of Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The way to it: `.0`, `[3]`, `.name`.
    pub path: String,
    /// What the program gives.
    pub found: String,
    /// What Rust asks for.
    pub asked: String,
}

impl Mismatch {
    fn new(found: String, asked: impl Into<String>) -> Mismatch {
        Mismatch { path: String::new(), found, asked: asked.into() }
    }

    fn within(mut self, step: &str) -> Mismatch {
        self.path.insert_str(0, step);
        self
    }

    /// What does not fit, in words.
    pub fn explain(&self) -> String {
        let at = if self.path.is_empty() { String::new() } else { format!("at {}: ", self.path) };
        format!("{at}the program gives {}, Rust asks for {}", self.found, self.asked)
    }
}

impl<T: ToDiffeo + ?Sized> ToDiffeo for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

macro_rules! scalars {
    ($($ty:ty: $scalar:ident, $array:ident;)*) => { $(
        impl ToDiffeo for $ty {
            fn to_value(&self) -> Value<'_> {
                Value::$scalar(*self)
            }

            fn array(items: &[$ty]) -> Value<'_> {
                Value::$array(Array::vector(items))
            }
        }

        impl FromDiffeo for $ty {
            fn from_value(value: Value<'static>) -> Result<$ty, Mismatch> {
                match value {
                    Value::$scalar(x) => Ok(x),
                    other => Err(Mismatch::new(other.describe(), stringify!($ty))),
                }
            }

            fn vector(value: Value<'static>) -> Result<Vec<$ty>, Mismatch> {
                match value {
                    Value::$array(Array { data, sizes }) if sizes.len() == 1 => Ok(data.into_owned()),
                    Value::Array(elements) => elements.into_iter().map(<$ty>::from_value).collect(),
                    other => Err(Mismatch::new(other.describe(), concat!("a Vec of ", stringify!($ty)))),
                }
            }
        }
    )* };
}

scalars! {
    f64: Real, Reals;
    i64: Int, Ints;
    bool: Bool, Bools;
}

/// The numbers between two: what is known of a Real, where functions are asked for certain values
/// ([`super::Program::enclose`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// The least of them.
    pub lo: f64,
    /// The largest.
    pub hi: f64,
}

impl Interval {
    /// A number is one of them.
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }
}

impl ToDiffeo for Interval {
    fn to_value(&self) -> Value<'_> {
        Value::Interval(self.lo, self.hi)
    }
}

impl FromDiffeo for Interval {
    fn from_value(value: Value<'static>) -> Result<Interval, Mismatch> {
        match value {
            Value::Real(x) => Ok(Interval { lo: x, hi: x }),
            Value::Interval(lo, hi) => Ok(Interval { lo, hi }),
            other => Err(Mismatch::new(other.describe(), "Interval")),
        }
    }
}

impl ToDiffeo for str {
    fn to_value(&self) -> Value<'_> {
        Value::String(self.into())
    }
}

impl ToDiffeo for String {
    fn to_value(&self) -> Value<'_> {
        Value::String(self.as_str().into())
    }
}

impl FromDiffeo for String {
    fn from_value(value: Value<'static>) -> Result<String, Mismatch> {
        match value {
            Value::String(text) => Ok(text.into_owned()),
            other => Err(Mismatch::new(other.describe(), "String")),
        }
    }
}

impl ToDiffeo for () {
    fn to_value(&self) -> Value<'_> {
        Value::Unit
    }
}

impl FromDiffeo for () {
    fn from_value(value: Value<'static>) -> Result<(), Mismatch> {
        match value {
            Value::Unit => Ok(()),
            other => Err(Mismatch::new(other.describe(), "()")),
        }
    }
}

// Arrays and lists

impl<T: ToDiffeo> ToDiffeo for [T] {
    fn to_value(&self) -> Value<'_> {
        T::array(self)
    }
}

impl<T: ToDiffeo> ToDiffeo for Vec<T> {
    fn to_value(&self) -> Value<'_> {
        T::array(self)
    }
}

impl<T: ToDiffeo, const N: usize> ToDiffeo for [T; N] {
    fn to_value(&self) -> Value<'_> {
        T::array(self)
    }
}

impl<T: FromDiffeo> FromDiffeo for Vec<T> {
    fn from_value(value: Value<'static>) -> Result<Vec<T>, Mismatch> {
        T::vector(value)
    }
}

// Optional values

impl<T: ToDiffeo> ToDiffeo for Option<T> {
    fn to_value(&self) -> Value<'_> {
        match self {
            None => Value::Variant("Nothing".into(), Vec::new()),
            Some(x) => Value::Variant("Just".into(), vec![x.to_value()]),
        }
    }
}

impl<T: FromDiffeo> FromDiffeo for Option<T> {
    fn from_value(value: Value<'static>) -> Result<Option<T>, Mismatch> {
        match value {
            Value::Variant(name, fields) if name == "Nothing" && fields.is_empty() => Ok(None),
            Value::Variant(name, mut fields) if name == "Just" && fields.len() == 1 => {
                T::from_value(fields.remove(0)).map(Some)
            }
            other => Err(Mismatch::new(other.describe(), "an Option")),
        }
    }
}

// Tuples

macro_rules! tuples {
    ($($name:ident $index:tt),+) => {
        impl<$($name: ToDiffeo),+> ToDiffeo for ($($name,)+) {
            fn to_value(&self) -> Value<'_> {
                Value::Tuple(vec![$(self.$index.to_value()),+])
            }
        }

        impl<$($name: FromDiffeo),+> FromDiffeo for ($($name,)+) {
            fn from_value(value: Value<'static>) -> Result<Self, Mismatch> {
                const N: usize = [$($index),+].len();
                match value {
                    Value::Tuple(parts) if parts.len() == N => {
                        let mut parts = parts.into_iter();
                        Ok(($(
                            $name::from_value(parts.next().unwrap_or(Value::Unit))
                                .map_err(|m| m.within(concat!(".", $index)))?,
                        )+))
                    }
                    other => Err(Mismatch::new(other.describe(), format!("a tuple of {N}"))),
                }
            }
        }
    };
}

tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

// Everything

impl ToDiffeo for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        fn borrowed<'b, T: Clone>(array: &'b Array<'_, T>) -> Array<'b, T> {
            Array { data: Cow::Borrowed(&array.data), sizes: array.sizes.clone() }
        }

        match self {
            Value::Reals(array) => Value::Reals(borrowed(array)),
            Value::Ints(array) => Value::Ints(borrowed(array)),
            Value::Bools(array) => Value::Bools(borrowed(array)),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(ToDiffeo::to_value).collect()),
            Value::Record(fields) => Value::Record(
                fields.iter().map(|(name, x)| (Cow::Borrowed(&**name), x.to_value())).collect(),
            ),
            Value::Array(elements) => {
                Value::Array(elements.iter().map(ToDiffeo::to_value).collect())
            }
            Value::Variant(name, fields) => {
                Value::Variant(Cow::Borrowed(name), fields.iter().map(ToDiffeo::to_value).collect())
            }
            Value::Unit => Value::Unit,
            Value::Real(x) => Value::Real(*x),
            Value::Interval(lo, hi) => Value::Interval(*lo, *hi),
            Value::Int(n) => Value::Int(*n),
            Value::Bool(b) => Value::Bool(*b),
            Value::String(text) => Value::String(Cow::Borrowed(text)),
        }
    }
}

impl FromDiffeo for Value<'static> {
    fn from_value(value: Value<'static>) -> Result<Value<'static>, Mismatch> {
        Ok(value)
    }
}
