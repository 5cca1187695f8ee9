//! Programs from Rust: load one, look a function up, call it, take its gradient.
//!
//! What comes in are texts or files and Rust values ([`ToDiffeo`]); what goes out are Rust values
//! ([`FromDiffeo`]) or an [`Error`] with its messages as data. What always holds: a value that reaches the
//! program has the type that the function takes.
//!
//! ```
//! use diffeo::Program;
//!
//! let program = Program::from_text("line.deo", "
//!     def loss((slope, offset): (Real, Real), xs: [n]Real, ys: [n]Real) -> Real =
//!       mean(map2(fn (x, y) -> sq(slope * x + offset - y), xs, ys))
//! ")?;
//! let loss = program.function("loss")?;
//! assert_eq!(loss.signature(), "((Real, Real), [n]Real, [n]Real) -> Real");
//! let data = ((2.0, 0.0), [0.0, 1.0], [1.0, 3.0]);
//! let (value, gradient) = loss.value_and_gradient(&data)?;
//! let (weights, _, _): ((f64, f64), Vec<f64>, Vec<f64>) = gradient;
//! assert_eq!((value, weights), (1.0, (-1.0, -2.0)));
//! # Ok::<(), diffeo::Error>(())
//! ```

mod convert;
#[cfg(test)]
mod tests;
mod value;

pub use convert::{FromDiffeo, Misfit, ToDiffeo};
pub use value::Value;

use crate::session::{Auto, Once, Session};
use crate::{ModuleId, Options};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Kinks, Machine, RuntimeError, RuntimeWarning};
use diffeo_calculus::outside::{asked, Asked};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value as Core;
use diffeo_front::Entry;
use diffeo_front::Message;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// Why a program was refused or stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What is wrong; at least one is an error.
    pub messages: Vec<Message>,
}

impl Error {
    fn one(message: Message) -> Error {
        Error { messages: vec![message] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, message) in self.messages.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            message.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// A program without errors.
pub struct Program {
    session: Rc<RefCell<Session>>,
    module: ModuleId,
    warnings: Vec<Message>,
}

/// The messages of a session, taken.
fn messages(session: &mut Session) -> Vec<Message> {
    let diagnostics = session.take_diagnostics();
    diagnostics.iter().map(|d| Message::new(session.sources(), d)).collect()
}

impl Program {
    /// A program from its text. `name` stands for it in messages. It can import the standard library.
    ///
    /// # Errors
    /// Every error in the program.
    pub fn from_text(name: &str, text: &str) -> Result<Program, Error> {
        let mut session = Session::new();
        let module = session.load_text(name, text);
        Program::checked(session, module)
    }

    /// A program from a file. It can import files beside it and the standard library.
    ///
    /// # Errors
    /// The file cannot be read, or every error in the program.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Program, Error> {
        let mut session = Session::new();
        match session.load_file(path.as_ref()) {
            Ok(module) => Program::checked(session, module),
            Err(error) => Err(Error::one(Message::new(session.sources(), &error.to_diagnostic()))),
        }
    }

    fn checked(mut session: Session, module: ModuleId) -> Result<Program, Error> {
        session.check();
        let refused = session.has_errors();
        let warnings = messages(&mut session);
        if refused {
            return Err(Error { messages: warnings });
        }
        Ok(Program { session: Rc::new(RefCell::new(session)), module, warnings })
    }

    /// The warnings about the program.
    pub fn warnings(&self) -> &[Message] {
        &self.warnings
    }

    /// The names of its definitions, in order.
    pub fn definitions(&self) -> Vec<String> {
        let session = self.session.borrow();
        session.definitions(self.module).iter().map(ToString::to_string).collect()
    }

    /// A definition that is a function, ready to be called: kinks are ignored, nothing is bounded, traces
    /// are lost.
    ///
    /// # Errors
    /// There is no such definition, it is no function, or its type is not determined.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        self.function_with(name, Options::default())
    }

    /// As [`Program::function`], run with these options.
    ///
    /// # Errors
    /// As for [`Program::function`].
    pub fn function_with(&self, name: &str, options: Options) -> Result<Function, Error> {
        let (entry, signature) = self.entry(name)?;
        if !matches!(entry.ty, Ty::Fun(_)) {
            let message = format!("`{name}` is no function but a {signature}");
            return Err(Error::one(Message::error("entry-type", message)));
        }
        Ok(Function::new(self.session.clone(), entry, signature, options))
    }

