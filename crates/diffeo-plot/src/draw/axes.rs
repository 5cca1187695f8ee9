//! The axes: lines of the grid, ticks with numbers or names, labels.

use super::{fitting, PlotArea, LABEL, MARGIN, SMALL};
use crate::color::{AXIS, FAINT};
use crate::font;
use crate::layout::Layout;
use crate::scene::{Anchor, Scene};

/// Between a number and its axis.
const GAP: f64 = 7.0;

/// How far ticks are apart, about.
const APART: (f64, f64) = (80.0, 48.0);

/// The angle of names that are too long to lie side by side, and the widest that is shown of them; the same of names
/// that are longer than that.
const SLANT: f64 = -35.0;
const LONG: f64 = 130.0;
const STEEP: f64 = -60.0;
pub const LONGEST: f64 = 360.0;

/// The places and texts along the x axis, and the angle of these.
struct Bottom {
    ticks: Vec<(f64, String)>,
    angle: f64,
}

fn bottom(layout: &Layout<'_>, width: f64) -> Bottom {
    let names = layout.names();
    if names.is_empty() {
        let mut wanted = ((width / APART.0) as usize).clamp(2, 12);
        loop {
            let ticks = layout.x.ticks(wanted);
            let all: f64 = ticks.iter().map(|(_, text)| font::width(text, SMALL) + 12.0).sum();
            let apart = !layout.x.dates || apart(&ticks, width);
            if all <= width && apart || wanted <= 2 {
                return Bottom { ticks, angle: 0.0 };
            }
            wanted -= 1;
        }
    }
    let room = width / names.len() as f64;
    let widest = names.iter().map(|(_, name)| font::width(name, SMALL)).fold(0.0, f64::max);
    // In a picture of a given height the names take less than a half, and in a narrow one they leave room beside them.
    let longest = match layout.figure.height {
        0 => LONGEST.min(width),
        height => (0.46 * height as f64).min(width),
    };
    let longest = longest.clamp(LONG, LONGEST);
    let (angle, most) = match widest {
        _ if widest + 8.0 <= room => (0.0, widest),
        _ if widest <= LONG || longest == LONG => (SLANT, LONG),
        _ => (STEEP, longest),
    };
    let short = |name: &str| font::shortened(name, SMALL, most);
    // Of very many names some are shown.
    let every = ((1.4 * SMALL / room).ceil() as usize).max(1);
    let ticks = names.iter().step_by(every).map(|(at, name)| (*at, short(name)));
    Bottom { ticks: ticks.collect(), angle }
}

/// Whether texts do not touch one another; those at the ends move into the picture, of which the axis takes less than all.
fn apart(ticks: &[(f64, String)], width: f64) -> bool {
    let half = |text: &str| 0.5 * font::width(text, SMALL);
    let place = |(at, text): &(f64, String)| {
        let at = at * width;
        (at.max(half(text) - 2.0 * MARGIN).min(width + MARGIN - half(text)), half(text))
    };
    let places: Vec<(f64, f64)> = ticks.iter().map(place).collect();
    places.windows(2).all(|pair| (pair[1].0 - pair[0].0).abs() >= pair[0].1 + pair[1].1 + 8.0)
}

/// The angle of the names of bars on an axis of this width.
pub fn angle_of_names(layout: &Layout<'_>, width: f64) -> f64 {
    bottom(layout, width.max(10.0)).angle
}

/// The part of the picture's width that names beside the y axis take at most.
const SIDE: f64 = 0.42;

/// The height of a name beside the y axis.
const LINE: f64 = 1.5 * SMALL;

/// The ticks of the y axis in a picture of this width.
fn left(layout: &Layout<'_>, height: f64, width: f64) -> Vec<(f64, String)> {
    let ticks = layout.ticks(false, ((height / APART.1) as usize).clamp(2, 10));
    if layout.figure.y.names.is_empty() {
        return ticks;
    }
    // Of names that have no room above one another some are shown.
    let every = (ticks.len() as f64 * LINE / height.max(LINE)).ceil().max(1.0) as usize;
    let short = |(at, name): (f64, String)| (at, font::shortened(&name, SMALL, SIDE * width));
    ticks.into_iter().step_by(every).map(short).collect()
}

/// The height that the names beside the y axis need.
pub fn tall(layout: &Layout<'_>) -> f64 {
    layout.ticks(false, 0).len() as f64 * if layout.figure.y.names.is_empty() { 0.0 } else { LINE }
}

/// The room beside a frame, about, where its height is not known yet.
pub const BESIDE: f64 = 60.0;

