//! Programs in other programs: load one, look a function up, call it, differentiate it, from any thread.
//!
//! What comes in are texts or files and Rust values ([`ToDiffeo`]); what goes out are Rust values ([`FromDiffeo`]) or an
//! [`Error`] with its messages as data. What always holds: a value that reaches the program has the type that the
//! function takes; a function gives the same result to every thread, to the last digit.
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
//! let gradient = loss.value_and_grad(&[0])?;
//! let result: (f64, (f64, f64)) = gradient.call(&data)?;
//! assert_eq!(result, (1.0, (-1.0, -2.0)));
//! # Ok::<(), diffeo::Error>(())
//! ```

mod code;
mod convert;
mod function;
mod notebook;
mod repeated;
mod stablehlo;
mod value;

pub use convert::{FromDiffeo, Interval, Mismatch, ToDiffeo};
pub use diffeo_calculus::ty::WellKnown;
pub use diffeo_front::interface::{Type, Types, Variant};
pub use function::{Function, HostOptions, Lines, Report, Reports};
pub use notebook::{Notebook, Shown};
pub(crate) use repeated::{Repeated, Undefined};
pub use stablehlo::XlaModule;
pub use value::{Array, Value};

use crate::session::Session;
use crate::Cpu;
use crate::ModuleId;
use diffeo_base::{bounded, Spelling};
use diffeo_calculus::eval::{Exceeded, Kinks, Limits};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value as Core;
use diffeo_codegen::confined::Confined;
use diffeo_front::{Entry, Message};
use function::Definition;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a program was refused or stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What is wrong; at least one is an error.
    pub messages: Vec<Message>,
}

impl Error {
    pub(crate) fn one(message: Message) -> Error {
        Error { messages: vec![message] }
    }

    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Error {
        Error::one(Message::error(code, message))
    }

    /// Whether the call was interrupted, as opposed to wrong.
    pub fn is_interrupt(&self) -> bool {
        self.messages.iter().any(|message| message.code == Exceeded::Interrupt.code())
    }

    /// Whether the call was interrupted, or has used up its time or memory.
    pub(crate) fn is_bound(&self) -> bool {
        let bounds =
            [Exceeded::Interrupt, Exceeded::Time(std::time::Duration::ZERO), Exceeded::Memory(0)];
        self.messages.iter().any(|message| bounds.iter().any(|b| b.code() == message.code))
    }
}

impl Error {
    /// The messages, one below the other, for the users of a host.
    pub fn written(&self, spelling: Spelling) -> String {
        let all: Vec<String> = self.messages.iter().map(|m| m.written(spelling)).collect();
        all.join("\n")
    }
}

impl fmt::Display for Error {
    /// For users of Rust.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Spelling::Rust))
    }
}

impl std::error::Error for Error {}

/// A program without errors. Clones are the same program.
#[derive(Clone)]
pub struct Program {
    world: Arc<Confined<World>>,
    warnings: Arc<[Message]>,
}

