//! What a program prints and reports, each message once, although it may begin again.

use diffeo_calculus::eval::Progress;

/// Where the messages of a program go.
pub(in crate::session) struct Shown {
    trace: Box<dyn FnMut(&str)>,
    progress: Box<dyn FnMut(&Progress<'_>)>,
    lines: Counter,
    reports: Counter,
}

/// How many messages there were in a run, and in the one that had the most.
#[derive(Default)]
struct Counter {
    now: u64,
    most: u64,
}

impl Counter {
    /// Whether the next message is new.
    fn next(&mut self) -> bool {
        self.now += 1;
        let new = self.now > self.most;
        self.most = self.most.max(self.now);
        new
    }
}

impl Shown {
    /// Messages go there.
    pub fn new(trace: Box<dyn FnMut(&str)>, progress: Box<dyn FnMut(&Progress<'_>)>) -> Shown {
        Shown { trace, progress, lines: Counter::default(), reports: Counter::default() }
    }

    /// The program is called.
    pub fn begin(&mut self) {
        (self.lines, self.reports) = (Counter::default(), Counter::default());
    }

    /// The same call begins again.
    pub fn again(&mut self) {
        (self.lines.now, self.reports.now) = (0, 0);
    }

    /// It prints a line.
    pub fn trace(&mut self, line: &str) {
        if self.lines.next() {
            (self.trace)(line);
        }
    }

    /// It reports something.
    pub fn progress(&mut self, report: &Progress<'_>) {
        if self.reports.next() {
            (self.progress)(report);
        }
    }
}
