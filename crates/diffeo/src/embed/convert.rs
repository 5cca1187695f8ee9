//! Between Rust's values and the evaluator's, guided by the type that the program has.

use super::value::Value;
use crate::data::{is_list, show_type};
use diffeo_calculus::array::Array;
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value as Core;

/// A Rust value does not fit a type of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Misfit {
    /// The way to it: `.0`, `[3]`, `.name`.
    pub path: String,
    /// The type of the program there.
    pub ty: Ty,
    /// What there is on the side of Rust.
    pub found: String,
}

type Converted<T> = Result<T, Box<Misfit>>;

impl Misfit {
    fn new(ty: &Ty, found: impl Into<String>) -> Box<Misfit> {
        Box::new(Misfit { path: String::new(), ty: ty.clone(), found: found.into() })
    }

    fn within(mut self: Box<Misfit>, step: &str) -> Box<Misfit> {
        self.path.insert_str(0, step);
        self
    }

    /// What does not fit, in words.
    pub fn explain(&self, datas: &[DataDecl]) -> String {
        let at = if self.path.is_empty() { String::new() } else { format!("at {}: ", self.path) };
        format!("{at}the program has {}, Rust has {}", show_type(&self.ty, datas), self.found)
    }
}

/// What can be given to a program: numbers, texts, slices, vectors and arrays of them (for arrays and
/// lists), tuples, `Option` (for `Maybe`), and [`Value`] for everything.
pub trait ToDiffeo {
    /// The value of this type in the evaluator.
    ///
    /// # Errors
    /// It is none of the type.
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Result<Core, Box<Misfit>>;

    /// The elements of an array.
    ///
    /// # Errors
    /// As for [`ToDiffeo::to_diffeo`].
    #[doc(hidden)]
    fn elements(items: &[Self], ty: &Ty, datas: &[DataDecl]) -> Result<Array, Box<Misfit>>
    where
        Self: Sized,
    {
        let elements: Vec<Core> = each(items, ty, datas)?;
        Array::from_values(elements)
            .map_err(|kind| Misfit::new(&Ty::array(ty.clone()), kind.message()))
    }
}

/// What can be taken from a program: as [`ToDiffeo`], owned.
pub trait FromDiffeo: Sized {
    /// The Rust value of a value of this type.
    ///
    /// # Errors
    /// The type is none that this Rust type stands for.
    fn from_diffeo(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Result<Self, Box<Misfit>>;

    /// The elements of an array.
    ///
    /// # Errors
    /// As for [`FromDiffeo::from_diffeo`].
    #[doc(hidden)]
    fn vector(array: &Array, ty: &Ty, datas: &[DataDecl]) -> Result<Vec<Self>, Box<Misfit>> {
        let each = array.iter().enumerate();
        each.map(|(i, v)| Self::from_diffeo(&v, ty, datas).map_err(|m| m.within(&format!("[{i}]"))))
            .collect()
    }
}

fn each<T: ToDiffeo>(items: &[T], ty: &Ty, datas: &[DataDecl]) -> Converted<Vec<Core>> {
    let items = items.iter().enumerate();
    items.map(|(i, x)| x.to_diffeo(ty, datas).map_err(|m| m.within(&format!("[{i}]")))).collect()
}

/// The declaration of a variant type and its arguments.
fn variant<'a>(ty: &'a Ty, datas: &'a [DataDecl]) -> Option<(&'a DataDecl, &'a [Ty])> {
    match ty {
        Ty::Data(id, args) => datas.get(id.0 as usize).map(|decl| (decl, &args[..])),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Array(_)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}

fn list<'a>(ty: &'a Ty, datas: &'a [DataDecl]) -> Option<&'a Ty> {
    variant(ty, datas).filter(|(decl, _)| is_list(decl)).map(|(_, args)| &args[0])
}

impl<T: ToDiffeo + ?Sized> ToDiffeo for &T {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        (**self).to_diffeo(ty, datas)
    }
}

// Numbers, truth values, texts

impl ToDiffeo for f64 {
    fn to_diffeo(&self, ty: &Ty, _: &[DataDecl]) -> Converted<Core> {
        match ty {
            Ty::Real => Ok(Core::Real(*self)),
            ty => Err(Misfit::new(ty, format!("the f64 {self}"))),
        }
    }

