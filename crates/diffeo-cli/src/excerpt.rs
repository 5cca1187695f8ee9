//! The lines of source that a message shows, as codespan-reporting wants them.
//!
//! Only the lines that are needed are copied; a very long one is cut down to a window around the
//! first label on it, and characters that would disturb a terminal are replaced. Lines keep their
//! numbers, columns those of the file.

use crate::printable::{disturbs, printable};
use codespan_reporting::files::{Error, Files};
use diffeo_base::{FileId, SourceMap, Span};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Lines up to this many characters are shown whole.
const WHOLE: usize = 200;
/// How many characters a window shows before and after its label's start.
const BEFORE: usize = 60;
const AFTER: usize = 120;
/// How many lines below the start and above the end of a label may be shown.
const CONTEXT: usize = 4;

/// The excerpts that the labels of one message need.
pub struct Excerpts<'a> {
    sources: &'a SourceMap,
    files: Vec<Excerpt>,
}

struct Excerpt {
    file: FileId,
    text: String,
    lines: BTreeMap<usize, ExcerptLine>,
}

/// A line of the file and its copy.
struct ExcerptLine {
    /// Where its copy stands in the excerpt's text, with a line break.
    copy: Range<usize>,
    /// The bytes of the file that are shown.
    window: Range<usize>,
    /// How many characters of the line come before them.
    characters_before: usize,
    /// The length of the mark for left-out text at the start of the copy.
    lead: usize,
}

impl<'a> Excerpts<'a> {
    /// The lines that these labels are on.
    pub fn new(sources: &'a SourceMap, labels: &[Span]) -> Self {
        let mut excerpts = Excerpts { sources, files: Vec::new() };
        for &label in labels {
            let label = clamped(sources, label);
            if !excerpts.files.iter().any(|excerpt| excerpt.file == label.file) {
                let file = label.file;
                let labels = labels.iter().map(|&l| clamped(sources, l)).filter(|l| l.file == file);
                excerpts.files.push(Excerpt::new(sources, file, &labels.collect::<Vec<_>>()));
            }
        }
        excerpts
    }

    /// Where a label stands: the excerpt, and the bytes in its text.
    pub fn place(&self, label: Span) -> Option<(usize, Range<usize>)> {
        let label = clamped(self.sources, label);
        let id = self.files.iter().position(|excerpt| excerpt.file == label.file)?;
        let start = self.files[id].place(self.sources, label.start as usize)?;
        let end = self.files[id].place(self.sources, label.end as usize)?;
        Some((id, start..end.max(start)))
    }

    fn excerpt(&self, id: usize) -> Result<&Excerpt, Error> {
        self.files.get(id).ok_or(Error::FileMissing)
    }
}

