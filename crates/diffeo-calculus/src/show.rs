//! Values as Diffeo writes them.
//!
//! What comes in: a value of a first-order type, with the type. What goes out: an expression of Diffeo that
//! has this value (records, tuples, arrays, `list[…]`, constructors, texts with their escapes; only nan and
//! infinities are written by name). What always holds: numbers read back exactly, a Real is never mistaken
//! for an Int, an active Real shows its primal; and the depth of the value costs no stack.

mod interval;

pub use interval::{compare_decimal, interval, parse_interval};

use crate::array::Array;
use crate::prim::interval::Interval;
use crate::ty::{DataDecl, Ty, WellKnown};
use crate::value::{Parts, Value};
use diffeo_base::field_name;
use std::rc::Rc;

pub use diffeo_base::{is_escaped, quoted as string};

/// A value of this type, as Diffeo writes it.
pub fn show(value: &Value, ty: &Ty, datas: &[DataDecl]) -> String {
    show_with(value, ty, datas, &|_, _| None)
}

/// The same, but parts for which `special` has a text as that.
pub fn show_with(
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
    special: &dyn Fn(&Value, &Ty) -> Option<String>,
) -> String {
    let mut out = String::new();
    let mut tasks = vec![ShowTask::Value(value.clone(), ty.clone())];
    while let Some(task) = tasks.pop() {
        match task {
            ShowTask::Text(text) => out.push_str(text),
            ShowTask::Value(value, ty) => match special(&value, &ty) {
                Some(text) => out.push_str(&text),
                None => show_value(value, &ty, datas, &mut out, &mut tasks),
            },
            ShowTask::Labelled(label, value, ty) => {
                out.push_str(&label);
                out.push_str(" = ");
                tasks.push(ShowTask::Value(value, ty));
            }
            ShowTask::Elements(array, next, ty) => match next {
                n if n == array.len() => out.push(']'),
                n => {
                    out.push_str(if n == 0 { "" } else { ", " });
                    let element = array.get(n);
                    tasks.push(ShowTask::Elements(array, n + 1, ty.clone()));
                    tasks.push(ShowTask::Value(element, ty));
                }
            },
            ShowTask::List(list, separator, ty) => match list.fields() {
                [head, tail] => {
                    out.push_str(separator);
                    tasks.push(ShowTask::List(tail.clone(), ", ", ty.clone()));
                    tasks.push(ShowTask::Value(head.clone(), ty));
                }
                _ => out.push(']'),
            },
        }
    }
    out
}

/// A number as Diffeo writes a Real: the shortest text that reads back exactly, always with a point or
/// an exponent.
pub fn real(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    format!("{x:?}")
}

/// What is still to be written.
enum ShowTask {
    Text(&'static str),
    Value(Value, Ty),
    /// A field of a record.
    Labelled(String, Value, Ty),
    /// The elements from this one on, and the closing bracket.
    Elements(Rc<Array>, usize, Ty),
    /// The rest of a list, what stands before its next element, and the closing bracket.
    List(Value, &'static str, Ty),
}

fn show_value(
    value: Value,
    ty: &Ty,
    datas: &[DataDecl],
    out: &mut String,
    tasks: &mut Vec<ShowTask>,
) {
    match (&value, ty) {
        (Value::Unit, _) => out.push_str("()"),
        (Value::Real(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero, _) => {
            let text = match undifferentiated(&value) {
                Real::Number(x) => real(x),
                Real::Interval(x) => interval(x),
            };
            out.push_str(&text);
        }
        (Value::Int(n), _) => out.push_str(&n.to_string()),
        (Value::Bool(b), _) => out.push_str(&b.to_string()),
        (Value::String(s), _) => out.push_str(&string(s)),
        (Value::Tuple(t), Ty::Tuple(tys)) => {
            out.push('(');
            push_all(t.0.iter().zip(tys.iter()), ")", tasks);
        }
        (Value::Tuple(t), Ty::Record(fields)) => {
            out.push('{');
            tasks.push(ShowTask::Text("}"));
            for (i, (v, (name, ty))) in t.0.iter().zip(fields.iter()).enumerate().rev() {
                tasks.push(ShowTask::Labelled(
                    field_name(name).into_owned(),
                    v.clone(),
                    ty.clone(),
                ));
                tasks.push(ShowTask::Text(if i == 0 { "" } else { ", " }));
            }
        }
        (Value::Array(a), Ty::Array(element)) => {
            out.push('[');
            match a.reals() {
                Some(xs) => {
                    let xs: Vec<String> = xs.iter().map(|x| real(*x)).collect();
                    out.push_str(&xs.join(", "));
                    out.push(']');
                }
                None => tasks.push(ShowTask::Elements(a.clone(), 0, Ty::clone(element))),
            }
        }
        (Value::Data(d), Ty::Data(id, args)) => {
            let decl = &datas[id.0 as usize];
            if decl.is(WellKnown::List) {
                out.push_str("list[");
                tasks.push(ShowTask::List(value, "", args[0].clone()));
                return;
            }
            out.push_str(&decl.constructors[d.tag as usize].name);
            if !d.fields.is_empty() {
                out.push('(');
                let tys = decl.fields(d.tag, args);
                push_all(d.fields.iter().zip(&tys), ")", tasks);
            }
        }
        (Value::Function(_), _) => out.push_str("<function>"),
        // Only a program that does not lint comes here.
        (Value::Tuple(_) | Value::Array(_) | Value::Data(_), _) => out.push_str("<ill-typed>"),
    }
}

/// Leaves the components to be written, with commas, and what closes them.
fn push_all<'a>(
    components: impl DoubleEndedIterator<Item = (&'a Value, &'a Ty)> + ExactSizeIterator,
    close: &'static str,
    tasks: &mut Vec<ShowTask>,
) {
    tasks.push(ShowTask::Text(close));
    for (i, (value, ty)) in components.enumerate().rev() {
        tasks.push(ShowTask::Value(value.clone(), ty.clone()));
        tasks.push(ShowTask::Text(if i == 0 { "" } else { ", " }));
    }
}

/// A Real without what is known of its derivatives.
enum Real {
    Number(f64),
    Interval(Interval),
}

fn undifferentiated(value: &Value) -> Real {
    let mut value = value;
    loop {
        value = match value {
            Value::Real(x) | Value::Dual { primal: x, .. } => return Real::Number(*x),
            Value::Zero => return Real::Number(0.0),
            Value::Active(a) => match &a.parts {
                Parts::Tape { primal, .. } => primal,
                Parts::Jet(coefficients) => &coefficients[0],
                Parts::Interval(interval) => return Real::Interval(*interval),
            },
            Value::Unit
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Tuple(_)
            | Value::Data(_)
            | Value::Array(_)
            | Value::Function(_) => return Real::Number(f64::NAN),
        };
    }
}

#[cfg(test)]
mod tests;
