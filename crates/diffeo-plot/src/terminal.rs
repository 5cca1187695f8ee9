//! A plot as characters: lines and dots of Braille, bars of blocks, numbers at the left and below.
//!
//! Each character has 2 by 4 dots of Braille. What stands over them (discs, bars, cells of a heat map) takes whole
//! characters. Colours are those of ANSI with 24 bits, if they are asked for; without them layers of points have
//! different signs.

use crate::color::{viridis, Color, LEVELS};
use crate::columns::{cells, count, cut, printable, FILLER};
use crate::draw::{clip, notice};
use crate::layout::{Layout, MarkForm};
use crate::model::{Figure, Plot};
use std::fmt::Write;

/// How to draw with characters.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// How many characters a line has.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
}

/// How many lines the names of bars take at most.
const NAMES: usize = 4;

/// The most names beside the y axis that have a line each.
const NAMED: usize = 40;

/// Narrower ones show nothing.
const LEAST: usize = 30;

/// Signs for points of one layer after another, where there are no colours.
const SIGNS: [char; 6] = ['●', '○', '×', '+', '◆', '□'];

/// Characters from light to dark, for heat maps without colours.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// A picture of lines, each of which ends with a line break.
pub fn terminal(plot: &Plot, style: Style) -> String {
    match plot {
        Plot::Plot(figure) => Drawing::new(figure, style, 0).text(),
        // One below the other, for a line has few characters.
        Plot::Grid { title, columns, plots } => {
            let mut out = String::new();
            if !title.is_empty() {
                out = format!("{}\n\n", cut(&printable(title), style.width.max(LEAST)));
            }
            // The axes of a column of the grid begin at one place.
            let columns = (*columns).max(1);
            let margins: Vec<usize> = plots.iter().map(|plot| margin(plot, style)).collect();
            let drawn: Vec<String> = plots
                .iter()
                .enumerate()
                .map(|(i, plot)| match plot {
                    Plot::Plot(figure) => {
                        let column = margins.iter().skip(i % columns).step_by(columns);
                        Drawing::new(figure, style, column.copied().max().unwrap_or(0)).text()
                    }
                    Plot::Grid { .. } => terminal(plot, style),
                })
                .collect();
            out + &drawn.join("\n")
        }
    }
}

/// The width of the numbers at the left of a figure.
fn margin(plot: &Plot, style: Style) -> usize {
    match plot {
        Plot::Plot(figure) => Left::new(&Layout::new(figure), style).width,
        Plot::Grid { .. } => 0,
    }
}

/// The texts at the left.
struct Left {
    ticks: Vec<(f64, String)>,
    /// Its width, and the number of lines beside it.
    width: usize,
    rows: usize,
}

impl Left {
    fn new(layout: &Layout<'_>, style: Style) -> Left {
        let width = style.width.max(LEAST);
        let names = &layout.figure.y.names;
        let rows = (width / 4).clamp(8, 20).max(names.len().min(NAMED));
        let mut ticks = layout.ticks(false, (rows / 4).max(2));
        if !names.is_empty() {
            ticks.iter_mut().for_each(|(_, name)| *name = cut(&printable(name), width / 2));
        }
        let widest = ticks.iter().map(|(_, text)| count(text)).max().unwrap_or(0);
        Left { ticks, width: widest.min(width / 2), rows }
    }
}

/// A character with its colours.
#[derive(Clone, Copy, Default)]
struct TerminalCell {
    /// A sign over the dots.
    sign: Option<char>,
    /// The dots of Braille, as bits.
    dots: u8,
    color: Option<Color>,
    /// The colour behind.
    back: Option<Color>,
}

struct Drawing<'a> {
    layout: Layout<'a>,
    style: Style,
    columns: usize,
    rows: usize,
    left: Vec<(f64, String)>,
    /// The width of the numbers at the left.
    margin: usize,
    cells: Vec<TerminalCell>,
    /// The notice in a frame that shows no data.
    notice: Option<&'static str>,
}

