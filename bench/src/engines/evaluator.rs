//! The evaluator of Core.

use super::{messages, Compiled, Engine};
use crate::run::Prepared;
use diffeo::{Entry, FromDiffeo, Options, Session, ToDiffeo, Value};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::value::Value as Core;
use diffeo_calculus::{Program, Ty};
use std::rc::Rc;

/// The evaluator.
pub struct Evaluator;

impl Engine for Evaluator {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn compile<'a>(
        &self,
        session: &'a Session,
        entry: &'a Entry,
    ) -> Result<Box<dyn Compiled + 'a>, String> {
        let mut machine = Machine::new(entry.program.clone(), Options::default());
        let function = machine.eval_global(entry.global);
        let function = function.map_err(|e| messages(session, &[session.explain(entry, &e)]))?;
        Ok(Box::new(Ready { entry, machine, function }))
    }
}

struct Ready<'a> {
    entry: &'a Entry,
    machine: Machine,
    function: Core,
}

impl Compiled for Ready<'_> {
    fn prepare(self: Box<Self>, argument: &Value) -> Result<Box<dyn Prepared>, String> {
        let Ty::Fun(types) = &self.entry.ty else {
            return Err(format!("`{}` takes no argument", self.entry.name));
        };
        let program = self.entry.program.clone();
        let argument = argument.to_diffeo(&types.0, &program.datas);
        let argument = argument.map_err(|m| m.explain(&program.datas))?;
        let to = types.1.clone();
        let (machine, function) = (self.machine, self.function);
        Ok(Box::new(Call { program, machine, function, argument, to, result: Core::Unit }))
    }
}

struct Call {
    program: Rc<Program>,
    machine: Machine,
    function: Core,
    argument: Core,
    to: Ty,
    result: Core,
}

impl Prepared for Call {
    fn call(&mut self) -> Result<(), String> {
        let result = self.machine.apply(&self.function, self.argument.clone());
        self.result = result.map_err(|e| e.to_diagnostic().message)?;
        Ok(())
    }

    fn result(&self) -> Vec<f64> {
        let mut numbers = Vec::new();
        // A result that is no data cannot be compared: it has no numbers.
        if let Ok(value) = Value::from_diffeo(&self.result, &self.to, &self.program.datas) {
            leaves(&value, &mut numbers);
        }
        numbers
    }
}

/// The numbers in a value, in order.
fn leaves(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Unit | Value::String(_) => {}
        Value::Real(x) => out.push(*x),
        Value::Int(n) => out.push(*n as f64),
        Value::Bool(b) => out.push(f64::from(u8::from(*b))),
        Value::Tuple(values) | Value::Array(values) | Value::Variant(_, values) => {
            values.iter().for_each(|v| leaves(v, out));
        }
        Value::Record(fields) => fields.iter().for_each(|(_, v)| leaves(v, out)),
    }
}
