//! Shows what a program prints and reports once, although it may begin again on other code or on the evaluator.

use diffeo_calculus::eval::{Kinks, Limits, Options, Progress};
use diffeo_front::NotConverged;
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
    /// Where they are not printed like others: what was told of the results of library methods, once a place.
    notes: Option<Vec<NotConverged>>,
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

impl Once {
    /// Notes are taken by [`Once::take_notes`].
    pub fn noting(options: Options) -> Once {
        let once = Once::new(options);
        once.shown.borrow_mut().notes = Some(Vec::new());
        once
    }

    /// Takes the notes so far.
    pub fn take_notes(&self) -> Vec<NotConverged> {
        self.shown.borrow_mut().notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes are lines as others.
    pub fn new(options: Options) -> Once {
        let Options { max_stack, trace, progress, limits, kinks } = options;
        let (lines, reports) = (Counter::default(), Counter::default());
        let shown = Rc::new(RefCell::new(Shown { notes: None, trace, progress, lines, reports }));
        Once { kinks, limits, max_stack, shown }
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
        let (lines, reports) = (self.shown.clone(), self.shown.clone());
        Options {
            kinks: self.kinks,
            max_stack: self.max_stack,
            trace: Box::new(move |line| {
                let mut shown = lines.borrow_mut();
                if let (Some(notes), Some(note)) = (&mut shown.notes, NotConverged::read(line)) {
                    if !notes.iter().any(|known| known.same_place(&note)) {
                        notes.push(note);
                    }
                } else if shown.lines.next() {
                    (shown.trace)(line);
                }
            }),
            progress: Box::new(move |report| {
                let mut shown = reports.borrow_mut();
                if shown.reports.next() {
                    (shown.progress)(report);
                }
            }),
            limits: self.limits.clone(),
        }
    }
}
