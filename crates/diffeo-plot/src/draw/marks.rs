//! The marks of a figure as shapes.

use super::clip::{area, holds, line, rect, thinned};
use super::{PlotArea, MARGIN, SMALL};
use crate::color::{viridis, Color};
use crate::font;
use crate::layout::{Layout, MarkForm};
use crate::model::{Layer, Mark};
use crate::scene::{Anchor, Point, Scene, Shape};
use std::collections::{BTreeMap, HashMap};

pub const DISC: f64 = 3.2;

/// How much a layer hides what is below it. Each disc has this opacity, and each line, with all of its parts.
pub fn opacity(layer: &Layer) -> f64 {
    let usual = match layer.mark {
        Mark::Band(..) => 0.22,
        _ => 1.0,
    };
    layer.opacity.filter(|v| (0.0..=1.0).contains(v)).unwrap_or(usual)
}

/// How wide the lines of a layer are.
pub fn line_width(layer: &Layer) -> f64 {
    let usual = match layer.mark {
        Mark::Horizontal(_) | Mark::Vertical(_) => 1.2,
        Mark::ErrorBars(..) => 1.3,
        _ => 2.0,
    };
    // Thinner ones than can be seen are written as nothing.
    layer.line_width.filter(|v| *v > 0.0 && v.is_finite()).map_or(usual, |v| v.max(0.01))
}

pub fn draw(scene: &mut Scene, layout: &Layout<'_>, frame: &PlotArea) {
    let pixel = |(x, y): Point| (frame.x(x), frame.y(y));
    for (color, layer, form) in &layout.layers {
        let (color, opacity, width) = (*color, opacity(layer), line_width(layer));
        match form {
            MarkForm::Lines(runs) => {
                let lone: Vec<Point> = runs
                    .iter()
                    .filter(|run| run.len() == 1 && holds(run[0]))
                    .map(|run| pixel(run[0]))
                    .collect();
                let lines: Vec<Vec<Point>> = runs
                    .iter()
                    .flat_map(|run| line(run))
                    .map(|run| thinned(&run.into_iter().map(pixel).collect::<Vec<_>>()))
                    .collect();
                if !lines.is_empty() {
                    let dashed = layer.dashed;
                    scene.shapes.push(Shape::Lines { lines, color, width, dashed, opacity });
                }
                // A point between gaps is seen, too.
                discs(scene, lone.into_iter(), 0.3 * DISC * width, color, opacity);
            }
            MarkForm::Points(points) => {
                let inside = points.iter().filter(|p| holds(**p)).map(|p| pixel(*p));
                discs(scene, inside, DISC, color, opacity);
            }
            MarkForm::Boxes(boxes) => {
                let rects = boxes.iter().filter_map(|(a, b)| rect(*a, *b)).map(|(low, high)| {
                    let ((left, bottom), (right, top)) = (pixel(low), pixel(high));
                    // A thin line of white between neighbours
                    let gap = if right - left > 4.0 { 0.5 } else { 0.0 };
                    [left + gap, top, right - left - 2.0 * gap, bottom - top]
                });
                let rects = rects.collect();
                scene.shapes.push(Shape::Rects { rects, color, sharp: false, opacity });
            }
            MarkForm::Areas(runs) => {
                let areas = runs.iter().map(|run| outline(run)).map(|corners| area(&corners));
                let areas: Vec<Vec<Point>> = areas
                    .filter(|corners| corners.len() > 2)
                    .map(|corners| corners.into_iter().map(pixel).collect())
                    .collect();
                if !areas.is_empty() {
                    scene.shapes.push(Shape::Areas { areas, color, opacity });
                }
            }
            MarkForm::Errors { bars, points } => {
                let mut lines = Vec::new();
                for (x, low, high) in bars {
                    let ends = [*low, *high].map(|y| (frame.x(*x), frame.y(y)));
                    lines.extend(
                        line(&[(*x, *low), (*x, *high)])
                            .into_iter()
                            .map(|run| run.into_iter().map(pixel).collect::<Vec<_>>()),
                    );
                    for ((px, py), y) in ends.into_iter().zip([*low, *high]) {
                        if holds((*x, y)) {
                            lines.push(vec![(px - 3.0, py), (px + 3.0, py)]);
                        }
                    }
                }
                if !lines.is_empty() {
                    let dashed = false;
                    scene.shapes.push(Shape::Lines { lines, color, width, dashed, opacity });
                }
                let inside = points.iter().filter(|p| holds(**p)).map(|p| pixel(*p));
                discs(scene, inside, DISC, color, opacity);
            }
            MarkForm::Cells(cells) => {
                let mut by_level: BTreeMap<usize, Vec<[f64; 4]>> = BTreeMap::new();
                for (a, b, level) in cells {
                    let Some((low, high)) = rect(*a, *b) else { continue };
                    let ((left, bottom), (right, top)) = (pixel(low), pixel(high));
                    let rects = by_level.entry(*level).or_default();
                    match rects.last_mut() {
                        // A row of cells of one colour is one rectangle.
                        Some([x, y, w, h])
                            if (*y - top).abs() < 1e-6
                                && (*h - (bottom - top)).abs() < 1e-6
                                && (*x + *w - left).abs() < 1e-6 =>
                        {
                            *w = right - *x;
                        }
                        _ => rects.push([left, top, right - left, bottom - top]),
                    }
                }
                for (level, rects) in by_level {
                    let color = viridis(level);
                    scene.shapes.push(Shape::Rects { rects, color, sharp: true, opacity });
                }
            }
            MarkForm::Texts(texts) => {
                for (at, text) in texts.iter().filter(|(at, _)| holds(*at)) {
                    let (x, y) = pixel(*at);
                    let y = y + 0.36 * SMALL;
                    match beyond(text, x - frame.left, frame.width) {
                        false => scene.text((x + 6.0, y), text, SMALL, Anchor::Start),
                        true => scene.text((x - 6.0, y), text, SMALL, Anchor::End),
                    }
                    if let Some(Shape::Text { color: ink, opacity: dense, .. }) =
                        scene.shapes.last_mut()
                    {
                        (*ink, *dense) = (color, opacity);
                    }
                }
            }
        }
    }
}

