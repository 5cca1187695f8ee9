//! The legend, and the colours of a heat map with their numbers, to the right of the frame.

use super::clip::holds;
use super::marks::{line_width, opacity, DISC};
use super::{PlotArea, MARGIN, SMALL};
use crate::color::{viridis, Color, LEVELS, WHITE};
use crate::font;
use crate::layout::{Layout, MarkForm};
use crate::model::{Layer, Mark};
use crate::scene::{Anchor, Point, Scene, Shape};
use crate::ticks;

const SAMPLE: f64 = 22.0;
const ROW: f64 = 19.0;
const BAR: f64 = 14.0;

/// From one line of a name to the next, and how many lines a name has at most.
const NEXT: f64 = 15.0;
const LINES: usize = 6;

/// The lines of a name in a picture of this width.
pub fn lines_of_name(name: &str, width: f64) -> Vec<String> {
    font::wrapped(name, SMALL, 0.3 * width, LINES)
}

/// How high a name is.
fn height_of(lines: &[String]) -> f64 {
    ROW + lines.len().saturating_sub(1) as f64 * NEXT
}

/// Around a legend within the frame, and how many places of a line across are looked at for one.
const PAD: f64 = 8.0;
const STEPS: f64 = 50.0;

/// How many colours are shown beside a heat map.
const STRIPES: usize = 32;

pub struct Legend<'a> {
    /// The names in lines.
    entries: Vec<(Vec<String>, Color, &'a Layer)>,
    /// The numbers beside the colours of heat maps, at parts of their height.
    numbers: Vec<(f64, String)>,
    /// Width and height of a legend within the frame, if there is one.
    inside: Option<(f64, f64)>,
    /// How much of the picture it takes.
    pub width: f64,
    /// How high all names are.
    pub height: f64,
}

impl<'a> Legend<'a> {
    pub fn new(layout: &Layout<'a>, (width, height): (f64, f64)) -> Legend<'a> {
        let wanted = ((height - 80.0) / 35.0).clamp(2.0, 6.0) as usize;
        let lines = |name: &str| lines_of_name(name, width);
        let entries: Vec<(Vec<String>, Color, &Layer)> =
            layout.legend().into_iter().map(|(name, c, layer)| (lines(name), c, layer)).collect();
        let tall = entries.iter().map(|(lines, ..)| height_of(lines)).sum();
        let values = layout.values.filter(|_| !layout.figure.without_bar);
        let numbers = match values {
            Some((low, high)) if high - low > 1e-12 * low.abs().max(high.abs()) => {
                let part = |v: f64| (v - low) / (high - low);
                ticks::linear(low, high, wanted)
                    .into_iter()
                    .map(|(v, text)| (part(v), text))
                    .collect()
            }
            Some((low, _)) => vec![(0.5, number(low))],
            None => Vec::new(),
        };
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| font::width(text, SMALL)).fold(0.0, f64::max)
        };
        let names = match entries.len() {
            0 => 0.0,
            _ => SAMPLE + 6.0 + widest(&mut entries.iter().flat_map(|(lines, ..)| lines)) + MARGIN,
        };
        let colors = match numbers.len() {
            0 => 0.0,
            _ => BAR + 8.0 + widest(&mut numbers.iter().map(|(_, text)| text)) + MARGIN,
        };
        let inside = layout.figure.inside && !entries.is_empty();
        let beside = if inside { 0.0 } else { names };
        let needed = if inside { 0.0 } else { tall };
        let inside = inside.then_some((names - MARGIN, tall));
        Legend { entries, numbers, inside, width: beside + colors, height: needed }
    }

    pub fn draw(&self, scene: &mut Scene, layout: &Layout<'_>, frame: &PlotArea) {
        let mut left = frame.x(1.0) + MARGIN;
        if !self.numbers.is_empty() {
            let step = frame.height / STRIPES as f64;
            let maps = layout.layers.iter().find(|(.., form)| matches!(form, MarkForm::Cells(_)));
            let opacity = maps.map_or(1.0, |(_, layer, _)| opacity(layer));
            for stripe in 0..STRIPES {
                let top = frame.y(0.0) - (stripe + 1) as f64 * step;
                let rects = vec![[left, top, BAR, step]];
                let color = viridis(stripe * (LEVELS - 1) / (STRIPES - 1));
                scene.shapes.push(Shape::Rects { rects, color, sharp: true, opacity });
            }
            let mut widest: f64 = 0.0;
            for (part, text) in &self.numbers {
                let at = (left + BAR + 6.0, frame.y(*part) + 0.36 * SMALL);
                scene.text(at, text, SMALL, Anchor::Start);
                widest = widest.max(font::width(text, SMALL));
            }
            left += BAR + 8.0 + widest + MARGIN;
        }
        let (mut y, mut end) = (frame.top + 8.0, scene.height);
        let mut all_fit = frame.top + self.height <= scene.height;
        if let Some((width, height)) = self.inside {
            let (wide, high) = (width + 2.0 * PAD, height.min(frame.height) + PAD);
            let [right, up] = corner(layout, (wide / frame.width, high / frame.height));
            let x = if right { frame.x(1.0) - wide - PAD } else { frame.x(0.0) + PAD };
            let top = if up { frame.y(1.0) + PAD } else { frame.y(0.0) - high - PAD };
            let area = vec![(x, top), (x + wide, top), (x + wide, top + high), (x, top + high)];
            scene.shapes.push(Shape::Areas { areas: vec![area], color: WHITE, opacity: 0.85 });
            (left, y, end) = (x + PAD, top + 0.5 * ROW + 0.5 * PAD, top + high);
            all_fit = height <= frame.height;
        }
        let left_of_text = left + SAMPLE + 6.0;
        for (i, (lines, color, layer)) in self.entries.iter().enumerate() {
            // The last line is for how many there are besides.
            let more = if all_fit { 0.0 } else { ROW };
            if y - 8.0 + height_of(lines) + more > end + 8.0 {
                let text = format!("+ {} more", self.entries.len() - i);
                scene.text((left_of_text, y + 0.36 * SMALL), &text, SMALL, Anchor::Start);
                break;
            }
            sample(scene, layout, layer, *color, (left, y));
            for (j, line) in lines.iter().enumerate() {
                let at = (left_of_text, y + 0.36 * SMALL + j as f64 * NEXT);
                scene.text(at, line, SMALL, Anchor::Start);
            }
            y += height_of(lines);
        }
    }
}

