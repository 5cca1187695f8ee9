//! The text of a table into records of cells, one record at a time, with the line that each begins
//! on.
//!
//! The format is RFC 4180, with any separator, comments, any line break and lines of any length. A cell in
//! quotes may hold separators, line breaks and doubled quotes; that it stood in quotes is kept,
//! because an empty text is not a missing one. It is read here and not by a library because those
//! forget that, take an unclosed quote for a cell that goes on to the end of the file, and do not
//! know the line of a record after empty ones.

use super::cell::CellText;
use super::table::TableSource;
use super::ReadFailure;
use crate::data::error::{CsvColumn, Position, Problem};
use diffeo_base::Name;
use std::io::BufRead;

/// Records read from a text, one after the other.
pub(super) struct Records<R> {
    input: R,
    separates: Separates,
    comment: Option<Vec<u8>>,
    /// How many lines have been read.
    lines: usize,
    /// The line, from 1, on which the record read last begins.
    line: usize,
    /// How many records have been read.
    records: usize,
    /// That record: its lines, in which quoted cells have been replaced by what they stand for.
    text: Vec<u8>,
    /// Where a comment begins in it.
    cut: Option<usize>,
    cells: Vec<CellSpan>,
}

/// What stands between cells.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Separates {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Any run of spaces and tabs.
    Blanks,
    /// A line is one cell.
    Nothing,
    /// The tab, semicolon or (if it is no decimal sign) comma that the first line has, else blanks.
    Unknown { comma: bool },
}

impl Separates {
    /// A character.
    pub fn char(c: char) -> Separates {
        Separates::Bytes(c.to_string().into_bytes())
    }

    /// How long the separator at the beginning of a text is, and where the first one begins.
    fn find(&self, line: &[u8]) -> Option<usize> {
        match self {
            Separates::Bytes(bytes) => find(line, bytes),
            Separates::Blanks => memchr::memchr2(b' ', b'\t', line),
            Separates::Nothing | Separates::Unknown { .. } => None,
        }
    }

    fn is_byte(&self, byte: u8) -> bool {
        matches!(self, Separates::Bytes(bytes) if bytes == &[byte])
    }
}

