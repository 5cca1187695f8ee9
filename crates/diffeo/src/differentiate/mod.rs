//! Derivatives of a program's functions at points from outside: gradients, Jacobians, Taylor
//! coefficients.
//!
//! In: a [`Differentiable`] and values of what it takes. Out: its values and derivatives, with the names
//! of the Reals in them as the user would write them. What always holds: nothing of a run stays behind in
//! the next one. Errors become messages by [`Session::explain`].

pub mod paths;
mod taylor;

pub use taylor::Taylor;

use crate::session::Differentiable;
use crate::{Diagnostic, Options, Session};
use diffeo_base::Span;
use diffeo_calculus::eval::derivative::derivative;
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::eval::{Machine, RuntimeError};
use diffeo_calculus::leaves;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use paths::{each_path, path_text};

/// A function ready to be evaluated and differentiated.
pub struct Evaluator<'a> {
    session: &'a Session,
    /// The function.
    pub function: &'a Differentiable,
    pub(crate) machine: Machine,
    pub(crate) value: Value,
}

/// A value with its derivatives in reverse mode.
pub struct Gradient {
    /// The value.
    pub value: Value,
    /// The derivative of each Real of the value by the whole point: which Real, and a gradient of the
    /// point's type. A value that is one Real has one, and its name is empty.
    pub rows: Vec<(String, Value)>,
}

impl<'a> Evaluator<'a> {
    /// The function, evaluated with these options.
    ///
    /// # Errors
    /// What stops the program where the function is a computed value.
    pub fn new(
        session: &'a Session,
        function: &'a Differentiable,
        options: Options,
    ) -> Result<Evaluator<'a>, RuntimeError> {
        let mut machine = Machine::new(function.entry.program.clone(), options);
        let value = machine.eval_global(function.entry.global)?;
        Ok(Evaluator { session, function, machine, value })
    }

    /// The point that the program gives.
    ///
    /// # Errors
    /// What stops its evaluation; there is none if none was asked for.
    pub fn point(&mut self) -> Result<Option<Value>, RuntimeError> {
        let Some(point) = self.function.point else { return Ok(None) };
        self.global(point).map(Some)
    }

    /// The value at a point.
    ///
    /// # Errors
    /// What stops the program.
    pub fn value(&mut self, x: &Value) -> Result<Value, RuntimeError> {
        self.machine.apply(&self.value, x.clone())
    }

    /// The value at a point, and the derivatives of each Real in it.
    ///
    /// # Errors
    /// What stops the program.
    pub fn gradient(&mut self, x: &Value) -> Result<Gradient, RuntimeError> {
        let (value, pullback) = self.pullback(x)?;
        let mut names = Vec::new();
        let datas = &self.function.entry.program.datas;
        each_path(&value, &self.function.to, datas, &mut |path, _| names.push(path_text(path)));
        let mut rows = Vec::with_capacity(names.len());
        for (i, name) in names.into_iter().enumerate() {
            let cotangent = unit(&value, i);
            rows.push((name, self.machine.apply(&pullback, cotangent)?));
        }
        Ok(Gradient { value, rows })
    }

    /// What the program warned of since this was last asked.
    pub fn take_warnings(&mut self) -> Vec<Diagnostic> {
        self.session.warnings(&mut self.machine)
    }

    /// How many operations were carried out so far.
    pub fn operations(&self) -> u64 {
        self.machine.operations()
    }

    pub(crate) fn global(&mut self, id: GlobalId) -> Result<Value, RuntimeError> {
        self.machine.eval_global(id)
    }

    /// A derivative operator, applied from outside the program.
    pub(crate) fn derivative<const N: usize>(
        &mut self,
        op: DiffOp,
        args: [Value; N],
    ) -> Result<Value, RuntimeError> {
        derivative(&mut self.machine, &op, args.into(), Span::NONE)
    }

    /// Value and pullback.
    pub(crate) fn pullback(&mut self, x: &Value) -> Result<(Value, Value), RuntimeError> {
        let pair = self.derivative(DiffOp::Vjp, [self.value.clone(), x.clone()])?;
        Ok((pair.fields()[0].clone(), pair.fields()[1].clone()))
    }
}

/// The numbers in a value, in order.
pub fn numbers(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    let _: Result<(), std::convert::Infallible> = leaves::each_leaf(value, &mut |leaf| {
        out.push(primal(leaf));
        Ok(())
    });
    out
}

/// The value with its numbers replaced, by position and number.
pub(crate) fn with_numbers(like: &Value, f: &mut dyn FnMut(usize, f64) -> Value) -> Value {
    let mut i = 0;
    let mapped: Result<Value, std::convert::Infallible> = leaves::map_leaves(like, &mut |leaf| {
        i += 1;
        Ok(f(i - 1, primal(leaf)))
    });
    mapped.unwrap_or_else(|never| match never {})
}

/// The value with 1 for one of its numbers and 0 for the others.
pub(crate) fn unit(like: &Value, place: usize) -> Value {
    with_numbers(like, &mut |i, _| Value::Real(if i == place { 1.0 } else { 0.0 }))
}
