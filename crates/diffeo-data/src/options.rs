//! The options of a table, as they stand behind the name of its file: `doses.csv:skip=1:sep=semicolon`.
//!
//! What comes in: the texts between the colons, and the format. What goes out: [`DataOptions`] that fit together, or
//! the problem with one of them.

use super::error::Problem;
use super::format::Format;
use encoding_rs::{Encoding, UTF_16LE, UTF_8, WINDOWS_1252};

/// The options by name, with their values in words.
const VALUES: [(&str, &str); 10] = [
    (
        "sep",
        "`comma`, `semicolon`, `tab`, `space` (any run of blanks) or a character other than `\"`",
    ),
    ("decimal", "`point` or `comma`"),
    ("thousands", "`none`, `comma`, `point`, `space` or `apostrophe`"),
    ("na", "texts that stand for a missing cell, separated by `|`"),
    ("comment", "one character, which begins a comment to the end of the line"),
    ("skip", "the number of lines to leave out at the top"),
    ("rows", "the number of rows to read; the header is none"),
    ("header", "`yes` or `no`"),
    ("encoding", "`utf-8`, `latin-1` or `utf-16`"),
    ("sheet", "the name of a sheet"),
];

/// What stands between the cells of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Separator {
    /// This character.
    Char(char),
    /// Any run of spaces and tabs.
    Blanks,
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    /// `.` or `,`
    pub decimal: char,
    /// What may stand between groups of digits: `,`, `.`, `'`, or a space of any kind.
    pub thousands: Option<char>,
}

impl Numbers {
    /// As Diffeo writes them.
    pub const PLAIN: Numbers = Numbers { decimal: '.', thousands: None };
}

/// What the options say; what they do not say is left open where the format or the type decides.
#[derive(Clone, Debug)]
pub(super) struct DataOptions {
    pub separator: Option<Separator>,
    /// Whether they say the separator, which the format says otherwise.
    pub separator_given: bool,
    pub numbers: Numbers,
    /// Further texts that stand for a missing cell.
    pub missing: Vec<String>,
    pub comment: Option<char>,
    pub skip: usize,
    /// How many rows are read at most.
    pub rows: Option<usize>,
    pub header: Option<bool>,
    pub encoding: Option<&'static Encoding>,
    #[cfg_attr(not(feature = "binary-tables"), allow(dead_code))]
    pub sheet: Option<String>,
}

/// Whether a text begins as an option does.
pub(super) fn is_option(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| VALUES.iter().any(|(known, _)| *known == name))
}

/// The options that files of this format have.
pub(super) fn names(format: Format) -> Vec<&'static str> {
    VALUES.iter().map(|(name, _)| *name).filter(|name| (format.info().has)(name)).collect()
}

/// The values of an option in words.
pub(super) fn values(name: &str) -> &'static str {
    VALUES.iter().find(|(known, _)| *known == name).map_or("", |(_, values)| values)
}

impl DataOptions {
    /// Reads the options of a file of this format.
    pub fn of(texts: &[String], format: Format) -> Result<DataOptions, Problem> {
        let mut options = DataOptions {
            separator: format.info().separator.map(Separator::Char),
            separator_given: false,
            numbers: Numbers::PLAIN,
            missing: Vec::new(),
            comment: None,
            skip: 0,
            rows: None,
            header: None,
            encoding: None,
            sheet: None,
        };
        let mut seen = Vec::new();
        for text in texts {
            let unknown = || Problem::Option(text.clone(), format);
            let (name, value) = text.split_once('=').ok_or_else(unknown)?;
            let known = names(format).into_iter().find(|known| *known == name);
            let name = known.ok_or_else(unknown)?;
            if seen.contains(&name) {
                return Err(Problem::RepeatedOption(name));
            }
            seen.push(name);
            options
                .set(name, value)
                .ok_or_else(|| Problem::OptionValue(name, value.to_string()))?;
        }
        options.fit_together()?;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "sep" => {
                (self.separator, self.separator_given) = (Some(separator(value)?), true);
            }
            "decimal" => {
                self.numbers.decimal = match value {
                    "point" | "." => '.',
                    "comma" | "," => ',',
                    _ => return None,
                }
            }
            "thousands" => {
                self.numbers.thousands = match value {
                    "none" => None,
                    "comma" | "," => Some(','),
                    "point" | "." => Some('.'),
                    "space" | " " => Some(' '),
                    "apostrophe" | "'" => Some('\''),
                    _ => return None,
                }
            }
            "na" => {
                self.missing = value.split('|').map(|text| text.trim().to_string()).collect();
            }
            "comment" => self.comment = Some(character(value)?),
            "skip" => self.skip = value.parse().ok()?,
            "rows" => self.rows = Some(value.parse().ok()?),
            "header" => {
                self.header = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => return None,
                }
            }
            "encoding" => {
                self.encoding = Some(match value.to_ascii_lowercase().as_str() {
                    "utf-8" | "utf8" => UTF_8,
                    // What files that are called so hold: the characters of Windows, where Latin-1 has controls.
                    "latin-1" | "latin1" | "iso-8859-1" | "windows-1252" | "cp1252" => WINDOWS_1252,
                    "utf-16" | "utf16" => UTF_16LE,
                    _ => return None,
                });
            }
            "sheet" => self.sheet = Some(value.to_string()),
            _ => return None,
        }
        Some(())
    }

    /// Signs that mean two things at once are refused, but for a separator that is given and the decimal sign: numbers
    /// with it stand in quotes.
    fn fit_together(&self) -> Result<(), Problem> {
        let decimal = ("decimal", self.numbers.decimal);
        let separator = match self.separator {
            Some(Separator::Char(c)) => Some(("sep", c)),
            Some(Separator::Blanks) | None => None,
        };
        let default = separator.filter(|_| !self.separator_given);
        let thousands = self.numbers.thousands.map(|c| ("thousands", c));
        let comment = self.comment.map(|c| ("comment", c));
        let pairs = [
            (default, Some(decimal)),
            (thousands, Some(decimal)),
            (comment, Some(decimal)),
            (comment, separator),
        ];
        for pair in pairs {
            if let (Some((first, sign)), Some((second, other))) = pair {
                if sign == other {
                    return Err(Problem::SameSign(first, second, sign));
                }
            }
        }
        Ok(())
    }
}

fn separator(value: &str) -> Option<Separator> {
    Some(match value {
        "comma" => Separator::Char(','),
        "semicolon" => Separator::Char(';'),
        "tab" | "\\t" => Separator::Char('\t'),
        "space" | " " => Separator::Blanks,
        _ => Separator::Char(character(value)?),
    })
}

/// The only character of a text, if it can stand between or before cells.
fn character(value: &str) -> Option<char> {
    let mut characters = value.chars();
    match (characters.next(), characters.next()) {
        (Some('"' | '\n' | '\r'), _) | (None, _) | (_, Some(_)) => None,
        (only, None) => only,
    }
}

/// A sign as the options name it.
pub(super) fn sign(c: char) -> String {
    match c {
        ',' => "comma".to_string(),
        ';' => "semicolon".to_string(),
        '\t' => "tab".to_string(),
        '.' => "point".to_string(),
        ' ' => "space".to_string(),
        c => c.to_string(),
    }
}
