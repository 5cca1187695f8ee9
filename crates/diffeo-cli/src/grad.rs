//! `diffeo grad`: derivatives of a function at a point, and their check.

mod report;

pub use report::number;

use crate::args::{GradArgs, Kinks};
use crate::arguments::{name_and_value, read, record, ArgumentRefusal};
use crate::commands::{Setting, Shell};
use crate::{print, watch, Stop};
use diffeo::data::{to_json, Field};
use diffeo::derivative_check::{check, CheckExtent, DerivativeReport};
use diffeo::differentiate::{numbers, Differentiator, Gradient, Taylor};
use diffeo::{refused_intervals, Differentiable, Engine, How, Limits, ModuleId, RuntimeError};
use diffeo_base::{is_word, Diagnostic, Name, Span};
use diffeo_calculus::eval::derivative::{jet_coefficients, MOST_COEFFICIENTS};
use diffeo_calculus::show::show;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use serde_json::json;

/// `diffeo grad`
pub fn grad(args: &GradArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    if let Some((k, r)) = args.jet {
        if jet_coefficients(k.into(), r.into()) > MOST_COEFFICIENTS {
            let message =
                format!("`--jet {k},{r}` has more than a million coefficients for each Real");
            let diagnostic = Diagnostic::error("argument", Span::NONE, message);
            return Err(shell.usage(&[diagnostic.help("ask for fewer variables or a lower order")]));
        }
    }
    let cpu = shell.cpu(&args.processor)?;
    let engine = args.evaluation.engine;
    if matches!(engine, Engine::Papers(_)) {
        let name = engine.name();
        let message = format!(
            "`diffeo grad` differentiates on the evaluator and in machine code, not on `{name}`"
        );
        let help = format!(
                "write the derivative as an expression: `diffeo eval 'grad({})(…)' --in {} --engine {name}`",
                args.entry,
                args.file.display()
            );
        return Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message).help(help)]));
    }
    let module = shell.checked(&args.file)?;
    let function = function(&mut shell, module, args)?;
    shell.phase("read", "reading the point".to_string());
    let given = match args.at.as_slice() {
        [] => None,
        at => {
            Some(given(&function, at, &shell.setting.limits).map_err(|refusal| match refusal {
                ArgumentRefusal::Usage(diagnostics) => shell.usage(&diagnostics),
                ArgumentRefusal::Input(diagnostics) => {
                    shell.report(&diagnostics);
                    Stop::Refused
                }
            })?)
        }
    };
    shell.phase("evaluate", format!("differentiating `{}`", function.entry.name));
    let kinks = args.evaluation.kinks();
    let (options, line) = shell.options(kinks);
    shell.check_evaluation(&args.evaluation)?;
    if let Some(refused) = given.as_ref().and_then(|point| refused_intervals(point, kinks.into())) {
        return Err(shell.usage(&[refused]));
    }
    let compiled = engine.is_compiled() && !args.check && kinks != Kinks::Enclose;
    let counted = shell.setting.steps.is_some();
    let how = compiled
        .then_some((How { engine, cpu, counted, keep: !counted, unfold: None }, kinks.into()));
    if compiled {
        // Some loops of compiled code do not ask whether they are to end.
        watch::ensure(&shell.setting.limits, shell.setting.messages);
    }
    let mut differentiator = Differentiator::on(&shell.session, &function, options, how);
    let found = found(args, &shell, &mut differentiator, given);
    line.clear();
    let (warnings, account) = (differentiator.take_warnings(), differentiator.account());
    shell.account.engine = Some(account.engine);
    shell.account.reason = account.unsupported.map(|why| why.reason(shell.session.sources()));
    if engine.is_compiled() && !compiled {
        shell.account.reason =
            Some("the check compares what the evaluator's modes give".to_string());
    }
    shell.account.looked = kinks != Kinks::Ignore;
    shell.account.exact = kinks == Kinks::Exact;
    shell.account.note = account.note;
    shell.account.steps.extend(account.times);
    shell.took(account.operations, warnings, kinks);
    let found = found.map_err(|error| {
        shell.report(&[*error]);
        shell.tell();
        Stop::Refused
    })?;
    shell.phase("write", "writing the result".to_string());
    let json = args.evaluation.json;
    let done = match found {
        GradOutput::Gradient(gradient) => print::text(&gradient_text(&function, &gradient, json)),
        GradOutput::Taylor(taylor) => print::text(&taylor_text(&function, &taylor, json)),
        GradOutput::Report(report) => report::print(&shell, &function, &report, json),
        GradOutput::TooFew(reals) => {
            let reals =
                if reals == 1 { "is 1 Real".to_string() } else { format!("are {reals} Reals") };
            let k = args.jet.map_or(0, |(k, _)| k);
            let message = format!("`--jet` asks for {k} variables, but there {reals} in the point");
            Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message)]))
        }
        GradOutput::TooMany(reals) => {
            let (k, r) = args.jet.unwrap_or_default();
            let message = format!(
                "`--jet {k},{r}` has {} coefficients for each of {reals} Reals: more than ten million",
                jet_coefficients(k.into(), r.into())
            );
            let diagnostic = Diagnostic::error("argument", Span::NONE, message);
            Err(shell.usage(&[diagnostic.help("ask for fewer variables or a lower order")]))
        }
    };
    shell.tell();
    done
}

