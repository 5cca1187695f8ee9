//! A plot as a scene of shapes: margins, axes with ticks, legend, marks.

mod axes;
pub mod clip;
mod legend;
mod marks;

pub use axes::{angle_of_names, LONGEST};
pub use legend::{corner, lines_of_name};
pub use marks::{beyond, line_width, opacity};

use crate::font;
use crate::layout::{Layout, MarkForm};
use crate::model::{Figure, Plot};
use crate::scene::{Anchor, Scene};

/// The usual size of a figure, and its sizes of letters.
const SIZE: (f64, f64) = (640.0, 400.0);
const SMALL: f64 = 12.0;
const LABEL: f64 = 13.0;
const TITLE: f64 = 15.0;

/// The largest height that a figure takes by itself.
const TALLEST: f64 = 2000.0;

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
        Plot::Plot(figure) => {
            let layout = Layout::new(figure);
            draw(&layout, usual, &around(&layout, usual, &Around::default()))
        }
        Plot::Grid { title, columns, plots } => grid(title, *columns, plots, room),
    }
}

fn grid(title: &str, columns: usize, plots: &[Plot], room: f64) -> Scene {
    let columns = columns.clamp(1, plots.len().max(1));
    let whole: f64 = if columns == 1 { SIZE.0 } else { 960.0 };
    let usual = narrowed(whole.min(room) / columns as f64);
    let figures: Vec<Option<Layout>> = plots
        .iter()
        .map(|plot| match plot {
            Plot::Plot(figure) => Some(Layout::new(figure)),
            Plot::Grid { .. } => None,
        })
        .collect();
    let rooms = aligned(&figures, columns, usual);
    let scenes: Vec<Scene> = plots
        .iter()
        .zip(figures.iter().zip(rooms))
        .map(|(plot, of)| match of {
            (Some(layout), Some(around)) => draw(layout, usual, &around),
            _ => sized(plot, usual, room),
        })
        .collect();
    let mut out = Scene::default();
    let widths: Vec<f64> = (0..columns)
        .map(|c| scenes.iter().skip(c).step_by(columns).map(|s| s.width).fold(0.0, f64::max))
        .collect();
    out.width = widths.iter().sum::<f64>().max(1.0);
    let title = match title {
        "" => Vec::new(),
        title => font::wrapped(title, TITLE, (out.width - 2.0 * MARGIN).max(TITLE), 3),
    };
    out.height = match title.len() {
        0 => 0.0,
        lines => lines as f64 * (TITLE + 4.0) - 4.0 + 2.0 * MARGIN,
    };
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
    for (i, line) in title.iter().enumerate() {
        out.title((0.5 * out.width, MARGIN + TITLE + i as f64 * (TITLE + 4.0)), line, TITLE);
    }
    out.height = out.height.max(1.0);
    out
}

/// A text that is no wider than the picture.
fn fitting(text: &str, size: f64, width: f64) -> String {
    font::shortened(text, size, (width - 2.0 * MARGIN).max(size))
}

/// The room around the frame of a figure, up to the edges of its picture, and the height of this.
#[derive(Clone, Copy, PartialEq, Default)]
struct Around {
    left: f64,
    right: f64,
    top: f64,
    below: f64,
    height: f64,
}

/// The size of a picture, or the usual one.
fn size(figure: &Figure, usual: (f64, f64)) -> (f64, f64) {
    let size = |own: usize, usual: f64| if own == 0 { usual } else { own as f64 };
    (size(figure.width, usual.0), size(figure.height, usual.1))
}

/// The lines of a title.
fn title_of(figure: &Figure, (width, height): (f64, f64)) -> Vec<String> {
    match figure.title.as_str() {
        "" => Vec::new(),
        title => {
            let lines = if height < 200.0 { 1 } else { 3 };
            font::wrapped(title, TITLE, (width - 2.0 * MARGIN).max(TITLE), lines)
        }
    }
}

/// The room that a figure needs around its frame, and no less than `least`.
fn around(layout: &Layout<'_>, usual: (f64, f64), least: &Around) -> Around {
    let figure = layout.figure;
    let (width, height) = size(figure, usual);
    let legend = legend::Legend::new(layout, (width, height));
    let top = MARGIN
        + match title_of(figure, (width, height)).len() {
            0 => 0.0,
            lines => lines as f64 * (TITLE + 4.0) + 6.0,
        };
    let top = top.max(least.top);
    // What does not say its height is as high as its legend and the names below it need.
    let grown = |height: f64, needed: f64| match figure.height {
        0 => height.max(needed.min(TALLEST).ceil()),
        _ => height,
    };
    let height = grown(height.max(grown(0.0, least.height)), top + legend.height + MARGIN);
    // What the axes need depends on their ticks, and these on the room that is left.
    let wide = (width - 2.0 * MARGIN).min(width - least.left - least.right + axes::BESIDE);
    let mut frame = PlotArea { left: MARGIN, top, width: wide, height: height - top };
    let below = axes::below(layout, &frame, width).max(least.below);
    let height = grown(height, top + below + f64::max(0.5 * usual.1, axes::tall(layout)));
    frame.height = (height - top - below).max(10.0);
    let left = axes::beside(layout, &frame, width).max(least.left);
    Around { left, right: (MARGIN + legend.width).max(least.right), top, below, height }
}

