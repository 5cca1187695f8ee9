//! A picture as shapes, in pixels from the upper left corner: what SVG and PNG are written from.

use crate::color::Color;

/// A place.
pub type Point = (f64, f64);

/// The side of a text that its place is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A shape; later ones are above.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// Lines through points, each at least two.
    Lines { lines: Vec<Vec<Point>>, color: Color, width: f64, dashed: bool },
    /// Areas with these corners.
    Areas { areas: Vec<Vec<Point>>, color: Color, opacity: f64 },
    /// Rectangles: left, top, width, height. Sharp ones meet without a seam.
    Rects { rects: Vec<[f64; 4]>, color: Color, sharp: bool },
    /// Discs.
    Discs { centers: Vec<Point>, radius: f64, color: Color },
    /// A text on its base line, turned by so many degrees to the right.
    Text {
        at: Point,
        text: String,
        size: f64,
        anchor: Anchor,
        color: Color,
        bold: bool,
        turned: f64,
    },
}

/// A picture on white.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

impl Scene {
    pub fn line(&mut self, from: Point, to: Point, color: Color, width: f64) {
        let lines = vec![vec![from, to]];
        self.shapes.push(Shape::Lines { lines, color, width, dashed: false });
    }

    pub fn text(&mut self, at: Point, text: &str, size: f64, anchor: Anchor) {
        let text = text.to_string();
        let color = crate::color::INK;
        self.shapes.push(Shape::Text { at, text, size, anchor, color, bold: false, turned: 0.0 });
    }

    /// A title: bold, in the middle.
    pub fn title(&mut self, at: Point, text: &str, size: f64) {
        self.text(at, text, size, Anchor::Middle);
        if let Some(Shape::Text { bold, .. }) = self.shapes.last_mut() {
            *bold = true;
        }
    }

    /// A text that is turned.
    pub fn turned(&mut self, at: Point, text: &str, size: f64, anchor: Anchor, degrees: f64) {
        self.text(at, text, size, anchor);
        if let Some(Shape::Text { turned, .. }) = self.shapes.last_mut() {
            *turned = degrees;
        }
    }

    /// Puts another picture into this one.
    pub fn place(&mut self, other: Scene, (dx, dy): Point) {
        let moved = |(x, y): Point| (x + dx, y + dy);
        let all = |lines: Vec<Vec<Point>>| {
            lines.into_iter().map(|line| line.into_iter().map(moved).collect()).collect()
        };
        self.shapes.extend(other.shapes.into_iter().map(|shape| match shape {
            Shape::Lines { lines, color, width, dashed } => {
                Shape::Lines { lines: all(lines), color, width, dashed }
            }
            Shape::Areas { areas, color, opacity } => {
                Shape::Areas { areas: all(areas), color, opacity }
            }
            Shape::Rects { rects, color, sharp } => {
                let rects = rects.into_iter().map(|[x, y, w, h]| [x + dx, y + dy, w, h]).collect();
                Shape::Rects { rects, color, sharp }
            }
            Shape::Discs { centers, radius, color } => {
                Shape::Discs { centers: centers.into_iter().map(moved).collect(), radius, color }
            }
            Shape::Text { at, text, size, anchor, color, bold, turned } => {
                Shape::Text { at: moved(at), text, size, anchor, color, bold, turned }
            }
        }));
    }
}
