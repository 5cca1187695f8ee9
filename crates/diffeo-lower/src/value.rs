//! Values of programs as the values of Flat that they consist of, and back.
//!
//! What always holds: the type decides how a value is read, never what the values of Flat look like, because a variant of
//! one constructor is the values of its fields; values are converted without recursion, so long lists and deep trees are
//! no matter; boxes that are shared stay shared.

use super::shape::Shape;
use diffeo_array::value::{Data, FlatArray, FlatValue, Object};
use diffeo_calculus::array::Array;
use diffeo_calculus::ty::DataDecl;
use diffeo_calculus::value::{Data as Variant, Value};
use diffeo_calculus::Ty;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::rc::Rc;

/// How the argument and the result of a program's entry are laid out.
#[derive(Debug, Serialize, Deserialize)]
pub struct Layout {
    /// The type of the argument, if the entry takes one.
    pub from: Option<Ty>,
    /// The type of the result.
    pub to: Ty,
    pub(super) shapes: HashMap<Ty, Shape>,
    pub(super) datas: Vec<DataDecl>,
}

/// How many values a shape consists of.
fn width(shape: &Shape) -> usize {
    match shape {
        Shape::Never | Shape::Unit => 0,
        Shape::Leaf(_) | Shape::Boxed(..) | Shape::Dynamic(_) => 1,
        Shape::Tuple(parts) | Shape::Con(_, _, parts) | Shape::Known(_, parts) => {
            parts.iter().map(width).sum()
        }
        Shape::Array(arrays) => arrays.len(),
        Shape::Sum(sum) => sum.types().count(),
    }
}

/// What is to be done on the way to Flat.
enum To {
    Visit(Value, Ty),
    /// A value that is ready.
    Ready(FlatValue),
    /// A box with so many of the last values as fields.
    New(u32, usize),
    /// The last value is the box of this one of this type, which others may refer to, too.
    Shared(*const Variant, Ty),
    /// A variant of this type with so many of the last values as fields.
    Slots(Ty, u32, usize),
    /// An array of these sizes with so many of the last values as elements.
    Elements(Vec<i64>, usize),
}

/// What is to be done on the way back.
enum From {
    Visit(Vec<FlatValue>, Ty),
    /// A value of a type that lies in a box.
    Open(Rc<Object>, Ty),
    Ready(Value),
    /// The last value is that of this type in this box, which others may refer to, too.
    Shared(Rc<Object>, Ty),
    /// The tuple of so many of the last values.
    Tuple(usize),
    /// The variant of so many of the last values.
    Data(u32, usize),
    /// The array of so many of the last values.
    Values(usize),
    /// The array of tuples of the elements of so many of the last arrays.
    Tuples(usize),
    /// So many rows of so many elements of the last array.
    Rows(usize, usize),
}

fn product(sizes: &[i64]) -> usize {
    sizes.iter().fold(1, |n: usize, size| n.saturating_mul(usize::try_from(*size).unwrap_or(0)))
}

impl Layout {
    fn shape(&self, ty: &Ty) -> &Shape {
        self.shapes.get(ty).unwrap_or(&Shape::Unit)
    }

    fn fields(&self, ty: &Ty, tag: u32) -> Vec<Ty> {
        match ty {
            Ty::Data(data, args) => {
                let decl = &self.datas[data.0 as usize];
                match (tag as usize) < decl.constructors.len() {
                    true => decl.fields(tag, args),
                    false => Vec::new(),
                }
            }
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Fun(_)
            | Ty::Param(_) => Vec::new(),
        }
    }

    /// The variant types of the program.
    pub fn datas(&self) -> &[DataDecl] {
        &self.datas
    }

    /// Whether a value of a tuple or record type is the values of its components, one after the other.
    pub fn is_unboxed(&self, ty: &Ty) -> bool {
        matches!(self.shape(ty), Shape::Tuple(_) | Shape::Unit)
    }

    /// How many values of Flat a value of a type consists of.
    pub fn width(&self, ty: &Ty) -> usize {
        width(self.shape(ty))
    }

    /// The values of Flat for a value of a type.
    pub fn flat(&self, value: &Value, ty: &Ty) -> Vec<FlatValue> {
        self.to_flat(value, ty)
    }

    /// The value of a type that consists of these.
    pub fn core(&self, values: Vec<FlatValue>, ty: &Ty) -> Value {
        self.value_of(values, ty)
    }

    /// The values of Flat for an argument.
    pub fn arguments(&self, arg: &Value) -> Vec<FlatValue> {
        match &self.from {
            Some(ty) => self.to_flat(arg, ty),
            None => Vec::new(),
        }
    }

