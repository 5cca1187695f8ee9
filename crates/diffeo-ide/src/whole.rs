//! Whether a text that is being typed is whole.

use diffeo_base::{Diagnostic, SourceMap};

/// Whether a text of definitions, or an expression, ends where more has to come: its first error is at its end.
pub fn is_unfinished(text: &str) -> bool {
    let file = SourceMap::default().add("<text>", text);
    let end = text.trim_end().len();
    let ends = |wrong: &[Diagnostic]| {
        let first = wrong.iter().filter(|d| d.is_error()).min_by_key(|d| d.primary.span.start);
        first.map(|d| d.primary.span.start as usize >= end)
    };
    let definitions = ends(&diffeo_syntax::parse(file, text).1);
    let expression = ends(&diffeo_syntax::parse_expression(file, text).1);
    match (definitions, expression) {
        (None, _) | (_, None) => false,
        (Some(a), Some(b)) => a || b,
    }
}

#[cfg(test)]
mod tests {
    use super::is_unfinished;

    #[test]
    fn texts_that_end_too_early_are_told_from_wrong_ones() {
        for text in [
            "def f(x) =",
            "def f(x: Real) -> Real =\n  x +",
            "f(1.0,",
            "[x for x in",
            "let x = 1 in",
            "if a then b",
        ] {
            assert!(is_unfinished(text), "{text}");
        }
        for text in
            ["", "def f(x) = x", "1 + 2", "# only this", "def f(x) = )", "1 2 3 +", "import stats"]
        {
            assert!(!is_unfinished(text), "{text}");
        }
    }
}
