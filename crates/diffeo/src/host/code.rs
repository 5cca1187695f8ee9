//! Values on their way into compiled code and out of it, and into the evaluator.

use super::value::{Array, Value};
use diffeo_array::value::FlatValue;
use diffeo_base::field_name;
use diffeo_calculus::array::Array as CoreArray;
use diffeo_calculus::eval::reals::{enclosure, interval};
use diffeo_calculus::leaves::has_interval;
use diffeo_calculus::prim::interval::Interval;
use diffeo_calculus::ty::{DataDecl, Ty, WellKnown, CONS, NIL};
use diffeo_calculus::value::Value as Core;
use diffeo_codegen::engine::{Arg, Results};
use diffeo_lower::value::Layout;

/// A value does not fit a type of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Misfit {
    /// The way to it: `.0`, `[3]`, `.name`.
    path: String,
    /// The type of the program there.
    ty: String,
    /// What was given.
    found: String,
}

type Converted<T> = Result<T, Box<Misfit>>;

impl Misfit {
    fn within(mut self: Box<Misfit>, step: &str) -> Box<Misfit> {
        self.path.insert_str(0, step);
        self
    }

    /// What does not fit, in words.
    pub fn explain(&self) -> String {
        let at = if self.path.is_empty() { String::new() } else { format!("at {}: ", self.path) };
        format!("{at}the program has {}, given was {}", self.ty, self.found)
    }
}

/// The types of a program, for values of them.
#[derive(Clone, Copy)]
pub(super) struct ValueTypes<'c> {
    pub datas: &'c [DataDecl],
}

/// A part of an argument, as compiled code takes it.
enum ArgumentPart<'v> {
    Real(f64),
    Int(i64),
    Bool(bool),
    Reals(&'v Array<'v, f64>),
    Ints(&'v Array<'v, i64>),
    Bools(&'v Array<'v, bool>),
    Flat(FlatValue),
}

/// The arguments of compiled code, kept for the call. Their memory is used again by the next call: see
/// [`Arguments::again`].
#[derive(Default)]
pub(super) struct Arguments<'v> {
    parts: Vec<ArgumentPart<'v>>,
    /// The sizes of all arrays.
    sizes: Vec<i64>,
    /// Memory for what a call is shown.
    shown: Vec<Arg<'static>>,
}

impl ArgumentPart<'_> {
    fn sizes(&self) -> &[usize] {
        match self {
            ArgumentPart::Reals(array) => &array.sizes,
            ArgumentPart::Ints(array) => &array.sizes,
            ArgumentPart::Bools(array) => &array.sizes,
            ArgumentPart::Real(_)
            | ArgumentPart::Int(_)
            | ArgumentPart::Bool(_)
            | ArgumentPart::Flat(_) => &[],
        }
    }
}

/// A list without elements, in the memory of another one: such lists are collected in place.
fn emptied<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

impl<'v> Arguments<'v> {
    /// No arguments, in the memory of these.
    pub fn again<'w>(self) -> Arguments<'w> {
        Arguments { parts: emptied(self.parts), sizes: self.sizes, shown: self.shown }
    }

