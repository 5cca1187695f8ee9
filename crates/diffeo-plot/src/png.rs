//! A plot as pixels, by tiny-skia: two for each of the plot's, for screens with many of them.

use crate::color::Color;
use crate::draw::scene;
use crate::font;
use crate::model::Plot;
use crate::scene::{dashes, Anchor, Point, Scene, Shape};
use flate2::{write::ZlibEncoder, Compression, Crc};
use std::io::{self, Write};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};

/// Pixels for one of the plot's.
const SCALE: f32 = 2.0;

/// The most pixels that are drawn: four bytes each.
const MOST: f64 = 1e8;

/// The picture has more pixels than are drawn: a hundred million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// The picture of a plot as the bytes of a PNG file.
///
/// # Errors
/// It is too large.
pub fn png(plot: &Plot) -> Result<Vec<u8>, TooLarge> {
    let Scene { width, height, shapes } = scene(plot, f64::INFINITY);
    let pixels = |x: f64| (x as f32 * SCALE).ceil() as u32;
    if width * height * f64::from(SCALE * SCALE) > MOST {
        return Err(TooLarge);
    }
    let mut picture = Pixmap::new(pixels(width), pixels(height)).ok_or(TooLarge)?;
    picture.fill(tiny_skia::Color::WHITE);
    for shape in &shapes {
        draw(&mut picture, shape);
    }
    encode(&picture).map_err(|_| TooLarge)
}

/// A picture without transparent parts as a PNG file (PNG Specification, W3C, third edition).
fn encode(picture: &Pixmap) -> io::Result<Vec<u8>> {
    let (width, height) = (picture.width(), picture.height());
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in picture.data().chunks(4 * width as usize) {
        // As it is, without a filter
        let mut bytes = vec![0];
        bytes.extend(row.chunks(4).flat_map(|pixel| pixel[..3].to_vec()));
        packed.write_all(&bytes)?;
    }
    // Eight bits for each of red, green and blue
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, 2, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in [(b"IHDR", header), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())] {
        let length = u32::try_from(data.len()).map_err(io::Error::other)?;
        let mut sum = Crc::new();
        sum.update(name);
        sum.update(&data);
        out.extend(length.to_be_bytes());
        out.extend(name);
        out.extend(data);
        out.extend(sum.sum().to_be_bytes());
    }
    Ok(out)
}

fn paint(Color(r, g, b): Color, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    paint
}

fn path(lines: &[Vec<Point>], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for line in lines {
        for (i, (x, y)) in line.iter().enumerate() {
            match i {
                0 => builder.move_to(*x as f32, *y as f32),
                _ => builder.line_to(*x as f32, *y as f32),
            }
        }
        if closed {
            builder.close();
        }
    }
    builder.finish()
}

fn draw(picture: &mut Pixmap, shape: &Shape) {
    let scaled = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Lines { lines, color, width, dashed, opacity } => {
            let stroke = Stroke {
                width: *width as f32,
                line_join: LineJoin::Round,
                line_cap: LineCap::Butt,
                dash: match dashed {
                    true => StrokeDash::new(dashes(*width).map(|v| v as f32).to_vec(), 0.0),
                    false => None,
                },
                ..Stroke::default()
            };
            if let Some(path) = path(lines, false) {
                picture.stroke_path(&path, &paint(*color, *opacity), &stroke, scaled, None);
            }
        }
        Shape::Areas { areas, color, opacity } => {
            if let Some(path) = path(areas, true) {
                let paint = paint(*color, *opacity);
                picture.fill_path(&path, &paint, FillRule::Winding, scaled, None);
            }
        }
        Shape::Rects { rects, color, sharp, opacity } => {
            let mut paint = paint(*color, *opacity);
            paint.anti_alias = !sharp;
            for [x, y, w, h] in rects {
                if let Some(rect) = Rect::from_xywh(*x as f32, *y as f32, *w as f32, *h as f32) {
                    picture.fill_rect(rect, &paint, scaled, None);
                }
            }
        }
        Shape::Discs { centers, radius, color, opacity } => {
            let paint = paint(*color, *opacity);
            for (x, y) in centers {
                if let Some(disc) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                    picture.fill_path(&disc, &paint, FillRule::Winding, scaled, None);
                }
            }
        }
        Shape::Text { at, text, size, anchor, color, bold, turned, opacity } => {
            let width = font::width(text, *size);
            let before = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => 0.5 * width,
                Anchor::End => width,
            };
            let Some(outline) = outline(text, *size, -before) else { return };
            let place = Transform::from_rotate(*turned as f32)
                .post_translate(at.0 as f32, at.1 as f32)
                .post_scale(SCALE, SCALE);
            let paint = paint(*color, *opacity);
            picture.fill_path(&outline, &paint, FillRule::Winding, place, None);
            if *bold {
                // The font has one weight.
                let stroke = Stroke { width: 0.045 * *size as f32, ..Stroke::default() };
                picture.stroke_path(&outline, &paint, &stroke, place, None);
            }
        }
    }
}

/// The letters of a plot that the font lacks, each once: a PNG has boxes for them.
pub fn letters_without_form(plot: &Plot) -> String {
    let mut out = String::new();
    for shape in scene(plot, f64::INFINITY).shapes {
        let Shape::Text { text, .. } = shape else { continue };
        for c in text.chars().filter(|c| !font::has(*c) && !c.is_control() && !c.is_whitespace()) {
            if !out.contains(c) {
                out.push(c);
            }
        }
    }
    out
}

/// The most letters that a note shows.
const SHOWN: usize = 20;

/// Letters that the font lacks, which a PNG draws as boxes.
pub fn boxes(plot: &Plot) -> Option<String> {
    let letters = letters_without_form(plot);
    let more = if letters.chars().count() > SHOWN { "…" } else { "" };
    let shown: String = letters.chars().take(SHOWN).collect();
    (!letters.is_empty()).then(|| {
        format!("the letters {shown}{more} are boxes: the font of a PNG has those of Latin and Greek, and signs")
    })
}

/// The letters of a text on the base line y = 0, from x on.
fn outline(text: &str, size: f64, mut x: f64) -> Option<Path> {
    let face = font::face()?;
    let scale = size as f32 / f32::from(face.units_per_em());
    let mut pen = Pen { builder: PathBuilder::new(), x: 0.0, scale };
    for c in text.chars() {
        pen.x = x as f32;
        face.outline_glyph(font::glyph(c), &mut pen);
        x += font::advance(c) * size;
    }
    pen.builder.finish()
}

/// Draws letters of the font, whose y points upwards.
struct Pen {
    builder: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, -self.scale * y)
    }
}

impl ttf_parser::OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