    fn elements(items: &[f64], ty: &Ty, _: &[DataDecl]) -> Converted<Array> {
        match ty {
            Ty::Real => Ok(Array::from_reals(items.to_vec())),
            ty => Err(Misfit::new(ty, "f64").within("[]")),
        }
    }
}

impl FromDiffeo for f64 {
    fn from_diffeo(value: &Core, ty: &Ty, _: &[DataDecl]) -> Converted<f64> {
        match (value, ty) {
            (Core::Real(x), Ty::Real) => Ok(*x),
            (_, ty) => Err(Misfit::new(ty, "f64")),
        }
    }

    fn vector(array: &Array, ty: &Ty, datas: &[DataDecl]) -> Converted<Vec<f64>> {
        match array.reals() {
            Some(reals) => Ok(reals.to_vec()),
            None => array.iter().map(|x| f64::from_diffeo(&x, ty, datas)).collect(),
        }
    }
}

impl ToDiffeo for i64 {
    fn to_diffeo(&self, ty: &Ty, _: &[DataDecl]) -> Converted<Core> {
        match ty {
            Ty::Int => Ok(Core::Int(*self)),
            ty => Err(Misfit::new(ty, format!("the i64 {self}"))),
        }
    }
}

impl FromDiffeo for i64 {
    fn from_diffeo(value: &Core, ty: &Ty, _: &[DataDecl]) -> Converted<i64> {
        match value {
            Core::Int(n) => Ok(*n),
            _ => Err(Misfit::new(ty, "i64")),
        }
    }
}

impl ToDiffeo for bool {
    fn to_diffeo(&self, ty: &Ty, _: &[DataDecl]) -> Converted<Core> {
        match ty {
            Ty::Bool => Ok(Core::Bool(*self)),
            ty => Err(Misfit::new(ty, format!("the bool {self}"))),
        }
    }
}

impl FromDiffeo for bool {
    fn from_diffeo(value: &Core, ty: &Ty, _: &[DataDecl]) -> Converted<bool> {
        match value {
            Core::Bool(b) => Ok(*b),
            _ => Err(Misfit::new(ty, "bool")),
        }
    }
}

impl ToDiffeo for str {
    fn to_diffeo(&self, ty: &Ty, _: &[DataDecl]) -> Converted<Core> {
        match ty {
            Ty::String => Ok(Core::string(self)),
            ty => Err(Misfit::new(ty, "a str")),
        }
    }
}

impl ToDiffeo for String {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        self.as_str().to_diffeo(ty, datas)
    }
}

impl FromDiffeo for String {
    fn from_diffeo(value: &Core, ty: &Ty, _: &[DataDecl]) -> Converted<String> {
        match value {
            Core::String(text) => Ok(text.to_string()),
            _ => Err(Misfit::new(ty, "String")),
        }
    }
}

impl ToDiffeo for () {
    fn to_diffeo(&self, ty: &Ty, _: &[DataDecl]) -> Converted<Core> {
        match ty {
            Ty::Unit => Ok(Core::Unit),
            ty => Err(Misfit::new(ty, "()")),
        }
    }
}

impl FromDiffeo for () {
    fn from_diffeo(value: &Core, ty: &Ty, _: &[DataDecl]) -> Converted<()> {
        match value {
            Core::Unit => Ok(()),
            _ => Err(Misfit::new(ty, "()")),
        }
    }
}

// Arrays and lists

impl<T: ToDiffeo> ToDiffeo for [T] {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        if let Some(element) = list(ty, datas) {
            return Ok(to_list(each(self, element, datas)?));
        }
        match ty {
            Ty::Array(element) => T::elements(self, element, datas).map(Core::array),
            ty => Err(Misfit::new(ty, format!("a slice of {}", self.len()))),
        }
    }
}

fn to_list(elements: Vec<Core>) -> Core {
    let nil = Core::data(crate::data::NIL, []);
    elements.into_iter().rev().fold(nil, |rest, x| Core::data(crate::data::CONS, [x, rest]))
}

/// The elements of a list.
fn of_list(value: &Core) -> Vec<Core> {
    let (mut elements, mut rest) = (Vec::new(), value);
    while let [first, more] = rest.fields() {
        elements.push(first.clone());
        rest = more;
    }
    elements
}

