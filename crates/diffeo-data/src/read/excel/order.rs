//! The places of the cells of a sheet, before these are read. Each stands once, in a row that exists, rows and columns in
//! order: the library that reads them takes them in any, numbers of rows modulo 2^32, and a text by a number that is
//! none as the first one.

use super::broken;
use crate::error::{Position, Problem};
use crate::message::short;
use crate::read::archive::bad_member;
use crate::read::{Check, ReadFailure};
use crate::reason;
use quick_xml::events::{BytesStart, Event};
use quick_xml::Reader;
use std::io::{self, BufReader, Read};

/// The most rows and columns that a sheet has.
const ROWS: u64 = 1 << 20;
const COLUMNS: u64 = 1 << 14;

/// After so many rows the reading is checked.
const CHECKED: u64 = 1 << 8;

/// Reads the part of a workbook that is a sheet to its end.
pub(super) fn check_order(sheet: impl Read, check: Check<'_>) -> Result<(), ReadFailure> {
    let mut xml = Reader::from_reader(BufReader::with_capacity(crate::BUFFER, sheet));
    xml.config_mut().check_end_names = false;
    let mut buffer = Vec::new();
    let mut places = Places { row: 0, column: 0, shared: false };
    loop {
        buffer.clear();
        let event = xml.read_event_into(&mut buffer).map_err(malformed)?;
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                places.take(tag).map_err(|what| places.failure(what))?;
                if places.row.is_multiple_of(CHECKED) {
                    check()?;
                }
            }
            Event::Text(text) if places.shared && !text.bytes().all(|b| b.is_ascii_digit()) => {
                let what = format!("`{}` is no number of a text", short(text));
                return Err(places.failure(what));
            }
            Event::End(tag) => match tag.local_name().as_ref() {
                "sheetData" => break,
                "c" => places.shared = false,
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
    }
    // The checksum stands at the end.
    io::copy(xml.get_mut(), &mut io::sink())?;
    Ok(())
}

/// An error of reading, or of XML.
fn malformed(error: quick_xml::Error) -> ReadFailure {
    match error {
        quick_xml::Error::Io(error) => {
            bad_member(&error).unwrap_or_else(|| Problem::Unreadable(reason(&error))).into()
        }
        _ => broken("the XML in it is malformed".to_string()).into(),
    }
}

/// The row and column read last, from 1, and whether a cell is open that has the number of a text.
struct Places {
    row: u64,
    column: u64,
    shared: bool,
}

impl Places {
    fn failure(&self, what: String) -> ReadFailure {
        let at = Some(Position { line: self.row as usize, column: 0 }).filter(|at| at.line > 0);
        ReadFailure { at, ..ReadFailure::from(broken(what)) }
    }

    fn take(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        match tag.local_name().as_ref() {
            "row" => {
                let row = match attribute(tag, "r")? {
                    Some(text) => number(&text)
                        .filter(|row| (1..=ROWS).contains(row))
                        .ok_or_else(|| format!("there is no row `{}` in Excel", short(&text)))?,
                    None => self.row + 1,
                };
                match row {
                    row if row == self.row => return Err(format!("the row {row} is there twice")),
                    row if row < self.row => {
                        return Err(format!("the row {row} stands behind this one"));
                    }
                    row => (self.row, self.column) = (row, 0),
                }
            }
            "c" => {
                let mut column = self.column + 1;
                if let Some(text) = attribute(tag, "r")? {
                    let (row, found) = cell(&text)
                        .filter(|(row, column)| {
                            (1..=ROWS).contains(row) && (1..=COLUMNS).contains(column)
                        })
                        .ok_or_else(|| format!("there is no cell `{}` in Excel", short(&text)))?;
                    let text = short(&text);
                    match found {
                        _ if row != self.row => {
                            return Err(format!("the cell {text} stands in this row"));
                        }
                        found if found == self.column => {
                            return Err(format!("the cell {text} is there twice"));
                        }
                        found if found < self.column => {
                            return Err(format!("the cell {text} stands behind one right of it"));
                        }
                        found => column = found,
                    }
                }
                if column > COLUMNS {
                    return Err("a cell stands beyond the last column of Excel, XFD".to_string());
                }
                self.column = column;
                self.shared = attribute(tag, "t")?.is_some_and(|kind| kind == "s");
            }
            _ => {}
        }
        Ok(())
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    match tag.try_get_attribute(name) {
        Ok(attribute) => Ok(attribute.map(|a| a.value.into_owned())),
        Err(_) => Err("the XML in it is malformed".to_string()),
    }
}

/// A number of up to ten digits.
fn number(text: &str) -> Option<u64> {
    let digits = (1..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The row and the column of a place such as `AB12`.
fn cell(text: &str) -> Option<(u64, u64)> {
    let end = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, digits) = text.split_at(end);
    if !(1..=3).contains(&letters.len()) {
        return None;
    }
    let value = |b: u8| u64::from(b.to_ascii_uppercase() - b'A') + 1;
    let column = letters.bytes().fold(0, |column, b| column * 26 + value(b));
    Some((number(digits)?, column))
}