/// How often the room around aligned figures is looked at anew: it has other ticks than before.
const LOOKS: usize = 4;

/// The narrowest and the lowest frame that is aligned with others.
const FRAME: (f64, f64) = (90.0, 60.0);

/// The room around the figures of a grid: in a column the frames of all that are equally wide begin and end at one x, in a row
/// those of all that are equally high at one y.
fn aligned(
    figures: &[Option<Layout<'_>>],
    columns: usize,
    usual: (f64, f64),
) -> Vec<Option<Around>> {
    let needed = |least: &[Option<Around>]| -> Vec<Option<Around>> {
        let all = figures.iter().zip(least);
        all.map(|(figure, least)| Some(around(figure.as_ref()?, usual, least.as_ref()?))).collect()
    };
    let mut all = needed(&vec![Some(Around::default()); figures.len()]);
    for _ in 0..LOOKS {
        let together = align(figures, &all, columns, usual);
        let next = needed(&together);
        all = together;
        if next == all {
            break;
        }
        all = next;
    }
    align(figures, &all, columns, usual)
}

/// The room of each figure made that of its column and of its row.
fn align(
    figures: &[Option<Layout<'_>>],
    all: &[Option<Around>],
    columns: usize,
    usual: (f64, f64),
) -> Vec<Option<Around>> {
    let of = |i: usize| Some((figures[i].as_ref()?.figure, all[i]?));
    let mut out = all.to_vec();
    for (i, around) in out.iter_mut().enumerate() {
        let (Some((figure, own)), Some(around)) = (of(i), around) else { continue };
        let most = |others: &mut dyn Iterator<Item = Around>, part: fn(&Around) -> f64| {
            others.map(|around| part(&around)).fold(0.0, f64::max)
        };
        let width = size(figure, usual).0;
        let column: Vec<Around> = (i % columns..figures.len())
            .step_by(columns)
            .filter_map(of)
            .filter(|(other, _)| size(other, usual).0 == width)
            .map(|(_, around)| around)
            .collect();
        let left = most(&mut column.iter().copied(), |around| around.left);
        let right = most(&mut column.iter().copied(), |around| around.right);
        if width - left - right >= FRAME.0 {
            (around.left, around.right) = (left, right);
        }
        let first = i - i % columns;
        let row: Vec<(&Figure, Around)> =
            (first..(first + columns).min(figures.len())).filter_map(of).collect();
        // Figures that do not say their height have one.
        let free = row.iter().filter(|(other, _)| other.height == 0).map(|(_, around)| *around);
        let free = most(&mut free.into_iter(), |around| around.height);
        let height = |figure: &Figure, own: f64| if figure.height == 0 { free } else { own };
        around.height = height(figure, own.height);
        let equal = row.iter().filter(|(other, o)| height(other, o.height) == around.height);
        let equal: Vec<Around> = equal.map(|(_, around)| *around).collect();
        let top = most(&mut equal.iter().copied(), |around| around.top);
        let below = most(&mut equal.iter().copied(), |around| around.below);
        if around.height - top - below >= FRAME.1 {
            (around.top, around.below) = (top, below);
        }
    }
    out
}

/// The picture of a figure with this room around its frame.
fn draw(layout: &Layout<'_>, usual: (f64, f64), around: &Around) -> Scene {
    let figure = layout.figure;
    let (width, usual_height) = size(figure, usual);
    let Around { left, right, top, below, height } = *around;
    let legend = legend::Legend::new(layout, (width, usual_height));
    let title = title_of(figure, (width, usual_height));
    let widest = title.iter().map(|line| font::width(line, TITLE)).fold(0.0, f64::max);
    let mut scene = Scene { width, height, shapes: Vec::new() };
    let mut frame = PlotArea {
        left,
        top,
        width: (width - left - right).max(10.0),
        height: (height - top - below).max(10.0),
    };
    if let Some(aspect) = layout.aspect() {
        let (wide, high) = (frame.width, frame.height);
        frame.width = wide.min(aspect * high).max(1.0);
        frame.height = high.min(wide / aspect).max(1.0);
        // A picture that does not say its size is as large as the frame needs.
        if figure.width == 0 {
            scene.width = (width - (wide - frame.width)).max((widest + 2.0 * MARGIN).min(width));
        }
        match figure.height {
            0 => scene.height -= high - frame.height,
            _ => frame.top += 0.5 * (high - frame.height),
        }
    }
    axes::grid(&mut scene, layout, &frame);
    marks::draw(&mut scene, layout, &frame);
    axes::draw(&mut scene, layout, &frame);
    legend.draw(&mut scene, layout, &frame);
    let width = scene.width;
    let half = 0.5 * widest + MARGIN;
    let middle = frame.x(0.5).clamp(half.min(0.5 * width), (width - half).max(0.5 * width));
    for (i, line) in title.iter().enumerate() {
        scene.title((middle, MARGIN + TITLE - 2.0 + i as f64 * (TITLE + 4.0)), line, TITLE);
    }
    if let Some(text) = notice(layout) {
        scene.text((frame.x(0.5), frame.y(0.5)), text, LABEL, Anchor::Middle);
    }
    scene
}

/// The height that a figure takes for its legend and the names below it where it does not say its own.
pub fn height(layout: &Layout<'_>, (width, height): (f64, f64)) -> f64 {
    let legend = legend::Legend::new(layout, (width, height));
    let frame = PlotArea { left: MARGIN, top: MARGIN, width: width - 2.0 * MARGIN, height };
    let below = axes::below(layout, &frame, width);
    let needed = (legend.height + 4.0 * MARGIN)
        .max(below + f64::max(0.5 * height, axes::tall(layout)) + 2.0 * MARGIN);
    height.max(needed.min(TALLEST).ceil())
}

/// The notice in a frame that shows no data.
pub fn notice(layout: &Layout<'_>) -> Option<&'static str> {
    match layout.empty {
        true if layout.figure.layers.is_empty() => Some("nothing to draw"),
        true => Some("no data to draw"),
        false => out_of_range(layout).then_some("no data in this range"),
    }
}

/// Whether data has places, but all of them outside of the ranges that are asked for.
pub fn out_of_range(layout: &Layout<'_>) -> bool {
    let (x, y) = (&layout.figure.x, &layout.figure.y);
    if [x.low, x.high, y.low, y.high].iter().all(|end| end.is_nan()) {
        return false;
    }
    // Lines across are no data, unless there is nothing else.
    let data = |rules: bool| {
        let layers =
            layout.layers.iter().filter(move |(_, layer, _)| marks::is_rule(layer) == rules);
        layers.map(|(.., form)| form).filter(|form| !form.is_empty())
    };
    let rules = data(false).next().is_none();
    data(rules).next().is_some() && !data(rules).any(shows)
}

/// The number of points of a form outside of the ranges that are asked for, and of those that have a place at all. Lines
/// do not count: a line that goes on beyond the range is seen to do so.
pub fn points_outside(form: &MarkForm<'_>) -> (usize, usize) {
    let of = |points: &[(f64, f64)]| {
        (points.iter().filter(|at| !clip::holds(**at)).count(), points.len())
    };
    match form {
        MarkForm::Points(points) | MarkForm::Errors { points, .. } => of(points),
        MarkForm::Texts(texts) => of(&texts.iter().map(|(at, _)| *at).collect::<Vec<_>>()),
        MarkForm::Lines(_) | MarkForm::Boxes(_) | MarkForm::Areas(_) | MarkForm::Cells(_) => (0, 0),
    }
}

/// Whether a part of a form is within the unit square.
fn shows(form: &MarkForm<'_>) -> bool {
    let line = |run: &[(f64, f64)]| !clip::line(run).is_empty();
    match form {
        MarkForm::Lines(runs) => runs.iter().any(|run| match run[..] {
            [lone] => clip::holds(lone),
            _ => line(run),
        }),
        MarkForm::Points(points) => points.iter().any(|at| clip::holds(*at)),
        MarkForm::Boxes(boxes) => boxes.iter().any(|(a, b)| clip::rect(*a, *b).is_some()),
        MarkForm::Areas(runs) => runs.iter().any(|run| clip::area(&marks::outline(run)).len() > 2),
        MarkForm::Errors { bars, points } => {
            points.iter().any(|at| clip::holds(*at))
                || bars.iter().any(|(x, low, high)| line(&[(*x, *low), (*x, *high)]))
        }
        MarkForm::Cells(cells) => cells.iter().any(|(a, b, _)| clip::rect(*a, *b).is_some()),
        MarkForm::Texts(texts) => texts.iter().any(|(at, _)| clip::holds(*at)),
    }
}
