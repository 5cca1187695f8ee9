//! Cells of a notebook: each is a program that is checked anew, and its expression runs on the constants that cells before it have
//! computed.

use super::code::ValueTypes;
use super::{Error, HostOptions, Type, Types, Value};
use crate::console::{help, Command, Console, Constants, Refused};
use crate::session::Session;
use crate::{plot, Entry, ModuleId};
use diffeo_base::Diagnostic;
use diffeo_calculus::eval::{Exceeded, Limits, Options};
use diffeo_calculus::value::Value as Core;
use diffeo_codegen::confined::Confined;
use diffeo_front::Message;
use std::sync::Arc;

/// A notebook in the language. What definitions reach is what the text of the last cell says: so a definition may take the place
/// of an earlier one of its name.
///
/// ```
/// use diffeo::{HostOptions, Limits, Notebook, Value};
///
/// let (notebook, options) = (Notebook::new(), HostOptions::default());
/// notebook.check("def slow = sum(map(sin, [1.0, 2.0]))", Limits::default())?;
/// let shown = notebook.evaluate("slow > 1.0", &options, Limits::default())?;
/// assert_eq!((shown.value, &*shown.text), (Some(Value::Bool(true)), "true"));
/// let (text, _) = notebook.command("type slow", &options, Limits::default())?;
/// assert_eq!(text, "Real");
/// # Ok::<(), diffeo::Error>(())
/// ```
pub struct Notebook(Confined<Cells>);

/// The value of a cell.
#[derive(Clone, Debug)]
pub struct Shown {
    /// It, unless it is or holds a function.
    pub value: Option<Value<'static>>,
    /// Its type; that of a function is not told.
    pub ty: Type,
    /// The variant types of the program.
    pub types: Types,
    /// As the language writes it; of a function, the type.
    pub text: String,
    /// The columns of a table, as its type is declared.
    pub columns: Vec<String>,
}

struct Cells {
    /// A session without a program.
    fresh: Session,
    session: Session,
    module: Option<ModuleId>,
    constants: Constants,
    options: HostOptions,
    limits: Limits,
    said: Vec<Message>,
}

impl Default for Notebook {
    fn default() -> Notebook {
        Notebook::new()
    }
}

impl Notebook {
    /// One without cells.
    pub fn new() -> Notebook {
        Notebook(Confined::new(|| {
            let fresh = Session::new();
            Cells {
                session: fresh.clone(),
                fresh,
                module: None,
                constants: Constants::of_one_program(),
                options: HostOptions::default(),
                limits: Limits::default(),
                said: Vec::new(),
            }
        }))
    }

    fn with<R: Send>(
        &self,
        options: &HostOptions,
        limits: Limits,
        work: impl FnOnce(&mut Cells) -> Result<R, Refused> + Send,
    ) -> Result<R, Error> {
        self.0.with(|cells| {
            (cells.options, cells.limits) = (options.clone(), limits);
            work(cells).map_err(|Refused| {
                let said = std::mem::take(&mut cells.said).into_iter();
                let (messages, others) = said.partition(|m| m.severity == "error");
                cells.said = others;
                Error { messages }
            })
        })
    }

