//! What a run prints and reports while it goes on, on every engine.

use super::error::RuntimeWarning;
use std::cell::RefCell;
use std::rc::Rc;

/// Something that a run tells whoever started it.
#[derive(Clone, Debug)]
pub enum Event<'e> {
    /// A line that the program prints with `trace`.
    Line(&'e str),
    /// A report of `progress`.
    Progress(Progress<'e>),
    /// A warning; one of a kind may come again at its place.
    Warning(RuntimeWarning),
}

/// How far a long computation is, as `progress` reports it.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'e> {
    /// What is at work, such as an optimiser.
    pub label: &'e str,
    /// The number of its step.
    pub step: i64,
    /// The number that shows how it goes, such as the loss.
    pub value: f64,
}

/// Takes the events of a run.
pub type Events = Box<dyn FnMut(Event<'_>)>;

/// Loses all events.
pub fn lost() -> Events {
    Box::new(|_| {})
}

/// Warnings that runs have given.
pub type Warnings = Rc<RefCell<Vec<RuntimeWarning>>>;

/// Keeps warnings and loses all else.
pub fn warnings() -> (Warnings, Events) {
    let kept = Warnings::default();
    let sink = kept.clone();
    let events = move |event: Event<'_>| {
        if let Event::Warning(warning) = event {
            sink.borrow_mut().push(warning);
        }
    };
    (kept, Box::new(events))
}
