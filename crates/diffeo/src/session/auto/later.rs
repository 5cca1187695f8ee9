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
    state: Mutex<CompileState>,
    /// Told when the state is [`CompileState::Known`].
    found: Condvar,
}

enum CompileState {
    /// Nobody has asked for it.
    Unasked,
    /// The thread is at work; this is it, unless it could not be started.
    Asked(JoinHandle<()>),
    /// The code, or why there is none; and the thread, which is about to end.
    Known(Result<(Box<Compiled>, Duration), String>, Option<JoinHandle<()>>),
}

/// What is known of LLVM's code.
pub(super) enum LlvmOutcome {
    /// It is there. It took so long.
    Code(Box<Compiled>, Duration),
    /// There is none.
    Failed(String),
    /// The run has reached a bound before that was known.
    Exceeded,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, CompileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of a run that has done so much; begins to compile if that is worth it now.
    fn judge(self: &Arc<Self>, work: u64) -> Verdict {
        if work < self.policy.worth {
            return Verdict::GoesOn;
        }
        let mut state = self.state();
        match &*state {
            CompileState::Unasked => {
                self.clone().begin(&mut state);
                Verdict::GoesOn
            }
            CompileState::Known(Ok(_), _) if work > self.policy.budget => Verdict::Ends,
            CompileState::Asked(_) | CompileState::Known(Ok(_), _) => Verdict::GoesOn,
            CompileState::Known(Err(_), _) => Verdict::Free,
        }
    }

    fn begin(self: Arc<Self>, state: &mut CompileState) {
        let shared = self.clone();
        let work = move || {
            let start = Instant::now();
            let found = (shared.policy.compile)(shared.module.clone(), shared.cpu);
            let found = found.map(|code| (Box::new(code), start.elapsed()));
            let mut state = shared.state();
            let thread = match std::mem::replace(&mut *state, CompileState::Unasked) {
                CompileState::Asked(thread) => Some(thread),
                CompileState::Known(_, thread) => thread,
                CompileState::Unasked => None,
            };
            *state = CompileState::Known(found, thread);
            shared.found.notify_all();
        };
        // It waits for the state, which is locked.
        *state = match thread::Builder::new().name("diffeo-llvm".to_string()).spawn(work) {
            Ok(thread) => CompileState::Asked(thread),
            Err(error) => {
                CompileState::Known(Err(format!("there is no thread for LLVM: {error}")), None)
            }
        };
    }
}

impl Later {
    /// Nothing is compiled yet.
    pub fn new(module: Arc<Flat>, cpu: Cpu, policy: Policy) -> Later {
        let (state, found) = (Mutex::new(CompileState::Unasked), Condvar::new());
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
    pub fn failed(&self) -> Option<LlvmOutcome> {
        match &*self.0.state() {
            CompileState::Known(Err(why), _) => Some(LlvmOutcome::Failed(why.clone())),
            CompileState::Unasked | CompileState::Asked(_) | CompileState::Known(Ok(_), _) => None,
        }
    }

    /// Waits until it is known what LLVM gives; takes the code.
    pub fn wait(&self, limits: &Limits) -> Option<LlvmOutcome> {
        let mut state = self.0.state();
        loop {
            match &mut *state {
                CompileState::Unasked => self.0.clone().begin(&mut state),
                CompileState::Known(found, _) => {
                    let taken = Err("it was taken".to_string());
                    return Some(match std::mem::replace(found, taken) {
                        Ok((code, took)) => LlvmOutcome::Code(code, took),
                        Err(why) => LlvmOutcome::Failed(why),
                    });
                }
                CompileState::Asked(_) => {
                    if limits.check().is_err() {
                        return Some(LlvmOutcome::Exceeded);
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
            state @ CompileState::Asked(_) => {
                let unknown = CompileState::Known(Err("nobody needs it".to_string()), None);
                match std::mem::replace(state, unknown) {
                    CompileState::Asked(thread) => Some(thread),
                    CompileState::Unasked | CompileState::Known(..) => None,
                }
            }
            CompileState::Known(_, thread) => thread.take(),
            CompileState::Unasked => None,
        };
        OPEN.with_borrow_mut(|open| {
            open.0.retain(|thread| !thread.is_finished());
            open.0.extend(thread);
        });
    }
}

/// Threads that may still be compiling. LLVM must not be at work while the process takes itself apart, so a thread
/// that began such work waits for it at its own end.
struct CompileThreads(Vec<JoinHandle<()>>);

impl Drop for CompileThreads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

thread_local! {
    static OPEN: RefCell<CompileThreads> = const { RefCell::new(CompileThreads(Vec::new())) };
}
