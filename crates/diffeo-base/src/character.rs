//! Invisible characters.

/// Whether a character shows nothing, or nothing but a gap, other than the plain space: controls, the spaces of
/// typography, joiners, marks of direction and byte order.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || c != ' ' && c.is_whitespace()
        || matches!(
            c,
            '\u{ad}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::is_invisible;

    #[test]
    fn what_is_seen_is_not_invisible() {
        assert!("\u{a0}\u{200b}\u{feff}\t\u{0}\u{2009}".chars().all(is_invisible));
        assert!(!"a é-1 \u{4e00}".chars().any(is_invisible));
    }
}
