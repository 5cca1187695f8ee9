//! What a program prints and reports, shown once even if the program runs several times.

use diffeo_calculus::eval::{Kinks, Limits, Options, Progress};
use std::cell::RefCell;
use std::rc::Rc;

/// The options of a run that may begin again.
pub(super) struct Once {
    kinks: Kinks,
    max_stack: usize,
    limits: Limits,
    shown: Rc<RefCell<Shown>>,
}

/// Where the messages of a program go, each once.
struct Shown {
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
    fn trace(&mut self, line: &str) {
        if self.lines.next() {
            (self.trace)(line);
        }
    }

    fn progress(&mut self, report: &Progress<'_>) {
        if self.reports.next() {
            (self.progress)(report);
        }
    }
}

impl Once {
    pub fn new(options: Options) -> Once {
        let Options { max_stack, trace, progress, limits, kinks } = options;
        let (lines, reports) = (Counter::default(), Counter::default());
        let shown = Rc::new(RefCell::new(Shown { trace, progress, lines, reports }));
        Once { kinks, max_stack, limits, shown }
    }

    /// The bounds of all runs together.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The options of the next run, from the beginning.
    pub fn options(&self) -> Options {
        let Once { kinks, max_stack, limits, shown } = self;
        let mut counters = shown.borrow_mut();
        (counters.lines.now, counters.reports.now) = (0, 0);
        let (lines, reports) = (shown.clone(), shown.clone());
        Options {
            kinks: *kinks,
            max_stack: *max_stack,
            trace: Box::new(move |line| lines.borrow_mut().trace(line)),
            progress: Box::new(move |report| reports.borrow_mut().progress(report)),
            limits: limits.clone(),
        }
    }
}
