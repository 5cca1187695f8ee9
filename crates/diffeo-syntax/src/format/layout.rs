//! From a document to lines: which groups stand on one line, and where the others are broken.
//!
//! A document is a list of events in the order of the text, brackets of groups among them, in the way
//! of Oppen ("Prettyprinting", 1980). A group is flat if it and what follows up to the next possible
//! line break fit the line. With the widths summed up beforehand each decision takes constant
//! time, so that the whole takes linear time, without recursion.

use super::source::{Comment, CommentPlace};

/// By how much a level is indented.
const STEP: usize = 2;
/// Deeper levels are not indented further: the text stays linear in the document.
const MAX_INDENT: usize = 80;
/// How far a comment stands from what it stands behind.
const COMMENT_GAP: usize = 2;

/// A piece of a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event<'t> {
    /// A word.
    Text(&'t str),
    /// A word that is there only in a broken group.
    IfBroken(&'static str),
    /// A space.
    Space,
    /// A possible line break; `blank` is whether an empty line is kept there.
    Line { kind: LineBreak, blank: bool },
    /// A comment.
    Comment(usize),
    /// What follows is indented further.
    Indent,
    /// The end of that.
    Dedent,
    /// A group starts.
    Open(usize),
    /// It ends.
    Close,
}

/// When a line is broken, and what stands there if it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineBreak {
    /// With its group; otherwise a space.
    Space,
    /// With its group; otherwise nothing.
    Nothing,
    /// In a broken group where the group that follows does not fit here; otherwise a space. A group that
    /// `hugs` and would not fit on a line of its own either begins on the first line of those around it.
    Fill { group: usize, hugs: bool },
    /// Before the bracket that closes a call: with its group, and behind a function that is hugged;
    /// otherwise nothing.
    Close,
    /// Before the `then` of a broken group: where the condition took several lines, or the body of
    /// this group would not fit beside it but fits beside `then` on a line of its own; otherwise a space.
    Then(usize),
    /// Always.
    Hard,
}

/// What a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    /// Its lines are broken together.
    Plain,
    /// What follows `=`, `->`, `then`, `else`: a space and the value on the same line if it fits
    /// or, if it `hugs`, when its brackets are broken; otherwise on the next line, indented.
    Body {
        /// Whether it is in brackets that may open on this line.
        hugs: bool,
    },
    /// The arguments of a call, or an expression in parentheses: its lines are broken together, or only
    /// those of its last element, which is hugged.
    Call(Option<Hug>),
}

/// The last element of a call, whose brackets may open on the line of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hug {
    pub(super) kind: Hugged,
    /// The events before it and behind it.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What is hugged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hugged {
    /// Something in brackets.
    Brackets,
    /// A function, whose body is indented on the next line.
    Function,
    /// A call, unless it fits on a line of its own.
    Call,
}

/// A group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) sort: Sort,
    /// The event up to which, with what follows up to the next possible break, it must fit to be flat.
    pub(super) end: usize,
    /// Whether it cannot be flat.
    pub(super) broken: bool,
    /// Whether a body starts on the next line in any case.
    pub(super) on_next_line: bool,
}

/// A document.
#[derive(Debug, Default)]
pub(super) struct Doc<'t> {
    pub(super) events: Vec<Event<'t>>,
    pub(super) groups: Vec<Group>,
}

/// The text of a document in lines of this width where that is possible, with a line break at its end
/// unless it is empty.
pub(super) fn layout(doc: &Doc<'_>, comments: &[Comment<'_>], width: usize) -> String {
    let mut writer = LayoutWriter {
        doc,
        comments,
        width,
        widths: Widths::new(doc),
        out: String::new(),
        column: 0,
        line: 0,
        indent: 0,
        space: false,
        newline: None,
        behind: Vec::new(),
    };
    let mut levels = vec![GroupLevel::default()];
    for (i, event) in doc.events.iter().enumerate() {
        let level = levels.last().copied().unwrap_or_default();
        match *event {
            Event::Text(text) => writer.text(text),
            Event::IfBroken(text) if level.mode == Mode::Broken => writer.text(text),
            Event::IfBroken(_) => {}
            Event::Space => writer.space = true,
            Event::Line { kind, blank } => {
                if writer.breaks(i, kind, level) {
                    writer.newline(blank);
                } else {
                    writer.space |= !matches!(kind, LineBreak::Nothing | LineBreak::Close);
                }
            }
            Event::Comment(comment) => writer.comment(comment),
            // What is hugged is indented by its own brackets.
            Event::Indent | Event::Dedent if matches!(level.mode, Mode::Hugging(_)) => {}
            Event::Indent => writer.indent += STEP,
            Event::Dedent => writer.indent -= STEP,
            Event::Open(group) => levels.push(writer.open(i, group, level)),
            Event::Close => {
                if levels.pop().is_some_and(|level| level.indents) {
                    writer.indent -= STEP;
                }
            }
        }
    }
    writer.finish()
}