/// The corner of the frame in which a legend of this size, as parts of it, hides the least: whether it is at the right,
/// and whether above.
pub fn corner(layout: &Layout<'_>, (wide, high): (f64, f64)) -> [bool; 2] {
    let places: Vec<Point> = layout
        .layers
        .iter()
        .flat_map(|(_, _, form)| places(form))
        .filter(|at| holds(*at))
        .collect();
    let hidden = |[right, up]: [bool; 2]| {
        let within = |(x, y): &Point| {
            let x = if right { 1.0 - x } else { *x };
            let y = if up { 1.0 - y } else { *y };
            x <= wide && y <= high
        };
        places.iter().filter(|at| within(at)).count()
    };
    // Among equals the upper right one, where a reader looks first.
    let corners = [[true, true], [false, true], [true, false], [false, false]];
    corners.into_iter().min_by_key(|at| hidden(*at)).unwrap_or([true, true])
}

/// Places that a form covers, along lines at equal distances.
fn places(form: &MarkForm<'_>) -> Vec<Point> {
    let along = |(a, b): (Point, Point)| {
        let steps = (((b.0 - a.0).abs().max((b.1 - a.1).abs()) * STEPS).ceil()).clamp(1.0, STEPS);
        (0..=steps as usize).map(move |i| {
            let t = i as f64 / steps;
            (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1))
        })
    };
    let run = |points: &[Point]| -> Vec<Point> {
        match points {
            [lone] => vec![*lone],
            points => points.windows(2).flat_map(|w| along((w[0], w[1]))).collect(),
        }
    };
    match form {
        MarkForm::Lines(runs) => runs.iter().flat_map(|r| run(r)).collect(),
        MarkForm::Points(points) => points.clone(),
        MarkForm::Boxes(boxes) => boxes
            .iter()
            .flat_map(|(a, b)| along((*a, (a.0, b.1))).chain(along(((b.0, a.1), *b))))
            .collect(),
        MarkForm::Areas(runs) => runs
            .iter()
            .flatten()
            .flat_map(|(x, low, high)| along(((*x, *low), (*x, *high))))
            .collect(),
        MarkForm::Errors { bars, points } => {
            let bars = bars.iter().flat_map(|(x, low, high)| along(((*x, *low), (*x, *high))));
            bars.chain(points.iter().copied()).collect()
        }
        // A heat map is everywhere.
        MarkForm::Cells(_) => Vec::new(),
        MarkForm::Texts(texts) => texts.iter().map(|(at, _)| *at).collect(),
    }
}

/// A number alone.
fn number(v: f64) -> String {
    format!("{v}").replace('-', "\u{2212}")
}

/// What a layer looks like.
fn sample(scene: &mut Scene, layout: &Layout<'_>, layer: &Layer, color: Color, (x, y): (f64, f64)) {
    let dashed = layer.dashed;
    // Layers of one name and colour are one entry.
    let same = layout.layers.iter().filter(|(c, l, _)| l.name == layer.name && *c == color);
    for (_, layer, form) in same {
        let (opacity, width) = (opacity(layer), line_width(layer).min(ROW));
        match (&layer.mark, form) {
            (Mark::Line(..) | Mark::Horizontal(_) | Mark::Vertical(_), _) => {
                let lines = vec![vec![(x, y), (x + SAMPLE, y)]];
                scene.shapes.push(Shape::Lines { lines, color, width, dashed, opacity });
            }
            (Mark::Points(..) | Mark::ErrorBars(..), _) => {
                let center = (x + 0.5 * SAMPLE, y);
                let (centers, radius) = (vec![center], DISC);
                scene.shapes.push(Shape::Discs { centers, radius, color, opacity });
                if matches!(form, MarkForm::Errors { .. }) {
                    let lines = vec![vec![(center.0, y - 7.0), (center.0, y + 7.0)]];
                    let dashed = false;
                    scene.shapes.push(Shape::Lines { lines, color, width, dashed, opacity });
                }
            }
            (Mark::Band(..), _) => {
                let (a, b) = (y - 6.0, y + 6.0);
                let area = vec![(x, a), (x + SAMPLE, a), (x + SAMPLE, b), (x, b)];
                scene.shapes.push(Shape::Areas { areas: vec![area], color, opacity });
            }
            (Mark::Bars(..) | Mark::Boxes(..) | Mark::Cells(..), _) => {
                let rects = vec![[x + 4.0, y - 6.0, SAMPLE - 8.0, 12.0]];
                scene.shapes.push(Shape::Rects { rects, color, sharp: false, opacity });
            }
            (Mark::Texts(..), _) => scene.text((x + 6.0, y + 4.0), "a", SMALL, Anchor::Start),
        }
    }
}