impl<'a> Drawing<'a> {
    /// A figure with at least so much room for the numbers at the left.
    fn new(figure: &'a Figure, style: Style, margin: usize) -> Drawing<'a> {
        let width = style.width.max(LEAST);
        let layout = Layout::new(figure);
        let Left { ticks: left, width: own, mut rows } = Left::new(&layout, style);
        let margin = margin.max(own);
        let mut columns = width - margin - 3;
        if let Some(aspect) = layout.aspect() {
            // A character is twice as high as wide.
            columns = ((2.0 * aspect * rows as f64) as usize).clamp(1, columns);
            rows = ((columns as f64 / (2.0 * aspect)) as usize).clamp(1, rows);
        }
        let cells = vec![TerminalCell::default(); columns * rows];
        let notice = notice(&layout);
        let mut drawing = Drawing { layout, style, columns, rows, left, margin, cells, notice };
        drawing.marks();
        drawing
    }

    /// The cell of a place in the unit square.
    fn cell(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let at = |part: f64, n: usize| ((part * n as f64) as usize).min(n - 1);
        (at(x, self.columns), at(1.0 - y, self.rows))
    }

    fn put(&mut self, (column, row): (usize, usize), change: impl FnOnce(&mut TerminalCell)) {
        if let Some(cell) = self.cells.get_mut(row * self.columns + column) {
            change(cell);
        }
    }

    fn dot(&mut self, (x, y): (usize, usize), color: Color) {
        // The bits of the dots, from above to below: left, right.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let bit = BITS[y % 4][x % 2];
        self.put((x / 2, y / 4), |cell| {
            cell.dots |= bit;
            cell.color = Some(color);
        });
    }

    /// A segment of dots, both ends in the unit square.
    fn segment(&mut self, from: (f64, f64), to: (f64, f64), color: Color, dashed: bool) {
        let (wide, high) = ((2 * self.columns) as f64, (4 * self.rows) as f64);
        let at = |(x, y): (f64, f64)| {
            ((x * wide).clamp(0.0, wide - 1.0), ((1.0 - y) * high).clamp(0.0, high - 1.0))
        };
        let ((x0, y0), (x1, y1)) = (at(from), at(to));
        let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0) as usize;
        for i in 0..=steps {
            let t = i as f64 / steps as f64;
            let (x, y) = ((x0 + t * (x1 - x0)) as usize, (y0 + t * (y1 - y0)) as usize);
            if !dashed || (x + y) % 6 < 3 {
                self.dot((x, y), color);
            }
        }
    }

    fn marks(&mut self) {
        let forms = std::mem::take(&mut self.layout.layers);
        let mut signs = 0;
        for (color, layer, form) in &forms {
            let color = *color;
            match form {
                MarkForm::Lines(runs) => {
                    for run in runs {
                        match run.as_slice() {
                            [lone] => self.segment_if(*lone, color),
                            run => {
                                for part in clip::line(run) {
                                    for pair in part.windows(2) {
                                        self.segment(pair[0], pair[1], color, layer.dashed);
                                    }
                                }
                            }
                        }
                    }
                }
                MarkForm::Points(points) => {
                    let sign = self.sign(signs);
                    signs += 1;
                    self.signs(points, sign, color);
                }
                MarkForm::Errors { bars, points } => {
                    for (x, low, high) in bars {
                        for part in clip::line(&[(*x, *low), (*x, *high)]) {
                            self.segment(part[0], part[1], color, false);
                        }
                    }
                    let sign = self.sign(signs);
                    signs += 1;
                    self.signs(points, sign, color);
                }
                MarkForm::Boxes(boxes) => {
                    boxes.iter().for_each(|(base, top)| self.bar(*base, *top, color));
                }
                MarkForm::Areas(runs) => {
                    runs.iter().for_each(|run| self.area(run, color));
                }
                MarkForm::Cells(cells) => {
                    cells.iter().for_each(|(a, b, level)| self.shade(*a, *b, *level));
                }
                MarkForm::Texts(texts) => {
                    for (at, text) in texts.iter().filter(|(at, _)| clip::holds(*at)) {
                        let (column, row) = self.cell(*at);
                        let text = cells(&printable(text));
                        // To the right, or where it ends beyond the axes and has room there, to the left
                        let end = column + 1 + text.len();
                        let start = match end > self.columns && text.len() <= column {
                            true => column - text.len(),
                            false => column + 1,
                        };
                        for (i, c) in text.into_iter().enumerate() {
                            if start + i < self.columns {
                                self.put((start + i, row), |cell| {
                                    cell.sign = Some(c);
                                    cell.color = None;
                                });
                            }
                        }
                    }
                }
            }
        }
        self.layout.layers = forms;
    }

