//! Programs with a few tokens changed.

use super::generate::Choices;

/// A text as its tokens (words, numbers, texts, single signs) and the blanks between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let end = if word(first) {
            rest.find(|c| !word(c))
        } else if first.is_whitespace() {
            rest.find(|c: char| !c.is_whitespace())
        } else if first == '"' {
            rest[1..].find('"').map(|i| i + 2)
        } else {
            let pairs = ["->", "::", "|>", "..", "==", "<=", ">=", "!=", "++", "##"];
            let length = if pairs.iter().any(|p| rest.starts_with(p)) { 2 } else { 1 };
            rest.char_indices().nth(length).map(|(i, _)| i)
        };
        let (token, more) = rest.split_at(end.unwrap_or(rest.len()));
        out.push(token);
        rest = more;
    }
    out
}

/// Values that programs have trouble with.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "9223372036854775807",
    "1000000",
    "0.0",
    "1.0",
    "-0.5",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "-inf",
];

/// Words that change much where they come in.
const WORDS: [&str; 24] = [
    "grad",
    "fd",
    "derivatives",
    "sum",
    "map",
    "fn",
    "let",
    "rec",
    "if",
    "case",
    "loop",
    "with",
    "Int",
    "Real",
    "String",
    "List",
    "_",
    "()",
    "[]",
    "|>",
    "::",
    "^",
    "not",
    "checkpoint",
];

/// The text with one or a few changes; `other` is another program, for parts of it.
pub fn mutate(choices: &mut dyn Choices, text: &str, other: &str) -> String {
    let mut list: Vec<&str> = tokens(text);
    let foreign = tokens(other);
    for _ in 0..1 + choices.below(2) * choices.below(4) {
        // Places of tokens that are no blanks.
        let places: Vec<usize> = (0..list.len()).filter(|i| !list[*i].trim().is_empty()).collect();
        if places.is_empty() {
            break;
        }
        let at = places[choices.below(places.len())];
        let to = places[choices.below(places.len())];
        match choices.below(15) {
            0 => {
                list.remove(at);
            }
            1 => {
                list.insert(at, list[to]);
                list.insert(at + 1, " ");
            }
            2 => list.swap(at, to),
            3 => {
                // A run of tokens goes or is doubled.
                let end = (at + 1 + choices.below(8)).min(list.len());
                match choices.below(2) {
                    0 => drop(list.drain(at..end)),
                    _ => {
                        let run = list[at..end].to_vec();
                        list.splice(end..end, run);
                    }
                }
            }
            4 if !foreign.is_empty() => {
                let from = choices.below(foreign.len());
                let end = (from + 1 + choices.below(20)).min(foreign.len());
                let gone = (at + choices.below(6)).min(list.len());
                list.splice(at..gone, foreign[from..end].iter().copied());
            }
            5..=8 => {
                let numbers: Vec<usize> = places
                    .iter()
                    .copied()
                    .filter(|i| list[*i].starts_with(|c: char| c.is_ascii_digit()))
                    .collect();
                match numbers.len() {
                    0 => list[at] = NUMBERS[choices.below(NUMBERS.len())],
                    n => list[numbers[choices.below(n)]] = NUMBERS[choices.below(NUMBERS.len())],
                }
            }
            9..=11 => {
                // A word for a word of the same program.
                let words: Vec<usize> = places
                    .iter()
                    .copied()
                    .filter(|i| list[*i].starts_with(|c: char| c.is_alphabetic()))
                    .collect();
                if words.len() > 1 {
                    let (a, b) = (choices.below(words.len()), choices.below(words.len()));
                    list[words[a]] = list[words[b]];
                }
            }
            12 => list[at] = WORDS[choices.below(WORDS.len())],
            _ => list[at] = list[to],
        }
    }
    list.concat()
}