/// Whether a text beside a place ends beyond an axis of this width, and has room on the other side.
pub fn beyond(text: &str, x: f64, width: f64) -> bool {
    let needed = font::width(text, SMALL) + 6.0;
    x + needed > width + MARGIN && needed <= x + MARGIN
}

/// Whether a layer is a line across the plot.
pub fn is_rule(layer: &Layer) -> bool {
    matches!(layer.mark, Mark::Horizontal(_) | Mark::Vertical(_))
}

/// Discs, one for all of the same half pixel, which is as dense as these are together.
fn discs(
    scene: &mut Scene,
    places: impl Iterator<Item = Point>,
    radius: f64,
    color: Color,
    opacity: f64,
) {
    let mut known: HashMap<(i64, i64), usize> = HashMap::new();
    let mut seen: Vec<(Point, i32)> = Vec::new();
    for (x, y) in places {
        let half_pixel = ((x * 2.0).round() as i64, (y * 2.0).round() as i64);
        let at = *known.entry(half_pixel).or_insert(seen.len());
        match seen.get_mut(at) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => seen.push(((x, y), 1)),
        }
    }
    // Of one colour, discs may be drawn in any order.
    let mut by_count: BTreeMap<i32, Vec<Point>> = BTreeMap::new();
    for (place, count) in seen {
        by_count.entry(if opacity < 1.0 { count } else { 1 }).or_default().push(place);
    }
    for (count, centers) in by_count {
        let opacity = 1.0 - (1.0 - opacity).powi(count);
        scene.shapes.push(Shape::Discs { centers, radius, color, opacity });
    }
}

/// The corners of an area: along its lower ends, back along its upper ones.
pub fn outline(run: &[(f64, f64, f64)]) -> Vec<Point> {
    let low = run.iter().map(|(x, low, _)| (*x, *low));
    low.chain(run.iter().rev().map(|(x, _, high)| (*x, *high))).collect()
}
