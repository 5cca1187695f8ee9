//! The report of `diffeo grad --check`, as text and as JSON, and the message for what disagrees.

use super::{as_json, or, table};
use crate::commands::Shell;
use crate::{print, Stop};
use diffeo::derivative_check::{
    Comparison, ComponentName, DerivativeReport, OrderReport, Worst, MODES_AGREE,
};
use diffeo::Differentiable;
use diffeo_base::Diagnostic;
use diffeo_calculus::show::real;
use serde_json::{json, Value as Json};

/// Prints a report, and a message if something disagrees.
pub fn print(
    shell: &Shell,
    function: &Differentiable,
    report: &DerivativeReport,
    json: bool,
) -> Result<(), Stop> {
    let out = if json { as_data(function, report) } else { as_text(report) };
    print::text(&out)?;
    shell.report(&report.warnings);
    let wrong = complaints(function, report);
    shell.report(&wrong);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Stop::Refused)
    }
}

/// What disagrees.
fn complaints(function: &Differentiable, report: &DerivativeReport) -> Vec<Diagnostic> {
    let name = &function.entry.name;
    let error = |message| Diagnostic::error("derivative-check", function.entry.span, message);
    let mut wrong = Vec::new();
    if report.inputs.1 == 0 {
        wrong.push(error(format!(
            "nothing of `{name}` was compared: there is no Real in the point"
        )));
    }
    if !report.shapes_apart.is_empty() {
        let message = format!("a derivative of `{name}` has another shape than it should have");
        wrong.push(error(message).note(format!("by: {}", report.shapes_apart.join(", "))).help(
            "the rule of a `with_derivative` gives both of its results with the constructors and lengths of the \
             function's value",
        ));
    }
    if report.values_apart > MODES_AGREE {
        let message = format!("the value of `{name}` is another one where it is differentiated");
        wrong.push(
            error(message)
                .note(format!("they differ by {} relative", short(report.values_apart)))
                .help(
                    "the rule of a `with_derivative` gives the function's value and its derivative",
                ),
        );
    }
    // What is wrong with first derivatives shows in second ones, too.
    let parts = [("first", Some(&report.first)), ("second", report.second.as_ref())];
    for (order, part) in parts.into_iter().filter_map(|(order, part)| Some((order, part?))) {
        if !wrong.is_empty() {
            break;
        }
        if let Some(worst) = part.not_finite.first() {
            let message =
                format!("the {order} derivative of `{name}` is not finite{}", by(&worst.place));
            let more = match part.not_finite.len() {
                1 => String::new(),
                n => format!(", and {} other components are not", n - 1),
            };
            wrong.push(error(message).note(format!("{}{more}", inline(worst))));
        } else if part.agreement.disagreements > 0 {
            if let Some(worst) = &part.agreement.worst {
                let message = format!(
                    "the modes disagree on the {order} derivative of `{name}`{}",
                    by(&worst.place)
                );
                let d = error(message).note(inline(worst));
                wrong.push(d.help(
                    "the rule of a `with_derivative` must be linear in its tangent; where none is \
                     involved, please report it as a bug of Diffeo",
                ));
            }
        } else if part.differences.disagreements > 0 {
            if let Some(worst) = &part.differences.worst {
                let message = format!(
                    "the modes agree on the {order} derivative of `{name}`{}; differences do not",
                    by(&worst.place)
                );
                let d = error(message).note(inline(worst));
                wrong.push(d.help(
                    "a kink or rounding near the point? A `stop_gradient`, or a wrong rule of a \
                     `with_derivative`, makes them differ as well",
                ));
            }
        }
    }
    wrong
}

/// A component as words behind a derivative.
fn by(place: &ComponentName) -> String {
    let inputs: Vec<&str> = place.inputs.iter().map(|name| or(name, "its argument")).collect();
    let of = if place.output.is_empty() { String::new() } else { format!(" of {}", place.output) };
    match inputs.as_slice() {
        ["its argument"] | ["its argument", "its argument"] if of.is_empty() => String::new(),
        inputs => format!("{of} by {}", inputs.join(" and ")),
    }
}

/// What the modes and differences give, those that agree together.
fn given(worst: &Worst<ComponentName>) -> Vec<(String, String)> {
    let mut groups: Vec<(f64, Vec<&str>)> = Vec::new();
    for &(mode, x) in &worst.values {
        let same = |y: f64| {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= MODES_AGREE * worst.scale
        };
        match groups.iter_mut().find(|(y, _)| same(*y)) {
            Some((_, modes)) => modes.push(mode),
            None => groups.push((x, vec![mode])),
        }
    }
    let most = groups.iter().map(|(_, modes)| modes.len()).max().unwrap_or(0);
    let alone = groups.len() == 1;
    let name = |modes: &[&str]| match modes.len() {
        _ if alone => "all modes".to_string(),
        n if n == most && n > 3 => format!("the other {n} modes"),
        _ => modes.join(", "),
    };
    // The modes in the minority first.
    groups.sort_by_key(|(_, modes)| modes.len());
    let mut lines: Vec<(String, String)> =
        groups.iter().map(|(x, modes)| (name(modes), real(*x))).collect();
    if let Some(estimate) = worst.estimate {
        if estimate.right.is_nan() {
            lines.push(("differences".to_string(), "not defined around the point".to_string()));
        } else if estimate.left == estimate.right {
            lines.push(("differences".to_string(), real(estimate.right)));
        } else {
            lines.push(("differences from the left".to_string(), real(estimate.left)));
            lines.push(("differences from the right".to_string(), real(estimate.right)));
        }
    }
    lines
}