    /// The value of a program for its results.
    pub fn result(&self, results: Vec<FlatValue>) -> Value {
        self.value_of(results, &self.to)
    }

    /// Whether the Reals that the constructors of variants do not have are 0 in results, outside boxes. Arrays that
    /// they do not have may be any.
    #[must_use]
    pub fn absent_reals_are_zero(&self, results: &[FlatValue]) -> bool {
        let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let right = self.to_flat(&self.result(results.to_vec()), &self.to);
        results.iter().zip(&right).all(|(found, right)| match (found, right) {
            (FlatValue::Real(x), FlatValue::Real(y)) => x.to_bits() == y.to_bits(),
            (FlatValue::Array(x), FlatValue::Array(y)) => {
                x.sizes() != y.sizes() || x.reals().map(bits) == y.reals().map(bits)
            }
            (_, _) => true,
        })
    }

    // To Flat

    fn to_flat(&self, value: &Value, ty: &Ty) -> Vec<FlatValue> {
        let mut tasks = vec![To::Visit(value.clone(), ty.clone())];
        let mut done: Vec<FlatValue> = Vec::new();
        let mut shared: HashMap<(*const Variant, Ty), FlatValue> = HashMap::new();
        while let Some(task) = tasks.pop() {
            match task {
                To::Ready(value) => done.push(value),
                To::Shared(variant, ty) => {
                    if let Some(value) = done.last() {
                        shared.insert((variant, ty), value.clone());
                    }
                }
                To::Visit(value, ty) => {
                    if let Value::Data(variant) = &value {
                        let boxed = !matches!(self.shape(&ty), Shape::Sum(_));
                        // Besides this task and what it is a part of.
                        if boxed && Rc::strong_count(variant) > 2 {
                            let key = (Rc::as_ptr(variant), ty.clone());
                            if let Some(value) = shared.get(&key) {
                                done.push(value.clone());
                                continue;
                            }
                            tasks.push(To::Shared(key.0, key.1));
                        }
                    }
                    self.visit(&value, &ty, &mut tasks, &mut done);
                }
                To::New(tag, count) => {
                    let fields = done.split_off(done.len() - count);
                    done.push(FlatValue::object(tag, fields));
                }
                To::Slots(ty, tag, count) => {
                    let fields = done.split_off(done.len() - count);
                    if let Shape::Sum(sum) = self.shape(&ty) {
                        if sum.tagged() {
                            done.push(FlatValue::Int(i64::from(tag)));
                        }
                        let mut slots: Vec<FlatValue> =
                            sum.slots.iter().map(FlatValue::unused).collect();
                        if let Some(alternative) = sum.alternatives.get(tag as usize) {
                            for (slot, field) in alternative.slots.iter().zip(fields) {
                                slots[*slot] = field;
                            }
                        }
                        done.append(&mut slots);
                    }
                }
                To::Elements(sizes, count) => {
                    let elements = done.split_off(done.len() - count);
                    done.push(flat(&sizes, Data::Values(Rc::new(elements))));
                }
            }
        }
        done
    }

    fn visit(&self, value: &Value, ty: &Ty, tasks: &mut Vec<To>, done: &mut Vec<FlatValue>) {
        match (value, ty) {
            (Value::Real(x), _) => done.push(FlatValue::Real(*x)),
            (Value::Int(n), _) => done.push(FlatValue::Int(*n)),
            (Value::Bool(b), _) => done.push(FlatValue::Bool(*b)),
            (Value::String(text), _) => done.push(FlatValue::Text(text.clone())),
            (Value::Tuple(_), _) => {
                let types = ty.components().unwrap_or_default();
                if matches!(self.shape(ty), Shape::Boxed(..)) {
                    tasks.push(To::New(0, types.iter().map(|ty| width(self.shape(ty))).sum()));
                }
                let parts = value.fields().iter().zip(types).rev();
                tasks.extend(parts.map(|(part, ty)| To::Visit(part.clone(), ty)));
            }
            (Value::Data(data), _) => self.visit_data(data.tag, value, ty, tasks),
            (Value::Array(array), Ty::Array(element)) => {
                let mut leaves = Vec::new();
                self.columns(array, element, vec![array.len() as i64], &mut leaves);
                tasks.extend(leaves.into_iter().rev());
            }
            // Values from outside are no functions and carry no derivatives.
            (
                Value::Unit
                | Value::Array(_)
                | Value::Function(_)
                | Value::Dual { .. }
                | Value::Active(_)
                | Value::Zero,
                _,
            ) => {}
        }
    }

