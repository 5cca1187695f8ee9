//! Reads a plot from a value of the type `Plot` of `std/plot.deo`. What comes in: a value of any representation that
//! answers what it is ([`PlotSource`]). What goes out: the [`Plot`], or none where a part is not what that type has.

use crate::model::{Axis, Figure, Layer, Mark, Plot};

/// A value of the language, asked for what it is. Each answer is none where it is something else.
pub trait PlotSource: Sized {
    /// The name of the constructor and its fields.
    fn variant(&self) -> Option<(String, Vec<Self>)>;
    /// The field of a record.
    fn field(&self, name: &str) -> Option<Self>;
    /// The elements of an array.
    fn elements(&self) -> Option<Vec<Self>>;
    /// The elements of an array of Reals; those of one with more indices row by row, unless it is an array of arrays.
    fn reals(&self) -> Option<Vec<f64>>;
    /// A Real.
    fn real(&self) -> Option<f64>;
    /// An Int.
    fn int(&self) -> Option<i64>;
    /// A Bool.
    fn bool(&self) -> Option<bool>;
    /// A String.
    fn text(&self) -> Option<String>;
}

/// The plot that a value is.
pub fn read(value: &impl PlotSource) -> Option<Plot> {
    let (name, fields) = value.variant()?;
    match (name.as_str(), &fields[..]) {
        ("Plot", [figure]) => Some(Plot::Plot(Figure {
            layers: each(&figure.field("layers")?, layer)?,
            title: figure.field("title")?.text()?,
            x: axis(&figure.field("x")?)?,
            y: axis(&figure.field("y")?)?,
            width: size(&figure.field("width")?)?,
            height: size(&figure.field("height")?)?,
            equal: figure.field("equal")?.bool()?,
            inside: figure.field("inside")?.bool()?,
            without_bar: figure.field("without_bar")?.bool()?,
        })),
        ("Grid", [title, columns, plots]) => Some(Plot::Grid {
            title: title.text()?,
            columns: usize::try_from(columns.int()?).unwrap_or(1).max(1),
            plots: each(plots, read)?,
        }),
        _ => None,
    }
}

fn each<V: PlotSource, T>(array: &V, of: impl Fn(&V) -> Option<T>) -> Option<Vec<T>> {
    array.elements()?.iter().map(of).collect()
}

/// A number of pixels; a negative one is as wrong as one that is too small.
fn size(value: &impl PlotSource) -> Option<usize> {
    Some(usize::try_from(value.int()?).unwrap_or(1))
}

fn axis(value: &impl PlotSource) -> Option<Axis> {
    Some(Axis {
        label: value.field("label")?.text()?,
        log: value.field("log")?.bool()?,
        low: end(&value.field("low")?)?,
        high: end(&value.field("high")?)?,
        backwards: value.field("backwards")?.bool()?,
        dates: value.field("dates")?.bool()?,
        names: texts(&value.field("names")?)?,
    })
}

/// The end of an axis; nan where it is that of the data.
fn end(value: &impl PlotSource) -> Option<f64> {
    Some(maybe(value)?.unwrap_or(f64::NAN))
}

/// A Real that may be missing.
fn maybe(value: &impl PlotSource) -> Option<Option<f64>> {
    match &value.variant()?.1[..] {
        [] => Some(None),
        [x] => x.real().map(Some),
        _ => None,
    }
}

fn layer(value: &impl PlotSource) -> Option<Layer> {
    Some(Layer {
        mark: mark(&value.field("mark")?)?,
        name: value.field("name")?.text()?,
        color: value.field("color")?.text()?,
        dashed: value.field("dashed")?.bool()?,
        opacity: maybe(&value.field("opacity")?)?,
        line_width: maybe(&value.field("line_width")?)?,
    })
}

fn mark(value: &impl PlotSource) -> Option<Mark> {
    let (name, fields) = value.variant()?;
    Some(match (name.as_str(), &fields[..]) {
        ("Line", [xs, ys]) => Mark::Line(reals(xs)?, reals(ys)?),
        ("Points", [xs, ys]) => Mark::Points(reals(xs)?, reals(ys)?),
        ("Bars", [names, ys]) => Mark::Bars(texts(names)?, reals(ys)?),
        ("Band", [xs, lows, highs]) => Mark::Band(reals(xs)?, reals(lows)?, reals(highs)?),
        ("ErrorBars", [xs, ys, lows, highs]) => {
            Mark::ErrorBars(reals(xs)?, reals(ys)?, reals(lows)?, reals(highs)?)
        }
        ("Boxes", [lefts, rights, ys]) => Mark::Boxes(reals(lefts)?, reals(rights)?, reals(ys)?),
        ("Cells", [xs, ys, values]) => Mark::Cells(reals(xs)?, reals(ys)?, reals(values)?),
        ("Texts", [xs, ys, words]) => Mark::Texts(reals(xs)?, reals(ys)?, texts(words)?),
        ("Horizontal", [y]) => Mark::Horizontal(y.real()?),
        ("Vertical", [x]) => Mark::Vertical(x.real()?),
        _ => return None,
    })
}

/// The numbers of an array, row by row.
fn reals(value: &impl PlotSource) -> Option<Vec<f64>> {
    value.reals().or_else(|| Some(each(value, reals)?.concat()))
}

fn texts(value: &impl PlotSource) -> Option<Vec<String>> {
    each(value, PlotSource::text)
}
