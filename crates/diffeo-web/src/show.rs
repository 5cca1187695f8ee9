//! A definition in the forms of the compiler and of the papers.

use crate::engine::messages;
use crate::run::{options, Bounds, Host};
use crate::{gradient, graph};
use diffeo_base::Diagnostic;
use diffeo_calculus::eval::Machine;
use diffeo_calculus::value::Value;
use diffeo_front::{Differentiable, Entry, ModuleId, Session};
use diffeo_papers::definition::{self, Refused, ShownDefinition, Traced, Translation};
use serde_json::{json, Value as Json};

/// What is asked for.
pub(crate) struct ShowRequest<'a> {
    /// The definition.
    pub name: &'a str,
    /// The form, one of [`FORMS`].
    pub form: &'a str,
    /// A point, as an expression of the language; empty for the program's own, `NAME_at`.
    pub at: &'a str,
}

/// The forms: name, title, whether a point is needed.
const FORMS: [(&str, &str, Form); 15] = [
    ("gradient", "Value, gradient, check", Form::Gradient),
    ("types", "Types", Form::Types),
    ("core", "Core, before differentiation", Form::Core),
    ("trace", "Abadi & Plotkin: the trace", Form::Trace(Traced::Function)),
    ("trace-reverse", "Abadi & Plotkin: its reverse derivative", Form::Trace(Traced::Printed)),
    ("trace-linear", "Abadi & Plotkin: the same in linear size", Form::Trace(Traced::Linear)),
    (
        "taylor:1,1",
        "Huot et al.: D(1,1), dual numbers",
        Form::Program(Translation::Taylor { k: 1, r: 1 }),
    ),
    (
        "taylor:1,2",
        "Huot et al.: D(1,2), second derivatives",
        Form::Program(Translation::Taylor { k: 1, r: 2 }),
    ),
    (
        "taylor:2,2-mixed",
        "Huot et al.: D(2,2)′, a mixed derivative",
        Form::Program(Translation::Mixed),
    ),
    ("forward", "Krawiec et al.: forward mode", Form::Program(Translation::Forward)),
    ("vector", "Krawiec et al.: D¹, one-hot vectors", Form::Program(Translation::Vector)),
    (
        "delta-naive",
        "Krawiec et al.: D², Deltas without sharing",
        Form::Program(Translation::DeltaNaive),
    ),
    ("delta", "Krawiec et al.: D, Deltas with sharing", Form::Program(Translation::DELTA)),
    ("delta-array", "Krawiec et al.: D with arrays (7.3)", Form::Program(Translation::DELTA_ARRAY)),
    ("graph", "Krawiec et al.: the Delta of a run (Figure 12)", Form::Graph),
];

#[derive(Clone, Copy)]
enum Form {
    Gradient,
    Types,
    Core,
    Trace(Traced),
    Program(Translation),
    Graph,
}

/// What a run for a form may take.
const BOUNDS: Bounds = Bounds { seconds: 5.0, bytes: 256 << 20 };

/// The forms, for a page to offer.
pub(crate) fn forms() -> Vec<Json> {
    let pointed = |form| matches!(form, Form::Gradient | Form::Trace(_) | Form::Graph);
    FORMS
        .iter()
        .map(|(name, title, form)| json!({ "name": name, "title": title, "point": pointed(*form) }))
        .collect()
}

/// The form that is asked for.
pub(crate) fn show(
    session: &mut Session,
    module: ModuleId,
    host: Host,
    asked: &ShowRequest<'_>,
) -> Json {
    let made = match FORMS.iter().find(|(name, ..)| *name == asked.form) {
        Some((_, _, form)) => made(session, module, host, asked, *form),
        None => return json!({ "error": format!("there is no form `{}`", asked.form) }),
    };
    match made {
        Ok(shown) => shown,
        Err(said) => json!({ "messages": messages(session, module, &said) }),
    }
}

