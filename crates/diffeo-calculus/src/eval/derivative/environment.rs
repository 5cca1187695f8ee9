//! Real numbers wherever a value holds them: in data, in what functions captured, in what pullbacks keep.
//!
//! What comes in: any value. What goes out: what holds of its active numbers, or a copy with them replaced.
//! What always holds: parts without active numbers are shared; a function that is captured several times
//! is walked over once; of a pullback's own variables, which are [`detached`], only the numbers below them
//! are shown.

use super::level::{below, detached, entry, level_of, taped};
use super::Pullback;
use crate::array::Array;
use crate::eval::error::ErrorKind;
use crate::leaves::{any_active, is_real, map_leaves};
use crate::value::{FunctionValue, Value};
use diffeo_base::deep;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The highest level of the numbers in some values; numbers of level `own` count by what is below them.
/// No level can be above `most`: where it is met, the rest is not looked at.
pub(crate) fn highest_level(values: &[&Value], own: u16, most: u16) -> u16 {
    let mut highest = 0;
    let mut seen = HashSet::new();
    let mut pending: Vec<Value> = values.iter().map(|v| (*v).clone()).collect();
    while let Some(v) = pending.pop() {
        if highest >= most {
            return highest;
        }
        if is_real(&v) {
            highest = highest.max(level_beside(&v, own));
        } else if let Value::Function(f) = &v {
            if seen.insert(Rc::as_ptr(f)) {
                match &**f {
                    FunctionValue::Closure { captured, .. } => pending.extend_from_slice(captured),
                    FunctionValue::Pullback(p) => highest = highest.max(p.outer),
                }
            }
        } else if let Some(elements) = elements(&v) {
            for element in elements {
                if is_real(element) {
                    highest = highest.max(level_beside(element, own));
                    if highest >= most {
                        return highest;
                    }
                } else {
                    pending.push(element.clone());
                }
            }
        } else {
            push_parts(&v, &mut pending);
        }
    }
    highest
}

/// The elements of an array that holds them as values.
fn elements(v: &Value) -> Option<&[Value]> {
    match v {
        Value::Array(a) => a.values(),
        _ => None,
    }
}

/// The level of a number; of one of level `own` that of what is below it.
fn level_beside(v: &Value, own: u16) -> u16 {
    match level_of(v) {
        0 => 0,
        level if level == own => level_of(&below(v, own)),
        level => level,
    }
}

/// The parts of data and arrays in which there may be active numbers or functions.
fn push_parts(v: &Value, pending: &mut Vec<Value>) {
    pending.extend_from_slice(v.fields());
    if let Value::Array(a) = v {
        if let Some((_, flat)) = a.flat() {
            pending.push(Value::array(flat));
        } else if let Some(values) = a.values() {
            pending.extend_from_slice(values);
        } else {
            pending.extend((0..).map_while(|i| a.field(i)).map(Value::array));
        }
    }
}

/// Whether there is a function in it.
fn has_function(v: &Value) -> bool {
    let mut pending = vec![v.clone()];
    while let Some(v) = pending.pop() {
        if matches!(v, Value::Function(_)) {
            return true;
        }
        push_parts(&v, &mut pending);
    }
    false
}

type Replace<'a> = &'a mut dyn FnMut(&Value) -> Result<Value, ErrorKind>;

/// The value with each active number replaced.
pub(crate) fn map_active(v: &Value, f: Replace) -> Result<Value, ErrorKind> {
    Ok(ActiveReplacer { known: HashMap::new() }.value(v, f)?.unwrap_or_else(|| v.clone()))
}

struct ActiveReplacer {
    /// Functions that were walked over, with what came out if anything changed.
    known: HashMap<*const FunctionValue, Option<Value>>,
}

impl ActiveReplacer {
    /// What becomes of a value; nothing if it stays as it is.
    fn value(&mut self, v: &Value, f: Replace) -> Result<Option<Value>, ErrorKind> {
        if is_real(v) {
            return match level_of(v) {
                0 => Ok(None),
                _ => f(v).map(Some),
            };
        }
        if let Value::Function(function) = v {
            let key = Rc::as_ptr(function);
            if let Some(known) = self.known.get(&key) {
                return Ok(known.clone());
            }
            let made = deep(|| self.function(function, f))?;
            self.known.insert(key, made.clone());
            return Ok(made);
        }
        if !has_function(v) {
            return match any_active(v) {
                false => Ok(None),
                true => map_leaves(v, &mut |leaf| match level_of(leaf) {
                    0 => Ok(leaf.clone()),
                    _ => f(leaf),
                })
                .map(Some),
            };
        }
        deep(|| self.parts(v, f))
    }

    fn function(&mut self, v: &FunctionValue, f: Replace) -> Result<Option<Value>, ErrorKind> {
        let function = match v {
            FunctionValue::Closure { code, captured } => match self.all(captured, f)? {
                None => return Ok(None),
                Some(captured) => FunctionValue::Closure { code: *code, captured: captured.into() },
            },
            FunctionValue::Pullback(p) if p.outer == 0 => return Ok(None),
            FunctionValue::Pullback(p) => FunctionValue::Pullback(self.pullback(p, f)?),
        };
        Ok(Some(Value::Function(Rc::new(function))))
    }

    /// A pullback whose own variables stay and whose other numbers are replaced.
    fn pullback(&mut self, p: &Pullback, f: Replace) -> Result<Pullback, ErrorKind> {
        let own = detached(p.tape.level);
        let mut outer = 0;
        let mut replace = |v: &Value| {
            let w = if level_of(v) != own {
                f(v)?
            } else if level_of(&below(v, own)) == 0 {
                v.clone()
            } else {
                taped(own, entry(v, own), f(&below(v, own))?)
            };
            outer = outer.max(level_beside(&w, own));
            Ok(w)
        };
        let mut tape = (*p.tape).clone();
        tape.each_kept(&mut |v| {
            if let Some(w) = self.value(v, &mut replace)? {
                *v = w;
            }
            Ok(())
        })?;
        let point = self.value(&p.point, &mut replace)?.unwrap_or_else(|| p.point.clone());
        let output = self.value(&p.output, &mut replace)?.unwrap_or_else(|| p.output.clone());
        tape.outer = outer;
        Ok(Pullback { tape: Rc::new(tape), point, output, entries: p.entries.clone(), outer })
    }

    /// Data or an array with functions in it.
    fn parts(&mut self, v: &Value, f: Replace) -> Result<Option<Value>, ErrorKind> {
        Ok(match v {
            Value::Tuple(t) => self.all(&t.0, f)?.map(Value::tuple),
            Value::Data(d) => self.all(&d.fields, f)?.map(|fields| Value::data(d.tag, fields)),
            Value::Array(a) => {
                let elements: Vec<Value> = a.iter().collect();
                match self.all(&elements, f)? {
                    None => None,
                    Some(elements) => Some(Value::array(Array::from_values(elements)?)),
                }
            }
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero => None,
        })
    }

    fn all(&mut self, values: &[Value], f: Replace) -> Result<Option<Vec<Value>>, ErrorKind> {
        let mut out: Option<Vec<Value>> = None;
        for (i, v) in values.iter().enumerate() {
            if let Some(w) = self.value(v, f)? {
                out.get_or_insert_with(|| values.to_vec())[i] = w;
            }
        }
        Ok(out)
    }
}