/// The widths of a document written on one line.
struct Widths {
    /// Of what stands before each event.
    before: Vec<usize>,
    /// Of what stands before the first possible line break from each event on.
    to_break: Vec<usize>,
}

impl Widths {
    fn new(doc: &Doc<'_>) -> Widths {
        let is_body = |group: usize| matches!(doc.groups[group].sort, Sort::Body { .. });
        let mut total = 0;
        let mut before = Vec::with_capacity(doc.events.len() + 1);
        for event in &doc.events {
            before.push(total);
            total += match *event {
                Event::Text(text) => text.chars().count(),
                Event::Space => 1,
                Event::Line {
                    kind: LineBreak::Nothing | LineBreak::Close | LineBreak::Hard,
                    ..
                } => 0,
                Event::Line {
                    kind: LineBreak::Space | LineBreak::Fill { .. } | LineBreak::Then(_),
                    ..
                } => 1,
                Event::Open(group) => usize::from(is_body(group)),
                Event::IfBroken(_)
                | Event::Comment(_)
                | Event::Indent
                | Event::Dedent
                | Event::Close => 0,
            };
        }
        before.push(total);
        let mut to_break = vec![total; before.len()];
        for (i, event) in doc.events.iter().enumerate().rev() {
            to_break[i] = match *event {
                Event::Line { .. } | Event::Comment(_) => before[i],
                Event::Open(group) if is_body(group) => before[i],
                _ => to_break[i + 1],
            };
        }
        Widths { before, to_break }
    }

    /// The width from one event to the first possible line break at or after another.
    fn between(&self, start: usize, end: usize) -> usize {
        self.to_break[end] - self.before[start]
    }
}

/// How the lines of a group are written.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// Broken.
    #[default]
    Broken,
    /// Flat, as is all within.
    Flat,
    /// Flat but for what is hugged.
    Hugging(Hugged),
}

/// An open group.
#[derive(Clone, Copy, Default)]
struct GroupLevel {
    mode: Mode,
    /// Whether its end is the end of an indentation.
    indents: bool,
    /// The line on which it started.
    line: usize,
}

/// A comment that stands behind something, or on the line below one that does.
struct Behind {
    /// Where it starts in the output.
    at: usize,
    /// Its line and the width of what stands before it.
    line: usize,
    column: usize,
    comment: usize,
}

struct LayoutWriter<'d, 't> {
    doc: &'d Doc<'t>,
    comments: &'d [Comment<'t>],
    width: usize,
    widths: Widths,
    out: String,
    column: usize,
    line: usize,
    indent: usize,
    /// Whether a space comes before the next word.
    space: bool,
    /// Whether a line break comes before the next word, and whether an empty line.
    newline: Option<bool>,
    behind: Vec<Behind>,
}

impl LayoutWriter<'_, '_> {
    fn newline(&mut self, blank: bool) {
        self.newline = Some(blank || self.newline == Some(true));
        self.space = false;
    }

    /// The column of the next word.
    fn next_column(&self) -> usize {
        match self.newline {
            Some(_) => self.indented(0),
            None => self.column + usize::from(self.space),
        }
    }

    /// The column of a line that is indented `steps` further.
    fn indented(&self, steps: usize) -> usize {
        (self.indent + STEP * steps).min(MAX_INDENT)
    }