    fn segment_if(&mut self, place: (f64, f64), color: Color) {
        if clip::holds(place) {
            self.segment(place, place, color, false);
        }
    }

    fn sign(&self, n: usize) -> char {
        if self.style.color {
            SIGNS[0]
        } else {
            SIGNS[n % SIGNS.len()]
        }
    }

    fn signs(&mut self, points: &[(f64, f64)], sign: char, color: Color) {
        for place in points.iter().filter(|p| clip::holds(**p)) {
            self.put(self.cell(*place), |cell| {
                cell.sign = Some(sign);
                cell.color = Some(color);
            });
        }
    }

    /// A bar of blocks, whose end is exact to an eighth of a character if it points upwards.
    fn bar(&mut self, base: (f64, f64), top: (f64, f64), color: Color) {
        const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let Some((low, high)) = clip::rect(base, top) else { return };
        let upwards = top.1 >= base.1;
        let (wide, tall) = (self.columns as f64, self.rows as f64);
        // Bars stand on the lower edge of a character, for there are no blocks that hang.
        let snapped = |y: f64| (y * tall).round() / tall;
        let (low, high) = match upwards {
            true => ((low.0, snapped(low.1)), high),
            false => (low, (high.0, snapped(high.1))),
        };
        let first = (low.0 * wide).round() as usize;
        // A space between bars that have room for it.
        let gap = usize::from((high.0 - low.0) * wide >= 3.0);
        let last = ((high.0 * wide).round() as usize).max(first + 1 + gap) - gap;
        for column in first..last.min(self.columns) {
            for row in 0..self.rows {
                // The part of this character that is covered, from below.
                let bottom = tall - 1.0 - row as f64;
                let part = |y: f64| (y * tall - bottom).clamp(0.0, 1.0);
                let covered = (part(high.1) - part(low.1)).max(0.0);
                let eighths = match upwards {
                    true => (covered * 8.0).round() as usize,
                    false => 8 * (covered.round() as usize),
                };
                if eighths > 0 {
                    self.put((column, row), |cell| {
                        cell.sign = Some(EIGHTHS[eighths.min(8)]);
                        cell.color = Some(color);
                    });
                }
            }
        }
    }

    fn area(&mut self, run: &[(f64, f64, f64)], color: Color) {
        for pair in run.windows(2) {
            let ((x0, low0, high0), (x1, low1, high1)) = (pair[0], pair[1]);
            let (from, to) = (x0.min(x1), x0.max(x1));
            let wide = self.columns as f64;
            let first = (from * wide - 0.5).ceil().max(0.0) as usize;
            for column in first..self.columns {
                let x = (column as f64 + 0.5) / wide;
                if x > to {
                    break;
                }
                let t = if x1 == x0 { 0.0 } else { (x - x0) / (x1 - x0) };
                let (low, high) = (low0 + t * (low1 - low0), high0 + t * (high1 - high0));
                for row in 0..self.rows {
                    let y = 1.0 - (row as f64 + 0.5) / self.rows as f64;
                    if y >= low.min(high) && y <= low.max(high) {
                        self.put((column, row), |cell| {
                            cell.sign = Some('░');
                            cell.color = Some(color);
                        });
                    }
                }
            }
        }
    }

