//! What a program prints and reports, shown once even if the evaluator begins anew what compiled code left.

use super::auto::Shown;
use diffeo_calculus::eval::{Kinks, Limits, Options};
use std::cell::RefCell;
use std::rc::Rc;

/// The options of a run that may begin again.
pub(super) struct Once {
    kinks: Kinks,
    max_stack: usize,
    limits: Limits,
    shown: Rc<RefCell<Shown>>,
}

impl Once {
    pub fn new(options: Options) -> Once {
        let Options { max_stack, trace, progress, limits, kinks } = options;
        let shown = Rc::new(RefCell::new(Shown::new(trace, progress)));
        Once { kinks, max_stack, limits, shown }
    }

    /// The options of the next run, from the beginning.
    pub fn options(&self) -> Options {
        let Once { kinks, max_stack, limits, shown } = self;
        shown.borrow_mut().again();
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
