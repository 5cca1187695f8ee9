//! What a plot is: the types of `std/plot.deo`, with the same meaning. Any numbers may be nan or infinite; arrays of
//! one mark have equal lengths, or the shortest counts.

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub enum Plot {
    /// Layers with their axes.
    Plot(Figure),
    /// Plots in rows of `columns`.
    Grid {
        /// What stands above all, if anything.
        title: String,
        /// How many plots a row has; at least one.
        columns: usize,
        /// The plots, row by row.
        plots: Vec<Plot>,
    },
}

/// Layers over one another.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figure {
    /// The first one is below.
    pub layers: Vec<Layer>,
    /// What stands above, if anything.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// In pixels; 0 for the usual one.
    pub width: usize,
    /// In pixels; 0 for the usual one.
    pub height: usize,
    /// Equal axes: a unit is as long on one as on the other.
    pub equal: bool,
    /// The legend stands within the axes.
    pub inside: bool,
    /// The colours of heat maps have no bar with numbers.
    pub without_bar: bool,
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Whether its scale is logarithmic.
    pub log: bool,
    /// Its lower end; nan for that of the data.
    pub low: f64,
    /// Its upper end; nan for that of the data.
    pub high: f64,
    /// Whether it runs to the left, or downwards.
    pub backwards: bool,
    /// Whether its numbers are times: seconds since 1970 in UTC.
    pub dates: bool,
    /// Names at 0, 1, 2 … in place of numbers, if there are some.
    pub names: Vec<String>,
}

impl Default for Axis {
    fn default() -> Axis {
        Axis {
            label: String::new(),
            log: false,
            low: f64::NAN,
            high: f64::NAN,
            backwards: false,
            dates: false,
            names: Vec::new(),
        }
    }
}

/// A mark and how it looks.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// What is drawn.
    pub mark: Mark,
    /// Its name in the legend, if it stands there.
    pub name: String,
    /// Its colour; none for the next one of the palette.
    pub color: String,
    /// Whether its lines are dashed.
    pub dashed: bool,
    /// How much it hides what is below it, from 0 to 1; none for the usual opacity.
    pub opacity: Option<f64>,
    /// How wide its lines are, in pixels; none for the usual width.
    pub line_width: Option<f64>,
}

/// What a layer draws.
#[derive(Clone, PartialEq, Debug)]
pub enum Mark {
    /// A line through xs, ys.
    Line(Vec<f64>, Vec<f64>),
    /// Dots at xs, ys.
    Points(Vec<f64>, Vec<f64>),
    /// Bars with names and heights, from 0.
    Bars(Vec<String>, Vec<f64>),
    /// The area at xs between lows and highs.
    Band(Vec<f64>, Vec<f64>, Vec<f64>),
    /// Dots at xs, ys, with bars from lows to highs.
    ErrorBars(Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>),
    /// Bars from lefts to rights with heights, from 0.
    Boxes(Vec<f64>, Vec<f64>, Vec<f64>),
    /// Colours at xs, ys: values by rows, a row for each y.
    Cells(Vec<f64>, Vec<f64>, Vec<f64>),
    /// Texts beside xs, ys.
    Texts(Vec<f64>, Vec<f64>, Vec<String>),
    /// A line across at this y.
    Horizontal(f64),
    /// A line across at this x.
    Vertical(f64),
}

impl Mark {
    /// Of the boxes of a histogram, the number of those that have a place: the others, behind them, are for what is nan
    /// or infinite.
    pub(crate) fn placed(lefts: &[f64], rights: &[f64]) -> usize {
        let beside = |(a, b): (&f64, &f64)| !a.is_finite() && !b.is_finite();
        let all = lefts.iter().zip(rights);
        all.clone().position(beside).unwrap_or(all.len())
    }

    /// What a reader calls it, and how many elements it has.
    pub(crate) fn count(&self) -> (&'static str, usize) {
        match self {
            Mark::Line(xs, _) => ("line", xs.len()),
            Mark::Points(xs, _) => ("points", xs.len()),
            Mark::Bars(names, _) => ("bars", names.len()),
            Mark::Band(xs, ..) => ("band", xs.len()),
            Mark::ErrorBars(xs, ..) => ("error bars", xs.len()),
            Mark::Boxes(xs, ..) => ("histogram", xs.len()),
            Mark::Cells(.., values) => ("heat map", values.len()),
            Mark::Texts(xs, ..) => ("texts", xs.len()),
            Mark::Horizontal(_) => ("horizontal line", 1),
            Mark::Vertical(_) => ("vertical line", 1),
        }
    }
}