    fn open(&mut self, at: usize, group: usize, outer: GroupLevel) -> GroupLevel {
        let Group { sort, end, broken, on_next_line } = self.doc.groups[group];
        let room = self.width;
        let width = self.widths.between(at, end);
        let fits = |column: usize| !broken && column + width <= room;
        let line = self.line + self.newline.map_or(0, |blank| 1 + usize::from(blank));
        let level = |mode: Mode| GroupLevel { mode, indents: false, line };
        if outer.mode == Mode::Flat {
            self.space |= matches!(sort, Sort::Body { .. });
            return level(Mode::Flat);
        }
        match sort {
            Sort::Plain | Sort::Call(_) if fits(self.next_column()) => level(Mode::Flat),
            Sort::Plain | Sort::Call(None) => level(Mode::Broken),
            Sort::Call(Some(hug)) => {
                let head = self.next_column() + self.widths.between(at, hug.start);
                let inside = self.widths.between(hug.start, hug.end);
                let fits_below = !broken && self.indented(1) + inside <= room;
                let hugs = head <= room && !(hug.kind == Hugged::Call && fits_below);
                level(if hugs { Mode::Hugging(hug.kind) } else { Mode::Broken })
            }
            Sort::Body { hugs } => {
                // Where a function is hugged, its body is broken, and so is that of a function in it.
                let hugged = outer.mode == Mode::Hugging(Hugged::Function);
                // The space before a body counts as a part of it.
                let flat = !hugged && !on_next_line && fits(self.column);
                let below = self.indented(1) - 1;
                let head = self.column + 1 + self.widths.between(at + 1, at + 1);
                if flat || hugs && !on_next_line && !fits(below) && head <= room {
                    self.space = true;
                    return level(match flat {
                        true => Mode::Flat,
                        false => outer.mode,
                    });
                }
                self.newline(false);
                self.indent += STEP;
                GroupLevel { indents: true, ..level(Mode::Broken) }
            }
        }
    }

    /// Whether there is a line break at this possible one.
    fn breaks(&self, at: usize, kind: LineBreak, level: GroupLevel) -> bool {
        let fits = |column: usize, group: usize| {
            let Group { end, broken, on_next_line, .. } = self.doc.groups[group];
            !broken && !on_next_line && column + self.widths.between(at, end) <= self.width
        };
        match (kind, level.mode) {
            (LineBreak::Hard, _) => true,
            (LineBreak::Close, Mode::Hugging(kind)) => kind == Hugged::Function,
            (_, Mode::Flat | Mode::Hugging(_)) => false,
            (LineBreak::Space | LineBreak::Nothing | LineBreak::Close, Mode::Broken) => true,
            (LineBreak::Fill { group, hugs }, Mode::Broken) => {
                let head = self.column + self.widths.between(at, at + 1);
                let below = self.indented(0).saturating_sub(1);
                let hugs = hugs && self.line == level.line && head <= self.width;
                !fits(self.column, group) && (!hugs || fits(below, group))
            }
            (LineBreak::Then(_), Mode::Broken) if self.line > level.line => true,
            (LineBreak::Then(body), Mode::Broken) => {
                !fits(self.column, body) && fits(self.indented(0).saturating_sub(1), body)
            }
        }
    }

    /// Writes the line break or the space that is due.
    fn lead(&mut self) {
        match self.newline.take() {
            Some(_) if self.out.is_empty() => {}
            Some(blank) => {
                self.end_line();
                if blank {
                    self.end_line();
                }
                self.column = self.indented(0);
                self.out.extend(std::iter::repeat_n(' ', self.column));
            }
            None if self.space => {
                self.out.push(' ');
                self.column += 1;
            }
            None => {}
        }
        self.space = false;
    }

    fn end_line(&mut self) {
        self.out.push('\n');
        self.line += 1;
        self.column = 0;
    }

    fn text(&mut self, text: &str) {
        self.lead();
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn comment(&mut self, index: usize) {
        let comment = &self.comments[index];
        let below = self.behind.last().is_some_and(|b| b.line == self.line);
        match comment.place {
            CommentPlace::Trailing if self.newline.is_none() && !self.out.is_empty() => {
                self.space = false
            }
            CommentPlace::Continued if below => self.end_line(),
            CommentPlace::Trailing | CommentPlace::Continued | CommentPlace::Own => {
                self.newline(false);
                self.text(comment.text);
                return self.newline(false);
            }
        }
        self.behind.push(Behind {
            at: self.out.len(),
            line: self.line,
            column: self.column,
            comment: index,
        });
        self.out.push_str(comment.text);
        self.newline = Some(false);
    }

    /// The text, with the comments behind something moved to their columns: what stood below each other
    /// does so again.
    fn finish(mut self) -> String {
        if !self.out.is_empty() {
            self.end_line();
        }
        let mut aligned = String::with_capacity(self.out.len() + COMMENT_GAP * self.behind.len());
        let mut done = 0;
        let together = |a: &Behind, b: &Behind| {
            let (from, to) = (&self.comments[a.comment], &self.comments[b.comment]);
            a.line + 1 == b.line && from.line + 1 == to.line && from.column == to.column
        };
        for block in self.behind.chunk_by(together) {
            let column = COMMENT_GAP + block.iter().map(|b| b.column).max().unwrap_or(0);
            for behind in block {
                aligned.push_str(&self.out[done..behind.at]);
                aligned.extend(std::iter::repeat_n(' ', column - behind.column));
                done = behind.at;
            }
        }
        aligned.push_str(&self.out[done..]);
        aligned
    }
}
