//! "Did you mean …?"

/// The candidate nearest to a misspelt name, if one is near enough; the first among equals.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 100 {
        return None;
    }
    let length = name.chars().count();
    let allowed = match length {
        0 | 1 => 0,
        2..=5 => 1,
        6..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().filter(|candidate| *candidate != name) {
        let distance = if plain(name) == plain(candidate) {
            0
        } else if candidate.chars().count().abs_diff(length) > allowed {
            // No change of one letter makes up for more.
            continue;
        } else {
            strsim::damerau_levenshtein(name, candidate)
        };
        // In a short name one letter for another makes another word, if it is the first: `clip` is not `flip`.
        let may_be_another = length < 4 || length == 4 && first(name) != first(candidate);
        let other_word = may_be_another
            && distance > 0
            && length == candidate.chars().count()
            && !is_swapped(name, candidate);
        // Numbers are not misspelt: `log10` is not `log1p`, and `x1` not `x2`.
        let other_number = digits(name).ne(digits(candidate));
        if distance <= allowed
            && !other_word
            && !other_number
            && best.is_none_or(|(d, _)| distance < d)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A name without what conventions differ in: `foldLeft` is `fold_left`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

fn digits(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(char::is_ascii_digit)
}

fn first(name: &str) -> Option<char> {
    name.chars().next()
}

/// Whether both have the same letters in another order.
fn is_swapped(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(closest("lenght", ["length", "map"]), Some("length"));
        assert_eq!(closest("sigmod", ["sigmoid", "sort"]), Some("sigmoid"));
        assert_eq!(closest("x", ["y"]), None);
        assert_eq!(closest("foldLeft", ["fold_left"]), Some("fold_left"));
        assert_eq!(closest("mpa", ["map"]), Some("map"));
        assert_eq!(closest("sgn", ["sign"]), Some("sign"));
        assert_eq!(closest("lose", ["line", "loss"]), Some("loss"));
        for (name, other) in [("clip", "flip"), ("std", "snd"), ("log10", "log1p"), ("xs", "ys")] {
            assert_eq!(closest(name, [other]), None, "{name}");
        }
    }
}