    /// Checks the program of a cell: the scope of what follows.
    ///
    /// # Errors
    /// Every error in it, or the bound that is reached.
    pub fn check(&self, text: &str, limits: Limits) -> Result<(), Error> {
        self.with(&HostOptions::default(), limits, |cells| {
            (cells.session, cells.module) = (cells.fresh.clone(), None);
            let module = cells.within(|session| {
                let module = session.load_text("cell.deo", text);
                session.check();
                Some(module)
            })?;
            cells.module = Some(module);
            Ok(())
        })
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// It is wrong, or stops.
    pub fn evaluate(
        &self,
        expression: &str,
        options: &HostOptions,
        limits: Limits,
    ) -> Result<Shown, Error> {
        self.with(options, limits, |cells| {
            let module = cells.checked(expression)?;
            if cells.session.is_function(module, "it") {
                let ty = cells.session.type_of(module, "it").unwrap_or_default();
                let text = format!("<function : {ty}>");
                return Ok(Shown {
                    value: None,
                    ty: Type::Unit,
                    types: Types::default(),
                    text,
                    columns: Vec::new(),
                });
            }
            let entry = cells.entry(module, "it")?;
            let (entry, value) = Console::evaluate(cells, entry)?;
            let (ty, datas) = (entry.result_type(), &entry.program.datas);
            Ok(Shown {
                value: Some(ValueTypes { datas }.host(&value, ty)),
                ty: entry.interface.ty.sides().1.clone(),
                types: Types::new(datas),
                text: plot::show(&value, ty, datas),
                columns: columns(entry.interface.ty.sides().1),
            })
        })
    }

    /// Runs a command, its text without the colon: gives the answer, and the definition that it adds to the notebook.
    ///
    /// # Errors
    /// There is no such command, or what it asks for is refused.
    pub fn command(
        &self,
        text: &str,
        options: &HostOptions,
        limits: Limits,
    ) -> Result<(String, Option<String>), Error> {
        let has = |command: &Command| command.in_notebooks;
        self.with(options, limits, |cells| {
            let (command, rest) = Command::of(text, has).map_err(|d| cells.refuse(*d))?;
            let said = match command.name {
                "help" => help(has).trim_end().to_string(),
                "type" => cells.type_of(rest)?,
                "look" => cells.look(rest)?,
                "data" => {
                    let given = cells.data(rest)?;
                    let names = cells.session.symbols(given.module).into_iter();
                    let types = names.filter_map(|s| Some(format!("{} : {}", s.name, s.ty?)));
                    return Ok((types.collect(), Some(given.definition)));
                }
                _ => cells.gradient(rest)?,
            };
            Ok((said, None))
        })
    }

    /// The variant types that the last cell that was checked sees: each with the names and numbers of fields of its constructors.
    pub fn variants(&self) -> Vec<(String, Vec<(String, usize)>)> {
        self.0.with(|cells| {
            cells.module.map_or(Vec::new(), |module| super::variants(&cells.session, module))
        })
    }

    /// The warnings since this was last asked.
    pub fn take_warnings(&self) -> Vec<Message> {
        self.0.with(|cells| std::mem::take(&mut cells.said))
    }
}

/// The columns of a table.
fn columns(ty: &Type) -> Vec<String> {
    match ty {
        Type::Array(_, row) => match &**row {
            Type::Record(fields) => fields.written().map(|(name, _)| name.to_string()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

impl Console for Cells {
    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn context(&self) -> Option<ModuleId> {
        self.module
    }

    fn constants(&mut self) -> &mut Constants {
        &mut self.constants
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn report(&mut self, messages: &[Diagnostic]) {
        let sources = self.session.sources();
        self.said.extend(messages.iter().map(|d| Message::new(sources, d)));
    }

    fn evaluate(&mut self, entry: Entry) -> Result<(Entry, Core), Refused> {
        let Cells { session, constants, options: how, limits, said, .. } = self;
        let run = |entry: &Entry, argument: Option<Core>| {
            let options = how.run(&Arc::default(), &Arc::default());
            session.run_on(
                entry,
                argument,
                Options { limits: limits.clone(), ..options },
                how.engine,
            )
        };
        let (whole, mut interrupted) = (entry.clone(), None);
        let (entry, argument) = constants.put(entry, &mut |constant, argument| {
            let ran = interrupted.is_none().then(|| run(constant, argument))?;
            match ran.result {
                Ok(value) => {
                    said.extend(ran.warnings.iter().map(|d| Message::new(session.sources(), d)));
                    Some(value)
                }
                // A host says so once.
                Err(error) if error.code == Exceeded::Interrupt.code() => {
                    interrupted = Some(error);
                    None
                }
                Err(_) => None,
            }
        });
        let (result, warnings) = match interrupted {
            Some(error) => (Err(error), Vec::new()),
            None => {
                let ran = run(&entry, argument);
                (ran.result, ran.warnings)
            }
        };
        self.report(&warnings);
        result.map(|value| (whole, value)).map_err(|error| self.refuse(error))
    }
}
