//! The text of a table into records of cells, one record at a time, with the line that each begins
//! on.
//!
//! The format is RFC 4180, with any separator, any line break and lines of any length. A cell in
//! quotes may hold separators, line breaks and doubled quotes; that it stood in quotes is kept,
//! because an empty text is not a missing one. It is read here and not by a library because those
//! forget that, take an unclosed quote for a cell that goes on to the end of the file, and do not
//! know the line of a record after empty ones.

use super::{text_start, Failure};
use crate::data::error::{CsvColumn, Position, Problem};
use std::io::BufRead;

/// Records read from a text, one after the other.
pub(super) struct Records<R> {
    input: R,
    separator: u8,
    /// How many lines have been read.
    lines: usize,
    /// The line, from 1, on which the record read last begins.
    line: usize,
    /// That record: its lines, in which quoted cells have been replaced by what they stand for.
    text: Vec<u8>,
    cells: Vec<Span>,
}

/// Where a cell lies.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    quoted: bool,
}

impl<R: BufRead> Records<R> {
    /// The records after so many lines that are left out.
    pub fn new(mut input: R, separator: u8, skip: usize) -> Result<Records<R>, Failure> {
        let mut lines = 0;
        while lines < skip && input.skip_until(b'\n')? > 0 {
            lines += 1;
        }
        let line = lines + 1;
        Ok(Records { input, separator, lines, line, text: Vec::new(), cells: Vec::new() })
    }

    /// How many lines have been read or left out.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whether nothing is left.
    pub fn at_end(&mut self) -> Result<bool, Failure> {
        Ok(self.input.fill_buf()?.is_empty())
    }

    /// Reads the next record; false at the end. An empty line is a record with one empty cell where
    /// `blank` says so, and otherwise passed over.
    pub fn next(&mut self, blank: bool) -> Result<bool, Failure> {
        loop {
            self.text.clear();
            self.cells.clear();
            if self.more()? == 0 {
                return Ok(false);
            }
            self.line = self.lines;
            if self.line == 1 {
                let mark = text_start(&self.text).map_err(|problem| self.failure(problem))?;
                self.text.drain(..mark);
            }
            // A byte order mark alone is no line.
            if self.end() > 0 || blank && !self.text.is_empty() {
                break;
            }
        }
        let mut at = 0;
        loop {
            at = match self.text.get(at) {
                Some(b'"') => self.quoted(at)?,
                _ => self.plain(at),
            };
            if at == self.end() {
                return Ok(true);
            }
            at += 1;
        }
    }

    /// Adds a line to the text; how many bytes it has.
    fn more(&mut self) -> Result<usize, Failure> {
        let n = self.input.read_until(b'\n', &mut self.text).map_err(|error| {
            let at = Some(Position { line: self.lines + 1, column: 0 });
            Failure { at, ..Failure::from(error) }
        })?;
        self.lines += usize::from(n > 0);
        Ok(n)
    }

    /// Where the text ends, without the last line break.
    fn end(&self) -> usize {
        let line = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        line.strip_suffix(b"\r").unwrap_or(line).len()
    }

    /// Takes a cell that is not quoted; where it ends.
    fn plain(&mut self, start: usize) -> usize {
        let line = &self.text[start..self.end()];
        let length = memchr::memchr(self.separator, line).unwrap_or(line.len());
        let end = start + length;
        self.cells.push(Span { start, end, quoted: false });
        end
    }

    /// Takes a cell whose quote opens here, moving what it stands for to its start; where it ends.
    fn quoted(&mut self, start: usize) -> Result<usize, Failure> {
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
        let rest = &self.text[from..self.end()];
        let rest = &rest[..memchr::memchr(self.separator, rest).unwrap_or(rest.len())];
        match rest.iter().find(|&&b| b != b' ' && b != b'\t') {
            None => {}
            Some(b'\r') => return Err(self.failure(Problem::CarriageReturns)),
            Some(_) => {
                let column = CsvColumn { number: self.cells.len() + 1, name: None };
                let rest = String::from_utf8_lossy(rest).into_owned();
                return Err(self.failure(Problem::AfterQuote(column, rest)));
            }
        }
        self.cells.push(Span { start, end: to, quoted: true });
        Ok(from + rest.len())
    }

    /// How many cells the record has.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// A cell of the record, and whether it stood in quotes.
    pub fn cell(&self, place: usize) -> (&[u8], bool) {
        self.cells.get(place).map_or((b"", false), |c| (&self.text[c.start..c.end], c.quoted))
    }

    /// A problem with the record.
    pub fn failure(&self, problem: Problem) -> Failure {
        let at = Some(Position { line: self.line, column: 0 });
        Failure { at, ..Failure::from(problem) }
    }
}
