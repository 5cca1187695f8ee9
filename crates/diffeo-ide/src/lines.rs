//! Positions in a text as the protocol counts them: lines from 0, columns in UTF-16 units or in bytes.

use diffeo_base::{FileId, SourceMap, Span};
use serde_json::{json, Value};

/// Positions in a file as the protocol counts them.
#[derive(Clone, Copy)]
pub(crate) struct LineIndex<'s> {
    pub sources: &'s SourceMap,
    pub file: FileId,
    /// Columns are in bytes; in UTF-16 units otherwise.
    pub utf8: bool,
}

impl<'s> LineIndex<'s> {
    pub fn text(self) -> &'s str {
        self.sources.text(self.file)
    }

    pub fn width(self, c: char) -> usize {
        if self.utf8 {
            c.len_utf8()
        } else {
            c.len_utf16()
        }
    }

    /// A line without its end, and where it begins.
    fn line(self, line: usize) -> Option<(usize, &'s str)> {
        let range = self.sources.line_range(self.file, line)?;
        let text = &self.text()[range.clone()];
        let text = text.strip_suffix('\n').map_or(text, |l| l.strip_suffix('\r').unwrap_or(l));
        Some((range.start, text))
    }

    /// Line and column of a byte; there is no column within the end of a line.
    pub fn place(self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text().len());
        let line = self.sources.line_index(self.file, offset);
        let (start, text) = self.line(line).unwrap_or((0, ""));
        let before = text.get(..(offset - start).min(text.len())).unwrap_or("");
        (line, before.chars().map(|c| self.width(c)).sum())
    }

    pub fn position(self, offset: usize) -> Value {
        let (line, column) = self.place(offset);
        json!({ "line": line, "character": column })
    }

    pub fn range(self, from: usize, to: usize) -> Value {
        json!({ "start": self.position(from), "end": self.position(to) })
    }

    pub fn span(self, span: Span) -> Value {
        self.range(span.start as usize, span.end as usize)
    }

    /// The byte of a position; the end of its line if it is beyond that.
    pub fn offset(self, position: &Value) -> usize {
        let line = position["line"].as_u64().unwrap_or(0) as usize;
        let column = position["character"].as_u64().unwrap_or(0) as usize;
        let Some((start, text)) = self.line(line) else { return self.text().len() };
        let (mut at, mut units) = (start, 0);
        for c in text.chars() {
            if units >= column {
                break;
            }
            units += self.width(c);
            at += c.len_utf8();
        }
        at
    }

    /// The start of the line after a byte.
    pub fn next_line(self, offset: usize) -> usize {
        let line = self.sources.line_index(self.file, offset);
        self.sources.line_range(self.file, line).map_or(0, |range| range.end)
    }
}
