//! A plot as SVG: text that browsers, editors and word processors draw.

use crate::draw::scene;
use crate::model::Plot;
use crate::scene::{dashes, Anchor, Point, Scene, Shape};
use std::fmt::Write;

/// The picture of a plot as SVG. The same plot gives the same text.
pub fn svg(plot: &Plot) -> String {
    svg_within(plot, f64::INFINITY)
}

/// The same for so many pixels of width: where the plot does not say its size, it is laid out for that, but not below 300
/// for a figure.
pub fn svg_within(plot: &Plot, room: f64) -> String {
    let Scene { width, height, shapes } = scene(plot, room);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Inter, Helvetica, Arial, sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for shape in &shapes {
        // Writing to a string does not fail.
        let _ = write_shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

/// A coordinate to a tenth of a pixel.
fn number(x: f64) -> String {
    let x = (x * 10.0).round() / 10.0;
    // Not the negative zero.
    format!("{}", x + 0.0)
}

/// A width or an opacity, to a thousandth.
fn thousandth(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

/// The attribute of an opacity, where what is drawn is not opaque.
fn dense(name: &str, opacity: f64) -> String {
    match opacity {
        1.0 => String::new(),
        _ => format!(" {name}=\"{}\"", thousandth(opacity)),
    }
}

/// A line through the points, from one to the next.
fn path(points: &[Point]) -> String {
    let mut out = String::new();
    let mut last = (0.0, 0.0);
    for (i, point) in points.iter().enumerate() {
        let at = ((point.0 * 10.0).round(), (point.1 * 10.0).round());
        match i {
            0 => out = format!("M{} {}", number(point.0), number(point.1)),
            _ => {
                let (x, y) = (number((at.0 - last.0) / 10.0), number((at.1 - last.1) / 10.0));
                let (before, between) =
                    (if i == 1 { "l" } else { " " }, if y.starts_with('-') { "" } else { " " });
                out += if x.starts_with('-') && i > 1 { "" } else { before };
                out += &x;
                out += between;
                out += &y;
            }
        }
        last = at;
    }
    out
}

fn write_shape(out: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Lines { lines, color, width, dashed, opacity } => {
            let d: String = lines.iter().map(|line| path(line)).collect();
            let dash = match dashed {
                true => {
                    let [dash, gap] = dashes(*width).map(thousandth);
                    format!(" stroke-dasharray=\"{dash} {gap}\"")
                }
                false => String::new(),
            };
            let (color, width) = (color.hex(), thousandth(*width));
            let opacity = dense("stroke-opacity", *opacity);
            writeln!(
                out,
                "<path d=\"{d}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}{opacity}/>"
            )
        }
        Shape::Areas { areas, color, opacity } => {
            let d: String = areas.iter().map(|area| path(area) + "z").collect();
            let opacity = dense("fill-opacity", *opacity);
            writeln!(out, "<path d=\"{d}\" fill=\"{}\"{opacity}/>", color.hex())
        }
        Shape::Rects { rects, color, sharp, opacity } => {
            let mut d = String::new();
            for [x, y, w, h] in rects {
                // Edges that meet are rounded to the same place.
                let side = |from: f64, size: f64| {
                    let tenth = |v: f64| (v * 10.0).round() / 10.0;
                    number(tenth(from + size) - tenth(from))
                };
                let (w, h) = (side(*x, *w), side(*y, *h));
                write!(d, "M{} {}h{w}v{h}h-{w}z", number(*x), number(*y))?;
            }
            let sharp = if *sharp { " shape-rendering=\"crispEdges\"" } else { "" };
            let opacity = dense("fill-opacity", *opacity);
            writeln!(out, "<path d=\"{d}\" fill=\"{}\"{sharp}{opacity}/>", color.hex())
        }
        Shape::Discs { centers, radius, color, opacity } => {
            // A line of no length with a round end is a disc.
            let disc = |(x, y): &Point| format!("M{} {}h0", number(*x), number(*y));
            let (color, width) = (color.hex(), number(2.0 * radius));
            let look =
                format!("stroke=\"{color}\" stroke-width=\"{width}\" stroke-linecap=\"round\"");
            if *opacity == 1.0 {
                let d: String = centers.iter().map(disc).collect();
                return writeln!(out, "<path d=\"{d}\" {look}/>");
            }
            // The discs of one path would not cover one another.
            writeln!(out, "<g {look}{}>", dense("stroke-opacity", *opacity))?;
            for center in centers {
                writeln!(out, "<path d=\"{}\"/>", disc(center))?;
            }
            writeln!(out, "</g>")
        }
        Shape::Text { at, text, size, anchor, color, bold, turned, opacity } => {
            let (x, y) = (number(at.0), number(at.1));
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let bold = if *bold { " font-weight=\"600\"" } else { "" };
            let turned = match turned {
                0.0 => String::new(),
                degrees => format!(" transform=\"rotate({degrees} {x} {y})\""),
            };
            let (text, color, opacity) =
                (escaped(text), color.hex(), dense("fill-opacity", *opacity));
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\"{opacity}{anchor}{bold}{turned}>{text}</text>"
            )
        }
    }
}

/// A text for XML, which has no control characters.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
