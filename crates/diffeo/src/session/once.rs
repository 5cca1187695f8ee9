//! Shows what a program prints and reports once, although it may begin again on other code or on the evaluator.

use diffeo_calculus::eval::{Event, Events, Kinks, Limits, Options, RuntimeWarning};
use std::cell::RefCell;
use std::rc::Rc;

/// The options of calls that may begin again. Clones count the same messages.
#[derive(Clone)]
pub(crate) struct Once {
    pub kinks: Kinks,
    pub limits: Limits,
    max_stack: usize,
    shown: Rc<RefCell<Shown>>,
}

/// Where the messages of a program go.
struct Shown {
    /// What was warned of, once a place.
    warnings: Vec<RuntimeWarning>,
    events: Events,
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
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Line(_) if self.lines.next() => (self.events)(event),
            Event::Progress(_) if self.reports.next() => (self.events)(event),
            Event::Line(_) | Event::Progress(_) => {}
            Event::Warning(warning) => {
                if !self.warnings.iter().any(|known| known.repeats(&warning)) {
                    self.warnings.push(warning);
                }
            }
        }
    }
}

impl Once {
    /// Takes the warnings since this was last asked.
    pub fn take_warnings(&self) -> Vec<RuntimeWarning> {
        std::mem::take(&mut self.shown.borrow_mut().warnings)
    }

    /// Warnings are taken by [`Once::take_warnings`].
    pub fn new(options: Options) -> Once {
        let Options { max_stack, events, limits, kinks } = options;
        let (lines, reports) = (Counter::default(), Counter::default());
        let shown = Shown { warnings: Vec::new(), events, lines, reports };
        Once { kinks, limits, max_stack, shown: Rc::new(RefCell::new(shown)) }
    }

    /// A call begins.
    pub fn begin(&self) {
        let mut shown = self.shown.borrow_mut();
        (shown.lines, shown.reports) = (Counter::default(), Counter::default());
    }

    /// The same call begins again.
    pub fn again(&self) {
        let mut shown = self.shown.borrow_mut();
        (shown.lines.now, shown.reports.now) = (0, 0);
    }

    /// The options of what runs the calls.
    pub fn options(&self) -> Options {
        let shown = self.shown.clone();
        Options {
            kinks: self.kinks,
            max_stack: self.max_stack,
            events: Box::new(move |event| shown.borrow_mut().event(event)),
            limits: self.limits.clone(),
        }
    }
}
