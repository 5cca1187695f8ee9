//! What a cell of a table stands for: a number as the file writes numbers, a truth value, a text, or nothing.

use super::column::{push, Column};
use crate::error::{BadCell, Problem, Row};
use crate::options::{DataOptions, Numbers};
use crate::shape::Cell;
use crate::CsvColumn;
use diffeo_calculus::ty::{Ty, JUST, NOTHING};
use diffeo_calculus::value::Value;
use std::borrow::Cow;

/// What stands for a missing cell in every table, beside an empty one; capitals or not, `NaN` also with a sign.
pub(crate) const MISSING: [&str; 9] =
    ["NA", "N/A", "#N/A", "NaN", "null", "None", "<NA>", "NaT", "-"];

/// A cell as it is found.
#[derive(Clone, Copy, Default)]
pub(super) struct CellText<'a> {
    pub text: &'a [u8],
    /// Whether it stood in quotes.
    pub quoted: bool,
    /// Whether the file says that it is a number: it is written in one way, whatever the options say of texts.
    pub plain: bool,
    /// The seconds since 1970, where the file marks it as a time.
    pub time: Option<f64>,
    /// Whether the file marks it as a time, but it is none.
    pub no_time: bool,
}

/// How cells are read.
pub(super) struct CellFormat {
    numbers: Numbers,
    missing: Vec<String>,
}

impl CellFormat {
    pub fn new(options: &DataOptions) -> CellFormat {
        CellFormat { numbers: options.numbers, missing: options.missing.clone() }
    }

    /// Puts what a cell stands for at the end of a column.
    pub fn put(
        &self,
        found: CellText<'_>,
        place: impl FnOnce() -> CsvColumn,
        cell: &Cell<'_>,
        column: &mut Column,
    ) -> Result<(), Problem> {
        let Ok(text) = std::str::from_utf8(found.text) else {
            return Err(Problem::CellNotUtf8(place(), false));
        };
        if found.no_time {
            return Err(Problem::NoTime(place(), cell.ty.clone(), text.to_string()));
        }
        if self.value(text, found, cell, column).is_some() {
            return Ok(());
        }
        let (ty, trimmed) = (cell.ty.clone(), text.trim());
        let (column, row) = (place(), Row::default());
        Err(if self.is_missing(trimmed) {
            Problem::MissingCell(column, ty, trimmed.to_string(), row)
        } else {
            let ways = self.numbers(found).ways(trimmed, cell.scalar);
            let text = text.to_string();
            Problem::Cell(Box::new(BadCell { column, ty, text, ways, row }))
        })
    }

    fn value(
        &self,
        text: &str,
        found: CellText<'_>,
        cell: &Cell<'_>,
        column: &mut Column,
    ) -> Option<()> {
        let time = |scalar: &Ty| found.time.filter(|_| *scalar == Ty::Real);
        // What the user says stands for a missing cell is no number.
        let marked = || self.missing.iter().any(|mark| mark == text.trim());
        match column {
            Column::Real(_) | Column::Int(_) | Column::Bool(_) if marked() => return None,
            Column::Real(reals) => match time(cell.scalar) {
                Some(seconds) => push(reals, seconds),
                None => push(reals, self.numbers(found).real(text)?),
            },
            Column::Int(ints) => push(ints, self.numbers(found).int(text)?),
            Column::Bool(bools) => push(bools, truth(text)?),
            Column::Other(values) => {
                let value = match (cell.maybe, cell.scalar) {
                    // Any text is a String, and what stands in quotes is a text.
                    (false, _) => self.scalar(cell.scalar, text, found)?,
                    (true, Ty::String) if found.quoted => Value::data(JUST, [Value::string(text)]),
                    (true, _) if self.is_missing(text.trim()) => Value::data(NOTHING, []),
                    (true, scalar) => {
                        let value = match time(scalar) {
                            Some(seconds) => Value::Real(seconds),
                            None => self.scalar(scalar, text, found)?,
                        };
                        Value::data(JUST, [value])
                    }
                };
                push(values, value);
            }
            Column::Tuple(_) | Column::Rows { .. } => return None,
        }
        Some(())
    }

    fn scalar(&self, ty: &Ty, text: &str, found: CellText<'_>) -> Option<Value> {
        match ty {
            Ty::Real => self.numbers(found).real(text).map(Value::Real),
            Ty::Int => self.numbers(found).int(text).map(Value::Int),
            Ty::Bool => truth(text).map(Value::Bool),
            Ty::String => Some(Value::string(text)),
            Ty::Unit
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_) => None,
        }
    }

    /// How the numbers of a cell are written.
    fn numbers(&self, found: CellText<'_>) -> Numbers {
        if found.plain {
            Numbers::PLAIN
        } else {
            self.numbers
        }
    }

    fn is_missing(&self, text: &str) -> bool {
        is_missing(text) || self.missing.iter().any(|mark| mark == text)
    }
}

