//! The text of a table into records of cells, one record at a time, with the line that each begins
//! on.
//!
//! The format is RFC 4180, with any separator, comments, any line break and lines of any length. Lines end with line
//! feeds, before which carriage returns may stand, or all with carriage returns, as the first one does. A cell in
//! quotes may hold separators, line breaks and doubled quotes; that it stood in quotes is kept,
//! because an empty text is not a missing one. It is read here and not by a library because those
//! forget that, take an unclosed quote for a cell that goes on to the end of the file, and do not
//! know the line of a record after empty ones.

use super::cell::CellText;
use super::table::TableSource;
use super::ReadFailure;
use crate::error::{CsvColumn, Position, Problem};
use std::io::{self, BufRead};

/// How a table is written as text.
pub(super) struct TextFormat {
    /// What stands between cells.
    pub separates: Separates,
    /// Whether the options say so.
    pub separator_given: bool,
    /// What begins a comment.
    pub comment: Option<char>,
    /// Whether the options say that it is UTF-16.
    pub utf16: bool,
    /// Whether the file has the mark of UTF-8.
    pub utf8_mark: bool,
}

/// Records read from a text, one after the other.
pub(super) struct Records<R> {
    input: R,
    format: TextFormat,
    comment: Option<Vec<u8>>,
    /// What ends a line: a line feed, or a carriage return.
    line_end: u8,
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
    /// How many empty lines above it are records still to come, before it.
    empty: usize,
    /// Whether the text is that of the next record.
    held: bool,
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

/// The line break of a text that begins so: a carriage return, if the first one outside of quotes is one alone.
fn line_break(start: &[u8]) -> u8 {
    let mut quoted = false;
    for (i, byte) in start.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            b'\r' if !quoted => {
                // The last byte may be followed by a line feed that is not read yet.
                let alone = start[i..].iter().find(|b| **b != b'\r').is_some_and(|b| *b != b'\n');
                return if alone { b'\r' } else { b'\n' };
            }
            _ => {}
        }
    }
    b'\n'
}