/// The most coefficients of `--jet` for all Reals of the point, or of the value, together.
const MOST_NUMBERS: u64 = 10_000_000;

/// What is to be printed.
enum GradOutput {
    Gradient(Gradient),
    Taylor(Taylor),
    Report(Box<DerivativeReport>),
    /// A point of fewer Reals, of this many, than variables were asked for.
    TooFew(usize),
    /// A point or a value of so many Reals that there are more coefficients than can be kept.
    TooMany(usize),
}

/// Does the work.
fn found(
    args: &GradArgs,
    shell: &Shell,
    differentiator: &mut Differentiator<'_>,
    given: Option<Value>,
) -> Result<GradOutput, Box<Diagnostic>> {
    let function = differentiator.function;
    let explain = |error: RuntimeError| Box::new(shell.session.explain(&function.entry, &error));
    let point = |differentiator: &mut Differentiator<'_>| match given.clone() {
        Some(point) => Ok(point),
        None => differentiator.point().map(|point| point.unwrap_or(Value::Unit)).map_err(explain),
    };
    match args.jet {
        None if !args.check => return differentiator.gradient_at(given).map(GradOutput::Gradient),
        None => {}
        Some((k, r)) => {
            let point = point(differentiator)?;
            let reals = numbers(&point).len();
            if k as usize > reals {
                return Ok(GradOutput::TooFew(reals));
            }
            let value = differentiator.value(&point).map_err(explain)?;
            let reals = reals.max(numbers(&value).len());
            let coefficients = jet_coefficients(k.into(), r.into());
            if coefficients.saturating_mul(reals as u64) > MOST_NUMBERS {
                return Ok(GradOutput::TooMany(reals));
            }
            return differentiator.taylor(&point, value, k, r).map(GradOutput::Taylor);
        }
    }
    let point = point(differentiator)?;
    // The check itself goes on where the papers' programs stop.
    if args.evaluation.kinks() == Kinks::Error {
        differentiator.gradient(&point)?;
    }
    let exact = args.evaluation.kinks() == Kinks::Exact;
    let limits = shell.setting.limits.clone();
    let extent = CheckExtent { limits, exact, ..CheckExtent::default() };
    check(&shell.session, function, &point, &extent)
        .map(|report| GradOutput::Report(Box::new(report)))
        .map_err(explain)
}

/// The function, with the definition of its point where the command line has none.
fn function(shell: &mut Shell, module: ModuleId, args: &GradArgs) -> Result<Differentiable, Stop> {
    let entry = &args.entry;
    let at = format!("{entry}_at");
    let definitions = shell.session.definitions(module);
    let defined = definitions.iter().any(|name| *name == at.as_str());
    let point = (args.at.is_empty() && defined).then_some((module, at.as_str()));
    shell.phase("check", format!("checking `{entry}`"));
    let function = shell.session.differentiable(module, entry, point);
    shell.flush()?;
    let function = function.ok_or(Stop::Refused)?;
    if let Some(diagnostic) = function.without_reals() {
        shell.report(&[diagnostic]);
        return Err(Stop::Refused);
    }
    if args.at.is_empty() && !defined {
        let message = format!("there is no point to differentiate `{entry}` at");
        let diagnostic = Diagnostic::error("argument", function.entry.span, message)
            .note(format!("`{entry}` takes {}", function.written.0))
            .help(format!("give it with `--at …`, or define `def {at} = …` in the program"));
        return Err(shell.usage(&[diagnostic]));
    }
    Ok(function)
}

