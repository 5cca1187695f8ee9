//! Derivatives of a program's functions at points from outside: gradients, Jacobians, Taylor
//! coefficients.
//!
//! In: a [`Differentiable`] and values of what it takes. Out: its values and derivatives, with the names
//! of the Reals in them as the user would write them. What always holds: nothing of a run stays behind in
//! the next one. Errors become messages by [`Session::explain`].
//!
//! A compiled engine runs the derivative as a definition of the program ([`asked`]); what it cannot do, and whether a
//! nan is one, is the evaluator's.

pub mod paths;
mod taylor;

pub use taylor::Taylor;

use crate::lower::{self, Unsupported};
use crate::pipeline::Timing;
use crate::session::{CompiledRun, Once};
use crate::{Diagnostic, Engine, How, Options, Session};
use diffeo_base::Span;
use diffeo_calculus::eval::derivative::derivative;
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::eval::{Kinks, Machine, RuntimeError, RuntimeWarning};
use diffeo_calculus::leaves;
use diffeo_calculus::outside::{asked, Asked};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::GlobalId;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_front::Differentiable;
use paths::{each_path, path_text};

/// A function ready to be evaluated and differentiated.
pub struct Evaluator<'a> {
    session: &'a Session,
    /// The function.
    pub function: &'a Differentiable,
    pub(crate) machine: Machine,
    /// What is tried first, if it is not the machine.
    how: Option<(How, Kinks)>,
    once: Once,
    account: Account,
}

/// What is told of a derivative that a compiled engine was asked for.
#[derive(Debug)]
pub struct Account {
    /// What computed it.
    pub engine: Engine,
    /// Why that was the evaluator, if it was.
    pub unsupported: Option<Unsupported>,
    /// What became of LLVM's code, where the engine tried it.
    pub note: Option<String>,
    /// How long the steps took.
    pub times: Vec<Timing>,
    /// The operations, where they are counted.
    pub operations: Option<u64>,
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
        let mut evaluator = Evaluator::on(session, function, options, None);
        evaluator.itself()?;
        Ok(evaluator)
    }

    /// As [`Evaluator::new`]; gradients and Taylor coefficients are computed so, and kinks looked for, where that is
    /// possible.
    pub fn on(
        session: &'a Session,
        function: &'a Differentiable,
        options: Options,
        how: Option<(How, Kinks)>,
    ) -> Evaluator<'a> {
        let once = Once::new(options);
        let machine = Machine::new(function.entry.program.clone(), once.options());
        let account = Account {
            engine: Engine::Evaluator,
            unsupported: None,
            note: None,
            times: Vec::new(),
            operations: None,
        };
        Evaluator { session, function, machine, how, once, account }
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
        let f = self.itself()?;
        self.machine.apply(&f, x.clone())
    }

    /// The value at a point, and the derivatives of each Real in it.
    ///
    /// # Errors
    /// What stops the program, or that the engine is not there.
    pub fn gradient(&mut self, x: &Value) -> Result<Gradient, Box<Diagnostic>> {
        self.gradient_at(Some(x.clone()))
    }

    /// As [`Evaluator::gradient`]; without a point, at that of the program.
    ///
    /// # Errors
    /// As for [`Evaluator::gradient`].
    pub fn gradient_at(&mut self, x: Option<Value>) -> Result<Gradient, Box<Diagnostic>> {
        let entry = &self.function.entry;
        let what = if self.function.to == Ty::Real { Asked::Gradient } else { Asked::Gradients };
        let point = if x.is_some() { None } else { self.function.point };
        if let Some(found) = self.compiled(what, x.clone(), point)? {
            let found = if point.is_some() { found.fields()[1].clone() } else { found };
            let (value, rows) = (found.fields()[0].clone(), &found.fields()[1]);
            let rows = if let (Asked::Gradients, Value::Array(rows)) = (what, rows) {
                rows.iter().collect()
            } else {
                vec![rows.clone()]
            };
            let names = self.names(&value);
            return Ok(Gradient { value, rows: names.into_iter().zip(rows).collect() });
        }
        self.evaluated_gradient(x.clone())
            .map_err(|error| Box::new(self.session.explain_at(entry, x.as_ref(), &error)))
    }

    fn evaluated_gradient(&mut self, x: Option<Value>) -> Result<Gradient, RuntimeError> {
        let x = match x {
            Some(x) => x,
            None => self.point()?.unwrap_or(Value::Unit),
        };
        let (value, pullback) = self.pullback(&x)?;
        let names = self.names(&value);
        let mut rows = Vec::with_capacity(names.len());
        for (i, name) in names.into_iter().enumerate() {
            let cotangent = unit(&value, i);
            rows.push((name, self.machine.apply(&pullback, cotangent)?));
        }
        Ok(Gradient { value, rows })
    }

    /// The names of the Reals of a value.
    fn names(&self, value: &Value) -> Vec<String> {
        let mut names = Vec::new();
        let datas = &self.function.entry.program.datas;
        each_path(value, &self.function.to, datas, &mut |path, _| names.push(path_text(path)));
        names
    }

    /// What the program warned of since this was last asked.
    pub fn take_warnings(&mut self) -> Vec<Diagnostic> {
        self.once.take_warnings().iter().map(RuntimeWarning::to_diagnostic).collect()
    }

    /// How many operations were carried out so far.
    pub fn operations(&self) -> u64 {
        self.machine.operations()
    }

    /// What there is to tell.
    pub fn account(mut self) -> Account {
        if self.account.engine == Engine::Evaluator {
            self.account.operations = Some(self.machine.operations());
        }
        self.account
    }

    /// Whether a compiled engine is to be asked.
    fn is_compiled(&self) -> bool {
        self.how.is_some()
    }

    /// What a compiled engine gives, if it is to be asked and can do it; the machine begins at the beginning otherwise.
    fn compiled(
        &mut self,
        what: Asked,
        arg: Option<Value>,
        point: Option<GlobalId>,
    ) -> Result<Option<Value>, Box<Diagnostic>> {
        let entry = &self.function.entry;
        let Some((how, kinks)) = self.how else { return Ok(None) };
        let Some((program, global)) = asked(&entry.program, entry.global, what, point) else {
            let why = "Taylor coefficients in data whose declaration says Real".to_string();
            self.account.unsupported = Some(Unsupported::Derivative(Span::NONE, why));
            return Ok(None);
        };
        self.once.again();
        let kinks = kinks != Kinks::Ignore;
        let options = lower::LowerOptions { kinks, ..lower::LowerOptions::default() };
        let done = how.compiled(&program, global, arg.clone(), &self.once, options);
        match done.map_err(|why| Box::new(why.to_diagnostic(entry.span)))? {
            CompiledRun::Ran(ran) => {
                self.account = Account {
                    engine: ran.engine,
                    unsupported: None,
                    note: ran.note,
                    times: ran.times,
                    operations: ran.operations,
                };
                let explain =
                    |error| Box::new(self.session.explain_at(entry, arg.as_ref(), &error));
                ran.result.map(Some).map_err(explain)
            }
            CompiledRun::Not(why, times) => {
                (self.account.unsupported, self.account.times) = (Some(why), times);
                self.once.again();
                Ok(None)
            }
        }
    }

    /// The function as a value.
    pub(crate) fn itself(&mut self) -> Result<Value, RuntimeError> {
        self.machine.eval_global(self.function.entry.global)
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
        let f = self.itself()?;
        let pair = self.derivative(DiffOp::Vjp, [f, x.clone()])?;
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
