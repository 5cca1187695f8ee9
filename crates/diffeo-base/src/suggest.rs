//! "Did you mean …?"

/// The candidate nearest to a misspelt name, if one is near enough; the first among equals.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 100 {
        return None;
    }
    let length = name.chars().count();
    let allowed = match length {
        0 | 1 => 0,
        2..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        // No change of one letter makes up for more.
        if candidate.chars().count().abs_diff(length) > allowed {
            continue;
        }
        let distance = strsim::damerau_levenshtein(name, candidate);
        if distance > 0 && distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(closest("lenght", ["length", "map"]), Some("length"));
        assert_eq!(closest("sigmod", ["sigmoid", "sort"]), Some("sigmoid"));
        assert_eq!(closest("x", ["y"]), None);
    }
}
