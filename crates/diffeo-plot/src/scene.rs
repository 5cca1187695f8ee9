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
    Lines { lines: Vec<Vec<Point>>, color: Color, width: f64, dashed: bool, opacity: f64 },
    /// Areas with these corners.
    Areas { areas: Vec<Vec<Point>>, color: Color, opacity: f64 },
    /// Rectangles: left, top, width, height. Sharp ones meet without a seam.
    Rects { rects: Vec<[f64; 4]>, color: Color, sharp: bool, opacity: f64 },
    /// Discs, each with this opacity: where they overlap they are denser.
    Discs { centers: Vec<Point>, radius: f64, color: Color, opacity: f64 },
    /// A text on its base line, turned by so many degrees to the right.
    Text {
        at: Point,
        text: String,
        size: f64,
        anchor: Anchor,
        color: Color,
        bold: bool,
        turned: f64,
        opacity: f64,
    },
}

/// The dashes and gaps of a line of this width.
pub fn dashes(width: f64) -> [f64; 2] {
    [3.0, 2.0].map(|part| part * width.max(2.0))
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
        self.shapes.push(Shape::Lines { lines, color, width, dashed: false, opacity: 1.0 });
    }

    pub fn text(&mut self, at: Point, text: &str, size: f64, anchor: Anchor) {
        let text = text.to_string();
        let color = crate::color::INK;
        let (bold, turned, opacity) = (false, 0.0, 1.0);
        self.shapes.push(Shape::Text { at, text, size, anchor, color, bold, turned, opacity });
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
        let moved = |(x, y): &mut Point| (*x, *y) = (*x + dx, *y + dy);
        for mut shape in other.shapes {
            match &mut shape {
                Shape::Lines { lines: all, .. } | Shape::Areas { areas: all, .. } => {
                    all.iter_mut().flatten().for_each(moved);
                }
                Shape::Rects { rects, .. } => {
                    rects.iter_mut().for_each(|[x, y, ..]| (*x, *y) = (*x + dx, *y + dy));
                }
                Shape::Discs { centers, .. } => centers.iter_mut().for_each(moved),
                Shape::Text { at, .. } => moved(at),
            }
            self.shapes.push(shape);
        }
    }
}