/// What only one thread at a time looks at: the checked program, and the functions that were asked for.
struct World {
    session: Session,
    module: ModuleId,
    definitions: Vec<Definition>,
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
        Program::from_text_within(name, text, &Limits::default())
    }

    /// As [`Program::from_text`], within these bounds.
    ///
    /// # Errors
    /// Every error in the program, or the bound that was reached.
    pub fn from_text_within(name: &str, text: &str, limits: &Limits) -> Result<Program, Error> {
        Program::made(limits, |session| Ok(session.load_text(name, text)))
    }

    /// A program from a file. It can import files beside it and the standard library.
    ///
    /// # Errors
    /// The file cannot be read, or every error in the program.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Program, Error> {
        Program::from_file_within(path, &Limits::default())
    }

    /// As [`Program::from_file`], within these bounds.
    ///
    /// # Errors
    /// The file cannot be read, every error in the program, or the bound that was reached.
    pub fn from_file_within(path: impl AsRef<Path>, limits: &Limits) -> Result<Program, Error> {
        let path: PathBuf = path.as_ref().to_path_buf();
        Program::made(limits, |session| {
            session.load_file(&path).map_err(|error| {
                Error::one(Message::new(session.sources(), &error.to_diagnostic()))
            })
        })
    }

    fn made(
        limits: &Limits,
        load: impl FnOnce(&mut Session) -> Result<ModuleId, Error> + Send,
    ) -> Result<Program, Error> {
        Cpu::of_environment().map_err(|why| Error::new("processor", why))?;
        let limits = limits.clone();
        let world = Confined::try_new(|| {
            let checked = bounded(
                move || limits.check(),
                || {
                    let mut session = Session::new();
                    let module = load(&mut session)?;
                    session.check();
                    if session.has_errors() {
                        return Err(Error { messages: messages(&mut session) });
                    }
                    Ok(World { session, module, definitions: Vec::new() })
                },
            );
            checked.unwrap_or_else(|why| {
                let message = format!("{}, while the program was checked", why.message());
                Err(Error::new(why.code(), message))
            })
        })?;
        let warnings = world.with(|world| messages(&mut world.session));
        Ok(Program { world: Arc::new(world), warnings: warnings.into() })
    }

    /// The warnings about the program.
    pub fn warnings(&self) -> &[Message] {
        &self.warnings
    }

    /// The names of its definitions, in order.
    pub fn definitions(&self) -> Vec<String> {
        self.world.with(|world| {
            let names = world.session.definitions(world.module);
            names.iter().map(ToString::to_string).collect()
        })
    }

    /// The documentation of a definition: the lines of its `##` comment.
    pub fn documentation(&self, name: &str) -> Option<String> {
        self.world.with(|world| {
            let all = world.session.documentation(world.module);
            let (_, lines) = all.into_iter().find(|(found, _)| *found == name)?;
            let lines: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        })
    }

    /// Whether a definition is a function, if there is one of this name.
    pub fn is_function(&self, name: &str) -> Option<bool> {
        self.world.with(|world| {
            let known = world.session.definitions(world.module).iter().any(|n| *n == name);
            known.then(|| !world.session.is_constant(world.module, name))
        })
    }

    /// The variant types that the program declares, and behind them those of modules that it imports: each with the names and
    /// numbers of fields of its constructors.
    pub fn variants(&self) -> Vec<(String, Vec<(String, usize)>)> {
        self.world.with(|world| variants(&world.session, world.module))
    }

    /// A definition that is a function, ready to be called: kinks are ignored, nothing is bounded, traces are lost.
    ///
    /// # Errors
    /// There is no such definition, it is no function, or its type is not determined.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        self.function_with(name, HostOptions::default())
    }

    /// As [`Program::function`], run with these options.
    ///
    /// # Errors
    /// As for [`Program::function`].
    pub fn function_with(&self, name: &str, options: HostOptions) -> Result<Function, Error> {
        let function = Function::new(self, options, |world| world.entry(name))?;
        match function.ty() {
            Type::Function(_) => Ok(function),
            _ => {
                let message = format!("`{name}` is no function but a {}", function.signature());
                Err(Error::new("entry-type", message))
            }
        }
    }

    /// A function whose values certainly contain the exact ones: every Real is an interval, in what is given, computed and
    /// differentiated. What intervals do not decide stops the program.
    ///
    /// ```
    /// use diffeo::{Interval, Program};
    ///
    /// let program = Program::from_text("square.deo", "def square(x: Real) = x * x")?;
    /// let square = program.enclose("square")?;
    /// let value: Interval = square.call(Interval { lo: 1.0, hi: 2.0 })?;
    /// assert_eq!(value, Interval { lo: 1.0, hi: 4.0 });
    /// let slope: Interval = square.grad(&[0])?.call(Interval { lo: 1.0, hi: 2.0 })?;
    /// assert_eq!(slope, Interval { lo: 2.0, hi: 4.0 });
    /// # Ok::<(), diffeo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Program::function`].
    pub fn enclose(&self, name: &str) -> Result<Function, Error> {
        let options = HostOptions { kinks: Kinks::Enclose, ..HostOptions::default() };
        self.function_with(name, options)
    }

    /// A definition that is a function or a constant, run with these options.
    pub(crate) fn callable(&self, name: &str, options: HostOptions) -> Result<Function, Error> {
        Function::new(self, options, |world| world.entry(name))
    }

    /// The value of a definition that is a constant.
    ///
    /// # Errors
    /// There is no such definition, it is a function, its evaluation stops, or its value is no `R`.
    pub fn value<R: FromDiffeo>(&self, name: &str) -> Result<R, Error> {
        self.constant(name)?.call(())
    }

    /// A definition that is a constant, as the function of `()` that gives it: it knows the type of the value.
    ///
    /// # Errors
    /// There is no such definition, or it is a function.
    pub fn constant(&self, name: &str) -> Result<Function, Error> {
        let constant = Function::new(self, HostOptions::default(), |world| world.entry(name))?;
        match constant.ty() {
            Type::Function(_) => {
                let message = format!("`{name}` is a function, {}: call it", constant.signature());
                Err(Error::new("entry-type", message))
            }
            _ => Ok(constant),
        }
    }

    /// A function that an expression is, in the scope of the program.
    ///
    /// # Errors
    /// What is wrong with the expression, or its type is not determined.
    pub fn expression(&self, text: &str, options: HostOptions) -> Result<Function, Error> {
        self.expression_with(text, &[], options)
    }

    /// As [`Program::expression`], where modules of the library have other names, too.
    pub(crate) fn expression_with(
        &self,
        text: &str,
        modules: &[(&str, &str)],
        options: HostOptions,
    ) -> Result<Function, Error> {
        Function::new(self, options, |world| {
            match world.session.expression_with(Some(world.module), text, modules) {
                Some(module) => world.entry_of(module, "it"),
                None => Err(Error { messages: messages(&mut world.session) }),
            }
        })
    }
}