fn inline(worst: &Worst<ComponentName>) -> String {
    let given = given(worst);
    let parts: Vec<String> = given.iter().map(|(who, x)| format!("{who}: {x}")).collect();
    parts.join("; ")
}

/// A number to two digits.
fn short(x: f64) -> String {
    if x == 0.0 {
        "0".to_string()
    } else {
        format!("{x:.1e}")
    }
}

fn as_text(report: &DerivativeReport) -> String {
    let mut out = String::new();
    let sampled = |(compared, all): (usize, usize)| match compared == all {
        true => format!("all {all}"),
        false => format!("{compared} of {all}"),
    };
    out.push_str(&table(&[
        ("Reals of the point".to_string(), sampled(report.inputs)),
        ("Reals of the value".to_string(), sampled(report.outputs)),
        ("random directions".to_string(), report.directions.to_string()),
        (
            "operations".to_string(),
            format!(
                "{} for the value, {} for value and gradient",
                report.value_operations, report.gradient_operations
            ),
        ),
    ]));
    if report.inputs.1 == 0 {
        out.push_str("nothing was compared\n");
        return out;
    }
    part_text(&mut out, "first derivatives", "differences", &report.first);
    match &report.second {
        Some(second) => {
            part_text(&mut out, "second derivatives", "differences of the gradient", second);
        }
        None => out.push_str("second derivatives: not compared, the function takes too long\n"),
    }
    out
}

fn part_text(out: &mut String, title: &str, differences: &str, part: &OrderReport) {
    out.push_str(&format!("{title}: {} components, {} modes\n", part.components, part.modes.len()));
    if !part.not_finite.is_empty() {
        out.push_str(&format!("  not finite in {} components\n", part.not_finite.len()));
    }
    for (what, comparison) in [("modes", &part.agreement), (differences, &part.differences)] {
        if comparison.rough > 0 {
            let n = comparison.rough;
            let of = if n == 1 { "1 component".to_string() } else { format!("{n} components") };
            out.push_str(&format!("  {what} are too rough to tell here: {of} not compared\n"));
        }
        let Some(worst) = &comparison.worst else { continue };
        let place = by(&worst.place);
        if comparison.disagreements == 0 {
            let place = if worst.difference == 0.0 { String::new() } else { place };
            out.push_str(&format!("  {what} agree to {}{place}\n", short(worst.difference)));
            continue;
        }
        out.push_str(&format!(
            "  {what} DISAGREE by {}{place}; {} components differ by more than {}\n",
            short(worst.difference),
            comparison.disagreements,
            short(comparison.tolerance)
        ));
        for line in table(&given(worst)).lines() {
            out.push_str(&format!("    {line}\n"));
        }
    }
}

/// A number as JSON; those that JSON lacks as text.
pub fn number(x: f64) -> Json {
    if x.is_finite() {
        json!(x)
    } else {
        json!(if x.is_nan() {
            "nan"
        } else if x > 0.0 {
            "inf"
        } else {
            "-inf"
        })
    }
}

fn as_data(function: &Differentiable, report: &DerivativeReport) -> String {
    let counts = |(compared, all): (usize, usize)| json!({"compared": compared, "all": all});
    let warnings: Vec<String> =
        report.warnings.iter().map(|d| format!("{}: {}", d.code, d.message)).collect();
    let rest = json!({
        "agrees": report.agrees() && report.inputs.1 > 0,
        "inputs": counts(report.inputs),
        "outputs": counts(report.outputs),
        "random_directions": report.directions,
        "values_apart": number(report.values_apart),
        "shapes_apart": report.shapes_apart,
        "operations": {
            "value": report.value_operations,
            "value_and_gradient": report.gradient_operations,
        },
        "warnings": warnings,
        "first": part_data(&report.first),
        "second": report.second.as_ref().map(part_data),
    });
    let value = as_json(function, &report.value, &function.to);
    format!("{{\"value\":{value},{}", &rest.to_string()[1..])
}

fn part_data(part: &OrderReport) -> Json {
    let not_finite: Vec<Json> = part.not_finite.iter().map(worst_data).collect();
    json!({
        "modes": part.modes,
        "components": part.components,
        "agreement": comparison_data(&part.agreement),
        "differences": comparison_data(&part.differences),
        "not_finite": not_finite,
    })
}

fn comparison_data(comparison: &Comparison<ComponentName>) -> Json {
    json!({
        "tolerance": comparison.tolerance,
        "disagreements": comparison.disagreements,
        "too_rough": comparison.rough,
        "worst": comparison.worst.as_ref().map(worst_data),
    })
}

fn worst_data(worst: &Worst<ComponentName>) -> Json {
    let values: serde_json::Map<String, Json> =
        worst.values.iter().map(|(mode, x)| (mode.to_string(), number(*x))).collect();
    json!({
        "by": worst.place.inputs,
        "of": worst.place.output,
        "difference": number(worst.difference),
        "scale": number(worst.scale),
        "values": values,
        "differences": worst.estimate.map(|e| {
            json!({"left": number(e.left), "right": number(e.right), "error": number(e.error)})
        }),
    })
}