fn made(
    session: &mut Session,
    module: ModuleId,
    host: Host,
    asked: &ShowRequest<'_>,
    form: Form,
) -> Result<Json, Vec<Diagnostic>> {
    if session.has_errors() {
        return Err(session.diagnostics());
    }
    // Warnings stand at the editor's lines.
    session.take_diagnostics();
    let text = |text: String| json!({ "text": text, "messages": [] });
    match form {
        Form::Gradient => {
            let of = at_point(session, module, asked)?;
            let of = found(session, of)?;
            if let Some(refused) = of.without_reals() {
                return Err(vec![refused]);
            }
            let mut machine =
                Machine::new(of.entry.program.clone(), options(host, BOUNDS, (host.now)()));
            let given = of.point.map(|point| machine.eval_global(point)).transpose();
            let made = given.and_then(|given| gradient::gradient(&mut machine, &of, given));
            match made.map_err(|error| vec![error.to_diagnostic()])? {
                Some(gradient) => Ok(json!({ "gradient": gradient, "messages": [] })),
                None => Err(vec![where_at(&of.entry)]),
            }
        }
        Form::Types => {
            let types = session.show_types(module, Some(asked.name));
            found(session, Some(text(types)))
        }
        Form::Core => {
            let core = session.show_core(module, Some(asked.name));
            found(session, core.map(text))
        }
        Form::Program(by) => {
            let entry = match session.is_constant(module, asked.name) {
                true => session.callable(module, asked.name),
                false => at_point(session, module, asked)?.map(|of| of.entry),
            };
            let entry = found(session, entry)?;
            let program =
                definition::translation(of(&entry), by).map_err(|r| refused(r, &entry))?;
            Ok(text(diffeo_calculus::print(&program)))
        }
        Form::Trace(what) => {
            let (entry, point) = pointed(session, module, host, asked)?;
            let options = options(host, BOUNDS, (host.now)());
            let made = definition::traced(of(&entry), point, what, options);
            let program = made.map_err(|r| refused(r, &entry))?;
            Ok(text(diffeo_calculus::print(&program)))
        }
        Form::Graph => {
            let (entry, point) = pointed(session, module, host, asked)?;
            let options = options(host, BOUNDS, (host.now)());
            let made = definition::delta(of(&entry), point, true, options);
            let shown = made.map_err(|r| refused(r, &entry))?;
            let graph = graph::graph(&shown).unwrap_or(Json::Null);
            Ok(json!({ "text": shown.to_string(), "graph": graph, "messages": [] }))
        }
    }
}

/// What was found, or what was said about it.
fn found<T>(session: &mut Session, value: Option<T>) -> Result<T, Vec<Diagnostic>> {
    let said = session.take_diagnostics();
    match value {
        Some(value) if said.iter().all(|d| !d.is_error()) => Ok(value),
        _ => Err(said),
    }
}

/// A function with the definition of the point, if there is one.
fn at_point(
    session: &mut Session,
    module: ModuleId,
    asked: &ShowRequest<'_>,
) -> Result<Option<Differentiable>, Vec<Diagnostic>> {
    let own = format!("{}_at", asked.name);
    let point = if !asked.at.is_empty() {
        let given = session.expression(Some(module), asked.at);
        Some((found(session, given)?, "it"))
    } else {
        let defined = session.definitions(module).iter().any(|n| *n == own.as_str());
        defined.then_some((module, own.as_str()))
    };
    Ok(session.differentiable(module, asked.name, point))
}

/// A function and the value of its point.
fn pointed(
    session: &mut Session,
    module: ModuleId,
    host: Host,
    asked: &ShowRequest<'_>,
) -> Result<(Entry, Value), Vec<Diagnostic>> {
    let function = at_point(session, module, asked)?;
    let Differentiable { entry, point, .. } = found(session, function)?;
    let Some(point) = point else { return Err(vec![where_at(&entry)]) };
    let options = options(host, BOUNDS, (host.now)());
    let value = Machine::new(entry.program.clone(), options).eval_global(point);
    value.map(|value| (entry, value)).map_err(|error| vec![error.to_diagnostic()])
}

/// The message where a point is needed and none is known.
fn where_at(entry: &Entry) -> Diagnostic {
    let name = &entry.name;
    let message = format!("this form is that of a run: at which point of `{name}`?");
    let help = format!("give it as an expression above, or define `def {name}_at = …`");
    let takes = entry.interface.parameter.iter().map(|ty| format!("`{name}` takes {ty}"));
    let mut d = Diagnostic::error("argument", entry.span, message).help(help);
    d.notes.extend(takes);
    d
}

fn of(entry: &Entry) -> ShownDefinition<'_> {
    let Entry { program, global, name, span, .. } = entry;
    ShownDefinition { program, global: *global, name, span: *span }
}

fn refused(refused: Refused, entry: &Entry) -> Vec<Diagnostic> {
    vec![match refused {
        Refused::Growing(name) => {
            let message = format!(
                "the type `{name}` grows without end in its recursion: it is not translated"
            );
            Diagnostic::error("not-translated", entry.span, message)
        }
        Refused::Message(message) => message,
        Refused::Stopped(error) => error.to_diagnostic(),
    }]
}