/// The point of the command line.
pub fn given(
    function: &Differentiable,
    at: &[String],
    limits: &Limits,
) -> Result<Value, ArgumentRefusal> {
    let usage = |message: String| {
        let takes = format!("`{}` takes {}", function.entry.name, function.written.0);
        let diagnostic = Diagnostic::error("argument", Span::NONE, message).note(takes);
        Err(ArgumentRefusal::Usage(vec![diagnostic]))
    };
    let fields: &[(Name, Ty)] = match &function.from {
        Ty::Record(fields) => fields.as_ref(),
        _ => &[],
    };
    let named: Vec<Option<(String, String)>> =
        at.iter().map(|text| field_and_value(text, fields)).collect();
    let interface = function.entry.interface.ty.sides().0;
    match (&function.from, at) {
        (Ty::Record(fields), _) if named.iter().all(Option::is_some) => {
            let named: Vec<(String, String)> = named.into_iter().flatten().collect();
            record(&function.entry, (fields, interface), &named, "--at", limits)
        }
        (_, [text]) if named[0].is_none() => {
            let written = Some(function.written.0.as_str());
            let interface = Some(interface);
            let field = Field { name: "--at", ty: &function.from, written, interface };
            let datas = &function.entry.program.datas;
            read(text, &field, datas, limits)
        }
        (Ty::Record(_), _) => {
            usage("`--at` gives the whole point once, or its fields as NAME=VALUE".to_string())
        }
        (_, [text]) => usage(format!(
            "`--at {text}` names a field, but the point is no record: give all of it, `--at VALUE`"
        )),
        _ => usage("`--at` is given more than once, but the point is no record".to_string()),
    }
}

/// `NAME=VALUE` with a name as programs write it, or that of one of these fields: `data.csv:skip=1` is none.
fn field_and_value(text: &str, fields: &[(Name, Ty)]) -> Option<(String, String)> {
    let (name, value) = name_and_value(text)?;
    let named = text.starts_with('"')
        || is_word(&name) && !name.starts_with(char::is_uppercase)
        || fields.iter().any(|(field, _)| *field == name.as_str());
    named.then_some((name, value))
}

/// A value as JSON.
fn as_json(function: &Differentiable, value: &Value, ty: &Ty) -> String {
    let mut out = Vec::new();
    // Writing to memory does not fail, and the types hold no function.
    let _ = to_json(&mut out, value, ty, &function.entry.program.datas);
    String::from_utf8(out).unwrap_or_default()
}

fn gradient_text(function: &Differentiable, found: &Gradient, json: bool) -> String {
    let single = function.to == Ty::Real;
    if json {
        let value = as_json(function, &found.value, &function.to);
        let row = |row: &Value| as_json(function, row, &function.from);
        let derivatives = match found.rows.first() {
            Some((_, gradient)) if single => format!("\"gradient\":{}", row(gradient)),
            _ => {
                let rows = found.rows.iter().map(|(of, gradient)| {
                    format!("{{\"of\":{},\"gradient\":{}}}", json!(of), row(gradient))
                });
                format!("\"jacobian\":[{}]", rows.collect::<Vec<_>>().join(","))
            }
        };
        return format!("{{\"value\":{value},{derivatives}}}");
    }
    let datas = &function.entry.program.datas;
    let label = |of: &str| match single {
        true => "gradient".to_string(),
        false => format!("gradient of {of}"),
    };
    let mut lines = vec![("value".to_string(), show(&found.value, &function.to, datas))];
    for (of, gradient) in &found.rows {
        lines.push((label(of), show(gradient, &function.from, datas)));
    }
    table(&lines)
}

fn taylor_text(function: &Differentiable, found: &Taylor, json: bool) -> String {
    if json {
        let value = as_json(function, &found.value, &function.to);
        let results: Vec<_> = found
            .results
            .iter()
            .map(|(of, derivatives)| {
                let derivatives = found.indices.iter().zip(derivatives);
                let derivatives: Vec<_> = derivatives
                    .map(|(index, x)| {
                        format!(
                            "{{\"index\":{},\"value\":{}}}",
                            json!(index),
                            as_json(function, x, &Ty::Real)
                        )
                    })
                    .collect();
                format!("{{\"of\":{},\"derivatives\":[{}]}}", json!(of), derivatives.join(","))
            })
            .collect();
        let (variables, results) = (json!(found.variables), results.join(","));
        return format!("{{\"value\":{value},\"variables\":{variables},\"results\":[{results}]}}");
    }
    let datas = &function.entry.program.datas;
    let names: Vec<&str> = found.variables.iter().map(|name| or(name, "the argument")).collect();
    let mut out = table(&[
        ("value".to_string(), show(&found.value, &function.to, datas)),
        ("variables".to_string(), names.join(", ")),
    ]);
    for (of, derivatives) in &found.results {
        if function.to != Ty::Real {
            out.push_str(&format!("derivatives of {of}\n"));
        }
        let lines: Vec<(String, String)> = found
            .indices
            .iter()
            .zip(derivatives)
            .map(|(index, x)| {
                let index: Vec<String> = index.iter().map(u32::to_string).collect();
                (format!("({})", index.join(", ")), show(x, &Ty::Real, datas))
            })
            .collect();
        out.push_str(&table(&lines));
    }
    out
}

/// The text, or what stands for an empty one.
fn or<'t>(text: &'t str, instead: &'t str) -> &'t str {
    if text.is_empty() {
        instead
    } else {
        text
    }
}

/// Lines of a label and a text, aligned.
fn table(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(label, text)| format!("{label:width$}  {text}\n")).collect()
}