/// A label within the text, on character boundaries, without a line break at its end.
fn clamped(sources: &SourceMap, label: Span) -> Span {
    let text = sources.text(label.file);
    let boundary =
        |at: usize| (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let start = boundary(label.start as usize);
    let mut end = boundary(label.end as usize).max(start);
    let labelled = &text[start..end];
    let kept = labelled.trim_end_matches(['\n', '\r']).len();
    end = start + kept;
    Span::new(label.file, start, end)
}

impl Excerpt {
    fn new(sources: &SourceMap, file: FileId, labels: &[Span]) -> Self {
        // Each line with where its window is to begin.
        let mut wanted: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for label in labels {
            let (start, end) = (label.start as usize, label.end as usize);
            let first = sources.line_index(file, start);
            let last = sources.line_index(file, end);
            for line in
                (first..=last.min(first + CONTEXT)).chain(last.saturating_sub(CONTEXT)..=last)
            {
                wanted.entry(line).or_default();
                // Shown between two labels that are two lines apart.
                wanted.entry(line + 1).or_default();
            }
            wanted.entry(first).or_default().get_or_insert(start);
            wanted.entry(last).or_default().get_or_insert(end);
        }
        let mut excerpt = Excerpt { file, text: String::new(), lines: BTreeMap::new() };
        for (line, focus) in wanted {
            if let Some(range) = sources.line_range(file, line) {
                let content = sources.text(file)[range.clone()].trim_end_matches(['\n', '\r']);
                excerpt.add(line, range.start, content, focus);
            }
        }
        excerpt
    }

    fn add(&mut self, line: usize, start: usize, content: &str, focus: Option<usize>) {
        let window = window(content, focus.map_or(0, |at| at.saturating_sub(start)));
        let copy_start = self.text.len();
        if window.start > 0 {
            self.text.push_str("… ");
        }
        let lead = self.text.len() - copy_start;
        self.text.extend(content[window.clone()].chars().map(visible));
        if window.end < content.len() {
            self.text.push_str(" …");
        }
        self.text.push('\n');
        let copied = ExcerptLine {
            copy: copy_start..self.text.len(),
            characters_before: content[..window.start].chars().count(),
            window: start + window.start..start + window.end,
            lead,
        };
        self.lines.insert(line, copied);
    }

    /// A byte of the file in the excerpt; what is left out is at the mark for it.
    fn place(&self, sources: &SourceMap, byte: usize) -> Option<usize> {
        let line = self.lines.get(&sources.line_index(self.file, byte))?;
        let text = sources.text(self.file);
        Some(if byte < line.window.start {
            line.copy.start
        } else if byte > line.window.end {
            line.copy.end - 1
        } else {
            let before = text.get(line.window.start..byte)?;
            line.copy.start
                + line.lead
                + before.chars().map(|c| visible(c).len_utf8()).sum::<usize>()
        })
    }
}

/// The part of a line to show.
fn window(content: &str, focus: usize) -> Range<usize> {
    if content.len() <= WHOLE || content.chars().nth(WHOLE).is_none() {
        return 0..content.len();
    }
    let focus = focus.min(content.len());
    let start = content[..focus].char_indices().rev().nth(BEFORE).map_or(0, |(i, _)| i);
    let end = content[focus..].char_indices().nth(AFTER).map_or(content.len(), |(i, _)| focus + i);
    start..end
}

/// The character, unless it would disturb a terminal.
fn visible(c: char) -> char {
    match disturbs(c) {
        true => '\u{fffd}',
        false => c,
    }
}

impl<'f> Files<'f> for Excerpts<'_> {
    type FileId = usize;
    type Name = Cow<'f, str>;
    type Source = &'f str;

    fn name(&'f self, id: usize) -> Result<Cow<'f, str>, Error> {
        Ok(printable(self.sources.name(self.excerpt(id)?.file)))
    }

    fn source(&'f self, id: usize) -> Result<&'f str, Error> {
        Ok(&self.excerpt(id)?.text)
    }

    fn line_index(&'f self, id: usize, byte: usize) -> Result<usize, Error> {
        let lines = &self.excerpt(id)?.lines;
        let line = lines.iter().find(|(_, line)| byte < line.copy.end);
        line.or(lines.iter().next_back()).map(|(&index, _)| index).ok_or(Error::FileMissing)
    }

    fn line_number(&'f self, _: usize, line: usize) -> Result<usize, Error> {
        Ok(line + 1)
    }

    fn column_number(&'f self, id: usize, line: usize, byte: usize) -> Result<usize, Error> {
        let excerpt = self.excerpt(id)?;
        let Some(copied) = excerpt.lines.get(&line) else { return Ok(1) };
        let shown = excerpt.text.get(copied.copy.start + copied.lead..byte).unwrap_or("");
        Ok(copied.characters_before + shown.chars().count() + 1)
    }

    fn line_range(&'f self, id: usize, line: usize) -> Result<Range<usize>, Error> {
        // Lines that are asked for without being shown have no copy.
        Ok(self.excerpt(id)?.lines.get(&line).map_or(0..0, |line| line.copy.clone()))
    }
}
