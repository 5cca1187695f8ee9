//! From `--arg name=value` to the argument of the entry, and from `--at` to a point.
//!
//! An entry is a constant, takes `()`, or takes a record, each field of which is a parameter.

use diffeo::data::{left_out, read_argument, Field, Place, Target};
use diffeo::{Entry, Limits, Type};
use diffeo_base::{closest, field_name, is_word, quoted, Diagnostic, Help, Name, Span};
use diffeo_calculus::names::unescape;
use diffeo_calculus::ty::DataDecl;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::cell::Cell;
use std::io;

/// Why there is no argument.
pub enum ArgumentRefusal {
    /// The command line does not fit the entry.
    Usage(Vec<Diagnostic>),
    /// A value cannot be read.
    Input(Vec<Diagnostic>),
}

/// The argument of an entry, none for a constant.
pub fn argument(
    entry: &Entry,
    args: &[(String, String)],
    limits: &Limits,
) -> Result<Option<Value>, ArgumentRefusal> {
    let Ty::Fun(function) = &entry.ty else {
        return no_parameters(entry, args).map(|()| None);
    };
    if let Ty::Record(fields) = &function.0 {
        let takes = entry.interface.ty.sides().0;
        return record(entry, (fields, takes), args, "--arg", limits).map(Some);
    }
    // A session makes no entry of a function of anything else but `()`.
    no_parameters(entry, args).map(|()| Some(Value::Unit))
}

fn no_parameters(entry: &Entry, args: &[(String, String)]) -> Result<(), ArgumentRefusal> {
    match args.first() {
        None => Ok(()),
        Some((arg, _)) => Err(ArgumentRefusal::Usage(vec![Diagnostic::error(
            "argument",
            entry.span,
            format!("`{}` has no parameters, but there is an `--arg {arg}`", entry.name),
        )])),
    }
}

/// The record of parameters, given field by field with this option. One of a `Maybe` type that is not
/// given is `Nothing`.
pub fn record(
    entry: &Entry,
    (fields, interface): (&[(Name, Ty)], &Type),
    args: &[(String, String)],
    option: &str,
    limits: &Limits,
) -> Result<Value, ArgumentRefusal> {
    let datas = &entry.program.datas;
    let name = &entry.name;
    let written = |field: &Name| {
        let text = entry.interface.fields.iter().find(|(name, _)| name == field);
        let ty = || interface.field(field).map_or_else(String::new, Type::to_string);
        text.map_or_else(ty, |(_, text)| text.clone())
    };
    let parameters = || {
        let parameter = |n: &Name| format!("`{}: {}`", field_name(n), written(n));
        let parameters: Vec<String> = fields.iter().map(|(n, _)| parameter(n)).collect();
        format!("the parameters of `{name}` are {}", parameters.join(", "))
    };
    let mut wrong = Vec::new();
    for (i, (arg, _)) in args.iter().enumerate() {
        if args[..i].iter().any(|(earlier, _)| earlier == arg) {
            let message = format!("`{option} {arg}` is given more than once");
            wrong.push(Diagnostic::error("argument", Span::NONE, message));
        } else if !fields.iter().any(|(field, _)| *field == arg.as_str()) {
            let message = format!("`{name}` has no parameter `{arg}`");
            let mut diagnostic =
                Diagnostic::error("argument", entry.span, message).note(parameters());
            let free = fields.iter().map(|(field, _)| field.as_str());
            diagnostic.help = closest(arg, free).map(Help::did_you_mean);
            wrong.push(diagnostic);
        }
    }
    let given = |field: &Name| args.iter().find(|(arg, _)| *field == arg.as_str());
    let left_out = |field: &Name, ty: &Ty| match given(field) {
        Some(_) => None,
        None => left_out(ty, datas),
    };
    let lacks = |(field, ty): &&(Name, Ty)| given(field).is_none() && left_out(field, ty).is_none();
    for (field, _) in fields.iter().filter(lacks) {
        let (shown, ty) = (field_name(field), written(field));
        let message = format!("the parameter `{shown}: {ty}` of `{name}` is missing");
        wrong.push(
            Diagnostic::error("argument", entry.span, message)
                .note(parameters())
                .help(format!("give it with `{option} {}=…`", argument_name(field))),
        );
    }
    let from_input = |(field, ty): &&(Name, Ty)| {
        let place =
            given(field).filter(|_| *ty != Ty::String).and_then(|(_, text)| Place::of(text));
        place.is_some_and(|place| place.target == Target::Standard)
    };
    let mut inputs = fields.iter().filter(from_input);
    if let (Some((first, _)), Some((second, _))) = (inputs.next(), inputs.next()) {
        let message = format!("`{first}` and `{second}` are both to be read from standard input");
        wrong.push(Diagnostic::error("argument", Span::NONE, message));
    }
    if !wrong.is_empty() {
        return Err(ArgumentRefusal::Usage(wrong));
    }
    let (mut values, mut usage) = (Vec::new(), false);
    for (field, ty) in fields {
        let Some((_, text)) = given(field) else {
            values.extend(left_out(field, ty));
            continue;
        };
        let (shown, interface) = (written(field), interface.field(field));
        let place = Field { name: field, ty, written: Some(&shown), interface };
        match read(text, &place, datas, limits) {
            Ok(value) => values.push(value),
            Err(refusal) => {
                usage |= matches!(refusal, ArgumentRefusal::Usage(_));
                let (ArgumentRefusal::Usage(diagnostics) | ArgumentRefusal::Input(diagnostics)) =
                    refusal;
                wrong.extend(diagnostics);
                if limits.check().is_err() {
                    break;
                }
            }
        }
    }
    match (wrong.is_empty(), usage) {
        (true, _) => Ok(Value::tuple(values)),
        (false, true) => Err(ArgumentRefusal::Usage(wrong)),
        (false, false) => Err(ArgumentRefusal::Input(wrong)),
    }
}

/// `NAME=VALUE` taken apart. A name that has a `=` in it stands in quotes, as in a program.
pub fn name_and_value(text: &str) -> Option<(String, String)> {
    if let Some(rest) = text.strip_prefix('"') {
        let (name, length) = unescape(rest, '"').ok()?;
        let value = rest[length..].strip_prefix('=')?;
        return Some((name, value.to_string()));
    }
    text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()))
}

/// A field's name as the command line takes it, in the quotes of shells where it needs them.
fn argument_name(field: &Name) -> String {
    let plain = !field.is_empty() && !field.starts_with('"') && !field.contains('=');
    let written = if plain { field.to_string() } else { quoted(field) };
    match is_word(&written) {
        true => written,
        false => format!("'{}'", written.replace('\'', r"'\''")),
    }
}

/// Reads a value that the command line gives, within the bounds of the run.
pub fn read(
    text: &str,
    field: &Field<'_>,
    datas: &[DataDecl],
    limits: &Limits,
) -> Result<Value, ArgumentRefusal> {
    let exceeded = Cell::new(None);
    let check = || {
        limits.check().map_err(|bound| {
            exceeded.set(Some(bound));
            io::Error::other(bound.message())
        })
    };
    read_argument(text, field, datas, &check).map_err(|error| match exceeded.get() {
        Some(bound) => {
            let message = format!("{}, while reading `{}`", bound.message(), field.name);
            ArgumentRefusal::Input(vec![Diagnostic::error(bound.code(), Span::NONE, message)])
        }
        None if error.is_usage() => ArgumentRefusal::Usage(vec![error.to_diagnostic(datas)]),
        None => ArgumentRefusal::Input(vec![error.to_diagnostic(datas)]),
    })
}