    fn shade(&mut self, a: (f64, f64), b: (f64, f64), level: usize) {
        let Some((low, high)) = clip::rect(a, b) else { return };
        let at = |part: f64, n: usize| ((part * n as f64).round() as usize).min(n);
        let (left, right) = (at(low.0, self.columns), at(high.0, self.columns));
        let (top, bottom) = (at(1.0 - high.1, self.rows), at(1.0 - low.1, self.rows));
        for row in top..bottom {
            for column in left..right {
                let sign = match self.style.color {
                    true => ' ',
                    false => SHADES[level * SHADES.len() / LEVELS],
                };
                self.put((column, row), |cell| {
                    *cell = TerminalCell {
                        sign: Some(sign),
                        back: Some(viridis(level)),
                        ..TerminalCell::default()
                    };
                });
            }
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let (figure, margin) = (self.layout.figure, self.margin);
        let titles = [(&figure.title, true), (&figure.y.label, false)];
        for (text, middle) in titles.into_iter().filter(|(text, _)| !text.is_empty()) {
            let text = cut(&printable(text), margin + self.columns);
            let before = match middle {
                true => margin + 2 + self.columns.saturating_sub(count(&text)) / 2,
                false => 0,
            };
            out += &format!("{}{text}\n", " ".repeat(before));
        }
        for row in 0..self.rows {
            let tick =
                self.left.iter().find(|(at, _)| self.cell((0.0, at.clamp(0.0, 1.0))).1 == row);
            let (text, axis) = match tick {
                Some((_, text)) => (text.as_str(), '┤'),
                None => ("", '│'),
            };
            let _ = write!(out, "{}{text} {axis}", " ".repeat(margin.saturating_sub(count(text))));
            self.row(row, &mut out);
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
        self.below(&mut out);
        self.legend(&mut out);
        out
    }

    fn row(&self, row: usize, out: &mut String) {
        let mut colors = (None, None);
        for cell in &self.cells[row * self.columns..(row + 1) * self.columns] {
            let c = match (cell.sign, cell.dots) {
                (Some('░'), dots) if dots > 0 => braille(dots),
                (Some(sign), _) => sign,
                (None, 0) => ' ',
                (None, dots) => braille(dots),
            };
            if self.style.color && colors != (cell.color, cell.back) {
                colors = (cell.color, cell.back);
                out.push_str("\u{1b}[0m");
                if let Some(Color(r, g, b)) = cell.color.filter(|c| *c != crate::color::INK) {
                    let _ = write!(out, "\u{1b}[38;2;{r};{g};{b}m");
                }
                if let Some(Color(r, g, b)) = cell.back {
                    let _ = write!(out, "\u{1b}[48;2;{r};{g};{b}m");
                }
            }
            if c != FILLER {
                out.push(c);
            }
        }
        if colors != (None, None) {
            out.push_str("\u{1b}[0m");
        }
    }

    /// The x axis with its numbers or names, and its label.
    fn below(&self, out: &mut String) {
        let within = |(at, _): &(f64, String)| (-1e-9..=1.0 + 1e-9).contains(at);
        let column = |at: f64| self.cell((at.clamp(0.0, 1.0), 0.0)).0;
        let texts: Vec<(usize, Vec<char>)> = match self.layout.names().as_slice() {
            [] => {
                let ticks = self.ticks();
                ticks
                    .into_iter()
                    .filter(within)
                    .map(|(at, text)| (column(at), cells(&text)))
                    .collect()
            }
            names => {
                let all = names.iter().filter(|tick| within(tick));
                let all = all.map(|(at, name)| (*at, cut(&printable(name), self.columns)));
                all.map(|(at, text)| (column(at), cells(&text))).collect()
            }
        };
        let mut lines = vec![vec![' '; self.columns + 1]];
        let mut axis = vec!['─'; self.columns];
        for (column, line, start, text) in self.placed(texts) {
            axis[column] = '┬';
            while lines.len() <= line {
                lines.push(vec![' '; self.columns + 1]);
            }
            lines[line][start..start + text.len()].copy_from_slice(&text);
            // From a name in a lower line up to the axis, where nothing is in the way.
            for line in &mut lines[..line] {
                let around = line.iter().skip(column.saturating_sub(1)).take(3);
                if around.into_iter().all(|c| *c == ' ') {
                    line[column] = '│';
                }
            }
        }
        let indent = " ".repeat(self.margin + 1);
        let _ = writeln!(out, "{indent}└{}", axis.into_iter().collect::<String>());
        for line in lines {
            let line: String = line.into_iter().filter(|c| *c != FILLER).collect();
            let _ = writeln!(out, "{indent} {}", line.trim_end());
        }
        let label = cut(&printable(&self.layout.figure.x.label), self.columns);
        if !label.is_empty() {
            let before = (self.columns - count(&label)) / 2;
            let _ = writeln!(out, "{indent} {}{label}", " ".repeat(before));
        }
        if let Some(text) = self.notice {
            let _ = writeln!(out, "{indent} {text}");
        }
    }

    /// The numbers below the axis. Dates are as many as have room, for the one that begins a day must not be missing.
    fn ticks(&self) -> Vec<(f64, String)> {
        let mut wanted = (self.columns / 12).max(2);
        loop {
            let ticks = self.layout.x.ticks(wanted);
            let place =
                |(at, text): &(f64, String)| (self.cell((at.clamp(0.0, 1.0), 0.0)).0, cells(text));
            let texts: Vec<_> = ticks.iter().map(place).collect();
            let fit = fitted(&texts, 1, self.columns + 1).len() == texts.len();
            if !self.layout.x.dates || fit || wanted <= 2 {
                return ticks;
            }
            wanted -= 1;
        }
    }

    /// Where the texts below the axis stand, each in the middle below its column: column, line, first character. Names
    /// have as many lines as they need to be whole, up to [`NAMES`]; where these are too few, they are cut, or some are left
    /// out, as numbers are.
    fn placed(&self, texts: Vec<(usize, Vec<char>)>) -> Vec<(usize, usize, usize, Vec<char>)> {
        let names = !self.layout.names().is_empty();
        // A text may reach beyond the axis by one.
        let whole = fitted(&texts, if names { NAMES } else { 1 }, self.columns + 1);
        if !names || whole.len() == texts.len() {
            return whole;
        }
        let room = (self.columns / texts.len()).saturating_sub(1);
        if room < 6 {
            return fitted(&texts, 1, self.columns + 1);
        }
        let short = |text: Vec<char>| {
            cells(&cut(&text.into_iter().filter(|c| *c != FILLER).collect::<String>(), room))
        };
        let texts: Vec<_> = texts.into_iter().map(|(column, text)| (column, short(text))).collect();
        fitted(&texts, NAMES, self.columns + 1)
    }

    fn legend(&self, out: &mut String) {
        let mut signs = 0;
        let mut entries: Vec<(usize, String)> = Vec::new();
        for (color, layer, form) in &self.layout.layers {
            let sign = match form {
                MarkForm::Points(_) | MarkForm::Errors { .. } => {
                    signs += 1;
                    self.sign(signs - 1).to_string()
                }
                MarkForm::Lines(_) if layer.dashed => "╌╌".to_string(),
                MarkForm::Lines(_) => "──".to_string(),
                MarkForm::Boxes(_) => "█".to_string(),
                MarkForm::Areas(_) => "░░".to_string(),
                MarkForm::Cells(_) | MarkForm::Texts(_) => continue,
            };
            if layer.name.is_empty() {
                continue;
            }
            let Color(r, g, b) = *color;
            let sign = match self.style.color {
                true => format!("\u{1b}[38;2;{r};{g};{b}m{sign}\u{1b}[0m"),
                false => sign,
            };
            let name = cut(&printable(&layer.name), self.columns - 4);
            entries.push((count(&name) + 3, format!("{sign} {name}")));
        }
        if let Some((low, high)) = self.layout.values {
            let text = format!("colours from {} to {}", short(low), short(high));
            entries.push((count(&text), cut(&text, self.columns)));
        }
        // As many as fit into a line
        let mut room = 0;
        for (width, entry) in entries {
            if width > room {
                let indent = " ".repeat(self.margin + 2);
                out.push_str(if out.ends_with('\n') { "" } else { "\n" });
                let _ = write!(out, "{indent}{entry}");
                room = self.columns;
            } else {
                let _ = write!(out, "   {entry}");
            }
            room = room.saturating_sub(width + 3);
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
}

/// Texts in the first of so many lines where each has room: column, line, first character.
fn fitted(
    texts: &[(usize, Vec<char>)],
    lines: usize,
    width: usize,
) -> Vec<(usize, usize, usize, Vec<char>)> {
    let mut free = vec![0; lines];
    let mut out = Vec::new();
    for (column, text) in texts {
        let start = (column + 1).saturating_sub(text.len().div_ceil(2));
        let start = start.min(width.saturating_sub(text.len()));
        if let Some(line) = free.iter().position(|free| *free <= start) {
            free[line] = start + text.len() + 1;
            out.push((*column, line, start, text.clone()));
        }
    }
    out
}

/// A number with few digits.
fn short(v: f64) -> String {
    match v.abs() {
        0.0 => "0".to_string(),
        1e-3..1e5 => format!("{:.3}", v).trim_end_matches('0').trim_end_matches('.').to_string(),
        _ => format!("{v:.3e}"),
    }
}

/// The character with these dots.
fn braille(dots: u8) -> char {
    char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')
}
