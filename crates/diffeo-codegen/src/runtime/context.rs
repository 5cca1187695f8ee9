//! The context of a run: the first argument of every compiled function.
//!
//! Compiled code reads the first words, at the offsets given here; only functions of the runtime change the rest. They
//! have a raw pointer and borrow one field at a time, because another thread may write the end of the stack at any
//! moment.

use super::failure::Failure;
use super::memory::{Memory, STATIC};
use super::split::Workers;
use super::stack_end::StackEnd;
use super::work::{Work, COUNTER};
use crate::low::{Layout, LowModule, DATA};
use diffeo_array::places::{Told, ToldOnce};
use diffeo_calculus::eval::{lost, Events, Exceeded, MemoryLimit};
use std::any::Any;
use std::panic::catch_unwind;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

/// The offset of the end of the stack: the address that the stack pointer must not be below. A word that another thread
/// may write: see [`StackEnd`].
pub const STACK_END: i64 = std::mem::offset_of!(Context, stack_end) as i64;
/// The offset of the address of the words of the constants.
pub const CONSTANTS: i64 = std::mem::offset_of!(Context, constants) as i64;
/// The offset of the address of the table of the blocks of texts.
pub const TEXTS: i64 = std::mem::offset_of!(Context, texts) as i64;
/// The offset of the address of the table of the blocks of boxes without fields, by layout; null for others.
pub const STATICS: i64 = std::mem::offset_of!(Context, statics) as i64;
/// The offset of the word to which code adds its work.
pub const WORK: i64 = (std::mem::offset_of!(Context, work) + COUNTER) as i64;

/// The state of a run.
#[repr(C)]
pub struct Context {
    stack_end: StackEnd,
    constants: *mut u64,
    texts: *const *mut u8,
    statics: *const *mut u8,
    pub(super) work: Work,
    /// The work of each constant, if work is counted.
    pub(super) counted: Vec<Option<u64>>,
    pub(super) memory: Memory,
    pub(super) failure: Failure,
    /// Takes what the program prints and reports.
    pub(super) events: Events,
    /// The warnings of the blocks of a loop that several threads do, until the loop is over.
    pub(super) kept: Option<Vec<Told>>,
    /// What the run has warned of so far.
    pub(super) told: ToldOnce,
    /// Says which bound is reached, if any, when the run asks.
    host: Option<fn() -> Option<Exceeded>>,
    /// What it has said.
    exceeded: Option<Exceeded>,
    /// The payload of a panic in a callback: the run ends, then the panic goes on.
    pub(super) panic: Option<Box<dyn Any + Send>>,
    pub(super) module: Arc<LowModule>,
    /// How many threads may do a loop.
    pub(super) threads: usize,
    /// The contexts of the other threads so far.
    pub(super) workers: Workers,
    /// Whether loops that ask for constants may find some that have not been computed.
    pub(super) constants_missing: bool,
    /// How many bytes of the stack open calls may take, and what is needed besides.
    pub(super) max_stack: usize,
    /// See [`Context::max_stack`].
    pub(super) margin: usize,
    /// The blocks of the texts, each in words of its own: they are not in [`Context::memory`], because an
    /// error does not free them.
    text_blocks: Vec<Vec<u64>>,
    /// A block of two words for each layout of boxes without fields; their places stay.
    static_blocks: Vec<Vec<u64>>,
    text_table: Vec<*mut u8>,
    static_table: Vec<*mut u8>,
    constant_words: Vec<u64>,
}

/// A block of a text that is never freed.
fn text_block(text: &str) -> Vec<u64> {
    let mut words = vec![0u64; (DATA as usize + text.len()).div_ceil(8)];
    words[0] = STATIC as u64;
    words[1] = super::memory::TEXT as u64;
    words[2] = text.len() as u64;
    words[3] = text.len() as u64;
    for (word, bytes) in words[DATA as usize / 8..].iter_mut().zip(text.as_bytes().chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(padded);
    }
    words
}

/// A context that is owned; it does not move.
pub struct Owned(NonNull<Context>);