    fn visit_data(&self, tag: u32, value: &Value, ty: &Ty, tasks: &mut Vec<To>) {
        let types = self.fields(ty, tag);
        let count = types.iter().map(|ty| width(self.shape(ty))).sum();
        tasks.push(match self.shape(ty) {
            Shape::Sum(_) => To::Slots(ty.clone(), tag, count),
            _ => To::New(tag, count),
        });
        let fields = value.fields().iter().zip(types).rev();
        tasks.extend(fields.map(|(field, ty)| To::Visit(field.clone(), ty)));
    }

    /// What gives the arrays that an array of elements of a type consists of. The sizes are those down to its
    /// elements, which lie in `array` one after the other.
    fn columns(&self, array: &Array, ty: &Ty, sizes: Vec<i64>, out: &mut Vec<To>) {
        let ready = |data: Data| To::Ready(flat(&sizes, data));
        match ty {
            Ty::Real => {
                let xs = array.reals().unwrap_or_default().to_vec();
                out.push(ready(Data::Reals(Rc::new(xs))));
            }
            Ty::Int => {
                let xs = array.ints().unwrap_or_default().to_vec();
                out.push(ready(Data::Ints(Rc::new(xs))));
            }
            Ty::Bool => {
                let xs = array.bools().unwrap_or_default().to_vec();
                out.push(ready(Data::Bools(Rc::new(xs))));
            }
            Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                out.push(ready(Data::Bools(Rc::new(vec![false; array.len()]))));
            }
            Ty::Array(element) => {
                let (width, rows) = match array.flat() {
                    Some((width, rows)) => (width as i64, rows),
                    None => (-1, Array::empty()),
                };
                let sizes = [sizes, vec![width]].concat();
                self.columns(&rows, element, sizes, out);
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                if types.is_empty() {
                    out.push(ready(Data::Bools(Rc::new(vec![false; array.len()]))));
                }
                for (i, ty) in types.iter().enumerate() {
                    let column = array.field(i).unwrap_or_else(Array::empty);
                    self.columns(&column, ty, sizes.clone(), out);
                }
            }
            Ty::String => self.elements(array, ty, sizes, out),
            Ty::Data(..) => match self.shape(ty) {
                Shape::Sum(sum) if sum.boxed.is_none() => {
                    let elements = array.iter().map(|value| self.to_flat(&value, ty));
                    let elements: Vec<Vec<FlatValue>> = elements.collect();
                    let types: Vec<_> = sum.types().collect();
                    if types.is_empty() {
                        out.push(ready(Data::Bools(Rc::new(vec![false; array.len()]))));
                    }
                    for i in 0..types.len() {
                        out.push(ready(data(
                            elements.iter().map(|element| &element[i]),
                            &types[i],
                        )));
                    }
                }
                _ => self.elements(array, ty, sizes, out),
            },
        }
    }

    fn elements(&self, array: &Array, ty: &Ty, sizes: Vec<i64>, out: &mut Vec<To>) {
        // What is given here is done from the last to the first.
        let mut tasks = vec![To::Elements(sizes, array.len())];
        for value in array.iter().rev() {
            match (&value, self.shape(ty)) {
                (Value::Data(data), Shape::Sum(_)) => {
                    // In an array it is a box, whatever it is elsewhere.
                    let types = self.fields(ty, data.tag);
                    tasks.push(To::New(
                        data.tag,
                        types.iter().map(|ty| width(self.shape(ty))).sum(),
                    ));
                    let fields = value.fields().iter().zip(types).rev();
                    tasks.extend(fields.map(|(field, ty)| To::Visit(field.clone(), ty)));
                }
                _ => tasks.push(To::Visit(value, ty.clone())),
            }
        }
        out.extend(tasks.into_iter().rev());
    }

    // Back

    fn value_of(&self, values: Vec<FlatValue>, ty: &Ty) -> Value {
        let mut tasks = vec![From::Visit(values, ty.clone())];
        let mut done: Vec<Value> = Vec::new();
        // The boxes are kept, so that no other one gets the address of one of them.
        let mut shared: HashMap<(*const Object, Ty), (Rc<Object>, Value)> = HashMap::new();
        let arrays = |values: Vec<Value>| -> Vec<Array> {
            let arrays = values.into_iter().filter_map(|value| match value {
                Value::Array(array) => Some(Array::clone(&array)),
                _ => None,
            });
            arrays.collect()
        };
        while let Some(task) = tasks.pop() {
            match task {
                From::Ready(value) => done.push(value),
                From::Shared(object, ty) => {
                    if let Some(value) = done.last() {
                        shared.insert((Rc::as_ptr(&object), ty), (object, value.clone()));
                    }
                }
                From::Visit(values, ty) => self.leave(values, &ty, &mut tasks),
                From::Open(object, ty) => {
                    let key = (Rc::as_ptr(&object), ty);
                    if let Some((_, value)) = shared.get(&key) {
                        done.push(value.clone());
                        continue;
                    }
                    let (tag, fields) = (object.tag, object.fields.to_vec());
                    // Besides this task and what it is a part of.
                    if Rc::strong_count(&object) > 2 {
                        tasks.push(From::Shared(object, key.1.clone()));
                    }
                    self.leave_fields(tag, fields, &key.1, &mut tasks);
                }
                From::Tuple(count) => {
                    let parts = done.split_off(done.len() - count);
                    done.push(Value::tuple(parts));
                }
                From::Data(tag, count) => {
                    let fields = done.split_off(done.len() - count);
                    done.push(Value::data(tag, fields));
                }
                From::Values(count) => {
                    let values = done.split_off(done.len() - count);
                    // They are texts, `()` or variants: there are no rows that could be irregular.
                    done.push(Value::array(Array::from_values(values).unwrap_or(Array::empty())));
                }
                From::Tuples(count) => {
                    let columns = arrays(done.split_off(done.len() - count));
                    done.push(Value::array(Array::tuples(columns)));
                }
                From::Rows(rows, width) => {
                    let last = done.pop().into_iter().collect();
                    if let Some(flat) = arrays(last).pop() {
                        done.push(Value::array(Array::rows(rows, width, flat)));
                    }
                }
            }
        }
        done.pop().unwrap_or(Value::Unit)
    }

    /// What there is to do for a value of a type that consists of these.
    fn leave(&self, values: Vec<FlatValue>, ty: &Ty, tasks: &mut Vec<From>) {
        match ty {
            Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                tasks.push(From::Ready(values.first().map_or(Value::Unit, scalar)));
            }
            Ty::Tuple(_) | Ty::Record(_) | Ty::Data(..) => match self.shape(ty) {
                Shape::Tuple(_) => self.leave_fields(0, values, ty, tasks),
                Shape::Sum(sum) => {
                    let (tag, slots) = match (sum.tagged(), values.split_first()) {
                        (true, Some((FlatValue::Int(tag), slots))) => (*tag as u32, slots),
                        _ => (0, &values[..]),
                    };
                    let places = sum.alternatives.get(tag as usize).map(|a| &a.slots[..]);
                    let places = places.unwrap_or_default().iter();
                    let fields = places.filter_map(|slot| slots.get(*slot).cloned()).collect();
                    self.leave_fields(tag, fields, ty, tasks);
                }
                _ => tasks.push(open(values.into_iter().next(), ty)),
            },
            Ty::Array(element) => {
                let arrays = values.into_iter().filter_map(|value| match value {
                    FlatValue::Array(array) => Some(*array),
                    _ => None,
                });
                self.leave_array(arrays.collect(), element, 0, tasks);
            }
        }
    }

    /// A tuple, record or variant of a type, by its fields.
    fn leave_fields(&self, tag: u32, fields: Vec<FlatValue>, ty: &Ty, tasks: &mut Vec<From>) {
        let types = match ty.components() {
            Some(types) => {
                tasks.push(From::Tuple(types.len()));
                types
            }
            None => {
                let types = self.fields(ty, tag);
                tasks.push(From::Data(tag, types.len()));
                types
            }
        };
        let mut values = fields.into_iter();
        let mut parts = Vec::new();
        for ty in types {
            let part = values.by_ref().take(width(self.shape(&ty))).collect();
            parts.push(From::Visit(part, ty));
        }
        tasks.extend(parts.into_iter().rev());
    }

    /// An array whose elements lie so many dimensions inside of arrays of Flat.
    fn leave_array(&self, arrays: Vec<FlatArray>, ty: &Ty, depth: usize, tasks: &mut Vec<From>) {
        let Some(first) = arrays.first() else { return };
        let sizes = first.sizes();
        let count = product(&sizes[..=depth]);
        let ready = |array: Array| From::Ready(Value::array(array));
        let all = |array: &FlatArray| -> Vec<Value> {
            (0..array.count()).map(|i| scalar(&array.element(i))).collect()
        };
        match ty {
            Ty::Array(element) => match sizes.get(depth + 1) {
                Some(width) if *width >= 0 => {
                    tasks.push(From::Rows(count, *width as usize));
                    self.leave_array(arrays, element, depth + 1, tasks);
                }
                _ => tasks.push(ready(Array::empty())),
            },
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                if types.is_empty() {
                    tasks.extend([From::Values(count)]);
                    tasks.extend((0..count).map(|_| From::Tuple(0)));
                    return;
                }
                tasks.push(From::Tuples(types.len()));
                let mut rest = arrays;
                for ty in types.into_iter().rev() {
                    let first = rest.len() - self.element_width(&ty);
                    self.leave_array(rest.split_off(first), &ty, depth, tasks);
                }
            }
            Ty::Real => tasks.push(ready(Array::from_reals(
                first.reals().map(<[f64]>::to_vec).unwrap_or_default(),
            ))),
            Ty::Int => tasks.push(ready(Array::from_ints(
                first.ints().map(<[i64]>::to_vec).unwrap_or_default(),
            ))),
            Ty::Bool => {
                let bools = all(first).into_iter().map(|b| matches!(b, Value::Bool(true)));
                tasks.push(ready(Array::from_bools(bools.collect())));
            }
            Ty::Unit | Ty::Fun(_) | Ty::Param(_) => {
                tasks.push(From::Values(count));
                tasks.extend((0..count).map(|_| From::Ready(Value::Unit)));
            }
            Ty::String | Ty::Data(..) => {
                tasks.push(From::Values(count));
                let is_boxed = matches!(self.shape(ty), Shape::Sum(sum) if sum.boxed.is_some());
                let elements = (0..count).rev().map(|i| {
                    let mut values = arrays.iter().map(|array| array.element(i));
                    match is_boxed {
                        true => open(values.next(), ty),
                        false => From::Visit(values.collect(), ty.clone()),
                    }
                });
                tasks.extend(elements);
            }
        }
    }

    /// How many arrays an array of elements of a type consists of.
    fn element_width(&self, ty: &Ty) -> usize {
        match self.shape(&Ty::array(ty.clone())) {
            Shape::Array(arrays) => arrays.len(),
            _ => match ty {
                Ty::Tuple(_) | Ty::Record(_) => {
                    let types = ty.components().unwrap_or_default();
                    types.iter().map(|ty| self.element_width(ty)).sum::<usize>().max(1)
                }
                Ty::Array(element) => self.element_width(element),
                Ty::Data(..) => match self.shape(ty) {
                    Shape::Sum(sum) if sum.boxed.is_none() => sum.types().count().max(1),
                    _ => 1,
                },
                Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Fun(_)
                | Ty::Param(_) => 1,
            },
        }
    }
}

