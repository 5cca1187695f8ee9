//! The letters: their widths, for the layout, and their outlines, for pixels.
//!
//! The font is Inter (SIL Open Font License, `font/OFL.txt`), cut down to Latin and Greek letters and signs of
//! mathematics by `pyftsubset --no-hinting --layout-features=""`.

use std::sync::OnceLock;
use ttf_parser::Face;
#[cfg(feature = "png")]
use ttf_parser::GlyphId;

static DATA: &[u8] = include_bytes!("../font/Inter-subset.ttf");

/// The font. It is part of the program, so it is read.
pub fn face() -> Option<&'static Face<'static>> {
    static FACE: OnceLock<Option<Face<'static>>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(DATA, 0).ok()).as_ref()
}

/// The outline of a character; that of a missing one where the font lacks it.
#[cfg(feature = "png")]
pub fn glyph(c: char) -> GlyphId {
    face().and_then(|face| face.glyph_index(c)).unwrap_or(GlyphId(0))
}

/// Whether the font has a form for a character.
#[cfg(feature = "png")]
pub fn has(c: char) -> bool {
    face().is_some_and(|face| face.glyph_index(c).is_some())
}

/// How far a character moves on, in units of the size. Wide letters of other scripts take a whole unit.
pub fn advance(c: char) -> f64 {
    let known = face().and_then(|face| {
        let width = face.glyph_hor_advance(face.glyph_index(c)?)?;
        Some(f64::from(width) / f64::from(face.units_per_em()))
    });
    known.unwrap_or(1.0)
}

/// How wide a text is.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The text in lines no wider than this, broken between words, and within those that are wider; the last of so many
/// lines is cut.
pub fn wrapped(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = if line.is_empty() { 0.0 } else { width(" ", size) };
        if width(&line, size) + gap + width(word, size) <= most {
            line += if line.is_empty() { "" } else { " " };
            line += word;
            continue;
        }
        if !line.is_empty() {
            out.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !line.is_empty() && width(&line, size) + advance(c) * size > most {
                out.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    out.push(line);
    if out.len() > lines {
        let rest = out[lines - 1..].join(" ");
        out.truncate(lines - 1);
        out.push(shortened(&rest, size, most));
    }
    out
}

/// The text, cut where it is wider than this.
pub fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if width(&out, size) + size > most {
            break;
        }
    }
    out + "…"
}