fn failed(error: io::Error, line: usize) -> ReadFailure {
    ReadFailure { at: Some(Position { line, column: 0 }), ..ReadFailure::from(error) }
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
    pub fn new(mut input: R, format: TextFormat, skip: usize) -> Result<Records<R>, ReadFailure> {
        let line_end = line_break(input.fill_buf().map_err(|error| failed(error, 1))?);
        let mut lines = 0;
        while lines < skip {
            match input.skip_until(line_end).map_err(|error| failed(error, lines + 1))? {
                0 => break,
                _ => lines += 1,
            }
        }
        let comment = format.comment.map(|c| c.to_string().into_bytes());
        Ok(Records {
            input,
            format,
            comment,
            line_end,
            lines,
            line: lines + 1,
            records: 0,
            text: Vec::new(),
            cut: None,
            cells: Vec::new(),
            empty: 0,
            held: false,
        })
    }

    /// How many lines have been read or left out.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whether nothing is left.
    pub fn at_end(&mut self) -> Result<bool, ReadFailure> {
        let line = self.lines + 1;
        Ok(self.input.fill_buf().map_err(|error| failed(error, line))?.is_empty())
    }

    /// Adds a line to the text; how many bytes it has.
    fn more(&mut self) -> Result<usize, ReadFailure> {
        let line = self.lines + 1;
        let read = self.input.read_until(self.line_end, &mut self.text);
        let n = read.map_err(|error| failed(error, line))?;
        self.lines += usize::from(n > 0);
        Ok(n)
    }

    /// Where the text ends, without the last line break and a comment.
    fn end(&self) -> usize {
        let mut line = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        // More than one come of programs that make line breaks of line feeds twice.
        while let Some(rest) = line.strip_suffix(b"\r") {
            line = rest;
        }
        self.cut.map_or(line.len(), |cut| cut.min(line.len()))
    }

    /// The line break that is none in this file.
    fn stray(&self) -> u8 {
        if self.line_end == b'\n' {
            b'\r'
        } else {
            b'\n'
        }
    }

    /// Whether a comment is all that the line has.
    fn is_comment(&self) -> bool {
        let comment = |comment: &Vec<u8>| self.text.trim_ascii_start().starts_with(comment);
        self.comment.as_ref().is_some_and(comment)
    }

    /// Where a cell ends that begins here: before a separator, a comment or the end.
    fn stop(&mut self, start: usize) -> usize {
        let line = &self.text[start..self.end()];
        let mut length = self.format.separates.find(line).unwrap_or(line.len());
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
    fn plain(&mut self, start: usize) -> Result<usize, ReadFailure> {
        let end = self.stop(start);
        if memchr::memchr(self.stray(), &self.text[start..end]).is_some() {
            return Err(self.failure(Problem::MixedBreaks));
        }
        self.cells.push(CellSpan { start, end, quoted: false });
        Ok(end)
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
            Some(byte) if *byte == self.stray() => {
                return Err(self.failure(Problem::MixedBreaks));
            }
            Some(_) => {
                let column = CsvColumn { number: self.cells.len() + 1, name: None };
                let rest = String::from_utf8_lossy(rest).into_owned();
                return Err(self.failure(Problem::AfterQuote(column, rest)));
            }
        }
        self.cells.push(CellSpan { start, end: to, quoted: true });
        Ok(stop)
    }

    /// Reads the next line that is neither empty nor a comment, and counts the empty ones above it; false at the end.
    fn line(&mut self) -> Result<bool, ReadFailure> {
        self.empty = 0;
        loop {
            self.text.clear();
            if self.more()? == 0 {
                return Ok(false);
            }
            self.line = self.lines;
            if self.is_comment() {
                continue;
            }
            let line = &self.text[..self.end()];
            // Tabs are no blanks where they are separators.
            if !line.trim_ascii().is_empty()
                || matches!(self.format.separates, Separates::Bytes(_))
                    && self.format.separates.find(line).is_some()
            {
                return Ok(true);
            }
            self.empty += 1;
        }
    }

    /// Decides what separates cells, by the first line outside of quotes.
    fn decide(&mut self) {
        let Separates::Unknown { comma } = self.format.separates else { return };
        let end = self.end();
        let outside: Vec<u8> =
            self.text[..end].split(|b| *b == b'"').step_by(2).flatten().copied().collect();
        let found = [b'\t', b';', b','].into_iter().find(|b| outside.contains(b));
        self.format.separates = match found {
            Some(b',') if !comma => Separates::Blanks,
            Some(byte) => Separates::Bytes(vec![byte]),
            None => Separates::Blanks,
        };
    }

    /// Takes the cells of the text.
    fn split(&mut self) -> Result<(), ReadFailure> {
        let blanks = self.format.separates == Separates::Blanks;
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
                _ => self.plain(at)?,
            };
            if at >= self.end() {
                return Ok(());
            }
            at += match &self.format.separates {
                Separates::Bytes(bytes) => bytes.len(),
                Separates::Blanks | Separates::Nothing | Separates::Unknown { .. } => 1,
            };
        }
    }

    /// What seems to separate the cells instead, where a problem shows that the separator is another.
    fn other_separator(&self, problem: &Problem) -> Option<char> {
        let others = || {
            [',', ';', '\t', '|'].into_iter().filter(|c| !self.format.separates.is_byte(*c as u8))
        };
        let only = self.cell(0);
        let has = |text: &[u8], c: char| text.contains(&(c as u8));
        let is_number = |text: &[u8]| {
            let text = text.trim_ascii();
            text.is_empty()
                || text.iter().any(u8::is_ascii_digit)
                    && text.iter().all(|b| b.is_ascii_digit() || b"+-.,eE".contains(b))
        };
        if self.len() == 1 && !only.quoted {
            let words = || only.text.split(|b| is_blank(*b)).filter(|word| !word.is_empty());
            // Whether the line would have cells as they are wanted.
            let fits = |cells: &[&[u8]]| match problem {
                Problem::MissingColumn(name, ..) => {
                    cells.len() > 1 && cells.iter().any(|c| c.trim_ascii() == name.as_bytes())
                }
                Problem::Cells { wanted, .. } => cells.len() == *wanted,
                Problem::Cell(cell) => cells.len() > 1 && cell.row.free,
                _ => false,
            };
            // The names of columns may be written otherwise.
            let named = matches!(problem, Problem::MissingColumn(..));
            let found = others().find(|c| {
                let cells: Vec<&[u8]> = only.text.split(|b| *b == *c as u8).collect();
                has(only.text, *c) && (fits(&cells) || named && *c != '|')
            });
            if found.is_some() {
                return found;
            }
            let cells: Vec<&[u8]> = words().collect();
            let blanks = fits(&cells) && (named || words().all(is_number));
            return blanks.then_some(' ');
        }
        // With decimal commas, `1,5;2,5` has three cells by commas.
        let numbers = |c: char| {
            (0..self.len()).any(|i| {
                let cell = self.cell(i);
                let parts = || cell.text.split(|b| *b == c as u8);
                !cell.quoted && has(cell.text, c) && parts().all(is_number) && cell.text.len() > 1
            })
        };
        others().filter(|c| *c != ',').find(|c| numbers(*c))
    }

    /// Whether the line is full of zeros, as in UTF-16 and UTF-32, and in which.
    fn zeros(&self) -> Option<Problem> {
        let zeros = self.text.iter().filter(|b| **b == 0).count();
        let most = |of: usize| zeros > 0 && of * zeros + of >= self.text.len();
        if !most(3) {
            return None;
        }
        // Two of four bytes are left where UTF-32 is read as UTF-16.
        let three = 5 * zeros >= 3 * self.text.len();
        Some(Problem::Zeros(three || self.format.utf16))
    }
}