    /// The value of a definition that is a constant.
    ///
    /// # Errors
    /// There is no such definition, it is a function, its evaluation stops, or its value is no `R`.
    pub fn value<R: FromDiffeo>(&self, name: &str) -> Result<R, Error> {
        let (entry, signature) = self.entry(name)?;
        if matches!(entry.ty, Ty::Fun(_)) {
            let message = format!("`{name}` is a function, {signature}: call it");
            return Err(Error::one(Message::error("entry-type", message)));
        }
        let session = self.session.clone();
        let constant = Function::new(session, entry, signature, Options::default());
        let value = constant.evaluated(None)?;
        constant.out(&value, &constant.entry.ty)
    }

    fn entry(&self, name: &str) -> Result<(Entry, String), Error> {
        let mut session = self.session.borrow_mut();
        match session.callable(self.module, name) {
            Some(entry) => {
                let line = session.show_types(self.module, Some(name));
                let signature = line.trim_end().split_once(" : ").map_or("", |(_, ty)| ty);
                Ok((entry, signature.to_string()))
            }
            None => Err(Error { messages: messages(&mut session) }),
        }
    }
}

/// A function of a program, ready to be called with Rust values and differentiated. Calls and derivatives run as
/// machine code: the first of each kind makes it, and after many there is better one
/// ([`Engine::Auto`](crate::Engine::Auto)). What is not compiled, or looks for kinks, runs on the evaluator.
pub struct Function {
    session: Rc<RefCell<Session>>,
    entry: Entry,
    signature: String,
    machine: RefCell<Machine>,
    /// The program, value and pullback, value and pushforward.
    call: Code,
    pull: Code,
    push: Code,
    once: Once,
}

/// A program in machine code, if it has been asked for and there is some.
type Code = OnceCell<Option<RefCell<Auto>>>;

