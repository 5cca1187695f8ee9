//! `diffeo show`: a program in one of the forms that it is translated to.

use crate::args::{Form, Kinks, ShowArgs, XlaArgs};
use crate::arguments::ArgumentRefusal;
use crate::commands::{Setting, Shell};
use crate::grad::{given, number};
use crate::{print, Stop};
use diffeo::pipeline::{timed, Timing};
use diffeo::show::Translation;
use diffeo::{Entry, ModuleId, Session};
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::eval::Machine;
use diffeo_calculus::show::real;
use diffeo_calculus::value::Value;
use diffeo_papers::delta::shown::{Expression, Shown};
use serde_json::{json, Value as Json};

/// `diffeo show`
pub fn show(args: &ShowArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    let cpu = shell.processor(&args.processor)?;
    if let Some(wrong) = wrong(args) {
        return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, wrong)]));
    }
    let module = shell.load(&args.file)?;
    let shown = match args.form {
        Form::Ast => {
            let text = shell.session.show_ast(module);
            // The tree of what could be read is shown all the same.
            let parsed = shell.flush();
            print::text(&text)?;
            parsed
        }
        Form::Types => {
            shell.check();
            let text = shell.session.show_types(module, args.entry.as_deref());
            let checked = shell.flush();
            if !text.is_empty() {
                print::text(&text)?;
            }
            checked
        }
        Form::Core => {
            shell.check();
            shell.flush()?;
            let (session, name) = (&mut shell.session, args.entry.as_deref());
            let text =
                timed("elaborate", &mut shell.account.steps, || session.show_core(module, name));
            shell.flush()?;
            print::text(&text.ok_or(Stop::Refused)?)
        }
        Form::Flat(pass) => code(args, &mut shell, module, |session, entry, steps| {
            session.show_flat(entry, pass, steps)
        }),
        Form::Low(pass) => code(args, &mut shell, module, |session, entry, steps| {
            session.show_low(entry, pass, steps)
        }),
        Form::Code(form) => code(args, &mut shell, module, |session, entry, steps| {
            session.show_code(entry, form, cpu, steps)
        }),
        Form::StableHlo => code(args, &mut shell, module, |session, entry, steps| {
            let XlaArgs { shape, precision } = &args.xla;
            let made =
                timed("stablehlo", steps, || session.stablehlo(entry, shape, (*precision).into()));
            made.map(|module| module.text)
        }),
        Form::Trace(_) | Form::Translated(_) => {
            shell.check();
            shell.flush()?;
            translated(args, &mut shell, module)
        }
    };
    shell.tell();
    shown
}

/// What to do where a form is of one definition, and none is named.
fn one_definition(form: &str) -> String {
    format!(
        "`--as {form}` shows one definition: name it behind the file, `diffeo show FILE ENTRY --as {form}`"
    )
}

/// What is wrong with the command line.
fn wrong(args: &ShowArgs) -> Option<String> {
    let name = args.form.name();
    let delta =
        matches!(args.form, Form::Translated(Translation::Delta(_) | Translation::DeltaNaive));
    match args.form {
        Form::Ast if args.entry.is_some() => {
            Some("`--as ast` shows a whole file, not one definition".to_string())
        }
        Form::Trace(_) | Form::Translated(_) if args.entry.is_none() => Some(one_definition(&name)),
        Form::Ast
        | Form::Types
        | Form::Core
        | Form::Flat(_)
        | Form::Low(_)
        | Form::Code(_)
        | Form::StableHlo
            if !args.at.is_empty() =>
        {
            Some(format!(
                "`--at` is a point for a function, but `--as {name}` shows none at a point"
            ))
        }
        form if form != Form::StableHlo && args.xla.is_given() => {
            Some("`--shape` and `--precision` are for `--as stablehlo`".to_string())
        }
        _ if args.json && (!delta || args.at.is_empty()) => {
            Some("`--json` is for Deltas: `--as delta --at VALUE --json`".to_string())
        }
        _ => None,
    }
}

/// A definition as code.
fn code(
    args: &ShowArgs,
    shell: &mut Shell,
    module: ModuleId,
    text: impl FnOnce(&Session, &Entry, &mut Vec<Timing>) -> Result<String, Box<Diagnostic>>,
) -> Result<(), Stop> {
    shell.check();
    shell.flush()?;
    let name = args.entry.as_deref().unwrap_or("main");
    if args.entry.is_none() && !shell.session.definitions(module).iter().any(|d| *d == name) {
        let names_one =
            format!("{}, and the program has no `main`", one_definition(&args.form.name()));
        return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, names_one)]));
    }
    let entry = shell.callable(module, name)?;
    match text(&shell.session, &entry, &mut shell.account.steps) {
        Ok(text) => print::text(&text),
        Err(diagnostic) => {
            shell.report(&[*diagnostic]);
            Err(Stop::Refused)
        }
    }
}

/// A definition in one of the forms of the papers.
fn translated(args: &ShowArgs, shell: &mut Shell, module: ModuleId) -> Result<(), Stop> {
    let name = args.entry.as_deref().unwrap_or("main");
    let (entry, point) = entry(args, shell, module, name)?;
    shell.phase("evaluate", format!("translating `{name}`"));
    let (options, line) = shell.options(Kinks::Ignore);
    let text = match (args.form, point) {
        (Form::Translated(by @ (Translation::Delta(_) | Translation::DeltaNaive)), Some(point)) => {
            let sharing = by != Translation::DeltaNaive;
            let shown = shell.session.delta(&entry, point, sharing, options);
            shown.map(|shown| if args.json { as_json(&shown).to_string() } else { as_text(&shown) })
        }
        (Form::Translated(by), _) => {
            shell.session.translation(&entry, by).map(|program| diffeo_calculus::print(&program))
        }
        (Form::Trace(traced), Some(point)) => {
            let program = shell.session.traced(&entry, point, traced, options);
            program.map(|program| diffeo_calculus::print(&program))
        }
        (
            Form::Trace(_)
            | Form::Ast
            | Form::Types
            | Form::Core
            | Form::Flat(_)
            | Form::Low(_)
            | Form::Code(_)
            | Form::StableHlo,
            _,
        ) => {
            let message = format!("there is no point to trace `{name}` at");
            Err(Diagnostic::error("argument", entry.span, message).help("trace a function"))
        }
    };
    line.clear();
    match text {
        Ok(text) => print::text(&text),
        Err(diagnostic) => {
            shell.report(&[diagnostic]);
            Err(Stop::Refused)
        }
    }
}