impl<R: BufRead> TableSource for Records<R> {
    fn next(&mut self, blank: bool) -> Result<bool, ReadFailure> {
        self.cells.clear();
        self.cut = None;
        if !self.held && !self.line()? {
            return Ok(false);
        }
        self.held = blank && self.empty > 0;
        if self.held {
            self.empty -= 1;
            self.cells.push(CellSpan { start: 0, end: 0, quoted: false });
            self.records += 1;
            return Ok(true);
        }
        self.empty = 0;
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
        CellText { text, quoted, ..CellText::default() }
    }

    fn failure(&self, problem: Problem) -> ReadFailure {
        let about_cells = matches!(
            problem,
            Problem::Cells { .. }
                | Problem::Cell(..)
                | Problem::MissingCell(..)
                | Problem::MissingColumn(..)
        );
        let other = || self.other_separator(&problem).filter(|_| about_cells);
        let problem = if let Some(zeros) = self.zeros() {
            zeros
        } else if let Some(found) = other() {
            let commas = (0..self.len()).any(|i| self.cell(i).text.contains(&b','))
                || self.format.separates.is_byte(b',') && self.len() > 1;
            Problem::Separator { found, one: self.len() == 1, commas: commas && found == ';' }
        } else {
            match problem {
                Problem::Cell(mut cell) => {
                    // A number with a decimal comma stands in quotes where commas separate cells.
                    for way in &mut cell.ways {
                        if self.format.separates.is_byte(b',')
                            && !self.format.separator_given
                            && way.contains(&("decimal", "comma"))
                        {
                            way.insert(0, ("sep", "comma"));
                        }
                    }
                    Problem::Cell(cell)
                }
                Problem::CellNotUtf8(column, _) => {
                    Problem::CellNotUtf8(column, self.format.utf8_mark)
                }
                problem => problem,
            }
        };
        let at = Some(Position { line: self.line, column: 0 });
        ReadFailure { at, ..ReadFailure::from(problem) }
    }
}
