//! A plot as a scene of shapes: margins, axes with ticks, legend, marks.

mod axes;
pub mod clip;
mod legend;
mod marks;

pub use axes::slanted;

use crate::font;
use crate::layout::Layout;
use crate::model::{Figure, Plot};
use crate::scene::{Anchor, Scene};

/// The usual size of a figure, and its sizes of letters.
const SIZE: (f64, f64) = (640.0, 400.0);
const SMALL: f64 = 12.0;
const LABEL: f64 = 13.0;
const TITLE: f64 = 15.0;

/// Room around a figure.
const MARGIN: f64 = 14.0;

/// The part of the picture between the axes, in pixels.
#[derive(Clone, Copy)]
struct PlotArea {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl PlotArea {
    fn x(&self, part: f64) -> f64 {
        self.left + part * self.width
    }

    fn y(&self, part: f64) -> f64 {
        self.top + (1.0 - part) * self.height
    }
}

/// The least width of a figure that does not say its own.
const LEAST: f64 = 300.0;

/// The picture of a plot, no wider than `room` where the plot does not say its size; a figure has at least [`LEAST`].
pub fn scene(plot: &Plot, room: f64) -> Scene {
    sized(plot, narrowed(SIZE.0.min(room)), room)
}

/// The usual size of this width.
fn narrowed(width: f64) -> (f64, f64) {
    let width = width.max(LEAST).round();
    (width, (0.7 * width).min(SIZE.1).round())
}

/// The picture, of this size where the plot does not say its own.
fn sized(plot: &Plot, usual: (f64, f64), room: f64) -> Scene {
    match plot {
        Plot::Plot(figure) => draw(figure, usual),
        Plot::Grid { title, columns, plots } => grid(title, *columns, plots, room),
    }
}

fn grid(title: &str, columns: usize, plots: &[Plot], room: f64) -> Scene {
    let columns = columns.clamp(1, plots.len().max(1));
    let whole: f64 = if columns == 1 { SIZE.0 } else { 960.0 };
    let usual = narrowed(whole.min(room) / columns as f64);
    let scenes: Vec<Scene> = plots.iter().map(|plot| sized(plot, usual, room)).collect();
    let mut out = Scene::default();
    let top = if title.is_empty() { 0.0 } else { TITLE + 2.0 * MARGIN };
    let widths: Vec<f64> = (0..columns)
        .map(|c| scenes.iter().skip(c).step_by(columns).map(|s| s.width).fold(0.0, f64::max))
        .collect();
    out.width = widths.iter().sum::<f64>().max(1.0);
    out.height = top;
    let mut scenes = scenes.into_iter();
    loop {
        let row: Vec<Scene> = scenes.by_ref().take(columns).collect();
        if row.is_empty() {
            break;
        }
        let height = row.iter().map(|s| s.height).fold(0.0, f64::max);
        let mut x = 0.0;
        for (scene, width) in row.into_iter().zip(&widths) {
            out.place(scene, (x, out.height));
            x += width;
        }
        out.height += height;
    }
    if !title.is_empty() {
        out.title((0.5 * out.width, MARGIN + TITLE), &fitting(title, TITLE, out.width), TITLE);
    }
    out.height = out.height.max(1.0);
    out
}

/// A text that is no wider than the picture.
fn fitting(text: &str, size: f64, width: f64) -> String {
    font::shortened(text, size, (width - 2.0 * MARGIN).max(size))
}

fn draw(figure: &Figure, usual: (f64, f64)) -> Scene {
    let size = |own: usize, usual: f64| if own == 0 { usual } else { own as f64 };
    let (width, height) = (size(figure.width, usual.0), size(figure.height, usual.1));
    let layout = Layout::new(figure);
    let mut scene = Scene { width, height, shapes: Vec::new() };
    let legend = legend::Legend::new(&layout, (width, height));
    let top = MARGIN + if figure.title.is_empty() { 0.0 } else { TITLE + 10.0 };
    // What the axes need depends on their ticks, and these on the room that is left.
    let mut frame =
        PlotArea { left: MARGIN, top, width: width - 2.0 * MARGIN, height: height - top };
    let below = axes::below(&layout, &frame, width);
    frame.height = (height - top - below).max(10.0);
    let beside = axes::beside(&layout, &frame);
    frame.left = beside;
    frame.width = (width - beside - MARGIN - legend.width).max(10.0);
    axes::grid(&mut scene, &layout, &frame);
    marks::draw(&mut scene, &layout, &frame);
    axes::draw(&mut scene, &layout, &frame);
    legend.draw(&mut scene, &layout, &frame);
    if !figure.title.is_empty() {
        let text = fitting(&figure.title, TITLE, width);
        let half = 0.5 * font::width(&text, TITLE) + MARGIN;
        let middle = frame.x(0.5).clamp(half.min(0.5 * width), (width - half).max(0.5 * width));
        scene.title((middle, MARGIN + TITLE - 2.0), &text, TITLE);
    }
    if layout.empty {
        scene.text((frame.x(0.5), frame.y(0.5)), layout.said(), LABEL, Anchor::Middle);
    }
    scene
}