impl<T: ToDiffeo> ToDiffeo for Vec<T> {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        self.as_slice().to_diffeo(ty, datas)
    }
}

impl<T: ToDiffeo, const N: usize> ToDiffeo for [T; N] {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        self.as_slice().to_diffeo(ty, datas)
    }
}

impl<T: FromDiffeo> FromDiffeo for Vec<T> {
    fn from_diffeo(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Converted<Vec<T>> {
        if let Some(element) = list(ty, datas) {
            let elements = of_list(value);
            return elements.iter().map(|x| T::from_diffeo(x, element, datas)).collect();
        }
        match (value, ty) {
            (Core::Array(array), Ty::Array(element)) => T::vector(array, element, datas),
            (_, ty) => Err(Misfit::new(ty, "a Vec")),
        }
    }
}

// Optional values

/// The tags of `Nothing` and `Just`, and the type within.
fn maybe<'a>(ty: &'a Ty, datas: &'a [DataDecl]) -> Option<(u32, u32, &'a Ty)> {
    let (decl, args) = variant(ty, datas)?;
    let tag = |name: &str| decl.constructors.iter().position(|c| c.name == name);
    match (&*decl.name, tag("Nothing"), tag("Just")) {
        ("Maybe", Some(nothing), Some(just)) => Some((nothing as u32, just as u32, args.first()?)),
        _ => None,
    }
}

impl<T: ToDiffeo> ToDiffeo for Option<T> {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        match (maybe(ty, datas), self) {
            (Some((nothing, _, _)), None) => Ok(Core::data(nothing, [])),
            (Some((_, just, inner)), Some(x)) => Ok(Core::data(just, [x.to_diffeo(inner, datas)?])),
            (None, _) => Err(Misfit::new(ty, "an Option")),
        }
    }
}

