//! The thread that compiles a program by LLVM, while it runs on other code.
//!
//! It starts when the run has done enough work to be worth it ([`Policy`]). Its code is taken only if the run does more
//! than its budget.

use super::Policy;
use diffeo_array::ir::Module as Flat;
use diffeo_calculus::eval::Limits;
use diffeo_codegen::engine::{Compiled, Cpu, Overseer, Verdict};
use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the run is to end.
const TICK: Duration = Duration::from_millis(2);

/// LLVM's code of a program, when it is needed.
pub(super) struct Later(Arc<Shared>);

struct Shared {
    module: Arc<Flat>,
    cpu: Cpu,
    policy: Policy,
    state: Mutex<State>,
    /// Told when the state is [`State::Known`].
    found: Condvar,
}

enum State {
    /// Nobody has asked for it.
    Unasked,
    /// The thread is at work; this is it, unless it could not be started.
    Asked(JoinHandle<()>),
    /// The code, or why there is none; and the thread, which is about to end.
    Known(Result<(Box<Compiled>, Duration), String>, Option<JoinHandle<()>>),
}

/// What is known of LLVM's code.
pub(super) enum Known {
    /// It is there. It took so long.
    Code(Box<Compiled>, Duration),
    /// There is none.
    Failed(String),
    /// The run has reached a bound before that was known.
    Exceeded,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of a run that has done so much; begins to compile if that is worth it now.
    fn judge(self: &Arc<Self>, work: u64) -> Verdict {
        if work < self.policy.worth {
            return Verdict::GoesOn;
        }
        let mut state = self.state();
        match &*state {
            State::Unasked => {
                self.clone().begin(&mut state);
                Verdict::GoesOn
            }
            State::Known(Ok(_), _) if work > self.policy.budget => Verdict::Ends,
            State::Asked(_) | State::Known(Ok(_), _) => Verdict::GoesOn,
            State::Known(Err(_), _) => Verdict::Free,
        }
    }

    fn begin(self: Arc<Self>, state: &mut State) {
        let shared = self.clone();
        let work = move || {
            let start = Instant::now();
            let found = (shared.policy.compile)(shared.module.clone(), shared.cpu);
            let found = found.map(|code| (Box::new(code), start.elapsed()));
            let mut state = shared.state();
            let thread = match std::mem::replace(&mut *state, State::Unasked) {
                State::Asked(thread) => Some(thread),
                State::Known(_, thread) => thread,
                State::Unasked => None,
            };
            *state = State::Known(found, thread);
            shared.found.notify_all();
        };
        // It waits for the state, which is locked.
        *state = match thread::Builder::new().name("diffeo-llvm".to_string()).spawn(work) {
            Ok(thread) => State::Asked(thread),
            Err(error) => State::Known(Err(format!("there is no thread for LLVM: {error}")), None),
        };
    }
}

impl Later {
    /// Nothing is compiled yet.
    pub fn new(module: Arc<Flat>, cpu: Cpu, policy: Policy) -> Later {
        let (state, found) = (Mutex::new(State::Unasked), Condvar::new());
        Later(Arc::new(Shared { module, cpu, policy, state, found }))
    }

    /// What runs on the other code may do at most.
    pub fn budget(&self) -> u64 {
        self.0.policy.budget
    }

    /// Looks after runs on the other code.
    pub fn overseer(&self) -> Overseer {
        let shared = self.0.clone();
        Arc::new(move |work| shared.judge(work))
    }

    /// Begins to compile if that is worth it for what was done so far.
    pub fn consider(&self, work: u64) {
        self.0.judge(work);
    }

    /// Why there is none, if that is known.
    pub fn failed(&self) -> Option<Known> {
        match &*self.0.state() {
            State::Known(Err(why), _) => Some(Known::Failed(why.clone())),
            State::Unasked | State::Asked(_) | State::Known(Ok(_), _) => None,
        }
    }

    /// Waits until it is known what LLVM gives; takes the code.
    pub fn wait(&self, limits: &Limits) -> Option<Known> {
        let mut state = self.0.state();
        loop {
            match &mut *state {
                State::Unasked => self.0.clone().begin(&mut state),
                State::Known(found, _) => {
                    let taken = Err("it was taken".to_string());
                    return Some(match std::mem::replace(found, taken) {
                        Ok((code, took)) => Known::Code(code, took),
                        Err(why) => Known::Failed(why),
                    });
                }
                State::Asked(_) => {
                    if limits.check().is_err() {
                        return Some(Known::Exceeded);
                    }
                    let waited = self.0.found.wait_timeout(state, TICK);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        let thread = match &mut *self.0.state() {
            state @ State::Asked(_) => {
                let unknown = State::Known(Err("nobody needs it".to_string()), None);
                match std::mem::replace(state, unknown) {
                    State::Asked(thread) => Some(thread),
                    State::Unasked | State::Known(..) => None,
                }
            }
            State::Known(_, thread) => thread.take(),
            State::Unasked => None,
        };
        OPEN.with_borrow_mut(|open| {
            open.0.retain(|thread| !thread.is_finished());
            open.0.extend(thread);
        });
    }
}

/// Threads that may still be compiling. LLVM must not be at work while the process takes itself apart, so a thread
/// that began such work waits for it at its own end.
struct Open(Vec<JoinHandle<()>>);

impl Drop for Open {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

thread_local! {
    static OPEN: RefCell<Open> = const { RefCell::new(Open(Vec::new())) };
}