impl Owned {
    /// The context of a program.
    pub fn new(module: Arc<LowModule>, events: Events) -> Owned {
        let mut text_blocks: Vec<_> = module.texts.iter().map(|text| text_block(text)).collect();
        let text_table: Vec<*mut u8> =
            text_blocks.iter_mut().map(|words| words.as_mut_ptr().cast()).collect();
        let mut static_blocks: Vec<Vec<u64>> = Vec::new();
        let statics = module.layouts.iter().enumerate().map(|(i, layout)| match layout {
            Layout::Fields(fields) if fields.is_empty() => {
                static_blocks.push(vec![STATIC as u64, i as u64]);
                static_blocks.last_mut().map_or(null_mut(), |block| block.as_mut_ptr().cast())
            }
            Layout::Fields(_)
            | Layout::Plain
            | Layout::Text
            | Layout::References
            | Layout::Stack(_) => null_mut(),
        });
        let static_table: Vec<*mut u8> = statics.collect();
        let mut constant_words = vec![0; module.constant_words];
        Owned::boxed(Context {
            stack_end: StackEnd::new(),
            constants: constant_words.as_mut_ptr(),
            texts: text_table.as_ptr(),
            statics: static_table.as_ptr(),
            work: Work::new(),
            counted: Vec::new(),
            memory: Memory::new(),
            failure: Failure::new(),
            events,
            kept: None,
            told: ToldOnce::default(),
            host: None,
            exceeded: None,
            panic: None,
            module,
            threads: 1,
            workers: Workers::default(),
            constants_missing: true,
            max_stack: 0,
            margin: 0,
            text_blocks,
            static_blocks,
            text_table,
            static_table,
            constant_words,
        })
    }

    fn boxed(context: Context) -> Owned {
        // SAFETY: the address of a box is not null.
        Owned(unsafe { NonNull::new_unchecked(Box::into_raw(Box::new(context))) })
    }

    /// A context for another thread that works for the same run. It uses the texts of the first one, which lives
    /// longer.
    ///
    /// # Safety
    /// The context is live, and nothing changes it meanwhile.
    pub(super) unsafe fn worker(first: *mut Context) -> Owned {
        // SAFETY: by the condition of the function.
        let first = unsafe { &*first };
        let mut constant_words = vec![0; first.module.constant_words];
        let mut memory = Memory::new();
        memory.set_limit(first.memory.limit());
        Owned::boxed(Context {
            stack_end: StackEnd::new(),
            constants: constant_words.as_mut_ptr(),
            texts: first.texts,
            statics: first.statics,
            work: Work::new(),
            counted: Vec::new(),
            memory,
            failure: Failure::new(),
            events: lost(),
            kept: Some(Vec::new()),
            told: ToldOnce::default(),
            host: None,
            exceeded: None,
            panic: None,
            module: first.module.clone(),
            threads: 1,
            workers: Workers::default(),
            constants_missing: true,
            max_stack: first.max_stack,
            margin: first.margin,
            text_blocks: Vec::new(),
            static_blocks: Vec::new(),
            text_table: Vec::new(),
            static_table: Vec::new(),
            constant_words,
        })
    }

    /// How many threads may work for the run, and the stack of each: so many bytes for open calls, and what is
    /// needed besides.
    pub(crate) fn set_threads(&mut self, threads: usize, max_stack: usize, margin: usize) {
        // SAFETY: no compiled code runs, and other threads do not know these fields.
        unsafe {
            let context = self.as_ptr();
            (*context).threads = threads;
            (*context).max_stack = max_stack;
            (*context).margin = margin;
        }
    }

    /// Whom the run asks whether it goes on.
    pub(crate) fn set_host(&mut self, host: Option<fn() -> Option<Exceeded>>) {
        // SAFETY: as for `set_threads`.
        unsafe { (*self.as_ptr()).host = host };
    }

    /// The bound that was reached when the last run asked.
    pub(crate) fn take_exceeded(&mut self) -> Option<Exceeded> {
        // SAFETY: as for `memory`.
        unsafe { (*self.as_ptr()).exceeded.take() }
    }

