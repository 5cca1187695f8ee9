//! What can be said of a plot without drawing it: what the user should change, what is left out, and a line about it.

use crate::color::{named, NAMES};
use crate::dates;
use crate::draw::{out_of_range, points_outside};
use crate::layout::{categories, drawable, shown_names, Layout};
use crate::model::{Axis, Figure, Layer, Mark, Plot};
use std::fmt;

/// The largest size in pixels, and the largest grid.
const LARGEST: usize = 10_000;
const MOST: usize = 400;

/// The widest lines, in pixels: as `line_width` of `std/plot.deo` has it.
const WIDEST: f64 = 1000.0;

/// What cannot be drawn as it is asked for.
#[derive(Clone, PartialEq, Debug)]
pub enum Problem {
    /// A colour that is none: the layer and the text.
    Color(String, String),
    /// An opacity that is none: the layer and the number.
    Opacity(String, f64),
    /// A width of lines that is none: the layer and the number.
    LineWidth(String, f64),
    /// Bars with names and marks at numbers on one x axis: the layer with numbers.
    NamesAndNumbers(String),
    /// The axis and its ends, the lower of which is not below the upper.
    Range(&'static str, f64, f64),
    /// The same of an axis of dates.
    DateRange(&'static str, f64, f64),
    /// Dates on an axis that has none, and why.
    Dates(&'static str, &'static str),
    /// A range of which no name is: its ends, and how many names there are.
    Names(f64, f64, usize),
    /// Axes on which a unit cannot be as long as on the other, and why.
    Equal(&'static str),
    /// The axis and its end, where a logarithmic scale has no place.
    LogRange(&'static str, f64),
    /// A heat map with two columns or rows at one place: the layer, "columns" or "rows", the axis and the number.
    Repeated(String, &'static str, &'static str, f64),
    /// A width or height.
    Size(usize),
    /// So many plots in a grid.
    Grid(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Color(layer, text) => {
                let names: Vec<&str> =
                    NAMES.iter().map(|(name, _)| *name).filter(|name| *name != "gray").collect();
                write!(f, "{layer} has the colour {text:?}, which is none of {}", names.join(", "))?;
                f.write_str(", and not written `#rrggbb`")
            }
            Problem::Opacity(layer, opacity) => {
                write!(f, "{layer} has the opacity {opacity}: an opacity is from 0, invisible, to 1")
            }
            Problem::LineWidth(layer, width) => write!(
                f,
                "{layer} has lines of the width {width}: a width is above 0 and at most {WIDEST} pixels"
            ),
            Problem::NamesAndNumbers(layer) => write!(
                f,
                "{layer} has numbers on the x axis, on which bars have names: draw them side by side with `plot.grid`"
            ),
            Problem::Range(axis, low, high) => write!(
                f,
                "the {axis} axis is to reach from {low} to {high}: the first number must be below the second"
            ),
            Problem::DateRange(axis, low, high) => write!(
                f,
                "the {axis} axis is to reach from {} to {}: the first time must be before the second",
                dates::text(*low),
                dates::text(*high)
            ),
            Problem::Dates(axis, why) => {
                write!(f, "the {axis} axis is to have dates, but {why}")
            }
            Problem::Names(low, high, count) => write!(
                f,
                "the x axis is to reach from {low} to {high}, but has {count} names, which count from 0"
            ),
            Problem::Equal(why) => {
                write!(f, "a unit is to be as long on one axis as on the other, but {why}")
            }
            Problem::LogRange(axis, end) => write!(
                f,
                "the {axis} axis is to end at {end}, but is logarithmic: its ends are above 0"
            ),
            Problem::Repeated(layer, what, axis, at) => write!(
                f,
                "{layer} has two {what} at {axis} = {at}: the {what} of a heat map have places of their own"
            ),
            Problem::Size(size) => {
                write!(f, "the size {size} is not between 50 and {LARGEST} pixels")
            }
            Problem::Grid(count) => {
                write!(f, "a grid of {count} plots is more than one picture holds: {MOST}")
            }
        }
    }
}

impl std::error::Error for Problem {}

/// The figures of a plot.
fn figures<'p>(plot: &'p Plot, out: &mut Vec<&'p Figure>) {
    match plot {
        Plot::Plot(figure) => out.push(figure),
        Plot::Grid { plots, .. } => plots.iter().for_each(|plot| figures(plot, out)),
    }
}

fn all(plot: &Plot) -> Vec<&Figure> {
    let mut out = Vec::new();
    figures(plot, &mut out);
    out
}

/// A layer by its number and name.
fn called(i: usize, layer: &Layer) -> String {
    let (what, _) = layer.mark.count();
    match layer.name.as_str() {
        "" => format!("layer {} ({what})", i + 1),
        name => format!("layer {} ({what}, {name:?})", i + 1),
    }
}

/// Whether the plot can be drawn as it is asked for.
///
/// # Errors
/// What the user should change first.
pub fn check(plot: &Plot) -> Result<(), Problem> {
    let figures = all(plot);
    if figures.len() > MOST {
        return Err(Problem::Grid(figures.len()));
    }
    for figure in figures {
        for size in [figure.width, figure.height] {
            if size != 0 && !(50..=LARGEST).contains(&size) {
                return Err(Problem::Size(size));
            }
        }
        ends("x", &figure.x)?;
        ends("y", &figure.y)?;
        let bars = figure.layers.iter().any(|layer| matches!(layer.mark, Mark::Bars(..)));
        if bars && figure.x.dates {
            return Err(Problem::Dates("x", "has the names of bars"));
        }
        let count = categories(figure).len();
        if count > 0 && shown_names(&figure.x, count).is_empty() {
            return Err(Problem::Names(figure.x.low, figure.x.high, count));
        }
        if figure.equal && (bars || figure.x.dates) {
            let why = match bars {
                true => "the x axis has the names of bars",
                false => "the x axis has dates",
            };
            return Err(Problem::Equal(why));
        }
        if figure.equal && figure.x.log != figure.y.log {
            return Err(Problem::Equal("one of them is logarithmic"));
        }
        for (i, layer) in figure.layers.iter().enumerate() {
            if !layer.color.is_empty() && named(&layer.color).is_none() {
                return Err(Problem::Color(called(i, layer), layer.color.clone()));
            }
            if let Some(opacity) = layer.opacity.filter(|v| !(0.0..=1.0).contains(v)) {
                return Err(Problem::Opacity(called(i, layer), opacity));
            }
            if let Some(width) = layer.line_width.filter(|v| !(*v > 0.0 && *v <= WIDEST)) {
                return Err(Problem::LineWidth(called(i, layer), width));
            }
            if bars && !matches!(layer.mark, Mark::Bars(..) | Mark::Horizontal(_)) {
                return Err(Problem::NamesAndNumbers(called(i, layer)));
            }
            if let Mark::Cells(xs, ys, _) = &layer.mark {
                for (positions, what, axis) in [(xs, "columns", "x"), (ys, "rows", "y")] {
                    if let Some(at) = repeated(positions) {
                        return Err(Problem::Repeated(called(i, layer), what, axis, at));
                    }
                }
            }
        }
    }
    Ok(())
}

/// A number that is there twice.
fn repeated(numbers: &[f64]) -> Option<f64> {
    let mut all: Vec<f64> = numbers.iter().copied().filter(|v| drawable(*v, false)).collect();
    all.sort_by(f64::total_cmp);
    all.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[1])
}

fn ends(name: &'static str, axis: &Axis) -> Result<(), Problem> {
    if axis.dates && axis.log {
        return Err(Problem::Dates(name, "is logarithmic"));
    }
    if axis.low >= axis.high && axis.dates {
        return Err(Problem::DateRange(name, axis.low, axis.high));
    }
    if axis.low >= axis.high {
        return Err(Problem::Range(name, axis.low, axis.high));
    }
    match [axis.low, axis.high].into_iter().find(|end| axis.log && *end <= 0.0) {
        Some(end) => Err(Problem::LogRange(name, end)),
        None => Ok(()),
    }
}

/// What is left out though it is no nan: a line for each layer, and one for a figure that is empty.
pub fn notes(plot: &Plot) -> Vec<String> {
    let mut out = Vec::new();
    for figure in all(plot) {
        let of = match figure.title.as_str() {
            "" => String::new(),
            title => format!(" of {title:?}"),
        };
        for (i, layer) in figure.layers.iter().enumerate() {
            let (mut below, mut large, mut count) = (0, 0, 0);
            for (on_x, numbers) in numbers(&layer.mark) {
                let log = if on_x { figure.x.log } else { figure.y.log };
                for v in numbers {
                    count += 1;
                    below += usize::from(log && *v <= 0.0);
                    large += usize::from(!v.is_nan() && !drawable(*v, false));
                }
            }
            let beside = left_out(&layer.mark);
            let layer = called(i, layer);
            if let Some((left, count)) = beside {
                out.push(format!(
                    "{layer}{of}: {left} of {count} numbers left out, nan or infinite"
                ));
            }
            for (left, why) in [
                (below, "a logarithmic axis has no place for 0 and below"),
                (large, "infinite or beyond 1e300"),
            ] {
                if left > 0 {
                    out.push(format!("{layer}{of}: {left} of {count} numbers left out, {why}"));
                }
            }
        }
        let layout = Layout::new(figure);
        if layout.empty {
            out.push(format!("nothing{of} has a place: the picture is empty"));
        } else if out_of_range(&layout) {
            out.push(format!(
                "nothing{of} is in the range, {}: the picture is empty",
                beside(&layout)
            ));
        } else if asks_for_range(figure) {
            for (i, (_, layer, form)) in layout.layers.iter().enumerate() {
                let (left, count) = points_outside(form);
                if left > 0 {
                    out.push(format!(
                        "{}{of}: {left} of {count} points left out, outside of the range, {}",
                        called(i, layer),
                        beside(&layout)
                    ));
                }
            }
        }
    }
    if all(plot).is_empty() {
        out.push("there is no plot of the grid: the picture is empty".to_string());
    }
    out
}

/// True of an axis with an end that is asked for.
fn asks_for_range(Figure { x, y, .. }: &Figure) -> bool {
    [x.low, x.high, y.low, y.high].iter().any(|end| !end.is_nan())
}

/// The axes whose range is asked for, beside the data.
fn beside(layout: &Layout<'_>) -> String {
    let figure = layout.figure;
    let axes =
        [("x", &figure.x, &layout.x, layout.data[0]), ("y", &figure.y, &layout.y, layout.data[1])];
    let told: Vec<String> = axes
        .into_iter()
        .filter(|(_, axis, ..)| !axis.low.is_nan() || !axis.high.is_nan())
        .map(|(name, _, scale, data)| {
            let (low, high) = scale.ends();
            let told = if scale.dates { dates::text } else { shortly };
            let [low, high, least, most] = [low, high, data.0, data.1].map(told);
            match data.0 <= data.1 {
                true => format!(
                    "which is {low} to {high} of {name}, where the data is from {least} to {most}"
                ),
                false => format!("which is {low} to {high} of {name}"),
            }
        })
        .collect();
    told.join(", and ")
}

/// A number to six digits.
fn shortly(v: f64) -> String {
    let v: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    match v == 0.0 || (1e-4..1e9).contains(&v.abs()) {
        true => format!("{v}"),
        false => format!("{v:e}"),
    }
}

/// The numbers of a mark that have places on an axis: whether that of x, and the numbers.
fn numbers(mark: &Mark) -> Vec<(bool, &[f64])> {
    match mark {
        Mark::Line(xs, ys)
        | Mark::Points(xs, ys)
        | Mark::Texts(xs, ys, _)
        | Mark::Cells(xs, ys, _) => {
            vec![(true, xs), (false, ys)]
        }
        Mark::Bars(_, heights) => vec![(false, heights)],
        Mark::Band(xs, lows, highs) => vec![(true, xs), (false, lows), (false, highs)],
        Mark::ErrorBars(xs, ys, lows, highs) => {
            vec![(true, xs), (false, ys), (false, lows), (false, highs)]
        }
        // An interval without elements is no height that is missing.
        Mark::Boxes(lefts, rights, _) => {
            let placed = Mark::placed(lefts, rights);
            vec![(true, &lefts[..placed]), (true, &rights[..placed])]
        }
        Mark::Horizontal(v) => vec![(false, std::slice::from_ref(v))],
        Mark::Vertical(v) => vec![(true, std::slice::from_ref(v))],
    }
}

/// How many numbers of a histogram have no place because they are nan or infinite, and how many there are.
fn left_out(mark: &Mark) -> Option<(f64, f64)> {
    let Mark::Boxes(lefts, rights, heights) = mark else { return None };
    let left: f64 = heights.iter().skip(Mark::placed(lefts, rights)).sum();
    (left > 0.0).then(|| (left, heights.iter().sum()))
}

/// A plot in a line: its title and its layers.
pub fn summary(plot: &Plot) -> String {
    match plot {
        Plot::Plot(figure) => {
            let layers: Vec<String> = figure
                .layers
                .iter()
                .map(|layer| {
                    let name = match layer.name.as_str() {
                        "" => String::new(),
                        name => format!(" {name:?}"),
                    };
                    match layer.mark.count() {
                        (what @ ("points" | "bars" | "error bars" | "texts"), n) => {
                            let what = if n == 1 { what.trim_end_matches('s') } else { what };
                            format!("{n} {what}{name}")
                        }
                        (what @ ("line" | "band"), n) => {
                            format!("{what}{name} of {n} point{}", if n == 1 { "" } else { "s" })
                        }
                        (what, _) => format!("{what}{name}"),
                    }
                })
                .collect();
            let layers = if layers.is_empty() { "nothing".to_string() } else { layers.join(", ") };
            match figure.title.as_str() {
                "" => format!("<plot: {layers}>"),
                title => format!("<plot {title:?}: {layers}>"),
            }
        }
        Plot::Grid { title, plots, .. } => {
            let title = if title.is_empty() { String::new() } else { format!(" {title:?}") };
            let plots: Vec<String> = plots.iter().map(summary).collect();
            format!("<grid{title}: {}>", plots.join(", "))
        }
    }
}
