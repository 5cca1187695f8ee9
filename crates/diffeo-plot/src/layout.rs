//! A figure in the unit square: what its axes reach over, the colours and names of its layers, and their marks as
//! forms whose places are fractions of the axes, from the left and from below. Places outside 0 to 1 are left to
//! whoever draws; what has no place (nan, infinite, not above 0 on a logarithmic axis) is a gap.

mod forms;
mod scale;

pub use forms::MarkForm;
pub use scale::{drawable, edges, Scale};

use crate::color::{self, Color, INK, RULE};
use crate::model::{Axis, Figure, Layer, Mark};
use crate::ticks::Tick;
use scale::Extent;

/// A figure ready to be drawn.
pub struct Layout<'a> {
    pub figure: &'a Figure,
    pub x: Scale,
    pub y: Scale,
    /// The names along the x axis, if the figure has bars with names.
    pub categories: Vec<&'a str>,
    /// The layers: colour and form of each.
    pub layers: Vec<(Color, &'a Layer, MarkForm<'a>)>,
    /// The least and the largest value of heat maps.
    pub values: Option<(f64, f64)>,
    /// The least and the largest number on each axis, before any range that is asked for.
    pub data: [(f64, f64); 2],
    /// Whether nothing has a place.
    pub empty: bool,
}