    fn workers(&mut self) -> &mut Workers {
        // SAFETY: as for `memory`.
        unsafe { &mut (*self.as_ptr()).workers }
    }

    /// Changes the bound on memory.
    pub(crate) fn set_memory_limit(&mut self, limit: Option<MemoryLimit>) {
        self.memory().set_limit(limit);
        self.workers().iter_mut().for_each(|worker| worker.memory().set_limit(limit));
    }

    /// How many blocks have been allocated, and how many there are, for all threads.
    pub(crate) fn blocks(&mut self) -> (u64, usize) {
        let of = |memory: &Memory| (memory.allocated(), memory.live());
        let first = of(self.memory());
        let others = self.workers().iter_mut().map(|worker| of(worker.memory()));
        others.fold(first, |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// Gives the words of the constants these values.
    pub(super) fn set_constants(&mut self, words: &[u64]) {
        // SAFETY: there are so many words, or none are given.
        unsafe {
            let constants = (*self.as_ptr()).constants;
            constants.copy_from_nonoverlapping(words.as_ptr(), words.len());
        }
    }

    /// As [`Context::forget_constants`].
    pub(super) fn forget_constants(&mut self, before: &[u64]) -> bool {
        // SAFETY: no compiled code runs with this context.
        unsafe { Context::forget_constants(self.as_ptr(), before) }
    }

    /// Its address.
    pub fn as_ptr(&self) -> *mut Context {
        self.0.as_ptr()
    }

    /// Its end of the stack.
    pub fn stack_end(&self) -> &StackEnd {
        // SAFETY: the context lives as long as this; nobody borrows this field mutably.
        unsafe { &(*self.as_ptr()).stack_end }
    }

    /// What was done so far.
    pub fn work(&self) -> &Work {
        // SAFETY: the context lives as long as this; nobody borrows this field mutably.
        unsafe { &(*self.as_ptr()).work }
    }

    /// Its memory.
    pub fn memory(&mut self) -> &mut Memory {
        // SAFETY: no compiled code runs while this is borrowed, and other threads do not know this field.
        unsafe { &mut (*self.as_ptr()).memory }
    }

    /// The error of the last run that failed.
    pub fn failure(&mut self) -> &mut Failure {
        // SAFETY: as for `memory`.
        unsafe { &mut (*self.as_ptr()).failure }
    }

    /// The payload of a panic in a callback in the last run.
    pub fn take_panic(&mut self) -> Option<Box<dyn Any + Send>> {
        // SAFETY: as for `memory`.
        unsafe { (*self.as_ptr()).panic.take() }
    }

    /// The block of the boxes of a layout without fields.
    pub(crate) fn static_block(&self, layout: usize) -> *mut u8 {
        // SAFETY: as for `memory`; the table is not changed.
        let table = unsafe { &(*self.as_ptr()).static_table };
        table.get(layout).copied().unwrap_or(null_mut())
    }

    /// Memory, and the layouts of blocks.
    pub(crate) fn memory_and_layouts(&mut self) -> (&mut Memory, &[Layout]) {
        // SAFETY: as for `memory`.
        unsafe { Context::memory(self.as_ptr()) }
    }

    /// Releases the constants, which are computed again when they are needed.
    pub fn release_constants(&mut self) {
        // SAFETY: no compiled code runs; the words marked refer to live blocks or are null, because
        // words are 0 until the constant is computed.
        unsafe {
            let context = self.as_ptr();
            let (memory, layouts) = Context::memory(context);
            let module = &(*context).module;
            let references = module.constant_references.iter();
            for (i, _) in references.enumerate().filter(|(_, reference)| **reference) {
                memory.release(layouts, (*context).constants.add(i).read() as *mut u8);
            }
        }
        self.clear_constants();
    }

    fn clear_constants(&mut self) {
        // SAFETY: there are so many words.
        unsafe {
            let context = self.as_ptr();
            let module = &(*context).module;
            (*context).constants.write_bytes(0, module.constant_words);
            (*context).constants_missing = true;
        }
    }

    /// Frees everything, after an error.
    pub fn reset(&mut self) {
        self.clear_constants();
        // SAFETY: no compiled code runs, and no result is taken after an error; the constants are cleared.
        unsafe { self.memory().free_all() };
        self.workers().iter_mut().for_each(Owned::reset);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the context was made by `Box::into_raw`, and nobody uses it or its blocks any more.
        unsafe {
            self.memory().free_all();
            drop(Box::from_raw(self.as_ptr()));
        }
    }
}

impl Context {
    /// Memory, and the layouts of blocks.
    ///
    /// # Safety
    /// The context is live, and nothing else borrows its memory.
    pub(super) unsafe fn memory<'a>(context: *mut Context) -> (&'a mut Memory, &'a [Layout]) {
        // SAFETY: by the condition of the function; these are two fields.
        unsafe {
            let module = &(*context).module;
            (&mut (*context).memory, &module.layouts)
        }
    }

    /// The program begins, on a stack that begins at `top` and may go down to the end that is set.
    ///
    /// # Safety
    /// The context is live, and no compiled code runs.
    pub(crate) unsafe fn begin(context: *mut Context, top: usize, lowest: usize) {
        // SAFETY: by the condition of the function; these are single fields.
        unsafe {
            (*context).told.begin();
            (*context).memory.begin(top, lowest, &(*context).stack_end);
        }
    }

    /// Whether the run is to end; asks, if that is due.
    ///
    /// # Safety
    /// The context is that of the run of this thread, and nothing else uses it now.
    pub(super) unsafe fn poll(context: *mut Context) -> bool {
        // SAFETY: by the condition of the function; the host does not know the context.
        unsafe {
            if !(*context).stack_end.is_due() {
                return false;
            }
            if (*context).stack_end.takes_question() {
                if let Some(host) = (*context).host {
                    let answer = catch_unwind(host);
                    match answer {
                        Ok(None) => {}
                        Ok(exceeded) => {
                            (*context).exceeded = exceeded;
                            Context::stop(context);
                        }
                        Err(panic) => {
                            (*context).panic = Some(panic);
                            Context::stop(context);
                        }
                    }
                }
            }
            (*context).stack_end.is_stopped()
        }
    }

    /// The end of its stack.
    ///
    /// # Safety
    /// The context is live.
    pub(super) unsafe fn stack_end(context: *mut Context) -> usize {
        // SAFETY: by the condition of the function.
        unsafe { (*context).stack_end.end() }
    }

    /// The words of the constants.
    ///
    /// # Safety
    /// The context is live, and nothing changes them as long as they are borrowed.
    pub(super) unsafe fn constant_words<'a>(context: *mut Context) -> &'a [u64] {
        // SAFETY: by the condition of the function; there are so many words.
        unsafe {
            let module = &(*context).module;
            std::slice::from_raw_parts((*context).constants, module.constant_words)
        }
    }

    /// Makes the words of the constants what they were before, and releases what has been computed since; whether
    /// anything has.
    ///
    /// # Safety
    /// The context is live, and nothing else uses it now; since then constants have been computed in its memory,
    /// and none was released. If no words are given, none have been computed.
    pub(super) unsafe fn forget_constants(context: *mut Context, before: &[u64]) -> bool {
        // SAFETY: by the condition of the function.
        let module = unsafe { (*context).module.clone() };
        let mut computed = false;
        for (i, before) in before.iter().enumerate() {
            // SAFETY: there are so many words; those marked refer to live blocks or are null.
            unsafe {
                let word = (*context).constants.add(i);
                let now = word.read();
                if now != *before {
                    computed = true;
                    word.write(*before);
                    if module.constant_references.get(i) == Some(&true) {
                        let (memory, layouts) = Context::memory(context);
                        memory.release(layouts, now as *mut u8);
                    }
                }
            }
        }
        computed
    }

    /// Ends the run.
    ///
    /// # Safety
    /// The context is live.
    pub(super) unsafe fn stop(context: *mut Context) {
        // SAFETY: by the condition of the function.
        unsafe { (*context).stack_end.stop() };
    }
}
