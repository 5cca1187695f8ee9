//! From `--arg name=value` to the argument of the entry.
//!
//! An entry is a constant, takes `()`, or takes a record, each field of which is a parameter.

use diffeo::data::{read_argument, show_type, Field};
use diffeo::Entry;
use diffeo_base::{closest, Diagnostic, Name, Span};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;

/// Why there is no argument.
pub enum Refusal {
    /// The command line does not fit the entry.
    Usage(Vec<Diagnostic>),
    /// A value cannot be read, or the entry cannot be run at all.
    Input(Vec<Diagnostic>),
}

/// The argument of an entry, none for a constant.
pub fn argument(
    entry: &Entry,
    name: &str,
    args: &[(String, String)],
) -> Result<Option<Value>, Refusal> {
    let place = entry.program.globals.get(entry.global.0 as usize).map_or(Span::NONE, |g| g.span);
    let datas = &entry.program.datas;
    let Ty::Fun(function) = &entry.ty else {
        return no_parameters(args, name, place).map(|()| None);
    };
    match &function.0 {
        Ty::Unit => no_parameters(args, name, place).map(|()| Some(Value::Unit)),
        Ty::Record(fields) => record(entry, fields, name, place, args).map(Some),
        other @ (Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Tuple(_)
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_)) => Err(Refusal::Input(vec![not_a_record(name, other, datas, place)])),
    }
}

fn not_a_record(name: &str, ty: &Ty, datas: &[DataDecl], place: Span) -> Diagnostic {
    let ty = show_type(ty, datas);
    Diagnostic::error(
        "entry",
        place,
        format!("`{name}` cannot be run: it takes a `{ty}`, where the command line can give a record only"),
    )
    .primary_text(format!("takes a `{ty}`"))
    .help(format!(
        "run a definition that takes its parameters by name: \
         `def start({{x}}: {{x: {ty}}}) = {name}(x)`"
    ))
}

fn no_parameters(args: &[(String, String)], name: &str, place: Span) -> Result<(), Refusal> {
    match args.first() {
        None => Ok(()),
        Some((arg, _)) => Err(Refusal::Usage(vec![Diagnostic::error(
            "argument",
            place,
            format!("`{name}` has no parameters, but there is an `--arg {arg}`"),
        )])),
    }
}

fn record(
    entry: &Entry,
    fields: &[(Name, Ty)],
    name: &str,
    place: Span,
    args: &[(String, String)],
) -> Result<Value, Refusal> {
    let datas = &entry.program.datas;
    let parameters = || {
        let parameters: Vec<String> =
            fields.iter().map(|(n, ty)| format!("`{n}: {}`", show_type(ty, datas))).collect();
        format!("the parameters of `{name}` are {}", parameters.join(", "))
    };
    let mut wrong = Vec::new();
    for (i, (arg, _)) in args.iter().enumerate() {
        if args[..i].iter().any(|(earlier, _)| earlier == arg) {
            let message = format!("`--arg {arg}` is given more than once");
            wrong.push(Diagnostic::error("argument", Span::NONE, message));
        } else if !fields.iter().any(|(field, _)| *field == arg.as_str()) {
            let message = format!("`{name}` has no parameter `{arg}`");
            let mut diagnostic = Diagnostic::error("argument", place, message).note(parameters());
            let free = fields.iter().map(|(field, _)| field.as_str());
            diagnostic.help = closest(arg, free).map(|near| format!("did you mean `{near}`?"));
            wrong.push(diagnostic);
        }
    }
    let given = |field: &Name| args.iter().find(|(arg, _)| *field == arg.as_str());
    for (field, ty) in fields.iter().filter(|(field, _)| given(field).is_none()) {
        let message =
            format!("the parameter `{field}: {}` of `{name}` is missing", show_type(ty, datas));
        wrong.push(
            Diagnostic::error("argument", place, message)
                .note(parameters())
                .help(format!("give it with `--arg {field}=…`")),
        );
    }
    if !wrong.is_empty() {
        return Err(Refusal::Usage(wrong));
    }
    let mut values = Vec::new();
    for (field, ty) in fields {
        let Some((_, text)) = given(field) else { continue };
        let field = Field { name: field, ty, written: None };
        match read_argument(text, &field, datas) {
            Ok(value) => values.push(value),
            Err(error) => wrong.push(error.to_diagnostic(datas)),
        }
    }
    if wrong.is_empty() {
        Ok(Value::tuple(values))
    } else {
        Err(Refusal::Input(wrong))
    }
}
