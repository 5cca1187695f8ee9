//! Function values whose code goes through one more of the papers' systems.
//!
//! A closure's code was made from a function of the program by the systems s₁, …, sₙ, one after the other. Its
//! translation by s is made from that function again: by s first, on an environment whose values are embedded
//! by s, and then by s₁, …, sₙ. So the code of `D{e}` is what it would have been, had the function been there
//! when the program was translated.

use super::access::captured;
use super::Machine;
use crate::eval::compile::FunctionSource;
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::translator::CodeSource;
use crate::leaves::each_leaf;
use crate::prim::{Lift, Lifting};
use crate::system::System;
use crate::value::{FunctionValue, Value};
use diffeo_base::Span;

impl Machine {
    /// The translation of a function value.
    pub(super) fn lift(
        &mut self,
        lift: &Lift,
        f: &Value,
        site: Span,
    ) -> Result<Value, RuntimeError> {
        if lift.what == Lifting::Captures {
            // Where its code is not known, its numbers count as if they varied.
            let varies = has_numbers(captured(f)) && {
                let varies = self.lifted(lift, f)?;
                !matches!(varies, Some(Value::Bool(false)))
            };
            return Ok(Value::Bool(varies));
        }
        match self.lifted(lift, f)? {
            Some(value) => Ok(value),
            None => {
                let message = "the code of a function is not known".into();
                Err(super::Caller::error(self, ErrorKind::Internal { message }, site))
            }
        }
    }

    fn lifted(&mut self, lift: &Lift, f: &Value) -> Result<Option<Value>, RuntimeError> {
        let Some((system, outer)) = lift.systems.split_first() else { return Ok(None) };
        let Some((source, values)) = self.opened(f) else { return Ok(None) };
        let Some(translator) = &mut self.translator else { return Ok(None) };
        let made = match lift.what {
            Lifting::Lift => translator.lifting(system, outer, source, values),
            Lifting::Lower => translator.lowering(system, outer, source, values),
            Lifting::Captures => translator.varying(system, outer, source, values),
            Lifting::SameShape(_)
            | Lifting::Zero
            | Lifting::Sparse
            | Lifting::Varies
            | Lifting::Stop
            | Lifting::Watch
            | Lifting::Blame(_)
            | Lifting::Warn => None,
        };
        let Some((made, values)) = made else {
            return Ok(None);
        };
        self.grow()?;
        let made_value = self.eval_global(made)?;
        match values {
            None => Ok(Some(made_value)),
            Some(environment) => self.apply_through(outer, &made_value, environment).map(Some),
        }
    }

    /// Takes over what was added to the program.
    pub(super) fn grow(&mut self) -> Result<(), RuntimeError> {
        let Some(translator) = &mut self.translator else { return Ok(()) };
        if translator.has_more(self.globals.len()) {
            let program = translator.program();
            if let Some(bound) = translator.exceeded() {
                let site = self.site();
                return Err(super::Caller::error(self, ErrorKind::Exceeded(bound), site));
            }
            self.globals.resize_with(program.globals.len(), Default::default);
            self.compiler.grow(program.clone());
            self.program = program;
        }
        Ok(())
    }

    /// The application of a function of the plain program to values after it went through these systems.
    fn apply_through(
        &mut self,
        systems: &[System],
        f: &Value,
        x: Value,
    ) -> Result<Value, RuntimeError> {
        let Some((system, outer)) = systems.split_first() else { return self.apply(f, x) };
        let value = self.apply_through(outer, f, x)?;
        let start = self.translator.as_mut().and_then(|t| t.start(system));
        match start {
            None => Ok(value),
            // D{A → B} = D{A} → M D{B}: the computation is run, and what it bound is lost.
            Some(start) => {
                self.grow()?;
                let start = self.eval_global(start)?;
                let state = self.apply(&start, Value::Int(0))?;
                let both = self.apply_through(outer, &value, state)?;
                Ok(both.fields().first().cloned().unwrap_or(Value::Unit))
            }
        }
    }

    /// What a function value was compiled from, and what it captured.
    fn opened(&self, f: &Value) -> Option<(CodeSource, Vec<(u32, Value)>)> {
        let Value::Function(function) = f else { return None };
        let FunctionValue::Closure { code, captured } = &**function else { return None };
        match self.compiler.sources.as_ref()?.get(code)? {
            FunctionSource::Definition(id) => Some((CodeSource::Definition(*id), Vec::new())),
            FunctionSource::Local { parameter, captured: places } => {
                let value = |(var, place): &(u32, u32)| {
                    Some((*var, captured.get(*place as usize)?.clone()))
                };
                let values: Option<Vec<(u32, Value)>> = places.iter().map(value).collect();
                Some((CodeSource::Local(*parameter), values?))
            }
        }
    }
}

/// Whether there are numbers in these values, or in what functions in them captured.
fn has_numbers(values: &[Value]) -> bool {
    let mut pending: Vec<&Value> = values.iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::Real(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero => return true,
            Value::Tuple(_) | Value::Data(_) => pending.extend(value.fields()),
            Value::Function(_) => pending.extend(captured(value)),
            // Those of functions count as if they captured numbers.
            Value::Array(array) => {
                let functions =
                    (0..array.len().min(1)).any(|i| matches!(array.get(i), Value::Function(_)));
                let found = each_leaf(value, &mut |_| Err(()));
                if functions || found.is_err() {
                    return true;
                }
            }
            Value::Unit | Value::Int(_) | Value::Bool(_) | Value::String(_) => {}
        }
    }
    false
}

/// A tuple of values, as Core makes it.
pub fn environment(values: Vec<Value>) -> Value {
    let mut values = values;
    match values.len() {
        0 => Value::Unit,
        1 => values.swap_remove(0),
        _ => Value::tuple(values),
    }
}