impl<T: FromDiffeo> FromDiffeo for Option<T> {
    fn from_diffeo(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Converted<Option<T>> {
        match (maybe(ty, datas), value) {
            (Some((nothing, _, _)), Core::Data(data)) if data.tag == nothing => Ok(None),
            (Some((_, _, inner)), Core::Data(data)) => {
                T::from_diffeo(&data.fields[0], inner, datas).map(Some)
            }
            _ => Err(Misfit::new(ty, "an Option")),
        }
    }
}

// Tuples

macro_rules! tuples {
    ($($name:ident $index:tt),+) => {
        impl<$($name: ToDiffeo),+> ToDiffeo for ($($name,)+) {
            fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
                const N: usize = [$($index),+].len();
                match ty {
                    Ty::Tuple(types) if types.len() == N => Ok(Core::tuple([$(
                        self.$index
                            .to_diffeo(&types[$index], datas)
                            .map_err(|m| m.within(concat!(".", $index)))?
                    ),+])),
                    ty => Err(Misfit::new(ty, format!("a tuple of {N}"))),
                }
            }
        }

        impl<$($name: FromDiffeo),+> FromDiffeo for ($($name,)+) {
            fn from_diffeo(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Converted<Self> {
                const N: usize = [$($index),+].len();
                match ty {
                    Ty::Tuple(types) if types.len() == N => Ok(($(
                        $name::from_diffeo(&value.fields()[$index], &types[$index], datas)
                            .map_err(|m| m.within(concat!(".", $index)))?,
                    )+)),
                    ty => Err(Misfit::new(ty, format!("a tuple of {N}"))),
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

impl ToDiffeo for Value {
    fn to_diffeo(&self, ty: &Ty, datas: &[DataDecl]) -> Converted<Core> {
        let misfit = || Misfit::new(ty, self.describe());
        match (self, ty) {
            (Value::Unit, Ty::Unit) => Ok(Core::Unit),
            (Value::Real(x), Ty::Real) => Ok(Core::Real(*x)),
            (Value::Int(n), Ty::Int) => Ok(Core::Int(*n)),
            (Value::Int(n), Ty::Real) => Ok(Core::Real(*n as f64)),
            (Value::Bool(b), Ty::Bool) => Ok(Core::Bool(*b)),
            (Value::String(text), Ty::String) => Ok(Core::string(text)),
            (Value::Tuple(components), Ty::Tuple(types)) if components.len() == types.len() => {
                let pairs = components.iter().zip(types.iter()).enumerate();
                let components: Converted<Vec<Core>> = pairs
                    .map(|(i, (x, ty))| {
                        x.to_diffeo(ty, datas).map_err(|m| m.within(&format!(".{i}")))
                    })
                    .collect();
                Ok(Core::tuple(components?))
            }
            (Value::Record(given), Ty::Record(fields)) if given.len() == fields.len() => {
                let values: Converted<Vec<Core>> = fields
                    .iter()
                    .map(|(name, ty)| {
                        let field = self.field(name).ok_or_else(misfit)?;
                        field.to_diffeo(ty, datas).map_err(|m| m.within(&format!(".{name}")))
                    })
                    .collect();
                // A record of one field is the tuple of one.
                Ok(Core::tuple(values?))
            }
            (Value::Array(elements), _) => elements.as_slice().to_diffeo(ty, datas),
            (Value::Variant(name, fields), _) => {
                let (decl, args) = variant(ty, datas).ok_or_else(misfit)?;
                let tag = decl.constructors.iter().position(|c| c.name == name.as_str());
                let tag = tag.ok_or_else(misfit)? as u32;
                let types = decl.fields(tag, args);
                if types.len() != fields.len() {
                    return Err(misfit());
                }
                let fields: Converted<Vec<Core>> = fields
                    .iter()
                    .zip(&types)
                    .map(|(x, ty)| {
                        x.to_diffeo(ty, datas).map_err(|m| m.within(&format!(".{name}")))
                    })
                    .collect();
                Ok(Core::data(tag, fields?))
            }
            (
                Value::Unit
                | Value::Real(_)
                | Value::Int(_)
                | Value::Bool(_)
                | Value::String(_)
                | Value::Tuple(_)
                | Value::Record(_),
                _,
            ) => Err(misfit()),
        }
    }
}

impl FromDiffeo for Value {
    fn from_diffeo(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Converted<Value> {
        let function = || Misfit::new(ty, "a Value, which holds no function");
        Ok(match (value, ty) {
            (Core::Unit, _) => Value::Unit,
            (Core::Real(x), _) => Value::Real(*x),
            (Core::Int(n), _) => Value::Int(*n),
            (Core::Bool(b), _) => Value::Bool(*b),
            (Core::String(text), _) => Value::String(text.to_string()),
            (Core::Array(array), Ty::Array(element)) => {
                Value::Array(Value::vector(array, element, datas)?)
            }
            (Core::Tuple(_), Ty::Tuple(types)) => {
                let components = value.fields().iter().zip(types.iter());
                let components: Converted<Vec<Value>> =
                    components.map(|(x, ty)| Value::from_diffeo(x, ty, datas)).collect();
                Value::Tuple(components?)
            }
            (Core::Tuple(_), Ty::Record(fields)) => {
                let values = value.fields().iter().zip(fields.iter());
                let fields: Converted<Vec<(String, Value)>> = values
                    .map(|(x, (name, ty))| {
                        Value::from_diffeo(x, ty, datas).map(|x| (name.to_string(), x))
                    })
                    .collect();
                Value::Record(fields?)
            }
            (Core::Data(data), _) => {
                if let Some(element) = list(ty, datas) {
                    let elements = of_list(value);
                    let elements: Converted<Vec<Value>> =
                        elements.iter().map(|x| Value::from_diffeo(x, element, datas)).collect();
                    return Ok(Value::Array(elements?));
                }
                let (decl, args) = variant(ty, datas).ok_or_else(function)?;
                let types = decl.fields(data.tag, args);
                let fields = data.fields.iter().zip(&types);
                let fields: Converted<Vec<Value>> =
                    fields.map(|(x, ty)| Value::from_diffeo(x, ty, datas)).collect();
                let name = decl.constructors[data.tag as usize].name.to_string();
                Value::Variant(name, fields?)
            }
            (
                Core::Tuple(_)
                | Core::Array(_)
                | Core::Function(_)
                | Core::Dual { .. }
                | Core::Active(_)
                | Core::Zero,
                _,
            ) => return Err(function()),
        })
    }
}