impl<'a> Layout<'a> {
    pub fn new(figure: &'a Figure) -> Layout<'a> {
        let all = categories(figure);
        let shown = shown_names(&figure.x, all.len());
        let categories: Vec<&str> = all[shown].to_vec();
        let (mut x, mut y) = (Extent::new(figure.x.log), Extent::new(figure.y.log));
        let mut values = Extent::new(false);
        for layer in &figure.layers {
            reach(&layer.mark, &mut x, &mut y, &mut values);
        }
        let empty = x.is_empty() && y.is_empty();
        let mut of_x = figure.x.clone();
        if !categories.is_empty() {
            x.exactly(-0.5, categories.len() as f64 - 0.5);
            // The range chose among the names.
            (of_x.low, of_x.high) = (f64::NAN, f64::NAN);
        }
        for (axis, extent) in [(&figure.x, &mut x), (&figure.y, &mut y)] {
            if !axis.names.is_empty() && !extent.is_empty() {
                extent.take_edge(-0.5);
                extent.take_edge(axis.names.len() as f64 - 0.5);
            }
        }
        let data = [&x, &y].map(|extent| (extent.low, extent.high));
        let (mut x, y) = (x.scale(&of_x), y.scale(&figure.y));
        x.dates &= categories.is_empty();
        let values = (!values.is_empty()).then_some((values.low, values.high));
        let mut layout =
            Layout { figure, x, y, categories, layers: Vec::new(), values, data, empty };
        let mut taken = 0;
        let own = |layer: &Layer| match layer.mark {
            Mark::Texts(..) => Some(INK),
            Mark::Horizontal(_) | Mark::Vertical(_) => Some(RULE),
            _ => None,
        };
        for (i, layer) in figure.layers.iter().enumerate() {
            // Layers of one name belong together: they have one colour, and one entry in the legend.
            let same = layout.layers.iter().find(|(_, known, _)| {
                !layer.name.is_empty() && known.name == layer.name && own(known).is_none()
            });
            let same = same.map(|(color, ..)| *color);
            let color = color::named(&layer.color).or(own(layer)).or(same).unwrap_or_else(|| {
                taken += 1;
                color::palette(taken - 1)
            });
            let form = layout.form(i);
            layout.layers.push((color, layer, form));
        }
        layout
    }

    /// About so many ticks of an axis; those of one with names are its names.
    pub fn ticks(&self, on_x: bool, wanted: usize) -> Vec<Tick> {
        let (axis, scale) = match on_x {
            true => (&self.figure.x, &self.x),
            false => (&self.figure.y, &self.y),
        };
        if axis.names.is_empty() {
            return scale.ticks(wanted);
        }
        let all = axis.names.iter().enumerate();
        let tick = |(i, name): (usize, &String)| Some((scale.at(i as f64)?, name.clone()));
        all.filter_map(tick).filter(|(at, _)| (0.0..=1.0).contains(at)).collect()
    }

    /// The names along the x axis with their places: those of bars, or those of an axis with names.
    pub fn names(&self) -> Vec<Tick> {
        let bars = self.categories.iter().enumerate();
        let bars = bars.filter_map(|(i, name)| Some((self.x.at(i as f64)?, name.to_string())));
        match (self.categories.is_empty(), self.figure.x.names.is_empty()) {
            (false, _) => bars.collect(),
            (true, false) => self.ticks(true, 0),
            (true, true) => Vec::new(),
        }
    }

    /// Width by height of the frame for equal axes.
    pub fn aspect(&self) -> Option<f64> {
        let aspect = self.x.length() / self.y.length();
        (self.figure.equal && aspect.is_finite() && aspect > 0.0).then_some(aspect)
    }

    /// The layers that the legend names, each name once.
    pub fn legend(&self) -> Vec<(&'a str, Color, &'a Layer)> {
        let mut entries: Vec<(&str, Color, &Layer)> = Vec::new();
        for (color, layer, form) in &self.layers {
            let known = entries.iter().any(|(name, c, _)| *name == layer.name && c == color);
            if !layer.name.is_empty() && !known && !matches!(form, MarkForm::Cells(_)) {
                entries.push((&layer.name, *color, layer));
            }
        }
        entries
    }
}

/// Indices of the category names that an axis's range covers, the first and one past the last.
pub fn shown_names(axis: &Axis, count: usize) -> std::ops::Range<usize> {
    let last = count as f64 - 1.0;
    let low = if axis.low.is_nan() { 0.0 } else { axis.low.ceil().max(0.0) };
    let high = if axis.high.is_nan() { last } else { axis.high.floor().min(last) };
    match low <= high {
        true => low as usize..high as usize + 1,
        false => 0..0,
    }
}

/// The names of all bars, each once, in the order in which they come.
pub fn categories(figure: &Figure) -> Vec<&str> {
    let mut known = std::collections::HashSet::new();
    let mut out = Vec::new();
    for layer in &figure.layers {
        if let Mark::Bars(names, _) = &layer.mark {
            out.extend(names.iter().map(String::as_str).filter(|name| known.insert(*name)));
        }
    }
    out
}

/// Lets the axes reach over a mark.
fn reach(mark: &Mark, x: &mut Extent, y: &mut Extent, values: &mut Extent) {
    match mark {
        Mark::Line(xs, ys) | Mark::Points(xs, ys) | Mark::Texts(xs, ys, _) => {
            for (a, b) in xs.iter().zip(ys) {
                // A point counts only if it has a place on both axes.
                if x.has(*a) && y.has(*b) {
                    x.take(*a);
                    y.take(*b);
                }
            }
        }
        Mark::Bars(_, heights) => {
            if heights.iter().any(|h| y.has(*h)) {
                y.base();
            }
            heights.iter().for_each(|h| y.take(*h));
        }
        Mark::Band(xs, lows, highs) => {
            for ((a, low), high) in xs.iter().zip(lows).zip(highs) {
                if x.has(*a) && y.has(*low) && y.has(*high) {
                    x.take(*a);
                    y.take(*low);
                    y.take(*high);
                }
            }
        }
        Mark::ErrorBars(xs, ys, lows, highs) => {
            for (i, a) in xs.iter().enumerate() {
                let of = |values: &[f64]| values.get(i).copied().unwrap_or(f64::NAN);
                if x.has(*a) && [ys, lows, highs].iter().any(|v| y.has(of(v))) {
                    x.take(*a);
                    [ys, lows, highs].iter().for_each(|v| y.take(of(v)));
                }
            }
        }
        Mark::Boxes(lefts, rights, heights) => {
            let all = lefts.iter().zip(rights).zip(heights);
            for ((left, right), height) in
                all.filter(|((a, b), _)| [a, b].iter().all(|v| drawable(***v, false)))
            {
                y.base();
                if y.has(*height) || *height == 0.0 {
                    x.take_edge(*left);
                    x.take_edge(*right);
                    y.take(*height);
                }
            }
        }
        Mark::Cells(_, _, cells) if cells.is_empty() => {}
        Mark::Cells(xs, ys, cells) => {
            for (positions, extent) in [(xs, &mut *x), (ys, &mut *y)] {
                for (_, (low, high)) in scale::edges(positions, extent.log) {
                    extent.take_edge(low);
                    extent.take_edge(high);
                }
            }
            cells.iter().for_each(|v| values.take(*v));
        }
        Mark::Horizontal(b) => y.take(*b),
        Mark::Vertical(a) => x.take(*a),
    }
}
