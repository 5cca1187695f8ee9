//! Progress of a long run: a line on the terminal while it goes on, and an account of what was done (`--verbose`).

use crate::printable::printable;
use crate::render::Messages;
use crate::watch;
use diffeo::pipeline::Timing;
use diffeo::{Diagnostic, Engine, Kinks, Progress};
use diffeo_calculus::eval::limits::megabytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{json, Value as Json};
use std::time::{Duration, Instant};

/// How often the line changes.
const REDRAW: Duration = Duration::from_millis(50);

/// The line on the terminal that shows what the program reports with `progress`; nothing where standard
/// error is no terminal, or is read by a tool.
#[derive(Clone)]
pub struct ProgressLine {
    bar: ProgressBar,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// A line that is not shown yet.
    pub fn new(messages: Messages) -> ProgressLine {
        let bar = ProgressBar::no_length();
        bar.set_draw_target(match messages.is_human() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        });
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
            bar.set_style(style);
        }
        ProgressLine { bar, shown: None }
    }

    /// Shows a report, unless one was shown just before.
    pub fn show(&mut self, report: &Progress<'_>) {
        let Progress { label, step, value } = report;
        self.say(|| format!("{label}: step {step}, {}", six_digits(*value)));
    }

    /// Shows a text, unless one was shown just before.
    pub fn say(&mut self, message: impl FnOnce() -> String) {
        if self.bar.is_hidden() || self.shown.is_some_and(|shown| shown.elapsed() < REDRAW) {
            return;
        }
        self.shown = Some(Instant::now());
        self.bar.set_message(printable(&message()).replace('\n', " "));
        self.bar.tick();
    }

    /// Writes something else to standard error.
    pub fn suspend(&self, write: impl FnOnce()) {
        // Suspended, the bar is drawn again, even if it was never shown.
        match self.bar.message().is_empty() {
            true => write(),
            false => self.bar.suspend(write),
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A number with six digits, of a width that changes little.
fn six_digits(x: f64) -> String {
    let magnitude = x.abs().log10().floor();
    match magnitude {
        m if x == 0.0 || (-4.0..6.0).contains(&m) => {
            format!("{x:.*}", (5.0 - m.max(-4.0)).min(9.0) as usize)
        }
        _ => format!("{x:.5e}"),
    }
}

/// What was done, for `--verbose`.
#[derive(Default)]
pub struct Account {
    phases: Vec<(&'static str, Instant)>,
    /// What evaluated the program, if anything did.
    pub engine: Option<Engine>,
    /// Why that was not the engine that was asked for.
    pub reason: Option<String>,
    /// What else there is to say of the engine.
    pub note: Option<String>,
    /// How long the steps took.
    pub steps: Vec<Timing>,
    /// The operations, where they are counted.
    pub operations: Option<u64>,
    /// Whether it was asked for kinks.
    pub looked: bool,
    /// The directions of derivatives have decided at these kinks.
    pub exact: bool,
    /// The kinks met: places and messages.
    pub kinks: Vec<Diagnostic>,
}

impl Account {
    /// Begins a phase; the one before ends.
    pub fn begin(&mut self, name: &'static str) {
        self.phases.push((name, Instant::now()));
    }

    /// Writes the account.
    pub fn write(&self, messages: Messages, place: &dyn Fn(&Diagnostic) -> String) {
        let ends = self.phases.iter().skip(1).map(|(_, t)| *t).chain([Instant::now()]);
        let times: Vec<(&str, f64)> = self
            .phases
            .iter()
            .zip(ends)
            .map(|((name, start), end)| (*name, (end - *start).as_secs_f64()))
            .collect();
        let time: Vec<String> = times.iter().map(|(name, s)| format!("{name} {s:.3} s")).collect();
        let seconds: serde_json::Map<String, serde_json::Value> =
            times.iter().map(|(name, s)| (name.to_string(), json!(s))).collect();
        let kinks: Vec<String> =
            self.kinks.iter().map(|k| format!("{}: {}", place(k), k.message)).collect();
        let silent = |engine: Engine| engine.is_compiled() || !engine.reports(Kinks::Warn);
        let unknown = self.exact || !self.looked && self.engine.is_some_and(silent);
        let met = match kinks.as_slice() {
            [] if self.exact => "decided by directions".to_string(),
            [] if unknown => "not looked for".to_string(),
            [] => "none met".to_string(),
            kinks => format!("{} met\n  {}", kinks.len(), kinks.join("\n  ")),
        };
        let peak = watch::peak();
        let text = |name: &'static str, text: &Option<String>| {
            text.as_ref().map(|text| (name, text.clone(), json!(text)))
        };
        let mut entries = Vec::new();
        entries.extend(self.engine.map(|e| ("engine", e.name().to_string(), json!(e.name()))));
        if let (Some(Engine::LLVM), Ok(library)) = (self.engine, diffeo_codegen::llvm::library()) {
            entries.push(("llvm", library.to_string(), json!(library.to_string())));
        }
        entries.extend(text("reason", &self.reason));
        entries.extend(text("note", &self.note));
        entries.push(("time", time.join(", "), json!(seconds)));
        entries.push(("memory", format!("{} at most", megabytes(peak)), json!(peak)));
        if self.engine.is_some() {
            let counted = self.operations.map_or("not counted".to_string(), |n| n.to_string());
            entries.push(("operations", counted, json!(self.operations)));
            entries.push(("kinks", met, if unknown { Json::Null } else { json!(kinks) }));
        }
        messages.summary(&entries);
    }

    /// Writes how long the steps took.
    pub fn write_steps(&self, messages: Messages, json: bool) {
        if json {
            let steps = self.steps.iter().map(|Timing { step, time, operations }| {
                json!({"pass": step, "ms": time.as_micros() as f64 / 1e3, "operations": operations})
            });
            messages.text(&json!({ "passes": steps.collect::<Vec<_>>() }).to_string());
            return;
        }
        let width = self.steps.iter().map(|s| s.step.len()).max().unwrap_or(0).max(4);
        let mut table = format!("{:width$}  {:>10}  operations\n", "pass", "ms");
        for Timing { step, time, operations } in &self.steps {
            let operations = operations.map_or(String::new(), |n| n.to_string());
            let line =
                format!("{step:width$}  {:10.3}  {operations:>10}", time.as_secs_f64() * 1e3);
            table.push_str(line.trim_end());
            table.push('\n');
        }
        messages.text(table.trim_end());
    }
}
