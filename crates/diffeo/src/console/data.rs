//! Data in a session.
//!
//! In comes `NAME = FILE:…` or `NAME: TYPE = FILE:…`, as `run --arg` reads values. Out goes a constant of
//! the session, whose value is the data. Without a type, the columns of the file say it: the first of [`CELLS`] that takes
//! every cell of a column.

use super::{Console, Refused};
use crate::data::{read_argument, DataError, Field, Problem};
use crate::{Entry, ModuleId};
use diffeo_base::{field_name, Diagnostic, Help, Name, Span};
use diffeo_calculus::value::Value;
use std::io;

/// The types of a column's cells, narrowest first: the first that fits all is taken.
const CELLS: [&str; 7] =
    ["Int", "Real", "Bool", "Maybe[Int]", "Maybe[Real]", "Maybe[Bool]", "String"];

/// The types of data that are no table, tried in this order.
const OTHERS: [&str; 6] = ["Int", "Real", "Bool", "[]Int", "[]Real", "[][]Real"];

/// A constant of a session whose value comes from elsewhere.
pub struct Given {
    /// The module that defines it.
    pub module: ModuleId,
    /// Its definition. A program that has it, checked anew, has the value, too.
    pub definition: String,
}

/// `NAME = FILE:…`, perhaps with a type.
pub(super) fn read(console: &mut impl Console, text: &str) -> Result<Given, Refused> {
    let Some((head, value)) = text.split_once('=') else {
        let d = Diagnostic::error("command", Span::NONE, "`:data` needs a name and a file");
        return Err(console.refuse(d.help("write `:data table = points.csv`")));
    };
    let (name, ty) = match head.split_once(':') {
        Some((name, ty)) => (name.trim(), Some(ty.trim().to_string())),
        None => (head.trim(), None),
    };
    given(console, name, ty, value.trim())
}

/// A constant of this name, whose value is read; of this type, or of the one that the data have.
///
/// # Errors
/// The data are not read.
pub fn given(
    console: &mut impl Console,
    name: &str,
    ty: Option<String>,
    value: &str,
) -> Result<Given, Refused> {
    let ty = match ty {
        Some(ty) => ty,
        None => type_of_data(console, name, value)?,
    };
    let number = console.constants().next_number();
    let (module, entry, definition) = declared(console, name, &ty, number)?;
    let interface = &entry.interface;
    let (written, of) = (Some(interface.text.as_str()), Some(&interface.ty));
    let field = Field { name, ty: &entry.ty, written, interface: of };
    let value = read_within(console, &entry, value, &field)?.map_err(|error| {
        let message = error.to_diagnostic(&entry.program.datas);
        console.refuse(message)
    })?;
    console.constants().keep(&entry, &value);
    Ok(Given { module, definition })
}

/// A constant of this type, whose value comes from elsewhere. The number tells it from others of its name.
fn declared(
    console: &mut impl Console,
    name: &str,
    ty: &str,
    number: u64,
) -> Result<(ModuleId, Entry, String), Refused> {
    let why = format!("the data `{name}` ({number}) are to be read again: a type of theirs is new");
    let context = console.context();
    let definition = format!("def {name}: {ty} = fail(\"{why}\")");
    let module = console.within(|session| session.definitions_in(context, None, &definition))?;
    let entry = console.entry(module, name)?;
    Ok((module, entry, definition))
}

/// Reads data within the bounds: the problem, if they are none of the type.
fn read_within(
    console: &mut impl Console,
    entry: &Entry,
    value: &str,
    field: &Field<'_>,
) -> Result<Result<Value, Box<DataError>>, Refused> {
    let limits = console.limits().clone();
    let check = || limits.check().map_err(|bound| io::Error::other(bound.message()));
    let read = read_argument(value, field, &entry.program.datas, &check);
    if let Err(bound) = limits.check() {
        let message = format!("{}, while reading `{}`", bound.message(), field.name);
        return Err(console.refuse(Diagnostic::error(bound.code(), Span::NONE, message)));
    }
    Ok(read)
}

/// Tries a type: the problem, if the data are none of it.
fn tried(
    console: &mut impl Console,
    name: &str,
    ty: &str,
    value: &str,
) -> Result<Result<(), Box<DataError>>, Refused> {
    let (_, entry, _) = declared(console, name, ty, 0)?;
    // Nobody has written the type: messages leave it out.
    let (written, interface) = (Some("[]{…}"), Some(&entry.interface.ty));
    let field = Field { name, ty: &entry.ty, written, interface };
    Ok(read_within(console, &entry, value, &field)?.map(|_| ()))
}

/// The type that the columns of a table have, or that a value has which is none.
fn type_of_data(console: &mut impl Console, name: &str, value: &str) -> Result<String, Refused> {
    // No table has this column, and the problem names those that it has.
    let problem = match tried(console, name, "[]{no_such_column'': Real}", value)? {
        Err(problem) => problem,
        Ok(()) => return Ok("[]{}".to_string()),
    };
    let Problem::MissingColumn(_, _, columns) = &problem.problem else {
        for ty in OTHERS {
            if tried(console, name, ty, value)?.is_ok() {
                return Ok(ty.to_string());
            }
        }
        let mut d = problem.to_diagnostic(&[]);
        let help = format!("say the type, as in `:data {name}: []{{x: Real}} = {value}`");
        d.help = Some(Help::from(help));
        return Err(console.refuse(d));
    };
    let mut fields = Vec::new();
    for column in columns.iter().filter(|column| !column.trim().is_empty()) {
        let field = field_name(&Name::new(column)).to_string();
        let mut found = None;
        for cell in CELLS {
            if tried(console, name, &format!("[]{{{field}: {cell}}}"), value)?.is_ok() {
                found = Some(cell);
                break;
            }
        }
        match found {
            Some(cell) => fields.push(format!("{field}: {cell}")),
            None => {
                let message =
                    format!("the column `{column}` is left out: its cells have no type here");
                console.report(&[Diagnostic::warning("data", Span::NONE, message)]);
            }
        }
    }
    Ok(format!("[]{{{}}}", fields.join(", ")))
}
