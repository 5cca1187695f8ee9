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

use crate::pipeline::Timing;
use crate::session::{CompiledRun, Once, Ran, BRIEF};
use crate::Unsupported;
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
use diffeo_lower::{LowerOptions, Refusal};
use paths::{each_path, path_text};

/// A function ready to be evaluated and differentiated.
pub struct Differentiator<'a> {
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

impl<'a> Differentiator<'a> {
    /// The function, evaluated with these options.
    ///
    /// # Errors
    /// What stops the program where the function is a computed value.
    pub fn new(
        session: &'a Session,
        function: &'a Differentiable,
        options: Options,
    ) -> Result<Differentiator<'a>, RuntimeError> {
        let mut differentiator = Differentiator::on(session, function, options, None);
        differentiator.itself()?;
        Ok(differentiator)
    }

    /// As [`Differentiator::new`]; gradients and Taylor coefficients are computed so, and kinks looked for, where that
    /// is possible.
    pub fn on(
        session: &'a Session,
        function: &'a Differentiable,
        options: Options,
        how: Option<(How, Kinks)>,
    ) -> Differentiator<'a> {
        let once = Once::new(options);
        let machine = Machine::new(function.entry.program.clone(), once.options());
        let account = Account {
            engine: Engine::Reference,
            unsupported: None,
            note: None,
            times: Vec::new(),
            operations: None,
        };
        Differentiator { session, function, machine, how, once, account }
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

    /// As [`Differentiator::gradient`]; without a point, at that of the program.
    ///
    /// # Errors
    /// As for [`Differentiator::gradient`].
    pub fn gradient_at(&mut self, x: Option<Value>) -> Result<Gradient, Box<Diagnostic>> {
        let what = if self.function.to == Ty::Real { Asked::Gradient } else { Asked::Gradients };
        let point = if x.is_some() { None } else { self.function.point };
        let read = |found: Value| {
            let found = if point.is_some() { found.fields()[1].clone() } else { found };
            let (value, rows) = (found.fields()[0].clone(), &found.fields()[1]);
            let rows = match (what, rows) {
                (Asked::Gradients, Value::Array(rows)) => rows.iter().collect(),
                _ => vec![rows.clone()],
            };
            (value, rows)
        };
        let (value, rows) =
            self.attempt((what, x.clone(), point), read, |own| own.evaluated_gradient(x.clone()))?;
        let names = self.names(&value);
        Ok(Gradient { value, rows: names.into_iter().zip(rows).collect() })
    }

    /// The value, and a gradient for each Real of it.
    fn evaluated_gradient(
        &mut self,
        x: Option<Value>,
    ) -> Result<(Value, Vec<Value>), RuntimeError> {
        let x = match x {
            Some(x) => x,
            None => self.point()?.unwrap_or(Value::Unit),
        };
        let (value, pullback) = self.pullback(&x)?;
        let count = numbers(&value).len();
        let row = |i| self.machine.apply(&pullback, unit(&value, i));
        let rows = (0..count).map(row).collect::<Result<_, _>>()?;
        Ok((value, rows))
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
        if self.account.engine == Engine::Reference {
            self.account.operations = Some(self.machine.operations());
        }
        self.account
    }

    /// A derivative by a compiled engine, if one is to be asked and can do it, else by the evaluator.
    fn attempt<T>(
        &mut self,
        (what, arg, point): (Asked, Option<Value>, Option<GlobalId>),
        read: impl FnOnce(Value) -> T,
        evaluate: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
    ) -> Result<T, Box<Diagnostic>> {
        let (session, entry) = (self.session, &self.function.entry);
        let explain =
            |error: RuntimeError| Box::new(session.explain_at(entry, arg.as_ref(), &error));
        let done = match self.compiled(what, arg.clone(), point) {
            None => return evaluate(self).map_err(explain),
            Some(done) => done.map_err(|why| Box::new(why.to_diagnostic(entry.span)))?,
        };
        match done {
            CompiledRun::Ran(ran) => {
                let result = self.note(*ran);
                result.map(read).map_err(explain)
            }
            CompiledRun::Stopped(why, ran) => {
                self.machine.set_budget(self.machine.operations() + BRIEF);
                let found = evaluate(self);
                self.machine.set_budget(u64::MAX);
                if let Ok(found) = found {
                    (self.account.unsupported, self.account.times) = (Some(why), ran.times);
                    return Ok(found);
                }
                self.note(*ran).map(read).map_err(explain)
            }
            CompiledRun::Not(why, times) => {
                (self.account.unsupported, self.account.times) = (Some(why), times);
                self.once.again();
                evaluate(self).map_err(explain)
            }
        }
    }

    /// Notes what there is to tell of a run whose result stands.
    fn note(&mut self, ran: Ran) -> Result<Value, RuntimeError> {
        let Ran { result, engine, note, times, operations, .. } = ran;
        self.account = Account { engine, unsupported: None, note, times, operations };
        result
    }

    /// The run of a compiled engine, if one is to be asked, and there is a definition of the derivative.
    fn compiled(
        &mut self,
        what: Asked,
        arg: Option<Value>,
        point: Option<GlobalId>,
    ) -> Option<Result<CompiledRun, Unsupported>> {
        let entry = &self.function.entry;
        let (how, kinks) = self.how.filter(|(_, kinks)| *kinks != Kinks::Enclose)?;
        let Some((program, global)) = asked(&entry.program, entry.global, what, point) else {
            let why = "Taylor coefficients in data whose declaration says Real".to_string();
            self.account.unsupported = Some(Refusal::Derivative(Span::NONE, why).into());
            return None;
        };
        self.once.again();
        let kinks = kinks != Kinks::Ignore;
        let options = LowerOptions { kinks, ..LowerOptions::default() };
        Some(how.compiled(&program, global, arg, &self.once, options))
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
