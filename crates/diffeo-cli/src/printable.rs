//! Texts of programs, data and file names as a terminal may show them.
//!
//! What always holds: nothing that is shown moves the cursor, changes colours, or turns the direction of writing.

use diffeo_calculus::show::is_escaped;
use std::borrow::Cow;

/// Whether a character would disturb a terminal.
pub fn disturbs(c: char) -> bool {
    c != '\t' && is_escaped(c)
}

/// The text with `\u{1b}` and the like for what would disturb a terminal; line breaks stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let disturbing = |c: char| c != '\n' && disturbs(c);
    if !text.contains(disturbing) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        match disturbing(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}