/// Whether a text without blanks around it says in every table that there is nothing.
pub(crate) fn is_missing(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.is_empty()
        || unsigned.eq_ignore_ascii_case("nan")
        || MISSING.iter().any(|mark| text.eq_ignore_ascii_case(mark))
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    match (is(["true", "yes", "t", "y"]), is(["false", "no", "f", "n"]), text.trim()) {
        (true, _, _) | (_, _, "1") => Some(true),
        (_, true, _) | (_, _, "0") => Some(false),
        _ => None,
    }
}

impl Numbers {
    /// A number too large for a Real is none: infinity is written `inf`.
    fn real(self, text: &str) -> Option<f64> {
        let text = self.plain(text.trim())?;
        let number = text.parse::<f64>().ok()?;
        (!number.is_infinite() || !text.bytes().any(|b| b.is_ascii_digit())).then_some(number)
    }

    /// A whole number, also with a fraction of zeros.
    fn int(self, text: &str) -> Option<i64> {
        let text = self.plain(text.trim())?;
        let whole = match text.split_once('.') {
            Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') => whole,
            _ => &text,
        };
        whole.parse().ok()
    }

    /// The number with a point and without groups, if it is written as these numbers are.
    fn plain(self, text: &str) -> Option<Cow<'_, str>> {
        let (decimal, thousands) = (self.decimal, self.thousands);
        if decimal == '.' && thousands.is_none() || !text.bytes().any(|b| b.is_ascii_digit()) {
            return Some(Cow::Borrowed(text));
        }
        let (sign, rest) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (&text[..1], rest),
            None => ("", text),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (whole, fraction) = match mantissa.split_once(decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let mut plain = sign.to_string();
        let groups: Vec<&str> = match thousands {
            Some(sign) => whole.split(|c| separates(sign, c)).collect(),
            None => vec![whole],
        };
        if !are_groups(&groups) {
            return None;
        }
        groups.iter().for_each(|group| plain.push_str(group));
        if let Some(fraction) = fraction {
            if !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            plain.push('.');
            plain.push_str(fraction);
        }
        plain.push_str(exponent);
        Some(Cow::Owned(plain))
    }

    /// The options with which a text would be a number of this type, each a way of its own.
    fn ways(self, text: &str, scalar: &Ty) -> Vec<Vec<(&'static str, &'static str)>> {
        if !matches!(scalar, Ty::Real | Ty::Int) {
            return Vec::new();
        }
        let groups = [
            (None, "none"),
            (Some(','), "comma"),
            (Some('.'), "point"),
            (Some(' '), "space"),
            (Some('\''), "apostrophe"),
        ];
        let mut ways: Vec<Vec<_>> = Vec::new();
        for (decimal, word) in [('.', "point"), (',', "comma")] {
            for (thousands, group) in groups {
                let numbers = Numbers { decimal, thousands };
                let reads = match scalar {
                    Ty::Int => numbers.int(text).is_some(),
                    _ => numbers.real(text).is_some(),
                };
                // A sign that does not stand in the text tells nothing.
                let idle = thousands.is_some_and(|sign| {
                    thousands != self.thousands && !text.contains(|c| separates(sign, c))
                });
                if thousands == Some(decimal) || !reads || idle {
                    continue;
                }
                let mut way = Vec::new();
                if decimal != self.decimal {
                    way.push(("decimal", word));
                }
                if thousands != self.thousands {
                    way.push(("thousands", group));
                }
                ways.push(way);
            }
        }
        // The simplest way is enough: no option more than needed.
        let needed = |way: &&Vec<_>| {
            let fewer = |other: &Vec<_>| {
                other.len() < way.len() && other.iter().all(|option| way.contains(option))
            };
            !way.is_empty() && !ways.iter().any(fewer)
        };
        ways.iter().filter(needed).cloned().collect()
    }
}

/// Whether these are the digits of a whole number, between the signs that separate thousands: up to three, of which the
/// first is no 0, and then threes; or twos and a three, as in India. One group may be of any length.
fn are_groups(groups: &[&str]) -> bool {
    let (Some((first, rest)), true) =
        (groups.split_first(), groups.iter().all(|g| g.bytes().all(|b| b.is_ascii_digit())))
    else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else { return true };
    let all = |length: usize| middle.iter().all(|group| group.len() == length);
    let threes = (1..=3).contains(&first.len()) && all(3);
    let twos = (1..=2).contains(&first.len()) && all(2);
    !first.starts_with('0') && last.len() == 3 && (threes || twos)
}

/// Whether a character is this sign between groups of digits; spaces and apostrophes have forms of their own in print.
fn separates(sign: char, c: char) -> bool {
    match sign {
        ' ' => matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'),
        '\'' => matches!(c, '\'' | '\u{2019}'),
        sign => c == sign,
    }
}
