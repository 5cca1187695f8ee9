//! Source files and places in them.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A range of bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The place of things that stand in no file.
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    /// The bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// From the start of `self` to the end of `other` (of the same file).
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether it stands in no file.
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    text: String,
    line_starts: Vec<usize>,
}

/// The source files of a session, by [`FileId`]. Copies share their texts.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Arc<File>>,
}

impl SourceMap {
    /// Adds a file under the name that messages show.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        self.files.push(Arc::new(File { name: name.into(), text, line_starts }));
        FileId(self.files.len() as u32 - 1)
    }

    /// The file that was added last under a name.
    pub fn named(&self, name: &str) -> Option<FileId> {
        let found = self.files.iter().rposition(|file| file.name == name)?;
        Some(FileId(found as u32))
    }

    /// Whether there is such a file.
    pub fn has(&self, file: FileId) -> bool {
        (file.0 as usize) < self.files.len()
    }

    /// The byte at a line and column.
    pub fn offset(&self, file: FileId, at: LineColumn) -> Option<usize> {
        let range = self.line_range(file, at.line.checked_sub(1)?)?;
        let line = self.text(file).get(range.clone())?;
        let column = at.column.checked_sub(1)?;
        let before = line.char_indices().nth(column).map_or(line.len(), |(i, _)| i);
        Some(range.start + before)
    }

    /// The name of a file.
    pub fn name(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("<none>", |f| &f.name)
    }

    /// The text of a file.
    pub fn text(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |f| &f.text)
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The text between the start of the line and a span.
    pub fn before_on_line(&self, span: Span) -> &str {
        let before = self.text(span.file).get(..span.start as usize).unwrap_or("");
        before.rfind('\n').map_or(before, |i| &before[i + 1..])
    }

    /// The 0-based line that holds byte `offset`.
    pub fn line_index(&self, file: FileId, offset: usize) -> usize {
        let Some(f) = self.files.get(file.0 as usize) else { return 0 };
        f.line_starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The bytes of a 0-based line, its line break included.
    pub fn line_range(&self, file: FileId, line: usize) -> Option<std::ops::Range<usize>> {
        let f = self.files.get(file.0 as usize)?;
        let start = *f.line_starts.get(line)?;
        Some(start..f.line_starts.get(line + 1).copied().unwrap_or(f.text.len()))
    }

    /// The line and column of the start of a span.
    pub fn line_column(&self, span: Span) -> LineColumn {
        let line = self.line_index(span.file, span.start as usize);
        let start = self.line_range(span.file, line).map_or(0, |r| r.start);
        let before = self.text(span.file).get(start..span.start as usize).unwrap_or("");
        LineColumn { line: line + 1, column: before.chars().count() + 1 }
    }
}
