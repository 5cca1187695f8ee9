//! Values for points, tangents and cotangents.

use super::types::{datas, has_rows, LIST, ROW};
use super::Choices;
use diffeo_calculus::array::Array;
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

/// Makes values. Its Reals differ from one another, also where the choices are at their end.
pub struct ValueMaker<'c> {
    choices: Choices<'c>,
    /// How many Reals were made.
    count: u32,
}

/// The Real number so many for a choice: in (-2, 2), and simple for 0.
pub fn real_at(count: u32, choice: u16) -> f64 {
    match choice {
        0 => f64::from(count % 8 + 1) / 4.0,
        _ => (f64::from(choice) - 32768.0) / 16384.0 + f64::from(count) / 1048576.0,
    }
}

/// Whether a value has at most so many parts.
pub fn is_small(value: &Value, most: usize) -> bool {
    let mut pending = vec![value.clone()];
    let mut seen = 0;
    while let Some(value) = pending.pop() {
        seen += 1;
        if seen + pending.len() > most {
            return false;
        }
        pending.extend_from_slice(value.fields());
        if let Value::Array(array) = &value {
            pending.extend(array.iter().take(most));
        }
    }
    true
}

impl<'c> ValueMaker<'c> {
    /// Values by these choices.
    pub fn new(list: &'c [u16]) -> ValueMaker<'c> {
        ValueMaker { choices: Choices::new(list), count: 0 }
    }

    fn real(&mut self) -> f64 {
        self.count += 1;
        real_at(self.count, self.choices.number())
    }

    /// A value of a first-order type.
    pub fn of(&mut self, ty: &Ty) -> Value {
        self.value(ty, 2, false)
    }

    /// The same value with other Reals.
    pub fn direction(&mut self, value: &Value) -> Value {
        let moved = map_leaves(value, &mut |_| Ok::<_, String>(Value::Real(self.real())));
        moved.expect("no leaf fails")
    }

    fn value(&mut self, ty: &Ty, depth: usize, regular: bool) -> Value {
        match ty {
            Ty::Real => Value::Real(self.real()),
            Ty::Int => Value::Int(self.choices.below(6) as i64 - 1),
            Ty::Bool => Value::Bool(self.choices.flag()),
            Ty::String => Value::string(self.choices.pick(&["", "a", "ab"])),
            Ty::Unit => Value::Unit,
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                Value::tuple(
                    types.iter().map(|t| self.value(t, depth, regular)).collect::<Vec<_>>(),
                )
            }
            Ty::Array(element) => {
                let count = if regular { ROW } else { self.choices.pick(&[2, 1, 3, 0]) };
                let rows = has_rows(element);
                let items: Vec<Value> =
                    (0..count).map(|_| self.value(element, depth, rows)).collect();
                Value::array(Array::from_values(items).expect("rows of one length"))
            }
            Ty::Data(LIST, args) => {
                let count = self.choices.pick(&[2, 1, 3, 0]);
                let items: Vec<Value> =
                    (0..count).map(|_| self.value(&args[0], depth, false)).collect();
                let nil = Value::data(0, []);
                items.into_iter().rev().fold(nil, |tail, head| Value::data(1, [head, tail]))
            }
            Ty::Data(data, args) => {
                let decl = &datas()[data.0 as usize];
                let last = decl.constructors.len() as u32 - 1;
                let tag = match (depth, self.choices.flag()) {
                    (0, _) | (_, true) => 0,
                    (_, false) => last,
                };
                let fields = decl.fields(tag, args);
                let fields: Vec<Value> =
                    fields.iter().map(|t| self.value(t, depth.saturating_sub(1), false)).collect();
                Value::data(tag, fields)
            }
            Ty::Fun(_) | Ty::Param(_) => panic!("a point is of a first-order type"),
        }
    }
}
