//! Interactive sessions: the commands and constants that `diffeo repl` and the kernel for Jupyter share.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod.rs` | the commands, what begins with a colon, and what they need of a host |
//! | `constants.rs` | the values of constants from one input to the next |
//! | `data.rs` | `:data` |
//! | `look.rs` | `:look` |
//!
//! In comes the text of a command; out goes text, and messages are given to the host.

mod constants;
mod data;
mod look;

pub use constants::Constants;
pub use data::{given, Given};

use crate::{Entry, Limits, ModuleId, Session};
use diffeo_base::{bounded, closest, Diagnostic, FileId, Span};
use diffeo_calculus::show::show;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use diffeo_syntax::ast::{ExprKind, Item};

/// A command of sessions.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its argument, in brackets if that may be left out.
    pub needs: &'static str,
    /// Its effect, for `:help`.
    pub what: &'static str,
    /// True of commands of notebooks; a session has all.
    pub in_notebooks: bool,
}

const fn command(
    name: &'static str,
    needs: &'static str,
    what: &'static str,
    in_notebooks: bool,
) -> Command {
    Command { name, needs, what, in_notebooks }
}

/// The commands.
pub const COMMANDS: [Command; 9] = [
    command("type", "EXPR", "the type of an expression, which is not evaluated", true),
    command(
        "doc",
        "[WORDS]",
        "what a function of the library, or of the session, does; or what words lead to",
        false,
    ),
    command("grad", "F at X", "value and gradient of a function at a point; also F(X)", true),
    command("time", "EXPR", "the value, and how long it took", false),
    command(
        "data",
        "NAME = FILE",
        "names what a file holds, as `run --arg`; also NAME: TYPE = FILE",
        true,
    ),
    command(
        "look",
        "EXPR",
        "a table: types, missing cells and five numbers of each column, the first rows",
        true,
    ),
    command("load", "FILE", "adds the definitions of a program, read anew", false),
    command("help", "", "this list", true),
    command("quit", "", "ends the session; Ctrl-D, too", false),
];

impl Command {
    /// The command of a text without its colon, of those that a host has, and what follows its name; the beginning of a name
    /// will do.
    ///
    /// # Errors
    /// There is none of this name, or nothing follows it.
    pub fn of(
        text: &str,
        has: impl Fn(&Command) -> bool,
    ) -> Result<(Command, &str), Box<Diagnostic>> {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let has = || COMMANDS.iter().copied().filter(|command| has(command));
        let named = has().find(|known| !name.is_empty() && known.name.starts_with(name));
        let Some(command) = named else {
            let d = Diagnostic::error("command", Span::NONE, format!("there is no `:{name}`"));
            return Err(Box::new(d.help(match closest(name, has().map(|known| known.name)) {
                Some(near) => format!("did you mean `:{near}`? `:help` lists the commands"),
                None => "`:help` lists the commands".to_string(),
            })));
        };
        let Command { name, needs, .. } = command;
        if rest.is_empty() && !needs.is_empty() && !needs.starts_with('[') {
            let d = Diagnostic::error("command", Span::NONE, format!("`:{name}` needs {needs}"));
            return Err(Box::new(d.help(format!("write `:{name} {needs}`"))));
        }
        Ok((command, rest))
    }
}

/// The list of the commands that a host has.
pub fn help(has: impl Fn(&Command) -> bool) -> String {
    let line = |Command { name, needs, what, .. }: &Command| {
        format!("  {:18} {what}\n", format!(":{name} {needs}"))
    };
    COMMANDS.iter().filter(|command| has(command)).map(line).collect()
}

/// The refusal of a command; the host has been told why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused;

/// A session, as its commands use it.
pub trait Console {
    /// The session.
    fn session(&mut self) -> &mut Session;

    /// The module whose scope a command has.
    fn context(&self) -> Option<ModuleId>;

    /// The values of constants.
    fn constants(&mut self) -> &mut Constants;

    /// The bounds of the work.
    fn limits(&self) -> &Limits;

    /// Takes messages.
    fn report(&mut self, messages: &[Diagnostic]);

    /// Runs an entry point on the constants of the session: the entry point as it was, and its value.
    ///
    /// # Errors
    /// It stops.
    fn evaluate(&mut self, entry: Entry) -> Result<(Entry, Value), Refused>;

    /// Refuses what a command asks for.
    fn refuse(&mut self, message: Diagnostic) -> Refused {
        self.report(&[message]);
        Refused
    }

