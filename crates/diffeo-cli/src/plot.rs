//! `--plot`: the plots of a result, drawn in files or on standard output.

use crate::args::PlotTo;
use crate::commands::Shell;
use crate::{print, Stop};
use diffeo::data::{write_bytes, Problem, Target};
use diffeo::plot::{
    boxes, check, find, is_plot, may_hold, notes, png, summary, svg, terminal, vega_lite, Plot,
    Style,
};
use diffeo_base::{Diagnostic, Span};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::io;

/// What a plot is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Svg,
    Png,
    /// A specification of Vega-Lite.
    Json,
}

/// How wide pictures of characters are where nothing says it.
const WIDTH: usize = 80;

/// Refuses what cannot be drawn, before the work is done.
pub fn expected(
    shell: &Shell,
    asked: &[PlotTo],
    ty: &Ty,
    datas: &[DataDecl],
    json: bool,
) -> Result<(), Stop> {
    let usage = |message: &str, help: &'static str| {
        Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message).help(help)]))
    };
    if asked.is_empty() {
        return Ok(());
    }
    if json && asked.iter().any(|to| to.file.is_none()) {
        return usage(
            "`--plot` draws among the JSON of `--json`",
            "name a file, as in `--plot picture.svg`: the JSON has the plot as Vega-Lite",
        );
    }
    if !may_hold(ty, datas) {
        return usage(
            "the result has no plot to draw",
            "`--plot` draws a value of `plot.Plot` in the result, which `plot.line(xs, ys)` and the like make",
        );
    }
    Ok(())
}

/// Whether what is drawn stands for the printed result: the result is the plot, or standard output has a file.
pub fn replaces(asked: &[PlotTo], ty: &Ty, datas: &[DataDecl]) -> bool {
    let to_output = |to: &PlotTo| matches!(to.file, Some((Target::Standard, _)));
    let drawn = |to: &PlotTo| to.file.is_none() && is_plot(ty, datas);
    asked.iter().any(|to| to_output(to) || drawn(to))
}

/// Draws the plots of a result.
pub fn draw(
    shell: &Shell,
    asked: &[PlotTo],
    value: &Value,
    ty: &Ty,
    datas: &[DataDecl],
) -> Result<(), Stop> {
    let all = find(value, ty, datas);
    for to in asked {
        let chosen = choose(shell, to, &all)?;
        for (path, plot) in chosen {
            look(shell, path, plot)?;
            match &to.file {
                None => characters(shell, path, plot, all.len() > 1 && to.field.is_none())?,
                Some((target, format)) => {
                    if *format == Format::Png {
                        warn_of_boxes(shell, path, plot);
                    }
                    file(shell, target, *format, plot)?;
                }
            }
        }
    }
    Ok(())
}

/// The plots that are meant: the one of this name, the only one, or on the terminal all.
fn choose<'p>(
    shell: &Shell,
    to: &PlotTo,
    all: &'p [(String, Plot)],
) -> Result<Vec<(&'p str, &'p Plot)>, Stop> {
    let names: Vec<String> = all.iter().map(|(path, _)| format!("`{path}`")).collect();
    let refuse = |message: String, help: String| {
        Err(shell.usage(&[Diagnostic::error("argument", Span::NONE, message).help(help)]))
    };
    let there_are = || match all {
        [] => "the result has no plot this time".to_string(),
        [(path, _)] if path.is_empty() => "the result itself is the only plot".to_string(),
        _ => format!("the plots of the result are {}", names.join(", ")),
    };
    let item = |(path, plot): &'p (String, Plot)| (path.as_str(), plot);
    match (&to.field, &to.file, all) {
        (Some(field), _, _) => match all.iter().find(|(path, _)| path == field) {
            Some(found) => Ok(vec![item(found)]),
            None => refuse(format!("the result has no plot `{field}`"), there_are()),
        },
        (None, None, [_, ..]) => Ok(all.iter().map(item).collect()),
        (None, Some(_), [one]) => Ok(vec![item(one)]),
        (None, Some(_), [(first, _), _, ..]) => refuse(
            format!("the result has {} plots, and `--plot` one file for them", all.len()),
            format!("say which, as in `--plot {first}=picture.svg`; {}", there_are()),
        ),
        (None, _, []) => refuse("the result has no plot to draw".to_string(), there_are()),
    }
}

/// Refuses a plot that is not as it can be drawn, and says what is left out.
fn look(shell: &Shell, path: &str, plot: &Plot) -> Result<(), Stop> {
    let of = if path.is_empty() { String::new() } else { format!(" `{path}`") };
    if let Err(problem) = check(plot) {
        let message = format!("the plot{of} cannot be drawn: {problem}");
        shell.report(&[Diagnostic::error("plot", Span::NONE, message)]);
        return Err(Stop::Refused);
    }
    let warn = |note| Diagnostic::warning("plot", Span::NONE, format!("in the plot{of}, {note}"));
    shell.report(&notes(plot).into_iter().map(warn).collect::<Vec<_>>());
    Ok(())
}

/// Says which letters of a picture of pixels are boxes.
fn warn_of_boxes(shell: &Shell, path: &str, plot: &Plot) {
    let Some(note) = boxes(plot) else { return };
    let of = if path.is_empty() { String::new() } else { format!(" `{path}`") };
    let message = format!("in the plot{of}, {note}");
    let d = Diagnostic::warning("plot", Span::NONE, message);
    shell.report(&[d.help("an .svg has all letters: who shows it has the fonts")]);
}

fn characters(shell: &Shell, path: &str, plot: &Plot, named: bool) -> Result<(), Stop> {
    let heading = if named { format!("{path}\n") } else { String::new() };
    print::text(&(heading + &in_characters(shell, plot)))
}

/// A plot that a session shows: in characters, or as a few words where it cannot be drawn.
pub fn picture(shell: &Shell, plot: &Plot) -> String {
    match look(shell, "", plot) {
        Ok(()) => in_characters(shell, plot),
        Err(_) => summary(plot),
    }
}

/// As wide as the terminal.
fn in_characters(shell: &Shell, plot: &Plot) -> String {
    let width =
        terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
    let width = width.or_else(told).unwrap_or(WIDTH).clamp(30, 300);
    let color = shell.setting.messages.colors_output();
    terminal(plot, Style { width, color })
}

fn file(shell: &Shell, target: &Target, format: Format, plot: &Plot) -> Result<(), Stop> {
    let bytes = match format {
        Format::Svg => svg(plot).into_bytes(),
        Format::Json => (vega_lite(plot).to_string() + "\n").into_bytes(),
        Format::Png => match png(plot) {
            Ok(bytes) => bytes,
            Err(_) => {
                let message = "the plot has more than a hundred million pixels";
                let d = Diagnostic::error("plot", Span::NONE, message);
                shell.report(&[d.help("a smaller `plot.size`, or .svg, will do")]);
                return Err(Stop::Refused);
            }
        },
    };
    let limits = shell.setting.limits.clone();
    let check = move || limits.check().map_err(|bound| io::Error::other(bound.message()));
    write_bytes(target, &bytes, &check).map_err(|error| match error.problem {
        Problem::Closed => Stop::OutputClosed,
        _ => {
            shell.report(&[error.to_diagnostic(&[])]);
            Stop::Refused
        }
    })
}