impl Function {
    fn new(
        session: Rc<RefCell<Session>>,
        entry: Entry,
        signature: String,
        options: Options,
    ) -> Function {
        let once = Once::new(options);
        let machine = RefCell::new(Machine::new(entry.program.clone(), once.options()));
        let code = OnceCell::new;
        let (call, pull, push) = (code(), code(), code());
        Function { session, entry, signature, machine, call, pull, push, once }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Its type, as the language writes it.
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// The function at an argument; several are a tuple.
    ///
    /// # Errors
    /// The argument is not of the function's type, the program stops, or its result is no `R`.
    pub fn call<R: FromDiffeo>(&self, argument: impl ToDiffeo) -> Result<R, Error> {
        let (from, to) = self.types();
        let argument = self.given(&argument, from, "the argument")?;
        let result = self.evaluated(Some(argument))?;
        self.out(&result, to)
    }

    /// Value and gradient at a point, of a function to Real. The gradient has the shape of the point; where
    /// the point has no Real, it repeats the point.
    ///
    /// # Errors
    /// As for [`Function::call`], or the function is not one to Real.
    pub fn value_and_gradient<G: FromDiffeo>(
        &self,
        point: impl ToDiffeo,
    ) -> Result<(f64, G), Error> {
        if *self.types().1 != Ty::Real {
            let message = format!(
                "a gradient needs a function to Real; `{}` is {}",
                self.name(),
                self.signature
            );
            return Err(Error::one(Message::error("entry-type", message)));
        }
        self.pullback(point, 1.0)
    }

    /// The gradient alone.
    ///
    /// # Errors
    /// As for [`Function::value_and_gradient`].
    pub fn gradient<G: FromDiffeo>(&self, point: impl ToDiffeo) -> Result<G, Error> {
        self.value_and_gradient(point).map(|(_, gradient)| gradient)
    }

    /// The value, and the gradient at a point of its inner product with a cotangent: reverse mode.
    ///
    /// # Errors
    /// As for [`Function::call`]; a function in the argument or result; a cotangent of another shape than
    /// the result.
    pub fn pullback<R: FromDiffeo, G: FromDiffeo>(
        &self,
        point: impl ToDiffeo,
        cotangent: impl ToDiffeo,
    ) -> Result<(R, G), Error> {
        let (from, to) = self.types();
        let point = self.given(&point, from, "the point")?;
        let cotangent = self.given(&cotangent, to, "the cotangent")?;
        let given = Core::tuple([point.clone(), cotangent.clone()]);
        let pair = match self.compiled(&self.pull, Some(Asked::Pullback), &given)? {
            Some(pair) => pair,
            None => self.run(|machine| {
                let f = machine.eval_global(self.entry.global)?;
                let pair = machine.derivative(DiffOp::Vjp, vec![f, point])?;
                let gradient = machine.apply(&pair.fields()[1], cotangent)?;
                Ok(Core::tuple([pair.fields()[0].clone(), gradient]))
            })?,
        };
        Ok((self.out(&pair.fields()[0], to)?, self.out(&pair.fields()[1], from)?))
    }

    /// The value, and its derivative at a point along a tangent: forward mode.
    ///
    /// # Errors
    /// As for [`Function::call`]; a function in the argument or result; a tangent of another shape than the
    /// point.
    pub fn pushforward<R: FromDiffeo>(
        &self,
        point: impl ToDiffeo,
        tangent: impl ToDiffeo,
    ) -> Result<(R, R), Error> {
        let (from, to) = self.types();
        let point = self.given(&point, from, "the point")?;
        let tangent = self.given(&tangent, from, "the tangent")?;
        let given = Core::tuple([point.clone(), tangent.clone()]);
        let pair = match self.compiled(&self.push, Some(Asked::Pushforward), &given)? {
            Some(pair) => pair,
            None => self.run(|machine| {
                let f = machine.eval_global(self.entry.global)?;
                machine.derivative(DiffOp::Jvp, vec![f, point, tangent])
            })?,
        };
        Ok((self.out(&pair.fields()[0], to)?, self.out(&pair.fields()[1], to)?))
    }

    /// The warnings of the calls since this was last asked, such as a derivative that is nan.
    pub fn take_warnings(&self) -> Vec<Message> {
        let warnings = self.machine.borrow_mut().take_warnings();
        let session = self.session.borrow();
        let diagnostics = warnings.iter().map(RuntimeWarning::to_diagnostic);
        diagnostics.map(|d| Message::new(session.sources(), &d)).collect()
    }

    /// Domain and range; both the type itself for a constant.
    fn types(&self) -> (&Ty, &Ty) {
        match &self.entry.ty {
            Ty::Fun(f) => (&f.0, &f.1),
            ty => (ty, ty),
        }
    }

    /// The value, at an argument if it is a function.
    fn evaluated(&self, argument: Option<Core>) -> Result<Core, Error> {
        let given = argument.clone().unwrap_or(Core::Unit);
        if let Some(value) = self.compiled(&self.call, None, &given)? {
            return Ok(value);
        }
        self.run(|machine| {
            let value = machine.eval_global(self.entry.global)?;
            match argument {
                Some(argument) => machine.apply(&value, argument),
                None => Ok(value),
            }
        })
    }

    /// What the machine code for the function, or such a derivative of it, gives; the evaluator begins at the beginning
    /// if there is none, or it gave a nan.
    fn compiled(
        &self,
        code: &Code,
        what: Option<Asked>,
        given: &Core,
    ) -> Result<Option<Core>, Error> {
        let make = || {
            if self.once.kinks != Kinks::Ignore {
                return None;
            }
            let Entry { program, global, .. } = &self.entry;
            let code = match what {
                None => Auto::repeated(program, *global, self.once.clone()),
                Some(what) => {
                    let (program, global) = asked(program, *global, what, None)?;
                    Auto::repeated(&program, global, self.once.clone())
                }
            };
            code.map(RefCell::new)
        };
        let code = code.get_or_init(make);
        self.once.begin();
        let Some(code) = code else { return Ok(None) };
        match code.borrow_mut().call(given, &mut Vec::new()) {
            // The evaluator finds out why, and whether it is; and it has all orders.
            Err(RuntimeError {
                kind: ErrorKind::NanDerivative | ErrorKind::DerivativeOrder,
                ..
            }) => {
                self.once.again();
                Ok(None)
            }
            result => result.map(Some).map_err(|error| self.stopped(&error)),
        }
    }

    fn stopped(&self, error: &RuntimeError) -> Error {
        let session = self.session.borrow();
        Error::one(Message::new(session.sources(), &error.to_diagnostic()))
    }

    fn run<T>(
        &self,
        work: impl FnOnce(&mut Machine) -> Result<T, RuntimeError>,
    ) -> Result<T, Error> {
        work(&mut self.machine.borrow_mut()).map_err(|error| self.stopped(&error))
    }

    fn given(&self, value: &impl ToDiffeo, ty: &Ty, what: &str) -> Result<Core, Error> {
        let datas = &self.entry.program.datas;
        value.to_diffeo(ty, datas).map_err(|misfit| {
            let message = format!(
                "{what} of `{}: {}` does not fit: {}",
                self.name(),
                self.signature,
                misfit.explain(datas)
            );
            Error::one(Message::error("argument", message))
        })
    }

    fn out<R: FromDiffeo>(&self, value: &Core, ty: &Ty) -> Result<R, Error> {
        let datas = &self.entry.program.datas;
        R::from_diffeo(value, ty, datas).map_err(|misfit| {
            let message = format!(
                "a result of `{}: {}` is asked for as another type: {}",
                self.name(),
                self.signature,
                misfit.explain(datas)
            );
            Error::one(Message::error("result", message))
        })
    }
}
