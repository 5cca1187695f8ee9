//! A log density that one thread evaluates again and again, with its gradient, at vectors.
//!
//! What comes in is a function of a vector, and of data or nothing else; the data are converted once. What always holds:
//! where there is machine code, a call allocates nothing beyond what the program itself makes.

use super::code::ValueTypes;
use super::function::{Failed, Function, Running, INTERVAL};
use super::{Array, Error, Value};
use crate::session::BRIEF;
use crate::Message;
use diffeo_array::value::FlatValue;
use diffeo_calculus::eval::Limits;
use diffeo_calculus::leaves::has_interval;
use diffeo_calculus::ty::Ty;
use diffeo_codegen::engine::Arg;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Why there is no value at a point.
pub(crate) enum Undefined {
    /// The program stopped there.
    Stopped(Error),
    /// The gradient is nan there.
    NanGradient,
    /// The call was interrupted, or has used up its time or memory.
    Ended(Error),
}

/// A function with its gradient. It belongs to one thread.
pub(crate) struct Repeated<'f> {
    function: &'f Function,
    /// The function's value and gradient, where that is compiled.
    running: Option<(Box<Running>, Vec<FlatValue>)>,
    data: Option<&'f Value<'f>>,
    /// Those of all calls together.
    limits: Limits,
}

impl<'f> Repeated<'f> {
    /// `function` gives the value and the gradient by the vector.
    ///
    /// # Errors
    /// The data do not fit.
    pub fn new(
        function: &'f Function,
        data: Option<&'f Value<'f>>,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Repeated<'f>, Error> {
        let mut limits = function.options().limits();
        limits.interrupt = Some(interrupt);
        let bounds = limits.clone();
        let mut repeated = Repeated { function, running: None, data, limits };
        let Some(mut running) = function.running() else { return Ok(repeated) };
        let mut flat = Vec::new();
        if let Some(data) = data {
            let Ty::Tuple(parts) = &running.from else { return Ok(repeated) };
            let datas = running.layout.datas();
            let value = ValueTypes { datas }.core(data, &parts[1]);
            let value = value.map_err(|why| function.misfit(&why.explain()))?;
            if has_interval(&value) {
                return Err(function.misfit(INTERVAL));
            }
            flat = running.layout.flat(&value, &parts[1]);
        }
        running.instance.set_limits(bounds);
        repeated.running = Some((Box::new(running), flat));
        Ok(repeated)
    }

    /// The value at a point; the gradient is written.
    ///
    /// # Errors
    /// There is none.
    pub fn value_and_gradient(
        &mut self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, Undefined> {
        let function = self.function;
        // Short calls are over before anybody looks.
        if let Err(bound) = self.limits.check() {
            let message = Message::error(bound.code(), bound.message());
            return Err(Undefined::Ended(Error::one(message)));
        }
        let Some((running, data)) = &mut self.running else {
            return self.evaluated(x, gradient, [0; 2], None);
        };
        let sizes = [x.len() as i64];
        let mut args = Vec::with_capacity(1 + data.len());
        args.push(Arg::Reals(x, &sizes));
        args.extend(data.iter().map(Arg::Value));
        running.printed.begin([0; 2]);
        let mut call = |running: &mut Running| {
            let called = running.instance.call_with(&args, |results| {
                if let Some((found, _)) = results.reals(1) {
                    gradient.copy_from_slice(found);
                }
                results.real(0).unwrap_or(f64::NAN)
            });
            called.map_err(|error| running.failed(error))
        };
        let mut called = call(running);
        if let Err(Failed::Room(_, printed)) = called {
            if let Some(checkpointed) = function.running_checkpointed() {
                **running = checkpointed;
                running.instance.set_limits(self.limits.clone());
                running.printed.begin(printed);
                called = call(running);
            }
        }
        let failed = match called {
            Ok(value) => return Ok(value),
            Err(failed) => failed,
        };
        match failed {
            Failed::Stopped(error) | Failed::Room(error, _) if error.kind.is_bound() => {
                Err(Undefined::Ended(function.stopped(&error)))
            }
            Failed::Stopped(error) | Failed::Room(error, _) => {
                Err(Undefined::Stopped(function.stopped(&error)))
            }
            Failed::Again(printed) => self.evaluated(x, gradient, printed, None),
            Failed::Value(error, printed) => {
                let found = self.evaluated(x, gradient, printed, Some(BRIEF));
                found.map_err(|_| Undefined::Stopped(function.stopped(&error)))
            }
            Failed::Misfit(_) => Err(Undefined::NanGradient),
        }
    }

    /// The same by the evaluator, after so much was printed and reported, in at most so many operations.
    fn evaluated(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        printed: [u64; 2],
        most: Option<u64>,
    ) -> Result<f64, Undefined> {
        let point = Value::Reals(Array::vector(x));
        let argument = match self.data {
            Some(data) => Value::Tuple(vec![point, data.clone()]),
            None => point,
        };
        match self.function.evaluated(&argument, printed, self.limits.clone(), most) {
            Ok(Value::Tuple(parts)) => match parts.as_slice() {
                [Value::Real(value), Value::Reals(found)] => {
                    gradient.copy_from_slice(&found.data);
                    match gradient.iter().any(|slope| slope.is_nan()) {
                        true => Err(Undefined::NanGradient),
                        false => Ok(*value),
                    }
                }
                _ => Ok(f64::NAN),
            },
            Ok(_) => Ok(f64::NAN),
            Err(error) if error.is_bound() => Err(Undefined::Ended(error)),
            Err(error) => Err(Undefined::Stopped(error)),
        }
    }
}