impl World {
    fn entry(&mut self, name: &str) -> Result<Entry, Error> {
        self.entry_of(self.module, name)
    }

    fn entry_of(&mut self, module: ModuleId, name: &str) -> Result<Entry, Error> {
        match self.session.callable(module, name) {
            Some(entry) => Ok(entry),
            None => Err(Error { messages: messages(&mut self.session) }),
        }
    }
}

/// The variant types that a module declares, and behind them those that it imports.
fn variants(session: &Session, module: ModuleId) -> Vec<(String, Vec<(String, usize)>)> {
    let text = |name: diffeo_base::Name| name.to_string();
    let all = session.variants(module).into_iter();
    all.map(|(name, c)| (text(name), c.into_iter().map(|(n, k)| (text(n), k)).collect())).collect()
}

/// A value as the evaluator has it: for benchmarks of one engine.
///
/// # Errors
/// It is none of the type.
#[doc(hidden)]
pub fn to_core(value: &Value<'_>, ty: &Ty, datas: &[DataDecl]) -> Result<Core, String> {
    code::ValueTypes { datas }.core(value, ty).map_err(|misfit| misfit.explain())
}

/// One of the evaluator's values: for benchmarks of one engine.
#[doc(hidden)]
pub fn from_core(value: &Core, ty: &Ty, datas: &[DataDecl]) -> Value<'static> {
    code::ValueTypes { datas }.host(value, ty)
}

/// Domain and range; both the type itself for a constant.
fn sides(ty: &Ty) -> (&Ty, &Ty) {
    match ty {
        Ty::Fun(f) => (&f.0, &f.1),
        ty => (ty, ty),
    }
}