    /// Shows them to a call.
    pub fn with<R>(&mut self, call: impl FnOnce(&[Arg<'_>]) -> R) -> R {
        let Arguments { parts, sizes, shown } = self;
        sizes.clear();
        for part in parts.iter() {
            sizes.extend(part.sizes().iter().map(|n| *n as i64));
        }
        let mut args: Vec<Arg<'_>> = emptied(std::mem::take(shown));
        let mut rest = sizes.as_slice();
        for part in parts.iter() {
            let (sizes, others) = rest.split_at(part.sizes().len());
            rest = others;
            args.push(match part {
                ArgumentPart::Real(x) => Arg::Real(*x),
                ArgumentPart::Int(n) => Arg::Int(*n),
                ArgumentPart::Bool(b) => Arg::Bool(*b),
                ArgumentPart::Reals(array) => Arg::Reals(&array.data, sizes),
                ArgumentPart::Ints(array) => Arg::Ints(&array.data, sizes),
                ArgumentPart::Bools(array) => Arg::Bools(&array.data, sizes),
                ArgumentPart::Flat(value) => Arg::Value(value),
            });
        }
        let result = call(&args);
        *shown = emptied(args);
        result
    }

    /// Takes a value of a type. Numbers and arrays of them are borrowed; everything else goes by the evaluator's values.
    ///
    /// # Errors
    /// The value does not fit the type.
    pub fn add(&mut self, layout: &Layout, value: &'v Value<'v>, ty: &Ty) -> Converted<()> {
        match (value, ty) {
            (Value::Real(x), Ty::Real) => self.parts.push(ArgumentPart::Real(*x)),
            (Value::Int(n), Ty::Int) => self.parts.push(ArgumentPart::Int(*n)),
            (Value::Bool(b), Ty::Bool) => self.parts.push(ArgumentPart::Bool(*b)),
            (Value::Reals(a), Ty::Array(_)) if is_dense(ty, &Ty::Real, a) => {
                self.parts.push(ArgumentPart::Reals(a));
            }
            (Value::Ints(a), Ty::Array(_)) if is_dense(ty, &Ty::Int, a) => {
                self.parts.push(ArgumentPart::Ints(a));
            }
            (Value::Bools(a), Ty::Array(_)) if is_dense(ty, &Ty::Bool, a) => {
                self.parts.push(ArgumentPart::Bools(a));
            }
            (Value::Tuple(parts), Ty::Tuple(types))
                if parts.len() == types.len() && layout.is_unboxed(ty) =>
            {
                for (i, (part, ty)) in parts.iter().zip(types.iter()).enumerate() {
                    let added = self.add(layout, part, ty);
                    added.map_err(|m| m.within(&format!(".{i}")))?;
                }
            }
            (Value::Record(given), Ty::Record(fields))
                if given.len() == fields.len() && layout.is_unboxed(ty) =>
            {
                for (name, ty) in fields.iter() {
                    let part =
                        value.field(name).ok_or_else(|| misfit(value, ty, layout.datas()))?;
                    let added = self.add(layout, part, ty);
                    added.map_err(|m| m.within(&format!(".{}", field_name(name))))?;
                }
            }
            _ => {
                let found = value;
                let value = ValueTypes { datas: layout.datas() }.core(value, ty)?;
                if has_interval(&value) {
                    return Err(misfit(found, ty, layout.datas()));
                }
                self.parts.extend(layout.flat(&value, ty).into_iter().map(ArgumentPart::Flat));
            }
        }
        Ok(())
    }
}

/// Whether an array of such elements is of a type, and complete.
fn is_dense<T: Clone>(ty: &Ty, element: &Ty, array: &Array<'_, T>) -> bool {
    let mut ty = ty;
    for _ in &array.sizes {
        let Ty::Array(inner) = ty else { return false };
        ty = inner;
    }
    let count = array.sizes.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
    ty == element && count == Some(array.data.len())
}

fn misfit(value: &Value<'_>, ty: &Ty, datas: &[DataDecl]) -> Box<Misfit> {
    let ty = diffeo_data::show_type(ty, datas);
    Box::new(Misfit { path: String::new(), ty, found: value.describe() })
}

/// The value of a type that consists of results from the `next` one on.
pub(super) fn result(
    layout: &Layout,
    results: &Results<'_>,
    ty: &Ty,
    next: &mut usize,
) -> Value<'static> {
    let i = *next;
    let sizes = |sizes: &[i64]| sizes.iter().map(|n| (*n).max(0) as usize).collect();
    let one = match ty {
        Ty::Unit => return Value::Unit,
        Ty::Real => results.real(i).map(Value::Real),
        Ty::Int => results.int(i).map(Value::Int),
        Ty::Bool => results.bool(i).map(Value::Bool),
        Ty::Tuple(types) if layout.is_unboxed(ty) => {
            let parts = types.iter().map(|ty| result(layout, results, ty, next)).collect();
            return Value::Tuple(parts);
        }
        Ty::Record(fields) if layout.is_unboxed(ty) => {
            let field = |(name, ty): &(diffeo_base::Name, Ty)| {
                (name.to_string().into(), result(layout, results, ty, next))
            };
            return Value::Record(fields.iter().map(field).collect());
        }
        Ty::Array(_) if is_numbers(ty) => results
            .reals(i)
            .map(|(xs, n)| Value::Reals(Array { data: xs.to_vec().into(), sizes: sizes(n) }))
            .or_else(|| {
                let (xs, n) = results.ints(i)?;
                Some(Value::Ints(Array { data: xs.to_vec().into(), sizes: sizes(n) }))
            })
            .or_else(|| {
                let (xs, n) = results.bools(i)?;
                let data: Vec<bool> = xs.iter().map(|b| *b != 0).collect();
                Some(Value::Bools(Array { data: data.into(), sizes: sizes(n) }))
            }),
        _ => None,
    };
    if let Some(value) = one {
        *next += 1;
        return value;
    }
    let width = layout.width(ty);
    let flat = (i..i + width).map(|i| results.value(i)).collect();
    *next += width;
    ValueTypes { datas: layout.datas() }.host(&layout.core(flat, ty), ty)
}

/// Whether a type is an array of numbers or truth values, of any number of indices.
fn is_numbers(ty: &Ty) -> bool {
    match ty {
        Ty::Array(element) => {
            matches!(**element, Ty::Real | Ty::Int | Ty::Bool) || is_numbers(element)
        }
        _ => false,
    }
}

impl ValueTypes<'_> {
    /// The declaration of a variant type and its arguments.
    fn variant<'a>(&'a self, ty: &'a Ty) -> Option<(&'a DataDecl, &'a [Ty])> {
        match ty {
            Ty::Data(id, args) => self.datas.get(id.0 as usize).map(|decl| (decl, &args[..])),
            _ => None,
        }
    }

    fn list<'a>(&'a self, ty: &'a Ty) -> Option<&'a Ty> {
        self.variant(ty).filter(|(decl, _)| decl.is(WellKnown::List)).map(|(_, args)| &args[0])
    }

    fn each(&self, values: &[Value<'_>], ty: &Ty) -> Converted<Vec<Core>> {
        let each = values.iter().enumerate();
        each.map(|(i, x)| self.core(x, ty).map_err(|m| m.within(&format!("[{i}]")))).collect()
    }

    /// The evaluator's value for a value of a type.
    ///
    /// # Errors
    /// The value does not fit the type.
    pub fn core(&self, value: &Value<'_>, ty: &Ty) -> Converted<Core> {
        let misfit = || misfit(value, ty, self.datas);
        match (value, ty) {
            (Value::Unit, Ty::Unit) => Ok(Core::Unit),
            (Value::Real(x), Ty::Real) => Ok(Core::Real(*x)),
            (Value::Interval(lo, hi), Ty::Real) => {
                Interval::new(*lo, *hi).map(enclosure).ok_or_else(misfit)
            }
            (Value::Int(n), Ty::Int) => Ok(Core::Int(*n)),
            (Value::Int(n), Ty::Real) => Ok(Core::Real(*n as f64)),
            (Value::Bool(b), Ty::Bool) => Ok(Core::Bool(*b)),
            (Value::String(text), Ty::String) => Ok(Core::string(text)),
            (Value::Tuple(components), Ty::Tuple(types)) if components.len() == types.len() => {
                let pairs = components.iter().zip(types.iter()).enumerate();
                let components: Converted<Vec<Core>> = pairs
                    .map(|(i, (x, ty))| self.core(x, ty).map_err(|m| m.within(&format!(".{i}"))))
                    .collect();
                Ok(Core::tuple(components?))
            }
            (Value::Record(given), Ty::Record(fields)) if given.len() == fields.len() => {
                let values: Converted<Vec<Core>> = fields
                    .iter()
                    .map(|(name, ty)| {
                        let field = value.field(name).ok_or_else(misfit)?;
                        let step = || format!(".{}", field_name(name));
                        self.core(field, ty).map_err(|m| m.within(&step()))
                    })
                    .collect();
                // A record of one field is the tuple of one.
                Ok(Core::tuple(values?))
            }
            (Value::Reals(_) | Value::Ints(_) | Value::Bools(_) | Value::Array(_), _) => {
                self.elements(value, ty)
            }
            (Value::Variant(name, fields), _) => {
                let (decl, args) = self.variant(ty).ok_or_else(misfit)?;
                let tag = decl.constructors.iter().position(|c| c.name == **name);
                let tag = tag.ok_or_else(misfit)? as u32;
                let types = decl.fields(tag, args);
                if types.len() != fields.len() {
                    return Err(misfit());
                }
                let fields: Converted<Vec<Core>> = fields
                    .iter()
                    .zip(&types)
                    .map(|(x, ty)| self.core(x, ty).map_err(|m| m.within(&format!(".{name}"))))
                    .collect();
                Ok(Core::data(tag, fields?))
            }
            _ => Err(misfit()),
        }
    }

    /// An array or a list.
    fn elements(&self, value: &Value<'_>, ty: &Ty) -> Converted<Core> {
        let misfit = || misfit(value, ty, self.datas);
        if let (Some(element), Some(elements)) = (self.list(ty), value.clone().elements()) {
            let elements = self.each(&elements, element)?;
            let nil = Core::data(NIL, []);
            let cons = |rest, x| Core::data(CONS, [x, rest]);
            return Ok(elements.into_iter().rev().fold(nil, cons));
        }
        let Ty::Array(element) = ty else { return Err(misfit()) };
        let dense = match (value, &**element) {
            (Value::Reals(a), Ty::Real) if a.sizes.len() == 1 => {
                Some(CoreArray::from_reals(a.data.to_vec()))
            }
            (Value::Ints(a), Ty::Int) if a.sizes.len() == 1 => {
                Some(CoreArray::from_ints(a.data.to_vec()))
            }
            (Value::Bools(a), Ty::Bool) if a.sizes.len() == 1 => {
                Some(CoreArray::from_bools(a.data.to_vec()))
            }
            _ => None,
        };
        if let Some(array) = dense {
            return Ok(Core::array(array));
        }
        let elements = value.clone().elements().ok_or_else(misfit)?;
        let elements = self.each(&elements, element)?;
        CoreArray::from_values(elements).map(Core::array).map_err(|kind| {
            let ty = diffeo_data::show_type(ty, self.datas);
            Box::new(Misfit { path: String::new(), ty, found: kind.message() })
        })
    }

    /// The value for one of the evaluator's, which holds no function.
    pub fn host(&self, value: &Core, ty: &Ty) -> Value<'static> {
        let all = |values: &[Core], types: &[Ty]| -> Vec<Value<'static>> {
            values.iter().zip(types).map(|(x, ty)| self.host(x, ty)).collect()
        };
        match (value, ty) {
            (Core::Real(x), _) => Value::Real(*x),
            (Core::Active(_), _) => match interval(value) {
                Some(x) => Value::Interval(x.lo(), x.hi()),
                None => Value::Real(f64::NAN),
            },
            (Core::Int(n), _) => Value::Int(*n),
            (Core::Bool(b), _) => Value::Bool(*b),
            (Core::String(text), _) => Value::String(text.to_string().into()),
            (Core::Array(array), Ty::Array(element)) => self.array(array, element),
            (Core::Tuple(_), Ty::Tuple(types)) => Value::Tuple(all(value.fields(), types)),
            (_, Ty::Record(fields)) => {
                let values = value.fields().iter().zip(fields.iter());
                let field = |(x, (name, ty)): (&Core, &(diffeo_base::Name, Ty))| {
                    (name.to_string().into(), self.host(x, ty))
                };
                Value::Record(values.map(field).collect())
            }
            (Core::Data(data), _) => {
                if let Some(element) = self.list(ty) {
                    let (mut elements, mut rest) = (Vec::new(), value);
                    while let [first, more] = rest.fields() {
                        elements.push(self.host(first, element));
                        rest = more;
                    }
                    return Value::Array(elements);
                }
                let Some((decl, args)) = self.variant(ty) else { return Value::Unit };
                let types = decl.fields(data.tag, args);
                let name = decl.constructors[data.tag as usize].name.to_string();
                Value::Variant(name.into(), all(&data.fields, &types))
            }
            _ => Value::Unit,
        }
    }

    fn array(&self, array: &CoreArray, element: &Ty) -> Value<'static> {
        let each = || array.iter().map(|x| self.host(&x, element));
        match element {
            Ty::Real => match array.reals() {
                Some(reals) => reals.to_vec().into(),
                None => {
                    let elements: Vec<Value<'static>> = each().collect();
                    let real = |x: &Value<'_>| match x {
                        Value::Real(x) => Some(*x),
                        _ => None,
                    };
                    // Some of them may be intervals.
                    match elements.iter().map(real).collect::<Option<Vec<f64>>>() {
                        Some(reals) => Value::Reals(Array::vector(reals)),
                        None => Value::Array(elements),
                    }
                }
            },
            Ty::Int => match array.ints() {
                Some(ints) => ints.to_vec().into(),
                None => Value::Array(each().collect()),
            },
            Ty::Bool => match array.bools() {
                Some(bools) => Value::Bools(Array::vector(bools.to_vec())),
                None => Value::Array(each().collect()),
            },
            // Rows of numbers are one array of more indices.
            element if is_numbers(element) => {
                let rows: Vec<Value<'static>> = each().collect();
                // Rows of intervals are none of numbers.
                match rows.iter().any(|row| matches!(row, Value::Array(_))) {
                    true => Value::Array(rows),
                    false => stacked(rows, element),
                }
            }
            _ => Value::Array(each().collect()),
        }
    }
}

/// Rows of one size as an array of one index more. Without rows, their sizes are not known: they are 0.
fn stacked(rows: Vec<Value<'static>>, element: &Ty) -> Value<'static> {
    fn joined<T: Clone + 'static>(rows: Vec<Array<'static, T>>, rank: usize) -> Array<'static, T> {
        let mut sizes = vec![rows.len()];
        sizes.extend(rows.first().map_or(&vec![0; rank], |row| &row.sizes));
        let data: Vec<T> = rows.into_iter().flat_map(|row| row.data.into_owned()).collect();
        Array { data: data.into(), sizes }
    }
    let (mut scalar, mut rank) = (element, 0);
    while let Ty::Array(inner) = scalar {
        (scalar, rank) = (inner, rank + 1);
    }
    macro_rules! of {
        ($kind:ident) => {{
            let rows = rows.into_iter().filter_map(|row| match row {
                Value::$kind(array) => Some(array),
                _ => None,
            });
            Value::$kind(joined(rows.collect(), rank))
        }};
    }
    match scalar {
        Ty::Int => of!(Ints),
        Ty::Bool => of!(Bools),
        _ => of!(Reals),
    }
}