    /// Has the front end do something, within the bounds: what it has changed is to be thrown away if they end it.
    ///
    /// # Errors
    /// A bound is reached, or there are errors.
    fn within<R>(&mut self, work: impl FnOnce(&mut Session) -> Option<R>) -> Result<R, Refused> {
        let limits = self.limits().clone();
        let session = self.session();
        let done = bounded(move || limits.check(), || work(session));
        let done = done.map_err(|bound| {
            let message = format!("{}, while checking the input", bound.message());
            self.refuse(Diagnostic::error(bound.code(), Span::NONE, message))
        })?;
        let messages = self.session().take_diagnostics();
        self.report(&messages);
        done.filter(|_| !messages.iter().any(Diagnostic::is_error)).ok_or(Refused)
    }

    /// An expression, checked: the module in which it is `it`.
    ///
    /// # Errors
    /// It is wrong.
    fn checked(&mut self, text: &str) -> Result<ModuleId, Refused> {
        let context = self.context();
        self.within(|session| session.expression(context, text))
    }

    /// An entry point of a module.
    ///
    /// # Errors
    /// It is none.
    fn entry(&mut self, module: ModuleId, name: &str) -> Result<Entry, Refused> {
        self.within(|session| session.entry(module, name))
    }

    /// `:type`
    ///
    /// # Errors
    /// The expression is wrong.
    fn type_of(&mut self, text: &str) -> Result<String, Refused> {
        let module = self.checked(text)?;
        Ok(self.session().type_of(module, "it").unwrap_or_default())
    }

    /// `:look`: how many rows a table has, its columns with types, missing cells and five numbers each, the first rows.
    ///
    /// # Errors
    /// The expression is wrong, stops, or is no table.
    fn look(&mut self, text: &str) -> Result<String, Refused> {
        let module = self.checked(text)?;
        let entry = self.entry(module, "it")?;
        let (entry, value) = self.evaluate(entry)?;
        let datas = &entry.program.datas;
        look::table(&value, &entry, datas).ok_or_else(|| {
            let ty = crate::data::show_type(entry.result_type(), datas);
            let message = format!("`:look` needs a table, and this is {ty}");
            let d = Diagnostic::error("command", Span::NONE, message);
            self.refuse(d.help("a table is an array of records: `:look [{x = x} for x in xs]`"))
        })
    }

    /// `:grad`, of `F at X` or an application.
    ///
    /// # Errors
    /// It is neither, or stops.
    fn gradient(&mut self, text: &str) -> Result<String, Refused> {
        let parts = match text.rsplit_once(" at ") {
            Some((f, x)) => Some((f.trim().to_string(), x.trim().to_string())),
            None => application(text),
        };
        let Some((f, x)) = parts else {
            let d =
                Diagnostic::error("command", Span::NONE, "`:grad` needs a function and a point");
            return Err(self.refuse(d.help("write `:grad f at 2.0`, or `:grad f(2.0)`")));
        };
        let module = self.checked(&format!("value_and_grad({f})({x})"))?;
        let entry = self.entry(module, "it")?;
        let (entry, pair) = self.evaluate(entry)?;
        let (Ty::Tuple(types), [value, gradient]) = (entry.result_type(), pair.fields()) else {
            return Err(Refused);
        };
        let shown = |value, ty| show(value, ty, &entry.program.datas);
        let (value, gradient) = (shown(value, &types[0]), shown(gradient, &types[1]));
        Ok(format!("value     {value}\ngradient  {gradient}"))
    }

    /// `:data`, of `NAME = FILE:…`, perhaps with a type: as `run --arg` reads it.
    ///
    /// # Errors
    /// The text is something else, or the file has no such data.
    fn data(&mut self, text: &str) -> Result<Given, Refused>
    where
        Self: Sized,
    {
        data::read(self, text)
    }
}

/// The function and the argument of an application.
fn application(text: &str) -> Option<(String, String)> {
    let (ast, _) = diffeo_syntax::parse_expression(FileId(0), text);
    let Some(Item::Def(def)) = ast.items.first() else { return None };
    let ExprKind::Apply { fun, arg } = &ast.exprs[def.body].kind else { return None };
    let part = |span: Span| text.get(span.start as usize..span.end as usize).map(str::to_string);
    let argument = part(ast.exprs[*arg].span)?;
    Some((part(ast.exprs[*fun].span)?, argument))
}