/// The height that the x axis needs below the frame.
pub fn below(layout: &Layout<'_>, frame: &PlotArea, width: f64) -> f64 {
    // About as wide as the frame will be.
    let bottom = bottom(layout, (frame.width - BESIDE).clamp(10.0, width));
    let widest = bottom.ticks.iter().map(|(_, text)| font::width(text, SMALL)).fold(0.0, f64::max);
    let texts = -bottom.angle.to_radians().sin() * widest + SMALL;
    let label = if layout.figure.x.label.is_empty() { 0.0 } else { LABEL + 8.0 };
    GAP + texts + label + MARGIN
}

/// Where the frame begins beside the y axis.
pub fn beside(layout: &Layout<'_>, frame: &PlotArea, width: f64) -> f64 {
    let ticks = left(layout, frame.height, width);
    let widest = ticks.iter().map(|(_, text)| font::width(text, SMALL)).fold(0.0, f64::max);
    let label = if layout.figure.y.label.is_empty() { 0.0 } else { LABEL + 8.0 };
    let left = MARGIN + label + widest + GAP;
    // Slanted names reach to the left.
    let bottom = bottom(layout, frame.width - left);
    let slanted = bottom.ticks.iter().filter(|_| bottom.angle != 0.0);
    let needed = slanted.map(|(at, text)| {
        bottom.angle.to_radians().cos() * font::width(text, SMALL) - at * (frame.width - left)
    });
    needed.fold(left, f64::max)
}

/// The lines behind the marks.
pub fn grid(scene: &mut Scene, layout: &Layout<'_>, frame: &PlotArea) {
    if layout.categories.is_empty() {
        for (at, _) in bottom(layout, frame.width).ticks {
            scene.line((frame.x(at), frame.y(0.0)), (frame.x(at), frame.y(1.0)), FAINT, 1.0);
        }
    }
    for (at, _) in left(layout, frame.height, scene.width) {
        scene.line((frame.x(0.0), frame.y(at)), (frame.x(1.0), frame.y(at)), FAINT, 1.0);
    }
}

/// The axes themselves, over the marks.
pub fn draw(scene: &mut Scene, layout: &Layout<'_>, frame: &PlotArea) {
    let (x, y) = (&layout.figure.x, &layout.figure.y);
    let (low, end) = ((frame.x(0.0), frame.y(0.0)), (frame.x(1.0), frame.y(1.0)));
    scene.line(low, (end.0, low.1), AXIS, 1.0);
    scene.line(low, (low.0, end.1), AXIS, 1.0);
    let base = layout.y.base();
    if !layout.categories.is_empty() && base > 0.0 && base < 1.0 {
        scene.line((low.0, frame.y(base)), (end.0, frame.y(base)), AXIS, 1.0);
    }
    let bottom = bottom(layout, frame.width);
    for (at, text) in &bottom.ticks {
        let at = frame.x(*at);
        scene.line((at, low.1), (at, low.1 + 4.0), AXIS, 1.0);
        match bottom.angle {
            0.0 => {
                // Within the picture
                let half = 0.5 * font::width(text, SMALL) + 2.0;
                let at = at.min(scene.width - half).max(half);
                scene.text((at, low.1 + GAP + SMALL - 1.0), text, SMALL, Anchor::Middle);
            }
            angle => {
                let place = (at + 4.0, low.1 + GAP + 0.7 * SMALL);
                scene.turned(place, text, SMALL, Anchor::End, angle);
            }
        }
    }
    for (at, text) in left(layout, frame.height, scene.width) {
        let at = frame.y(at);
        scene.line((low.0 - 4.0, at), (low.0, at), AXIS, 1.0);
        scene.text((low.0 - GAP, at + 0.36 * SMALL), &text, SMALL, Anchor::End);
    }
    if !x.label.is_empty() {
        let text = fitting(&x.label, LABEL, scene.width);
        let half = 0.5 * font::width(&text, LABEL) + 4.0;
        let middle = frame.x(0.5).clamp(half, (scene.width - half).max(half));
        let at = (middle, scene.height - MARGIN + 1.0);
        scene.text(at, &text, LABEL, Anchor::Middle);
    }
    if !y.label.is_empty() {
        let text = fitting(&y.label, LABEL, (frame.height + 60.0).min(scene.height));
        let half = 0.5 * font::width(&text, LABEL) + 4.0;
        let middle = frame.y(0.5).clamp(half, (scene.height - half).max(half));
        scene.turned((MARGIN + LABEL - 4.0, middle), &text, LABEL, Anchor::Middle, -90.0);
    }
}
