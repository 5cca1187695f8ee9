//! The marks of layers as forms in the unit square.

use super::scale::edges;
use super::Layout;
use crate::color::LEVELS;
use crate::model::Mark;
use crate::scene::Point;

/// How wide the bars of one name are together; how many rows and columns of a heat map are drawn at most.
const BARS: f64 = 0.8;
const MOST_CELLS: usize = 400;

/// What a mark is drawn as.
pub enum MarkForm<'a> {
    /// Lines without gaps.
    Lines(Vec<Vec<Point>>),
    /// Discs.
    Points(Vec<Point>),
    /// Rectangles between two corners, which stand on the second coordinate of the first.
    Boxes(Vec<(Point, Point)>),
    /// Areas without gaps: x, lower end, upper end.
    Areas(Vec<Vec<(f64, f64, f64)>>),
    /// Bars up and down, with the disc on each that has one.
    Errors { bars: Vec<(f64, f64, f64)>, points: Vec<Point> },
    /// Rectangles with their level of colour.
    Cells(Vec<(Point, Point, usize)>),
    /// Texts to the right of places.
    Texts(Vec<(Point, &'a str)>),
}

impl MarkForm<'_> {
    /// Whether nothing has a place.
    pub fn is_empty(&self) -> bool {
        match self {
            MarkForm::Lines(runs) => runs.is_empty(),
            MarkForm::Points(points) => points.is_empty(),
            MarkForm::Boxes(boxes) => boxes.is_empty(),
            MarkForm::Areas(runs) => runs.is_empty(),
            MarkForm::Errors { bars, points } => bars.is_empty() && points.is_empty(),
            MarkForm::Cells(cells) => cells.is_empty(),
            MarkForm::Texts(texts) => texts.is_empty(),
        }
    }
}

/// Splits at gaps.
fn runs<T>(all: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = vec![Vec::new()];
    for item in all {
        match (item, out.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            (Some(item), None) => out.push(vec![item]),
            (None, _) => out.push(Vec::new()),
        }
    }
    out.retain(|run| !run.is_empty());
    out
}

impl<'a> Layout<'a> {
    /// The form of the layer of this number.
    pub(super) fn form(&self, layer: usize) -> MarkForm<'a> {
        let (x, y) = (&self.x, &self.y);
        let figure = self.figure;
        match &figure.layers[layer].mark {
            Mark::Line(xs, ys) => {
                MarkForm::Lines(runs(xs.iter().zip(ys).map(|(a, b)| Some((x.at(*a)?, y.at(*b)?)))))
            }
            Mark::Points(xs, ys) => MarkForm::Points(
                xs.iter().zip(ys).filter_map(|(a, b)| Some((x.at(*a)?, y.at(*b)?))).collect(),
            ),
            Mark::Bars(names, heights) => {
                let is_bars = |m: &Mark| matches!(m, Mark::Bars(..));
                let all = figure.layers.iter().filter(|l| is_bars(&l.mark)).count();
                let before = figure.layers[..layer].iter().filter(|l| is_bars(&l.mark)).count();
                let width = BARS / all.max(1) as f64;
                let index: std::collections::HashMap<&str, usize> =
                    self.categories.iter().enumerate().map(|(i, name)| (*name, i)).collect();
                let bar = |(name, height): (&String, &f64)| {
                    let middle = *index.get(name.as_str())? as f64;
                    let left = middle - 0.5 * BARS + before as f64 * width;
                    let (a, b) = (x.at(left)?, x.at(left + width)?);
                    Some(((a, y.base()), (b, y.at(*height)?)))
                };
                MarkForm::Boxes(names.iter().zip(heights).filter_map(bar).collect())
            }
            Mark::Band(xs, lows, highs) => {
                let all = xs.iter().zip(lows).zip(highs);
                MarkForm::Areas(runs(
                    all.map(|((a, low), high)| Some((x.at(*a)?, y.at(*low)?, y.at(*high)?))),
                ))
            }
            Mark::ErrorBars(xs, ys, lows, highs) => {
                let points = xs.iter().zip(ys);
                let all = xs.iter().zip(lows).zip(highs);
                let bar = |((a, low), high): ((&f64, &f64), &f64)| {
                    // A bar to a place that a logarithmic axis lacks goes to its end.
                    let low =
                        y.at(*low).or_else(|| (figure.y.log && *low <= 0.0).then(|| y.base()));
                    Some((x.at(*a)?, low?, y.at(*high)?))
                };
                MarkForm::Errors {
                    bars: all.filter_map(bar).collect(),
                    points: points.filter_map(|(a, b)| Some((x.at(*a)?, y.at(*b)?))).collect(),
                }
            }
            Mark::Boxes(lefts, rights, heights) => {
                let all = lefts.iter().zip(rights).zip(heights);
                let corners = |((left, right), height): ((&f64, &f64), &f64)| {
                    Some(((x.at(*left)?, y.base()), (x.at(*right)?, y.at(*height)?)))
                };
                MarkForm::Boxes(all.filter_map(corners).collect())
            }
            Mark::Cells(xs, ys, values) => MarkForm::Cells(self.cells(xs, ys, values)),
            Mark::Texts(xs, ys, texts) => {
                let all = xs.iter().zip(ys).zip(texts);
                let place = |((a, b), text): ((&f64, &f64), &'a String)| {
                    Some(((x.at(*a)?, y.at(*b)?), text.as_str()))
                };
                MarkForm::Texts(all.filter_map(place).collect())
            }
            Mark::Horizontal(b) => {
                let across = y.at(*b).map(|b| vec![(0.0, b), (1.0, b)]);
                MarkForm::Lines(across.into_iter().collect())
            }
            Mark::Vertical(a) => {
                let across = x.at(*a).map(|a| vec![(a, 0.0), (a, 1.0)]);
                MarkForm::Lines(across.into_iter().collect())
            }
        }
    }

    /// The cells of a heat map; of one with very many, the means of blocks.
    fn cells(&self, xs: &[f64], ys: &[f64], values: &[f64]) -> Vec<(Point, Point, usize)> {
        let Some((least, most)) = self.values else { return Vec::new() };
        let level = |v: f64| match (0.5 * v - 0.5 * least) / (0.5 * most - 0.5 * least) {
            part if part.is_nan() => LEVELS / 2,
            part => ((part * LEVELS as f64) as usize).min(LEVELS - 1),
        };
        let (columns, rows) = (edges(xs, self.figure.x.log), edges(ys, self.figure.y.log));
        let (wide, high) =
            (columns.len().div_ceil(MOST_CELLS).max(1), rows.len().div_ceil(MOST_CELLS).max(1));
        let mut out = Vec::new();
        for rows in rows.chunks(high) {
            for columns in columns.chunks(wide) {
                let ends =
                    |edges: &[(usize, (f64, f64))]| Some((edges.first()?.1 .0, edges.last()?.1 .1));
                let corners = ends(columns).zip(ends(rows)).and_then(|((a, b), (c, d))| {
                    Some(((self.x.at(a)?, self.y.at(c)?), (self.x.at(b)?, self.y.at(d)?)))
                });
                let (mut sum, mut count) = (0.0, 0.0);
                for (r, _) in rows {
                    for (c, _) in columns {
                        let v = values.get(r * xs.len() + c).copied().unwrap_or(f64::NAN);
                        if super::drawable(v, false) {
                            // The mean so far, which stays in range.
                            count += 1.0;
                            sum += (v - sum) / count;
                        }
                    }
                }
                if let (Some((from, to)), true) = (corners, count > 0.0) {
                    out.push((from, to, level(sum)));
                }
            }
        }
        out
    }
}
