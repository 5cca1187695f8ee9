//! How many columns of a terminal texts take: two for the wide letters of East Asia and for pictures, none for marks on
//! other letters.

use unicode_width::UnicodeWidthChar;

/// The second column of a wide letter, which is not written.
pub const FILLER: char = '\0';

/// How many columns a character takes.
fn width_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// How many columns a text takes.
pub fn count(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// A text without what acts on a terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The text in so many columns; with a sign where it is cut.
pub fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_string();
    }
    let mut out = String::new();
    let mut room = most.saturating_sub(1);
    for c in text.chars() {
        match room.checked_sub(width_of(c)) {
            Some(rest) => room = rest,
            None => break,
        }
        out.push(c);
    }
    if most > 0 {
        out.push('…');
    }
    out
}

/// A character for each column. Marks on other letters, which have none, are left out.
pub fn cells(text: &str) -> Vec<char> {
    let mut out = Vec::new();
    for c in text.chars() {
        match width_of(c) {
            0 => {}
            1 => out.push(c),
            _ => out.extend([c, FILLER]),
        }
    }
    out
}