fn find(line: &[u8], bytes: &[u8]) -> Option<usize> {
    match bytes {
        [byte] => memchr::memchr(*byte, line),
        bytes => memchr::memmem::find(line, bytes),
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Where a cell lies.
#[derive(Clone, Copy)]
struct CellSpan {
    start: usize,
    end: usize,
    quoted: bool,
}

impl<R: BufRead> Records<R> {
    /// The records after so many lines that are left out.
    pub fn new(
        mut input: R,
        separates: Separates,
        comment: Option<char>,
        skip: usize,
    ) -> Result<Records<R>, ReadFailure> {
        let mut lines = 0;
        while lines < skip && input.skip_until(b'\n')? > 0 {
            lines += 1;
        }
        let comment = comment.map(|c| c.to_string().into_bytes());
        Ok(Records {
            input,
            separates,
            comment,
            lines,
            line: lines + 1,
            records: 0,
            text: Vec::new(),
            cut: None,
            cells: Vec::new(),
        })
    }

    /// How many lines have been read or left out.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whether nothing is left.
    pub fn at_end(&mut self) -> Result<bool, ReadFailure> {
        Ok(self.input.fill_buf()?.is_empty())
    }

    /// Adds a line to the text; how many bytes it has.
    fn more(&mut self) -> Result<usize, ReadFailure> {
        let n = self.input.read_until(b'\n', &mut self.text).map_err(|error| {
            let at = Some(Position { line: self.lines + 1, column: 0 });
            ReadFailure { at, ..ReadFailure::from(error) }
        })?;
        self.lines += usize::from(n > 0);
        Ok(n)
    }

    /// Where the text ends, without the last line break and a comment.
    fn end(&self) -> usize {
        let line = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let end = line.strip_suffix(b"\r").unwrap_or(line).len();
        self.cut.map_or(end, |cut| cut.min(end))
    }

    /// Whether a comment is all that the line has.
    fn is_comment(&self) -> bool {
        let comment = |comment: &Vec<u8>| self.text.trim_ascii_start().starts_with(comment);
        self.comment.as_ref().is_some_and(comment)
    }

    /// Where a cell ends that begins here: before a separator, a comment or the end.
    fn stop(&mut self, start: usize) -> usize {
        let line = &self.text[start..self.end()];
        let mut length = self.separates.find(line).unwrap_or(line.len());
        if let Some(comment) = &self.comment {
            if let Some(at) = find(&line[..length], comment) {
                // Blanks before it are no part of the cell.
                length = line[..at].trim_ascii_end().len();
                self.cut = Some(start + length);
            }
        }
        start + length
    }

    /// Takes a cell that is not quoted; where it ends.
    fn plain(&mut self, start: usize) -> usize {
        let end = self.stop(start);
        self.cells.push(CellSpan { start, end, quoted: false });
        end
    }

    /// Takes a cell whose quote opens here, moving what it stands for to its start; where it ends.
    fn quoted(&mut self, start: usize) -> Result<usize, ReadFailure> {
        let (mut from, mut to) = (start + 1, start);
        loop {
            match (self.text.get(from), self.text.get(from + 1)) {
                (None, _) => {
                    if self.more()? == 0 {
                        let column = CsvColumn { number: self.cells.len() + 1, name: None };
                        return Err(self.failure(Problem::OpenQuote(column)));
                    }
                    continue;
                }
                (Some(b'"'), Some(b'"')) => from += 1,
                (Some(b'"'), _) => break,
                (Some(_), _) => {}
            }
            self.text[to] = self.text[from];
            (from, to) = (from + 1, to + 1);
        }
        from += 1;
        let stop = self.stop(from);
        let rest = &self.text[from..stop];
        match rest.iter().find(|&&b| !is_blank(b)) {
            None => {}
            Some(b'\r') => return Err(self.failure(Problem::CarriageReturns)),
            Some(_) => {
                let column = CsvColumn { number: self.cells.len() + 1, name: None };
                let rest = String::from_utf8_lossy(rest).into_owned();
                return Err(self.failure(Problem::AfterQuote(column, rest)));
            }
        }
        self.cells.push(CellSpan { start, end: to, quoted: true });
        Ok(stop)
    }

    /// Decides what separates cells, by the first line outside of quotes.
    fn decide(&mut self) {
        let Separates::Unknown { comma } = self.separates else { return };
        let end = self.end();
        let outside: Vec<u8> =
            self.text[..end].split(|b| *b == b'"').step_by(2).flatten().copied().collect();
        let found = [b'\t', b';', b','].into_iter().find(|b| outside.contains(b));
        self.separates = match found {
            Some(b',') if !comma => Separates::Blanks,
            Some(byte) => Separates::Bytes(vec![byte]),
            None => Separates::Blanks,
        };
    }

    /// Takes the cells of the text.
    fn split(&mut self) -> Result<(), ReadFailure> {
        let blanks = self.separates == Separates::Blanks;
        let mut at = 0;
        loop {
            if blanks {
                let line = &self.text[at..self.end()];
                at += line.iter().take_while(|b| is_blank(**b)).count();
                let comment = |comment: &Vec<u8>| self.text[at..].starts_with(comment);
                if at == self.end() || self.comment.as_ref().is_some_and(comment) {
                    return Ok(());
                }
            }
            at = match self.text.get(at) {
                Some(b'"') => self.quoted(at)?,
                _ => self.plain(at),
            };
            if at >= self.end() {
                return Ok(());
            }
            at += match &self.separates {
                Separates::Bytes(bytes) => bytes.len(),
                Separates::Blanks | Separates::Nothing | Separates::Unknown { .. } => 1,
            };
        }
    }

    /// What seems to separate the cells instead, where a problem shows that the separator is another.
    fn other_separator(&self, problem: &Problem) -> Option<char> {
        let others = [',', ';', '\t'].into_iter().filter(|c| !self.separates.is_byte(*c as u8));
        let only = self.cell(0);
        let has = |text: &[u8], c: char| text.contains(&(c as u8));
        let is_number = |text: &[u8]| {
            let text = text.trim_ascii();
            text.is_empty()
                || text.iter().any(u8::is_ascii_digit)
                    && text.iter().all(|b| b.is_ascii_digit() || b"+-.,eE".contains(b))
        };
        if self.len() == 1 && !only.quoted {
            if let Some(other) = others.clone().find(|c| has(only.text, *c)) {
                return Some(other);
            }
            let words = || only.text.split(|b| is_blank(*b)).filter(|word| !word.is_empty());
            let named = |name: &Name| words().any(|word| word == name.as_bytes());
            let blanks = match problem {
                Problem::MissingColumn(name, ..) => named(name),
                _ => words().all(is_number),
            };
            return (blanks && words().count() > 1).then_some(' ');
        }
        // With decimal commas, `1,5;2,5` has three cells by commas.
        let numbers = |c: char| {
            (0..self.len()).any(|i| {
                let cell = self.cell(i);
                let parts = || cell.text.split(|b| *b == c as u8);
                !cell.quoted && has(cell.text, c) && parts().all(is_number) && cell.text.len() > 1
            })
        };
        others.filter(|c| *c != ',').find(|c| numbers(*c))
    }
}

impl<R: BufRead> TableSource for Records<R> {
    fn next(&mut self, blank: bool) -> Result<bool, ReadFailure> {
        loop {
            self.text.clear();
            self.cells.clear();
            self.cut = None;
            if self.more()? == 0 {
                return Ok(false);
            }
            self.line = self.lines;
            if self.is_comment() {
                continue;
            }
            let line = &self.text[..self.end()];
            let empty = match self.separates {
                Separates::Blanks => line.trim_ascii().is_empty(),
                _ => line.is_empty(),
            };
            if !empty {
                break;
            }
            if blank {
                self.cells.push(CellSpan { start: 0, end: 0, quoted: false });
                self.records += 1;
                return Ok(true);
            }
        }
        self.decide();
        self.split()?;
        self.records += 1;
        Ok(true)
    }

    fn len(&self) -> usize {
        self.cells.len()
    }

    fn cell(&self, place: usize) -> CellText<'_> {
        let (text, quoted): (&[u8], bool) =
            self.cells.get(place).map_or((b"", false), |c| (&self.text[c.start..c.end], c.quoted));
        CellText { text, quoted, plain: false, time: None }
    }

    fn failure(&self, problem: Problem) -> ReadFailure {
        let about_cells = matches!(
            problem,
            Problem::Cells { .. }
                | Problem::Cell(..)
                | Problem::MissingCell(..)
                | Problem::MissingColumn(..)
        );
        let broken = |i| {
            let cell = self.cell(i);
            !cell.quoted && cell.text.contains(&b'\r')
        };
        let problem = if about_cells && (0..self.len()).any(broken) {
            Problem::CarriageReturns
        } else if let Some(found) = self.other_separator(&problem).filter(|_| about_cells) {
            let commas = (0..self.len()).any(|i| self.cell(i).text.contains(&b','))
                || self.separates.is_byte(b',') && self.len() > 1;
            Problem::Separator { found, one: self.len() == 1, commas: commas && found == ';' }
        } else {
            problem
        };
        let at = Some(Position { line: self.line, column: 0 });
        ReadFailure { at, ..ReadFailure::from(problem) }
    }
}