/// What there is to do for a value of a type that lies in a box.
fn open(value: Option<FlatValue>, ty: &Ty) -> From {
    match value {
        Some(FlatValue::Box(object)) => From::Open(object, ty.clone()),
        _ => From::Ready(Value::Unit),
    }
}

/// An array of these sizes.
fn flat(sizes: &[i64], data: Data) -> FlatValue {
    let rows = data.len() as i64;
    let array = FlatArray::new(sizes, data.clone());
    // A Core array of rows has as many elements as its sizes say.
    FlatValue::array(array.unwrap_or_else(|| {
        debug_assert_eq!(rows, product(sizes) as i64);
        FlatArray::vector(data)
    }))
}

/// The elements of one kind.
fn data<'v>(values: impl Iterator<Item = &'v FlatValue>, ty: &diffeo_array::ir::FlatTy) -> Data {
    use diffeo_array::ir::FlatTy;
    let values: Vec<&FlatValue> = values.collect();
    match ty {
        FlatTy::Real => Data::Reals(Rc::new(
            values.iter().map(|v| if let FlatValue::Real(x) = v { *x } else { 0.0 }).collect(),
        )),
        FlatTy::Int => Data::Ints(Rc::new(
            values.iter().map(|v| if let FlatValue::Int(n) = v { *n } else { 0 }).collect(),
        )),
        FlatTy::Bool => Data::Bools(Rc::new(
            values.iter().map(|v| matches!(v, FlatValue::Bool(true))).collect(),
        )),
        FlatTy::Text | FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
            Data::Values(Rc::new(values.into_iter().cloned().collect()))
        }
    }
}

/// A scalar.
fn scalar(value: &FlatValue) -> Value {
    match value {
        FlatValue::Real(x) => Value::Real(*x),
        FlatValue::Int(n) => Value::Int(*n),
        FlatValue::Bool(b) => Value::Bool(*b),
        FlatValue::Text(text) => Value::String(text.clone()),
        FlatValue::Array(_)
        | FlatValue::Box(_)
        | FlatValue::Null
        | FlatValue::Acc(_)
        | FlatValue::Stack(_) => Value::Unit,
    }
}