/// The definition, and the point of the command line or of the program.
fn entry(
    args: &ShowArgs,
    shell: &mut Shell,
    module: ModuleId,
    name: &str,
) -> Result<(Entry, Option<Value>), Stop> {
    let at = format!("{name}_at");
    let given_at = !args.at.is_empty();
    if !given_at && !matches!(args.form, Form::Trace(_)) && shell.session.is_constant(module, name)
    {
        let entry = shell.session.callable(module, name);
        shell.flush()?;
        return Ok((entry.ok_or(Stop::Refused)?, None));
    }
    let defined = shell.session.definitions(module).iter().any(|n| *n == at.as_str());
    let point = (!given_at && defined).then_some((module, at.as_str()));
    let function = shell.session.differentiable(module, name, point);
    shell.flush()?;
    let function = function.ok_or(Stop::Refused)?;
    let value = if given_at {
        shell.phase("read", "reading the point".to_string());
        let value = given(&function, &args.at, &shell.setting.limits);
        Some(value.map_err(|refusal| match refusal {
            ArgumentRefusal::Usage(diagnostics) => shell.usage(&diagnostics),
            ArgumentRefusal::Input(diagnostics) => {
                shell.report(&diagnostics);
                Stop::Refused
            }
        })?)
    } else if matches!(args.form, Form::Trace(_)) {
        let Some(point) = function.point else {
            let message = format!("there is no point to trace `{name}` at");
            let diagnostic = Diagnostic::error("argument", function.entry.span, message)
                .note(format!("`{name}` takes {}", function.written.0))
                .help(format!("give it with `--at …`, or define `def {at} = …` in the program"));
            return Err(shell.usage(&[diagnostic]));
        };
        let (options, line) = shell.options(Kinks::Ignore);
        let value = Machine::new(function.entry.program.clone(), options).eval_global(point);
        line.clear();
        Some(value.map_err(|error| {
            shell.report(&[shell.session.explain(&function.entry, &error)]);
            Stop::Refused
        })?)
    } else {
        None
    };
    Ok((function.entry, value))
}

/// A Delta as Figure 12 of Krawiec et al. shows it, and the derivatives.
fn as_text(shown: &Shown) -> String {
    let mut out: String = shown.to_string().lines().map(filled).collect();
    let width = shown.inputs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (result, gradient) in shown.results.iter().zip(&shown.derivatives) {
        out.push_str(&match &*result.name {
            "" => format!("\nvalue {}, with the derivatives\n", real(result.value)),
            name => format!("\n{name}: value {}, with the derivatives\n", real(result.value)),
        });
        for ((name, _), dx) in shown.inputs.iter().zip(gradient) {
            out.push_str(&format!("{name:width$}  {}\n", real(*dx)));
        }
    }
    out
}

/// A line as lines of at most 100 columns, as far as its words are.
fn filled(line: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for (i, word) in line.split(' ').enumerate() {
        let width = word.chars().count();
        if i > 0 && column + 1 + width > 100 {
            out.push_str("\n  ");
            column = 2;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out + "\n"
}

/// The same for tools.
fn as_json(shown: &Shown) -> Json {
    let gradient = |i: usize| {
        let inputs = shown.inputs.iter().map(|(name, _)| name.clone());
        let derivatives = shown.derivatives.get(i).into_iter().flatten().map(|x| number(*x));
        Json::Object(inputs.zip(derivatives).collect())
    };
    let inputs: Vec<Json> =
        shown.inputs.iter().map(|(name, x)| json!({"name": name, "value": number(*x)})).collect();
    let first = shown.inputs.len() + 1;
    let bindings: Vec<Json> = shown
        .bindings
        .iter()
        .enumerate()
        .map(|(i, (name, u))| json!({"id": first + i, "name": name, "delta": delta(u)}))
        .collect();
    match &shown.results[..] {
        [only] if only.name.is_empty() => json!({
            "inputs": inputs,
            "bindings": bindings,
            "result": {"value": number(only.value), "delta": delta(&only.delta)},
            "gradient": gradient(0),
        }),
        several => {
            let results = several.iter().enumerate().map(|(i, result)| {
                json!({
                    "of": result.name,
                    "value": number(result.value),
                    "delta": delta(&result.delta),
                    "gradient": gradient(i),
                })
            });
            let results: Vec<Json> = results.collect();
            json!({"inputs": inputs, "bindings": bindings, "results": results})
        }
    }
}

fn delta(u: &Expression) -> Json {
    match u {
        Expression::Zero => json!({"zero": {}}),
        Expression::Scale(x, u) => json!({"scale": [number(*x), delta(u)]}),
        Expression::Add(a, b) => json!({"add": [delta(a), delta(b)]}),
        Expression::Var(name) => json!({"var": name}),
        Expression::OneHot(name) => json!({"one_hot": name}),
        Expression::Let(name, u, body) => json!({"let": [name, delta(u), delta(body)]}),
    }
}
