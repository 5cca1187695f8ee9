//! Where the lines of a text break: pieces in, text at most [`WIDTH`] columns wide out (as far as its
//! breaks allow).
//!
//! Blocks nest. A block that fits on the rest of its line is laid out on it; in one that does not, every
//! line break of its own is taken. Linear in the number of pieces, and without recursion.

use std::borrow::Cow;

/// The columns that a text should not exceed.
const WIDTH: usize = 100;

/// Lines are not indented by more than this, so that deep terms stay readable and linear in size.
const MAX_INDENT: usize = 60;

/// A piece of a text.
pub(crate) enum Piece {
    /// A text without a line break.
    Text(Cow<'static, str>),
    /// This text, or a line break.
    Line(&'static str),
    /// The same, but the next line starts where the lines of the enclosing block do.
    Back(&'static str),
    /// The start of a block; its lines are indented by this more than those of the enclosing one.
    Open(usize),
    /// The end of a block.
    Close,
}

impl Piece {
    fn flat_width(&self) -> usize {
        match self {
            Piece::Text(text) => text.chars().count(),
            Piece::Line(text) | Piece::Back(text) => text.len(),
            Piece::Open(_) | Piece::Close => 0,
        }
    }
}

/// Lays the pieces out.
pub(crate) fn render(pieces: &[Piece]) -> String {
    let count = pieces.len();
    // The width of the pieces before the i-th one, all on one line.
    let mut before = vec![0; count + 1];
    // The end of the block that starts at the i-th piece.
    let mut end = vec![count; count];
    let mut open = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        before[i + 1] = before[i] + piece.flat_width();
        match piece {
            Piece::Open(_) => open.push(i),
            Piece::Close => end[open.pop().expect("blocks are closed once")] = i,
            Piece::Text(_) | Piece::Line(_) | Piece::Back(_) => {}
        }
    }
    // The width from the i-th piece to the next possible line break.
    let mut unbroken = vec![0; count + 1];
    for (i, piece) in pieces.iter().enumerate().rev() {
        unbroken[i] = match piece {
            Piece::Line(_) | Piece::Back(_) => 0,
            Piece::Text(_) | Piece::Open(_) | Piece::Close => piece.flat_width() + unbroken[i + 1],
        };
    }

    let mut out = String::new();
    let mut column = 0;
    // The enclosing blocks: their indentation and whether their line breaks are taken.
    let mut blocks = vec![(0, true)];
    for (i, piece) in pieces.iter().enumerate() {
        let (indent, broken) = blocks[blocks.len() - 1];
        let mut break_line = |indent: usize, flat: &str| {
            if broken {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else {
                out.push_str(flat);
                column += flat.len();
            }
        };
        match piece {
            Piece::Line(flat) => break_line(indent, flat),
            Piece::Back(flat) => break_line(blocks[blocks.len().saturating_sub(2)].0, flat),
            Piece::Text(text) => {
                out.push_str(text);
                column += piece.flat_width();
            }
            Piece::Open(more) => {
                let needed = before[end[i]] - before[i] + unbroken[end[i]];
                let fits = !broken || column + needed <= WIDTH;
                blocks.push(((indent + more).min(MAX_INDENT), !fits));
            }
            Piece::Close => {
                blocks.pop();
            }
        }
    }
    out
}
