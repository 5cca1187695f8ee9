//! Names as they are compared where none is the same to the letter.

/// A name without case, blanks and punctuation; `µ` is written `u`, and small figures as figures.
pub(super) fn folded(name: &str) -> String {
    let lower = name.chars().flat_map(char::to_lowercase);
    let figure = |c: char, first: char| char::from_digit(c as u32 - first as u32, 10);
    lower
        .filter_map(|c| match c {
            'µ' | 'μ' => Some('u'),
            '¹' => Some('1'),
            '²' => Some('2'),
            '³' => Some('3'),
            '⁰' | '⁴'..='⁹' => figure(c, '⁰'),
            '₀'..='₉' => figure(c, '₀'),
            c => c.is_alphanumeric().then_some(c),
        })
        .collect()
}
