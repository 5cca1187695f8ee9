//! Values that are not known, or not wholly: joins, loops, operations.
//!
//! What comes in: values of several paths. What goes out: the value that stands for each of them, with the derivatives of
//! all.

use super::UNKNOWN;
use crate::array::{Array, ArrayBuilder};
use crate::eval::derivative::level::level_of;
use crate::eval::derivative::{any_function_of, Caller};
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::machine::access::closure;
use crate::eval::machine::Machine;
use crate::eval::ops::{self, PrimContext};
use crate::eval::reals::primal;
use crate::leaves::is_real;
use crate::prim::{Prim, RealOp};
use crate::ty::Ty;
use crate::value::{Data, Fields, FunctionValue, Value};
use diffeo_base::{deep, Span};
use std::rc::Rc;

impl Machine {
    pub(super) fn join_all(
        &mut self,
        a: &[Value],
        b: &[Value],
        site: Span,
    ) -> Result<Vec<Value>, RuntimeError> {
        a.iter().zip(b).map(|(a, b)| self.join(a, b, site)).collect()
    }

    /// The value that is one of two.
    pub(super) fn join(&mut self, a: &Value, b: &Value, site: Span) -> Result<Value, RuntimeError> {
        match (a, b) {
            // Given back on one path, it is not used behind.
            (Value::Unit, _) | (_, Value::Unit) => Ok(Value::Unit),
            (a, b) if same(a, b) => Ok(a.clone()),
            (a, b) if is_real(a) && is_real(b) => self.total(&[a.clone(), b.clone()], site),
            (number, Value::Int(_) | Value::Bool(_) | Value::String(_))
            | (Value::Int(_) | Value::Bool(_) | Value::String(_), number)
                if is_real(number) =>
            {
                self.total(std::slice::from_ref(number), site)
            }
            (a, b) if is_real(a) || is_real(b) => self.collapse(&[a, b], site),
            (Value::Int(_), Value::Int(_))
            | (Value::Bool(_), Value::Bool(_))
            | (Value::String(_), Value::String(_)) => Ok(UNKNOWN),
            (Value::Tuple(x), Value::Tuple(y)) if x.0.len() == y.0.len() => {
                let fields = deep(|| self.join_all(&x.0, &y.0, site))?;
                Ok(Value::Tuple(Rc::new(Fields(fields.into_iter().collect()))))
            }
            (Value::Data(x), Value::Data(y)) if x.tag == y.tag => {
                let fields = deep(|| self.join_all(&x.fields, &y.fields, site))?;
                Ok(Value::Data(Rc::new(Data { tag: x.tag, fields: fields.into_iter().collect() })))
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() && x.width() == y.width() => {
                let mut elements = Vec::with_capacity(x.len());
                for (x, y) in x.iter().zip(y.iter()) {
                    elements.push(deep(|| self.join(&x, &y, site))?);
                }
                match elements.is_empty() {
                    true => Ok(a.clone()),
                    false => self.array_of(elements, site),
                }
            }
            (Value::Function(_), Value::Function(_)) => match (closure(a), closure(b)) {
                (Some((f, x)), Some((g, y))) if f == g && x.len() == y.len() => {
                    let captured = deep(|| self.join_all(x, y, site))?;
                    let closure =
                        FunctionValue::Closure { code: f, captured: captured.into_boxed_slice() };
                    Ok(Value::Function(Rc::new(closure)))
                }
                _ => self.collapse(&[a, b], site),
            },
            (Value::Data(_), Value::Data(_)) | (Value::Array(_), Value::Array(_)) => {
                self.collapse(&[a, b], site)
            }
            // Values of two types: the register holds nothing that is used behind.
            _ => Ok(Value::Unit),
        }
    }

    /// One of the elements of an array.
    pub(super) fn any_of(&mut self, elements: &Array, site: Span) -> Result<Value, RuntimeError> {
        let mut all = elements.iter();
        let Some(mut one) = all.next() else {
            return Err(self.error(ErrorKind::IndexOutOfBounds { index: 0, length: 0 }, site));
        };
        for other in all {
            one = self.join(&one, &other, site)?;
        }
        Ok(one)
    }

    /// The array of these elements; one number if they do not make one.
    pub(super) fn array_of(
        &mut self,
        elements: Vec<Value>,
        site: Span,
    ) -> Result<Value, RuntimeError> {
        let mut builder = ArrayBuilder::new(elements.len());
        for element in &elements {
            if builder.push(element.clone()).is_err() {
                return self.collapse(&elements.iter().collect::<Vec<_>>(), site);
            }
        }
        Ok(Value::array(builder.finish()))
    }

    pub(super) fn update_paths(
        &mut self,
        array: Value,
        index: Value,
        value: Value,
        site: Span,
    ) -> Result<Value, RuntimeError> {
        match (&array, &index) {
            (Value::Array(elements), number) if is_real(number) => {
                let mut all = Vec::with_capacity(elements.len());
                for element in elements.iter() {
                    all.push(self.join(&element, &value, site)?);
                }
                self.array_of(all, site)
            }
            (Value::Array(_), Value::Int(i)) => {
                let i = *i;
                let kept = (!is_real(&value)).then(|| (array.clone(), value.clone()));
                match (ops::update(array, &[i], value, &mut self.operations), kept) {
                    (Err(ErrorKind::Internal { .. }), Some((array, value))) => {
                        self.collapse(&[&array, &value], site)
                    }
                    (result, _) => result.map_err(|kind| self.error(kind, site)),
                }
            }
            _ => self.collapse(&[&array, &index, &value], site),
        }
    }

    /// A primitive operation.
    pub(super) fn prim(
        &mut self,
        prim: &Prim,
        args: Vec<Value>,
        site: Span,
    ) -> Result<Value, ErrorKind> {
        let unknown = |v: &Value| holds_nan(v);
        match prim {
            Prim::Trace(_) | Prim::Progress(_) => {
                return Ok(args.into_iter().next_back().unwrap_or(Value::Unit))
            }
            Prim::Warn => return Ok(Value::Unit),
            Prim::Fail(_) if args.iter().any(is_real) => {
                return Err(ErrorKind::Fail { message: String::new() })
            }
            Prim::Round(_)
            | Prim::IsNan
            | Prim::Compare(..)
            | Prim::Not
            | Prim::Int(_)
            | Prim::Show(_)
            | Prim::Text(_)
            | Prim::AppendStrings
            | Prim::Length(_)
                if args.iter().any(unknown) =>
            {
                return Ok(UNKNOWN)
            }
            Prim::ToReal if args.iter().any(is_real) => {
                return Ok(args.into_iter().next().unwrap_or(UNKNOWN))
            }
            Prim::ArgSort(_) if args.iter().any(unknown) => {
                let length = match args.first() {
                    Some(Value::Array(array)) => array.len(),
                    _ => return Ok(UNKNOWN),
                };
                return Ok(Value::array(Array::from_reals(vec![f64::NAN; length])));
            }
            Prim::Ravel(ty) | Prim::Unravel(ty) | Prim::Labels(ty)
                if !of_reals(ty) && args.iter().any(unknown) =>
            {
                let all: Vec<&Value> = args.iter().collect();
                return self.collapse(&all, site).map_err(|error| error.kind);
            }
            Prim::Index(_) => {
                if let [Value::Array(elements), number] = &args[..] {
                    if is_real(number) {
                        let elements = elements.clone();
                        return self.any_of(&elements, site).map_err(|error| error.kind);
                    }
                }
            }
            _ => {}
        }
        let in_place = matches!(prim, Prim::Update(_));
        let kept = match in_place && !args.iter().any(is_real) {
            true => Vec::new(),
            false => args.clone(),
        };
        let mut context = PrimContext {
            reals: &mut self.reals,
            operations: &mut self.operations,
            smooth: false,
            program: &self.program,
            events: &mut *self.options.events,
            site,
        };
        match ops::apply(&mut context, prim, args.into_iter().collect()) {
            Err(ErrorKind::Internal { .. }) if !kept.is_empty() => {
                let all: Vec<&Value> = kept.iter().collect();
                self.collapse(&all, site).map_err(|error| error.kind)
            }
            result => result,
        }
    }

    /// The number that depends on all that the numbers do, which is not known.
    fn total(&mut self, numbers: &[Value], site: Span) -> Result<Value, RuntimeError> {
        let mut sum = UNKNOWN;
        for number in numbers.iter().filter(|v| level_of(v) > 0) {
            let added = self.reals.op(RealOp::Add, &sum, number, site);
            sum = added.map_err(|kind| self.error(kind, site))?;
        }
        Ok(sum)
    }

    /// One number for values that are not known any more.
    pub(super) fn collapse(
        &mut self,
        values: &[&Value],
        site: Span,
    ) -> Result<Value, RuntimeError> {
        self.paths.vague = true;
        let made = any_function_of(&mut self.reals, values, site);
        made.map_err(|kind| self.error(kind, site))
    }

    /// One number for all registers and what the function captured.
    pub(super) fn everything(
        &mut self,
        registers: &[Value],
        this: &Value,
        site: Span,
    ) -> Result<Value, RuntimeError> {
        let all: Vec<&Value> = registers.iter().chain([this]).collect();
        self.collapse(&all, site)
    }
}

/// Makes a register at the beginning of a loop hold what it holds after a step, too: whether that is anything new. What
/// differs becomes the number for all of it.
pub(super) fn widen(old: &mut Value, new: &Value, everything: &Value, wholly: bool) -> bool {
    if matches!(old, Value::Unit) || same(old, new) || same(old, everything) {
        return false;
    }
    if !wholly {
        match (&mut *old, new) {
            (_, Value::Unit) => {
                *old = Value::Unit;
                return false;
            }
            (Value::Tuple(x), Value::Tuple(y)) if x.0.len() == y.0.len() => {
                let mut fields: Vec<Value> = x.0.to_vec();
                let changed = widen_all(&mut fields, &y.0, everything);
                *old = Value::Tuple(Rc::new(Fields(fields.into_iter().collect())));
                return changed;
            }
            (Value::Data(x), Value::Data(y)) if x.tag == y.tag => {
                let mut fields: Vec<Value> = x.fields.to_vec();
                let changed = widen_all(&mut fields, &y.fields, everything);
                let fields = fields.into_iter().collect();
                *old = Value::Data(Rc::new(Data { tag: x.tag, fields }));
                return changed;
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() && x.width() == y.width() => {
                let mut elements: Vec<Value> = x.iter().collect();
                let others: Vec<Value> = y.iter().collect();
                let changed = widen_all(&mut elements, &others, everything);
                *old = match Array::from_values(elements) {
                    Ok(array) => Value::array(array),
                    Err(_) => everything.clone(),
                };
                return changed;
            }
            _ => {}
        }
    }
    *old = everything.clone();
    true
}

fn widen_all(old: &mut [Value], new: &[Value], everything: &Value) -> bool {
    let mut changed = false;
    for (old, new) in old.iter_mut().zip(new) {
        changed |= deep(|| widen(old, new, everything, false));
    }
    changed
}

/// They are certainly the same.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Unit, Value::Unit) => true,
        (Value::Real(x), Value::Real(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        (Value::Zero, Value::Zero) => true,
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::String(x), Value::String(y)) => x == y,
        (
            Value::Dual { level, id, primal },
            Value::Dual { level: other_level, id: other_id, primal: other },
        ) => (level, id, primal.to_bits()) == (other_level, other_id, other.to_bits()),
        (Value::Active(x), Value::Active(y)) => Rc::ptr_eq(x, y),
        (Value::Tuple(x), Value::Tuple(y)) => Rc::ptr_eq(x, y),
        (Value::Data(x), Value::Data(y)) => Rc::ptr_eq(x, y),
        (Value::Array(x), Value::Array(y)) => Rc::ptr_eq(x, y),
        (Value::Function(x), Value::Function(y)) => Rc::ptr_eq(x, y),
        _ => false,
    }
}

/// Numbers in it, or what numbers stand for, are not known.
fn holds_nan(v: &Value) -> bool {
    if is_real(v) {
        return primal(v).is_nan();
    }
    if let Value::Array(array) = v {
        return match (array.reals(), array.ints(), array.bools()) {
            (Some(xs), _, _) => xs.iter().any(|x| x.is_nan()),
            (None, Some(_), _) | (None, None, Some(_)) => false,
            (None, None, None) => array.iter().any(|v| deep(|| holds_nan(&v))),
        };
    }
    v.fields().iter().any(|v| deep(|| holds_nan(v)))
}

/// Its values are Reals, and nothing else.
fn of_reals(ty: &Ty) -> bool {
    match ty {
        Ty::Real => true,
        Ty::Array(element) => of_reals(element),
        Ty::Tuple(_) | Ty::Record(_) => {
            ty.components().is_some_and(|parts| parts.iter().all(|ty| deep(|| of_reals(ty))))
        }
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            false
        }
    }
}
